//! Bad input: a stable code, the right exit status, and nothing changed.

mod support;

use support::Repo;

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
    ] {
        repo.aye(&["propose", path, "--old", "", "--new", "x"]).fails(code, 6);
    }
    assert_eq!(repo.snapshot(), before);
    assert_eq!(repo.git(&["for-each-ref", "refs/aye"]), "");
}

#[test]
fn places_that_are_no_repository() {
    let outside = Repo::outside();
    outside.aye(&["list"]).fails("not_a_repository", 3);
    outside.aye(&["list", "--json"]).fails("not_a_repository", 3);
    outside.aye(&["-C", "/nonexistent", "list"]).fails("not_a_repository", 3);
    let bare = Repo::bare();
    bare.aye(&["propose", "f", "--old", "", "--new", "x"]).fails("bare_repository", 4);
    bare.aye(&["list"]).ok();
}

#[test]
fn a_repository_of_another_format_is_named() {
    let repo = Repo::sha256();
    let run = repo.aye(&["list"]);
    assert!(run.status != 70 && !run.err().contains("panicked"), "{run}");
}

#[test]
fn files_over_the_limit_are_refused() {
    let repo = Repo::with(&[("big", "a".repeat(2000))]);
    repo.git(&["config", "aye.maxFileSize", "1k"]);
    repo.aye(&["propose", "big", "--old", "a", "--new", "b"]).fails("size_limit_exceeded", 6);
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
    let repo = Repo::with(&[("f", "abcdefghijklmnopqrstuvwxyz0123456789 ABCDEFGHIJKLMNOP\n")]);
    repo.aye(&["show", "prop_zzzz"]).fails("proposal_not_found", 3);
    repo.aye(&["show", "!"]).fails("invalid_id", 6);
    // 33 proposals and 32 first characters: two ids share one.
    let mut ids: Vec<String> = Vec::new();
    for c in "abcdefghijklmnopqrstuvwxyz0123456".chars() {
        let (old, new) = (c.to_string(), format!("<{c}>"));
        ids.push(repo.aye(&["propose", "f", "--old", &old, "--new", &new]).ok().id());
    }
    let first = |id: &String| id.as_bytes()[5];
    let shared = ids
        .iter()
        .map(first)
        .find(|c| ids.iter().filter(|id| first(id) == *c).count() > 1)
        .map(|c| (c as char).to_string())
        .unwrap();
    repo.aye(&["show", &shared]).fails("ambiguous_id", 2);
    for item in repo.aye(&["list", "--json"]).ok().json()["proposals"].as_array().unwrap() {
        let short = item["short_id"].as_str().unwrap();
        let found = repo.aye(&["show", "--json", short]).ok().json();
        assert_eq!(found["proposal_id"], item["proposal_id"]);
    }
}

#[test]
fn a_proposals_text_never_reaches_the_terminal_raw() {
    let hostile = "a\u{1b}[2J\u{202e}b\u{9b}31m\u{200b}\r\u{7}";
    let repo = Repo::with(&[("f", "a\n")]);
    let id = repo
        .aye(&[
            "propose", "f", "--old", "a", "--new", hostile, "-m", hostile, "--domain", hostile,
            "--task", hostile, "--by", hostile,
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
        let run = repo.aye(&args).ok().plain();
        for raw in ['\u{202e}', '\u{200b}'] {
            assert!(!run.out().contains(raw), "{args:?} let {raw:?} through\n{run}");
        }
    }
    let path = "x\u{1b}[2J\u{202e}y";
    repo.aye(&["propose", path, "--old", "", "--new", "n\n"]).ok().plain();
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

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let repo = Repo::with(&[("f", "a\n")]);
    // A file where the store's folder belongs: fails even for root, whom modes do not stop.
    std::fs::write(repo.path(".git/aye"), "in the way").unwrap();
    let run = repo.aye(&["propose", "f", "--old", "a", "--new", "b"]);
    assert!(run.status != 0 && run.err().contains("error["), "{run}");
    assert!(!run.err().contains("panicked"), "{run}");
    assert_eq!(repo.git(&["for-each-ref", "refs/aye"]), "");
}
