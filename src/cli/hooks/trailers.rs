//! Trailers of the applied proposals that a commit brings.

use std::ffi::OsString;
use std::path::Path;

use bstr::ByteSlice as _;

use crate::check::contained_proposals;
use crate::cli::Context;
use crate::decide::steps;
use crate::error::{Error, Result};
use crate::git::{COMMITTING, Git};
use crate::proposal::trailers;
use crate::text;

const KINDS: [&str; 4] = ["Proposal-Id:", "Proposed-by:", "Assisted-by:", "Reviewed-by:"];

/// A message file without a message stays unchanged.
pub(super) fn add(context: &mut Context, args: &[OsString]) -> Result<()> {
    // `apply --commit` adds its own.
    let Some(file) = args.first().filter(|_| context.var(COMMITTING).is_none()) else {
        return Ok(());
    };
    let store = context.store_here()?;
    let view = store.view()?;
    if !view.has_events() {
        return Ok(());
    }
    let proposals = contained_proposals::by_index(&store, &view, context.now)?;
    if proposals.is_empty() || !is_written(context, Path::new(file))? {
        return Ok(());
    }
    let settings = store.repository().settings()?;
    let (wanted, is_wanted) = (settings.trailers, settings.assisted_by);
    let lines =
        |proposal| trailers::of(proposal, &steps::reviewers(&view, proposal), wanted, is_wanted);
    let mut all: Vec<String> = proposals.iter().flat_map(lines).collect();
    if all.is_empty() {
        return Ok(());
    }
    // A name that several proposals share gets one line.
    all.sort_by_key(|trailer| KINDS.iter().position(|kind| trailer.starts_with(kind)));
    // Dashes in a commit message are no divider. The user's settings for trailers do not apply.
    let mut git = Git::new(&context.directory)
        .config("trailer.separators", ":")
        .args(["interpret-trailers", "--in-place", "--no-divider"])
        .args(["--where", "end", "--if-exists", "addIfDifferent", "--if-missing", "add"]);
    for trailer in all {
        git = git.arg("--trailer").arg(text::one_line(trailer.trim()));
    }
    // `./` keeps the name from being read as an option.
    git.arg(Path::new(".").join(file)).run().map(drop)
}

/// Git aborts a commit whose message is the template; Signed-off-by does not count.
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

const SCISSORS: &[u8] = b"------------------------ >8 ------------------------";
