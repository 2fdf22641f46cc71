//! The command `aye list`.

mod table;

use super::filters::{FilterArgs, StatusFilter};
use super::{Context, Format, idle_stamp, overview, pager, session};
use crate::app::listing::{List, ListFacts, PurgedItem, items};
use crate::error::{Exit, Result};
use crate::render::age;
use crate::store::{PurgeRecord, Store, Summary};
use crate::text::escape;

/// List proposals: the pending ones, in the order of review, unless asked for others.
///
/// The order is that of `aye review`: a proposal comes right behind the ones that it depends on,
/// then by risk, then the oldest first. Decided proposals come newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye list
  aye list --status all --path src --limit 20
  aye list --json | jq -r '.proposals[].proposal_id'
  aye list --count                          3 pending (1 conflict), 1 sent back
  PS1='\\w $(aye list --prompt)\\$ '         in bash: `aye 3` where 3 wait for you

Marks:
  !           a mark, such as a secret; `aye show` names it
  conflict    it conflicts with the files
  ↳ ID        depends on that proposal
  ⇄ ID        changes the same lines
  ✓, ✗1       results of `aye try`
  [to apply]  your unwritten answer in a review")]
pub struct Args {
    /// Proposals of this status.
    #[arg(long, value_enum, default_value = "pending", value_name = "STATUS")]
    pub status: StatusFilter,
    /// Print how many are pending (in conflict, expiring within a day), how many were sent back to
    /// their agents, and how many were decided differently in two clones.
    #[arg(long, conflicts_with_all = LISTED)]
    pub count: bool,
    /// For the prompt of a shell: `aye 3` where 3 wait for a person, and nothing otherwise, also
    /// where anything goes wrong.
    #[arg(long, conflicts_with_all = LISTED)]
    pub prompt: bool,
    #[command(flatten)]
    pub filters: FilterArgs,
}

/// Filters, which the counts do not take.
const LISTED: &[&str] = &["domain", "task", "by", "path", "kind", "limit"];

pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let is_plain = !args.count && !args.prompt;
    let exit = list(context, args)?;
    if is_plain && context.format_or(Format::Text) == Format::Text {
        session::note_unproposed(context);
    }
    Ok(exit)
}

fn list(context: &mut Context, args: Args) -> Result<Exit> {
    if args.count {
        return overview::count(context);
    }
    if args.prompt {
        return overview::prompt(context);
    }
    // Hooks and prompts ask this all day: avoid opening the repository.
    let usual = args.status == StatusFilter::Pending && args.filters.is_empty();
    if usual && idle_stamp::is_idle(context) {
        return print(context, None, &Listing::default());
    }
    let store = context.store()?;
    let _head = store.repository().pin_head();
    let is_all = args.status == StatusFilter::All && args.filters.is_empty();
    let limit = args.filters.limit;
    let mut filter = args.filters.filter(args.status.status());
    // The limit applies to the review order.
    let is_pending = args.status == StatusFilter::Pending;
    if is_pending {
        filter.limit = None;
    }
    let view = store.view()?;
    let summaries = view.proposals(&filter, context.now)?;
    if usual && summaries.is_empty() && view.contested(context.now)?.is_empty() {
        idle_stamp::stamp(context, &store, &view);
    }
    let purged = if is_all { view.purged()? } else { Vec::new() };
    let marks = ListFacts::of(&store, &view, context.now, &summaries)?;
    let mut summaries = marks.in_order(summaries);
    if let Some(limit) = limit.filter(|_| is_pending) {
        summaries.truncate(limit);
    }
    print(context, Some(&store), &Listing { status: args.status, summaries, marks, purged })
}

#[derive(Default)]
struct Listing {
    status: StatusFilter,
    summaries: Vec<Summary>,
    marks: ListFacts,
    purged: Vec<PurgeRecord>,
}

/// `store` is `None` if the stamp answered.
fn print(context: &mut Context, store: Option<&Store>, found: &Listing) -> Result<Exit> {
    if context.format_or(Format::Text) != Format::Text {
        let proposals = items(&found.summaries, &found.marks);
        let count = proposals.len();
        let purged = found.purged.iter().map(PurgedItem::from).collect();
        let list = List { schema: "aye/list@1", proposals, count, purged };
        return context.emit(Format::Text, &list, String::new);
    }
    let is_empty = found.summaries.is_empty() && found.purged.is_empty();
    let Some(store) = store.filter(|_| !is_empty) else {
        match found.status.status() {
            None => context.note("no proposals"),
            Some(status) => context.note(&format!("nothing {}", status.as_str())),
        }
        return Ok(Exit::Done);
    };
    let palette = pager::palette(context, store.repository());
    let mut text = if found.summaries.is_empty() {
        String::new()
    } else {
        table::render(found, &palette, context.now, pager::columns())
    };
    for record in &found.purged {
        let (by, age) = (escape::name(&record.by.name), age::ago(record.at, context.now));
        let reason = escape::line(&record.reason);
        text += &format!("{}  purged by {by} {age}: {reason}\n", record.id);
    }
    pager::page(context, Some(store.repository()), &text)
}
