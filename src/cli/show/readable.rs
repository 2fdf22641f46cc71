//! The readable part of a proposal, if the repository lacks some of it.

use crate::changeset::{Changeset, RepoPath};
use crate::error::{Error, Result};
use crate::proposal::state::Revision;
use crate::render::style::{Palette, Role};
use crate::store::{Store, too_much};
use crate::text::escape;

pub(super) struct Readable {
    pub(super) changeset: Changeset,
    pub(super) missing: Vec<(RepoPath, Error)>,
}

impl Readable {
    pub(super) fn load(store: &Store, revision: &Revision) -> Result<Self> {
        if let Ok(changeset) = store.changeset(revision) {
            return Ok(Self { changeset, missing: Vec::new() });
        }
        let (mut changes, mut missing) = (Vec::new(), Vec::new());
        let most = store.most_content()?;
        let mut left = most;
        for record in &revision.changes {
            let rest = left.checked_sub(store.size_of(record));
            let one = match rest {
                Some(_) => store.partial_changeset(revision, std::slice::from_ref(record)),
                None => Err(too_much(most)),
            };
            match one {
                Ok(one) => {
                    left = rest.unwrap_or_default();
                    changes.extend(one.into_changes());
                }
                Err(error) => missing.push((record.path.clone(), error)),
            }
        }
        let changeset =
            if changes.is_empty() { Changeset::default() } else { Changeset::new(changes)? };
        Ok(Self { changeset, missing })
    }

    pub(super) fn missing_lines(&self, palette: &Palette) -> String {
        let mut out = String::new();
        for (path, error) in &self.missing {
            let path = path.display().to_string();
            let line = format!("cannot be shown: {path}: {}", error.message());
            out += &format!("{}\n", palette.paint(Role::Bad, escape::line(&line)));
        }
        out
    }
}
