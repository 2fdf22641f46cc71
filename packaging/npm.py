#!/usr/bin/env python3
"""Two npm packages: the programs of one system, and the umbrella that depends on those of all systems.

npm installs of the optional dependencies the one whose `os` and `cpu` are the machine's. Nothing is downloaded
beside that, and no script runs at install time.
"""

import json

import common

NAME = common.NAMES["npm"]


def of(target):
    """The name of the package of a target."""
    facts = common.MANIFEST["targets"][target]["npm"]
    return f"{NAME}-{facts['os']}-{facts['cpu']}"


def pack(args, package, files):
    """Writes a package with its package.json."""
    package = {
        "version": common.VERSION,
        "description": common.CRATE["description"],
        "license": common.CRATE["license"],
        **package,
    }
    text = json.dumps(package, indent=2) + "\n"
    files = [("package.json", text.encode(), 0o644), *files]
    files += [(name, content, 0o644) for name, content in common.licences()]
    files = [(f"package/{name}", content, mode) for name, content, mode in files]
    common.write(args.out / f"{package['name']}-{common.VERSION}.tgz", common.tar_gz(files))


args = common.arguments(__doc__)
npm = args.facts["npm"]
own = {"name": of(args.target), "os": [npm["os"]], "cpu": [npm["cpu"]]}
pack(args, own, [(f"bin/{name}", content, 0o755) for name, content in common.programs(args)])

launcher = (common.ROOT / "packaging/launcher.js").read_bytes()
readme = (common.ROOT / "packaging/npm.md").read_bytes()
umbrella = {
    "name": NAME,
    "bin": {name: f"bin/{name}.js" for name in common.PROGRAMS},
    "optionalDependencies": {of(target): common.VERSION for target in common.MANIFEST["targets"]},
    "engines": {"node": ">=16"},
}
files = [(f"bin/{name}.js", launcher, 0o755) for name in common.PROGRAMS]
pack(args, umbrella, [*files, ("README.md", readme, 0o644)])
