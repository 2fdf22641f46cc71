use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn plan(steps: &[(&str, StepStatus)]) -> TaskPlan {
    TaskPlan::new(
        steps.iter().map(|(s, status)| Step { step: (*s).into(), status: *status }).collect(),
    )
    .unwrap()
}

use StepStatus::{Completed, InProgress, Pending};

fn detail(error: &crate::error::Error, key: &str) -> Option<Value> {
    error.details().iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone())
}

fn request(steps: Value, why: Option<&str>) -> Result<Request> {
    let steps = steps.as_array().expect("a list");
    Request::new(steps, why.map(str::to_owned), None, &mut Vec::new())
}

#[test]
fn the_contracts_own_example_is_read() {
    let steps = json!([
        { "step": "Complete code review", "status": "in_progress" },
        { "step": "  Fix bug\n", "status": "pending" },
        { "step": "Write documentation", "status": "pending" },
    ]);
    let request = request(steps, Some("Today's Tasks")).unwrap();
    assert_eq!(request.plan.steps()[1].step, "Fix bug");
    assert_eq!(request.explanation.as_deref(), Some("Today's Tasks"));
    assert_eq!(request.plan.progress(), Progress { completed: 0, in_progress: 1, pending: 2 });
}

#[test]
fn what_breaks_a_rule_is_refused_with_its_index() {
    let step = |text: &str, status: &str| json!({ "step": text, "status": status });
    let long = "x".repeat(MAX_STEP_CHARS + 1);
    let many: Vec<Value> = (0..=MAX_STEPS).map(|_| step("x", "pending")).collect();
    let cases: Vec<(Value, Option<u64>)> = vec![
        (json!([step("a", "pending"), 3]), Some(1)),
        (json!([step("a", "pending"), step(" \n\t", "pending")]), Some(1)),
        (json!([step("a", "done")]), Some(0)),
        (json!([step("a", "Pending")]), Some(0)),
        (json!([step("a", "")]), Some(0)),
        (json!([{ "step": "a" }]), Some(0)),
        (json!([{ "status": "pending" }]), Some(0)),
        (json!([{ "step": 1, "status": "pending" }]), Some(0)),
        (json!([{ "step": "a", "status": null }]), Some(0)),
        (json!([step("a", "pending"), step(&long, "pending")]), Some(1)),
        (json!(many), Some(200)),
        (
            json!([step("a", "in_progress"), step("b", "completed"), step("c", "in_progress")]),
            Some(2),
        ),
    ];
    for (input, index) in cases {
        let error = request(input.clone(), None).unwrap_err();
        assert_eq!(error.code().id, "plan_invalid", "{input}");
        assert_eq!(detail(&error, "index"), index.map(Value::from), "{input}: {error}");
    }
    let why = "x".repeat(MAX_EXPLANATION_CHARS + 1);
    assert_eq!(request(json!([]), Some(&why)).unwrap_err().code().id, "plan_invalid");
}

#[test]
fn what_is_not_in_the_contract_is_named() {
    let (given, mut ignored) = ([json!({ "step": "a", "status": "pending", "id": 1 })], Vec::new());
    let request = Request::new(&given, None, None, &mut ignored).unwrap();
    assert_eq!(request.plan.steps().len(), 1);
    assert_eq!(ignored, ["plan[0].id"]);
}

#[test]
fn the_limits_themselves_are_allowed() {
    let text = format!(" {} ", "ü".repeat(MAX_STEP_CHARS));
    let steps: Vec<Value> =
        (0..MAX_STEPS).map(|_| json!({ "step": text, "status": "completed" })).collect();
    let request = request(steps.into(), Some("  ")).unwrap();
    assert_eq!(request.plan.steps().len(), MAX_STEPS);
    assert_eq!(request.explanation, None);
    assert!(self::request(json!([]), None).unwrap().plan.is_empty());
}

#[test]
fn one_step_can_be_set_or_added() {
    let start = plan(&[("a", InProgress), ("b", Pending)]);
    let done = start.with_status(1, Completed).unwrap();
    assert_eq!(done, plan(&[("a", Completed), ("b", Pending)]));
    let error = start.with_status(2, InProgress).unwrap_err();
    assert!(error.is(&codes::PLAN_INVALID) && error.message().contains("steps 1 and 2"));
    for number in [0, 3, usize::MAX] {
        assert!(start.with_status(number, Pending).unwrap_err().is(&codes::PLAN_STEP_NOT_FOUND));
    }
    let step = || Step { step: " c ".into(), status: Pending };
    assert_eq!(start.with_step(step(), None).unwrap().steps()[2].step, "c");
    assert_eq!(start.with_step(step(), Some(1)).unwrap().steps()[0].step, "c");
    assert_eq!(start.with_step(step(), Some(3)).unwrap().steps()[2].step, "c");
    assert!(start.with_step(step(), Some(4)).is_err());
}

#[test]
fn a_diff_names_what_was_added_removed_moved_and_done() {
    let old = plan(&[("a", InProgress), ("b", Pending), ("c", Pending), ("x", Pending)]);
    let new = plan(&[("c", Pending), ("a", Completed), ("b", Pending), ("d", InProgress)]);
    let lines: Vec<String> = diff(&old, &new).iter().map(text::change).collect();
    assert_eq!(
        lines,
        [
            "- 4. x (pending)",
            "~ 3. -> 1. c",
            "~ 2. a: in_progress -> completed",
            "+ 4. d (in_progress)",
        ]
    );
    assert!(diff(&new, &new).is_empty());
}

#[test]
fn task_ids_name_steps() {
    let default = Key::new("main", None).unwrap();
    let named = Key::new("main", Some("api")).unwrap();
    assert_eq!(default.task_id(3), "plan:3");
    assert_eq!(named.task_id(3), "plan:api:3");
    assert_eq!(default.step_of("plan:3"), Some(3));
    assert_eq!(named.step_of("plan:api:3"), Some(3));
    for id in [
        "plan:0",
        "plan:",
        "plan:x",
        "plan:+3",
        "plan:api:3",
        "PROJ-3",
        "plan:99999999999999999999",
    ] {
        assert_eq!(default.step_of(id), None, "{id}");
    }
    for name in ["", "a b", "a:b", "a\u{202e}", &"n".repeat(65)] {
        assert!(Key::new("main", Some(name)).is_err(), "{name}");
    }
}

#[test]
fn the_checklist_is_safe_and_shows_progress() {
    let plan = plan(&[("done", Completed), ("now\u{1b}[2J\nmore", InProgress), ("later", Pending)]);
    assert_eq!(
        text::checklist(&plan, false, |_| Vec::new()),
        "1. [x] done\n2. [>] now\\x1b[2J\n       more\n3. [ ] later\n"
    );
    assert_eq!(text::progress(plan.progress()), "1 of 3 completed, 1 in progress");
}

#[test]
fn markdown_text_stands_for_itself() {
    let plan = plan(&[("# *x* <b>", Completed), ("1. [y](z)", InProgress), ("- z", Pending)]);
    assert_eq!(
        text::markdown(&plan, Some("Why: a_b")),
        "Why: a\\_b\n\n1. [x] \\# \\*x\\* \\<b\\>\n2. [ ] **1\\. \\[y\\](z)** (in progress)\n3. [ ] \\- z\n"
    );
}

fn any_plan() -> impl Strategy<Value = TaskPlan> {
    let status = prop_oneof![Just(Pending), Just(Completed)];
    proptest::collection::vec(("[a-e]", status), 0..8).prop_map(|steps| {
        TaskPlan::new(steps.into_iter().map(|(step, status)| Step { step, status }).collect())
            .unwrap()
    })
}

/// Carries `changes` out on `old`: an independent reading of what they mean.
fn replay(old: &TaskPlan, changes: &[Change]) -> Vec<Step> {
    let mut kept: Vec<Option<Step>> = old.steps().iter().cloned().map(Some).collect();
    let mut placed: Vec<(usize, Step)> = Vec::new();
    for change in changes {
        match change {
            Change::Removed { from, .. } => kept[from - 1] = None,
            Change::Moved { from, to, .. } => placed.push((*to, kept[from - 1].take().unwrap())),
            Change::Added { to, step, status } => {
                placed.push((*to, Step { step: step.clone(), status: *status }));
            }
            Change::Status { .. } => {}
        }
    }
    let mut steps: Vec<Step> = kept.into_iter().flatten().collect();
    placed.sort_by_key(|(to, _)| *to);
    for (to, step) in placed {
        steps.insert(to - 1, step);
    }
    for change in changes {
        if let Change::Status { to, before, after, .. } = change {
            assert_eq!(steps[to - 1].status, *before);
            steps[to - 1].status = *after;
        }
    }
    steps
}

proptest! {
    #[test]
    fn a_diff_carried_out_gives_the_new_plan(old in any_plan(), new in any_plan()) {
        let changes = diff(&old, &new);
        prop_assert_eq!(replay(&old, &changes), new.steps());
        prop_assert_eq!(changes.is_empty(), old == new);
    }

    #[test]
    fn a_record_is_read_as_it_was_written(plan in any_plan(), why in proptest::option::of("[a-z]{1,5}")) {
        let record = Record { key: Key::new("b/c", Some("n")).unwrap(), plan, explanation: why };
        prop_assert_eq!(Record::from_value(&record.to_value().unwrap()), Some(record));
    }

    #[test]
    fn any_text_makes_a_safe_list(step in any::<String>()) {
        if let Ok(plan) = TaskPlan::new(vec![Step { step, status: Pending }]) {
            let shown = text::checklist(&plan, false, |_| Vec::new());
            prop_assert!(!shown.chars().any(|c| c != '\n' && crate::text::is_unsafe(c)));
            let document = text::markdown(&plan, None);
            prop_assert!(!document.chars().any(|c| c != '\n' && crate::text::is_control(c)));
        }
    }
}
