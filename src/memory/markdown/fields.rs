//! Labelled fields: body lines `Name: value`, plain, `*italic*` or `**bold**`, not bulleted.

use std::ops::Range;

use super::{Document, lines};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Without emphasis.
    pub name: &'a str,
    /// Without emphasis; may be empty.
    pub value: &'a str,
    /// Byte offset of the line in the source.
    pub at: usize,
}

/// Fields in the own text of section `i`. Lines inside code and HTML blocks, lists, quotes and
/// tables do not count.
pub fn of_section<'a>(document: &Document<'a>, i: usize) -> Vec<Field<'a>> {
    within(document, document.sections[i].own_body())
}

fn within<'a>(document: &Document<'a>, body: Range<usize>) -> Vec<Field<'a>> {
    let mut at = body.start;
    let mut fields = Vec::new();
    for line in lines::iter(&document.source[body]) {
        let start = at;
        at += line.len();
        if document.opaque.iter().any(|range| range.contains(&start)) {
            continue;
        }
        if let Some((name, value)) = parse_line(line) {
            fields.push(Field { name, value, at: start });
        }
    }
    fields
}

fn parse_line(line: &str) -> Option<(&str, &str)> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let text = line.trim();
    if indent > 3 || line.starts_with('\t') || is_block_start(text) {
        return None;
    }
    let inner = text.trim_start_matches(['*', '_']);
    let colon = inner.find(':')?;
    let name = inner[..colon].trim_end_matches(['*', '_']).trim();
    let rest = &inner[colon + 1..];
    // A URL's scheme or a Rust path is not a label.
    if rest.starts_with("//") || rest.starts_with(':') {
        return None;
    }
    let value = rest.trim_start_matches(['*', '_']).trim();
    let value = value.strip_suffix("**").unwrap_or(value).trim();
    let labelled = !name.is_empty()
        && name.chars().count() <= 64
        && name.starts_with(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '/'));
    labelled.then_some((name, value))
}

fn is_block_start(text: &str) -> bool {
    let mut chars = text.chars();
    match chars.next() {
        None | Some('>' | '#' | '|' | '<') => true,
        Some('-' | '+' | '*') => chars.next().is_none_or(|c| c == ' ' || c == '\t'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_italic_and_bold_labels_are_one() {
        for line in [
            "Date: 2026-05-27",
            "**Date:** 2026-05-27",
            "*Date:* 2026-05-27",
            "**Date**: 2026-05-27\r\n",
            "**Date: 2026-05-27**",
        ] {
            assert_eq!(parse_line(line), Some(("Date", "2026-05-27")), "{line}");
        }
        for line in
            ["- Date: x", "* Date: x", "    Date: x", "https://x", "std::io", "> Date: x", ": x"]
        {
            assert_eq!(parse_line(line), None, "{line}");
        }
        assert_eq!(parse_line("Дата: 2026-05-27"), Some(("Дата", "2026-05-27")));
    }

    #[test]
    fn code_and_children_do_not_count() {
        let source = "## A\n<!-- @id: a -->\n\nDate: 1\n\n```\nStatus: x\n```\n\n### B\nOwner: y\n";
        let document = super::super::parse(source);
        let names: Vec<_> = of_section(&document, 0).iter().map(|f| f.name).collect();
        assert_eq!(names, ["Date"]);
    }
}
