//! The `memory_search` tool.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Arguments;
use super::arguments::whole_number;
use crate::app::Session;
use crate::error::Result;
use crate::memory::search::{Hit, SearchRequest};
use crate::memory::service::Service;

/// Answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchResponse {
    /// The query.
    pub query: String,
    /// How many sections are listed.
    pub count: usize,
    /// The sections, best first.
    pub results: Vec<Hit>,
}

/// Arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// Words, "phrases" or beginnings (migr*) to look for.
    query: String,
    /// Paths or module names to prefer.
    #[serde(default)]
    scope: Vec<String>,
    /// Categories to look in; none for all.
    #[serde(default)]
    include: Vec<String>,
    /// At most so many sections; 10 by default.
    #[serde(default, deserialize_with = "whole_number")]
    limit: Option<usize>,
    /// Exclude the archive.
    #[serde(default)]
    exclude_archive: bool,
}

pub fn call(session: &Session<'_>, arguments: Value) -> Result<Value> {
    Arguments::<Parameters>::read(arguments)?.answer(|known| {
        let ask = SearchRequest {
            query: known.query.clone(),
            scope: known.scope,
            include: known.include,
            exclude_archive: known.exclude_archive,
            budget: None,
        };
        let service = Service::open(session.store, session.caller.actor.clone(), session.now)?;
        let results = service.search(&ask, known.limit.unwrap_or(10))?;
        Ok(SearchResponse { query: known.query, count: results.len(), results })
    })
}
