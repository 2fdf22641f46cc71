//! The commits of a session's agent, each proposed by itself, each on the one before.

use super::capture::{Source, capture};
use super::propose::{Details, propose};
use super::session::{SubmitOutcome, SubmitReport, counts, follow};
use super::{Draft, Session, recall};
use crate::changeset::codes::NO_CHANGE;
use crate::error::Result;
use crate::proposal::event::On;
use crate::session::session_store::{RecordLock, SessionStore};
use crate::session::{tree, words};

/// Proposes nothing unless there are several commits and the session has no pending proposal: the
/// whole is proposed then, as ever. What is not committed is left to that, too.
///
/// The tree does not follow the decisions on these proposals.
///
/// # Errors
/// As `capture` and `propose`; no commit is proposed if one of them cannot be read.
pub fn submit_commits(
    session: &Session<'_>,
    home: &SessionStore,
    changing: &RecordLock,
    name: &str,
) -> Result<Vec<SubmitReport>> {
    let (store, tree) = (session.store, home.require_tree(name)?);
    let repository = store.repository();
    follow(session, home, changing, name)?;
    let mut record = recall::record(store, home, name)?;
    let since = record.decided_head.as_deref();
    let commits = words::commits(repository, &tree, &record.base, since);
    let Some(last) = commits.last().filter(|_| commits.len() > 1 && record.proposal.is_none())
    else {
        return Ok(Vec::new());
    };
    words::import(repository, &tree, &last.id, &record.base)?;
    let mut drafts = Vec::new();
    for commit in &commits {
        let source = Source::Commit { rev: commit.id.clone().into(), reverse: false };
        match capture(session, &source, &mut Vec::new()) {
            Err(error) if error.is(&NO_CHANGE) => {}
            draft => {
                let draft = Draft { target: record.target.clone(), ..draft? };
                drafts.push((words::of_commits(std::slice::from_ref(commit)), draft));
            }
        }
    }
    let (mut reports, mut on, mut others) = (Vec::new(), None, Vec::new());
    for (at, (description, draft)) in drafts.into_iter().enumerate() {
        let lines = counts(draft.changeset());
        let details = Details { description, others: others.clone(), ..Details::default() };
        let outcome = propose(&session.later(at), Draft { on: on.take(), ..draft }, details)?;
        others.push(outcome.proposal.id.clone());
        let revision = outcome.proposal.current().event.clone();
        on = Some(On { proposal: outcome.proposal.id.clone(), revision });
        let outcome = Some(SubmitOutcome::Proposed(outcome));
        reports.push(SubmitReport { outcome, lines, ..SubmitReport::default() });
    }
    tree::hold(repository, name, &last.id)?;
    record.base = last.id.clone();
    home.write(changing, &record)?;
    Ok(reports)
}
