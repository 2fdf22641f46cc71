//! All tools, with all that front ends need to list and call them.

use chrono::{DateTime, Utc};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::codes;
use super::readonly_shell::ShellContext;
use crate::app::Session;
use crate::error::{Error, Result};
use crate::tools;

pub struct Tool {
    /// The name, then aliases: earlier names, and names without the dot, which some clients refuse.
    pub names: &'static [&'static str],
    /// Read by models.
    pub description: &'static str,
    pub form: OutputFormat,
    /// No file, proposal or event changes.
    pub read_only: bool,
    /// May lose content that git has no copy of.
    pub destructive: bool,
    pub input: fn() -> Schema,
    pub run: ToolCall,
}

#[derive(Clone, Copy)]
pub enum OutputFormat {
    Json,
    Yaml(fn(&Error) -> Value),
}

pub enum ToolCall {
    /// Takes the name that the caller used.
    Repository(fn(&Session<'_>, &str, Value) -> Result<Value>),
    /// Needs no repository.
    Command(fn(ShellContext<'_>, DateTime<Utc>, Value) -> Result<Value>),
}

const COMMON: Tool = Tool {
    names: &[],
    description: "",
    form: OutputFormat::Json,
    read_only: false,
    destructive: false,
    input: input_schema::<()>,
    run: ToolCall::Repository(|_, _, arguments| Ok(arguments)),
};

pub static TOOLS: &[Tool] = &[
    Tool {
        names: &["changes", "propose_change", "review_changes"],
        description: "Propose changes of files for a person to review, and list the proposals. apply \
                      and reject mark a proposal; a person still decides.",
        input: input_schema::<tools::changes::Request>,
        run: ToolCall::Repository(tools::changes::call),
        ..COMMON
    },
    Tool {
        names: &["apply_patch"],
        description: "Apply a patch to the repository: a unified diff or a *** Begin Patch envelope, \
                      all of it or nothing. Where direct writes are gated, it becomes a proposal for \
                      a person to review.",
        form: OutputFormat::Yaml(tools::apply_patch::failure),
        destructive: true,
        input: input_schema::<tools::apply_patch::Parameters>,
        run: ToolCall::Repository(|session, _, arguments| {
            tools::apply_patch::call(session, None, arguments)
        }),
        ..COMMON
    },
    Tool {
        names: &["readonly_shell"],
        description: "Run a shell command that can only read (ls, cat, grep, find, git log, …), in \
                      a sandbox. Anything else is refused, with what to write instead.",
        form: OutputFormat::Yaml(tools::readonly_shell::failure),
        read_only: true,
        input: input_schema::<tools::readonly_shell::Parameters>,
        run: ToolCall::Command(tools::readonly_shell::answer),
        ..COMMON
    },
    Tool {
        names: &["update_plan"],
        description: "Replace the task plan of this branch: a list of steps, each pending, \
                      in_progress (at most one) or completed.",
        form: OutputFormat::Yaml(|error| {
            tools::failure::yaml_failure(json!({ "status": "error" }), error)
        }),
        input: input_schema::<tools::update_plan::Parameters>,
        run: ToolCall::Repository(|session, _, arguments| {
            tools::update_plan::call(session, arguments)
        }),
        ..COMMON
    },
    Tool {
        names: &tools::memory_propose_update::NAMES,
        description: "Propose structured edits of the project's memory files. Each operation is \
                      validated and scanned for secrets; the proposal is then applied, or staged for \
                      a person to review. A rejection is an answer with a reason.",
        input: input_schema::<crate::memory::Request>,
        run: ToolCall::Repository(|session, _, arguments| {
            tools::memory_propose_update::call(session, arguments)
        }),
        ..COMMON
    },
    Tool {
        names: &["show"],
        description: "Show a proposal: its diff, its state, the decision with the reason, and all comments.",
        read_only: true,
        input: input_schema::<tools::show::Parameters>,
        run: ToolCall::Repository(|session, _, arguments| tools::show::call(session, arguments)),
        ..COMMON
    },
    Tool {
        names: &["revise"],
        description: "Give a pending proposal of your own new content, when a reviewer asked for changes or you \
                      found something better. The edits are made on the files as they are now.",
        input: input_schema::<tools::revise::Parameters>,
        run: ToolCall::Repository(|session, _, arguments| tools::revise::call(session, arguments)),
        ..COMMON
    },
    Tool {
        names: &["comment"],
        description: "Comment on a pending proposal, as a whole or at a line; for example in answer to a \
                      reviewer.",
        input: input_schema::<tools::comment::Parameters>,
        run: ToolCall::Repository(|session, _, arguments| tools::comment::call(session, arguments)),
        ..COMMON
    },
    Tool {
        names: &[tools::wait::NAME],
        description: "Wait until a proposal is decided: applied, rejected with a reason, or sent back for changes. \
                      Says what the reviewer made of it.",
        read_only: true,
        input: input_schema::<tools::wait::Parameters>,
        run: ToolCall::Repository(|session, _, arguments| tools::wait::call(session, arguments)),
        ..COMMON
    },
    Tool {
        names: &["memory.search", "memory_search"],
        description: "Search the project's memory: the sections that answer a question.",
        read_only: true,
        input: input_schema::<tools::memory_search::Parameters>,
        run: ToolCall::Repository(|session, _, arguments| {
            tools::memory_search::call(session, arguments)
        }),
        ..COMMON
    },
];

impl Tool {
    pub fn find(name: &str) -> Result<&'static Self> {
        TOOLS.iter().find(|tool| tool.names.contains(&name)).ok_or_else(|| {
            let known: Vec<&str> = TOOLS.iter().flat_map(|tool| tool.names).copied().collect();
            let shown: String = name.chars().take(60).collect();
            Error::new(&codes::UNKNOWN_TOOL, format!("there is no tool '{shown}'"))
                .hint(format!("tools: {}", known.join(", ")))
        })
    }

    /// JSON Schema as a single object.
    pub fn parameters(&self) -> Value {
        tools::schema::input((self.input)().to_value())
    }

    pub fn failure(&self, error: &Error) -> Value {
        match self.form {
            OutputFormat::Json => tools::failure::json_failure(error),
            OutputFormat::Yaml(failure) => failure(error),
        }
    }

    pub fn name(&self) -> &'static str {
        self.names[0]
    }

    /// Without dots, for every client.
    pub fn plain_name(&self) -> &'static str {
        self.names.iter().find(|name| !name.contains('.')).unwrap_or(&self.names[0])
    }
}

/// Declares the schema an object: a choice of objects does not, and clients require it.
fn input_schema<T: JsonSchema>() -> Schema {
    // Clients resolve no references.
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
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
}
