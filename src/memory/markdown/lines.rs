//! Lines, their endings, and the start of Markdown in a file.

/// Offset behind a byte order mark and front matter (`---` on the first line up to the next `---`
/// or `...` line).
pub fn content_start(source: &str) -> usize {
    let bom = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let first_end = end_of(source, bom);
    if source[bom..first_end].trim_end() != "---" {
        return bom;
    }
    let mut at = first_end;
    while at < source.len() {
        let end = end_of(source, at);
        let line = source[at..end].trim_end();
        if line == "---" || line == "..." {
            return end;
        }
        at = end;
    }
    bom
}

pub fn start_of(source: &str, at: usize) -> usize {
    let before = &source.as_bytes()[..at.min(source.len())];
    let start = before.iter().rposition(|b| matches!(b, b'\n' | b'\r')).map_or(0, |i| i + 1);
    start.max(bom_len(source).min(at))
}

fn bom_len(source: &str) -> usize {
    if source.starts_with('\u{feff}') { 3 } else { 0 }
}

/// Includes the line ending (`\n`, `\r\n`, `\r`).
pub fn end_of(source: &str, at: usize) -> usize {
    let bytes = source.as_bytes();
    match bytes.get(at..).and_then(|rest| rest.iter().position(|b| matches!(b, b'\n' | b'\r'))) {
        None => source.len(),
        Some(i) if bytes[at + i] == b'\r' && bytes.get(at + i + 1) == Some(&b'\n') => at + i + 2,
        Some(i) => at + i + 1,
    }
}

pub fn iter(source: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        (at < source.len()).then(|| {
            let end = end_of(source, at);
            let line = &source[at..end];
            at = end;
            line
        })
    })
}

/// The most frequent line ending; `\n` on a tie.
pub fn dominant_ending(source: &str) -> &'static str {
    let crlf = source.matches("\r\n").count();
    let lf = source.matches('\n').count() - crlf;
    if crlf > lf { "\r\n" } else { "\n" }
}

pub fn with_ending(text: &str, ending: &str) -> String {
    let unix = text.replace("\r\n", "\n");
    if ending == "\n" { unix } else { unix.replace('\n', ending) }
}

pub fn ends_line(source: &str) -> bool {
    source.is_empty() || source == "\u{feff}" || source.ends_with(['\n', '\r'])
}

/// Blank as in CommonMark: only spaces and tabs.
pub fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}

/// End of `range` without trailing blank lines and the last line's ending. Whitespace after text is
/// text: two spaces break the line.
pub fn trimmed_end(source: &str, range: std::ops::Range<usize>) -> usize {
    let (mut at, mut end) = (range.start, range.start);
    for line in iter(&source[range]) {
        if !is_blank(line) {
            end = at + line.trim_end_matches(['\n', '\r']).len();
        }
        at += line.len();
    }
    end
}

/// From 1.
pub fn number_of(source: &str, at: usize) -> usize {
    iter(&source[..at.min(source.len())]).count().max(1)
        + usize::from(at > 0 && ends_line(&source[..at.min(source.len())]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_starts_after_mark_and_front_matter() {
        assert_eq!(content_start("# a"), 0);
        assert_eq!(content_start("\u{feff}# a"), 3);
        assert_eq!(content_start("---\nx: 1\n---\n# a"), 13);
        assert_eq!(content_start("\u{feff}---\r\nx: 1\r\n...\r\n# a"), 3 + 5 + 6 + 5);
        assert_eq!(content_start("---\nnever closed\n# a"), 0);
    }

    #[test]
    fn lines_end_in_all_three_ways() {
        assert_eq!(iter("a\nb\r\nc\rd").collect::<Vec<_>>(), ["a\n", "b\r\n", "c\r", "d"]);
        assert_eq!(number_of("a\nb\nc", 0), 1);
        assert_eq!(number_of("a\nb\nc", 2), 2);
        assert_eq!(number_of("a\nb\nc", 3), 2);
        assert_eq!(number_of("a\nb\nc", 4), 3);
    }
}
