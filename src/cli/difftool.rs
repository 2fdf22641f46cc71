//! `aye diff --tool`: git's difftool on a proposal's commit.

use chrono::{DateTime, Utc};

use super::Context;
use crate::error::{Error, Exit, Result, codes};
use crate::proposal::Proposal;
use crate::repository::Repository;
use crate::store::Store;

/// The default is the user's own configuration; `None` for an invalid name.
pub fn name(repository: &Repository, asked: &str) -> Option<String> {
    let own = |key: &str| repository.trusted_config(key);
    let configured = || own("diff.tool").or_else(|| own("merge.tool"));
    let name = Some(asked.to_owned()).filter(|name| !name.is_empty()).or_else(configured);
    let is_name = |name: &String| {
        !name.starts_with('-')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    name.filter(is_name)
}

/// Ignores the repository's own configuration of tools: an agent may be able to write it.
///
/// # Errors
/// `not_pending`; `usage` without a configured tool.
pub fn run(context: &mut Context, store: &Store, proposal: &Proposal, asked: &str) -> Result<Exit> {
    let status = start(store, proposal, asked, context.now)?;
    Ok(if status == 0 { Exit::Done } else { context.ends_with(status) })
}

/// As [`run`]; returns the exit status.
pub fn start(store: &Store, proposal: &Proposal, asked: &str, now: DateTime<Utc>) -> Result<i32> {
    proposal.require_pending(now)?;
    let own = |key: &str| store.repository().trusted_config(key);
    let Some(name) = name(store.repository(), asked) else {
        return Err(Error::new(&codes::USAGE, "no difftool is configured")
            .hint("name one: --tool=NAME, or git config --global diff.tool NAME"));
    };
    let commit = store.pending_commit(&store.view()?, proposal, now)?;
    let mut git = store.repository().git()?;
    for kind in ["difftool", "mergetool"] {
        for what in ["cmd", "path"] {
            let key = format!("{kind}.{name}.{what}");
            git = git.config(&key, &own(&key).unwrap_or_default());
        }
    }
    let tool = format!("--tool={name}");
    let parent = format!("{commit}^1");
    git.args(["difftool", "--no-prompt", &tool, &parent, &commit]).attached()
}
