//! Changes with hidden effects: reviewed first, and shown with the reason.
//!
//! Pure: by path and mode alone. Every command that shows or decides changes calls [`sensitive_changes`].

use std::sync::LazyLock;

use bstr::ByteSlice as _;
use smallvec::SmallVec;

use super::instructions::{self, Instructions};
use super::marks::MarkKind;
use super::{FileChange, Mode, RepoPath};

pub trait TouchedPath {
    fn path(&self) -> &RepoPath;
    /// Before and after.
    fn modes(&self) -> (Option<Mode>, Option<Mode>);
    /// Source of a move or copy.
    fn origin(&self) -> Option<&RepoPath>;
}

impl TouchedPath for FileChange {
    fn path(&self) -> &RepoPath {
        &self.path
    }

    fn modes(&self) -> (Option<Mode>, Option<Mode>) {
        let mode = |file: &Option<super::File>| file.as_ref().map(|file| file.mode);
        (mode(&self.before), mode(&self.after))
    }

    fn origin(&self) -> Option<&RepoPath> {
        self.origin.as_ref()
    }
}

/// The phrase continues after the path.
pub type SensitiveReason = (MarkKind, &'static str);

/// In order, once per reason: a file that instructs agents may also run on developers' machines.
pub fn sensitive_changes<'c, C: TouchedPath>(
    changes: &'c [C],
    instructions: &Instructions,
) -> Vec<(&'c RepoPath, SensitiveReason)> {
    let reasons = |change: &'c C| {
        why(change, changes, instructions).into_iter().map(|reason| (change.path(), reason))
    };
    changes.iter().flat_map(reasons).collect()
}

fn why<C: TouchedPath>(
    change: &C,
    changes: &[C],
    instructions: &Instructions,
) -> SmallVec<[SensitiveReason; 2]> {
    // A moved or copied file had the mode of its source, if known.
    let source = || {
        let origin = change.origin().filter(|_| change.modes().0.is_none())?;
        changes.iter().find(|other| other.path() == origin)?.modes().0
    };
    let executable = Some(Mode::Executable);
    let becomes_executable =
        change.modes().1 == executable && change.modes().0 != executable && source() != executable;
    let path = change.path();
    let instructs = instructions.kind(path).map(|kind| (MarkKind::Instructions, kind.reason()));
    let mut reasons: SmallVec<[_; 2]> = instructs.into_iter().chain(reason(path)).collect();
    if reasons.is_empty() && becomes_executable {
        reasons.push((MarkKind::Mode, "becomes executable"));
    }
    reasons
}

/// True if a change writes, removes or moves a file that instructs agents or configures them.
/// Nothing writes such a file without a person.
pub fn instructs(changes: &[FileChange], instructions: &Instructions) -> bool {
    changes.iter().any(|change| {
        let paths = std::iter::once(&change.path).chain(&change.origin);
        paths.into_iter().any(|path| instructions.kind(path).is_some())
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryFile {
    /// Memory, which agents read.
    Read,
    /// Decides what passes the gate: policy, manifest, schema, scan exceptions, signers.
    Gate,
}

impl MemoryFile {
    pub fn reason(self) -> &'static str {
        match self {
            Self::Read => "is a memory path, which agents read",
            Self::Gate => "decides what passes the gate",
        }
    }
}

pub fn memory(path: &RepoPath) -> Option<MemoryFile> {
    let lower = path.as_bstr().to_ascii_lowercase();
    let inside = lower.strip_prefix(b".agent-memory/")?;
    let gate = [&b"meta/"[..], b"policy", b"scan-allow", b"signers", b"allowed_signers"];
    Some(if gate.iter().any(|start| inside.starts_with(start)) {
        MemoryFile::Gate
    } else {
        MemoryFile::Read
    })
}

/// From `sensitive.txt`.
static TABLE: LazyLock<Vec<(SensitiveReason, Vec<&str>)>> = LazyLock::new(|| {
    let mut sections: Vec<(SensitiveReason, Vec<&str>)> = Vec::new();
    let lines = include_str!("sensitive.txt").lines().filter(|line| !line.starts_with('#'));
    for line in lines {
        if let Some((word, why)) = line.split_once(": ") {
            sections.extend(MarkKind::parse(word).map(|word| ((word, why), Vec::new())));
        } else if let Some((_, patterns)) = sections.last_mut() {
            patterns.extend(line.split_whitespace());
        }
    }
    sections
});

/// `None` for ordinary paths; `instructions` has files that instruct agents. Case is ignored, since
/// programs on some systems ignore it.
fn reason(path: &RepoPath) -> Option<SensitiveReason> {
    if let Some(memory) = memory(path) {
        return Some((MarkKind::Memory, memory.reason()));
    }
    let lower = path.as_bstr().to_ascii_lowercase();
    let name = &lower[lower.rfind_byte(b'/').map_or(0, |at| at + 1)..];
    let hidden = instructions::from_hidden(&lower);
    let fits = |pattern: &&str| {
        if pattern.contains('/') {
            hidden.iter().any(|rest| rest.starts_with(pattern.as_bytes()))
        } else {
            names(pattern, name)
        }
    };
    let section = TABLE.iter().find(|(_, patterns)| patterns.iter().any(fits));
    section.map(|(reason, _)| *reason)
}

fn names(pattern: &str, name: &[u8]) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return name == pattern.as_bytes() };
    match tail.strip_suffix('*') {
        Some(word) => name.contains_str(word),
        None => {
            name.len() >= head.len() + tail.len()
                && name.starts_with(head.as_bytes())
                && name.ends_with(tail.as_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_run_are_known_in_any_directory_and_case() {
        for path in [
            ".github/workflows/ci.yml",
            "sub/.github/workflows/ci.yml",
            "Makefile",
            "a/build.rs",
            "Cargo.lock",
            "sub/Cargo.toml",
            "requirements-dev.txt",
            "deploy/.env.production",
            ".AGENT-memory/policy.toml",
            ".agent-memory/meta/manifest.yaml",
            ".agent-memory/scan-allow",
            ".agent-memory/signers.toml",
            ".agent-memory/signers/ada.pub",
            "keys/allowed_signers",
            "mise.toml",
            ".tool-versions",
            "tox.ini",
            "rust-toolchain.toml",
            "gradle/wrapper/gradle-wrapper.properties",
            ".mvn/extensions.xml",
            "web/.yarn/releases/yarn-4.js",
            ".bundle/config",
            "bunfig.toml",
            "noxfile.py",
            "setup.cfg",
            ".babelrc",
            "lib/sitecustomize.py",
            "lib/x.pth",
            ".pnpmfile.cjs",
            "vite.config.ts",
            "web/jest.config.js",
            ".eslintrc",
            ".eslintrc.json",
            "docker-compose.yml",
            "docker-compose.dev.yaml",
            "compose.yaml",
            "Taskfile.yml",
            "Vagrantfile",
            "WORKSPACE",
            "a/BUILD",
            "a/BUILD.bazel",
            ".github/dependabot.yml",
            "renovate.json",
            ".devcontainer.json",
            ".justfile",
            ".lefthook.toml",
            "lefthook.yml",
            ".mise/config.toml",
            "docker/Dockerfile.dev",
            ".woodpecker.yml",
            "action.yml",
            "settings.gradle.kts",
            "rules/x.bzl",
            "deno.jsonc",
            "CMakePresets.json",
            "build.sbt",
            "project/plugins.sbt",
            "mix.exs",
            "Package.swift",
            "ios/Podfile",
            "src/App.csproj",
            "Directory.Build.props",
            "meson.build",
            "configure",
            ".pnp.cjs",
            ".zed/tasks.json",
            ".exrc",
            ".dir-locals.el",
            "ansible.cfg",
            "pytest.ini",
        ] {
            assert!(reason(&RepoPath::new(path).unwrap()).is_some(), "{path}");
        }
        for path in [
            "src/main.rs", "docs/keys.md", "github/workflows.md", "src/config.ts", "src/build.py",
            "composer.yml", "docs/agent-memory.md",
        ] {
            assert_eq!(reason(&RepoPath::new(path).unwrap()), None, "{path}");
        }
    }

    #[test]
    fn each_section_has_a_word_and_patterns() {
        assert_eq!(TABLE.len(), 6);
        assert!(TABLE.iter().all(|(_, patterns)| !patterns.is_empty()));
    }

    #[test]
    fn a_file_has_each_of_its_reasons() {
        let change = |path: &str| FileChange {
            path: RepoPath::new(path).unwrap(),
            before: None,
            after: Some(super::super::File { bytes: b"x".to_vec(), mode: Mode::Regular }),
            origin: None,
            snippets: Vec::new(),
        };
        let changes = [change(".claude/skills/a/Makefile"), change("AGENTS.md"), change("a.rs")];
        let found = sensitive_changes(&changes, &Instructions::default());
        let found: Vec<String> =
            found.into_iter().map(|(path, (_, why))| format!("{} {why}", path.display())).collect();
        assert_eq!(
            found,
            [
                ".claude/skills/a/Makefile instructs agents",
                ".claude/skills/a/Makefile runs on developers' machines",
                "AGENTS.md instructs agents"
            ]
        );
        assert!(instructs(&changes, &Instructions::default()));
        assert!(!instructs(&changes[2..], &Instructions::default()));
    }

    #[test]
    fn memory_and_what_guards_it_are_told_apart() {
        let why = |path: &str| reason(&RepoPath::new(path).unwrap()).map_or("", |(_, why)| why);
        for path in ["meta/schema.yaml", "policy.toml", "scan-allow", "signers", "allowed_signers"]
        {
            assert_eq!(why(&format!(".agent-memory/{path}")), "decides what passes the gate");
        }
        assert!(why(".agent-memory/decisions.md").contains("memory path"));
        assert!(why(".agent-memory/modules/store.md").contains("memory path"));
    }

    #[test]
    fn a_file_that_becomes_executable_is_named() {
        let file = |mode| Some(super::super::File { bytes: b"x".to_vec(), mode });
        let change = |before, after, origin: Option<&str>| FileChange {
            path: RepoPath::new("run").unwrap(),
            before,
            after,
            origin: origin.map(|path| RepoPath::new(path).unwrap()),
            snippets: Vec::new(),
        };
        let (plain, executable) = (file(Mode::Regular), file(Mode::Executable));
        let built_in = Instructions::default();
        let told = |change| sensitive_changes(&[change], &built_in).len();
        assert_eq!(told(change(plain.clone(), executable.clone(), None)), 1);
        assert_eq!(told(change(None, executable.clone(), None)), 1);
        assert_eq!(told(change(None, executable.clone(), Some("old"))), 1);
        let moved = |from: &Option<super::super::File>| {
            let old = FileChange {
                path: RepoPath::new("old").unwrap(),
                ..change(from.clone(), None, None)
            };
            sensitive_changes(&[change(None, executable.clone(), Some("old")), old], &built_in)
                .len()
        };
        assert_eq!((moved(&executable), moved(&plain)), (0, 1));
        assert_eq!(told(change(executable.clone(), executable.clone(), None)), 0);
        assert_eq!(told(change(executable.clone(), plain, None)), 0);
        assert_eq!(told(change(executable, None, None)), 0);
    }
}
