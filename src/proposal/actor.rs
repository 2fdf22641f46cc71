//! Who does something: a name, an address and a kind.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::words::words;

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

    /// The name, and what it is where it is not a person: an agent may have a person's name. Untrusted.
    pub fn titled(&self) -> String {
        format!("{}{}", self.kind.title(), self.name)
    }
}

/// What the harness of an agent says of the run that recorded an event: a claim, by which nothing is
/// decided. Never a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRun {
    /// The session, by the name that its harness or `AYE_SESSION` gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model, as `AYE_MODEL` or the harness names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl AgentRun {
    /// Longest name of a session or a model that is recorded, in bytes.
    const MOST: usize = 200;

    /// Of what a harness says: a text that is empty, too long, or not of one printable line is ignored.
    /// `None` where nothing is left.
    pub fn new(session: Option<&str>, model: Option<&str>) -> Option<Self> {
        let fits = |text: &&str| {
            !text.is_empty() && text.len() <= Self::MOST && !text.chars().any(char::is_control)
        };
        let name = |text: Option<&str>| text.map(str::trim).filter(fits).map(str::to_owned);
        let run = Self { session: name(session), model: name(model) };
        (run != Self::default()).then_some(run)
    }

    /// Reads what an event says, whatever it is: nothing in it makes an event malformed.
    pub fn lenient(value: &serde_json::Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(serde_json::Value::as_str);
        Self::new(text("session"), text("model"))
    }
}

words! {
    /// Person, agent or build machine. One Unix account cannot prove which; see the README's limits.
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
    /// What stands before the name of what is not a person.
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
