//! Trees made of paths, and commits made of trees.

use bstr::BString;
use gix::ObjectId;
use gix::objs::Tree;
use gix::objs::tree::EntryKind;

use super::objects::{Batch, object_id};
use crate::changeset::{Mode, RepoPath};
use crate::error::Result;
use crate::proposal::Entry;
use crate::repository::damaged;

/// A path in a tree, and its blob and mode, or `None` to remove it.
pub(super) type Leaf = (Vec<BString>, Option<(ObjectId, Mode)>);

/// The components of `path`, below the directories `above`.
pub(super) fn components(above: &[&str], path: &RepoPath) -> Vec<BString> {
    above
        .iter()
        .map(|name| BString::from(*name))
        .chain(path.components().map(BString::from))
        .collect()
}

/// `entry` at `path`; `None` removes the file.
pub(super) fn leaf(path: &RepoPath, entry: Option<&Entry>) -> Result<Leaf> {
    let content = match entry {
        Some(entry) => Some((object_id(&entry.id)?, entry.file_mode())),
        None => None,
    };
    Ok((components(&[], path), content))
}

/// Applies `leaves` to `root`. Only trees that change are written.
///
/// # Errors
/// `object_missing` if a tree cannot be read.
pub(super) fn edit(
    repo: &gix::Repository,
    batch: &mut Batch<'_>,
    root: Tree,
    leaves: &[Leaf],
) -> Result<ObjectId> {
    let failed = |error: &dyn std::fmt::Display| damaged("a tree", error);
    let mut editor = gix::objs::tree::Editor::new(root, &repo.objects, repo.object_hash());
    for (path, content) in leaves {
        let parts = path.iter().map(bstr::BStr::new);
        match content {
            Some((id, mode)) => {
                let kind = match mode {
                    Mode::Regular => EntryKind::Blob,
                    Mode::Executable => EntryKind::BlobExecutable,
                };
                editor.upsert(parts, kind, *id).map_err(|error| failed(&error))?;
            }
            None => {
                editor.remove(parts).map_err(|error| failed(&error))?;
            }
        }
    }
    editor.write(|tree| batch.add_tree(tree))
}

/// Adds a commit by `who` with further `headers`. The time is in UTC, and 1970 at the earliest.
pub(super) fn commit(
    batch: &mut Batch<'_>,
    tree: ObjectId,
    parents: &[ObjectId],
    who: &crate::proposal::Actor,
    seconds: i64,
    headers: &[(&str, Vec<u8>)],
    message: &str,
) -> Result<ObjectId> {
    // gitformat-commit: no NUL, '<', '>' or line feed in names and addresses.
    let clean = |text: &str| -> String {
        let kept: String =
            text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
        kept.trim().to_owned()
    };
    let name = match clean(&who.name) {
        name if name.is_empty() => "unknown".to_owned(),
        name => name,
    };
    // `git fsck` refuses a time before 1970, and so may a remote.
    let seconds = seconds.max(0);
    let signature = format!("{name} <{}> {seconds} +0000", clean(&who.email));
    let mut text = format!("tree {tree}\n");
    for parent in parents {
        text += &format!("parent {parent}\n");
    }
    text += &format!("author {signature}\ncommitter {signature}\n");
    let mut bytes = text.into_bytes();
    for (name, value) in headers {
        bytes.extend([name.as_bytes(), b" ", value, b"\n"].concat());
    }
    bytes.extend(
        [b"\n", message.replace('\0', "").trim_end_matches('\n').as_bytes(), b"\n"].concat(),
    );
    batch.add(gix::objs::Kind::Commit, &bytes)
}
