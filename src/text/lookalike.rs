//! Letters that pass for Latin ones inside a word that is otherwise Latin: `pаypal` with a
//! Cyrillic `а` reads as `paypal` and is not.
//!
//! Only mixed words are marked. A Russian word, or `Δt`, is as it should be. The table holds the
//! letters whose Unicode confusables (UTS #39, `confusables.txt`) are single ASCII letters or
//! digits, in the scripts that supply nearly all of them.

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
        | 'ı' | 'ɑ' | 'ɡ' | 'ɩ' | 'ʋ' | 'ꞁ' | 'Ɩ' | 'ǀ' | 'ⅼ' | 'ⅰ' | 'ⅽ' | 'ⅾ' | 'ⅿ' | 'ⅴ' | 'ⅹ'
        // Cherokee and Lisu
        | '\u{13a0}'..='\u{13f4}' | '\u{ab70}'..='\u{abbf}' | '\u{a4d0}'..='\u{a4f7}'
        // Full width, and letters of mathematics
        | '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}'
        | '\u{1d400}'..='\u{1d7ff}')
}

/// The byte positions in `text` of look-alikes that stand in a word with ASCII letters.
pub fn find(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    if text.is_ascii() {
        return found;
    }
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if c.is_alphanumeric() || c == '_' {
            start.get_or_insert(at);
        } else if let Some(start) = start.take() {
            let word = &text[start..at];
            if word.bytes().any(|b| b.is_ascii_alphabetic()) {
                let here = word.char_indices().filter(|(_, c)| is_lookalike(*c));
                found.extend(here.map(|(offset, _)| start + offset));
            }
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
    fn only_mixed_words_are_marked() {
        assert_eq!(find("let p\u{430}ypal = 1;"), [5]);
        assert_eq!(find("is_\u{430}dmin"), [3]);
        for fine in ["let paypal", "Привет, мир", "\u{394}t + \u{3bc}s", "naïve façade", "漢字abc"]
        {
            assert_eq!(find(fine), [] as [usize; 0], "{fine}");
        }
    }
}
