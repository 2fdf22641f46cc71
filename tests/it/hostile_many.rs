//! Lanes of other clones that say very much, or are very many: that costs them, and nobody else.

use crate::support::clones::{clone, fetch, join, lane, push};
use crate::support::hostile::{Hostile, Import};
use crate::support::{self, Repo, Run};
use serde_json::{Value, json};

/// A repository with a proposal of its own, and a clone of somebody else.
struct Scene {
    repo: Repo,
    bob: Repo,
    /// What both fetch from.
    _server: Repo,
    mine: String,
}

fn scene() -> Scene {
    let (repo, server) =
        (Repo::with(&[("a", "1\n2\n"), ("b", "1\n2\n"), ("c", "1\n")]), Repo::bare());
    join(&repo, &server);
    repo.git(&["push", "-q", "origin", "main"]);
    let mine = propose(&repo, "a", "1", "Mine");
    push(&repo);
    let bob = clone(&server);
    Scene { repo, bob, _server: server, mine }
}

fn propose(repo: &Repo, path: &str, old: &str, description: &str) -> String {
    let new = format!("{description}, {old}");
    repo.aye(&["propose", path, "--old", old, "--new", &new, "-m", description, "-q"]).ok().id()
}

impl Scene {
    /// What is listed, warm and with a new cache: description and status.
    #[track_caller]
    fn listed(&self) -> Vec<(String, String)> {
        let list = || -> Vec<(String, String)> {
            let list = run(&self.repo, &["list", "--status", "all", "--json"]).ok().json();
            let word = |item: &Value, key: &str| item[key].as_str().expect("a text").to_owned();
            let items = list["proposals"].as_array().expect("a list").iter();
            items.map(|item| (word(item, "description"), word(item, "status"))).collect()
        };
        let mut warm = list();
        self.repo.remove(".git/aye/cache.sqlite");
        assert_eq!(list(), warm, "cold and warm");
        warm.sort();
        warm
    }
}

/// Within 512 MiB of address space and a minute of processor time.
fn run(repo: &Repo, args: &[&str]) -> Run {
    limited(repo, (524_288, 60), args)
}

fn limited(repo: &Repo, (kib, seconds): (usize, usize), args: &[&str]) -> Run {
    let script = format!("ulimit -v {kib}; ulimit -t {seconds}; exec \"$0\" \"$@\"");
    let run = repo.program("sh").args(&["-c", &script]).args(&[support::tested()]);
    run.args(args).run().plain()
}

fn pair(description: &str, status: &str) -> (String, String) {
    (description.to_owned(), status.to_owned())
}

/// What reading `event` costs by the estimate of the cache.
fn cost(event: &str) -> usize {
    let (mut values, mut quoted) = (0, false);
    for byte in event.bytes() {
        match byte {
            b'"' => quoted = !quoted,
            b',' | b'[' if !quoted => values += 1,
            b'{' if !quoted => values += 6,
            _ => {}
        }
    }
    event.len() + 100 * values
}

/// A comment on `id` that costs almost as much as a lane may, in a lane of its own.
fn costly(repo: &Repo, name: &str, id: &str) {
    const MOST: usize = 64 << 20;
    let event = |objects: usize| {
        let objects = vec![json!({}); objects];
        let data = json!({"body": "x", "other": objects});
        Hostile::new(repo, name).event("comment", Some(id), data)
    };
    let each = (cost(&event(1_001)) - cost(&event(1))) / 1_000;
    let event = event((MOST - cost(&event(1))) / each);
    assert!((MOST - 2 * each..=MOST).contains(&cost(&event)));
    let lane = Hostile::new(repo, name);
    lane.push(&lane.step(&event, &[]));
}

#[test]
fn what_others_say_costs_nobody_his_proposal_or_decision() {
    let scene = scene();
    let Scene { repo, bob, mine, .. } = &scene;
    // What is said later in a lane has a higher number.
    propose(bob, "c", "1", "First");
    let honest = propose(bob, "b", "1", "Honest");
    fetch(bob);
    bob.aye(&["reject", mine, "--yes", "-m", "no"]).ok();
    push(bob);
    fetch(repo);
    let expected = [pair("First", "pending"), pair("Honest", "pending"), pair("Mine", "rejected")];
    assert_eq!(scene.listed(), expected);
    for (of, id) in [mine, &honest].into_iter().enumerate() {
        for number in 0..3 {
            costly(repo, &format!("evil{of}{number}"), id);
        }
        let mut filler = Hostile::new(repo, &format!("filler{of}"));
        let event = filler.comment(id, &"x".repeat(65_000));
        filler.push(&filler.step(&event, &[]));
    }
    assert_eq!(scene.listed(), expected);
    repo.aye(&["apply", mine, "--yes"]).fails("not_pending", 5);
    let found = repo.aye(&["doctor"]).exits(1);
    found.lacks(&lane(bob)).says("evil0").says("evil1");
    // Nor does it matter which came first.
    let fresh = Scene {
        repo: clone_with(repo),
        bob: Repo::new(),
        _server: Repo::new(),
        mine: mine.clone(),
    };
    assert_eq!(fresh.listed(), expected);
}

/// A copy of `repo` that has never been looked at, with all that was fetched.
fn clone_with(repo: &Repo) -> Repo {
    let fresh = Repo::new();
    fresh.git(&["remote", "add", "origin", &repo.root().to_string_lossy()]);
    for refspec in ["refs/aye/log/*", "refs/aye/remotes/origin/*"] {
        let refspec = format!("+{refspec}:refs/aye/remotes/origin/*");
        fresh.git(&["fetch", "-q", "origin", &refspec, "+refs/heads/*:refs/remotes/origin/*"]);
    }
    fresh.git(&["reset", "-q", "--hard", "origin/main"]);
    fresh
}

/// Each `reopen` may answer each rejection before it, and each of those may have been answered by each
/// `reopen` before.
#[test]
fn many_rejections_that_were_taken_back_cost_what_they_say() {
    const MANY: u64 = 3_000;
    let Scene { repo, mine, .. } = scene();
    let own = lane(&repo);
    let blob =
        |at: &str| repo.git(&["cat-file", "blob", &format!("refs/aye/log/{own}{at}:event.json")]);
    let first = repo.git(&["rev-parse", &format!("refs/aye/log/{own}:event.json")]);
    repo.aye(&["reject", &mine, "--yes"]).ok();
    let decision: Value = serde_json::from_str(&blob("")).expect("an event");
    repo.aye(&["undo", &mine, "--yes"]).ok();
    let tip = repo.git(&["rev-parse", &format!("refs/aye/log/{own}")]);
    let mut hostile = Hostile::new(&repo, "evil");
    let mut event = |kind: &str, data: Value| {
        let event = hostile.event(kind, Some(&mine), data);
        let mut event: Value = serde_json::from_str(&event).expect("an event");
        event["first"] = json!(first);
        event["heads"] = json!([format!("{own} 3 {tip}")]);
        format!("{event}\n")
    };
    let mut events = vec![event("request_changes", json!({"reason": "x", "revision": first}))];
    for _ in 0..MANY {
        let digest = decision["data"]["digest"].clone();
        events.push(event(
            "reject",
            json!({"digest": digest, "how": "flag", "reason": "x", "revision": first}),
        ));
        events.push(event("reopen", json!({"revision": first, "evidence": "flag"})));
    }
    let commits: Vec<Vec<String>> = events.chunks(900).map(<[String]>::to_vec).collect();
    let mut import = Import::default();
    import.lane("evil", &commits);
    import.run(&repo);
    run(&repo, &["list"]).ok().says("sent");
}

/// So many proposals of one lane for one file.
fn flood(repo: &Repo, many: usize) {
    let mut hostile = Hostile::new(repo, "evil");
    let before = hostile.blob("x\n");
    let after: Vec<String> = (0..8).map(|n| hostile.blob(format!("y{n}\n"))).collect();
    let mut event = |number: usize| {
        let entry = |id: &str| json!({"id": id, "mode": "100644"});
        let data = json!({"description": format!("Flood {number}"), "proposed_by": "m",
            "expires_at": "2999-01-01T00:00:00Z", "form": "tool",
            "changes": [{"path": "a", "before": entry(&before), "after": entry(&after[number % 8])}]});
        hostile.event("propose", None, data)
    };
    let events: Vec<String> = (0..many).map(&mut event).collect();
    let commits: Vec<Vec<String>> = events.chunks(900).map(<[String]>::to_vec).collect();
    let mut import = Import::default();
    import.lane("evil", &commits);
    import.run(repo);
}

#[test]
fn very_many_proposals_for_one_file_are_told_apart_in_little_memory() {
    let Scene { repo, .. } = scene();
    let twin = propose(&repo, "b", "1", "One");
    let other = propose(&repo, "b", "1", "Other");
    flood(&repo, 5_000);
    limited(&repo, (300_000, 60), &["list", "--count"]).ok().says("5003 pending");
    // Of files that few change all is said.
    let list = limited(&repo, (300_000, 60), &["list", "--json"]).ok().json();
    let item = list["proposals"].as_array().expect("a list").iter();
    let item = item.clone().find(|item| item["proposal_id"] == twin.as_str());
    assert_eq!(item.expect("listed")["same_lines"], json!([other]));
}

#[test]
fn the_files_of_many_fetched_proposals_are_written_in_time() {
    let Scene { repo, .. } = scene();
    flood(&repo, 1_200);
    limited(&repo, (524_288, 20), &["doctor"]).ok().says("sound: 1201 pending");
}

/// Somebody else begins histories under the name of `lane`, as parts of it.
fn begin_parts(repo: &Repo, lane: &str, parts: std::ops::Range<usize>) {
    for part in parts {
        let mut hostile = Hostile::new(repo, lane);
        let event = hostile.comment("prop_0000000000", &format!("part {part}"));
        let remote = format!("origin/{lane}.f{part:08x}");
        hostile.push_to(&remote, &hostile.step(&event, &[]));
    }
}

#[test]
fn parts_that_somebody_else_begins_are_in_the_way_of_no_epoch() {
    for (purges, others) in [(false, 20), (true, 20)] {
        let scene = scene();
        let Scene { repo, bob, mine, .. } = &scene;
        let applied = propose(bob, "b", "1", "Applied");
        bob.aye(&["apply", &applied, "--yes"]).ok();
        push(bob);
        fetch(repo);
        repo.aye(&["list"]).ok();
        let lane = lane(bob);
        begin_parts(repo, &lane, 0..8);
        // Epochs that somebody else says to be of it, as many as are fetched at once.
        for epoch in 50..50 + others {
            let mut hostile = Hostile::new(repo, &lane);
            let event = hostile.comment("prop_0000000000", &format!("epoch {epoch}"));
            hostile.push_to(&format!("origin/{lane}.{epoch}"), &hostile.step(&event, &[]));
        }
        repo.aye(&["list"]).ok();
        match purges {
            true => bob.aye(&["purge", &applied, "--yes", "-m", "a key in it"]).ok(),
            false => bob.aye(&["doctor", "--gc", "--now", "--keep", "0"]).ok(),
        };
        fetch(bob);
        bob.aye(&["reject", mine, "--yes", "-m", "no"]).ok();
        propose(bob, "c", "1", "Later");
        push(bob);
        fetch(repo);
        let mut expected =
            vec![pair("Applied", "applied"), pair("Later", "pending"), pair("Mine", "rejected")];
        if purges {
            expected.remove(0);
        }
        assert_eq!(scene.listed(), expected, "{purges} {others}");
        repo.aye(&["doctor"]).lacks("lane_unreadable");
    }
}

#[test]
fn a_lane_of_too_many_histories_is_named_until_its_remote_has_none() {
    let scene = scene();
    let Scene { repo, bob, .. } = &scene;
    propose(bob, "b", "1", "Honest");
    push(bob);
    fetch(repo);
    let expected = scene.listed();
    let lane = lane(bob);
    begin_parts(repo, &lane, 0..12);
    assert_eq!(scene.listed(), expected);
    for args in [&["doctor"][..], &["doctor", "--repair"], &["doctor"]] {
        repo.aye(args).exits(1).says("lane_unreadable");
    }
    assert_eq!(scene.listed(), expected);
}
