//! Edits as splices: every byte outside the edit stays.
//!
//! Inserted text takes the file's line endings. A missing final newline stays missing, unless the
//! file was empty.

use std::ops::Range;

use super::{Document, lines, marker, parse, slug};

pub fn splice(source: &str, range: Range<usize>, text: &str) -> String {
    let mut out = String::with_capacity(source.len() - range.len() + text.len());
    out.push_str(&source[..range.start]);
    out.push_str(text);
    out.push_str(&source[range.end..]);
    out
}

fn block(document: &Document<'_>, content: &str) -> String {
    let eol = lines::dominant_ending(document.source);
    let text = lines::with_ending(content, eol);
    let start = leading_blank_lines(&text);
    text[start..].trim_end().to_owned()
}

/// Bytes of leading blank lines; the first line's indentation stays.
fn leading_blank_lines(text: &str) -> usize {
    let mut at = 0;
    for line in lines::iter(text) {
        if !lines::is_blank(line) {
            break;
        }
        at += line.len();
    }
    at
}

/// Inserts `content`, which begins with a heading, at byte `at`: the start of a section or the end
/// of the file. One blank line separates it on both sides.
pub fn insert_section(document: &Document<'_>, at: usize, content: &str) -> String {
    let source = document.source;
    let eol = lines::dominant_ending(source);
    let (before, after) = source.split_at(at);
    let mut text = String::new();
    if before.len() > document.start.min(at) || !before[document.start.min(at)..].is_empty() {
        if !lines::ends_line(before) {
            text += eol;
        }
        if !ends_with_blank_line(before) {
            text += eol;
        }
    }
    text += &block(document, content);
    if !after.is_empty() {
        text += eol;
        text += eol;
    } else if lines::ends_line(source) || source[document.start..].is_empty() {
        text += eol;
    }
    splice(source, at..at, &text)
}

fn ends_with_blank_line(text: &str) -> bool {
    let trimmed = text.strip_suffix('\n').map(|t| t.strip_suffix('\r').unwrap_or(t));
    match trimmed.or_else(|| text.strip_suffix('\r')) {
        None => false,
        Some(rest) => {
            let last = &rest[rest.rfind(['\n', '\r']).map_or(0, |i| i + 1)..];
            lines::is_blank(last) && !rest.is_empty()
        }
    }
}

/// Adds `content` after the last nonblank line of section `i`, children included. A list item joins
/// a list.
pub fn append_to_section(document: &Document<'_>, i: usize, content: &str) -> String {
    let source = document.source;
    let section = &document.sections[i];
    let eol = lines::dominant_ending(source);
    let end = lines::trimmed_end(source, section.range());
    let text = block(document, content);
    let last = &source[lines::start_of(source, end.saturating_sub(1))..end];
    let bare = end <= section.body;
    let tight = !bare && is_list_item(&text) && (is_list_item(last) || is_indented(last));
    let gap = if tight { eol.to_owned() } else { format!("{eol}{eol}") };
    // Following blank lines stay; a heading directly behind gets one.
    let rest = &source[end..];
    let tail = if lines::iter(rest).all(lines::is_blank) || ends_with_blank_first(rest) {
        ""
    } else {
        eol
    };
    splice(source, end..end, &format!("{gap}{text}{tail}"))
}

fn ends_with_blank_first(rest: &str) -> bool {
    let mut lines = lines::iter(rest);
    lines.next();
    lines.next().is_none_or(lines::is_blank)
}

fn is_list_item(text: &str) -> bool {
    let line = text.trim_start();
    let mut chars = line.chars();
    match chars.next() {
        Some('-' | '*' | '+') => chars.next().is_some_and(|c| c == ' ' || c == '\t'),
        Some(c) if c.is_ascii_digit() => {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            rest.starts_with(". ") || rest.starts_with(") ")
        }
        _ => false,
    }
}

fn is_indented(line: &str) -> bool {
    line.starts_with("  ") || line.starts_with('\t')
}

/// Replaces the own text of section `i`; heading, marker, children and surrounding blank lines
/// stay.
pub fn replace_own_body(document: &Document<'_>, i: usize, content: &str) -> String {
    let source = document.source;
    let section = &document.sections[i];
    let eol = lines::dominant_ending(source);
    let body = section.own_body();
    let text = block(document, content);
    let start = body.start + leading_blank_lines(&source[body.clone()]);
    let end = lines::trimmed_end(source, body.clone());
    if start < end {
        return splice(source, start..end, &text);
    }
    // Empty section: a blank line precedes the text.
    let at = body.start;
    let lead = if lines::ends_line(&source[..at]) { eol.to_owned() } else { format!("{eol}{eol}") };
    let rest = &source[at..];
    let tail = if rest.is_empty() {
        if lines::ends_line(source) { eol.to_owned() } else { String::new() }
    } else if source[body].is_empty() {
        format!("{eol}{eol}")
    } else {
        eol.to_owned()
    };
    splice(source, at..at, &format!("{lead}{text}{tail}"))
}

/// Replaces section `i` and its children.
pub fn replace_section(document: &Document<'_>, i: usize, content: &str) -> String {
    let range = document.sections[i].range();
    let end = lines::trimmed_end(document.source, range.clone());
    splice(document.source, range.start..end, &block(document, content))
}

pub fn remove_section(document: &Document<'_>, i: usize) -> String {
    splice(document.source, document.sections[i].range(), "")
}

/// Changes a heading's text and level; marker and text stay.
pub fn rename(document: &Document<'_>, i: usize, heading: &str, level: u8) -> String {
    let source = document.source;
    let section = &document.sections[i];
    let line = section.heading_line.clone();
    if section.setext && level == section.level {
        let last = lines::start_of(source, lines::trimmed_end(source, line.clone()) - 1);
        let eol_at = lines::trimmed_end(source, line.start..last);
        return splice(source, line.start..eol_at, heading);
    }
    let end = lines::trimmed_end(source, line.clone());
    splice(source, line.start..end, &format!("{} {heading}", "#".repeat(level.into())))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    First,
    All,
}

/// Adds missing markers. The first section gets `first`; others the id of the same heading and
/// level in `before`, else an unused slug.
pub fn with_ids(
    content: &str,
    first: Option<&str>,
    mark: Mark,
    before: &[(u8, String, String)],
    taken: impl Fn(&str) -> bool,
) -> String {
    let eol = lines::dominant_ending(content);
    let document = parse(content);
    let mut used: Vec<String> = document.sections.iter().filter_map(|s| s.id.clone()).collect();
    let mut inserts: Vec<(usize, String)> = Vec::new();
    for (i, section) in document.sections.iter().enumerate() {
        if section.id.is_some() || (i > 0 && mark == Mark::First) {
            continue;
        }
        let earlier = before
            .iter()
            .find(|(level, heading, id)| {
                *level == section.level && *heading == section.heading && !used.contains(id)
            })
            .map(|(_, _, id)| id.clone());
        let id = match (i, first) {
            (0, Some(id)) => id.to_owned(),
            _ => earlier.unwrap_or_else(|| {
                slug::unique(&section.heading, |id| taken(id) || used.iter().any(|u| u == id))
            }),
        };
        let at = section.heading_line.end;
        let lead = if lines::ends_line(&content[..at]) { "" } else { eol };
        let tail = if at == content.len() && !lines::ends_line(content) { "" } else { eol };
        inserts.push((at, format!("{lead}{}{tail}", marker(&id))));
        used.push(id);
    }
    let mut out = content.to_owned();
    for (at, text) in inserts.into_iter().rev() {
        out.insert_str(at, &text);
    }
    out
}

/// True if only the sections `touched` (indices of `before`) differ: the preamble and other
/// sections are equal and in order.
///
/// Catches content that swallows or splits its surroundings, such as an open code fence.
pub fn keeps_others(before: &Document<'_>, touched: Range<usize>, after: &Document<'_>) -> bool {
    let (head, tail) = (touched.start, before.sections.len() - touched.end);
    let count = after.sections.len();
    if count < head + tail || before.start != after.start {
        return false;
    }
    let same = |i: usize, j: usize| {
        let (a, b) = (&before.sections[i], &after.sections[j]);
        a.level == b.level
            && a.id == b.id
            && before.own_text(i).trim_end() == after.own_text(j).trim_end()
    };
    let preamble = |document: &Document<'_>| {
        let end = document.sections.first().map_or(document.source.len(), |s| s.start());
        document.source[..end].trim_end().to_owned()
    };
    let text_kept = if before.sections.is_empty() {
        after.source.starts_with(before.source.trim_end())
    } else {
        (head == 0 && touched.is_empty()) || preamble(before) == preamble(after)
    };
    text_kept
        && (0..head).all(|i| same(i, i))
        && (0..tail).all(|k| same(touched.end + k, count - tail + k))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# Top\n<!-- @id: top -->\n\nIntro.\n\n## One\n<!-- @id: one -->\n\n- a\n\n## Two\n<!-- @id: two -->\n\ntext\n";

    #[test]
    fn a_section_is_added_at_the_end_and_inside_a_parent() {
        let document = parse(FILE);
        let out = insert_section(&document, FILE.len(), "## New\n\nbody\n\n");
        assert_eq!(out, format!("{FILE}\n## New\n\nbody\n"));
        let out = insert_section(&document, document.sections[1].end, "### New\nbody");
        assert_eq!(out, FILE.replace("## Two", "### New\nbody\n\n## Two"));
    }

    #[test]
    fn an_empty_file_and_one_without_final_newline() {
        assert_eq!(insert_section(&parse(""), 0, "# A\nx"), "# A\nx\n");
        assert_eq!(insert_section(&parse("\u{feff}"), 3, "# A\nx"), "\u{feff}# A\nx\n");
        assert_eq!(insert_section(&parse("# A"), 3, "# B\nx\n"), "# A\n\n# B\nx");
        assert_eq!(insert_section(&parse("# A\r\n\r\n"), 7, "# B\nx\n"), "# A\r\n\r\n# B\r\nx\r\n");
    }

    #[test]
    fn items_join_lists_and_paragraphs_do_not() {
        let document = parse(FILE);
        let out = append_to_section(&document, 1, "- b\n");
        assert_eq!(out, FILE.replace("- a\n", "- a\n- b\n"));
        let out = append_to_section(&document, 1, "b");
        assert_eq!(out, FILE.replace("- a\n", "- a\n\nb\n"));
        let out = append_to_section(&parse("# A\n# B\n"), 0, "x");
        assert_eq!(out, "# A\n\nx\n\n# B\n");
        assert_eq!(append_to_section(&parse("# A"), 0, "- x"), "# A\n\n- x");
        assert_eq!(append_to_section(&parse("# A\n- x"), 0, "- y\n"), "# A\n- x\n- y");
    }

    #[test]
    fn the_own_body_is_replaced_and_nothing_around_it() {
        let document = parse(FILE);
        let out = replace_own_body(&document, 0, "Other.");
        assert_eq!(out, FILE.replace("Intro.", "Other."));
        assert_eq!(replace_own_body(&parse("# A\n## B\n"), 0, "x"), "# A\n\nx\n\n## B\n");
        assert_eq!(replace_own_body(&parse("# A\n\n## B\n"), 0, "x"), "# A\n\nx\n\n## B\n");
        assert_eq!(replace_own_body(&parse("# A"), 0, "x"), "# A\n\nx");
        assert_eq!(replace_own_body(&parse("# A\n"), 0, "x"), "# A\n\nx\n");
    }

    #[test]
    fn renames_keep_the_form_of_the_heading() {
        assert_eq!(rename(&parse("## A ##\ntext"), 0, "B", 2), "## B\ntext");
        assert_eq!(rename(&parse("A\n===\ntext"), 0, "B", 1), "B\n===\ntext");
        assert_eq!(rename(&parse("A\r\nmore\r\n---\r\ntext"), 0, "B", 3), "### B\r\ntext");
    }

    #[test]
    fn missing_ids_are_added_once() {
        let out = with_ids(
            "## A\ntext\n### A\n### A\n<!-- @id: x -->\n",
            Some("mine"),
            Mark::All,
            &[],
            |id| id == "a",
        );
        assert_eq!(
            out,
            "## A\n<!-- @id: mine -->\ntext\n### A\n<!-- @id: a-2 -->\n### A\n<!-- @id: x -->\n"
        );
        assert_eq!(with_ids("## A", None, Mark::First, &[], |_| false), "## A\n<!-- @id: a -->");
    }

    #[test]
    fn swallowing_content_is_noticed() {
        let before = parse(FILE);
        let out = replace_own_body(&before, 1, "```\nopen");
        assert!(!keeps_others(&before, 1..2, &parse(&out)));
        let out = replace_own_body(&before, 1, "<!-- open");
        assert!(!keeps_others(&before, 1..2, &parse(&out)));
        let out = replace_own_body(&before, 1, "fine");
        assert!(keeps_others(&before, 1..2, &parse(&out)));
    }
}
