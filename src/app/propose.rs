//! Records a draft as a proposal or a revision.

use chrono::{DateTime, Duration, Utc};

use super::capture::{Revert, RevertedFiles};
use super::dropped::{Dropped, dropped};
use super::stack::{self, RebaseOutcome};
use super::{Draft, Session, foreign_session};
use crate::changeset::patch::FileReport;
use crate::changeset::{Changeset, FileChange};
use crate::error::{Error, Result};
use crate::proposal::codes::DESCRIPTION_INVALID;
use crate::proposal::event::{Comment, InputForm, RevisionReason, Subject};
use crate::proposal::{Authority, Note, Proposal, ProposalId};
use crate::scan::gate::{self, ScanWarning};
use crate::store::{NewProposal, NewRevision, Space, Store};
use crate::text;

#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Default: the draft's message.
    pub description: Option<String>,
    pub domain: Option<String>,
    pub related_task_id: Option<String>,
    /// Default: the caller.
    pub proposed_by: Option<String>,
    /// Default: `aye.expiresIn`.
    pub expires_in: Option<Duration>,
    /// Id (prefix) of another proposer's proposal to replace.
    pub instead_of: Option<String>,
    /// Not pushed until a person publishes it.
    pub private: bool,
    /// Proposals of the same stack, which may make an equal change again.
    pub others: Vec<ProposalId>,
    /// The agent's, for a session whose commits say nothing.
    pub last_message: Option<String>,
}

#[derive(Clone, Debug)]
pub struct ProposalOutcome {
    pub proposal: Proposal,
    /// An equal proposal was pending.
    pub duplicate: bool,
    /// Findings in added lines.
    pub warnings: Vec<ScanWarning>,
    pub taken_back: RevertedFiles,
    /// Hunks placed or matched otherwise than written.
    pub adapted: Vec<FileReport>,
    /// Fate of proposals stacked on a revised one.
    pub followed: RebaseOutcome,
    /// Content that the revision drops.
    pub dropped: Vec<Dropped>,
}

impl ProposalOutcome {
    pub fn unchanged(proposal: Proposal) -> Self {
        Self {
            proposal,
            duplicate: true,
            warnings: Vec::new(),
            taken_back: RevertedFiles::default(),
            adapted: Vec::new(),
            followed: RebaseOutcome::default(),
            dropped: Vec::new(),
        }
    }
}

/// Control characters are refused: the description becomes a commit message verbatim.
///
/// # Errors
/// `description_invalid`.
pub(super) fn check_description(description: Option<&str>) -> Result<()> {
    let is_refused = |c: &char| text::is_control(*c) && !matches!(c, '\n' | '\t');
    let Some(found) = description.and_then(|text| text.chars().find(is_refused)) else {
        return Ok(());
    };
    let found = format!("U+{:04X}", found as u32);
    let message = format!("the text has the control character {found}");
    Err(Error::new(&DESCRIPTION_INVALID, message)
        .with("character", found)
        .hint("give a text without it; line feeds and tabs may stay"))
}

/// Records `draft` unless an equal proposal is pending, and resets files if it asks for that.
///
/// # Errors
/// `description_invalid`; `secret_detected` if `aye.scan` is `block`; as `Revert`. Errors of
/// `Revert::run` name the proposal, which remains.
pub fn propose(session: &Session<'_>, draft: Draft, details: Details) -> Result<ProposalOutcome> {
    let Session { store, caller, now } = session;
    let _head = store.repository().pin_head();
    let description = details.description.or_else(|| draft.message.clone());
    check_description(description.as_deref())?;
    let back = Revert::of(session, &draft)?;
    let said = [
        ("description", description.as_deref()),
        ("domain", details.domain.as_deref()),
        ("task", details.related_task_id.as_deref()),
    ];
    let warnings = gate::proposal_warnings(store.repository(), &draft.changeset, &said, true)?;
    let adapted = draft.adapted;
    let named = details.proposed_by.filter(|name| !name.trim().is_empty());
    let expires_in = match details.expires_in {
        Some(span) => span,
        None => {
            stack::lifetime(session, draft.on.as_ref(), store.repository().settings()?.expires_in)?
        }
    };
    let new = NewProposal {
        changeset: draft.changeset,
        description,
        domain: details.domain,
        related_task_id: details.related_task_id,
        proposed_by: named.unwrap_or_else(|| caller.actor.name.clone()),
        expires_in,
        subject: Subject::Code,
        form: draft.form.clone(),
        instead_of: details.instead_of.map(|id| store.view()?.resolve(&id)).transpose()?,
        on: draft.on,
        target: draft.target,
        incomplete: draft.incomplete,
        memory: None,
        private: details.private,
    };
    let (proposal, duplicate) = store.write(&caller.actor, *now, |writer| {
        let on = new.on.clone();
        let expires_at = writer.now() + new.expires_in;
        let outcome = writer.propose_beside(new, &details.others)?;
        if !outcome.duplicate {
            stack::outlive(writer, on.as_ref(), expires_at)?;
        }
        writer.commit()?;
        Ok((writer.view.proposal(&outcome.id)?, outcome.duplicate))
    })?;
    let taken_back = back.map(|back| back.run(store, &proposal.id)).transpose()?;
    let (taken_back, followed) = (taken_back.unwrap_or_default(), RebaseOutcome::default());
    let dropped = Vec::new();
    Ok(ProposalOutcome { proposal, duplicate, warnings, taken_back, adapted, followed, dropped })
}

#[derive(Clone, Debug)]
pub struct Revision {
    pub draft: Draft,
    /// Default: the present one. A draft's message does not count.
    pub description: Option<String>,
    /// What is new in it.
    pub note: Option<String>,
    /// From now.
    pub expires_in: Option<Duration>,
    /// Resolve comments.
    pub notes: Vec<Comment>,
}

/// # Errors
/// As `propose`; `not_pending` if decided meanwhile.
pub fn revise(
    session: &Session<'_>,
    authority: &Authority,
    proposal: &Proposal,
    revision: Revision,
) -> Result<ProposalOutcome> {
    let Revision { draft, description, note, expires_in, notes } = revision;
    let (store, id) = (session.store, &proposal.id);
    foreign_session::refuse(store, proposal)?;
    check_description(description.as_deref())?;
    check_description(note.as_deref())?;
    let back = Revert::of(session, &draft)?;
    let mut said = vec![("description", description.as_deref()), ("note", note.as_deref())];
    said.extend(notes.iter().map(|note| ("comment", Some(note.body.as_str()))));
    let is_private = store.view()?.space(id)? == Space::Private;
    let warnings =
        gate::proposal_warnings(store.repository(), &draft.changeset, &said, is_private)?;
    let uppers = stack::above(session, proposal)?;
    // An unreadable old revision must not prevent its replacement.
    let earlier = store.changeset(proposal.current()).unwrap_or_default();
    let dropped = dropped(earlier.changes(), &draft.changeset);
    let adapted = draft.adapted;
    let (proposal, followed) = store.write(authority.actor(), session.now, |writer| {
        let on = draft.on.clone();
        let revision = NewRevision {
            description,
            note,
            expires_in,
            on: draft.on,
            target: draft.target,
            incomplete: draft.incomplete,
            form: draft.form,
            ..NewRevision::new(&draft.changeset, RevisionReason::Answer)
        };
        let revised = writer.revise(authority, id, revision)?;
        for note in notes {
            let note = Comment { revision: Some(revised.id.clone()), ..note };
            writer.note(Some(id), Note::Comment(note))?;
        }
        let expires_at = expires_in.map(|span| writer.now() + span);
        if let Some(expires_at) = expires_at {
            stack::outlive(writer, on.as_ref(), expires_at)?;
        }
        // The proposal must not expire before those stacked on it.
        let above = uppers.expires_at();
        if above.is_some_and(|above| expires_at.is_some_and(|own| own < above)) {
            writer.extend(id, authority.evidence().clone())?;
        }
        let followed = uppers.follow(writer, authority, &draft.changeset, &revised.id)?;
        writer.commit()?;
        Ok((writer.view.proposal(id)?, followed))
    })?;
    let taken_back = back.map(|back| back.run(store, id)).transpose()?.unwrap_or_default();
    Ok(ProposalOutcome {
        proposal,
        duplicate: false,
        warnings,
        taken_back,
        adapted,
        followed,
        dropped,
    })
}

/// Makes the excluded part of `proposal` a proposal of its own. It is its proposer's, who may revise
/// and withdraw it.
pub fn rest(
    store: &Store,
    now: DateTime<Utc>,
    proposal: &Proposal,
    rest: &[FileChange],
) -> Result<ProposalId> {
    let why = proposal.description.as_deref().unwrap_or_default();
    let new = NewProposal {
        changeset: Changeset::new(rest.to_vec())?,
        description: Some(format!("Left out of {}: {why}", proposal.id)),
        domain: proposal.domain.clone(),
        related_task_id: proposal.related_task_id.clone(),
        proposed_by: proposal.proposed_by.clone(),
        expires_in: store.repository().settings()?.expires_in,
        subject: proposal.subject,
        form: InputForm::Split,
        // Marks it as a rest, but not for clones without access to the original.
        instead_of: Some(proposal.id.clone()),
        on: None,
        target: proposal.current().target.clone(),
        incomplete: Vec::new(),
        memory: None,
        private: false,
    };
    store.write(&proposal.actor, now, |writer| Ok(writer.propose(new)?.id))
}
