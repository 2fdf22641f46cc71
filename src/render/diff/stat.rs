//! Lists of files: `--stat`, `--name-only`, `--name-status`.

use super::super::style::{Palette, Role};
use super::super::width;
use super::header::{escape_path, summary_line};
use crate::changeset::FileChange;
use crate::changeset::change_entry::{EntryKind, entries};
use crate::changeset::hunks::Counts;
use crate::text::counted;

/// As git's `--name-only`: a rename by its new path.
pub fn name_only(changes: &[FileChange]) -> String {
    entries(changes).iter().map(|entry| escape_path(entry.path) + "\n").collect()
}

/// Columns are separated by tabs; a rename has both paths.
pub fn name_status(changes: &[FileChange]) -> String {
    let line = |entry: &crate::changeset::change_entry::ChangeEntry<'_>| match entry.kind {
        EntryKind::Renamed | EntryKind::Copied => {
            let (old, new) = (escape_path(entry.old_path), escape_path(entry.path));
            format!("{}\t{old}\t{new}\n", entry.kind.letter())
        }
        kind => format!("{}\t{}\n", kind.letter(), escape_path(entry.path)),
    };
    entries(changes).iter().map(line).collect()
}

pub fn stat(changes: &[FileChange], palette: &Palette, columns: usize) -> String {
    let rows: Vec<(String, Option<Counts>, String, bool)> = entries(changes)
        .iter()
        .map(|entry| {
            let counts = (!entry.is_whole()).then(|| entry.counts());
            let bytes = format!("{} -> {} bytes", entry.old_bytes().len(), entry.new_bytes().len());
            (summary_line(entry), counts, bytes, entry.is_binary())
        })
        .collect();
    let most = rows.iter().filter_map(|(_, c, ..)| c.map(|c| c.added + c.removed)).max();
    let most = most.unwrap_or(0);
    let digits = most.to_string().len().max(3);
    let widest = rows.iter().map(|(name, ..)| width::of(name)).max().unwrap_or(0);
    let names = widest.min(columns.saturating_sub(digits + 16).max(20));
    let bar = columns.saturating_sub(names + digits + 6).clamp(8, 60);
    let mut out = String::new();
    let mut sum = Counts::default();
    for (name, counts, bytes, is_binary) in &rows {
        // The end of a path says more than its start.
        let name = if width::of(name) > names {
            format!("…{}", tail(name, names - 1))
        } else {
            name.clone()
        };
        let fill = " ".repeat(names.saturating_sub(width::of(&name)));
        out += &format!(" {name}{fill} | ");
        match counts {
            Some(counts) => {
                sum += *counts;
                out += &format!("{:>digits$} ", counts.added + counts.removed);
                let (plus, minus) = bars(*counts, most, bar);
                palette.write(&mut out, Role::New, &"+".repeat(plus));
                palette.write(&mut out, Role::Old, &"-".repeat(minus));
            }
            None => {
                out += &format!("{:>digits$} {bytes}", if *is_binary { "Bin" } else { "?" });
            }
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out += &format!(" {} changed", counted(rows.len(), "file"));
    if sum.added > 0 || sum.removed == 0 {
        out += &format!(", {}(+)", counted(sum.added, "insertion"));
    }
    if sum.removed > 0 {
        out += &format!(", {}(-)", counted(sum.removed, "deletion"));
    }
    out.push('\n');
    out
}

/// A count above zero gets a bar of at least one.
fn bars(counts: Counts, most: usize, bar: usize) -> (usize, usize) {
    if most <= bar {
        return (counts.added, counts.removed);
    }
    let scale = |n: usize| if n == 0 { 0 } else { (n * bar / most).max(1) };
    (scale(counts.added), scale(counts.removed))
}

fn tail(text: &str, columns: usize) -> &str {
    let mut start = text.len();
    for (at, _) in text.char_indices().rev() {
        if width::of(&text[at..]) > columns {
            break;
        }
        start = at;
    }
    &text[start..]
}
