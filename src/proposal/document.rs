//! The published document of a proposal: output of `show`, and the file `proposal.yaml`.
//!
//! Field names follow the `changes` contract where it has them. Additive only.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conversation::CommentLocation;
use super::event::{Entry, Evidence, Incomplete, Marked, On, RevisionReason, Subject, timestamp};
use super::state::{self, ChangeRequest, Decision, Revision, State};
use super::statement::Target;
use super::{Actor, ActorKind, Proposal, Status};
use crate::changeset::FileChange;
use crate::changeset::change_entry::entries;
use crate::changeset::marks;

/// A proposal with its history.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Document {
    /// `aye/proposal@1`
    pub schema: &'static str,
    /// The id.
    pub proposal_id: String,
    /// `pending`, `applied`, `rejected` or `expired`.
    pub status: Status,
    /// `code` or `memory`.
    pub kind: Subject,
    /// The first changed file.
    pub file_path: String,
    /// Why, in the proposer's words.
    pub description: Option<String>,
    /// Topic.
    pub domain: Option<String>,
    /// The task it belongs to.
    pub related_task_id: Option<String>,
    /// The proposal of somebody else that it is to take the place of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
    /// The proposal whose result the current revision was made on, and at which revision of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<On>,
    /// Pending proposals that make what it starts from, where nothing else has it. It is applied
    /// after them. Absent in `proposal.yaml`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stands_on: Vec<String>,
    /// Visibility: `shared`, or `private` to this clone. Absent in `proposal.yaml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<&'static str>,
    /// The clone that it was proposed in.
    pub clone: String,
    /// The whole id of its first event, which names its refs.
    pub thread: String,
    /// Marks: what deserves a second look while it is pending, and where. Absent in
    /// `proposal.yaml`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<marks::Mark>,
    /// The name the proposer gave itself.
    pub proposed_by: String,
    /// When it was made.
    pub created_at: String,
    /// When it expires unless decided.
    pub expires_at: String,
    /// Object id of the event that brought the current revision.
    pub revision: String,
    /// How many revisions there are.
    pub revisions: usize,
    /// The commit the files were compared with.
    pub base: Option<String>,
    /// HEAD when the current revision was made: the branch that it was made for. Null before the
    /// first commit.
    pub target: Option<Target>,
    /// A note on what is new in the current revision, for it alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The changes of the current revision.
    pub changes: Vec<Change>,
    /// Changed files that it does not include.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<Incomplete>,
    /// Decided differently in two clones.
    pub contested: bool,
    /// Events that do not count, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Refs of its thread that are not read, and why. Absent in `proposal.yaml`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<SetAside>,
    /// The changes that a reviewer wants.
    pub changes_requested: Option<Request>,
    /// Every request for changes, those that a revision has answered included, oldest first.
    pub requests: Vec<Request>,
    /// The decision, if there is one.
    pub decision: Option<DecisionOutcome>,
    /// Revisions, by their events as in `history`, that were made without knowing of the decision,
    /// and on which nobody has decided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undecided_revisions: Vec<String>,
    /// Decisions of clones that did not know of that one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_decisions: Vec<OtherDecision>,
    /// Why it was rejected.
    pub rejection_reason: Option<String>,
    /// Every revision with its author, oldest first.
    pub history: Vec<Author>,
    /// A tool's report of what became of the current revision; not a decision.
    pub mark: Option<Mark>,
    /// Approvals by people that wrote nothing, oldest first; those that no longer count, too.
    pub approvals: Vec<Approval>,
    /// Remarks, oldest first.
    pub comments: Vec<Remark>,
    /// Commands run on it, oldest first.
    pub checks: Vec<Check>,
    /// Commits known to contain it.
    pub commits: Vec<String>,
    /// How often an apply was undone.
    pub undone: usize,
    /// The structured request of a memory proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<serde_json::Value>,
}

impl Document {
    /// Adds similarity to the source for moved and copied files. `changes` must be the current
    /// revision's.
    pub fn compare(&mut self, changes: &[FileChange]) {
        for entry in entries(changes) {
            let path = entry.path.display().to_string();
            if let Some(change) = self.changes.iter_mut().find(|change| change.path == path) {
                change.similarity = entry.similarity();
            }
        }
    }
}

/// An event that does not count.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Skipped {
    /// Its id.
    pub event: String,
    /// Why, in words.
    pub why: &'static str,
}

/// A ref that is not read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SetAside {
    /// Its name.
    pub name: String,
    /// A stable code.
    pub code: &'static str,
    /// Why, in words.
    pub why: String,
}

/// One file of a proposal.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Change {
    /// The path.
    pub path: String,
    /// `add`, `modify`, `delete`, `rename` or `copy`.
    pub action: &'static str,
    /// Moved or copied from there.
    pub origin: Option<String>,
    /// How similar it is to what it was moved or copied from, in percent. Absent where that is not
    /// a part of the proposal, and in `proposal.yaml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<u8>,
    /// Blob and mode before.
    pub before: Option<Entry>,
    /// Blob and mode after.
    pub after: Option<Entry>,
}

/// A revision and who wrote it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Author {
    /// Event id of the revision.
    pub revision: String,
    /// The author.
    pub by: String,
    /// Person, agent or build machine.
    pub kind: ActorKind,
    /// The session that the agent's harness names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model that the agent's harness names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When.
    pub at: String,
    /// `first`, `answer`, `partial`, `edited` or `rebase`.
    #[schemars(with = "String")]
    pub reason: RevisionReason,
    /// What is new in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A tool's report of what became of a proposal.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Mark {
    /// `applied` or `rejected`.
    pub verdict: Marked,
    /// The tool's caller.
    pub by: String,
    /// When.
    pub at: String,
    /// Why, where it was marked as rejected.
    pub reason: Option<String>,
}

/// An approval by a person that wrote nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// The person who approved.
    pub by: String,
    /// When.
    pub at: String,
    /// The evidence: `terminal` or `flag`.
    #[schemars(with = "String")]
    pub evidence: Evidence,
    /// Event id of the revision that was approved.
    pub revision: String,
    /// It counts: of the current (or applied) revision, with no request for changes, rejection or
    /// undo since.
    pub counts: bool,
    /// Why, or what was looked at.
    pub reason: Option<String>,
    /// SHA-256 of the decision statement.
    pub statement: String,
}

/// A request for changes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Request {
    /// The reviewer.
    pub by: String,
    /// When.
    pub at: String,
    /// The changes wanted.
    pub reason: Option<String>,
}

/// A decision.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DecisionOutcome {
    /// The actor who decided.
    pub by: String,
    /// When.
    pub at: String,
    /// The evidence: `terminal`, `flag`, `tool` or `hook`.
    #[schemars(with = "String")]
    pub evidence: Evidence,
    /// True if it is an approval by a person.
    pub by_a_person: bool,
    /// Its own proposer took it back.
    pub withdrawn: bool,
    /// SHA-256 of the decision statement.
    pub statement: String,
    /// The revision decided on.
    pub revision: String,
    /// The commit made with it.
    pub commit: Option<String>,
}

/// A decision beside the one that counts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OtherDecision {
    /// The verdict: applied or rejected.
    pub status: Status,
    /// Why.
    pub reason: Option<String>,
    /// The decision itself: by whom, and how.
    pub decision: DecisionOutcome,
}

/// A comment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Remark {
    /// Event id of the comment.
    pub id: String,
    /// `comment`, `suggestion` or `question`.
    pub kind: String,
    /// The author.
    pub by: String,
    /// The author's kind: person, agent or build machine.
    pub actor_kind: ActorKind,
    #[serde(skip)]
    pub actor: Actor,
    /// When.
    pub at: String,
    /// The text.
    pub body: String,
    /// The file that it is about.
    pub path: Option<String>,
    /// The line of the proposed file that it is about, from 1; the first of several.
    pub line: Option<u32>,
    /// The last line that it is about.
    pub end_line: Option<u32>,
    /// Event id of the revision whose lines these are.
    pub revision: Option<String>,
    /// The lines as they were; absent where it is about no lines, or their content is not in this
    /// clone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// The file's name in the current revision, where that is another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_path: Option<String>,
    /// The first of the lines in the current revision; absent where they are no longer in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_line: Option<u32>,
    /// The last of the lines in the current revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_end_line: Option<u32>,
    /// The current revision no longer has the lines, or the file. Absent in `proposal.yaml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outdated: Option<bool>,
    /// Lines that a suggestion would have in place of these; empty to delete them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
    /// The note on what was done about it.
    pub resolved: Option<Resolution>,
}

impl Remark {
    /// `src/a.rs:12-14` or `src/a.rs`; `None` if it is about the whole proposal. Lines of the
    /// current revision, otherwise of the commented one.
    pub fn place(&self) -> Option<String> {
        let path = self.current_path.as_ref().or(self.path.as_ref())?;
        let current = self.current_line.zip(self.current_end_line);
        let lines = current.or(self.line.map(|line| (line, self.end_line.unwrap_or(line))));
        let place = match lines {
            None => path.clone(),
            Some((first, last)) if first == last => format!("{path}:{first}"),
            Some((first, last)) => format!("{path}:{first}-{last}"),
        };
        Some(match self.outdated {
            Some(true) => format!("{place}, outdated"),
            _ => place,
        })
    }
}

/// The note on what was done about a comment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Resolution {
    /// The actor who says so.
    pub by: String,
    #[serde(skip)]
    pub actor: Actor,
    /// When.
    pub at: String,
    /// The note's text: what was done.
    pub note: String,
}

/// A command run on the proposal.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Check {
    /// The command's words.
    pub command: Vec<String>,
    /// Exit status; null if a signal ended it.
    pub exit_code: Option<i32>,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// When.
    pub at: String,
    /// True if it ran on the current revision.
    pub current: bool,
    /// The actor who recorded it.
    pub by: String,
    /// The kind of that actor: person, agent or build machine.
    pub kind: ActorKind,
    /// The run elsewhere, where the result was imported.
    pub imported: Option<Imported>,
}

/// The origin of an imported result of a command.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Imported {
    /// The actor who ran the command.
    pub by: String,
    /// The kind of that actor: person, agent or build machine.
    pub kind: ActorKind,
    /// When.
    pub at: String,
    /// SHA-256 of the result, hex.
    pub result: String,
}

impl Document {
    /// `places` locates the comments, in their order; empty if nobody looked.
    pub fn new(proposal: &Proposal, status: Status, places: &[CommentLocation]) -> Self {
        let current = proposal.current();
        let rejected = proposal.decision().filter(|_| status == Status::Rejected);
        Self {
            schema: "aye/proposal@1",
            proposal_id: proposal.id.to_string(),
            status,
            kind: proposal.subject,
            file_path: file_path(current),
            description: proposal.description.clone(),
            domain: proposal.domain.clone(),
            related_task_id: proposal.related_task_id.clone(),
            instead_of: proposal.instead_of.as_ref().map(ToString::to_string),
            on: current.on.clone(),
            stands_on: Vec::new(),
            space: None,
            clone: proposal.clone.clone(),
            thread: proposal.first_event.clone(),
            set_aside: Vec::new(),
            marks: Vec::new(),
            proposed_by: proposal.proposed_by.clone(),
            created_at: timestamp(proposal.created_at),
            expires_at: timestamp(proposal.expires_at),
            revision: current.event.clone(),
            revisions: proposal.revisions.len(),
            base: current.base.clone(),
            target: current.target.clone(),
            note: current.note.clone(),
            changes: changes(current),
            incomplete: current.incomplete.clone(),
            contested: proposal.contested,
            skipped: proposal.skipped.iter().map(skipped).collect(),
            changes_requested: proposal.changes_requested.as_ref().map(request),
            requests: proposal.requests.iter().map(request).collect(),
            decision: proposal.decision().map(outcome),
            undecided_revisions: proposal.undecided.clone(),
            other_decisions: proposal.concurrent.iter().filter_map(beside).collect(),
            rejection_reason: rejected.and_then(|decision| decision.reason.clone()),
            history: proposal
                .revisions
                .iter()
                .map(|revision| Author {
                    revision: revision.event.clone(),
                    by: revision.actor.to_string(),
                    kind: revision.actor.kind,
                    session: revision.agent.as_ref().and_then(|run| run.session.clone()),
                    model: revision.agent.as_ref().and_then(|run| run.model.clone()),
                    at: timestamp(revision.at),
                    reason: revision.reason.clone(),
                    note: revision.note.clone(),
                })
                .collect(),
            mark: proposal.mark().map(|mark| Mark {
                verdict: mark.verdict,
                by: mark.by.to_string(),
                at: timestamp(mark.at),
                reason: mark.reason.clone(),
            }),
            approvals: approvals(proposal),
            comments: comments(proposal, places),
            checks: proposal
                .checks
                .iter()
                .map(|result| Check {
                    command: result.check.command.clone(),
                    exit_code: result.check.exit_code,
                    duration_ms: result.check.duration_ms,
                    at: timestamp(result.at),
                    current: result.check.revision == current.event,
                    by: result.by.to_string(),
                    kind: result.by.kind,
                    imported: result.check.imported.as_ref().map(|imported| Imported {
                        by: imported.by.to_string(),
                        kind: imported.by.kind,
                        at: timestamp(imported.time),
                        result: imported.result.clone(),
                    }),
                })
                .collect(),
            commits: proposal.commits.clone(),
            undone: proposal.undone.len(),
            memory: current.memory.clone(),
        }
    }
}

/// All comments, oldest first; `places` as in `Document::new`.
pub fn comments(proposal: &Proposal, places: &[CommentLocation]) -> Vec<Remark> {
    let comment = |(at, remark): (usize, &state::Remark)| {
        let place = places.get(at);
        let current = place.and_then(|place| place.lines);
        let said = &remark.comment;
        Remark {
            id: remark.event.clone(),
            kind: said.kind.as_str().to_owned(),
            by: remark.by.to_string(),
            actor_kind: remark.by.kind,
            actor: remark.by.clone(),
            at: timestamp(remark.at),
            body: said.body.clone(),
            path: said.path.as_ref().map(|path| path.display().to_string()),
            line: said.line,
            end_line: said.lines().map(|(_, last)| last),
            revision: said.revision.clone(),
            quote: place.and_then(|place| place.quote.clone()),
            current_path: place
                .and_then(|place| place.path.as_ref())
                .map(|path| path.display().to_string()),
            current_line: current.map(|(first, _)| first),
            current_end_line: current.map(|(_, last)| last),
            outdated: place.map(|place| place.is_outdated),
            replacement: said.replacement.clone(),
            resolved: remark.resolved.as_ref().map(|resolved| Resolution {
                by: resolved.by.to_string(),
                actor: resolved.by.clone(),
                at: timestamp(resolved.at),
                note: resolved.note.clone(),
            }),
        }
    };
    proposal.comments.iter().enumerate().map(comment).collect()
}

pub fn approvals(proposal: &Proposal) -> Vec<Approval> {
    proposal.approvals.iter().map(|found| approval(proposal, found)).collect()
}

pub fn approval(proposal: &Proposal, approval: &state::Approval) -> Approval {
    Approval {
        by: approval.by.to_string(),
        at: timestamp(approval.at),
        evidence: approval.evidence.clone(),
        revision: approval.revision.clone(),
        counts: proposal.approvals_in_force().any(|found| found == approval),
        reason: approval.reason.clone(),
        statement: approval.statement.clone(),
    }
}

/// The contract's `file_path`: the first changed file.
pub fn file_path(revision: &Revision) -> String {
    revision.changes.first().map(|change| change.path.display().to_string()).unwrap_or_default()
}

pub fn changes(revision: &Revision) -> Vec<Change> {
    let gone: BTreeSet<&crate::changeset::RepoPath> =
        revision.changes.iter().filter(|c| c.after.is_none()).map(|c| &c.path).collect();
    revision
        .changes
        .iter()
        .map(|change| Change {
            path: change.path.display().to_string(),
            action: match (&change.before, &change.after, &change.origin) {
                (None, _, Some(origin)) if gone.contains(origin) => "rename",
                (None, _, Some(_)) => "copy",
                (None, ..) => "add",
                (_, None, _) => "delete",
                _ => "modify",
            },
            origin: change.origin.as_ref().map(|path| path.display().to_string()),
            similarity: None,
            before: change.before.clone(),
            after: change.after.clone(),
        })
        .collect()
}

fn skipped(skipped: &state::Skipped) -> Skipped {
    Skipped { event: skipped.event.clone(), why: skipped.why.as_str() }
}

fn request(request: &ChangeRequest) -> Request {
    Request {
        by: request.by.to_string(),
        at: timestamp(request.at),
        reason: request.reason.clone(),
    }
}

fn beside(state: &State) -> Option<OtherDecision> {
    let decision = state.decision()?;
    let status =
        if matches!(state, State::Applied(_)) { Status::Applied } else { Status::Rejected };
    Some(OtherDecision { status, reason: decision.reason.clone(), decision: outcome(decision) })
}

fn outcome(decision: &Decision) -> DecisionOutcome {
    DecisionOutcome {
        by: decision.by.to_string(),
        at: timestamp(decision.at),
        evidence: decision.evidence.clone(),
        by_a_person: decision.is_by_a_person(),
        withdrawn: decision.withdrawn,
        statement: decision.statement.clone(),
        revision: decision.revision.clone(),
        commit: decision.commit.clone(),
    }
}
