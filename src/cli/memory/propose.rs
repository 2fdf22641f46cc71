//! `aye memory propose` and `aye memory stage`.

use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};

use super::{open, respond};
use crate::cli::{Context, paths};
use crate::decide;
use crate::error::{Error, Exit, Result, codes};
use crate::memory::{MAX_REQUEST_BYTES, OPERATIONS};
use crate::tools::json;

macro_rules! examples {
    ($verb:literal, $done:literal) => {
        concat!(
            "Examples:\n  aye memory ", $verb,
            " --intent add_pitfall --operation append_to_section --path pitfalls.md \\
      --section-id pitfalls --content '- Clear the cache after a rename.'\n  aye memory ", $verb,
            " --intent add_pitfall --operation append_section --path pitfalls.md \\
      --heading Cache --content-file - --source file:src/db.rs < text.md\n  aye memory ", $verb,
            " --from-json request.json

The heading of a new section is given once: by --heading, or as the first line of its content. What
these flags do not have (new_heading, archive_path, if_exists, …) goes by --from-json.

Exit status: 0 ", $done, ", 1 rejected (the answer says why)."
        )
    };
}

pub const PROPOSE: &str = examples!("propose", "applied or staged");
pub const STAGE: &str = examples!("stage", "staged");

/// Propose a change of memory. One operation by flags, or a whole request as JSON.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Read the whole request as JSON from FILE (- for standard input).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["intent", "operation", "path", "content", "content_file"])]
    pub from_json: Option<std::ffi::OsString>,
    /// Intent: update_current, update_shared, session_log, add_pitfall, record_decision,
    /// refresh_module, update_conventions, archive_stale.
    #[arg(long, value_name = "INTENT", required_unless_present = "from_json")]
    pub intent: Option<String>,
    #[command(flatten)]
    pub operation: Operation,
    /// The content, from FILE (- for standard input).
    #[arg(long, value_name = "FILE", conflicts_with = "content")]
    pub content_file: Option<std::ffi::OsString>,
    /// Reason for the change.
    #[arg(long, short = 'm', value_name = "TEXT", allow_hyphen_values = true)]
    pub rationale: Option<String>,
    /// Source of the content: TYPE or TYPE:REF, such as file:src/a.rs:12; repeatable.
    #[arg(long = "source", value_name = "TYPE[:REF]")]
    pub sources: Vec<String>,
}

/// The fields of an operation that need no JSON file.
#[derive(Debug, clap::Args, serde::Serialize)]
pub struct Operation {
    /// Operation.
    // agent-memory's own command line calls it `--op`.
    #[arg(
        long,
        short = 'o',
        alias = "op",
        value_name = "OPERATION",
        value_parser = PossibleValuesParser::new(OPERATIONS),
        required_unless_present = "from_json"
    )]
    pub operation: Option<String>,
    /// File, relative to .agent-memory/.
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// Id of the section meant.
    #[arg(long, value_name = "ID")]
    pub section_id: Option<String>,
    /// Heading: of the section meant, or of a new one whose content does not begin with it.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub heading: Option<String>,
    /// Level of that heading, 1 to 6.
    #[arg(long, value_name = "N")]
    pub heading_level: Option<u8>,
    /// The content.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub content: Option<String>,
}

/// `stage` is `aye memory stage`.
///
/// # Errors
/// `in_session`
pub fn run(context: &mut Context, args: Args, stage: bool) -> Result<Exit> {
    let store = context.store_to_edit()?;
    let service = open(context, &store)?;
    let request = request(context, args)?;
    let response = decide::memory::propose(&service, &request, stage)?;
    respond(context, "aye/memory-propose@1", response)
}

fn request(context: &Context, args: Args) -> Result<Value> {
    let limit = MAX_REQUEST_BYTES as u64;
    let mut request = match &args.from_json {
        Some(file) => {
            let bytes = paths::content(context, file, limit)?;
            json::read(&bytes, "the request", "give one JSON object with intent and operations")?
        }
        None => {
            let mut operation = args.operation;
            if let Some(file) = &args.content_file {
                operation.content = Some(text(paths::content(context, file, limit)?)?);
            }
            json!({ "intent": args.intent, "operations": [operation] })
        }
    };
    // Flags complete a whole request, too.
    if let Value::Object(map) = &mut request {
        if let Some(rationale) = args.rationale {
            map.insert("rationale".into(), rationale.into());
        }
        if !args.sources.is_empty() {
            map.insert("sources".into(), args.sources.iter().map(|text| source(text)).collect());
        }
    }
    Ok(request)
}

fn source(text: &str) -> Value {
    match text.split_once(':') {
        Some((kind, reference)) => json!({ "type": kind, "ref": reference }),
        None => json!({ "type": text }),
    }
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::new(&codes::INVALID_UTF8, format!("the content is not UTF-8 at byte {at}"))
            .hint("memory files are UTF-8; convert it first")
    })
}
