//! Pending proposals whose files are being changed by something else.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::{Concern, FailOn, Scope};
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::ProposalId;
use crate::report::Finding;
use crate::store::View;

/// The pending proposals of a scope, looked up by the files they change: however many there are,
/// only those that change a file that is asked about are read.
pub struct Pending<'v> {
    view: &'v View<'v>,
    now: DateTime<Utc>,
    scope: &'v Scope,
    except: &'v [String],
}

impl<'v> Pending<'v> {
    /// Those of `scope` at `now`, with their files of it; `except` are ids to leave out (an apply
    /// that is itself committing).
    pub fn new(
        view: &'v View<'v>,
        now: DateTime<Utc>,
        scope: &'v Scope,
        except: &'v [String],
    ) -> Self {
        Self { view, now, scope, except }
    }

    /// False where nothing at all is pending, so that nobody need find out which files to ask about.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn may_touch(&self) -> Result<bool> {
        self.view.has_pending(self.now)
    }

    /// A finding per proposal that changes one of `paths`, at the first such path; none for those
    /// that were sent back, which will be other ones. `who` says what touches it: `the staged
    /// changes`, `commit 1234567`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn findings<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a [u8]>,
        who: &str,
        fail_on: &FailOn,
    ) -> Result<Vec<Finding>> {
        let mut seen: BTreeSet<ProposalId> = BTreeSet::new();
        let mut found = Vec::new();
        for path in paths {
            let Ok(path) = RepoPath::from_tree(path) else { continue };
            if !self.scope.covers(&path) {
                continue;
            }
            for summary in self.view.touching(&path, self.now)? {
                let id = &summary.id;
                if self.scope.kind.is_some_and(|kind| summary.subject != kind)
                    || summary.changes_requested
                    || self.except.iter().any(|known| known == id.as_str())
                    || !seen.insert(id.clone())
                {
                    continue;
                }
                let short = id.as_str().chars().take("prop_".len() + summary.prefix.max(4));
                let message = format!(
                    "{who} touch{} {}, which {id} by {} would change",
                    if who.starts_with("commit") { "es" } else { "" },
                    path.display(),
                    summary.proposed_by
                );
                found.push(
                    fail_on
                        .finding(Concern::TouchesPending, message)
                        .hint(format!("aye review {}", short.collect::<String>()))
                        .path(path.as_bstr())
                        .proposal(id.as_str()),
                );
            }
        }
        Ok(found)
    }
}
