//! `aye agents install|remove|show`: the hooks in a coding agent's settings.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Harness;
use super::seen::{self, Agent};
use crate::cli::{Context, Format};
use crate::error::{Error, Exit, Result, codes};
use crate::harness::{
    CLIENTS, Client, Hook, STRICT, Settings, codex, cursor, gemini, guide, included, is_entry_of,
    settings, taught, writable,
};
use crate::memory::scaffold;
use crate::session::home::all_trees;
use crate::sha256;
use crate::text::escape;

/// Which settings.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Where {
    /// Your own, wherever you work (as it is without a choice, but for Claude Code).
    #[arg(long, conflicts_with_all = ["project", "local"])]
    pub user: bool,
    /// The project's, with everybody who works in it (as it is without a choice for Claude Code).
    #[arg(long, conflicts_with = "local")]
    pub project: bool,
    /// Your own of this project (Claude Code).
    #[arg(long)]
    pub local: bool,
}

/// Arguments of `aye agents install`.
#[derive(Debug, clap::Args)]
pub struct InstallArgs {
    /// The coding agents.
    #[arg(value_enum, value_name = "HARNESS", required = true)]
    pub harnesses: Vec<Harness>,
    /// Which settings.
    #[command(flatten)]
    pub place: Where,
    /// Where edits of the checkout go: into a work tree of the session, or nowhere.
    #[arg(long, value_enum, default_value = "tree", value_name = "MODE")]
    pub mode: Mode,
    /// Say what would be written, and write nothing.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
}

/// What becomes of edits of the checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// They are made in a work tree of the session, and proposed when the agent stops.
    Tree,
    /// They are refused; the agent proposes each change by itself. Commands run in the checkout; what they write is
    /// put back where the command names the file, and proposed.
    Strict,
    /// Not offered.
    #[value(hide = true)]
    Capture,
}

/// Arguments of `aye agents remove`.
#[derive(Debug, clap::Args)]
pub struct RemoveArgs {
    /// The coding agents.
    #[arg(value_enum, value_name = "HARNESS", required = true)]
    pub harnesses: Vec<Harness>,
    /// Which settings.
    #[command(flatten)]
    pub place: Where,
}

/// Answer of `aye agents install`, `remove` and `show`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// `aye/agents@1`
    pub schema: &'static str,
    /// Settings and what is in them.
    pub settings: Vec<Item>,
    /// The coding agents, where it was asked which of them are gated (`show`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Agent>,
}

/// One file of settings.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    /// The coding agent.
    pub harness: &'static str,
    /// `project`, `local` or `user`.
    pub scope: &'static str,
    /// Where the file is.
    pub path: String,
    /// The events that aye's hooks are there for.
    pub hooks: Vec<String>,
    /// `tree` or `strict`: what becomes of edits of the checkout; null where there are no hooks.
    pub mode: Option<&'static str>,
    /// `written`, `would_write`, `removed`, `unchanged`, `installed` or `none`.
    pub state: &'static str,
    /// Whether this was tried with the client itself; false where it follows documentation alone.
    pub tested: bool,
    /// Whether a person has trusted the hooks; null where the client does not ask for that.
    pub trusted: Option<bool>,
}

/// What a file was before, so that it can be put back to the byte.
#[derive(Debug, Serialize, Deserialize)]
struct Receipt {
    /// SHA-256 of what was written.
    written: String,
    /// The text before; null where there was no file.
    before: Option<String>,
    /// Where the file is.
    #[serde(default)]
    path: Option<PathBuf>,
    /// The coding agent.
    #[serde(default)]
    harness: Option<String>,
}

struct Target {
    client: &'static Client,
    scope: &'static str,
    path: PathBuf,
    receipt: PathBuf,
    kind: Kind,
}

/// What is written into a file.
enum Kind {
    /// Hooks.
    Hooks,
    /// This directory, which the client's sandbox is to leave writable.
    Writable(String),
    /// This directory, which the client is to let its tools into.
    Included(String),
}

impl Target {
    /// The events that aye's hooks are there for in `text`; of a file of aye's own, all.
    fn hooks(&self, text: &str) -> Result<Vec<String>, String> {
        let all = || {
            let is_strict = self.mode(text) == Some("strict");
            self.client.installed(is_strict).map(|(event, _)| event.to_owned()).collect()
        };
        match (&self.kind, self.client.settings) {
            _ if text.trim().is_empty() => Ok(Vec::new()),
            (Kind::Writable(_) | Kind::Included(_), _) => Ok(Vec::new()),
            (Kind::Hooks, Settings::Entries(_)) => settings::find(text, self.is_ours()),
            (Kind::Hooks, Settings::File(_)) if self.is_own(text) => Ok(all()),
            (Kind::Hooks, Settings::File(_) | Settings::Guide(_)) => Ok(Vec::new()),
        }
    }

    /// What becomes of edits of the checkout by the hooks in `text`.
    fn mode(&self, text: &str) -> Option<&'static str> {
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
            Settings::Guide(_) => return None,
            Settings::File(_) if !self.is_own(text) => return None,
            Settings::File(_) => {
                text.contains("strict = true") || text.contains(&format!(" {STRICT}"))
            }
        };
        Some(if is_strict { "strict" } else { "tree" })
    }

    /// Whether aye has put something into `text`.
    fn has(&self, text: &str) -> bool {
        match &self.kind {
            Kind::Writable(directory) => !text.is_empty() && writable::has(text, directory),
            Kind::Included(directory) => included::has(text, directory).unwrap_or(false),
            Kind::Hooks if matches!(self.client.settings, Settings::Guide(_)) => {
                scaffold::without_block(text) != text
            }
            Kind::Hooks => self.hooks(text).is_ok_and(|hooks| !hooks.is_empty()),
        }
    }

    /// Whether an entry of the settings is one of aye's.
    fn is_ours(&self) -> impl Fn(&Value) -> bool {
        let name = self.client.name;
        move |entry| is_entry_of(name, entry)
    }

    /// Whether a file of aye's own is one.
    fn is_own(&self, text: &str) -> bool {
        ["agents hook ", "\"agents\", \"hook\", "].iter().any(|words| text.contains(words))
    }

    /// `text` with what aye puts into it.
    fn put(&self, text: &str, program: &str, is_strict: bool) -> Result<String, String> {
        match (&self.kind, self.client.settings) {
            (Kind::Writable(directory), _) => writable::put(text, directory),
            (Kind::Included(directory), _) => included::put(text, directory),
            (Kind::Hooks, Settings::Entries(entry)) => {
                let hooks = self.client.installed(is_strict);
                let entry =
                    |(event, tools)| (event, entry(&Hook { program, event, tools, is_strict }));
                let entries: Vec<(&str, Value)> = hooks.map(entry).collect();
                // Cursor reads no file without a version.
                let text = match self.client.name {
                    cursor::NAME if text.trim().is_empty() => "{\n  \"version\": 1\n}\n",
                    _ => text,
                };
                settings::put(text, &entries, self.is_ours())
            }
            (Kind::Hooks, Settings::File(file)) => match text.is_empty() || self.is_own(text) {
                true => Ok(file(program, is_strict)),
                false => Err("it is not a file of aye's".to_owned()),
            },
            (Kind::Hooks, Settings::Guide(front)) => {
                let text = if text.is_empty() { front } else { text };
                Ok(scaffold::with_block(text, guide::TEXT))
            }
        }
    }

    /// `text` without it; `None` where nothing is left that is not aye's own.
    fn take(&self, text: &str) -> Result<Option<String>, String> {
        match (&self.kind, self.client.settings) {
            (Kind::Writable(directory), _) => writable::remove(text, directory).map(Some),
            (Kind::Included(directory), _) => included::remove(text, directory).map(Some),
            (Kind::Hooks, Settings::Entries(_)) => settings::remove(text, self.is_ours()).map(Some),
            (Kind::Hooks, Settings::File(_)) if self.is_own(text) => Ok(None),
            (Kind::Hooks, Settings::File(_)) => Ok(Some(text.to_owned())),
            (Kind::Hooks, Settings::Guide(front)) => {
                let left = scaffold::without_block(text);
                Ok((left.trim() != front.trim()).then_some(left))
            }
        }
    }
}

/// The directories in which the settings of `client` lie: the project's, and the user's own; and the file of
/// hooks in them.
fn places(context: &Context, client: &Client) -> (&'static str, Option<PathBuf>, &'static str) {
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
        "cursor" => (".cursor", below("HOME", ".cursor"), "hooks.json"),
        "windsurf" => (".windsurf", None, "rules/aye.md"),
        "cline" => (".clinerules", None, "aye.md"),
        "kiro" => (".kiro", None, "steering/aye.md"),
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

fn targets(context: &Context) -> Result<Vec<Target>> {
    let top = crate::store::Store::discover(&context.directory).ok();
    targets_of(context, top.and_then(|store| store.work_dir()).as_deref())
}

/// The settings of all clients: the user's own, and those of the project at `top`.
fn targets_of(context: &Context, top: Option<&Path>) -> Result<Vec<Target>> {
    let trees = all_trees(&context.state_directory()?).to_str().map(str::to_owned);
    let state = context.state_directory()?.join("aye");
    let mut all = Vec::new();
    for client in CLIENTS.into_iter().chain(taught::CLIENTS) {
        let (project, own, file) = places(context, client);
        let project = top.map(|top| top.join(project));
        let mut add = |scope, path: Option<PathBuf>, kind| {
            let Some(path) = path else { return };
            let hash = sha256::hex(path.as_os_str().as_encoded_bytes());
            let receipt = state.join("agents").join(format!("{}.json", &hash[..16]));
            all.push(Target { client, scope, path, receipt, kind });
        };
        // Cline's rules may be one file instead of a directory.
        let in_project =
            project.as_ref().map(|base| match client.name == "cline" && base.is_file() {
                true => base.clone(),
                false => base.join(file),
            });
        add("project", in_project, Kind::Hooks);
        if client.name == "claude-code" {
            let local = project.map(|base| base.join("settings.local.json"));
            add("local", local, Kind::Hooks);
        }
        add("user", own.as_ref().map(|base| base.join(file)), Kind::Hooks);
        match (client.name, &trees) {
            (codex::NAME, Some(trees)) => {
                let file = own.map(|base| base.join("config.toml"));
                add("user", file, Kind::Writable(trees.clone()));
            }
            (gemini::NAME, Some(trees)) => {
                let file = own.map(|base| base.join(file));
                add("user", file, Kind::Included(trees.clone()));
            }
            _ => {}
        }
    }
    Ok(all)
}

/// What the settings of `client` in the chosen place consist of: its file of hooks, and what else it needs.
fn chosen(context: &Context, harness: Harness, place: Where) -> Result<Vec<Target>> {
    let client = harness.client();
    let scope = match place {
        Where { user: true, .. } => "user",
        Where { local: true, .. } => "local",
        Where { project: true, .. } => "project",
        _ if harness == Harness::ClaudeCode => "project",
        _ if client.hooks.is_empty() => "project",
        _ => "user",
    };
    let wanted = |target: &Target| {
        target.client.name == client.name
            && (target.scope == scope || !matches!(target.kind, Kind::Hooks))
    };
    let found: Vec<Target> = targets(context)?.into_iter().filter(wanted).collect();
    if found.iter().any(|target| matches!(target.kind, Kind::Hooks)) {
        return Ok(found);
    }
    Err(Error::new(
        &codes::INVALID_ARGUMENT,
        format!("there are no {scope} settings of {} here", client.name),
    )
    .hint("run it in a repository, or with --user and HOME set"))
}

/// Why an agent does not write one of `files`, which hook clients up, from `directory`.
pub(super) fn guards(context: &Context, directory: &Path, files: &[PathBuf]) -> Option<String> {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let own = targets(context).ok()?.into_iter().filter(|target| target.scope == "user");
    let own: Vec<PathBuf> = own.map(|target| target.path).collect();
    let own: Vec<PathBuf> = own.iter().map(|own| real(own)).chain(own.iter().cloned()).collect();
    let found = files.iter().map(|file| directory.join(file)).find(|file| {
        let at = real(file);
        own.iter().any(|own| file == own || at == *own)
    })?;
    Some(format!("{} hooks agents up to the review, and is not edited by one.", found.display()))
}

/// Whether hooks of `client` are there for the project at `top`, in its settings or in the user's own.
pub(super) fn is_installed(context: &Context, client: &Client, top: &Path) -> bool {
    let all = targets_of(context, Some(top)).unwrap_or_default();
    let mut own = all.iter().filter(|target| target.client.name == client.name);
    // What cannot be read is no reason to let anything pass.
    own.any(|target| match (&target.kind, read(&target.path)) {
        (Kind::Hooks, Ok(text)) => text.is_some_and(|text| target.has(&text)),
        (Kind::Hooks, Err(_)) => true,
        _ => false,
    })
}

fn unreadable(path: &Path, why: &str) -> Error {
    Error::new(&codes::INVALID_JSON, format!("{} cannot be edited: {why}", path.display()))
        .with("path", path.display().to_string())
        .hint("it is left as it is; mend it, then try again")
}

fn read(path: &Path) -> Result<Option<String>> {
    match bytes(path) {
        Ok(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|_| unreadable(path, "it is not UTF-8"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
            Err(unreadable(path, "it is not a regular file"))
        }
        Err(error) => Err(Error::file("read", path, &error)),
    }
}

/// The bytes of a regular file; of what is none `InvalidInput`. A pipe is not waited for.
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
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
fn write(path: &Path, text: &str) -> Result<()> {
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

/// Puts the hooks in: into every file, or where one of them cannot be edited into none.
///
/// # Errors
/// `invalid_json` for settings that cannot be edited, which are left as they are; those of the file system.
pub fn install(context: &mut Context, args: &InstallArgs) -> Result<Exit> {
    if args.mode == Mode::Capture {
        return Err(Error::new(
            &codes::INVALID_ARGUMENT,
            "capture is not offered: refused edit by edit, every client that was tried lost track of its files",
        )
        .hint("--mode tree lets it edit in a work tree; --mode strict has it propose each change"));
    }
    let is_strict = args.mode == Mode::Strict;
    let program =
        std::env::current_exe().map_err(|error| Error::io("find this program", &error))?;
    let program = program.to_str().ok_or_else(|| unreadable(&program, "its path is not UTF-8"))?;
    let mut planned: Vec<(Target, Option<String>, String)> = Vec::new();
    for harness in &args.harnesses {
        for target in chosen(context, *harness, args.place)? {
            let earlier = planned.iter().rfind(|(earlier, ..)| earlier.path == target.path);
            let before = match earlier {
                Some((_, _, after)) => Some(after.clone()),
                None => read(&target.path)?,
            };
            let text = before.as_deref().unwrap_or_default();
            let after = target
                .put(text, program, is_strict)
                .map_err(|why| unreadable(&target.path, &why))?;
            planned.push((target, before, after));
        }
    }
    let mut items = Vec::new();
    for (target, before, after) in planned {
        let state = match () {
            () if before.as_ref() == Some(&after) => "unchanged",
            () if args.dry_run => "would_write",
            () => {
                if let Kind::Writable(directory) | Kind::Included(directory) = &target.kind {
                    std::fs::create_dir_all(directory)
                        .map_err(|error| Error::file("make", Path::new(directory), &error))?;
                }
                keep_receipt(&target, before, &after)?;
                write(&target.path, &after)?;
                "written"
            }
        };
        let hooks = target.hooks(&after).unwrap_or_default();
        items.push(item(&target, state, hooks, target.mode(&after)));
    }
    for harness in &args.harnesses {
        let client = harness.client();
        match client.settings {
            Settings::Guide(_) => context.note(&format!(
                "{}: it is taught, and nothing holds it to that; untested",
                client.name
            )),
            _ if !client.is_tried => context.note(&format!(
                "{}: built from its documentation, and not tried with the client itself",
                client.name
            )),
            _ => {}
        }
    }
    if !args.dry_run && args.harnesses.contains(&Harness::Codex) {
        context
            .note("codex skips hooks that are not trusted: run /hooks in codex, and trust aye's");
    }
    answer(context, items)
}

/// Keeps what the file was before aye's first change of it.
fn keep_receipt(target: &Target, before: Option<String>, after: &str) -> Result<()> {
    let known = receipt(target).filter(|known| {
        before.as_ref().is_some_and(|before| known.written == sha256::hex(before.as_bytes()))
    });
    let had = before.as_deref().is_some_and(|text| target.has(text));
    // With hooks of aye's in it that no receipt knows of, the text before is not the original.
    let original = match known {
        Some(known) => known.before,
        None if had => return Ok(()),
        None => before,
    };
    write_receipt(target, after, original)
}

fn write_receipt(target: &Target, after: &str, before: Option<String>) -> Result<()> {
    let kept = Receipt {
        written: sha256::hex(after.as_bytes()),
        before,
        path: Some(target.path.clone()),
        harness: Some(target.client.name.to_owned()),
    };
    let text = serde_json::to_string(&kept).map_err(|error| Error::bug(error.to_string()))?;
    write(&target.receipt, &text)
}

fn receipt(target: &Target) -> Option<Receipt> {
    serde_json::from_slice(&std::fs::read(&target.receipt).ok()?).ok()
}

/// Takes the hooks out: the file is as before to the byte, where nobody has edited it since.
///
/// # Errors
/// As [`install`].
pub fn remove(context: &mut Context, args: &RemoveArgs) -> Result<Exit> {
    let mut items = Vec::new();
    for harness in &args.harnesses {
        let targets = chosen(context, *harness, args.place)?;
        let is_needed = has_others(context, &targets)?;
        for target in &targets {
            // What the hooks of another project or scope need stays.
            let stays = is_needed && !matches!(target.kind, Kind::Hooks);
            let is_shared = targets.iter().filter(|other| other.path == target.path).count() > 1;
            let removed = !stays && put_back(target, is_needed && is_shared)?;
            let state = if removed { "removed" } else { "unchanged" };
            items.push(item(target, state, Vec::new(), None));
        }
    }
    answer(context, items)
}

/// Whether hooks of the same client are anywhere else than in `targets`: here, or in another project that a
/// receipt names.
fn has_others(context: &Context, targets: &[Target]) -> Result<bool> {
    let Some(client) = targets.first().map(|target| target.client) else { return Ok(false) };
    let is_other = |path: &Path| !targets.iter().any(|target| target.path == path);
    let mut others: Vec<Target> = self::targets(context)?;
    others.retain(|other| other.client.name == client.name && matches!(other.kind, Kind::Hooks));
    let receipts = targets.first().and_then(|target| target.receipt.parent());
    for file in
        receipts.and_then(|directory| directory.read_dir().ok()).into_iter().flatten().flatten()
    {
        let receipt = file.path();
        let kept = std::fs::read(&receipt).ok();
        let kept = kept.and_then(|bytes| serde_json::from_slice::<Receipt>(&bytes).ok());
        let Some(Receipt { path: Some(path), harness: Some(name), .. }) = kept else { continue };
        if name == client.name {
            others.push(Target { client, scope: "project", path, receipt, kind: Kind::Hooks });
        }
    }
    let has = |other: &Target| {
        read(&other.path).is_ok_and(|text| text.is_some_and(|text| other.has(&text)))
    };
    Ok(others.iter().any(|other| is_other(&other.path) && has(other)))
}

/// Takes the hooks out of one file, in which something else of aye's stays where it `is_shared`; false where
/// there are none.
fn put_back(target: &Target, is_shared: bool) -> Result<bool> {
    let Some(text) = read(&target.path)? else { return Ok(false) };
    let kept = receipt(target).filter(|kept| kept.written == sha256::hex(text.as_bytes()));
    if is_shared {
        let after = target.take(&text).map_err(|why| unreadable(&target.path, &why))?;
        let Some(after) = after.filter(|after| *after != text) else { return Ok(false) };
        write(&target.path, &after)?;
        if let Some(kept) = kept {
            write_receipt(target, &after, kept.before)?;
        }
        return Ok(true);
    }
    match kept {
        Some(Receipt { before: Some(before), .. }) => write(&target.path, &before)?,
        Some(Receipt { before: None, .. }) => unlink(target)?,
        None => match target.take(&text).map_err(|why| unreadable(&target.path, &why))? {
            Some(after) if after == text => return Ok(false),
            Some(after) => write(&target.path, &after)?,
            None => unlink(target)?,
        },
    }
    let _ = std::fs::remove_file(&target.receipt);
    Ok(true)
}

/// Removes a file of settings, and its directory where that held nothing else.
fn unlink(target: &Target) -> Result<()> {
    std::fs::remove_file(&target.path)
        .map_err(|error| Error::file("remove", &target.path, &error))?;
    let _ = target.path.parent().map(std::fs::remove_dir);
    Ok(())
}

/// The settings of this project, not the user's own, that hold aye's hooks.
///
/// # Errors
/// Those of the file system.
pub fn installed(context: &Context) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for target in of_project(context) {
        let text = read(&target.path)?.unwrap_or_default();
        // What is not JSON has no hooks of aye's.
        if target.has(&text) {
            found.push(target.path.display().to_string());
        }
    }
    Ok(found)
}

/// Takes the hooks out of those.
///
/// # Errors
/// As `install`.
pub fn take_out(context: &Context) -> Result<()> {
    for target in of_project(context) {
        let text = read(&target.path)?.unwrap_or_default();
        if target.has(&text) {
            put_back(&target, false)?;
        }
    }
    Ok(())
}

fn of_project(context: &Context) -> Vec<Target> {
    let all = targets(context).unwrap_or_default();
    all.into_iter().filter(|target| target.scope != "user").collect()
}

/// Shows where hooks are. Status 1 where they are nowhere, or where an agent that is installed here has none, or does
/// not trust them.
///
/// # Errors
/// As [`install`].
pub fn show(context: &mut Context) -> Result<Exit> {
    let mut items = Vec::new();
    let targets = targets(context)?;
    for target in targets.iter().filter(|target| matches!(target.kind, Kind::Hooks)) {
        let text = read(&target.path)?.unwrap_or_default();
        let found = target.hooks(&text).map_err(|why| unreadable(&target.path, &why))?;
        let state = if target.has(&text) { "installed" } else { "none" };
        let mut item = item(target, state, found, target.mode(&text));
        item.trusted = trusted(&targets, target, &text)?.filter(|_| !item.hooks.is_empty());
        items.push(item);
    }
    // A guide gates nothing.
    let has = |name: &str| {
        let mut own =
            items.iter().filter(move |item| item.harness == name && !item.hooks.is_empty());
        (own.clone().next().is_some(), own.any(|item| item.trusted != Some(false)))
    };
    let mut agents = Vec::new();
    for client in CLIENTS {
        let (has_hooks, is_gated) = has(client.name);
        let agent = seen::agent(context, client, is_gated);
        let name = client.name;
        match agent.program {
            Some(_) if !has_hooks => context.note(&format!(
                "{name} is installed here, and has no hooks: aye agents install {name}"
            )),
            Some(_) if !is_gated => context.note(&format!(
                "{name} is installed here, and its hooks are not trusted: run /hooks in {name}, and trust aye's"
            )),
            _ => {}
        }
        agents.push(agent);
    }
    let is_gated = agents.iter().all(|agent| agent.program.is_none() || agent.gated)
        && items.iter().any(|item| !item.hooks.is_empty());
    respond(context, Answer { schema: SCHEMA, settings: items, agents })?;
    Ok(if is_gated { Exit::Done } else { Exit::Negative })
}

/// Whether a person has trusted the hooks in `text`, the file of `target`; `None` where the client does not ask.
fn trusted(targets: &[Target], target: &Target, text: &str) -> Result<Option<bool>> {
    if target.client.name != codex::NAME {
        return Ok(None);
    }
    let mut settings = targets.iter().filter(|other| matches!(other.kind, Kind::Writable(_)));
    let config = settings.next().map(|settings| read(&settings.path)).transpose()?.flatten();
    let config = config.unwrap_or_default();
    let real = std::fs::canonicalize(&target.path).unwrap_or_else(|_| target.path.clone());
    let is_trusted = |path: &Path| codex::is_trusted(&config, &path.to_string_lossy(), text);
    Ok(Some(is_trusted(&target.path) || is_trusted(&real)))
}

fn item(
    target: &Target,
    state: &'static str,
    hooks: Vec<String>,
    mode: Option<&'static str>,
) -> Item {
    let path = target.path.display().to_string();
    let mode = mode.filter(|_| matches!(target.kind, Kind::Hooks));
    let Client { name: harness, is_tried: tested, .. } = *target.client;
    Item { harness, scope: target.scope, path, hooks, mode, state, tested, trusted: None }
}

const SCHEMA: &str = "aye/agents@1";

fn answer(context: &mut Context, settings: Vec<Item>) -> Result<Exit> {
    respond(context, Answer { schema: SCHEMA, settings, agents: Vec::new() })
}

fn respond(context: &mut Context, answer: Answer) -> Result<Exit> {
    context.emit(Format::Text, &answer, || {
        let line = |item: &Item| {
            let hooks = match item.hooks.len() {
                0 => String::new(),
                count if item.mode == Some("strict") => format!(" ({count} hooks, strict)"),
                count => format!(" ({count} hooks)"),
            };
            let state = item.state.replace('_', " ");
            let path = escape::name(&item.path);
            let tested = if item.tested { "" } else { " (untested)" };
            let trusted = if item.trusted == Some(false) { " (not trusted)" } else { "" };
            format!(
                "{:<11}  {:<8} {state:<11} {path}{hooks}{trusted}{tested}\n",
                item.harness, item.scope
            )
        };
        let agents: Vec<String> = answer.agents.iter().filter_map(seen::line).collect();
        let between = if agents.is_empty() { "" } else { "\n" };
        let lines: String = answer.settings.iter().map(line).collect();
        lines + between + &agents.concat()
    })?;
    Ok(Exit::Done)
}
