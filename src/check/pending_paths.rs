//! Pending proposals whose files a commit or the index changes.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::{Concern, FailOn, Scope};
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::ProposalId;
use crate::report::Finding;
use crate::store::View;

/// Looks proposals up by path: only those that change a queried file are read.
pub struct PendingPaths<'v> {
    view: &'v View<'v>,
    now: DateTime<Utc>,
    scope: &'v Scope,
    except: &'v [String],
}

impl<'v> PendingPaths<'v> {
    /// `except`: ids of an apply that is itself committing.
    pub fn new(
        view: &'v View<'v>,
        now: DateTime<Utc>,
        scope: &'v Scope,
        except: &'v [String],
    ) -> Self {
        Self { view, now, scope, except }
    }

    /// False if nothing is pending, so that callers need not collect paths.
    pub fn may_touch(&self) -> Result<bool> {
        Ok(self.view.count_pending(self.now)? > 0)
    }

    /// A finding per proposal at its first path in `paths`. Skips proposals with requested changes:
    /// their content will change. `who` is the toucher: `commit 1234567`.
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
