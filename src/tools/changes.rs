//! The `changes` tool.
//!
//! Its `apply` and `reject` record marks, which the contract reports but which decide nothing.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::apply_patch::FileItem;
use super::arguments::{missing, object, shorten, whole_number};
use super::edits::OccurrenceArgument;
use super::{Arguments, codes};
use crate::app::propose::{Details, ProposalOutcome};
use crate::app::stack::EditBase;
use crate::app::{self, Session, capture};
use crate::changeset::snippet::{EditAction, SnippetEdit};
use crate::changeset::{Occurrence, Snippet, codes as changeset_codes};
use crate::decide;
use crate::decide::verdict::{self, PlainVerdict, VerdictDetails};
use crate::error::{Error, Result};
use crate::proposal::document::file_path;
use crate::proposal::event::{Evidence, InputForm, Marked, Subject, timestamp};
use crate::proposal::rules::{CallerClass, Verb};
use crate::proposal::{Entry, Proposal, Revision, Status, codes as proposal_codes};
use crate::scan::gate;
use crate::store::{Filter, Store};

/// Response of `propose`, and of the command of that name.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProposeResponse {
    /// `aye/propose@1`; the tool's answers have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<&'static str>,
    /// Always true.
    pub success: bool,
    /// The id.
    pub proposal_id: String,
    /// The file.
    pub file_path: String,
    /// Topic.
    pub domain: Option<String>,
    /// The task it belongs to.
    pub related_task_id: Option<String>,
    /// `pending`; for a duplicate that a tool has marked, the status in `list`.
    pub status: Status,
    /// The proposer's name.
    pub proposed_by: String,
    /// When it expires unless decided.
    pub expires_at: String,
    /// The same change was pending already; this is that proposal.
    pub duplicate: bool,
    /// In words.
    pub message: String,
    /// The pending proposal whose result it was made on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stands_on: Option<String>,
    /// Secrets in added or changed lines (see `aye.scan`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<gate::ScanWarning>,
    /// All changed files.
    pub files: Vec<String>,
    /// Files reset in the work tree, because their changes came from there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<String>,
    /// Files of the patch with hunks that were placed or matched otherwise than written, each with
    /// those hunks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub adapted: Vec<FileItem>,
}

impl ProposeResponse {
    pub fn new(recorded: &ProposalOutcome) -> Self {
        let (proposal, duplicate) = (&recorded.proposal, recorded.duplicate);
        let put_back = recorded.taken_back.files.iter();
        Self {
            schema: None,
            success: true,
            proposal_id: proposal.id.to_string(),
            file_path: file_path(proposal.current()),
            domain: proposal.domain.clone(),
            related_task_id: proposal.related_task_id.clone(),
            status: Status::Pending,
            proposed_by: proposal.proposed_by.clone(),
            expires_at: timestamp(proposal.expires_at),
            duplicate,
            message: if duplicate {
                "The same change is already pending.".into()
            } else {
                "Change proposal created.".into()
            },
            stands_on: proposal.current().on.as_ref().map(|on| on.proposal.to_string()),
            warnings: recorded.warnings.clone(),
            files: files(proposal.current()),
            put_back: put_back.map(|path| path.display().to_string()).collect(),
            adapted: recorded.adapted.iter().cloned().map(FileItem::new).collect(),
        }
    }
}

fn files(revision: &Revision) -> Vec<String> {
    revision.changes.iter().map(|change| change.path.display().to_string()).collect()
}

/// Arguments of `propose`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Propose {
    /// The file, as a path from the top of the repository.
    file_path: String,
    /// The content to be replaced, exactly; empty for a new file.
    old_content: String,
    /// The content to put there.
    new_content: String,
    /// The occurrence that is meant if the old content is in the file more than once.
    occurrence: Option<OccurrenceArgument>,
    /// Why.
    description: Option<String>,
    /// Topic.
    domain: Option<String>,
    /// The task it belongs to.
    related_task_id: Option<String>,
}

/// Arguments of `list`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct List {
    /// Only proposals that are `pending`, `applied`, `rejected` or `expired`.
    status: Option<String>,
    /// Only proposals of this topic.
    domain: Option<String>,
    /// Only proposals of this task.
    related_task_id: Option<String>,
    /// At most so many proposals, the newest first.
    #[serde(default, deserialize_with = "whole_number")]
    limit: Option<usize>,
}

/// Arguments of `apply`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Apply {
    /// The id.
    proposal_id: String,
}

/// Arguments of `reject`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Reject {
    /// The id.
    proposal_id: String,
    /// Why.
    reason: Option<String>,
}

/// The action and its arguments.
#[derive(JsonSchema)]
#[schemars(tag = "action", rename_all = "snake_case")]
pub enum Request {
    /// Make a proposal.
    Propose(Propose),
    /// List proposals.
    List(List),
    /// Mark a proposal as applied.
    Apply(Apply),
    /// Mark a proposal as rejected.
    Reject(Reject),
}

/// # Errors
/// `unknown_action`, `missing_parameter`, `invalid_parameter`.
pub fn call(session: &Session<'_>, name: &str, arguments: Value) -> Result<Value> {
    let mut arguments = object(arguments)?;
    let action = match (arguments.shift_remove("action"), name) {
        (Some(Value::String(action)), _) => action,
        (Some(other), _) => return Err(unknown("action", &other.to_string(), ACTIONS)),
        (None, "propose_change") => "propose".to_owned(),
        // With an id the caller wants a decision: a list would look like success.
        (None, "review_changes") if !arguments.contains_key("proposal_id") => "list".to_owned(),
        (None, _) => return Err(missing("action").hint(ACTIONS)),
    };
    let arguments = Value::Object(arguments);
    match action.as_str() {
        "propose" => answer(arguments, |known| propose(session, known)),
        "list" => answer(arguments, |known| list(session, known)),
        "apply" => answer(arguments, |known| apply(session, known)),
        "reject" => answer(arguments, |known| reject(session, known)),
        _ => {
            let shown = shorten(&action);
            Err(Error::new(&codes::UNKNOWN_ACTION, format!("the tool has no action '{shown}'"))
                .with("action", shown)
                .hint(ACTIONS))
        }
    }
}

const ACTIONS: &str = "actions: propose, list, apply, reject";

fn answer<T: DeserializeOwned, A: Serialize>(
    arguments: Value,
    act: impl FnOnce(T) -> Result<A>,
) -> Result<Value> {
    Arguments::read(arguments)?.answer(act)
}

fn unknown(name: &'static str, given: &str, words: &str) -> Error {
    let message = format!("the parameter '{name}' is '{}', not one of its words", shorten(given));
    Error::new(&codes::INVALID_PARAMETER, message).with("parameter", name).hint(words)
}

fn propose(session: &Session<'_>, arguments: Propose) -> Result<ProposeResponse> {
    let occurrence = arguments.occurrence.map(Occurrence::from).unwrap_or_default();
    let (old, new) = (arguments.old_content.into(), arguments.new_content.into());
    let path = session.store.repository().parse_tool_path(arguments.file_path.as_bytes())?;
    let edit = SnippetEdit { path, action: EditAction::Replace(Snippet { old, new, occurrence }) };
    let draft = capture::edits(session, vec![edit], &EditBase::Any, InputForm::Tool)
        .map_err(without_whole_files)?;
    let details = Details {
        description: arguments.description,
        domain: arguments.domain,
        related_task_id: arguments.related_task_id,
        ..Details::default()
    };
    let recorded = app::propose::propose(session, draft, details)?;
    let mut answer = ProposeResponse::new(&recorded);
    if let Some(mark) = recorded.proposal.mark() {
        let word = mark.verdict.as_str();
        answer.status = contract_status(&recorded.proposal, session.now);
        answer.message =
            format!("The same change is marked as {word} already; a person still decides on it.");
    }
    Ok(answer)
}

/// Hints for callers that cannot give whole contents.
fn without_whole_files(error: Error) -> Error {
    let hint = if error.is(&changeset_codes::FILE_EXISTS) {
        "give the old content to replace; an empty one is for a new file"
    } else if error.is(&changeset_codes::NOT_TEXT) {
        "propose a binary file by a patch of git's: apply_patch with \"propose\": true"
    } else {
        return error;
    };
    error.hint(hint)
}

fn status(word: &str) -> Result<Status> {
    let all = [Status::Pending, Status::Applied, Status::Rejected, Status::Expired];
    let found = all.into_iter().find(|status| status.as_str() == word);
    found.ok_or_else(|| unknown("status", word, "statuses: pending, applied, rejected, expired"))
}

fn list(session: &Session<'_>, arguments: List) -> Result<Value> {
    let status = arguments.status.as_deref().map(status).transpose()?;
    let filter = Filter {
        status,
        domain: arguments.domain,
        task: arguments.related_task_id,
        limit: arguments.limit,
        newest_first: true,
        by_contract: true,
        ..Filter::default()
    };
    let view = session.store.view()?;
    let summaries = view.proposals(&filter, session.now)?;
    let readable = summaries.iter().filter_map(|summary| view.proposal(&summary.id).ok());
    let proposals: Vec<Value> = readable.map(|proposal| item(session, &proposal)).collect();
    Ok(json!({ "proposals": proposals, "count": proposals.len() }))
}

/// The contract does not distinguish marks from decisions.
fn contract_status(proposal: &Proposal, now: DateTime<Utc>) -> Status {
    match proposal.mark().map(|mark| mark.verdict) {
        Some(Marked::Applied) => Status::Applied,
        Some(Marked::Rejected) => Status::Rejected,
        None => proposal.status(now),
    }
}

fn item(session: &Session<'_>, proposal: &Proposal) -> Value {
    let current = proposal.current();
    let status = contract_status(proposal, session.now);
    // A damaged object must not hide other proposals.
    let (contents, unreadable) = match contents(session.store, current) {
        Ok(contents) => (contents, None),
        Err(error) => (Default::default(), Some(error.message().to_owned())),
    };
    let reason = match proposal.mark() {
        Some(mark) => mark.reason.clone(),
        None => proposal.decision().and_then(|decision| decision.reason.clone()),
    };
    let request = proposal.changes_requested.as_ref();
    let mut item = json!({
        "id": proposal.id.as_str(),
        "file_path": file_path(current),
        "files": files(current),
        "domain": proposal.domain,
        "description": proposal.description,
        "status": status,
        "proposed_by": proposal.proposed_by,
        "related_task_id": proposal.related_task_id,
        "expires_at": timestamp(proposal.expires_at),
        "created_at": timestamp(proposal.created_at),
        "old_content": contents.old,
        "new_content": contents.new,
        "rejection_reason": reason.filter(|_| status == Status::Rejected),
        "changes_requested": request.map(|request| request.reason.clone().unwrap_or_default()),
    });
    if let Some(why) = unreadable {
        item["unreadable"] = why.into();
    }
    item
}

#[derive(Default)]
struct Contents {
    old: String,
    new: String,
}

/// One snippet as proposed, or the whole first file. Invalid UTF-8 is replaced: the contract is
/// text only.
fn contents(store: &Store, revision: &Revision) -> Result<Contents> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let Some(change) = revision.changes.first() else { return Ok(Contents::default()) };
    if let [snippet] = change.snippets.as_slice() {
        return Ok(Contents { old: text(&snippet.old), new: text(&snippet.new) });
    }
    let side = |entry: &Option<Entry>| match entry {
        None => Ok(String::new()),
        Some(entry) => store.file(entry).map(|file| text(&file.bytes)),
    };
    Ok(Contents { old: side(&change.before)?, new: side(&change.after)? })
}

/// # Errors
/// `not_pending`; `wrong_tool` for memory.
fn pending(session: &Session<'_>, id: &str) -> Result<Proposal> {
    let proposal = session.store.view()?.find(id)?;
    proposal.require_pending(session.now)?;
    if proposal.subject == Subject::Memory {
        return Err(Error::new(
            &proposal_codes::WRONG_TOOL,
            format!("{} is about memory, which this tool does not decide", proposal.id),
        )
        .with("proposal_id", proposal.id.as_str())
        .hint(format!("a person decides on it: aye show {}", proposal.id)));
    }
    // The contract treats marks as decisions.
    if let Some(mark) = proposal.mark() {
        let word = mark.verdict.as_str();
        return Err(Error::new(
            &proposal_codes::NOT_PENDING,
            format!("{} is {word}, not pending", proposal.id),
        )
        .with("status", word)
        .hint("a tool marked it so; a person may still decide on it"));
    }
    Ok(proposal)
}

/// Agents withdraw their own proposals instead.
///
/// A mark is not an approval: a tool call cannot prove that a person decided. People can still
/// decide.
///
/// # Errors
/// `human_approval_required`, `in_trial`.
fn mark(
    session: &Session<'_>,
    proposal: &Proposal,
    verdict: Marked,
    reason: Option<&str>,
) -> Result<()> {
    let (store, caller) = (session.store, &session.caller);
    let (command, verb, word) = match verdict {
        Marked::Applied => ("apply", Verb::Mark, PlainVerdict::Mark(verdict)),
        Marked::Rejected if caller.class() == CallerClass::Agent => {
            ("reject", Verb::Reject, PlainVerdict::Withdraw)
        }
        Marked::Rejected => ("reject", Verb::Mark, PlainVerdict::Mark(verdict)),
    };
    if verb == Verb::Mark {
        store.require_no_trial()?;
    }
    let command = format!("aye {command} {}", proposal.id);
    let proposals = std::slice::from_ref(proposal);
    let evidence = Evidence::Tool;
    let authority = decide::authorise(store, caller, verb, proposals, &evidence, &command)?;
    let besides = VerdictDetails { reason, ..VerdictDetails::default() };
    verdict::record_verdicts(store, &authority, session.now, proposals, word, &besides)
}

fn apply(session: &Session<'_>, arguments: Apply) -> Result<Value> {
    let proposal = pending(session, &arguments.proposal_id)?;
    // An unreadable proposal must not be marked.
    let contents = contents(session.store, proposal.current())?;
    mark(session, &proposal, Marked::Applied, None)?;
    Ok(json!({
        "success": true,
        "proposal_id": proposal.id.as_str(),
        "file_path": file_path(proposal.current()),
        "status": Status::Applied,
        "old_content": contents.old,
        "new_content": contents.new,
        "message": "Proposal marked as applied. Use the Edit tool to apply the actual change.",
    }))
}

fn reject(session: &Session<'_>, arguments: Reject) -> Result<Value> {
    let proposal = pending(session, &arguments.proposal_id)?;
    mark(session, &proposal, Marked::Rejected, arguments.reason.as_deref())?;
    Ok(json!({
        "success": true,
        "proposal_id": proposal.id.as_str(),
        "file_path": file_path(proposal.current()),
        "status": Status::Rejected,
        "rejection_reason": arguments.reason,
        "message": "Proposal rejected.",
    }))
}
