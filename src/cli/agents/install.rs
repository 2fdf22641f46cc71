//! `aye agents install|remove|show`: the hooks in a coding agent's settings.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Harness;
use crate::cli::{Context, Format};
use crate::error::{Error, Exit, Result, codes};
use crate::harness::{claude, settings};
use crate::sha256;
use crate::text::escape;

/// Which settings.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Where {
    /// Your own, wherever you work.
    #[arg(long, conflicts_with_all = ["project", "local"])]
    pub user: bool,
    /// The project's, with everybody who works in it (as it is without a choice).
    #[arg(long, conflicts_with = "local")]
    pub project: bool,
    /// Your own of this project.
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
    /// Say what would be written, and write nothing.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
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
    /// `written`, `would_write`, `removed`, `unchanged`, `installed` or `none`.
    pub state: &'static str,
}

/// What a file was before, so that it can be put back to the byte.
#[derive(Debug, Serialize, Deserialize)]
struct Receipt {
    /// SHA-256 of what was written.
    written: String,
    /// The text before; null where there was no file.
    before: Option<String>,
}

struct Target {
    scope: &'static str,
    path: PathBuf,
    receipt: PathBuf,
}

fn targets(context: &Context) -> Result<Vec<Target>> {
    let state = context.state_directory()?.join("aye").join("agents");
    let top = crate::store::Store::discover(&context.directory).ok();
    let top = top.and_then(|store| store.work_dir());
    let home = context.var("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let within =
        |base: &Option<PathBuf>, name: &str| Some(base.as_ref()?.join(".claude").join(name));
    let all = [
        ("project", within(&top, "settings.json")),
        ("local", within(&top, "settings.local.json")),
        ("user", within(&home, "settings.json")),
    ];
    let target = |(scope, path): (&'static str, Option<PathBuf>)| {
        let path = path?;
        let hash = sha256::hex(path.as_os_str().as_encoded_bytes());
        Some(Target { scope, receipt: state.join(format!("{}.json", &hash[..16])), path })
    };
    Ok(all.into_iter().filter_map(target).collect())
}

fn chosen(context: &Context, place: Where) -> Result<Target> {
    let scope = match place {
        Where { user: true, .. } => "user",
        Where { local: true, .. } => "local",
        _ => "project",
    };
    targets(context)?.into_iter().find(|target| target.scope == scope).ok_or_else(|| {
        Error::new(&codes::INVALID_ARGUMENT, format!("there are no {scope} settings here"))
            .hint("run it in a repository, or with --user and HOME set")
    })
}

/// Whether an entry of the settings is one of aye's.
fn is_ours(entry: &Value) -> bool {
    let hooks = entry["hooks"].as_array();
    hooks.is_some_and(|hooks| {
        hooks.iter().any(|hook| {
            let args: Vec<&str> =
                hook["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            args.starts_with(&["agents", "hook", claude::NAME])
        })
    })
}

fn unreadable(path: &Path, why: &str) -> Error {
    Error::new(&codes::INVALID_JSON, format!("{} cannot be edited: {why}", path.display()))
        .with("path", path.display().to_string())
        .hint("it is left as it is; mend it, then try again")
}

fn read(path: &Path) -> Result<Option<String>> {
    match std::fs::read(path) {
        Ok(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|_| unreadable(path, "it is not UTF-8"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("read", path, &error)),
    }
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

/// Puts the hooks in.
///
/// # Errors
/// `invalid_json` for settings that cannot be edited, which are left as they are; those of the file system.
pub fn install(context: &mut Context, args: &InstallArgs) -> Result<Exit> {
    let target = chosen(context, args.place)?;
    let program =
        std::env::current_exe().map_err(|error| Error::io("find this program", &error))?;
    let program = program.to_str().ok_or_else(|| unreadable(&program, "its path is not UTF-8"))?;
    let entries: Vec<(&str, Value)> = claude::HOOKS
        .iter()
        .map(|(event, tools)| (*event, claude::entry(program, event, *tools)))
        .collect();
    let before = read(&target.path)?;
    let text = before.clone().unwrap_or_default();
    let after =
        settings::put(&text, &entries, is_ours).map_err(|why| unreadable(&target.path, &why))?;
    let state = match () {
        () if before.as_ref() == Some(&after) => "unchanged",
        () if args.dry_run => "would_write",
        () => {
            keep_receipt(&target, before, &after)?;
            write(&target.path, &after)?;
            "written"
        }
    };
    answer(
        context,
        vec![item(&target, state, claude::HOOKS.map(|(event, _)| event.to_owned()).into())],
    )
}

/// Keeps what the file was before aye's first change of it.
fn keep_receipt(target: &Target, before: Option<String>, after: &str) -> Result<()> {
    let known = receipt(target).filter(|known| {
        before.as_ref().is_some_and(|before| known.written == sha256::hex(before.as_bytes()))
    });
    let had = before
        .as_deref()
        .is_some_and(|text| settings::find(text, is_ours).is_ok_and(|found| !found.is_empty()));
    // With hooks of aye's in it that no receipt knows of, the text before is not the original.
    let original = match known {
        Some(known) => known.before,
        None if had => return Ok(()),
        None => before,
    };
    let kept = Receipt { written: sha256::hex(after.as_bytes()), before: original };
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
    let target = chosen(context, args.place)?;
    let state = if put_back(&target)? { "removed" } else { "unchanged" };
    answer(context, vec![item(&target, state, Vec::new())])
}

/// Takes the hooks out of one file; false where there are none.
fn put_back(target: &Target) -> Result<bool> {
    let Some(text) = read(&target.path)? else { return Ok(false) };
    let kept = receipt(target).filter(|kept| kept.written == sha256::hex(text.as_bytes()));
    match kept {
        Some(Receipt { before: Some(before), .. }) => write(&target.path, &before)?,
        Some(Receipt { before: None, .. }) => {
            std::fs::remove_file(&target.path)
                .map_err(|error| Error::file("remove", &target.path, &error))?;
            // Where it held nothing else.
            let _ = target.path.parent().map(std::fs::remove_dir);
        }
        None => {
            let after =
                settings::remove(&text, is_ours).map_err(|why| unreadable(&target.path, &why))?;
            if after == text {
                return Ok(false);
            }
            write(&target.path, &after)?;
        }
    }
    let _ = std::fs::remove_file(&target.receipt);
    Ok(true)
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
        if !text.trim().is_empty()
            && settings::find(&text, is_ours).is_ok_and(|hooks| !hooks.is_empty())
        {
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
        if settings::find(&text, is_ours).is_ok_and(|hooks| !hooks.is_empty()) {
            put_back(&target)?;
        }
    }
    Ok(())
}

fn of_project(context: &Context) -> Vec<Target> {
    let all = targets(context).unwrap_or_default();
    all.into_iter().filter(|target| target.scope != "user").collect()
}

/// Shows where hooks are. Status 1 where they are nowhere.
///
/// # Errors
/// As [`install`].
pub fn show(context: &mut Context) -> Result<Exit> {
    let mut items = Vec::new();
    for target in targets(context)? {
        let text = read(&target.path)?.unwrap_or_default();
        let found = match text.trim().is_empty() {
            true => Vec::new(),
            false => {
                settings::find(&text, is_ours).map_err(|why| unreadable(&target.path, &why))?
            }
        };
        let state = if found.is_empty() { "none" } else { "installed" };
        items.push(item(&target, state, found));
    }
    let is_gated = items.iter().any(|item| item.state == "installed");
    answer(context, items)?;
    Ok(if is_gated { Exit::Done } else { Exit::Negative })
}

fn item(target: &Target, state: &'static str, hooks: Vec<String>) -> Item {
    let path = target.path.display().to_string();
    Item { harness: claude::NAME, scope: target.scope, path, hooks, state }
}

fn answer(context: &mut Context, settings: Vec<Item>) -> Result<Exit> {
    let answer = Answer { schema: "aye/agents@1", settings };
    context.emit(Format::Text, &answer, || {
        let line = |item: &Item| {
            let hooks = match item.hooks.len() {
                0 => String::new(),
                count => format!(" ({count} hooks)"),
            };
            let state = item.state.replace('_', " ");
            let path = escape::name(&item.path);
            format!("{}  {:<8} {state:<11} {path}{hooks}\n", item.harness, item.scope)
        };
        answer.settings.iter().map(line).collect()
    })?;
    Ok(Exit::Done)
}
