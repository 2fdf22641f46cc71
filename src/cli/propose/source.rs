//! Sources other than edits: patch, uncommitted changes, commit, range.

use std::ffi::OsString;

use crate::app::capture::{self, Remark, RevertedFiles, Since, Source};
use crate::app::stack::EditBase;
use crate::app::{Draft, Session};
use crate::changeset::patch::limits;
use crate::cli::patch::ReadArgs;
use crate::cli::{Context, paths};
use crate::error::{Error, Result, codes};
use crate::text::{escape, shell};

#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Other sources")]
pub struct SourceArgs {
    /// A unified diff or an envelope (*** Begin Patch); - reads standard input.
    #[arg(long, value_name = "FILE", group = "source", conflicts_with_all = ["path", "from_json"])]
    pub patch: Option<OsString>,
    /// Uncommitted changes, new files too; the files are then reverted.
    ///
    /// Staged or not. The files return to HEAD, or to what proposals have been applied to them
    /// since. The index stays as it is. With PATHSPEC, only what it matches, as for git add. Agents
    /// have to give one.
    #[arg(long, value_name = "PATHSPEC", num_args = 0.., group = "source", conflicts_with_all = ["path", "from_json"])]
    pub worktree: Option<Vec<OsString>>,
    /// The same, but the files stay: for an agent's finished work.
    #[arg(long, value_name = "PATHSPEC", num_args = 0.., group = "source", conflicts_with_all = ["path", "from_json"])]
    pub keep: Option<Vec<OsString>>,
    /// The two above: since a commit, a stash, or a time such as 45m.
    ///
    /// Commits made since are included. A time is a span (45m, 2h, 3d) or as in
    /// 2026-01-31T15:00:00Z. Each PATHSPEC is a file or a directory then. A stash (git stash
    /// create, before the agent starts) leaves your own edits out.
    #[arg(long, value_name = "REV|TIME", conflicts_with_all = ["path", "from_json", "patch", "commit", "range"])]
    pub since: Option<OsString>,
    /// Changes of a commit against its first parent.
    #[arg(long, value_name = "REV", group = "source", conflicts_with_all = ["path", "from_json"])]
    pub commit: Option<OsString>,
    /// Changes from A to B; with A...B from their merge base.
    #[arg(long, value_name = "A..B", group = "source", conflicts_with_all = ["path", "from_json"])]
    pub range: Option<OsString>,
    #[command(flatten)]
    pub read: ReadArgs,
}

impl SourceArgs {
    /// `-R` also reverses a commit or a range.
    fn refuse_unused(&self) -> Result<()> {
        let read = &self.read;
        let a_patch = self.patch.is_some();
        let unused = [
            ("-R", read.reverse && !a_patch && self.commit.is_none() && self.range.is_none()),
            ("-p", read.strip.is_some() && !a_patch),
            ("--unidiff-zero", read.unidiff_zero && !a_patch),
        ];
        let Some((flag, _)) = unused.iter().find(|(_, unused)| *unused) else { return Ok(()) };
        let message = match *flag {
            "-R" => "-R goes with --patch, --commit or --range".to_owned(),
            flag => format!("{flag} says how a patch is read, and goes with --patch"),
        };
        Err(Error::new(&codes::USAGE, message).hint("leave it out, or name a patch with --patch"))
    }

    fn files(&self) -> Option<(&[OsString], bool)> {
        match (&self.worktree, &self.keep) {
            (Some(specs), _) => Some((specs, true)),
            (None, Some(specs)) => Some((specs, false)),
            (None, None) => None,
        }
    }

    pub fn read(
        self,
        context: &Context,
        session: &Session<'_>,
        ground: EditBase,
    ) -> Result<Option<Draft>> {
        self.refuse_unused()?;
        if self.since.is_some() && self.files().is_none() {
            return Err(Error::new(&codes::USAGE, "--since goes with --worktree or --keep")
                .hint("aye propose --keep --since main~2 -m WHY"));
        }
        let reverse = self.read.reverse;
        let source = if let Some(file) = &self.patch {
            let bytes = paths::content(context, file, limits::PATCH as u64 + 1)?;
            Source::Patch { bytes, options: self.read.options(), ground }
        } else if let Some((specs, take_back)) = self.files() {
            match &self.since {
                Some(since) => {
                    let typed =
                        |path: &OsString| paths::typed(context, session.store.repository(), path);
                    let paths = specs.iter().map(typed).collect::<Result<_>>()?;
                    Source::Since { since: Since::parse(since, session.now), paths, take_back }
                }
                None => {
                    let base = context.path_base(session.store.repository());
                    Source::Worktree { specs: specs.to_vec(), base, take_back }
                }
            }
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
        Remark::PassedOver { path, why } => {
            format!("{} is not proposed: {}", escape::name(path), escape::line(why))
        }
        Remark::Excluded(path) => format!(
            "{} is staged but excluded from the work tree, and stays as it is",
            escape::name(&path.display().to_string())
        ),
    }
}

pub fn note_staged(context: &Context, taken_back: &RevertedFiles) {
    for path in &taken_back.staged {
        let path = path.display().to_string();
        // From the top, for subdirectories; an unborn branch has nothing for `git restore`.
        let unstage = format!("git reset -q -- {}", shell::word(&format!(":/{path}")));
        let (path, unstage) = (escape::name(&path), escape::line(&unstage));
        context.note(&format!(
            "note: {path} stays staged, and `git commit` would take it: `{unstage}` unstages it"
        ));
    }
}
