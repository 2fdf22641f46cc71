//! The syntax of an envelope.

use bstr::ByteSlice as _;

use super::{Chunk, Operation, OperationKind};
use crate::changeset::dialect::{Header, header};
use crate::changeset::limits;
use crate::changeset::unified::{
    HeaderName, LineKind, PatchLine, excerpt, invalid, names, starts_commit,
};
use crate::error::{Error, Result, codes as general};

const BEGIN: &[u8] = b"*** Begin Patch";
const ENVIRONMENT: &[u8] = b"*** Environment ID:";
const END: &[u8] = b"*** End Patch";

/// Accepted here-documents.
const COMMANDS: [&str; 2] = ["apply_patch <<", "applypatch <<"];
/// Shells that get the command as text.
const SHELLS: [&str; 4] = ["bash -lc \"", "bash -lc '", "bash -c \"", "sh -c '"];

/// The first header decides. An envelope around a unified diff is a unified diff, and so is a
/// commit whose message quotes an envelope.
pub fn is_envelope(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|b| *b == b'\n').peekable();
    let (mut begun, mut commit) = (false, false);
    while let Some(line) = lines.next() {
        if begun && header(line).is_some() {
            return !commit || !lines.any(|line| line.starts_with(b"diff --git "));
        }
        let next = lines.peek().copied().unwrap_or_default();
        begun |= line.trim() == BEGIN;
        commit |= starts_commit(line, next);
        if starts_unified(line, next) {
            return false;
        }
    }
    if begun {
        return true;
    }
    // An envelope without its first line is recognised, to report what is missing.
    bytes.split(|b| *b == b'\n').any(|line| header(line).is_some() || line.trim() == END)
}

/// True for the first line of a file, with `next` below it.
fn starts_unified(line: &[u8], next: &[u8]) -> bool {
    line.starts_with(b"diff --git ") || (line.starts_with(b"--- ") && next.starts_with(b"+++ "))
}

/// Refuses a shell command before the envelope, except `apply_patch` with a here-document. Nothing
/// is run, and a patch read in another directory than it was written for changes the wrong file.
///
/// # Errors
/// `patch_invalid`.
pub fn refuse_command(bytes: &[u8]) -> Result<()> {
    let mut lines = bytes.split(|b| *b == b'\n').peekable();
    let mut in_front = Vec::new();
    loop {
        let Some(line) = lines.next() else { return Ok(()) };
        let next = lines.peek().copied().unwrap_or_default();
        // A diff or commit is not a command.
        if starts_unified(line, next) || starts_commit(line, next) {
            return Ok(());
        }
        if line.trim() == BEGIN {
            break;
        }
        in_front.push(line.trim());
    }
    let names_it =
        |line: &&[u8]| line.contains_str("apply_patch") || line.contains_str("applypatch");
    if !in_front.iter().any(names_it) {
        return Ok(());
    }
    for (at, line) in in_front.iter().enumerate() {
        let is_command =
            line.contains_str("<<") || line.contains_str("&&") || line.starts_with(b"cd ");
        let line = line.strip_prefix(b"$ ").unwrap_or(line);
        let shell = SHELLS.iter().find_map(|shell| line.strip_prefix(shell.as_bytes()));
        let command = shell.unwrap_or(line);
        if is_command && !COMMANDS.iter().any(|start| command.starts_with(start.as_bytes())) {
            let what = format!("'{}' in front of the patch is not run", excerpt(line));
            return Err(invalid(at + 1, what).hint(
                "send the patch alone, from '*** Begin Patch' to '*** End Patch', with paths from the repository's top",
            ));
        }
    }
    Ok(())
}

/// Ignores a here-document or code fence around the envelope, and prose before it.
///
/// # Errors
/// `patch_invalid` with the line; `size_limit_exceeded` beyond [`limits`].
pub fn parse(bytes: &[u8]) -> Result<Vec<Operation<'_>>> {
    let mut lines = bytes.split(|b| *b == b'\n').enumerate().map(|(at, line)| (at + 1, line));
    let Some((_, begin)) = lines.by_ref().find(|(_, line)| line.trim() == BEGIN) else {
        return Err(invalid(1, "there is no '*** Begin Patch' line")
            .hint("start the patch with '*** Begin Patch' and end it with '*** End Patch'"));
    };
    // A transport wrote CRLF: no CR is part of the text.
    let crlf = begin.ends_with(b"\r");
    let mut parser = Parser { operations: Vec::new(), chunks: 0 };
    let mut ended = false;
    let indented = indented_end(bytes);
    for (number, line) in lines.by_ref() {
        // Codex names one of several machines; aye runs on this one.
        if parser.operations.is_empty() && line.starts_with(ENVIRONMENT) {
            continue;
        }
        if indented == Some(number) {
            ended = true;
            break;
        }
        let line = if crlf { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
        if parser.line(number, line)? {
            ended = true;
            break;
        }
    }
    if !ended {
        let last = bytes.split(|b| *b == b'\n').count();
        return Err(invalid(
            last,
            "the patch stops without '*** End Patch', so something may be missing",
        )
        .hint("send the whole patch, with '*** End Patch' as its last line"));
    }
    let mut rest = lines.peekable();
    while let Some((number, line)) = rest.next() {
        let next = rest.peek().map_or(&b""[..], |(_, line)| line);
        if line.trim_start().starts_with(b"*** ") || starts_unified(line, next) {
            return Err(invalid(
                number,
                format!("'{}' comes after '*** End Patch'", excerpt(line)),
            )
            .hint("put all files between one '*** Begin Patch' and one '*** End Patch'"));
        }
    }
    parser.finish()
}

/// An indented end counts only without another end: in an update it looks like context.
fn indented_end(bytes: &[u8]) -> Option<usize> {
    let mut found = None;
    for (at, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if line.trim_end() == END {
            return None;
        }
        if line.trim() == END {
            found = Some(at + 1);
        }
    }
    found
}

struct Parser<'a> {
    operations: Vec<Operation<'a>>,
    chunks: usize,
}

impl<'a> Parser<'a> {
    /// True at the end of the envelope.
    fn line(&mut self, number: usize, line: &'a [u8]) -> Result<bool> {
        let updating = matches!(
            self.operations.last(),
            Some(Operation { kind: OperationKind::Update { .. }, .. })
        );
        // In an update an indented line is always context.
        if line.trim_end() == END || (!updating && line.trim() == END) {
            return Ok(true);
        }
        if (!updating || line.starts_with(b"***"))
            && let Some(header) = header(line)
        {
            self.begin(number, &header)?;
            return Ok(false);
        }
        let Some(operation) = self.operations.last_mut() else {
            if line.trim().is_empty() {
                return Ok(false);
            }
            return Err(unexpected(number, line));
        };
        match &mut operation.kind {
            OperationKind::Add(lines) => match line.strip_prefix(b"+") {
                Some(text) => lines.push(text),
                None if line.trim().is_empty() => {}
                None => {
                    return Err(invalid(
                        number,
                        format!("'{}' in a new file does not start with '+'", excerpt(line)),
                    )
                    .hint("every line of an added file starts with '+'"));
                }
            },
            OperationKind::Delete if line.trim().is_empty() => {}
            OperationKind::Delete => return Err(unexpected(number, line)),
            OperationKind::Update { to, chunks } => {
                let before = chunks.len();
                update(to, chunks, number, line)?;
                self.chunks += chunks.len() - before;
            }
        }
        if self.chunks > limits::HUNKS {
            return Err(too_many(number, "chunks", limits::HUNKS));
        }
        Ok(false)
    }

    fn begin(&mut self, number: usize, header: &Header<'a>) -> Result<()> {
        let (path, kind) = match header {
            Header::Add(path) => (*path, OperationKind::Add(Vec::new())),
            Header::Delete(path) => (*path, OperationKind::Delete),
            Header::Update(path) => (*path, OperationKind::Update { to: None, chunks: Vec::new() }),
        };
        if path.is_empty() {
            return Err(invalid(number, "a file header without a path"));
        }
        if self.operations.len() >= limits::FILES {
            return Err(too_many(number, "files", limits::FILES));
        }
        self.operations.push(Operation { number, path, kind });
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Operation<'a>>> {
        if self.operations.is_empty() {
            return Err(invalid(1, "the envelope is empty").hint(
                "name files with '*** Add File: PATH', '*** Update File: PATH' or \
                 '*** Delete File: PATH'",
            ));
        }
        for operation in &mut self.operations {
            let OperationKind::Update { to, chunks } = &mut operation.kind else { continue };
            if chunks.first().is_some_and(|first| is_unified_header(first, operation.path, *to)) {
                chunks.remove(0);
            }
            // A final `@@`, or only empty lines, mean nothing.
            chunks.retain(|chunk| chunk.lines.len() > chunk.loose_tail);
            if chunks.is_empty() && to.is_none() {
                return Err(invalid(
                    operation.number,
                    format!("the update of '{}' changes nothing", excerpt(operation.path)),
                )
                .hint("add lines that start with '-' or '+', or a '*** Move to: PATH' line"));
            }
        }
        Ok(self.operations)
    }
}

/// Models add `--- a/PATH` and `+++ b/PATH` below a header out of habit.
fn is_unified_header(chunk: &Chunk<'_>, path: &[u8], to: Option<&[u8]>) -> bool {
    let [old, new] = chunk.lines.as_slice() else { return false };
    let names = |line: &PatchLine<'_>, kind, sign: &[u8], path: &[u8]| {
        let text = line.bytes.strip_prefix(sign).filter(|_| line.kind == kind);
        match text.and_then(names::side) {
            Some(HeaderName::Name(name)) => name == path || names::strip(&name, 1) == Some(path),
            _ => false,
        }
    };
    chunk.anchors.is_empty()
        && names(old, LineKind::Removed, b"-- ", path)
        && names(new, LineKind::Added, b"++ ", to.unwrap_or(path))
}

fn update<'a>(
    to: &mut Option<&'a [u8]>,
    chunks: &mut Vec<Chunk<'a>>,
    number: usize,
    line: &'a [u8],
) -> Result<()> {
    if let Some(rest) = line.strip_prefix(b"***") {
        return directive(to, chunks, number, rest.trim(), line);
    }
    if let Some(rest) = line.strip_prefix(b"@@") {
        if chunks.last().is_none_or(|chunk| !chunk.lines.is_empty() || chunk.at_end) {
            chunks.push(Chunk { number, ..Chunk::default() });
        }
        if let (Some(anchor), Some(chunk)) = (anchor(rest), chunks.last_mut()) {
            chunk.anchors.push(anchor);
        }
        return Ok(());
    }
    let (kind, bytes) = match line.first() {
        None => (LineKind::Context, line),
        Some(b' ') => (LineKind::Context, &line[1..]),
        Some(b'-') => (LineKind::Removed, &line[1..]),
        Some(b'+') => (LineKind::Added, &line[1..]),
        Some(b'\\') if line.starts_with(b"\\ No newline") => return Ok(()),
        Some(_) => return Err(unexpected(number, line)),
    };
    if chunks.last().is_none_or(|chunk| chunk.at_end) {
        // Empty lines between sections are ignored; others start a chunk.
        if line.is_empty() {
            return Ok(());
        }
        chunks.push(Chunk { number, ..Chunk::default() });
    }
    if let Some(chunk) = chunks.last_mut() {
        chunk.lines.push(PatchLine { kind, bytes });
        chunk.loose_tail = if line.is_empty() { chunk.loose_tail + 1 } else { 0 };
    }
    Ok(())
}

/// `rest` follows the stars.
fn directive<'a>(
    to: &mut Option<&'a [u8]>,
    chunks: &mut [Chunk<'a>],
    number: usize,
    rest: &'a [u8],
    line: &[u8],
) -> Result<()> {
    if let Some(path) = rest.strip_prefix(b"Move to:") {
        if to.is_some() || !chunks.is_empty() || path.trim().is_empty() {
            return Err(invalid(
                number,
                "'*** Move to: PATH' belongs once, right below its file header",
            ));
        }
        *to = Some(path.trim());
        return Ok(());
    }
    match chunks.last_mut() {
        Some(chunk) if rest == b"End of File" => {
            // Empty lines right above it are content.
            (chunk.at_end, chunk.loose_tail) = (true, 0);
            Ok(())
        }
        _ => Err(unexpected(number, line)),
    }
}

/// `None` for an empty `@@`, and for line numbers of a unified diff, which mean nothing here.
fn anchor(rest: &[u8]) -> Option<&[u8]> {
    let text = rest.strip_prefix(b" ").unwrap_or(rest);
    let numbers = text.strip_prefix(b"-").is_some_and(|rest| {
        let range = rest.split_str("@@").next().unwrap_or_default();
        range.iter().all(|b| b.is_ascii_digit() || b" ,+".contains(b)) && range.contains(&b'+')
    });
    let bare = text.trim().is_empty() || text.trim() == b"@@";
    (!bare && !numbers).then(|| text.strip_suffix(b" @@").unwrap_or(text))
}

fn unexpected(number: usize, line: &[u8]) -> Error {
    invalid(number, format!("'{}' is not expected here", excerpt(line))).hint(
        "lines of an update start with ' ', '-', '+' or '@@'; files start with \
         '*** Add File:', '*** Update File:' or '*** Delete File:'",
    )
}

fn too_many(number: usize, what: &str, limit: usize) -> Error {
    Error::new(&general::SIZE_LIMIT, format!("the patch has more than {limit} {what}"))
        .with("line", number)
        .hint("split it into several patches")
}
