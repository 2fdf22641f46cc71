//! `aye doctor`: what it finds, and what a repair saves.

use std::path::PathBuf;

use crate::support::Repo;

const CACHE: &str = ".git/aye/cache.sqlite";

/// The files of a proposal are where it was made, and go with that work tree.
#[test]
fn a_work_tree_that_is_gone_with_the_files_of_a_proposal_is_no_damage() {
    let repo = Repo::with(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    let tree = repo.path("../side").into_os_string().into_string().expect("UTF-8");
    repo.git(&["worktree", "add", "-q", &tree, "-b", "side"]);
    repo.aye(&["-C", &tree, "propose", "a.txt", "--old", "one", "--new", "two"]).ok();
    repo.git(&["worktree", "remove", &tree]);
    repo.aye(&["doctor"]).ok();
    let id = repo.aye(&["propose", "b.txt", "--old", "one", "--new", "two", "-q"]).ok().id();
    repo.aye(&["doctor"]).ok();
    // Of one that was made here, part of the files is missing.
    repo.remove(&format!(".agent-memory/proposals/{id}/proposal.yaml"));
    repo.aye(&["doctor"]).exits(1).says("projection_missing").says(&id);
}

/// How an object comes to be unreadable.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// Its file has no bytes, as after a power cut.
    Empty,
    /// Its file ends in the middle.
    Cut,
    /// One bit of its file is another one.
    Flipped,
    /// Its file is gone.
    Missing,
}

const EVERY: [How; 4] = [How::Empty, How::Cut, How::Flipped, How::Missing];

fn damage(repo: &Repo, object: &str, how: How) {
    let file = format!(".git/objects/{}/{}", &object[..2], &object[2..]);
    let mut bytes = repo.read(&file);
    repo.chmod(&file, 0o644);
    match how {
        How::Empty => bytes.clear(),
        How::Cut => bytes.truncate(bytes.len() / 2),
        How::Flipped => {
            // The checksum at the end; the content can still be read then.
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
        }
        How::Missing => return repo.remove(&file),
    }
    repo.write(&file, bytes);
}

/// Eight pending proposals, on one file that has not changed since.
fn eight() -> (Repo, String, Vec<String>) {
    let text: String = (0..40).map(|n| format!("line {n}\n")).collect();
    let repo = Repo::with(&[("f", text)]);
    let propose = |n: usize| {
        let (old, new) = (format!("line {n}\n"), format!("LINE {n}\n"));
        repo.aye(&["propose", "f", "--old", &old, "--new", &new, "-q"]).ok().id()
    };
    let ids = (10..18).map(propose).collect();
    let lane = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/log"]);
    (repo, lane.trim().to_owned(), ids)
}

fn id_of(repo: &Repo, name: &str) -> String {
    repo.git(&["rev-parse", name]).trim().to_owned()
}

fn has_all(repo: &Repo, ids: &[String]) {
    let list = repo.aye(&["list", "--limit", "100"]).ok();
    for id in ids {
        assert!(list.out().contains(&id[..12]), "{id}\n{list}");
    }
}

fn clean(repo: &Repo) {
    repo.git(&["fsck", "--strict", "--no-dangling"]);
    repo.aye(&["doctor", "--full"]).ok();
    repo.remove(CACHE);
    repo.aye(&["doctor", "--full"]).ok();
}

#[test]
fn any_one_damaged_object_of_a_lane_is_written_again() {
    let (template, lane, ids) = eight();
    let what = [
        (lane.clone(), true),
        (format!("{lane}~4"), true),
        (format!("{lane}~7"), true),
        (format!("{lane}~4^{{tree}}"), true),
        (format!("{lane}^{{tree}}"), true),
        (format!("{lane}~4:after"), true),
        (format!("{lane}~4:event.json"), false),
        (format!("{lane}~4:before/f"), true),
        (format!("{lane}~4:after/f"), true),
    ];
    for (number, (name, without_cache)) in what.iter().enumerate() {
        // One way each, and all of them over the objects.
        for (how, cached) in [(EVERY[number % 4], true), (EVERY[(number + 1) % 4], false)] {
            if cached || *without_cache {
                let repo = template.copy();
                let (tip, object) = (id_of(&repo, &lane), id_of(&repo, name));
                damage(&repo, &object, how);
                if !cached {
                    repo.remove(CACHE);
                }
                let context = format!("{name} {how:?} cached: {cached}");
                // The cuts of a file's content are found by reading it.
                let full: &[&str] = match how {
                    How::Empty | How::Missing => &["doctor"],
                    How::Cut | How::Flipped => &["doctor", "--full"],
                };
                let found = repo.aye(full).exits(1);
                assert!(found.out().contains(&object), "{context}\n{found}");
                let repaired = repo.aye(&["doctor", "--repair"]);
                assert_eq!(repaired.status, 0, "{context}\n{repaired}");
                has_all(&repo, &ids);
                assert_eq!(id_of(&repo, &lane), tip, "{context}");
                assert_eq!(repo.git(&["for-each-ref", "refs/aye/broken"]), "", "{context}");
                if how != How::Missing {
                    assert!(repo.exists(&format!(".git/aye/broken/objects/{object}")), "{context}");
                }
                clean(&repo);
            }
        }
    }
}

/// After `git gc` that is where all objects are. Git takes a whole one beside the pack, and so writes the pack
/// again.
#[test]
fn a_damaged_object_in_a_pack_is_written_again() {
    let (template, lane, ids) = eight();
    template.git(&["gc", "--quiet", "--prune=now"]);
    template.aye(&["list"]).ok();
    for name in ["", "~4^{tree}", "~4:event.json", "~4:after/f"] {
        let repo = template.copy();
        let (tip, object) = (id_of(&repo, &lane), id_of(&repo, &format!("{lane}{name}")));
        let pack = damage_in_pack(&repo, &object);
        repo.aye(&["doctor", "--full"]).exits(1).says(&object);
        repo.aye(&["doctor", "--repair"]).ok();
        has_all(&repo, &ids);
        assert_eq!(id_of(&repo, &lane), tip, "{name}");
        assert_eq!(repo.git(&["for-each-ref", "refs/aye/broken"]), "", "{name}");
        let kept = pack.file_name().and_then(|name| name.to_str()).expect("a name");
        assert!(repo.exists(&format!(".git/aye/broken/objects/{kept}")), "{name}");
        repo.git(&["fsck", "--strict"]);
        clean(&repo);
    }
    // What git cannot mend gives nothing up.
    let repo = template.copy();
    let (tip, object) = (id_of(&repo, &lane), id_of(&repo, &format!("{lane}~4:event.json")));
    for text in ["only history has this\n", "newer\n"] {
        repo.write("g", text);
        repo.commit("g");
    }
    repo.git(&["gc", "--quiet", "--prune=now"]);
    let theirs = id_of(&repo, "HEAD~1:g");
    let pack = damage_in_pack(&repo, &object);
    damage_in_pack(&repo, &theirs);
    let run = repo.aye(&["doctor", "--repair"]).fails("lane_broken", 6);
    run.notes(&pack.file_name().expect("a name").to_string_lossy()).notes("git fsck --full");
    assert_eq!(id_of(&repo, &lane), tip);
}

/// The same of what was fetched.
#[test]
fn a_damaged_object_of_a_fetched_lane_in_a_pack_is_written_again() {
    let (other, lane, ids) = eight();
    let template = Repo::with(&[("g", "x\n")]);
    let path = other.root().to_str().expect("a path").to_owned();
    template.git(&["fetch", "-q", &path, "+refs/aye/log/*:refs/aye/remotes/origin/*"]);
    has_all(&template, &ids);
    template.git(&["gc", "--quiet", "--prune=now"]);
    has_all(&template, &ids);
    let fetched = lane.replace("log", "remotes/origin");
    for name in ["", "~4^{tree}", "~4:event.json", "~4:after/f"] {
        let repo = template.copy();
        let (tip, object) = (id_of(&repo, &fetched), id_of(&repo, &format!("{fetched}{name}")));
        damage_in_pack(&repo, &object);
        repo.aye(&["doctor", "--full"]).exits(1).says(&object);
        repo.aye(&["doctor", "--repair"]).ok();
        has_all(&repo, &ids);
        assert_eq!(id_of(&repo, &fetched), tip, "{name}");
        repo.git(&["fsck", "--strict"]);
        clean(&repo);
    }
}

/// Inverts a byte in the middle of what the one pack has of `object`. Returns the pack.
fn damage_in_pack(repo: &Repo, object: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let packs = std::fs::read_dir(repo.path(".git/objects/pack")).expect("packs");
    let mut packs = packs.flatten().map(|entry| entry.path());
    let pack = packs.find(|path| path.extension().is_some_and(|end| end == "pack")).expect("one");
    let index = std::fs::read(pack.with_extension("idx")).expect("read");
    let list = repo.program("git").args(&["show-index"]).stdin(index).run().ok().out();
    let entries = list.lines().map(|line| line.split_once(' ').expect("an offset and an id"));
    let entries: Vec<(usize, &str)> =
        entries.map(|(at, id)| (at.parse().expect("a number"), id)).collect();
    let (start, _) = entries.iter().find(|(_, id)| id.starts_with(object)).expect("it is there");
    let mut bytes = std::fs::read(&pack).expect("read");
    let after = entries.iter().map(|(at, _)| *at).filter(|at| at > start).min();
    // In front of the checksum of the pack.
    let end = after.unwrap_or(bytes.len() - 20);
    bytes[(start + end) / 2] ^= 0x5a;
    std::fs::set_permissions(&pack, std::fs::Permissions::from_mode(0o644)).expect("set");
    std::fs::write(&pack, bytes).expect("written");
    pack
}

#[test]
fn decisions_with_attachments_are_written_again() {
    let (template, lane, ids) = eight();
    template.let_flags_decide();
    template.aye(&["apply", &ids[0], "--yes"]).ok();
    template.aye(&["comment", &ids[1], "-m", "why?"]).ok();
    template.aye(&["reject", &ids[1], "--yes", "-m", "no"]).ok();
    template.aye(&["apply", &ids[2], &ids[3], "--yes"]).ok();
    template.aye(&["undo", &ids[0], "--yes"]).ok();
    let states = template.aye(&["list", "--status", "all", "--json"]).ok().out();
    let tip = id_of(&template, &lane);
    for back in 0..5 {
        for tree in ["", "^{tree}"] {
            let repo = template.copy();
            let object = id_of(&repo, &format!("{lane}~{back}{tree}"));
            damage(&repo, &object, How::Empty);
            if (back % 2 == 0) == tree.is_empty() {
                repo.remove(CACHE);
            }
            repo.aye(&["doctor", "--repair"]).ok().says(&object);
            assert_eq!(id_of(&repo, &lane), tip);
            assert_eq!(repo.aye(&["list", "--status", "all", "--json"]).ok().out(), states);
            clean(&repo);
        }
    }
}

#[test]
fn several_damaged_objects_in_a_row_are_written_again() {
    let (repo, lane, ids) = eight();
    let tip = id_of(&repo, &lane);
    for name in ["~1", "~2", "~2^{tree}", "~3", "~4:event.json", "~5:after", "~6", "~7"] {
        damage(&repo, &id_of(&repo, &format!("{tip}{name}")), How::Missing);
        if name == "~7" {
            break;
        }
        // The name of what lies behind is read from the objects that are still there.
        if !name.contains(['^', ':']) {
            repo.aye(&["doctor", "--repair"]).ok();
        }
    }
    repo.aye(&["doctor", "--repair"]).ok();
    has_all(&repo, &ids);
    assert_eq!(id_of(&repo, &lane), tip);
    clean(&repo);

    let commits: Vec<String> = repo.git(&["rev-list", &lane]).lines().map(str::to_owned).collect();
    for commit in &commits {
        damage(&repo, commit, How::Empty);
    }
    repo.aye(&["doctor", "--repair"]).ok();
    has_all(&repo, &ids);
    assert_eq!(id_of(&repo, &lane), tip);
    clean(&repo);
}

#[test]
fn what_cannot_be_saved_is_listed_and_the_rest_is_kept() {
    let (repo, lane, ids) = eight();
    let event = id_of(&repo, &format!("{lane}~4:event.json"));
    damage(&repo, &event, How::Flipped);
    damage(&repo, &event, How::Empty);
    repo.remove(CACHE);
    let lost = &ids[3];
    repo.aye(&["doctor", "--repair"]).exits(1).says("event_lost").says(lost);
    let kept: Vec<String> = ids.iter().filter(|id| *id != lost).cloned().collect();
    has_all(&repo, &kept);
    // Its diff was in the pending ref, and that is kept.
    repo.git(&["show", &format!("refs/aye/broken/pending/{lost}")]);
    assert!(repo.exists(&format!(".git/aye/broken/proposals/{lost}/change.patch")));
    assert!(repo.git(&["for-each-ref", "refs/aye/broken"]).contains("refs/aye/broken/"));
    repo.aye(&["doctor"]).ok();
}

/// What was decided cannot be rejected; what a remote has is got again.
#[test]
fn what_a_decision_lacks_has_a_way_out() {
    let (template, lane, ids) = eight();
    template.let_flags_decide();
    template.aye(&["apply", &ids[0], "--yes"]).ok();
    let tree = template.git(&["ls-tree", &lane]);
    let manifest = tree.lines().find(|line| line.contains("\tmanifest-")).expect("one");
    let manifest = manifest.split_whitespace().nth(2).expect("an id").to_owned();
    let remote = template.outer().join("remote.git").to_str().expect("a path").to_owned();
    template.git(&["init", "--quiet", "--bare", &remote]);
    template.git(&["push", "--quiet", &remote, "refs/aye/log/*"]);
    damage(&template, &manifest, How::Missing);
    let run = template.aye(&["doctor", "--repair"]).exits(1).says("object_missing: ");
    let fetch = format!("git fetch --refetch REMOTE {lane}");
    run.says(&fetch).says(&format!("aye purge {} -m", ids[0]));
    let repo = template.copy();
    repo.git(&["fetch", "--quiet", "--refetch", &remote, &lane]);
    repo.aye(&["show", &ids[0]]).ok().says("applied");
    // The repair has made what stands for a pending proposal.
    repo.aye(&["doctor", "--repair"]).ok();
    repo.aye(&["doctor", "--full"]).ok();
    template.aye(&["purge", &ids[0], "-m", "damaged", "--yes"]).ok();
    template.aye(&["doctor", "--full"]).ok();
    has_all(&template, &ids[1..]);
}

/// Whatever the lane needs of its remote is named, and what is left of it is kept.
#[test]
fn what_cannot_be_saved_of_a_fetched_lane_is_listed_and_kept() {
    let (other, lane, ids) = eight();
    let template = Repo::with(&[("g", "x\n")]);
    let path = other.root().to_str().expect("a path").to_owned();
    let refs = "+refs/aye/log/*:refs/aye/remotes/origin/*";
    template.git(&["fetch", "-q", &path, refs]);
    let fetched = lane.replace("log", "remotes/origin");
    has_all(&template, &ids);
    // The object, whether the remote has deleted the lane, and the proposals that count then.
    for (name, is_kept, count) in
        [("~4:event.json", true, 3), ("~4:event.json", false, 3), ("~4", true, 0), ("", false, 0)]
    {
        let repo = template.copy();
        let mut name_of = fetched.clone();
        if is_kept {
            name_of = lane.replace("log", "kept");
            repo.git(&["update-ref", &name_of, &fetched]);
            repo.git(&["update-ref", "-d", &fetched]);
        } else {
            repo.git(&["update-ref", "-d", &lane.replace("log", "kept")]);
        }
        damage(&repo, &id_of(&repo, &format!("{name_of}{name}")), How::Missing);
        repo.remove(CACHE);
        let run = repo.aye(&["doctor", "--repair"]).exits(1).lacks("sound: ");
        let context = format!("{name} kept: {is_kept}\n{run}");
        for (n, id) in ids.iter().enumerate() {
            let is_lost = match name {
                "~4" | "~4:event.json" => n == 3,
                _ => n == 7,
            };
            let line = format!("event_lost: {id}: propose event");
            assert_eq!(run.out().contains(&line), n >= count && !is_lost, "{id}: {context}");
        }
        run.says("git fetch --refetch REMOTE");
        has_all(&repo, &ids[..count]);
        let refs_left = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/broken"]);
        let part = refs_left.lines().find(|name| name.contains('.'));
        let commits = part.map_or(0, |part| repo.git(&["rev-list", part]).lines().count());
        let expected = match name {
            "" => 7,
            "~4" => 3,
            _ => 0,
        };
        assert_eq!(commits, expected, "{context}");
        let whole = fetched.replace("remotes/origin", "broken");
        assert_eq!(refs_left.lines().any(|name| name == whole), !name.is_empty(), "{context}");
        repo.git(&["fetch", "-q", "--refetch", &path, refs]);
        has_all(&repo, &ids);
        repo.aye(&["doctor", "--full"]).ok().lacks("refetch");
    }
}

#[test]
fn commits_behind_a_gap_count_if_pending_refs_name_them() {
    let (repo, lane, ids) = eight();
    let commit = id_of(&repo, &format!("{lane}~4"));
    let event = id_of(&repo, &format!("{lane}~4:event.json"));
    damage(&repo, &commit, How::Missing);
    damage(&repo, &event, How::Missing);
    repo.remove(CACHE);
    let kept: Vec<String> = ids.iter().filter(|id| **id != ids[3]).cloned().collect();
    let other = repo.copy();
    repo.aye(&["doctor", "--repair"]);
    has_all(&repo, &kept);
    repo.aye(&["doctor"]).ok();

    // Where nothing names them they are kept, but do not count.
    other
        .git(&["for-each-ref", "--format=delete %(refname)", "refs/aye/pending"])
        .lines()
        .for_each(|line| drop(other.git(&["update-ref", "-d", &line["delete ".len()..]])));
    other.aye(&["doctor", "--repair"]).exits(1).says("event_lost").says(&ids[0]);
    has_all(&other, &ids[4..]);
    other.aye(&["list"]).ok().lacks(&ids[0][..12]);
    let refs = other.git(&["for-each-ref", "--format=%(refname)", "refs/aye/broken"]);
    let part = refs.lines().find(|name| name.contains('.')).expect(&refs);
    assert!(other.git(&["log", "--format=%s", part]).contains(&ids[0]));
    let tip = id_of(&other, part);
    other.aye(&["doctor", "--repair", "--trust", &tip]).ok();
    has_all(&other, &kept);
    other.aye(&["doctor"]).ok().lacks("broken");
}

#[test]
fn the_cache_adds_nothing_to_a_lane_that_no_hash_names() {
    let (repo, lane, ids) = eight();
    let event = id_of(&repo, &format!("{lane}:event.json"));
    let body = repo.git(&["cat-file", "blob", &event]);
    let connection = rusqlite::Connection::open(repo.path(CACHE)).unwrap();
    // Forged: the last event says something else, under its own hash and the old commit.
    let forged = body.replace("LINE 17", "EVIL 17");
    let changed = connection
        .execute("UPDATE event SET body = ?1 WHERE id = ?2", (forged.as_bytes(), &event))
        .unwrap();
    assert_eq!(changed, 1);
    drop(connection);
    damage(&repo, &event, How::Empty);
    repo.aye(&["doctor", "--repair"]).exits(1).says(&event);
    repo.aye(&["list"]).ok().lacks("EVIL");
    let log = repo.git(&["log", "-p", &lane]);
    assert!(!log.contains("EVIL"), "{log}");
    has_all(&repo, &ids[..7]);
}

#[test]
fn a_repair_keeps_the_old_cache() {
    let (repo, lane, _) = eight();
    damage(&repo, &id_of(&repo, &lane), How::Empty);
    let cache = repo.read(CACHE);
    repo.aye(&["doctor", "--repair"]).ok();
    let saved: Vec<_> = std::fs::read_dir(repo.path(".git/aye/broken"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("cache-"))
        .collect();
    assert_eq!(saved.len(), 1);
    assert_eq!(std::fs::read(saved[0].path()).unwrap(), cache);
}

/// Sets the time of a file's last change to the year 2001.
fn age(repo: &Repo, path: &str) {
    let file = std::fs::File::options().write(true).open(repo.path(path)).expect("a file");
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    file.set_modified(time).expect("a time");
}

#[test]
fn files_of_stopped_processes_are_reported_and_removed() {
    let repo = Repo::with(&[("f", "a\n"), ("dir/g", "a\n")]);
    repo.aye(&["propose", "f", "--old", "a", "--new", "b", "-q"]).ok();
    repo.aye(&["propose", "dir/g", "--old", "a", "--new", "b", "-q"]).ok();
    let left = [
        ".aye-tmp-0123456789abcdef",
        "dir/.aye-tmp-0123456789abcdef",
        ".agent-memory/.aye-tmp-fedcba9876543210",
        ".git/aye/.tmpAb12cd",
        ".git/aye/.lane-0123456789abcdef",
    ];
    for path in left {
        repo.write(path, "half of it");
    }
    // Not in a commit, whether it is old or not.
    assert_eq!(repo.git(&["status", "--short", "--untracked-files=all"]), "");
    let somebodys = ["dir/.aye-tmp-notes", ".git/aye/.tmp-mine", "other/.aye-tmp-00112233aabbccdd"];
    for path in somebodys {
        repo.write(path, "mine");
        age(&repo, path);
    }
    repo.aye(&["doctor"]).ok();
    for path in left {
        age(&repo, path);
    }
    let mut run = repo.aye(&["doctor"]).exits(1);
    for path in left {
        run = run.says(path);
    }
    repo.aye(&["doctor", "--repair"]).ok();
    for path in left {
        assert!(!repo.exists(path), "{path}");
    }
    for path in somebodys {
        assert!(repo.exists(path), "{path}");
    }
    repo.aye(&["doctor"]).ok();
    repo.aye(&["doctor", "--full"]).exits(1).says("other/.aye-tmp-00112233aabbccdd");
}

#[test]
fn stale_locks_of_git_are_named_and_stay() {
    let (repo, ..) = eight();
    let locks = [".git/packed-refs.lock", ".git/index.lock"];
    for lock in locks {
        repo.write(lock, "");
        age(&repo, lock);
        repo.aye(&["doctor"]).exits(1).says("git_lock_stale").says(lock).says("minutes");
        repo.aye(&["doctor", "--repair"]).exits(1);
        assert!(repo.exists(lock));
        repo.remove(lock);
        repo.aye(&["doctor"]).ok();
    }
}

/// As by `git fetch --prune` with a refspec that writes over this clone's own lanes.
#[test]
fn an_own_lane_that_was_deleted_is_kept_and_named() {
    let (repo, _, ids) = eight();
    repo.aye(&["reject", &ids[2], "--yes"]).ok();
    let list = || repo.aye(&["list", "--status", "all", "--json"]).ok().json();
    let before = list();
    let name = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/log"]);
    let tip = repo.git(&["rev-parse", &name]);
    repo.git(&["update-ref", "-d", &name]);
    repo.aye(&["list"]).ok();
    // Whatever becomes of the cache.
    repo.remove(".git/aye/cache.sqlite");
    let hint = format!("git update-ref {name} {tip} ''");
    repo.aye(&["doctor"]).exits(1).says("lane_rewound").says(&hint);
    repo.aye(&["doctor", "--repair"]).exits(1).says(&hint);
    repo.git(&["update-ref", &name, &tip, ""]);
    repo.aye(&["doctor", "--repair"]).ok();
    assert_eq!(list(), before);
}

#[test]
fn a_default_remote_that_there_is_not_is_named() {
    let repo = Repo::new();
    repo.git(&["remote", "add", "origin", "https://example.com/x"]);
    repo.aye(&["doctor"]).ok().lacks("aye.remote");
    repo.git(&["config", "aye.remote", "upstream"]);
    repo.aye(&["doctor"]).ok().says("aye.remote").says("upstream");
    repo.git(&["config", "aye.remote", "origin"]);
    repo.aye(&["doctor"]).ok().lacks("aye.remote");
}

#[test]
fn pending_refs_are_held_against_pending_proposals() {
    let (repo, _, ids) = eight();
    let name = format!("refs/aye/pending/{}", ids[2]);
    let right = id_of(&repo, &name);
    repo.git(&["update-ref", "-d", &name]);
    repo.aye(&["doctor"]).exits(1).says(&format!("pending_ref_missing: {name}"));
    repo.aye(&["doctor", "--repair"]).ok();
    assert_eq!(id_of(&repo, &name), right);
    repo.aye(&["reject", &ids[2], "--yes"]).ok();
    for id in [ids[2].as_str(), "prop_zzzzzzzzzz"] {
        let name = format!("refs/aye/pending/{id}");
        repo.git(&["update-ref", &name, &right]);
        repo.aye(&["doctor"]).exits(1).says(&format!("pending_ref_unexpected: {name}"));
        repo.aye(&["doctor", "--repair"]).ok();
        assert_eq!(repo.git(&["for-each-ref", &name]), "");
    }
    // What no lane knows is kept.
    assert_eq!(id_of(&repo, "refs/aye/broken/pending/prop_zzzzzzzzzz"), right);
}

#[test]
fn a_pending_ref_that_could_not_be_written_is_left_to_the_next_writer() {
    let repo = Repo::with(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    let propose =
        |path: &str| repo.aye(&["propose", path, "--old", "one", "--new", "two", "-q"]).ok().id();
    let refs = || repo.git(&["for-each-ref", "--format=%(refname:lstrip=3)", "refs/aye/pending"]);
    // In the place of their directory.
    let pending = ".git/refs/aye/pending";
    repo.write(pending, "");
    let first = propose("a.txt");
    assert_eq!(repo.text(".git/aye/lock"), first);
    repo.remove(pending);
    let second = propose("b.txt");
    assert!(refs().contains(&first) && refs().contains(&second), "{}", refs());
    assert_eq!(repo.text(".git/aye/lock"), "");
    repo.aye(&["doctor"]).ok();
    // So is one that could not be removed.
    let away = repo.path(".git/away");
    std::fs::rename(repo.path(pending), &away).expect("moved");
    repo.write(pending, "");
    repo.aye(&["reject", &first, "--yes"]).ok();
    assert_eq!(repo.text(".git/aye/lock"), first);
    repo.remove(pending);
    std::fs::rename(&away, repo.path(pending)).expect("moved back");
    repo.aye(&["comment", &second, "-m", "hm"]).ok();
    assert_eq!(refs(), second);
    repo.aye(&["doctor"]).ok();
}

/// One directory below `objects/` is another user's, as after a `sudo git fetch`.
#[test]
fn an_object_directory_of_somebody_else_stops_a_write_that_needs_it() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let (repo, lane, ids) = eight();
    if repo.root().metadata().expect("facts").uid() != 0 {
        eprintln!("skipped: only root can give files to somebody else");
        return;
    }
    // Content that no object here has, in a directory that has to be there for it.
    repo.write("content", "of another user's directory\n");
    let blob = repo.git(&["hash-object", "content"]);
    let fan = repo.path(&format!(".git/objects/{}", &blob[..2]));
    std::fs::create_dir_all(&fan).expect("a directory");
    for entry in walkdir::WalkDir::new(repo.outer()).into_iter().flatten() {
        if entry.path() != fan {
            chown(entry.path(), Some(65534), Some(65534)).expect("given away");
        }
    }
    let command = ["--reuid=65534", "--regid=65534", "--clear-groups", env!("CARGO_BIN_EXE_aye")];
    let run = |args: &[&str]| repo.program("setpriv").args(&command).args(args).run();
    if !run(&["list"]).err().is_empty() {
        eprintln!("skipped: setpriv cannot run the program as another user here");
        return;
    }
    let tip = repo.git(&["-c", "safe.directory=*", "rev-parse", &lane]);
    let before = run(&["list", "--status", "all", "--json"]).ok().out();
    let propose = ["propose", "f", "--content-file", "content"];
    run(&propose).fails("read_only", 4).notes(fan.to_str().expect("UTF-8"));
    run(&["doctor"]).exits(1).says("not_writable").says(fan.to_str().expect("UTF-8"));
    // Nothing is recorded and nothing left.
    assert_eq!(repo.git(&["-c", "safe.directory=*", "rev-parse", &lane]), tip);
    assert_eq!(run(&["list", "--status", "all", "--json"]).ok().out(), before);
    let objects = std::fs::read_dir(repo.path(".git/objects")).expect("objects").flatten();
    let names: Vec<_> = objects.map(|entry| entry.file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().starts_with("tmp_")), "{names:?}");
    // Reading goes on.
    run(&["show", &ids[0]]).ok();
    run(&["diff", &ids[0]]).ok();
    chown(&fan, Some(65534), Some(65534)).expect("given away");
    run(&propose).ok();
}

/// What `list` says with the cache, which has to be what it says without.
fn state(repo: &Repo) -> String {
    let list = || repo.aye(&["list", "--status", "all", "--json"]).ok().out();
    let warm = list();
    repo.remove(CACHE);
    assert_eq!(warm, list(), "warm and cold differ");
    warm
}

#[test]
fn lanes_that_are_gone_count_the_same_with_the_cache_and_without() {
    let (other, _, theirs) = eight();
    let repo = Repo::with(&[("f", "x\n")]);
    repo.aye(&["propose", "f", "--old", "x", "--new", "y", "-q"]).ok();
    let path = other.root().to_str().expect("a path").to_owned();
    let fetch = |refs: &str| repo.git(&["fetch", "-q", "--prune", &path, refs]);
    fetch("+refs/aye/log/*:refs/aye/remotes/origin/*");
    repo.aye(&["reject", &theirs[0], "--yes", "-m", "no"]).ok();
    let before = state(&repo);
    // The remote has deleted it, and git prunes it here.
    other
        .git(&["for-each-ref", "--format=%(refname)", "refs/aye/log"])
        .lines()
        .for_each(|name| drop(other.git(&["update-ref", "-d", name])));
    fetch("+refs/aye/log/*:refs/aye/remotes/origin/*");
    assert_eq!(repo.git(&["for-each-ref", "refs/aye/remotes"]), "");
    assert_eq!(state(&repo), before);
    repo.aye(&["show", &theirs[0]]).ok().says("rejected");
    repo.aye(&["doctor"]).ok();
}

/// Refs and projections that were right are not composed again as long as they are the same; whatever
/// is changed about them is found.
#[test]
fn what_was_examined_is_looked_at_again_once_it_changes() {
    type Change = fn(&Repo, &str);
    let changes: [(&str, Change); 6] = [
        ("projection_changed", |repo, id| {
            let path = format!(".agent-memory/proposals/{id}/change.patch");
            let text = repo.text(&path);
            repo.write(&path, text.replace('+', "-"));
        }),
        ("projection_missing", |repo, id| {
            repo.remove(&format!(".agent-memory/proposals/{id}/proposal.yaml"));
        }),
        ("projection_unexpected", |repo, id| {
            repo.write(&format!(".agent-memory/proposals/{id}/more"), "");
        }),
        ("pending_ref_moved", |repo, id| {
            repo.git(&["update-ref", &format!("refs/aye/pending/{id}"), "HEAD"]);
        }),
        ("pending_ref_missing", |repo, id| {
            repo.git(&["update-ref", "-d", &format!("refs/aye/pending/{id}")]);
        }),
        ("pending_ref_unexpected", |repo, _| {
            repo.git(&["update-ref", "refs/aye/pending/prop_0123456789", "HEAD"]);
        }),
    ];
    for (code, change) in changes {
        let (repo, _, ids) = eight();
        let doctor = || repo.later(&["doctor"]).run();
        doctor().ok();
        let seen = repo.text(".git/aye/examined");
        assert_eq!(seen.lines().count(), 1 + ids.len());
        doctor().ok();
        assert_eq!(repo.text(".git/aye/examined"), seen);
        change(&repo, &ids[3]);
        doctor().exits(1).says(code);
        doctor().exits(1).says(code);
        repo.aye(&["doctor", "--repair"]).ok();
    }
    let (repo, _, ids) = eight();
    repo.aye(&["doctor"]).ok();
    repo.aye(&["comment", &ids[3], "-m", "Think"]).ok();
    repo.aye(&["doctor"]).ok();
}

/// What somebody else writes from another work tree of the repository is no edit of the files here.
#[test]
fn a_linked_work_tree_leaves_no_older_projection_in_the_main_one() {
    let repo = Repo::with(&[("f", "1\n2\n3\n")]);
    let linked = repo.outer().join("linked");
    repo.git(&["worktree", "add", "-q", "-b", "other", linked.to_str().expect("UTF-8")]);
    let propose = ["propose", "f", "--old", "2", "--new", "two", "-q"];
    let id = repo.agent("codex", &propose).ok().id();
    let file = format!(".agent-memory/proposals/{id}/change.patch");
    let there = |args: &[&str]| repo.cmd(args).dir(&linked);
    there(&["comment", &id, "-m", "why?"]).run().ok();
    repo.aye(&["doctor"]).ok();
    there(&["approve", &id, "--yes"]).run().ok();
    repo.aye(&["doctor"]).ok();
    let revise = ["revise", &id, "f", "--old", "2", "--new", "TWO"];
    there(&revise).env("AYE_AGENT", "codex").run().ok();
    assert!(repo.text(&file).contains("+TWO"), "{}", repo.text(&file));
    repo.aye(&["doctor"]).ok();
    there(&["doctor"]).run().ok();
    // An edit is still an edit.
    repo.write(&file, "edited\n");
    repo.aye(&["doctor"]).exits(1).says("projection_changed");
    there(&["reject", &id, "--yes", "-m", "no"]).run().ok();
    assert!(!repo.exists(&file));
}

#[test]
fn one_wrong_value_in_the_configuration_is_named_once_and_damages_nothing() {
    let repo = Repo::with(&[("f", "1\n2\n3\n")]);
    for old in ["1", "2"] {
        repo.agent("codex", &["propose", "f", "--old", old, "--new", "x", "-q"]).ok();
    }
    repo.git(&["config", "aye.maxFileSize", "10x"]);
    let found = repo.aye(&["doctor"]).exits(1).lacks("reject").lacks("--repair").lacks("prop_");
    assert_eq!(found.out().matches("10x").count(), 1, "{found}");
    found.says("invalid_config: aye.maxFileSize").says("git config aye.maxFileSize");
    repo.git(&["config", "--unset", "aye.maxFileSize"]);
    repo.aye(&["doctor"]).ok();
}

#[test]
fn a_password_in_the_url_of_a_remote_is_warned_of_and_not_printed() {
    let repo = Repo::with(&[("f", "1\n")]);
    repo.git(&["remote", "add", "origin", "https://ada:hunter2hunter2@example.com/a.git"]);
    let doctor = repo.aye(&["doctor", "--json"]).ok().json();
    let warnings = doctor["warnings"].to_string();
    assert!(warnings.contains("remote.origin.url") && !warnings.contains("hunter2"), "{warnings}");
    assert!(doctor["sandbox"].is_boolean(), "{doctor}");
    repo.git(&["remote", "set-url", "origin", "https://ada@example.com/a.git"]);
    assert_eq!(repo.aye(&["doctor", "--json"]).ok().json()["warnings"], serde_json::json!([]));
}

#[test]
fn every_code_has_its_remedy_in_the_help() {
    let repo = Repo::with(&[("f", "1\n")]);
    let page = repo.aye(&["help", "codes"]).ok();
    let codes = ["lane_equivocates", "content_differs", "revised_meanwhile", "remote_password"];
    codes.iter().fold(page, |page, code| page.says(code));
}
