//! The trailers of a commit message: those of the applied proposals that the commit brings.

use std::ffi::OsString;
use std::path::Path;

use bstr::ByteSlice as _;

use crate::check::brought;
use crate::cli::Context;
use crate::decide::steps;
use crate::error::{Error, Result};
use crate::git::{COMMITTING, Git};
use crate::proposal::trailers;
use crate::text;

/// The trailers, in their order.
const KINDS: [&str; 4] = ["Proposal-Id:", "Proposed-by:", "Assisted-by:", "Reviewed-by:"];

/// Adds the trailers to the message in the file that git names, where somebody has written one.
///
/// # Errors
/// If the store or the index cannot be read, or git cannot write the message.
pub(super) fn add(context: &mut Context, args: &[OsString]) -> Result<()> {
    // `apply --commit` has its own.
    let Some(file) = args.first().filter(|_| context.var(COMMITTING).is_none()) else {
        return Ok(());
    };
    let store = context.store_here()?;
    let view = store.view()?;
    if !view.has_events() {
        return Ok(());
    }
    let proposals = brought::by_index(&store, &view, context.now)?;
    if proposals.is_empty() || !is_written(context, Path::new(file))? {
        return Ok(());
    }
    let is_wanted = store.repository().settings().is_ok_and(|settings| settings.assisted_by);
    let lines = |proposal| trailers::of(proposal, &steps::reviewers(&view, proposal), is_wanted);
    let mut all: Vec<String> = proposals.iter().flat_map(lines).collect();
    // All of a kind together: a name that stands for several proposals is written once.
    all.sort_by_key(|trailer| KINDS.iter().position(|kind| trailer.starts_with(kind)));
    // A commit message has no divider: a line of dashes in it is text. Nor do the user's settings
    // for trailers of their own say anything about these.
    let mut git = Git::new(&context.directory)
        .config("trailer.separators", ":")
        .args(["interpret-trailers", "--in-place", "--no-divider"])
        .args(["--where", "end", "--if-exists", "addIfDifferent", "--if-missing", "add"]);
    for trailer in all {
        git = git.arg("--trailer").arg(text::one_line(trailer.trim()));
    }
    // Without `--`: a file name that looks like an option is one only if the caller made it so.
    git.arg(Path::new(".").join(file)).run().map(drop)
}

/// Whether there is more in the message `file` than the template it began with: git aborts the commit where there is
/// not, and does not count Signed-off-by either.
fn is_written(context: &Context, file: &Path) -> Result<bool> {
    let git = || Git::new(&context.directory);
    let written = |path: &Path| -> Result<Vec<u8>> {
        let text = std::fs::read(context.directory.join(path))
            .map_err(|error| Error::io("read the commit message", &error))?;
        let is_above = |line: &&[u8]| !line.trim_end().ends_with(SCISSORS);
        let above: Vec<u8> =
            text.lines_with_terminator().take_while(is_above).flatten().copied().collect();
        let text = git().args(["stripspace", "--strip-comments"]).stdin(above).run()?;
        let own = text.lines().filter(|line| !line.starts_with(b"Signed-off-by: "));
        Ok(bstr::join("\n", own).trim().to_owned())
    };
    let message = written(file)?;
    let template = git().args(["config", "--type=path", "commit.template"]).answer()?;
    let is_template = || {
        let path = template.stdout.trim_end().to_os_str_lossy();
        template.ok() && written(Path::new(&path)).is_ok_and(|template| template == message)
    };
    Ok(!message.is_empty() && !is_template())
}

/// What git writes between a message and what is there to be looked at only.
const SCISSORS: &[u8] = b"------------------------ >8 ------------------------";
