//! Repositories of other kinds, and the variables that git's callers set.

use std::path::Path;

use crate::support::Repo;

/// Proposes, undoes, rejects and commits, each seen by git too.
fn whole_cycle(repo: &Repo) {
    let id = repo.aye(&["propose", "f", "--old", "b", "--new", "B", "-q"]).ok().id();
    assert!(repo.git(&["show", &format!("refs/aye/pending/{id}")]).contains("+B"));
    repo.aye(&["diff", &id]).ok().says("+B");
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(repo.text("f"), "a\nB\nc\n");
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(repo.text("f"), "a\nb\nc\n");
    repo.aye(&["reject", &id, "--yes", "-m", "no"]).ok();
    let id = repo.aye(&["propose", "f", "--old", "c", "--new", "C", "-q"]).ok().id();
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    assert!(repo.git(&["show", "HEAD"]).contains(&format!("Proposal-Id: {id}")));
    repo.git(&["gc", "--quiet", "--prune=now"]);
    repo.aye(&["list", "--status", "all"]).ok().says("applied").says("rejected");
    repo.aye(&["doctor"]).ok();
    repo.git(&["fsck", "--strict"]);
}

#[test]
fn objects_named_by_sha_256() {
    let repo = Repo::sha256();
    repo.write("f", "a\nb\nc\n");
    repo.commit("Start");
    whole_cycle(&repo);
}

#[test]
fn binary_changes_by_sha_256_are_for_the_content_that_they_name() {
    let repo = Repo::sha256();
    repo.write("b", b"\0\x01\x02bin");
    repo.commit("Start");
    repo.write("b", b"\0\x01\x03bin");
    repo.write("new", b"\0new");
    let id = repo.aye(&["propose", "--worktree"]).ok().id();
    let projection = repo.text(&format!(".agent-memory/proposals/{id}/change.patch"));
    for args in [["diff", "--patch", &id], ["show", "--patch", &id]] {
        let printed = repo.aye(&args).ok().stdout;
        assert!(String::from_utf8_lossy(&printed).ends_with(&projection));
        repo.program("git").args(&["apply", "-"]).stdin(printed).run().ok();
        assert_eq!(repo.read("b"), b"\0\x01\x03bin");
        assert_eq!(repo.read("new"), b"\0new");
        repo.git(&["checkout", "-q", "b"]);
        repo.remove("new");
    }
    repo.write("b", b"\0OTHER");
    repo.aye_stdin(&["patch"], &projection).exits(5).says("binary_mismatch");
    assert_eq!(repo.read("b"), b"\0OTHER");
}

#[test]
fn a_shallow_clone() {
    let origin = Repo::with(&[("f", "a\nb\nc\n")]);
    origin.commit("Second");
    let clone = Repo::outside();
    let url = format!("file://{}", origin.root().display());
    clone.git(&["clone", "--quiet", "--depth", "1", &url, "."]);
    clone.git(&["config", "user.name", "n"]);
    clone.git(&["config", "user.email", "e@x"]);
    whole_cycle(&clone);
}

#[test]
fn a_partial_clone_gets_what_it_lacks_from_its_remote() {
    let origin = Repo::with(&[("f", "a\nb\nc\n")]);
    origin.write("f", "a\nB\nc\n");
    origin.commit("Upper case");
    origin.write("f", "a\nb\nc\n");
    origin.commit("Back");
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    origin.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let clone = Repo::outside();
    let url = format!("file://{}", origin.root().display());
    clone.git(&["clone", "--quiet", "--filter=blob:none", &url, "."]);
    clone.git(&["config", "user.name", "n"]);
    clone.git(&["config", "user.email", "e@x"]);
    clone.aye(&["propose", "--commit", "HEAD~1", "-q"]).ok();
    whole_cycle(&clone);
}

#[test]
fn formats_that_would_be_misread_are_refused_and_nothing_is_written() {
    // Refs that are not files: ours would be invisible to git, and `git gc` would delete them.
    let repo = Repo::with(&[("f", "a\n")]);
    let config = repo.text(".git/config");
    for (extension, code) in [
        ("refStorage = reftable", "refs_unsupported"),
        ("fromTheFuture = 1", "unsupported_repository"),
    ] {
        let format = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\t";
        repo.write(".git/config", format!("{config}{format}{extension}\n"));
        let before = repo.snapshot();
        let propose = ["propose", "f", "--old", "a", "--new", "b"];
        for args in [&["list"][..], &propose, &["init"], &["hooks", "install"]] {
            repo.aye(args).fails(code, 6).notes("hint:");
        }
        assert_eq!(repo.snapshot(), before);
        assert!(!Path::new(&repo.path(".git/aye")).exists());
    }
    repo.write(".git/config", format!("{config}[core]\n\trepositoryformatversion = 99\n"));
    repo.aye(&["list"]).fails("unsupported_repository", 6);
    let harmless = "preciousObjects = true\n\tworktreeConfig = true\n\tnoop = 1\n";
    let format = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\t";
    repo.write(".git/config", format!("{config}{format}{harmless}"));
    repo.aye(&["propose", "f", "--old", "a", "--new", "b"]).ok();
}

#[test]
fn a_work_tree_that_is_not_there_is_named() {
    let repo = Repo::with(&[("f", "a\n")]);
    repo.cmd(&["list"])
        .env("GIT_WORK_TREE", "/nowhere/at/all")
        .run()
        .fails("not_a_repository", 3)
        .notes("/nowhere/at/all");
}

#[test]
fn the_callers_own_index_is_the_one_that_is_staged_in() {
    let repo = Repo::with(&[("f", "a\n")]);
    let other = repo.outer().join("other-index");
    std::fs::copy(repo.path(".git/index"), &other).unwrap();
    let id = repo.aye(&["propose", "f", "--old", "a", "--new", "b", "-q"]).ok().id();
    repo.cmd(&["apply", &id, "--yes", "--index"]).env("GIT_INDEX_FILE", &other).run().ok();
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "");
    let diff = ["diff", "--cached", "--name-only"];
    let run = repo.program("git").args(&diff).env("GIT_INDEX_FILE", &other).run();
    assert_eq!(run.ok().out(), "f\n");
}

#[test]
fn a_shared_repository_stays_shared() {
    use std::os::unix::fs::PermissionsExt as _;
    let repo = Repo::with(&[("f", "a\n")]);
    repo.git(&["config", "core.sharedRepository", "group"]);
    let narrow = |args: &str| {
        let script = format!("umask 077; exec '{}' {args}", env!("CARGO_BIN_EXE_aye"));
        repo.program("sh").args(&["-c", &script]).run().ok()
    };
    let id = narrow("propose d/new --old '' --new x -q").id();
    narrow(&format!("apply {id} --yes"));
    narrow("list");
    let mut checked = 0;
    let mut directories = vec![repo.path(".git/aye"), repo.path(".git/refs/aye")];
    while let Some(directory) = directories.pop() {
        let mode = directory.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o070, 0o070, "{} is {mode:o}", directory.display());
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let mode = path.metadata().unwrap().permissions().mode();
            if path.is_dir() {
                directories.push(path);
            } else {
                assert_eq!(mode & 0o060, 0o060, "{} is {mode:o}", path.display());
                checked += 1;
            }
        }
    }
    assert!(checked >= 4, "{checked} files looked at");
    let event = repo.git(&["for-each-ref", "--format=%(objectname)", "refs/aye/p"]);
    let object = repo.path(&format!(".git/objects/{}/{}", &event[..2], &event[2..40]));
    assert_eq!(object.metadata().unwrap().permissions().mode() & 0o777, 0o440);
    // Files of the work tree are the user's own.
    assert_eq!(repo.mode("d/new") & 0o777, 0o600);
    assert_eq!(repo.mode("d") & 0o777, 0o700);
}

#[test]
fn a_bare_repository_takes_proposals_on_the_files_of_head() {
    let origin = Repo::with(&[("d/f", "a\nb\nc\n"), ("run", "#!/bin/sh\n")]);
    origin.chmod("run", 0o755);
    origin.symlink("d/f", "link");
    origin.commit("Modes");
    let bare = Repo::outside();
    bare.git(&["clone", "--quiet", "--bare", &origin.root().to_string_lossy(), "."]);
    let id = bare.aye(&["propose", "d/f", "--old", "b", "--new", "B", "-q"]).ok().id();
    assert!(bare.git(&["show", &format!("refs/aye/pending/{id}")]).contains("+B"));
    bare.aye(&["revise", &id, "d/f", "--old", "b", "--new", "BB"]).ok();
    bare.aye(&["diff", &id]).ok().says("+BB");
    let patch = "--- a/d/f\n+++ b/d/f\n@@ -1,3 +1,3 @@\n-a\n+A\n b\n c\n";
    bare.aye_stdin(&["propose", "--patch", "-"], patch).ok();
    let request = r##"{"action":"propose","file_path":"run","old_content":"#!/bin/sh","new_content":"#!/bin/bash"}"##;
    bare.aye(&["call", "changes", request]).ok();
    for (path, code) in
        [("d", "is_a_directory"), ("link", "symlink_in_way"), ("no", "file_not_found")]
    {
        let run = bare.aye(&["propose", path, "--old", "a", "--new", "b"]);
        assert!(run.status != 0 && run.err().contains(code), "{path}\n{run}");
    }
    bare.aye(&["apply", &bare.at_revision(&id), "--yes"]).fails("bare_repository", 4);
    bare.aye(&["reject", &id, "--yes", "-m", "no"]).ok();
    bare.aye(&["doctor"]).ok();
    bare.git(&["fsck", "--strict"]);
}

/// Some systems let a process have 256 files open; what waits for its flush is many more.
#[test]
fn more_files_than_a_process_may_have_open() {
    const FILES: usize = 400;
    let repo = Repo::with(&[("f", "one\n")]);
    // Converted files are flushed each, however many there are.
    repo.git(&["config", "core.autocrlf", "true"]);
    let fill = |text: &str| {
        for file in 0..FILES {
            repo.write(&format!("d{}/{file}", file % 60), format!("one\r\n{text} {file}\r\n"));
        }
    };
    let limited = |args: &[&str]| {
        let shell = repo.program("sh").args(&["-c", "ulimit -n 220; exec \"$@\"", "sh"]);
        shell.args(&[env!("CARGO_BIN_EXE_aye")]).args(args).run()
    };
    fill("before");
    repo.commit("Files");
    fill("after");
    repo.git(&["diff", "--output=../change.patch"]);

    let id = limited(&["propose", "--worktree", "-q"]).ok().id();
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    limited(&["apply", &id, "--yes", "--index"]).ok();
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]).lines().count(), FILES);
    limited(&["undo", &id, "--yes"]).ok();
    repo.git(&["reset", "--quiet"]);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    limited(&["patch", "../change.patch"]).ok();
    assert_eq!(repo.read("d0/0"), b"one\r\nafter 0\r\n");
    limited(&["patch", "-R", "../change.patch"]).ok();
    limited(&["apply", &id, "--yes", "--commit"]).ok();
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    repo.aye(&["doctor"]).ok();
    repo.git(&["fsck", "--strict"]);
}

/// Plain `git status` runs the program too; what only reads should not.
#[test]
fn reading_does_not_run_the_file_system_monitor() {
    let repo = Repo::with(&[("f", "a\n"), ("g", "a\n")]);
    let ran = repo.outer().join("ran");
    repo.script("../monitor", &format!("touch {}", ran.display()));
    let monitor = repo.outer().join("monitor");
    repo.git(&["config", "core.fsmonitor", &monitor.to_string_lossy()]);
    repo.git(&["status"]);
    assert!(ran.exists(), "git itself runs it");
    let quiet = |args: &[&str], status: i32| {
        let _ = std::fs::remove_file(&ran);
        repo.aye(args).exits(status);
        assert!(!ran.exists(), "{args:?} ran the monitor");
    };
    repo.write("f", "b\n");
    quiet(&["propose", "--keep", "-m", "x"], 0);
    let id = repo.aye(&["list", "--json"]).ok().id();
    quiet(&["try", &id, "--", "true"], 0);
    repo.write("f", "c\n");
    repo.git(&["add", "f"]);
    quiet(&["check", "--staged"], 0);
    quiet(&["memory", "init"], 0);
    quiet(&["memory", "lint"], 0);
}

/// Two files that differ in case alone, as one proposal.
const TWINS: &str = r#"{"edits":[{"file_path":"d/Read.me","old_content":"","new_content":"1\n"},
    {"file_path":"d/read.me","old_content":"","new_content":"2\n"}]}"#;

#[test]
fn files_that_differ_in_case_alone_are_refused_where_they_are_one_file() {
    let repo = Repo::with(&[("f", "f\n")]);
    let propose = || repo.aye_stdin(&["propose", "--from-json", "-"], TWINS);
    let id = propose().ok().id();
    repo.git(&["config", "core.ignoreCase", "true"]);
    repo.aye(&["apply", &id, "--yes"]).fails("path_invalid", 6);
    propose().fails("path_invalid", 6).notes("d/read.me");
    assert!(!repo.exists("d"));
    // Gone and there again under the other name: that is one file.
    repo.git(&["config", "core.ignoreCase", "false"]);
    repo.aye(&["apply", &id, "--yes"]).ok();
}

/// Git would put the content into the other file, or file it under the other directory.
#[test]
fn a_new_file_that_git_would_stage_under_another_name_is_not_written() {
    let repo = Repo::with(&[("Name", "a\n"), ("Dir/y", "y\n")]);
    repo.git(&["config", "core.ignoreCase", "true"]);
    let head = repo.git(&["rev-parse", "HEAD"]);
    for path in ["name", "dir/z"] {
        let id = repo.aye(&["propose", path, "--old", "", "--new", "z\n"]).ok().id();
        for effect in ["--commit", "--index"] {
            let run = repo.aye(&["apply", &id, "--yes", effect]).fails("path_invalid", 6);
            run.notes("core.ignoreCase");
        }
        assert!(!repo.exists(path), "nothing is written");
        repo.git(&["config", "core.ignoreCase", "false"]);
        repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
        repo.git(&["config", "core.ignoreCase", "true"]);
    }
    assert_eq!(repo.git(&["diff", "--name-only", head.trim(), "HEAD"]).trim(), "dir/z\nname");
}

/// Where the file system holds both, the proposal is taken, and says what becomes of it elsewhere.
#[test]
fn names_that_collide_elsewhere_are_a_warning() {
    let repo = Repo::with(&[("Old.md", "1\n"), ("caf\u{e9}", "1\n")]);
    let made = repo.aye_stdin(&["propose", "--from-json", "-", "--json"], TWINS).ok().json();
    assert_eq!(made["warnings"][0]["type"], "path_collision");
    let new = |path: &str| {
        let args = ["propose", path, "--old", "", "--new", "2\n", "--json"];
        repo.aye(&args).ok().json()["warnings"].clone()
    };
    let found = new("old.md");
    assert_eq!((&found[0]["type"], found[1].is_null()), (&"path_collision".into(), true));
    assert_eq!(found[0]["file_path"], "old.md");
    // As macOS once wrote names.
    assert_eq!(new("cafe\u{301}")[0]["type"], "path_collision");
    assert!(new("free.md").is_null());
    // A file that is renamed collides with nothing.
    let patch = "diff --git a/Old.md b/OLD.md\nsimilarity index 100%\nrename from Old.md\nrename to OLD.md\n";
    let run = repo.aye_stdin(&["propose", "--patch", "-", "--json"], patch).ok();
    assert!(run.json()["warnings"].is_null(), "{run}");
}

/// As in the shell that Codex gives its agent.
#[cfg(target_os = "linux")]
#[test]
fn a_git_directory_that_a_sandbox_keeps_is_named_with_a_way_out() {
    let repo = Repo::with(&[("f", "a\n")]);
    let inside = |command: &str| {
        let script = format!(
            "mount --bind .git .git && mount -o remount,ro,bind .git && exec {} {command}",
            env!("CARGO_BIN_EXE_aye")
        );
        repo.program("unshare").args(&["-rm", "sh", "-c", &script]).run()
    };
    if inside("--version").status != 0 {
        assert!(std::env::var_os("AYE_REQUIRE_SANDBOX").is_none(), "namespaces are needed");
        return;
    }
    // Its mode says so, or does not.
    for mode in [0o755, 0o555] {
        repo.chmod(".git", mode);
        for command in [
            "propose f --old a --new b",
            "call changes '{\"action\":\"propose\",\"file_path\":\"f\",\"old_content\":\"a\",\"new_content\":\"b\"}'",
        ] {
            let ended = inside(command).exits(4);
            let said = ended.out() + &ended.err();
            assert!(said.contains("read_only") && said.contains("mcp"), "{ended}");
        }
    }
    repo.chmod(".git", 0o755);
    inside("list").ok();
    assert_eq!(repo.text("f"), "a\n");
}
