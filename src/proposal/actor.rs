//! Actors, and the agent run that a harness reports.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::words::words;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Git's `user.name`, or the agent's own.
    pub name: String,
    /// Git's `user.email`; may be empty.
    pub email: String,
    pub kind: ActorKind,
}

impl Actor {
    /// Tells people apart: the address regardless of case, or else the name.
    pub fn identity(&self) -> String {
        match self.email.trim() {
            "" => self.name.trim().to_owned(),
            email => format!("<{}>", email.to_ascii_lowercase()),
        }
    }

    /// Untrusted. The kind is shown because an agent may use a person's name.
    pub fn titled(&self) -> String {
        format!("{}{}", self.kind.title(), self.name)
    }
}

/// A harness's claim about the run; no decision depends on it. Never a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRun {
    /// From the harness or `AYE_SESSION`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// From the harness or `AYE_MODEL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl AgentRun {
    /// Longest name, in bytes.
    const MOST: usize = 200;

    /// Ignores a text that is empty, too long, or not one printable line.
    pub fn new(session: Option<&str>, model: Option<&str>) -> Option<Self> {
        let fits = |text: &&str| {
            !text.is_empty() && text.len() <= Self::MOST && !text.chars().any(char::is_control)
        };
        let name = |text: Option<&str>| text.map(str::trim).filter(fits).map(str::to_owned);
        let run = Self { session: name(session), model: name(model) };
        (run != Self::default()).then_some(run)
    }

    /// Never makes an event malformed.
    pub fn lenient(value: &serde_json::Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(serde_json::Value::as_str);
        Self::new(text("session"), text("model"))
    }
}

words! {
    /// Person, agent or build machine. One Unix account cannot prove which; see `docs/security.md`.
    pub enum ActorKind {
        /// A person.
        Human = "human",
        /// A coding agent.
        Agent = "agent",
        /// A build machine.
        Ci = "ci",
    }
}

impl ActorKind {
    pub fn title(self) -> &'static str {
        match self {
            Self::Human => "",
            Self::Agent => "agent ",
            Self::Ci => "ci ",
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
