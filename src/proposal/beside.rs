//! Decisions that clones have made without knowing of each other: which are alike, and what settles others.

use super::Proposal;
use super::event::Written;
use super::state::{Decision, State};

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
}

impl Decision {
    /// Whether it was made in one of the clones `own`.
    pub fn is_of(&self, own: &[String]) -> bool {
        own.contains(&self.clone)
    }
}

impl Proposal {
    /// All decisions that stand, the one that counts first.
    pub fn decisions(&self) -> impl Iterator<Item = &Decision> {
        self.states().filter_map(State::decision)
    }

    fn states(&self) -> impl Iterator<Item = &State> {
        std::iter::once(&self.state).chain(&self.beside)
    }

    /// Whether two clones that decided so have decided alike: both said nay, or aye to the same content of the same
    /// files. Of a part that is taken each makes a revision of its own.
    pub fn is_like(&self, one: &State, other: &State) -> bool {
        match (one, other) {
            (State::Applied(a), State::Applied(b)) => a.made == b.made,
            (State::Rejected(_), State::Rejected(_)) | (State::Pending, State::Pending) => true,
            _ => false,
        }
    }

    /// Whether a no stands, beside whatever else.
    pub fn is_rejected(&self) -> bool {
        self.states().any(|state| matches!(state, State::Rejected(_)))
    }

    /// The applies that stand of the revision that counts, that one first: several where people have applied it
    /// in clones that did not know of each other.
    pub fn applies(&self) -> impl Iterator<Item = &Decision> {
        self.states().filter_map(|state| match state {
            State::Applied(decision) if self.is_like(state, &self.state) => Some(decision),
            _ => None,
        })
    }

    /// The apply that stands and was made in one of the clones `own`, if that wrote anything, like the one that
    /// counts or not; else that one. What was written here nobody else knows as well.
    pub fn apply_here(&self, own: &[String]) -> Option<&Decision> {
        let writes = |made: &Decision| made.written.iter().any(|file| file.before != file.after);
        let is_here = |made: &&Decision| made.is_of(own) && writes(made);
        let all = self.states().filter_map(|state| match state {
            State::Applied(decision) => Some(decision),
            _ => None,
        });
        all.into_iter().find(is_here).or_else(|| self.applies().next())
    }

    /// What this clone may take back of `decision`, an apply that stands: what was written, where it was made in one of
    /// the clones `own`. Of another one it is the step of the revision decided on, for what a file held here
    /// before nobody else can know; a file that the revision does not change is left out.
    pub fn restorable(&self, decision: &Decision, own: &[String]) -> Vec<Written> {
        let mut written = decision.written.clone();
        if !decision.is_of(own) {
            let changes = self.revision(&decision.revision).map(|found| found.changes.as_slice());
            let changes = changes.unwrap_or_default();
            written.retain_mut(|written| {
                let own = changes.iter().find(|change| change.path == written.path);
                if let Some(own) = own.filter(|_| written.before != written.after) {
                    (written.before, written.after) = (own.before.clone(), own.after.clone());
                }
                own.is_some()
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
        if self.is_rejected() {
            format!(
                "`aye undo {id} --rejection` lets the apply stand, `aye undo {id}` the rejection (commit what it puts back)"
            )
        } else {
            format!("`aye undo {id}` takes all of these back; then decide again")
        }
    }
}
