//! Operations on a section that is there.

use std::collections::HashSet;

use super::content::{inner, keeps_id, open_end, whole_section};
use super::target::{Missed, resolve};
use super::{Edited, Here, Stop, Target};
use crate::memory::codes;
use crate::memory::markdown::edit::{self, Mark};
use crate::memory::markdown::{self, Document};
use crate::memory::plan::Planner;
use crate::memory::plan::precondition::{Policy, hash, name};
use crate::memory::problem::Problem;
use crate::memory::request::OperationKind;

impl Planner<'_> {
    /// An operation that names a section.
    pub(super) fn on_target(&mut self, here: &Here<'_>) -> Result<Edited, Stop> {
        let replaces = here.op.kind == OperationKind::ReplaceSection;
        let at = match resolve(here) {
            Ok(at) => at,
            Err(Missed::Absent(problem)) if replaces => return self.replace_missing(here, problem),
            Err(missed) => return Err(missed.problem().into()),
        };
        let document = &here.document;
        let pinned = |text: &str| (Policy::RequireSectionContentMatch, Some(hash(text)));
        let (policy, hash) = match here.op.kind {
            OperationKind::AppendToSection | OperationKind::RenameHeading => {
                (Policy::RequireSectionResolvable, None)
            }
            OperationKind::ReplaceSectionContent => pinned(document.own_text(at)),
            _ => pinned(document.text(at)),
        };
        self.expect(here, Some(name(document, at).to_owned()), policy, hash);
        let target = here.target(at);
        let own = at..at + 1;
        // What may change: the section with those inside it, or its own text alone.
        let ((text, adds_section), touched) = match here.op.kind {
            OperationKind::AppendToSection => (append_to(here, &target)?, target.subtree),
            OperationKind::ReplaceSectionContent => (replace_own(here, &target)?, own),
            OperationKind::ReplaceSection => (replace(here, &target)?, target.subtree),
            OperationKind::RenameHeading => ((self.rename(here, &target)?, false), own),
            _ => {
                self.archive(here, &target)?;
                let text = match here.op.kind {
                    OperationKind::ArchiveSection => {
                        edit::replace_section(document, at, &super::archive::stub(here, &target)?)
                    }
                    _ => edit::remove_section(document, at),
                };
                ((text, false), target.subtree)
            }
        };
        Ok(Edited { text, adds_section, touched: Some(touched) })
    }
}

/// `content` for the inside of a section, with ids for the sections it brings; whether it does.
fn with_inner_ids(here: &Here<'_>, level: u8) -> Result<(String, bool), Stop> {
    let content = &here.op.content;
    let adds = inner("content", content, level)?;
    let content = match adds {
        true => edit::with_ids(content, None, Mark::All, &[], |id| here.has_id(id)),
        false => content.clone(),
    };
    Ok((content, adds))
}

/// The new text, and whether it has sections that it had not; as the two below.
fn append_to(here: &Here<'_>, target: &Target) -> Result<(String, bool), Stop> {
    let section = &here.document.sections[target.at];
    let (content, adds_section) = with_inner_ids(here, section.level)?;
    if section.end == here.source().len() {
        open_end(&here.document, here.path)?;
    }
    let text = edit::append_to_section(&here.document, target.at, &content);
    Ok((text, adds_section))
}

fn replace_own(here: &Here<'_>, target: &Target) -> Result<(String, bool), Stop> {
    let (content, adds_section) = with_inner_ids(here, here.document.sections[target.at].level)?;
    let parsed = markdown::parse(&here.op.content);
    if parsed.sections.first().is_some_and(|first| parsed.source[..first.start()].trim().is_empty())
    {
        return Err(Problem::new(&codes::INVALID_MARKDOWN, "the content begins with a heading")
            .field("content")
            .line(1)
            .fix("give the text under the heading only, or use replace_section")
            .into());
    }
    let text = edit::replace_own_body(&here.document, target.at, &content);
    Ok((text, adds_section))
}

fn replace(here: &Here<'_>, target: &Target) -> Result<(String, bool), Stop> {
    let document = &here.document;
    let section = &document.sections[target.at];
    let old_id = section.id.as_deref();
    let content = &here.op.content;
    whole_section("content", content, Some(section.level))?;
    keeps_id("content", content, old_id)?;
    let before = ids(document, target.subtree.clone());
    let content = if old_id.is_some() || here.category.section_id_required {
        edit::with_ids(content, old_id, here.mark(), &before, |id| taken(here, target, id))
    } else {
        content.clone()
    };
    let text = edit::replace_section(document, target.at, &content);
    let adds_section = has_new_sections(document, &markdown::parse(&text));
    Ok((text, adds_section))
}

/// Whether a section outside the target has this id.
pub(super) fn taken(here: &Here<'_>, target: &Target, id: &str) -> bool {
    here.document.by_id(id).iter().any(|k| !target.subtree.contains(k))
}

/// Level, heading and id of the sections in `range` that have one.
pub(super) fn ids(
    document: &Document<'_>,
    range: std::ops::Range<usize>,
) -> Vec<(u8, String, String)> {
    document.sections[range]
        .iter()
        .filter_map(|s| s.id.clone().map(|id| (s.level, s.heading.clone(), id)))
        .collect()
}

/// True if `new` has a section that `old` has not.
fn has_new_sections(old: &Document<'_>, new: &Document<'_>) -> bool {
    let known: HashSet<&str> = old.sections.iter().filter_map(|s| s.id.as_deref()).collect();
    new.sections.len() > old.sections.len()
        || new.sections.iter().any(|s| s.id.as_deref().is_some_and(|id| !known.contains(id)))
}
