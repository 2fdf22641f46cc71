//! Sections that nobody has changed for long.
//!
//! Text equal to git's version at the threshold is untouched. This needs one commit for all
//! sections and ignores undone changes.

use std::collections::HashSet;

use super::finding;
use crate::git::Git;
use crate::memory::DIR;
use crate::memory::markdown::{self, Document, lines};
use crate::memory::service::Service;
use crate::memory::settings::Category;
use crate::report::{Level, Report};

impl Service<'_> {
    pub(super) fn lint_age(&self, paths: &[String], report: &mut Report) {
        let days = self.settings.manifest.archive.stale_threshold_days;
        let Some(then) = (days > 0).then(|| self.store_at(days)).flatten() else { return };
        for path in paths {
            if !self.settings.schema.category(path).is_some_and(Category::is_durable) {
                continue;
            }
            let (Some(was), Some(now)) = (blob_text(&then, path), self.disk().text(path)) else {
                continue;
            };
            let document = markdown::parse(&now);
            let said = sections_with_text(&document);
            let stale = unchanged_sections(&was, &document, &said);
            let line_of = |i: usize| lines::number_of(&now, document.sections[i].start());
            if !stale.is_empty() && stale.len() == said.len() {
                let message =
                    format!("these {} section(s) have not changed for {days} days", stale.len());
                report.push(finding("memory_stale", Level::Note, path, 1, message));
                continue;
            }
            for i in stale {
                let section = &document.sections[i];
                let name = section.id.as_deref().unwrap_or(&section.heading);
                let message = format!("'{name}' has not changed for {days} days");
                report.push(finding("memory_stale", Level::Note, path, line_of(i), message));
            }
        }
    }

    /// Newest commit older than `days`; without one no section is old.
    fn store_at(&self, days: i64) -> Option<gix::Tree<'_>> {
        let before = (self.now - chrono::Duration::days(days)).timestamp();
        let commit = Git::new(self.worktree.root())
            .args(["rev-list", "-1", &format!("--before={before}"), "HEAD", "--"])
            .text()
            .ok()?;
        let id = gix::ObjectId::from_hex(commit.trim().as_bytes()).ok()?;
        let tree = self.store.repository().repo().find_commit(id).ok()?.tree().ok()?;
        let entry = tree.lookup_entry_by_path(DIR).ok()??;
        entry.object().ok()?.try_into_tree().ok()
    }
}

fn blob_text(tree: &gix::Tree<'_>, path: &str) -> Option<String> {
    let entry = tree.lookup_entry_by_path(path).ok()??;
    String::from_utf8(entry.object().ok()?.detach().data).ok()
}

/// Excludes the file's title if there are other sections.
fn sections_with_text(document: &Document<'_>) -> Vec<usize> {
    let many = document.sections.len() > 1;
    (0..document.sections.len())
        .filter(|&i| !(many && i == 0 && document.sections[0].level == 1))
        .filter(|&i| !document.own_body(i).trim().is_empty())
        .collect()
}

fn unchanged_sections(was: &str, now: &Document<'_>, sections: &[usize]) -> Vec<usize> {
    let was = lines::with_ending(was, "\n");
    let then = markdown::parse(&was);
    let known: HashSet<&str> =
        (0..then.sections.len()).map(|i| then.own_text(i).trim_end()).collect();
    let same = |i: &usize| {
        let text = lines::with_ending(now.own_text(*i), "\n");
        known.contains(text.trim_end())
    };
    sections.iter().copied().filter(same).collect()
}
