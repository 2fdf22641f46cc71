//! Letters that pass for Latin ones inside a word that is otherwise Latin: `pаypal` with a
//! Cyrillic `а` reads as `paypal` and is not.
//!
//! Mixed words are marked, and words of look-alikes alone that read as another word of the same text
//! ([`Twins`]). Any other Russian word, or `Δt`, is as it should be. The table holds the
//! letters whose Unicode confusables (UTS #39, `confusables.txt`) are single ASCII letters or
//! digits, in the scripts that supply nearly all of them.

use std::collections::HashSet;

/// The `i` without a dot. It is a letter of Turkish, Azerbaijani and others, and stands between ASCII letters there,
/// so that alone it says nothing; a word with it may read as another one ([`Twins`]).
pub const DOTLESS_I: char = 'ı';

/// Fewest letters of such a word: endings such as `'ın` are words of their own beside `in`.
const FEWEST_WITH_DOTLESS_I: usize = 4;

/// True when `c` is not ASCII and looks like an ASCII letter or digit.
pub fn is_lookalike(c: char) -> bool {
    matches!(c,
        // Cyrillic
        'А' | 'В' | 'Е' | 'Ѕ' | 'І' | 'Ј' | 'К' | 'М' | 'Н' | 'О' | 'Р' | 'С' | 'Т' | 'У' | 'Х'
        | 'З' | 'Ԁ' | 'Ԍ' | 'Ԛ' | 'Ԝ' | 'Ү' | 'Ғ' | 'Ь'
        | 'а' | 'е' | 'о' | 'р' | 'с' | 'у' | 'х' | 'ѕ' | 'і' | 'ј' | 'һ' | 'ԁ' | 'ԛ' | 'ԝ' | 'ү'
        | 'ѵ' | 'Ѵ' | 'ӏ' | 'Ӏ' | 'г' | 'п'
        // Greek
        | 'Α' | 'Β' | 'Ε' | 'Ζ' | 'Η' | 'Ι' | 'Κ' | 'Μ' | 'Ν' | 'Ο' | 'Ρ' | 'Τ' | 'Υ' | 'Χ'
        | 'ο' | 'ν' | 'ι' | 'ρ' | 'α' | 'υ' | 'κ' | 'ϲ' | 'ϳ' | 'Ϲ' | 'Ϳ'
        // Armenian
        | 'օ' | 'ս' | 'հ' | 'ց' | 'զ' | 'ո' | 'Օ' | 'Տ' | 'Լ'
        // Latin letters that are not what they look like
        | 'ɑ' | 'ɡ' | 'ɩ' | 'ʋ' | 'ꞁ' | 'Ɩ' | 'ǀ' | 'ⅼ' | 'ⅰ' | 'ⅽ' | 'ⅾ' | 'ⅿ' | 'ⅴ' | 'ⅹ'
        // Cherokee and Lisu
        | '\u{13a0}'..='\u{13f4}' | '\u{ab70}'..='\u{abbf}' | '\u{a4d0}'..='\u{a4f7}'
        // Full width, and letters of mathematics
        | '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}'
        | '\u{1d400}'..='\u{1d7ff}')
}

/// Cyrillic, Greek and Armenian letters that many fonts draw as a Latin one (the part of
/// Unicode's confusables table, UTS #39, that fits inside words), and the Latin one.
const TWINS: &[(char, char)] = &[
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

/// The ASCII letter that `c` looks like, where `c` is a letter of another script.
pub fn twin(c: char) -> Option<char> {
    TWINS.iter().find(|(other, _)| *other == c).map(|(_, twin)| *twin)
}

/// The ASCII words of a text that has letters of other scripts: a word made of look-alikes alone may read
/// as one of them. Empty for a text without such a word, or without such letters.
#[derive(Clone, Debug, Default)]
pub struct Twins(HashSet<String>);

impl Twins {
    /// Those of `texts` together. Bytes that are not UTF-8 are passed over.
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t [u8]>) -> Self {
        let texts: Vec<&[u8]> = texts.into_iter().collect();
        let mut skeletons = HashSet::new();
        for text in texts.iter().filter(|text| !text.is_ascii()) {
            for chunk in text.utf8_chunks() {
                let whole = words(chunk.valid()).filter(|(_, word)| !word.is_ascii());
                skeletons.extend(whole.filter_map(|(_, word)| skeleton(word)));
            }
        }
        let mut found = HashSet::new();
        for text in texts {
            for chunk in text.utf8_chunks().take_while(|_| !skeletons.is_empty()) {
                let known = words(chunk.valid()).filter(|(_, word)| skeletons.contains(*word));
                found.extend(known.map(|(_, word)| word.to_owned()));
            }
        }
        Self(found)
    }

    /// The word of the text that `word` reads as, though none of its letters is one of ours.
    pub fn twin(&self, word: &str) -> Option<&str> {
        if self.0.is_empty() || word.is_ascii() {
            return None;
        }
        self.0.get(&skeleton(word)?).map(String::as_str)
    }

    /// The byte positions in `text` of letters that stand in such words.
    pub fn find(&self, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        if self.0.is_empty() || text.is_ascii() {
            return found;
        }
        for (start, word) in words(text).filter(|(_, word)| self.twin(word).is_some()) {
            let odd = word.char_indices().filter(|(_, c)| !c.is_ascii());
            found.extend(odd.map(|(offset, _)| start + offset));
        }
        found
    }
}

/// What `word` reads as, if each of its letters is a look-alike and there are two at least: single
/// letters are words of their own in many languages. Or if all but the [`DOTLESS_I`] in it are ASCII.
fn skeleton(word: &str) -> Option<String> {
    let (mut letters, mut plain) = (0, 0);
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        match twin(c) {
            Some(twin) => {
                letters += 1;
                out.push(twin);
            }
            None if c == '_' || c.is_ascii_digit() => out.push(c),
            None if c.is_ascii_alphabetic() && word.contains(DOTLESS_I) => {
                plain += 1;
                out.push(c);
            }
            None => return None,
        }
    }
    match plain {
        0 => (letters > 1).then_some(out),
        _ => (letters > 0 && letters + plain >= FEWEST_WITH_DOTLESS_I).then_some(out),
    }
}

/// The words of `text`, each with where it starts.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_end = |c: char| !(c.is_alphanumeric() || c == '_');
    let parts = text.split(is_end).filter(|word| !word.is_empty());
    parts.map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// The byte positions in `text` of look-alikes that stand in a word with ASCII letters.
pub fn find(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    if text.is_ascii() {
        return found;
    }
    for (start, word) in words(text) {
        if word.bytes().any(|b| b.is_ascii_alphabetic()) {
            let here = word.char_indices().filter(|(_, c)| is_lookalike(*c));
            found.extend(here.map(|(offset, _)| start + offset));
        }
    }
    found
}

/// A name (of a person, an agent, a file) that is safe for a terminal as it may be shown:
/// [`find`]'s letters as `\u{430}`.
pub fn written_out(text: String) -> String {
    let marks = find(&text);
    if marks.is_empty() {
        return text;
    }
    let mut out = String::new();
    for (at, c) in text.char_indices() {
        match marks.binary_search(&at) {
            Ok(_) => out += &format!("\\u{{{:x}}}", c as u32),
            Err(_) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_lookalikes_is_found_where_its_twin_stands() {
        let twins = Twins::of([&b"ok()"[..], "else \u{43e}\u{43a}()".as_bytes()]);
        assert_eq!(twins.twin("\u{43e}\u{43a}"), Some("ok"));
        assert_eq!(twins.find("= \u{43e}\u{43a}();"), [2, 4]);
        assert_eq!(twins.find("\u{43e}\u{43d} \u{43e}"), [] as [usize; 0]);
        // An i without a dot is a letter like others, but for a word that is spelt with one.
        let twins = Twins::of(["if admin or adm\u{131}n in \u{131}n".as_bytes()]);
        assert_eq!(twins.find("adm\u{131}n in \u{131}n"), [3]);
        assert_eq!(
            Twins::of(["a\u{11f}ac\u{131} adm\u{131}n".as_bytes()]).find("adm\u{131}n"),
            [] as [usize; 0]
        );
        assert_eq!(find("a\u{11f}ac\u{131}"), [] as [usize; 0]);
        let alone = Twins::of(["\u{43e}\u{43a}".as_bytes()]);
        assert_eq!(alone.twin("\u{43e}\u{43a}"), None);
    }

    #[test]
    fn only_mixed_words_are_marked() {
        assert_eq!(find("let p\u{430}ypal = 1;"), [5]);
        assert_eq!(find("is_\u{430}dmin"), [3]);
        for fine in ["let paypal", "Привет, мир", "\u{394}t + \u{3bc}s", "naïve façade", "漢字abc"]
        {
            assert_eq!(find(fine), [] as [usize; 0], "{fine}");
        }
    }
}
