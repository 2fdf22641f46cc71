#!/usr/bin/env bash
# Builds HEAD in two directories and compares the binaries. Takes two release builds.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# One commit, also where another comes in meanwhile.
for place in one another/place; do git clone -q --no-hardlinks . "$scratch/$place"; done
for place in one another/place; do
    "$scratch/$place/packaging/release-build.sh" "$scratch/$place/target"
done
differ=0
for program in aye git-aye; do
    one=$scratch/one/target/release/$program other=$scratch/another/place/target/release/$program
    sha256sum "$one" "$other"
    if ! cmp "$one" "$other"; then
        differ=1
        echo "differ: $program; paths in it:"
        strings "$one" | grep -F "$scratch" | head || true
    fi
done
exit $differ
