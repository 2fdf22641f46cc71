//! Misleading text: hidden, reordering or control characters, and phrases aimed at agents.

use std::collections::BTreeMap;

use serde::Serialize;

use super::added_lines::AddedLines;
use super::encoding::readable;
use super::finding::Locator;
use crate::text;

mod orders;
mod phrases;

/// Reported issues of a kind; further ones are counted. A file in an old encoding has one on each
/// line.
const MOST_OF_A_KIND: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueSeverity {
    /// Shown to the reviewer.
    Warning,
    /// The text is refused.
    Blocking,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// `bidi_control`, `invisible`, `control`, `invalid_utf8` or `agent_instruction`; in files that
    /// instruct agents also `fetched_and_run`, `encoded_command`, `encoded_blob` and
    /// `hidden_comment`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub severity: IssueSeverity,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// Safe to print: characters as code points (`U+202E`), never raw.
    pub message: String,
}

struct UnsafeSpan {
    kind: &'static str,
    severity: IssueSeverity,
    start: usize,
    end: usize,
    message: String,
}

/// Issues by offset, at most 20 of a kind; one more holds the number of the others.
///
/// Tabs, LF, CR LF and a leading byte order mark are plain text; so are joiners inside emoji and
/// between letters of scripts that need them.
pub fn check(text: &[u8]) -> Vec<Issue> {
    let text = &*readable(text);
    describe(text, &places(text))
}

/// Issues of `after` in lines added or changed since `before`.
pub fn check_added(before: &[u8], after: &[u8]) -> Vec<Issue> {
    let (before, after) = (&*readable(before), &*readable(after));
    let mut found = places(after);
    if found.is_empty() {
        return Vec::new();
    }
    let added = AddedLines::between(before, after);
    found.retain(|place| added.touches(place.start, place.end));
    describe(after, &found)
}

/// Like [`check_added`], for files that instruct agents: fetched commands, encoded blobs and orders
/// in hidden comments count too.
pub fn check_instructions(before: &[u8], after: &[u8]) -> Vec<Issue> {
    let (before, after) = (&*readable(before), &*readable(after));
    let mut found = places(after);
    orders::scan(after, &mut found);
    if found.is_empty() {
        return Vec::new();
    }
    found.sort_by_key(|place| (place.start, place.end));
    let added = AddedLines::between(before, after);
    found.retain(|place| added.touches(place.start, place.end));
    describe(after, &found)
}

pub fn blocks(issues: &[Issue]) -> bool {
    issues.iter().any(|issue| issue.severity == IssueSeverity::Blocking)
}

fn describe(text: &[u8], places: &[UnsafeSpan]) -> Vec<Issue> {
    let mut locator = Locator::new(text);
    let mut all: BTreeMap<_, usize> = BTreeMap::new();
    for place in places {
        *all.entry((place.kind, place.severity)).or_default() += 1;
    }
    let mut found: BTreeMap<_, usize> = BTreeMap::new();
    let mut issues = Vec::new();
    for place in places {
        let (kind, severity) = (place.kind, place.severity);
        let before = found.entry((kind, severity)).or_default();
        let message = match *before {
            MOST_OF_A_KIND => {
                let rest = all[&(kind, severity)] - *before;
                format!("{}; {rest} of this kind from here on", place.message)
            }
            more if more > MOST_OF_A_KIND => continue,
            _ => place.message.clone(),
        };
        *before += 1;
        let (line, column) = locator.locate(place.start);
        issues.push(Issue { kind, severity, line, column, message });
    }
    issues
}

fn places(text: &[u8]) -> Vec<UnsafeSpan> {
    let mut found = Vec::new();
    characters(text, &mut found);
    phrases::scan(text, &mut found);
    found.sort_by_key(|place| (place.start, place.end));
    found
}

fn characters(bytes: &[u8], found: &mut Vec<UnsafeSpan>) {
    let mut offset = 0;
    for chunk in bytes.utf8_chunks() {
        valid(chunk.valid(), offset, bytes, found);
        offset += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            let hex: Vec<String> = chunk.invalid().iter().map(|b| format!("{b:02x}")).collect();
            found.push(UnsafeSpan {
                kind: "invalid_utf8",
                severity: IssueSeverity::Blocking,
                start: offset,
                end: offset + chunk.invalid().len(),
                message: format!("bytes {} are not UTF-8", hex.join(" ")),
            });
        }
        offset += chunk.invalid().len();
    }
}

fn valid(chunk: &str, offset: usize, bytes: &[u8], found: &mut Vec<UnsafeSpan>) {
    // Skips plain ASCII, the common case, without decoding.
    let odd = |b: &u8| !matches!(b, b' '..0x7f | b'\n' | b'\t');
    let mut done = 0;
    while let Some(at) = chunk.as_bytes()[done..].iter().position(odd).map(|p| done + p) {
        let mut here = chunk[at..].chars();
        let Some(c) = here.next() else { break };
        done = at + c.len_utf8();
        let (before, next) = (chunk[..at].chars().next_back(), here.next());
        let first = offset + at == 0;
        if let Some((kind, what)) = misleading(before, c, next, first) {
            let start = offset + at;
            found.push(UnsafeSpan {
                kind,
                severity: IssueSeverity::Blocking,
                start,
                end: (start + c.len_utf8()).min(bytes.len()),
                message: format!("{what} U+{:04X}", c as u32),
            });
        }
    }
}

fn misleading(
    before: Option<char>,
    c: char,
    next: Option<char>,
    first: bool,
) -> Option<(&'static str, &'static str)> {
    if text::is_variation(c) && before.is_none_or(text::is_variation) {
        return Some(("invisible", "variation selectors in a row, which can carry hidden text,"));
    }
    if text::varies_nothing(before, c) {
        return Some(("invisible", "variation selector of a letter, which can carry hidden text,"));
    }
    if !text::is_unsafe(c) {
        return None;
    }
    match c {
        '\n' | '\t' => None,
        '\r' if next == Some('\n') => None,
        '\r' => Some(("control", "carriage return without a line feed")),
        '\u{feff}' if first => None,
        '\u{200c}' | '\u{200d}' if text::joins(before, next) => None,
        // Ideographic variants of one character.
        '\u{e0100}'..='\u{e01ef}' => None,
        // A page break, as in GNU sources.
        '\u{c}' if before.is_none_or(|c| c == '\n') || next == Some('\n') => None,
        // These reorder only adjacent punctuation.
        '\u{200e}' | '\u{200f}' | '\u{61c}' => Some(("invisible", "directional mark")),
        c if text::is_bidi_control(c) => Some(("bidi_control", "bidirectional control")),
        c if text::is_control(c) => Some(("control", "control character")),
        _ => Some(("invisible", "invisible character")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: impl AsRef<[u8]>) -> Vec<(&'static str, usize, usize)> {
        check(text.as_ref()).into_iter().map(|i| (i.kind, i.line, i.column)).collect()
    }

    #[test]
    fn many_of_a_kind_are_counted() {
        let text = "a\u{200b}\n".repeat(50) + "b\u{202e}\n";
        let issues = check(text.as_bytes());
        let invisible = issues.iter().filter(|issue| issue.kind == "invisible").count();
        assert_eq!(invisible, MOST_OF_A_KIND + 1);
        assert!(issues[MOST_OF_A_KIND].message.ends_with("; 30 of this kind from here on"));
        assert!(issues.iter().any(|issue| issue.kind == "bidi_control"));
    }

    #[test]
    fn utf_16_is_read_as_text() {
        let text = |text: &str| -> Vec<u8> {
            [vec![0xff, 0xfe], text.encode_utf16().flat_map(u16::to_le_bytes).collect()].concat()
        };
        assert_eq!(check(&text("\"key\" = \"value\";\r\n")), []);
        // Two bytes do not hide text that git shows.
        let hidden = b"\xff\xfex\nrm \xe2\x80\xae/tmp/x\n";
        assert!(check(hidden).iter().any(|issue| issue.kind == "bidi_control"));
        let found = check_added(&text("a\n"), &text("a\nb\u{202e}\n"));
        assert_eq!((found.len(), found[0].kind, found[0].line), (1, "bidi_control", 2));
    }

    #[test]
    fn characters_that_mislead_are_placed() {
        assert_eq!(kinds("a\nü\u{202e}x"), [("bidi_control", 2, 2)]);
        assert_eq!(kinds("pass\u{200b}word"), [("invisible", 1, 5)]);
        assert_eq!(kinds("pass\u{200d}word"), [("invisible", 1, 5)]);
        assert_eq!(kinds("a\u{1b}[31m\u{9b}"), [("control", 1, 2), ("control", 1, 7)]);
        assert_eq!(kinds("a\rb\r\n"), [("control", 1, 2)]);
        assert_eq!(
            kinds(b"ok \xff\xfe\n\xc3"),
            [("invalid_utf8", 1, 4), ("invalid_utf8", 1, 5), ("invalid_utf8", 2, 1)]
        );
        assert_eq!(kinds("x\u{feff}"), [("invisible", 1, 2)]);
        assert_eq!(kinds("a\u{fe01}\u{fe02}"), [("invisible", 1, 2), ("invisible", 1, 3)]);
        assert_eq!(kinds("a\u{fe01}b\u{e0100} 1\u{fe02}c").len(), 3);
        assert_eq!(kinds("\u{e0041}"), [("invisible", 1, 1)]);
        assert_eq!(kinds("a\0"), [("control", 1, 2)]);
    }

    #[test]
    fn plain_text_of_many_scripts_is_safe() {
        for text in [
            "\u{feff}tab\there\r\n",
            "👩\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "Привет, 世界! naïve café — “quotes”",
            "葛\u{e0100}飾区",
        ] {
            assert_eq!(kinds(text), [], "{text:?}");
        }
    }

    #[test]
    fn only_added_lines_count() {
        let before = "old \u{200b}\n";
        assert_eq!(check_added(before.as_bytes(), format!("{before}new\n").as_bytes()), []);
        assert_eq!(
            check_added(before.as_bytes(), format!("{before}n\u{200b}\n").as_bytes()).len(),
            1
        );
    }
}
