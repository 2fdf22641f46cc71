//! The command `aye log`.

mod document;
mod stats;

use std::ffi::OsString;

use chrono::{DateTime, Utc};

pub use document::{Log, LogItem};
pub use stats::Stats;

use super::{Context, Format, output, pager, paths};
use crate::app::log::{Concern, of_path};
use crate::app::stats::GroupBy;
use crate::error::{Exit, Result};
use crate::proposal::Data;
use crate::render::age;
use crate::render::style::Role;
use crate::render::table::{Align, Cell, Keep, Table};
use crate::store::LogEntry;
use crate::text::escape;

/// Show what happened, newest first: to one proposal, to a file, or to all.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye log
  aye log m4k8
  aye log -- src/app.ts           proposals and direct patches that change this file
  aye log --stats --by agent --since 30d
  git log refs/aye/p/<thread>     one of them, with git alone")]
pub struct Args {
    /// Only this proposal; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// Only events about this file or directory.
    #[arg(last = true, value_name = "PATH")]
    pub path: Option<OsString>,
    /// At most N events.
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
    /// Count what became of the proposals.
    ///
    /// Proposed, applied as they were, edited or in part, rejected, withdrawn, expired, pending;
    /// the median time to a decision; revisions per proposal. With PATH, of those that change it.
    #[arg(long, conflicts_with_all = ["id", "limit"])]
    pub stats: bool,
    /// With --stats: a line for each.
    #[arg(long, value_enum, value_name = "WHAT", requires = "stats")]
    pub by: Option<GroupBy>,
    /// With --stats: proposals made since then, a span such as 30d or a time.
    #[arg(long, value_name = "TIME", requires = "stats")]
    pub since: Option<String>,
}

/// # Errors
/// `proposal_not_found`, `path_invalid`.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    if args.stats {
        return stats::run(context, &store, &args);
    }
    let view = store.view()?;
    let id = args.id.as_deref().map(|id| view.resolve(id)).transpose()?;
    let path = args
        .path
        .as_deref()
        .map(|path| paths::typed(context, store.repository(), path))
        .transpose()?;
    let concern = path.map(|path| Concern::of(&view, path, context.now)).transpose()?;
    // For a file, the limit counts only matching events.
    let limit = args.limit.filter(|_| concern.is_none());
    let left = args.limit.unwrap_or(usize::MAX);
    // A purged proposal has no record but its purge.
    let record = id.as_ref().map(|id| view.purge_of(id)).transpose()?.flatten();
    let purge =
        record.map(|record| LogEntry { id: record.id, title: None, stamped: record.stamped });
    let pages = || {
        let of_threads = purge.is_none().then(|| view.log_pages(id.as_ref(), limit));
        let pages = purge.iter().map(|purge| Ok(vec![purge.clone()]));
        of_path(pages.chain(of_threads.into_iter().flatten()), concern.as_ref(), left)
    };
    match context.format_or(Format::Text) {
        Format::Text => {}
        Format::Json => {
            context.print_all(json(pages()))?;
            return Ok(Exit::Done);
        }
        _ => {
            let items: Result<Vec<Vec<LogItem>>> = pages().map(page_of_items).collect();
            let log = Log { schema: SCHEMA, events: items?.into_iter().flatten().collect() };
            return context.emit(Format::Text, &log, String::new);
        }
    }
    let now = context.now;
    let mut table = Table::new(&[
        ("WHEN", Align::Right),
        ("WHO", Align::Left),
        ("KIND", Align::Left),
        ("WHAT", Align::Left),
        ("PROPOSAL", Align::Left),
        ("TEXT", Align::Left),
    ]);
    table.shrinks("TEXT", 12, Keep::Start);
    table.shrinks("WHO", 6, Keep::Start);
    table.bound("WHO", 60);
    table.bound("WHAT", 60);
    table.drops(&["KIND", "TEXT", "WHEN"]);
    // Two passes: the rows are too many to keep for column widths.
    let mut count = 0;
    for page in pages() {
        for entry in page? {
            table.measure(&cells(&entry, now));
            count += 1;
        }
    }
    if count == 0 {
        if args.limit != Some(0) {
            context.note("nothing has happened yet");
        }
        return Ok(Exit::Done);
    }
    let palette = pager::palette(context, store.repository());
    let lines = table.lines(pager::columns());
    let mut titles = String::new();
    lines.titles(&mut titles, &palette);
    let text = |page: Result<Vec<LogEntry>>| -> Result<String> {
        let mut text = String::new();
        for entry in page? {
            lines.row(&mut text, &palette, &cells(&entry, now));
        }
        Ok(text)
    };
    pager::page_all(context, Some(store.repository()), || {
        std::iter::once(Ok(titles.clone())).chain(pages().map(text))
    })?;
    Ok(Exit::Done)
}

const SCHEMA: &str = "aye/log@1";

fn cells(entry: &LogEntry, now: DateTime<Utc>) -> [Cell; 6] {
    let item = LogItem::from(entry);
    let text = item.text.as_deref().or(item.title.as_deref()).unwrap_or_default();
    let first = text.lines().next().unwrap_or_default().to_owned();
    let event = &entry.stamped.event;
    let (by, actor_kind) = (escape::name(&item.by), item.actor_kind.as_str());
    let what = match event.data {
        Data::Check(_) => "try",
        Data::Decision(_) if item.is_mark() => "mark",
        _ => item.kind.as_str(),
    };
    [
        Cell::new(Role::Dim, age::short(event.time, now)),
        Cell::from(by),
        Cell::new(Role::Dim, actor_kind),
        Cell::from(escape::line(what).into_owned()),
        Cell::new(Role::Id, item.proposal_id.or(item.patch_id).unwrap_or("-".into())),
        Cell::from(escape::line(&first).into_owned()),
    ]
}

fn page_of_items(page: Result<Vec<LogEntry>>) -> Result<Vec<LogItem>> {
    Ok(page?.iter().map(LogItem::from).collect())
}

/// Streams what `serde_json` prints of [`Log`].
fn json(
    pages: impl Iterator<Item = Result<Vec<LogEntry>>>,
) -> impl Iterator<Item = Result<String>> {
    let head = format!("{{\n  \"schema\": \"{SCHEMA}\",\n  \"events\": [");
    let mut count = 0;
    let mut pages = pages.map(page_of_items);
    let mut ended = false;
    let rest = std::iter::from_fn(move || {
        let Some(page) = pages.next() else {
            let end = if count == 0 { "]\n}\n" } else { "\n  ]\n}\n" };
            return (!std::mem::replace(&mut ended, true)).then(|| Ok(end.to_owned()));
        };
        let mut text = String::new();
        let mut add = |page: Vec<LogItem>| -> Result<()> {
            for item in page {
                text += if count == 0 { "\n    " } else { ",\n    " };
                count += 1;
                let item = output::structured(Format::Json, &item)?;
                text += &item.trim_end().replace('\n', "\n    ");
            }
            Ok(())
        };
        Some(page.and_then(&mut add).map(|()| text))
    });
    std::iter::once(Ok(head)).chain(rest)
}
