//! Commits as git prints them for mail and in logs: what a commit says of itself is no patch, and
//! each commit is judged on the result of the one before.

use crate::support::Repo;

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// What a message may hold that is a patch elsewhere, or half of one.
const MESSAGES: [&str; 7] = [
    "Why\n\n```diff\n-a\n+b\n```",
    "Why\n\n@@ is an operator\n@@ -3,5 +3,5 @@ is a hunk\n-x",
    "Why\n\nnew mode 100755\nrename from here\nrename to there",
    "Why\n\nBinary files are fun, and differ\nOnly in theory: yes",
    "Why\n\nA line of stars\n***************\nand more",
    "Why\n\n*** Begin Patch\n*** Update File: f\n-3\n+three\n*** End Patch",
    "Why\n\ndiff -r a b\n5c5",
];

/// A repository at its first commit, and the range of two with `message` that change `f`.
fn base(message: &str) -> (Repo, &'static str) {
    let repo = Repo::with(&[("f", LINES)]);
    repo.git(&["tag", "base"]);
    repo.write("f", LINES.replace('5', "five"));
    repo.git(&["commit", "--quiet", "--all", "-m", message]);
    repo.write("f", LINES.replace('5', "V"));
    repo.git(&["commit", "--quiet", "--all", "-m", message]);
    repo.git(&["tag", "tip"]);
    repo.git(&["reset", "--quiet", "--hard", "base"]);
    (repo, "base..tip")
}

#[test]
fn what_a_commit_says_of_itself_is_no_patch() {
    for message in MESSAGES {
        let (repo, range) = base(message);
        for args in [
            &["format-patch", "--stdout", range][..],
            &["format-patch", "--stdout", "--attach", range],
            &["format-patch", "--stdout", "--cover-letter", "--zero-commit", range],
            &["log", "--reverse", "-p", "--pretty=mboxrd", range],
            &["log", "--reverse", "-p", range],
            &["log", "--reverse", "-p", "--abbrev-commit", range],
        ] {
            let copy = repo.copy();
            let run = copy.aye_stdin(&["patch", "--json"], copy.git(args) + "\n").ok();
            assert_eq!(copy.text("f"), LINES.replace('5', "V"), "{args:?} {message}");
            assert!(!run.out().contains("notes"), "{args:?} {message} {run}");
        }
    }
}

/// The message ends where the patch begins: a change that lost its header is not passed over.
#[test]
fn what_stands_below_the_message_is_no_message() {
    let (repo, _) = base("Why");
    let mail = repo.git(&["format-patch", "--stdout", "-1", "tip^"]) + "\n";
    let hunk = "@@ -1,2 +1,2 @@\n 1\n-2\n+two\n";
    for patch in [
        mail.replace("---\n", &format!("---\n{hunk}")),
        mail.replace("-- \n", &format!("-- \n\n```diff\n{hunk}```\n")),
    ] {
        let run = repo.aye_stdin(&["patch", "--format", "text"], &patch);
        run.fails("patch_invalid", 6);
        assert_eq!(repo.text("f"), LINES);
    }
}

/// Names are those of the moment: `a` is renamed twice, and another file takes its name.
#[test]
fn each_commit_of_a_log_builds_on_the_one_before() {
    let repo = Repo::with(&[("a", LINES), ("x", "x\n")]);
    let start = repo.git(&["rev-parse", "HEAD"]);
    for (from, to) in [("a", "b"), ("x", "a"), ("b", "x"), ("a", "b")] {
        repo.git(&["mv", from, to]);
        repo.git(&["commit", "--quiet", "-m", "Move"]);
    }
    let (tip, range) = (repo.snapshot(), format!("{start}.."));
    let options = [
        "--abbrev-commit", "--left-right", "--pretty=raw", "--oneline", "--format=%H",
        "--pretty=oneline",
    ];
    let patches =
        options.map(|option| repo.git(&["log", "--reverse", "-p", "-M", option, &range]) + "\n");
    let senders = repo.git(&["format-patch", "--stdout", "-M", &range]) + "\n";
    repo.git(&["reset", "--quiet", "--hard", &start]);
    let senders = senders
        .lines()
        .map(|line| match line.strip_prefix("From ").and_then(|rest| rest.split_once(' ')) {
            Some((_, date)) => format!("From mboxrd@z {date}\n"),
            None => format!("{line}\n"),
        })
        .collect();
    for patch in patches.into_iter().chain([senders]) {
        let copy = repo.copy();
        copy.aye_stdin(&["patch"], &patch).ok();
        assert!(copy.snapshot() == tip, "{patch}");
    }
}

/// `git log --stat --format=` puts the next summary right below the last hunk, where it looks like
/// one more line of context.
#[test]
fn a_summary_right_below_a_hunk_is_no_context() {
    let (repo, range) = base("Why");
    let log = repo.git(&["log", "--reverse", "-p", "--stat", "--format=", range]) + "\n";
    assert!(log.contains("\n 7\n f | 2 +-\n") || log.contains("\n 8\n f | 2 +-\n"), "{log}");
    repo.write("../it.diff", &log);
    repo.git(&["apply", "--check", "../it.diff"]);
    repo.aye(&["patch", "../it.diff"]).ok();
    assert_eq!(repo.text("f"), LINES.replace('5', "V"));
}
