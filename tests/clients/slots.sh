#!/bin/sh
# Drives the real Claude Code under `aye run`, against a scripted model on loopback: a second run goes on in the
# tree, and with the conversation, of the first; the proposal says why in the words of the agent's commit; the
# person's own settings come along; an outcome reaches the model of a session that was kept. Not part of CI.
#
#   tests/clients/slots.sh target/release/aye
set -eu
. "$(dirname "$(realpath "$0")")/common.sh"
client claude @anthropic-ai/claude-code@2.1.332 claude
repository
printf '.claude/settings.local.json\nCLAUDE.local.md\n' >>.git/info/exclude
mkdir .claude
echo '{"permissions": {"allow": ["Bash"]}}' >.claude/settings.local.json
echo 'Bees are kind.' >CLAUDE.local.md
model messages claude <<END
[["Bash", {"command": "cat CLAUDE.local.md && echo wasp >b.txt && git commit -qam 'Let it be a wasp'", "description": "Edit"}]]
END
claude_asks
turn() {
    timeout 120 "$aye" run "$@" --permission-mode acceptEdits </dev/null >"$scratch/turn" 2>"$scratch/said" ||
        fail "claude: $(cat "$scratch/turn" "$scratch/said")"
}

turn -- "$program" -p "Do the first task"
grep -q "trees/.*/1$" "$scratch/said" || fail "not in the first tree: $(cat "$scratch/said")"
[ "$(git status --short)" = "" ] || fail "the checkout was changed"
"$aye" list | grep -q "Let it be a wasp" || fail "the words of the commit are lost"
echo "why: in the words of the commit; the settings came along"

: >"$scratch/claude.log"
turn -- "$program" -p "Go on" --continue
grep -q "Do the first task" "$scratch/claude.log" || fail "--continue began another conversation"
echo "continued: the same tree, the same conversation"

"$aye" reject --latest --yes -m "Bees are kinder than wasps"
turn --keep --name dark -- "$program" -p "Do it again"
"$aye" reject --latest --yes -m "Bees are kinder than wasps"
: >"$scratch/claude.log"
turn --keep --name dark -- "$program" -p "Go on"
told claude
