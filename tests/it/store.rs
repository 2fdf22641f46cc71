//! The store: what is truth, what is rebuilt, and what cannot be trusted.

use serde_json::json;

use crate::support::Repo;
use crate::support::clones::{exchange, thread};

/// The ref of the clone's own history of a proposal.
fn own(repo: &Repo, id: &str) -> String {
    format!("refs/aye/p/{}", thread(repo, id))
}

fn repo_with_proposal() -> (Repo, String) {
    let repo = Repo::with(&[("f", "a\nb\n")]);
    let id = repo.aye(&["propose", "f", "--old", "a", "--new", "A", "-m", "Why"]).ok().id();
    (repo, id)
}

#[test]
fn a_thread_is_an_audit_log_for_plain_git() {
    let (repo, id) = repo_with_proposal();
    repo.aye(&["reject", &id, "--yes", "-m", "no"]).ok();
    let own = own(&repo, &id);
    let log = repo.git(&["log", "--format=%s", &own]);
    assert_eq!(log, "reject: Why\npropose: Why");
    let tree = repo.git(&["ls-tree", "-r", "--name-only", &format!("{own}~1")]);
    assert_eq!(tree, "after/f\nbefore/f");
    // Who and when are those of the event.
    let who = repo.git(&["log", "-1", "--format=%an <%ae> %cn <%ce>", &own]);
    let name = format!("{} <{}>", crate::support::NAME, crate::support::EMAIL);
    assert_eq!(who, format!("{name} {name}"));
    repo.git(&["fsck", "--strict"]);
    repo.git(&["gc", "--quiet", "--prune=now"]);
    repo.aye(&["show", &id]).ok().says("rejected").says("-a").says("+A");
}

#[test]
fn packed_refs_and_objects_are_read_too() {
    let (repo, id) = repo_with_proposal();
    repo.git(&["pack-refs", "--all"]);
    repo.git(&["gc", "--quiet"]);
    repo.aye(&["list"]).ok().says(&id);
    repo.aye(&["propose", "f", "--old", "b", "--new", "B"]).ok();
    repo.aye(&["reject", &id, "--yes"]).ok();
    assert_eq!(repo.git(&["for-each-ref", &format!("refs/aye/pending/{id}")]), "");
}

#[test]
fn the_memo_is_disposable() {
    let (repo, id) = repo_with_proposal();
    repo.aye(&["list"]).ok();
    for memo in [".git/aye/open", ".git/aye/decided"] {
        for content in ["", "this is not a memo", "1\n\n\u{0}\n"] {
            let _ = std::fs::remove_file(repo.path(memo));
            repo.aye(&["list"]).ok().says(&id);
            repo.write(memo, content);
            repo.aye(&["list"]).ok().says(&id);
        }
        let _ = std::fs::remove_file(repo.path(memo));
        std::fs::create_dir(repo.path(memo)).unwrap();
        repo.aye(&["list"]).ok().says(&id);
        repo.aye(&["comment", &id, "-m", "x"]).ok();
        std::fs::remove_dir(repo.path(memo)).unwrap();
    }
    repo.aye(&["apply", &id, "--yes"]).ok();
}

#[test]
fn a_projection_is_not_trusted_but_watched() {
    let (repo, id) = repo_with_proposal();
    let patch = format!(".agent-memory/proposals/{id}/change.patch");
    let yaml = format!(".agent-memory/proposals/{id}/proposal.yaml");
    let honest = repo.text(&patch);
    repo.write(&patch, honest.replace("+A", "+evil"));
    repo.remove(&yaml);
    repo.aye(&["diff", &id]).ok().says("+A").lacks("evil");
    let run = repo.aye(&["doctor", "--json"]).exits(1);
    let codes: Vec<String> = run.json()["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["code"].as_str().unwrap().to_owned())
        .collect();
    assert!(codes.contains(&"projection_changed".to_owned()), "{codes:?}");
    assert!(codes.contains(&"projection_missing".to_owned()), "{codes:?}");
    repo.aye(&["doctor", "--repair"]).ok();
    assert_eq!(repo.text(&patch), honest);
    repo.aye(&["doctor"]).ok();
}

#[test]
fn the_projection_is_there_exactly_while_pending() {
    let (repo, id) = repo_with_proposal();
    let directory = format!(".agent-memory/proposals/{id}");
    assert!(repo.exists(&directory));
    repo.aye(&["revise", &id, "f", "--old", "b", "--new", "B2"]).ok();
    assert!(repo.text(&format!("{directory}/change.patch")).contains("+B2"));
    repo.aye(&["reject", &id, "--yes"]).ok();
    assert!(!repo.exists(&directory));
}

#[test]
fn linked_work_trees_share_one_store() {
    let (repo, id) = repo_with_proposal();
    let other = repo.outer().join("linked");
    repo.git(&["worktree", "add", "-q", other.to_str().unwrap(), "-b", "side"]);
    let run = |args: &[&str]| repo.cmd(args).dir(&other).run();
    run(&["list"]).ok().says(&id);
    let second = run(&["propose", "f", "--old", "b", "--new", "B"]).ok().id();
    repo.aye(&["list"]).ok().says(&id).says(&second);
    assert_eq!(repo.git(&["for-each-ref", "refs/aye/p"]).lines().count(), 2);
    run(&["reject", &id, "--yes"]).ok();
    assert!(!repo.exists(&format!(".agent-memory/proposals/{id}")));
}

/// As a power cut leaves it, or nobody can tell what.
#[test]
fn an_unreadable_own_ref_is_named_and_the_rest_goes_on() {
    let (repo, id) = repo_with_proposal();
    let other = repo.aye(&["propose", "f", "--old", "b", "--new", "B", "-q"]).ok().id();
    let file = format!(".git/{}", own(&repo, &id));
    let tip = repo.text(&file);
    for content in ["".to_owned(), "not an id\n".into(), "1".repeat(40) + "\n"] {
        repo.write(&file, content);
        assert_ne!(repo.aye(&["apply", &id, "--yes"]).status, 0);
        repo.aye(&["show", &other]).ok();
        repo.aye(&["comment", &other, "-m", "x"]).ok();
        repo.aye(&["doctor"]).exits(1);
        repo.write(&file, &tip);
        repo.aye(&["show", &id]).ok();
    }
    repo.aye(&["doctor"]).ok();
    repo.git(&["fsck"]);
}

#[test]
fn an_event_that_nobody_could_read_back_is_not_written() {
    let (repo, id) = repo_with_proposal();
    // Each such byte takes six in the record.
    repo.write("old", vec![1_u8; 6 << 20]);
    repo.write("new", vec![2_u8; 6 << 20]);
    repo.write("big", vec![1_u8; 6 << 20]);
    repo.aye(&["propose", "big", "--old-file", "old", "--new-file", "new"])
        .fails("size_limit_exceeded", 6)
        .notes("--content-file");
    repo.aye(&["propose", "big", "--content-file", "new"]).ok();
    repo.aye(&["list"]).ok().says(&id);
}

#[test]
fn what_no_other_clone_would_read_is_not_written() {
    let (repo, id) = repo_with_proposal();
    let long = "log line\n".repeat(130_000);
    let refused = |tool: &str, input: serde_json::Value| {
        repo.aye_stdin(&["call", tool, "-"], input.to_string()).says("size_limit_exceeded");
    };
    let change =
        json!({ "action": "propose", "file_path": "f", "old_content": "a", "new_content": "b" });
    let mut described = change.clone();
    described["description"] = long.as_str().into();
    refused("changes", described);
    refused("changes", json!({ "action": "reject", "proposal_id": id, "reason": long }));
    // A list of texts is a blob of its own.
    let lines: Vec<String> =
        (0..40_000).map(|number| format!("{number} {}", "x".repeat(30))).collect();
    repo.write("many", lines.join("\n"));
    repo.write("other", lines.join("\n!"));
    repo.aye(&["propose", "many", "--old-file", "many", "--new-file", "other"]).ok();
    repo.aye(&["list", "--json"]).ok().says(&id);
    for commit in repo.git(&["rev-list", "--glob=refs/aye/p/*"]).lines() {
        let size = repo.git(&["cat-file", "-s", commit]);
        assert!(size.trim().parse::<usize>().unwrap() <= 1 << 20, "{size}");
    }
}

#[test]
fn what_a_killed_writer_left_to_do_is_done_by_the_next() {
    let (repo, id) = repo_with_proposal();
    let directory = format!(".agent-memory/proposals/{id}");
    let stop = || {
        std::fs::remove_dir_all(repo.path(&directory)).unwrap();
        repo.git(&["update-ref", "-d", &format!("refs/aye/pending/{id}")]);
        let (thread, other) = (thread(&repo, &id), "0".repeat(40));
        repo.write(".git/aye/lock", format!("{thread}\n{other}\nrubbish \u{1}\n"));
    };
    stop();
    repo.aye(&["propose", "f", "--old", "a", "--new", "z"]).ok();
    assert!(repo.exists(&format!("{directory}/change.patch")));
    assert_eq!(repo.text(".git/aye/lock"), "");
    repo.aye(&["doctor"]).ok();
    stop();
    repo.aye(&["doctor"]).ok();
    repo.git(&["show", &format!("refs/aye/pending/{id}")]);
    stop();
    std::fs::write(repo.path(".git/aye/lock"), b"\xff\xfe").unwrap();
    repo.aye(&["comment", &id, "-m", "rubbish in the note does no harm"]).ok();
    assert_eq!(repo.text(".git/aye/lock"), "");
}

#[test]
fn a_comment_and_a_request_for_changes_are_kept() {
    let (repo, id) = repo_with_proposal();
    repo.aye(&["comment", &id, "--path", "f", "--line", "1", "-m", "why upper case?"]).ok();
    repo.aye(&["comment", &id, "--request-changes", "-m", "explain"]).ok();
    repo.aye(&["list"]).ok().says("sent ");
    repo.aye(&["show", &id, "--comments"]).ok().says("explain");
    repo.aye(&["revise", &id, "-m", "Because"]).ok();
    assert_eq!(repo.item(&id)["note"], "Because");
    repo.aye(&["comment", &id, "--path", "other", "-m", "x"]).fails("invalid_argument", 6);
}

#[test]
fn agents_do_not_decide() {
    let (repo, id) = repo_with_proposal();
    repo.agent("robo", &["reject", &id, "--yes"])
        .fails("human_approval_required", 4)
        .notes(&format!("aye reject {id}"));
    repo.aye(&["reject", &id]).fails("confirmation_required", 4);
    repo.aye(&["list"]).ok().says(&id);
}

/// Another clone's decision reaches this one by `git fetch` alone; what stands for the proposal
/// here goes with the next command that writes.
#[test]
fn projections_follow_what_is_fetched() {
    let repo = Repo::with(&[("f", "a b c\n")]);
    let propose = |repo: &Repo, old: &str, new: &str| {
        repo.aye(&["propose", "f", "--old", old, "--new", new, "-q"]).ok().id()
    };
    let mine = propose(&repo, "a", "A");
    let other = Repo::with(&[("f", "a b c\n")]);
    exchange(&other, &repo);
    let theirs = propose(&other, "b", "B");
    let has = |repo: &Repo, id: &str| {
        let refs = repo.git(&["for-each-ref", &format!("refs/aye/pending/{id}")]);
        let files = repo.exists(&format!(".agent-memory/proposals/{id}/change.patch"));
        assert_eq!(files, !refs.is_empty(), "{id}");
        files
    };
    assert!(has(&other, &mine), "the writer has made the fetched proposal's files");
    other.aye(&["reject", &mine, "-m", "no", "--yes"]).ok();
    assert!(!has(&other, &mine));

    exchange(&repo, &other);
    repo.aye(&["list"]).ok().says(&theirs[..12]);
    assert!(has(&repo, &mine), "a reader writes nothing");
    propose(&repo, "c", "C");
    assert!(!has(&repo, &mine) && has(&repo, &theirs));
    repo.aye(&["doctor"]).ok();

    repo.aye(&["apply", &theirs, "--mark-only", "--yes"]).ok();
    exchange(&other, &repo);
    other.aye(&["doctor"]).ok().says("sound: 1 pending");
    assert!(!has(&other, &theirs), "doctor does what the next writer would");
}

/// The result of a merge is in no proposal and in no commit of the project; the decision's tree holds it.
#[test]
fn a_merged_apply_can_be_undone_after_a_gc() {
    let text: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    let repo = Repo::with(&[("a.txt", text.as_str())]);
    let id = repo.aye(&["propose", "a.txt", "--old", "line 2", "--new", "LINE 2"]).ok().id();
    let mine = text.replace("line 8", "my own line 8");
    repo.write("a.txt", &mine);
    repo.aye(&["apply", &id, "--yes"]).ok();
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "--quiet", "--prune=now"]);
    let merged = repo.git(&["show", &format!("{}:after/a.txt", own(&repo, &id))]);
    assert_eq!(merged, repo.text("a.txt").trim_end());
    // Later changes in other lines, which only the merged result tells apart.
    repo.write("a.txt", repo.text("a.txt").replace("line 5", "line five"));
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(repo.text("a.txt"), mine.replace("line 5", "line five"));
    repo.git(&["fsck", "--strict", "--no-dangling"]);
}

/// As git does: what is there already and is relied on again is made young, so that a gc that runs
/// beside the command leaves it.
#[test]
fn an_object_that_is_there_already_is_made_young() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let age = |id: &str| {
        let path = repo.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
        let file = std::fs::File::open(&path).expect("a loose object");
        file.set_times(std::fs::FileTimes::new().set_modified(old)).expect("aged");
        path
    };
    let content = repo.path("content");
    std::fs::write(&content, "two\n").expect("written");
    let blob = repo.git(&["hash-object", "-w", "content"]);
    let path = age(&blob);
    repo.aye(&["propose", "a.txt", "--content-file", "content"]).ok();
    let time = std::fs::metadata(&path).expect("there").modified().expect("a time");
    assert!(time > old, "still old");
}

/// What nothing named at the last gc waits in a cruft pack; a proposal that has it again writes it.
#[test]
fn an_object_in_a_cruft_pack_is_written_again() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    repo.write("content", "two\n");
    let blob = repo.git(&["hash-object", "-w", "content"]);
    repo.git(&["-c", "gc.cruftPacks=true", "gc", "--quiet", "--prune=1.hour.ago"]);
    let loose = format!(".git/objects/{}/{}", &blob[..2], &blob[2..]);
    let cruft = std::fs::read_dir(repo.path(".git/objects/pack")).expect("packs").flatten();
    let names: Vec<_> = cruft.map(|entry| entry.file_name()).collect();
    if !names.iter().any(|name| name.to_string_lossy().ends_with(".mtimes")) {
        eprintln!("skipped: this git makes no cruft packs");
        return;
    }
    assert!(!repo.exists(&loose));
    repo.aye(&["propose", "a.txt", "--content-file", "content"]).ok();
    assert!(repo.exists(&loose));
}

/// `git maintenance` packs objects whether something names them or not.
#[test]
fn an_object_in_a_pack_of_loose_objects_is_written_again() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    repo.write("content", "two\n");
    let blob = repo.git(&["hash-object", "-w", "content"]);
    for _ in 0..2 {
        repo.git(&["maintenance", "run", "--task=loose-objects", "--quiet"]);
    }
    let loose = format!(".git/objects/{}/{}", &blob[..2], &blob[2..]);
    assert!(!repo.exists(&loose));
    repo.aye(&["propose", "a.txt", "--content-file", "content"]).ok();
    assert!(repo.exists(&loose));
}
