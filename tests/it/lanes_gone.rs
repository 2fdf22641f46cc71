//! Refs of this clone's own lanes that something else than aye has removed: what others said on them counts
//! still.

use crate::support::Repo;
use crate::support::clones::{clone, fetch, join, lane, push};

const CACHE: &str = ".git/aye/cache.sqlite";

fn propose(repo: &Repo, line: usize, flags: &[&str]) -> String {
    let (old, new) = (format!("line {line}\n"), format!("LINE {line}\n"));
    let args = ["propose", "f", "--old", &old, "--new", &new, "-q"];
    repo.aye(&[&args[..], flags].concat()).ok().id()
}

fn repository() -> Repo {
    let text: String = (0..60).map(|n| format!("line {n}\n")).collect();
    Repo::with(&[("f", text)])
}

/// All that a list says of all proposals.
fn list(repo: &Repo) -> serde_json::Value {
    repo.aye(&["list", "--status", "all", "--json"]).ok().json()
}

/// The only ref below `directory`, and where it is.
fn only_ref(repo: &Repo, directory: &str) -> (String, String) {
    let found = repo.git(&["for-each-ref", "--format=%(refname) %(objectname)", directory]);
    let (name, tip) = found.trim().split_once(' ').expect("one");
    (name.to_owned(), tip.to_owned())
}

#[test]
fn decisions_on_an_own_lane_count_by_a_copy_of_it() {
    for cached in [true, false] {
        let (repo, server) = (repository(), Repo::bare());
        let ids = [10, 20, 30].map(|line| propose(&repo, line, &[]));
        join(&repo, &server);
        repo.git(&["push", "-q", "origin", "main"]);
        push(&repo);
        let other = clone(&server);
        other.aye(&["reject", &ids[0], "--yes", "-m", "no"]).ok();
        other.aye(&["apply", &ids[1], "--yes"]).ok();
        push(&other);
        fetch(&repo);
        repo.aye(&["doctor"]).ok();
        let before = list(&repo);
        let (old, (name, tip)) = (lane(&repo), only_ref(&repo, "refs/aye/log"));

        let remove = || {
            repo.git(&["update-ref", "-d", &name]);
            if !cached {
                repo.remove(CACHE);
            }
        };
        remove();
        let hint = format!("git update-ref {name} {tip} ''");
        for args in [&["doctor"][..], &["doctor", "--repair"], &["doctor"]] {
            let run = repo.aye(args).exits(1).says("lane_rewound").says(&hint);
            run.lacks("event_rejected").lacks("cache_tampered");
            assert_eq!(list(&repo), before);
        }
        repo.aye(&["reject", &ids[0], "--yes"]).fails("not_pending", 5);
        // As it says.
        repo.program("sh").args(&["-c", &hint]).run().ok();
        assert_eq!(lane(&repo), old);
        repo.aye(&["doctor", "--repair"]).ok().lacks("histories");
        assert_eq!(list(&repo), before);

        // Whoever writes before that says it in another lane, and not in the place of what others have.
        remove();
        let new = propose(&repo, 40, &[]);
        assert_ne!(lane(&repo), old);
        let written = list(&repo);
        assert_eq!(written["proposals"].as_array().map(Vec::len), Some(4));
        repo.git(&["update-ref", &name, &tip, ""]);
        repo.aye(&["doctor", "--repair"]).ok().lacks("histories");
        assert_eq!(list(&repo), written);
        repo.aye(&["reject", &new, &ids[2], "--yes"]).ok();
        push(&repo);
        fetch(&other);
        repo.remove(CACHE);
        for repo in [&repo, &other] {
            repo.aye(&["doctor"]).ok().lacks("histories");
            repo.aye(&["list"]).ok().lacks(&new).lacks(&ids[2]);
        }
    }
}

/// A ref goes between the look at its directory and the one at its file.
#[test]
fn a_ref_that_has_gone_meanwhile_is_not_unreadable() {
    let repo = repository();
    propose(&repo, 10, &[]);
    let (_, tip) = only_ref(&repo, "refs/aye/pending");
    let files: Vec<_> =
        (0..400).map(|n| repo.path(&format!(".git/refs/aye/pending/aye-{n:012}"))).collect();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                for file in &files {
                    let lock = file.with_extension("lock");
                    std::fs::write(&lock, format!("{tip}\n")).expect("written");
                    std::fs::rename(&lock, file).expect("named");
                }
                for file in &files {
                    let _ = std::fs::remove_file(file);
                }
            }
        });
        for _ in 0..30 {
            let run = repo.aye(&["doctor"]);
            let is_found = run.out().contains("object id");
            if is_found {
                done.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            assert!(!is_found, "{run}");
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
