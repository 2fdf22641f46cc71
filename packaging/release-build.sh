#!/usr/bin/env bash
# Builds the release binaries of this checkout so that nothing of where it lies is in them.
#
#   packaging/release-build.sh TARGET_DIR
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:?directory for the build}
cargo=${CARGO_HOME:-$HOME/.cargo}
sysroot=$(rustc --print sysroot)
export RUSTFLAGS="--remap-path-prefix=$PWD=/aye --remap-path-prefix=$cargo=/cargo --remap-path-prefix=$sysroot=/rust"
export CFLAGS="-ffile-prefix-map=$PWD=/aye -ffile-prefix-map=$cargo=/cargo"
export SOURCE_DATE_EPOCH CARGO_TARGET_DIR=$target CARGO_INCREMENTAL=0
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
cargo build --release --locked
