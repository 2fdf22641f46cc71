//! The tools over the Model Context Protocol, on standard input and output: one JSON message a
//! line.
//!
//! Two eras are supported: revisions with `initialize` (up to 2025-11-25), and stateless ones
//! (2026-07-28), whose requests name their revision. Only tools are offered; nothing here decides
//! on a proposal.
//!
//! Source: <https://modelcontextprotocol.io/specification>, and `schema/` in
//! <https://github.com/modelcontextprotocol/modelcontextprotocol>.

mod cancel;
pub mod client;
pub mod message;
mod server;

pub use cancel::Cancel;
pub use server::{CallResult, Server, ToolHost};

use std::collections::VecDeque;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};

use serde_json::Value;

use crate::error::{Error, Result};
use message::{CALL, Failure, Request, codes};

/// Longest message in bytes: the largest tool request as JSON. Also the limit of messages queued
/// during a call.
pub const MOST: u64 = 128 << 20;

/// Most parallel calls of `wait`: each is a process.
const MOST_WAITS: usize = 16;

struct Call {
    request: Request,
    cancel: Cancel,
    /// Later messages are answered meanwhile.
    is_beside: bool,
}

/// `End` is the end of input.
type InputLine = (std::io::Result<Read>, Vec<u8>);

enum Event {
    Input(InputLine),
    Answered(Arc<Call>, Value),
}

/// Answers messages in order until the input ends. A `wait` does not delay later messages, and a
/// `ping` is answered during any call. Every call can be cancelled.
///
/// # Errors
/// `io_error` if input or output fails. A disconnected client is the end of input.
pub fn serve(
    mut input: impl BufRead + Send + 'static,
    mut output: impl Write,
    server: &Server,
    host: &dyn ToolHost,
) -> Result<()> {
    let no_thread = |error: std::io::Error| Error::io("start a thread", &error);
    // Capacity 0: the next line is read only when the one before is handled.
    let (events, inbox) = mpsc::sync_channel(0);
    let came = events.clone();
    let read = move || loop {
        let mut line = Vec::new();
        let read = read_line(&mut input, &mut line);
        let is_last = matches!(read, Ok(Read::End) | Err(_));
        if came.send(Event::Input((read, line))).is_err() || is_last {
            return;
        }
    };
    std::thread::Builder::new().spawn(read).map_err(no_thread)?;
    std::thread::scope(|scope| {
        let start = |call: Arc<Call>| {
            let events = events.clone();
            let run = move || {
                let answer = server.answer(&call.request, host, &call.cancel);
                // The receiver is gone once the client has disconnected.
                let _ = events.send(Event::Answered(call, answer));
            };
            std::thread::Builder::new().spawn_scoped(scope, run).map(drop).map_err(no_thread)
        };
        let quick = |request: &Request| server.answer(request, host, &Cancel::default());
        let mut calls = Vec::new();
        let served = handle_events(&inbox, &mut output, &mut calls, start, quick);
        drop(inbox);
        calls.iter().for_each(|call| call.cancel.cancel());
        served
    })
}

/// Handles events until the input has ended and all `calls` are answered, or the client is gone.
fn handle_events(
    inbox: &Receiver<Event>,
    output: &mut impl Write,
    calls: &mut Vec<Arc<Call>>,
    start: impl Fn(Arc<Call>) -> Result<()>,
    quick: impl Fn(&Request) -> Value,
) -> Result<()> {
    let (mut kept, mut is_over) = (VecDeque::new(), false);
    while !is_over || !calls.is_empty() {
        let is_held = calls.iter().any(|call| !call.is_beside);
        let next = if is_held { None } else { kept.pop_front() };
        let Some(event) = next.map(Event::Input).or_else(|| inbox.recv().ok()) else { break };
        let answer = match event {
            Event::Answered(call, answer) => {
                calls.retain(|other| !Arc::ptr_eq(other, &call));
                (!call.cancel.is_ended()).then_some(answer)
            }
            Event::Input((read, line)) => match message::cancelled(&line) {
                Some(id) => {
                    let named = calls.iter().filter(|call| call.request.id == id);
                    named.for_each(|call| call.cancel.cancel());
                    let is_other =
                        |line: &[u8]| !matches!(message::read(line), Ok(Some(it)) if it.id == id);
                    kept.retain(|(_, line): &InputLine| is_other(line));
                    None
                }
                None if is_held => answer_or_queue((read, line), &mut kept, &quick),
                None => match read.map_err(|error| Error::io("read from the client", &error))? {
                    Read::End => {
                        is_over = true;
                        None
                    }
                    Read::TooLong => Some(message::too_long(MOST)),
                    Read::Line => match message::read(&line) {
                        Err(answer) => Some(answer),
                        Ok(None) => None,
                        Ok(Some(request)) if request.method != CALL => Some(quick(&request)),
                        Ok(Some(request)) => {
                            let is_beside = server::is_wait(&request) && calls.len() < MOST_WAITS;
                            let cancel = Cancel::default();
                            let call = Arc::new(Call { request, cancel, is_beside });
                            start(Arc::clone(&call))?;
                            calls.push(call);
                            None
                        }
                    },
                },
            },
        };
        if let Some(answer) = answer
            && !send(output, &answer)?
        {
            return Ok(());
        }
    }
    Ok(())
}

/// Answers during a blocking call, or queues the message in `kept`.
fn answer_or_queue(
    (read, line): InputLine,
    kept: &mut VecDeque<InputLine>,
    quick: impl Fn(&Request) -> Value,
) -> Option<Value> {
    let size: usize = kept.iter().map(|(_, line)| line.len()).sum();
    match message::read(&line) {
        Ok(Some(request)) if request.method == "ping" => Some(quick(&request)),
        Ok(Some(request)) if (size + line.len()) as u64 > MOST => {
            let failure = Failure::new(codes::INTERNAL_ERROR, "too much waits for a call");
            Some(message::failure(&request.id, failure))
        }
        _ => {
            kept.push_back((read, line));
            None
        }
    }
}

/// False if the client is gone.
fn send(output: &mut impl Write, answer: &Value) -> Result<bool> {
    let mut bytes = answer.to_string().into_bytes();
    bytes.push(b'\n');
    match output.write_all(&bytes).and_then(|()| output.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Error::io("write to the client", &error)),
    }
}

pub enum Read {
    Line,
    TooLong,
    End,
}

pub fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<Read> {
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
