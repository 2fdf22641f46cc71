//! Other ways to say what is proposed: a patch, what is uncommitted, a commit or a range.

use std::ffi::OsString;

use crate::app::capture::{self, Remark, Source, TakenBack};
use crate::app::stack::Ground;
use crate::app::{Draft, Session};
use crate::changeset::patch::limits;
use crate::cli::patch::ReadArgs;
use crate::cli::{Context, paths};
use crate::error::{Error, Result, codes};
use crate::text::{escape, shell};

/// A patch, what is uncommitted, a commit or a range, instead of edits.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Other sources")]
pub struct SourceArgs {
    /// A patch: a unified diff or an envelope (*** Begin Patch); - reads standard input.
    #[arg(long, value_name = "FILE", group = "source", conflicts_with_all = ["path", "from_json"])]
    pub patch: Option<OsString>,
    /// What is not committed, staged or not, new files included; the files then go back to HEAD, or
    /// to what proposals have been applied to them since. The index stays as it is.
    /// With PATHSPEC, only what it matches, as for git add. Agents have to give one.
    #[arg(long, value_name = "PATHSPEC", num_args = 0.., group = "source", conflicts_with_all = ["path", "from_json"])]
    pub worktree: Option<Vec<OsString>>,
    /// Leave the files as they are.
    #[arg(long, requires = "worktree")]
    pub keep: bool,
    /// What a commit changed against its first parent.
    #[arg(long, value_name = "REV", group = "source", conflicts_with_all = ["path", "from_json"])]
    pub commit: Option<OsString>,
    /// What changed from A to B, as one change: A..B, or A...B from their merge base.
    #[arg(long, value_name = "A..B", group = "source", conflicts_with_all = ["path", "from_json"])]
    pub range: Option<OsString>,
    /// How a patch is read.
    #[command(flatten)]
    pub read: ReadArgs,
}

impl SourceArgs {
    /// Refuses what says how a patch is read where none is. (A commit can be taken back.)
    fn refuse_unused(&self) -> Result<()> {
        let read = &self.read;
        let a_patch = self.patch.is_some();
        let unused = [
            ("-R", read.reverse && !a_patch && self.commit.is_none() && self.range.is_none()),
            ("-p", read.strip.is_some() && !a_patch),
            ("--fuzz", read.fuzz > 0 && !a_patch),
            ("--unidiff-zero", read.unidiff_zero && !a_patch),
        ];
        let Some((flag, _)) = unused.iter().find(|(_, unused)| *unused) else { return Ok(()) };
        let message = match *flag {
            "-R" => "-R goes with --patch, --commit or --range".to_owned(),
            flag => format!("{flag} says how a patch is read, and goes with --patch"),
        };
        Err(Error::new(&codes::USAGE, message).hint("leave it out, or name a patch with --patch"))
    }

    /// Reads the source that was given, if one was; a patch on `ground`.
    ///
    /// # Errors
    /// `usage`; those of [`capture::capture`].
    pub fn read(
        self,
        context: &Context,
        session: &Session<'_>,
        ground: Ground,
    ) -> Result<Option<Draft>> {
        self.refuse_unused()?;
        let reverse = self.read.reverse;
        let source = if let Some(file) = &self.patch {
            let bytes = paths::content(context, file, limits::PATCH as u64 + 1)?;
            Source::Patch { bytes, options: self.read.options(), ground }
        } else if let Some(specs) = self.worktree {
            let base = context.path_base(session.store);
            Source::Worktree { specs, base, take_back: !self.keep }
        } else if let Some(rev) = self.commit {
            Source::Commit { rev, reverse }
        } else if let Some(range) = self.range {
            Source::Range { range, reverse }
        } else {
            return Ok(None);
        };
        let mut remarks = Vec::new();
        let draft = capture::capture(session, &source, &mut remarks);
        for remark in &remarks {
            context.note(&format!("note: {}", line(remark)));
        }
        draft.map(Some)
    }
}

fn line(remark: &Remark) -> String {
    match remark {
        Remark::Patch(note) => escape::line(note).into_owned(),
        Remark::OtherRepository(name) => {
            format!("{} is another repository and stays as it is", escape::line(name))
        }
        Remark::Symlink(path) => {
            format!("{} is a symlink and stays as it is", escape::name(&path.display().to_string()))
        }
        Remark::Excluded(path) => format!(
            "{} is staged but excluded from the work tree, and stays as it is",
            escape::name(&path.display().to_string())
        ),
    }
}

/// Says which of the files that were reverted have something staged: a commit would have it.
pub fn note_staged(context: &Context, taken_back: &TakenBack) {
    for path in &taken_back.staged {
        let path = path.display().to_string();
        // From the top, also in a subdirectory; on an unborn branch `git restore` has nothing to restore from.
        let unstage = format!("git reset -q -- {}", shell::word(&format!(":/{path}")));
        let (path, unstage) = (escape::name(&path), escape::line(&unstage));
        context.note(&format!(
            "note: {path} stays staged, and `git commit` would take it: `{unstage}` unstages it"
        ));
    }
}
