//! `aye memory`: the project's memory.

pub mod block;
mod context;
pub(super) mod init;
mod lint;
mod propose;
mod search;
mod status;

use serde::Serialize;

use super::{Context, Format};
use crate::error::{Exit, Result};
use crate::memory::response::{MemoryOutcome, Response};
use crate::memory::service::Service;
use crate::store::Store;
use crate::text::escape;

/// The project's memory: what its agents read and what people let in.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory init
  aye memory search 'release process'
  aye memory context
  aye memory status")]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Start a memory store, or complete one.
    Init(init::Args),
    /// Propose a change of memory: applied or staged, as its routing says.
    #[command(after_help = propose::PROPOSE)]
    Propose(Box<propose::Args>),
    /// Propose a change of memory, and stage it whatever its routing says.
    #[command(after_help = propose::STAGE)]
    Stage(Box<propose::Args>),
    /// Show the files, staged requests, and the outcome of requests.
    Status(status::Args),
    /// Search memory.
    Search(search::Args),
    /// Print what an agent should read: at start, or for a question.
    Context(context::Args),
    /// Check the whole store.
    Lint(lint::Args),
}

pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    match args.command {
        Command::Init(args) => init::run(context, args),
        Command::Propose(args) => propose::run(context, *args, false),
        Command::Stage(args) => propose::run(context, *args, true),
        Command::Status(args) => status::run(context, args),
        Command::Search(args) => search::run(context, args),
        Command::Context(args) => context::run(context, args),
        Command::Lint(args) => lint::run(context, args),
    }
}

/// A published answer: its schema, and what it says.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct MemoryDocument<T> {
    /// `aye/memory-…@1`
    pub schema: &'static str,
    /// The answer itself.
    #[serde(flatten)]
    pub answer: T,
}

fn open<'a>(context: &Context, store: &'a Store) -> Result<Service<'a>> {
    Service::open(store, context.actor(store.repository()), context.now)
}

fn respond(context: &mut Context, schema: &'static str, response: Response) -> Result<Exit> {
    let rejected = response.status == MemoryOutcome::Rejected;
    let answer = MemoryDocument { schema, answer: response };
    context.emit(Format::Text, &answer, || text(&answer.answer))?;
    Ok(if rejected { Exit::Negative } else { Exit::Done })
}

fn text(response: &Response) -> String {
    let mut out = String::new();
    let line = |out: &mut String, text: &str| {
        out.push_str(&escape::line(text));
        out.push('\n');
    };
    let files = response.files.join(", ");
    match response.status {
        MemoryOutcome::Applied => line(&mut out, &format!("applied: {files}")),
        MemoryOutcome::Staged => line(&mut out, &format!("staged: {files}")),
        MemoryOutcome::Rejected => {
            let reason = response.reason.as_deref().unwrap_or("rejected");
            line(&mut out, &format!("rejected ({reason})"));
        }
    }
    if let Some(id) = &response.proposal_id {
        line(&mut out, &format!("  id: {id}"));
    }
    if response.status == MemoryOutcome::Staged
        && let Some(routing) = &response.routing
    {
        line(&mut out, &format!("  because: {}", routing.reason));
    }
    for section in &response.affected_sections {
        line(&mut out, &format!("  {}#{}", section.file, section.section_id));
    }
    for violation in &response.violations {
        let mut place = Vec::new();
        if let Some(index) = violation.operation_index {
            place.push(format!("operation {index}"));
        }
        if !violation.field.is_empty() {
            place.push(violation.field.clone());
        }
        if let Some(number) = violation.line {
            place.push(format!("line {number}"));
        }
        let place =
            if place.is_empty() { String::new() } else { format!("{}: ", place.join(", ")) };
        line(&mut out, &format!("  {place}{} [{}]", violation.message, violation.code));
        if let Some(fix) = &violation.fix {
            line(&mut out, &format!("    fix: {fix}"));
        }
    }
    for warning in &response.warnings {
        line(&mut out, &format!("  warning: {warning}"));
    }
    if let Some(command) = &response.review_command {
        line(&mut out, &format!("  review: {command}"));
    }
    out
}
