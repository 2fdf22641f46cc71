#!/usr/bin/env bash
# Fills a clone of this repository with 26 varied proposals by four agents, as a day of work leaves them, to look
# at the review from the overview to the commit: a stack of three, two on one line, a rename with edits and an
# edit of the file that it moves, a copy, a lock file, a generated file, a conflict, a secret, misleading text,
# a binary file, memory; one was sent back, one was tried, one is about to expire.
#
#   cargo build && tests/demos/queue.sh /tmp/queue && cd /tmp/queue && aye review
#
# Give the program in AYE, and another repository to clone in FROM; it needs Rust sources below src/.
set -euo pipefail

here=$(cd "$(dirname "$0")/../.." && pwd)
to=${1:?usage: tests/demos/queue.sh DIR}
aye=${AYE:-$here/target/debug/aye}
from=${FROM:-$here}
[ -e "$to" ] && { echo "$to is there already" >&2; exit 1; }

git clone -q --no-hardlinks "$from" "$to"
cd "$to"
git remote remove origin
git config user.name 'Ada Reviewer'
git config user.email ada@example.com
"$aye" init -q
"$aye" memory init -q
printf 'man/*.1 linguist-generated\n' > .gitattributes
git add -A
git commit -q -m 'Start'

# as NAME MODEL TASK, then the arguments of aye propose
as() {
  local name=$1 model=$2 task=$3
  shift 3
  AYE_AGENT=$name AYE_MODEL=$model AYE_SESSION=$name-1 "$aye" propose --task "$task" -q "$@" |
    grep -o 'prop_[0-9a-z]*' | head -1
}
claude() { as claude-code opus-4.8 "$@"; }
codex() { as codex gpt-5.3-codex "$@"; }
gemini() { as gemini-cli gemini-3-pro "$@"; }
copilot() { as copilot sonnet-5 "$@"; }
# worktree AGENT TASK WHY PATH…: what is in the work tree of these, which is put back
worktree() {
  local agent=$1 task=$2 why=$3
  shift 3
  "$agent" "$task" -m "$why" --worktree "$@"
}
first() { sed -n "$2p" "$1"; }

mapfile -t rust < <(git ls-files 'src/*.rs' | grep -v mod.rs | sort | awk 'NR % 7 == 1' | head -24)

# 1 to 8: documents and a refactoring
claude T-1 README.md --occurrence 1 --old "$(first README.md 1)" --new "$(first README.md 1), the write gate" -m 'Say what it is in the title' > /dev/null
claude T-1 CONTRIBUTING.md --occurrence 1 --old "$(first CONTRIBUTING.md 1)" --new "$(first CONTRIBUTING.md 1) to aye" -m 'Name the project' > /dev/null
printf '\n## Questions\nOpen an issue; say what you ran and what it printed.\n' >> SECURITY.md
worktree claude T-1 'Say where questions go' SECURITY.md > /dev/null
for file in "${rust[@]:0:3}"; do sed -i '1s/\.$/, as the design has it./; 0,/pub fn/s//pub(crate) fn/' "$file"; done
worktree claude T-1 'Narrow what three rooms give on' "${rust[@]:0:3}" > /dev/null
stack=${rust[3]}
one=$(claude T-2 "$stack" --old "$(first "$stack" 1)" --new "$(first "$stack" 1) First step." -m 'Step 1: say what the room is for')
two=$(claude T-2 "$stack" --on "$one" --old ' First step.' --new ' Two steps.' -m 'Step 2: and what not')
claude T-2 "$stack" --on "$two" --old ' Two steps.' --new ' Three steps, in order.' -m 'Step 3: in order' > /dev/null
printf '//! What is new.\n\n/// The answer.\npub fn answer() -> u32 {\n    42\n}\n' > src/answer.rs
worktree claude T-2 'Add the answer' src/answer.rs > /dev/null

# 9 to 15: a move, an edit of what moves, the lock file, a generated one, many files, a copy
follow=$(codex T-3 docs/sharing.md --occurrence 1 --old "$(first docs/sharing.md 1)" --new "$(first docs/sharing.md 1) with others" -m 'Say with whom')
git mv docs/sharing.md docs/remotes.md
sed -i "5s/$/ (as events)/" docs/remotes.md
worktree codex T-3 'Call the page what it is about' docs/sharing.md docs/remotes.md > /dev/null
sed -i '0~23s/^version = "\(.*\)"$/version = "\1+1"/' Cargo.lock
sed -i '0,/^edition/s/^edition.*/&\n# Renewed with the lock file./' Cargo.toml
worktree codex T-3 'Renew the dependencies' Cargo.lock Cargo.toml > /dev/null
sed -i '0~40s/$/ ./' man/aye-review.1
worktree codex T-3 'Print the manual again' man/aye-review.1 > /dev/null
for file in "${rust[@]:4:10}"; do sed -i '0,/^use /s//\/\/ Imports.\nuse /; $s/$/\n\/\/ End./' "$file"; done
worktree codex T-3 'Comment on ten files' "${rust[@]:4:10}" > /dev/null
cp docs/ci.md docs/gitlab.md
sed -i '1s/$/ on GitLab/' docs/gitlab.md
sed -i '1s/$/ on GitHub/' docs/ci.md
worktree codex T-3 'One page for each forge' docs/ci.md docs/gitlab.md > /dev/null
git rm -q RELEASING.md
worktree codex T-3 'Nobody releases by hand any more' RELEASING.md > /dev/null

# 16 to 21: two on one line, a conflict, what deserves a second look
gemini T-4 ARCHITECTURE.md --old "$(first ARCHITECTURE.md 1)" --new '# Architecture: a map' -m 'Shorter title' > /dev/null
copilot T-5 ARCHITECTURE.md --old "$(first ARCHITECTURE.md 1)" --new '# Architecture in one page' -m 'Another title' > /dev/null
clash=${rust[15]}
gemini T-4 "$clash" --old "$(first "$clash" 1)" --new "$(first "$clash" 1) By an agent." -m 'Say it at length' > /dev/null
printf 'endpoint = "https://api.example.com"\ntoken = "ghp_%s"\n' "$(printf 'A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8')" > config.toml
worktree gemini T-4 'Configure the service' config.toml > /dev/null
printf 'if access_level != "user\xe2\x80\xae \xe2\x81\xa6// check\xe2\x81\xa9 \xe2\x81\xa6" {\n    admin();\n}\n' > src/access.rs
worktree gemini T-4 'Check who it is' src/access.rs > /dev/null
sed -i '1s/$/\n# Faster./' .ci/run
worktree gemini T-4 'Make the build faster' .ci/run > /dev/null

# 22 to 26: a binary file, a mode, memory, one for today, an easy one
head -c 900 "$aye" > docs/logo.bin
worktree copilot T-5 'Add the logo' docs/logo.bin > /dev/null
chmod +x build.rs
worktree copilot T-5 'The build script is a program' build.rs > /dev/null
AYE_AGENT=copilot "$aye" memory propose --intent record_decision --operation append_section --path decisions.md \
  --heading 'Use SQLite for the cache' --heading-level 2 --content $'## Use SQLite for the cache\n\n**Date:** 2026-11-25\n**Status:** active\n**Confidence:** confirmed\n\nOne file, rebuilt at will.\n' \
  --source user -m 'Settled in review' > /dev/null
copilot T-6 LICENSE --old "$(first LICENSE 1)" --new "$(first LICENSE 1) (of your choice)" -m 'Which licence' --expires-in 90m > /dev/null
easy=$(copilot T-6 SECURITY.md --old "$(first SECURITY.md 1)" --new "$(first SECURITY.md 1) policy" -m 'A plainer title')

"$aye" comment "$follow" --request-changes -m 'Say with whom, and how' -q
"$aye" try "$easy" -q -- true > /dev/null
sed -i "1s,.*,//! Written by hand.," "$clash"
git commit -q -am 'Say it by hand'
"$aye" list
