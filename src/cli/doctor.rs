//! The command `aye doctor`.

mod gc;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Context, Format};
use crate::actor::startup;
use crate::app::doctor::table::remedy;
use crate::app::doctor::{self, ExamineOptions, Findings, Problem};
use crate::error::{Exit, Result};
use crate::shell::sandbox;
use crate::store::{Space, Store};
use crate::sync::probe::probe;
use crate::text::{counted, escape};

/// Check the store, and repair what can be rebuilt.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye doctor
  aye doctor --full
  aye doctor --repair
  aye doctor --remote origin
  aye doctor --gc --dry-run

doctor reads every thread from its commits and looks up the objects of each event. With --full and
--repair it also reads and hashes contents.

A repair never changes a thread. It names a damaged object: restore it from a backup, or fetch it
from another clone. It sets aside a ref without an object id and an unreadable part of the ledger.
If a copy of this clone writes to the same directory of a remote, this clone gets a new aye.clone.")]
pub struct Args {
    /// Read and hash every object of the threads, contents included.
    #[arg(long)]
    pub full: bool,
    /// Rebuild memo, pending refs and projections; set aside refs and journals that cannot be read.
    #[arg(long)]
    pub repair: bool,
    /// Also try whether git can push to this remote. Nothing is sent.
    #[arg(long, value_name = "NAME", conflicts_with = "gc")]
    pub remote: Option<String>,
    #[command(flatten)]
    pub gc: gc::GcArgs,
}

/// Answer of `aye doctor`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Diagnosis {
    /// `aye/doctor@1`
    pub schema: &'static str,
    /// True when nothing is wrong (any more).
    pub sound: bool,
    /// How many proposals are pending.
    pub pending: usize,
    /// How many threads there are, open and closed.
    pub threads: usize,
    /// How many of them are `shared`, and how many `private` to this clone.
    pub spaces: BTreeMap<&'static str, usize>,
    /// Problems that were found.
    pub problems: Vec<Problem>,
    /// Findings that are not damage, but worth knowing: a shell start-up file that marks everything
    /// a person types as an agent's; a password in the URL of a remote. Also: a setting that sends
    /// or drops refs of aye's; refs that were fetched and are not read, and events that decide
    /// nothing, each by its code. Also: what an earlier repair set aside.
    pub warnings: Vec<String>,
    /// True if the kernel confines what `aye shell` runs: Landlock and seccomp are there.
    pub sandbox: bool,
    /// Repairs that were made.
    pub repaired: Vec<String>,
}

/// Exits with 1 if problems remain.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    if args.gc.gc {
        return gc::run(context, &args.gc);
    }
    let store = context.store()?;
    store.ask_again();
    let actor = context.actor(store.repository());
    let wanted = ExamineOptions { full: args.full, repair: args.repair };
    let mut found = doctor::examine(&store, &actor, wanted, context.now)?;
    if let Some(remote) = &args.remote {
        match probe(&store, remote, context.is_attended()) {
            Ok(()) => context.note(&format!(
                "note: git can push to {remote}; names of refs and hooks are judged there when \
                 something is sent"
            )),
            Err(error) => found.problems.push(Problem::of(&error)),
        }
    }
    print(context, &store, found)
}

fn print(context: &mut Context, store: &Store, found: Findings<'_>) -> Result<Exit> {
    let Findings { problems, notices, repaired, pending, view } = found;
    let (view, sound) = (view.as_ref(), problems.is_empty());
    let mut warnings = startup_files(context);
    warnings.extend(counted_as_agent(context));
    warnings.extend(doctor::warnings(store)?);
    warnings.extend(notices);
    let held = view.map(|view| store.removable(view, context.now)).transpose()?;
    let (schema, sandbox) = ("aye/doctor@1", sandbox::offered().is_sandbox());
    let threads = held.as_ref().map_or(0, |held| held.threads);
    let spaces = held.iter().flat_map(|held| &held.spaces);
    let spaces: BTreeMap<&str, usize> = spaces.map(|(of, count)| (of.as_str(), *count)).collect();
    let diagnosis = Diagnosis {
        schema,
        sound,
        pending,
        threads,
        spaces,
        problems,
        warnings,
        repaired,
        sandbox,
    };
    context.emit(Format::Text, &diagnosis, || {
        let mut text = String::new();
        for repaired in &diagnosis.repaired {
            text += &format!("repaired: {}\n", escape::line(repaired));
        }
        for problem in &diagnosis.problems {
            text += &format!("{}: {}\n", problem.code, escape::line(&problem.message));
        }
        if !diagnosis.sandbox {
            text += &format!("warning: sandbox_missing: {}\n", remedy("sandbox_missing"));
        }
        for warning in &diagnosis.warnings {
            text += &format!("warning: {}\n", escape::line(warning));
        }
        if diagnosis.sound {
            let threads = counted(diagnosis.threads, "thread");
            let private = diagnosis.spaces.get(Space::Private.as_str());
            let private = private.map(|count| format!(" ({count} private)")).unwrap_or_default();
            let sandbox = if diagnosis.sandbox { "; the kernel confines aye shell" } else { "" };
            let is_linux = cfg!(target_os = "linux");
            let agents =
                if is_linux { "" } else { "; agents are recognised by their variables alone" };
            let pending = diagnosis.pending;
            text += &format!("sound: {pending} pending, {threads}{private}{sandbox}{agents}\n");
        }
        let hints: BTreeSet<&str> =
            diagnosis.problems.iter().map(|problem| problem.hint.as_str()).collect();
        for hint in hints {
            text += &format!("hint: {}\n", escape::line(hint));
        }
        text
    })?;
    Ok(if diagnosis.sound { Exit::Done } else { Exit::Negative })
}

/// For a person at a terminal: no refusal names the evidence.
fn counted_as_agent(context: &Context) -> Option<String> {
    let (name, evidence) = context.agent().filter(|_| context.interactive())?;
    Some(format!(
        "commands in this terminal count as those of the agent '{name}', by {evidence}: a terminal \
         that no agent has started is yours"
    ))
}

fn startup_files(context: &Context) -> Vec<String> {
    /// In bytes.
    const MOST: u64 = 1 << 20;
    let Some(home) = context.var("HOME").map(PathBuf::from) else { return Vec::new() };
    let mut warnings = Vec::new();
    for name in startup::FILES {
        let file = home.join(name);
        if !file.metadata().is_ok_and(|facts| facts.is_file() && facts.len() <= MOST) {
            continue;
        }
        let Ok(text) = std::fs::read(&file) else { continue };
        for (line, variable) in startup::set_in(&String::from_utf8_lossy(&text)) {
            warnings.push(format!(
                "~/{name}, line {line} sets {variable}: every command typed in that shell counts \
                 as an agent's, and an agent cannot decide"
            ));
        }
    }
    warnings
}
