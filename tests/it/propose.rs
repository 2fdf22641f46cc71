//! `aye propose`: snippets in, a proposal out, every byte kept.

use crate::support::{self, Repo};
use serde_json::json;

/// The proposed content of `path`, from the pending ref, as plain git sees it.
fn proposed(repo: &Repo, id: &str, path: &str) -> Vec<u8> {
    let object = format!("refs/aye/pending/{id}:{path}");
    repo.program("git").args(&["cat-file", "blob", object.as_str()]).run().ok().stdout
}

#[test]
fn a_snippet_becomes_a_pending_proposal_and_no_file_changes() {
    let repo = Repo::with(&[("src/app.ts", "let a = 1;\nlet b = 2;\n")]);
    let id = repo
        .aye(&["propose", "src/app.ts", "--old", "b = 2", "--new", "b = 3", "-m", "Three"])
        .ok()
        .id();
    assert_eq!(repo.text("src/app.ts"), "let a = 1;\nlet b = 2;\n");
    assert_eq!(proposed(&repo, &id, "src/app.ts"), b"let a = 1;\nlet b = 3;\n");
    repo.aye(&["list"]).ok().says(&id).says("+1 −1").says("Three");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert!(repo.exists(&format!(".agent-memory/proposals/{id}/proposal.yaml")));
    assert!(repo.exists(&format!(".agent-memory/proposals/{id}/change.patch")));
    repo.git(&["fsck", "--strict"]);
}

#[test]
fn the_diff_of_the_pending_ref_is_exactly_the_proposal() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\n"), ("b.txt", "b\n")]);
    // The work tree differs from HEAD: the ref's parent is the work tree's state.
    repo.write("a.txt", "one\ntwo\nuncommitted\n");
    let id = repo.aye(&["propose", "a.txt", "--old", "two", "--new", "TWO"]).ok().id();
    let shown = repo.git(&["show", "--format=", &format!("refs/aye/pending/{id}")]);
    assert!(shown.contains("-two\n+TWO\n"), "{shown}");
    assert!(!shown.contains("+uncommitted"), "{shown}");
    assert!(shown.contains(" uncommitted"), "{shown}");
}

#[test]
fn every_kind_of_content_keeps_its_bytes() {
    /// Path, content, old, new, content afterwards.
    type Case = (&'static str, &'static [u8], &'static str, &'static str, &'static [u8]);
    let cases: &[Case] = &[
        ("crlf.txt", b"a\r\nb\r\n", "b", "B", b"a\r\nB\r\n"),
        ("no newline.txt", b"a\nb", "b", "B", b"a\nB"),
        ("bom.txt", b"\xef\xbb\xbfa\n", "a", "A", b"\xef\xbb\xbfA\n"),
        ("latin1.txt", b"caf\xe9 a\n", "a\n", "b\n", b"caf\xe9 b\n"),
        ("\u{fc}n\u{ef} c\u{f6}de.txt", b"a\n", "a", "b", b"b\n"),
        ("emptied.txt", b"a", "a", "", b""),
        ("with 'quote\".txt", b"a\n", "a", "b", b"b\n"),
    ];
    let files: Vec<(&str, &[u8])> = cases.iter().map(|case| (case.0, case.1)).collect();
    let repo = Repo::with(&files);
    for (path, before, old, new, after) in cases {
        let id = repo.aye(&["propose", path, "--old", old, "--new", new]).ok().id();
        assert_eq!(proposed(&repo, &id, path), *after, "{path}");
        let patch = repo.aye(&["diff", &id, "--patch"]).ok().stdout;
        assert_eq!(repo.read(path), *before, "{path}");
        repo.program("git").args(&["apply", "-"]).stdin(&patch).run().ok();
        assert_eq!(repo.read(path), *after, "{path} after git apply");
    }
}

#[test]
fn the_executable_bit_is_kept() {
    let repo = Repo::with(&[("run.sh", "echo a\n")]);
    repo.chmod("run.sh", 0o755);
    repo.commit("Executable");
    let id = repo.aye(&["propose", "run.sh", "--old", "a", "--new", "b"]).ok().id();
    let tree = repo.git(&["ls-tree", &format!("refs/aye/pending/{id}"), "run.sh"]);
    assert!(tree.starts_with("100755"), "{tree}");
}

#[test]
fn files_are_created_replaced_and_deleted() {
    let repo = Repo::with(&[("gone.txt", "x\n"), ("kept.txt", "old\n")]);
    let new = repo.aye(&["propose", "dir/new.txt", "--old", "", "--new", "hello\n"]).ok().id();
    assert_eq!(proposed(&repo, &new, "dir/new.txt"), b"hello\n");
    let whole =
        repo.aye_stdin(&["propose", "kept.txt", "--content-file", "-"], "\0binary").ok().id();
    assert_eq!(proposed(&repo, &whole, "kept.txt"), b"\0binary");
    let text = repo.aye(&["propose", "kept.txt", "--content", "- new\n"]).ok().id();
    assert_eq!(proposed(&repo, &text, "kept.txt"), b"- new\n");
    let both = ["propose", "kept.txt", "--content", "a", "--content-file", "kept.txt"];
    repo.aye(&both).fails("usage", 2);
    let gone = repo.aye(&["propose", "gone.txt", "--delete"]).ok().id();
    assert_eq!(repo.git(&["ls-tree", &format!("refs/aye/pending/{gone}"), "gone.txt"]), "");
    let empty = repo.aye_stdin(&["propose", "empty", "--content-file", "-"], "").ok().id();
    assert_eq!(proposed(&repo, &empty, "empty"), b"");
}

#[test]
fn several_edits_are_one_proposal() {
    let repo = Repo::with(&[("a.rs", "A a A2\n"), ("b.rs", "B\n")]);
    let a = [["a.rs", "A a", "X a"], ["a.rs", "A2", "X2"]];
    let edits = repo.edits(&[a[0], ["b.rs", "B", "Y"], ["c.rs", "", "C\n"], a[1]]);
    let id = repo.aye(&["propose", "--from-json", &edits]).ok().id();
    assert_eq!(proposed(&repo, &id, "a.rs"), b"X a X2\n");
    assert_eq!(proposed(&repo, &id, "b.rs"), b"Y\n");
    assert_eq!(proposed(&repo, &id, "c.rs"), b"C\n");
}

#[test]
fn edits_come_as_json_too() {
    let repo = Repo::with(&[("a.rs", "A A\n")]);
    let request = json!({
        "description": "d", "domain": "api", "related_task_id": "7",
        "edits": [
            {"file_path": "a.rs", "old_content": "A", "new_content": "B", "occurrence": 2},
            {"file_path": "raw", "content": {"base64": "/wA="}},
        ],
    });
    let run = repo.aye_stdin(&["propose", "--json", "--from-json", "-"], request.to_string()).ok();
    let answer = run.json();
    assert_eq!(answer["domain"], "api");
    assert_eq!(answer["files"], json!(["a.rs", "raw"]));
    assert_eq!(proposed(&repo, &run.id(), "a.rs"), b"A B\n");
    assert_eq!(proposed(&repo, &run.id(), "raw"), b"\xff\0");
    let typo = r#"{"edits":[{"file_path":"a.rs","old":"x"}]}"#;
    repo.aye_stdin(&["propose", "--json", "--from-json", "-"], typo).fails("invalid_json", 6);
}

#[test]
fn a_miss_names_the_closest_place() {
    let repo = Repo::with(&[("f", "one\ntwo\nthree\n")]);
    repo.aye(&["propose", "f", "--old", "one\ntwo!\nthree", "--new", "x"])
        .fails("old_content_not_found", 6)
        .notes("line 2");
}

#[test]
fn several_matches_are_named_and_can_be_chosen_from() {
    let repo = Repo::with(&[("f", "x\ny\nx\n")]);
    repo.aye(&["propose", "f", "--old", "x", "--new", "z"])
        .fails("old_content_ambiguous", 6)
        .notes("lines 1, 3");
    let id = repo.aye(&["propose", "f", "--old", "x", "--new", "z", "--occurrence", "2"]).ok().id();
    assert_eq!(proposed(&repo, &id, "f"), b"x\ny\nz\n");
    let all =
        repo.aye(&["propose", "f", "--old", "x", "--new", "w", "--occurrence", "all"]).ok().id();
    assert_eq!(proposed(&repo, &all, "f"), b"w\ny\nw\n");
}

#[test]
fn the_same_change_twice_is_one_proposal() {
    let repo = Repo::with(&[("f", "a\n")]);
    let args = ["propose", "--json", "f", "--old", "a", "--new", "b"];
    let first = repo.aye(&args).ok().json();
    let second = repo.aye(&args).ok().json();
    assert_eq!(first["duplicate"], false);
    assert_eq!(second["duplicate"], true);
    assert_eq!(first["proposal_id"], second["proposal_id"]);
    repo.aye(&["reject", "--yes", first["proposal_id"].as_str().unwrap()]).ok();
    assert_eq!(repo.aye(&args).ok().json()["duplicate"], false);
}

#[test]
fn paths_are_relative_to_where_they_are_typed() {
    let repo = Repo::with(&[("sub/f", "a\n"), ("top", "t\n")]);
    let sub = repo.path("sub");
    let run = |args: &[&str]| repo.cmd(args).dir(&sub).run();
    assert_eq!(
        run(&["propose", "--json", "f", "--old", "a", "--new", "b"]).ok().json()["file_path"],
        "sub/f"
    );
    assert_eq!(
        run(&["propose", "--json", "../top", "--old", "t", "--new", "u"]).ok().json()["file_path"],
        "top"
    );
    run(&["propose", "../../out", "--old", "", "--new", "u"]).fails("path_invalid", 6);
}

/// As to git: an absolute path inside the repository, a directory with its slash, and the directory that
/// one is in.
#[test]
fn a_path_may_be_typed_in_every_way_that_leads_into_the_repository() {
    let repo = Repo::with(&[("f", "a\n"), ("sub/f", "a\n"), ("sub/deep/f", "a\n")]);
    let top = repo.root().to_str().unwrap().to_owned();
    let run = |directory: &str, args: &[&str]| repo.cmd(args).dir(repo.path(directory)).run();
    for (given, path) in [("f", "f"), ("sub/f", "sub/f"), ("sub/../f", "sub/../f")] {
        let given = format!("{top}/{given}");
        let run = run("sub", &["propose", "--json", &given, "--old", "a", "--new", path]);
        match path.contains("..") {
            true => assert_eq!(run.ok().json()["file_path"], "f"),
            false => assert_eq!(run.ok().json()["file_path"], path),
        }
    }
    let new = format!("{top}/new/directory/f");
    let run_new = run("sub", &["propose", "--json", &new, "--old", "", "--new", "x"]);
    assert_eq!(run_new.ok().json()["file_path"], "new/directory/f");
    for outside in ["/etc/hosts", &format!("{top}/../f"), &format!("{top}x/f"), &top] {
        run("sub", &["propose", outside, "--old", "a", "--new", "b"]).fails("path_invalid", 6);
    }
    for (directory, given) in
        [("", "sub/"), ("sub", "."), ("sub", "./"), ("sub/deep", ".."), ("", "sub")]
    {
        run(directory, &["propose", given, "--old", "a", "--new", "b"]).fails("is_a_directory", 6);
        run(directory, &["check", "--paths", given]).ok().says("sub/f").lacks("new/directory");
    }
    run("", &["propose", "no-directory/", "--old", "", "--new", "x"]).fails("path_invalid", 6);
    let all = repo.aye(&["list", "--json"]).ok().json()["proposals"].as_array().unwrap().len();
    for path in [".", "./"] {
        let listed = repo.aye(&["list", "--json", "--path", path]).ok().json();
        assert_eq!(listed["proposals"].as_array().unwrap().len(), all);
    }
}

#[test]
fn who_proposes_is_said() {
    let repo = Repo::with(&[("f", "a b c\n")]);
    let by = |run: support::Run| run.ok().json()["proposed_by"].as_str().unwrap().to_owned();
    let agent = repo.agent("robo", &["propose", "--json", "f", "--old", "a", "--new", "A"]);
    assert_eq!(by(agent), "robo");
    let named = repo.aye(&["propose", "--json", "f", "--old", "b", "--new", "B", "--by", "me"]);
    assert_eq!(by(named), "me");
    let plain = repo.aye(&["propose", "--json", "f", "--old", "c", "--new", "C"]);
    assert_eq!(by(plain), repo.git(&["config", "user.name"]).trim());
}
