//! Differences for people: unified and word by word, safe for a terminal, with the
//! changed words emphasised. Not for `git apply`: what is invisible or dangerous is written out.

mod header;
mod pieces;
mod stat;
mod unified;
mod words;

pub use header::{header, shown, summary_line};
use header::{header_of_text, header_of_whole};
pub use stat::{name_only, name_status, stat};

use super::style::{Palette, Role};
use super::syntax::Syntax;
use crate::changeset::FileChange;
use crate::changeset::entry::{Entry, entries};
use crate::changeset::hunks::{CONTEXT, Diff, Hunk, MOST_BYTES};
use crate::changeset::path::RepoPath;

/// How hunks are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Removed above added, as git does.
    #[default]
    Unified,
    /// Old and new words in one line: `[-old-]{+new+}`.
    Words,
}

/// How differences are rendered.
#[derive(Clone, Debug)]
pub struct Options {
    /// Colours; [`Palette::plain`] for none.
    pub palette: Palette,
    /// Unchanged lines around changes.
    pub context: usize,
    /// The terminal's width, which statistics fill.
    pub columns: usize,
    /// How hunks are laid out.
    pub layout: Layout,
    /// Whether to colour programming languages too. Costs nothing when colour is off.
    pub syntax: bool,
    /// Also the lines of what is large ([`hunks::is_large`](crate::changeset::hunks::is_large)).
    pub all: bool,
    /// The number that each line has in the new content stands before it, in the unified layout.
    pub numbers: bool,
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
        }
    }
}

/// Rendered lines, and how many more there are beyond the limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The lines, without line feeds.
    pub lines: Vec<String>,
    /// Lines of the hunk that were left out because of the limit.
    pub more: usize,
}

/// What is known of a file while its hunks are rendered one after the other.
#[derive(Clone, Debug)]
pub struct Painter {
    before: Option<Syntax>,
    after: Option<Syntax>,
    /// Every line of both sides ends in CR LF, so that showing each CR would say nothing.
    crlf: bool,
    /// Bytes of a line that are shown.
    longest: usize,
}

/// Bytes of a line that are shown where there is a limit to what is shown at all.
pub const LONGEST: usize = 4096;

impl Painter {
    /// Prepares to render hunks of `diff`, the difference of the file at `path`.
    pub fn new(path: &RepoPath, diff: &Diff<'_>, options: &Options) -> Self {
        let syntax = || {
            let wanted = options.palette.is_on() && options.syntax;
            wanted.then(|| Syntax::of(path.as_bstr(), diff.after().bytes())).flatten()
        };
        // Of a file that is new it is part of what is proposed: a script of such lines does not run.
        let crlf = |bytes: &[u8]| {
            let mut lines = bytes.split_inclusive(|b| *b == b'\n');
            !bytes.is_empty() && lines.all(|line| line.ends_with(b"\r\n"))
        };
        let both_crlf = crlf(diff.before().bytes()) && crlf(diff.after().bytes());
        Self { before: syntax(), after: syntax(), crlf: both_crlf, longest: usize::MAX }
    }

    /// Renders one hunk of the same `diff` in the layout of `options`, at most `limit` of its
    /// lines. The first row is the `@@` line. With a limit, lines of more than 4,096 bytes are cut
    /// and say so.
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

/// Every file of a changeset: headers and hunks, ready for a terminal or a page.
pub fn changeset(changes: &[FileChange], options: &Options) -> String {
    let mut out = String::new();
    for entry in entries(changes) {
        push_entry(&mut out, &entry, options);
    }
    out
}

/// Appends one file: header and hunks. Of one that is large, or where there is more than enough to read already, only
/// that it changes, unless all is wanted.
pub fn push_entry(out: &mut String, entry: &Entry<'_>, options: &Options) {
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
    let mut painter = Painter::new(entry.path, &diff, options);
    for hunk in diff.hunks(options.context) {
        for line in painter.rows(&diff, &hunk, options, None).lines {
            out.push_str(&line);
            out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests;
