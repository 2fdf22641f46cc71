//! `aye agents show`: which settings hold hooks, and which agents are gated by them.

use std::path::Path;

use serde::Serialize;

use super::seen::{self, Agent};
use super::target::{Kind, Mode, Scope, Target, read, shown, unreadable};
use crate::cli::{Context, Format};
use crate::error::{Exit, Result};
use crate::harness::{CLIENTS, codex};
use crate::text::escape;
use crate::words::words;

/// Answer of `aye agents install`, `remove` and `show`.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// `aye/agents@1`
    pub schema: &'static str,
    /// Settings and what is in them.
    pub settings: Vec<Item>,
    /// The coding agents, where it was asked which of them are gated (`show`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Agent>,
}

words! {
    /// What became of a file of settings, or what is in it.
    pub enum Settled {
        /// The hooks were put in.
        Written = "written",
        /// They would be, without `--dry-run`.
        WouldWrite = "would_write",
        /// They were taken out.
        Removed = "removed",
        /// Nothing was to do.
        Unchanged = "unchanged",
        /// The hooks are there (`show`).
        Installed = "installed",
        /// They are not.
        None = "none",
    }
}

/// One file of settings.
#[derive(Debug, Serialize)]
pub struct Item {
    /// The coding agent.
    pub harness: &'static str,
    /// Whose settings it holds.
    pub scope: Scope,
    /// Where the file is.
    pub path: String,
    /// The events that aye's hooks are there for.
    pub hooks: Vec<String>,
    /// What becomes of edits of the checkout; null where there are no hooks.
    pub mode: Option<Mode>,
    /// What became of it, or what is in it.
    pub state: Settled,
    /// Whether a person has trusted the hooks; null where the client does not ask for that.
    pub trusted: Option<bool>,
}

/// Shows where hooks are. Status 1 where they are nowhere, or where an agent that is installed here has none, or does
/// not trust them.
///
/// # Errors
/// `settings_invalid` and those of the file system.
pub fn show(context: &mut Context) -> Result<Exit> {
    let mut items = Vec::new();
    if let Err(error) = context.state_directory() {
        context
            .note(&format!("{error}; hooks refuse edits until XDG_STATE_HOME names a directory"));
    }
    let targets = shown(context);
    for target in targets.iter().filter(|target| matches!(target.kind, Kind::Hooks)) {
        let text = read(&target.path)?.unwrap_or_default();
        let found = target.hooks(&text).map_err(|why| unreadable(&target.path, &why))?;
        let state = if target.has(&text) { Settled::Installed } else { Settled::None };
        let mut item = item(target, state, found, target.mode(&text));
        item.trusted = trusted(&targets, target, &text)?.filter(|_| !item.hooks.is_empty());
        items.push(item);
    }
    let has = |name: &str| {
        let mut own =
            items.iter().filter(move |item| item.harness == name && !item.hooks.is_empty());
        (own.clone().next().is_some(), own.any(|item| item.trusted != Some(false)))
    };
    let mut agents = Vec::new();
    for client in CLIENTS {
        let (has_hooks, is_gated) = has(client.name);
        let agent = seen::agent(context, client, is_gated);
        let name = client.name;
        match agent.program {
            Some(_) if !has_hooks => context.note(&format!(
                "{name} is installed here, and has no hooks: aye agents install {name}"
            )),
            Some(_) if !is_gated => context.note(&format!(
                "{name} is installed here, and its hooks are not trusted: run /hooks in {name}, and trust aye's"
            )),
            _ => {}
        }
        agents.push(agent);
    }
    let is_gated = agents.iter().all(|agent| agent.program.is_none() || agent.gated)
        && items.iter().any(|item| !item.hooks.is_empty());
    respond(context, Answer { schema: SCHEMA, settings: items, agents })?;
    Ok(if is_gated { Exit::Done } else { Exit::Negative })
}

/// Whether a person has trusted the hooks in `text`, the file of `target`; `None` where the client does not ask.
pub(super) fn trusted(targets: &[Target], target: &Target, text: &str) -> Result<Option<bool>> {
    if target.client.name != codex::NAME {
        return Ok(None);
    }
    let mut settings = targets.iter().filter(|other| matches!(other.kind, Kind::Writable(_)));
    let config = settings.next().map(|settings| read(&settings.path)).transpose()?.flatten();
    let config = config.unwrap_or_default();
    let real = std::fs::canonicalize(&target.path).unwrap_or_else(|_| target.path.clone());
    let is_trusted = |path: &Path| codex::is_trusted(&config, &path.to_string_lossy(), text);
    Ok(Some(is_trusted(&target.path) || is_trusted(&real)))
}

pub(super) fn item(
    target: &Target,
    state: Settled,
    hooks: Vec<String>,
    mode: Option<Mode>,
) -> Item {
    let path = target.path.display().to_string();
    let mode = mode.filter(|_| matches!(target.kind, Kind::Hooks));
    let harness = target.client.name;
    Item { harness, scope: target.scope, path, hooks, mode, state, trusted: None }
}

pub(super) const SCHEMA: &str = "aye/agents@1";

pub(super) fn answer(context: &mut Context, settings: Vec<Item>) -> Result<Exit> {
    respond(context, Answer { schema: SCHEMA, settings, agents: Vec::new() })
}

pub(super) fn respond(context: &mut Context, answer: Answer) -> Result<Exit> {
    context.emit(Format::Text, &answer, || {
        let line = |item: &Item| {
            let hooks = match item.hooks.len() {
                0 => String::new(),
                count if item.mode == Some(Mode::Strict) => format!(" ({count} hooks, strict)"),
                count => format!(" ({count} hooks)"),
            };
            let state = item.state.as_str().replace('_', " ");
            let path = escape::name(&item.path);
            let trusted = if item.trusted == Some(false) { " (not trusted)" } else { "" };
            format!(
                "{:<11}  {:<8} {state:<11} {path}{hooks}{trusted}\n",
                item.harness,
                item.scope.as_str()
            )
        };
        let agents: Vec<String> = answer.agents.iter().filter_map(seen::line).collect();
        let between = if agents.is_empty() { "" } else { "\n" };
        let lines: String = answer.settings.iter().map(line).collect();
        lines + between + &agents.concat()
    })?;
    Ok(Exit::Done)
}
