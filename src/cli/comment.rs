//! The command `aye comment`.

use super::propose::warn;
use super::selection::ProposalArg;
use super::{Context, Format, paths};
use crate::app::comment::{self, CommentRequest, MOST};
use crate::changeset::RepoPath;
use crate::error::{Error, Exit, Result, codes};
use crate::proposal::event::Evidence;

/// Comment on a pending proposal: as a whole, at lines, as a question or a suggestion.
///
/// A comment follows its lines from revision to revision, and is outdated when they are gone. The
/// proposer resolves it with a note, or takes a suggestion: aye revise ID --take COMMENT.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye comment m4k8 -m 'Why not Intl.DateTimeFormat?'
  aye comment m4k8 --path src/day.ts --line 12-14 --question -m 'Why twice?'
  aye comment m4k8 --path src/day.ts --line 12 --suggest 'return day - 1;'

  aye comment m4k8 --resolve 3f2a91c -m 'Renamed'
  aye comment m4k8 --request-changes -m 'Please add a test'")]
pub struct Args {
    #[command(flatten)]
    pub which: ProposalArg,
    /// The text (- for standard input).
    #[arg(short = 'm', long = "message", value_name = "TEXT")]
    pub message: Option<String>,
    /// About this file (from the repository's top).
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// About this line of the proposed file, or these.
    #[arg(long, value_name = "N[-M]", requires = "path", value_parser = lines)]
    pub line: Option<(u32, u32)>,
    /// Ask for an answer.
    #[arg(long, conflicts_with_all = ["suggest", "resolve"])]
    pub question: bool,
    /// Other text in place of the lines (- for standard input; '' deletes them).
    #[arg(
        long,
        value_name = "TEXT",
        requires = "line",
        conflicts_with = "resolve",
        allow_hyphen_values = true
    )]
    pub suggest: Option<String>,
    /// Resolve this comment on it: an id as aye show --comments prints it; the message is the note.
    #[arg(long, value_name = "COMMENT", conflicts_with_all = ["path", "request_changes"])]
    pub resolve: Option<String>,
    /// Ask for a new revision; the proposal stays pending and is marked.
    #[arg(long)]
    pub request_changes: bool,
}

/// # Errors
/// `proposal_not_found`, `not_pending`, `invalid_argument`, `comment_not_found`.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    if args.message.as_deref() == Some("-") && args.suggest.as_deref() == Some("-") {
        return Err(Error::new(&codes::USAGE, "both texts cannot come from standard input")
            .hint("give one of them as an argument"));
    }
    let replacement = args.suggest.map(|text| or_input(context, text)).transpose()?;
    let body = match args.message {
        Some(text) => or_input(context, text)?,
        None if replacement.is_none() && context.interactive() => {
            match context.ask("Comment (Esc: none): ") {
                Some(text) => text,
                None => {
                    return context.declined("nothing commented");
                }
            }
        }
        None => String::new(),
    };
    let resolves = args.resolve.is_some();
    let saying = CommentRequest {
        body,
        path: args.path.map(RepoPath::new).transpose()?,
        lines: args.line,
        is_question: args.question,
        replacement,
        resolves: args.resolve,
        requests_changes: args.request_changes,
    };
    let Some(proposal) = args.which.find(context, &store.view()?)? else {
        return context.declined("nothing commented");
    };
    let session = context.session(&store);
    let answer = comment::comment(&session, &proposal, saying, &Evidence::Flag)?;
    let word = match (args.request_changes, resolves) {
        (true, _) => "changes requested",
        (_, true) => "comment resolved",
        _ => "commented",
    };
    context.emit(Format::Text, &answer, || format!("{}  {word}\n", answer.proposal_id))?;
    warn(context, &answer.warnings);
    Ok(Exit::Done)
}

/// Reads standard input for `-`.
fn or_input(context: &mut Context, text: String) -> Result<String> {
    if text != "-" {
        return Ok(text);
    }
    let bytes = paths::content(context, "-".as_ref(), MOST as u64)?;
    String::from_utf8(bytes).map_err(|_| {
        Error::new(&codes::INVALID_UTF8, "the comment is not UTF-8")
            .hint("convert it first, with iconv for example")
    })
}

/// `12` or `12-14`.
fn lines(text: &str) -> std::result::Result<(u32, u32), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number > 0);
    match number(first).zip(number(last)) {
        Some((first, last)) if first <= last => Ok((first, last)),
        _ => Err("write a line or the first and the last, from 1: 12 or 12-14".to_owned()),
    }
}
