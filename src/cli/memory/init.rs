//! `aye memory init`: the scaffold of a store.

use bstr::ByteSlice as _;

use super::{block, open};
use crate::changeset::{Mode, Snapshot as _};
use crate::cli::Context;
use crate::error::{Error, Exit, Result, codes};
use crate::memory::codes::NOT_INITIALIZED;
use crate::memory::disk::repo_path;
use crate::memory::settings::{Manifest, manifest};
use crate::memory::{DIR, scaffold as files};
use crate::store::Store;
use crate::text::escape;
use crate::worktree::Flush;

/// Start a memory store, or complete one: what is there stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory init
  aye memory init --agents    # also tells agents about it, in AGENTS.md")]
pub struct Args {
    /// Name of the project, one line; the directory's otherwise.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Keep instructions for agents in AGENTS.md, and in CLAUDE.md if it exists. An edited block
    /// stays.
    #[arg(long)]
    pub agents: bool,
}

#[derive(Debug)]
pub struct ScaffoldOutcome {
    pub created: Vec<String>,
    pub kept: Vec<String>,
}

impl ScaffoldOutcome {
    pub fn written(&self) -> String {
        self.created.iter().map(|path| format!("wrote {}\n", escape::line(path))).collect()
    }

    pub fn to_commit(&self) -> String {
        let files = self.created.iter().chain(&self.kept).map(String::as_str);
        let mut others: Vec<&str> = files.filter(|path| !path.starts_with(DIR)).collect();
        others.sort_unstable();
        match others[..] {
            [] => format!("{DIR}/"),
            [one] => format!("{DIR}/ and {one}"),
            _ => format!("{DIR}/, {}", others.join(" and ")),
        }
    }
}

/// # Errors
/// `in_session` and `human_approval_required` for an agent.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    context.refuse_agents_scaffold("aye memory init")?;
    let store = context.store()?;
    let done = scaffold(context, &store, args)?;
    let next = if done.created.is_empty() {
        "nothing to do: the store is complete\n".to_owned()
    } else {
        format!(
            "next: commit {}, agents then read it with `aye memory context`\n",
            done.to_commit()
        )
    };
    context.print((done.written() + &next).as_bytes())
}

/// # Errors
/// `invalid_argument` for a name with control characters; `memory_not_initialized` if git has a
/// file that the work tree lacks.
pub fn scaffold(context: &Context, store: &Store, args: Args) -> Result<ScaffoldOutcome> {
    let tree = store.repository().worktree()?;
    if args.name.as_ref().is_some_and(|name| name.contains(char::is_control)) {
        return Err(Error::new(
            &codes::INVALID_ARGUMENT,
            "the name of a project has no line breaks, and no other control characters",
        )
        .hint("give one line to --name"));
    }
    let directory = tree.root().file_name().map(|name| name.to_string_lossy().into_owned());
    let directory = directory.map(|name| name.replace(char::is_control, " "));
    let name = args.name.or(directory).unwrap_or_default();
    let mut done = ScaffoldOutcome { created: Vec::new(), kept: Vec::new() };
    let manifest = tree.file(&repo_path(manifest::PATH)?)?;
    let manifest = manifest.map(|file| Manifest::read(&file.bytes)).transpose()?;
    let wanted = files::files(&name, manifest.as_ref().map(|manifest| &manifest.git));
    // A file that git has is not made again: the next commit would drop the team's memory. The
    // manifest determines the ignore and merge rules.
    for (path, _) in wanted.iter().filter(|(path, _)| !path.starts_with('.')) {
        let path = repo_path(path)?;
        if tree.file(&path)?.is_none()
            && let Some(error) = store.repository().missing_error(&NOT_INITIALIZED, &path, DIR)
        {
            return Err(error);
        }
    }
    for (path, text) in wanted {
        let path = repo_path(path)?;
        let shown = path.display().to_string();
        match tree.file(&path)? {
            // An ignore file must list what is not committed.
            Some(file) if shown.ends_with("/.gitignore") => match completed(&file.bytes, &text) {
                Some(new) => {
                    tree.write_file(&path, &new, file.mode, Flush::Yes)?;
                    done.created.push(shown);
                }
                None => done.kept.push(shown),
            },
            Some(_) => done.kept.push(shown),
            None => {
                tree.write_file(&path, text.as_bytes(), Mode::Regular, Flush::Yes)?;
                done.created.push(shown);
            }
        }
    }
    if args.agents {
        block::write_blocks(context, &tree, &mut done)?;
    }
    let service = open(context, store)?;
    if service.refresh_index()? {
        done.created.push(format!("{DIR}/index.md"));
    }
    Ok(done)
}

/// Git reads these files as bytes, in any encoding.
fn completed(old: &[u8], wanted: &str) -> Option<Vec<u8>> {
    let has = |line: &str| old.lines().any(|l| l.trim() == line.as_bytes());
    let missing: Vec<&str> = wanted
        .lines()
        .filter(|line| matches!(*line, "staging/" | "proposals/") && !has(line))
        .collect();
    (!missing.is_empty()).then(|| with_lines(old, &missing.join("\n")))
}

fn with_lines(old: &[u8], lines: &str) -> Vec<u8> {
    let gap: &[u8] = if old.is_empty() || old.ends_with(b"\n") { b"" } else { b"\n" };
    [old, gap, lines.trim_end().as_bytes(), b"\n"].concat()
}
