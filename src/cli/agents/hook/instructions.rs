//! Instructions for a model.

use super::call_session::CallSession;
use crate::harness::EditRoute;
use crate::text::shell;

pub(super) fn edit_instruction(place: &CallSession) -> String {
    if place.is_strict {
        return format!(
            "Edits of this repository go through review: its files are not edited. {PROPOSE}"
        );
    }
    let tree = place.tree();
    let tree = tree.display();
    match place.client.edit_route {
        EditRoute::Enter => format!(
            "Edits of this repository go through review. Before you edit, call the EnterWorktree tool \
             (ToolSearch select:EnterWorktree) with name {}, and redo the edit there; work and test there \
             as usual. What you leave there is offered for review when you stop.",
            place.name
        ),
        EditRoute::Rewrite => format!(
            "Edits of this repository go through review. Your edits and commands are carried out in a \
             work tree of this session, {tree}, and the checkout stays as it is: work and test as usual, \
             with relative paths. What you leave there is offered for review when you stop."
        ),
        EditRoute::Name => format!(
            "Edits of this repository go through review. Edit and read the files in the work tree of this \
             session, {tree}, and begin each command with: cd {} && What you leave there is offered for \
             review when you stop.",
            shell::quote(&place.tree().to_string_lossy())
        ),
    }
}

/// Strict mode: the checkout is not edited.
pub(super) const PROPOSE: &str = "Propose each change: aye propose PATH --old 'text' --new 'text' -m 'why', or a patch by aye \
    propose --patch -, or the tools changes and apply_patch of aye's MCP server; then aye wait ID. The files have it \
    once a person has applied it.";
