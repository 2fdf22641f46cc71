#!/bin/sh
# Drives the real OpenCode, as codex.sh does Codex.
#
#   tests/clients/opencode.sh target/release/aye
set -eu
. "$(dirname "$(realpath "$0")")/common.sh"
client opencode opencode-ai@1.18.33 opencode
repository
unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME || true
"$aye" agents install opencode
model chat opencode <<END
[["read", {"filePath": "$PWD/a.txt"}],
 ["edit", {"filePath": "$PWD/a.txt", "oldString": "two", "newString": "Two"}],
 ["write", {"filePath": "$PWD/new.txt", "content": "new\n"}],
 ["bash", {"command": "sed -i s/bee/wasp/ b.txt && cat a.txt b.txt new.txt", "description": "Edit"}],
 ["edit", {"filePath": "$PWD/a.txt", "oldString": "Two", "newString": "TWO"}]]
END
opencode_asks
turn() {
    timeout 280 "$program" run "$@" </dev/null >"$scratch/turn" 2>&1 || fail "opencode: $(tail -20 "$scratch/turn")"
}
turn "Do the task"
gated
"$aye" reject --latest --yes -m "Bees are kinder than wasps"
turn --continue "Go on"
told opencode
"$aye" agents remove opencode
[ ! -e "$HOME/.config/opencode/plugin/aye.js" ] || fail "the plugin is still there"
echo "removed: nothing is left"
