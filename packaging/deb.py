#!/usr/bin/env python3
"""A Debian package: programs, man pages, completions, where the system looks for them.

Made with dpkg-deb and not with cargo-deb, which compiles: this way it holds the very binary that every other
package holds.
"""

import gzip
import os
import pathlib
import subprocess
import tempfile

import common

args = common.arguments(__doc__)
name, version, architecture = common.NAMES["deb"], common.VERSION, args.facts["deb"]

files = [(f"usr/bin/{program}", content, 0o755) for program, content in common.programs(args)]
for page, content in common.pages():
    files.append((f"usr/share/man/man1/{page}.gz", gzip.compress(content, 9, mtime=0), 0o644))
scripts = dict(common.completions())
files += [
    ("usr/share/bash-completion/completions/aye", scripts["aye.bash"], 0o644),
    ("usr/share/zsh/vendor-completions/_aye", scripts["aye.zsh"], 0o644),
    ("usr/share/fish/vendor_completions.d/aye.fish", scripts["aye.fish"], 0o644),
]
licences = b"\n\n".join(content for _, content in common.licences())
files.append((f"usr/share/doc/{name}/copyright", licences, 0o644))
size = sum(len(content) for _, content, _ in files) // 1024
summary = common.CRATE["description"].split(":")[0]
control = f"""Package: {name}
Version: {version}
Architecture: {architecture}
Maintainer: {name} maintainers <maintainers@localhost>
Installed-Size: {size}
Depends: git (>= 1:2.30)
Section: vcs
Priority: optional
Description: {summary}
 Agents propose changes, people review them in the terminal, git keeps it all.
"""

with tempfile.TemporaryDirectory() as directory:
    top = pathlib.Path(directory) / "root"
    for path, content, mode in [*files, ("DEBIAN/control", control.encode(), 0o644)]:
        file = top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(mode)
    for directory_, _, _ in os.walk(top):
        os.chmod(directory_, 0o755)
    made = pathlib.Path(directory) / "made.deb"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(common.TIME)}
    build = ["dpkg-deb", "--build", "--root-owner-group", "-Zxz", str(top), str(made)]
    subprocess.run(build, check=True, env=environment, stdout=subprocess.DEVNULL)
    common.write(args.out / f"{name}_{version}_{architecture}.deb", made.read_bytes())
