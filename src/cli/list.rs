//! `aye list`: proposals as a table.

use super::filters::{FilterArgs, Which};
use super::{Context, Format, idle, pager};
use crate::app::listing::{Gone, List, Marks, items};
use crate::error::{Exit, Result};
use crate::proposal::relations::Relations;
use crate::proposal::{ProposalId, Status};
use crate::render::age;
use crate::render::style::{Palette, Role};
use crate::render::table::{Align, Cell, Keep, Table};
use crate::store::{Audience, PurgeRecord, Store, Summary};
use crate::text::escape;

/// List proposals: the pending ones, newest first, unless asked for others.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye list
  aye list --status all --path src --limit 20
  aye list --json | jq -r '.proposals[].proposal_id'

The highlighted beginning of an id is enough to name the proposal. A `!` behind the status marks a
proposal that changes sensitive paths, removes files, or adds what
looks like a secret or misleads; `aye show` says which.")]
pub struct Args {
    /// Which proposals.
    #[arg(long, value_enum, default_value = "pending", value_name = "STATUS")]
    pub status: Which,
    /// Filters.
    #[command(flatten)]
    pub filters: FilterArgs,
}

/// Runs the command.
///
/// # Errors
/// Those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    // What hooks and prompts ask all day; the usual answer needs no look at the repository.
    let usual = args.status == Which::Pending && args.filters.is_empty();
    if usual && idle::is_idle(context) {
        return print(context, args.status, (&[], &Marks::default()), &[], None);
    }
    let store = context.store()?;
    let is_all = args.status == Which::All && args.filters.is_empty();
    let filter = args.filters.filter(args.status.status());
    let tips = usual.then(|| idle::tips(&store)).flatten();
    let view = store.view()?;
    let summaries = view.proposals(&filter, context.now)?;
    if let Some(tips) = tips
        && summaries.is_empty()
        && view.contested(context.now)?.is_empty()
    {
        idle::stamp(context, &store, &view, &tips, None);
    }
    let purged = match is_all {
        true => view.purged()?,
        false => Vec::new(),
    };
    let marks = Marks::of(&store, &view, context.now, &summaries)?;
    print(context, args.status, (&summaries, &marks), &purged, Some(&store))
}

/// Prints `summaries`, with what they have to do with each other, and what was `purged`, found in `store` by a question for `status`.
fn print(
    context: &mut Context,
    status: Which,
    (summaries, marks): (&[Summary], &Marks),
    purged: &[PurgeRecord],
    store: Option<&Store>,
) -> Result<Exit> {
    if context.format_or(Format::Text) != Format::Text {
        let proposals = items(summaries, marks);
        let count = proposals.len();
        let purged = purged.iter().map(Gone::from).collect();
        let list = List { schema: "aye/list@1", proposals, count, purged };
        context.emit(Format::Text, &list, String::new)?;
        return Ok(Exit::Done);
    }
    let Some(store) = store.filter(|_| !(summaries.is_empty() && purged.is_empty())) else {
        let what = match status {
            Which::All => "no proposals",
            which => match which.status().map(Status::as_str) {
                Some("pending") => "nothing pending",
                Some("applied") => "nothing applied",
                Some("rejected") => "nothing rejected",
                _ => "nothing expired",
            },
        };
        context.note(what);
        return Ok(Exit::Done);
    };
    let snapshot = store.repo().config_snapshot();
    let palette = pager::palette(context, Some(snapshot.plumbing()));
    let mut text = match summaries {
        [] => String::new(),
        _ => table(summaries, marks, &palette, context.now, pager::columns()),
    };
    for record in purged {
        let (by, age) = (escape::name(&record.by.name), age::short(record.at, context.now));
        let reason = escape::line(&record.reason);
        text += &format!("{}  purged by {by} {age} ago: {reason}\n", record.id);
    }
    pager::page(context, Some(snapshot.plumbing()), &text)?;
    Ok(Exit::Done)
}

/// The table that people see.
pub fn table(
    summaries: &[Summary],
    marks: &Marks,
    palette: &Palette,
    now: chrono::DateTime<chrono::Utc>,
    columns: Option<usize>,
) -> String {
    // Colour is never the only mark: without it the beginning has a column of its own.
    let plain = !palette.is_on();
    let mut titles = vec![
        ("SHORT", Align::Left),
        ("ID", Align::Left),
        ("STATUS", Align::Left),
        ("AGE", Align::Right),
        ("EXPIRES", Align::Right),
        ("BY", Align::Left),
        ("LINES", Align::Right),
        ("FILES", Align::Left),
        ("DESCRIPTION", Align::Left),
    ];
    if !plain {
        titles.remove(0);
    }
    let mut table = Table::new(&titles);
    // In turns: neither is worth much if the other takes all the room.
    for (description, files) in [(40, 28), (12, 14)] {
        table.shrinks("DESCRIPTION", description, Keep::Start);
        table.shrinks("FILES", files, Keep::End);
    }
    table.shrinks("BY", 6, Keep::Start);
    table.drops(&["AGE", "LINES", "BY", "DESCRIPTION", "EXPIRES", "SHORT"]);
    for summary in summaries {
        let short = plain.then(|| Cell::from(split(summary).0));
        table.row(
            short.into_iter().chain([
                id_cell(summary),
                status_cell(summary, marks),
                Cell::new(Role::Dim, age::short(summary.created_at, now)),
                match summary.status {
                    Status::Pending => Cell::new(Role::Dim, age::left(summary.expires_at, now)),
                    _ => Cell::from("-"),
                },
                Cell::from(escape::name(&by(summary))),
                Cell::new(Role::Good, format!("+{}", summary.added))
                    .and(Role::Plain, " ")
                    .and(Role::Bad, format!("−{}", summary.removed)),
                match summary.files {
                    0 | 1 => Cell::from(escape::name(&summary.path)),
                    files => Cell::from(format!("{files} files")),
                },
                Cell::from(escape::line(summary.description.as_deref().unwrap_or("")).into_owned()),
            ]),
        );
    }
    table.render(palette, columns)
}

/// The proposer, and who recorded it or wrote the current revision where that is somebody else.
fn by(summary: &Summary) -> String {
    let mut names = vec![summary.proposed_by.as_str()];
    for name in [summary.recorded_by.as_str(), summary.author.as_str()] {
        // A caller of a tool without a name of its own proposes as `agent`.
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(" / ")
}

/// The id with its unique beginning highlighted.
fn id_cell(summary: &Summary) -> Cell {
    let (unique, rest) = split(summary);
    Cell::new(Role::Dim, "prop_").and(Role::IdPrefix, unique).and(Role::Id, rest)
}

/// The code of the id, behind `prop_`, split behind its unique beginning.
fn split(summary: &Summary) -> (&str, &str) {
    let code = &summary.id.as_str()["prop_".len()..];
    code.split_at(summary.prefix.min(code.len()))
}

fn status_cell(summary: &Summary, marks: &Marks) -> Cell {
    let mut cell = match summary.status {
        Status::Pending if summary.marked.is_some() => {
            let word = summary.marked.as_deref().unwrap_or_default();
            Cell::new(Role::Warn, format!("marked {} by a tool, not approved", escape::line(word)))
        }
        Status::Pending if summary.changes_requested => Cell::new(Role::Warn, "changes requested"),
        Status::Pending => match summary.approvals.iter().filter(|found| found.counts).count() {
            0 => Cell::new(Role::Plain, "pending"),
            1 => Cell::new(Role::Good, "approved, pending"),
            count => Cell::new(Role::Good, format!("approved by {count}, pending")),
        },
        Status::Applied => Cell::new(Role::Good, "applied"),
        Status::Rejected => Cell::new(Role::Bad, "rejected"),
        Status::Expired => Cell::new(Role::Dim, "expired"),
    };
    if marks.risk(&summary.id).is_any() {
        cell = cell.and(Role::Warn, " !");
    }
    if summary.contested {
        cell = cell.and(Role::Warn, " contested");
    }
    match &summary.audience {
        Audience::Default => {}
        Audience::Private => cell = cell.and(Role::Dim, " private"),
        Audience::Remote(remote) => {
            cell = cell.and(Role::Dim, format!(" for {}", escape::name(remote)));
        }
    }
    if let Some(version) = &summary.needs {
        cell = cell.and(Role::Warn, format!(" needs aye >= {version}"));
    }
    if let Some(related) = marks.relations(&summary.id) {
        cell = relation_marks(cell, related);
    }
    match summary.checked {
        Some(0) => cell.and(Role::Good, " ✓"),
        Some(code) => cell.and(Role::Bad, format!(" ✗{code}")),
        None => cell,
    }
}

/// `↳ b9a` where it stands on another one, `⇄ b9a` where both touch the same lines.
fn relation_marks(mut cell: Cell, related: &Relations) -> Cell {
    let short =
        |id: &ProposalId| -> String { id.as_str()["prop_".len()..].chars().take(4).collect() };
    let more = |count: usize| if count > 1 { format!("+{}", count - 1) } else { String::new() };
    if let Some(lower) = related.stands_on.first() {
        let more = more(related.stands_on.len());
        cell = cell.and(Role::Dim, format!(" ↳ {}{more}", short(&lower.id)));
    }
    if let Some(other) = related.same_lines.named.first() {
        let more = more(related.same_lines.count);
        cell = cell.and(Role::Warn, format!(" ⇄ {}{more}", short(other)));
    }
    cell
}
