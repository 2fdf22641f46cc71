//! `aye list` when it is asked all day long: the quick answer is the true one.

use crate::support::{Repo, record};

/// An empty list, asked twice: the second may be the quick one.
fn says_nothing(repo: &Repo) {
    for _ in 0..2 {
        repo.aye(&["list"]).ok().lacks("prop_");
        let json = repo.aye(&["list", "--json"]).ok().json();
        assert_eq!((json["count"].as_u64(), &json["schema"]), (Some(0), &"aye/list@1".into()));
    }
}

#[test]
fn an_empty_list_stays_true() {
    let repo = Repo::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    says_nothing(&repo);
    let id = record::propose(&repo, "a.txt", "a\n", "c\n");
    repo.aye(&["list"]).ok().says(&id);
    record::reject(&repo, &id, "no");
    says_nothing(&repo);
    repo.aye(&["list", "--status", "rejected"]).ok().says(&id);
    repo.aye(&["list", "--status", "all", "--path", "a.txt"]).ok().says(&id);
    let other = record::propose(&repo, "b.txt", "b\n", "c\n");
    repo.aye(&["list", "--path", "b.txt"]).ok().says(&other);
    repo.aye(&["list"]).ok().says(&other);
}

#[test]
fn what_a_fetch_brings_is_listed() {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    says_nothing(&repo);
    let clone = repo.outer().join("clone");
    repo.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    let propose = ["propose", "a.txt", "--old", "a\n", "--new", "b\n", "-q"];
    repo.cmd(&propose).dir(&clone).run().ok();
    repo.git(&["remote", "add", "origin", clone.to_str().unwrap()]);
    let threads = "refs/aye/p/*:refs/aye/remotes/origin/0123456789abcdef/*";
    repo.git(&["fetch", "-q", "origin", threads]);
    repo.aye(&["list"]).ok().says("a.txt");
}

#[test]
fn a_repository_of_somebody_else_is_not_answered_for() {
    use std::os::unix::fs::chown;
    let repo = Repo::with(&[("a.txt", "a\n")]);
    says_nothing(&repo);
    // Only root can give a directory away.
    let git = repo.path(".git");
    if chown(repo.root(), Some(12_345), None).and_then(|()| chown(&git, Some(12_345), None)).is_ok()
    {
        repo.aye(&["list"]).fails("unsafe_repository", 4);
        // Said for one command, as git takes it.
        let list = |value: &str| {
            let list = repo.cmd(&["list"]).env("GIT_CONFIG_COUNT", "1");
            list.env("GIT_CONFIG_KEY_0", "safe.directory").env("GIT_CONFIG_VALUE_0", value).run()
        };
        for value in ["*", &repo.root().display().to_string()] {
            list(value).ok();
        }
        list("/nowhere").fails("unsafe_repository", 4);
        let parameters = |text: &str| repo.cmd(&["list"]).env("GIT_CONFIG_PARAMETERS", text).run();
        parameters("'safe.directory'='*'").ok();
        parameters("'safe.directory'='*' 'safe.directory'=''").fails("unsafe_repository", 4);
    }
}

#[test]
fn without_a_terminal_a_review_prints_its_commands_once() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    for n in 0..4 {
        let why = format!("number {n}");
        let args = ["propose", "b.txt", "--old", "", "--new", &why, "-m", &why, "-q"];
        repo.agent("codex", &args).ok();
    }
    let many = repo.aye(&["review"]).exits(4).says("number 3").says("aye diff ID --hunks");
    assert_eq!(many.out().matches("aye show").count(), 1, "{many}");
    // None that decide: the caller may be an agent.
    assert!(!format!("{many}").contains("--yes"), "{many}");
    repo.agent("codex", &["review"]).exits(4).lacks("aye apply").says("aye show ID");
}
