//! Decisions that a remote lacks, of the commits that are pushed to it.

use gix::ObjectId;

use super::{Concern, approvals, causes, commits};
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::trailers::Trailers;
use crate::report::{Finding, Level};
use crate::store::{Space, Store, View};

/// One finding for all decisions on proposals that the commits `ids` name, or without trailers
/// contain, and that no fetched ref of `remote` leads to. Where `is_required` it is an error, else
/// a note. Private proposals have a notice of their own.
///
/// # Errors
/// `invalid_range`; errors of the store.
pub fn finding(
    store: &Store,
    view: &View<'_>,
    ids: &[ObjectId],
    remote: &str,
    is_required: bool,
) -> Result<Option<Finding>> {
    let mut missing: Vec<String> = Vec::new();
    let by_content = store.repository().settings()?.trailers == Trailers::None;
    for id in ids {
        let commit = commits::read(store.repository(), *id)?;
        let mut names = commit.proposal_ids.clone();
        if by_content {
            let changes = commits::changes(store.repository(), &commit)?;
            for (path, _) in changes.iter().filter(|(_, change)| change.is_own) {
                let Ok(path) = RepoPath::from_tree(path) else { continue };
                let brought = approvals::brought(view, &commit, &path)?;
                names.extend(brought.iter().map(ToString::to_string));
            }
        }
        for name in names {
            let Ok(proposal) = view.find(&name) else { continue };
            let id = &proposal.id;
            if missing.iter().any(|known| known == id.as_str()) || view.space(id)? == Space::Private
            {
                continue;
            }
            let applied = proposal.applies().map(|decision| &decision.event);
            let approved = proposal.approvals_in_force().map(|approval| &approval.event);
            for event in applied.chain(approved) {
                if !view.is_at_remote(id, event, remote)? {
                    missing.push(id.to_string());
                    break;
                }
            }
        }
    }
    let level = if is_required { Level::Error } else { Level::Note };
    Ok((!missing.is_empty()).then(|| {
        let message =
            format!("{remote} lacks decisions of the pushed commits: {}", causes::named(&missing));
        Finding::new(Concern::NotSynced.id(), level, message).hint(sync_command(store, remote))
    }))
}

fn sync_command(store: &Store, remote: &str) -> String {
    let enable =
        if store.enabled_remotes().iter().any(|it| it == remote) { "" } else { "--enable " };
    format!("aye sync {enable}{remote}")
}
