//! Credentials behind an encoding: base64 (plain, URL-safe), hexadecimal, percent signs, up to
//! two of them one in the other.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::finding::Span;
use super::runs;
use super::value;

/// The longest run that is decoded, in bytes; what is longer is embedded data.
const LONGEST: usize = 64 * 1024;
/// How many encodings are taken off.
const DEEPEST: usize = 2;
/// Bytes that are decoded of one text; what is behind them stays encoded.
const MOST: usize = 4 * 1024 * 1024;
/// Bytes of a run that tell whether text comes of it: of most runs none does.
const TASTE: usize = 16;

/// How `base64` reads: padding or none, and whatever the last bits are.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);

static PLAIN: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
static URL: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// Looks into the encoded runs of one text.
pub(super) struct Decoder<L> {
    look: L,
    /// Bytes that may still be decoded.
    left: usize,
}

impl<L: Fn(&[u8], &mut Vec<Span>)> Decoder<L> {
    /// A decoder that asks `look` what is in decoded text.
    pub fn new(look: L) -> Self {
        Self { look, left: MOST }
    }

    /// Adds the run `start..end` of `text` to `spans`, under the name of what is in its text.
    pub fn run(&mut self, text: &[u8], start: usize, end: usize, spans: &mut Vec<Span>) {
        self.within(text, start, end, DEEPEST, spans);
    }

    fn within(
        &mut self,
        text: &[u8],
        start: usize,
        end: usize,
        depth: usize,
        spans: &mut Vec<Span>,
    ) {
        let length = end - start;
        if depth == 0 || length > LONGEST {
            return;
        }
        if length > self.left {
            self.left = 0;
            return;
        }
        let Some(plain) = decode(&text[start..end]) else { return };
        self.left -= plain.len().min(self.left);
        let mut inner = Vec::new();
        (self.look)(&plain, &mut inner);
        runs::each(&plain, |from, to| self.within(&plain, from, to, depth - 1, &mut inner));
        if let Some(found) = inner.into_iter().max_by_key(|span| std::cmp::Reverse(span.rank)) {
            spans.push(Span { start, end, ..found });
        }
    }
}

/// True where `run` is text in another form.
pub(super) fn is_text(run: &[u8]) -> bool {
    decode(run).is_some()
}

/// The text that `run` stands for; `None` where it stands for none.
fn decode(run: &[u8]) -> Option<Vec<u8>> {
    let percent = || {
        let is_encoded = run.iter().filter(|byte| **byte == b'%').count() >= 3;
        is_encoded.then(|| value::percent_decoded(run).into_owned())
    };
    let decoded = hexadecimal(run).or_else(|| base_64(run)).or_else(percent)?;
    is_readable(&decoded).then_some(decoded)
}

fn hexadecimal(run: &[u8]) -> Option<Vec<u8>> {
    if !run.len().is_multiple_of(2) {
        return None;
    }
    let mut taste = [0; TASTE / 2];
    faster_hex::hex_decode(&run[..TASTE], &mut taste).ok()?;
    let mut plain = vec![0; if is_readable(&taste) { run.len() / 2 } else { return None }];
    faster_hex::hex_decode(run, &mut plain).ok()?;
    Some(plain)
}

fn base_64(run: &[u8]) -> Option<Vec<u8>> {
    let is_url = run.iter().any(|byte| matches!(byte, b'-' | b'_'));
    let engine = if is_url { &URL } else { &PLAIN };
    let taste = engine.decode(&run[..TASTE]).ok()?;
    is_readable(&taste).then(|| engine.decode(run).ok()).flatten()
}

fn is_readable(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use crate::secrets::Scanner;

    fn kinds(text: &str) -> Vec<&'static str> {
        Scanner::default().scan(text.as_bytes()).iter().map(|finding| finding.kind).collect()
    }

    fn hex(text: &str) -> String {
        text.bytes().map(|byte| format!("{byte:02x}")).collect()
    }

    fn token() -> String {
        format!("ghp_{}", "aB3xQ9zL4mPnR7tY2vK8wE5jH1uF6oI0sD2y")
    }

    #[test]
    fn what_is_encoded_is_found_on_the_outer_line() {
        let once = STANDARD.encode(token());
        let percent: String = token().bytes().map(|byte| format!("%{byte:02X}")).collect();
        for written in [
            once.clone(),
            URL_SAFE_NO_PAD.encode(token()),
            hex(&token()),
            hex(&token()).to_uppercase(),
            percent,
            STANDARD.encode(&once),
            hex(&once),
            STANDARD.encode(format!("{{\"user\": \"x\", \"t\": \"{}\"}}", token())),
        ] {
            assert_eq!(kinds(&format!("a: 1\nblob: {written}\n")), ["github_token"], "{written}");
        }
        let found = Scanner::default().scan(format!("a\n b: {once}\n").as_bytes());
        assert_eq!((found[0].line, found[0].column, found[0].length), (2, 5, once.len()));
        let assigned = STANDARD.encode("export DB_PASSWORD=Winter2024!x\n");
        assert_eq!(kinds(&format!("data: {assigned}")), ["assigned_secret"]);
    }

    #[test]
    fn no_more_is_decoded_than_fits() {
        let line =
            format!("x: {}\n", STANDARD.encode("readable text again and again ".repeat(1000)));
        let secret = format!("x: {}\n", STANDARD.encode(token()));
        let few = format!("{}{secret}", line.repeat(3));
        assert_eq!(kinds(&few), ["github_token"]);
        let many = format!("{secret}{}{secret}", line.repeat(super::MOST / 30_000 + 1));
        assert_eq!(kinds(&many).len(), 1);
    }

    #[test]
    fn readable_text_alone_is_none() {
        for text in [
            "this is a readable sentence and nothing else at all",
            "{\"version\": 3, \"file\": \"out.js\", \"names\": [\"a\", \"b\"]}",
        ] {
            assert_eq!(kinds(&format!("x: {}", STANDARD.encode(text))), [""; 0]);
            assert_eq!(kinds(&format!("x = \"{}\"", hex(text))), [""; 0]);
        }
        let deep = STANDARD.encode(STANDARD.encode(STANDARD.encode(token())));
        assert_ne!(kinds(&format!("x: {deep}")), ["github_token"]);
    }
}
