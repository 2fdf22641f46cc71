//! What an agent has left in the tree of its session becomes a proposal, or the next revision of one.

use chrono::{DateTime, SecondsFormat, Utc};

use crate::changeset::entry::entries;
use crate::changeset::{Changeset, RepoPath};
use crate::decide;
use crate::decide::verdict::{self, Besides, Word};
use crate::error::{Error, Result};
use crate::git;
use crate::proposal::event::{Evidence, Incomplete, InputForm};
use crate::proposal::rules::Verb;
use crate::proposal::{Proposal, Revision as Revised, Status};
use crate::repository::Repository;
use crate::session::follow::{self, Followed};
use crate::session::home::{Changing, Held, Home, State};
use crate::session::record::Untold;
use crate::session::strays::Strays;
use crate::session::tree::Base;
use crate::session::{Record, beside, head, link, read, record, spool, tree};
use crate::store::Store;
use crate::text;

use super::left_out::{LeftOut, left_out};
use super::propose::{self, Details, Recorded, Revision};
use super::{Draft, Session, is_own, is_recorded_here, proposable, recall, wait};

/// What became of the files of a session.
#[derive(Debug)]
pub struct Submitted {
    /// The proposal; `None` where nothing differs from the base.
    pub outcome: Option<SubmitOutcome>,
    /// Lines added and removed, in all files.
    pub lines: (usize, usize),
    /// What is not proposed: the path, and why. Untrusted.
    pub passed_over: Vec<(String, String)>,
    /// Files in which edits stand where a decision wanted others, and why. Untrusted.
    pub kept: Vec<(String, String)>,
    /// What there is to say of the decision that the files followed, in words. Untrusted.
    pub said: Vec<String>,
    /// What git ignores in the files.
    pub strays: Strays,
}

/// A proposal with the files of a session.
#[derive(Debug)]
pub enum SubmitOutcome {
    /// A new one.
    Proposed(Recorded),
    /// A new revision of the session's own.
    Revised(Recorded),
    /// The session's own, which says the same already.
    Unchanged(Proposal),
    /// The session's own, withdrawn: its files hold nothing of it any more.
    Withdrawn(Proposal),
}

impl SubmitOutcome {
    /// The proposal.
    pub fn proposal(&self) -> &Proposal {
        match self {
            Self::Proposed(recorded) | Self::Revised(recorded) => &recorded.proposal,
            Self::Unchanged(proposal) | Self::Withdrawn(proposal) => proposal,
        }
    }
}

/// Makes the tree and the record of a session that is held. `command` is what is to run in it. What in the tree
/// leads back into the checkout is returned, and why, in words.
///
/// # Errors
/// `session_tree_exists`; `no_commit`, `disk_full`, `no_state_directory`, and those of git and of the file system,
/// after which nothing is left of it.
pub fn begin(
    store: &Store,
    home: &Home,
    held: &Held,
    base: Base,
    agent: &str,
    command: &str,
    now: DateTime<Utc>,
) -> Result<Vec<(String, String)>> {
    let repository = store.repository();
    home.begin(held)?;
    let kind = base;
    let make = || {
        let base = base_of(store, kind, now)?;
        let tree = home.tree(&held.name);
        let mut back = tree::make(repository, &held.name, &tree, &base)?;
        back.extend(link::link(repository, &tree)?);
        let changing = home.change(&held.name)?;
        let record = Record {
            format: record::FORMAT.to_owned(),
            agent: agent.to_owned(),
            command: command.to_owned(),
            started_at: now.to_rfc3339_opts(SecondsFormat::Secs, true),
            base,
            target: repository.target(),
            proposal: None,
            submitted: None,
            proposing: None,
            revision: None,
            run: store.run().cloned(),
            told: None,
            untold: Vec::new(),
        };
        home.write(&changing, &record)?;
        home.begun(held);
        Ok(back)
    };
    make().map_err(|error: Error| {
        // Before what fills the disk is gone.
        let is_git = error.is(&git::codes::GIT_FAILED);
        let cause = is_git.then(|| home.check_writable().err()).flatten();
        home.clear(held);
        tree::unpin(repository, &held.name);
        cause.unwrap_or(error)
    })
}

/// Lets the tree of session `name` follow the decision on what it proposed last, where there is one. What was
/// applied is the base of what follows; what was not is taken out of the files; what the agent has edited since
/// stays. Files that somebody has written in another clone do not come into the tree, where they would be run,
/// before a person here has decided for them.
///
/// # Errors
/// `session_not_found`, `session_record_invalid`; those of [`follow::follow`].
pub fn follow(
    session: &Session<'_>,
    home: &Home,
    changing: &Changing,
    name: &str,
) -> Result<Followed> {
    let Session { store, now, .. } = session;
    let repository = store.repository();
    let mut record = recall::record(store, home, name)?;
    let Some(id) = record.proposal.clone() else { return Ok(Followed::default()) };
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
        // What another clone has made of it would be run here; and what it did not know is proposed again.
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
        // Nobody has decided: it is proposed again.
        Some((_, Status::Expired)) => {
            return go_on(repository, home, changing, record, None, Some(id));
        }
        // Purged: nobody says what became of it.
        None => return go_on(repository, home, changing, record, Some(submitted), None),
    };
    // What was left out and is pending stays in the files.
    let wanted = rest.as_ref().map_or(&base, |rest| &rest.with);
    let followed = match home.state(name) {
        State::Gone => Followed::default(),
        _ => follow::follow(repository, &home.tree(name), &submitted, wanted)?,
    };
    let decision = proposal.as_ref().and_then(Proposal::decision);
    let at = decision.map(|decision| decision.at.to_rfc3339());
    // What its agent has withdrawn is no news to it.
    let is_news = record.told != at && !decision.is_some_and(|decision| decision.withdrawn);
    record.told = at;
    record.untold.push(Untold {
        proposal: is_news.then_some(id),
        rest: rest.as_ref().map(|rest| rest.proposal.id.to_string()),
        kept: followed.kept.clone(),
    });
    let base = rest.as_ref().map_or(base, |rest| rest.without.clone());
    go_on(repository, home, changing, record, Some(base), None)?;
    if let Some(LeftOut { proposal: rest, with, .. }) = rest {
        let mut record = home.record(name)?;
        record.revision = Some(rest.current().event.clone());
        record.proposal = Some(rest.id.to_string());
        tree::hold(repository, name, &with)?;
        record.submitted = Some(with);
        home.write(changing, &record)?;
    }
    Ok(followed)
}

/// Whether all revisions of `proposal` are of this clone, or a person here has decided for them.
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

/// The commit with what the session of `record` has proposed, as far as that is pending or decided.
///
/// # Errors
/// Those of the store.
pub fn proposed(store: &Store, record: &Record) -> Result<String> {
    let last = record.proposal.as_ref().and_then(|id| store.view().ok()?.find(id).ok());
    let earlier = last.map(|last| decided_earlier(store, record, &last)).transpose()?.flatten();
    let submitted = || record.submitted.clone().unwrap_or_else(|| record.base.clone());
    Ok(earlier.unwrap_or_else(submitted))
}

/// Where another clone has decided on `proposal` and did not know the last revision of this one: the commit with
/// what it knew.
fn decided_earlier(store: &Store, record: &Record, proposal: &Proposal) -> Result<Option<String>> {
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

/// Lets the tree follow what somebody else here has made of the pending `proposal`, so that its agent goes on from
/// that.
fn follow_revision(
    store: &Store,
    home: &Home,
    changing: &Changing,
    mut record: Record,
    proposal: &Proposal,
) -> Result<Followed> {
    let current = proposal.current();
    let is_known = record.revision.as_ref() == Some(&current.event);
    let Some(submitted) = record.submitted.clone().filter(|_| !is_known) else {
        return Ok(Followed::default());
    };
    // No other clone revises it; where one has done so all the same, its files would be run here.
    if proposal.is_own(current) || !is_ours(store, proposal)? {
        return Ok(Followed::default());
    }
    let theirs = store.commit_above(&record.base, current, "What was made of a proposal")?;
    let name = changing.name();
    let followed = match home.state(name) {
        State::Gone => Followed::default(),
        _ => follow::follow(store.repository(), &home.tree(name), &submitted, &theirs)?,
    };
    tree::hold(store.repository(), name, &theirs)?;
    record.submitted = Some(theirs);
    record.revision = Some(current.event.clone());
    let (proposal, kept) = (record.proposal.clone(), followed.kept.clone());
    record.untold.push(Untold { proposal, rest: None, kept });
    home.write(changing, &record)?;
    Ok(followed)
}

/// Writes down that nothing of the session is pending, and what its files are compared with from now on.
fn go_on(
    repository: &Repository,
    home: &Home,
    changing: &Changing,
    mut record: Record,
    base: Option<String>,
    untold: Option<String>,
) -> Result<Followed> {
    (record.proposal, record.submitted) = (None, None);
    let before = record.base.clone();
    record.base = base.unwrap_or(record.base);
    head::follow(repository, &home.tree(changing.name()), &before, &record.base);
    record.untold.extend(untold.map(|id| Untold { proposal: Some(id), ..Untold::default() }));
    record.untold.retain(|untold| untold.proposal.is_some() || !untold.kept.is_empty());
    tree::hold(repository, changing.name(), &record.base)?;
    home.write(changing, &record)?;
    Ok(Followed::default())
}

/// What a session starts from, as [`tree::base`] has it, with the new files that were applied here and that nobody
/// has added to the index yet.
///
/// # Errors
/// Those of [`tree::base`] and of the store.
fn base_of(store: &Store, kind: Base, now: DateTime<Utc>) -> Result<String> {
    let repository = store.repository();
    if kind == Base::Head {
        return tree::base(repository, kind, &[]);
    }
    let mut applied = Vec::new();
    let view = store.view()?;
    if view.last_applied(1)?.is_some() {
        for name in tree::untracked(repository)? {
            // Another repository is listed as a directory.
            let Ok(path) = RepoPath::from_tree(&name) else { continue };
            let written = decide::written_here(store, &view, now, &path, None)?.flatten();
            let at = repository.work_dir().map(|top| top.join(path.to_path()));
            let facts = at.filter(|_| written.is_some()).and_then(|at| at.symlink_metadata().ok());
            if facts.is_some_and(|facts| facts.is_file()) {
                applied.push(name);
            }
        }
    }
    tree::base(repository, kind, &applied)
}

/// Lets the tree of session `name` follow the checkout, after the decision on what it proposed last. What is
/// pending gets a revision on the files as they are.
///
/// # Errors
/// As [`follow()`], [`tree::base`] and [`submit`].
pub fn sync(
    session: &Session<'_>,
    home: &Home,
    changing: &Changing,
    name: &str,
    onto: Base,
) -> Result<(Followed, Option<Submitted>)> {
    let Session { store, now, .. } = session;
    let repository = store.repository();
    // First of all, so that nothing is followed where the checkout cannot be.
    let base = base_of(store, onto, *now)?;
    let mut followed = follow(session, home, changing, name)?;
    let mut record = recall::record(store, home, name)?;
    let tree = home.tree(name);
    let more = follow::follow(repository, &tree, &record.base, &base)?;
    if !more.kept.is_empty() {
        record.untold.push(Untold { kept: more.kept.clone(), ..Untold::default() });
    }
    followed.join(more);
    tree::hold(repository, name, &base)?;
    head::follow(repository, &tree, &record.base, &base);
    record.base = base;
    record.target = repository.target();
    home.write(changing, &record)?;
    let is_pending = record.proposal.is_some();
    let submitted = is_pending
        .then(|| submit(session, home, changing, name, Details::default()))
        .transpose()?;
    Ok((followed, submitted))
}

/// Proposes what the tree of session `name` holds beside its base, and notes that in its record. While the
/// session's last proposal is pending, that one is revised; once it is decided, the tree follows the decision
/// first.
///
/// # Errors
/// `session_not_found`, `session_record_invalid`; those of [`follow()`], [`read::left`], [`propose::propose`] and
/// [`propose::revise`]. What the agent has edited stays as it is.
pub fn submit(
    session: &Session<'_>,
    home: &Home,
    changing: &Changing,
    name: &str,
    details: Details,
) -> Result<Submitted> {
    let Session { store, caller, now } = session;
    let repository = store.repository();
    let Followed { kept, said, .. } = follow(session, home, changing, name)?;
    let mut record = recall::record(store, home, name)?;
    // Whatever it names is pending now.
    let last = record.proposal.as_ref().map(|id| store.view()?.find(id));
    let pending = last.transpose()?;
    let read::Left { changes, mut passed_over, strays } =
        read::left(repository, &home.tree(name), Some(name), &record.base)?;
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
        // What a person has made of the rest of a decision is theirs to withdraw.
        let left = pending.filter(|_| passed_over.is_empty() && may_revise);
        let outcome = left.map(|proposal| withdraw(session, proposal)).transpose()?;
        if outcome.is_some() {
            go_on(repository, home, changing, record, None, None)?;
        }
        passed_over.extend(beside::of(repository, &home.tree(name), name));
        return Ok(Submitted { outcome, lines: (0, 0), passed_over, kept, said, strays });
    }
    let changeset = Changeset::new(changes)?;
    let lines = entries(changeset.changes()).iter().fold((0, 0), |(added, removed), entry| {
        let counts = entry.counts();
        (added + counts.added, removed + counts.removed)
    });
    let spool::Said { description, domain, related_task_id } = spool::take(&home.tree(name));
    let details = Details {
        // A file that an agent can write: what it says is no reason to keep the work back.
        description: details.description.or_else(|| Some(text::lines(&description?))),
        domain: details.domain.or(domain),
        related_task_id: details.related_task_id.or(related_task_id),
        ..details
    };
    let says_more = |proposal: &Proposal| {
        details.description.is_some() && details.description != proposal.description
    };
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
            recall::note(store, home, changing, &mut record, (&changeset, *now))?;
            let draft = Draft::new(store, changeset, InputForm::Session)?;
            let draft = Draft { target: record.target.clone(), incomplete, ..draft };
            let revision = Revision { draft, description, expires_in, notes: Vec::new() };
            SubmitOutcome::Revised(propose::revise(session, &authority, &proposal, revision)?)
        }
        other => {
            let why = || format!("What {} left in session {name}", caller.actor.name);
            let description = details.description.or_else(|| Some(why()));
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
    // It is proposed, also where this fails: the next command knows by what was noted before.
    drop(held.and_then(|()| home.write(changing, &record)));
    Ok(Submitted { outcome: Some(outcome), lines, passed_over, kept, said, strays })
}

/// What an agent has to be told of its session.
#[derive(Debug, Default)]
pub struct News {
    /// What became of its proposals, oldest first.
    pub verdicts: Vec<wait::Document>,
    /// Of those that were applied in part, the ids with that of the proposal of the rest.
    pub rests: Vec<(String, String)>,
    /// Files in which its edits stand where others were to come, and why. Untrusted.
    pub kept: Vec<(String, String)>,
}

/// What the agent of session `name` has not been told yet, and the record once it has.
///
/// # Errors
/// Those of the store and of the record.
fn untold(session: &Session<'_>, home: &Home, name: &str) -> Result<(News, Record)> {
    let Session { store, now, .. } = session;
    let mut record = recall::record(store, home, name)?;
    let mut news = News::default();
    let view = store.view()?;
    for Untold { proposal, rest, kept } in std::mem::take(&mut record.untold) {
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

/// What the agent of session `name` has not been told yet; from then on it has. The tree follows first.
///
/// # Errors
/// Those of [`follow()`].
pub fn news(session: &Session<'_>, home: &Home, changing: &Changing, name: &str) -> Result<News> {
    follow(session, home, changing, name)?;
    let (news, record) = untold(session, home, name)?;
    if !(news.verdicts.is_empty() && news.kept.is_empty()) {
        home.write(changing, &record)?;
    }
    Ok(news)
}

/// Withdraws the session's proposal, of which its files hold nothing any more.
fn withdraw(session: &Session<'_>, proposal: Proposal) -> Result<SubmitOutcome> {
    let Session { store, caller, now } = session;
    let proposals = std::slice::from_ref(&proposal);
    let command = format!("aye reject {}", proposal.id);
    let (verb, evidence) = (Verb::Reject, Evidence::Flag);
    let authority = decide::authorise(store, caller, verb, proposals, &evidence, &command)?;
    let reason = Some("nothing of it is left in the files of the session");
    let besides = Besides { reason, ..Besides::default() };
    verdict::say(store, &authority, *now, proposals, Word::Withdraw, &besides)?;
    Ok(SubmitOutcome::Withdrawn(proposal))
}

/// What the proposal is to say of the files that are not in it: nothing of those that are private.
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
    let proposed = store.recorded(&revision.changes);
    proposed.is_ok_and(|proposed| {
        let sides = |changeset: &Changeset| {
            let changes = changeset.changes().iter();
            changes.map(|c| (c.path.clone(), c.before.clone(), c.after.clone())).collect::<Vec<_>>()
        };
        sides(&proposed) == sides(changeset)
    })
}
