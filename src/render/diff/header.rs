//! Header lines above a file's hunks.

use std::borrow::Cow;

use super::super::style::{Palette, Role};
use crate::changeset::File;
use crate::changeset::change_entry::{ChangeEntry, EntryKind};
use crate::changeset::path::RepoPath;
use crate::text::escape;

/// Git's header lines without line feeds: `diff --git`, modes, rename, `---` and `+++`.
pub fn header(entry: &ChangeEntry<'_>, palette: &Palette) -> Vec<String> {
    if entry.is_whole() { header_of_whole(entry, palette) } else { header_of_text(entry, palette) }
}

pub(super) fn header_of_whole(entry: &ChangeEntry<'_>, palette: &Palette) -> Vec<String> {
    let size = |file: Option<&File>| match file {
        Some(file) => format!("{} bytes", file.bytes.len()),
        None => "nothing".to_owned(),
    };
    let (what, more) = if entry.is_binary() {
        ("Binary", "")
    } else {
        ("Large", " (aye diff ID -- FILE shows it)")
    };
    let (old, new) = (size(entry.before), size(entry.after));
    let line = format!("{what} files differ: {old} -> {new}{more}");
    let lines = location_lines(entry).into_iter().chain(std::iter::once(line));
    lines.map(|line| palette.paint(Role::Meta, line)).collect()
}

pub(super) fn header_of_text(entry: &ChangeEntry<'_>, palette: &Palette) -> Vec<String> {
    let lines = location_lines(entry).into_iter().chain(sides(entry));
    lines.map(|line| palette.paint(Role::Meta, line)).collect()
}

fn location_lines(entry: &ChangeEntry<'_>) -> Vec<String> {
    let (old, new) = (escape_path(entry.old_path), escape_path(entry.path));
    let mut lines = vec![format!("diff --git a/{old} b/{new}")];
    match (entry.kind, entry.before, entry.after) {
        (EntryKind::Added, _, Some(file)) => {
            lines.push(format!("new file mode {}", file.mode.as_str()))
        }
        (EntryKind::Deleted, Some(file), _) => {
            lines.push(format!("deleted file mode {}", file.mode.as_str()));
        }
        (_, Some(before), Some(after)) if before.mode != after.mode => {
            lines.push(format!("old mode {}", before.mode.as_str()));
            lines.push(format!("new mode {}", after.mode.as_str()));
        }
        _ => {}
    }
    if let Some(verb) = match entry.kind {
        EntryKind::Renamed => Some("rename"),
        EntryKind::Copied => Some("copy"),
        _ => None,
    } {
        lines.extend(entry.similarity().map(|percent| format!("similarity index {percent}%")));
        lines.push(format!("{verb} from {old}"));
        lines.push(format!("{verb} to {new}"));
    }
    lines
}

fn sides(entry: &ChangeEntry<'_>) -> Vec<String> {
    let side = |sign: &str, prefix: &str, there: bool, path: &RepoPath| {
        if there {
            format!("{sign} {prefix}{}", escape_path(path))
        } else {
            format!("{sign} /dev/null")
        }
    };
    if entry.changes_content() {
        vec![
            side("---", "a/", entry.before.is_some(), entry.old_path),
            side("+++", "b/", entry.after.is_some(), entry.path),
        ]
    } else {
        Vec::new()
    }
}

/// `src/a.rs (new file, executable)`, `renamed old → new (98 %)`.
pub fn summary_line(entry: &ChangeEntry<'_>) -> String {
    let moved = matches!(entry.kind, EntryKind::Renamed | EntryKind::Copied);
    let mut notes: Vec<Cow<'_, str>> = Vec::new();
    if entry.kind != EntryKind::Modified && !moved {
        notes.push(entry.kind.word().into());
    }
    notes.extend(entry.similarity().map(|percent| format!("{percent} %").into()));
    let executable = |file: Option<&File>| file.map(|f| f.mode.as_str() == "100755");
    match (executable(entry.before), executable(entry.after)) {
        (None, Some(true)) => notes.push("executable".into()),
        (Some(false), Some(true)) => notes.push("becomes executable".into()),
        (Some(true), Some(false)) => notes.push("no longer executable".into()),
        _ => {}
    }
    if entry.is_binary() {
        notes.push("binary".into());
    } else if entry.is_large() {
        notes.push("large".into());
    }
    let path = if moved {
        let (old, new) = (escape_path(entry.old_path), escape_path(entry.path));
        format!("{} {old} → {new}", entry.kind.word())
    } else {
        escape_path(entry.path)
    };
    if notes.is_empty() { path } else { format!("{path} ({})", notes.join(", ")) }
}

/// Escapes controls and misleading characters of a path.
pub fn escape_path(path: &RepoPath) -> String {
    escape::bytes_name(path.as_bstr())
}
