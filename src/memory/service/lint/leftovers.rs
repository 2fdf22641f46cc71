//! What was left behind: files of no category, notes of branches that are gone.

use super::finding;
use crate::memory::DIR;
use crate::memory::plan::Files as _;
use crate::memory::service::Service;
use crate::report::{Level, Report};

impl Service<'_> {
    /// Markdown files that no category has.
    pub(super) fn lint_strangers(&self, report: &mut Report) {
        for dir in ["", "modules", "archive", "local", "sessions"] {
            for path in self.disk().list(dir).unwrap_or_default() {
                if self.settings.schema.category(&path).is_none() {
                    report.push(finding(
                        "memory_unknown_file",
                        Level::Warning,
                        &path,
                        1,
                        "no category of the schema has this file".into(),
                    ));
                }
            }
        }
    }

    pub(super) fn lint_notes(&self, paths: &[String], report: &mut Report) {
        let days = self.settings.manifest.local_state.cleanup_orphans_warning_days;
        for path in self.orphans(paths) {
            let full = self.worktree.root().join(DIR).join(&path);
            let old =
                std::fs::metadata(full).and_then(|meta| meta.modified()).is_ok_and(|modified| {
                    self.now - chrono::DateTime::<chrono::Utc>::from(modified)
                        >= chrono::Duration::days(days)
                });
            if old {
                report.push(finding(
                    "memory_orphan_notes",
                    Level::Warning,
                    &path,
                    1,
                    format!("its branch is gone, and nobody touched it for {days} days"),
                ));
            }
        }
    }
}
