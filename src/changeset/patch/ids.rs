//! Blob ids of patches: they say which content a change is for, and what it makes.

use super::codes;
use crate::changeset::RepoPath;
use crate::changeset::unified::FilePatch;
use crate::error::{Error, Result};

/// The full ids of a binary change, old and new.
///
/// # Errors
/// `patch_invalid` where there is no `index` line or its ids are abbreviated: without them nothing
/// says which content the hunk is for.
pub(super) fn of<'a>(patch: &FilePatch<'a>, path: &RepoPath) -> Result<(&'a [u8], &'a [u8])> {
    match patch.index {
        Some((old, new)) if matches!(old.len(), 40 | 64) && new.len() == old.len() => {
            Ok((old, new))
        }
        _ => Err(crate::changeset::unified::invalid(
            patch.number,
            format!("the binary change to {} has no full index line", path.display()),
        )
        .hint("make the patch with `git diff --binary` (or --full-index)")),
    }
}

/// Checks that `content` has the blob id `id` (zeros: no content).
///
/// # Errors
/// `binary_mismatch`, saying `why`.
pub(super) fn check(content: &[u8], id: &[u8], path: &RepoPath, why: &str) -> Result<()> {
    let nothing = id.iter().all(|b| *b == b'0');
    let fits = if nothing {
        content.is_empty()
    } else {
        match blob_id(content, id.len()) {
            Some(found) => found.as_bytes().eq_ignore_ascii_case(id),
            // SHA-256 is not built in; the sizes inside the hunk are all there is to check.
            None => true,
        }
    };
    if fits {
        return Ok(());
    }
    Err(Error::new(
        &codes::BINARY_MISMATCH,
        format!("the binary change to {} does not fit: {why}", path.display()),
    )
    .with("path", path.display().to_string())
    .with("expected_id", String::from_utf8_lossy(id).into_owned())
    .hint("ask for a new patch, made from the present file"))
}

/// Refuses a patch that ends before its last hunk does, where it was made by git from these very
/// `content`: then its counts are right, and lines are missing.
///
/// # Errors
/// `patch_invalid`.
pub(super) fn refuse_cut_off(patch: &FilePatch<'_>, content: &[u8], path: &RepoPath) -> Result<()> {
    let Some(hunk) = patch.hunks.last().filter(|hunk| hunk.short) else { return Ok(()) };
    let Some((old, _)) = patch.index.filter(|(old, _)| old.len() >= 7) else { return Ok(()) };
    match blob_id(content, 40) {
        Some(id) if id.as_bytes().starts_with(&old.to_ascii_lowercase()) => {
            Err(crate::changeset::unified::invalid(
                hunk.number,
                format!("the patch ends in the middle of this hunk of {}", path.display()),
            )
            .hint("send the whole patch; if it was edited by hand, leave its index line out"))
        }
        _ => Ok(()),
    }
}

/// The blob id of `content` as hex of `len` digits, where that hash is built in.
fn blob_id(content: &[u8], len: usize) -> Option<String> {
    let kind = (len == 40).then_some(gix::hash::Kind::Sha1)?;
    let id = gix::objs::compute_hash(kind, gix::objs::Kind::Blob, content).ok()?;
    Some(id.to_string())
}
