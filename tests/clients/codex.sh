#!/bin/sh
# Drives the real Codex, against a scripted model on loopback, through the hooks of `aye agents`, and under
# `aye run`: the checkout stays as it is, what was meant is one proposal, and the reason of a rejection is in
# the next request. Installs the client from npm into a scratch directory; not part of CI.
#
#   tests/clients/codex.sh target/release/aye
set -eu
. "$(dirname "$(realpath "$0")")/common.sh"
client codex @openai/codex@0.169.0 codex
repository
"$aye" agents install codex

model responses codex <<'END'
[["apply_patch", "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+Two\n three\n*** Add File: new.txt\n+new\n*** End Patch"],
 ["exec_command", {"cmd": "sed -i s/bee/wasp/ b.txt && cat a.txt b.txt new.txt"}],
 ["apply_patch", "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-Two\n+TWO\n three\n*** End Patch"]]
END
export CODEX_HOME="$HOME/.codex"
codex_asks
turn() {
    timeout 120 "$@" </dev/null >"$scratch/turn" 2>&1 || fail "codex: $(tail -20 "$scratch/turn")"
}
# The flag stands for the trust that a person gives once in /hooks.
turn "$program" exec --dangerously-bypass-hook-trust --sandbox workspace-write "Do the task"
gated
"$aye" show --latest --json | grep -q '"session"' || fail "no session on record"
"$aye" reject --latest --yes --reason "Bees are kinder than wasps"
turn "$program" exec --dangerously-bypass-hook-trust --sandbox workspace-write resume --last "Go on"
told codex

echo "under aye run:"
: >"$scratch/codex.log"
turn "$aye" run -- "$program" exec --sandbox workspace-write "Do the task"
gated
applied
