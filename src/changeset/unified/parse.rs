//! Finds headers among prose, and reads their hunks.

use bstr::ByteSlice as _;

use super::cursor::Cursor;
use super::refusal::{invalid, merge_diff, refuse_other_forms};
use super::{Block, FilePatch, header, hunk, mail};
use crate::changeset::limits;
use crate::error::{Error, Result, codes as general};

/// Prose between files is ignored, as in git.
///
/// # Errors
/// `patch_invalid`, with the line, if a patch starts and does not continue. `patch_unsupported` for
/// patches of other programs. `size_limit_exceeded` beyond [`limits`]. Input without a patch gives
/// no files.
pub fn parse(input: &[u8]) -> Result<Vec<FilePatch<'_>>> {
    let mut cursor = Cursor::new(input);
    let mut files: Vec<FilePatch<'_>> = Vec::new();
    let (mut stage, mut hunks) = (0, 0);
    // Mail text above its `---` may look like anything.
    let mut is_message = false;
    while let Some(line) = cursor.peek() {
        if mail::starts_commit(line, cursor.below().peek().unwrap_or_default()) {
            // In a series, later commits build on earlier ones.
            stage += usize::from(files.last().is_some_and(|file| file.stage == stage));
            is_message = line.starts_with(b"From ");
        }
        let mut file = if line.starts_with(b"diff --git ") {
            header::git(&mut cursor)?
        } else if cursor.starts_file() {
            header::traditional(&mut cursor)?
        } else {
            is_message &= line.trim_end() != b"---";
            if !is_message || line.starts_with(b"Content-") {
                refuse_other_forms(line, &cursor)?;
            }
            cursor.next();
            continue;
        };
        file.stage = stage;
        is_message = false;
        body(&mut cursor, &mut file)?;
        if file.is_cut_off() {
            return Err(invalid(file.number, "a file header without the change it announces")
                .hint("the patch may have been cut off; make it again, without --irreversible-delete (-D)"));
        }
        hunks += file.hunks.len();
        if hunks > limits::HUNKS || files.len() >= limits::FILES {
            return Err(too_many(cursor.number()));
        }
        files.push(file);
    }
    Ok(files)
}

fn body<'a>(cursor: &mut Cursor<'a>, file: &mut FilePatch<'a>) -> Result<()> {
    while let Some(line) = cursor.peek() {
        let hunk_below = cursor.below_space();
        if line.starts_with(b"@@@") {
            return Err(merge_diff(cursor.number()));
        } else if line.starts_with(b"@@") {
            let hunk = hunk::read(cursor)?;
            if hunk.lines.is_empty() {
                return Err(invalid(hunk.number, "a hunk without any lines")
                    .hint("the patch may have been cut off; make it again"));
            }
            file.hunks.push(hunk);
            if file.hunks.len() > limits::HUNKS {
                return Err(too_many(cursor.number()));
            }
        } else if file.hunks.is_empty() && line.trim_end() == b"GIT binary patch" {
            cursor.next();
            let Some(forward) = Block::read(cursor)? else {
                return Err(invalid(cursor.number(), "the binary patch has no data")
                    .hint("make the patch again with `git diff --binary`"));
            };
            file.binary = Some([Some(forward), Block::read(cursor)?]);
            return Ok(());
        } else if file.hunks.is_empty() && is_binary_remark(line) {
            file.content_missing = true;
            cursor.next();
            return Ok(());
        } else if (!file.hunks.is_empty() || file.new.is_some()) && hunk_below.starts_hunk() {
            // Models put empty lines between hunks, or do not count the last line. Both hunks are
            // of the same file.
            *cursor = hunk_below;
        } else {
            break;
        }
    }
    Ok(())
}

fn is_binary_remark(line: &[u8]) -> bool {
    (line.starts_with(b"Binary files ") || line.starts_with(b"Files "))
        && line.trim_end().ends_with(b" differ")
}

fn too_many(number: usize) -> Error {
    let what =
        format!("the patch has more than {} files or {} hunks", limits::FILES, limits::HUNKS);
    Error::new(&general::SIZE_LIMIT, format!("{what} (at line {number})"))
        .with("line", number)
        .hint("split it into several patches")
}
