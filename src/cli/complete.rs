//! Shell completion: the program answers the scripts that `aye util completion` prints.

use std::ffi::OsString;

use clap::CommandFactory as _;
use clap_complete::env::CompleteEnv;

/// The variable by which a completion script asks: set to the name of its shell.
pub const VARIABLE: &str = "AYE_COMPLETE";

/// Answers a completion script if one asks; `false` in an ordinary run.
///
/// Costs one look at the environment when nobody asks.
pub fn answer(args: &[OsString]) -> bool {
    let directory = std::env::current_dir().ok();
    // A failed completion completes nothing; its message would land in the middle of a prompt.
    CompleteEnv::with_factory(super::Cli::command)
        .var(VARIABLE)
        .try_complete(args.iter().cloned(), directory.as_deref())
        .unwrap_or(true)
}
