//! The command `aye wait`.

use std::time::{Duration, Instant};

use super::propose::duration;
use super::selection::ProposalArg;
use super::{Context, Format, sync};
use crate::app::listing::Item;
use crate::app::remark_text;
use crate::app::wait::{self, Document, LaterRevision, until};
use crate::error::{Exit, Result};
use crate::proposal::event::RevisionReason;
use crate::proposal::state::title;
use crate::proposal::{ActorKind, ProposalId, Status};
use crate::store::{Space, Store};
use crate::text::escape;

/// The status is that of timeout(1).
const TIMED_OUT: i32 = 124;

/// Wait until a proposal is decided.
///
/// Exits with 0 when it is applied, 1 when it is rejected or expires, 4 when a reviewer requests
/// changes, 124 when the time is over. Standard output has the reason and the comments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye wait prop_m4k8n --timeout 10m
  aye wait prop_m4k8n --json && echo applied
  aye wait prop_m4k8n --sync 30s    # also hears an answer from another machine
  aye wait --any && aye review")]
pub struct Args {
    #[command(flatten)]
    which: ProposalArg,
    /// For people: wait until anything new is pending, a proposal or a revision of one, and print
    /// it.
    #[arg(long, conflicts_with_all = ["id", "latest"])]
    any: bool,
    /// Give up after this long (30s, 10m, 2h; 0 only looks); otherwise wait until it expires.
    #[arg(long, value_name = "TIME", value_parser = span)]
    timeout: Option<Duration>,
    /// Fetch other clones' decisions each time this is over (30s, 5m). Nothing is pushed.
    #[arg(long, value_name = "TIME", value_parser = span, conflicts_with = "any")]
    sync: Option<Duration>,
}

/// # Errors
/// `proposal_not_found`, `usage` for an invalid duration.
pub fn run(context: &mut Context, args: &Args) -> Result<Exit> {
    let limit = args.timeout;
    let store = context.store()?;
    if args.any {
        return any(context, &store, limit);
    }
    let known = |id| store.view()?.resolve(id);
    let id = match &args.which.id {
        // Another clone may have proposed it.
        Some(id) if args.sync.is_some() && known(id).is_err() => {
            sync::fetch(&store, context)?;
            known(id)?
        }
        Some(id) => known(id)?,
        None => match args.which.find(context, &store.view()?)? {
            Some(proposal) => proposal.id,
            None => return context.declined("nothing awaited"),
        },
    };
    let document = fetching(context, &store, &id, args)?;
    let Document { reason, comments, revised, .. } = &document;
    let is_told = reason.is_some() || !comments.is_empty() || revised.is_some();
    let is_text = is_told && context.format_or(Format::Text) == Format::Text;
    if is_text && context.actor(store.repository()).kind == ActorKind::Agent {
        context.note(&format!("note: {}", remark_text::TO_WEIGH));
    }
    context.emit(Format::Text, &document, || text(&document))?;
    Ok(match document.status {
        Status::Applied => Exit::Done,
        Status::Rejected | Status::Expired => Exit::Negative,
        Status::Pending if document.timed_out => context.ends_with(TIMED_OUT),
        Status::Pending => Exit::Refused,
    })
}

/// Waits, and fetches at the start and each time that `--sync` names.
fn fetching(context: &Context, store: &Store, id: &ProposalId, args: &Args) -> Result<Document> {
    if store.view()?.space(id)? == Space::Private {
        context.note(&format!("note: {id} is private: nobody outside of this clone can answer"));
    }
    let Some(interval) = args.sync else {
        return until(store, id, args.timeout, || context.clock());
    };
    let (started, mut is_told) = (Instant::now(), false);
    loop {
        if let Err(error) = sync::fetch(store, context)
            && !std::mem::replace(&mut is_told, true)
        {
            context.note(&format!("warning: {}; still waiting", escape::line(error.message())));
        }
        let left = args.timeout.map(|limit| limit.saturating_sub(started.elapsed()));
        let slice = left.map_or(interval, |left| left.min(interval)).max(Duration::from_secs(1));
        let slice = left.map_or(slice, |left| left.min(slice));
        let document = until(store, id, Some(slice), || context.clock())?;
        let is_over = args.timeout.is_some_and(|limit| started.elapsed() >= limit);
        if !document.timed_out || is_over {
            return Ok(document);
        }
    }
}

fn any(context: &mut Context, store: &Store, limit: Option<Duration>) -> Result<Exit> {
    let arrived = wait::any(store, limit, || context.clock())?;
    context.emit(Format::Text, &arrived, || {
        let line = |one: &Item| {
            let about = title(one.description.as_deref());
            let about = about.unwrap_or(&one.file_path);
            let (id, by) = (&one.proposal_id, escape::name(&one.proposed_by));
            let revision = if one.revisions > 1 { ", revised" } else { "" };
            format!("{id}  by {by}{revision}: {}\n", escape::line(about))
        };
        arrived.proposals.iter().map(line).collect()
    })?;
    Ok(if arrived.timed_out { context.ends_with(TIMED_OUT) } else { Exit::Done })
}

fn span(text: &str) -> std::result::Result<Duration, String> {
    if matches!(text, "0" | "0s" | "0m" | "0h") {
        return Ok(Duration::ZERO);
    }
    duration(text)?.to_std().map_err(|error| error.to_string())
}

fn text(document: &Document) -> String {
    let what = match (document.status, document.changes_requested) {
        (Status::Pending, true) => "changes requested",
        (status, _) => status.as_str(),
    };
    let by = document.actor.as_ref().map(|by| format!(" by {}", remark_text::name(by)));
    let mut text = format!("{} {what}{}\n", document.proposal_id, by.unwrap_or_default());
    if document.timed_out {
        text = format!("{} is still pending\n", document.proposal_id);
    }
    if document.status == Status::Pending && document.changes_requested {
        let id = &document.proposal_id;
        text += &format!("next: aye revise {id} …, or in a session: edit its files\n");
    }
    for line in document.reason.iter().flat_map(|reason| remark_text::indented(reason, "  ")) {
        text += &format!("{line}\n");
    }
    if let Some(LaterRevision { actor, reason, diff, .. }) = &document.revised {
        let what = match reason {
            RevisionReason::Partial => "partially applied",
            RevisionReason::Rebase => "rebased",
            RevisionReason::Edited => "edited",
            _ => "revised",
        };
        text += &format!("{what} by {}, which changed yours so:\n", remark_text::name(actor));
        match diff {
            Some(diff) => text += diff,
            None => text += "  (its content is not in this clone)\n",
        }
    }
    if !document.undecided_revisions.is_empty() {
        text += "the decision does not include your later revision: propose it again if it is still needed\n";
    }
    let is_pending = document.status == Status::Pending;
    for remark in &document.comments {
        for line in remark_text::comment(&document.proposal_id, remark, is_pending) {
            text += &format!("{line}\n");
        }
    }
    text
}
