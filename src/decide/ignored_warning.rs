//! Warnings about ignored files that an apply adds to history.

use crate::changeset::plan::ApplyPlan;
use crate::error::Result;
use crate::proposal::event::Effect;
use crate::repository::Repository;

/// Warns of new files that git ignores and that `effect` commits or stages.
///
/// # Errors
/// `io_error` if the ignore rules cannot be read.
pub(super) fn warnings(
    repository: &Repository,
    effect: Effect,
    plan: &ApplyPlan,
) -> Result<Vec<String>> {
    let goes_to = match effect {
        Effect::Commit => "it is in the commit, and goes wherever that is pushed",
        Effect::Index => "it is staged, and the next commit has it",
        Effect::Files | Effect::MarkOnly => return Ok(Vec::new()),
    };
    let written = plan.writes().filter(|file| file.after.is_some());
    let ignored = repository.ignored(&mut written.map(|file| &file.path))?.into_iter();
    Ok(ignored.map(|path| format!("git ignores {}: {goes_to}", path.display())).collect())
}
