//! Output of `aye purge`.

use std::collections::BTreeMap;

use super::OtherHolders;
use crate::app::purge::CopyPlace;
use crate::proposal::ProposalId;
use crate::store::{PurgeReport, Subjects};
use crate::text::{escape, shell};

const PRUNE: &str = "git gc --prune=now";

pub(super) fn ids(subjects: &Subjects) -> String {
    let ids: Vec<&str> = subjects.targets.iter().map(|target| target.id.as_str()).collect();
    ids.join(", ")
}

/// Another person has to ask as well.
pub(super) fn asked_for(subjects: &Subjects, reason: &str) -> String {
    let ids = ids(subjects);
    let what = subjects.blob.as_ref().unwrap_or(&ids);
    let line = format!(
        "{ids}  asked for; another person has to ask as well: aye purge {what} -m {}",
        shell::quote(reason)
    );
    format!("{}\n", escape::line(&line))
}

pub(super) fn text(
    subjects: &Subjects,
    purged: &PurgeReport,
    around: &OtherHolders,
    remotes: &BTreeMap<String, Vec<String>>,
    is_done: bool,
) -> String {
    let mut text = String::new();
    let mut line = |words: String| text += &format!("{}\n", escape::line(&words));
    let ids = ids(subjects);
    line(format!("{ids}  {}", if is_done { "purged" } else { "would be purged" }));
    for name in &purged.removed {
        line(format!("  {}: {name}", if is_done { "removed" } else { "to be removed" }));
    }
    for standing in &around.standing {
        let what = match standing.place {
            CopyPlace::History => "is in the project's own history, which aye does not rewrite",
            CopyPlace::WorkTree => "stands in the work tree",
        };
        line(format!("  {} {what} (blob {:.12})", standing.path.display(), standing.blob));
    }
    for name in &around.sessions {
        line(format!(
            "  session {name} holds it still, in its tree and in refs/aye/session/{name}:"
        ));
        line(format!("    aye session end {name} --discard"));
    }
    if !around.also_in.is_empty() {
        let also_in: Vec<&str> = around.also_in.iter().map(ProposalId::as_str).collect();
        line(format!(
            "  its content, or lines that it has added, are in {} too",
            also_in.join(", ")
        ));
    }
    for name in &purged.remaining_chunks {
        line(format!("  the ledger of another clone holds it still: {name}"));
        line(format!("    fetch once it is purged there, too: aye purge {ids} -m TEXT"));
    }
    for (remote, commands) in remotes {
        line(format!("  {remote} may still have it:"));
        commands.iter().for_each(|command| line(format!("    {command}")));
    }
    let when = if is_done { "" } else { "then " };
    line(format!(
        "  {when}the objects go with git's next prune; at once, while nothing else writes here: {PRUNE}"
    ));
    text
}
