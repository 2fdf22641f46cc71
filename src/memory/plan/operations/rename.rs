//! Giving a section another heading.

use super::{Here, Stop, Target};
use crate::memory::codes;
use crate::memory::markdown::{self, edit, lines, slug};
use crate::memory::plan::Planner;
use crate::memory::problem::{Problem, brief};

/// What cannot begin an underlined heading: it would be a list, a quote, code or a table.
const BLOCK_MARKS: [char; 9] = ['-', '*', '+', '>', '=', '<', '`', '~', '|'];

impl Planner<'_> {
    /// `rename_heading`.
    pub(super) fn rename(&mut self, here: &Here<'_>, target: &Target) -> Result<String, Stop> {
        let document = &here.document;
        let section = &document.sections[target.at];
        let new = here.op.new_heading.trim();
        let level = match here.op.new_heading_level {
            0 => section.level,
            level => level,
        };
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
        let has_children = document.children(target.at).next().is_some();
        if level != section.level && (has_children || section.parent.is_some()) {
            self.warn(format!(
                "changing the level of '{}' changes what it is inside of, or what is inside it",
                section.heading
            ));
        }
        let mut text = edit::rename(document, target.at, new, level);
        if section.id.is_none() && here.category.section_id_required {
            // The id would have come from the heading; it stays what it was.
            let id = slug::unique(&section.heading, |id| here.has_id(id));
            let at = markdown::parse(&text).sections[target.at].heading_line.end;
            let eol = lines::dominant_ending(&text);
            let lead = if lines::ends_line(&text[..at]) { "" } else { eol };
            text = edit::splice(&text, at..at, &format!("{lead}{}{eol}", markdown::marker(&id)));
        }
        Ok(text)
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
