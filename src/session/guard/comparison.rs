//! What a command has changed in the checkout: said, put back in index and files, and taken into the session's
//! tree.

use std::collections::BTreeSet;
use std::path::Path;

use bstr::BString;

use super::super::untracked::{self, Lost};
use super::super::{follow, read};
use super::whose::Whose;
use super::{Before, Files, Found, differing, stored};
use crate::changeset::{RepoPath, Snapshot as _, codes};
use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::repository::codes::FILTERED_FILE;
use crate::worktree::Worktree;

/// The checkout before and after a command.
pub(super) struct Comparison<'a> {
    pub(super) repository: &'a Repository,
    /// The same, at the top of its work tree.
    pub(super) inside: &'a Repository,
    /// Its files.
    pub(super) worktree: Worktree,
    /// Whose a change is.
    pub(super) whose: Whose<'a>,
    /// What it was.
    pub(super) before: &'a Before,
    /// What it is.
    pub(super) now: &'a Before,
    /// The files that are staged otherwise, but for those that have changed as well.
    pub(super) staged: BTreeSet<BString>,
    /// What there is to say so far.
    pub(super) found: Found,
}

impl Comparison<'_> {
    /// The files that the command wrote, of those `changed` and what was `untracked`; says of others that they have
    /// changed.
    ///
    /// # Errors
    /// Those of the objects.
    pub(super) fn sort(
        &mut self,
        changed: Vec<BString>,
        untracked: &untracked::Changed,
    ) -> Result<Vec<BString>> {
        let claim = self.whose.claim;
        let is_same_state = self.before.is_same_state(self.now);
        let unmerged = self.before.staged.unmerged();
        let was = match claim.decided.is_empty() {
            true => read::Entries::new(),
            false => read::entries(&read::index(self.repository, &self.before.commit)?),
        };
        let lost: BTreeSet<&BString> = untracked.lost.iter().map(|(path, _)| path).collect();
        let (mut named, mut others) = (Vec::new(), Vec::new());
        for path in changed.into_iter().chain(untracked.new.iter().cloned()) {
            self.staged.remove(&path);
            if self.whose.is_for_others(&path) || lost.contains(&path) {
                continue;
            }
            if let Some((before, after)) = claim.decided.get(&path) {
                let is_alone = was.get(&path).map(|(_, id)| id.to_string()) == *before;
                if !is_alone || !is_as_written(&self.worktree, &path, after.as_deref()) {
                    self.leave(&path, "was applied or undone meanwhile, and was edited as well");
                }
                continue;
            }
            // What was untracked and is not any more was staged, by whomever.
            let is_taken = self.whose.is_named(&path)
                && is_same_state
                && !claim.is_late
                && !unmerged.contains(&path)
                && !self.before.untracked.has(&path);
            if is_taken { named.push(path) } else { others.push(path) }
        }
        let maybe = if claim.is_late {
            "changed after a command that names it, of which no end was reported"
        } else {
            "changed while the command ran"
        };
        for path in &others {
            self.leave(path, maybe);
        }
        Ok(named)
    }

    /// Says which files that git does not track are lost or moved, and that too many were there to tell.
    pub(super) fn say_lost(&mut self, untracked: &untracked::Changed) {
        let is_late = self.whose.claim.is_late;
        let [before, now] = [self.before, self.now].map(|seen| seen.untracked.is_too_many());
        self.found.is_over_limit = before || now;
        for (path, how) in &untracked.lost {
            if self.whose.is_others(path) {
                continue;
            }
            let is_named = self.whose.is_named(path);
            let by = match is_named && !is_late {
                true => " by the command; aye has no copy of what it held",
                false => "",
            };
            self.leave(path, &format!("is not tracked, and was {}{by}", how.word()));
            // What the command does not name and is still there may be the person's own next save.
            if !is_late && (*how == Lost::Removed || is_named) {
                self.found.lost.push((path.to_string(), how.word().to_owned()));
            }
        }
        for (path, was) in &untracked.moved {
            if self.whose.is_others(path) && self.whose.is_others(was) {
                continue;
            }
            self.leave(path, &format!("is not tracked, and was named {was}"));
            if !is_late {
                self.found.lost.push((was.to_string(), format!("renamed to {path}")));
            }
        }
    }

    /// Has what is staged otherwise than before, of files that are as they were, as before again where the command
    /// names it, and says all of it: the person's next commit would have what the files do not show.
    pub(super) fn unstage(&mut self) {
        let staged = std::mem::take(&mut self.staged).into_iter();
        let (named, others): (Vec<BString>, Vec<BString>) = staged
            .filter(|path| !self.whose.is_others(path))
            .partition(|path| self.whose.is_named(path));
        let done = self.before.staged.put_back(self.repository, &self.now.staged, &named);
        let why = match &done {
            Ok(()) => {
                "was staged otherwise by the command; in the index it is as before".to_owned()
            }
            Err(error) => format!("was staged otherwise by the command: {}", error.message()),
        };
        for path in &named {
            self.leave(path, &why);
        }
        if done.is_ok() {
            self.found.back.extend(named);
        }
        for path in &others {
            self.leave(path, "was staged otherwise while the command ran: git diff --cached");
        }
    }

    /// Takes what the command wrote of the files `named` into the session's `tree`, and has them as before in the
    /// checkout.
    ///
    /// # Errors
    /// Those of git, of the objects and of the file system.
    pub(super) fn take(
        &mut self,
        tree: &Path,
        named: Vec<BString>,
        above: &impl Fn(&str, Files) -> Result<String>,
    ) -> Result<()> {
        let repository = self.repository;
        let (mut named, files) = self.read(named);
        if named.is_empty() {
            return Ok(());
        }
        let was = &self.before.commit;
        let after = above(was, files)?;
        // What the command found in its files is where its edits start, and none of them.
        let base = self.whose.claim.base;
        let ground = differing(repository, (base, was), named.iter())?;
        if !ground.is_empty() {
            let ground = above(base, ground)?;
            self.found.kept = follow::follow(repository, tree, base, &ground)?.kept;
            self.found.base = Some(ground);
        }
        // The files did not have what was put back: what this command has made of them comes later.
        let followed = follow::overrule(repository, tree, was, &after)?;
        self.found.met = followed.met;
        let [from, to] = [&after, was].map(|commit| read::index(repository, commit));
        let (from, to) = (read::entries(&from?), read::entries(&to?));
        // A file in the place of a directory comes after what was in it.
        named.sort_by_key(|path| to.contains_key(path));
        let mut taken = Vec::new();
        for path in named {
            let shown = path.to_string();
            if let Some((_, why)) = followed.kept.iter().find(|(kept, _)| *kept == shown) {
                self.leave(&path, &format!("is not in the session's work tree: {why}"));
                continue;
            }
            match self.put_back(&path, &from, &to) {
                Ok(true) => taken.push(path),
                Ok(false) => self.leave(&path, "was edited again since"),
                Err(error) => self.leave(&path, error.message()),
            }
        }
        // Or the person's next commit has what the files do not show.
        if let Err(error) = self.before.staged.put_back(repository, &self.now.staged, &taken) {
            let why =
                format!("is as before, but what the command staged is not: {}", error.message());
            for path in &taken {
                self.leave(path, &why);
            }
        }
        self.found.taken.extend(taken.iter().map(ToString::to_string));
        self.found.back.extend(taken);
        Ok(())
    }

    /// Those of `named` that can be taken, and what they are; says of the others why they cannot.
    fn read(&mut self, named: Vec<BString>) -> (Vec<BString>, Files) {
        let (mut sound, mut files) = (Vec::new(), Files::new());
        for path in named {
            let read = RepoPath::from_tree(&path).and_then(|place| {
                if let Some(why) = self.inside.foreign([&place])?.pop().flatten() {
                    return Err(Error::new(&FILTERED_FILE, why));
                }
                match self.worktree.file(&place) {
                    // What is in the directory is among the new files.
                    Err(error) if error.is(&codes::DIRECTORY) => Ok((place, None)),
                    file => Ok((place, file?)),
                }
            });
            match read {
                Ok(file) => {
                    files.push(file);
                    sound.push(path);
                }
                // A symlink, or what cannot be read.
                Err(error) => self.leave(&path, error.message()),
            }
        }
        (sound, files)
    }

    /// Has the file `path` as it is among the entries `to`, if it is as among `from`; says whether it was.
    fn put_back(&self, path: &BString, from: &read::Entries, to: &read::Entries) -> Result<bool> {
        let place = RepoPath::from_tree(path)?;
        let (wrote, was) =
            (stored(self.repository, from, path)?, stored(self.repository, to, path)?);
        // Whatever came in between is somebody else's.
        if self.worktree.file(&place)? != wrote {
            return Ok(false);
        }
        match was {
            Some(file) => self.worktree.write_stored(&place, &file)?,
            None => drop(self.worktree.remove_file(&place)?),
        }
        Ok(true)
    }

    /// Says that the file `path` stays as it is, and `why`.
    fn leave(&mut self, path: &BString, why: &str) {
        self.found.left.push((path.to_string(), why.to_owned()));
    }
}

/// Whether the file `path` is the object `id`, or is not there if it is to be none.
fn is_as_written(worktree: &Worktree, path: &BString, id: Option<&str>) -> bool {
    let file = RepoPath::from_tree(path).and_then(|place| worktree.file(&place));
    let is_it = |bytes: &[u8], id: &str| {
        let id = gix::ObjectId::from_hex(id.as_bytes()).ok();
        id.is_some_and(|id| {
            let hash = gix::objs::compute_hash(id.kind(), gix::objs::Kind::Blob, bytes);
            hash.is_ok_and(|hash| hash == id)
        })
    };
    match (file, id) {
        (Ok(None), None) => true,
        (Ok(Some(file)), Some(id)) => is_it(&file.bytes, id),
        _ => false,
    }
}
