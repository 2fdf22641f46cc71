//! Proposals in lists.

use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::review::answers;
use crate::changeset::marks::{Mark, class};
use crate::check::conflict_check::ConflictCheck;
use crate::check::{marks, relations};
use crate::error::Result;
use crate::proposal::document::Approval;
use crate::proposal::event::{Subject, timestamp};
use crate::proposal::relations::{Dependency, Relations, StackBelow, stack_below};
use crate::proposal::stacks::{self, StackEntry};
use crate::proposal::{Proposal, ProposalId, Status};
use crate::review::model::Intent;
use crate::store::{PurgeRecord, Store, Summary, View};

/// Answer of `aye list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct List {
    /// `aye/list@1`
    pub schema: &'static str,
    /// The proposals.
    pub proposals: Vec<Item>,
    /// How many they are.
    pub count: usize,
    /// With `--status all` and no filter: proposals that were purged, of which nothing else is
    /// known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub purged: Vec<PurgedItem>,
}

/// A proposal that was purged.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PurgedItem {
    /// The id.
    pub proposal_id: String,
    /// By whom.
    pub purged_by: String,
    /// When.
    pub purged_at: String,
    /// Why.
    pub reason: String,
}

impl From<&PurgeRecord> for PurgedItem {
    fn from(record: &PurgeRecord) -> Self {
        Self {
            proposal_id: record.id.to_string(),
            purged_by: record.by.name.clone(),
            purged_at: timestamp(record.at),
            reason: record.reason.clone(),
        }
    }
}

/// One proposal of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    /// The id.
    pub proposal_id: String,
    /// The shortest beginning of the id that names only this proposal.
    pub short_id: String,
    /// `pending`, `applied`, `rejected` or `expired`.
    pub status: Status,
    /// `code` or `memory`.
    pub kind: Subject,
    /// The first changed file.
    pub file_path: String,
    /// How many files change.
    pub files: usize,
    /// Lines added; null where a file is binary, over 10 MiB or changes over 200,000 lines, or its
    /// content is not in this partial clone.
    pub added: Option<usize>,
    /// Lines removed; null as `added` is.
    pub removed: Option<usize>,
    /// Why, in the proposer's words.
    pub description: Option<String>,
    /// Topic.
    pub domain: Option<String>,
    /// The task it belongs to.
    pub related_task_id: Option<String>,
    /// The proposer's name.
    pub proposed_by: String,
    /// When it was made.
    pub created_at: String,
    /// When it expires unless decided.
    pub expires_at: String,
    /// How many revisions there are.
    pub revisions: usize,
    /// How many comments there are.
    pub comments: usize,
    /// A reviewer wants changes.
    pub changes_requested: bool,
    /// Decided differently in two clones.
    pub contested: bool,
    /// Exit status of the last command that a person or a build machine ran on it.
    pub last_check: Option<i32>,
    /// Event id of the current revision: `ID@REV` names it to `aye apply --yes`.
    pub revision: String,
    /// The actor who recorded the proposal; not always the name that it gives as its proposer.
    pub recorded_by: String,
    /// The author of the current revision.
    pub revision_by: String,
    /// A tool's claim about the outcome, without a decision: `applied` or `rejected`.
    pub marked: Option<String>,
    /// Approvals by people that wrote nothing, oldest first; those that no longer count, too.
    pub approvals: Vec<Approval>,
    /// Its visibility: `shared`, or `private` to this clone.
    pub space: &'static str,
    /// The clone that it was proposed in.
    pub clone: String,
    /// The whole id of its first event, which names its refs.
    pub thread: String,
    /// The branch that the current revision was made on, such as `refs/heads/main`; null where HEAD
    /// was detached.
    pub target_ref: Option<String>,
    /// Pending proposals whose result this one starts from, if nothing else has that result: it is
    /// applied after one of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stands_on: Vec<String>,
    /// The proposal below it has been revised since: it is merged when it is shown or applied.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lower_revised: bool,
    /// Pending proposals that change the same lines otherwise, the oldest three: only one of them
    /// can be applied as it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub same_lines: Vec<String>,
    /// Pending proposals that change lines next to its own, the oldest three: both can be applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub neighbouring: Vec<String>,
    /// It does not fit the files as they are, and is not stacked on another proposal. Files are
    /// compared if the listed proposals change at most 100 of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub conflict: bool,
    /// Places that deserve a second look in a pending proposal. Often empty.
    pub marks: Vec<Mark>,
}

pub fn items(summaries: &[Summary], marks: &ListFacts) -> Vec<Item> {
    summaries.iter().map(|summary| Item::new(summary, marks)).collect()
}

impl Item {
    fn new(summary: &Summary, marks: &ListFacts) -> Self {
        let related = marks.related.get(&summary.id);
        let ids = |ids: &[ProposalId]| ids.iter().map(ProposalId::to_string).collect();
        let lower = related.into_iter().flat_map(|related| &related.depends_on);
        let is_revised =
            |related: &Relations| related.needed(|_| false).iter().any(|lower| lower.is_revised);
        Self {
            lower_revised: related.is_some_and(is_revised),
            stands_on: lower.map(|lower| lower.id.to_string()).collect(),
            same_lines: related.map_or_else(Vec::new, |related| ids(&related.same_lines.named)),
            neighbouring: related.map_or_else(Vec::new, |related| ids(&related.neighbouring.named)),
            proposal_id: summary.id.to_string(),
            short_id: summary.id.as_str()["prop_".len()..].chars().take(summary.prefix).collect(),
            status: summary.status,
            kind: summary.subject,
            file_path: summary.path.clone(),
            files: summary.files,
            added: summary.lines.counts().map(|counts| counts.added),
            removed: summary.lines.counts().map(|counts| counts.removed),
            description: summary.description.clone(),
            domain: summary.domain.clone(),
            related_task_id: summary.task.clone(),
            proposed_by: summary.proposed_by.clone(),
            created_at: timestamp(summary.created_at),
            expires_at: timestamp(summary.expires_at),
            revisions: summary.revisions,
            comments: summary.comments,
            changes_requested: summary.changes_requested,
            contested: summary.contested,
            last_check: summary.checked,
            revision: summary.revision.clone(),
            recorded_by: summary.recorded_by.clone(),
            revision_by: summary.author.clone(),
            marked: summary.marked.clone(),
            approvals: summary.approvals.clone(),
            space: summary.space.as_str(),
            clone: summary.clone.clone(),
            thread: summary.thread.clone(),
            target_ref: summary.target_ref.clone(),
            conflict: marks.is_unfit(&summary.id),
            marks: marks.of_proposal(&summary.id).to_vec(),
        }
    }
}

/// Empty unless pending.
pub fn marks_of(
    store: &Store,
    view: &View,
    now: DateTime<Utc>,
    proposal: &Proposal,
) -> Result<Vec<Mark>> {
    match proposal.status(now) {
        Status::Pending => marks::revision_marks(store, view, proposal.current()),
        _ => Ok(Vec::new()),
    }
}

/// Limit on files compared for one list.
const MOST_COMPARED: usize = 100;

#[derive(Debug, Default)]
pub struct ListFacts {
    related: BTreeMap<ProposalId, Relations>,
    marks: HashMap<ProposalId, Vec<Mark>>,
    unfit: HashSet<ProposalId>,
    /// Intent of unwritten review answers, by revision.
    answers: HashMap<String, Intent>,
}

impl ListFacts {
    /// Reads only pending `summaries`.
    pub fn of(
        store: &Store,
        view: &View,
        now: DateTime<Utc>,
        summaries: &[Summary],
    ) -> Result<Self> {
        let found = marks::marks(store, view, summaries)?;
        let mut marks = Self { marks: found, ..Self::related(store, view, now, summaries)? };
        let saved = answers::read(store.repository()).into_iter();
        marks.answers = saved.map(|(revision, answers)| (revision, answers.intent)).collect();
        let pending = summaries.iter().filter(|summary| summary.status == Status::Pending);
        if pending.map(|summary| summary.files.max(1)).sum::<usize>() <= MOST_COMPARED {
            // A list never fetches contents of a partial clone.
            let is_here = |proposal: &Proposal| !store.lacks_content(&proposal.current().changes);
            marks.compare_those(store, view, summaries, is_here)?;
        }
        Ok(marks)
    }

    pub fn of_relations(related: BTreeMap<ProposalId, Relations>) -> Self {
        Self { related, ..Self::default() }
    }

    /// Compares all pending `summaries` with the files, without a limit.
    pub fn compare(&mut self, store: &Store, view: &View, summaries: &[Summary]) -> Result<()> {
        self.compare_those(store, view, summaries, |_| true)
    }

    fn compare_those(
        &mut self,
        store: &Store,
        view: &View,
        summaries: &[Summary],
        is_asked: impl Fn(&Proposal) -> bool,
    ) -> Result<()> {
        let fit = ConflictCheck::new(store);
        for summary in summaries {
            let is_open = summary.status == Status::Pending && summary.subject == Subject::Code;
            if !is_open
                || self.stands_on_another(&summary.id)
                || fit.is_known_to_fit(view, summary)?
            {
                continue;
            }
            // Commands on this proposal report the lost object.
            let Ok(proposal) = view.proposal(&summary.id) else { continue };
            if is_asked(&proposal) && fit.conflict(view, &proposal)?.is_some() {
                self.unfit.insert(summary.id.clone());
            }
        }
        Ok(())
    }

    /// Relations alone, without a look into proposals.
    pub fn related(
        store: &Store,
        view: &View,
        now: DateTime<Utc>,
        summaries: &[Summary],
    ) -> Result<Self> {
        let related = if summaries.iter().any(|summary| summary.status == Status::Pending) {
            relations::relations(store, view, now)?
        } else {
            BTreeMap::new()
        };
        Ok(Self::of_relations(related))
    }

    pub fn is_unfit(&self, id: &ProposalId) -> bool {
        self.unfit.contains(id)
    }

    pub fn of_proposal(&self, id: &ProposalId) -> &[Mark] {
        self.marks.get(id).map_or(&[], Vec::as_slice)
    }

    /// Intent of unwritten answers.
    pub fn answers(&self, summary: &Summary) -> Option<Intent> {
        self.answers.get(&summary.revision).copied()
    }

    pub fn relations(&self, id: &ProposalId) -> Option<&Relations> {
        self.related.get(id)
    }

    /// Lower proposals accepted by `takes`.
    pub fn below(&self, id: &ProposalId, takes: impl Fn(&Dependency) -> bool) -> StackBelow {
        stack_below(&self.related, id, relations::MOST_HIGH, takes)
    }

    /// Pending proposals in order of review, then those with requested changes, then all others
    /// unchanged.
    pub fn in_order(&self, summaries: Vec<Summary>) -> Vec<Summary> {
        let (pending, others): (Vec<_>, Vec<_>) =
            summaries.into_iter().partition(|summary| summary.status == Status::Pending);
        let (sent_back, pending): (Vec<_>, Vec<_>) =
            pending.into_iter().partition(|summary| summary.changes_requested);
        let ordered = [pending, sent_back].into_iter().flat_map(|some| self.stacked(some));
        ordered.chain(others).collect()
    }

    fn stacked(&self, summaries: Vec<Summary>) -> Vec<Summary> {
        let places = summaries.iter().map(|summary| StackEntry {
            id: &summary.id,
            class: class(self.of_proposal(&summary.id)),
            created_at: summary.created_at,
            lower: self.lower(&summary.id).collect(),
        });
        let order = stacks::sort_stacks(&places.collect::<Vec<_>>());
        let mut summaries: Vec<Option<Summary>> = summaries.into_iter().map(Some).collect();
        order.into_iter().filter_map(|at| summaries[at].take()).collect()
    }

    pub fn lower(&self, id: &ProposalId) -> impl Iterator<Item = &ProposalId> {
        let related = self.related.get(id).into_iter();
        related.flat_map(|related| related.depends_on.iter().map(|lower| &lower.id))
    }

    pub fn stands_on_another(&self, id: &ProposalId) -> bool {
        self.related.get(id).is_some_and(|related| !related.depends_on.is_empty())
    }
}
