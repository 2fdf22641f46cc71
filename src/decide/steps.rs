//! What decisions have approved, as steps from one content of a file to another.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::manifest::{Manifest, Outcome, Residue};
use super::shown::entry;
use super::statement::Statement;
use crate::changeset::RepoPath;
use crate::error::{Error, Result};
use crate::proposal::event::BlobRef;
use crate::proposal::state::Decision;
pub use crate::proposal::steps::Step;
use crate::proposal::steps::{of_events, of_revision};
use crate::proposal::{Entry, Proposal, ProposalId, State, Status, codes};
use crate::store::{Filter, Store, View};

/// The steps that the decision on the applied `proposal` approved; none where it is not applied.
///
/// # Errors
/// `statement_invalid`, `object_missing`: then nothing is approved.
pub fn of(store: &Store, proposal: &Proposal) -> Result<Vec<Step>> {
    let State::Applied(decision) = &proposal.state else { return Ok(Vec::new()) };
    let Some((_, manifest)) = read(store, proposal, decision)? else {
        return Ok(of_events(proposal, decision));
    };
    let Some(manifest) = manifest else { return Ok(of_revision(proposal, decision)) };
    let mut steps = Vec::new();
    for record in manifest.records() {
        let path = &record.path;
        let mut add = |before, after| steps.push(Step { path: path.clone(), before, after });
        let after = entry(&record.after);
        match (&record.outcome, record.residue) {
            (Outcome::Already, _) => {
                steps.extend(
                    of_revision(proposal, decision).into_iter().filter(|s| s.path == *path),
                );
            }
            (_, Residue::Taken) => {
                add(entry(&record.base), after.clone());
                add(entry(&record.now), after);
            }
            (_, Residue::None | Residue::NotTaken) => add(entry(&record.now), after),
        }
    }
    Ok(steps)
}

/// Statement and manifest of a decision, held to the event that names them; `None` for decisions
/// of version 0.1.0, which have none.
///
/// # Errors
/// `statement_invalid`, `object_missing`.
pub fn read(
    store: &Store,
    proposal: &Proposal,
    decision: &Decision,
) -> Result<Option<(Statement, Option<Manifest>)>> {
    let Some(named) = &decision.statement else { return Ok(None) };
    let statement = Statement::from_bytes(&bound(store, named)?)?;
    let digest = proposal.revision(&decision.revision).map(super::digest_of);
    let fits = statement.proposal == proposal.first_event
        && statement.revision == decision.revision
        && Some(&statement.digest) == digest.as_ref()
        && statement.actor == decision.by
        && statement.evidence == decision.evidence.as_str()
        && matches!(
            (statement.verdict.as_str(), &proposal.state),
            ("apply", State::Applied(_)) | ("reject" | "withdraw", State::Rejected(_))
        );
    if !fits {
        return Err(invalid(proposal, "it is about something else than its event"));
    }
    let manifest = match &statement.manifest {
        None => None,
        Some(named) => Some(Manifest::from_bytes(&bound(store, named)?)?),
    };
    if let Some(manifest) = &manifest {
        // The event repeats what was written for version 0.1.0 and for undo; it may not differ.
        let differs = decision.written.iter().any(|written| {
            manifest.record(&written.path).is_none_or(|record| {
                entry(&record.now) != written.before || entry(&record.after) != written.after
            })
        });
        if differs {
            return Err(invalid(proposal, "its manifest is not what its event says was written"));
        }
    }
    Ok(Some((statement, manifest)))
}

/// The bytes of a blob, held to its SHA-256.
fn bound(store: &Store, named: &BlobRef) -> Result<Vec<u8>> {
    let bytes = store.blob(&named.id)?;
    if crate::sha256::hex(&bytes) == named.sha256 {
        return Ok(bytes);
    }
    Err(Error::new(
        &codes::STATEMENT_INVALID,
        format!("blob {} does not have the SHA-256 that names it", named.id),
    )
    .hint("`git fsck` tells what is damaged"))
}

fn invalid(proposal: &Proposal, why: &str) -> Error {
    Error::new(
        &codes::STATEMENT_INVALID,
        format!("the decision on {} cannot be believed: {why}", proposal.id),
    )
    .with("proposal_id", proposal.id.as_str())
    .hint("`aye log` shows its event; decide again")
}

/// The applied proposals that change `path`, in the order of their decisions, without `except`.
///
/// # Errors
/// `internal_error` if the cache cannot be read.
pub fn applied(view: &View, except: &Proposal, path: &RepoPath) -> Result<Vec<Proposal>> {
    let filter = Filter {
        status: Some(Status::Applied),
        path: Some(path.as_bstr().to_string()),
        ..Filter::default()
    };
    let mut found = Vec::new();
    // No clock: an applied proposal stays one.
    for summary in view.proposals(&filter, DateTime::<Utc>::MIN_UTC)? {
        if summary.id != except.id {
            found.push(view.proposal(&summary.id)?);
        }
    }
    found.sort_by_key(|proposal| proposal.decision().map(|decision| decision.at));
    Ok(found)
}

/// What the applied proposals of people have made of files.
pub(super) struct Explained<'v> {
    store: &'v Store,
    view: &'v View,
    except: &'v ProposalId,
    /// What the lanes say of the proposals that the cache named.
    verified: BTreeMap<ProposalId, Vec<Step>>,
}

impl<'v> Explained<'v> {
    /// By all proposals but `except`.
    pub(super) fn new(store: &'v Store, view: &'v View, except: &'v Proposal) -> Self {
        Self { store, view, except: &except.id, verified: BTreeMap::new() }
    }

    /// True where proposals that people applied lead `path` from one content to another. Of many,
    /// the newest are looked at.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` where it says so and the
    /// lanes do not.
    pub(super) fn leads(
        &mut self,
        path: &RepoPath,
        from: &Option<Entry>,
        to: &Option<Entry>,
    ) -> Result<bool> {
        let mut steps = self.view.approved_steps(path)?;
        steps.retain(|(id, _)| id != self.except);
        // In which order they were applied does not matter for telling whose changes these are.
        let (mut reached, mut used) = (vec![from.clone()], Vec::new());
        while let Some(at) = steps.iter().position(|(_, step)| reached.contains(&step.before)) {
            let (id, step) = steps.swap_remove(at);
            reached.push(step.after.clone());
            used.push((id, step));
        }
        if !reached.contains(to) {
            return Ok(false);
        }
        for (id, step) in used {
            if !self.steps(&id)?.contains(&step) {
                return Err(self.view.tampered(&id, "it names a step that was not approved"));
            }
        }
        Ok(true)
    }

    /// The steps that a person has approved of the proposal `id`, by its lanes.
    fn steps(&mut self, id: &ProposalId) -> Result<&[Step]> {
        if !self.verified.contains_key(id) {
            let proposal = self.store.verified_proposal(self.view, id)?;
            let decision = proposal.decision().filter(|decision| decision.is_by_a_person());
            let steps = decision.map(|decision| of_events(&proposal, decision));
            self.verified.insert(id.clone(), steps.unwrap_or_default());
        }
        Ok(self.verified.get(id).map_or(&[], Vec::as_slice))
    }
}
