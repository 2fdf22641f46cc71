//! JSON form of `aye log`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::proposal::event::{Effect, Verdict, timestamp};
use crate::proposal::{ActorKind, DEFAULT_LIFETIME, Data, Statement};
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
    /// The commit that is the event.
    pub event: String,
    /// Kind of event.
    pub kind: String,
    /// The proposal of the event.
    pub proposal_id: Option<String>,
    /// First line of its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Time of the event.
    pub at: String,
    /// Name of the actor.
    pub by: String,
    /// E-mail address of the actor.
    pub email: String,
    /// Kind of actor: person, agent or build machine.
    pub actor_kind: ActorKind,
    /// The session that the agent's harness names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model that the agent's harness names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The clone that it was written in.
    pub clone: String,
    /// Text of the event: a reason, a comment, a description.
    pub text: Option<String>,
    /// The id of a direct patch, in the events that write it or take it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_id: Option<String>,
    /// Evidence that the actor decided: `terminal`, `flag`, `tool` or `hook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Effect of a decision besides its record: `files`, `index`, `commit`, or `mark_only`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// SHA-256 of the decision statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
}

impl LogItem {
    /// True for a tool's report, which decides nothing.
    pub(super) fn is_mark(&self) -> bool {
        self.effect == Some(Effect::MarkOnly) && self.evidence.as_deref() == Some("tool")
    }
}

impl From<&LogEntry> for LogItem {
    fn from(entry: &LogEntry) -> Self {
        let LogEntry { id, title, stamped } = entry;
        let event = &stamped.event;
        let papers = stamped.papers();
        let statement = papers.map(|papers| &papers.statement);
        // A proposal's undo that restores files ends a decision; a patch's ends none.
        let is_of_patch = matches!(event.data, Data::Patch(_))
            || statement.is_some_and(|it| {
                it.verdict == Verdict::Undo && it.ends.is_none() && it.manifest.is_some()
            });
        let evidence = match &event.data {
            Data::Patch(patch) => Some(&patch.evidence),
            Data::Purge(purge) => Some(&purge.evidence),
            _ => statement.map(|statement| &statement.evidence),
        };
        let is_of_proposal = !is_of_patch && !matches!(event.data, Data::Plan(_));
        Self {
            event: stamped.id.clone(),
            kind: event.data.kind().to_owned(),
            proposal_id: is_of_proposal.then(|| id.to_string()),
            title: title.clone(),
            at: timestamp(event.time),
            by: event.actor.name.clone(),
            email: event.actor.email.clone(),
            actor_kind: event.actor.kind,
            session: event.agent.as_ref().and_then(|run| run.session.clone()),
            model: event.agent.as_ref().and_then(|run| run.model.clone()),
            clone: event.clone.clone(),
            text: text(&event.data, statement),
            patch_id: is_of_patch.then(|| id.of_patch()),
            evidence: evidence.map(|evidence| evidence.as_str().to_owned()),
            effect: statement.and_then(|statement| statement.effect),
            statement: papers.map(|papers| papers.sha256.clone()),
        }
    }
}

fn text(data: &Data, statement: Option<&Statement>) -> Option<String> {
    match data {
        Data::Propose(propose) => propose.description.clone(),
        Data::Revise(revise) => {
            let said = revise.note.clone().or(revise.description.clone());
            said.or(Some(revise.reason.as_str().to_owned()))
        }
        Data::Comment(comment) => Some(comment.body.clone()),
        Data::Decision(said) => match said.verdict {
            Verdict::Extend => {
                let until = statement?.time + DEFAULT_LIFETIME;
                Some(format!("expires {}", timestamp(until)))
            }
            _ => said.reason.clone().or_else(|| statement?.reason.clone()),
        },
        Data::Check(check) => {
            let code = check.exit_code.map_or("a signal".into(), |code| code.to_string());
            let runner = check.imported.as_ref().map(|imported| &imported.by);
            let of =
                runner.map(|by| format!(" (imported, run by {} {})", by.kind.as_str(), by.name));
            Some(format!("{}: {code}{}", check.command.join(" "), of.unwrap_or_default()))
        }
        Data::Committed(committed) => Some(committed.commit.clone()),
        Data::Purge(purge) => Some(if purge.asked {
            format!("asked: {}", purge.reason)
        } else {
            purge.reason.clone()
        }),
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
