//! Tool calls of `aye call` and `aye mcp`.

use serde_json::Value;

use super::Context;
use super::agents::hook_gate;
use crate::actor::AYE_AGENT;
use crate::app::Session;
use crate::error::Result;
use crate::mcp::client;
use crate::proposal::{ActorKind, Caller};
use crate::repository::Repository;
use crate::tools::registry::{Tool, ToolCall};
use crate::tools::{apply_patch, argument_faults, memory_propose_update};

/// A client is always an agent.
#[derive(Clone, Copy, Debug)]
pub struct Client<'a> {
    /// The name that the client gives itself.
    pub name: Option<&'a str>,
}

/// Only the tool server has a `client`.
pub fn run(
    context: &Context,
    tool: &Tool,
    name: &str,
    arguments: Value,
    client: Option<Client<'_>>,
) -> Result<Value> {
    let outline = argument_faults::outline(&arguments);
    carry_out(context, tool, name, arguments, client)
        .map_err(|error| argument_faults::explain(error, tool, &outline))
}

fn carry_out(
    context: &Context,
    tool: &Tool,
    name: &str,
    arguments: Value,
    client: Option<Client<'_>>,
) -> Result<Value> {
    match tool.run {
        ToolCall::Repository(run) => {
            let named = |error| context.name_sandbox(error);
            let says = |key: &str, value: Value| arguments.get(key) == Some(&value);
            let proposes = ["revise", "propose_change"].contains(&name)
                || memory_propose_update::NAMES.contains(&name)
                || name == "apply_patch" && says("propose", true.into())
                || says("action", "propose".into());
            let store = match name {
                _ if proposes => context.store_to_edit()?,
                "apply_patch" => context.store_to_patch()?,
                _ => context.store()?,
            };
            crate::failpoint!("tool.called");
            let session = Session {
                store: &store,
                caller: caller(context, store.repository(), client),
                now: context.now,
            };
            let gate = match name {
                "apply_patch" => hook_gate(context, &store, &session.caller),
                _ => None,
            };
            let answer = match gate {
                Some(_) => apply_patch::call(&session, gate, arguments),
                None => run(&session, name, arguments),
            };
            answer.map_err(named)
        }
        ToolCall::Command(run) => {
            run(&|| super::shell::shell_inputs(context), context.now, arguments)
        }
    }
}

/// The agents' way in: a caller without a marker is `agent`, as in the contract's `proposed_by`,
/// never the person whose git identity is configured.
fn caller(context: &Context, repository: &Repository, client: Option<Client<'_>>) -> Caller {
    let mut caller = Caller { tool: true, ..context.caller(repository) };
    if caller.marker.as_deref() == Some(AYE_AGENT) {
        return caller;
    }
    let Some(Client { name }) = client else {
        if caller.marker.is_none() {
            (caller.actor.name, caller.actor.kind) = ("agent".to_owned(), ActorKind::Agent);
        }
        return caller;
    };
    // The client's own name wins: another agent may have started it.
    match name.and_then(client::agent) {
        Some(agent) => (caller.actor.name, caller.marker) = (agent, Some("clientInfo".to_owned())),
        None if caller.marker.is_none() => {
            (caller.actor.name, caller.marker) = ("agent".to_owned(), Some("aye mcp".to_owned()));
        }
        None => {}
    }
    caller.actor.kind = ActorKind::Agent;
    caller
}
