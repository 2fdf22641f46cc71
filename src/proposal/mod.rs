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
        AMBIGUOUS_ID = "ambiguous_id", Usage, "several proposals or revisions begin with that id";
        DESCRIPTION_INVALID = "description_invalid", Invalid, "the description has a control character other than line feed and tab";
        INVALID_ID = "invalid_id", Invalid, "a proposal id does not have that form";
        COMMENT_NOT_FOUND = "comment_not_found", NotFound, "the proposal has no comment with that id or id prefix";
        COMMENT_OUTDATED = "comment_outdated", Conflict, "the proposal no longer has the lines of the comment";
        REVISION_NOT_FOUND = "revision_not_found", NotFound, "the proposal has no such revision";
        NOT_PENDING = "not_pending", Conflict, "the proposal is decided or has expired";
        REVISED = "revised_meanwhile", Conflict, "the proposal got a new revision after you looked at it";
        TERMINAL_REQUIRED = "terminal_required", Refused, "only a person at a terminal can do that";
        STANDS_ON = "stands_on", Conflict, "the proposal depends on another pending one that you did not name";
        REVISION_REQUIRED = "revision_required", Refused, "the proposal has several revisions, and --yes must name one by twelve digits";
        CHANGED_SINCE_SHOWN = "changed_since_shown", Conflict, "files, HEAD or the proposal changed after you looked at it";
        OTHER_BRANCH = "other_branch", Refused, "the proposal belongs to another branch than the one that is checked out";
        WRONG_TOOL = "wrong_tool", Refused, "another command decides that proposal";
        STATEMENT_INVALID = "statement_invalid", Invalid, "a decision's statement or manifest is malformed";
        NOT_PRIVATE = "not_private", Conflict, "the proposal is not private, so it cannot be published";
        NOT_REJECTED = "not_rejected", Conflict, "the proposal is not rejected";
        PROPOSAL_PURGED = "proposal_purged", NotFound, "the proposal was purged here";
        NOT_APPLIED = "not_applied", Conflict, "the proposal is not applied, so it cannot be undone";
        TRY_RESULT_INVALID = "try_result_invalid", Invalid, "the file is not a result of aye try, or belongs to another repository";
        HUMAN_APPROVAL_REQUIRED = "human_approval_required", Refused, "only a person can decide this";
        CONFIRMATION_REQUIRED = "confirmation_required", Refused, "a question needs a person's answer, and there is no terminal";
        EVENT_INVALID = "event_invalid", Invalid, "an event in the store is malformed";
    }
}

/// Memory proposals may change only files below this directory.
pub(crate) const MEMORY: &[u8] = b".agent-memory/";

/// Lifetime of a proposal by the `changes` contract.
pub const DEFAULT_LIFETIME: chrono::Duration = chrono::Duration::days(7);
