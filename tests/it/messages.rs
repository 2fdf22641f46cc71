//! What git keeps has the proposer's text; only a terminal is shown another.

use serde_json::json;

use crate::support::Repo;

/// An emoji family, Persian and Hindi with joiners, a bidi isolate, a soft hyphen.
const TEXT: &str = "Family 👩\u{200d}👩\u{200d}👧\u{200d}👦 می\u{200c}خواهم क्\u{200d}ष";
const BODY: &str = "Why:\n\tan isolate \u{2067}אב\u{2069} and a soft\u{ad}hyphen";

fn scene() -> Repo {
    Repo::with(&[("a", "1\n2\n3\n"), ("b", "1\n2\n3\n")])
}

#[test]
fn a_commit_message_has_the_bytes_of_the_description() {
    let repo = scene();
    let message = format!("{TEXT}\n\n{BODY}");
    let propose = ["propose", "a", "--old", "1", "--new", "one", "-m", &message, "-q"];
    let by = "ربات\u{200c}من";
    let id = repo.agent("codex", &[&propose[..], &["--by", by]].concat()).ok().id();
    let subject = repo.git(&["log", "-1", "--format=%s", &format!("refs/aye/pending/{id}")]);
    assert_eq!(subject, TEXT);
    // A terminal is shown what hides.
    repo.aye(&["show", &id]).ok().says("\\u{2067}").lacks("\u{2067}");
    assert_eq!(repo.item(&id)["description"], *message);
    repo.aye(&["apply", &id, "--commit", "--yes"]).ok();
    let made = repo.git(&["log", "-1", "--format=%B"]);
    assert!(made.starts_with(&format!("{message}\n\nProposal-Id: {id}\n")), "{made:?}");
    assert!(made.contains(&format!("\nProposed-by: {by}\n")), "{made:?}");
    repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
    // A message of one's own, and the name of a file where there is none.
    let name = "می\u{200c}خواهم.txt";
    for message in [Some(TEXT), None] {
        let text = if message.is_some() { "1\n" } else { "2\n" };
        let id = repo.agent("codex", &["propose", name, "--content", text, "-q"]).ok().id();
        let message = message.map(|text| vec!["-m", text]).unwrap_or_default();
        repo.aye(&[&["apply", &id, "--commit", "--yes"][..], &message].concat()).ok();
        let expected = message.last().map_or(format!("Change {name}"), |text| (*text).to_owned());
        assert_eq!(repo.git(&["log", "-1", "--format=%s"]), expected);
    }
    // The trailers that the hook adds are the same.
    repo.aye(&["hooks", "install"]).ok();
    let propose = ["propose", "b", "--old", "1", "--new", "one", "--by", by, "-q"];
    let id = repo.agent("codex", &propose).ok().id();
    repo.aye(&["apply", &id, "--index", "--yes"]).ok();
    repo.git(&["commit", "-qm", "By hand"]);
    let made = repo.git(&["log", "-1", "--format=%B"]);
    assert!(made.contains(&format!("\nProposed-by: {by}\n")), "{made:?}");
}

/// A name may hold what a message may not: each trailer is one line all the same.
#[test]
fn a_name_cannot_add_a_trailer() {
    let repo = scene();
    let by = "codex\nReviewed-by: Eve <eve@example.com>\u{1b}[2J";
    let propose = ["propose", "a", "--old", "1", "--new", "one", "-m", "x", "--by", by, "-q"];
    let id = repo.agent("codex", &propose).ok().id();
    repo.aye(&["apply", &id, "--commit", "--yes"]).ok();
    let made = repo.git(&["log", "-1", "--format=%B"]);
    assert!(!made.contains("\nReviewed-by: Eve") && !made.contains('\u{1b}'), "{made:?}");
}

#[test]
fn a_description_with_control_characters_is_refused() {
    let repo = scene();
    let edit = ["propose", "a", "--old", "1", "--new", "one"];
    for (text, name) in [("a\u{1b}[2J", "U+001B"), ("a\r\nb", "U+000D"), ("\u{9b}1m", "U+009B")] {
        let args = [&edit[..], &["-m", text, "--json"]].concat();
        let error = repo.agent("codex", &args).fails("description_invalid", 6).json();
        assert_eq!(error["error"]["details"]["character"], name);
    }
    let bad = "a\u{7}b";
    let tool = |name: &str, arguments: serde_json::Value| {
        repo.agent("codex", &["call", name, &arguments.to_string()])
            .fails("description_invalid", 6);
    };
    tool(
        "changes",
        json!({"action": "propose", "description": bad, "file_path": "a", "old_content": "1", "new_content": "one"}),
    );
    // Nothing is recorded, and the file of a work tree stays.
    repo.write("b", "mine\n");
    repo.aye(&["propose", "--worktree", "b", "-m", bad]).fails("description_invalid", 6);
    repo.aye(&["propose", "--keep", "b", "-m", bad]).fails("description_invalid", 6);
    assert_eq!(repo.text("b"), "mine\n");
    repo.aye(&["list", "--status", "all"]).ok().lacks("prop_");
    let id = repo.agent("codex", &[&edit[..], &["-m", "a\n\tb", "-q"]].concat()).ok().id();
    repo.agent("codex", &["revise", &id, "-m", bad]).fails("description_invalid", 6);
    tool("revise", json!({"proposal_id": id, "description": bad}));
    // A commit has its own message, and the proposal of it may have another.
    repo.git(&["commit", "-qam", bad]);
    repo.aye(&["propose", "--commit", "HEAD"]).fails("description_invalid", 6);
    repo.aye(&["propose", "--commit", "HEAD", "-m", "Good"]).ok();
}

#[test]
fn a_session_refuses_it_before_it_touches_a_file() {
    let repo = scene();
    let script = format!(
        "'{0}' propose a --old 1 --new one -m \"$(printf 'a\\033b')\"; test $? = 6 || exit 9; cat a",
        env!("CARGO_BIN_EXE_aye")
    );
    let run = repo.cmd(&["run", "--", "sh", "-c", &script]).env("AYE_AGENT", "codex").run().ok();
    assert!(run.err().contains("description_invalid"), "{run}");
    run.says("1\n2\n3\n");
    repo.aye(&["list"]).ok().lacks("prop_");
}
