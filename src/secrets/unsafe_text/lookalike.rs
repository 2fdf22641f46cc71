//! Words that mix Latin with letters of another script that look like Latin ones.

use bstr::ByteSlice as _;

use super::{Place, Severity};

/// Cyrillic, Greek and Armenian letters that many fonts draw as a Latin one (the part of
/// Unicode's confusables table, UTS #39, that fits inside words), and the Latin one.
const LOOKALIKES: &[(char, char)] = &[
    ('а', 'a'),
    ('е', 'e'),
    ('о', 'o'),
    ('р', 'p'),
    ('с', 'c'),
    ('у', 'y'),
    ('х', 'x'),
    ('і', 'i'),
    ('ј', 'j'),
    ('ѕ', 's'),
    ('ԁ', 'd'),
    ('һ', 'h'),
    ('ո', 'n'),
    ('ս', 'u'),
    ('ց', 'g'),
    ('օ', 'o'),
    ('ԛ', 'q'),
    ('ԝ', 'w'),
    ('ѵ', 'v'),
    ('к', 'k'),
    ('А', 'A'),
    ('В', 'B'),
    ('Е', 'E'),
    ('З', '3'),
    ('К', 'K'),
    ('М', 'M'),
    ('Н', 'H'),
    ('О', 'O'),
    ('Р', 'P'),
    ('С', 'C'),
    ('Т', 'T'),
    ('Х', 'X'),
    ('У', 'Y'),
    ('І', 'I'),
    ('Ј', 'J'),
    ('Ѕ', 'S'),
    ('α', 'a'),
    ('ο', 'o'),
    ('ν', 'v'),
    ('ι', 'i'),
    ('κ', 'k'),
    ('ρ', 'p'),
    ('υ', 'u'),
    ('ϲ', 'c'),
    ('ϳ', 'j'),
    ('Α', 'A'),
    ('Β', 'B'),
    ('Ε', 'E'),
    ('Ζ', 'Z'),
    ('Η', 'H'),
    ('Ι', 'I'),
    ('Κ', 'K'),
    ('Μ', 'M'),
    ('Ν', 'N'),
    ('Ο', 'O'),
    ('Ρ', 'P'),
    ('Τ', 'T'),
    ('Υ', 'Y'),
    ('Χ', 'X'),
    ('ɡ', 'g'),
    ('ı', 'i'),
    ('ǀ', 'l'),
    ('ⅼ', 'l'),
    ('ⅰ', 'i'),
];

/// Adds a warning for each word of `bytes` with a Latin letter and a look-alike of another.
pub(super) fn scan(bytes: &[u8], found: &mut Vec<Place>) {
    if bytes.is_ascii() {
        return;
    }
    let mut offset = 0;
    for chunk in bytes.utf8_chunks() {
        words(chunk.valid(), offset, found);
        offset += chunk.valid().len() + chunk.invalid().len();
    }
}

fn words(text: &str, offset: usize, found: &mut Vec<Place>) {
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
        if let Some((place, what)) = mixed(word).or_else(|| styled(word)) {
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
    let (at, c, twin) = word.char_indices().find_map(|(at, c)| {
        LOOKALIKES.iter().find(|(other, _)| *other == c).map(|(_, twin)| (at, c, *twin))
    })?;
    // Formulas such as `μs`, `Δx` and `kα` pair one foreign letter with one of ours.
    let is_formula = word.chars().count() <= 2;
    (!is_formula).then(|| {
        (at, format!("U+{:04X}, which looks like “{twin}”, in a word of Latin letters", c as u32))
    })
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
            "Привет мир", "naïve Übergröße", "μs Δx α", "価格API", "Ελληνικά", "git-команда",
            "HTTP-сервер",
        ] {
            assert_eq!(check(text.as_bytes()), [], "{text}");
        }
    }
}
