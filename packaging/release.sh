#!/usr/bin/env bash
# Builds everything of a release that can be built on this machine, into target/dist, and tests it.
#
#   packaging/release.sh [BIN]      with BIN, the programs there are packaged and nothing is compiled
set -euo pipefail
cd "$(dirname "$0")/.."
dist=target/dist
bin=${1:-}
if [ -z "$bin" ]; then
    [ -z "$(git status --porcelain)" ] || { echo "error: there are uncommitted changes" >&2; exit 1; }
    packaging/release-build.sh "$PWD/target/dist-build"
    bin=target/dist-build/release
fi
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
rm -rf "$dist"
for kind in archive npm wheel deb; do
    python3 "packaging/$kind.py" --bin "$bin" --out "$dist"
done
(cd "$dist" && sha256sum -- * >SHA256SUMS)
packaging/test.sh "$bin" "$dist"
ls -l "$dist"
