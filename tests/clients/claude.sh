#!/bin/sh
# Drives the real Claude Code, against a scripted model on loopback, through the hooks of `aye agents`:
# the checkout stays as it is, what was meant is one proposal, and the reason of a rejection is in the next
# request. Installs the client from npm into a scratch directory; not part of CI.
#
#   tests/clients/claude.sh target/release/aye
set -eu
aye=$(realpath "${1:?name the aye to be tested}")
here=$(dirname "$(realpath "$0")")
scratch=$(mktemp -d)
model=
trap 'kill $model 2>/dev/null; rm -rf "$scratch"' EXIT
cd "$scratch"
# CLIENTS_AT as in common.sh.
claude=${CLIENTS_AT:-$scratch}/claude/node_modules/.bin/claude
[ -x "$claude" ] || npm install --no-fund --no-audit --silent --prefix "$scratch/claude" @anthropic-ai/claude-code \
    >npm.log 2>&1 || { echo "not installed: Claude Code"; exit 1; }
"$claude" --version

mkdir home repository
export HOME="$scratch/home" XDG_STATE_HOME="$scratch/home/state"
unset CLAUDECODE CLAUDE_CODE_ENTRYPOINT AI_AGENT AYE_AGENT CI || true
cd repository
git init -q
git config user.name Test
git config user.email test@example.org
printf 'bee\n' >b.txt
git add .
git commit -qm first
"$aye" agents install claude-code --local

python3 "$here/claude_model.py" "$PWD" "$scratch/log" >"$scratch/port" &
model=$!
until [ -s "$scratch/port" ]; do sleep 0.1; done
export ANTHROPIC_BASE_URL="http://127.0.0.1:$(cat "$scratch/port")" ANTHROPIC_API_KEY=none
export DISABLE_TELEMETRY=1 DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
turn() {
    timeout 120 "$claude" -p "$@" --permission-mode acceptEdits \
        --allowedTools "Bash Edit Write EnterWorktree" --output-format json </dev/null >"$scratch/turn"
}
fail() { echo "FAILED: $1"; exit 1; }

turn "Do the task"
[ "$(git status --short)" = "?? .claude/" ] || fail "the checkout was changed: $(git status --short)"
[ "$("$aye" list --json | grep -c '"proposal_id"')" = 1 ] || fail "not one proposal"
"$aye" diff --latest --no-pager >"$scratch/diff"
grep -q '^+wasp' "$scratch/diff" && grep -q '^+new' "$scratch/diff" || fail "the proposal is another one"
echo "gated: one proposal, as meant; the checkout untouched"

"$aye" reject --latest --yes --reason "Bees are kinder than wasps"
turn "Go on" --continue
grep -q "Bees are kinder than wasps" "$scratch/log" || fail "the reason did not come back"
echo "told: the reason is in the next request"

"$aye" agents remove claude-code --local
[ -z "$(git status --short)" ] || fail "the settings are not as before"
echo "removed: nothing is left"
