//! `aye adopt`: what an agent without a gate has done to the work tree becomes a proposal.

use std::ffi::OsString;

use chrono::{DateTime, Utc};

use super::{Context, paths, propose};
use crate::app::adopt::{self, Adoption, Since};
use crate::app::propose::Details;
use crate::error::{Exit, Result};
use crate::repository::parse_duration;
use crate::text::escape;

/// Propose what an agent without a gate has already changed in the work tree.
///
/// Tracked files and new ones that are not as they were then, but for ignored ones, commits made since included.
/// The files stay as they are; with --put-back they go back to what they were, and come again when the proposal
/// is applied. Your own edits are told from an agent's only by the time, by a stash (`git stash create` before
/// the agent starts prints one), or by naming paths.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye adopt -m 'What aider did'
  aye adopt --since main~2 --put-back
  aye adopt --since 45m src/ --by aider
  aye adopt --since 'stash@{0}'")]
pub struct Args {
    /// Only these files and directories.
    #[arg(value_name = "PATH")]
    pub paths: Vec<OsString>,
    /// A commit or a stash that has the files as they were, or a time: 45m, 2h, 3d ago, or as in
    /// 2026-01-31T15:00:00Z.
    #[arg(long, value_name = "REV|TIME", default_value = "HEAD")]
    pub since: OsString,
    /// Restore the files to what they were.
    #[arg(long)]
    pub put_back: bool,
    /// Why, for the reviewer.
    #[arg(short = 'm', long = "message", value_name = "TEXT")]
    pub message: Option<String>,
    /// The agent that did it.
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// Those of [`adopt::draft`] and of proposing.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store_to_edit()?;
    let session = context.session(&store);
    let paths: Result<Vec<_>> =
        args.paths.iter().map(|path| paths::typed(context, &store, path)).collect();
    let adoption =
        Adoption { since: since(args.since, context.now), paths: paths?, put_back: args.put_back };
    let mut passed_over = Vec::new();
    let draft = adopt::draft(&session, &adoption, &mut passed_over);
    for (path, why) in &passed_over {
        let (path, why) = (escape::name(path), escape::line(why));
        context.note(&format!("aye: not proposed: {path} {why}"));
    }
    let details = Details { description: args.message, proposed_by: args.by, ..Details::default() };
    let recorded = crate::app::propose::propose(&session, draft?, details)?;
    propose::answer(context, &recorded)
}

/// A time where the text is one, and else a name for git.
fn since(text: OsString, now: DateTime<Utc>) -> Since {
    let time = text.to_str().and_then(|text| {
        let moment = DateTime::parse_from_rfc3339(text).ok().map(|time| time.to_utc());
        moment.or_else(|| Some(now - parse_duration(text)?))
    });
    time.map_or(Since::Commit(text), Since::Time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_one_and_all_else_is_gits() {
        let now = DateTime::parse_from_rfc3339("2026-01-02T12:00:00Z").unwrap().to_utc();
        let time = |text: &str| match since(text.into(), now) {
            Since::Time(time) => Some(time.to_rfc3339()),
            Since::Commit(_) => None,
        };
        assert_eq!(time("2h").as_deref(), Some("2026-01-02T10:00:00+00:00"));
        assert_eq!(time("2026-01-01T05:00:00+05:00").as_deref(), Some("2026-01-01T00:00:00+00:00"));
        for rev in ["HEAD", "main~2", "stash@{0}", "deadbeef", "2h-branch", ""] {
            assert_eq!(time(rev), None, "{rev}");
        }
    }
}
