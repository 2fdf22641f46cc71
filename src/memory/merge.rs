//! Three-way merge of memory files by section: what an undo makes, and what a file has already.
//!
//! Sections are matched by id (by heading, level and occurrence where they have none), children
//! within their parents. What only one side changed is taken; what both sides added is kept, ours
//! first; what one side deleted and the other left alone is deleted; text that both sides only
//! added to keeps both additions. Anything else both sides touched is a conflict.

use std::collections::BTreeMap;

use super::markdown::{self, Document, lines};

/// Merges `ours` and `theirs`, which both come from `base`.
///
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
    let mut merger = Merger { out: String::new(), conflicts: Vec::new(), eol };
    // Other line endings are no other text: ours stay.
    let as_ours = |text: &'_ str| match lines::dominant_ending(text) == eol {
        true => text.to_owned(),
        false => lines::with_ending(text, eol),
    };
    let (base, theirs) = (&as_ours(base), &as_ours(theirs));
    let [b, o, t] = [base, ours, theirs].map(markdown::parse);
    if ![&b, &o, &t].iter().all(|document| document.is_closed()) {
        // Sections cannot be told apart in a file that ends inside a code fence.
        merger.conflict("file");
    } else {
        let [b, o, t] = [&b, &o, &t].map(tree);
        merger.node(Some(&b), Some(&o), Some(&t));
    }
    let Merger { out: mut text, conflicts, .. } = merger;
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    if !lines::ends_line(ours) {
        text.truncate(text.trim_end().len());
    }
    Ok(text)
}

/// A section (or, at the top, the file) as a tree.
#[derive(Default)]
struct Node<'a> {
    /// Identity among its siblings.
    key: String,
    /// Heading, marker and text before the first child.
    own: &'a str,
    children: Vec<Node<'a>>,
}

impl Node<'_> {
    fn same(&self, other: &Self) -> bool {
        self.own.trim_end() == other.own.trim_end()
            && self.children.len() == other.children.len()
            && self.children.iter().zip(&other.children).all(|(a, b)| a.key == b.key && a.same(b))
    }

    fn child(&self, key: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.key == key)
    }
}

fn tree<'a>(document: &Document<'a>) -> Node<'a> {
    let end = document.sections.first().map_or(document.source.len(), |s| s.start());
    let mut root = Node { key: "file".into(), own: &document.source[..end], children: Vec::new() };
    root.children = children(document, None);
    root
}

fn children<'a>(document: &Document<'a>, parent: Option<usize>) -> Vec<Node<'a>> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    (0..document.sections.len())
        .filter(|&i| document.sections[i].parent == parent)
        .map(|i| {
            let section = &document.sections[i];
            let name = match &section.id {
                Some(id) => format!("#{id}"),
                None => format!("{} {}", section.level, section.heading),
            };
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            let key = if *count == 1 { name } else { format!("{name} ({count})") };
            Node {
                key,
                own: &document.source[section.own_range()],
                children: children(document, Some(i)),
            }
        })
        .collect()
}

struct Merger {
    out: String,
    conflicts: Vec<String>,
    eol: &'static str,
}

impl Merger {
    /// Adds a piece; a piece that begins a section gets a blank line before it where the piece
    /// before came from another side and has none.
    fn push(&mut self, text: &str) {
        if !self.out.is_empty() && !text.is_empty() {
            if !lines::ends_line(&self.out) {
                self.out += self.eol;
            }
            let blank = self.out.ends_with("\n\n") || self.out.ends_with("\n\r\n");
            if text.starts_with('#') && !blank && !self.ends_with_marker_or_heading() {
                self.out += self.eol;
            }
        }
        self.out += text;
    }

    /// A heading may directly follow another one, or its marker, where the file has it so.
    fn ends_with_marker_or_heading(&self) -> bool {
        let last = self.out.trim_end().rsplit(['\n', '\r']).next().unwrap_or_default();
        last.starts_with('#') || markdown::parse_marker(last).is_some()
    }

    fn conflict(&mut self, key: &str) {
        self.conflicts.push(key.trim_start_matches('#').to_owned());
    }

    fn whole(&mut self, node: &Node<'_>) {
        self.push(node.own);
        for child in &node.children {
            self.whole(child);
        }
    }

    fn node(
        &mut self,
        base: Option<&Node<'_>>,
        ours: Option<&Node<'_>>,
        theirs: Option<&Node<'_>>,
    ) {
        match (base, ours, theirs) {
            (_, None, None) => {}
            (None, Some(one), None) | (None, None, Some(one)) => self.whole(one),
            (Some(base), Some(one), None) if base.same(one) => {}
            (Some(base), None, Some(one)) if base.same(one) => {}
            (Some(_), Some(one), None) | (Some(_), None, Some(one)) => self.conflict(&one.key),
            (None, Some(ours), Some(theirs)) if ours.own.trim_end() == theirs.own.trim_end() => {
                // Both sides began it alike: what each put into it stays.
                self.push(ours.own);
                self.siblings(&Node::default(), ours, theirs);
            }
            (None, Some(ours), Some(_)) => self.conflict(&ours.key),
            (Some(base), Some(ours), Some(theirs)) => {
                match own(base.own, ours.own, theirs.own, self.eol) {
                    Some(text) => self.push(&text),
                    None => self.conflict(&ours.key),
                }
                self.siblings(base, ours, theirs);
            }
        }
    }

    /// Children in our order; what only theirs has goes behind the sibling it follows there, and
    /// behind what we added at the same place.
    fn siblings(&mut self, base: &Node<'_>, ours: &Node<'_>, theirs: &Node<'_>) {
        let mut order: Vec<&str> = ours.children.iter().map(|child| child.key.as_str()).collect();
        let mut before: Option<&str> = None;
        for child in &theirs.children {
            let key = child.key.as_str();
            if !order.contains(&key) {
                let mut at = before
                    .and_then(|before| order.iter().position(|key| *key == before))
                    .map_or(0, |i| i + 1);
                while at < order.len()
                    && base.child(order[at]).is_none()
                    && theirs.child(order[at]).is_none()
                {
                    at += 1;
                }
                order.insert(at, key);
            }
            before = Some(key);
        }
        for key in order {
            self.node(base.child(key), ours.child(key), theirs.child(key));
        }
    }
}

/// Merges the own text of one section; `None` where both sides changed it.
fn own(base: &str, ours: &str, theirs: &str, eol: &str) -> Option<String> {
    let (b, o, t) = (base.trim_end(), ours.trim_end(), theirs.trim_end());
    if o == t || t == b {
        return Some(ours.to_owned());
    }
    if o == b {
        return Some(theirs.to_owned());
    }
    // Both only added at the end, on lines of their own: keep both additions.
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

        /// Sections added on both sides are all there, and merging is the same from both sides
        /// but for the order.
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
