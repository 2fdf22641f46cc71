//! State of a proposal: the fold of its events. Ids and hashes are hex.
//! Fields named as in `event::Propose` mean the same.

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

/// Printed hex digits of a revision id; `--yes` requires them. With 48 bits nobody can craft a
/// second revision that begins so.
pub const REVISION_DIGITS: usize = 12;

#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub id: ProposalId,
    pub first_event: String,
    /// Decides, together with the proposer's name, who may revise and withdraw.
    pub clone: String,
    pub subject: Subject,
    pub form: InputForm,
    pub description: Option<String>,
    pub domain: Option<String>,
    pub related_task_id: Option<String>,
    /// Branch of the plan that `related_task_id` is a step of.
    pub branch: Option<String>,
    pub instead_of: Option<ProposalId>,
    pub proposed_by: String,
    /// Actor of the first event.
    pub actor: Actor,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    /// Oldest first; never empty.
    pub revisions: Vec<Revision>,
    /// By the events alone; `status` adds the clock.
    pub state: State,
    /// Other standing decisions, made concurrently in other clones, earliest first.
    pub concurrent: Vec<State>,
    /// Revisions that the writer of the counting decision had not seen.
    pub undecided: Vec<String>,
    /// True if one of `beside` has another verdict, or applied other content.
    pub contested: bool,
    /// Newest open request.
    pub changes_requested: Option<ChangeRequest>,
    /// Open and answered ones, oldest first.
    pub requests: Vec<ChangeRequest>,
    pub comments: Vec<Remark>,
    pub checks: Vec<CheckResult>,
    pub undone: Vec<Decision>,
    /// The undo of each of `undone`; its `written` is what it restored.
    pub undos: Vec<Decision>,
    /// Notes, which anyone can record.
    pub commits: Vec<String>,
    /// Number of `commits` before the last undo: these hold the undone apply, not a later one.
    pub earlier_commits: usize,
    /// Tools' reports; never decisions.
    pub marks: Vec<MarkRecord>,
    /// `approvals_in_force` yields the ones that count.
    pub approvals: Vec<Approval>,
    pub skipped: Vec<Skipped>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    pub event: String,
    pub why: super::fold::SkipReason,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MarkRecord {
    pub by: Actor,
    pub at: DateTime<Utc>,
    pub verdict: Marked,
    pub revision: String,
    pub reason: Option<String>,
}

/// A person's approval that wrote nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    pub event: String,
    pub by: Actor,
    pub at: DateTime<Utc>,
    pub revision: String,
    pub evidence: Evidence,
    pub reason: Option<String>,
    /// Its manifest names the approved files.
    pub statement: String,
    pub manifest: String,
    /// A later request for changes, rejection or undo ended it.
    pub ended: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// The event's tree holds `before/` and `after/`.
    pub event: String,
    /// Hash of the event line, which decisions name.
    pub sha256: String,
    pub actor: Actor,
    pub agent: Option<AgentRun>,
    pub at: DateTime<Utc>,
    pub reason: RevisionReason,
    pub base: Option<String>,
    pub target: Option<Target>,
    pub note: Option<String>,
    pub changes: Vec<ChangeRecord>,
    pub incomplete: Vec<Incomplete>,
    pub memory: Option<Value>,
    pub on: Option<event::On>,
}

impl Revision {
    pub fn named(&self) -> EventRef {
        EventRef { id: self.event.clone(), sha256: self.sha256.clone() }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum State {
    Pending,
    Applied(Decision),
    Rejected(Decision),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub clone: String,
    pub event: String,
    pub statement: String,
    pub by: Actor,
    pub at: DateTime<Utc>,
    pub evidence: Evidence,
    pub revision: String,
    pub reason: Option<String>,
    pub effect: Option<Effect>,
    /// Digest of all decisions of one answer.
    pub group: Option<String>,
    pub target: Target,
    /// From the manifest.
    pub written: Vec<Written>,
    /// Hash of an apply's resulting files; equal where applies agree.
    pub result_digest: Option<String>,
    /// From a note, as is `amended`.
    pub commit: Option<String>,
    /// Changes by a commit hook: `before` approved, `after` committed.
    pub amended: Vec<Written>,
    pub withdrawn: bool,
}

impl Decision {
    /// Checks and trailers count no other decision.
    pub fn is_by_a_person(&self) -> bool {
        self.by.kind == ActorKind::Human && rules::is_personal(&self.evidence)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ChangeRequest {
    pub by: Actor,
    pub at: DateTime<Utc>,
    pub reason: Option<String>,
    /// Revision that the reviewer saw, if on record.
    pub revision: Option<String>,
    /// True until a writer who had seen it revises or undoes it.
    pub is_open: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub event: String,
    pub by: Actor,
    pub at: DateTime<Utc>,
    pub comment: event::Comment,
    pub resolved: Option<CommentResolution>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentResolution {
    pub by: Actor,
    pub at: DateTime<Utc>,
    pub note: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CheckResult {
    /// Ran the command, or imported the result.
    pub by: Actor,
    pub at: DateTime<Utc>,
    pub check: event::Check,
}

impl CheckResult {
    /// Kind of actor to believe: for an imported result a build machine, or an agent if one ran or
    /// imported it.
    pub fn kind(&self) -> ActorKind {
        match &self.check.imported {
            None => self.by.kind,
            Some(imported) if [self.by.kind, imported.by.kind].contains(&ActorKind::Agent) => {
                ActorKind::Agent
            }
            Some(_) => ActorKind::Ci,
        }
    }

    pub fn runner(&self) -> &Actor {
        self.check.imported.as_ref().map_or(&self.by, |imported| &imported.by)
    }

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
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Applied => "applied",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
        }
    }
}

/// First line of a description.
pub fn title(description: Option<&str>) -> Option<&str> {
    description.and_then(|text| text.lines().next())
}

impl Proposal {
    /// First line of the description.
    pub fn title(&self) -> Option<&str> {
        title(self.description.as_deref())
    }

    /// Expiry is computed: a wrong clock leaves no trace once corrected.
    pub fn status(&self, now: DateTime<Utc>) -> Status {
        match self.state {
            State::Applied(_) => Status::Applied,
            State::Rejected(_) => Status::Rejected,
            State::Pending if now >= self.expires_at => Status::Expired,
            State::Pending => Status::Pending,
        }
    }

    /// The newest revision, or the one decided on. A later one from another clone counts after an
    /// undo.
    pub fn current(&self) -> &Revision {
        if let Some(decision) = self.decision()
            && let Some(decided) = self.revision(&decision.revision)
        {
            return decided;
        }
        // The fold starts with one revision and never removes any.
        &self.revisions[self.revisions.len() - 1]
    }

    /// True for the proposer: same name, kind and clone, in any session.
    pub fn is_proposed_by(&self, actor: &Actor, clone: Option<&str>) -> bool {
        self.actor.kind == actor.kind && self.actor.name == actor.name && clone == Some(&self.clone)
    }

    /// True for the proposer's revision: same name and kind, any clone.
    pub fn is_own(&self, revision: &Revision) -> bool {
        (&revision.actor.name, revision.actor.kind) == (&self.actor.name, self.actor.kind)
    }

    /// From the newest revision with a memory request.
    pub fn staging_id(&self) -> Option<&str> {
        let mut notes = self.revisions.iter().rev().filter_map(|r| r.memory.as_ref());
        notes.next()?.get("staging_id")?.as_str()
    }

    pub fn mark(&self) -> Option<&MarkRecord> {
        let current = &self.current().event;
        let mark = self.marks.iter().rev().find(|mark| mark.revision == *current);
        mark.filter(|_| self.state == State::Pending)
    }

    /// Approvals on the applied or else the newest revision. None count once ended or rejected.
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

    /// Authors of the revision decided on, or of the newest one.
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
                    names.clear();
                    revision.actor.name.as_str()
                }
                // Taking a part or rebasing adds no content of one's own; an editor is named as
                // reviewer.
                _ => continue,
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// `ID@REV`, as `--yes` takes it.
    pub fn at_revision(&self) -> String {
        let event = &self.current().event;
        format!("{}@{}", self.id, event.get(..REVISION_DIGITS).unwrap_or(event))
    }

    /// `text` is the beginning of an event id, of at least four characters.
    ///
    /// # Errors
    /// `invalid_id`; `ambiguous_id` if an earlier revision begins so, too; `revised_meanwhile`.
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

    pub fn revision(&self, id: &str) -> Option<&Revision> {
        self.revisions.iter().find(|revision| revision.event == id)
    }

    /// Counts from 1; `None` if newest or unknown.
    pub fn earlier_revision(&self, id: Option<&str>) -> Option<usize> {
        let at = self.revisions.iter().position(|revision| Some(revision.event.as_str()) == id)?;
        (at + 1 < self.revisions.len()).then_some(at + 1)
    }

    /// Newest result on the current revision; results on earlier ones say nothing about it.
    pub fn check(&self) -> Option<&CheckResult> {
        let now = &self.current().event;
        self.checks.iter().rev().find(|result| result.check.revision == *now)
    }

    /// The one that counts.
    pub fn decision(&self) -> Option<&Decision> {
        self.state.decision()
    }

    /// Commits said to contain it as decided now, newest last.
    pub fn committed(&self) -> impl Iterator<Item = &String> {
        self.commits.iter().skip(self.earlier_commits)
    }

    pub fn named(&self) -> EventRef {
        self.revisions[0].named()
    }

    pub fn require_revision(&self, event: &str) -> Result<()> {
        if self.current().event == event {
            return Ok(());
        }
        Err(Error::new(&codes::REVISED, format!("{} was revised while you looked at it", self.id))
            .hint(format!("`aye review {}` shows the difference", self.id)))
    }

    pub fn require_open(&self, now: DateTime<Utc>) -> Result<()> {
        if self.contested { Ok(()) } else { self.require_pending(now) }
    }

    pub fn require_pending(&self, now: DateTime<Utc>) -> Result<()> {
        let status = self.status(now);
        if status == Status::Pending {
            return Ok(());
        }
        let hint = match status {
            Status::Expired => format!(
                "a person gives it another term: aye undo {0}; or bring its text back into the files: \
                 aye diff {0} --patch | git apply",
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
