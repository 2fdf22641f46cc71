//! Decisions that clones have made without knowing of each other: which are alike, and what settles others.

use serde::{Deserialize, Serialize};

use super::Proposal;
use super::event::Written;
use super::state::{Decision, State};

/// A decision that stands beside the one that counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The lane that it comes from.
    pub lane: String,
    /// Never pending.
    pub state: State,
}

impl State {
    /// The decision, if there is one.
    pub fn decision(&self) -> Option<&Decision> {
        match self {
            Self::Pending => None,
            Self::Applied(decision) | Self::Rejected(decision) => Some(decision),
        }
    }

    /// `pending`, `applied`, `rejected` or `withdrawn`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Applied(_) => "applied",
            Self::Rejected(decision) if decision.withdrawn => "withdrawn",
            Self::Rejected(_) => "rejected",
        }
    }

    /// Whether two clones that decided so have decided alike: both said nay, or aye to the same revision.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Applied(a), Self::Applied(b)) => a.revision == b.revision,
            (Self::Rejected(_), Self::Rejected(_)) | (Self::Pending, Self::Pending) => true,
            _ => false,
        }
    }
}

impl Proposal {
    /// All decisions that stand, the one that counts first.
    pub fn decisions(&self) -> impl Iterator<Item = &Decision> {
        self.states().filter_map(State::decision)
    }

    fn states(&self) -> impl Iterator<Item = &State> {
        std::iter::once(&self.state).chain(self.beside.iter().map(|beside| &beside.state))
    }

    /// Whether a no stands, beside whatever else.
    pub fn is_rejected(&self) -> bool {
        self.states().any(|state| matches!(state, State::Rejected(_)))
    }

    /// The applies that stand of the revision that counts, that one first: several where people have applied it
    /// in clones that did not know of each other.
    pub fn applies(&self) -> impl Iterator<Item = &Decision> {
        self.applies_by_lane().map(|(decision, _)| decision)
    }

    fn applies_by_lane(&self) -> impl Iterator<Item = (&Decision, Option<&str>)> {
        let first = [(&self.state, self.decision_lane.as_deref())].into_iter();
        let beside = self.beside.iter().map(|beside| (&beside.state, Some(beside.lane.as_str())));
        first.chain(beside).filter_map(|(state, lane)| match state {
            State::Applied(decision) if state.is_like(&self.state) => Some((decision, lane)),
            _ => None,
        })
    }

    /// The apply that stands and was made in the clone with the lanes `own`, if that wrote anything; else the one
    /// that counts. What was written here nobody else knows as well.
    pub fn apply_here(&self, own: &[String]) -> Option<&Decision> {
        let is_here = |lane: Option<&str>| lane.is_some_and(|lane| own.iter().any(|o| o == lane));
        let writes =
            |decision: &Decision| decision.written.iter().any(|file| file.before != file.after);
        let mut here = self.applies_by_lane().filter(|(made, lane)| is_here(*lane) && writes(made));
        here.next().map(|(decision, _)| decision).or_else(|| self.applies().next())
    }

    /// Whether `decision`, an apply that stands, is of one of the lanes `own`.
    pub fn is_of(&self, decision: &Decision, own: &[String]) -> bool {
        let mut lanes = self.applies_by_lane();
        let lane = lanes.find(|(made, _)| made.event == decision.event).and_then(|(_, lane)| lane);
        lane.is_some_and(|lane| own.iter().any(|own| own == lane))
    }

    /// What was written by `decision`, an apply that stands, as far as this clone may put it back: all of it where
    /// that is of one of this clone's lanes, `own`. Of another one only what the revision decided on
    /// says too, for what a file held here before nobody else can know.
    pub fn restorable(&self, decision: &Decision, own: &[String]) -> Vec<Written> {
        let mut written = decision.written.clone();
        if !self.is_of(decision, own) {
            let changes = self.revision(&decision.revision).map(|found| found.changes.as_slice());
            written.retain(|written| {
                changes.unwrap_or_default().iter().any(|change| {
                    change.path == written.path
                        && change.before == written.before
                        && change.after == written.after
                })
            });
        }
        written
    }

    /// Who has decided what, in words: `applied by Ada, rejected by Bob`. As raw text: the caller escapes it.
    pub fn decided(&self) -> String {
        let word =
            |state: &State| Some(format!("{} by {}", state.word(), state.decision()?.by.name));
        let words: Vec<String> = self.states().filter_map(word).collect();
        words.join(", ")
    }

    /// The commands that settle it where it is contested.
    pub fn settle(&self) -> String {
        let id = &self.id;
        match self.is_rejected() {
            true => format!(
                "`aye reopen {id}` lets the apply stand, `aye undo {id}` the rejection (commit what it puts back)"
            ),
            false => format!("`aye undo {id}` takes all of these back; then decide again"),
        }
    }
}
