//! Who changed what: the log of a file or section, and where each section's present text is from.

use serde::Serialize;
use serde_json::Value;

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::Service;
use super::follow::ids_of;
use super::locate::{note, staging_id};
use super::status::{how_word, request_text};
use crate::changeset::RepoPath;
use crate::error::{Error, Result};
use crate::git::Git;
use crate::memory::disk::{repo_path, store_path};
use crate::memory::{MAX_FILE_BYTES, markdown};
use crate::proposal::event::{Subject, Written, timestamp};
use crate::proposal::state::Decision;
use crate::proposal::{Proposal, State, Status};
use crate::store::{Filter, Store};
use crate::worktree::Worktree;

/// One change of memory through a proposal.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// When it was applied.
    pub at: String,
    /// File, relative to the store; one that instructs agents from the repository's top.
    pub path: String,
    /// Sections it touched.
    pub sections: Vec<String>,
    /// Who proposed it.
    pub proposed_by: String,
    /// Who decided.
    pub decided_by: String,
    /// How.
    pub how: &'static str,
    /// Its intent.
    pub intent: String,
    /// Why.
    pub rationale: Option<String>,
    /// How sure the proposer was.
    pub confidence: Option<String>,
    /// Where it came from.
    pub sources: Vec<String>,
    /// Proposal id.
    pub proposal_id: String,
    /// Staging id, where it was staged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staging_id: Option<String>,
    /// It was taken back later.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

/// A change and the texts that it led from and to.
struct Version {
    change: Change,
    before: String,
    after: String,
}

/// Where a section's present text comes from.
#[derive(Clone, Debug, Serialize)]
pub struct BlameLine {
    /// Section id, or heading.
    pub section_id: String,
    /// Line of its heading, from 1.
    pub line: usize,
    /// The proposal that wrote it as it is now; absent where it was written by hand.
    pub change: Option<Change>,
    /// The commit that last changed its lines, for text written by hand.
    pub commit: Option<String>,
}

/// One section, before and after.
#[derive(Clone, Debug, Serialize)]
pub struct SectionChange {
    /// File, relative to the store.
    pub file: String,
    /// Section id, or heading.
    pub section_id: String,
    /// Its text before; absent where it is new.
    pub before: Option<String>,
    /// Its text after; absent where it goes.
    pub after: Option<String>,
}

/// What is different in `file`, section by section; the whole text where no section is.
pub fn sections_between(file: &str, before: &str, after: &str) -> Vec<SectionChange> {
    let touched = crate::memory::plan::touched(file, before, after);
    let change = |section_id: String, before, after| SectionChange {
        file: file.to_owned(),
        section_id,
        before,
        after,
    };
    if touched.is_empty() {
        return vec![change(String::new(), Some(before.to_owned()), Some(after.to_owned()))];
    }
    touched
        .into_iter()
        .map(|section| {
            let id = section.section_id;
            let (was, is) = (section_text(before, &id), section_text(after, &id));
            change(id, was, is)
        })
        .collect()
}

/// The text of `section` in `text`, children left out.
fn section_text(text: &str, section: &str) -> Option<String> {
    let document = markdown::parse(text);
    let i = document.ids().iter().position(|id| id == section)?;
    Some(document.own_text(i).trim_end().to_owned())
}

/// A file whose sections have a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A memory file.
    Memory(RepoPath),
    /// A file that instructs agents, which code proposals change.
    Instructions(RepoPath),
}

impl Place {
    /// What `text` names: `FILE` or `FILE#ID`, relative to the memory store or from the
    /// repository's top, and the section.
    ///
    /// # Errors
    /// As [`RepoPath::new`].
    pub fn of<'t>(store: &Store, text: &'t str) -> Result<(Self, Option<&'t str>)> {
        let (path, section) = match text.split_once('#') {
            Some((path, section)) => (path, Some(section)),
            None => (text, None),
        };
        let prefix = |path: &'t str| path.strip_prefix(crate::memory::DIR)?.strip_prefix('/');
        if let Some(inside) = prefix(path) {
            return Ok((Self::Memory(repo_path(inside)?), section));
        }
        let within = repo_path(path)?;
        let is_there = store.work_dir().is_some_and(|top| top.join(within.to_path()).is_file());
        let from_top = RepoPath::new(path)?;
        if !is_there && store.instructions().kind(&from_top).is_some() {
            return Ok((Self::Instructions(from_top), section));
        }
        Ok((Self::Memory(within), section))
    }

    /// From the repository's top.
    pub fn path(&self) -> &RepoPath {
        match self {
            Self::Memory(path) | Self::Instructions(path) => path,
        }
    }

    /// As answers give it.
    pub fn name(&self) -> String {
        name_of(self.path())
    }
}

/// Relative to the store; of another file from the repository's top.
fn name_of(path: &RepoPath) -> String {
    store_path(path).map_or_else(|| path.display().to_string(), str::to_owned)
}

/// The past of memory files, and of files that instruct agents.
pub struct History<'a> {
    pub(super) store: &'a Store,
    pub(super) worktree: &'a Worktree,
    pub(super) now: DateTime<Utc>,
}

impl Service<'_> {
    pub(super) fn blob_text(&self, entry: &Option<crate::proposal::Entry>) -> Result<String> {
        blob_text(self.store, entry)
    }
}

fn blob_text(store: &Store, entry: &Option<crate::proposal::Entry>) -> Result<String> {
    let Some(entry) = entry else { return Ok(String::new()) };
    Ok(String::from_utf8_lossy(&store.blob(&entry.id)?).into_owned())
}

impl<'a> History<'a> {
    /// The history of the files of `store`, whether it has a memory or not.
    pub fn new(store: &'a Store, worktree: &'a Worktree, now: DateTime<Utc>) -> Self {
        Self { store, worktree, now }
    }

    fn text(&self, path: &RepoPath) -> Option<String> {
        use crate::changeset::Snapshot as _;
        let bytes = self.worktree.file(path).ok()??.bytes;
        String::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_FILE_BYTES)
    }

    /// Changes through proposals, newest first; of one file or section where `place` and `section`
    /// say so, whatever it was called then. Without a place, of all memory files.
    ///
    /// # Errors
    /// Those of the store.
    pub fn log(&self, place: Option<&Place>, section: Option<&str>) -> Result<Vec<Change>> {
        let names = place.map(|place| self.names_of(place));
        let mut versions = self.versions(place, names.as_deref(), None)?;
        if let (Some(place), Some(section)) = (place, section) {
            let now = self.text(place.path());
            let then = versions.iter().flat_map(|version| [&version.after, &version.before]);
            let texts: Vec<&str> = now.iter().chain(then).map(String::as_str).collect();
            let ids = ids_of(section, &texts);
            versions.retain(|version| version.change.sections.iter().any(|id| ids.contains(id)));
        }
        Ok(versions.into_iter().map(|version| version.change).collect())
    }

    /// What was written by proposals, newest first; only to files of one of `names`, and only by
    /// proposals of `status`, where they are given.
    fn versions(
        &self,
        place: Option<&Place>,
        names: Option<&[RepoPath]>,
        status: Option<Status>,
    ) -> Result<Vec<Version>> {
        let view = self.store.view()?;
        let mut found: Vec<Proposal> = Vec::new();
        let filter = Filter { status, newest_first: true, ..Filter::default() };
        let filters = match place {
            Some(Place::Instructions(_)) => {
                let of = |name: &RepoPath| Filter {
                    path: Some(name.display().to_string()),
                    subject: Some(Subject::Code),
                    ..filter.clone()
                };
                names.unwrap_or_default().iter().map(of).collect()
            }
            _ => vec![Filter { subject: Some(Subject::Memory), ..filter }],
        };
        for filter in &filters {
            for row in view.proposals(filter, self.now)? {
                if !found.iter().any(|known| known.id == row.id) {
                    found.push(view.proposal(&row.id)?);
                }
            }
        }
        let mut versions = Vec::new();
        for proposal in found {
            let applied = match &proposal.state {
                State::Applied(decision) => Some((decision, false)),
                _ => None,
            };
            let undone = proposal.undone.iter().map(|decision| (decision, true));
            for (decision, undone) in applied.into_iter().chain(undone) {
                for written in &decision.written {
                    versions.extend(self.version(&proposal, decision, written, undone, names)?);
                }
            }
        }
        versions.sort_by(|a, b| {
            b.change.at.cmp(&a.change.at).then_with(|| a.change.path.cmp(&b.change.path))
        });
        Ok(versions)
    }

    fn version(
        &self,
        proposal: &Proposal,
        decision: &Decision,
        written: &Written,
        undone: bool,
        names: Option<&[RepoPath]>,
    ) -> Result<Option<Version>> {
        let is_wanted = match names {
            Some(names) => names.contains(&written.path),
            None => store_path(&written.path).is_some(),
        };
        if !is_wanted {
            return Ok(None);
        }
        let file = &name_of(&written.path);
        let before = blob_text(self.store, &written.before)?;
        let after = blob_text(self.store, &written.after)?;
        let sections: Vec<String> = crate::memory::plan::touched(file, &before, &after)
            .into_iter()
            .map(|touched| touched.section_id)
            .collect();
        let sources = note(proposal, "request")
            .and_then(|request| request.get("sources"))
            .and_then(Value::as_array)
            .map(|sources| {
                let text = |source: &Value, key: &str| {
                    source.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
                };
                sources
                    .iter()
                    .map(|s| format!("{} {}", text(s, "type"), text(s, "ref")).trim().to_owned())
                    .collect()
            })
            .unwrap_or_default();
        let rationale =
            request_text(proposal, "rationale").or_else(|| proposal.description.clone());
        let change = Change {
            at: timestamp(decision.at),
            path: file.to_owned(),
            sections,
            proposed_by: proposal.proposed_by.clone(),
            decided_by: decision.by.name.clone(),
            how: how_word(decision.how),
            intent: request_text(proposal, "intent").unwrap_or_else(|| match proposal.subject {
                Subject::Code => "code".to_owned(),
                Subject::Memory => String::new(),
            }),
            rationale,
            confidence: request_text(proposal, "confidence"),
            sources,
            proposal_id: proposal.id.to_string(),
            staging_id: staging_id(proposal).map(str::to_owned),
            undone,
        };
        Ok(Some(Version { change, before, after }))
    }

    /// For each section of the file: the proposal that wrote it as it is now, or the commit.
    ///
    /// # Errors
    /// `file_not_found`, and those of the store.
    pub fn blame(&self, place: &Place) -> Result<Vec<BlameLine>> {
        let path = place.path();
        let Some(text) = self.text(path) else {
            let (what, name) = match place {
                Place::Memory(_) => ("memory file", place.name()),
                Place::Instructions(_) => ("file", place.name()),
            };
            return Err(Error::new(
                &crate::changeset::codes::FILE_NOT_FOUND,
                format!("there is no {what} '{name}'"),
            )
            .hint("name a file of .agent-memory/, or one that instructs agents (CLAUDE.md, AGENTS.md, …)"));
        };
        let document = markdown::parse(&text);
        let names = self.names_of(place);
        let versions = self.versions(Some(place), Some(&names), Some(Status::Applied))?;
        let hand = self.commits(path, &document);
        let mut lines = Vec::new();
        for (i, name) in document.ids().into_iter().enumerate() {
            let section = &document.sections[i];
            let own = document.own_text(i).trim_end();
            let change = versions
                .iter()
                .find(|version| {
                    !version.change.undone
                        && version.change.sections.contains(&name)
                        && section_text(&version.after, &name).as_deref() == Some(own)
                })
                .map(|version| version.change.clone());
            let commit = if change.is_some() { None } else { hand.get(i).cloned().flatten() };
            let line = markdown::lines::number_of(&text, section.start());
            lines.push(BlameLine { section_id: name, line, change, commit });
        }
        Ok(lines)
    }

    /// The newest commit among the lines of each section, by `git blame`.
    fn commits(&self, path: &RepoPath, document: &markdown::Document<'_>) -> Vec<Option<String>> {
        let out = Git::new(self.worktree.root())
            .args(["blame", "--porcelain", "--"])
            .arg(path.display().to_string())
            .text()
            .unwrap_or_default();
        let mut by_line: Vec<&str> = Vec::new();
        let mut times: HashMap<&str, i64> = HashMap::new();
        let mut current = "";
        for line in out.lines() {
            let mut words = line.split(' ');
            match words.next() {
                Some(id)
                    if matches!(id.len(), 40 | 64) && id.bytes().all(|b| b.is_ascii_hexdigit()) =>
                {
                    current = id;
                    by_line.push(id);
                }
                Some("committer-time") => {
                    times.insert(current, words.next().and_then(|t| t.parse().ok()).unwrap_or(0));
                }
                _ => {}
            }
        }
        document
            .sections
            .iter()
            .map(|section| {
                let from = markdown::lines::number_of(document.source, section.start()) - 1;
                let count = markdown::lines::iter(&document.source[section.own_range()]).count();
                by_line
                    .iter()
                    .skip(from)
                    .take(count)
                    .max_by_key(|id| times.get(*id).copied().unwrap_or(0))
                    .filter(|id| id.bytes().any(|b| b != b'0'))
                    .map(|id| id[..10].to_owned())
            })
            .collect()
    }
}
