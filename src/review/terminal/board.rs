//! The overview of pending proposals by agent and task. The reviewer begins, chooses a proposal, or
//! decides on a group with one counted question.

use std::collections::BTreeSet;

use super::carry_out::PlannedDecision;
use super::confirm::outlooks;
use super::console::AskResult;
use super::host::DecisionOrder;
use super::last_screen::UnshownLines;
use super::{Next, Terminal, screen};
use crate::changeset::change_entry::entries;
use crate::changeset::hunks::Counts;
use crate::changeset::marks::in_question;
use crate::error::Result;
use crate::render::overview::{self, Group, Row};
use crate::render::style::Role;
use crate::review::model::{Intent, Key, ReviewSlot, Verdict};
use crate::text::{self, escape};

const LETTERS: std::ops::RangeInclusive<char> = 'a'..='z';

impl Terminal<'_> {
    pub(super) fn board(&mut self) -> AskResult<Next> {
        self.current = None;
        loop {
            let groups = self.groups();
            if groups.iter().all(|group| group.rows.iter().all(|row| row.number.is_none())) {
                return Ok(Next::Confirm);
            }
            self.show_board(&groups)?;
            let keys = board_keys(self.session.slots().iter().any(|s| s.is_answered() && !s.done));
            let question = "Enter begins, a number or an id goes there";
            let prompt = screen::prompt(None, question, &keys, &self.console.options);
            match self.console.key(&prompt)? {
                '\n' => return Ok(Next::Walk),
                'q' => return Ok(Next::Leave),
                'W' if keys.iter().any(|key| key.key == 'W') => return Ok(Next::Confirm),
                key @ ('A' | 'R') => self.decide_on_group(&groups, key == 'A')?,
                '?' => {
                    self.console.write(&screen::help(&keys, &self.console.options))?;
                    self.console.write(&marks_explained(&self.console.options))?;
                }
                key if key.is_ascii_alphanumeric() || key == '_' => {
                    let typed = key.to_string();
                    let Some(text) = self.console.line("Go to (Esc: stay): ", &typed)? else {
                        continue;
                    };
                    if let Some(at) = self.named(&text) {
                        self.session.visit(at);
                        return Ok(Next::Walk);
                    }
                    self.console.dim(format_args!(
                        "'{}' is neither a number nor the beginning of one id of these",
                        escape::line(&text)
                    ))?;
                }
                key => {
                    let key = key.to_string();
                    let key = escape::line(&key);
                    self.console
                        .dim(format_args!("'{key}' does nothing here; ? lists the keys"))?;
                }
            }
        }
    }

    /// Groups of open proposals, each with its letter and answers.
    fn groups(&mut self) -> Vec<Group> {
        let mut groups = self.host.overview();
        let slots = self.session.slots();
        let slot = |row: &Row| row.number.and_then(|number| slots.get(number - 1));
        let is_behind =
            |slot: &ReviewSlot| slot.done || matches!(slot.verdict(), Verdict::Gone { .. });
        for group in &mut groups {
            group.rows.retain(|row| !slot(row).is_some_and(is_behind));
            for row in &mut group.rows {
                // Answers of this session replace saved ones.
                if let Some(slot) = slot(row).filter(|slot| slot.review.is_some()) {
                    row.answer = slot.intent().map(Intent::label);
                }
            }
        }
        groups.retain(|group| !group.rows.is_empty());
        let reviewed = groups.iter_mut().filter(|g| g.rows.iter().any(|row| row.number.is_some()));
        for (group, letter) in reviewed.zip(LETTERS) {
            group.key = Some(letter);
        }
        groups
    }

    fn show_board(&mut self, groups: &[Group]) -> Result<()> {
        let rows = self.console.measure();
        let is_open = |row: &&Row| row.number.is_some();
        let all = groups.iter().flat_map(|group| &group.rows).filter(is_open).count();
        let options = &self.console.options;
        // Title, question of at most two lines, and cursor line.
        let text = overview::overview(groups, &options.palette, options.columns, rows.max(12) - 5);
        let title = options.palette.paint(Role::Title, format!("{all} pending"));
        self.console.write(&format!("\n{title}\n{text}"))
    }

    /// Finds a proposal by its number or id prefix.
    fn named(&self, text: &str) -> Option<usize> {
        let slots = self.session.slots();
        if let Some(at) = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1))
            && text.len() < 4
        {
            return (at < slots.len()).then_some(at);
        }
        let code = text.strip_prefix("prop_").unwrap_or(text).to_ascii_lowercase();
        let is_it = |at: &usize| slots[*at].ticket.id.as_str()["prop_".len()..].starts_with(&code);
        let mut found = (0..slots.len()).filter(is_it);
        let first = found.next().filter(|_| !code.is_empty());
        let by_number =
            || text.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < slots.len());
        first.filter(|_| found.next().is_none()).or_else(by_number)
    }

    fn decide_on_group(&mut self, groups: &[Group], applies: bool) -> AskResult<()> {
        let Some(group) = self.choose_group(groups)? else { return Ok(()) };
        let slots = self.session.slots();
        let places = group.rows.iter().filter_map(|row| row.number).map(|number| number - 1);
        let is_fresh = |slot: &ReviewSlot| {
            slot.intent().is_none() && (slot.review.is_some() || slot.ticket.answers.is_none())
        };
        let (fresh, begun): (Vec<usize>, Vec<usize>) = places.partition(|at| is_fresh(&slots[*at]));
        if !begun.is_empty() {
            let (plural, verb) = if begun.len() == 1 { ("", "is") } else { ("s", "are") };
            self.console.dim(format_args!(
                "{} proposal{plural} of the group that you have begun {verb} not among these",
                begun.len()
            ))?;
        }
        if fresh.is_empty() {
            return Ok(());
        }
        let verdict = if applies {
            Verdict::Apply
        } else {
            let asked = "Reject them because (Esc: do not): ";
            let Some(reason) = self.console.reason(asked)? else { return Ok(()) };
            Verdict::Reject { reason }
        };
        let slots = self.session.slots();
        let (marked, plain): (Vec<usize>, Vec<usize>) =
            fresh.iter().partition(|at| applies && !slots[**at].ticket.marks.is_empty());
        let goes_on = plain.is_empty() || self.decide_on(group, &plain, &verdict, marked.len())?;
        if goes_on && !marked.is_empty() {
            self.decide_on(group, &marked, &verdict, 0)?;
        }
        Ok(())
    }

    fn choose_group<'g>(&mut self, groups: &'g [Group]) -> AskResult<Option<&'g Group>> {
        let lettered: Vec<&Group> = groups.iter().filter(|group| group.key.is_some()).collect();
        let (Some(first), Some(last)) = (lettered.first(), lettered.last()) else {
            return Ok(None);
        };
        if lettered.len() == 1 {
            return Ok(Some(first));
        }
        let letter = |group: &Group| group.key.unwrap_or_default();
        let key =
            self.console.key(&format!("Which group [{}-{}]? ", letter(first), letter(last)))?;
        let found = lettered.iter().find(|group| group.key == Some(key)).copied();
        if found.is_none() {
            self.console.dim("no group is called that; nothing is decided")?;
        }
        Ok(found)
    }

    /// Shows the outcome for these members of the group, asks once, and writes it. `left_out` more
    /// carry marks and get their own question. False if the answer was no.
    fn decide_on(
        &mut self,
        group: &Group,
        places: &[usize],
        verdict: &Verdict,
        left_out: usize,
    ) -> AskResult<bool> {
        let applies = *verdict == Verdict::Apply;
        let slots = self.session.slots();
        let order = |at: &usize| DecisionOrder {
            id: slots[*at].ticket.id.clone(),
            revision: slots[*at].ticket.revision.clone(),
            verdict: verdict.clone(),
            rest: Vec::new(),
            edited: false,
            comments: Vec::new(),
            approve_foreign: false,
            // A group is rejected without showing its lines.
            unshown_lines: slots[*at].ticket.lines,
            group: None,
        };
        let orders: Vec<DecisionOrder> = places.iter().map(order).collect();
        let lines =
            orders.iter().fold(0, |sum: u64, order| sum.saturating_add(order.unshown_lines));
        let planned = self.host.plan(&orders)?;
        let all = places.iter().zip(orders).zip(planned);
        let all = all.map(|((at, order), outlook)| PlannedDecision { at: *at, order, outlook });
        let all: Vec<PlannedDecision> = all.collect();
        let unshown = self.show_last(&all)?;
        let (mut decided, mut unshown): (Vec<PlannedDecision>, Vec<UnshownLines>) =
            all.into_iter().zip(unshown).filter(|(one, _)| one.decides()).unzip();
        if decided.is_empty() {
            self.console.say("None of them can be applied as it is.")?;
            return Ok(true);
        }
        let digest = self.host.group(&decided.iter().map(|one| &one.order).collect::<Vec<_>>())?;
        let subject = if applies {
            subject(group, &decided)
        } else {
            format!("{} ({lines} changed lines)", counted(group, decided.len()))
        };
        let slots = self.session.slots();
        let marks = decided.iter().map(|one| slots[one.at].ticket.marks.as_slice());
        let marks = match left_out {
            0 => in_question(marks),
            1 => ", without 1 that carries marks".to_owned(),
            more => format!(", without {more} that carry marks"),
        };
        if outlooks(&decided).iter().any(|(_, outlook)| !outlook.foreign.is_empty()) {
            let text = "the other changes in these files are recorded as not approved";
            self.console.tell(Role::Warn, text)?;
        }
        let keys = Key::applying([
            (true, 'y', if applies { "apply them, each as a whole" } else { "reject them" }),
            (applies, 'p', "all that will be written, in the pager"),
            (true, 'n', "decide nothing now"),
        ]);
        let question = format!("{subject}{marks}: {}", if applies { "apply" } else { "reject" });
        if self.ask_last(&question, &keys, &decided, &mut unshown)? != 'y' {
            return Ok(false);
        }
        for (one, unshown) in decided.iter_mut().zip(&unshown) {
            one.order.group = Some(digest.clone());
            if applies {
                one.order.unshown_lines = unshown.own;
            }
        }
        self.carry_out(decided)?;
        Ok(true)
    }
}

/// `12 proposals by claude · T-2, +84 −31 in 9 files`, counting only what is written.
fn subject(group: &Group, decided: &[PlannedDecision]) -> String {
    let (mut counts, mut files) = (Counts::default(), BTreeSet::new());
    for (_, outlook) in outlooks(decided) {
        for entry in entries(&outlook.changes).iter().chain(&entries(&outlook.already)) {
            counts += entry.counts();
            files.insert(entry.path.clone());
        }
    }
    let files = text::counted(files.len(), "file");
    format!("{}, {counts} in {files}", counted(group, decided.len()))
}

fn counted(group: &Group, count: usize) -> String {
    format!("{} by {}", text::counted(count, "proposal"), escape::name(&group.title))
}

fn board_keys(writes: bool) -> Vec<Key> {
    Key::applying([
        (true, 'A', "apply a group, in one question"),
        (true, 'R', "reject a group, with one reason"),
        (writes, 'W', "write what is decided so far"),
        (true, 'q', "quit: write, keep or drop what is decided"),
        (true, '?', "help"),
    ])
}

fn marks_explained(options: &crate::render::diff::Options) -> String {
    let mut out = String::new();
    let text = "!  carries marks: what deserves a second look, as a secret, a file of CI or a deletion; a\n   \
                group is applied without these, and they are asked about apart\n\
                conflict  does not fit the files as they are\n\
                ↳ id  stands on that proposal: that one first\n\
                ⇄ id  changes the same lines as that one: one of them only\n\
                ✓ ✗1  it was tried, and passed or failed";
    screen::push_wrapped(&mut out, options, Role::Plain, text);
    out
}
