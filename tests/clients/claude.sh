#!/bin/sh
# Drives the real Claude Code, against a scripted model on loopback, through the hooks of `aye agents`:
# the checkout stays as it is, what was meant is one proposal, and the reason of a rejection is in the next
# request. Installs the client from npm into a scratch directory; not part of CI.
#
#   tests/clients/claude.sh target/release/aye
set -eu
. "$(dirname "$(realpath "$0")")/common.sh"
client claude @anthropic-ai/claude-code@2.1.332 claude
repository
"$aye" agents install claude-code --local
# An edit in the checkout, the tool that the refusal names, the edit again in the work tree, commands there, and a
# last try at the checkout.
model messages claude <<END
[["Write", {"file_path": "$PWD/new.txt", "content": "new\n"}],
 ["EnterWorktree", {"name": "@NAME@"}],
 ["Write", {"file_path": "@TREE@/new.txt", "content": "new\n"}],
 ["Bash", {"command": "sed -i s/bee/wasp/ b.txt && sed -i s/two/TWO/ a.txt", "description": "Edit"}],
 ["Write", {"file_path": "$PWD/escape.txt", "content": "x\n"}]]
END
claude_asks
turn() {
    timeout 120 "$program" -p "$@" --permission-mode acceptEdits \
        --allowedTools "Bash Edit Write EnterWorktree" --output-format json </dev/null >"$scratch/turn"
}

echo .claude >>.git/info/exclude
turn "Do the task"
gated claude

"$aye" reject --latest --yes -m "Bees are kinder than wasps"
turn "Go on" --continue
told claude

"$aye" agents remove claude-code --local
[ ! -e .claude ] || fail "the settings are not as before"
echo "removed: nothing is left"
