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
        // A mode alone is a change, and an empty file is one.
        let line = patch[..cut].rsplit('\n').find(|line| !line.is_empty()).unwrap_or_default();
        let counted = line.starts_with('+') && patch[..cut].contains("@@ -0,0 +1 @@\n+");
        let whole = patch[..cut].ends_with('\n')
            && ["new mode 100755", "new file mode 100644"].contains(&line);
        let sound = begun || counted || whole;
        assert!(sound || read(&files, &patch[..cut]).is_err(), "cut at {cut}: {}", &patch[..cut]);
    }
    repo.aye_stdin(&["patch"], &patch).ok();
    assert_eq!(repo.text("longer"), patched());
    // A name that is cut off is another name.
    let rename =
        "diff --git a/longer b/moved\nsimilarity index 100%\nrename from longer\nrename to ";
    refused(&repo, format!("{rename}mov"), "patch_invalid");
    repo.aye_stdin(&["patch"], format!("{rename}moved\n")).ok();
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
    for (arguments, told) in [
        (json!({"input": envelope, "call_id": 1}), "parameter: patch"),
        (json!({"patch": envelope.replace('\n', "\\n")}), "one line"),
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
    for (patch, path, does_git) in [
        (git("1/", "2/"), "d/n", true),
        (git("src/", "dst/"), "d/n", true),
        // Without a prefix git has to be told; not even where a directory is called like a prefix.
        (git("", ""), "d/n", false),
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
