//! Commands that run in the checkout, from before they begin until what they wrote was compared: several may run at
//! once, and of one that fails, is interrupted, was never allowed or goes on in the background no end is reported.

use bstr::BString;
use serde::{Deserialize, Serialize};

use super::guard::Before;
use crate::error::{Error, Result};

/// Commands of one session that are waited for, at most.
pub const MOST: usize = 16;

/// One command.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Running {
    /// Its text.
    pub command: String,
    /// The part of the agent that runs it: the client's id of it, empty for the agent itself.
    pub part: String,
    /// It goes on when its end is reported.
    pub is_background: bool,
    /// Another command of the same part was begun since.
    pub is_passed: bool,
    /// And has ended: this one has as well, unless the client runs several side by side.
    pub is_outlived: bool,
    /// The model knows of what has changed since, without the report of an end.
    pub is_told: bool,
    /// So does the person: the agent has stopped since. It is kept for the report of its end, which may come after all.
    #[serde(default)]
    pub is_over: bool,
    /// When it began, in nanoseconds since 1970: what one writes, those that begin later may find.
    pub began: u64,
    /// The checkout's directory.
    pub top: BString,
    /// Where the lanes of this clone were, each with a position in it.
    pub tips: Vec<(String, u64)>,
    /// The checkout before it.
    pub before: Before,
}

/// Those of one session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    /// The oldest first.
    pub running: Vec<Running>,
    /// What the model is still to be told.
    pub untold: Vec<String>,
    /// Untracked files that commands have overwritten or removed, and how: what the person is still to be told.
    /// Untrusted.
    pub lost: Vec<(String, String)>,
    /// Commands whose work cannot be compared any more: what the person is still to be told. Untrusted.
    pub pruned: Vec<String>,
    /// The model knows that there are too many untracked files to compare them.
    pub is_limit_told: bool,
}

impl Watched {
    /// Its bytes; `None` where nothing is to be remembered.
    ///
    /// # Errors
    /// None that a caller can bring about.
    pub fn to_bytes(&self) -> Result<Option<Vec<u8>>> {
        let is_told = self.untold.is_empty() && self.lost.is_empty() && self.pruned.is_empty();
        let is_nothing = is_told && !self.is_limit_told;
        if self.running.is_empty() && is_nothing {
            return Ok(None);
        }
        serde_json::to_vec(self).map(Some).map_err(|error| Error::bug(error.to_string()))
    }

    /// Reads it; `None` for what is not one.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let watched: Self = serde_json::from_slice(bytes).ok()?;
        watched.running.iter().all(|running| running.before.is_sound()).then_some(watched)
    }

    /// Which of them the report of an end is about, by the text of the command, which some clients do not repeat. Of
    /// several the last: one before it has failed, or was not allowed.
    pub fn ended(&self, part: &str, command: &str) -> Option<usize> {
        let find = |is_it: &dyn Fn(&Running) -> bool| self.running.iter().rposition(is_it);
        if command.is_empty() {
            return find(&|it| it.part == part && !it.is_background && !it.is_passed);
        }
        find(&|it| it.part == part && it.command == command)
            .or_else(|| find(&|it| it.command == command))
    }

    /// A command of `part` has ended, which began then.
    pub fn outlive(&mut self, part: &str, began: u64) {
        let is_before = |it: &&mut Running| it.part == part && it.began < began;
        self.running.iter_mut().filter(is_before).for_each(|it| it.is_outlived = true);
    }

    /// Another command of `part` begins. Whether anything is to be remembered of that.
    pub fn pass(&mut self, part: &str) -> bool {
        let mut is_news = false;
        for it in self.running.iter_mut().filter(|it| it.part == part) {
            is_news |= !std::mem::replace(&mut it.is_passed, true);
        }
        is_news
    }
}
