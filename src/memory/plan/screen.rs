//! Screens a request for secrets, unsafe text and forged markers.

use super::Planner;
use crate::memory::guard::{self, Screening};
use crate::memory::markdown;
use crate::memory::problem::Problem;
use crate::memory::request::{Operation, RequestText};
use crate::memory::settings::Approval;

impl Planner<'_> {
    pub(super) fn screen_request(&mut self) {
        for RequestText { field, text } in &self.request.texts {
            self.screen(None, "", field, text);
        }
    }

    pub(super) fn screen_operation(&mut self, i: usize, operation: &Operation) {
        for RequestText { field, text } in &operation.texts {
            let committed = self.committed(&operation.path, text);
            self.screen(Some(i), &committed, field, text);
            if !is_line(field) {
                self.refuse_forged_markers(i, field, text);
            }
        }
    }

    /// Read only if `text` has regions without a secret scan.
    pub(super) fn committed(&self, path: &str, text: &str) -> String {
        if !text.contains("@secret-scan") {
            return String::new();
        }
        self.world.sources.committed(path).unwrap_or_default()
    }

    fn screen(&mut self, operation: Option<usize>, committed: &str, field: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let one_line = is_line(field);
        if one_line && let Some(at) = text.find(['\n', '\r']) {
            let mut problem = Problem::new(
                &crate::secrets::codes::UNSAFE_TEXT,
                format!("{field} has a line break at byte {at}"),
            )
            .field(field)
            .line(1)
            .fix("it has to be one line");
            problem.operation = operation;
            self.problems.push(problem);
        }
        let Screening { mut blocking, in_allowed_regions: excused, warnings, allowed_regions } =
            self.world.guard.screen(committed, "", text);
        if one_line && text.contains('/') {
            let within = self.world.guard.screen("", "", &guard::path_words(text)).blocking;
            blocking.extend(within);
            blocking.dedup();
        }
        for mut found in blocking {
            found.operation = operation;
            self.problems.push(found.field(field));
        }
        self.stage_orders(&warnings);
        for found in excused.into_iter().chain(warnings) {
            let place = operation.map_or(String::new(), |i| format!("operation {i}, "));
            let line = found.line.unwrap_or(1);
            self.warn(format!("{place}{field}, line {line}: {}", found.message));
        }
        for reason in allowed_regions {
            self.router
                .require(Approval::Stage, "content that is to be left out of the secret scan");
            self.warn(format!(
                "{field} has a region that the secret scan is told to leave out, because: {reason}"
            ));
        }
    }

    /// Text that gives orders waits for a person.
    pub(super) fn stage_orders(&mut self, warnings: &[Problem]) {
        if warnings.iter().any(guard::is_order) {
            self.router.require(Approval::Stage, "text that gives orders to agents");
        }
    }

    /// A marker without a heading could later act as a section's id.
    fn refuse_forged_markers(&mut self, i: usize, field: &str, text: &str) {
        if !text.contains("@id") {
            return;
        }
        for at in markdown::parse(text).stray_markers {
            let line = markdown::lines::number_of(text, at);
            self.problems.push(
                Problem::new(
                    &crate::secrets::codes::UNSAFE_TEXT,
                    "a section marker has no heading",
                )
                .at(i)
                .field(field)
                .line(line)
                .fix("put it on the line after its heading, or show it as `code`"),
            );
        }
    }
}

/// False for texts that keep their lines.
fn is_line(field: &str) -> bool {
    !matches!(field, "rationale" | "content" | "replacement")
}
