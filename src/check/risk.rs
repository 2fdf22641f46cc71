//! Which pending proposals deserve a second look: reviewed first, and marked in lists.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::changeset::instructions::Instructions;
use crate::changeset::{RepoPath, sensitive};
use crate::error::Result;
use crate::proposal::event::Subject;
use crate::proposal::{ProposalId, Status};
use crate::repository::policy;
use crate::scan::{ALLOW_LIST, gate};
use crate::store::{Store, Summary, View};

/// Why a proposal deserves a second look, if it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Risk {
    /// It changes a path that decides more than it seems; see [`crate::changeset::sensitive`].
    pub is_sensitive: bool,
    /// It changes a file that instructs coding agents, or configures what they run.
    pub instructs: bool,
    /// It removes a file.
    pub deletes: bool,
    /// What it adds looks like a secret or personal data, or misleads whoever reads it.
    pub is_warned: bool,
}

impl Risk {
    /// Whether there is any.
    pub fn is_any(self) -> bool {
        self != Self::default()
    }

    /// The names in JSON: `sensitive`, `instructs`, `deletes`, `warned`.
    pub fn names(self) -> Vec<&'static str> {
        let all = [
            (self.is_sensitive, "sensitive"),
            (self.instructs, "instructs"),
            (self.deletes, "deletes"),
            (self.is_warned, "warned"),
        ];
        all.into_iter().filter(|(is_it, _)| *is_it).map(|(_, name)| name).collect()
    }

    /// Its place in the order of review; 0 comes first.
    pub fn class(self) -> u8 {
        match (self.is_sensitive || self.is_warned, self.deletes) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        }
    }

    fn bits(self) -> u8 {
        u8::from(self.is_sensitive)
            | u8::from(self.deletes) << 1
            | u8::from(self.is_warned) << 2
            | u8::from(self.instructs) << 3
    }

    fn of_bits(bits: u8) -> Self {
        Self {
            is_sensitive: bits & 1 > 0,
            deletes: bits & 2 > 0,
            is_warned: bits & 4 > 0,
            instructs: bits & 8 > 0,
        }
    }
}

/// The pending ones among `summaries` with a risk. Content is read once for each revision: what was
/// found is in the cache then. Content that is not in this clone is not judged.
///
/// # Errors
/// Those of the store.
pub fn risks(
    store: &Store,
    view: &View,
    summaries: &[Summary],
) -> Result<HashMap<ProposalId, Risk>> {
    // Memory's own operations are checked and shown as such.
    let is_it =
        |summary: &&Summary| summary.status == Status::Pending && summary.subject == Subject::Code;
    let mut pending = summaries.iter().filter(is_it).peekable();
    let mut found = HashMap::new();
    if pending.peek().is_none() {
        return Ok(found);
    }
    let basis = basis(store);
    let known = view.known_risks(&basis)?;
    let mut new = Vec::new();
    let instructions = OnceCell::new();
    for summary in pending {
        let risk = match known.get(&summary.revision) {
            Some(bits) => Risk::of_bits(*bits),
            None => {
                let (risk, is_whole) =
                    judge(store, view, summary, instructions.get_or_init(|| store.instructions()))?;
                if is_whole {
                    new.push((summary.revision.as_str(), risk.bits()));
                }
                risk
            }
        };
        if risk.is_any() {
            found.insert(summary.id.clone(), risk);
        }
    }
    if !new.is_empty() {
        view.keep_risks(&basis, new.into_iter());
    }
    Ok(found)
}

/// What the judgement depends on beside the revision: this program, the known false alarms, and
/// the policy. Imports count as they were when the revision was first judged.
fn basis(store: &Store) -> String {
    let in_head = |path: &str| RepoPath::new(path).ok().and_then(|path| store.id_in_head(&path));
    let (allowed, policy) = (in_head(ALLOW_LIST), in_head(policy::PATH));
    let (allowed, policy) = (allowed.unwrap_or_default(), policy.unwrap_or_default());
    format!("{} 2 {allowed} {policy}", env!("CARGO_PKG_VERSION"))
}

/// The risk of one, and whether all of it could be judged.
fn judge(
    store: &Store,
    view: &View,
    summary: &Summary,
    instructions: &Instructions,
) -> Result<(Risk, bool)> {
    let proposal = view.proposal(&summary.id)?;
    let changes = &proposal.current().changes;
    // What a partial clone has not fetched is not fetched for a mark.
    let is_here = store.has_contents(changes);
    let changeset = is_here.then(|| store.changeset(changes).ok()).flatten();
    let findings = changeset.as_ref().map(|changeset| gate::review(store, changeset, instructions));
    let is_judged = matches!(findings, Some(Ok(_)));
    // What cannot be judged, as with a broken list of exceptions, deserves the look.
    let is_warned = findings.is_some_and(|found| !found.is_ok_and(|found| found.is_empty()));
    let mut paths =
        changes.iter().flat_map(|change| std::iter::once(&change.path).chain(&change.origin));
    let moved = |path| changes.iter().any(|change| change.origin.as_ref() == Some(path));
    let risk = Risk {
        is_sensitive: !sensitive::of(changes, instructions).is_empty(),
        instructs: paths.any(|path| instructions.kind(path).is_some()),
        deletes: changes.iter().any(|change| change.after.is_none() && !moved(&change.path)),
        is_warned,
    };
    Ok((risk, is_judged))
}
