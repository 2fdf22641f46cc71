//! Edits and reads: passed, refused, or redirected into the session's tree.

use std::path::PathBuf;

use super::begin;
use super::place::Place;
use super::words::enter;
use crate::app::real::Real;
use crate::app::site::{Where, is_git};
use crate::cli::Context;
use crate::error::Result;
use crate::harness::redirect::{self, Field};
use crate::harness::{Answer, Call, Edit, Way};

pub(super) const NESTED: &str = "Not done: that file lies in a repository of its own within this one, such as a submodule, \
    and is not proposed with it. An agent that is started there can propose it.";

pub(super) fn edit(context: &Context, place: &Place, call: &Call, edit: &Edit) -> Result<Answer> {
    let real = Real::default();
    let files = edit.files.iter().map(|file| real.path(&call.directory.join(file)));
    let files: Vec<PathBuf> = files.collect();
    if place.site.is_nested(&files) {
        return Ok(Answer::Refuse(NESTED.to_owned()));
    }
    let mut is_inside = false;
    for file in &files {
        match place.site.locate(file) {
            Where::Guarded(reason) => return Ok(Answer::Refuse(reason.to_owned())),
            Where::Checkout(_) => is_inside = true,
            Where::Free => {}
        }
    }
    if !is_inside {
        return Ok(Answer::Nothing);
    }
    let refusal = format!("Not applied, and not an error: {}", enter(place));
    if place.is_strict || place.client.way == Way::Enter {
        return Ok(Answer::Refuse(refusal));
    }
    begin(context, place, &place.name)?;
    match place.client.way {
        Way::Enter | Way::Name => Ok(Answer::Refuse(refusal)),
        Way::Rewrite => Ok(match redirected(place, call, &edit.input, edit.field, true) {
            Ok(input) => Answer::Rewrite(input),
            Err(why) => Answer::Refuse(format!("Not done: {why}")),
        }),
    }
}

/// Files that the session's tree was never given, such as ignored ones, are read in the checkout.
pub(super) fn look(place: &Place, call: &Call, input: &serde_json::Value, field: Field) -> Answer {
    if place.is_strict || place.client.way != Way::Rewrite || !place.home.has(&place.name) {
        return Answer::Nothing;
    }
    match redirected(place, call, input, field, false) {
        Ok(moved) if moved != *input => Answer::Rewrite(moved),
        _ => Answer::Nothing,
    }
}

pub(super) fn redirected(
    place: &Place,
    call: &Call,
    input: &serde_json::Value,
    field: Field,
    is_edit: bool,
) -> Result<serde_json::Value, String> {
    let (tree, found) = (&place.site.tree, Real::default());
    let to = |path: &str| {
        let real = found.path(&call.directory.join(path));
        let Where::Checkout(inside) = place.site.locate(&real) else { return Ok(path.to_owned()) };
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
