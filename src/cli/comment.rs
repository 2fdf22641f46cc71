//! `aye comment`: say something about a proposal.

use super::which::One;
use super::{Context, Format, paths};
use crate::app::comment::{self, MOST, Remark};
use crate::changeset::RepoPath;
use crate::error::{Error, Exit, Result, codes};
use crate::proposal::event::Evidence;

/// Comment on a pending proposal, as a whole or at a line.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye comment m4k8 -m 'Why not Intl.DateTimeFormat?'
  aye comment m4k8 --path src/utils/format.ts --line 12 -m 'Off by one'
  aye comment m4k8 --request-changes -m 'Please add a test'")]
pub struct Args {
    /// The proposal.
    #[command(flatten)]
    pub which: One,
    /// What to say (- for standard input).
    #[arg(short = 'm', long = "message", value_name = "TEXT")]
    pub message: Option<String>,
    /// About this file (from the repository's top).
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// About this line of the proposed file.
    #[arg(long, value_name = "N", requires = "path", value_parser = clap::value_parser!(u32).range(1..))]
    pub line: Option<u32>,
    /// Ask for a new revision; the proposal stays pending and is marked.
    #[arg(long)]
    pub request_changes: bool,
}

/// Runs the command.
///
/// # Errors
/// `proposal_not_found`, `not_pending`, `invalid_argument`.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let body = match args.message {
        Some(text) if text == "-" => {
            let bytes = paths::content(context, "-".as_ref(), MOST as u64)?;
            String::from_utf8(bytes).map_err(|_| {
                Error::new(&codes::INVALID_UTF8, "the comment is not UTF-8")
                    .hint("convert it first, with iconv for example")
            })?
        }
        Some(text) => text,
        None if context.interactive() => context.ask("Comment")?.unwrap_or_default(),
        None => String::new(),
    };
    let remark = Remark {
        body,
        path: args.path.map(RepoPath::new).transpose()?,
        line: args.line,
        requests_changes: args.request_changes,
    };
    let proposal = args.which.find(context, &store.view()?)?;
    let session = context.session(&store);
    let answer = comment::comment(&session, &proposal, remark, &Evidence::Flag)?;
    let word = if args.request_changes { "changes requested" } else { "commented" };
    context.emit(Format::Text, &answer, || format!("{}  {word}\n", answer.proposal_id))?;
    Ok(Exit::Done)
}
