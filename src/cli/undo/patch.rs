//! Undo of a direct patch, without a proposal.

use super::Args;
use super::outcome::print_dry_run;
use crate::changeset::plan::PlannedFile;
use crate::cli::apply::document::{ApplyDocument, ApplyItem, FileItem, text};
use crate::cli::authorisation::AuthorityRequest;
use crate::cli::{Context, Format};
use crate::decide;
use crate::error::{Exit, Result};
use crate::proposal::Status;
use crate::proposal::rules::Verb;
use crate::store::Store;

/// `id` may be a prefix.
pub(super) fn undo(context: &mut Context, store: &Store, id: &str, args: &Args) -> Result<Exit> {
    let (stamped, patch) = decide::patch::find(&store.view()?, id)?;
    let id = decide::patch::id(&stamped.id);
    let first = patch.written.first().map(|file| file.path.display().to_string());
    let answer = |files: &[PlannedFile], status| {
        let files = files.iter().map(FileItem::new).collect();
        let item = ApplyItem::plain(id.clone(), first.clone().unwrap_or_default(), status, files);
        ApplyDocument::of("aye/undo@1", true, vec![item])
    };
    if args.dry_run {
        let plan = decide::undo::preview_patch(store, &patch)?;
        return print_dry_run(
            context,
            answer(&plan.files, Status::Applied),
            plan.refusal().is_none(),
        );
    }
    let asking = AuthorityRequest {
        verb: Verb::Undo,
        proposals: &[],
        yes: args.yes,
        question: &format!("Undo {id}?"),
        command: &format!("aye undo {id}"),
    };
    let Some(authority) = context.authorise(store, &asking)? else {
        return context.declined("nothing undone");
    };
    let files = decide::undo::undo_patch(store, &authority, context.now, &stamped, &patch)?;
    let answer = answer(&files, Status::Pending);
    context.emit(Format::Text, &answer, || text(&answer, "undone"))
}
