//! Output of `aye apply` and `aye undo`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::changeset::marks::Mark;
use crate::changeset::plan::{ConflictReason, MergeStatus, MergedBy, PlannedFile};
use crate::decide::{ApplyResult, DecisionPlan};
use crate::proposal::document::file_path;
use crate::proposal::event::Effect;
use crate::proposal::{Proposal, Status};
use crate::text::escape;
use crate::words::words;

/// Answer of `aye apply` and `aye undo`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApplyDocument {
    /// `aye/apply@1` or `aye/undo@1`
    pub schema: &'static str,
    /// True if it was done (or, with `--dry-run`, would be).
    pub success: bool,
    /// Nothing was changed because of `--dry-run`.
    pub dry_run: bool,
    /// The proposals, in the order given.
    pub proposals: Vec<ApplyItem>,
}

/// One proposal of the answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApplyItem {
    /// The id.
    pub proposal_id: String,
    /// The first changed file.
    pub file_path: String,
    /// `applied` after an apply, `pending` after an undo or a dry run.
    pub status: Status,
    /// Effect besides the record of the decision.
    pub effect: Option<Effect>,
    /// The commit made (apply), or that still contains it (undo).
    pub commit: Option<String>,
    /// Every file and what became of it.
    pub files: Vec<FileItem>,
    /// Marks for a second look, with their places; none for what was undone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// The proposal with the excluded rest (`--split-rest`).
    pub rest: Option<String>,
    /// The proposal that asks about what a commit hook changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amended: Option<String>,
    /// With `--dry-run`: the earlier proposal of the command on top of which this one does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collides_with: Option<String>,
}

impl ApplyDocument {
    pub fn of(schema: &'static str, success: bool, proposals: Vec<ApplyItem>) -> Self {
        Self { schema, success, dry_run: false, proposals }
    }
}

impl ApplyItem {
    pub fn plain(
        proposal_id: String,
        file_path: String,
        status: Status,
        files: Vec<FileItem>,
    ) -> Self {
        Self {
            proposal_id,
            file_path,
            status,
            effect: None,
            commit: None,
            files,
            marks: Vec::new(),
            rest: None,
            amended: None,
            collides_with: None,
        }
    }

    pub(super) fn pending(
        proposal: &Proposal,
        effect: Effect,
        files: Vec<FileItem>,
        marks: Vec<Mark>,
    ) -> Self {
        let (id, path) = (proposal.id.to_string(), file_path(proposal.current()));
        Self { effect: Some(effect), marks, ..Self::plain(id, path, Status::Pending, files) }
    }

    pub(super) fn applied(
        proposal: &Proposal,
        applied: ApplyResult,
        effect: Effect,
        marks: Vec<Mark>,
    ) -> Self {
        let file = |file: &PlannedFile| {
            let not_approved = applied.not_approved.contains(&file.path.display().to_string());
            FileItem { not_approved, ..FileItem::new(file) }
        };
        let files = applied.files.iter().map(file).collect();
        Self {
            status: Status::Applied,
            commit: applied.commit,
            amended: applied.amended.map(|id| id.to_string()),
            ..Self::pending(proposal, effect, files, marks)
        }
    }
}

words! {
    /// How a change fits a file.
    pub enum Fit {
        /// The file is what the change starts from.
        Clean = "clean",
        /// The file already has the result of the change.
        Already = "already",
        /// The file has changed elsewhere, and both changes fit.
        Merged = "merged",
        /// The file is generated from the other files.
        Derived = "derived",
        /// The change does not fit.
        Conflict = "conflict",
    }
}

words! {
    pub enum Action {
        /// The file exists, and gets other content.
        Write = "write",
        /// The file does not exist yet.
        Create = "create",
        /// The file is removed.
        Delete = "delete",
        /// The file stays as it is.
        None = "none",
    }
}

/// One file of an item.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileItem {
    /// Path of the file.
    pub path: String,
    /// Action on the file.
    pub action: Action,
    /// How the change fits it.
    pub outcome: Fit,
    /// How it was merged.
    pub merged_by: Option<MergedBy>,
    /// Why it does not fit.
    pub reason: Option<ConflictReason>,
    /// The file also holds changes that are not the proposal's and that are not approved.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub not_approved: bool,
}

impl FileItem {
    pub fn new(file: &PlannedFile) -> Self {
        Self {
            path: file.path.display().to_string(),
            action: match (&file.now, &file.after) {
                (now, after) if now == after => Action::None,
                (None, _) => Action::Create,
                (_, None) => Action::Delete,
                _ => Action::Write,
            },
            outcome: match &file.outcome {
                MergeStatus::Clean => Fit::Clean,
                MergeStatus::Already => Fit::Already,
                MergeStatus::Merged(_) => Fit::Merged,
                MergeStatus::Derived(_) => Fit::Derived,
                MergeStatus::Conflict(_) => Fit::Conflict,
            },
            merged_by: match &file.outcome {
                MergeStatus::Merged(by) => Some(*by),
                _ => None,
            },
            reason: match &file.outcome {
                MergeStatus::Conflict(conflict) => Some(conflict.reason),
                _ => None,
            },
            not_approved: false,
        }
    }

    pub(super) fn all(shown: &DecisionPlan) -> Vec<Self> {
        let is_foreign =
            |file: &PlannedFile| shown.foreign().any(|residue| residue.path == file.path);
        let item = |file| Self { not_approved: is_foreign(file), ..Self::new(file) };
        shown.plan.files.iter().map(item).collect()
    }

    pub fn text(&self) -> String {
        let how = self.merged_by.map(MergedBy::as_str).or(self.reason.map(ConflictReason::as_str));
        let how = how.map(|how| format!(" ({how})"));
        let path = escape::name(&self.path);
        format!(
            "  {:<8} {:<6} {path}{}\n",
            self.outcome.as_str(),
            self.action.as_str(),
            how.unwrap_or_default()
        )
    }
}

pub fn text(answer: &ApplyDocument, heading: &str) -> String {
    text_with(answer, |_| heading.to_owned())
}

pub(super) fn text_with(answer: &ApplyDocument, heading: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for (at, item) in answer.proposals.iter().enumerate() {
        let heading = heading(at);
        let only_marked = item.effect == Some(Effect::MarkOnly) && !answer.dry_run;
        let only_marked = only_marked && item.commit.is_none();
        let note = if only_marked { " (marked only, no file was written)" } else { "" };
        out += &format!("{}  {heading}{note}\n", item.proposal_id);
        out += &item.files.iter().map(FileItem::text).collect::<String>();
        if let Some(rest) = &item.rest {
            out += &format!("  rest     {rest}\n");
        }
        if let Some(commit) = &item.commit {
            // An undo makes no commit: its hint names the one that stays.
            if item.status == Status::Applied {
                out += &format!("  commit   {}\n", commit.get(..12).unwrap_or(commit));
            }
        }
    }
    out
}
