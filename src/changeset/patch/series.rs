//! The files of a unified diff, judged on the present files.
//!
//! As in git, renames and copies look at the state before the whole patch, so that swaps and
//! chains come out right, and a second change to a file builds on the first. A series of commits
//! in one input is more than `git apply` knows: each is judged on the result of the one before.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::strip::Strip;
use super::{Action, Compiled, Dialect, FileReport, Options, codes, ids, limits::Budget, modes};
use crate::changeset::fit::place::{self, Placed, Purpose};
use crate::changeset::unified::{FilePatch, Side, names};
use crate::changeset::{Changeset, File, FileChange, Mode, RepoPath, Snapshot, codes as changes};
use crate::error::{Error, Result};

/// Compiles `patches` against `files`. To prove that they were applied they come turned backwards.
pub(super) fn compile(
    patches: &[FilePatch<'_>],
    files: &dyn Snapshot,
    strip: &Strip,
    options: &Options,
    purpose: Purpose,
) -> Result<Compiled> {
    let mut state = State {
        files,
        strip: strip.count,
        options,
        purpose,
        original: BTreeMap::new(),
        present: BTreeMap::new(),
        stage: BTreeMap::new(),
        fate: BTreeMap::new(),
        origins: BTreeMap::new(),
        stage_origins: BTreeMap::new(),
        budget: Budget::default(),
        doubtful: false,
        there: true,
        notes: Vec::new(),
    };
    let mut reports = Vec::with_capacity(patches.len());
    for stage in patches.chunk_by(|a, b| a.stage == b.stage) {
        let targets: Vec<Target> =
            stage.iter().map(|patch| state.target(patch)).collect::<Result<_>>()?;
        files.expect(&targets.iter().filter_map(|target| target.old.as_ref()).collect::<Vec<_>>());
        state.begin(&targets);
        for (patch, target) in stage.iter().zip(targets) {
            reports.push(state.apply(patch, target)?);
        }
        state.end()?;
    }
    let mut notes = std::mem::take(&mut state.notes);
    if strip.guessed {
        notes.push("the names have no a/ and b/ prefix and were taken as they are".to_owned());
    }
    Ok(Compiled {
        doubtful: state.doubtful && state.there,
        changeset: state.into_changeset()?,
        dialect: Dialect::Unified,
        files: reports,
        notes,
        already_applied: false,
    })
}

/// A file name of the patch, stripped; `None` where there is no such side.
type Name = Option<Vec<u8>>;

/// Which files a patch is about, and how.
#[derive(Debug)]
struct Target {
    old: Option<RepoPath>,
    new: Option<RepoPath>,
    copy: bool,
    /// It says neither that the file is new nor that it is not.
    maybe_new: bool,
}

impl Target {
    fn moves(&self) -> bool {
        matches!((&self.old, &self.new), (Some(old), Some(new)) if old != new)
    }

    /// The path that is no more afterwards.
    fn leaves(&self) -> Option<&RepoPath> {
        let gone = self.new.is_none() || (self.moves() && !self.copy);
        self.old.as_ref().filter(|_| gone)
    }
}

/// What an earlier or a later part of the same commit does to a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    WillGo,
    Gone,
    Changed,
}

struct State<'a> {
    files: &'a dyn Snapshot,
    strip: usize,
    options: &'a Options,
    purpose: Purpose,
    /// Files as they were before the patch, once looked at.
    original: BTreeMap<RepoPath, Option<Rc<File>>>,
    /// Files as the commits before this one leave them.
    present: BTreeMap<RepoPath, Option<Rc<File>>>,
    /// Files as this commit leaves them.
    stage: BTreeMap<RepoPath, Option<Rc<File>>>,
    fate: BTreeMap<RepoPath, Fate>,
    /// Where files were before the whole patch.
    origins: BTreeMap<RepoPath, RepoPath>,
    /// Where they were before this commit.
    stage_origins: BTreeMap<RepoPath, RepoPath>,
    budget: Budget,
    /// A hunk fits where its result is already, and could be elsewhere.
    doubtful: bool,
    /// All of them do, and nothing else changes.
    there: bool,
    notes: Vec<String>,
}

impl State<'_> {
    fn begin(&mut self, targets: &[Target]) {
        self.fate.clear();
        for path in targets.iter().filter_map(Target::leaves) {
            self.fate.insert(path.clone(), Fate::WillGo);
        }
    }

    fn end(&mut self) -> Result<()> {
        self.present.append(&mut self.stage);
        let first = |origin: &RepoPath| self.origins.get(origin).unwrap_or(origin).clone();
        let moved: Vec<_> =
            self.stage_origins.iter().map(|(new, origin)| (new.clone(), first(origin))).collect();
        self.origins.extend(moved);
        self.stage_origins.clear();
        Ok(())
    }

    fn target(&self, patch: &FilePatch<'_>) -> Result<Target> {
        let (old, new) = self.names(patch)?;
        let nothing = |side: &Option<Side>| matches!(side, Some(Side::Nothing));
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

    /// The old and the new name, stripped.
    fn names(&self, patch: &FilePatch<'_>) -> Result<(Name, Name)> {
        let stripped = |name: &[u8], count| names::strip(name, count).map(<[u8]>::to_vec);
        // Renames and copies are written without the prefix, which git takes to be one component.
        let less = self.strip.saturating_sub(prefix_of(patch).max(1));
        let bare = |name: &Option<Vec<u8>>| {
            name.as_deref().map(|name| stripped(name, less).ok_or_else(|| self.nameless(patch)))
        };
        let asked = self.options.strip.is_some();
        let has_name = |side: &Option<Side>| match side {
            Some(Side::Name(name)) => names::strip(name, self.strip).is_some(),
            _ => false,
        };
        let side = |side: &Option<Side>, other: &Option<Side>| match side {
            // Which directories to take off a whole path only the caller knows, or the files.
            Some(Side::Name(name)) if !asked && name.starts_with(b"/") => Some(
                self.files
                    .below_top(name)
                    .map_or_else(|| RepoPath::new(name).map(|_| Vec::new()), Ok),
            ),
            // Only the other one has a prefix.
            Some(Side::Name(_)) if !asked && !has_name(side) && has_name(other) => None,
            Some(Side::Name(name)) => {
                Some(stripped(name, self.strip).ok_or_else(|| self.nameless(patch)))
            }
            _ => None,
        };
        let (from, to) = (bare(&patch.from).transpose()?, bare(&patch.to).transpose()?);
        let old = side(&patch.old, &patch.new).transpose()?;
        let new = side(&patch.new, &patch.old).transpose()?;
        for (moved, plain) in [(&from, &old), (&to, &new)] {
            if let (Some(moved), Some(plain)) = (moved, plain)
                && moved != plain
            {
                return Err(bad(patch, "its rename or copy lines and its ---/+++ lines disagree"));
            }
        }
        if from.is_some() {
            return Ok((from, to));
        }
        match (old, new) {
            (None, None) => {
                let common = patch.git.and_then(|text| names::common(text, self.strip));
                Ok((common.clone(), common))
            }
            (Some(old), Some(new)) if old != new && patch.git.is_none() => {
                let one = self.one_of(old, new);
                Ok((Some(one.clone()), Some(one)))
            }
            names => Ok(names),
        }
    }

    /// Without git's headers there is one file: the second name, unless that is the first with
    /// something like `.orig` added, or only the first is there.
    fn one_of(&self, old: Vec<u8>, new: Vec<u8>) -> Vec<u8> {
        let there = |name: &[u8]| {
            RepoPath::from_tree(name)
                .is_ok_and(|p| matches!(self.files.file(&p), Ok(Some(_)) | Err(_)))
        };
        if new.starts_with(&old) || (there(&old) && !there(&new)) { old } else { new }
    }

    fn path(&self, name: &[u8]) -> Result<RepoPath> {
        let name = name.strip_prefix(b"./").unwrap_or(name);
        let tracked = || {
            let path = RepoPath::from_tree(name).ok()?;
            self.files.file(&path).ok().flatten().map(|_| path)
        };
        // A backslash is taken as part of a name only where there is such a file.
        RepoPath::new(name).or_else(|error| tracked().ok_or(error))
    }

    /// A file as the commits before this one leave it.
    fn before(&mut self, path: &RepoPath) -> Result<Option<Rc<File>>> {
        if let Some(file) = self.present.get(path) {
            return Ok(file.clone());
        }
        if let Some(file) = self.original.get(path) {
            return Ok(file.clone());
        }
        let file = match self.files.file(path) {
            // A directory that this commit or one before it empties gives way to a file.
            Err(error) if error.is(&changes::DIRECTORY) && self.empties(path) => None,
            other => other?.map(Rc::new),
        };
        self.budget.spend(file.as_deref())?;
        self.original.insert(path.clone(), file.clone());
        Ok(file)
    }

    /// Does this commit, or one before it, take a file away from below `directory`? That others stay
    /// there is noticed when it is written.
    fn empties(&self, directory: &RepoPath) -> bool {
        let goes = self.fate.iter().filter(|(_, fate)| **fate != Fate::Changed);
        let gone = self.present.iter().filter(|(_, file)| file.is_none());
        let mut paths = goes.map(|(path, _)| path).chain(gone.map(|(path, _)| path));
        paths.any(|path| path.parents().any(|above| above == *directory))
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
        if let (Purpose::Prove { .. }, Some(now), Some(was), Some(file)) =
            (self.purpose, patch.old_mode, patch.new_mode, &old)
            && now != was
            && file.mode != modes::check(now, &path)?
        {
            return Err(bad(patch, "its mode is not what the change makes it"));
        }
        let content = old.as_ref().map_or(&[][..], |file| &file.bytes);
        let placed = self.content(patch, &target, &path, content)?;
        self.doubtful |= placed.doubtful;
        let same = old.as_ref().is_some_and(|old| {
            old.mode == mode && (placed.there || old.bytes == placed.bytes) && !target.moves()
        });
        self.there &= same && target.new.is_some();
        if let Some(old) = target.old.as_ref().filter(|_| target.moves() && patch.from.is_none()) {
            self.notes.push(format!(
                "{} becomes {}: its header has both names, though it has no rename lines",
                old.display(),
                path.display()
            ));
        }
        if target.new.is_none() && !placed.bytes.is_empty() {
            return Err(leaves_content(patch.number, &path));
        }
        let after = target.new.is_some().then_some(File { bytes: placed.bytes, mode });
        self.budget.spend(after.as_ref())?;
        let origin = target.old.clone().filter(|_| target.moves());
        if let Some(gone) = target.leaves() {
            // In a swap the other half may have put its file here already.
            if !(target.moves() && self.fate.get(gone) == Some(&Fate::Changed)) {
                self.stage.insert(gone.clone(), None);
                self.fate.insert(gone.clone(), Fate::Gone);
            }
        }
        if let Some(new) = &target.new {
            self.stage.insert(new.clone(), after.map(Rc::new));
            self.fate.insert(new.clone(), Fate::Changed);
            if let Some(origin) = &origin {
                self.stage_origins.insert(new.clone(), origin.clone());
            }
        }
        let (added, removed) = placed.counts;
        let action = match (&target.old, &target.new) {
            (None, _) => Action::Added,
            (_, None) => Action::Deleted,
            _ if !target.moves() => Action::Modified,
            _ if target.copy => Action::Copied,
            _ => Action::Renamed,
        };
        Ok(FileReport { path, origin, action, added, removed, hunks: placed.hunks })
    }

    /// The file a patch starts from.
    fn old_file(&mut self, target: &mut Target) -> Result<Option<Rc<File>>> {
        let Some(path) = target.old.clone() else { return Ok(None) };
        let fate = self.fate.get(&path).copied();
        let file = match fate {
            Some(Fate::Changed) if !target.moves() => self.stage.get(&path).cloned().flatten(),
            Some(Fate::Gone) if !target.moves() => None,
            _ => self.before(&path)?,
        };
        if file.is_some() {
            return Ok(file);
        }
        if target.maybe_new && fate != Some(Fate::Gone) {
            target.old = None;
            return Ok(None);
        }
        let why = if fate == Some(Fate::Gone) {
            "is removed by an earlier part of the patch"
        } else {
            "does not exist"
        };
        Err(Error::new(&changes::FILE_NOT_FOUND, format!("{} {why}", path.display()))
            .with("path", path.display().to_string())
            .hint(match self.options.strip_is_said {
                Some(how) => format!(
                    "check the path; names in a patch start at the repository's top; {how} says how many leading \
                     components to leave out"
                ),
                None => "check the path; names in a patch start at the repository's top".to_owned(),
            }))
    }

    /// Refuses to put a file where there is one that this commit does not take away.
    fn check_free(&mut self, path: &RepoPath) -> Result<()> {
        let there = match self.fate.get(path) {
            Some(Fate::WillGo | Fate::Gone) => false,
            Some(Fate::Changed) => true,
            None => self.before(path)?.is_some(),
        };
        if !there {
            return Ok(());
        }
        Err(Error::new(&changes::FILE_EXISTS, format!("{} exists already", path.display()))
            .with("path", path.display().to_string())
            .hint("an existing file is never overwritten; patch it as it is, or delete it first"))
    }

    fn content(
        &self,
        patch: &FilePatch<'_>,
        target: &Target,
        path: &RepoPath,
        old: &[u8],
    ) -> Result<Placed> {
        let plain = |bytes| Placed { bytes, ..Placed::default() };
        if patch.content_missing {
            // To take a file away its id is enough.
            if target.new.is_none()
                && let Ok((from, _)) = ids::of(patch, path)
            {
                ids::check(old, from, path, "the file has changed since the patch was made")?;
                return Ok(plain(Vec::new()));
            }
            return Err(bad(patch, "the file is binary and its content is not in the patch")
                .hint("make the patch with `git diff --binary`"));
        }
        if let Some((block, _)) = &patch.binary {
            let Some(block) = block else {
                return Err(bad(patch, "the binary change has no backward half")
                    .hint("it can only be applied forward"));
            };
            let (from, to) = ids::of(patch, path)?;
            ids::check(old, from, path, "the file has changed since the patch was made")?;
            if target.new.is_none() {
                return Ok(plain(Vec::new()));
            }
            let bytes = block.decode(old, self.budget.left())?;
            ids::check(&bytes, to, path, "the patch is damaged")?;
            return Ok(plain(bytes));
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

    fn into_changeset(self) -> Result<Changeset> {
        let Self { present, mut original, mut origins, files, .. } = self;
        let mut changes: Vec<FileChange> = present
            .into_iter()
            .map(|(path, after)| {
                let (before, after) = (original.remove(&path).flatten().map(own), after.map(own));
                let origin = origins.remove(&path).filter(|_| before.is_none() && after.is_some());
                FileChange { path, before, after, origin, snippets: Vec::new() }
            })
            .collect();
        crate::changeset::store_form(&mut changes, files)?;
        Changeset::new(changes)
    }
}

/// The file itself, which is copied only where several paths share it.
fn own(file: Rc<File>) -> File {
    Rc::unwrap_or_clone(file)
}

/// How many components the prefix has that the `diff --git` line puts before the names of a rename
/// or copy: one, unless `--no-prefix` or `--src-prefix` chose otherwise.
fn prefix_of(patch: &FilePatch<'_>) -> usize {
    let (Some(git), Some(from), Some(to)) = (patch.git, &patch.from, &patch.to) else { return 1 };
    let slashes = |name: &[u8]| name.iter().filter(|b| **b == b'/').count();
    names::pairs(git)
        .into_iter()
        .find_map(|(old, new)| {
            // Turned backwards, `from` is what stands second.
            let from = [from, to].into_iter().find(|name| old.ends_with(name))?;
            let fits = new.ends_with(to) || new.ends_with(patch.from.as_ref()?);
            fits.then(|| slashes(&old) - slashes(from))
        })
        .unwrap_or(1)
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
