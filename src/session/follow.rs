//! The tree of a session follows what its files are compared with: what was applied of a proposal, what was
//! rejected, what the checkout has become. What its agent has edited since is merged, and never lost.

use std::collections::BTreeSet;
use std::path::Path;

use bstr::{BString, ByteSlice as _};
use gix::index::entry::Mode as IndexMode;

use super::read::{self, Entries, mode_of};
use crate::beneath::{FileKind, open_last};
use crate::changeset::merge::preferring_theirs;
use crate::changeset::{File, Mode, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::proposal::Entry;
use crate::repository::Repository;
use crate::worktree::{Worktree, is_temporary, why};

/// What became of the files.
#[derive(Debug, Default)]
pub struct Followed {
    /// Files that were written or removed. Untrusted.
    pub moved: Vec<String>,
    /// Files in which edits of the agent stand where others were to come, and why, in words. Untrusted.
    pub kept: Vec<(String, String)>,
    /// Files in which edits of the agent have made way for others, as [`overrule`] has it. Untrusted.
    pub met: Vec<String>,
}

impl Followed {
    /// Adds what became of other files of the same tree.
    pub fn join(&mut self, other: Self) {
        self.moved.extend(other.moved);
        self.kept.extend(other.kept);
        self.met.extend(other.met);
    }

    /// The same, of files in the directory `name`.
    pub fn below(self, name: &str) -> Self {
        let at = |path: String| format!("{name}/{path}");
        Self {
            moved: self.moved.into_iter().map(at).collect(),
            kept: self.kept.into_iter().map(|(path, why)| (at(path), why)).collect(),
            met: self.met.into_iter().map(at).collect(),
        }
    }
}

/// Does in `tree` what leads from the commit `from` to the commit `to`. Nothing is run, and no symlink is
/// followed.
///
/// # Errors
/// `object_missing`, `session_tree_gone`. Of a file that cannot be written the reason is
/// among what was kept.
pub fn follow(repository: &Repository, tree: &Path, from: &str, to: &str) -> Result<Followed> {
    lead(repository, tree, (from, to), Stays::Edits)
}

/// As [`follow()`], but what leads to `to` is the agent's own, and later: where both meet it takes the place of the
/// edits in `tree`.
///
/// # Errors
/// As [`follow()`].
pub fn overrule(repository: &Repository, tree: &Path, from: &str, to: &str) -> Result<Followed> {
    lead(repository, tree, (from, to), Stays::Coming)
}

/// What stays where edits in the tree meet what is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stays {
    /// The edits.
    Edits,
    /// What is to come.
    Coming,
}

fn lead(
    repository: &Repository,
    tree: &Path,
    (from, to): (&str, &str),
    stays: Stays,
) -> Result<Followed> {
    let mut followed = Followed::default();
    if from == to {
        return Ok(followed);
    }
    let inside = read::at(repository, tree)?;
    let [from, to] = [from, to].map(|commit| read::index(&inside, commit));
    let (from, to) = (read::entries(&from?), read::entries(&to?));
    let differs = |path: &&BString| from.get(*path) != to.get(*path);
    let paths: BTreeSet<&BString> = from.keys().chain(to.keys()).filter(differs).collect();
    sweep(tree, &paths);
    let step = Step { repository, worktree: inside.worktree()?, from: &from, to: &to, stays };
    // A file in the place of a directory comes after what was in it.
    let (gone, written): (Vec<_>, Vec<_>) =
        paths.into_iter().partition(|path| !to.contains_key(*path));
    for path in gone.into_iter().chain(written) {
        let shown = path.to_string();
        match step.file(path) {
            Ok(Outcome::Same) => {}
            Ok(Outcome::Moved) => followed.moved.push(shown),
            Ok(Outcome::Met) if stays == Stays::Coming => followed.met.push(shown),
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
    /// It was written, but for lines that the agent had edited, too; or over those.
    Met,
    /// It stays as it is.
    Kept(&'static str),
}

struct Step<'a> {
    repository: &'a Repository,
    worktree: Worktree,
    from: &'a Entries,
    to: &'a Entries,
    stays: Stays,
}

impl Step<'_> {
    fn file(&self, path: &BString) -> Result<Outcome> {
        let is_other =
            |entries: &Entries| entries.get(path).is_some_and(|(mode, _)| mode_of(*mode).is_none());
        let is_submodule = |entries: &Entries| {
            entries.get(path).is_some_and(|(mode, _)| *mode == IndexMode::COMMIT)
        };
        if is_submodule(self.to) {
            // It follows by itself: `submodules::follow`.
            return Ok(Outcome::Same);
        }
        if is_submodule(self.from) {
            return Ok(Outcome::Kept("is no submodule any more, and its files stay"));
        }
        if is_other(self.to) || is_other(self.from) {
            return Ok(Outcome::Kept("is a symlink"));
        }
        let place = RepoPath::from_tree(path)?;
        let (before, after) = (self.stored(self.from, path)?, self.stored(self.to, path)?);
        let now = self.worktree.file(&place)?;
        if now.is_none() && self.repository.is_left_out(&place.display().to_string()) {
            return Ok(Outcome::Same);
        }
        if now == after {
            return Ok(Outcome::Same);
        }
        let (wanted, outcome) = match (before, after, now) {
            (before, after, now) if before == now => (after, Outcome::Moved),
            (before, Some(after), Some(now)) if self.stays == Stays::Coming => {
                let base = before.as_ref().map(|file| file.bytes.as_slice()).unwrap_or_default();
                let merged = match self.worktree.merges_lines(&place)? {
                    true => preferring_theirs(base, &now.bytes, &after.bytes),
                    false => None,
                };
                let mode = mode(before.as_ref(), &now, &after);
                let (bytes, met) = merged.unwrap_or_else(|| (after.bytes.clone(), true));
                (Some(File { bytes, mode }), if met { Outcome::Met } else { Outcome::Moved })
            }
            (_, after, _) if self.stays == Stays::Coming => (after, Outcome::Met),
            (before, Some(after), Some(now)) => {
                let base = before.as_ref().map(|file| file.bytes.as_slice()).unwrap_or_default();
                let merged = match self.worktree.merges_lines(&place)? {
                    true => preferring_theirs(base, &after.bytes, &now.bytes),
                    false => None,
                };
                let Some((bytes, met)) = merged else {
                    return Ok(Outcome::Kept(
                        "your edits are kept: it is binary, and was changed elsewhere",
                    ));
                };
                let mode = mode(before.as_ref(), &after, &now);
                if bytes == now.bytes && mode == now.mode {
                    return Ok(Outcome::Met);
                }
                (Some(File { bytes, mode }), if met { Outcome::Met } else { Outcome::Moved })
            }
            (_, None, _) => {
                return Ok(Outcome::Kept("your edits are kept: without them it would be gone"));
            }
            (_, Some(_), None) => {
                return Ok(Outcome::Kept("stays removed: it was changed elsewhere"));
            }
        };
        match wanted {
            Some(file) => self.worktree.write_stored(&place, &file)?,
            None => drop(self.worktree.remove_file(&place)?),
        }
        Ok(outcome)
    }

    fn stored(&self, entries: &Entries, path: &BString) -> Result<Option<File>> {
        let Some((mode, id)) = entries.get(path) else { return Ok(None) };
        let entry = Entry::new(id.to_string(), mode_of(*mode).unwrap_or_default());
        Ok(Some(File { bytes: self.repository.blob(&entry.id)?, mode: entry.file_mode() }))
    }
}

/// The mode that both sides agree on, or else that of the one that stays.
fn mode(before: Option<&File>, other: &File, stays: &File) -> Mode {
    match before {
        Some(before) if before.mode == stays.mode => other.mode,
        _ => stays.mode,
    }
}
