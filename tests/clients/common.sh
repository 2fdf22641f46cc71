# What the scripts of this directory share: a scratch repository, the scripted model, and the verdict.
#
# Sets: aye, here, scratch; the repository is the working directory. CLIENTS_AT names a directory whose
# subdirectories (codex, gemini, …) hold clients that are installed already.

aye=$(realpath "${1:?name the aye to be tested}")
here=$(dirname "$(realpath "$0")")
# Not below /tmp, which some clients' sandboxes leave writable.
scratch=$(mktemp -d "${SCRATCH:-$HOME}/aye-clients-XXXXXX")
models=
trap 'kill $models 2>/dev/null; rm -rf "$scratch"' EXIT
cd "$scratch"

fail() { echo "FAILED: $1"; [ -z "${KEEP:-}" ] || trap 'kill $models 2>/dev/null' EXIT; exit 1; }

# client NAME PACKAGE PROGRAM: sets `program`.
client() {
    program=${CLIENTS_AT:-$scratch}/$1/node_modules/.bin/$3
    [ -x "$program" ] || npm install --no-fund --no-audit --silent --prefix "$scratch/$1" "$2" \
        >"$scratch/npm.log" 2>&1 || { echo "not installed: $2"; exit 1; }
    echo "$1 $("$program" --version 2>&1 | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -1)"
}

# repository: in it, with a test that needs the edit; as nobody's agent.
repository() {
    export HOME="$scratch/home" XDG_STATE_HOME="$scratch/home/state"
    unset CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SESSION_ID AI_AGENT AGENT AYE_AGENT CI CODEX_HOME || true
    mkdir -p "$HOME" "$scratch/repository"
    cd "$scratch/repository"
    git init -q
    git config user.name Test
    git config user.email test@example.org
    printf 'bee\n' >b.txt
    printf 'one\ntwo\nthree\n' >a.txt
    git add .
    git commit -qm first
}

# model PROTOCOL NAME: the steps are on standard input; sets `port`, logs to $scratch/NAME.log.
model() {
    cat >"$scratch/$2.json"
    python3 "$here/model.py" "$1" "$scratch/$2.json" "$scratch/$2.log" >"$scratch/$2.port" 2>/dev/null &
    models="$models $!"
    until [ -s "$scratch/$2.port" ]; do sleep 0.1; done
    port=$(cat "$scratch/$2.port")
}

# codex_asks: Codex asks the model at `port`, beside what its settings hold already.
codex_asks() {
    cat - "$CODEX_HOME/config.toml" >"$scratch/config" <<END
model = "gpt-5.5"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:$port/v1"
wire_api = "responses"
END
    cp "$scratch/config" "$CODEX_HOME/config.toml"
}

# claude_asks: Claude Code asks the model at `port`, and nobody else.
claude_asks() {
    export ANTHROPIC_BASE_URL="http://127.0.0.1:$port" ANTHROPIC_API_KEY=none
    export DISABLE_TELEMETRY=1 DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
}

# opencode_asks: OpenCode asks the model at `port`.
opencode_asks() {
    cat >"$HOME/.config/opencode/opencode.json" <<END
{"provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
  "options": {"baseURL": "http://127.0.0.1:$port/v1", "apiKey": "none"}, "models": {"m": {"name": "m"}}}},
 "model": "scripted/m", "small_model": "scripted/m", "autoupdate": false, "share": "disabled",
 "permission": {"external_directory": "allow"}}
END
}

# gated NAME: the checkout untouched, exactly one proposal, as meant.
gated() {
    [ -z "$(git status --short)" ] || fail "the checkout was changed: $(git status --short)"
    [ "$("$aye" list --json | grep -c '"proposal_id"')" = 1 ] || fail "not one proposal"
    "$aye" diff --latest --no-pager >"$scratch/diff"
    for line in '^+TWO' '^+new' '^+wasp'; do
        grep -q "$line" "$scratch/diff" || fail "the proposal lacks $line: $(cat "$scratch/diff")"
    done
    echo "gated: one proposal, as meant; the checkout untouched"
}

# told NAME: the reason of the rejection is in a request of the model NAME.
told() {
    grep -q "Bees are kinder than wasps" "$scratch/$1.log" || fail "the reason did not come back"
    echo "told: the reason is in the next request"
}

# applied: what was meant is what the files are.
applied() {
    "$aye" apply --latest --yes >/dev/null
    [ "$(cat a.txt b.txt new.txt)" = "$(printf 'one\nTWO\nthree\nwasp\nnew')" ] ||
        fail "applied is something else: $(cat a.txt b.txt new.txt)"
    echo "applied: exactly what was meant"
    git reset -q --hard && git clean -qfd
}
