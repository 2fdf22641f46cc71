//! `aye sync`: clones exchange threads through a bare repository.

use serde_json::Value;

use crate::support::clones::{clone, join, name, refs, thread, tip};
use crate::support::record::{apply, comment, propose, reject, rewrite};
use crate::support::terminal::Terminal;
use crate::support::{Repo, Run};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n")];

/// Two clones of one remote, where both share.
pub struct Team {
    pub origin: Repo,
    pub ada: Repo,
    pub bob: Repo,
}

pub fn team() -> Team {
    let ada = Repo::with(FILES);
    let origin = Repo::bare();
    join(&ada, &origin);
    ada.git(&["push", "-q", "origin", "HEAD:refs/heads/main"]);
    ada.git(&["fetch", "-q", "origin"]);
    enable(&ada);
    let bob = member(&origin);
    Team { origin, ada, bob }
}

/// One more clone that shares.
fn member(origin: &Repo) -> Repo {
    let bob = clone(origin);
    bob.git(&["config", "user.name", "Bob"]);
    bob.git(&["config", "user.email", "bob@example.com"]);
    enable(&bob);
    bob
}

fn enable(repo: &Repo) {
    repo.aye(&["sync", "--enable", "origin", "--yes"]).ok();
}

pub fn sync(repo: &Repo) -> Value {
    let run = repo.aye(&["sync", "--json"]).ok();
    let answer = run.json();
    assert_eq!(answer["schema"], "aye/sync@1");
    answer["remotes"][0].clone()
}

/// Nothing is new, so nothing is said.
#[track_caller]
fn is_quiet(repo: &Repo) {
    let run = repo.aye(&["sync"]).ok();
    assert_eq!(run.out() + &run.err(), "", "{run}");
}

fn len(value: &Value) -> usize {
    value.as_array().expect("a list").len()
}

fn status(repo: &Repo, id: &str) -> String {
    repo.item(id)["status"].as_str().expect("a status").to_owned()
}

/// The refs of the remote below a clone's directory.
fn there(origin: &Repo, clone: &str) -> Vec<String> {
    refs(origin, &[&format!("refs/aye/by/{clone}")])
}

#[test]
fn proposal_and_decision_go_both_ways() {
    let Team { origin, ada, bob } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    let sent = sync(&ada);
    assert_eq!((len(&sent["sent"]), len(&sent["received"])), (1, 0));
    let run = bob.aye(&["sync"]).ok();
    assert!(run.out().contains(&id), "{run}");
    bob.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(len(&sync(&bob)["sent"]), 1);
    assert_eq!(sync(&ada)["received"][0], thread(&ada, &id));
    assert_eq!(status(&ada, &id), "applied");
    for repo in [&ada, &bob] {
        is_quiet(repo);
        let own = there(&origin, &name(repo).expect("a name"));
        assert_eq!(own.len(), 1, "{own:?}");
    }
    // Branches and tags are git's, and so is what a plain fetch and push do.
    bob.git(&["tag", "v1"]);
    bob.commit("apply");
    sync(&bob);
    assert_eq!(refs(&origin, &["refs/heads", "refs/tags"]), ["main"]);
    assert!(ada.git(&["config", "--get-all", "remote.origin.fetch"]).lines().count() <= 1);
    assert_eq!(ada.try_git(&["config", "--get", "remote.origin.push"]).status, 1);
}

#[test]
fn nothing_is_sent_before_a_person_enables_the_remote() {
    let ada = Repo::with(FILES);
    let origin = Repo::bare();
    join(&ada, &origin);
    propose(&ada, "a.txt", "one", "ONE");
    ada.aye(&["sync"]).fails("sync_not_enabled", 4);
    ada.aye(&["sync", "origin"]).fails("sync_not_enabled", 4);
    ada.aye(&["sync", "--fetch"]).ok();
    ada.aye(&["sync", "--fetch", "elsewhere"]).fails("remote_not_found", 3);
    ada.aye(&["sync", "--enable", "elsewhere", "--yes"]).fails("remote_not_found", 3);
    ada.aye(&["sync", "--enable", "origin"]).fails("confirmation_required", 4);
    for args in [&["sync"][..], &["sync", "--enable", "origin", "--yes"]] {
        ada.agent("codex", args).fails("human_approval_required", 4);
        ada.cmd(args).env("CI", "true").run().fails("human_approval_required", 4);
    }
    ada.agent("codex", &["sync", "--fetch"]).ok();
    assert!(refs(&origin, &["refs/aye"]).is_empty());
    assert_eq!(ada.try_git(&["config", "aye.syncRemote"]).status, 1);
    // Without a remote the hint is git's.
    Repo::with(FILES).aye(&["sync"]).fails("remote_not_found", 3);
}

#[test]
fn enabling_names_what_will_be_seen() {
    let ada = Repo::with(FILES);
    let origin = Repo::bare();
    join(&ada, &origin);
    ada.git(&["push", "-q", "origin", "HEAD:refs/heads/main"]);
    ada.git(&["fetch", "-q", "origin"]);
    propose(&ada, "a.txt", "one", "ONE");
    ada.aye(&["propose", "b.txt", "--old", "b", "--new", "p", "--private"]).ok();
    // A commit that the remote does not have, and a proposal on it.
    ada.write("b.txt", "unpublished\n");
    ada.commit("unpublished");
    let stacked = propose(&ada, "b.txt", "unpublished", "published");
    let secret = format!("key = \"ghp_{}\"\n", "0123456789abcdefABCDEFghijklmnopqrst");
    rewrite(&ada, "k.txt", &secret, "a key");
    let mut no = Terminal::start(ada.cmd(&["sync", "--enable", "origin"]), 30, 250);
    no.sees("now, and with each").types("n\r");
    assert_eq!(no.ends(), 1);
    let screen = no.text();
    assert!(screen.contains("3 proposals (3 pending)"), "{screen}");
    assert!(screen.contains(&format!("{stacked}: b.txt")), "{screen}");
    assert!(screen.contains("k.txt:1"), "{screen}");
    assert!(screen.contains("1 proposal private"), "{screen}");
    assert!(refs(&origin, &["refs/aye"]).is_empty());
    assert_eq!(ada.try_git(&["config", "aye.syncRemote"]).status, 1);
    let run = ada.aye(&["sync", "--enable", "origin", "--yes"]).ok();
    assert!(run.err().contains(&stacked) && run.out().contains("3 sent"), "{run}");
    assert_eq!(refs(&origin, &["refs/aye"]).len(), 3);
    assert_eq!(ada.git(&["config", "aye.syncRemote"]), "origin");
    // A colleague is told what enabling has brought.
    let bob = clone(&origin);
    for name in refs(&bob, &["refs/aye"]) {
        bob.git(&["update-ref", "-d", &format!("refs/aye/{name}")]);
    }
    let run = bob.aye(&["sync", "--enable", "origin", "--yes"]).ok();
    assert!(run.out().contains("3 received") && run.out().contains(&stacked), "{run}");
}

#[test]
fn copy_of_a_clone_takes_a_new_name_and_nothing_is_lost() {
    let Team { origin: _origin, ada, bob } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    sync(&ada);
    let copy = ada.copy();
    comment(&ada, &id, "of the original");
    comment(&copy, &id, "of the copy");
    let former = name(&ada).expect("a name");
    assert_eq!(sync(&ada)["clone"], Value::Null);
    let fresh = sync(&copy)["clone"].as_str().expect("a new name").to_owned();
    assert_eq!(name(&copy), Some(fresh.clone()));
    assert_eq!(copy.git(&["config", "aye.formerClone"]), former);
    for repo in [&ada, &bob, &copy] {
        sync(repo);
        assert_eq!(repo.item(&id)["comments"].as_array().map(Vec::len), Some(2));
        is_quiet(repo);
    }
    // Somebody writes below its name again, the same day: a person is asked.
    let again = copy.copy();
    comment(&copy, &id, "more");
    sync(&copy);
    comment(&again, &id, "other");
    let run = again.aye(&["sync"]).exits(4);
    assert!(run.err().contains("clone_copied"), "{run}");
    again.aye(&["doctor", "--repair"]).ok();
    assert_eq!(len(&sync(&again)["sent"]), 1);
}

#[test]
fn clone_that_is_restored_from_a_backup_reads_what_it_had_written() {
    let Team { origin: _origin, ada, bob } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    let backup = ada.copy();
    comment(&ada, &id, "after the backup");
    sync(&ada);
    sync(&bob);
    // A fetch alone brings its own events back, which count.
    backup.aye(&["sync", "--fetch"]).ok();
    comment(&backup, &id, "after the restore");
    // That has the lost event as a parent, so the directory goes on.
    assert_eq!(sync(&backup)["clone"], Value::Null);
    sync(&bob);
    assert_eq!(bob.item(&id)["comments"].as_array().map(Vec::len), Some(2));
}

#[test]
fn rewound_remote_takes_nothing_away() {
    let Team { origin, ada, bob } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    sync(&ada);
    let backup = origin.copy();
    let other = propose(&ada, "b.txt", "b", "B");
    comment(&ada, &id, "newer");
    sync(&ada);
    sync(&bob);
    // Restored, and the owner has no newer tip, either: it was restored, too.
    let path = backup.root().to_string_lossy().into_owned();
    bob.git(&["config", "remote.origin.url", &path]);
    let answer = sync(&bob);
    assert_eq!(len(&answer["kept"]), 2, "{answer:#}");
    assert_eq!(bob.item(&id)["comments"].as_array().map(Vec::len), Some(1));
    assert_eq!(status(&bob, &other), "pending");
    is_quiet(&bob);
    // What nobody writes to does not come back by itself; what somebody writes to does.
    assert_eq!(refs(&backup, &["refs/aye/by"]).len(), 1);
    comment(&bob, &id, "goes on");
    sync(&bob);
    assert_eq!(refs(&backup, &["refs/aye/by"]).len(), 2);
    // The owner's next sync repairs the rest.
    ada.git(&["config", "remote.origin.url", &path]);
    assert_eq!(len(&sync(&ada)["sent"]), 2);
    sync(&bob);
    bob.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn ref_that_is_in_the_way_of_another_is_kept() {
    let Team { origin, ada, bob } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    comment(&ada, &id, "known to Bob");
    sync(&ada);
    sync(&bob);
    let (of, at) = (name(&ada).expect("a name"), thread(&ada, &id));
    let ref_there = format!("refs/aye/by/{of}/{at}");
    let held = tip(&ada, &at);
    origin.git(&["update-ref", "-d", &ref_there]);
    origin.git(&["update-ref", &format!("{ref_there}/y"), &held]);
    let answer = sync(&bob);
    assert_eq!(len(&answer["kept"]), 1, "{answer:#}");
    is_quiet(&bob);
    origin.git(&["update-ref", &format!("{ref_there}/y"), &at]);
    let carol = member(&origin);
    sync(&carol);
    is_quiet(&bob);
    assert_eq!(bob.item(&id)["comments"].as_array().map(Vec::len), Some(1));
    // The owner cannot push there, and says so.
    comment(&ada, &id, "more");
    let run = ada.aye(&["sync"]).exits(4);
    assert!(run.err().contains("push_refused"), "{run}");
}

#[test]
fn closed_threads_leave_the_remote_once_the_ledger_is_there() {
    let Team { origin, ada, bob } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    reject(&ada, &id, "no");
    sync(&ada);
    ada.aye(&["doctor", "--gc"]).ok();
    let of = name(&ada).expect("a name");
    sync(&ada);
    assert_eq!(there(&origin, &of).len(), 2);
    assert_eq!(sync(&ada)["deleted"], 1);
    let left = there(&origin, &of);
    assert!(left.len() == 1 && left[0].contains("/closed/"), "{left:?}");
    is_quiet(&ada);
    let answer = sync(&bob);
    assert_eq!(len(&answer["kept"]), 0, "{answer:#}");
    assert_eq!(status(&bob, &id), "rejected");
    // Undone elsewhere, it is open again for all.
    bob.aye(&["undo", "--rejection", &id, "--yes"]).ok();
    sync(&bob);
    sync(&ada);
    assert_eq!(status(&ada, &id), "pending");
    is_quiet(&ada);
}

#[test]
fn purged_thread_is_deleted_there_and_kept_by_nobody_here() {
    let Team { origin, ada, bob } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    comment(&ada, &id, "a key");
    let other = propose(&ada, "b.txt", "b", "B");
    sync(&ada);
    sync(&bob);
    ada.aye(&["purge", &id, "-m", "a key", "--yes"]).ok();
    let answer = sync(&ada);
    assert_eq!(answer["deleted"], 1, "{answer:#}");
    let left = there(&origin, &name(&ada).expect("a name"));
    assert!(left.len() == 2 && left.iter().any(|name| name.contains("/gone/")), "{left:?}");
    is_quiet(&ada);
    // Nobody is made to forget it: Bob's clone keeps what the remote has lost, and says so.
    assert_eq!(len(&sync(&bob)["kept"]), 1);
    assert_eq!(status(&bob, &other), "pending");
    bob.aye(&["purge", &id, "-m", "a key", "--yes"]).ok();
    assert!(refs(&bob, &["refs/aye/kept"]).is_empty());
    is_quiet(&bob);
}

#[test]
fn decisions_that_differ_are_settled_by_a_person() {
    let Team { origin: _origin, ada, bob } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    sync(&ada);
    sync(&bob);
    ada.aye(&["apply", &id, "--yes"]).ok();
    bob.aye(&["reject", &id, "-m", "no", "--yes"]).ok();
    sync(&ada);
    sync(&bob);
    sync(&ada);
    for repo in [&ada, &bob] {
        assert_eq!(repo.item(&id)["contested"], true);
    }
    bob.aye(&["undo", "--rejection", &id, "--yes"]).ok();
    sync(&bob);
    sync(&ada);
    for repo in [&ada, &bob] {
        assert_eq!(repo.item(&id)["contested"], false);
        assert_eq!(status(repo, &id), "applied");
    }
}

/// The pushed commit names a rejected proposal, and a later one takes its lines out.
#[test]
fn contradiction_that_an_undo_settles_passes_the_check() {
    let Team { origin: _origin, ada, bob } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    sync(&ada);
    sync(&bob);
    bob.aye(&["apply", &id, "--yes", "--commit"]).ok();
    bob.git(&["push", "-q", "origin", "HEAD:main"]);
    sync(&bob);
    ada.aye(&["reject", &id, "-m", "no", "--yes"]).ok();
    sync(&ada);
    ada.git(&["fetch", "-q", "origin"]);
    ada.git(&["merge", "-q", "--ff-only", "origin/main"]);
    ada.aye(&["undo", &id, "--yes"]).ok();
    let check = |range: &str| ada.aye(&["check", "--range", range]);
    check("HEAD~1..HEAD").exits(1).says("not_applied").lacks("aye review");
    ada.git(&["commit", "-qam", "Take it back"]);
    assert_eq!((status(&ada, &id), ada.text("a.txt")), ("rejected".into(), FILES[0].1.into()));
    let run = check("HEAD~2..HEAD").ok().says("note[not_applied]").says("so do later commits");
    run.lacks("reviewer_mismatch");
}

#[test]
fn content_that_servers_refuse_is_in_no_pack() {
    let Team { origin, ada, bob } = team();
    origin.git(&["config", "receive.fsckObjects", "true"]);
    let fine = propose(&ada, "a.txt", "one", "ONE");
    let hostile = "[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n";
    let modules = rewrite(&ada, ".gitmodules", hostile, "a submodule");
    let long = format!("*.x {}\n", "a".repeat(4_000));
    let attributes = rewrite(&ada, ".gitattributes", &long, "attributes");
    let run = ada.aye(&["sync", "--json"]).exits(4);
    let answer = run.json()["remotes"][0].clone();
    assert_eq!(len(&answer["sent"]), 1, "{answer:#}");
    let refused: Vec<&str> = answer["refused"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| {
            assert_eq!(it["code"], "not_sendable");
            it["proposal_id"].as_str().expect("an id")
        })
        .collect();
    for id in [&modules, &attributes] {
        assert!(refused.contains(&id.as_str()), "{refused:?}");
    }
    let objects = crate::support::clones::objects(&origin);
    assert!(!objects.contains("payload") && !objects.contains(&long));
    sync(&bob);
    assert_eq!(status(&bob, &fine), "pending");
    assert_eq!(len(&bob.aye(&["list", "--json"]).ok().json()["proposals"]), 1);
    // A partial clone examines its own contents, and fetches none for that.
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    let carla = Repo::outside();
    let url = format!("file://{}", origin.root().display());
    carla.git(&["clone", "--quiet", "--filter=blob:none", "--no-checkout", &url, "."]);
    carla.git(&["config", "user.name", "Carla"]);
    carla.git(&["config", "user.email", "carla@example.com"]);
    enable(&carla);
    carla.git(&["checkout", "-q", "main", "--", "a.txt"]);
    let fine = propose(&carla, "a.txt", "two", "TWO");
    let modules = rewrite(&carla, ".gitmodules", hostile, "a submodule");
    let missing = carla.git(&["rev-list", "--objects", "--missing=print", "--all"]);
    let run = carla.aye(&["sync", "--json"]).exits(4);
    let answer = run.json()["remotes"][0].clone();
    assert_eq!((len(&answer["sent"]), len(&answer["refused"])), (1, 1), "{answer:#}");
    assert_eq!(answer["refused"][0]["proposal_id"], modules);
    assert_eq!(carla.git(&["rev-list", "--objects", "--missing=print", "--all"]), missing);
    sync(&bob);
    assert_eq!(status(&bob, &fine), "pending");
}

/// As after `git filter-repo`, which rewrites all refs without the headers of events.
#[test]
fn thread_that_was_rewritten_is_not_sent_and_the_fetched_copy_heals_it() {
    let Team { origin, ada, .. } = team();
    let (id, fine) = (propose(&ada, "a.txt", "one", "ONE"), propose(&ada, "b.txt", "b", "B"));
    sync(&ada);
    let (clone, at) = (name(&ada), thread(&ada, &id));
    let own = format!("refs/aye/p/{at}");
    let there = tip(&ada, &at);
    let empty = ada.git(&["commit-tree", "-m", "rewritten", &format!("{own}^{{tree}}")]);
    ada.git(&["update-ref", &own, empty.trim()]);
    comment(&ada, &fine, "well");
    let run = ada.aye(&["sync", "--json"]).exits(4);
    let answer = run.json()["remotes"][0].clone();
    assert_eq!((len(&answer["sent"]), len(&answer["refused"])), (1, 1), "{answer:#}");
    assert_eq!(answer["refused"][0]["code"], "thread_damaged");
    assert_eq!(name(&ada), clone);
    let clone = clone.expect("a name");
    assert_eq!(origin.git(&["rev-parse", &format!("refs/aye/by/{clone}/{at}")]), there);
    ada.git(&["update-ref", &own, &format!("refs/aye/remotes/origin/{clone}/{at}")]);
    assert_eq!(status(&ada, &id), "pending");
    is_quiet(&ada);
}

#[test]
fn refusal_of_the_server_is_named_and_other_refs_go() {
    let Team { origin, ada, .. } = team();
    let (id, other) = (propose(&ada, "a.txt", "one", "ONE"), propose(&ada, "b.txt", "b", "B"));
    let at = thread(&ada, &id);
    origin.script(
        "hooks/update",
        &format!("case $1 in *{at}) echo 'not \x1b[31mthis one' >&2; exit 1;; esac"),
    );
    let run = ada.aye(&["sync"]).exits(4);
    for text in ["push_refused", &id, "this one"] {
        assert!(run.err().contains(text), "{run}");
    }
    assert!(!run.err().contains('\u{1b}'));
    let left = there(&origin, &name(&ada).expect("a name"));
    assert!(left.len() == 1 && left[0].contains(&thread(&ada, &other)), "{left:?}");
    origin.remove("hooks/update");
    assert_eq!(len(&sync(&ada)["sent"]), 1);
    is_quiet(&ada);
}

#[test]
fn remote_that_cannot_be_reached_changes_nothing() {
    let Team { origin: _origin, ada, .. } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    sync(&ada);
    let before = refs(&ada, &["refs/aye"]);
    for url in ["/nowhere/at/all", "https://127.0.0.1:9/x", "ssh://127.0.0.1:9/x"] {
        ada.git(&["config", "remote.origin.url", url]);
        ada.aye(&["sync"]).fails("remote_failed", 7);
        ada.aye(&["sync", "--fetch"]).fails("remote_failed", 7);
    }
    assert_eq!(refs(&ada, &["refs/aye"]), before);
    assert_eq!(status(&ada, &id), "pending");
}

#[test]
fn sixteen_clones_at_once_agree() {
    let Team { origin, ada, .. } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    sync(&ada);
    let clones: Vec<Repo> = (0..16).map(|_| member(&origin)).collect();
    for (at, clone) in clones.iter().enumerate() {
        sync(clone);
        comment(clone, &id, &format!("from {at}"));
    }
    let running: Vec<_> = clones.iter().map(|clone| clone.cmd(&["sync"]).spawn()).collect();
    let runs: Vec<Run> = running.into_iter().map(crate::support::Running::wait).collect();
    for run in &runs {
        assert_eq!(run.status, 0, "{run}");
    }
    for clone in clones.iter().chain([&ada]) {
        sync(clone);
        assert_eq!(len(&clone.item(&id)["comments"]), 16);
        is_quiet(clone);
        let locks = walkdir::WalkDir::new(clone.path(".git")).into_iter().flatten();
        let locks: Vec<_> =
            locks.filter(|it| it.path().extension() == Some("lock".as_ref())).collect();
        assert!(locks.is_empty(), "{locks:?}");
    }
    origin.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn remotes_with_a_common_beginning_are_kept_apart() {
    let Team { origin: _origin, ada, bob } = team();
    let second = Repo::bare();
    bob.git(&["remote", "add", "origin/two", &second.root().to_string_lossy()]);
    bob.aye(&["sync", "--enable", "origin/two", "--yes"]).ok();
    propose(&ada, "a.txt", "one", "ONE");
    sync(&ada);
    let id = propose(&bob, "b.txt", "b", "B");
    let answer = bob.aye(&["sync", "--json"]).ok().json();
    assert_eq!(len(&answer["remotes"]), 2);
    assert_eq!(refs(&second, &["refs/aye"]).len(), 1);
    let before = refs(&bob, &["refs/aye/remotes"]);
    assert_eq!(before.len(), 3, "{before:?}");
    is_quiet(&bob);
    assert_eq!(refs(&bob, &["refs/aye/remotes"]), before);
    assert_eq!(status(&bob, &id), "pending");
    // Only one of them can be reached: the other one is served.
    bob.git(&["config", "remote.origin.url", "/nowhere"]);
    comment(&bob, &id, "more");
    bob.aye(&["sync"]).exits(7);
    assert_eq!(
        bob.aye(&["sync", "origin/two", "--json"]).ok().json()["remotes"][0]["sent"],
        serde_json::json!([])
    );
}

#[test]
fn hooks_of_the_project_do_not_run() {
    let Team { origin: _origin, ada, .. } = team();
    ada.script(".git/hooks/pre-push", "exit 1");
    propose(&ada, "a.txt", "one", "ONE");
    assert_eq!(len(&sync(&ada)["sent"]), 1);
}

#[test]
fn session_of_an_agent_and_a_linked_tree_sync_the_repository() {
    let Team { origin: _origin, ada, bob } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    sync(&ada);
    bob.git(&["worktree", "add", "-q", "../linked"]);
    let linked = bob.outer().join("linked");
    let run = bob.cmd(&["sync"]).dir(&linked).run().ok();
    assert!(run.out().contains(&id), "{run}");
    apply(&bob, &id);
    bob.cmd(&["sync"]).dir(&linked).run().ok();
    sync(&ada);
    assert_eq!(status(&ada, &id), "applied");
}

/// A remote whose programs are cut off after so many bytes, as by a network that goes away.
fn cut(repo: &Repo, key: &str, program: &str, bytes: usize) {
    let script = format!("../cut-{program}");
    // The other end sees the end of the stream once this shell is gone.
    repo.script(
        &script,
        &format!("{program} \"$@\" | {{ dd bs=1 count={bytes} 2>/dev/null; kill -9 $$; }}"),
    );
    let path = repo.outer().join(format!("cut-{program}"));
    repo.git(&["config", key, &path.to_string_lossy()]);
}

#[test]
fn network_that_is_cut_anywhere_loses_nothing() {
    let Team { origin: _origin, ada, bob } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    sync(&ada);
    for (at, bytes) in [0, 40, 200, 400, 500, 600, 700, 900, 1_200, 2_000].into_iter().enumerate() {
        comment(&ada, &id, &format!("number {at}"));
        cut(&ada, "remote.origin.receivepack", "git-receive-pack", bytes);
        let run = ada.aye(&["sync"]);
        assert!([0, 4, 7].contains(&run.status), "{bytes}: {run}");
        cut(&bob, "remote.origin.uploadpack", "git-upload-pack", bytes);
        let run = bob.aye(&["sync"]);
        assert!([0, 7].contains(&run.status), "{bytes}: {run}");
        assert!(run.status == 7 || !run.err().contains("kept"), "{bytes}: {run}");
        ada.git(&["config", "--unset", "remote.origin.receivepack"]);
        bob.git(&["config", "--unset", "remote.origin.uploadpack"]);
        for repo in [&ada, &bob, &ada] {
            sync(repo);
            is_quiet(repo);
        }
        assert_eq!(len(&bob.item(&id)["comments"]), at + 1);
        assert!(refs(&bob, &["refs/aye/kept"]).is_empty());
    }
}

/// Names of all objects that `aye sync` has sent, by what the remote's database has gained.
#[test]
fn packs_have_no_object_of_a_private_thread() {
    let Team { origin, ada, .. } = team();
    ada.aye(&["propose", "a.txt", "--old", "one", "--new", "hush", "--private"]).ok();
    let public = ada.aye(&["propose", "b.txt", "--old", "b", "--new", "hush b", "--private", "-q"]);
    let id = public.ok().id();
    ada.aye(&["comment", &id, "-m", "hush, too"]).ok();
    ada.aye(&["reject", &id, "-m", "hush", "--yes"]).ok();
    propose(&ada, "a.txt", "two", "TWO");
    sync(&ada);
    ada.aye(&["doctor", "--gc"]).ok();
    sync(&ada);
    sync(&ada);
    let private =
        ada.git(&["rev-list", "--objects", "--no-object-names", "--glob=refs/aye/private/*"]);
    let shared =
        ada.git(&["rev-list", "--objects", "--no-object-names", "--glob=refs/aye/p/*", "HEAD"]);
    let shared: std::collections::BTreeSet<&str> = shared.lines().collect();
    let list = ["cat-file", "--batch-check=%(objectname)", "--batch-all-objects"];
    let there = origin.git(&list);
    for object in there.lines() {
        assert!(shared.contains(object), "{object}");
    }
    assert!(private.lines().any(|object| !shared.contains(object)));
    assert!(!crate::support::clones::objects(&origin).contains("hush"));
}

#[test]
fn decision_from_another_machine_ends_a_wait() {
    let Team { origin: _origin, ada, bob } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    sync(&ada);
    let waiting = ada.cmd(&["wait", &id, "--sync", "1s"]).env("AYE_AGENT", "codex").spawn();
    sync(&bob);
    bob.aye(&["apply", &id, "--yes"]).ok();
    sync(&bob);
    waiting.wait().ok().says("applied");
    // A remote that cannot be reached is named once.
    let id = propose(&ada, "b.txt", "b", "B");
    ada.git(&["config", "remote.origin.url", "/nowhere"]);
    let run = ada.aye(&["wait", &id, "--sync", "1s", "--timeout", "3s"]).exits(124);
    assert_eq!(run.err().matches("warning").count(), 1, "{run}");
    // On a private one nobody else can answer.
    let id = ada.aye(&["propose", "a.txt", "--old", "two", "--new", "T", "--private", "-q"]);
    let id = id.ok().id();
    let run = ada.aye(&["wait", &id, "--timeout", "0"]).exits(124);
    assert!(run.err().contains("is private"), "{run}");
}

#[test]
fn sync_follows_a_decision_where_a_person_has_said_so() {
    let Team { origin, ada, bob } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    assert!(refs(&origin, &["refs/aye"]).is_empty());
    ada.git(&["config", "aye.syncAfter", "propose"]);
    propose(&ada, "b.txt", "b", "B");
    assert_eq!(refs(&origin, &["refs/aye"]).len(), 2);
    sync(&bob);
    bob.git(&["config", "aye.syncAfter", "decide"]);
    let third = propose(&bob, "b.txt", "b", "third");
    assert_eq!(refs(&origin, &["refs/aye"]).len(), 2);
    bob.aye(&["reject", &id, "--yes"]).ok();
    assert_eq!(refs(&origin, &["refs/aye"]).len(), 4);
    ada.aye(&["sync", "--fetch"]).ok();
    assert_eq!(status(&ada, &id), "rejected");
    assert_eq!(status(&ada, &third), "pending");
    // The decision is recorded, whatever the remote does.
    bob.git(&["config", "remote.origin.url", "/nowhere"]);
    let run = bob.aye(&["reject", &third, "--yes"]).ok();
    assert!(run.err().contains("remote_failed"), "{run}");
    bob.git(&["config", "aye.syncAfter", "always"]);
    bob.aye(&["undo", "--rejection", &third, "--yes"]).ok().notes("aye.syncAfter");
}

#[test]
fn doctor_tries_a_push_that_sends_nothing() {
    let Team { origin, ada, .. } = team();
    propose(&ada, "a.txt", "one", "ONE");
    ada.aye(&["doctor", "--remote", "origin"]).ok().notes("git can push to origin");
    assert!(refs(&origin, &["refs/aye"]).is_empty());
    ada.git(&["config", "remote.origin.url", "/nowhere"]);
    let run = ada.aye(&["doctor", "--remote", "origin", "--json"]).exits(1);
    assert_eq!(run.json()["problems"][0]["code"], "remote_failed");
    ada.aye(&["doctor", "--remote", "elsewhere"]).exits(1);
}

#[test]
fn view_names_what_the_remote_lacks() {
    let Team { origin: _origin, ada, bob } = team();
    let id = propose(&ada, "a.txt", "one", "ONE");
    let is_unsent = |repo: &Repo| {
        let store = crate::support::record::store(repo);
        let view = store.view().expect("a view");
        view.is_unsent(&view.resolve(&id).expect("an id"), "origin").expect("read")
    };
    assert!(is_unsent(&ada));
    sync(&ada);
    sync(&bob);
    assert!(!is_unsent(&ada) && !is_unsent(&bob));
    apply(&bob, &id);
    assert!(is_unsent(&bob));
    sync(&bob);
    assert!(!is_unsent(&bob));
    bob.aye(&["doctor", "--gc"]).ok();
    assert!(!is_unsent(&bob));
    sync(&bob);
    sync(&bob);
    assert!(!is_unsent(&bob));
    sync(&ada);
    assert!(!is_unsent(&ada));
}
