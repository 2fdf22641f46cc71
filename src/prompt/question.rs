//! Questions that one key answers, without Enter. Neither Enter nor Esc nor pasted text is an answer.

use std::io;

use super::{KeyPress, Prompt, forget_typed_ahead};
use crate::render::style::{Palette, Role};
use crate::render::width;
use crate::text::escape;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub key: char,
    pub help: &'static str,
    /// Also in the prompt, not only in the help.
    pub is_prompted: bool,
}

impl Key {
    pub const fn new(key: char, help: &'static str) -> Self {
        Self { key, help, is_prompted: true }
    }

    pub fn applying<const N: usize>(keys: [(bool, char, &'static str); N]) -> Vec<Self> {
        let keys = keys.into_iter().filter(|(applies, ..)| *applies);
        keys.map(|(_, key, help)| Self::new(key, help)).collect()
    }
}

/// The look of questions on one terminal.
#[derive(Clone, Debug)]
pub struct Look {
    pub palette: Palette,
    pub columns: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Key(char),
    Enter,
    Escaped,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// Text of a proposal in a question, escaped. Its length does not push the verb off the screen.
pub fn short_title(text: &str) -> String {
    width::fit(&escape::line(text), 60)
}

impl Look {
    /// `Take this hunk [y,n,…]? `, in lines of whole words.
    pub fn question(&self, question: &str, keys: &[Key]) -> String {
        let columns = self.columns.max(12);
        let keys: Vec<&Key> = keys.iter().filter(|key| key.is_prompted).collect();
        let lines = width::wrap(question.trim_end_matches('?'), columns);
        let last = lines.last().map_or(0, |line| width::of(line));
        // The keys stay together, on a line of their own if need be.
        let (gap, mut used) = match last + 2 * keys.len() + 4 {
            all if all <= columns => (" ", last + 2),
            _ => ("\n", 1),
        };
        let question = lines.join("\n");
        let mut out = self.palette.paint(Role::Title, format_args!("{question}{gap}["));
        for (n, key) in keys.iter().enumerate() {
            if used + 4 > columns {
                out.push('\n');
                used = 0;
            }
            self.palette.write(&mut out, Role::Key, key.key.encode_utf8(&mut [0; 4]));
            used += 2;
            if n + 1 < keys.len() {
                out.push(',');
            }
        }
        out += &self.palette.paint(Role::Title, "]?");
        out.push(' ');
        out
    }

    pub fn help(&self, keys: &[Key]) -> String {
        let mut out = String::new();
        for key in keys {
            let indent = 5;
            let lines = width::wrap(key.help, self.columns.saturating_sub(indent).max(20));
            for (n, line) in lines.iter().enumerate() {
                let start = match n {
                    0 => format!("  {}  ", self.palette.paint(Role::Key, key.key)),
                    _ => " ".repeat(indent),
                };
                out += &format!("{start}{line}\n");
            }
        }
        out + "  Enter and Esc decide nothing.\n"
    }

    fn unknown(&self, key: char) -> String {
        format!("{}\n", self.palette.paint(Role::Dim, unknown_key(key)))
    }
}

/// Answer to a key that is not among the keys of a question; safe for a terminal.
pub fn unknown_key(key: char) -> String {
    format!("'{}' does nothing here; ? lists the keys", escape::line(&key.to_string()))
}

pub const PASTED: &str = "pasted text decides nothing";

impl Prompt {
    /// Waits for a key after `prompt`, prints it and ends the line.
    pub fn key(&self, prompt: &str, look: &Look) -> io::Result<Answer> {
        self.put(prompt)?;
        let answer = loop {
            match self.press() {
                KeyPress::Nothing => {}
                KeyPress::Enter => break Answer::Enter,
                KeyPress::Escape => break Answer::Escaped,
                KeyPress::Pasted => {
                    let text = look.palette.paint(Role::Dim, PASTED);
                    self.put(&format!("\n{text}\n{prompt}"))?;
                }
                KeyPress::Resumed => {
                    forget_typed_ahead();
                    self.put(&format!("\n{prompt}"))?;
                }
                KeyPress::Interrupt => return Ok(Answer::Interrupt),
                KeyPress::End => return Ok(Answer::End),
                KeyPress::Char(key) => break Answer::Key(key),
            }
        };
        if let Answer::Key(key) = answer {
            self.put(key.encode_utf8(&mut [0; 4]))?;
        }
        self.put("\n")?;
        Ok(answer)
    }

    /// Asks until the answer is one of `keys`, or Esc. `?` explains the keys.
    pub fn choose(&self, question: &str, keys: &[Key], look: &Look) -> io::Result<Answer> {
        let prompt = look.question(question, keys);
        loop {
            match self.key(&prompt, look)? {
                Answer::Enter => {}
                Answer::Key(key) if keys.iter().any(|known| known.key == key && key != '?') => {
                    return Ok(Answer::Key(key));
                }
                Answer::Key('?') => self.put(&look.help(keys))?,
                Answer::Key(key) => self.put(&look.unknown(key))?,
                answer => return Ok(answer),
            }
        }
    }
}
