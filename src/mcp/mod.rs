//! The tools over the Model Context Protocol, on standard input and output: one JSON message a line.
//!
//! Two eras of the protocol are spoken at once, as its own matrix of compatibility has it: revisions
//! that begin with `initialize` (up to 2025-11-25), and those in which each request says for itself what
//! it speaks (2026-07-28). Nothing but tools is offered; nothing here decides on a proposal.
//!
//! Source: <https://modelcontextprotocol.io/specification>, and its `schema/` in
//! <https://github.com/modelcontextprotocol/modelcontextprotocol>.

mod cancel;
pub mod client;
mod inbox;
pub mod message;
mod schema;
mod server;

pub use cancel::Cancel;
pub use server::{Called, Host, Server};

use std::collections::VecDeque;
use std::io::{BufRead, Write};
use std::sync::Arc;

use serde_json::Value;

use crate::error::{Error, Result};
use inbox::Inbox;
use message::{CALL, Failure, Request, codes};

/// Longest message, in bytes: the largest request of a tool, and what JSON makes of it. Also the most that is kept
/// of messages that came in during a call.
const MOST: u64 = 128 << 20;

/// What there is to see to.
enum Event {
    /// A message has come, or the end of them.
    Came(std::io::Result<Read>, Vec<u8>),
    /// The tool that was called has answered.
    Answered(Value),
}

/// Answers the messages of `input` on `output` until the input ends, one after the other; but while a tool is called
/// a `ping` is answered, and the call can be cancelled.
///
/// # Errors
/// `io_error` if either cannot be used any more. A client that is gone is the end of the input.
pub fn serve(
    mut input: impl BufRead + Send + 'static,
    mut output: impl Write,
    host: &dyn Host,
) -> Result<()> {
    let no_thread = |error: std::io::Error| Error::io("start a thread", &error);
    let events = Arc::<Inbox<Event>>::default();
    let came = Arc::clone(&events);
    let read = move || loop {
        let mut line = Vec::new();
        let read = read_line(&mut input, &mut line);
        let is_last = matches!(read, Ok(Read::End) | Err(_));
        came.put(Event::Came(read, line));
        if is_last {
            return;
        }
    };
    std::thread::Builder::new().spawn(read).map_err(no_thread)?;
    let server = Server::default();
    let mut kept = VecDeque::new();
    std::thread::scope(|scope| {
        while let Some((read, line)) = kept.pop_front().or_else(|| match events.take() {
            Event::Came(read, line) => Some((read, line)),
            Event::Answered(_) => None,
        }) {
            let request = match read.map_err(|error| Error::io("read from the client", &error))? {
                Read::End => break,
                Read::Line => message::read(&line),
                Read::TooLong => Err(message::too_long(MOST)),
            };
            let answer = match request {
                Err(answer) => Some(answer),
                Ok(None) => None,
                Ok(Some(request)) if request.method != CALL => {
                    Some(server.answer(&request, host, &Cancel::default()))
                }
                Ok(Some(request)) => {
                    let (server, events) = (&server, &*events);
                    let call = Arc::new((request, Cancel::default()));
                    let called = Arc::clone(&call);
                    let run = move || {
                        let answer = server.answer(&called.0, host, &called.1);
                        events.put_now(Event::Answered(answer));
                    };
                    std::thread::Builder::new().spawn_scoped(scope, run).map_err(no_thread)?;
                    let quick = |request: &Request| server.answer(request, host, &call.1);
                    attend(events, &mut kept, &mut output, &call, quick)
                }
            };
            if let Some(answer) = answer
                && !send(&mut output, &answer)?
            {
                break;
            }
        }
        Ok(())
    })
}

/// Sees to what comes in during a call, and returns the answer to that, if it was not cancelled.
fn attend(
    events: &Inbox<Event>,
    kept: &mut VecDeque<(std::io::Result<Read>, Vec<u8>)>,
    output: &mut impl Write,
    call: &(Request, Cancel),
    quick: impl Fn(&Request) -> Value,
) -> Option<Value> {
    let (call, cancel) = call;
    loop {
        let (read, line) = match events.take() {
            Event::Answered(answer) => return (!cancel.is_ended()).then_some(answer),
            Event::Came(read, line) => (read, line),
        };
        if let Some(id) = message::cancelled(&line) {
            if id == call.id {
                cancel.cancel();
            }
            let is_other =
                |line: &[u8]| !matches!(message::read(line), Ok(Some(it)) if it.id == id);
            kept.retain(|(_, line)| is_other(line));
            continue;
        }
        let size: usize = kept.iter().map(|(_, line)| line.len()).sum();
        let answer = match message::read(&line) {
            Ok(Some(request)) if request.method == "ping" => quick(&request),
            Ok(Some(request)) if (size + line.len()) as u64 > MOST => {
                let failure = Failure::new(codes::INTERNAL_ERROR, "too much waits for a call");
                message::failed(&request.id, failure)
            }
            _ => {
                kept.push_back((read, line));
                continue;
            }
        };
        // Nobody waits for it any more.
        if !matches!(send(output, &answer), Ok(true)) {
            cancel.cancel();
        }
    }
}

/// Whether the client took `answer`; not if it is gone.
fn send(output: &mut impl Write, answer: &Value) -> Result<bool> {
    let mut bytes = answer.to_string().into_bytes();
    bytes.push(b'\n');
    match output.write_all(&bytes).and_then(|()| output.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Error::io("write to the client", &error)),
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
