//! Three-way merge of memory files by section, for undo and to recognise changes already made.
//!
//! Sections match by id, else by heading, level and occurrence, within their parents. A change of
//! one side is taken. Additions of both sides stay, ours first. A section deleted on one side and
//! unchanged on the other is deleted. Other changes of both sides conflict.

use std::collections::{BTreeMap, BTreeSet};

use super::markdown::{self, Document, lines};

/// # Errors
/// The sections in conflict, by id or heading.
pub fn merge(base: &str, ours: &str, theirs: &str) -> Result<String, Vec<String>> {
    if ours == theirs || base == theirs {
        return Ok(ours.to_owned());
    }
    if base == ours {
        return Ok(theirs.to_owned());
    }
    let eol = lines::dominant_ending(ours);
    // Line endings are not a difference: ours stay.
    let as_ours = |text: &'_ str| {
        if lines::dominant_ending(text) == eol {
            text.to_owned()
        } else {
            lines::with_ending(text, eol)
        }
    };
    let (base, theirs) = (&as_ours(base), &as_ours(theirs));
    let [base, ours, theirs] = [base, ours, theirs].map(markdown::parse);
    if ![&base, &ours, &theirs].iter().all(|document| document.is_closed()) {
        // Sections are unknown in a file that ends inside a code fence.
        return Err(vec!["file".to_owned()]);
    }
    let ends_line = lines::ends_line(ours.source);
    let mut text =
        SectionSides { base: blocks(&base), ours: blocks(&ours), theirs: blocks(&theirs) }
            .merged(eol)?;
    if !ends_line {
        text.truncate(text.trim_end().len());
    }
    Ok(text)
}

struct SectionText<'a> {
    /// Keys of its parents and its own.
    key: String,
    /// Empty at the top.
    parent: String,
    /// Its id, or level and heading.
    name: String,
    level: u8,
    own: &'a str,
}

fn blocks<'a>(document: &Document<'a>) -> Vec<SectionText<'a>> {
    let first = document.sections.first().map_or(document.source.len(), |s| s.start());
    let (key, parent, name) = (String::new(), String::new(), "file".to_owned());
    let mut blocks =
        vec![SectionText { key, parent, name, level: 0, own: &document.source[..first] }];
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for section in &document.sections {
        let parent = section.parent.map_or(String::new(), |at| blocks[at + 1].key.clone());
        let name = match &section.id {
            Some(id) => id.clone(),
            None => format!("{} {}", section.level, section.heading),
        };
        let bare = format!("{parent}\n{name}");
        let count = seen.entry(bare.clone()).or_default();
        *count += 1;
        let key = format!("{bare}\n{count}");
        let own = &document.source[section.own_range()];
        blocks.push(SectionText { key, parent, name, level: section.level, own });
    }
    blocks
}

struct SectionSides<'a> {
    base: Vec<SectionText<'a>>,
    ours: Vec<SectionText<'a>>,
    theirs: Vec<SectionText<'a>>,
}

fn find<'b, 'a>(blocks: &'b [SectionText<'a>], key: &str) -> Option<&'b SectionText<'a>> {
    blocks.iter().find(|block| block.key == key)
}

impl SectionSides<'_> {
    fn merged(&self, eol: &str) -> Result<String, Vec<String>> {
        let mut out = String::new();
        let mut conflicts = Vec::new();
        let mut kept: BTreeSet<&str> = BTreeSet::from([""]);
        for block in self.order() {
            let key = block.key.as_str();
            let [base, ours, theirs] = [&self.base, &self.ours, &self.theirs]
                .map(|blocks| find(blocks, key).map(|block| block.own));
            let is_same = |a: &str, b: &str| a.trim_end() == b.trim_end();
            let text = match (base, ours, theirs) {
                (None, Some(one), None) | (None, None, Some(one)) => Some(one.to_owned()),
                (None, Some(one), Some(other)) if is_same(one, other) => Some(one.to_owned()),
                (Some(base), Some(ours), Some(theirs)) => own(base, ours, theirs, eol),
                // The other side must not have changed a deleted section.
                (Some(base), Some(one), None) | (Some(base), None, Some(one))
                    if is_same(base, one) =>
                {
                    continue;
                }
                _ => None,
            };
            match text {
                Some(text) if kept.contains(block.parent.as_str()) => push(&mut out, &text, eol),
                _ => conflicts.push(block.name.clone()),
            }
            kept.insert(key);
        }
        if conflicts.is_empty() { Ok(out) } else { Err(conflicts) }
    }

    /// Our blocks in order. A block that only theirs has goes behind its predecessor there, and
    /// behind our additions at that place.
    fn order(&self) -> Vec<&SectionText<'_>> {
        let mut order: Vec<&SectionText<'_>> = self.ours.iter().collect();
        let mut at = 0;
        for block in &self.theirs {
            if let Some(found) = order.iter().position(|other| other.key == block.key) {
                at = found + 1;
                continue;
            }
            let is_new = |other: &SectionText<'_>| {
                other.level >= block.level
                    && [&self.base, &self.theirs].iter().all(|it| find(it, &other.key).is_none())
            };
            if find(&self.base, &block.key).is_none() {
                while order.get(at).is_some_and(|other| is_new(other)) {
                    at += 1;
                }
            }
            order.insert(at, block);
            at += 1;
        }
        order
    }
}

/// Adds a blank line before a section from another side, except behind a heading or marker.
fn push(out: &mut String, text: &str, eol: &str) {
    if !out.is_empty() && !text.is_empty() {
        if !lines::ends_line(out) {
            *out += eol;
        }
        let last = out.trim_end().rsplit(['\n', '\r']).next().unwrap_or_default();
        let is_head = last.starts_with('#') || markdown::parse_marker(last).is_some();
        let is_apart = out.ends_with("\n\n") || out.ends_with("\n\r\n");
        if text.starts_with('#') && !is_apart && !is_head {
            *out += eol;
        }
    }
    *out += text;
}

/// `None` if both sides changed the section's own text.
fn own(base: &str, ours: &str, theirs: &str, eol: &str) -> Option<String> {
    let (b, o, t) = (base.trim_end(), ours.trim_end(), theirs.trim_end());
    if o == t || t == b {
        return Some(ours.to_owned());
    }
    if o == b {
        return Some(theirs.to_owned());
    }
    // Both only added lines at the end: keep both.
    let starts_line = |rest: &str| rest.starts_with(['\n', '\r']);
    let (mine, yours) = (o.strip_prefix(b)?, t.strip_prefix(b)?);
    if b.is_empty() || !starts_line(mine) || !starts_line(yours) {
        return None;
    }
    let tail = &ours[o.len()..];
    let joined = lines::with_ending(&format!("{b}{mine}{yours}"), eol);
    Some(joined + tail)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASE: &str = "# D\n<!-- @id: d -->\n\nIntro.\n\n## A\n<!-- @id: a -->\n\na\n\n## B\n<!-- @id: b -->\n\n- b\n";

    fn clean(ours: &str, theirs: &str) -> String {
        merge(BASE, ours, theirs).expect("no conflict")
    }

    fn conflicts(ours: &str, theirs: &str) -> Vec<String> {
        merge(BASE, ours, theirs).expect_err("a conflict")
    }

    #[test]
    fn both_sides_append_sections() {
        let ours = format!("{BASE}\n## X\n<!-- @id: x -->\n\nx\n");
        let theirs = format!("{BASE}\n## Y\n<!-- @id: y -->\n\ny\n");
        let both = format!("{BASE}\n## X\n<!-- @id: x -->\n\nx\n\n## Y\n<!-- @id: y -->\n\ny\n");
        assert_eq!(clean(&ours, &theirs), both);
    }

    #[test]
    fn both_sides_append_to_one_section() {
        let text = clean(
            &BASE.replace("- b\n", "- b\n- mine\n"),
            &BASE.replace("- b\n", "- b\n- yours\n"),
        );
        assert_eq!(text, BASE.replace("- b\n", "- b\n- mine\n- yours\n"));
    }

    #[test]
    fn what_one_side_changes_is_taken() {
        let ours = BASE.replace("\na\n", "\nmine\n");
        let theirs = BASE.replace("- b\n", "- yours\n").replace("Intro.", "New intro.");
        let both = ours.replace("- b\n", "- yours\n").replace("Intro.", "New intro.");
        assert_eq!(clean(&ours, &theirs), both);
    }

    #[test]
    fn a_deleted_section_that_nobody_touched_is_gone() {
        let ours = BASE.replace("## A\n<!-- @id: a -->\n\na\n\n", "");
        let theirs = BASE.replace("- b\n", "- yours\n");
        assert_eq!(clean(&ours, &theirs), ours.replace("- b\n", "- yours\n"));
        assert_eq!(clean(&theirs, &ours), ours.replace("- b\n", "- yours\n"));
    }

    #[test]
    fn a_section_changed_on_both_sides_is_a_conflict() {
        let found =
            conflicts(&BASE.replace("\na\n", "\nmine\n"), &BASE.replace("\na\n", "\nyours\n"));
        assert_eq!(found, ["a"]);
    }

    #[test]
    fn deleted_here_and_changed_there_is_a_conflict() {
        let gone = BASE.replace("## A\n<!-- @id: a -->\n\na\n\n", "");
        assert_eq!(conflicts(&gone, &BASE.replace("\na\n", "\nyours\n")), ["a"]);
    }

    #[test]
    fn the_same_id_added_twice_is_a_conflict_unless_equal() {
        let ours = format!("{BASE}\n## X\n<!-- @id: x -->\n\nx\n");
        let theirs = format!("{BASE}\n## X\n<!-- @id: x -->\n\nother\n");
        assert_eq!(conflicts(&ours, &theirs), ["x"]);
        assert_eq!(clean(&ours, &ours), ours);
    }

    #[test]
    fn line_endings_and_a_missing_final_newline_stay() {
        let crlf = BASE.replace('\n', "\r\n");
        let ours = format!("{crlf}\r\n## X\r\n<!-- @id: x -->\r\n");
        let theirs = format!("{crlf}\r\n## Y\r\n<!-- @id: y -->\r\n");
        let out = merge(&crlf, &ours, &theirs).expect("no conflict");
        assert!(!out.replace("\r\n", "").contains('\n'), "{out:?}");
        let bare = BASE.trim_end();
        let out = merge(bare, &format!("{bare}\n\n## X\nx"), &format!("{bare}\n\n## Y\ny"));
        assert_eq!(out.expect("no conflict"), format!("{bare}\n\n## X\nx\n\n## Y\ny"));
    }

    #[test]
    fn a_file_that_both_sides_began_keeps_what_each_put_into_it() {
        let with = |name: &str| format!("# P\n<!-- @id: p -->\n\n## {name}\n\n{name}\n");
        let out = merge("", &with("A"), &with("B")).expect("no conflict");
        assert_eq!(out, format!("{}\n## B\n\nB\n", with("A")));
        let other = merge("", &with("A"), &with("B").replace("# P\n", "# Q\n"));
        assert_eq!(other.expect_err("a conflict"), ["p"]);
    }

    #[test]
    fn line_endings_that_one_side_changed_are_no_conflict() {
        let theirs = BASE.replace("- b", "- yours").replace('\n', "\r\n");
        let out = clean(&BASE.replace("\na\n", "\nmine\n"), &theirs);
        assert_eq!(out, BASE.replace("\na\n", "\nmine\n").replace("- b", "- yours"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn additions_are_never_lost(mine in prop::collection::vec(0u8..20, 0..5), yours in prop::collection::vec(20u8..40, 0..5)) {
            let with = |ids: &[u8]| {
                let mut text = BASE.to_owned();
                for id in ids.iter().collect::<std::collections::BTreeSet<_>>() {
                    text += &format!("\n## S{id}\n<!-- @id: s{id} -->\n\ntext {id}\n");
                }
                text
            };
            let (ours, theirs) = (with(&mine), with(&yours));
            let out = clean(&ours, &theirs);
            for id in mine.iter().chain(&yours) {
                let needle = format!("## S{id}\n<!-- @id: s{id} -->\n\ntext {id}\n");
                prop_assert_eq!(out.matches(&needle).count(), 1);
            }
        }

        #[test]
        fn merging_never_panics(base in "(?s).{0,100}", ours in "(?s).{0,100}", theirs in "(?s).{0,100}") {
            let _ = merge(&base, &ours, &theirs);
        }
    }
}
