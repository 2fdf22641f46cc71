//! Comments that last: questions, suggestions and ranges, followed over revisions, resolved, taken.

use serde_json::{Value, json};

use crate::support::Repo;
use crate::support::record::propose;
use crate::support::terminal::Terminal;

fn lines(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("{text}\n")).collect()
}

const BEFORE: &[&str] = &["one", "two", "three", "four", "five", "six", "seven", "eight"];

/// A proposal of `bot` that makes `fünf` of line 5.
fn scene() -> (Repo, String) {
    let repo = Repo::with(&[("a.txt", lines(BEFORE))]);
    let id = propose(&repo, "a.txt", "five", "fünf\nund mehr");
    (repo, id)
}

/// The whole of the file as the next revision.
fn revise(repo: &Repo, id: &str, texts: &[&str]) {
    let args = ["revise", id, "a.txt", "--content-file", "-"];
    repo.cmd(&args).env("AYE_AGENT", "codex").stdin(lines(texts)).run().ok();
}

fn shown(repo: &Repo, id: &str) -> Vec<Value> {
    let json = repo.item(id);
    json["comments"].as_array().expect("comments").clone()
}

fn say(repo: &Repo, id: &str, args: &[&str]) -> String {
    let all = [&["comment", id, "--path", "a.txt", "--json"], args].concat();
    let json = repo.aye(&all).ok().json();
    json["comment_id"].as_str().expect("a comment id").to_owned()
}

/// An agent may have anybody's name.
#[test]
fn what_an_agent_says_is_no_persons_word() {
    let (repo, id) = scene();
    repo.aye(&["comment", &id, "-m", "Hm"]).ok();
    repo.cmd(&["comment", &id, "-m", "Fine"]).env("AYE_AGENT", "Ada Reviewer").run().ok();
    let kinds: Vec<Value> =
        shown(&repo, &id).iter().map(|said| said["actor_kind"].clone()).collect();
    assert_eq!(kinds, ["human", "agent"]);
    let mut review = Terminal::start(repo.cmd(&["review", &id]), 40, 100);
    review.sees("agent").types("q");
}

#[test]
fn a_comment_follows_its_lines_until_they_are_gone() {
    let (repo, id) = scene();
    let range = say(&repo, &id, &["--line", "5-6", "--question", "-m", "Why two?"]);
    say(&repo, &id, &["--line", "8", "-m", "Seven"]);
    say(&repo, &id, &["-m", "The file"]);
    let first = shown(&repo, &id);
    assert_eq!((&first[0]["id"], &first[0]["kind"]), (&json!(range), &json!("question")));
    assert_eq!((&first[0]["line"], &first[0]["end_line"]), (&json!(5), &json!(6)));
    assert_eq!(first[0]["quote"], "fünf\nund mehr\n");
    assert_eq!((&first[0]["current_line"], &first[0]["outdated"]), (&json!(5), &json!(false)));
    assert_eq!((&first[1]["quote"], &first[1]["end_line"]), (&json!("seven\n"), &json!(8)));
    assert_eq!((&first[2]["line"], &first[2]["outdated"]), (&json!(null), &json!(false)));
    // Two lines more above, and one of the two it is about is another.
    let moved = ["zero", "half", "one", "two", "three", "four", "fünf", "und mehr", "six", "seven"];
    revise(&repo, &id, &[&moved[..], &["eight"]].concat());
    let second = shown(&repo, &id);
    let current = |one: &Value| (one["current_line"].clone(), one["current_end_line"].clone());
    assert_eq!(current(&second[0]), (json!(7), json!(8)));
    assert_eq!(current(&second[1]), (json!(10), json!(10)));
    assert_eq!(second[0]["line"], 5);
    revise(&repo, &id, &["one", "two", "three", "four", "funf", "und mehr", "six", "seven"]);
    let third = shown(&repo, &id);
    assert_eq!(third[0]["outdated"], true);
    assert_eq!(third[0].get("current_line"), None);
    assert_eq!(third[0]["quote"], "fünf\nund mehr\n");
    assert_eq!((&third[1]["outdated"], &third[1]["current_line"]), (&json!(false), &json!(8)));
    repo.aye(&["show", &id, "--comments"]).ok().shown("comments");
}

#[test]
fn the_agent_takes_a_suggestion_as_it_is() {
    let (repo, id) = scene();
    let suggest = ["--line", "5-6", "--suggest", "cinq\net plus", "-m", "In French"];
    let comment = say(&repo, &id, &suggest);
    let last = say(&repo, &id, &["--line", "9", "--suggest", ""]);
    let waited = repo.aye(&["wait", &id, "--timeout", "0"]).exits(124);
    waited.says(&format!("aye revise {id} --take {}", &comment[..12]));
    let waited = repo.aye(&["wait", &id, "--timeout", "0", "--json"]).exits(124).json();
    assert_eq!(waited["comments"][0]["replacement"], "cinq\net plus");
    assert_eq!(waited["comments"][0]["quote"], "fünf\nund mehr\n");
    // The lines move before it is taken.
    let moved =
        ["zero", "one", "two", "three", "four", "fünf", "und mehr", "six", "seven", "eight"];
    revise(&repo, &id, &moved);
    repo.agent("other", &["revise", &id, "--take", &comment]).fails("human_approval_required", 4);
    let args = ["revise", &id, "--take", &comment[..8], "--take", &last];
    repo.agent("codex", &args).ok().says("revision 3");
    let expected = ["zero", "one", "two", "three", "four", "cinq", "et plus", "six", "seven"];
    repo.aye(&["apply", &repo.at_revision(&id), "--yes"]).ok();
    assert_eq!(repo.text("a.txt"), lines(&expected));
    let after = shown(&repo, &id);
    assert_eq!(after.len(), 2, "{after:#?}");
    for comment in &after {
        assert_eq!(comment["resolved"]["note"], "taken as it was suggested");
        assert!(comment["resolved"]["by"].as_str().expect("who").contains("codex"));
    }
}

#[test]
fn what_cannot_be_taken_changes_nothing() {
    let (repo, id) = scene();
    let plain = say(&repo, &id, &["--line", "1", "-m", "Plain"]);
    let one = say(&repo, &id, &["--line", "5-6", "--suggest", "x"]);
    let other = say(&repo, &id, &["--line", "6", "--suggest", "y"]);
    let take = |ids: &[&str]| {
        let takes = ids.iter().flat_map(|id| ["--take", id]);
        repo.agent("codex", &["revise", &id].into_iter().chain(takes).collect::<Vec<_>>())
    };
    take(&[&plain]).fails("invalid_argument", 6);
    take(&[&one, &other]).fails("invalid_argument", 6);
    take(&["0000000"]).fails("comment_not_found", 3).notes("--comments");
    repo.agent("codex", &["revise", &id, "--take", &one, "a.txt", "--old", "a", "--new", "b"])
        .fails("usage", 2);
    revise(&repo, &id, &["one", "two", "three", "four", "five and more", "six"]);
    take(&[&one]).fails("comment_outdated", 5);
    assert_eq!(repo.aye(&["show", &id, "--json"]).json()["revisions"], 2);
    // What it suggests is what was there: nothing is left of the proposal.
    let back = say(&repo, &id, &["--line", "5-6", "--suggest", "five\nsix\nseven\neight"]);
    take(&[&back]).fails("no_change", 6);
}

#[test]
fn whoever_proposes_resolves_with_a_note() {
    let (repo, id) = scene();
    let comment = say(&repo, &id, &["--line", "5", "--question", "-m", "Why?"]);
    let resolve =
        |note: &str| ["comment", &id, "--resolve", &comment, "-m", note].map(String::from);
    repo.agent("codex", &resolve(" ")).fails("invalid_argument", 6).notes("note");
    repo.agent("evil", &resolve("Done")).fails("human_approval_required", 4);
    repo.agent("codex", &resolve("It is German")).ok();
    let after = shown(&repo, &id);
    assert_eq!((after.len(), &after[0]["resolved"]["note"]), (1, &json!("It is German")));
    repo.agent("codex", &["wait", &id, "--timeout", "0"]).exits(124).lacks("--resolve");
    repo.aye(&["comment", &id, "--resolve", "f00", "-m", "x"]).fails("comment_not_found", 3);
    let more = ["comment", &id, "--resolve", &comment, "-m", "x", "--question"];
    repo.aye(&more).fails("usage", 2);
    repo.aye(&["comment", &id, "--path", "a.txt", "--line", "3-2", "-m", "x"]).fails("usage", 2);
    repo.aye(&["comment", &id, "--path", "a.txt", "--line", "3-99", "-m", "x"])
        .fails("invalid_argument", 6);
}

#[test]
fn line_ends_of_the_file_are_kept() {
    let repo = Repo::with(&[("a.txt", "one\r\ntwo\r\nthree")]);
    let id = propose(&repo, "a.txt", "two\r\nthree", "zwei\r\ndrei");
    let two = say(&repo, &id, &["--line", "2", "--suggest", "deux\nencore\n"]);
    let three = say(&repo, &id, &["--line", "3", "--suggest", "trois\n"]);
    repo.agent("codex", &["revise", &id, "--take", &two, "--take", &three]).ok();
    repo.aye(&["apply", &repo.at_revision(&id), "--yes"]).ok();
    assert_eq!(repo.text("a.txt"), "one\r\ndeux\r\nencore\r\ntrois");
    // Two lines for the last, which has no end of its own.
    let repo = Repo::with(&[("a.txt", "one\r\ntwo\r\nthree")]);
    let id = propose(&repo, "a.txt", "three", "drei");
    let last = say(&repo, &id, &["--line", "3", "--suggest", "trois\nquatre"]);
    repo.agent("codex", &["revise", &id, "--take", &last]).ok();
    repo.aye(&["apply", &repo.at_revision(&id), "--yes"]).ok();
    assert_eq!(repo.text("a.txt"), "one\r\ntwo\r\ntrois\r\nquatre");
}

#[test]
fn the_tools_say_and_take_the_same() {
    let (repo, id) = scene();
    let call =
        |name: &str, arguments: Value| repo.agent("codex", &["call", name, &arguments.to_string()]);
    let place = json!({"proposal_id": id, "path": "a.txt", "line": 5, "end_line": 6,
        "replacement": "cinq\n"});
    let comment = call("comment", place).ok().json()["comment_id"].clone();
    let asked = json!({"proposal_id": id, "body": "And here?", "path": "a.txt", "line": 1,
        "question": true});
    let question = call("comment", asked).ok().json()["comment_id"].clone();
    call("revise", json!({"proposal_id": id, "take": [comment], "patch": "x"}))
        .fails("invalid_parameter", 6);
    let revised = call("revise", json!({"proposal_id": id, "take": [comment]})).ok().json();
    assert_eq!(revised["revisions"], 2);
    let note = json!({"proposal_id": id, "resolves": question, "body": "Nothing"});
    assert_eq!(call("comment", note).ok().json()["resolved"], question);
    let shown = call("show", json!({"proposal_id": id})).ok().json();
    assert!(shown["diff"].as_str().expect("a diff").contains("+cinq\n six"), "{shown:#}");
    assert_eq!(shown["comments"][1]["resolved"]["note"], "Nothing");
    call("comment", json!({"proposal_id": id, "path": "a.txt", "replacement": "x"}))
        .fails("invalid_argument", 6)
        .says("lines");
}

fn review(repo: &Repo, editor: &str) -> Terminal {
    Terminal::dumb(repo.cmd(&["review"]).env("EDITOR", editor))
}

#[test]
fn the_comment_key_asks_and_suggests() {
    let (repo, id) = scene();
    let mut t = review(&repo, "sed -i s/nf/nv/");
    t.sees("]? ").types("c").sees("none): ").types("1-2: ? Who counts?\r");
    t.sees("on a.txt:1-2").sees("]? ").types("c").sees("none): ");
    t.types("! with v\r").sees("on a.txt:5-6").sees("]? ");
    // What the editor leaves as it was suggests nothing.
    t.types("c").sees("none): ").types("1: !\r").sees("]? ");
    t.types("x").sees("nothing): ").types("See there\r");
    t.sees("2 comments").sees("Write").types("y").sees("sent");
    assert_eq!(t.ends(), 0);
    let said = shown(&repo, &id);
    assert_eq!((&said[0]["kind"], &said[0]["line"]), (&json!("question"), &json!(1)));
    assert_eq!((&said[0]["end_line"], &said[0]["body"]), (&json!(2), &json!("Who counts?")));
    assert_eq!((&said[1]["kind"], &said[1]["body"]), (&json!("suggestion"), &json!("with v")));
    assert_eq!(said[1]["replacement"], "fünv\nund mehr\n");
    let suggestion = said[1]["id"].as_str().expect("an id");
    repo.agent("codex", &["revise", &id, "--take", suggestion]).ok();
    repo.agent("codex", &["comment", &id, "--resolve", "", "-m", "x"])
        .fails("comment_not_found", 3);
    let mut t = review(&repo, "true");
    t.sees("a.txt:5-6").sees("with v").sees("+fünv").sees("┃ ").sees("on a.txt:1-2");
    t.sees("Who counts?").sees("]? ").types("q");
    assert_eq!(t.ends(), 0);
}

#[test]
fn a_comment_typed_at_a_prompt_ends_with_esc() {
    let (repo, id) = scene();
    let mut t = Terminal::dumb(repo.cmd(&["comment", &id]));
    t.sees("Comment (Esc: none): ").types("half\x1b").sees("nothing");
    assert_eq!(t.ends(), 1);
    let mut t = Terminal::dumb(repo.cmd(&["comment", &id]));
    t.sees("Comment (Esc: none): ").types("why?\r").sees("commented");
    assert_eq!(t.ends(), 0);
    assert_eq!(shown(&repo, &id)[0]["body"], "why?");
}

#[test]
fn a_comment_follows_a_file_that_a_revision_renames() {
    let (repo, id) = scene();
    let taken = say(&repo, &id, &["--line", "5", "--suggest", "cinq", "-m", "In French"]);
    say(&repo, &id, &["-m", "The file"]);
    // The next revision moves the file, too, and has a line more above.
    let mut texts = vec!["zero"];
    texts.extend(["one", "two", "three", "four", "fünf", "und mehr", "six", "seven", "eight"]);
    repo.git(&["mv", "a.txt", "b.txt"]);
    repo.write("b.txt", lines(&texts));
    let args = ["revise", &id, "--worktree", "a.txt", "b.txt"];
    repo.agent("codex", &args).ok();
    repo.git(&["reset", "-q", "--hard"]);
    let found = shown(&repo, &id);
    assert_eq!((&found[0]["path"], &found[0]["current_path"]), (&json!("a.txt"), &json!("b.txt")));
    assert_eq!((&found[0]["current_line"], &found[0]["outdated"]), (&json!(6), &json!(false)));
    assert_eq!(
        (&found[1]["current_path"], &found[1]["outdated"]),
        (&json!("b.txt"), &json!(false))
    );
    repo.aye(&["show", &id, "--comments"]).ok().says("b.txt:6").lacks("outdated");
    let mut t = review(&repo, "true");
    t.sees("b.txt").sees("]? ").types("y").sees("on b.txt:6").sees("]? ");
    t.types("q").sees("[w,k,d").types("d").ends();
    repo.agent("codex", &["revise", &id, "--take", &taken]).ok();
    repo.aye(&["diff", &id]).ok().says("+cinq").lacks("fünf");
}

#[test]
fn a_comment_follows_an_edit_of_a_file_that_was_renamed_meanwhile() {
    let (repo, id) = scene();
    say(&repo, &id, &["--line", "5", "-m", "In French?"]);
    repo.git(&["mv", "a.txt", "b.txt"]);
    repo.commit("Move");
    repo.aye(&["revise", "--rebase", &id]).ok().says("b.txt");
    repo.aye(&["show", &id, "--comments"]).ok().says("b.txt:5").lacks("outdated");
    // And the proposer, who still has the old name, is given the new one.
    let args = ["revise", &id, "a.txt", "--old", "five", "--new", "cinq"];
    let run = repo.agent("codex", &args).fails("file_not_found", 3);
    run.notes(&format!("aye revise {id} b.txt"));
}
