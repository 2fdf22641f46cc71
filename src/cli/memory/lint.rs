//! `aye memory lint`.

use super::open;
use crate::cli::Context;
use crate::error::{Exit, Result};

/// Check the whole store: schema, ids, conflicts, secrets, sources, age, leftovers.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory lint
  aye memory lint --format github     # annotations in a pull request
  aye memory lint --format sarif > memory.sarif

Exit status: 0 in order (notes aside), 1 something was found.")]
pub struct Args {}

pub fn run(context: &mut Context, _args: Args) -> Result<Exit> {
    let store = context.store()?;
    let report = open(context, &store)?.lint()?;
    context.emit_report(&report)
}
