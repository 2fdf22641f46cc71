//! Checks of an operation's content and its effect on the file.

use std::ops::Range;

use super::target::same_heading;
use super::{OperationProblems, OperationTarget};
use crate::memory::codes;
use crate::memory::markdown::{self, Document, Section, edit, lines, slug};
use crate::memory::plan::validate::check_sections;
use crate::memory::problem::{Problem, brief};
use crate::memory::request::{Edit, Heading};
use crate::memory::settings::Category;

/// Accepts one whole section: it begins with a heading of `level` and has no other of that level or
/// higher.
pub(super) fn check_whole_section(
    field: &str,
    content: &str,
    level: Option<u8>,
) -> Result<(), OperationProblems> {
    check_closed(field, content)?;
    let document = markdown::parse(content);
    let mut problems = Vec::new();
    let mut wrong = |message: String, at: usize, fix: String| {
        problems.push(wrong_markdown(field, content, at, message, fix));
    };
    let sharps = "#".repeat(level.unwrap_or(2).into());
    let Some(first) = document.sections.first() else {
        wrong("there is no heading".into(), 0, format!("begin with `{sharps} Heading`"));
        return Err(OperationProblems(problems));
    };
    if document.start > 0 || !content[..first.start()].trim().is_empty() {
        let fix = format!("begin with `{sharps} {}`", brief(&first.heading));
        wrong("there is text before the heading".into(), 0, fix);
    }
    if first.heading.is_empty() {
        wrong("the heading is empty".into(), first.start(), "give it a text".into());
    }
    if let Some(level) = level
        && first.level != level
    {
        let message = format!("the heading is of level {}, not {level}", first.level);
        wrong(message, first.start(), format!("write `{sharps} {}`", brief(&first.heading)));
    }
    for section in document.sections.iter().skip(1).filter(|s| s.level <= first.level) {
        let message = format!("a second section begins: '{}'", brief(&section.heading));
        let fix = "one section per operation; use deeper headings inside it".into();
        wrong(message, section.start(), fix);
    }
    problems.extend(bad_ids(field, &document));
    OperationProblems::unless_none(problems)
}

/// Accepts only headings deeper than `level`. Returns true if there are any.
pub(super) fn check_inner(
    field: &str,
    content: &str,
    level: u8,
) -> Result<bool, OperationProblems> {
    check_closed(field, content)?;
    let document = markdown::parse(content);
    let mut problems = Vec::new();
    if document.start > 0 {
        let message = "front matter cannot stand inside a section".to_owned();
        problems.push(wrong_markdown(field, content, 0, message, "leave it out".into()));
    }
    for section in document.sections.iter().filter(|s| s.level <= level) {
        let message = format!(
            "the heading '{}' would end the section it is put into",
            brief(&section.heading)
        );
        let fix = format!("use a level deeper than {level}, or append_section");
        problems.push(wrong_markdown(field, content, section.start(), message, fix));
    }
    problems.extend(bad_ids(field, &document));
    OperationProblems::unless_none(problems)?;
    Ok(!document.sections.is_empty())
}

fn wrong_markdown(field: &str, content: &str, at: usize, message: String, fix: String) -> Problem {
    let line = lines::number_of(content, at);
    Problem::new(&codes::INVALID_MARKDOWN, message).field(field).line(line).fix(fix)
}

pub(super) fn bad_ids(field: &str, document: &Document<'_>) -> Vec<Problem> {
    let wrong = |section: &Section| {
        let id = section.id.as_deref().filter(|id| !slug::is_valid(id))?;
        let message = format!("'{}' cannot be an id", brief(id));
        let at = section.marker.as_ref().map_or(section.start(), |marker| marker.start);
        let fix = "use at most 64 letters, digits and hyphens".to_owned();
        Some(wrong_markdown(field, document.source, at, message, fix))
    };
    document.sections.iter().filter_map(wrong).collect()
}

/// Schema problems of a whole section that could not be written.
pub(super) fn check_fields(here: &OperationTarget<'_>) -> Vec<Problem> {
    let is_entry = match here.edit {
        Edit::AppendSection { parent, heading, .. } => {
            parent.is_none() && heading.level.is_none_or(|level| level == 2)
        }
        Edit::CreateFile { .. } => true,
        _ => false,
    };
    let content = here.edit.content();
    if !is_entry || content.trim().is_empty() {
        return Vec::new();
    }
    // Ids are assigned on writing.
    let category = Category { section_id_required: false, ..here.category.clone() };
    check_sections(&category, here.path, None, content)
}

pub(super) fn with_heading(heading: &Heading, content: &str) -> Result<String, OperationProblems> {
    let parsed = markdown::parse(content);
    let whole = match &heading.text {
        Some(text) if !parsed.begins_with_heading() => {
            let sharps = "#".repeat(heading.level.unwrap_or(2).into());
            format!("{sharps} {}\n\n{content}", text.trim_matches(['#', ' ']))
        }
        _ => content.to_owned(),
    };
    check_whole_section("content", &whole, heading.level)?;
    match &heading.text {
        Some(text) if !same_heading(&markdown::parse(&whole), 0, text) => {
            let message = format!(
                "the content begins with the heading '{}', not '{}'",
                brief(&parsed.sections[0].heading),
                brief(text)
            );
            let fix = "give the heading once: in `heading`, or as the first line of `content`";
            Err(wrong_markdown("content", content, 0, message, fix.to_owned()).into())
        }
        _ => Ok(whole),
    }
}

pub(super) fn check_id_kept(
    field: &str,
    content: &str,
    id: Option<&str>,
) -> Result<(), OperationProblems> {
    let document = markdown::parse(content);
    match (&document.sections[0].id, id) {
        (Some(new), Some(old)) if new != old => {
            let message = format!("the marker says '{new}', but the section is '{old}'");
            let problem = Problem::new(&codes::VALIDATION_FAILED, message).field(field).line(2);
            Err(problem.section(old).fix("ids stay: drop the marker, or make it the same").into())
        }
        _ => Ok(()),
    }
}

fn ensure(holds: bool, field: &str, message: &str, fix: &str) -> Result<(), OperationProblems> {
    if holds {
        return Ok(());
    }
    Err(Problem::new(&codes::INVALID_MARKDOWN, message).field(field).fix(fix).into())
}

/// Refuses empty content and open constructs.
pub(super) fn check_closed(field: &str, content: &str) -> Result<(), OperationProblems> {
    ensure(!content.trim().is_empty(), field, "there is nothing but whitespace", "give it a text")?;
    let why = "a code fence, a comment or an HTML block is never closed, so it would swallow what \
               follows";
    ensure(markdown::parse(content).is_closed(), field, why, "close it")
}

/// Refuses a file that ends inside an open construct.
pub(super) fn check_open_end(document: &Document<'_>) -> Result<(), OperationProblems> {
    let why = "the file ends inside a code fence, a comment or an HTML block";
    ensure(document.is_closed(), "path", why, "close it by hand")
}

/// Refuses changes outside the sections `touched`.
pub(super) fn guard_others(
    before: &Document<'_>,
    touched: Range<usize>,
    after: &Document<'_>,
) -> Result<(), OperationProblems> {
    let fix = "close code fences and comments, and use deeper headings inside a section";
    let keeps_others = edit::keeps_others(before, touched, after);
    ensure(keeps_others, "content", "the edit would change sections around it", fix)
}

/// Names the line of the content that brings the duplicate.
pub(super) fn duplicate(after: &Document<'_>, here: &OperationTarget<'_>) -> Option<Problem> {
    let id = *after.duplicate_ids().first()?;
    let message = format!("'{}' would be the id of two sections in {}", brief(id), here.path);
    let mut problem = Problem::new(&codes::DUPLICATE_SECTION_ID, message)
        .field("content")
        .fix("leave the marker out to get a free id, or edit the section that has it")
        .section(brief(id));
    let content = markdown::parse(here.edit.content());
    let brings = content.by_id(id).last().and_then(|i| content.sections[*i].marker.clone());
    problem.line = brings.map(|marker| lines::number_of(content.source, marker.start));
    Some(problem)
}

pub(in crate::memory::plan) fn has_conflict_markers(text: &str) -> bool {
    let has = |mark: &str| lines::iter(text).any(|line| line.starts_with(mark));
    has("<<<<<<< ") && has(">>>>>>> ")
}
