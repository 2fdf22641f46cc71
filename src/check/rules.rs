//! Rules of `aye check`, and the choice of rules that make it fail.

use crate::error::{Error, Result, codes};
use crate::report::{Finding, Level, Rule};
use crate::store::ThreadFault;

macro_rules! concerns {
    ($($(#[doc = $doc:literal])* $name:ident = $id:literal, $level:ident, $summary:literal, $help:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Concern { $(#[doc = $summary] $(#[doc = $doc])* $name,)* }

        impl Concern {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Rule id in reports.
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id),* }
            }

            fn level(self) -> Level {
                match self { $(Self::$name => Level::$level),* }
            }

            pub fn rule(self) -> Rule {
                match self { $(Self::$name => Rule::new($id, $summary, $help)),* }
            }
        }
    };
}

concerns! {
    Pending = "pending", Warning, "a proposal waits for a decision", "review it: aye review ID";
    TooManyPending = "too_many_pending", Error,
        "more proposals wait than are allowed", "review some: aye review";
    ChangesRequested = "changes_requested", Warning,
        "a reviewer asked for changes", "answer with a new revision: aye revise ID …";
    Conflict = "conflict", Error,
        "a pending proposal does not fit the present files",
        "settle it: aye review ID; or give it again on the present files: aye revise ID …";
    Contested = "contested", Error,
        "two clones decided differently", "look and settle it: aye show ID, aye undo ID";
    Expiring = "expiring", Warning,
        "a pending proposal is about to expire", "decide before it does: aye review ID";
    TouchesPending = "touches_pending", Warning,
        "what is committed touches files with pending proposals",
        "decide them first, so that nobody reviews against stale files: aye review ID";
    UnknownProposal = "unknown_proposal", Error,
        "a commit names a proposal that does not exist here",
        "fetch the threads of other clones, or correct the trailer";
    NotApplied = "not_applied", Error,
        "a commit names a proposal that is not applied",
        "apply it, or take the trailer out of the commit";
    ContentDiffers = "content_differs", Error,
        "a commit does not hold what was approved",
        "propose the difference, or commit exactly what was approved";
    MarkedWithoutApproval = "marked_without_approval", Error,
        "a tool says that a proposal is applied, and no person has approved it",
        "decide on it: aye review ID";
    ExtraFile = "extra_file", Error,
        "a commit that names a proposal changes files that nobody approved",
        "propose those changes too, or commit them apart";
    ReviewerMismatch = "reviewer_mismatch", Error,
        "a commit names another reviewer than the one who decided",
        "correct the Reviewed-by trailer";
    NoProposal = "no_proposal", Error,
        "a commit names no proposal",
        "propose and apply the change, and commit it with its Proposal-Id";
    RangeShallow = "range_shallow", Error,
        "the commits of the range are not all in this shallow clone",
        "fetch them first: git fetch --unshallow, or fetch-depth: 0 in the checkout";
    PolicyInvalid = "policy_invalid", Error,
        "the policy or the settings of memory cannot be read, so the gate is closed",
        "correct the key or value that the message names";
    ThreadDamaged = "thread_damaged", Error,
        "a ref of a thread is set aside, or a thread cannot be read",
        "`aye doctor` names the ref and the object; restore it, or fetch it again";
    ThreadIncomplete = "thread_incomplete", Error,
        "a thread is not here from its beginning, so nothing is decided on it",
        "fetch the rest: git fetch --unshallow REMOTE 'refs/aye/by/*:refs/aye/remotes/REMOTE/*'";
    ThreadTooLong = "thread_too_long", Warning,
        "a ref of a thread is set aside: it has more events than are read",
        "propose again with --instead-of";
    TooManyRefs = "too_many_refs", Warning,
        "so many clones have written to a thread that some of their refs are not read",
        "look at who wrote them: git for-each-ref refs/aye/remotes";
    PublishedElsewhere = "published_elsewhere", Warning,
        "a remote has refs of a thread that is private here; they decide nothing",
        "find out who published it; aye revise ID --public accepts it";
    EventSkipped = "event_skipped", Warning,
        "an event does not count: its statement does not fit, or its kind is not known",
        "look at it: aye show ID";
    /// An error where an agent made the commit.
    InstructionFileChanged = "instruction_file_changed", Error,
        "a commit changes a file that instructs agents or configures what they run",
        "look at it as at code that runs; an agent's change is proposed and approved first";
    AgentSigned = "agent_signed", Error,
        "a commit names an agent as its author, or as one who answers for it",
        "name it with Assisted-by: AGENT:MODEL, as `git config aye.assistedBy true` does";
}

/// Concerns that make the check fail; others are notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailOn(Vec<Concern>);

impl Default for FailOn {
    fn default() -> Self {
        Self(Concern::ALL.to_vec())
    }
}

impl FailOn {
    /// Parses concern ids, `any` or `none`; no words mean `any`.
    ///
    /// # Errors
    /// `usage` names `from`, the words' origin.
    pub fn parse(from: &str, words: &[String]) -> Result<Self> {
        if words.is_empty() || words.iter().any(|word| word == "any") {
            return Ok(Self::default());
        }
        let named = |word: &String| {
            let id = word.to_ascii_lowercase().replace('-', "_");
            Concern::ALL.iter().copied().find(|concern| concern.id() == id).ok_or_else(|| {
                let all: Vec<&str> = Concern::ALL.iter().map(|concern| concern.id()).collect();
                Error::new(&codes::USAGE, format!("{from}: '{word}' is nothing check looks for"))
                    .hint(format!("use any, none, or some of {}", all.join(", ")))
            })
        };
        let words = words.iter().filter(|word| *word != "none");
        Ok(Self(words.map(named).collect::<Result<_>>()?))
    }

    /// A pending proposal for the same file does not fail in hooks: any agent could block people's
    /// commits.
    pub fn of_hooks() -> Self {
        Self::default().without(Concern::TouchesPending)
    }

    /// Refs set aside and events that do not count, marked as others' work: push access must not
    /// decide what passes.
    pub fn troubles(&self, found: &[ThreadFault]) -> Vec<Finding> {
        let finding = |trouble: &ThreadFault| {
            let concern = Concern::ALL.iter().find(|concern| concern.id() == trouble.code);
            let concern = *concern.unwrap_or(&Concern::ThreadDamaged);
            let finding = self.finding(concern, trouble.message()).hint(concern.rule().help);
            let id = trouble.proposal.as_ref();
            id.map_or(finding.clone(), |id| finding.proposal(id.as_str())).advisory()
        };
        found.iter().map(finding).collect()
    }

    #[must_use]
    pub fn without(mut self, concern: Concern) -> Self {
        self.0.retain(|known| *known != concern);
        self
    }

    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub fn finding(&self, concern: Concern, message: impl Into<String>) -> Finding {
        let level = if self.0.contains(&concern) { concern.level() } else { Level::Note };
        Finding::new(concern.id(), level, message)
    }
}
