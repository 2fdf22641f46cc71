//! `aye util schema`: the JSON Schemas of the answers that are stable, and of what the tools take.
//!
//! A schema is derived from the very type that is printed or read. Who adds a stable answer adds a line to `ANSWERS`;
//! tools come from their registry.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::cli::memory::Answer as Memory;
use crate::cli::output::structured;
use crate::cli::{self, Context, Format};
use crate::error::{Error, Exit, Result, codes as error_codes};
use crate::tools::registry::TOOLS;

/// Which schema.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the schema (`list`, or `aye/list@1`); without it, the names of all.
    name: Option<String>,
}

/// One published schema.
#[derive(Clone)]
pub struct Published {
    /// Its name without the prefix, for example `list` of `aye/list@1`.
    pub name: Cow<'static, str>,
    /// What prints it.
    pub about: Cow<'static, str>,
    schema: fn() -> Schema,
}

impl Published {
    /// The name as it stands in the `schema` field of the output. The version is raised only by a change that is not
    /// additive.
    pub fn id(&self) -> String {
        format!("aye/{}@1", self.name)
    }

    /// The schema, as one document of JSON Schema 2020-12.
    pub fn document(&self) -> Value {
        let mut schema = (self.schema)();
        schema.insert("$id".into(), self.id().into());
        // The `schema` field says which one this is.
        if let Some(property) = schema.pointer_mut("/properties/schema") {
            *property = serde_json::json!({ "const": self.id() });
        }
        schema.to_value()
    }
}

const fn answer<T: schemars::JsonSchema>(name: &'static str, about: &'static str) -> Published {
    Published { name: Cow::Borrowed(name), about: Cow::Borrowed(about), schema: of::<T> }
}

/// What is printed, so what is serialised.
fn of<T: schemars::JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// What the tools take, as `aye call` and other front ends give it.
fn inputs() -> impl Iterator<Item = Published> {
    TOOLS.iter().map(|tool| Published {
        name: format!("{}-input", tool.name()).into(),
        about: format!("arguments of the tool `{}`", tool.name()).into(),
        schema: tool.input,
    })
}

fn all() -> impl Iterator<Item = Published> {
    ANSWERS.iter().cloned().chain(inputs())
}

/// All published schemas by the names of their files in `schemas/`.
pub fn derived() -> BTreeMap<String, Value> {
    all().map(|published| (format!("{}.1.json", published.name), published.document())).collect()
}

/// Every answer with a published schema.
static ANSWERS: &[Published] = &[
    answer::<cli::apply::answer::Answer>(
        "apply",
        "`apply`: what was written, per proposal and file",
    ),
    answer::<cli::approve::Answer>(
        "approve",
        "`approve`: what was approved, and what would be written",
    ),
    answer::<crate::report::Document<'static>>("check", "`check`: findings"),
    answer::<crate::report::Document<'static>>("scan", "`scan`: findings"),
    answer::<crate::tools::failure::Common>(
        "error",
        "all commands and tools but those that answer in YAML: what went wrong",
    ),
    answer::<cli::plan::Document>("plan", "`plan`: the steps, their state and their proposals"),
    answer::<cli::try_::Document>("try", "`try`: how the command ended"),
    answer::<crate::app::wait::Arrived>(
        "wait-any",
        "`wait --any`: what is pending now and was not",
    ),
    answer::<crate::app::wait::Document>("wait", "`wait`: the decision, and what was said"),
    answer::<crate::app::comment::Commented>("comment", "`comment`: what was said"),
    answer::<cli::diff::Document<'static>>("diff", "`diff`: the files that change, and the patch"),
    answer::<cli::doctor::Diagnosis>("doctor", "`doctor`: what was found, and repaired"),
    answer::<crate::app::listing::List>("list", "`list`: proposals"),
    answer::<cli::log::Log>("log", "`log`: events"),
    answer::<Memory<crate::memory::context::Pack>>(
        "memory-context",
        "`memory context`: what fits the budget",
    ),
    answer::<Memory<crate::memory::Response>>(
        "memory-propose",
        "`memory propose` and `stage`: the contract's response",
    ),
    answer::<Memory<crate::tools::memory_search::Found>>(
        "memory-search",
        "`memory search`: what was found",
    ),
    answer::<Memory<crate::memory::service::Status>>(
        "memory-status",
        "`memory status`: what is staged, and the state of the memory",
    ),
    answer::<crate::proposal::document::Document>(
        "proposal",
        "`show`: everything about one proposal",
    ),
    answer::<crate::tools::changes::Proposed>("propose", "`propose`: what was proposed"),
    answer::<cli::reject::Rejected>("reject", "`reject`: what was rejected"),
    answer::<cli::propose::Spooled>(
        "spooled",
        "`propose` in a session, where `.git` cannot be written: proposed later",
    ),
    answer::<cli::session::List>("sessions", "`session list`: the sessions"),
    answer::<crate::tools::revise::Revised>("revise", "`revise`: the new revision"),
    answer::<cli::apply::answer::Answer>("undo", "`undo`: what was restored, per file"),
];

/// Prints one schema, or the names of all.
///
/// # Errors
/// `unknown_schema`.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let Some(name) = args.name else {
        let rows: String = all().map(|p| format!("{:30}  {}\n", p.id(), p.about)).collect();
        return context.print(rows.as_bytes());
    };
    let found = all().find(|p| p.name == name || p.id() == name).ok_or_else(|| {
        Error::new(&error_codes::UNKNOWN_SCHEMA, format!("there is no schema {name:?}"))
            .hint("`aye util schema` lists them")
    })?;
    context.print(structured(Format::Json, &found.document())?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_describes_an_object_that_names_its_schema() {
        for published in ANSWERS {
            // That of errors is the contracts' own, too.
            if published.name == "error" {
                continue;
            }
            let document = published.document();
            assert_eq!(document["type"], "object", "{}", published.name);
            let constant = &document["properties"]["schema"]["const"];
            assert_eq!(constant, &serde_json::json!(published.id()), "{}", published.name);
        }
    }

    #[test]
    fn names_are_unique() {
        assert_eq!(derived().len(), all().count());
    }
}
