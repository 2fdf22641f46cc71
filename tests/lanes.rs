//! A lane belongs to one place: a copy of a repository goes on in a lane of its own, and two that
//! have written one lane lose nothing.

mod support;

use std::process::Command;

use support::{Repo, Run};

fn scene() -> Repo {
    Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n")])
}

/// A copy beside the original, as `cp -r` makes it.
fn copied(repo: &Repo) -> Repo {
    let copy = repo.copy();
    copy.write(".git/aye/place", repo.read(".git/aye/place"));
    copy
}

fn propose(repo: &Repo, old: &str, new: &str) -> String {
    repo.aye(&["propose", "a.txt", "--old", old, "--new", new, "-q"]).ok().id()
}

/// The lanes below `refs/aye/log/`.
fn lanes(repo: &Repo) -> Vec<String> {
    let refs = repo.git(&["for-each-ref", "--format=%(refname:lstrip=3)", "refs/aye/log"]);
    refs.lines().map(str::to_owned).collect()
}

/// The lane that the newest event of `repo`, as its clock has it, was written to, and that event.
fn newest(repo: &Repo) -> (String, serde_json::Value) {
    let tips = repo.git(&[
        "for-each-ref",
        "--sort=-committerdate",
        "--format=%(refname:lstrip=3) %(objectname)",
        "refs/aye/log",
    ]);
    let (lane, tip) = tips.lines().next().expect("a lane").split_once(' ').expect("two words");
    let text = repo.git(&["show", &format!("{tip}:event.json")]);
    (lane.to_owned(), serde_json::from_str(&text).expect("an event"))
}

/// What `git clone`, `cp` and `tar` do, and other programs that know nothing of aye.
fn shell(script: &str, repo: &Repo) {
    let status = Command::new("sh").args(["-ec", script]).current_dir(repo.outer()).status();
    assert!(status.expect("sh").success(), "{script}");
}

#[track_caller]
fn forks(run: Run, lane: &str, from: &str, seq: usize) {
    run.ok()
        .says("lane_forked")
        .says(&format!("lane {lane} goes on from event {seq} of lane {from}"));
}

#[test]
fn a_copy_goes_on_in_a_lane_of_its_own() {
    let repo = scene();
    let id = propose(&repo, "one", "ONE");
    let copy = copied(&repo);
    let [lane] = &lanes(&repo)[..] else { panic!("one lane") };
    // Reading begins nothing.
    for args in [&["list"][..], &["show", &id], &["check"], &["doctor"], &["log"]] {
        copy.aye(args);
    }
    assert_eq!(lanes(&copy), [lane.as_str()]);
    copy.aye(&["reject", &id, "--yes"]).ok();
    let both = lanes(&copy);
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(both.contains(lane));
    let (new, event) = newest(&copy);
    assert_ne!(new, *lane);
    assert_eq!(event["seq"], 1);
    let tip = repo.git(&["rev-parse", &format!("refs/aye/log/{lane}")]);
    assert_eq!(event["forked"], format!("{lane} 1 {tip}"));
    assert_eq!(copy.git(&["rev-parse", &format!("refs/aye/log/{lane}")]), tip, "it stays");
    // It says so once, and goes on there.
    propose(&copy, "three", "THREE");
    assert_eq!(lanes(&copy), both);
    let next = copy.git(&["show", &format!("refs/aye/log/{new}:event.json")]);
    let next: serde_json::Value = serde_json::from_str(&next).expect("an event");
    assert_eq!((&next["seq"], &next["forked"]), (&2.into(), &serde_json::Value::Null));
    forks(copy.aye(&["doctor"]), &new, lane, 1);
    forks(copy.aye(&["check", "--fail-on", "contested"]), &new, lane, 1);
    let check = copy.aye(&["check"]).exits(1);
    assert!(check.out().contains("note[lane_forked]"), "{check}");
    copy.aye(&["check", "--fail-on", "lane-forked"]).exits(1);
    let doctor = copy.aye(&["doctor", "--json"]).ok().json();
    assert_eq!((&doctor["lanes"], &doctor["sound"]), (&2.into(), &true.into()));
    // The original keeps its lane.
    propose(&repo, "two", "TWO");
    assert_eq!(lanes(&repo), [lane.as_str()]);
    repo.aye(&["doctor"]).ok().says("1 lane").lacks("lane_forked");
    // With an empty cache it is the same.
    let list = copy.aye(&["list", "--status", "all", "--json"]).ok().json();
    copy.remove(".git/aye/cache.sqlite");
    assert_eq!(copy.aye(&["list", "--status", "all", "--json"]).ok().json(), list);
}

#[test]
fn decisions_of_copies_are_contested() {
    let a = scene();
    let id = propose(&a, "one", "ONE");
    let b = copied(&a);
    a.aye(&["reject", &id, "--yes"]).ok();
    propose(&b, "two", "TWO");
    propose(&b, "three", "THREE");
    b.aye(&["apply", &id, "--yes"]).ok();
    for (repo, other, name) in [(&b, &a, "a"), (&a, &b, "b")] {
        let from = other.root().to_str().expect("UTF-8");
        repo.git(&["fetch", "-q", from, &format!("+refs/aye/log/*:refs/aye/remotes/{name}/*")]);
    }
    for repo in [&a, &b] {
        repo.aye(&["check"]).exits(1).says("contested");
        let show = repo.aye(&["show", &id, "--json"]).ok().json();
        assert_eq!((&show["status"], &show["contested"]), (&"applied".into(), &true.into()));
    }
}

#[test]
fn only_what_changes_the_file_begins_a_new_lane() {
    let outer = scene();
    // (what is done to it, whether a new lane begins)
    for (script, begins) in [
        ("mv one two", false),
        ("mkdir deep; mv one deep/one; mv deep/one two; rmdir deep", false),
        ("cp -r one two", true),
        ("cp -a one two", true),
        ("tar cf t.tar one; rm -r one; tar xf t.tar; mv one two; rm t.tar", true),
        ("sed -i s/^/' '/ one/.git/aye/lane; mv one two", true),
        // As 0.1.0 leaves it: bound where it is.
        ("rm one/.git/aye/place; mv one two", false),
        ("cp -r one two; rm two/.git/aye/place", false),
    ] {
        shell("rm -rf one two", &outer);
        shell(&format!("cp -r {} one", outer.root().display()), &outer);
        let run = |name: &str, text: &str| {
            let args = ["propose", "a.txt", "--old", "one", "--new", text, "-q"];
            outer.cmd(&args).dir(outer.outer().join(name)).run().ok();
            let git = Command::new("git")
                .args(["for-each-ref", "--format=%(refname)", "refs/aye/log"])
                .current_dir(outer.outer().join(name))
                .output()
                .expect("git");
            String::from_utf8_lossy(&git.stdout).lines().count()
        };
        assert_eq!(run("one", "1"), 1, "{script}");
        shell(script, &outer);
        assert_eq!(run("two", "2"), if begins { 2 } else { 1 }, "{script}");
        assert_eq!(run("two", "3"), if begins { 2 } else { 1 }, "{script}: it stays there");
    }
}

#[test]
fn clones_and_work_trees() {
    let repo = scene();
    propose(&repo, "one", "ONE");
    let lane = lanes(&repo).remove(0);
    // A linked work tree is the same place.
    repo.git(&["worktree", "add", "-q", "../linked"]);
    let args = ["propose", "a.txt", "--old", "two", "--new", "TWO", "-q"];
    repo.cmd(&args).dir(repo.outer().join("linked")).run().ok();
    assert_eq!(lanes(&repo), [lane.as_str()]);
    // A mirror has no lane before it says something.
    shell(&format!("git clone -q --mirror {} mirror", repo.root().display()), &repo);
    let mirror = repo.outer().join("mirror");
    repo.cmd(&["list"]).dir(&mirror).run().ok();
    assert!(!mirror.join("aye/lane").exists());
    let id = repo.aye(&["list", "--json"]).ok().json()["proposals"][0]["proposal_id"].clone();
    repo.cmd(&["comment", id.as_str().expect("an id"), "-m", "x"]).dir(&mirror).run().ok();
    assert!(mirror.join("aye/lane").exists());
    repo.cmd(&["doctor"]).dir(&mirror).run().ok().says("2 lanes").lacks("lane_forked");
}

#[test]
fn a_lane_exists_from_its_first_event() {
    let repo = scene();
    for args in [
        &["init"][..],
        &["list"],
        &["log"],
        &["check"],
        &["check", "--staged"],
        &["doctor"],
        &["doctor", "--repair"],
        &["hooks", "install"],
        &["hooks", "status"],
        &["memory", "status"],
        &["review"],
    ] {
        repo.aye(args);
        assert!(!repo.exists(".git/aye/lane"), "{args:?}");
        assert_eq!(lanes(&repo), [""; 0], "{args:?}");
    }
    // A write that comes to nothing.
    repo.aye(&["propose", "a.txt", "--old", "none", "--new", "x"]);
    assert!(!repo.exists(".git/aye/lane"));
    repo.aye(&["doctor"]).ok().says("no lane");
    propose(&repo, "one", "ONE");
    repo.aye(&["doctor"]).ok().says("1 lane");
}
