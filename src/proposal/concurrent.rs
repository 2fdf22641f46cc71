//! Concurrent decisions, made in clones that had not seen each other: which agree, and how to
//! settle a contest.

use super::Proposal;
use super::event::Written;
use super::state::{Decision, State};

impl State {
    pub fn decision(&self) -> Option<&Decision> {
        match self {
            Self::Pending => None,
            Self::Applied(decision) | Self::Rejected(decision) => Some(decision),
        }
    }

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
    /// True if made in one of the clones `own`.
    pub fn is_of(&self, own: &[String]) -> bool {
        own.contains(&self.clone)
    }
}

impl Proposal {
    /// The one that counts comes first.
    pub fn decisions(&self) -> impl Iterator<Item = &Decision> {
        self.states().filter_map(State::decision)
    }

    fn states(&self) -> impl Iterator<Item = &State> {
        std::iter::once(&self.state).chain(&self.concurrent)
    }

    /// True if both rejected, or both applied the same content to the same files. Revisions are not
    /// compared: each partial apply makes its own.
    pub fn is_like(&self, one: &State, other: &State) -> bool {
        match (one, other) {
            (State::Applied(a), State::Applied(b)) => a.result_digest == b.result_digest,
            (State::Rejected(_), State::Rejected(_)) | (State::Pending, State::Pending) => true,
            _ => false,
        }
    }

    pub fn is_rejected(&self) -> bool {
        self.states().any(|state| matches!(state, State::Rejected(_)))
    }

    /// Applies that agree with the decision that counts, that one first.
    pub fn applies(&self) -> impl Iterator<Item = &Decision> {
        self.states().filter_map(|state| match state {
            State::Applied(decision) if self.is_like(state, &self.state) => Some(decision),
            _ => None,
        })
    }

    /// The apply of a clone in `own` that wrote files, agreeing or not; otherwise the one that
    /// counts. Only that clone knows what its files held before.
    pub fn apply_here(&self, own: &[String]) -> Option<&Decision> {
        let writes = |made: &Decision| made.written.iter().any(|file| file.before != file.after);
        let is_here = |made: &&Decision| made.is_of(own) && writes(made);
        let all = self.states().filter_map(|state| match state {
            State::Applied(decision) => Some(decision),
            _ => None,
        });
        all.into_iter().find(is_here).or_else(|| self.applies().next())
    }

    /// Files that this clone may restore to undo `decision`: what it wrote itself. For
    /// another clone's decision the revision's own steps stand in, since this clone cannot know
    /// what its files held. Files outside the revision are excluded.
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

    /// Such as `applied by Ada, rejected by Bob`. Raw text: the caller escapes it.
    pub fn decision_summary(&self) -> String {
        let word =
            |state: &State| Some(format!("{} by {}", state.word(), state.decision()?.by.name));
        let words: Vec<String> = self.states().filter_map(word).collect();
        words.join(", ")
    }

    /// Commands that settle a contest.
    pub fn settling_commands(&self) -> String {
        let id = &self.id;
        if self.is_rejected() {
            format!(
                "`aye undo {id} --rejection` lets the apply stand, `aye undo {id}` the rejection (commit the restored files)"
            )
        } else {
            format!("`aye undo {id}` takes all of these back; then decide again")
        }
    }
}
