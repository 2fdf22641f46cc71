//! Moving a section into the archive.

use chrono::{DateTime, Utc};

use super::content::{inner, keeps_id, whole_section};
use super::edit::taken;
use super::{Here, Stop, Target};
use crate::memory::codes;
use crate::memory::markdown::{self, edit, lines, slug};
use crate::memory::plan::Planner;
use crate::memory::plan::admit::check_path;
use crate::memory::plan::precondition::{Policy, name};
use crate::memory::problem::Problem;

impl Planner<'_> {
    /// Copies the target into its archive file.
    pub(super) fn archive(&mut self, here: &Here<'_>, target: &Target) -> Result<(), Stop> {
        let to = &here.op.archive_path;
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
        self.router.say(category.approval, format!("category {}", category.name));
        let Some(existing) = self.state(here.i, to) else { return Ok(()) };
        if existing.is_some() {
            self.expect_of(here, to, None, Policy::RequireFilePresent, None);
            return Err(Problem::new(&codes::ARCHIVE_EXISTS, format!("{to} is there already"))
                .field("archive_path")
                .fix("choose another file name; archives are written once")
                .into());
        }
        self.expect_of(here, to, None, Policy::RequireFileAbsent, None);
        let text = copy(here, target, self.world.at);
        self.states.insert(to.clone(), Some(text));
        Ok(())
    }
}

/// What the archive file holds: the section as it was, when it was moved, from where and why.
fn copy(here: &Here<'_>, target: &Target, at: DateTime<Utc>) -> String {
    let document = &here.document;
    let eol = lines::dominant_ending(document.source);
    let section = document.text(target.at).trim_end();
    let mut text = format!(
        "{section}{eol}{eol}<!-- @archived: {} from {}#{} -->{eol}",
        at.format("%Y-%m-%d"),
        here.path,
        slug::slug(name(document, target.at)),
    );
    if let Some(reason) = &here.op.reason {
        let reason = reason.replace("--", "- -").replace('>', "&gt;");
        text += &format!("<!-- @reason: {reason} -->{eol}");
    }
    text
}

/// What stays in the place of an archived section: `replacement` as it is where it begins with a
/// heading, else under the old heading and marker.
pub(super) fn stub(here: &Here<'_>, target: &Target) -> Result<String, Stop> {
    let section = &here.document.sections[target.at];
    let replacement = &here.op.replacement;
    let parsed = markdown::parse(replacement);
    let begins =
        parsed.sections.first().is_some_and(|s| replacement[..s.start()].trim().is_empty());
    if begins {
        whole_section("replacement", replacement, Some(section.level))?;
        keeps_id("replacement", replacement, section.id.as_deref())?;
        return Ok(match &section.id {
            Some(id) => edit::with_ids(replacement, Some(id), here.mark(), &[], |id| {
                taken(here, target, id)
            }),
            None => replacement.clone(),
        });
    }
    inner("replacement", replacement, section.level)?;
    let head = &here.source()[section.start()..section.body];
    let eol = lines::dominant_ending(here.source());
    let gap = if lines::ends_line(head) { "" } else { eol };
    Ok(format!("{head}{gap}{eol}{replacement}"))
}
