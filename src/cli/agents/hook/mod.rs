//! `aye agents hook`: answers a client's hooks. An error refuses an edit, and never keeps an agent
//! from ending.

mod call_session;
mod command;
mod edit;
mod instructions;

use std::io::Read as _;
use std::time::Duration;

use call_session::{CallSession, gated_top, session_name};
use command::shell_command;
use edit::{edit, redirect_read};
use instructions::{PROPOSE, edit_instruction};

use super::hook_file;
use crate::app;
use crate::app::propose::Details;
use crate::app::real_path::resolve;
use crate::app::session::{self as sessions, SessionOrigin};
use crate::cli::session::{self as session_end, summary};
use crate::cli::{Context, outcomes};
use crate::error::{Error, Exit, Result};
use crate::harness::{Call, Client, Event, HookReply};
use crate::process_wait::Wait;
use crate::session::client::ClientProcess;
use crate::session::codes::SESSION_LIVE;
use crate::session::record::UnreportedDecision;
use crate::text::{escape, shell};

const MAX_CALL_BYTES: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
pub struct HookArgs {
    /// The coding agent.
    #[arg(value_parser = super::harness(), value_name = "HARNESS")]
    pub harness: &'static Client,
    /// The event, as the agent's client names it.
    #[arg(value_name = "EVENT")]
    pub event: String,
    /// Refuse edits of the checkout, where they are otherwise made in a work tree.
    #[arg(long)]
    pub strict: bool,
}

pub fn run(context: &mut Context, args: &HookArgs) -> Exit {
    let client = args.harness;
    let is_edit = args.event == client.tool_hook();
    if is_edit {
        // A release build aborts at a panic, which clients take for a yes.
        std::panic::set_hook(Box::new(|_| std::process::exit(CLOSED)));
    }
    let answer = read(client, &args.event)
        .and_then(|call| {
            answer(context, client, &call, args.strict).map_err(|error| explain(&error))
        })
        .unwrap_or_else(|why| match args.event.as_str() {
            _ if is_edit => HookReply::Refuse(format!(
                "Not done: the gate of this repository (aye) could not judge it: {why}"
            )),
            "WorktreeCreate" => {
                context.note(&format!("aye: no work tree: {}", escape::line(&why)));
                let _ = context.ends_with(1);
                HookReply::Proceed
            }
            _ => HookReply::ShowPerson(format!("aye: {why}")),
        });
    let bytes = client.write(&args.event, &answer);
    match context.print(&bytes) {
        Ok(done) => done,
        Err(_) if is_edit => context.ends_with(CLOSED),
        Err(_) => Exit::Done,
    }
}

/// Every client treats this status as a refusal.
const CLOSED: i32 = 2;

fn read(client: &Client, event: &str) -> Result<Call, String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MAX_CALL_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("its input cannot be read: {error}"))?;
    if bytes.len() as u64 > MAX_CALL_BYTES {
        return Err(format!("its input is over {MAX_CALL_BYTES} bytes"));
    }
    client.read(event, &bytes).map_err(|why| format!("its input is not understood: {why}"))
}

fn explain(error: &Error) -> String {
    let hint = error.hint_text().map(|hint| format!("; {hint}")).unwrap_or_default();
    // The message holds file names.
    escape::line(&format!("{} [{}]{hint}", error.message(), error.code().id)).into_owned()
}

fn answer(
    context: &mut Context,
    client: &'static Client,
    call: &Call,
    is_strict: bool,
) -> Result<HookReply> {
    if call.event == Event::Other {
        return Ok(HookReply::Proceed);
    }
    if let Event::Edit(edit) = &call.event
        && let Some(reason) = hook_file::refuse_hook_edit(context, &call.directory, &edit.files)
    {
        return Ok(HookReply::Refuse(reason));
    }
    let place = match CallSession::of(context, client, call, is_strict) {
        // A read is harmless if nothing can be judged.
        Err(_) if matches!(call.event, Event::Read { .. }) => None,
        place => place?,
    };
    if let Event::Edit(edit) = &call.event
        && let Some(top) = gated_top(context, client, call, &edit.files, place.as_ref())?
    {
        return Ok(HookReply::Refuse(format!(
            "Not applied, and not an error: the edits of {} go through review, and this session does not work \
             there. {PROPOSE} First: cd {}",
            top.display(),
            shell::quote(&top.to_string_lossy())
        )));
    }
    let Some(mut place) = place else { return Ok(HookReply::Proceed) };
    if matches!(call.event, Event::Begin | Event::Prompt) && place.home.has(&place.name) {
        sessions::resume(&place.home, &place.name, ClientProcess::parent(), false);
    }
    if call.event == Event::Begin {
        drop(session_end::settle(
            context,
            place.store.repository(),
            &place.home,
            Some(&place.name),
        ));
    }
    match &call.event {
        Event::Other => Ok(HookReply::Proceed),
        Event::Edit(it) => edit(context, &mut place, call, it),
        Event::Read { input, field } => Ok(redirect_read(&place, call, input, *field)),
        Event::Shell(command) => shell_command(context, &mut place, call, command),
        Event::Begin => Ok(HookReply::TellModel(match outcome_text(context, &place)? {
            Some(news) => format!("{}\n{news}", edit_instruction(&place, call, false)),
            None => edit_instruction(&place, call, false),
        })),
        Event::Prompt => {
            Ok(outcome_text(context, &place)?.map_or(HookReply::Proceed, HookReply::TellModel))
        }
        Event::Stop { is_busy: true, .. } => Ok(HookReply::Proceed),
        Event::Stop { is_busy: false, message } => {
            let trees = place.trees();
            Ok(stop(context, place, trees, message.as_deref()))
        }
        // The agent keeps its own tree.
        Event::PartStop if place.is_own => Ok(HookReply::Proceed),
        Event::PartStop => {
            let trees = vec![place.name.clone()];
            Ok(stop(context, place, trees, None))
        }
        Event::Part => start_part(context, &mut place, call),
        Event::Tree(wanted) => {
            // A tree that the person, or a part of the agent, asks for is separate.
            let is_ours = *wanted == place.name || wanted.starts_with("aye");
            let other = || session_name(&call.session, wanted, place.store.repository());
            let name = if is_ours { place.name.clone() } else { other() };
            ensure_tree(context, &place, &name)?;
            Ok(HookReply::Tree(place.home.tree(&name)))
        }
    }
}

/// A subagent works where the session is, and cannot enter a work tree itself. The refusal makes the
/// tree, so that it is given once.
fn start_part(context: &Context, place: &mut CallSession, call: &Call) -> Result<HookReply> {
    let is_inside = resolve(&call.directory).starts_with(&place.site.tree);
    if place.is_strict || is_inside || place.home.has(&place.name) {
        return Ok(HookReply::Proceed);
    }
    ensure_own_tree(context, place)?;
    Ok(HookReply::Refuse(format!(
        "Not started, and not an error: a subagent edits where this session is, so enter first, then start it \
         again. {}",
        edit_instruction(place, call, false)
    )))
}

/// Clients give a hook far more time.
const MOST_WAIT: Duration = Duration::from_secs(20);

const PAUSE: Duration = Duration::from_millis(10);

fn ensure_own_tree(context: &Context, place: &mut CallSession) -> Result<()> {
    let name = place.name.clone();
    ensure_tree(context, place, &name)?;
    place.enter(name);
    Ok(())
}

fn ensure_tree(context: &Context, place: &CallSession, name: &str) -> Result<()> {
    let CallSession { store, home, .. } = place;
    if home.has(name) {
        return Ok(());
    }
    store.require_clone()?;
    // Clients ask about several calls at once: another hook may make the tree.
    let wait = Wait::begin();
    let held = loop {
        match home.hold(name) {
            Err(error) if error.is(&SESSION_LIVE) && wait.elapsed() < MOST_WAIT => {
                std::thread::sleep(PAUSE);
            }
            held => break held,
        }
        if home.has(name) {
            return Ok(());
        }
    };
    let held = held?;
    if home.has(name) {
        return Ok(());
    }
    // An agent may also resolve a merge, or abort it.
    let base = crate::session::tree::Base::Unsettled;
    let Client { agent, name: command, local_files, .. } = *place.client;
    let client = ClientProcess::parent();
    let origin =
        SessionOrigin { base, agent, command, local_files, slot: None, client, is_kept: false };
    let back = sessions::begin(store, home, &held, &origin, context.now)?;
    if !back.is_empty() {
        let changing = home.change(name)?;
        let mut record = home.record(name)?;
        record.untold.push(UnreportedDecision { kept: back, ..UnreportedDecision::default() });
        home.write(&changing, &record)?;
    }
    Ok(())
}

fn session<'a>(context: &Context, place: &'a CallSession) -> app::Session<'a> {
    context.agent_session(&place.store, place.client.agent, "aye agents hook")
}

fn outcome_text(context: &Context, place: &CallSession) -> Result<Option<String>> {
    outcomes::outcome_text(&session(context, place), &place.home, &place.name)
}

/// A failure in one tree does not stop the others.
fn stop(
    context: &Context,
    mut place: CallSession,
    trees: Vec<String>,
    message: Option<&str>,
) -> HookReply {
    // A message is about the tree in which the agent works.
    let main = place.name.clone();
    let mut lines = Vec::new();
    for name in trees {
        place.enter(name);
        let message = message.filter(|_| place.name == main);
        let proposed = propose(context, &place, message);
        lines.extend(proposed.unwrap_or_else(|error| vec![format!("aye: {}", explain(&error))]));
    }
    if lines.is_empty() { HookReply::Proceed } else { HookReply::ShowPerson(lines.join("\n")) }
}

fn propose(context: &Context, place: &CallSession, message: Option<&str>) -> Result<Vec<String>> {
    let CallSession { home, name, .. } = place;
    if !home.has(name) {
        return Ok(Vec::new());
    }
    let changing = home.change(name)?;
    let details = Details { last_message: message.map(str::to_owned), ..Details::default() };
    let done = sessions::submit(&session(context, place), home, &changing, name, details)?;
    drop(changing);
    sessions::settle(home, name, &done);
    Ok(summary(&done))
}
