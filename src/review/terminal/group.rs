//! One counted question about the proposals of a group.

use std::collections::BTreeSet;

use super::End;
use super::Terminal;
use super::carry_out::PlannedDecision;
use super::confirm::outlooks;
use super::console::AskResult;
use super::host::DecisionOrder;
use super::last_screen::UnshownLines;
use crate::changeset::change_entry::entries;
use crate::changeset::hunks::Counts;
use crate::changeset::marks::in_question;
use crate::prompt::{Key, short_title};
use crate::render::overview::Group;
use crate::render::style::Role;
use crate::review::model::{ReviewSlot, Verdict};
use crate::text;

impl Terminal<'_> {
    pub(super) fn decide_on_group(&mut self, group: &Group, applies: bool) -> AskResult<()> {
        let slots = self.session.slots();
        let places = group.rows.iter().filter_map(|row| row.slot);
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
            verdict: verdict.clone(),
            // A group is rejected without showing its lines.
            unshown_lines: slots[*at].ticket.lines,
            ..DecisionOrder::new(&slots[*at], slots[*at].ticket.revision.clone())
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
            self.pause()?;
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
            (true, '?', "help"),
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
        if self.carry_out(decided)? == End::Failed {
            self.pause()?;
        }
        Ok(true)
    }

    /// Gives time to read: the list replaces what is on the screen.
    pub(super) fn pause(&mut self) -> AskResult<()> {
        if self.host.redraws() {
            self.console.press("Enter goes back to the list ")?;
        }
        Ok(())
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
    format!("{} by {}", text::counted(count, "proposal"), short_title(&group.title))
}
