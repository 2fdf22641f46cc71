//! `aye review`: walk pending proposals and decide, hunk by hunk.

mod host;

use super::filters::FilterArgs;
use super::{Context, idle_stamp, marks, pager, session};
use crate::app::review::{self, ReviewQueue, ReviewStore};
use crate::cli::selection::{self, ProposalArgs};
use crate::error::{Error, Exit, Result};
use crate::proposal::{ActorKind, ProposalId, Status};
use crate::render::overview;
use crate::repository::Repository;
use crate::review::terminal::{self, End};
use crate::store::Summary;
use crate::text::escape;

/// Review pending proposals at the terminal: take, leave, split, edit, comment, hunk by hunk.
///
/// More than three pending proposals begin with a list: arrows move, Enter opens, / filters, s
/// sorts, A applies a group. Marked proposals come first in their group. The last screen shows the
/// marks and the files before and after; aye writes nothing before you confirm it. If you quit, aye
/// asks: write, keep or drop the answers. The next review continues from kept answers if the
/// revision is the same. Some hunks of a proposal become a new revision with exactly these hunks.
/// Without a terminal, aye prints the pending proposals and exits with 4.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye review                 every pending proposal
  aye review m4k8             this one
  aye review --overview      the list first
  aye review --path src/     those that change something below src/
  aye review --split-rest    the hunks not taken become a new proposal

Keys (? at each question explains those that apply):
  y n     take this hunk, or do not      a d     the same for the rest of the file
  A       take the rest of the proposal; a, d and A keep each n
  s l e   split, take single lines, edit in your editor
  R x c   reject with a reason, request changes, comment on lines
  j k g   next and previous hunk, go to one; / searches
  < >     previous and next proposal; L lists all of them
  w W     without changes of whitespace; word by word
  + - o p more or fewer lines around, the whole file, the whole proposal in the pager
  t       run aye.tryCommand on what is taken so far
  u q     undo the last decision; quit: write, keep or drop what is decided")]
pub struct Args {
    #[command(flatten)]
    pub these: ProposalArgs,
    /// Make the hunks that are not applied a new pending proposal.
    #[arg(long)]
    pub split_rest: bool,
    /// Begin with the list, as with more than three pending proposals.
    #[arg(long)]
    pub overview: bool,
    /// Also stage the applied changes.
    #[arg(long)]
    pub index: bool,
    /// Unchanged lines around changes.
    #[arg(short = 'U', long, value_name = "N")]
    pub unified: Option<usize>,
    #[command(flatten)]
    pub filters: FilterArgs,
}

/// None that decides: without a terminal, the caller may be an agent that aye does not recognise.
fn commands(id: &str) -> String {
    format!("  aye show {id}\n  aye diff {id} --hunks\n")
}

const FEW: usize = 3;

/// # Errors
/// `proposal_not_found`; `not_pending` for an id that was named.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let exit = review_all(context, args)?;
    session::note_unproposed(context);
    Ok(exit)
}

fn review_all(context: &mut Context, mut args: Args) -> Result<Exit> {
    let store = context.store()?;
    let actor = context.actor(store.repository());
    let view = store.view()?;
    if args.these.latest {
        args.these.ids.push(selection::latest(&view, context.now)?.id.to_string());
    }
    let filter = args.filters.clone().filter(Some(Status::Pending));
    let found = review::found(&store, &view, context.now, &args.these.ids, filter.clone())?;
    let (tickets, sent_back) = (&found.tickets, found.all.len() - found.tickets.len());
    if sent_back > 0 {
        let were = if sent_back == 1 { "proposal was" } else { "proposals were" };
        context.note(&format!("{sent_back} {were} sent back and not revised (aye)"));
    }
    if tickets.is_empty() {
        context.note("nothing is pending");
        idle_stamp::fetched(context, &store, &view);
        return Ok(Exit::Done);
    }
    if actor.kind == ActorKind::Agent || !context.interactive() {
        if args.overview {
            print_overview(context, store.repository(), &found)?;
        } else {
            print_waiting(context, &found)?;
        }
        return Ok(refuse(context, tickets.len(), actor.kind));
    }
    let known = found.known.clone();
    let mut options = pager::options(context, store.repository());
    if let Some(lines) = args.unified {
        options.context = lines;
    }
    let overview = args.overview || (args.these.ids.is_empty() && tickets.len() > FEW);
    let (name, tickets) = (actor.name.clone(), tickets.clone());
    let desk = ReviewStore::new(&store, &view, actor.clone(), found);
    drop(view);
    let mut host = host::CliHost::new(context, &store, actor, &args, desk);
    let end = terminal::run(console::Term::stdout(), &mut host, tickets, options, overview)?;
    let arrived = review::arrived(&store, context.clock(), filter, &known, &name)?;
    note(context, &arrived.new, ("proposal came in", "proposals came in"));
    note(context, &arrived.revised, ("proposal was revised", "proposals were revised"));
    Ok(match end {
        End::Done | End::Quit => Exit::Done,
        End::Failed => Exit::Conflict,
        // A shell reports Ctrl-C like this.
        End::Interrupted => context.ends_with(130),
    })
}

fn print_overview(
    context: &mut Context,
    repository: &Repository,
    found: &ReviewQueue,
) -> Result<Exit> {
    let palette = pager::palette(context, repository);
    let columns = pager::columns().unwrap_or(marks::PRINTED);
    let slot = |id: &ProposalId| found.tickets.iter().position(|ticket| ticket.id == *id);
    let groups = marks::grouped(&found.all, &found.marks, context.now, slot);
    let text = overview::overview(&groups, &palette, columns, usize::MAX);
    context.print(text.as_bytes())
}

const MOST_NAMED: usize = 3;

fn note(context: &Context, found: &[Summary], (one, several): (&str, &str)) {
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
    if !found.is_empty() {
        let (count, named) = (found.len(), named.join(", "));
        context.note(&format!("{count} {what} meanwhile: {named}{more} (aye review)"));
    }
}

fn print_waiting(context: &mut Context, found: &ReviewQueue) -> Result<Exit> {
    let mut out = String::new();
    let is_few = found.tickets.len() <= FEW;
    for ticket in &found.tickets {
        let Some(summary) = found.all.iter().find(|summary| summary.id == ticket.id) else {
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
        if is_few {
            out += &commands(ticket.id.as_str());
        }
    }
    if !is_few {
        out += &commands("ID");
    }
    context.print(out.as_bytes())
}

fn refuse(context: &mut Context, pending: usize, kind: ActorKind) -> Exit {
    let plural = if pending == 1 { " is" } else { "s are" };
    let why = match kind {
        ActorKind::Agent => "an agent decides on none of them",
        _ => "there is nobody at a terminal to ask",
    };
    let message = format!("{pending} proposal{plural} pending, and {why}");
    let error = Error::new(&crate::proposal::codes::TERMINAL_REQUIRED, message);
    context.report(&error.hint("ask your user to run: aye review"));
    Exit::Refused
}
