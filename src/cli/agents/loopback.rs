//! The endpoint of the scripted model: as much of HTTP as the clients need, on loopback.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::harness::canary::wire::{self, Reply, Step, Wire};

/// Largest request that is read, in bytes: a conversation with the descriptions of all tools.
const MOST: u64 = 64 << 20;

/// Longest line of a request's head, in bytes.
const LINE: u64 = 64 << 10;

/// How long a client may be silent in the middle of a request.
const SILENCE: Duration = Duration::from_secs(30);

/// A model that answers as long as this process lives.
pub struct Model {
    state: Arc<State>,
}

struct State {
    wire: Wire,
    steps: Vec<Step>,
    trees: String,
    requests: AtomicUsize,
    reached: AtomicUsize,
}

impl Model {
    /// Listens on a free port of loopback, and answers with `steps`; the trees of sessions lie below `trees`.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn start(
        wire: Wire,
        listener: TcpListener,
        steps: Vec<Step>,
        trees: &Path,
    ) -> io::Result<Self> {
        let trees = trees.to_string_lossy().into_owned();
        let (requests, reached) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let state = Arc::new(State { wire, steps, trees, requests, reached });
        let shared = Arc::clone(&state);
        std::thread::Builder::new().name("model".to_owned()).spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                let serve = move || drop(serve(&state, stream));
                drop(std::thread::Builder::new().name("answer".to_owned()).spawn(serve));
            }
        })?;
        Ok(Self { state })
    }

    /// Listens on a free port of loopback.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn listen() -> io::Result<TcpListener> {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
    }

    /// Where `listener` is reached.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn endpoint(listener: &TcpListener) -> io::Result<String> {
        Ok(format!("http://{}", listener.local_addr()?))
    }

    /// How many requests it has had.
    pub fn requests(&self) -> usize {
        self.state.requests.load(Ordering::Relaxed)
    }

    /// How many of its steps it has called for.
    pub fn reached(&self) -> usize {
        self.state.reached.load(Ordering::Relaxed)
    }
}

/// A head, as far as it matters here.
#[derive(Debug, Default, PartialEq, Eq)]
struct Head {
    method: String,
    path: String,
    length: u64,
    is_chunked: bool,
    waits: bool,
}

/// Answers the requests of one connection, one each.
fn serve(state: &State, mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let head = head(&mut reader)?;
    if head.waits {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body =
        if head.is_chunked { chunks(&mut reader)? } else { whole(&mut reader, head.length)? };
    let reply = match head.method.as_str() {
        "POST" => {
            state.requests.fetch_add(1, Ordering::Relaxed);
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            wire::reply(state.wire, &head.path, &body, &state.steps, &state.trees)
        }
        _ => wire::models(),
    };
    if let Some(step) = reply.step {
        state.reached.fetch_max(step + 1, Ordering::Relaxed);
    }
    let Reply { is_stream, body, .. } = reply;
    let kind = if is_stream { "text/event-stream" } else { "application/json" };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(answer.as_bytes())?;
    if head.method != "HEAD" {
        stream.write_all(&body)?;
    }
    stream.shutdown(Shutdown::Write)
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn line(reader: &mut impl io::BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    reader.take(LINE).read_until(b'\n', &mut line)?;
    match line.last() {
        Some(b'\n') => Ok(String::from_utf8_lossy(&line).trim_end().to_owned()),
        _ => Err(invalid("a line has no end")),
    }
}

fn head(reader: &mut impl io::BufRead) -> io::Result<Head> {
    let first = line(reader)?;
    let mut words = first.split(' ');
    let mut word = || words.next().unwrap_or_default().to_owned();
    let mut head = Head { method: word(), path: word(), ..Head::default() };
    for _ in 0..200 {
        let line = line(reader)?;
        if line.is_empty() {
            return Ok(head);
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                head.length = value.parse().map_err(|_| invalid("the length is not a number"))?;
            }
            "transfer-encoding" => head.is_chunked = value.eq_ignore_ascii_case("chunked"),
            "expect" => head.waits = value.eq_ignore_ascii_case("100-continue"),
            _ => {}
        }
    }
    Err(invalid("the head is too long"))
}

fn whole(reader: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    if length > MOST {
        return Err(invalid("the body is too large"));
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    Ok(body)
}

fn chunks(reader: &mut impl io::BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(reader)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| invalid("a chunk has no size"))?;
        if size == 0 {
            while !line(reader)?.is_empty() {}
            return Ok(body);
        }
        if body.len() as u64 + size.min(MOST) > MOST {
            return Err(invalid("the body is too large"));
        }
        body.extend(whole(reader, size)?);
        line(reader)?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::net::SocketAddr;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_client_is_answered_over_http() {
        let listener = Model::listen().unwrap();
        let address = listener.local_addr().unwrap();
        assert!(Model::endpoint(&listener).unwrap().starts_with("http://127.0.0.1:"));
        let steps = vec![Step { tool: "write", input: json!({ "path": "a" }) }];
        let model = Model::start(Wire::Chat, listener, steps, Path::new("/t")).unwrap();
        let models = ask(address, "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(models.contains("application/json") && models.contains("scripted"), "{models}");
        assert_eq!((model.requests(), model.reached()), (0, 0));
        let body = json!({ "messages": [], "tools": [{}], "stream": true }).to_string();
        let length = body.len();
        let whole = ask(
            address,
            &format!(
                "POST /v1/chat HTTP/1.1\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n\r\n{body}"
            ),
        );
        assert!(whole.starts_with("HTTP/1.1 100"), "{whole}");
        assert!(whole.contains("event-stream") && whole.contains("tool_calls"), "{whole}");
        let chunked = ask(
            address,
            &format!(
                "POST /v1/chat HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
            ),
        );
        assert!(chunked.contains("[DONE]"), "{chunked}");
        assert_eq!((model.requests(), model.reached()), (2, 1));
        let head = ask(address, "HEAD / HTTP/1.1\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
        // Nonsense ends its connection alone.
        assert_eq!(ask(address, "nonsense"), "");
        assert_eq!(ask(address, "POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"), "");
        assert!(ask(address, "GET / HTTP/1.1\r\n\r\n").contains("scripted"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = head(&mut Cursor::new(&bytes));
            let _ = chunks(&mut Cursor::new(&bytes));
        }
    }
}
