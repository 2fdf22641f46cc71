//! Commands that run in the checkout, from before they begin until what they wrote was compared: several may run at
//! once, and of one that fails, is interrupted or goes on in the background the end is not always reported.

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
    /// What it wrote was compared before anything reported its end.
    pub is_settled: bool,
    /// The checkout before it, or when it was settled.
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
    /// The model knows that there are too many untracked files to compare them.
    pub is_limit_told: bool,
}

impl Watched {
    /// Its bytes; `None` where nothing is to be remembered.
    ///
    /// # Errors
    /// None that a caller can bring about.
    pub fn to_bytes(&self) -> Result<Option<Vec<u8>>> {
        let is_nothing = self.untold.is_empty() && self.lost.is_empty() && !self.is_limit_told;
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

    /// Which of them the report of an end is about, by the text of the command, which some clients do not repeat.
    pub fn ended(&self, part: &str, command: &str) -> Option<usize> {
        let find = |is_it: &dyn Fn(&Running) -> bool| self.running.iter().position(is_it);
        if command.is_empty() {
            return find(&|it| it.part == part && !it.is_background);
        }
        find(&|it| it.part == part && it.command == command)
            .or_else(|| find(&|it| it.command == command))
    }
}
