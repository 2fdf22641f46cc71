//! A walk through several proposals: position, decisions, and undo.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::answers::{Intent, SavedAnswers, SavedDecision};
use super::review::{Decision, Review, Unit};
use crate::changeset::marks::Mark;
use crate::changeset::plan::applies_after;
use crate::changeset::{FileChange, RepoPath};
use crate::proposal::ProposalId;
use crate::proposal::event::Comment;

/// Known without reading content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedProposal {
    pub id: ProposalId,
    /// First line of the description. Not escaped, as the next two.
    pub title: String,
    pub proposed_by: String,
    /// The first file, and how many there are.
    pub path: String,
    pub files: usize,
    pub marks: Vec<Mark>,
    /// Event id of the queued revision.
    pub revision: String,
    /// Lines added and removed.
    pub lines: u64,
    /// Saved by an earlier review.
    pub answers: Option<Intent>,
}

#[derive(Clone, Debug)]
pub struct ReviewSlot {
    pub ticket: QueuedProposal,
    /// Present once reached.
    pub review: Option<Review>,
    /// Overrides decisions on hunks.
    pub outcome: Option<Verdict>,
    /// The answers come from an earlier review.
    pub saved: bool,
    /// Unwritten; without a revision, about the one under review.
    pub comments: Vec<Comment>,
    /// Edits whose hunk is gone.
    pub orphans: Vec<SavedDecision>,
    /// Decided and written earlier in this session.
    pub done: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Partly undecided; stays pending.
    #[serde(skip)]
    Open {
        decided: usize,
        /// 0 before the proposal was reached.
        total: usize,
    },
    /// Apply the whole as proposed.
    Apply,
    /// Apply these changes in a new revision.
    #[serde(skip)]
    Part(Vec<FileChange>),
    /// Every hunk was left out. The last screen asks whether to reject, unless this is the outcome:
    /// it stays pending.
    Nothing,
    Reject {
        /// Sent to the proposer.
        reason: String,
    },
    /// Sent back; stays pending.
    RequestChanges { reason: String },
    /// Decided elsewhere; nothing is written.
    #[serde(skip)]
    Gone { status: String },
}

impl ReviewSlot {
    /// Opens `review` with earlier answers, at first those that were saved.
    pub fn open(&mut self, mut review: Review, answers: Option<SavedAnswers>) {
        let is_first = self.review.is_none();
        self.saved = (is_first || self.saved) && answers.is_some();
        let restored = answers.map(|answers| answers.restore(&mut review, !is_first));
        (self.outcome, self.comments, self.orphans) = restored.unwrap_or_default();
        self.review = Some(review);
    }

    pub fn verdict(&self) -> Verdict {
        if let Some(outcome) = &self.outcome {
            return outcome.clone();
        }
        let Some(review) = &self.review else { return Verdict::Open { decided: 0, total: 0 } };
        let (decided, total) = (review.decided(), review.units().len());
        if decided < total || review.is_whole() {
            return Verdict::Open { decided, total };
        }
        if review.is_all_taken() {
            return Verdict::Apply;
        }
        let changes = review.changes();
        if changes.is_empty() { Verdict::Nothing } else { Verdict::Part(changes) }
    }

    /// True if `changes` of the same files conflict with what is taken.
    pub fn conflicts_with(&self, changes: &[FileChange]) -> bool {
        let Verdict::Part(taken) = self.verdict() else { return true };
        let other = |path: &RepoPath| taken.iter().find(|other| other.path == *path);
        changes.iter().any(|change| {
            other(&change.path).is_some_and(|other| !applies_after(other, change, None))
        })
    }

    /// `None` without answers, or if decided elsewhere.
    pub fn intent(&self) -> Option<Intent> {
        let is_draft = |unit: &Unit| unit.draft.is_some() && unit.decision.is_none();
        let has_drafts =
            || !self.orphans.is_empty() || self.review.iter().flat_map(Review::units).any(is_draft);
        match self.verdict() {
            Verdict::Gone { .. } => None,
            Verdict::Open { .. } if has_drafts() => Some(Intent::Edited),
            Verdict::Open { decided: 0, .. } if self.comments.is_empty() => None,
            Verdict::Open { .. } => Some(Intent::Begun),
            Verdict::Nothing => Some(Intent::Left),
            Verdict::Apply | Verdict::Part(_) => Some(Intent::Apply),
            Verdict::Reject { .. } => Some(Intent::Reject),
            Verdict::RequestChanges { .. } => Some(Intent::RequestChanges),
        }
    }

    /// True if no question is left.
    pub fn is_answered(&self) -> bool {
        self.is_settled() && (self.outcome.is_some() || self.verdict() != Verdict::Nothing)
    }

    pub fn is_settled(&self) -> bool {
        !matches!(self.verdict(), Verdict::Open { .. })
    }
}

/// The effect of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Take,
    Leave,
    /// This hunk and the later ones of its file, as far as they are undecided.
    TakeFile,
    /// As [`Action::TakeFile`].
    LeaveFile,
    /// Every undecided hunk of the proposal. Memory: the whole, which drops a verdict.
    TakeRest,
    Split,
    /// Opens a folded file for single decisions.
    Open,
    /// Replacement text.
    Edit(Vec<u8>),
    Next,
    Previous,
    /// Index of a unit of this proposal.
    Goto(usize),
    NextFile,
    PreviousFile,
    /// File index; goes to its first undecided unit, or its first.
    GotoFile(usize),
    Search(String),
    Comment(Comment),
    Reject(String),
    RequestChanges(String),
    /// Decided elsewhere.
    Gone(String),
    Skip,
    Back,
    /// Undoes the last decision, in any proposal.
    Undo,
}

impl Action {
    fn takes_part(&self) -> bool {
        use Action::{Edit, Leave, LeaveFile, Split, Take, TakeFile};
        matches!(self, Take | Leave | TakeFile | LeaveFile | Split | Edit(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub &'static str);

impl Refusal {
    pub const AT_END: Self = Self("that was the last proposal");
    pub const CANNOT_SPLIT: Self = Self("this hunk cannot be split; e edits it");
    pub const CANNOT_EDIT: Self = Self("there is no text to edit here");
    pub const NOTHING_UNDECIDED: Self =
        Self("every hunk here is decided; y or n changes the answer to this one");
    pub const NO_PREVIOUS: Self = Self("this is the first hunk");
    pub const NO_NEXT: Self = Self("this is the last hunk; > goes on to the next proposal");
    pub const NO_SUCH_UNIT: Self = Self("there is no hunk of that number");
    pub const NO_NEXT_FILE: Self = Self("this is the last file; > goes on to the next proposal");
    pub const NO_PREVIOUS_FILE: Self = Self("this is the first file");
    pub const NO_SUCH_FILE: Self = Self("there is no such file in this proposal");
    pub const NOT_FOUND: Self = Self("not found in this proposal");
    pub const NOTHING_TO_UNDO: Self = Self("nothing to undo");
    pub const DECIDED_AS_WHOLE: Self = Self(
        "a memory proposal is decided as a whole: A applies it, R rejects it, x sends it back",
    );
    pub const DOES_NOT_FIT: Self = Self(
        "it does not fit the present file and cannot be taken as it is; e settles it where both \
         versions are shown, n skips it",
    );
}

#[derive(Clone, Debug)]
struct UndoStep {
    slot: usize,
    unit: usize,
    change: Change,
}

#[derive(Clone, Debug)]
enum Change {
    Decisions { units: Vec<(usize, Option<Decision>)>, outcome: Option<Verdict>, saved: bool },
    Split { at: usize, count: usize, whole: Unit },
    Outcome(Option<Verdict>, bool),
    Comment,
}

#[derive(Clone, Debug)]
pub struct ReviewSession {
    slots: Vec<ReviewSlot>,
    /// Indices of `slots` in the order of the walk. Decisions are written in the order of `slots`,
    /// where a stack stays together.
    order: Vec<usize>,
    /// Indices of `slots` that the walk keeps to; empty for all.
    walked: BTreeSet<usize>,
    /// Current proposal; `slots.len()` at the end.
    at: usize,
    unit: usize,
    history: Vec<UndoStep>,
}

impl ReviewSession {
    pub fn new(tickets: Vec<QueuedProposal>) -> Self {
        let slot = |ticket| ReviewSlot {
            ticket,
            review: None,
            outcome: None,
            saved: false,
            comments: Vec::new(),
            orphans: Vec::new(),
            done: false,
        };
        let slots: Vec<ReviewSlot> = tickets.into_iter().map(slot).collect();
        Self {
            order: (0..slots.len()).collect(),
            slots,
            walked: BTreeSet::new(),
            at: 0,
            unit: 0,
            history: Vec::new(),
        }
    }

    /// Walks `first` in this order, then all others.
    pub fn reorder(&mut self, first: &[usize]) {
        let others = self.order.iter().copied().filter(|at| !first.contains(at));
        self.order = first.iter().copied().chain(others).collect();
    }

    /// Keeps the walk to these; empty for all.
    pub fn keep_to(&mut self, slots: BTreeSet<usize>) {
        self.walked = slots;
    }

    fn is_walked(&self, slot: usize) -> bool {
        self.walked.is_empty() || self.walked.contains(&slot)
    }

    /// `2/26`, or `2/7 of 26` of a walk that keeps to some.
    pub fn counter(&self, slot: usize) -> String {
        let (all, here) = (self.slots.len(), self.place(slot));
        if self.walked.contains(&slot) {
            let before = self.order[..here].iter().filter(|at| self.is_walked(**at)).count();
            return format!("{}/{} of {all}", before + 1, self.walked.len());
        }
        format!("{}/{all}", here + 1)
    }

    /// Position of a proposal in the walk; `slots().len()` at the end.
    pub fn place(&self, slot: usize) -> usize {
        self.order.iter().position(|at| *at == slot).unwrap_or(self.order.len())
    }

    pub fn slots(&self) -> &[ReviewSlot] {
        &self.slots
    }

    /// Index of the current proposal; `slots().len()` at the end.
    pub fn position(&self) -> usize {
        self.at
    }

    /// `None` at the end.
    pub fn slot(&self) -> Option<&ReviewSlot> {
        self.slots.get(self.at)
    }

    pub fn unit_index(&self) -> usize {
        self.unit
    }

    pub fn review(&self) -> Option<&Review> {
        self.slot()?.review.as_ref()
    }

    pub fn unit(&self) -> Option<&Unit> {
        self.review()?.units().get(self.unit)
    }

    /// Opens the current proposal with earlier answers, at its first undecided unit.
    pub fn open(&mut self, review: Review, answers: Option<SavedAnswers>) {
        // Earlier steps do not fit the new content.
        self.history.retain(|step| step.slot != self.at);
        if let Some(slot) = self.slots.get_mut(self.at) {
            slot.open(review, answers);
            self.visit(self.at);
        }
    }

    /// Replaces the intent of saved answers.
    pub fn record_saved(&mut self, at: usize, intent: Option<Intent>) {
        self.slots[at].ticket.answers = intent;
    }

    /// Goes to proposal `at`, without an undo step.
    pub fn visit(&mut self, at: usize) {
        self.at = at.min(self.slots.len());
        self.unit = self.review().map_or(0, first_open);
    }

    pub fn can_undo(&self) -> bool {
        !self.history.is_empty()
    }

    pub fn undoes(&self) -> Option<String> {
        let step = self.history.last()?;
        let id = &self.slots.get(step.slot)?.ticket.id;
        let what = match &step.change {
            Change::Decisions { units, .. } if units.len() == 1 => {
                "the decision on a hunk".to_owned()
            }
            Change::Decisions { units, .. } => format!("the decisions on {} hunks", units.len()),
            Change::Split { .. } => "the split".to_owned(),
            Change::Outcome(..) => "the decision on all of it".to_owned(),
            Change::Comment => "the comment".to_owned(),
        };
        Some(format!("{what} ({id})"))
    }

    pub fn steps(&self) -> usize {
        self.history.len()
    }

    /// Performs an action. A decision leads to the next undecided unit, or the next proposal.
    ///
    /// # Errors
    /// The refusal; the session is unchanged.
    pub fn act(&mut self, action: Action) -> Result<(), Refusal> {
        match action {
            Action::Undo => return self.undo(),
            Action::Skip => {
                return if self.at < self.slots.len() {
                    self.leave_slot();
                    Ok(())
                } else {
                    Err(Refusal::AT_END)
                };
            }
            Action::Back => {
                let before = &self.order[..self.place(self.at)];
                let mut before = before.iter().rev().copied();
                let before = before.find(|at| !self.slots[*at].done && self.is_walked(*at));
                self.visit(before.ok_or(Refusal::NO_PREVIOUS)?);
                return Ok(());
            }
            Action::TakeRest if self.review().is_some_and(Review::is_whole) => {
                if self.review().is_some_and(Review::is_unfit) {
                    return Err(Refusal::DOES_NOT_FIT);
                }
                return self.decide_whole(Verdict::Apply);
            }
            Action::Reject(reason) => return self.decide_whole(Verdict::Reject { reason }),
            Action::RequestChanges(reason) => {
                return self.decide_whole(Verdict::RequestChanges { reason });
            }
            Action::Gone(status) => {
                // Without an undo step: another process decided.
                self.record_outcome(self.at, Verdict::Gone { status });
                self.leave_slot();
                return Ok(());
            }
            _ => {}
        }
        let unit = self.unit;
        let review = self.review().ok_or(Refusal::AT_END)?;
        let count = review.units().len();
        let file = review.units().get(unit).map_or(0, |unit| unit.file);
        if review.is_whole() && action.takes_part() {
            return Err(Refusal::DECIDED_AS_WHOLE);
        }
        match action {
            // The screen shows the edit.
            Action::Take => match review.units().get(unit).and_then(|it| it.decision.clone()) {
                Some(edit @ Decision::Edit { .. }) => self.decide(vec![unit], &edit),
                _ => self.decide(vec![unit], &Decision::Take),
            },
            Action::Leave => self.decide(vec![unit], &Decision::Leave),
            Action::TakeFile | Action::LeaveFile => {
                let rest = review.undecided(unit..review.units_of(file).end);
                let decision = match action {
                    Action::TakeFile => Decision::Take,
                    _ => Decision::Leave,
                };
                self.decide(rest, &decision)
            }
            Action::TakeRest => self.decide(review.undecided(0..count), &Decision::Take),
            Action::Edit(bytes) => {
                let review = self.review().ok_or(Refusal::AT_END)?;
                review.editable(unit).ok_or(Refusal::CANNOT_EDIT)?;
                self.decide(vec![unit], &Decision::Edit { bytes })
            }
            Action::Split => self.split(Review::split),
            Action::Open => self.split(Review::open),
            Action::Next if unit + 1 < count => self.go(unit + 1),
            Action::Next => Err(Refusal::NO_NEXT),
            Action::Previous if unit > 0 => self.go(unit - 1),
            Action::Previous => Err(Refusal::NO_PREVIOUS),
            Action::Goto(to) if to < count => self.go(to),
            Action::Goto(_) => Err(Refusal::NO_SUCH_UNIT),
            Action::NextFile => self.go_to_file(file.checked_add(1), Refusal::NO_NEXT_FILE),
            Action::PreviousFile => self.go_to_file(file.checked_sub(1), Refusal::NO_PREVIOUS_FILE),
            Action::GotoFile(to) => self.go_to_file(Some(to), Refusal::NO_SUCH_FILE),
            Action::Search(text) => {
                let review = self.review().ok_or(Refusal::AT_END)?;
                let found = review.search(unit, &text).ok_or(Refusal::NOT_FOUND)?;
                self.go(found)
            }
            Action::Comment(comment) => {
                self.slots[self.at].comments.push(comment);
                self.remember(Change::Comment);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Sets an outcome without an undo step.
    pub fn record_outcome(&mut self, at: usize, outcome: Verdict) {
        if let Some(slot) = self.slots.get_mut(at) {
            slot.outcome = Some(outcome);
        }
    }

    pub fn record_written(&mut self, at: usize, status: &str) {
        if let Some(slot) = self.slots.get_mut(at) {
            slot.done = true;
            slot.outcome = Some(Verdict::Gone { status: status.to_owned() });
            self.history.retain(|step| step.slot != at);
        }
    }

    /// Drops written comments.
    pub fn drop_comments(&mut self, at: usize) {
        if let Some(slot) = self.slots.get_mut(at) {
            slot.comments.clear();
        }
    }

    /// Drops a written verdict on the whole; decisions on hunks stay.
    pub fn drop_verdict(&mut self, at: usize) {
        if let Some(slot) = self.slots.get_mut(at) {
            slot.outcome = None;
        }
    }

    fn go(&mut self, unit: usize) -> Result<(), Refusal> {
        self.unit = unit;
        Ok(())
    }

    fn go_to_file(&mut self, to: Option<usize>, refusal: Refusal) -> Result<(), Refusal> {
        let review = self.review().ok_or(Refusal::AT_END)?;
        let to = to.filter(|to| *to < review.files().len()).ok_or(refusal)?;
        let mut units = review.units_of(to);
        let first = units.start;
        let open = units.find(|at| review.units()[*at].decision.is_none());
        // A file may have no unit: nothing in it is asked about.
        let unit = open.unwrap_or(first).min(review.units().len().saturating_sub(1));
        self.go(unit)
    }

    fn remember(&mut self, change: Change) {
        self.history.push(UndoStep { slot: self.at, unit: self.unit, change });
    }

    /// Decides `units`, which replaces a verdict on the whole.
    fn decide(&mut self, units: Vec<usize>, decision: &Decision) -> Result<(), Refusal> {
        let slot = &mut self.slots[self.at];
        let review = slot.review.as_mut().ok_or(Refusal::AT_END)?;
        let is_unfit = |at: &usize| review.units()[*at].conflict.is_some();
        if *decision == Decision::Take && units.iter().any(is_unfit) {
            return Err(Refusal::DOES_NOT_FIT);
        }
        if units.is_empty() && slot.outcome.is_none() {
            return Err(Refusal::NOTHING_UNDECIDED);
        }
        let from = units.first().copied().unwrap_or(self.unit);
        let before = units.into_iter().map(|at| (at, review.decide(at, Some(decision.clone()))));
        let units = before.collect();
        let next = review.next_undecided(from);
        let outcome = slot.outcome.take();
        let saved = std::mem::take(&mut slot.saved);
        self.remember(Change::Decisions { units, outcome, saved });
        match next {
            Some(next) => self.unit = next,
            None => self.leave_slot(),
        }
        Ok(())
    }

    fn split(&mut self, split: fn(&mut Review, usize) -> Option<usize>) -> Result<(), Refusal> {
        let at = self.unit;
        let review = self.slots[self.at].review.as_mut().ok_or(Refusal::AT_END)?;
        let whole = review.units()[at].clone();
        let count = split(review, at).ok_or(Refusal::CANNOT_SPLIT)?;
        self.remember(Change::Split { at, count, whole });
        Ok(())
    }

    fn decide_whole(&mut self, outcome: Verdict) -> Result<(), Refusal> {
        let slot = self.slots.get_mut(self.at).ok_or(Refusal::AT_END)?;
        let before = slot.outcome.replace(outcome);
        let saved = std::mem::take(&mut slot.saved);
        self.remember(Change::Outcome(before, saved));
        self.leave_slot();
        Ok(())
    }

    fn leave_slot(&mut self) {
        let mut behind = self.order.iter().copied().skip(self.place(self.at) + 1);
        let next = behind.find(|at| self.is_walked(*at));
        self.visit(next.unwrap_or(self.slots.len()));
    }

    fn undo(&mut self) -> Result<(), Refusal> {
        let step = self.history.pop().ok_or(Refusal::NOTHING_TO_UNDO)?;
        let slot = &mut self.slots[step.slot];
        match step.change {
            Change::Outcome(before, saved) => (slot.outcome, slot.saved) = (before, saved),
            Change::Comment => {
                slot.comments.pop();
            }
            Change::Decisions { units, outcome, saved } => {
                (slot.outcome, slot.saved) = (outcome, saved);
                if let Some(review) = &mut slot.review {
                    for (unit, decision) in units {
                        review.decide(unit, decision);
                    }
                }
            }
            Change::Split { at, count, whole } => {
                if let Some(review) = &mut slot.review {
                    review.join(at, count, whole);
                }
            }
        }
        (self.at, self.unit) = (step.slot, step.unit);
        Ok(())
    }
}

fn first_open(review: &Review) -> usize {
    review.units().iter().position(|unit| unit.decision.is_none()).unwrap_or(0)
}
