//! What was left behind: files of no category, notes of branches that are gone.

use chrono::{DateTime, Duration, Utc};

use super::finding;
use crate::memory::DIR;
use crate::memory::plan::Files as _;
use crate::memory::service::Service;
use crate::report::{Level, Report};

impl Service<'_> {
    /// Markdown files that no category has.
    pub(super) fn lint_strangers(&self, report: &mut Report) {
        for dir in self.settings.schema.directories() {
            for path in self.disk().list(dir).unwrap_or_default() {
                if self.settings.schema.category(&path).is_none() {
                    let message = "no category of the schema has this file".to_owned();
                    report.push(finding("memory_unknown_file", Level::Warning, &path, 1, message));
                }
            }
        }
    }

    pub(super) fn lint_notes(&self, paths: &[String], report: &mut Report) {
        let days = self.settings.manifest.local_state.cleanup_orphans_warning_days;
        let is_old = |path: &String| {
            let facts = std::fs::metadata(self.worktree.root().join(DIR).join(path));
            facts.and_then(|facts| facts.modified()).is_ok_and(|modified| {
                self.now - DateTime::<Utc>::from(modified) >= Duration::days(days)
            })
        };
        for path in self.orphans(paths).into_iter().filter(is_old) {
            let message = format!("its branch is gone, and nobody touched it for {days} days");
            report.push(finding("memory_orphan_notes", Level::Warning, &path, 1, message));
        }
    }
}
