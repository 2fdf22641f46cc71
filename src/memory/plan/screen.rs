//! Every string of a request that would be kept, looked over: secrets, unsafe text,
//! forged markers.

use super::Planner;
use crate::memory::guard::{self, Found, Screened};
use crate::memory::markdown;
use crate::memory::problem::Problem;
use crate::memory::request::Operation;
use crate::memory::settings::Approval;

impl Planner<'_> {
    /// The request's own strings.
    pub(super) fn screen_request(&mut self) {
        let request = self.request;
        let mut texts: Vec<(String, &str)> = Vec::new();
        if let Some(rationale) = &request.rationale {
            texts.push(("rationale".into(), rationale));
        }
        for (i, source) in request.sources.iter().enumerate() {
            if let Some(reference) = &source.reference {
                texts.push((format!("sources[{i}]"), reference));
            }
        }
        if let Some(owner) = &request.owner {
            for (name, text) in [
                ("owner.id", &owner.id),
                ("owner.kind", &owner.kind),
                ("owner.op_id", &owner.op_id),
            ] {
                if let Some(text) = text {
                    texts.push((name.into(), text));
                }
            }
        }
        for (field, text) in texts {
            let one_line = field != "rationale";
            self.screen(None, "", &field, text, one_line);
        }
    }

    pub(super) fn screen_operation(&mut self, i: usize, operation: &Operation) {
        let lines: [(&str, Option<&str>); 7] = [
            ("path", Some(&operation.path)),
            ("section_id", operation.section_id.as_deref()),
            ("heading", operation.heading.as_deref()),
            ("parent_section_id", operation.parent_section_id.as_deref()),
            ("archive_path", Some(&operation.archive_path)),
            ("new_heading", Some(&operation.new_heading)),
            ("reason", operation.reason.as_deref()),
        ];
        for (field, text) in lines {
            if let Some(text) = text {
                self.screen(Some(i), "", field, text, true);
            }
        }
        for (field, text) in
            [("content", &operation.content), ("replacement", &operation.replacement)]
        {
            let committed = self.committed(&operation.path, text);
            self.screen(Some(i), &committed, field, text, false);
            self.refuse_forged_markers(i, field, text);
        }
    }

    /// The file at `path` as HEAD has it, where that matters for `text`: for regions that are left
    /// out of the secret scan.
    pub(super) fn committed(&self, path: &str, text: &str) -> String {
        if !text.contains("@secret-scan") {
            return String::new();
        }
        self.world.sources.committed(path).unwrap_or_default()
    }

    fn screen(
        &mut self,
        operation: Option<usize>,
        committed: &str,
        field: &str,
        text: &str,
        one_line: bool,
    ) {
        if text.is_empty() {
            return;
        }
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
        let Screened { mut blocking, excused, warnings, allowed_regions } =
            self.world.guard.screen(committed, "", text);
        if one_line && text.contains('/') {
            let within = self.world.guard.screen("", "", &guard::parts(text)).blocking;
            blocking.extend(within);
            blocking.dedup();
        }
        for found in blocking {
            self.problems.push(problem_of(found, operation, field));
        }
        self.stage_orders(&warnings);
        for found in excused.into_iter().chain(warnings) {
            let place = operation.map_or(String::new(), |i| format!("operation {i}, "));
            self.warn(format!("{place}{field}, line {}: {}", found.line, found.message));
        }
        for reason in allowed_regions {
            self.router.say(Approval::Stage, "content that is to be left out of the secret scan");
            self.warn(format!(
                "{field} has a region that the secret scan is told to leave out, because: {reason}"
            ));
        }
    }

    /// What gives orders waits for a person.
    pub(super) fn stage_orders(&mut self, warnings: &[Found]) {
        if warnings.iter().any(Found::is_order) {
            self.router.say(Approval::Stage, "text that gives orders to agents");
        }
    }

    /// A marker that belongs to no heading of the content would pass for one later.
    fn refuse_forged_markers(&mut self, i: usize, field: &str, text: &str) {
        if !text.contains("@id") {
            return;
        }
        for at in markdown::parse(text).stray_markers {
            let line = markdown::lines::number_of(text, at);
            self.problems.push(
                Problem::new(
                    &crate::secrets::codes::UNSAFE_TEXT,
                    "a section marker stands where there is no heading",
                )
                .at(i)
                .field(field)
                .line(line)
                .fix("put it on the line after its heading, or show it as `code`"),
            );
        }
    }
}

fn problem_of(found: Found, operation: Option<usize>, field: &str) -> Problem {
    let mut problem =
        Problem::new(found.code, found.message).field(field).line(found.line).fix(found.fix);
    problem.operation = operation;
    problem.finding = Some(found.kind);
    problem
}
