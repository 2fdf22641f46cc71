//! The eight operations, each on the text that the ones before it left.

mod add;
mod archive;
mod content;
mod edit;
mod rename;
mod target;

use std::ops::Range;

use super::Planner;
use super::precondition::{Policy, Precondition};
use crate::memory::codes;
use crate::memory::markdown::edit::Mark;
use crate::memory::markdown::{self, Document};
use crate::memory::problem::Problem;
use crate::memory::provenance;
use crate::memory::request::{Operation, OperationKind};
use crate::memory::settings::Category;

pub(super) use content::has_conflict_markers;

/// A new text of the file.
struct Edited {
    text: String,
    /// Whether a section was added to it.
    adds_section: bool,
    /// The sections (by their index before) that may differ; `None` for a whole new file.
    touched: Option<Range<usize>>,
}

/// What stops an operation: one problem or several.
struct Stop(Vec<Problem>);

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl Stop {
    /// Stops if there are problems.
    fn unless_none(problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self(problems)) }
    }
}

/// An operation and the file it is about, as the operations before left it.
struct Here<'a> {
    /// Index of the operation.
    i: usize,
    op: &'a Operation,
    path: &'a str,
    category: &'a Category,
    /// Whether there is a file.
    exists: bool,
    /// Its text; empty where there is none.
    document: Document<'a>,
}

/// The section an operation is about.
struct Target {
    /// Its index in the document.
    at: usize,
    /// It and those inside it.
    subtree: Range<usize>,
}

impl<'a> Here<'a> {
    fn source(&self) -> &'a str {
        self.document.source
    }

    /// The file's text, if there is a file.
    fn text(&self) -> Option<&'a str> {
        self.exists.then_some(self.document.source)
    }

    /// Which sections of new text get an id.
    fn mark(&self) -> Mark {
        if self.category.section_id_required { Mark::All } else { Mark::First }
    }

    /// Whether a section of the file has this id.
    fn has_id(&self, id: &str) -> bool {
        !self.document.by_id(id).is_empty()
    }

    fn target(&self, at: usize) -> Target {
        let end = self.document.sections[at].end;
        let count = self.document.sections.iter().filter(|s| s.start() < end).count();
        Target { at, subtree: at..count }
    }
}

impl Planner<'_> {
    /// Performs operation `i` on the file at `path`, or says what stops it.
    pub(super) fn perform(&mut self, i: usize, op: &Operation, path: &str, category: &Category) {
        let Some(state) = self.state(i, path) else { return };
        let here = Here {
            i,
            op,
            path,
            category,
            exists: state.is_some(),
            document: markdown::parse(state.as_deref().unwrap_or_default()),
        };
        let result = open_to_edits(&here).and_then(|()| match op.kind {
            OperationKind::CreateFile => self.create_file(&here),
            OperationKind::AppendSection => self.append_section(&here),
            _ => self.on_target(&here),
        });
        if let Err(Stop(problems)) = result.and_then(|edited| self.settle(&here, edited)) {
            // What else is wrong with it is said all the same.
            let adds = matches!(op.kind, OperationKind::AppendSection | OperationKind::CreateFile);
            self.check_provenance(i, category, adds);
            self.problems.extend(content::check_fields(&here).into_iter().map(|p| p.at(i)));
            for problem in problems {
                self.fail(i, path, problem);
            }
        }
    }

    /// Takes an edit for the file's text, if it leaves alone what it has to.
    fn settle(&mut self, here: &Here<'_>, edited: Edited) -> Result<(), Stop> {
        let after = markdown::parse(&edited.text);
        if let Some(touched) = edited.touched {
            content::guard_others(&here.document, touched, &after)?;
        }
        self.problems.extend(content::duplicate(&after, here).map(|problem| problem.at(here.i)));
        self.check_provenance(here.i, here.category, edited.adds_section);
        for name in super::validate::touched_names(&here.document, &after) {
            self.last_change.insert((here.path.to_owned(), name.to_owned()), here.i);
        }
        self.states.insert(here.path.to_owned(), Some(edited.text));
        Ok(())
    }

    fn check_provenance(&mut self, i: usize, category: &Category, adds_section: bool) {
        self.problems.extend(provenance::check_operation(
            i, self.request, category, adds_section, self.world.settings,
        ));
    }

    /// Notes that operation `i` failed: what a later one misses may be what it would have made.
    pub(super) fn fail(&mut self, i: usize, path: &str, problem: Problem) {
        let mut problem = problem.at(i);
        if problem.code.id == codes::PLAN_FAILED.id
            && let Some(earlier) = self.failed.get(path).filter(|earlier| **earlier < i)
        {
            let fix = problem.fix.take().unwrap_or_default();
            problem = problem
                .fix(format!("{fix}; if operation {earlier} was to make it, mend that one first"));
        }
        self.failed.entry(path.to_owned()).or_insert(i);
        self.problems.push(problem);
    }

    fn expect(
        &mut self,
        here: &Here<'_>,
        section: Option<String>,
        policy: Policy,
        hash: Option<String>,
    ) {
        self.expect_of(here, here.path, section, policy, hash);
    }

    /// As [`Planner::expect`], of another file than the operation's own.
    fn expect_of(
        &mut self,
        here: &Here<'_>,
        path: &str,
        section_id: Option<String>,
        policy: Policy,
        hash: Option<String>,
    ) {
        let path = path.to_owned();
        let precondition = Precondition { operation_index: here.i, path, section_id, policy, hash };
        self.preconditions.push(precondition);
    }
}

/// Files that are written once and files in conflict are left alone.
fn open_to_edits(here: &Here<'_>) -> Result<(), Stop> {
    let path = here.path;
    if here.exists && here.category.write_once {
        let message = format!("{path} is there already and is written once");
        return Err(Problem::new(&codes::WRITE_ONCE, message)
            .field("path")
            .fix("choose another file name")
            .into());
    }
    if has_conflict_markers(here.source()) {
        let message = format!("{path} holds an unresolved merge conflict");
        return Err(Problem::new(&codes::PLAN_FAILED, message)
            .field("path")
            .fix("resolve it first; `aye memory lint` shows where")
            .into());
    }
    Ok(())
}
