//! The list of what is pending, in which the reviewer moves: order, groups, filter, cursor, window.
//! Pure.

use std::collections::BTreeSet;

use crate::changeset::hunks::Lines;
use crate::render::overview::{self, Group, Row};
use crate::text::escape;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Groups by their first proposal, and proposals in the order of the queue.
    #[default]
    Review,
    Age,
    Risk,
    Size,
    Agent,
}

impl Sort {
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Review => Self::Age,
            Self::Age => Self::Risk,
            Self::Risk => Self::Size,
            Self::Size => Self::Agent,
            Self::Agent => Self::Review,
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::Review => "in review order",
            Self::Age => "oldest first, in groups",
            Self::Risk => "riskiest first, in groups",
            Self::Size => "smallest first, in groups",
            Self::Agent => "by agent",
        }
    }

    /// Smaller comes first; equal ones keep the order of the queue.
    fn rank(self, row: &Row) -> i64 {
        let rank = match self {
            Self::Review | Self::Agent => return 0,
            Self::Age => return row.created_at.timestamp_millis(),
            Self::Risk => usize::from(row.class),
            Self::Size => match row.lines {
                Lines::Counted(counts) => counts.added + counts.removed,
                Lines::NotByLines | Lines::NotHere => usize::MAX,
            },
        };
        i64::try_from(rank).unwrap_or(i64::MAX)
    }
}

/// Indices of a group, and of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLine {
    Head(usize),
    Row(usize, usize),
}

#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// Numbers ascend from top to bottom; rows without a number come last.
    groups: Vec<Group>,
    sort: Sort,
    filter: String,
    /// Titles of closed groups.
    closed: BTreeSet<String>,
    /// Lines that filter and closed groups leave.
    lines: Vec<QueueLine>,
    cursor: usize,
    /// First line of the window.
    top: usize,
}

impl Queue {
    /// Replaces the groups, in the order of their numbers. The cursor stays at its proposal, or at
    /// its place.
    pub fn set(&mut self, mut groups: Vec<Group>) {
        let number = |row: &Row| row.number.unwrap_or(usize::MAX);
        groups.iter_mut().for_each(|group| group.rows.sort_by_key(number));
        groups.sort_by_key(|group| group.rows.first().map(number));
        let here = self.here();
        self.groups = groups;
        self.list(here);
    }

    /// Sorts and numbers again.
    pub fn sort_by(&mut self, sort: Sort) {
        let rank = |row: &Row| (row.slot.is_none(), sort.rank(row), row.slot);
        let here = self.here();
        self.groups.iter_mut().for_each(|group| group.rows.sort_by_key(rank));
        self.groups.sort_by_cached_key(|group| {
            let title = if sort == Sort::Agent { group.title.as_str() } else { "" };
            let first = group.rows.first().map(rank);
            (first.is_none_or(|(is_unasked, ..)| is_unasked), title.to_owned(), first)
        });
        overview::number(&mut self.groups);
        self.sort = sort;
        self.list(here);
    }

    pub fn sort(&self) -> Sort {
        self.sort
    }

    /// Keeps rows that hold each word of `text` in reason, path, agent or task, or begin an id.
    pub fn filter_by(&mut self, text: &str) {
        let here = self.here();
        text.clone_into(&mut self.filter);
        self.list(here);
        if !text.is_empty() && self.row().is_none() {
            // Below the first head: Enter opens what was typed.
            self.move_by(isize::MIN);
            self.move_by(1);
        }
    }

    pub fn is_filtered(&self) -> bool {
        !self.filter.is_empty()
    }

    /// `7 of 26 pending, oldest first, in groups, with 'words'`
    pub fn title(&self) -> String {
        let count = |is_counted: &dyn Fn(&Group, &Row) -> bool| {
            let rows = self.groups.iter().flat_map(|it| it.rows.iter().map(move |row| (it, row)));
            let rows = rows.filter(|(_, row)| row.slot.is_some());
            rows.filter(|(group, row)| is_counted(group, row)).count()
        };
        let (all, sort) = (count(&|_, _| true), self.sort.label());
        if self.filter.is_empty() {
            return format!("{all} pending, {sort}");
        }
        let shown = count(&|group, row| self.matches(group, row));
        format!("{shown} of {all} pending, {sort}, with '{}'", escape::line(&self.filter))
    }

    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Indices in the session, from top to bottom, with closed groups and what the filter hides.
    pub fn order(&self) -> Vec<usize> {
        self.rows().filter_map(|row| row.slot).collect()
    }

    /// Indices in the session of what the filter shows; empty without one.
    pub fn filtered_slots(&self) -> BTreeSet<usize> {
        let groups = self.groups.iter().filter(|_| self.is_filtered());
        groups.flat_map(|group| self.filtered(group).rows).filter_map(|row| row.slot).collect()
    }

    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    pub fn slot_of(&self, number: usize) -> Option<usize> {
        self.rows().find(|row| row.number == Some(number))?.slot
    }

    pub fn is_closed(&self, group: &Group) -> bool {
        self.filter.is_empty() && self.closed.contains(&group.title)
    }

    pub fn line(&self) -> Option<QueueLine> {
        self.lines.get(self.cursor).copied()
    }

    /// The row at the cursor.
    pub fn row(&self) -> Option<&Row> {
        match self.line()? {
            QueueLine::Head(_) => None,
            QueueLine::Row(group, row) => Some(&self.groups[group].rows[row]),
        }
    }

    /// The group at the cursor, without what the filter hides.
    pub fn group(&self) -> Option<Group> {
        let group = &self.groups[self.group_at(self.line()?)];
        Some(self.filtered(group))
    }

    pub fn filtered(&self, group: &Group) -> Group {
        let rows = group.rows.iter().filter(|row| self.matches(group, row));
        Group { title: group.title.clone(), rows: rows.cloned().collect() }
    }

    pub fn move_by(&mut self, by: isize) {
        let last = self.lines.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(by).min(last);
    }

    /// To the next head, or the one before.
    pub fn move_to_head(&mut self, forward: bool) {
        let is_head = |at: &usize| matches!(self.lines[*at], QueueLine::Head(_));
        let found = if forward {
            (self.cursor + 1..self.lines.len()).find(is_head)
        } else {
            (0..self.cursor).rfind(is_head)
        };
        self.cursor = found.unwrap_or(self.cursor);
    }

    /// Closes or opens the group at the cursor.
    pub fn fold(&mut self, closes: bool) {
        let Some(line) = self.line() else { return };
        let at = self.group_at(line);
        let title = self.groups[at].title.clone();
        if closes {
            self.closed.insert(title);
        } else {
            self.closed.remove(&title);
        }
        let here = self.here();
        self.list(here);
    }

    /// Closes all groups, or opens them if none is open.
    pub fn fold_all(&mut self) {
        let all: BTreeSet<String> = self.groups.iter().map(|group| group.title.clone()).collect();
        let here = self.here();
        self.closed = if self.closed.is_superset(&all) { BTreeSet::new() } else { all };
        self.list(here);
    }

    /// Moves to a proposal, and shows it if group or filter hide it.
    pub fn focus(&mut self, slot: usize) {
        let is_it = |row: &Row| row.slot == Some(slot);
        let Some(group) = self.groups.iter().find(|group| group.rows.iter().any(is_it)) else {
            return;
        };
        let row = group.rows.iter().find(|row| is_it(row));
        if row.is_some_and(|row| !self.matches(group, row)) {
            self.filter.clear();
        }
        let here = row.map(|row| (group.title.clone(), row.id.clone()));
        let title = group.title.clone();
        self.closed.remove(&title);
        self.list(here);
    }

    /// At most `height` lines around the cursor, each with whether it is the cursor's. The head of
    /// the first row's group is always among them.
    pub fn window(&mut self, height: usize) -> Vec<(QueueLine, bool)> {
        let height = height.max(2);
        self.top = self.top.min(self.cursor.saturating_sub(1));
        self.top = self.top.max((self.cursor + 1).saturating_sub(height));
        self.top = self.top.min(self.lines.len().saturating_sub(height));
        let end = self.lines.len().min(self.top + height);
        let shown = (self.top..end).map(|at| (self.lines[at], at == self.cursor));
        let mut shown: Vec<(QueueLine, bool)> = shown.collect();
        if let Some((line, _)) = shown.first_mut() {
            *line = QueueLine::Head(self.group_at(*line));
        }
        shown
    }

    fn group_at(&self, line: QueueLine) -> usize {
        match line {
            QueueLine::Head(group) | QueueLine::Row(group, _) => group,
        }
    }

    /// Title and id at the cursor; no id at a head.
    fn here(&self) -> Option<(String, String)> {
        let group = &self.groups[self.group_at(self.line()?)];
        Some((group.title.clone(), self.row().map(|row| row.id.clone()).unwrap_or_default()))
    }

    /// Lists again, with the cursor at `here`, else at its head, else where it is.
    fn list(&mut self, here: Option<(String, String)>) {
        let mut lines = Vec::new();
        let (mut row_at, mut head_at) = (None, None);
        for (at, group) in self.groups.iter().enumerate() {
            let is_here = here.as_ref().filter(|(title, _)| *title == group.title);
            let start = lines.len();
            lines.push(QueueLine::Head(at));
            for (row_index, row) in group.rows.iter().enumerate() {
                if !self.matches(group, row) {
                    continue;
                }
                if is_here.is_some() {
                    head_at = Some(start);
                }
                if self.is_closed(group) {
                    break;
                }
                if is_here.is_some_and(|(_, id)| *id == row.id) {
                    row_at = Some(lines.len());
                }
                lines.push(QueueLine::Row(at, row_index));
            }
            // A head without rows is there for a closed group alone.
            if lines.len() == start + 1 && !self.is_closed(group) {
                lines.pop();
            }
        }
        // A row that is gone leaves the cursor at the row behind it.
        let is_gone = here
            .as_ref()
            .is_some_and(|(_, id)| !id.is_empty() && !self.rows().any(|row| row.id == *id));
        let found = row_at.or(head_at.filter(|_| !is_gone));
        self.cursor = found.unwrap_or(self.cursor).min(lines.len().saturating_sub(1));
        self.lines = lines;
    }

    fn matches(&self, group: &Group, row: &Row) -> bool {
        if self.filter.is_empty() {
            return true;
        }
        let texts = [&row.description, &row.path, &group.title].map(|text| text.to_lowercase());
        let code = row.id.strip_prefix("prop_").unwrap_or_default();
        let is_id = |word: &str| row.id.starts_with(word) || code.starts_with(word);
        let filter = self.filter.to_lowercase();
        let mut words = filter.split_whitespace();
        words.all(|word| is_id(word) || texts.iter().any(|text| text.contains(word)))
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;

    use super::*;
    use crate::changeset::hunks::Counts;

    /// Proposals by agent, oldest first, as the queue orders them: slot 2 is the riskiest.
    fn queue(agents: &[usize]) -> Queue {
        let mut groups: Vec<Group> = Vec::new();
        for (slot, agent) in agents.iter().enumerate() {
            let title = format!("agent{agent} · T-{agent}");
            let row = Row {
                slot: Some(slot),
                number: Some(slot + 1),
                id: format!("prop_{slot:010}"),
                description: format!("Change number {slot}"),
                path: format!("src/f{slot}.rs"),
                lines: Lines::Counted(Counts { added: 100 - slot % 100, removed: 0 }),
                class: if slot == 2 { 0 } else { 2 },
                created_at: DateTime::from_timestamp(slot as i64, 0).unwrap(),
                ..Row::default()
            };
            match groups.iter_mut().find(|group| group.title == title) {
                Some(group) => group.rows.push(row),
                None => groups.push(Group { title, rows: vec![row] }),
            }
        }
        let mut queue = Queue::default();
        queue.set(groups);
        queue.sort_by(Sort::Review);
        queue
    }

    fn numbers(queue: &Queue) -> Vec<usize> {
        queue.rows().filter_map(|row| row.number).collect()
    }

    #[test]
    fn numbers_ascend_in_every_order() {
        let mut queue = queue(&[2, 0, 1, 0, 2, 1]);
        assert_eq!(queue.order(), [0, 4, 1, 3, 2, 5]);
        let expected: [(Sort, &[usize]); 5] = [
            (Sort::Age, &[0, 4, 1, 3, 2, 5]),
            (Sort::Risk, &[2, 5, 0, 4, 1, 3]),
            (Sort::Size, &[5, 2, 4, 0, 3, 1]),
            (Sort::Agent, &[1, 3, 2, 5, 0, 4]),
            (Sort::Review, &[0, 4, 1, 3, 2, 5]),
        ];
        for (sort, order) in expected {
            assert_eq!(queue.sort().next(), sort);
            queue.sort_by(sort);
            assert_eq!(
                (queue.order(), numbers(&queue)),
                (order.to_vec(), (1..=6).collect()),
                "{sort:?}"
            );
        }
    }

    #[test]
    fn cursor_stays_at_its_proposal_and_then_at_its_place() {
        let mut queue = queue(&[0, 1, 0, 1]);
        queue.focus(2);
        queue.sort_by(Sort::Risk);
        assert_eq!(queue.row().unwrap().slot, Some(2));
        let mut groups = queue.groups().to_vec();
        groups[0].rows.retain(|row| row.slot != Some(2));
        queue.set(groups);
        assert_eq!(queue.row().unwrap().slot, Some(0));
    }

    #[test]
    fn filter_holds_each_word_and_focus_lifts_it() {
        let mut queue = queue(&[0, 1, 0, 1]);
        queue.filter_by("AGENT1 f3");
        assert_eq!(queue.window(9).len(), 2);
        assert_eq!(queue.group().unwrap().rows.len(), 1);
        assert_eq!(queue.title(), "1 of 4 pending, in review order, with 'AGENT1 f3'");
        queue.filter_by("nothing like it");
        assert_eq!((queue.line(), queue.window(9).len()), (None, 0));
        queue.focus(0);
        assert_eq!((queue.is_filtered(), queue.row().unwrap().slot), (false, Some(0)));
    }

    #[test]
    fn closed_groups_keep_their_head() {
        let mut queue = queue(&[0, 1, 0, 1]);
        queue.focus(1);
        queue.fold(true);
        assert_eq!(queue.line(), Some(QueueLine::Head(1)));
        assert_eq!(queue.window(9).len(), 4);
        assert_eq!(queue.group().unwrap().rows.len(), 2);
        queue.fold_all();
        assert_eq!(queue.window(9).len(), 2);
        queue.fold_all();
        assert_eq!(queue.window(9).len(), 6);
        queue.move_to_head(false);
        assert_eq!(queue.line(), Some(QueueLine::Head(0)));
        queue.move_to_head(true);
        queue.move_to_head(true);
        assert_eq!(queue.line(), Some(QueueLine::Head(1)));
        assert_eq!(queue.slot_of(3), Some(1));
    }

    proptest! {
        #[test]
        fn cursor_is_in_the_window_below_the_head_of_its_group(
            agents in proptest::collection::vec(0..5_usize, 1..300),
            keys in proptest::collection::vec((0..9_u8, -30..30_isize), 0..40),
            height in 2..30_usize,
        ) {
            let mut queue = queue(&agents);
            for (key, by) in keys {
                match key {
                    0 => queue.fold(by > 0),
                    1 => queue.fold_all(),
                    2 => queue.sort_by(queue.sort().next()),
                    3 => queue.filter_by(if by > 0 { "1" } else { "" }),
                    4 => queue.focus(by.unsigned_abs()),
                    5 => queue.move_to_head(by > 0),
                    _ => queue.move_by(by),
                }
                let shown = queue.window(height);
                prop_assert!(shown.len() <= height);
                prop_assert_eq!(shown.is_empty(), queue.line().is_none());
                let at = shown.iter().position(|(_, is_cursor)| *is_cursor);
                prop_assert_eq!(at.map(|at| shown[at].0), queue.line());
                let mut head = None;
                for (line, _) in shown {
                    match line {
                        QueueLine::Head(group) => head = Some(group),
                        QueueLine::Row(group, _) => prop_assert_eq!(head, Some(group)),
                    }
                }
                prop_assert_eq!(numbers(&queue), (1..=agents.len()).collect::<Vec<_>>());
            }
        }
    }
}
