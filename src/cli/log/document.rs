//! The document of `aye log`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::decide::patch;
use crate::proposal::event::timestamp;
use crate::proposal::{ActorKind, Data};
use crate::store::LogEntry;

/// Answer of `aye log`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Log {
    /// `aye/log@1`
    pub schema: &'static str,
    /// The events, newest first.
    pub events: Vec<LogItem>,
}

/// One event.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LogItem {
    /// Object id of the event.
    pub event: String,
    /// What happened.
    pub kind: String,
    /// To which proposal.
    pub proposal_id: Option<String>,
    /// When.
    pub at: String,
    /// Who: name.
    pub by: String,
    /// Who: address.
    pub email: String,
    /// Who: person, agent or build machine.
    pub actor_kind: ActorKind,
    /// The session that the agent's harness names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model that the agent's harness names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The lane it was written to.
    pub lane: String,
    /// The commit that holds it.
    pub commit: String,
    /// What was said: a reason, a comment, a description.
    pub text: Option<String>,
    /// The id of a direct patch, in the events that write it or take it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_id: Option<String>,
    /// What shows that the actor decided: `terminal`, `flag`, `tool` or `hook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Object id of the decision statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
}

impl From<&LogEntry> for LogItem {
    fn from(entry: &LogEntry) -> Self {
        let event = &entry.stamped.event;
        Self {
            event: entry.stamped.id.clone(),
            kind: event.data.kind().to_owned(),
            proposal_id: entry.stamped.proposal().map(|id| id.to_string()),
            at: timestamp(event.time),
            by: event.actor.name.clone(),
            email: event.actor.email.clone(),
            actor_kind: event.actor.kind,
            session: event.agent.as_ref().and_then(|run| run.session.clone()),
            model: event.agent.as_ref().and_then(|run| run.model.clone()),
            lane: event.lane.clone(),
            commit: entry.commit.clone(),
            text: text(&event.data),
            patch_id: match &event.data {
                Data::Patch(_) => Some(patch::id(&entry.stamped.id)),
                Data::Undo(undo) => undo.patch.as_deref().map(patch::id),
                _ => None,
            },
            evidence: event.data.evidence().map(|evidence| evidence.as_str().to_owned()),
            statement: event.data.statement().map(|statement| statement.id.clone()),
        }
    }
}

fn text(data: &Data) -> Option<String> {
    match data {
        Data::Propose(propose) => propose.description.clone(),
        Data::Revise(revise) => {
            revise.description.clone().or(Some(revise.reason.as_str().to_owned()))
        }
        Data::Comment(comment) => Some(comment.body.clone()),
        Data::RequestChanges(request) => request.reason.clone(),
        Data::Reject(reject) => reject.reason.clone(),
        Data::Check(check) => {
            let code = check.exit_code.map_or("a signal".into(), |code| code.to_string());
            let runner = check.imported.as_ref().map(|imported| &imported.by);
            let of =
                runner.map(|by| format!(" (imported, run by {} {})", by.kind.as_str(), by.name));
            Some(format!("{}: {code}{}", check.command.join(" "), of.unwrap_or_default()))
        }
        Data::Committed(committed) => Some(committed.commit.clone()),
        Data::Apply(apply) => apply.commit.clone(),
        Data::Mark(mark) => Some(match &mark.reason {
            Some(reason) => format!("{}: {reason}", mark.verdict.as_str()),
            None => mark.verdict.as_str().to_owned(),
        }),
        Data::Reopen(reopen) => reopen.reason.clone(),
        Data::Extend(extend) => Some(format!("expires {}", timestamp(extend.expires_at))),
        Data::Purge(purge) => Some(if purge.asked {
            format!("asked: {}", purge.reason)
        } else {
            purge.reason.clone()
        }),
        Data::Approve(approve) => approve.reason.clone(),
        Data::Patch(patch) => {
            let first = patch.written.first()?.path.display().to_string();
            Some(match patch.written.len() {
                1 => first,
                n => format!("{first} and {} more", n - 1),
            })
        }
        _ => None,
    }
}
