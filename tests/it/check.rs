//! `aye check`: what wants attention, and in which form CI gets to know.

use serde_json::Value;

use crate::support::Repo;
use crate::support::clones::{clone, exchange, join};
use crate::support::record::{apply, propose, reject, request_changes, undo};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\n"), ("src/b.txt", "three\nfour\n")];

#[test]
fn nothing_pending_is_exit_0() {
    let repo = Repo::with(FILES);
    for _ in 0..2 {
        repo.aye(&["check"]).ok();
    }
    let json = repo.aye(&["check", "--json"]).ok().json();
    assert_eq!(json["schema"], "aye/check@1");
    assert_eq!(json["ok"], true);
    // Nothing but the stamp in git's own directory.
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_pending_proposal_is_a_finding_with_a_remedy() {
    let repo = Repo::with(FILES);
    repo.aye(&["check"]).ok();
    let id = propose(&repo, "a.txt", "one", "eins");
    repo.aye(&["check"]).ok().says("warning[pending]");
    let run = repo.aye(&["check", "--fail-on", "any"]).exits(1);
    run.shown("check");
    repo.aye(&["check", "--fail-on", "error"]).ok().says("warning[pending]");
    repo.aye(&["check", "--fail-on", "error,pending"]).exits(1).says("warning[pending]");
    repo.aye(&["check", "--fail-on", "error,expiring"]).ok().says("note[pending]");
    assert_eq!(repo.aye(&["check", "--json"]).ok().json()["ok"], true);
    repo.aye(&["check", "--max-pending", "1"]).ok();
    repo.aye(&["check", "--max-pending", "0"]).exits(1).says("error[too_many_pending]");
    repo.aye(&["check", "--fail-on", "contested,conflict"]).ok().says("note[pending]");
    repo.aye(&["check", "--fail-on", "none"]).ok();
    repo.aye(&["check", "--fail-on", "pending"]).exits(1);
    repo.aye(&["check", "--fail-on", "sunshine"]).fails("usage", 2);
    repo.aye(&["check", "--kind", "memory"]).ok();
    repo.aye(&["check", "--kind", "code", "--fail-on", "any"]).exits(1);
    repo.aye(&["check", "--fail-on", "any", "--paths", "src"]).ok();
    repo.aye(&["check", "--fail-on", "any", "--paths", "src,a.txt"]).exits(1);
    repo.cmd(&["check", "--fail-on", "any", "--paths", "b.txt"]).dir(repo.path("src")).run().ok();
    reject(&repo, &id, "no");
    repo.aye(&["check"]).ok();
}

#[test]
fn each_proposal_shows_its_most_serious_concern() {
    let repo = Repo::with(FILES);
    let asked = propose(&repo, "a.txt", "one", "eins");
    request_changes(&repo, &asked, "please in French");
    let unfit = propose(&repo, "src/b.txt", "three", "drei");
    repo.write("src/b.txt", "tres\nfour\n");
    let soon = repo
        .agent(
            "codex",
            &["propose", "a.txt", "--old", "two", "--new", "zwei", "--expires-in", "5h", "--json"],
        )
        .ok()
        .json();
    let soon = soon["proposal_id"].as_str().unwrap();
    let findings = repo.aye(&["check", "--json"]).exits(1).json()["findings"].clone();
    let rule = |id: &str| {
        let all = findings.as_array().unwrap();
        let of: Vec<_> = all.iter().filter(|finding| finding["proposal_id"] == id).collect();
        assert_eq!(of.len(), 1, "{findings:#}");
        of[0].clone()
    };
    assert_eq!(rule(&asked)["rule"], "changes_requested");
    assert_eq!(rule(soon)["rule"], "expiring");
    assert_eq!(rule(&unfit)["rule"], "conflict");
    assert_eq!(rule(&unfit)["level"], "error");
    repo.aye(&["check", "--expiring-within", "1h", "--json", "--fail-on", "any"])
        .exits(1)
        .says("\"pending\"")
        .lacks("\"expiring\"");
    repo.aye(&["check", "--expiring-within", "soon"]).fails("usage", 2);
}

#[test]
fn ci_gets_each_of_its_formats() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "src/b.txt", "three", "drei");
    let github = repo.aye(&["check", "--format", "github", "--fail-on", "any"]).exits(1).out();
    assert!(
        github.starts_with("::warning file=src/b.txt,title=aye check%3A pending::"),
        "{github}"
    );
    assert_eq!(github.lines().count(), 1);
    let sarif = repo.aye(&["check", "--format", "sarif", "--fail-on", "any"]).exits(1).json();
    let schema = include_str!("../data/sarif-schema-2.1.0.json");
    let schema = serde_json::from_str(schema).unwrap();
    let errors: Vec<_> = jsonschema::validator_for(&schema)
        .unwrap()
        .iter_errors(&sarif)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(sarif["runs"][0]["results"][0]["properties"]["proposal_id"], id);
    let json = repo.aye(&["check", "--json"]).ok().json();
    assert_eq!(json["findings"][0]["file_path"], "src/b.txt");
    repo.aye(&["check", "--yaml"]).exits(2);
    // So is what could not be looked at; a service that scans code would take it for mended.
    let nowhere = |format| ["check", "--range", "nowhere..HEAD", "--format", format];
    repo.aye(&nowhere("github")).exits(3).says("invalid_range::");
    assert_eq!(repo.aye(&nowhere("sarif")).exits(3).out(), "");
    // A form of reports is refused elsewhere before anything is done.
    let before = repo.git(&["for-each-ref"]);
    repo.agent("codex", &["propose", "a.txt", "--old", "one", "--new", "x", "--format", "sarif"])
        .exits(2);
    assert_eq!(repo.git(&["for-each-ref"]), before);
}

/// GitHub refuses the whole report for one result without a file, or without a line.
#[test]
fn every_result_for_code_scanning_is_at_a_line_of_a_file() {
    let repo = Repo::with(FILES);
    repo.write("src/new.txt", "x\n");
    repo.commit("More\n\nProposal-Id: prop_0123456789");
    let range = ["check", "--range", "HEAD~1..", "--require-proposal", "--format"];
    let sarif = |repo: &Repo, args: &[&str]| {
        let report = repo.aye(&[args, &["sarif"]].concat()).exits(1).json();
        let results = report["runs"][0]["results"].as_array().expect("results").clone();
        let place = |result: &Value| {
            let place = &result["locations"][0]["physicalLocation"];
            assert!(place["region"]["startLine"].as_u64().is_some_and(|line| line > 0), "{result}");
            place["artifactLocation"]["uri"].as_str().expect("a file").to_owned()
        };
        results.iter().map(place).collect::<Vec<_>>()
    };
    assert_eq!(sarif(&repo, &range), ["src/new.txt"]);
    // The other forms have no file where there is none.
    repo.aye(&[&range[..], &["github"]].concat()).exits(1).says("::error ").lacks("file=");
    // A commit without files, and what is wrong with a setting.
    repo.git(&["commit", "-q", "--allow-empty", "-m", "Empty\n\nProposal-Id: prop_9876543210"]);
    assert_eq!(sarif(&repo, &range), [".agent-memory/policy.toml"]);
    repo.write(".agent-memory/policy.toml", "no policy");
    assert_eq!(sarif(&repo, &["check", "--format"]), [".agent-memory/policy.toml"]);
}

#[test]
fn staged_changes_that_meet_a_pending_proposal_are_found() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    repo.aye(&["check", "--staged"]).ok();
    repo.write("src/b.txt", "other\n");
    repo.git(&["add", "src/b.txt"]);
    repo.aye(&["check", "--staged"]).ok();
    repo.write("a.txt", "uno\ntwo\n");
    repo.aye(&["check", "--staged"]).ok();
    repo.git(&["add", "a.txt"]);
    repo.aye(&["check", "--staged", "--fail-on", "any"])
        .exits(1)
        .says("touches_pending")
        .says(&id)
        .says("a.txt");
    repo.aye(&["check", "--staged", "--paths", "src"]).ok();
    // An apply that is itself committing does not meet itself.
    repo.cmd(&["check", "--staged"]).env("AYE_COMMITTING", &id).run().ok();
    // Each file of a proposal counts, not only the first.
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-uno\n+ein\n two\n--- a/src/b.txt\n+++ b/src/b.txt\n@@ -1 +1 @@\n-other\n+drei\n";
    let both = repo.cmd(&["propose", "--patch", "-", "-q"]).env("AYE_AGENT", "codex");
    let both = both.stdin(patch).run();
    assert_eq!(both.status, 0, "{}", both.err());
    repo.aye(&["check", "--staged", "--paths", "src"]).ok().says(&both.id()).says("src/b.txt");
    repo.aye(&["check", "--staged", "--paths", "a.txt"]).ok().says(&both.id());
    repo.aye(&["check", "--staged", "--kind", "memory"]).ok();
}

#[test]
fn staged_works_before_the_first_commit_and_for_deletions() {
    let repo = Repo::new();
    repo.agent("codex", &["propose", "new.txt", "--old", "", "--new", "x\n"]).ok();
    repo.write("new.txt", "y\n");
    repo.git(&["add", "new.txt"]);
    repo.aye(&["check", "--staged", "--fail-on", "any"]).exits(1).says("new.txt");
    let repo = Repo::with(FILES);
    propose(&repo, "a.txt", "one", "eins");
    repo.git(&["rm", "-q", "a.txt"]);
    repo.aye(&["check", "--staged", "--fail-on", "any"]).exits(1).says("a.txt");
}

#[test]
fn a_range_is_held_to_the_proposals_it_touches_and_names() {
    let repo = Repo::with(FILES);
    let base = repo.git(&["rev-parse", "HEAD"]);
    let range = format!("{base}..HEAD");
    let applied = propose(&repo, "a.txt", "one", "eins");
    apply(&repo, &applied);
    repo.commit(&format!("Use German\n\nProposal-Id: {applied}"));
    repo.aye(&["check", "--range", &range]).ok();

    let pending = propose(&repo, "src/b.txt", "three", "drei");
    repo.write("src/b.txt", "tres\nfour\n");
    repo.commit("Use Spanish");
    repo.aye(&["check", "--range", &range]).ok().says("warning[touches_pending]").says(&pending);
    repo.aye(&["check", "--range", &range, "--fail-on", "any"]).exits(1);
    reject(&repo, &pending, "Spanish it is");
    repo.aye(&["check", "--range", &range]).ok();

    repo.commit(&format!("Claim\n\nProposal-Id: {pending}"));
    repo.aye(&["check", "--range", &range]).exits(1).says("not_applied").says("rejected");
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);

    repo.commit("Claim\n\nProposal-Id: prop_0000000000");
    repo.aye(&["check", "--range", &range]).exits(1).says("unknown_proposal");
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);

    repo.write("a.txt", "eins!\ntwo\n");
    repo.commit(&format!("Smuggle\n\nProposal-Id: {applied}"));
    repo.aye(&["check", "--range", &range]).exits(1).says("content_differs").says("a.txt");
    repo.aye(&["check", "--range", "HEAD~1..HEAD", "--paths", "src"]).ok();
    repo.aye(&["check", "--range", "HEAD~1..HEAD", "--kind", "memory"]).ok();
    repo.aye(&["check", "--range", "HEAD~1..HEAD", "--kind", "code"]).exits(1);
}

#[test]
fn a_merge_is_held_to_what_neither_of_its_sides_has() {
    let repo = Repo::with(FILES);
    let base = repo.git(&["rev-parse", "HEAD"]);
    repo.write("other.txt", "new\n");
    repo.commit("Ours");
    repo.git(&["switch", "-q", "-c", "side", &base]);
    repo.write("src/b.txt", "tres\nfour\n");
    repo.commit("Theirs");
    repo.git(&["switch", "-q", "-"]);
    repo.git(&["merge", "-q", "--no-edit", "side"]);
    // Made on what the merge brought, which was changed where it was committed.
    let id = propose(&repo, "src/b.txt", "tres", "drei");
    let range = ["check", "--range", "side..HEAD"];
    repo.aye(&range).ok();
    repo.write("src/b.txt", "trois\nfour\n");
    repo.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    repo.aye(&range).ok().says("touches_pending").says(&id).says("src/b.txt");
}

#[test]
fn a_range_that_is_none_is_refused() {
    let repo = Repo::with(FILES);
    for range in ["nowhere..HEAD", "--all", "", "--output=x"] {
        let run = repo.aye(&["check", &format!("--range={range}")]);
        assert!(run.status == 2 || run.status == 3, "{range}: {}", run.err());
    }
    assert!(!repo.exists("x"));
}

#[test]
fn untrusted_text_cannot_reach_the_terminal_or_start_a_command() {
    let repo = Repo::with(FILES);
    repo.agent(
        "bot\u{1b}]0;x\u{7}",
        &["propose", "a.txt", "--old", "one", "--new", "x", "-m", "hi\u{202e}\n::error::forged"],
    )
    .ok();
    for format in ["text", "github", "sarif", "json"] {
        let out = repo.aye(&["check", "--format", format]).ok().out();
        assert!(!out.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{format}: {out}");
        assert!(!out.lines().any(|line| line.starts_with("::error::forged")), "{format}: {out}");
    }
}

#[test]
fn the_idle_stamp_never_hides_a_proposal() {
    let repo = Repo::with(FILES);
    let first = propose(&repo, "a.txt", "one", "eins");
    reject(&repo, &first, "no");
    repo.later(&["check", "--fail-on", "any"]).run().ok();
    assert!(repo.exists(".git/aye/idle"));
    let second = propose(&repo, "a.txt", "two", "zwei");
    repo.aye(&["check", "--fail-on", "any"]).exits(1).says(&second);
    reject(&repo, &second, "no");
    repo.aye(&["check", "--fail-on", "any"]).ok();
    // Packing the refs moves them into another file.
    repo.git(&["pack-refs", "--all"]);
    repo.aye(&["check", "--fail-on", "any"]).ok();
    repo.aye(&["check", "--fail-on", "any"]).ok();
    propose(&repo, "a.txt", "two", "dos");
    repo.aye(&["check", "--fail-on", "any"]).exits(1);
    // A stamp from a look in the future says nothing about now.
    let future = repo.text(".git/aye/idle").replace("looked 1", "looked 9");
    repo.write(".git/aye/idle", &future);
    repo.aye(&["check", "--fail-on", "any"]).exits(1);
    // From a linked work tree the same.
    repo.git(&["worktree", "add", "-q", "../linked"]);
    repo.cmd(&["check", "--fail-on", "any"]).dir(repo.outer().join("linked")).run().exits(1);
    // A fetched thread is seen too.
    let other = Repo::with(FILES);
    other.aye(&["check", "--fail-on", "any"]).ok();
    exchange(&other, &repo);
    other.aye(&["check", "--fail-on", "any"]).exits(1);
}

#[test]
fn decisions_of_two_clones_that_differ_are_reported() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let other = Repo::with(FILES);
    exchange(&other, &repo);
    apply(&other, &id);
    reject(&repo, &id, "no");
    exchange(&repo, &other);
    // Without a policy neither is binding, and a warning fails nothing.
    repo.aye(&["check"]).ok().says("warning[contested]").says(&id);
    // The apply is taken back; the rejection, of which nobody took anything back, stands.
    undo(&repo, &id);
    repo.aye(&["check"]).ok();
    repo.aye(&["list", "--status", "rejected"]).ok().says(&id);
}

#[test]
fn one_file_is_held_against_every_proposal_that_changes_it() {
    let repo = Repo::with(FILES);
    let first = propose(&repo, "a.txt", "one", "eins");
    let second = propose(&repo, "a.txt", "two", "zwei");
    let third = propose(&repo, "src/b.txt", "four", "vier");
    repo.aye(&["check", "--fail-on", "conflict"]).ok().says(&first).says(&second).says(&third);
    // Both fit what the first has made of the file, though neither starts from it.
    repo.write("a.txt", "eins\ntwo\n");
    repo.aye(&["check", "--fail-on", "conflict"]).ok();
    repo.write("a.txt", "ein\ntwo\n");
    let conflicts = || {
        let json = repo.aye(&["check", "--fail-on", "conflict", "--json"]).exits(1).json();
        let all = json["findings"].as_array().expect("findings").iter();
        let all = all.filter(|finding| finding["rule"] == "conflict");
        all.map(|finding| finding["proposal_id"].as_str().expect("an id").to_owned()).collect()
    };
    let found: Vec<String> = conflicts();
    assert_eq!(found, [first.as_str()]);
    // The file is as it was, but what it is to become is gone.
    let lost = "three\nvier\n";
    let id = repo.program("git").args(&["hash-object", "--stdin"]).stdin(lost).run().ok().out();
    let (directory, name) = id.trim().split_at(2);
    repo.remove(&format!(".git/objects/{directory}/{name}"));
    assert!(conflicts().contains(&third));
}

/// Whatever a check says of what waits, the next one says the same, though it reads less.
#[test]
fn a_second_check_says_what_the_first_one_said() {
    let repo = Repo::with(FILES);
    let ids: Vec<String> = ["eins", "uno", "un", "en"]
        .iter()
        .map(|word| propose(&repo, "a.txt", "one", word))
        .collect();
    let other = propose(&repo, "src/b.txt", "three", "drei");
    request_changes(&repo, &ids[1], "why");
    repo.aye(&["comment", &ids[2], "-m", "Think"]).ok();
    repo.write("src/b.txt", "something else\n");
    repo.ticks();
    let now = (chrono::Utc::now() + chrono::Duration::hours(1)).to_rfc3339();
    let check = |args: &[&str]| {
        let args: Vec<&str> = ["check", "--json"].iter().chain(args).copied().collect();
        repo.cmd(&args).env("AYE_NOW", &now).run().out()
    };
    let first = check(&[]);
    for said in [&ids[0], &other, "changes_requested", "conflict"] {
        assert!(first.contains(said), "{said}: {first}");
    }
    assert_eq!(check(&[]), first);
    // A choice of paths is looked at as before.
    assert!(check(&["--paths", "src"]).contains(&other));
    repo.write("src/b.txt", "three\nfour\n");
    assert!(!check(&[]).contains("\"conflict\""));
}

#[test]
fn an_agent_that_signs_is_reported() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    repo.write("a.txt", "two\n");
    let message =
        "Two\n\nCo-Authored-By: Claude <noreply@anthropic.com>\nSigned-off-by: Ada <a@x.org>";
    repo.git(&["commit", "-qam", message]);
    let check = ["check", "--range", "HEAD~1..HEAD"];
    repo.aye(&check).ok().says("note[agent_signed]").says("'claude'");
    repo.git(&["config", "aye.assistedBy", "true"]);
    repo.aye(&check).exits(1).says("error[agent_signed]");
    repo.aye(&["check", "--range", "HEAD~1..HEAD", "--fail-on", "pending"]).ok();
}

/// A range of many commits is one cause, and what was fetched from nowhere is not judged.
#[test]
fn a_clone_without_events_says_so_and_one_cause_is_one_finding() {
    let (server, ada) = (Repo::bare(), Repo::with(FILES));
    join(&ada, &server);
    let base = ada.git(&["rev-parse", "HEAD"]);
    let mut ids = Vec::new();
    for (old, new) in
        [("one", "eins"), ("two", "zwei"), ("eins", "uno"), ("zwei", "due"), ("uno", "un")]
    {
        let id = propose(&ada, "a.txt", old, new);
        ada.aye(&["apply", &id, "--yes", "--commit"]).ok();
        ids.push(id);
    }
    let waits = propose(&ada, "src/b.txt", "three", "drei");
    for text in ["tres\nfour\n", "trois\nfour\n"] {
        ada.write("src/b.txt", text);
        ada.commit("By hand");
    }
    ada.git(&["push", "-q", "origin", "HEAD:main"]);
    let range = format!("{base}..HEAD");
    let findings = |repo: &Repo, args: &[&str], exit: i32| {
        let run = repo.aye(&[&["check", "--range", &range, "--json"], args].concat()).exits(exit);
        run.json()["findings"].as_array().unwrap().clone()
    };
    let touched = findings(&ada, &[], 0);
    assert_eq!((touched.len(), &touched[0]["rule"]), (1, &"touches_pending".into()), "{touched:?}");
    assert_eq!(touched[0]["proposal_id"], waits);

    let bob = clone(&server);
    for args in [&["check"][..], &["check", "--range", &range]] {
        let run = bob.aye(args).fails("no_events", 2);
        assert!(run.err().contains("aye sync --fetch origin"), "{}", run.err());
    }
    bob.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
    for args in [&[][..], &["list"], &["review"], &["list"]] {
        let run = bob.aye(args).ok();
        assert!(run.err().contains("aye sync --fetch origin"), "{run}");
    }
    // Of the events of others alone, each commit is unknown for one reason.
    propose(&bob, "src/b.txt", "four", "vier");
    let unknown = findings(&bob, &[], 1);
    let unknown: Vec<_> = unknown.iter().filter(|it| it["level"] == "error").collect();
    assert_eq!(
        (unknown.len(), &unknown[0]["rule"]),
        (1, &"unknown_proposal".into()),
        "{unknown:?}"
    );
    let message = unknown[0]["message"].as_str().unwrap();
    assert!(message.contains("5 commits") && message.contains(&ids[0]), "{message}");
    // A team's first proposal is still to come: the remote was asked, and has no event.
    let empty = Repo::bare();
    ada.git(&["push", "-q", empty.root().to_str().unwrap(), "HEAD:main"]);
    let dora = clone(&empty);
    dora.aye(&["check"]).fails("no_events", 2);
    dora.aye(&["sync", "--fetch"]).ok();
    dora.aye(&["check"]).ok();
    // Who has set aye up has nothing pending.
    let carla = clone(&server);
    carla.git(&["config", "aye.clone", "c1c1c1c1c1c1c1c1"]);
    carla.aye(&["check"]).ok();
}
