#!/bin/sh
# Drives the real Gemini CLI, as codex.sh does Codex.
#
#   tests/clients/gemini.sh target/release/aye
set -eu
. "$(dirname "$(realpath "$0")")/common.sh"
client gemini @google/gemini-cli@0.61.0 gemini
repository
mkdir -p "$HOME/.gemini"
cat >"$HOME/.gemini/settings.json" <<END
{
  "security": {
    "auth": {
      "selectedType": "gemini-api-key" // mine
    }
  }
}
END
cp "$HOME/.gemini/settings.json" "$scratch/settings"
"$aye" agents install gemini
model gemini gemini <<END
[["read_file", {"file_path": "$PWD/a.txt"}],
 ["write_file", {"file_path": "$PWD/new.txt", "content": "new\n"}],
 ["read_file", {"file_path": "$PWD/a.txt"}],
 ["replace", {"file_path": "$PWD/a.txt", "old_string": "two", "new_string": "TWO", "instruction": "x"}],
 ["run_shell_command", {"command": "sed -i s/bee/wasp/ b.txt && cat a.txt b.txt new.txt"}]]
END
export GOOGLE_GEMINI_BASE_URL="http://127.0.0.1:$port" GEMINI_API_KEY=none GEMINI_TELEMETRY_ENABLED=false
export GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_SANDBOX=false
timeout 100 "$program" -p "Do the task" --yolo -m gemini-2.5-pro </dev/null >"$scratch/turn" 2>&1 || fail "gemini: $(tail -20 "$scratch/turn")"
gated
"$aye" reject --latest --yes -m "Bees are kinder than wasps"
timeout 100 "$program" -p "Go on" --yolo -m gemini-2.5-pro --resume latest </dev/null >"$scratch/turn" 2>&1 || fail "gemini: $(tail -20 "$scratch/turn")"
told gemini
"$aye" agents remove gemini
cmp -s "$HOME/.gemini/settings.json" "$scratch/settings" || fail "the settings are not as before"
echo "removed: nothing is left"
