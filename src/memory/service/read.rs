//! Search and context, on an index that follows the files.

use std::path::PathBuf;

use super::Service;
use crate::error::Result;
use crate::memory::DIR;
use crate::memory::context::{self, Pack, PackSource};
use crate::memory::intent::SHARED;
use crate::memory::plan::{Files as _, index_page, notes_paths};
use crate::memory::search::{FileStamp, Hit, Index, Query, SearchRequest, Synonyms, synonyms};
use crate::repository::Repository;

impl Service<'_> {
    pub fn search(&self, ask: &SearchRequest, limit: usize) -> Result<Vec<Hit>> {
        let synonyms = match self.disk().file(synonyms::PATH)? {
            Some(file) => Synonyms::read(&file.bytes)?,
            None => Synonyms::built_in(),
        };
        let query = Query::parse(&ask.query, &synonyms);
        if query.is_empty() {
            return Ok(Vec::new());
        }
        self.index()?.search(&query, ask, limit)
    }

    /// Private to the work tree, in its git directory.
    fn index(&self) -> Result<Index> {
        let mut index = Index::open(Some(&index_path(self.store.repository())))?;
        let disk = self.disk();
        let now = i128::from(self.now.timestamp_nanos_opt().unwrap_or(i64::MAX));
        let seen: Vec<FileStamp> = disk
            .markdown(&self.settings)?
            .into_iter()
            .filter(|path| path != index_page::PATH)
            .map(|path| FileStamp { stamp: self.stamp(&path, now), path })
            .collect();
        index.refresh(&seen, &self.settings, &|path| disk.text(path))?;
        Ok(index)
    }

    /// Changes with the file and with the settings that categorise it; empty if unknown.
    ///
    /// A file changed within the last two seconds may change again within the clock's resolution,
    /// so it is read every time.
    fn stamp(&self, path: &str, now_nanos: i128) -> String {
        use std::os::unix::fs::MetadataExt as _;
        let full = self.worktree.root().join(DIR).join(path);
        let Ok(meta) = std::fs::symlink_metadata(full) else { return String::new() };
        let changed = i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec());
        if (now_nanos - changed).abs() < 2_000_000_000 {
            return String::new();
        }
        let key = &self.settings_key;
        format!("{key} {}.{}.{}.{changed}", meta.size(), meta.mtime_nsec(), meta.ino())
    }

    pub fn context(&self, ask: &SearchRequest) -> Result<Pack> {
        let branch = self.branch.as_deref();
        let budgets = &self.settings.manifest.budgets;
        if ask.query.trim().is_empty() {
            let budget = ask.budget.unwrap_or(budgets.bootstrap_chars);
            let (sources, unread) = self.sources(ask)?;
            let mut pack = context::bootstrap(&sources, &self.settings, branch, budget);
            pack.context_metadata.stale_warnings.extend(unread);
            return Ok(pack);
        }
        let hits = self.search(ask, 40)?;
        let budget = ask.budget.unwrap_or(budgets.fetch_context_chars);
        Ok(context::answer(&hits, branch, budget))
    }

    /// The pack's files at start: branch notes, shared notes, conventions, index; and messages
    /// about unreadable ones.
    fn sources(&self, ask: &SearchRequest) -> Result<(Vec<PackSource>, Vec<String>)> {
        let mut wanted: Vec<(String, &'static str)> = Vec::new();
        let notes = &self.settings.manifest.local_state;
        if let (Some(branch), true) = (&self.branch, notes.per_branch) {
            wanted.extend(notes_paths(branch).map(|path| (path, "notes of this branch")));
        }
        if notes.shared_file_enabled {
            wanted.push((SHARED.to_owned(), "notes of all branches"));
        }
        wanted.push(("conventions.md".to_owned(), "conventions"));
        wanted.push((index_page::PATH.to_owned(), "where everything is"));
        wanted.dedup_by(|a, b| a.0 == b.0);
        let disk = self.disk();
        let included = |path: &str| {
            let category = self.settings.schema.category(path);
            ask.includes(category.map_or("", |category| &category.name))
        };
        let (mut sources, mut unread) = (Vec::new(), Vec::new());
        for (path, reason) in wanted.into_iter().filter(|(path, _)| included(path)) {
            let text = if path == index_page::PATH {
                // Rendered from the files, whatever lies there.
                Some(index_page::render(&disk, &self.settings)?)
            } else {
                let bytes = disk.read(&path).unwrap_or_else(|error| {
                    unread.push(format!("{path} cannot be read: {}", error.message()));
                    None
                });
                bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            };
            if let Some(text) = text {
                sources.push(PackSource { path, text, reason });
            }
        }
        Ok((sources, unread))
    }
}

pub(super) fn index_path(repository: &Repository) -> PathBuf {
    repository.repo().git_dir().join("aye").join("memory.sqlite")
}

/// The index also holds texts of earlier files.
pub fn forget_index(repository: &Repository) -> Result<()> {
    Index::empty(&index_path(repository))
}
