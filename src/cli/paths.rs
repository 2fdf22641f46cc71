//! Paths and content from the command line.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, IsTerminal as _, Read as _};
use std::path::Path;

use bstr::ByteSlice as _;

use super::Context;
use crate::changeset::RepoPath;
use crate::changeset::size::setting_for;
use crate::error::{Error, Result, codes};
use crate::repository::Repository;

/// Paths are relative to [`Context::path_base`], or absolute; a directory may end with `/`.
///
/// # Errors
/// `path_invalid`, also for a missing directory; `path_in_git_dir`.
pub fn typed(context: &Context, repository: &Repository, path: &OsStr) -> Result<RepoPath> {
    let bytes = <[u8]>::from_os_str(path).ok_or_else(|| {
        Error::new(&codes::INVALID_UTF8, "a path cannot be read as text").hint("rename the file")
    })?;
    let base = context.path_base(repository);
    let inside = Some(Path::new(path)).filter(|path| path.is_absolute());
    let inside = inside.and_then(|path| repository.relative_to_top(path));
    let prefix = match inside {
        Some(_) => Vec::new(),
        None => repository.prefix(&base).unwrap_or_default(),
    };
    let mut above: &[u8] = prefix.strip_suffix(b"/").unwrap_or(&prefix);
    let mut rest = inside.as_deref().unwrap_or(bytes);
    if rest.len() > 1 && rest.ends_with(b"/") {
        let without = rest.trim_end_with(|end| end == '/');
        match base.join(path).is_dir() {
            true => rest = without,
            // Another fault of the path comes first.
            false if RepoPath::new(without).is_ok() => return Err(no_directory(path)),
            false => {}
        }
    }
    loop {
        if let Some(shorter) = rest.strip_prefix(b"./") {
            rest = shorter;
        } else if let Some(shorter) = rest.strip_prefix(b"../").filter(|_| !above.is_empty()) {
            above = &above[..above.rfind_byte(b'/').unwrap_or(0)];
            rest = shorter;
        } else {
            break;
        }
    }
    if rest == b".." && !above.is_empty() {
        above = &above[..above.rfind_byte(b'/').unwrap_or(0)];
        rest = b".";
    }
    if rest == b"." && !above.is_empty() {
        return RepoPath::new(above);
    }
    // Refuse the path in the words that were typed.
    if above.is_empty() || rest.is_empty() || rest[0] == b'/' {
        return RepoPath::new(rest).map_err(|error| {
            if rest == bytes { error } else { RepoPath::new(bytes).err().unwrap_or(error) }
        });
    }
    RepoPath::new(rest)?;
    RepoPath::new([above, b"/", rest].concat())
}

fn no_directory(path: &OsStr) -> Error {
    let shown = path.to_string_lossy().into_owned();
    let message = format!("there is no directory '{shown}'");
    Error::new(&crate::changeset::codes::PATH_INVALID, message)
        .with("path", shown)
        .hint("paths are relative to the directory you are in (or to -C)")
}

/// Reads standard input for `-`.
///
/// # Errors
/// `size_limit_exceeded`, `file_not_found`.
pub fn content(context: &Context, path: &OsStr, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let shown = path.to_string_lossy().into_owned();
    let mut size = 0;
    let read = if path == "-" {
        std::io::stdin().lock().take(limit + 1).read_to_end(&mut bytes)
    } else {
        let path = context.directory.join(Path::new(path));
        std::fs::File::open(path).and_then(|file| {
            size = file.metadata().map_or(0, |facts| facts.len());
            file.take(limit + 1).read_to_end(&mut bytes)
        })
    };
    let hint = "give a file that exists, or - for standard input";
    read.map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            Error::new(&crate::changeset::codes::FILE_NOT_FOUND, format!("no file '{shown}'"))
                .hint(hint)
        }
        ErrorKind::IsADirectory => {
            Error::new(&crate::changeset::codes::DIRECTORY, format!("'{shown}' is a directory"))
                .hint(hint)
        }
        _ => Error::io(format_args!("read {shown}"), &error),
    })?;
    if bytes.len() as u64 > limit {
        let name = if path == "-" { "standard input".to_owned() } else { format!("'{shown}'") };
        return Err(Error::new(
            &codes::SIZE_LIMIT,
            format!("{name} is over the limit of {limit} bytes"),
        )
        .with("limit", limit)
        .hint(format!(
            "give less at once; `git config aye.maxFileSize {}` raises the limit of a file",
            setting_for(size.max(bytes.len() as u64))
        )));
    }
    Ok(bytes)
}

/// In bytes.
const MOST_REQUEST: u64 = 64 << 20;

/// Reads standard input for `-` and without an argument.
///
/// # Errors
/// `usage` with `hint` if nothing is piped in.
pub fn text_or_input(context: &Context, text: Option<&str>, hint: &str) -> Result<Vec<u8>> {
    match text {
        Some(text) if text != "-" => Ok(text.as_bytes().to_vec()),
        None if std::io::stdin().is_terminal() => {
            Err(Error::new(&codes::USAGE, "nothing is given, or piped in").hint(hint.to_owned()))
        }
        _ => content(context, "-".as_ref(), MOST_REQUEST),
    }
}

pub fn bytes(text: &OsString) -> Vec<u8> {
    <[u8]>::from_os_str(text)
        .map_or_else(|| text.to_string_lossy().into_owned().into(), <[u8]>::to_vec)
}
