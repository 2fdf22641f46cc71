//! Intents: what a request is for, which files that covers, and who lets it in.

use serde::{Deserialize, Serialize};

use super::request::OperationKind;
use super::settings::{Approval, Category, Manifest};
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
    /// Whether this intent may change the file at `path` of `category` by `kind`.
    ///
    /// Routing by intent alone would let `update_current` write `decisions.md` without review.
    pub fn covers(self, category: &Category, path: &str, kind: OperationKind) -> bool {
        match self {
            Self::UpdateCurrent => category.name == "current" && path != SHARED,
            Self::UpdateShared => path == SHARED,
            Self::SessionLog => category.name == "sessions",
            Self::AddPitfall => category.name == "pitfalls",
            Self::RecordDecision => category.name == "decisions",
            Self::UpdateConventions => category.name == "conventions",
            // Categories without an intent of their own (the system map, the user's own) are
            // described like modules.
            Self::RefreshModule => !matches!(
                category.name.as_str(),
                "current"
                    | "sessions"
                    | "pitfalls"
                    | "decisions"
                    | "conventions"
                    | "archive"
                    | "index"
            ),
            Self::ArchiveStale => {
                kind.archives() || category.name == "archive" && kind == OperationKind::CreateFile
            }
        }
    }

    /// The intent that covers a category, for hints.
    pub fn for_category(name: &str, path: &str) -> Option<Self> {
        Some(match name {
            "current" if path == SHARED => Self::UpdateShared,
            "current" => Self::UpdateCurrent,
            "sessions" => Self::SessionLog,
            "pitfalls" => Self::AddPitfall,
            "decisions" => Self::RecordDecision,
            "conventions" => Self::UpdateConventions,
            "archive" => Self::ArchiveStale,
            "index" => return None,
            _ => Self::RefreshModule,
        })
    }

    /// The manifest's slot for this intent and operation, and what it says.
    pub fn slot(self, kind: OperationKind, manifest: &Manifest) -> (&'static str, Approval) {
        let slots = &manifest.updates.approval;
        match self {
            Self::UpdateCurrent => ("current", slots.current),
            Self::UpdateShared => ("current_shared", slots.current_shared),
            Self::SessionLog => ("sessions", slots.sessions),
            Self::AddPitfall if kind == OperationKind::AppendToSection => {
                ("pitfalls_append", slots.pitfalls_append)
            }
            Self::AddPitfall => ("pitfalls_replace", slots.pitfalls_replace),
            Self::RecordDecision => ("decisions", slots.decisions),
            Self::RefreshModule => ("modules", slots.modules),
            Self::UpdateConventions => ("conventions", slots.conventions),
            Self::ArchiveStale => ("archive", slots.archive),
        }
    }
}

/// How a request is let in, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Routing {
    /// The strictest of everything that has a say.
    pub mode: Approval,
    /// What had a say.
    pub reason: String,
}

/// Collects what has a say in the routing; the strictest wins.
#[derive(Debug)]
pub struct Router {
    mode: Approval,
    reasons: Vec<String>,
}

impl Default for Router {
    fn default() -> Self {
        Self { mode: Approval::Apply, reasons: Vec::new() }
    }
}

impl Router {
    /// `who` says `mode`.
    pub fn say(&mut self, mode: Approval, who: impl Into<String>) {
        let reason = format!("{}: {}", who.into(), mode.as_str());
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
        self.mode = self.mode.max(mode);
    }

    /// The outcome.
    pub fn finish(self) -> Routing {
        Routing {
            mode: self.mode,
            reason: format!("{}; the strictest is {}", self.reasons.join(", "), self.mode.as_str()),
        }
    }
}
