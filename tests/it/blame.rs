//! `aye blame`: each line to its commit, and to the proposal that the commit's trailers name.

use serde_json::Value;

use crate::support::{Repo, record};

/// `2-3 commit` for each range.
fn ranges(repo: &Repo, args: &[&str]) -> Vec<String> {
    let answer = repo.cmd(&["blame", "--json"]).args(args).run().ok().json();
    let one = |range: &Value| {
        let number = |key: &str| range[key].as_u64().expect("a number");
        let commit = range["origin"]["commit"].as_str().expect("an id");
        format!("{}-{} {commit}", number("line"), number("line") + number("count") - 1)
    };
    answer["ranges"].as_array().expect("a list").iter().map(one).collect()
}

#[test]
fn a_line_has_its_commit_and_the_trailers_of_it() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\nfour\n")]);
    let start = repo.git(&["rev-parse", "HEAD"]);
    let id = record::propose(&repo, "a.txt", "two", "2");
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    let own = repo.git(&["rev-parse", "HEAD"]);
    // What is not committed is not looked at.
    repo.write("a.txt", "one\n2\nthree\nfour\nfive\n");
    let expected = [format!("1-1 {start}"), format!("2-2 {own}"), format!("3-4 {start}")];
    assert_eq!(ranges(&repo, &["a.txt"]), expected);
    assert_eq!(ranges(&repo, &["a.txt", "-L", "2,+1"]), [format!("2-2 {own}")]);
    let answer = repo.aye(&["blame", "a.txt", "--json"]).ok().json();
    let [hand, origin] = [0, 1].map(|at| &answer["ranges"][at]["origin"]);
    assert_eq!(hand["proposal_ids"], serde_json::json!([]));
    assert_eq!(hand["author"], "Ada Reviewer");
    assert_eq!(origin["proposal_ids"], serde_json::json!([id]));
    let trailer = |key: &str| {
        let format = format!("--format=%(trailers:key={key},valueonly)");
        repo.git(&["log", "-1", &format]).trim().to_owned()
    };
    assert_eq!(origin["proposed_by"], serde_json::json!([trailer("Proposed-by")]));
    assert_eq!(origin["reviewed_by"], serde_json::json!([trailer("Reviewed-by")]));
    let text = repo.aye(&["blame", "a.txt", "-L2,2"]).ok().plain();
    assert!(text.out().starts_with(&id) && text.out().ends_with("2) 2\n"), "{text}");
}

#[test]
fn it_goes_through_a_rename_and_names_what_it_cannot_do() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\n"), ("b.bin", "\0\n")]);
    let start = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["mv", "a.txt", "c.txt"]);
    repo.aye(&["blame", "c.txt"]).fails("file_not_found", 3);
    repo.commit("Move");
    assert_eq!(ranges(&repo, &["c.txt"]), [format!("1-2 {start}")]);
    repo.aye(&["blame", "b.bin"]).fails("binary_content", 6);
    repo.aye(&["blame", "c.txt", "-L", "9"]).fails("git_failed", 4);
    Repo::new().aye(&["blame", "a.txt"]).fails("file_not_found", 3);
}

/// `git blame` of a file of the work tree would run its filter, and the file system monitor.
#[cfg(unix)]
#[test]
fn no_program_of_the_repository_is_run() {
    let repo = Repo::with(&[("a.txt", "one\r\ntwo\r\n"), ("b.txt", "one\n")]);
    let ran = repo.outer().join("ran");
    repo.write("../program", format!("#!/bin/sh\necho $0 >>{}\nexec cat\n", ran.display()));
    repo.chmod("../program", 0o755);
    let program = repo.outer().join("program");
    let program = program.to_str().expect("UTF-8");
    for key in ["core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.x.textconv"] {
        repo.git(&["config", key, program]);
    }
    repo.write(".git/info/attributes", "*.txt filter=x diff=x\n");
    let start = repo.git(&["rev-parse", "HEAD"]);
    for (name, last) in [("a.txt", 2), ("b.txt", 1)] {
        repo.write(name, "one\r\n2\r\n");
        let _ = std::fs::remove_file(&ran);
        assert_eq!(ranges(&repo, &[name]), [format!("1-{last} {start}")]);
        assert!(!ran.exists(), "{name}: {}", std::fs::read_to_string(&ran).unwrap_or_default());
    }
}
