//! Turns the work in a session's tree into a proposal or a revision.

use bstr::{BString, ByteSlice as _};
use chrono::{DateTime, SecondsFormat, Utc};

use crate::changeset::change_entry::entries;
use crate::changeset::{Changeset, RepoPath};
use crate::decide;
use crate::decide::verdict::{self, PlainVerdict, VerdictDetails};
use crate::error::{Error, Result};
use crate::git;
use crate::proposal::event::{Evidence, Incomplete, InputForm};
use crate::proposal::rules::Verb;
use crate::proposal::{Proposal, Revision as Revised, Status};
use crate::repository::Repository;
use crate::session::client::ClientProcess;
use crate::session::follow::{self, FollowOutcome};
use crate::session::ignored_files::IgnoredFiles;
use crate::session::record::UnreportedDecision;
use crate::session::session_store::{RecordLock, SessionLock, SessionState, SessionStore};
use crate::session::tree::Base;
use crate::session::{SessionRecord, beside, head, link, read, record, spool, tree, words};
use crate::store::Store;
use crate::text;

use super::decision_rest::{DecisionRest, left_out};
use super::propose::{self, Details, ProposalOutcome, Revision};
use super::{Draft, Session, is_own, is_recorded_here, proposable, recall, wait};

#[derive(Debug, Default)]
pub struct SubmitReport {
    /// `None` if nothing differs from the base.
    pub outcome: Option<SubmitOutcome>,
    /// Lines added and removed.
    pub lines: (usize, usize),
    /// Excluded paths with reasons. Untrusted.
    pub passed_over: Vec<(String, String)>,
    /// Files with edits that override a decision, and reasons. Untrusted.
    pub kept: Vec<(String, String)>,
    /// Remarks on the decision that the files followed. Untrusted.
    pub said: Vec<String>,
    /// Ignored files.
    pub strays: IgnoredFiles,
}

#[derive(Debug)]
pub enum SubmitOutcome {
    Proposed(ProposalOutcome),
    Revised(ProposalOutcome),
    Unchanged(Proposal),
    /// Withdrawn: the files no longer contain any of its changes.
    Withdrawn(Proposal),
}

impl SubmitOutcome {
    pub fn proposal(&self) -> &Proposal {
        match self {
            Self::Proposed(recorded) | Self::Revised(recorded) => &recorded.proposal,
            Self::Unchanged(proposal) | Self::Withdrawn(proposal) => proposal,
        }
    }
}

/// What a new session is made of.
#[derive(Debug)]
pub struct SessionOrigin<'a> {
    pub base: Base,
    pub agent: &'a str,
    /// First word, or the client's name.
    pub command: &'a str,
    /// Ignored files of the client that the tree gets, too.
    pub local_files: &'a [&'a str],
    /// Preferred one.
    pub slot: Option<u32>,
    pub client: Option<ClientProcess>,
    pub is_kept: bool,
}

/// Creates tree and record of a held session. Returns entries of the tree that lead back into the
/// checkout, with reasons.
///
/// # Errors
/// `no_commit`, `disk_full`, `no_state_directory`. After an error no part of
/// the session remains.
pub fn begin(
    store: &Store,
    home: &SessionStore,
    held: &SessionLock,
    origin: &SessionOrigin<'_>,
    now: DateTime<Utc>,
) -> Result<Vec<(String, String)>> {
    let repository = store.repository();
    let unknown = home.begin(held, origin.slot)?;
    let make = || {
        let (base, remark) = base_of(store, origin.base, now)?;
        let tree = home.tree(&held.name);
        let mut back = tree::make(repository, &held.name, &tree, &base, origin.local_files)?;
        back.extend(link::link(repository, &tree)?);
        back.extend(remark);
        back.extend(missing_builds(repository, home)?);
        back.extend(unknown.into_iter().map(|tree| {
            let why = "is a session's tree that this clone did not make: what is in it may be proposed \
                       nowhere; look, then remove it";
            (tree.to_string_lossy().into_owned(), why.to_owned())
        }));
        let changing = home.change(&held.name)?;
        let record = SessionRecord {
            format: record::FORMAT.to_owned(),
            agent: origin.agent.to_owned(),
            command: origin.command.to_owned(),
            started_at: now.to_rfc3339_opts(SecondsFormat::Secs, true),
            base,
            target: repository.head_target(),
            proposal: None,
            submitted: None,
            proposing: None,
            revision: None,
            run: store.run().cloned(),
            acp: None,
            client: origin.client.clone(),
            head: None,
            decided_head: None,
            is_settled: false,
            is_kept: origin.is_kept,
            told: None,
            untold: Vec::new(),
        };
        home.write(&changing, &record)?;
        home.begun(held);
        Ok(back)
    };
    make().map_err(|error: Error| {
        // Check before the cleanup frees the disk.
        let is_git = error.is(&git::codes::GIT_FAILED);
        let cause = is_git.then(|| home.check_writable().err()).flatten();
        home.clear(held);
        tree::unpin(repository, &held.name);
        cause.unwrap_or(error)
    })
}

/// Ignored directories that package managers made and no tree has, each named once in a repository.
fn missing_builds(repository: &Repository, home: &SessionStore) -> Result<Vec<(String, String)>> {
    let mut missing = link::missing(repository)?;
    missing.retain(|name| home.is_first(name));
    let line = |name: String| {
        let why = format!(
            "is not in the tree, as git ignores it; for a copy in later ones: git config --add aye.session.link {name}"
        );
        (name, why)
    };
    Ok(missing.into_iter().map(line).collect())
}

/// Records that the agent of an existing session works again. With `is_kept`, an idle tree stays
/// until it is ended by name. If that fails, as on a full disk, the agent works all the same.
pub fn resume(home: &SessionStore, name: &str, client: Option<ClientProcess>, is_kept: bool) {
    let is_same = |record: &SessionRecord| {
        !record.is_settled && record.client == client && (record.is_kept || !is_kept)
    };
    let resume = || -> Result<()> {
        if is_same(&home.record(name)?) {
            return Ok(());
        }
        let changing = home.change(name)?;
        let mut record = home.record(name)?;
        (record.is_settled, record.client) = (false, client.clone());
        record.is_kept |= is_kept;
        home.write(&changing, &record)
    };
    drop(resume());
}

/// Records that the agent is done, after `done`. If that fails, the tree is only looked at again.
pub fn settle(home: &SessionStore, name: &str, done: &SubmitReport) {
    let settle = || -> Result<()> {
        let changing = home.change(name)?;
        let record = home.record(name)?;
        if record.is_settled {
            return Ok(());
        }
        home.write(&changing, &SessionRecord { is_settled: true, ..record })
    };
    if done.passed_over.is_empty() {
        drop(settle());
    }
}

/// Updates the tree of session `name` to the decision on its last proposal. Applied content becomes
/// the base, other content leaves the files, later edits of the agent stay. Another clone's content
/// never enters the tree, where it would be run, before a person here decides on it.
///
/// # Errors
/// `session_not_found`, `session_record_invalid`; as `follow::follow`.
pub fn follow(
    session: &Session<'_>,
    home: &SessionStore,
    changing: &RecordLock,
    name: &str,
) -> Result<FollowOutcome> {
    let Session { store, now, .. } = session;
    let repository = store.repository();
    let mut record = recall::record(store, home, name)?;
    let Some(id) = record.proposal.clone() else { return Ok(FollowOutcome::default()) };
    let proposal = store.view()?.find(&id).ok();
    let earlier = match &proposal {
        Some(proposal) => decided_earlier(store, &record, proposal)?,
        None => None,
    };
    let is_behind = earlier.is_some();
    let submitted = || record.submitted.clone().unwrap_or_else(|| record.base.clone());
    let submitted = earlier.unwrap_or_else(submitted);
    let mut rest = None;
    let base = match proposal.as_ref().map(|proposal| (proposal, proposal.status(*now))) {
        Some((proposal, Status::Pending)) => {
            return follow_revision(store, home, changing, record, proposal);
        }
        // Another clone's content would be run here. Revisions unknown to the decision are proposed
        // again.
        Some((proposal, Status::Applied)) if is_behind || !is_ours(store, proposal)? => {
            submitted.clone()
        }
        Some((proposal, Status::Applied)) => {
            let message = "What a session goes on from";
            let base = store.commit_onto(&record.base, proposal.current(), message)?;
            rest = left_out(session, proposal, &base)?;
            base
        }
        Some((_, Status::Rejected)) => record.base.clone(),
        // Undecided: propose again.
        Some((_, Status::Expired)) => {
            return go_on(repository, home, changing, record, None, Some(id));
        }
        // Purged: the outcome is unknown.
        None => return go_on(repository, home, changing, record, Some(submitted), None),
    };
    // A pending rest stays in the files.
    let wanted = rest.as_ref().map_or(&base, |rest| &rest.with);
    let followed = match home.state(name) {
        SessionState::Gone => FollowOutcome::default(),
        _ => follow::follow(repository, &home.tree(name), &submitted, wanted)?,
    };
    let decision = proposal.as_ref().and_then(Proposal::decision);
    let at = decision.map(|decision| decision.at.to_rfc3339());
    // The agent knows of its own withdrawal.
    let is_news = record.told != at && !decision.is_some_and(|decision| decision.withdrawn);
    record.told = at;
    record.untold.push(UnreportedDecision {
        proposal: is_news.then_some(id),
        rest: rest.as_ref().map(|rest| rest.proposal.id.to_string()),
        kept: followed.kept_edits.clone(),
    });
    let base = rest.as_ref().map_or(base, |rest| rest.without.clone());
    go_on(repository, home, changing, record, Some(base), None)?;
    if let Some(DecisionRest { proposal: rest, with, .. }) = rest {
        let mut record = home.record(name)?;
        record.revision = Some(rest.current().event.clone());
        record.proposal = Some(rest.id.to_string());
        tree::hold(repository, name, &with)?;
        record.submitted = Some(with);
        home.write(changing, &record)?;
    }
    Ok(followed)
}

/// True if this clone recorded all revisions, or a person here decided on them.
fn is_ours(store: &Store, proposal: &Proposal) -> Result<bool> {
    let view = store.view()?;
    if let Some(decision) = proposal.decision()
        && is_recorded_here(&view, proposal, &decision.event)?
    {
        return Ok(true);
    }
    for revision in &proposal.revisions {
        if !is_recorded_here(&view, proposal, &revision.event)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Commit with the session's pending or decided content.
pub fn proposed(store: &Store, record: &SessionRecord) -> Result<String> {
    let last = record.proposal.as_ref().and_then(|id| store.view().ok()?.find(id).ok());
    let earlier = last.map(|last| decided_earlier(store, record, &last)).transpose()?.flatten();
    let submitted = || record.submitted.clone().unwrap_or_else(|| record.base.clone());
    Ok(earlier.unwrap_or_else(submitted))
}

/// If another clone decided without the last local revision: the commit with the content that it
/// decided on.
fn decided_earlier(
    store: &Store,
    record: &SessionRecord,
    proposal: &Proposal,
) -> Result<Option<String>> {
    let view = store.view()?;
    let (mut known, mut is_later) = (None, false);
    for revision in &proposal.revisions {
        if is_recorded_here(&view, proposal, &revision.event)? {
            if proposal.undecided.contains(&revision.event) {
                is_later = true
            } else {
                known = Some(revision)
            }
        }
    }
    let known = known.filter(|_| is_later);
    let message = "What a decision was about";
    known.map(|known| store.commit_onto(&record.base, known, message)).transpose()
}

/// Updates the tree to another local person's revision of the pending `proposal`, so that the agent
/// continues from there.
fn follow_revision(
    store: &Store,
    home: &SessionStore,
    changing: &RecordLock,
    mut record: SessionRecord,
    proposal: &Proposal,
) -> Result<FollowOutcome> {
    let current = proposal.current();
    let is_known = record.revision.as_ref() == Some(&current.event);
    let Some(submitted) = record.submitted.clone().filter(|_| !is_known) else {
        return Ok(FollowOutcome::default());
    };
    // Another clone's revision would be run here.
    if proposal.is_own(current) || !is_ours(store, proposal)? {
        return Ok(FollowOutcome::default());
    }
    let theirs = store.commit_above(&record.base, current, "What was made of a proposal")?;
    let name = changing.name();
    let followed = match home.state(name) {
        SessionState::Gone => FollowOutcome::default(),
        _ => follow::follow(store.repository(), &home.tree(name), &submitted, &theirs)?,
    };
    tree::hold(store.repository(), name, &theirs)?;
    record.submitted = Some(theirs);
    record.revision = Some(current.event.clone());
    let (proposal, kept) = (record.proposal.clone(), followed.kept_edits.clone());
    record.untold.push(UnreportedDecision { proposal, rest: None, kept });
    home.write(changing, &record)?;
    Ok(followed)
}

/// Records that no proposal is pending, and the new base.
fn go_on(
    repository: &Repository,
    home: &SessionStore,
    changing: &RecordLock,
    mut record: SessionRecord,
    base: Option<String>,
    untold: Option<String>,
) -> Result<FollowOutcome> {
    (record.proposal, record.submitted) = (None, None);
    if base.is_some() {
        record.decided_head = record.head.take().or(record.decided_head);
    }
    let before = record.base.clone();
    record.base = base.unwrap_or(record.base);
    head::follow(repository, &home.tree(changing.name()), &before, &record.base);
    record.untold.extend(
        untold.map(|id| UnreportedDecision { proposal: Some(id), ..UnreportedDecision::default() }),
    );
    record.untold.retain(|untold| untold.proposal.is_some() || !untold.kept.is_empty());
    tree::hold(repository, changing.name(), &record.base)?;
    home.write(changing, &record)?;
    Ok(FollowOutcome::default())
}

/// Base as `tree::base` has it, with untracked files, or, beyond the limits, those of them that were
/// applied. Returns a remark on the rest, too.
fn base_of(
    store: &Store,
    kind: Base,
    now: DateTime<Utc>,
) -> Result<(String, Option<(String, String)>)> {
    let repository = store.repository();
    if kind == Base::Head {
        return Ok((tree::base(repository, kind, &[])?, None));
    }
    let untracked = tree::untracked(repository)?;
    let Err(remark) = tree::require_few(repository, &untracked) else {
        // Without nested repositories, and symlinks, which may lead back into the checkout.
        let top = repository.work_dir().unwrap_or_default();
        let is_file = |name: &BString| {
            top.join(name.to_path_lossy()).symlink_metadata().is_ok_and(|facts| facts.is_file())
        };
        let files = untracked.into_iter().filter(is_file);
        return Ok((tree::base(repository, kind, &files.collect::<Vec<_>>())?, None));
    };
    let mut applied = Vec::new();
    let view = store.view()?;
    if view.has_applied()? {
        for name in untracked {
            let Ok(path) = RepoPath::from_tree(&name) else { continue };
            let written = decide::written_here(store, &view, now, &path, None)?.flatten();
            let at = repository.work_dir().map(|top| top.join(path.to_path()));
            let facts = at.filter(|_| written.is_some()).and_then(|at| at.symlink_metadata().ok());
            if facts.is_some_and(|facts| facts.is_file()) {
                applied.push(name);
            }
        }
    }
    Ok((tree::base(repository, kind, &applied)?, Some(remark)))
}

/// Updates the tree to the last decision, then to the checkout. A pending proposal gets a revision
/// on the present files.
pub fn sync(
    session: &Session<'_>,
    home: &SessionStore,
    changing: &RecordLock,
    name: &str,
    onto: Base,
) -> Result<(FollowOutcome, Option<SubmitReport>)> {
    let Session { store, now, .. } = session;
    let repository = store.repository();
    // Fails first, before anything is followed.
    home.require_tree(name)?;
    let (base, _) = base_of(store, onto, *now)?;
    let mut followed = follow(session, home, changing, name)?;
    let mut record = recall::record(store, home, name)?;
    record.target = repository.head_target();
    let submitted = rebase(session, home, changing, record, base, &mut followed)?;
    Ok((followed, submitted))
}

/// Updates the tree to `base`. A pending proposal gets a revision on it.
pub(super) fn rebase(
    session: &Session<'_>,
    home: &SessionStore,
    changing: &RecordLock,
    mut record: SessionRecord,
    base: String,
    followed: &mut FollowOutcome,
) -> Result<Option<SubmitReport>> {
    let (repository, name) = (session.store.repository(), changing.name());
    let tree = home.tree(name);
    let more = follow::follow(repository, &tree, &record.base, &base)?;
    if !more.kept_edits.is_empty() {
        record.untold.push(UnreportedDecision {
            kept: more.kept_edits.clone(),
            ..UnreportedDecision::default()
        });
    }
    followed.join(more);
    tree::hold(repository, name, &base)?;
    head::follow(repository, &tree, &record.base, &base);
    record.base = base;
    home.write(changing, &record)?;
    let is_pending = record.proposal.is_some();
    is_pending.then(|| submit(session, home, changing, name, Details::default())).transpose()
}

/// Proposes changes against the base and records that. A pending proposal is revised; after a
/// decision the tree follows that first.
///
/// # Errors
/// `session_not_found`, `session_record_invalid`; as `follow()`, `read::read_changes`, `propose::propose`
/// and `propose::revise`. The agent's edits stay in every case.
pub fn submit(
    session: &Session<'_>,
    home: &SessionStore,
    changing: &RecordLock,
    name: &str,
    details: Details,
) -> Result<SubmitReport> {
    let Session { store, caller, now } = session;
    let repository = store.repository();
    home.require_tree(name)?;
    let FollowOutcome { kept_edits: kept, remarks: said, .. } =
        follow(session, home, changing, name)?;
    let mut record = recall::record(store, home, name)?;
    // A proposal in the record is pending now.
    let last = record.proposal.as_ref().map(|id| store.view()?.find(id));
    let pending = last.transpose()?;
    let read::TreeChanges { changes, mut passed_over, ignored: strays } =
        read::read_changes(repository, &home.tree(name), Some(name), &record.base)?;
    let changes = proposable::only(store, changes, &mut passed_over)?;
    let incomplete = incomplete(store, &passed_over)?;
    let may_revise = match &pending {
        Some(proposal) => is_own(store, proposal, &caller.actor),
        None => false,
    };
    let changes = match pending.as_ref().filter(|_| may_revise) {
        Some(proposal) => proposable::beside(store, proposal, changes, &mut passed_over)?,
        None => changes,
    };
    if changes.is_empty() {
        // Another proposer's stays.
        let left = pending.filter(|_| passed_over.is_empty() && may_revise);
        let outcome = left.map(|proposal| withdraw(session, proposal)).transpose()?;
        if outcome.is_some() {
            go_on(repository, home, changing, record, None, None)?;
        }
        passed_over.extend(beside::of(repository, &home.tree(name), name));
        return Ok(SubmitReport { outcome, lines: (0, 0), passed_over, kept, said, strays });
    }
    let changeset = Changeset::new(changes)?;
    let lines = counts(&changeset);
    let spool::SpoolRemark { description, domain, related_task_id } = spool::take(&home.tree(name));
    let details = Details {
        // Written by an agent, so its content must not prevent proposing.
        description: details.description.or_else(|| Some(text::lines(&description?))),
        domain: details.domain.or(domain),
        related_task_id: details.related_task_id.or(related_task_id),
        ..details
    };
    let place = home.tree(name);
    let commits = words::commits(repository, &place, &record.base, record.decided_head.as_deref());
    let own_words = words::of_commits(&commits).or_else(|| {
        words::of_message(details.last_message.as_deref().unwrap_or_default(), &caller.actor.name)
    });
    let says_more = |proposal: &Proposal| {
        details.description.is_some() && details.description != proposal.description
    };
    let fallback = format!("What {} left in session {name}", caller.actor.name);
    let outcome = match pending {
        Some(proposal)
            if !says_more(&proposal) && is_same(store, proposal.current(), &changeset) =>
        {
            SubmitOutcome::Unchanged(proposal)
        }
        Some(proposal) if may_revise => {
            let proposals = std::slice::from_ref(&proposal);
            let command = format!("aye revise {} …", proposal.id);
            let (verb, evidence) = (Verb::Revise, Evidence::Flag);
            let authority = decide::authorise(store, caller, verb, proposals, &evidence, &command)?;
            let Details { description, expires_in, .. } = details;
            let description = description.or_else(|| {
                // Words that somebody gave it stay.
                let is_ours = |before: &String| {
                    let title = |text: &str| text.lines().next().map(str::to_owned);
                    *before == fallback || title(before) == own_words.as_deref().and_then(title)
                };
                own_words.clone().filter(|_| proposal.description.as_ref().is_none_or(is_ours))
            });
            let (note, notes) = (None, Vec::new());
            recall::note(store, home, changing, &mut record, (&changeset, *now))?;
            let draft = Draft::new(store, changeset, InputForm::Session)?;
            let draft = Draft { target: record.target.clone(), incomplete, ..draft };
            let revision = Revision { draft, description, note, expires_in, notes };
            SubmitOutcome::Revised(propose::revise(session, &authority, &proposal, revision)?)
        }
        other => {
            let description = details.description.or(own_words).or(Some(fallback));
            let instead_of = other.map(|proposal| proposal.id.to_string());
            let details = Details { description, instead_of, ..details };
            recall::note(store, home, changing, &mut record, (&changeset, *now))?;
            let draft = Draft::new(store, changeset, InputForm::Session)?;
            let draft = Draft { target: record.target.clone(), incomplete, ..draft };
            SubmitOutcome::Proposed(propose::propose(session, draft, details)?)
        }
    };
    let proposal = outcome.proposal();
    let submitted = match record.proposing.take() {
        Some(proposing) => proposing.files,
        None => store.commit_above(&record.base, proposal.current(), "What a session proposed")?,
    };
    passed_over.extend(beside::of(repository, &home.tree(name), name));
    let held = tree::hold(repository, name, &submitted);
    record.submitted = Some(submitted);
    record.proposal = Some(proposal.id.to_string());
    record.head = words::head(&place).map(|head| head.to_string());
    // If this write fails, the next command recovers from the earlier note.
    drop(held.and_then(|()| home.write(changing, &record)));
    Ok(SubmitReport { outcome: Some(outcome), lines, passed_over, kept, said, strays })
}

/// Information that an agent has not received yet.
#[derive(Debug, Default)]
pub struct News {
    /// Outcomes, oldest first.
    pub verdicts: Vec<wait::Document>,
    /// Ids of partially applied proposals, with the proposal of the rest.
    pub rests: Vec<(String, String)>,
    /// Files with edits that override incoming ones, and reasons. Untrusted.
    pub kept: Vec<(String, String)>,
}

/// Also returns the record to write after delivery.
fn untold(session: &Session<'_>, home: &SessionStore, name: &str) -> Result<(News, SessionRecord)> {
    let Session { store, now, .. } = session;
    let mut record = recall::record(store, home, name)?;
    let mut news = News::default();
    let view = store.view()?;
    for UnreportedDecision { proposal, rest, kept } in std::mem::take(&mut record.untold) {
        news.kept.extend(kept);
        news.rests.extend(proposal.clone().zip(rest));
        let found = proposal.and_then(|id| view.find(&id).ok());
        news.verdicts
            .extend(found.map(|found| wait::document(store, &found, found.status(*now), false)));
    }
    let last = record.proposal.as_ref().and_then(|id| view.find(id).ok());
    if let Some(proposal) = last {
        let asked = proposal.changes_requested.as_ref().map(|request| request.at);
        let at = proposal.decision().map(|decision| decision.at).or(asked);
        let at = at.map(|at| at.to_rfc3339());
        if at.is_some() && record.told != at {
            news.verdicts.push(wait::document(store, &proposal, proposal.status(*now), false));
            record.told = at;
        }
    }
    Ok((news, record))
}

/// Follows first, then marks the news as delivered.
pub fn news(
    session: &Session<'_>,
    home: &SessionStore,
    changing: &RecordLock,
    name: &str,
) -> Result<News> {
    follow(session, home, changing, name)?;
    let (news, record) = untold(session, home, name)?;
    if !(news.verdicts.is_empty() && news.kept.is_empty()) {
        home.write(changing, &record)?;
    }
    Ok(news)
}

fn withdraw(session: &Session<'_>, proposal: Proposal) -> Result<SubmitOutcome> {
    let Session { store, caller, now } = session;
    let proposals = std::slice::from_ref(&proposal);
    let command = format!("aye reject {}", proposal.id);
    let (verb, evidence) = (Verb::Reject, Evidence::Flag);
    let authority = decide::authorise(store, caller, verb, proposals, &evidence, &command)?;
    let reason = Some("nothing of it is left in the files of the session");
    let besides = VerdictDetails { reason, ..VerdictDetails::default() };
    verdict::record_verdicts(store, &authority, *now, proposals, PlainVerdict::Withdraw, &besides)?;
    Ok(SubmitOutcome::Withdrawn(proposal))
}

/// Lines added and removed.
pub(super) fn counts(changeset: &Changeset) -> (usize, usize) {
    entries(changeset.changes()).iter().fold((0, 0), |(added, removed), entry| {
        let counts = entry.counts();
        (added + counts.added, removed + counts.removed)
    })
}

/// Excluded files to name in the proposal, except private ones.
fn incomplete(store: &Store, passed_over: &[(String, String)]) -> Result<Vec<Incomplete>> {
    let mut found = Vec::new();
    for (path, why) in passed_over {
        let Ok(path) = RepoPath::new(path) else { continue };
        if !store.is_private(std::iter::once(&path))? {
            found.push(Incomplete { path, reason: why.clone() });
        }
    }
    Ok(found)
}

fn is_same(store: &Store, revision: &Revised, changeset: &Changeset) -> bool {
    let proposed = store.changeset_unchecked(&revision.changes);
    proposed.is_ok_and(|proposed| {
        let sides = |changeset: &Changeset| {
            let changes = changeset.changes().iter();
            changes.map(|c| (c.path.clone(), c.before.clone(), c.after.clone())).collect::<Vec<_>>()
        };
        sides(&proposed) == sides(changeset)
    })
}
