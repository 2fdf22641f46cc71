//! Others purge, freeze, end, publish and block nothing (H1, H4, M4, M5, M9, L3, L8).

use super::*;
use crate::support::clones::refs;
use serde_json::json;

/// A tombstone of the thread, as somebody else's remote brings it.
fn tombstone(scene: &Scene) -> String {
    let data = json!({"thread": scene.thread, "reason": "forged", "evidence": "terminal"});
    Forged::event("purge", data).write(&scene.repo)
}

#[test]
fn a_fetched_purge_removes_nothing_here() {
    let scene = scene();
    scene.repo.aye(&["apply", &scene.id, "--yes"]).ok();
    commit_as(&scene.repo, &scene.id);
    let own = || refs(&scene.repo, &["refs/aye/p", "refs/aye/private"]);
    let before = (own(), show(&scene.repo, &scene.id));
    let gone = tombstone(&scene);
    forger::fetched(&scene.repo, &format!("gone/{}", scene.thread), &gone);
    // In the thread itself it is a record like any other that does not count.
    let inside = Forged::event(
        "purge",
        json!({"thread": scene.thread, "reason": "forged", "evidence": "flag"}),
    );
    scene.fetches(&inside.on(&[&clones::tip(&scene.repo, &scene.thread)]).write(&scene.repo));
    scene.is("applied");
    assert!(finds(&scene.repo, "purged_content"));
    scene.repo.aye(&LAST).ok();
    scene.repo.aye(&["doctor", "--repair"]);
    assert_eq!(
        (own(), show(&scene.repo, &scene.id)["status"].clone()),
        (before.0.clone(), json!("applied"))
    );
    // Nor does it when its remote has dropped it, or says so of every thread.
    std::fs::remove_dir_all(scene.repo.path(".git/refs/aye/remotes")).expect("removed");
    scene.is("applied");
    assert!(!finds(&scene.repo, "purged_content"));
    // A person obeys by the same command as ever.
    forger::fetched(&scene.repo, &format!("gone/{}", scene.thread), &gone);
    scene
        .repo
        .agent("codex", &["purge", &scene.id, "--yes", "-m", "x"])
        .fails("human_approval_required", 4);
    scene.repo.aye(&["purge", &scene.id, "--yes", "-m", "as they say"]).ok();
    scene.repo.aye(&["show", &scene.id]).fails("proposal_purged", 3);
}

#[test]
fn an_unknown_kind_or_version_freezes_nothing() {
    let scene = scene();
    for forged in [
        Forged::event("ratify", json!({"persons": 2})).keys(json!({"needs": "99.0"})),
        Forged::event("ratify", json!({"persons": 2})).by("codex", "agent"),
        Forged::comment("from later on").keys(json!({"v": 3})),
        Forged::event("apply", json!({"anything": []})).keys(json!({"v": 1000})),
        Forged::event("ratify", json!({})).keys(json!({"time": null})),
        Forged::event("ratify", json!({})).keys(json!({"time": "later"})),
    ] {
        for command in [
            &["apply", &scene.id, "--yes"][..],
            &["reject", &scene.id, "--yes"],
            &["approve", &scene.id, "--yes"],
            &["revise", &scene.id, "a.txt", "--old", "one", "--new", "1"],
            &["comment", &scene.id, "-m", "x"],
            &["purge", &scene.id, "--yes", "-m", "x"],
        ] {
            let copy = scene.copy();
            copy.fetches(&forged.clone().on(&[&copy.thread]).write(&copy.repo));
            copy.is("pending");
            assert!(finds(&copy.repo, SKIPPED));
            copy.repo.aye(command).ok();
        }
    }
    // What descends from it counts.
    let unknown = Forged::event("ratify", json!({})).on(&[&scene.thread]).write(&scene.repo);
    scene.fetches(&Forged::comment("below it").on(&[&unknown]).write(&scene.repo));
    assert_eq!(show(&scene.repo, &scene.id)["comments"].as_array().map(Vec::len), Some(1));
    // And what decides on top of it.
    scene.repo.aye(&["apply", &scene.id, "--yes"]).ok();
    scene.is("applied");
}

/// Whose approvals of `scene` count.
fn approvals(repo: &Repo, id: &str) -> usize {
    let shown = show(repo, id);
    let all = shown["approvals"].as_array().expect("a list").iter();
    all.filter(|approval| approval["counts"] == true).count()
}

#[test]
fn nobody_ends_or_replaces_a_persons_approval_but_a_person() {
    let scene = scene();
    scene.repo.aye(&["approve", &scene.id, "--yes"]).ok();
    let own = clones::tip(&scene.repo, &scene.thread);
    scene.repo.write("a.txt", "ONE\ntwo\nthree\n");
    commit_as(&scene.repo, &scene.id);
    scene.repo.aye(&LAST).ok();
    let request = &scene.bob(&[&["comment", &scene.id, "--request-changes", "-m", "no"]])[0];
    let request = Forged::read(&scene.repo, request);
    let approve = Forged::read(&scene.repo, &own);
    let now = forger::record(&scene.repo, "one\ntwo\nthree\nfour\n");
    let evil = forger::record(&scene.repo, "EVIL\n");
    let manifest = format!("edited none {now} {now} {evil} a.txt\0");
    let undo = &scene.bob(&[&["apply", &scene.id, "--yes"], &["undo", &scene.id, "--yes"]])[0];
    let undo = Forged::read(&scene.repo, undo);
    for (what, forged) in [
        ("an agent's request", request.clone().by("codex", "agent")),
        ("a build machine's approval", approve.clone().by("build", "ci")),
        ("an agent's approval", approve.clone().by("codex", "agent")),
        ("an agent's undo", undo.by("codex", "agent")),
        ("a later approval of other bytes", approve.manifest(&scene.repo, &manifest)),
    ] {
        let copy = scene.copy();
        copy.fetches(&forged.on(&[&own]).write(&copy.repo));
        let is_another = what == "a later approval of other bytes";
        assert_eq!(approvals(&copy.repo, &copy.id), 1 + usize::from(is_another), "{what}");
        copy.is("pending");
        copy.repo.aye(&LAST).ok();
    }
    // The control: a person's request does.
    scene.fetches(&request.on(&[&own]).write(&scene.repo));
    assert_eq!(approvals(&scene.repo, &scene.id), 0);
}

#[test]
fn an_agent_decides_nothing_in_any_form() {
    let scene = scene();
    let apply = scene.apply();
    let reject = &scene.bob(&[&["reject", &scene.id, "--yes"]])[0];
    let reject = Forged::read(&scene.repo, reject);
    for (what, forged) in [
        ("applies", apply.clone().by("codex", "agent")),
        (
            "applies as a tool",
            apply.clone().by("codex", "agent").stated(json!({"evidence": "tool"})),
        ),
        ("rejects", reject.clone().by("claude", "agent")),
        ("ends", reject.clone().by("codex", "agent").ends(&scene.repo, &[apply.identity()])),
    ] {
        scene.ignores(&forged, what);
    }
    // What is known to be decided is ended by nobody's agent.
    let undecided = scene.copy();
    scene.repo.aye(&["apply", &scene.id, "--yes"]).ok();
    let own = clones::tip(&scene.repo, &scene.thread);
    let identity = Forged::read(&scene.repo, &own).identity();
    let rejected = reject.by("codex", "agent");
    // Nor by the proposer, whose withdrawal counts as long as nothing is decided.
    let first = Forged::read(&scene.repo, &scene.thread);
    let mut withdrawn = rejected.clone().keys(json!({"kind": "withdraw"}));
    withdrawn.event["actor"] = first.event["actor"].clone();
    withdrawn.event["clone"] = first.event["clone"].clone();
    let actor = withdrawn.event["actor"].clone();
    let withdrawn = withdrawn.stated(json!({"verdict": "withdraw", "actor": actor}));
    undecided.believes(&withdrawn, "rejected");
    for forged in [rejected, withdrawn] {
        let ended = forged.ends(&scene.repo, std::slice::from_ref(&identity)).on(&[&own]);
        scene.fetches(&ended.write(&scene.repo));
        scene.is("applied");
        assert!(finds(&scene.repo, SKIPPED));
    }
}

#[test]
fn a_name_from_another_clone_is_not_the_proposer() {
    let scene = scene();
    let codex = |args: &[&str]| {
        let copy = scene.copy();
        copy.repo.agent("codex", args).ok();
        forger::borrow(&scene.repo, &copy.repo);
        Forged::read(&scene.repo, &clones::tip(&copy.repo, &copy.thread))
    };
    let withdraw = codex(&["reject", &scene.id]);
    assert_eq!(withdraw.event["kind"], "withdraw");
    let revise = codex(&["revise", &scene.id, "a.txt", "--old", "one", "--new", "EVIL"]);
    scene.believes(&withdraw, "rejected");
    // The same from a clone that did not propose it: the statement, which names no clone, is genuine.
    scene.ignores(&withdraw.clone().keys(json!({"clone": forger::CLONE})), "withdraw");
    let copy = scene.copy();
    copy.fetches(&revise.clone().keys(json!({"clone": forger::CLONE})).write(&copy.repo));
    assert_eq!(show(&copy.repo, &copy.id)["revisions"], 1);
    assert!(finds(&copy.repo, SKIPPED));
    copy.fetches(&revise.write(&copy.repo));
    assert_eq!(show(&copy.repo, &copy.id)["revisions"], 2);
    // A copy of the withdrawal elsewhere does not take its place.
    let forged = withdraw.clone().keys(json!({"clone": "1111111111111111"}));
    forger::fetched_from(
        &scene.repo,
        "1111111111111111",
        &scene.thread,
        &forged.write(&scene.repo),
    );
    scene.fetches(&withdraw.write(&scene.repo));
    scene.is("rejected");
}

/// There is no event by which somebody else's proposal becomes one's own.
#[test]
fn a_publication_makes_no_owner() {
    let scene = scene();
    let first = Forged::read(&scene.repo, &scene.thread);
    let original = json!({"id": scene.thread, "sha256": forger::sha256(first.lines().0)});
    let publish = Forged::event("publish", json!({ "original": original })).on(&[&scene.thread]);
    let publish = publish.write(&scene.repo);
    let second = first.by("codex", "agent").on(&[&publish]).write(&scene.repo);
    scene.fetches(&second);
    scene.is("pending");
    assert_eq!(show(&scene.repo, &scene.id)["revisions"], 1);
    assert!(finds(&scene.repo, SKIPPED));
}

#[test]
fn a_private_thread_that_was_published_elsewhere_decides_nothing() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\n")]);
    let id = repo
        .agent("codex", &["propose", "a.txt", "--old", "one", "--new", "hush", "--private", "-q"]);
    let id = id.ok().id();
    let scene = Scene { thread: thread(&repo, &id), repo, id };
    let apply = scene.apply();
    let id = apply.write(&scene.repo);
    scene.fetches(&id);
    scene.is("pending");
    assert!(finds(&scene.repo, "published_elsewhere"));
    scene.repo.aye(&["comment", &scene.id, "-m", "hush again"]).ok();
    assert_eq!(refs(&scene.repo, &["refs/aye/p"]), [] as [String; 0]);
    scene.repo.aye(&["reject", &scene.id, "--yes", "-m", "hush"]).ok();
    scene.is("rejected");
    assert_eq!(refs(&scene.repo, &["refs/aye/p"]), [] as [String; 0]);
    let parents = Forged::read(&scene.repo, &clones::tip(&scene.repo, &scene.thread)).parents;
    assert!(!parents.contains(&id));
}

/// Two histories in one clone's name are two tips, and both count.
#[test]
fn two_histories_of_one_writer_are_read_together() {
    let scene = scene();
    for (clone, body) in [("1111111111111111", "one"), ("2222222222222222", "other")] {
        let tip = Forged::comment(body).on(&[&scene.thread]).write(&scene.repo);
        forger::fetched_from(&scene.repo, clone, &scene.thread, &tip);
    }
    assert_eq!(show(&scene.repo, &scene.id)["comments"].as_array().map(Vec::len), Some(2));
    let reject = &scene.bob(&[&["reject", &scene.id, "--yes"]])[0];
    let apply = scene.apply().write(&scene.repo);
    forger::fetched_from(&scene.repo, "1111111111111111", &scene.thread, reject);
    forger::fetched_from(&scene.repo, "2222222222222222", &scene.thread, &apply);
    let shown = show(&scene.repo, &scene.id);
    assert_eq!((&shown["status"], &shown["contested"]), (&json!("applied"), &json!(true)));
}

/// Faults in threads that a range does not name are warnings at most; what is contested is settled by
/// a decision that names what it ends.
#[test]
fn others_do_not_decide_whether_a_range_passes() {
    let scene = scene();
    scene.repo.aye(&["apply", &scene.id, "--yes"]).ok();
    commit_as(&scene.repo, &scene.id);
    scene.repo.aye(&LAST).ok();
    // Another thread that cannot be read, one with a statement that does not fit, a ref to nothing.
    let other = propose(&scene.repo, "b.txt", "b", "B");
    let other = thread(&scene.repo, &other);
    let apply = scene.apply_to_nothing();
    forger::fetched(&scene.repo, &other, &"1".repeat(40));
    forger::fetched_from(
        &scene.repo,
        "1111111111111111",
        &other,
        &apply.moved(&[&other]).write(&scene.repo),
    );
    forger::fetched(&scene.repo, &"2".repeat(40), &"2".repeat(40));
    scene.repo.aye(&LAST).ok();
    let found = rules(&scene.repo, &LAST);
    assert!(found.iter().all(|(level, _)| level != "error"), "{found:?}");
    // A forged rejection of the proposal itself, by a person with a flag.
    let reject = &scene.forged_rejection();
    forger::fetched_from(&scene.repo, "3333333333333333", &scene.thread, reject);
    let shown = show(&scene.repo, &scene.id);
    assert_eq!((&shown["status"], &shown["contested"]), (&json!("applied"), &json!(true)));
    let found = rules(&scene.repo, &LAST);
    assert!(found.iter().any(|(_, rule)| rule == "contested"), "{found:?}");
    assert!(found.iter().all(|(level, _)| level != "error"), "{found:?}");
    // Git's own hook lets the push go on.
    let server = Repo::bare();
    clones::join(&scene.repo, &server);
    scene.repo.aye(&["hooks", "install"]).ok();
    scene.repo.git(&["push", "-q", "origin", "HEAD:refs/heads/main"]);
    // Settled by name, in every clone.
    scene.repo.aye(&["undo", &scene.id, "--rejection", "--yes"]).ok();
    let shown = show(&scene.repo, &scene.id);
    assert_eq!((&shown["status"], &shown["contested"]), (&json!("applied"), &json!(false)));
}

impl Scene {
    /// Bob's apply, as it would be made before this clone had decided.
    fn apply_to_nothing(&self) -> Forged {
        let fresh = scene();
        let apply = fresh.apply();
        forger::borrow(&self.repo, &fresh.repo);
        apply
    }

    /// A rejection by Mallory that had seen the proposal alone.
    fn forged_rejection(&self) -> String {
        let first = Forged::read(&self.repo, &self.thread);
        let name = json!({"id": self.thread, "sha256": forger::sha256(first.lines().0)});
        let mut own = Forged::read(&self.repo, &clones::tip(&self.repo, &self.thread));
        own.event["kind"] = "reject".into();
        own.tree.clear();
        let keys = json!({
            "verdict": "reject", "effect": null, "manifest": null, "ends": null, "lines": null,
            "shown": null, "proposal": name, "revision": name,
        });
        own.by("Mallory", "human").stated(keys).on(&[&self.thread]).write(&self.repo)
    }
}
