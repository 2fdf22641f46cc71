//! Checks of the resulting files.

use std::collections::{BTreeSet, HashSet};

use super::{Planner, TextChange};
use crate::error::codes::SIZE_LIMIT;
use crate::memory::codes;
use crate::memory::markdown::{self, Document, fields, slug};
use crate::memory::problem::Problem;
use crate::memory::response::AffectedSection;
use crate::memory::settings::Category;
use crate::secrets::codes as guard_codes;

impl Planner<'_> {
    pub(super) fn check_results(&mut self) {
        let limit = self.world.settings.manifest.budgets.max_file_chars;
        let changed: Vec<TextChange> = self.changed().collect();
        let archived: Vec<&str> = changed.iter().filter_map(|it| it.before.as_deref()).collect();
        let archived = archived.join("\n");
        for TextChange { path, before, after } in &changed {
            let size = after.chars().count();
            let was = before.as_ref().map_or(0, |text| text.chars().count());
            if size > limit && size > was {
                let mut problem = Problem::new(
                    &SIZE_LIMIT,
                    format!("{path} would have {size} characters, and {limit} is the limit"),
                )
                .field("path")
                .fix("say it shorter, archive old sections, or raise budgets.max_file_chars");
                problem.operation = self.last_change_of(path);
                self.problems.push(problem);
                continue;
            }
            let Some(category) = self.world.settings.schema.category(path) else { continue };
            for mut problem in check_sections(category, path, before.as_deref(), after) {
                let section = problem.section_id.clone().unwrap_or_default();
                let last = self.last_change.get(&(path.clone(), section)).copied();
                problem.operation = last.or_else(|| self.last_change_of(path));
                // The proposer has not seen lines of the file.
                problem.line = None;
                self.problems.push(problem);
            }
            // Text that an archived copy repeats is not new.
            let base = match before {
                Some(before) => before.as_str(),
                None if category.write_once => archived.as_str(),
                None => "",
            };
            self.screen_file(path, base, after);
        }
    }

    fn last_change_of(&self, path: &str) -> Option<usize> {
        self.last_change.iter().filter(|((file, _), _)| file == path).map(|(_, i)| *i).max()
    }

    /// Text may become a secret next to other text.
    fn screen_file(&mut self, path: &str, before: &str, after: &str) {
        let committed = self.committed(path, after);
        let screened = self.world.guard.screen(&committed, before, after);
        for found in screened.blocking {
            if !self.problems.iter().any(|p| p.finding == found.finding) {
                self.problems.push(found.field(format!("{path} after the operations")));
            }
        }
        // New misleading text was reported with its operation, but two texts may form an order
        // together.
        self.stage_orders(&screened.warnings);
        let old = screened.warnings.iter().filter(|f| f.code.id != guard_codes::UNSAFE_TEXT.id);
        for found in old {
            let line = found.line.unwrap_or(1);
            self.warn(format!("{path}, line {line}, was there before: {}", found.message));
        }
    }
}

/// Checks sections that differ from `before`; all of them for a new file and for lint.
pub fn check_sections(
    category: &Category,
    path: &str,
    before: Option<&str>,
    after: &str,
) -> Vec<Problem> {
    let document = markdown::parse(after);
    let old = before.map(markdown::parse);
    let mut problems = Vec::new();
    if category.section_schema.required_top_level_heading
        && document.sections.first().is_none_or(|s| s.level != 1)
    {
        problems.push(
            Problem::new(
                &codes::VALIDATION_FAILED,
                format!("{path} has to begin with a heading of level 1"),
            )
            .field("content")
            .fix("begin the file with `# Title`"),
        );
    }
    let mut taken: BTreeSet<String> =
        document.sections.iter().filter_map(|section| section.id.clone()).collect();
    for i in 0..document.sections.len() {
        if old.as_ref().is_some_and(|old| unchanged(old, &document, i)) {
            continue;
        }
        let section = &document.sections[i];
        let first = problems.len();
        let id = super::precondition::name(&document, i);
        let had_none = |old: &Document<'_>| {
            old.sections.iter().any(|was| {
                was.id.is_none() && was.level == section.level && was.heading == section.heading
            })
        };
        // An edit need not add an id; lint asks for it.
        let is_old = old.as_ref().is_some_and(had_none);
        if category.section_id_required && section.id.is_none() && !is_old {
            let suggested = slug::unique(&section.heading, |id| taken.contains(id));
            taken.insert(suggested.clone());
            problems.push(
                Problem::new(
                    &codes::VALIDATION_FAILED,
                    format!("section '{}' of {path} has no id", section.heading),
                )
                .field("content")
                .section(id)
                .fix(format!("add the line {} after the heading", markdown::marker(&suggested))),
            );
        }
        let entry = is_entry(&document, i, category);
        problems.extend(check_fields(category, &document, i, entry, id));
        problems[first..].iter_mut().for_each(|problem| problem.start = section.start());
    }
    problems
}

fn unchanged(old: &Document<'_>, new: &Document<'_>, i: usize) -> bool {
    let section = &new.sections[i];
    let text = new.own_body(i).trim();
    (0..old.sections.len()).any(|k| {
        let other = &old.sections[k];
        other.level == section.level
            && other.id == section.id
            && (section.id.is_some() || other.heading == section.heading)
            && old.own_body(k).trim() == text
    })
}

/// Entries are the sections directly below the file's title, or at the top without a title. A title
/// with fields is itself an entry.
fn is_entry(document: &Document<'_>, i: usize, category: &Category) -> bool {
    let section = &document.sections[i];
    let required = &category.section_schema.per_section_required_fields;
    let is_title = |k: usize| {
        k == 0 && document.sections[k].level == 1 && {
            let found = fields::of_section(document, k);
            !required.iter().any(|spec| found.iter().any(|f| f.name == spec.name))
        }
    };
    match section.parent {
        None => !is_title(i),
        Some(parent) => document.sections[parent].parent.is_none() && is_title(parent),
    }
}

fn check_fields(
    category: &Category,
    document: &Document<'_>,
    i: usize,
    entry: bool,
    id: &str,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let schema = &category.section_schema;
    let required = schema.per_section_required_fields.iter().map(|spec| (spec, entry));
    let optional = schema.per_section_optional_fields.iter().map(|spec| (spec, false));
    let mut specs = required.chain(optional).peekable();
    if specs.peek().is_none() {
        return problems;
    }
    let found = fields::of_section(document, i);
    for (spec, required) in specs {
        let values: Vec<_> = found.iter().filter(|field| field.name == spec.name).collect();
        let problem = |message: String, fix: String| {
            Problem::new(&codes::VALIDATION_FAILED, message).field(&spec.name).section(id).fix(fix)
        };
        let wanted = || match (&spec.pattern, spec.allowed.is_empty()) {
            (_, false) => format!("one of: {}", spec.allowed.join(", ")),
            (Some(pattern), true) => format!("a value that matches {}", pattern.as_str()),
            (None, true) => "a value".to_owned(),
        };
        let Some(first) = values.first() else {
            if required {
                problems.push(problem(
                    format!("section '{id}' has no field {}", spec.name),
                    format!("add a line `**{}:** …` with {}", spec.name, wanted()),
                ));
            }
            continue;
        };
        if values.len() > 1 {
            problems.push(problem(
                format!("section '{id}' has the field {} {} times", spec.name, values.len()),
                "keep one, and put the rest under its own heading".to_owned(),
            ));
        }
        let fits = spec.pattern.as_ref().is_none_or(|pattern| pattern.is_match(first.value))
            && (spec.allowed.is_empty() || spec.allowed.iter().any(|v| v == first.value))
            && !(first.value.is_empty() && required);
        if !fits {
            let line = markdown::lines::number_of(document.source, first.at).saturating_sub(
                markdown::lines::number_of(document.source, document.sections[i].start()),
            ) + 1;
            problems.push(
                problem(format!("{} is '{}' in section '{id}'", spec.name, first.value), wanted())
                    .line(line),
            );
        }
    }
    problems
}

/// Sections that were added, changed or removed.
pub fn touched(path: &str, before: &str, after: &str) -> Vec<AffectedSection> {
    let (old, new) = (markdown::parse(before), markdown::parse(after));
    let (old_ids, new_ids) = (old.ids(), new.ids());
    let of = |document: &Document<'_>, ids: &[String], name: &str| {
        let is_named = |i: &usize| super::precondition::name(document, *i) == name;
        let i = (0..document.sections.len()).find(is_named)?;
        Some((ids[i].clone(), document.sections[i].heading.clone()))
    };
    let names = touched_names(&old, &new).into_iter();
    let found =
        names.filter_map(|name| of(&new, &new_ids, name).or_else(|| of(&old, &old_ids, name)));
    found
        .map(|(section_id, heading)| AffectedSection {
            file: path.to_owned(),
            section_id,
            heading: Some(heading),
        })
        .collect()
}

/// Names of [`touched`] sections.
pub(super) fn touched_names<'d>(old: &'d Document<'_>, new: &'d Document<'_>) -> Vec<&'d str> {
    let own = |document: &'d Document<'_>| -> Vec<(&'d str, &'d str)> {
        (0..document.sections.len())
            .map(|i| (super::precondition::name(document, i), document.own_text(i).trim_end()))
            .collect()
    };
    let (old, new) = (own(old), own(new));
    let known: HashSet<&(&str, &str)> = old.iter().collect();
    let names: HashSet<&str> = new.iter().map(|(name, _)| *name).collect();
    let changed = new.iter().filter(|entry| !known.contains(entry));
    let gone = old.iter().filter(|(name, _)| !names.contains(name));
    changed.chain(gone).map(|(name, _)| *name).collect()
}
