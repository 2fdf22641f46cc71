//! What the files must be like after all operations: size, schema, secrets in context.

use std::collections::{BTreeSet, HashSet};

use super::Planner;
use crate::error::codes::SIZE_LIMIT;
use crate::memory::codes;
use crate::memory::markdown::{self, Document, fields, slug};
use crate::memory::problem::Problem;
use crate::memory::request::OperationKind;
use crate::memory::response::AffectedSection;
use crate::memory::settings::Category;
use crate::secrets::codes as guard_codes;

impl Planner<'_> {
    /// Checks every changed file.
    pub(super) fn check_results(&mut self) {
        let limit = self.world.settings.manifest.budgets.max_file_chars;
        let states: Vec<(String, Option<String>, String)> = self
            .states
            .iter()
            .filter_map(|(path, state)| {
                let before = self.originals.get(path).cloned().flatten();
                let after = state.clone()?;
                (before.as_ref() != Some(&after)).then(|| (path.clone(), before, after))
            })
            .collect();
        let archived: String = states
            .iter()
            .filter_map(|(_, before, _)| before.as_deref())
            .collect::<Vec<_>>()
            .join("\n");
        for (path, before, after) in &states {
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
            if let Some(category) = self.world.settings.schema.category(path) {
                let problems = check_sections(category, path, before.as_deref(), after);
                let located: Vec<Problem> =
                    problems.into_iter().map(|p| self.locate_in_content(path, p)).collect();
                self.problems.extend(located);
                // What an archived copy repeats is not new.
                let base = match before {
                    Some(before) => before.as_str(),
                    None if category.write_once => archived.as_str(),
                    None => "",
                };
                self.screen_file(path, base, after);
            }
        }
    }

    /// The last operation that touched the file at `path`.
    fn last_change_of(&self, path: &str) -> Option<usize> {
        self.last_change.iter().filter(|((file, _), _)| file == path).map(|(_, i)| *i).max()
    }

    /// Says of a problem of a section in the file which operation brought it, and where in that
    /// operation's content it is.
    fn locate_in_content(&self, path: &str, mut problem: Problem) -> Problem {
        let section = problem.section_id.clone().unwrap_or_default();
        let key = (path.to_owned(), section.clone());
        let operation = self.last_change.get(&key).copied().or_else(|| self.last_change_of(path));
        let Some(i) = operation else { return problem };
        problem.operation = Some(i);
        if self.request.operations[i].kind == OperationKind::ArchiveSection
            && let Some(fix) = &mut problem.fix
        {
            *fix = format!("the replacement is a section of {path} too: {fix}");
        }
        let content = &self.request.operations[i].content;
        let document = markdown::parse(content);
        // A section of the content, by its id or by the id that its heading gives it; else the
        // content is the inside of one.
        let at = (0..document.sections.len()).find(|&k| {
            let found = &document.sections[k];
            found.id.as_deref().is_some_and(|id| id == section)
                || found.id.is_none() && section.starts_with(&slug::slug(&found.heading))
                || found.heading == section
        });
        let field = problem.field.clone().unwrap_or_default();
        let named = match at {
            Some(k) => fields::of_section(&document, k),
            None => fields::of_text(&document),
        };
        problem.line = match named.iter().find(|found| found.name == field) {
            Some(found) => Some(markdown::lines::number_of(content, found.at)),
            None => at.map(|k| markdown::lines::number_of(content, document.sections[k].start())),
        };
        problem
    }

    /// Scans whole files, where a text may become a secret by what it is put next to.
    fn screen_file(&mut self, path: &str, before: &str, after: &str) {
        let committed = self.committed(path, after);
        let screened = self.world.guard.screen(&committed, before, after);
        let reported = |planner: &Self, kind: &str| {
            planner.problems.iter().any(|p| p.finding.as_deref() == Some(kind))
        };
        for found in screened.blocking {
            if !reported(self, &found.kind) {
                let mut problem = Problem::new(found.code, found.message)
                    .field(format!("{path} after the operations"))
                    .line(found.line)
                    .fix(found.fix);
                problem.finding = Some(found.kind);
                self.problems.push(problem);
            }
        }
        // Misleading text that is new was told of with its operation; two may make an order together.
        self.stage_orders(&screened.warnings);
        let old = screened.warnings.iter().filter(|f| f.code.id != guard_codes::UNSAFE_TEXT.id);
        for found in old {
            self.warn(format!("{path}, line {}, was there before: {}", found.line, found.message));
        }
    }
}

/// Checks the sections of `after` that `before` does not have as they are. `before: None` checks
/// every section, as for a new file and for lint.
pub fn check_sections(
    category: &Category,
    path: &str,
    before: Option<&str>,
    after: &str,
) -> Vec<Problem> {
    let document = markdown::parse(after);
    let old = before.map(markdown::parse);
    let mut problems = Vec::new();
    if category.required_top_level_heading && document.sections.first().is_none_or(|s| s.level != 1)
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
        // An edit of a section that has no id does not have to give it one; lint asks for it.
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

/// Entries are what the schema's fields are about: the sections right below the file's title, or
/// at the top where there is none. The title itself is no entry, unless it carries the fields.
fn is_entry(document: &Document<'_>, i: usize, category: &Category) -> bool {
    let section = &document.sections[i];
    let is_title = |k: usize| {
        k == 0 && document.sections[k].level == 1 && {
            let found = fields::of_section(document, k);
            !category.required_fields.iter().any(|spec| found.iter().any(|f| f.name == spec.name))
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
    if category.required_fields.is_empty() && category.optional_fields.is_empty() {
        return problems;
    }
    let found = fields::of_section(document, i);
    let required = category.required_fields.iter().map(|spec| (spec, entry));
    let optional = category.optional_fields.iter().map(|spec| (spec, false));
    for (spec, required) in required.chain(optional) {
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
                "keep one, and put what belongs to another under a heading of its own".to_owned(),
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

/// Sections that one text has and the other does not have as they are, by name.
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

/// As [`touched`], the names alone.
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
