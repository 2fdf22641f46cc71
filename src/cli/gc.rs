//! `aye gc`: fold what was decided long ago.

use chrono::Duration;

use super::Context;
use super::sending::{Remote, Sending};
use crate::error::{Exit, Result};
use crate::store::{Folded, Folding};

/// Fold what was decided long ago, so that clones fetch and read less.
///
/// Where this clone's lane has more than 10,000 events that can be folded, or one that is older than
/// 180 days, a new epoch of it begins: what was said of proposals that were decided goes into a
/// snapshot, and the content of their files stays behind in an archive, which is fetched on demand.
/// Every event is kept, and nothing becomes another state. Contested and pending proposals stay as
/// they are. Git's own objects stay until `git gc`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye gc --dry-run
  aye gc --now --keep 7")]
pub struct Args {
    /// Fold whatever can be, whether it is due or not.
    #[arg(long)]
    pub now: bool,
    /// Keep what has an event of the last DAYS days.
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub keep: u16,
    /// Do not fold anything; only show what would be folded.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
}

/// Runs the command.
///
/// # Errors
/// `human_approval_required`, `busy`, `lane_broken`, and those of the file system.
pub fn run(context: &mut Context, args: &Args) -> Result<Exit> {
    let store = context.store()?;
    context.refuse_agents("fold lanes", "aye gc")?;
    let actor = context.actor(&store);
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
                format!("lane {id}: {what} can be folded, and it is not due; aye gc --now\n")
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
