//! `memory.fetch_context`: the pack an agent reads.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Arguments;
use super::arguments::whole;
use crate::app::Session;
use crate::error::Result;
use crate::memory::search::Ask;
use crate::memory::service::Service;

/// Its names; some clients refuse the dot.
pub const NAMES: [&str; 3] = ["memory.fetch_context", "memory_fetch_context", "memory_context"];

/// Arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The question; empty for the pack to start with.
    #[serde(default)]
    query: String,
    /// Paths or module names to prefer.
    #[serde(default)]
    scope: Words,
    /// Categories to look in; none for all.
    #[serde(default)]
    include: Words,
    /// Characters; 0 or none for the manifest's budget.
    #[serde(default, deserialize_with = "whole")]
    budget: Option<usize>,
    /// Exclude the archive.
    #[serde(default)]
    exclude_archive: bool,
}

/// One word, or a list of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
pub enum Words {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Default for Words {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl From<Words> for Vec<String> {
    fn from(words: Words) -> Self {
        match words {
            Words::One(word) => vec![word],
            Words::Several(words) => words,
        }
    }
}

/// Answers a call.
///
/// # Errors
/// `invalid_parameter`, `memory_not_initialized` and those of the machine.
pub fn call(session: &Session<'_>, arguments: Value) -> Result<Value> {
    let example = "{\"query\": \"how are dates formatted\"}";
    Arguments::<Parameters>::read(arguments, example)?.answer(|known, _| {
        let ask = Ask {
            query: known.query,
            scope: known.scope.into(),
            include: known.include.into(),
            exclude_archive: known.exclude_archive,
            budget: known.budget.filter(|budget| *budget > 0),
        };
        let service = Service::open(session.store, session.caller.actor.clone(), session.now)?;
        service.context(&ask)
    })
}
