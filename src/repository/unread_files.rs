//! Files of a change that people do not read line by line, by path and git's attributes.

use std::collections::BTreeMap;

use gix::attrs::StateRef;
use gix::worktree::stack::state::attributes::Source;

use super::Repository;
use crate::changeset::RepoPath;
use crate::changeset::unreviewed::{self, Linguist};

impl Repository {
    /// The reasons why some of `paths` are not read line by line; see `unreviewed::reason`. The
    /// attributes are the work tree's; if they cannot be read the paths alone decide.
    pub fn quiet<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p RepoPath>,
    ) -> BTreeMap<RepoPath, &'static str> {
        let mut attributes = self.linguist();
        let mut found = BTreeMap::new();
        for path in paths {
            let said = attributes.as_mut().and_then(|look| look(path)).unwrap_or_default();
            found.extend(unreviewed::reason(path, said).map(|why| (path.clone(), why)));
        }
        found
    }

    fn linguist(&self) -> Option<impl FnMut(&RepoPath) -> Option<Linguist>> {
        let index = gix::index::State::new(self.repo.object_hash());
        let source = Source::IdMappingThenWorktree;
        let mut stack = self.repo.attributes_only(&index, source).ok()?.detach();
        let names = ["linguist-generated", "linguist-vendored"];
        let mut outcome = gix::attrs::search::Outcome::default();
        let none = gix::attrs::search::MetadataCollection::default();
        outcome.initialize_with_selection(&none, names);
        let repo = self.repo.clone();
        Some(move |path: &RepoPath| {
            let platform = stack.at_entry(path.as_bstr(), None, &repo.objects).ok()?;
            outcome.reset();
            platform.matching_attributes(&mut outcome);
            let mut said = outcome.iter_selected().map(|found| match found.assignment.state {
                StateRef::Set => Some(true),
                StateRef::Unset => Some(false),
                StateRef::Value(value) => Some(value.as_bstr() != "false"),
                StateRef::Unspecified => None,
            });
            Some(Linguist { generated: said.next()?, vendored: said.next()? })
        })
    }
}
