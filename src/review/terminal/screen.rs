//! Screens of a session as text. Pure; escapes everything from a proposal.

use super::earlier_comments::{noun, on};
use super::host::Content;
use super::shown_lines::ScreenLines;
use crate::changeset::FileChange;
use crate::changeset::change_entry::{ChangeEntry, EntryKind, entries};
use crate::changeset::hunks::{Counts, Diff};
use crate::changeset::interdiff::interdiff;
use crate::changeset::marks::words;
use crate::changeset::plan::ConflictReason;
use crate::render::diff::{self, Layout, Options, Painter};
use crate::render::style::{Palette, Role};
use crate::render::width;
use crate::review::model::{
    Decision, FileReview, Intent, QueuedProposal, Review, ReviewSlot, Unit, UnitKind, Verdict,
};
use crate::text::{counted, escape};

/// Columns without the margin.
pub(super) fn inner(options: &Options) -> usize {
    options.columns.saturating_sub(3).max(20)
}

pub(super) fn push_wrapped(out: &mut String, options: &Options, role: Role, text: &str) {
    for line in width::wrap(text.trim_end(), inner(options)) {
        out.push_str("  ");
        out.push_str(&options.palette.paint(role, line));
        out.push('\n');
    }
}

pub(super) fn since_last_time(seen: &[FileChange], content: &Content, options: &Options) -> String {
    let now = content.proposed.as_ref().unwrap_or(&content.changes);
    let between = interdiff(seen, now);
    let mut out = String::new();
    if between.is_empty() {
        push_wrapped(&mut out, options, Role::Dim, "new revision, same result as the one you saw");
        return out;
    }
    let title = "changed since the revision you saw:";
    push_wrapped(&mut out, options, Role::Title, title);
    let text = diff::changeset(&between, options);
    let lines: Vec<&str> = text.lines().collect();
    for line in lines.iter().take(60) {
        out.push_str(line);
        out.push('\n');
    }
    if lines.len() > 60 {
        let more = format!("… {} more lines, p shows them", lines.len() - 60);
        push_wrapped(&mut out, options, Role::Dim, &more);
    }
    let end = "the proposal as it is now:";
    push_wrapped(&mut out, options, Role::Title, end);
    out
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    Text(String),
    /// Rows of a diff.
    Diff {
        /// git's header, for a filter only.
        header: Vec<String>,
        rows: Vec<String>,
    },
}

impl Block {
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Text(text) => text.lines().count(),
            Self::Diff { rows, .. } => rows.len(),
        }
    }

    pub(super) fn push(&self, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Diff { rows, .. } => {
                for row in rows {
                    out.push_str(row);
                    out.push('\n');
                }
            }
        }
    }
}

pub(super) fn unit(
    review: &Review,
    at: usize,
    painter: &mut Painter,
    options: &Options,
    limit: usize,
) -> Vec<Block> {
    unit_and_lines(review, at, painter, options, limit).0
}

/// Also returns the changed lines shown.
pub(super) fn unit_and_lines(
    review: &Review,
    at: usize,
    painter: &mut Painter,
    options: &Options,
    limit: usize,
) -> (Vec<Block>, ScreenLines) {
    let palette = &options.palette;
    let unit = &review.units()[at];
    let file = review.file_of(at);
    let mut title = palette.paint(Role::Meta, diff::summary_line(&file.entry()));
    if let Some(section) = &unit.section {
        title += &palette.paint(Role::Title, format_args!("  § {}", escape::line(section)));
    }
    if let Some(said) = decision(unit) {
        title += &format!("  [{said}]");
    }
    title.push('\n');
    let mut page = UnitPage {
        blocks: vec![Block::Text(title)],
        options,
        limit,
        lines: ScreenLines::default(),
    };
    if !matches!(unit.part, UnitKind::Hunk(_)) && unit.folded.is_none() {
        page.lines.file(&file.path);
    }
    if let Some(reason) = unit.conflict.filter(|_| unit.decision.is_none()) {
        let way = match (reason, review.editable(at)) {
            (_, None) => "n skips it, x sends the proposal back",
            (ConflictReason::Missing, _) => "e makes a new file of it, n skips it",
            _ => "e edits both versions into one, n keeps what is there",
        };
        let path = diff::escape_path(&file.path);
        let mut lines = String::new();
        let text = format!("! conflict: {path} {}; {way}", reason.meaning());
        push_wrapped(&mut lines, options, Role::Warn, &text);
        page.blocks.push(Block::Text(lines));
    }
    match &unit.part {
        UnitKind::Place => {
            for line in place(&file.entry()) {
                page.line(&palette.paint(Role::Frag, line));
            }
        }
        UnitKind::Whole if unit.folded.is_some() => page.folded(file, unit),
        UnitKind::Hunk(hunk) => match &unit.decision {
            // Shows the whole file as it will be written: text that an editor leaves without a
            // final line feed gets one where lines follow.
            Some(Decision::Edit { bytes }) => {
                page.edited(file, file.diff.before().bytes(), &file.with_edited(hunk, bytes));
            }
            // Changed context extends at most to neighbouring hunks.
            _ if unit.conflict.is_none() && options.context != review.context() => {
                let hunk = file.diff.hunk(hunk.edits.clone(), options.context);
                page.rows(file, &file.diff, &[&hunk], painter);
            }
            _ => page.rows(file, &file.diff, &[hunk], painter),
        },
        UnitKind::Whole if file.entry().is_whole() => {
            for line in diff::header(&file.entry(), &Palette::plain()).iter().skip(1) {
                page.line(line);
            }
        }
        UnitKind::Whole => match &unit.decision {
            Some(Decision::Edit { bytes }) => page.edited(file, b"", bytes),
            _ => {
                let hunks = file.diff.hunks(options.context);
                if hunks.is_empty() {
                    let is_copy =
                        file.kind == EntryKind::Copied && !file.entry().new_bytes().is_empty();
                    page.line(if is_copy { "(the same content)" } else { "(empty)" });
                }
                page.rows(file, &file.diff, &hunks.iter().collect::<Vec<_>>(), painter);
            }
        },
    }
    (page.blocks, page.lines)
}

/// Every edited unit; `None` without any.
pub(super) fn edits(review: &Review, options: &Options) -> Option<String> {
    let mut out = String::new();
    for at in 0..review.units().len() {
        if review.units()[at].is_edited() {
            let file = review.file_of(at);
            let mut painter = Painter::new(&file.path, &file.diff, options);
            for block in unit(review, at, &mut painter, options, usize::MAX) {
                block.push(&mut out);
            }
        }
    }
    (!out.is_empty()).then_some(out)
}

/// Numbered as for `--hunks`.
pub fn numbered(changes: &[FileChange], options: &Options) -> String {
    let review = Review::new(changes, options.context);
    let count = review.units().len();
    list(&review, options, |at| Some(format!("({}/{count}) ", at + 1)))
}

pub fn by_section(changes: &[FileChange], options: &Options) -> String {
    list(&Review::of_memory(changes, options.context), options, |_| None)
}

fn list(review: &Review, options: &Options, number: impl Fn(usize) -> Option<String>) -> String {
    let count = review.units().len();
    let mut out = String::new();
    // A painter has lexed the whole file: keep it for all units.
    let mut painter: Option<(usize, Painter)> = None;
    for at in 0..count {
        let file = review.file_of(at);
        let of = review.units()[at].file;
        let mut painting = match painter.take() {
            Some((known, painting)) if known == of => painting,
            _ => Painter::new(&file.path, &file.diff, options),
        };
        if let Some(number) = number(at) {
            out += &options.palette.paint(Role::Title, number);
        }
        for block in unit(review, at, &mut painting, options, usize::MAX) {
            block.push(&mut out);
        }
        painter = Some((of, painting));
        if at + 1 < count {
            out.push('\n');
        }
    }
    out
}

struct UnitPage<'o> {
    blocks: Vec<Block>,
    options: &'o Options,
    limit: usize,
    /// Changed lines shown.
    lines: ScreenLines,
}

impl UnitPage<'_> {
    fn line(&mut self, line: &str) {
        self.blocks.push(Block::Text(format!("{line}\n")));
    }

    fn rows(
        &mut self,
        file: &FileReview,
        diff: &Diff<'_>,
        hunks: &[&crate::changeset::hunks::Hunk],
        painter: &mut Painter,
    ) {
        let mut left = self.limit;
        let (mut more, mut hidden) = (0, 0);
        let mut rows = Vec::new();
        for hunk in hunks {
            let finer = self.options.ignore_space.then(|| diff.ignoring_space(hunk));
            hidden += finer.as_ref().map_or(0, |(finer, _)| diff::hidden(diff, hunk, finer));
            let (diff, hunk) = finer.as_ref().map_or((diff, *hunk), |(diff, hunk)| (diff, hunk));
            let limit = (self.limit < usize::MAX).then_some(left);
            let shown = painter.rows(diff, hunk, self.options, limit);
            left = left.saturating_sub(shown.lines.len());
            more += shown.more;
            let of_all = diff.lines(hunk).count();
            let first = match (shown.more, self.options.layout) {
                (0, _) => of_all,
                (more, Layout::Unified) => of_all.saturating_sub(more),
                // The word layout does not print line by line.
                (_, Layout::Words) => 0,
            };
            self.lines.hunk(&file.path, diff, hunk, first, limit.is_some());
            rows.extend(shown.lines);
        }
        if !rows.is_empty() {
            let header = diff::header(&file.entry(), &self.options.palette);
            self.blocks.push(Block::Diff { header, rows });
        }
        if let Some(note) = diff::hidden_note(hidden, &self.options.palette) {
            self.line(&note);
        }
        if more > 0 {
            let text = format!("… {}, p shows them", counted(more, "more line"));
            self.line(&self.options.palette.paint(Role::Dim, text));
        }
    }

    /// A folded file is one decision until opened.
    fn folded(&mut self, file: &FileReview, unit: &Unit) {
        let hunks = file.diff.hunks(self.options.context).len();
        let hunks = counted(hunks, "hunk");
        let (why, counts) = (unit.folded.unwrap_or_default(), file.diff.counts());
        let text = format!("{why}: {hunks}, {counts}; o opens it, y takes it, n skips it");
        let mut lines = String::new();
        push_wrapped(&mut lines, self.options, Role::Plain, &text);
        self.blocks.push(Block::Text(lines));
    }

    fn edited(&mut self, file: &FileReview, old: &[u8], new: &[u8]) {
        let diff = Diff::new(old, new);
        let mut painter = Painter::new(&file.path, &diff, self.options);
        let hunks = diff.hunks(self.options.context);
        if hunks.is_empty() {
            self.line("(as it was before)");
        }
        self.rows(file, &diff, &hunks.iter().collect::<Vec<_>>(), &mut painter);
    }
}

/// Rename and mode lines of git's header.
pub(super) fn place(entry: &ChangeEntry<'_>) -> Vec<String> {
    let header = diff::header(entry, &Palette::plain());
    let keep = |line: &String| {
        ["old mode", "new mode", "rename"].iter().any(|start| line.starts_with(start))
    };
    header.into_iter().filter(keep).collect()
}

pub(super) fn decision(unit: &Unit) -> Option<&'static str> {
    match (&unit.decision, &unit.draft) {
        (Some(Decision::Take), _) => Some("taken"),
        (Some(Decision::Leave), _) => Some("not taken"),
        (Some(Decision::Edit { .. }), _) => Some("edited"),
        (None, Some(_)) => Some("edited earlier; e goes on from the edit"),
        (None, None) => None,
    }
}

/// Pending proposals that the last screen names.
const MOST_PENDING: usize = 5;

/// One line for each answered proposal, and the first of the others.
pub(super) fn summary(slots: &[ReviewSlot], options: &Options) -> String {
    let palette = &options.palette;
    let mut out = String::from("\n");
    out += &palette.paint(Role::Title, "Decided:");
    out.push('\n');
    let mut open = Vec::new();
    for slot in slots.iter().filter(|slot| !slot.done) {
        let mut detail = None;
        let (role, mut text) = match slot.verdict() {
            Verdict::Open { .. } if slot.intent().is_none() => {
                open.push(slot);
                continue;
            }
            Verdict::Open { decided, total } => {
                let is_edited = slot.intent() == Some(Intent::Edited);
                let edit = if is_edited { ", an edit not taken" } else { "" };
                (Role::Dim, format!("stays pending, {decided} of {total} hunks decided{edit}"))
            }
            Verdict::Apply => (Role::Good, "apply all of it".to_owned()),
            Verdict::Part(changes) => (Role::Good, part(slot, &changes)),
            Verdict::Nothing => (Role::Warn, "stays pending, nothing of it is taken".to_owned()),
            Verdict::Reject { reason } => {
                detail = Some(reason);
                (Role::Bad, "reject".to_owned())
            }
            Verdict::RequestChanges { reason } => {
                detail = Some(reason).filter(|reason| !reason.is_empty());
                (Role::Warn, "request changes".to_owned())
            }
            Verdict::Gone { status } => (Role::Dim, format!("{} meanwhile", gone(&status))),
        };
        match slot.comments.len() {
            0 => {}
            1 => text += ", 1 comment",
            n => text += &format!(", {n} comments"),
        }
        if slot.saved && slot.is_settled() {
            text += " (answered in an earlier review)";
        }
        push_hanging(&mut out, options, role, 2, &format!("{}  {text}", slot.ticket.id));
        push_hanging(&mut out, options, Role::Plain, 6, &subject(&slot.ticket));
        if let Some(reason) = detail {
            let reason = format!("reason: {}", escape::line(&reason));
            push_hanging(&mut out, options, Role::Comment, 6, &reason);
        }
        for comment in &slot.comments {
            let (what, on) = (noun(&comment.kind), on(comment));
            let mut text = format!("{what}{on}: {}", escape::line(&comment.body));
            if let Some(lines) = &comment.replacement {
                text += &format!(" [{}]", escape::line(lines));
            }
            push_hanging(&mut out, options, Role::Comment, 6, &text);
        }
    }
    for slot in open.iter().take(MOST_PENDING) {
        let text = format!("{}  stays pending: {}", slot.ticket.id, subject(&slot.ticket));
        push_hanging(&mut out, options, Role::Dim, 2, &text);
    }
    if let more @ 1.. = open.len().saturating_sub(MOST_PENDING) {
        let text = format!("{} undecided, which stay pending", counted(more, "more proposal"));
        push_hanging(&mut out, options, Role::Dim, 2, &text);
    }
    out
}

/// `Greet with a comma · codex · greet.py · ! secret`, safe for a terminal.
pub(super) fn subject(ticket: &QueuedProposal) -> String {
    let files = match ticket.files {
        1 => escape::name(&ticket.path),
        files => counted(files, "file"),
    };
    let marks = match words(&ticket.marks) {
        words if words.is_empty() => words,
        words => format!(" · ! {words}"),
    };
    let title = match &ticket.title {
        title if title.is_empty() => "(no title)".into(),
        title => escape::line(title),
    };
    format!("{title} · {} · {files}{marks}", escape::name(&ticket.proposed_by))
}

fn push_hanging(out: &mut String, options: &Options, role: Role, indent: usize, text: &str) {
    for (n, row) in width::wrap(text, options.columns.saturating_sub(7)).iter().enumerate() {
        let indent = if n == 0 { indent } else { 6 };
        *out += &format!("{:indent$}{}\n", "", options.palette.paint(role, row));
    }
}

/// `was applied`, `has expired`.
pub(super) fn gone(status: &str) -> String {
    match status {
        "expired" => "has expired".to_owned(),
        status => format!("was {}", escape::line(status)),
    }
}

fn part(slot: &ReviewSlot, changes: &[FileChange]) -> String {
    let mut counts = Counts::default();
    for entry in entries(changes) {
        counts += entry.counts();
    }
    let Some(review) = &slot.review else { return String::new() };
    let said = |wanted: fn(&Decision) -> bool| {
        let said = |unit: &&Unit| unit.decision.as_ref().is_some_and(wanted);
        review.units().iter().filter(said).count()
    };
    let taken = said(|d| *d != Decision::Leave);
    let edited = said(|d| matches!(d, Decision::Edit { .. }));
    let total = counted(review.units().len(), "hunk");
    let edited = if edited > 0 { format!(", {edited} edited by you") } else { String::new() };
    format!("apply {taken} of {total}{edited} ({counts})")
}
