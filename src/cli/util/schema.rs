//! `aye util schema`: the JSON Schemas of what `--json` and `--yaml` print, and of what the tools take.
//!
//! A schema is derived from the very type that is printed or read, and kept in `schemas/` (see [`schemas`]). Who adds
//! an output adds a line to [`PUBLISHED`]; tools come from their registry.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::generate::SchemaSettings;
use serde::Serialize;

use super::{codes, man};
use crate::cli::memory::{Answer as Memory, answers as memory};
use crate::cli::{self, Context, Format};
use crate::error::{Error, Exit, Result, codes as error_codes};
use crate::schemas;
use crate::tools::registry::{self, TOOLS};

/// Which schema.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the schema (`list`, or `aye/list@1`); without it, the names of all.
    name: Option<String>,
    /// Write all schemas into this directory instead, one file each.
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    all: Option<PathBuf>,
}

/// What the name of the schema of a tool's answers ends with.
const OUTPUT: &str = "-output";

/// One published schema.
#[derive(Clone)]
pub struct Published {
    /// Its name without the prefix, for example `list` of `aye/list@1`.
    pub name: Cow<'static, str>,
    /// Its version: raised only by a change that is not additive.
    pub version: u32,
    /// What prints it.
    pub about: Cow<'static, str>,
}

impl Published {
    /// The name as it stands in the `schema` field of the output: `aye/<name>@<version>`.
    pub fn id(&self) -> String {
        format!("aye/{}@{}", self.name, self.version)
    }

    /// The schema, as one JSON document of JSON Schema 2020-12.
    ///
    /// # Errors
    /// `internal_error` if `schemas/` lacks it.
    pub fn document(&self) -> Result<serde_json::Value> {
        schemas::document(&self.name, self.version)
            .ok_or_else(|| Error::bug(format!("schemas/ has no {}", self.id())))
    }

    /// The same from `schema`, which its type gives.
    fn of(&self, mut schema: schemars::Schema) -> serde_json::Value {
        schema.insert("$id".into(), self.id().into());
        // The `schema` field says which one this is; that of a tool's answer, that of the command's.
        if !self.name.ends_with(OUTPUT)
            && let Some(property) = schema.pointer_mut("/properties/schema")
        {
            *property = serde_json::json!({ "const": self.id() });
        }
        schema.to_value()
    }
}

/// What is printed, so what is serialised.
fn of<T: schemars::JsonSchema>() -> schemars::Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// What the tools take and answer, as `aye call` and other front ends give and get it.
fn tools() -> impl Iterator<Item = Published> {
    let ends = [("-input", "arguments"), (OUTPUT, "answers")];
    TOOLS.iter().flat_map(move |tool| {
        ends.map(|(end, what)| Published {
            name: format!("{}{end}", tool.name()).into(),
            version: 1,
            about: format!("{what} of the tool `{}`", tool.name()).into(),
        })
    })
}

/// Every output with a published schema, and all inputs and outputs of tools.
fn all() -> impl Iterator<Item = Published> {
    PUBLISHED.iter().cloned().chain(tools())
}

/// All published schemas by the names of their files in `schemas/`, as their types give them: what that directory
/// is held to.
pub fn derived() -> BTreeMap<String, serde_json::Value> {
    let inputs = TOOLS.iter().map(|tool| (tool.input)());
    let tools = inputs.zip(registry::outputs()).flat_map(|(input, output)| [input, output]);
    let all = all().zip(of_commands().into_iter().chain(tools));
    let named = |(published, schema): (Published, _)| {
        let file = format!("{}.{}.json", published.name, published.version);
        (file, published.of(schema))
    };
    all.map(named).collect()
}

macro_rules! published {
    ($(#[$doc:meta])* $all:ident, $of:ident by $generate:ident:
     $($(#[$meta:meta])* $name:literal @ $version:literal = $type:ty, $about:literal;)*) => {
        $(#[$doc])*
        pub static $all: &[Published] = &[$(
            $(#[$meta])*
            Published { name: Cow::Borrowed($name), version: $version, about: Cow::Borrowed($about) },
        )*];

        /// The schemas of these, in the same order.
        fn $of() -> Vec<schemars::Schema> {
            vec![$($(#[$meta])* $generate::<$type>(),)*]
        }
    };
}

published! {
    /// Every output with a published schema, by name.
    PUBLISHED, of_commands by of:
    "apply" @ 1 = cli::apply::answer::Answer, "`apply`: what was written, per proposal and file";
    "agents" @ 1 = cli::agents::Answer, "`agents install`, `remove`, `show`: where aye's hooks are";
    "approve" @ 1 = cli::approve::Answer, "`approve`: what was approved, and what would be written";
    "apply_patch" @ 1 = crate::tools::apply_patch::Answer, "`patch` and the apply_patch tool: what was applied, per file and hunk, or why nothing was";
    "check" @ 1 = crate::report::Document<'static>, "`check`: findings";
    "memory-lint" @ 1 = crate::report::Document<'static>, "`memory lint`: findings";
    "scan" @ 1 = crate::report::Document<'static>, "`scan`: findings";
    "error" @ 1 = crate::tools::failure::Common, "all commands and tools but those that answer in YAML: what went wrong";
    "hooks" @ 1 = cli::hooks::Document, "`hooks`: what is installed, and what was done";
    "plan" @ 1 = cli::plan::Document, "`plan`: the steps, their state and their proposals";
    "plan_log" @ 1 = cli::plan::LogDocument, "`plan log`: every version and what it changed";
    "try" @ 1 = cli::try_::Document, "`try`: how the command ended";
    "update_plan" @ 1 = crate::tools::update_plan::Published, "the `update_plan` tool";
    "wait-any" @ 1 = crate::app::wait::Arrived, "`wait --any`: what is pending now and was not";
    "wait" @ 1 = crate::app::wait::Document, "`wait`: the decision, and what was said";
    "codes" @ 1 = codes::Codes, "`util codes`: exit statuses and error codes";
    "comment" @ 1 = crate::app::comment::Commented, "`comment`: what was said";
    "deinit" @ 1 = cli::deinit::Answer, "`deinit`: what was removed";
    "gc" @ 1 = cli::gc::Answer, "`gc`: what was folded";
    "demo" @ 1 = cli::demo::Demo, "`demo`: the scratch repository and what was done in it";
    "diff" @ 1 = cli::diff::Document<'static>, "`diff`: the files that change, and the patch";
    "doctor" @ 1 = cli::doctor::Diagnosis, "`doctor`: what was found, and repaired";
    "import" @ 1 = cli::import::Answer, "`import`: the results that were recorded";
    "list" @ 1 = crate::app::listing::List, "`list`: proposals";
    "log" @ 1 = cli::log::Log, "`log`: events";
    "blame" @ 1 = cli::blame::Document, "`blame`: where each line of a file is from";
    "init" @ 1 = cli::init::Ready, "`init`: what was made, and what to do next";
    "mangen" @ 1 = man::Mangen, "`util mangen`: the man pages written";
    "memory-apply" @ 1 = Memory<crate::memory::Response>, "`memory apply`: the contract's response";
    "memory-blame" @ 1 = Memory<memory::Blame>, "`memory blame`: who wrote which line, and why";
    "memory-context" @ 1 = Memory<crate::memory::context::Pack>, "`memory context`: what fits the budget";
    "memory-import" @ 1 = Memory<memory::Imported>, "`memory import`: the sections found, and what became of each";
    "memory-init" @ 1 = Memory<memory::Initialized>, "`memory init`: the files made";
    "memory-log" @ 1 = Memory<memory::Log>, "`memory log`: changes of the memory";
    "memory-propose" @ 1 = Memory<crate::memory::Response>, "`memory propose` and `stage`: the contract's response";
    "memory-rebase" @ 1 = Memory<crate::memory::Response>, "`memory rebase`: the contract's response";
    "memory-reject" @ 1 = Memory<memory::Rejected>, "`memory reject`: what was rejected";
    "memory-search" @ 1 = Memory<crate::tools::memory_search::Found>, "`memory search`: what was found";
    "memory-section" @ 1 = Memory<memory::Sections>, "`memory show STORE:PATH`: sections of another store";
    "memory-show" @ 1 = Memory<memory::Shown>, "`memory show`: files, sections, or a staged proposal";
    "memory-status" @ 1 = Memory<crate::memory::service::Status>, "`memory status`: what is staged, and the state of the memory";
    "memory-sweep" @ 1 = Memory<memory::Swept>, "`memory sweep`: stale sections";
    "memory-undo" @ 1 = Memory<memory::Undone>, "`memory undo`: what was restored";
    "proposal" @ 1 = crate::proposal::document::Document, "`show`: everything about one proposal";
    "propose" @ 1 = crate::tools::propose::Proposed, "`propose`: what was proposed";
    "rebase" @ 1 = cli::rebase::Rebased, "`rebase`: what the proposal is now";
    "reject" @ 1 = cli::reject::Rejected, "`reject`: what was rejected";
    "publish" @ 1 = cli::publish::Answer, "`publish`: whom a proposal is for now";
    "session" @ 1 = cli::session::Shown, "`session show`: a session and what is in its tree";
    "session-end" @ 1 = cli::session::Done, "`session end`: what was removed";
    "session-submit" @ 1 = cli::session::Done, "`session submit`: what was proposed";
    "session-sync" @ 1 = cli::session::Synced, "`session sync`: what followed the checkout";
    "spooled" @ 1 = cli::propose::Spooled, "`propose` in a session, where `.git` cannot be written: proposed later";
    "sessions" @ 1 = cli::session::List, "`session list`: the sessions";
    "restore" @ 1 = cli::restore::Restored, "`restore`: what was brought back";
    "reopen" @ 1 = crate::tools::withdraw::Answer, "`reopen`: what is pending again";
    "rules" @ 1 = super::rules::Rules, "`util rules`: who may do what";
    "withdraw" @ 1 = crate::tools::withdraw::Answer, "`withdraw`: what was withdrawn";
    "revise" @ 1 = crate::tools::revise::Revised, "`revise`: the new revision";
    "purge" @ 1 = cli::purge::Answer, "`purge`: what is gone, what is left and where";
    "review" @ 1 = cli::review::Waiting, "`review` without a terminal: what is pending, and the commands";
    "status" @ 1 = cli::status::Document, "`status`: how many proposals are pending";
    "schemas" @ 1 = Schemas, "`util schema`: the list of schemas";
    "undo" @ 1 = cli::apply::answer::Answer, "`undo`: what was restored, per file";
    #[cfg(unix)]
    "readonly_shell" @ 1 = crate::tools::readonly_shell::Published, "`shell`, the `readonly_shell` tool";
    #[cfg(unix)]
    "shell_explain" @ 1 = crate::cli::shell::Explanation, "`shell --explain`: what was decided and why";
    #[cfg(unix)]
    "shell_programs" @ 1 = crate::cli::shell::Programs, "`shell --programs`: what may run";
}

/// The output of `aye util schema` without a name.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Schemas {
    /// `aye/schemas@1`.
    pub schema: &'static str,
    /// The published schemas.
    pub schemas: Vec<Row>,
}

/// One schema.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Row {
    /// The value of the `schema` field, for example `aye/list@1`.
    pub id: String,
    /// What prints it.
    pub about: Cow<'static, str>,
}

/// Prints one schema, or their names, or writes them all.
///
/// # Errors
/// `unknown_schema`, `usage` where a file is in the way, `io_error`.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    if let Some(directory) = args.all {
        return write_all(&directory);
    }
    let Some(name) = args.name else {
        let rows = all().map(|p| Row { id: p.id(), about: p.about });
        let list = Schemas { schema: "aye/schemas@1", schemas: rows.collect() };
        let text = || list.schemas.iter().map(|r| format!("{:30}  {}\n", r.id, r.about)).collect();
        context.emit(Format::Text, &list, text)?;
        return Ok(Exit::Done);
    };
    let found = all().find(|p| p.name == name || p.id() == name).ok_or_else(|| {
        Error::new(&error_codes::UNKNOWN_SCHEMA, format!("there is no schema {name:?}"))
            .hint("`aye util schema` lists them")
    })?;
    context.emit(Format::Json, &found.document()?, String::new)?;
    Ok(Exit::Done)
}

fn write_all(directory: &std::path::Path) -> Result<Exit> {
    super::make(directory)?;
    for published in all() {
        let file = directory.join(format!("{}.{}.json", published.name, published.version));
        let text = serde_json::to_string_pretty(&published.document()?)
            .map_err(|e| Error::bug(e.to_string()))?;
        std::fs::write(&file, text + "\n")
            .map_err(|e| Error::io(format!("write {}", file.display()), &e))?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_describes_an_object_that_names_its_schema() {
        for published in PUBLISHED {
            // The answers of tools are the contracts' own, which have no such field, and so are errors.
            let without = ["apply_patch", "error", "readonly_shell", "update_plan"];
            if without.contains(&&*published.name) {
                continue;
            }
            let document = published.document().unwrap();
            assert_eq!(document["type"], "object", "{}", published.name);
            let constant = &document["properties"]["schema"]["const"];
            assert_eq!(constant, &serde_json::json!(published.id()), "{}", published.name);
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = all().map(|p| p.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().count());
    }
}
