//! The overview before the first hunk: all that is pending, by agent and task, on one screen. From it one
//! begins, goes to a proposal, or decides on a group with one counted question.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::carry::Decided;
use super::confirm::{not_shown, outlooks};
use super::host::Order;
use super::last::Unshown;
use super::press::stop;
use super::{End, Stop, Terminal, screen};
use crate::changeset::entry::entries;
use crate::changeset::hunks::Counts;
use crate::changeset::marks::in_question;
use crate::error::Result;
use crate::prompt::{self, Answer, Press};
use crate::render::overview::{self, Group};
use crate::render::style::Role;
use crate::review::model::{Key, Verdict};
use crate::text::escape;

/// Letters that name groups, in the order of the groups.
const LETTERS: std::ops::RangeInclusive<char> = 'a'..='z';

impl Terminal<'_> {
    /// Shows the overview until the reviewer begins (`None`), or leaves.
    pub(super) fn board(&mut self) -> Result<Option<Stop>> {
        loop {
            let groups = self.groups();
            if groups.iter().all(|group| group.rows.iter().all(|row| row.number.is_none())) {
                return Ok(Some(Stop::Summary));
            }
            self.show_board(&groups)?;
            let keys = board_keys(self.session.slots().iter().any(|s| s.is_answered() && !s.done));
            let question = "Enter begins, a number or an id goes there";
            let asked = screen::prompt(None, question, &keys, &self.options);
            self.write(&asked)?;
            let key = match self.key(&asked)? {
                Ok(key) => key,
                Err(stop) => return Ok(Some(stop)),
            };
            match key {
                '\n' => {
                    self.say("")?;
                    return Ok(None);
                }
                'q' => {
                    self.say("q")?;
                    return Ok(Some(Stop::Quit));
                }
                'W' if keys.iter().any(|key| key.key == 'W') => {
                    self.say("W")?;
                    return Ok(Some(Stop::Summary));
                }
                'A' | 'R' => {
                    self.say(key.encode_utf8(&mut [0; 4]))?;
                    if let Some(stop) = self.decide_on_group(&groups, key == 'A')? {
                        return Ok(Some(stop));
                    }
                }
                '?' => {
                    self.say("?")?;
                    self.write(&screen::help(&keys, &self.options))?;
                    self.write(&marks_explained(&self.options))?;
                }
                key if key.is_ascii_alphanumeric() || key == '_' => {
                    self.say("")?;
                    let typed = key.to_string();
                    let line = self.keyboard.line_from("Go to (Esc: stay): ", &typed);
                    let line =
                        line.map_err(|e| crate::error::Error::io("read the terminal", &e))?;
                    match line {
                        Answer::Line(text) => match self.named(&text) {
                            Some(at) => {
                                self.session.visit(at);
                                return Ok(None);
                            }
                            None => self.dim(format_args!(
                                "'{}' is neither a number nor the beginning of one id of these",
                                escape::line(&text)
                            ))?,
                        },
                        other => {
                            self.say("")?;
                            if let Some(stop) = stop(&other) {
                                return Ok(Some(stop));
                            }
                        }
                    }
                }
                key => {
                    self.say("")?;
                    let key = key.to_string();
                    self.dim(format_args!(
                        "'{}' does nothing here; ? lists the keys",
                        escape::line(&key)
                    ))?;
                }
            }
        }
    }

    /// The groups of what is not behind yet, each with its letter and with what was said so far.
    fn groups(&mut self) -> Vec<Group> {
        let mut groups = self.host.overview();
        let slots = self.session.slots();
        for group in &mut groups {
            group.rows.retain(|row| {
                let slot = row.number.and_then(|number| slots.get(number - 1));
                slot.is_none_or(|slot| {
                    !slot.done && !matches!(slot.verdict(), Verdict::Gone { .. })
                })
            });
            for row in &mut group.rows {
                let Some(slot) = row.number.and_then(|number| slots.get(number - 1)) else {
                    continue;
                };
                let said = match slot.verdict() {
                    Verdict::Open { decided: 0, .. } if slot.comments.is_empty() => continue,
                    Verdict::Open { .. } | Verdict::Nothing => "begun",
                    Verdict::Apply | Verdict::Part(_) => "to apply",
                    Verdict::Reject { .. } => "to reject",
                    Verdict::RequestChanges { .. } => "to send back",
                    Verdict::Gone { .. } => continue,
                };
                row.marks.insert(0, (Role::Title, format!("[{said}]")));
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
        self.measure();
        let rows = self.term.size_checked().map_or(24, |(rows, _)| usize::from(rows));
        let is_open = |row: &&overview::Row| row.number.is_some();
        let all = groups.iter().flat_map(|group| &group.rows).filter(is_open).count();
        let title = format!("{all} pending");
        let options = &self.options;
        // The title, the question in two lines at most, and where the cursor comes to stand.
        let text = overview::overview(groups, &options.palette, options.columns, rows.max(12) - 5);
        let title = options.palette.paint(Role::Title, title);
        self.write(&format!("\n{title}\n{text}"))
    }

    /// The place of the proposal that `text` names: by its number, or by the beginning of its id.
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

    /// Waits for a key; Enter is a line feed.
    fn key(&mut self, asked: &str) -> Result<std::result::Result<char, Stop>> {
        loop {
            match self.keyboard.press() {
                Press::Nothing => {}
                Press::Enter => return Ok(Ok('\n')),
                Press::Pasted => self.pasted(asked)?,
                Press::Resumed => self.write(&format!("\n{asked}"))?,
                Press::Interrupt => return Ok(Err(Stop::Interrupt)),
                Press::End => {
                    self.say("")?;
                    return Ok(Err(Stop::Quit));
                }
                Press::Char(c) => return Ok(Ok(c)),
            }
        }
    }

    /// Asks which group, shows what deciding on it comes to, asks once, and writes it.
    fn decide_on_group(&mut self, groups: &[Group], applies: bool) -> Result<Option<Stop>> {
        let group = match self.choose_group(groups)? {
            Ok(Some(group)) => group,
            Ok(None) => return Ok(None),
            Err(stop) => return Ok(Some(stop)),
        };
        let slots = self.session.slots();
        let numbers: Vec<usize> = group.rows.iter().filter_map(|row| row.number).collect();
        let (fresh, begun): (Vec<usize>, Vec<usize>) =
            numbers.iter().map(|number| number - 1).partition(|at| {
                slots[*at].is_untouched() && !self.host.has_kept(&slots[*at].ticket.id)
            });
        if !begun.is_empty() {
            let (plural, verb) = if begun.len() == 1 { ("", "is") } else { ("s", "are") };
            self.dim(format_args!(
                "{} proposal{plural} of the group that you have begun {verb} not among these",
                begun.len()
            ))?;
        }
        if fresh.is_empty() {
            return Ok(None);
        }
        let verdict = match applies {
            true => Verdict::Apply,
            false => match self.reason("Reject them because (Esc: do not): ", false)? {
                Answer::Line(reason) => Verdict::Reject { reason },
                other => return Ok(stop(&other)),
            },
        };
        let slots = self.session.slots();
        let (marked, plain): (Vec<usize>, Vec<usize>) =
            fresh.iter().partition(|at| applies && !slots[**at].ticket.marks.is_empty());
        if !plain.is_empty()
            && let ControlFlow::Break(stop) =
                self.decide_on(group, &plain, &verdict, marked.len())?
        {
            return Ok(stop);
        }
        if !marked.is_empty()
            && let ControlFlow::Break(stop) = self.decide_on(group, &marked, &verdict, 0)?
        {
            return Ok(stop);
        }
        Ok(None)
    }

    fn choose_group<'g>(
        &mut self,
        groups: &'g [Group],
    ) -> Result<std::result::Result<Option<&'g Group>, Stop>> {
        let lettered: Vec<&Group> = groups.iter().filter(|group| group.key.is_some()).collect();
        let (Some(first), Some(last)) = (lettered.first(), lettered.last()) else {
            return Ok(Ok(None));
        };
        if lettered.len() == 1 {
            return Ok(Ok(Some(first)));
        }
        let letter = |group: &Group| group.key.unwrap_or_default();
        let asked = format!("Which group [{}-{}]? ", letter(first), letter(last));
        self.write(&asked)?;
        let key = match self.key(&asked)? {
            Ok(key) => key,
            Err(stop) => return Ok(Err(stop)),
        };
        self.say(key.to_string().trim())?;
        let found = lettered.iter().find(|group| group.key == Some(key)).copied();
        if found.is_none() {
            self.dim("no group is called that; nothing is decided")?;
        }
        Ok(Ok(found))
    }

    /// Shows what deciding on these of the group comes to, asks once, and writes it; `left_out` more carry
    /// marks, and are asked about apart. Breaks where the answer was no.
    fn decide_on(
        &mut self,
        group: &Group,
        places: &[usize],
        verdict: &Verdict,
        left_out: usize,
    ) -> Result<ControlFlow<Option<Stop>>> {
        let applies = *verdict == Verdict::Apply;
        let slots = self.session.slots();
        let order = |at: &usize| Order {
            id: slots[*at].ticket.id.clone(),
            revision: slots[*at].ticket.revision.clone(),
            verdict: verdict.clone(),
            rest: Vec::new(),
            edited: false,
            comments: Vec::new(),
            take_residue: false,
            // Of what is rejected as a group, no line was shown.
            unshown_lines: slots[*at].ticket.lines,
            group: None,
        };
        let orders: Vec<Order> = places.iter().map(order).collect();
        let mut lines: usize = 0;
        orders.iter().for_each(|order| lines += usize::try_from(order.unshown_lines).unwrap_or(0));
        let outlooks = self.host.plan(&orders)?;
        let all = places.iter().zip(orders).zip(outlooks);
        let all = all.map(|((at, order), outlook)| Decided { at: *at, order, outlook });
        let (mut decided, failing): (Vec<Decided>, Vec<Decided>) = all.partition(Decided::decides);
        let limit = self.measure();
        let mut unshown = self.show_last(&decided, limit)?;
        for one in &failing {
            if let Some(Err(error)) = &one.outlook {
                self.not_written(&format!("{} stays pending", one.order.id), error)?;
            }
        }
        if decided.is_empty() {
            self.say("None of them can be applied as it is.")?;
            return Ok(ControlFlow::Continue(()));
        }
        let digest = self.host.group(&decided.iter().map(|one| &one.order).collect::<Vec<_>>())?;
        let subject = match applies {
            true => subject(group, &decided),
            false => format!("{} ({lines} changed lines)", counted(group, decided.len())),
        };
        let slots = self.session.slots();
        let marks = decided.iter().map(|one| slots[one.at].ticket.marks.as_slice());
        let marks = match left_out {
            0 => in_question(marks),
            1 => ", without 1 that carries marks".to_owned(),
            more => format!(", without {more} that carry marks"),
        };
        let holds = |one: &Decided| matches!(&one.outlook, Some(Ok(it)) if !it.foreign.is_empty());
        if decided.iter().any(holds) {
            let text = "the other changes in these files are recorded as not approved";
            self.tell(Role::Warn, text)?;
        }
        let keys = Key::applying([
            (true, 'y', if applies { "apply them, each as a whole" } else { "reject them" }),
            (applies, 'p', "all that will be written, in the pager"),
            (true, 'n', "decide nothing now"),
        ]);
        prompt::forget_typed_ahead();
        loop {
            let question = match applies {
                true => format!("{subject}{marks}: apply{}", not_shown(&unshown)),
                false => format!("{subject}{marks}: reject"),
            };
            let key = match self.answer(&question, &keys)? {
                ControlFlow::Continue(key) => key,
                ControlFlow::Break(End::Interrupted) => {
                    return Ok(ControlFlow::Break(Some(Stop::Interrupt)));
                }
                ControlFlow::Break(_) => return Ok(ControlFlow::Break(Some(Stop::Quit))),
            };
            match key {
                'y' => break,
                'p' if applies => {
                    self.page_last(&decided)?;
                    unshown.fill(Unshown::default());
                }
                'n' | 'q' => return Ok(ControlFlow::Break(None)),
                '?' => self.write(&screen::help(&keys, &self.options))?,
                _ => {}
            }
        }
        for (one, unshown) in decided.iter_mut().zip(&unshown) {
            one.order.group = Some(digest.clone());
            if applies {
                one.order.unshown_lines = unshown.own;
            }
        }
        self.carry_out(decided)?;
        Ok(ControlFlow::Continue(()))
    }
}

/// `12 proposals by claude · T-2, +84 −31 in 9 files`, of what will be written.
fn subject(group: &Group, decided: &[Decided]) -> String {
    let (mut counts, mut files) = (Counts::default(), BTreeSet::new());
    for (_, outlook) in outlooks(decided) {
        for entry in entries(&outlook.changes).iter().chain(&entries(&outlook.already)) {
            counts += entry.counts();
            files.insert(entry.path.clone());
        }
    }
    let plural = if files.len() == 1 { "" } else { "s" };
    format!("{}, {counts} in {} file{plural}", counted(group, decided.len()), files.len())
}

fn counted(group: &Group, count: usize) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} proposal{plural} by {}", escape::name(&group.title))
}

fn board_keys(writes: bool) -> Vec<Key> {
    Key::applying([
        (true, 'A', "apply a group, in one question"),
        (true, 'R', "reject a group, with one reason"),
        (writes, 'W', "write what is decided so far"),
        (true, 'q', "quit; what was decided is kept"),
        (true, '?', "help"),
    ])
}

/// What the marks of the overview and of lists mean.
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
