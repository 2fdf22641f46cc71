//! `aye purge` stopped at every write step: whatever is there is whole, nothing else is lost, and the same
//! command goes on.

use crate::support::Repo;
use crate::support::steps::STORE;

const SECRET: &str = "opensesame-4711";

/// Every further step at which it writes.
const PURGE: &[&str] = &[
    "purge.objects", "purge.noted", "purge.moved", "purge.removed", "purge.archives", "purge.refs",
    "purge.pending", "purge.files",
];

/// Where what other commands find changes: of the objects before, the other test has each.
const REFS: &[&str] = &["store.ref.rename", "store.ref.moved"];

fn reachable(repo: &Repo) -> String {
    let ids = repo.git(&["rev-list", "--objects", "--no-object-names", "--all"]) + "\n";
    repo.program("git").args(&["cat-file", "--batch"]).stdin(ids).run().ok().out()
}

/// A published proposal with the secret, so that two lanes have it, and an archive of one.
fn scene() -> (Repo, String) {
    let repo = Repo::with(&[("a", "a1\n"), ("b", "b1\n"), ("c", "c1\n")]);
    let propose = |path: &str, new: &str, more: &[&str]| {
        let old = format!("{path}1");
        let args = ["propose", path, "--old", &old, "--new", new, "-q"];
        repo.aye(&[&args[..], more].concat()).ok().id()
    };
    let id = propose("a", SECRET, &["--private"]);
    repo.aye(&["revise", "--public", &id, "--yes"]).ok();
    // Its commit has that of the other as its parent.
    propose("c", "new", &["--on", &id]);
    repo.aye(&["reject", &id, "--yes", "-m", SECRET]).ok();
    let other = propose("b", "new", &[]);
    repo.aye(&["reject", &other, "--yes"]).ok();
    repo.aye(&["doctor", "--gc", "--now", "--keep", "0"]).ok();
    // As it was fetched back from a remote.
    let own = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/log"]);
    repo.git(&["update-ref", &own.replace("/log/", "/remotes/origin/"), &own]);
    (repo, id)
}

#[test]
fn a_purge_stopped_at_every_step_is_finished_by_the_next() {
    finished(false);
}

/// The private lane is another clone's and goes first: were it the last, nothing that this clone writes would
/// own the proposal any more when the command is run again.
#[test]
fn so_is_one_where_the_private_lane_was_copied() {
    finished(true);
}

fn finished(is_copied: bool) {
    let (start, id) = scene();
    let all = |repo: &Repo| {
        let list = repo.aye(&["list", "--status", "all", "--json"]).ok().json();
        let items = list["proposals"].as_array().expect("a list").clone();
        let others = items.iter().filter(|item| item["proposal_id"] != id.as_str());
        others.cloned().collect::<Vec<_>>()
    };
    let before = all(&start);
    assert_eq!(before.len(), 2);
    assert!(reachable(&start).contains(SECRET));
    let purge = ["purge", id.as_str(), "-m", "r", "--yes"];
    let store: &[&str] = if is_copied { REFS } else { &STORE[..6] };
    assert!(!store.contains(&"store.cache.written"), "what the cache has is no truth");
    for point in store.iter().chain(PURGE) {
        for hit in 0.. {
            let repo = start.copy();
            if !is_copied {
                // As the place of the other lane is: bound again.
                repo.remove(".git/aye/place.private");
            }
            let run =
                repo.cmd(&purge).env("FAILPOINTS", format!("{point}={hit}*off->return")).run();
            if run.status == 0 {
                assert!(hit > 0, "{point} is never reached");
                break;
            }
            let what = format!("{point} {hit}");
            run.exits(128 + 6);
            // Purged or not, and nothing in between.
            let shown = repo.aye(&["show", &id]);
            let is_purged = String::from_utf8_lossy(&shown.stderr).contains("proposal_purged")
                || shown.status == 3;
            assert!(is_purged || shown.status == 0, "{what}: {shown}");
            assert_eq!(all(&repo), before, "{what}");
            repo.remove(".git/aye/cache.sqlite");
            assert_eq!(all(&repo), before, "{what}, without a cache");
            repo.aye(&["doctor"]).lacks("lane_broken");
            repo.aye(&purge).ok();
            assert_eq!(all(&repo), before, "{what}");
            repo.aye(&["show", &id]).fails("proposal_purged", 3);
            assert!(!reachable(&repo).contains(SECRET), "{what}");
            repo.aye(&["doctor"]).ok();
            repo.aye(&["propose", "b", "--old", "b1", "--new", "more"]).ok();
            repo.git(&["fsck", "--strict", "--no-dangling"]);
        }
    }
}
