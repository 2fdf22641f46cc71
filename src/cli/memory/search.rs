//! `aye memory search`.

use super::{MemoryDocument, open};
use crate::cli::{Context, Format};
use crate::error::{Exit, Result};
use crate::memory::search::SearchRequest;
use crate::text::escape;
use crate::tools::memory_search::SearchResponse;

/// Search memory: words, "phrases", beginnings (migr*), in any script.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory search connection pool
  aye memory search '\"connection pool\" limit*'

Exit status: 0 found, 1 nothing matched.")]
pub struct Args {
    /// Words to look for.
    #[arg(value_name = "QUERY", required = true)]
    pub query: Vec<String>,
    /// Show at most N sections.
    #[arg(long, short = 'n', default_value_t = 10, value_name = "N")]
    pub limit: usize,
}

pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let service = open(context, &store)?;
    let query = args.query.join(" ");
    let ask = SearchRequest { query: query.clone(), ..SearchRequest::default() };
    let results = service.search(&ask, args.limit)?;
    let found = SearchResponse { query, count: results.len(), results };
    let empty = found.results.is_empty();
    let answer = MemoryDocument { schema: "aye/memory-search@1", answer: found };
    context.emit(Format::Text, &answer, || {
        let mut out = String::new();
        for hit in &answer.answer.results {
            let id = hit.section_id.as_deref().map(|id| format!("#{id}")).unwrap_or_default();
            out += &format!(
                "{}{}:{}  {}\n",
                escape::line(&hit.path),
                escape::line(&id),
                hit.line,
                escape::line(&hit.trail)
            );
            out += &format!("    {}\n", escape::line(&hit.snippet));
        }
        if empty {
            out += "nothing matched\n";
        }
        out
    })?;
    Ok(if empty { Exit::Negative } else { Exit::Done })
}
