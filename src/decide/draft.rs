//! One decision before it is recorded. It is made once under the lock; files are written and the
//! event is recorded from it.

use super::{PartialProposal, ViewedState, require_unchanged};
use crate::changeset::hunks;
use crate::changeset::plan::ApplyPlan;
use crate::error::Result;
use crate::proposal::event::{Comment, Effect, Evidence, Note, Verdict};
use crate::proposal::manifest::Manifest;
use crate::proposal::{Authority, Proposal, StoredEvent};
use crate::store::{NewDecision, NewRevision, Writer};

#[derive(Clone, Copy)]
pub(super) struct Draft<'a> {
    pub(super) authority: &'a Authority,
    /// HEAD and tips at display.
    pub(super) seen: &'a ViewedState,
    pub(super) proposal: &'a Proposal,
    /// Event id.
    pub(super) revision: &'a str,
    /// Becomes a revision first, which is then decided on.
    pub(super) part: Option<&'a PartialProposal>,
    pub(super) verdict: Verdict,
    pub(super) reason: Option<&'a str>,
    pub(super) effect: Option<Effect>,
    pub(super) manifest: Option<&'a Manifest>,
    /// Recorded before the decision.
    pub(super) comments: &'a [Comment],
    /// Changed lines.
    pub(super) lines: Option<u64>,
    /// Not shown by a terminal.
    pub(super) unshown_lines: u64,
    pub(super) group: Option<&'a str>,
    /// Undoes rejections, not applies.
    pub(super) of_rejections: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn new(
        authority: &'a Authority,
        seen: &'a ViewedState,
        proposal: &'a Proposal,
        verdict: Verdict,
    ) -> Self {
        Self {
            authority,
            seen,
            proposal,
            revision: &proposal.current().event,
            part: None,
            verdict,
            reason: None,
            effect: None,
            manifest: None,
            comments: &[],
            lines: None,
            unshown_lines: 0,
            group: None,
            of_rejections: false,
        }
    }

    /// Refuses what could not be recorded after git's commit, which nothing reverts: a changed
    /// proposal, a lock or ref that is not available, or a part that must stay private. Writes the
    /// decision's objects, so that little can fail later.
    pub(super) fn prepare(self, writer: &mut Writer<'_>) -> Result<()> {
        require_unchanged(writer, self.proposal, self.seen)?;
        self.record(writer)?;
        writer.flush_objects()?;
        writer.drop_events();
        Ok(())
    }

    /// Records comments, the revision of a part, and then the decision. The caller has pinned the
    /// thread (`still`).
    pub(super) fn record(self, writer: &mut Writer<'_>) -> Result<StoredEvent> {
        let (authority, id) = (self.authority, &self.proposal.id);
        for comment in self.comments {
            writer.note(Some(id), Note::Comment(comment.clone()))?;
        }
        let revised = match self.part {
            Some(part) => {
                let on = self.proposal.current().on.clone();
                let new =
                    NewRevision { on, ..NewRevision::new(&part.changes, part.reason.clone()) };
                Some(writer.revise(authority, id, new)?.id)
            }
            None => None,
        };
        let is_shown = *authority.evidence() == Evidence::Terminal;
        let shown = self.lines.filter(|_| is_shown);
        let decision = NewDecision {
            revision: Some(revised.as_deref().unwrap_or(self.revision)),
            reason: self.reason,
            effect: self.effect,
            manifest: self.manifest,
            target: self.seen.target.clone(),
            policy: self.seen.policy.clone(),
            repository: self.seen.repository.clone(),
            lines: self.lines,
            shown: shown.map(|lines| lines.saturating_sub(self.unshown_lines)),
            group: self.group.map(str::to_owned),
            of_rejections: self.of_rejections,
            ..NewDecision::new(self.verdict)
        };
        writer.decide(authority, id, decision)
    }
}

pub(super) fn lines(plan: &ApplyPlan) -> Option<u64> {
    let of = |file: &Option<crate::changeset::File>| file.as_ref().map(|file| file.bytes.clone());
    let counts = plan.writes().map(|file| {
        let (counts, _) = hunks::measure(of(&file.now).as_deref(), of(&file.after).as_deref());
        (counts.added + counts.removed) as u64
    });
    Some(counts.sum())
}
