//! A review between two sessions: decisions kept on disk, and carried over to a new revision
//! where hunk and context are the same.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::comment::DraftComment;
use super::review::{Decision, Part, Review};
use super::session::{ReviewOutcome, Slot};
use crate::changeset::hunks::{Diff, Hunk};
use crate::changeset::{RepoPath, bytes};
use crate::proposal::event::Comment;

/// Name and version of the format.
pub const SCHEMA: &str = "aye/review-staged@1";

/// What a reviewer has decided about a proposal and not yet confirmed. Stored as JSON, one file
/// for each proposal; a file that cannot be read is as good as none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staged {
    /// `SCHEMA`.
    pub schema: String,
    /// Id of the proposal.
    pub proposal: String,
    /// Event id of the revision that was looked at.
    pub revision: String,
    /// Lines of context around the hunks.
    #[serde(default)]
    pub context: usize,
    /// Decided units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<StagedUnit>,
    /// Decided as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<StagedOutcome>,
    /// Comments that are not written yet; without a revision about [`Staged::revision`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<Comment>,
}

/// One decided unit, recognised by what it is and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedUnit {
    /// The file.
    pub path: RepoPath,
    /// Blob id (SHA-1, hex) of the unit's lines with signs and context.
    pub fingerprint: String,
    /// Where it stood, for a hunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands: Option<Stands>,
    /// What was said.
    pub decision: StagedDecision,
}

/// Where a hunk stood. The same hunk elsewhere in the file is another one, which the reviewer may
/// never have been shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stands {
    /// Blob id (SHA-1, hex) of the content it changes.
    pub base: String,
    /// Its first line there, from 0.
    pub line: usize,
    /// Whether the lines it changes, with their context, were nowhere else in that content.
    pub only: bool,
}

/// [`Decision`] on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StagedDecision {
    /// Take.
    Take,
    /// Leave out.
    Leave,
    /// Take this instead.
    Edit(#[serde(with = "bytes")] Vec<u8>),
}

/// [`ReviewOutcome`] on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StagedOutcome {
    /// Apply.
    Apply,
    /// Reject, with the reason.
    Reject(String),
    /// Request changes, with the reason.
    RequestChanges(String),
}

impl Staged {
    /// What there is to keep of `slot`; that it was looked at is kept in any case.
    pub fn of(slot: &Slot, revision: &str) -> Self {
        let outcome = match &slot.outcome {
            Some(ReviewOutcome::Apply) => Some(StagedOutcome::Apply),
            Some(ReviewOutcome::Reject { reason }) => Some(StagedOutcome::Reject(reason.clone())),
            Some(ReviewOutcome::RequestChanges { reason }) => {
                Some(StagedOutcome::RequestChanges(reason.clone()))
            }
            Some(ReviewOutcome::Gone { .. }) | None => None,
        };
        Self {
            schema: SCHEMA.to_owned(),
            proposal: slot.ticket.id.to_string(),
            revision: revision.to_owned(),
            context: slot.review.as_ref().map_or(0, Review::context),
            units: slot.review.as_ref().map(staged_units).unwrap_or_default(),
            outcome,
            comments: slot.comments.iter().map(|draft| draft.said.clone()).collect(),
        }
    }

    /// Reads a file; `None` for anything but this format about this proposal.
    pub fn parse(bytes: &[u8], proposal: &str) -> Option<Self> {
        let staged: Self = serde_json::from_slice(bytes).ok()?;
        (staged.schema == SCHEMA && staged.proposal == proposal).then_some(staged)
    }

    /// True when something was decided or said, and not only looked at.
    pub fn says_anything(&self) -> bool {
        self.outcome.is_some() || !self.units.is_empty() || !self.comments.is_empty()
    }

    /// Puts the decisions back onto `review`, which shows revision `revision`. Hunks that were
    /// split are split again. A decision counts only for the revision it was made on; units of
    /// another with the same lines and context, at the same place, are shown with the earlier
    /// answer. An edit never counts: see [`Review::saved_edit`]. Returns the outcome, the comments,
    /// and how many decisions were dropped.
    pub fn restore(
        &self,
        review: &mut Review,
        revision: &str,
    ) -> (Option<ReviewOutcome>, Vec<DraftComment>, usize) {
        let dropped = if self.context == review.context() || review.is_whole() {
            restore_units(review, &self.units)
        } else {
            let mut then = review.with_context(self.context);
            restore_units(&mut then, &self.units) + transfer(&then, review)
        };
        review.restored(self.revision == revision);
        // What is said about a line is about the line of that revision.
        let said_of = (self.revision != revision).then_some(&self.revision);
        let comments = self.comments.iter().map(|said| DraftComment {
            said: Comment {
                revision: said.revision.as_ref().or(said_of).cloned(),
                // A review answers no comment.
                resolves: None,
                ..said.clone()
            },
            saved: true,
        });
        let outcome = match &self.outcome {
            _ if self.revision != revision => None,
            None => None,
            Some(StagedOutcome::Apply) if review.is_unfit() => None,
            Some(StagedOutcome::Apply) => Some(ReviewOutcome::Apply),
            Some(StagedOutcome::Reject(reason)) => {
                Some(ReviewOutcome::Reject { reason: reason.clone() })
            }
            Some(StagedOutcome::RequestChanges(reason)) => {
                Some(ReviewOutcome::RequestChanges { reason: reason.clone() })
            }
        };
        (outcome, comments.collect(), dropped)
    }
}

fn staged_units(review: &Review) -> Vec<StagedUnit> {
    let mut staged = Vec::new();
    for unit in review.units() {
        // An edit that was not taken yet is kept as it was found.
        let saved = unit.earlier.as_ref().filter(|d| matches!(d, Decision::Edit { .. }));
        let decision = match unit.decision.as_ref().or(saved) {
            None => continue,
            Some(Decision::Take) => StagedDecision::Take,
            Some(Decision::Leave) => StagedDecision::Leave,
            Some(Decision::Edit { bytes }) => StagedDecision::Edit(bytes.clone()),
        };
        let Name { path, fingerprint } = name(review, unit.file, &unit.part);
        let stands = stands(review, unit.file, &unit.part);
        staged.push(StagedUnit { path, fingerprint, stands, decision });
    }
    staged
}

/// What was staged, by what it is about.
type ByName<'s> = HashMap<Name, Vec<&'s StagedUnit>>;

fn find<'s>(
    staged: &ByName<'s>,
    review: &Review,
    file: usize,
    part: &Part,
) -> Option<&'s StagedUnit> {
    let named = staged.get(&name(review, file, part))?;
    let now = stands(review, file, part);
    named.iter().copied().find(|unit| match (&unit.stands, &now) {
        (None, None) => true,
        (Some(then), Some(now)) => {
            (then.base == now.base && then.line == now.line) || (then.only && now.only)
        }
        _ => false,
    })
}

fn restore_units(review: &mut Review, units: &[StagedUnit]) -> usize {
    let mut staged = ByName::new();
    for unit in units {
        let name = Name { path: unit.path.clone(), fingerprint: unit.fingerprint.clone() };
        staged.entry(name).or_default().push(unit);
    }
    // Open what was opened: its file is decided in parts.
    for at in (0..review.units().len()).rev() {
        let unit = &review.units()[at];
        if unit.folded.is_some() && find(&staged, review, unit.file, &unit.part).is_none() {
            let path = &review.files()[unit.file].path;
            if staged.keys().any(|name| name.path == *path) {
                review.open(at);
            }
        }
    }
    // Split what was split: the whole is not among the decided ones, one of its parts is.
    for at in (0..review.units().len()).rev() {
        let unit = &review.units()[at];
        let file = unit.file;
        if find(&staged, review, file, &unit.part).is_some() {
            continue;
        }
        let Some(parts) = review.parts(at) else { continue };
        if parts.into_iter().any(|p| find(&staged, review, file, &Part::Hunk(p)).is_some()) {
            review.split(at);
        }
    }
    let mut kept = 0;
    for at in 0..review.units().len() {
        let unit = &review.units()[at];
        let Some(staged) = find(&staged, review, unit.file, &unit.part) else { continue };
        let decision = match &staged.decision {
            StagedDecision::Take if unit.unfit.is_some() => continue,
            StagedDecision::Take => Decision::Take,
            StagedDecision::Leave => Decision::Leave,
            StagedDecision::Edit(_) if review.editable(at).is_none() => continue,
            StagedDecision::Edit(bytes) => Decision::Edit { bytes: bytes.clone() },
        };
        review.decide(at, Some(decision));
        kept += 1;
    }
    units.len().saturating_sub(kept)
}

/// Carries decisions over from `then` to `now`, the same changes with another number of lines
/// around hunks: each line that changes keeps what was said about it. Returns how many decisions
/// could not be kept: an edited text begins and ends where its hunk did.
fn transfer(then: &Review, now: &mut Review) -> usize {
    let mut dropped = 0;
    for file in 0..now.files().len() {
        let mut said: Vec<Option<Decision>> = vec![None; then.files()[file].diff.edits().len()];
        let mut apart = Vec::new();
        for unit in &then.units()[then.units_of(file)] {
            match (&unit.part, &unit.decision) {
                (Part::Hunk(_), Some(Decision::Edit { .. })) => dropped += 1,
                (Part::Hunk(hunk), decision) => {
                    said[hunk.edits.clone()].fill(decision.clone());
                }
                (part, decision) => apart.push((part, decision)),
            }
        }
        for at in now.units_of(file).rev() {
            if let Part::Hunk(hunk) = &now.units()[at].part {
                let said = &said[hunk.edits.clone()];
                if said.iter().any(|decision| *decision != said[0]) {
                    now.split(at);
                }
            }
        }
        for at in now.units_of(file) {
            let decision = match &now.units()[at].part {
                Part::Hunk(hunk) => said[hunk.edits.start].clone(),
                part => {
                    apart.iter().find(|(p, _)| *p == part).and_then(|(_, said)| (*said).clone())
                }
            };
            now.decide(at, decision);
        }
    }
    dropped
}

/// What is decided: the file, and what the unit says.
#[derive(PartialEq, Eq, Hash)]
struct Name {
    path: RepoPath,
    fingerprint: String,
}

/// Where the hunk `part` stands; `None` for what stands nowhere else.
fn stands(review: &Review, file: usize, part: &Part) -> Option<Stands> {
    let Part::Hunk(hunk) = part else { return None };
    let file = &review.files()[file];
    Some(Stands {
        base: file.base().to_owned(),
        line: hunk.before.start,
        only: file.lines().are_only_at(file.diff.before(), &hunk.before),
    })
}

fn name(review: &Review, file: usize, part: &Part) -> Name {
    let file = &review.files()[file];
    let fingerprint = match part {
        Part::Hunk(hunk) => hunk_print(&file.diff, hunk),
        Part::Whole => {
            let side = |file: Option<&crate::changeset::File>| match file {
                Some(file) => format!("{} {}", file.mode.as_str(), fingerprint(&file.bytes)),
                None => "none".to_owned(),
            };
            let text =
                format!("whole {} {}", side(file.before.as_ref()), side(file.after.as_ref()));
            fingerprint(text.as_bytes())
        }
        Part::Place => {
            let mode = |file: Option<&crate::changeset::File>| file.map(|f| f.mode.as_str());
            let (before, after) = (mode(file.before.as_ref()), mode(file.after.as_ref()));
            let text = format!("place {:?} {before:?} {after:?}", file.old_path);
            fingerprint(text.as_bytes())
        }
    };
    Name { path: file.path.clone(), fingerprint }
}

fn hunk_print(diff: &Diff<'_>, hunk: &Hunk) -> String {
    let mut text = Vec::new();
    for line in diff.lines(hunk) {
        text.push(line.side.sign() as u8);
        text.extend_from_slice(line.bytes);
        if !line.is_terminated() {
            text.extend_from_slice(b"\n\\");
        }
    }
    fingerprint(&text)
}

pub(super) fn fingerprint(bytes: &[u8]) -> String {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, bytes)
        .map(|id| id.to_string())
        .unwrap_or_default()
}
