//! Writing a changeset without a proposal: `aye patch`, and taking the work tree back to HEAD
//! once its changes are proposed.

use crate::changeset::{Changeset, File, RepoPath};
use crate::error::Result;
use crate::repository::Repository;
use crate::store::Store;
use crate::worktree::Reader;
use crate::worktree::journal::Step;
use crate::worktree::processors;

use super::staging::Staging;
use super::{lock, refuse, staging};

/// From this many bytes before and after on, a thread is started to compute beside the writing.
const LARGE: usize = 1 << 20;

/// A changeset that stands in the work tree.
#[derive(Debug)]
pub struct Written<'c, D> {
    /// What was written.
    pub changeset: &'c Changeset,
    /// What was computed of it meanwhile.
    pub computed: D,
    /// Why it could not be staged as asked, in words.
    pub warning: Option<String>,
}

/// Lets `make` compile a changeset on the work tree while nobody else of aye writes it, then
/// writes all of it or none. With `index`, the changed files are staged too.
///
/// `make` returning an empty changeset writes nothing. `answer` gets the value of `make` once the
/// files stand, with what was written, if anything; what it returns is returned. Old files may be
/// cleaned up while it runs. The event is recorded there: where the process ends between files and
/// event, the caller was told nothing yet. `compute` gets the changeset before; of a large one, it
/// runs while the files are written.
///
/// # Errors
/// `make`'s own; `index_locked`, `uncommitted_changes`; and those of [`crate::worktree::journal::Journal::apply`]. All
/// files are then as they were.
pub(crate) fn write<T, D: Send, R>(
    store: &Store,
    index: bool,
    make: impl FnOnce(&Reader<'_>) -> Result<(Changeset, T)>,
    compute: impl Fn(&Changeset) -> D + Sync,
    answer: impl FnOnce(T, Option<Written<'_, D>>) -> R,
) -> Result<R> {
    let repository = store.repository();
    let journal = lock(store)?;
    let worktree = repository.worktree()?.with_size_limit(repository.settings()?.max_file_size);
    let reader = worktree.reader();
    let (changeset, value) = make(&reader)?;
    let changes = changeset.changes();
    worktree.expect(changes.iter().map(|change| (&change.path, change.after.as_ref())))?;
    let steps: Vec<Step<'_>> = changes
        .iter()
        .map(|change| Step {
            path: &change.path,
            now: change.before.as_ref(),
            after: change.after.as_ref(),
        })
        .collect();
    if steps.is_empty() {
        return Ok(answer(value, None));
    }
    if index {
        refuse_unstaged(repository, &changeset)?;
    }
    let start = |_: &str| {
        if index {
            journal.release_index();
        }
        Ok(index.then(|| Staging::start(repository, &staging::modes(files(&changeset)))))
    };
    let compute = || compute(&changeset);
    processors::beside(size(&changeset) >= LARGE, &compute, |computed| {
        // What records it afterwards wants the cache open.
        let mut meanwhile = || drop(store.view());
        journal.apply_while(&reader, &steps, None, &mut meanwhile, start, |staging| {
            let paths =
                || changes.iter().map(|change| change.path.clone()).collect::<Vec<RepoPath>>();
            let staged =
                staging.map(|staging| staging.and_then(|staging| staging.finish(&paths())));
            let warning = staged
                .and_then(Result::err)
                .map(|error| format!("the files are written but not staged: {}", error.message()));
            let computed = computed.wait();
            answer(value, Some(Written { changeset: &changeset, computed, warning }))
        })
    })
}

/// Bytes before and after.
fn size(changeset: &Changeset) -> usize {
    let sides = changeset.changes().iter().flat_map(|change| [&change.before, &change.after]);
    sides.flatten().map(|file| file.bytes.len()).sum()
}

/// Refuses to stage `changeset` where the index has something else of a file than the work tree.
///
/// # Errors
/// `uncommitted_changes`, `index_locked`.
pub fn refuse_unstaged(repository: &Repository, changeset: &Changeset) -> Result<()> {
    refuse::refuse_unstaged(repository, files(changeset))
}

fn files(changeset: &Changeset) -> impl Iterator<Item = (&RepoPath, Option<&File>, Option<&File>)> {
    let changes = changeset.changes().iter();
    changes.map(|change| (&change.path, change.before.as_ref(), change.after.as_ref()))
}
