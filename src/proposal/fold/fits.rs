//! Checks that a decision's statement fits its event. Nothing outside the statement changes a
//! decision, so copies of genuine parts cannot decide.

use super::super::ActorKind;
use super::super::event::{
    DecisionData, DecisionDocuments, Effect, Evidence, StoredEvent, Verdict,
};
use super::super::statement::{EventRef, Statement, ends_sha256, seen_sha256};

/// Reasons why an event does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    Unknown,
    Start,
    Statement,
    Documents(&'static str),
    Event,
    Proposal,
    /// The parents are not those of the statement's `seen`.
    Parents,
    Reason,
    Revision,
    Effect,
    Ends,
    Manifest,
    Authority,
    Decided,
    OutsideMemory,
}

impl SkipReason {
    /// Text to follow "does not count: ".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "its kind or version is not known to this aye",
            Self::Start => "it begins a thread, and stands in one",
            Self::Statement => "its decision statement is missing, or cannot be read",
            Self::Documents(fault) => fault,
            Self::Event => "its decision statement has another verb or another actor",
            Self::Proposal => "its decision statement is about another proposal",
            Self::Parents => "its decision statement was made at another place",
            Self::Reason => "it has another reason than its decision statement",
            Self::Revision => {
                "its decision statement is about a revision that does not count, or that it had not seen"
            }
            Self::Effect => "its effect or its manifest is none of its verb",
            Self::Ends => "it ends a decision that it may not end, or another than it names",
            Self::Manifest => "its manifest makes something else of files than the revision",
            Self::Authority => "its author may not do that",
            Self::Decided => "it had seen a decision that stands, and does not take it back",
            Self::OutsideMemory => "a memory proposal changes files outside .agent-memory/",
        }
    }
}

/// Documents of `stamped` if they fit its data `said`. Revision, manifest content and authority are
/// not checked here.
pub(super) fn papers<'h>(
    stamped: &'h StoredEvent,
    said: &DecisionData,
    first: &EventRef,
) -> Result<&'h DecisionDocuments, SkipReason> {
    let papers = stamped.papers().ok_or(SkipReason::Statement)?;
    let statement = &papers.statement;
    let is_reason = match (&statement.reason_sha256, &said.reason) {
        (None, None) => true,
        (Some(hash), Some(text)) => crate::sha256::hex(text.as_bytes()) == *hash,
        _ => false,
    };
    let conditions = [
        (
            statement.verdict == said.verdict && statement.actor == stamped.event.actor,
            SkipReason::Event,
        ),
        (
            statement.range.is_none() && statement.proposal.as_ref() == Some(first),
            SkipReason::Proposal,
        ),
        (statement.seen == seen_sha256(&stamped.parents), SkipReason::Parents),
        (is_reason, SkipReason::Reason),
        (has_effect(statement), SkipReason::Effect),
        (has_ends(papers), SkipReason::Ends),
    ];
    if let Some((_, why)) = conditions.into_iter().find(|(holds, _)| !holds) {
        return Err(why);
    }
    match papers.fault {
        Some(fault) => Err(SkipReason::Documents(fault)),
        None if papers.manifest.is_some() != statement.manifest.is_some() => {
            Err(SkipReason::Manifest)
        }
        None => Ok(papers),
    }
}

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

/// True if it ends nothing, or may, and the list has the named hash.
fn has_ends(papers: &DecisionDocuments) -> bool {
    let Some(hash) = &papers.statement.ends else { return true };
    let verdict = papers.statement.verdict;
    matches!(verdict, Verdict::Apply | Verdict::Reject | Verdict::Withdraw | Verdict::Undo)
        && papers.statement.actor.kind != ActorKind::Agent
        && (papers.fault.is_some() || ends_sha256(&papers.ended_statements) == *hash)
}

/// A tool's report: a record, not a decision.
pub(super) fn is_mark(statement: &Statement) -> bool {
    matches!(statement.verdict, Verdict::Apply | Verdict::Reject)
        && statement.effect == Some(Effect::MarkOnly)
        && statement.evidence == Evidence::Tool
}
