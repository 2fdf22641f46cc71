//! Files that git ignores and does not have.

use gix::worktree::stack::state::ignore::Source;

use super::Repository;
use crate::changeset::RepoPath;
use crate::error::{Error, Result};

/// So many paths are looked up in HEAD before the index is read, which is quicker for more.
const FEW: usize = 16;

impl Repository {
    /// The first of `paths` that git ignores, and that neither HEAD nor the index has. The rules are read only
    /// where there is a path that the index does not have.
    ///
    /// # Errors
    /// `io_error` where the index or the rules cannot be read.
    pub fn ignored<'p>(
        &self,
        paths: &mut dyn Iterator<Item = &'p RepoPath>,
    ) -> Result<Option<&'p RepoPath>> {
        let mut paths: Vec<&RepoPath> = paths.collect();
        if paths.len() <= FEW {
            paths.retain(|path| self.id_in_head(path).is_none());
        }
        if paths.is_empty() || self.work_dir().is_none() {
            return Ok(None);
        }
        let unread = |error: &dyn std::fmt::Display| {
            let error = std::io::Error::other(error.to_string());
            Error::io("read the rules of ignored files", &error)
        };
        let index = self.repo.index_or_empty().map_err(|error| unread(&error))?;
        paths.retain(|path| index.entry_by_path(path.as_bstr()).is_none());
        if paths.is_empty() {
            return Ok(None);
        }
        let mut rules = self
            .repo
            .excludes(&index, None, Source::WorktreeThenIdMappingIfNotSkipped)
            .map_err(|error| unread(&error))?;
        for path in paths {
            let mode = Some(gix::index::entry::Mode::FILE);
            let found = rules.at_entry(path.as_bstr(), mode).map_err(|error| unread(&error))?;
            if found.is_excluded() && self.id_in_head(path).is_none() {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}
