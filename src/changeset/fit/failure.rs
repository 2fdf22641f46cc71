//! Errors for a hunk that fits nowhere, or in several places.

use std::collections::HashSet;
use std::fmt::Display;

use crate::changeset::RepoPath;
use crate::changeset::hunks::Text;
use crate::changeset::limits::codes;
use crate::changeset::locate::{Pass, closest, first_differing, key};
use crate::changeset::unified::excerpt;
use crate::error::{Code, Error};

#[derive(Clone, Copy)]
pub(in crate::changeset) struct HunkName<'a> {
    pub path: &'a RepoPath,
    /// From 1 in the file.
    pub hunk: usize,
    /// Line of the patch, from 1.
    pub number: usize,
}

impl HunkName<'_> {
    /// `what` continues after the hunk's name.
    pub fn refuse(&self, code: &'static Code, what: impl Display) -> Error {
        let Self { path, hunk, number } = self;
        let path = path.display().to_string();
        Error::new(code, format!("hunk {hunk} of {path} (line {number} of the patch) {what}"))
            .with("path", path)
            .with("hunk", *hunk)
            .with("line", *number)
    }

    /// `starts` is 0-based.
    pub fn ambiguous(&self, starts: &[usize]) -> Error {
        let lines: Vec<usize> = starts.iter().map(|start| start + 1).collect();
        let shown: Vec<String> = lines.iter().map(usize::to_string).collect();
        let what = format!("fits in several places: lines {}", shown.join(", "));
        self.refuse(&codes::HUNK_AMBIGUOUS, what)
            .with("candidates", lines)
            .hint("add context lines until only one place fits")
    }

    /// The first difference at the closest candidate. `expected` is the 0-based line where
    /// `pattern` should be.
    pub fn failed(&self, text: &Text<'_>, pattern: &[&[u8]], expected: usize) -> Error {
        let candidate = closest(text, pattern, expected);
        if let Some(there) = candidate.as_ref().filter(|place| place.fits) {
            let line = there.start + 1;
            return self
                .refuse(
                    &codes::HUNK_FAILED,
                    format!("fits at line {line}, where it may not go"),
                )
                .with("file_line", line)
                .hint(
                    "write hunks from the top of the file to its end, each line in one hunk only; a hunk without \
                     lines of context above or below is the start or the end of the file",
                );
        }
        let nowhere = candidate.is_none().then(|| missing(text, pattern)).flatten();
        let (start, differs) = match &candidate {
            Some(candidate) => (candidate.start, candidate.differs),
            None => (expected, nowhere.unwrap_or_else(|| first_differing(text, pattern, expected))),
        };
        let wanted = excerpt(pattern.get(differs).copied().unwrap_or_default());
        let line = start + differs;
        let found = (line < text.len()).then(|| excerpt(text.line(line)));
        let seen = match &found {
            _ if nowhere.is_some() => "no line of the file is that".to_owned(),
            // A message does not show trailing spaces.
            Some(same) if *same == wanted => {
                format!("line {} has other trailing whitespace, or another line ending", line + 1)
            }
            Some(found) => format!("line {} is '{found}'", line + 1),
            None => format!("the file ends at line {}", text.len()),
        };
        let what = format!("does not fit: expected '{wanted}', but {seen}");
        let error = self
            .refuse(&codes::HUNK_FAILED, what)
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
            None => error.hint("none of its lines is in the file; read the file again"),
        }
    }
}

/// First line that is not in `text`, ignoring surrounding whitespace.
fn missing(text: &Text<'_>, pattern: &[&[u8]]) -> Option<usize> {
    let lines: HashSet<_> =
        (0..text.len()).map(|at| key(text.line(at), Pass::Blanks, at == 0)).collect();
    pattern.iter().position(|line| !lines.contains(&key(line, Pass::Blanks, true)))
}
