//! Kernels without Landlock: one program whose words show that it only reads. The answer promises
//! nothing.
//!
//! Without the kernel's list of programs, no shell or scripting language may run. A program started
//! by one could change a file through a shared mapping, which seccomp cannot see.

use std::ops::Range;
use std::path::Path;

use super::parser::{Command, Word};
use super::{Machine, Refusal, Result, list};

/// Git flags that show patches or read work tree files.
const PATCHES: &[&str] = &[
    "-p", "-u", "-U", "-L", "-c", "--cc", "-S", "-G", "--patch", "--unified", "--remerge-diff",
    "--dirty", "--broken",
];

/// # Errors
/// A refusal of text that needs a shell, or cannot be judged by its words.
pub(super) fn argv(
    source: &str,
    commands: &[Command],
    edits: &[(Range<usize>, &str)],
    world: &Machine,
) -> Result<Vec<String>> {
    let command = &commands[0];
    let is_denied =
        |word: &&Word| word.text.split([':', '=']).any(|part| world.denied.denies(Path::new(part)));
    // Other text is a redirection or an assignment.
    let mut end = 0;
    let is_plain = command.iter().all(|word| {
        let before = &source[std::mem::replace(&mut end, word.place.end)..word.place.start];
        before.trim().is_empty()
    }) && source[end..].trim().is_empty();
    let is_git = command[0].text == "git";
    let refuse = |word: &Word, what: &str| {
        let message = format!("this kernel has no Landlock, without which {what}");
        Err(Refusal::new(message, "name one program that reads, such as cat, head or grep")
            .at(word.place.start))
    };
    if let Some([word, ..]) = commands.get(1).map(Vec::as_slice) {
        return refuse(word, "only one command runs a call");
    } else if let Some(word) = command.iter().find(|word| word.is_expanded) {
        return refuse(word, "nothing is expanded");
    } else if !is_plain || matches!(&*command[0].text, "cd" | ":" | "type" | "command") {
        return refuse(&command[0], "no shell runs");
    } else if !list::is_inert(command) || (is_git && !is_inert_git(command)) {
        return refuse(&command[0], "the words alone do not determine the effect");
    } else if let Some(word) = command.iter().find(is_denied) {
        return refuse(word, "files of this name are not read");
    }
    let mut argv = Vec::new();
    for word in command {
        argv.push(word.text.clone());
        let added = edits.iter().filter(|(place, _)| place.start == word.place.end);
        argv.extend(added.flat_map(|(_, words)| words.split_whitespace()).map(str::to_owned));
    }
    Ok(argv)
}

fn is_inert_git(command: &Command) -> bool {
    let shows = |word: &Word| PATCHES.iter().any(|flag| word.text.starts_with(flag));
    let is_verb = |verb: &Word| list::VERBS.contains(&&*verb.text);
    command.get(1).is_some_and(is_verb) && !command.iter().any(shows)
}
