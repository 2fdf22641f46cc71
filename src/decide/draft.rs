//! One decision: what is decided on, and the statement that says so. It is made once under the lock; the files are
//! written and the event is recorded from it.

use super::{Part, Seen, digest_of, still};
use crate::changeset::File;
use crate::error::Result;
use crate::proposal::event::{BlobRef, Comment, Effect, Evidence, How, Note, digest, timestamp};
use crate::proposal::manifest::Manifest;
use crate::proposal::statement::{self, Statement, Verdict};
use crate::proposal::{Authority, Data, Proposal};
use crate::store::{NewRevision, Writer};

/// A decision that is to be recorded.
pub(super) struct Draft<'a> {
    pub(super) authority: &'a Authority,
    /// Where this clone's lanes and HEAD were when the proposal was shown.
    pub(super) seen: &'a Seen,
    /// As the lanes have it ([`super::verified`]).
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
    pub(super) unshown_lines: u64,
    /// The statement, once it was composed.
    pub(super) composed: Option<Composed>,
}

/// A statement, and the manifest that it names.
pub(super) struct Composed {
    manifest: Option<File>,
    statement: File,
}

/// What the event of a decision has in common with its statement.
pub(super) struct Terms {
    pub(super) revision: String,
    pub(super) digest: String,
    pub(super) reason: Option<String>,
    pub(super) how: How,
    pub(super) evidence: Evidence,
    pub(super) statement: BlobRef,
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
            unshown_lines: 0,
            composed: None,
        }
    }

    /// Refuses, before git makes the commit, which nothing reverts, what could not be recorded after it: a proposal
    /// that is not as it was shown any more, a lock or a lane that cannot be had, a part that others must not see.
    /// Flushes the statement and the manifest. The revision of a part is not there yet, and so no statement of it.
    ///
    /// # Errors
    /// As [`still`]; `private_path`; those of the store.
    pub(super) fn prepare(&mut self, writer: &mut Writer<'_>) -> Result<()> {
        still(writer, self.proposal, self.seen)?;
        if let Some(part) = self.part {
            return writer.require_revisable(self.proposal, &part.changes);
        }
        let digest = self.digest();
        let composed = self.compose(writer, self.revision, &digest)?;
        for file in composed.manifest.iter().chain([&composed.statement]) {
            writer.blob(file)?;
        }
        self.composed = Some(composed);
        writer.flush_objects()
    }

    /// Records it, with the event that `data` makes of its terms.
    ///
    /// # Errors
    /// Those of the store; `size_limit_exceeded`.
    pub(super) fn record(
        mut self,
        writer: &mut Writer<'_>,
        data: impl FnOnce(Terms) -> Data,
    ) -> Result<()> {
        let (authority, id) = (self.authority, &self.proposal.id);
        for comment in self.comments {
            writer.note(Some(id), Note::Comment(comment.clone()))?;
        }
        let (revision, digest) = match self.part {
            Some(part) => {
                let on = self.proposal.current().on.clone();
                let new =
                    NewRevision { on, ..NewRevision::new(&part.changes, part.reason.clone()) };
                let revised = writer.revise(authority, id, new)?;
                let digest = digest(revised.event.data.changes());
                (revised.id, digest)
            }
            None => (self.revision.to_owned(), self.digest()),
        };
        let composed = match self.composed.take() {
            Some(composed) => composed,
            None => self.compose(writer, &revision, &digest)?,
        };
        if let Some(manifest) = &composed.manifest {
            writer.attach("manifest", &manifest.bytes)?;
        }
        let statement = writer.attach("statement", &composed.statement.bytes)?;
        let (reason, evidence) = (self.reason.map(str::to_owned), authority.evidence().clone());
        let how = evidence.how();
        let terms = Terms { revision, digest, reason, how, evidence, statement };
        writer.decide(authority, Some(id), data(terms)).map(drop)
    }

    fn digest(&self) -> String {
        self.proposal.revision(self.revision).map(digest_of).unwrap_or_default()
    }

    fn compose(&self, writer: &mut Writer<'_>, revision: &str, digest: &str) -> Result<Composed> {
        let takes_back = matches!(self.verdict, Verdict::Undo | Verdict::Reopen);
        let seen = writer.seen(&self.proposal.id, takes_back, &self.seen.own)?;
        let manifest = self.manifest.map(|manifest| File::regular(manifest.to_bytes()));
        let named = |file: &File| -> Result<BlobRef> {
            let id = writer.store().entry_of(file)?.id;
            Ok(BlobRef { id, sha256: crate::sha256::hex(&file.bytes) })
        };
        let mut statement = Statement {
            actor: self.authority.actor().clone(),
            digest: digest.to_owned(),
            effect: self.effect,
            evidence: self.authority.evidence().clone(),
            format: statement::FORMAT.to_owned(),
            manifest: manifest.as_ref().map(named).transpose()?,
            policy: self.seen.policy.clone(),
            proposal: self.proposal.first_event.clone(),
            reason: None,
            reason_sha256: None,
            repository: self.seen.repository.clone(),
            revision: revision.to_owned(),
            seen,
            target: self.seen.target.clone(),
            time: timestamp(writer.now()),
            unshown_lines: self.unshown_lines,
            verdict: self.verdict.clone(),
        };
        statement.set_reason(self.reason);
        let statement = File::regular(statement.to_bytes()?);
        Ok(Composed { manifest, statement })
    }
}
