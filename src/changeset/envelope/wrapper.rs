//! The command in front of an envelope, as agents write it for a shell: `cd DIR && apply_patch <<'EOF'`.
//!
//! Nothing is run, so what such a command would do besides is either done here or refused: a patch that
//! is read in another directory than it was written for changes the wrong file without a word.

use bstr::ByteSlice as _;

use super::parse::{BEGIN, starts_unified};
use crate::changeset::unified::{excerpt, invalid, starts_commit};
use crate::changeset::{RepoPath, Snapshot, codes};
use crate::error::{Error, Result};

/// What the command is called.
const NAMES: [&str; 2] = ["apply_patch", "applypatch"];
/// Shells that take a command as text.
const SHELLS: [&str; 4] = ["bash", "sh", "zsh", "dash"];
/// Words by which a shell goes somewhere else.
const MOVES: [&str; 3] = ["cd", "pushd", "chdir"];

const SEND: &str = "send the patch alone, from '*** Begin Patch' to '*** End Patch', with paths from the \
                    repository's top; of a command in front, `apply_patch <<'EOF'` and \
                    `cd DIR && apply_patch <<'EOF'` are understood";

/// The directory in which the paths of an envelope in `bytes` are meant, if a command in front of it
/// says so, from the top of `files`.
///
/// # Errors
/// `patch_invalid` for other words in front of `apply_patch`; `path_invalid` for a directory that is
/// not inside the repository.
pub fn directory(bytes: &[u8], files: &dyn Snapshot) -> Result<Option<RepoPath>> {
    let mut lines = bytes.split(|b| *b == b'\n').enumerate().peekable();
    let (mut command, mut other, mut begun) = (None, None, false);
    while let Some((at, line)) = lines.next() {
        let next = lines.peek().map_or(&b""[..], |(_, line)| line);
        if starts_unified(line, next) || starts_commit(line, next) {
            return Ok(None);
        }
        let line = line.trim();
        begun = line == BEGIN;
        if begun {
            break;
        }
        if let Some(text) = command_in(line) {
            command = Some((at + 1, line, text));
        } else if other.is_none() && (goes_on(line) || starts_with_move(line)) {
            other = Some((at + 1, line));
        }
    }
    // Without a command all that stands in front is prose.
    let Some((number, line, text)) = command.filter(|_| begun) else { return Ok(None) };
    if let Some((number, line)) = other.filter(|(before, _)| *before < number) {
        return Err(refused(number, line));
    }
    if is_name(&text) {
        return Ok(None);
    }
    match target(&text) {
        Some(directory) => inside(&directory, files),
        None if names_it(line) || joins(&text) || starts_with_move(&text) => {
            Err(refused(number, line))
        }
        None => Ok(None),
    }
}

/// The command in `line` that an envelope below it goes to, without the shell around it and the
/// here-document behind it.
fn command_in(line: &[u8]) -> Option<Vec<u8>> {
    let line = line.strip_prefix(b"$ ").unwrap_or(line);
    let names_it = names_it(line);
    let here =
        line.find(b"<<").filter(|at| names_it || word_of_document(&line[at + 2..]).is_some());
    if here.is_none() && !(names_it && (line.contains_str("&&") || starts_with_move(line))) {
        return None;
    }
    let command = line[..here.unwrap_or(line.len())].trim();
    Some(unwrapped(command).unwrap_or_else(|| command.to_vec()))
}

/// The word that ends a here-document, as it stands behind `<<`; `None` if it is none.
fn word_of_document(text: &[u8]) -> Option<&[u8]> {
    let word = text.strip_prefix(b"-").unwrap_or(text).trim();
    let bare = word.trim_with(|c| matches!(c, '\'' | '"' | '\\'));
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    (!bare.is_empty() && bare.iter().all(is_word)).then_some(bare)
}

/// The directory of `cd DIRECTORY && apply_patch`.
fn target(command: &[u8]) -> Option<Vec<u8>> {
    let rest = command.strip_prefix(b"cd").filter(|rest| rest.starts_with(b" "))?;
    let (directory, rest) = word(rest.trim_start())?;
    is_name(rest.trim_start().strip_prefix(b"&&")?.trim()).then_some(directory)
}

fn names_it(line: &[u8]) -> bool {
    NAMES.iter().any(|name| line.contains_str(name))
}

fn is_name(text: &[u8]) -> bool {
    NAMES.iter().any(|name| text == name.as_bytes())
}

fn joins(text: &[u8]) -> bool {
    ["&&", "||", ";", "|"].iter().any(|sign| text.contains_str(sign))
}

/// Does a command go on below `line`, which is no row of a table?
fn goes_on(line: &[u8]) -> bool {
    let ends = ["\\", "&&", "||", "|"];
    !line.starts_with(b"|") && ends.iter().any(|end| line.ends_with(end.as_bytes()))
}

fn starts_with_move(line: &[u8]) -> bool {
    let first = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    MOVES.iter().any(|word| first == word.as_bytes())
}

/// The command that a shell is given as text, `bash -lc "…`, with the quote taken off.
fn unwrapped(command: &[u8]) -> Option<Vec<u8>> {
    let mut words = command.splitn(3, u8::is_ascii_whitespace);
    let (shell, flag, text) = (words.next()?, words.next()?, words.next()?.trim_start());
    let shell = shell.rsplit(|b| *b == b'/').next()?;
    let is_shell = SHELLS.iter().any(|known| shell == known.as_bytes());
    if !is_shell || !matches!(flag, b"-c" | b"-lc" | b"-ic" | b"-lic") {
        return None;
    }
    match text.split_first()? {
        (b'"', text) => Some(text.replace(b"\\\"", b"\"")),
        (b'\'', text) => Some(text.to_vec()),
        _ => None,
    }
}

/// The first word of `text`, plain or in quotes, and what follows; `None` where a shell would put
/// something in its place.
fn word(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (quote, text) = match text.first()? {
        quote @ (b'\'' | b'"') => (Some(*quote), &text[1..]),
        _ => (None, text),
    };
    let end = match quote {
        Some(quote) => text.find_byte(quote)?,
        None => text.find_byteset(b" \t&;|").unwrap_or(text.len()),
    };
    let (word, rest) = (&text[..end], &text[end + usize::from(quote.is_some())..]);
    let special: &[u8] = match quote {
        Some(b'\'') => b"",
        Some(_) => b"$`\\",
        None => b"$`\\'\"*?[]{}()<>!#",
    };
    let is_home = quote.is_none() && word.starts_with(b"~");
    let is_sound = !word.is_empty() && !is_home && word.find_byteset(special).is_none();
    is_sound.then(|| (word.to_vec(), rest))
}

/// `directory` as a path from the top of `files`; `None` is the top.
fn inside(directory: &[u8], files: &dyn Snapshot) -> Result<Option<RepoPath>> {
    // The top itself is above all that it leads to.
    let file = files.below_top(&[directory, b"/f"].concat());
    let directory = match file.as_deref().and_then(|file| file.strip_suffix(b"f")) {
        Some(directory) => directory,
        None if directory.starts_with(b"/") => return RepoPath::new(directory).map(Some),
        None => directory,
    };
    let names = directory.split(|b| *b == b'/').filter(|name| !matches!(*name, b"" | b"."));
    let names: Vec<&[u8]> = names.collect();
    if names.is_empty() {
        return Ok(None);
    }
    if directory == b"-" || names.contains(&&b".."[..]) {
        let shown = excerpt(directory);
        return Err(Error::new(
            &codes::PATH_INVALID,
            format!("'cd {shown}' in front of the patch leads out of the repository, or may"),
        )
        .with("path", shown)
        .hint(SEND));
    }
    RepoPath::new(names.join(&b'/')).map(Some)
}

fn refused(number: usize, line: &[u8]) -> Error {
    invalid(number, format!("'{}' in front of the patch is not run", excerpt(line))).hint(SEND)
}
