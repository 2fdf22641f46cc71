//! `list`: proposals, without their content.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Arguments;
use super::arguments::whole;
use super::changes;
use crate::app::Session;
use crate::app::listing::{List, Marks, items};
use crate::error::Result;
use crate::proposal::Status;
use crate::store::Filter;

/// Its name.
pub const NAME: &str = "list";

/// How many are listed where the caller does not say.
const USUAL: usize = 50;

/// Arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// Which: `pending` where it is left out, `applied`, `rejected`, `expired` or `all`.
    status: Option<String>,
    /// Only those of this topic.
    domain: Option<String>,
    /// Only those of this task.
    related_task_id: Option<String>,
    /// Only those by this proposer.
    proposed_by: Option<String>,
    /// At most so many, the newest first; 50 where it is left out.
    #[serde(default, deserialize_with = "whole")]
    limit: Option<usize>,
}

/// Lists proposals.
///
/// # Errors
/// `invalid_parameter`; those of the store.
pub fn call(session: &Session<'_>, arguments: Value) -> Result<Value> {
    Arguments::<Parameters>::read(arguments, "{\"status\": \"pending\"}")?.answer(|known, _| {
        let status = match known.status.as_deref() {
            None => Some(Status::Pending),
            Some("all") => None,
            Some(word) => Some(changes::status(word)?),
        };
        let filter = Filter {
            status,
            domain: known.domain,
            task: known.related_task_id,
            by: known.proposed_by,
            limit: Some(known.limit.unwrap_or(USUAL)),
            newest_first: true,
            ..Filter::default()
        };
        let view = session.store.view()?;
        let summaries = view.proposals(&filter, session.now)?;
        let marks = Marks::of(session.store, &view, session.now, &summaries)?;
        let proposals = items(&summaries, &marks);
        let count = proposals.len();
        let list = List { schema: "aye/list@1", proposals, count, purged: Vec::new() };
        Ok(list)
    })
}
