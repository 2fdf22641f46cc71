//! When a statement fits its event. Nothing outside of the statement changes a decision, so that a copy of genuine
//! parts cannot decide.

use super::super::ActorKind;
use super::super::event::{Effect, Evidence, Papers, Said, Stamped, Verdict};
use super::super::statement::{EventRef, Statement, ends_sha256, seen_sha256};

/// Why an event does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its kind or version is not known.
    Unknown,
    /// It begins a thread, and stands in one.
    Start,
    /// Its statement is missing, or cannot be read.
    Statement,
    /// What comes with the statement is not what that names.
    Papers(&'static str),
    /// Its statement has another verb or another actor.
    Event,
    /// Its statement is about another proposal.
    Proposal,
    /// Its statement was made at another place.
    Place,
    /// It has not the reason that its statement names.
    Reason,
    /// Its statement is about a revision that does not count, or that it had not seen.
    Revision,
    /// Its effect is none of its verb, or it has a manifest where there is none, or the other way round.
    Effect,
    /// It takes back what it may not, or has another list than its statement names.
    Ends,
    /// Its manifest makes something else of files than the revision.
    Manifest,
    /// Whoever made it may not.
    Authority,
    /// It had seen a decision that stands, and does not take it back.
    Decided,
    /// One of memory that changes files elsewhere.
    OutsideMemory,
}

impl Why {
    /// In words, to follow "does not count: ".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "its kind or version is not known to this aye",
            Self::Start => "it begins a thread, and stands in one",
            Self::Statement => "its decision statement is missing, or cannot be read",
            Self::Papers(fault) => fault,
            Self::Event => "its decision statement has another verb or another actor",
            Self::Proposal => "its decision statement is about another proposal",
            Self::Place => "its decision statement was made at another place",
            Self::Reason => "it has another reason than its decision statement",
            Self::Revision => {
                "its decision statement is about a revision that does not count, or that it had not seen"
            }
            Self::Effect => "its effect or its manifest is none of its verb",
            Self::Ends => "it takes back what it may not, or something else than it says",
            Self::Manifest => "its manifest makes something else of files than the revision",
            Self::Authority => "whoever made it may not",
            Self::Decided => "it had seen a decision that stands, and does not take it back",
            Self::OutsideMemory => "a memory proposal changes files outside .agent-memory/",
        }
    }
}

/// The papers of `stamped`, which says so, where they fit it in the thread that begins with `first`: all but the
/// revision, the manifest's content and the authority.
pub(super) fn papers<'h>(
    stamped: &'h Stamped,
    said: &Said,
    first: &EventRef,
) -> Result<&'h Papers, Why> {
    let papers = stamped.papers().ok_or(Why::Statement)?;
    let statement = &papers.statement;
    let is_reason = match (&statement.reason_sha256, &said.reason) {
        (None, None) => true,
        (Some(hash), Some(text)) => crate::sha256::hex(text.as_bytes()) == *hash,
        _ => false,
    };
    let conditions = [
        (statement.verdict == said.verdict && statement.actor == stamped.event.actor, Why::Event),
        (statement.range.is_none() && statement.proposal.as_ref() == Some(first), Why::Proposal),
        (statement.seen == seen_sha256(&stamped.parents), Why::Place),
        (is_reason, Why::Reason),
        (has_effect(statement), Why::Effect),
        (has_ends(papers), Why::Ends),
    ];
    if let Some((_, why)) = conditions.into_iter().find(|(holds, _)| !holds) {
        return Err(why);
    }
    match papers.fault {
        Some(fault) => Err(Why::Papers(fault)),
        None if papers.manifest.is_some() != statement.manifest.is_some() => Err(Why::Manifest),
        None => Ok(papers),
    }
}

/// Whether effect and manifest are those of the verb.
fn has_effect(statement: &Statement) -> bool {
    let writes = matches!(statement.effect, Some(Effect::Files | Effect::Index | Effect::Commit));
    let fits = match (statement.verdict, statement.effect) {
        (Verdict::Apply, effect) => effect.is_some(),
        (Verdict::Reject, effect) => matches!(effect, None | Some(Effect::MarkOnly)),
        (Verdict::Undo, effect) => matches!(effect, None | Some(Effect::Files | Effect::Index)),
        (_, effect) => effect.is_none(),
    };
    fits && statement.manifest.is_some() == (writes || statement.verdict == Verdict::Approve)
}

/// Whether it may take something back, and says what.
fn has_ends(papers: &Papers) -> bool {
    let Some(hash) = &papers.statement.ends else { return true };
    let verdict = papers.statement.verdict;
    matches!(verdict, Verdict::Apply | Verdict::Reject | Verdict::Withdraw | Verdict::Undo)
        && papers.statement.actor.kind != ActorKind::Agent
        && (papers.fault.is_some() || ends_sha256(&papers.ends) == *hash)
}

/// Whether it is a tool's report of what became of a proposal: a record, and no decision.
pub(super) fn is_mark(statement: &Statement) -> bool {
    matches!(statement.verdict, Verdict::Apply | Verdict::Reject)
        && statement.effect == Some(Effect::MarkOnly)
        && statement.evidence == Evidence::Tool
}
