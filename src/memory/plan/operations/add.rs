//! Operations that add: a file, a section, and `replace_section` of a missing one.

use super::content::{check_closed, check_id_kept, check_open_end, check_whole_section};
use super::target::by_id;
use super::{EditResult, OperationProblems, OperationTarget};
use crate::memory::codes;
use crate::memory::markdown::edit::{self, Mark};
use crate::memory::markdown::{self, Document};
use crate::memory::plan::Planner;
use crate::memory::plan::precondition::{Policy, hash, name};
use crate::memory::problem::{Problem, brief};
use crate::memory::request::{Edit, IfExists, IfMissing};

impl Planner<'_> {
    pub(super) fn create_file(
        &mut self,
        here: &OperationTarget<'_>,
        content: &str,
        if_exists: IfExists,
    ) -> Result<EditResult, OperationProblems> {
        let path = here.path;
        let content = content.strip_prefix('\u{feff}').unwrap_or(content);
        check_closed("content", content)?;
        match here.text() {
            // Appending also works once the file exists.
            None if if_exists == IfExists::Append => {}
            None => self.expect(here, here.path, None, Policy::RequireFileAbsent, None),
            Some(text) => {
                let pinned = (if_exists == IfExists::Replace).then(|| hash(text));
                self.expect(here, here.path, None, Policy::RequireFilePresent, pinned);
            }
        }
        match (here.exists, if_exists) {
            (true, IfExists::Reject) => {
                Err(Problem::new(&codes::PLAN_FAILED, format!("{path} exists already"))
                    .field("path")
                    .fix("edit its sections, or set if_exists to append or replace")
                    .into())
            }
            (true, IfExists::Append) => match here.document.sections.len().checked_sub(1) {
                // Text without a heading belongs to the last section.
                Some(last) if markdown::parse(content).sections.is_empty() => {
                    check_open_end(&here.document)?;
                    let text = edit::append_to_section(&here.document, last, content);
                    Ok(EditResult { text, adds_section: false, touched: Some(last..last + 1) })
                }
                _ => self.insert_at_end(here, content, None),
            },
            _ => {
                let known = super::section::ids(&here.document, 0..here.document.sections.len());
                let text = if here.category.section_id_required {
                    edit::with_ids(content, None, Mark::All, &known, |_| false)
                } else {
                    content.to_owned()
                };
                Ok(EditResult { text, adds_section: true, touched: None })
            }
        }
    }

    /// Adds ids if the category requires them; `first` is the first section's id, if known.
    fn insert_at_end(
        &mut self,
        here: &OperationTarget<'_>,
        content: &str,
        first: Option<&str>,
    ) -> Result<EditResult, OperationProblems> {
        let document = &here.document;
        check_open_end(document)?;
        let content = if first.is_some() || here.category.section_id_required {
            edit::with_ids(content, first, here.mark(), &[], |id| here.has_id(id))
        } else {
            content.to_owned()
        };
        let text = edit::insert_section(document, here.source().len(), &content);
        let count = document.sections.len();
        let adds_section = !markdown::parse(&content).sections.is_empty();
        Ok(EditResult { text, adds_section, touched: Some(count..count) })
    }

    /// `content` is the whole section.
    pub(super) fn append_section(
        &mut self,
        here: &OperationTarget<'_>,
        content: &str,
        parent: Option<&str>,
    ) -> Result<EditResult, OperationProblems> {
        let (path, document) = (here.path, &here.document);
        if !here.exists && here.category.git_tracked && here.category.file.is_none() {
            return Err(Problem::new(&codes::PLAN_FAILED, format!("there is no file {path}"))
                .field("path")
                .fix("create it with create_file")
                .into());
        }
        let parsed = markdown::parse(content);
        let (end, index) = match parent {
            None => (here.source().len(), document.sections.len()),
            Some(parent) => self.end_of_parent(here, parent, parsed.sections[0].level)?,
        };
        if end == here.source().len() {
            check_open_end(document)?;
        }
        let content = edit::with_ids(content, None, here.mark(), &[], |id| here.has_id(id));
        let text = edit::insert_section(document, end, &content);
        self.warn_of_double(here, &parsed);
        Ok(EditResult { text, adds_section: true, touched: Some(index..index) })
    }

    /// Offset and index for a section at the end of `parent`.
    fn end_of_parent(
        &mut self,
        here: &OperationTarget<'_>,
        parent: &str,
        level: u8,
    ) -> Result<(usize, usize), OperationProblems> {
        let at = by_id(&here.document, here.path, parent, "parent_section_id")?;
        self.expect(
            here,
            here.path,
            Some(parent.to_owned()),
            Policy::RequireSectionResolvable,
            None,
        );
        let section = &here.document.sections[at];
        if level <= section.level {
            let message = format!(
                "a section of level {level} cannot be inside '{parent}' of level {}",
                section.level
            );
            let fix = match section.level {
                6 => "no section can be inside one of level 6".to_owned(),
                outer => format!("use level {}", outer + 1),
            };
            return Err(Problem::new(&codes::PLAN_FAILED, message)
                .field("heading_level")
                .fix(fix)
                .into());
        }
        Ok((section.end, here.subtree(at).range.end))
    }

    fn warn_of_double(&mut self, here: &OperationTarget<'_>, new: &Document<'_>) {
        let words = |body: &str| {
            let words = body.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            words.map(str::to_lowercase).collect::<Vec<_>>()
        };
        let (document, wanted) = (&here.document, words(new.own_body(0)));
        let is_double = |i: &usize| words(document.own_body(*i)) == wanted;
        let double = (0..document.sections.len()).find(is_double).filter(|_| !wanted.is_empty());
        if let Some(i) = double {
            let warning =
                format!("{}#{} says the same already", here.path, brief(name(document, i)));
            self.warn(warning);
        }
    }

    /// `replace_section` of a missing section; `problem` describes the absence.
    pub(super) fn add_missing(
        &mut self,
        here: &OperationTarget<'_>,
        id: Option<&str>,
        content: &str,
        problem: Problem,
    ) -> Result<EditResult, OperationProblems> {
        let creates =
            matches!(here.edit, Edit::ReplaceSection { if_missing: IfMissing::CreateFile, .. });
        if !here.exists && !creates {
            return Err(problem.fix("set if_missing to create_file, or use create_file").into());
        }
        check_whole_section("content", content, None)?;
        check_id_kept("content", content, id)?;
        let policy =
            if here.exists { Policy::RequireFilePresent } else { Policy::RequireFileAbsent };
        self.expect(here, here.path, None, policy, None);
        self.insert_at_end(here, content, id)
    }
}
