//! `aye purge` stopped at every write step: whatever is there is whole, nothing else is lost, and the same
//! command goes on.

use crate::support::steps::{self, DELETE, STORE};
use crate::support::{Repo, clones, forger};

const SECRET: &str = "opensesame-4711";

/// Every further step at which it writes.
const PURGE: &[&str] = &[
    "purge.remembered", "purge.objects", "purge.moved", "purge.removed", "purge.pending",
    "purge.files",
];

fn reachable(repo: &Repo) -> String {
    let ids = repo.git(&["rev-list", "--objects", "--no-object-names", "--all"]) + "\n";
    repo.program("git").args(&["cat-file", "--batch"]).stdin(ids).run().ok().out()
}

/// A published proposal with the secret, so that both spaces have it, in a chunk of the ledger and fetched.
fn scene() -> (Repo, String) {
    let repo = Repo::with(&[("a", "a1\n"), ("b", "b1\n"), ("c", "c1\n")]);
    let propose = |path: &str, new: &str, more: &[&str]| {
        let old = format!("{path}1");
        let args = ["propose", path, "--old", &old, "--new", new, "-q"];
        repo.aye(&[&args[..], more].concat()).ok().id()
    };
    let id = propose("a", SECRET, &["--private"]);
    repo.aye(&["revise", "--public", &id, "--yes"]).ok();
    let thread = clones::thread(&repo, &id);
    let own = repo.git(&["rev-parse", &format!("refs/aye/p/{thread}")]);
    // Its pending commit has that of the other as its parent.
    propose("c", "new", &["--on", &id]);
    repo.aye(&["reject", &id, "--yes", "-m", SECRET]).ok();
    let other = propose("b", "new", &[]);
    repo.aye(&["reject", &other, "--yes"]).ok();
    repo.aye(&["doctor", "--gc"]).ok();
    // As it was fetched back from a remote.
    forger::fetched(&repo, &thread, &own);
    repo.git(&["pack-refs", "--all"]);
    (repo, id)
}

#[test]
fn a_purge_stopped_at_every_step_is_finished_by_the_next() {
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
    for point in STORE.iter().chain(PURGE).chain(DELETE) {
        for hit in 0.. {
            let repo = start.copy();
            let run =
                repo.cmd(&purge).env("FAILPOINTS", format!("{point}={hit}*off->return")).run();
            if run.status == 0 {
                assert!(hit > 0, "{point} is never reached");
                break;
            }
            let what = format!("{point} {hit}");
            run.exits(128 + 6);
            steps::unlock(&repo.path(".git"));
            // Purged or not, and nothing in between.
            let shown = repo.aye(&["show", &id]);
            assert!([0, 3].contains(&shown.status), "{what}: {shown}");
            assert_eq!(all(&repo), before, "{what}");
            for memo in ["open", "decided"] {
                let _ = std::fs::remove_file(repo.path(&format!(".git/aye/{memo}")));
            }
            assert_eq!(all(&repo), before, "{what}, without a memo");
            repo.aye(&["doctor"]).lacks("thread_damaged");
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
