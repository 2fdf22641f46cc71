#!/usr/bin/env bash
# Writes a version wherever it stands: packaging/set-version.sh 0.2.0
set -euo pipefail
cd "$(dirname "$0")/.."
new=${1:?the version, as in 0.2.0}
old=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
any=${old//./\\.}
sed -i "0,/^version = \"$any\"/s//version = \"$new\"/" Cargo.toml pyproject.toml
sed -i "s/aye==$any/aye==$new/" pyproject.toml
sed -i "/^name = \"aye\"\$/{n;s/\"$any\"/\"$new\"/}" Cargo.lock
sed -i "s/default: \"$any\"/default: \"$new\"/" action.yml
sed -i "s/AYE_VERSION: \"$any\"/AYE_VERSION: \"$new\"/" packaging/gitlab-ci.yml
sed -i "s/\\bv$any\\b/v$new/; s/\\(sh install.sh \\|aye-\\|version = \"\\|\" = \"\\|version \"\\)$any/\\1$new/" README.md docs/ci.md
sed -i "s/^## \\[[0-9.]*\\] - unreleased\$/## [$new] - $(date -u +%F)/" CHANGELOG.md
sed -i "s/\"aye $any\"/\"aye $new\"/" man/*.1
git --no-pager diff --stat
