//! Decisions: the statement, its papers, and the tree with these.

use std::collections::HashSet;

use gix::ObjectId;
use gix::objs::Kind;

use super::event::file;
use super::{Chain, Writer};
use crate::error::{Error, Result};
use crate::proposal::event::{BlobRef, DecisionData, DecisionDocuments, Effect, Evidence, Verdict};
use crate::proposal::manifest::Manifest;
use crate::proposal::rules::Verb;
use crate::proposal::state::Decision;
use crate::proposal::statement::{Statement, Target, ends_bytes, ends_sha256, seen_sha256};
use crate::proposal::{ActorKind, Authority, ChangeRecord, Data, ProposalId, StoredEvent};
use crate::store::Space;
use crate::store::objects::object_id;
use crate::store::trees::Leaf;

/// Proposals below one that are looked at: forged ones may form a circle.
const MOST_BELOW: usize = 100;

/// A decision. The writer adds actor, time, seen events and ended decisions to the statement.
#[derive(Clone, Debug)]
pub struct NewDecision<'a> {
    pub verdict: Verdict,
    /// The event (hex) of the decided revision; by default the current one.
    pub revision: Option<&'a str>,
    pub reason: Option<&'a str>,
    pub effect: Option<Effect>,
    pub manifest: Option<&'a Manifest>,
    pub target: Target,
    pub policy: Option<BlobRef>,
    /// The repository's name in that policy.
    pub repository: Option<String>,
    /// Number of changed lines that are written.
    pub lines: Option<u64>,
    /// Number of these lines that were on the screen.
    pub shown: Option<u64>,
    /// SHA-256 of all decisions of one answer.
    pub group: Option<String>,
    /// True if an undo ends rejections alone; otherwise it ends applies alone.
    pub of_rejections: bool,
}

impl NewDecision<'_> {
    pub fn new(verdict: Verdict) -> Self {
        Self {
            verdict,
            revision: None,
            reason: None,
            effect: None,
            manifest: None,
            target: Target::default(),
            policy: None,
            repository: None,
            lines: None,
            shown: None,
            group: None,
            of_rejections: false,
        }
    }

    fn verbs(&self) -> &'static [Verb] {
        match self.verdict {
            Verdict::Apply | Verdict::Reject if self.is_mark() => &[Verb::Mark, Verb::Apply],
            Verdict::Apply => &[Verb::Apply],
            Verdict::Approve => &[Verb::Approve],
            Verdict::Reject | Verdict::Withdraw => &[Verb::Reject],
            Verdict::RequestChanges => &[Verb::RequestChanges],
            Verdict::Undo => &[Verb::Undo],
            Verdict::Extend => &[],
        }
    }

    fn is_mark(&self) -> bool {
        self.effect == Some(Effect::MarkOnly)
    }
}

impl Writer<'_> {
    /// Adds a decision on the thread of `id`; on a direct patch only an undo. `authority` was given
    /// to the writer's actor.
    ///
    /// # Errors
    /// `internal_error` if the authority is for something else.
    pub fn decide(
        &mut self,
        authority: &Authority,
        id: &ProposalId,
        new: NewDecision<'_>,
    ) -> Result<StoredEvent> {
        self.require(authority, new.verbs())?;
        let id = self.whole(id)?;
        self.decided(&id, new, authority.evidence().clone())
    }

    /// Extends a proposal to seven days from now. Readers accept that of a person or the proposer.
    pub fn extend(&mut self, id: &ProposalId, evidence: Evidence) -> Result<StoredEvent> {
        let id = self.whole(id)?;
        self.decided(&id, NewDecision::new(Verdict::Extend), evidence)
    }

    /// Extends a proposal that this command makes pending again, if its term is over, and the same
    /// proposer's proposals below it.
    pub fn renew(&mut self, id: &ProposalId, evidence: &Evidence) -> Result<()> {
        let mut next = Some(id.clone());
        let proposer = self.view.proposal(id)?.actor.identity();
        for _ in 0..MOST_BELOW {
            let Some(id) = next else { break };
            let Ok(proposal) = self.proposal(&id) else { break };
            let is_due = proposal.expires_at <= self.now;
            let may = self.actor.kind == ActorKind::Human
                || proposal.is_proposed_by(&self.actor, self.store.clone_id().as_deref());
            if proposal.actor.identity() != proposer || proposal.decision().is_some() || !may {
                break;
            }
            if is_due {
                self.extend(&id, evidence.clone())?;
            }
            next = proposal.current().on.as_ref().map(|on| on.proposal.clone());
        }
        Ok(())
    }

    fn decided(
        &mut self,
        id: &ObjectId,
        new: NewDecision<'_>,
        evidence: Evidence,
    ) -> Result<StoredEvent> {
        let mut statement = Statement::new(new.verdict, self.actor.clone(), evidence, self.now);
        let chain = self.chain(id)?;
        let ends = ends(chain, &new, &statement);
        statement.proposal = chain.seen.first().map(StoredEvent::named);
        statement.revision = Some(revision(chain, new.revision)?.named());
        let parents: Vec<String> = chain.parents.iter().map(ToString::to_string).collect();
        statement.seen = seen_sha256(&parents);
        let changes = chain.proposal().map(|it| it.current().changes.clone()).unwrap_or_default();
        let space = chain.space;
        let first = chain.seen.first().map(|first| &first.event.data);
        let is_patch = matches!(first, Some(Data::Patch(_)));
        let mut leaves = Vec::new();
        if !ends.is_empty() {
            statement.ends = Some(ends_sha256(&ends));
            leaves.push(file("ends", self.batch.add(Kind::Blob, &ends_bytes(&ends))?));
        }
        if let Some(manifest) = new.manifest {
            let revision = statement.revision.as_ref().map(|revision| revision.id.clone());
            self.require_content(id, revision.as_deref())?;
            let bytes = manifest.to_bytes();
            let blob = self.batch.add(Kind::Blob, &bytes)?;
            let sha256 = crate::sha256::hex(&bytes);
            statement.manifest = Some(BlobRef { id: blob.to_string(), sha256 });
            leaves.push(file("manifest", blob));
            // An undo of a shared direct patch does not send the older content.
            if space == Space::Private || !is_patch {
                self.results(&mut leaves, space, &changes, manifest)?;
            }
        }
        if let Some(policy) = &new.policy {
            leaves.push(file("policy", object_id(&policy.id)?));
        }
        (statement.effect, statement.target, statement.policy) =
            (new.effect, new.target, new.policy);
        (statement.repository, statement.group) = (new.repository, new.group);
        (statement.lines, statement.shown) = (new.lines, new.shown);
        let reason = statement.set_reason(new.reason);
        let sha256 = crate::sha256::hex(&statement.to_line()?);
        let data = Data::Decision(DecisionData { verdict: new.verdict, reason });
        let manifest = new.manifest.cloned();
        let papers =
            DecisionDocuments { statement, sha256, manifest, ended_statements: ends, fault: None };
        self.append(id, data, Some((papers, leaves)))
    }

    /// Refuses a decision on content that a fetched event only names; see
    /// [`Thread::require_content`](crate::store::Thread::require_content).
    pub(super) fn require_content(&self, id: &ObjectId, revision: Option<&str>) -> Result<()> {
        match revision.filter(|_| !self.made.contains(id)) {
            Some(event) => self.view.thread_of(id)?.require_content(self.store, event),
            None => Ok(()),
        }
    }

    /// Adds contents of `manifest` that the revision with `changes` lacks. Nothing else would keep
    /// them, and other clones could not read what was approved. Private content stays here.
    fn results(
        &self,
        leaves: &mut Vec<Leaf>,
        space: Space,
        changes: &[ChangeRecord],
        manifest: &Manifest,
    ) -> Result<()> {
        let sides = changes.iter().flat_map(|change| change.before.iter().chain(&change.after));
        let held: HashSet<&str> = sides.map(|entry| entry.id.as_str()).collect();
        for record in manifest.records() {
            let is_new = |id: &str| !held.contains(id);
            let mut new = [&record.now, &record.after].into_iter().flatten();
            let is_private = new.any(|side| is_new(&side.id))
                && space == Space::Shared
                && self.store.is_private(std::iter::once(&record.path))?;
            for (top, side) in [("before", &record.now), ("after", &record.after)] {
                let entry = side.as_ref().filter(|side| is_new(&side.id)).map(|side| side.entry());
                if !is_private {
                    self.side(leaves, top, &record.path, entry.as_ref())?;
                }
            }
        }
        Ok(())
    }
}

/// The statements that a decision ends: all seen ones that stand, or those of an undo's kind. An
/// agent ends none.
fn ends(chain: &Chain, new: &NewDecision<'_>, statement: &Statement) -> Vec<String> {
    let may_end =
        matches!(new.verdict, Verdict::Apply | Verdict::Reject | Verdict::Withdraw | Verdict::Undo);
    if !may_end
        || new.is_mark() && statement.evidence == Evidence::Tool
        || statement.actor.kind == ActorKind::Agent
    {
        return Vec::new();
    }
    let proposal = chain.proposal();
    let is_ended = |decision: &&Decision| {
        new.verdict != Verdict::Undo || decision.effect.is_none() == new.of_rejections
    };
    let standing = proposal.iter().flat_map(|proposal| proposal.decisions()).filter(is_ended);
    let mut ends: Vec<String> = standing.map(|decision| decision.statement.clone()).collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}

/// The event of the revision `id`, or of the current one. A direct patch's revision is its first
/// event.
fn revision<'c>(chain: &'c Chain, id: Option<&str>) -> Result<&'c StoredEvent> {
    let current = || chain.proposal().map(|proposal| proposal.current().event.clone());
    let id = id.map(str::to_owned).or_else(current);
    let found = match id {
        Some(id) => chain.seen.iter().find(|event| event.id == id),
        None => chain.seen.first(),
    };
    found.ok_or_else(|| Error::bug("a decision is about a revision that it has not seen"))
}
