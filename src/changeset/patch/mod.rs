//! The front door for patches: tells the two dialects apart, judges them on the present files and
//! compiles them to a [`Changeset`](super::Changeset).

mod ids;
mod modes;
mod series;
mod strip;

pub use super::fit::{Action, Compiled, Dialect, FileReport, HunkReport, Options};
pub use super::limits::{self, codes};
pub use modes::check as check_mode;

use std::borrow::Cow;

use bstr::ByteSlice as _;

use super::fit::{may_be_applied, place::Purpose};
use super::locate::BOM;
use super::{Snapshot, envelope, unified};
use crate::error::{Error, Result, codes as general};

/// Reads `bytes`, a patch in either dialect, against the present files.
///
/// A patch whose every change is there already gives [`Compiled::already_applied`] and an empty
/// changeset.
///
/// # Errors
/// `patch_invalid` if it is no sound patch; `file_not_found`, `file_exists`, `hunk_failed`,
/// `hunk_ambiguous`, `binary_mismatch` if it does not fit the present files; `path_invalid`,
/// `path_in_git_dir`, `file_mode_refused` if it asks for what is never done;
/// `size_limit_exceeded` beyond [`limits`]; `no_change` if it changes nothing.
pub fn read(bytes: &[u8], files: &dyn Snapshot, options: &Options) -> Result<Compiled> {
    check_size(bytes)?;
    // Put before the patch by an editor or a shell, and no part of it.
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
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
    if let Some(directory) = envelope::directory(bytes, files)? {
        return Err(Error::new(
            &codes::PATCH_INVALID,
            format!("'cd {}' stands in front of a unified diff", directory.display()),
        )
        .hint("send the diff alone, with paths from the repository's top"));
    }
    // A last line that lost its LF on the way is still a whole line.
    let whole = if bytes.ends_with(b"\n") {
        Cow::Borrowed(bytes)
    } else {
        Cow::Owned([bytes, b"\n"].concat())
    };
    let counted = unified::parse(&whole)?;
    let hunks = || counted.files.iter().flat_map(|file| &file.hunks);
    let is_open = hunks().any(unified::Hunk::may_end_in_a_header);
    let is_whole = matches!(whole, Cow::Borrowed(_));
    match judge(counted, bytes, is_whole, files, options) {
        Err(error) if is_open => {
            // A count that is one too large takes the header of the next file for a change.
            let headed = unified::parse_as(&whole, unified::Reading::Headed).and_then(|headed| {
                // What is left changes nothing: those lines were the change, and of the file that was named.
                let mut left = headed.files.iter().flat_map(|file| &file.hunks);
                let is_whole_change = !left.any(|hunk| hunk.counts() == (0, 0));
                is_whole_change.then(|| judge(headed, bytes, is_whole, files, options)).transpose()
            });
            match headed {
                Ok(Some(compiled)) => Ok(compiled),
                Ok(None) => Err(error),
                Err(other) => Err(if line(&other) > line(&error) { other } else { error }),
            }
        }
        judged => judged,
    }
}

/// The line of the patch that an error names.
fn line(error: &Error) -> Option<u64> {
    error.details().iter().find(|(key, _)| *key == "line").and_then(|(_, line)| line.as_u64())
}

/// Judges the files of a unified diff, which was read from `bytes`, on the present ones. `is_whole`: its last line
/// ends in LF.
fn judge(
    parsed: unified::Parsed<'_>,
    bytes: &[u8],
    is_whole: bool,
    files: &dyn Snapshot,
    options: &Options,
) -> Result<Compiled> {
    let unified::Parsed { files: mut parsed, left_out } = parsed;
    if parsed.is_empty() {
        return Err(match left_out.as_slice() {
            [] => no_patch(bytes),
            [(number, line), ..] => unified::invalid(
                *number,
                format!("'{}' announces a change that is not in it", unified::excerpt(line)),
            )
            .hint("make the patch with `git diff --binary`, or send the files themselves"),
        });
    }
    if !is_whole {
        refuse_half_line(&parsed, bytes)?;
    }
    if options.reverse {
        parsed.reverse();
        parsed.iter_mut().for_each(unified::FilePatch::reverse);
    }
    let strip = strip::choose(&parsed, files, options);
    let mut forward = series::compile(&parsed, files, &strip, options, Purpose::Apply);
    if let Ok(compiled) = &mut forward {
        compiled.notes.extend(notes_on(&left_out));
    }
    // How freely its context may be read for the result to count as there.
    let fuzz = match &forward {
        Ok(compiled) => compiled.doubtful.then(|| compiled.fuzz()),
        Err(error) => may_be_applied(error).then_some(usize::MAX),
    };
    if let Some(fuzz) = fuzz {
        parsed.reverse();
        parsed.iter_mut().for_each(unified::FilePatch::reverse);
        let purpose = Purpose::Prove { fits: forward.is_ok() };
        if let Ok(backward) = series::compile(&parsed, files, &strip, options, purpose)
            && backward.is_evidence()
            && backward.fuzz() <= fuzz
        {
            let mut applied = backward.into_already_applied();
            applied.notes.extend(notes_on(&left_out));
            return Ok(applied);
        }
    }
    forward
}

/// What to say of lines that tell of changes which are not in the patch.
fn notes_on(left_out: &[(usize, &[u8])]) -> impl Iterator<Item = String> {
    const SHOWN: usize = 10;
    let each = left_out.iter().take(SHOWN).map(|(number, line)| {
        let line = unified::excerpt(line);
        format!("line {number} of the patch, '{line}', is of a change that is not in it")
    });
    let more = left_out.len().saturating_sub(SHOWN);
    each.chain((more > 0).then(|| format!("so are {more} more lines")))
}

/// Where the input ends within a line, nothing tells whether that line is whole but what the lines
/// above say. Half a line of context would not be found in the file.
fn refuse_half_line(parsed: &[unified::FilePatch<'_>], bytes: &[u8]) -> Result<()> {
    let Some(file) = parsed.last() else { return Ok(()) };
    let last = file.hunks.last().filter(|hunk| hunk.short);
    let adds = |hunk: &&unified::Hunk<'_>| {
        hunk.lines.last().is_some_and(|line| line.kind == unified::LineKind::Added)
    };
    if let Some(hunk) = last.filter(adds) {
        return Err(unified::invalid(
            hunk.number,
            "the patch ends before this hunk does, in the middle of an added line",
        )
        .hint("send the whole patch; if it is whole, end it with a newline"));
    }
    let line = bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let whole = if line.starts_with(b"index ") {
        file.index.is_some_and(|(old, new)| old.len() == new.len() && old.len() >= 4)
    } else if line.starts_with(b"rename to ") || line.starts_with(b"copy to ") {
        file.names_agree()
    } else {
        let begun = |word: &&str| word.as_bytes().starts_with(line);
        let header = file.git.is_some() && file.hunks.is_empty() && file.binary.is_none();
        !header || line.is_empty() || !["index ", "--- ", "GIT binary patch"].iter().any(begun)
    };
    if whole {
        return Ok(());
    }
    Err(unified::invalid(file.number, "the patch ends in the middle of this file's header")
        .hint("send the whole patch; if it is whole, end it with a newline"))
}

fn check_size(bytes: &[u8]) -> Result<()> {
    let too_large = |message: String| {
        Err(Error::new(&general::SIZE_LIMIT, message).hint("split the patch into smaller ones"))
    };
    if bytes.len() > limits::PATCH {
        return too_large(format!(
            "the patch has {} bytes; the limit is {}",
            bytes.len(),
            limits::PATCH
        ));
    }
    for (at, line) in bytes.split_str(b"\n").enumerate() {
        if line.len() > limits::LINE {
            return too_large(format!(
                "line {} of the patch has {} bytes; the limit is {}",
                at + 1,
                line.len(),
                limits::LINE
            ));
        }
        if at >= limits::LINES {
            return too_large(format!("the patch has more than {} lines", limits::LINES));
        }
    }
    Ok(())
}

/// Names what the input is instead, where that can be told.
fn no_patch(bytes: &[u8]) -> Error {
    let lines = || bytes.split(|b| *b == b'\n');
    let is_ed = |line: &[u8]| {
        let digits = line.iter().take_while(|b| b.is_ascii_digit() || **b == b',').count();
        digits > 0 && matches!(&line[digits..], b"a" | b"c" | b"d" | b"i")
    };
    let header = |line: &[u8]| line.starts_with(b"diff --git ") || line.starts_with(b"--- ");
    // After what a program may have put before every line: colours, marks of a quotation.
    let framed = || {
        lines().zip(lines().skip(1)).any(|(old, new)| {
            let at = old.find(b"--- ").filter(|at| *at > 0);
            at.is_some_and(|at| new.get(at..).is_some_and(|new| new.starts_with(b"+++ ")))
        })
    };
    let what = if bytes.trim_ascii().is_empty() {
        "the patch is empty"
    } else if [&b"\xff\xfe"[..], b"\xfe\xff"].iter().any(|mark| bytes.starts_with(mark)) {
        "the input is in UTF-16, as PowerShell writes it; it must be the bytes that git printed"
    } else if lines().find(|line| !line.trim_ascii().is_empty()).is_some_and(is_ed) {
        "this is an ed script, which is never run"
    } else if !bytes.trim_ascii().contains(&b'\n') && bytes.contains_str(r"\n") {
        r"the patch is one line, with '\n' in it as two characters where lines should end"
    } else if lines().any(header) {
        "there is a file header but no hunk below it"
    } else if bytes.contains_str(b"\x1b[") && framed() {
        "the patch has colour codes in it; make it again with --no-color"
    } else if framed() {
        "the lines of the patch are indented, quoted or numbered; give it as git printed it"
    } else {
        "there is no patch in the input"
    };
    Error::new(&codes::PATCH_INVALID, what).hint(
        "give a unified diff ('--- a/PATH', '+++ b/PATH', '@@ … @@') or an envelope \
         ('*** Begin Patch' … '*** End Patch')",
    )
}

#[cfg(test)]
mod tests;
