//! Other ways to say what is proposed: a patch, what is uncommitted, a commit or a range.

use std::collections::BTreeMap;
use std::ffi::OsString;

use bstr::ByteSlice as _;
use gix::ObjectId;

use crate::apply;
use crate::changeset::codes as changeset_codes;
use crate::changeset::patch::{self, limits};
use crate::changeset::{Changeset, File, FileChange, Mode, RepoPath, Snapshot as _};
use crate::cli::patch::ReadArgs;
use crate::cli::{Context, paths};
use crate::decide;
use crate::error::{Error, Result, codes};
use crate::git::Git;
use crate::proposal::{ActorKind, Entry, ProposalId};
use crate::store::Store;
use crate::text::escape;

/// A patch, what is uncommitted, a commit or a range, instead of edits.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Other sources")]
pub struct SourceArgs {
    /// A patch: a unified diff or an envelope (*** Begin Patch); - reads standard input.
    #[arg(long, value_name = "FILE", group = "source", conflicts_with_all = ["path", "edit", "from_json"])]
    pub patch: Option<OsString>,
    /// What is not committed, staged or not, new files included; the files then go back to HEAD, or
    /// to what proposals have been applied to them since.
    /// With PATHSPEC, only what it matches, as for git add. Agents have to give one.
    #[arg(long, value_name = "PATHSPEC", num_args = 0.., group = "source", conflicts_with_all = ["path", "edit", "from_json"])]
    pub worktree: Option<Vec<OsString>>,
    /// Leave the files as they are.
    #[arg(long, requires = "worktree")]
    pub keep: bool,
    /// What a commit changed against its first parent.
    #[arg(long, value_name = "REV", group = "source", conflicts_with_all = ["path", "edit", "from_json"])]
    pub commit: Option<OsString>,
    /// What changed from A to B, as one change: A..B, or A...B from their merge base.
    #[arg(long, value_name = "A..B", group = "source", conflicts_with_all = ["path", "edit", "from_json"])]
    pub range: Option<OsString>,
    /// How a patch is read.
    #[command(flatten)]
    pub read: ReadArgs,
}

/// What a source came to.
pub struct Sourced {
    /// The changes.
    pub changeset: Changeset,
    /// The form that the proposal records.
    pub form: &'static str,
    /// Its own message, if there is one (a commit's).
    pub message: Option<String>,
    /// Take the changed files back once they are proposed.
    pub take_back: bool,
}

impl SourceArgs {
    /// Refuses what says how a patch is read where none is. (A commit can be taken back.)
    fn refuse_unused(&self) -> Result<()> {
        let read = &self.read;
        let a_patch = self.patch.is_some();
        let unused = [
            ("-R", read.reverse && !a_patch && self.commit.is_none() && self.range.is_none()),
            ("-p", read.strip.is_some() && !a_patch),
            ("--fuzz", read.fuzz > 0 && !a_patch),
            ("--unidiff-zero", read.unidiff_zero && !a_patch),
        ];
        let Some((flag, _)) = unused.iter().find(|(_, unused)| *unused) else { return Ok(()) };
        let message = match *flag {
            "-R" => "-R goes with --patch, --commit or --range".to_owned(),
            flag => format!("{flag} says how a patch is read, and goes with --patch"),
        };
        Err(Error::new(&codes::USAGE, message).hint("leave it out, or name a patch with --patch"))
    }

    /// Reads the source that was given, if one was.
    ///
    /// # Errors
    /// Those of the reader of that form.
    pub fn read(&self, context: &Context, store: &Store) -> Result<Option<Sourced>> {
        self.refuse_unused()?;
        let sourced =
            |changeset, form| Sourced { changeset, form, message: None, take_back: false };
        if let Some(file) = &self.patch {
            let bytes = paths::content(context, file, limits::PATCH as u64 + 1)?;
            let compiled = patch::read(&bytes, &*store.files()?, &self.read.options())
                .map_err(|error| crate::tools::apply_patch::name_relative(error, store))?;
            if compiled.already_applied {
                return Err(Error::new(
                    &patch::codes::ALREADY_APPLIED,
                    "every change of the patch is in the files already",
                )
                .hint("there is nothing to propose"));
            }
            for note in &compiled.notes {
                context.note(&format!("note: {}", escape::line(note)));
            }
            return Ok(Some(sourced(compiled.changeset, "patch")));
        }
        if let Some(specs) = &self.worktree {
            let caller = context.caller(store);
            if specs.is_empty() && caller.actor.kind == ActorKind::Agent {
                return Err(Error::new(
                    &apply::codes::PATHSPEC_REQUIRED,
                    "an agent has to say which files it changed: others may be somebody else's work",
                )
                .hint("name them as to git add: aye propose --worktree PATH… -m WHY"));
            }
            let changeset = uncommitted(context, store, specs, !self.keep)?;
            return Ok(Some(Sourced { take_back: !self.keep, ..sourced(changeset, "worktree") }));
        }
        if let Some(rev) = &self.commit {
            let id = resolve(store, rev, "^{commit}")?;
            let parent = resolve(store, format!("{id}^1").as_ref(), "");
            let nothing = || ObjectId::empty_tree(store.repo().object_hash()).to_string();
            let parent = parent.unwrap_or_else(|_| nothing());
            let changeset = self.between(store, &parent, &id)?;
            let message = store.git()?.args(["log", "-1", "--format=%B", &id]).text()?;
            let message = Some(message.trim().to_owned()).filter(|message| !message.is_empty());
            let message = match self.read.reverse {
                // In the words of git revert.
                true => message.map(|message| {
                    let subject = message.lines().next().unwrap_or_default();
                    format!("Revert \"{subject}\"\n\nThis reverts commit {id}.")
                }),
                false => message,
            };
            return Ok(Some(Sourced { message, ..sourced(changeset, "commit") }));
        }
        if let Some(range) = &self.range {
            let (from, to) = ends(store, range)?;
            return Ok(Some(sourced(self.between(store, &from, &to)?, "commit")));
        }
        Ok(None)
    }

    fn between(&self, store: &Store, from: &str, to: &str) -> Result<Changeset> {
        if self.read.reverse { between(store, to, from) } else { between(store, from, to) }
    }
}

/// The way back to what the files of a changeset were before it, in the work tree and in the
/// index.
pub struct TakeBack {
    changeset: Changeset,
    /// What is in the index and not in the proposal.
    staged: Vec<(RepoPath, String)>,
}

impl TakeBack {
    /// The way back from `changeset`. What would be in it can be known before anything is done.
    ///
    /// # Errors
    /// `index_locked`, `hard_link` and whatever else keeps a file from being written.
    pub fn new(store: &Store, changeset: &Changeset) -> Result<Self> {
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
        Ok(Self { changeset: Changeset::new(changes.collect())?, staged })
    }

    /// Goes it, now that proposal `id` has the changes, and returns the files. What somebody saved in between is not
    /// lost: then nothing is taken back. Of what was staged besides, it is said where it is.
    ///
    /// # Errors
    /// `file_changed`, `index_locked`, and those of the work tree and git. They name the proposal,
    /// which stands.
    pub fn run(self, context: &Context, store: &Store, id: &ProposalId) -> Result<Vec<RepoPath>> {
        let paths: Vec<RepoPath> =
            self.changeset.changes().iter().map(|c| c.path.clone()).collect();
        let stands = |error: Error, which: &str| {
            let error = error.after(format_args!("proposal {id} is made, but {which}"));
            error.with("proposal_id", id.as_str())
        };
        apply::write_direct(store, false, |_| Ok((self.changeset, ())), |_| (), |(), _| ())
            .map_err(|error| stands(error, "the files stay as they are"))?;
        apply::unstage(store, &paths)
            .and_then(|()| apply::note_sizes(store, &paths))
            .map_err(|error| stands(error, "the index stays as it is"))?;
        for (path, blob) in &self.staged {
            context.note(&format!(
                "note: another version of {} was staged, and is not in the proposal: \
                 `git cat-file -p {blob}` prints it",
                escape::name(&path.display().to_string())
            ));
        }
        Ok(paths)
    }
}

fn resolve(store: &Store, rev: &std::ffi::OsStr, kind: &str) -> Result<String> {
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
fn ends(store: &Store, range: &std::ffi::OsStr) -> Result<(String, String)> {
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

/// What changed between two commits or trees, renames found as git finds them.
fn between(store: &Store, from: &str, to: &str) -> Result<Changeset> {
    let args = ["diff-tree", "-r", "-z", "--raw", "-M", "--no-commit-id", "--full-index", from, to];
    let raw = store.git()?.args(args).run()?;
    let mut fields = raw.split(|b| *b == 0);
    let mut changes = Vec::new();
    let broken = || Error::bug("git diff-tree printed something unknown");
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let head = head.to_str().map_err(|_| broken())?;
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old_id, new_id, status] = words[..] else { return Err(broken()) };
        let path = RepoPath::from_tree(fields.next().ok_or_else(broken)?)?;
        let file = |mode: &str, id: &str, path: &RepoPath| -> Result<Option<File>> {
            if mode == "000000" {
                return Ok(None);
            }
            let mode = mode_of(mode, path)?;
            Ok(Some(File { bytes: store.blob(id)?, mode }))
        };
        let (before, after) = (file(old_mode, old_id, &path)?, file(new_mode, new_id, &path)?);
        let change = |path, before, after, origin| FileChange {
            path,
            before,
            after,
            origin,
            snippets: Vec::new(),
        };
        if status.starts_with('R') {
            let new = RepoPath::from_tree(fields.next().ok_or_else(broken)?)?;
            changes.push(change(path.clone(), before, None, None));
            changes.push(change(new, None, after, Some(path)));
        } else {
            changes.push(change(path, before, after, None));
        }
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
    context: &Context,
    store: &Store,
    specs: &[OsString],
    take_back: bool,
) -> Result<Changeset> {
    let worktree = store.worktree()?;
    let merging = take_back && store.repo().git_dir().join("MERGE_HEAD").exists();
    if !specs.is_empty() {
        refuse_unmatched(context, store, specs)?;
    }
    let status = ["status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all"];
    let raw = here(context, store)?
        .env("GIT_OPTIONAL_LOCKS", "0")
        .args(status)
        .args(["--ignore-submodules=dirty", "--"])
        .args(specs)
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
                    context.note(&format!(
                        "note: {} is another repository and stays as it is",
                        escape::line(name.trim_end_matches('/'))
                    ));
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
            true => decide::written_here(store, &view, context.now, &path, head.as_ref())?,
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
            context.note(&format!(
                "note: {} is staged but left out of the work tree, and stays as it is",
                escape::name(&path.display().to_string())
            ));
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

/// Git, where the words of the command line are relative to.
fn here(context: &Context, store: &Store) -> Result<Git> {
    let base = context.path_base(store);
    let git = store.git()?;
    Ok(if store.prefix(&base).is_some() { git.directory(base) } else { git })
}

/// Refuses the pathspecs that match nothing that git knows or would add, as `git add` does.
fn refuse_unmatched(context: &Context, store: &Store, specs: &[OsString]) -> Result<()> {
    let born = store.repo().head_id().is_ok();
    let look = |specs: &[OsString]| {
        here(context, store)?
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
