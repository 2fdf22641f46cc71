//! `aye comment`: say something about a proposal.

use schemars::JsonSchema;
use serde::Serialize;

use super::identity::Asking;
use super::{Context, Format, paths};
use crate::changeset::RepoPath;
use crate::decide::verdict::{self, Word};
use crate::error::{Error, Exit, Result, codes};
use crate::proposal::event::{Comment, Evidence};
use crate::proposal::rules::Verb;
use crate::proposal::{Note, Proposal};
use crate::store::Store;

/// Longest comment, in bytes.
const MOST: usize = 64 * 1024;

/// Comment on a pending proposal, as a whole or at a line.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye comment m4k8 -m 'Why not Intl.DateTimeFormat?'
  aye comment m4k8 --path src/utils/format.ts --line 12 -m 'Off by one'
  aye comment m4k8 --request-changes -m 'Please add a test'")]
pub struct Args {
    /// The proposal; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub id: String,
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

/// Answer of `aye comment`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Commented {
    /// `aye/comment@1`
    pub schema: &'static str,
    /// Always true.
    pub success: bool,
    /// The id.
    pub proposal_id: String,
    /// Whether changes are requested.
    pub changes_requested: bool,
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
    if body.trim().is_empty() && !args.request_changes {
        return Err(Error::new(&codes::INVALID_ARGUMENT, "the comment is empty")
            .hint("say it with -m TEXT"));
    }
    if body.len() > MOST {
        return Err(Error::new(&codes::SIZE_LIMIT, format!("the comment is over {MOST} bytes"))
            .hint("say it shorter, or put the text in a file and name that"));
    }
    let path = args.path.map(RepoPath::new).transpose()?;
    let actor = context.actor(&store);
    let proposal = store.view()?.find(&args.id)?;
    if let Some(path) = &path {
        require_place(&store, &proposal, path, args.line)?;
    }
    let text = body.trim();
    let revision = Some(proposal.current().event.clone());
    // With a request the text is its reason, unless it is about one place.
    let said = !text.is_empty() && (!args.request_changes || path.is_some());
    let comments: Vec<Comment> = said
        .then(|| Comment { body: text.to_owned(), path: path.clone(), line: args.line, revision })
        .into_iter()
        .collect();
    if args.request_changes {
        let proposals = std::slice::from_ref(&proposal);
        let command = format!("aye comment {} --request-changes", proposal.id);
        let (verb, yes) = (Verb::RequestChanges, true);
        let asking = Asking { verb, proposals, yes, question: "", command: &command };
        let authority = context.grant(&store, &asking, &Evidence::Flag)?;
        let reason = (!text.is_empty() && path.is_none()).then_some(text);
        let (now, word) = (context.now, Word::RequestChanges);
        verdict::say(&store, &authority, now, proposals, &word, reason, &comments, None)?;
    } else {
        store.write(&actor, context.now, |writer| {
            let proposal = writer.view.proposal(&proposal.id)?;
            proposal.require_pending(writer.now())?;
            for comment in comments {
                writer.note(Some(&proposal.id), Note::Comment(comment))?;
            }
            Ok(())
        })?;
    }
    let answer = Commented {
        schema: "aye/comment@1",
        success: true,
        proposal_id: proposal.id.to_string(),
        changes_requested: args.request_changes || proposal.changes_requested.is_some(),
    };
    let word = if args.request_changes { "changes requested" } else { "commented" };
    context.emit(Format::Text, &answer, || format!("{}  {word}\n", proposal.id))?;
    Ok(Exit::Done)
}

/// Refuses a place that the proposal does not have. A file that is deleted has its lines before.
fn require_place(
    store: &Store,
    proposal: &Proposal,
    path: &RepoPath,
    line: Option<u32>,
) -> Result<()> {
    let Some(change) = proposal.current().changes.iter().find(|change| change.path == *path) else {
        return Err(Error::new(
            &codes::INVALID_ARGUMENT,
            format!("{} does not change '{}'", proposal.id, path.display()),
        )
        .hint(format!("aye diff {} --name-only lists what it changes", proposal.id)));
    };
    let (Some(line), Some(entry)) = (line, change.after.as_ref().or(change.before.as_ref())) else {
        return Ok(());
    };
    let count = store.file(entry)?.line_count();
    if line as usize <= count {
        return Ok(());
    }
    Err(Error::new(
        &codes::INVALID_ARGUMENT,
        format!("'{}' has no line {line}, it has {count}", path.display()),
    )
    .hint("lines are counted in the proposed file, from 1"))
}
