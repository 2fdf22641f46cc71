#!/usr/bin/env bash
# Tries .pre-commit-hooks.yaml with the real pre-commit: the ids that need no compiler.
#
#   packaging/test-pre-commit.sh BIN
#
# BIN is the directory of aye and git-aye. pre-commit has to be on PATH, and pip able to find setuptools.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:?directory of aye and git-aye}" && pwd)
command -v pre-commit >/dev/null || { echo "skipped: pre-commit is not here"; exit 0; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PRE_COMMIT_HOME=$scratch/cache PIP_FIND_LINKS=$scratch/dist PATH=$bin:$PATH
export GIT_CONFIG_GLOBAL=$scratch/config
git config --file "$GIT_CONFIG_GLOBAL" user.name Ada
git config --file "$GIT_CONFIG_GLOBAL" user.email ada@example.com
python3 "$here/wheel.py" --bin "$bin" --out "$scratch/dist" >/dev/null

# What pre-commit installs from: a commit that holds what it reads.
mkdir "$scratch/hooks"
cp "$here/../.pre-commit-hooks.yaml" "$here/../pyproject.toml" "$scratch/hooks/"
git -C "$scratch/hooks" init -q
git -C "$scratch/hooks" add -A
git -C "$scratch/hooks" commit -qm hooks
rev=$(git -C "$scratch/hooks" rev-parse HEAD)

for language in system python; do
    work=$scratch/$language
    git init -q "$work"
    cd "$work"
    printf 'one\ntwo\n' >a.txt
    cat >.pre-commit-config.yaml <<YAML
repos:
  - repo: $scratch/hooks
    rev: $rev
    hooks: [{ id: aye-check-$language }, { id: aye-trailers-$language }, { id: aye-record-$language }]
YAML
    git add -A
    git commit -qm start
    pre-commit install -t pre-commit -t commit-msg -t post-commit >/dev/null
    id=$(AYE_AGENT=codex aye propose a.txt --old two --new TWO -m 'Louder' --json | sed -n 's/.*"proposal_id": "\(prop_[a-z0-9]*\)".*/\1/p')
    aye apply "$id" --yes -q
    git add a.txt
    git commit -qm 'Be louder' >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
    git log -1 --format=%B | grep -q "^Proposal-Id: $id"
    echo "ok: pre-commit, language $language"
done
