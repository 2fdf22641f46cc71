//! Hook managers that own a repository's hooks, and what to add to their configuration.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::install::read;
use super::{Hook, Place, codes};
use crate::error::Error;

/// A program that writes and rewrites hooks itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Manager {
    /// `.husky/` (npm).
    Husky,
    /// `lefthook.yml`.
    Lefthook,
    /// `.pre-commit-config.yaml` (pre-commit.com).
    PreCommit,
}

const LEFTHOOK_FILES: [&str; 8] = [
    "lefthook.yml", ".lefthook.yml", "lefthook.yaml", ".lefthook.yaml", "lefthook.toml",
    ".lefthook.toml", "lefthook.json", ".lefthook.json",
];

impl Manager {
    /// The manager in charge at `place`, if there is one. A `.husky` directory or a pre-commit
    /// configuration that nobody has activated does not count; lefthook takes the hooks over on
    /// its next run, so its configuration does.
    pub fn detect(place: &Place) -> Option<Self> {
        if let Some((value, _)) = &place.configured
            && Path::new(value).components().any(|c| c.as_os_str() == ".husky")
        {
            return Some(Self::Husky);
        }
        for hook in Hook::ALL {
            let Ok(Some(text)) = read(&place.directory.join(hook.name())) else { continue };
            let text = String::from_utf8_lossy(&text);
            if text.contains("pre-commit.com") || text.contains("-mpre_commit") {
                return Some(Self::PreCommit);
            }
            if text.contains("lefthook") {
                return Some(Self::Lefthook);
            }
        }
        let top = place.top.as_deref()?;
        LEFTHOOK_FILES.iter().any(|file| top.join(file).is_file()).then_some(Self::Lefthook)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Husky => "husky",
            Self::Lefthook => "lefthook",
            Self::PreCommit => "pre-commit",
        }
    }

    /// Why nothing is installed, and what to write instead for `hooks`.
    pub fn refusal(self, hooks: &[Hook]) -> Error {
        Error::new(
            &codes::HOOKS_MANAGED,
            format!("{} manages the hooks of this repository", self.name()),
        )
        .with("manager", self.name())
        .hint(self.advice(hooks))
    }

    /// What to add to the manager's configuration, several lines.
    pub fn advice(self, hooks: &[Hook]) -> String {
        let mut lines = Vec::new();
        match self {
            Self::Husky => {
                lines.push("let husky run aye; add a line to each of its hooks:".to_owned());
                for hook in hooks {
                    let name = hook.name();
                    lines.push(format!("echo 'aye hooks run {name} \"$@\"' >> .husky/{name}"));
                }
            }
            Self::Lefthook => {
                lines.push("let lefthook run aye; add to lefthook.yml:".to_owned());
                for hook in hooks {
                    let name = hook.name();
                    let arguments = match hook {
                        Hook::PrepareCommitMsg | Hook::CommitMsg => " {0}",
                        _ => "",
                    };
                    let stdin = match hook {
                        Hook::PrePush => ", use_stdin: true",
                        _ => "",
                    };
                    lines.push(format!(
                        "{name}: {{ commands: {{ aye: {{ run: 'aye hooks run {name}{arguments}'{stdin} }} }} }}"
                    ));
                }
            }
            Self::PreCommit => {
                lines.push("let pre-commit run aye; add to .pre-commit-config.yaml:".to_owned());
                lines.push("- repo: local".to_owned());
                lines.push("  hooks:".to_owned());
                for hook in hooks {
                    let name = hook.name();
                    lines.push(format!(
                        "    - {{ id: aye-{name}, name: aye {name}, entry: aye hooks run {name}, \
                         language: system, always_run: true, pass_filenames: {}, stages: [{name}] }}",
                        matches!(hook, Hook::PrepareCommitMsg | Hook::CommitMsg)
                    ));
                }
                lines.push("then `pre-commit install -t <stage>` for each stage".to_owned());
            }
        }
        lines.join("\n")
    }
}
