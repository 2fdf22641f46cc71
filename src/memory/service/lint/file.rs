//! Checks one memory file: conflicts, ids, schema, secrets, sources.

use super::finding;
use crate::memory::guard::Guard as _;
use crate::memory::markdown::{self, Document, fields, lines, slug};
use crate::memory::plan::check_sections;
use crate::memory::problem::Problem;
use crate::memory::provenance::Sources as _;
use crate::memory::service::Service;
use crate::memory::service::locate::CitedFiles;
use crate::report::{Finding, Level, Report};
use crate::secrets::codes::UNSAFE_TEXT;

impl Service<'_> {
    pub(super) fn lint_file(&self, path: &str, text: &str, report: &mut Report) {
        let Some(category) = self.settings.schema.category(path) else { return };
        let document = markdown::parse(text);
        let line_of = |at: usize| lines::number_of(text, at);
        let at = |rule, level, line, message: String| finding(rule, level, path, line, message);
        let conflicts: Vec<usize> = (1..)
            .zip(lines::iter(text))
            .filter(|(_, line)| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))
            .map(|(number, _)| number)
            .collect();
        if !conflicts.is_empty() {
            for line in conflicts {
                report.push(at("memory_conflict", Level::Error, line, "conflict marker".into()));
            }
            return;
        }
        for id in document.duplicate_ids() {
            for i in document.by_id(id).into_iter().skip(1) {
                let line = line_of(document.sections[i].start());
                report.push(at(
                    "memory_duplicate_id",
                    Level::Error,
                    line,
                    format!("the id '{id}' occurs again"),
                ));
            }
        }
        for marker in &document.stray_markers {
            let message = "an id marker without a heading".to_owned();
            report.push(at("memory_stray_marker", Level::Warning, line_of(*marker), message));
        }
        if category.server_managed {
            return;
        }
        for section in &document.sections {
            if let Some(id) = section.id.as_deref().filter(|id| !slug::is_valid(id)) {
                let message = format!("'{id}' is not a valid id");
                report.push(at(
                    "memory_invalid_id",
                    Level::Warning,
                    line_of(section.start()),
                    message,
                ));
            }
        }
        for mut problem in check_sections(category, path, None, text) {
            problem.line = Some(line_of(problem.start) + problem.line.map_or(0, |line| line - 1));
            report.push(of_problem("memory_schema", Level::Error, path, &problem));
        }
        let screened = self.guard().screen(text, "", text);
        for problem in screened.blocking {
            let is_unsafe = problem.code.id == UNSAFE_TEXT.id;
            let rule = if is_unsafe { "memory_unsafe_text" } else { "memory_secret" };
            report.push(of_problem(rule, Level::Error, path, &problem));
        }
        for problem in screened.warnings {
            report.push(of_problem("memory_unsafe_text", Level::Warning, path, &problem));
        }
        if category.is_durable() {
            for (line, why) in self.dead_sources(&document) {
                report.push(at("memory_dead_source", Level::Warning, line, why));
            }
        }
    }

    /// Missing files in `Sources:` lines: line and message.
    fn dead_sources(&self, document: &Document<'_>) -> Vec<(usize, String)> {
        let files = CitedFiles(self.store.repository());
        let sections = 0..document.sections.len();
        let cited = sections.flat_map(|i| fields::of_section(document, i));
        let cited = cited.filter(|field| matches!(field.name, "Sources" | "Source" | "Files"));
        let mut dead = Vec::new();
        for field in cited {
            for source in field.value.split([',', ';']).filter_map(cited_path) {
                if let Err(why) = files.check_file(source) {
                    dead.push((lines::number_of(document.source, field.at), why));
                }
            }
        }
        dead
    }
}

fn of_problem(rule: &'static str, level: Level, path: &str, problem: &Problem) -> Finding {
    let found = finding(rule, level, path, problem.line.unwrap_or(1), problem.message.clone());
    match &problem.fix {
        Some(fix) => found.hint(fix),
        None => found,
    }
}

/// The path in an entry of a `Sources:` line, if it looks like one.
fn cited_path(source: &str) -> Option<&str> {
    let source = source.trim_start_matches(['`', '*', ' ']).trim_end_matches(['`', '*', ' ', '.']);
    let bare = source.strip_prefix("file ").or_else(|| source.strip_prefix("file:"));
    let source = bare.unwrap_or(source).trim();
    let is_path = source.contains('/')
        && !source.contains("://")
        && !source.contains(char::is_whitespace)
        && !source.contains(['*', '<', '{']);
    is_path.then_some(source)
}
