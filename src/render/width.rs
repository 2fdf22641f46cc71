//! Text fitted into terminal columns.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// `text` must be safe for a terminal and without colour.
pub fn of(text: &str) -> usize {
    // Fast path: lists measure a lot of plain ASCII.
    let plain = |byte: u8| (b' '..=b'~').contains(&byte);
    if text.bytes().all(plain) { text.len() } else { text.width() }
}

/// `…` replaces the cut end.
pub fn fit(text: &str, columns: usize) -> String {
    if of(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if used + width + 1 > columns {
            break;
        }
        used += width;
        out.push(c);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// `…` replaces the cut start.
pub fn fit_end(text: &str, columns: usize) -> String {
    if of(text) <= columns {
        return text.to_owned();
    }
    let (mut start, mut used) = (text.len(), 1);
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        start = at;
    }
    if columns == 0 { String::new() } else { format!("…{}", &text[start..]) }
}

/// Breaks `text` into lines of at most `columns`, at spaces if possible. Line feeds stay breaks;
/// only spaces at breaks are lost.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            let gap = usize::from(!line.is_empty());
            if of(&line) + gap + of(word) > columns && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            } else if gap == 1 {
                line.push(' ');
            }
            for c in word.chars() {
                if of(&line) + c.width().unwrap_or(0) > columns && !line.is_empty() {
                    lines.push(std::mem::take(&mut line));
                }
                line.push(c);
            }
        }
        lines.push(line);
    }
    lines
}

/// Breaks `text` only at spaces. Text between backticks and overlong words stay whole for copying.
pub fn wrap_words(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut is_open = false;
    let mut piece = String::new();
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        piece.push_str(word);
        is_open ^= word.matches('`').count() % 2 == 1;
        if is_open && words.peek().is_some() {
            piece.push(' ');
            continue;
        }
        let piece = std::mem::take(&mut piece);
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(&piece),
            Some(line) if of(line) + 1 + of(&piece) <= columns => {
                line.push(' ');
                line.push_str(&piece);
            }
            _ => lines.push(piece),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_commands_stay_whole() {
        let cases: [(&str, usize, &[&str]); 6] = [
            ("", 10, &[""]),
            ("one two three", 80, &["one two three"]),
            ("one two three", 8, &["one two", "three"]),
            ("a `b c d` e", 6, &["a", "`b c d`", "e"]),
            ("an-unbreakable-word x", 5, &["an-unbreakable-word", "x"]),
            ("one `two three", 5, &["one", "`two three"]),
        ];
        for (text, columns, lines) in cases {
            assert_eq!(wrap_words(text, columns), lines, "{text}");
        }
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(of("漢字x"), 5);
        assert_eq!(fit("漢字漢字", 5), "漢字…");
        assert_eq!(fit("漢字", 4), "漢字");
        assert_eq!(fit("abc", 0), "");
        assert_eq!(fit_end("漢字漢字", 5), "…漢字");
        assert_eq!(fit_end("漢字漢字", 4), "…字");
        assert_eq!(fit_end("abc", 3), "abc");
        assert_eq!(fit_end("abc", 1), "…");
        assert_eq!(fit_end("abc", 0), "");
    }

    #[test]
    fn long_words_are_broken_and_nothing_is_lost() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("a\n\nb", 9), ["a", "", "b"]);
    }
}
