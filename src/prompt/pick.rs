//! One of a few, picked from a list: dialoguer's, with arrow keys. It chooses what a question is about and
//! never answers one: its keys are Enter, Esc and those that move, and a paste is no word to it.

use std::io::{self, Write};

use console::Term;

/// Most items that are on the screen at a time.
const SHOWN: usize = 12;

/// Lets a person pick one of `items`, which are made safe for a terminal and one line each; `None` for Esc.
/// Ctrl-C ends the program, as it does where nothing is asked.
///
/// # Errors
/// If the terminal cannot be read.
pub fn pick(question: &str, items: &[String]) -> io::Result<Option<usize>> {
    let select = dialoguer::Select::new().with_prompt(question).items(items).default(0);
    let picked = select.max_length(SHOWN).interact_on_opt(&terminal());
    picked.map_err(|dialoguer::Error::IO(error)| error)
}

/// Standard error, on which the cursor stays: whoever ends the program at the list would be left without.
fn terminal() -> Term {
    Term::read_write_pair(io::stdin(), Shown(io::stderr()))
}

/// Passes on everything but what hides the cursor.
#[derive(Debug)]
struct Shown(io::Stderr);

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match bytes {
            b"\x1b[?25l" => Ok(bytes.len()),
            _ => self.0.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl std::os::fd::AsRawFd for Shown {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.0.as_raw_fd()
    }
}
