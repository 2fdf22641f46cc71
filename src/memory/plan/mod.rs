//! Turns a request into the resulting files, in memory.
//!
//! A pure function of request, settings and files. Staged proposals are applied and rebased by
//! planning again and comparing [`Precondition`]s.

mod admission;
pub mod index_page;
mod operations;
mod precondition;
mod screen;
mod validate;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

pub use precondition::{Policy, Precondition, drift, hash as text_hash};
pub use validate::{check_sections, touched};

use super::guard::Guard;
use super::intent::{Router, Routing};
use super::problem::Problem;
use super::provenance::{self, Sources};
use super::request::Request;
use super::response::AffectedSection;
use super::settings::{Approval, Settings};
use super::{codes, markdown};
use crate::error::{self, Error};

pub trait Files {
    /// Bytes of `path`, relative to the store; `None` if there is no file.
    ///
    /// # Errors
    /// If `path` is not a regular file, unreadable or too large.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Error>;

    /// Sorted paths of the files directly in `dir` (`""` for the store itself); none if `dir` is
    /// missing.
    ///
    /// # Errors
    /// If `dir` cannot be read.
    fn list(&self, dir: &str) -> Result<Vec<String>, Error>;
}

impl Files for BTreeMap<String, Vec<u8>> {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.get(path).cloned())
    }

    fn list(&self, dir: &str) -> Result<Vec<String>, Error> {
        let prefix = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        Ok(self
            .keys()
            .filter(|path| path.strip_prefix(&prefix).is_some_and(|rest| !rest.contains('/')))
            .cloned()
            .collect())
    }
}

#[derive(Clone, Copy)]
pub struct PlanInputs<'a> {
    pub settings: &'a Settings,
    pub files: &'a dyn Files,
    pub guard: &'a dyn Guard,
    pub sources: &'a dyn Sources,
    /// Time of proposing: names the session log, dates the archive.
    pub at: DateTime<Utc>,
    pub branch: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// `None` for a new file.
    pub before: Option<Vec<u8>>,
    pub after: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPlan {
    /// By path, without the generated index page.
    pub files: BTreeMap<String, FileEdit>,
    pub routing: Routing,
    pub affected: Vec<AffectedSection>,
    pub warnings: Vec<String>,
    /// State that the operations expect.
    pub preconditions: Vec<Precondition>,
}

/// # Errors
/// Every problem of all operations.
pub fn plan(request: &Request, world: &PlanInputs<'_>) -> Result<MemoryPlan, Vec<Problem>> {
    probe(request, world).0
}

/// Returns preconditions even if the plan fails: they tell drift from other problems.
pub fn probe(
    request: &Request,
    world: &PlanInputs<'_>,
) -> (Result<MemoryPlan, Vec<Problem>>, Vec<Precondition>) {
    let mut planner = Planner::new(request, world);
    planner.run();
    let preconditions = planner.preconditions.clone();
    (planner.finish(), preconditions)
}

/// Text before the first operation and now; `None` without a file.
struct FileState {
    before: Option<String>,
    now: Option<String>,
}

struct TextChange {
    path: String,
    before: Option<String>,
    after: String,
}

struct Planner<'a> {
    request: &'a Request,
    world: PlanInputs<'a>,
    states: BTreeMap<String, FileState>,
    problems: Vec<Problem>,
    warnings: Vec<String>,
    preconditions: Vec<Precondition>,
    router: Router,
    /// First failed operation by file.
    failed: BTreeMap<String, usize>,
    /// Last operation by file and section.
    last_change: BTreeMap<(String, String), usize>,
}

impl<'a> Planner<'a> {
    fn new(request: &'a Request, world: &PlanInputs<'a>) -> Self {
        Self {
            request,
            world: *world,
            states: BTreeMap::new(),
            problems: request.problems.clone(),
            warnings: Vec::new(),
            preconditions: Vec::new(),
            router: Router::default(),
            failed: BTreeMap::new(),
            last_change: BTreeMap::new(),
        }
    }

    fn run(&mut self) {
        let request = self.request;
        self.screen_request();
        self.problems.extend(provenance::check_references(&request.sources, self.world.sources));
        self.warnings.extend(provenance::warnings(request));
        for (i, operation) in request.operations.iter().enumerate() {
            self.screen_operation(i, operation);
            if !self.perform(i, operation) {
                self.failed.entry(operation.path.clone()).or_insert(i);
            }
        }
        self.check_results();
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// The text of `path` after the operations so far.
    fn state(&mut self, i: usize, path: &str) -> Option<Option<String>> {
        if !self.states.contains_key(path) {
            let text = match read_text(self.world.files, path) {
                Ok(text) => text,
                Err(problem) => {
                    self.problems.push(problem.at(i).field("path"));
                    return None;
                }
            };
            if text.is_none()
                && let Some(other) = self.same_but_for_case(path)
            {
                let message = format!("'{path}' differs from {other} in case alone");
                self.problems.push(
                    Problem::new(&codes::INVALID_PATH, message).at(i).field("path").fix(
                        "many file systems take them for one file: use the name that is there",
                    ),
                );
                return None;
            }
            self.states.insert(path.to_owned(), FileState { before: text.clone(), now: text });
        }
        self.states.get(path).map(|state| state.now.clone())
    }

    /// Requires an earlier call of `state` for `path`.
    fn set_text(&mut self, path: &str, text: String) {
        if let Some(state) = self.states.get_mut(path) {
            state.now = Some(text);
        }
    }

    fn changed(&self) -> impl Iterator<Item = TextChange> {
        let changed = self.states.iter().filter(|(_, state)| state.now != state.before);
        changed.filter_map(|(path, state)| {
            let (before, after) = (state.before.clone(), state.now.clone()?);
            Some(TextChange { path: path.clone(), before, after })
        })
    }

    /// An existing path that differs only in case.
    fn same_but_for_case(&self, path: &str) -> Option<String> {
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let lower = path.to_lowercase();
        let mut there = self.world.files.list(dir).unwrap_or_default();
        there.extend(self.states.iter().filter(|(_, s)| s.now.is_some()).map(|(p, _)| p.clone()));
        there.into_iter().find(|other| other != path && other.to_lowercase() == lower)
    }

    fn finish(mut self) -> Result<MemoryPlan, Vec<Problem>> {
        let mut problems = std::mem::take(&mut self.problems);
        let routing = std::mem::take(&mut self.router).finish();
        if problems.is_empty() && routing.mode == Approval::ServerOnly {
            problems.push(
                Problem::new(&codes::SERVER_ONLY, routing.reason.clone())
                    .field("intent")
                    .fix("the manifest or schema lets only the program write there"),
            );
        }
        let mut files = BTreeMap::new();
        let mut affected = Vec::new();
        for TextChange { path, before, after } in self.changed() {
            affected.extend(validate::touched(&path, before.as_deref().unwrap_or(""), &after));
            let (before, after) = (before.map(String::into_bytes), after.into_bytes());
            files.insert(path, FileEdit { before, after });
        }
        if problems.is_empty() && files.is_empty() {
            problems.push(
                Problem::new(&codes::PLAN_FAILED, "the operations change nothing")
                    .field("operations")
                    .fix("the memory says this already"),
            );
        }
        if !problems.is_empty() {
            let mut distinct: Vec<Problem> = Vec::new();
            for problem in problems {
                if !distinct.contains(&problem) {
                    distinct.push(problem);
                }
            }
            return Err(distinct);
        }
        affected.sort_unstable();
        affected.dedup();
        Ok(MemoryPlan {
            files,
            routing,
            affected,
            warnings: self.warnings,
            preconditions: self.preconditions,
        })
    }
}

/// Notes of `branch`, under aye's name and agent-memory's.
pub fn notes_paths(branch: &str) -> [String; 2] {
    [notes_path(branch), format!("local/current.{}.md", branch.replace('/', "-"))]
}

pub fn notes_path(branch: &str) -> String {
    format!("local/current.{}.md", markdown::slug::slug(branch))
}

fn read_text(files: &dyn Files, path: &str) -> Result<Option<String>, Problem> {
    let bytes = files.read(path).map_err(|error| {
        let code = if error.is(&error::codes::SIZE_LIMIT) {
            &error::codes::SIZE_LIMIT
        } else {
            &codes::READ_ERROR
        };
        Problem::new(code, error.message()).fix("look at the file; nothing was changed")
    })?;
    let Some(bytes) = bytes else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        Problem::new(
            &codes::READ_ERROR,
            format!("{path} is not UTF-8 at byte {}", error.utf8_error().valid_up_to()),
        )
        .fix("repair its encoding by hand")
    })
}

#[cfg(test)]
mod tests;
