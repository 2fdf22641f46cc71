//! File headers: git's extended ones, and GNU diff's `---`/`+++` pair.

use bstr::ByteSlice as _;

use super::FilePatch;
use super::cursor::Cursor;
use super::names::{self, HeaderName};
use super::refusal::{excerpt, invalid};
use crate::error::{Error, Result};

/// `diff --git` and its extended header.
pub(super) fn git<'a>(cursor: &mut Cursor<'a>) -> Result<FilePatch<'a>> {
    let number = cursor.number();
    let first = cursor.next().unwrap_or_default();
    let mut file = FilePatch {
        number,
        git: first.strip_prefix(b"diff --git ").map(trim),
        crlf: first.ends_with(b"\r"),
        ..FilePatch::default()
    };
    while let Some(line) = cursor.peek() {
        // An empty line above the names.
        let below = cursor.below();
        let is_space =
            line.trim_ascii().is_empty() && below.is_on(b"--- ") && below.below().is_on(b"+++ ");
        if !is_space && !extended(line, cursor, &mut file)? {
            break;
        }
        cursor.next();
    }
    if file.from.is_some() != file.to.is_some() {
        return Err(invalid(number, "a rename or copy needs both its 'from' and its 'to' line"));
    }
    if file.old.is_some() != file.new.is_some() {
        return Err(invalid(number, "a file header needs both its '---' and its '+++' line"));
    }
    Ok(file)
}

/// The caller has seen a hunk below.
pub(super) fn traditional<'a>(cursor: &mut Cursor<'a>) -> Result<FilePatch<'a>> {
    let number = cursor.number();
    let mut file = FilePatch { number, ..FilePatch::default() };
    for (prefix, slot) in [(&b"--- "[..], &mut file.old), (&b"+++ "[..], &mut file.new)] {
        let number = cursor.number();
        let line = cursor.next().unwrap_or_default();
        let rest = line.strip_prefix(prefix).unwrap_or_default();
        *slot = Some(names::side(rest).ok_or_else(|| bad_name(number, line))?);
        file.crlf = line.ends_with(b"\r");
    }
    Ok(file)
}

/// False if `line` is not part of the header.
fn extended<'a>(line: &'a [u8], cursor: &Cursor<'a>, file: &mut FilePatch<'a>) -> Result<bool> {
    let number = cursor.number();
    let line = trim(line);
    let after = |prefix: &str| line.strip_prefix(prefix.as_bytes());
    let whole = |text: &[u8]| names::whole(text).ok_or_else(|| bad_name(number, line));
    let mode = |text: &[u8]| mode(text).ok_or_else(|| bad_mode(number, line));
    if let Some(text) = after("--- ") {
        let side = names::side(text).ok_or_else(|| bad_name(number, line))?;
        if file.old.is_some() || !belongs(&side, file) {
            return Ok(false);
        }
        file.old = Some(side);
    } else if let Some(text) = after("+++ ") {
        if file.new.is_some() {
            return Ok(false);
        }
        file.new = Some(names::side(text).ok_or_else(|| bad_name(number, line))?);
    } else if let Some(text) = after("rename from ").or_else(|| after("rename old ")) {
        file.from = Some(whole(text)?);
    } else if let Some(text) = after("rename to ").or_else(|| after("rename new ")) {
        file.to = Some(whole(text)?);
    } else if let Some(text) = after("copy from ") {
        (file.from, file.copy) = (Some(whole(text)?), true);
    } else if let Some(text) = after("copy to ") {
        (file.to, file.copy) = (Some(whole(text)?), true);
    } else if let Some(text) = after("old mode ") {
        file.old_mode = Some(mode(text)?);
    } else if let Some(text) = after("new mode ") {
        file.new_mode = Some(mode(text)?);
    } else if let Some(text) = after("new file mode ") {
        (file.new_mode, file.creates) = (Some(mode(text)?), true);
    } else if let Some(text) = after("deleted file mode ") {
        (file.old_mode, file.deletes) = (Some(mode(text)?), true);
    } else if let Some(text) = after("index ") {
        index(text, file).ok_or_else(|| bad_mode(number, line))?;
    } else if let Some(text) = after("similarity index ") {
        file.alters = text != b"100%";
    } else if after("remerge ").is_some() {
        return Err(invalid(number, "this is the diff of a merge with conflicts done again")
            .hint("take the diff against one parent: `git diff HEAD^1 HEAD`"));
    } else {
        return Ok(after("dissimilarity index ").is_some());
    }
    Ok(true)
}

/// True unless a file without git's header begins at the `---` line. Names with the same last
/// component belong together, whatever their prefixes.
fn belongs(side: &HeaderName, file: &FilePatch<'_>) -> bool {
    let HeaderName::Name(name) = side else { return true };
    let last = |name: &[u8]| name.rsplit(|b| *b == b'/').next().map(<[u8]>::to_vec);
    if let Some(from) = &file.from {
        return last(from) == last(name);
    }
    let mut pairs = file.git.map(names::pairs).unwrap_or_default().into_iter();
    pairs.any(|(old, new)| last(&old) == last(name) || last(&new) == last(name))
}

/// `1234..5678 100644`; a line without two dots is ignored.
fn index<'a>(text: &'a [u8], file: &mut FilePatch<'a>) -> Option<()> {
    let (ids, rest) = text.split_once_str(" ").unwrap_or((text, b""));
    if let Some((old, new)) = ids.split_once_str("..")
        && old.iter().chain(new).all(u8::is_ascii_hexdigit)
    {
        file.index = Some((old, new));
    }
    if !rest.is_empty() {
        file.index_mode = Some(mode(rest)?);
    }
    Some(())
}

fn mode(text: &[u8]) -> Option<u32> {
    u32::from_str_radix(text.to_str().ok()?, 8).ok()
}

fn trim(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn bad_name(number: usize, line: &[u8]) -> Error {
    invalid(number, format!("'{}' names no file", excerpt(line)))
        .hint("close the quotes, and keep names under 4096 bytes")
}

fn bad_mode(number: usize, line: &[u8]) -> Error {
    invalid(number, format!("'{}' has no sound file mode", excerpt(line)))
        .hint("use 100644 or 100755")
}
