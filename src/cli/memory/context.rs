//! `aye memory context`.

use super::{MemoryDocument, open};
use crate::cli::{Context, Format};
use crate::error::{Exit, Result};
use crate::memory::search::SearchRequest;

/// Print what an agent should read: notes, conventions and index at start, or what answers a
/// question, within a budget of characters.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory context
  aye memory context how do migrations run --budget 4000")]
pub struct Args {
    /// The question; without one, what to read at start.
    #[arg(value_name = "QUERY")]
    pub query: Vec<String>,
    /// Print at most CHARS characters.
    #[arg(long, value_name = "CHARS")]
    pub budget: Option<usize>,
    /// Prefer sections that speak of this path or module; repeatable.
    #[arg(long, value_name = "PATH")]
    pub scope: Vec<String>,
}

pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let service = open(context, &store)?;
    let ask = SearchRequest {
        query: args.query.join(" "),
        scope: args.scope,
        budget: args.budget,
        ..SearchRequest::default()
    };
    let pack = service.context(&ask)?;
    let answer = MemoryDocument { schema: "aye/memory-context@1", answer: pack };
    context.emit(Format::Text, &answer, || {
        crate::text::escape::block(&answer.answer.context).into_owned()
    })
}
