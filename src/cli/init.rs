//! The command `aye init`.

mod remove;

use super::Context;
use super::configuration::{self, DECORATION};
use super::memory::init::{Args as MemoryArgs, ScaffoldOutcome, scaffold};
use crate::changeset::{Mode, RepoPath, Snapshot as _};
use crate::error::{Exit, Result};
use crate::repository::{Repository, policy};
use crate::text::shell;
use crate::worktree::Flush;

/// Prepare the repository: .agent-memory/ with its .gitignore, policy and memory files.
///
/// Optional and idempotent: proposals work without it, and existing files stay. It closes the
/// gate: with `gate = true` in the policy and `aye.gate` in this clone's configuration, an agent's
/// `apply_patch` makes a proposal. A key that is set keeps its value. aye refuses an agent in a
/// session, or if the gate is closed.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = "Examples:
  aye init --agents      with instructions for agents in AGENTS.md
  aye init --git-log     and aye's refs hidden from `git log`
  aye init --remove      remove aye from this clone")]
pub struct Args {
    #[command(flatten)]
    memory: MemoryArgs,
    /// Keep `git log --all` readable here: leave aye's refs out of decorations, and set the alias
    /// `git la`, which shows all other refs. Both are in this clone's configuration.
    #[arg(long)]
    git_log: bool,
    #[command(flatten)]
    pub(super) remove: remove::RemoveArgs,
}

/// # Errors
/// `in_session` and `human_approval_required` for an agent.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    if args.remove.remove {
        return remove::run(context, &args.remove);
    }
    context.refuse_agents_scaffold("aye init")?;
    let store = context.store()?;
    let repository = store.repository();
    let mut files = scaffold(context, &store, args.memory)?;
    let unnamed = policy_file(repository, &mut files)?;
    let mut configuration = configuration::set(repository, &configuration::GATE)?;
    if args.git_log {
        configuration.extend(configuration::set(repository, &configuration::LOG)?);
    }
    // Sessions' work trees lack untracked files.
    let commit =
        format!("commit {} so that the team and agents' sessions have it", files.to_commit());
    let next = [
        "tell your agents: `aye propose PATH --old … --new … -m WHY`, or `aye call changes`",
        "review their proposals: `aye review`",
        "hold commits to it: `aye hooks install`",
    ];
    let is_readable = args.git_log || repository.config(DECORATION).is_some();
    let log = (!is_readable).then(|| {
        "keep `git log --all` and its decorations free of aye's refs: `aye init --git-log`"
            .to_owned()
    });
    let remote = store.sync_remotes().into_iter().find(|_| store.enabled_remotes().is_empty());
    let share = remote.map(|remote| {
        let quoted = shell::quote(&remote);
        format!("share proposals and decisions with your team: `aye sync --enable {quoted}`")
    });
    let next = next.map(str::to_owned);
    let next = unnamed.into_iter().chain([commit]).chain(next).chain(share).chain(log);
    let mut out = files.written();
    for key in &configuration {
        out += &format!("set {key} in this clone's git configuration\n");
    }
    if out.is_empty() {
        out += "nothing to do: it is all there\n";
    }
    if context.quiet {
        return Ok(Exit::Done);
    }
    next.for_each(|next| out += &format!("next: {next}\n"));
    context.print(out.as_bytes())
}

/// Writes a missing policy, or returns the missing line that names the repository.
fn policy_file(repository: &Repository, files: &mut ScaffoldOutcome) -> Result<Option<String>> {
    let id = format!("{:016x}{:016x}", crate::beneath::random_id(), crate::beneath::random_id());
    let (tree, path) = (repository.worktree()?, RepoPath::new(policy::PATH)?);
    let committed = || repository.policy().is_ok_and(|policy| policy.blob.is_some());
    if tree.file(&path)?.is_none() && !committed() {
        let text = policy::template(&id);
        tree.write_file(&path, text.as_bytes(), Mode::Regular, Flush::Yes)?;
        files.created.push(policy::PATH.to_owned());
        return Ok(None);
    }
    files.kept.push(policy::PATH.to_owned());
    let unnamed = repository.policy().is_ok_and(|policy| policy.repository.is_none());
    Ok(unnamed.then(|| {
        format!("name the repository at the top of {}: repository = \"{id}\"", policy::PATH)
    }))
}
