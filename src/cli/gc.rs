//! `aye gc`: fold what was decided long ago.

use chrono::Duration;
use serde::Serialize;

use super::sending::{Remote, Sending};
use super::{Context, Format};
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

/// Answer of `aye gc`.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// `aye/gc@1`
    pub schema: &'static str,
    /// Always true.
    pub success: bool,
    /// Nothing was changed because of `--dry-run`.
    pub dry_run: bool,
    /// The lanes of this clone.
    pub lanes: Vec<Lane>,
    /// Remotes that have not got the new epochs, how to send them, and how to remove earlier ones there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remotes: Vec<Remote>,
}

/// What became of one lane.
#[derive(Debug, Serialize)]
pub struct Lane {
    /// Its id.
    pub lane: String,
    /// Whom it is for: `default`, `private`, or the name of a remote.
    pub audience: String,
    /// A new epoch has begun, or would begin without `--dry-run`.
    pub folded: bool,
    /// The epoch that the lane is in then.
    pub epoch: u64,
    /// How many proposals can be folded.
    pub proposals: usize,
    /// How many events.
    pub events: usize,
    /// How many events stay in commits of their own.
    pub whole: usize,
    /// Its ref.
    #[serde(rename = "ref")]
    pub name: String,
    /// The ref that keeps the epoch before, where one was folded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// The ref of the epoch before, which remotes have still.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded: Option<String>,
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
    let answer = Answer {
        schema: "aye/gc@1",
        success: true,
        dry_run: args.dry_run,
        lanes: folded.into_iter().map(lane).collect(),
        remotes: sending.commands(),
    };
    context.emit(Format::Text, &answer, || text(&answer))?;
    Ok(Exit::Done)
}

fn lane(folded: Folded) -> Lane {
    let Folded { lane, audience, is_new, epoch, proposals, events, whole, .. } = folded;
    let Folded { name, before, archive, .. } = folded;
    Lane {
        lane,
        audience: audience.as_str().to_owned(),
        folded: is_new,
        epoch,
        proposals,
        events,
        whole,
        name,
        archive: Some(archive).filter(|_| is_new),
        superseded: Some(before).filter(|_| is_new),
    }
}

fn text(answer: &Answer) -> String {
    let count = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let mut text = String::new();
    for lane in &answer.lanes {
        let what =
            format!("{} of {}", count(lane.events, "event"), count(lane.proposals, "proposal"));
        let id = &lane.lane;
        text += &match (lane.folded, answer.dry_run) {
            (true, true) => format!("lane {id}: would fold {what}\n"),
            (true, false) => format!("lane {id}: folded {what}; epoch {} begins\n", lane.epoch),
            (false, _) if lane.events == 0 => format!("lane {id}: nothing to fold\n"),
            (false, _) => {
                format!("lane {id}: {what} can be folded, and it is not due; aye gc --now\n")
            }
        };
        if let (Some(archive), false) = (&lane.archive, answer.dry_run) {
            text += &format!("  {} in commits\n", count(lane.whole, "event"));
            text += &format!("  archive: {archive}\n");
        }
    }
    for remote in &answer.remotes {
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
