//! `aye util rules`: who may do what.

use crate::cli::Context;
use crate::error::{Exit, Result};
use crate::proposal::rules::markdown;

/// Prints the table that the code decides by.
///
/// # Errors
/// If the output cannot be written.
pub fn run(context: &mut Context) -> Result<Exit> {
    context.print(markdown().as_bytes())?;
    Ok(Exit::Done)
}
