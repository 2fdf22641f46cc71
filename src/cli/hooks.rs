//! `aye hooks`: install, look at and remove git hooks; and what the installed hooks run.

use std::ffi::OsString;
use std::path::Path;

use serde::Serialize;

use super::{Context, Format};
use crate::error::{Error, Exit, Result};
use crate::hooks::{self, Hook, InstallOutcome, Manager, Place, State, kept};
use crate::store::Store;

mod message;
mod pushed;
mod run;

/// Install, show or remove git hooks.
///
/// The hooks hold everyone to the gate: pre-commit and pre-push run `aye check` on what is being
/// committed or pushed, prepare-commit-msg adds the trailers of the proposals a commit contains
/// (with commit-msg, which takes them back where nothing else was written), post-commit records
/// the commit on them. An existing hook stays as it is and runs first. A hook
/// whose aye is gone lets git go on, with a warning.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye hooks install
  aye hooks status
  aye hooks uninstall")]
pub struct Args {
    #[command(subcommand)]
    command: Sub,
}

impl Args {
    /// Whether hooks are installed or removed.
    pub(super) fn writes(&self) -> bool {
        matches!(self.command, Sub::Install { .. } | Sub::Uninstall { .. })
    }
}

#[derive(Debug, clap::Subcommand)]
enum Sub {
    /// Install hooks (all, or those named).
    ///
    /// Honours core.hooksPath. Where husky, lefthook or pre-commit own the hooks, nothing is
    /// written; what to add to their configuration is printed. Only beside pre-commit a pre-push
    /// hook is installed, since of several refs that tells its hooks the first alone.
    #[command(
        after_help = "Examples:\n  aye hooks install\n  aye hooks install --pre-commit --pre-push"
    )]
    Install {
        #[command(flatten)]
        which: Which,
        /// Overwrite a hook of ours that was edited. Not for agents.
        #[arg(long)]
        force: bool,
        /// Install into a hooks directory that all your repositories share. Not for agents.
        #[arg(long)]
        shared: bool,
    },
    /// Show which hooks are installed, and where.
    #[command(after_help = "Examples:\n  aye hooks status\n  aye hooks status --json")]
    Status,
    /// Remove our hooks (all, or those named) and put back what was there before. Not for agents.
    #[command(after_help = "Examples:\n  aye hooks uninstall\n  aye hooks uninstall --pre-push")]
    Uninstall {
        #[command(flatten)]
        which: Which,
        /// Remove a hook of ours that was edited.
        #[arg(long)]
        force: bool,
    },
    /// What an installed hook runs.
    #[command(hide = true)]
    Run {
        /// The hook.
        hook: Hook,
        /// What git passes to it.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Before a commit: stop it where it touches files with pending proposals.
    #[arg(long)]
    pre_commit: bool,
    /// Before a push: check the commits that are pushed.
    #[arg(long)]
    pre_push: bool,
    /// Add Proposal-Id trailers to commit messages (prepare-commit-msg and commit-msg).
    #[arg(long)]
    prepare_commit_msg: bool,
    /// Record new commits on the proposals they contain.
    #[arg(long)]
    post_commit: bool,
}

impl Which {
    /// Those named, or all.
    fn hooks(&self) -> Vec<Hook> {
        let is_named = |hook: &Hook| match hook {
            Hook::PreCommit => self.pre_commit,
            Hook::PrePush => self.pre_push,
            Hook::PrepareCommitMsg | Hook::CommitMsg => self.prepare_commit_msg,
            Hook::PostCommit => self.post_commit,
        };
        let named: Vec<Hook> = Hook::ALL.into_iter().filter(is_named).collect();
        if named.is_empty() { Hook::ALL.to_vec() } else { named }
    }

    /// What names `hook` on the command line.
    fn flag(hook: Hook) -> &'static str {
        match hook {
            Hook::CommitMsg => Hook::PrepareCommitMsg.name(),
            _ => hook.name(),
        }
    }
}

/// The document of `hooks install`, `uninstall` and `status`.
#[derive(Debug, Serialize)]
pub struct Document {
    /// `aye/hooks@1`.
    pub schema: &'static str,
    /// The directory git runs hooks from.
    pub directory: String,
    /// The hook manager in charge, if there is one.
    pub manager: Option<Manager>,
    /// One entry per hook asked about.
    pub hooks: Vec<Entry>,
}

/// One hook.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// Git's name for it.
    pub hook: Hook,
    /// What is in its place now.
    pub state: State,
    /// An earlier hook is kept; it runs too, if it can be run at all.
    pub chained: bool,
    /// The manager in charge runs aye for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub managed: bool,
    /// What this command did; absent for `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<InstallOutcome>,
}

/// Runs the command.
///
/// # Errors
/// Those of [`hooks`], and of git.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    match args.command {
        Sub::Install { which, force, shared } => install(context, &which.hooks(), force, shared),
        Sub::Status => status_of(context, &Hook::ALL),
        Sub::Uninstall { which, force } => uninstall(context, &which.hooks(), force),
        Sub::Run { hook, args } => run::run(context, hook, &args),
    }
}

fn install(context: &mut Context, which: &[Hook], force: bool, shared: bool) -> Result<Exit> {
    // What no other command can read, a hook could only let pass.
    let found = Store::discover(&context.directory)?;
    let place = Place::find(&context.directory)?;
    let mut which = which.to_vec();
    if let Some(manager) = Manager::detect(&place) {
        let is_beside = |hook: &Hook| is_beside(manager, &place, *hook);
        let lacks = |hook: &&Hook| manager.runs(&place, **hook).is_none() && !is_beside(hook);
        let missing: Vec<Hook> = which.iter().filter(lacks).copied().collect();
        // What it cannot see of a push, ours sees beside it.
        let is_push = |hook: &Hook| manager == Manager::PreCommit && *hook == Hook::PrePush;
        if !missing.iter().all(is_push) {
            return Err(manager.refusal(&place, &missing));
        }
        let own: Vec<Hook> =
            which.iter().filter(|hook| is_push(hook) || is_beside(hook)).copied().collect();
        if own.is_empty() {
            return status_of(context, &which);
        }
        which = own;
    }
    place.require_own(shared)?;
    let program = program()?;
    refuse_agents(context, &found, &place, &program, (force, shared))?;
    let setting = place.setting(&program);
    for hook in &which {
        hooks::require_unedited(&place.directory, *hook, setting, force)?;
        hooks::require_room(&place.directory, *hook, setting)?;
    }
    let mut done = Vec::new();
    for hook in &which {
        done.push((*hook, hooks::install(&place.directory, *hook, setting, force)?));
    }
    if place.in_work_tree() {
        let kept = done.iter().any(|(hook, _)| kept::find(&place.directory, *hook).is_some());
        let with = match kept {
            true => format!(", and {} beside them,", kept::name(&place.directory)),
            false => String::new(),
        };
        context.note(&format!(
            "note: {} is inside the work tree; commit the hooks{with} to share them",
            place.directory.display()
        ));
    }
    print(context, &place, &program, &done)
}

/// Whether a hook of ours runs beside those of `manager`: the pre-commit framework leaves one alone, or moves and
/// runs it.
fn is_beside(manager: Manager, place: &Place, hook: Hook) -> bool {
    manager == Manager::PreCommit && hooks::is_installed(&place.directory, hook)
}

/// Holds an agent to what `aye agents install` holds it to: nothing in the checkout from the run of a session, and no
/// hook that is there made to do something else.
fn refuse_agents(
    context: &Context,
    found: &Store,
    place: &Place,
    program: &str,
    (force, shared): (bool, bool),
) -> Result<()> {
    let flags = [(force, " --force"), (shared, " --shared")];
    let flags: String =
        flags.into_iter().filter_map(|(given, name)| given.then_some(name)).collect();
    let command = &format!("aye hooks install{flags}");
    // The tree of a session is its agent's, and so are its hooks.
    if context.refuse_session(found).is_ok() {
        context.refuse_agents_in_session(found, "install hooks in the checkout", command)?;
        if place.in_work_tree() {
            context.refuse_agents_scaffold(command)?;
        }
    }
    if force {
        context.refuse_agents("overwrite hooks that were edited", command)?;
    }
    if shared {
        context.refuse_agents("install hooks for other repositories", command)?;
    }
    if hooks::runs_another(&place.directory, place.setting(program))? {
        context.refuse_agents("have hooks run another aye than the one they name", command)?;
    }
    Ok(())
}

fn uninstall(context: &mut Context, which: &[Hook], force: bool) -> Result<Exit> {
    context.refuse_agents("remove git hooks of aye", "aye hooks uninstall")?;
    let place = Place::find(&context.directory)?;
    let program = program()?;
    let setting = place.setting(&program);
    for hook in which {
        hooks::require_unedited(&place.directory, *hook, setting, force)?;
    }
    let mut done = Vec::new();
    for hook in which {
        done.push((*hook, hooks::uninstall(&place.directory, *hook, setting, force)?));
    }
    print(context, &place, &program, &done)
}

/// The hooks of ours that one repository has, in a directory of its own.
pub(super) struct Installed {
    place: Place,
    program: String,
    hooks: Vec<Hook>,
}

/// What is installed for the repository of `directory` alone.
///
/// # Errors
/// `not_a_repository` and its kin; `io_error` if a hook cannot be read.
pub(super) fn installed(directory: &Path) -> Result<Installed> {
    let place = Place::find(directory)?;
    let program = program()?;
    let mut hooks = Vec::new();
    if place.require_own(false).is_ok() {
        for hook in Hook::ALL {
            let (state, _) = hooks::state(&place.directory, hook, place.setting(&program))?;
            if !matches!(state, State::Absent | State::Other) {
                hooks.push(hook);
            }
        }
    }
    Ok(Installed { place, program, hooks })
}

impl Installed {
    /// Their names.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.hooks.iter().map(|hook| hook.name()).collect()
    }

    /// Refuses where one was edited: to be asked before anything is removed.
    ///
    /// # Errors
    /// `hook_changed`.
    pub(super) fn require_unedited(&self) -> Result<()> {
        let setting = self.place.setting(&self.program);
        let mut hooks = self.hooks.iter();
        hooks.try_for_each(|h| hooks::require_unedited(&self.place.directory, *h, setting, false))
    }

    /// Removes them, and puts back what was there before.
    ///
    /// # Errors
    /// `hook_changed`, or an operating-system error.
    pub(super) fn remove(&self) -> Result<()> {
        let setting = self.place.setting(&self.program);
        let mut hooks = self.hooks.iter();
        hooks
            .try_for_each(|h| hooks::uninstall(&self.place.directory, *h, setting, false).map(drop))
    }
}

fn status_of(context: &mut Context, which: &[Hook]) -> Result<Exit> {
    let place = Place::find(&context.directory)?;
    let program = program()?;
    let manager = Manager::detect(&place);
    let mut entries = Vec::new();
    for hook in which.iter().copied() {
        let (state, chained) = hooks::state(&place.directory, hook, place.setting(&program))?;
        let managed = manager.is_some_and(|manager| {
            let is_named = manager.runs(&place, hook).is_some();
            is_named && manager.is_active(&place, hook)
                || hooks::moved(&place.directory, hook).is_some()
        });
        entries.push(Entry { hook, state, chained, managed, outcome: None });
    }
    let document = document(&place, manager, entries);
    context.emit(Format::Text, &document, || {
        let mut text = format!("{}\n", crate::text::escape::line(&document.directory));
        for entry in &document.hooks {
            text += &format!("  {:<20}{}\n", entry.hook.name(), describe(entry, &place, manager));
        }
        if let Some(manager) = manager {
            text += &format!("{} manages these hooks\n", manager.name());
            let hooks = document.hooks.iter().map(|entry| entry.hook);
            let lacks = |hook: &Hook| {
                manager.runs(&place, *hook).is_none() && !is_beside(manager, &place, *hook)
            };
            let missing: Vec<Hook> = hooks.filter(lacks).collect();
            for line in manager.advice(&place, &missing).lines().filter(|_| !missing.is_empty()) {
                text += &format!("hint: {line}\n");
            }
        }
        text
    })?;
    Ok(Exit::Done)
}

fn print(
    context: &mut Context,
    place: &Place,
    program: &str,
    done: &[(Hook, InstallOutcome)],
) -> Result<Exit> {
    let mut entries = Vec::new();
    for (hook, outcome) in done {
        let (state, chained) = hooks::state(&place.directory, *hook, place.setting(program))?;
        entries.push(Entry {
            hook: *hook,
            state,
            chained,
            managed: false,
            outcome: Some(*outcome),
        });
    }
    let document = document(place, None, entries);
    context.emit(Format::Text, &document, || {
        let mut text = format!("{}\n", crate::text::escape::line(&document.directory));
        for (hook, outcome) in done {
            let said = match outcome {
                InstallOutcome::Installed => "installed".to_owned(),
                InstallOutcome::Chained => format!(
                    "installed; the hook that was there is kept and {}",
                    match hooks::runs_chained(&place.directory, *hook) {
                        true => format!("runs {}", hook.when_chained()),
                        false => "does not run: it is not executable".to_owned(),
                    }
                ),
                InstallOutcome::Updated => "updated".to_owned(),
                InstallOutcome::Unchanged => "installed already".to_owned(),
                InstallOutcome::Removed => "removed".to_owned(),
                InstallOutcome::Restored => "removed; the hook from before is back".to_owned(),
                InstallOutcome::NotOurs => "none of ours".to_owned(),
            };
            text += &format!("  {:<20}{said}\n", hook.name());
        }
        text
    })?;
    Ok(Exit::Done)
}

fn document(place: &Place, manager: Option<Manager>, hooks: Vec<Entry>) -> Document {
    let directory = place.directory.to_string_lossy().into_owned();
    Document { schema: "aye/hooks@1", directory, manager, hooks }
}

fn describe(entry: &Entry, place: &Place, manager: Option<Manager>) -> String {
    if let Some(said) = manager.and_then(|manager| describe_managed(entry.hook, place, manager)) {
        return said;
    }
    let state = match entry.state {
        State::Absent => "not installed",
        State::Installed => "installed",
        State::Outdated => "installed by another aye; `aye hooks install` updates it",
        State::Edited => "installed, and edited since",
        State::Other if manager.is_some() => "another hook",
        State::Other => "another hook; `aye hooks install` keeps it and runs it too",
    };
    match (entry.chained, hooks::runs_chained(&place.directory, entry.hook)) {
        (true, true) => format!("{state} (runs the earlier hook {})", entry.hook.when_chained()),
        (true, false) => format!("{state} (the earlier hook is kept, but not executable)"),
        (false, _) => state.to_owned(),
    }
}

/// What `manager` runs of aye for `hook`, or would; `None` where that is no matter of it.
fn describe_managed(hook: Hook, place: &Place, manager: Manager) -> Option<String> {
    let name = manager.name();
    let file = manager.runs(place, hook).map(|file| crate::text::escape::line(&file).into_owned());
    let moved = hooks::moved(&place.directory, hook)
        .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    Some(match (file, moved) {
        (None, None) => return None,
        (None, Some(moved)) => format!("run by {name} ({moved})"),
        (Some(file), Some(moved)) if hook == Hook::PrePush => {
            format!("run by {name} ({moved}; {file} for the first ref)")
        }
        (Some(file), Some(moved)) => format!(
            "run by {name} twice ({moved}, {file}); `aye hooks uninstall --{}` ends the first",
            Which::flag(hook)
        ),
        (Some(file), None) if !manager.is_active(place, hook) => {
            if is_beside(manager, place, hook) {
                return None;
            }
            format!("in {file}, {}", manager.activation(place, &file, hook))
        }
        (Some(file), None) if manager == Manager::PreCommit && hook == Hook::PrePush => format!(
            "run by {name} ({file}) for the first ref; `aye hooks install --pre-push` for all"
        ),
        (Some(file), None) => format!("run by {name} ({file})"),
    })
}

/// The running program, as a hook should call it.
fn program() -> Result<String> {
    let path = std::env::current_exe().map_err(|e| Error::io("find the path of aye", &e))?;
    let text = path.to_str().ok_or_else(|| {
        Error::new(
            &crate::error::codes::INVALID_UTF8,
            format!("the path of aye is not UTF-8: {}", path.display()),
        )
        .hint("install it in a directory with a plain name")
    })?;
    Ok(if cfg!(windows) { text.replace('\\', "/") } else { text.to_owned() })
}
