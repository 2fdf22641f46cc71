//! Commands, redirected into the session's tree.

use std::path::{Path, PathBuf};

use super::call_session::CallSession;
use super::ensure_own_tree;
use super::instructions::edit_instruction;
use crate::app::real_path::resolve;
use crate::cli::Context;
use crate::error::Result;
use crate::harness::command_path::in_command;
use crate::harness::{Call, Command, EditRoute, HookReply};
use crate::shell::only_reads;
use crate::text::shell;

pub(super) fn shell_command(
    context: &mut Context,
    place: &mut CallSession,
    call: &Call,
    command: &Command,
) -> Result<HookReply> {
    let Some(top) = place.site.top.as_ref().filter(|_| !place.is_strict) else {
        return Ok(HookReply::Proceed);
    };
    let own = command.directory.as_ref().map(|directory| call.directory.join(directory));
    let directory = own.as_ref().unwrap_or(&call.directory);
    let (here, text) = (resolve(directory), command.text.as_str());
    let is_inside = here.starts_with(&place.site.tree);
    let checkout = Checkout::new(context, top, [directory, &call.directory]);
    let is_named = checkout.moved(text, &place.tree().to_string_lossy()) != text;
    let inside = match here.strip_prefix(top) {
        Ok(_) if is_inside => return Ok(HookReply::Proceed),
        Ok(inside) => Some(inside.to_owned()),
        // From other directories, a command reaches the checkout by its path.
        Err(_) if !is_named => return Ok(HookReply::Proceed),
        Err(_) => None,
    };
    // It reads the same files in the checkout, as long as there is no tree.
    if !command.is_foreign && !place.home.has(&place.name) && only_reads(text) {
        return Ok(HookReply::Proceed);
    }
    ensure_own_tree(context, place)?;
    let tree = place.tree();
    let moved = checkout.moved(text, &tree.to_string_lossy());
    if place.client.edit_route == EditRoute::Name || command.is_foreign {
        let goes_on = if command.is_foreign { ";" } else { "&&" };
        if inside.is_some() && moved == text && goes_to(text, &tree, goes_on) {
            return Ok(HookReply::Proceed);
        }
        let way = match place.client.edit_route {
            EditRoute::Rewrite => format!(
                "Edits of this repository go through review, and only commands for a POSIX shell are moved into the \
                 work tree of this session. Begin each command with: cd {}{goes_on}",
                shell::quote(&tree.to_string_lossy())
            ),
            EditRoute::Enter | EditRoute::Name => edit_instruction(place, call, true),
        };
        return Ok(HookReply::Refuse(format!("Not run, and not an error: {way}")));
    }
    let text = match inside {
        None => moved,
        Some(inside) => {
            let inner: PathBuf = tree.join(inside).components().collect();
            let inner = if inner.is_dir() { inner } else { tree.clone() };
            // `cd` twice, so that `cd -` does not lead to the checkout.
            format!("cd {} && cd . || exit\n{moved}", shell::quote(&inner.to_string_lossy()))
        }
    };
    let mut input = command.input.clone();
    input["command"] = text.into();
    Ok(HookReply::Rewrite(input))
}

struct Checkout {
    /// The path without symlinks, and as the client spells it.
    paths: Vec<PathBuf>,
    homes: Vec<PathBuf>,
}

impl Checkout {
    fn new(context: &Context, top: &Path, spellings: [&PathBuf; 2]) -> Self {
        let home = context.var("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let others = spellings.into_iter().filter_map(|directory| {
            let below = resolve(directory).strip_prefix(top).ok()?.components().count();
            let other = directory.ancestors().nth(below)?;
            (other != top && resolve(other) == top).then(|| other.to_owned())
        });
        Self {
            paths: [top.to_owned()].into_iter().chain(others).collect(),
            homes: home.into_iter().flat_map(|home| [resolve(&home), home]).collect(),
        }
    }

    fn moved(&self, command: &str, tree: &str) -> String {
        self.paths.iter().fold(command.to_owned(), |command, path| {
            let below = self.homes.iter().find_map(|home| path.strip_prefix(home).ok());
            let below = below.filter(|below| !below.as_os_str().is_empty());
            let below = below.map(|below| format!("/{}", below.to_string_lossy()));
            in_command(&command, &path.to_string_lossy(), tree, below.as_deref())
        })
    }
}

fn goes_to(command: &str, tree: &Path, goes_on: &str) -> bool {
    let tree = tree.to_string_lossy();
    let words = [shell::quote(&tree), format!("\"{tree}\""), tree.into_owned()];
    let rest = command.trim_start().strip_prefix("cd ").map(str::trim_start);
    rest.is_some_and(|rest| {
        words.iter().filter_map(|word| rest.strip_prefix(word.as_str())).any(|rest| {
            let rest = rest.strip_prefix('/').unwrap_or(rest).trim_start();
            rest.is_empty() || rest.starts_with(goes_on)
        })
    })
}
