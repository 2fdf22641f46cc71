//! `aye memory import`.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Answer, open};
use crate::cli::{Context, Format};
use crate::decide;
use crate::error::{Error, Exit, Result, codes};
use crate::memory::import::{self, Item, Note};
use crate::memory::response::MemoryOutcome;
use crate::memory::service::Mode;
use crate::proposal::ActorKind;
use crate::text::escape;
use crate::words::words;

/// Propose what another program keeps as memory: each section is staged, with its source.
///
/// Takes a directory of notes (Claude's or Codex's memory, a memory bank, Basic Memory) or
/// instruction files (CLAUDE.md, AGENTS.md). Their sections become conventions, pitfalls, decisions
/// or modules by the names of the files; nothing is applied, and the files stay as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory import CLAUDE.md
  aye memory import memory-bank
  aye memory import ~/.claude/projects/-home-ada-shop/memory --dry-run
  aye memory import ~/basic-memory

Exit status: 0 staged, 1 nothing was found or something was rejected.")]
pub struct Args {
    /// Files, or directories of Markdown files.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Do not stage anything; only show what would be staged.
    #[arg(long)]
    pub dry_run: bool,
}

/// Answer of `aye memory import`.
#[derive(Debug, Serialize)]
pub struct Imported {
    /// Each section that was found, in order.
    pub sections: Vec<ImportedSection>,
    /// Nothing was staged.
    pub dry_run: bool,
}

words! {
    /// What became of a section.
    pub enum Status {
        /// It is staged.
        Staged = "staged",
        /// The same is staged already.
        Duplicate = "duplicate",
        /// It was refused.
        Rejected = "rejected",
        /// It would be staged, without `--dry-run`.
        Found = "found",
    }
}

/// A section that was found.
#[derive(Debug, Serialize)]
pub struct ImportedSection {
    /// The file that it is from.
    pub source: String,
    /// Its heading.
    pub heading: String,
    /// The memory file that it goes to, relative to the store.
    pub path: String,
    /// What became of it.
    pub status: Status,
    /// Its staging id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staging_id: Option<String>,
    /// Why it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Most files that one import reads.
const MOST_FILES: usize = 500;
/// Longest file that is read, in bytes.
const MOST_BYTES: u64 = 1 << 20;
/// How deep directories are looked into.
const DEEPEST: usize = 8;

/// Runs the command.
///
/// # Errors
/// `file_not_found`, `size_limit_exceeded`, and those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let service = open(context, &store)?;
    let mut files = Vec::new();
    for path in &args.paths {
        collect(&context.directory.join(path), 0, &mut files)?;
    }
    let top = service.worktree.root();
    let top = top.canonicalize().unwrap_or_else(|_| top.to_owned());
    let mut notes = Vec::new();
    for path in files {
        let text = read(&path)?;
        // No symlink leads here, so this only makes it absolute.
        let path = path.canonicalize().unwrap_or(path);
        let inside = path.strip_prefix(&top).ok();
        let name = inside.unwrap_or(&path).to_string_lossy().into_owned();
        notes.push(Note { name, text });
    }
    let is_person = service.actor.kind == ActorKind::Human;
    let origin = |note: &Note| {
        let is_inside = !Path::new(&note.name).is_absolute();
        let kind = if is_inside {
            "file"
        } else if is_person {
            "user"
        } else {
            "session"
        };
        let reference =
            if is_inside { note.name.clone() } else { format!("imported from {}", note.name) };
        (kind.to_owned(), reference)
    };
    let date = context.now.format("%Y-%m-%d").to_string();
    let mut sections = Vec::new();
    for item in import::requests(&notes, &date, origin) {
        sections.push(match args.dry_run {
            true => found(item, Status::Found),
            false => {
                let answer = decide::memory::propose(&service, &item.request, Mode::Stage, None)?;
                let status = match (answer.status, answer.duplicate) {
                    (MemoryOutcome::Rejected, _) => Status::Rejected,
                    (_, true) => Status::Duplicate,
                    _ => Status::Staged,
                };
                let message = answer.violations.first().map(|violation| violation.message.clone());
                let (staging_id, reason) = (answer.staging_id, answer.reason);
                ImportedSection { staging_id, reason, message, ..found(item, status) }
            }
        });
    }
    let is_done =
        !sections.is_empty() && sections.iter().all(|section| section.status != Status::Rejected);
    let answer = Answer {
        schema: "aye/memory-import@1",
        answer: Imported { sections, dry_run: args.dry_run },
    };
    context.emit(Format::Text, &answer, || {
        let mut out = String::new();
        for section in &answer.answer.sections {
            out += &format!(
                "{:9}  {}  {} → {}\n",
                section.status.as_str(),
                escape::line(&section.source),
                escape::line(&section.heading),
                escape::line(&section.path)
            );
            for text in section.message.iter().chain(&section.staging_id) {
                out += &format!("           {}\n", escape::line(text));
            }
        }
        if answer.answer.sections.is_empty() {
            out += "nothing to import\n";
        }
        out
    })?;
    if is_done && !args.dry_run {
        context.note("review them: aye review, or aye memory status");
    }
    Ok(if is_done { Exit::Done } else { Exit::Negative })
}

fn found(item: Item, status: Status) -> ImportedSection {
    let Item { source, heading, path, .. } = item;
    ImportedSection { source, heading, path, status, staging_id: None, reason: None, message: None }
}

/// The Markdown files at `path` and below, sorted; no symlink is followed.
fn collect(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let facts = path.symlink_metadata().map_err(|error| {
        Error::new(
            &crate::changeset::codes::FILE_NOT_FOUND,
            format!("{} cannot be read: {error}", path.display()),
        )
        .hint("name a file, or a directory of Markdown files")
    })?;
    if facts.is_file() && files.len() < MOST_FILES {
        files.push(path.to_owned());
        return Ok(());
    }
    if !facts.is_dir() || depth > DEEPEST {
        return Ok(());
    }
    let entries = std::fs::read_dir(path).map_err(|error| Error::io(path.display(), &error))?;
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort_unstable();
    for entry in entries {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        let is_dir = entry.symlink_metadata().is_ok_and(|facts| facts.is_dir());
        let is_markdown = name.ends_with(".md") || name.ends_with(".mdc");
        if !name.starts_with('.') && (is_dir || is_markdown) {
            collect(&entry, depth + 1, files)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    let failed = |error: &std::io::Error| Error::io(path.display(), error);
    let length = path.symlink_metadata().map_err(|error| failed(&error))?.len();
    if length > MOST_BYTES {
        return Err(Error::new(
            &codes::SIZE_LIMIT,
            format!("{} has {length} bytes, more than {MOST_BYTES}", path.display()),
        )
        .hint("divide it, or import the rest without it"));
    }
    let bytes = std::fs::read(path).map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::new(&codes::INVALID_UTF8, format!("{} is not UTF-8 at byte {at}", path.display()))
            .hint("memory files are UTF-8; convert it first: iconv -f WHAT_IT_IS -t UTF-8")
    })
}
