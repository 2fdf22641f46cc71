//! The `changes` tool: propose, list, apply, reject. Aliases `propose_change`, `review_changes`.
//!
//! Its `apply` and `reject` are recorded as marks: what the contract reports, and no decision.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{required, shorten, whole};
use super::edits::Which;
use super::{Arguments, codes};
use crate::app::propose::{Details, Recorded};
use crate::app::stack::Ground;
use crate::app::{self, Session, capture};
use crate::changeset::snippet::{Action, Edit};
use crate::changeset::{Occurrence, Snippet, codes as changeset_codes};
use crate::decide;
use crate::decide::verdict::{self, Word};
use crate::error::{Error, Result};
use crate::proposal::document::file_path;
use crate::proposal::event::{Evidence, InputForm, Marked, Subject, timestamp};
use crate::proposal::rules::{Class, Verb};
use crate::proposal::{Proposal, Revision, Status, codes as proposal_codes};
use crate::scan::gate;
use crate::store::{Filter, Store};

/// Response of `propose`, and what the command of that name answers too.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Proposed {
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
    /// `pending`; of a duplicate that a tool has marked, what `list` says.
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
    pub warnings: Vec<gate::Warning>,
}

impl Proposed {
    /// The answer for a proposal.
    pub fn new(recorded: &Recorded) -> Self {
        let (proposal, duplicate) = (&recorded.proposal, recorded.duplicate);
        Self {
            success: true,
            proposal_id: proposal.id.to_string(),
            file_path: file_path(proposal.current()),
            domain: proposal.domain.clone(),
            related_task_id: proposal.related_task_id.clone(),
            status: Status::Pending,
            proposed_by: proposal.proposed_by.clone(),
            expires_at: timestamp(proposal.expires_at),
            duplicate,
            message: match duplicate {
                true => "The same change is already pending.".into(),
                false => "Change proposal created.".into(),
            },
            stands_on: proposal.current().on.as_ref().map(|on| on.proposal.to_string()),
            warnings: recorded.warnings.clone(),
        }
    }
}

/// Response of `list`.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// The proposals, newest first.
    pub proposals: Vec<Item>,
    /// How many they are.
    pub count: usize,
}

/// One proposal of a list.
#[derive(Debug, Serialize)]
pub struct Item {
    /// The id.
    pub id: String,
    /// The first changed file.
    pub file_path: String,
    /// All changed files.
    pub files: Vec<String>,
    /// Topic.
    pub domain: Option<String>,
    /// Why, in the proposer's words.
    pub description: Option<String>,
    /// `pending`, `applied`, `rejected` or `expired`.
    pub status: Status,
    /// The proposer's name.
    pub proposed_by: String,
    /// The task it belongs to.
    pub related_task_id: Option<String>,
    /// When it expires unless decided.
    pub expires_at: String,
    /// When it was made.
    pub created_at: String,
    /// The content to be replaced, in the first file.
    pub old_content: String,
    /// The content to put there.
    pub new_content: String,
    /// Why old and new content are empty: an object of it is missing or damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Why it was rejected.
    pub rejection_reason: Option<String>,
    /// A reviewer wants changes: the reason, or an empty string if the comments say it.
    pub changes_requested: Option<String>,
}

/// Response of `apply`.
#[derive(Debug, Serialize)]
pub struct Applied {
    /// Always true.
    pub success: bool,
    /// The id.
    pub proposal_id: String,
    /// The first changed file.
    pub file_path: String,
    /// Always `applied`.
    pub status: Status,
    /// The content to be replaced.
    pub old_content: String,
    /// The content to put there.
    pub new_content: String,
    /// In words.
    pub message: &'static str,
}

/// Response of `reject`.
#[derive(Debug, Serialize)]
pub struct Rejected {
    /// Always true.
    pub success: bool,
    /// The id.
    pub proposal_id: String,
    /// The first changed file.
    pub file_path: String,
    /// Always `rejected`.
    pub status: Status,
    /// Why.
    pub rejection_reason: Option<String>,
    /// In words.
    pub message: &'static str,
}

/// What the tool answers.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Response {
    /// To `propose`.
    Proposed(Proposed),
    /// To `list`.
    Listed(Listed),
    /// To `apply`.
    Applied(Applied),
    /// To `reject`.
    Rejected(Rejected),
}

/// Arguments of `propose`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Propose {
    /// The file, as a path from the top of the repository.
    #[schemars(required)]
    file_path: Option<String>,
    /// The content to be replaced, exactly; empty for a new file.
    #[schemars(required)]
    old_content: Option<String>,
    /// The content to put there.
    #[schemars(required)]
    new_content: Option<String>,
    /// Which one is meant where the old content is in the file more than once.
    occurrence: Option<Which>,
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
    /// Only those that are `pending`, `applied`, `rejected` or `expired`.
    status: Option<String>,
    /// Only those of this topic.
    domain: Option<String>,
    /// Only those of this task.
    related_task_id: Option<String>,
    /// At most so many, the newest first.
    #[serde(default, deserialize_with = "whole")]
    limit: Option<usize>,
}

/// Arguments of `apply`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Apply {
    /// The id.
    #[schemars(required)]
    proposal_id: Option<String>,
}

/// Arguments of `reject`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Reject {
    /// The id.
    #[schemars(required)]
    proposal_id: Option<String>,
    /// Why.
    reason: Option<String>,
}

/// All arguments, as the published schema has them.
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

/// Answers a call under the name `name` (`changes` or one of its aliases).
///
/// # Errors
/// `unknown_action`, `missing_parameter`, `invalid_parameter`, and those of what it does.
pub fn call(session: &Session<'_>, name: &str, mut arguments: Value) -> Result<Value> {
    let action = match (word(&mut arguments, "action")?, name) {
        (Some(action), _) => action,
        (None, "propose_change") => "propose".into(),
        (None, "review_changes") => reviewed(&mut arguments)?,
        (None, _) => {
            // What is no object has no action either.
            Arguments::<Apply>::read(arguments, EXAMPLE)?;
            return Err(Error::new(&codes::MISSING_PARAMETER, "the parameter 'action' is missing")
                .with("parameter", "action")
                .hint("actions: propose, list, apply, reject"));
        }
    };
    match action.as_str() {
        "propose" => answer(arguments, |known, ignored| {
            propose(session, known, ignored).map(Response::Proposed)
        }),
        "list" => answer(arguments, |known, _| list(session, known).map(Response::Listed)),
        "apply" => answer(arguments, |known, ignored| {
            apply(session, known, ignored).map(Response::Applied)
        }),
        "reject" => answer(arguments, |known, ignored| {
            reject(session, known, ignored).map(Response::Rejected)
        }),
        _ => {
            let shown = shorten(&action);
            Err(Error::new(&codes::UNKNOWN_ACTION, format!("the tool has no action '{shown}'"))
                .with("action", shown)
                .hint("actions: propose, list, apply, reject"))
        }
    }
}

/// What the arguments look like.
const EXAMPLE: &str = "{\"action\": …}";

/// Takes the argument `name`, a word, out of `arguments`.
fn word(arguments: &mut Value, name: &'static str) -> Result<Option<String>> {
    let Some(map) = arguments.as_object_mut() else { return Ok(None) };
    match map.shift_remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(word)) => Ok(Some(word)),
        Some(other) => {
            let shown = shorten(&other.to_string());
            let message = format!("the parameter '{name}' is {shown}, not a string");
            Err(Error::new(&codes::INVALID_PARAMETER, message)
                .with("parameter", name)
                .hint("give a string"))
        }
    }
}

/// The action that a call of `review_changes` without one means: with a proposal it is the decision
/// on it, as the tool of that name took it; a list would look like success.
fn reviewed(arguments: &mut Value) -> Result<String> {
    let decision = word(arguments, "decision")?;
    let is_about_one = arguments.get("proposal_id").is_some_and(|id| !id.is_null());
    let action = match decision.as_deref() {
        None if is_about_one => {
            return Err(Error::new(
                &codes::MISSING_PARAMETER,
                "the parameter 'decision' is missing",
            )
            .with("parameter", "decision")
            .hint("give \"decision\": \"apply\" or \"reject\", or no proposal_id for the list"));
        }
        None => "list",
        Some("apply" | "applied" | "approve" | "approved" | "accept" | "accepted") => "apply",
        Some("reject" | "rejected" | "deny" | "denied") => "reject",
        Some(other) => {
            let message = format!("'{}' is not a decision", shorten(other));
            return Err(Error::new(&codes::INVALID_PARAMETER, message)
                .with("parameter", "decision")
                .hint("decisions: apply, reject"));
        }
    };
    Ok(action.to_owned())
}

/// What `act` makes of `arguments`, with the names of those that it does not know.
fn answer<T: serde::de::DeserializeOwned>(
    arguments: Value,
    act: impl FnOnce(T, &[String]) -> Result<Response>,
) -> Result<Value> {
    Arguments::read(arguments, EXAMPLE)?.answer(act)
}

fn propose(session: &Session<'_>, arguments: Propose, ignored: &[String]) -> Result<Proposed> {
    let path = required("file_path", arguments.file_path, ignored)?;
    let old = required("old_content", arguments.old_content, ignored)?;
    let new = required("new_content", arguments.new_content, ignored)?;
    let occurrence = arguments.occurrence.map(Occurrence::from).unwrap_or_default();
    let snippet = Snippet { old: old.into(), new: new.into(), occurrence };
    let path = session.store.given(path.as_bytes())?;
    let edit = Edit { path, action: Action::Replace(snippet) };
    let draft = capture::edits(session, vec![edit], &Ground::Any, InputForm::Tool)
        .map_err(without_whole_files)?;
    let details = Details {
        description: arguments.description,
        domain: arguments.domain,
        related_task_id: arguments.related_task_id,
        ..Details::default()
    };
    let recorded = app::propose::propose(session, draft, details)?;
    let mut answer = Proposed::new(&recorded);
    // Marked already by a tool: as far as the contract goes, it is decided.
    if let Some(mark) = recorded.proposal.mark() {
        let word = mark.verdict.as_str();
        answer.status = contract_status(&recorded.proposal, session.now);
        answer.message =
            format!("The same change is marked as {word} already; a person still decides on it.");
    }
    Ok(answer)
}

/// `error` with what to do next at a door that takes no whole content.
fn without_whole_files(error: Error) -> Error {
    let hint = if error.is(&changeset_codes::FILE_EXISTS) {
        "give the old content to replace; an empty one is for a new file"
    } else if error.is(&changeset_codes::NOT_TEXT) {
        "the tool propose takes the whole new content of a file"
    } else {
        return error;
    };
    error.hint(hint)
}

/// The status of that name.
///
/// # Errors
/// `invalid_parameter`.
pub(super) fn status(word: &str) -> Result<Status> {
    let all = [Status::Pending, Status::Applied, Status::Rejected, Status::Expired];
    all.into_iter().find(|status| status.as_str() == word).ok_or_else(|| {
        let shown = shorten(word);
        let message = format!("the parameter 'status' is '{shown}', which is not a status");
        Error::new(&codes::INVALID_PARAMETER, message)
            .with("parameter", "status")
            .hint("statuses: pending, applied, rejected, expired")
    })
}

fn list(session: &Session<'_>, arguments: List) -> Result<Listed> {
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
    let proposals: Vec<Item> = view
        .proposals(&filter, session.now)?
        .iter()
        .map(|summary| Ok(item(session, &view.proposal(&summary.id)?)))
        .collect::<Result<_>>()?;
    Ok(Listed { count: proposals.len(), proposals })
}

/// The status that the contract reports: a mark counts as what it says.
fn contract_status(proposal: &Proposal, now: DateTime<Utc>) -> Status {
    match proposal.mark().map(|mark| mark.verdict) {
        Some(Marked::Applied) => Status::Applied,
        Some(Marked::Rejected) => Status::Rejected,
        None => proposal.status(now),
    }
}

fn item(session: &Session<'_>, proposal: &Proposal) -> Item {
    let current = proposal.current();
    let status = contract_status(proposal, session.now);
    // One damaged object must not hide all other proposals.
    let (contents, unreadable) = match contents(session.store, current) {
        Ok(contents) => (contents, None),
        Err(error) => (Default::default(), Some(error.message().to_owned())),
    };
    let (old_content, new_content) = contents;
    Item {
        id: proposal.id.to_string(),
        file_path: file_path(current),
        files: current.changes.iter().map(|change| change.path.display().to_string()).collect(),
        domain: proposal.domain.clone(),
        description: proposal.description.clone(),
        status,
        proposed_by: proposal.proposed_by.clone(),
        related_task_id: proposal.related_task_id.clone(),
        expires_at: timestamp(proposal.expires_at),
        created_at: timestamp(proposal.created_at),
        old_content,
        new_content,
        unreadable,
        rejection_reason: match proposal.mark().filter(|_| status == Status::Rejected) {
            Some(mark) => mark.reason.clone(),
            None => proposal
                .decision()
                .filter(|_| status == Status::Rejected)
                .and_then(|decision| decision.reason.clone()),
        },
        changes_requested: proposal
            .changes_requested
            .as_ref()
            .map(|request| request.reason.clone().unwrap_or_default()),
    }
}

/// The contract's old and new content: the snippet as it was proposed, or the whole first file.
/// Invalid UTF-8 is replaced: the contract knows text only.
fn contents(store: &Store, revision: &Revision) -> Result<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let Some(change) = revision.changes.first() else { return Ok(Default::default()) };
    if let [snippet] = change.snippets.as_slice() {
        return Ok((text(&snippet.old), text(&snippet.new)));
    }
    let side = |entry: &Option<crate::proposal::Entry>| match entry {
        None => Ok(String::new()),
        Some(entry) => store.file(entry).map(|file| text(&file.bytes)),
    };
    Ok((side(&change.before)?, side(&change.after)?))
}

/// The pending proposal that is to be marked.
///
/// # Errors
/// `proposal_not_found` and its kin, `not_pending`, `wrong_tool` for memory.
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
    // Marked already by a tool: as far as the contract goes, it is decided.
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

/// Marks `proposal`, or withdraws it where an agent takes back its own.
///
/// The contract's `apply` and `reject` are no approval: a tool call cannot show that a person
/// decided. They are recorded as marks, and people go on deciding on the proposal.
///
/// # Errors
/// `human_approval_required`, `in_trial`, and those of the store.
fn mark(
    session: &Session<'_>,
    proposal: &Proposal,
    verdict: Marked,
    reason: Option<&str>,
) -> Result<()> {
    let (store, caller) = (session.store, &session.caller);
    let (command, verb, word) = match verdict {
        Marked::Applied => ("apply", Verb::Mark, Word::Mark(verdict)),
        Marked::Rejected if caller.class() == Class::Agent => {
            ("reject", Verb::Reject, Word::Withdraw)
        }
        Marked::Rejected => ("reject", Verb::Mark, Word::Mark(verdict)),
    };
    if verb == Verb::Mark {
        store.require_no_trial()?;
    }
    let command = format!("aye {command} {}", proposal.id);
    let proposals = std::slice::from_ref(proposal);
    let evidence = Evidence::Tool;
    let authority = decide::authorise(store, caller, verb, proposals, &evidence, &command)?;
    verdict::say(store, &authority, session.now, proposals, &word, reason, &[], None)
}

fn apply(session: &Session<'_>, arguments: Apply, ignored: &[String]) -> Result<Applied> {
    let id = required("proposal_id", arguments.proposal_id, ignored)?;
    let proposal = pending(session, &id)?;
    // Read first: what cannot be shown to the caller is not decided.
    let (old_content, new_content) = contents(session.store, proposal.current())?;
    mark(session, &proposal, Marked::Applied, None)?;
    Ok(Applied {
        success: true,
        proposal_id: proposal.id.to_string(),
        file_path: file_path(proposal.current()),
        status: Status::Applied,
        old_content,
        new_content,
        message: "Proposal marked as applied. Use the Edit tool to apply the actual change.",
    })
}

fn reject(session: &Session<'_>, arguments: Reject, ignored: &[String]) -> Result<Rejected> {
    let id = required("proposal_id", arguments.proposal_id, ignored)?;
    let reason = arguments.reason;
    let proposal = pending(session, &id)?;
    mark(session, &proposal, Marked::Rejected, reason.as_deref())?;
    Ok(Rejected {
        success: true,
        proposal_id: proposal.id.to_string(),
        file_path: file_path(proposal.current()),
        status: Status::Rejected,
        rejection_reason: reason,
        message: "Proposal rejected.",
    })
}
