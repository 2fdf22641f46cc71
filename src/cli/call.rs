//! `aye call`: any public tool contract by name. JSON in, the contract's response out.

use std::io::IsTerminal as _;

use serde_json::Value;

use super::{Context, Format, output, paths};
use crate::app::Session;
use crate::error::{Error, Exit, Result, codes};
use crate::proposal::{ActorKind, Caller};
use crate::store::Store;
use crate::tools::{
    self, apply_patch, changes, json, memory_fetch_context, memory_propose_update, memory_status,
    update_plan,
};

/// Largest request, in bytes.
const MOST: u64 = 64 << 20;

/// Call a tool by name: JSON in, the contract's response out.
///
/// A tool call decides nothing: apply and reject of the changes tool are recorded as marks, and a
/// person still decides. An agent's reject of its own proposal withdraws it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Tools:
  apply_patch                                             YAML
  changes (aliases propose_change, review_changes)        JSON
  memory.propose_update (alias memory_propose_update)     JSON
  memory.fetch_context (alias memory_fetch_context)       JSON
  memory.status (alias memory_status)                     JSON
  readonly_shell                                          YAML
  update_plan                                             YAML

Examples:
  aye call changes '{\"action\": \"list\", \"status\": \"pending\"}'
  aye call changes '{\"action\": \"apply\", \"proposal_id\": \"prop_m4k8n2c7qx\"}'    a mark
  aye call changes - < request.json
  echo '{\"name\": \"changes\", \"arguments\": {\"action\": \"list\"}}' | aye call changes")]
pub struct Args {
    /// The tool.
    #[arg(value_name = "TOOL")]
    pub tool: String,
    /// The arguments as JSON, alone or as {\"name\": …, \"arguments\": …}; - or nothing reads
    /// standard input.
    #[arg(value_name = "JSON")]
    pub request: Option<String>,
}

/// A tool, as `call` knows it.
struct Entry {
    names: &'static [&'static str],
    format: Format,
    call: fn(&mut Context, &str, Value) -> Result<Value>,
    /// No argument is required, so that nothing at all is as good as `{}`.
    bare: bool,
    /// The tool's own shape of an error; `None`: the one of JSON output.
    failure: Option<fn(&Error) -> Value>,
}

static TOOLS: &[Entry] = &[
    Entry {
        names: &["apply_patch"],
        format: Format::Yaml,
        bare: false,
        call: |context, _, arguments| {
            let store = context.store()?;
            apply_patch::call(&session(context, &store), arguments)
        },
        failure: Some(apply_patch::failure),
    },
    Entry {
        names: &["changes", "propose_change", "review_changes"],
        format: Format::Json,
        bare: false,
        call: |context, name, arguments| {
            let store = context.store()?;
            changes::call(&session(context, &store), name, arguments)
        },
        failure: None,
    },
    Entry {
        names: &memory_propose_update::NAMES,
        format: Format::Json,
        bare: false,
        call: |context, _, arguments| {
            let store = context.store()?;
            memory_propose_update::call(&session(context, &store), arguments)
        },
        failure: None,
    },
    Entry {
        names: &memory_fetch_context::NAMES,
        format: Format::Json,
        bare: true,
        call: |context, _, arguments| {
            let store = context.store()?;
            memory_fetch_context::call(&session(context, &store), arguments)
        },
        failure: None,
    },
    Entry {
        names: &memory_status::NAMES,
        format: Format::Json,
        bare: true,
        call: |context, _, arguments| {
            let store = context.store()?;
            memory_status::call(&session(context, &store), arguments)
        },
        failure: None,
    },
    Entry {
        names: &[update_plan::NAME],
        format: Format::Yaml,
        bare: false,
        call: |context, _, arguments| {
            let store = context.store()?;
            update_plan::call(&session(context, &store), &arguments)
        },
        failure: Some(tools::failure::plain),
    },
    #[cfg(unix)]
    Entry {
        names: &[crate::tools::readonly_shell::NAME],
        format: Format::Yaml,
        bare: false,
        call: super::shell::call,
        failure: Some(tools::failure::plain),
    },
];

/// The caller of a tool. This is the agents' way in: without a sign of which agent it is, the
/// caller is an agent called `agent`, as the contract's `proposed_by` has it, and never the
/// person whose git identity happens to be configured.
fn session<'a>(context: &Context, store: &'a Store) -> Session<'a> {
    let mut caller = Caller { tool: true, ..context.caller(store) };
    if caller.marker.is_none() {
        (caller.actor.name, caller.actor.kind) = ("agent".to_owned(), ActorKind::Agent);
    }
    Session { store, caller, now: context.now }
}

fn find(name: &str) -> Result<&'static Entry> {
    TOOLS.iter().find(|entry| entry.names.contains(&name)).ok_or_else(|| {
        let known: Vec<&str> = TOOLS.iter().flat_map(|entry| entry.names).copied().collect();
        let shown: String = name.chars().take(60).collect();
        Error::new(&tools::codes::UNKNOWN_TOOL, format!("there is no tool '{shown}'"))
            .hint(format!("tools: {}", known.join(", ")))
    })
}

/// Runs the command. Errors are printed in the tool's format too.
///
/// # Errors
/// `unknown_tool`, `invalid_json`, and the tool's own.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let entry = find(&args.tool).inspect_err(|_| {
        context.format.get_or_insert(Format::Json);
    })?;
    let format = *context.format.get_or_insert(entry.format);
    match (answer(context, entry, format, args), entry.failure) {
        (Err(error), Some(failure)) if format != Format::Text => {
            let text = output::structured(format, &failure(&error))?;
            context.print(text.as_bytes())?;
            Ok(error.code().exit)
        }
        (other, _) => other,
    }
}

fn answer(context: &mut Context, entry: &Entry, format: Format, args: Args) -> Result<Exit> {
    let bytes = match args.request {
        Some(text) if text != "-" => text.into_bytes(),
        None if entry.bare && std::io::stdin().is_terminal() => Vec::new(),
        None if std::io::stdin().is_terminal() => {
            return Err(Error::new(&codes::USAGE, "no arguments given")
                .hint(format!("aye call {} '{{…}}', or pipe the JSON in", args.tool)));
        }
        _ => paths::content(context, "-".as_ref(), MOST)?,
    };
    let hint = "give one JSON object; quote it for the shell, or pipe it in";
    let request = match entry.bare && bytes.trim_ascii().is_empty() {
        true => Value::Object(serde_json::Map::new()),
        false => json::read(&bytes, "the request", hint)?,
    };
    let (named, arguments) = tools::open_envelope(request)?;
    let name = named.unwrap_or_else(|| args.tool.clone());
    if !entry.names.contains(&name.as_str()) {
        let hint = match find(&name) {
            Ok(_) => format!("aye call {name} …"),
            Err(unknown) => unknown.hint_text().unwrap_or_default().to_owned(),
        };
        return Err(Error::new(
            &tools::codes::INVALID_PARAMETER,
            format!("the request names the tool '{name}', the command line '{}'", args.tool),
        )
        .hint(hint));
    }
    let response = (entry.call)(context, &name, arguments)?;
    let text = match format {
        Format::Text => output::structured(entry.format, &response)?,
        format => output::structured(format, &response)?,
    };
    context.print(text.as_bytes())?;
    Ok(Exit::Done)
}
