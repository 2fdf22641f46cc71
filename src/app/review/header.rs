//! The header above a proposal's changes: people, times, fit and conversation.

use chrono::{DateTime, Utc};

use super::authors;
use crate::app::notes::notes;
use crate::app::quotes;
use crate::changeset::plan::MergeStatus;
use crate::decide::ProposalDisplay;
use crate::error::Result;
use crate::proposal::conversation::ContributionKind;
use crate::proposal::relations::{MOST_NAMED, Relations};
use crate::proposal::{Proposal, ProposalId};
use crate::render::age;
use crate::repository::Repository;
use crate::review::terminal::{EarlierComment, Header, Related, RelatedAs};
use crate::store::{Store, View};

/// Comments and answered requests, oldest first.
pub(super) fn conversation(store: &Store, proposal: &Proposal) -> Vec<EarlierComment> {
    let places = quotes::places(store, proposal);
    let said = proposal.conversation(&places).into_iter().filter_map(|saying| {
        let body = saying.body?;
        let body = match saying.kind {
            // An open request has its own line.
            ContributionKind::Request => return None,
            ContributionKind::Answered => format!("asked for changes: {body}"),
            ContributionKind::Comment => body.to_owned(),
        };
        let comment = saying.remark.map(|remark| &remark.comment);
        let moved = saying.place.and_then(|place| place.path.clone());
        let path = moved.or(comment.and_then(|comment| comment.path.clone()));
        Some(EarlierComment {
            author: saying.by.titled(),
            place: saying.place(),
            kind: saying.wants().map(str::to_owned),
            body,
            quote: saying.place.and_then(|place| place.quote.clone()),
            replacement: comment.and_then(|comment| comment.replacement.clone()),
            lines: path.zip(saying.place.and_then(|place| place.lines)),
            resolved: saying.resolved().map(|it| (it.by.titled(), it.note.clone())),
        })
    });
    said.collect()
}

pub(super) fn header(
    proposal: &Proposal,
    now: DateTime<Utc>,
    base: String,
    comments: Vec<EarlierComment>,
) -> Header {
    let description = proposal.description.as_deref();
    let note = proposal.current().note.clone().map(|note| ("what is new", note));
    let notes = note.into_iter().chain(notes(proposal));
    Header {
        id: proposal.id.to_string(),
        proposed_by: proposal.proposed_by.clone(),
        recorded_by: authors::recorded_by(proposal),
        revised_by: authors::revised_by(proposal),
        mark: proposal.mark().map(|mark| (mark.by.name.clone(), authors::marked(mark))),
        age: age::ago(proposal.created_at, now),
        expiry: age::until(proposal.expires_at, now),
        base,
        revision: proposal.revisions.len(),
        domain: proposal.domain.clone(),
        task: proposal.related_task_id.clone(),
        description: proposal.description.clone(),
        notes: notes.filter(|(_, text)| description != Some(text.as_str())).collect(),
        comments,
        check: proposal.check().map(|result| authors::check(result, now)),
        changes_requested: proposal
            .changes_requested
            .as_ref()
            .map(|request| request.reason.clone().unwrap_or_else(|| "see the comments".to_owned())),
        ..Header::default()
    }
}

pub(super) fn named(view: &View, found: Option<&Relations>) -> Result<Vec<Related>> {
    let Some(found) = found else { return Ok(Vec::new()) };
    let below = found.depends_on.iter().take(MOST_NAMED).map(|lower| {
        let how = if lower.is_revised { RelatedAs::BelowRevised } else { RelatedAs::Below };
        (lower.id.clone(), how)
    });
    let same = found.same_lines.named.iter().map(|id| (id.clone(), RelatedAs::SameLines));
    let near = found.neighbouring.named.iter().map(|id| (id.clone(), RelatedAs::Neighbouring));
    let one = |(id, how): (ProposalId, RelatedAs)| {
        let proposed_by = view.proposal(&id)?.proposed_by;
        Ok(Related { id, proposed_by, how })
    };
    below.chain(same).chain(near).map(one).collect()
}

/// `on` are the proposals below.
pub(super) fn base(
    repository: &Repository,
    visible: &ProposalDisplay,
    on: &[ProposalId],
) -> String {
    let named: Vec<&str> = on.iter().map(ProposalId::as_str).collect();
    match &named[..] {
        [] => fit(repository, visible),
        named => format!("{} on top of {}", fit(repository, visible), named.join(" and ")),
    }
}

fn fit(repository: &Repository, visible: &ProposalDisplay) -> String {
    if let Some(refusal) = &visible.refusal {
        let path = refusal.details().iter().find(|(key, _)| *key == "path");
        return match path.and_then(|(_, path)| path.as_str()) {
            Some(path) if refusal.is(&crate::changeset::codes::CONFLICT) => {
                format!("conflict in {path}")
            }
            _ => refusal.message().to_owned(),
        };
    }
    let Some(shown) = &visible.shown else {
        return match repository.worktree() {
            Ok(_) => "unknown".to_owned(),
            Err(_) => "no work tree".to_owned(),
        };
    };
    if let Some((from, to)) = shown.followed.iter().flat_map(|followed| &followed.moves).next() {
        format!(
            "moved on, follows {} → {}; shown as it will be written",
            from.display(),
            to.display()
        )
    } else if shown.plan.files.iter().any(|file| matches!(file.outcome, MergeStatus::Merged(_))) {
        "moved on, merges cleanly; shown as it will be written".to_owned()
    } else if shown.plan.is_already_there() {
        "already there".to_owned()
    } else {
        "clean".to_owned()
    }
}

pub(super) fn sayings(proposal: &Proposal) -> Vec<(String, String)> {
    let said = proposal.conversation(&[]).into_iter().map(|saying| {
        let body = saying.body.unwrap_or("see the comments");
        let body = match saying.kind {
            ContributionKind::Comment => body.to_owned(),
            ContributionKind::Request | ContributionKind::Answered => {
                format!("asks for changes: {body}")
            }
        };
        (saying.by.titled(), body)
    });
    said.collect()
}
