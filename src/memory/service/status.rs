//! The state of memory: what there is, what waits, what became of what was proposed.

use serde::Serialize;

use super::Service;
use super::held::Held;
use super::locate::{note, staging_id};
use super::read::index_path;
use super::staging::Tampering;
use crate::error::Result;
use crate::memory::disk::store_path;
use crate::memory::plan::notes_path;
use crate::proposal::event::timestamp;
use crate::proposal::{Proposal, State, Status as Lifecycle};

/// Answer of `memory.status`.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Status {
    /// Version of the program.
    pub memory_version: String,
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
    /// Bytes of the search index.
    pub index_size_bytes: u64,
    /// Bytes of this branch's and the shared notes.
    pub current_size_bytes: u64,
    /// Proposals that wait for a person.
    pub staged_updates: Vec<Staged>,
    /// Proposals that were decided or expired lately, newest first: what their proposers should
    /// know.
    pub recent_outcomes: Vec<Outcomes>,
    /// Staging directories that are not what the store recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tampering: Vec<Tampering>,
    /// What the scanners do.
    pub security: Security,
    /// Git integration.
    pub git: Git,
    /// The writers' lock.
    pub lock: Lock,
    /// Settings that have no effect, or none before they are committed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A proposal that waits.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Staged {
    /// Staging id.
    pub id: String,
    /// Proposal id.
    pub proposal_id: String,
    /// Its intent.
    pub intent: String,
    /// Why.
    pub rationale: Option<String>,
    /// Who proposed it.
    pub proposed_by: String,
    /// Seconds since it was proposed.
    pub age_seconds: i64,
    /// Seconds until it expires.
    pub ttl_remaining_seconds: i64,
    /// Files it changes.
    pub target_files: Vec<String>,
    /// What it was written for has changed.
    pub drift_detected: bool,
    /// What a reviewer wants changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes_requested: Option<String>,
}

/// What became of a proposal.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Outcomes {
    /// Staging id; absent where it was applied at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Proposal id.
    pub proposal_id: String,
    /// Its intent.
    pub intent: String,
    /// Why.
    pub rationale: Option<String>,
    /// Who proposed it.
    pub proposed_by: String,
    /// `applied`, `rejected` or `expired`.
    pub status: Lifecycle,
    /// Why it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// When.
    pub decided_at: String,
    /// Files it changes.
    pub target_files: Vec<String>,
    /// Remarks of reviewers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<String>,
}

/// What the scanners do.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[allow(missing_docs)]
pub struct Security {
    pub secret_scan: bool,
    pub reject_untrusted_durable_updates: bool,
    /// Regions of memory files that the scan leaves out.
    pub allowlisted_regions: usize,
}

/// Git integration.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[allow(missing_docs)]
pub struct Git {
    pub track_local: bool,
    pub track_sessions: bool,
}

/// The writers' lock.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Lock {
    /// An interrupted write waits to be settled by the next writer.
    pub interrupted_write: bool,
}

/// How many outcomes are told.
const OUTCOMES: usize = 20;

impl Service<'_> {
    /// The state of memory.
    ///
    /// # Errors
    /// Those of the store.
    pub fn status(&self) -> Result<Status> {
        let disk = self.disk();
        let view = self.store.look()?;
        let paths = disk.markdown(&self.settings)?;
        let of = |name: &str| {
            paths
                .iter()
                .filter(|path| self.settings.schema.category(path).is_some_and(|c| c.name == name))
                .count()
        };
        let durable = paths
            .iter()
            .filter(|path| {
                self.settings
                    .schema
                    .category(path)
                    .is_some_and(|c| c.git_tracked && c.name != "archive" && !c.server_managed)
            })
            .count();
        let size = |path: &str| disk.file(path).ok().flatten().map_or(0, |f| f.bytes.len() as u64);
        let own = self.branch.as_deref().map_or(0, |branch| size(&notes_path(branch)));
        let pending = self.proposals(&view, Some(Lifecycle::Pending))?;
        let held = Held::new(self);
        let staged =
            pending.iter().map(|p| self.staged_among(p, &held)).collect::<Result<Vec<_>>>()?;
        let mut outcomes = Vec::new();
        for id in view.settled(self.now, OUTCOMES)? {
            outcomes.extend(self.outcome(&view.proposal(&id)?));
        }
        let manifest = &self.settings.manifest;
        let index = index_path(self.store);
        let regions = paths
            .iter()
            .filter_map(|path| disk.text(path))
            .map(|text| crate::secrets::allow::markers(text.as_bytes()).len() / 2)
            .sum();
        Ok(Status {
            memory_version: env!("CARGO_PKG_VERSION").to_owned(),
            repo: manifest.project.name.clone(),
            active_branch: self.branch.clone().unwrap_or_default(),
            durable_files: durable,
            archive_files: of("archive"),
            local_sessions: of("sessions"),
            local_current_files: of("current"),
            orphan_local_files: self.orphans(&paths),
            index_size_bytes: std::fs::metadata(index).map_or(0, |meta| meta.len()),
            current_size_bytes: own + size(crate::memory::intent::SHARED),
            staged_updates: staged,
            recent_outcomes: outcomes,
            tampering: self.tampering_among(&view, &pending, &held, false)?,
            security: Security {
                secret_scan: manifest.security.secret_scan,
                reject_untrusted_durable_updates: manifest
                    .security
                    .reject_untrusted_durable_updates,
                allowlisted_regions: regions,
            },
            git: Git {
                track_local: manifest.git.track_local,
                track_sessions: manifest.git.track_sessions,
            },
            lock: Lock { interrupted_write: has_leftovers(self.store) },
            notes: self.notes(),
        })
    }

    /// What of the settings does not hold (yet), in words.
    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.unread_stores().map(str::to_owned).into_iter().collect();
        notes.extend(self.without_effect());
        let loosened = self.loosened.iter();
        notes.extend(loosened.map(|change| format!("{change}, until meta/ is committed")));
        notes
    }

    /// That the manifest names other stores, in words; `None` where it names none.
    pub(super) fn unread_stores(&self) -> Option<&'static str> {
        let names_some = !self.settings.manifest.stores.is_empty();
        names_some.then_some("stores[] is kept, but not read: aye searches this store alone")
    }

    /// Settings that are kept but have no effect, in words.
    pub(super) fn without_effect(&self) -> Vec<String> {
        let manifest = &self.settings.manifest;
        let mut notes = Vec::new();
        if manifest.security.pii_scan || manifest.security.pii_scan_email {
            notes.push(
                "security.pii_scan is kept and has no effect: aye looks for secrets alone"
                    .to_owned(),
            );
        }
        if manifest.eval.benchmark_corpus_url.is_some() {
            notes.push(
                "eval.benchmark_corpus_url is kept, but not used: aye brings its own evaluation"
                    .into(),
            );
        }
        if manifest.git.merge_driver_installed {
            notes.push("git.merge_driver_installed is kept, but aye has no merge driver".into());
        }
        if self.uncommitted {
            notes.push(
                "the settings are in no commit yet, so whoever edits them sets the gate".into(),
            );
        }
        notes
    }

    /// Working notes of branches that do not exist (any longer).
    pub(super) fn orphans(&self, paths: &[String]) -> Vec<String> {
        let mut known: Vec<String> = vec![crate::memory::intent::SHARED.to_owned()];
        if let Some(branch) = &self.branch {
            known.push(notes_path(branch));
            known.push(format!("local/current.{}.md", branch.replace('/', "-")));
        }
        if let Ok(refs) = self.store.repo().references()
            && let Ok(branches) = refs.local_branches()
        {
            for reference in branches.filter_map(std::result::Result::ok) {
                let name = reference.name().shorten().to_string();
                known.push(notes_path(&name));
                known.push(format!("local/current.{}.md", name.replace('/', "-")));
            }
        }
        paths
            .iter()
            .filter(|path| {
                self.settings.schema.category(path).is_some_and(|c| c.name == "current")
                    && !known.contains(path)
            })
            .cloned()
            .collect()
    }

    /// What is told of a waiting proposal.
    fn staged_among(&self, proposal: &Proposal, held: &Held<'_>) -> Result<Staged> {
        let drift = self.has_drifted(proposal, held)?;
        Ok(Staged {
            id: staging_id(proposal).unwrap_or_default().to_owned(),
            proposal_id: proposal.id.to_string(),
            intent: intent(proposal),
            rationale: rationale(proposal),
            proposed_by: proposal.proposed_by.clone(),
            age_seconds: (self.now - proposal.created_at).num_seconds(),
            ttl_remaining_seconds: (proposal.expires_at - self.now).num_seconds(),
            target_files: files(proposal),
            drift_detected: drift,
            changes_requested: proposal
                .changes_requested
                .as_ref()
                .map(|request| request.reason.clone().unwrap_or_default()),
        })
    }

    /// What is told of a decided or expired proposal.
    fn outcome(&self, proposal: &Proposal) -> Option<Outcomes> {
        let status = proposal.status(self.now);
        let (reason, by, at) = match &proposal.state {
            State::Applied(decision) => (None, Some(decision.by.name.clone()), decision.at),
            State::Rejected(decision) => {
                (decision.reason.clone(), Some(decision.by.name.clone()), decision.at)
            }
            State::Pending if status == Lifecycle::Expired => (None, None, proposal.expires_at),
            State::Pending => return None,
        };
        Some(Outcomes {
            id: staging_id(proposal).map(str::to_owned),
            proposal_id: proposal.id.to_string(),
            intent: intent(proposal),
            rationale: rationale(proposal),
            proposed_by: proposal.proposed_by.clone(),
            status,
            reason,
            decided_by: by,
            decided_at: timestamp(at),
            target_files: files(proposal),
            comments: proposal.comments.iter().map(|remark| remark.comment.body.clone()).collect(),
        })
    }
}

/// The request a proposal was made from, field by field.
fn request_text(proposal: &Proposal, field: &str) -> Option<String> {
    note(proposal, "request")?.get(field)?.as_str().map(str::to_owned)
}

fn intent(proposal: &Proposal) -> String {
    request_text(proposal, "intent").unwrap_or_default()
}

fn rationale(proposal: &Proposal) -> Option<String> {
    request_text(proposal, "rationale")
}

fn files(proposal: &Proposal) -> Vec<String> {
    proposal
        .current()
        .changes
        .iter()
        .filter_map(|change| store_path(&change.path).map(str::to_owned))
        .collect()
}

/// The journal's directory must be settled before the files are trusted.
fn has_leftovers(store: &crate::store::Store) -> bool {
    crate::worktree::journal::pending(&store.private_dir().join("journal"))
}
