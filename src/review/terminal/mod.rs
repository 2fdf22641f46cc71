//! The session at a terminal: shows a unit, waits for a key, asks the model, shows the next.
//!
//! Line mode: nothing is redrawn, scroll-back stays, so it works on every terminal and in a log.

mod board;
mod carry;
mod confirm;
mod filter;
mod head;
mod host;
mod keep;
mod last;
mod lines;
mod overview;
mod press;
mod said;
mod screen;
mod seen;

pub use host::{Content, Header, Host, Loaded, Order, Outlook, Related, RelatedAs, Said, Tried};
pub use screen::{by_section, numbered};

use std::collections::BTreeSet;

use console::Term;

use self::keep::Keeping;
use self::press::stop;
use self::seen::Seen;
use super::model::{
    Action, Facilities, Key, Part, Refusal, Review, Session, Slot, Staged, Ticket, Verdict,
};
use crate::changeset::entry::EntryKind;
use crate::error::{Error, Result};
use crate::prompt::{self, Answer, Press, Prompt};
use crate::proposal::ProposalId;
use crate::render::diff::{Options, Painter};
use crate::render::style::Role;
use crate::text::escape;

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Decisions were written, or there was nothing to write.
    Done,
    /// The reviewer quit; what was decided is kept.
    Quit,
    /// Ctrl-C; what was decided is kept.
    Interrupted,
    /// Something could not be written; the rest was.
    Failed,
}

/// Why the walk stopped.
enum Stop {
    Summary,
    Quit,
    Interrupt,
}

/// A session at a terminal.
pub struct Terminal<'h> {
    term: Term,
    keyboard: Prompt,
    host: &'h mut dyn Host,
    session: Session,
    options: Options,
    /// Revision looked at, for each proposal that was reached.
    revisions: Vec<Option<String>>,
    /// On top of which other proposal each was shown.
    grounds: Vec<Vec<ProposalId>>,
    /// What is on disk of each.
    keeping: Vec<Keeping>,
    /// Those that were decided here and could not be written.
    unwritten: BTreeSet<usize>,
    /// Header and content of the proposal on the screen.
    content: Option<(usize, Box<Content>)>,
    /// The painter of the file on the screen.
    painter: Option<(usize, usize, Painter)>,
    /// The unit on the screen; `None` shows it anew.
    shown: Option<(usize, usize)>,
    /// The changed lines that were on it.
    seen: Seen,
    last_search: String,
    /// Differences go through the reviewer's own program.
    filter: bool,
    /// Whether the overview comes before the first hunk.
    overview: bool,
    /// Unchanged lines that proposals are taken apart with; those of the options are what is shown.
    context: usize,
}

/// Walks `tickets` with the person at `term`.
///
/// # Errors
/// If the terminal or the store fail; what was decided until then is kept.
pub fn run(
    term: Term,
    host: &mut dyn Host,
    tickets: Vec<Ticket>,
    options: Options,
    overview: bool,
) -> Result<End> {
    let revisions = vec![None; tickets.len()];
    let grounds = vec![Vec::new(); tickets.len()];
    let keeping = tickets.iter().map(|_| Keeping::default()).collect();
    let session = Session::new(tickets);
    let (content, painter, shown) = (None, None, None);
    let context = options.context;
    let last_search = String::new();
    let filter = host.has_filter() && options.palette.is_on();
    let keyboard = Prompt::new(term.clone(), host.marks_pastes());
    let mut terminal = Terminal {
        term,
        keyboard,
        host,
        session,
        options,
        revisions,
        grounds,
        keeping,
        unwritten: BTreeSet::new(),
        content,
        painter,
        shown,
        seen: Seen::default(),
        last_search,
        filter,
        overview,
        context,
    };
    let end = terminal.run()?;
    Ok(match end {
        End::Done | End::Quit if !terminal.unwritten.is_empty() => End::Failed,
        end => end,
    })
}

impl Terminal<'_> {
    fn run(&mut self) -> Result<End> {
        let mut first = match self.overview {
            true => self.board()?,
            false => None,
        };
        loop {
            let stop = match first.take() {
                Some(stop) => stop,
                None => self.walk()?,
            };
            match stop {
                Stop::Summary => {
                    self.reach_kept()?;
                    if let Some(end) = self.confirm()? {
                        return Ok(end);
                    }
                }
                Stop::Quit => {
                    self.say_kept()?;
                    return Ok(End::Quit);
                }
                Stop::Interrupt => {
                    self.say("")?;
                    self.say_kept()?;
                    return Ok(End::Interrupted);
                }
            }
        }
    }

    fn say(&self, text: &str) -> Result<()> {
        self.term.write_line(text).map_err(|error| Error::io("write to the terminal", &error))
    }

    fn write(&self, text: &str) -> Result<()> {
        self.term
            .write_str(text)
            .and_then(|()| self.term.flush())
            .map_err(|error| Error::io("write to the terminal", &error))
    }

    /// Says that a paste is no answer, and asks again.
    fn pasted(&self, prompt: &str) -> Result<()> {
        self.say("")?;
        self.dim("pasted text decides nothing")?;
        self.write(prompt)
    }

    fn dim(&self, text: impl std::fmt::Display) -> Result<()> {
        self.tell(Role::Dim, &text.to_string())
    }

    /// Says something of aye's own, in lines that fit.
    fn tell(&self, role: Role, text: &str) -> Result<()> {
        for line in crate::render::width::wrap(text, self.options.columns) {
            self.say(&self.options.palette.paint(role, line))?;
        }
        Ok(())
    }

    /// Takes the terminal's present size, which may have changed since the last prompt.
    fn measure(&mut self) -> usize {
        let (rows, columns) = self.term.size_checked().unwrap_or((24, 80));
        self.options.columns = usize::from(columns).max(20);
        (usize::from(rows) * 2).max(60)
    }

    /// From unit to unit until all proposals are behind or the reviewer leaves.
    fn walk(&mut self) -> Result<Stop> {
        while self.session.slot().is_some() {
            let limit = self.measure();
            if !self.reach()? {
                continue;
            }
            self.show(limit)?;
            let keys = self.keys();
            let (at, unit) = (self.session.position(), self.session.unit_index());
            let count = self.session.review().map_or(0, |review| review.units().len());
            let prompt = screen::prompt(Some((unit, count)), self.question(), &keys, &self.options);
            self.write(&prompt)?;
            let key = loop {
                match self.keyboard.press() {
                    Press::Nothing => {}
                    Press::Enter => {
                        self.say("")?;
                        break '\n';
                    }
                    Press::Pasted => self.pasted(&prompt)?,
                    Press::Resumed => self.write(&format!("\n{prompt}"))?,
                    Press::Interrupt => return Ok(Stop::Interrupt),
                    Press::End => {
                        self.say("")?;
                        return Ok(Stop::Quit);
                    }
                    Press::Char(c) => break c,
                }
            };
            if key == '\n' {
                self.shown = None;
                continue;
            }
            self.say(key.encode_utf8(&mut [0; 4]))?;
            // The terminal may have been resized while the prompt stood.
            self.measure();
            if !self.keys().iter().any(|known| known.key == key) {
                if self.decides_as_a_whole() && "ynadse".contains(key) {
                    self.dim(Refusal::DecidedAsWhole.message())?;
                    continue;
                }
                if "yaA".contains(key) && self.session.review().is_some_and(Review::is_unfit) {
                    self.dim(Refusal::DoesNotFit.message())?;
                    continue;
                }
                let why = match key {
                    'D' if !self.host.can_compare() => {
                        ": your own git configuration has no diff.tool"
                    }
                    't' if !self.host.can_try() => {
                        ": your own git configuration has no aye.tryCommand"
                    }
                    _ => "; ? lists the keys",
                };
                let key = key.to_string();
                self.dim(format_args!("'{}' does nothing here{why}", escape::line(&key)))?;
                continue;
            }
            match key {
                'q' => return Ok(Stop::Quit),
                'W' => return Ok(Stop::Summary),
                'L' => {
                    if let Some(stop) = self.board()? {
                        return Ok(stop);
                    }
                    self.content = None;
                    continue;
                }
                _ => {}
            }
            let was = self.session.slots()[at].verdict();
            if let Some(stop) = self.press(key)? {
                return Ok(stop);
            }
            if let Some(stop) = self.after(at, &was)? {
                return Ok(stop);
            }
        }
        Ok(Stop::Summary)
    }

    fn decides_as_a_whole(&self) -> bool {
        self.session.review().is_some_and(Review::is_whole)
    }

    fn question(&self) -> &'static str {
        if self.decides_as_a_whole() {
            return "Decide on all of this";
        }
        if self.session.unit().is_some_and(|unit| unit.unfit.is_some()) {
            return "Settle this conflict";
        }
        match self.session.unit().map(|unit| &unit.part) {
            Some(Part::Hunk(_)) => "Take this hunk",
            Some(Part::Place) => {
                match self.session.review().map(|r| r.file_of(self.session.unit_index())) {
                    Some(file) if file.old_path == file.path => "Take this mode",
                    _ => "Take this move",
                }
            }
            _ => match self.session.review().map(|r| r.file_of(self.session.unit_index())) {
                Some(file) if file.after.is_none() => "Take this deletion",
                Some(file) if file.kind == EntryKind::Copied => "Take this copy",
                Some(file) if file.before.is_none() => "Take this new file",
                _ => "Take this file",
            },
        }
    }

    fn keys(&self) -> Vec<Key> {
        self.session.keys(Facilities {
            can_try: self.host.can_try(),
            can_compare: self.host.can_compare(),
            has_context: self.options.context > 0,
            differs: self.content.as_ref().is_some_and(|(_, content)| content.proposed.is_some()),
        })
    }

    /// Makes sure that the content of the present proposal is there and its header has been
    /// shown. `false` if the session went on to another instead.
    fn reach(&mut self) -> Result<bool> {
        let at = self.session.position();
        if self.content.as_ref().is_some_and(|(shown, _)| *shown == at) {
            return Ok(true);
        }
        let Some(slot) = self.session.slot() else { return Ok(false) };
        if slot.done {
            let _ = self.session.act(Action::Skip);
            return Ok(false);
        }
        let id = slot.ticket.id.clone();
        let not_taken = self.not_taken();
        let mut content = match self.host.load(&id, &not_taken)? {
            Loaded::Ready(content) => content,
            Loaded::Gone(status) => {
                self.dim(format_args!("{id} {} meanwhile", screen::gone(&status)))?;
                let _ = self.session.act(Action::Gone(status));
                self.host.forget(&id);
                return Ok(false);
            }
        };
        let count = self.session.slots().len();
        self.write(&head::header(&content, at, count, &self.taken(), &self.options))?;
        // Looked at before in this session, and revised since: decisions carry over as they do
        // between sessions.
        let revised = match (&self.revisions[at], self.session.slot()) {
            (Some(seen), Some(slot)) if *seen != content.revision => {
                content.staged = Some(Staged::of(slot, seen));
                content.seen = self.host.changes(&id, seen)?;
                true
            }
            // What it stands on was decided otherwise: other files, other hunks.
            (Some(seen), Some(slot)) if self.grounds[at] != content.on => {
                content.staged = Some(Staged::of(slot, seen));
                true
            }
            _ => false,
        };
        if self.session.review().is_none() {
            self.keeping[at] = Keeping::found(content.staged.as_ref());
        }
        let first_time = revised || self.session.review().is_none();
        if first_time {
            let context = self.context;
            let mut review = match content.memory {
                true => Review::of_memory(&content.changes, context),
                false => Review::folding(&content.changes, &content.unfit, &content.quiet, context),
            };
            let staged = content.staged.take();
            let kept = staged.as_ref().map(|staged| staged.restore(&mut review, &content.revision));
            let (mut outcome, comments, dropped) = kept.unwrap_or_default();
            if content.sent_back {
                review.ask_again();
                outcome = None;
            }
            let decided = review.decided();
            let edits = (0..review.units().len()).filter(|at| review.saved_edit(*at).is_some());
            let edits = edits.count();
            let earlier =
                review.units().iter().filter(|unit| unit.earlier.is_some()).count() - edits;
            if review.files().len() > 1 {
                self.write(&overview::files(&review, overview::MOST_FILES, &self.options))?;
            }
            self.session.open(review, outcome, comments);
            if let Some(seen) = &content.seen {
                self.write(&screen::since_last_time(seen, &content, &self.options))?;
            }
            if decided > 0 {
                self.dim(format_args!(
                    "{decided} decided earlier and kept; u does not undo these"
                ))?;
            }
            if earlier > 0 {
                self.dim(format_args!(
                    "{earlier} answered earlier; each is asked again, with that answer beside it"
                ))?;
            }
            if edits > 0 {
                let (plural, verb) = if edits == 1 { ("", "was") } else { ("s", "were") };
                let text = format!(
                    "{edits} edit{plural} {verb} saved from an earlier session; E takes one, where \
                     it is shown"
                );
                self.tell(Role::Warn, &text)?;
            }
            if dropped > 0 {
                let (plural, verb, which) = match dropped {
                    1 => ("", "was", "that hunk is"),
                    _ => ("s", "were", "those hunks are"),
                };
                self.dim(format_args!(
                    "{dropped} earlier decision{plural} {verb} dropped: {which} not the same any more"
                ))?;
            }
        }
        self.revisions[at] = Some(content.revision.clone());
        self.grounds[at].clone_from(&content.on);
        self.content = Some((at, content));
        (self.shown, self.painter) = (None, None);
        self.keep(at)?;
        if first_time && !revised && self.session.slot().is_some_and(Slot::is_answered) {
            if let Some(slot) = self.session.slot() {
                let word = screen::outcome(slot);
                self.dim(format_args!(
                    "decided in an earlier session: {word}; the last screen shows what it \
                     writes, < comes back to it"
                ))?;
            }
            let _ = self.session.act(Action::Skip);
            return Ok(false);
        }
        Ok(true)
    }

    /// The proposals of which something is to be applied.
    fn taken(&self) -> BTreeSet<ProposalId> {
        let slots = self.session.slots().iter();
        let taken = slots.filter(|slot| {
            slot.is_settled() && matches!(slot.verdict(), Verdict::Apply | Verdict::Part(_))
        });
        taken.map(|slot| slot.ticket.id.clone()).collect()
    }

    /// The proposals of which nothing is to be applied, or not all as it is.
    fn not_taken(&self) -> BTreeSet<ProposalId> {
        let slots = self.session.slots().iter();
        let others = slots.filter(|slot| slot.is_settled() && slot.verdict() != Verdict::Apply);
        others.map(|slot| slot.ticket.id.clone()).collect()
    }

    /// Opens the proposals ahead about which an earlier session has kept decisions, so that the
    /// summary has them too.
    fn reach_kept(&mut self) -> Result<()> {
        let here = self.session.position();
        for at in 0..self.session.slots().len() {
            let slot = &self.session.slots()[at];
            if slot.review.is_none()
                && !slot.done
                && slot.outcome.is_none()
                && self.host.has_kept(&slot.ticket.id)
            {
                self.session.visit(at);
                self.reach()?;
            }
        }
        self.session.visit(here);
        Ok(())
    }

    fn show(&mut self, limit: usize) -> Result<()> {
        let here = (self.session.position(), self.session.unit_index());
        if self.shown == Some(here) {
            return Ok(());
        }
        let (Some(review), Some(unit)) = (self.session.review(), self.session.unit()) else {
            return Ok(());
        };
        let file = (here.0, unit.file);
        // A comment names a line by its number.
        let options = Options { numbers: !self.filters(), ..self.diff_options() };
        let mut painter = match self.painter.take() {
            Some((slot, number, painter)) if (slot, number) == file => painter,
            _ => {
                let file = review.file_of(here.1);
                Painter::new(&file.path, &file.diff, &options)
            }
        };
        let (mut blocks, lines) =
            screen::unit_and_lines(review, here.1, &mut painter, &options, limit);
        let content = self.content.as_ref().map(|(_, content)| content);
        let said = content.and_then(|content| said::at_unit(content, review, here.1, &options));
        blocks.extend(said.map(screen::Block::Text));
        self.painter = Some((file.0, file.1, painter));
        self.shown = Some(here);
        self.write("\n")?;
        self.put(blocks)?;
        self.seen.shown(here.0, here.1, lines);
        Ok(())
    }

    /// Keeps what was decided about proposal `at`, and asks what to do where the last key, before
    /// which its verdict was `was`, left nothing of it to be taken.
    fn after(&mut self, at: usize, was: &Verdict) -> Result<Option<Stop>> {
        let nothing = self.session.slots()[at].verdict() == Verdict::Nothing;
        self.keep(at)?;
        if nothing && *was != Verdict::Nothing {
            self.say("No hunk is taken.")?;
            let answer = self.reason("Reject it because (Esc: leave it pending): ", false)?;
            if let Some(stop) = stop(&answer) {
                return Ok(Some(stop));
            }
            if let Answer::Line(reason) = answer {
                self.session.visit(at);
                let _ = self.session.act(Action::Reject(reason));
                self.keep(at)?;
            }
        }
        if self.session.position() != at && self.session.position() < self.session.slots().len() {
            self.keep(self.session.position())?;
        }
        Ok(None)
    }

    fn ask(&self, prompt: &str) -> Result<Answer> {
        self.keyboard.line(prompt).map_err(|error| Error::io("read from the terminal", &error))
    }

    /// A reason, which the proposer gets back.
    fn reason(&self, prompt: &str, may_be_empty: bool) -> Result<Answer> {
        loop {
            match self.ask(prompt)? {
                Answer::Line(text) if text.is_empty() && !may_be_empty => {
                    self.dim(prompt::REASON_WANTED)?;
                }
                answer => return Ok(answer),
            }
        }
    }

    fn fail(&self, error: &Error) -> Result<()> {
        let text = format!("{}: {}", error.code().id, escape::line(error.message()));
        self.say(&self.options.palette.paint(Role::Bad, text))
    }
}
