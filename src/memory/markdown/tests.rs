use super::*;

fn shape(source: &str) -> Vec<(u8, String, Option<String>, String)> {
    let document = parse(source);
    document
        .sections
        .iter()
        .enumerate()
        .map(|(i, s)| (s.level, s.heading.clone(), s.id.clone(), document.own_body(i).to_owned()))
        .collect()
}

fn headings(source: &str) -> Vec<String> {
    parse(source).sections.into_iter().map(|s| s.heading).collect()
}

#[test]
fn sections_nest_and_reach_to_the_next_of_the_same_level() {
    let source = "# A\n## B\nb\n### C\nc\n## D\nd\n# E\n";
    let document = parse(source);
    assert_eq!(document.text(0), "# A\n## B\nb\n### C\nc\n## D\nd\n");
    assert_eq!(document.text(1), "## B\nb\n### C\nc\n");
    assert_eq!(document.own_text(1), "## B\nb\n");
    assert_eq!(document.trail(2), ["A", "B", "C"]);
    assert_eq!(document.sections[3].parent, Some(0));
    assert_eq!(document.text(4), "# E\n");
}

#[test]
fn markers_stand_on_the_next_line_or_after_one_blank_line() {
    let id = |source| parse(source).sections[0].id.clone();
    assert_eq!(id("# A\n<!-- @id: a -->\n").as_deref(), Some("a"));
    assert_eq!(id("# A\r\n\r\n<!-- @id: a -->\r\n").as_deref(), Some("a"));
    assert_eq!(id("# A\n<!--@id:a-->").as_deref(), Some("a"));
    assert_eq!(id("# Б\n<!-- @id: б-2 -->").as_deref(), Some("б-2"));
    assert_eq!(id("# A\n\n\n<!-- @id: a -->\n"), None);
    assert_eq!(id("# A\n    <!-- @id: a -->\n"), None);
    assert_eq!(id("# A\ntext <!-- @id: a -->\n"), None);
    assert_eq!(parse("# A\n\n\n<!-- @id: a -->\n").stray_markers.len(), 1);
    assert_eq!(parse("# A\n`<!-- @id: a -->`\n").stray_markers.len(), 0);
    assert_eq!(parse("# A\n\n```\n<!-- @id: a -->\n```\n").stray_markers.len(), 0);
}

#[test]
fn headings_in_code_html_quotes_and_lists_are_text() {
    assert_eq!(headings("# A\n\n```md\n# no\n```\n\n    # no\n\n# B\n"), ["A", "B"]);
    assert_eq!(headings("# A\n<div>\n# no\n</div>\n\n# B\n"), ["A", "B"]);
    assert_eq!(headings("# A\n<!--\n# no\n-->\n# B\n"), ["A", "B"]);
    assert_eq!(headings("# A\n> # no\n\n- # no\n  ## no\n\n# B\n"), ["A", "B"]);
    assert_eq!(headings("# A\n~~~\n```\n# no\n~~~\n# B\n"), ["A", "B"]);
    assert_eq!(headings("#no\n\\# no\n####### no\n# B\n"), ["B"]);
}

#[test]
fn setext_headings_are_headings_and_front_matter_is_not() {
    assert_eq!(
        shape("---\nkey: value\n---\nA\n=\ntext\n\nB\nb\n---\n<!-- @id: b -->\nmore\n"),
        [
            (1, "A".into(), None, "text\n\n".into()),
            (2, "B b".into(), Some("b".into()), "more\n".into())
        ]
    );
    assert!(parse("A\n=\n").sections[0].setext);
    assert!(!parse("# A\n").sections[0].setext);
    assert!(parse("#no\n===\n").sections[0].setext);
}

#[test]
fn odd_files_parse() {
    assert_eq!(headings(""), Vec::<String>::new());
    assert_eq!(headings("\u{feff}# Ж *жирный* `код` #"), ["Ж жирный код"]);
    assert_eq!(headings("\u{feff}\r\n# 見出し\r\n## 二\r\n"), ["見出し", "二"]);
    assert_eq!(headings("#\n##\n"), ["", ""]);
    assert_eq!(headings("# A\r## B\rtext"), ["A", "B"]);
    let document = parse("\u{feff}# A");
    assert_eq!(document.sections[0].start(), 3);
}

#[test]
fn files_that_end_inside_something_are_open() {
    assert!(parse("# A\n\n```\nx\n```\n").is_closed());
    assert!(parse("").is_closed());
    assert!(!parse("# A\n\n```\nx\n").is_closed());
    assert!(!parse("# A\n\n<!-- x\n").is_closed());
    assert!(!parse("# A\n\n<script>\n").is_closed());
    assert!(parse("# A\n\n- x").is_closed());
}

#[test]
fn duplicates_are_listed_once() {
    let source = "# A\n<!-- @id: x -->\n# B\n<!-- @id: x -->\n# C\n<!-- @id: x -->\n";
    assert_eq!(parse(source).duplicate_ids(), ["x"]);
    assert_eq!(parse(source).by_id("x"), [0, 1, 2]);
}
