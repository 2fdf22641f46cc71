//! `aye util schema`: JSON Schemas, derived from the types that are printed or read. A new stable
//! answer needs a line in `ANSWERS`; tools come from their registry.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::cli::memory::MemoryDocument as Memory;
use crate::cli::output::structured;
use crate::cli::{self, Context, Format};
use crate::error::{Error, Exit, Result, codes as error_codes};
use crate::tools::registry::TOOLS;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the schema (`list`, or `aye/list@1`); without it, the names of all.
    name: Option<String>,
}

#[derive(Clone)]
pub struct PublishedSchema {
    /// `list` of `aye/list@1`.
    pub name: Cow<'static, str>,
    pub about: Cow<'static, str>,
    schema: fn() -> Schema,
}

impl PublishedSchema {
    /// Only a change that is not additive raises the version.
    pub fn id(&self) -> String {
        format!("aye/{}@1", self.name)
    }

    pub fn document(&self) -> Value {
        let mut schema = (self.schema)();
        schema.insert("$id".into(), self.id().into());
        if let Some(property) = schema.pointer_mut("/properties/schema") {
            *property = serde_json::json!({ "const": self.id() });
        }
        schema.to_value()
    }
}

const fn answer<T: schemars::JsonSchema>(
    name: &'static str,
    about: &'static str,
) -> PublishedSchema {
    PublishedSchema { name: Cow::Borrowed(name), about: Cow::Borrowed(about), schema: of::<T> }
}

/// Answers are printed, so the serialised form counts.
fn of<T: schemars::JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// Arguments as `aye call` and other front ends give them.
fn inputs() -> impl Iterator<Item = PublishedSchema> {
    TOOLS.iter().map(|tool| PublishedSchema {
        name: format!("{}-input", tool.name()).into(),
        about: format!("arguments of the tool `{}`", tool.name()).into(),
        schema: tool.input,
    })
}

fn all() -> impl Iterator<Item = PublishedSchema> {
    ANSWERS.iter().cloned().chain(inputs())
}

pub fn schema_files() -> BTreeMap<String, Value> {
    all().map(|published| (format!("{}.1.json", published.name), published.document())).collect()
}

static ANSWERS: &[PublishedSchema] = &[
    answer::<cli::apply::document::ApplyDocument>(
        "apply",
        "`apply`: what was written, per proposal and file",
    ),
    answer::<cli::approve::Answer>(
        "approve",
        "`approve`: what was approved, and what would be written",
    ),
    answer::<crate::report::ReportDocument<'static>>("check", "`check`: findings"),
    answer::<crate::report::ReportDocument<'static>>("scan", "`scan`: findings"),
    answer::<crate::tools::failure::FailureResponse>(
        "error",
        "all commands and tools but those that answer in YAML: what went wrong",
    ),
    answer::<cli::plan::Document>("plan", "`plan`: the steps, their state and their proposals"),
    answer::<cli::try_::Document>("try", "`try`: how the command ended"),
    answer::<crate::app::wait::NewProposals>(
        "wait-any",
        "`wait --any`: what is pending now and was not",
    ),
    answer::<crate::app::wait::Document>("wait", "`wait`: the decision, and what was said"),
    answer::<crate::app::comment::CommentOutcome>("comment", "`comment`: what was said"),
    answer::<cli::diff::Document<'static>>("diff", "`diff`: the files that change, and the patch"),
    answer::<cli::doctor::Diagnosis>("doctor", "`doctor`: what was found, and repaired"),
    answer::<crate::app::listing::List>("list", "`list`: proposals"),
    answer::<cli::log::Log>("log", "`log`: events"),
    answer::<cli::log::Stats>("log-stats", "`log --stats`: outcomes of proposals"),
    answer::<cli::propose::ProposeStack>("propose-stack", "`propose --stack`: new proposals"),
    answer::<Memory<crate::memory::context::Pack>>(
        "memory-context",
        "`memory context`: what fits the budget",
    ),
    answer::<Memory<crate::memory::Response>>(
        "memory-propose",
        "`memory propose` and `stage`: the contract's response",
    ),
    answer::<Memory<crate::tools::memory_search::SearchResponse>>(
        "memory-search",
        "`memory search`: what was found",
    ),
    answer::<Memory<crate::memory::service::MemoryStatus>>(
        "memory-status",
        "`memory status`: what is staged, and the state of the memory",
    ),
    answer::<crate::proposal::document::Document>(
        "proposal",
        "`show`: everything about one proposal",
    ),
    answer::<crate::tools::changes::ProposeResponse>("propose", "`propose`: what was proposed"),
    answer::<cli::reject::RejectAnswer>("reject", "`reject`: what was rejected"),
    answer::<cli::propose::SpoolDocument>(
        "spooled",
        "`propose` in a session, where `.git` cannot be written: proposed later",
    ),
    answer::<cli::session::List>("sessions", "`session list`: the sessions"),
    answer::<crate::tools::revise::ReviseResponse>("revise", "`revise`: the new revision"),
    answer::<cli::sync::Document>("sync", "`sync`: what was exchanged, by remote"),
    answer::<cli::apply::document::ApplyDocument>("undo", "`undo`: what was restored, per file"),
];

/// Prints one schema, or all names.
///
/// # Errors
/// `unknown_schema`
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
            // The contracts share the schema of errors.
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
        assert_eq!(schema_files().len(), all().count());
    }
}
