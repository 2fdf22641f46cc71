//! Operations that add: a file, a section, and `replace_section` where there is none.

use super::content::{closed, keeps_id, open_end, whole_section};
use super::target::{Missed, by_id, same_heading};
use super::{Edited, Here, Stop};
use crate::memory::codes;
use crate::memory::markdown::edit::{self, Mark};
use crate::memory::markdown::{self, Document};
use crate::memory::plan::Planner;
use crate::memory::plan::precondition::{Policy, hash, name};
use crate::memory::problem::{Problem, brief};
use crate::memory::request::{IfExists, IfMissing};
use crate::memory::settings::schema::Files;
use crate::memory::similar::Shingles;

impl Planner<'_> {
    /// `create_file`.
    pub(super) fn create_file(&mut self, here: &Here<'_>) -> Result<Edited, Stop> {
        let (op, path) = (here.op, here.path);
        let content = op.content.strip_prefix('\u{feff}').unwrap_or(&op.content);
        closed("content", content)?;
        match here.text() {
            // Appending to a file that is not there yet is met by one that is there by then.
            None if op.if_exists == IfExists::Append => {}
            None => self.expect(here, None, Policy::RequireFileAbsent, None),
            Some(text) => {
                let pinned = (op.if_exists == IfExists::Replace).then(|| hash(text));
                self.expect(here, None, Policy::RequireFilePresent, pinned);
            }
        }
        match (here.exists, op.if_exists) {
            (true, IfExists::Reject) => {
                Err(Problem::new(&codes::PLAN_FAILED, format!("{path} exists already"))
                    .field("path")
                    .fix("edit its sections, or set if_exists to append or replace")
                    .into())
            }
            (true, IfExists::Append) => match here.document.sections.len().checked_sub(1) {
                // Text that opens no section of its own belongs to the last one.
                Some(last) if markdown::parse(content).sections.is_empty() => {
                    open_end(&here.document, path)?;
                    let text = edit::append_to_section(&here.document, last, content);
                    Ok(Edited { text, adds_section: false, touched: Some(last..last + 1) })
                }
                _ => self.insert_at_end(here, content, None),
            },
            _ => {
                let known = super::edit::ids(&here.document, 0..here.document.sections.len());
                let text = if here.category.section_id_required {
                    edit::with_ids(content, None, Mark::All, &known, |_| false)
                } else {
                    content.to_owned()
                };
                Ok(Edited { text, adds_section: true, touched: None })
            }
        }
    }

    /// Adds `content` at the end of the file, with ids for its sections where the category wants
    /// them; `first` is the id of the first one, if it is settled.
    fn insert_at_end(
        &mut self,
        here: &Here<'_>,
        content: &str,
        first: Option<&str>,
    ) -> Result<Edited, Stop> {
        let document = &here.document;
        open_end(document, here.path)?;
        let content = if first.is_some() || here.category.section_id_required {
            edit::with_ids(content, first, here.mark(), &[], |id| here.has_id(id))
        } else {
            content.to_owned()
        };
        let text = edit::insert_section(document, here.source().len(), &content);
        let count = document.sections.len();
        let adds_section = !markdown::parse(&content).sections.is_empty();
        Ok(Edited { text, adds_section, touched: Some(count..count) })
    }

    /// `append_section`.
    pub(super) fn append_section(&mut self, here: &Here<'_>) -> Result<Edited, Stop> {
        let (op, path, document) = (here.op, here.path, &here.document);
        let fixed = matches!(here.category.files, Files::One(_));
        if !here.exists && here.category.git_tracked && !fixed {
            return Err(Problem::new(&codes::PLAN_FAILED, format!("there is no file {path}"))
                .field("path")
                .fix("create it with create_file")
                .into());
        }
        let level = op.heading_level.unwrap_or(2);
        whole_section("content", &op.content, Some(level))?;
        let parsed = markdown::parse(&op.content);
        let heading = op.heading.as_deref().unwrap_or_default();
        if !same_heading(&parsed, 0, heading) {
            let message = format!(
                "the content begins with the heading '{}', not '{}'",
                brief(&parsed.sections[0].heading),
                brief(heading)
            );
            return Err(Problem::new(&codes::INVALID_MARKDOWN, message)
                .field("content")
                .line(1)
                .fix("make `heading` and the first line of `content` the same")
                .into());
        }
        let (at, index) = match &op.parent_section_id {
            None => (here.source().len(), document.sections.len()),
            Some(parent) => self.end_of_parent(here, parent, level)?,
        };
        if at == here.source().len() {
            open_end(document, path)?;
        }
        let content = edit::with_ids(&op.content, None, here.mark(), &[], |id| here.has_id(id));
        let text = edit::insert_section(document, at, &content);
        self.warn_of_double(here, &parsed);
        Ok(Edited { text, adds_section: true, touched: Some(index..index) })
    }

    /// Where `parent` ends, and the index a section of `level` added there will have.
    fn end_of_parent(
        &mut self,
        here: &Here<'_>,
        parent: &str,
        level: u8,
    ) -> Result<(usize, usize), Stop> {
        let at = by_id(&here.document, here.path, parent, "parent_section_id")
            .map_err(Missed::problem)?;
        self.expect(here, Some(parent.to_owned()), Policy::RequireSectionResolvable, None);
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
        Ok((section.end, here.target(at).subtree.end))
    }

    /// Says when a section like the new one is there already.
    fn warn_of_double(&mut self, here: &Here<'_>, new: &Document<'_>) {
        let document = &here.document;
        let known = self.shingles.entry(here.path.to_owned()).or_insert_with(|| {
            (0..document.sections.len())
                .map(|i| (name(document, i).to_owned(), Shingles::of(document.own_body(i))))
                .collect()
        });
        let shingles = Shingles::of(new.own_body(0));
        let double = known.iter().find(|(_, other)| shingles.is_near(other));
        let warning = double
            .map(|(name, _)| format!("{}#{} says nearly the same already", here.path, brief(name)));
        known.push((new.sections[0].heading.clone(), shingles));
        if let Some(warning) = warning {
            self.warn(warning);
        }
    }

    /// `replace_section` where there is no such section; `problem` says so.
    pub(super) fn replace_missing(
        &mut self,
        here: &Here<'_>,
        problem: Problem,
    ) -> Result<Edited, Stop> {
        let op = here.op;
        match (op.if_missing, here.exists) {
            (IfMissing::Append, true) | (IfMissing::CreateFile, _) => {}
            (IfMissing::Append, false) => {
                return Err(problem
                    .fix("set if_missing to create_file, or use create_file")
                    .into());
            }
            (IfMissing::Reject, _) => return Err(problem.into()),
        }
        whole_section("content", &op.content, None)?;
        keeps_id("content", &op.content, op.section_id.as_deref())?;
        let policy =
            if here.exists { Policy::RequireFilePresent } else { Policy::RequireFileAbsent };
        self.expect(here, None, policy, None);
        self.insert_at_end(here, &op.content, op.section_id.as_deref())
    }
}
