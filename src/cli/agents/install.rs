//! `aye agents install|remove`: the hooks in a coding agent's settings.

use super::file::{Edits, read, require_state, unreadable};
use super::hook_file::{HookFile, Scope, targets, top, trees_file};
use crate::cli::Context;
use crate::error::{Error, Exit, Result, codes};
use crate::harness::{Client, HookProgram};
use crate::session::session_store::all_trees;
use crate::store::Store;
use crate::text::escape;

#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct ScopeArgs {
    /// Your own settings, wherever you work (the default, except for Claude Code).
    #[arg(long, conflicts_with_all = ["project", "local"])]
    pub user: bool,
    /// The project's settings, shared with everybody who works in it (the default for Claude Code).
    #[arg(long, conflicts_with = "local")]
    pub project: bool,
    /// Your own settings for this project (Claude Code).
    #[arg(long)]
    pub local: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum GateMode {
    /// Edits are made in a work tree of the session, and proposed when the agent stops.
    Tree,
    /// Edits are refused; the agent proposes each change by itself. Commands run in the checkout.
    Strict,
}

#[derive(Debug, clap::Args)]
pub struct InstallArgs {
    /// The coding agents.
    #[arg(value_parser = super::harness(), value_name = "HARNESS", required = true)]
    pub harnesses: Vec<&'static Client>,
    #[command(flatten)]
    pub place: ScopeArgs,
    /// How edits of the checkout are handled: in a work tree of the session, or refused.
    #[arg(long, value_enum, default_value = "tree", value_name = "MODE")]
    pub mode: GateMode,
    /// Write nothing; show the files.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub struct RemoveArgs {
    /// The coding agents.
    #[arg(value_parser = super::harness(), value_name = "HARNESS", required = true)]
    pub harnesses: Vec<&'static Client>,
    #[command(flatten)]
    pub place: ScopeArgs,
}

impl ScopeArgs {
    fn target(self, context: &Context, client: &Client) -> Result<HookFile> {
        let scope = match self {
            Self { user: true, .. } => Scope::User,
            Self { local: true, .. } => Scope::Local,
            Self { project: true, .. } => Scope::Project,
            _ if client.name == "claude-code" => Scope::Project,
            _ => Scope::User,
        };
        let mut all = targets(context, top(context).as_deref()).into_iter();
        let found = all.find(|it| it.client.name == client.name && it.scope == scope);
        found.ok_or_else(|| {
            Error::new(
                &codes::INVALID_ARGUMENT,
                format!("there are no {} settings of {} here", scope.as_str(), client.name),
            )
            .hint("run it in a repository, or with --user and HOME set")
        })
    }

    fn flag(self) -> &'static str {
        match self {
            Self { user: true, .. } => " --user",
            Self { project: true, .. } => " --project",
            Self { local: true, .. } => " --local",
            _ => "",
        }
    }
}

/// Every file gets the hooks, or none if one cannot be edited.
///
/// # Errors
/// `human_approval_required` for an agent that would change hooks; `in_session` for one in a
/// session's run, if the hooks are the checkout's; `invalid_json` for settings that cannot be
/// edited.
pub fn install(context: &mut Context, args: &InstallArgs) -> Result<Exit> {
    let is_strict = args.mode == GateMode::Strict;
    let program =
        std::env::current_exe().map_err(|error| Error::io("find this program", &error))?;
    let program = program.to_str().ok_or_else(|| unreadable(&program, "its path is not UTF-8"))?;
    let trees = all_trees(&context.state_directory()?);
    require_state(&trees)?;
    let (mut edits, mut lines, mut effect) =
        (Edits::default(), String::new(), InstallEffect::default());
    for client in &args.harnesses {
        let target = args.place.target(context, client)?;
        let had = target.is_in(&read(&target.path)?.unwrap_or_default())?;
        // A path of this machine is no use to others.
        let program = match target.scope {
            Scope::Project => HookProgram::InPath,
            Scope::User | Scope::Local => HookProgram::At(program),
        };
        let put = |text: &str| client.put(text, program, is_strict).map(Some);
        let is_other = edits.edit(target.path.clone(), put)?;
        effect.replaces |= had && is_other;
        effect.is_here |= target.scope != Scope::User;
        lines += &line(&target, if is_other { "written" } else { "unchanged" });
        if let (Some(file), Some(trees)) = (trees_file(context, client), trees.to_str()) {
            edits.edit(file, |text| client.trees.put(text, trees).map(Some))?;
        }
    }
    if args.dry_run {
        return context.print(lines.replace("written", "would write").as_bytes());
    }
    refuse_agents(context, args, effect)?;
    // Sandboxes allow only what exists when they start.
    if args.harnesses.iter().any(|client| client.trees.file().is_some()) {
        std::fs::create_dir_all(&trees).map_err(|error| Error::file("make", &trees, &error))?;
    }
    edits.write()?;
    context.print(lines.as_bytes())?;
    if is_strict {
        context.note("aye does not redirect the agents' commands: git status shows the files that they write");
    }
    if args.harnesses.iter().any(|client| client.name == "codex") {
        context
            .note("codex skips hooks that are not trusted: run /hooks in codex, and trust aye's");
        let lost: String = ["CODEX_HOME", "XDG_STATE_HOME"]
            .into_iter()
            .filter(|name| context.var(name).is_some())
            .map(|name| format!(" --env {name}=\"${name}\""))
            .collect();
        if !lost.is_empty() {
            context.note(&format!(
                "codex starts tool servers without these variables, and aye's would not see the hooks: \
                 codex mcp add aye{lost} -- aye mcp"
            ));
        }
    }
    Ok(Exit::Done)
}

#[derive(Clone, Copy, Default)]
struct InstallEffect {
    replaces: bool,
    is_here: bool,
}

/// Agents must not change the hooks that gate them, or write in a gated checkout.
fn refuse_agents(context: &Context, args: &InstallArgs, effect: InstallEffect) -> Result<()> {
    let names: Vec<&str> = args.harnesses.iter().map(|client| client.name).collect();
    let mode = if args.mode == GateMode::Strict { " --mode strict" } else { "" };
    let command = format!("aye agents install {}{}{mode}", names.join(" "), args.place.flag());
    if effect.replaces {
        context.refuse_agents("change the hooks that gate them", &command)?;
    }
    // In a session's tree, the agent proposes its hooks.
    if effect.is_here
        && let Ok(found) = Store::discover(&context.directory)
        && context.refuse_session(found.repository()).is_ok()
    {
        context.refuse_agents_in_session(
            found.repository(),
            "write files of the checkout",
            &command,
        )?;
    }
    Ok(())
}

/// The client keeps its list of session trees while other hooks for it are known here.
///
/// # Errors
/// `human_approval_required` for an agent; otherwise as [`install`].
pub fn remove(context: &mut Context, args: &RemoveArgs) -> Result<Exit> {
    let names: Vec<&str> = args.harnesses.iter().map(|client| client.name).collect();
    let command = format!("aye agents remove {}{}", names.join(" "), args.place.flag());
    context.refuse_agents("take out the hooks that gate them", &command)?;
    let (mut edits, mut lines) = (Edits::default(), String::new());
    for client in &args.harnesses {
        let target = args.place.target(context, client)?;
        let is_there = edits.edit(target.path.clone(), |text| client.take(text))?;
        lines += &line(&target, if is_there { "removed" } else { "unchanged" });
        let others = targets(context, top(context).as_deref()).into_iter();
        let mut others =
            others.filter(|it| it.client.name == client.name && it.path != target.path);
        if let Some(file) = trees_file(context, client)
            && !others.any(|other| {
                read(&other.path)
                    .is_ok_and(|text| text.is_some_and(|text| client.is_in(&text) == Ok(true)))
            })
        {
            let trees = all_trees(&context.state_directory()?);
            edits.edit(file, |text| client.trees.take(text, &trees.to_string_lossy()))?;
        }
    }
    edits.write()?;
    context.print(lines.as_bytes())
}

pub(super) fn line(target: &HookFile, state: &str) -> String {
    let (name, scope) = (target.client.name, target.scope.as_str());
    format!("{name:<11}  {scope:<8} {state:<22} {}\n", escape::name(&target.path.to_string_lossy()))
}
