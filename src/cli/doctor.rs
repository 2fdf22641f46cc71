//! `aye doctor`: is the store sound, and what can be repaired.

mod gc;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Context, Format};
use crate::actor::startup;
use crate::app::doctor::table::remedy;
use crate::app::doctor::{self, Findings, Problem, Wanted};
use crate::error::{Exit, Result};
use crate::shell::sandbox;
use crate::store::{Audience, Store, View};
use crate::text::escape;

/// Check the store, and repair what can be rebuilt.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye doctor
  aye doctor --full
  aye doctor --repair
  aye doctor --gc --dry-run

The objects of the lanes are looked at whatever the cache says: commits, trees and events are read
and hashed, contents are looked up; --full and --repair read and hash contents too. Refs and files of
pending proposals that were found right before are looked at again where they have changed since, by
size, times and inode, or with --full.

What is truth (the lanes) is never changed by a repair. A damaged object is named, and not made again:
restore it from a backup, or fetch it from a clone that has it. A lane that cannot be read is set aside under
refs/aye/broken/, where nothing reads it and nothing is deleted; this clone begins a new one in the
place of its own. What has expired since the last write is put on record, and files and refs
follow what was fetched, as with every command that writes.")]
pub struct Args {
    /// Read and hash every object of the lanes, contents included.
    #[arg(long)]
    pub full: bool,
    /// Rebuild cache, pending refs and projections; set aside lanes and journals that cannot be read.
    #[arg(long)]
    pub repair: bool,
    /// Folding.
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
    /// How many lanes there are, this clone's own and those of others.
    pub lanes: usize,
    /// How many of them are for whom: `default` (the default remote), `private` (nobody else), or
    /// the name of another remote.
    pub audiences: BTreeMap<String, usize>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What is not damaged, but worth knowing: a shell start-up file that marks everything a person
    /// types as an agent's; a password in the URL of a remote; a lane that goes on from another one
    /// (`lane_forked`), or that is not in this shallow clone from its beginning (`lane_shallow`); what an
    /// earlier repair set aside and does not count.
    pub warnings: Vec<String>,
    /// Whether the kernel confines what `aye shell` runs: Landlock and seccomp are there.
    pub sandbox: bool,
    /// What was repaired.
    pub repaired: Vec<String>,
}

/// Most notices about lanes that are printed: whoever may push lanes chooses how many there are.
const MOST: usize = 50;

/// Runs the command: exit 1 if something is wrong and was not repaired.
///
/// # Errors
/// Those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    if args.gc.gc {
        return gc::run(context, &args.gc);
    }
    let store = context.store()?;
    store.ask_again();
    let actor = context.actor(store.repository());
    let wanted = Wanted { full: args.full, repair: args.repair };
    let found = doctor::examine(&store, &actor, wanted, context.now)?;
    print(context, &store, found)
}

fn print(context: &mut Context, store: &Store, found: Findings) -> Result<Exit> {
    let Findings { problems, repaired, pending, view } = found;
    let (view, sound) = (view.as_ref(), problems.is_empty());
    let mut warnings = startup_files(context);
    warnings.extend(doctor::warnings(store, view)?);
    let lanes = view.map_or(0, View::count_lanes);
    let troubles = view.map_or(&[][..], View::troubles);
    let notices = troubles.iter().filter(|trouble| !trouble.kind.is_damage());
    warnings.extend(
        notices.map(|trouble| format!("{}: {}", trouble.kind.id(), trouble.message())).take(MOST),
    );
    let (schema, sandbox) = ("aye/doctor@1", sandbox::offered().is_sandbox());
    let counts = view.map(View::lanes_by_audience).unwrap_or_default();
    let audiences = counts.iter().map(|(of, count)| (of.as_str().to_owned(), *count)).collect();
    let diagnosis = Diagnosis {
        schema,
        sound,
        pending,
        lanes,
        audiences,
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
            let lanes = match diagnosis.lanes {
                0 => "no lane".to_owned(),
                1 => "1 lane".to_owned(),
                lanes => format!("{lanes} lanes"),
            };
            let others: Vec<String> = counts
                .iter()
                .filter_map(|(audience, count)| match audience {
                    Audience::Default => None,
                    Audience::Private => Some(format!("{count} private")),
                    Audience::Remote(remote) => {
                        Some(format!("{count} for {}", escape::name(remote)))
                    }
                })
                .collect();
            let others =
                if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
            let sandbox = if diagnosis.sandbox { "; the kernel confines aye shell" } else { "" };
            text += &format!("sound: {} pending, {lanes}{others}{sandbox}\n", diagnosis.pending);
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

/// A warning for each marker of an agent that a shell start-up file in the home directory sets.
fn startup_files(context: &Context) -> Vec<String> {
    /// Larger than any such file written by hand.
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
