//! What stands above a file's hunks.

use std::borrow::Cow;

use super::super::style::{Palette, Role};
use crate::changeset::File;
use crate::changeset::entry::{Entry, EntryKind};
use crate::changeset::path::RepoPath;
use crate::text::escape;

/// Git's header lines for one file, without line feeds: `diff --git`, modes, rename, `---` and
/// `+++`, or what there is to say of a binary file.
pub fn header(entry: &Entry<'_>, palette: &Palette) -> Vec<String> {
    let (old, new) = (shown(entry.old_path), shown(entry.path));
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
    if entry.is_binary() {
        let size = |file: Option<&File>| match file {
            Some(file) => format!("{} bytes", file.bytes.len()),
            None => "nothing".to_owned(),
        };
        lines.push(format!("Binary files differ: {} -> {}", size(entry.before), size(entry.after)));
    } else if entry.changes_content() {
        let side = |sign: &str, prefix: &str, there: bool, path: &str| match there {
            true => format!("{sign} {prefix}{path}"),
            false => format!("{sign} /dev/null"),
        };
        lines.push(side("---", "a/", entry.before.is_some(), &old));
        lines.push(side("+++", "b/", entry.after.is_some(), &new));
    }
    lines.iter().map(|line| palette.paint(Role::Meta, line)).collect()
}

/// One line about a file: `src/a.rs (new file, executable)`, `renamed old → new (98 %)`.
pub fn summary_line(entry: &Entry<'_>) -> String {
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
    }
    let path = match moved {
        true => {
            let (old, new) = (shown(entry.old_path), shown(entry.path));
            format!("{} {old} → {new}", entry.kind.word())
        }
        false => shown(entry.path),
    };
    match notes.is_empty() {
        true => path,
        false => format!("{path} ({})", notes.join(", ")),
    }
}

/// A path as it may be shown: controls written out, and what makes it look like another.
pub fn shown(path: &RepoPath) -> String {
    escape::bytes_name(path.as_bstr())
}
