//! Bad input: a stable code, the right exit status, and nothing changed.

use crate::support::Repo;
use crate::support::clones::short;
use crate::support::forger::{self, Forged};

#[test]
fn paths_that_must_not_be_written_are_refused() {
    let repo = Repo::with(&[("dir/f", "a\n")]);
    repo.symlink("dir", "link");
    repo.symlink("dir/f", "file-link");
    let before = repo.snapshot();
    for (path, code) in [
        ("/etc/passwd", "path_invalid"),
        ("../x", "path_invalid"),
        ("dir/../../x", "path_invalid"),
        ("", "path_invalid"),
        ("C:\\x", "path_invalid"),
        (".git/config", "path_in_git_dir"),
        (".GIT/config", "path_in_git_dir"),
        ("dir/.git/config", "path_in_git_dir"),
        ("git~1/config", "path_in_git_dir"),
        (".git./config", "path_in_git_dir"),
        (".git::$INDEX_ALLOCATION/config", "path_in_git_dir"),
        (".g\u{200d}it/config", "path_in_git_dir"),
        ("link/new", "symlink_in_way"),
        ("link/f", "symlink_in_way"),
        ("file-link", "symlink_in_way"),
        (".agent-memory/proposals/x/change.patch", "path_invalid"),
        (".agent-memory/staging/x", "path_invalid"),
    ] {
        repo.aye(&["propose", path, "--old", "", "--new", "x"]).fails(code, 6);
    }
    assert_eq!(repo.snapshot(), before);
    assert_eq!(repo.git(&["for-each-ref", "refs/aye"]), "");
}

#[test]
fn a_directory_that_is_not_there_is_named_so() {
    let repo = Repo::with(&[("dir/f", "a\n")]);
    for args in [
        &["propose", "--keep", "nowhere/", "--since", "HEAD"][..],
        &["propose", "nowhere/", "--old", "a", "--new", "b"],
        &["blame", "dir/nowhere/"],
        &["check", "--paths", "nowhere/"],
    ] {
        let named = args.iter().find(|arg| arg.ends_with('/')).expect("one");
        repo.aye(args).fails("path_invalid", 6).notes(named);
    }
    repo.aye(&["propose", "../x/", "--old", "", "--new", "b"]).fails("path_invalid", 6);
    repo.aye(&["propose", ".git/x/", "--old", "", "--new", "b"]).fails("path_in_git_dir", 6);
    repo.aye(&["propose", "dir/", "--old", "a", "--new", "b"]).fails("is_a_directory", 6);
    let edit = r#"{"action":"propose","file_path":"nowhere/","old_content":"","new_content":"b"}"#;
    repo.aye(&["call", "changes", edit]).exits(6).says("path_invalid");
}

#[test]
fn places_that_are_no_repository() {
    let outside = Repo::outside();
    outside.aye(&["list"]).fails("not_a_repository", 3);
    outside.aye(&["list", "--json"]).fails("not_a_repository", 3);
    outside.aye(&["-C", "/nonexistent", "list"]).fails("not_a_repository", 3);
    let bare = Repo::bare();
    let id = bare.aye(&["propose", "f", "--old", "", "--new", "x", "-q"]).ok().id();
    bare.aye(&["apply", &id, "--yes"]).fails("bare_repository", 4);
    bare.aye(&["init"]).fails("bare_repository", 4);
    bare.aye(&["list"]).ok().says(&id);
}

#[test]
fn a_new_file_beneath_a_file_is_refused_unless_that_one_goes() {
    let repo = Repo::with(&[("f", "a\n")]);
    repo.aye(&["propose", "f/x", "--old", "", "--new", "n"])
        .fails("not_a_directory", 6)
        .notes("f/x");
    repo.aye_stdin(&["patch", "-"], "*** Begin Patch\n*** Add File: f/x\n+n\n*** End Patch\n")
        .exits(6)
        .says("not_a_directory");
    let request = r#"{"action":"propose","file_path":"f/x","old_content":"","new_content":"n"}"#;
    repo.aye(&["call", "changes", request]).fails("not_a_directory", 6);
    // The file came after the proposal: the dry run says so, as the apply does.
    let id = repo.aye(&["propose", "g/x", "--old", "", "--new", "n", "-q"]).ok().id();
    repo.write("g", "in the way\n");
    repo.aye(&["apply", &id, "--dry-run"]).fails("not_a_directory", 6);
    repo.aye(&["apply", &id, "--yes"]).fails("not_a_directory", 6);
    let edits = r#"[{"file_path":"f","delete":true},{"file_path":"f/x","content":"n"}]"#;
    let id = repo.aye_stdin(&["propose", "--from-json", "-", "-q"], edits).ok().id();
    repo.aye(&["apply", &id, "--dry-run"]).ok();
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(repo.text("f/x"), "n");
}

/// A proposal of another clone, with these changes.
fn fetched(repo: &Repo, changes: serde_json::Value) -> String {
    let data = serde_json::json!({
        "changes": changes, "expires_at": "2099-01-01T00:00:00.000Z", "form": "snippet",
        "proposed_by": "Mallory", "subject": "code",
    });
    let first = Forged::event("propose", data).write(repo);
    forger::fetched(repo, &first, &first);
    short(&first)
}

#[test]
fn one_unreadable_proposal_does_not_hide_the_others() {
    let missing =
        serde_json::json!({ "id": "1".repeat(40), "mode": "100644", "sha256": "1".repeat(64) });
    for (changes, code) in [
        (serde_json::json!([{ "path": "n", "after": missing }]), "thread_damaged"),
        (serde_json::json!([{ "path": "n" }]), "no_change"),
    ] {
        let repo = Repo::with(&[("f", "a\n")]);
        let good = repo.aye(&["propose", "f", "--old", "a", "--new", "b", "-q"]).ok().id();
        let bad = fetched(&repo, changes);
        repo.aye(&["apply", &bad, "--yes"]).fails(code, 6);
        repo.aye(&["apply", &bad, "--yes", "--mark-only"]).fails(code, 6);
        repo.aye(&["list"]).ok().says(&good).says(&bad);
        repo.aye(&["check", "--fail-on", "any"]).exits(1).says(&good[..9]).says(&bad[..9]);
        let list = repo.aye(&["call", "changes", r#"{"action":"list"}"#]).ok().json();
        assert_eq!(list["count"], 2, "{list}");
        if code == "thread_damaged" {
            let marked = format!(r#"{{"action":"apply","proposal_id":"{bad}"}}"#);
            repo.aye(&["call", "changes", &marked]).fails("object_missing", 6);
            let item = &list["proposals"][1];
            assert_eq!(item["id"], *bad);
            assert!(item["unreadable"].as_str().unwrap().contains("1111"), "{item}");
        }
        // A repair mends the rest and says what remains.
        std::fs::remove_dir_all(repo.path(".agent-memory/proposals")).unwrap();
        repo.aye(&["doctor", "--repair"]).exits(1).says(code).says(&format!("aye reject {bad}"));
        assert!(repo.exists(&format!(".agent-memory/proposals/{good}/change.patch")));
        repo.aye(&["reject", &bad, "--yes", "-m", "damaged"]).ok();
        repo.aye(&["doctor"]).ok();
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure_that_is_told() {
    let repo = Repo::with(&[("f", "a\n")]);
    repo.aye(&["propose", "f", "--old", "a", "--new", "b"]).ok();
    for args in
        ["--help", "--version", "help", "list", "list --json", "show nothing --yaml", "lst --json"]
    {
        let script = format!("exec '{}' {args} > /dev/full", env!("CARGO_BIN_EXE_aye"));
        let run = repo.program("sh").args(&["-c", &script]).run();
        assert!(run.status != 0 && run.err().contains("error["), "{args}\n{run}");
    }
}

#[test]
fn what_was_recorded_is_answered_for_though_there_is_no_memo() {
    let repo = Repo::with(&[("f", "a\n")]);
    // A directory in its place cannot be opened, and not be removed as a file either.
    std::fs::create_dir_all(repo.path(".git/aye/open")).unwrap();
    let id = repo.aye(&["propose", "f", "--old", "a", "--new", "b", "-q"]).ok().id();
    repo.aye(&["list"]).ok().says(&id);
    assert!(repo.exists(&format!(".agent-memory/proposals/{id}/proposal.yaml")));
    repo.aye(&["apply", &id, "--yes"]).ok();
}

#[test]
fn files_over_the_limit_are_refused() {
    let repo = Repo::with(&[("big", "a".repeat(2000))]);
    repo.git(&["config", "aye.maxFileSize", "1k"]);
    let run = repo.aye(&["propose", "big", "--old", "a", "--new", "b"]);
    run.fails("size_limit_exceeded", 6).notes("aye.maxFileSize 50m");
    let file = std::fs::File::create(repo.path("huge")).expect("a file");
    file.set_len(200_000_000).expect("a sparse file");
    for args in [&["--worktree"][..], &["new", "--content-file"]] {
        let run = repo.aye(&[&["propose"], args, &["huge"]].concat());
        run.fails("size_limit_exceeded", 6).notes("aye.maxFileSize 200m");
    }
    repo.aye_stdin(&["propose", "new", "--content-file", "-"], "b".repeat(2000))
        .fails("size_limit_exceeded", 6);
    repo.git(&["config", "aye.maxFileSize", "lots"]);
    repo.aye(&["propose", "big", "--old", "a", "--new", "b"]).fails("invalid_config", 2);
}

#[test]
fn text_is_not_matched_in_binary_files() {
    let repo = Repo::with(&[("b", b"a\0b".as_slice())]);
    repo.aye(&["propose", "b", "--old", "a", "--new", "c"]).fails("binary_content", 6);
}

#[test]
fn ids_that_name_nothing_or_too_much() {
    let repo = Repo::with(&[("f", "a b c\n")]);
    repo.aye(&["show", "prop_zzzz"]).fails("proposal_not_found", 3);
    repo.aye(&["show", "!"]).fails("invalid_id", 6);
    for (old, new) in [("a", "<a>"), ("b", "<b>"), ("c", "<c>")] {
        let id = repo.aye(&["propose", "f", "--old", old, "--new", new]).ok().id();
        // One character is not enough to name anything.
        repo.aye(&["show", &id[5..6]]).fails("invalid_id", 6);
    }
    for item in repo.aye(&["list", "--json"]).ok().json()["proposals"].as_array().unwrap() {
        let short = item["short_id"].as_str().unwrap();
        let found = repo.aye(&["show", "--json", short]).ok().json();
        assert_eq!(found["proposal_id"], item["proposal_id"]);
    }
}

#[test]
fn a_proposals_text_never_reaches_the_terminal_raw() {
    let hostile = "a\u{1b}[2J\u{202e}b\u{9b}31m\u{200b}\r\u{7}";
    // A description with control characters is refused.
    let description: String = hostile.chars().filter(|c| !c.is_control()).collect();
    let repo = Repo::with(&[("f", "a\n")]);
    let id = repo
        .aye(&[
            "propose", "f", "--old", "a", "--new", hostile, "-m", &description, "--domain",
            hostile, "--task", hostile, "--by", hostile,
        ])
        .ok()
        .id();
    repo.aye(&["comment", &id, "-m", hostile]).ok();
    for args in [
        vec!["list"],
        vec!["show", &id],
        vec!["show", &id, "--comments"],
        vec!["diff", &id],
        vec!["log"],
        vec!["diff", &id, "--stat"],
        vec!["diff", &id, "--word-diff"],
        vec!["doctor"],
    ] {
        let formats = [&[][..], &["--json"], &["--yaml"]];
        for run in formats.map(|format| repo.aye(&[&args[..], format].concat()).ok().plain()) {
            for raw in ['\u{202e}', '\u{200b}', '\u{9b}'] {
                assert!(!run.out().contains(raw), "{args:?} let {raw:?} through\n{run}");
            }
        }
    }
    let call = ["call", "changes", "{\"action\":\"list\"}", "--yaml"];
    repo.aye(&call).ok().plain().says("\\u202e").lacks("\u{202e}");
    let path = "x\u{1b}[2J\u{202e}y";
    repo.aye(&["propose", path, "--old", "", "--new", "n\n"]).fails("path_invalid", 6).plain();
    // Git may have it already.
    repo.write(path, "o\n");
    repo.commit("Add a name that drives terminals");
    repo.aye(&["propose", path, "--old", "o", "--new", "n"]).ok().plain();
    repo.aye(&["list"]).ok().plain();
    repo.aye(&["propose", path, "--old", "zz", "--new", "n\n"]).plain();
}

#[test]
fn bytes_that_are_no_text_are_refused_as_text() {
    use std::os::unix::ffi::OsStrExt as _;
    let repo = Repo::with(&[("f", "a\n")]);
    let bad = std::ffi::OsStr::from_bytes(b"\xff");
    let args: Vec<&std::ffi::OsStr> =
        ["propose", "f", "--old", "a", "--new", "b", "-m"].map(std::ffi::OsStr::new).to_vec();
    let run = repo.aye(&[args, vec![bad]].concat());
    assert!(matches!(run.status, 2 | 6), "{run}");
    assert_eq!(repo.git(&["for-each-ref", "refs/aye"]), "");
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let repo = Repo::with(&[("f", "a\n")]);
    // A file where the store's directory belongs: fails even for root, whom modes do not stop.
    std::fs::write(repo.path(".git/aye"), "in the way").unwrap();
    let run = repo.aye(&["propose", "f", "--old", "a", "--new", "b"]);
    assert!(run.status != 0 && run.err().contains("error["), "{run}");
    assert!(!run.err().contains("panicked"), "{run}");
    assert_eq!(repo.git(&["for-each-ref", "refs/aye"]), "");
}

/// Whoever lists names line by line would read two.
#[test]
fn a_new_name_with_a_control_character_is_refused() {
    let repo = Repo::with(&[("a.txt", "a\n"), ("odd\tname", "one\n")]);
    let new = "--- /dev/null\n+++ \"b/x\\ny\"\n@@ -0,0 +1 @@\n+z\n";
    repo.aye_stdin(&["patch"], new).fails("path_invalid", 6);
    repo.aye_stdin(&["propose", "--patch", "-"], new).fails("path_invalid", 6);
    let moved = "diff --git a/a.txt \"b/a\\033[2J\"\nsimilarity index 100%\nrename from a.txt\nrename to \"a\\033[2J\"\n";
    repo.aye_stdin(&["patch"], moved).fails("path_invalid", 6);
    repo.aye(&["propose", "x\ty", "--old", "", "--new", "z"]).fails("path_invalid", 6);
    // Those after ASCII, which a terminal may obey as well: next line, control sequence introducer.
    for (name, quoted) in [("x\u{85}y", "x\\302\\205y"), ("x\u{9b}2J", "x\\302\\2332J")] {
        repo.aye(&["propose", name, "--old", "", "--new", "z"]).fails("path_invalid", 6);
        let new = format!("--- /dev/null\n+++ \"b/{quoted}\"\n@@ -0,0 +1 @@\n+z\n");
        repo.aye_stdin(&["patch"], &new).fails("path_invalid", 6);
        repo.aye_stdin(&["propose", "--patch", "-"], &new).fails("path_invalid", 6);
        let request = serde_json::json!({
            "action": "propose", "file_path": name, "old_content": "", "new_content": "z\n",
        });
        repo.aye(&["call", "changes", &request.to_string()]).fails("path_invalid", 6);
        let patch = format!("*** Begin Patch\n*** Add File: {name}\n+z\n*** End Patch\n");
        let request = serde_json::json!({ "patch": patch }).to_string();
        repo.aye(&["call", "apply_patch", &request]).exits(6).says("path_invalid");
        repo.write(name, "z\n");
        repo.aye(&["propose", "--worktree", "-m", "x"]).fails("path_invalid", 6);
        assert!(repo.exists(name), "it is not put back");
        std::fs::remove_file(repo.path(name)).expect("the file");
    }
    assert_eq!(repo.aye(&["list", "--json"]).ok().json()["proposals"].as_array().unwrap().len(), 0);
    assert!(repo.exists("a.txt"));
    // One that is there already can be changed.
    let change = "--- \"a/odd\\tname\"\n+++ \"b/odd\\tname\"\n@@ -1 +1 @@\n-one\n+two\n";
    repo.aye_stdin(&["patch"], change).ok();
    assert_eq!(repo.text("odd\tname"), "two\n");
}

/// The parser would look at every open bracket for each token.
#[test]
fn deep_yaml_is_refused_before_it_is_parsed() {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    repo.aye(&["memory", "init"]).ok();
    for text in ["[".repeat(100_000), format!("x: {}", "{a: [".repeat(20_000))] {
        repo.write(".agent-memory/meta/manifest.yaml", text);
        let run = repo.aye(&["memory", "status"]);
        assert!(run.err().contains("brackets"), "{run}");
    }
}
