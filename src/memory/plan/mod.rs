//! From a request to the files it leads to: every check, every operation in order, in memory.
//!
//! A pure function of the request, the settings and the present files. Planning the same request
//! again on other files is how a staged proposal is applied and rebased: what it was written for
//! is kept as [`Precondition`]s and compared.

pub mod index_page;
mod operations;
mod precondition;
mod validate;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

pub use precondition::{
    Drift, Policy, Precondition, drift, hash as text_hash, name as section_name,
};
pub use validate::{check_sections, touched};

use super::guard::{Found, Guard, Screened};
use super::intent::{Intent, Router, Routing};
use super::problem::{Problem, brief};
use super::provenance::{self, Sources};
use super::request::{IfExists, Kind, Operation, Reading, Request};
use super::response::AffectedSection;
use super::settings::{Approval, Category, Settings};
use super::similar::Shingles;
use super::{DIR, MAX_FILE_BYTES, codes, markdown};
use crate::changeset::RepoPath;
use crate::error::{self, Error};

/// The present files of a store.
pub trait Files {
    /// The bytes of `path` (relative to the store), `None` where there is no file.
    ///
    /// # Errors
    /// Where something else is in the way, or it cannot be read or is too large.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Error>;

    /// The paths of the files directly in the folder `dir` (`""` for the store itself), sorted.
    ///
    /// # Errors
    /// Where the folder cannot be read; a missing one is empty.
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
pub struct Plan {
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
pub fn plan(request: &Request, world: &World<'_>) -> Result<Plan, Vec<Problem>> {
    probe(request, world).0
}

/// Plans `request`, and gives what its operations were written for even where the plan fails:
/// that is how drift is told from other problems.
pub fn probe(
    request: &Request,
    world: &World<'_>,
) -> (Result<Plan, Vec<Problem>>, Vec<Precondition>) {
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

    /// The request's own strings.
    fn screen_request(&mut self) {
        let request = self.request;
        let mut texts: Vec<(String, &str)> = Vec::new();
        if let Some(rationale) = &request.rationale {
            texts.push(("rationale".into(), rationale));
        }
        for (i, source) in request.sources.iter().enumerate() {
            if let Some(reference) = &source.reference {
                texts.push((format!("sources[{i}]"), reference));
            }
        }
        if let Some(owner) = &request.owner {
            for (name, text) in [
                ("owner.id", &owner.id),
                ("owner.kind", &owner.kind),
                ("owner.op_id", &owner.op_id),
            ] {
                if let Some(text) = text {
                    texts.push((name.into(), text));
                }
            }
        }
        for (field, text) in texts {
            let one_line = field != "rationale";
            self.screen(None, &field, text, one_line);
        }
    }

    fn screen_operation(&mut self, i: usize, operation: &Operation) {
        let lines: [(&str, Option<&str>); 7] = [
            ("path", Some(&operation.path)),
            ("section_id", operation.section_id.as_deref()),
            ("heading", operation.heading.as_deref()),
            ("parent_section_id", operation.parent_section_id.as_deref()),
            ("archive_path", Some(&operation.archive_path)),
            ("new_heading", Some(&operation.new_heading)),
            ("reason", operation.reason.as_deref()),
        ];
        for (field, text) in lines {
            if let Some(text) = text {
                self.screen(Some(i), field, text, true);
            }
        }
        for (field, text) in
            [("content", &operation.content), ("replacement", &operation.replacement)]
        {
            self.screen(Some(i), field, text, false);
            self.refuse_forged_markers(i, field, text);
        }
    }

    fn screen(&mut self, operation: Option<usize>, field: &str, text: &str, one_line: bool) {
        if text.is_empty() {
            return;
        }
        if one_line && let Some(at) = text.find(['\n', '\r']) {
            let mut problem = Problem::new(
                &super::guard::codes::UNSAFE_TEXT,
                format!("{field} has a line break at byte {at}"),
            )
            .field(field)
            .line(1)
            .fix("it has to be one line");
            problem.operation = operation;
            self.problems.push(problem);
        }
        let Screened { mut blocking, warnings, allowed_regions } =
            self.world.guard.screen("", text);
        if one_line && text.contains('/') {
            let within = self.world.guard.screen("", &super::guard::parts(text)).blocking;
            blocking.extend(within);
            blocking.dedup();
        }
        for found in blocking {
            self.problems.push(problem_of(found, operation, field));
        }
        for found in warnings {
            let place = operation.map_or(String::new(), |i| format!("operation {i}, "));
            self.warn(format!("{place}{field}, line {}: {}", found.line, found.message));
        }
        if allowed_regions > 0 {
            self.router.say(Approval::Stage, "content that is to be left out of the secret scan");
            self.warn(format!(
                "{field} has {allowed_regions} region(s) that the secret scan is told to leave out: look at them"
            ));
        }
    }

    /// A marker that belongs to no heading of the content would pass for one later.
    fn refuse_forged_markers(&mut self, i: usize, field: &str, text: &str) {
        if !text.contains("@id") {
            return;
        }
        for at in markdown::parse(text).stray_markers {
            let line = markdown::lines::number_of(text, at);
            self.problems.push(
                Problem::new(
                    &super::guard::codes::UNSAFE_TEXT,
                    "a section marker stands where there is no heading",
                )
                .at(i)
                .field(field)
                .line(line)
                .fix("put it on the line after its heading, or show it as `code`"),
            );
        }
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Path, category, intent and route of an operation; the path it really means.
    fn admit(&mut self, i: usize, operation: &Operation) -> Option<(String, &'a Category)> {
        let settings = self.world.settings;
        let intent = self.request.intent;
        let path = if intent == Intent::SessionLog
            && (operation.path.is_empty() || operation.path.starts_with("sessions/"))
        {
            self.session_path()
        } else {
            operation.path.clone()
        };
        let category = self.locate(i, "path", &path)?;
        if !self.intent_is_guessed && !intent.covers(category, &path, operation.kind) {
            let fix = match Intent::for_category(&category.name, &path) {
                Some(other) => {
                    format!("use the intent {}, in a request of its own", other.as_str())
                }
                None => "leave the file to aye".to_owned(),
            };
            self.problems.push(
                Problem::new(
                    &codes::INTENT_PATH_MISMATCH,
                    format!("{} does not cover {path} ({})", intent.as_str(), category.name),
                )
                .at(i)
                .field("path")
                .fix(fix),
            );
            return None;
        }
        let (slot, mode) = intent.slot(operation.kind, &settings.manifest);
        self.router.say(mode, format!("slot {slot}"));
        self.router.say(category.approval, format!("category {}", category.name));
        if operation.kind.archives() {
            self.router.say(Approval::Stage, operation.kind.as_str());
        }
        if operation.kind == Kind::CreateFile
            && operation.if_exists == IfExists::Replace
            && category.git_tracked
        {
            self.router.say(Approval::Stage, "create_file with replace on a tracked file");
        }
        let archives = operation.kind.archives() || category.name == "archive";
        if archives && !settings.manifest.archive.enabled {
            self.problems.push(
                Problem::new(&codes::VALIDATION_FAILED, "the manifest turns archiving off")
                    .at(i)
                    .field("operation")
                    .fix("set archive.enabled to true, or keep the section"),
            );
            return None;
        }
        self.check_notes(i, &path, category);
        Some((path, category))
    }

    fn session_path(&self) -> String {
        let day = self.world.at.format("%Y-%m-%d");
        match self.world.branch {
            Some(branch) if self.world.settings.manifest.sessions.per_branch => {
                format!("sessions/{day}.{}.md", markdown::slug::slug(branch))
            }
            _ => format!("sessions/{day}.md"),
        }
    }

    /// What the manifest says of working notes.
    fn check_notes(&mut self, i: usize, path: &str, category: &Category) {
        if category.name != "current" {
            return;
        }
        let notes = &self.world.settings.manifest.local_state;
        let shared = path == super::intent::SHARED;
        let wrong = match (shared, notes.per_branch, notes.shared_file_enabled) {
            (true, _, false) => Some("the manifest turns shared notes off"),
            (false, false, _) => Some("the manifest turns notes per branch off"),
            _ => None,
        };
        if let Some(message) = wrong {
            self.problems.push(
                Problem::new(&codes::VALIDATION_FAILED, message)
                    .at(i)
                    .field("path")
                    .fix("use the other notes file, or change local_state in the manifest"),
            );
        }
        if let (false, Some(branch)) = (shared, self.world.branch) {
            let own = notes_path(branch);
            if path != own {
                self.warn(format!("{path} is not the notes file of this branch ({own})"));
            }
        }
    }

    /// The category of `path`, if proposals may write there.
    fn locate(&mut self, i: usize, field: &str, path: &str) -> Option<&'a Category> {
        if let Err(problem) = check_path(path) {
            self.problems.push(problem.at(i).field(field));
            return None;
        }
        let schema = &self.world.settings.schema;
        let Some(category) = schema.category(path) else {
            let known: Vec<&str> = schema
                .categories
                .values()
                .filter(|c| c.agent_writable)
                .map(|c| match &c.files {
                    super::settings::schema::Files::One(p)
                    | super::settings::schema::Files::Glob(p) => p.as_str(),
                })
                .collect();
            let fix = super::settings::did_you_mean(path, known.iter().copied());
            self.problems.push(
                Problem::new(
                    &codes::UNKNOWN_CATEGORY,
                    format!("no category has '{}'", brief(path)),
                )
                .at(i)
                .field(field)
                .fix(fix),
            );
            return None;
        };
        if let Err(problem) = self.refuse_closed(category, path) {
            self.problems.push(problem.at(i).field(field));
            return None;
        }
        Some(category)
    }

    /// Some categories are not for proposals.
    fn refuse_closed(&self, category: &Category, path: &str) -> Result<(), Problem> {
        let (code, why) = if category.server_managed || !category.agent_writable {
            (&codes::SERVER_MANAGED, "is not open to proposals")
        } else if category.approval == Approval::ServerOnly {
            (&codes::SERVER_ONLY, "is written by the program alone")
        } else {
            return Ok(());
        };
        Err(Problem::new(code, format!("{path} {why}")).fix("write to another file"))
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

    fn finish(self) -> Result<Plan, Vec<Problem>> {
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
        affected.sort();
        affected.dedup();
        Ok(Plan {
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

fn problem_of(found: Found, operation: Option<usize>, field: &str) -> Problem {
    let mut problem =
        Problem::new(found.code, found.message).field(field).line(found.line).fix(found.fix);
    problem.operation = operation;
    problem.finding = Some(found.kind);
    problem
}

/// A path of the store that could be a file in it.
fn check_path(path: &str) -> Result<(), Problem> {
    let wrong =
        |message: String, fix: &str| Err(Problem::new(&codes::INVALID_PATH, message).fix(fix));
    if path.is_empty() {
        return wrong("the path is empty".into(), "name a file, such as decisions.md");
    }
    if path.starts_with(&format!("{DIR}/")) {
        return wrong(
            format!("'{path}' begins with {DIR}/"),
            "paths are relative to the store: leave that part out",
        );
    }
    if path.chars().any(crate::render::escape::is_unsafe) {
        return wrong(
            format!("'{}' has control or invisible characters", crate::render::escape::line(path)),
            "use plain characters",
        );
    }
    if let Err(error) = RepoPath::new(path) {
        return wrong(
            error.message().to_owned(),
            error.hint_text().unwrap_or("give a path relative to the store, inside it"),
        );
    }
    let is_padded = |part: &str| {
        let stem = part.strip_suffix(".md").unwrap_or(part);
        part.trim() != part || stem.trim() != stem
    };
    if path.split('/').any(is_padded) {
        return wrong(
            format!("'{path}' has a name that begins or ends with a blank"),
            "give it a name of letters, digits and hyphens",
        );
    }
    Ok(())
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
