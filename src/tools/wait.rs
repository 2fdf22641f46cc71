//! The `wait` tool.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Arguments;
use super::arguments::whole_number;
use crate::app::{Session, wait};
use crate::error::Result;

pub const NAME: &str = "wait";

/// Seconds. Clients abort a call after 60.
const MAX_WAIT_SECONDS: usize = 50;

/// Arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The proposal.
    proposal_id: String,
    /// Seconds to wait at most: 50 at most, and by default. 0 only looks. The answer says
    /// `timed_out` if nothing was decided meanwhile: call again.
    #[serde(default, deserialize_with = "whole_number")]
    timeout_s: Option<usize>,
}

pub fn call(session: &Session<'_>, arguments: Value) -> Result<Value> {
    Arguments::<Parameters>::read(arguments)?.answer(|known| {
        let id = session.store.view()?.resolve(&known.proposal_id)?;
        let limit = Duration::from_secs(
            known.timeout_s.unwrap_or(MAX_WAIT_SECONDS).min(MAX_WAIT_SECONDS) as u64,
        );
        let started = Instant::now();
        let clock = || {
            session.now
                + TimeDelta::from_std(started.elapsed()).unwrap_or_else(|_| TimeDelta::zero())
        };
        wait::until(session.store, &id, Some(limit), clock)
    })
}
