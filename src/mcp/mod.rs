//! The tools over the Model Context Protocol, on standard input and output: one JSON message a line.
//!
//! Two eras of the protocol are spoken at once, as its own matrix of compatibility has it: revisions
//! that begin with `initialize` (up to 2025-11-25), and those in which each request says for itself what
//! it speaks (2026-07-28). Nothing but tools is offered; nothing here decides on a proposal.
//!
//! Source: <https://modelcontextprotocol.io/specification>, and its `schema/` in
//! <https://github.com/modelcontextprotocol/modelcontextprotocol>.

pub mod client;
pub mod message;
mod schema;
mod server;

pub use server::{Called, Host, Server};

use std::io::{BufRead, Write};

use crate::error::{Error, Result};

/// Longest message, in bytes: the largest request of a tool, and what JSON makes of it.
const MOST: u64 = 128 << 20;

/// Answers the messages of `input` on `output` until the input ends.
///
/// # Errors
/// `io_error` if either cannot be used any more. A client that is gone is the end of the input.
pub fn serve(mut input: impl BufRead, mut output: impl Write, host: &mut dyn Host) -> Result<()> {
    let mut server = Server::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = read_line(&mut input, &mut line)
            .map_err(|error| Error::io("read from the client", &error))?;
        let answer = match read {
            Read::End => return Ok(()),
            Read::Line => server.answer(&line, host),
            Read::TooLong => Some(message::too_long(MOST)),
        };
        let Some(answer) = answer else { continue };
        let mut bytes = answer.to_string().into_bytes();
        bytes.push(b'\n');
        match output.write_all(&bytes).and_then(|()| output.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(Error::io("write to the client", &error)),
        }
    }
}

enum Read {
    Line,
    TooLong,
    End,
}

/// Reads a line, of which no more than [`MOST`] bytes are kept.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<Read> {
    use std::io::Read as _;
    let count = input.by_ref().take(MOST).read_until(b'\n', line)?;
    if count == 0 {
        return Ok(Read::End);
    }
    if line.ends_with(b"\n") || (count as u64) < MOST {
        return Ok(Read::Line);
    }
    line.clear();
    match input.skip_until(b'\n')? {
        0 => Ok(Read::End),
        _ => Ok(Read::TooLong),
    }
}
