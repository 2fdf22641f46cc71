use super::*;
use crate::changeset::Mode;

fn path(path: &str) -> RepoPath {
    RepoPath::from_tree(path).unwrap()
}

fn change(at: &str, before: Option<File>, after: Option<File>) -> FileChange {
    FileChange { path: path(at), before, after, origin: None, snippets: Vec::new() }
}

fn shown(changes: Vec<FileChange>) -> String {
    String::from_utf8(git_patch(&Changeset::new(changes).unwrap(), Kind::Sha1)).unwrap()
}

#[test]
fn a_change_reads_as_git_prints_it() {
    let before = File::regular("one\ntwo\n");
    let after = File::regular("one\n2\n");
    // Ids by `git hash-object`.
    assert_eq!(
        shown(vec![change("dir/a file.txt", Some(before), Some(after))]),
        "diff --git a/dir/a file.txt b/dir/a file.txt\n\
         index 814f4a422927b82f5f8a43f8fab6d3839e3983f2..99b356dcd03dde0755c749bcd4cae4b2b73a8fa8 100644\n\
         --- a/dir/a file.txt\t\n+++ b/dir/a file.txt\t\n\
         @@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    );
}

#[test]
fn a_rename_needs_no_content() {
    let file = File::regular("x\n");
    let mut to = change("new", None, Some(File { mode: Mode::Executable, ..file.clone() }));
    to.origin = Some(path("old"));
    assert_eq!(
        shown(vec![change("old", Some(file), None), to]),
        "diff --git a/old b/new\nold mode 100644\nnew mode 100755\n\
         similarity index 100%\nrename from old\nrename to new\n"
    );
}

#[test]
fn a_copy_of_something_outside_the_changeset_is_written_out() {
    let mut copy = change("new", None, Some(File::regular("x")));
    copy.origin = Some(path("elsewhere"));
    let text = shown(vec![copy]);
    assert!(text.contains("new file mode 100644\n"), "{text}");
    assert!(
        text.ends_with(
            "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
        )
    );
}

#[test]
fn names_are_quoted_and_empty_files_have_no_hunks() {
    assert_eq!(
        shown(vec![change("tab\there", None, Some(File::regular("")))]),
        "diff --git \"a/tab\\there\" \"b/tab\\there\"\nnew file mode 100644\n\
         index 0000000000000000000000000000000000000000..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n"
    );
}

#[test]
fn known_ids_are_those_of_their_path_and_side() {
    let (before, after) = (File::regular("one\n"), File::regular("two\n"));
    let moved = FileChange { origin: Some(path("old")), ..change("new", None, Some(after)) };
    let changeset = Changeset::new(vec![change("old", Some(before), None), moved]).unwrap();
    let (old, new) = (path("old"), path("new"));
    let mut ids = Ids::from(Kind::Sha1);
    let whole = git_patch(&changeset, Kind::Sha1);
    ids.know(&old, Some("5626abf0f72e58d7a153368ba57db4c673c0e171"), None);
    ids.know(&new, None, Some("f719efd430d52bcfc8566a43b2eb655688d38871"));
    assert_eq!(git_patch(&changeset, ids), whole);
    let mut ids = Ids::from(Kind::Sha1);
    ids.know(&new, Some("not asked for"), Some("known"));
    let text = String::from_utf8(git_patch(&changeset, ids)).unwrap();
    assert!(text.contains("index 5626abf0f72e58d7a153368ba57db4c673c0e171..known"), "{text}");
}
