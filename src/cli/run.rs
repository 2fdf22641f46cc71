//! The command `aye run`.

pub(super) mod child;

use std::ffi::OsString;
use std::path::Path;

use self::child::execute;
use super::{Context, agents, outcomes, session};
use crate::acp;
use crate::actor::{AYE_AGENT, agent_of_program};
use crate::app::session::SessionOrigin;
use crate::app::{self, ending};
use crate::error::{Error, Exit, Result};
use crate::harness::{Client, client_of};
use crate::mcp::client;
use crate::session::client::ClientProcess;
use crate::session::codes::SESSION_TREE_GONE;
use crate::session::ignored_files::{self, IgnoredFiles};
use crate::session::{SessionStore, tree};
use crate::store::Store;
use crate::text::{escape, shell};

/// Run a coding agent in a work tree of its own; its changes become a proposal.
///
/// The tree is outside the checkout and shares the repository's objects. The agent edits, tests
/// and commits there; the checkout stays as it is. When the last process of the run ends, aye
/// proposes the difference and removes the tree. The exit status is the command's.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye run claude
  aye run -- codex exec 'Fix the failing test'
  aye run -m 'Dark mode' --keep --name dark -- aider src/theme.ts
  aye run --split-commits claude")]
pub struct Args {
    /// A name for the session: lower-case letters, digits and -. A kept session continues under
    /// it.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Why, for the reviewer.
    #[arg(short = 'm', long = "message", value_name = "TEXT")]
    pub message: Option<String>,
    /// Start of the tree: the tracked files as they are, or HEAD.
    #[arg(long, value_enum, default_value = "worktree", value_name = "BASE")]
    pub base: Base,
    /// Keep the tree, so that the session can go on: aye run --name NAME.
    #[arg(long)]
    pub keep: bool,
    /// Propose each commit of the agent by itself, each on the one before.
    #[arg(long, conflicts_with_all = ["keep", "message"])]
    pub split_commits: bool,
    /// The command and its arguments.
    #[arg(
        value_name = "CMD",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Base {
    /// The tracked files of the work tree as they are, uncommitted changes included.
    Worktree,
    /// The commit that is checked out.
    Head,
}

impl From<Base> for tree::Base {
    fn from(base: Base) -> Self {
        match base {
            Base::Worktree => Self::Worktree,
            Base::Head => Self::Head,
        }
    }
}

/// # Errors
/// `in_session`, `no_commit`, `no_state_directory`, `session_live`; `invalid_argument` for a
/// command that cannot be started. Errors after the command has ended do not change its status.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    refuse_acp(&args.command)?;
    let mut store = context.store_to_edit()?;
    store.require_clone()?;
    let home = SessionStore::make(store.repository().common_dir(), &context.state_directory()?)?;
    ending::finish(store.repository(), &home);
    ignored_files::expire(&home, context.now);
    let lines = session::settle(context, store.repository(), &home, args.name.as_deref());
    lines.iter().for_each(|line| context.note(line));
    session::note_unproposed(context);
    let held = match &args.name {
        Some(name) => home.hold(name)?,
        None => home.hold_new()?,
    };
    let name = held.name.clone();
    let agent = agent(context, &args.command);
    store.run_by(context.run_of(&name, None));
    let goes_on = home.has(&name);
    if !goes_on {
        let command = args.command[0].to_string_lossy();
        let client = client_of(&agent);
        let local_files = client.map_or(&[][..], |client| client.local_files);
        let last = client.and_then(|client| home.last_slot(client.name));
        let slot = last.filter(|_| client.is_some_and(|client| resumes(client, &args.command)));
        let (base, command, agent) = (args.base.into(), &*command, &*agent);
        let origin = SessionOrigin {
            base,
            agent,
            command,
            local_files,
            slot,
            client: ClientProcess::current(),
            is_kept: args.keep,
        };
        let back = app::session::begin(&store, &home, &held, &origin, context.now)?;
        session::conflict_lines(&back).iter().for_each(|line| context.note(line));
        let own = home.slot(&name);
        if let (Some(client), Some(own)) = (client, own) {
            home.note_slot(client.name, own);
        }
        if let Some(other) = slot.filter(|_| slot != own).and_then(|slot| home.owner(slot)) {
            let command = args.command.iter().map(|word| shell::word(&word.to_string_lossy()));
            let command = command.collect::<Vec<_>>().join(" ");
            context.note(&format!(
                "aye: {agent} goes on with another conversation: the last one belongs to the tree of session \
                 {other}: aye run --name {other} -- {}",
                escape::line(&command)
            ));
        }
    } else {
        app::session::resume(&home, &name, ClientProcess::current(), args.keep);
        session::follow(context, &store, &home, &name, &agent)?;
    }
    let top = home.tree(&name);
    let word = if goes_on { " goes on" } else { "" };
    context.note(&format!("aye: session {name}{word} in {}", escape::line(&top.to_string_lossy())));
    let mut command = args.command;
    if goes_on {
        report_outcomes(context, &store, &home, &name, &agent, &mut command)?;
    }
    let status = execute(context, store.repository(), &top, &held, &agent, &command);
    let status = match status {
        Ok(status) => status,
        Err(error) => {
            if !goes_on {
                ending::end(
                    store.repository(),
                    &home,
                    held,
                    &IgnoredFiles::default(),
                    context.now,
                )?;
            }
            return Err(error);
        }
    };
    if args.split_commits {
        split(context, &store, &home, &name, &agent);
    }
    let done = session::submit(context, &store, &home, &name, &agent, args.message);
    match done {
        Ok(done) => {
            session::say(context, &done);
            if !status.outlived {
                app::session::settle(&home, &name, &done);
            }
            let reason = if status.outlived {
                Some("processes of the run still live")
            } else if !done.passed_over.is_empty() {
                Some("not all of it is proposed")
            } else {
                None
            };
            match reason {
                None if !args.keep => {
                    match ending::end(store.repository(), &home, held, &done.strays, context.now) {
                        Ok(found) => {
                            let lines = session::stray_lines(&found);
                            lines.iter().for_each(|line| context.note(line));
                        }
                        Err(error) => context.report_on_stderr(&error),
                    }
                }
                None => {
                    context.note(&format!("aye: the session is kept: aye run --name {name} -- …"))
                }
                Some(reason) => context.note(&format!(
                    "aye: the tree is kept, because {reason}: aye session end {name} --discard"
                )),
            }
        }
        Err(error) => {
            context.report_on_stderr(&error);
            if !error.is(&SESSION_TREE_GONE) {
                context.note(&format!(
                    "aye: the work is still there, and is not proposed: aye session submit {name}"
                ));
            }
        }
    }
    Ok(context.ends_with(status.code))
}

/// Reports what became of the session's proposals: to the model, where its client has an option for
/// that, and to the person otherwise. Installed hooks do it themselves.
fn report_outcomes(
    context: &Context,
    store: &Store,
    home: &SessionStore,
    name: &str,
    agent: &str,
    command: &mut Vec<OsString>,
) -> Result<()> {
    let program = Path::new(&command[0]).file_stem().unwrap_or_default().to_string_lossy();
    let client = agent_of_program(&program).and_then(client_of);
    if client.is_some_and(|client| agents::is_hooked(context, store, client)) {
        return Ok(());
    }
    let session = context.agent_session(store, agent, "aye run");
    let Some(text) = outcomes::outcome_text(&session, home, name)? else { return Ok(()) };
    let instruct = client.and_then(|client| client.instruct);
    match instruct
        .filter(|(option, start)| start != &"" || !command.iter().any(|word| word == option))
    {
        Some((option, start)) => {
            let text =
                if start.is_empty() { text } else { serde_json::Value::from(text).to_string() };
            let more = [OsString::from(option), format!("{start}{text}").into()];
            command.splice(1..1, more);
            context.note(&format!(
                "aye: {agent} is started with {option}, and what became of its proposals"
            ));
        }
        None => {
            let lines = text.lines().filter(|line| !line.is_empty());
            lines.for_each(|line| context.note(&format!("aye: {line}")));
        }
    }
    Ok(())
}

/// After an error the whole is proposed.
fn split(context: &Context, store: &Store, home: &SessionStore, name: &str, agent: &str) {
    let session = context.agent_session(store, agent, "aye run");
    let done = home
        .change(name)
        .and_then(|changing| app::session_commits::submit_commits(&session, home, &changing, name));
    match done {
        Ok(reports) => {
            let lines = reports.iter().flat_map(session::summary);
            lines.for_each(|line| context.note(&line));
        }
        Err(error) => context.report_on_stderr(&error),
    }
}

fn resumes(client: &Client, command: &[OsString]) -> bool {
    command.iter().any(|word| client.resume_words.iter().any(|resume| word == resume))
}

/// The agent would work where the editor says: in the checkout.
fn refuse_acp(words: &[OsString]) -> Result<()> {
    let texts: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    if !acp::is_acp_command(&texts.iter().map(AsRef::as_ref).collect::<Vec<_>>()) {
        return Ok(());
    }
    let command: Vec<_> = texts.iter().map(|word| shell::word(word)).collect();
    let command = format!("aye acp -- {}", command.join(" "));
    Err(Error::new(&acp::codes::ACP_COMMAND, "this agent is driven by an editor")
        .with("command", command.clone())
        .hint(format!("have the editor start: {command}")))
}

/// The environment names the agent, or else the program does; behind a package runner its package.
pub(super) fn agent(context: &Context, words: &[OsString]) -> String {
    if let Some(name) = context.var(AYE_AGENT) {
        return name.to_string_lossy().into_owned();
    }
    let adapter = words.iter().find(|word| acp::is_acp_program(&word.to_string_lossy()));
    let word = Path::new(adapter.unwrap_or(&words[0]));
    let program = word.file_stem().unwrap_or_default().to_string_lossy();
    let program = program.split('@').next().unwrap_or_default();
    let known = agent_of_program(program).map(str::to_owned);
    known.or_else(|| client::agent(program)).unwrap_or_else(|| "agent".to_owned())
}
