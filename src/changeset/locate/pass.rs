//! How strictly lines are compared.

use std::borrow::Cow;

use bstr::ByteSlice as _;

/// Strict to lenient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pass {
    /// Byte for byte, with the LF.
    Exact,
    /// Ignores line ending and byte-order mark.
    Ending,
    /// Also trailing whitespace.
    TrailingBlanks,
    /// Also leading whitespace.
    Blanks,
    /// Also typographic dashes, quotes and spaces.
    Typography,
}

impl Pass {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Ending => "line_endings",
            Self::TrailingBlanks => "trailing_blanks",
            Self::Blanks => "blanks",
            Self::Typography => "typography",
        }
    }
}

pub const BOM: &[u8] = b"\xef\xbb\xbf";

/// Equal for lines that are equal under `pass`. `first` allows a byte-order mark.
pub fn key(line: &[u8], pass: Pass, first: bool) -> Cow<'_, [u8]> {
    if pass == Pass::Exact {
        return Cow::Borrowed(line);
    }
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = if first { line.strip_prefix(BOM).unwrap_or(line) } else { line };
    match pass {
        Pass::Exact | Pass::Ending => Cow::Borrowed(line),
        Pass::TrailingBlanks => Cow::Borrowed(line.trim_ascii_end()),
        Pass::Blanks => Cow::Borrowed(line.trim_ascii()),
        Pass::Typography if line.is_ascii() => Cow::Borrowed(line.trim_ascii()),
        Pass::Typography => Cow::Owned(fold(line).trim_ascii().to_vec()),
    }
}

fn fold(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    for (start, end, character) in line.char_indices() {
        match character {
            '\u{2010}'..='\u{2015}' | '\u{2212}' => out.push(b'-'),
            '\u{2018}'..='\u{201b}' => out.push(b'\''),
            '\u{201c}'..='\u{201f}' => out.push(b'"'),
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
                out.push(b' ');
            }
            _ => out.extend_from_slice(&line[start..end]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pass_forgives_one_thing_more() {
        let equal =
            |pass, a: &str, b: &str| key(a.as_bytes(), pass, true) == key(b.as_bytes(), pass, true);
        for (pass, a, b) in [
            (Pass::Exact, "a\n", "a\n"),
            (Pass::Ending, "a\r\n", "a\n"),
            (Pass::Ending, "\u{feff}a\n", "a"),
            (Pass::TrailingBlanks, "a \t\n", "a\n"),
            (Pass::Blanks, "\ta\n", "  a\n"),
            (Pass::Typography, "“a”\u{a0}— ’b’\n", "\"a\" - 'b'\n"),
        ] {
            assert!(equal(pass, a, b), "{pass:?} {a:?} {b:?}");
            let stricter = [Pass::Exact, Pass::Ending, Pass::TrailingBlanks, Pass::Blanks];
            for other in stricter.into_iter().filter(|other| *other < pass) {
                assert!(!equal(other, a, b), "{other:?} {a:?} {b:?}");
            }
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_compared_as_they_are() {
        assert_ne!(
            key(b"\xff\n", Pass::Typography, false),
            key(b"\xfe\n", Pass::Typography, false)
        );
        assert_eq!(&*key(b" \xff\n", Pass::Typography, false), b"\xff");
    }
}
