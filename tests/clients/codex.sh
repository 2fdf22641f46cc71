#!/bin/sh
# Drives the real Codex, against a scripted model on loopback, through the hooks of `aye agents`, and under
# `aye run`, there with a server of an earlier run, too: the checkout stays as it is, what was meant is one
# proposal, and the reason of a rejection is in the next request. Installs the client from npm into a scratch directory; not part of CI.
#
#   tests/clients/codex.sh target/release/aye
set -eu
. "$(dirname "$(realpath "$0")")/common.sh"
client codex @openai/codex@0.171.0 codex
repository
"$aye" agents install codex

model responses codex <<'END'
[["apply_patch", "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+Two\n three\n*** Add File: new.txt\n+new\n*** End Patch"],
 ["exec_command", {"cmd": "sed -i s/bee/wasp/ b.txt && cat a.txt b.txt new.txt; echo \"session=$AYE_SESSION.\""}],
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
"$aye" reject --latest --yes -m "Bees are kinder than wasps"
turn "$program" exec --dangerously-bypass-hook-trust --sandbox workspace-write resume --last "Go on"
told codex

echo "under aye run:"
: >"$scratch/codex.log"
turn "$aye" run -- "$program" exec --sandbox workspace-write "Do the task"
gated
applied

# Its terminal interface hands its work to a server that an earlier run has left, unless it is told not to.
echo "under aye run, in a terminal, with a server of an earlier run:"
command -v tmux >/dev/null || { echo "not installed: tmux"; exit 1; }
(cd / && "$program" app-server daemon start >/dev/null 2>&1) || fail "no server of an earlier run"
screen="tmux -L aye-$$ -f /dev/null"
end() {
    $screen kill-server
    "$program" app-server daemon stop
    # It leaves what looks for new versions of it.
    kill "$(sed 's/^{"pid":\([0-9]*\).*/\1/' "$CODEX_HOME/app-server-daemon/daemon-updater.pid")" $models
    rm -rf "$scratch"
}
trap 'end >/dev/null 2>&1' EXIT
: >"$scratch/codex.log"
export AYE="$aye" CODEX="$program"
$screen new-session -d -s run -x 120 -y 40 \
    '"$AYE" run --name tui -- "$CODEX" --sandbox workspace-write --ask-for-approval never "Do the task"; echo status $?; read -r _'
# What it asks at its first start is answered; once it is done it is left.
for _ in $(seq 100); do
    $screen capture-pane -p -t run >"$scratch/screen"
    case $(cat "$scratch/screen") in
    *"status 0"*) break ;;
    *"Trust this folder"* | *"Trust all and"*) $screen send-keys -t run Enter ;;
    *"Use existing model"*) $screen send-keys -t run 2 Enter ;;
    *Finished.*) $screen send-keys -t run C-c ;;
    esac
    sleep 1
done
$screen capture-pane -p -S -40 -t run >"$scratch/screen"
grep -q "status 0" "$scratch/screen" || fail "it does not end: $(cat "$scratch/screen")"
grep -q "codex is started with --no-daemon" "$scratch/screen" || fail "nothing is said: $(cat "$scratch/screen")"
grep -q "session=tui\." "$scratch/codex.log" || fail "its command did not run in the run: $(grep -o 'session=[^"]*' "$scratch/codex.log")"
gated
applied
