#!/usr/bin/env bash
# Makes every package that can be made here, installs each into an empty directory and runs `aye demo` from it.
#
#   packaging/test.sh BIN [DIST]
#
# BIN is the directory of aye and git-aye; with DIST, the packages there are tested instead of new ones. No network
# is used, and none is there where `unshare` may take it away. What cannot be tried here is skipped with a word.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
bin=$(cd "$1" && pwd)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/../Cargo.toml" | head -n 1)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME=$scratch/home TERM=dumb
mkdir "$HOME"
offline=()
unshare -rn true 2>/dev/null && offline=(unshare -rn)

if [ $# -ge 2 ]; then
    dist=$(cd "$2" && pwd)
else
    dist=$scratch/dist
    for kind in archive npm wheel deb; do
        if [ $kind = deb ] && ! command -v dpkg-deb >/dev/null; then continue; fi
        python3 "$here/$kind.py" --bin "$bin" --out "$dist" >>"$scratch/sums"
    done
    sed 's/  */  /' "$scratch/sums" >"$dist/SHA256SUMS"
fi

# What somebody types first, with the programs at $1 and nothing of ours beside them.
shows() {
    local name=$1 programs=$2 play
    play=$scratch/$name.demo
    PATH="$programs:$PATH" "${offline[@]}" aye demo --dir "$play" </dev/null >"$scratch/$name.out"
    grep -q 'More proposals wait' "$scratch/$name.out"
    # Commands are printed as they can be typed; a script in the place of the program hides what it was called.
    if [ "$(head -c 2 "$bin/aye")" != '#!' ]; then grep -q '&& aye review$' "$scratch/$name.out"; fi
    git -C "$play/shop" fsck --strict --no-dangling 2>/dev/null
    (cd "$play/shop" && PATH="$programs:$PATH" git aye list --json | grep -q '"aye/list@1"')
    [ "$(PATH="$programs:$PATH" aye --version)" = "aye $version" ]
    echo "ok: $name"
}

archive() {
    "${offline[@]}" sh "$here/install.sh" "$version" "$dist" "$scratch/prefix"
    shows archive "$scratch/prefix/bin"
    # A wrong checksum installs nothing.
    if AYE_SHA256=0 sh "$here/install.sh" "$version" "$dist" "$scratch/wrong" 2>/dev/null; then return 1; fi
    [ ! -e "$scratch/wrong" ]
}

npm_() {
    command -v npm >/dev/null || { echo "skipped: npm (not here)"; return; }
    mkdir "$scratch/node"
    echo '{ "private": true }' >"$scratch/node/package.json"
    # The package of this system as a file; the umbrella finds it installed.
    (cd "$scratch/node" && "${offline[@]}" npm install --offline --no-audit --no-fund --loglevel=error \
        "$dist"/aye-linux-*-"$version".tgz "$dist/aye-$version.tgz" >/dev/null)
    shows npm "$scratch/node/node_modules/.bin"
}

wheel() {
    python3 -m venv "$scratch/venv" 2>/dev/null || { echo "skipped: wheel (no venv here)"; return; }
    "${offline[@]}" "$scratch/venv/bin/pip" install -q --no-index --disable-pip-version-check "$dist"/aye-"$version"-*.whl
    shows wheel "$scratch/venv/bin"
}

deb() {
    command -v dpkg >/dev/null && [ "$(id -u)" = 0 ] || { echo "skipped: deb (no dpkg, or not root)"; return; }
    local root=$scratch/root
    mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
    : >"$root/var/lib/dpkg/status"
    # git is not in that root; it is the system's.
    dpkg --root="$root" --force-depends --force-script-chrootless --log=/dev/null -i "$dist"/aye_"$version"_*.deb >/dev/null 2>&1
    shows deb "$root/usr/bin"
    for file in man/man1/git-aye.1.gz bash-completion/completions/aye zsh/vendor-completions/_aye \
        fish/vendor_completions.d/aye.fish doc/aye/copyright; do
        [ -s "$root/usr/share/$file" ]
    done
    if man -w ls >/dev/null 2>&1 || command -v mandb >/dev/null; then
        MANPATH=$root/usr/share/man man -P cat aye 2>/dev/null | grep -q 'write gate'
        PATH="$root/usr/bin:$PATH" MANPATH=$root/usr/share/man GIT_PAGER=cat MANPAGER=cat \
            git help aye 2>/dev/null | grep -q -i 'write gate'
        echo "ok: deb, man aye, git help aye"
    else
        echo "skipped: man aye, git help aye (no man program here)"
    fi
    dpkg --root="$root" --log=/dev/null -r aye >/dev/null 2>&1
    [ ! -e "$root/usr/bin/aye" ]
}

# The steps of the GitHub action as a runner runs them: on a commit that holds what was approved, and on one that
# names a proposal that nobody knows.
action() (
    clone=$scratch/clone temporary=$scratch/runner base= id=
    export PATH="$temporary/aye/bin:$PATH" GITHUB_ACTION_PATH=$here/.. RUNNER_TEMP=$temporary FAIL_ON= \
        GITHUB_PATH=$temporary/path GITHUB_OUTPUT=$temporary/output VERSION=$version FROM=$dist
    step() {
        local script
        script=$(awk -v n="$1" '/^    - name:/ { on = 0 } on; /^      run: \|/ { on = ++at == n }' "$here/../action.yml")
        bash -eo pipefail -c "$script" >"$scratch/step" 2>&1
    }
    git config --global user.name Ada
    git config --global user.email ada@example.com
    git init -q --bare "$scratch/remote.git"
    git init -q -b main "$clone"
    mkdir "$temporary"
    cd "$clone"
    step 1
    echo one >a.txt
    git add a.txt
    git commit -qm Start
    git remote add origin "$scratch/remote.git"
    git push -q origin main
    base=$(git rev-parse HEAD)
    id=$(AYE_AGENT=codex aye propose a.txt --old one --new two -q)
    aye apply "$id" --yes --commit >/dev/null 2>&1
    git push -q origin "refs/aye/p/*:refs/aye/by/$(git config aye.clone)/*"
    RANGE=$base..HEAD step 2
    git commit -q --allow-empty -m Sly -m 'Proposal-Id: prop_0000000000'
    if RANGE=$base..HEAD step 2; then return 1; fi
    grep -q '^::' "$scratch/step"
    grep -q unknown_proposal "$temporary/aye.sarif"
    echo "ok: action"
)

# Where no libc is at all, neither that of glibc nor musl's: what the two tags of the wheel promise.
static() {
    if ! file -b "$bin/aye" 2>/dev/null | grep -q 'statically linked'; then
        echo "skipped: empty root (the program is not static)"
        return
    fi
    [ "$(id -u)" = 0 ] || { echo "skipped: empty root (not root)"; return; }
    mkdir "$scratch/empty"
    cp "$bin/aye" "$scratch/empty/aye"
    [ "$(chroot "$scratch/empty" /aye --version)" = "aye $version" ]
    echo "ok: static, in an empty root"
}

archive
npm_
wheel
deb
action
static
