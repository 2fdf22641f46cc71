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
use crate::proposal::order::History;
use crate::proposal::rules::Verb;
use crate::proposal::statement::Target;
use crate::proposal::{Authority, ChangeRecord, Data, Proposal, ProposalId, Stamped, fold};
use crate::store::{Content, Space, codes};

/// What a new proposal consists of.
#[derive(Clone, Debug)]
pub struct NewProposal {
    /// The changes.
    pub changeset: Changeset,
    /// Why, in the proposer's words.
    pub description: Option<String>,
    /// Topic.
    pub domain: Option<String>,
    /// The task it belongs to.
    pub related_task_id: Option<String>,
    /// The name the proposer gives itself.
    pub proposed_by: String,
    /// How long it waits.
    pub expires_in: Duration,
    /// Code or memory.
    pub subject: Subject,
    /// The form in which they came.
    pub form: InputForm,
    /// The proposal of somebody else that it is to take the place of.
    pub instead_of: Option<ProposalId>,
    /// The pending proposal whose result it is made on.
    pub on: Option<On>,
    /// The structured request of a memory proposal.
    pub memory: Option<serde_json::Value>,
    /// Where it was made, where that is not HEAD.
    pub target: Option<Target>,
    /// Files that it leaves out.
    pub incomplete: Vec<Incomplete>,
    /// It is for nobody else. It may be so without this, because of what it changes or stands on.
    pub private: bool,
}

/// What a new revision consists of.
#[derive(Clone, Debug)]
pub struct NewRevision<'a> {
    /// The changes.
    pub changeset: &'a Changeset,
    /// Why.
    pub reason: RevisionReason,
    /// A new description.
    pub description: Option<String>,
    /// What is new in it.
    pub note: Option<String>,
    /// Files that it leaves out.
    pub incomplete: Vec<Incomplete>,
    /// How long it waits from now; as before without.
    pub expires_in: Option<Duration>,
    /// The structured request of a memory proposal.
    pub memory: Option<serde_json::Value>,
    /// The pending proposal whose result it is made on.
    pub on: Option<On>,
    /// Where it was made, where that is not HEAD.
    pub target: Option<Target>,
    /// The form in which they came; it is not recorded.
    pub form: InputForm,
}

impl<'a> NewRevision<'a> {
    /// Changes, and nothing else that is new.
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

/// What proposing came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposeOutcome {
    /// The proposal.
    pub id: ProposalId,
    /// It was there already, pending and with the same changes.
    pub duplicate: bool,
}

impl Writer<'_> {
    /// Makes a proposal, unless the same one is pending.
    ///
    /// # Errors
    /// As [`Writer::note`].
    pub fn propose(&mut self, new: NewProposal) -> Result<ProposeOutcome> {
        let changes = self.record(&new.changeset)?;
        let space = self.space_of_new(&new, &changes)?;
        if let Some(id) = self.view.duplicate(&digest(&changes), space, self.now)? {
            return Ok(ProposeOutcome { id, duplicate: true });
        }
        let stamped = self.proposed(new, space, changes)?;
        Ok(ProposeOutcome { id: ProposalId::from_event(&stamped.id), duplicate: false })
    }

    /// Makes a proposal, whether the same one is pending or not, and returns it as it begins.
    ///
    /// # Errors
    /// As [`Writer::note`].
    pub fn propose_another(&mut self, new: NewProposal) -> Result<Proposal> {
        let changes = self.record(&new.changeset)?;
        let space = self.space_of_new(&new, &changes)?;
        let stamped = self.proposed(new, space, changes)?;
        fold(&History::new(vec![stamped])).ok_or_else(|| Error::bug("a new proposal is none"))
    }

    /// Whom a new proposal is for. A proposal that stands on private content would bring it to others, so that it
    /// is private until a person publishes it.
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
            || self.store.stands_elsewhere(
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
    ) -> Result<Stamped> {
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
            target: new.target.or_else(|| self.store.repository().target()),
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

    /// Gives the pending proposal `id` new content.
    ///
    /// # Errors
    /// `not_pending`, `wrong_tool` for a request to memory without another request; and as [`Writer::note`].
    pub fn revise(
        &mut self,
        authority: &Authority,
        id: &ProposalId,
        new: NewRevision<'_>,
    ) -> Result<Stamped> {
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
            target: new.target.or_else(|| self.store.repository().target()),
            changes,
            changes_blob: None,
            incomplete: new.incomplete,
            memory: new.memory,
        };
        let id = self.whole(id)?;
        self.require_content(&id, Some(&proposal.current().event))?;
        self.append(&id, Data::Revise(revise), None)
    }

    /// The commit that a revision of `proposal` to `changes` is made on: HEAD, or the base that it has where that
    /// is the last to say where a file was which has been moved since.
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

    /// Refuses content that is not for those whom `proposal` is for.
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
        // What it has already, and what HEAD has, they have. A file that neither has may have become private since.
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
        } else if self.store.stands_elsewhere(&self.view, Some(id), contents)? {
            format!("it stands on, or has, what is not for everybody whom {id} is for")
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

/// Of which content it is asked whose it is: what the changes stand on, and what they lead to where that was
/// read from files, or copied there. Somebody who types the same as another is not asked where it is from.
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

/// What is decided of a request to memory are its operations, which files cannot stand in for.
fn without_request(id: &ProposalId) -> Error {
    let message = format!("{id} is a request to memory, and edits of files are none");
    Error::new(&WRONG_TOOL, message)
        .with("proposal_id", id.as_str())
        .hint(format!("withdraw it (aye reject {id}) and make another request: aye memory stage"))
}
