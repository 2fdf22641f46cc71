//! Checks the whole store: schema, ids, conflicts, secrets, sources, age, leftovers.

mod age;
mod file;

use chrono::{DateTime, Duration, Utc};

use super::{Service, staging};
use crate::error::Result;
use crate::memory::DIR;
use crate::memory::plan::{Files as _, index_page};
use crate::memory::settings::manifest;
use crate::proposal::Status;
use crate::report::{Finding, Level, Report, Rule};

pub const RULES: [Rule; 14] = [
    Rule::new("memory_unreadable", "a file cannot be read", "make it a UTF-8 file below 4 MiB"),
    Rule::new("memory_schema", "a section breaks meta/schema.yaml", "correct the field it names"),
    Rule::new("memory_duplicate_id", "an id occurs twice in a file", "give one section another id"),
    Rule::new("memory_invalid_id", "an id is not valid", "use letters, digits and hyphens"),
    Rule::new(
        "memory_stray_marker",
        "an id has no heading",
        "put it on the line after its heading",
    ),
    Rule::new("memory_conflict", "conflict markers were left in a file", "settle the conflict"),
    Rule::new("memory_secret", "a memory file holds a credential", "take it out, and revoke it"),
    Rule::new("memory_unsafe_text", "a file has misleading characters", "write plain characters"),
    Rule::new("memory_dead_source", "a cited file does not exist", "cite one that does"),
    Rule::new("memory_stale", "a section is older than the threshold", "confirm it, or archive it"),
    Rule::new("memory_orphan_notes", "the branch of notes is gone", "delete them, or move them"),
    Rule::new("memory_unknown_file", "a file belongs to no category", "move it, or add a category"),
    Rule::new("memory_index", "index.md is not as the files make it", "run `aye memory init`"),
    Rule::new("memory_settings", "a setting does not hold, or has no effect", "see the message"),
];

impl Service<'_> {
    /// Also rewrites staging directories that differ from their proposals.
    pub fn lint(&self) -> Result<Report> {
        let mut report =
            Report::new("memory-lint").rules(RULES).when_clean("the memory store is in order");
        let disk = self.disk();
        let paths = disk.markdown(&self.settings)?;
        let unreadable =
            |path: &str, why: String| finding("memory_unreadable", Level::Error, path, 1, why);
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
        for directory in self.settings.schema.directories() {
            match disk.list(directory) {
                Ok(listed) => {
                    let category = |path: &String| self.settings.schema.category(path);
                    for path in listed.iter().filter(|path| category(path).is_none()) {
                        let message = "no category of the schema has this file".to_owned();
                        let rule = "memory_unknown_file";
                        report.push(finding(rule, Level::Warning, path, 1, message));
                    }
                }
                Err(error) => report.push(unreadable(directory, error.message().to_owned())),
            }
        }
        for proposal in self.proposals(&self.store.view()?, Some(Status::Pending))? {
            // A failed rewrite must not stop the other checks.
            let _ = staging::renew(self.store, &proposal);
        }
        self.lint_age(&paths, &mut report);
        self.lint_notes(&paths, &mut report);
        self.lint_settings(&mut report)?;
        report.sort();
        Ok(report)
    }

    fn lint_notes(&self, paths: &[String], report: &mut Report) {
        let days = self.settings.manifest.local_state.cleanup_orphans_warning_days;
        let is_old = |path: &String| {
            let facts = std::fs::metadata(self.worktree.root().join(DIR).join(path));
            facts.and_then(|facts| facts.modified()).is_ok_and(|modified| {
                self.now - DateTime::<Utc>::from(modified) >= Duration::days(days)
            })
        };
        for path in self.orphans(paths).into_iter().filter(is_old) {
            let message = format!("its branch is gone, and it has not changed for {days} days");
            report.push(finding("memory_orphan_notes", Level::Warning, &path, 1, message));
        }
    }

    /// Settings without effect, and an outdated generated page.
    fn lint_settings(&self, report: &mut Report) -> Result<()> {
        let disk = self.disk();
        let page = index_page::render(&disk, &self.settings)?;
        if disk.text(index_page::PATH).is_some_and(|text| text != page) {
            let message = "the files have changed since it was generated".to_owned();
            report.push(finding("memory_index", Level::Note, index_page::PATH, 1, message));
        }
        let mut say = |level, message: String| {
            report.push(finding("memory_settings", level, manifest::PATH, 1, message));
        };
        for change in &self.pending_loosening {
            say(Level::Warning, format!("{change}, until the change of meta/ is committed"));
        }
        self.without_effect().into_iter().for_each(|note| say(Level::Note, note));
        Ok(())
    }
}

fn finding(rule: &'static str, level: Level, path: &str, line: usize, message: String) -> Finding {
    let line = u32::try_from(line).unwrap_or(u32::MAX);
    Finding::new(rule, level, message).path(format!("{DIR}/{path}")).lines(line, line)
}
