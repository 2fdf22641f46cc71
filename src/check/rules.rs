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
    Pending = "pending", Warning, "a proposal is pending", "review it: aye review ID";
    TooManyPending = "too_many_pending", Error,
        "more proposals are pending than --max-pending allows", "review some: aye review";
    ChangesRequested = "changes_requested", Warning,
        "a reviewer asked for changes", "answer with a new revision: aye revise ID …";
    Conflict = "conflict", Error,
        "a pending proposal conflicts with the present files",
        "settle it: aye review ID; or revise it on the present files: aye revise ID …";
    Contested = "contested", Error,
        "two clones decided differently", "look at it: aye show ID; settle it: aye undo ID";
    Expiring = "expiring", Warning,
        "a pending proposal expires soon", "decide it first: aye review ID";
    TouchesPending = "touches_pending", Warning,
        "a commit touches files with pending proposals",
        "decide them first: aye review ID";
    UnknownProposal = "unknown_proposal", Error,
        "a commit names a proposal that this clone does not have",
        "fetch the threads of other clones, or correct the trailer";
    NotApplied = "not_applied", Error,
        "a commit names a proposal that is not applied",
        "apply it, or remove the trailer from the commit";
    ContentDiffers = "content_differs", Error,
        "a commit differs from the approved content",
        "propose the difference, or commit the approved content";
    NotSynced = "not_synced", Error,
        "pushed commits name decisions that the remote does not have",
        "push the threads, so that others and CI can check the commits";
    MarkedWithoutApproval = "marked_without_approval", Error,
        "a tool marked a proposal as applied, and no person approved it",
        "decide it: aye review ID";
    ExtraFile = "extra_file", Error,
        "a commit with a proposal also changes files that no decision approved",
        "propose these changes too, or commit them separately";
    ReviewerMismatch = "reviewer_mismatch", Error,
        "a commit names another reviewer than the decision",
        "correct the Reviewed-by trailer";
    NoProposal = "no_proposal", Error,
        "a commit has a change that needs a proposal and has none that a person approved",
        "propose and apply the change, and commit it";
    RangeShallow = "range_shallow", Error,
        "this shallow clone lacks commits of the range",
        "fetch them first: git fetch --unshallow, or fetch-depth: 0 in the checkout";
    PolicyInvalid = "policy_invalid", Error,
        "the policy or the settings of memory cannot be read, so the gate is closed",
        "correct the key or value that the message names";
    ThreadDamaged = "thread_damaged", Error,
        "aye cannot read a thread or one of its refs",
        "`aye doctor` names the ref and the object; restore it or fetch it again";
    ThreadIncomplete = "thread_incomplete", Error,
        "this clone lacks the beginning of a thread, so aye decides nothing on it",
        "fetch the rest: git fetch --unshallow REMOTE 'refs/aye/by/*:refs/aye/remotes/REMOTE/*'";
    ThreadTooLong = "thread_too_long", Warning,
        "aye ignores a ref of a thread: it has too many events",
        "propose again with --instead-of";
    TooManyRefs = "too_many_refs", Warning,
        "a thread has more fetched refs than aye reads",
        "list them: git for-each-ref refs/aye/remotes";
    PublishedElsewhere = "published_elsewhere", Warning,
        "a remote has refs of a thread that is private here; aye ignores them",
        "find out who published it; `aye revise ID --public` accepts it";
    EventSkipped = "event_skipped", Warning,
        "aye ignores an event: its statement does not fit, or its kind is unknown",
        "look at it: aye show ID";
    /// An error where an agent made the commit.
    InstructionFileChanged = "instruction_file_changed", Error,
        "a commit changes a file that instructs agents or configures what they run",
        "review it like code that runs; an agent must propose it first";
    AgentSigned = "agent_signed", Error,
        "a commit has Signed-off-by or Co-authored-by for an agent",
        "name it with Assisted-by: AGENT:MODEL, as `git config aye.assistedBy true` does";
}

/// Concerns that make the check fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailOn {
    concerns: Vec<Concern>,
    /// False if the others are notes, because the caller has chosen some by name.
    keeps_warnings: bool,
}

/// Errors fail; warnings are printed as such. An agent that proposes for a busy file must not turn
/// other people's builds red.
impl Default for FailOn {
    fn default() -> Self {
        Self { concerns: errors().collect(), keeps_warnings: true }
    }
}

fn errors() -> impl Iterator<Item = Concern> {
    Concern::ALL.iter().copied().filter(|concern| concern.level() == Level::Error)
}

impl FailOn {
    /// Errors and warnings.
    pub fn any() -> Self {
        Self { concerns: Concern::ALL.to_vec(), keeps_warnings: true }
    }

    /// Parses concern ids, `error`, `any` or `none`; no words mean `error`.
    ///
    /// # Errors
    /// `usage` names `from`, the words' origin.
    pub fn parse(from: &str, words: &[String]) -> Result<Self> {
        if words.is_empty() || words == ["error"] {
            return Ok(Self::default());
        }
        let mut concerns = Vec::new();
        for word in words {
            match word.as_str() {
                "any" => return Ok(Self::any()),
                "error" => concerns.extend(errors()),
                "none" => {}
                word => {
                    let id = word.to_ascii_lowercase().replace('-', "_");
                    let known = Concern::ALL.iter().find(|concern| concern.id() == id);
                    concerns.push(*known.ok_or_else(|| {
                        let all: Vec<&str> =
                            Concern::ALL.iter().map(|concern| concern.id()).collect();
                        let message = format!("{from}: '{word}' is nothing check looks for");
                        let hint = format!("use error, any, none, or some of {}", all.join(", "));
                        Error::new(&codes::USAGE, message).hint(hint)
                    })?);
                }
            }
        }
        Ok(Self { concerns, keeps_warnings: false })
    }

    /// A pending proposal for the same file does not fail in hooks: any agent could block people's
    /// commits.
    pub fn of_hooks() -> Self {
        Self { keeps_warnings: false, ..Self::any().without(Concern::TouchesPending) }
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
        self.concerns.retain(|known| *known != concern);
        self
    }

    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        self.concerns.extend(other.concerns);
        self
    }

    pub fn finding(&self, concern: Concern, message: impl Into<String>) -> Finding {
        let fails = self.concerns.contains(&concern);
        let level = if fails || self.keeps_warnings { concern.level() } else { Level::Note };
        let mut finding = Finding::new(concern.id(), level, message);
        finding.is_advisory = !fails;
        finding
    }
}
