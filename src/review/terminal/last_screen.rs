//! The last screen before writing: files now and afterwards, approved changes that files already
//! have, and other changes in these files. Rendered only from the plans that will be written. Pure.

use super::head;
use super::host::DecisionPreview;
use super::screen::{Block, place, push_wrapped};
use super::shown_lines::{ShownLineCounts, is_change, is_cut};
use crate::changeset::change_entry::{ChangeEntry, EntryKind, entries};
use crate::changeset::hunks::{Diff, Hunk};
use crate::changeset::{FileChange, RepoPath};
use crate::proposal::ProposalId;
use crate::render::diff::{self, Options, Painter};
use crate::render::style::{Palette, Role};
use crate::review::model::FoldedFiles;
use crate::text::counted;

/// Changed lines; more of a file not read line by line are hidden.
const LITTLE: usize = 10;

/// Changed lines on neither this screen nor an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UnshownLines {
    /// Written lines.
    pub(super) own: u64,
    /// Other changes in the files.
    pub(super) foreign: u64,
}

/// At most `limit` lines of what is written, and `limit` of other changes in the files. Returns
/// counts of unshown lines; `earlier` has the lines of earlier screens.
pub(super) fn screen(
    outlooks: &[(&ProposalId, &DecisionPreview)],
    mut earlier: Vec<ShownLineCounts>,
    options: &Options,
    limit: usize,
) -> (Vec<Block>, Vec<UnshownLines>) {
    let mut blocks = Vec::new();
    let mut unshown = vec![UnshownLines::default(); outlooks.len()];
    earlier.resize_with(outlooks.len(), ShownLineCounts::default);
    let mut page = LastPage {
        options,
        left: limit,
        limited: limit < usize::MAX,
        earlier: ShownLineCounts::default(),
    };
    for (((id, outlook), unshown), earlier) in outlooks.iter().zip(&mut unshown).zip(earlier) {
        page.earlier = earlier;
        let mut marks = head::marks(&outlook.marks, options, page.limited);
        if !outlook.changes.is_empty() {
            blocks.push(heading(options, &format!("{id}{} will write:", outlook.of())));
            blocks.push(Block::Text(std::mem::take(&mut marks)));
            unshown.own = page.changes(&mut blocks, &outlook.changes, &outlook.quiet);
        }
        if !outlook.already.is_empty() {
            let title =
                format!("{id}{} approves changes that the files have already:", outlook.of());
            blocks.push(heading(options, &title));
            blocks.push(Block::Text(marks));
            unshown.own += page.changes(&mut blocks, &outlook.already, &outlook.quiet);
        }
    }
    (page.left, page.earlier) = (limit, ShownLineCounts::default());
    for ((id, outlook), unshown) in outlooks.iter().zip(&mut unshown) {
        if !outlook.foreign.is_empty() {
            let title =
                format!("Other changes in the files of {id}, which are not the proposal's:");
            blocks.push(heading(options, &title));
            unshown.foreign = page.changes(&mut blocks, &outlook.foreign, &outlook.quiet);
        }
    }
    (blocks, unshown)
}

fn heading(options: &Options, title: &str) -> Block {
    let mut text = String::from("\n");
    push_wrapped(&mut text, options, Role::Title, title);
    Block::Text(text)
}

struct LastPage<'o> {
    options: &'o Options,
    /// Lines that still fit.
    left: usize,
    limited: bool,
    /// Lines of earlier screens.
    earlier: ShownLineCounts,
}

impl LastPage<'_> {
    /// Appends `changes`; returns the changed lines shown neither here nor earlier.
    fn changes(
        &mut self,
        blocks: &mut Vec<Block>,
        changes: &[FileChange],
        quiet: &FoldedFiles,
    ) -> u64 {
        let (mut files, mut lines, mut unshown) = (0, 0, 0);
        let mut entries = entries(changes);
        entries.sort_by_key(|entry| quiet.contains_key(entry.path));
        for entry in entries {
            let counts = entry.counts();
            let changed = counts.added + counts.removed;
            if let Some(why) = quiet.get(entry.path).filter(|_| self.limited && changed > LITTLE) {
                let title = self.options.palette.paint(Role::Meta, diff::summary_line(&entry));
                blocks.push(Block::Text(format!("{title}  {why}: {counts}, p shows it\n")));
                self.left = self.left.saturating_sub(1);
                unshown += self.unseen(&entry);
                continue;
            }
            if self.limited && self.left == 0 {
                let counts = entry.counts();
                files += 1;
                unshown += self.unseen(&entry);
                lines += counts.added + counts.removed;
                continue;
            }
            let (more, changed) = self.entry(blocks, &entry);
            lines += more;
            unshown += changed;
        }
        if lines > 0 || files > 0 {
            let left_out = [(lines, "more line"), (files, "more file")];
            let left_out = left_out.iter().filter(|(count, _)| *count > 0);
            let left_out: Vec<_> = left_out.map(|(count, what)| counted(*count, what)).collect();
            let text = format!("… {}, p shows them", left_out.join(", "));
            let line = self.options.palette.paint(Role::Dim, text);
            blocks.push(Block::Text(format!("{line}\n")));
        }
        u64::try_from(unshown).unwrap_or(u64::MAX)
    }

    /// Changed lines of an omitted file that no earlier screen had.
    fn unseen(&mut self, entry: &ChangeEntry<'_>) -> usize {
        let counts = entry.counts();
        if counts.added + counts.removed == 0 && !entry.is_large() {
            // A file without lines, such as a binary one, must count, too.
            return usize::from(!self.earlier.takes_file(entry.path));
        }
        let diff = Diff::new(entry.old_bytes(), entry.new_bytes());
        let mut unseen = 0;
        for hunk in diff.hunks(0) {
            for line in diff.lines(&hunk).filter(is_change) {
                unseen += usize::from(!self.earlier.takes(entry.path, &line));
            }
        }
        unseen
    }

    /// Appends one file; returns omitted lines, and omitted changed lines.
    fn entry(&mut self, blocks: &mut Vec<Block>, entry: &ChangeEntry<'_>) -> (usize, usize) {
        let palette = &self.options.palette;
        let mut title = palette.paint(Role::Meta, diff::summary_line(entry)) + "\n";
        for line in place(entry) {
            title += &palette.paint(Role::Frag, line);
            title.push('\n');
        }
        self.left = self.left.saturating_sub(title.lines().count());
        if entry.is_whole() {
            for line in diff::header(entry, &Palette::plain()).iter().skip(1) {
                title += line;
                title.push('\n');
            }
            blocks.push(Block::Text(title));
            // The title shows that the file is large, not its content.
            return (0, if entry.is_large() { self.unseen(entry) } else { 0 });
        }
        let diff = Diff::new(entry.old_bytes(), entry.new_bytes());
        let hunks = diff.hunks(self.options.context);
        if hunks.is_empty() && entry.kind == EntryKind::Added {
            title += "(empty)\n";
        }
        blocks.push(Block::Text(title));
        let mut painter = Painter::new(entry.path, &diff, self.options);
        let (mut rows, mut more, mut unshown) = (Vec::new(), 0, 0);
        for hunk in &hunks {
            let (left_out, changed) = self.hunk(&mut rows, &mut painter, entry.path, &diff, hunk);
            more += left_out;
            unshown += changed;
        }
        if !rows.is_empty() {
            blocks.push(Block::Diff { header: diff::header(entry, palette), rows });
        }
        (more, unshown)
    }

    fn hunk(
        &mut self,
        rows: &mut Vec<String>,
        painter: &mut Painter,
        path: &RepoPath,
        diff: &Diff<'_>,
        hunk: &Hunk,
    ) -> (usize, usize) {
        let lines: Vec<_> = diff.lines(hunk).collect();
        let mut shown = 0;
        if !self.limited || self.left > 0 {
            let limit = self.limited.then_some(self.left);
            let painted = painter.rows(diff, hunk, self.options, limit);
            shown = lines.len() - painted.more.min(lines.len());
            self.left = self.left.saturating_sub(painted.lines.len());
            rows.extend(painted.lines);
        }
        let mut unshown = 0;
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_change(line)) {
            // A cut line counts as not shown.
            let is_here = at < shown && !(self.limited && is_cut(line));
            // Consume the earlier line even if it is shown here, too.
            let was_earlier = self.earlier.takes(path, line);
            unshown += usize::from(!is_here && !was_earlier);
        }
        (lines.len() - shown, unshown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changeset::{File, Mode};
    use crate::render::diff::LONGEST;
    use crate::review::terminal::shown_lines::{ScreenLines, ShownLines};

    fn outlook(before: &str, after: &str) -> DecisionPreview {
        let file = |text: &str| File { bytes: text.into(), mode: Mode::Regular };
        let change = FileChange {
            path: RepoPath::new("a.txt").unwrap(),
            before: Some(file(before)),
            after: Some(file(after)),
            origin: None,
            snippets: Vec::new(),
        };
        DecisionPreview {
            changes: vec![change],
            already: Vec::new(),
            foreign: Vec::new(),
            quiet: FoldedFiles::new(),
            marks: Vec::new(),
            title: String::new(),
        }
    }

    fn lines(count: usize) -> String {
        (0..count).map(|n| format!("new {n}\n")).collect()
    }

    #[test]
    fn changed_lines_without_room_are_counted() {
        let id = ProposalId::parse("prop_0000000000").unwrap();
        let long = outlook("a\n", &("a\n".to_owned() + &lines(500)));
        let two = [(&id, &long), (&id, &long)];
        let (blocks, unshown) = screen(&two, Vec::new(), &Options::default(), 60);
        let mut text = String::new();
        blocks.iter().for_each(|block| block.push(&mut text));
        let shown = text.lines().filter(|line| line.starts_with("+new")).count() as u64;
        assert_eq!(unshown[0].own + unshown[1].own + shown, 1000);
        assert_eq!(unshown[1].own, 500);
        let (_, unshown) = screen(&two, Vec::new(), &Options::default(), usize::MAX);
        assert_eq!(unshown, [UnshownLines::default(); 2]);
    }

    #[test]
    fn a_file_without_lines_beyond_the_limit_is_counted() {
        let id = ProposalId::parse("prop_0000000000").unwrap();
        let mut two = outlook("a\n", &("a\n".to_owned() + &lines(500)));
        let mut binary = two.changes[0].clone();
        binary.path = RepoPath::new("b.bin").unwrap();
        binary.before = None;
        binary.after = Some(File { bytes: b"a\0b".to_vec(), mode: Mode::Regular });
        let (_, alone) = screen(&[(&id, &two)], Vec::new(), &Options::default(), 60);
        two.changes.push(binary);
        let (_, unshown) = screen(&[(&id, &two)], Vec::new(), &Options::default(), 60);
        assert_eq!(unshown[0].own, alone[0].own + 1);
    }

    #[test]
    fn a_line_that_is_cut_was_not_shown() {
        let id = ProposalId::parse("prop_0000000000").unwrap();
        let wide = outlook("a\n", &format!("{}\n", "x".repeat(LONGEST + 1)));
        let (_, unshown) = screen(&[(&id, &wide)], Vec::new(), &Options::default(), 60);
        assert_eq!(unshown[0].own, 1);
    }

    #[test]
    fn what_an_earlier_screen_had_is_not_counted_but_no_more_often_than_it_had_it() {
        let id = ProposalId::parse("prop_0000000000").unwrap();
        let again = "same\n".repeat(500);
        let long = outlook("a\n", &format!("a\n{again}"));
        let path = &long.changes[0].path;
        let diff = Diff::new(b"a\n", format!("a\n{again}").into_bytes());
        let mut seen = ShownLines::default();
        let shown = |seen: &ShownLines| {
            let (_, unshown) = screen(&[(&id, &long)], vec![seen.of(0)], &Options::default(), 60);
            unshown[0].own
        };
        let before = shown(&seen);
        let mut lines = ScreenLines::default();
        // One context line, and 480 of 500 lines.
        lines.hunk(path, &diff, &diff.hunks(3)[0], 481, true);
        seen.shown(0, 0, lines.clone());
        // Showing a line twice counts once, and another proposal's lines do not count.
        seen.shown(0, 0, lines.clone());
        seen.shown(1, 0, lines);
        assert!(before > 400);
        assert_eq!(shown(&seen), 20);
        let mut rest = ScreenLines::default();
        rest.hunk(path, &diff, &diff.hunks(3)[0], usize::MAX, true);
        seen.shown(0, 0, rest);
        assert_eq!(shown(&seen), 0);
    }
}
