//! The `changes` tool: propose, list, apply, reject. Aliases `propose_change`, `review_changes`.
//!
//! Its `apply` records the decision and writes no file, as the contract has it.

use serde::Serialize;
use serde_json::Value;

use super::{Arguments, Session, codes};
use crate::changeset::snippet::{self, Action, Edit};
use crate::changeset::{Occurrence, RepoPath, Snippet};
use crate::error::{Error, Result};
use crate::proposal::document::{file_path, timestamp};
use crate::proposal::event::{Apply, Effect, How, Reject, Subject, digest};
use crate::proposal::{Data, Proposal, Revision, Status};
use crate::scan::gate;
use crate::store::{Filter, NewProposal, Store, Writer};

/// Response of `propose`, and what the command of that name answers too.
#[derive(Debug, Serialize, schemars::JsonSchema)]
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
    /// Always `pending`.
    pub status: Status,
    /// The proposer's name.
    pub proposed_by: String,
    /// When it expires unless decided.
    pub expires_at: String,
    /// The same change was pending already; this is that proposal.
    pub duplicate: bool,
    /// In words.
    pub message: String,
    /// Secrets and personal data in added or changed lines (see `aye.scan`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<gate::Warning>,
}

impl Proposed {
    /// The answer for `proposal`, which is the one that was pending already if `duplicate`.
    pub fn new(proposal: &Proposal, duplicate: bool, warnings: Vec<gate::Warning>) -> Self {
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
            warnings,
        }
    }
}

/// Response of `list`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Listed {
    /// The proposals, newest first.
    pub proposals: Vec<Item>,
    /// How many they are.
    pub count: usize,
}

/// One proposal of a list.
#[derive(Debug, Serialize, schemars::JsonSchema)]
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
#[derive(Debug, Serialize, schemars::JsonSchema)]
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
#[derive(Debug, Serialize, schemars::JsonSchema)]
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

/// Answers a call under the name `name` (`changes` or one of its aliases).
///
/// # Errors
/// `unknown_action`, `missing_parameter`, `invalid_parameter`, and those of what it does.
pub fn call(session: &Session<'_>, name: &str, arguments: Value) -> Result<Value> {
    let mut arguments = Arguments::new(arguments, "{\"action\": …}")?;
    let action = match (arguments.text("action")?, name) {
        (Some(action), _) => action,
        (None, "propose_change") => "propose".into(),
        (None, "review_changes") => "list".into(),
        (None, _) => {
            return Err(Error::new(&codes::MISSING_PARAMETER, "the parameter 'action' is missing")
                .with("parameter", "action")
                .hint("actions: propose, list, apply, reject"));
        }
    };
    let mut response = match action.as_str() {
        "propose" => value(&propose(session, &mut arguments)?),
        "list" => value(&list(session, &mut arguments)?),
        "apply" => value(&apply(session, &mut arguments)?),
        "reject" => value(&reject(session, &mut arguments)?),
        _ => {
            let shown: String = action.chars().take(60).collect();
            Err(Error::new(&codes::UNKNOWN_ACTION, format!("the tool has no action '{shown}'"))
                .with("action", shown)
                .hint("actions: propose, list, apply, reject"))
        }
    }?;
    // A misspelt parameter is no reason to refuse, and none to be silent either.
    let ignored = arguments.unknown();
    if !ignored.is_empty() {
        response["ignored_parameters"] = ignored.into();
    }
    Ok(response)
}

fn value<T: Serialize>(response: &T) -> Result<Value> {
    serde_json::to_value(response).map_err(|error| Error::bug(error.to_string()))
}

fn propose(session: &Session<'_>, arguments: &mut Arguments) -> Result<Proposed> {
    let path = arguments.required("file_path")?;
    let old = arguments.required("old_content")?;
    let new = arguments.required("new_content")?;
    let description = arguments.text("description")?;
    let domain = arguments.text("domain")?;
    let related_task_id = arguments.text("related_task_id")?;
    let settings = session.store.settings()?;
    let snippet = Snippet { old: old.into(), new: new.into(), occurrence: Occurrence::Unique };
    let edit = Edit { path: RepoPath::new(&path)?, action: Action::Replace(snippet) };
    let changeset = snippet::compile(vec![edit], &*session.store.files()?)
        .map_err(|error| session.store.name_sparse(error))?;
    session.store.accept(&changeset)?;
    let warnings = gate::proposal(session.store, &changeset)?;
    let new = NewProposal {
        changeset,
        description,
        domain,
        related_task_id,
        proposed_by: session.agent.clone().unwrap_or_else(|| "agent".into()),
        expires_in: settings.expires_in,
        subject: Subject::Code,
        form: "tool".into(),
        memory: None,
    };
    let (proposal, duplicate) = session.store.propose(&session.actor, session.now, new)?;
    Ok(Proposed::new(&proposal, duplicate, warnings))
}

fn list(session: &Session<'_>, arguments: &mut Arguments) -> Result<Listed> {
    let status = match arguments.text("status")?.as_deref() {
        None => None,
        Some("pending") => Some(Status::Pending),
        Some("applied") => Some(Status::Applied),
        Some("rejected") => Some(Status::Rejected),
        Some("expired") => Some(Status::Expired),
        Some(other) => {
            let shown: String = other.chars().take(60).collect();
            return Err(Error::new(
                &codes::INVALID_PARAMETER,
                format!("the parameter 'status' is '{shown}', which is no status"),
            )
            .with("parameter", "status")
            .hint("statuses: pending, applied, rejected, expired"));
        }
    };
    let filter = Filter {
        status,
        domain: arguments.text("domain")?,
        task: arguments.text("related_task_id")?,
        limit: arguments.count("limit")?,
        newest_first: true,
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

fn item(session: &Session<'_>, proposal: &Proposal) -> Item {
    let current = proposal.current();
    let status = proposal.status(session.now);
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
        rejection_reason: proposal
            .decision()
            .filter(|_| status == Status::Rejected)
            .and_then(|decision| decision.reason.clone()),
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
        Some(entry) => store.blob(&entry.id).map(|bytes| text(&bytes)),
    };
    Ok((side(&change.before)?, side(&change.after)?))
}

/// The pending proposal that is to be decided, found under the lock.
fn pending(writer: &Writer<'_>, id: &str) -> Result<Proposal> {
    let proposal = writer.view.find(id)?;
    proposal.require_pending(writer.now())?;
    Ok(proposal)
}

fn apply(session: &Session<'_>, arguments: &mut Arguments) -> Result<Applied> {
    let id = arguments.required("proposal_id")?;
    session.store.write(&session.actor, session.now, |writer| {
        let proposal = pending(writer, &id)?;
        // Read first: what cannot be shown to the caller is not decided.
        let (old_content, new_content) = contents(session.store, proposal.current())?;
        let data = Data::Apply(Apply {
            revision: proposal.current().event.clone(),
            digest: digest(&proposal.current().changes),
            how: How::Tool,
            effect: Effect::MarkOnly,
            commit: None,
            written: Vec::new(),
        });
        writer.append(Some(&proposal.id), data)?;
        Ok(Applied {
            success: true,
            proposal_id: proposal.id.to_string(),
            file_path: file_path(proposal.current()),
            status: Status::Applied,
            old_content,
            new_content,
            message: "Proposal marked as applied. Use the Edit tool to apply the actual change.",
        })
    })
}

fn reject(session: &Session<'_>, arguments: &mut Arguments) -> Result<Rejected> {
    let id = arguments.required("proposal_id")?;
    let reason = arguments.text("reason")?;
    let proposal = session.store.write(&session.actor, session.now, |writer| {
        let proposal = pending(writer, &id)?;
        let data = Data::Reject(Reject {
            reason: reason.clone(),
            revision: proposal.current().event.clone(),
            digest: digest(&proposal.current().changes),
            how: How::Tool,
        });
        writer.append(Some(&proposal.id), data)?;
        Ok(proposal)
    })?;
    Ok(Rejected {
        success: true,
        proposal_id: proposal.id.to_string(),
        file_path: file_path(proposal.current()),
        status: Status::Rejected,
        rejection_reason: reason,
        message: "Proposal rejected.",
    })
}
