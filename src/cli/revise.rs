//! The command `aye revise`.

pub mod public;
mod rebase;

use std::ffi::OsString;

use self::public::PublicArgs;
use super::propose::{self, EditArgs, EditsRequest, SourceArgs};
use super::{Context, Format, paths};
use crate::app::propose::Revision;
use crate::app::{self, Draft, capture, stack, suggestion};
use crate::error::{Error, Exit, Result, codes};
use crate::proposal::event::InputForm;
use crate::proposal::{Proposal, Status, codes as proposal_codes};
use crate::store::{Filter, Store};
use crate::text::escape;
use crate::tools::revise::ReviseResponse;

/// Replace the changes of a pending proposal; the id stays.
///
/// The edits apply to the present files, on top of the proposals that this one depends on. They
/// replace all earlier changes; aye prints the dropped ones. If only the proposal's own result has
/// the --old text, the edit applies to that result and the rest stays. aye rebases your proposals
/// that depend on this one.
#[derive(Debug, clap::Args)]
#[command(mut_arg("public", |public| public.conflicts_with_all(CONTENT)))]
#[command(after_help = "Examples:
  aye revise m4k8 src/app.ts --old 'let x = 1' --new 'let x = 3' -m 'as you asked'
  aye revise m4k8 --from-json - < edits.json
  aye revise m4k8 --patch better.diff
  aye revise m4k8 --take 3f2a91c
  aye revise m4k8 --rebase             merged with the files as they are now
  aye revise m4k8 --public             a private one: others see it from the next push on
  aye revise m4k8 --description 'A better title'")]
pub struct Args {
    /// The proposal; any unique beginning of its id.
    #[arg(value_name = "ID", required_unless_present = "latest")]
    pub id: Option<OsString>,
    /// Your newest pending one; ID is then the PATH.
    #[arg(long)]
    pub latest: bool,
    #[command(flatten)]
    pub edits: EditArgs,
    /// Read several edits as JSON from FILE (- for standard input).
    #[arg(long, value_name = "FILE", conflicts_with = "path")]
    pub from_json: Option<std::ffi::OsString>,
    /// Take a suggestion: the comment's id, as aye show --comments has it.
    #[arg(long, value_name = "COMMENT",
        conflicts_with_all = ["path", "from_json", "patch", "worktree", "commit", "range"])]
    pub take: Vec<String>,
    /// Merge it with the files as they are now.
    ///
    /// If both changed the same lines, nothing is recorded and the exit status is 5.
    #[arg(long, conflicts_with_all = CONTENT, conflicts_with = "public")]
    pub rebase: bool,
    /// With --rebase: show the result only.
    #[arg(long, short = 'n', requires = "rebase")]
    pub dry_run: bool,
    /// What is new in this revision; the description stays.
    #[arg(short = 'm', long = "message", value_name = "TEXT", display_order = 0)]
    pub message: Option<String>,
    /// A new description; its first line is the title.
    #[arg(long, value_name = "TEXT", display_order = 0)]
    pub description: Option<String>,
    /// A new time to wait for a decision, from now.
    #[arg(long, value_name = "TIME", value_parser = propose::duration)]
    pub expires_in: Option<chrono::Duration>,
    /// Last: its help heading would hold for all later arguments.
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub public: PublicArgs,
}

/// Content of a revision, which `--rebase` and `--public` exclude.
const CONTENT: &[&str] = &[
    "path", "from_json", "take", "message", "description", "expires_in", "patch", "worktree",
    "keep", "since", "commit", "range",
];

fn chosen(context: &Context, store: &Store, args: &mut Args) -> Result<Proposal> {
    let view = store.view()?;
    if !args.latest {
        let id = args.id.clone().unwrap_or_default();
        let proposal = view.find(&id.to_string_lossy())?;
        proposal.require_pending(context.now)?;
        return Ok(proposal);
    }
    if let Some(path) = args.id.take() {
        args.edits.name(path)?;
    }
    let filter = Filter {
        status: Some(Status::Pending),
        newest_first: true,
        limit: Some(MOST),
        ..Filter::default()
    };
    let mut pending = Vec::new();
    for id in view.ids_of(&filter, context.now)? {
        pending.push(view.proposal(&id)?);
    }
    let may =
        |proposal: &&Proposal| context.authorise_revision(store, proposal, "aye revise").is_ok();
    let found = pending.iter().find(may).cloned();
    found.ok_or_else(|| {
        Error::new(&proposal_codes::PROPOSAL_NOT_FOUND, "no proposal of yours is pending")
            .hint("`aye list` shows the pending proposals")
    })
}

/// Newest pending proposals that `--latest` looks at.
const MOST: usize = 200;

/// # Errors
/// `proposal_not_found`, `not_pending`, those of matching.
pub fn run(context: &mut Context, mut args: Args) -> Result<Exit> {
    let store = context.store_to_edit()?;
    let proposal = chosen(context, &store, &mut args)?;
    if args.rebase {
        return rebase::rebase(context, &store, &proposal, args.dry_run);
    }
    if args.public.public {
        return public::publish(context, &store, &proposal, &args.public);
    }
    let authority =
        context.authorise_revision(&store, &proposal, &format!("aye revise {} …", proposal.id))?;
    let session = context.session(&store);
    let (note, mut description) = (args.message, args.description);
    let below = stack::ground_of(&session, &proposal)?;
    let taken = if args.take.is_empty() {
        None
    } else {
        Some(suggestion::take(&session, &proposal, &args.take, InputForm::Snippet)?)
    };
    let (taken, notes) = taken.map_or((None, Vec::new()), |it| (Some(it.draft), it.notes));
    let source = match taken {
        Some(draft) => Some(draft),
        None => args.source.read(context, &session, below.clone())?,
    };
    let draft = match source {
        Some(draft) => draft,
        None => {
            let limit = store.repository().settings()?.max_file_size;
            let is_json = args.from_json.is_some();
            let edits = match args.from_json {
                Some(file) => {
                    let request = EditsRequest::read(&paths::content(context, &file, limit * 4)?)?;
                    let mut meta =
                        propose::DetailArgs { message: description.take(), ..Default::default() };
                    request.fill(&mut meta)?;
                    description = meta.message;
                    request.edits(|path| store.repository().parse_tool_path(path))?
                }
                None => args.edits.read(context, store.repository(), limit)?.into_iter().collect(),
            };
            if !edits.is_empty() {
                capture::amend(&session, &proposal, edits, &below, InputForm::Snippet)
                    .map_err(|error| if is_json { error } else { propose::name_flag(error) })
                    .map_err(|error| capture::name_moved(&store, &proposal, error))?
            } else if note.is_some() || description.is_some() || args.expires_in.is_some() {
                Draft::present(&store, &proposal, InputForm::Snippet)?
            } else {
                return Err(Error::new(
                    &codes::USAGE,
                    "nothing to revise: no edit, message, description or expiry given",
                )
                .hint(format!("aye revise {} PATH --old TEXT --new TEXT", proposal.id)));
            }
        }
    };
    let revision = Revision { draft, description, note, expires_in: args.expires_in, notes };
    let recorded = app::propose::revise(&session, &authority, &proposal, revision)?;
    propose::note_staged(context, &recorded.taken_back);
    propose::note_adapted(context, &recorded.adapted);
    let revised = &recorded.proposal;
    let answer = ReviseResponse::new(&recorded);
    context.emit(Format::Text, &answer, || {
        let named = revised.at_revision();
        let mut out = format!("{}  revision {}  {named}\n", revised.id, revised.revisions.len());
        for file in &answer.dropped {
            let hunks: String = file.hunks.iter().map(|hunk| format!(" {hunk}")).collect();
            out += &format!("  not in it any more: {}{hunks}\n", escape::line(&file.file_path));
        }
        for upper in &answer.rebased {
            out += &format!("  {upper} depends on it, and was rebased\n");
        }
        for upper in &answer.not_rebased {
            out +=
                &format!("  {upper} depends on its earlier revision, and does not fit this one\n");
        }
        out
    })?;
    propose::warn(context, &answer.warnings);
    Ok(Exit::Done)
}
