#!/bin/sh
# Claude Code and Codex, both real, both through the hooks of `aye agents`, at work on one repository at once; a
# person reviews in tmux, takes a part of Codex's proposal and rejects Claude's; each hears of it in its next turn.
# The models are scripted and repeat the reason that they are told.
#
#   tests/clients/together.sh target/release/aye
set -eu
. "$(dirname "$(realpath "$0")")/common.sh"
command -v tmux >/dev/null || { echo "not installed: tmux"; exit 1; }
client claude @anthropic-ai/claude-code@2.1.332 claude
claude=$program
client codex @openai/codex@0.171.0 codex
codex=$program
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
second='"Do the task"'
both "Do the task"
[ "$(git status --short)" = "?? .claude/" ] || fail "the checkout was changed: $(git status --short)"
"$aye" list --no-pager
[ "$("$aye" list --json | grep -c '"proposal_id"')" = 2 ] || fail "not two proposals"
of() { "$aye" list --by "$1" --json | sed -n 's/.*"proposal_id": *"\([^"]*\)".*/\1/p'; }
by_codex=$(of codex) by_claude=$(of claude-code)
echo "gated: two proposals; the checkout untouched"

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
$screen new-session -d -s review -x 96 -y 60 "'$aye' review $by_codex $by_claude; echo status \$?; read -r _"
part() {
    sees "(1/2) Take this hunk [y,n,e" y
    sees "(2/2) Take this hunk [y,n,e" n
}
refuse() {
    sees "(1/2) Take this hunk [y,n,e,f" R
    sees "Reject it because" -l "Bees are kinder than wasps"
    $screen send-keys -t review Enter
}
# The older one comes first.
sees "(1/2) Take this hunk"
if grep -qF "(1/2) $by_codex" "$scratch/screen"; then part; refuse; else refuse; part; fi
sees "Write these decisions" y
sees "status 0"
cat "$scratch/screen"
$screen kill-server
[ "$(sed -n '2p;18p' numbers.txt | tr '\n' ' ')" = "two 18 " ] || fail "not that part was applied"
echo "reviewed: a part of Codex's applied, Claude's rejected"

second='resume --last "Go on"'
both "Go on" --continue
told claude
grep -q "partially applied by Test" "$scratch/codex.log" || fail "codex was not told of the part"
grep -q "Bees are kinder than wasps" "$scratch/claude.turn" || fail "the reason is not repeated: $(cat "$scratch/claude.turn")"
tail -1 "$scratch/codex.turn" | grep -q "partially applied" || fail "codex does not repeat it: $(tail -3 "$scratch/codex.turn")"
echo "claude: $(cat "$scratch/claude.turn")"
echo "codex: $(tail -1 "$scratch/codex.turn")"
tree=$("$aye" session list --json | sed -n '/"agent": *"codex"/,/"tree"/s/.*"tree": *"\([^"]*\)".*/\1/p')
[ "$(sed -n '2p;18p' "$tree/numbers.txt" | tr '\n' ' ')" = "two 18 " ] || fail "codex's tree did not follow"
[ "$("$aye" list --json | grep -c '"proposal_id"')" = 0 ] || fail "something is proposed again"
echo "followed: both trees are as decided; nothing is proposed again"
