//! `aye doctor --gc`: an epoch of a lane says all that the one before said, in every clone, whatever of the
//! two a clone has.

use crate::support::Repo;
use crate::support::clones::{clone, fetch, join, lane, push};
use crate::support::hostile::{Hostile, fed};
use crate::support::terminal::Terminal;
use serde_json::{Value, json};

const NAMES: &[&str] = &["a", "b", "c", "d", "e", "f"];

fn scene() -> Repo {
    let files: Vec<(String, String)> =
        NAMES.iter().map(|name| ((*name).to_owned(), format!("{name}1\nkeep\n"))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    Repo::with(&files)
}

fn propose(repo: &Repo, path: &str) -> String {
    let old = format!("{path}1");
    repo.aye(&["propose", path, "--old", &old, "--new", &format!("new {path}"), "-q"]).ok().id()
}

/// A repository with proposals in every state, and a server that has its branch.
struct Scene {
    repo: Repo,
    server: Repo,
    applied: String,
    rejected: String,
    undone: String,
    pending: String,
}

fn history() -> Scene {
    let (repo, server) = (scene(), Repo::bare());
    let applied = propose(&repo, "a");
    repo.aye(&["apply", &applied, "--yes"]).ok();
    let rejected = propose(&repo, "b");
    repo.aye(&["comment", &rejected, "-m", "what for?"]).ok();
    repo.aye(&["reject", &rejected, "--yes", "-m", "no"]).ok();
    let undone = propose(&repo, "c");
    repo.aye(&["apply", &undone, "--yes"]).ok();
    repo.aye(&["undo", &undone, "--yes"]).ok();
    let both = [propose(&repo, "d"), propose(&repo, "e")];
    repo.aye(&["reject", &both[0], &both[1], "--yes"]).ok();
    let pending = propose(&repo, "f");
    join(&repo, &server);
    repo.git(&["push", "-q", "origin", "main"]);
    push(&repo);
    Scene { repo, server, applied, rejected, undone, pending }
}

/// What `aye doctor --gc` prints of the first lane: its id, and how many events of how many proposals were folded.
fn gc(repo: &Repo) -> (String, usize, usize) {
    let out = repo.aye(&["doctor", "--gc", "--now", "--keep", "0"]).ok().out();
    let words: Vec<&str> = out.lines().next().expect("a line").split_whitespace().collect();
    let lane = words[1].trim_end_matches(':').to_owned();
    let number = |at: usize| words[at].parse().expect("a number");
    let is_folded = words[2] == "folded";
    (lane, if is_folded { number(3) } else { 0 }, if is_folded { number(6) } else { 0 })
}

/// The refs of lanes, with the lane written as `L`.
fn refs(repo: &Repo, lane: &str, below: &str) -> Vec<String> {
    let refs = repo.git(&["for-each-ref", "--format=%(refname)", below]);
    refs.lines().map(|name| name.replace(lane, "L")).collect()
}

fn list(repo: &Repo) -> Value {
    repo.aye(&["list", "--status", "all", "--json"]).ok().json()["proposals"].clone()
}

/// As with a cache, so without one; and without a complaint.
#[track_caller]
fn forget(repo: &Repo) {
    for name in ["cache.sqlite", "cache.sqlite-journal"] {
        let _ = std::fs::remove_file(repo.path(&format!(".git/aye/{name}")));
    }
}

fn everything(repo: &Repo) -> Value {
    let warm = list(repo);
    let log = repo.aye(&["log", "--json"]).ok().json();
    let by_path = || repo.aye(&["list", "--status", "all", "--path", "a", "--json"]).ok().json();
    let of_path = by_path();
    let doctor = repo.aye(&["doctor"]);
    forget(repo);
    // Before and after there are indices of it.
    assert_eq!(by_path()["proposals"], of_path["proposals"]);
    assert_eq!(list(repo), warm, "cold and warm");
    assert_eq!(repo.aye(&["log", "--json"]).ok().json()["events"], log["events"]);
    // A copy of a clone says where it goes on from.
    let found = doctor.out().replace("lane_forked", "");
    assert!(!found.contains("lane_") && !found.contains("event_"), "{doctor}");
    warm
}

#[track_caller]
fn status(repo: &Repo, id: &str) -> String {
    let json = repo.aye(&["show", id, "--json"]).ok().json();
    let word = json["status"].as_str().expect("a status").to_owned();
    match json["contested"] == true {
        true => format!("{word}, contested"),
        false => word,
    }
}

#[test]
fn an_epoch_says_what_the_one_before_said_in_every_clone() {
    let Scene { repo, server, rejected, pending, .. } = history();
    let warm = clone(&server);
    let before = everything(&repo);
    assert_eq!(everything(&warm), before);
    let lane = lane(&repo);
    assert_eq!(gc(&repo), (lane.clone(), 9, 4));
    assert_eq!(refs(&repo, &lane, "refs/aye/log"), ["refs/aye/log/L.2/L"]);
    assert_eq!(refs(&repo, &lane, "refs/aye/archive"), ["refs/aye/archive/L.1"]);
    assert_eq!(repo.text(".git/aye/lane"), format!("{lane}.2\n"));
    repo.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(everything(&repo), before);
    // A plain push, with the old epoch on the server still.
    push(&repo);
    fetch(&warm);
    let both = ["refs/aye/remotes/origin/L", "refs/aye/remotes/origin/L.2/L"];
    assert_eq!(refs(&warm, &lane, "refs/aye/remotes"), both);
    assert_eq!(everything(&warm), before);
    assert_eq!(everything(&clone(&server)), before);
    // And without it.
    repo.git(&["push", "-q", "origin", &format!(":refs/aye/log/{lane}")]);
    warm.git(&["fetch", "-q", "--prune", "origin"]);
    assert_eq!(refs(&warm, &lane, "refs/aye/remotes"), ["refs/aye/remotes/origin/L.2/L"]);
    assert_eq!(everything(&warm), before);
    let kept = warm.git(&["rev-parse", &format!("refs/aye/kept/{lane}")]);
    let tip = warm.git(&["rev-parse", &format!("refs/aye/remotes/origin/{lane}.2/{lane}")]);
    assert_eq!(kept, tip, "what is kept has moved on");
    let fresh = clone(&server);
    assert_eq!(everything(&fresh), before);
    // What was said is here, and what it was about is fetched on demand.
    let shown = fresh.aye(&["show", &rejected]).fails("proposal_archived", 3);
    shown.says("what for?").says("no");
    let hint = |remote: &str| {
        fresh.git(&["config", "aye.remote", remote]);
        let run = fresh.aye(&["diff", &rejected]).fails("proposal_archived", 3).err();
        run.split("git fetch ").nth(1).expect("the command").trim().to_owned()
    };
    let there = format!("origin 'refs/aye/archive/{lane}.*:refs/aye/archive");
    // The archive of another remote's lane stays apart from what is pushed to the default one.
    assert_eq!(hint("elsewhere"), format!("{there}-for/origin/{lane}.*'"));
    assert_eq!(hint("origin"), format!("{there}/{lane}.*'"));
    fresh.aye(&["diff", &pending]).ok();
    repo.git(&["push", "-q", "origin", "refs/aye/archive/*"]);
    let archive = format!("refs/aye/archive/{lane}.*");
    fresh.git(&["fetch", "-q", "origin", &format!("{archive}:{archive}")]);
    assert_eq!(
        fresh.aye(&["diff", &rejected]).ok().out(),
        repo.aye(&["diff", &rejected]).ok().out()
    );
    assert_eq!(everything(&fresh), before);
}

/// Proposals whose refs and files have yet to follow what lanes of other clones say.
fn due(repo: &Repo) -> Vec<String> {
    let ids = || -> rusqlite::Result<Vec<String>> {
        let cache = rusqlite::Connection::open(repo.path(".git/aye/cache.sqlite"))?;
        let mut ids = cache.prepare("SELECT proposal FROM fetched")?;
        ids.query_map([], |row| row.get(0))?.collect()
    };
    ids().expect("the cache")
}

#[test]
fn in_a_new_clone_nothing_has_to_follow_what_was_decided_before() {
    let Scene { repo, server, undone, pending, .. } = history();
    let other = clone(&server);
    list(&other);
    let mut open = vec![undone, pending.clone()];
    open.sort();
    assert_eq!(due(&other), open);
    propose(&other, "a");
    assert_eq!(due(&other), Vec::<String>::new());
    let is_there = || {
        let refs = refs(&other, &pending, "refs/aye/pending");
        let files = other.exists(&format!(".agent-memory/proposals/{pending}/change.patch"));
        (refs.contains(&"refs/aye/pending/L".to_owned()), files)
    };
    assert_eq!(is_there(), (true, true));
    // What stands here is followed, also by a cache that is made anew.
    repo.aye(&["reject", &pending, "--yes"]).ok();
    push(&repo);
    fetch(&other);
    other.remove(".git/aye/cache.sqlite");
    list(&other);
    assert_eq!(due(&other), open);
    propose(&other, "b");
    assert_eq!(is_there(), (false, false));
    other.aye(&["doctor"]).ok();
}

#[test]
fn a_lane_goes_on_in_its_epochs() {
    let Scene { repo, server, undone, pending, applied, .. } = history();
    let warm = clone(&server);
    gc(&repo);
    // Nothing is left to fold, and nothing is done.
    assert_eq!(gc(&repo).1, 0);
    repo.aye(&["reject", &pending, "--yes"]).ok();
    repo.aye(&["apply", &undone, "--yes"]).ok();
    let late = propose(&repo, "f");
    let lane = lane(&repo);
    assert_eq!(refs(&repo, &lane, "refs/aye/log"), ["refs/aye/log/L.2/L"]);
    assert_eq!(gc(&repo).2, 2);
    assert_eq!(refs(&repo, &lane, "refs/aye/log"), ["refs/aye/log/L.3/L"]);
    assert_eq!(refs(&repo, &lane, "refs/aye/archive").len(), 2);
    repo.aye(&["undo", &applied, "--yes"]).ok();
    let all = everything(&repo);
    push(&repo);
    // The second epoch was never seen there.
    fetch(&warm);
    assert_eq!(everything(&warm), all);
    assert_eq!(everything(&clone(&server)), all);
    assert_eq!(status(&warm, &late), "pending");
    assert_eq!(status(&warm, &applied), "pending");
    warm.aye(&["reject", &late, "--yes"]).ok();
    push(&warm);
    fetch(&repo);
    assert_eq!(everything(&repo), everything(&warm));
}

/// A clone that nobody looked into for long fetches one epoch after the other.
#[test]
fn a_reader_that_comes_late_follows_many_epochs() {
    let Scene { repo, server, pending, .. } = history();
    let warm = clone(&server);
    list(&warm);
    let mut waiting = pending;
    for round in 0..9 {
        repo.aye(&["reject", &waiting, "--yes"]).ok();
        gc(&repo);
        waiting = propose(&repo, ["b", "d", "e"][round % 3]);
        push(&repo);
        fetch(&warm);
    }
    let all = everything(&repo);
    assert_eq!(everything(&warm), all);
    let lane = lane(&repo);
    let kept = warm.git(&["rev-parse", &format!("refs/aye/kept/{lane}")]);
    assert_eq!(
        kept,
        warm.git(&["rev-parse", &format!("refs/aye/remotes/origin/{lane}.10/{lane}")])
    );
}

#[test]
fn a_reader_of_several_epochs_at_once_finds_one_history() {
    let Scene { repo, server, pending, .. } = history();
    let warm = clone(&server);
    list(&warm);
    for id in [pending, propose(&repo, "b"), propose(&repo, "d")] {
        repo.aye(&["reject", &id, "--yes"]).ok();
        gc(&repo);
        push(&repo);
        fetch(&warm);
        list(&warm);
    }
    let lane = lane(&repo);
    assert_eq!(refs(&warm, &lane, "refs/aye/remotes").len(), 4);
    let all = everything(&repo);
    assert_eq!(everything(&warm), all);
    assert_eq!(everything(&clone(&server)), all);
    // Some of them, and the newest.
    for epoch in [2, 3] {
        warm.git(&["update-ref", "-d", &format!("refs/aye/remotes/origin/{lane}.{epoch}/{lane}")]);
        assert_eq!(everything(&warm), all);
    }
}

#[test]
fn several_lanes_begin_an_epoch_between_two_looks() {
    let Scene { repo, server, pending, .. } = history();
    let warm = clone(&server);
    let clones: Vec<Repo> = (0..4).map(|_| clone(&server)).collect();
    for (clone, path) in clones.iter().zip(["a", "b", "c", "d"]) {
        let id = propose(clone, path);
        clone.aye(&["reject", &id, "--yes"]).ok();
        push(clone);
    }
    fetch(&warm);
    list(&warm);
    for clone in clones.iter().chain([&repo]) {
        gc(clone);
        push(clone);
    }
    fetch(&warm);
    warm.aye(&["show", &pending]).ok();
    everything(&warm);
}

#[test]
fn a_decision_that_had_not_seen_the_epoch_counts_as_it_would_have() {
    for (word, expected) in [("undo", "pending"), ("reject", "rejected, contested")] {
        let Scene { repo, server, applied, rejected, .. } = history();
        let far = clone(&server);
        match word {
            "undo" => {
                far.write("a", "new a\nkeep\n");
                far.aye(&["undo", &applied, "--yes"]).ok();
            }
            _ => {
                // It had not seen the rejection either.
                far.aye(&["undo", &rejected, "--yes"]).ok();
                far.aye(&["reject", &rejected, "--yes"]).ok();
            }
        }
        gc(&repo);
        push(&repo);
        push(&far);
        for repo in [&repo, &far] {
            fetch(repo);
        }
        let fresh = clone(&server);
        let all = everything(&repo);
        assert_eq!(everything(&far), all);
        assert_eq!(everything(&fresh), all);
        let id = if word == "undo" { &applied } else { &rejected };
        let expected = expected.trim_end_matches(", contested");
        assert_eq!(status(&fresh, id), expected);
    }
}

/// The epoch in which it was shown need not have reached anybody.
#[test]
fn a_decision_that_was_asked_for_before_an_epoch_counts_in_every_clone() {
    for (begin, state) in
        [("gc", "rejected"), ("purge", "rejected"), ("gc", "applied"), ("gc", "committed")]
    {
        let (repo, server) = (scene(), Repo::bare());
        let ids: Vec<String> = ["a", "b", "c"].iter().map(|path| propose(&repo, path)).collect();
        repo.aye(&["comment", &ids[0], "-m", "what for?"]).ok();
        repo.aye(&["reject", &ids[2], "--yes"]).ok();
        let args = match state {
            "rejected" => vec!["reject", &ids[0], "-m", "no"],
            "applied" => vec!["apply", &ids[0]],
            _ => vec!["apply", &ids[0], "--commit"],
        };
        let mut t =
            Terminal::start(repo.cmd(&args).env("TERM", "dumb").env("PAGER", "cat"), 50, 100);
        t.sees("[y/n]");
        match begin {
            "gc" => drop(gc(&repo)),
            _ => drop(repo.aye(&["purge", &ids[1], "--yes", "-m", "a key"]).ok()),
        }
        t.types("y\r");
        assert_eq!(t.ends(), 0, "{}", t.text());
        let state = if state == "committed" { "applied" } else { state };
        assert_eq!(status(&repo, &ids[0]), state);
        join(&repo, &server);
        repo.git(&["push", "-q", "origin", "main"]);
        push(&repo);
        let other = clone(&server);
        assert_eq!(status(&other, &ids[0]), state, "after {begin}");
        other.aye(&["doctor"]).ok();
        forget(&repo);
        assert_eq!(status(&repo, &ids[0]), state);
    }
}

#[test]
fn an_epoch_that_leaves_something_out_takes_nothing_away() {
    let Scene { repo, server, applied, .. } = history();
    let warm = clone(&server);
    let before = everything(&warm);
    let lane = lane(&repo);
    let tip = repo.git(&["rev-parse", &format!("refs/aye/log/{lane}")]);
    // A snapshot of nothing that claims to go on from the tip.
    let hostile = Hostile::new(&warm, &lane);
    let snapshot = hostile.blob("");
    let sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let fold = |lane: &str, from: &str, seq: u64, snapshot: &str, sha256: &str| {
        let event = json!({
            "v": 1, "kind": "fold", "lane": lane, "seq": seq, "heads": [],
            "actor": {"name": "M", "email": "m@x", "kind": "human"},
            "time": "2026-02-01T00:00:00.000Z",
            "data": {"epoch": 2, "from": from, "part": 1, "parts": 1,
                     "snapshot": {"id": snapshot, "sha256": sha256}},
        });
        let event = hostile.blob(format!("{event}\n"));
        let tree =
            format!("100644 blob {event}\tevent.json\n100644 blob {snapshot}\tsnapshot-0001\n");
        hostile.commit(&hostile.tree(&tree), &[])
    };
    let name = format!("refs/aye/remotes/origin/{lane}.2/{lane}");
    let events: u64 = 13;
    let from = format!("{lane} {events} {tip}");
    let empty = fold(&lane, &from, events + 1, &snapshot, sha256);
    warm.git(&["update-ref", &name, &empty]);
    assert_eq!(list(&warm), before);
    assert_eq!(status(&warm, &applied), "applied");
    warm.aye(&["doctor"]).says(" histories");
    assert_eq!(warm.git(&["rev-parse", &format!("refs/aye/kept/{lane}")]), tip);
    // Deleted at the remote, what was kept counts still.
    warm.git(&["update-ref", "-d", &format!("refs/aye/remotes/origin/{lane}")]);
    assert_eq!(list(&warm), before);
    // What is wrong with it is said, and stops nothing.
    let other = json!({
        "actor": {"email": "", "kind": "human", "name": "x"}, "data": {"body": "x"}, "heads": [],
        "kind": "comment", "lane": "another", "proposal": applied, "seq": 1,
        "time": "2026-02-01T00:00:00.000Z", "v": 1,
    });
    let other = format!("{{\"subject\":{{\"id\":\"{applied}\"}}}}\n{other}\n");
    let long = format!("{{\"later\":\"{}\"}}\n", "x".repeat(2 << 20));
    let sum = |text: &str| {
        let sum = fed(&warm, &["hash-object", "-w", "--stdin"], text);
        let line = warm.program("sha256sum").stdin(text).run().ok().out();
        (sum, line[..64].to_owned())
    };
    let (blank, blank_sum) = sum("{\"subject\": {}}\n");
    let (other, other_sum) = sum(&other);
    let (long, long_sum) = sum(&long);
    let next = events + 1;
    for (tip, why) in [
        (fold(&lane, &from, next, &other, &other_sum), "lane 'another'"),
        (fold(&lane, &from, next, &long, &long_sum), "1048576 bytes"),
        (fold(&lane, &from, next, &blank, &blank_sum), "canonical"),
        (fold(&lane, &from, next + 5, &snapshot, sha256), "wrong position"),
        (fold(&lane, &from, next, &snapshot, &blank_sum), "not the one"),
        (fold(&lane, "nobody 3 0", 4, &snapshot, sha256), "which epoch"),
        (fold(&lane, "?", 4, &snapshot, sha256), "which epoch"),
    ] {
        warm.git(&["update-ref", &name, &tip]);
        assert_eq!(list(&warm), before, "{why}");
        warm.aye(&["doctor"]).says(why);
    }
    // One that is honest goes on from what was kept.
    gc(&repo);
    push(&repo);
    warm.git(&["fetch", "-q", "--prune", "-f", "origin"]);
    assert_eq!(everything(&warm), before);
}

/// Proposals of a part of a snapshot are folded while it is read.
#[test]
fn of_a_part_with_a_bad_line_nothing_counts() {
    let Scene { repo, server, pending, .. } = history();
    gc(&repo);
    push(&repo);
    let far = clone(&server);
    // Its own lane is read first, and has something about a proposal of the part.
    far.aye(&["comment", &pending, "-m", "from afar"]).ok();
    let lane = lane(&repo);
    let name = format!("refs/aye/remotes/origin/{lane}.2/{lane}");
    // It is all that there is of that lane, and was never seen.
    let alone = || {
        let below = ["refs/aye/remotes", "refs/aye/kept"];
        let refs = below.map(|below| far.git(&["for-each-ref", "--format=%(refname)", below]));
        for other in refs.iter().flat_map(|refs| refs.lines()).filter(|other| *other != name) {
            far.git(&["update-ref", "-d", other]);
        }
        forget(&far);
    };
    alone();
    let expected = everything(&far);
    let honest = far.git(&["rev-parse", &name]);
    let root = far.git(&["rev-list", "--max-parents=0", &name]);
    let part = far.git(&["cat-file", "blob", &format!("{root}:snapshot-0001")]);
    let fold = far.git(&["cat-file", "blob", &format!("{root}:event.json")]);
    let fold: Value = serde_json::from_str(&fold).expect("an event");
    let lines: Vec<&str> = part.lines().collect();
    let hostile = Hostile::new(&far, &lane);
    // Behind the last line, and behind the first of each kind.
    // In the middle before a proposal: after an event that names a statement, a missing one would be told of.
    let starts = |at: &usize| lines[*at].starts_with("{\"subject\"");
    let middle = (lines.len() / 2..lines.len()).find(starts).expect("more proposals");
    let places = [lines.len(), 2, middle];
    for at in places {
        let mut lines = lines.clone();
        lines.insert(at, "{\"subject\":{}}");
        let part = format!("{}\n", lines.join("\n"));
        let blob = hostile.blob(&part);
        let sum = far.program("sha256sum").stdin(&part).run().ok().out();
        let mut fold = fold.clone();
        fold["data"]["snapshot"] = json!({"id": blob, "sha256": sum[..64]});
        let event = hostile.blob(format!("{fold}\n"));
        let tree = format!("100644 blob {event}\tevent.json\n100644 blob {blob}\tsnapshot-0001\n");
        let bad = hostile.commit(&hostile.tree(&tree), &[]);
        far.git(&["update-ref", &name, &bad]);
        alone();
        assert_eq!(list(&far), json!([]), "{at}");
        far.aye(&["doctor"]).says("wrong");
        // With the part as it was, all is as it was, whether it is read again from the beginning or not.
        far.git(&["update-ref", &name, &honest]);
        assert_eq!(everything(&far), expected, "{at}");
        forget(&far);
        assert_eq!(everything(&far), expected, "{at}");
    }
}

#[test]
fn a_copy_of_a_folded_clone_goes_on_in_a_lane_of_its_own() {
    let Scene { repo, server, pending, undone, .. } = history();
    gc(&repo);
    let copy = repo.copy();
    copy.write(".git/aye/place", repo.read(".git/aye/place"));
    copy.aye(&["comment", &pending, "-m", "from the copy"]).ok();
    repo.aye(&["comment", &pending, "-m", "from the original"]).ok();
    let lane = lane(&repo);
    assert_eq!(refs(&repo, &lane, "refs/aye/log"), ["refs/aye/log/L.2/L"]);
    assert_eq!(refs(&copy, &lane, "refs/aye/log").len(), 2);
    // Only what it writes itself is folded.
    copy.aye(&["reject", &pending, "--yes"]).ok();
    assert_eq!(gc(&copy).0, lane_beside(&copy, &lane));
    push(&repo);
    // The lane that it has left follows the one who writes it, and is no obstacle.
    fetch(&copy);
    copy.aye(&["comment", &undone, "-m", "later"]).ok();
    push(&copy);
    fetch(&repo);
    assert_eq!(everything(&repo), everything(&copy));
    assert_eq!(everything(&clone(&server)), everything(&copy));
}

/// This clone's lane, which is not `other`.
fn lane_beside(repo: &Repo, other: &str) -> String {
    let own = lane(repo);
    assert_ne!(own, other);
    own
}

#[test]
fn agents_fold_nothing_and_nothing_is_folded_before_it_is_due() {
    let Scene { repo, .. } = history();
    repo.agent("codex", &["doctor", "--gc", "--now"]).fails("human_approval_required", 4);
    let dry = repo.aye(&["doctor", "--gc", "--now", "--keep", "0", "--dry-run"]).ok();
    assert!(dry.out().contains(" 9 events "), "{dry}");
    repo.aye(&["doctor", "--gc"]).ok();
    repo.aye(&["doctor", "--gc", "--keep", "0"]).ok();
    let lane = lane(&repo);
    assert_eq!(refs(&repo, &lane, "refs/aye/log"), ["refs/aye/log/L"]);
    scene().aye(&["doctor", "--gc"]).ok();
    let text = repo.aye(&["doctor", "--gc", "--now", "--keep", "0"]).ok().out();
    assert!(text.contains(&format!("git push origin :refs/aye/log/{lane}")), "{text}");
}

#[test]
fn an_epoch_whose_ref_was_left_takes_nothing_away() {
    for private in [false, true] {
        let repo = scene();
        let more: &[&str] = if private { &["--private"] } else { &[] };
        let args = ["propose", "a", "--old", "a1", "--new", "A", "-q"];
        let id = repo.aye(&[&args, more].concat()).ok().id();
        let other = propose(&repo, "b");
        repo.aye(&["reject", &id, "--yes"]).ok();
        let directory = if private { "private" } else { "log" };
        let below = format!("refs/aye/{directory}");
        let old = repo.git(&["for-each-ref", "--format=%(refname) %(objectname)", &below]);
        let (name, tip) = old.split_once(' ').expect("a ref");
        repo.aye(&["doctor", "--gc", "--now", "--keep", "0"]).ok();
        // As a writer leaves it that was stopped, or a backup that was restored over the files.
        repo.git(&["update-ref", name, tip]);
        repo.aye(&["doctor"]).ok().lacks("cache_tampered");
        assert_eq!(status(&repo, &id), "rejected");
        repo.aye(&["undo", &id, "--yes"]).ok();
        repo.aye(&["reject", &other, "--yes"]).ok();
        assert_eq!(status(&repo, &id), "pending");
        // The next writer removes it.
        let left = repo.git(&["for-each-ref", "--format=%(refname)", name]);
        assert!(left.is_empty(), "{left}");
        repo.aye(&["doctor"]).ok();
    }
}

#[test]
fn an_epoch_of_a_forked_lane_says_what_the_lane_said() {
    let (repo, server) = (scene(), Repo::bare());
    join(&repo, &server);
    repo.git(&["push", "-q", "origin", "main"]);
    let id = propose(&repo, "a");
    repo.aye(&["apply", &id, "--yes"]).ok();
    // The same lane in two places, as after a backup was restored over the files.
    let other = repo.copy();
    repo.aye(&["undo", &id, "--yes"]).ok();
    push(&repo);
    let late = propose(&other, "b");
    assert_ne!(gc(&other).1, 0);
    fetch(&other);
    other.aye(&["comment", &late, "-m", "in a lane of its own"]).ok();
    push(&other);
    let lane = lane(&repo);
    let part = format!("refs/aye/log/{lane}.f*/*");
    assert!(!other.git(&["for-each-ref", &part]).is_empty(), "the epoch is a part of it");
    fetch(&repo);
    for repo in [&repo, &other, &clone(&server)] {
        assert_eq!(status(repo, &id), "pending");
        repo.remove(".git/aye/cache.sqlite");
        assert_eq!(status(repo, &id), "pending");
    }
}

/// A snapshot has the counts of a decided proposal and not its lines, which only pending ones are asked for.
#[test]
fn a_reopened_proposal_is_known_to_touch_the_same_lines() {
    let repo = scene();
    let first = propose(&repo, "a");
    let second = repo.aye(&["propose", "a", "--old", "a1", "--new", "other", "-q"]).ok().id();
    let same_lines = |all: Value, id: &str| {
        let all = all.as_array().expect("proposals").clone();
        let found = all.into_iter().find(|item| item["proposal_id"] == id).expect("the proposal");
        found["same_lines"].clone()
    };
    repo.aye(&["reject", &first, "--yes"]).ok();
    assert_eq!(same_lines(everything(&repo), &second), json!(null));
    gc(&repo);
    everything(&repo);
    repo.aye(&["undo", &first, "--yes"]).ok();
    assert_eq!(same_lines(list(&repo), &second), json!([first]));
    assert_eq!(same_lines(everything(&repo), &first), json!([second]));
}

#[test]
fn a_reopened_proposal_whose_archive_is_elsewhere_has_no_pending_ref() {
    let Scene { repo, server, rejected, pending, .. } = history();
    gc(&repo);
    repo.git(&[
        "push",
        "-q",
        "origin",
        "refs/aye/log/*",
        &format!(":refs/aye/log/{}", lane(&repo)),
    ]);
    repo.aye(&["undo", &rejected, "--yes"]).ok();
    push(&repo);
    let fresh = clone(&server);
    fresh.aye(&["comment", &pending, "-m", "hello"]).ok();
    assert_eq!(status(&fresh, &rejected), "pending");
    let refs = fresh.git(&["for-each-ref", "--format=%(refname)", "refs/aye/pending"]);
    assert!(refs.contains(&pending) && !refs.contains(&rejected), "{refs}");
    fresh.git(&["gc", "-q", "--prune=now"]);
    repo.git(&["rev-parse", &format!("refs/aye/pending/{rejected}")]);
}

#[test]
fn new_epochs_of_many_lanes_come_with_one_fetch() {
    let (repo, server) = (scene(), Repo::bare());
    join(&repo, &server);
    repo.git(&["push", "-q", "origin", "main"]);
    let ci = |lane: &str, args: &[&str]| repo.cmd(args).in_ci(lane).run().ok();
    for name in NAMES {
        let old = format!("{name}1");
        let id = ci(name, &["propose", name, "--old", &old, "--new", "A", "-q"]).id();
        repo.aye(&["reject", &id, "--yes"]).ok();
    }
    push(&repo);
    let warm = clone(&server);
    let before = everything(&warm);
    for name in NAMES {
        ci(name, &["doctor", "--gc", "--now", "--keep", "0"]);
    }
    push(&repo);
    fetch(&warm);
    assert_eq!(everything(&warm), before);
}

#[test]
fn plans_and_patches_are_folded_and_stay_readable() {
    let repo = scene();
    repo.plan(&["one"]);
    repo.plan(&["one", "two"]);
    let patch = "--- a/b\n+++ b/b\n@@ -1,2 +1,2 @@\n-b1\n+B\n keep\n";
    repo.aye_stdin(&["patch"], patch).ok();
    let plan = repo.aye(&["plan", "show", "--json"]).ok().json();
    let log = repo.aye(&["log", "--json"]).ok().json();
    assert_eq!(gc(&repo).1, 2);
    assert_eq!(repo.aye(&["plan", "show", "--json"]).ok().json(), plan);
    let all = repo.aye(&["log", "--json"]).ok().json();
    let count = |log: &Value| log["events"].as_array().expect("events").len();
    assert_eq!(count(&all), count(&log) + 1, "{all:#}");
}

#[test]
fn what_was_approved_is_known_without_the_archive() {
    let (repo, server) = (scene(), Repo::bare());
    let id = propose(&repo, "a");
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
    gc(&repo);
    join(&repo, &server);
    repo.git(&["push", "-q", "origin", "main"]);
    push(&repo);
    let fresh = clone(&server);
    let lane = lane(&repo);
    let has = |path: &str| {
        let name = format!("refs/aye/remotes/origin/{lane}.2/{lane}");
        fresh.git(&["log", "--format=", "--name-only", &name]).contains(path)
    };
    assert!(has("snapshot-0001") && !has("statement-0001") && !has("manifest-0001"));
    fresh.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
    // And it is not just any commit that passes.
    fresh.write("b", "by hand\n");
    fresh.commit(&format!("By hand\n\nProposal-Id: {id}"));
    fresh.aye(&["check", "--range", "HEAD~1..HEAD"]).exits(1);
}

#[test]
fn ids_of_any_length_are_folded() {
    let repo = Repo::sha256();
    repo.write("a", "a1\nkeep\n");
    repo.commit("Start");
    let id = propose(&repo, "a");
    repo.aye(&["reject", &id, "--yes"]).ok();
    let before = everything(&repo);
    assert_eq!(gc(&repo).2, 1);
    assert_eq!(everything(&repo), before);
    assert_eq!(status(&repo, &id), "rejected");
    repo.aye(&["undo", &id, "--yes"]).ok();
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(status(&repo, &id), "applied");
}

#[test]
fn a_named_lane_goes_on_in_its_epoch_in_another_run() {
    let (repo, server) = (scene(), Repo::bare());
    join(&repo, &server);
    repo.git(&["push", "-q", "origin", "main"]);
    let ci = |repo: &Repo, args: &[&str]| {
        let config = repo.user_config(&[("aye.lane", "build")]);
        repo.cmd(args).env("CI", "true").env("GIT_CONFIG_GLOBAL", config).run().ok()
    };
    let id = ci(&repo, &["propose", "a", "--old", "a1", "--new", "A", "-q"]).id();
    repo.aye(&["reject", &id, "--yes"]).ok();
    ci(&repo, &["doctor", "--gc", "--now", "--keep", "0"]);
    assert_eq!(refs(&repo, "build", "refs/aye/log/build.2"), ["refs/aye/log/L.2/L"]);
    push(&repo);
    let next = clone(&server);
    ci(&next, &["propose", "b", "--old", "b1", "--new", "B", "-q"]);
    assert_eq!(refs(&next, "build", "refs/aye/log"), ["refs/aye/log/L.2/L"]);
    push(&next);
    fetch(&repo);
    assert_eq!(everything(&repo), everything(&next));
}

/// A remote keeps both epochs, and a copy begins a lane of its own with its first write: what that has recorded it
/// shows.
#[test]
fn a_copy_of_a_folded_clone_shows_what_it_records() {
    let Scene { repo, server: _server, pending, .. } = history();
    gc(&repo);
    push(&repo);
    fetch(&repo);
    for (at, command) in ["propose", "revise"].into_iter().enumerate() {
        let copy = repo.copy();
        let id = match command {
            "propose" => propose(&copy, NAMES[at + 1]),
            _ => {
                let to = ["revise", &pending, "f", "--old", "f1", "--new", "newer f"];
                copy.aye(&to).ok();
                pending.clone()
            }
        };
        copy.git(&["rev-parse", "--verify", "-q", &format!("refs/aye/pending/{id}")]);
        copy.aye(&["show", &id]).ok();
        assert_eq!(copy.aye(&["doctor", "--json"]).json()["sound"], true);
    }
}
