//! `aye list`: proposals as a table.

use super::filters::{FilterArgs, Which};
use super::{Context, Format, idle, marks, pager};
use crate::app::listing::{Gone, List, Marks, items};
use crate::error::{Exit, Result};
use crate::proposal::Status;
use crate::render::style::{Palette, Role};
use crate::render::table::{Align, Cell, Keep, Table};
use crate::render::{age, overview};
use crate::store::{PurgeRecord, Store, Summary, View};
use crate::text::escape;

/// List proposals: the pending ones, in the order of review, unless asked for others.
///
/// The order is that of `aye review`: what stands on other proposals right behind them, then by risk, then the
/// oldest first. What is decided comes newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye list
  aye list --status all --path src --limit 20
  aye list --json | jq -r '.proposals[].proposal_id'

Marks: ! deserves a second look (a secret, orders to agents, hidden characters, a file of CI, builds,
instructions or memory, a deletion and others; `aye show` says which), conflict does not fit the files as they are (compared where the
list is about 100 files at most; `aye status` counts all), ↳ ID stands on that one, ⇄ ID changes
the same lines as that one, ✓ or ✗1 it was tried, and the status where it is not the one that was
asked for.")]
pub struct Args {
    /// Which proposals.
    #[arg(long, value_enum, default_value = "pending", value_name = "STATUS")]
    pub status: Which,
    /// One group below the other.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub group: Option<By>,
    /// Filters.
    #[command(flatten)]
    pub filters: FilterArgs,
}

/// What proposals are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// The proposer.
    By,
    /// The task.
    Task,
    /// The session of the agent, where its harness names one.
    Session,
}

/// Runs the command.
///
/// # Errors
/// Those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    // What hooks and prompts ask all day; the usual answer needs no look at the repository.
    let usual = args.status == Which::Pending && args.filters.is_empty();
    if usual && idle::is_idle(context) {
        return print(context, args.status, (&[], &Marks::default()), &[], None, None);
    }
    let store = context.store()?;
    let is_all = args.status == Which::All && args.filters.is_empty();
    let limit = args.filters.limit;
    let mut filter = args.filters.filter(args.status.status());
    // The first of the order of review, which is not that of the store.
    let is_pending = args.status == Which::Pending;
    if is_pending {
        filter.limit = None;
    }
    // In one look: what is listed may be purged in the next moment.
    let view = store.look()?;
    let summaries = view.proposals(&filter, context.now)?;
    if usual && summaries.is_empty() && view.contested(context.now)?.is_empty() {
        idle::stamp(context, &store, &view, None);
    }
    let purged = match is_all {
        true => view.purged()?,
        false => Vec::new(),
    };
    let marks = Marks::of(&store, &view, context.now, &summaries)?;
    let mut summaries = marks.in_order(summaries);
    if let Some(limit) = limit.filter(|_| is_pending) {
        summaries.truncate(limit);
    }
    let group = args.group.map(|by| groups(&view, &summaries, by)).transpose()?;
    view.release();
    print(context, args.status, (&summaries, &marks), &purged, Some(&store), group)
}

/// Prints `summaries`, with what they have to do with each other, and what was `purged`, found in `store` by a question for `status`.
fn print(
    context: &mut Context,
    status: Which,
    (summaries, marks): (&[Summary], &Marks),
    purged: &[PurgeRecord],
    store: Option<&Store>,
    group: Option<Vec<String>>,
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
        _ => {
            let ordinary = status.status().or(Some(Status::Pending));
            let columns = pager::columns();
            table(summaries, marks, &palette, context.now, columns, (ordinary, group.as_deref()))
        }
    };
    for record in purged {
        let (by, age) = (escape::name(&record.by.name), age::ago(record.at, context.now));
        let reason = escape::line(&record.reason);
        text += &format!("{}  purged by {by} {age}: {reason}\n", record.id);
    }
    pager::page(context, Some(snapshot.plumbing()), &text)?;
    Ok(Exit::Done)
}

/// The name of the group of each of `summaries`.
fn groups(view: &View, summaries: &[Summary], by: By) -> Result<Vec<String>> {
    let name = |summary: &Summary| {
        Ok(match by {
            By::By => summary.proposed_by.clone(),
            By::Task => summary.task.clone().unwrap_or_else(|| "no task".to_owned()),
            By::Session => {
                let proposal = view.proposal(&summary.id)?;
                let session =
                    proposal.revisions.iter().find_map(|r| r.agent.as_ref()?.session.clone());
                session.unwrap_or_else(|| "no session".to_owned())
            }
        })
    };
    summaries.iter().map(name).collect()
}

/// The table that people see. Ids are as short as they can be at a terminal, which has `columns`, and
/// whole elsewhere; a status is shown where it is not the `ordinary` one.
fn table(
    summaries: &[Summary],
    marks: &Marks,
    palette: &Palette,
    now: chrono::DateTime<chrono::Utc>,
    columns: Option<usize>,
    (ordinary, names): (Option<Status>, Option<&[String]>),
) -> String {
    let is_whole = columns.is_none();
    let mut titles = vec![
        ("SHORT", Align::Left),
        ("ID", Align::Left),
        ("AGE", Align::Right),
        ("BY", Align::Left),
        ("DESCRIPTION", Align::Left),
        ("FILES", Align::Left),
        ("LINES", Align::Right),
        ("MARKS", Align::Left),
    ];
    if !is_whole {
        titles.remove(1);
    }
    let mut table = Table::new(&titles);
    // In turns: neither is worth much if the other takes all the room.
    for (description, files) in [(40, 20), (16, 10)] {
        table.shrinks("DESCRIPTION", description, Keep::Start);
        table.shrinks("FILES", files, Keep::End);
    }
    table.shrinks("BY", 6, Keep::Start);
    table.shrinks("MARKS", 6, Keep::Start);
    for (title, most) in [("DESCRIPTION", 120), ("FILES", 120), ("BY", 60)] {
        table.bound(title, most);
    }
    table.drops(&["AGE", "FILES", "LINES", "BY"]);
    let row = |summary: &Summary| -> Vec<Cell> {
        let (unique, rest) = split(summary);
        let whole = Cell::new(Role::Dim, "prop_").and(Role::IdPrefix, unique).and(Role::Id, rest);
        let short = marks::short(&summary.id, summary.prefix);
        let mut said = Cell::default();
        let found = marks::of(summary, marks, ordinary, now);
        for (at, (role, text)) in found.into_iter().enumerate() {
            said = said.and(Role::Plain, if at > 0 { " " } else { "" }).and(role, text);
        }
        let first = summary.description.as_deref().and_then(|text| text.lines().next());
        let whole = is_whole.then_some(whole);
        std::iter::once(Cell::new(Role::Id, short))
            .chain(whole)
            .chain([
                Cell::new(Role::Dim, age::short(summary.created_at, now)),
                Cell::from(escape::name(&marks::by(summary))),
                Cell::from(escape::line(first.unwrap_or_default()).into_owned()),
                match summary.files {
                    0 | 1 => Cell::from(escape::name(&summary.path)),
                    files => Cell::from(format!("{files} files")),
                },
                match overview::lines(summary.lines) {
                    None => Cell::default(),
                    Some([added, removed]) => {
                        Cell::new(Role::Good, added).and(Role::Plain, " ").and(Role::Bad, removed)
                    }
                },
                said,
            ])
            .collect()
    };
    let Some(names) = names else {
        summaries.iter().for_each(|summary| table.row(row(summary)));
        return table.render(palette, columns);
    };
    let mut groups: Vec<(String, Vec<Vec<Cell>>)> = Vec::new();
    for (summary, name) in summaries.iter().zip(names) {
        let cells = row(summary);
        table.measure(&cells);
        match groups.iter_mut().find(|(known, _)| known == name) {
            Some((_, rows)) => rows.push(cells),
            None => groups.push((name.clone(), vec![cells])),
        }
    }
    let lines = table.lines(columns);
    let mut out = String::new();
    lines.titles(&mut out, palette);
    for (name, rows) in groups {
        palette.write(&mut out, Role::Title, &format!("{} ({})", escape::name(&name), rows.len()));
        out.push('\n');
        rows.iter().for_each(|row| lines.row(&mut out, palette, row));
    }
    out
}

/// The code of the id, behind `prop_`, split behind its unique beginning.
fn split(summary: &Summary) -> (&str, &str) {
    let code = &summary.id.as_str()["prop_".len()..];
    code.split_at(summary.prefix.min(code.len()))
}
