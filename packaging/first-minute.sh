#!/usr/bin/env bash
# A stopwatch: from an empty target directory to the end of the demonstration, crates downloaded before.
#
#   packaging/first-minute.sh           the README's command from source (minutes)
#   packaging/first-minute.sh DIST      from the packages there: archive, npm, wheel, each into an empty directory
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
now() { date +%s.%N; }
report() { awk -v a="$2" -v b="$(now)" -v what="$1" 'BEGIN { printf "%-8s %7.1f s\n", what, b - a }'; }
echo "cores: $(nproc), load: $(cut -d ' ' -f 1 /proc/loadavg)"
if [ $# = 0 ]; then
    cd "$here"
    cargo fetch --locked -q
    begin=$(now)
    CARGO_TARGET_DIR=$scratch/target cargo run -q --profile demo --locked -- demo --dir "$scratch/demo" </dev/null >/dev/null
    report source "$begin"
    exit
fi
dist=$(cd "$1" && pwd)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/Cargo.toml" | head -n 1)
begin=$(now)
sh "$here/packaging/install.sh" "$version" "$dist" "$scratch/prefix" >/dev/null
"$scratch/prefix/bin/aye" demo --dir "$scratch/demo1" </dev/null >/dev/null
report archive "$begin"
begin=$(now)
mkdir "$scratch/node"
(cd "$scratch/node" && npm install --offline --no-audit --no-fund --loglevel=error "$dist"/aye-linux-x64-*.tgz "$dist/aye-$version.tgz" >/dev/null)
"$scratch/node/node_modules/.bin/aye" demo --dir "$scratch/demo2" </dev/null >/dev/null
report npm "$begin"
begin=$(now)
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q --no-index --disable-pip-version-check "$dist"/aye-"$version"-*.whl
"$scratch/venv/bin/aye" demo --dir "$scratch/demo3" </dev/null >/dev/null
report wheel "$begin"
