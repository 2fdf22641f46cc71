//! A review between two sessions: decisions kept on disk, and carried over to a new revision
//! where hunk and context are the same.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::review::{Decision, Part, Review, Unit};
use super::session::{DraftComment, Outcome, Slot};
use crate::changeset::hunks::{Diff, Hunk};
use crate::changeset::{RepoPath, bytes};

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
    /// Decided units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<StagedUnit>,
    /// Decided as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<StagedOutcome>,
    /// Comments that are not written yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<StagedComment>,
}

/// One decided unit, recognised by what it is, not by where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedUnit {
    /// The file.
    pub path: RepoPath,
    /// Blob id (SHA-1, hex) of the unit's lines with signs and context.
    pub fingerprint: String,
    /// Which of several units of that fingerprint in that file, from 0.
    #[serde(default)]
    pub nth: usize,
    /// How many there were.
    pub of: usize,
    /// What was said.
    pub decision: StagedDecision,
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

/// [`Outcome`] on disk.
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

/// [`DraftComment`] on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedComment {
    /// About which file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<RepoPath>,
    /// About which line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What is said.
    pub body: String,
}

impl Staged {
    /// What there is to keep of `slot`; that it was looked at is kept in any case.
    pub fn of(slot: &Slot, revision: &str) -> Self {
        let outcome = match &slot.outcome {
            Some(Outcome::Apply) => Some(StagedOutcome::Apply),
            Some(Outcome::Reject { reason }) => Some(StagedOutcome::Reject(reason.clone())),
            Some(Outcome::RequestChanges { reason }) => {
                Some(StagedOutcome::RequestChanges(reason.clone()))
            }
            Some(Outcome::Gone { .. }) | None => None,
        };
        let comment = |c: &DraftComment| StagedComment {
            path: c.path.clone(),
            line: c.line,
            body: c.body.clone(),
        };
        Self {
            schema: SCHEMA.to_owned(),
            proposal: slot.ticket.id.to_string(),
            revision: revision.to_owned(),
            units: slot.review.as_ref().map(staged_units).unwrap_or_default(),
            outcome,
            comments: slot.comments.iter().map(comment).collect(),
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
    /// split are split again. On another revision than the one decided on, only units with the
    /// same lines and context keep their decision, and none is decided as a whole. Returns the
    /// outcome, the comments, and how many decisions were dropped.
    pub fn restore(
        &self,
        review: &mut Review,
        revision: &str,
    ) -> (Option<Outcome>, Vec<DraftComment>, usize) {
        let dropped = restore_units(review, &self.units);
        let comments = self.comments.iter().map(|c| DraftComment {
            path: c.path.clone(),
            line: c.line,
            body: c.body.clone(),
        });
        let outcome = match &self.outcome {
            _ if self.revision != revision => None,
            None => None,
            Some(StagedOutcome::Apply) => Some(Outcome::Apply),
            Some(StagedOutcome::Reject(reason)) => Some(Outcome::Reject { reason: reason.clone() }),
            Some(StagedOutcome::RequestChanges(reason)) => {
                Some(Outcome::RequestChanges { reason: reason.clone() })
            }
        };
        (outcome, comments.collect(), dropped)
    }
}

/// A unit by what it is: file, fingerprint, and which of several that are the same.
type Identity = (RepoPath, String, usize, usize);

fn staged_units(review: &Review) -> Vec<StagedUnit> {
    let units: Vec<(RepoPath, String)> =
        review.units().iter().map(|unit| named(review, unit, &unit.part)).collect();
    let mut staged = Vec::new();
    for (identity, unit) in identities(units).into_iter().zip(review.units()) {
        let decision = match &unit.decision {
            None => continue,
            Some(Decision::Take) => StagedDecision::Take,
            Some(Decision::Leave) => StagedDecision::Leave,
            Some(Decision::Edit { bytes }) => StagedDecision::Edit(bytes.clone()),
        };
        let (path, fingerprint, nth, of) = identity;
        staged.push(StagedUnit { path, fingerprint, nth, of, decision });
    }
    staged
}

fn restore_units(review: &mut Review, staged: &[StagedUnit]) -> usize {
    let wanted: std::collections::HashSet<(&RepoPath, &str)> =
        staged.iter().map(|s| (&s.path, s.fingerprint.as_str())).collect();
    // Split what was split: the whole is not among the decided ones, one of its parts is.
    for at in (0..review.units().len()).rev() {
        let unit = &review.units()[at];
        let (path, whole) = named(review, unit, &unit.part);
        if wanted.contains(&(&path, whole.as_str())) {
            continue;
        }
        let Some(parts) = review.parts(at) else { continue };
        let diff = &review.file_of(at).diff;
        if parts.iter().any(|part| wanted.contains(&(&path, hunk_print(diff, part).as_str()))) {
            review.split(at);
        }
    }
    let units = review.units().iter().map(|unit| named(review, unit, &unit.part)).collect();
    let at: HashMap<Identity, usize> =
        identities(units).into_iter().enumerate().map(|(at, identity)| (identity, at)).collect();
    let mut dropped = 0;
    for unit in staged {
        let key = (unit.path.clone(), unit.fingerprint.clone(), unit.nth, unit.of);
        let Some(at) = at.get(&key) else {
            dropped += 1;
            continue;
        };
        let decision = match &unit.decision {
            StagedDecision::Take => Decision::Take,
            StagedDecision::Leave => Decision::Leave,
            StagedDecision::Edit(bytes) => Decision::Edit { bytes: bytes.clone() },
        };
        if matches!(decision, Decision::Edit { .. }) && review.editable(*at).is_none() {
            dropped += 1;
            continue;
        }
        review.decide(*at, Some(decision));
    }
    dropped
}

fn named(review: &Review, unit: &Unit, part: &Part) -> (RepoPath, String) {
    let file = &review.files()[unit.file];
    let print = match part {
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
    (file.path.clone(), print)
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

fn fingerprint(bytes: &[u8]) -> String {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, bytes)
        .map(|id| id.to_string())
        .unwrap_or_default()
}

fn identities(units: Vec<(RepoPath, String)>) -> Vec<Identity> {
    let mut of: HashMap<(RepoPath, String), usize> = HashMap::new();
    for unit in &units {
        *of.entry(unit.clone()).or_default() += 1;
    }
    let mut nth: HashMap<(RepoPath, String), usize> = HashMap::new();
    units
        .into_iter()
        .map(|unit| {
            let count = of[&unit];
            let n = nth.entry(unit.clone()).or_default();
            *n += 1;
            (unit.0, unit.1, *n - 1, count)
        })
        .collect()
}
