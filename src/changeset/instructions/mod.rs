//! Files that instruct coding agents, or configure what they run. Pure.
//!
//! The build script compiles `instructions.toml` into a table. A repository adds files by its
//! policy, by `@` imports and by symlinks.

mod imports;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bstr::{BStr, BString, ByteSlice as _};
use globset::GlobSet;
use smallvec::SmallVec;

pub use imports::{Import, imports};

use super::RepoPath;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionKind {
    /// Agents read it as instructions.
    Text,
    /// Hooks, MCP servers and permissions.
    Settings,
}

impl InstructionKind {
    pub fn reason(self) -> &'static str {
        match self {
            Self::Text => "instructs agents",
            Self::Settings => "configures what agents run",
        }
    }
}

/// In lower case.
struct Entry {
    /// With a slash; empty for a name in any directory.
    directory: &'static str,
    /// Before the `*`.
    head: &'static str,
    /// After the `*`.
    tail: &'static str,
    /// Any text may be between head and tail.
    is_open: bool,
    kind: InstructionKind,
}

include!(concat!(env!("OUT_DIR"), "/instructions.rs"));

impl Entry {
    fn names(&self, name: &[u8]) -> bool {
        if self.is_open {
            name.len() >= self.head.len() + self.tail.len()
                && name.starts_with(self.head.as_bytes())
                && name.ends_with(self.tail.as_bytes())
        } else {
            name == self.head.as_bytes()
        }
    }
}

/// Tails of the path that start at a hidden name.
pub(super) fn from_hidden(lower: &[u8]) -> SmallVec<[&[u8]; 2]> {
    let mut hidden = SmallVec::new();
    let mut rest = lower;
    loop {
        if rest.first() == Some(&b'.') {
            hidden.push(rest);
        }
        match rest.find_byte(b'/') {
            Some(at) => rest = &rest[at + 1..],
            None => return hidden,
        }
    }
}

/// A cheap test before [`listed`], for every file of the index: most are neither in a hidden
/// directory nor begin like a listed name.
fn may_be_listed(path: &[u8]) -> bool {
    /// Whether a name that is listed anywhere begins with the byte.
    static BEGINS: LazyLock<[bool; 256]> = LazyLock::new(|| {
        let mut begins = [false; 256];
        for entry in ENTRIES.iter().filter(|entry| entry.directory.is_empty()) {
            match entry.head.as_bytes().first() {
                Some(first) => begins[usize::from(*first)] = true,
                None => begins = [true; 256],
            }
        }
        begins
    });
    let mut name = path;
    loop {
        if name.first() == Some(&b'.') {
            return true;
        }
        match name.find_byte(b'/') {
            Some(at) => name = &name[at + 1..],
            None => break,
        }
    }
    name.first().is_some_and(|first| BEGINS[usize::from(first.to_ascii_lowercase())])
}

fn listed(lower: &[u8]) -> Option<InstructionKind> {
    let name = &lower[lower.rfind_byte(b'/').map_or(0, |at| at + 1)..];
    // All directories of the list are hidden.
    let hidden = from_hidden(lower);
    let is_within = |directory: &str| {
        directory.is_empty() || hidden.iter().any(|rest| rest.starts_with(directory.as_bytes()))
    };
    let entry = ENTRIES.iter().find(|entry| is_within(entry.directory) && entry.names(name))?;
    Some(entry.kind)
}

#[derive(Clone, Debug, Default)]
pub struct Instructions {
    extra: GlobSet,
    /// Imports and symlink targets, in lower case. A directory ends in a slash.
    reached: BTreeMap<BString, InstructionKind>,
}

impl Instructions {
    /// `extra`: globs of a policy.
    pub fn new(extra: GlobSet) -> Self {
        Self { extra, reached: BTreeMap::new() }
    }

    /// `None` for an ordinary file. Case is ignored, since programs on some systems ignore it.
    pub fn kind(&self, path: &RepoPath) -> Option<InstructionKind> {
        self.kind_of(path.as_bstr())
    }

    /// For a path in the index.
    pub fn kind_of(&self, path: &BStr) -> Option<InstructionKind> {
        let may_be_listed = may_be_listed(path);
        if !may_be_listed && self.extra.is_empty() && self.reached.is_empty() {
            return None;
        }
        let lower = path.to_ascii_lowercase();
        may_be_listed
            .then(|| listed(&lower))
            .flatten()
            .or_else(|| {
                let is_extra = !self.extra.is_empty() && self.extra.is_match(path.to_path_lossy());
                is_extra.then_some(InstructionKind::Text)
            })
            .or_else(|| self.is_reached(&lower))
    }

    fn is_reached(&self, lower: &[u8]) -> Option<InstructionKind> {
        if self.reached.is_empty() {
            return None;
        }
        let directories = lower.find_iter(b"/").map(|at| &lower[..=at]);
        std::iter::once(lower)
            .chain(directories)
            .find_map(|path| self.reached.get(path.as_bstr()).copied())
    }

    /// Adds an import or a symlink target, which may be a directory. True if it is new.
    pub fn reach(&mut self, path: &RepoPath, kind: InstructionKind) -> bool {
        if self.kind(path).is_some() {
            return false;
        }
        let lower = path.as_bstr().to_ascii_lowercase();
        self.reached.insert([&lower[..], b"/"].concat().into(), kind);
        self.reached.insert(lower.into(), kind).is_none()
    }
}

/// `None` outside the repository, and in the user's home.
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
            ("CLAUDE.md", InstructionKind::Text),
            ("a/b/agents.MD", InstructionKind::Text),
            ("CLAUDE.local.md", InstructionKind::Text),
            (".claude/skills/x/SKILL.md", InstructionKind::Text),
            ("sub/.claude/commands/x.md", InstructionKind::Text),
            (".claude/settings.json", InstructionKind::Settings),
            (".claude/settings.local.json", InstructionKind::Settings),
            (".claude/hooks/a.sh", InstructionKind::Settings),
            (".mcp.json", InstructionKind::Settings),
            ("tools/.mcp.json", InstructionKind::Settings),
            (".codex/config.toml", InstructionKind::Settings),
            (".codex/prompts/x.md", InstructionKind::Text),
            (".cursor/hooks.json", InstructionKind::Settings),
            (".cursor/rules/a/b.mdc", InstructionKind::Text),
            (".gemini/settings.json", InstructionKind::Settings),
            (".github/copilot-instructions.md", InstructionKind::Text),
            (".github/instructions/a.instructions.md", InstructionKind::Text),
            (".clinerules", InstructionKind::Text),
            (".clinerules-code", InstructionKind::Text),
            (".roorules-architect", InstructionKind::Text),
            (".vscode/mcp.json", InstructionKind::Settings),
            (".vscode/settings.json", InstructionKind::Settings),
            (".zed/settings.json", InstructionKind::Settings),
            (".augment-guidelines", InstructionKind::Text),
            (".idx/airules.md", InstructionKind::Text),
            ("firebender.json", InstructionKind::Settings),
            (".tabnine/guidelines/x.md", InstructionKind::Text),
            (".lingma/rules/x.md", InstructionKind::Text),
        ] {
            assert_eq!(built_in.kind(&path(file)), Some(kind), "{file}");
        }
        for file in [
            "README.md",
            "claude/x.md",
            "docs/CLAUDE-notes.md",
            ".github/workflows/ci.yml",
            "src/agents.rs",
            ".vscode/tasks.json",
            "myagents.md",
        ] {
            assert_eq!(built_in.kind(&path(file)), None, "{file}");
        }
    }

    #[test]
    fn policy_imports_and_links_add_to_it() {
        let extra = super::super::globs::set(&["prompts/**", "PROMPT.md"]).unwrap();
        let mut all = Instructions::new(extra);
        assert_eq!(all.kind(&path("prompts/a/b.md")), Some(InstructionKind::Text));
        assert_eq!(all.kind(&path("sub/prompt.md")), Some(InstructionKind::Text));
        assert_eq!(all.kind(&path("docs/style.md")), None);
        assert!(all.reach(&path("docs/Style.md"), InstructionKind::Text));
        assert!(!all.reach(&path("docs/style.md"), InstructionKind::Text));
        assert_eq!(all.kind(&path("docs/style.md")), Some(InstructionKind::Text));
        // A symlink target may be a directory.
        assert!(all.reach(&path("shared/skills"), InstructionKind::Text));
        assert_eq!(all.kind(&path("shared/skills/a/SKILL.md")), Some(InstructionKind::Text));
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
