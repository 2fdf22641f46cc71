//! Genuine statements in other places, and with other things around them (H2, H3).

use super::*;
use serde_json::json;

/// Bob's decisions, and another commit with the statement of the first one.
fn replayed(scene: &Scene, commands: &[&[&str]]) -> (String, Forged) {
    let commits = scene.bob(commands);
    let first = Forged::read(&scene.repo, commits.last().expect("a decision"));
    (commits[0].clone(), first)
}

#[test]
fn an_undone_decision_does_not_come_back() {
    let scene = scene();
    let (tip, apply) =
        replayed(&scene, &[&["apply", &scene.id, "--yes"], &["undo", &scene.id, "--yes"]]);
    scene.believes(&apply, "applied");
    // Bob's own history has it with its end, and whoever has that has seen it everywhere.
    scene.fetches(&tip);
    scene.is("pending");
    let again = apply.write(&scene.repo);
    forger::fetched_from(&scene.repo, "1111111111111111", &scene.thread, &again);
    scene.is("pending");
    scene.repo.write("a.txt", "ONE\ntwo\nthree\n");
    commit_as(&scene.repo, &scene.id);
    refuses_the_commit(&scene.repo, &["not_applied"]);
    // In another place the statement does not fit.
    let moved = apply.moved(&[&tip]).write(&scene.repo);
    forger::fetched_from(&scene.repo, "2222222222222222", &scene.thread, &moved);
    scene.is("pending");
    assert!(finds(&scene.repo, SKIPPED));
    // A decision that somebody makes now is another one.
    scene.repo.git(&["checkout", "-q", "HEAD~1", "--", "a.txt"]);
    scene.repo.aye(&["apply", &scene.id, "--yes"]).ok();
    scene.is("applied");
}

#[test]
fn a_rejection_that_was_taken_back_does_not_stand_again() {
    let scene = scene();
    let (tip, reject) =
        replayed(&scene, &[&["reject", &scene.id, "--yes"], &["undo", &scene.id, "--yes"]]);
    scene.believes(&reject, "rejected");
    scene.fetches(&tip);
    let again = reject.write(&scene.repo);
    forger::fetched_from(&scene.repo, "1111111111111111", &scene.thread, &again);
    scene.is("pending");
}

#[test]
fn an_approval_that_has_ended_does_not_count_again() {
    let scene = scene();
    let request = ["comment", &scene.id, "--request-changes", "-m", "no"];
    let (tip, approve) = replayed(&scene, &[&["approve", &scene.id, "--yes"], &request]);
    let counting = |repo: &Repo| {
        let shown = show(repo, &scene.id);
        let all = shown["approvals"].as_array().expect("a list").iter();
        all.filter(|approval| approval["counts"] == true).count()
    };
    let honest = scene.copy();
    honest.fetches(&approve.write(&honest.repo));
    assert_eq!(counting(&honest.repo), 1);
    scene.fetches(&tip);
    assert_eq!(counting(&scene.repo), 0);
    let again = approve.write(&scene.repo);
    forger::fetched_from(&scene.repo, "1111111111111111", &scene.thread, &again);
    assert_eq!(counting(&scene.repo), 0);
}

#[test]
fn a_statement_counts_in_its_place_alone() {
    let scene = scene();
    let apply = scene.apply();
    scene.believes(&apply, "applied");
    let comment = Forged::comment("x").on(&[&scene.thread]).write(&scene.repo);
    for (what, parents) in [
        ("behind a comment", vec![comment.as_str()]),
        ("with a comment beside", vec![&scene.thread, &comment]),
    ] {
        scene.ignores(&apply.clone().moved(&parents), what);
    }
    // Another proposal of the same content, as in a fork or another repository.
    let copy = scene.copy();
    let like = Forged::read(&copy.repo, &copy.thread).by("codex", "agent").write(&copy.repo);
    forger::fetched(&copy.repo, &like, &apply.clone().moved(&[&like]).write(&copy.repo));
    is(&copy.repo, &short(&like), "pending");
    let seen = apply.on(&[&like]).write(&copy.repo);
    forger::fetched(&copy.repo, &like, &seen);
    is(&copy.repo, &short(&like), "pending");
    assert!(finds(&copy.repo, SKIPPED));
}

#[test]
fn an_undo_ends_what_its_statement_names_and_no_more() {
    let scene = scene();
    let commits = scene.bob(&[&["apply", &scene.id, "--yes"], &["undo", &scene.id, "--yes"]]);
    let [undo, apply] = [&commits[0], &commits[1]].map(|id| Forged::read(&scene.repo, id));
    // Ada has decided the same, without knowing of Bob's.
    scene.repo.aye(&["apply", &scene.id, "--yes"]).ok();
    scene.fetches(&commits[0]);
    scene.is("applied");
    let own = Forged::read(&scene.repo, &clones::tip(&scene.repo, &scene.thread)).identity();
    let wide = [own, apply.identity()];
    let bytes: String = {
        let mut lines = wide.to_vec();
        lines.sort();
        lines.iter().map(|line| format!("{line}\n")).collect()
    };
    let named = format!("100644 blob {}", forger::blob(&scene.repo, bytes));
    for forged in [
        undo.clone().entry("ends", &named),
        undo.clone().without("ends"),
        undo.clone().stated(json!({ "ends": forger::list_sha256(&wide) })),
        // Nor from where it has seen both.
        undo.clone().ends(&scene.repo, &wide).moved(&[&commits[1], &own_tip(&scene)]),
    ] {
        forger::fetched_from(
            &scene.repo,
            "1111111111111111",
            &scene.thread,
            &forged.write(&scene.repo),
        );
        scene.is("applied");
    }
    // The control: a person who has seen both may end both. That is forged in Mallory's name.
    let both = undo.ends(&scene.repo, &wide).by("Mallory", "human");
    let both = both.on(&[&commits[1], &own_tip(&scene)]).write(&scene.repo);
    forger::fetched_from(&scene.repo, "1111111111111111", &scene.thread, &both);
    scene.is("pending");
}

fn own_tip(scene: &Scene) -> String {
    clones::tip(&scene.repo, &scene.thread)
}

#[test]
fn a_decision_without_a_statement_decides_nothing() {
    let scene = scene();
    let apply = scene.apply();
    scene.believes(&apply, "applied");
    let mut bare = apply.clone();
    let time = bare.statement.take().expect("a statement")["time"].clone();
    scene.ignores(&bare, "without a statement");
    // As earlier versions of the format had it: none of these keys is one of the event.
    for data in [
        json!({"how": "terminal", "effect": "files"}),
        json!({"how": "terminal", "effect": "mark_only", "revision": scene.thread}),
        json!({"statement": {"id": scene.thread, "sha256": "0".repeat(64)}}),
    ] {
        let copy = scene.copy();
        let forged = bare.clone().keys(json!({ "data": data })).write(&copy.repo);
        copy.fetches(&forged);
        copy.is("pending");
    }
    for forged in [
        apply.clone().stated(json!({"format": "aye-decision@1"})),
        apply.clone().stated(json!({"format": "aye-decision@3"})),
    ] {
        scene.ignores(&forged, "another version");
    }
    // A decision has the time of its statement and no other.
    scene.sets_aside(&bare.keys(json!({ "time": time })).write(&scene.repo), "with a time");
    scene.sets_aside(&apply.keys(json!({ "time": time })).write(&scene.repo), "with two times");
}

#[test]
fn a_genuine_statement_is_not_changed_in_a_word() {
    let scene = scene();
    let apply = scene.apply();
    scene.believes(&apply, "applied");
    for (what, forged) in [
        ("as a mark", apply.clone().stated(json!({"effect": "mark_only"}))),
        ("as an approval", apply.clone().keys(json!({"kind": "approve"}))),
        ("as a rejection", apply.clone().keys(json!({"kind": "reject"}))),
        ("in another name", {
            let mut event = apply.clone();
            event.event["actor"]["name"] = "Mallory".into();
            event
        }),
        ("by an agent", apply.clone().by("codex", "agent")),
    ] {
        scene.ignores(&forged, what);
    }
    // Words around the statement are nobody's, and are not shown as Bob's.
    let forged = apply.data(json!({"commit": "9".repeat(40), "group": "8".repeat(64)}));
    let copy = scene.copy();
    copy.fetches(&forged.write(&copy.repo));
    let shown = show(&copy.repo, &copy.id).to_string();
    assert!(!shown.contains(&"9".repeat(40)) && !shown.contains(&"8".repeat(64)), "{shown}");
}

#[test]
fn a_copy_without_its_manifest_is_left_out() {
    let scene = scene();
    let apply = scene.apply();
    let other = format!("100644 blob {}", forger::blob(&scene.repo, "other"));
    for (what, forged) in [
        ("without a manifest", apply.clone().without("manifest")),
        ("with another manifest", apply.clone().entry("manifest", &other)),
        ("with an empty tree", Forged { tree: Default::default(), ..apply.clone() }),
    ] {
        scene.sets_aside(&forged.write(&scene.repo), what);
    }
    // Beside the honest record it changes nothing.
    let forged = apply.clone().without("manifest").write(&scene.repo);
    forger::fetched_from(&scene.repo, "1111111111111111", &scene.thread, &forged);
    scene.fetches(&apply.write(&scene.repo));
    scene.is("applied");
}

/// A remote that shows an old state shows what was once true, and nobody's later word is lost by it.
#[test]
fn a_frozen_remote_takes_back_nothing_that_is_here() {
    let scene = scene();
    let commits = scene.bob(&[&["apply", &scene.id, "--yes"], &["undo", &scene.id, "--yes"]]);
    scene.fetches(&commits[0]);
    scene.repo.aye(&["reject", &scene.id, "--yes", "-m", "no"]).ok();
    scene.is("rejected");
    // Bob's ref goes back to his apply.
    scene.fetches(&commits[1]);
    scene.is("rejected");
    std::fs::remove_dir_all(scene.repo.path(".git/refs/aye/remotes")).expect("removed");
    scene.is("rejected");
}

/// Each event carries both of its statement's lists, so that nothing in a tree decides by itself.
#[test]
fn a_statement_beside_another_kind_is_ignored() {
    let scene = scene();
    let apply = scene.apply();
    let copy = scene.copy();
    let mut comment = Forged::comment("not a decision").moved(&[&scene.thread]);
    comment.statement = apply.statement.clone();
    comment.tree = apply.tree;
    copy.fetches(&comment.write(&copy.repo));
    copy.is("pending");
    assert_eq!(show(&copy.repo, &copy.id)["comments"].as_array().map(Vec::len), Some(1));
}
