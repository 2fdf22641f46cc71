//! Commands: moved into the tree of the session.

use std::path::{Path, PathBuf};

use super::super::real::resolve;
use super::place::Place;
use super::{begin, enter};
use crate::cli::Context;
use crate::error::Result;
use crate::harness::in_command::in_command;
use crate::harness::{Answer, Call, Way};
use crate::text::shell;

/// Lets a command that is started in the checkout, or names it, run in the session's tree.
pub(super) fn shell_command(
    context: &mut Context,
    place: &Place,
    call: &Call,
    directory: &Path,
    (command, is_foreign, input): (&str, bool, &serde_json::Value),
) -> Result<Answer> {
    if place.is_strict {
        return Ok(Answer::Nothing);
    }
    let here = resolve(directory);
    let (real, Some(top), _) = &place.real else { return Ok(Answer::Nothing) };
    let tree = place.tree();
    let is_inside = here.starts_with(real);
    let spellings = [directory, &call.directory];
    let moved = moved(context, command, (top, &tree.to_string_lossy()), &spellings);
    let inside = match here.strip_prefix(top) {
        Ok(_) if is_inside => return Ok(Answer::Nothing),
        Ok(inside) => Some(inside),
        // From elsewhere, such as the tree, the checkout is named by its path.
        Err(_) if moved == command => return Ok(Answer::Nothing),
        Err(_) => None,
    };
    begin(context, place, &place.name)?;
    if place.client.way == Way::Name || is_foreign {
        let goes_on = if is_foreign { ";" } else { "&&" };
        if inside.is_some() && moved == command && goes_to(command, &tree, goes_on) {
            return Ok(Answer::Nothing);
        }
        let way = match place.client.way {
            Way::Rewrite => format!(
                "Edits of this repository go through review, and only commands for a POSIX shell are moved into the \
                 work tree of this session. Begin each command with: cd {}{goes_on}",
                shell::quote(&tree.to_string_lossy())
            ),
            Way::Enter | Way::Name => enter(place),
        };
        return Ok(Answer::Refuse(format!("Not run, and not an error: {way}")));
    }
    let text = match inside {
        None => moved,
        Some(inside) => {
            let inner: PathBuf = tree.join(inside).components().collect();
            let inner = if inner.is_dir() { inner } else { tree.clone() };
            // Twice: `cd -` and `$OLDPWD` would be the checkout.
            format!("cd {} && cd . || exit\n{moved}", shell::quote(&inner.to_string_lossy()))
        }
    };
    let mut input = input.clone();
    input["command"] = text.into();
    Ok(Answer::Rewrite(input))
}

/// `command` with the checkout at `top` as `tree`, also as it is called from the home directory, and where
/// `spellings` lead into it through a symlink.
fn moved(
    context: &Context,
    command: &str,
    (top, tree): (&Path, &str),
    spellings: &[&Path],
) -> String {
    let homes = context.var("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let homes: Vec<PathBuf> = homes.into_iter().flat_map(|home| [resolve(&home), home]).collect();
    let named = |command: &str, top: &Path| {
        let below = homes.iter().find_map(|home| top.strip_prefix(home).ok());
        let below = below.filter(|below| !below.as_os_str().is_empty());
        let below = below.map(|below| format!("/{}", below.to_string_lossy()));
        in_command(command, &top.to_string_lossy(), tree, below.as_deref())
    };
    let others = spellings.iter().filter_map(|path| spelled(path, &resolve(path), top));
    others.fold(named(command, top), |command, other| named(&command, &other))
}

/// The checkout at `top`, as the client spells it: through a symlink, where it was started through one.
fn spelled(directory: &Path, here: &Path, top: &Path) -> Option<PathBuf> {
    let below = here.strip_prefix(top).ok()?.components().count();
    let other = directory.ancestors().nth(below)?;
    (other != top && resolve(other) == top).then(|| other.to_owned())
}

/// Whether a command begins by going into `tree`, before `goes_on`.
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
