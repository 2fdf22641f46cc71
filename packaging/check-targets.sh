#!/usr/bin/env bash
# Checks that aye compiles for systems that it is not built on: `cargo check`, nothing is linked or run.
#
#   packaging/check-targets.sh [TARGET...]
#
# SQLite is C: its compiler and archiver are stubs that only touch their outputs. A target whose standard library
# cannot be installed is skipped with a word.
set -euo pipefail
cd "$(dirname "$0")/.."
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(aarch64-apple-darwin)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/cc" <<'STUB'
#!/bin/sh
# A compiler that only touches its output; asked to preprocess, it says nothing.
while [ $# -gt 0 ]; do
    case $1 in -o) : >"$2"; shift ;; esac
    shift
done
STUB
cat >"$scratch/ar" <<'STUB'
#!/bin/sh
for file in "$@"; do case $file in *.a | *.lib) : >"$file" ;; esac; done
STUB
chmod +x "$scratch/cc" "$scratch/ar"
failed=0
for target in "${targets[@]}"; do
    if ! rustup target list --installed 2>/dev/null | grep -qx "$target" && ! rustup target add "$target" >/dev/null 2>&1; then
        echo "skipped: $target (its standard library cannot be installed here)"
        continue
    fi
    name=${target//-/_}
    if env "CC_$name=$scratch/cc" "AR_$name=$scratch/ar" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target/check}" \
        cargo check --locked --target "$target"; then
        echo "ok: $target compiles"
    else
        echo "error: $target does not compile" >&2
        failed=1
    fi
done
exit $failed
