//! Whether an operation may be at all: its path, its file's category, the intent, the route.

use super::{Planner, notes_path};
use crate::changeset::RepoPath;
use crate::memory::intent::{self, Intent};
use crate::memory::problem::{Problem, brief};
use crate::memory::request::{IfExists, Operation, OperationKind};
use crate::memory::settings::schema::Files;
use crate::memory::settings::{Approval, Category};
use crate::memory::{DIR, codes, markdown};
use crate::spelling::did_you_mean;

impl<'a> Planner<'a> {
    /// Path, category, intent and route of an operation; the path it really means.
    pub(super) fn admit(
        &mut self,
        i: usize,
        operation: &Operation,
    ) -> Option<(String, &'a Category)> {
        let settings = self.world.settings;
        let intent = self.request.intent;
        let path = if intent == Intent::SessionLog
            && (matches!(operation.path.as_str(), "" | "_")
                || operation.path.starts_with("sessions/"))
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
        if operation.kind == OperationKind::CreateFile
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
        let shared = path == intent::SHARED;
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
    pub(super) fn locate(&mut self, i: usize, field: &str, path: &str) -> Option<&'a Category> {
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
                    Files::One(p) | Files::Glob(p) => p.as_str(),
                })
                .collect();
            let fix = did_you_mean(path, known.iter().copied());
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
    pub(super) fn refuse_closed(&self, category: &Category, path: &str) -> Result<(), Problem> {
        let (code, why) = if category.server_managed || !category.agent_writable {
            (&codes::SERVER_MANAGED, "is not open to proposals")
        } else if category.approval == Approval::ServerOnly {
            (&codes::SERVER_ONLY, "is written by the program alone")
        } else {
            return Ok(());
        };
        Err(Problem::new(code, format!("{path} {why}")).fix("write to another file"))
    }
}

/// A path of the store that could be a file in it.
pub(super) fn check_path(path: &str) -> Result<(), Problem> {
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
    if path.chars().any(crate::text::is_unsafe) {
        return wrong(
            format!("'{path}' has control or invisible characters"),
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
