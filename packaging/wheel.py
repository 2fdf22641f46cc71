#!/usr/bin/env python3
"""A wheel that carries the programs, for pip, pipx and uvx.

Written here and not by maturin, which compiles: this way the wheel holds the very binary that every other package
holds. The layout is the one that maturin's `-b bin` makes: the programs as scripts, no Python in it.
"""

import base64
import hashlib
import io
import time
import zipfile

import common

args = common.arguments(__doc__)
name = f"{common.NAMES['pypi'].replace('-', '_')}-{common.VERSION}"
tags = args.facts["wheel"]

metadata = f"""Metadata-Version: 2.4
Name: {common.NAMES['pypi']}
Version: {common.VERSION}
Summary: {common.CRATE['description']}
License-Expression: {common.CRATE['license'].replace(' or ', ' OR ')}
{"".join(f"License-File: {licence}" + chr(10) for licence in common.LICENCES)}Requires-Python: >=3.7
Description-Content-Type: text/markdown

{(common.ROOT / 'packaging/pypi.md').read_text()}"""
wheel = "Wheel-Version: 1.0\nGenerator: aye-packaging (1.0)\nRoot-Is-Purelib: false\n"
wheel += "".join(f"Tag: py3-none-{tag}\n" for tag in tags)

files = [(f"{name}.data/scripts/{program}", content, 0o755) for program, content in common.programs(args)]
info = f"{name}.dist-info"
files += [(f"{info}/licenses/{licence}", content, 0o644) for licence, content in common.licences()]
files += [(f"{info}/METADATA", metadata.encode(), 0o644), (f"{info}/WHEEL", wheel.encode(), 0o644)]


def line(path, content):
    """A line of RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}\n"


record = "".join(line(path, content) for path, content, _ in files) + f"{info}/RECORD,,\n"
files.append((f"{info}/RECORD", record.encode(), 0o644))
raw = io.BytesIO()
with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for path, content, mode in files:
        entry = zipfile.ZipInfo(path, time.gmtime(common.TIME)[:6])
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, content)
common.write(args.out / f"{name}-py3-none-{'.'.join(tags)}.whl", raw.getvalue())
