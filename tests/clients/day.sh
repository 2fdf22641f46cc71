#!/bin/sh
# A day's frictions, with the real Claude Code through the hooks of `aye agents`, against scripted models: a command
# that only reads makes no tree; settings allow the trees' directory; a new file of the person, and the remote's
# branches, are in the tree; a push reports what happens instead; the next start proposes what a killed session
# left; all that is done ends at once. Not part of CI.
#
#   tests/clients/day.sh target/release/aye
set -eu
. "$(dirname "$(realpath "$0")")/common.sh"
client claude @anthropic-ai/claude-code@2.1.332 claude
repository
git init -q --bare "$scratch/team.git"
git remote add origin "$scratch/team.git"
git push -q origin HEAD:main
git fetch -q
"$aye" agents install claude-code --local >"$scratch/installed"
echo .claude >>.git/info/exclude
grep -q additionalDirectories "$HOME/.claude/settings.json" || fail "the trees' directory is not allowed"
echo "allowed: the directory of trees"
echo 'bees = 3' >mine.py

turn() {
    claude_asks
    timeout 120 "$program" -p "$@" --permission-mode acceptEdits \
        --allowedTools "Bash Edit Write EnterWorktree" </dev/null >"$scratch/turn" 2>&1
}
trees() { "$aye" session list --json | sed -n 's/.*"tree": *"\([^"]*\)".*/\1/p'; }

model messages reader <<'END'
[["Bash", {"command": "cat a.txt", "description": "Read"}]]
END
turn "What is in a.txt?" || fail "claude: $(cat "$scratch/turn")"
grep -q 'one\\ntwo' "$scratch/reader.log" || fail "the command was not run"
[ -z "$(trees)" ] || fail "reading made a tree: $(trees)"
echo "read: no tree"

model messages writer <<END
[["Write", {"file_path": "$PWD/new.txt", "content": "new\n"}],
 ["EnterWorktree", {"name": "@NAME@"}],
 ["Bash", {"command": "cat mine.py; git branch -r; git push origin HEAD; true", "description": "Look"}],
 ["Bash", {"command": "echo wasp >b.txt; sleep 60", "description": "Edit"}]]
END
turn "Do the task" &
session=$!
for _ in $(seq 300); do
    tree=$(trees)
    [ -z "$tree" ] || ! grep -q wasp "$tree/b.txt" 2>/dev/null || break
    sleep 0.2
done
grep -q wasp "$tree/b.txt" || fail "claude: $(cat "$scratch/turn")"
pkill -KILL -f "Do the task"
wait $session || true
for part in 'bees = 3' 'origin/main' 'nothing is pushed'; do
    grep -q "$part" "$scratch/writer.log" || fail "the model did not see: $part"
done
[ -z "$(git -C "$scratch/team.git" for-each-ref --format='%(refname)' | grep -v main)" ] || fail "it was pushed"
echo "clone: the new file, the remote's branch, and what a push does"
"$aye" list 2>&1 | grep -q "not proposed" || fail "nobody names the work: $("$aye" list 2>&1)"
model messages next <<'END'
[]
END
turn "Hello" || fail "claude: $(cat "$scratch/turn")"
[ "$("$aye" list --json | grep -c '"proposal_id"')" = 1 ] || fail "what was left is not proposed"
"$aye" diff --latest --no-pager | grep -q '^+wasp' || fail "another content"
echo "killed: named, and proposed at the next start"
"$aye" reject --latest --yes -m "No wasps"
"$aye" session end --done
[ -z "$(trees)" ] || fail "a tree is left: $(trees)"
echo "done: no tree is left"
