//! The command `aye session`.

mod all;
mod lines;
mod list;

use super::Context;
use crate::app;
use crate::app::ending::{end, finish, refuse_unsubmitted};
use crate::app::propose::Details;
use crate::app::session::SubmitReport;
use crate::error::{Exit, Result};
use crate::session::ignored_files::{self, IgnoredFiles};
use crate::session::session_store::not_found;
use crate::session::{SessionRecord, SessionStore, codes, spool};
use crate::store::Store;
use all::end_done;
pub(super) use all::{end_all, hold_all, names, note_unproposed, settle};
use lines::decision_lines;
pub(super) use lines::{conflict_lines, ignored_lines as stray_lines, say, summary};
pub use list::List;
use list::list;

/// List, submit and end the work trees that agents run in.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye session list
  aye session submit dark -m 'Dark mode'
  aye session end dark")]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the sessions of this repository.
    #[command(after_help = "Examples:
  aye session list")]
    List,
    /// Propose the tree of a session, or revise its proposal.
    #[command(after_help = "Examples:
  aye session submit dark -m 'Dark mode'")]
    Submit {
        /// The session.
        #[arg(value_name = "NAME")]
        name: String,
        /// Why, for the reviewer.
        #[arg(short = 'm', long = "message", value_name = "TEXT")]
        message: Option<String>,
    },
    /// Let the tree of a session follow the checkout: what changed there is merged into it.
    ///
    /// First the tree follows the decision on its last proposal, if there is one: applied changes
    /// become its base, rejected ones are out. Later edits of its agent stay. A pending proposal is
    /// revised. Exit status 5 if edits overlap.
    #[command(after_help = "Examples:
  aye session sync dark
  aye session sync dark --onto head")]
    Sync {
        /// The session.
        #[arg(value_name = "NAME")]
        name: String,
        /// Base to follow: the tracked files as they are, or HEAD.
        #[arg(long, value_enum, default_value = "worktree", value_name = "BASE")]
        onto: super::run::Base,
    },
    /// Remove a session and its tree.
    #[command(after_help = "Examples:
  aye session end dark --discard
  aye session end --done")]
    End {
        /// The session.
        #[arg(value_name = "NAME", required_unless_present = "done")]
        name: Option<String>,
        /// All sessions of which everything is proposed and decided.
        #[arg(long, conflicts_with_all = ["name", "discard"])]
        done: bool,
        /// Also drop unproposed work. Not for agents.
        #[arg(long)]
        discard: bool,
    },
}

/// # Errors
/// `session_not_found`, `session_live`, `session_unsubmitted`.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let mut store = context.store()?;
    let home = SessionStore::open(store.repository().common_dir(), &context.state_directory()?)?;
    let finished = home.as_ref().map(|home| finish(store.repository(), home)).unwrap_or_default();
    home.iter().for_each(|home| ignored_files::expire(home, context.now));
    let command = args.command.unwrap_or(Command::List);
    let name = match &command {
        Command::List => return list(context, &store, home.as_ref()),
        Command::Submit { name, .. } | Command::Sync { name, .. } => name.clone(),
        Command::End { name: Some(name), .. } => name.clone(),
        Command::End { name: None, .. } => {
            let ended = home.map(|home| end_done(context, &store, &home)).transpose()?;
            let lines = ended.iter().flatten().map(|name| format!("{name} ended\n"));
            return context.print(lines.collect::<String>().as_bytes());
        }
    };
    let home = home.ok_or_else(|| not_found(&name))?;
    match command {
        Command::List => list(context, &store, Some(&home)),
        Command::Submit { name, message } => {
            let SessionRecord { agent, run, .. } = home.record(&name)?;
            store.run_by(run);
            let done = match submit(context, &store, &home, &name, &agent, message.clone()) {
                Err(error) if context.is_sandboxed(&error, store.repository()) => {
                    let said = spool::SpoolRemark {
                        description: message,
                        ..spool::SpoolRemark::default()
                    };
                    spool::leave(&home.tree(&name), &said)?;
                    return super::propose::spooled(context, &name);
                }
                done => done?,
            };
            say(context, &done);
            Ok(Exit::Done)
        }
        Command::Sync { name, onto } => {
            let SessionRecord { agent, run, .. } = home.record(&name)?;
            store.run_by(run);
            sync(context, &store, &home, &name, &agent, onto)
        }
        Command::End { discard, .. } => {
            let ended = format!("{name} ended\n");
            if finished.contains(&name) {
                return context.print(ended.as_bytes());
            }
            if home.record(&name).is_err_and(|error| error.is(&codes::SESSION_NOT_FOUND)) {
                return Err(not_found(&name));
            }
            let held = home.hold(&name)?;
            let command = format!("aye session end {name} --discard");
            let may = context.refuse_agents("discard work that no proposal has", &command);
            let strays = match (discard, may) {
                (false, _) => refuse_unsubmitted(&store, &home, &name)?,
                (true, Ok(())) => IgnoredFiles::default(),
                // A name does not prove whose edits these are: a person's or another agent's.
                (true, Err(refusal)) => {
                    refuse_unsubmitted(&store, &home, &name).map_err(|_| refusal)?
                }
            };
            let found = end(store.repository(), &home, held, &strays, context.now)?;
            context.print(ended.as_bytes())?;
            lines::ignored_lines(&found).iter().for_each(|line| context.note(line));
            Ok(Exit::Done)
        }
    }
}

pub(super) fn submit(
    context: &Context,
    store: &Store,
    home: &SessionStore,
    name: &str,
    agent: &str,
    message: Option<String>,
) -> Result<SubmitReport> {
    let changing = home.change(name)?;
    let session = context.agent_session(store, agent, "aye run");
    let details = Details { description: message, ..Details::default() };
    app::session::submit(&session, home, &changing, name, details)
}

fn sync(
    context: &mut Context,
    store: &Store,
    home: &SessionStore,
    name: &str,
    agent: &str,
    onto: super::run::Base,
) -> Result<Exit> {
    let changing = home.change(name)?;
    let session = context.agent_session(store, agent, "aye run");
    let (followed, done) = app::session::sync(&session, home, &changing, name, onto.into())?;
    decision_lines(&followed.remarks)
        .chain(conflict_lines(&followed.kept_edits))
        .for_each(|line| context.note(&line));
    match followed.written.len() {
        0 if followed.kept_edits.is_empty() => {
            context.note(&format!("aye: session {name} stays as it is"));
        }
        0 => {}
        1 => context.note(&format!("aye: session {name}: 1 file follows")),
        count => context.note(&format!("aye: session {name}: {count} files follow")),
    }
    done.iter().flat_map(summary).for_each(|line| context.note(&line));
    Ok(if followed.kept_edits.is_empty() { Exit::Done } else { Exit::Conflict })
}

/// Carries out the last decision in the tree.
pub(super) fn follow(
    context: &Context,
    store: &Store,
    home: &SessionStore,
    name: &str,
    agent: &str,
) -> Result<()> {
    let changing = home.change(name)?;
    let session = context.agent_session(store, agent, "aye run");
    let followed = app::session::follow(&session, home, &changing, name)?;
    decision_lines(&followed.remarks)
        .chain(conflict_lines(&followed.kept_edits))
        .for_each(|line| context.note(&line));
    Ok(())
}
