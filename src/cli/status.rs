//! `aye status`: what waits, in a line.

use std::collections::HashMap;

use super::{Context, idle, marks, pager, session};
use crate::app::listing::Marks;
use crate::error::{Exit, Result};
use crate::proposal::ProposalId;
use crate::render::overview;
use crate::store::{Filter, Store, Summary, View};

/// Show how many proposals are pending, and for whom.
///
/// A proposal that was sent back waits for its agent, and is counted separately. A conflict is one that does
/// not fit the files as they are, and does not stand on another one either.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye status
  aye status --long         and which they are; `aye` alone is the same
  aye status --porcelain    a number and a word on each line, for scripts

For prompts and status lines, where it prints `aye 3` or nothing:
  bash      PS1='\\w $(aye status --prompt)\\$ '
  zsh       setopt PROMPT_SUBST; PROMPT='%~ $(aye status --prompt)%# '
  fish      function fish_right_prompt; aye status --prompt; end
  starship  [custom.aye]
            command = 'aye status --prompt'
            when = true
  tmux      set -g status-right '#(aye -C \"#{pane_current_path}\" status --prompt)'")]
pub struct Args {
    /// Also which they are: by agent and task, on one screen at a terminal.
    #[arg(long, conflicts_with_all = ["porcelain", "prompt"])]
    pub long: bool,
    /// A number and a word on each line, which later versions only add to.
    #[arg(long, conflicts_with = "prompt")]
    pub porcelain: bool,
    /// For a shell prompt: `aye 3` where 3 wait for a person, and nothing otherwise, nor where
    /// anything goes wrong. No file is compared.
    #[arg(long)]
    pub prompt: bool,
}

/// How many proposals there are of each kind.
#[derive(Debug, Default)]
struct Counts {
    /// Waiting for a person.
    pending: usize,
    /// Of these: not fitting the files as they are.
    conflicts: usize,
    /// Of these: running out within a day.
    expiring: usize,
    /// Waiting for their agent.
    sent_back: usize,
    /// Decided differently in two clones.
    contested: usize,
}

/// Runs the command.
///
/// # Errors
/// Those of the store; none with `--prompt`.
pub fn run(context: &mut Context, args: &Args) -> Result<Exit> {
    if args.prompt {
        if let Some(count) = waiting(context).filter(|count| *count > 0) {
            context.print(format!("aye {count}\n").as_bytes())?;
        }
        return Ok(Exit::Done);
    }
    let mut counts = Counts::default();
    let (mut summaries, mut marks) = (Vec::new(), Marks::default());
    let store = match idle::is_idle(context) {
        true => None,
        false => Some(context.store()?),
    };
    if let Some(store) = &store {
        let view = store.look()?;
        summaries = pending(&view, context)?;
        // Without a list of them nobody sees what each of them touches.
        marks = match args.long {
            true => Marks::of(store, &view, context.now, &summaries)?,
            false => Marks::related(store, &view, context.now, &summaries)?,
        };
        if args.long {
            summaries = marks.in_order(summaries);
        }
        marks.compare(store, &view, &summaries)?;
        count(&mut counts, context, &view, (&summaries, &marks))?;
    }
    if args.porcelain {
        let Counts { pending, conflicts, expiring, sent_back, contested } = counts;
        let lines = format!(
            "{pending} pending\n{conflicts} conflict\n{expiring} expiring\n{sent_back} sent_back\n\
             {contested} contested\n"
        );
        context.print(lines.as_bytes())?;
        return Ok(Exit::Done);
    }
    let table = match &store {
        Some(store) if args.long && !summaries.is_empty() => {
            let snapshot = store.repo().config_snapshot();
            let palette = pager::palette(context, Some(snapshot.plumbing()));
            let mut place = 0;
            let places: HashMap<&ProposalId, usize> = summaries
                .iter()
                .filter(|summary| !summary.changes_requested)
                .map(|summary| {
                    place += 1;
                    (&summary.id, place)
                })
                .collect();
            let number = |id: &ProposalId| places.get(id).copied();
            let groups = marks::grouped(&summaries, &marks, context.now, number);
            // At a terminal, one screen.
            let (columns, lines) = match pager::size() {
                Some((rows, columns)) => (columns, rows.max(12) - 5),
                None => (marks::PRINTED, usize::MAX),
            };
            overview::overview(&groups, &palette, columns, lines)
        }
        _ => String::new(),
    };
    context.print(format!("{}\n{table}", line(&counts)).as_bytes())?;
    if args.long && counts.pending > 0 {
        context.note("decide: aye review");
    }
    if args.long {
        match store {
            Some(store) => session::note_left_of(context, &store),
            None => {
                let found = Store::discover(&context.directory);
                drop(found.map(|store| session::note_left_of(context, &store)));
            }
        }
    }
    Ok(Exit::Done)
}

/// How many wait for a person; `None` where that cannot be found out.
fn waiting(context: &Context) -> Option<usize> {
    if idle::is_idle(context) {
        return Some(0);
    }
    let store = Store::discover(&context.directory).ok()?;
    let summaries = pending(&store.view().ok()?, context).ok()?;
    Some(summaries.iter().filter(|summary| !summary.changes_requested).count())
}

/// What is pending, oldest first.
fn pending(view: &View, context: &Context) -> Result<Vec<Summary>> {
    view.proposals(&Filter::pending(), context.now)
}

fn count(
    counts: &mut Counts,
    context: &Context,
    view: &View,
    (summaries, marks): (&[Summary], &Marks),
) -> Result<()> {
    for summary in summaries {
        if summary.changes_requested {
            counts.sent_back += 1;
            continue;
        }
        counts.pending += 1;
        counts.expiring += usize::from(summary.expires_at - context.now <= marks::SOON);
        counts.conflicts += usize::from(marks.is_unfit(&summary.id));
    }
    counts.contested = view.contested(context.now)?.len();
    Ok(())
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
