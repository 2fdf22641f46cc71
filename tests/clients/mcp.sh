#!/bin/sh
# Holds `aye mcp` against the official clients: both generations of the TypeScript and Python SDKs, and the
# Inspector's strict reading of the schemas. Installs them from npm and PyPI into a scratch directory; not
# part of CI.
#
#   tests/clients/mcp.sh target/release/aye
set -eu
aye=$(realpath "${1:?name the aye to be tested}")
here=$(dirname "$(realpath "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
git init -q repository
printf 'one\n' >repository/a.txt
git -C repository add .
git -C repository -c user.name=Test -c user.email=test@example.org commit -qm first

missing=0
if npm install --no-fund --no-audit --silent @modelcontextprotocol/sdk @modelcontextprotocol/client \
    @modelcontextprotocol/inspector@2 >npm.log 2>&1; then
    cp "$here/mcp_client.mjs" .
    node mcp_client.mjs handshake "$aye"
    node mcp_client.mjs auto "$aye"
    npx mcp-inspector --cli "$aye" mcp --repo repository --method tools/list --strict >inspector.log 2>&1 ||
        { cat inspector.log; exit 1; }
    echo "inspector: no errors"
else
    echo "not installed: the npm clients" && missing=1
fi
if python3 -m venv venv && venv/bin/pip -q install mcp >pip.log 2>&1; then
    venv/bin/python "$here/mcp_client.py" "$aye"
else
    echo "not installed: the Python clients" && missing=1
fi
exit "$missing"
