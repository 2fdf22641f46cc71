//! Settings and generated files that are not in step with the repository.

use std::collections::BTreeMap;

use super::finding;
use crate::error::Result;
use crate::git::Git;
use crate::memory::DIR;
use crate::memory::plan::index_page;
use crate::memory::service::Service;
use crate::memory::settings::manifest;
use crate::report::{Level, Report};

impl Service<'_> {
    pub(super) fn lint_settings(&self, report: &mut Report) -> Result<()> {
        let disk = self.disk();
        let page = index_page::render(&disk, &self.settings)?;
        if disk.text(index_page::PATH).is_some_and(|text| text != page) {
            let message = "the files have changed since it was generated".to_owned();
            report.push(finding("memory_index", Level::Note, index_page::PATH, 1, message));
        }
        let mut say = |level, path: &str, message: String| {
            report.push(finding("memory_settings", level, path, 1, message));
        };
        for change in &self.loosened {
            let message = format!("{change}, until the change of meta/ is committed");
            say(Level::Warning, manifest::PATH, message);
        }
        for note in self.without_effect() {
            say(Level::Note, manifest::PATH, note);
        }
        let ignore = disk.0.root().join(DIR).join(".gitignore");
        let ignored = std::fs::read_to_string(ignore).unwrap_or_default();
        for (track, name, directory) in self.tracked_directories() {
            let is_ignored = ignored.lines().any(|line| line.trim() == directory);
            if track == is_ignored {
                let what =
                    if track { "true, but .gitignore has" } else { "false, but .gitignore lacks" };
                say(Level::Note, manifest::PATH, format!("{name} is {what} {directory}"));
            }
        }
        Ok(())
    }

    /// Files that git has although their category says it should not.
    pub(super) fn lint_tracking(&self, report: &mut Report) {
        let listed = Git::new(self.worktree.root())
            .args(["ls-files", "-z", "--", DIR])
            .run()
            .unwrap_or_default();
        let directories: BTreeMap<&str, bool> = self
            .tracked_directories()
            .into_iter()
            .map(|(track, _, directory)| (directory, track))
            .collect();
        let prefix = format!("{DIR}/");
        for path in listed.split(|b| *b == 0).filter_map(|path| std::str::from_utf8(path).ok()) {
            let Some(path) = path.strip_prefix(&prefix) else { continue };
            let wanted =
                directories.iter().any(|(directory, track)| *track && path.starts_with(directory));
            let category = self.settings.schema.category(path);
            if category.is_some_and(|category| !category.git_tracked) && !wanted {
                let message = "is in git, but its category is not to be (git_tracked: false); \
                               `git rm --cached` takes it out";
                report.push(finding("memory_settings", Level::Warning, path, 1, message.into()));
            }
        }
    }

    /// The directories that the manifest keeps in git or out of it: whether, by which key, which.
    fn tracked_directories(&self) -> [(bool, &'static str, &'static str); 2] {
        let git = &self.settings.manifest.git;
        [
            (git.track_local, "git.track_local", "local/"),
            (git.track_sessions, "git.track_sessions", "sessions/"),
        ]
    }
}
