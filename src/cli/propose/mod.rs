//! `aye propose`: make a proposal.

mod answer;
mod edits;
mod in_session;
mod json;
mod source;
mod stack;

use std::ffi::OsString;

use answer::note_description;
pub use answer::{answer, note_adapted, warn};
use chrono::Duration;
pub use edits::{EditArgs, name_flag};
pub use in_session::{SpoolDocument, spooled};
pub use json::EditsRequest;
pub use source::{SourceArgs, note_staged};
pub use stack::ProposeStack;

use super::revise::public::{self, PublicArgs};
use super::{Context, paths};
use crate::app::propose::Details;
use crate::app::{self, capture};
use crate::changeset::snippet::SnippetEdit;
use crate::error::{Error, Exit, Result, codes};
use crate::proposal::event::InputForm;
use crate::repository::{DURATION, Repository, parse_duration};
use crate::store::{Space, Store};

/// Propose a change: files stay as they are until a person applies it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye propose src/app.ts --old 'let x = 1' --new 'let x = 2' -m 'Start at two'
  aye propose notes.md --content-file - < notes.md.new
  aye propose old.txt --delete -m 'Unused since 2.0'
  aye propose --from-json - < edits.json    several files
  aye propose --patch fix.diff -m 'Fix the off-by-one'
  aye propose --worktree -m 'What I have so far'
  aye propose --keep --since 45m --by aider    what an agent without a gate has done
  aye propose --on m4k8 src/app.ts --old 'let x = 2' --new 'let x = 3' -m 'Then three'
  aye propose --commit topic~1
  aye propose --range main..topic --stack    one proposal for each commit")]
pub struct Args {
    #[command(flatten)]
    pub edits: EditArgs,
    /// Read several edits as JSON from FILE (- for standard input).
    ///
    /// One edit has file_path, old_content and new_content (or content, or delete); several
    /// stand in the list "edits".
    #[arg(long, value_name = "FILE", conflicts_with = "path")]
    pub from_json: Option<OsString>,
    #[command(flatten)]
    pub meta: DetailArgs,
    /// With --range: a proposal for each commit, with its message.
    ///
    /// Along the first parents; a merge is one change. All commits are read before anything is
    /// proposed.
    #[arg(long, requires = "range", help_heading = "Other sources",
        conflicts_with_all = ["message", "reverse", "instead_of", "public"])]
    pub stack: bool,
    /// Last: its help headings would apply to all later arguments.
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub public: PublicArgs,
}

#[derive(Debug, Default, clap::Args)]
pub struct DetailArgs {
    /// Why, for the reviewer.
    #[arg(short = 'm', long = "message", value_name = "TEXT", display_order = 0)]
    pub message: Option<String>,
    /// Topic, such as frontend or api.
    #[arg(long, value_name = "NAME")]
    pub domain: Option<String>,
    /// The task it belongs to (plan:3 names a step of the plan).
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Name of the proposer; AYE_AGENT or the git identity otherwise.
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    /// Another agent's proposal that this one replaces; that one stays.
    #[arg(long, value_name = "ID")]
    pub instead_of: Option<String>,
    /// A pending proposal that the edits, or the patch, are made on top of.
    ///
    /// They are matched in the files as that proposal makes them, and only what they change is
    /// proposed. Without --on, an agent's edit may need text that only its own pending proposal of
    /// the same session (AYE_SESSION) makes. Such an edit is made on top of that proposal.
    #[arg(long, value_name = "ID", conflicts_with_all = ["worktree", "commit", "range"])]
    pub on: Option<String>,
    /// Keep it in this clone: it is pushed nowhere until `aye revise --public`.
    ///
    /// A proposal is private without this if it changes a file of aye.private (globs in git's
    /// configuration), or one that git ignores and does not track. The same holds for a proposal on
    /// top of something private.
    #[arg(long, conflicts_with = "public")]
    pub private: bool,
    /// How long it waits for a decision (30m, 12h, 7d, 2w).
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub expires_in: Option<Duration>,
}

impl DetailArgs {
    fn details(self) -> Details {
        Details {
            description: self.message,
            domain: self.domain,
            related_task_id: self.task,
            proposed_by: self.by,
            expires_in: self.expires_in,
            instead_of: self.instead_of,
            private: self.private,
            others: Vec::new(),
            last_message: None,
        }
    }
}

pub fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| DURATION.into())
}

pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let found = Store::discover(&context.directory)?;
    if let Some((store, name)) = context.session_around(found.repository()) {
        return in_session::run(context, store, found.repository(), &name, args);
    }
    let store = context.prepared(found)?;
    let _head = store.repository().pin_head();
    if args.public.public {
        context.refuse_agents("publish a private proposal", "aye propose --public")?;
    }
    let session = context.session(&store);
    let mut meta = args.meta;
    let on = meta.on.take();
    if let Some(range) = args.source.range.as_deref().filter(|_| args.stack) {
        return stack::run(context, &session, range, &meta.details());
    }
    let is_json = args.from_json.is_some();
    let draft = match args.source.read(context, &session, on.clone().into())? {
        Some(draft) => draft,
        None => {
            let edits =
                compile(context, store.repository(), args.edits, args.from_json, &mut meta)?;
            capture::edits(&session, edits, &on.into(), InputForm::Snippet)
                .map_err(|error| if is_json { error } else { name_flag(error) })?
        }
    };
    let message = meta.message.clone();
    let recorded = app::propose::propose(&session, draft, meta.details())?;
    let exit = answer(context, &recorded)?;
    note_description(context, &store, &recorded, message.as_deref());
    let proposal = &recorded.proposal;
    if args.public.public && store.view()?.space(&proposal.id)? == Space::Private {
        return public::publish(context, &store, proposal, &args.public);
    }
    Ok(exit)
}

fn compile(
    context: &Context,
    repository: &Repository,
    edits: EditArgs,
    from_json: Option<OsString>,
    meta: &mut DetailArgs,
) -> Result<Vec<SnippetEdit>> {
    let limit = repository.settings()?.max_file_size;
    let edits = match from_json {
        Some(file) => {
            let request = EditsRequest::read(&paths::content(context, &file, limit * 4)?)?;
            request.fill(meta)?;
            request.edits(|path| repository.parse_tool_path(path))?
        }
        None => edits.read(context, repository, limit)?.into_iter().collect(),
    };
    if edits.is_empty() {
        return Err(Error::new(&codes::USAGE, "nothing to propose: no file and no edit given")
            .hint(
                "aye propose PATH --old TEXT --new TEXT; `aye propose --help` has more examples",
            ));
    }
    Ok(edits)
}
