//! `aye doctor --gc`: fold what was decided long ago.

use chrono::Duration;

use crate::cli::Context;
use crate::cli::sending::{Remote, Sending};
use crate::error::{Exit, Result};
use crate::store::{Folded, Folding};

/// How `--gc` folds.
#[derive(Debug, clap::Args)]
pub struct GcArgs {
    /// Fold what was decided long ago, so that clones fetch and read less. No event is lost.
    #[arg(long, conflicts_with_all = ["full", "repair"])]
    pub gc: bool,
    /// With --gc: fold whatever can be, whether it is due (10,000 events, or 180 days) or not.
    #[arg(long, requires = "gc")]
    pub now: bool,
    /// With --gc: keep what has an event of the last DAYS days.
    #[arg(long, requires = "gc", value_name = "DAYS", default_value_t = 30)]
    pub keep: u16,
    /// With --gc: do not fold anything; only show what would be folded.
    #[arg(long, short = 'n', requires = "gc")]
    pub dry_run: bool,
}

/// Runs the command.
///
/// # Errors
/// `human_approval_required`, `busy`, `lane_broken`, and those of the file system.
pub fn run(context: &mut Context, args: &GcArgs) -> Result<Exit> {
    let store = context.store()?;
    context.refuse_agents("fold lanes", "aye doctor --gc")?;
    let actor = context.actor(store.repository());
    let before = context.now - Duration::days(i64::from(args.keep));
    let folding = Folding { all: args.now, before, dry_run: args.dry_run };
    let folded = store.fold_lanes(&actor, context.now, folding)?;
    let mut sending = Sending::default();
    for folded in folded.iter().filter(|folded| folded.is_new && !args.dry_run) {
        sending.epoch(&store, &folded.audience, &folded.lane, folded.epoch)?;
    }
    context.print(text(&folded, args.dry_run, &sending.commands()).as_bytes())?;
    Ok(Exit::Done)
}

fn text(folded: &[Folded], dry_run: bool, remotes: &[Remote]) -> String {
    let count = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let mut text = String::new();
    for lane in folded {
        let what =
            format!("{} of {}", count(lane.events, "event"), count(lane.proposals, "proposal"));
        let id = &lane.lane;
        text += &match (lane.is_new, dry_run) {
            (true, true) => format!("lane {id}: would fold {what}\n"),
            (true, false) => format!("lane {id}: folded {what}; epoch {} begins\n", lane.epoch),
            (false, _) if lane.events == 0 => format!("lane {id}: nothing to fold\n"),
            (false, _) => {
                format!(
                    "lane {id}: {what} can be folded, and it is not due; aye doctor --gc --now\n"
                )
            }
        };
        if lane.is_new && !dry_run {
            text += &format!("  {} in commits\n", count(lane.whole, "event"));
            text += &format!("  archive: {}\n", lane.archive);
        }
    }
    for remote in remotes {
        text += &format!("{}: send what is new, then remove the earlier epochs:\n", remote.remote);
        for command in &remote.commands {
            text += &format!("  {command}\n");
        }
    }
    if text.is_empty() {
        text += "this clone has no lane, and nothing to fold\n";
    }
    text
}
