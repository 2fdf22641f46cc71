//! What a scan found: what and where, never the secret itself.

use serde::Serialize;

/// One finding. Holds nothing of the text it was found in: only its kind, place and length, and
/// a short one-way fingerprint by which a known false alarm can be allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's stable name, for example `github_token`, `private_key_block`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// One line for people, for example "GitHub token".
    pub title: &'static str,
    /// Line it starts on, from 1.
    pub line: usize,
    /// Column it starts at, in characters from 1 (a byte that is not UTF-8 counts as one).
    pub column: usize,
    /// Line it ends on.
    pub end_line: usize,
    /// Column after its last character, on `end_line`.
    pub end_column: usize,
    /// Length in bytes. All that is told of the secret itself.
    pub length: usize,
    /// `<type>:<hex>`; see [`fingerprint`].
    pub fingerprint: String,
}

/// Names a finding in the allow-list: the rule and the first digits of a SHA-1 over rule and
/// secret.
///
/// Machine-made credentials cannot be guessed, so they get 40 bits. What a person chose or what
/// has few possible values (passwords) could be found by trying them all against a long hash; `guessable` findings get 20 bits, which fits
/// hundreds of candidates and still allows a wrong one only once in a million.
pub fn fingerprint(kind: &str, secret: &[u8], guessable: bool) -> String {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(b"aye secret fingerprint 1\0");
    hasher.update(kind.as_bytes());
    hasher.update(b"\0");
    hasher.update(secret);
    let digits = if guessable { 5 } else { 10 };
    // The only failure is a detected SHA-1 collision attack; such a text keeps a constant name.
    let hex = hasher.try_finalize().map_or_else(|_| "0".repeat(40), |id| id.to_hex().to_string());
    format!("{kind}:{}", &hex[..digits])
}

/// A find in bytes, before lines and columns are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub kind: &'static str,
    pub title: &'static str,
    pub start: usize,
    pub end: usize,
    pub guessable: bool,
    /// Which find stays when two overlap: the higher.
    pub rank: u8,
}

/// How sure and specific a kind of find is, for [`Span::rank`].
pub(super) mod rank {
    pub const NAMED: u8 = 1;
    pub const CONNECTION: u8 = 3;
    pub const PROVIDER: u8 = 4;
    pub const PRIVATE_KEY: u8 = 5;
}

/// Sorts by place and drops each span that a more specific one overlaps.
pub(super) fn settle(mut spans: Vec<Span>) -> Vec<Span> {
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
                // Equal rank: the earlier and longer one, already kept, covers it.
                if span.rank > last.rank {
                    *last = span;
                }
            }
            _ => kept.push(span),
        }
    }
    kept
}

/// Turns offsets into lines and columns, walking the text once in ascending order.
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

    /// Line and column of `offset`, which must not be before the one asked for last.
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

/// Findings from settled spans: places looked up, secrets hashed and forgotten.
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
