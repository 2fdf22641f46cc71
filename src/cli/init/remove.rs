//! `aye init --remove`: removes everything of aye from a repository.

use chrono::{DateTime, Utc};

use crate::app::plan as task_plan;
use crate::apply;
use crate::cli::authorisation::AuthorityRequest;
use crate::cli::memory::block::Blocks;
use crate::cli::{Context, agents, configuration, session};
use crate::error::{Error, Exit, Result};
use crate::hooks::{Hook, HookDirectory};
use crate::proposal::codes;
use crate::proposal::rules::Verb;
use crate::store::{Removable, Space, Store};
use crate::text::{counted, escape};

#[derive(Debug, clap::Args)]
pub struct RemoveArgs {
    /// Remove aye from this clone instead: refs with proposals and decisions, caches, hooks,
    /// sessions, the section in AGENTS.md, aye.gate, aye.syncRemote, aye.syncAfter and the settings
    /// of --git-log. Other settings, .agent-memory/ and refs at remotes stay.
    #[arg(long, conflicts_with_all = ["name", "agents", "git_log"])]
    pub remove: bool,
    /// With --remove: do not ask.
    #[arg(long, short = 'y', requires = "remove")]
    pub yes: bool,
    /// With --remove: show the removal only.
    #[arg(long, short = 'n', requires = "remove")]
    pub dry_run: bool,
}

/// Removed items besides refs, and files that stay.
#[derive(Debug)]
struct Removal {
    hooks: Vec<&'static str>,
    sessions: Vec<String>,
    settings: Vec<String>,
    instructions: Vec<&'static str>,
    /// These keep their block, since somebody edited it.
    edited: Vec<&'static str>,
    /// These stay: git tracks them, and only aye wrote them.
    tracked: Vec<String>,
    configuration: Vec<&'static str>,
}

/// # Errors
/// `human_approval_required`, `confirmation_required`, `changed_since_shown`, `busy`, `apply_busy`
pub fn run(context: &mut Context, args: &RemoveArgs) -> Result<Exit> {
    let store = context.store()?;
    let repository = store.repository();
    let view = store.view()?;
    let held = store.removable(&view, context.now)?;
    let hooks = HookDirectory::find(repository)?;
    let hooked = agents::settings_with_hooks(context, repository)?;
    let names = |staying: bool| {
        let some = hooked.iter().filter(move |it| it.is_staying == staying);
        some.map(|it| it.path.display().to_string()).collect::<Vec<_>>()
    };
    let blocks = Blocks::find(repository)?;
    let mut tracked = names(true);
    tracked.extend(blocks.tracked.iter().map(ToString::to_string));
    let removal = Removal {
        hooks: hooks.installed().into_iter().map(Hook::name).collect(),
        sessions: session::names(context, repository)?,
        settings: names(false),
        instructions: blocks.names().collect(),
        edited: blocks.edited.clone(),
        tracked,
        configuration: configuration::present(repository)?,
    };
    // Unsubmitted work of a session exists nowhere else: it is refused.
    let sessions = session::hold_all(context, &store)?;
    let lost = text(&held, &removal);
    if args.dry_run {
        return context.print(format!("would remove {lost}").as_bytes());
    }
    let question = format!("This removes {}Go on?", escape::block(&lost));
    let asking = AuthorityRequest {
        verb: Verb::Force,
        proposals: &[],
        yes: args.yes,
        question: &question,
        command: "aye init --remove",
    };
    if context.authorise(&store, &asking)?.is_none() {
        return context.declined("nothing removed");
    }
    // Compared before anything is removed.
    held.require_as_shown(&store.removable(&store.view()?, context.now)?)?;
    let begun = session::names(context, repository)?;
    if let Some(name) = begun.iter().find(|name| !removal.sessions.contains(name)) {
        let message = format!("session {name} has begun since the sessions were shown");
        return Err(Error::new(&codes::CHANGED_SINCE_SHOWN, message)
            .hint("nothing was removed; look again: aye init --remove --dry-run"));
    }
    session::end_all(context, repository, sessions)?;
    agents::settings_with_hooks(context, repository)?
        .iter()
        .try_for_each(agents::HookedSettings::remove_hooks)?;
    blocks.remove(repository)?;
    configuration::remove(repository, &removal.configuration)?;
    remove(&store, &held, context.now, &hooks)?;
    context.print(format!("removed {lost}").as_bytes())
}

/// The apply lock keeps others from writing files. The refs go first: until they are gone,
/// everything else can be rebuilt from them.
fn remove(
    store: &Store,
    shown: &Removable,
    now: DateTime<Utc>,
    hooks: &HookDirectory,
) -> Result<()> {
    let repository = store.repository();
    if repository.private()?.is_some() {
        let journal = apply::lock(store)?;
        store.remove_all(shown, now)?;
        if repository.work_dir().is_some() {
            task_plan::project(repository, &store.view()?, &repository.branch())?;
        }
        hooks.uninstall(&Hook::ALL)?;
        store.remove_private()?;
        drop(journal);
    } else {
        hooks.uninstall(&Hook::ALL)?;
    }
    Ok(())
}

fn text(held: &Removable, removal: &Removal) -> String {
    let mut text = format!(
        "{}, {} among them, with {} and {} that were decided\n",
        counted(held.refs.len(), "ref"),
        counted(held.threads, "thread"),
        counted(held.pending.len(), "pending proposal"),
        held.decided,
    );
    if !removal.hooks.is_empty() {
        text += &format!("  and the hooks {}\n", removal.hooks.join(", "));
    }
    if !removal.sessions.is_empty() {
        text += &format!("  and the sessions {}\n", removal.sessions.join(", "));
    }
    for settings in &removal.settings {
        text += &format!("  and aye's hooks in {}\n", escape::name(settings));
    }
    if !removal.instructions.is_empty() {
        text += &format!("  and the block for agents in {}\n", removal.instructions.join(" and "));
    }
    for settings in &removal.tracked {
        let path = escape::name(settings);
        text +=
            &format!("  {path} stays, since git tracks it; it has only content that aye wrote\n");
    }
    for name in &removal.edited {
        text += &format!("  {name} keeps its block for agents, which is not as aye writes it\n");
    }
    if !removal.configuration.is_empty() {
        text += &format!("  and {} in the git configuration\n", removal.configuration.join(", "));
    }
    if let Some((_, private)) = held.spaces.iter().find(|(of, _)| *of == Space::Private) {
        let private = counted(*private, "thread");
        text += &format!("  {private} private: no other clone has a copy\n");
    }
    if held.only_here {
        text += "  no remote that was fetched has all of this clone's own threads\n";
    }
    text
}
