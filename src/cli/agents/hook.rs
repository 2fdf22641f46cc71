//! `aye agents hook`: what a coding agent's client asks before, after and between its steps.
//!
//! Whatever goes wrong here closes the gate for an edit, and never keeps an agent from ending.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use super::real::{Real, resolve};
use super::{Harness, install, seen};
use crate::actor::AYE_SESSION;
use crate::app::propose::Details;
use crate::app::{self, comment, session as sessions, wait};
use crate::cli::Context;
use crate::cli::session::summary;
use crate::error::{Error, Exit, Result};
use crate::harness::redirect::{self, Field};
use crate::harness::{Answer, Call, Client, Event, Way};
use crate::proposal::Status;
use crate::repository::codes::NOT_A_REPOSITORY;
use crate::session::codes::SESSION_RECORD_INVALID;
use crate::session::guard::{Before, Files, Found};
use crate::session::record::Untold;
use crate::session::{Home, home};
use crate::sha256;
use crate::store::Store;
use crate::text::{escape, shell};

/// Largest call that is read, in bytes: it holds whole files.
const MOST: u64 = 64 << 20;

/// Arguments of `aye agents hook`.
#[derive(Debug, clap::Args)]
pub struct HookArgs {
    /// The coding agent.
    #[arg(value_enum, value_name = "HARNESS")]
    pub harness: Harness,
    /// The event, as the agent's client names it.
    #[arg(value_name = "EVENT")]
    pub event: String,
    /// Refuse edits of the checkout, where they are otherwise made in a work tree.
    #[arg(long)]
    pub strict: bool,
}

/// Answers one call.
pub fn run(context: &mut Context, args: &HookArgs) -> Exit {
    let client = args.harness.client();
    if client.hooks.is_empty() {
        return context.ends_with(CLOSED);
    }
    let is_edit = args.event == client.before;
    if is_edit {
        // A release build aborts at a panic, which clients take for a yes. The hook comes first.
        std::panic::set_hook(Box::new(|_| std::process::exit(CLOSED)));
    }
    seen::note_hook(context, client);
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
    let bytes = (client.write)(&args.event, &answer);
    match context.print(&bytes) {
        Ok(()) => Exit::Done,
        Err(_) if is_edit => context.ends_with(CLOSED),
        Err(_) => Exit::Done,
    }
}

/// The status that every client takes for a no.
const CLOSED: i32 = 2;

fn read(client: &Client, event: &str) -> Result<Call, String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("its input cannot be read: {error}"))?;
    if bytes.len() as u64 > MOST {
        return Err(format!("its input is over {MOST} bytes"));
    }
    (client.read)(event, &bytes).map_err(|why| format!("its input is not understood: {why}"))
}

fn explain(error: &Error) -> String {
    let hint = error.hint_text().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{} [{}]{hint}", error.message(), error.code().id)
}

/// One session of a client, and the repository that it works in.
struct Place {
    store: Store,
    home: Home,
    /// Name of the session.
    name: String,
    client: &'static Client,
    is_strict: bool,
    /// Where its tree really lies, its checkout, if it has one, and its git directory.
    real: (PathBuf, Option<PathBuf>, PathBuf),
}

impl Place {
    /// `None` where the client does not work in a repository.
    fn of(
        context: &Context,
        client: &'static Client,
        call: &Call,
        is_strict: bool,
    ) -> Result<Option<Self>> {
        let Some(found) = discover(call)? else { return Ok(None) };
        let state = context.state_directory()?;
        let (mut store, around) = match context.session_around(&found) {
            Some((store, around)) => (store, Some(around)),
            // What such a tree says of itself is its agent's, and runs no git here.
            None if resolve(&call.directory).starts_with(resolve(&home::all_trees(&state))) => {
                return Err(Error::new(
                    &SESSION_RECORD_INVALID,
                    "the git directory of this session's work tree is not as it was made",
                )
                .hint(
                    "what is in the tree is proposed from the repository: aye session submit NAME",
                ));
            }
            None => (found, None),
        };
        let home = Home::make(store.common_dir(), &state)?;
        // Started by `aye run`, the client is in its tree already.
        let run = context.var(AYE_SESSION).map(|name| name.to_string_lossy().into_owned());
        store.run_by(context.run_of(run.as_ref().unwrap_or(&call.session), call.model.as_deref()));
        let name = around.filter(|around| run.as_ref() == Some(around));
        let name = name.unwrap_or_else(|| name_of(&call.session, ""));
        let top = store.work_dir().map(|top| resolve(&top));
        let real = (resolve(&home.tree(&name)), top, resolve(store.common_dir()));
        Ok(Some(Self { home, name, store, client, is_strict, real }))
    }

    fn tree(&self) -> PathBuf {
        self.home.tree(&self.name)
    }

    /// Whether `file` is one of its repository, or of a session's tree.
    fn has(&self, file: &Path) -> bool {
        let (tree, top, git) = &self.real;
        let is_inside = top.as_ref().is_some_and(|top| file.starts_with(top));
        is_inside || file.starts_with(all_trees(tree)) || file.starts_with(git)
    }
}

/// The repository that the client works in. Where its directory is gone, as after its work tree was removed, an
/// edit is still one of the repository that it names a file of.
fn discover(call: &Call) -> Result<Option<Store>> {
    if let Some(found) = at(&call.directory)? {
        return Ok(Some(found));
    }
    let Event::Edit { files, .. } = &call.event else { return Ok(None) };
    if call.directory.exists() {
        return Ok(None);
    }
    for file in files {
        let file = call.directory.join(file);
        if let Some(near) = near(&file)
            && let Some(found) = at(near)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The repository that `directory` is in. One that cannot be opened is no reason to let anything pass.
fn at(directory: &Path) -> Result<Option<Store>> {
    match Store::discover(directory) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is(&NOT_A_REPOSITORY) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The directory above `file` that is there.
fn near(file: &Path) -> Option<&Path> {
    file.ancestors().skip(1).find(|above| above.is_dir())
}

/// The top of another repository than the client works in, in which one of `files` lies, and whose edits go through
/// review, too. `place` is where it works, if that is a repository.
fn elsewhere(
    context: &Context,
    client: &'static Client,
    call: &Call,
    files: &[PathBuf],
    place: Option<&Place>,
) -> Result<Option<PathBuf>> {
    let (mut seen, real) = (BTreeSet::new(), Real::default());
    for file in files {
        let file = real.path(&call.directory.join(file));
        if place.is_some_and(|place| place.has(&file)) {
            continue;
        }
        let Some(near) = near(&file).filter(|near| seen.insert(near.to_path_buf())) else {
            continue;
        };
        let Some(found) = at(near)? else { continue };
        let git = resolve(found.common_dir());
        let top = found.work_dir().map_or_else(|| git.clone(), |top| resolve(&top));
        // The environment may name one that the file is not in.
        if !file.starts_with(&top) && !file.starts_with(&git) {
            continue;
        }
        // A client that works in no repository has its hooks wherever it works.
        if place.is_none() || install::is_installed(context, client, &top) {
            return Ok(Some(top));
        }
    }
    Ok(None)
}

/// Name of the session that belongs to the client's own, and to a work tree that it asks for by name.
fn name_of(session: &str, tree: &str) -> String {
    let hash = sha256::hex(format!("{session}\0{tree}").as_bytes());
    format!("c{}", &hash[..8])
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
    if let Event::Edit { files, .. } = &call.event
        && let Some(reason) = install::guards(context, &call.directory, files)
    {
        return Ok(Answer::Refuse(reason));
    }
    let place = match Place::of(context, client, call, is_strict) {
        // Where nothing can be judged, reading is no harm.
        Err(_) if matches!(call.event, Event::Read { .. }) => None,
        place => place?,
    };
    if let Event::Edit { files, .. } = &call.event
        && let Some(top) = elsewhere(context, client, call, files, place.as_ref())?
    {
        return Ok(Answer::Refuse(format!(
            "Not applied, and not an error: the edits of {} go through review, and this session does not work in \
             that repository. {PROPOSE} First: cd {}",
            top.display(),
            shell::quote(&top.to_string_lossy())
        )));
    }
    let Some(place) = place else { return Ok(Answer::Nothing) };
    match &call.event {
        Event::Other => Ok(Answer::Nothing),
        Event::Edit { files, input, field } => edit(context, &place, call, files, (input, *field)),
        Event::Read { input, field } => Ok(look(&place, call, input, *field)),
        Event::Shell { command, directory, input } => {
            let directory = directory.as_ref().map(|directory| call.directory.join(directory));
            let directory = directory.as_ref().unwrap_or(&call.directory);
            shell_command(context, &place, directory, command, input)
        }
        Event::Ran { command } => ran(context, &place, command),
        Event::Begin => Ok(Answer::Inform(match told(context, &place)? {
            Some(news) => format!("{}\n{news}", enter(&place)),
            None => enter(&place),
        })),
        Event::Prompt => Ok(told(context, &place)?.map_or(Answer::Nothing, Answer::Inform)),
        Event::Stop { is_busy: true } => Ok(Answer::Nothing),
        Event::Stop { is_busy: false } => stop(context, &place),
        Event::Tree(wanted) => {
            // One that the person, or the client for a part of the agent, asks for is another one.
            let is_ours = *wanted == place.name || wanted.starts_with("aye");
            let name = if is_ours { place.name.clone() } else { name_of(&call.session, wanted) };
            begin(context, &place, &name)?;
            Ok(Answer::Tree(place.home.tree(&name)))
        }
    }
}

/// What the model has to do to edit.
fn enter(place: &Place) -> String {
    if place.is_strict {
        return format!(
            "Edits of this repository go through review: its files are not edited. {PROPOSE}"
        );
    }
    let tree = place.tree();
    let tree = tree.display();
    match place.client.way {
        Way::Enter => format!(
            "Edits of this repository go through review. Before you edit, call the EnterWorktree tool \
             (ToolSearch select:EnterWorktree) with name {}, and redo the edit there; work and test there \
             as usual. What you leave there is offered for review when you stop.",
            place.name
        ),
        Way::Rewrite => format!(
            "Edits of this repository go through review. Your edits and commands are carried out in a \
             work tree of this session, {tree}, and the checkout stays as it is: work and test as usual, \
             with relative paths. What you leave there is offered for review when you stop."
        ),
        Way::Name => format!(
            "Edits of this repository go through review. Edit and read the files in the work tree of this \
             session, {tree}, and begin each command with: cd {} && What you leave there is offered for \
             review when you stop.",
            shell::quote(&place.tree().to_string_lossy())
        ),
    }
}

/// What the model has to do to edit where the checkout is not edited at all.
const PROPOSE: &str = "Propose each change: aye propose PATH --old 'text' --new 'text' -m 'why', or a patch by aye \
    propose --patch -, or the tools propose and propose_patch of aye's MCP server; then aye wait ID. The files have \
    it once a person has applied it.";

/// Where a file lies that an agent is about to write.
enum Where {
    /// In the session's own tree, or outside of the repository.
    Free,
    /// In the checkout, there.
    Checkout(PathBuf),
    /// Where no agent writes, for this reason.
    Guarded(&'static str),
}

fn locate(place: &Place, path: &Path) -> Where {
    let (tree, top, git) = &place.real;
    if let Ok(inside) = path.strip_prefix(tree) {
        return match is_git(inside) {
            true => Where::Guarded("The git directory of the session is git's own."),
            false => Where::Free,
        };
    }
    if path.starts_with(all_trees(tree)) {
        return Where::Guarded("That is the work tree of another session.");
    }
    let inside = top.as_ref().and_then(|top| path.strip_prefix(top).ok());
    if inside.is_some_and(is_git) || path.starts_with(git) {
        return Where::Guarded("The git directory is not edited by an agent.");
    }
    match inside {
        Some(inside) if inside.starts_with(".agent-memory") => Where::Guarded(
            "The project's memory and policy are changed by proposals of their own: `aye memory propose`, \
             or the tool memory_propose_update; a policy by `aye propose`.",
        ),
        Some(inside) => Where::Checkout(inside.to_owned()),
        None => Where::Free,
    }
}

const NESTED: &str = "Not done: that file lies in a repository of its own within this one, such as a submodule, \
    and is not proposed with it. An agent that is started there can propose it.";

/// Whether a repository within the checkout has one of `files`, in the checkout or in the session's tree.
fn is_nested(place: &Place, files: &[PathBuf]) -> bool {
    let (tree, Some(top), _) = &place.real else { return false };
    let inside = |path: &PathBuf| {
        let inside = path.strip_prefix(tree).or_else(|_| path.strip_prefix(top));
        inside.ok().and_then(Path::parent).map(Path::to_owned).unwrap_or_default()
    };
    // A patch may name many files of one directory.
    let mut above = BTreeSet::new();
    for directory in files.iter().map(inside) {
        let parts = directory.ancestors().filter(|above| !above.as_os_str().is_empty());
        above.extend(parts.map(Path::to_owned));
    }
    let has_git = |above: &PathBuf| top.join(above).join(".git").symlink_metadata().is_ok();
    above.iter().any(|above| !is_git(above) && has_git(above))
}

/// The directory of the trees of all repositories, from that of one session.
fn all_trees(tree: &Path) -> &Path {
    tree.ancestors().nth(2).unwrap_or(tree)
}

/// Judges an edit of `files` by where they lie.
fn edit(
    context: &Context,
    place: &Place,
    call: &Call,
    files: &[PathBuf],
    (input, field): (&serde_json::Value, Field),
) -> Result<Answer> {
    let real = Real::default();
    let files: Vec<PathBuf> =
        files.iter().map(|file| real.path(&call.directory.join(file))).collect();
    if is_nested(place, &files) {
        return Ok(Answer::Refuse(NESTED.to_owned()));
    }
    let mut is_inside = false;
    for file in &files {
        match locate(place, file) {
            Where::Guarded(reason) => return Ok(Answer::Refuse(reason.to_owned())),
            Where::Checkout(_) => is_inside = true,
            Where::Free => {}
        }
    }
    if !is_inside {
        return Ok(Answer::Nothing);
    }
    let refusal = format!("Not applied, and not an error: {}", enter(place));
    match place.client.way {
        _ if place.is_strict => Ok(Answer::Refuse(refusal)),
        Way::Enter => Ok(Answer::Refuse(refusal)),
        Way::Name => {
            begin(context, place, &place.name)?;
            Ok(Answer::Refuse(refusal))
        }
        Way::Rewrite => {
            begin(context, place, &place.name)?;
            Ok(match redirected(place, call, input, field, true) {
                Ok(input) => Answer::Rewrite(input),
                Err(why) => Answer::Refuse(format!("Not done: {why}")),
            })
        }
    }
}

/// Lets what reads the checkout read the session's tree, where it has one. Files that the tree was never
/// given, such as ignored ones, are read where they are.
fn look(place: &Place, call: &Call, input: &serde_json::Value, field: Field) -> Answer {
    if place.is_strict || place.client.way != Way::Rewrite || !place.home.has(&place.name) {
        return Answer::Nothing;
    }
    match redirected(place, call, input, field, false) {
        Ok(moved) if moved != *input => Answer::Rewrite(moved),
        _ => Answer::Nothing,
    }
}

/// `input` with the files of the checkout in the session's tree.
fn redirected(
    place: &Place,
    call: &Call,
    input: &serde_json::Value,
    field: Field,
    is_edit: bool,
) -> Result<serde_json::Value, String> {
    let (tree, found) = (&place.real.0, Real::default());
    let to = |path: &str| {
        let real = found.path(&call.directory.join(path));
        let Where::Checkout(inside) = locate(place, &real) else { return Ok(path.to_owned()) };
        let moved: PathBuf = tree.join(inside).components().collect();
        if !is_edit && moved.symlink_metadata().is_err() && real.symlink_metadata().is_ok() {
            return Ok(path.to_owned());
        }
        // A link that the agent has made there leads on, and perhaps back.
        let end = found.path(&moved);
        if !matches!(end.strip_prefix(tree), Ok(inside) if !is_git(inside)) {
            return Err("in the work tree of the session a link leads out of it".to_owned());
        }
        let text = moved.into_os_string().into_string();
        text.map_err(|_| "the path of the session's tree is not UTF-8".to_owned())
    };
    redirect::redirect(input, field, &to(".")?, to)
}

fn is_git(inside: &Path) -> bool {
    let first = inside.components().next();
    matches!(first, Some(Component::Normal(name)) if name.eq_ignore_ascii_case(".git"))
}

/// Lets a command that is started in the checkout run in the session's tree.
fn shell_command(
    context: &mut Context,
    place: &Place,
    directory: &Path,
    command: &str,
    input: &serde_json::Value,
) -> Result<Answer> {
    let here = resolve(directory);
    let (real, Some(top), _) = &place.real else { return Ok(Answer::Nothing) };
    let tree = place.tree();
    let is_inside = here.starts_with(real);
    let moved = redirect::in_command(command, &top.to_string_lossy(), &tree.to_string_lossy());
    let Ok(inside) = here.strip_prefix(top) else {
        // From the tree the checkout is named by its path.
        let mut input = input.clone();
        input["command"] = moved.as_str().into();
        return Ok(match place.client.way {
            _ if !is_inside || moved == command => Answer::Nothing,
            Way::Name => Answer::Refuse(format!("Not run, and not an error: {}", enter(place))),
            Way::Enter | Way::Rewrite => Answer::Rewrite(input),
        });
    };
    if is_inside {
        return Ok(Answer::Nothing);
    }
    if place.is_strict {
        return watch(context, place, directory, command);
    }
    begin(context, place, &place.name)?;
    if place.client.way == Way::Name {
        return Ok(match goes_to(command, &tree) && moved == command {
            true => Answer::Nothing,
            false => Answer::Refuse(format!("Not run, and not an error: {}", enter(place))),
        });
    }
    let inner: PathBuf = tree.join(inside).components().collect();
    let inner = if inner.is_dir() { inner } else { tree.clone() };
    let mut input = input.clone();
    let quoted = shell::quote(&inner.to_string_lossy());
    input["command"] = format!("cd {quoted} || exit\n{moved}").into();
    Ok(Answer::Rewrite(input))
}

/// Lets a command run in the checkout, and remembers what the checkout was, where the command may write.
fn watch(context: &mut Context, place: &Place, directory: &Path, command: &str) -> Result<Answer> {
    if crate::cli::shell::only_reads(context, directory, command) {
        place.home.keep_before(&place.name, None)?;
        return Ok(Answer::Nothing);
    }
    // What it writes needs a place to go to.
    begin(context, place, &place.name)?;
    let before = Before::look(&place.store)?;
    place.home.keep_before(&place.name, Some(&before))?;
    Ok(Answer::Nothing)
}

/// Takes what a command has written in the checkout into the session's tree.
fn ran(context: &Context, place: &Place, command: &str) -> Result<Answer> {
    let Place { store, home, name, .. } = place;
    let before = home.before(name).filter(|_| home.has(name));
    let Some(before) = before else { return Ok(Answer::Nothing) };
    let _changing = home.change(name)?;
    let above = |base: &str, files: Files| {
        store.commit_with(base, files, context.now, "What a command wrote")
    };
    let Found { taken, left } = before.compare(store, &home.tree(name), command, above)?;
    home.keep_before(name, None)?;
    let mut text = Vec::new();
    if !taken.is_empty() {
        text.push(format!(
            "The command wrote files of the checkout, which are not edited: they are put back, and what it wrote \
             is offered for review when you stop:\n{}",
            taken.join("\n")
        ));
    }
    if !left.is_empty() {
        let lines: Vec<String> = left.iter().map(|(path, why)| format!("{path}: {why}")).collect();
        text.push(format!(
            "These files of the checkout are not as they were. If the command wrote them, propose that, and put \
             them back:\n{}",
            lines.join("\n")
        ));
    }
    Ok(if text.is_empty() { Answer::Nothing } else { Answer::Inform(text.join("\n\n")) })
}

/// Whether a command begins by going into `tree`, or ends where it cannot.
fn goes_to(command: &str, tree: &Path) -> bool {
    let tree = tree.to_string_lossy();
    let words = [shell::quote(&tree), format!("\"{tree}\""), tree.into_owned()];
    let rest = command.trim_start().strip_prefix("cd ").map(str::trim_start);
    rest.is_some_and(|rest| {
        words.iter().filter_map(|word| rest.strip_prefix(word.as_str())).any(|rest| {
            let rest = rest.strip_prefix('/').unwrap_or(rest).trim_start();
            rest.is_empty() || rest.starts_with("&&")
        })
    })
}

/// Makes the tree of session `name`, where there is none yet.
fn begin(context: &Context, place: &Place, name: &str) -> Result<()> {
    let Place { store, home, .. } = place;
    if home.has(name) {
        return Ok(());
    }
    store.require_lane()?;
    let held = home.hold(name)?;
    // Another hook of the session may have been faster.
    if home.has(name) {
        return Ok(());
    }
    let base = crate::session::tree::Base::Worktree;
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

/// Proposes what is in the tree, and says so to the person.
fn stop(context: &Context, place: &Place) -> Result<Answer> {
    let Place { home, name, .. } = place;
    if !home.has(name) {
        return Ok(Answer::Nothing);
    }
    let changing = home.change(name)?;
    let details = Details::default();
    let done = sessions::submit(&session(context, place), home, &changing, name, details)?;
    Ok(match summary(&done) {
        lines if lines.is_empty() => Answer::Nothing,
        lines => Answer::Say(lines.join("\n")),
    })
}

/// What became of the session's proposals, once each.
fn told(context: &Context, place: &Place) -> Result<Option<String>> {
    let Place { home, name, .. } = place;
    if home.record(name).is_err() {
        return Ok(None);
    }
    let changing = home.change(name)?;
    let news = sessions::news(&session(context, place), home, &changing, name)?;
    let rest = |of: &wait::Document| {
        let rest = news.rests.iter().find(|(decided, _)| *decided == of.proposal_id);
        rest.map(|(_, rest)| rest.as_str())
    };
    let mut texts: Vec<String> =
        news.verdicts.iter().map(|news| verdict(news, rest(news))).collect();
    if !news.kept.is_empty() {
        let lines: Vec<String> =
            news.kept.iter().map(|(path, why)| format!("{path}: {why}")).collect();
        texts.push(format!("Look at these files of the work tree again:\n{}", lines.join("\n")));
    }
    Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
}

/// What became of a proposal, in the words for its agent. `rest` is the proposal of what a decision left out.
fn verdict(news: &wait::Document, rest: Option<&str>) -> String {
    let by = news.by.as_deref().unwrap_or("a reviewer");
    let id = &news.proposal_id;
    let mut text = match (news.status, news.changes_requested) {
        (Status::Applied, _) => {
            match news.revised.as_ref().map(|revised| revised.reason.as_str()) {
                Some("partial") => match rest {
                    Some(rest) => format!(
                        "Your proposal {id} was applied by {by} in part; the rest is pending as {rest}, and \
                         stays in the work tree."
                    ),
                    None => format!(
                        "Your proposal {id} was applied by {by} in part; the rest is out of the work tree, too."
                    ),
                },
                Some(_) => format!(
                    "Your proposal {id} was applied by {by}, not as you made it; the work tree has what was \
                 applied."
                ),
                None => format!("Your proposal {id} was applied by {by} as it is."),
            }
        }
        (Status::Pending, true) => format!(
            "{by} asks for changes of your proposal {id}: make them in the work tree, they become its \
             next revision."
        ),
        (Status::Pending, false) => {
            let by = news.revised.as_ref().map_or(by, |revised| &revised.by);
            format!(
                "{by} has edited your pending proposal {id}; the work tree has that, too: go on from it."
            )
        }
        (Status::Expired, _) => format!(
            "Your proposal {id} expired; nobody decided on it. What it holds is proposed again when you \
             stop."
        ),
        _ => format!(
            "Your proposal {id} was rejected by {by}; its edits are not in the repository, and out of the \
             work tree."
        ),
    };
    if let Some(reason) = &news.reason {
        text += &format!("\nReason: {reason}");
    }
    for remark in &news.comments {
        for line in comment::text(id, remark) {
            text += &format!("\n{line}");
        }
    }
    if let Some(diff) = news.revised.as_ref().and_then(|revised| revised.diff.as_ref()) {
        let cut = diff.floor_char_boundary(MOST_DIFF);
        text += &format!("\nYours against what it is now:\n{}", &diff[..cut]);
    }
    text
}

/// Most bytes of a diff that a model is told.
const MOST_DIFF: usize = 8 << 10;
