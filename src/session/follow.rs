//! Lets a session's tree follow decisions and the checkout. The agent's later edits are merged,
//! never lost.

use std::collections::BTreeSet;
use std::path::Path;

use bstr::{BString, ByteSlice as _};
use gix::index::entry::Mode as IndexMode;

use super::read::{self, Entries, mode_of};
use super::rename_map::{FileMove, Sides, stored};
use crate::beneath::{FileKind, open_last};
use crate::changeset::merge::preferring_theirs;
use crate::changeset::{File, Mode, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::repository::Repository;
use crate::worktree::{Worktree, describe_refusal, is_temporary};

#[derive(Debug, Default)]
pub struct FollowOutcome {
    /// Untrusted.
    pub written: Vec<String>,
    /// Files where the agent's edits were kept, and why. Untrusted.
    pub kept_edits: Vec<(String, String)>,
    /// Remarks on the decision. Untrusted.
    pub remarks: Vec<String>,
}

impl FollowOutcome {
    pub fn join(&mut self, other: Self) {
        self.written.extend(other.written);
        self.kept_edits.extend(other.kept_edits);
        self.remarks.extend(other.remarks);
    }
}

/// Applies the change from commit `from` to `to`. Runs nothing and follows no symlink.
///
/// # Errors
/// `object_missing`. A file that cannot be written is in `kept`.
pub fn follow(repository: &Repository, tree: &Path, from: &str, to: &str) -> Result<FollowOutcome> {
    let mut followed = FollowOutcome::default();
    if from == to {
        return Ok(followed);
    }
    let inside = repository.with_worktree(tree)?;
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
    let step = TreeUpdate { repository, worktree: &worktree, from: &from, to: &to };
    // Deletions come first: a file may replace a directory.
    let (gone, written): (Vec<_>, Vec<_>) =
        sides.ways()?.into_iter().partition(|way| !to.contains_key(&way.to));
    for way in gone.into_iter().chain(written) {
        let shown = way.at.to_string();
        match step.file(&way) {
            Ok(TreeFileOutcome::Same) => {}
            Ok(TreeFileOutcome::Moved) => followed.written.push(shown),
            Ok(TreeFileOutcome::Met) => followed.kept_edits.push((shown, MET.to_owned())),
            Ok(TreeFileOutcome::Kept(why)) => followed.kept_edits.push((shown, why.to_owned())),
            Err(error) => {
                let why = describe_refusal(&shown, &error);
                followed.kept_edits.push((shown, why));
            }
        }
    }
    Ok(followed)
}

/// Removes temporary files of an interrupted command.
fn sweep(tree: &Path, paths: &BTreeSet<&BString>) {
    let inside = |path: &[u8]| {
        let parts = path.split_str("/").filter(|part| !part.is_empty());
        parts.fold(open_last(tree), |directory, part| directory?.open_directory(part.as_bstr()))
    };
    // A patch being applied has such files, too.
    if inside(b".git/aye/journal").is_ok_and(|journal| !journal.is_empty().unwrap_or(false)) {
        return;
    }
    let above = |path: &&BString| path.rfind_byte(b'/').map_or(0, |at| at);
    let directories: BTreeSet<&[u8]> = paths.iter().map(|path| &path[..above(path)]).collect();
    for directory in directories.into_iter().filter_map(|path| inside(path).ok()) {
        for (name, kind) in directory.entries_with_kind().unwrap_or_default() {
            if kind == FileKind::File && is_temporary(&name) {
                let _ = directory.unlink(name.as_bstr());
            }
        }
    }
}

const MET: &str = "your edits are kept where they meet what was decided or done elsewhere";

enum TreeFileOutcome {
    Same,
    Moved,
    /// Written, except lines that the agent had edited, too.
    Met,
    /// The file stays unchanged.
    Kept(&'static str),
}

struct TreeUpdate<'a> {
    repository: &'a Repository,
    worktree: &'a Worktree,
    from: &'a Entries,
    to: &'a Entries,
}

impl TreeUpdate<'_> {
    fn file(&self, way: &FileMove) -> Result<TreeFileOutcome> {
        let (of_from, of_to) = (self.from.get(&way.from), self.to.get(&way.to));
        let is_other = |entry: Option<&(IndexMode, _)>| {
            entry.is_some_and(|(mode, _)| mode_of(*mode).is_none())
        };
        let is_submodule =
            |entry: Option<&(IndexMode, _)>| entry.is_some_and(|it| it.0 == IndexMode::COMMIT);
        if is_submodule(of_to) {
            // Submodules are empty in the tree.
            return Ok(TreeFileOutcome::Same);
        }
        if is_submodule(of_from) {
            return Ok(TreeFileOutcome::Kept(
                "is no submodule any more, and what lies there stays",
            ));
        }
        if is_other(of_to) || is_other(of_from) {
            return Ok(TreeFileOutcome::Kept("is a symlink"));
        }
        let [here, place] = [&way.now, &way.at].map(RepoPath::from_tree);
        let (here, place) = (here?, place?);
        let before = stored(self.repository, self.from, &way.from)?;
        let after = stored(self.repository, self.to, &way.to)?;
        let now = self.worktree.file(&here)?;
        if now.is_none() && self.repository.is_excluded(&here.display().to_string()) {
            return Ok(TreeFileOutcome::Same);
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
        Ok(if matches!(outcome, TreeFileOutcome::Same) { TreeFileOutcome::Moved } else { outcome })
    }

    /// Applies the change from `before` to `after` to `now`.
    fn merged(
        &self,
        place: &RepoPath,
        before: Option<File>,
        after: Option<File>,
        now: Option<&File>,
    ) -> Result<(Option<File>, TreeFileOutcome)> {
        let base = before.as_ref().map(|file| file.bytes.as_slice()).unwrap_or_default();
        let lines = |ours: &File, theirs: &File| -> Result<_> {
            let merges = self.worktree.merges_lines(place)?;
            Ok(merges.then(|| preferring_theirs(base, &ours.bytes, &theirs.bytes)).flatten())
        };
        let named = |met: bool| if met { TreeFileOutcome::Met } else { TreeFileOutcome::Moved };
        Ok(match (&before, after, now) {
            (_, after, now) if after.as_ref() == now => (after, TreeFileOutcome::Same),
            (before, after, now) if before.as_ref() == now => (after, TreeFileOutcome::Moved),
            // Only the name changed.
            (before, after, Some(now)) if *before == after => {
                (Some(now.clone()), TreeFileOutcome::Same)
            }
            (before, Some(after), Some(now)) => match lines(&after, now)? {
                Some((bytes, met)) => {
                    let file = File { bytes, mode: mode(before.as_ref(), &after, now) };
                    let met = met || file == *now;
                    (Some(file), named(met))
                }
                None => {
                    let why = "your edits are kept: it is binary, and was changed elsewhere";
                    (Some(now.clone()), TreeFileOutcome::Kept(why))
                }
            },
            (_, None, now) => (
                now.cloned(),
                TreeFileOutcome::Kept("your edits are kept: without them it would be gone"),
            ),
            (_, Some(_), None) => {
                (None, TreeFileOutcome::Kept("stays removed: it was changed elsewhere"))
            }
        })
    }
}

fn mode(before: Option<&File>, other: &File, stays: &File) -> Mode {
    match before {
        Some(before) if before.mode == stays.mode => other.mode,
        _ => stays.mode,
    }
}
