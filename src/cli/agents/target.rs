//! A file of settings that hooks a coding agent up: where it lies, what is in it, and what goes in or out.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::real::Real;
use crate::cli::Context;
use crate::error::{Error, Result, codes};
use crate::harness::{
    CLIENTS, Client, Hook, STRICT, Settings, codex, gemini, included, is_entry_of, settings,
    writable,
};
use crate::hooks;
use crate::session::codes::NO_STATE_DIRECTORY;
use crate::session::home::all_trees;
use crate::sha256;
use crate::words::words;

/// What becomes of edits of the checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// They are made in a work tree of the session, and proposed when the agent stops.
    Tree,
    /// They are refused; the agent proposes each change by itself. Commands run in the checkout.
    Strict,
}

words! {
    /// Whose settings a file holds.
    pub enum Scope {
        /// Of everybody who works in this project.
        Project = "project",
        /// The user's own, for this project.
        Local = "local",
        /// The user's own, for every project.
        User = "user",
    }
}

pub(super) struct Target {
    pub(super) client: &'static Client,
    pub(super) scope: Scope,
    pub(super) path: PathBuf,
    pub(super) receipt: PathBuf,
    pub(super) kind: Kind,
}

/// What is written into a file.
pub(super) enum Kind {
    /// Hooks.
    Hooks,
    /// This directory, which the client's sandbox is to leave writable.
    Writable(String),
    /// This directory, which the client is to let its tools into.
    Included(String),
}

impl Target {
    /// The events that aye's hooks are there for in `text`; of a file of aye's own, all.
    pub(super) fn hooks(&self, text: &str) -> Result<Vec<String>, String> {
        let all = || self.client.hooks.iter().map(|(event, _)| (*event).to_owned()).collect();
        match (&self.kind, self.client.settings) {
            _ if text.trim().is_empty() => Ok(Vec::new()),
            (Kind::Writable(_) | Kind::Included(_), _) => Ok(Vec::new()),
            (Kind::Hooks, Settings::Entries(_)) => settings::find(text, self.is_ours()),
            (Kind::Hooks, Settings::File(_)) if self.is_own(text) => Ok(all()),
            (Kind::Hooks, Settings::File(_)) => Ok(Vec::new()),
        }
    }

    /// What becomes of edits of the checkout by the hooks in `text`.
    pub(super) fn mode(&self, text: &str) -> Option<Mode> {
        let is_strict = match self.client.settings {
            Settings::Entries(_) => {
                let is_ours = self.is_ours();
                let is_strict =
                    |entry: &Value| is_ours(entry) && entry.to_string().contains(STRICT);
                if settings::find(text, &is_ours).map_or(true, |found| found.is_empty()) {
                    return None;
                }
                settings::find(text, is_strict).is_ok_and(|found| !found.is_empty())
            }
            Settings::File(_) if !self.is_own(text) => return None,
            Settings::File(_) => {
                text.contains("strict = true") || text.contains(&format!(" {STRICT}"))
            }
        };
        Some(if is_strict { Mode::Strict } else { Mode::Tree })
    }

    /// Whether aye has put something into `text`.
    pub(super) fn has(&self, text: &str) -> bool {
        match &self.kind {
            Kind::Writable(directory) => !text.is_empty() && writable::has(text, directory),
            Kind::Included(directory) => included::has(text, directory).unwrap_or(false),
            Kind::Hooks => self.hooks(text).is_ok_and(|hooks| !hooks.is_empty()),
        }
    }

    /// Whether an entry of the settings is one of aye's.
    pub(super) fn is_ours(&self) -> impl Fn(&Value) -> bool {
        let name = self.client.name;
        move |entry| is_entry_of(name, entry)
    }

    /// Whether a file of aye's own is one.
    pub(super) fn is_own(&self, text: &str) -> bool {
        ["agents hook ", "\"agents\", \"hook\", "].iter().any(|words| text.contains(words))
    }

    /// `text` with what aye puts into it.
    pub(super) fn put(&self, text: &str, program: &str, is_strict: bool) -> Result<String, String> {
        match (&self.kind, self.client.settings) {
            (Kind::Writable(directory), _) => writable::put(text, directory),
            (Kind::Included(directory), _) => included::put(text, directory),
            (Kind::Hooks, Settings::Entries(entry)) => {
                let hooks = self.client.hooks.iter();
                let entry = |&(event, tools): &(_, _)| {
                    (event, entry(&Hook { program, event, tools, is_strict }))
                };
                let entries: Vec<(&str, Value)> = hooks.map(entry).collect();
                settings::put(text, &entries, self.is_ours())
            }
            (Kind::Hooks, Settings::File(file)) => match text.is_empty() || self.is_own(text) {
                true => Ok(file(program, is_strict)),
                false => Err("it is not a file of aye's".to_owned()),
            },
        }
    }

    /// `text` without it; `None` where nothing is left that is not aye's own.
    pub(super) fn take(&self, text: &str) -> Result<Option<String>, String> {
        match (&self.kind, self.client.settings) {
            (Kind::Writable(directory), _) => writable::remove(text, directory).map(Some),
            (Kind::Included(directory), _) => included::remove(text, directory).map(Some),
            (Kind::Hooks, Settings::Entries(_)) => settings::remove(text, self.is_ours()).map(Some),
            (Kind::Hooks, Settings::File(_)) if self.is_own(text) => Ok(None),
            (Kind::Hooks, Settings::File(_)) => Ok(Some(text.to_owned())),
        }
    }
}

/// The directories in which the settings of `client` lie: the project's, and the user's own; and the file of
/// hooks in them.
pub(super) fn places(
    context: &Context,
    client: &Client,
) -> (&'static str, Option<PathBuf>, &'static str) {
    let absolute = |name: &str| context.var(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let below = |base: &str, name: &str| absolute(base).map(|base| base.join(name));
    match client.name {
        "codex" => {
            (".codex", absolute("CODEX_HOME").or_else(|| below("HOME", ".codex")), "hooks.json")
        }
        "gemini" => {
            let own = below("GEMINI_CLI_HOME", ".gemini").or_else(|| below("HOME", ".gemini"));
            (".gemini", own, "settings.json")
        }
        "qwen" => {
            (".qwen", absolute("QWEN_HOME").or_else(|| below("HOME", ".qwen")), "settings.json")
        }
        "copilot" => {
            let own = absolute("COPILOT_HOME").or_else(|| below("HOME", ".copilot"));
            (".github", own, "hooks/aye.json")
        }
        "opencode" => {
            let own = below("XDG_CONFIG_HOME", "opencode");
            (".opencode", own.or_else(|| below("HOME", ".config/opencode")), "plugin/aye.js")
        }
        _ => {
            let own = absolute("CLAUDE_CONFIG_DIR").or_else(|| below("HOME", ".claude"));
            (".claude", own, "settings.json")
        }
    }
}

pub(super) fn targets(context: &Context) -> Result<Vec<Target>> {
    targets_of(context, top(context).as_deref())
}

/// As [`targets`], to be looked at alone: also where there is no state directory.
pub(super) fn shown(context: &Context) -> Vec<Target> {
    all(context, top(context).as_deref(), context.state_directory().ok().as_deref())
}

/// The top of the work tree.
fn top(context: &Context) -> Option<PathBuf> {
    crate::store::Store::discover(&context.directory).ok()?.work_dir()
}

/// The settings of all clients: the user's own, and those of the project at `top`.
pub(super) fn targets_of(context: &Context, top: Option<&Path>) -> Result<Vec<Target>> {
    Ok(all(context, top, Some(&context.state_directory()?)))
}

fn all(context: &Context, top: Option<&Path>, state: Option<&Path>) -> Vec<Target> {
    // The file in which they would be named is there to be looked at without a place for them, too.
    let trees =
        state.map_or(Some(String::new()), |state| all_trees(state).to_str().map(str::to_owned));
    let receipts = state.map(|state| state.join("aye/agents")).unwrap_or_default();
    let mut all = Vec::new();
    for client in CLIENTS {
        let (project, own, file) = places(context, client);
        let project = top.map(|top| top.join(project));
        let mut add = |scope, path: Option<PathBuf>, kind| {
            let Some(path) = path else { return };
            let hash = sha256::hex(path.as_os_str().as_encoded_bytes());
            let receipt = receipts.join(format!("{}.json", &hash[..16]));
            all.push(Target { client, scope, path, receipt, kind });
        };
        add(Scope::Project, project.as_ref().map(|base| base.join(file)), Kind::Hooks);
        if client.name == "claude-code" {
            let local = project.map(|base| base.join("settings.local.json"));
            add(Scope::Local, local, Kind::Hooks);
        }
        add(Scope::User, own.as_ref().map(|base| base.join(file)), Kind::Hooks);
        match (client.name, &trees) {
            (codex::NAME, Some(trees)) => {
                let file = own.map(|base| base.join("config.toml"));
                add(Scope::User, file, Kind::Writable(trees.clone()));
            }
            (gemini::NAME, Some(trees)) => {
                let file = own.map(|base| base.join(file));
                add(Scope::User, file, Kind::Included(trees.clone()));
            }
            _ => {}
        }
    }
    all
}

/// Why an agent does not write one of `files`, which hook clients up, from `directory`.
pub(super) fn guards(context: &Context, directory: &Path, files: &[PathBuf]) -> Option<String> {
    let found = Real::default();
    let real = |path: &Path| found.path(path);
    let own = targets(context).ok()?.into_iter().filter(|target| target.scope == Scope::User);
    let own: Vec<PathBuf> = own.map(|target| target.path).collect();
    let own: Vec<PathBuf> = own.iter().map(|own| real(own)).chain(own.iter().cloned()).collect();
    let found = files.iter().map(|file| directory.join(file)).find(|file| {
        let at = real(file);
        own.iter().any(|own| file == own || at == *own)
    })?;
    Some(format!("{} hooks agents up to the review, and is not edited by one.", found.display()))
}

/// Whether hooks of any client are there for the project at `top`, in its settings or in the user's own.
pub(super) fn has_hooks(context: &Context, top: &Path) -> bool {
    let all = all(context, Some(top), context.state_directory().ok().as_deref());
    all.iter().any(is_there)
}

/// Whether hooks of `client` are there for the project at `top`, in its settings or in the user's own.
pub(super) fn is_installed(context: &Context, client: &Client, top: &Path) -> bool {
    let all = targets_of(context, Some(top)).unwrap_or_default();
    all.iter().any(|target| target.client.name == client.name && is_there(target))
}

/// Whether the hooks that `target` is for are in it.
fn is_there(target: &Target) -> bool {
    if !matches!(target.kind, Kind::Hooks) {
        return false;
    }
    // What cannot be read is no reason to let anything pass.
    read(&target.path).map_or(true, |text| text.is_some_and(|text| target.has(&text)))
}

pub(super) fn unreadable(path: &Path, why: &str) -> Error {
    Error::new(&codes::INVALID_JSON, format!("{} cannot be edited: {why}", path.display()))
        .with("path", path.display().to_string())
        .hint("it is left as it is; repair it, then try again")
}

pub(super) fn read(path: &Path) -> Result<Option<String>> {
    match bytes(path) {
        Ok(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|_| unreadable(path, "it is not UTF-8"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
            Err(unreadable(path, "it is not a regular file"))
        }
        Err(error) => Err(match obstacle(path) {
            Some(why) => unreadable(path, &why),
            None => Error::file("read", path, &error),
        }),
    }
}

/// Why there can be no file at `path`: it is a symlink that leads nowhere, or no directory can be above it.
fn obstacle(path: &Path) -> Option<String> {
    let is_dangling = path.is_symlink() && !path.exists();
    let place = if is_dangling { path } else { path.parent()? };
    hooks::obstacle(place)
}

/// Refuses where [`write()`] could not put a file at `path`, or would put one in the place of a symlink.
pub(super) fn require_room(path: &Path) -> Result<()> {
    obstacle(path).map_or(Ok(()), |why| Err(unreadable(path, &why)))
}

/// Refuses where there can be no `directory` in the state directory.
pub(super) fn require_state(directory: Option<&Path>) -> Result<()> {
    let Some(why) = directory.and_then(hooks::obstacle) else { return Ok(()) };
    Err(Error::new(&NO_STATE_DIRECTORY, why)
        .hint("set XDG_STATE_HOME to a directory that you can write, outside the repository"))
}

/// The bytes of a regular file; of what is none `InvalidInput`. A pipe is not waited for.
pub(super) fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NONBLOCK.bits();
        std::os::unix::fs::OpenOptionsExt::custom_flags(
            &mut options,
            i32::try_from(flags).unwrap_or_default(),
        );
    }
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut { file }, &mut bytes)?;
    Ok(bytes)
}

/// Writes a file whole or not at all, where it really lies: settings may be symlinks into a collection.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    let failed = |error: std::io::Error| Error::file("write", path, &error);
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = real.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory).map_err(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
    let mode = std::fs::metadata(&real).map(|facts| facts.permissions());
    #[cfg(unix)]
    let mode = mode
        .or_else(|_| Ok::<_, std::io::Error>(std::os::unix::fs::PermissionsExt::from_mode(0o644)));
    if let Ok(mode) = mode {
        file.as_file().set_permissions(mode).map_err(failed)?;
    }
    file.persist(&real).map(drop).map_err(|error| failed(error.error))
}
