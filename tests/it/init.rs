//! `aye init`: optional, idempotent, leaves what is there.

use crate::support::Repo;

#[test]
fn init_makes_the_scaffold_once() {
    let repo = Repo::with(&[("f", "a\n")]);
    let first = repo.aye(&["init", "--json"]).ok().json();
    assert!(
        first["created"].as_array().unwrap().iter().any(|path| path == ".agent-memory/index.md")
    );
    let before = repo.snapshot();
    let second = repo.aye(&["init", "--json"]).ok().json();
    assert_eq!(second["created"], serde_json::json!([]));
    assert_eq!(repo.snapshot(), before);
    repo.aye(&["init"]).ok().says("nothing to do").says("next: ");
}

#[test]
fn a_file_that_is_there_stays() {
    let repo = Repo::with(&[(".agent-memory/conventions.md", "# Ours\n")]);
    repo.aye(&["init"]).ok();
    assert_eq!(repo.text(".agent-memory/conventions.md"), "# Ours\n");
    assert!(repo.text(".agent-memory/.gitignore").contains("proposals/"));
}

#[test]
fn nothing_is_written_through_a_symlink() {
    let repo = Repo::with(&[("f", "a\n")]);
    let outside = repo.outer().join("outside");
    std::fs::create_dir(&outside).unwrap();
    repo.symlink(outside.to_str().unwrap(), ".agent-memory");
    repo.aye(&["init"]).fails("symlink_in_way", 6);
    // A proposal is recorded all the same; only its projection is missing.
    repo.aye(&["propose", "f", "--old", "a", "--new", "b"]).ok();
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}
