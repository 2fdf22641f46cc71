//! From the bytes of a patch to its files: finds headers among prose and reads what belongs to
//! each.

use bstr::ByteSlice as _;

use super::{FilePatch, header, hunk, mail};
use crate::changeset::binary::{self, Block};
use crate::changeset::dialect;
use crate::changeset::limits::{self, codes};
use crate::error::{Error, Result, codes as general};

/// A place in the patch, by lines. Cheap to copy for looking ahead.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    input: &'a [u8],
    number: usize,
}

impl<'a> Cursor<'a> {
    /// The line it is on, without the LF.
    pub fn peek(&self) -> Option<&'a [u8]> {
        if self.input.is_empty() {
            return None;
        }
        Some(&self.input[..self.input.find_byte(b'\n').unwrap_or(self.input.len())])
    }

    /// The line it is on, with its LF.
    pub fn peek_raw(&self) -> Option<&'a [u8]> {
        self.peek().map(|line| &self.input[..(line.len() + 1).min(self.input.len())])
    }

    /// As `peek`, and goes on to the next line.
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.peek()?;
        self.input = self.input.get(line.len() + 1..).unwrap_or_default();
        self.number += 1;
        Some(line)
    }

    /// True where nothing but blanks follows.
    pub fn is_at_end(&self) -> bool {
        self.input.trim_ascii().is_empty()
    }

    /// The place one line below, for looking ahead.
    pub fn below(&self) -> Self {
        let mut below = self.clone();
        below.next();
        below
    }

    /// True on the last line with anything on it.
    pub fn is_last(&self) -> bool {
        self.below().is_at_end()
    }

    /// Number of the line it is on, counted from 1.
    pub fn number(&self) -> usize {
        self.number
    }
}

/// Reads every file of a patch. Prose before, between and after is skipped, as git does.
///
/// # Errors
/// `patch_invalid`, with the line, if something starts as a patch and does not go on as one; `patch_unsupported` for
/// the patch of another program; `size_limit_exceeded` beyond [`limits`]. An input without any patch gives no files.
pub fn parse(input: &[u8]) -> Result<Vec<FilePatch<'_>>> {
    let mut cursor = Cursor { input, number: 1 };
    let mut files: Vec<FilePatch<'_>> = Vec::new();
    let (mut stage, mut hunks) = (0, 0);
    // What a mail says above its `---` may look like anything.
    let mut is_message = false;
    while let Some(line) = cursor.peek() {
        if mail::starts_commit(line, cursor.below().peek().unwrap_or_default()) {
            // A series: what follows builds on what came before.
            stage += usize::from(files.last().is_some_and(|file| file.stage == stage));
            is_message = line.starts_with(b"From ");
        }
        let mut file = if line.starts_with(b"diff --git ") {
            header::git(&mut cursor)?
        } else if line.starts_with(b"--- ") && starts_file(&cursor) {
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
            return Err(too_many(cursor.number(), hunks > limits::HUNKS));
        }
        files.push(file);
    }
    Ok(files)
}

fn body<'a>(cursor: &mut Cursor<'a>, file: &mut FilePatch<'a>) -> Result<()> {
    while let Some(line) = cursor.peek() {
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
                return Err(too_many(cursor.number(), true));
            }
        } else if file.hunks.is_empty() && line.trim_end() == b"GIT binary patch" {
            cursor.next();
            let Some(forward) = block(cursor, Half::Forward)? else {
                return Err(invalid(cursor.number(), "the binary patch has no data")
                    .hint("make the patch again with `git diff --binary`"));
            };
            file.binary = Some((Some(forward), block(cursor, Half::Backward)?));
            return Ok(());
        } else if file.hunks.is_empty() && is_binary_remark(line) {
            file.content_missing = true;
            cursor.next();
            return Ok(());
        } else if let Some(hunk) =
            below_space(cursor).filter(|_| !file.hunks.is_empty() || file.new.is_some())
        {
            *cursor = hunk;
        } else {
            break;
        }
    }
    Ok(())
}

/// The next hunk, if there are only empty lines before it. Models put them between hunks, or leave
/// the last empty line of one out of its counts; either way both hunks are of the same file.
fn below_space<'a>(cursor: &Cursor<'a>) -> Option<Cursor<'a>> {
    let mut below = cursor.clone();
    while below.peek()?.trim_ascii().is_empty() {
        below.next();
    }
    is_hunk(below.peek()?, below.below().peek().unwrap_or_default()).then_some(below)
}

/// Is `line`, with `next` below it, the first of a hunk rather than of a text?
fn is_hunk(line: &[u8], next: &[u8]) -> bool {
    let numbered =
        line.strip_prefix(b"@@ -").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit));
    let bare = line.starts_with(b"@@") && matches!(next.first(), Some(b' ' | b'+' | b'-'));
    numbered || bare
}

fn is_binary_remark(line: &[u8]) -> bool {
    (line.starts_with(b"Binary files ") || line.starts_with(b"Files "))
        && line.trim_end().ends_with(b" differ")
}

/// A `literal` or `delta` block with the empty line after it. Only after the backward half, at the
/// end of the input where that line is easily lost, may it be missing, if the data is all there.
fn block<'a>(cursor: &mut Cursor<'a>, half: Half) -> Result<Option<Block<'a>>> {
    let number = cursor.number();
    let Some(line) = cursor.peek() else { return Ok(None) };
    let line = line.trim_end();
    let (kind, size) = if let Some(size) = line.strip_prefix(b"literal ") {
        (binary::BlockKind::Literal, size)
    } else if let Some(size) = line.strip_prefix(b"delta ") {
        (binary::BlockKind::Delta, size)
    } else if !line.is_empty() && cursor.is_last() && is_begun(line) {
        return Err(cut_off(number));
    } else {
        return Ok(None);
    };
    let size = std::str::from_utf8(size).ok().and_then(|size| size.parse().ok());
    let Some(size) = size else {
        return Err(invalid(number, format!("'{}' has no sound size", excerpt(line))));
    };
    cursor.next();
    let start = cursor.input;
    let (mut used, mut ended) = (0, false);
    while let Some(line) = cursor.peek() {
        if line.trim_end().is_empty() {
            cursor.next();
            ended = true;
            break;
        }
        if !binary::is_line(line.trim_end()) {
            return Err(if cursor.is_last() {
                cut_off(cursor.number())
            } else {
                invalid(
                    cursor.number(),
                    format!("'{}' is not a line of a binary hunk", excerpt(line)),
                )
            });
        }
        used = (used + line.len() + 1).min(start.len());
        cursor.next();
    }
    let block = Block { kind, size, lines: &start[..used], number };
    if !ended && (half == Half::Forward || !block.is_whole(limits::FILE)) {
        return Err(cut_off(cursor.number().saturating_sub(1)));
    }
    Ok(Some(block))
}

/// Which of the two blocks of a binary change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Forward,
    Backward,
}

/// The start of a block's first line.
fn is_begun(line: &[u8]) -> bool {
    [&b"literal"[..], b"delta"].iter().any(|word| word.starts_with(line))
}

fn cut_off(number: usize) -> Error {
    invalid(number, "the patch ends in the middle of a binary change")
        .hint("it may have been cut off; make it again with `git diff --binary`")
}

/// Is the cursor on `--- ` with `+++ ` and `@@` in the lines after it, the last perhaps below space?
pub(super) fn starts_file(cursor: &Cursor<'_>) -> bool {
    let mut ahead = cursor.below();
    ahead.next().is_some_and(|line| line.starts_with(b"+++ "))
        && (ahead.peek().is_some_and(|line| line.starts_with(b"@@"))
            || below_space(&ahead).is_some())
}

/// What other programs print, and git in other forms.
fn refuse_other_forms(line: &[u8], cursor: &Cursor<'_>) -> Result<()> {
    if line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined ") {
        return Err(merge_diff(cursor.number()));
    }
    let next = cursor.below().peek().unwrap_or_default();
    let unsupported = |what: &str| unsupported(cursor.number(), what);
    if line.starts_with(b"***************") && next.starts_with(b"*** ") {
        return Err(unsupported("a context diff"));
    }
    if is_command(line) && (next.starts_with(b"< ") || next.starts_with(b"> ")) {
        return Err(unsupported("a diff without context"));
    }
    if line.trim_end() == b"# HG changeset patch" {
        return Err(unsupported("a patch of Mercurial"));
    }
    if line.starts_with(b"Index: ") && next.starts_with(b"=====") {
        return Err(unsupported("a patch of Subversion"));
    }
    if is_encoded(line) {
        return Err(unsupported("an encoded mail")
            .hint("let git decode it: `git mailinfo MESSAGE PATCH <MAIL`"));
    }
    if dialect::is_header(line) && !is_above_file(cursor.below()) {
        let what = format!("'{}' is of an envelope, beside a unified diff", excerpt(line));
        return Err(invalid(cursor.number(), what)
            .hint("send the envelope and the unified diff one after the other"));
    }
    if is_hunk(line, next) {
        return Err(invalid(cursor.number(), "a hunk without a file header above it")
            .hint("put '--- a/PATH' and '+++ b/PATH' above the first '@@'"));
    }
    Ok(())
}

/// Is it the header of a mail whose text is not what it looks like?
fn is_encoded(line: &[u8]) -> bool {
    const NAME: &[u8] = b"content-transfer-encoding:";
    let Some((name, encoding)) = line.split_at_checked(NAME.len()) else { return false };
    let is = |word: &[u8]| encoding.trim_ascii().eq_ignore_ascii_case(word);
    name.eq_ignore_ascii_case(NAME) && (is(b"base64") || is(b"quoted-printable"))
}

/// Is there nothing but space between here and the header of a file?
fn is_above_file(mut cursor: Cursor<'_>) -> bool {
    while cursor.peek().is_some_and(|line| line.trim_ascii().is_empty()) {
        cursor.next();
    }
    cursor.peek().is_some_and(|line| line.starts_with(b"diff --git ") || line.starts_with(b"--- "))
}

/// `10,12c10`, as plain `diff` prints.
fn is_command(line: &[u8]) -> bool {
    let range =
        |text: &[u8]| !text.is_empty() && text.iter().all(|b| b.is_ascii_digit() || *b == b',');
    let mut parts = line.trim_end().splitn(2, |b| matches!(b, b'a' | b'c' | b'd'));
    parts.next().is_some_and(range) && parts.next().is_some_and(range)
}

fn merge_diff(number: usize) -> Error {
    invalid(number, "this is the combined diff of a merge, which names no single change")
        .hint("take the diff against one parent: `git diff HEAD^1 HEAD`")
}

fn too_many(number: usize, hunks: bool) -> Error {
    let what = if hunks {
        format!("more than {} hunks", limits::HUNKS)
    } else {
        format!("more than {} files", limits::FILES)
    };
    Error::new(&general::SIZE_LIMIT, format!("the patch has {what} (at line {number})"))
        .with("line", number)
        .hint("split it into several patches")
}

/// `patch_unsupported` at a line of the patch.
pub(in crate::changeset) fn unsupported(number: usize, what: &str) -> Error {
    Error::new(&codes::PATCH_UNSUPPORTED, format!("line {number} of the patch: this is {what}"))
        .with("line", number)
        .hint("make the patch with `git diff`, or send the files themselves")
}

/// `patch_invalid` at a line of the patch.
pub(in crate::changeset) fn invalid(number: usize, what: impl std::fmt::Display) -> Error {
    Error::new(&codes::PATCH_INVALID, format!("line {number} of the patch: {what}"))
        .with("line", number)
}

/// The start of a line, for messages.
pub(in crate::changeset) fn excerpt(line: &[u8]) -> String {
    let line = line.trim_end();
    let text = line[..line.len().min(160)].to_str_lossy();
    if line.len() > 160 { format!("{text}…") } else { text.into_owned() }
}
