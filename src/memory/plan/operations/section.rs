//! Operations on an existing section.

use std::collections::HashSet;
use std::ops::Range;

use super::content::{check_id_kept, check_inner, check_open_end, check_whole_section};
use super::{EditResult, OperationProblems, OperationTarget, Subtree};
use crate::memory::codes;
use crate::memory::markdown::edit::{self, Mark};
use crate::memory::markdown::{self, Document};
use crate::memory::plan::Planner;
use crate::memory::problem::Problem;

impl Planner<'_> {
    pub(super) fn append_to(
        &mut self,
        here: &OperationTarget<'_>,
        section: &Subtree,
        content: &str,
    ) -> Result<EditResult, OperationProblems> {
        self.expect_section(here, section);
        let inner = InnerText::of(here, section, content)?;
        if here.document.sections[section.at].end == here.source().len() {
            check_open_end(&here.document)?;
        }
        let text = edit::append_to_section(&here.document, section.at, &inner.text);
        let touched = Some(section.range.clone());
        Ok(EditResult { text, adds_section: inner.adds_section, touched })
    }

    pub(super) fn replace_own(
        &mut self,
        here: &OperationTarget<'_>,
        section: &Subtree,
        content: &str,
    ) -> Result<EditResult, OperationProblems> {
        self.expect_text(here, section, true);
        let inner = InnerText::of(here, section, content)?;
        let parsed = markdown::parse(content);
        if parsed.begins_with_heading() {
            return Err(Problem::new(
                &codes::INVALID_MARKDOWN,
                "the content begins with a heading",
            )
            .field("content")
            .line(1)
            .fix("give the text under the heading only, or use replace_section")
            .into());
        }
        let text = edit::replace_own_body(&here.document, section.at, &inner.text);
        let touched = Some(section.at..section.at + 1);
        Ok(EditResult { text, adds_section: inner.adds_section, touched })
    }

    pub(super) fn replace(
        &mut self,
        here: &OperationTarget<'_>,
        section: &Subtree,
        content: &str,
    ) -> Result<EditResult, OperationProblems> {
        self.expect_text(here, section, false);
        let document = &here.document;
        let old = &document.sections[section.at];
        check_whole_section("content", content, Some(old.level))?;
        check_id_kept("content", content, old.id.as_deref())?;
        let before = ids(document, section.range.clone());
        let content = if old.id.is_some() || here.category.section_id_required {
            edit::with_ids(content, old.id.as_deref(), here.mark(), &before, |id| {
                taken(here, section, id)
            })
        } else {
            content.to_owned()
        };
        let text = edit::replace_section(document, section.at, &content);
        let adds_section = has_new_sections(document, &markdown::parse(&text));
        Ok(EditResult { text, adds_section, touched: Some(section.range.clone()) })
    }
}

struct InnerText {
    text: String,
    adds_section: bool,
}

impl InnerText {
    fn of(
        here: &OperationTarget<'_>,
        section: &Subtree,
        content: &str,
    ) -> Result<Self, OperationProblems> {
        let adds_section =
            check_inner("content", content, here.document.sections[section.at].level)?;
        let text = edit::with_ids(content, None, Mark::All, &[], |id| here.has_id(id));
        Ok(Self { text, adds_section })
    }
}

/// True if a section outside `section` has this id.
pub(super) fn taken(here: &OperationTarget<'_>, section: &Subtree, id: &str) -> bool {
    here.document.by_id(id).iter().any(|k| !section.range.contains(k))
}

pub(super) fn ids(document: &Document<'_>, range: Range<usize>) -> Vec<(u8, String, String)> {
    document.sections[range]
        .iter()
        .filter_map(|s| s.id.clone().map(|id| (s.level, s.heading.clone(), id)))
        .collect()
}

fn has_new_sections(old: &Document<'_>, new: &Document<'_>) -> bool {
    let known: HashSet<&str> = old.sections.iter().filter_map(|s| s.id.as_deref()).collect();
    new.sections.len() > old.sections.len()
        || new.sections.iter().any(|s| s.id.as_deref().is_some_and(|id| !known.contains(id)))
}
