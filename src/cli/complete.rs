//! Answers to the scripts that `aye util completion` prints.

use std::ffi::OsString;
use std::path::Path;

use clap::{CommandFactory as _, ValueHint};
use clap_complete::env::CompleteEnv;
use clap_complete::{ArgValueCandidates, CompletionCandidate};

use crate::proposal::Status;
use crate::session::SessionStore;
use crate::store::{Filter, Store, Summary};
use crate::text::escape;

/// A completion script sets this to its shell's name.
pub const VARIABLE: &str = "AYE_COMPLETE";

/// The newest ids are offered.
const LIMIT: usize = 100;

/// An ordinary run costs one look at the environment.
pub fn answer(args: &[OsString]) -> bool {
    if std::env::var_os(VARIABLE).is_none() {
        return false;
    }
    let directory = std::env::current_dir().ok();
    // A message would land in the middle of a prompt.
    CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .try_complete(args.iter().cloned(), directory.as_deref())
        .unwrap_or(true)
}

fn command() -> clap::Command {
    let mut command = super::Cli::command();
    // Build the deferred arguments.
    command.build();
    command.mut_subcommands(|sub| {
        let fits = match sub.get_name() {
            // Decided proposals, too.
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

/// `above` is the parent's name.
fn with_names(sub: clap::Command, above: &str) -> clap::Command {
    let name = sub.get_name().to_owned();
    // Memory files are relative to the memory store.
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

fn is_called(arg: &clap::Arg, names: &[&str]) -> bool {
    let own = arg.get_value_names().unwrap_or_default();
    own.iter().any(|own| names.iter().any(|name| own == name))
}

fn sessions() -> Vec<CompletionCandidate> {
    let found = || {
        let store = Store::discover(Path::new("."))?;
        SessionStore::open(store.repository().common_dir(), Path::new(""))
    };
    let names = found().ok().flatten().map(|home| home.names()).unwrap_or_default();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// A request for changes can be undone.
fn is_sent_back(summary: &Summary) -> bool {
    summary.status == Status::Pending && summary.changes_requested
}

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
        // The proposer's text is untrusted.
        let first = what.lines().next().unwrap_or_default();
        let help = escape::line(first).into_owned();
        CompletionCandidate::new(summary.id.as_str())
            .help(Some(help.into()))
            .display_order(Some(order))
    };
    summaries.iter().enumerate().map(candidate).collect()
}
