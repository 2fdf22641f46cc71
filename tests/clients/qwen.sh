#!/bin/sh
# Drives the real Qwen Code, as codex.sh does Codex. It honours no rewritten input: a refusal names the path in
# the session's tree, and the model uses that.
#
#   tests/clients/qwen.sh target/release/aye
set -eu
. "$(dirname "$(realpath "$0")")/common.sh"
client qwen @qwen-code/qwen-code@0.24.4 qwen
repository
mkdir -p "$HOME/.qwen"
echo '{"security":{"auth":{"selectedType":"openai"}}} // mine' >"$HOME/.qwen/settings.json"
"$aye" agents install qwen
model chat qwen <<END
[["read_file", {"file_path": "$PWD/a.txt"}],
 ["edit", {"file_path": "$PWD/a.txt", "old_string": "two", "new_string": "TWO"}],
 ["read_file", {"file_path": "@TREE@/a.txt"}],
 ["edit", {"file_path": "@TREE@/a.txt", "old_string": "two", "new_string": "Two"}],
 ["edit", {"file_path": "@TREE@/a.txt", "old_string": "Two", "new_string": "TWO"}],
 ["write_file", {"file_path": "@TREE@/new.txt", "content": "new\n"}],
 ["run_shell_command", {"command": "echo wasp >b.txt", "is_background": false}],
 ["run_shell_command", {"command": "cd @TREE@ && printf 'wasp\\\\n' >b.txt && cat a.txt b.txt new.txt", "is_background": false}]]
END
export OPENAI_BASE_URL="http://127.0.0.1:$port/v1" OPENAI_API_KEY=none OPENAI_MODEL=scripted QWEN_TELEMETRY_ENABLED=false
turn() {
    timeout 150 "$program" "$@" --yolo </dev/null >"$scratch/turn" 2>&1 || fail "qwen: $(tail -20 "$scratch/turn")"
}
turn -p "Do the task"
gated
"$aye" reject --latest --yes -m "Bees are kinder than wasps"
turn --continue -p "Go on"
told qwen
"$aye" agents remove qwen
# The client rewrites its settings itself.
grep -q 'agents hook' "$HOME/.qwen/settings.json" && fail "hooks are left in the settings"
echo "removed: nothing is left"
