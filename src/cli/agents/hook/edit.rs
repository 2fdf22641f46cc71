//! Edits and reads: passed, refused, or redirected into the session's tree.

use std::path::PathBuf;

use super::call_session::CallSession;
use super::ensure_own_tree;
use super::instructions::edit_instruction;
use crate::app::real_path::Real;
use crate::app::site::{WriteTarget, is_git};
use crate::cli::Context;
use crate::error::Result;
use crate::harness::redirect::{self, Field};
use crate::harness::{Call, Edit, EditRoute, HookReply};

pub(super) const NESTED: &str = "Not done: that file lies in a repository of its own within this one, such as a submodule, \
    and is not proposed with it. An agent that is started there can propose it.";

pub(super) fn edit(
    context: &Context,
    place: &mut CallSession,
    call: &Call,
    edit: &Edit,
) -> Result<HookReply> {
    let real = Real::default();
    let files = edit.files.iter().map(|file| real.path(&call.directory.join(file)));
    let files: Vec<PathBuf> = files.collect();
    if place.site.is_nested(&files) {
        return Ok(HookReply::Refuse(NESTED.to_owned()));
    }
    let mut is_inside = false;
    for file in &files {
        match place.site.locate(file) {
            WriteTarget::Guarded(reason) => return Ok(HookReply::Refuse(reason.to_owned())),
            WriteTarget::Checkout(_) => is_inside = true,
            WriteTarget::Free => {}
        }
    }
    if !is_inside {
        return Ok(HookReply::Proceed);
    }
    let is_entered = place.client.edit_route == EditRoute::Enter && !call.is_part;
    if !place.is_strict && !is_entered {
        ensure_own_tree(context, place)?;
    }
    let refusal =
        || format!("Not applied, and not an error: {}", edit_instruction(place, call, true));
    match place.client.edit_route {
        _ if place.is_strict => Ok(HookReply::Refuse(refusal())),
        EditRoute::Enter | EditRoute::Name => Ok(HookReply::Refuse(refusal())),
        EditRoute::Rewrite => Ok(match redirected(place, call, &edit.input, edit.field, true) {
            Ok(input) => HookReply::Rewrite(input),
            Err(why) => HookReply::Refuse(format!("Not done: {why}")),
        }),
    }
}

/// Files that the session's tree was never given, such as ignored ones, are read in the checkout.
pub(super) fn redirect_read(
    place: &CallSession,
    call: &Call,
    input: &serde_json::Value,
    field: Field,
) -> HookReply {
    if place.is_strict
        || place.client.edit_route != EditRoute::Rewrite
        || !place.home.has(&place.name)
    {
        return HookReply::Proceed;
    }
    match redirected(place, call, input, field, false) {
        Ok(moved) if moved != *input => HookReply::Rewrite(moved),
        _ => HookReply::Proceed,
    }
}

pub(super) fn redirected(
    place: &CallSession,
    call: &Call,
    input: &serde_json::Value,
    field: Field,
    is_edit: bool,
) -> Result<serde_json::Value, String> {
    let (tree, found) = (&place.site.tree, Real::default());
    let to = |path: &str| {
        let real = found.path(&call.directory.join(path));
        let WriteTarget::Checkout(inside) = place.site.locate(&real) else {
            return Ok(path.to_owned());
        };
        let moved: PathBuf = tree.join(inside).components().collect();
        if !is_edit && moved.symlink_metadata().is_err() && real.symlink_metadata().is_ok() {
            return Ok(path.to_owned());
        }
        // A symlink that the agent made may lead back to the checkout.
        let end = found.path(&moved);
        if !matches!(end.strip_prefix(tree), Ok(inside) if !is_git(inside)) {
            return Err("in the work tree of the session a link leads out of it".to_owned());
        }
        let text = moved.into_os_string().into_string();
        text.map_err(|_| "the path of the session's tree is not UTF-8".to_owned())
    };
    redirect::redirect(input, field, &to(".")?, to)
}
