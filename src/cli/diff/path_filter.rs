//! Restricts a diff to paths.

use crate::changeset::RepoPath;
use crate::cli::{Context, paths};
use crate::error::{Error, Result, codes};
use crate::proposal::Proposal;
use crate::repository::Repository;

/// A rename counts on both sides. `None` stands for all files.
pub(super) fn select_paths<'f>(
    context: &Context,
    repository: &Repository,
    proposal: &Proposal,
    files: impl Iterator<Item = (&'f RepoPath, Option<&'f RepoPath>)> + Clone,
    typed: &[std::ffi::OsString],
) -> Result<Option<Vec<RepoPath>>> {
    if typed.is_empty() {
        return Ok(None);
    }
    let mut wanted = Vec::with_capacity(typed.len());
    for text in typed {
        let is_top = text == "."
            && repository.prefix(&context.path_base(repository)).is_none_or(|at| at.is_empty());
        let path = if is_top { return Ok(None) } else { paths::typed(context, repository, text)? };
        let below = |one: &RepoPath| *one == path || one.parents().any(|parent| parent == path);
        let found: Vec<RepoPath> = files
            .clone()
            .filter(|(path, origin)| below(path) || origin.is_some_and(below))
            .flat_map(|(path, origin)| [Some(path.clone()), origin.cloned()])
            .flatten()
            .collect();
        if found.is_empty() {
            let message = format!("{} changes nothing at '{}'", proposal.id, path.display());
            return Err(Error::new(&codes::INVALID_ARGUMENT, message)
                .with("path", path.display().to_string())
                .hint(format!("its files: aye diff {} --name-only", proposal.id)));
        }
        wanted.extend(found);
    }
    Ok(Some(wanted))
}
