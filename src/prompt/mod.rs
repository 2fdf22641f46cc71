//! Keys and short lines from the terminal.
//!
//! Raw mode lasts only while a key or a line is awaited, and is reset before a signal ends the
//! process. Ctrl-C at a prompt arrives as a key.
//!
//! Pasted text decides nothing. With bracketed paste, a single-key prompt skips the paste, and a
//! line takes it with line breaks as spaces. Keys are therefore read here: console reads the marks
//! as keys, and dialoguer reads a `y` in pasted text as an answer.

mod full_screen;
mod keys;
mod pick;
mod question;
mod signals;

use std::io;

use console::Term;

pub use self::full_screen::FullScreen;
pub use self::keys::KeyEvent;
use self::keys::Raw;
pub use self::pick::pick;
pub use self::question::{Answer, Key, Look, PASTED, short_title, unknown_key};
pub use self::signals::SignalHold;
use crate::render::width;

pub const REASON_WANTED: &str = "a reason, please: the proposer gets it back";

#[derive(Clone, Debug)]
pub struct Prompt {
    term: Term,
    brackets: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPress {
    Char(char),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or the terminal is gone.
    End,
    /// The process continues after Ctrl-Z: the question must be drawn again.
    Resumed,
    Pasted,
    /// Decides nothing.
    Enter,
    /// Decides nothing.
    Escape,
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineInput {
    Line(String),
    /// Esc.
    Escaped,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D on an empty line, or the terminal is gone.
    End,
}

impl Prompt {
    pub fn new(term: Term, brackets: bool) -> Self {
        Self { term, brackets }
    }

    pub fn press(&self) -> KeyPress {
        let Ok(mut raw) = Raw::enter(&self.term, self.brackets) else { return KeyPress::End };
        match raw.read() {
            KeyEvent::Char(c) => KeyPress::Char(c),
            KeyEvent::Enter => KeyPress::Enter,
            KeyEvent::Escape => KeyPress::Escape,
            KeyEvent::Down => KeyPress::Char('j'),
            KeyEvent::Up => KeyPress::Char('k'),
            KeyEvent::Interrupt => KeyPress::Interrupt,
            KeyEvent::End | KeyEvent::Gone => KeyPress::End,
            KeyEvent::Stop => {
                drop(raw);
                suspend();
                KeyPress::Resumed
            }
            KeyEvent::Pasted(_) => {
                // The rest of the same burst is not key presses.
                forget_typed_ahead();
                KeyPress::Pasted
            }
            _ => KeyPress::Nothing,
        }
    }

    /// Asks for one line. Backspace, Ctrl-U and Ctrl-W edit it; Esc aborts.
    pub fn line(&self, prompt: &str) -> io::Result<LineInput> {
        self.line_from(prompt, "")
    }

    pub fn line_from(&self, prompt: &str, typed: &str) -> io::Result<LineInput> {
        let columns = usize::from(self.term.size().1);
        let prompt = width::wrap(prompt, columns).join("\n");
        self.put(&prompt)?;
        self.put(typed)?;
        let mut text = typed.to_owned();
        let mut raw = match Raw::enter(&self.term, self.brackets) {
            Ok(raw) => raw,
            Err(_) => return Ok(LineInput::End),
        };
        let answer = loop {
            match raw.read() {
                KeyEvent::Enter => break LineInput::Line(text.trim().to_owned()),
                KeyEvent::Escape => break LineInput::Escaped,
                KeyEvent::Interrupt => break LineInput::Interrupt,
                KeyEvent::End if text.is_empty() => break LineInput::End,
                KeyEvent::Gone => break LineInput::End,
                KeyEvent::Stop => {
                    drop(raw);
                    suspend();
                    self.put(&format!("{prompt}{text}"))?;
                    raw = match Raw::enter(&self.term, self.brackets) {
                        Ok(raw) => raw,
                        Err(_) => return Ok(LineInput::End),
                    };
                }
                KeyEvent::Erase => self.erase(&mut text, |text| text.pop().map(String::from))?,
                KeyEvent::EraseLine => self.erase(&mut text, |text| Some(std::mem::take(text)))?,
                KeyEvent::EraseWord => self.erase(&mut text, |text| {
                    let start = text.trim_end().rfind(' ').map_or(0, |at| at + 1);
                    Some(text.split_off(start))
                })?,
                KeyEvent::Char(c) => self.take(&mut text, c)?,
                KeyEvent::Pasted(pasted) => {
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
            Some(gone) => self.put(&"\u{8} \u{8}".repeat(width::of(&gone))),
            None => Ok(()),
        }
    }

    fn put(&self, text: &str) -> io::Result<()> {
        self.term.write_str(text)?;
        self.term.flush()
    }
}

/// Stops the process group until the shell continues it.
fn suspend() {
    use rustix::process::{Signal, kill_current_process_group};
    let _ = kill_current_process_group(Signal::TSTP);
}

/// Discards keys pressed before the question appeared.
pub fn forget_typed_ahead() {
    let queue = rustix::termios::QueueSelector::IFlush;
    let _ = rustix::termios::tcflush(io::stdin(), queue);
}
