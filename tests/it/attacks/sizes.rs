//! What is much, large or long costs no more than its limits (H5, M2).

use super::*;
use serde_json::json;
use std::time::{Duration, Instant};

/// Address space, in KiB, in which every command has to get by.
const MEMORY: u64 = 512 << 10;

/// The commands that people and CI run all day get by, and do their work.
#[track_caller]
fn everything_works(scene: &Scene) {
    let answered = |args: &[&str]| {
        let run = limited(&scene.repo, MEMORY, args);
        assert!(run.status <= 6, "{run}");
        run
    };
    answered(&["list"]).ok();
    answered(&["list", "--json"]).ok().json();
    answered(&["show", &scene.id, "--json"]).ok();
    answered(&["diff", &scene.id]).ok();
    answered(&["log"]).ok();
    for args in [&["check"][..], &["check", "--range", "HEAD"], &["doctor"], &["review"]] {
        answered(args);
    }
    let id = answered(&["propose", "b.txt", "--old", "b", "--new", "c", "-q"]).ok().id();
    answered(&["apply", &id, "--yes"]).ok();
    answered(&["undo", &id, "--yes"]).ok();
    answered(&["reject", &id, "--yes"]).ok();
    answered(&["comment", &scene.id, "-m", "x"]).ok();
}

/// A thread of somebody else with these changes, and no content of them in its tree but `blob`.
fn of_changes(scene: &Scene, why: &str, changes: &[Value], blob: &str) -> String {
    let forged = Forged::propose(&scene.repo, &scene.thread, "x", "x\n", why);
    let files: Vec<_> =
        changes.iter().map(|change| change["path"].as_str().expect("text")).collect();
    let entries: String =
        files.iter().map(|path| format!("100644 blob {blob}\t{path}\n")).collect();
    let tree = forger::tree(&scene.repo, &entries);
    let forged = forged.entry("after", &format!("040000 tree {tree}"));
    fetched_thread(&scene.repo, &forged.data(json!({ "changes": changes })))
}

/// Content that a fetched proposal holds is shown to whoever asks for it.
#[test]
fn large_content_is_shown_on_demand() {
    let scene = scene();
    let line = format!("{}\n", "x".repeat(4095));
    let side = |text: &str| forger::side(&scene.repo, text);
    let file = |path: &str, side: &Value| json!({"path": path, "after": side});
    let large = side(&line.repeat((12 << 20) / line.len()));
    let blob = |side: &Value| side["id"].as_str().expect("an id").to_owned();
    let one = of_changes(&scene, "One", &[file("big.txt", &large)], &blob(&large));
    let half = side(&line.repeat((9 << 20) / line.len()));
    let many: Vec<_> = (0..300).map(|at| file(&format!("m{at:03}"), &half)).collect();
    let many = of_changes(&scene, "Many", &many, &blob(&half));
    for id in [&one, &many] {
        let shown = limited(&scene.repo, MEMORY, &["show", id]).ok();
        // As much as a proposal may have; files that are larger are named.
        assert!(shown.out().len() < 1 << 26 && !shown.out().contains("big.txt b/big.txt"));
        limited(&scene.repo, MEMORY, &["show", id, "--json"]).ok();
        limited(&scene.repo, MEMORY, &["diff", id]).fails("size_limit_exceeded", 6);
        limited(&scene.repo, MEMORY, &["apply", id, "--yes"]).fails("size_limit_exceeded", 6);
    }
    let patch = limited(&scene.repo, MEMORY, &["diff", &one, "--patch", "--", "big.txt"]).ok();
    assert!(patch.out().contains("+xxxx"));
    for id in [&one, &many] {
        limited(&scene.repo, MEMORY, &["reject", id, "--yes"]).ok();
    }
    everything_works(&scene);
}

/// Two versions of a file in which every line differs.
#[test]
fn a_long_difference_costs_no_list_its_time() {
    let scene = scene();
    let words = |seed: u64| {
        let mut state = seed;
        let mut word = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 52
        };
        (0..600_000).map(|_| format!("{:x}\n", word())).collect::<String>()
    };
    let (before, after) =
        (forger::side(&scene.repo, &words(1)), forger::side(&scene.repo, &words(2)));
    let forged = Forged::propose(&scene.repo, &scene.thread, "x", "x\n", "Long");
    let tree = |side: &Value| {
        let entry = format!("100644 blob {}\tn.txt\n", side["id"].as_str().expect("an id"));
        format!("040000 tree {}", forger::tree(&scene.repo, &entry))
    };
    let forged = forged.entry("before", &tree(&before)).entry("after", &tree(&after));
    let changes = json!([{"path": "n.txt", "before": before, "after": after}]);
    let id = fetched_thread(&scene.repo, &forged.data(json!({ "changes": changes })));
    for _ in 0..2 {
        let begin = Instant::now();
        let list = limited(&scene.repo, MEMORY, &["list", "--json"]).ok().json();
        let mut items = list["proposals"].as_array().expect("a list").iter();
        let item = items.find(|item| item["proposal_id"] == id.as_str()).expect("it is listed");
        assert_eq!([&item["added"], &item["removed"]], [&Value::Null; 2]);
        // Of a program that is not optimised; it took 20 s of one that is.
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
        forget(&scene.repo);
    }
    limited(&scene.repo, MEMORY, &["show", &id, "--json"]).ok();
}

/// The size of an object is asked before it is read.
#[test]
fn nothing_of_any_size_is_read_for_an_event() {
    let scene = scene();
    let huge = scene.repo.path("../huge");
    std::fs::File::create(&huge).and_then(|file| file.set_len(600 << 20)).expect("a large file");
    let add = ["-c", "core.bigFileThreshold=1m", "hash-object", "-w"];
    let huge = scene.repo.git(&[&add[..], &[huge.to_str().expect("a name")]].concat());
    let named = json!({"id": huge, "sha256": "0".repeat(64)});
    let entry = format!("100644 blob {huge}");
    let apply = scene.apply();
    let forged = [
        apply.clone().entry("manifest", &entry).stated(json!({ "manifest": named })),
        apply.clone().entry("ends", &entry).stated(json!({"ends": "0".repeat(64)})),
    ];
    for (at, forged) in forged.iter().enumerate() {
        let clone = format!("{at:016x}");
        forger::fetched_from(&scene.repo, &clone, &scene.thread, &forged.write(&scene.repo));
    }
    let like =
        Forged::propose(&scene.repo, &scene.thread, "x", "x\n", "Listed").entry("changes", &entry);
    let data = json!({"changes": [], "changes_blob": named});
    fetched_thread(&scene.repo, &like.data(data));
    let changes = json!([{"path": "huge", "after": {"id": huge, "mode": "100644", "sha256": "0".repeat(64)}}]);
    let id = of_changes(&scene, "Huge", changes.as_array().expect("a list"), &huge);
    limited(&scene.repo, MEMORY, &["show", &id]).ok();
    limited(&scene.repo, MEMORY, &["diff", &id]).fails("size_limit_exceeded", 6);
    let file = scene.repo.path("../huge");
    std::fs::File::create(&file).and_then(|it| it.set_len(300 << 20)).expect("a large file");
    let file = file.to_str().expect("a name").to_owned();
    let commit = scene.repo.git(&["hash-object", "-t", "commit", "-w", "--literally", &file]);
    forger::fetched_from(&scene.repo, "3333333333333333", &scene.thread, &commit);
    let (most, _) = cost(&scene.repo, &["list"]);
    assert!(most < 256 << 10, "{most} KiB");
    everything_works(&scene);
    scene.is("pending");
}

/// The most memory that a command has used, in KiB, and its seconds of processor time; 0 where nothing here
/// says so.
fn cost(repo: &Repo, args: &[&str]) -> (u64, f64) {
    let time = "/usr/bin/time";
    if !cfg!(target_os = "linux") || !std::path::Path::new(time).exists() {
        return (0, 0.0);
    }
    let run = repo.program(time).args(&["-f", "%M %U %S"]).args(&[crate::support::tested()]);
    let run = run.args(args).run();
    let err = run.err();
    let mut numbers = err.lines().last().unwrap_or_default().split(' ');
    let mut number = || numbers.next().and_then(|text| text.parse::<f64>().ok());
    let (Some(most), Some(user), Some(system)) = (number(), number(), number()) else {
        panic!("{run}");
    };
    (most as u64, user + system)
}

/// A chain of comments on `parent`, by one run of `git fast-import` for their objects' sake alone; the tip.
fn comments(scene: &Scene, parent: &str, count: usize, body: &str) -> Vec<String> {
    let mut ids = vec![parent.to_owned()];
    for number in 0..count {
        let text = format!("{number} {body}");
        ids.push(Forged::comment(&text).on(&[&ids[number]]).write(&scene.repo));
    }
    ids
}

/// A ref is read alone: above 1,000 events or 16 MiB it is left out, whatever else there is.
#[test]
fn a_ref_that_is_too_long_is_left_out_alone() {
    let scene = scene();
    let chain = comments(&scene, &scene.thread, 1_000, "x");
    let said = |copy: &Scene| show(&copy.repo, &copy.id)["comments"].as_array().map_or(0, Vec::len);
    let copy = scene.copy();
    copy.fetches(&chain[999]);
    assert_eq!(said(&copy), 999);
    forger::fetched_from(&copy.repo, "1111111111111111", &copy.thread, &chain[1_000]);
    assert_eq!(said(&copy), 999);
    assert!(finds(&copy.repo, "thread_too_long"));
    // The honest writer's own ref stays one that everybody reads, and what it decides counts.
    copy.repo.aye(&["apply", &copy.id, "--yes"]).ok();
    copy.is("applied");
    let fresh = scene.copy();
    fresh.repo.git(&["update-ref", "-d", &format!("refs/aye/p/{}", fresh.thread)]);
    clones::exchange(&fresh.repo, &copy.repo);
    fresh.is("applied");
    // Seventeen events of a MiB.
    let large = comments(&scene, &scene.thread, 17, &"y".repeat((1 << 20) - 4096));
    let copy = scene.copy();
    copy.fetches(&large[17]);
    assert_eq!(said(&copy), 0);
    assert!(finds(&copy.repo, "thread_too_long"));
    everything_works(&copy);
}

/// Two floods below an honest event do not make the ref that has it too long for others.
#[test]
fn floods_below_an_honest_event_do_not_lengthen_it() {
    let scene = scene();
    for (clone, body) in [("1111111111111111", "one"), ("2222222222222222", "other")] {
        let chain = comments(&scene, &scene.thread, 400, body);
        forger::fetched_from(&scene.repo, clone, &scene.thread, &chain[400]);
    }
    scene.repo.aye(&["apply", &scene.id, "--yes"]).ok();
    scene.is("applied");
    let own = format!("refs/aye/p/{}", scene.thread);
    let count: usize = scene.repo.git(&["rev-list", "--count", &own]).parse().expect("a number");
    assert!(count <= 500, "{count}");
    assert_eq!(show(&scene.repo, &scene.id)["comments"].as_array().map(Vec::len), Some(800));
    let other = Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n")]);
    clones::exchange(&other, &scene.repo);
    is(&other, &scene.id, "applied");
}

/// Above 64 fetched refs of one thread the rest are left out and named; decisions go on.
#[test]
fn too_many_refs_of_a_thread_are_named() {
    let scene = scene();
    for number in 0..100 {
        let tip = Forged::comment(&number.to_string()).on(&[&scene.thread]).write(&scene.repo);
        forger::fetched_from(&scene.repo, &format!("{number:016x}"), &scene.thread, &tip);
    }
    assert!(finds(&scene.repo, "too_many_refs"));
    assert_eq!(show(&scene.repo, &scene.id)["comments"].as_array().map(Vec::len), Some(64));
    everything_works(&scene);
    scene.repo.aye(&["apply", &scene.id, "--yes"]).ok();
    scene.is("applied");
    let own = format!("refs/aye/p/{}", scene.thread);
    for commit in scene.repo.git(&["rev-list", "--first-parent", &own]).lines() {
        let parents = Forged::read(&scene.repo, commit).parents;
        assert!(parents.len() <= 16, "{parents:?}");
    }
}

/// 100 refs of a MiB each, of as many threads and of one; the bench `growth` has 1,000 and 100 MB.
#[test]
fn many_hostile_refs_cost_little_and_stop_nothing() {
    let scene = scene();
    let (_, plain) = cost(&scene.repo, &["list"]);
    let body = "z".repeat((1 << 20) - 4096);
    for number in 0..100 {
        let text = format!("{number} {body}");
        let clone = format!("{number:016x}");
        if number < 50 {
            let tip = Forged::comment(&text).on(&[&scene.thread]).write(&scene.repo);
            forger::fetched_from(&scene.repo, &clone, &scene.thread, &tip);
        } else {
            let first =
                Forged::propose(&scene.repo, &scene.thread, "x", "x\n", &number.to_string());
            let first = first.data(json!({ "domain": text })).write(&scene.repo);
            forger::fetched_from(&scene.repo, &clone, &first, &first);
        }
    }
    for memo in ["cold", "warm"] {
        let (most, seconds) = cost(&scene.repo, &["list"]);
        assert!(most < 256 << 10, "{memo}: {most} KiB");
        // Of a program that is not optimised.
        assert!(seconds < plain + 15.0, "{memo}: {seconds} s, {plain} s");
    }
    everything_works(&scene);
    scene.is("pending");
}

/// JSON of few bytes that would take much memory.
#[test]
fn values_that_cost_more_than_their_bytes_are_limited() {
    let scene = scene();
    for number in 0..4 {
        let values = vec![json!({"": 0}); 100_000];
        let data = json!({"changes": [], "memory": values, "reason": "answer"});
        let forged = Forged::event("revise", data).by("mallory", "agent").on(&[&scene.thread]);
        let clone = format!("{number:016x}");
        forger::fetched_from(&scene.repo, &clone, &scene.thread, &forged.write(&scene.repo));
    }
    everything_works(&scene);
    scene.is("pending");
}
