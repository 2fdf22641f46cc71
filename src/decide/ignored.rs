//! What is said where an apply brings a file into the project's history that git ignores.

use crate::changeset::plan::Resolution;
use crate::error::Result;
use crate::proposal::event::Effect;
use crate::repository::Repository;

/// New files of `plan` that git ignores, and that `effect` makes part of the project's history all the same, in
/// words.
///
/// # Errors
/// `io_error` where the rules cannot be read.
pub(super) fn warnings(
    repository: &Repository,
    effect: Effect,
    plan: &Resolution,
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
