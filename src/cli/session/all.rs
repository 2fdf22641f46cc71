//! All sessions of a repository, and their end.

use chrono::Duration;

use super::{lines, submit};
use crate::app::ending::{end, finish, refuse_unsubmitted};
use crate::app::{recall, session};
use crate::cli::Context;
use crate::error::Result;
use crate::proposal::{Proposal, Status};
use crate::repository::{Repository, idle};
use crate::session::ignored_files::IgnoredFiles;
use crate::session::session_store::{SessionLock, SessionState};
use crate::session::{SessionRecord, SessionStore, codes};
use crate::store::Store;
use crate::text::escape;

/// # Errors
/// `private_dir_unsafe`
pub(in crate::cli) fn names(context: &Context, repository: &Repository) -> Result<Vec<String>> {
    Ok(home(context, repository)?.map(|home| home.names()).unwrap_or_default())
}

/// `None` without a state directory or a session.
fn home(context: &Context, repository: &Repository) -> Result<Option<SessionStore>> {
    let Ok(state) = context.state_directory() else { return Ok(None) };
    let home = SessionStore::open(repository.common_dir(), &state)?;
    home.iter().for_each(|home| drop(finish(repository, home)));
    Ok(home)
}

/// # Errors
/// `session_live`, `session_unsubmitted`
pub(in crate::cli) fn hold_all(
    context: &Context,
    store: &Store,
) -> Result<Vec<(SessionLock, IgnoredFiles)>> {
    let Some(home) = home(context, store.repository())? else { return Ok(Vec::new()) };
    let hold = |name: String| {
        let held = home.hold(&name)?;
        let strays = refuse_unsubmitted(store, &home, &name)?;
        Ok((held, strays))
    };
    home.names().into_iter().map(hold).collect()
}

pub(in crate::cli) fn end_all(
    context: &Context,
    repository: &Repository,
    held: Vec<(SessionLock, IgnoredFiles)>,
) -> Result<()> {
    let Some(home) = home(context, repository)? else { return Ok(()) };
    for (held, strays) in held {
        let found = end(repository, &home, held, &strays, context.now)?;
        lines::ignored_lines(&found).iter().for_each(|line| context.note(line));
    }
    Ok(())
}

/// Submits what sessions hold whose agents are gone, and removes trees that hold nothing more, but
/// those of `aye run --keep`. Returns lines for the person.
pub(in crate::cli) fn settle(
    context: &Context,
    repository: &Repository,
    home: &SessionStore,
    besides: Option<&str>,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut names = home.names();
    names.retain(|name| besides != Some(name) && is_dead(home, name));
    for name in names.iter().take(MOST) {
        let settled = settle_one(context, repository, home, name, &mut lines);
        if let Err(error) = settled {
            lines.push(format!("aye: session {name}: {}", escape::line(error.message())));
        }
    }
    lines
}

/// Trees looked at by one command.
const MOST: usize = 16;

fn is_dead(home: &SessionStore, name: &str) -> bool {
    let client = home.record(name).ok().and_then(|record| record.client);
    home.state(name) == SessionState::Left && client.is_some_and(|client| client.is_gone())
}

fn settle_one(
    context: &Context,
    repository: &Repository,
    home: &SessionStore,
    name: &str,
    lines: &mut Vec<String>,
) -> Result<()> {
    let directory = repository.work_dir();
    let mut store = Store::discover(directory.as_deref().unwrap_or(repository.common_dir()))?;
    let mut record = recall::record(&store, home, name)?;
    if !record.is_settled {
        store.run_by(record.run.clone());
        let done = submit(context, &store, home, name, &record.agent, None)?;
        let summary = lines::summary(&done);
        if !summary.is_empty() {
            lines.push(format!("aye: session {name} was left by its agent:"));
        }
        lines.extend(summary);
        session::settle(home, name, &done);
        record = home.record(name)?;
    }
    // An editor loads its session again.
    let is_kept = record.is_kept || record.acp.is_some();
    if !record.is_settled || is_kept || is_awaited(context, &store, &record)? {
        return Ok(());
    }
    let held = home.hold(name)?;
    let Ok(strays) = refuse_unsubmitted(&store, home, name) else { return Ok(()) };
    let found = end(repository, home, held, &strays, context.now)?;
    lines.extend(lines::ignored_lines(&found));
    Ok(())
}

/// Time in which an agent may come back for the outcome of its proposal.
const TO_COME_BACK: Duration = Duration::days(1);

/// True if the last proposal is pending, or its agent may still come to hear the outcome. Outcomes
/// that were reported leave no proposal in the record.
fn is_awaited(context: &Context, store: &Store, record: &SessionRecord) -> Result<bool> {
    let last = last_proposal(store, record)?;
    let decided = last.as_ref().and_then(Proposal::decision);
    let is_recent = decided.is_some_and(|decision| context.now - decision.at < TO_COME_BACK);
    Ok(is_recent || is_pending(context, last.as_ref()))
}

fn is_pending(context: &Context, proposal: Option<&Proposal>) -> bool {
    proposal.is_some_and(|proposal| proposal.status(context.now) == Status::Pending)
}

fn last_proposal(store: &Store, record: &SessionRecord) -> Result<Option<Proposal>> {
    let Some(id) = &record.proposal else { return Ok(None) };
    Ok(store.view()?.find(id).ok())
}

/// Ends the sessions of which everything is proposed and decided; returns their names.
///
/// # Errors
/// As [`end`].
pub(super) fn end_done(
    context: &Context,
    store: &Store,
    home: &SessionStore,
) -> Result<Vec<String>> {
    let mut ended = Vec::new();
    for name in home.names() {
        let Ok(record) = recall::record(store, home, &name) else { continue };
        let Ok(held) = home.hold(&name) else { continue };
        if is_pending(context, last_proposal(store, &record)?.as_ref()) {
            continue;
        }
        let Ok(strays) = refuse_unsubmitted(store, home, &name) else { continue };
        let found = end(store.repository(), home, held, &strays, context.now)?;
        lines::ignored_lines(&found).iter().for_each(|line| context.note(line));
        ended.push(name);
    }
    Ok(ended)
}

/// One line about work that is not proposed. Opens no repository as long as no session may hold any.
pub(in crate::cli) fn note_unproposed(context: &Context) {
    let common = idle::common_dir(&context.directory, |name| context.var(name));
    let home = common.zip(context.state_directory().ok());
    let home = home.and_then(|(common, state)| SessionStore::open(&common, &state).ok().flatten());
    let Some(home) = home else { return };
    let may_hold = |name: &String| {
        home.state(name) == SessionState::Left
            && home.record(name).is_ok_and(|record| !record.is_settled)
    };
    let names: Vec<String> = home.names().into_iter().filter(may_hold).take(MOST).collect();
    if names.is_empty() {
        return;
    }
    let Ok(store) = Store::discover(&context.directory) else { return };
    let holds = |name: &&String| {
        refuse_unsubmitted(&store, &home, name)
            .is_err_and(|error| error.is(&codes::SESSION_UNSUBMITTED))
    };
    match names.iter().filter(holds).collect::<Vec<_>>()[..] {
        [] => {}
        [name] => context.note(&format!(
            "aye: 1 session holds work that is not proposed: aye session submit {name}"
        )),
        ref several => context.note(&format!(
            "aye: {} sessions hold work that is not proposed: aye session list",
            several.len()
        )),
    }
}
