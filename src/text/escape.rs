//! Escapes untrusted text for a terminal: it cannot move the cursor, change colours, hide or
//! reorder text.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::{is_unsafe, is_variation, joins, varies_nothing};

/// One line: every unsafe character, line breaks and tabs too, becomes visible (`\n`, `\u{202e}`).
pub fn line(text: &str) -> Cow<'_, str> {
    replace(text, |_| false)
}

/// Keeps line feeds and tabs.
pub fn block(text: &str) -> Cow<'_, str> {
    replace(text, |c| c == '\n' || c == '\t')
}

/// As [`line()`], and trailing spaces become `\x20`.
pub fn name(text: &str) -> String {
    escape_trailing_spaces(line(text).into_owned())
}

/// Invalid UTF-8 becomes `\xNN`.
pub fn bytes_name(name: &[u8]) -> String {
    escape_trailing_spaces(bytes_line(name))
}

/// Escapes trailing spaces, which make a name look like another.
fn escape_trailing_spaces(mut name: String) -> String {
    let end = name.trim_end_matches(' ').len();
    let blanks = name.split_off(end);
    name + &blanks.replace(' ', "\\x20")
}

/// Invalid UTF-8 becomes `\xNN`.
pub fn bytes_line(bytes: &[u8]) -> String {
    bytes_with(bytes, |_| false)
}

/// Invalid UTF-8 becomes `\xNN`.
pub fn bytes_block(bytes: &[u8]) -> String {
    bytes_with(bytes, |c| c == '\n' || c == '\t')
}

/// The same JSON document, with unsafe characters as `\uXXXX`. JSON itself demands this for C0
/// controls only.
pub fn json(document: &str) -> Cow<'_, str> {
    // Line feeds occur only between tokens, never in a string.
    let unsafe_here = |c: char| c != '\n' && is_unsafe(c);
    if !document.contains(unsafe_here) {
        return Cow::Borrowed(document);
    }
    let mut out = String::with_capacity(document.len() + 16);
    for c in document.chars() {
        if unsafe_here(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn bytes_with(bytes: &[u8], keep: impl Fn(char) -> bool + Copy) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out += &replace(chunk.valid(), keep);
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

fn replace(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|c| (is_unsafe(c) || is_variation(c)) && !keep(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut before = None;
    for (at, c) in text.char_indices() {
        let hides = varies_nothing(before, c);
        let next = || text[at + c.len_utf8()..].chars().next();
        // Between emoji, and letters of scripts that need them, joiners are visible.
        let is_visible = matches!(c, '\u{200c}' | '\u{200d}') && joins(before, next());
        before = Some(c);
        match c {
            c if is_visible => out.push(c),
            c if !(is_unsafe(c) || hides) || keep(c) => out.push(c),
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            c if (c as u32) < 0x80 => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_the_same_document() {
        let value = serde_json::json!({ "a\u{202e}": "x\u{9b}\u{e0100}\n\"\\ü" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let safe = json(&text);
        assert!(!safe.chars().any(|c| c != '\n' && is_unsafe(c)), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }

    #[test]
    fn terminal_controls_become_visible() {
        assert_eq!(
            line("a\u{1b}[31mb\r\u{202e}\u{200b}\u{9b}"),
            "a\\x1b[31mb\\r\\u{202e}\\u{200b}\\u{9b}"
        );
        assert_eq!(line("plain ü 漢字"), "plain ü 漢字");
        assert_eq!(line("👩\u{200d}👧 می\u{200c}خواهم"), "👩\u{200d}👧 می\u{200c}خواهم");
        assert_eq!(line("pass\u{200d}word"), "pass\\u{200d}word");
        assert_eq!(block("a\n\tb\u{7}"), "a\n\tb\\x07");
        assert_eq!(bytes_line(b"a\xff\n"), "a\\xff\\n");
    }

    #[test]
    fn names_that_look_alike_are_told_apart() {
        assert_eq!(name("a b"), "a b");
        assert_eq!(name("a  "), "a\\x20\\x20");
        assert_eq!(bytes_name(b"\xff "), "\\xff\\x20");
        assert_eq!(name("a\u{fe00}b 1\u{fe0f}\u{20e3}"), "a\\u{fe00}b 1\u{fe0f}\u{20e3}");
    }
}
