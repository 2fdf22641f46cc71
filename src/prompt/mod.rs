//! Keys and short lines from the terminal.
//!
//! The terminal is in raw mode only while a key or a line is awaited, and is put back before
//! anything else happens, the end by a signal included. Ctrl-C at a prompt comes as a key.
//!
//! Pasted text decides nothing: where the terminal marks it (bracketed paste), a single-key prompt
//! passes over it as a whole, and a line takes it in, line breaks as blanks. That is why keys are
//! read here: console takes the marks for keys, and dialoguer any `y` in a pasted word for an answer. What a
//! question is about is picked from dialoguer's list ([`pick()`]), which no paste answers.

mod keys;
mod pick;
mod signals;

use std::io;

use console::Term;

use self::keys::{Raw, Typed};
pub use self::pick::pick;
pub use self::signals::Hold;

/// Said to a reviewer who gives no reason for a no.
pub const REASON_WANTED: &str = "a reason, please: the proposer gets it back";

/// A terminal that is asked at.
#[derive(Clone, Debug)]
pub struct Prompt {
    term: Term,
    brackets: bool,
}

/// A key press, as far as a session cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// A character.
    Char(char),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or the terminal is gone.
    End,
    /// The session was stopped with Ctrl-Z and goes on: the question is off the screen.
    Resumed,
    /// Text was pasted, which answers nothing.
    Pasted,
    /// Enter, which decides nothing.
    Enter,
    /// Esc and whatever else decides nothing.
    Nothing,
}

/// What became of a line that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Enter was pressed.
    Line(String),
    /// Esc was pressed.
    Escaped,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D on an empty line, or the terminal is gone.
    End,
}

impl Prompt {
    /// Asks at `term`; with `brackets`, the terminal is told to mark pasted text.
    pub fn new(term: Term, brackets: bool) -> Self {
        Self { term, brackets }
    }

    /// Waits for a key.
    pub fn press(&self) -> Press {
        let Ok(mut raw) = Raw::enter(&self.term, self.brackets) else { return Press::End };
        match raw.read() {
            Typed::Char(c) => Press::Char(c),
            Typed::Enter => Press::Enter,
            Typed::Down => Press::Char('j'),
            Typed::Up => Press::Char('k'),
            Typed::Interrupt => Press::Interrupt,
            Typed::End | Typed::Gone => Press::End,
            Typed::Stop => {
                drop(raw);
                suspend();
                Press::Resumed
            }
            Typed::Pasted(_) => {
                // Whatever came in the same burst behind the mark is no key that was pressed.
                forget_typed_ahead();
                Press::Pasted
            }
            _ => Press::Nothing,
        }
    }

    /// Asks for one line. Backspace, Ctrl-U and Ctrl-W edit it; Esc gives it up.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub fn line(&self, prompt: &str) -> io::Result<Answer> {
        self.line_from(prompt, "")
    }

    /// As [`Prompt::line`], where `typed` was typed already.
    ///
    /// # Errors
    /// As [`Prompt::line`].
    pub fn line_from(&self, prompt: &str, typed: &str) -> io::Result<Answer> {
        self.put(prompt)?;
        self.put(typed)?;
        let mut text = typed.to_owned();
        let mut raw = match Raw::enter(&self.term, self.brackets) {
            Ok(raw) => raw,
            Err(_) => return Ok(Answer::End),
        };
        let answer = loop {
            match raw.read() {
                Typed::Enter => break Answer::Line(text.trim().to_owned()),
                Typed::Escape => break Answer::Escaped,
                Typed::Interrupt => break Answer::Interrupt,
                Typed::End if text.is_empty() => break Answer::End,
                Typed::Gone => break Answer::End,
                Typed::Stop => {
                    drop(raw);
                    suspend();
                    self.put(&format!("{prompt}{text}"))?;
                    raw = match Raw::enter(&self.term, self.brackets) {
                        Ok(raw) => raw,
                        Err(_) => return Ok(Answer::End),
                    };
                }
                Typed::Erase => self.erase(&mut text, |text| text.pop().map(String::from))?,
                Typed::EraseLine => self.erase(&mut text, |text| Some(std::mem::take(text)))?,
                Typed::EraseWord => self.erase(&mut text, |text| {
                    let start = text.trim_end().rfind(' ').map_or(0, |at| at + 1);
                    Some(text.split_off(start))
                })?,
                Typed::Char(c) => self.take(&mut text, c)?,
                Typed::Pasted(pasted) => {
                    for c in pasted.trim_end_matches(['\r', '\n']).chars() {
                        self.take(&mut text, if c.is_whitespace() { ' ' } else { c })?;
                    }
                }
                _ => {}
            }
        };
        drop(raw);
        self.term.write_line("")?;
        Ok(answer)
    }

    fn take(&self, text: &mut String, c: char) -> io::Result<()> {
        if crate::text::is_unsafe(c) {
            return Ok(());
        }
        text.push(c);
        self.put(c.encode_utf8(&mut [0; 4]))
    }

    fn erase(
        &self,
        text: &mut String,
        cut: impl FnOnce(&mut String) -> Option<String>,
    ) -> io::Result<()> {
        match cut(text) {
            Some(gone) => self.put(&"\u{8} \u{8}".repeat(crate::render::width::of(&gone))),
            None => Ok(()),
        }
    }

    fn put(&self, text: &str) -> io::Result<()> {
        self.term.write_str(text)?;
        self.term.flush()
    }
}

/// Ctrl-Z, which comes as a key too: back to the shell, until it says to go on.
fn suspend() {
    use rustix::process::{Signal, kill_current_process_group};
    let _ = kill_current_process_group(Signal::TSTP);
}

/// Forgets keys that were pressed before the question they would answer was on the screen.
pub fn forget_typed_ahead() {
    let queue = rustix::termios::QueueSelector::IFlush;
    let _ = rustix::termios::tcflush(io::stdin(), queue);
}
