//! Other stores that the manifest names: read at the commit they are pinned to, never written.

use crate::support::{Repo, Run};

const MANIFEST: &str = ".agent-memory/meta/manifest.yaml";
const LOCK: &str = ".agent-memory/meta/stores.lock";

/// A store with one decision about pools, and its commit.
fn wiki() -> (Repo, String) {
    let repo = Repo::with(&[("README.md", "wiki\n")]);
    repo.aye(&["memory", "init"]).ok();
    repo.write(
        ".agent-memory/pitfalls.md",
        "# Pitfalls\n\n## Connection pools\n<!-- @id: pools -->\n\nA pool of forty connections starves postgres.\n",
    );
    let commit = repo.commit("Pools");
    (repo, commit)
}

/// A repository whose manifest names `source` as `wiki`, with `more` lines.
fn reader(source: &str, more: &str) -> Repo {
    let repo = Repo::with(&[("src/db.rs", "// db\n")]);
    repo.aye(&["memory", "init"]).ok();
    let manifest = repo.text(MANIFEST);
    let stores = format!("stores:\n    - name: wiki\n      source: {source}\n{more}");
    repo.write(MANIFEST, format!("{manifest}{stores}"));
    repo.commit("Name the wiki");
    repo
}

fn pin(repo: &Repo, source: &str, commit: &str) {
    let entry = format!("source: {source}\n        resolved_commit: {commit}\n");
    repo.write(LOCK, format!("version: 1\nstores:\n    wiki:\n        {entry}"));
    repo.commit("Pin the wiki");
}

fn search(repo: &Repo) -> Run {
    repo.aye(&["memory", "search", "connection", "pool"])
}

#[test]
fn a_pinned_store_is_searched_at_its_commit_and_never_written() {
    let (wiki, commit) = wiki();
    let source = wiki.root().to_str().expect("UTF-8").to_owned();
    let repo = reader(&source, "");
    search(&repo).exits(1).notes("not searched: wiki: it is not pinned");
    pin(&repo, &source, &commit);
    // What it becomes later does not count.
    wiki.write(".agent-memory/pitfalls.md", "# Pitfalls\n");
    wiki.commit("No pools");
    let before = wiki.snapshot();
    for _ in 0..2 {
        let found = search(&repo).ok().says("wiki:pitfalls.md#pools:3").says("forty connections");
        assert!(!found.err().contains("not searched"), "{found}");
    }
    let json = repo.aye(&["memory", "search", "connection", "pool", "--json"]).ok().json();
    assert_eq!(
        (&json["results"][0]["store"], &json["results"][0]["path"]),
        (&"wiki".into(), &"pitfalls.md".into())
    );
    repo.aye(&["memory", "context", "connection pool"]).ok().says("wiki:pitfalls.md#pools");
    let shown = repo.aye(&["memory", "show", "wiki:pitfalls.md#pools"]).ok();
    shown.says(&format!("at {}", &commit[..12])).says("starves postgres");
    let json = repo.aye(&["memory", "show", "wiki:pitfalls.md", "--json"]).ok().json();
    assert_eq!(
        (&json["sections"][0]["commit"], &json["schema"]),
        (&commit.into(), &"aye/memory-section@1".into())
    );
    repo.aye(&["memory", "show", "wiki:gone.md"]).fails("invalid_argument", 6);
    repo.aye(&["memory", "show", "other:gone.md"]).fails("staging_not_found", 3);
    assert_eq!(wiki.snapshot(), before);
    repo.aye(&["memory", "lint"]).ok().lacks("stores:");
}

#[test]
fn its_own_sections_come_first_unless_the_other_counts_more() {
    let (wiki, commit) = wiki();
    let source = wiki.root().to_str().expect("UTF-8").to_owned();
    for (factor, first) in [("0.1", None), ("5.0", Some("wiki"))] {
        let repo = reader(&source, &format!("      priority_multiplier: {factor}\n"));
        pin(&repo, &source, &commit);
        repo.write(
            ".agent-memory/pitfalls.md",
            "# Pitfalls\n\n## Connection pool\n<!-- @id: own -->\n\nOne pool for each thread.\n",
        );
        let json = repo.aye(&["memory", "search", "connection", "pool", "--json"]).ok().json();
        assert_eq!(json["results"][0]["store"].as_str(), first, "{json:#}");
        assert_eq!(json["count"], 2);
    }
}

#[test]
fn what_is_not_read_says_why() {
    let (wiki, commit) = wiki();
    let source = wiki.root().to_str().expect("UTF-8").to_owned();
    // A commit that has to be fetched, and then is here.
    let url = "https://wiki.invalid/wiki.git";
    let repo = reader(url, "");
    pin(&repo, url, &commit);
    search(&repo).exits(1).notes(&format!("git fetch {url} {commit}"));
    repo.aye(&["memory", "show", "wiki:pitfalls.md"]).fails("memory_store_unread", 3);
    repo.git(&["fetch", "-q", &source, "main"]);
    search(&repo).ok().says("wiki:pitfalls.md#pools");
    // A pin of another source, a mode that writes, a place without a store.
    let cases = [
        ("", "https://other.invalid/", "not pinned"),
        ("      mode: read-write\n", &source, "mode 'read-write'"),
        ("      path: docs\n", &source, "no memory store at 'docs'"),
    ];
    for (more, locked, why) in cases {
        let repo = reader(&source, more);
        pin(&repo, locked, &commit);
        search(&repo).exits(1).notes(why);
        repo.aye(&["memory", "status", "--json"]).ok().says(why);
        repo.aye(&["memory", "context", "connection pool"]).ok();
    }
    // What nobody has committed leads nowhere, wherever it points.
    let repo = reader(&source, "");
    pin(&repo, &source, &commit);
    let manifest = repo.text(MANIFEST);
    repo.write(MANIFEST, manifest.replace("name: wiki", "name: other"));
    search(&repo).exits(1).notes("HEAD's manifest does not have it like this");
    // A directory that is none, and one that belongs to no repository.
    for gone in ["/nowhere/at/all", "file:///nowhere", "."] {
        let repo = reader(gone, "");
        pin(&repo, gone, &commit);
        search(&repo).exits(1).notes("its commit is not here");
    }
}
