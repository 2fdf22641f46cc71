//! The `revise` tool.

use chrono::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::apply_patch::FileItem;
use super::arguments::shorten;
use super::edits::{JsonEdit, compile};
use super::{Arguments, codes};
use crate::app::capture::Source;
use crate::app::dropped::Dropped;
use crate::app::propose::{ProposalOutcome, Revision};
use crate::app::{self, Draft, Session, capture, stack, suggestion};
use crate::changeset::patch::Options;
use crate::decide;
use crate::error::{Error, Result};
use crate::proposal::Status;
use crate::proposal::document::file_path;
use crate::proposal::event::{Evidence, InputForm, timestamp};
use crate::proposal::rules::Verb;
use crate::repository::{DURATION, parse_duration};
use crate::scan::gate::ScanWarning;

/// Answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReviseResponse {
    /// `aye/revise@1`
    pub schema: &'static str,
    /// Always true.
    pub success: bool,
    /// The id.
    pub proposal_id: String,
    /// The first changed file.
    pub file_path: String,
    /// Number of the new revision.
    pub revisions: usize,
    /// Always `pending`.
    pub status: Status,
    /// When it expires unless decided.
    pub expires_at: String,
    /// The proposer's own proposals that are stacked on it: they have a new revision on this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rebased: Vec<String>,
    /// Proposals that are still stacked on an earlier revision: proposals of others, and proposals
    /// that do not fit this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_rebased: Vec<String>,
    /// Content of the previous revision that this one lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Dropped>,
    /// Secrets in added or changed lines (see `aye.scan`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<ScanWarning>,
    /// Files of the patch with hunks that were placed or matched otherwise than written, each with
    /// those hunks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub adapted: Vec<FileItem>,
}

impl ReviseResponse {
    pub fn new(recorded: &ProposalOutcome) -> Self {
        let revised = &recorded.proposal;
        Self {
            schema: "aye/revise@1",
            success: true,
            proposal_id: revised.id.to_string(),
            file_path: file_path(revised.current()),
            revisions: revised.revisions.len(),
            status: Status::Pending,
            expires_at: timestamp(revised.expires_at),
            rebased: recorded.followed.rebased.iter().map(ToString::to_string).collect(),
            not_rebased: recorded.followed.left.iter().map(ToString::to_string).collect(),
            dropped: recorded.dropped.clone(),
            warnings: recorded.warnings.clone(),
            adapted: recorded.adapted.iter().cloned().map(FileItem::new).collect(),
        }
    }
}

/// Arguments of the tool: `edits` or `patch` replace everything the proposal held; `dropped` in the
/// answer lists what it lacks now. If the old content of edits is not in the files but in the
/// proposal's result, they change that result, and the rest of it stays. `take` changes the lines
/// of suggestions in it. Without any of them only the note, the description or the time changes.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The proposal.
    proposal_id: String,
    /// The edits, made on the files as they are now, or on the proposal's own content where they
    /// fit that alone.
    edits: Option<Vec<JsonEdit>>,
    /// A patch instead of edits.
    patch: Option<String>,
    /// Suggestions to take as they are: ids of comments on the proposal, as `show` has them.
    take: Option<Vec<String>>,
    /// What is new in this revision, for the reviewer.
    note: Option<String>,
    /// A new description in the place of the proposal's, whose first line is its title.
    description: Option<String>,
    /// A new time to wait for a decision, from now: `12h`, `7d`.
    expires_in: Option<String>,
}

/// # Errors
/// `human_approval_required` for another's proposal.
pub fn call(session: &Session<'_>, arguments: Value) -> Result<Value> {
    Arguments::<Parameters>::read(arguments)?.answer(|known| {
        let Session { store, caller, now } = session;
        let proposal = store.view()?.find(&known.proposal_id)?;
        proposal.require_pending(*now)?;
        let expires_in = known.expires_in.map(span).transpose()?;
        let below = stack::ground_of(session, &proposal)?;
        let mut notes = Vec::new();
        let take = known.take.filter(|ids| !ids.is_empty());
        let is_changed =
            known.description.is_some() || known.note.is_some() || expires_in.is_some();
        let draft = match (known.edits, known.patch, take) {
            (None, None, Some(ids)) => {
                let taken = suggestion::take(session, &proposal, &ids, InputForm::Tool)?;
                notes = taken.notes;
                taken.draft
            }
            (Some(edits), None, None) if !edits.is_empty() => {
                let edits = compile(edits, |path| store.repository().parse_tool_path(path))?;
                capture::amend(session, &proposal, edits, &below, InputForm::Tool)?
            }
            (None, Some(patch), None) => {
                let (bytes, options) = (patch.into_bytes(), Options::default());
                let source = Source::Patch { bytes, options, ground: below };
                // The draft has the places of hunks.
                capture::capture(session, &source, &mut Vec::new())?
            }
            (None, None, None) if is_changed => Draft::present(store, &proposal, InputForm::Tool)?,
            (None, None, None) => return Err(invalid("the arguments give nothing new")),
            (Some(edits), None, None) if edits.is_empty() => {
                return Err(invalid("the list 'edits' is empty"));
            }
            _ => return Err(invalid("the arguments give several of edits, patch and take")),
        };
        let proposals = std::slice::from_ref(&proposal);
        let command = format!("aye revise {} …", proposal.id);
        let (verb, evidence) = (Verb::Revise, &Evidence::Tool);
        let authority = decide::authorise(store, caller, verb, proposals, evidence, &command)?;
        let Parameters { description, note, .. } = known;
        let revision = Revision { draft, description, note, expires_in, notes };
        let recorded = app::propose::revise(session, &authority, &proposal, revision)?;
        Ok(ReviseResponse::new(&recorded))
    })
}

fn invalid(why: &str) -> Error {
    Error::new(&codes::INVALID_PARAMETER, why)
        .hint("give \"edits\", \"patch\" or \"take\", a \"note\" or a new \"description\"")
}

fn span(text: String) -> Result<Duration> {
    parse_duration(&text).ok_or_else(|| {
        Error::new(&codes::INVALID_PARAMETER, format!("'{}' is not a duration", shorten(&text)))
            .with("parameter", "expires_in")
            .hint(DURATION)
    })
}
