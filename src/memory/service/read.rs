//! Reading: search and context, on an index that follows the files.

use std::path::PathBuf;

use super::Service;
use crate::error::Result;
use crate::git::Git;
use crate::memory::context::{self, Pack, Source};
use crate::memory::intent::SHARED;
use crate::memory::plan::{Files as _, index_page, notes_path};
use crate::memory::search::{Boosts, Hit, Index, Query, Seen, Synonyms, synonyms};
use crate::store::Store;

/// What a reader asks for.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// The question; empty for the pack to start with.
    pub query: String,
    /// Paths or module names to prefer.
    pub scope: Vec<String>,
    /// Categories to look in; empty for all.
    pub include: Vec<String>,
    /// Leave the archive out.
    pub exclude_archive: bool,
    /// Characters; the manifest's budget otherwise.
    pub budget: Option<usize>,
}

/// Most changed files that sections are compared with.
const MOST_CHANGED: usize = 1000;

impl Service<'_> {
    /// The best `limit` sections for `ask`.
    ///
    /// # Errors
    /// Where the store's directories cannot be read.
    pub fn search(&self, ask: &Ask, limit: usize) -> Result<Vec<Hit>> {
        let query = match self.disk().file(synonyms::PATH)? {
            Some(file) => Query::parse_with(&ask.query, &Synonyms::read(&file.bytes)?),
            None => Query::parse(&ask.query),
        };
        if query.is_empty() {
            return Ok(Vec::new());
        }
        let index = self.index()?;
        let mut boosts = Boosts {
            changed_files: Vec::new(),
            scope: ask.scope.clone(),
            exclude_archive: ask.exclude_archive,
            include: ask.include.clone(),
        };
        let hits = index.search(&query, &boosts, limit)?;
        // Git is asked what has changed only where an answer speaks of files at all.
        let names_a_file = |hit: &Hit| {
            hit.body.split_whitespace().any(|word| word.contains('/') && word.contains('.'))
        };
        if !hits.iter().any(names_a_file) {
            return Ok(hits);
        }
        boosts.changed_files = self.changed_files();
        if boosts.changed_files.is_empty() {
            return Ok(hits);
        }
        index.search(&query, &boosts, limit)
    }

    /// The index, in step with the files. Private to the work tree, in its git directory.
    fn index(&self) -> Result<Index> {
        let mut index = Index::open(Some(&index_path(self.store)), &self.settings_key)?;
        let disk = self.disk();
        let now = i128::from(self.now.timestamp_nanos_opt().unwrap_or(i64::MAX));
        let seen: Vec<Seen> = disk
            .markdown(&self.settings)?
            .into_iter()
            .filter(|path| path != index_page::PATH)
            .map(|path| Seen { stamp: disk.stamp(&path, now), path })
            .collect();
        index.refresh(&seen, &self.settings, &|path| disk.text(path))?;
        Ok(index)
    }

    /// Files changed on this branch: what differs from where it left the branch it came from,
    /// uncommitted changes included. None where git cannot tell in a moment.
    fn changed_files(&self) -> Vec<String> {
        let diff = |from: &[&str]| {
            Git::new(self.worktree.root())
                .config("core.quotePath", "false")
                .args(["diff", "--name-only", "--no-renames", "-z"])
                .args(from)
                .arg("--")
                .run()
                .ok()
        };
        let since_fork = self.trunk().and_then(|trunk| diff(&["--merge-base", &trunk]));
        // Without a common ancestor (or with a git that knows no --merge-base): the last commit.
        let out = since_fork.or_else(|| diff(&["HEAD"])).unwrap_or_default();
        out.split(|b| *b == 0)
            .filter_map(|path| std::str::from_utf8(path).ok())
            .filter(|path| !path.is_empty() && !path.starts_with(crate::memory::DIR))
            .take(MOST_CHANGED)
            .map(str::to_owned)
            .collect()
    }

    /// The branch this one came from: the remote's default branch, a local one of its usual
    /// names, or the upstream.
    fn trunk(&self) -> Option<String> {
        let repo = self.store.repo();
        let own = self.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
        let default = self.store.config("init.defaultBranch");
        let usual = default.iter().map(String::as_str).chain(["main", "master"]);
        let known = ["refs/remotes/origin/HEAD".to_owned()]
            .into_iter()
            .chain(usual.clone().map(|name| format!("refs/remotes/origin/{name}")))
            .chain(usual.map(|name| format!("refs/heads/{name}")))
            .find(|name| Some(name) != own.as_ref() && repo.find_reference(name).is_ok());
        known.or_else(|| self.branch.as_ref().map(|branch| format!("{branch}@{{upstream}}")))
    }

    /// The pack that answers `ask`, or the one to start with.
    ///
    /// # Errors
    /// Where the store's directories cannot be read.
    pub fn context(&self, ask: &Ask) -> Result<Pack> {
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

    /// What an agent reads at start: branch notes, shared notes, conventions, index.
    /// What cannot be read is said, in words.
    fn sources(&self, ask: &Ask) -> Result<(Vec<Source>, Vec<String>)> {
        let mut wanted: Vec<(String, &'static str)> = Vec::new();
        let notes = &self.settings.manifest.local_state;
        if let (Some(branch), true) = (&self.branch, notes.per_branch) {
            wanted.push((notes_path(branch), "notes of this branch"));
            wanted.push((
                format!("local/current.{}.md", branch.replace('/', "-")),
                "notes of this branch",
            ));
        }
        if notes.shared_file_enabled {
            wanted.push((SHARED.to_owned(), "notes of all branches"));
        }
        wanted.push(("conventions.md".to_owned(), "conventions"));
        wanted.push((index_page::PATH.to_owned(), "where everything is"));
        wanted.dedup_by(|a, b| a.0 == b.0);
        let disk = self.disk();
        let included = |path: &str| {
            ask.include.is_empty()
                || self
                    .settings
                    .schema
                    .category(path)
                    .is_some_and(|category| ask.include.contains(&category.name))
        };
        let (mut sources, mut unread) = (Vec::new(), Vec::new());
        for (path, reason) in wanted.into_iter().filter(|(path, _)| included(path)) {
            let text = if path == index_page::PATH {
                // Always as the files are, whatever lies there.
                Some(index_page::render(&disk, &self.settings)?)
            } else {
                let bytes = disk.read(&path).unwrap_or_else(|error| {
                    unread.push(format!("{path} cannot be read: {}", error.message()));
                    None
                });
                bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            };
            if let Some(text) = text {
                sources.push(Source { path, text, reason });
            }
        }
        Ok((sources, unread))
    }
}

/// Where the search index of the present work tree is.
pub(super) fn index_path(store: &Store) -> PathBuf {
    store.repo().git_dir().join("aye").join("memory.sqlite")
}

/// Empties the search index of the present work tree: it has texts that were in files before, too.
///
/// # Errors
/// `internal_error`.
pub fn forget_index(store: &Store) -> Result<()> {
    Index::empty(&index_path(store))
}
