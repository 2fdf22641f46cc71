#!/bin/sh
# Drives real clients through the hooks of `aye agents install --mode strict`: an edit of the checkout is refused with
# the way to propose it, and a command runs in it.
#
#   tests/clients/strict.sh target/release/aye [claude|codex|gemini|qwen|copilot|opencode …]
set -eu
. "$(dirname "$(realpath "$0")")/common.sh"
shift
repository
[ $# != 0 ] || set -- claude codex gemini qwen copilot opencode
command='sed -i s/bee/wasp/ b.txt && cat b.txt'

# strict NAME: the refused edit is nowhere, what the command wrote is in the checkout.
strict() {
    [ "$(git status --short)" = " M b.txt" ] || fail "$1: the checkout is otherwise: $(git status --short)"
    ! "$aye" list --json | grep -q '"proposal_id"' || fail "$1: something was proposed: $(tail -20 "$scratch/turn")"
    grep -q "aye propose PATH" "$scratch/$1.log" || fail "$1: the way to propose was not told"
    git checkout -q b.txt
    echo "$1: the edit refused, the command run in the checkout"
}

for name; do
    case $name in
    claude)
        client claude @anthropic-ai/claude-code@2.1.332 claude
        "$aye" agents install claude-code --local --mode strict
        echo .claude >>.git/info/exclude
        model messages claude <<END
[["Write", {"file_path": "$PWD/new.txt", "content": "new\n"}],
 ["Bash", {"command": "$command", "description": "Edit"}]]
END
        claude_asks
        set -- -p "Do the task" --permission-mode acceptEdits --allowedTools "Bash Edit Write"
        ;;
    codex)
        client codex @openai/codex@0.171.0 codex
        export CODEX_HOME="$HOME/.codex"
        "$aye" agents install codex --mode strict
        model responses codex <<END
[["apply_patch", "*** Begin Patch\n*** Add File: new.txt\n+new\n*** End Patch"],
 ["exec_command", {"cmd": "$command"}]]
END
        codex_asks
        set -- exec --dangerously-bypass-hook-trust --sandbox workspace-write "Do the task"
        ;;
    gemini)
        client gemini @google/gemini-cli@0.61.0 gemini
        mkdir -p "$HOME/.gemini"
        echo '{"security":{"auth":{"selectedType":"gemini-api-key"}}}' >"$HOME/.gemini/settings.json"
        "$aye" agents install gemini --mode strict
        model gemini gemini <<END
[["write_file", {"file_path": "$PWD/new.txt", "content": "new\n"}],
 ["run_shell_command", {"command": "$command"}]]
END
        export GOOGLE_GEMINI_BASE_URL="http://127.0.0.1:$port" GEMINI_API_KEY=none GEMINI_TELEMETRY_ENABLED=false
        export GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_SANDBOX=false
        set -- -p "Do the task" --yolo -m gemini-2.5-pro
        ;;
    qwen)
        client qwen @qwen-code/qwen-code@0.24.4 qwen
        mkdir -p "$HOME/.qwen"
        echo '{"security":{"auth":{"selectedType":"openai"}}}' >"$HOME/.qwen/settings.json"
        "$aye" agents install qwen --mode strict
        model chat qwen <<END
[["write_file", {"file_path": "$PWD/new.txt", "content": "new\n"}],
 ["run_shell_command", {"command": "printf 'wasp\\\\n' >b.txt", "is_background": false}]]
END
        export OPENAI_BASE_URL="http://127.0.0.1:$port/v1" OPENAI_API_KEY=none OPENAI_MODEL=scripted QWEN_TELEMETRY_ENABLED=false
        set -- -p "Do the task" --yolo
        ;;
    copilot)
        client copilot @github/copilot@1.0.102 copilot
        "$aye" agents install copilot --mode strict
        model chat copilot <<END
[["create", {"path": "$PWD/new.txt", "file_text": "new\n"}],
 ["bash", {"command": "$command", "description": "Edit", "sessionId": "x", "initial_wait": 10}]]
END
        export COPILOT_PROVIDER_BASE_URL="http://127.0.0.1:$port/v1" COPILOT_PROVIDER_API_KEY=none COPILOT_OFFLINE=true COPILOT_MODEL=scripted COPILOT_AUTO_UPDATE=false
        set -- -p "Do the task" --allow-all-tools --allow-all-paths
        ;;
    opencode)
        client opencode opencode-ai@1.18.33 opencode
        unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME || true
        "$aye" agents install opencode --mode strict
        model chat opencode <<END
[["write", {"filePath": "$PWD/new.txt", "content": "new\n"}],
 ["bash", {"command": "$command", "description": "Edit"}]]
END
        opencode_asks
        set -- run "Do the task"
        ;;
    esac
    timeout 200 "$program" "$@" </dev/null >"$scratch/turn" 2>&1 || fail "$name: $(tail -20 "$scratch/turn")"
    strict "$name"
done
