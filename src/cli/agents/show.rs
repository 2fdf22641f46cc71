//! `aye agents show`: settings with hooks, and agents gated by them.

use std::path::Path;

use super::file::read;
use super::hook_file::{HookFile, targets, top, trees_file};
use super::install::line;
use crate::actor::program_of;
use crate::cli::Context;
use crate::error::{Exit, Result};
use crate::harness::CLIENTS;

/// Exit status 1 without any hooks, or if an installed client has none or does not trust them.
pub fn show(context: &mut Context) -> Result<Exit> {
    if let Err(error) = context.state_directory() {
        context
            .note(&format!("{error}; hooks refuse edits until XDG_STATE_HOME names a directory"));
    }
    let (mut lines, mut installed) = (String::new(), Vec::new());
    for target in targets(context, top(context).as_deref()) {
        let text = read(&target.path)?.unwrap_or_default();
        if !target.is_in(&text)? {
            lines += &line(&target, "none");
            continue;
        }
        let is_trusted = trusted(context, &target, &text)?;
        let mut state = "installed".to_owned();
        state += if target.client.is_strict_in(&text) { ", strict" } else { "" };
        state += if is_trusted { "" } else { ", not trusted" };
        lines += &line(&target, &state);
        installed.push((target.client.name, is_trusted));
    }
    context.print(lines.as_bytes())?;
    let mut is_gated = !installed.is_empty();
    for client in CLIENTS
        .iter()
        .filter(|client| program_of(client.agent).is_some_and(|it| context.on_path(it).is_some()))
    {
        let name = client.name;
        let mut own = installed.iter().filter(|(client, _)| *client == name);
        let what = match (own.clone().next().is_some(), own.any(|(_, is_trusted)| *is_trusted)) {
            (_, true) => continue,
            (false, _) => format!("has no hooks: aye agents install {name}"),
            (true, _) => format!("does not trust its hooks: run /hooks in {name}, and trust aye's"),
        };
        is_gated = false;
        context.note(&format!("{name} is installed here, and {what}"));
    }
    Ok(if is_gated { Exit::Done } else { Exit::Negative })
}

/// False if the client requires a person's trust in the hooks and has none.
fn trusted(context: &Context, target: &HookFile, text: &str) -> Result<bool> {
    let config = trees_file(context, target.client).map(|file| read(&file)).transpose()?.flatten();
    let config = config.unwrap_or_default();
    let real = std::fs::canonicalize(&target.path).unwrap_or_else(|_| target.path.clone());
    let is_trusted = |path: &Path| target.client.is_trusted(&config, &path.to_string_lossy(), text);
    Ok(is_trusted(&target.path) != Some(false) || is_trusted(&real) != Some(false))
}
