//! Output and questions at the terminal.

use std::fmt::Display;

use console::Term;

use crate::error::{Error, Result};
use crate::prompt::{self, Answer, Key, LineInput, Look, Prompt};
use crate::render::diff::Options;
use crate::render::style::Role;
use crate::render::width;
use crate::text::escape;

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
        self.tell(Role::Bad, &text)
    }

    pub(super) fn not_written(&self, what: &str, error: &Error) -> Result<()> {
        self.tell(Role::Bad, &format!("{what}: {}", escape::line(error.message())))?;
        match error.hint_text() {
            Some(hint) => self.dim(format_args!("hint: {}", escape::line(hint))),
            None => Ok(()),
        }
    }

    pub(super) fn look(&self) -> Look {
        Look { palette: self.options.palette.clone(), columns: self.options.columns }
    }

    pub(super) fn help(&self, keys: &[Key]) -> Result<()> {
        self.write(&self.look().help(keys))
    }

    pub(super) fn unknown(&self, key: char) -> Result<()> {
        self.dim(prompt::unknown_key(key))
    }

    /// Enter returns a line feed.
    pub(super) fn key(&mut self, question: &str, keys: &[Key]) -> AskResult<char> {
        self.press(&self.look().question(question, keys))
    }

    /// Waits for a key after `prompt`; Enter returns a line feed.
    pub(super) fn press(&mut self, prompt: &str) -> AskResult<char> {
        let look = self.look();
        loop {
            let answer = self.keyboard.key(prompt, &look);
            // The terminal may have been resized during the prompt.
            self.measure();
            match chosen(answer)? {
                Answer::Key(key) => return Ok(key),
                Answer::Enter => return Ok('\n'),
                _ => {}
            }
        }
    }

    pub(super) fn choose(&mut self, question: &str, keys: &[Key]) -> AskResult<char> {
        let look = self.look();
        loop {
            let answer = self.keyboard.choose(question, keys, &look);
            self.measure();
            if let Answer::Key(key) = chosen(answer)? {
                return Ok(key);
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

    /// Asks until `read` makes something of the line; its error says what is wrong with it. `None`
    /// for Esc and an empty line.
    pub(super) fn read_line<T>(
        &self,
        prompt: &str,
        read: impl Fn(&str) -> std::result::Result<T, String>,
    ) -> AskResult<Option<T>> {
        loop {
            let text = self.line(prompt, "")?.filter(|text| !text.is_empty());
            let Some(text) = text else { return Ok(None) };
            match read(&text) {
                Ok(read) => return Ok(Some(read)),
                Err(why) => self.dim(why)?,
            }
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

fn chosen(answer: std::io::Result<Answer>) -> AskResult<Answer> {
    match answer.map_err(|error| Error::io("read from the terminal", &error))? {
        Answer::Interrupt => Err(Halt::Interrupted),
        Answer::End => Err(Halt::Ended),
        answer => Ok(answer),
    }
}
