//! Interface of a session to the outside.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::changeset::marks::Mark;
use crate::changeset::open_conflicts::ConflictedFile;
use crate::changeset::{FileChange, RepoPath};
use crate::error::{Error, Result};
use crate::proposal::ProposalId;
use crate::proposal::event::Comment;
use crate::render::overview::Group;
use crate::review::model::{FoldedFiles, Review, ReviewSlot, SavedAnswers, Verdict, rest};
use crate::text::escape;

#[derive(Debug)]
pub enum LoadResult {
    Ready(Box<Content>),
    /// Status in a word.
    Gone(String),
}

/// A proposal that can be decided.
#[derive(Debug)]
pub struct Content {
    /// Event id of the newest revision.
    pub revision: String,
    /// Proposals below this one, without which it does not fit; often none.
    pub lower: Vec<ProposalId>,
    /// Changes to the present files.
    pub changes: Vec<FileChange>,
    /// The proposed changes, if different.
    pub proposed: Option<Vec<FileChange>>,
    /// Conflicts of `changes` with the present files.
    pub unfit: Vec<ConflictedFile>,
    pub header: Header,
    /// Saved by an earlier review of this revision.
    pub answers: Option<SavedAnswers>,
    /// Changes of the revision that the reviewer last saw, if another.
    pub seen_changes: Option<Vec<FileChange>>,
    /// Shown by section and decided as a whole.
    pub memory: bool,
    /// Files that are not read line by line, and why: last, and folded.
    pub quiet: FoldedFiles,
}

impl Content {
    /// True if `said` appears beside its lines.
    pub(super) fn shows_at_lines(&self, said: &EarlierComment) -> bool {
        // Line numbers are those of the proposed file, not of a merged or conflicting one.
        self.proposed.is_none() && self.unfit.is_empty() && said.lines.is_some()
    }

    /// Basis for counting lines: excludes conflict markers.
    pub(super) fn counted(&self) -> &[FileChange] {
        match &self.proposed {
            Some(proposed) if !self.unfit.is_empty() => proposed,
            _ => &self.changes,
        }
    }
}

/// Facts about a proposal. Unescaped: not safe for a terminal.
#[derive(Clone, Debug, Default)]
pub struct Header {
    pub id: String,
    /// Characters after `prop_` that suffice to name the proposal.
    pub prefix: usize,
    pub proposed_by: String,
    /// If not `proposed_by`.
    pub recorded_by: Option<String>,
    /// Author of the newest revision, if not the proposer.
    pub revised_by: Option<String>,
    /// A tool's mark: its author, and applied or rejected.
    pub mark: Option<(String, &'static str)>,
    /// In words.
    pub age: String,
    /// In words.
    pub expiry: String,
    /// Fit with the present files: `clean`, `merged`, `conflict`, …
    pub base: String,
    pub revision: usize,
    pub domain: Option<String>,
    pub task: Option<String>,
    /// The proposer's reason.
    pub description: Option<String>,
    pub marks: Vec<Mark>,
    /// One line each.
    pub warnings: Vec<String>,
    /// Other facts by name, such as the source of a memory.
    pub notes: Vec<(&'static str, String)>,
    /// Oldest first.
    pub comments: Vec<EarlierComment>,
    /// Last command run on the proposal, by whom, and its outcome.
    pub check: Option<String>,
    pub changes_requested: Option<String>,
    pub related: Vec<Related>,
}

/// An earlier comment on the proposal. Unescaped: not safe for a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierComment {
    pub author: String,
    /// `src/a.rs:12-14`; `None` for the whole proposal.
    pub place: Option<String>,
    /// `suggestion` or `question`; `None` for a plain comment.
    pub kind: Option<String>,
    pub body: String,
    /// The lines at the time of the comment.
    pub quote: Option<String>,
    pub replacement: Option<String>,
    /// File and lines of the present revision, first and last, from 1.
    pub lines: Option<(RepoPath, (u32, u32))>,
    /// Resolver and note.
    pub resolved: Option<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    pub id: ProposalId,
    pub proposed_by: String,
    pub how: RelatedAs,
}

/// Relation to the current proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelatedAs {
    /// The current one starts from the other's result.
    Below,
    /// The current one starts from an earlier revision of the other.
    BelowRevised,
    /// Both change the same lines: only one can be applied as it is.
    SameLines,
    /// Both change the same or adjacent lines, and both can be applied.
    Neighbouring,
}

#[derive(Debug)]
pub struct DecisionOrder {
    pub id: ProposalId,
    /// Event id of the reviewed revision.
    pub revision: String,
    pub verdict: Verdict,
    /// Changes left out, on top of the applied ones; for `--split-rest`.
    pub rest: Vec<FileChange>,
    pub edited: bool,
    /// Written together with the decision.
    pub comments: Vec<Comment>,
    /// Approves the other changes in these files, too.
    pub approve_foreign: bool,
    /// Changed lines that were not on the screen before the answer.
    pub unshown_lines: u64,
    /// Digest of a group decided with one answer.
    pub group: Option<String>,
}

impl DecisionOrder {
    pub(super) fn new(slot: &ReviewSlot, revision: String) -> Self {
        let verdict = slot.verdict();
        let rest = match &verdict {
            Verdict::Part(_) => slot.review.as_ref().map(rest).unwrap_or_default(),
            _ => Vec::new(),
        };
        Self {
            id: slot.ticket.id.clone(),
            revision,
            verdict,
            rest,
            edited: slot.review.as_ref().is_some_and(Review::is_edited),
            comments: slot.comments.clone(),
            approve_foreign: false,
            unshown_lines: 0,
            group: None,
        }
    }
}

#[derive(Debug)]
pub struct DecisionPreview {
    /// Files now and afterwards, of written files.
    pub changes: Vec<FileChange>,
    /// Approved changes that the files already have: nothing is written.
    pub already: Vec<FileChange>,
    /// Files that are not read line by line: last, and only in the pager.
    pub quiet: FoldedFiles,
    pub marks: Vec<Mark>,
    /// Other changes in these files against the target commit, neither the proposal's nor written
    /// by applied proposals.
    pub foreign: Vec<FileChange>,
    /// First line of the description, not escaped.
    pub title: String,
}

impl DecisionPreview {
    /// ` (title)`, or nothing.
    pub(super) fn of(&self) -> String {
        match escape::line(&self.title) {
            title if title.is_empty() => String::new(),
            title => format!(" ({title})"),
        }
    }
}

#[derive(Debug)]
pub enum TrialOutcome {
    Ended {
        /// `None` for a signal.
        exit_code: Option<i32>,
        duration: Duration,
    },
    /// The changes do not apply, or the command does not start.
    NotMade(Error),
}

pub trait Host {
    /// `known` is the revision shown so far. `not_taken` are proposals that this session does not
    /// apply in full. A proposal that does not fit without a lower one of this session is shown on
    /// top of it, unless that is in `not_taken`.
    fn load(
        &mut self,
        id: &ProposalId,
        known: Option<&str>,
        not_taken: &BTreeSet<ProposalId>,
    ) -> Result<LoadResult>;

    /// `None` while the proposal is pending at `revision`, else the event in a word.
    fn changed(&mut self, id: &ProposalId, revision: &str) -> Result<Option<String>>;

    /// New comments (author, text) since loading, or since the last call.
    fn heard(&mut self, id: &ProposalId) -> Result<Vec<(String, String)>>;

    /// Replaces the saved answers about the proposal; `None` removes them. The string is the
    /// revision's event id.
    fn keep(&mut self, id: &ProposalId, answers: Option<(&str, SavedAnswers)>) -> Result<()>;

    /// `None` if the editor failed.
    fn edit(&mut self, path: &RepoPath, text: &[u8]) -> Result<Option<Vec<u8>>>;

    /// In the pager, if there is one.
    fn page(&mut self, text: &str) -> Result<()>;

    /// True if the terminal may mark pasted text.
    fn marks_pastes(&self) -> bool;

    /// True if the terminal moves its cursor.
    fn redraws(&self) -> bool;

    /// True if `interactive.diffFilter` is set.
    fn has_filter(&self) -> bool;

    fn filter(&mut self, diff: &str) -> Result<String>;

    fn can_compare(&self) -> bool;

    /// Waits. Returns the outcome if notable.
    fn compare(&mut self, id: &ProposalId) -> Result<Option<String>>;

    fn can_try(&self) -> bool;

    /// Runs `aye.tryCommand` on the files as they are with `orders`, in a work tree of its own. Its
    /// output goes to the terminal.
    fn try_orders(&mut self, orders: &[DecisionOrder]) -> Result<TrialOutcome>;

    /// Writes all comments or none; `revision` is under review.
    fn comment(&mut self, id: &ProposalId, revision: &str, comments: &[Comment]) -> Result<()>;

    /// Plans `orders` in sequence; `None` for an order that writes no file, an error for one that
    /// cannot be carried out. The plan is remembered: [`Host::carry_out`] writes exactly that or
    /// nothing.
    fn plan(&mut self, orders: &[DecisionOrder]) -> Result<Vec<Option<Result<DecisionPreview>>>>;

    /// Each row has its index in the session.
    fn overview(&mut self) -> Vec<Group>;

    /// Digest of deciding `orders` with one answer, as [`Host::plan`] planned them.
    fn group(&mut self, orders: &[&DecisionOrder]) -> Result<String>;

    /// Writes one decision with its comments. Other decisions are not affected.
    ///
    /// # Errors
    /// `changed_since_shown` if the result would differ from [`Host::plan`]'s; otherwise the
    /// reason.
    fn carry_out(&mut self, order: &DecisionOrder) -> Result<String>;
}
