//! A lane belongs to one place: a copy of a repository goes on in a lane of its own, and two that
//! have written one lane lose nothing.

use std::process::Command;

use crate::support::hostile;
use crate::support::{Repo, Run};

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

/// The only other lane below `refs/aye/log/` than `lane`, and the event at its tip.
fn beside(repo: &Repo, lane: &str) -> (String, serde_json::Value) {
    let others: Vec<String> = lanes(repo).into_iter().filter(|other| other != lane).collect();
    let [other] = &others[..] else { panic!("{others:?}") };
    let text = repo.git(&["show", &format!("refs/aye/log/{other}:event.json")]);
    (other.clone(), serde_json::from_str(&text).expect("an event"))
}

/// What `git clone`, `cp` and `tar` do, and other programs that know nothing of aye.
fn shell(script: &str, repo: &Repo) {
    let status = Command::new("sh").args(["-ec", script]).current_dir(repo.outer()).status();
    assert!(status.expect("sh").success(), "{script}");
}

#[track_caller]
fn forks(run: Run, lane: &str, from: &str, seq: usize) {
    run.ok().says("lane_forked").says(lane).says(&format!("event {seq} ")).says(from);
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
    let (new, event) = beside(&copy, lane);
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

/// Lets `repo` have what `from` has below `refs/aye/log/`.
fn fetch(repo: &Repo, from: &str, name: &str) {
    repo.git(&["fetch", "-q", from, &format!("+refs/aye/log/*:refs/aye/remotes/{name}/*")]);
}

/// Status, and whether it is contested, with the cache as it is and with none.
#[track_caller]
fn is_contested(repo: &Repo, id: &str) {
    for _ in 0..2 {
        let show = repo.aye(&["show", id, "--json"]).ok().json();
        assert_eq!((&show["status"], &show["contested"]), (&"applied".into(), &true.into()));
        repo.aye(&["check"]).exits(1).says("contested");
        repo.aye(&["doctor"]).lacks("cache_tampered");
        repo.remove(".git/aye/cache.sqlite");
    }
}

/// Two that keep the file of the lane, as after a rolled-back snapshot, decide differently.
fn rolled_back() -> (Repo, Repo, String, String) {
    let a = scene();
    let id = propose(&a, "one", "ONE");
    let b = a.copy();
    a.aye(&["reject", &id, "--yes"]).ok();
    propose(&b, "two", "TWO");
    propose(&b, "three", "THREE");
    b.aye(&["apply", &id, "--yes"]).ok();
    let lane = lanes(&a).remove(0);
    assert_eq!(lanes(&b), [lane.as_str()], "one lane, written twice");
    (a, b, id, lane)
}

#[test]
fn one_lane_written_twice_is_an_equivocation() {
    let (a, b, id, lane) = rolled_back();
    fetch(&b, a.root().to_str().expect("UTF-8"), "a");
    fetch(&a, b.root().to_str().expect("UTF-8"), "b");
    for repo in [&a, &b] {
        is_contested(repo, &id);
        repo.aye(&["doctor"]).exits(1).says("lane_equivocates");
        // All three proposals of the other, and what is said of them, are there.
        assert_eq!(repo.aye(&["list", "--status", "all", "--json"]).ok().json()["count"], 3);
    }
    // A third clone sees the same, whichever comes first.
    for order in [[(&a, "a"), (&b, "b")], [(&b, "b"), (&a, "a")]] {
        let third = scene();
        for (repo, name) in order {
            fetch(&third, repo.root().to_str().expect("UTF-8"), name);
            third.aye(&["list"]).ok();
        }
        is_contested(&third, &id);
        third.aye(&["doctor"]).exits(1).says("lane_equivocates");
    }
    // The next write goes to a new lane, and both histories keep their commits.
    let tip = |repo: &Repo| repo.git(&["rev-parse", &format!("refs/aye/log/{lane}")]);
    let old = tip(&b);
    let first = b.git(&["rev-parse", &format!("{old}~2")]);
    b.aye(&["undo", &id, "--yes"]).ok();
    let named = format!("{lane}.f{}/{lane}", &first[..8]);
    let now = lanes(&b);
    assert!(now.len() == 2 && now.contains(&named), "{now:?}");
    assert_eq!(b.git(&["rev-parse", &format!("refs/aye/log/{named}")]), old);
    let show = b.aye(&["show", &id, "--json"]).ok().json();
    assert_eq!((&show["status"], &show["contested"]), (&"rejected".into(), &false.into()));
    b.aye(&["doctor"]).ok().lacks("lane_equivocates").says("lane_forked");
}

#[test]
fn a_forked_chain_is_pushed_and_settles_everywhere() {
    let (a, b, id, lane) = rolled_back();
    let server = Repo::bare();
    let url = server.root().to_str().expect("UTF-8").to_owned();
    for repo in [&a, &b] {
        repo.git(&["remote", "add", "origin", &url]);
    }
    let push = |repo: &Repo| repo.try_git(&["push", "-q", "origin", "refs/aye/log/*"]);
    let pull = |repo: &Repo| fetch(repo, "origin", "origin");
    push(&a).ok();
    assert_ne!(push(&b).status, 0, "nothing is lost by force");
    pull(&b);
    is_contested(&b, &id);
    b.aye(&["undo", &id, "--yes"]).ok();
    push(&b).ok();
    pull(&a);
    let third = scene();
    third.git(&["remote", "add", "origin", &url]);
    pull(&third);
    for repo in [&a, &b, &third] {
        for _ in 0..2 {
            let show = repo.aye(&["show", &id, "--json"]).ok().json();
            assert_eq!((&show["status"], &show["contested"]), (&"rejected".into(), &false.into()));
            repo.aye(&["check"]).exits(1).lacks("contested");
            repo.aye(&["doctor"]).ok().lacks("lane_equivocates").says("lane_forked");
            repo.remove(".git/aye/cache.sqlite");
        }
    }
    // The first one keeps its lane; everybody goes on, and everything arrives.
    a.aye(&["propose", "b.txt", "--old", "b", "--new", "B", "-q"]).ok();
    assert!(lanes(&a).iter().all(|name| *name == lane), "{:?}", lanes(&a));
    push(&a).ok();
    pull(&b);
    b.aye(&["propose", "b.txt", "--old", "b", "--new", "BB", "-q"]).ok();
    push(&b).ok();
    pull(&a);
    let count =
        |repo: &Repo| repo.aye(&["list", "--status", "all", "--json"]).ok().json()["count"].clone();
    assert_eq!((count(&a), count(&b)), (5.into(), 5.into()));
}

#[test]
fn a_copy_follows_the_lane_it_has_left() {
    let a = scene();
    let id = propose(&a, "one", "ONE");
    let b = copied(&a);
    let server = Repo::bare();
    let url = server.root().to_str().expect("UTF-8").to_owned();
    for repo in [&a, &b] {
        repo.git(&["remote", "add", "origin", &url]);
    }
    let push = |repo: &Repo| repo.git(&["push", "-q", "origin", "refs/aye/log/*"]);
    propose(&b, "two", "TWO");
    a.aye(&["apply", &id, "--yes"]).ok();
    push(&a);
    fetch(&b, "origin", "origin");
    b.aye(&["list"]).ok();
    propose(&b, "three", "THREE");
    push(&b);
    fetch(&a, "origin", "origin");
    for repo in [&a, &b] {
        assert_eq!(repo.aye(&["list", "--status", "all", "--json"]).ok().json()["count"], 3);
        repo.aye(&["doctor"]).ok();
    }
}

#[test]
fn a_restored_backup_sees_what_was_decided_after_it() {
    let a = scene();
    let id = propose(&a, "one", "ONE");
    let backup = a.copy();
    a.aye(&["reject", &id, "--yes"]).ok();
    fetch(&backup, a.root().to_str().expect("UTF-8"), "origin");
    for _ in 0..2 {
        backup.aye(&["apply", &id, "--yes"]).fails("not_pending", 5);
        backup.remove(".git/aye/cache.sqlite");
    }
    propose(&backup, "two", "TWO");
    assert_eq!(lanes(&backup).len(), 2);
    backup.aye(&["doctor"]).says("lane_forked").lacks("lane_equivocates");
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
    repo.aye(&["doctor"]).ok();
    propose(&repo, "one", "ONE");
    repo.aye(&["doctor"]).ok().says("1 lane");
}

/// The newest event of this clone's only lane, byte by byte.
fn event(repo: &Repo) -> String {
    let lane = lanes(repo).remove(0);
    repo.git(&["show", &format!("refs/aye/log/{lane}:event.json")])
}

#[test]
fn an_event_names_the_lanes_of_its_subject_and_what_is_new_elsewhere() {
    let repo = scene();
    let first = propose(&repo, "one", "ONE");
    let (list, head) = (repo.aye(&["list", "--json"]).ok().json(), |value: &str| value.to_owned());
    assert_eq!(list["count"], 1);
    let mut import = hostile::Import::default();
    for number in 0..70 {
        let name = format!("{number:016x}");
        let mut lane = hostile::Hostile::new(&repo, &name);
        // Every seventh speaks of the proposal.
        let about = if number % 7 == 0 { first.as_str() } else { "prop_0000000000" };
        let event = lane.comment(about, "x");
        import.lane(&name, &[vec![event]]);
    }
    import.run(&repo);
    let read = |repo: &Repo| -> serde_json::Value {
        serde_json::from_str(&event(repo)).expect("an event")
    };
    let count = |value: &serde_json::Value| value.as_array().map_or(0, Vec::len);
    propose(&repo, "two", "TWO");
    let event = read(&repo);
    assert_eq!((count(&event["heads"]), count(&event["witness"])), (0, 64));
    repo.aye(&["comment", &first, "-m", "x"]).ok();
    let event = read(&repo);
    assert_eq!((count(&event["heads"]), count(&event["witness"])), (10, 6));
    let tip = repo.git(&["rev-parse", "refs/aye/remotes/origin/0000000000000007"]);
    assert_eq!(event["heads"][1], head(&format!("0000000000000007 1 {tip}")));
    // With nothing new elsewhere there is nothing to say of it, with an empty cache neither.
    repo.remove(".git/aye/cache.sqlite");
    propose(&repo, "three", "THREE");
    let fresh = read(&repo);
    assert_eq!((count(&fresh["heads"]), count(&fresh["witness"])), (0, 0));
    let bytes = self::event(&repo).len();
    assert!(bytes < 800, "{bytes} bytes: {fresh}");
    // One lane has moved.
    let mut lane = hostile::Hostile::new(&repo, "0000000000000003");
    lane.comment(&first, "before");
    let moved = lane.comment(&first, "again");
    let old = repo.git(&["rev-parse", "refs/aye/remotes/origin/0000000000000003"]);
    let tip = lane.step(&moved, &[&old]);
    lane.push(&tip);
    repo.aye(&["comment", &first, "-m", "y"]).ok();
    let event = read(&repo);
    assert_eq!(event["witness"], serde_json::json!([format!("0000000000000003 2 {tip}")]));
    assert_eq!(count(&event["heads"]), 11);
}

#[test]
fn what_a_newer_version_may_have_decided_waits_for_it() {
    let repo = scene();
    let id = propose(&repo, "one", "ONE");
    let mut lane = hostile::Hostile::new(&repo, "newer");
    let mut tip = None;
    let mut say = |needs: Option<&str>| {
        let event = lane.event("ratify", Some(&id), serde_json::json!({"by": ["two", "persons"]}));
        let mut event: serde_json::Value = serde_json::from_str(&event).expect("an event");
        if let Some(needs) = needs {
            event["needs"] = needs.into();
        }
        let parents: Vec<&str> = tip.iter().map(String::as_str).collect();
        let next = lane.step(&event.to_string(), &parents);
        lane.push(&next);
        tip = Some(next);
    };
    // A kind that decides nothing, or says nothing that could be compared, is skipped.
    say(None);
    say(Some("next year"));
    repo.aye(&["apply", &id, "--dry-run"]).ok();
    repo.aye(&["show", &id]).ok().lacks(">= ");
    say(Some("1.10"));
    say(Some("1.9.3"));
    for _ in 0..2 {
        repo.aye(&["list"]).ok().says(">= 1.10");
        repo.aye(&["show", &id]).ok().says("pending");
        let show = repo.aye(&["show", &id, "--json"]).ok().json();
        assert_eq!((&show["status"], &show["needs"]), (&"pending".into(), &"1.10".into()));
        repo.aye(&["check"]).exits(1).says("newer_version").says("aye >= 1.10");
        for args in [&["apply", &id, "--yes"][..], &["reject", &id, "--yes"]] {
            let run = repo.aye(args).fails("newer_version_required", 5);
            run.notes("aye 1.10");
        }
        assert_eq!(repo.text("a.txt"), "one\ntwo\nthree\n");
        repo.remove(".git/aye/cache.sqlite");
    }
    repo.aye(&["comment", &id, "-m", "still said"]).ok();
}

#[test]
fn build_machines_write_no_lane_that_nobody_named() {
    let repo = scene();
    let id = propose(&repo, "one", "ONE");
    let server = Repo::bare();
    let url = server.root().to_str().expect("UTF-8").to_owned();
    repo.git(&["push", "-q", &url, "HEAD:refs/heads/main", "refs/aye/log/*"]);
    let build = || {
        let build = Repo::outside();
        build.git(&["clone", "-q", "-b", "main", &url, "."]);
        build.git(&["remote", "add", "server", &url]);
        fetch(&build, "server", "server");
        build
    };
    let ci = |repo: &Repo, args: &[&str]| repo.cmd(args).env("CI", "true").run();
    let named = |repo: &Repo, args: &[&str]| repo.cmd(args).in_ci("ci-main").run();
    let one = build();
    for args in [&["list"][..], &["check"], &["doctor"], &["show", &id], &["log"]] {
        assert!(ci(&one, args).status <= 1, "{args:?}");
    }
    ci(&one, &["comment", &id, "-m", "x"]).fails("ci_has_no_lane", 4).notes("aye.lane=ci");
    // Whether it may comes first.
    ci(&one, &["reject", &id, "--yes"]).fails("human_approval_required", 4);
    let args = ["propose", "b.txt", "--old", "b", "--new", "B"];
    ci(&one, &args).fails("ci_has_no_lane", 4);
    ci(&one, &["try", &id, "--", "true"]).ok().notes("recorded");
    // The repository's own configuration has no say.
    one.git(&["config", "aye.lane", &lanes(&repo)[0]]);
    ci(&one, &["comment", &id, "-m", "x"]).fails("ci_has_no_lane", 4);
    assert_eq!(lanes(&one), [""; 0]);
    assert!(!one.exists(".git/aye/lane"));
    // One lane for all runs: each goes on where the last one was pushed.
    for number in 1..=3 {
        let run = build();
        named(&run, &["try", &id, "--", "true"]).ok().notes("recorded");
        assert_eq!(lanes(&run), ["ci-main"]);
        assert!(!run.exists(".git/aye/lane"));
        let event = run.git(&["show", "refs/aye/log/ci-main:event.json"]);
        let event: serde_json::Value = serde_json::from_str(&event).expect("an event");
        assert_eq!((&event["seq"], &event["actor"]["kind"]), (&number.into(), &"ci".into()));
        run.git(&["push", "-q", "server", "refs/aye/log/*"]);
    }
    fetch(&repo, &url, "origin");
    let show = repo.aye(&["show", &id, "--json"]).ok().json();
    assert_eq!(show["checks"].as_array().map(Vec::len), Some(3), "{show:#}");
    // A person's is one of its own, whatever is set.
    repo.git(&["config", "aye.lane", "ci-main"]);
    repo.aye(&["comment", &id, "-m", "x"]).ok();
    assert_eq!(lanes(&repo).len(), 1);
    let bad = one.cmd(&["list"]).env("CI", "1").env("GIT_CONFIG_COUNT", "1");
    let bad = bad.env("GIT_CONFIG_KEY_0", "aye.lane").env("GIT_CONFIG_VALUE_0", "a/b");
    bad.run().fails("invalid_config", 2);
}

/// A copy, or a clone whose lane others go on with, begins a new lane with its next event. What only the
/// proposer may say would not count there, so it is refused, from the first time on.
#[test]
fn what_only_the_proposer_may_say_is_refused_where_it_would_not_count() {
    let refused: &[&[&str]] = &[
        &["revise", "ID", "a.txt", "--old", "one", "--new", "better"],
        &["reject", "ID"],
        &["revise", "--rebase", "ID"],
        &["comment", "ID", "--resolve", "COMMENT", "-m", "done"],
        &["call", "changes", "{\"action\":\"reject\",\"proposal_id\":\"ID\"}"],
    ];
    for is_copy in [true, false] {
        let a = scene();
        let id =
            a.agent("codex", &["propose", "a.txt", "--old", "one", "--new", "1", "-q"]).ok().id();
        a.aye(&["comment", &id, "-m", "why?"]).ok();
        a.write("a.txt", "one\ntwo\nthree\nfour\n");
        a.commit("Another line");
        let here = match is_copy {
            true => copied(&a),
            false => {
                a.aye(&["comment", &id, "-m", "later"]).ok();
                let server = Repo::bare();
                crate::support::clones::join(&a, &server);
                crate::support::clones::push(&a);
                a.git(&["fetch", "-q", "origin"]);
                let name = format!("refs/aye/log/{}", lanes(&a)[0]);
                a.git(&["update-ref", &name, &format!("{name}~1")]);
                a
            }
        };
        let log = || here.aye(&["log", &id, "--json"]).ok().json()["events"].clone();
        let before = log();
        let shown = here.aye(&["show", &id, "--json"]).ok().json();
        let comment = shown["comments"][0]["id"].as_str().expect("an id").to_owned();
        for args in refused {
            let words: Vec<String> = args
                .iter()
                .map(|word| word.replace("ID", &id).replace("COMMENT", &comment))
                .collect();
            let run = here.agent("codex", &words);
            assert!(format!("{run}").contains("human_approval_required"), "{is_copy}: {run}");
            assert_eq!(log(), before, "{is_copy}: {words:?}");
        }
        // Whoever may say it in any lane still can.
        here.aye(&["reject", &id, "--yes"]).ok();
        assert_eq!(here.aye(&["show", &id, "--json"]).ok().json()["status"], "rejected");
    }
}
