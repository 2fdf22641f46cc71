//! The reviewer's command, run on the files as they are with the decisions so far.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Instant;

use chrono::{DateTime, Utc};

use crate::app::review::Plans;
use crate::app::trial;
use crate::cli::try_;
use crate::error::{Error, Result};
use crate::prompt::SignalHold;
use crate::review::terminal::{DecisionOrder, TrialOutcome};
use crate::store::Store;

/// Plans apart from the last screen's plans, which are what will be written.
pub(super) fn run(
    store: &Store,
    orders: &[DecisionOrder],
    now: DateTime<Utc>,
) -> Result<TrialOutcome> {
    let mut files = BTreeMap::new();
    for outlook in Plans::default().make(store, orders, now)?.into_iter().flatten() {
        match outlook {
            Ok(outlook) => {
                files.extend(outlook.changes.into_iter().map(|change| (change.path, change.after)));
            }
            Err(error) => return Ok(TrialOutcome::NotMade(error)),
        }
    }
    let words: Vec<OsString> = trial::command(store.repository(), Vec::new())?;
    let trial = match trial::open_on_files(store, &files) {
        Ok(trial) => trial,
        Err(error) => return Ok(TrialOutcome::NotMade(error)),
    };
    let id = orders.first().map(|order| order.id.as_str()).unwrap_or_default();
    // Ctrl-C ends the command, and the review goes on.
    let _hold = SignalHold::interrupts();
    let started = Instant::now();
    let status = match try_::start(&words, &trial, id, false) {
        Ok(mut child) => child.wait().map_err(|error| Error::io("wait for the command", &error))?,
        Err(error) => return Ok(TrialOutcome::NotMade(error)),
    };
    Ok(TrialOutcome::Ended { exit_code: status.code(), duration: started.elapsed() })
}
