"""What the packaging scripts share: the manifest, the command line, archives that are the same at every build.

Needs Python 3.11 or later and nothing else.
"""

import argparse
import gzip
import hashlib
import io
import os
import pathlib
import tarfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
MANIFEST = tomllib.loads((ROOT / "packaging/manifest.toml").read_text())
CRATE = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]
VERSION = CRATE["version"]
NAMES = MANIFEST["names"]
PROGRAMS = ["aye", "git-aye"]
LICENCES = ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT"]
# Seconds since 1970 of every file in a package: that of the commit, where release.sh has set it.
TIME = int(os.environ.get("SOURCE_DATE_EPOCH", "1767225600"))


def arguments(about):
    """The target, the directory of its programs, and where the package goes."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--target", default="x86_64-unknown-linux-gnu", choices=list(MANIFEST["targets"]))
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="directory of aye and git-aye")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the package is written")
    args = parser.parse_args()
    args.facts = MANIFEST["targets"][args.target]
    args.exe = args.facts.get("exe", "")
    args.out.mkdir(parents=True, exist_ok=True)
    return args


def programs(args):
    """Names in a package and contents of the two programs."""
    return [(name + args.exe, (args.bin / (name + args.exe)).read_bytes()) for name in PROGRAMS]


def pages():
    """The man pages, by name."""
    return [(path.name, path.read_bytes()) for path in sorted((ROOT / "man").iterdir())]


def completions():
    """The completion scripts, by name."""
    return [(path.name, path.read_bytes()) for path in sorted((ROOT / "completions").iterdir())]


def licences():
    """The licences, by name."""
    return [(name, (ROOT / name).read_bytes()) for name in LICENCES]


def tar_gz(files):
    """Bytes of an archive of `files`: triples of name, content and mode."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content, mode in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, TIME
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), 9, mtime=0)


def write(path, content):
    """Writes a package and prints its name and checksum."""
    path.write_bytes(content)
    print(hashlib.sha256(content).hexdigest(), "", path.name)
