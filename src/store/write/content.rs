//! New proposals and revisions.

use chrono::{Duration, SubsecRound as _};
use gix::ObjectId;

use super::Writer;
use crate::changeset::{Changeset, RepoPath};
use crate::error::{Error, Result};
use crate::proposal::codes::WRONG_TOOL;
use crate::proposal::event::{
    Incomplete, InputForm, On, Propose, Revise, RevisionReason, Subject, digest,
};
use crate::proposal::history::History;
use crate::proposal::rules::Verb;
use crate::proposal::statement::Target;
use crate::proposal::{Authority, ChangeRecord, Data, Proposal, ProposalId, StoredEvent, fold};
use crate::store::{Content, Space, codes};

#[derive(Clone, Debug)]
pub struct NewProposal {
    pub changeset: Changeset,
    pub description: Option<String>,
    pub domain: Option<String>,
    pub related_task_id: Option<String>,
    pub proposed_by: String,
    pub expires_in: Duration,
    pub subject: Subject,
    pub form: InputForm,
    /// Another one's proposal that it replaces.
    pub instead_of: Option<ProposalId>,
    pub on: Option<On>,
    pub memory: Option<serde_json::Value>,
    /// Its target, if that is not HEAD.
    pub target: Option<Target>,
    pub incomplete: Vec<Incomplete>,
    /// Private by request. It may be private anyway, because of its paths or content.
    pub private: bool,
}

#[derive(Clone, Debug)]
pub struct NewRevision<'a> {
    pub changeset: &'a Changeset,
    pub reason: RevisionReason,
    pub description: Option<String>,
    pub note: Option<String>,
    pub incomplete: Vec<Incomplete>,
    /// The new term from now; `None` keeps the present one.
    pub expires_in: Option<Duration>,
    pub memory: Option<serde_json::Value>,
    pub on: Option<On>,
    /// Its target, if that is not HEAD.
    pub target: Option<Target>,
    /// The form in which the changes came; it is not recorded.
    pub form: InputForm,
}

impl<'a> NewRevision<'a> {
    pub fn new(changeset: &'a Changeset, reason: RevisionReason) -> Self {
        Self {
            changeset,
            reason,
            description: None,
            note: None,
            incomplete: Vec::new(),
            expires_in: None,
            memory: None,
            on: None,
            target: None,
            form: InputForm::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposeOutcome {
    pub id: ProposalId,
    pub duplicate: bool,
}

impl Writer<'_> {
    /// Adds a proposal, unless the same one is pending.
    pub fn propose(&mut self, new: NewProposal) -> Result<ProposeOutcome> {
        self.propose_beside(new, &[])
    }

    /// As [`Writer::propose`]; an equal one among `others` is no duplicate.
    pub fn propose_beside(
        &mut self,
        new: NewProposal,
        others: &[ProposalId],
    ) -> Result<ProposeOutcome> {
        let changes = self.record(&new.changeset)?;
        let space = self.space_of_new(&new, &changes)?;
        if let Some(id) = self.view.duplicate(&digest(&changes), space, others, self.now)? {
            return Ok(ProposeOutcome { id, duplicate: true });
        }
        let stamped = self.proposed(new, space, changes)?;
        Ok(ProposeOutcome { id: ProposalId::from_event(&stamped.id), duplicate: false })
    }

    /// Adds a proposal even if the same one is pending, and returns it.
    pub fn propose_another(&mut self, new: NewProposal) -> Result<Proposal> {
        let changes = self.record(&new.changeset)?;
        let space = self.space_of_new(&new, &changes)?;
        let stamped = self.proposed(new, space, changes)?;
        fold(&History::new(vec![stamped])).ok_or_else(|| Error::bug("a new proposal is none"))
    }

    /// The space of a new proposal. A proposal on private content would disclose that, so it is
    /// private until a person publishes it.
    fn space_of_new(&self, new: &NewProposal, changes: &[ChangeRecord]) -> Result<Space> {
        let is_of_private = |id: &ProposalId| match self.whole(id) {
            Ok(id) if self.made.contains(&id) => {
                Ok(self.chains.get(&id).is_some_and(|chain| chain.space == Space::Private))
            }
            Ok(id) => self.view.threads.space(&id).map(|space| space == Space::Private),
            Err(error) => Err(error),
        };
        let others = new.instead_of.iter().chain(new.on.as_ref().map(|on| &on.proposal));
        let mut is_private =
            new.private || self.store.is_private(changes.iter().flat_map(ChangeRecord::paths))?;
        for other in others {
            is_private = is_private || is_of_private(other)?;
        }
        is_private = is_private
            || self.store.is_from_private(
                &self.view,
                None,
                contents(&new.changeset, changes, &new.form),
            )?;
        Ok(if is_private { Space::Private } else { Space::Shared })
    }

    fn proposed(
        &mut self,
        new: NewProposal,
        space: Space,
        changes: Vec<ChangeRecord>,
    ) -> Result<StoredEvent> {
        let task = new.related_task_id.as_deref();
        let branch =
            task.filter(|task| task.starts_with("plan:")).map(|_| self.store.repository().branch());
        let propose = Propose {
            branch,
            description: new.description,
            domain: new.domain,
            related_task_id: new.related_task_id,
            proposed_by: new.proposed_by,
            expires_at: (self.now + new.expires_in).trunc_subsecs(3),
            subject: new.subject,
            form: new.form,
            instead_of: new.instead_of,
            on: new.on,
            base: self.head(),
            target: new.target.or_else(|| self.store.repository().head_target()),
            changes,
            changes_blob: None,
            incomplete: new.incomplete,
            memory: new.memory,
        };
        self.begin(space, Data::Propose(propose))
    }

    fn head(&self) -> Option<String> {
        self.store.repository().checkout().ok()?.commit.map(|id| id.to_string())
    }

    /// Adds a revision of the pending proposal `id`.
    ///
    /// # Errors
    /// `not_pending`; `wrong_tool` for a memory request without a new request.
    pub fn revise(
        &mut self,
        authority: &Authority,
        id: &ProposalId,
        new: NewRevision<'_>,
    ) -> Result<StoredEvent> {
        self.require(authority, &[Verb::Revise, Verb::Apply, Verb::Publish])?;
        let proposal = self.proposal(id)?;
        proposal.require_pending(self.now)?;
        if proposal.subject == Subject::Memory && new.memory.is_none() {
            return Err(without_request(id));
        }
        let changes = self.record(new.changeset)?;
        self.require_public(&proposal, &changes, contents(new.changeset, &changes, &new.form))?;
        let expires_at = new.expires_in.map(|span| (self.now + span).trunc_subsecs(3));
        let base = self.base_of(&proposal, &changes);
        let revise = Revise {
            note: new.note,
            description: new.description,
            expires_at,
            reason: new.reason,
            on: new.on,
            base,
            target: new.target.or_else(|| self.store.repository().head_target()),
            changes,
            changes_blob: None,
            incomplete: new.incomplete,
            memory: new.memory,
        };
        let id = self.whole(id)?;
        self.require_content(&id, Some(&proposal.current().event))?;
        self.append(&id, Data::Revise(revise), None)
    }

    /// The base of a revision of `proposal` to `changes`: HEAD, or the present base if only that
    /// has a file which was moved since.
    fn base_of(&self, proposal: &Proposal, changes: &[ChangeRecord]) -> Option<String> {
        let current = proposal.current();
        let is_kept = |change: &&ChangeRecord| {
            let mut known = current.changes.iter();
            change.before.is_some()
                && known.any(|known| known.path == change.path && known.before == change.before)
                && self.store.repository().id_in_head(&change.path).is_none()
        };
        let had = |base: &String, path: &RepoPath| {
            let files =
                self.store.repository().files_of(ObjectId::from_hex(base.as_bytes()).ok()?).ok()?;
            files.file(path).ok()?
        };
        let mut gone = changes.iter().filter(is_kept);
        let base = current.base.as_ref();
        let base = base.filter(|base| gone.any(|change| had(base, &change.path).is_some()));
        base.cloned().or_else(|| self.head())
    }

    /// Refuses private content in a shared proposal.
    ///
    /// # Errors
    /// `private_path`.
    fn require_public<'c>(
        &self,
        proposal: &Proposal,
        changes: &[ChangeRecord],
        contents: impl Iterator<Item = Content<'c>>,
    ) -> Result<()> {
        let id = self.whole(&proposal.id)?;
        let space = match self.chains.get(&id) {
            Some(chain) => chain.space,
            None => self.view.threads.space(&id)?,
        };
        if space == Space::Private {
            return Ok(());
        }
        // Content of the proposal and of HEAD is shared already. A file in neither may have become
        // private since.
        let known = &proposal.current().changes;
        let is_of = |a: &ChangeRecord, b: &ChangeRecord| {
            (&a.path, &a.before, &a.after, &a.origin) == (&b.path, &b.before, &b.after, &b.origin)
        };
        let is_new = |change: &&ChangeRecord| match known.iter().find(|it| it.path == change.path) {
            Some(known) => {
                !is_of(known, change) && self.store.repository().id_in_head(&change.path).is_none()
            }
            None => true,
        };
        let new = changes.iter().filter(is_new).flat_map(ChangeRecord::paths);
        let id = &proposal.id;
        let why = if self.store.is_private(new)? {
            format!(
                "it changes a file that is private (aye.private, a filter, or ignored by git), and {id} is not"
            )
        } else if self.store.is_from_private(&self.view, Some(id), contents)? {
            format!("it depends on, or contains, private content that readers of {id} may not see")
        } else {
            return Ok(());
        };
        Err(Error::new(&codes::PRIVATE_PATH, why)
            .with("proposal_id", id.as_str())
            .hint(
                "leave that out, or propose it by itself: aye propose --private …; a file that HEAD has is not \
                 ignored",
            ))
    }
}

/// Content that may be private: the content that the changes start from, and results that were read
/// from files or copied. A typed result counts as the proposer's own.
fn contents<'c>(
    changeset: &'c Changeset,
    changes: &'c [ChangeRecord],
    form: &InputForm,
) -> impl Iterator<Item = Content<'c>> {
    let is_read = form.is_read_from_files();
    let results = changeset.changes().iter().zip(changes);
    let results = results.filter(move |(change, _)| is_read || change.origin.is_some());
    let results = results.filter_map(|(change, record)| Content::result(change, record));
    changes.iter().filter_map(Content::before_change).chain(results)
}

/// `wrong_tool`: people decide on a memory request's operations, not on files.
fn without_request(id: &ProposalId) -> Error {
    let message = format!("{id} is a request to memory, and edits of files are none");
    Error::new(&WRONG_TOOL, message)
        .with("proposal_id", id.as_str())
        .hint(format!("withdraw it (aye reject {id}) and make another request: aye memory stage"))
}
