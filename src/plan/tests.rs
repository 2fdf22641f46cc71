use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn plan(steps: &[(&str, StepStatus)]) -> TaskPlan {
    TaskPlan::new(
        steps.iter().map(|(s, status)| PlanStep { step: (*s).into(), status: *status }).collect(),
    )
    .unwrap()
}

use StepStatus::{Completed, InProgress, Pending};

fn detail(error: &crate::error::Error, key: &str) -> Option<Value> {
    error.details().iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone())
}

fn request(steps: Value, why: Option<&str>) -> Result<PlanUpdate> {
    let steps = steps.as_array().expect("a list");
    PlanUpdate::new(steps, why.map(str::to_owned), &mut Vec::new())
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
    let request = PlanUpdate::new(&given, None, &mut ignored).unwrap();
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
fn task_ids_name_steps() {
    assert_eq!(step_of(&task_id(3)), Some(3));
    for id in [
        "plan:0",
        "plan:",
        "plan:x",
        "plan:+3",
        "plan:api:3",
        "PROJ-3",
        "plan:99999999999999999999",
    ] {
        assert_eq!(step_of(id), None, "{id}");
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

fn any_plan() -> impl Strategy<Value = TaskPlan> {
    let status = prop_oneof![Just(Pending), Just(Completed)];
    proptest::collection::vec(("[a-e]", status), 0..8).prop_map(|steps| {
        TaskPlan::new(steps.into_iter().map(|(step, status)| PlanStep { step, status }).collect())
            .unwrap()
    })
}

proptest! {
    #[test]
    fn a_record_is_read_as_it_was_written(plan in any_plan(), why in proptest::option::of("[a-z]{1,5}")) {
        let record = PlanRecord { branch: "b/c".into(), plan, explanation: why };
        prop_assert_eq!(PlanRecord::from_value(&record.to_value().unwrap()), Some(record));
    }

    #[test]
    fn any_text_makes_a_safe_list(step in any::<String>()) {
        if let Ok(plan) = TaskPlan::new(vec![PlanStep { step, status: Pending }]) {
            let shown = text::checklist(&plan, false, |_| Vec::new());
            prop_assert!(!shown.chars().any(|c| c != '\n' && crate::text::is_unsafe(c)));
        }
    }
}
