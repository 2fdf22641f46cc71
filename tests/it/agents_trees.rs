//! Work trees that a client asks for by a name of its own, for itself or for a part of its agent.

use serde_json::{Value, json};

use crate::support::Repo;
use crate::support::agents::{Client, FILES, trees, write};
use crate::support::sessions::tree;

fn count(repo: &Repo) -> Value {
    repo.aye(&["list", "--json"]).ok().json()["count"].clone()
}

/// As `claude -w feature` does, and each subagent with `isolation: worktree`.
#[test]
fn the_tree_that_a_client_asks_for_by_name_is_edited_and_proposed() {
    for event in ["Stop", "SubagentStop", "SessionEnd"] {
        let repo = Repo::with(FILES);
        let tree = Client::new(&repo, "claude-code").tree("feature");
        let client = Client::new(&repo, "claude-code").at(&tree);
        assert!(client.edit(tree.join("b.txt")).is_nothing());
        assert!(client.edit("new/deep.txt").is_nothing() && client.shell("make").is_nothing());
        write(tree.join("b.txt"), "wasp\n");
        client.hook(event, json!({ "background_tasks": [] })).says("aye review prop_");
        assert_eq!((count(&repo), trees(&repo).len()), (json!(1), 1), "{event}");
    }
}

/// What is in it is proposed with the end of the turn, also where that is reported from the checkout.
#[test]
fn each_tree_of_a_session_is_proposed_when_the_agent_is_done() {
    for event in ["Stop", "SessionEnd"] {
        let repo = Repo::with(FILES);
        let client = Client::new(&repo, "claude-code");
        let [one, two, own] = ["agent-1", "agent-2", "aye"].map(|name| client.tree(name));
        // From the checkout, and from one tree into another of the same session.
        assert!(client.edit(one.join("b.txt")).is_nothing());
        assert!(client.at(&one).edit(two.join("b.txt")).is_nothing());
        assert!(client.at(&two).edit(own.join("b.txt")).is_nothing());
        // Of the tree that the agent itself works in nothing is complete yet.
        write(own.join("own.txt"), "wasp\n");
        assert_eq!(client.at(&own).hook("SubagentStop", json!({})).out(), "");
        write(one.join("b.txt"), "wasp\n");
        write(two.join("src/a.txt"), "wasp\n");
        client.hook(event, json!({}));
        assert_eq!(count(&repo), 3, "{event}");
        // Each has its own, which is revised.
        write(one.join("src/a.txt"), "wasp\n");
        client.at(&one).hook(event, json!({}));
        assert_eq!(count(&repo), 3, "{event}");
    }
}

/// By its path alone, without the client's having gone there, it stays the other's.
#[test]
fn the_tree_of_another_session_is_not_edited_from_elsewhere() {
    let repo = Repo::with(FILES);
    repo.aye(&["run", "--keep", "--name", "dark", "--", "true"]).ok();
    let dark = tree(&repo, "dark");
    let client = Client::new(&repo, "claude-code");
    client.edit(dark.join("b.txt")).refused();
    // A client that is started in a tree that was kept works there.
    assert!(client.at(&dark).edit(dark.join("b.txt")).is_nothing());
    write(dark.join("b.txt"), "wasp\n");
    client.at(&dark).stop();
    assert_eq!(count(&repo), 1);
}
