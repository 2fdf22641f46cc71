//! Writes a changeset without a proposal: `aye patch`, and restoring HEAD after proposing changes.

use crate::changeset::{Changeset, File, RepoPath};
use crate::error::Result;
use crate::repository::Repository;
use crate::store::Store;
use crate::worktree::Reader;
use crate::worktree::journal::FileWrite;
use crate::worktree::processors;

use super::staging::Staging;
use super::{checks, lock, staging};

/// Bytes from which a thread for `compute` pays.
const LARGE: usize = 1 << 20;

#[derive(Debug)]
pub struct WrittenChangeset<'c, D> {
    pub changeset: &'c Changeset,
    pub computed: D,
    /// Why staging failed.
    pub warning: Option<String>,
}

/// Calls `make` for a changeset under aye's lock, then writes all of it or none. `index` also
/// stages the files.
///
/// `compute` gets the changeset first; a large one is written meanwhile. `answer` gets the written
/// changeset, if any, and records the event: if the process dies before, the caller was told
/// nothing. Old files may still be removed then.
///
/// # Errors
/// `index_locked`, `uncommitted_changes`, errors of `make` and `Journal::apply`. All files are then
/// as before.
pub(crate) fn write<T, D: Send, R>(
    store: &Store,
    index: bool,
    make: impl FnOnce(&Reader<'_>) -> Result<(Changeset, T)>,
    compute: impl Fn(&Changeset) -> D + Sync,
    answer: impl FnOnce(T, Option<WrittenChangeset<'_, D>>) -> R,
) -> Result<R> {
    let repository = store.repository();
    let journal = lock(store)?;
    let worktree = repository.worktree()?.with_size_limit(repository.settings()?.max_file_size);
    let reader = worktree.reader();
    let (changeset, value) = make(&reader)?;
    let changes = changeset.changes();
    worktree.expect(changes.iter().map(|change| (&change.path, change.after.as_ref())))?;
    let steps: Vec<FileWrite<'_>> = changes
        .iter()
        .map(|change| FileWrite {
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
    processors::run_beside(size(&changeset) >= LARGE, &compute, |computed| {
        // The later recording needs the cache open.
        let mut meanwhile = || drop(store.view());
        journal.apply_with(&reader, &steps, None, &mut meanwhile, start, |staging| {
            let paths =
                || changes.iter().map(|change| change.path.clone()).collect::<Vec<RepoPath>>();
            let staged =
                staging.map(|staging| staging.and_then(|staging| staging.finish(&paths())));
            let warning = staged
                .and_then(Result::err)
                .map(|error| format!("the files are written but not staged: {}", error.message()));
            let computed = computed.wait();
            answer(value, Some(WrittenChangeset { changeset: &changeset, computed, warning }))
        })
    })
}

fn size(changeset: &Changeset) -> usize {
    let sides = changeset.changes().iter().flat_map(|change| [&change.before, &change.after]);
    sides.flatten().map(|file| file.bytes.len()).sum()
}

/// # Errors
/// `uncommitted_changes`, `index_locked`.
pub fn refuse_unstaged(repository: &Repository, changeset: &Changeset) -> Result<()> {
    checks::refuse_unstaged(repository, files(changeset))
}

fn files(changeset: &Changeset) -> impl Iterator<Item = (&RepoPath, Option<&File>, Option<&File>)> {
    let changes = changeset.changes().iter();
    changes.map(|change| (&change.path, change.before.as_ref(), change.after.as_ref()))
}
