//! `.agent-memory/policy.toml`: what a repository's owners ask of everybody who works in it.
//!
//! Read from HEAD and not from the work tree, so that a change cannot loosen the gate it has to
//! pass; and it can only tighten what git configuration says.

use bstr::ByteSlice as _;

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

impl Policy {
    /// Reads it. A known key in other letters, which TOML takes for another key, is an error, so
    /// that a slip does not leave the gate open.
    fn parse(text: &str) -> std::result::Result<Self, String> {
        let table: toml::Table =
            toml::from_str(text).map_err(|error| error.message().to_owned())?;
        if let Some(key) =
            table.keys().find(|key| *key != "gate" && key.eq_ignore_ascii_case("gate"))
        {
            return Err(format!("'{key}' is written 'gate'"));
        }
        table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())
    }
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
        if self.settings()?.gate || self.gate_in_unread_include()? {
            return Ok(Some(Gate::Setting));
        }
        Ok(self.policy()?.gate.then_some(Gate::Policy))
    }

    /// Git follows `[Include]` and `[includeif]` as well, gix only the spelling of git's manual.
    /// Where there is another, git itself is asked for the setting.
    fn gate_in_unread_include(&self) -> Result<bool> {
        let config = self.repo.config_snapshot();
        let unread = config.plumbing().sections().any(|section| {
            let name = section.header().name();
            [&b"include"[..], b"includeIf"]
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known) && name != *known)
        });
        if !unread {
            return Ok(false);
        }
        let answer = self.git()?.args(["config", "--type=bool", "--get", "aye.gate"]).answer()?;
        match answer.status {
            0 => Ok(answer.stdout.trim_ascii() == b"true"),
            1 => Ok(false),
            _ => Err(Error::new(
                &codes::INVALID_CONFIG,
                format!("git cannot read aye.gate: {}", answer.stderr.trim().as_bstr()),
            )
            .hint("set it with `git config aye.gate true` or `false`")),
        }
    }

    fn policy(&self) -> Result<Policy> {
        let invalid = |why: &dyn std::fmt::Display| {
            Error::new(&codes::INVALID_POLICY, format!("{PATH} in HEAD cannot be read: {why}"))
                .hint("commit a corrected one; for example: gate = true")
        };
        if self.repo.head().map_err(|error| invalid(&error))?.is_unborn() {
            // Nothing is committed yet.
            return Ok(Policy::default());
        }
        let tree = self.repo.head_tree().map_err(|error| invalid(&error))?;
        let (folder, _) = PATH.split_once('/').unwrap_or((PATH, ""));
        match tree.find_entry(folder) {
            None => return Ok(Policy::default()),
            Some(entry) if !entry.mode().is_tree() => {
                return Err(invalid(&format_args!("{folder} is no folder")));
            }
            Some(_) => {}
        }
        let entry = tree.lookup_entry_by_path(PATH).map_err(|error| invalid(&error))?;
        let Some(entry) = entry else { return Ok(Policy::default()) };
        let blob = self.blob(&entry.object_id().to_string())?;
        let text = std::str::from_utf8(&blob).map_err(|error| invalid(&error))?;
        Policy::parse(text).map_err(|error| invalid(&error))
    }
}
