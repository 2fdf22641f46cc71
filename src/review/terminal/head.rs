//! The header above a proposal's first hunk. Pure; escapes everything from a proposal.

use std::collections::BTreeMap;

use super::earlier_comments;
use super::host::{Content, EarlierComment, Header, Related, RelatedAs};
use super::screen::{inner, push_wrapped};
use crate::changeset::change_entry::{ChangeEntry, entries};
use crate::changeset::hunks::Counts;
use crate::changeset::marks::Mark;
use crate::proposal::ProposalId;
use crate::render::diff::Options;
use crate::render::style::Role;
use crate::render::width;
use crate::text::{counted, escape};

/// Characters of a description or comment.
const LONGEST_TEXT: usize = 2000;

/// Lines of a suggestion or quote.
const MOST_LINES: usize = 6;

/// Marks of one word.
const MOST_OF_A_WORD: usize = 3;

const MOST_WARNINGS: usize = 5;

pub(super) fn header(
    content: &Content,
    counter: &str,
    taken: &BTreeMap<ProposalId, bool>,
    options: &Options,
) -> String {
    let Header { id, prefix, .. } = &content.header;
    let head = &content.header;
    let palette = &options.palette;
    let mut out = String::from("\n");
    let (short, rest) = id.split_at((5 + prefix).min(id.len()));
    out += &palette.paint(Role::Title, format_args!("({counter}) "));
    out += &palette.paint(Role::IdPrefix, short);
    out += &palette.paint(Role::Id, rest);
    out += "  ";
    out += &format!("by {}", escape::name(&head.proposed_by));
    if let Some(name) = &head.recorded_by {
        out += &format!(", recorded by {}", escape::name(name));
    }
    out.push('\n');
    let mut counts = Counts::default();
    let files = entries(content.counted());
    for entry in &files {
        counts += entry.counts();
    }
    let is_by_lines = !files.iter().any(ChangeEntry::is_whole);
    let lines = if is_by_lines { counts.to_string() } else { "+? −?".to_owned() };
    let mut facts = vec![
        head.age.clone(),
        format!("expires {}", head.expiry),
        format!("base: {}", head.base),
        format!("{lines} in {}", counted(files.len(), "file")),
    ];
    if head.revision > 1 {
        let by = head.revised_by.as_ref().map(|name| format!(" by {}", escape::name(name)));
        facts.push(format!("revision {}{}", head.revision, by.unwrap_or_default()));
    }
    facts.extend(head.domain.as_ref().map(|domain| format!("domain {domain}")));
    facts.extend(head.task.as_ref().map(|task| format!("task {task}")));
    facts.extend(head.check.clone());
    push_facts(&mut out, options, &facts);
    if let Some((name, verdict)) = &head.mark {
        let text = format!("! marked {verdict} by a tool, not approved ({})", escape::name(name));
        push_wrapped(&mut out, options, Role::Warn, &text);
    }
    out += &marks(&head.marks, options, true);
    for related in &head.related {
        let (role, text) = relation(related, taken);
        push_wrapped(&mut out, options, role, &text);
    }
    for warning in head.warnings.iter().take(MOST_WARNINGS) {
        push_wrapped(&mut out, options, Role::Warn, &format!("! {}", escape::line(warning)));
    }
    if head.warnings.len() > MOST_WARNINGS {
        let more = format!("! and {} more, p shows them", head.warnings.len() - MOST_WARNINGS);
        push_wrapped(&mut out, options, Role::Warn, &more);
    }
    if let Some(reason) = &head.changes_requested {
        let text = format!("! changes were requested: {}", escape::line(reason));
        push_wrapped(&mut out, options, Role::Warn, &text);
    }
    if let Some(text) = &head.description {
        push_wrapped(&mut out, options, Role::Plain, &cut(text));
    }
    for (name, text) in &head.notes {
        let role = if *name == "warning" { Role::Warn } else { Role::Plain };
        push_wrapped(&mut out, options, role, &format!("{name}: {}", cut(text)));
    }
    let (here, there): (Vec<&EarlierComment>, Vec<&EarlierComment>) =
        head.comments.iter().partition(|said| content.shows_at_lines(said));
    for said in there {
        let text = format!("{}: {}", earlier_comments::heading(said), cut(&said.body));
        push_wrapped(&mut out, options, Role::Comment, text.trim_end_matches(": "));
        out += &earlier_comments::lines(said, options, MOST_LINES);
    }
    if !here.is_empty() {
        let text = format!("{} at the lines they are about", counted(here.len(), "comment"));
        push_wrapped(&mut out, options, Role::Comment, &text);
    }
    out
}

/// One line a mark; if `limited`, only the first of each word.
pub(super) fn marks(marks: &[Mark], options: &Options, limited: bool) -> String {
    let (mut out, mut of_word, mut left_out) = (String::new(), (None, 0), false);
    for mark in marks {
        of_word = match of_word {
            (word, count) if word == Some(mark.mark) => (word, count + 1),
            _ => (Some(mark.mark), 1),
        };
        if limited && of_word.1 > MOST_OF_A_WORD {
            left_out = true;
            continue;
        }
        let text = format!("! {}", escape::line(&mark.text()));
        push_wrapped(&mut out, options, Role::Warn, &text);
    }
    if left_out {
        push_wrapped(&mut out, options, Role::Warn, "! and more, p shows them");
    }
    out
}

/// `taken` as from `Terminal::taken`.
fn relation(related: &Related, taken: &BTreeMap<ProposalId, bool>) -> (Role, String) {
    let Related { id, proposed_by, how } = related;
    let other = format!("{id} by {}", escape::name(proposed_by));
    match (how, taken.get(id)) {
        (RelatedAs::Below, Some(_)) => {
            (Role::Plain, format!("↳ depends on {other}, which you took"))
        }
        (RelatedAs::Below, None) => (Role::Warn, format!("↳ depends on {other}: that one first")),
        (RelatedAs::BelowRevised, _) => {
            (Role::Warn, format!("↳ depends on an earlier revision of {other}"))
        }
        (RelatedAs::SameLines, Some(true)) => {
            let text =
                format!("⇄ you took {other}, which changes the same lines: one of them only");
            (Role::Warn, text)
        }
        (RelatedAs::SameLines, Some(false)) => {
            (Role::Plain, format!("⇄ same lines as a hunk of {other} that you did not take"))
        }
        (RelatedAs::SameLines, None) => {
            (Role::Warn, format!("⇄ same lines as {other}: one of them only"))
        }
        (RelatedAs::Neighbouring, _) => {
            (Role::Plain, format!("⇄ next to lines of {other}: both can be applied"))
        }
    }
}

pub(super) fn is_cut(text: &str) -> bool {
    text.chars().count() > LONGEST_TEXT
}

/// Escapes and cuts text of a proposal, with a count of the rest.
fn cut(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST_TEXT {
        return escape::block(text).replace('\t', "    ");
    }
    let head: String = text.chars().take(LONGEST_TEXT).collect();
    let head = escape::block(&head).replace('\t', "    ");
    format!("{head} … {} more characters, p shows them", count - LONGEST_TEXT)
}

fn push_facts(out: &mut String, options: &Options, facts: &[String]) {
    let mut line = String::new();
    for fact in facts {
        let fact = escape::line(fact);
        if !line.is_empty() && width::of(&line) + 3 + width::of(&fact) > inner(options) {
            push_wrapped(out, options, Role::Dim, &std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line += " · ";
        }
        line += &fact;
    }
    push_wrapped(out, options, Role::Dim, &line);
}
