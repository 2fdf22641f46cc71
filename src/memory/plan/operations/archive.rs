//! Moves a section into the archive.

use chrono::{DateTime, Utc};

use super::content::{check_id_kept, check_inner, check_whole_section};
use super::section::taken;
use super::{EditResult, OperationProblems, OperationTarget, Subtree};
use crate::memory::codes;
use crate::memory::markdown::{self, edit, lines, slug};
use crate::memory::plan::Planner;
use crate::memory::plan::admission::check_path;
use crate::memory::plan::precondition::{Policy, name};
use crate::memory::problem::Problem;
use crate::memory::request::Edit;

impl Planner<'_> {
    pub(super) fn archive(
        &mut self,
        here: &OperationTarget<'_>,
        section: &Subtree,
        to: &str,
        replacement: Option<&String>,
    ) -> Result<EditResult, OperationProblems> {
        self.expect_text(here, section, false);
        self.copy_to(here, section, to)?;
        let document = &here.document;
        let text = match replacement {
            Some(text) => edit::replace_section(document, section.at, &stub(here, section, text)?),
            None => edit::remove_section(document, section.at),
        };
        Ok(EditResult { text, adds_section: false, touched: Some(section.range.clone()) })
    }

    fn copy_to(
        &mut self,
        here: &OperationTarget<'_>,
        section: &Subtree,
        to: &str,
    ) -> Result<(), OperationProblems> {
        check_path(to).map_err(|problem| problem.field("archive_path"))?;
        let schema = &self.world.settings.schema;
        let Some(category) = schema.category(to).filter(|category| category.name == "archive")
        else {
            let message = format!("'{to}' is not a file of the archive");
            return Err(Problem::new(&codes::INVALID_PATH, message)
                .field("archive_path")
                .fix("choose a path such as archive/decisions-2026.md")
                .into());
        };
        self.refuse_closed(category, to).map_err(|problem| problem.field("archive_path"))?;
        self.router.require(category.approval, format!("the category {}", category.name));
        let Some(existing) = self.state(here.i, to) else { return Ok(()) };
        if existing.is_some() {
            self.expect(here, to, None, Policy::RequireFilePresent, None);
            return Err(Problem::new(&codes::ARCHIVE_EXISTS, format!("{to} is there already"))
                .field("archive_path")
                .fix("choose another file name; archives are written once")
                .into());
        }
        self.expect(here, to, None, Policy::RequireFileAbsent, None);
        self.set_text(to, copy(here, section, self.world.at));
        Ok(())
    }
}

/// The archived copy: section, date, origin and reason.
fn copy(here: &OperationTarget<'_>, section: &Subtree, at: DateTime<Utc>) -> String {
    let document = &here.document;
    let eol = lines::dominant_ending(document.source);
    let whole = document.text(section.at).trim_end();
    let mut text = format!(
        "{whole}{eol}{eol}<!-- @archived: {} from {}#{} -->{eol}",
        at.format("%Y-%m-%d"),
        here.path,
        slug::slug(name(document, section.at)),
    );
    if let Edit::RemoveSection { reason: Some(reason), .. } = here.edit {
        let reason = reason.replace("--", "- -").replace('>', "&gt;");
        text += &format!("<!-- @reason: {reason} -->{eol}");
    }
    text
}

/// Keeps the old heading and marker unless `replacement` begins with a heading.
fn stub(
    here: &OperationTarget<'_>,
    section: &Subtree,
    replacement: &str,
) -> Result<String, OperationProblems> {
    let old = &here.document.sections[section.at];
    if markdown::parse(replacement).begins_with_heading() {
        check_whole_section("replacement", replacement, Some(old.level))?;
        check_id_kept("replacement", replacement, old.id.as_deref())?;
        return Ok(match &old.id {
            Some(id) => edit::with_ids(replacement, Some(id), here.mark(), &[], |id| {
                taken(here, section, id)
            }),
            None => replacement.to_owned(),
        });
    }
    check_inner("replacement", replacement, old.level)?;
    let head = &here.source()[old.start()..old.body];
    let eol = lines::dominant_ending(here.source());
    let gap = if lines::ends_line(head) { "" } else { eol };
    Ok(format!("{head}{gap}{eol}{replacement}"))
}
