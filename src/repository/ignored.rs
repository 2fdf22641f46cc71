//! Ignored files that HEAD does not have.

use std::collections::BTreeSet;

use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::index::{State, entry};
use gix::worktree::stack::state::ignore::Source;

use super::Repository;
use crate::changeset::RepoPath;
use crate::error::{Error, Result};

/// Up to this many paths are looked up in HEAD before the rules; for more the reverse is quicker.
const FEW: usize = 16;

impl Repository {
    /// Returns the paths that HEAD does not have and that rules of the work tree or of HEAD ignore.
    /// The index does not count, and the work tree's rules alone do not decide: an agent may have
    /// added the file by force or edited the rules.
    pub fn ignored<'p>(
        &self,
        paths: &mut dyn Iterator<Item = &'p RepoPath>,
    ) -> Result<Vec<&'p RepoPath>> {
        let mut paths: Vec<&RepoPath> = paths.collect();
        if paths.len() <= FEW {
            paths.retain(|path| self.id_in_head(path).is_none());
        }
        if paths.is_empty() || self.work_dir().is_none() {
            return Ok(Vec::new());
        }
        let index = self.repo.index_or_empty().map_err(|error| unread(&error))?;
        let here = Source::WorktreeThenIdMappingIfNotSkipped;
        let mut found = self.ignored_by(&mut paths, &index, here)?;
        if !paths.is_empty()
            && let Some(rules) = self.rules_in_head(&paths)?
        {
            found.extend(self.ignored_by(&mut paths, &rules, Source::IdMapping)?);
        }
        Ok(found)
    }

    /// Moves the ignored paths out of `paths`.
    fn ignored_by<'p>(
        &self,
        paths: &mut Vec<&'p RepoPath>,
        index: &State,
        source: Source,
    ) -> Result<Vec<&'p RepoPath>> {
        let mut rules = self.repo.excludes(index, None, source).map_err(|error| unread(&error))?;
        let (mut ignored, mut others) = (Vec::new(), Vec::with_capacity(paths.len()));
        for path in paths.drain(..) {
            let mode = Some(entry::Mode::FILE);
            let found = rules.at_entry(path.as_bstr(), mode).map_err(|error| unread(&error))?;
            let is_ignored = found.is_excluded() && self.id_in_head(path).is_none();
            if is_ignored { ignored.push(path) } else { others.push(path) }
        }
        *paths = others;
        Ok(ignored)
    }

    /// Builds an index of HEAD's `.gitignore` files above `paths`; `None` if there are none.
    fn rules_in_head(&self, paths: &[&RepoPath]) -> Result<Option<State>> {
        let directories: BTreeSet<BString> = paths.iter().flat_map(|path| above(path)).collect();
        let mut rules = State::new(self.repo.object_hash());
        for directory in directories {
            let name = [directory.as_slice(), b".gitignore"].concat();
            let Some(id) = RepoPath::from_tree(&name).ok().and_then(|at| self.id_in_head(&at))
            else {
                continue;
            };
            let id = gix::ObjectId::from_hex(id.as_bytes()).map_err(|error| unread(&error))?;
            let (stat, flags) = (entry::Stat::default(), entry::Flags::empty());
            rules.dangerously_push_entry(stat, id, flags, entry::Mode::FILE, BStr::new(&name));
        }
        rules.sort_entries();
        Ok(Some(rules).filter(|rules| !rules.entries().is_empty()))
    }
}

/// Directories above `path` with a final slash, the empty top included.
fn above(path: &RepoPath) -> impl Iterator<Item = BString> {
    let path = path.as_bstr();
    let ends = path.find_iter(b"/").map(|at| at + 1);
    std::iter::once(0).chain(ends).map(|end| BString::from(&path[..end]))
}

fn unread(error: &dyn std::fmt::Display) -> Error {
    let error = std::io::Error::other(error.to_string());
    Error::io("read the rules of ignored files", &error)
}
