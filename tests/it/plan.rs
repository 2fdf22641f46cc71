//! The task plan: the tool, the command, and many agents at once.

use crate::support::clones::{clone, fetch, join, push};
use crate::support::record::apply;
use crate::support::{self, Repo};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\n")];

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
    let tip = repo.git(&["for-each-ref", "--format=%(objectname)", "refs/aye/log"]);
    let again = yaml(&repo.agent("codex", &["call", "update_plan", EXAMPLE]).ok().out());
    assert_eq!(again["updated_at"], at);
    assert_eq!(repo.git(&["for-each-ref", "--format=%(objectname)", "refs/aye/log"]), tip);
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
fn people_keep_it_step_by_step() {
    let repo = Repo::with(FILES);
    repo.aye(&["plan"]).ok().says("main: no plan");
    repo.aye(&["plan", "add", " Fix bug "]).ok().says("1. [ ] Fix bug");
    repo.aye(&["plan", "add", "Review", "--at", "1", "--status", "in_progress"])
        .ok()
        .says("1. [>] Review\n2. [ ] Fix bug\n");
    repo.aye(&["plan", "set", "2", "in_progress"]).fails("plan_invalid", 6);
    repo.aye(&["plan", "set", "1", "completed", "-m", "went well"])
        .ok()
        .says("main: 1 of 2 completed\n    went well\n1. [x] Review");
    repo.aye(&["plan", "set", "1", "completed"]).ok().notes("was that already");
    repo.aye(&["plan", "set", "3", "completed"]).fails("plan_step_not_found", 3);
    repo.aye(&["plan", "set", "1", "finished"]).exits(2);
    repo.aye(&["plan", "show", "--format", "markdown"])
        .ok()
        .says("went well\n\n1. [x] Review\n2. [ ] Fix bug\n");
    repo.aye(&["plan", "set", "1", "pending", "--format", "markdown"]).exits(2);
    let log = repo.aye(&["plan", "log"]).ok().out();
    let order: Vec<usize> =
        ["in_progress -> completed", "+ 1. Review (in_progress)", "+ 1. Fix bug"]
            .iter()
            .map(|line| log.find(line).unwrap_or_else(|| panic!("{line}\n{log}")))
            .collect();
    assert!(order.is_sorted(), "{log}");
    let json = repo.aye(&["plan", "log", "--json", "-n", "1"]).ok().json();
    assert_eq!(json["versions"].as_array().unwrap().len(), 1);
    assert_eq!(json["versions"][0]["changes"][0]["change"], "status");
    let all = repo.aye(&["plan", "log", "--json"]).ok().json();
    for limit in 0..5 {
        let few = repo.aye(&["plan", "log", "--json", "-n", &limit.to_string()]).ok().json();
        let versions = all["versions"].as_array().unwrap();
        assert_eq!(few["versions"].as_array().unwrap(), &versions[..limit.min(versions.len())]);
    }
    repo.aye(&["plan", "update", "[]"]).ok().says("no plan");
    repo.aye(&["plan", "log"]).ok().says("- 1. Review (completed)");
}

#[test]
fn each_branch_and_name_has_its_own() {
    let repo = Repo::with(FILES);
    repo.aye(&["plan", "add", "on main"]).ok();
    repo.aye(&["plan", "add", "for the api", "--name", "api"]).ok().says("main / api");
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.aye(&["plan"]).ok().says("topic: no plan");
    repo.aye(&["plan", "add", "on topic"]).ok();
    repo.git(&["switch", "-q", "main"]);
    repo.aye(&["plan"]).ok().says("on main").lacks("on topic").lacks("for the api");
    repo.aye(&["plan", "--name", "api"]).ok().says("for the api");
    repo.aye(&["plan", "show", "--name", "a b"]).fails("plan_invalid", 6);
    repo.git(&["switch", "-q", "--detach"]);
    repo.aye(&["plan"]).ok().says("HEAD: no plan");
    // Before the first commit too.
    let unborn = Repo::new();
    unborn.aye(&["plan", "add", "begin"]).ok().says("main: 0 of 1 completed");
}

#[test]
fn the_projection_can_be_read_and_stays_out_of_the_way() {
    let repo = Repo::with(FILES);
    repo.aye(&["plan", "update", EXAMPLE]).ok();
    repo.aye(&["plan", "add", "x", "--name", "api"]).ok();
    let plans = yaml(&repo.text(".agent-memory/plan.yaml"));
    assert_eq!(plans["branch"], "main");
    assert_eq!(plans["plans"][0]["name"], "api");
    assert_eq!(plans["plans"][1]["plan"][1]["step"], "Fix bug");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    // Never trusted.
    repo.write(".agent-memory/plan.yaml", "plans: []\n");
    repo.aye(&["plan"]).ok().says("Fix bug");
    repo.aye(&["plan", "update", "[]"]).ok();
    repo.aye(&["plan", "update", "[]", "--name", "api"]).ok();
    assert!(!repo.exists(".agent-memory/plan.yaml"));
    // A bare repository has a plan and no files.
    Repo::bare().aye(&["plan", "add", "x"]).ok().says("1. [ ] x");
}

#[test]
fn a_step_lists_its_proposals() {
    let repo = Repo::with(FILES);
    repo.aye(&["plan", "update", EXAMPLE]).ok();
    let task = ["propose", "a.txt", "--old", "one", "--new", "eins", "--task", "plan:2", "--json"];
    let json = repo.agent("codex", &task).ok().json();
    let id = json["proposal_id"].as_str().unwrap();
    repo.aye(&["plan"]).ok().says(&format!("2. [ ] Fix bug\n       {id} pending  a.txt\n"));
    apply(&repo, id);
    let plan = repo.aye(&["plan", "--json"]).ok().json();
    assert_eq!(plan["plan"][1]["task_id"], "plan:2");
    assert_eq!(plan["plan"][1]["proposals"][0]["proposal_id"], id);
    assert_eq!(plan["plan"][1]["proposals"][0]["status"], "applied");
    assert_eq!(plan["plan"][0]["proposals"], serde_json::json!([]));
}

#[test]
fn the_last_apply_of_a_step_suggests_completing_it() {
    let repo = Repo::with(FILES);
    repo.aye(&["plan", "update", EXAMPLE]).ok();
    let propose = |old: &str, new: &str| {
        let task = ["propose", "a.txt", "--old", old, "--new", new, "--task", "plan:2", "--json"];
        let json = repo.agent("codex", &task).ok().json();
        json["proposal_id"].as_str().unwrap().to_owned()
    };
    let (first, second) = (propose("one", "eins"), propose("two", "zwei"));
    let run = repo.aye(&["apply", &first, "--yes"]).ok();
    assert!(!run.err().contains("aye plan set"), "{}", run.err());
    repo.aye(&["apply", &second, "--yes"]).ok().notes("step 2 (Fix bug): aye plan set 2 completed");
}

#[test]
fn many_agents_lose_nothing() {
    let repo = Repo::with(FILES);
    let running: Vec<_> = (0..8)
        .map(|agent| {
            let repo = &repo;
            repo.cmd(&["plan", "add", &format!("step of {agent}")])
                .env("AYE_AGENT", format!("agent-{agent}"))
                .spawn()
        })
        .collect();
    for run in running {
        run.wait().ok();
    }
    let plan = repo.aye(&["plan", "--json"]).ok().json();
    let mut steps: Vec<&str> =
        plan["plan"].as_array().unwrap().iter().map(|s| s["step"].as_str().unwrap()).collect();
    steps.sort_unstable();
    let expected: Vec<String> = (0..8).map(|agent| format!("step of {agent}")).collect();
    assert_eq!(steps, expected);
    // Whole lists replace each other, and the log keeps every one of them.
    let running: Vec<_> = (0..8)
        .map(|agent| {
            let list = format!(r#"[{{"step": "only {agent}", "status": "pending"}}]"#);
            repo.cmd(&["plan", "update", &list]).spawn()
        })
        .collect();
    for run in running {
        run.wait().ok();
    }
    let log = repo.aye(&["plan", "log", "--json"]).ok().json();
    assert_eq!(log["versions"].as_array().unwrap().len(), 16);
    repo.git(&["fsck", "--strict"]);
}

/// The present version is found without reading the history; it must be the log's newest.
#[test]
fn two_clones_that_change_a_plan_see_the_same_one() {
    let repo = Repo::with(FILES);
    repo.aye(&["plan", "add", "begin"]).ok();
    let other = Repo::with(FILES);
    let path = |repo: &Repo| repo.root().display().to_string();
    let fetch = |to: &Repo, from: &Repo, name: &str| {
        let refs = format!("refs/aye/log/*:refs/aye/remotes/{name}/*");
        to.git(&["fetch", "-q", &path(from), &refs]);
    };
    let agree = |expected: &[&str], versions: usize| {
        fetch(&repo, &other, "other");
        fetch(&other, &repo, "origin");
        for repo in [&repo, &other] {
            let plan = repo.aye(&["plan", "--json"]).ok().json();
            let steps = plan["plan"].as_array().unwrap();
            let steps: Vec<_> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
            assert_eq!(steps, expected);
            let log = repo.aye(&["plan", "log", "--json"]).ok().json();
            assert_eq!(log["versions"].as_array().unwrap().len(), versions);
            assert_eq!(log["versions"][0]["at"], plan["updated_at"]);
            // A cache made anew says the same.
            std::fs::remove_file(repo.path(".git/aye/cache.sqlite")).unwrap();
            assert_eq!(repo.aye(&["plan", "--json"]).ok().json(), plan);
        }
    };
    agree(&["begin"], 1);
    other.aye(&["plan", "add", "there"]).ok();
    agree(&["begin", "there"], 2);
    // Neither knew of the other: both stay in the log, and both clones take the same one.
    repo.aye(&["plan", "add", "here"]).ok();
    let plan = r#"[{"step": "elsewhere", "status": "pending"}]"#;
    other.aye(&["plan", "update", plan]).ok();
    agree(&["elsewhere"], 4);
    repo.aye(&["plan", "add", "after both"]).ok();
    agree(&["elsewhere", "after both"], 5);
    // Another plan of the branch is another plan.
    other.aye(&["plan", "add", "x", "--name", "api"]).ok();
    agree(&["elsewhere", "after both"], 5);
}

#[test]
fn odd_branch_names_have_plans() {
    let repo = Repo::with(FILES);
    for branch in ["a/b", "a-b", "ä ö".replace(' ', "").as_str(), "x@y", "9", "a'b\"c", "main.x"]
    {
        repo.git(&["switch", "-q", "-c", branch]);
        repo.aye(&["plan"]).ok().says(&format!("{branch}: no plan"));
        repo.aye(&["plan", "add", branch]).ok();
        repo.aye(&["plan", "add", "named", "--name", "n.1"]).ok();
        repo.aye(&["plan"]).ok().says(&format!("1. [ ] {branch}")).lacks("named");
        let projected = repo.text(".agent-memory/plan.yaml");
        assert_eq!(yaml(&projected)["branch"], branch);
        assert_eq!(yaml(&projected)["plans"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn text_from_agents_is_safe_and_events_of_others_are_not_trusted() {
    let repo = Repo::with(FILES);
    let evil = "{\"plan\": [{\"step\": \"a\\u001b[2J\\u202e\", \"status\": \"pending\"}]}";
    for format in ["text", "markdown", "json"] {
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
            let data = serde_json::json!({"branch": "main", "name": "default", "plan": [{"step": "", "status": "pending"}]});
            writer.note(None, aye::proposal::Note::Plan(data)).map(drop)
        })
        .unwrap();
    repo.aye(&["plan"]).ok().says("a\\x1b[2J");
}

#[test]
fn the_doctor_knows_the_projection() {
    let repo = Repo::with(FILES);
    let plan = ".agent-memory/plan.yaml";
    repo.aye(&["plan", "add", "One"]).ok();
    repo.aye(&["doctor"]).ok();
    let sound = repo.text(plan);
    repo.write(plan, sound.replace("One", "Two"));
    repo.aye(&["doctor"]).exits(1).says("projection_changed: .agent-memory/plan.yaml");
    repo.aye(&["doctor", "--repair"]).ok();
    assert_eq!(repo.text(plan), sound);
    repo.remove(plan);
    repo.aye(&["doctor"]).exits(1).says("projection_missing");
    repo.aye(&["doctor", "--repair"]).ok();
    assert_eq!(repo.text(plan), sound);
    repo.write(plan, "branch: [\n");
    repo.aye(&["doctor"]).exits(1).says("projection_changed");
    // On another branch it may still be that of the one before, and what it says then is told too.
    repo.write(plan, &sound);
    repo.git(&["switch", "-q", "-c", "other"]);
    repo.aye(&["doctor"]).ok();
    repo.write(plan, sound.replace("One", "Two"));
    repo.aye(&["doctor"]).exits(1).says("projection_changed");
    repo.aye(&["doctor", "--repair"]).ok();
    assert!(!repo.exists(plan));
}

/// What another clone's lane has brought is no damage here; what somebody has written there is.
#[test]
fn the_projection_follows_a_fetched_plan() {
    let (server, ada) = (Repo::bare(), Repo::with(FILES));
    join(&ada, &server);
    ada.git(&["push", "-q", "origin", "main"]);
    let bob = clone(&server);
    let plan = ".agent-memory/plan.yaml";
    let fetched = || {
        push(&ada);
        fetch(&bob);
    };
    ada.aye(&["plan", "add", "One"]).ok();
    fetched();
    bob.aye(&["status"]).ok();
    bob.aye(&["doctor"]).ok();
    let first = bob.text(plan);
    assert_eq!(first, ada.text(plan));
    // Older, or gone: it follows. Neither the plan as it was nor as it is: somebody has edited it.
    ada.aye(&["plan", "add", "Two"]).ok();
    ada.aye(&["plan", "add", "Other", "--name", "other"]).ok();
    fetched();
    bob.write(plan, first.replace("One", "Won"));
    bob.aye(&["doctor"]).exits(1).says("projection_changed");
    bob.write(plan, first.replace("plans:", "plans: # mine"));
    bob.aye(&["doctor"]).exits(1).says("projection_changed");
    bob.write(plan, &first);
    bob.aye(&["doctor"]).ok();
    assert_eq!(bob.text(plan), ada.text(plan));
    bob.remove(plan);
    bob.aye(&["doctor", "--full"]).ok();
    assert_eq!(bob.text(plan), ada.text(plan));
    // What this clone itself has changed last was written here.
    bob.aye(&["plan", "add", "Three"]).ok();
    bob.remove(plan);
    bob.aye(&["doctor"]).exits(1).says("projection_missing");
}

/// A number means the step that had it, on the branch where the proposal was made.
#[test]
fn a_proposal_stays_with_its_step() {
    let repo = Repo::with(FILES);
    let propose = |task: &str, new: &str| {
        let args = ["propose", "a.txt", "--old", "one", "--new", new, "--task", task, "--json"];
        let json = repo.agent("codex", &args).ok().json();
        json["proposal_id"].as_str().unwrap().to_owned()
    };
    let steps = || -> Vec<Vec<String>> {
        let plan = repo.aye(&["plan", "--json"]).ok().json();
        let ids = |step: &serde_json::Value| {
            let proposals = step["proposals"].as_array().unwrap().iter();
            proposals.map(|p| p["proposal_id"].as_str().unwrap().to_owned()).collect()
        };
        plan["plan"].as_array().unwrap().iter().map(ids).collect()
    };
    let early = propose("plan:1", "early");
    for step in ["Write it", "Test it"] {
        repo.aye(&["plan", "add", step]).ok();
    }
    let (first, second) = (propose("plan:01", "eins"), propose("plan:default:2", "zwei"));
    assert_eq!(steps(), [vec![early.clone(), first.clone()], vec![second.clone()]]);
    // Steps move, and their proposals with them.
    repo.aye(&["plan", "add", "Think", "--at", "1"]).ok();
    assert_eq!(steps(), [vec![], vec![early.clone(), first.clone()], vec![second.clone()]]);
    let third = propose("plan:2", "drei");
    assert_eq!(steps()[1], [early.clone(), first.clone(), third.clone()]);
    // A step that is worded anew is still the step.
    let list = r#"[{"step":"Think","status":"completed"},{"step":"Write all of it","status":"pending"},{"step":"Test it","status":"pending"}]"#;
    repo.aye(&["plan", "update", list]).ok();
    assert_eq!(steps()[1], [early, first, third.clone()]);
    repo.aye(&["apply", &second, "--yes"]).ok().notes("step 3 (Test it): aye plan set 3 completed");
    repo.git(&["checkout", "-q", "--", "."]);
    // Another branch has another plan, and its own proposals.
    repo.git(&["switch", "-q", "-c", "other"]);
    repo.aye(&["plan", "add", "Something else"]).ok();
    assert_eq!(steps(), [Vec::<String>::new()]);
    let other = propose("plan:1", "anders");
    assert_eq!(steps(), [vec![other]]);
    repo.git(&["switch", "-q", "main"]);
    assert_eq!(steps()[1].len(), 3);
    // A new plan does not inherit those of the old one.
    repo.aye(&["plan", "update", "[]"]).ok();
    repo.aye(&["plan", "add", "New"]).ok();
    assert_eq!(steps(), [Vec::<String>::new()]);
}

#[test]
fn lines_of_an_explanation_are_not_mistaken_for_steps_or_changes() {
    let repo = Repo::with(FILES);
    let plan = serde_json::json!({
        "explanation": "why\n1. [x] forged\n1 added: forged",
        "plan": [{ "step": "real", "status": "pending" }],
    });
    repo.agent("codex", &["call", "update_plan", &plan.to_string()]).ok();
    let shown = repo.aye(&["plan", "show"]).ok().out();
    assert!(
        shown.contains("\n    1. [x] forged\n") && shown.contains("\n1. [ ] real\n"),
        "{shown}"
    );
    let log = repo.aye(&["plan", "log"]).ok().out();
    assert!(log.contains("\n    1 added: forged\n"), "{log}");
}
