//! `aye propose` in a session's tree: edits files there, and proposes the session's changes.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Args, SourceArgs, answer, compile, name_flag};
use crate::app::in_session::{self, TreeChange};
use crate::app::propose::ProposalOutcome;
use crate::app::session::SubmitOutcome;
use crate::changeset::patch::limits;
use crate::cli::session::conflict_lines;
use crate::cli::{Context, Format, paths};
use crate::error::{Error, Exit, Result};
use crate::repository::Repository;
use crate::session::session_store::not_found;
use crate::session::{SessionStore, codes};
use crate::store::Store;
use crate::text::escape;

/// `found` is the tree's own claim, used for reading paths only.
///
/// # Errors
/// `in_session` for sources that can only be proposed from outside; `no_change`.
pub fn run(
    context: &mut Context,
    mut store: Store,
    found: &Repository,
    name: &str,
    args: Args,
) -> Result<Exit> {
    let home = SessionStore::open(store.repository().common_dir(), &context.state_directory()?)?;
    let home = home.ok_or_else(|| not_found(name))?;
    let record = home.record(name)?;
    let real = |path: &std::path::Path| std::fs::canonicalize(path).ok();
    let is_top = found.work_dir().is_some_and(|top| real(&top) == real(&home.tree(name)));
    let Args { edits, from_json, source, stack: _, mut meta, public } = args;
    let SourceArgs { patch, worktree, keep, since, commit, range, read } = source;
    let is_elsewhere = commit.is_some()
        || range.is_some()
        || meta.on.is_some()
        || since.is_some()
        || public.public;
    let is_elsewhere = is_elsewhere || meta.instead_of.is_some() || meta.by.is_some();
    if is_elsewhere || !is_top {
        return Err(in_session(name));
    }
    store.run_by(record.run.or_else(|| context.run_of(name, None)));
    let is_edit = patch.is_none() && worktree.is_none() && keep.is_none() && from_json.is_none();
    let wanted = match (patch, worktree.or(keep)) {
        (Some(file), _) => {
            let bytes = paths::content(context, &file, limits::PATCH as u64 + 1)?;
            TreeChange::Patch { bytes, options: read.options() }
        }
        (None, Some(_)) => TreeChange::Nothing,
        (None, None) => TreeChange::Edits(compile(context, found, edits, from_json, &mut meta)?),
    };
    let session = context.agent_session(&store, &record.agent, "aye run");
    let changing = match home.change(name) {
        Ok(changing) => changing,
        Err(error) if context.is_sandboxed(&error, store.repository()) => {
            in_session::leave(&store, &home.tree(name), wanted, meta.details())?;
            return spooled(context, name);
        }
        Err(error) => return Err(error),
    };
    let done = in_session::propose(&session, &home, &changing, wanted, meta.details())
        .map_err(|error| if is_edit { name_flag(error) } else { error })?;
    for line in conflict_lines(&done.kept) {
        context.note(&line);
    }
    for (path, why) in &done.passed_over {
        let (path, why) = (escape::name(path), escape::line(why));
        context.note(&format!("aye: not proposed: {path} {why}"));
    }
    let recorded = match done.outcome {
        Some(SubmitOutcome::Proposed(recorded) | SubmitOutcome::Revised(recorded)) => recorded,
        Some(SubmitOutcome::Unchanged(proposal)) => ProposalOutcome::unchanged(proposal),
        Some(SubmitOutcome::Withdrawn(_)) | None => {
            let error = Error::new(
                &crate::changeset::codes::NO_CHANGE,
                format!("the tree of session '{name}' holds nothing to propose"),
            );
            return Err(error.hint("edit files in it first"));
        }
    };
    answer(context, &recorded)
}

/// Answer of `aye propose` in a session's tree from where the git directory cannot be written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SpoolDocument {
    /// `aye/spooled@1`
    pub schema: &'static str,
    /// Always true.
    pub success: bool,
    /// The session, which proposes it when its run ends.
    pub session: String,
}

pub fn spooled(context: &mut Context, name: &str) -> Result<Exit> {
    let session = name.to_owned();
    let answer = SpoolDocument { schema: "aye/spooled@1", success: true, session };
    context.emit(Format::Text, &answer, || {
        "this shell cannot write .git: aye proposes the files when the run ends\n".to_owned()
    })
}

fn in_session(name: &str) -> Error {
    Error::new(&codes::IN_SESSION, format!("this is the tree of session '{name}'"))
        .with("session", name.to_owned())
        .hint("here edits, a patch or --worktree are proposed; all else is, from outside")
}
