//! The memo: a line for each thread, so that a list reads a file instead of all commits.
//!
//! `.git/aye/open` has the threads with refs, `.git/aye/decided` those of the ledger. A line of the
//! first counts as long as its key is the hash of the thread's tips, so a plain `git fetch` makes
//! it stale. A line of the second counts as long as its chunk is there, because chunks never move.
//! Writers append, readers compact.
//!
//! A line that cannot be read is dropped, and its thread is folded again. A wrong memo makes a
//! wrong list, never a wrong decision, and both files may be deleted at any time.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read as _, Write as _};
use std::ops::Range;
use std::rc::Rc;

use bstr::ByteSlice as _;
use gix::ObjectId;
use serde::{Deserialize, Serialize};

use super::counts::{self, LineCounts};
use super::thread::Thread;
use super::trouble::ThreadFault;
use super::{Space, Store, Summary, View, codes};
use crate::beneath::Access;
use crate::changeset::RepoPath;
use crate::changeset::hunks::Lines;
use crate::error::Result;
use crate::proposal::event::{On, RevisionReason, Subject};
use crate::proposal::steps::{self, FileStep};
use crate::proposal::{ChangeRecord, Data, Entry, Proposal, ProposalId, State, Status, fold};

/// The first line of both files. A file of another version is ignored.
const FORMAT: &[u8] = b"aye memo 1\n";

const OPEN: &str = "open";
const DECIDED: &str = "decided";

/// Stale lines that may be in a file before a reader compacts it.
const MOST_STALE: usize = 64;

/// Limits in bytes of a text and of a name in a list.
const MOST_LISTED: usize = 4 << 10;
const MOST_NAMED: usize = 256;

/// Approvals of one proposal in a list: the newest.
const MOST_APPROVALS: usize = 100;

/// Ranges of lines that are kept of one change. A change with more touches unknown lines.
const MOST_RANGES: usize = 256;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Row {
    /// Id of the first event, hex.
    pub(super) thread: String,
    /// `Threads::key` of the tips that were folded.
    pub(super) key: String,
    /// `Threads::stamp` when the ledger was last asked for the tips.
    #[serde(default)]
    pub(super) stamp: String,
    pub(super) is_private: bool,
    pub(super) is_own: bool,
    /// The latest time of its events, in milliseconds.
    pub(super) last: i64,
    pub(super) subject: ThreadKind,
    /// `key` at the last update of the projections, and whether the proposal was pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) followed: Option<(String, bool)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) troubles: Vec<ThreadFault>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ThreadKind {
    Proposal(Box<ProposalRow>),
    Plan(String),
    /// The paths that a direct patch wrote.
    Patch(Vec<RepoPath>),
    /// A kind that this version does not list, or a thread that cannot be read.
    Unknown,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProposalRow {
    /// Its line in lists. The status is that of the last event, never `Expired`.
    pub summary: Summary,
    /// The time of the decision, in milliseconds.
    pub(super) decided: Option<i64>,
    pub(super) staging: Option<String>,
    pub on: Option<On>,
    pub files: Vec<ChangedFile>,
    /// Results of earlier revisions and of every apply, by file.
    pub made: Vec<(RepoPath, Option<Entry>)>,
    pub(super) approved: Vec<FileStep>,
    /// The basis of the marks, and the marks, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) marks: Option<(String, String)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChangedFile {
    pub path: RepoPath,
    pub before: Option<Entry>,
    pub after: Option<Entry>,
    /// The lines of `before` that it changes, from 0.
    pub lines: Option<Vec<Range<u32>>>,
}

impl Row {
    /// The row of the thread `id`. A thread that cannot be read has one too, so that lists name it
    /// without reading it each time.
    fn read(
        view: &View<'_>,
        id: &ObjectId,
        thread: Result<Rc<Thread>>,
        key: String,
        before: Option<&Self>,
    ) -> Self {
        match thread {
            Ok(thread) => Self::of(view.store(), &thread, key, before),
            Err(error) => Self {
                thread: id.to_string(),
                key,
                stamp: String::new(),
                is_private: view.threads.space(id).is_ok_and(|space| space == Space::Private),
                is_own: false,
                last: 0,
                subject: ThreadKind::Unknown,
                followed: None,
                troubles: vec![ThreadFault::of_thread(id, &error)],
            },
        }
    }

    /// The row of `thread`, whose tips have the hash `key`. The row `before` gives `followed`, and
    /// the lines and marks of an unchanged revision.
    pub(super) fn of(store: &Store, thread: &Thread, key: String, before: Option<&Self>) -> Self {
        let known = before.and_then(Self::digest);
        let proposal = fold(&thread.history);
        let mut troubles: Vec<ThreadFault> =
            thread.set_aside.iter().map(|it| ThreadFault::of_ref(thread, it)).collect();
        if let Some(proposal) = &proposal {
            troubles.extend(proposal.skipped.iter().map(|it| ThreadFault::of_event(thread, it)));
        }
        let events = || thread.history.events().iter();
        let subject = match (proposal, events().next().map(|first| &first.event.data)) {
            (Some(proposal), _) => {
                ThreadKind::Proposal(Box::new(ProposalRow::of(store, thread, &proposal, known)))
            }
            (None, Some(Data::Plan(plan))) => match plan.get("branch").and_then(|it| it.as_str()) {
                Some(branch) => ThreadKind::Plan(branch.to_owned()),
                None => ThreadKind::Unknown,
            },
            (None, Some(Data::Patch(patch))) => {
                ThreadKind::Patch(patch.written.iter().map(|file| file.path.clone()).collect())
            }
            _ => ThreadKind::Unknown,
        };
        Self {
            thread: thread.id.to_string(),
            key,
            stamp: String::new(),
            is_private: thread.space == Space::Private,
            is_own: thread.own.is_some(),
            last: events().map(|it| it.event.time.timestamp_millis()).max().unwrap_or_default(),
            subject,
            followed: before.and_then(|before| before.followed.clone()),
            troubles,
        }
    }

    /// The id of the thread; `None` in a forged row.
    pub(super) fn id(&self) -> Option<ObjectId> {
        ObjectId::from_hex(self.thread.as_bytes()).ok()
    }

    pub(super) fn digest(&self) -> Option<&ProposalRow> {
        match &self.subject {
            ThreadKind::Proposal(digest) => Some(digest),
            _ => None,
        }
    }

    pub(super) fn digest_mut(&mut self) -> Option<&mut ProposalRow> {
        match &mut self.subject {
            ThreadKind::Proposal(digest) => Some(digest),
            _ => None,
        }
    }

    /// True if pending refs and projections have to be updated. A proposal that was decided before
    /// this clone saw it has none.
    pub(super) fn is_due(&self, is_pending: bool) -> bool {
        match &self.followed {
            Some((key, was_pending)) => {
                *was_pending != is_pending || is_pending && *key != self.key
            }
            None => is_pending,
        }
    }

    /// True if they are up to date for a pending proposal.
    pub(super) fn has_followed(&self) -> bool {
        self.followed.as_ref().is_some_and(|(key, was_pending)| *was_pending && *key == self.key)
    }

    pub(super) fn followed(&self, is_pending: bool) -> Self {
        Self { followed: Some((self.key.clone(), is_pending)), ..self.clone() }
    }

    /// True if missing objects may have come since, which moves no ref.
    fn is_to_retry(&self, store: &Store) -> bool {
        let is_incomplete = |it: &ThreadFault| it.code == codes::THREAD_INCOMPLETE.id;
        self.troubles.iter().any(is_incomplete)
            || self.digest().is_some_and(|digest| {
                let sides =
                    || digest.files.iter().flat_map(|file| file.before.iter().chain(&file.after));
                digest.summary.lines == Lines::NotHere
                    && sides().all(|entry| store.repository().has(&entry.id))
            })
    }
}

impl ProposalRow {
    fn of(store: &Store, thread: &Thread, proposal: &Proposal, known: Option<&Self>) -> Self {
        let current = proposal.current();
        let known = known.filter(|known| known.summary.revision == current.event);
        let (lines, files) = match known.filter(|it| it.summary.lines != Lines::NotHere) {
            Some(known) => (known.summary.lines, known.files.clone()),
            None => {
                let LineCounts { total, lines } = counts::count(store, &current.changes);
                let file = |(change, lines): (&ChangeRecord, Option<Vec<_>>)| ChangedFile {
                    path: change.path.clone(),
                    before: change.before.clone(),
                    after: change.after.clone(),
                    lines: lines.filter(|lines| lines.len() <= MOST_RANGES),
                };
                let files = current.changes.iter().zip(lines).map(file).collect();
                (total, files)
            }
        };
        let earlier =
            proposal.revisions.iter().rev().skip(1).flat_map(|revision| &revision.changes);
        let written =
            proposal.applies().chain(&proposal.undone).flat_map(|decision| &decision.written);
        let made = earlier
            .map(|change| (change.path.clone(), change.after.clone()))
            .chain(written.map(|file| (file.path.clone(), file.after.clone())));
        let decided = proposal.applies().filter(|decision| decision.is_by_a_person());
        Self {
            summary: Summary { lines, ..Summary::of(thread, proposal) },
            decided: proposal.decision().map(|decision| decision.at.timestamp_millis()),
            staging: proposal
                .staging_id()
                .filter(|_| proposal.subject == Subject::Memory)
                .map(str::to_owned),
            on: current.on.clone(),
            files,
            made: made.collect(),
            approved: decided
                .flat_map(|decision| steps::decision_steps(proposal, decision))
                .collect(),
            marks: known.and_then(|known| known.marks.clone()),
        }
    }
}

impl Summary {
    /// The summary without what depends on the clock or on other threads.
    fn of(thread: &Thread, proposal: &Proposal) -> Self {
        let current = proposal.current();
        let mut approvals = crate::proposal::document::approvals(proposal);
        for approval in &mut approvals {
            approval.reason = approval.reason.take().map(|text| capped(&text, MOST_LISTED));
        }
        let target = current.target.as_ref().and_then(|target| target.name.as_deref());
        let checked =
            proposal.check().filter(|check| check.kind() != crate::proposal::ActorKind::Agent);
        Self {
            id: ProposalId::from_event(&proposal.first_event),
            thread: thread.id.to_string(),
            clone: proposal.clone.clone(),
            prefix: 0,
            subject: proposal.subject,
            status: match proposal.state {
                State::Pending => Status::Pending,
                State::Applied(_) => Status::Applied,
                State::Rejected(_) => Status::Rejected,
            },
            domain: proposal.domain.as_deref().map(named),
            task: proposal.related_task_id.as_deref().map(named),
            proposed_by: named(&proposal.proposed_by),
            created_at: proposal.created_at,
            expires_at: proposal.expires_at,
            description: proposal.description.as_deref().map(|text| capped(text, MOST_LISTED)),
            path: current
                .changes
                .first()
                .map(|change| change.path.display().to_string())
                .unwrap_or_default(),
            files: current.changes.len(),
            lines: Lines::NotHere,
            revisions: proposal.revisions.len(),
            comments: proposal.comments.len(),
            changes_requested: proposal.changes_requested.is_some(),
            contested: proposal.contested,
            // An agent's check is its own claim.
            checked: checked.map(|check| check.check.exit_code.unwrap_or(-1)),
            digest: crate::proposal::event::digest(&current.changes),
            revision: current.event.clone(),
            marked: proposal.mark().map(|mark| mark.verdict.as_str().to_owned()),
            recorded_by: named(&proposal.actor.name),
            author: named(&current.actor.name),
            approvals: approvals.split_off(approvals.len().saturating_sub(MOST_APPROVALS)),
            is_undone: !proposal.undone.is_empty(),
            is_partial: current.reason == RevisionReason::Partial,
            target_ref: target.map(|name| capped(name, MOST_LISTED)),
            space: thread.space,
        }
    }
}

fn capped(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_owned()
}

fn named(name: &str) -> String {
    capped(name, MOST_NAMED)
}

/// The rows of the open threads. Stale ones are folded again and appended to the memo, if that can
/// be written.
pub(super) fn open(view: &View<'_>) -> Result<Vec<Row>> {
    let (store, threads) = (view.store(), &view.threads);
    let ids = threads.ids()?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let bytes = read(store, OPEN);
    let is_new = bytes.is_none();
    let (mut known, mut lines) = (HashMap::new(), 0);
    for row in rows_with(&bytes.unwrap_or_default(), None) {
        lines += 1;
        known.insert(row.thread.clone(), row);
    }
    let (mut found, mut fresh) = (Vec::with_capacity(ids.len()), Vec::new());
    for id in &ids {
        let stamp = threads.stamp(id)?;
        let before = known.remove(&id.to_string());
        let is_to_retry = before.as_ref().is_some_and(|row| row.is_to_retry(store));
        let mut row = match before {
            Some(row) if row.stamp == stamp && !is_to_retry => {
                found.push(row);
                continue;
            }
            before => {
                let key = threads.key(id)?;
                match before {
                    Some(row) if row.key == key && !is_to_retry => row,
                    before => Row::read(view, id, view.thread_of(id), key, before.as_ref()),
                }
            }
        };
        row.stamp = stamp;
        fresh.push(line(&row));
        found.push(row);
    }
    if is_new || lines + fresh.len() > ids.len() + ids.len() / 2 + MOST_STALE {
        replace(store, OPEN, &found.iter().map(line).collect::<Vec<_>>().concat());
    } else {
        append(store, &fresh);
    }
    Ok(found)
}

/// The row of `thread` (hex) among `rows`, which are sorted by it.
pub(super) fn row<'r>(rows: &'r [Row], thread: &str) -> Option<&'r Row> {
    rows.binary_search_by(|row| row.thread.as_str().cmp(thread)).ok().map(|at| &rows[at])
}

/// Appends rows. They are not flushed, and an error is ignored: another reader folds them again.
pub(super) fn note<'r>(store: &Store, rows: impl IntoIterator<Item = &'r Row>) {
    let lines: Vec<Vec<u8>> = rows.into_iter().map(line).collect();
    append(store, &lines);
    crate::failpoint!("store.memo.written");
}

/// The rows of the ledger's threads as lines, each thread once, behind a line with the ids of the
/// chunks.
///
/// # Errors
/// If the refs or an own chunk cannot be read.
pub(super) fn decided(view: &View<'_>) -> Result<Vec<u8>> {
    let (store, threads) = (view.store(), &view.threads);
    let ledger = threads.ledger()?;
    if ledger.chunks().is_empty() {
        return Ok(Vec::new());
    }
    let mut present: Vec<String> = ledger.chunks().iter().map(|it| it.id.to_string()).collect();
    present.sort_unstable();
    let bytes = read(store, DECIDED).unwrap_or_default();
    let said = bytes.lines().next().and_then(|line| line.to_str().ok()).unwrap_or_default();
    if said == present.join(" ") {
        return Ok(bytes);
    }
    let said: Vec<&str> = said.split(' ').collect();
    // A purge has replaced a chunk, so the threads that it removed are unknown: all chunks are read
    // again.
    let is_there = |chunk: &&str| present.iter().any(|known| known == chunk);
    let filled = if said.iter().all(is_there) { said } else { Vec::new() };
    let known = if filled.is_empty() { None } else { Some(rows_with(&bytes, None)) };
    let mut known: BTreeMap<String, Row> =
        known.into_iter().flatten().map(|row| (row.thread.clone(), row)).collect();
    for chunk in ledger.chunks().iter().filter(|it| !filled.contains(&&*it.id.to_string())) {
        let entries = match ledger.entries(chunk) {
            Ok(entries) => entries,
            Err(error) if chunk.is_own() => return Err(error),
            // The ledger reports it.
            Err(_) => Vec::new(),
        };
        for (id, _) in entries {
            let thread = threads.read(&id).map(Rc::new);
            known.insert(id.to_string(), Row::read(view, &id, thread, String::new(), None));
        }
    }
    let mut bytes = present.join(" ").into_bytes();
    bytes.push(b'\n');
    known.values().for_each(|row| bytes.extend_from_slice(&line(row)));
    replace(store, DECIDED, &bytes);
    Ok(bytes)
}

/// The rows in `bytes`; with a `word`, only those that have it in their line.
pub(super) fn rows_with<'b>(
    bytes: &'b [u8],
    word: Option<&str>,
) -> impl Iterator<Item = Row> + use<'b> {
    let finder = word.map(|word| bstr::Finder::new(word).into_owned());
    let lines =
        bytes.lines().filter(move |line| finder.as_ref().is_none_or(|it| it.find(line).is_some()));
    lines.filter_map(|line| serde_json::from_slice(line).ok())
}

/// A text as it is written in a line.
pub(super) fn spelled(text: &impl Serialize) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

fn line(row: &Row) -> Vec<u8> {
    let mut line = serde_json::to_vec(row).unwrap_or_default();
    line.push(b'\n');
    line
}

/// The lines of a memo that is whole and of this format.
fn read(store: &Store, name: &str) -> Option<Vec<u8>> {
    let private = store.repository().private().ok()??;
    let mut file = private.file(name.into(), Access::Read).ok()?;
    let size = file.metadata().ok()?.len().min(crate::private::LIMIT);
    // Read apart from the rows, which are then neither zeroed nor copied.
    let mut format = [0; FORMAT.len()];
    file.read_exact(&mut format).ok()?;
    let rest = usize::try_from(size).ok()?.checked_sub(FORMAT.len())?;
    let mut bytes = Vec::with_capacity(rest + 1);
    file.take(rest as u64).read_to_end(&mut bytes).ok()?;
    let is_whole = format == FORMAT && bytes.len() == rest && (rest == 0 || bytes.ends_with(b"\n"));
    is_whole.then_some(bytes)
}

fn append(store: &Store, lines: &[Vec<u8>]) {
    if lines.is_empty() {
        return;
    }
    let write = || -> Option<()> {
        let mut file =
            store.repository().make_private().ok()?.file(OPEN.into(), Access::Lock).ok()?;
        let size = file.metadata().ok()?.len();
        let begin = if size == 0 { FORMAT } else { &[] };
        // One write at the end: two readers that append at once lose no line.
        rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::APPEND).ok()?;
        file.write_all(&[begin, &lines.concat()].concat()).ok()
    };
    let _ = write();
}

fn replace(store: &Store, name: &str, lines: &[u8]) {
    let bytes = [FORMAT, lines].concat();
    let private = store.repository().make_private();
    let _ = private.and_then(|private| private.replace(name, &bytes, false));
}

impl Store {
    /// Removes the memo; the next command folds the threads again.
    pub fn forget_memo(&self) {
        if let Ok(Some(private)) = self.repository().private() {
            [OPEN, DECIDED].iter().for_each(|name| private.remove(name));
        }
    }
}
