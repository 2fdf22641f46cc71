//! What a proposal is now: the result of folding its events.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::{
    self, ChangeRecord, Effect, Evidence, Incomplete, InputForm, Marked, RevisionReason, Subject,
    Written,
};
use super::statement::{EventRef, Target};
use super::{Actor, ActorKind, AgentRun, ProposalId, codes, rules};
use crate::error::{Error, Result};

/// Fewest hexadecimal digits of a revision's id by which it is decided on without a look, and how many are
/// printed: 48 bits, so that no other revision is made to begin so.
pub const REVISION_DIGITS: usize = 12;

/// A proposal with everything that has happened to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Its id.
    pub id: ProposalId,
    /// The whole id of its first event, hex, of which `id` is the beginning.
    pub first_event: String,
    /// The clone of its first event: with the proposer's name, who may revise and withdraw it.
    pub clone: String,
    /// Code or memory.
    pub subject: Subject,
    /// The form in which the changes came.
    pub form: InputForm,
    /// Why, in the proposer's words.
    pub description: Option<String>,
    /// Topic.
    pub domain: Option<String>,
    /// The task it belongs to.
    pub related_task_id: Option<String>,
    /// The branch whose plan it is, where the task is a step of a plan and that is on record.
    pub branch: Option<String>,
    /// The proposal of somebody else that it is to take the place of.
    pub instead_of: Option<ProposalId>,
    /// The name the proposer gave itself.
    pub proposed_by: String,
    /// Who recorded it.
    pub actor: Actor,
    /// When it was proposed.
    pub created_at: DateTime<Utc>,
    /// When it expires, unless decided before.
    pub expires_at: DateTime<Utc>,
    /// Every revision, oldest first; never empty.
    pub revisions: Vec<Revision>,
    /// Decided or not, by the events alone (the clock is asked in [`Proposal::status`]).
    pub state: State,
    /// The other decisions that stand, made in clones that did not know of each other, the earliest first.
    pub beside: Vec<State>,
    /// The revisions that whoever made the decision that counts had not seen, by their events, oldest first.
    pub undecided: Vec<String>,
    /// One of `beside` differs: another verdict, or an apply of another revision.
    pub contested: bool,
    /// A reviewer asked for changes to the current revision.
    pub changes_requested: Option<ChangesRequested>,
    /// Every request for changes, those that a revision has answered included, oldest first.
    pub requests: Vec<ChangesRequested>,
    /// Remarks, oldest first.
    pub comments: Vec<Remark>,
    /// Results of commands run on it, oldest first.
    pub checks: Vec<CheckResult>,
    /// Applies that were taken back, oldest first.
    pub undone: Vec<Decision>,
    /// The undo of each of these: what its statement says of the files is what was put back.
    pub undos: Vec<Decision>,
    /// Commits that are said to contain it: notes, which anybody can make.
    pub commits: Vec<String>,
    /// How many of these were known before an apply was taken back: they hold that one, and no later one.
    pub earlier_commits: usize,
    /// What tools said became of it, oldest first. Never a decision.
    pub marks: Vec<MarkRecord>,
    /// Approvals of people that wrote nothing, oldest first. [`Proposal::approvals_in_force`] has those that count.
    pub approvals: Vec<Approval>,
    /// The events that do not count.
    pub skipped: Vec<Skipped>,
}

/// An event that changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its id.
    pub event: String,
    /// Why.
    pub why: super::fold::Why,
}

/// What a tool said became of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkRecord {
    /// Who called the tool.
    pub by: Actor,
    /// When.
    pub at: DateTime<Utc>,
    /// Applied or rejected.
    pub verdict: Marked,
    /// The event of the revision it was said about.
    pub revision: String,
    /// Why, where it was marked as rejected.
    pub reason: Option<String>,
}

/// A person's approval that wrote nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    /// Id of the event that records it, hex.
    pub event: String,
    /// Who.
    pub by: Actor,
    /// When.
    pub at: DateTime<Utc>,
    /// The event of the revision that was approved.
    pub revision: String,
    /// What shows that the actor decided.
    pub evidence: Evidence,
    /// Why, or what was looked at.
    pub reason: Option<String>,
    /// SHA-256 of the statement; its manifest names the files that were approved.
    pub statement: String,
    /// SHA-256 of that manifest.
    pub manifest: String,
    /// A request for changes, a rejection or an undo came after it: it no longer counts.
    pub ended: bool,
}

/// One version of a proposal's content.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// Id of the event that brought it, whose tree holds its `before/` and `after/`.
    pub event: String,
    /// SHA-256 of that event's line: what decisions name.
    pub sha256: String,
    /// Who.
    pub actor: Actor,
    /// The run of the agent that made it, where its harness names one.
    pub agent: Option<AgentRun>,
    /// When.
    pub at: DateTime<Utc>,
    /// Why there is this revision.
    pub reason: RevisionReason,
    /// The commit the files were compared with.
    pub base: Option<String>,
    /// Where HEAD was when it was made; none before the first commit.
    pub target: Option<Target>,
    /// What is new about it, in words for this revision alone.
    pub note: Option<String>,
    /// The changes.
    pub changes: Vec<ChangeRecord>,
    /// What was left out of it.
    pub incomplete: Vec<Incomplete>,
    /// The structured request of a memory proposal.
    pub memory: Option<Value>,
    /// The pending proposal whose result it was made on.
    pub on: Option<event::On>,
}

impl Revision {
    /// Its event, as statements name it.
    pub fn named(&self) -> EventRef {
        EventRef { id: self.event.clone(), sha256: self.sha256.clone() }
    }
}

/// Decided or not.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Waiting.
    Pending,
    /// Someone said aye.
    Applied(Decision),
    /// Someone said nay.
    Rejected(Decision),
}

/// A decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The clone that it was made in.
    pub clone: String,
    /// Id of the event that records it, hex.
    pub event: String,
    /// SHA-256 of its statement, hex: its name.
    pub statement: String,
    /// Who.
    pub by: Actor,
    /// When.
    pub at: DateTime<Utc>,
    /// What shows that the actor decided.
    pub evidence: Evidence,
    /// The event of the revision decided on.
    pub revision: String,
    /// Why.
    pub reason: Option<String>,
    /// What was done besides.
    pub effect: Option<Effect>,
    /// What was decided in one answer with it, by the statement.
    pub group: Option<String>,
    /// The branch that it was decided on.
    pub target: Target,
    /// What was written where, as its manifest says.
    pub written: Vec<Written>,
    /// Of an apply, SHA-256 over what it makes of its files: by this two are alike.
    pub made: Option<String>,
    /// The commit that was made with it; a note, as what follows.
    pub commit: Option<String>,
    /// What a commit hook changed of it: `before` approved, `after` committed.
    pub amended: Vec<Written>,
    /// The proposer took it back.
    pub withdrawn: bool,
}

impl Decision {
    /// True where a person approved: what checks and trailers may count.
    pub fn is_by_a_person(&self) -> bool {
        self.by.kind == ActorKind::Human && rules::is_personal(&self.evidence)
    }
}

/// A request for changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangesRequested {
    /// Who.
    pub by: Actor,
    /// When.
    pub at: DateTime<Utc>,
    /// What should change.
    pub reason: Option<String>,
    /// The event of the revision that they looked at, where that is on record.
    pub revision: Option<String>,
    /// Nobody who had seen it has answered it by a revision, nor taken it back.
    pub is_open: bool,
}

/// A comment with its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Id of the event that records it, hex.
    pub event: String,
    /// Who.
    pub by: Actor,
    /// When.
    pub at: DateTime<Utc>,
    /// What.
    pub comment: event::Comment,
    /// What was done about it, as the newest note on it says.
    pub resolved: Option<Resolved>,
}

/// A note that says what was done about a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Who.
    pub by: Actor,
    /// When.
    pub at: DateTime<Utc>,
    /// What was done, in words.
    pub note: String,
}

/// The result of a command run on a proposal.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckResult {
    /// Who recorded it: ran the command, or imported the result.
    pub by: Actor,
    /// When.
    pub at: DateTime<Utc>,
    /// What and how it ended.
    pub check: event::Check,
}

impl CheckResult {
    /// Whose word it is. An imported result is nobody's own run: at best a build machine's, and an
    /// agent's where an agent ran or imported it.
    pub fn kind(&self) -> ActorKind {
        match &self.check.imported {
            None => self.by.kind,
            Some(imported) if [self.by.kind, imported.by.kind].contains(&ActorKind::Agent) => {
                ActorKind::Agent
            }
            Some(_) => ActorKind::Ci,
        }
    }

    /// Who ran the command.
    pub fn runner(&self) -> &Actor {
        self.check.imported.as_ref().map_or(&self.by, |imported| &imported.by)
    }

    /// When the command was run, by the clock of whoever ran it.
    pub fn ran_at(&self) -> DateTime<Utc> {
        self.check.imported.as_ref().map_or(self.at, |imported| imported.time)
    }
}

/// The four states of the contract.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    clap::ValueEnum,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Waiting for a decision.
    Pending,
    /// Applied.
    Applied,
    /// Rejected.
    Rejected,
    /// Not decided in time.
    Expired,
}

impl Status {
    /// The contract's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Applied => "applied",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
        }
    }
}

impl Proposal {
    /// The status at `now`. Expiry is computed, so a clock that was wrong and is set right again
    /// leaves no trace.
    pub fn status(&self, now: DateTime<Utc>) -> Status {
        match self.state {
            State::Applied(_) => Status::Applied,
            State::Rejected(_) => Status::Rejected,
            State::Pending if now >= self.expires_at => Status::Expired,
            State::Pending => Status::Pending,
        }
    }

    /// The newest revision; of a decided proposal the one that was decided on. Another clone may have revised it
    /// meanwhile, which is news once the decision is taken back.
    pub fn current(&self) -> &Revision {
        if let Some(decision) = self.decision()
            && let Some(decided) = self.revision(&decision.revision)
        {
            return decided;
        }
        // The fold starts every proposal with one revision and never removes any.
        &self.revisions[self.revisions.len() - 1]
    }

    /// True where `actor`, writing in `clone`, is the one who proposed it: same name, kind and
    /// clone. Another session of the same agent in the same clone is the same proposer.
    pub fn is_proposed_by(&self, actor: &Actor, clone: Option<&str>) -> bool {
        self.actor.kind == actor.kind && self.actor.name == actor.name && clone == Some(&self.clone)
    }

    /// Whether `revision` is by the proposer: same name and kind, in whichever clone.
    pub fn is_own(&self, revision: &Revision) -> bool {
        (&revision.actor.name, revision.actor.kind) == (&self.actor.name, self.actor.kind)
    }

    /// The staging id of a memory proposal, as the newest revision that has one says.
    pub fn staging_id(&self) -> Option<&str> {
        let mut notes = self.revisions.iter().rev().filter_map(|r| r.memory.as_ref());
        notes.next()?.get("staging_id")?.as_str()
    }

    /// The newest mark on the current revision, while no decision has been made.
    pub fn mark(&self) -> Option<&MarkRecord> {
        let current = &self.current().event;
        let mark = self.marks.iter().rev().find(|mark| mark.revision == *current);
        mark.filter(|_| self.state == State::Pending)
    }

    /// The approvals that count: those of the revision that was applied, or else of the newest one,
    /// unless they have ended or the proposal is rejected.
    pub fn approvals_in_force(&self) -> impl Iterator<Item = &Approval> {
        let revision = match &self.state {
            State::Pending => Some(&self.current().event),
            State::Applied(decision) => Some(&decision.revision),
            State::Rejected(_) => None,
        };
        let counts =
            move |approval: &&Approval| !approval.ended && Some(&approval.revision) == revision;
        self.approvals.iter().filter(counts)
    }

    /// Who wrote what the decision, or else the newest revision, is about, each name once: the
    /// proposer, or who gave it new content since.
    pub fn authors(&self) -> Vec<&str> {
        let decided = self.decision().map(|decision| decision.revision.as_str());
        let last = decided
            .and_then(|event| self.revisions.iter().position(|r| r.event == event))
            .unwrap_or(self.revisions.len() - 1);
        let mut names: Vec<&str> = Vec::new();
        for revision in &self.revisions[..=last] {
            let name = match revision.reason {
                RevisionReason::First => self.proposed_by.as_str(),
                RevisionReason::Answer => {
                    // Everything before it was replaced.
                    names.clear();
                    revision.actor.name.as_str()
                }
                // Taking a part, or moving it to newer files, writes nothing of one's own; who edited
                // it decided on it too, and is named as the reviewer.
                _ => continue,
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// `ID@REV`: the id and the beginning of the current revision's event id, which `--yes` takes.
    pub fn at_revision(&self) -> String {
        let event = &self.current().event;
        format!("{}@{}", self.id, event.get(..REVISION_DIGITS).unwrap_or(event))
    }

    /// Refuses a revision other than the current one; `text` is the beginning of its event id, of
    /// at least four characters.
    ///
    /// # Errors
    /// `invalid_id`; `ambiguous_id` where an earlier revision begins so, too; `revised_meanwhile`.
    pub fn require_revision_prefix(&self, text: &str) -> Result<()> {
        let hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if text.len() < 4 || !hex {
            let shown: String = text.chars().take(60).collect();
            return Err(Error::new(&codes::INVALID_ID, format!("'{shown}' is not a revision"))
                .hint(format!("the current one is {}", self.at_revision())));
        }
        let text = text.to_ascii_lowercase();
        let fits = |revision: &&Revision| revision.event.starts_with(&text);
        if self.revisions.iter().filter(fits).count() > 1 {
            let why = format!("several revisions of {} begin with {text}", self.id);
            return Err(Error::new(&codes::AMBIGUOUS_ID, why).hint(format!(
                "look at the current one: aye diff {}; it is {}",
                self.id,
                self.at_revision()
            )));
        }
        if fits(&self.current()) {
            return Ok(());
        }
        Err(Error::new(&codes::REVISED, format!("{} is at another revision than {text}", self.id))
            .hint(format!(
                "look at it: aye diff {}; the current one is {}",
                self.id,
                self.at_revision()
            )))
    }

    /// The revision that the event `id` brought.
    pub fn revision(&self, id: &str) -> Option<&Revision> {
        self.revisions.iter().find(|revision| revision.event == id)
    }

    /// The number, from 1, of the revision that the event `id` brought; `None` if that is the
    /// newest one, or not known.
    pub fn earlier_revision(&self, id: Option<&str>) -> Option<usize> {
        let at = self.revisions.iter().position(|revision| Some(revision.event.as_str()) == id)?;
        (at + 1 < self.revisions.len()).then_some(at + 1)
    }

    /// The newest result of a command run on the newest revision: what ran on an earlier one
    /// says nothing about this one.
    pub fn check(&self) -> Option<&CheckResult> {
        let now = &self.current().event;
        self.checks.iter().rev().find(|result| result.check.revision == *now)
    }

    /// The decision, if there is one; of several that stand the one that counts.
    pub fn decision(&self) -> Option<&Decision> {
        self.state.decision()
    }

    /// The commits that are said to contain it as it is decided now, the newest last.
    pub fn committed(&self) -> impl Iterator<Item = &String> {
        self.commits.iter().skip(self.earlier_commits)
    }

    /// Its first event, as statements name it.
    pub fn named(&self) -> EventRef {
        self.revisions[0].named()
    }

    /// Refuses to decide on a revision that is no longer the newest.
    ///
    /// # Errors
    /// `revised_meanwhile`.
    pub fn require_revision(&self, event: &str) -> Result<()> {
        if self.current().event == event {
            return Ok(());
        }
        Err(Error::new(&codes::REVISED, format!("{} was revised while you looked at it", self.id))
            .hint(format!("`aye review {}` shows what has changed", self.id)))
    }

    /// Refuses to decide on what is neither pending nor contested.
    ///
    /// # Errors
    /// As [`Proposal::require_pending`].
    pub fn require_open(&self, now: DateTime<Utc>) -> Result<()> {
        if self.contested { Ok(()) } else { self.require_pending(now) }
    }

    /// Refuses what only a pending proposal may undergo.
    ///
    /// # Errors
    /// `not_pending`, with the status it has.
    pub fn require_pending(&self, now: DateTime<Utc>) -> Result<()> {
        let status = self.status(now);
        if status == Status::Pending {
            return Ok(());
        }
        let hint = match status {
            Status::Expired => format!(
                "expired proposals stay in history; propose the change again, or bring its text back into the \
                 files: aye diff {} --patch | git apply",
                self.id
            ),
            Status::Applied => {
                format!("`aye show {0}` tells by whom; `aye undo {0}` takes it back", self.id)
            }
            _ => format!("`aye show {}` tells by whom and why", self.id),
        };
        Err(Error::new(
            &codes::NOT_PENDING,
            format!("{} is {}, not pending", self.id, status.as_str()),
        )
        .with("status", status.as_str())
        .hint(hint))
    }
}
