//! Patches as git, other programs, mail, editors and terminals leave them: applied as they are meant, or refused, and never
//! in another place. git is asked wherever it takes the patch.

use crate::support::patches::{after, files, of, read};
use crate::support::{Repo, Run};
use aye::changeset::patch::{self, codes};
use serde_json::json;

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
const HUNK: &str = "@@ -3,5 +3,5 @@\n 3\n 4\n-5\n+five\n 6\n 7\n";
const CHANGE: &str = "--- a/f\n+++ b/f\n@@ -3,5 +3,5 @@\n 3\n 4\n-5\n+five\n 6\n 7\n";
const NEW: &str = "@@ -0,0 +1 @@\n+new\n";
const BOM: &str = "\u{feff}";

fn patched() -> String {
    LINES.replace('5', "five")
}

#[track_caller]
fn refused(repo: &Repo, patch: impl AsRef<[u8]>, code: &str) -> Run {
    let status = if code == "patch_invalid" || code == "path_invalid" { 6 } else { 5 };
    let before = repo.snapshot();
    let run = repo.aye_stdin(&["patch", "--format", "text"], patch).fails(code, status);
    assert!(repo.snapshot() == before, "{run}");
    run
}

/// A repository at the commit before the last, which changed `f` twice.
fn changed() -> Repo {
    let repo = Repo::with(&[("f", LINES)]);
    repo.write("f", patched());
    repo.git(&["commit", "--quiet", "--all", "-m", "Five"]);
    repo
}

/// What stands below the last line that a hunk counts is text.
#[test]
fn text_below_the_last_hunk_is_text() {
    let repo = changed();
    let mail = |option: &str| repo.git(&["format-patch", "-1", "--stdout", option]);
    let show = repo.git(&["show"]);
    let patches = [
        mail("--attach"),
        mail("--inline"),
        mail("--signature=- two\n+ three"),
        format!("{show}\n\n- note one\n"),
        format!("{show}\n\n+ note one\n- note two\n"),
        format!("{show}\n\n* note\n+ note\n"),
        format!("{show}\n-- \n- me\n"),
        repo.git(&["log", "-p", "-1", "--format=- %s"]) + "\n\n- End\n",
    ];
    repo.git(&["reset", "--quiet", "--hard", "HEAD^"]);
    for patch in patches {
        repo.write("../it.diff", format!("{patch}\n"));
        repo.git(&["apply", "--check", "../it.diff"]);
        let answer = repo.aye(&["patch", "--json", "../it.diff"]).ok().json();
        assert_eq!(repo.text("f"), patched(), "{patch}");
        assert_eq!(answer["files"][0]["hunks"][0].get("recounted"), None, "{patch}");
        repo.aye(&["patch", "../it.diff"]).ok().says("already_applied: true");
        repo.aye(&["patch", "-R", "../it.diff"]).ok();
        assert_eq!(repo.text("f"), LINES, "{patch}");
    }
}

/// What puts CRLF at the ends of all lines puts them into no file.
#[test]
fn a_patch_that_came_with_crlf_makes_no_crlf_files() {
    let repo = Repo::with(&[("f", LINES), ("empty", ""), ("crlf", "1\r\n2\r\n")]);
    repo.write("f", patched());
    repo.write("empty", "no newline\nat the end");
    repo.write("crlf", "1\r\n2\r\n3\r\n");
    repo.write("new", "1\n\n2\n\n");
    repo.git(&["add", "--all"]);
    let wanted = repo.snapshot();
    for option in ["--binary", "--no-prefix"] {
        let patch = repo.git(&["diff", "--cached", option]) + "\n";
        let patch = patch.replace("\r\n", "\n").replace('\n', "\r\n");
        let copy = repo.copy();
        copy.git(&["reset", "--quiet", "--hard"]);
        copy.aye_stdin(&["patch"], &patch).ok();
        assert!(copy.snapshot() == wanted, "{patch}");
        copy.aye_stdin(&["patch", "-R"], &patch).ok();
        assert_eq!(copy.git(&["status", "--porcelain"]), "", "{patch}");
    }
}

/// Lines that a model left out of its counts are a part of the hunk where the file goes on like
/// them; where only text could follow, that it was taken for text is said.
#[test]
fn lines_beyond_the_counts_are_not_lost_in_silence() {
    let before = "a\nb\nc\n\nd\ne\nf\n";
    let head = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";
    for (tail, want, noted) in [
        ("\n d\n+new\n e\n", "a\nB\nc\n\nd\nnew\ne\nf\n", false),
        ("\n-d\n+D\n e\n", "a\nB\nc\n\nD\ne\nf\n", false),
        ("\n+new\n d\n", "a\nB\nc\n\nnew\nd\ne\nf\n", false),
        ("\n+ a note\n", "a\nB\nc\n\nd\ne\nf\n", true),
        ("\n- a note\n", "a\nB\nc\n\nd\ne\nf\n", false),
    ] {
        let compiled = read(&of(before), &format!("{head}{tail}")).expect("a patch");
        assert_eq!(after(&of(before), &compiled), of(want), "{tail}");
        assert_eq!(!compiled.notes.is_empty(), noted, "{tail}{:?}", compiled.notes);
    }
    // Right below the hunk there is nothing it could be but a part of it.
    let error = read(&of(before), &format!("{head}-nowhere\n")).expect_err("no such line");
    assert!(error.is(&codes::HUNK_FAILED), "{error}");
}

#[test]
fn a_byte_order_mark_stays_in_front_unless_the_patch_changes_it() {
    let unified = |body: &str| format!("--- a/f\n+++ b/f\n{body}");
    let envelope =
        |body: &str| format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n");
    let marked = &*format!("{BOM}one\ntwo\n");
    let plain = "one\ntwo\n";
    for (before, patch, want) in [
        (marked, unified("@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"), format!("{BOM}ONE\ntwo\n")),
        (marked, unified("@@ -1,2 +1 @@\n-one\n two\n"), format!("{BOM}two\n")),
        (marked, unified("@@ -1,2 +1,2 @@\n one\n-two\n+2\n"), format!("{BOM}one\n2\n")),
        (marked, envelope("@@\n+zero\n one\n"), format!("{BOM}zero\none\ntwo\n")),
        (marked, envelope("@@\n-one\n two\n"), format!("{BOM}two\n")),
        // The patch speaks of it.
        (marked, envelope(&format!("@@\n-{BOM}one\n+one\n")), plain.into()),
        (plain, envelope(&format!("@@\n-one\n+{BOM}one\n two\n")), marked.into()),
        (
            &marked.replace('\n', "\r\n"),
            unified(&format!("@@ -1,2 +1,2 @@\n-{BOM}one\n+one\n two\n")),
            plain.replace('\n', "\r\n"),
        ),
        // Made for a file that had one: this one has none, and gets none.
        (
            plain,
            unified(&format!("@@ -1,2 +1,2 @@\n-{BOM}one\n+{BOM}ONE\n two\n")),
            "ONE\ntwo\n".into(),
        ),
    ] {
        let before = of(before);
        let compiled = read(&before, &patch).unwrap_or_else(|error| panic!("{error}: {patch}"));
        assert_eq!(after(&before, &compiled), of(want), "{patch}");
    }
    // Where git applies a patch byte for byte, its bytes are the result.
    let repo = Repo::with(&[("f", marked)]);
    for after in [format!("zero\n{marked}"), plain.into(), format!("{BOM}{BOM}one\n")] {
        repo.write("f", &after);
        let patch = repo.git(&["diff"]) + "\n";
        repo.git(&["checkout", "--quiet", "f"]);
        repo.aye_stdin(&["patch"], &patch).ok();
        assert_eq!(repo.text("f"), after, "{patch}");
        repo.git(&["checkout", "--quiet", "f"]);
    }
}

/// A patch that stops early is never applied as far as it goes.
#[test]
fn a_patch_that_was_cut_off_changes_nothing() {
    // Half of what removes the last line looks like the end of a mail.
    let lines = "one\ntwo\n- last\n";
    let repo = Repo::with(&[("a", lines), ("b", lines)]);
    let files = files(&repo);
    repo.write("a", lines.replace("two", "2"));
    repo.write("b", lines.replace("- last\n", ""));
    let patch = repo.git(&["diff"]);
    let second = patch.find("diff --git a/b").expect("two files");
    for cut in 0..patch.len() {
        let whole = cut + 1 >= patch.len() || (second - 1..=second).contains(&cut);
        // What follows the first file is no patch yet.
        let begun = cut > second && cut < second + "diff --git ".len();
        let read = read(&files, &patch[..cut]);
        assert!(whole || begun || read.is_err(), "cut at {cut}: {}", &patch[..cut]);
    }
}

/// Cut anywhere, a binary patch is refused, or is as good as whole.
#[test]
fn a_binary_patch_that_was_cut_off_changes_nothing() {
    let noise = |salt: u32| -> Vec<u8> {
        (0..300u32).map(|n| ((n + salt).wrapping_mul(2_654_435_761) >> 24) as u8).collect()
    };
    let repo = Repo::with(&[("bin", noise(1)), ("other", noise(7))]);
    let files = files(&repo);
    repo.write("bin", noise(1000));
    repo.write("other", noise(2000));
    let diff = |name| repo.git(&["diff", "--binary", name]).trim_end().to_owned() + "\n\n";
    let (patch, second) = (diff("bin"), diff("other"));
    repo.git(&["checkout", "--quiet", "."]);
    let whole = format!("{patch}{second}");
    let backward = patch.match_indices("literal").nth(1).expect("two halves").0;
    for cut in 0..whole.len() {
        // Where the backward half is missing altogether git takes the patch too; an empty line
        // at the very end is easily lost; what begins the second file is text until it is a header.
        let of_second = |header: usize| cut.checked_sub(patch.len()).is_some_and(|at| at < header);
        let sound = cut == backward
            || (patch.len() - 2..patch.len()).contains(&cut)
            || of_second("diff --git ".len())
            || cut == patch.len() + second.match_indices("literal").nth(1).expect("two").0
            || cut >= whole.len() - 2;
        match read(&files, &whole[..cut]) {
            Ok(_) => assert!(sound, "cut at {cut}: {}", &whole[..cut]),
            Err(error) => {
                assert!(error.is(&codes::PATCH_INVALID), "cut at {cut}: {error}");
                let line = error.details().iter().any(|(key, _)| *key == "line");
                assert!(line || cut < 20, "cut at {cut}: {error}");
            }
        }
    }
    repo.aye_stdin(&["patch"], &whole).ok();
    assert_eq!((repo.read("bin"), repo.read("other")), (noise(1000), noise(2000)));
}

/// A header says what will follow, so that a patch without it is known for a part of one.
#[test]
fn a_patch_that_ends_in_a_header_changes_nothing() {
    let repo = Repo::with(&[("f", LINES), ("moved", LINES), ("gone", "x\n"), ("run", "x\n")]);
    let files = files(&repo);
    repo.git(&["mv", "moved", "longer"]);
    repo.git(&["rm", "--quiet", "gone"]);
    repo.write("new", "one\n");
    repo.write("longer", patched());
    repo.chmod("run", 0o755);
    repo.git(&["add", "--all"]);
    let patch = repo.git(&["diff", "--cached", "-M"]) + "\n";
    repo.git(&["reset", "--quiet", "--hard"]);
    let starts: Vec<usize> = patch.match_indices("diff --git ").map(|(at, _)| at).collect();
    assert_eq!(starts.len(), 4, "{patch}");
    for cut in 1..patch.len() - 1 {
        let begun = starts.iter().any(|at| cut + 1 >= *at && cut < at + "diff --git ".len());
        // A mode alone is a change, an empty file is one, and half a line is a line.
        let line = patch[..cut].rsplit('\n').find(|line| !line.is_empty()).unwrap_or_default();
        let counted = line.starts_with('+') && patch[..cut].contains("@@ -0,0 +1 @@\n+");
        let sound = begun || counted || ["new mode 100755", "new file mode 100644"].contains(&line);
        assert!(sound || read(&files, &patch[..cut]).is_err(), "cut at {cut}: {}", &patch[..cut]);
    }
    repo.aye_stdin(&["patch"], &patch).ok();
    assert_eq!(repo.text("longer"), patched());
    // A name that is cut off is another name.
    let rename =
        "diff --git a/longer b/moved\nsimilarity index 100%\nrename from longer\nrename to ";
    refused(&repo, format!("{rename}mov"), "patch_invalid");
    repo.aye_stdin(&["patch"], format!("{rename}moved")).ok();
}

/// One dialect after the other in one input: neither is passed over as the text around the other.
#[test]
fn an_envelope_beside_a_unified_diff_is_refused() {
    let repo = changed();
    let unified = "--- a/f\n+++ b/f\n@@ -4,3 +4,3 @@\n 4\n-five\n+V\n 6\n";
    let begin = "*** Begin Patch\n";
    let end = "*** End Patch\n";
    let update = "*** Update File: f\n@@\n 4\n-five\n+V\n 6\n";
    for (patch, line) in [
        (format!("{begin}{update}{end}\nThen:\n\n{unified}"), 12),
        (format!("```\n{begin}{update}{end}```\n```diff\ndiff --git a/g b/g\n{unified}```\n"), 12),
        (format!("{unified}\n{begin}*** Add File: n\n+new\n{end}"), 10),
        (format!("{unified}\n{begin}*** Delete File: f\n{end}"), 10),
        (format!("*** Update File: f\n*** Move to: g\n{unified}"), 1),
    ] {
        refused(&repo, patch, "patch_invalid").notes(&format!("line {line} "));
    }
    // A header of the one above the header of the other is a habit.
    repo.aye_stdin(&["patch"], format!("*** Update File: f\n{unified}{end}")).ok();
    assert_eq!(repo.text("f"), LINES.replace('5', "V"));
}

/// Ways of packing a patch that cannot be taken apart safely are told from each other.
#[test]
fn a_patch_that_was_packed_wrongly_is_told_how() {
    let repo = Repo::new();
    let envelope = "*** Begin Patch\n*** Update File: f\n@@\n-x\n+y\n*** End Patch\n";
    let indented: String = envelope.lines().map(|line| format!("    {line}\n")).collect();
    for (arguments, told) in [
        (json!({"input": envelope, "call_id": 1}), "parameter: patch"),
        (json!({"patch": envelope.replace('\n', "\\n")}), "one line"),
        (json!({"patch": indented}), "indented"),
        (
            json!({"name": "functions.apply_patch", "arguments": {"patch": envelope}}),
            "apply_patch, ",
        ),
    ] {
        repo.aye_stdin(&["call", "apply_patch"], arguments.to_string()).exits(6).says(told);
    }
}

/// The names of a new file have a prefix where their two forms in the header differ.
#[test]
fn a_new_file_is_put_where_git_puts_it_whatever_the_prefixes() {
    let base = Repo::with(&[("d/f", LINES)]);
    let git = |old: &str, new: &str| {
        format!(
            "diff --git {old}d/n {new}d/n\nnew file mode 100644\nindex 0000000..3e75765\n\
             --- /dev/null\n+++ {new}d/n\n{NEW}"
        )
    };
    let plain = |old: &str, new: &str| {
        let epoch = "1970-01-01 00:00:00.000000000 +0000";
        format!("--- {old}d/n\t{epoch}\n+++ {new}d/n\t{}\n{NEW}", epoch.replace("1970", "2026"))
    };
    for (patch, path, does_git) in [
        (git("1/", "2/"), "d/n", true),
        (git("src/", "dst/"), "d/n", true),
        (plain("pkg-1.0.orig/", "pkg-1.0/"), "d/n", true),
        (plain("old/", "new/"), "d/n", true),
        // Without a prefix git has to be told; not even where a directory is called like a prefix.
        (git("", ""), "d/n", false),
        (plain("", ""), "d/n", false),
        (git("", "").replace("d/n", "b/n"), "b/n", false),
        (git("", "").replace("d/n", "o/n"), "o/n", false),
    ] {
        let ours = base.copy();
        ours.aye_stdin(&["patch"], &patch).ok();
        assert_eq!(ours.text(path), "new\n", "{patch}");
        if does_git {
            let theirs = base.copy();
            theirs.program("git").args(&["apply", "-"]).stdin(&patch).run().ok();
            assert!(ours.snapshot() == theirs.snapshot(), "{patch}");
        }
        ours.aye_stdin(&["patch", "-R"], &patch).ok();
        assert!(ours.snapshot() == base.snapshot(), "{patch}");
    }
    // Nor does a directory make a name without prefix look like one with it.
    let repo = Repo::with(&[("a/b", "1\n"), ("b/c", "1\n")]);
    let change = "--- b/c\n+++ b/c\n@@ -1 +1 @@\n-1\n+2\n--- a/b\n+++ a/b\n@@ -1 +1 @@\n-1\n+2\n";
    repo.aye_stdin(&["patch"], change).ok();
    assert_eq!(repo.text("a/b") + &repo.text("b/c"), "2\n2\n");
}

/// Names of renames and copies have no prefix, so that they show where the others have none either.
#[test]
fn a_rename_without_prefixes_is_put_where_git_puts_it() {
    for (old, new) in [
        ("a.txt", "r/a.txt"),
        ("r/a.txt", "a.txt"),
        ("d/b.txt", "r/d/b.txt"),
        ("r/d/b.txt", "d/b.txt"),
        ("a.txt", "b.txt"),
        ("d/b.txt", "d/c.txt"),
        ("a/x.txt", "b/x.txt"),
        ("b/x.txt", "a/x.txt"),
        ("a/a/x.txt", "a/x.txt"),
        ("src/lib.rs", "src/core/lib.rs"),
    ] {
        for (lines, beside) in [(patched(), "n"), (LINES.to_owned(), "b/n")] {
            let base = Repo::with(&[(old, LINES)]);
            let before = files(&base);
            let work = base.copy();
            work.remove(old);
            work.write(new, &lines);
            work.write(beside, "new\n");
            work.git(&["add", "--all"]);
            for (option, strip) in [("--no-prefix", "-p0"), ("--src-prefix=a/", "-p1")] {
                let patch = work.git(&["diff", "--cached", "-M", option, "HEAD"]) + "\n";
                assert!(patch.contains("rename from"), "{patch}");
                let theirs = base.copy();
                theirs.program("git").args(&["apply", strip]).stdin(&patch).run().ok();
                let wanted = files(&theirs);
                let forward = read(&before, &patch).expect(&patch);
                assert_eq!(after(&before, &forward), wanted, "{patch}");
                let options = patch::Options { reverse: true, ..Default::default() };
                let back = patch::read(patch.as_bytes(), &wanted, &options).expect(&patch);
                assert_eq!(after(&wanted, &back), before, "{patch}");
            }
        }
    }
}

/// Headers as programs and people write them, each above the one change of `f`, or of another file.
#[test]
fn odd_headers_are_read_as_they_are_meant() {
    let base = Repo::with(&[("f", LINES), ("b/f", LINES), ("src/x", LINES), ("x", LINES)]);
    let last =
        |remark: &str| format!("--- a/f\n+++ b/f\n@@ -7,3 +7,3 @@\n 7\n 8\n-9\n+nine\n{remark}\n");
    let nine = LINES.replace("9\n", "nine");
    for (patch, path, want) in [
        (format!("{BOM}{CHANGE}"), "f", patched()),
        // `diff -u src/x.orig src/x`.
        (format!("--- src/x.orig\n+++ src/x\n{HUNK}"), "src/x", patched()),
        (format!("--- src/x\n+++ src/x.new\n{HUNK}"), "src/x", patched()),
        // One name without prefix does not make the other's a directory.
        (format!("--- f\n+++ b/f\n{HUNK}"), "f", patched()),
        (format!("--- a/f\n+++ f\n{HUNK}"), "f", patched()),
        (format!("--- n\n+++ b/n\n{NEW}"), "n", "new\n".into()),
        (format!("--- NUL\n+++ b/n\n{NEW}"), "n", "new\n".into()),
        (format!("--- \\dev\\null\n+++ b/n\n{NEW}"), "n", "new\n".into()),
        // Git takes the first, GNU patch all.
        (format!("diff --git a/f b/f\n\n--- a/f\n+++ b/f\n{HUNK}"), "f", patched()),
        (
            format!("diff --git a/f b/f\nindex 1234567..89abcde\n\n--- a/f\n+++ b/f\n \n\n{HUNK}"),
            "f",
            patched(),
        ),
        (format!("--- a/x\n+++ b/x\n\n{HUNK}\n--- a/f\n+++ b/f\n\n{HUNK}"), "f", patched()),
        (last("\\ No newline at end of file"), "f", nine.clone()),
        (last("\\No newline at end of file"), "f", nine.clone()),
        (last("\\ Kein Umbruch"), "f", nine),
    ] {
        let repo = base.copy();
        let answer = repo.aye_stdin(&["patch", "--json"], &patch).ok().json();
        assert_eq!(repo.text(path), want, "{patch}");
        let files = answer["files"].as_array().expect("files");
        assert!(files.iter().any(|file| file["path"] == path), "{patch}{answer}");
        assert_eq!(files.len(), patch.matches("+++").count(), "{patch}{answer}");
    }
    // With -p it is taken as said.
    let run =
        base.aye_stdin(&["patch", "-p1", "--format", "text"], format!("--- f\n+++ b/f\n{HUNK}"));
    run.fails("patch_invalid", 6);
    // Git would make directories of a whole path, below the repository's top.
    let create = format!("--- /dev/null\n+++ /home/me/n\n{NEW}");
    refused(&base, &create, "path_invalid");
    refused(&base, CHANGE.replace("a/", "/").replace("b/", "/"), "path_invalid");
    base.aye_stdin(&["patch", "-p3"], create).ok();
    assert_eq!(base.text("n"), "new\n");
    // What was to be put in place of removed lines may be what is missing; wrong counts alone are put right.
    let cut = &CHANGE[..CHANGE.find("+five").expect("an added line")];
    refused(&base, cut, "patch_invalid");
    base.aye_stdin(&["patch"], format!("{cut} 6\n")).ok();
    assert_eq!(base.text("f"), LINES.replace("5\n", ""));
}

#[test]
fn what_a_terminal_or_an_editor_made_of_a_patch_is_named() {
    let repo = Repo::with(&[("f", LINES)]);
    let utf16: Vec<u8> =
        format!("\u{feff}{CHANGE}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let before = |mark: &str| {
        CHANGE.lines().map(|line| format!("{mark}{line}\n")).collect::<String>().into_bytes()
    };
    for (patch, what) in [
        (utf16, "UTF-16"),
        (before("\x1b[1m"), "--no-color"),
        (before("> "), "quoted"),
        (before("| "), "quoted"),
        (before("    "), "indented"),
        (before("   1\t"), "numbered"),
    ] {
        refused(&repo, patch, "patch_invalid").notes(what);
    }
}

/// No refusal that expects what it found.
#[test]
fn a_hunk_that_fits_where_it_may_not_go_says_why() {
    let repo = Repo::with(&[("f", LINES), ("g", "one\ntwo\nthree\n")]);
    let away = "--- a/g\n+++ b/g\n@@ -3 +3 @@\n-two\n+2\n";
    refused(&repo, away, "hunk_failed");
    let twice = CHANGE.to_owned() + "@@ -4,3 +4,3 @@\n 4\n-5\n+V\n 6\n";
    refused(&repo, twice, "hunk_failed").notes("hunk 2 of f");
    let blanks = "--- a/g\n+++ b/g\n@@ -1,3 +1,3 @@\n one\n-two  \n+2\n three\n";
    refused(&repo, blanks, "hunk_failed");
}

/// Git and GNU patch pass over these without a word.
#[test]
fn a_change_that_the_patch_only_tells_of_is_named_once() {
    let repo = Repo::with(&[("f", LINES)]);
    let rule = "=".repeat(67);
    let svn = format!("Index: f\n{rule}\n");
    for line in [
        "Only in b: new",
        "Binary files a/x.png and b/x.png differ",
        "Files a/x.png and b/x.png differ",
        "Symbolic links a/l and b/l differ",
        "File a/l is a directory while file b/l is a regular file",
        "* Unmerged path g",
        "Submodule lib 1234567..89abcde:",
        "Submodule lib contains modified content",
    ] {
        for patch in [
            format!("{line}\n{CHANGE}"),
            format!("{line}\n{svn}{CHANGE}"),
            format!("{CHANGE}\n{line}\n"),
        ] {
            let run = repo.aye_stdin(&["patch", "-n", "--json"], &patch).ok();
            assert_eq!(run.out().matches(line).count(), 1, "{patch}\n{run}");
        }
        refused(&repo, format!("Now:\n{line}\n"), "patch_invalid");
    }
    // Where the change is below, nothing is missing.
    let cvs = "RCS file: /cvs/f,v\nretrieving revision 1.2\ndiff -u -r1.2 f\n";
    for patch in [
        format!("{svn}--- f\n+++ f\n{HUNK}"),
        format!(
            "{svn}{cvs}--- f\t1 Jan 2001 00:00:00 -0000\t1.2\n+++ f\t2 Jan 2001 00:00:00 -0000\n{HUNK}"
        ),
        format!("{svn}diff --git a/f b/f\n--- a/f\t(revision 2)\n+++ b/f\n{HUNK}"),
    ] {
        let answer = repo.aye_stdin(&["patch", "-n", "--json"], &patch).ok().json();
        let notes = answer["notes"].as_array().cloned().unwrap_or_default();
        let is_line =
            |note: &serde_json::Value| note.as_str().is_some_and(|it| it.starts_with("line "));
        assert!(!notes.iter().any(is_line), "{patch}\n{answer}");
    }
    // `git diff --no-index f /tmp/g`: git moves the file without a word.
    let patch = format!("diff --git a/f b/tmp/g\n--- a/f\n+++ b/tmp/g\n{HUNK}");
    let answer = repo.aye_stdin(&["patch", "--json"], &patch).ok().json();
    assert_eq!(answer["notes"].as_array().map(Vec::len), Some(1), "{answer}");
    assert!(!repo.exists("f") && repo.text("tmp/g") == patched());
}

/// What a binary file holds need not be known to take it away, but that it is the one that is meant.
#[test]
fn a_binary_file_is_deleted_by_its_full_id() {
    let repo = Repo::with(&[("x.png", "\0\u{1}"), ("y.png", "\0\u{2}")]);
    repo.git(&["rm", "--quiet", "x.png"]);
    let patch = repo.git(&["diff", "--cached", "--full-index"]) + "\n";
    let short = repo.git(&["diff", "--cached"]) + "\n";
    repo.git(&["reset", "--quiet", "--hard"]);
    refused(&repo, short, "patch_invalid");
    let other = patch.replace("x.png", "y.png");
    refused(&repo, other, "binary_mismatch");
    repo.aye_stdin(&["patch"], &patch).ok();
    assert!(!repo.exists("x.png") && repo.exists("y.png"));
    let back = repo.aye_stdin(&["patch", "-R", "--format", "text"], &patch);
    back.fails("patch_invalid", 6);
}

/// Git and GNU patch leave an empty file.
#[test]
fn a_file_that_subversion_calls_nonexistent_is_none() {
    let repo = Repo::with(&[("d/f", "1\n"), ("g", "1\n")]);
    let gone =
        "Index: d/f\n====\n--- d/f\t(revision 5)\n+++ d/f\t(nonexistent)\n@@ -1 +0,0 @@\n-1\n";
    let new = "Index: g\n====\n--- g\t(nonexistent)\n+++ g\t(working copy)\n@@ -0,0 +1 @@\n+2\n";
    refused(&repo, new, "file_exists");
    repo.remove("g");
    repo.aye_stdin(&["patch"], gone.to_owned() + new).ok();
    assert!(!repo.exists("d/f"));
    assert_eq!(repo.text("g"), "2\n");
}

/// What is encoded for the mail is not what the patch puts into a file, nor is it mere prose.
#[test]
fn a_patch_in_an_encoded_mail_is_refused() {
    let mail = |encoding: &str, text: &str| {
        format!(
            "From: a <a@b>\nContent-Type: text/plain; charset=UTF-8\n\
             Content-transfer-encoding: {encoding}\nSubject: [PATCH] x\n\nWhy.\n---\n{text}"
        )
    };
    let repo = Repo::with(&[("f", LINES)]);
    let quoted = mail("quoted-printable", &CHANGE.replace("five", "a =3D b"));
    let base64 = mail("base64", "").replace("Why.\n---\n", &("A".repeat(76) + "\nAAAA\n"));
    for patch in [quoted, base64.clone() + "\n" + CHANGE, base64] {
        refused(&repo, patch, "patch_invalid").notes("git mailinfo");
    }
    // Decoded by the mail program, or with nothing in it to decode; a signature beside the patch.
    let signed = "\n--_b\nContent-Type: application/pkcs7-signature\n\
                  Content-Transfer-Encoding: base64\n\n"
        .to_owned()
        + &"A".repeat(76);
    for (encoding, added) in [
        ("quoted-printable", "a = b"),
        ("quoted-printable", "a=3D == b"),
        ("quoted-printable", "five"),
        ("base64", "five"),
        ("8bit", "a =3D b"),
    ] {
        let copy = repo.copy();
        let text = CHANGE.replace("five", added);
        copy.aye_stdin(&["patch"], mail(encoding, &text) + &signed).ok();
        assert_eq!(copy.text("f"), LINES.replace('5', added), "{encoding}");
    }
}

/// Half of a change in a second fence, without its header or above it: nothing is applied in part.
#[test]
fn changes_without_a_file_header_are_not_passed_over() {
    let repo = Repo::with(&[("f", LINES), ("g", LINES)]);
    let (head, tail) = CHANGE.split_at(CHANGE.find("-5").expect("a removed line"));
    let fenced = |text: &str| format!("Then:\n\n```diff\n{text}```\n");
    for patch in [
        fenced(head) + &fenced(tail),
        fenced(CHANGE) + &fenced("@@\n-5\n+V\n"),
        fenced(CHANGE) + &fenced(" 4\n-5\n+V\n"),
        format!("{CHANGE}\nAnd g:\n@@ fn x()\n 4\n-5\n+V\n"),
        format!("rename from f\nrename to h\n{CHANGE}"),
        format!("old mode 100644\nnew mode 100755\n{CHANGE}"),
        format!("diff --git a/f b/f\n{}", CHANGE.replace("+++ b/f\n", "")),
    ] {
        refused(&repo, patch, "patch_invalid");
    }
    // Where git and GNU patch take it for text: a diff without context below a patch of another file.
    for (text, line) in [
        ("5c5\n< 5\n---\n> V\n", 10),
        ("\nIndex: g\n=====\n5c5\n< 5\n---\n> V\n", 13),
        ("Index: g\n5c\nV\n.\n", 11),
    ] {
        refused(&repo, CHANGE.to_owned() + text, "patch_invalid").notes(&format!("line {line} "));
    }
    // What a fence may hold besides.
    let stat = fenced(&format!(" f | 2 +-\n 1 file changed\n\n{CHANGE}"));
    let list = "Why:\n- a list\n+ and more\n\n```yaml\n- item\n```\n";
    repo.aye_stdin(&["patch"], format!("{list}{stat}{list}")).ok();
    assert_eq!(repo.text("f"), patched());
}

/// `hg export --git` and `hg log --patch --git` of three commits, whose first message quotes what
/// looks like a patch: a file that a commit makes is another's to rename.
#[test]
fn changesets_of_mercurial_build_on_each_other() {
    let export = |id: &str, message: &str| {
        format!(
            "# HG changeset patch\n# User me\n# Date 1795409072 0\n\
             #      Mon Nov 23 04:44:32 2026 +0000\n# Node ID {id}\n# Parent  {id}\n{message}\n\n"
        )
    };
    let log = |id: &str, message: &str| {
        format!(
            "changeset:   3:{id}\ntag:         tip\nuser:        me\n\
             date:        Mon Nov 23 04:44:32 2026 +0000\ndescription:\n{message}\n\n\n"
        )
    };
    let quoting = "Why\n\n- a list\n@@ -1 +1 @@\n-x\n+y\nOnly in a: b";
    let add =
        format!("diff --git a/one b/one\nnew file mode 100644\n--- /dev/null\n+++ b/one\n{NEW}");
    let rename = "diff --git a/one b/two\nrename from one\nrename to two\n";
    let edit = "diff --git a/two b/two\n--- a/two\n+++ b/two\n@@ -1,1 +1,2 @@\n new\n+more\n";
    for header in [&export as &dyn Fn(&str, &str) -> String, &log] {
        let repo = Repo::with(&[("f", LINES)]);
        let patch = header("a219156df95c", quoting)
            + &add
            + &header("9645aeca854f", "Rename it")
            + rename
            + &header("cc8f5e0bc640", "Fill its place")
            + &add
            + edit;
        let run = repo.aye_stdin(&["patch", "--json"], &patch).ok();
        assert!(!run.out().contains("notes"), "{run}");
        assert_eq!((repo.text("one"), repo.text("two")), ("new\n".into(), "new\nmore\n".into()));
    }
}

/// Forms of git that are for the eye.
#[test]
fn what_git_prints_for_the_eye_is_refused_by_its_name() {
    let repo = Repo::with(&[("f", LINES), ("gone", "x\n")]);
    repo.git(&["checkout", "--quiet", "-b", "topic"]);
    repo.write("f", LINES.replace('5', "V"));
    repo.git(&["commit", "--quiet", "--all", "-m", "V"]);
    repo.git(&["checkout", "--quiet", "-"]);
    repo.write("f", patched());
    repo.git(&["rm", "--quiet", "gone"]);
    for (args, option) in [
        (&["diff", "HEAD", "--word-diff"][..], "--word-diff"),
        (&["diff", "HEAD", "--word-diff=porcelain"], "--word-diff"),
        (&["diff", "HEAD", "-D", "--", "gone"], "--irreversible-delete"),
    ] {
        refused(&repo, repo.git(args) + "\n", "patch_invalid").notes(option);
    }
    repo.git(&["commit", "--quiet", "--all", "-m", "five"]);
    repo.program("git").args(&["merge", "--quiet", "topic"]).run();
    repo.write("f", LINES.replace('5', "5.0"));
    repo.git(&["commit", "--quiet", "--all", "-m", "Both"]);
    for option in ["--cc", "-c", "--remerge-diff"] {
        refused(&repo, repo.git(&["show", option]) + "\n", "patch_invalid").notes("merge");
    }
}
