#!/bin/sh
# Drives real agents through `aye acp`, against scripted models on loopback, with an editor that is played by
# the official client library: the checkout stays as it is, what was meant is one proposal, its line is in the
# chat, paths are the editor's, the reason of a rejection is in the next request, and a loaded session finds its
# tree. Installs library and agents from npm into a scratch directory; not part of CI.
#
#   tests/clients/acp.sh target/release/aye [gemini qwen copilot opencode claude codex]
set -eu
here=$(dirname "$(realpath "$0")")
if [ $# -gt 2 ] || [ $# = 1 ]; then
    tested=$1
    shift
    for agent in ${*:-gemini qwen copilot opencode claude codex}; do
        "$0" "$tested" "$agent" || { echo "$agent: FAILED"; failed=1; }
    done
    exit ${failed:-0}
fi
. "$here/common.sh"
name=$2

# install DIRECTORY PACKAGE: sets `modules`.
install() {
    modules=${CLIENTS_AT:-$scratch}/$1/node_modules
    [ -d "$modules" ] || npm install --no-fund --no-audit --silent --prefix "$scratch/$1" "$2" >"$scratch/npm.log" 2>&1 ||
        { echo "not installed: $2"; exit 1; }
}
install acp-sdk @agentclientprotocol/sdk@2.4.0
mkdir -p "$scratch/editor"
cp "$here/acp_client.mjs" "$scratch/editor"
ln -s "$modules" "$scratch/editor/node_modules"
repository
case $name in
gemini)
    package=@google/gemini-cli@0.61.0
    mkdir -p "$HOME/.gemini"
    echo '{"security":{"auth":{"selectedType":"gemini-api-key"}}}' >"$HOME/.gemini/settings.json"
    model gemini gemini <<'END'
[["write_file", {"file_path": "@TREE@/new.txt", "content": "new\n"}],
 ["read_file", {"file_path": "@TREE@/a.txt"}],
 ["replace", {"file_path": "@TREE@/a.txt", "old_string": "two", "new_string": "TWO", "instruction": "x"}],
 ["run_shell_command", {"command": "sed -i s/bee/wasp/ b.txt && cat a.txt b.txt new.txt"}]]
END
    export GOOGLE_GEMINI_BASE_URL="http://127.0.0.1:$port" GEMINI_API_KEY=none GEMINI_TELEMETRY_ENABLED=false
    export GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_SANDBOX=false
    set -- gemini --acp -m gemini-2.5-pro
    ;;
qwen)
    package=@qwen-code/qwen-code@0.24.4
    mkdir -p "$HOME/.qwen"
    echo '{"security":{"auth":{"selectedType":"openai"}}}' >"$HOME/.qwen/settings.json"
    model chat qwen <<'END'
[["read_file", {"file_path": "@TREE@/a.txt"}],
 ["edit", {"file_path": "@TREE@/a.txt", "old_string": "two", "new_string": "TWO"}],
 ["write_file", {"file_path": "@TREE@/new.txt", "content": "new\n"}],
 ["run_shell_command", {"command": "sed -i s/bee/wasp/ b.txt && cat a.txt b.txt new.txt", "is_background": false}]]
END
    export OPENAI_BASE_URL="http://127.0.0.1:$port/v1" OPENAI_API_KEY=none OPENAI_MODEL=scripted
    export QWEN_TELEMETRY_ENABLED=false
    set -- qwen --acp
    ;;
copilot)
    package=@github/copilot@1.0.102
    model chat copilot <<'END'
[["view", {"path": "@TREE@/a.txt"}],
 ["edit", {"path": "@TREE@/a.txt", "old_str": "two", "new_str": "TWO"}],
 ["create", {"path": "@TREE@/new.txt", "file_text": "new\n"}],
 ["bash", {"command": "sed -i s/bee/wasp/ b.txt && cat a.txt b.txt new.txt", "description": "Edit", "sessionId": "x", "initial_wait": 10}]]
END
    export COPILOT_PROVIDER_BASE_URL="http://127.0.0.1:$port/v1" COPILOT_PROVIDER_API_KEY=none
    export COPILOT_OFFLINE=true COPILOT_MODEL=scripted COPILOT_AUTO_UPDATE=false
    set -- copilot --acp
    ;;
opencode)
    package=opencode-ai@1.18.33
    unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME || true
    mkdir -p "$HOME/.config/opencode"
    model chat opencode <<'END'
[["read", {"filePath": "@TREE@/a.txt"}],
 ["edit", {"filePath": "@TREE@/a.txt", "oldString": "two", "newString": "TWO"}],
 ["write", {"filePath": "@TREE@/new.txt", "content": "new\n"}],
 ["bash", {"command": "sed -i s/bee/wasp/ b.txt && cat a.txt b.txt new.txt", "description": "Edit"}]]
END
    opencode_asks
    set -- opencode acp
    ;;
claude)
    package=@agentclientprotocol/claude-agent-acp@0.101.0
    model messages claude <<'END'
[["Write", {"file_path": "@TREE@/new.txt", "content": "new\n"}],
 ["Read", {"file_path": "@TREE@/a.txt"}],
 ["Edit", {"file_path": "@TREE@/a.txt", "old_string": "two", "new_string": "TWO"}],
 ["Bash", {"command": "sed -i s/bee/wasp/ b.txt", "description": "Edit"}]]
END
    claude_asks
    # Otherwise it does not start for root.
    export IS_SANDBOX=1
    set -- claude-agent-acp
    ;;
codex)
    package=@agentclientprotocol/codex-acp@2.6.0
    export CODEX_HOME="$HOME/.codex"
    mkdir -p "$CODEX_HOME"
    : >"$CODEX_HOME/config.toml"
    model responses codex <<'END'
[["apply_patch", "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+TWO\n three\n*** Add File: new.txt\n+new\n*** End Patch"],
 ["exec_command", {"cmd": "sed -i s/bee/wasp/ b.txt && cat a.txt b.txt new.txt"}]]
END
    codex_asks
    set -- codex-acp
    ;;
*) echo "not an agent: $name" && exit 2 ;;
esac
install "$name" "$package"
echo "$package"
program=$modules/.bin/$1
shift
# editor STEP…: what the chat shows.
words=$*
editor() {
    # shellcheck disable=SC2086
    timeout 240 node "$scratch/editor/acp_client.mjs" "$aye" "$program" $words -- "$@" >"$scratch/chat" 2>"$scratch/agent.err" ||
        fail "$name: $(cat "$scratch/chat"; tail -20 "$scratch/agent.err")"
    cat "$scratch/chat"
}

# What is there after the first turn; then a person decides.
cat >"$scratch/between" <<END
git status --short >"$scratch/status"
"$aye" list --json | sed -n 's/.*"proposal_id": *"\([^"]*\)".*/\1/p' >"$scratch/ids"
"$aye" diff --latest --no-pager >"$scratch/diff"
"$aye" session list --json | sed -n 's/.*"tree": *"\([^"]*\)".*/\1/p' >"$scratch/trees"
"$aye" reject --latest --yes -m "Bees are kinder than wasps"
END
editor "new b.txt" "prompt Do the task" "run sh '$scratch/between'" "prompt Go on"
[ ! -s "$scratch/status" ] || fail "the checkout was changed: $(cat "$scratch/status")"
[ "$(wc -l <"$scratch/ids")" = 1 ] || fail "not one proposal"
for line in '^+TWO' '^+new' '^+wasp'; do
    grep -q "$line" "$scratch/diff" || fail "the proposal lacks $line: $(cat "$scratch/diff")"
done
echo "gated: one proposal, as meant; the checkout untouched"
id=$(cat "$scratch/ids")
grep -qF "aye: $id 3 files +3 −2   decide: aye review $id" "$scratch/chat" || fail "the chat lacks the proposal"
grep -q "^paths: $PWD" "$scratch/chat" || fail "no path of the checkout is shown"
echo "shown: the proposal and the paths of the checkout"
told "$name"
[ "$("$aye" session list --json | grep -c '"tree"')" = 0 ] || fail "a tree is left"

# A session whose proposal is pending is loaded again, in its tree.
trees() { "$aye" session list --json | sed -n 's/.*"tree": *"\([^"]*\)".*/\1/p'; }
editor new "prompt Do the task"
before=$(trees)
[ "$(echo "$before" | grep -c /)" = 1 ] || fail "not one tree: $before"
if [ "$name" = gemini ]; then
    echo "not loaded: this version finds no session again, without aye neither"
    exit 0
fi
editor load "prompt Go on"
! grep -q "loads no session" "$scratch/chat" || fail "it loads no session"
[ "$(trees)" = "$before" ] || fail "another tree: $(trees)"
[ "$("$aye" list --json | grep -c '"proposal_id"')" = 1 ] || fail "not one proposal"
[ -z "$(git status --short)" ] || fail "the checkout was changed: $(git status --short)"
echo "loaded: the same tree, the same proposal"
