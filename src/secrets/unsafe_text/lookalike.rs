//! Words that mix Latin with letters of another script that look like Latin ones.

use bstr::ByteSlice as _;

use super::{Place, Severity};
use crate::text::lookalike::{self, Twins};

/// Adds a warning for each word of `bytes` with a Latin letter and a look-alike of another, and for each
/// that reads as another word of the text.
pub(super) fn scan(bytes: &[u8], twins: &Twins, found: &mut Vec<Place>) {
    if bytes.is_ascii() {
        return;
    }
    let mut offset = 0;
    for chunk in bytes.utf8_chunks() {
        words(chunk.valid(), offset, twins, found);
        offset += chunk.valid().len() + chunk.invalid().len();
    }
}

fn words(text: &str, offset: usize, twins: &Twins, found: &mut Vec<Place>) {
    let mut start = 0;
    let is_end = |c: char| !(c.is_alphanumeric() || c == '_');
    // Only words with a letter beyond ASCII can be mixed.
    while let Some(odd) = text.as_bytes()[start..].find_non_ascii_byte().map(|p| start + p) {
        let at = text[start..odd].rfind(is_end).map_or(start, |p| start + p + 1);
        let end = text[odd..].find(is_end).map_or(text.len(), |p| odd + p);
        if end == odd {
            start = odd + text[odd..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let word = &text[at..end];
        let twin = || twins.twin(word).map(|twin| (0, reads_as(twin)));
        if let Some((place, what)) = mixed(word).or_else(|| styled(word)).or_else(twin) {
            found.push(Place {
                kind: "lookalike",
                severity: Severity::Warning,
                start: offset + at + place,
                end: offset + end,
                message: what,
            });
        }
        start = end;
    }
}

/// A word with at least one Latin letter and a look-alike: where, and what it is.
fn mixed(word: &str) -> Option<(usize, String)> {
    if !word.contains(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let (at, c, twin) = word
        .char_indices()
        .filter(|(_, c)| *c != lookalike::DOTLESS_I)
        .find_map(|(at, c)| Some((at, c, lookalike::twin(c)?)))?;
    // Formulas such as `μs`, `Δx` and `kα` pair one foreign letter with one of ours.
    let is_formula = word.chars().count() <= 2;
    (!is_formula).then(|| {
        (at, format!("U+{:04X}, which looks like “{twin}”, in a word of Latin letters", c as u32))
    })
}

fn reads_as(twin: &str) -> String {
    format!("letters of another script that read as “{twin}”, which stands in the same text")
}

/// Letters from the mathematical and full-width alphabets, which filters read as something else.
fn styled(word: &str) -> Option<(usize, String)> {
    let is_styled = |c: char| matches!(c, '\u{1d400}'..='\u{1d7ff}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' | '\u{24b6}'..='\u{24e9}');
    let count = word.chars().filter(|c| is_styled(*c)).count();
    let (at, c) = word.char_indices().find(|(_, c)| is_styled(*c))?;
    (count >= 3).then(|| (at, format!("U+{:04X}, a styled form of a plain letter", c as u32)))
}

#[cfg(test)]
mod tests {
    use super::super::check;

    #[test]
    fn a_word_that_reads_as_another_of_the_text_warns() {
        let found = |text: &str| check(text.as_bytes()).len();
        assert_eq!(found("if admin ok();\nif admin ок();\n"), 1);
        assert_eq!(found("если ок\n"), 0);
        assert_eq!(found("if admin ok();\nif admın ok();\n"), 1);
        assert_eq!(found("a = 1 # а не b\n"), 0);
    }

    #[test]
    fn mixed_words_warn() {
        for (text, column) in [
            ("let pаypal = 1", 6),
            ("аdmin", 1),
            ("usеr_id", 3),
            ("𝐢𝐠𝐧𝐨𝐫𝐞", 1),
            ("ｉｇｎｏｒｅ", 1),
        ] {
            let issues = check(text.as_bytes());
            assert_eq!(
                issues.iter().map(|i| (i.kind, i.column)).collect::<Vec<_>>(),
                [("lookalike", column)],
                "{text}"
            );
        }
    }

    #[test]
    fn words_of_one_script_do_not() {
        for text in [
            "Привет мир",
            "naïve Übergröße",
            "μs Δx α",
            "価格API",
            "Ελληνικά",
            "git-команда",
            "HTTP-сервер",
            "çalışan ağacı değiştirmeden",
            "dosyaları listele",
            "Yıldırım",
        ] {
            assert_eq!(check(text.as_bytes()), [], "{text}");
        }
    }
}
