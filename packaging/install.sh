#!/bin/sh
# Installs a release of aye: programs, man pages and completions, from an archive whose checksum is right.
#
#   install.sh VERSION FROM [PREFIX]
#
# FROM is the address of the release, or a directory, that holds the archive and SHA256SUMS. PREFIX is ~/.local
# unless named. With AYE_SHA256 set, the archive has to have that checksum, whatever SHA256SUMS says.
set -eu
[ $# -ge 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
version=$1 from=$2 prefix=${3:-$HOME/.local}

case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) target=x86_64-unknown-linux-gnu ;;
    Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-musl ;;
    Darwin-arm64) target=aarch64-apple-darwin ;;
    Darwin-x86_64) target=x86_64-apple-darwin ;;
    *) echo "error: there is no archive for $(uname -s) on $(uname -m)" >&2; exit 1 ;;
esac
name=aye-$version-$target
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fetch() {
    case $from in
        http://* | https://*) curl --proto '=https' --tlsv1.2 -fsSL --retry 3 -o "$scratch/$1" "$from/$1" ;;
        *) cp "$from/$1" "$scratch/$1" ;;
    esac
}

sum() { if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1; }

fetch "$name.tar.gz"
if [ -n "${AYE_SHA256:-}" ]; then
    expected=$AYE_SHA256
else
    fetch SHA256SUMS
    expected=$(awk -v name="$name.tar.gz" '$2 == name || $2 == "*" name { print $1 }' "$scratch/SHA256SUMS")
fi
found=$(sum "$scratch/$name.tar.gz")
[ "$found" = "$expected" ] || {
    echo "error: the checksum of $name.tar.gz is $found, expected ${expected:-one that SHA256SUMS does not hold}" >&2
    exit 1
}
tar -xzf "$scratch/$name.tar.gz" -C "$scratch"
mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" \
    "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
for program in aye git-aye; do
    # Renamed into place: a running program is not overwritten.
    cp "$scratch/$name/$program" "$prefix/bin/.$program.new"
    chmod 755 "$prefix/bin/.$program.new"
    mv "$prefix/bin/.$program.new" "$prefix/bin/$program"
done
cp "$scratch/$name"/man/*.1 "$prefix/share/man/man1/"
cp "$scratch/$name/completions/aye.bash" "$prefix/share/bash-completion/completions/aye"
cp "$scratch/$name/completions/aye.zsh" "$prefix/share/zsh/site-functions/_aye"
cp "$scratch/$name/completions/aye.fish" "$prefix/share/fish/vendor_completions.d/aye.fish"
echo "installed: $("$prefix/bin/aye" --version) in $prefix/bin"
