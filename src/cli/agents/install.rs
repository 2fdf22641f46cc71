//! `aye agents install|remove|show`: the hooks in a coding agent's settings.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Harness;
use super::show::{Settled, answer, item};
use super::target::{
    Kind, Mode, Scope, Target, read, require_room, require_state, targets, unreadable, write,
};
use crate::cli::Context;
use crate::error::{Error, Exit, Result, codes};
use crate::sha256;
use crate::store::Store;

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
    /// Do not write anything; only show what would be written.
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

/// What the settings of `client` in the chosen place consist of: its file of hooks, and what else it needs.
fn chosen(context: &Context, harness: Harness, place: Where) -> Result<Vec<Target>> {
    let client = harness.client();
    let scope = match place {
        Where { user: true, .. } => Scope::User,
        Where { local: true, .. } => Scope::Local,
        Where { project: true, .. } => Scope::Project,
        _ if harness == Harness::ClaudeCode => Scope::Project,
        _ => Scope::User,
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
        format!("there are no {} settings of {} here", scope.as_str(), client.name),
    )
    .hint("run it in a repository, or with --user and HOME set"))
}

/// Puts the hooks in: into every file, or where one of them cannot be edited into none.
///
/// # Errors
/// `human_approval_required` for an agent that would change them, `in_session` for one in a session's run, where
/// they are the checkout's; `invalid_json` for settings that cannot be edited, which are left as they are; those of the
/// file system.
pub fn install(context: &mut Context, args: &InstallArgs) -> Result<Exit> {
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
            require_room(&target.path)?;
            require_state(target.receipt.parent())?;
            if let Kind::Writable(directory) | Kind::Included(directory) = &target.kind {
                require_state(Some(Path::new(directory)))?;
            }
            let after = target
                .put(text, program, is_strict)
                .map_err(|why| unreadable(&target.path, &why))?;
            planned.push((target, before, after));
        }
    }
    if !args.dry_run {
        refuse_agents(context, args, &planned)?;
    }
    let mut items = Vec::new();
    for (target, before, after) in planned {
        let state = match () {
            () if before.as_ref() == Some(&after) => Settled::Unchanged,
            () if args.dry_run => Settled::WouldWrite,
            () => {
                if let Kind::Writable(directory) | Kind::Included(directory) = &target.kind {
                    std::fs::create_dir_all(directory)
                        .map_err(|error| Error::file("make", Path::new(directory), &error))?;
                }
                keep_receipt(&target, before, &after)?;
                write(&target.path, &after)?;
                Settled::Written
            }
        };
        let hooks = target.hooks(&after).unwrap_or_default();
        items.push(item(&target, state, hooks, target.mode(&after)));
    }
    if is_strict && !args.dry_run {
        context.note("commands of the agents run in the checkout as they are: git status shows what they write");
    }
    if !args.dry_run && args.harnesses.contains(&Harness::Codex) {
        context
            .note("codex skips hooks that are not trusted: run /hooks in codex, and trust aye's");
        let lost: String = ["CODEX_HOME", "XDG_STATE_HOME"]
            .into_iter()
            .filter(|name| context.var(name).is_some())
            .map(|name| format!(" --env {name}=\"${name}\""))
            .collect();
        if !lost.is_empty() {
            context.note(&format!(
                "codex starts tool servers without these variables, and aye's would not see the hooks: \
                 codex mcp add aye{lost} -- aye mcp"
            ));
        }
    }
    answer(context, items)
}

/// Refuses an agent to change the hooks that gate it, and to write in the checkout where that is to stay as it is.
fn refuse_agents(
    context: &Context,
    args: &InstallArgs,
    planned: &[(Target, Option<String>, String)],
) -> Result<()> {
    let names: Vec<&str> = args.harnesses.iter().map(|harness| harness.client().name).collect();
    let place = match args.place {
        Where { user: true, .. } => " --user",
        Where { project: true, .. } => " --project",
        Where { local: true, .. } => " --local",
        _ => "",
    };
    let mode = if args.mode == Mode::Strict { " --mode strict" } else { "" };
    let command = format!("aye agents install {}{place}{mode}", names.join(" "));
    let is_other = |(target, before, after): &(Target, Option<String>, String)| {
        before.as_ref().is_some_and(|before| target.has(before) && before != after)
    };
    if planned.iter().any(is_other) {
        context.refuse_agents("change the hooks that gate them", &command)?;
    }
    // In the tree of a session they are what the agent proposes.
    if planned.iter().any(|(target, ..)| target.scope != Scope::User)
        && let Ok(found) = Store::discover(&context.directory)
        && context.refuse_session(&found).is_ok()
    {
        context.refuse_agents_in_session(&found, "write files of the checkout", &command)?;
    }
    Ok(())
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
/// `human_approval_required` for an agent; as [`install`].
pub fn remove(context: &mut Context, args: &RemoveArgs) -> Result<Exit> {
    let names: Vec<&str> = args.harnesses.iter().map(|harness| harness.client().name).collect();
    let command = format!("aye agents remove {}", names.join(" "));
    context.refuse_agents("take out the hooks that gate them", &command)?;
    let mut items = Vec::new();
    for harness in &args.harnesses {
        let targets = chosen(context, *harness, args.place)?;
        let is_needed = has_others(context, &targets)?;
        for target in &targets {
            // What the hooks of another project or scope need stays.
            let stays = is_needed && !matches!(target.kind, Kind::Hooks);
            let is_shared = targets.iter().filter(|other| other.path == target.path).count() > 1;
            let removed = !stays && put_back(target, is_needed && is_shared)?;
            let state = if removed { Settled::Removed } else { Settled::Unchanged };
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
            others.push(Target { client, scope: Scope::Project, path, receipt, kind: Kind::Hooks });
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

/// What becomes of the settings of this project, not the user's own, that hold aye's hooks.
#[derive(Debug, Default)]
pub struct OfProject {
    /// The hooks are taken out of these.
    pub taken: Vec<String>,
    /// These stay: git tracks them, and they hold nothing else.
    pub staying: Vec<String>,
}

/// Looks for them.
///
/// # Errors
/// Those of the file system, and of git.
pub fn installed(context: &Context, store: &Store) -> Result<OfProject> {
    let mut found = OfProject::default();
    for target in of_project(context) {
        let text = read(&target.path)?.unwrap_or_default();
        // What is not JSON has no hooks of aye's.
        if !target.has(&text) {
            continue;
        }
        let path = target.path.display().to_string();
        let is_staying = is_tracked(store, &target.path)? && without(&target, &text)?.is_none();
        let list = if is_staying { &mut found.staying } else { &mut found.taken };
        list.push(path);
    }
    Ok(found)
}

/// Takes the hooks out of those; no file that git tracks is removed.
///
/// # Errors
/// As `install`.
pub fn take_out(context: &Context, store: &Store) -> Result<()> {
    for target in of_project(context) {
        let text = read(&target.path)?.unwrap_or_default();
        if !target.has(&text) {
            continue;
        }
        if !is_tracked(store, &target.path)? {
            put_back(&target, false)?;
        } else if let Some(after) = without(&target, &text)? {
            write(&target.path, &after)?;
            let _ = std::fs::remove_file(&target.receipt);
        }
    }
    Ok(())
}

/// `text` without the hooks: as it was before, if nothing else has changed since. `None` where it is
/// aye's own altogether.
fn without(target: &Target, text: &str) -> Result<Option<String>> {
    let kept = receipt(target).filter(|kept| kept.written == sha256::hex(text.as_bytes()));
    match kept.and_then(|kept| kept.before) {
        Some(before) => Ok(Some(before)),
        None => target.take(text).map_err(|why| unreadable(&target.path, &why)),
    }
}

/// Whether git tracks the file at `path`, absolute or relative to the top.
///
/// # Errors
/// Those of git.
pub fn is_tracked(store: &Store, path: &Path) -> Result<bool> {
    let asked = store.git()?.args(["ls-files", "--error-unmatch", "--"]).arg(path);
    Ok(asked.env("GIT_LITERAL_PATHSPECS", "1").answer()?.ok())
}

fn of_project(context: &Context) -> Vec<Target> {
    let all = targets(context).unwrap_or_default();
    all.into_iter().filter(|target| target.scope != Scope::User).collect()
}
