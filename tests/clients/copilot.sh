#!/bin/sh
# Drives the real Copilot CLI, as codex.sh does Codex.
#
#   tests/clients/copilot.sh target/release/aye
set -eu
. "$(dirname "$(realpath "$0")")/common.sh"
client copilot @github/copilot@1.0.102 copilot
repository
"$aye" agents install copilot
model chat copilot <<END
[["view", {"path": "$PWD/a.txt"}],
 ["edit", {"path": "$PWD/a.txt", "old_str": "two", "new_str": "Two"}],
 ["create", {"path": "$PWD/new.txt", "file_text": "new\n"}],
 ["bash", {"command": "sed -i s/bee/wasp/ b.txt && cat a.txt b.txt new.txt", "description": "Edit", "sessionId": "x", "initial_wait": 10}],
 ["edit", {"path": "$PWD/a.txt", "old_str": "Two", "new_str": "TWO"}]]
END
export COPILOT_PROVIDER_BASE_URL="http://127.0.0.1:$port/v1" COPILOT_PROVIDER_API_KEY=none COPILOT_OFFLINE=true COPILOT_MODEL=scripted COPILOT_AUTO_UPDATE=false
turn() {
    timeout 150 "$program" "$@" --allow-all-tools --allow-all-paths </dev/null >"$scratch/turn" 2>&1 ||
        fail "copilot: $(tail -20 "$scratch/turn")"
}
turn -p "Do the task"
gated
"$aye" reject --latest --yes -m "Bees are kinder than wasps"
turn --continue -p "Go on"
told copilot
"$aye" agents remove copilot
[ ! -e "$HOME/.copilot/hooks/aye.json" ] || fail "the hooks are still there"
echo "removed: nothing is left"
