//! `aye doctor`: what it finds, and what a repair rebuilds or sets aside.

use crate::support::Repo;
use crate::support::clones::{exchange, name, thread};

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

fn id_of(repo: &Repo, name: &str) -> String {
    repo.git(&["rev-parse", name]).trim().to_owned()
}

/// Eight pending proposals, on one file that has not changed since; the ref of the first, which has a
/// second event.
fn eight() -> (Repo, String, Vec<String>) {
    let text: String = (0..40).map(|n| format!("line {n}\n")).collect();
    let repo = Repo::with(&[("f", text)]);
    let propose = |n: usize| {
        let (old, new) = (format!("line {n}\n"), format!("LINE {n}\n"));
        repo.aye(&["propose", "f", "--old", &old, "--new", &new, "-q"]).ok().id()
    };
    let ids: Vec<String> = (10..18).map(propose).collect();
    repo.aye(&["comment", &ids[0], "-m", "hm"]).ok();
    let own = format!("refs/aye/p/{}", thread(&repo, &ids[0]));
    (repo, own, ids)
}

fn has_all(repo: &Repo, ids: &[String]) {
    let list = repo.aye(&["list", "--limit", "100", "--json"]).ok().json();
    let items = list["proposals"].as_array().expect("a list");
    for id in ids {
        assert!(items.iter().any(|item| item["proposal_id"] == id.as_str()), "{id}: {list:#}");
    }
}

/// Deletes what can be rebuilt.
fn forget(repo: &Repo) {
    for memo in ["open", "decided"] {
        let _ = std::fs::remove_file(repo.path(&format!(".git/aye/{memo}")));
    }
}

const DAMAGE: [&str; 3] = ["thread_damaged", "thread_incomplete", "object_missing"];

#[test]
fn any_one_damaged_object_of_a_thread_is_named() {
    let (template, own, ids) = eight();
    let what = ["", "~1", "~1^{tree}", "~1:after", "~1:before/f", "~1:after/f"];
    for (number, name) in what.iter().enumerate() {
        let (repo, how) = (template.copy(), EVERY[number % 4]);
        let object = id_of(&repo, &format!("{own}{name}"));
        damage(&repo, &object, how);
        if number % 2 == 0 {
            forget(&repo);
        }
        // The cuts of a file's content are found by reading it.
        let args: &[&str] = match how {
            How::Empty | How::Missing => &["doctor", "--json"],
            How::Cut | How::Flipped => &["doctor", "--full", "--json"],
        };
        let found = repo.aye(args).exits(1).json();
        let mut problems = found["problems"].as_array().expect("problems").iter();
        let names = |problem: &&serde_json::Value| {
            let message = problem["message"].as_str().expect("a message");
            message.contains(&object) || message.contains(&object[..12])
        };
        let problem = problems.find(names).unwrap_or_else(|| panic!("{name}: {found:#}"));
        let code = problem["code"].as_str().expect("a code");
        assert!(DAMAGE.contains(&code), "{name}: {code}");
        // Nobody else's proposal is touched by it, unless it was made on the same file.
        has_all(&repo, &ids[1..]);
        if !name.contains("before") {
            repo.aye(&["apply", &ids[1], "--yes"]).ok();
        }
    }
}

/// Nothing is decided on part of a thread, and nothing is deleted: with the object in its place again
/// the thread is what it was.
#[test]
fn a_damaged_own_thread_is_refused_until_the_object_is_back() {
    for name in ["", "~1"] {
        let (repo, own, ids) = eight();
        let (tip, object) = (id_of(&repo, &own), id_of(&repo, &format!("{own}{name}")));
        let file = format!(".git/objects/{}/{}", &object[..2], &object[2..]);
        let bytes = repo.read(&file);
        damage(&repo, &object, How::Missing);
        for args in
            [&["show", &ids[0]][..], &["apply", &ids[0], "--yes"], &["comment", &ids[0], "-m", "x"]]
        {
            let run = repo.aye(args);
            let is_named = DAMAGE.iter().any(|code| run.err().contains(&format!("[{code}]")));
            assert!(run.status != 0 && is_named, "{run}");
        }
        repo.aye(&["doctor", "--repair"]);
        assert_eq!(repo.text(&format!(".git/{own}")).trim(), tip, "a repair deletes no ref");
        has_all(&repo, &ids[1..]);
        repo.write(&file, bytes);
        has_all(&repo, &ids);
        repo.aye(&["doctor", "--full"]).ok();
    }
}

#[test]
fn a_damaged_fetched_thread_counts_once_it_is_fetched_again() {
    let (other, own, ids) = eight();
    let repo = Repo::with(&[("g", "x\n")]);
    exchange(&repo, &other);
    has_all(&repo, &ids);
    let there = format!("remotes/origin/{}", name(&other).expect("a name"));
    let fetched = own.replace("refs/aye/p", &format!("refs/aye/{there}"));
    let object = id_of(&repo, &format!("{fetched}~1"));
    damage(&repo, &object, How::Missing);
    forget(&repo);
    has_all(&repo, &ids[1..]);
    repo.aye(&["doctor"]).exits(1);
    let refs = format!("+refs/aye/p/*:refs/aye/{there}/*");
    repo.git(&["fetch", "-q", "--refetch", &other.root().to_string_lossy(), &refs]);
    has_all(&repo, &ids);
    repo.aye(&["doctor", "--full"]).ok();
}

/// Content that a decision names can be fetched again, or the thread is purged.
#[test]
fn a_missing_manifest_has_a_way_out() {
    let (template, own, ids) = eight();
    template.aye(&["apply", &ids[0], "--yes"]).ok();
    let manifest = id_of(&template, &format!("{own}:manifest"));
    let remote = template.outer().join("remote.git").to_str().expect("a path").to_owned();
    template.git(&["init", "--quiet", "--bare", &remote]);
    template.git(&["push", "--quiet", &remote, "refs/aye/p/*:refs/aye/by/x/*"]);
    damage(&template, &manifest, How::Missing);
    let found = template.aye(&["doctor", "--json"]).exits(1).json();
    let problem = &found["problems"][0];
    assert!(DAMAGE.iter().any(|code| problem["code"] == *code), "{found:#}");
    let repo = template.copy();
    repo.git(&["fetch", "--quiet", "--refetch", &remote, &own.replace("/p/", "/by/x/")]);
    assert_eq!(repo.item(&ids[0])["status"], "applied");
    repo.aye(&["doctor", "--full"]).ok();
    template.aye(&["purge", &ids[0], "-m", "damaged", "--yes"]).ok();
    template.aye(&["doctor", "--full"]).ok();
    has_all(&template, &ids[1..]);
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

#[test]
fn a_default_remote_that_there_is_not_is_named() {
    let repo = Repo::new();
    repo.git(&["remote", "add", "origin", "https://example.com/x"]);
    repo.aye(&["doctor"]).ok().lacks("aye.syncRemote");
    repo.git(&["config", "aye.syncRemote", "upstream"]);
    repo.aye(&["doctor"]).ok().says("aye.syncRemote").says("upstream");
    repo.git(&["config", "aye.syncRemote", "origin"]);
    repo.aye(&["doctor"]).ok().lacks("aye.syncRemote");
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
    assert_eq!(repo.text(".git/aye/lock"), thread(&repo, &first));
    repo.remove(pending);
    let second = propose("b.txt");
    assert!(refs().contains(&first) && refs().contains(&second), "{}", refs());
    assert_eq!(repo.text(".git/aye/lock"), "");
    repo.aye(&["doctor"]).ok();
    // So is one that could not be removed.
    repo.git(&["pack-refs", "--all"]);
    repo.write(".git/packed-refs.lock", "");
    repo.aye(&["reject", &first, "--yes"]).ok();
    assert_eq!(repo.text(".git/aye/lock"), thread(&repo, &first));
    repo.remove(".git/packed-refs.lock");
    repo.aye(&["comment", &second, "-m", "hm"]).ok();
    assert_eq!(refs(), second);
    repo.aye(&["doctor"]).ok();
}

/// One directory below `objects/` is another user's, as after a `sudo git fetch`.
#[test]
fn an_object_directory_of_somebody_else_stops_a_write_that_needs_it() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let (repo, own, ids) = eight();
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
    let tip = repo.git(&["-c", "safe.directory=*", "rev-parse", &own]);
    let before = run(&["list", "--status", "all", "--json"]).ok().out();
    let propose = ["propose", "f", "--content-file", "content"];
    run(&propose).fails("read_only", 4).notes(fan.to_str().expect("UTF-8"));
    run(&["doctor"]).exits(1).says("not_writable").says(fan.to_str().expect("UTF-8"));
    // Nothing is recorded and nothing left.
    assert_eq!(repo.git(&["-c", "safe.directory=*", "rev-parse", &own]), tip);
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

#[test]
fn changed_refs_and_projections_are_found() {
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
    let codes = ["thread_damaged", "content_differs", "revised_meanwhile", "remote_password"];
    codes.iter().fold(page, |page, code| page.says(code));
}

/// Events hold what a file was before a proposal, also where the history has lost it.
#[test]
fn content_of_a_rewritten_history_is_named() {
    let repo = Repo::with(&[("f", "one\n")]);
    repo.write("conf.txt", "token=1\n");
    let base = repo.commit("Configuration");
    let id =
        repo.agent("codex", &["propose", "conf.txt", "--old", "1", "--new", "2", "-q"]).ok().id();
    let f = repo.agent("codex", &["propose", "f", "--old", "one", "--new", "two", "-q"]).ok().id();
    let said = || {
        let run = repo.aye(&["doctor"]).ok();
        run.out() + &run.err()
    };
    assert!(!said().contains("purge"), "{}", said());
    // As a filter leaves it: other commits, without the file; what is in them is compared, too.
    let tree = repo.git(&["rev-parse", "HEAD~1^{tree}"]);
    let other = repo.git(&["commit-tree", &tree, "-m", "Start again"]);
    repo.git(&["update-ref", "refs/heads/main", &other]);
    let text = said();
    assert!(text.contains(&format!("aye purge {id}")) && text.contains("conf.txt"), "{text}");
    assert!(!text.contains(&f), "{text}");
    // While any branch has it, nothing is lost.
    repo.git(&["branch", "old", &base]);
    assert!(!said().contains("purge"));
    repo.git(&["branch", "-q", "-D", "old"]);
    repo.git(&["reset", "-q", "--hard"]);
    repo.aye(&["purge", &id, "-m", "a key", "--yes"]).ok();
    assert!(!said().contains("conf.txt"), "{}", said());
}
