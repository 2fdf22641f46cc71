//! Agents in work trees of their own, as the tests of `aye run` and `aye session` start and look at them.

use std::path::{Path, PathBuf};

use super::{Cmd, Repo, Run};

/// A run of a shell script as the agent `robo`.
pub fn script(repo: &Repo, options: &[&str], text: &str) -> Cmd {
    let all = [&["run"], options, &["--", "sh", "-c", text]].concat();
    repo.cmd(&all).env("AYE_AGENT", "robo")
}

/// A run in the session `x`, which is kept.
pub fn kept(repo: &Repo, text: &str) -> Run {
    script(repo, &["--keep", "--name", "x"], text).run()
}

/// Where the tree of a session lies.
#[track_caller]
pub fn tree(repo: &Repo, name: &str) -> PathBuf {
    let list = repo.aye(&["session", "list", "--json"]).ok().json();
    let mut all = list["sessions"].as_array().expect("a list").iter();
    let session = all.find(|session| session["name"] == name).expect("the session");
    session["tree"].as_str().expect("a path").into()
}

/// The text of a file in a tree.
#[track_caller]
pub fn read(tree: &Path, path: &str) -> String {
    std::fs::read_to_string(tree.join(path)).expect("read")
}

/// Ids of what is pending.
pub fn pending(repo: &Repo) -> Vec<String> {
    let list = repo.aye(&["list", "--json"]).ok().json();
    let all = list["proposals"].as_array().expect("a list").iter();
    all.map(|item| item["proposal_id"].as_str().expect("an id").to_owned()).collect()
}

/// The only pending proposal.
#[track_caller]
pub fn only(repo: &Repo) -> String {
    let mut all = pending(repo);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[track_caller]
pub fn nothing_pending(repo: &Repo) {
    assert_eq!(pending(repo), [] as [String; 0]);
}

pub fn diff(repo: &Repo, id: &str) -> String {
    repo.aye(&["diff", id, "--no-pager"]).ok().out()
}

/// What the only pending proposal changes.
#[track_caller]
pub fn proposed(repo: &Repo) -> String {
    diff(repo, &only(repo))
}

#[track_caller]
pub fn no_session_is_left(repo: &Repo) {
    let list = repo.aye(&["session", "list", "--json"]).ok().json();
    assert_eq!(list["sessions"], serde_json::json!([]));
    assert_eq!(repo.git(&["for-each-ref", "refs/aye/session"]), "");
}
