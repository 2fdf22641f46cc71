//! Commits that change instructions of coding agents.

use super::commits::Commit;
use super::{Concern, FailOn};
use crate::changeset::RepoPath;
use crate::report::{Finding, Level};

/// `what` says why the file matters. An error if `agent` made the commit and no person approved
/// this content, otherwise a notice.
pub fn finding(
    commit: &Commit,
    agent: Option<&str>,
    path: &RepoPath,
    what: &str,
    is_approved: bool,
    fail_on: &FailOn,
) -> Finding {
    let (short, file) = (commit.short(), path.display());
    let changes = format!("changes {file}, which {what}");
    let concern = Concern::InstructionFileChanged;
    let notice = |message| Finding::new(concern.id(), Level::Note, message);
    let finding = match agent {
        _ if is_approved => notice(format!("commit {short} {changes}, as a person approved")),
        Some(agent) => fail_on
            .finding(
                concern,
                format!(
                    "commit {short} by the agent '{agent}' {changes}, and no approval of it is here"
                ),
            )
            .hint("propose the change, and commit the applied proposal: aye apply ID --commit"),
        None => notice(format!("commit {short} {changes}")),
    };
    finding.path(path.as_bstr())
}
