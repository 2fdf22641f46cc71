//! `aye blame`: each line to the proposal that added it, or to the commit.

use serde_json::Value;

use crate::support::{Repo, Run};

/// What git's commits of a scripted repository are dated before, and aye's decisions are made at.
const NOW: &str = "2026-01-01T00:00:30Z";

fn aye(repo: &Repo, args: &[&str]) -> Run {
    repo.cmd(args).env("AYE_NOW", NOW).run()
}

fn propose(repo: &Repo, by: &str, args: &[&str]) -> String {
    let mut all = vec!["propose"];
    all.extend(args);
    all.push("-q");
    let agent = repo.cmd(&all).env("AYE_NOW", NOW).env("AYE_AGENT", by);
    agent.env("AYE_MODEL", "m-1").run().ok().id()
}

/// `2-3 kind id` for each range.
fn ranges(repo: &Repo, path: &str) -> Vec<String> {
    let answer = aye(repo, &["blame", path, "--json"]).ok().json();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let one = |range: &Value| {
        let (line, count) = (
            range["line"].as_u64().expect("as published"),
            range["count"].as_u64().expect("as published"),
        );
        let origin = &range["origin"];
        let id = text(&origin["proposal_id"]).or(text(&origin["patch_id"]));
        let id = id.or(text(&origin["commit"])).unwrap_or_default();
        format!("{line}-{} {} {id}", line + count - 1, text(&origin["kind"]).expect("as published"))
    };
    answer["ranges"].as_array().expect("as published").iter().map(one).collect()
}

fn scene() -> (Repo, String, String) {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\nfour\n")]);
    let start = repo.git(&["rev-parse", "HEAD"]);
    let id = propose(&repo, "bot", &["a.txt", "--old", "two\n", "--new", "2\n", "-m", "Count"]);
    aye(&repo, &["apply", &id, "--yes"]).ok();
    (repo, start, id)
}

#[test]
fn lines_of_an_applied_proposal_are_its_own_and_the_others_their_commits() {
    let (repo, start, id) = scene();
    repo.write("a.txt", "one\n2\nthree\nfour\nfive\n");
    let expected = [
        format!("1-1 commit {start}"),
        format!("2-2 proposal {id}"),
        format!("3-4 commit {start}"),
    ];
    let uncommitted = "5-5 uncommitted ".to_owned();
    assert_eq!(ranges(&repo, "a.txt"), [&expected[..], &[uncommitted]].concat());
    let text = aye(&repo, &["blame", "a.txt", "-L", "2"]).ok().plain();
    let line = text.out();
    let words = [&id[..9], "bot (m-1)", "Ada Reviewer, flag", "2026-01-01", "2) 2"];
    assert!(words.iter().all(|word| line.contains(word)), "{line}");
    assert_eq!(line.lines().count(), 1);
    let origin = &aye(&repo, &["blame", "a.txt", "--json"]).ok().json()["ranges"][1]["origin"];
    assert_eq!(
        (&origin["by"], &origin["by_kind"], &origin["model"], &origin["decided_by"]),
        (&"bot".into(), &"agent".into(), &"m-1".into(), &"Ada Reviewer".into())
    );
    assert_eq!((&origin["evidence"], &origin["summary"]), (&"flag".into(), &"Count".into()));
}

#[test]
fn porcelain_tells_each_fact_once() {
    let (repo, start, id) = scene();
    let out = aye(&repo, &["blame", "a.txt", "--porcelain"]).ok().out();
    let first = format!("{start} 1 1\nkind commit\nby Ada Reviewer\n");
    assert!(out.starts_with(&first), "{out}");
    let own = format!("{id} 2 1\nkind proposal\nby bot\nby-kind agent\nmodel m-1\n");
    assert!(
        out.contains(&own) && out.contains("decided-by Ada Reviewer\nevidence flag\n"),
        "{out}"
    );
    assert!(out.ends_with(&format!("\t2\n{start} 3 2\n\tthree\n\tfour\n")), "{out}");
    aye(&repo, &["blame", "a.txt", "-L", "9"]).fails("invalid_argument", 6);
    aye(&repo, &["blame", "none.txt"]).fails("file_not_found", 3);
}

#[test]
fn it_goes_through_renames_squashes_and_edits_by_hand() {
    let (repo, start, id) = scene();
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.commit(&format!("Count\n\nProposal-Id: {id}"));
    repo.git(&["mv", "a.txt", "b.txt"]);
    repo.commit("Move");
    let more = propose(&repo, "other", &["b.txt", "--old", "four", "--new", "4", "-m", "More"]);
    aye(&repo, &["apply", &more, "--yes"]).ok();
    repo.commit(&format!("More\n\nProposal-Id: {more}"));
    repo.write("b.txt", "1\n2\nthree\n4\n");
    let hand = repo.commit("By hand");
    let expected = |hand: &str, start: &str| {
        let kinds = [("commit", hand), ("proposal", &id), ("commit", start), ("proposal", &more)];
        let lines =
            kinds.iter().enumerate().map(|(at, (kind, id))| format!("{0}-{0} {kind} {id}", at + 1));
        lines.collect::<Vec<_>>()
    };
    assert_eq!(ranges(&repo, "b.txt"), expected(&hand, &start));
    // As git merge --squash words it: every message, in the middle of one.
    repo.git(&["switch", "-q", "main"]);
    repo.git(&["merge", "-q", "--squash", "topic"]);
    let message = repo.text(".git/SQUASH_MSG");
    let squashed = repo.commit(&message);
    assert_eq!(ranges(&repo, "b.txt"), expected(&squashed, &squashed));
}

#[test]
fn a_rename_in_a_proposal_goes_on_before_it() {
    let (repo, start, id) = scene();
    repo.commit("Count");
    repo.git(&["mv", "a.txt", "b.txt"]);
    repo.write("b.txt", "one\n2\nthree\n4\n");
    let moved = propose(&repo, "mover", &["--worktree", ".", "-m", "Move"]);
    aye(&repo, &["apply", &moved, "--yes"]).ok();
    let last = |commit: &str| {
        [
            format!("1-1 commit {commit}"),
            format!("2-2 proposal {id}"),
            format!("3-3 commit {commit}"),
            format!("4-4 proposal {moved}"),
        ]
    };
    // Before it is committed as well.
    assert_eq!(ranges(&repo, "b.txt"), last(&start));
    repo.git(&["add", "-A"]);
    repo.commit("Move");
    assert_eq!(ranges(&repo, "b.txt"), last(&start));
}

#[test]
fn trailers_name_a_proposal_that_is_not_here() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    repo.write("a.txt", "one\ntwo\n");
    let trailers =
        "Proposal-Id: prop_0123456789\nProposed-by: bot\nReviewed-by: Bob <b@example.com>";
    repo.commit(&format!("Add two\n\n{trailers}"));
    let answer = aye(&repo, &["blame", "a.txt", "--json"]).ok().json();
    let origin = &answer["ranges"][1]["origin"];
    assert_eq!((&origin["kind"], &origin["evidence"]), (&"proposal".into(), &"trailer".into()));
    assert_eq!((&origin["by"], &origin["proposal_id"]), (&"bot".into(), &"prop_0123456789".into()));
    assert_eq!(origin["decided_by"], "Bob <b@example.com>");
}

#[test]
fn what_stood_there_before_a_decision_is_not_its_own() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    repo.write("a.txt", "one\ntwo\n");
    let hand = repo.commit("By hand");
    repo.git(&["switch", "-q", "-c", "side", "HEAD~1"]);
    let later = "2026-01-02T00:00:00Z";
    let args = ["propose", "a.txt", "--old", "one\n", "--new", "one\ntwo\n", "-m", "Two", "-q"];
    let id = repo.cmd(&args).env("AYE_AGENT", "bot").env("AYE_NOW", later).run().ok().id();
    repo.cmd(&["apply", &id, "--yes"]).env("AYE_NOW", later).run().ok();
    repo.git(&["checkout", "-q", "-f", "main"]);
    assert_eq!(ranges(&repo, "a.txt")[1], format!("2-2 commit {hand}"));
}

#[test]
fn an_edit_by_the_reviewer_is_the_reviewers() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\n")]);
    let id =
        propose(&repo, "bot", &["a.txt", "--old", "two\n", "--new", "2\nand 3\n", "-m", "Count"]);
    let args = ["revise", &id, "a.txt", "--old", "two\n", "--new", "2\nand three\n", "-q"];
    aye(&repo, &args).ok();
    let revision = aye(&repo, &["show", &id, "--json"]).ok().json()["revision"].clone();
    let named = format!("{id}@{}", revision.as_str().unwrap());
    aye(&repo, &["apply", &named, "--yes"]).ok();
    let answer = aye(&repo, &["blame", "a.txt", "--json"]).ok().json();
    let by = |at: usize| answer["ranges"][at]["origin"]["by"].as_str().unwrap().to_owned();
    assert_eq!([by(1), by(2)], ["bot", "Ada Reviewer"]);
}

#[test]
fn what_git_says_is_kept_through_a_merge_and_a_staged_move() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\nfour\n")]);
    let start = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["switch", "-q", "-c", "side"]);
    repo.write("a.txt", "one\ntwo\nthree\n4\n");
    let side = repo.commit("Side");
    repo.git(&["switch", "-q", "main"]);
    repo.write("a.txt", "1\ntwo\nthree\nfour\n");
    let main = repo.commit("Main");
    repo.git(&["merge", "-q", "--no-commit", "side"]);
    let expected =
        [format!("1-1 commit {main}"), format!("2-3 commit {start}"), format!("4-4 commit {side}")];
    assert_eq!(ranges(&repo, "a.txt"), expected);
    repo.git(&["reset", "-q", "--hard"]);
    repo.git(&["mv", "a.txt", "b.txt"]);
    repo.write("b.txt", "1\nnew\ntwo\nthree\nfour\n");
    let expected = [
        format!("1-1 commit {main}"),
        "2-2 uncommitted ".to_owned(),
        format!("3-5 commit {start}"),
    ];
    assert_eq!(ranges(&repo, "b.txt"), expected);
    // Nothing of it is known to git: neither staged nor committed.
    repo.write("c.txt", "new\n");
    assert_eq!(ranges(&repo, "c.txt"), ["1-1 uncommitted "]);
}

/// `git blame` of a file of the work tree would run its filter, and the file system monitor.
#[cfg(unix)]
#[test]
fn no_program_of_the_repository_is_run() {
    let repo = Repo::with(&[("a.txt", "one\r\ntwo\r\n"), ("b.txt", "one\n"), ("c.txt", "c\n")]);
    repo.git(&["rm", "-q", "--cached", "c.txt"]);
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
    for (name, text) in [("a.txt", "one\r\n2\r\n"), ("b.txt", "one\n"), ("c.txt", "c\nd\n")] {
        repo.write(name, text);
        let _ = std::fs::remove_file(&ran);
        repo.aye(&["blame", name]).ok();
        let found = ranges(&repo, name);
        assert!(!ran.exists(), "{name}: {}", std::fs::read_to_string(&ran).unwrap_or_default());
        assert_eq!(found[0], format!("1-1 commit {start}"), "{name}: {found:?}");
    }
    // Line endings are still git's to convert, and no change.
    repo.remove(".git/info/attributes");
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.write("b.txt", "one\r\n");
    assert_eq!(ranges(&repo, "b.txt"), [format!("1-1 commit {start}")]);
}
