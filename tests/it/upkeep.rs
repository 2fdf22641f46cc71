//! Loose objects are packed before git's automatic gc starts for them.

use crate::support::record::propose;
use crate::support::{Repo, until};

const STAMP: &str = ".git/aye/packing";

/// The number of loose objects that git's automatic gc goes by.
fn estimate(repo: &Repo) -> usize {
    std::fs::read_dir(repo.path(".git/objects/17")).map_or(0, Iterator::count)
}

/// Writes blobs until `count` of the loose objects have a name that begins with 17.
fn fill(repo: &Repo, count: usize) {
    for number in 0.. {
        if estimate(repo) >= count {
            return;
        }
        let names = (0..400).map(|part| format!("blob-{number}-{part}"));
        let names: Vec<String> = names.collect();
        for name in &names {
            repo.write(name, name);
        }
        let listed = names.join("\n");
        let hashes = repo.program("git").args(&["hash-object", "--stdin-paths"]);
        let hashes = hashes.stdin(&listed).run().ok().out();
        let mut wanted = hashes.lines().zip(&names).filter(|(hash, _)| hash.starts_with("17"));
        if let Some((_, name)) = wanted.next() {
            repo.git(&["hash-object", "-w", name]);
        }
        names.iter().for_each(|name| repo.remove(name));
    }
}

/// Waits for a pack of loose objects, whose maker nobody waits for.
fn wait_for_a_pack(repo: &Repo) {
    let packed = || {
        let names = std::fs::read_dir(repo.path(".git/objects/pack")).into_iter().flatten();
        let names = names.flatten().map(|entry| entry.file_name().into_encoded_bytes());
        names.into_iter().any(|name| name.starts_with(b"loose-") && name.ends_with(b".idx"))
    };
    until("a pack is made", || packed() && !repo.exists(".git/objects/maintenance.lock"));
}

fn loose(repo: &Repo) -> usize {
    let counts = repo.git(&["count-objects"]);
    counts.split(' ').next().and_then(|count| count.parse().ok()).expect("a number")
}

#[test]
fn at_half_of_what_git_waits_for_loose_objects_are_packed() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\n")]);
    // Git starts above 8 in that directory.
    repo.git(&["config", "gc.auto", "2048"]);
    repo.git(&["config", "gc.autoDetach", "false"]);
    let id = propose(&repo, "a.txt", "one", "eins");
    while estimate(&repo) < 4 {
        assert!(!repo.exists(STAMP), "started at {}", estimate(&repo));
        fill(&repo, estimate(&repo) + 1);
        let before = estimate(&repo);
        repo.aye(&["comment", &id, "-m", "more"]).ok();
        // What the command wrote may have been the one that was missing.
        assert_eq!(repo.exists(STAMP), estimate(&repo) > 4, "at {before}");
    }
    fill(&repo, 5);
    // Reading starts nothing.
    if !repo.exists(STAMP) {
        repo.aye(&["list"]).ok();
        repo.aye(&["show", &id]).ok();
        assert!(!repo.exists(STAMP));
        repo.aye(&["comment", &id, "-m", "over"]).ok();
    }
    assert!(repo.exists(STAMP));
    wait_for_a_pack(&repo);
    // The loose copies go with the next start, which comes some seconds later.
    let many = loose(&repo);
    repo.write(STAMP, "0\n");
    repo.aye(&["comment", &id, "-m", "and once more"]).ok();
    assert_ne!(repo.text(STAMP), "0\n");
    until("loose objects are gone", || loose(&repo) < many);
    repo.aye(&["doctor"]).ok();
    repo.git(&["fsck", "--strict"]);
    assert_eq!(repo.item(&id)["comments"].as_array().map(|c| c.len() > 2), Some(true));
}

#[test]
fn whoever_turns_gits_own_maintenance_off_gets_none() {
    for (key, value) in [("gc.auto", "0"), ("maintenance.auto", "false")] {
        let repo = Repo::with(&[("a.txt", "one\ntwo\n")]);
        repo.git(&["config", "gc.auto", "256"]);
        repo.git(&["config", key, value]);
        fill(&repo, 1);
        propose(&repo, "a.txt", "one", "eins");
        assert!(!repo.exists(STAMP), "{key}");
        repo.git(&["config", "--unset", key]);
        repo.git(&["config", "gc.auto", "256"]);
        propose(&repo, "a.txt", "two", "zwei");
        assert!(repo.exists(STAMP), "{key}");
        wait_for_a_pack(&repo);
    }
}

/// Git that is started for this must not keep the store's lock, nor let its caller wait.
#[test]
fn nobody_waits_for_git() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\n")]);
    repo.git(&["config", "gc.auto", "256"]);
    fill(&repo, 1);
    let real = repo.program("sh").args(&["-c", "command -v git"]).run().ok().out();
    let (started, go) = (repo.outer().join("started"), repo.outer().join("go"));
    let bin = repo.outer().join("bin");
    std::fs::create_dir(&bin).expect("a directory");
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' maintenance '*)\n  ls -l /proc/$$/fd >'{0}.new' 2>/dev/null; mv '{0}.new' '{0}'\n  \
         until [ -e '{1}' ]; do sleep 0.02; done;;\nesac\nexec {2} \"$@\"\n",
        started.display(),
        go.display(),
        real.trim()
    );
    std::fs::write(bin.join("git"), script).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join("git"), mode).expect("executable");
    let path = std::env::var("PATH").expect("PATH");
    let path = format!("{}:{path}", bin.display());
    // Its streams end, too: the run below waits for the end of both.
    let args = ["propose", "a.txt", "--old", "one", "--new", "eins"];
    let id = repo.cmd(&args).env("PATH", &path).run().ok().id();
    until("git is started", || started.exists());
    // Under way still; writers go on.
    assert!(!go.exists());
    repo.aye(&["comment", &id, "-m", "x"]).ok();
    let open = std::fs::read_to_string(&started).expect("descriptors");
    assert!(!open.contains("/aye/"), "{open}");
    std::fs::write(&go, "").expect("written");
    wait_for_a_pack(&repo);
}
