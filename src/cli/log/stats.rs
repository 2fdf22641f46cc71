//! `aye log --stats`.

use chrono::{DateTime, Duration, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use super::Args;
use crate::app::capture::Since;
use crate::app::stats::{self, Outcomes};
use crate::cli::{Context, Format, pager, paths};
use crate::error::{Error, Exit, Result, codes};
use crate::render::age;
use crate::render::table::{Align, Cell, Keep, Table};
use crate::store::{Filter, Store};
use crate::text::escape;

/// Answer of `aye log --stats`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stats {
    /// `aye/log-stats@1`
    schema: &'static str,
    /// All proposals.
    total: Outcomes,
    /// The same by agent, model, path or person, by name; empty without `--by`. A proposal counts
    /// once in each path that it changes.
    groups: Vec<Outcomes>,
}

pub(super) fn run(context: &mut Context, store: &Store, args: &Args) -> Result<Exit> {
    let view = store.view()?;
    let path = args.path.as_deref();
    let path = path.map(|path| paths::typed(context, store.repository(), path)).transpose()?;
    let filter = Filter { path: path.map(|path| path.display().to_string()), ..Filter::default() };
    let since = args.since.as_deref().map(|text| time(text, context.now)).transpose()?;
    let (total, groups) = stats::outcomes(&view, &filter, args.by, since, context.now)?;
    let stats = Stats { schema: "aye/log-stats@1", total, groups };
    let palette = pager::palette(context, store.repository());
    let now = context.now;
    context.emit(Format::Text, &stats, || {
        let mut table = Table::new(&[
            ("", Align::Left),
            ("PROPOSED", Align::Right),
            ("AS IS", Align::Right),
            ("EDITED", Align::Right),
            ("PARTIAL", Align::Right),
            ("REJECTED", Align::Right),
            ("WITHDRAWN", Align::Right),
            ("EXPIRED", Align::Right),
            ("PENDING", Align::Right),
            ("WAIT", Align::Right),
            ("REVISIONS", Align::Right),
        ]);
        table.shrinks("", 8, Keep::Start);
        table.drops(&["WITHDRAWN", "REVISIONS", "PENDING"]);
        for group in &stats.groups {
            table.row(cells(group.name.as_deref().unwrap_or("-"), group, now));
        }
        table.row(cells("all", &stats.total, now));
        table.render(&palette, pager::columns())
    })
}

fn cells(name: &str, of: &Outcomes, now: DateTime<Utc>) -> [Cell; 11] {
    let count = |count: usize| Cell::from(count.to_string());
    let wait =
        of.median_wait.map_or("-".into(), |wait| age::short(now - Duration::seconds(wait), now));
    [
        Cell::from(escape::name(name)),
        count(of.proposed),
        count(of.applied),
        count(of.edited),
        count(of.partial),
        count(of.rejected),
        count(of.withdrawn),
        count(of.expired),
        count(of.pending),
        Cell::from(wait),
        Cell::from(of.revisions.to_string()),
    ]
}

fn time(text: &str, now: DateTime<Utc>) -> Result<DateTime<Utc>> {
    match Since::parse(text.as_ref(), now) {
        Since::Time(time) => Ok(time),
        Since::Commit(_) => Err(Error::new(
            &codes::USAGE,
            format!("--since: '{text}' is neither a span of time nor a time"),
        )
        .hint("give a span such as 30d, or a time such as 2026-01-31T15:00:00Z")),
    }
}
