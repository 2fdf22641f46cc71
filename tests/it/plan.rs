//! The task plan: the tool, the command, and many agents at once.

use crate::support::clones::{clone, fetch, join, push};
use crate::support::clones::{exchange, name};
use crate::support::record::apply;
use crate::support::{self, Repo};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\n")];

const PROJECTION: &str = ".agent-memory/plan.yaml";

/// The contract's own example.
const EXAMPLE: &str = r#"{
  "explanation": "Today's Tasks",
  "plan": [
    { "step": "Complete code review", "status": "in_progress" },
    { "step": "Fix bug", "status": "pending" },
    { "step": "Write documentation", "status": "pending" }
  ]
}"#;

fn yaml(text: &str) -> serde_json::Value {
    serde_yaml::from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn the_tool_answers_as_the_contract_says() {
    let repo = Repo::with(FILES);
    let answer = yaml(&repo.agent("codex", &["call", "update_plan", EXAMPLE]).ok().out());
    assert_eq!(answer["status"], "ok");
    assert_eq!(answer["plan"][0]["step"], "Complete code review");
    assert_eq!(answer["plan"][0]["status"], "in_progress");
    assert_eq!(answer["explanation"], "Today's Tasks");
    assert_eq!(answer["progress"]["pending"], 2);
    let at = answer["updated_at"].as_str().unwrap().to_owned();
    assert!(at.ends_with('Z') && at.len() == 24, "{at}");
    // An equal list changes nothing.
    let tip = repo.git(&["for-each-ref", "--format=%(objectname)", "refs/aye/p"]);
    let again = yaml(&repo.agent("codex", &["call", "update_plan", EXAMPLE]).ok().out());
    assert_eq!(again["updated_at"], at);
    assert_eq!(repo.git(&["for-each-ref", "--format=%(objectname)", "refs/aye/p"]), tip);
    // An envelope, and JSON.
    let envelope = format!(r#"{{"name": "update_plan", "arguments": {EXAMPLE}}}"#);
    assert_eq!(repo.aye_stdin(&["call", "update_plan", "--json"], &envelope).ok().json(), again);
}

#[test]
fn what_breaks_a_rule_is_plan_invalid_with_the_index() {
    let repo = Repo::with(FILES);
    let cases = [
        (
            r#"{"plan": [{"step": "a", "status": "pending"}, {"step": " ", "status": "pending"}]}"#,
            1,
        ),
        (r#"{"plan": [{"step": "a", "status": "done"}]}"#, 0),
        (r#"{"plan": [{"step": "\u200b\u2060\u3000", "status": "pending"}]}"#, 0),
    ];
    for (request, index) in cases {
        let run = repo.agent("codex", &["call", "update_plan", request]).exits(6);
        let answer = yaml(&run.out());
        assert_eq!(answer["status"], "error", "{request}");
        assert_eq!(answer["code"], "plan_invalid", "{request}");
        assert_eq!(answer["details"]["index"], index, "{request}: {answer}");
        repo.aye(&["plan", "update", request]).fails("plan_invalid", 6);
    }
    assert_eq!(repo.git(&["for-each-ref", "refs/aye"]), "");
    repo.aye(&["plan", "update", "nonsense"]).fails("invalid_json", 6);
    repo.aye(&["plan", "update", "{}"]).fails("missing_parameter", 6);
    repo.aye(&["plan", "update", r#"{"plan": 3}"#]).fails("invalid_parameter", 6);
}

#[test]
fn people_read_and_replace_it() {
    let repo = Repo::with(FILES);
    repo.aye(&["plan"]).ok().shown("plan_none");
    repo.aye(&["plan", "update", EXAMPLE]).ok().shown("plan");
    let plan = repo.aye(&["plan", "show", "--json"]).ok().json();
    assert_eq!(plan["progress"]["in_progress"], 1);
    assert_eq!(plan["plan"][1]["task_id"], "plan:2");
    // An equal list changes nothing; the list alone, or from standard input, is a plan too.
    repo.aye(&["plan", "update", EXAMPLE]).ok();
    assert_eq!(repo.aye(&["plan", "--json"]).ok().json(), plan);
    let list = r#"[{"step": "a", "status": "completed"}]"#;
    repo.aye_stdin(&["plan", "update", "-"], list).ok();
    assert_eq!(repo.aye(&["plan", "--json"]).ok().json()["progress"]["completed"], 1);
    repo.aye(&["plan", "update", "[]"]).ok();
    assert_eq!(repo.aye(&["plan", "--json"]).ok().json()["plan"], serde_json::json!([]));
    repo.git(&["fsck", "--strict"]);
}

#[test]
fn each_branch_has_its_own() {
    let repo = Repo::with(FILES);
    repo.plan(&["on main"]);
    for branch in ["a/b", "a-b", "äö", "x@y", "9", "a'b\"c", "main.x"] {
        repo.git(&["switch", "-q", "-c", branch]);
        repo.plan(&[branch]);
        assert_eq!(yaml(&repo.text(PROJECTION))["branch"], branch);
        let plan = repo.aye(&["plan", "--json"]).ok().json();
        assert_eq!(plan["plan"][0]["step"], branch);
        assert_eq!(plan["plan"].as_array().unwrap().len(), 1);
    }
    repo.git(&["switch", "-q", "main"]);
    let steps = |repo: &Repo| repo.aye(&["plan", "--json"]).ok().json()["plan"].clone();
    assert_eq!(steps(&repo)[0]["step"], "on main");
    repo.git(&["switch", "-q", "--detach"]);
    assert_eq!(steps(&repo), serde_json::json!([]));
    // Before the first commit too.
    let unborn = Repo::new();
    unborn.plan(&["begin"]);
    assert_eq!(steps(&unborn)[0]["step"], "begin");
}

#[test]
fn the_projection_can_be_read_and_stays_out_of_the_way() {
    let repo = Repo::with(FILES);
    repo.aye(&["plan", "update", EXAMPLE]).ok();
    let sound = repo.text(PROJECTION);
    assert_eq!(yaml(&sound)["branch"], "main");
    assert_eq!(yaml(&sound)["plan"][1]["step"], "Fix bug");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    // Never trusted, and written anew by the doctor.
    repo.write(PROJECTION, "plan: []\n");
    let plan = repo.aye(&["plan", "--json"]).ok().json();
    assert_eq!(plan["plan"].as_array().map(Vec::len), Some(3));
    repo.aye(&["doctor"]).ok();
    assert_eq!(repo.text(PROJECTION), sound);
    repo.git(&["switch", "-q", "-c", "other"]);
    repo.aye(&["doctor"]).ok();
    assert!(!repo.exists(PROJECTION));
    repo.git(&["switch", "-q", "main"]);
    repo.aye(&["plan", "update", "[]"]).ok();
    assert!(!repo.exists(PROJECTION));
    // A bare repository has a plan and no files.
    let bare = Repo::bare();
    bare.plan(&["x"]);
    bare.aye(&["plan"]).ok().says("1. [ ] x");
}

#[test]
fn a_step_lists_its_proposals() {
    let repo = Repo::with(FILES);
    repo.aye(&["plan", "update", EXAMPLE]).ok();
    let task = ["propose", "a.txt", "--old", "one", "--new", "eins", "--task", "plan:2", "--json"];
    let json = repo.agent("codex", &task).ok().json();
    let id = json["proposal_id"].as_str().unwrap();
    repo.aye(&["plan"]).ok().shown("plan_with_a_proposal");
    apply(&repo, id);
    let plan = repo.aye(&["plan", "--json"]).ok().json();
    assert_eq!(plan["plan"][1]["proposals"][0]["proposal_id"], id);
    assert_eq!(plan["plan"][1]["proposals"][0]["status"], "applied");
    assert_eq!(plan["plan"][0]["proposals"], serde_json::json!([]));
    // It was made on another branch than this one's plan.
    repo.git(&["checkout", "-q", "--", "."]);
    repo.git(&["switch", "-q", "-c", "other"]);
    repo.aye(&["plan", "update", EXAMPLE]).ok();
    let plan = repo.aye(&["plan", "--json"]).ok().json();
    assert_eq!(plan["plan"][1]["proposals"], serde_json::json!([]));
}

/// Whole lists replace each other, and the log keeps every one of them.
#[test]
fn many_agents_lose_nothing() {
    let repo = Repo::with(FILES);
    let running: Vec<_> = (0..8)
        .map(|agent| {
            let list = format!(r#"[{{"step": "only {agent}", "status": "pending"}}]"#);
            repo.cmd(&["plan", "update", &list]).env("AYE_AGENT", format!("agent-{agent}")).spawn()
        })
        .collect();
    for run in running {
        run.wait().ok();
    }
    let log = repo.aye(&["log", "--json"]).ok().json();
    let events = log["events"].as_array().unwrap();
    assert_eq!(events.iter().filter(|event| event["kind"] == "plan").count(), 8);
    assert_eq!(repo.aye(&["plan", "--json"]).ok().json()["plan"].as_array().unwrap().len(), 1);
    repo.git(&["fsck", "--strict"]);
}

/// The present version is found without reading the history.
#[test]
fn two_clones_that_change_a_plan_see_the_same_one() {
    let repo = Repo::with(FILES);
    repo.plan(&["begin"]);
    let other = Repo::with(FILES);
    let agree = |expected: &[&str]| {
        for (to, from) in [(&repo, &other), (&other, &repo)] {
            if name(from).is_some() {
                exchange(to, from);
            }
        }
        for repo in [&repo, &other] {
            let plan = repo.aye(&["plan", "--json"]).ok().json();
            let steps = plan["plan"].as_array().unwrap();
            let steps: Vec<_> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
            assert_eq!(steps, expected);
        }
    };
    agree(&["begin"]);
    other.plan(&["begin", "there"]);
    agree(&["begin", "there"]);
    // Neither knew of the other: both stay in the log, and both clones take the same one.
    repo.plan(&["begin", "there", "here"]);
    other.plan(&["elsewhere"]);
    agree(&["elsewhere"]);
    repo.plan(&["elsewhere", "after both"]);
    agree(&["elsewhere", "after both"]);
}

#[test]
fn text_from_agents_is_safe_and_events_of_others_are_not_trusted() {
    let repo = Repo::with(FILES);
    let evil = "{\"plan\": [{\"step\": \"a\\u001b[2J\\u202e\", \"status\": \"pending\"}]}";
    for format in ["text", "json"] {
        repo.agent("codex", &["plan", "update", evil]).ok();
        let out = repo.aye(&["plan", "show", "--format", format]).ok().out();
        assert!(!out.contains(['\u{1b}', '\u{202e}']), "{out}");
    }
    // An event that breaks the rules is as if it were not there.
    let actor = aye::proposal::Actor {
        name: "x".into(),
        email: String::new(),
        kind: aye::proposal::ActorKind::Agent,
    };
    support::record::store(&repo)
        .write(&actor, chrono::Utc::now(), |writer| {
            let data =
                serde_json::json!({"branch": "main", "plan": [{"step": "", "status": "pending"}]});
            writer.note(None, aye::proposal::Note::Plan(data)).map(drop)
        })
        .unwrap();
    repo.aye(&["plan"]).ok().says("a\\x1b[2J");
}

/// What another clone has brought is no damage here.
#[test]
fn the_projection_follows_a_fetched_plan() {
    let (server, ada) = (Repo::bare(), Repo::with(FILES));
    join(&ada, &server);
    ada.git(&["push", "-q", "origin", "main"]);
    let bob = clone(&server);
    for steps in [&["One"][..], &["One", "Two"]] {
        ada.plan(steps);
        push(&ada);
        fetch(&bob);
        bob.aye(&["list", "--count"]).ok();
        bob.aye(&["doctor"]).ok();
        assert_eq!(bob.text(PROJECTION), ada.text(PROJECTION));
    }
}
