//! `aye deinit`: remove what aye keeps of a repository.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::identity::Asking;
use super::memory::block::Blocks;
use super::{Context, Format, agents, configuration, session};
use crate::app::plan as task_plan;
use crate::apply;
use crate::error::{Error, Exit, Result};
use crate::hooks::{Hook, Place};
use crate::proposal::codes;
use crate::proposal::rules::Verb;
use crate::store::{Held, Store};
use crate::text::escape;

/// Remove what aye keeps of this repository: lanes, refs, caches, hooks, sessions and settings.
///
/// Pending proposals and the record of every decision go with the lanes, and cannot be brought back
/// except by fetching them from where they were pushed to. What `aye init --git-log` has set
/// leaves the configuration. Files that git tracks stay, .agent-memory/ among them;
/// of settings of coding agents that git tracks, aye's entries alone are taken out. So is the block that
/// `aye init --agents` keeps in AGENTS.md and CLAUDE.md, unless somebody has edited it; a file that holds
/// nothing else goes, if git does not track it. Remotes stay, and so do hooks of git that
/// somebody has edited. Git's objects stay until `git gc` prunes them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye deinit --dry-run
  aye deinit
  aye deinit --yes")]
pub struct Args {
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Do not remove anything; only show what would be removed.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
}

/// Answer of `aye deinit`.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// `aye/deinit@1`
    pub schema: &'static str,
    /// True where everything was (or, with `--dry-run`, would be) removed.
    pub success: bool,
    /// Nothing was changed because of `--dry-run`.
    pub dry_run: bool,
    /// How many refs below `refs/aye/` there were.
    pub refs: usize,
    /// How many lanes.
    pub lanes: usize,
    /// How many of them are for whom: `default` (the default remote), `private` (nobody else), or
    /// the name of another remote.
    pub audiences: BTreeMap<String, usize>,
    /// How many pending proposals.
    pub pending: usize,
    /// How many proposals that were decided or had expired.
    pub decided: usize,
    /// No remote that was fetched has all of this clone's own lanes.
    pub only_here: bool,
    /// The hooks that are removed, by their names.
    pub hooks: Vec<&'static str>,
    /// Sessions of agents that end, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<String>,
    /// Settings of coding agents that aye's hooks are taken out of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Files of instructions that aye's block for agents is taken out of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<&'static str>,
    /// Those that keep it, since it is not as this version writes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edited: Vec<&'static str>,
    /// Files for coding agents that stay, since git tracks them and they hold nothing but what aye wrote.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tracked: Vec<String>,
    /// What is taken out of this clone's git configuration: keys, or a whole section.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configuration: Vec<&'static str>,
}

/// Runs the command.
///
/// # Errors
/// `human_approval_required`, `confirmation_required`, `changed_since_shown`, `busy`, `apply_busy`;
/// those of the store and the file system.
pub fn run(context: &mut Context, args: &Args) -> Result<Exit> {
    let store = context.store()?;
    let view = store.readable_view()?;
    let held = store.held(&view, context.now)?;
    let hooks = Place::find(&store)?;
    let settings = agents::installed(context, &store)?;
    let blocks = Blocks::find(&store)?;
    let mut tracked = settings.staying;
    tracked.extend(blocks.tracked.iter().map(ToString::to_string));
    let answer = Answer {
        schema: "aye/deinit@1",
        success: true,
        dry_run: args.dry_run,
        refs: held.refs.len(),
        lanes: held.lanes,
        audiences: held.audiences.iter().map(|(of, count)| (of.as_str().into(), *count)).collect(),
        pending: held.pending.len(),
        decided: held.decided,
        only_here: held.only_here,
        hooks: hooks.installed().into_iter().map(Hook::name).collect(),
        sessions: session::names(context, &store)?,
        settings: settings.taken,
        instructions: blocks.names().collect(),
        edited: blocks.edited.clone(),
        tracked,
        configuration: configuration::present(&store)?,
    };
    // What no proposal has is nowhere else.
    let sessions = session::hold_all(context, &store)?;
    let lost = text(&answer);
    if args.dry_run {
        context.emit(Format::Text, &answer, || format!("would remove {lost}"))?;
        return Ok(Exit::Done);
    }
    let question = format!("This removes {}Go on?", escape::block(&lost));
    let asking = Asking {
        verb: Verb::Force,
        proposals: &[],
        yes: args.yes,
        question: &question,
        command: "aye deinit",
    };
    if context.authorise(&store, &asking)?.is_none() {
        context.note("nothing removed");
        return Ok(Exit::Negative);
    }
    // Before anything is gone.
    held.require_as_shown(&store.held(&store.readable_view()?, context.now)?)?;
    let begun = session::names(context, &store)?;
    if let Some(name) = begun.iter().find(|name| !answer.sessions.contains(name)) {
        let message = format!("session {name} has begun since the sessions were shown");
        return Err(Error::new(&codes::CHANGED_SINCE_SHOWN, message)
            .hint("nothing was removed; look again: aye deinit --dry-run"));
    }
    session::end_all(context, &store, sessions)?;
    agents::take_out(context, &store)?;
    blocks.take_out(&store)?;
    configuration::remove(&store, &answer.configuration)?;
    remove(&store, &held, context.now, &hooks)?;
    context.emit(Format::Text, &answer, || format!("removed {lost}"))?;
    Ok(Exit::Done)
}

/// Removes it all, with nobody writing files meanwhile. The refs go first: until they are gone,
/// everything else can be rebuilt from them.
fn remove(store: &Store, shown: &Held, now: DateTime<Utc>, hooks: &Place) -> Result<()> {
    if store.private()?.is_some() {
        let journal = apply::lock(store)?;
        store.remove_held(shown, now)?;
        if store.work_dir().is_some() {
            task_plan::project(store, &store.readable_view()?, &store.branch())?;
        }
        hooks.uninstall(&Hook::ALL)?;
        store.remove_private()?;
        drop(journal);
    } else {
        hooks.uninstall(&Hook::ALL)?;
    }
    Ok(())
}

fn text(answer: &Answer) -> String {
    let count = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let mut text = format!(
        "{}, {} among them, with {} and {} that were decided\n",
        count(answer.refs, "ref"),
        count(answer.lanes, "lane"),
        count(answer.pending, "pending proposal"),
        answer.decided,
    );
    if !answer.hooks.is_empty() {
        text += &format!("  and the hooks {}\n", answer.hooks.join(", "));
    }
    if !answer.sessions.is_empty() {
        text += &format!("  and the sessions {}\n", answer.sessions.join(", "));
    }
    for settings in &answer.settings {
        text += &format!("  and aye's hooks in {}\n", escape::name(settings));
    }
    if !answer.instructions.is_empty() {
        text += &format!("  and the block for agents in {}\n", answer.instructions.join(" and "));
    }
    for settings in &answer.tracked {
        let path = escape::name(settings);
        text +=
            &format!("  {path} stays, since git tracks it; it holds nothing but what aye wrote\n");
    }
    for name in &answer.edited {
        text += &format!("  {name} keeps its block for agents, which is not as aye writes it\n");
    }
    if !answer.configuration.is_empty() {
        text += &format!("  and {} in the git configuration\n", answer.configuration.join(", "));
    }
    if let Some(private) = answer.audiences.get("private") {
        text += &format!("  {} private: nobody else has what is in it\n", count(*private, "lane"));
    }
    if answer.only_here {
        text += "  no remote that was fetched has all of this clone's own lanes\n";
    }
    text
}
