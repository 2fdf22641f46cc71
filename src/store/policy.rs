//! `.agent-memory/policy.toml`: what a repository's owners ask of everybody who works in it.
//!
//! Read from HEAD and not from the work tree, so that a change cannot loosen the gate it has to
//! pass; and it can only tighten what git configuration says.

use super::{Store, codes};
use crate::error::{Error, Result};

/// Where it is, from the repository's top.
pub const PATH: &str = ".agent-memory/policy.toml";

/// What it says. Keys that this version does not know are let pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default)]
struct Policy {
    /// Patches that an agent wants applied at once become proposals.
    gate: bool,
}

/// What gates direct writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// `aye.gate` in git configuration.
    Setting,
    /// The policy in HEAD.
    Policy,
}

impl Gate {
    /// Its name, for messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Setting => "aye.gate",
            Self::Policy => PATH,
        }
    }
}

impl Store {
    /// What gates direct writes here; `None` if nothing does.
    ///
    /// # Errors
    /// `invalid_config`; `invalid_policy` where HEAD has a policy that cannot be read: then
    /// nothing is let pass.
    pub fn gate(&self) -> Result<Option<Gate>> {
        if self.settings()?.gate {
            return Ok(Some(Gate::Setting));
        }
        Ok(self.policy()?.gate.then_some(Gate::Policy))
    }

    fn policy(&self) -> Result<Policy> {
        let Ok(tree) = self.repo.head_tree_id() else {
            // Nothing is committed yet.
            return Ok(Policy::default());
        };
        let invalid = |why: &dyn std::fmt::Display| {
            Error::new(&codes::INVALID_POLICY, format!("{PATH} in HEAD cannot be read: {why}"))
                .hint("commit a corrected one; for example: gate = true")
        };
        let tree = self.repo.find_tree(tree).map_err(|error| invalid(&error))?;
        let entry = tree.lookup_entry_by_path(PATH).map_err(|error| invalid(&error))?;
        let Some(entry) = entry else { return Ok(Policy::default()) };
        let blob = self.blob(&entry.object_id().to_string())?;
        let text = std::str::from_utf8(&blob).map_err(|error| invalid(&error))?;
        toml::from_str(text).map_err(|error| invalid(&error.message()))
    }
}
