//! Patches that other programs wrote, and what mail, editors and terminals leave of a patch: right
//! or refused, and never in another place.

use crate::support::Repo;
use crate::support::patches::{after, files, read};
use aye::changeset::patch;

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
const CHANGE: &str = "--- a/f\n+++ b/f\n@@ -3,5 +3,5 @@\n 3\n 4\n-5\n+five\n 6\n 7\n";

/// The names of a new file have a prefix where their two forms in the header differ.
#[test]
fn a_new_file_is_put_where_git_puts_it_whatever_the_prefixes() {
    let base = Repo::with(&[("d/f", LINES)]);
    let body = "@@ -0,0 +1 @@\n+new\n";
    let epoch = "1970-01-01 00:00:00.000000000 +0000";
    let now = "2026-11-22 01:55:54.123456789 +0000";
    let git = |old: &str, new: &str| {
        format!(
            "diff --git {old}d/n {new}d/n\nnew file mode 100644\nindex 0000000..3e75765\n\
             --- /dev/null\n+++ {new}d/n\n{body}"
        )
    };
    let plain =
        |old: &str, new: &str| format!("--- {old}d/n\t{epoch}\n+++ {new}d/n\t{now}\n{body}");
    for patch in [
        git("1/", "2/"),
        git("i/", "w/"),
        git("src/", "dst/"),
        plain("pkg-1.0.orig/", "pkg-1.0/"),
        plain("old/", "new/"),
    ] {
        let (ours, theirs) = (base.copy(), base.copy());
        ours.aye_stdin(&["patch"], &patch).ok();
        theirs.program("git").args(&["apply", "-"]).stdin(&patch).run().ok();
        assert_eq!(ours.text("d/n"), "new\n", "{patch}");
        assert!(ours.snapshot() == theirs.snapshot(), "{patch}");
    }
    // Without a prefix git has to be told.
    for patch in [git("", ""), plain("", "")] {
        let repo = base.copy();
        repo.aye_stdin(&["patch"], &patch).ok();
        assert_eq!(repo.text("d/n"), "new\n", "{patch}");
    }
    // Not even where a directory is called like a prefix: the two would not be the same.
    for directory in ["b/", "c/", "o/"] {
        let repo = base.copy();
        let patch = git("", "").replace("d/n", &format!("{directory}n"));
        repo.aye_stdin(&["patch"], &patch).ok();
        assert_eq!(repo.text(&format!("{directory}n")), "new\n", "{patch}");
        repo.aye_stdin(&["patch", "-R"], &patch).ok();
        assert!(repo.snapshot() == base.snapshot(), "{patch}");
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
        for (lines, beside) in [(LINES.replace('5', "five"), "n"), (LINES.to_owned(), "b/n")] {
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
    // A copy, with hunks.
    let base = Repo::with(&[("a.txt", LINES)]);
    let work = base.copy();
    work.write("r/a.txt", LINES.replace('5', "five"));
    work.git(&["add", "--all"]);
    let patch = work.git(&["diff", "--cached", "-C", "-C", "--no-prefix", "HEAD"]) + "\n";
    assert!(patch.contains("copy from a.txt\ncopy to r/a.txt"), "{patch}");
    base.aye_stdin(&["patch"], &patch).ok();
    assert_eq!(base.text("r/a.txt"), work.text("r/a.txt"));
    assert_eq!(base.text("a.txt"), LINES);
}

/// Git would make directories of a whole path, below the repository's top.
#[test]
fn a_whole_path_is_refused_unless_it_is_said_what_to_take_off() {
    let repo = Repo::with(&[("f", LINES)]);
    let create = "--- /dev/null\n+++ /home/me/n\n@@ -0,0 +1 @@\n+new\n";
    let change = CHANGE.replace("a/", "/").replace("b/", "/");
    for patch in [create, &change] {
        let run = repo.aye_stdin(&["patch", "--format", "text"], patch);
        run.fails("path_invalid", 6);
    }
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    repo.aye_stdin(&["patch", "-p3"], create).ok();
    assert_eq!(repo.text("n"), "new\n");
}

/// What was to be put in place of removed lines may be what is missing.
#[test]
fn a_patch_cut_off_after_removed_lines_removes_nothing() {
    let repo = Repo::with(&[("f", LINES)]);
    let cut = &CHANGE[..CHANGE.find("+five").expect("an added line")];
    repo.aye_stdin(&["patch", "--format", "text"], cut).fails("patch_invalid", 6);
    assert_eq!(repo.text("f"), LINES);
    // Wrong counts alone are put right.
    repo.aye_stdin(&["patch"], format!("{cut} 6\n")).ok();
    assert_eq!(repo.text("f"), LINES.replace("5\n", ""));
}

#[test]
fn a_mark_before_the_patch_is_no_part_of_it() {
    let repo = Repo::with(&[("f", LINES)]);
    repo.aye_stdin(&["patch"], format!("\u{feff}{CHANGE}")).ok();
    assert_eq!(repo.text("f"), LINES.replace('5', "five"));
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
        let run = repo.aye_stdin(&["patch", "--format", "text"], patch).fails("patch_invalid", 6);
        run.notes(what);
    }
    assert_eq!(repo.text("f"), LINES);
}

/// No refusal that expects what it found.
#[test]
fn a_hunk_that_fits_where_it_may_not_go_says_why() {
    let repo = Repo::with(&[("f", LINES), ("g", "one\ntwo\nthree\n")]);
    let away = "--- a/g\n+++ b/g\n@@ -3 +3 @@\n-two\n+2\n";
    repo.aye_stdin(&["patch", "--format", "text"], away).fails("hunk_failed", 5);
    let twice = CHANGE.to_owned() + "@@ -4,3 +4,3 @@\n 4\n-5\n+V\n 6\n";
    let run = repo.aye_stdin(&["patch", "--format", "text"], twice).fails("hunk_failed", 5);
    run.notes("hunk 2 of f");
    let blanks = "--- a/g\n+++ b/g\n@@ -1,3 +1,3 @@\n one\n-two  \n+2\n three\n";
    repo.aye_stdin(&["patch", "--format", "text"], blanks).fails("hunk_failed", 5);
    assert_eq!(repo.text("f"), LINES);
}

/// Git and GNU patch pass over these without a word.
#[test]
fn a_change_that_the_patch_only_tells_of_is_named() {
    for line in [
        "Only in b: new",
        "Binary files a/x.png and b/x.png differ",
        "Files a/x.png and b/x.png differ",
        "Submodule lib 1234567..89abcde:",
    ] {
        let repo = Repo::with(&[("f", LINES)]);
        for patch in [format!("{line}\n{CHANGE}"), format!("{CHANGE}\n{line}\n")] {
            let answer = repo.aye_stdin(&["patch", "-n", "--json"], patch).ok().json();
            assert!(answer["notes"][0].as_str().expect("a note").contains(line), "{answer:#}");
        }
        let run = repo.aye_stdin(&["patch", "--format", "text"], format!("Now:\n{line}\n"));
        run.fails("patch_invalid", 6);
    }
}

/// What a binary file holds need not be known to take it away, but that it is the one that is meant.
#[test]
fn a_binary_file_is_deleted_by_its_full_id() {
    let repo = Repo::with(&[("x.png", "\0\u{1}"), ("y.png", "\0\u{2}")]);
    repo.git(&["rm", "--quiet", "x.png"]);
    let patch = repo.git(&["diff", "--cached", "--full-index"]) + "\n";
    let short = repo.git(&["diff", "--cached"]) + "\n";
    repo.git(&["reset", "--quiet", "--hard"]);
    repo.aye_stdin(&["patch", "--format", "text"], short).fails("patch_invalid", 6);
    let other = patch.replace("x.png", "y.png");
    repo.aye_stdin(&["patch", "--format", "text"], other).fails("binary_mismatch", 5);
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
    repo.aye_stdin(&["patch", "--format", "text"], new).fails("file_exists", 5);
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
        let run = repo.aye_stdin(&["patch", "--format", "text"], patch).fails("patch_invalid", 6);
        run.notes("git mailinfo");
    }
    assert_eq!(repo.text("f"), LINES);
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
        repo.aye_stdin(&["patch", "--format", "text"], &patch).fails("patch_invalid", 6);
        assert_eq!(repo.text("f"), LINES, "{patch}");
    }
    // What a fence may hold besides.
    let stat = fenced(&format!(" f | 2 +-\n 1 file changed\n\n{CHANGE}"));
    let list = "Why:\n- a list\n+ and more\n\n```yaml\n- item\n```\n";
    repo.aye_stdin(&["patch"], format!("{list}{stat}{list}")).ok();
    assert_eq!(repo.text("f"), LINES.replace('5', "five"));
}
