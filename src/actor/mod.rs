//! Recognises coding agents by the environment variables that they set, and by their programs. Pure.
//!
//! The build script compiles `markers.toml` into [`MARKERS`] and [`PROGRAMS`].

pub mod ancestors;
pub mod authors;
pub mod startup;

use std::ffi::OsString;

pub const AYE_AGENT: &str = "AYE_AGENT";

/// Session of `aye run`, or one that an agent's harness sets.
pub const AYE_SESSION: &str = "AYE_SESSION";

pub const AYE_MODEL: &str = "AYE_MODEL";

/// A variable that a coding agent sets for its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    pub agent: &'static str,
    pub variable: &'static str,
    /// The only value that counts; `None`: any non-empty one.
    pub value: Option<&'static str>,
    /// The value is the agent's name of the session.
    pub is_session: bool,
}

include!(concat!(env!("OUT_DIR"), "/markers.rs"));

impl Marker {
    pub fn matches(&self, value: &std::ffi::OsStr) -> bool {
        self.value.map_or(!value.is_empty(), |wanted| value == wanted)
    }
}

pub fn agent_marker(lookup: impl Fn(&str) -> Option<OsString>) -> Option<Marker> {
    MARKERS
        .iter()
        .find(|marker| lookup(marker.variable).is_some_and(|value| marker.matches(&value)))
        .copied()
}

/// Name and variable of the agent that `lookup` marks. An empty `AYE_AGENT` counts as unset: the agent's
/// own variable still marks it.
pub fn agent(lookup: impl Fn(&str) -> Option<OsString>) -> Option<(String, &'static str)> {
    if let Some(name) = lookup(AYE_AGENT).filter(|name| !name.is_empty()) {
        return Some((name.to_string_lossy().into_owned(), AYE_AGENT));
    }
    agent_marker(lookup).map(|marker| (marker.agent.to_owned(), marker.variable))
}

/// The agent whose program has this name.
pub fn agent_of_program(program: &str) -> Option<&'static str> {
    PROGRAMS.iter().find(|(name, _)| *name == program).map(|(_, agent)| *agent)
}

/// The command that people type to start `agent`.
pub fn program_of(agent: &str) -> Option<&'static str> {
    PROGRAMS.iter().find(|(_, known)| *known == agent).map(|(name, _)| *name)
}

pub fn session(lookup: impl Fn(&str) -> Option<OsString>) -> Option<OsString> {
    let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
    set(AYE_SESSION).or_else(|| {
        let agent = agent_marker(&lookup)?.agent;
        let of_agent = |marker: &&Marker| marker.is_session && marker.agent == agent;
        MARKERS.iter().filter(of_agent).find_map(|marker| set(marker.variable))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(variable: &str, value: &str) -> Option<Marker> {
        agent_marker(|name| (name == variable).then(|| value.into()))
    }

    #[test]
    fn every_entry_matches_and_an_empty_value_does_not() {
        for marker in MARKERS {
            let value = marker.value.unwrap_or("1");
            assert_eq!(seen(marker.variable, value), Some(*marker));
            assert_eq!(seen(marker.variable, ""), None, "{}", marker.variable);
        }
        assert_eq!(agent_marker(|_| None), None);
    }

    #[test]
    fn a_required_value_is_compared() {
        assert_eq!(seen("AGENT", "goose").map(|marker| marker.agent), Some("goose"));
        assert_eq!(seen("AGENT", "amp").map(|marker| marker.agent), Some("amp"));
        assert_eq!(seen("AGENT", "/tmp/ssh-agent.1"), None);
    }

    #[test]
    fn a_specific_marker_comes_before_a_shared_one() {
        let both = |name: &str| match name {
            "AI_AGENT" | "AGENT" | "CRUSH" => Some("crush".into()),
            _ => None,
        };
        assert_eq!(agent_marker(both).map(|marker| marker.variable), Some("CRUSH"));
    }

    #[test]
    fn a_session_is_named_by_aye_or_by_the_agent_itself() {
        let name = |set: &[(&str, &str)]| {
            let find = |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into())
            };
            session(find).map(|name| name.into_string().unwrap())
        };
        let claude = [("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "c1")];
        assert_eq!(name(&claude).as_deref(), Some("c1"));
        assert_eq!(name(&[claude[0], claude[1], ("AYE_SESSION", "dark")]).as_deref(), Some("dark"));
        // Another agent's session, around this one.
        assert_eq!(name(&[claude[0], ("QWEN_CODE_SESSION_ID", "q1")]), None);
        assert_eq!(name(&[("AYE_SESSION", "")]), None);
    }

    #[test]
    fn every_entry_has_a_source() {
        let table: toml::Table = toml::from_str(include_str!("markers.toml")).unwrap();
        let entries = table["marker"].as_array().unwrap();
        assert_eq!(entries.len(), MARKERS.len());
        for entry in entries {
            let source = entry["source"].as_str().unwrap_or_default();
            let named = ["https://", "observed in ", "listed by ", "recognised by "];
            assert!(named.iter().any(|start| source.starts_with(start)), "{entry}");
        }
    }
}
