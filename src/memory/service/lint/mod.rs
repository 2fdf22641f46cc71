//! The whole store, looked over: schema, ids, conflicts, secrets, sources, age, leftovers.

mod age;
mod file;
mod leftovers;
mod settings;

use super::{Service, staging};
use crate::error::Result;
use crate::memory::DIR;
use crate::memory::plan::Files as _;
use crate::proposal::Status;
use crate::report::{Finding, Level, Report, Rule};

/// What is looked for.
pub const RULES: [Rule; 14] = [
    Rule::new(
        "memory_unreadable",
        "a memory file cannot be read",
        "make it a UTF-8 file of moderate size",
    ),
    Rule::new(
        "memory_schema",
        "a section breaks meta/schema.yaml",
        "add or mend the field it names",
    ),
    Rule::new(
        "memory_duplicate_id",
        "a section id occurs twice in a file",
        "give one of the sections another id",
    ),
    Rule::new(
        "memory_invalid_id",
        "a section id has characters that ids may not have",
        "use letters, digits and hyphens",
    ),
    Rule::new(
        "memory_stray_marker",
        "an id marker stands where there is no heading",
        "put it on the line after its heading",
    ),
    Rule::new("memory_conflict", "conflict markers were left in a file", "settle the conflict"),
    Rule::new("memory_secret", "a memory file holds a credential", "take it out, and revoke it"),
    Rule::new(
        "memory_unsafe_text",
        "a memory file holds characters that mislead",
        "write plain characters",
    ),
    Rule::new(
        "memory_dead_source",
        "a cited file does not exist",
        "cite a file that does, or archive the section",
    ),
    Rule::new(
        "memory_stale",
        "nobody touched a section for longer than archive.stale_threshold_days",
        "confirm it, or archive it",
    ),
    Rule::new(
        "memory_orphan_notes",
        "working notes belong to a branch that is gone",
        "move what matters, then delete the file",
    ),
    Rule::new(
        "memory_unknown_file",
        "a file belongs to no category",
        "move it, or add a category to the schema",
    ),
    Rule::new(
        "memory_index",
        "index.md is not what the files make it",
        "run `aye memory init`, or any change through aye",
    ),
    Rule::new("memory_settings", "a setting is not in step with the repository", "see the message"),
];

impl Service<'_> {
    /// Looks the whole store over. Staging directories that differ from their proposals are written
    /// again.
    ///
    /// # Errors
    /// Those of the store and the work tree.
    pub fn lint(&self) -> Result<Report> {
        let mut report =
            Report::new("memory-lint").rules(RULES).when_clean("the memory store is in order");
        let disk = self.disk();
        let paths = disk.markdown(&self.settings)?;
        let unreadable =
            |path: &str, why: String| finding("memory_unreadable", Level::Error, path, 1, why);
        for directory in self.settings.schema.directories() {
            if let Err(error) = disk.list(directory) {
                report.push(unreadable(directory, error.message().to_owned()));
            }
        }
        for path in &paths {
            match disk.read(path).map(|bytes| bytes.map(String::from_utf8)) {
                Ok(None) => {}
                Ok(Some(Ok(text))) => self.lint_file(path, &text, &mut report),
                Ok(Some(Err(error))) => {
                    let at = error.utf8_error().valid_up_to();
                    report.push(unreadable(path, format!("not UTF-8 at byte {at}")));
                }
                Err(error) => report.push(unreadable(path, error.message().to_owned())),
            }
        }
        for proposal in self.proposals(&self.store.view()?, Some(Status::Pending))? {
            // What can be written again must not keep anybody from the rest.
            let _ = staging::renew(self.store, &proposal);
        }
        self.lint_strangers(&mut report);
        self.lint_age(&paths, &mut report);
        self.lint_notes(&paths, &mut report);
        self.lint_settings(&mut report)?;
        self.lint_tracking(&mut report);
        report.sort();
        Ok(report)
    }
}

fn finding(rule: &'static str, level: Level, path: &str, line: usize, message: String) -> Finding {
    let line = u32::try_from(line).unwrap_or(u32::MAX);
    Finding::new(rule, level, message).path(format!("{DIR}/{path}")).lines(line, line)
}
