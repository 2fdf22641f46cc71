//! Which files instruct agents in this repository: the built-in list, the policy, `@` imports of
//! such files, and symlinks among them.

mod sides;

use std::collections::{HashSet, VecDeque};

use bstr::ByteSlice as _;

use self::sides::Sides;
use super::Repository;
use crate::changeset::instructions::{self, InstructionKind, Instructions, imports};
use crate::changeset::{RepoPath, globs};

/// How many instruction files are read for their imports.
const MOST_FILES: usize = 500;
/// How long such a file may be to be read for its imports, in bytes.
const MOST_BYTES: usize = 1 << 20;

impl Repository {
    /// The files that instruct agents, as HEAD, the index and the work tree have them. What cannot
    /// be read adds nothing; a policy that cannot be read has closed the gate already.
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

/// A file, symlink or directory that instructs agents, of which it is not known yet where it leads.
struct Waiting {
    path: RepoPath,
    kind: InstructionKind,
    /// A symlink leads here, so that what lies beneath is read as well.
    is_target: bool,
}

struct Search<'s> {
    sides: Sides<'s>,
    known: Instructions,
    waiting: VecDeque<Waiting>,
    seen: HashSet<RepoPath>,
}

impl Search<'_> {
    /// Begins with the files and symlinks that are instruction files by their names.
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
        // Of those that git may not track, such as `CLAUDE.local.md`, the ones at the top.
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

    /// Reads what stands at the path on each side, and adds what it imports and where it leads.
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
                        // It is read by both names, for what is imported is beside either.
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

    /// What lies beneath a directory to which a symlink leads.
    fn enter(&mut self, next: &Waiting) {
        for path in self.sides.beneath(&next.path, MOST_FILES) {
            self.wait(path, next.kind, false);
        }
    }
}

/// The kind of what lies beneath `path`, where a symlink stands in place of a directory.
fn beneath(known: &Instructions, path: &RepoPath) -> Option<InstructionKind> {
    let inside = [path.as_bstr().as_bytes(), b"/x"].concat();
    known.kind(&RepoPath::from_tree(inside).ok()?)
}
