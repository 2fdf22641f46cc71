//! The unsaved text of an editor, as the base of a session's tree: the agent works on the files as
//! the person sees them.

use super::session::rebase;
use super::{Session, recall};
use crate::changeset::{File, RepoPath};
use crate::error::{Error, Result};
use crate::session::SessionStore;
use crate::session::follow::FollowOutcome;
use crate::session::session_store::RecordLock;

/// Takes the text of files that the base of the tree has. Returns the paths whose text differed
/// from the base, and the outcome in the tree.
///
/// # Errors
/// `session_not_found`, `session_record_invalid`; as `follow::follow` and `session::submit`.
pub fn take(
    session: &Session<'_>,
    home: &SessionStore,
    changing: &RecordLock,
    buffers: Vec<(RepoPath, String)>,
) -> Result<(Vec<RepoPath>, FollowOutcome)> {
    let Session { store, now, .. } = session;
    let record = recall::record(store, home, changing.name())?;
    let base = record.base.parse().map_err(|_| Error::bug("the base is not an object id"))?;
    let mut files = Vec::new();
    let of_base = store.repository().files_of(base)?;
    for (path, text) in buffers {
        let Ok(Some(file)) = of_base.file(&path) else { continue };
        if let Some(bytes) = saved(&file.bytes, &text) {
            files.push((path, Some(File { bytes, mode: file.mode })));
        }
    }
    let mut followed = FollowOutcome::default();
    let paths: Vec<RepoPath> = files.iter().map(|(path, _)| path.clone()).collect();
    if !files.is_empty() {
        let base = store.commit_with(&record.base, files, *now, "What an editor had not saved")?;
        rebase(session, home, changing, record, base, &mut followed)?;
    }
    Ok((paths, followed))
}

/// The bytes that the editor would save, or `None` if they are those of the file. Editors report
/// text with LF and some of them without the last one, whatever the file has.
fn saved(file: &[u8], text: &str) -> Option<Vec<u8>> {
    let old = std::str::from_utf8(file).ok()?;
    let text = text.replace("\r\n", "\n");
    let plain = old.replace("\r\n", "\n");
    if text.trim_end_matches('\n') == plain.trim_end_matches('\n') {
        return None;
    }
    let end = if plain.ends_with('\n') && !text.ends_with('\n') { "\n" } else { "" };
    let text = text + end;
    let has_crlf = old.contains("\r\n");
    Some(if has_crlf { text.replace('\n', "\r\n") } else { text }.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::saved;

    #[test]
    fn line_ends_of_the_file_stay() {
        for (file, text, expected) in [
            ("a\nb\n", "a\nb\n", None),
            ("a\nb\n", "a\nb", None),
            ("a\r\nb\r\n", "a\nb\n", None),
            ("a\nb\n", "a\nc", Some("a\nc\n")),
            ("a\r\nb\r\n", "a\nc\n", Some("a\r\nc\r\n")),
            ("a", "b", Some("b")),
            ("", "a\n", Some("a\n")),
        ] {
            assert_eq!(saved(file.as_bytes(), text).as_deref(), expected.map(str::as_bytes));
        }
        assert_eq!(saved(b"\xff", "a"), None);
    }
}
