//! Applies the files of a unified diff.
//!
//! As in git, renames and copies refer to the state before the whole patch, so swaps and chains
//! work; a second change to a file builds on the first. Unlike `git apply`, a series of commits is
//! supported: each applies to the result of the one before.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::strip::Strip;
use super::{CompiledPatch, Dialect, FileAction, FileReport, Options, codes, ids, modes};
use crate::changeset::fit::overlay::{Overlay, exists};
use crate::changeset::fit::place::{self, FitPurpose, PatchedFile};
use crate::changeset::unified::{FilePatch, HeaderName, names};
use crate::changeset::{File, Mode, RepoPath, Snapshot, codes as changes};
use crate::error::{Error, Result};

/// `Purpose::Prove` gets reversed patches.
pub(super) fn compile(
    patches: &[FilePatch<'_>],
    files: &dyn Snapshot,
    strip: Strip,
    options: &Options,
    purpose: FitPurpose,
) -> Result<CompiledPatch> {
    let mut state = SeriesState {
        overlay: Overlay::new(files),
        strip: strip.count,
        options,
        purpose,
        stage: BTreeMap::new(),
        moved: Vec::new(),
        leaving: BTreeSet::new(),
    };
    let mut reports = Vec::with_capacity(patches.len());
    for stage in patches.chunk_by(|a, b| a.stage == b.stage) {
        let targets: Vec<Target> =
            stage.iter().map(|patch| state.target(patch)).collect::<Result<_>>()?;
        files.expect(&targets.iter().filter_map(|target| target.old.as_ref()).collect::<Vec<_>>());
        state.leaving = targets.iter().filter_map(Target::leaves).cloned().collect();
        for (patch, target) in stage.iter().zip(targets) {
            reports.push(state.apply(patch, target)?);
        }
        state.overlay.put(std::mem::take(&mut state.stage), std::mem::take(&mut state.moved));
    }
    let note = "the names have no a/ and b/ prefix and were taken as they are";
    let notes = strip.guessed.then(|| note.to_owned()).into_iter().collect();
    Ok(CompiledPatch {
        changeset: state.overlay.into_changeset()?,
        dialect: Dialect::Unified,
        files: reports,
        notes,
        already_applied: false,
    })
}

const CHECK: &str = "check the path; names in a patch start at the repository's top";

/// A stripped file name; `None` if the side is absent.
type Name = Option<Vec<u8>>;

#[derive(Debug)]
struct Target {
    old: Option<RepoPath>,
    new: Option<RepoPath>,
    copy: bool,
    /// The patch does not say whether the file is new.
    maybe_new: bool,
}

impl Target {
    fn moves(&self) -> bool {
        matches!((&self.old, &self.new), (Some(old), Some(new)) if old != new)
    }

    fn leaves(&self) -> Option<&RepoPath> {
        let gone = self.new.is_none() || (self.moves() && !self.copy);
        self.old.as_ref().filter(|_| gone)
    }
}

struct SeriesState<'a> {
    /// After the previous commits.
    overlay: Overlay<'a>,
    strip: usize,
    options: &'a Options,
    purpose: FitPurpose,
    /// After this commit.
    stage: BTreeMap<RepoPath, Option<Rc<File>>>,
    /// New and old paths.
    moved: Vec<(RepoPath, RepoPath)>,
    /// Paths that this commit removes.
    leaving: BTreeSet<RepoPath>,
}

impl SeriesState<'_> {
    fn target(&self, patch: &FilePatch<'_>) -> Result<Target> {
        let (old, new) = self.names(patch)?;
        let nothing = |side: &Option<HeaderName>| matches!(side, Some(HeaderName::Nothing));
        let creates = patch.creates || nothing(&patch.old);
        let deletes = patch.deletes || nothing(&patch.new);
        if creates && deletes {
            return Err(bad(patch, "it creates and deletes the same file"));
        }
        let path = |name: Option<Vec<u8>>| -> Result<RepoPath> {
            let name = name.ok_or_else(|| self.nameless(patch))?;
            self.path(&name)
        };
        let none = Target { old: None, new: None, copy: false, maybe_new: false };
        let target = if creates {
            Target { new: Some(path(new.or(old))?), ..none }
        } else if deletes {
            Target { old: Some(path(old.or(new))?), ..none }
        } else {
            let (old, new) = (path(old.clone().or(new.clone()))?, path(new.or(old))?);
            let maybe_new = patch.from.is_none()
                && old == new
                && patch.index.is_none()
                && matches!(patch.hunks.as_slice(), [hunk] if hunk.old_lines().next().is_none());
            Target { old: Some(old), new: Some(new), copy: patch.copy, maybe_new }
        };
        let named = target.new.as_ref().or(target.old.as_ref());
        for mode in [patch.old_mode, patch.new_mode, patch.index_mode].into_iter().flatten() {
            if let Some(path) = named {
                modes::check(mode, path)?;
            }
        }
        Ok(target)
    }

    fn names(&self, patch: &FilePatch<'_>) -> Result<(Name, Name)> {
        // Renames and copies lack the prefix, which git counts as one component.
        let bare = |name: &Vec<u8>| {
            let name = names::strip(name, self.strip.saturating_sub(1)).map(<[u8]>::to_vec);
            name.ok_or_else(|| self.nameless(patch))
        };
        let from = patch.from.as_ref().map(bare).transpose()?;
        let to = patch.to.as_ref().map(bare).transpose()?;
        let old = self.side(patch, &patch.old, &patch.new)?;
        let new = self.side(patch, &patch.new, &patch.old)?;
        let differ =
            |moved: &Name, plain: &Name| moved.is_some() && plain.is_some() && moved != plain;
        if differ(&from, &old) || differ(&to, &new) {
            return Err(bad(patch, "its rename or copy lines and its ---/+++ lines disagree"));
        }
        match (old, new) {
            _ if from.is_some() => Ok((from, to)),
            (None, None) => {
                let common = patch.git.and_then(|text| names::common(text, self.strip));
                Ok((common.clone(), common))
            }
            (Some(old), Some(new)) if old != new && patch.git.is_some() => {
                Err(bad(patch, "its header has two names, and no lines of a rename or copy"))
            }
            // Without git's headers there is one file: the second name, unless it is the first with
            // a suffix such as `.orig`.
            (Some(old), Some(new)) => {
                let one = if new.starts_with(&old) { old } else { new };
                Ok((Some(one.clone()), Some(one)))
            }
            names => Ok(names),
        }
    }

    fn side(
        &self,
        patch: &FilePatch<'_>,
        side: &Option<HeaderName>,
        other: &Option<HeaderName>,
    ) -> Result<Name> {
        let Some(HeaderName::Name(name)) = side else { return Ok(None) };
        let asked = self.options.strip.is_some();
        if !asked && name.starts_with(b"/") {
            // Only the caller or the files show which directories to strip from an absolute path.
            return match self.overlay.files.below_top(name) {
                Some(name) => Ok(Some(name)),
                None => RepoPath::new(name).map(|_| None),
            };
        }
        match (names::strip(name, self.strip), other) {
            (Some(name), _) => Ok(Some(name.to_vec())),
            // Only the other name has a prefix.
            (None, Some(HeaderName::Name(other)))
                if !asked && names::strip(other, self.strip).is_some() =>
            {
                Ok(None)
            }
            _ => Err(self.nameless(patch)),
        }
    }

    fn path(&self, name: &[u8]) -> Result<RepoPath> {
        let name = name.strip_prefix(b"./").unwrap_or(name);
        let tracked = || {
            let path = RepoPath::from_tree(name).ok()?;
            self.overlay.files.file(&path).ok().flatten().map(|_| path)
        };
        // A backslash is part of a name only if such a file exists.
        RepoPath::new(name).or_else(|error| tracked().ok_or(error))
    }

    fn before(&mut self, path: &RepoPath) -> Result<Option<Rc<File>>> {
        self.overlay.file(path, &self.leaving)
    }

    fn apply(&mut self, patch: &FilePatch<'_>, mut target: Target) -> Result<FileReport> {
        let old = self.old_file(&mut target)?;
        if let Some(new) = &target.new
            && (target.old.is_none() || target.moves())
        {
            self.check_free(new)?;
        }
        let path =
            target.new.as_ref().or(target.old.as_ref()).ok_or_else(|| self.nameless(patch))?;
        let path = path.clone();
        let mode = match (patch.new_mode, &old) {
            (Some(mode), _) => modes::check(mode, &path)?,
            (None, Some(old)) => old.mode,
            (None, None) => {
                patch.index_mode.map_or(Ok(Mode::Regular), |m| modes::check(m, &path))?
            }
        };
        // Git only warns.
        let is_other = patch.old_mode.filter(|mode| Some(*mode) != patch.new_mode);
        if let (FitPurpose::Prove, Some(now), Some(file)) = (self.purpose, is_other, &old)
            && file.mode != modes::check(now, &path)?
        {
            return Err(bad(patch, "its mode differs from the mode in the change"));
        }
        let content = old.as_ref().map_or(&[][..], |file| &file.bytes);
        let placed = self.content(patch, &target, &path, content)?;
        if target.new.is_none() && !placed.bytes.is_empty() {
            return Err(leaves_content(patch.number, &path));
        }
        let after = target.new.is_some().then_some(File { bytes: placed.bytes, mode });
        self.overlay.budget.spend(after.as_ref())?;
        let origin = target.old.clone().filter(|_| target.moves());
        if let Some(gone) = target.leaves() {
            // In a swap the other half may have put its file here already.
            if !(target.moves() && matches!(self.stage.get(gone), Some(Some(_)))) {
                self.stage.insert(gone.clone(), None);
            }
        }
        if let Some(new) = &target.new {
            self.stage.insert(new.clone(), after.map(Rc::new));
            if let Some(origin) = &origin {
                self.moved.push((new.clone(), origin.clone()));
            }
        }
        let (added, removed) = placed.counts;
        let action = match (&target.old, &target.new) {
            (None, _) => FileAction::Added,
            (_, None) => FileAction::Deleted,
            _ if !target.moves() => FileAction::Modified,
            _ if target.copy => FileAction::Copied,
            _ => FileAction::Renamed,
        };
        Ok(FileReport { path, origin, action, added, removed, hunks: placed.hunks })
    }

    fn old_file(&mut self, target: &mut Target) -> Result<Option<Rc<File>>> {
        let Some(path) = target.old.clone() else { return Ok(None) };
        let now = self.stage.get(&path).cloned();
        let is_gone = matches!(now, Some(None));
        let file = match now {
            Some(now) if !target.moves() => now,
            _ => self.before(&path)?,
        };
        if file.is_some() {
            return Ok(file);
        }
        if target.maybe_new && !is_gone {
            target.old = None;
            return Ok(None);
        }
        let why =
            if is_gone { "is removed by an earlier part of the patch" } else { "does not exist" };
        Err(Error::new(&changes::FILE_NOT_FOUND, format!("{} {why}", path.display()))
            .with("path", path.display().to_string())
            .hint(match self.options.strip_option {
                Some(how) => {
                    format!("{CHECK}; {how} says how many leading components to leave out")
                }
                None => CHECK.to_owned(),
            }))
    }

    /// Refuses a file that this commit does not remove.
    fn check_free(&mut self, path: &RepoPath) -> Result<()> {
        let there = match self.stage.get(path) {
            Some(file) => file.is_some(),
            None => !self.leaving.contains(path) && self.before(path)?.is_some(),
        };
        if there { Err(exists(path)) } else { Ok(()) }
    }

    fn content(
        &self,
        patch: &FilePatch<'_>,
        target: &Target,
        path: &RepoPath,
        old: &[u8],
    ) -> Result<PatchedFile> {
        let plain = |bytes| PatchedFile { bytes, ..PatchedFile::default() };
        let deletes = target.new.is_none();
        if patch.content_missing || patch.binary.is_some() {
            let ids = ids::of(patch, path);
            let block = match (&patch.binary, deletes) {
                // The id is enough to delete a file.
                (_, true) => None,
                (Some([Some(block), _]), _) => Some(block),
                _ => {
                    return Err(bad(
                        patch,
                        "the binary change, or this half of it, is not in the patch",
                    )
                    .hint("make the patch with `git diff --binary`"));
                }
            };
            let (from, to) = ids?;
            ids::check(old, from, path)?;
            let made = block.map(|block| {
                let made = self.overlay.files.binary(
                    old,
                    &block.patch(from, to),
                    self.overlay.budget.left(),
                );
                made.map_err(|error| error.with("line", block.number))
            });
            let made = made.transpose()?.unwrap_or_default();
            if !deletes {
                ids::check(&made, to, path)?;
            }
            return Ok(plain(made));
        }
        if patch.hunks.is_empty() {
            return Ok(plain(old.into()));
        }
        ids::refuse_cut_off(patch, old, path)?;
        place::apply(path, old, patch, self.options, self.purpose)
    }

    fn nameless(&self, patch: &FilePatch<'_>) -> Error {
        bad(patch, format!("no file name is left after taking {} components off", self.strip))
            .hint("say how many leading directories to strip with -p, for example -p0")
    }
}

fn bad(patch: &FilePatch<'_>, what: impl std::fmt::Display) -> Error {
    crate::changeset::unified::invalid(patch.number, what)
}

fn leaves_content(number: usize, path: &RepoPath) -> Error {
    Error::new(
        &codes::HUNK_FAILED,
        format!(
            "the patch (line {number}) deletes {} but does not remove all of its lines",
            path.display()
        ),
    )
    .with("path", path.display().to_string())
    .with("line", number)
    .hint("the file has changed since the patch was made; read it again")
}
