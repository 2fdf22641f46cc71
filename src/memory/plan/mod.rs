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

pub use precondition::{
    Drift, Policy, Precondition, drift, hash as text_hash, name as section_name,
};
pub use validate::{check_sections, touched};

use super::guard::Guard;
use super::intent::{Router, Routing};
use super::problem::Problem;
use super::provenance::{self, Sources};
use super::request::{Reading, Request};
use super::response::AffectedSection;
use super::settings::{Approval, Settings};
use super::similar::Shingles;
use super::{MAX_FILE_BYTES, codes, markdown};
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
    /// Changed files by path (relative to the store), the generated index page not among them.
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
    let mut planner = Planner::new(request, world, &[]);
    planner.run();
    let preconditions = planner.preconditions.clone();
    (planner.finish(), preconditions)
}

/// What is wrong with what could be read of a request besides its form: so that all problems come
/// back at once.
pub fn survey(reading: &Reading, world: &World<'_>) -> Vec<Problem> {
    let Some(request) = &reading.request else { return Vec::new() };
    let mut planner = Planner::new(request, world, &reading.broken);
    planner.intent_is_guessed = reading.intent_is_guessed;
    planner.run();
    planner.problems
}

struct Planner<'a> {
    request: &'a Request,
    world: World<'a>,
    /// Text of every file looked at, as it is after the operations so far; `None`: no file.
    states: BTreeMap<String, Option<String>>,
    /// The same before the first operation.
    originals: BTreeMap<String, Option<String>>,
    problems: Vec<Problem>,
    warnings: Vec<String>,
    preconditions: Vec<Precondition>,
    router: Router,
    /// The intent could not be read, so nothing follows from it.
    intent_is_guessed: bool,
    /// Operations that could not be read: only their texts are looked at.
    broken: &'a [usize],
    /// The first operation that failed on a file.
    failed: BTreeMap<String, usize>,
    /// The last operation that touched a section of a file.
    last_change: BTreeMap<(String, String), usize>,
    /// What the sections of a file say, to notice what is said twice.
    shingles: BTreeMap<String, Vec<(String, Shingles)>>,
}

impl<'a> Planner<'a> {
    fn new(request: &'a Request, world: &World<'a>, broken: &'a [usize]) -> Self {
        Self {
            request,
            world: *world,
            states: BTreeMap::new(),
            originals: BTreeMap::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
            preconditions: Vec::new(),
            router: Router::default(),
            intent_is_guessed: false,
            broken,
            failed: BTreeMap::new(),
            last_change: BTreeMap::new(),
            shingles: BTreeMap::new(),
        }
    }

    fn run(&mut self) {
        let request = self.request;
        self.screen_request();
        self.problems.extend(provenance::check_references(&request.sources, self.world.sources));
        self.warnings.extend(provenance::warnings(request));
        for (i, operation) in request.operations.iter().enumerate() {
            self.screen_operation(i, operation);
            if self.broken.contains(&i) {
                if !operation.path.is_empty() {
                    self.locate(i, "path", &operation.path);
                    self.failed.entry(operation.path.clone()).or_insert(i);
                }
                continue;
            }
            match self.admit(i, operation) {
                Some((path, category)) => self.perform(i, operation, &path, category),
                None => {
                    self.failed.entry(operation.path.clone()).or_insert(i);
                }
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
            self.originals.insert(path.to_owned(), text.clone());
            self.states.insert(path.to_owned(), text);
        }
        self.states.get(path).cloned()
    }

    /// A file that is there under the name `path` in other letters.
    fn same_but_for_case(&self, path: &str) -> Option<String> {
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let lower = path.to_lowercase();
        let mut there = self.world.files.list(dir).unwrap_or_default();
        there.extend(self.states.iter().filter(|(_, s)| s.is_some()).map(|(p, _)| p.clone()));
        there.into_iter().find(|other| other != path && other.to_lowercase() == lower)
    }

    fn finish(self) -> Result<MemoryPlan, Vec<Problem>> {
        let mut problems = self.problems;
        let routing = self.router.finish();
        if problems.is_empty() && routing.mode == Approval::ServerOnly {
            problems.push(
                Problem::new(&codes::SERVER_ONLY, routing.reason.clone())
                    .field("intent")
                    .fix("the manifest or schema lets only the program write there"),
            );
        }
        let mut files = BTreeMap::new();
        let mut affected = Vec::new();
        for (path, state) in &self.states {
            let before = self.originals.get(path).cloned().flatten();
            let Some(after) = state else { continue };
            if before.as_ref() == Some(after) {
                continue;
            }
            affected.extend(validate::touched(path, before.as_deref().unwrap_or(""), after));
            files.insert(
                path.clone(),
                FileEdit {
                    before: before.map(String::into_bytes),
                    after: after.clone().into_bytes(),
                },
            );
        }
        if problems.is_empty() && files.is_empty() {
            problems.push(
                Problem::new(&codes::PLAN_FAILED, "the operations change nothing")
                    .field("operations")
                    .fix("the memory says this already"),
            );
        }
        if !problems.is_empty() {
            let mut seen = Vec::new();
            problems.retain(|problem| {
                let new = !seen.contains(problem);
                if new {
                    seen.push(problem.clone());
                }
                new
            });
            return Err(problems);
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
    if bytes.len() > MAX_FILE_BYTES {
        return Err(Problem::new(
            &error::codes::SIZE_LIMIT,
            format!("{path} is larger than {MAX_FILE_BYTES} bytes"),
        )
        .fix("split it by hand"));
    }
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
