//! One item picked from a list. A list chooses a question's subject and never answers the question.

use std::io::{self, Write};

use console::Term;

use crate::render::width;

const SHOWN: usize = 12;

/// Columns of the cursor before an item, and the last one.
const MARGIN: usize = 3;

/// `items` are single lines, safe for a terminal, and are cut to its width: one that wraps would not
/// be drawn over. Esc returns `None`. Ctrl-C ends the program.
pub fn pick(question: &str, items: &[String]) -> io::Result<Option<usize>> {
    let terminal = terminal();
    let room = usize::from(terminal.size().1).saturating_sub(MARGIN);
    let items = items.iter().map(|item| width::fit(item, room));
    let select = dialoguer::Select::new().with_prompt(question).items(items).default(0);
    let picked = select.max_length(SHOWN).report(false).interact_on_opt(&terminal);
    picked.map_err(|dialoguer::Error::IO(error)| error)
}

/// Standard error that keeps its cursor: a program that ends at the list would leave it hidden.
fn terminal() -> Term {
    Term::read_write_pair(io::stdin(), CursorKeepingStderr(io::stderr()))
}

#[derive(Debug)]
struct CursorKeepingStderr(io::Stderr);

impl Write for CursorKeepingStderr {
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

impl std::os::fd::AsRawFd for CursorKeepingStderr {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.0.as_raw_fd()
    }
}
