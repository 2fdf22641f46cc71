//! The tree of a session follows what its files are compared with: what was applied of a proposal, what was
//! rejected, what the checkout has become. What its agent has edited since is merged, and never lost.

use std::collections::BTreeSet;
use std::path::Path;

use bstr::{BString, ByteSlice as _};
use gix::index::entry::Mode as IndexMode;

use super::read::{self, Entries, mode_of};
use super::renamed::{Sides, Way, stored};
use crate::beneath::{FileKind, open_last};
use crate::changeset::merge::preferring_theirs;
use crate::changeset::{File, Mode, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::repository::Repository;
use crate::worktree::{Worktree, is_temporary, why};

/// What became of the files.
#[derive(Debug, Default)]
pub struct Followed {
    /// Files that were written or removed. Untrusted.
    pub moved: Vec<String>,
    /// Files in which edits of the agent stand where others were to come, and why, in words. Untrusted.
    pub kept: Vec<(String, String)>,
    /// What there is to say of the decision that it follows, in words. Untrusted.
    pub said: Vec<String>,
}

impl Followed {
    /// Adds what became of other files of the same tree.
    pub fn join(&mut self, other: Self) {
        self.moved.extend(other.moved);
        self.kept.extend(other.kept);
        self.said.extend(other.said);
    }
}

/// Does in `tree` what leads from the commit `from` to the commit `to`. Nothing is run, and no symlink is
/// followed.
///
/// # Errors
/// `object_missing`, `session_tree_gone`. Of a file that cannot be written the reason is
/// among what was kept.
pub fn follow(repository: &Repository, tree: &Path, from: &str, to: &str) -> Result<Followed> {
    let mut followed = Followed::default();
    if from == to {
        return Ok(followed);
    }
    let inside = read::at(repository, tree)?;
    let index = |commit| read::index(&inside, commit).map(|index| read::entries(&index));
    let commit = from;
    let (from, to) = (index(from)?, index(to)?);
    let differs = |path: &&BString| from.get(*path) != to.get(*path);
    let paths: BTreeSet<&BString> = from.keys().chain(to.keys()).filter(differs).collect();
    sweep(tree, &paths);
    let worktree = inside.worktree()?;
    let sides = Sides {
        repository,
        tree,
        worktree: &worktree,
        commit,
        from: &from,
        to: &to,
        paths: &paths,
    };
    let step = Step { repository, worktree: &worktree, from: &from, to: &to };
    // A file in the place of a directory comes after what was in it.
    let (gone, written): (Vec<_>, Vec<_>) =
        sides.ways()?.into_iter().partition(|way| !to.contains_key(&way.to));
    for way in gone.into_iter().chain(written) {
        let shown = way.at.to_string();
        match step.file(&way) {
            Ok(Outcome::Same) => {}
            Ok(Outcome::Moved) => followed.moved.push(shown),
            Ok(Outcome::Met) => followed.kept.push((shown, MET.to_owned())),
            Ok(Outcome::Kept(why)) => followed.kept.push((shown, why.to_owned())),
            Err(error) => {
                let why = why(&shown, &error);
                followed.kept.push((shown, why));
            }
        }
    }
    Ok(followed)
}

/// Removes what a command that was stopped here has left beside `paths`: nobody will use it again.
fn sweep(tree: &Path, paths: &BTreeSet<&BString>) {
    let inside = |path: &[u8]| {
        let parts = path.split_str("/").filter(|part| !part.is_empty());
        parts.fold(open_last(tree), |directory, part| directory?.enter(part.as_bstr()))
    };
    // A patch that is being applied in the tree has such files, too.
    if inside(b".git/aye/journal").is_ok_and(|journal| !journal.is_empty().unwrap_or(false)) {
        return;
    }
    let above = |path: &&BString| path.rfind_byte(b'/').map_or(0, |at| at);
    let directories: BTreeSet<&[u8]> = paths.iter().map(|path| &path[..above(path)]).collect();
    for directory in directories.into_iter().filter_map(|path| inside(path).ok()) {
        for (name, kind) in directory.kinds().unwrap_or_default() {
            if kind == FileKind::File && is_temporary(&name) {
                let _ = directory.unlink(name.as_bstr());
            }
        }
    }
}

const MET: &str = "your edits are kept where they meet what was decided or done elsewhere";

enum Outcome {
    /// It is as it is to be.
    Same,
    /// It was written or removed.
    Moved,
    /// It was written, but for lines that the agent had edited, too.
    Met,
    /// It stays as it is.
    Kept(&'static str),
}

struct Step<'a> {
    repository: &'a Repository,
    worktree: &'a Worktree,
    from: &'a Entries,
    to: &'a Entries,
}

impl Step<'_> {
    fn file(&self, way: &Way) -> Result<Outcome> {
        let (of_from, of_to) = (self.from.get(&way.from), self.to.get(&way.to));
        let is_other = |entry: Option<&(IndexMode, _)>| {
            entry.is_some_and(|(mode, _)| mode_of(*mode).is_none())
        };
        let is_submodule =
            |entry: Option<&(IndexMode, _)>| entry.is_some_and(|it| it.0 == IndexMode::COMMIT);
        if is_submodule(of_to) {
            // The tree has none of its files.
            return Ok(Outcome::Same);
        }
        if is_submodule(of_from) {
            return Ok(Outcome::Kept("is no submodule any more, and what lies there stays"));
        }
        if is_other(of_to) || is_other(of_from) {
            return Ok(Outcome::Kept("is a symlink"));
        }
        let [here, place] = [&way.now, &way.at].map(RepoPath::from_tree);
        let (here, place) = (here?, place?);
        let before = stored(self.repository, self.from, &way.from)?;
        let after = stored(self.repository, self.to, &way.to)?;
        let now = self.worktree.file(&here)?;
        if now.is_none() && self.repository.is_left_out(&here.display().to_string()) {
            return Ok(Outcome::Same);
        }
        let (wanted, outcome) = self.merged(&place, before, after, now.as_ref())?;
        if way.at != way.now || wanted != now {
            match wanted {
                Some(file) => self.worktree.write_stored(&place, &file)?,
                None => drop(self.worktree.remove_file(&place)?),
            }
        }
        if way.at == way.now {
            return Ok(outcome);
        }
        self.worktree.remove_file(&here)?;
        Ok(if matches!(outcome, Outcome::Same) { Outcome::Moved } else { outcome })
    }

    /// What is to be at `place`, where what leads from `before` to `after` is done to `now`.
    fn merged(
        &self,
        place: &RepoPath,
        before: Option<File>,
        after: Option<File>,
        now: Option<&File>,
    ) -> Result<(Option<File>, Outcome)> {
        let base = before.as_ref().map(|file| file.bytes.as_slice()).unwrap_or_default();
        let lines = |ours: &File, theirs: &File| -> Result<_> {
            let merges = self.worktree.merges_lines(place)?;
            Ok(merges.then(|| preferring_theirs(base, &ours.bytes, &theirs.bytes)).flatten())
        };
        let named = |met: bool| if met { Outcome::Met } else { Outcome::Moved };
        Ok(match (&before, after, now) {
            (_, after, now) if after.as_ref() == now => (after, Outcome::Same),
            (before, after, now) if before.as_ref() == now => (after, Outcome::Moved),
            // Nothing has changed but its name.
            (before, after, Some(now)) if *before == after => (Some(now.clone()), Outcome::Same),
            (before, Some(after), Some(now)) => match lines(&after, now)? {
                Some((bytes, met)) => {
                    let file = File { bytes, mode: mode(before.as_ref(), &after, now) };
                    let met = met || file == *now;
                    (Some(file), named(met))
                }
                None => {
                    let why = "your edits are kept: it is binary, and was changed elsewhere";
                    (Some(now.clone()), Outcome::Kept(why))
                }
            },
            (_, None, now) => {
                (now.cloned(), Outcome::Kept("your edits are kept: without them it would be gone"))
            }
            (_, Some(_), None) => (None, Outcome::Kept("stays removed: it was changed elsewhere")),
        })
    }
}

/// The mode that both sides agree on, or else that of the one that stays.
fn mode(before: Option<&File>, other: &File, stays: &File) -> Mode {
    match before {
        Some(before) if before.mode == stays.mode => other.mode,
        _ => stays.mode,
    }
}
