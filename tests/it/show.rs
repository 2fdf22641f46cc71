//! `aye show`: what was said stays, and a damaged store hides no more than it must.

use crate::support::Repo;
use crate::support::record::propose;
use crate::support::terminal::Terminal;

#[test]
fn a_request_for_changes_stays_when_a_revision_has_answered_it() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let id = propose(&repo, "a.txt", "one", "eins");
    let ask = |text: &str| {
        repo.aye(&["comment", &id, "--request-changes", "-m", text]).ok();
    };
    ask("say it in Latin");
    repo.aye(&["show", &id, "--comments"]).ok().says("say it in Latin");
    repo.agent("codex", &["revise", &id, "a.txt", "--old", "one", "--new", "unus"]).ok();
    repo.aye(&["comment", &id, "-m", "better"]).ok();
    ask("and in capitals");
    let said = repo.aye(&["show", &id, "--comments"]).ok().out();
    let at = |text: &str| said.find(text).unwrap_or_else(|| panic!("{text} in {said}"));
    assert!(at("(answered, or taken back)") < at("say it in Latin"));
    assert!(at("say it in Latin") < at("better") && at("better") < at("requests changes"));
    assert!(at("requests changes") < at("and in capitals"));
    let json = repo.item(&id);
    assert_eq!(json["changes_requested"]["reason"], "and in capitals");
    let reasons: Vec<_> =
        json["requests"].as_array().unwrap().iter().map(|r| r["reason"].clone()).collect();
    assert_eq!(reasons, ["say it in Latin", "and in capitals"]);
}

#[test]
fn what_can_be_read_is_shown_where_a_blob_is_missing() {
    let repo = Repo::with(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    repo.write("a.txt", "eins\n");
    repo.write("b.txt", "zwei\n");
    let id =
        repo.agent("codex", &["propose", "--worktree", ".", "-m", "In German", "--json"]).ok().id();
    repo.aye(&["comment", &id, "-m", "why?"]).ok();
    let json = repo.item(&id);
    let blob = json["changes"][0]["after"]["id"].as_str().unwrap().to_owned();
    repo.remove(&format!(".git/objects/{}/{}", &blob[..2], &blob[2..]));
    repo.git(&["checkout", "-q", "."]);
    let run = repo.aye(&["show", &id]);
    let run = run.says("why?").says("+zwei");
    run.lacks("+eins").fails("object_missing", 6);
    repo.aye(&["show", &id, "--json"]).ok().says(&blob);
    repo.aye(&["show", &id, "--comments"]).says("why?");
    repo.aye(&["diff", &id]).fails("object_missing", 6);
}

#[test]
fn a_comment_is_about_a_place_that_the_proposal_has() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\n"), ("b.txt", "b\n")]);
    let id = propose(&repo, "a.txt", "one\n", "eins\nzwei\n");
    let say = |args: &[&str]| repo.aye(&[&["comment", &id, "-m", "x"], args].concat());
    say(&["--path", "a.txt", "--line", "3"]).ok();
    say(&["--path", "a.txt", "--line", "4"]).fails("invalid_argument", 6);
    say(&["--path", "b.txt"]).fails("invalid_argument", 6);
    assert_eq!(repo.aye(&["show", &id, "--json"]).json()["comments"].as_array().unwrap().len(), 1);
}

/// Whatever shows or decides a proposal says which paths deserve a second look.
#[test]
fn sensitive_paths_are_pointed_out_everywhere() {
    let repo = Repo::with(&[("Makefile", "all:\n\ttrue\n"), ("a.txt", "one\n"), ("run.py", "x\n")]);
    let id = |run: crate::support::Run| run.ok().id();
    let plain = id(repo.aye(&["propose", "a.txt", "--old", "one", "--new", "1", "--json"]));
    let build = id(repo.aye(&["propose", "Makefile", "--old", "true", "--new", "false", "--json"]));
    let patch = "diff --git a/run.py b/run.py\nold mode 100644\nnew mode 100755\n";
    let mode = id(repo.aye_stdin(&["propose", "--patch", "-", "--json"], patch));
    for (id, line) in [(&build, "! build: Makefile "), (&mode, "! mode: run.py becomes executable")]
    {
        repo.aye(&["show", id]).ok().says(line);
        repo.aye(&["diff", id]).ok().notes(line);
        repo.aye(&["diff", id, "--patch"]).ok().notes(line).lacks("! ");
        repo.aye(&["apply", id, "--dry-run"]).ok().notes(line).lacks("! ");
        repo.aye(&["apply", id, "--mark-only", "--dry-run", "--json"]).ok().notes(line);
        {
            let mut shown =
                crate::support::terminal::Terminal::start(repo.cmd(&["apply", id]), 40, 100);
            shown.sees(line).sees("[y,n,?]").types("n");
            shown.ends();
        }
    }
    repo.aye(&["diff", &plain]).ok();
    let run = repo.aye(&["diff", &plain]);
    assert!(!run.err().contains("! "), "{run}");
    let list = repo.aye(&["list", "--json"]).ok().json();
    for item in list["proposals"].as_array().expect("a list") {
        let is_marked = item["marks"] != serde_json::json!([]);
        assert_eq!(is_marked, item["proposal_id"] != plain.as_str(), "{item}");
    }
    let table = repo.aye(&["list"]).ok().out();
    let marked = table.lines().filter(|line| line.trim_end().ends_with(" !")).count();
    assert_eq!(marked, 2, "{table}");
    // Where nobody is asked, the same is said.
    repo.let_flags_decide();
    let decided = |command: &str, id: &str| {
        repo.aye(&[command, &repo.at_revision(id), "--yes"]).ok().lacks("! ").err()
    };
    assert!(decided("approve", &mode).contains("! mode: run.py "));
    assert!(decided("apply", &mode).contains("! mode: run.py "));
    assert!(decided("apply", &build).contains("! build: Makefile "));
    let plain = decided("apply", &plain);
    assert!(!plain.contains("! "), "{plain}");
}

/// A diff is what applying it would do; where nothing can be applied, a note tells why.
#[test]
fn a_diff_of_what_does_not_fit_says_so() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "1\n")]);
    let propose = |path: &str, old: &str, new: &str| {
        repo.agent("bot", &["propose", path, "--old", old, "--new", new, "-q"]).ok().id()
    };
    let (changed, gone) = (propose("a.txt", "two", "zwei"), propose("b.txt", "1", "2"));
    assert_eq!(repo.aye(&["diff", &changed]).ok().err().lines().count(), 1);
    repo.write("a.txt", "one\nTWO\nthree\n");
    std::fs::remove_file(repo.path("b.txt")).unwrap();
    for (id, path, line) in [(&changed, "a.txt", "+zwei"), (&gone, "b.txt", "+2")] {
        let run = repo.aye(&["diff", id]).ok().says(line);
        run.notes(path);
        repo.aye(&["diff", id, "--json"]).ok().notes(path);
        let proposed = repo.aye(&["diff", id, "--proposed"]).ok().says(line);
        assert!(!proposed.err().contains(path), "{proposed}");
    }
}

#[test]
fn the_only_pending_proposal_needs_no_id() {
    let repo = Repo::with(&[("f", "a\nb\n")]);
    repo.let_flags_decide();
    repo.aye(&["show"]).fails("proposal_not_found", 3);
    let propose = |old: &str, new: &str| {
        repo.agent("codex", &["propose", "f", "--old", old, "--new", new, "-q"]).ok().id()
    };
    let id = propose("a", "A");
    for command in ["show", "diff"] {
        assert_eq!(repo.aye(&[command, "--json"]).ok().json()["proposal_id"], id);
    }
    for command in ["apply", "reject", "approve"] {
        repo.aye(&[command]).fails("confirmation_required", 4);
        repo.aye(&[command, "--yes"]).fails("revision_required", 4);
    }
    repo.agent("codex", &["reject"]).fails("revision_required", 4);
    let mut terminal = Terminal::start(repo.cmd(&["apply"]), 30, 100);
    terminal.sees(&id).sees("[y,n,?]").types("n");
    terminal.ends();
    let other = propose("b", "B");
    let json = repo.aye(&["show", "--json"]).fails("usage", 2).json();
    assert_eq!(json["error"]["details"]["candidates"], serde_json::json!([other, id]));
    repo.aye(&["apply", "--yes"]).fails("usage", 2);
    assert_eq!(repo.text("f"), "a\nb\n");
}
