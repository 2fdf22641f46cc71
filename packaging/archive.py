#!/usr/bin/env python3
"""An archive for install.sh, `cargo binstall`, Homebrew, Nix, mise and CI."""

import common

args = common.arguments(__doc__)
top = f"{common.NAMES['archive']}-{common.VERSION}-{args.target}"
files = [(f"{top}/{name}", content, 0o755) for name, content in common.programs(args)]
files += [(f"{top}/man/{name}", content, 0o644) for name, content in common.pages()]
files += [(f"{top}/completions/{name}", content, 0o644) for name, content in common.completions()]
files += [(f"{top}/{name}", content, 0o644) for name, content in common.licences()]
common.write(args.out / f"{top}.tar.gz", common.tar_gz(files))
