//! Queries over many threads: lists, names, files, the log. The memo answers them, or the commits
//! of few threads.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, Duration, Utc};
use gix::ObjectId;
use serde::{Deserialize, Serialize};

use super::memo::{self, ProposalRow, Row, ThreadKind};
use super::{Space, View, refs};
use crate::changeset::RepoPath;
use crate::changeset::hunks::Lines;
use crate::error::{Error, Result};
use crate::proposal::document::Approval;
use crate::proposal::event::Subject;
use crate::proposal::fold::undone_patch;
use crate::proposal::history::History;
use crate::proposal::steps::FileStep;
use crate::proposal::{Data, Entry, Proposal, ProposalId, Status, StoredEvent, codes, id, state};

/// Characters of a description beside an id, and of a staging id's date.
const MOST_NAMED: usize = 40;
const DATE: usize = 8;

/// Threads that are closed together, and days before that: an undo comes soon after a decision, and
/// a plan may go on.
const CLOSED_AT_ONCE: usize = 512;
pub(super) const CLOSED_AFTER: i64 = 7;
const DROPPED_AFTER: i64 = 30;

pub const PAGE: usize = 500;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Its short id, or the long one if two threads share the short one.
    pub id: ProposalId,
    pub thread: String,
    pub clone: String,
    /// Characters behind `prop_` that suffice to name it.
    #[serde(skip)]
    pub prefix: usize,
    pub subject: Subject,
    /// Status at the time of the query.
    pub status: Status,
    pub domain: Option<String>,
    pub task: Option<String>,
    pub proposed_by: String,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub description: Option<String>,
    pub path: String,
    pub files: usize,
    pub lines: Lines,
    pub revisions: usize,
    pub comments: usize,
    pub changes_requested: bool,
    /// Decided differently in two clones.
    pub contested: bool,
    /// Exit status of the last check, −1 for a signal.
    pub checked: Option<i32>,
    pub digest: String,
    pub revision: String,
    /// The word of a tool's mark: `applied` or `rejected`.
    pub marked: Option<String>,
    pub recorded_by: String,
    pub author: String,
    /// The newest approvals by people that wrote nothing, oldest first.
    pub approvals: Vec<Approval>,
    pub is_undone: bool,
    /// The current revision is what a person took of an earlier one.
    pub is_partial: bool,
    /// Full name of the branch that the current revision was made on.
    pub target_ref: Option<String>,
    pub space: Space,
}

impl Summary {
    /// First line of the description.
    pub fn title(&self) -> Option<&str> {
        state::title(self.description.as_deref())
    }
}

#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub status: Option<Status>,
    pub domain: Option<String>,
    pub task: Option<String>,
    /// Only proposals whose related task is a step of a plan (`plan:3`).
    pub of_plans: bool,
    pub by: Option<String>,
    /// Only proposals that change this file, or a file below this directory.
    pub path: Option<String>,
    /// A tool's mark counts as its status, as in the `changes` contract.
    pub by_contract: bool,
    pub subject: Option<Subject>,
    pub limit: Option<usize>,
    pub newest_first: bool,
}

impl Filter {
    pub fn pending() -> Self {
        Self { status: Some(Status::Pending), ..Self::default() }
    }

    /// The `most` newest applied ones that change the file `path`.
    pub fn applied_to(path: &RepoPath, most: usize) -> Self {
        Self {
            status: Some(Status::Applied),
            path: Some(path.display().to_string()),
            limit: Some(most),
            newest_first: true,
            ..Self::default()
        }
    }

    fn admits(&self, digest: &ProposalRow, now: DateTime<Utc>) -> bool {
        let Summary { domain, task, proposed_by, subject, marked, .. } = &digest.summary;
        let is = |wanted: &Option<String>, found: Option<&String>| {
            wanted.as_ref().is_none_or(|wanted| Some(wanted) == found)
        };
        let status = digest.status(now);
        let marked = marked
            .as_deref()
            .filter(|_| self.by_contract && digest.summary.status == Status::Pending);
        let has_status = |wanted: Status| match marked {
            Some(marked) => marked == wanted.as_str(),
            None => status == wanted,
        };
        let has_path = |path: &String| {
            let path = path.trim_end_matches('/');
            digest.files.iter().any(|file| {
                let name = file.path.display().to_string();
                name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        self.status.is_none_or(has_status)
            && is(&self.domain, domain.as_ref())
            && is(&self.task, task.as_ref())
            && is(&self.by, Some(proposed_by))
            && (!self.of_plans || task.as_ref().is_some_and(|task| task.starts_with("plan:")))
            && self.subject.is_none_or(|wanted| wanted == *subject)
            && self.path.as_ref().is_none_or(has_path)
    }
}

impl ProposalRow {
    fn status(&self, now: DateTime<Utc>) -> Status {
        let Summary { status, expires_at, .. } = &self.summary;
        if *status == Status::Pending && now >= *expires_at { Status::Expired } else { *status }
    }

    fn is_pending(&self, now: DateTime<Utc>) -> bool {
        self.status(now) == Status::Pending
    }
}

fn digests<'r>(
    rows: impl IntoIterator<Item = &'r Row>,
) -> impl Iterator<Item = (&'r Row, &'r ProposalRow)> {
    rows.into_iter().filter_map(|row| Some((row, row.digest()?)))
}

impl View<'_> {
    /// The proposals that `filter` admits, oldest first by default.
    pub fn proposals(&self, filter: &Filter, now: DateTime<Utc>) -> Result<Vec<Summary>> {
        // Pending proposals never leave their refs.
        let decided: Vec<Row> = match filter.status {
            Some(Status::Pending) => Vec::new(),
            _ => self.decided(None)?.collect(),
        };
        let rows = self.open()?.iter().chain(&decided);
        let mut found: Vec<_> =
            digests(rows).filter(|(_, digest)| filter.admits(digest, now)).collect();
        let place =
            |digest: &ProposalRow| (digest.summary.created_at, digest.summary.thread.clone());
        found.sort_by_cached_key(|(_, digest)| place(digest));
        if filter.newest_first {
            found.reverse();
        }
        found.truncate(filter.limit.unwrap_or(usize::MAX));
        self.summaries(found, &decided, now)
    }

    /// The summaries of `found`, which are rows of this view or of `decided`.
    fn summaries(
        &self,
        found: Vec<(&Row, &ProposalRow)>,
        decided: &[Row],
        now: DateTime<Utc>,
    ) -> Result<Vec<Summary>> {
        let all = digests(self.open()?.iter().chain(decided));
        let mut ids: Vec<(ProposalId, &str)> =
            all.map(|(row, digest)| (digest.summary.id.clone(), &*row.thread)).collect();
        ids.sort_unstable();
        let of = |(row, digest): (&Row, &ProposalRow)| {
            let short = &digest.summary.id;
            let at = ids.partition_point(|known| *known < (short.clone(), &*row.thread));
            let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
            let beside: Vec<_> =
                beside.filter_map(|at| ids.get(at)).map(|(id, _)| id.to_string()).collect();
            let short_text = short.to_string();
            let is_taken = beside.contains(&short_text);
            let shared = |other: &String| {
                let same =
                    other.bytes().zip(short_text.bytes()).take_while(|(a, b)| a == b).count();
                same.saturating_sub("prop_".len()) + 1
            };
            let id = if is_taken { ProposalId::long(&row.thread) } else { short.clone() };
            let most = id.to_string().len() - "prop_".len();
            let prefix = if is_taken { most } else { beside.iter().map(shared).max().unwrap_or(1) };
            Summary {
                id,
                prefix: prefix.clamp(id::SHORTEST.min(most), most),
                status: digest.status(now),
                ..digest.summary.clone()
            }
        };
        Ok(found.into_iter().map(of).collect())
    }

    pub fn ids_of(&self, filter: &Filter, now: DateTime<Utc>) -> Result<Vec<ProposalId>> {
        Ok(self.proposals(filter, now)?.into_iter().map(|summary| summary.id).collect())
    }

    /// The open proposals that `is_wanted` admits, oldest first.
    fn listed(
        &self,
        now: DateTime<Utc>,
        is_wanted: impl Fn(&ProposalRow) -> bool,
    ) -> Result<Vec<Summary>> {
        let mut found: Vec<_> = digests(self.open()?).filter(|(_, it)| is_wanted(it)).collect();
        found.sort_by_cached_key(|(row, it)| (it.summary.created_at, row.thread.clone()));
        self.summaries(found, &[], now)
    }

    /// The pending proposals that change the file `path`, oldest first.
    pub fn touching(&self, path: &RepoPath, now: DateTime<Utc>) -> Result<Vec<Summary>> {
        self.listed(now, |it| it.is_pending(now) && it.files.iter().any(|file| file.path == *path))
    }

    /// Proposals that two clones decided differently, oldest first. They keep their refs until a
    /// person settles that.
    pub fn contested(&self, now: DateTime<Utc>) -> Result<Vec<Summary>> {
        self.listed(now, |digest| digest.summary.contested)
    }

    /// A pending proposal with the same `digest` of changes, in `space` and not among `others`.
    pub(super) fn duplicate(
        &self,
        digest: &str,
        space: Space,
        others: &[ProposalId],
        now: DateTime<Utc>,
    ) -> Result<Option<ProposalId>> {
        let is_other = |it: &ProposalRow| others.iter().any(|id| id.is_of(&it.summary.thread));
        let is_it =
            |it: &ProposalRow| it.summary.digest == digest && it.is_pending(now) && !is_other(it);
        Ok(self.listed(now, is_it)?.into_iter().find(|it| it.space == space).map(|it| it.id))
    }

    /// The pending proposal other than `id` that makes `entry` of the file `path`, if there is
    /// exactly one.
    pub fn only_one_making(
        &self,
        (path, entry): (&RepoPath, &Entry),
        id: &ProposalId,
        now: DateTime<Utc>,
    ) -> Result<Option<ProposalId>> {
        let makes = |digest: &ProposalRow| {
            digest.is_pending(now)
                && digest
                    .files
                    .iter()
                    .any(|it| it.path == *path && it.after.as_ref() == Some(entry))
        };
        let mut found = self.listed(now, makes)?;
        found.retain(|summary| !id.is_of(&summary.thread));
        Ok(if found.len() == 1 { found.pop().map(|only| only.id) } else { None })
    }

    pub fn has_events(&self) -> bool {
        self.threads.ids().is_ok_and(|ids| !ids.is_empty())
            || self.threads.ledger().is_ok_and(|ledger| !ledger.chunks().is_empty())
    }

    pub fn count_pending(&self, now: DateTime<Utc>) -> Result<usize> {
        Ok(digests(self.open()?).filter(|(_, digest)| digest.is_pending(now)).count())
    }

    pub fn has_applied(&self) -> Result<bool> {
        let is_applied =
            |row: &Row| row.digest().is_some_and(|digest| digest.summary.status == Status::Applied);
        Ok(self.open()?.iter().any(is_applied) || self.decided(None)?.any(|row| is_applied(&row)))
    }

    /// The `most` memory proposals with a staging id that were decided or expired last, the latest
    /// first.
    pub fn settled(&self, now: DateTime<Utc>, most: usize) -> Result<Vec<ProposalId>> {
        let decided: Vec<Row> = self.decided(Some("\"staging\":\""))?.collect();
        let of = |(row, it): (&Row, &ProposalRow)| {
            it.staging.as_ref()?;
            let ran_out = || it.summary.expires_at.timestamp_millis();
            let at = it.decided.or_else(|| (!it.is_pending(now)).then(ran_out))?;
            Some((at, it.summary.created_at, it.summary.id.clone(), row.thread.clone()))
        };
        let mut found: Vec<_> =
            digests(self.open()?.iter().chain(&decided)).filter_map(of).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        Ok(found.into_iter().take(most).map(|(_, _, id, _)| id).collect())
    }

    /// At most `most` threads with stale pending refs and projections.
    pub(super) fn due(&self, now: DateTime<Utc>, most: usize) -> Result<BTreeSet<ObjectId>> {
        let due = digests(self.open()?).filter(|(row, digest)| row.is_due(digest.is_pending(now)));
        Ok(due.filter_map(|(row, _)| row.id()).take(most).collect())
    }

    /// At most `most` threads with a pending ref and without a pending row: they were closed, or
    /// the memo was deleted.
    pub(super) fn left(&self, now: DateTime<Utc>, most: usize) -> Result<BTreeSet<ObjectId>> {
        let names = refs::names(self.store().repository(), refs::PENDING);
        let pending =
            || digests(self.open().unwrap_or_default()).filter(|(_, it)| it.is_pending(now));
        let known: BTreeSet<&str> = pending().map(|(_, it)| it.summary.id.as_str()).collect();
        let others = names.iter().filter(|name| !known.contains(name.as_str()));
        let ids = others.filter_map(|name| ProposalId::parse(name).ok());
        let ids = ids.filter(|id| !pending().any(|(row, _)| id.is_of(&row.thread)));
        Ok(ids.filter_map(|id| self.thread_id(&id).ok()).take(most).collect())
    }

    /// This clone's threads that upkeep may close: decided or expired ones without an event for a
    /// week, and plans and direct patches without one for a month. Empty below [`CLOSED_AT_ONCE`]
    /// of them.
    pub(super) fn to_close(&self, now: DateTime<Utc>) -> Vec<ObjectId> {
        let is_old = |row: &Row, days: i64| {
            now.timestamp_millis().saturating_sub(row.last)
                > Duration::days(days).num_milliseconds()
        };
        let is_done = |row: &&Row| match &row.subject {
            ThreadKind::Proposal(it) => {
                !it.summary.contested && !it.is_pending(now) && is_old(row, CLOSED_AFTER)
            }
            ThreadKind::Plan(_) | ThreadKind::Patch(_) => is_old(row, DROPPED_AFTER),
            _ => false,
        };
        let rows = self.open().unwrap_or_default().iter().filter(|row| row.is_own).filter(is_done);
        let ids: Vec<ObjectId> = rows.filter_map(Row::id).collect();
        if ids.len() < CLOSED_AT_ONCE { Vec::new() } else { ids }
    }
}

impl View<'_> {
    /// The steps that people approved for the file at `path`, newest proposals first.
    pub fn approved_steps(&self, path: &RepoPath) -> Result<Vec<(ProposalId, FileStep)>> {
        let decided: Vec<Row> = self.decided(Some(&memo::spelled(path)))?.collect();
        let mut rows: Vec<_> = digests(self.open()?.iter().chain(&decided)).collect();
        rows.sort_by_key(|(_, digest)| std::cmp::Reverse(digest.summary.created_at));
        let steps = rows.into_iter().flat_map(|(_, digest)| {
            let steps = digest.approved.iter().filter(|step| step.path == *path);
            steps.map(|step| (digest.summary.id.clone(), step.clone()))
        });
        Ok(steps.collect())
    }

    /// Proposals that change the file at `path` and of which a person undid an apply.
    pub fn undone_at(&self, path: &RepoPath) -> Result<Vec<ProposalId>> {
        let decided: Vec<Row> = self.decided(Some(&memo::spelled(path)))?.collect();
        let is_it = |it: &ProposalRow| {
            it.summary.is_undone
                && !it.summary.contested
                && it.files.iter().any(|file| file.path == *path)
        };
        let found = digests(self.open()?.iter().chain(&decided)).filter(|(_, it)| is_it(it));
        Ok(found.map(|(row, _)| ProposalId::long(&row.thread)).collect())
    }

    /// Calls `each` for each file of undecided proposals, by path, with the proposal's id and both
    /// sides.
    pub fn open_paths(
        &self,
        mut each: impl FnMut(&RepoPath, &ProposalId, [Option<&Entry>; 2]),
    ) -> Result<()> {
        let open =
            digests(self.open()?).filter(|(_, digest)| digest.summary.status == Status::Pending);
        let mut files: Vec<_> = open
            .flat_map(|(_, it)| it.files.iter().map(move |file| (file, &it.summary.id)))
            .collect();
        files.sort_by_key(|(file, id)| (&file.path, *id));
        for (file, id) in files {
            each(&file.path, id, [file.before.as_ref(), file.after.as_ref()]);
        }
        Ok(())
    }

    /// The files, with both sides, of the open thread `thread` (hex).
    pub fn files_of(
        &self,
        thread: &str,
    ) -> Result<impl Iterator<Item = (&RepoPath, [Option<&Entry>; 2])>> {
        let row = memo::row(self.open()?, thread);
        let files = row.and_then(Row::digest).into_iter().flat_map(|it| &it.files);
        Ok(files.map(|file| (&file.path, [file.before.as_ref(), file.after.as_ref()])))
    }

    /// The private proposals and patches that may have changed the file at `path`.
    pub(super) fn private_at(&self, path: &RepoPath) -> Result<Vec<ObjectId>> {
        let is_it = |row: &&Row| {
            let at = match &row.subject {
                ThreadKind::Proposal(it) => {
                    it.files.iter().any(|file| file.path == *path)
                        || it.made.iter().any(|(made, _)| made == path)
                }
                ThreadKind::Patch(paths) => paths.contains(path),
                _ => false,
            };
            row.is_private && at
        };
        let decided: Vec<Row> = self.decided(Some(&memo::spelled(path)))?.collect();
        let rows = self.open()?.iter().chain(&decided).filter(is_it);
        Ok(rows.filter_map(Row::id).collect())
    }

    pub fn pending(&self, now: DateTime<Utc>) -> Result<Vec<&ProposalRow>> {
        let mut pending: Vec<&ProposalRow> =
            digests(self.open()?).map(|(_, it)| it).filter(|it| it.is_pending(now)).collect();
        pending.sort_by_cached_key(|it| (it.summary.created_at, it.summary.thread.clone()));
        Ok(pending)
    }

    /// The marks that were kept for `basis`, by revision.
    pub fn known_marks(&self, basis: &str) -> Result<HashMap<&str, &str>> {
        let rows = digests(self.open()?).filter_map(|(_, it)| {
            let (known, marks) = it.marks.as_ref()?;
            (known == basis).then_some((it.summary.revision.as_str(), marks.as_str()))
        });
        Ok(rows.collect())
    }

    /// Keeps marks of pending revisions as text. They count as long as `basis` is the same.
    pub fn keep_marks<'m>(&self, basis: &str, marks: impl Iterator<Item = (&'m str, String)>) {
        let Ok(open) = self.open() else { return };
        let by_revision: HashMap<&str, &Row> =
            digests(open).map(|(row, it)| (it.summary.revision.as_str(), row)).collect();
        let mut rows = Vec::new();
        for (revision, marks) in marks {
            let mut row = by_revision.get(revision).copied().cloned();
            if let Some(digest) = row.as_mut().and_then(Row::digest_mut) {
                digest.marks = Some((basis.to_owned(), marks));
            }
            rows.extend(row);
        }
        memo::note(self.store(), &rows);
    }
}

impl View<'_> {
    /// The only proposal, open or closed, whose id begins with `text`.
    ///
    /// # Errors
    /// `invalid_id`, `proposal_not_found`, `ambiguous_id` with the candidates.
    pub fn resolve(&self, text: &str) -> Result<ProposalId> {
        if text.len() > DATE
            && let Some(id) = self.staged(text)?
        {
            return Ok(id);
        }
        let prefix = id::normalize(text)?;
        let threads = self.threads.find(&id::hex_prefix(&prefix))?;
        let long = |thread: &ObjectId| ProposalId::long(&thread.to_string());
        let mut found: Vec<ObjectId> = threads.into_iter().collect();
        found.retain(|thread| long(thread).to_string().starts_with(&prefix));
        match &found[..] {
            [one] => {
                let short = ProposalId::from_event(&one.to_string());
                let same = self.threads.find(&id::hex_prefix(short.as_str()))?;
                let same = same.iter().filter(|other| short.is_of(&other.to_string())).count();
                Ok(if same > 1 { long(one) } else { short })
            }
            [] => {
                let purged =
                    self.purged()?.into_iter().map(|record| ProposalId::long(&record.thread));
                let mut purged = purged.filter(|id| id.to_string().starts_with(&prefix));
                match (purged.next(), purged.next()) {
                    (Some(only), None) => Ok(only),
                    _ => Err(not_found(text)),
                }
            }
            several => {
                let short = |thread: &ObjectId| ProposalId::from_event(&thread.to_string());
                let shorts: BTreeSet<ProposalId> = several.iter().map(short).collect();
                let is_short = shorts.len() == several.len();
                let ids = several.iter().take(6);
                let ids = ids.map(|id| if is_short { short(id) } else { long(id) });
                let ids: Vec<ProposalId> = ids.collect();
                let about = |id: &ProposalId| self.proposal(id).ok().and_then(|it| it.description);
                let named: Vec<String> = ids.iter().map(|id| named(id, about(id))).collect();
                let message = format!("'{text}' begins several ids: {}", named.join(", "));
                let hint = "type more characters of the one you mean";
                Err(ambiguous(message, ids.iter().map(ToString::to_string).collect(), hint))
            }
        }
    }

    /// The memory proposal with the staging id `text`, or the only one with that prefix.
    ///
    /// # Errors
    /// `ambiguous_id`, also if several have the same staging id: another clone may send a second
    /// one.
    pub fn staged(&self, text: &str) -> Result<Option<ProposalId>> {
        if !is_staging_id(text) {
            return Ok(None);
        }
        let mut found = self.staging(text)?;
        if found.iter().any(|(id, _)| id == text) {
            found.retain(|(id, _)| id == text);
        }
        match &found[..] {
            [] => Ok(None),
            [(_, id)] => Ok(Some(id.clone())),
            several => {
                let named: Vec<String> = several
                    .iter()
                    .take(6)
                    .map(|(staging, id)| format!("{staging} ({id})"))
                    .collect();
                let ids: Vec<String> = several.iter().map(|(_, id)| id.to_string()).collect();
                let message =
                    format!("'{text}' names several memory proposals: {}", named.join(", "));
                Err(ambiguous(message, ids, "give more of it, or the proposal's own id (prop_…)"))
            }
        }
    }

    /// The memory proposals whose staging id begins with `prefix`, newest first.
    pub fn staging(&self, prefix: &str) -> Result<Vec<(String, ProposalId)>> {
        let decided: Vec<Row> = self.decided(Some(&format!("\"staging\":\"{prefix}")))?.collect();
        let mut found: Vec<_> = digests(self.open()?.iter().chain(&decided))
            .filter_map(|(_, it)| {
                Some((it, it.staging.as_ref().filter(|id| id.starts_with(prefix))?))
            })
            .collect();
        found.sort_by_key(|(it, _)| {
            std::cmp::Reverse((it.summary.created_at, it.summary.id.clone()))
        });
        Ok(found
            .into_iter()
            .map(|(it, staging)| (staging.clone(), it.summary.id.clone()))
            .collect())
    }

    /// [`View::resolve`], then [`View::proposal`]. `ID@REV` requires a current revision whose event
    /// id begins with `REV`.
    ///
    /// # Errors
    /// As these two; `revised_meanwhile`.
    pub fn find(&self, text: &str) -> Result<Proposal> {
        let (id, revision) = match text.split_once('@') {
            None => (text, None),
            Some((id, revision)) => (id, Some(revision)),
        };
        let proposal = self.proposal(&self.resolve(id)?)?;
        revision.map_or(Ok(()), |revision| proposal.require_revision_prefix(revision))?;
        Ok(proposal)
    }

    /// [`Summary::prefix`] of `proposal`.
    pub fn prefix(&self, proposal: &ProposalId) -> Result<usize> {
        let found: Vec<_> =
            digests(self.open()?).filter(|(row, _)| proposal.is_of(&row.thread)).collect();
        let found = self.summaries(found, &[], Utc::now())?;
        Ok(found.first().map_or(id::SHORTEST, |summary| summary.prefix))
    }
}

pub(super) fn ambiguous(message: String, candidates: Vec<String>, hint: &str) -> Error {
    Error::new(&codes::AMBIGUOUS_ID, message).with("candidates", candidates).hint(hint)
}

pub(super) fn not_found(text: &str) -> Error {
    Error::new(&codes::PROPOSAL_NOT_FOUND, format!("no proposal '{text}'"))
        .with("proposal_id", text)
        .hint("`aye list` shows the pending ones, `aye list --status all` all")
}

/// True for a prefix of a staging id, which starts with a date and a `T`.
fn is_staging_id(text: &str) -> bool {
    let bytes = text.as_bytes();
    !bytes.is_empty()
        && text.is_ascii()
        && bytes.iter().take(DATE).all(u8::is_ascii_digit)
        && bytes.get(DATE).is_none_or(|byte| *byte == b'T')
}

fn named(id: &ProposalId, description: Option<String>) -> String {
    let line = state::title(description.as_deref()).unwrap_or_default();
    match line.chars().count() {
        0 => id.to_string(),
        count if count <= MOST_NAMED => format!("{id} ({line})"),
        _ => format!("{id} ({}…)", line.chars().take(MOST_NAMED).collect::<String>()),
    }
}

/// The title of a proposal's thread, without the fold: a log names it, and decides nothing by it.
fn title(history: &History) -> Option<String> {
    let described = |stamped: &StoredEvent| match &stamped.event.data {
        Data::Propose(propose) => propose.description.clone(),
        Data::Revise(revise) => revise.description.clone(),
        _ => None,
    };
    let text = history.events().iter().rev().find_map(described)?;
    text.lines().next().map(str::to_owned).filter(|line| !line.trim().is_empty())
}

#[derive(Clone, Debug)]
pub struct LogEntry {
    pub id: ProposalId,
    /// First line of the proposal's present description.
    pub title: Option<String>,
    pub stamped: StoredEvent,
}

#[derive(Clone, Debug)]
pub struct DirectPatch {
    pub id: ProposalId,
    pub stamped: StoredEvent,
    pub undone: Option<StoredEvent>,
}

impl View<'_> {
    /// Events of one thread or of all, newest first. Unreadable threads are skipped, except the
    /// only one.
    pub fn log(&self, id: Option<&ProposalId>, limit: Option<usize>) -> Result<Vec<LogEntry>> {
        let mut all = Vec::new();
        for page in self.log_pages(id, limit) {
            all.extend(page?);
        }
        Ok(all)
    }

    /// [`View::log`] in pages of at most [`PAGE`] events. A thread is read when its newest event is
    /// next, so the last events of many threads cost few reads.
    pub fn log_pages(&self, id: Option<&ProposalId>, limit: Option<usize>) -> LogPages<'_> {
        let threads = || -> Result<Vec<(i64, ObjectId)>> {
            if let Some(id) = id {
                return Ok(vec![(i64::MAX, self.thread_id(id)?)]);
            }
            let decided = self.decided(None)?.filter_map(|row| Some((row.last, row.id()?)));
            let open = self.open()?.iter().filter_map(|row| Some((row.last, row.id()?)));
            let mut threads: Vec<_> = open.chain(decided).collect();
            threads.sort_unstable();
            Ok(threads)
        };
        let (unread, error) = match threads() {
            Ok(unread) => (unread, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let left = limit.unwrap_or(usize::MAX);
        let (read, titles) = (BTreeMap::new(), BTreeMap::new());
        LogPages { view: self, is_of_one: id.is_some(), left, unread, read, titles, error }
    }

    pub fn patches(&self) -> Result<Vec<DirectPatch>> {
        let decided: Vec<Row> = self.decided(Some("\"subject\":{\"patch\":"))?.collect();
        let mut found = Vec::new();
        for row in self.open()?.iter().chain(&decided) {
            let id = row.id().filter(|_| matches!(row.subject, ThreadKind::Patch(_)));
            let Some(thread) = id.and_then(|id| self.thread_of(&id).ok()) else { continue };
            let Some(stamped) = thread.history.first().cloned() else { continue };
            let undone = undone_patch(&thread.history).cloned();
            found.push(DirectPatch { id: ProposalId::from_event(&row.thread), stamped, undone });
        }
        found.sort_by(|a, b| {
            let place = |it: &DirectPatch| (it.stamped.event.time, it.stamped.id.clone());
            place(a).cmp(&place(b))
        });
        Ok(found)
    }

    /// The thread and last event, by time and id, of the plan of `branch` among events that are
    /// `is_valid`. Each event has the whole plan.
    pub fn plan_tip(
        &self,
        branch: &str,
        is_valid: impl Fn(&StoredEvent) -> bool,
    ) -> Result<Option<(ObjectId, StoredEvent)>> {
        let word = format!("\"subject\":{{\"plan\":{}}}", memo::spelled(&branch));
        let decided: Vec<Row> = self.decided(Some(&word))?.collect();
        let is_it = |row: &&Row| matches!(&row.subject, ThreadKind::Plan(of) if of == branch);
        let mut rows: Vec<&Row> = self.open()?.iter().chain(&decided).filter(is_it).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.last));
        let mut found: Option<(ObjectId, StoredEvent)> = None;
        for row in rows {
            let known = found.as_ref().map(|(_, it)| (it.event.time, it.id.clone()));
            if known.as_ref().is_some_and(|(time, _)| time.timestamp_millis() > row.last) {
                break;
            }
            let Some(id) = row.id() else { continue };
            let Ok(thread) = self.thread_of(&id) else { continue };
            let plans = thread.history.events().iter();
            let plans = plans.filter(|it| matches!(it.event.data, Data::Plan(_)) && is_valid(it));
            let last = plans.max_by_key(|it| (it.event.time, it.id.clone()));
            if let Some(last) = last.filter(|it| known < Some((it.event.time, it.id.clone()))) {
                found = Some((id, last.clone()));
            }
        }
        Ok(found)
    }
}

pub struct LogPages<'v> {
    view: &'v View<'v>,
    is_of_one: bool,
    /// Events that may still come.
    left: usize,
    /// Unread threads by the time of their newest event, the newest last.
    unread: Vec<(i64, ObjectId)>,
    /// Events that were read, by time, thread and place in it. An event with an earlier time than
    /// its predecessor in the thread gets the latter's.
    read: BTreeMap<(i64, ObjectId, usize), StoredEvent>,
    /// Titles of the threads that were read.
    titles: BTreeMap<ObjectId, String>,
    error: Option<Error>,
}

impl LogPages<'_> {
    fn entry(&mut self) -> Option<Result<LogEntry>> {
        loop {
            let newest = self.read.last_key_value().map_or(i64::MIN, |((time, ..), _)| *time);
            let Some((_, id)) = self.unread.pop_if(|(last, _)| *last >= newest) else { break };
            match self.view.thread_of(&id) {
                Ok(thread) => {
                    self.titles.extend(title(&thread.history).map(|title| (id, title)));
                    let mut latest = i64::MIN;
                    for (at, stamped) in thread.history.events().iter().enumerate() {
                        latest = latest.max(stamped.event.time.timestamp_millis());
                        self.read.insert((latest, id, at), stamped.clone());
                    }
                }
                Err(error) if self.is_of_one => return Some(Err(error)),
                Err(_) => {}
            }
        }
        let ((_, id, _), stamped) = self.read.pop_last()?;
        let title = self.titles.get(&id).cloned();
        Some(Ok(LogEntry { id: ProposalId::from_event(&id.to_string()), title, stamped }))
    }
}

impl Iterator for LogPages<'_> {
    type Item = Result<Vec<LogEntry>>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        let most = self.left.min(PAGE);
        let mut page = Vec::new();
        while page.len() < most {
            match self.entry() {
                None => break,
                Some(Ok(entry)) => page.push(entry),
                Some(Err(error)) => {
                    self.left = 0;
                    return Some(Err(error));
                }
            }
        }
        self.left = if page.len() < most { 0 } else { self.left - page.len() };
        (!page.is_empty()).then_some(Ok(page))
    }
}
