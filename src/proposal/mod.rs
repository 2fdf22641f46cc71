//! Proposals: events, their fold into a state, ids, decision statements and rules. Pure: no I/O, no
//! clock.

pub mod actor;
pub mod authority;
pub mod canonical;
pub mod concurrent;
pub mod conversation;
pub mod document;
pub mod event;
pub mod fold;
pub mod history;
pub mod id;
pub mod manifest;
pub mod relations;
pub mod rules;
#[cfg(test)]
pub(crate) mod sample;
pub mod stacks;
pub mod state;
pub mod statement;
pub mod steps;
pub mod trailers;
pub mod try_result;

pub use actor::{Actor, ActorKind, AgentRun};
pub use authority::{Authority, Caller};
pub use event::{ChangeRecord, Data, DecisionDocuments, Entry, Event, Note, StoredEvent};
pub use fold::fold;
pub use history::History;
pub use id::ProposalId;
pub use manifest::Manifest;
pub use state::{Proposal, Revision, State, Status};
pub use statement::Statement;

pub mod codes {
    crate::codes! {
        PROPOSAL_NOT_FOUND = "proposal_not_found", NotFound, "no proposal has that id or id prefix";
        AMBIGUOUS_ID = "ambiguous_id", Usage, "several proposals, or several revisions of one, begin with that";
        DESCRIPTION_INVALID = "description_invalid", Invalid, "the description has a control character other than line feed and tab";
        INVALID_ID = "invalid_id", Invalid, "that is not the form of a proposal id";
        COMMENT_NOT_FOUND = "comment_not_found", NotFound, "the proposal has no comment with that id or id prefix";
        COMMENT_OUTDATED = "comment_outdated", Conflict, "the lines that the comment is about are no longer in the proposal";
        REVISION_NOT_FOUND = "revision_not_found", NotFound, "the proposal has no such revision";
        NOT_PENDING = "not_pending", Conflict, "the proposal has been decided or has expired";
        REVISED = "revised_meanwhile", Conflict, "the proposal got a new revision between the look and the decision";
        TERMINAL_REQUIRED = "terminal_required", Refused, "that takes a person at a terminal";
        STANDS_ON = "stands_on", Conflict, "the proposal stands on another pending one, which was not named";
        REVISION_REQUIRED = "revision_required", Refused, "the proposal has several revisions, and --yes must name the one that was looked at, by twelve digits";
        CHANGED_SINCE_SHOWN = "changed_since_shown", Conflict, "files, HEAD or the proposal changed between the look and the decision";
        OTHER_BRANCH = "other_branch", Refused, "that was made for, or applied on, another branch than the one that is checked out";
        WRONG_TOOL = "wrong_tool", Refused, "that proposal is decided by another command";
        STATEMENT_INVALID = "statement_invalid", Invalid, "a decision statement or its manifest cannot be read";
        NOT_PRIVATE = "not_private", Conflict, "the proposal is not private, so there is nothing to publish";
        NOT_REJECTED = "not_rejected", Conflict, "the proposal is not rejected";
        PROPOSAL_PURGED = "proposal_purged", NotFound, "the proposal was purged here, and what it said is gone";
        NOT_APPLIED = "not_applied", Conflict, "the proposal is not applied, so there is nothing to undo";
        TRY_RESULT_INVALID = "try_result_invalid", Invalid, "that is not a result of aye try, or it is of another repository";
        HUMAN_APPROVAL_REQUIRED = "human_approval_required", Refused, "a person has to decide this";
        CONFIRMATION_REQUIRED = "confirmation_required", Refused, "there is no terminal to ask the person at";
        EVENT_INVALID = "event_invalid", Invalid, "an event in the store cannot be read";
    }
}

/// Memory proposals may change only files below this directory.
pub(crate) const MEMORY: &[u8] = b".agent-memory/";

/// Lifetime of a proposal by the `changes` contract.
pub const DEFAULT_LIFETIME: chrono::Duration = chrono::Duration::days(7);
