//! Which files instruct agents in this repository: the built-in list, the policy, `@` imports of
//! such files, and symlinks among them.

use bstr::{BString, ByteSlice as _};
use gix::index::entry::Mode;

use super::Store;
use crate::changeset::instructions::{self, InstructionKind, Instructions, imports};
use crate::changeset::{RepoPath, Snapshot as _, globs};
use crate::worktree::Worktree;

/// How many instruction files are read for their imports.
const MOST_FILES: usize = 500;
/// How long such a file may be to be read for its imports, in bytes.
const MOST_BYTES: usize = 1 << 20;

impl Store {
    /// The files that instruct agents, as the index and the work tree have them. What cannot be
    /// read adds nothing; a policy that cannot be read has closed the gate already.
    pub fn instructions(&self) -> Instructions {
        let policy = self.policy().unwrap_or_default();
        let mut known =
            Instructions::new(globs::set(&policy.instruction_files).unwrap_or_default());
        let mut waiting = self.tracked_instructions(&mut known);
        let worktree = self.worktree().ok();
        if let Some(worktree) = &worktree {
            waiting.extend(untracked(worktree, &mut known));
        }
        let mut read = 0;
        while let Some(path) = waiting.pop() {
            if read == MOST_FILES {
                break;
            }
            read += 1;
            for text in self.texts(&path, worktree.as_ref()) {
                for target in imports(&text) {
                    let Some(target) = instructions::resolve(&path, target) else { continue };
                    if known.reach(&target, InstructionKind::Text) {
                        waiting.push(target);
                    }
                }
            }
        }
        known
    }

    /// The tracked files that `known` names; where its symlinks lead is added to it.
    fn tracked_instructions(&self, known: &mut Instructions) -> Vec<RepoPath> {
        let Ok(index) = self.repo.index_or_empty() else { return Vec::new() };
        let (mut files, mut links) = (Vec::new(), Vec::new());
        for entry in index.entries() {
            let name = entry.path(&index);
            let is_link = entry.mode == Mode::SYMLINK;
            let listed = known.kind_of(name);
            if listed.is_none() && !is_link {
                continue;
            }
            let Ok(path) = RepoPath::from_tree(name) else { continue };
            match listed.or_else(|| is_link.then(|| beneath(known, &path)).flatten()) {
                Some(kind) if is_link => links.push((path, kind, entry.id)),
                Some(_) => files.push(path),
                None => {}
            }
        }
        for (link, kind, id) in links {
            let Ok(target) = self.blob(&id.to_string()) else { continue };
            files.extend(followed(&link, kind, &target, known));
        }
        files
    }

    /// What the file says, in the work tree and in the index.
    fn texts(&self, path: &RepoPath, worktree: Option<&Worktree>) -> Vec<String> {
        let in_work_tree = worktree.and_then(|tree| tree.file(path).ok()?).map(|file| file.bytes);
        let index = self.repo.index_or_empty().ok();
        let staged = index.and_then(|index| Some(index.entry_by_path(path.as_bstr())?.id));
        let staged = staged.and_then(|id| self.blob(&id.to_string()).ok());
        let mut found: Vec<String> = Vec::new();
        for bytes in in_work_tree.into_iter().chain(staged) {
            let text = String::from_utf8_lossy(&bytes);
            if bytes.len() <= MOST_BYTES && !found.iter().any(|known| *known == text) {
                found.push(text.into_owned());
            }
        }
        found
    }
}

/// Instruction files at the top that git may not track, such as `CLAUDE.local.md`.
fn untracked(worktree: &Worktree, known: &mut Instructions) -> Vec<RepoPath> {
    let names = std::fs::read_dir(worktree.root()).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for entry in names {
        let Ok(path) = RepoPath::new(entry.file_name().as_encoded_bytes()) else { continue };
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        match known.kind(&path).or_else(|| is_link.then(|| beneath(known, &path)).flatten()) {
            Some(kind) if is_link => {
                let target = std::fs::read_link(entry.path()).unwrap_or_default();
                let target = BString::from(target.as_os_str().as_encoded_bytes());
                found.extend(followed(&path, kind, &target, known));
            }
            Some(_) => found.push(path),
            None => {}
        }
    }
    found
}

/// The kind of what lies beneath `path`, where a symlink stands in place of a directory.
fn beneath(known: &Instructions, path: &RepoPath) -> Option<InstructionKind> {
    let inside = [path.as_bstr().as_bytes(), b"/x"].concat();
    known.kind(&RepoPath::from_tree(inside).ok()?)
}

/// Adds where the symlink `link` leads.
fn followed(
    link: &RepoPath,
    kind: InstructionKind,
    target: &[u8],
    known: &mut Instructions,
) -> Option<RepoPath> {
    let target = instructions::resolve(link, target.to_str().ok()?)?;
    known.reach(&target, kind).then_some(target)
}
