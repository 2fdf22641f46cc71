//! The list of what is pending: the reviewer moves in it, opens a proposal, or decides on a group.
//!
//! It is redrawn in place, on the terminal's alternate screen. A terminal without escape sequences
//! gets the same lines again after each key.

use super::console::{AskResult, Halt};
use super::{Next, Terminal, screen};
use crate::error::Error;
use crate::prompt::{FullScreen, Key, KeyEvent, PASTED, unknown_key};
use crate::render::overview::{self, Row};
use crate::render::style::{Palette, Role, Style};
use crate::render::width;
use crate::review::model::{Intent, QueueLine, ReviewSlot, Sort, Verdict};
use crate::text::{self, escape};

enum Choice {
    /// Index in the session.
    Open(usize),
    Decide {
        applies: bool,
    },
    Next(Next),
}

/// Text that is typed at the list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    Filter,
    Number,
}

impl Entry {
    fn label(self) -> &'static str {
        match self {
            Self::Filter => "Filter by id, title, agent, task or path (Esc: all): ",
            Self::Number => "Go to number (Esc: stay): ",
        }
    }
}

struct ListState {
    /// Answer to the last key.
    note: String,
    entry: Option<(Entry, String)>,
    /// The list was opened at a hunk.
    goes_back: bool,
    /// Lines of a page.
    page: isize,
}

impl Terminal<'_> {
    pub(super) fn list(&mut self) -> AskResult<Next> {
        let goes_back = self.current.take().is_some();
        let is_first = self.queue.groups().is_empty();
        if is_first {
            self.check_saved()?;
        }
        self.refresh();
        if is_first {
            self.sort(Sort::default());
        }
        self.queue.focus(self.session.position());
        let mut note = String::new();
        loop {
            if self.queue.order().is_empty() {
                return Ok(Next::Confirm);
            }
            let choice = self.choose(goes_back, std::mem::take(&mut note))?;
            if let Choice::Open(at) = choice {
                // Lifts a filter that hides it.
                self.queue.focus(at);
            }
            self.session.keep_to(self.queue.filtered_slots());
            match choice {
                Choice::Next(next) => return Ok(next),
                Choice::Open(at) => {
                    self.session.visit(at);
                    // Also one that an earlier review has answered: the walk would skip it.
                    self.show_proposal(at)?;
                    return Ok(Next::Walk);
                }
                Choice::Decide { applies } => {
                    let Some(group) = self.queue.group() else { continue };
                    let before = self.written();
                    self.decide_on_group(&group, applies)?;
                    let what = if applies { "applied" } else { "rejected" };
                    note = match self.written() - before {
                        0 => "nothing is decided".to_owned(),
                        count => {
                            let count = text::counted(count, "proposal");
                            format!("{}: {count} {what}", escape::name(&group.title))
                        }
                    };
                    self.check_saved()?;
                    self.refresh();
                }
            }
        }
    }

    fn written(&self) -> usize {
        self.session.slots().iter().filter(|slot| slot.done).count()
    }

    /// Lists what is still open, each proposal with its number and its answers.
    fn refresh(&mut self) {
        let mut groups = self.host.overview();
        let slots = self.session.slots();
        let is_behind =
            |slot: &ReviewSlot| slot.done || matches!(slot.verdict(), Verdict::Gone { .. });
        for group in &mut groups {
            group.rows.retain(|row| !row.slot.is_some_and(|at| is_behind(&slots[at])));
            for row in &mut group.rows {
                row.number = row.slot.map(|at| self.session.place(at) + 1);
                // Answers of this session replace saved ones.
                if let Some(slot) = row.slot.map(|at| &slots[at]) {
                    let saved = slot.ticket.answers.filter(|_| slot.review.is_none());
                    row.answer = slot.intent().or(saved).map(Intent::label);
                }
            }
        }
        groups.retain(|group| !group.rows.is_empty());
        self.queue.set(groups);
    }

    /// The review goes on in the order of the list.
    fn sort(&mut self, sort: Sort) {
        self.queue.sort_by(sort);
        self.session.reorder(&self.queue.order());
    }

    /// Reads keys until one leads away from the list.
    fn choose(&mut self, goes_back: bool, note: String) -> AskResult<Choice> {
        let keyboard = self.console.keyboard.clone();
        let full = self.host.redraws().then(|| keyboard.full_screen()).transpose();
        let mut full = full.map_err(|error| failed(&error))?;
        let mut state = ListState { note, entry: None, goes_back, page: 1 };
        loop {
            let rows = self.console.measure();
            let lines = self.frame(rows, &mut state);
            state.note.clear();
            let key = match &mut full {
                Some(full) => ask(full, &lines)?,
                None => match self.console.press(&format!("\n{}", lines.join("\n")))? {
                    '\n' => KeyEvent::Enter,
                    key => KeyEvent::Char(key),
                },
            };
            let choice = match key {
                KeyEvent::Char('?') if state.entry.is_none() => {
                    self.explain(full.as_mut(), rows)?;
                    None
                }
                key if self.moves(&key, &state) => None,
                key => match state.entry.take() {
                    Some((entry, text)) => self.typed(key, entry, text, &mut state),
                    None => self.pressed(key, &mut state),
                },
            };
            if let Some(choice) = choice {
                return Ok(choice);
            }
            if let Some((entry, text)) = state.entry.take_if(|_| full.is_none()) {
                let line = self.console.line(entry.label(), &text)?;
                if let Some(choice) = self.entered(entry, line, &mut state) {
                    return Ok(choice);
                }
            }
        }
    }

    /// Moves the cursor; false for other keys.
    fn moves(&mut self, key: &KeyEvent, state: &ListState) -> bool {
        let is_typing = state.entry.is_some();
        match key {
            KeyEvent::Down => self.queue.move_by(1),
            KeyEvent::Up => self.queue.move_by(-1),
            KeyEvent::PageDown => self.queue.move_by(state.page),
            KeyEvent::PageUp => self.queue.move_by(-state.page),
            KeyEvent::First => self.queue.move_by(isize::MIN),
            KeyEvent::Last => self.queue.move_by(isize::MAX),
            KeyEvent::Char('j') if !is_typing => self.queue.move_by(1),
            KeyEvent::Char('k') if !is_typing => self.queue.move_by(-1),
            KeyEvent::Char('J') if !is_typing => self.queue.move_to_head(true),
            KeyEvent::Char('K') if !is_typing => self.queue.move_to_head(false),
            KeyEvent::Left if !is_typing => self.queue.fold(true),
            KeyEvent::Right if !is_typing => self.queue.fold(false),
            KeyEvent::Resized => {}
            _ => return false,
        }
        true
    }

    fn pressed(&mut self, key: KeyEvent, state: &mut ListState) -> Option<Choice> {
        match key {
            KeyEvent::Enter => match (self.queue.line()?, self.queue.row()) {
                (QueueLine::Row(..), Some(Row { slot: Some(at), .. })) => {
                    return Some(Choice::Open(*at));
                }
                (QueueLine::Row(..), _) => {
                    "it was sent back, and waits for its agent".clone_into(&mut state.note);
                }
                (QueueLine::Head(_), _) => self.fold(),
            },
            KeyEvent::Char('o') => self.fold(),
            KeyEvent::Char('O') => self.queue.fold_all(),
            KeyEvent::Char('s') => self.sort(self.queue.sort().next()),
            KeyEvent::Char('/') => state.entry = Some((Entry::Filter, String::new())),
            KeyEvent::Char(key) if key.is_ascii_digit() => {
                state.entry = Some((Entry::Number, key.to_string()));
            }
            KeyEvent::Char(key @ ('A' | 'R')) => {
                return Some(Choice::Decide { applies: key == 'A' });
            }
            KeyEvent::Char('W') if self.writes() => return Some(Choice::Next(Next::Confirm)),
            KeyEvent::Char('q') => return Some(Choice::Next(Next::Leave)),
            KeyEvent::Escape if self.queue.is_filtered() => self.queue.filter_by(""),
            KeyEvent::Escape if state.goes_back => return Some(Choice::Next(Next::Walk)),
            KeyEvent::Escape => "q quits".clone_into(&mut state.note),
            KeyEvent::Pasted(_) => PASTED.clone_into(&mut state.note),
            KeyEvent::Char(key) => state.note = unknown_key(key),
            _ => "this key does nothing here; ? lists the keys".clone_into(&mut state.note),
        }
        None
    }

    /// A key while text is typed.
    fn typed(
        &mut self,
        key: KeyEvent,
        entry: Entry,
        mut text: String,
        state: &mut ListState,
    ) -> Option<Choice> {
        match key {
            KeyEvent::Enter => return self.entered(entry, Some(text), state),
            KeyEvent::Escape => return self.entered(entry, None, state),
            KeyEvent::Erase => drop(text.pop()),
            KeyEvent::EraseLine | KeyEvent::EraseWord => text.clear(),
            KeyEvent::Char(c) => text.extend(Some(c).filter(|c| !text::is_unsafe(*c))),
            KeyEvent::Pasted(pasted) => {
                let line = pasted.lines().next().unwrap_or_default();
                text.extend(line.chars().filter(|c| !text::is_unsafe(*c)));
            }
            _ => {}
        }
        if entry == Entry::Filter {
            self.queue.filter_by(&text);
        }
        state.entry = Some((entry, text));
        None
    }

    /// `None` for Esc.
    fn entered(
        &mut self,
        entry: Entry,
        line: Option<String>,
        state: &mut ListState,
    ) -> Option<Choice> {
        match (entry, line) {
            (Entry::Filter, line) => self.queue.filter_by(&line.unwrap_or_default()),
            (Entry::Number, None) => {}
            (Entry::Number, Some(text)) => {
                let found = text.parse().ok().and_then(|number| self.queue.slot_of(number));
                let wrong = format!("'{}' is not a number of this list", escape::line(&text));
                match found {
                    Some(at) => return Some(Choice::Open(at)),
                    None => state.note = wrong,
                }
            }
        }
        None
    }

    fn fold(&mut self) {
        let is_closed = self.queue.group().is_some_and(|group| self.queue.is_closed(&group));
        self.queue.fold(!is_closed);
    }

    fn writes(&self) -> bool {
        self.queue.rows().any(|row| row.answer.is_some())
    }

    fn list_keys(&self) -> Vec<Key> {
        Key::applying([
            (true, '/', "filter; the review keeps to it, and Esc shows all again"),
            (true, 's', "sort by age, risk, size, agent; the review follows"),
            (true, 'A', "apply the group at the cursor, in one question"),
            (true, 'R', "reject the group at the cursor, with one reason"),
            (self.writes(), 'W', "to the last screen, which writes what is decided"),
            (true, 'q', "quit: write, keep or drop what is decided"),
            (true, '?', "help"),
        ])
    }

    /// The lines of the screen.
    fn frame(&mut self, rows: usize, state: &mut ListState) -> Vec<String> {
        let options = &self.console.options;
        let palette = &options.palette;
        let prompt = match &state.entry {
            Some((what, text)) => {
                let room = options.columns.saturating_sub(width::of(what.label()) + 1).max(10);
                format!("{}{}", what.label(), width::fit_end(&escape::line(text), room))
            }
            None => {
                let question = "Enter opens, a number goes there";
                self.console.look().question(question, &self.list_keys())
            }
        };
        let prompt: Vec<String> = prompt.split('\n').map(str::to_owned).collect();
        // The head, and the note.
        let height = rows.saturating_sub(prompt.len() + 2).max(3);
        state.page = isize::try_from(height - 1).unwrap_or(1);
        let title = width::fit(&self.queue.title(), options.columns);
        let mut lines = vec![palette.paint(Role::Title, title)];
        let table = overview::table(self.queue.rows());
        let sized = table.lines(Some(options.columns.saturating_sub(MARGIN).max(20)));
        for (line, is_cursor) in self.queue.window(height) {
            let plain = Palette::plain();
            let inner = if is_cursor { &plain } else { palette };
            let mut text = if is_cursor { ">" } else { " " }.to_owned();
            match line {
                QueueLine::Head(at) => {
                    let group = &self.queue.groups()[at];
                    text += if self.queue.is_closed(group) { "▸ " } else { "▾ " };
                    let group = self.queue.filtered(group);
                    text += &group.head(inner, options.columns.saturating_sub(MARGIN));
                }
                QueueLine::Row(group, row) => {
                    text += "  ";
                    let row: &Row = &self.queue.groups()[group].rows[row];
                    sized.row(&mut text, inner, &overview::cells(row));
                }
            }
            let text = text.trim_end_matches('\n').to_owned();
            let reverse = Style::parse("reverse").filter(|_| is_cursor && palette.is_on());
            lines.push(reverse.map_or(text.clone(), |style| {
                let mut out = String::new();
                style.write(&mut out, &text);
                out
            }));
        }
        lines.push(palette.paint(Role::Dim, width::fit(&state.note, options.columns)));
        lines.extend(prompt);
        lines
    }

    /// Stays on the screen until a key.
    fn explain(&mut self, full: Option<&mut FullScreen<'_>>, rows: usize) -> AskResult<()> {
        let options = &self.console.options;
        let mut text = String::new();
        screen::push_wrapped(&mut text, options, Role::Plain, MOVES);
        text += &self.console.look().help(&self.list_keys());
        screen::push_wrapped(&mut text, options, Role::Plain, MARKS);
        let Some(full) = full else { return Ok(self.console.write(&text)?) };
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for page in lines.chunks(rows.saturating_sub(1).max(1)) {
            let mut page = page.to_vec();
            page.push(options.palette.paint(Role::Title, "A key goes on"));
            while ask(full, &page)? == KeyEvent::Resized {}
        }
        Ok(())
    }
}

/// Columns for the cursor, and for the mark of a group.
const MARGIN: usize = 3;

const MOVES: &str = "\
↑ ↓ j k  move; also PgUp, PgDn, Home, End; J K to the next group or the one before
Enter  opens the proposal; closes or opens a group, as ← → and o do; O all groups
1 2 …  the number of a proposal: Enter behind it goes there";

const MARKS: &str = "\
!  a mark: a secret, a file of CI, a deletion; A asks about these separately
conflict  conflicts with the present files
↳ id  depends on that proposal: that one first
⇄ id  changes the same lines as that one: one of them only
✓ ✗1  the trials that passed or failed";

/// Ctrl-C and Ctrl-D end the session.
fn ask(full: &mut FullScreen<'_>, lines: &[String]) -> AskResult<KeyEvent> {
    match full.ask(lines).map_err(|error| failed(&error))? {
        KeyEvent::Interrupt => Err(Halt::Interrupted),
        KeyEvent::End | KeyEvent::Gone => Err(Halt::Ended),
        key => Ok(key),
    }
}

fn failed(error: &std::io::Error) -> Error {
    Error::io("use the terminal", error)
}
