//! One decision: what is decided on, and by which word. It is made once under the lock; the files are written and the
//! event is recorded from it.

use super::{Part, Seen, still};
use crate::changeset::hunks;
use crate::changeset::plan::Resolution;
use crate::error::Result;
use crate::proposal::event::{Comment, Effect, Evidence, Note, Verdict};
use crate::proposal::manifest::Manifest;
use crate::proposal::{Authority, Proposal, Stamped};
use crate::store::{NewDecision, NewRevision, Writer};

/// A decision that is to be recorded.
#[derive(Clone, Copy)]
pub(super) struct Draft<'a> {
    pub(super) authority: &'a Authority,
    /// HEAD, and the tips of the thread, when the proposal was shown.
    pub(super) seen: &'a Seen,
    pub(super) proposal: &'a Proposal,
    /// The event of the revision that is decided on.
    pub(super) revision: &'a str,
    /// What becomes a revision first, and is decided on instead.
    pub(super) part: Option<&'a Part>,
    pub(super) verdict: Verdict,
    pub(super) reason: Option<&'a str>,
    pub(super) effect: Option<Effect>,
    pub(super) manifest: Option<&'a Manifest>,
    /// Comments of the same answer, which are recorded before it.
    pub(super) comments: &'a [Comment],
    /// Changed lines of what is written.
    pub(super) lines: Option<u64>,
    /// How many of them had not been on the screen, where there was a screen.
    pub(super) unshown_lines: u64,
    /// What was decided in one answer with it.
    pub(super) group: Option<&'a str>,
    /// An undo of rejections, not of applies.
    pub(super) of_rejections: bool,
}

impl<'a> Draft<'a> {
    /// On the current revision of `proposal`, with nothing written.
    pub(super) fn new(
        authority: &'a Authority,
        seen: &'a Seen,
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

    /// Refuses, before git makes the commit, which nothing reverts, what could not be recorded after it: a proposal
    /// that is not as it was shown any more, a lock or a ref that cannot be had, a part that others must not see.
    /// The objects of the decision are there then, so that little is left to fail.
    ///
    /// # Errors
    /// As [`still`]; `private_path`; those of the store.
    pub(super) fn prepare(self, writer: &mut Writer<'_>) -> Result<()> {
        still(writer, self.proposal, self.seen)?;
        self.record(writer)?;
        writer.flush_objects()?;
        writer.take_back();
        Ok(())
    }

    /// Records it in a thread that the caller has pinned ([`still`]): first comments and the revision that a part
    /// makes, then the decision.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) fn record(self, writer: &mut Writer<'_>) -> Result<Stamped> {
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

/// Lines added and removed by `plan`.
pub(super) fn lines(plan: &Resolution) -> Option<u64> {
    let of = |file: &Option<crate::changeset::File>| file.as_ref().map(|file| file.bytes.clone());
    let counts = plan.writes().map(|file| {
        let (counts, _) = hunks::measure(of(&file.now).as_deref(), of(&file.after).as_deref());
        (counts.added + counts.removed) as u64
    });
    Some(counts.sum())
}
