//! A changeset as a git patch that `git apply` turns into the same bytes and modes.

mod binary;
mod quote;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub use gix::hash::Kind;

use super::hunks::{CONTEXT, Diff, LineSide};
use super::{Changeset, File, FileChange, RepoPath, moves};

pub use quote::name as quoted_name;

/// Like `git diff --binary --full-index`: quoted names, renames and copies, binary literals in both
/// directions.
///
/// `index` lines have full blob ids in the hash of the target repository: git accepts no others for
/// a binary change.
pub fn git_patch<'a>(changeset: &Changeset, ids: impl Into<Ids<'a>>) -> Vec<u8> {
    let ids = ids.into();
    let sources = Sources::new(changeset.changes());
    let mut out = Vec::new();
    for change in changeset.changes() {
        match sources.of(change) {
            Role::Itself => file(&mut out, change, None, CONTEXT, &ids),
            Role::Moved(source, copy) => {
                file(&mut out, change, Some((source, copy)), CONTEXT, &ids);
            }
            Role::Left => {}
        }
    }
    out
}

/// One file without renames. Nothing if content and mode are equal.
pub fn file_patch(change: &FileChange, context: usize, hash: Kind) -> Vec<u8> {
    let mut out = Vec::new();
    file(&mut out, change, None, context, &Ids::from(hash));
    out
}

/// Blob ids, computed unless known to the caller.
pub struct Ids<'a> {
    hash: Kind,
    /// Before and after.
    known: BTreeMap<&'a RepoPath, [Option<&'a str>; 2]>,
}

impl From<Kind> for Ids<'_> {
    fn from(hash: Kind) -> Self {
        Self { hash, known: BTreeMap::new() }
    }
}

impl<'a> Ids<'a> {
    /// In hex.
    pub fn know(&mut self, path: &'a RepoPath, before: Option<&'a str>, after: Option<&'a str>) {
        self.known.insert(path, [before, after]);
    }

    fn of(&self, path: &RepoPath, after: bool, file: Option<&File>) -> Cow<'a, str> {
        let Some(file) = file else { return self.hash.null().to_string().into() };
        let known = self.known.get(path).and_then(|sides| sides[usize::from(after)]);
        known.map_or_else(|| blob_id(&file.bytes, self.hash).into(), Cow::Borrowed)
    }
}

enum Role<'a> {
    Itself,
    /// The source; true if the source stays.
    Moved(&'a FileChange, bool),
    /// The deleted half of a rename.
    Left,
}

/// Renames and copies that a patch can express: the source must be in the changeset, because its
/// content is needed.
struct Sources<'a> {
    by_path: BTreeMap<&'a RepoPath, &'a FileChange>,
    /// For each deleted path, its new path.
    taken_by: BTreeMap<&'a RepoPath, &'a RepoPath>,
}

impl<'a> Sources<'a> {
    fn new(changes: &'a [FileChange]) -> Self {
        let by_path: BTreeMap<_, _> = changes.iter().map(|change| (&change.path, change)).collect();
        let mut taken_by = BTreeMap::new();
        for change in changes.iter().filter(|change| is_new(change)) {
            if let Some(origin) = &change.origin
                && by_path.get(origin).is_some_and(|o| o.before.is_some() && o.after.is_none())
            {
                // The last of several is the rename; the others are copies.
                taken_by.insert(origin, &change.path);
            }
        }
        Self { by_path, taken_by }
    }

    fn of(&self, change: &'a FileChange) -> Role<'a> {
        if self.taken_by.contains_key(&change.path) {
            return Role::Left;
        }
        let source = change.origin.as_ref().filter(|_| is_new(change));
        match source.and_then(|origin| self.by_path.get(origin)) {
            Some(source) if source.before.is_some() => {
                let renamed = self.taken_by.get(&source.path) == Some(&&change.path);
                Role::Moved(source, !renamed)
            }
            _ => Role::Itself,
        }
    }
}

fn is_new(change: &FileChange) -> bool {
    change.before.is_none() && change.after.is_some()
}

fn file(
    out: &mut Vec<u8>,
    change: &FileChange,
    source: Option<(&FileChange, bool)>,
    context: usize,
    ids: &Ids<'_>,
) {
    let (old_path, before) = match source {
        Some((source, _)) => (&source.path, &source.before),
        None => (&change.path, &change.before),
    };
    let after = &change.after;
    if source.is_none() && before == after {
        return;
    }
    let (old_name, new_name) = (quote::name(b"a/", old_path), quote::name(b"b/", &change.path));
    line(out, &[b"diff --git ", &old_name, b" ", &new_name]);
    modes(out, before.as_ref(), after.as_ref());
    if let Some((_, copy)) = source {
        let word: &[u8] = if copy { b"copy" } else { b"rename" };
        let percent = moves::similarity(bytes(before.as_ref()), bytes(after.as_ref()));
        line(out, &[format!("similarity index {percent}%").as_bytes()]);
        line(out, &[word, b" from ", &quote::name(b"", old_path)]);
        line(out, &[word, b" to ", &quote::name(b"", &change.path)]);
    }
    let (old, new) = (bytes(before.as_ref()), bytes(after.as_ref()));
    if old == new && before.is_some() == after.is_some() {
        return;
    }
    let mode = match (before, after) {
        (Some(before), Some(after)) if before.mode == after.mode => {
            format!(" {}", after.mode.as_str())
        }
        _ => String::new(),
    };
    let from = ids.of(old_path, false, before.as_ref());
    let to = ids.of(&change.path, true, after.as_ref());
    line(out, &[format!("index {from}..{to}{mode}").as_bytes()]);
    if old == new {
        return;
    }
    if before.as_ref().is_some_and(File::is_binary) || after.as_ref().is_some_and(File::is_binary) {
        out.extend_from_slice(b"GIT binary patch\n");
        binary::literal(new, out);
        binary::literal(old, out);
        return;
    }
    let nothing = b"/dev/null".to_vec();
    let old_name = if before.is_some() { quote::with_tab(old_name) } else { nothing.clone() };
    let new_name = if after.is_some() { quote::with_tab(new_name) } else { nothing };
    line(out, &[b"--- ", &old_name]);
    line(out, &[b"+++ ", &new_name]);
    text_hunks(out, &Diff::new(old, new), context);
}

pub fn text_hunks(out: &mut Vec<u8>, diff: &Diff<'_>, context: usize) {
    for hunk in diff.hunks(context) {
        out.extend_from_slice(hunk.to_string().as_bytes());
        if let Some(heading) = diff.heading(&hunk) {
            out.push(b' ');
            out.extend_from_slice(&heading[..heading.len().min(80)]);
        }
        out.push(b'\n');
        for piece in diff.lines(&hunk) {
            out.push(match piece.side {
                LineSide::Context => b' ',
                LineSide::Removed => b'-',
                LineSide::Added => b'+',
            });
            out.extend_from_slice(piece.bytes);
            if !piece.is_terminated() {
                out.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
    }
}

fn bytes(file: Option<&File>) -> &[u8] {
    file.map_or(&[], |file| &file.bytes)
}

fn modes(out: &mut Vec<u8>, before: Option<&File>, after: Option<&File>) {
    match (before, after) {
        (None, Some(after)) => line(out, &[b"new file mode ", after.mode.as_str().as_bytes()]),
        (Some(before), None) => {
            line(out, &[b"deleted file mode ", before.mode.as_str().as_bytes()]);
        }
        (Some(before), Some(after)) if before.mode != after.mode => {
            line(out, &[b"old mode ", before.mode.as_str().as_bytes()]);
            line(out, &[b"new mode ", after.mode.as_str().as_bytes()]);
        }
        _ => {}
    }
}

fn blob_id(content: &[u8], hash: Kind) -> String {
    // Hashing fails only on a SHA-1 collision attack; git accepts no id of such content.
    gix::objs::compute_hash(hash, gix::objs::Kind::Blob, content)
        .unwrap_or_else(|_| hash.null())
        .to_string()
}

fn line(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests;
