//! Finds the section that an operation names.

use super::{OperationTarget, Subtree};
use crate::memory::codes;
use crate::memory::markdown::{Document, Section};
use crate::memory::problem::{Problem, brief};
use crate::memory::request::Target;
use crate::spelling::did_you_mean;

/// Sections that a hint lists.
const MOST_NAMED: usize = 100;

pub(super) enum TargetError {
    /// No such section: `replace_section` may add it.
    Absent(Problem),
    /// Several sections match.
    Ambiguous(Problem),
}

impl OperationTarget<'_> {
    pub(super) fn find(&self, target: &Target) -> Result<Subtree, TargetError> {
        let (path, document) = (self.path, &self.document);
        if !self.exists {
            let message = format!("there is no file {path}");
            return Err(TargetError::Absent(
                Problem::new(&codes::PLAN_FAILED, message)
                    .field("path")
                    .fix("create it with create_file, or check the path"),
            ));
        }
        let at = match target {
            Target::Id(id) => by_id(document, path, id, "section_id")?,
            Target::Heading { text, level, occurrence } => {
                let of_it = |&i: &usize| {
                    same_heading(document, i, text)
                        && level.is_none_or(|level| document.sections[i].level == level)
                };
                let found: Vec<usize> = (0..document.sections.len()).filter(of_it).collect();
                match (&found[..], occurrence.map(|n| found.get(n as usize - 1))) {
                    (_, Some(Some(at))) => *at,
                    ([one], None) => *one,
                    ([], _) => {
                        let heading = |s: &Section| Some(s.heading.clone());
                        let problem = not_found(document, path, text, "heading", heading);
                        return Err(TargetError::Absent(problem));
                    }
                    (many, _) => {
                        let (count, text) = (many.len(), brief(text));
                        let message = format!("'{text}' occurs {count} time(s) in {path}");
                        return Err(TargetError::Ambiguous(
                            Problem::new(&codes::PLAN_FAILED, message).field("heading").fix(
                                format!(
                                    "say which by section_id, or by an occurrence of 1 to {count}"
                                ),
                            ),
                        ));
                    }
                }
            }
        };
        Ok(self.subtree(at))
    }
}

pub(super) fn by_id(
    document: &Document<'_>,
    path: &str,
    id: &str,
    field: &str,
) -> Result<usize, TargetError> {
    match document.by_id(id).as_slice() {
        [one] => Ok(*one),
        [] => document.ids().iter().position(|other| other == id).ok_or_else(|| {
            TargetError::Absent(
                not_found(document, path, id, field, |s| s.id.clone()).section(brief(id)),
            )
        }),
        many => {
            let message = format!("'{id}' is the id of {} sections in {path}", many.len());
            Err(TargetError::Ambiguous(
                Problem::new(&codes::DUPLICATE_SECTION_ID, message)
                    .field(field)
                    .section(id)
                    .fix("give them different ids by hand; `aye memory lint` shows where"),
            ))
        }
    }
}

fn not_found(
    document: &Document<'_>,
    path: &str,
    wanted: &str,
    field: &str,
    name: impl Fn(&Section) -> Option<String>,
) -> Problem {
    let names: Vec<String> = document.sections.iter().filter_map(name).collect();
    let fix = if names.is_empty() {
        format!("{path} has no such sections; add one with append_section")
    } else {
        did_you_mean(wanted, names.iter().take(MOST_NAMED).map(String::as_str))
    };
    Problem::new(&codes::PLAN_FAILED, format!("{path} has no section '{}'", brief(wanted)))
        .field(field)
        .fix(fix)
}

/// Accepts `wanted` with or without its `#` marks.
pub(super) fn same_heading(document: &Document<'_>, i: usize, wanted: &str) -> bool {
    let section = &document.sections[i];
    let given = wanted.trim();
    let bare = given.trim_start_matches('#');
    let wanted =
        if bare.len() < given.len() && bare.starts_with(' ') { bare.trim() } else { given };
    if section.heading == wanted || section.heading == given {
        return true;
    }
    let line = document.source[section.heading_line.clone()].trim();
    !section.setext && line.trim_matches('#').trim() == wanted
}
