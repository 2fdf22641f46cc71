//! Entry point for patches: recognises the dialect, and compiles a `Changeset` against the present
//! files.

mod ids;
mod modes;
mod series;
mod strip;

pub use super::fit::{CompiledPatch, Dialect, FileAction, FileReport, HunkReport, Options};
pub use super::limits::{self, codes};
pub use modes::check as check_mode;

use std::borrow::Cow;

use bstr::ByteSlice as _;

use super::fit::place::FitPurpose;
use super::locate::BOM;
use super::{Snapshot, codes as changes, envelope, unified};
use crate::error::{Error, Result, codes as general};

/// A patch whose changes all exist gives `CompiledPatch::already_applied` and an empty changeset.
///
/// # Errors
/// `patch_invalid` for a malformed patch. `file_not_found`, `file_exists`, `hunk_failed`,
/// `hunk_ambiguous`, `binary_mismatch` if it does not fit. `path_invalid`, `path_in_git_dir`,
/// `file_mode_refused` for forbidden targets. `size_limit_exceeded` beyond [`limits`]; `no_change`.
pub fn read(bytes: &[u8], files: &dyn Snapshot, options: &Options) -> Result<CompiledPatch> {
    check_size(bytes)?;
    // Editors and shells add a byte-order mark.
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    envelope::refuse_command(bytes)?;
    if envelope::is_envelope(bytes) {
        if options.reverse {
            return Err(Error::new(
                &general::INVALID_ARGUMENT,
                "a *** Begin Patch envelope cannot be applied backwards",
            )
            .hint("deleted files are not in it; use `aye undo`, or a unified diff"));
        }
        return envelope::compile(bytes, files);
    }
    // A last line that lost its LF on the way is still a whole line.
    let is_whole = bytes.ends_with(b"\n");
    let whole = if is_whole { Cow::Borrowed(bytes) } else { Cow::Owned([bytes, b"\n"].concat()) };
    let mut parsed = unified::parse(&whole)?;
    if parsed.is_empty() {
        return Err(no_patch(bytes));
    }
    if !is_whole {
        refuse_half_line(&parsed)?;
    }
    let copies = parsed.iter().any(|file| file.copy);
    if options.reverse {
        if copies {
            return Err(Error::new(&codes::PATCH_UNSUPPORTED, "a copy cannot be taken back")
                .hint("delete the copies, and apply the rest backwards"));
        }
        backwards(&mut parsed);
    }
    let strip = strip::choose(&parsed, options);
    let forward = series::compile(&parsed, files, strip, options, FitPurpose::Apply);
    if !copies && may_be_applied(&forward) {
        backwards(&mut parsed);
        let backward = series::compile(&parsed, files, strip, options, FitPurpose::Prove);
        // Files that the reversed patch creates are absent in any case: they prove nothing.
        let shows = |file: &FileReport| file.action != FileAction::Added;
        if let Some(compiled) = backward.ok().filter(|compiled| compiled.files.iter().any(shows)) {
            return Ok(compiled.into_already_applied());
        }
    }
    forward
}

/// A hunk with wrong counts may fit twice.
fn may_be_applied(forward: &Result<CompiledPatch>) -> bool {
    use changes::{FILE_EXISTS, FILE_NOT_FOUND, NO_CHANGE};
    match forward {
        Ok(compiled) => {
            compiled.files.iter().flat_map(|file| &file.hunks).any(|hunk| hunk.recounted)
        }
        Err(error) => {
            let failures = [&codes::HUNK_FAILED, &codes::BINARY_MISMATCH];
            failures
                .into_iter()
                .chain([&FILE_EXISTS, &FILE_NOT_FOUND, &NO_CHANGE])
                .any(|code| error.is(code))
        }
    }
}

/// Last file first.
fn backwards(parsed: &mut [unified::FilePatch<'_>]) {
    parsed.reverse();
    parsed.iter_mut().for_each(unified::FilePatch::reverse);
}

/// Only the lines above show if the last line is whole.
fn refuse_half_line(parsed: &[unified::FilePatch<'_>]) -> Result<()> {
    let Some(file) = parsed.last() else { return Ok(()) };
    let number = match file.hunks.last() {
        Some(hunk) if hunk.short => hunk.number,
        // A truncated name is another name, and a header may announce missing content.
        None if file.binary.is_none() => file.number,
        _ => return Ok(()),
    };
    Err(unified::invalid(number, "the patch ends in the middle of a line of this change")
        .hint("send the whole patch; if it is whole, end it with a newline"))
}

fn check_size(bytes: &[u8]) -> Result<()> {
    let lines = bytes.split_str(b"\n");
    let (what, limit) = if bytes.len() > limits::PATCH {
        ("bytes", limits::PATCH)
    } else if lines.clone().any(|line| line.len() > limits::LINE) {
        ("bytes in one line", limits::LINE)
    } else if lines.count() > limits::LINES {
        ("lines", limits::LINES)
    } else {
        return Ok(());
    };
    Err(Error::new(&general::SIZE_LIMIT, format!("the patch has more than {limit} {what}"))
        .hint("split the patch into smaller ones"))
}

fn no_patch(bytes: &[u8]) -> Error {
    let first = bytes.trim_ascii_start().split(|b| *b == b'\n').next().unwrap_or_default();
    let digits = first.iter().take_while(|b| b.is_ascii_digit() || **b == b',').count();
    if digits > 0 && matches!(&first[digits..], b"a" | b"c" | b"d" | b"i") {
        return unified::unsupported(1, "an ed script, which is never run");
    }
    let what = if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        "the input is in UTF-16, as PowerShell writes it; it must be the bytes that git printed"
    } else if !bytes.trim_ascii().contains(&b'\n') && bytes.contains_str(r"\n") {
        r"the patch is one line, with '\n' in it as two characters where lines should end"
    } else if bytes.contains_str(b"\x1b[") {
        "the patch has colour codes in it; make it again with --no-color"
    } else {
        "there is no patch in the input, or no hunk below a file header"
    };
    Error::new(&codes::PATCH_INVALID, what).hint(
        "give a unified diff ('--- a/PATH', '+++ b/PATH', '@@ … @@') or an envelope \
         ('*** Begin Patch' … '*** End Patch')",
    )
}

#[cfg(test)]
mod tests;
