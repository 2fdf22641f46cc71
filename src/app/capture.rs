//! Changes read from where they are: edits, a patch, the work tree, a commit, a range of commits.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use chrono::{DateTime, Utc};
use gix::ObjectId;

use super::stack::{self, Ground};
use super::{Draft, Session};
use crate::apply;
use crate::changeset::codes as changeset_codes;
use crate::changeset::patch::{self, Compiled, Options};
use crate::changeset::snippet::{self, Action, Edit};
use crate::changeset::{Changeset, File, FileChange, Mode, RepoPath, Snapshot};
use crate::decide;
use crate::error::{Error, Result, codes};
use crate::git::Git;
use crate::proposal::event::InputForm;
use crate::proposal::{ActorKind, Entry, Proposal, ProposalId};
use crate::store::{Store, Summary};
use crate::text::shell;

/// Where the changes of a draft are read from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A unified diff or an envelope.
    Patch {
        /// The patch, as it came.
        bytes: Vec<u8>,
        /// How it is read.
        options: Options,
        /// The pending proposal that makes the files which it is held against; the files as they are
        /// now without.
        on: Option<String>,
    },
    /// What is not committed, staged or not, untracked files included.
    Worktree {
        /// Pathspecs, as for `git add`; none for everything. An agent has to give one.
        specs: Vec<OsString>,
        /// The directory that the pathspecs are relative to.
        base: PathBuf,
        /// Whether the files are to go back once their changes are proposed.
        take_back: bool,
    },
    /// What a commit changed against its first parent.
    Commit {
        /// Any name that git has for it.
        rev: OsString,
        /// What reverts it instead.
        reverse: bool,
    },
    /// What changed between two commits, as one change.
    Range {
        /// `A..B`, or `A...B` from their merge base.
        range: OsString,
        /// From B to A instead.
        reverse: bool,
    },
}

/// Something that was not as its reader may expect. Paths in it are untrusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// How a patch was read, in words.
    Patch(String),
    /// A directory that is another repository; nothing in it is proposed.
    OtherRepository(String),
    /// A staged file that a sparse checkout excludes; it is not proposed.
    Excluded(RepoPath),
}

/// Reads `source`. What there is to say about it is added to `remarks`, also where that fails.
///
/// # Errors
/// Those of the reader of that source; `pathspec_required`; those of [`Draft::new`].
pub fn capture(session: &Session<'_>, source: &Source, remarks: &mut Vec<Remark>) -> Result<Draft> {
    let store = session.store;
    let (changeset, form) = match source {
        Source::Patch { bytes, options, on: Some(id) } => {
            let below = stack::below(session, id)?;
            let changeset = whole_patch(store, &below, bytes, options, remarks)?;
            return Ok(Draft {
                on: Some(below.on()),
                ..Draft::new(store, changeset, InputForm::Patch)?
            });
        }
        Source::Patch { bytes, options, on: None } => {
            (whole_patch(store, &*store.files()?, bytes, options, remarks)?, InputForm::Patch)
        }
        Source::Worktree { specs, base, take_back } => {
            if specs.is_empty() && session.caller.actor.kind == ActorKind::Agent {
                return Err(Error::new(
                    &apply::codes::PATHSPEC_REQUIRED,
                    "an agent has to say which files it changed: others may be somebody else's work",
                )
                .hint("name them as to git add: aye propose --worktree PATH… -m WHY"));
            }
            let specs = Specs { base, specs };
            (uncommitted(session, &specs, *take_back, remarks)?, InputForm::Worktree)
        }
        Source::Commit { rev, reverse } => {
            let id = resolve(store, rev, "^{commit}")?;
            let parent = resolve(store, format!("{id}^1").as_ref(), "");
            let nothing = || ObjectId::empty_tree(store.repo().object_hash()).to_string();
            let parent = parent.unwrap_or_else(|_| nothing());
            let (from, to) = if *reverse { (&id, &parent) } else { (&parent, &id) };
            let changeset = between(store, from, to)?;
            let message = message(store, &id, *reverse)?;
            return Ok(Draft { message, ..Draft::new(store, changeset, InputForm::Commit)? });
        }
        Source::Range { range, reverse } => {
            let (from, to) = ends(store, range)?;
            let (from, to) = if *reverse { (to, from) } else { (from, to) };
            (between(store, &from, &to)?, InputForm::Commit)
        }
    };
    let take_back = matches!(source, Source::Worktree { take_back: true, .. });
    Ok(Draft { take_back, ..Draft::new(store, changeset, form)? })
}

/// Carries `edits` out on the files that `ground` says. `form` is what the proposal records.
///
/// # Errors
/// Those of matching, of [`stack::below`], and of [`Draft::new`].
pub fn edits(
    session: &Session<'_>,
    edits: Vec<Edit>,
    ground: &Ground,
    form: InputForm,
) -> Result<Draft> {
    let store = session.store;
    match ground {
        Ground::On(id) => {
            let below = stack::below(session, id)?;
            let changeset = snippet::compile(edits, &below)?;
            Ok(Draft { on: Some(below.on()), ..Draft::new(store, changeset, form)? })
        }
        Ground::Files => on_files(session, edits, form),
        Ground::Any if session.session().is_none() => on_files(session, edits, form),
        Ground::Any => {
            let again = edits.clone();
            let error = match on_files(session, edits, form.clone()) {
                Err(error) if is_missing(&error) => error,
                other => return other,
            };
            let (changeset, on) = stack::own(session, error, again)?;
            Ok(Draft { on: Some(on), ..Draft::new(store, changeset, form)? })
        }
    }
}

/// Whether `error` says that the old content, or the file, is not there.
fn is_missing(error: &Error) -> bool {
    error.is(&changeset_codes::OLD_CONTENT_NOT_FOUND) || error.is(&changeset_codes::FILE_NOT_FOUND)
}

fn on_files(session: &Session<'_>, edits: Vec<Edit>, form: InputForm) -> Result<Draft> {
    let Session { store, now, .. } = session;
    let old = |edit: &Edit| match &edit.action {
        Action::Replace(snippet) => Some((edit.path.clone(), snippet.old.clone())),
        Action::Write { .. } | Action::Delete => None,
    };
    let sought: Vec<(RepoPath, Vec<u8>)> = edits.iter().filter_map(old).collect();
    let changeset = snippet::compile(edits, &*store.files()?)
        .map_err(|error| name_pending(store, *now, store.name_sparse(error), &sought))?;
    Draft::new(store, changeset, form)
}

/// Says of text, or of a file, that is not there that a pending proposal would write it.
fn name_pending(
    store: &Store,
    now: DateTime<Utc>,
    error: Error,
    sought: &[(RepoPath, Vec<u8>)],
) -> Error {
    let given = error.details().iter().find(|(key, _)| *key == "path");
    let path = given.and_then(|(_, path)| path.as_str());
    let Some(path) = path.filter(|_| is_missing(&error)) else {
        return error;
    };
    let writer = || -> Option<Summary> {
        let (path, old) = sought.iter().find(|(sought, _)| sought.display().to_string() == path)?;
        let view = store.view().ok()?;
        let mut pending = view.touching(path, now).ok()?.into_iter().rev();
        pending.find(|summary| {
            let proposal = view.proposal(&summary.id).ok();
            let changes = proposal.iter().flat_map(|proposal| &proposal.current().changes);
            let after =
                changes.filter(|change| change.path == *path).find_map(|c| c.after.as_ref());
            let file = after.and_then(|entry| store.file(entry).ok());
            file.is_some_and(|file| old.is_empty() || file.bytes.find(old).is_some())
        })
    };
    match writer() {
        Some(found) => {
            let (id, by) = (found.id.to_string(), found.proposed_by);
            error.with("pending", id.clone()).hint(format!(
                "{id} (pending, by {by}) writes this; go on from it: aye propose --on {id} …; or give \
                 it a new revision: aye revise {id}"
            ))
        }
        None => error,
    }
}

/// Says of a file that is not there, and that `proposal` once found there, where it is by now.
#[must_use]
pub fn name_moved(store: &Store, proposal: &Proposal, error: Error) -> Error {
    let given = error.details().iter().find(|(key, _)| *key == "path");
    let path = given.and_then(|(_, path)| path.as_str()).and_then(|path| RepoPath::new(path).ok());
    let Some(path) = path.filter(|_| error.is(&changeset_codes::FILE_NOT_FOUND)) else {
        return error;
    };
    let moved = || {
        let (view, files) = (store.view().ok()?, store.files().ok()?);
        decide::moved_to(store, &view, proposal, &path, &*files).ok()?
    };
    match moved() {
        Some(now) => {
            let now = now.display().to_string();
            let hint =
                format!("it was renamed: aye revise {} {} …", proposal.id, shell::word(&now));
            error.with("moved_to", now).hint(hint)
        }
        None => error,
    }
}

/// Reads a patch against `files`.
///
/// # Errors
/// Those of [`patch::read`], in the words of this repository.
pub fn patch(
    store: &Store,
    bytes: &[u8],
    files: &dyn Snapshot,
    options: &Options,
) -> Result<Compiled> {
    patch::read(bytes, files, options).map_err(|error| name_relative(error, store))
}

/// A patch that is to be proposed: some of it has to be missing from the files.
fn whole_patch(
    store: &Store,
    files: &dyn Snapshot,
    bytes: &[u8],
    options: &Options,
    remarks: &mut Vec<Remark>,
) -> Result<Changeset> {
    let compiled = self::patch(store, bytes, files, options)?;
    if compiled.already_applied {
        return Err(Error::new(
            &patch::codes::ALREADY_APPLIED,
            "every change of the patch is in the files already",
        )
        .hint("there is nothing to propose"));
    }
    remarks.extend(compiled.notes.into_iter().map(Remark::Patch));
    Ok(compiled.changeset)
}

/// The message of the commit `id`; of what reverts it, in the words of git revert.
fn message(store: &Store, id: &str, reverse: bool) -> Result<Option<String>> {
    let message = store.git()?.args(["log", "-1", "--format=%B", id]).text()?;
    let message = Some(message.trim()).filter(|message| !message.is_empty());
    Ok(message.map(|message| match reverse {
        true => {
            let subject = message.lines().next().unwrap_or_default();
            format!("Revert \"{subject}\"\n\nThis reverts commit {id}.")
        }
        false => message.to_owned(),
    }))
}

/// `error` with the name that an absolute path inside the repository has there, and a remark if a
/// sparse checkout excludes a missing file.
fn name_relative(error: Error, store: &Store) -> Error {
    if !error.is(&changeset_codes::PATH_INVALID) {
        return store.name_sparse(error);
    }
    let given = error.details().iter().find(|(key, _)| *key == "path");
    let relative = given.and_then(|(_, path)| {
        let relative = Path::new(path.as_str()?).strip_prefix(store.work_dir()?).ok()?;
        Some(relative.display().to_string())
    });
    match relative {
        Some(relative) => error.hint(format!("inside the repository it is '{relative}'")),
        None => error,
    }
}

/// Pathspecs, and the directory that they are relative to.
struct Specs<'a> {
    base: &'a Path,
    specs: &'a [OsString],
}

/// The way back to what the files of a changeset were before it, in the work tree and in the
/// index.
pub struct TakeBack {
    changeset: Changeset,
    /// What is in the index and not in the proposal.
    staged: Vec<(RepoPath, String)>,
}

impl TakeBack {
    /// The way back from the changes of `draft`, if they are to be taken back. What would be in it can
    /// be known before anything is done.
    ///
    /// # Errors
    /// `index_locked`, `hard_link` and whatever else keeps a file from being written.
    pub fn of(store: &Store, draft: &Draft) -> Result<Option<Self>> {
        if !draft.take_back {
            return Ok(None);
        }
        let changeset = &draft.changeset;
        apply::refuse_locked_index(store)?;
        let worktree = store.worktree()?;
        let changes = changeset.changes();
        for change in changes.iter().filter(|change| change.after.is_some()) {
            worktree.check_writable(&change.path)?;
        }
        let changes = changes.iter().map(|change| FileChange {
            path: change.path.clone(),
            before: change.after.clone(),
            after: change.before.clone(),
            origin: None,
            snippets: Vec::new(),
        });
        let staged = apply::staged_otherwise(store, changeset);
        Ok(Some(Self { changeset: Changeset::new(changes.collect())?, staged }))
    }

    /// Reverts the files now that proposal `id` records them. If one was edited meanwhile, nothing is
    /// reverted.
    ///
    /// # Errors
    /// `file_changed`, `index_locked`, and those of the work tree and git. They name the proposal,
    /// which stands.
    pub fn run(self, store: &Store, id: &ProposalId) -> Result<TakenBack> {
        let files: Vec<RepoPath> =
            self.changeset.changes().iter().map(|c| c.path.clone()).collect();
        let stands = |error: Error, which: &str| {
            let error = error.after(format_args!("proposal {id} is made, but {which}"));
            error.with("proposal_id", id.as_str())
        };
        apply::write_direct(store, false, |_| Ok((self.changeset, ())), |_| (), |(), _| ())
            .map_err(|error| stands(error, "the files stay as they are"))?;
        apply::unstage(store, &files)
            .and_then(|()| apply::note_sizes(store, &files))
            .map_err(|error| stands(error, "the index stays as it is"))?;
        Ok(TakenBack { files, staged: self.staged })
    }
}

/// The files that were reverted.
#[derive(Clone, Debug, Default)]
pub struct TakenBack {
    /// All of them.
    pub files: Vec<RepoPath>,
    /// Other versions that were staged and are not in the proposal: the path and the blob's id.
    pub staged: Vec<(RepoPath, String)>,
}

/// The id of what `rev` names, of this kind.
///
/// # Errors
/// `invalid_argument`.
pub(super) fn resolve(store: &Store, rev: &OsStr, kind: &str) -> Result<String> {
    let mut spec = rev.to_owned();
    spec.push(kind);
    let found = store
        .git()?
        .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
        .arg(&spec)
        .text();
    found.map_err(|_| {
        Error::new(&codes::INVALID_ARGUMENT, format!("'{}' names no commit", rev.to_string_lossy()))
            .hint("give a branch, a tag or a commit id, as to git show")
    })
}

/// The two ends of `A..B` or `A...B`; a missing one is HEAD.
fn ends(store: &Store, range: &OsStr) -> Result<(String, String)> {
    let text = range.to_string_lossy().into_owned();
    let (from, to, symmetric) = if let Some((from, to)) = text.split_once("...") {
        (from, to, true)
    } else if let Some((from, to)) = text.split_once("..") {
        (from, to, false)
    } else {
        return Err(Error::new(&codes::INVALID_ARGUMENT, format!("'{text}' is no range"))
            .hint("give A..B, or one commit with --commit"));
    };
    let id = |rev: &str| {
        let rev = if rev.is_empty() { "HEAD" } else { rev };
        resolve(store, rev.as_ref(), "^{commit}")
    };
    let (from, to) = (id(from)?, id(to)?);
    if !symmetric {
        return Ok((from, to));
    }
    let base = store.git()?.args(["merge-base", &from, &to]).text().map_err(|_| {
        Error::new(&codes::INVALID_ARGUMENT, format!("the ends of '{text}' have no common commit"))
            .hint("name the two ends with '..' between them")
    })?;
    Ok((base, to))
}

/// What changed between two commits or trees.
fn between(store: &Store, from: &str, to: &str) -> Result<Changeset> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-commit-id", "--full-index", "--no-renames"];
    let raw = store.git()?.args(args).args([from, to]).run()?;
    let mut fields = raw.split(|b| *b == 0);
    let mut changes = Vec::new();
    let broken = || Error::bug("git diff-tree printed something unknown");
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let head = head.to_str().map_err(|_| broken())?;
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old_id, new_id, _] = words[..] else { return Err(broken()) };
        let path = RepoPath::from_tree(fields.next().ok_or_else(broken)?)?;
        let file = |mode: &str, id: &str, path: &RepoPath| -> Result<Option<File>> {
            if mode == "000000" {
                return Ok(None);
            }
            let mode = mode_of(mode, path)?;
            Ok(Some(File { bytes: store.blob(id)?, mode }))
        };
        let (before, after) = (file(old_mode, old_id, &path)?, file(new_mode, new_id, &path)?);
        changes.push(FileChange { path, before, after, origin: None, snippets: Vec::new() });
    }
    let changeset = Changeset::new(changes)?;
    store.refuse_foreign(&changeset)?;
    Ok(changeset)
}

fn mode_of(mode: &str, path: &RepoPath) -> Result<Mode> {
    let bits = u32::from_str_radix(mode, 8).unwrap_or(0);
    patch::check_mode(bits, path)
}

/// What is uncommitted in the files that `specs` match (all of them, without any). What lies in
/// submodules and other repositories is theirs; what a merge has brought is the merge's, and not
/// to be taken back from it.
fn uncommitted(
    session: &Session<'_>,
    specs: &Specs<'_>,
    take_back: bool,
    remarks: &mut Vec<Remark>,
) -> Result<Changeset> {
    let store = session.store;
    let worktree = store.worktree()?;
    let merging = take_back && store.repo().git_dir().join("MERGE_HEAD").exists();
    if !specs.specs.is_empty() {
        refuse_unmatched(store, specs)?;
    }
    let status = ["status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all"];
    let raw = here(store, specs.base)?
        .env("GIT_OPTIONAL_LOCKS", "0")
        .args(status)
        .args(["--ignore-submodules=dirty", "--"])
        .args(specs.specs)
        .run()?;
    let mut files: BTreeMap<&[u8], Uncommitted<'_>> = BTreeMap::new();
    for entry in raw.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let broken = || Error::bug("git status printed something unknown");
        match entry[0] {
            b'1' => {
                let fields: Vec<&[u8]> = entry.splitn(9, |byte| *byte == b' ').collect();
                let [_, state, _, head, _, worktree, id, _, name] = fields[..] else {
                    return Err(broken());
                };
                if merging && !state.starts_with(b".") {
                    return Err(merged(name));
                }
                let file = files.entry(name).or_default();
                if head != b"000000" {
                    let (Ok(mode), Ok(id)) = (head.to_str(), id.to_str()) else {
                        return Err(broken());
                    };
                    file.head = Some((mode, id));
                }
                file.exists |= worktree != b"000000";
                file.as_staged |= state.ends_with(b".");
            }
            b'u' => {
                let name = entry.splitn(11, |byte| *byte == b' ').last().unwrap_or_default();
                return Err(unmerged(name));
            }
            b'?' => match entry.get(2..).unwrap_or_default() {
                // Another repository, as git stash leaves it alone.
                name if name.ends_with(b"/") => {
                    let name = name.as_bstr().to_string();
                    remarks.push(Remark::OtherRepository(name.trim_end_matches('/').to_owned()));
                }
                name => files.entry(name).or_default().exists = true,
            },
            _ => {}
        }
    }
    let reader = worktree.reader();
    let view = store.view()?;
    let may_stand = !files.is_empty() && view.last_applied(1)?.is_some();
    let mut changes = Vec::with_capacity(files.len());
    for (name, file) in files {
        let path = RepoPath::from_tree(name)?;
        let head = file.head.map(|(mode, id)| Entry { mode: mode.to_owned(), id: id.to_owned() });
        // What was applied and is not committed yet is nobody's change, and stays.
        let standing = match may_stand {
            true => decide::written_here(store, &view, session.now, &path, head.as_ref())?,
            false => None,
        };
        let before = match (&standing, file.head) {
            (Some(applied), _) => applied.as_ref().map(|entry| store.file(entry)).transpose()?,
            (None, Some((mode, id))) => {
                Some(File { mode: mode_of(mode, &path)?, bytes: store.blob(id)? })
            }
            (None, None) => None,
        };
        // Where nothing is, a folder may be by now, with files of its own.
        let after = if file.exists { reader.file(&path)? } else { None };
        // What a sparse checkout leaves out is not deleted, and could not be taken back.
        if file.exists && file.as_staged && after.is_none() {
            remarks.push(Remark::Excluded(path));
            continue;
        }
        let is_as_applied = standing.is_some() && before == after;
        if (before.is_some() || after.is_some()) && !is_as_applied {
            changes.push(FileChange { path, before, after, origin: None, snippets: Vec::new() });
        }
    }
    let changeset = Changeset::new(changes)?;
    store.refuse_foreign(&changeset)?;
    Ok(changeset)
}

/// A file that is not in the work tree as HEAD has it.
#[derive(Default)]
struct Uncommitted<'a> {
    /// Mode and id in HEAD.
    head: Option<(&'a str, &'a str)>,
    /// It is in the work tree.
    exists: bool,
    /// Git takes the work tree to have what the index has.
    as_staged: bool,
}

/// Git, in the directory that pathspecs are relative to.
fn here(store: &Store, base: &Path) -> Result<Git> {
    let git = store.git()?;
    Ok(if store.prefix(base).is_some() { git.directory(base) } else { git })
}

/// Refuses the pathspecs that match nothing that git knows or would add, as `git add` does.
fn refuse_unmatched(store: &Store, specs: &Specs<'_>) -> Result<()> {
    let born = store.repo().head_id().is_ok();
    let Specs { base, specs } = *specs;
    let look = |specs: &[OsString]| {
        here(store, base)?
            .args(["ls-files", "-z", "--error-unmatch", "--cached", "--others"])
            .arg("--exclude-standard")
            // What is removed from the index still is something to propose.
            .args(born.then_some("--with-tree=HEAD"))
            .arg("--")
            .args(specs)
            .answer()
    };
    if look(specs)?.ok() {
        return Ok(());
    }
    for spec in specs {
        let answer = look(std::slice::from_ref(spec))?;
        let shown = spec.to_string_lossy();
        match answer.status {
            0 => {}
            1 => {
                return Err(Error::new(
                    &changeset_codes::FILE_NOT_FOUND,
                    format!("pathspec '{shown}' did not match any file"),
                )
                .with("path", shown.into_owned())
                .hint("`git status` lists what is not committed; ignored files are left out"));
            }
            _ => {
                let said = answer.stderr.to_str_lossy();
                let why = said.lines().last().unwrap_or_default().trim_start_matches("fatal: ");
                return Err(Error::new(
                    &changeset_codes::PATH_INVALID,
                    format!("'{shown}' is no pathspec for this repository: {why}"),
                )
                .with("path", shown.into_owned())
                .hint("give files, folders or patterns inside the repository, as to git add"));
            }
        }
    }
    Ok(())
}

fn unmerged(name: &[u8]) -> Error {
    let name = name.as_bstr().to_string();
    Error::new(
        &apply::codes::UNMERGED,
        format!(
            "{name} has merge conflicts that are not settled, and taking it back would lose them"
        ),
    )
    .with("path", name)
    .hint("settle them and `git add` the file first, or name other files")
}

fn merged(name: &[u8]) -> Error {
    let name = name.as_bstr().to_string();
    Error::new(
        &apply::codes::UNMERGED,
        format!(
            "{name} is staged for a merge that is not committed, which would go on without it if \
             it were taken back"
        ),
    )
    .with("path", name)
    .hint("commit the merge first, name other files, or leave the files as they are with --keep")
}
