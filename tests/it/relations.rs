//! Proposals that stand on others, and proposals for the same lines, as `list`, `check` and `status` show
//! them.

use crate::support::Repo;
use serde_json::{Value, json};

fn scene() -> Repo {
    let lines: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    Repo::with(&[("f", lines.as_str()), ("g", "g\n")])
}

fn propose(repo: &Repo, old: &str, new: &str) -> String {
    repo.agent("codex", &["propose", "f", "--old", old, "--new", new, "-q"]).ok().id()
}

/// Two commits of a branch as two proposals: the second starts from what the first makes.
fn stack(repo: &Repo) -> [String; 2] {
    repo.git(&["switch", "-q", "-c", "topic"]);
    for (old, new) in [("line 5", "LINE 5"), ("LINE 5", "LINE FIVE")] {
        let text = repo.text("f").replace(old, new);
        repo.write("f", text);
        repo.commit(new);
    }
    repo.git(&["switch", "-q", "main"]);
    ["topic~1", "topic"]
        .map(|rev| repo.agent("codex", &["propose", "--commit", rev, "-q"]).ok().id())
}

#[track_caller]
fn item(repo: &Repo, id: &str) -> Value {
    let list = repo.aye(&["list", "--json"]).ok().json();
    let all = list["proposals"].as_array().expect("a list");
    all.iter().find(|item| item["proposal_id"] == id).expect("listed").clone()
}

#[test]
fn a_proposal_on_top_of_another_is_no_conflict() {
    let repo = scene();
    let [lower, upper] = stack(&repo);
    assert_eq!(item(&repo, &upper)["stands_on"], json!([lower]));
    assert!(item(&repo, &lower).get("stands_on").is_none());
    assert!(item(&repo, &upper).get("same_lines").is_none());
    let short = &lower["prop_".len()..][..4];
    repo.aye(&["list"]).ok().says(&format!("↳ {short}"));
    repo.aye(&["check"]).ok().lacks("error[conflict]").says(&lower);
    // In order they apply, and what is there stands on nothing any more.
    repo.aye(&["apply", &lower, "--yes"]).ok();
    assert!(item(&repo, &upper).get("stands_on").is_none());
    repo.aye(&["apply", &upper, "--yes"]).ok();
    assert!(repo.text("f").contains("LINE FIVE"));
}

#[test]
fn those_for_the_same_lines_are_named_on_both() {
    let repo = scene();
    let one = propose(&repo, "line 5\n", "one\n");
    let two = propose(&repo, "line 5\n", "two\n");
    let far = propose(&repo, "line 8\n", "eight\n");
    assert_eq!(item(&repo, &one)["same_lines"], json!([two]));
    assert_eq!(item(&repo, &two)["same_lines"], json!([one]));
    assert!(item(&repo, &far).get("same_lines").is_none());
    repo.aye(&["list"]).ok().says("⇄ ");
    // Warm and cold.
    let warm = repo.aye(&["list", "--json"]).ok().json();
    let _ = std::fs::remove_file(repo.path(".git/aye/open"));
    assert_eq!(repo.aye(&["list", "--json"]).ok().json(), warm);
    // What is decided is in nobody's way.
    repo.aye(&["reject", &two, "--yes"]).ok();
    assert!(item(&repo, &one).get("same_lines").is_none());
}

#[test]
fn adjacent_lines_are_neighbouring_where_both_apply() {
    let repo = scene();
    let one = propose(&repo, "line 5\n", "one\n");
    let two = propose(&repo, "line 6\n", "two\n");
    assert!(item(&repo, &one).get("same_lines").is_none());
    assert_eq!(item(&repo, &one)["neighbouring"], json!([two]));
    assert_eq!(item(&repo, &two)["neighbouring"], json!([one]));
    repo.aye(&["apply", &one, &two, "--yes"]).ok();
    assert!(repo.text("f").contains("one\ntwo\n"));
    // Git's merge refuses adjacent lines, and a patch has no text to find again.
    repo.commit("one and two");
    let patch = |old: &str, new: &str| {
        let text = repo.text("f");
        repo.write("f", text.replace(old, new));
        let diff = repo.git(&["diff", "f"]);
        repo.write("f", text);
        let propose = repo.cmd(&["propose", "--patch", "-", "-q"]).env("AYE_AGENT", "codex");
        propose.stdin(diff + "\n").run().ok().id()
    };
    let [one, two] = [patch("line 8", "eight"), patch("line 9", "nine")];
    assert_eq!(item(&repo, &one)["same_lines"], json!([two]));
    assert!(item(&repo, &one).get("neighbouring").is_none());
    repo.aye(&["apply", &one, &two, "--yes"]).fails("conflict", 5);
}

#[test]
fn review_names_a_taken_proposal_only_where_its_taken_hunks_conflict() {
    use crate::support::terminal::Terminal;
    let lines: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    for (answers, taken) in [(["y", "n"], "you took"), (["n", "y"], "that you did not take")] {
        let repo = Repo::with(&[("f", lines.as_str())]);
        let edits = [["f", "line 5\n", "LINE 5\n"], ["f", "line 25\n", "LINE 25\n"]];
        let edits = repo.edits(&edits);
        let both = repo.agent("codex", &["propose", "--from-json", &edits, "-q"]).ok().id();
        let other = propose(&repo, "line 5\n", "five\n");
        let mut t = Terminal::review(&repo, &[]);
        t.sees(&both).sees("(1/2)").sees("]? ").types(answers[0]);
        t.sees("(2/2)").sees("]? ").types(answers[1]);
        t.sees(&other).sees("⇄").sees(taken).sees("]? ").types("qk");
        t.ends();
    }
}

#[test]
fn a_dry_run_names_the_one_that_is_in_the_way() {
    let repo = scene();
    let one = propose(&repo, "line 5\n", "one\n");
    let two = propose(&repo, "line 5\n", "two\n");
    let far = propose(&repo, "line 8\n", "eight\n");
    let json = repo.aye(&["apply", &one, &far, &two, "--dry-run", "--json"]).exits(5).json();
    assert_eq!(json["proposals"][2]["collides_with"], one.as_str());
    assert!(json["proposals"][0].get("collides_with").is_none());
    repo.aye(&["apply", &one, &two, "--yes"]).fails("conflict", 5).notes(&one).notes(&two);
    assert!(repo.text("f").contains("line 5"));
    // By itself each of them fits.
    repo.aye(&["apply", &two, "--dry-run"]).ok();
    repo.write("f", repo.text("f").replace("line 5", "mine"));
    repo.aye(&["apply", &two, "--yes"]).fails("conflict", 5);
}

#[test]
fn what_a_pending_proposal_writes_is_named_where_it_is_missing() {
    let repo = scene();
    let id = propose(&repo, "line 5\n", "LINE 5\n");
    let again = ["propose", "f", "--old", "LINE 5\n", "--new", "five\n"];
    let run = repo.agent("codex", &again).fails("old_content_not_found", 6);
    run.notes(&id).notes("aye revise");
    let new = repo.agent("codex", &["propose", "new", "--old", "", "--new", "n\n", "-q"]).ok().id();
    let run = repo.agent("codex", &["propose", "new", "--old", "n", "--new", "m"]);
    run.fails("file_not_found", 3).notes(&new);
    // Nothing of the kind is said of what another edit of the same call has taken away, or nobody writes.
    let both = repo.edits(&[["f", "line 7\nline 8\n", "x"], ["f", "line 8\nline 9\n", "y"]]);
    let run = repo.agent("codex", &["propose", "--from-json", &both]);
    assert!(!run.exits(6).err().contains("pending"));
    let other = ["propose", "f", "--old", "nothing like it", "--new", "x"];
    assert!(
        !repo.agent("codex", &other).fails("old_content_not_found", 6).err().contains("pending")
    );
}

#[test]
fn what_was_sent_back_is_not_in_the_queue_until_it_is_revised() {
    let repo = scene();
    let one = propose(&repo, "line 5\n", "one\n");
    let two = propose(&repo, "line 8\n", "two\n");
    repo.aye(&["comment", &one, "--request-changes", "-m", "add a test"]).ok();
    let queue = |repo: &Repo| -> Vec<String> {
        let out = repo.aye(&["review"]).exits(4).out();
        let heads = out.lines().filter(|line| line.starts_with("prop_"));
        heads.map(|line| line.split(' ').next().expect("an id").to_owned()).collect()
    };
    assert_eq!(queue(&repo), [two.as_str()]);
    // Whoever names it sees it.
    repo.aye(&["review", &one]).says(&one);
    repo.agent("codex", &["revise", &one, "f", "--old", "line 5", "--new", "ONE"]).ok();
    assert_eq!(queue(&repo).len(), 2);
}

#[test]
fn a_review_says_what_two_proposals_have_to_do_with_each_other() {
    use crate::support::terminal::Terminal;
    let lines: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    let repo = Repo::with(&[("f.txt", lines.as_str())]);
    let propose = |new: &str| {
        let args = ["propose", "f.txt", "--old", "line 5", "--new", new, "-m", new, "--json"];
        repo.agent("codex", &args).ok().id()
    };
    let (one, two) = (propose("A"), propose("B"));
    let review = || Terminal::dumb(repo.cmd(&["review"]));
    let mut t = review();
    t.sees(&two).sees("(1/1)").types("y");
    t.sees(&one).sees("(1/1)").types("y").sees(&two).sees("?").types("qk");
    assert_eq!(t.ends(), 0);
}

/// A third one on top of the stack, in another place of the file.
fn tower(repo: &Repo) -> [String; 3] {
    repo.git(&["switch", "-q", "-c", "tower"]);
    for (old, new) in [("line 2", "LINE 2"), ("line 5", "LINE 5"), ("line 8", "LINE 8")] {
        let text = repo.text("f").replace(old, new);
        repo.write("f", text);
        repo.commit(new);
    }
    repo.git(&["switch", "-q", "main"]);
    ["tower~2", "tower~1", "tower"]
        .map(|rev| repo.agent("codex", &["propose", "--commit", rev, "-q"]).ok().id())
}

#[test]
fn what_stands_on_another_is_not_applied_without_it_unseen() {
    let repo = scene();
    let [first, second, third] = tower(&repo);
    let refused = repo.aye(&["apply", &third, "--yes"]).fails("stands_on", 5);
    refused.notes(&second).notes("--with-lower");
    let json = repo.aye(&["apply", &second, "--yes", "--json"]).exits(5).json();
    assert_eq!(json["error"]["details"]["lower"], first.as_str(), "{json:#}");
    repo.aye(&["apply", &third, "--dry-run"]).ok().notes(&second);
    assert!(!repo.text("f").contains("LINE"));
    // Alone it is its own change, merged into the files.
    repo.aye(&["apply", &third, "--yes", "--alone"]).ok();
    let text = repo.text("f");
    assert!(text.contains("LINE 8") && !text.contains("LINE 5") && !text.contains("LINE 2"));
}

#[test]
fn a_stack_is_applied_from_below_whatever_order_it_is_named_in() {
    let repo = scene();
    let [first, second, third] = tower(&repo);
    let answer = repo.aye(&["apply", &third, "--yes", "--with-lower", "--json"]).ok().json();
    let ids: Vec<&str> = answer["proposals"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| item["proposal_id"].as_str().expect("an id"))
        .collect();
    assert_eq!(ids, [&first, &second, &third]);
    let repo = scene();
    let [first, second, third] = tower(&repo);
    repo.aye(&["apply", &third, &first, &second, "--yes"]).ok();
    let text = repo.text("f");
    assert!(["LINE 2", "LINE 5", "LINE 8"].iter().all(|line| text.contains(line)), "{text}");
}

#[test]
fn a_stack_for_the_same_lines_is_taken_in_one_review() {
    use crate::support::terminal::Terminal;
    let repo = scene();
    let [lower, upper] = stack(&repo);
    let mut t = Terminal::review(&repo, &[]);
    t.sees(&lower).sees("base: clean").sees("+LINE 5").sees("]? ").types("y");
    t.sees(&upper).sees(&lower).sees("took");
    t.sees("-LINE 5").sees("+LINE FIVE").sees("(1/1)").sees("]? ").types("y");
    t.sees("Write").sees("]? ").types("y").sees("applied").sees("applied");
    assert_eq!(t.ends(), 0);
    assert!(repo.text("f").contains("LINE FIVE"));
    // Without the lower one it is the conflict that it is, also where that is decided later.
    let repo = scene();
    let [_, upper] = stack(&repo);
    let mut t = Terminal::review(&repo, &[&upper]);
    t.sees("conflict").sees("Settle").sees("]? ").types("q");
    t.ends();
    let mut t = Terminal::review(&repo, &[]);
    t.sees("]? ").types("y").sees("top").sees("]? ").types("<").sees("]? ").types("R");
    t.sees("): ").types("no\r").sees(&upper).sees("conflict");
    t.sees("Settle").sees("]? ").types("<").sees("]? ").types("A");
    t.sees("top").sees("+LINE FIVE").sees("]? ").types("y").sees("Write");
    // What was taken on top of the lower one is asked again without it.
    t.sees("]? ").types("<").sees("]? ").types("<").sees("]? ").types("x");
    t.sees("nothing): ").types("why?\r").sees("conflict");
    t.sees("dropped").sees("Settle").sees("]? ").types("qk");
    t.ends();
    assert!(repo.text("f").contains("line 5"));
}

#[test]
fn what_was_made_on_an_earlier_revision_is_never_taken_along() {
    let repo = scene();
    let [lower, upper] = stack(&repo);
    let args = ["revise", &lower, "f", "--old", "line 5", "--new", "fünf"];
    repo.agent("codex", &args).ok();
    for flags in [&["--yes"][..], &["--yes", "--with-lower"]] {
        repo.aye(&[&["apply", &upper][..], flags].concat()).fails("stands_on", 5);
    }
    assert!(repo.text("f").contains("line 5"));
}

/// Whoever reads of it learns what is in the way: no file has changed.
#[test]
fn what_was_made_on_another_says_what_became_of_that() {
    for (words, became) in
        [(&["reject", "--yes"][..], "rejected"), (&["apply", "--hunks", "1", "--yes"], "applied")]
    {
        let repo = Repo::with(&[("a.txt", numbers())]);
        repo.let_flags_decide();
        let edit = |old: &str, new: &str| {
            let (old, new) = (format!("\n{old}\n"), format!("\n{new}\n"));
            json!({ "file_path": "a.txt", "old_content": old, "new_content": new })
        };
        let edits = json!({ "edits": [edit("3", "three"), edit("15", "fifteen")] });
        let from = ["propose", "--from-json", "-", "-q"];
        let lower = repo.cmd(&from).env("AYE_AGENT", "claude").stdin(edits.to_string());
        let lower = lower.run().ok().id();
        let on = ["propose", "--on", &lower, "a.txt", "--old", "fifteen", "--new", "FIFTEEN", "-q"];
        let upper = repo.agent("codex", &on).ok().id();
        repo.aye(&[&[words[0], &lower], &words[1..]].concat()).ok();
        repo.aye(&["show", &upper]).ok().says(&lower).says(became);
        repo.aye(&["diff", &upper]).notes(&lower).notes(became);
        repo.aye(&["apply", &upper, "--yes"]).exits(5).notes(&lower).notes(became);
    }
}

/// What a decision has left out makes the file that the upper one starts from.
#[test]
fn what_was_made_on_a_whole_one_stands_on_the_rest_of_it() {
    let repo = Repo::with(&[("a.txt", numbers())]);
    let edits = [["a.txt", "\n3\n", "\nthree\n"], ["a.txt", "\n15\n", "\nfifteen\n"]];
    let lower = ["propose", "--from-json", &repo.edits(&edits), "-q"];
    let lower = repo.agent("claude", &lower).ok().id();
    let on = ["propose", "--on", &lower, "a.txt", "--old", "fifteen", "--new", "FIFTEEN", "-q"];
    let upper = repo.agent("codex", &on).ok().id();
    let split = ["apply", &lower, "--hunks", "1", "--split-rest", "--yes", "--json"];
    let split = repo.aye(&split).ok().json();
    let rest = split["proposals"][0]["rest"].as_str().expect("a rest");
    assert_eq!(item(&repo, &upper)["stands_on"], json!([rest]));
    repo.aye(&["diff", &upper]).ok().notes(rest);
    repo.aye(&["apply", &upper, "--yes"]).fails("stands_on", 5);
    repo.aye(&["apply", &upper, "--with-lower", "--yes"]).ok().says(rest);
    assert!(repo.text("a.txt").contains("\nthree\n") && repo.text("a.txt").contains("FIFTEEN"));
}

#[test]
fn what_stands_on_it_is_undone_first() {
    let repo = scene();
    let lower = propose(&repo, "line 5", "five");
    let on = ["propose", "--on", &lower, "f", "--old", "five", "--new", "FIVE", "-q"];
    let upper = repo.agent("codex", &on).ok().id();
    repo.aye(&["apply", &upper, "--with-lower", "--yes"]).ok();
    let top = propose(&repo, "FIVE", "5");
    repo.aye(&["apply", &top, "--yes"]).ok();
    repo.aye(&["undo", &upper, "--yes"]).fails("conflict", 5).notes(&top);
    repo.aye(&["undo", &lower, "--dry-run"]).exits(5).notes(&upper);
    for id in [&top, &upper, &lower] {
        repo.aye(&["undo", id, "--yes"]).ok();
    }
    assert_eq!(repo.git(&["status", "--porcelain", "f"]), "");
    // Where nobody stands on it, it is somebody's own edit.
    repo.aye(&["apply", &lower, "--yes"]).ok();
    repo.write("f", repo.text("f").replace("five", "mine"));
    repo.aye(&["undo", &lower, "--yes"]).fails("conflict", 5);
}

fn numbers() -> String {
    (1..=20).map(|n| format!("{n}\n")).collect()
}
