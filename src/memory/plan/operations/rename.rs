//! Giving a section another heading.

use super::{Edited, Here, Stop, Subtree};
use crate::memory::codes;
use crate::memory::markdown::{self, edit, lines, slug};
use crate::memory::plan::Planner;
use crate::memory::problem::{Problem, brief};

/// What cannot begin an underlined heading: it would be a list, a quote, code or a table.
const BLOCK_MARKS: [char; 9] = ['-', '*', '+', '>', '=', '<', '`', '~', '|'];

impl Planner<'_> {
    /// `rename_heading`.
    pub(super) fn rename(
        &mut self,
        here: &Here<'_>,
        subtree: &Subtree,
        new: &str,
        level: Option<u8>,
    ) -> Result<Edited, Stop> {
        self.expect_section(here, subtree);
        let (document, at) = (&here.document, subtree.at);
        let section = &document.sections[at];
        let level = level.unwrap_or(section.level);
        check_heading(new, section.setext && level == section.level)?;
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
        let has_children = document.children(at).next().is_some();
        if level != section.level && (has_children || section.parent.is_some()) {
            self.warn(format!(
                "changing the level of '{}' changes what it is inside of, or what is inside it",
                section.heading
            ));
        }
        let mut text = edit::rename(document, at, new, level);
        if section.id.is_none() && here.category.section_id_required {
            // The id would have come from the heading; it stays what it was.
            let id = slug::unique(&section.heading, |id| here.has_id(id));
            let end = markdown::parse(&text).sections[at].heading_line.end;
            let eol = lines::dominant_ending(&text);
            let lead = if lines::ends_line(&text[..end]) { "" } else { eol };
            text = edit::splice(&text, end..end, &format!("{lead}{}{eol}", markdown::marker(&id)));
        }
        Ok(Edited { text, adds_section: false, touched: Some(at..at + 1) })
    }
}

/// `new` is one line that reads as the text of a heading.
fn check_heading(new: &str, underlined: bool) -> Result<(), Stop> {
    let line = format!("# {new}");
    let parsed = markdown::parse(&line);
    let plain = parsed.sections.len() == 1 && !parsed.sections[0].heading.is_empty();
    let (what, fix) =
        if !plain || new.contains(['\n', '\r']) || new.contains("<!--") || new.starts_with('#') {
            ("a heading", "give one line of text, without the # marks")
        } else if underlined && new.starts_with(BLOCK_MARKS) {
            ("an underlined heading", "begin it with a word")
        } else {
            return Ok(());
        };
    let message = format!("'{}' cannot be {what}", brief(new));
    Err(Problem::new(&codes::INVALID_MARKDOWN, message).field("new_heading").fix(fix).into())
}
