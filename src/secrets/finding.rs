//! Findings of a scan; they never hold the secret.

use serde::Serialize;

/// Holds nothing of the text but kind, location, length and a short one-way fingerprint for the
/// allow-list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Rule id: `github_token`, `private_key_block`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// For people: "GitHub token".
    pub title: &'static str,
    /// From 1.
    pub line: usize,
    /// In characters, from 1; a byte that is not UTF-8 counts as one.
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
    /// In bytes.
    pub length: usize,
    /// `<type>:<hex>`; see [`fingerprint`].
    pub fingerprint: String,
}

/// First digits of a SHA-1 over rule and secret.
///
/// Machine-made credentials cannot be guessed and get 40 bits. A long hash would reveal passwords
/// to trial. `guessable` findings get 20 bits: hundreds of candidates fit, and a wrong secret
/// passes once in a million.
pub fn fingerprint(kind: &str, secret: &[u8], guessable: bool) -> String {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(b"aye secret fingerprint 1\0");
    hasher.update(kind.as_bytes());
    hasher.update(b"\0");
    hasher.update(secret);
    let digits = if guessable { 5 } else { 10 };
    // SHA-1 fails only on a collision attack; the name is then constant.
    let hex = hasher.try_finalize().map_or_else(|_| "0".repeat(40), |id| id.to_hex().to_string());
    format!("{kind}:{}", &hex[..digits])
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub kind: &'static str,
    pub title: &'static str,
    pub start: usize,
    pub end: usize,
    pub guessable: bool,
    /// The higher rank wins an overlap.
    pub rank: u8,
}

/// Certainty and specificity of a kind of match.
pub(super) mod rank {
    pub const NAMED: u8 = 1;
    pub const CONNECTION: u8 = 3;
    pub const PROVIDER: u8 = 4;
    pub const PRIVATE_KEY: u8 = 5;
}

/// Keeps the most specific of overlapping spans.
pub(super) fn drop_overlaps(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by(|a, b| {
        (a.start, std::cmp::Reverse(a.rank), std::cmp::Reverse(a.end), a.kind).cmp(&(
            b.start,
            std::cmp::Reverse(b.rank),
            std::cmp::Reverse(b.end),
            b.kind,
        ))
    });
    let mut kept: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match kept.last_mut() {
            Some(last) if span.start < last.end => {
                // At equal rank the earlier, longer span stays.
                if span.rank > last.rank {
                    *last = span;
                }
            }
            _ => kept.push(span),
        }
    }
    kept
}

/// Walks the text once, for ascending offsets.
pub(super) struct Locator<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
    column: usize,
}

impl<'a> Locator<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, line: 1, column: 1 }
    }

    pub fn locate(&mut self, offset: usize) -> (usize, usize) {
        let step = &self.text[self.at..offset.min(self.text.len())];
        let newlines = step.iter().filter(|&&b| b == b'\n').count();
        let tail = match step.iter().rposition(|&b| b == b'\n') {
            Some(last) => {
                self.line += newlines;
                self.column = 1;
                &step[last + 1..]
            }
            None => step,
        };
        self.column += tail
            .utf8_chunks()
            .map(|c| c.valid().chars().count() + c.invalid().len())
            .sum::<usize>();
        self.at = offset.min(self.text.len());
        (self.line, self.column)
    }
}

pub(super) fn describe(text: &[u8], spans: &[Span]) -> Vec<Finding> {
    let mut locator = Locator::new(text);
    spans
        .iter()
        .map(|span| {
            let (line, column) = locator.locate(span.start);
            let (end_line, end_column) = locator.locate(span.end);
            Finding {
                kind: span.kind,
                title: span.title,
                line,
                column,
                end_line,
                end_column,
                length: span.end - span.start,
                fingerprint: fingerprint(span.kind, &text[span.start..span.end], span.guessable),
            }
        })
        .collect()
}
