//! Edits on the command line: one for the PATH, and one for each `--edit PATH`, with the options
//! that follow it.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, value_parser};

use super::super::{Context, paths};
use crate::changeset::snippet::{Action, Edit};
use crate::changeset::{Mode, Occurrence, Snippet, codes as changeset_codes};
use crate::error::{Error, Result, codes};
use crate::store::Store;

/// The edits as they were typed.
#[derive(Debug, Default)]
pub struct EditArgs {
    groups: Vec<Group>,
}

#[derive(Debug, Default)]
struct Group {
    path: OsString,
    /// Nothing says which file it is.
    is_unnamed: bool,
    old: Option<Source>,
    new: Option<Source>,
    content: Option<Source>,
    delete: bool,
    executable: bool,
    occurrence: Option<Occurrence>,
}

#[derive(Debug)]
enum Source {
    Text(OsString),
    File(OsString),
}

/// `error` with the flag that gives the whole new content, where old content does not do.
pub fn name_flag(error: Error) -> Error {
    if error.is(&changeset_codes::FILE_EXISTS) {
        error.hint("give the old content to replace, or --content-file for the whole new content")
    } else if error.is(&changeset_codes::NOT_TEXT) {
        error.hint("give the whole new file with --content-file")
    } else {
        error
    }
}

impl clap::Args for EditArgs {
    fn augment_args(command: Command) -> Command {
        let text = |id: &'static str, value: &'static str, help: &'static str| {
            Arg::new(id)
                .long(id)
                .value_name(value)
                .help(help)
                .action(ArgAction::Append)
                .value_parser(value_parser!(OsString))
                .allow_hyphen_values(true)
        };
        let flag = |id: &'static str, help: &'static str| {
            Arg::new(id)
                .long(id)
                .help(help)
                .num_args(0)
                .action(ArgAction::Append)
                .default_missing_value("true")
                .value_parser(value_parser!(bool))
        };
        command
            .arg(
                Arg::new("path")
                    .value_name("PATH")
                    .help("File to change")
                    .value_parser(value_parser!(OsString))
                    .value_hint(clap::ValueHint::FilePath),
            )
            .arg(
                text("edit", "PATH", "Begin the edit of another file: --edit PATH --old … --new …")
                    .allow_hyphen_values(false),
            )
            .arg(text("old", "TEXT", "Text to replace; empty for a new file"))
            .arg(text("new", "TEXT", "Text to put there"))
            .arg(text("old-file", "FILE", "As --old, from a file (- for standard input)"))
            .arg(text("new-file", "FILE", "As --new, from a file (- for standard input)"))
            .arg(text("content", "TEXT", "The whole new content"))
            .arg(text(
                "content-file",
                "FILE",
                "The whole new content, from a file (- for standard input)",
            ))
            .arg(flag("delete", "Delete the file"))
            .arg(flag("executable", "Make the file executable (with --content or --content-file)"))
            .arg(
                Arg::new("occurrence")
                    .long("occurrence")
                    .value_name("N|all")
                    .help("Which match to replace if there are several")
                    .action(ArgAction::Append)
                    .value_parser(occurrence),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn occurrence(text: &str) -> Result<Occurrence, String> {
    if text == "all" {
        return Ok(Occurrence::All);
    }
    match text.parse::<u32>() {
        Ok(n) if n > 0 => Ok(Occurrence::Nth(n)),
        _ => Err("give a number from 1, or all".into()),
    }
}

impl FromArgMatches for EditArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut groups: Vec<Group> = Vec::new();
        let mut starts: Vec<usize> = Vec::new();
        let first = matches.get_one::<OsString>("path").cloned();
        let is_unnamed = first.is_none();
        groups.push(Group { path: first.unwrap_or_default(), is_unnamed, ..Group::default() });
        if let (Some(paths), Some(at)) =
            (matches.get_many::<OsString>("edit"), matches.indices_of("edit"))
        {
            for (path, index) in paths.zip(at) {
                groups.push(Group { path: path.clone(), ..Group::default() });
                starts.push(index);
            }
        }
        // The options before the first --edit are the PATH's.
        let group = |index: usize| starts.iter().take_while(|start| **start < index).count();
        let twice = |id: &str| {
            clap::Error::raw(
                clap::error::ErrorKind::ArgumentConflict,
                format!(
                    "--{id} is given twice for one file, or together with its twin; begin another edit with --edit PATH\n"
                ),
            )
        };
        for id in ["old", "new", "old-file", "new-file", "content", "content-file"] {
            let (Some(values), Some(at)) =
                (matches.get_many::<OsString>(id), matches.indices_of(id))
            else {
                continue;
            };
            for (value, index) in values.zip(at) {
                let group = &mut groups[group(index)];
                let taken = match id {
                    "old" => group.old.replace(Source::Text(value.clone())).is_some(),
                    "old-file" => group.old.replace(Source::File(value.clone())).is_some(),
                    "new" => group.new.replace(Source::Text(value.clone())).is_some(),
                    "new-file" => group.new.replace(Source::File(value.clone())).is_some(),
                    "content" => group.content.replace(Source::Text(value.clone())).is_some(),
                    _ => group.content.replace(Source::File(value.clone())).is_some(),
                };
                if taken {
                    return Err(twice(id));
                }
            }
        }
        for index in matches.indices_of("delete").into_iter().flatten() {
            groups[group(index)].delete = true;
        }
        for index in matches.indices_of("executable").into_iter().flatten() {
            groups[group(index)].executable = true;
        }
        if let (Some(values), Some(at)) =
            (matches.get_many::<Occurrence>("occurrence"), matches.indices_of("occurrence"))
        {
            for (value, index) in values.zip(at) {
                groups[group(index)].occurrence = Some(*value);
            }
        }
        // Options of a file that is not named are for whoever reads them to refuse.
        if is_unnamed && groups[0].is_empty() {
            groups.remove(0);
        }
        Ok(Self { groups })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Group {
    fn is_empty(&self) -> bool {
        self.old.is_none() && self.new.is_none() && self.content.is_none() && !self.delete
    }
}

impl EditArgs {
    /// True when no file was named.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Makes `path` the file of the options that were typed without one.
    ///
    /// # Errors
    /// `usage` where another file is named.
    pub fn begin(&mut self, path: OsString) -> Result<()> {
        match self.groups.first_mut() {
            Some(group) if group.is_unnamed => (group.path, group.is_unnamed) = (path, false),
            None => self.groups.push(Group { path, ..Group::default() }),
            Some(_) => {
                let message = "two files are named, or an id beside --latest";
                return Err(Error::new(&codes::USAGE, message)
                    .hint("name one: aye revise --latest PATH --old TEXT --new TEXT"));
            }
        }
        Ok(())
    }

    /// The edits, with what files and standard input hold; paths are relative to the directory the
    /// command was started in.
    ///
    /// # Errors
    /// `usage` for a wrong combination; `path_invalid`; `file_not_found`.
    pub fn read(self, context: &Context, store: &Store, limit: u64) -> Result<Vec<Edit>> {
        let mut stdin_used = false;
        let mut source = |file: &OsString| -> Result<Vec<u8>> {
            if file == "-" && std::mem::replace(&mut stdin_used, true) {
                return Err(Error::new(&codes::USAGE, "standard input (-) can be read only once")
                    .hint("give the other content in a file"));
            }
            paths::content(context, file, limit)
        };
        let mut edits = Vec::with_capacity(self.groups.len());
        for group in self.groups {
            if group.is_unnamed {
                return Err(Error::new(
                    &codes::USAGE,
                    "which file? its options are given without it",
                )
                .hint("give its PATH, or begin with --edit PATH"));
            }
            let path = paths::typed(context, store, &group.path)?;
            let mut read = |from: Source| match from {
                Source::Text(text) => Ok(paths::bytes(&text)),
                Source::File(file) => source(&file),
            };
            let action = match (group.delete, group.content, group.old, group.new) {
                (true, None, None, None) => Action::Delete,
                (false, Some(content), None, None) => Action::Write {
                    content: read(content)?,
                    mode: group.executable.then_some(Mode::Executable),
                },
                (false, None, Some(old), Some(new)) => Action::Replace(Snippet {
                    old: read(old)?,
                    new: read(new)?,
                    occurrence: group.occurrence.unwrap_or_default(),
                }),
                _ => {
                    return Err(Error::new(
                        &codes::USAGE,
                        format!("what to do with '{}' is not clear", path.display()),
                    )
                    .hint("give --old and --new, or --content, or --delete"));
                }
            };
            edits.push(Edit { path, action });
        }
        Ok(edits)
    }
}
