//! Who does something: a name, an address and a kind.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who recorded an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Name, as in `user.name`, or the agent's own.
    pub name: String,
    /// Address, as in `user.email`; may be empty.
    pub email: String,
    /// Person, agent or build machine.
    pub kind: ActorKind,
}

impl Actor {
    /// What tells people apart: the address whatever its case, or without one the name.
    pub fn identity(&self) -> String {
        match self.email.trim() {
            "" => self.name.trim().to_owned(),
            email => format!("<{}>", email.to_ascii_lowercase()),
        }
    }
}

/// Person, agent or build machine. One Unix account cannot prove which; see the README's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// A person.
    Human,
    /// A coding agent.
    Agent,
    /// A build machine.
    Ci,
}

impl ActorKind {
    /// The word used in events and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::Ci => "ci",
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.email.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{} <{}>", self.name, self.email)
        }
    }
}
