//! From a request to the files it leads to: every check, every operation in order, in memory.
//!
//! A pure function of the request, the settings and the present files. Planning the same request
//! again on other files is how a staged proposal is applied and rebased: what it was written for
//! is kept as [`Precondition`]s and compared.

mod admit;
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

/// The present files of a store.
pub trait Files {
    /// The bytes of `path` (relative to the store), `None` where there is no file.
    ///
    /// # Errors
    /// Where something else is in the way, or it cannot be read or is too large.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Error>;

    /// The paths of the files directly in the directory `dir` (`""` for the store itself), sorted.
    ///
    /// # Errors
    /// Where the directory cannot be read; a missing one is empty.
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

/// What planning needs to know of the world.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// Manifest and schema.
    pub settings: &'a Settings,
    /// The present files.
    pub files: &'a dyn Files,
    /// Scanners.
    pub guard: &'a dyn Guard,
    /// Lookup of cited files.
    pub sources: &'a dyn Sources,
    /// When it was proposed: names the session log, dates the archive.
    pub at: DateTime<Utc>,
    /// The branch, if there is one.
    pub branch: Option<&'a str>,
}

/// One file before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// Bytes before; `None` where it is new.
    pub before: Option<Vec<u8>>,
    /// Bytes after.
    pub after: Vec<u8>,
}

/// What a request leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPlan {
    /// TextChange files by path (relative to the store), the generated index page not among them.
    pub files: BTreeMap<String, FileEdit>,
    /// How it is let in.
    pub routing: Routing,
    /// Sections touched, in order of file.
    pub affected: Vec<AffectedSection>,
    /// For the reviewer.
    pub warnings: Vec<String>,
    /// What the operations were written for.
    pub preconditions: Vec<Precondition>,
}

/// Plans `request`.
///
/// # Errors
/// Every problem found, of all operations.
pub fn plan(request: &Request, world: &World<'_>) -> Result<MemoryPlan, Vec<Problem>> {
    probe(request, world).0
}

/// Plans `request`, and gives what its operations were written for even where the plan fails:
/// that is how drift is told from other problems.
pub fn probe(
    request: &Request,
    world: &World<'_>,
) -> (Result<MemoryPlan, Vec<Problem>>, Vec<Precondition>) {
    let mut planner = Planner::new(request, world);
    planner.run();
    let preconditions = planner.preconditions.clone();
    (planner.finish(), preconditions)
}

/// The text of a file before the first operation, and after those so far; `None`: no file.
struct State {
    before: Option<String>,
    now: Option<String>,
}

/// A changed file.
struct TextChange {
    path: String,
    before: Option<String>,
    after: String,
}

struct Planner<'a> {
    request: &'a Request,
    world: World<'a>,
    /// Every file looked at.
    states: BTreeMap<String, State>,
    problems: Vec<Problem>,
    warnings: Vec<String>,
    preconditions: Vec<Precondition>,
    router: Router,
    /// The first operation that failed on a file.
    failed: BTreeMap<String, usize>,
    /// The last operation that touched a section of a file.
    last_change: BTreeMap<(String, String), usize>,
}

impl<'a> Planner<'a> {
    fn new(request: &'a Request, world: &World<'a>) -> Self {
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

    /// The text of `path` as the operations so far left it.
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
            self.states.insert(path.to_owned(), State { before: text.clone(), now: text });
        }
        self.states.get(path).map(|state| state.now.clone())
    }

    /// The operations so far leave `text` at `path`, whose state was asked for.
    fn put(&mut self, path: &str, text: String) {
        if let Some(state) = self.states.get_mut(path) {
            state.now = Some(text);
        }
    }

    /// The files that the operations so far have changed.
    fn changed(&self) -> impl Iterator<Item = TextChange> {
        let changed = self.states.iter().filter(|(_, state)| state.now != state.before);
        changed.filter_map(|(path, state)| {
            let (before, after) = (state.before.clone(), state.now.clone()?);
            Some(TextChange { path: path.clone(), before, after })
        })
    }

    /// A file that is there under the name `path` in other letters.
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

/// The working notes of `branch`, and the name that agent-memory has for them.
pub fn notes_paths(branch: &str) -> [String; 2] {
    [notes_path(branch), format!("local/current.{}.md", branch.replace('/', "-"))]
}

/// The working notes of `branch`.
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
