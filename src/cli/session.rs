//! `aye session`: the work trees that agents run in.

mod lines;

use lines::said;
pub(super) use lines::{met, say, strays as stray_lines, summary};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Context, Format};
use crate::app;
use crate::app::propose::Details;
use crate::app::session::Submitted;
use crate::error::{Error, Exit, Result};
use crate::render::table::{Align, Cell, Table};
use crate::session::home::{Held, State, not_found};
use crate::session::strays::{self, Inventory, Strays};
use crate::session::{Home, Record, beside, codes, read, spool, tree};
use crate::store::Store;
use crate::text::escape;

/// List, submit and end the work trees that agents run in.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye session list
  aye session submit dark -m 'Dark mode'
  cd \"$(aye session path dark)\"
  aye session end dark")]
pub struct Args {
    /// What to do; the list where it is left out.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do with sessions.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the sessions of this repository.
    #[command(after_help = "Examples:
  aye session list")]
    List,
    /// Show a session: its tree, and what is in it that no proposal has.
    #[command(after_help = "Examples:
  aye session show dark")]
    Show {
        /// The session.
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Print where the tree of a session lies.
    #[command(after_help = "Examples:
  aye session path dark")]
    Path {
        /// The session.
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Propose what the tree of a session holds now, or revise the session's proposal.
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
    /// First the tree follows the decision on what it proposed last, if there is one: what was applied is its
    /// base, what was rejected is out. What its agent has edited since stays. What is pending is revised. Exit
    /// status 5 where edits met.
    #[command(after_help = "Examples:
  aye session sync dark
  aye session sync dark --onto head")]
    Sync {
        /// The session.
        #[arg(value_name = "NAME")]
        name: String,
        /// What to follow: the tracked files as they are, or HEAD.
        #[arg(long, value_enum, default_value = "worktree", value_name = "BASE")]
        onto: super::run::Base,
    },
    /// Remove a session and its tree.
    #[command(after_help = "Examples:
  aye session end dark --discard")]
    End {
        /// The session.
        #[arg(value_name = "NAME")]
        name: String,
        /// Also where it holds work that no proposal has. Not for agents.
        #[arg(long)]
        discard: bool,
    },
}

/// Answer of `aye session list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct List {
    /// `aye/sessions@1`
    pub schema: &'static str,
    /// The sessions, by name.
    pub sessions: Vec<Item>,
}

/// One session of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// What it is doing.
    pub state: State,
    /// Name of the agent; null where the record cannot be read.
    pub agent: Option<String>,
    /// When it began.
    pub started_at: Option<String>,
    /// Where its tree lies.
    pub tree: String,
    /// What was proposed last.
    pub proposal_id: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// `session_not_found`, `session_live`, `session_unsubmitted`; those of proposing.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let mut store = context.store()?;
    let home = Home::open(store.common_dir(), &context.state_directory()?)?;
    let finished = home.as_ref().map(|home| finish(&store, home)).unwrap_or_default();
    home.iter().for_each(|home| strays::expire(home, context.now));
    let command = args.command.unwrap_or(Command::List);
    let name = match &command {
        Command::List => return list(context, &store, home.as_ref()),
        Command::Show { name } | Command::Path { name } => name.clone(),
        Command::Submit { name, .. } | Command::End { name, .. } | Command::Sync { name, .. } => {
            name.clone()
        }
    };
    let home = home.ok_or_else(|| not_found(&name))?;
    match command {
        Command::List => list(context, &store, Some(&home)),
        Command::Show { name } => show(context, &store, &home, &name),
        Command::Path { name } => {
            home.record(&name)?;
            let mut path = home.tree(&name).into_os_string().into_encoded_bytes();
            path.push(b'\n');
            context.print(&path)?;
            Ok(Exit::Done)
        }
        Command::Submit { name, message } => {
            let Record { agent, run, .. } = home.record(&name)?;
            store.run_by(run);
            let done = match submit(context, &store, &home, &name, &agent, message.clone()) {
                Err(error) if context.is_sandboxed(&error, &store) => {
                    let said = spool::Said { description: message, ..spool::Said::default() };
                    spool::leave(&home.tree(&name), &said)?;
                    return super::propose::spooled(context, &name);
                }
                done => done?,
            };
            say(context, &done);
            Ok(Exit::Done)
        }
        Command::Sync { name, onto } => {
            let Record { agent, run, .. } = home.record(&name)?;
            store.run_by(run);
            sync(context, &store, &home, &name, &agent, onto)
        }
        Command::End { name, discard } => {
            let ended = format!("{name} ended\n");
            if finished.contains(&name) {
                context.print(ended.as_bytes())?;
                return Ok(Exit::Done);
            }
            if home.record(&name).is_err_and(|error| error.is(&codes::SESSION_NOT_FOUND)) {
                return Err(not_found(&name));
            }
            let held = home.hold(&name)?;
            let command = format!("aye session end {name} --discard");
            let may = context.refuse_agents("discard work that no proposal has", &command);
            let strays = match (discard, may) {
                (false, _) => refuse_unsubmitted(&store, &home, &name)?,
                (true, Ok(())) => Strays::default(),
                // A name does not make an agent the one whose edits these are: a person may have made
                // them, or another agent of that name.
                (true, Err(refusal)) => {
                    refuse_unsubmitted(&store, &home, &name).map_err(|_| refusal)?
                }
            };
            let found = end(context, &store, &home, held, &strays)?;
            context.print(ended.as_bytes())?;
            lines::strays(&found).iter().for_each(|line| context.note(line));
            Ok(Exit::Done)
        }
    }
}

fn item(store: &Store, home: &Home, name: String) -> Item {
    let record = app::recall::record(store, home, &name).ok();
    Item {
        state: home.state(&name),
        agent: record.as_ref().map(|record| record.agent.clone()),
        started_at: record.as_ref().map(|record| record.started_at.clone()),
        tree: home.tree(&name).to_string_lossy().into_owned(),
        proposal_id: record.and_then(|record| record.proposal),
        name,
    }
}

fn list(context: &mut Context, store: &Store, home: Option<&Home>) -> Result<Exit> {
    let items =
        |home: &Home| home.names().into_iter().map(|name| item(store, home, name)).collect();
    let list = List { schema: "aye/sessions@1", sessions: home.map(items).unwrap_or_default() };
    if list.sessions.is_empty() && context.format_or(Format::Text) == Format::Text {
        context.note("no sessions");
        return Ok(Exit::Done);
    }
    context.emit(Format::Text, &list, || {
        let titles = ["NAME", "STATE", "AGENT", "PROPOSAL", "TREE"].map(|name| (name, Align::Left));
        let mut table = Table::new(&titles);
        for item in &list.sessions {
            let cell = |text: &str| Cell::from(escape::line(text).into_owned());
            table.row([
                cell(&item.name),
                cell(item.state.as_str()),
                cell(item.agent.as_deref().unwrap_or("?")),
                cell(item.proposal_id.as_deref().unwrap_or("-")),
                cell(&item.tree),
            ]);
        }
        table.render(&crate::render::style::Palette::plain(), None)
    })?;
    Ok(Exit::Done)
}

fn show(context: &mut Context, store: &Store, home: &Home, name: &str) -> Result<Exit> {
    let record = app::recall::record(store, home, name)?;
    let left = read::left(store, &home.tree(name), Some(name), &record.base)?;
    let Item { state, agent, tree, proposal_id, .. } = item(store, home, name.to_owned());
    let mut text = format!("session {name}  {}\n", state.as_str());
    text += &format!("agent    {}\n", escape::line(agent.as_deref().unwrap_or("?")));
    text += &format!("tree     {}\n", escape::line(&tree));
    text += &format!("proposal {}\n", escape::line(proposal_id.as_deref().unwrap_or("none")));
    for change in &left.changes {
        text += &format!("  {}\n", escape::name(&change.path.display().to_string()));
    }
    context.print(text.as_bytes())?;
    Ok(Exit::Done)
}

/// Proposes what the tree holds, as the agent's work.
///
/// # Errors
/// Those of [`app::session::submit`].
pub(super) fn submit(
    context: &Context,
    store: &Store,
    home: &Home,
    name: &str,
    agent: &str,
    message: Option<String>,
) -> Result<Submitted> {
    let changing = home.change(name)?;
    let session = context.session_of_agent(store, agent, "aye run");
    let details = Details { description: message, ..Details::default() };
    app::session::submit(&session, home, &changing, name, details)
}

fn sync(
    context: &mut Context,
    store: &Store,
    home: &Home,
    name: &str,
    agent: &str,
    onto: super::run::Base,
) -> Result<Exit> {
    let changing = home.change(name)?;
    let session = context.session_of_agent(store, agent, "aye run");
    let (followed, done) = app::session::sync(&session, home, &changing, name, onto.into())?;
    said(&followed.said).chain(met(&followed.kept)).for_each(|line| context.note(&line));
    match followed.moved.len() {
        0 if followed.kept.is_empty() => {
            context.note(&format!("aye: session {name} stays as it is"));
        }
        0 => {}
        1 => context.note(&format!("aye: session {name}: 1 file follows")),
        count => context.note(&format!("aye: session {name}: {count} files follow")),
    }
    done.iter().flat_map(summary).for_each(|line| context.note(&line));
    Ok(if followed.kept.is_empty() { Exit::Done } else { Exit::Conflict })
}

/// Lets the tree follow the decision on what it proposed last, and says where edits met.
///
/// # Errors
/// Those of [`app::session::follow`].
pub(super) fn follow(
    context: &Context,
    store: &Store,
    home: &Home,
    name: &str,
    agent: &str,
) -> Result<()> {
    let changing = home.change(name)?;
    let session = context.session_of_agent(store, agent, "aye run");
    let followed = app::session::follow(&session, home, &changing, name)?;
    said(&followed.said).chain(met(&followed.kept)).for_each(|line| context.note(&line));
    Ok(())
}

/// What git ignores in the tree.
fn refuse_unsubmitted(store: &Store, home: &Home, name: &str) -> Result<Strays> {
    if home.state(name) == State::Gone {
        return Ok(Strays::default());
    }
    let record = app::recall::record(store, home, name)?;
    let base = app::later::proposed(store, &record)?;
    let tree = home.tree(name);
    let read::Left { changes, passed_over: mut others, strays } =
        read::left(store, &tree, Some(name), &base)?;
    let changes = app::proposable::only(store, changes, &mut others)?;
    let submitted = record.submitted.as_ref().unwrap_or(&base);
    others.extend(beside::of(store, &tree, name, &[&record.base, submitted]));
    // Submitting proposes what is in the files and can be; what else there is says itself what it is.
    let (what, submit) = match (others.first(), changes.is_empty()) {
        (Some((_, why)), true) => (format!(", which {why}"), String::new()),
        (Some(_), false) => (
            String::new(),
            format!("aye session submit {name} proposes what can be proposed of it; "),
        ),
        (None, _) => (String::new(), format!("aye session submit {name} proposes it; ")),
    };
    let paths: Vec<String> = changes
        .iter()
        .map(|change| change.path.display().to_string())
        .chain(others.into_iter().map(|(path, _)| path))
        .collect();
    let Some(first) = paths.first() else { return Ok(strays) };
    let more = match paths.len() - 1 {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Err(Error::new(
        &codes::SESSION_UNSUBMITTED,
        format!("session '{name}' holds work that no proposal has: {first}{what}{more}"),
    )
    .with("paths", paths.clone())
    .hint(format!("{submit}aye session end {name} --discard removes it")))
}

/// Removes a session, its tree and what kept its commits. What git ignores in the tree is moved out of it first.
///
/// # Errors
/// As [`Strays::rescue`], before anything is removed, and [`Home::remove`].
pub(super) fn end(
    context: &Context,
    store: &Store,
    home: &Home,
    held: Held,
    strays: &Strays,
) -> Result<Inventory> {
    let name = held.name.clone();
    let found = strays.rescue(home, &name, context.now)?;
    home.remove(held)?;
    tree::unpin(store, &name);
    Ok(found)
}

/// Finishes removals of sessions that were interrupted: their names.
pub(super) fn finish(store: &Store, home: &Home) -> Vec<String> {
    let finished = home.finish();
    finished.iter().for_each(|name| tree::unpin(store, name));
    // What was removed but for its ref.
    for name in tree::pinned(store) {
        let is_there = home.record(&name).is_ok() || home.tree(&name).symlink_metadata().is_ok();
        if !is_there && let Ok(held) = home.hold(&name) {
            tree::unpin(store, &name);
            home.clear(&held);
        }
    }
    finished
}

/// Names of all sessions of the repository.
///
/// # Errors
/// `private_dir_unsafe`.
pub(super) fn names(context: &Context, store: &Store) -> Result<Vec<String>> {
    Ok(home(context, store)?.map(|home| home.names()).unwrap_or_default())
}

/// Where sessions are kept; `None` where there is no place, or never was a session.
fn home(context: &Context, store: &Store) -> Result<Option<Home>> {
    let Ok(state) = context.state_directory() else { return Ok(None) };
    let home = Home::open(store.common_dir(), &state)?;
    home.iter().for_each(|home| drop(finish(store, home)));
    Ok(home)
}

/// Takes every session, to end them all.
///
/// # Errors
/// `session_live`, `session_unsubmitted`.
pub(super) fn hold_all(context: &Context, store: &Store) -> Result<Vec<(Held, Strays)>> {
    let Some(home) = home(context, store)? else { return Ok(Vec::new()) };
    let hold = |name: String| {
        let held = home.hold(&name)?;
        let strays = refuse_unsubmitted(store, &home, &name)?;
        Ok((held, strays))
    };
    home.names().into_iter().map(hold).collect()
}

/// Ends what was taken.
///
/// # Errors
/// As [`end`].
pub(super) fn end_all(context: &Context, store: &Store, held: Vec<(Held, Strays)>) -> Result<()> {
    let Some(home) = home(context, store)? else { return Ok(()) };
    for (held, strays) in held {
        let found = end(context, store, &home, held, &strays)?;
        lines::strays(&found).iter().for_each(|line| context.note(line));
    }
    Ok(())
}

/// Says of a repository which of its sessions were left; nothing where that cannot be seen.
pub(super) fn note_left_of(context: &Context, store: &Store) {
    if let Ok(Some(home)) = home(context, store) {
        note_left(context, &home);
    }
}

/// Says which sessions were left with their trees: by an agent or a machine that was stopped.
pub(super) fn note_left(context: &Context, home: &Home) {
    for name in home.names() {
        if home.state(&name) == State::Left {
            context.note(&format!(
                "aye: session {name} was left: aye session submit {name}, or aye session end {name}"
            ));
        }
    }
}
