//! Patches as they arrive: in mail, with notes below, cut off, without prefixes, and for files
//! that start with a byte-order mark. git is asked wherever it takes the patch.

use crate::support::patches::{after, files, of, read};
use crate::support::{self, Repo};
use serde_json::Value;

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
const BOM: &str = "\u{feff}";

fn answer(run: &support::Run) -> Value {
    serde_yaml::from_slice(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"))
}

/// A repository at the commit before the last, which changed `f` twice.
fn changed() -> Repo {
    let repo = Repo::with(&[("f", LINES)]);
    repo.write("f", LINES.replace('5', "five"));
    repo.git(&["commit", "--quiet", "--all", "-m", "Five"]);
    repo
}

/// What stands below the last line that a hunk counts is text.
#[test]
fn text_below_the_last_hunk_is_text() {
    let repo = changed();
    let signed = "--signature=- two\n+ three";
    let show = repo.git(&["show"]);
    let patches = [
        repo.git(&["format-patch", "-1", "--stdout", "--attach"]),
        repo.git(&["format-patch", "-1", "--stdout", "--inline"]),
        repo.git(&["format-patch", "-1", "--stdout", signed]),
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
        let run = repo.aye(&["patch", "../it.diff"]).ok();
        assert_eq!(repo.text("f"), LINES.replace('5', "five"), "{patch}");
        assert_eq!(answer(&run)["files"][0]["hunks"][0]["recounted"], Value::Null, "{patch}");
        assert_eq!(answer(&repo.aye(&["patch", "../it.diff"]).ok())["already_applied"], true);
        repo.aye(&["patch", "-R", "../it.diff"]).ok();
        assert_eq!(repo.text("f"), LINES, "{patch}");
    }
}

/// What puts CRLF at the ends of all lines puts them into no file.
#[test]
fn a_patch_that_came_with_crlf_makes_no_crlf_files() {
    let repo = Repo::with(&[("f", LINES), ("empty", ""), ("crlf", "1\r\n2\r\n")]);
    repo.write("f", LINES.replace('5', "five"));
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
    assert!(error.is(&aye::changeset::patch::codes::HUNK_FAILED), "{error}");
}

#[test]
fn a_byte_order_mark_stays_in_front_unless_the_patch_changes_it() {
    let unified = |body: &str| format!("--- a/f\n+++ b/f\n{body}");
    let envelope =
        |body: &str| format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n");
    let marked = format!("{BOM}one\ntwo\n");
    for (before, patch, want) in [
        (&marked, unified("@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"), format!("{BOM}ONE\ntwo\n")),
        (
            &marked,
            unified("@@ -1,2 +1,3 @@\n+zero\n one\n two\n"),
            format!("{BOM}zero\none\ntwo\n"),
        ),
        (&marked, unified("@@ -1,2 +1 @@\n-one\n two\n"), format!("{BOM}two\n")),
        (&marked, unified("@@ -1,2 +1,2 @@\n one\n-two\n+2\n"), format!("{BOM}one\n2\n")),
        (&marked, envelope("@@\n+zero\n one\n"), format!("{BOM}zero\none\ntwo\n")),
        (&marked, envelope("@@\n-one\n+ONE\n"), format!("{BOM}ONE\ntwo\n")),
        (&marked, envelope("@@\n-one\n two\n"), format!("{BOM}two\n")),
        // The patch speaks of it.
        (&marked, envelope(&format!("@@\n-{BOM}one\n+one\n")), "one\ntwo\n".into()),
        (&marked, envelope(&format!("@@\n-{BOM}one\n+{BOM}1\n")), format!("{BOM}1\ntwo\n")),
        (&"one\ntwo\n".into(), envelope(&format!("@@\n-one\n+{BOM}one\n two\n")), marked.clone()),
        (
            &marked.replace('\n', "\r\n"),
            unified(&format!("@@ -1,2 +1,2 @@\n-{BOM}one\n+one\n two\n")),
            "one\r\ntwo\r\n".into(),
        ),
        // Made for a file that had one: this one has none, and gets none.
        (
            &"one\ntwo\n".into(),
            unified(&format!("@@ -1,2 +1,2 @@\n-{BOM}one\n+{BOM}ONE\n two\n")),
            "ONE\ntwo\n".into(),
        ),
    ] {
        let before = of(before.as_str());
        let compiled = read(&before, &patch).unwrap_or_else(|error| panic!("{error}: {patch}"));
        assert_eq!(after(&before, &compiled), of(want), "{patch}");
    }
}

/// Where git applies a patch byte for byte, its bytes are the result.
#[test]
fn a_byte_order_mark_that_git_sees_as_text_is_text() {
    let repo = Repo::with(&[("f", format!("{BOM}one\ntwo\n").as_str())]);
    for after in [format!("zero\n{BOM}one\ntwo\n"), "one\ntwo\n".into(), format!("{BOM}{BOM}one\n")]
    {
        repo.write("f", &after);
        let patch = repo.git(&["diff"]) + "\n";
        repo.git(&["checkout", "--quiet", "f"]);
        repo.aye_stdin(&["patch"], &patch).ok();
        assert_eq!(repo.text("f"), after, "{patch}");
        repo.git(&["checkout", "--quiet", "f"]);
    }
}

#[test]
fn a_pure_rename_without_prefixes_needs_no_option() {
    for (old, new) in [("f", "x/g"), ("x/y/f", "x/z"), ("x/f", "x/g"), ("x/y/f", "g")] {
        for copy in [false, true] {
            let repo = Repo::with(&[(old, LINES)]);
            repo.write(new, LINES);
            if !copy {
                repo.remove(old);
            }
            repo.git(&["add", "--all"]);
            for prefix in ["--no-prefix", "--src-prefix=a/"] {
                let patch =
                    repo.git(&["diff", "--cached", "-C", "--find-copies-harder", prefix]) + "\n";
                repo.git(&["stash", "--quiet"]);
                repo.write("../it.diff", &patch);
                repo.git(&["apply", "--check", "../it.diff"]);
                repo.aye(&["patch", "../it.diff"]).ok();
                assert_eq!(
                    (repo.text(new).as_str(), repo.path(old).exists()),
                    (LINES, copy),
                    "{patch}"
                );
                repo.aye(&["patch", "-R", "../it.diff"]).ok();
                assert!(!repo.path(new).exists() && repo.path(old).exists(), "{patch}");
                repo.git(&["stash", "pop", "--quiet", "--index"]);
            }
        }
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
                assert!(
                    error.is(&aye::changeset::patch::codes::PATCH_INVALID),
                    "cut at {cut}: {error}"
                );
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
    repo.write("longer", LINES.replace('5', "five"));
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
    assert_eq!(repo.text("longer"), LINES.replace('5', "five"));
    // A name that is cut off is another name.
    let rename =
        "diff --git a/longer b/moved\nsimilarity index 100%\nrename from longer\nrename to ";
    let run = repo.aye_stdin(&["patch", "--format", "text"], format!("{rename}mov"));
    run.fails("patch_invalid", 6);
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
        let run = repo.aye_stdin(&["patch", "--format", "text"], &patch);
        run.fails("patch_invalid", 6).notes(&format!("line {line} "));
        assert_eq!(repo.text("f"), LINES.replace('5', "five"), "{patch}");
    }
    // A header of the one above the header of the other is a habit.
    repo.aye_stdin(&["patch"], format!("*** Update File: f\n{unified}{end}")).ok();
    assert_eq!(repo.text("f"), LINES.replace('5', "V"));
}

/// Ways of packing a patch that cannot be taken apart safely are told from each other.
#[test]
fn a_patch_that_was_packed_wrongly_is_told_how() {
    let repo = changed();
    let envelope = "*** Begin Patch\n*** Update File: f\n@@\n-x\n+y\n*** End Patch\n";
    let indented: String = envelope.lines().map(|line| format!("    {line}\n")).collect();
    for (arguments, told) in [
        (serde_json::json!({"input": envelope, "call_id": 1}), "parameter: patch"),
        (serde_json::json!({"patch": envelope.replace('\n', "\\n")}), "one line"),
        (serde_json::json!({"patch": indented}), "indented"),
        (
            serde_json::json!({"name": "functions.apply_patch", "arguments": {"patch": envelope}}),
            "apply_patch, ",
        ),
    ] {
        repo.aye_stdin(&["call", "apply_patch"], arguments.to_string()).exits(6).says(told);
    }
}
