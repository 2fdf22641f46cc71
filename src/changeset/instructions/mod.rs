//! Files that instruct coding agents, or configure what they run. Pure.
//!
//! `instructions.toml` is the readable list; the build script compiles it into a table. A
//! repository adds to it by its policy, by `@` imports in such files, and by symlinks among them:
//! [`Instructions`] holds all of that.

mod imports;

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};
use globset::GlobSet;
use smallvec::SmallVec;

pub use imports::imports;

use super::RepoPath;

/// What an instruction file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Agents read it as instructions.
    Text,
    /// Hooks, MCP servers and permissions: what agents run, and may run.
    Settings,
}

impl Kind {
    /// Why a change of such a file deserves a second look.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Text => "instructs agents",
            Self::Settings => "configures what agents run",
        }
    }
}

/// One line of the list, in lower case.
struct Entry {
    /// The directory with its slash; empty for a name that counts anywhere.
    directory: &'static str,
    /// The name up to its `*`.
    head: &'static str,
    /// The name behind its `*`.
    tail: &'static str,
    /// Whether anything may stand between head and tail.
    is_open: bool,
    kind: Kind,
}

include!(concat!(env!("OUT_DIR"), "/instructions.rs"));

impl Entry {
    fn names(&self, name: &[u8]) -> bool {
        match self.is_open {
            true => {
                name.len() >= self.head.len() + self.tail.len()
                    && name.starts_with(self.head.as_bytes())
                    && name.ends_with(self.tail.as_bytes())
            }
            false => name == self.head.as_bytes(),
        }
    }
}

/// The path `lower` from each hidden name in it on.
pub(super) fn from_hidden(lower: &[u8]) -> SmallVec<[&[u8]; 2]> {
    std::iter::once(0)
        .chain(lower.find_iter(b"/").map(|at| at + 1))
        .map(|start| &lower[start..])
        .filter(|rest| rest.starts_with(b"."))
        .collect()
}

/// The kind of the file at `path` by the built-in list alone.
fn listed(lower: &[u8]) -> Option<Kind> {
    let name = &lower[lower.rfind_byte(b'/').map_or(0, |at| at + 1)..];
    // All directories of the list are hidden.
    let hidden = from_hidden(lower);
    let is_within = |directory: &str| {
        directory.is_empty() || hidden.iter().any(|rest| rest.starts_with(directory.as_bytes()))
    };
    let entry = ENTRIES.iter().find(|entry| entry.names(name) && is_within(entry.directory))?;
    Some(entry.kind)
}

/// Which files of a repository instruct agents.
#[derive(Clone, Debug, Default)]
pub struct Instructions {
    /// Of the policy.
    extra: GlobSet,
    /// Imported files, and where symlinks lead, in lower case. A directory ends with a slash.
    reached: BTreeMap<BString, Kind>,
}

impl Instructions {
    /// The built-in list, and the globs of a policy.
    pub fn new(extra: GlobSet) -> Self {
        Self { extra, reached: BTreeMap::new() }
    }

    /// The kind of the file at `path`; `None` for one that instructs nobody. Case does not matter,
    /// since on some systems it does not matter to the programs that read these files.
    pub fn kind(&self, path: &RepoPath) -> Option<Kind> {
        let lower = path.as_bstr().to_ascii_lowercase();
        listed(&lower)
            .or_else(|| {
                let is_extra =
                    !self.extra.is_empty() && self.extra.is_match(path.as_bstr().to_path_lossy());
                is_extra.then_some(Kind::Text)
            })
            .or_else(|| self.is_reached(&lower))
    }

    fn is_reached(&self, lower: &[u8]) -> Option<Kind> {
        if self.reached.is_empty() {
            return None;
        }
        let directories = lower.find_iter(b"/").map(|at| &lower[..=at]);
        std::iter::once(lower)
            .chain(directories)
            .find_map(|path| self.reached.get(path.as_bstr()).copied())
    }

    /// Adds a file that an instruction file imports, or the target of a symlink, which may be a
    /// directory. True if it was not an instruction file before.
    pub fn reach(&mut self, path: &RepoPath, kind: Kind) -> bool {
        if self.kind(path).is_some() {
            return false;
        }
        let lower = path.as_bstr().to_ascii_lowercase();
        self.reached.insert([&lower[..], b"/"].concat().into(), kind);
        self.reached.insert(lower.into(), kind).is_none()
    }
}

/// `target`, as written in the file at `from`, as a path of the repository. `None` for what leads
/// out of it or into the user's home.
pub fn resolve(from: &RepoPath, target: &str) -> Option<RepoPath> {
    if target.starts_with(['/', '~']) || target.contains('\\') {
        return None;
    }
    let mut parts: Vec<&[u8]> = from.components().map(|part| -> &[u8] { part }).collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part.as_bytes()),
        }
    }
    RepoPath::new(parts.join(&b'/')).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::new(text).unwrap()
    }

    #[test]
    fn the_list_is_matched_at_any_depth_and_in_any_case() {
        let built_in = Instructions::default();
        for (file, kind) in [
            ("CLAUDE.md", Kind::Text),
            ("a/b/agents.MD", Kind::Text),
            ("CLAUDE.local.md", Kind::Text),
            (".claude/skills/x/SKILL.md", Kind::Text),
            ("sub/.claude/commands/x.md", Kind::Text),
            (".claude/settings.json", Kind::Settings),
            (".claude/settings.local.json", Kind::Settings),
            (".claude/hooks/a.sh", Kind::Settings),
            (".mcp.json", Kind::Settings),
            ("tools/.mcp.json", Kind::Settings),
            (".codex/config.toml", Kind::Settings),
            (".codex/prompts/x.md", Kind::Text),
            (".cursor/hooks.json", Kind::Settings),
            (".cursor/rules/a/b.mdc", Kind::Text),
            (".gemini/settings.json", Kind::Settings),
            (".github/copilot-instructions.md", Kind::Text),
            (".github/instructions/a.instructions.md", Kind::Text),
            (".clinerules", Kind::Text),
            (".clinerules-code", Kind::Text),
            (".roorules-architect", Kind::Text),
            (".vscode/mcp.json", Kind::Settings),
        ] {
            assert_eq!(built_in.kind(&path(file)), Some(kind), "{file}");
        }
        for file in [
            "README.md",
            "claude/x.md",
            "docs/CLAUDE-notes.md",
            ".github/workflows/ci.yml",
            "src/agents.rs",
            ".vscode/settings.json",
            "myagents.md",
        ] {
            assert_eq!(built_in.kind(&path(file)), None, "{file}");
        }
    }

    #[test]
    fn policy_imports_and_links_add_to_it() {
        let extra = super::super::globs::set(&["prompts/**", "PROMPT.md"]).unwrap();
        let mut all = Instructions::new(extra);
        assert_eq!(all.kind(&path("prompts/a/b.md")), Some(Kind::Text));
        assert_eq!(all.kind(&path("sub/prompt.md")), Some(Kind::Text));
        assert_eq!(all.kind(&path("docs/style.md")), None);
        assert!(all.reach(&path("docs/Style.md"), Kind::Text));
        assert!(!all.reach(&path("docs/style.md"), Kind::Text));
        assert_eq!(all.kind(&path("docs/style.md")), Some(Kind::Text));
        // Where a link leads may be a directory.
        assert!(all.reach(&path("shared/skills"), Kind::Text));
        assert_eq!(all.kind(&path("shared/skills/a/SKILL.md")), Some(Kind::Text));
        assert_eq!(all.kind(&path("shared/skillset.md")), None);
    }

    #[test]
    fn targets_are_resolved_within_the_repository() {
        let from = path("a/CLAUDE.md");
        let to = |target: &str| resolve(&from, target).map(|path| path.display().to_string());
        assert_eq!(to("docs/x.md").as_deref(), Some("a/docs/x.md"));
        assert_eq!(to("./x.md").as_deref(), Some("a/x.md"));
        assert_eq!(to("../docs/x.md").as_deref(), Some("docs/x.md"));
        for out in ["../../x", "/etc/passwd", "~/x.md", "..", ".git/config"] {
            assert_eq!(to(out), None, "{out}");
        }
    }
}
