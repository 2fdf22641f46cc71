//! Walking several proposals: where one is, what was decided, and every step back.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::answers::{Answers, Intent};
use super::review::{Decision, Review, Unit};
use crate::changeset::FileChange;
use crate::changeset::marks::Mark;
use crate::proposal::ProposalId;
use crate::proposal::event::Comment;

/// A proposal of the queue, as it is known without reading any content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Which proposal.
    pub id: ProposalId,
    /// What deserves a second look.
    pub marks: Vec<Mark>,
    /// Event id of the revision that it was queued with.
    pub revision: String,
    /// Lines that it adds and removes.
    pub lines: u64,
    /// What the answers do with it that an earlier review has saved.
    pub answers: Option<Intent>,
}

/// One proposal in the session.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Which.
    pub ticket: Ticket,
    /// Taken apart, once it has been reached.
    pub review: Option<Review>,
    /// Decided as a whole, whatever was said to its hunks.
    pub outcome: Option<Verdict>,
    /// What was answered about it was saved by an earlier review, and not decided in this one.
    pub saved: bool,
    /// Said about it, and not written yet; without a revision about the one under review.
    pub comments: Vec<Comment>,
    /// It was decided, and that was written, earlier in this session.
    pub done: bool,
}

/// What is to be written for one proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Not all of it is decided; it waits.
    #[serde(skip)]
    Open {
        /// Units decided.
        decided: usize,
        /// Units in all; 0 when it was not reached.
        total: usize,
    },
    /// All of it is applied as it was proposed.
    Apply,
    /// These changes are applied in a new revision.
    #[serde(skip)]
    Part(Vec<FileChange>),
    /// Every hunk was left out: rejected, if the reviewer says so.
    #[serde(skip)]
    Nothing,
    /// Rejected.
    Reject {
        /// Why; the proposer gets it back.
        reason: String,
    },
    /// Sent back; it stays pending.
    RequestChanges {
        /// What should change.
        reason: String,
    },
    /// Decided by someone else meanwhile; nothing is written.
    #[serde(skip)]
    Gone {
        /// What it is now.
        status: String,
    },
}

impl Slot {
    /// What is to be written.
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

    /// What the answers so far do with it; `None` where nothing was answered, or somebody else has decided.
    pub fn intent(&self) -> Option<Intent> {
        let has_drafts =
            || self.review.iter().flat_map(Review::units).any(|unit| unit.draft.is_some());
        match self.verdict() {
            Verdict::Gone { .. } => None,
            Verdict::Open { decided: 0, .. } if self.comments.is_empty() && !has_drafts() => None,
            Verdict::Open { .. } | Verdict::Nothing => Some(Intent::Begun),
            Verdict::Apply | Verdict::Part(_) => Some(Intent::Apply),
            Verdict::Reject { .. } => Some(Intent::Reject),
            Verdict::RequestChanges { .. } => Some(Intent::RequestChanges),
        }
    }

    /// True when there is something to write, and nothing left to ask.
    pub fn is_answered(&self) -> bool {
        self.is_settled() && self.verdict() != Verdict::Nothing
    }

    /// True when nothing is left to ask about it.
    pub fn is_settled(&self) -> bool {
        !matches!(self.verdict(), Verdict::Open { .. })
    }
}

/// What a key does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Take this unit.
    Take,
    /// Leave it out.
    Leave,
    /// Take this unit and the undecided rest of its file.
    TakeFile,
    /// Leave this unit and the undecided rest of its file out.
    LeaveFile,
    /// Split it into its parts.
    Split,
    /// Open a folded file: its hunks are decided one by one.
    Open,
    /// Take this text instead.
    Edit(Vec<u8>),
    /// On without deciding.
    Next,
    /// Back without deciding.
    Previous,
    /// To unit n of this proposal, from 0.
    Goto(usize),
    /// To the first unit of the next file, without deciding.
    NextFile,
    /// To the first unit of the file before, without deciding.
    PreviousFile,
    /// To file n of this proposal, from 0: to its first undecided unit, or its first.
    GotoFile(usize),
    /// To the next unit that holds this text.
    Search(String),
    /// Say something.
    Comment(Comment),
    /// Apply all of this proposal.
    ApplyAll,
    /// Reject it.
    Reject(String),
    /// Send it back.
    RequestChanges(String),
    /// It was decided elsewhere.
    Gone(String),
    /// On to the next proposal.
    Skip,
    /// Back to the proposal before.
    Back,
    /// Undo the last decision, wherever it was.
    Undo,
}

impl Action {
    /// True for what decides on part of a proposal.
    fn takes_part(&self) -> bool {
        use Action::{Edit, Leave, LeaveFile, Split, Take, TakeFile};
        matches!(self, Take | Leave | TakeFile | LeaveFile | Split | Edit(_))
    }
}

/// Why an action does nothing, for the person at the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub &'static str);

impl Refusal {
    pub const AT_END: Self = Self("that was the last proposal");
    pub const CANNOT_SPLIT: Self = Self("this hunk cannot be split; e edits it");
    pub const CANNOT_EDIT: Self = Self("there is no text to edit here");
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

/// How to take one action back.
#[derive(Clone, Debug)]
struct Step {
    slot: usize,
    unit: usize,
    change: Change,
}

#[derive(Clone, Debug)]
enum Change {
    Decisions(Vec<(usize, Option<Decision>)>),
    Split { at: usize, count: usize, whole: Unit },
    Outcome(Option<Verdict>, bool),
    Comment,
}

/// A walk through proposals.
#[derive(Clone, Debug)]
pub struct Session {
    slots: Vec<Slot>,
    /// The proposal one is at; `slots.len()` at the end.
    at: usize,
    /// The unit one is at.
    unit: usize,
    history: Vec<Step>,
}

impl Session {
    /// Starts at the first of `tickets`.
    pub fn new(tickets: Vec<Ticket>) -> Self {
        let slot = |ticket| Slot {
            ticket,
            review: None,
            outcome: None,
            saved: false,
            comments: Vec::new(),
            done: false,
        };
        Self { slots: tickets.into_iter().map(slot).collect(), at: 0, unit: 0, history: Vec::new() }
    }

    /// Every proposal of the session.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Which proposal one is at; as many as there are at the end.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The proposal one is at; `None` at the end.
    pub fn slot(&self) -> Option<&Slot> {
        self.slots.get(self.at)
    }

    /// Which unit of it one is at.
    pub fn unit_index(&self) -> usize {
        self.unit
    }

    /// The review one is in, once [`Session::open`] has been called for it.
    pub fn review(&self) -> Option<&Review> {
        self.slot()?.review.as_ref()
    }

    /// The unit one is at.
    pub fn unit(&self) -> Option<&Unit> {
        self.review()?.units().get(self.unit)
    }

    /// Hands over the content of the proposal one is at, and what was answered about it before: the first time
    /// that is what was saved. Goes to its first undecided unit.
    pub fn open(&mut self, mut review: Review, answers: Option<Answers>) {
        // Steps on what was there before cannot be undone on what is there now.
        self.history.retain(|step| step.slot != self.at);
        if let Some(slot) = self.slots.get_mut(self.at) {
            let is_saved = slot.review.is_none() || slot.saved;
            slot.saved = is_saved && answers.is_some();
            let restored = answers.map(|answers| answers.restore(&mut review));
            (slot.outcome, slot.comments) = restored.unwrap_or_default();
            self.unit = first_open(&review);
            slot.review = Some(review);
        }
    }

    /// Goes to proposal `at`. Not a step.
    pub fn visit(&mut self, at: usize) {
        self.at = at.min(self.slots.len());
        self.unit = self.review().map_or(0, first_open);
    }

    /// True when there is something to undo.
    pub fn can_undo(&self) -> bool {
        !self.history.is_empty()
    }

    /// What undo would take back, in words.
    pub fn undoes(&self) -> Option<String> {
        let step = self.history.last()?;
        let id = &self.slots.get(step.slot)?.ticket.id;
        let what = match &step.change {
            Change::Decisions(before) if before.len() == 1 => "the decision on a hunk".to_owned(),
            Change::Decisions(before) => format!("the decisions on {} hunks", before.len()),
            Change::Split { .. } => "the split".to_owned(),
            Change::Outcome(..) => "the decision on all of it".to_owned(),
            Change::Comment => "the comment".to_owned(),
        };
        Some(format!("{what} ({id})"))
    }

    /// How many steps can be undone.
    pub fn steps(&self) -> usize {
        self.history.len()
    }

    /// Does what a key asks for. After a decision the session is at the next undecided unit of
    /// the proposal, or at the next proposal if there is none.
    ///
    /// # Errors
    /// Why nothing was done; the session is as before.
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
                let before = self.slots[..self.at].iter().rposition(|slot| !slot.done);
                self.visit(before.ok_or(Refusal::NO_PREVIOUS)?);
                return Ok(());
            }
            Action::ApplyAll if self.review().is_some_and(Review::is_unfit) => {
                return Err(Refusal::DOES_NOT_FIT);
            }
            Action::ApplyAll => return self.settle(Verdict::Apply),
            Action::Reject(reason) => return self.settle(Verdict::Reject { reason }),
            Action::RequestChanges(reason) => {
                return self.settle(Verdict::RequestChanges { reason });
            }
            Action::Gone(status) => {
                // Not the reviewer's doing, so nothing to undo.
                self.gone(self.at, status);
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
            Action::Take => self.decide(unit..unit + 1, &Decision::Take),
            Action::Leave => self.decide(unit..unit + 1, &Decision::Leave),
            Action::TakeFile => self.decide(self.rest_of_file()?, &Decision::Take),
            Action::LeaveFile => self.decide(self.rest_of_file()?, &Decision::Leave),
            Action::Edit(bytes) => {
                let review = self.review().ok_or(Refusal::AT_END)?;
                review.editable(unit).ok_or(Refusal::CANNOT_EDIT)?;
                self.decide(unit..unit + 1, &Decision::Edit { bytes })
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

    /// Notes that proposal `at` was decided elsewhere.
    pub fn gone(&mut self, at: usize, status: String) {
        if let Some(slot) = self.slots.get_mut(at) {
            slot.outcome = Some(Verdict::Gone { status });
        }
    }

    /// Notes that what was decided about proposal `at` is written, so that it is behind: `status`.
    pub fn done(&mut self, at: usize, status: &str) {
        if let Some(slot) = self.slots.get_mut(at) {
            slot.done = true;
            slot.outcome = Some(Verdict::Gone { status: status.to_owned() });
            self.history.retain(|step| step.slot != at);
        }
    }

    /// Forgets the comments on proposal `at`, which have been written.
    pub fn said(&mut self, at: usize) {
        if let Some(slot) = self.slots.get_mut(at) {
            slot.comments.clear();
        }
    }

    /// Forgets what was decided about proposal `at` as a whole, which has been written. What was
    /// said to its hunks stays.
    pub fn written(&mut self, at: usize) {
        if let Some(slot) = self.slots.get_mut(at) {
            slot.outcome = None;
        }
    }

    fn go(&mut self, unit: usize) -> Result<(), Refusal> {
        self.unit = unit;
        Ok(())
    }

    /// Goes to file `to`; where there is none, that is `refusal`.
    fn go_to_file(&mut self, to: Option<usize>, refusal: Refusal) -> Result<(), Refusal> {
        let review = self.review().ok_or(Refusal::AT_END)?;
        let to = to.filter(|to| *to < review.files().len()).ok_or(refusal)?;
        let mut units = review.units_of(to);
        let first = units.start;
        let open = units.find(|at| review.units()[*at].decision.is_none());
        // A file may have no unit at all: nothing of it is asked.
        let unit = open.unwrap_or(first).min(review.units().len().saturating_sub(1));
        self.go(unit)
    }

    fn remember(&mut self, change: Change) {
        self.history.push(Step { slot: self.at, unit: self.unit, change });
    }

    fn rest_of_file(&self) -> Result<Range<usize>, Refusal> {
        let review = self.review().ok_or(Refusal::AT_END)?;
        let unit = self.unit().ok_or(Refusal::NO_SUCH_UNIT)?;
        Ok(self.unit..review.units_of(unit.file).end)
    }

    /// Decides the first unit of `range` and whatever else in it is undecided.
    fn decide(&mut self, range: Range<usize>, decision: &Decision) -> Result<(), Refusal> {
        let first = range.start;
        let review = self.slots[self.at].review.as_mut().ok_or(Refusal::AT_END)?;
        let is_asked = |at: usize| at == first || review.units()[at].decision.is_none();
        let is_unfit = |at: usize| is_asked(at) && review.units()[at].unfit.is_some();
        if *decision == Decision::Take && range.clone().any(is_unfit) {
            return Err(Refusal::DOES_NOT_FIT);
        }
        let mut before = Vec::new();
        for at in range {
            if at == first || review.units()[at].decision.is_none() {
                before.push((at, review.decide(at, Some(decision.clone()))));
            }
        }
        let next = review.next_undecided(first);
        self.remember(Change::Decisions(before));
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

    fn settle(&mut self, outcome: Verdict) -> Result<(), Refusal> {
        let slot = self.slots.get_mut(self.at).ok_or(Refusal::AT_END)?;
        let before = slot.outcome.replace(outcome);
        let saved = std::mem::take(&mut slot.saved);
        self.remember(Change::Outcome(before, saved));
        self.leave_slot();
        Ok(())
    }

    fn leave_slot(&mut self) {
        self.visit(self.at + 1);
    }

    fn undo(&mut self) -> Result<(), Refusal> {
        let step = self.history.pop().ok_or(Refusal::NOTHING_TO_UNDO)?;
        let slot = &mut self.slots[step.slot];
        match step.change {
            Change::Outcome(before, saved) => (slot.outcome, slot.saved) = (before, saved),
            Change::Comment => {
                slot.comments.pop();
            }
            Change::Decisions(before) => {
                if let Some(review) = &mut slot.review {
                    for (unit, decision) in before {
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
