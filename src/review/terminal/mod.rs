//! The session at a terminal: shows a unit, waits for a key, acts, shows the next.
//!
//! Hunks and questions are printed line by line: scroll-back stays, and any terminal will do. Only
//! the list of proposals is redrawn.

mod carry_out;
mod confirm;
mod console;
mod earlier_comments;
mod edit;
mod filter;
mod group;
mod head;
mod host;
mod last_screen;
mod leave;
mod lines;
mod load_proposal;
mod overview;
mod page;
mod press;
mod queue;
mod screen;
mod shown_lines;
mod trial;

pub use host::{
    Content, DecisionOrder, DecisionPreview, EarlierComment, Header, Host, LoadResult, Related,
    RelatedAs, TrialOutcome,
};
pub use screen::{by_section, numbered};

use std::collections::BTreeSet;

use ::console::Term;

use self::console::{AskResult, Console, Halt};
use self::load_proposal::{Current, ShownRevision};
use self::shown_lines::ShownLines;
use self::trial::TrialReport;
use super::model::{Facilities, Queue, QueuedProposal, Refusal, Review, ReviewSession, UnitKind};
use crate::changeset::change_entry::EntryKind;
use crate::error::Result;
use crate::prompt::Key;
use crate::render::diff::{Options, Painter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    Quit,
    /// Ctrl-C; decisions are kept.
    Interrupted,
    /// Something could not be written; the rest was.
    Failed,
}

enum Next {
    Walk,
    List,
    /// The last screen.
    Confirm,
    /// The question about unwritten answers.
    Leave,
    End(End),
}

pub struct Terminal<'h> {
    console: Console,
    host: &'h mut dyn Host,
    session: ReviewSession,
    queue: Queue,
    /// Revision under which each proposal was shown.
    reached: Vec<Option<ShownRevision>>,
    /// Decisions that could not be written.
    unwritten: BTreeSet<usize>,
    /// Proposals whose answers this session saved; answers of other reviews stay untouched.
    kept: BTreeSet<usize>,
    current: Option<Current>,
    /// Changed lines shown so far.
    seen: ShownLines,
    last_search: String,
    /// The last trial of what is taken.
    trial: Option<TrialReport>,
    /// Filters diffs through the reviewer's program.
    filter: bool,
    /// Context lines for splitting; `options.context` is for display.
    context: usize,
}

/// Walks `tickets` with the person at `term`, from the overview if `overview`.
///
/// # Errors
/// The terminal's or the store's; earlier decisions are kept.
pub fn run(
    term: Term,
    host: &mut dyn Host,
    tickets: Vec<QueuedProposal>,
    options: Options,
    overview: bool,
) -> Result<End> {
    let mut terminal = Terminal {
        reached: vec![None; tickets.len()],
        session: ReviewSession::new(tickets),
        queue: Queue::default(),
        unwritten: BTreeSet::new(),
        kept: BTreeSet::new(),
        current: None,
        seen: ShownLines::default(),
        last_search: String::new(),
        trial: None,
        filter: host.has_filter() && options.palette.is_on(),
        context: options.context,
        console: Console::new(term, options, host.marks_pastes()),
        host,
    };
    let first = if overview { Next::List } else { Next::Walk };
    let end = match terminal.run(first) {
        Ok(end) => end,
        Err(Halt::Failed(error)) => return Err(error),
        Err(halt) => {
            terminal.console.say("")?;
            terminal.say_kept()?;
            match halt {
                Halt::Interrupted => End::Interrupted,
                _ => End::Quit,
            }
        }
    };
    Ok(match end {
        End::Done | End::Quit if !terminal.unwritten.is_empty() => End::Failed,
        end => end,
    })
}

impl Terminal<'_> {
    fn run(&mut self, first: Next) -> AskResult<End> {
        let mut next = first;
        loop {
            next = match next {
                Next::Walk => self.walk()?,
                Next::List => self.list()?,
                Next::Confirm => self.confirm()?,
                Next::Leave => self.leave()?,
                Next::End(end) => return Ok(end),
            };
        }
    }

    fn walk(&mut self) -> AskResult<Next> {
        while self.session.slot().is_some() {
            self.console.measure();
            if !self.reach()? {
                continue;
            }
            self.show()?;
            let (at, unit) = (self.session.position(), self.session.unit_index());
            let count = self.session.review().map_or(0, |review| review.units().len());
            let question = format!("({}/{count}) {}", unit + 1, self.question());
            let keys = self.keys();
            match self.console.key(&question, &keys)? {
                '\n' => self.show_again(),
                key if !keys.iter().any(|known| known.key == key) => self.slip(key)?,
                'q' => return Ok(Next::Leave),
                'L' => return Ok(Next::List),
                key => {
                    self.press(key)?;
                    self.keep(at)?;
                    // Undo returns to its proposal.
                    if self.session.position() != at && self.session.slot().is_some() {
                        self.keep(self.session.position())?;
                    }
                }
            }
        }
        // The others are still to be reviewed.
        Ok(if self.queue.is_filtered() { Next::List } else { Next::Confirm })
    }

    fn slip(&self, key: char) -> Result<()> {
        let is_unfit = self.session.review().is_some_and(Review::is_unfit);
        if self.decides_as_a_whole() && "ynadse".contains(key) {
            return self.console.dim(Refusal::DECIDED_AS_WHOLE.0);
        }
        if is_unfit && "yaA".contains(key) {
            return self.console.dim(Refusal::DOES_NOT_FIT.0);
        }
        let why = match key {
            'D' if !self.host.can_compare() => ": your own git configuration has no diff.tool",
            't' if !self.host.can_try() => ": your own git configuration has no aye.tryCommand",
            _ => return self.console.unknown(key),
        };
        self.console.dim(format_args!("'{key}' does nothing here{why}"))
    }

    fn decides_as_a_whole(&self) -> bool {
        self.session.review().is_some_and(Review::is_whole)
    }

    fn question(&self) -> &'static str {
        let (Some(review), Some(unit)) = (self.session.review(), self.session.unit()) else {
            return "Take this file";
        };
        let file = review.file_of(self.session.unit_index());
        match &unit.part {
            _ if review.is_whole() => "Decide on all of this",
            _ if unit.is_edited() => "Take your edit",
            _ if unit.conflict.is_some() => "Settle this conflict",
            UnitKind::Hunk(_) => "Take this hunk",
            UnitKind::Place if file.old_path == file.path => "Take this mode",
            UnitKind::Place => "Take this move",
            UnitKind::Whole if file.after.is_none() => "Take this deletion",
            UnitKind::Whole if file.kind == EntryKind::Copied => "Take this copy",
            UnitKind::Whole if file.before.is_none() => "Take this new file",
            UnitKind::Whole => "Take this file",
        }
    }

    fn keys(&self) -> Vec<Key> {
        self.session.keys(Facilities {
            can_try: self.host.can_try(),
            can_compare: self.host.can_compare(),
            has_context: self.console.options.context > 0,
        })
    }

    fn show_again(&mut self) {
        if let Some(current) = &mut self.current {
            current.unit = None;
        }
    }

    /// Lines of a diff shown at once.
    fn limit(&mut self) -> usize {
        (self.console.measure() * 2).max(60)
    }

    fn show(&mut self) -> Result<()> {
        let limit = self.limit();
        let here = self.session.unit_index();
        // Comments name lines by number.
        let options = Options { numbers: !self.filters(), ..self.diff_options() };
        let (Some(review), Some(unit)) = (self.session.review(), self.session.unit()) else {
            return Ok(());
        };
        let Some(current) = self.current.as_mut().filter(|it| it.unit != Some(here)) else {
            return Ok(());
        };
        let mut painter = match current.painter.take() {
            Some((file, painter)) if file == unit.file => painter,
            _ => {
                let file = review.file_of(here);
                Painter::new(&file.path, &file.diff, &options)
            }
        };
        let (mut blocks, lines) =
            screen::unit_and_lines(review, here, &mut painter, &options, limit);
        let said = earlier_comments::at_unit(&current.content, review, here, &options);
        blocks.extend(said.map(screen::Block::Text));
        current.painter = Some((unit.file, painter));
        current.unit = Some(here);
        self.seen.shown(current.at, here, lines);
        self.console.write("\n")?;
        let rows: usize = blocks.iter().map(screen::Block::rows).sum();
        self.put(blocks)?;
        // The proposal's head has scrolled away.
        if rows + 3 > self.console.measure()
            && let Some(slot) = self.session.slot()
        {
            let ticket = &slot.ticket;
            self.console.dim(format_args!("{}  {}", ticket.id, screen::subject(ticket)))?;
        }
        Ok(())
    }
}
