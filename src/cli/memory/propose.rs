//! `aye memory propose` and `aye memory stage`.

use serde_json::{Map, Value, json};

use super::{open, respond};
use crate::changeset::hunks::Diff;
use crate::cli::identity::Asking;
use crate::cli::{Context, paths};
use crate::decide::memory::Decided;
use crate::decide::{self, Seen};
use crate::error::{Error, Exit, Result, codes};
use crate::memory::service::{Mode, SectionChange, Service, sections_between};
use crate::memory::{MAX_REQUEST_BYTES, Response};
use crate::proposal::ActorKind;
use crate::proposal::codes::CHANGED_SINCE_SHOWN;
use crate::proposal::rules::Verb;
use crate::text::escape;
use crate::tools::json;

/// What the help of either command ends with.
macro_rules! examples {
    ($verb:literal, $done:literal) => {
        concat!(
            "Examples:\n  aye memory ", $verb,
            " --intent add_pitfall --operation append_to_section --path pitfalls.md \\
      --section-id pitfalls --content '- Clear the cache after a rename.'\n  aye memory ", $verb,
            " --intent add_pitfall --operation append_section --path pitfalls.md \\
      --heading Cache --heading-level 2 --content-file - --source file:src/db.rs < text.md\n  aye memory ", $verb,
            " --from-json request.json

Of a new section the text begins with its heading (## Cache).

Exit status: 0 ", $done, ", 1 rejected (the answer says why)."
        )
    };
}

/// The end of the help of `aye memory propose`.
pub const PROPOSE: &str = examples!("propose", "applied or staged");
/// The same of `aye memory stage`.
pub const STAGE: &str = examples!("stage", "staged");

/// Propose a change of memory. One operation by flags, or a whole request as JSON.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Read the whole request as JSON from FILE (- for standard input).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["intent", "operation", "path", "content", "content_file"])]
    pub from_json: Option<std::ffi::OsString>,
    /// What it is for: update_current, update_shared, session_log, add_pitfall, record_decision,
    /// refresh_module, update_conventions, archive_stale.
    #[arg(long, value_name = "INTENT", required_unless_present = "from_json")]
    pub intent: Option<String>,
    /// create_file, replace_section, append_section, append_to_section,
    /// replace_section_content, archive_section, remove_section or rename_heading.
    // `--op` is what agent-memory's own command line calls it.
    #[arg(
        long,
        short = 'o',
        alias = "op",
        value_name = "OPERATION",
        required_unless_present = "from_json"
    )]
    pub operation: Option<String>,
    /// File, relative to .agent-memory/.
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// Id of the section meant.
    #[arg(long, value_name = "ID")]
    pub section_id: Option<String>,
    /// Heading: of the section meant, or of a new one.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub heading: Option<String>,
    /// Level of that heading, 1 to 6.
    #[arg(long, value_name = "N")]
    pub heading_level: Option<u64>,
    /// Which of several such headings, from 1.
    #[arg(long, value_name = "N")]
    pub occurrence: Option<u64>,
    /// Section to put a new one into.
    #[arg(long, value_name = "ID")]
    pub parent_section_id: Option<String>,
    /// The content.
    #[arg(long, value_name = "TEXT", conflicts_with = "content_file", allow_hyphen_values = true)]
    pub content: Option<String>,
    /// The content, from FILE (- for standard input).
    #[arg(long, value_name = "FILE")]
    pub content_file: Option<std::ffi::OsString>,
    /// create_file where there is a file: reject, append or replace.
    #[arg(long, value_name = "WHAT")]
    pub if_exists: Option<String>,
    /// replace_section where there is no section: reject, append or create_file.
    #[arg(long, value_name = "WHAT")]
    pub if_missing: Option<String>,
    /// File for an archived section, such as archive/2026.md.
    #[arg(long, value_name = "PATH")]
    pub archive_path: Option<String>,
    /// What stays in the place of an archived section.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub replacement: Option<String>,
    /// Why a section is removed.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// The new heading.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub new_heading: Option<String>,
    /// Its level.
    #[arg(long, value_name = "N")]
    pub new_heading_level: Option<u64>,
    /// Why.
    #[arg(long, short = 'm', value_name = "TEXT", allow_hyphen_values = true)]
    pub rationale: Option<String>,
    /// Where it comes from: TYPE or TYPE:REF, such as file:src/a.rs:12; repeatable.
    #[arg(long = "source", value_name = "TYPE[:REF]")]
    pub sources: Vec<String>,
    /// confirmed, inferred, user-provided, stale or unknown.
    #[arg(long, value_name = "WORD")]
    pub confidence: Option<String>,
    /// Who proposes.
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    /// Apply what would be staged: for a person, who is asked unless --yes.
    #[arg(long)]
    pub apply: bool,
    /// Do not ask.
    #[arg(long, short = 'y', requires = "apply")]
    pub yes: bool,
}

/// Runs the command; `stage` is `aye memory stage`.
///
/// # Errors
/// `in_session`; those of reading the request and of the store.
pub fn run(context: &mut Context, args: Args, stage: bool) -> Result<Exit> {
    let store = context.store_to_edit()?;
    let service = open(context, &store)?;
    let (apply, yes) = (args.apply, args.yes);
    let request = request(context, args)?;
    let mode = if stage { Mode::Stage } else { Mode::Routed };
    if stage || !apply {
        let response = decide::memory::propose(&service, &request, mode, None)?;
        return respond(context, "aye/memory-propose@1", response);
    }
    loop {
        let Some(decided) = decided(context, &service, &request, yes)? else {
            return Ok(Exit::Negative);
        };
        // The answer may have come much later.
        let service = open(context, &store)?;
        match decide::memory::propose(&service, &request, mode, Some(&decided)) {
            Err(error) if error.is(&CHANGED_SINCE_SHOWN) => {
                context.look_again(&error);
            }
            answer => return respond(context, "aye/memory-propose@1", answer?),
        }
    }
}

/// A person's decision to apply at once; agents have to stage. At a terminal the person sees what
/// would be staged first. `None` where nothing is to be decided, or the answer was no.
fn decided(
    context: &mut Context,
    service: &Service<'_>,
    request: &Value,
    yes: bool,
) -> Result<Option<Decided>> {
    let plan = match service.read(request).and_then(|request| service.plan(&request)) {
        Ok(plan) => plan,
        Err(problems) => {
            respond(context, "aye/memory-propose@1", Response::rejected(&problems))?;
            return Ok(None);
        }
    };
    let seen = Seen::now(service.store, &service.store.view()?)?;
    let asks = context.interactive() && !yes && service.actor.kind == ActorKind::Human;
    if asks {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        for (path, edit) in &plan.files {
            let before = edit.before.as_deref().map(text).unwrap_or_default();
            let sections = sections_between(path, &before, &text(&edit.after));
            context.note(diff(&sections).trim_end());
        }
        for warning in &plan.warnings {
            context.note(&format!("warning: {}", escape::line(warning)));
        }
    }
    let asking = Asking {
        verb: Verb::Apply,
        proposals: &[],
        yes,
        question: "Apply this to memory?",
        command: "aye memory propose --apply …",
    };
    let authority = context.authorise(service.store, &asking)?;
    if authority.is_none() {
        context.note("nothing applied");
    }
    Ok(authority.map(|authority| Decided { authority, shown: asks.then_some((plan, seen)) }))
}

fn request(context: &Context, args: Args) -> Result<Value> {
    let limit = MAX_REQUEST_BYTES as u64;
    if let Some(file) = &args.from_json {
        let bytes = paths::content(context, file, limit)?;
        let hint = "give one JSON object with intent and operations";
        let mut value = json::read(&bytes, "the request", hint)?;
        // What is given on the command line goes along.
        if let Value::Object(map) = &mut value {
            meta(map, &args);
        }
        return Ok(value);
    }
    let content = match (&args.content, &args.content_file) {
        (Some(text), _) => Some(text.clone()),
        (None, Some(file)) => {
            let bytes = paths::content(context, file, limit)?;
            Some(String::from_utf8(bytes).map_err(|error| {
                Error::new(
                    &codes::INVALID_UTF8,
                    format!(
                        "the content is not UTF-8 at byte {}",
                        error.utf8_error().valid_up_to()
                    ),
                )
                .hint("memory files are UTF-8; convert it first")
            })?)
        }
        (None, None) => None,
    };
    let mut operation = Map::new();
    let texts = [
        ("operation", &args.operation),
        ("path", &args.path),
        ("section_id", &args.section_id),
        ("heading", &args.heading),
        ("parent_section_id", &args.parent_section_id),
        ("content", &content),
        ("if_exists", &args.if_exists),
        ("if_missing", &args.if_missing),
        ("archive_path", &args.archive_path),
        ("replacement", &args.replacement),
        ("reason", &args.reason),
        ("new_heading", &args.new_heading),
    ];
    for (name, value) in texts {
        if let Some(text) = value {
            operation.insert(name.into(), json!(text));
        }
    }
    let numbers = [
        ("heading_level", args.heading_level),
        ("occurrence", args.occurrence),
        ("new_heading_level", args.new_heading_level),
    ];
    for (name, value) in numbers {
        if let Some(number) = value {
            operation.insert(name.into(), json!(number));
        }
    }
    let mut map = Map::new();
    if let Some(intent) = &args.intent {
        map.insert("intent".into(), json!(intent));
    }
    map.insert("operations".into(), json!([operation]));
    meta(&mut map, &args);
    Ok(Value::Object(map))
}

fn meta(map: &mut Map<String, Value>, args: &Args) {
    let texts =
        [("rationale", &args.rationale), ("confidence", &args.confidence), ("owner", &args.owner)];
    for (name, value) in texts {
        if let Some(text) = value {
            map.insert(name.into(), json!(text));
        }
    }
    if !args.sources.is_empty() {
        let sources: Vec<Value> = args
            .sources
            .iter()
            .map(|source| match source.split_once(':') {
                Some((kind, reference)) => json!({"type": kind, "ref": reference}),
                None => json!({"type": source}),
            })
            .collect();
        map.insert("sources".into(), Value::Array(sources));
    }
}

/// The diff of each section, under its name.
fn diff(sections: &[SectionChange]) -> String {
    let mut out = String::new();
    for section in sections {
        let (file, id) = (escape::line(&section.file), escape::line(&section.section_id));
        out += &format!("\n── {file}#{id}\n");
        // The text of a section ends without a line feed, which may be all that tells two last lines apart.
        let ended = |text: &Option<String>| match text.as_deref().unwrap_or_default() {
            text if text.is_empty() || text.ends_with('\n') => text.to_owned(),
            text => format!("{text}\n"),
        };
        let (before, after) = (ended(&section.before), ended(&section.after));
        let lines = Diff::new(before.as_bytes(), after.as_bytes());
        // A section is read as a whole.
        let context = before.len() + after.len();
        for line in lines.hunks(context).iter().flat_map(|hunk| lines.lines(hunk)) {
            out += &format!("{}{}\n", line.side.sign(), escape::bytes_line(line.content()));
        }
    }
    out
}
