//! The status of memory: files, pending proposals, recent outcomes.

use serde::Serialize;

use super::Service;
use super::locate::memory_data;
use crate::error::Result;
use crate::memory::disk::store_path;
use crate::memory::plan::notes_paths;
use crate::memory::settings::Category;
use crate::proposal::event::timestamp;
use crate::proposal::{Proposal, State, Status as Lifecycle};

/// Answer of `memory.status`.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct MemoryStatus {
    /// The project's name.
    pub repo: String,
    /// The branch that is checked out.
    pub active_branch: String,
    /// Durable files.
    pub durable_files: usize,
    /// Files in the archive.
    pub archive_files: usize,
    /// Session logs.
    pub local_sessions: usize,
    /// Working notes.
    pub local_current_files: usize,
    /// Working notes of branches that are gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub orphan_local_files: Vec<String>,
    /// Proposals that wait for a person.
    pub staged_updates: Vec<StagedUpdate>,
    /// Proposals that were decided or expired lately, newest first, for their proposers.
    pub recent_outcomes: Vec<RecentOutcome>,
    /// Settings that have no effect, or none before they are committed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Facts about a proposal.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct ProposalFacts {
    /// Staging id; absent where it was applied at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Proposal id.
    pub proposal_id: String,
    /// Intent of the proposal.
    pub intent: String,
    /// The rationale.
    pub rationale: Option<String>,
    /// Name of the proposer.
    pub proposed_by: String,
    /// Files it changes.
    pub target_files: Vec<String>,
}

/// A pending proposal.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct StagedUpdate {
    /// The proposal.
    #[serde(flatten)]
    pub about: ProposalFacts,
    /// Seconds since it was proposed.
    pub age_seconds: i64,
    /// Seconds until it expires.
    pub ttl_remaining_seconds: i64,
    /// True if a state that the proposal expects has changed.
    pub drift_detected: bool,
    /// Changes that a reviewer wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes_requested: Option<String>,
}

/// Outcome of a proposal.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct RecentOutcome {
    /// The proposal.
    #[serde(flatten)]
    pub about: ProposalFacts,
    /// `applied`, `rejected` or `expired`.
    pub status: Lifecycle,
    /// Reason of the rejection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The decider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// Time of the decision.
    pub decided_at: String,
    /// Remarks of reviewers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<String>,
}

impl ProposalFacts {
    fn of(proposal: &Proposal) -> Self {
        let request = |field: &str| {
            let value = memory_data(proposal, "request")?.get(field)?;
            value.as_str().map(str::to_owned)
        };
        let changes = proposal.current().changes.iter();
        Self {
            id: proposal.staging_id().map(str::to_owned),
            proposal_id: proposal.id.to_string(),
            intent: request("intent").unwrap_or_default(),
            rationale: request("rationale"),
            proposed_by: proposal.proposed_by.clone(),
            target_files: changes
                .filter_map(|change| store_path(&change.path).map(str::to_owned))
                .collect(),
        }
    }
}

const OUTCOMES: usize = 20;

impl Service<'_> {
    pub fn status(&self) -> Result<MemoryStatus> {
        let view = self.store.view()?;
        let paths = self.disk().markdown(&self.settings)?;
        let count = |is_it: &dyn Fn(&Category) -> bool| {
            let categories = paths.iter().filter_map(|path| self.settings.schema.category(path));
            categories.filter(|category| is_it(category)).count()
        };
        let pending = self.proposals(&view, Some(Lifecycle::Pending))?;
        let mut outcomes = Vec::new();
        for id in view.settled(self.now, OUTCOMES)? {
            outcomes.extend(view.proposal(&id).ok().and_then(|proposal| self.outcome(&proposal)));
        }
        Ok(MemoryStatus {
            repo: self.settings.manifest.project.name.clone(),
            active_branch: self.branch.clone().unwrap_or_default(),
            durable_files: count(&Category::is_durable),
            archive_files: count(&|category| category.name == "archive"),
            local_sessions: count(&|category| category.name == "sessions"),
            local_current_files: count(&|category| category.name == "current"),
            orphan_local_files: self.orphans(&paths),
            staged_updates: pending.iter().map(|proposal| self.staged(proposal)).collect(),
            recent_outcomes: outcomes,
            notes: self.notes(),
        })
    }

    /// Settings that do not hold (yet), in words.
    fn notes(&self) -> Vec<String> {
        let loosened = self.pending_loosening.iter();
        let loosened = loosened.map(|change| format!("{change}, until meta/ is committed"));
        self.without_effect().into_iter().chain(loosened).collect()
    }

    /// Settings that are kept without effect, in words.
    pub(super) fn without_effect(&self) -> Vec<String> {
        let manifest = &self.settings.manifest;
        let security = &manifest.security;
        [
            (
                !manifest.stores.is_empty(),
                "stores[] is kept and not read: aye searches this store alone",
            ),
            (
                security.pii_scan || security.pii_scan_email,
                "security.pii_scan is kept and has no effect: aye looks for secrets alone",
            ),
            (
                manifest.eval.benchmark_corpus_url.is_some(),
                "eval.benchmark_corpus_url is kept and not used: aye brings its own evaluation",
            ),
            (
                manifest.git.merge_driver_installed,
                "git.merge_driver_installed is kept, and aye has no merge driver",
            ),
            (
                self.uncommitted,
                "the settings are not committed yet, so every editor of them sets the gate",
            ),
        ]
        .into_iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, note)| note.to_owned())
        .collect()
    }

    /// Working notes of deleted branches.
    pub(super) fn orphans(&self, paths: &[String]) -> Vec<String> {
        let mut branches: Vec<String> = self.branch.iter().cloned().collect();
        if let Ok(refs) = self.store.repository().repo().references()
            && let Ok(local) = refs.local_branches()
        {
            let names = local.filter_map(std::result::Result::ok);
            branches.extend(names.map(|reference| reference.name().shorten().to_string()));
        }
        let mut known = vec![crate::memory::intent::SHARED.to_owned()];
        known.extend(branches.iter().flat_map(|branch| notes_paths(branch)));
        let is_notes =
            |path: &str| self.settings.schema.category(path).is_some_and(|c| c.name == "current");
        paths.iter().filter(|path| is_notes(path) && !known.contains(path)).cloned().collect()
    }

    fn staged(&self, proposal: &Proposal) -> StagedUpdate {
        StagedUpdate {
            about: ProposalFacts::of(proposal),
            age_seconds: (self.now - proposal.created_at).num_seconds(),
            ttl_remaining_seconds: (proposal.expires_at - self.now).num_seconds(),
            drift_detected: self.has_drifted(proposal),
            changes_requested: proposal
                .changes_requested
                .as_ref()
                .map(|request| request.reason.clone().unwrap_or_default()),
        }
    }

    fn outcome(&self, proposal: &Proposal) -> Option<RecentOutcome> {
        let status = proposal.status(self.now);
        let (decision, at) = match &proposal.state {
            State::Applied(decision) | State::Rejected(decision) => (Some(decision), decision.at),
            State::Pending if status == Lifecycle::Expired => (None, proposal.expires_at),
            State::Pending => return None,
        };
        Some(RecentOutcome {
            about: ProposalFacts::of(proposal),
            status,
            reason: decision.and_then(|decision| decision.reason.clone()),
            decided_by: decision.map(|decision| decision.by.name.clone()),
            decided_at: timestamp(at),
            comments: proposal.comments.iter().map(|remark| remark.comment.body.clone()).collect(),
        })
    }
}
