//! Output and questions at the terminal.

use std::fmt::Display;

use console::Term;

use crate::error::{Error, Result};
use crate::prompt::{self, KeyPress, LineInput, Prompt};
use crate::render::diff::Options;
use crate::render::style::Role;
use crate::render::width;
use crate::review::model::Key;
use crate::text::escape;

use super::screen;

pub(super) enum Halt {
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the terminal is gone.
    Ended,
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

pub(super) type AskResult<T> = std::result::Result<T, Halt>;

pub(super) struct Console {
    term: Term,
    pub(super) keyboard: Prompt,
    /// Adapted to the terminal's width.
    pub(super) options: Options,
}

impl Console {
    pub(super) fn new(term: Term, options: Options, marks_pastes: bool) -> Self {
        let keyboard = Prompt::new(term.clone(), marks_pastes);
        Self { term, keyboard, options }
    }

    /// Reads the terminal's size, which may change between prompts. Returns its rows.
    pub(super) fn measure(&mut self) -> usize {
        let (rows, columns) = self.term.size_checked().unwrap_or((24, 80));
        self.options.columns = usize::from(columns).max(20);
        usize::from(rows)
    }

    pub(super) fn write(&self, text: &str) -> Result<()> {
        let written = self.term.write_str(text).and_then(|()| self.term.flush());
        written.map_err(|error| Error::io("write to the terminal", &error))
    }

    pub(super) fn say(&self, text: &str) -> Result<()> {
        self.write(&format!("{text}\n"))
    }

    /// Wraps a message of aye.
    pub(super) fn tell(&self, role: Role, text: &str) -> Result<()> {
        for line in width::wrap(text, self.options.columns) {
            self.say(&self.options.palette.paint(role, line))?;
        }
        Ok(())
    }

    pub(super) fn dim(&self, text: impl Display) -> Result<()> {
        self.tell(Role::Dim, &text.to_string())
    }

    pub(super) fn fail(&self, error: &Error) -> Result<()> {
        let text = format!("{}: {}", error.code().id, escape::line(error.message()));
        self.say(&self.options.palette.paint(Role::Bad, text))
    }

    pub(super) fn not_written(&self, what: &str, error: &Error) -> Result<()> {
        self.tell(Role::Bad, &format!("{what}: {}", escape::line(error.message())))?;
        match error.hint_text() {
            Some(hint) => self.dim(format_args!("hint: {}", escape::line(hint))),
            None => Ok(()),
        }
    }

    /// Enter returns a line feed.
    pub(super) fn key(&mut self, prompt: &str) -> AskResult<char> {
        self.write(prompt)?;
        loop {
            match self.keyboard.press() {
                KeyPress::Nothing => {}
                KeyPress::Enter => {
                    self.say("")?;
                    return Ok('\n');
                }
                KeyPress::Pasted => {
                    self.say("")?;
                    self.dim("pasted text decides nothing")?;
                    self.write(prompt)?;
                }
                KeyPress::Resumed => {
                    prompt::forget_typed_ahead();
                    self.write(&format!("\n{prompt}"))?;
                }
                KeyPress::Interrupt => return Err(Halt::Interrupted),
                KeyPress::End => return Err(Halt::Ended),
                KeyPress::Char(key) => {
                    self.say(key.encode_utf8(&mut [0; 4]))?;
                    // The terminal may have been resized during the prompt.
                    self.measure();
                    return Ok(key);
                }
            }
        }
    }

    pub(super) fn choose(&mut self, question: &str, keys: &[Key]) -> AskResult<char> {
        let prompt = screen::prompt(None, question, keys, &self.options);
        loop {
            match self.key(&prompt)? {
                '?' => self.write(&screen::help(keys, &self.options))?,
                key if keys.iter().any(|known| known.key == key) => return Ok(key),
                _ => {}
            }
        }
    }

    /// The line begins with `typed`; `None` for Esc.
    pub(super) fn line(&self, prompt: &str, typed: &str) -> AskResult<Option<String>> {
        let answer = self.keyboard.line_from(prompt, typed);
        match answer.map_err(|error| Error::io("read from the terminal", &error))? {
            LineInput::Line(text) => Ok(Some(text)),
            LineInput::Escaped => Ok(None),
            LineInput::Interrupt => Err(Halt::Interrupted),
            LineInput::End => Err(Halt::Ended),
        }
    }

    /// `None` for Esc.
    pub(super) fn reason(&self, prompt: &str) -> AskResult<Option<String>> {
        loop {
            match self.line(prompt, "")? {
                Some(text) if text.is_empty() => self.dim(prompt::REASON_WANTED)?,
                answer => return Ok(answer),
            }
        }
    }
}
