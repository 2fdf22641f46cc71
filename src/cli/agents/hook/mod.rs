//! `aye agents hook`: answers a client's hooks. An error refuses an edit, and never keeps an agent
//! from ending.

mod command;
mod edit;
mod news;
mod place;
mod words;

use std::io::Read as _;
use std::time::Duration;

use command::shell_command;
use edit::{edit, look};
use news::told;
use place::{Place, elsewhere, name_of};
use words::{PROPOSE, enter};

use super::target;
use crate::app::propose::Details;
use crate::app::{self, session as sessions};
use crate::cli::Context;
use crate::cli::session::summary;
use crate::error::{Error, Exit, Result};
use crate::harness::{Answer, Call, Client, Event};
use crate::patience::Wait;
use crate::session::codes::SESSION_LIVE;
use crate::session::record::Untold;
use crate::text::{escape, shell};

const MOST: u64 = 64 << 20;

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
    let is_edit = args.event == client.before();
    if is_edit {
        // A release build aborts at a panic, which clients take for a yes.
        std::panic::set_hook(Box::new(|_| std::process::exit(CLOSED)));
    }
    let answer = read(client, &args.event)
        .and_then(|call| {
            answer(context, client, &call, args.strict).map_err(|error| explain(&error))
        })
        .unwrap_or_else(|why| match args.event.as_str() {
            _ if is_edit => Answer::Refuse(format!(
                "Not done: the gate of this repository (aye) could not judge it: {why}"
            )),
            "WorktreeCreate" => {
                context.note(&format!("aye: no work tree: {}", escape::line(&why)));
                let _ = context.ends_with(1);
                Answer::Nothing
            }
            _ => Answer::Say(format!("aye: {why}")),
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
    let read = std::io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("its input cannot be read: {error}"))?;
    if bytes.len() as u64 > MOST {
        return Err(format!("its input is over {MOST} bytes"));
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
) -> Result<Answer> {
    if call.event == Event::Other {
        return Ok(Answer::Nothing);
    }
    if let Event::Edit(edit) = &call.event
        && let Some(reason) = target::guards(context, &call.directory, &edit.files)
    {
        return Ok(Answer::Refuse(reason));
    }
    let place = match Place::of(context, client, call, is_strict) {
        // A read is harmless if nothing can be judged.
        Err(_) if matches!(call.event, Event::Read { .. }) => None,
        place => place?,
    };
    if let Event::Edit(edit) = &call.event
        && let Some(top) = elsewhere(context, client, call, &edit.files, place.as_ref())?
    {
        return Ok(Answer::Refuse(format!(
            "Not applied, and not an error: the edits of {} go through review, and this session does not work \
             there. {PROPOSE} First: cd {}",
            top.display(),
            shell::quote(&top.to_string_lossy())
        )));
    }
    let Some(place) = place else { return Ok(Answer::Nothing) };
    match &call.event {
        Event::Other => Ok(Answer::Nothing),
        Event::Edit(it) => edit(context, &place, call, it),
        Event::Read { input, field } => Ok(look(&place, call, input, *field)),
        Event::Shell(command) => shell_command(context, &place, call, command),
        Event::Begin => Ok(Answer::Inform(match told(context, &place)? {
            Some(news) => format!("{}\n{news}", enter(&place)),
            None => enter(&place),
        })),
        Event::Prompt => Ok(told(context, &place)?.map_or(Answer::Nothing, Answer::Inform)),
        Event::Stop { is_busy: true } => Ok(Answer::Nothing),
        Event::Stop { is_busy: false } => {
            let trees = place.trees();
            Ok(stop(context, place, trees))
        }
        // The agent keeps its own tree.
        Event::PartStop if place.is_own => Ok(Answer::Nothing),
        Event::PartStop => {
            let trees = vec![place.name.clone()];
            Ok(stop(context, place, trees))
        }
        Event::Tree(wanted) => {
            // A tree that the person, or a part of the agent, asks for is separate.
            let is_ours = *wanted == place.name || wanted.starts_with("aye");
            let other = || name_of(&call.session, wanted, place.store.repository());
            let name = if is_ours { place.name.clone() } else { other() };
            begin(context, &place, &name)?;
            Ok(Answer::Tree(place.home.tree(&name)))
        }
    }
}

/// Clients give a hook far more time.
const MOST_WAIT: Duration = Duration::from_secs(20);

const PAUSE: Duration = Duration::from_millis(10);

fn begin(context: &Context, place: &Place, name: &str) -> Result<()> {
    let Place { store, home, .. } = place;
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
    let Client { agent, name: client, .. } = place.client;
    let back = sessions::begin(store, home, &held, base, agent, client, context.now)?;
    if !back.is_empty() {
        let changing = home.change(name)?;
        let mut record = home.record(name)?;
        record.untold.push(Untold { kept: back, ..Untold::default() });
        home.write(&changing, &record)?;
    }
    Ok(())
}

fn session<'a>(context: &Context, place: &'a Place) -> app::Session<'a> {
    context.session_of_agent(&place.store, place.client.agent, "aye agents hook")
}

/// A failure in one tree does not stop the others.
fn stop(context: &Context, mut place: Place, trees: Vec<String>) -> Answer {
    let mut lines = Vec::new();
    for name in trees {
        place.enter(name);
        let proposed = propose(context, &place);
        lines.extend(proposed.unwrap_or_else(|error| vec![format!("aye: {}", explain(&error))]));
    }
    if lines.is_empty() { Answer::Nothing } else { Answer::Say(lines.join("\n")) }
}

fn propose(context: &Context, place: &Place) -> Result<Vec<String>> {
    let Place { home, name, .. } = place;
    if !home.has(name) {
        return Ok(Vec::new());
    }
    let changing = home.change(name)?;
    let details = Details::default();
    let done = sessions::submit(&session(context, place), home, &changing, name, details)?;
    Ok(summary(&done))
}
