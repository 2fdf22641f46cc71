//! The git hooks. Only a finding stops git; an error of aye is a warning, since a broken gate must
//! not lock people out of their repository.

use std::ffi::OsString;

use super::ref_updates::{self, RefUpdate};
use super::trailers;
use crate::check::{
    Concern, Requirement, Requirements, Scope, commits, contained_proposals,
    pending_paths::PendingPaths, range::Range, unsynced,
};
use crate::cli::output::failure_text;
use crate::cli::{Context, check};
use crate::error::{Error, Exit, Result};
use crate::git::COMMITTING;
use crate::hooks::Hook;
use crate::proposal::event::Committed;
use crate::proposal::trailers::Trailers;
use crate::proposal::{Note, Proposal};
use crate::report::{Finding, Level, Report, Rule};
use crate::store::{Sent, Space};
use crate::text::escape;

/// An error becomes a warning, and git goes on.
pub(super) fn run(context: &mut Context, hook: Hook, args: &[OsString]) -> Result<Exit> {
    let result = match hook {
        Hook::PreCommit => check::staged(context).and_then(|report| say(context, &report)),
        Hook::PrePush => pre_push(context, args).and_then(|report| say(context, &report)),
        Hook::CommitMsg => trailers::add(context, args).map(|()| Exit::Done),
        Hook::PostCommit => post_commit(context).map(|()| Exit::Done),
    };
    result.or_else(|error| {
        for line in failure_text(&error, None).lines() {
            context.note(&line.replacen("error[", "warning[", 1));
        }
        context.note(&format!("note: the {} hook of aye let git go on", hook.name()));
        Ok(Exit::Done)
    })
}

fn say(context: &mut Context, report: &Report) -> Result<Exit> {
    let findings = report.findings();
    if findings.iter().any(|finding| finding.level != Level::Note) {
        let exit = context.emit_report(report)?;
        if exit == Exit::Negative {
            context.note("hint: git's --no-verify goes ahead without this check");
        }
        return Ok(exit);
    }
    if let [first, rest @ ..] = findings {
        let more = match (rest.len(), &first.hint) {
            (0, hint) => hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default(),
            (more, _) => format!(", and {more} more like it (aye check)"),
        };
        context.note(&format!("note: {}{}", escape::line(&first.message), escape::line(&more)));
    }
    Ok(Exit::Done)
}

fn pre_push(context: &mut Context, args: &[OsString]) -> Result<Report> {
    let mut report = check::report().rules([Rule::new(
        "not_for_remote",
        "What is this clone's own is pushed to a remote",
        "`aye sync` sends what is shared",
    )]);
    let opened = context.store_here();
    let found = opened.as_ref().ok();
    let pushed = ref_updates::read(context, found.map(|store| store.repository()))?;
    if pushed.is_empty() {
        return Ok(report);
    }
    // First of all: content on the wrong remote cannot be recalled.
    for push in &pushed {
        let sent = Sent { local: &push.here, remote: &push.there };
        report.extend(sent.refusal().map(not_for_remote));
    }
    let Some(store) = found else {
        return Err(opened.err().unwrap_or_else(|| Error::bug("no store")));
    };
    let view = store.view()?;
    for push in &pushed {
        let is_private = view.space_of_commit(&push.local)? == Some(Space::Private);
        if is_private && report.findings().is_empty() {
            report.push(not_for_remote(format!("{} is an event of a private thread", push.local)));
        }
    }
    if !report.findings().is_empty() {
        return Ok(report);
    }
    // Commits that no remote has are checked; threads are pushed as they are.
    let is_thread =
        |push: &&RefUpdate| [&push.here, &push.there].iter().any(|it| it.starts_with("refs/aye/"));
    let pushed: Vec<&RefUpdate> = pushed.iter().filter(|push| !is_thread(push)).collect();
    let is_here = |id: &&str| {
        gix::ObjectId::from_hex(id.as_bytes())
            .is_ok_and(|id| store.repository().repo().has_object(id))
    };
    let known = pushed.iter().map(|push| push.remote.as_str()).filter(is_here);
    let sent = pushed.iter().map(|push| push.local.as_str());
    let arguments: Vec<&str> = sent.chain(["--not", "--remotes"]).chain(known).collect();
    let ids =
        if pushed.is_empty() { Vec::new() } else { commits::list(store.repository(), &arguments)? };
    // Anybody can add a differing decision, which must not block others' pushes.
    let fail_on = check::read_hook_fail_on(context, store.repository()).without(Concern::Contested);
    let scope = Scope::default();
    let pending = PendingPaths::new(&view, context.now, &scope, &[]);
    let now = context.now;
    let (view, pending, scope, fail_on) = (&view, &pending, &scope, &fail_on);
    let policy = store.repository().policy().unwrap_or_default();
    let required = &Requirements::new(Requirement::Nobody, &policy);
    let range = Range { store, view, pending, scope, now, fail_on, required };
    report.extend(range.findings(&ids)?);
    let require_synced = store.repository().settings()?.require_synced;
    let remote = remote(context, args).filter(|_| require_synced != Some(false));
    if let Some(remote) = remote {
        let is_required = require_synced == Some(true);
        report.extend(unsynced::finding(store, view, &ids, &remote, is_required)?);
    }
    Ok(report)
}

/// The remote's name. A URL has no refs here that say what it has.
fn remote(context: &Context, args: &[OsString]) -> Option<String> {
    let framework = context.var("PRE_COMMIT_REMOTE_NAME");
    let name = framework.or_else(|| args.first().filter(|name| args.get(1) != Some(name)).cloned());
    name?.into_string().ok()
}

fn not_for_remote(why: String) -> Finding {
    let hint = "`aye sync` sends what is shared; push nothing else below refs/aye";
    Finding::new("not_for_remote", Level::Error, why).hint(hint)
}

fn post_commit(context: &mut Context) -> Result<()> {
    // `apply --commit` records it, and holds the store's lock.
    if context.var(COMMITTING).is_some() {
        return Ok(());
    }
    let store = context.store_here()?;
    let view = store.view()?;
    // A trial's commit disappears with it.
    if !view.has_events() || store.require_clone().is_err() || store.is_in_trial() {
        return Ok(());
    }
    let Ok(head) = store.repository().repo().head_id() else { return Ok(()) };
    let commit = commits::read(store.repository(), head.detach())?;
    let id = commit.id.to_string();
    let is_new = |proposal: &Proposal| !proposal.committed().any(|known| *known == id);
    let mut held: Vec<Proposal> = Vec::new();
    if store.repository().settings()?.trailers == Trailers::None {
        held = contained_proposals::by_commit(&store, &view, &commit, context.now)?;
        held.retain(is_new);
    }
    for name in &commit.proposal_ids {
        if let Ok(proposal) = view.find(name)
            && is_new(&proposal)
            && contained_proposals::holds(&store, &view, &commit, &proposal)?
        {
            held.push(proposal);
        }
    }
    if held.is_empty() {
        return Ok(());
    }
    let actor = context.actor(store.repository());
    store.write(&actor, context.now, |writer| {
        for proposal in &held {
            let note = Note::Committed(Committed {
                commit: id.clone(),
                amended: Vec::new(),
                statement: None,
            });
            writer.note(Some(&proposal.id), note)?;
        }
        Ok(())
    })
}
