//! `aye review` of what does not fit the present files: the conflict is shown, refused as it is, and
//! settled by an edit that is recorded like any other.

use crate::support::Repo;
use crate::support::record::rewrite;
use crate::support::terminal::Terminal;
use serde_json::Value;

/// A file of numbered lines whose line 5 was proposed to be `A`, and is `changed` by now; the id.
fn conflict() -> (Repo, String) {
    let lines: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    let repo = Repo::with(&[("f.txt", lines.as_str())]);
    let id = rewrite(&repo, "f.txt", &lines.replace("line 5", "A"), "why");
    repo.write("f.txt", lines.replace("line 5", "changed"));
    repo.git(&["commit", "-qam", "change"]);
    (repo, id)
}

/// A review whose editor runs the shell commands `script` on the file `$1`.
fn review(repo: &Repo, script: &str) -> Terminal {
    Terminal::dumb(repo.cmd(&["review"]).env("GIT_EDITOR", repo.editor(script)))
}

/// Makes of what stands between the markers the one line `text`.
fn settle(text: &str) -> String {
    format!("sed -i -e '/^<<<<<<</,/^>>>>>>>/c\\{text}' \"$1\"\n")
}

#[test]
fn a_conflict_is_settled_by_an_edit() {
    let (repo, id) = conflict();
    let mut t = review(&repo, &settle("merged"));
    t.sees("! conflict: f.txt");
    t.sees("+<<<<<<< now").sees(" changed").sees("+|||||||").sees("+line 5").sees("+=======");
    t.sees("+A").sees("+>>>>>>> proposed").sees("Settle");
    for key in ["y", "a", "A"] {
        t.types(key).sees("fit");
    }
    t.types("p").sees("-line 5").sees("+A").sees("Settle");
    t.types("e").sees("-changed").sees("+merged").sees("write:").sees("-changed");
    t.sees("+merged").sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert!(repo.text("f.txt").contains("line 4\nmerged\nline 6\n"));
    // It is a revision, so the proposer hears what was made of it.
    let heard = repo.agent("codex", &["wait", &id, "--json"]).ok().json();
    assert_eq!(heard["revised"]["by"], "Ada Reviewer");
    assert_eq!(heard["revised"]["reason"], "edited");
    let diff = heard["revised"]["diff"].as_str().expect("a diff");
    assert!(diff.contains("-A\n+merged\n"), "{diff}");
    repo.git(&["commit", "-qam", "settled"]);
    repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
}

#[test]
fn what_the_markers_still_stand_in_is_not_taken() {
    let (repo, _) = conflict();
    let mut t = review(&repo, "true\n");
    t.sees("Settle").types("e").sees("markers");
    t.sees("Settle").types("q").sees("Nothing");
    assert_eq!(t.ends(), 0);
    let mut t = review(&repo, "sed -i s/^A/B/ \"$1\"\n");
    t.sees("Settle").types("e").sees("markers");
    t.sees("Settle").types("q");
    assert_eq!(t.ends(), 0);
    assert!(repo.text("f.txt").contains("changed"));
}

#[test]
fn what_fits_is_taken_beside_a_conflict_that_is_left_out() {
    let lines: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    let repo = Repo::with(&[("f.txt", lines.as_str()), ("g.txt", "g\n")]);
    let edited = lines.replace("line 5\n", "A\n").replace("line 30\n", "B\n");
    rewrite(&repo, "f.txt", &edited, "why");
    // Long enough for the markers to be hunks of their own.
    let now: String = (0..12).map(|n| format!("now {n}\n")).collect();
    repo.write("f.txt", lines.replace("line 5\n", &now));
    repo.git(&["commit", "-qam", "change"]);
    let mut t = review(&repo, "true\n");
    t.sees("+<<<<<<< now").sees(" now 11").sees("+>>>>>>> proposed").sees("(1/2) Settle");
    t.types("n").sees("+B").sees("(2/2)").types("y");
    t.sees("apply 1 of 2 hunks").sees("+B").sees("Write").types("y").sees("partially");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("f.txt"), lines.replace("line 5\n", &now).replace("line 30\n", "B\n"));
}

#[test]
fn a_decision_from_an_earlier_session_takes_no_conflict() {
    let (repo, _) = conflict();
    let mut t = review(&repo, &settle("merged"));
    t.sees("Settle").types("e").sees("Write").types("qk");
    assert_eq!(t.ends(), 0);
    // Whoever can write the directory says that all of it was taken.
    let kept = ".git/aye/answers";
    let text = repo.text(kept);
    let plant = |change: &dyn Fn(&mut Value)| {
        let mut planted: Value = serde_json::from_str(&text).expect("JSON");
        let answers = planted.as_object_mut().expect("revisions").values_mut().next();
        change(answers.expect("answers"));
        repo.write(kept, planted.to_string());
    };
    plant(&|answers| answers["decisions"][0]["decision"] = "take".into());
    let mut t = review(&repo, "true\n");
    t.sees("Settle").types("q").sees("Nothing");
    assert_eq!(t.ends(), 0);
    plant(&|answers| answers["outcome"] = "apply".into());
    let mut t = review(&repo, "true\n");
    t.sees("Settle").types("qk");
    assert_eq!(t.ends(), 0);
    // The editor begins with an edit.
    repo.write(kept, &text);
    let mut t = review(&repo, "true\n");
    t.sees("edited earlier").sees("Settle").types("e").sees("+merged");
    t.sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert!(repo.text("f.txt").contains("line 4\nmerged\nline 6\n"));
}

#[test]
fn a_file_that_is_gone_is_made_anew_by_an_edit_alone() {
    let (repo, _) = conflict();
    repo.git(&["rm", "-q", "f.txt"]);
    repo.git(&["commit", "-qm", "gone"]);
    let mut t = review(&repo, "true\n");
    t.sees("Settle").types("e").sees("unchanged").sees("Settle").types("q");
    assert_eq!(t.ends(), 0);
    let mut t = review(&repo, "echo more >>\"$1\"\n");
    t.sees("! conflict: f.txt");
    t.sees("Settle").types("y").sees("fit").types("e").sees("+more");
    t.sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert!(repo.text("f.txt").ends_with("line 9\nmore\n"));
}

#[test]
fn what_was_changed_is_not_deleted_unseen() {
    let repo = Repo::with(&[("f.txt", "one\n"), ("g.txt", "g\n")]);
    let args = ["propose", "--delete", "f.txt", "-m", "away"];
    repo.agent("codex", &args).ok();
    repo.write("f.txt", "two\n");
    repo.git(&["commit", "-qam", "change"]);
    let mut t = review(&repo, "true\n");
    t.sees("! conflict: f.txt");
    // What is typed before a question reads is not an answer to it.
    t.sees("Settle").sees("]? ").types("y").sees("fit").sees("]? ").types("e");
    t.sees("here").sees("]? ").types("n").sees("reject it [").types("n").sees("Go back");
    t.sees("]? ").types("qk");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("f.txt"), "two\n");
}
