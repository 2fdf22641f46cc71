//! The trailers of a commit message: added before the editor opens, and taken back where nothing
//! else was written.

use std::ffi::OsString;
use std::path::Path;

use bstr::ByteSlice as _;

use super::run::{Of, applied_among};
use crate::changeset::RepoPath;
use crate::check::commits;
use crate::cli::Context;
use crate::decide::steps;
use crate::error::{Error, Result};
use crate::git::COMMITTING;
use crate::git::Git;
use crate::proposal::{Proposal, trailers};
use crate::store::Store;
use crate::text;

/// Adds trailers for the proposals that are staged exactly as approved.
///
/// # Errors
/// If the store or the index cannot be read, or git cannot write the message.
pub(super) fn prepare(context: &mut Context, args: &[OsString]) -> Result<()> {
    let Some(file) = args.first() else { return Ok(()) };
    let source = args
        .get(1)
        .cloned()
        .or_else(|| context.var("PRE_COMMIT_COMMIT_MSG_SOURCE"))
        .unwrap_or_default();
    // A squash carries the trailers of its commits already; `apply --commit` its own.
    if source == "squash" || context.var(COMMITTING).is_some() {
        return Ok(());
    }
    let store = context.store_here()?;
    let view = store.view()?;
    if !view.has_events() {
        return Ok(());
    }
    let sides = if source == "merge" { commits::sides(&store) } else { Vec::new() };
    let staged = commits::staged(&store)?;
    let head = commits::head_tree(&store);
    let parent = |path: &RepoPath| commits::entry_at(&store, head, path);
    let lookup = |path: &RepoPath| match staged.get(path.as_bstr()) {
        Some(entry) => entry.clone(),
        None => parent(path),
    };
    let of = Of { store: &store, view: &view };
    let mut proposals = Vec::new();
    for (proposal, approved) in applied_among(&store, &view, context, &staged, parent)? {
        let touched = approved.steps.iter().any(|step| staged.contains_key(step.path.as_bstr()));
        let is_named = if !touched {
            false
        } else if sides.is_empty() {
            of.is_brought(&approved, parent, lookup)?
        } else {
            // What a side of a merge brings is named by its own commits.
            let is_in = |side: &gix::ObjectId| {
                let lookup = |path: &RepoPath| commits::entry_at(&store, Some(*side), path);
                of.is_held(&approved, lookup)
            };
            of.is_held(&approved, lookup)?
                && !sides.iter().map(is_in).collect::<Result<Vec<bool>>>()?.contains(&true)
        };
        if is_named {
            proposals.push(proposal);
        }
    }
    if proposals.is_empty() {
        return Ok(());
    }
    // A commit message has no divider: a line of dashes in it is text. Nor do the user's settings
    // for trailers of their own say anything about these.
    let mut git = Git::new(&context.directory)
        .config("trailer.separators", ":")
        .args(["interpret-trailers", "--in-place", "--no-divider"])
        .args(["--where", "end", "--if-exists", "addIfDifferent", "--if-missing", "add"]);
    // All of a kind together: a name that stands for several proposals is written once.
    let mut all: Vec<String> =
        proposals.iter().flat_map(|proposal| trailers(&store, proposal)).collect();
    all.sort_by_key(|trailer| KINDS.iter().position(|kind| trailer.starts_with(kind)));
    for trailer in all {
        git = git.arg("--trailer").arg(trailer);
    }
    // Without `--`: a file name that looks like an option is one only if the caller made it so.
    git.arg(Path::new(".").join(file)).run()?;
    leave_room(&context.directory.join(file))
}

/// Where nothing is written yet, leaves a line for the subject and an empty one behind it, as
/// `git commit --signoff` does: trailers directly below a line belong to its paragraph.
fn leave_room(path: &Path) -> Result<()> {
    let message = std::fs::read(path).map_err(|e| Error::io("read the commit message", &e))?;
    if message.strip_prefix(b"\n").is_some_and(|rest| rest.starts_with(KINDS[0].as_bytes())) {
        let roomy = [b"\n".as_slice(), &message].concat();
        std::fs::write(path, roomy).map_err(|e| Error::io("write the commit message", &e))?;
    }
    Ok(())
}

/// The trailers, in their order.
const KINDS: [&str; 4] = ["Proposal-Id:", "Proposed-by:", "Assisted-by:", "Reviewed-by:"];

/// The trailers of an applied proposal.
fn trailers(store: &Store, proposal: &Proposal) -> Vec<String> {
    let is_wanted = store.settings().is_ok_and(|settings| settings.assisted_by);
    let lines = trailers::of(proposal, &steps::reviewers(store, proposal), is_wanted);
    lines.iter().map(|line| text::one_line(line.trim())).collect()
}

/// Takes the trailers back out of a message that holds nothing else, or nothing but the template
/// it began with: git then gives the commit up, as it does for who leaves the editor so.
///
/// # Errors
/// If the message cannot be read or written, or git fails.
pub(super) fn take_back(context: &mut Context, args: &[OsString]) -> Result<()> {
    let Some(file) = args.first() else { return Ok(()) };
    if context.var(COMMITTING).is_some() {
        return Ok(());
    }
    let path = context.directory.join(file);
    let message = std::fs::read(&path).map_err(|e| Error::io("read the commit message", &e))?;
    let ours = |line: &[u8]| KINDS.iter().any(|kind| line.starts_with(kind.as_bytes()));
    let mut own = Vec::with_capacity(message.len());
    message.lines_with_terminator().filter(|line| !ours(line)).for_each(|l| own.extend(l));
    if own.len() == message.len() {
        return Ok(());
    }
    let written = written(context, &own)?;
    let git = Git::new(&context.directory);
    let template = git.args(["config", "--type=path", "commit.template"]).answer()?;
    let is_template = || -> Result<bool> {
        let path = context.directory.join(template.stdout.trim_end().to_os_str_lossy());
        match std::fs::read(path) {
            Ok(bytes) if template.status == 0 => Ok(written == self::written(context, &bytes)?),
            _ => Ok(false),
        }
    };
    if written.is_empty() || is_template()? {
        std::fs::write(&path, own).map_err(|e| Error::io("write the commit message", &e))?;
    }
    Ok(())
}

/// What somebody wrote of `message`: without comments, without what stands below the scissors,
/// and without Signed-off-by, which git does not count either.
fn written(context: &Context, message: &[u8]) -> Result<Vec<u8>> {
    let above: Vec<u8> = message
        .lines_with_terminator()
        .take_while(|line| !line.trim_end().ends_with(SCISSORS))
        .flatten()
        .copied()
        .collect();
    let git = Git::new(&context.directory).args(["stripspace", "--strip-comments"]).stdin(above);
    let mut text = git.run()?;
    text = text
        .lines_with_terminator()
        .filter(|line| !line.starts_with(b"Signed-off-by: "))
        .flatten()
        .copied()
        .collect();
    Ok(text.trim_end().to_vec())
}

/// What git writes between a message and what is there to be looked at only.
const SCISSORS: &[u8] = b"------------------------ >8 ------------------------";
