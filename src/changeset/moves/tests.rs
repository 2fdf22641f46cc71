use super::*;
use crate::changeset::File;

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    FileChange {
        path: RepoPath::new(path).unwrap(),
        before: before.map(File::regular),
        after: after.map(File::regular),
        origin: None,
        snippets: Vec::new(),
    }
}

/// `new<old` for each created file that has an origin.
fn origins(changes: &mut [FileChange]) -> Vec<String> {
    name_origins(changes);
    let named = changes.iter().filter_map(|change| {
        Some(format!("{}<{}", change.path.display(), change.origin.as_ref()?.display()))
    });
    named.collect()
}

fn lines(edit: impl Fn(usize) -> bool) -> String {
    (0..20).map(|n| if edit(n) { format!("other {n}\n") } else { format!("line {n}\n") }).collect()
}

#[test]
fn the_same_content_is_a_rename_before_what_is_like_it() {
    let (old, edited) = (lines(|_| false), lines(|n| n == 3));
    let mut changes = [
        change("a", None, Some(&edited)),
        change("b", None, Some(&old)),
        change("old", Some(&old), None),
    ];
    assert_eq!(origins(&mut changes), ["b<old"]);
}

#[test]
fn what_is_half_the_same_is_a_rename_and_less_is_a_new_file() {
    let old = lines(|_| false);
    for (changed, expected) in [(1, vec!["new<old"]), (9, vec!["new<old"]), (12, vec![])] {
        let new = lines(|n| n < changed);
        let mut changes = [change("new", None, Some(&new)), change("old", Some(&old), None)];
        assert_eq!(origins(&mut changes), expected, "{changed} lines changed");
    }
}

#[test]
fn a_copy_is_of_a_file_that_is_edited_and_much_like_it() {
    let (old, edited) = (lines(|_| false), lines(|n| n == 3));
    let mut changes = [
        change("copy", None, Some(&lines(|n| n == 9))),
        change("far", None, Some(&lines(|n| n < 8))),
        change("old", Some(&old), Some(&edited)),
    ];
    assert_eq!(origins(&mut changes), ["copy<old"]);
    let mut changes = [change("b", None, Some("x\n")), change("old", Some("x\n"), Some("y\n"))];
    assert!(origins(&mut changes).is_empty(), "too short to tell");
}

#[test]
fn of_equal_sources_the_one_of_the_same_name_is_it() {
    let text = lines(|_| false);
    let mut changes = [
        change("a/x", Some(&text), None),
        change("b/y", Some(&text), None),
        change("c/y", None, Some(&text)),
        change("d/x", None, Some(&text)),
        change("d/z", None, Some(&text)),
    ];
    assert_eq!(origins(&mut changes), ["c/y<b/y", "d/x<a/x"]);
}

#[test]
fn empty_files_and_named_origins_stay_as_they_are() {
    let mut changes = [change("new", None, Some("")), change("old", Some(""), None)];
    assert!(origins(&mut changes).is_empty());
    let mut changes = [
        change("a", None, Some("x\n")),
        change("b", None, Some("x\n")),
        change("old", Some("x\n"), None),
    ];
    changes[1].origin = Some(RepoPath::new("old").unwrap());
    assert_eq!(origins(&mut changes), ["b<old"]);
}

#[test]
fn similarity_is_counted_as_git_counts() {
    // By `git diff -M1%`.
    let old = lines(|_| false);
    assert_eq!(similarity(old.as_bytes(), old.as_bytes()), 100);
    assert_eq!(similarity(old.as_bytes(), lines(|n| n == 3).as_bytes()), 94);
    assert_eq!(similarity(b"", b"x"), 0);
    let crlf = old.replace('\n', "\r\n");
    assert_eq!(similarity(old.as_bytes(), crlf.as_bytes()), 88);
}
