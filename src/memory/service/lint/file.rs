//! One memory file: conflicts, ids, schema, secrets, sources.

use super::finding;
use crate::memory::guard::Guard as _;
use crate::memory::markdown::{self, fields, lines, slug};
use crate::memory::plan::check_sections;
use crate::memory::provenance::Sources as _;
use crate::memory::service::Service;
use crate::memory::service::locate::Repository;
use crate::report::{Level, Report};

impl Service<'_> {
    pub(super) fn lint_file(&self, path: &str, text: &str, report: &mut Report) {
        let Some(category) = self.settings.schema.category(path) else { return };
        let document = markdown::parse(text);
        let line_of = |at: usize| lines::number_of(text, at);
        if lines::iter(text)
            .any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))
        {
            let mut at = 0;
            for line in lines::iter(text) {
                if line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ") {
                    report.push(finding(
                        "memory_conflict",
                        Level::Error,
                        path,
                        line_of(at),
                        "conflict marker".into(),
                    ));
                }
                at += line.len();
            }
            return;
        }
        for id in document.duplicate_ids() {
            for i in document.by_id(id).into_iter().skip(1) {
                let at = document.sections[i].start();
                report.push(finding(
                    "memory_duplicate_id",
                    Level::Error,
                    path,
                    line_of(at),
                    format!("the id '{id}' occurs again"),
                ));
            }
        }
        for at in &document.stray_markers {
            report.push(finding(
                "memory_stray_marker",
                Level::Warning,
                path,
                line_of(*at),
                "an id marker without a heading".into(),
            ));
        }
        if category.server_managed {
            return;
        }
        for section in &document.sections {
            if let Some(id) = section.id.as_deref().filter(|id| !slug::is_valid(id)) {
                report.push(finding(
                    "memory_invalid_id",
                    Level::Warning,
                    path,
                    line_of(section.start()),
                    format!("'{id}' is no proper id"),
                ));
            }
        }
        for problem in check_sections(category, path, None, text) {
            let line = line_of(problem.start) + problem.line.map_or(0, |line| line - 1);
            let mut found =
                finding("memory_schema", Level::Error, path, line, problem.message.clone());
            if let Some(fix) = &problem.fix {
                found = found.hint(fix);
            }
            report.push(found);
        }
        let screened = self.guard().screen(text, "", text);
        for found in screened.blocking {
            let rule =
                if found.code.id == "unsafe_text" { "memory_unsafe_text" } else { "memory_secret" };
            report
                .push(finding(rule, Level::Error, path, found.line, found.message).hint(found.fix));
        }
        for found in screened.warnings {
            report.push(finding(
                "memory_unsafe_text",
                Level::Warning,
                path,
                found.line,
                found.message,
            ));
        }
        if category.git_tracked && category.name != "archive" {
            self.lint_sources(path, &document, report);
        }
    }

    /// Files cited in `Sources:` lines.
    fn lint_sources(&self, path: &str, document: &markdown::Document<'_>, report: &mut Report) {
        let repository = Repository(self.store);
        for i in 0..document.sections.len() {
            for field in fields::of_section(document, i) {
                if !matches!(field.name, "Sources" | "Source" | "Files") {
                    continue;
                }
                for source in field.value.split([',', ';']) {
                    let source = source
                        .trim_start_matches(['`', '*', ' '])
                        .trim_end_matches(['`', '*', ' ', '.']);
                    let source = source
                        .strip_prefix("file ")
                        .or_else(|| source.strip_prefix("file:"))
                        .unwrap_or(source)
                        .trim();
                    let looks_like_a_path = source.contains('/')
                        && !source.contains("://")
                        && !source.contains(char::is_whitespace)
                        && !source.contains(['*', '<', '{']);
                    if looks_like_a_path && let Err(why) = repository.check_file(source) {
                        let line = lines::number_of(document.source, field.at);
                        report.push(finding("memory_dead_source", Level::Warning, path, line, why));
                    }
                }
            }
        }
    }
}
