//! `aye` alone, and the counts of `aye list`.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Context, Format, idle_stamp, marks, pager, session};
use crate::app::listing::ListFacts;
use crate::error::{Exit, Result};
use crate::proposal::ProposalId;
use crate::render::overview;
use crate::repository::Repository;
use crate::store::{Filter, Store, Summary, View};

/// How many proposals there are of each kind.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Counts {
    /// Waiting for a person.
    pending: usize,
    /// Pending, but not fitting the files as they are.
    conflicts: usize,
    /// Pending, and running out within a day.
    expiring: usize,
    /// Waiting for their agent.
    sent_back: usize,
    /// Decided differently in two clones.
    contested: usize,
}

pub fn count(context: &mut Context) -> Result<Exit> {
    let found = Pending::look(context, false)?;
    context.emit(Format::Text, &found.counts, || line(&found.counts) + "\n")
}

/// Prints nothing if no proposal waits for a person, or after an error. Compares no files.
pub fn prompt(context: &mut Context) -> Result<Exit> {
    if let Some(count) = count_waiting(context).filter(|count| *count > 0) {
        context.print(format!("aye {count}\n").as_bytes())?;
    }
    Ok(Exit::Done)
}

/// `aye` alone: counts, and proposals by agent and task on one screen.
pub fn run(context: &mut Context) -> Result<Exit> {
    let found = Pending::look(context, true)?;
    let table = match &found.store {
        Some(store) if !found.summaries.is_empty() => table(context, store.repository(), &found),
        _ => String::new(),
    };
    context.print(format!("{}\n{table}", line(&found.counts)).as_bytes())?;
    match &found.store {
        _ if found.counts.pending > 0 => context.note("decide: aye review"),
        Some(store) => drop(idle_stamp::fetched(context, store, &store.view()?)),
        None => {}
    }
    session::note_unproposed(context);
    Ok(Exit::Done)
}

#[derive(Default)]
struct Pending {
    counts: Counts,
    /// `None` if the stamp answered.
    store: Option<Store>,
    summaries: Vec<Summary>,
    marks: ListFacts,
}

impl Pending {
    fn look(context: &mut Context, is_listed: bool) -> Result<Self> {
        if idle_stamp::is_idle(context) {
            return Ok(Self::default());
        }
        let store = context.store()?;
        let view = store.view()?;
        let mut summaries = pending(&view, context)?;
        let mut marks = if is_listed {
            ListFacts::of(&store, &view, context.now, &summaries)?
        } else {
            ListFacts::related(&store, &view, context.now, &summaries)?
        };
        if is_listed {
            summaries = marks.in_order(summaries);
        }
        marks.compare(&store, &view, &summaries)?;
        let mut found = Self { counts: Counts::default(), store: None, summaries, marks };
        found.count(context, &view)?;
        drop(view);
        Ok(Self { store: Some(store), ..found })
    }

    fn count(&mut self, context: &Context, view: &View) -> Result<()> {
        let counts = &mut self.counts;
        for summary in &self.summaries {
            if summary.changes_requested {
                counts.sent_back += 1;
                continue;
            }
            counts.pending += 1;
            counts.expiring += usize::from(summary.expires_at - context.now <= marks::SOON);
            counts.conflicts += usize::from(self.marks.is_unfit(&summary.id));
        }
        counts.contested = view.contested(context.now)?.len();
        Ok(())
    }
}

fn table(context: &Context, repository: &Repository, found: &Pending) -> String {
    let palette = pager::palette(context, repository);
    let waiting = found.summaries.iter().filter(|summary| !summary.changes_requested);
    let places: HashMap<&ProposalId, usize> =
        waiting.enumerate().map(|(at, summary)| (&summary.id, at)).collect();
    let slot = |id: &ProposalId| places.get(id).copied();
    let groups = marks::grouped(&found.summaries, &found.marks, context.now, slot);
    // The table fits one screen.
    let (columns, lines) = match pager::size() {
        Some((rows, columns)) => (columns, rows.max(12) - 5),
        None => (marks::PRINTED, usize::MAX),
    };
    overview::overview(&groups, &palette, columns, lines)
}

/// `None` after an error.
fn count_waiting(context: &Context) -> Option<usize> {
    if idle_stamp::is_idle(context) {
        return Some(0);
    }
    let store = Store::discover(&context.directory).ok()?;
    let summaries = pending(&store.view().ok()?, context).ok()?;
    Some(summaries.iter().filter(|summary| !summary.changes_requested).count())
}

fn pending(view: &View, context: &Context) -> Result<Vec<Summary>> {
    view.proposals(&Filter::pending(), context.now)
}

/// `3 pending (1 conflict, 1 expiring), 1 sent back`.
fn line(counts: &Counts) -> String {
    let some = |count: usize, word: &str| (count > 0).then(|| format!("{count} {word}"));
    let conflicts = if counts.conflicts == 1 { "conflict" } else { "conflicts" };
    let of_pending = [some(counts.conflicts, conflicts), some(counts.expiring, "expiring")];
    let of_pending: Vec<String> = of_pending.into_iter().flatten().collect();
    let pending = match (counts.pending, of_pending.is_empty()) {
        (0, _) => "nothing pending".to_owned(),
        (count, true) => format!("{count} pending"),
        (count, false) => format!("{count} pending ({})", of_pending.join(", ")),
    };
    let rest = [some(counts.sent_back, "sent back"), some(counts.contested, "contested")];
    let all: Vec<String> = std::iter::once(pending).chain(rest.into_iter().flatten()).collect();
    all.join(", ")
}
