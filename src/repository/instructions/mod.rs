//! Files that instruct agents in this repository: the built-in list, the policy, `@` imports in
//! such files, and symlinks among them.

mod sides;

use std::collections::{HashSet, VecDeque};

use bstr::ByteSlice as _;

use self::sides::Sides;
use super::Repository;
use crate::changeset::instructions::{self, InstructionKind, Instructions, imports};
use crate::changeset::{RepoPath, globs};

/// Instruction files that are read for imports.
const MOST_FILES: usize = 500;
/// Bytes of such a file.
const MOST_BYTES: usize = 1 << 20;

impl Repository {
    /// The files that instruct agents, in HEAD, the index and the work tree. Unreadable files add
    /// nothing; an unreadable policy has closed the gate already.
    pub fn instructions(&self) -> Instructions {
        let policy = self.policy().unwrap_or_default();
        let known = Instructions::new(globs::set(&policy.instruction_files).unwrap_or_default());
        let worktree = self.worktree().ok();
        let sides = Sides::of(self, worktree.as_ref());
        let mut search = Search { sides, known, waiting: VecDeque::new(), seen: HashSet::new() };
        search.start();
        for _ in 0..MOST_FILES {
            let Some(next) = search.waiting.pop_front() else { break };
            search.visit(&next);
        }
        search.known
    }
}

/// A file, symlink or directory that instructs agents and was not followed yet.
struct Waiting {
    path: RepoPath,
    kind: InstructionKind,
    /// A symlink leads here, so the files beneath are read as well.
    is_target: bool,
}

struct Search<'s> {
    sides: Sides<'s>,
    known: Instructions,
    waiting: VecDeque<Waiting>,
    seen: HashSet<RepoPath>,
}

impl Search<'_> {
    /// Begins with the files and symlinks that have names of instruction files.
    fn start(&mut self) {
        let mut found = Vec::new();
        self.sides.each_tracked(|name, is_link| {
            let listed = self.known.kind_of(name);
            if listed.is_none() && !is_link {
                return;
            }
            let Ok(path) = RepoPath::from_tree(name) else { return };
            let kind = listed.or_else(|| beneath(&self.known, &path));
            found.extend(kind.map(|kind| (path, kind)));
        });
        // Files that git may not track, such as `CLAUDE.local.md`, count at the top.
        for (path, is_link) in self.sides.at_the_top() {
            let listed = self.known.kind(&path);
            let kind = listed.or_else(|| is_link.then(|| beneath(&self.known, &path)).flatten());
            found.extend(kind.map(|kind| (path, kind)));
        }
        for (path, kind) in found.into_iter().rev() {
            self.wait(path, kind, false);
        }
    }

    fn wait(&mut self, path: RepoPath, kind: InstructionKind, is_target: bool) {
        if self.seen.insert(path.clone()) {
            self.waiting.push_back(Waiting { path, kind, is_target });
        }
    }

    /// Reads the path on each side, and adds its imports and the target of a symlink.
    fn visit(&mut self, next: &Waiting) {
        let mut read = Vec::new();
        for side in self.sides.all() {
            let mut content = self.sides.file(side, &next.path, &mut read);
            if content.is_none() && !self.sides.is_file(side, &next.path) {
                let (links, end) = self.sides.follow(side, &next.path);
                for link in &links {
                    self.known.reach(link, next.kind);
                }
                match end {
                    Some(end) if !links.is_empty() => {
                        self.known.reach(&end, next.kind);
                        // Both names count: imports are relative to either.
                        content = self.sides.file(side, &end, &mut read);
                        self.wait(end, next.kind, true);
                    }
                    Some(_) if next.is_target => self.enter(next),
                    _ => {}
                }
            }
            let Some(content) = content.filter(|bytes| bytes.len() <= MOST_BYTES) else { continue };
            for import in imports(&content.to_str_lossy()) {
                let Some(target) = instructions::resolve(&next.path, &import.path) else {
                    continue;
                };
                if !import.is_bare || self.sides.has(&target) {
                    self.known.reach(&target, InstructionKind::Text);
                    self.wait(target, InstructionKind::Text, false);
                }
            }
        }
    }

    /// Adds the files beneath a directory that a symlink leads to.
    fn enter(&mut self, next: &Waiting) {
        for path in self.sides.beneath(&next.path, MOST_FILES) {
            self.wait(path, next.kind, false);
        }
    }
}

/// The kind of the files beneath `path`, which is a symlink instead of a directory.
fn beneath(known: &Instructions, path: &RepoPath) -> Option<InstructionKind> {
    let inside = [path.as_bstr().as_bytes(), b"/x"].concat();
    known.kind(&RepoPath::from_tree(inside).ok()?)
}
