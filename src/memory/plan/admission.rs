//! Admission of an operation: its path, category, intent and route.

use super::{Planner, notes_path};
use crate::changeset::RepoPath;
use crate::memory::intent::{self, Intent};
use crate::memory::problem::{Problem, brief};
use crate::memory::request::{Edit, IfExists, Operation};
use crate::memory::settings::{Approval, Category};
use crate::memory::{DIR, codes, markdown};
use crate::spelling::did_you_mean;

impl<'a> Planner<'a> {
    /// The effective path of an operation, and its category.
    pub(super) fn locate_operation(
        &mut self,
        i: usize,
        operation: &Operation,
    ) -> Option<(String, &'a Category)> {
        let is_open = matches!(operation.path.as_str(), "" | "_");
        let path = match self.request.intent {
            Some(Intent::SessionLog) if is_open || operation.path.starts_with("sessions/") => {
                let own = self.session_path();
                if !is_open && operation.path != own {
                    self.warn(format!(
                        "{} became {own}: a session log has a file a day",
                        operation.path
                    ));
                }
                own
            }
            _ => operation.path.clone(),
        };
        let category = self.locate(i, "path", &path)?;
        Some((path, category))
    }

    /// Checks intent and manifest, and routes the edit.
    pub(super) fn admit(&mut self, i: usize, edit: &Edit, path: &str, category: &Category) -> bool {
        let settings = self.world.settings;
        if let Some(intent) = self.request.intent {
            if !intent.covers(category, path, edit) {
                let mut others = Intent::ALL.iter();
                let fix = match others.find(|other| other.covers(category, path, edit)) {
                    Some(other) => {
                        format!("use the intent {}, in a request of its own", other.as_str())
                    }
                    None => "no intent covers that operation there".to_owned(),
                };
                let message =
                    format!("{} does not cover {path} ({})", intent.as_str(), category.name);
                let problem = Problem::new(&codes::INTENT_PATH_MISMATCH, message);
                self.problems.push(problem.at(i).field("path").fix(fix));
                return false;
            }
            let slot = intent.slot(edit);
            let mode = settings.manifest.updates.approval.get(&slot);
            let mode = mode.copied().unwrap_or(Approval::ServerOnly);
            self.router.require(mode, format!("updates.approval.{}", slot.as_str()));
        }
        self.router.require(category.approval, format!("the category {}", category.name));
        if edit.archives() {
            self.router.require(Approval::Stage, "archiving");
        }
        if matches!(edit, Edit::CreateFile { if_exists: IfExists::Replace, .. })
            && category.git_tracked
        {
            self.router.require(Approval::Stage, "create_file with replace on a tracked file");
        }
        let archives = edit.archives() || category.name == "archive";
        if archives && !settings.manifest.archive.enabled {
            let message = "the manifest turns archiving off";
            let problem = Problem::new(&codes::VALIDATION_FAILED, message).field("operation");
            let fix = "set archive.enabled to true, or keep the section";
            self.problems.push(problem.at(i).fix(fix));
            return false;
        }
        self.check_notes(i, path, category);
        true
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

    fn check_notes(&mut self, i: usize, path: &str, category: &Category) {
        if category.name != "current" {
            return;
        }
        let notes = &self.world.settings.manifest.local_state;
        let shared = path == intent::SHARED;
        let is_on = if shared { notes.shared_file_enabled } else { notes.per_branch };
        if !is_on {
            let fix = "use the other notes file, or change local_state in the manifest";
            let message = "the manifest turns these notes off";
            let problem = Problem::new(&codes::VALIDATION_FAILED, message);
            self.problems.push(problem.at(i).field("path").fix(fix));
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
            let writable = schema.categories.values().filter(|c| c.agent_writable);
            let fix = did_you_mean(path, writable.map(Category::pattern));
            let message = format!("no category has '{}'", brief(path));
            let problem = Problem::new(&codes::UNKNOWN_CATEGORY, message);
            self.problems.push(problem.at(i).field(field).fix(fix));
            return None;
        };
        if let Err(problem) = self.refuse_closed(category, path) {
            self.problems.push(problem.at(i).field(field));
            return None;
        }
        Some(category)
    }

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

pub(super) fn check_path(path: &str) -> Result<(), Problem> {
    let is_padded = |part: &str| {
        let stem = part.strip_suffix(".md").unwrap_or(part);
        part.trim() != part || stem.trim() != stem
    };
    let (message, fix) = match RepoPath::new(path) {
        _ if path.starts_with(&format!("{DIR}/")) => (
            format!("'{path}' begins with {DIR}/"),
            "paths are relative to the store: drop that part",
        ),
        _ if path.chars().any(crate::text::is_unsafe) || path.split('/').any(is_padded) => (
            format!("'{path}' has invisible characters, or whitespace around a name"),
            "give it a name of letters, digits and hyphens",
        ),
        Err(_) if path.is_empty() => {
            ("the path is empty".to_owned(), "name a file, such as decisions.md")
        }
        Err(error) => (error.message().to_owned(), "give a path relative to the store, inside it"),
        Ok(_) => return Ok(()),
    };
    Err(Problem::new(&codes::INVALID_PATH, message).fix(fix))
}
