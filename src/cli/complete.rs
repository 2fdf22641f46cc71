//! Shell completion: the program answers the scripts that `aye util completion` prints.

use std::ffi::OsString;
use std::path::Path;

use clap::{CommandFactory as _, ValueHint};
use clap_complete::env::CompleteEnv;
use clap_complete::{ArgValueCandidates, CompletionCandidate};

use crate::proposal::Status;
use crate::session::Home;
use crate::store::{Filter, Store, Summary};
use crate::text::escape;

/// The variable by which a completion script asks: set to the name of its shell.
pub const VARIABLE: &str = "AYE_COMPLETE";

/// So many ids at most: the newest.
const LIMIT: usize = 100;

/// Answers a completion script if one asks; `false` in an ordinary run.
///
/// Costs one look at the environment when nobody asks.
pub fn answer(args: &[OsString]) -> bool {
    if std::env::var_os(VARIABLE).is_none() {
        return false;
    }
    let directory = std::env::current_dir().ok();
    // A failed completion completes nothing; its message would land in the middle of a prompt.
    CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .try_complete(args.iter().cloned(), directory.as_deref())
        .unwrap_or(true)
}

/// The command line, with candidates for the ids of proposals, names of sessions, and files.
fn command() -> clap::Command {
    let mut command = super::Cli::command();
    // Arguments of subcommands are built only when they are needed: now.
    command.build();
    command.mut_subcommands(|sub| {
        let fits = match sub.get_name() {
            // History as well.
            "show" | "diff" | "log" => |_: &Summary| true,
            "undo" => |it: &Summary| {
                matches!(it.status, Status::Applied | Status::Rejected) || is_sent_back(it)
            },
            _ => |it: &Summary| it.status == Status::Pending,
        };
        let sub = sub.mut_args(move |arg| {
            let names_proposal = arg.is_positional() && is_called(&arg, &["ID"]);
            if names_proposal { arg.add(ArgValueCandidates::new(move || ids(fits))) } else { arg }
        });
        with_names(sub, "")
    })
}

/// The subcommand `sub` of `above`, and its own, with candidates for files and for names of sessions.
fn with_names(sub: clap::Command, above: &str) -> clap::Command {
    let name = sub.get_name().to_owned();
    // What lies in the memory store is named from there.
    let files: &[&str] = if above == "memory" { &["FILE"] } else { &["FILE", "PATH", "PATHSPEC"] };
    let names_session = above == "session" || name == "run" && above.is_empty();
    let sub = sub.mut_args(|arg| match arg.get_value_hint() {
        ValueHint::Unknown if is_called(&arg, files) => arg.value_hint(ValueHint::AnyPath),
        _ if names_session && is_called(&arg, &["NAME"]) => {
            arg.add(ArgValueCandidates::new(sessions))
        }
        _ => arg,
    });
    sub.mut_subcommands(|below| with_names(below, &name))
}

/// Whether the value of `arg` has one of `names` in the help.
fn is_called(arg: &clap::Arg, names: &[&str]) -> bool {
    let own = arg.get_value_names().unwrap_or_default();
    own.iter().any(|own| names.iter().any(|name| own == name))
}

/// Names of the sessions of the repository around the current directory.
fn sessions() -> Vec<CompletionCandidate> {
    let found = || {
        let store = Store::discover(Path::new("."))?;
        // Where their trees lie does not matter for that.
        Home::open(store.repository().common_dir(), Path::new(""))
    };
    let names = found().ok().flatten().map(|home| home.names()).unwrap_or_default();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// A pending one whose request for changes can be taken back.
fn is_sent_back(summary: &Summary) -> bool {
    summary.status == Status::Pending && summary.changes_requested
}

/// Ids in the repository around the current directory of what `fits`, newest first; none where there is
/// none.
fn ids(fits: fn(&Summary) -> bool) -> Vec<CompletionCandidate> {
    let found = || {
        let store = Store::discover(Path::new("."))?;
        let filter = Filter { newest_first: true, ..Filter::default() };
        store.view()?.proposals(&filter, super::context::clock())
    };
    let mut summaries = found().unwrap_or_default();
    summaries.retain(fits);
    summaries.truncate(LIMIT);
    let candidate = |(order, summary): (usize, &Summary)| {
        let what = summary.description.as_deref().unwrap_or(&summary.path);
        // Words of the proposer: one line, safe for the terminal.
        let first = what.lines().next().unwrap_or_default();
        let help = escape::line(first).into_owned();
        CompletionCandidate::new(summary.id.as_str())
            .help(Some(help.into()))
            .display_order(Some(order))
    };
    summaries.iter().enumerate().map(candidate).collect()
}
