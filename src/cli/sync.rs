//! The command `aye sync`.

use serde::Serialize;

use super::authorisation::AuthorityRequest;
use super::{Context, Format};
use crate::error::{Error, Exit, Result};
use crate::proposal::event::Evidence;
use crate::proposal::rules::Verb;
use crate::store::{Filter, Store, Summary};
use crate::sync::disclosure::{Disclosure, disclosure};
use crate::sync::{self, RefusedRef, SyncAnswer, SyncRequest, codes};
use crate::text::{counted, escape};

/// Proposals that are listed after a fetch.
const MOST: usize = 10;

/// Exchange proposals and decisions with other clones, through a remote.
///
/// Fetches the proposals of other clones, and pushes this clone's shared proposals to a directory of
/// its own (refs/aye/by/), never forced. Branches stay as they are. A person enables each remote
/// once (--enable); aye pushes nothing before. Agents and build machines fetch (--fetch). Without
/// news, aye prints nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye sync --enable origin
  aye sync
  aye sync --fetch

aye keeps refs that the remote has lost in refs/aye/kept/. If a copy of this clone uses the same name
(aye.clone), this clone takes a new one. Exits with 4 if the remote lacks some of the proposals.")]
pub struct Args {
    /// Remote; without it, those of aye.syncRemote.
    remote: Option<String>,
    /// Only fetch.
    #[arg(long, conflicts_with = "enable")]
    fetch: bool,
    /// Share this clone's proposals with the remote from now on, after a question that lists them.
    #[arg(long, requires = "remote")]
    enable: bool,
    /// With --enable: do not ask.
    #[arg(long, short = 'y', requires = "enable")]
    yes: bool,
}

impl Args {
    pub(super) fn pushes(&self) -> bool {
        !self.fetch
    }
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Document {
    /// `aye/sync@1`
    pub schema: &'static str,
    /// One answer for each remote.
    pub remotes: Vec<SyncAnswer>,
}

/// # Errors
/// `sync_not_enabled`, `remote_not_found`, `remote_failed`, `human_approval_required`,
/// `confirmation_required`.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let mut store = context.store()?;
    let verb = if args.fetch { Verb::Fetch } else { Verb::Push };
    let named = args.remote.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    let command = if args.fetch { "aye sync --fetch" } else { "aye sync" };
    let asking = AuthorityRequest {
        verb,
        proposals: &[],
        yes: true,
        question: "",
        command: &format!("{command}{named}"),
    };
    let mut first = SyncAnswer::default();
    if !args.enable {
        context.grant(&store, &asking, &Evidence::Flag)?;
    } else if let Some(remote) = &args.remote {
        match enable(context, &store, remote, args.yes)? {
            Some(fetched) => first = fetched,
            None => return context.declined("nothing sent, and nothing enabled"),
        }
        // Its configuration has changed.
        store = context.store()?;
    }
    let remotes = remotes(&store, args.remote, args.fetch)?;
    let (mut answers, mut failed) = (Vec::new(), None);
    for remote in &remotes {
        let prompts = context.is_attended() && !context.quiet;
        let request = SyncRequest { remote, push: !args.fetch, prompts, now: context.now };
        match sync::sync(&store, &request) {
            Ok(mut answer) => {
                answer.received.append(&mut first.received);
                answer.kept.append(&mut first.kept);
                answers.push(answer);
            }
            Err(error) if remotes.len() > 1 => {
                context.report_on_stderr(&error);
                failed = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    let document = Document { schema: "aye/sync@1", remotes: answers };
    let new = received(&store, context, &document)?;
    for answer in &document.remotes {
        notes(context, answer);
    }
    context.emit(Format::Text, &document, || text(&document, &new))?;
    match failed {
        Some(error) => Ok(error.code().exit),
        None if document.remotes.iter().all(|answer| answer.refused.is_empty()) => Ok(Exit::Done),
        None => Ok(Exit::Refused),
    }
}

/// # Errors
/// `sync_not_enabled`, `remote_not_found`.
fn remotes(store: &Store, named: Option<String>, is_fetch: bool) -> Result<Vec<String>> {
    let enabled = store.enabled_remotes();
    let wanted = match named {
        Some(name) => vec![name],
        None if enabled.is_empty() => store.sync_remotes(),
        None => enabled.clone(),
    };
    for name in &wanted {
        sync::require_remote(store, name)?;
    }
    let missing = wanted.iter().find(|name| !enabled.contains(name));
    match (missing, wanted.is_empty()) {
        (_, true) => sync::require_remote(store, "origin").map(|()| wanted),
        (Some(name), _) if !is_fetch => Err(Error::new(
            &codes::SYNC_NOT_ENABLED,
            format!("this clone does not share its proposals with {name}"),
        )
        .hint(format!("aye sync --enable {name}; to fetch alone: aye sync --fetch {name}"))),
        _ => Ok(wanted),
    }
}

/// A command that `aye sync` follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Decide,
    Propose,
}

/// Exchanges threads after a command, where a person has set `aye.syncAfter`. A failure is a
/// warning: what the command has recorded stays, and the next sync sends it.
pub(super) fn after(context: &mut Context, moment: Moment) {
    let is_wanted = match context.sync_after.take().as_deref() {
        None => false,
        Some("decide") => moment == Moment::Decide,
        Some("propose") => true,
        Some(other) => {
            let other = escape::line(other);
            context.note(&format!("warning: aye.syncAfter is '{other}', not decide or propose"));
            false
        }
    };
    if !is_wanted {
        return;
    }
    let Ok(store) = context.store() else { return };
    if store.is_in_trial() || store.require_clone().is_err() {
        return;
    }
    for remote in store.enabled_remotes() {
        let request = SyncRequest { remote: &remote, push: true, prompts: false, now: context.now };
        match sync::sync(&store, &request) {
            Ok(answer) => notes(context, &answer),
            Err(error) => context.note(&format!(
                "warning: {}: {}; recorded here, and the next `aye sync` sends it",
                error.code().id,
                escape::line(error.message())
            )),
        }
    }
}

/// Fetches from all remotes that are shared with, for a command that waits. Returns the first
/// error.
pub(super) fn fetch(store: &Store, context: &Context) -> Result<()> {
    let mut failed = Ok(());
    for remote in remotes(store, None, true)? {
        let now = context.clock();
        let request = SyncRequest { remote: &remote, push: false, prompts: false, now };
        failed = failed.and(sync::sync(store, &request).map(drop));
    }
    failed
}

/// Shows what would be seen, asks, and writes the configuration. Returns what was fetched, or
/// `None` after a no.
fn enable(
    context: &mut Context,
    store: &Store,
    remote: &str,
    yes: bool,
) -> Result<Option<SyncAnswer>> {
    let asking = AuthorityRequest {
        verb: Verb::Enable,
        proposals: &[],
        yes,
        question: &format!("Share with {remote} now, and with each `aye sync`?"),
        command: &format!("aye sync --enable {remote}"),
    };
    let by_flag = context.authorise_by_flag(store, &asking)?;
    let prompts = context.is_attended() && !context.quiet;
    sync::probe::probe(store, remote, prompts)?;
    let request = SyncRequest { remote, push: false, prompts, now: context.now };
    let fetched = sync::sync(store, &request)?;
    let shown = disclosure(store, &store.view()?, remote, context.now)?;
    lines(remote, &shown).iter().for_each(|line| context.note(line));
    if context.authorise_by_question(store, &asking, by_flag)?.is_none() {
        return Ok(None);
    }
    if !store.enabled_remotes().iter().any(|name| name == remote) {
        let git = store.repository().git()?;
        git.args(["config", "--local", "--add", "aye.syncRemote", remote]).run()?;
    }
    Ok(Some(fetched))
}

fn lines(remote: &str, shown: &Disclosure) -> Vec<String> {
    let Disclosure { url, proposals, pending, files, private, unpublished, warnings } = shown;
    let mut lines = vec![match proposals {
        0 => format!("{remote} ({}): nothing is shared yet", escape::line(url)),
        _ => format!(
            "{remote} ({}): who can read it will see {} ({pending} pending), all that was said \
             and decided on them, and {} with their whole content",
            escape::line(url),
            counted(*proposals, "proposal"),
            counted(*files, "file"),
        ),
    }];
    for (id, path) in unpublished {
        let path = escape::name(&path.display().to_string());
        lines.push(format!("{id}: {path} as it was before is in no commit of {remote}"));
    }
    let warning =
        |it: &crate::scan::gate::ScanWarning| format!("warning: {}", escape::line(&it.line()));
    lines.extend(warnings.iter().map(warning));
    if *private > 0 {
        lines.push(format!("{} private: not sent", counted(*private, "proposal")));
    }
    lines
}

/// The proposals with events that were fetched.
fn received(store: &Store, context: &Context, document: &Document) -> Result<Vec<Summary>> {
    if document.remotes.iter().all(|answer| answer.received.is_empty()) {
        return Ok(Vec::new());
    }
    let is_new = |summary: &Summary| {
        document.remotes.iter().any(|answer| answer.received.contains(&summary.thread))
    };
    let all = store.view()?.proposals(&Filter::default(), context.now)?;
    Ok(all.into_iter().filter(is_new).collect())
}

/// Prints what was repaired, and what was not sent.
pub(super) fn notes(context: &Context, answer: &SyncAnswer) {
    let remote = &answer.remote;
    if let Some(clone) = &answer.clone {
        context.note(&format!(
            "note: somebody else writes under this clone's name at {remote}, as a copy of it does: \
             aye.clone is {clone} now"
        ));
    }
    for name in &answer.kept {
        context.note(&format!("note: {remote} has lost events; kept as {name}"));
    }
    for RefusedRef { code, name, proposal_id, why } in &answer.refused {
        let what = proposal_id.as_deref().unwrap_or(name);
        context.note(&format!("warning: {code}: {what} was not sent: {}", escape::line(why)));
        if *code == codes::NOT_SENDABLE.id {
            context.note(&format!("hint: aye purge {what} -m TEXT removes it for good"));
        }
    }
}

fn text(document: &Document, new: &[Summary]) -> String {
    let mut text = String::new();
    for answer in &document.remotes {
        let counts = [
            (answer.received.len(), "received"),
            (answer.sent.len(), "sent"),
            (answer.deleted, "closed there"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
        if !counts.is_empty() {
            text += &format!("{}: {}\n", answer.remote, counts.join(", "));
        }
    }
    for summary in new.iter().take(MOST) {
        let about = summary.title();
        let about = escape::line(about.unwrap_or(&summary.path));
        let status = if summary.contested { "contested" } else { summary.status.as_str() };
        let (id, by) = (&summary.id, escape::name(&summary.proposed_by));
        text += &format!("  {id}  {status}  {about} (proposed by {by})\n");
    }
    if new.len() > MOST {
        text += &format!("  and {} more: aye list\n", new.len() - MOST);
    }
    text
}
