//! Lanes of other clones, as bad as git can carry them. None stops a command, none costs more
//! than its limits, and none changes what was approved here.

use crate::support::hostile::{self, Hostile, Import};
use crate::support::record::proposal;
use crate::support::{self, Repo, Run};
use serde_json::json;

/// A repository in which Ada has applied one proposal, and has another one pending.
struct Scene {
    repo: Repo,
    applied: String,
    pending: String,
}

fn scene() -> Scene {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n")]);
    let propose = |old: &str, new: &str| {
        repo.aye(&["propose", "a.txt", "--old", old, "--new", new, "-m", "Mine", "-q"]).ok().id()
    };
    let applied = propose("one", "ONE");
    let pending = propose("three", "THREE");
    repo.aye(&["apply", &applied, "--yes"]).ok();
    Scene { repo, applied, pending }
}

impl Scene {
    /// Runs the commands that people and CI run all day, within 512 MiB of address space and a minute
    /// of processor time. None may fail for what lanes of others hold.
    #[track_caller]
    fn all_commands_work(&self) {
        let Self { repo, applied, pending } = self;
        self.run(&["list"]).ok().says("Mine");
        let json = self.run(&["list", "--json"]).ok().json();
        assert!(json["count"].as_u64() >= Some(1), "{json}");
        self.run(&["show", applied]).ok().says("applied");
        self.run(&["diff", pending]).ok().says("+THREE");
        self.run(&["log", pending]).ok().says("propose");
        self.run(&["log"]).ok();
        answered(self.run(&["check"]));
        answered(self.run(&["check", "--range", "HEAD"]));
        answered(self.run(&["doctor"]));
        answered(self.run(&["review"]));
        let id = self.run(&["propose", "b.txt", "--old", "b", "--new", "c", "-q"]).ok().id();
        self.run(&["apply", &id, "--yes"]).ok();
        assert_eq!(repo.text("b.txt"), "c\n");
        self.run(&["undo", &id, "--yes"]).ok();
        assert_eq!(repo.text("b.txt"), "b\n");
        self.run(&["reject", &id, "--yes"]).ok();
        self.run(&["show", applied, "--json"]).ok().says("\"applied\"");
        assert_eq!(repo.text("a.txt"), "ONE\ntwo\nthree\n");
    }

    fn run(&self, args: &[&str]) -> Run {
        let script = "ulimit -v 524288; ulimit -t 60; exec \"$0\" \"$@\"";
        let run = self.repo.program("sh").args(&["-c", script]).args(&[support::tested()]);
        run.args(args).run().plain()
    }
}

/// Answered the question, with or without findings.
#[track_caller]
fn answered(run: Run) {
    assert!(run.status <= 5 && !run.err().contains("lane_broken"), "{run}");
}

/// Every way in which a lane can be malformed. What comes in front of the bad commit counts.
fn malformed(repo: &Repo) -> usize {
    let lanes = std::cell::Cell::new(0);
    let lane = || {
        lanes.set(lanes.get() + 1);
        Hostile::new(repo, &format!("bad{:05}", lanes.get()))
    };
    // Objects that are no commits, and refs to nothing.
    let blob = lane();
    blob.push(&blob.blob("no commit"));
    let tree = lane();
    tree.push(&tree.tree(""));
    repo.git(&["tag", "-a", "-m", "x", "hostile", "HEAD"]);
    lane().push(&repo.git(&["rev-parse", "refs/tags/hostile"]));
    lane().push(&"1".repeat(40));
    lane().push(&repo.git(&["rev-parse", "HEAD"]));
    // Trees without events, or with others than blobs for them.
    let missing = "2".repeat(40);
    for entries in [
        String::new(),
        format!("100644 blob {missing}\tevent.json\n"),
        format!("040000 tree {missing}\tevents\n"),
        format!("160000 commit {missing}\tevent.json\n"),
    ] {
        let lane = lane();
        lane.push(&lane.commit(&lane.tree(&entries), &[]));
    }
    let directory = lane();
    let inner = directory.tree("");
    let entries = format!("040000 tree {inner}\tevent.json\n");
    directory.push(&directory.commit(&directory.tree(&entries), &[]));
    // Blobs that are no events.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for content in [
        "".to_owned(),
        "{}".to_owned(),
        "null\n".to_owned(),
        "\u{0}\u{1b}[31m".to_owned(),
        deep.clone(),
        format!("{{\"v\":1,\"kind\":\"plan\",\"data\":{deep}}}"),
        "x".repeat(2 << 20),
    ] {
        let lane = lane();
        lane.push(&lane.step(&content, &[]));
    }
    // Events that contradict the format, behind a good one.
    for change in [
        json!({"lane": "other"}),
        json!({"seq": -1}),
        json!({"seq": "1"}),
        json!({"time": "yesterday"}),
        json!({"actor": null}),
        json!({"actor": {"name": "x", "email": "", "kind": "robot"}}),
        json!({"kind": "apply", "data": {}}),
        json!({"proposal": "prop_../../x", "kind": "comment", "data": {"body": "x"}}),
        json!({"data": {"proposed_by": "x", "form": "x", "expires_at": "2999-01-01T00:00:00Z",
            "changes": [{"path": "../x"}]}}),
        json!({"heads": 7}),
    ] {
        let mut lane = lane();
        let good = lane.comment("prop_0000000000", "x");
        let good = lane.step(&good, &[]);
        let mut event: serde_json::Value =
            serde_json::from_str(&lane.propose("evil.txt", "Evil")).expect("an event");
        for (key, value) in change.as_object().expect("an object") {
            event[key] = value.clone();
        }
        lane.push(&lane.step(&event.to_string(), &[&good]));
    }
    // Shapes of history.
    let mut merge = lane();
    let (left, right) = (merge.propose("m1", "x"), merge.propose("m2", "x"));
    let (left, right) = (merge.step(&left, &[]), merge.step(&right, &[]));
    let event = merge.propose("m3", "x");
    merge.push(&merge.step(&event, &[&left, &right]));
    let mut orphan = lane();
    let event = orphan.propose("o", "x");
    let tip = orphan.step(&event, &[]);
    let commit = repo.git(&["cat-file", "commit", &tip]);
    let (tree, rest) = commit.split_once('\n').expect("two lines");
    let commit = format!("{tree}\nparent {}\n{rest}\n", "3".repeat(40));
    orphan.push(&hostile::fed(repo, &["hash-object", "-t", "commit", "-w", "--stdin"], commit));
    lanes.get()
}

#[test]
fn no_malformed_lane_stops_a_command() {
    let scene = scene();
    let count = malformed(&scene.repo);
    assert!(count >= 25, "{count}");
    let run = scene.run(&["list", "--json"]).ok();
    run.json();
    assert_eq!(run.err().lines().count(), 1, "one line for all of them\n{run}");
    let run = run.notes(&format!("warning: {count} fetched"));
    drop(run);
    scene.all_commands_work();
    let doctor = scene.run(&["doctor", "--json"]).exits(1).json();
    assert_eq!(doctor["problems"].as_array().unwrap().len(), count, "{doctor}");
    // Warm and cold are one state.
    scene.repo.remove(".git/aye/cache.sqlite");
    scene.all_commands_work();
    scene.run(&["doctor", "--repair"]).ok();
    assert_eq!(scene.run(&["list"]).ok().err(), "");
}

#[test]
fn what_comes_before_the_first_bad_commit_counts() {
    let Scene { repo, .. } = scene();
    let mut lane = Hostile::new(&repo, "other");
    let first = lane.propose("good.txt", "Good");
    let first = lane.step(&first, &[]);
    lane.push(&first);
    repo.aye(&["list"]).ok().says("Good");
    let bad = lane.step("{}", &[&first]);
    let later = lane.propose("late.txt", "Late");
    lane.push(&lane.step(&later, &[&bad]));
    let seen = || {
        let run = repo.aye(&["list"]).ok().says("Good").lacks("Late");
        run.notes(&format!(
            "warning: lane other of origin cannot be read from commit {}",
            &bad[..12]
        ));
    };
    seen();
    seen();
    repo.remove(".git/aye/cache.sqlite");
    seen();
    let run = repo.aye(&["list", "-q"]).ok();
    assert_eq!(run.err(), "");
    repo.aye(&["doctor"]).exits(1).says("lane_unreadable");
}

#[test]
fn objects_that_come_later_are_read_without_a_new_tip() {
    let Scene { repo, .. } = scene();
    let other = Repo::new();
    let mut lane = Hostile::new(&other, "late");
    let event = lane.propose("late.txt", "Late");
    let id = hostile::fed(&repo, &["hash-object", "--stdin"], &event);
    let mut here = Hostile::new(&repo, "late");
    here.propose("late.txt", "Late");
    here.push(&here.commit(&here.tree(&format!("100644 blob {id}\tevent.json\n")), &[]));
    repo.aye(&["list"]).ok().lacks("Late").notes(&id);
    here.blob(&event);
    let run = repo.aye(&["list"]).ok().says("Late");
    assert_eq!(run.err(), "");
}

#[test]
fn a_lane_that_says_one_thing_many_times_is_read_once() {
    let scene = scene();
    let repo = &scene.repo;
    // A tree of 5,000 entries that all name one event of a megabyte.
    let mut lane = Hostile::new(repo, "repeated");
    let big = lane.comment(&scene.pending, &"x".repeat((1 << 20) - 1000));
    let blob = lane.blob(&big);
    let entries = |count: usize| -> String {
        (0..count).map(|i| format!("100644 blob {blob}\t{i:05}.json\n")).collect()
    };
    let inner = lane.tree(&entries(5_000));
    lane.push(&lane.commit(&lane.tree(&format!("040000 tree {inner}\tevents\n")), &[]));
    // Many commits on one tree of as many entries as a commit may have, and of too many.
    for (name, count) in [("allowed", 1_000), ("too-many", 20_000)] {
        let lane = Hostile::new(repo, name);
        let event = lane.blob(Hostile::new(repo, name).comment(&scene.pending, "again"));
        let entries: String =
            (0..count).map(|i| format!("100644 blob {event}\t{i:05}.json\n")).collect();
        let inner = lane.tree(&entries);
        let tree = lane.tree(&format!("040000 tree {inner}\tevents\n"));
        let mut stream = String::new();
        for index in 0..100 {
            stream += &format!("commit refs/aye/remotes/origin/{name}\n");
            stream += "committer M <m@x> 1767225600 +0000\n";
            stream += &format!("data 4\n{index:04}\nM 040000 {tree} \n\n");
        }
        hostile::fed(repo, &["fast-import", "--quiet", "--force"], stream);
    }
    scene.run(&["list"]).ok().notes(": 2 fetched");
    scene.all_commands_work();
}

#[test]
fn huge_texts_and_blobs_are_neither_loaded_nor_printed() {
    let scene = scene();
    let repo = &scene.repo;
    let huge = Hostile::new(repo, "huge").propose("h.txt", &"x".repeat(40 << 20));
    let lane = Hostile::new(repo, "huge");
    lane.push(&lane.step(&huge, &[]));
    let mut long = Hostile::new(repo, "long");
    let event = long.propose("l.txt", &"long ".repeat(100_000));
    let tip = long.step(&event, &[]);
    let event = long.comment(&scene.pending, &"y".repeat(900_000));
    long.push(&long.step(&event, &[&tip]));
    // One blob of 40 MB, named by 2,000 files of one proposal.
    let mut wide = Hostile::new(repo, "wide");
    let blob = wide.blob(vec![b'z'; 40 << 20]);
    let changes: Vec<_> = (0..2_000)
        .map(|i| json!({"path": format!("w{i}"), "after": {"id": blob, "mode": "100644"}}))
        .collect();
    let event = wide.event(
        "propose",
        None,
        json!({"description": "Wide", "proposed_by": "m", "form": "tool",
            "expires_at": "2999-01-01T00:00:00Z", "changes": changes}),
    );
    wide.push(&wide.step(&event, &[]));
    let run = scene.run(&["list"]).ok();
    assert!(run.out().lines().all(|line| line.len() < 80_000), "a line of a list");
    assert!(run.out().contains('…'), "cut texts end in an ellipsis");
    let run = scene.run(&["show", &scene.pending, "--comments"]).ok();
    assert!(run.out().len() < 200_000);
    scene.all_commands_work();
}

#[test]
fn what_costs_much_memory_for_few_bytes_is_limited() {
    let scene = scene();
    let mut import = Import::default();
    let mut first = Hostile::new(&scene.repo, "first");
    let event = first.propose("v.txt", "Victim");
    import.lane("first", &[vec![event]]);
    import.run(&scene.repo);
    let list = scene.run(&["list", "--json"]).ok().json();
    let found = list["proposals"].as_array().unwrap().iter().find(|p| p["description"] == "Victim");
    let id = found.unwrap()["proposal_id"].as_str().unwrap().to_owned();
    let mut import = Import::default();
    // Revisions that each hold 200,000 JSON values.
    for lane in ["values0", "values1"] {
        let mut hostile = Hostile::new(&scene.repo, lane);
        let commits: Vec<Vec<String>> = (0..4)
            .map(|_| {
                let values = vec![json!({"": 0}); 100_000];
                let data = json!({"reason": "answer", "changes": [], "memory": values});
                vec![hostile.event("revise", Some(&id), data)]
            })
            .collect();
        import.lane(lane, &commits);
    }
    import.run(&scene.repo);
    scene.all_commands_work();
}

/// Comments on one proposal, in as many lanes, each of which has seen all before it. What they cost
/// beside one lane is for `benches/growth`.
#[test]
fn lanes_that_have_all_seen_each_other_are_all_read() {
    const MANY: usize = 300;
    let scene = scene();
    let mut import = Import::default();
    let heads: Vec<String> =
        (0..MANY).map(|i| format!("lane{i:04} 1 {}", "0".repeat(40))).collect();
    for index in 0..MANY {
        let name = format!("lane{index:04}");
        let event = Hostile::new(&scene.repo, &name).comment(&scene.pending, "seen");
        let mut event: serde_json::Value = serde_json::from_str(&event).unwrap();
        event["heads"] = heads[..index].into();
        import.lane(&name, &[vec![event.to_string()]]);
    }
    import.run(&scene.repo);
    for _ in 0..2 {
        let shown = scene.run(&["show", &scene.pending, "--json"]).ok().json();
        assert_eq!(shown["comments"].as_array().unwrap().len(), MANY);
    }
}

/// The cache is a file like any other: what it says is held against the lanes.
#[test]
fn an_edited_cache_is_found_and_not_believed() {
    let edits = [
        // Another blob than the one that was proposed, as in a planted change.
        "UPDATE folded SET body = CAST(replace(CAST(body AS TEXT), 'THREE', 'PLANTED') AS BLOB)",
        // Decided, without any event.
        "UPDATE proposal SET state = 'applied' WHERE state = 'pending'",
        // An event changed, moved elsewhere, taken away.
        "UPDATE event SET body = CAST(replace(CAST(body AS TEXT), 'Mine', 'Yours') AS BLOB)",
        "UPDATE event SET commit_id = (SELECT max(commit_id) FROM event)",
        "DELETE FROM event WHERE kind = 'comment'",
        "UPDATE event SET proposal = 'prop_0000000000' WHERE kind = 'comment'",
    ];
    for edit in edits {
        let scene = scene();
        let (repo, id) = (&scene.repo, &scene.pending);
        repo.aye(&["comment", id, "-m", "Think of X"]).ok();
        repo.aye(&["doctor"]).ok();
        let cache = repo.path(".git/aye/cache.sqlite");
        let connection = rusqlite::Connection::open(&cache).unwrap();
        assert!(connection.execute(edit, []).unwrap() > 0, "{edit}");
        drop(connection);
        repo.aye(&["doctor"]).exits(1).says("cache_tampered");
        if !edit.contains("state = 'applied'") {
            repo.aye(&["check"]).exits(1).says("cache_tampered");
        }
        let store = aye::store::Store::discover(repo.root()).unwrap();
        let id = aye::proposal::ProposalId::parse(id).unwrap();
        {
            let view = store.view().unwrap();
            let error = store.verified_proposal(&view, &id).unwrap_err();
            assert_eq!(error.code().id, "cache_tampered", "{edit}");
        }
        // It was emptied, so what comes next is built from the lanes.
        let view = store.view().unwrap();
        let proposal = store.verified_proposal(&view, &id).unwrap();
        assert_eq!(proposal.comments.len(), 1, "{edit}");
        repo.aye(&["doctor"]).ok();
    }
}

/// A row that is no proposal at all is the work of whoever edits the cache, not a fault of the program: it is
/// said so, and the next command rebuilds the cache.
#[test]
fn a_malformed_cache_is_told_apart_from_a_bug() {
    let edits = [
        "UPDATE folded SET body = x'7b'",
        "UPDATE folded SET body = 'text'",
        "UPDATE proposal SET id = 'nonsense'",
        "UPDATE proposal SET created = 'text'",
        "UPDATE proposal SET path = x'ff'",
    ];
    let commands: [&[&str]; 5] = [
        &["list"],
        &["show", "ID"],
        &["check"],
        &["check", "--range", "HEAD~1..HEAD"],
        &["apply", "ID", "--yes", "--dry-run"],
    ];
    for edit in edits {
        for command in commands {
            let scene = scene();
            let (repo, id) = (&scene.repo, &scene.pending);
            repo.write("more.txt", "more\n");
            repo.commit(&format!("More\n\nProposal-Id: {id}"));
            repo.aye(&["list"]).ok();
            let cache = repo.path(".git/aye/cache.sqlite");
            let connection = rusqlite::Connection::open(&cache).unwrap();
            let changed = connection.execute(edit, []);
            drop(connection);
            // Some of it the tables themselves refuse.
            if changed.is_err() {
                continue;
            }
            let command: Vec<&str> =
                command.iter().map(|word| if *word == "ID" { id.as_str() } else { word }).collect();
            for command in [&command[..], &["list"], &["show", id]] {
                let run = repo.aye(command);
                let is_told = String::from_utf8_lossy(&run.stderr).contains("cache_tampered");
                assert!(is_told || matches!(run.status, 0 | 1 | 3), "{edit}: {command:?}: {run:?}");
            }
            repo.aye(&["list"]).ok();
            repo.aye(&["show", id]).ok();
        }
    }
}

/// What the store says of every proposal, warm, and with a new cache.
#[track_caller]
fn state(repo: &Repo) -> serde_json::Value {
    let list = || repo.aye(&["list", "--status", "all", "--json"]).ok().json();
    let warm = list();
    repo.remove(".git/aye/cache.sqlite");
    assert_eq!(warm, list(), "warm and cold differ");
    warm
}

#[test]
fn a_lane_that_its_remote_deletes_stays_known() {
    let Scene { repo, .. } = scene();
    let mut lane = Hostile::new(&repo, "gone");
    let event = lane.propose("g.txt", "Gone");
    let first = lane.step(&event, &[]);
    lane.push(&first);
    repo.aye(&["list"]).ok().says("Gone");
    let event = lane.propose("h.txt", "Later");
    lane.push(&lane.step(&event, &[&first]));
    repo.aye(&["list"]).ok().says("Later");
    let before = state(&repo);
    repo.git(&["update-ref", "-d", "refs/aye/remotes/origin/gone"]);
    assert_eq!(state(&repo), before);
    let run = repo.aye(&["list"]).ok().says("Gone").says("Later");
    assert_eq!(run.err(), "");
    // Nothing is written where nothing has changed.
    let refs = || repo.git(&["for-each-ref", "refs/aye/kept"]);
    let kept = refs();
    assert_eq!(kept.lines().count(), 1, "{kept}");
    repo.git(&["pack-refs", "--all"]);
    repo.aye(&["list"]).ok();
    assert_eq!(state(&repo), before);
    assert!(!repo.exists(".git/refs/aye/kept/gone"));
}

#[test]
fn a_rewound_lane_is_reported_and_not_followed() {
    let Scene { repo, .. } = scene();
    let mut lane = Hostile::new(&repo, "rewound");
    let event = lane.propose("r.txt", "First");
    let first = lane.step(&event, &[]);
    let event = lane.propose("s.txt", "Second");
    lane.push(&lane.step(&event, &[&first]));
    repo.aye(&["list"]).ok().says("Second");
    let before = state(&repo);
    // Back, and forth again on another way.
    lane.push(&first);
    assert_eq!(state(&repo), before);
    let rewound = "lane rewound of origin was rewound by its remote";
    repo.aye(&["list"]).ok().says("Second").notes(rewound);
    repo.aye(&["doctor"]).exits(1).says("lane_rewound");
    let event = lane.propose("t.txt", "Third");
    let third = lane.step(&event, &[&first]);
    lane.push(&third);
    let run = repo.aye(&["list"]).ok().says("First").says("Second").says("Third");
    run.notes("rewritten");
    let both = state(&repo);
    assert_eq!(both["count"], 5);
    // The second history is remembered as the first.
    let event = lane.propose("u.txt", "Fourth");
    lane.push(&lane.step(&event, &[&third]));
    repo.aye(&["list"]).ok().says("Second").says("Fourth");
    repo.git(&["update-ref", "-d", "refs/aye/remotes/origin/rewound"]);
    assert_eq!(state(&repo)["count"], 6);
}

#[test]
fn a_lane_of_two_histories_is_reported() {
    let Scene { repo, .. } = scene();
    let mut lane = Hostile::new(&repo, "twofold");
    for (remote, name) in [("left", "Left"), ("right", "Right")] {
        let event = lane.propose(&format!("{name}.txt"), name);
        lane.push_to(remote, &lane.step(&event, &[]));
    }
    repo.aye(&["list"]).ok().says("Left").says("Right");
    repo.aye(&["doctor"]).exits(1).says("lane_equivocates");
    state(&repo);
    // A remote that lags behind another is none.
    let mut lane = Hostile::new(&repo, "lagging");
    let event = lane.propose("lag.txt", "Lag");
    let first = lane.step(&event, &[]);
    let event = lane.propose("lead.txt", "Lead");
    lane.push_to("left", &lane.step(&event, &[&first]));
    lane.push_to("right", &first);
    repo.aye(&["doctor"]).exits(1).lacks("lagging");
}

#[test]
fn nobody_else_writes_under_the_name_of_this_clones_lane() {
    let Scene { repo, pending, .. } = scene();
    let name = repo.git(&["for-each-ref", "--format=%(refname:lstrip=3)", "refs/aye/log"]);
    let own = repo.git(&["rev-parse", &format!("refs/aye/log/{name}")]);
    // What was pushed comes back with every fetch.
    let mut lane = Hostile::new(&repo, &name);
    lane.push(&repo.git(&["rev-parse", &format!("{own}~1")]));
    assert_eq!(repo.aye(&["list"]).ok().err(), "");
    let before = state(&repo);
    let forged = lane.event(
        "reject",
        Some(&pending),
        json!({
            "revision": "0", "digest": "0", "how": "terminal", "reason": "forged",
        }),
    );
    lane.push(&lane.step(&forged, &[&own]));
    repo.aye(&["list"]).ok().says(&pending);
    repo.aye(&["doctor"]).exits(1).says("lane_equivocates");
    assert_eq!(state(&repo), before);
}

#[test]
fn a_repository_that_cannot_be_written_is_read_all_the_same() {
    let Scene { repo, .. } = scene();
    let mut lane = Hostile::new(&repo, "readonly");
    let event = lane.propose("r.txt", "Readable");
    lane.push(&lane.step(&event, &[]));
    // A file where the directory would be: refused to root as well.
    repo.write(".git/refs/aye/kept", "");
    repo.aye(&["list"]).ok().says("Readable");
    repo.aye(&["list"]).ok().says("Readable");
}

#[test]
fn events_that_contradict_the_others_do_not_count() {
    let scene = scene();
    let (repo, id) = (&scene.repo, &scene.pending);
    let shown = repo.aye(&["log", id, "--json"]).ok().json();
    let revision = shown["events"].as_array().unwrap().last().unwrap()["event"].clone();
    let evil = Hostile::new(repo, "x").blob("evil\n");
    let decision = |extra: serde_json::Value| {
        let mut data = json!({"revision": revision, "digest": "0".repeat(40), "how": "terminal",
            "effect": "files"});
        data.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        data
    };
    let mut tip = Vec::new();
    let mut lane = Hostile::new(repo, "liar");
    for (kind, data) in [
        ("apply", decision(json!({}))),
        ("apply", decision(json!({"revision": "f".repeat(40)}))),
        ("reject", decision(json!({}))),
        ("reject", decision(json!({"revision": ""}))),
        (
            "apply",
            decision(json!({"written": [{"path": "other", "outcome": "clean",
            "after": {"id": evil, "mode": "100644"}}]})),
        ),
    ] {
        let event = lane.event(kind, Some(id), data);
        let parents: Vec<&str> = tip.iter().map(String::as_str).collect();
        tip = vec![lane.step(&event, &parents)];
    }
    lane.push(&tip[0]);
    // A comment whose writer has seen what this clone will write next.
    let own = repo.git(&["for-each-ref", "--format=%(refname:lstrip=3)", "refs/aye/log"]);
    let mut ahead = Hostile::new(repo, "ahead");
    let mut event: serde_json::Value =
        serde_json::from_str(&ahead.comment(id, "from the future")).unwrap();
    event["heads"] = json!([format!("{own} 4 {}", "0".repeat(40))]);
    ahead.push(&ahead.step(&event.to_string(), &[]));
    let run = repo.aye(&["show", id]).ok().says("pending");
    assert_eq!(run.err(), "");
    let doctor = repo.aye(&["doctor", "--json"]).exits(1).json().to_string();
    assert_eq!(doctor.matches("\"event_rejected\"").count(), 6, "{doctor}");
    let before = state(repo);
    assert!(before.to_string().contains("pending"), "{before}");
    // This clone's lane has come so far now.
    repo.aye(&["comment", id, "-m", "mine"]).ok();
    repo.aye(&["show", id, "--comments"]).ok().says("future");
    state(repo);
}

#[test]
fn snippets_that_do_not_make_what_is_shown_are_refused() {
    let scene = scene();
    let repo = &scene.repo;
    let mut lane = Hostile::new(repo, "snippets");
    let before = lane.blob("ONE\ntwo\nthree\n");
    let after = lane.blob("ONE\nTWO\nthree\n");
    let entry = |id: &str| json!({"id": id, "mode": "100644"});
    let event = lane.event(
        "propose",
        None,
        json!({"description": "Harmless", "proposed_by": "m", "form": "snippet",
            "expires_at": "2999-01-01T00:00:00Z", "changes": [{"path": "a.txt",
            "before": entry(&before), "after": entry(&after),
            "snippets": [{"old": "three", "new": "EVIL"}]}]}),
    );
    lane.push(&lane.step(&event, &[]));
    let list = repo.aye(&["list", "--json"]).ok().json();
    let found =
        list["proposals"].as_array().unwrap().iter().find(|p| p["description"] == "Harmless");
    let id = found.unwrap()["proposal_id"].as_str().unwrap();
    repo.aye(&["diff", id]).fails("event_contradicts", 6);
    repo.aye(&["apply", id, "--yes"]).fails("event_contradicts", 6);
    assert_eq!(repo.text("a.txt"), "ONE\ntwo\nthree\n");
    repo.aye(&["doctor"]).exits(1).says("event_contradicts");
    repo.aye(&["reject", id, "--yes"]).ok();
}

#[test]
fn ids_take_four_characters_at_least() {
    let scene = scene();
    let id = &scene.pending;
    scene.repo.aye(&["show", &id[.."prop_".len() + 3]]).fails("invalid_id", 6);
    scene.repo.aye(&["show", &id["prop_".len()..][..4]]).ok().says(id);
    let list = scene.repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(list["proposals"][0]["short_id"].as_str().unwrap().len(), 4);
}

/// Nothing keeps a lane from bringing the staging id of another's proposal: a person who looked at the one
/// decides no other by it.
#[test]
fn a_staging_id_of_two_proposals_names_neither() {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    repo.aye(&["memory", "init"]).ok();
    repo.let_flags_decide();
    repo.commit("memory");
    let staged = repo.agent(
        "bot",
        &[
            "memory", "stage", "--intent", "add_pitfall", "-o", "append_to_section", "--path",
            "pitfalls.md", "--section-id", "pitfalls", "--content", "- harmless", "--json",
        ],
    );
    let staged = staged.ok().json();
    let (own, name) = (staged["proposal_id"].clone(), staged["staging_id"].clone());
    let (own, name) = (own.as_str().expect("an id"), name.as_str().expect("an id"));
    repo.aye(&["show", name]).ok().says("harmless");
    let mut lane = Hostile::new(&repo, "feedfacefeedface");
    let second = |lane: &mut Hostile<'_>, staging: &str| {
        let after = lane.blob("evil\n");
        let data = json!({
            "description": "later", "proposed_by": "mallory", "expires_at": "2999-01-01T00:00:00Z",
            "subject": "memory", "form": "memory", "memory": { "staging_id": staging },
            "changes": [{ "path": ".agent-memory/x.md", "after": { "id": after, "mode": "100644" } }],
        });
        lane.event("propose", None, data)
    };
    // Nor does one take the place of a proposal's own id.
    let event = second(&mut lane, own);
    let tip = lane.step(&event, &[]);
    lane.push(&tip);
    repo.aye(&["show", own]).ok().says("harmless");
    let event = second(&mut lane, name);
    let tip = lane.step(&event, &[&tip]);
    lane.push(&tip);
    for args in [
        &["show", name][..],
        &["apply", name, "--yes"],
        &["reject", name, "--yes"],
        &["undo", name, "--yes"],
        &["log", name],
        &["approve", name, "--yes"],
    ] {
        repo.aye(args).fails("ambiguous_id", 2).notes(own);
    }
    repo.aye(&["apply", own, "--yes"]).ok();
    assert!(repo.text(".agent-memory/pitfalls.md").ends_with("- harmless\n"));
}

/// A few digits of a revision are soon those of another one as well.
#[test]
fn a_beginning_of_two_revisions_names_neither() {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    let mut lane = Hostile::new(&repo, "twins");
    let first = lane.propose("new.txt", "Two of them");
    let tip = lane.step(&first, &[]);
    lane.push(&tip);
    let listed = repo.aye(&["list", "--json"]).ok().json();
    let id = listed["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned();
    let after = lane.blob("evil\n");
    let revise = |lane: &mut Hostile<'_>, number: usize| {
        let changes = json!([{"path": "new.txt", "after": {"id": after, "mode": "100644"}}]);
        let data =
            json!({"reason": "answer", "changes": changes, "description": number.to_string()});
        lane.event("revise", Some(&id), data)
    };
    let hash = |event: &str| {
        let (hash, blob) = (gix::hash::Kind::Sha1, gix::objs::Kind::Blob);
        gix::objs::compute_hash(hash, blob, event.as_bytes()).expect("hashed").to_string()
    };
    // Each number of the lane has many events to choose from.
    let earlier: std::collections::HashMap<String, String> = (0..2000)
        .map(|number| revise(&mut lane.at(1), number))
        .map(|event| (hash(&event)[..4].to_owned(), event))
        .collect();
    let mut later = (0..2000).map(|number| revise(&mut lane.at(2), number));
    let twins = later.find_map(|event| Some((earlier.get(&hash(&event)[..4])?, event)));
    let (one, two) = twins.expect("two that begin alike");
    let tip = lane.step(one, &[&tip]);
    let at = hash(&two);
    lane.push(&lane.step(&two, &[&tip]));
    let named = |digits: usize| format!("{id}@{}", &at[..digits]);
    repo.aye(&["diff", &named(4)]).fails("ambiguous_id", 2);
    repo.aye(&["diff", &named(12)]).ok().says("evil");
    for verb in ["apply", "approve", "reject"] {
        repo.aye(&[verb, &named(4), "--yes"]).fails("ambiguous_id", 2);
        repo.aye(&[verb, &named(11), "--yes"]).fails("revision_required", 4);
    }
    assert!(!repo.path("new.txt").exists());
    repo.aye(&["apply", &named(12), "--yes"]).ok();
    assert_eq!(repo.text("new.txt"), "evil\n");
}

/// One in a lane of somebody else of files that each are made of `blob`; its id.
fn of_blob(scene: &Scene, name: &str, changes: &[serde_json::Value]) -> String {
    let mut lane = Hostile::new(&scene.repo, name);
    let data = json!({"description": name, "proposed_by": "m", "form": "tool",
        "expires_at": "2999-01-01T00:00:00Z", "changes": changes});
    let event = lane.event("propose", None, data);
    lane.push(&lane.step(&event, &[]));
    let list = scene.run(&["list", "--json"]).ok().json();
    let mut found = list["proposals"].as_array().expect("a list").iter();
    let found = found.find(|item| item["description"] == name).expect("it is listed");
    assert_eq!([&found["added"], &found["removed"]], [&json!(null); 2], "{found}");
    found["proposal_id"].as_str().expect("an id").to_owned()
}

/// What a fetched proposal holds costs nobody memory or time, and is shown to whoever asks for it.
#[test]
fn large_content_is_shown_on_demand() {
    let scene = scene();
    let lane = Hostile::new(&scene.repo, "large");
    let file = |path: &str, id: &str| json!({"path": path, "after": {"id": id, "mode": "100644"}});
    let line = format!("{}\n", "x".repeat(4095));
    let large = lane.blob(line.repeat((12 << 20) / line.len()));
    let one =
        of_blob(&scene, "One", &[file("big.txt", &large), file("small.txt", &lane.blob("it\n"))]);
    let half = lane.blob(line.repeat((9 << 20) / line.len()));
    let many: Vec<_> = (0..300).map(|at| file(&format!("m{at:03}"), &half)).collect();
    let many = of_blob(&scene, "Many", &many);
    let numbers =
        |from: usize| (from..from + 250_000).map(|at| format!("{at}\n")).collect::<String>();
    let long = json!([{"path": "n.txt", "before": {"id": lane.blob(numbers(0)), "mode": "100644"},
        "after": {"id": lane.blob(numbers(1_000_000)), "mode": "100644"}}]);
    let long = of_blob(&scene, "Long", long.as_array().expect("a list"));
    for id in [&one, &many, &long] {
        assert!(scene.run(&["show", id]).ok().out().len() < 1 << 26);
        scene.run(&["show", id, "--json"]).ok();
    }
    scene.run(&["show", &one]).ok().says("+it").says("big.txt").lacks("xxxx");
    scene.run(&["diff", &one]).fails("size_limit_exceeded", 6);
    scene.run(&["apply", &one, "--yes"]).fails("size_limit_exceeded", 6);
    scene.run(&["diff", &one, "--", "small.txt"]).ok().says("+it");
    scene.run(&["diff", &one, "--patch", "--", "big.txt"]).ok().says("+xxxx");
    scene.run(&["diff", &many]).fails("size_limit_exceeded", 6);
    scene.run(&["diff", &long]).ok().lacks("+1000001\n");
    let json = scene.run(&["diff", &long, "--json"]).ok().json();
    assert_eq!(json["files"][0]["added"], json!(null));
    scene.repo.aye(&["diff", &long, "--", "n.txt"]).ok().says("-7\n").says("+1000001\n");
    for id in [&one, &many, &long] {
        scene.run(&["reject", id, "--yes"]).ok();
    }
    scene.all_commands_work();
}

/// The size of what an event names is asked before it is read.
#[test]
fn nothing_of_any_size_is_read_for_an_event() {
    let scene = scene();
    let huge = scene.repo.path("../huge");
    std::fs::File::create(&huge).and_then(|file| file.set_len(600 << 20)).expect("a large file");
    let add = ["-c", "core.bigFileThreshold=1m", "hash-object", "-w"];
    let huge = scene.repo.git(&[&add[..], &[huge.to_str().expect("a name")]].concat());
    let named = json!({"id": huge, "sha256": "0".repeat(64)});
    let id = aye::proposal::ProposalId::from_event(&huge).to_string();
    let mut lane = Hostile::new(&scene.repo, "heavy");
    let first = |event: String, first: &str| {
        let mut event: serde_json::Value = serde_json::from_str(&event).expect("an event");
        event["first"] = first.into();
        format!("{event}\n")
    };
    let publish = lane.event("publish", Some(&id), json!({"original": named}));
    let tip = lane.step(&first(publish, &huge), &[]);
    // And lists, statements, and what stands in them.
    let changes = json!({"description": "Listed", "proposed_by": "m", "form": "tool", "changes": [],
        "expires_at": "2999-01-01T00:00:00Z", "changes_blob": named});
    let listed = lane.event("propose", None, changes);
    let tip = lane.step(&listed, &[&tip]);
    let known = proposal(&scene.repo, &scene.pending);
    let revision = known.current().event.clone();
    let digest = aye::proposal::event::digest(&known.current().changes);
    let decided = json!({"revision": revision, "digest": digest, "how": "flag", "effect": "files",
        "evidence": "flag", "statement": named});
    let decided = lane.event("apply", Some(&scene.pending), decided);
    let tip = lane.step(&first(decided, &known.first_event), &[&tip]);
    lane.push(&tip);
    // GNU time prints the most memory that was used, in KiB.
    let time = "/usr/bin/time";
    if cfg!(target_os = "linux") && std::path::Path::new(time).exists() {
        let run = scene.repo.program(time).args(&["-f", "%M"]);
        let run = run.args(&[support::tested()]).args(&["list"]).run();
        let most: u64 = run.err().lines().last().and_then(|line| line.parse().ok()).expect("KiB");
        assert!(most < 300 << 10, "{run}");
    }
    scene.all_commands_work();
}
