//! Commands: moved into the tree of the session, or watched in the checkout.

use std::path::{Path, PathBuf};

use super::super::real::resolve;
use super::place::Place;
use super::watch::watch;
use super::{begin, enter};
use crate::cli::Context;
use crate::error::Result;
use crate::harness::in_command::in_command;
use crate::harness::{Answer, Call, Way};
use crate::text::shell;

/// Lets a command that is started in the checkout run in the session's tree.
pub(super) fn shell_command(
    context: &mut Context,
    place: &Place,
    call: &Call,
    directory: &Path,
    (command, input): (&str, &serde_json::Value),
) -> Result<Answer> {
    let here = resolve(directory);
    let (real, Some(top), _) = &place.real else { return Ok(Answer::Nothing) };
    let tree = place.tree();
    let is_inside = here.starts_with(real);
    let named = |command: &str, top: &Path| {
        in_command(command, &top.to_string_lossy(), &tree.to_string_lossy())
    };
    let moved = match spelled(directory, &here, top) {
        Some(other) => named(&named(command, top), &other),
        None => named(command, top),
    };
    let Ok(inside) = here.strip_prefix(top) else {
        // From the tree the checkout is named by its path.
        let mut input = input.clone();
        input["command"] = moved.as_str().into();
        return Ok(match place.client.way {
            _ if !is_inside || moved == command => Answer::Nothing,
            Way::Name => Answer::Refuse(format!("Not run, and not an error: {}", enter(place))),
            Way::Enter | Way::Rewrite => Answer::Rewrite(input),
        });
    };
    if is_inside {
        return Ok(Answer::Nothing);
    }
    if place.is_strict {
        return watch(context, place, call, directory, (command, input));
    }
    begin(context, place, &place.name)?;
    if place.client.way == Way::Name {
        return Ok(match goes_to(command, &tree) && moved == command {
            true => Answer::Nothing,
            false => Answer::Refuse(format!("Not run, and not an error: {}", enter(place))),
        });
    }
    let inner: PathBuf = tree.join(inside).components().collect();
    let inner = if inner.is_dir() { inner } else { tree.clone() };
    let mut input = input.clone();
    let quoted = shell::quote(&inner.to_string_lossy());
    input["command"] = format!("cd {quoted} || exit\n{moved}").into();
    Ok(Answer::Rewrite(input))
}

/// The checkout at `top`, as the client spells it: through a symlink, where it was started through one.
fn spelled(directory: &Path, here: &Path, top: &Path) -> Option<PathBuf> {
    let below = here.strip_prefix(top).ok()?.components().count();
    let other = directory.ancestors().nth(below)?;
    (other != top && resolve(other) == top).then(|| other.to_owned())
}

/// Whether a command begins by going into `tree`, or ends where it cannot.
pub(super) fn goes_to(command: &str, tree: &Path) -> bool {
    let tree = tree.to_string_lossy();
    let words = [shell::quote(&tree), format!("\"{tree}\""), tree.into_owned()];
    let rest = command.trim_start().strip_prefix("cd ").map(str::trim_start);
    rest.is_some_and(|rest| {
        words.iter().filter_map(|word| rest.strip_prefix(word.as_str())).any(|rest| {
            let rest = rest.strip_prefix('/').unwrap_or(rest).trim_start();
            rest.is_empty() || rest.starts_with("&&")
        })
    })
}
