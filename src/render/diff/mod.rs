//! Unified and word diffs for people, safe for a terminal. Invisible and dangerous characters are
//! escaped, so `git apply` cannot read them.

mod header;
mod pieces;
mod stat;
mod unified;
mod words;

pub use header::{escape_path, header, summary_line};
use header::{header_of_text, header_of_whole};
pub use stat::{name_only, name_status, stat};

use super::style::{Palette, Role};
use super::syntax::Syntax;
use crate::changeset::FileChange;
use crate::changeset::change_entry::{ChangeEntry, entries};
use crate::changeset::hunks::{CONTEXT, Diff, Hunk, MOST_BYTES};
use crate::changeset::path::RepoPath;
use crate::text::counted;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    #[default]
    Unified,
    /// `[-old-]{+new+}` in one line.
    Words,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub palette: Palette,
    /// Unchanged lines around changes.
    pub context: usize,
    /// The terminal's width, which statistics fill.
    pub columns: usize,
    pub layout: Layout,
    /// Takes effect only if colour is on.
    pub syntax: bool,
    /// Shows hunks of large files too (`hunks::is_large`).
    pub all: bool,
    /// Line numbers of the new content, in the unified layout.
    pub numbers: bool,
    /// Leaves out lines that differ in whitespace alone, and counts them.
    pub ignore_space: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            palette: Palette::plain(),
            context: CONTEXT,
            columns: 80,
            layout: Layout::Unified,
            syntax: false,
            all: false,
            numbers: false,
            ignore_space: false,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Without line feeds.
    pub lines: Vec<String>,
    /// Lines beyond the limit.
    pub more: usize,
}

/// State kept between hunks of one file.
#[derive(Clone, Debug)]
pub struct Painter {
    before: Option<Syntax>,
    after: Option<Syntax>,
    /// Every line of both sides ends in CR LF: showing each CR would add nothing.
    crlf: bool,
    /// Bytes shown of a line.
    longest: usize,
}

pub const LONGEST: usize = 4096;

impl Painter {
    pub fn new(path: &RepoPath, diff: &Diff<'_>, options: &Options) -> Self {
        let syntax = || {
            let wanted = options.palette.is_on() && options.syntax;
            wanted.then(|| Syntax::of(path.as_bstr(), diff.after().bytes())).flatten()
        };
        // The CRs of a new file are part of the proposal: a script with CR LF does not run.
        let crlf = |bytes: &[u8]| {
            let mut lines = bytes.split_inclusive(|b| *b == b'\n');
            !bytes.is_empty() && lines.all(|line| line.ends_with(b"\r\n"))
        };
        let both_crlf = crlf(diff.before().bytes()) && crlf(diff.after().bytes());
        Self { before: syntax(), after: syntax(), crlf: both_crlf, longest: usize::MAX }
    }

    /// Renders the `@@` line, then at most `limit` lines. With a limit, lines over 4,096 bytes are
    /// cut and marked.
    pub fn rows(
        &mut self,
        diff: &Diff<'_>,
        hunk: &Hunk,
        options: &Options,
        limit: Option<usize>,
    ) -> Rows {
        self.longest = if limit.is_some() { LONGEST } else { usize::MAX };
        let limit = limit.unwrap_or(usize::MAX);
        let mut rows = match options.layout {
            Layout::Words => self.words(diff, hunk, options, limit),
            Layout::Unified => self.unified(diff, hunk, options, limit),
        };
        rows.lines.insert(0, frag(diff, hunk, &options.palette));
        rows
    }
}

/// `@@ -1,3 +1,4 @@ fn heading() {`
fn frag(diff: &Diff<'_>, hunk: &Hunk, palette: &Palette) -> String {
    let mut line = palette.paint(Role::Frag, hunk);
    if let Some(heading) = diff.heading(hunk) {
        let text = crate::text::escape::bytes_line(&heading[..heading.len().min(80)]);
        line.push(' ');
        palette.write(&mut line, Role::Func, &text);
    }
    line
}

pub fn changeset(changes: &[FileChange], options: &Options) -> String {
    let mut out = String::new();
    for entry in entries(changes) {
        push_entry(&mut out, &entry, options);
    }
    out
}

/// Unless `all` is set, a large file, or any file after `MOST_BYTES`, gets only its headers.
pub fn push_entry(out: &mut String, entry: &ChangeEntry<'_>, options: &Options) {
    let is_unasked = |out: &String| entry.is_large() || out.len() > MOST_BYTES;
    let is_whole = entry.is_binary() || !options.all && is_unasked(out);
    let lines = if is_whole {
        header_of_whole(entry, &options.palette)
    } else {
        header_of_text(entry, &options.palette)
    };
    for line in lines {
        out.push_str(&line);
        out.push('\n');
    }
    if is_whole {
        return;
    }
    let diff = if options.all {
        Diff::exact(entry.old_bytes(), entry.new_bytes())
    } else {
        Diff::new(entry.old_bytes(), entry.new_bytes())
    };
    let whole = diff.whole();
    let finer = options.ignore_space.then(|| diff.ignoring_space(&whole).0);
    let hidden = finer.as_ref().map_or(0, |finer| hidden(&diff, &whole, finer));
    let diff = finer.as_ref().unwrap_or(&diff);
    let mut painter = Painter::new(entry.path, diff, options);
    for hunk in diff.hunks(options.context) {
        for line in painter.rows(diff, &hunk, options, None).lines {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out.extend(hidden_note(hidden, &options.palette).map(|note| note + "\n"));
}

/// Changed lines of `hunk` that `finer`, its diff without whitespace, does not show.
pub fn hidden(diff: &Diff<'_>, hunk: &Hunk, finer: &Diff<'_>) -> usize {
    diff.counts_of(hunk.edits.clone()).sum().saturating_sub(finer.counts().sum())
}

/// `None` for no hidden lines.
pub fn hidden_note(hidden: usize, palette: &Palette) -> Option<String> {
    let lines = counted(hidden, "changed line");
    let text = format!("… {lines} not shown: only whitespace differs");
    (hidden > 0).then(|| palette.paint(Role::Dim, text))
}

#[cfg(test)]
mod tests;
