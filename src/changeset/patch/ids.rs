//! Blob ids in patches: the content before and after a change.

use gix::hash::Kind;

use super::codes;
use crate::changeset::RepoPath;
use crate::changeset::unified::FilePatch;
use crate::error::{Error, Result};

/// # Errors
/// `patch_invalid` without full ids: nothing else identifies the content of the hunk.
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

/// Zeros mean no content.
///
/// # Errors
/// `binary_mismatch`.
pub(super) fn check(content: &[u8], id: &[u8], path: &RepoPath) -> Result<()> {
    // Unverifiable content does not fit.
    let found = Kind::from_hex_len(id.len()).and_then(|kind| blob_id(content, kind));
    let nothing = content.is_empty() && id.iter().all(|b| *b == b'0');
    if nothing || found.is_some_and(|found| found.as_bytes().eq_ignore_ascii_case(id)) {
        return Ok(());
    }
    Err(Error::new(
        &codes::BINARY_MISMATCH,
        format!("{} has changed since its binary change was made", path.display()),
    )
    .with("path", path.display().to_string())
    .with("expected_id", String::from_utf8_lossy(id).into_owned())
    .hint("ask for a new patch, made from the present file"))
}

/// Refuses a patch that ends inside its last hunk and was made by git from this `content`: its
/// counts are right, so lines are missing.
///
/// # Errors
/// `patch_invalid`.
pub(super) fn refuse_cut_off(patch: &FilePatch<'_>, content: &[u8], path: &RepoPath) -> Result<()> {
    let Some(hunk) = patch.hunks.last().filter(|hunk| hunk.short) else { return Ok(()) };
    let Some((old, _)) = patch.index.filter(|(old, _)| old.len() >= 7) else { return Ok(()) };
    let old = old.to_ascii_lowercase();
    // An abbreviated id does not name its hash.
    let fits = |kind: &Kind| {
        blob_id(content, *kind).is_some_and(|found| found.as_bytes().starts_with(&old))
    };
    if ![Kind::Sha1, Kind::Sha256].iter().any(fits) {
        return Ok(());
    }
    Err(crate::changeset::unified::invalid(
        hunk.number,
        format!("the patch ends in the middle of this hunk of {}", path.display()),
    )
    .hint("send the whole patch; if it was edited by hand, drop its index line"))
}

/// `None` if git accepts no id (an attack on SHA-1).
fn blob_id(content: &[u8], kind: Kind) -> Option<String> {
    let id = gix::objs::compute_hash(kind, gix::objs::Kind::Blob, content).ok()?;
    Some(id.to_string())
}
