//! Keys and short lines from the terminal.
//!
//! The terminal is in raw mode only while a key is awaited, so nothing has to be put back when
//! the process ends elsewhere. Ctrl-C at a prompt comes as a key.
//!
//! Single questions (`aye apply`, `aye reject`) are dialoguer's. A session asks for itself:
//! dialoguer's prompts end the process on Ctrl-C, so that nothing could be said of what is kept;
//! its `Input` knows no Esc; its `Confirm` knows no third answer such as `u`; its `Editor` edits
//! text, where a hunk is bytes. Keys come from console all the same.

use std::io;

use console::{Key, Term};

/// A key press, as far as a session cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Press {
    /// A character.
    Char(char),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or the terminal is gone.
    End,
    /// The session was stopped with Ctrl-Z and goes on: the question is off the screen.
    Resumed,
    /// Enter, Esc and whatever else decides nothing.
    Nothing,
}

/// Waits for a key.
pub(super) fn press(term: &Term) -> Press {
    match term.read_key_raw() {
        Ok(Key::CtrlC | Key::Char('\u{3}')) => Press::Interrupt,
        Ok(Key::Char('\u{4}')) => Press::End,
        Ok(Key::Char('\u{1a}')) => {
            suspend();
            Press::Resumed
        }
        Ok(Key::ArrowDown) => Press::Char('j'),
        Ok(Key::ArrowUp) => Press::Char('k'),
        Ok(Key::Char(c)) if !c.is_control() => Press::Char(c),
        Ok(_) => Press::Nothing,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Press::Interrupt,
        Err(_) => Press::End,
    }
}

/// Ctrl-Z, which comes as a key too: back to the shell, until it says to go on.
fn suspend() {
    #[cfg(unix)]
    {
        use rustix::process::{Signal, kill_current_process_group};
        let _ = kill_current_process_group(Signal::TSTP);
    }
}

/// What became of a line that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Enter was pressed.
    Line(String),
    /// Esc was pressed.
    Escaped,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D on an empty line, or the terminal is gone.
    End,
}

/// Asks for one line. Backspace, Ctrl-U and Ctrl-W edit it; Esc gives it up.
pub(super) fn line(term: &Term, prompt: &str) -> io::Result<Answer> {
    term.write_str(prompt)?;
    term.flush()?;
    let mut text = String::new();
    loop {
        match term.read_key_raw() {
            Ok(Key::Enter) => {
                term.write_line("")?;
                return Ok(Answer::Line(text.trim().to_owned()));
            }
            Ok(Key::Escape) => {
                term.write_line("")?;
                return Ok(Answer::Escaped);
            }
            Ok(Key::CtrlC | Key::Char('\u{3}')) => {
                term.write_line("")?;
                return Ok(Answer::Interrupt);
            }
            Ok(Key::Char('\u{4}')) if text.is_empty() => {
                term.write_line("")?;
                return Ok(Answer::End);
            }
            Ok(Key::Char('\u{1a}')) => {
                suspend();
                term.write_str(&format!("{prompt}{text}"))?;
                term.flush()?;
            }
            Ok(Key::Backspace) => erase(term, &mut text, |text| text.pop().map(String::from))?,
            Ok(Key::Char('\u{15}')) => {
                erase(term, &mut text, |text| Some(std::mem::take(text)))?;
            }
            Ok(Key::Char('\u{17}')) => erase(term, &mut text, |text| {
                let start = text.trim_end().rfind(' ').map_or(0, |at| at + 1);
                Some(text.split_off(start))
            })?,
            Ok(Key::Char(c)) if !crate::render::escape::is_unsafe(c) => {
                text.push(c);
                term.write_str(c.encode_utf8(&mut [0; 4]))?;
                term.flush()?;
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                return Ok(Answer::Interrupt);
            }
            Err(_) => return Ok(Answer::End),
        }
    }
}

fn erase(
    term: &Term,
    text: &mut String,
    cut: impl FnOnce(&mut String) -> Option<String>,
) -> io::Result<()> {
    if let Some(gone) = cut(text) {
        let columns = crate::render::width::of(&gone);
        term.write_str(&"\u{8} \u{8}".repeat(columns))?;
        term.flush()?;
    }
    Ok(())
}

/// Forgets keys that were pressed before the question they would answer was on the screen.
pub(super) fn forget_typed_ahead() {
    #[cfg(unix)]
    {
        let queue = rustix::termios::QueueSelector::IFlush;
        let _ = rustix::termios::tcflush(io::stdin(), queue);
    }
}
