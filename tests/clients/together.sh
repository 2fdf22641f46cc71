#!/bin/sh
# Claude Code and Codex through the hooks of `aye agents`, and Gemini CLI in a played editor through `aye acp`, all
# real, at work on one repository at once; a person reviews in tmux, takes a part of Codex's proposal, rejects
# Claude's and takes Gemini's; each hears of it in its next turn. The models are scripted and repeat the reason
# that they are told.
#
#   tests/clients/together.sh target/release/aye
set -eu
. "$(dirname "$(realpath "$0")")/common.sh"
command -v tmux >/dev/null || { echo "not installed: tmux"; exit 1; }
client claude @anthropic-ai/claude-code@2.1.332 claude
claude=$program
client codex @openai/codex@0.171.0 codex
codex=$program
client gemini @google/gemini-cli@0.61.0 gemini
gemini=$program
sdk=${CLIENTS_AT:-$scratch}/acp-sdk/node_modules
[ -d "$sdk" ] || npm install --no-fund --no-audit --silent --prefix "$scratch/acp-sdk" @agentclientprotocol/sdk@2.4.0
mkdir -p "$scratch/editor"
cp "$here/acp_client.mjs" "$scratch/editor"
ln -s "$sdk" "$scratch/editor/node_modules"
repository
seq 1 20 >numbers.txt
git add . && git commit -qm numbers
export CODEX_HOME="$HOME/.codex"
"$aye" agents install claude-code --local
"$aye" agents install codex

model messages claude <<END
[["Write", {"file_path": "$PWD/new.txt", "content": "new\n"}],
 ["EnterWorktree", {"name": "@NAME@"}],
 ["Write", {"file_path": "@TREE@/new.txt", "content": "new\n"}],
 ["Bash", {"command": "sed -i s/bee/wasp/ b.txt && cat b.txt new.txt", "description": "Edit"}],
 ["Write", {"file_path": "$PWD/escape.txt", "content": "x\n"}]]
END
claude_asks
model responses codex <<'END'
[["apply_patch", "*** Begin Patch\n*** Update File: numbers.txt\n@@\n 1\n-2\n+two\n 3\n@@\n 17\n-18\n+eighteen\n 19\n*** End Patch"],
 ["exec_command", {"cmd": "grep -n two numbers.txt"}]]
END
codex_asks
mkdir -p "$HOME/.gemini"
echo '{"security":{"auth":{"selectedType":"gemini-api-key"}}}' >"$HOME/.gemini/settings.json"
model gemini gemini <<'END'
[["read_file", {"file_path": "@TREE@/a.txt"}],
 ["replace", {"file_path": "@TREE@/a.txt", "old_string": "two", "new_string": "TWO", "instruction": "x"}]]
END
export GOOGLE_GEMINI_BASE_URL="http://127.0.0.1:$port" GEMINI_API_KEY=none GEMINI_TELEMETRY_ENABLED=false
export GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_SANDBOX=false

# Stays open until the person has decided, and goes on then.
editor() {
    timeout 400 node "$scratch/editor/acp_client.mjs" "$aye" "$gemini" --acp -m gemini-2.5-pro -- "$@" \
        >"$scratch/gemini.turn" 2>"$scratch/gemini.err"
}
claude() {
    timeout 150 "$claude" -p "$@" --permission-mode acceptEdits \
        --allowedTools "Bash Edit Write EnterWorktree" </dev/null >"$scratch/claude.turn" 2>&1
}
codex() {
    timeout 150 "$codex" exec --dangerously-bypass-hook-trust --sandbox workspace-write "$@" </dev/null \
        >"$scratch/codex.turn" 2>&1
}
# both CLAUDE'S WORDS: a turn of both at once.
both() {
    claude "$@" &
    first=$!
    shift $#
    eval "codex $second" || fail "codex: $(tail -20 "$scratch/codex.turn")"
    wait $first || fail "claude: $(tail -20 "$scratch/claude.turn")"
}
editor "new a.txt" "prompt Do the task" "run until test -e '$scratch/decided'; do sleep 0.2; done" "prompt Go on" &
gemini_turns=$!
second='"Do the task"'
both "Do the task"
until grep -q decide: "$scratch/gemini.turn"; do
    kill -0 $gemini_turns 2>/dev/null || fail "gemini: $(tail -20 "$scratch/gemini.err")"
    sleep 0.2
done
[ "$(git status --short)" = "?? .claude/" ] || fail "the checkout was changed: $(git status --short)"
"$aye" list --no-pager
[ "$("$aye" list --json | grep -c '"proposal_id"')" = 3 ] || fail "not three proposals"
of() { "$aye" list --by "$1" --json | sed -n 's/.*"proposal_id": *"\([^"]*\)".*/\1/p'; }
by_codex=$(of codex) by_claude=$(of claude-code) by_gemini=$(of gemini-cli)
echo "gated: three proposals; the checkout untouched"

screen="tmux -L aye-$$ -f /dev/null"
# sees TEXT in the last line, then KEYS…
sees() {
    for _ in $(seq 150); do
        $screen capture-pane -p -t review >"$scratch/screen"
        if grep -v '^$' "$scratch/screen" | tail -1 | grep -qF "$1"; then
            shift
            [ $# = 0 ] || $screen send-keys -t review "$@"
            return
        fi
        sleep 0.2
    done
    $screen kill-server
    fail "the review does not show '$1': $(cat "$scratch/screen")"
}
$screen new-session -d -s review -x 96 -y 60 "'$aye' review $by_codex $by_claude $by_gemini; echo status \$?; read -r _"
part() {
    sees "(1/2) Take this hunk [y,n" y
    sees "(2/2) Take this hunk [y,n" n
}
refuse() {
    sees "(1/2) Take this" R
    sees "Reject it because" -l "Bees are kinder than wasps"
    $screen send-keys -t review Enter
}
# The order is that of their arrival.
for turn in 1 2 3; do
    sees "Take this"
    id=$(sed -n "s/^($turn\/3) \(prop_[0-9a-z]*\).*/\1/p" "$scratch/screen")
    case $id in
    "$by_codex") part ;;
    "$by_claude") refuse ;;
    *) sees "(1/1) Take this hunk [y,n" y ;;
    esac
    sleep 1
done
sees "Write these decisions" y
sees "status 0"
cat "$scratch/screen"
$screen kill-server
[ "$(sed -n '2p;18p' numbers.txt | tr '\n' ' ')" = "two 18 " ] || fail "not that part was applied"
[ "$(sed -n 2p a.txt)" = TWO ] || fail "Gemini's was not applied"
: >"$scratch/decided"
echo "reviewed: a part of Codex's applied, Claude's rejected, Gemini's applied"

second='resume --last "Go on"'
both "Go on" --continue
told claude
grep -q "partially applied by Test" "$scratch/codex.log" || fail "codex was not told of the part"
grep -q "Bees are kinder than wasps" "$scratch/claude.turn" || fail "the reason is not repeated: $(cat "$scratch/claude.turn")"
tail -1 "$scratch/codex.turn" | grep -q "partially applied" || fail "codex does not repeat it: $(tail -3 "$scratch/codex.turn")"
wait $gemini_turns || fail "gemini: $(tail -20 "$scratch/gemini.err")"
cat "$scratch/gemini.turn"
echo "claude: $(cat "$scratch/claude.turn")"
echo "codex: $(tail -1 "$scratch/codex.turn")"
[ "$("$aye" list --json | grep -c '"proposal_id"')" = 0 ] || fail "something is proposed again"
echo "done: nothing is proposed again"
