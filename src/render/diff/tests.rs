use super::*;
use crate::changeset::{File, Mode};

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    FileChange {
        path: RepoPath::new(path).unwrap(),
        before: before.map(File::regular),
        after: after.map(File::regular),
        origin: None,
        snippets: Vec::new(),
    }
}

fn hunks_only(text: &str) -> String {
    text.split_inclusive('\n').skip_while(|line| !line.starts_with("@@")).collect()
}

fn plain(before: &str, after: &str, layout: Layout) -> String {
    let options = Options { layout, ..Options::default() };
    hunks_only(&changeset(&[change("a.txt", Some(before), Some(after))], &options))
}

/// Colours as readable tags.
fn tagged(before: &str, after: &str) -> String {
    let palette = Palette::new(|_| None);
    let options = Options { palette: palette.clone(), ..Options::default() };
    let mut text = changeset(&[change("a.txt", Some(before), Some(after))], &options);
    for (role, tag) in [
        (Role::OldWord, "o!"),
        (Role::NewWord, "n!"),
        (Role::Old, "o"),
        (Role::New, "n"),
        (Role::Blank, "b"),
        (Role::Mark, "m"),
        (Role::Frag, "f"),
    ] {
        let sequence = palette.paint(role, "x");
        let start = sequence.split('x').next().unwrap().to_owned();
        text = text.replace(&start, &format!("<{tag}>"));
    }
    text.split_inclusive('\n')
        .skip_while(|line| !line.contains("@@"))
        .collect::<String>()
        .replace("\x1b[m", "</>")
}

#[test]
fn without_colour_it_is_what_git_prints() {
    let mut script = change("new.sh", None, Some("#!/bin/sh\n"));
    script.after.as_mut().unwrap().mode = Mode::Executable;
    let mut moved = change("b/moved", None, Some("one\ntwo\n"));
    moved.origin = Some(RepoPath::new("a/old").unwrap());
    let changes = [
        change("a/old", Some("one\n"), None),
        moved,
        change("gone", Some("x"), None),
        change("bin", Some("a\0b"), Some("a\0bc")),
        script,
    ];
    let text = changeset(&changes, &Options::default());
    let expected = "\
diff --git a/a/old b/b/moved
similarity index 50%
rename from a/old
rename to b/moved
--- a/a/old
+++ b/b/moved
@@ -1 +1,2 @@
 one
+two
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
\\ No newline at end of file
diff --git a/bin b/bin
Binary files differ: 3 bytes -> 4 bytes
diff --git a/new.sh b/new.sh
new file mode 100755
--- /dev/null
+++ b/new.sh
@@ -0,0 +1 @@
+#!/bin/sh
";
    assert_eq!(text, expected);
}

#[test]
fn changed_words_are_emphasised_and_wholly_new_lines_are_not() {
    assert_eq!(
        tagged("let total = price;\n", "let total = price + tax;\n"),
        "<f>@@ -1 +1 @@</>\n<o>-</><o>let total = price;</>\n\
         <n>+</><n>let total = price</><n!> + tax</><n>;</>\n"
    );
    assert_eq!(
        tagged("alpha beta\n", "nothing in common\n"),
        "<f>@@ -1 +1 @@</>\n<o>-</><o>alpha beta</>\n<n>+</><n>nothing in common</>\n"
    );
}

#[test]
fn what_cannot_be_seen_is_written_out() {
    assert_eq!(plain("a\n", "a  \n", Layout::Unified), "@@ -1 +1 @@\n-a\n+a··\n");
    assert_eq!(plain("a\n", "a\t\n", Layout::Unified), "@@ -1 +1 @@\n-a\n+a→\n");
    assert_eq!(
        plain("a\n", "\u{1b}]0;x\u{7}\u{202e}b\rc\n", Layout::Unified),
        "@@ -1 +1 @@\n-a\n+\\x1b]0;x\\x07\\u{202e}b\\rc\n"
    );
    assert_eq!(
        plain("a\n", "\u{301}a\u{a0}b\n", Layout::Unified),
        "@@ -1 +1 @@\n-a\n+\\u{301}a\\u{a0}b\n"
    );
    assert!(tagged("a\n", "\u{9b}1m\n").contains("<m>\\u{9b}</>"));
}

#[test]
fn line_ends_are_shown_where_they_change_and_not_where_they_are_the_rule() {
    assert_eq!(plain("a\r\n", "a\n", Layout::Unified), "@@ -1 +1 @@\n-a\\r\n+a\n");
    assert_eq!(plain("", "a\r\n", Layout::Unified), "@@ -0,0 +1 @@\n+a\\r\n");
    assert_eq!(plain("a\r\n", "b\r\n", Layout::Unified), "@@ -1 +1 @@\n-a\n+b\n");
    assert_eq!(
        plain("a\n", "a", Layout::Unified),
        "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"
    );
}

#[test]
fn word_layout_shows_both_in_one_line() {
    assert_eq!(
        plain("x\nlet a = 1;\ny\n", "x\nlet b = 1;\nnew\ny\n", Layout::Words),
        "@@ -1,3 +1,4 @@\nx\nlet [-a-]{+b+} = 1;\n{+new+}\ny\n"
    );
}

#[test]
fn beyond_the_limit_lines_are_counted() {
    let after: String = (0..100).map(|n| format!("{n}\n")).collect();
    let diff = Diff::new(&b""[..], after.as_bytes());
    let path = RepoPath::new("a").unwrap();
    for layout in [Layout::Unified, Layout::Words] {
        let options = Options { layout, ..Options::default() };
        let mut painter = Painter::new(&path, &diff, &options);
        let rows = painter.rows(&diff, &diff.hunks(3)[0], &options, Some(10));
        assert_eq!((rows.lines.len(), rows.more), (11, 90), "{layout:?}");
    }
}

#[test]
fn lists_of_files() {
    let changes =
        [change("src/a.rs", Some("a\nb\n"), Some("a\nc\nd\n")), change("z", Some("x\n"), None)];
    assert_eq!(name_only(&changes), "src/a.rs\nz\n");
    assert_eq!(name_status(&changes), "M\tsrc/a.rs\nD\tz\n");
    assert_eq!(
        stat(&changes, &Palette::plain(), 80),
        " src/a.rs    |   3 ++-\n z (deleted) |   1 -\n 2 files changed, 2 insertions(+), 2 deletions(-)\n"
    );
}

#[test]
fn languages_are_coloured_only_with_colour() {
    let change = [change("a.rs", Some("fn a() {}\n"), Some("fn a() {}\nfn b() {}\n"))];
    let coloured = |palette: Palette| {
        changeset(&change, &Options { palette, syntax: true, ..Options::default() })
    };
    assert!(!coloured(Palette::plain()).contains('\x1b'));
    assert!(coloured(Palette::new(|_| None)).contains("\x1b[35mfn\x1b[m"));
}

#[test]
fn very_long_lines_are_cut_only_under_a_limit_and_say_so() {
    let long = "ü".repeat(5000);
    let diff = Diff::new(&b""[..], long.as_bytes());
    let path = RepoPath::new("a").unwrap();
    let options = Options::default();
    let mut painter = Painter::new(&path, &diff, &options);
    let hunk = &diff.hunks(3)[0];
    let cut = painter.rows(&diff, hunk, &options, Some(9)).lines[1].clone();
    assert!(cut.ends_with("ü … 5904 more bytes, p shows them"), "{}", &cut[cut.len() - 60..]);
    assert_eq!(painter.rows(&diff, hunk, &options, None).lines[1].len(), 10_001);
    let words = Options { layout: Layout::Words, ..options };
    let cut = painter.rows(&diff, hunk, &words, Some(9)).lines[1].clone();
    assert!(cut.ends_with("ü+} … 5904 more bytes, p shows them"), "{}", &cut[cut.len() - 60..]);
    assert_eq!(painter.rows(&diff, hunk, &words, None).lines[1].len(), 10_004);
}
