//! Intents: what a request is for, which files that covers, and who lets it in.

use serde::{Deserialize, Serialize};

use super::request::Edit;
use super::settings::{Approval, Category, Slot};
use crate::words::words;

words! {
    /// What a request is for.
    pub enum Intent {
        /// Working notes of the branch.
        UpdateCurrent = "update_current",
        /// Working notes of all branches.
        UpdateShared = "update_shared",
        /// The log of today's session.
        SessionLog = "session_log",
        /// A trap to remember.
        AddPitfall = "add_pitfall",
        /// A decision.
        RecordDecision = "record_decision",
        /// What a module is and does.
        RefreshModule = "refresh_module",
        /// How things are done here.
        UpdateConventions = "update_conventions",
        /// What no longer holds goes to the archive.
        ArchiveStale = "archive_stale",
    }
}

/// The shared working notes.
pub const SHARED: &str = "local/current.shared.md";

impl Intent {
    /// The category that is its own; none of [`Intent::RefreshModule`], which has those that are left:
    /// the system map and the user's own.
    fn category(self) -> Option<&'static str> {
        Some(match self {
            Self::UpdateCurrent | Self::UpdateShared => "current",
            Self::SessionLog => "sessions",
            Self::AddPitfall => "pitfalls",
            Self::RecordDecision => "decisions",
            Self::UpdateConventions => "conventions",
            Self::ArchiveStale => "archive",
            Self::RefreshModule => return None,
        })
    }

    /// Whether this intent may change the file at `path` of `category` by `edit`.
    ///
    /// Routing by intent alone would let `update_current` write `decisions.md` without review.
    pub fn covers(self, category: &Category, path: &str, edit: &Edit) -> bool {
        let is_own = |intent: &Self| intent.category() == Some(&category.name);
        match self {
            Self::UpdateCurrent => is_own(&self) && path != SHARED,
            Self::UpdateShared => is_own(&self) && path == SHARED,
            Self::ArchiveStale => {
                edit.archives() || is_own(&self) && matches!(edit, Edit::CreateFile { .. })
            }
            Self::RefreshModule => category.name != "index" && !Self::ALL.iter().any(is_own),
            _ => is_own(&self),
        }
    }

    /// The manifest's slot for this intent and operation.
    pub fn slot(self, edit: &Edit) -> Slot {
        match self {
            Self::UpdateCurrent => Slot::Current,
            Self::UpdateShared => Slot::CurrentShared,
            Self::SessionLog => Slot::Sessions,
            Self::AddPitfall if matches!(edit, Edit::AppendToSection { .. }) => {
                Slot::PitfallsAppend
            }
            Self::AddPitfall => Slot::PitfallsReplace,
            Self::RecordDecision => Slot::Decisions,
            Self::RefreshModule => Slot::Modules,
            Self::UpdateConventions => Slot::Conventions,
            Self::ArchiveStale => Slot::Archive,
        }
    }
}

/// How a request is let in, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Routing {
    /// The strictest of everything that has a say.
    pub mode: Approval,
    /// What asks for it.
    pub reason: String,
}

/// Collects what has a say in the routing; the strictest wins.
#[derive(Debug, Default)]
pub struct Router {
    mode: Approval,
    /// What asks for that mode.
    reasons: Vec<String>,
}

impl Router {
    /// `who` says `mode`.
    pub fn say(&mut self, mode: Approval, who: impl Into<String>) {
        if mode > self.mode {
            self.mode = mode;
            self.reasons.clear();
        }
        let who = who.into();
        if mode == self.mode && !self.reasons.contains(&who) {
            self.reasons.push(who);
        }
    }

    /// The outcome.
    pub fn finish(self) -> Routing {
        let reason = format!("{} by {}", self.mode, self.reasons.join(", "));
        Routing { mode: self.mode, reason }
    }
}
