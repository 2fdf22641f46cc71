//! Credentials behind an encoding: base64 (plain, URL-safe), hexadecimal, percent signs, up to
//! two of them one in the other.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::finding::Span;
use super::probe::probes;
use super::value;

/// The shortest run that is decoded, in bytes.
const SHORTEST: usize = 20;
/// The longest; what is longer is embedded data.
const LONGEST: usize = 64 * 1024;
/// How many encodings are taken off.
const DEEPEST: usize = 2;
/// Bytes of a run that tell whether text comes of it: of most runs none does.
const TASTE: usize = 16;

/// Where in a block of `SHORTEST` bytes its probe is.
const PROBE: usize = SHORTEST / 2 - 1;

/// How `base64` reads: padding or none, and whatever the last bits are.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);

static PLAIN: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
static URL: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// Whether a byte may be part of a run, as a table: this is the inner loop.
static PART: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        table[byte] =
            b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'_' | b'-' | b'=' | b'%');
        byte += 1;
    }
    table
};

/// Adds to `spans` each encoded run of `text` in whose decoded text `look` finds something: the
/// run, under the name of what is in it.
pub(super) fn scan(text: &[u8], look: impl Fn(&[u8], &mut Vec<Span>), spans: &mut Vec<Span>) {
    within(text, &look, DEEPEST, spans);
}

fn within(text: &[u8], look: &impl Fn(&[u8], &mut Vec<Span>), depth: usize, spans: &mut Vec<Span>) {
    if depth == 0 {
        return;
    }
    let mut done = 0;
    for probe in probes(text, PROBE, may_be_long) {
        if probe < done || !is_part(text[probe]) {
            continue;
        }
        let before = &text[done..probe];
        let start = before.iter().rposition(|b| !is_part(*b)).map_or(done, |at| done + at + 1);
        let end =
            text[probe..].iter().position(|b| !is_part(*b)).map_or(text.len(), |at| probe + at);
        done = end;
        if !(SHORTEST..=LONGEST).contains(&(end - start)) {
            continue;
        }
        let Some(plain) = decode(&text[start..end]) else { continue };
        let mut inner = Vec::new();
        look(&plain, &mut inner);
        within(&plain, look, depth - 1, &mut inner);
        if let Some(found) = inner.into_iter().max_by_key(|span| std::cmp::Reverse(span.rank)) {
            spans.push(Span { start, end, ..found });
        }
    }
}

/// False where the run around the probe is surely too short, as far as some of its places tell: it
/// has to reach the block's end on one side.
fn may_be_long(block: &[u8; SHORTEST]) -> bool {
    const LEFT: [usize; 4] = [0, 2, 5, 8];
    const RIGHT: [usize; 4] = [10, 13, 16, 19];
    let all = |places: [usize; 4]| places.iter().fold(true, |all, at| all & is_part(block[*at]));
    is_part(block[PROBE]) & (all(LEFT) | all(RIGHT))
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
    if !run.len().is_multiple_of(2) || !run.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let byte = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    let taste = run[..TASTE].chunks_exact(2).map(byte).collect::<Option<Vec<u8>>>()?;
    is_readable(&taste).then(|| run.chunks_exact(2).filter_map(byte).collect())
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

fn is_part(byte: u8) -> bool {
    PART[usize::from(byte)]
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
