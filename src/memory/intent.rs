//! Intents: purpose of a request and files that it covers.

use serde::{Deserialize, Serialize};

use super::request::Edit;
use super::settings::{Approval, Category, Slot};
use crate::words::words;

words! {
    /// Purpose of a request.
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
        /// Purpose and behaviour of a module.
        RefreshModule = "refresh_module",
        /// How things are done here.
        UpdateConventions = "update_conventions",
        /// Sections that no longer hold go to the archive.
        ArchiveStale = "archive_stale",
    }
}

pub const SHARED: &str = "local/current.shared.md";

impl Intent {
    /// `RefreshModule` has the remaining categories: the system map and the user's own.
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

    /// The manifest's approval slot.
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

/// Approval of a request, and its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Routing {
    /// The strictest mode of all rules that apply.
    pub mode: Approval,
    /// The rules that require it.
    pub reason: String,
}

/// The strictest rule wins.
#[derive(Debug, Default)]
pub struct Router {
    mode: Approval,
    reasons: Vec<String>,
}

impl Router {
    pub fn require(&mut self, mode: Approval, who: impl Into<String>) {
        if mode > self.mode {
            self.mode = mode;
            self.reasons.clear();
        }
        let who = who.into();
        if mode == self.mode && !self.reasons.contains(&who) {
            self.reasons.push(who);
        }
    }

    pub fn finish(self) -> Routing {
        let reason = format!("{} by {}", self.mode, self.reasons.join(", "));
        Routing { mode: self.mode, reason }
    }
}
