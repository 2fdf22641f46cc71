//! Sections of a memory file that a hunk changes.

use std::ops::Range;

use crate::changeset::hunks::{Diff, Hunk, LineEdit};
use crate::memory::markdown;

#[derive(Debug)]
pub(super) struct Sections {
    before: Vec<(Range<usize>, String)>,
    after: Vec<(Range<usize>, String)>,
}

impl Sections {
    pub(super) fn of(diff: &Diff<'_>) -> Self {
        Self { before: named(diff.before().bytes()), after: named(diff.after().bytes()) }
    }

    /// `use-nats (new)`, `one, two`; `None` outside sections.
    pub(super) fn label(&self, diff: &Diff<'_>, hunk: &Hunk) -> Option<String> {
        let mut labels: Vec<String> = Vec::new();
        for edit in &diff.edits()[hunk.edits.clone()] {
            for label in self.touched(diff, edit) {
                if !labels.contains(&label) {
                    labels.push(label);
                }
            }
        }
        (!labels.is_empty()).then(|| labels.join(", "))
    }

    fn touched(&self, diff: &Diff<'_>, edit: &LineEdit) -> Vec<String> {
        let known = |list: &[(Range<usize>, String)], name: &str| list.iter().any(|s| s.1 == name);
        // Blank lines between sections belong to neither.
        let holds = |text: &crate::changeset::hunks::Text<'_>, lines: &Range<usize>| {
            let text = text.lines(lines.clone());
            text.iter().any(|byte| !byte.is_ascii_whitespace())
        };
        let mut labels = Vec::new();
        for (lines, name) in &self.after {
            let shared = lines.start.max(edit.after.start)..lines.end.min(edit.after.end);
            if shared.start < shared.end && holds(diff.after(), &shared) {
                let new = if known(&self.before, name) { "" } else { " (new)" };
                labels.push(format!("{name}{new}"));
            }
        }
        for (lines, name) in &self.before {
            let shared = lines.start.max(edit.before.start)..lines.end.min(edit.before.end);
            if shared.start < shared.end && holds(diff.before(), &shared) {
                let gone = if known(&self.after, name) { "" } else { " (removed)" };
                labels.push(format!("{name}{gone}"));
            }
        }
        labels
    }
}

fn named(text: &[u8]) -> Vec<(Range<usize>, String)> {
    let Ok(text) = std::str::from_utf8(text) else { return Vec::new() };
    let mut starts = vec![0];
    starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
    let line = |at: usize| starts.partition_point(|start| *start < at);
    let document = markdown::parse(text);
    let section = |section: &markdown::Section| {
        let range = section.own_range();
        let name = section.id.as_deref().unwrap_or(&section.heading);
        (line(range.start)..line(range.end), name.to_owned())
    };
    document.sections.iter().map(section).collect()
}
