//! What is said of a hunk that fits nowhere, or in several places.

use std::collections::HashSet;

use crate::changeset::RepoPath;
use crate::changeset::hunks::Text;
use crate::changeset::limits::codes;
use crate::changeset::locate::{Pass, closest, differing, key};
use crate::changeset::unified::excerpt;
use crate::error::Error;

/// `hunk_ambiguous`, naming the lines where a hunk or chunk could go (0-based `starts`).
pub(in crate::changeset) fn ambiguous(
    path: &RepoPath,
    hunk: usize,
    number: usize,
    starts: &[usize],
) -> Error {
    let lines: Vec<usize> = starts.iter().map(|start| start + 1).collect();
    let shown: Vec<String> = lines.iter().map(usize::to_string).collect();
    Error::new(
        &codes::HUNK_AMBIGUOUS,
        format!(
            "hunk {hunk} of {} (line {number} of the patch) fits in several places: lines {}",
            path.display(),
            shown.join(", ")
        ),
    )
    .with("path", path.display().to_string())
    .with("hunk", hunk)
    .with("line", number)
    .with("candidates", lines)
    .hint("add context lines until only one place fits")
}

/// `hunk_failed`: which hunk, the first line that differs at the closest candidate, and where
/// that is. `pattern` are the lines looked for, `expected` the 0-based line they should be on.
pub(in crate::changeset) fn failed(
    path: &RepoPath,
    text: &Text<'_>,
    pattern: &[&[u8]],
    expected: usize,
    hunk: usize,
    number: usize,
) -> Error {
    let candidate = closest(text, pattern, expected);
    let (start, differs, is_missing) = match &candidate {
        Some(candidate) => (candidate.start, candidate.differs, false),
        None => match missing(text, pattern) {
            Some(at) => (expected, at, true),
            None => (expected, differing(text, pattern, expected), false),
        },
    };
    let wanted = excerpt(pattern.get(differs).copied().unwrap_or_default());
    let line = start + differs;
    let found = (line < text.len()).then(|| excerpt(text.line(line)));
    let seen = match &found {
        _ if is_missing => "no line of the file is that".to_owned(),
        // A message shows no spaces at the end.
        Some(same) if *same == wanted => {
            format!("line {} has other trailing whitespace, or another line ending", line + 1)
        }
        Some(found) => format!("line {} is '{found}'", line + 1),
        None => format!("the file ends at line {}", text.len()),
    };
    let error = Error::new(
        &codes::HUNK_FAILED,
        format!(
            "hunk {hunk} of {} (line {number} of the patch) does not fit: expected '{wanted}', but {seen}",
            path.display()
        ),
    )
    .with("path", path.display().to_string())
    .with("hunk", hunk)
    .with("line", number)
    .with("expected", wanted)
    .with("found", found)
    .with("file_line", line + 1);
    match candidate {
        Some(candidate) => error
            .with("closest_line", candidate.start + 1)
            .with("closest_matching_lines", candidate.matched)
            .hint(format!(
                "the closest place starts at line {}; read the file again and create the patch again",
                candidate.start + 1
            )),
        None => error.hint("none of its lines shows where it belongs; read the file again"),
    }
}

/// The first line of `pattern` that no line of `text` is, even with other whitespace around it.
fn missing(text: &Text<'_>, pattern: &[&[u8]]) -> Option<usize> {
    let lines: HashSet<_> =
        (0..text.len()).map(|at| key(text.line(at), Pass::Blanks, at == 0)).collect();
    pattern.iter().position(|line| !lines.contains(&key(line, Pass::Blanks, true)))
}
