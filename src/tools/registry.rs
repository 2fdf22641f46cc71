//! The tools: for each, all that a front end needs to list and to call it.

use chrono::{DateTime, Utc};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::{
    apply_patch, changes, codes, comment, failure, list, memory_fetch_context,
    memory_propose_update, memory_search, memory_status, propose, revise, schema, show,
    update_plan, wait,
};
use crate::app::Session;
use crate::error::{Error, Exit, Result};

/// A tool.
pub struct Tool {
    /// Its name, then its aliases: earlier names, and names without the dot that some clients refuse.
    pub names: &'static [&'static str],
    /// What it does, for a model that is to choose a tool.
    pub description: &'static str,
    /// What its contract prints answers as.
    pub form: Form,
    /// Nothing is changed by a call: no file, no proposal, no event.
    pub reads_only: bool,
    /// A call may overwrite or delete what git has no copy of.
    pub destroys: bool,
    /// No argument is required, so that nothing at all is as good as `{}`.
    pub bare: bool,
    /// The JSON Schema of its arguments, from the type that they are read into.
    pub input: fn() -> Schema,
    /// An error as its contract has it.
    pub failure: fn(&Error) -> Value,
    /// Calls it.
    pub run: Run,
}

/// How a contract prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// How a tool is called, by what it needs from the front end.
pub enum Run {
    /// In a repository, under the name that the caller used (one of [`Tool::names`]), with the
    /// arguments.
    Repository(fn(&Session<'_>, &str, Value) -> Result<Value>),
    /// Anywhere, with what commands may depend on, at a time.
    Command(fn(super::readonly_shell::Surroundings<'_>, DateTime<Utc>, Value) -> Result<Answer>),
}

/// What a tool answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The contract's response.
    pub value: Value,
    /// Anything but [`Exit::Done`] if the response says that the call was refused or failed.
    pub exit: Exit,
}

/// All tools, in the order in which they are listed.
pub static TOOLS: &[Tool] = &[
    Tool {
        names: &["apply_patch"],
        description: "Apply a patch to the repository: a unified diff or a *** Begin Patch envelope, \
                      all of it or nothing. Where direct writes are gated, it becomes a proposal for \
                      a person to review.",
        form: Form::Yaml,
        reads_only: false,
        destroys: true,
        bare: false,
        input: reads::<apply_patch::Parameters>,
        failure: apply_patch::failure,
        run: Run::Repository(|session, _, arguments| apply_patch::call(session, None, arguments)),
    },
    Tool {
        names: &["changes", "propose_change", "review_changes"],
        description: "Propose changes of files for a person to review, and list the proposals. apply \
                      and reject mark a proposal; a person still decides.",
        form: Form::Json,
        reads_only: false,
        destroys: false,
        bare: false,
        input: reads::<changes::Request>,
        failure: failure::common,
        run: Run::Repository(changes::call),
    },
    Tool {
        names: &memory_propose_update::NAMES,
        description: "Propose structured edits of the project's memory files. Each operation is \
                      validated and scanned for secrets; the proposal is then applied, or staged for \
                      a person to review. A rejection is an answer with a reason.",
        form: Form::Json,
        reads_only: false,
        destroys: false,
        bare: false,
        input: reads::<crate::memory::Request>,
        failure: failure::common,
        run: Run::Repository(|session, _, arguments| {
            memory_propose_update::call(session, arguments)
        }),
    },
    Tool {
        names: &memory_fetch_context::NAMES,
        description: "Read the project's memory: what to know at the start of a task, or what \
                      answers a question, within a budget of characters.",
        form: Form::Json,
        reads_only: true,
        destroys: false,
        bare: true,
        input: reads::<memory_fetch_context::Parameters>,
        failure: failure::common,
        run: Run::Repository(|session, _, arguments| {
            memory_fetch_context::call(session, arguments)
        }),
    },
    Tool {
        names: &memory_status::NAMES,
        description: "Show the state of the project's memory: its files, what is staged, and what \
                      was decided on earlier proposals.",
        form: Form::Json,
        reads_only: true,
        destroys: false,
        bare: true,
        input: reads::<memory_status::Parameters>,
        failure: failure::common,
        run: Run::Repository(|session, _, arguments| memory_status::call(session, arguments)),
    },
    Tool {
        names: &memory_search::NAMES,
        description: "Search the project's memory: the sections that answer a question.",
        form: Form::Json,
        reads_only: true,
        destroys: false,
        bare: false,
        input: reads::<memory_search::Parameters>,
        failure: failure::common,
        run: Run::Repository(|session, _, arguments| memory_search::call(session, arguments)),
    },
    Tool {
        names: &[super::readonly_shell::NAME],
        description: "Run a shell command that can only read (ls, cat, grep, find, git log, …), in \
                      a sandbox. Anything else is refused, with what to write instead.",
        form: Form::Yaml,
        reads_only: true,
        destroys: false,
        bare: false,
        input: reads::<super::readonly_shell::Parameters>,
        failure: failure::plain,
        run: Run::Command(super::readonly_shell::answer),
    },
    Tool {
        names: &[update_plan::NAME],
        description: "Replace the task plan of this branch: a list of steps, each pending, \
                      in_progress (at most one) or completed.",
        form: Form::Yaml,
        reads_only: false,
        destroys: false,
        bare: false,
        input: reads::<update_plan::Parameters>,
        failure: failure::plain,
        run: Run::Repository(|session, _, arguments| update_plan::call(session, arguments)),
    },
    Tool {
        names: &[propose::NAMES[0]],
        description: "Propose edits of one or several files as one change for a person to review. Files stay as \
                      they are until it is applied; use this instead of writing them.",
        form: Form::Json,
        reads_only: false,
        destroys: false,
        bare: false,
        input: reads::<propose::Parameters>,
        failure: failure::common,
        run: Run::Repository(|session, _, arguments| propose::call(session, arguments)),
    },
    Tool {
        names: &[propose::NAMES[1]],
        description: "Propose a patch for a person to review: a unified diff or a *** Begin Patch envelope.",
        form: Form::Json,
        reads_only: false,
        destroys: false,
        bare: false,
        input: reads::<propose::PatchParameters>,
        failure: failure::common,
        run: Run::Repository(|session, _, arguments| propose::call_patch(session, arguments)),
    },
    Tool {
        names: &[revise::NAME],
        description: "Give a pending proposal of your own new content, when a reviewer asked for changes or you \
                      found something better. The edits are made on the files as they are now.",
        form: Form::Json,
        reads_only: false,
        destroys: false,
        bare: false,
        input: reads::<revise::Parameters>,
        failure: failure::common,
        run: Run::Repository(|session, _, arguments| revise::call(session, arguments)),
    },
    Tool {
        names: &[comment::NAME],
        description: "Comment on a pending proposal, as a whole or at a line; for example in answer to a \
                      reviewer.",
        form: Form::Json,
        reads_only: false,
        destroys: false,
        bare: false,
        input: reads::<comment::Parameters>,
        failure: failure::common,
        run: Run::Repository(|session, _, arguments| comment::call(session, arguments)),
    },
    Tool {
        names: &[list::NAME],
        description: "List proposals, the newest first, without their content: what is pending, what was applied \
                      or rejected.",
        form: Form::Json,
        reads_only: true,
        destroys: false,
        bare: true,
        input: reads::<list::Parameters>,
        failure: failure::common,
        run: Run::Repository(|session, _, arguments| list::call(session, arguments)),
    },
    Tool {
        names: &[show::NAME],
        description: "Show a proposal: its diff, its state, the decision with the reason, and all comments.",
        form: Form::Json,
        reads_only: true,
        destroys: false,
        bare: false,
        input: reads::<show::Parameters>,
        failure: failure::common,
        run: Run::Repository(|session, _, arguments| show::call(session, arguments)),
    },
    Tool {
        names: &[wait::NAME],
        description: "Wait until a proposal is decided: applied, rejected with a reason, or sent back for changes. \
                      Says what the reviewer made of it.",
        form: Form::Json,
        reads_only: true,
        destroys: false,
        bare: false,
        input: reads::<wait::Parameters>,
        failure: failure::common,
        run: Run::Repository(|session, _, arguments| wait::call(session, arguments)),
    },
];

impl Tool {
    /// The tool of that name or alias.
    ///
    /// # Errors
    /// `unknown_tool`.
    pub fn find(name: &str) -> Result<&'static Self> {
        TOOLS.iter().find(|tool| tool.names.contains(&name)).ok_or_else(|| {
            let known: Vec<&str> = TOOLS.iter().flat_map(|tool| tool.names).copied().collect();
            let shown: String = name.chars().take(60).collect();
            Error::new(&codes::UNKNOWN_TOOL, format!("there is no tool '{shown}'"))
                .hint(format!("tools: {}", known.join(", ")))
        })
    }

    /// The JSON Schema of its arguments as clients and their models take it: one object.
    pub fn parameters(&self) -> Value {
        schema::input((self.input)().to_value())
    }

    /// The contract's own name.
    pub fn name(&self) -> &'static str {
        self.names[0]
    }
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self { value, exit: Exit::Done }
    }
}

/// The schema of what is read into a `T`.
fn reads<T: JsonSchema>() -> Schema {
    object(SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>())
}

/// `schema`, which says that it is of an object: a choice between objects does not by itself, and
/// clients want to know before they choose.
fn object(mut schema: Schema) -> Schema {
    schema.insert("type".to_owned(), "object".into());
    schema
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_leads_to_one_tool() {
        let names: Vec<&str> = TOOLS.iter().flat_map(|tool| tool.names).copied().collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for name in names {
            assert!(Tool::find(name).unwrap().names.contains(&name));
        }
        assert!(Tool::find("chnages").is_err_and(|error| error.is(&codes::UNKNOWN_TOOL)));
    }

    #[test]
    fn every_tool_without_a_required_argument_is_bare() {
        for tool in TOOLS {
            let input = (tool.input)().to_value();
            let requires = input["required"].as_array().is_some_and(|names| !names.is_empty());
            let is_choice = input.get("oneOf").is_some();
            assert_eq!(tool.bare, !requires && !is_choice, "{}", tool.name());
        }
    }
}
