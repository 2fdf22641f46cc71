//! Keys of the walk from unit to unit, and the actions that they start.

use super::console::AskResult;
use super::earlier_comments::{noun, on};
use super::{Terminal, overview};
use crate::error::Result;
use crate::render::diff::Layout;
use crate::review::model::{Action, Refusal};
use crate::text::escape;

/// Context lines that `+` adds.
const STEP: usize = 3;

impl Terminal<'_> {
    /// `key` must apply.
    pub(super) fn press(&mut self, key: char) -> AskResult<()> {
        match key {
            '+' => self.show_context(self.console.options.context.saturating_add(STEP)),
            '-' => self.show_context(self.console.options.context.saturating_sub(STEP)),
            'W' => self.words(),
            'w' => self.ignore_space(),
            'o' if !self.is_folded() => self.page_file()?,
            'p' => self.page_proposal()?,
            'D' => self.compare()?,
            't' => self.try_taken()?,
            '?' => self.help()?,
            key => {
                if let Some(action) = self.action(key)? {
                    self.act(action)?;
                }
            }
        }
        Ok(())
    }

    /// `None` if the reviewer aborts a question.
    fn action(&mut self, key: char) -> AskResult<Option<Action>> {
        Ok(match key {
            'y' => Some(Action::Take),
            'n' => Some(Action::Leave),
            'a' => Some(Action::TakeFile),
            'd' => Some(Action::LeaveFile),
            's' => Some(Action::Split),
            'l' => self.choose_lines()?,
            'o' => Some(Action::Open),
            'j' => Some(Action::Next),
            'k' => Some(Action::Previous),
            'J' => Some(Action::NextFile),
            'K' => Some(Action::PreviousFile),
            'f' => self.choose_file()?.map(Action::GotoFile),
            'g' => self.choose_hunk()?.map(Action::Goto),
            '/' => self.search()?.map(Action::Search),
            'u' => Some(Action::Undo),
            'A' => Some(Action::TakeRest),
            '>' => Some(Action::Skip),
            '<' => Some(Action::Back),
            'e' => self.edit()?.map(Action::Edit),
            'c' => self.comment_on()?.map(Action::Comment),
            'R' => self.console.reason("Reject it because (Esc: do not): ")?.map(Action::Reject),
            'x' => self.wanted_changes()?.map(Action::RequestChanges),
            _ => None,
        })
    }

    fn act(&mut self, action: Action) -> Result<()> {
        let before = self.session.unit_index();
        let changes_screen = matches!(action, Action::Undo | Action::Split | Action::Open);
        let is_edit = matches!(action, Action::Edit(_));
        let message = match &action {
            Action::Undo => self.session.undoes().map(|what| format!("undone: {what}")),
            Action::Comment(said) => {
                Some(format!("kept as a {}{}; u undoes it", noun(&said.kind), on(said)))
            }
            _ => None,
        };
        if let Err(refusal) = self.session.act(action) {
            return self.console.dim(refusal.0);
        }
        if changes_screen {
            self.show_again();
        }
        if is_edit {
            self.show_edited(before)?;
        }
        message.map_or(Ok(()), |message| self.console.dim(message))
    }

    fn is_folded(&self) -> bool {
        self.session.unit().is_some_and(|unit| unit.folded.is_some())
    }

    fn show_context(&mut self, lines: usize) {
        self.console.options.context = lines;
        self.show_again();
    }

    fn words(&mut self) {
        self.console.options.layout = match self.console.options.layout {
            Layout::Unified => Layout::Words,
            Layout::Words => Layout::Unified,
        };
        if let Some(current) = &mut self.current {
            (current.unit, current.painter) = (None, None);
        }
    }

    fn ignore_space(&mut self) {
        let options = &mut self.console.options;
        options.ignore_space = !options.ignore_space;
        self.show_again();
    }

    fn search(&mut self) -> AskResult<Option<String>> {
        loop {
            let line = self.console.line("Search (Esc: do not): ", "")?;
            let Some(text) = line else { return Ok(None) };
            if !text.is_empty() {
                self.last_search = text;
            }
            let (at, text) = (self.session.unit_index(), &self.last_search);
            let found = self.session.review().and_then(|review| review.search(at, text));
            if text.is_empty() || found.is_some() {
                return Ok(Some(text.clone()).filter(|text| !text.is_empty()));
            }
            self.console.dim(Refusal::NOT_FOUND.0)?;
        }
    }

    fn wanted_changes(&self) -> AskResult<Option<String>> {
        let asked = "What should change (Esc: nothing): ";
        // Comments already say it.
        if self.session.slot().is_some_and(|slot| !slot.comments.is_empty()) {
            self.console.line(asked, "")
        } else {
            self.console.reason(asked)
        }
    }

    fn choose_hunk(&self) -> AskResult<Option<usize>> {
        let Some(review) = self.session.review() else { return Ok(None) };
        let list = overview::hunks(review, self.session.unit_index(), &self.console.options);
        self.console.write(&list)?;
        let count = review.units().len();
        self.console.read_line("Go to hunk number (Esc: stay): ", |text| match text.parse() {
            Ok(number @ 1..) if number <= count => Ok(number - 1),
            _ => Err(format!("'{}' is not among the hunks 1 to {count}", escape::line(text))),
        })
    }

    fn choose_file(&self) -> AskResult<Option<usize>> {
        let Some(review) = self.session.review() else { return Ok(None) };
        self.console.write(&overview::files(review, usize::MAX, &self.console.options))?;
        let asked = "Go to file, by number or part of its path (Esc: stay): ";
        self.console.read_line(asked, |text| {
            overview::file(review, text).ok_or_else(|| {
                let text = escape::line(text);
                format!("'{text}' is not one file of this proposal: it names none, or several")
            })
        })
    }

    fn help(&self) -> Result<()> {
        self.console.help(&self.keys())?;
        self.console.dim("  Nothing is written before you confirm the last screen.")
    }
}
