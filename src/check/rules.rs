//! The rules of `aye check`, and which of them make it fail.

use crate::report::{Finding, Level, Rule};

/// A kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Concern {
    /// A proposal waits for a decision.
    Pending,
    /// More proposals wait than `--max-pending` allows.
    TooManyPending,
    /// A reviewer asked for changes that have not come.
    ChangesRequested,
    /// A pending proposal does not fit the present files.
    Conflict,
    /// Two clones decided differently.
    Contested,
    /// A newer version of aye may have decided a pending proposal.
    NewerVersion,
    /// A pending proposal is about to expire.
    Expiring,
    /// What is committed touches files with pending proposals.
    TouchesPending,
    /// A commit names a proposal that does not exist here.
    UnknownProposal,
    /// A commit names a proposal that is not applied.
    NotApplied,
    /// A commit names a proposal and holds something else than was approved.
    ContentDiffers,
    /// A tool or an agent says that a proposal is applied, and nobody has approved it.
    MarkedWithoutApproval,
    /// A commit that names a proposal changes files that no decision approved.
    ExtraFile,
    /// A commit names another reviewer than the one who decided.
    ReviewerMismatch,
    /// A commit names no proposal (with `--require-proposal`).
    NoProposal,
    /// The commits of a range are not all in this shallow clone.
    RangeShallow,
    /// The policy or the settings of memory cannot be read.
    PolicyInvalid,
    /// A lane of another clone cannot be read to its end.
    LaneUnreadable,
    /// A lane of another clone is not in this partial clone to its end.
    LaneIncomplete,
    /// A lane is not in this shallow clone from its beginning.
    LaneShallow,
    /// A remote no longer has what it had of a lane.
    LaneRewound,
    /// One lane has two histories.
    LaneEquivocates,
    /// A lane goes on from another one, as in a copied or restored repository.
    LaneForked,
    /// Two first events have one proposal id.
    DuplicateId,
    /// An event contradicts the others of its proposal.
    EventRejected,
    /// The cache does not hold what the lanes say.
    CacheTampered,
    /// An applied proposal is in neither the work tree nor HEAD.
    AppliedMissing,
    /// A proposal was purged by its owner, and what it said is still here.
    PurgedContent,
    /// A commit changes a file that instructs agents; an error where an agent made it.
    InstructionFileChanged,
    /// A commit names an agent in Signed-off-by or Co-authored-by.
    AgentSigned,
}

impl Concern {
    /// All of them.
    pub const ALL: [Self; 30] = [
        Self::Pending,
        Self::TooManyPending,
        Self::ChangesRequested,
        Self::Conflict,
        Self::Contested,
        Self::NewerVersion,
        Self::Expiring,
        Self::TouchesPending,
        Self::UnknownProposal,
        Self::NotApplied,
        Self::ContentDiffers,
        Self::MarkedWithoutApproval,
        Self::ExtraFile,
        Self::ReviewerMismatch,
        Self::NoProposal,
        Self::RangeShallow,
        Self::PolicyInvalid,
        Self::LaneUnreadable,
        Self::LaneIncomplete,
        Self::LaneShallow,
        Self::LaneRewound,
        Self::LaneEquivocates,
        Self::LaneForked,
        Self::DuplicateId,
        Self::EventRejected,
        Self::CacheTampered,
        Self::AppliedMissing,
        Self::PurgedContent,
        Self::InstructionFileChanged,
        Self::AgentSigned,
    ];

    /// Its id in reports.
    pub fn id(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::TooManyPending => "too_many_pending",
            Self::ChangesRequested => "changes_requested",
            Self::Conflict => "conflict",
            Self::Contested => "contested",
            Self::NewerVersion => "newer_version",
            Self::Expiring => "expiring",
            Self::TouchesPending => "touches_pending",
            Self::UnknownProposal => "unknown_proposal",
            Self::NotApplied => "not_applied",
            Self::ContentDiffers => "content_differs",
            Self::MarkedWithoutApproval => "marked_without_approval",
            Self::ExtraFile => "extra_file",
            Self::ReviewerMismatch => "reviewer_mismatch",
            Self::NoProposal => "no_proposal",
            Self::RangeShallow => "range_shallow",
            Self::PolicyInvalid => "policy_invalid",
            Self::LaneUnreadable => "lane_unreadable",
            Self::LaneIncomplete => "lane_incomplete",
            Self::LaneShallow => "lane_shallow",
            Self::LaneRewound => "lane_rewound",
            Self::LaneEquivocates => "lane_equivocates",
            Self::LaneForked => "lane_forked",
            Self::DuplicateId => "duplicate_id",
            Self::EventRejected => "event_rejected",
            Self::CacheTampered => "cache_tampered",
            Self::AppliedMissing => "applied_missing",
            Self::PurgedContent => "purged_content",
            Self::InstructionFileChanged => "instruction_file_changed",
            Self::AgentSigned => "agent_signed",
        }
    }

    fn level(self) -> Level {
        match self {
            Self::Pending
            | Self::ChangesRequested
            | Self::Expiring
            | Self::TouchesPending
            | Self::LaneUnreadable
            | Self::LaneIncomplete
            | Self::LaneShallow
            | Self::AppliedMissing
            | Self::LaneForked
            | Self::NewerVersion
            | Self::EventRejected => Level::Warning,
            _ => Level::Error,
        }
    }

    /// As a rule of a report's catalogue.
    pub fn rule(self) -> Rule {
        let (summary, help) = match self {
            Self::Pending => ("a proposal waits for a decision", "review it: aye review ID"),
            Self::TooManyPending => {
                ("more proposals wait than are allowed", "review some: aye review")
            }
            Self::ChangesRequested => {
                ("a reviewer asked for changes", "answer with a new revision: aye revise ID …")
            }
            Self::Conflict => (
                "a pending proposal does not fit the present files",
                "settle it: aye review ID; or give it again on the present files: aye revise ID …",
            ),
            Self::Contested => {
                ("two clones decided differently", "look and settle it: aye show ID, aye undo ID")
            }
            Self::NewerVersion => (
                "a newer version of aye may have decided a pending proposal",
                "install the version that the message names, and look again",
            ),
            Self::Expiring => {
                ("a pending proposal is about to expire", "decide before it does: aye review ID")
            }
            Self::TouchesPending => (
                "what is committed touches files with pending proposals",
                "decide them first, so that nobody reviews against stale files: aye review ID",
            ),
            Self::UnknownProposal => (
                "a commit names a proposal that does not exist here",
                "fetch the lane that has it, or correct the trailer",
            ),
            Self::NotApplied => (
                "a commit names a proposal that is not applied",
                "apply it, or take the trailer out of the commit",
            ),
            Self::MarkedWithoutApproval => (
                "a tool says that a proposal is applied, and no person has approved it",
                "decide on it: aye review ID",
            ),
            Self::ExtraFile => (
                "a commit that names a proposal changes files that nobody approved",
                "propose those changes too, or commit them apart",
            ),
            Self::ReviewerMismatch => (
                "a commit names another reviewer than the one who decided",
                "correct the Reviewed-by trailer",
            ),
            Self::NoProposal => (
                "a commit names no proposal",
                "propose and apply the change, and commit it with its Proposal-Id",
            ),
            Self::ContentDiffers => (
                "a commit does not hold what was approved",
                "propose the difference, or commit exactly what was approved",
            ),
            Self::RangeShallow => (
                "the commits of the range are not all in this shallow clone",
                "fetch them first: git fetch --unshallow, or fetch-depth: 0 in the checkout",
            ),
            Self::PolicyInvalid => (
                "the policy or the settings of memory cannot be read, so the gate is closed",
                "correct the key or value that the message names",
            ),
            Self::LaneUnreadable => (
                "a lane of another clone cannot be read to its end",
                "ask its owner to repair it, then fetch again",
            ),
            Self::LaneIncomplete => (
                "a lane of another clone is not in this partial clone to its end",
                "look again when the remote can be reached; nothing is damaged",
            ),
            Self::LaneShallow => (
                "a lane is not in this shallow clone from its beginning",
                "fetch the rest of it: git fetch --unshallow",
            ),
            Self::LaneRewound => (
                "a remote no longer has what it had of a lane",
                "ask the owner of the lane; what was seen still counts here",
            ),
            Self::LaneEquivocates => (
                "one lane has two histories",
                "ask the owner of the lane which is right: git for-each-ref refs/aye",
            ),
            Self::LaneForked => (
                "a lane goes on from another one, as in a copied or restored repository",
                "nothing is to be done; what both lanes say counts",
            ),
            Self::DuplicateId => (
                "two first events have one proposal id",
                "ask the owner of the later one to propose again; it is ignored here",
            ),
            Self::EventRejected => (
                "an event contradicts the others of its proposal, or its publication, and is ignored",
                "look at the events: aye log ID",
            ),
            Self::CacheTampered => (
                "the cache does not hold what the lanes say",
                "rebuild it and find out who changed it: aye doctor --repair",
            ),
            Self::AppliedMissing => (
                "an applied proposal is in neither the work tree nor HEAD",
                "look for it in `git stash list`, or undo it and apply it again: aye undo ID",
            ),
            Self::PurgedContent => (
                "a proposal was purged by its owner, and what it said is still here",
                "remove it here too: aye purge ID -m TEXT",
            ),
            Self::InstructionFileChanged => (
                "a commit changes a file that instructs agents or configures what they run",
                "look at it as at code that runs; an agent's change is proposed and approved first",
            ),
            Self::AgentSigned => (
                "a commit names an agent as its author, or as one who answers for it",
                "name it with Assisted-by: AGENT:MODEL, as `git config aye.assistedBy true` does",
            ),
        };
        Rule::new(self.id(), summary, help)
    }
}

/// Which concerns make the check fail. The others are still reported, as notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailOn(Vec<Concern>);

impl Default for FailOn {
    fn default() -> Self {
        // A fork is worth knowing of, and for ever.
        Self::only(Concern::ALL.into_iter().filter(|concern| *concern != Concern::LaneForked))
    }
}

impl FailOn {
    /// What stops git where nothing else is configured: not that somebody has proposed something for
    /// the same file, by which any agent could keep people from committing.
    pub fn of_hooks() -> Self {
        let Self(mut concerns) = Self::default();
        concerns.retain(|concern| *concern != Concern::TouchesPending);
        Self(concerns)
    }

    /// Only these.
    pub fn only(concerns: impl IntoIterator<Item = Concern>) -> Self {
        Self(concerns.into_iter().collect())
    }

    /// These and those of `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::only(self.0.into_iter().chain(other.0))
    }

    /// A finding of `concern`.
    pub fn finding(&self, concern: Concern, message: impl Into<String>) -> Finding {
        let level = if self.0.contains(&concern) { concern.level() } else { Level::Note };
        Finding::new(concern.id(), level, message)
    }
}
