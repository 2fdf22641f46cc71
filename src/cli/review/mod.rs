//! `aye review`: walk pending proposals and decide, hunk by hunk.

mod authors;
mod host;
mod plans;

use std::collections::HashMap;

use super::filters::FilterArgs;
use super::{Context, marks, pager};
use crate::app::listing::Marks;
use crate::changeset::hunks::Lines;
use crate::cli::which;
use crate::error::{Error, Exit, Result};
use crate::private::Directory;
use crate::proposal::{ActorKind, ProposalId, Status};
use crate::render::overview::{self, Group};
use crate::review::model::{Ticket, queue};
use crate::review::terminal::{self, End};
use crate::store::{Store, Summary, View};
use crate::text::escape;

/// Review pending proposals at the terminal: take, leave, split, edit, comment, hunk by hunk.
///
/// Those that carry marks come first: a secret, a file of CI or builds, orders to agents, hidden characters and
/// the like. The last screen shows the marks and what will be written, files now against files afterwards, and nothing is written before it is confirmed.
/// Quitting saves what was decided, and the next review goes on from it; an edit is shown again and
/// taken with a key of its own. Taking some hunks makes a new revision with exactly those and
/// applies it. Without a terminal, pending proposals are printed with the commands to decide them,
/// and the exit status is 4.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye review                 every pending proposal
  aye review m4k8             this one
  aye review --overview      all of them on one screen first
  aye review --path src/     those that change something below src/
  aye review --split-rest    the hunks not taken become a new proposal

Keys are listed at each prompt; ? explains those that apply.")]
pub struct Args {
    /// The proposals; any unique beginning of an id. All pending ones otherwise.
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// The newest one that is pending.
    #[arg(long, conflicts_with = "ids")]
    pub latest: bool,
    /// Make the hunks that are not applied a new pending proposal.
    #[arg(long)]
    pub split_rest: bool,
    /// Begin with an overview of all that is pending, as is usual where more than three are.
    #[arg(long)]
    pub overview: bool,
    /// Stage what is applied, too.
    #[arg(long)]
    pub index: bool,
    /// Unchanged lines around changes.
    #[arg(short = 'U', long, value_name = "N")]
    pub unified: Option<usize>,
    /// Which proposals.
    #[command(flatten)]
    pub filters: FilterArgs,
}

/// The commands that decide the proposal `id`, a line each: those that `kind` may run. `at` names the revision that
/// they are printed for, which `--yes` wants where there are several.
fn commands(id: &str, at: &str, kind: ActorKind) -> String {
    let look = format!("  aye show {id}\n  aye diff {id} --hunks\n");
    if kind == ActorKind::Agent {
        return look;
    }
    look + &format!(
        "  aye apply {at} --yes\n  aye apply {at} --hunks 1,3-5 --yes\n  \
           aye reject {id} --yes -m 'TEXT'\n  aye comment {id} --request-changes -m 'TEXT'\n"
    )
}

/// No more than these are reviewed without an overview first.
const FEW: usize = 3;

/// Runs the command.
///
/// # Errors
/// `proposal_not_found` and its kin, `not_pending` for an id that was named; those of the store.
pub fn run(context: &mut Context, mut args: Args) -> Result<Exit> {
    let store = context.store()?;
    let actor = context.actor(&store);
    let view = store.view()?;
    if args.latest {
        args.ids.push(which::latest(&view, context.now)?.id.to_string());
    }
    let Found { tickets, summaries, marks, all, known } = tickets(context, &store, &view, &args)?;
    let tickets = queue(tickets);
    let place: HashMap<&ProposalId, usize> =
        tickets.iter().enumerate().map(|(at, ticket)| (&ticket.id, at + 1)).collect();
    if tickets.is_empty() {
        context.note("nothing is pending");
        return Ok(Exit::Done);
    }
    if actor.kind == ActorKind::Agent || !context.interactive() {
        if args.overview {
            let groups = marks::grouped(&all, &marks, context.now, |id| place.get(id).copied());
            print_overview(context, &store, &groups)?;
        } else {
            print_waiting(context, &view, &tickets, &summaries, actor.kind)?;
        }
        return Ok(refuse(context, tickets.len(), actor.kind));
    }
    let number = |summary: &Summary| (summary.id.clone(), place.get(&summary.id).copied());
    let numbers = all.iter().map(number).collect();
    let first = host::Looked::at_first(&store, &view, marks, all);
    drop(view);
    let snapshot = store.repo().config_snapshot();
    let mut options = pager::options(context, Some(snapshot.plumbing()));
    if let Some(lines) = args.unified {
        options.context = lines;
    }
    let overview = args.overview || (args.ids.is_empty() && tickets.len() > FEW);
    let name = actor.name.clone();
    let mut host = host::CliHost::new(context, &store, actor, &args, numbers, first);
    let end = terminal::run(console::Term::stdout(), &mut host, tickets, options, overview)?;
    for line in arrived(context, &store, &args, &known, &name)? {
        context.note(&line);
    }
    Ok(match end {
        End::Done | End::Quit => Exit::Done,
        End::Failed => Exit::Conflict,
        // As a shell says of a command that Ctrl-C ended.
        End::Interrupted => context.ends_with(130),
    })
}

/// The overview where nobody is asked.
fn print_overview(context: &mut Context, store: &Store, groups: &[Group]) -> Result<()> {
    let snapshot = store.repo().config_snapshot();
    let palette = pager::palette(context, Some(snapshot.plumbing()));
    let columns = pager::columns().unwrap_or(marks::PRINTED);
    let text = overview::overview(groups, &palette, columns, usize::MAX);
    context.print(text.as_bytes())
}

/// What there is to review.
struct Found {
    tickets: Vec<Ticket>,
    summaries: Vec<Summary>,
    marks: Marks,
    /// Those and, where none was named, the ones that were sent back, in the order of review.
    all: Vec<Summary>,
    /// All that is pending, with the current revision of each.
    known: Known,
}

/// Proposals, each with its current revision.
type Known = HashMap<ProposalId, String>;

/// Most proposals that are named in one line.
const MOST_NAMED: usize = 3;

/// What came in, and what was revised, while somebody called `reviewer` was reviewing what was `known`.
fn arrived(
    context: &Context,
    store: &Store,
    args: &Args,
    known: &Known,
    reviewer: &str,
) -> Result<Vec<String>> {
    let now = context.clock();
    let mut filter = args.filters.clone().filter(Some(Status::Pending));
    filter.limit = None;
    let pending = store.view()?.proposals(&filter, now)?;
    // What is left of a proposal that was taken in part is the reviewer's own doing.
    let others = || pending.iter().filter(|summary| summary.author != reviewer);
    let new = others().filter(|summary| !known.contains_key(&summary.id));
    let revised = others().filter(|s| known.get(&s.id).is_some_and(|was| *was != s.revision));
    let line = |found: Vec<&Summary>, (one, several): (&str, &str)| {
        let named = found.iter().take(MOST_NAMED).map(|summary| {
            let id = marks::short(&summary.id, summary.prefix);
            format!("{id} by {}", escape::name(&summary.proposed_by))
        });
        let named: Vec<String> = named.collect();
        let more = match found.len() - named.len() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        let what = if found.len() == 1 { one } else { several };
        let count = found.len();
        (count > 0)
            .then(|| format!("{count} {what} meanwhile: {}{more} (aye review)", named.join(", ")))
    };
    let lines = [
        line(new.collect(), ("proposal came in", "proposals came in")),
        line(revised.collect(), ("proposal was revised", "proposals were revised")),
    ];
    Ok(lines.into_iter().flatten().collect())
}

fn tickets(context: &Context, store: &Store, view: &View, args: &Args) -> Result<Found> {
    let mut wanted = Vec::new();
    for text in &args.ids {
        let id = view.resolve(text)?;
        view.proposal(&id)?.require_pending(context.now)?;
        wanted.push(id);
    }
    let mut filter = args.filters.clone().filter(Some(Status::Pending));
    filter.newest_first = false;
    let (mut tickets, mut found, mut sent_back) = (Vec::new(), Vec::new(), 0);
    store.fetch_pending(view)?;
    let summaries = view.proposals(&filter, context.now)?;
    let marks = Marks::of(store, view, context.now, &summaries)?;
    let all = marks.in_order(summaries);
    for summary in &all {
        // What was sent back waits for its agent; its next revision is in the queue again.
        let is_asked_for = match wanted.is_empty() {
            true => !summary.changes_requested,
            false => wanted.contains(&summary.id),
        };
        if is_asked_for {
            tickets.push(ticket(summary, &marks));
            found.push(summary.clone());
        } else if wanted.is_empty() {
            sent_back += 1;
        }
    }
    if sent_back > 0 {
        let were = if sent_back == 1 { "proposal was" } else { "proposals were" };
        context.note(&format!("{sent_back} {were} sent back and not revised (aye)"));
    }
    let known = all.iter().map(|summary| (summary.id.clone(), summary.revision.clone())).collect();
    let all = match wanted.is_empty() {
        true => all,
        false => found.clone(),
    };
    Ok(Found { tickets, summaries: found, marks, all, known })
}

fn ticket(summary: &Summary, marks: &Marks) -> Ticket {
    let mut ticket = Ticket::new(summary.id.clone(), summary.created_at);
    ticket.revision.clone_from(&summary.revision);
    ticket.lines = match summary.lines {
        Lines::Counted(counts) => u64::try_from(counts.added + counts.removed).unwrap_or(u64::MAX),
        Lines::NotByLines => u64::MAX,
        // Not here yet, and at least that many.
        Lines::NotHere => u64::try_from(summary.files).unwrap_or(u64::MAX),
    };
    ticket.lower = marks.lower(&summary.id).cloned().collect();
    ticket.marks = marks.of_proposal(&summary.id).to_vec();
    ticket
}

/// What is pending, with the commands that decide it, where nobody is asked.
fn print_waiting(
    context: &mut Context,
    view: &View,
    tickets: &[Ticket],
    summaries: &[Summary],
    kind: ActorKind,
) -> Result<()> {
    let mut out = String::new();
    for ticket in tickets {
        let Some(summary) = summaries.iter().find(|summary| summary.id == ticket.id) else {
            continue;
        };
        let text = summary.description.as_deref().unwrap_or("");
        out += &format!(
            "{}  {}  {}  {}\n",
            ticket.id,
            escape::name(&summary.proposed_by),
            escape::name(&summary.path),
            escape::line(text.lines().next().unwrap_or("")),
        );
        marks::lines(&ticket.marks).for_each(|line| out += &format!("  {line}\n"));
        if tickets.len() <= FEW {
            let at = match summary.revisions {
                1 => ticket.id.to_string(),
                _ => view.proposal(&ticket.id)?.at_revision(),
            };
            out += &commands(ticket.id.as_str(), &at, kind);
        }
    }
    if tickets.len() > FEW {
        out += &commands("ID", "ID", kind);
    }
    context.print(out.as_bytes())
}

/// Says why nobody is asked about `pending` proposals.
fn refuse(context: &mut Context, pending: usize, kind: ActorKind) -> Exit {
    let plural = if pending == 1 { " is" } else { "s are" };
    let why = match kind {
        ActorKind::Agent => "an agent decides on none of them",
        _ => "there is nobody at a terminal to ask",
    };
    let message = format!("{pending} proposal{plural} pending, and {why}");
    let hint = match kind {
        ActorKind::Agent => "ask your user to run: aye review",
        _ => "run `aye review` at a terminal, or decide with the commands above",
    };
    context.report(&Error::new(&crate::proposal::codes::TERMINAL_REQUIRED, message).hint(hint));
    Exit::Refused
}

/// Where decisions that are not confirmed yet are kept, if any ever were.
fn staged_dir(store: &Store) -> Result<Option<Directory>> {
    store.private()?.map_or(Ok(None), |private| private.inside("review"))
}

/// The file of one proposal in [`staged_dir`].
fn staged_name(id: &ProposalId) -> String {
    format!("{id}.json")
}
