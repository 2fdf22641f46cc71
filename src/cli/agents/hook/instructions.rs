//! Instructions for a model.

use super::call_session::CallSession;
use crate::app::real_path::resolve;
use crate::harness::{Call, EditRoute};
use crate::text::shell;

/// Agents get it wrong: they push, or fear to lose uncommitted work.
const AFTER: &str = "Commit if you like; do not push. What you leave there is offered for review when you stop, and \
    a person applies it.";

/// `goes_on` follows a refusal: the edit has to be done again.
pub(super) fn edit_instruction(place: &CallSession, call: &Call, goes_on: bool) -> String {
    if place.is_strict {
        return format!(
            "Edits of this repository go through review: its files are not edited. {PROPOSE}"
        );
    }
    let tree = place.tree();
    let shown = tree.display();
    if resolve(&call.directory).starts_with(&place.site.tree) {
        let top = place.site.top.iter().map(|top| {
            format!(" The paths of the checkout, {}/…, are {shown}/… here.", top.display())
        });
        return format!(
            "You are in the work tree of this session, {shown}.{} Work and test here as usual. {AFTER}",
            top.collect::<String>()
        );
    }
    // Its path is known once the first edit or command needs it.
    let has_tree = place.home.has(&place.name);
    let by_path = format!(
        "Edit and read the files in the work tree of this session, {shown}, by that path. {AFTER}"
    );
    let way = match place.client.edit_route {
        EditRoute::Enter if call.is_part => by_path,
        EditRoute::Enter => format!(
            "Before you edit, call the EnterWorktree tool (ToolSearch select:EnterWorktree) with name {}{} work \
             and test there as usual. {AFTER}",
            place.name,
            if goes_on { ", and redo the edit there;" } else { ";" }
        ),
        EditRoute::Rewrite => format!(
            "Your edits and commands are carried out in a work tree of this session{}, and the checkout stays as \
             it is: work and test as usual, with relative paths. {AFTER}",
            if has_tree { format!(", {shown}") } else { String::new() }
        ),
        EditRoute::Name if !has_tree => format!(
            "The first edit is refused with the path of a work tree of this session: edit, read and test there. \
             {AFTER}"
        ),
        EditRoute::Name => format!(
            "{by_path} Begin each command with: cd {} &&",
            shell::quote(&tree.to_string_lossy())
        ),
    };
    format!("Edits of this repository go through review. {way}")
}

/// Strict mode: the checkout is not edited.
pub(super) const PROPOSE: &str = "Propose each change: aye propose PATH --old 'text' --new 'text' -m 'why', or a patch by aye \
    propose --patch -, or the tools changes and apply_patch of aye's MCP server; then aye wait ID. The files have it \
    once a person has applied it.";
