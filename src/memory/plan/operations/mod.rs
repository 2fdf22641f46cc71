//! The eight operations, each on the result of the previous ones.

mod add;
mod archive;
mod content;
mod rename;
mod section;
mod target;

use std::ops::Range;

use self::target::TargetError;
use super::Planner;
use super::precondition::{Policy, Precondition, hash, name};
use crate::memory::codes;
use crate::memory::markdown::edit::Mark;
use crate::memory::markdown::{self, Document};
use crate::memory::problem::Problem;
use crate::memory::provenance;
use crate::memory::request::{Edit, IfMissing, Operation};
use crate::memory::settings::Category;

pub(super) use content::has_conflict_markers;

struct EditResult {
    text: String,
    adds_section: bool,
    /// Indices before the edit; `None` for a new file.
    touched: Option<Range<usize>>,
}

/// Problems that stop an operation.
struct OperationProblems(Vec<Problem>);

impl From<Problem> for OperationProblems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl From<TargetError> for OperationProblems {
    fn from(missed: TargetError) -> Self {
        let (TargetError::Absent(problem) | TargetError::Ambiguous(problem)) = missed;
        problem.into()
    }
}

impl OperationProblems {
    fn unless_none(problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self(problems)) }
    }
}

struct OperationTarget<'a> {
    /// Index of the operation.
    i: usize,
    edit: &'a Edit,
    path: &'a str,
    category: &'a Category,
    exists: bool,
    /// Empty without a file.
    document: Document<'a>,
}

struct Subtree {
    at: usize,
    /// Indices of the section and its descendants.
    range: Range<usize>,
}

impl<'a> OperationTarget<'a> {
    fn source(&self) -> &'a str {
        self.document.source
    }

    fn text(&self) -> Option<&'a str> {
        self.exists.then_some(self.document.source)
    }

    fn mark(&self) -> Mark {
        if self.category.section_id_required { Mark::All } else { Mark::First }
    }

    fn has_id(&self, id: &str) -> bool {
        !self.document.by_id(id).is_empty()
    }

    fn subtree(&self, at: usize) -> Subtree {
        let end = self.document.sections[at].end;
        let count = self.document.sections.iter().filter(|s| s.start() < end).count();
        Subtree { at, range: at..count }
    }
}

impl Planner<'_> {
    /// False if the operation is not even tried.
    pub(super) fn perform(&mut self, i: usize, operation: &Operation) -> bool {
        let Some((path, category)) = self.locate_operation(i, operation) else { return false };
        let Some(edit) = &operation.edit else {
            let adds = matches!(operation.name.as_str(), "append_section" | "create_file");
            self.check_provenance(i, category, adds);
            return false;
        };
        if !self.admit(i, edit, &path, category) {
            return false;
        }
        let Some(state) = self.state(i, &path) else { return true };
        let here = OperationTarget {
            i,
            edit,
            path: &path,
            category,
            exists: state.is_some(),
            document: markdown::parse(state.as_deref().unwrap_or_default()),
        };
        let result = open_to_edits(&here).and_then(|()| self.edited(&here));
        if let Err(OperationProblems(problems)) =
            result.and_then(|edited| self.accept_edit(&here, edited))
        {
            for problem in problems {
                self.fail(i, &path, problem);
            }
            // Report its other problems too.
            let adds = matches!(edit, Edit::AppendSection { .. } | Edit::CreateFile { .. });
            self.check_provenance(i, category, adds);
            self.problems.extend(content::check_fields(&here).into_iter().map(|p| p.at(i)));
        }
        true
    }

    fn edited(&mut self, here: &OperationTarget<'_>) -> Result<EditResult, OperationProblems> {
        match here.edit {
            Edit::CreateFile { content, if_exists } => self.create_file(here, content, *if_exists),
            Edit::AppendSection { heading, content, parent } => {
                let content = content::with_heading(heading, content)?;
                self.append_section(here, &content, parent.as_deref())
            }
            Edit::ReplaceSection { target, content, if_missing } => match here.find(target) {
                Err(TargetError::Absent(problem)) if *if_missing != IfMissing::Reject => {
                    self.add_missing(here, target.id(), content, problem)
                }
                found => self.replace(here, &found?, content),
            },
            Edit::AppendToSection { target, content } => {
                self.append_to(here, &here.find(target)?, content)
            }
            Edit::ReplaceSectionContent { target, content } => {
                self.replace_own(here, &here.find(target)?, content)
            }
            Edit::ArchiveSection { target, archive_path, replacement } => {
                self.archive(here, &here.find(target)?, archive_path, Some(replacement))
            }
            Edit::RemoveSection { target, archive_path, .. } => {
                self.archive(here, &here.find(target)?, archive_path, None)
            }
            Edit::RenameHeading { target, heading, level } => {
                self.rename(here, &here.find(target)?, heading.trim(), *level)
            }
        }
    }

    /// Stores an edit that leaves other sections alone.
    fn accept_edit(
        &mut self,
        here: &OperationTarget<'_>,
        edited: EditResult,
    ) -> Result<(), OperationProblems> {
        let after = markdown::parse(&edited.text);
        if let Some(touched) = edited.touched {
            content::guard_others(&here.document, touched, &after)?;
        }
        self.problems.extend(content::duplicate(&after, here).map(|problem| problem.at(here.i)));
        self.check_provenance(here.i, here.category, edited.adds_section);
        for name in super::validate::touched_names(&here.document, &after) {
            self.last_change.insert((here.path.to_owned(), name.to_owned()), here.i);
        }
        self.set_text(here.path, edited.text);
        Ok(())
    }

    fn check_provenance(&mut self, i: usize, category: &Category, adds_section: bool) {
        self.problems.extend(provenance::check_operation(
            i, self.request, category, adds_section, self.world.settings,
        ));
    }

    /// Later operations may miss the result of `i`.
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

    /// Records that the operation needs the present text of `section`; with `is_own`, without
    /// children.
    fn expect_text(&mut self, here: &OperationTarget<'_>, section: &Subtree, is_own: bool) {
        let document = &here.document;
        let text = if is_own { document.own_text(section.at) } else { document.text(section.at) };
        let (name, hash) = (name(document, section.at).to_owned(), hash(text));
        self.expect(here, here.path, Some(name), Policy::RequireSectionContentMatch, Some(hash));
    }

    /// Records that the operation needs `section`, which may grow.
    fn expect_section(&mut self, here: &OperationTarget<'_>, section: &Subtree) {
        let name = name(&here.document, section.at).to_owned();
        self.expect(here, here.path, Some(name), Policy::RequireSectionResolvable, None);
    }

    fn expect(
        &mut self,
        here: &OperationTarget<'_>,
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

/// Refuses edits of write-once files and files with conflicts.
fn open_to_edits(here: &OperationTarget<'_>) -> Result<(), OperationProblems> {
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
