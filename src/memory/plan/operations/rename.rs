//! Changes a section's heading.

use super::{EditResult, OperationProblems, OperationTarget, Subtree};
use crate::memory::codes;
use crate::memory::markdown::{self, edit, lines, slug};
use crate::memory::plan::Planner;
use crate::memory::problem::{Problem, brief};

impl Planner<'_> {
    pub(super) fn rename(
        &mut self,
        here: &OperationTarget<'_>,
        subtree: &Subtree,
        new: &str,
        level: Option<u8>,
    ) -> Result<EditResult, OperationProblems> {
        self.expect_section(here, subtree);
        let (document, at) = (&here.document, subtree.at);
        let section = &document.sections[at];
        let level = level.unwrap_or(section.level);
        if level.abs_diff(section.level) > 1 {
            let message = format!(
                "a heading of level {} cannot become one of level {level} at once",
                section.level
            );
            return Err(Problem::new(&codes::PLAN_FAILED, message)
                .field("new_heading_level")
                .fix("change it by one, or leave it at 0")
                .into());
        }
        let mut text = edit::rename(document, at, new, level);
        let line = format!("# {new}");
        let wanted = markdown::parse(&line);
        let found = markdown::parse(&text);
        let is_plain =
            !new.contains(['\n', '\r']) && !new.starts_with('#') && !new.contains("<!--");
        let reads_so = wanted.sections.first().is_some_and(|wanted| {
            let renamed = found.sections.get(at).map(|section| (&section.heading, section.level));
            !wanted.heading.is_empty() && renamed == Some((&wanted.heading, level))
        });
        if !is_plain || !reads_so {
            let message = format!("'{}' cannot be this heading", brief(new));
            return Err(Problem::new(&codes::INVALID_MARKDOWN, message)
                .field("new_heading")
                .fix("give one line of text that begins with a word, without the # marks")
                .into());
        }
        if section.id.is_none() && here.category.section_id_required {
            // Keep the id that came from the old heading.
            let id = slug::unique(&section.heading, |id| here.has_id(id));
            let end = markdown::parse(&text).sections[at].heading_line.end;
            let eol = lines::dominant_ending(&text);
            let lead = if lines::ends_line(&text[..end]) { "" } else { eol };
            text = edit::splice(&text, end..end, &format!("{lead}{}{eol}", markdown::marker(&id)));
        }
        Ok(EditResult { text, adds_section: false, touched: Some(at..at + 1) })
    }
}
