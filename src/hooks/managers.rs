//! Hook managers that own a repository's hooks, and what to add to their configuration.

use std::path::Path;

use serde::Serialize;

use super::install::{can_run, read};
use super::{Hook, Place, codes, script};
use crate::error::Error;
use crate::text::shell::quote;

/// A program that writes and rewrites hooks itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
            let path = place.directory.join(hook.name());
            let mut those = [Self::PreCommit, Self::Lefthook].into_iter();
            if let Some(manager) = those.find(|manager| manager.wrote(&path)) {
                return Some(manager);
            }
        }
        let top = place.top.as_deref()?;
        LEFTHOOK_FILES.iter().any(|file| top.join(file).is_file()).then_some(Self::Lefthook)
    }

    /// Whether git would run it by the hook that is the file `path`.
    pub(super) fn wrote(self, path: &Path) -> bool {
        let Ok(Some(text)) = read(path) else { return false };
        let text = String::from_utf8_lossy(&text);
        match self {
            Self::Husky => can_run(path),
            Self::Lefthook => text.contains("lefthook"),
            Self::PreCommit => text.contains("pre-commit.com") || text.contains("-mpre_commit"),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Husky => "husky",
            Self::Lefthook => "lefthook",
            Self::PreCommit => "pre-commit",
        }
    }

    /// Where its configuration has aye run for `hook`, if anywhere: below the top, or as it is named.
    ///
    /// By the text alone: what a manager makes of its configuration is its own.
    pub fn runs(self, place: &Place, hook: Hook) -> Option<String> {
        let name = hook.name();
        let called = format!("aye hooks run {name}");
        let has = |path: &Path, words: &[&str]| {
            let text = std::fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let mut lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
            lines
                .any(|line| line.contains(&called) || words.iter().any(|word| has_word(line, word)))
        };
        let top = place.top.as_deref();
        let (directory, files, words): (&Path, Vec<String>, &[&str]) = match self {
            // Its own scripts, in `.husky/_`, run those of the user; before version 9 there were none.
            Self::Husky => {
                let directory = match is_direct(place) {
                    true => &*place.directory,
                    false => place.directory.parent()?,
                };
                (directory, vec![name.to_owned()], &[])
            }
            Self::Lefthook => {
                let files = LEFTHOOK_FILES.iter().flat_map(|file| {
                    let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
                    [(*file).to_owned(), format!("{stem}-local.{extension}")]
                });
                (top?, files.collect(), &[])
            }
            Self::PreCommit => (top?, vec![".pre-commit-config.yaml".to_owned()], ids(hook)),
        };
        let found = files.into_iter().find(|file| has(&directory.join(file), words))?;
        let path = directory.join(found);
        let shown = top.and_then(|top| path.strip_prefix(top).ok()).unwrap_or(&path);
        Some(shown.display().to_string())
    }

    /// Whether git runs it for `hook`: what its configuration names there is run only then. Its own hooks are in
    /// no commit, so a fresh clone has none of them, nor has a linked work tree those of husky.
    pub fn is_active(self, place: &Place, hook: Hook) -> bool {
        self.wrote(&place.directory.join(hook.name()))
    }

    /// What makes active what its configuration names for `hook`, behind the name of its file.
    pub fn activation(self, place: &Place, file: &str, hook: Hook) -> String {
        match self {
            Self::Husky if is_direct(place) => format!("not executable: chmod +x {file}"),
            Self::Husky => "not installed: npx husky".to_owned(),
            Self::Lefthook => "not installed: lefthook install".to_owned(),
            Self::PreCommit => format!("not installed: pre-commit install -t {}", hook.name()),
        }
    }

    /// Why nothing is installed, and what to write instead for `hooks`.
    pub fn refusal(self, place: &Place, hooks: &[Hook]) -> Error {
        Error::new(
            &codes::HOOKS_MANAGED,
            format!("{} manages the hooks of this repository", self.name()),
        )
        .with("manager", self.name())
        .hint(self.advice(place, hooks))
    }

    /// What to add to the manager's configuration, several lines.
    pub fn advice(self, place: &Place, hooks: &[Hook]) -> String {
        let mut lines = Vec::new();
        match self {
            Self::Husky => {
                lines.push("let husky run aye; add a line to each of its hooks:".to_owned());
                for hook in hooks {
                    let name = hook.name();
                    let path = place.directory.join(name);
                    if is_direct(place) && !path.exists() {
                        lines.push(format!("echo '#!/bin/sh' > .husky/{name}"));
                    }
                    lines.push(match hook {
                        Hook::PrePush => above_what_reads(),
                        _ => {
                            // What is there may end without a line feed, and more may be put behind it.
                            let run = format!("aye hooks run {name} \"$@\" || exit");
                            let line = quote(&guarded(*hook, &run));
                            format!("printf '\\n%s\\n' {line} >> .husky/{name}")
                        }
                    });
                    if is_direct(place) && !can_run(&path) {
                        lines.push(format!("chmod +x .husky/{name}"));
                    }
                }
            }
            Self::Lefthook => {
                lines.push("let lefthook run aye; add to lefthook.yml:".to_owned());
                for hook in hooks {
                    let name = hook.name();
                    let arguments = match hook {
                        Hook::PrePush | Hook::PrepareCommitMsg | Hook::CommitMsg => " {0}",
                        Hook::PreCommit | Hook::PostCommit => "",
                    };
                    let stdin = match hook {
                        Hook::PrePush => ", use_stdin: true",
                        _ => "",
                    };
                    let line = guarded(*hook, &format!("aye hooks run {name}{arguments}"));
                    lines.push(format!(
                        "{name}: {{ commands: {{ aye: {{ run: '{line}'{stdin} }} }} }}"
                    ));
                }
            }
            Self::PreCommit => {
                lines.push("let pre-commit run aye; add to .pre-commit-config.yaml:".to_owned());
                lines.push("- repo: local".to_owned());
                lines.push("  hooks:".to_owned());
                for hook in hooks {
                    let name = hook.name();
                    let line = guarded(*hook, &format!("aye hooks run {name} \"$@\""));
                    let entry = format!("sh -c '{line}' aye").replace('"', "\\\"");
                    lines.push(format!(
                        "    - {{ id: aye-{name}, name: aye {name}, entry: \"{entry}\", language: system, \
                         always_run: true, pass_filenames: {}, stages: [{name}] }}",
                        matches!(hook, Hook::PrepareCommitMsg | Hook::CommitMsg)
                    ));
                }
                lines.push("then `pre-commit install -t <stage>` for each stage".to_owned());
                if hooks.contains(&Hook::PrePush) {
                    lines.push(
                        "of several refs that are pushed, pre-commit names the first alone; \
                         `aye hooks install --pre-push` puts aye beside it, for all of them"
                            .to_owned(),
                    );
                }
            }
        }
        lines.join("\n")
    }
}

/// The shell's line that does `run` for `hook` where there is aye: its file is for all who work on the
/// repository, some without it.
fn guarded(hook: Hook, run: &str) -> String {
    let lost = script::lost(hook);
    format!(
        "if command -v aye >/dev/null 2>&1; then {run}; \
         else echo \"warning: aye is not here, so {lost}\" >&2; fi"
    )
}

/// The command that puts aye above all other lines of husky's pre-push hook, and hands what it has read on to
/// them: one that comes before (that of Git LFS does) would leave it nothing.
fn above_what_reads() -> String {
    let run = "printf '%s\\n' \"$refs\" | aye hooks run pre-push \"$@\" || exit";
    let line = guarded(Hook::PrePush, run);
    let lines = ["#!/bin/sh", "refs=$(cat)", &line, "exec <<REFS", "$refs", "REFS"].map(quote);
    let file = ".husky/pre-push";
    format!(
        "{{ printf '%s\\n' {}; cat {file} 2>/dev/null; }} > {file}.new; cat {file}.new > {file}; rm {file}.new",
        lines.join(" ")
    )
}

/// Whether git itself runs the files of husky that hold the commands, as before its version 9.
fn is_direct(place: &Place) -> bool {
    !place.directory.ends_with("_")
}

/// The ids in `.pre-commit-hooks.yaml` of what is run for `hook`.
fn ids(hook: Hook) -> &'static [&'static str] {
    match hook {
        Hook::PreCommit => &["aye-check", "aye-check-python", "aye-check-system"],
        Hook::PrePush => &["aye-check-push", "aye-check-push-python", "aye-check-push-system"],
        Hook::PrepareCommitMsg => &["aye-trailers", "aye-trailers-python", "aye-trailers-system"],
        Hook::CommitMsg => &["aye-message", "aye-message-python", "aye-message-system"],
        Hook::PostCommit => &["aye-record", "aye-record-python", "aye-record-system"],
    }
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).any(|found| found == word)
}
