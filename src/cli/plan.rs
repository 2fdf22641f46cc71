//! The command `aye plan`.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Context, Format, paths};
use crate::app::plan as service;
use crate::error::{Exit, Result};
use crate::plan::{PlanUpdate, Progress, StepStatus, TaskPlan, task_id, text};
use crate::proposal::Status;
use crate::proposal::event::timestamp;
use crate::proposal::state::title;
use crate::store::{Store, Summary};
use crate::text::escape;
use crate::tools::{Arguments, json, update_plan};

/// Show and update the task plan of this branch.
///
/// A plan is a list of steps, each pending, in_progress (at most one) or completed. Agents keep it
/// through the update_plan tool. A proposal whose related task is plan:3 belongs to step 3.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye plan
  aye plan update '[{\"step\": \"Fix bug\", \"status\": \"in_progress\"}]'")]
pub struct Args {
    #[command(subcommand)]
    command: Option<Sub>,
}

#[derive(Debug, clap::Subcommand)]
enum Sub {
    /// Show the plan with its progress and the proposals of each step.
    #[command(after_help = "Examples:
  aye plan show
  aye plan show --json")]
    Show,
    /// Replace the whole list.
    ///
    /// JSON as the update_plan tool takes it, or the list alone; an empty list clears the plan.
    #[command(after_help = "Examples:
  aye plan update '[{\"step\": \"Fix bug\", \"status\": \"in_progress\"}]'
  aye plan update - < plan.json
  aye plan update '[]'")]
    Update {
        /// The plan as JSON; - or nothing reads standard input.
        #[arg(value_name = "JSON")]
        plan: Option<String>,
    },
}

/// The document of `plan` and its subcommands.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document {
    /// `aye/plan@1`.
    pub schema: &'static str,
    /// The branch.
    pub branch: String,
    /// The steps.
    pub plan: Vec<StepLine>,
    /// Why it is as it is.
    pub explanation: Option<String>,
    /// When it became that; null if it was never set.
    pub updated_at: Option<String>,
    /// How many steps are in which state.
    pub progress: Progress,
}

/// One step with its proposals.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StepLine {
    /// Its number, from 1.
    pub number: usize,
    /// The work to be done.
    pub step: String,
    /// How far it is.
    pub status: StepStatus,
    /// The `related_task_id` of proposals that belong to this step.
    pub task_id: String,
    /// The proposals of this step.
    pub proposals: Vec<StepProposal>,
}

/// A proposal of a step.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StepProposal {
    /// Its id.
    pub proposal_id: String,
    /// Its status.
    pub status: Status,
    /// The first changed file.
    pub file_path: String,
    /// Why.
    pub description: Option<String>,
}

/// # Errors
/// `plan_invalid`, `invalid_json`, `missing_parameter`, `invalid_parameter`.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let Some(Sub::Update { plan }) = args.command else {
        let version = service::current(&store.view()?, &store.repository().branch())?;
        let at = version.as_ref().map(|version| version.at);
        let (plan, why) = version.map(|v| (v.plan, v.explanation)).unwrap_or_default();
        return print(context, &store, plan, why, at);
    };
    let Arguments { known: request, ignored } = request(context, plan)?;
    if !ignored.is_empty() {
        let names = escape::line(&ignored.join(", ")).into_owned();
        context.note(&format!("note: a plan has no such fields, ignored: {names}"));
    }
    let updated = service::update(&context.session(&store), request)?;
    if !updated.changed {
        context.note("note: the plan was that already");
    }
    print(context, &store, updated.plan, updated.explanation, Some(updated.at))
}

/// Accepts the tool's request or a bare list.
fn request(context: &Context, given: Option<String>) -> Result<Arguments<PlanUpdate>> {
    let hint = "give a list of {\"step\": …, \"status\": …}";
    match json::read(&paths::text_or_input(context, given.as_deref(), hint)?, "the plan", hint)? {
        Value::Array(steps) => update_plan::read(json!({ "plan": steps })),
        other => update_plan::read(other),
    }
}

fn print(
    context: &mut Context,
    store: &Store,
    plan: TaskPlan,
    explanation: Option<String>,
    at: Option<DateTime<Utc>>,
) -> Result<Exit> {
    let branch = store.repository().branch();
    let attached = service::attached(&store.view()?, context.now, &branch, &plan)?;
    let steps = plan.steps().iter().zip(attached).enumerate();
    let lines = steps.map(|(index, (step, proposals))| StepLine {
        number: index + 1,
        step: step.step.clone(),
        status: step.status,
        task_id: task_id(index + 1),
        proposals: proposals.into_iter().map(StepProposal::new).collect(),
    });
    let document = Document {
        schema: "aye/plan@1",
        plan: lines.collect(),
        branch,
        explanation,
        updated_at: at.map(timestamp),
        progress: plan.progress(),
    };
    let color = context.color;
    context.emit(Format::Text, &document, || screen(&document, &plan, color))
}

impl StepProposal {
    fn new(summary: Summary) -> Self {
        Self {
            proposal_id: summary.id.to_string(),
            status: summary.status,
            file_path: summary.path,
            description: summary.description,
        }
    }
}

fn screen(document: &Document, plan: &TaskPlan, color: bool) -> String {
    let head = escape::line(&document.branch);
    if plan.is_empty() {
        return format!("{head}: no plan\n");
    }
    let mut out = format!("{head}: {}\n", text::progress(document.progress));
    for line in document.explanation.iter().flat_map(|text| text.lines()) {
        out += &format!("    {}\n", escape::line(line));
    }
    out += &text::checklist(plan, color, |number| {
        let proposals = &document.plan[number - 1].proposals;
        proposals
            .iter()
            .map(|proposal| {
                let what = title(proposal.description.as_deref());
                let what = what.map(|what| format!(": {}", escape::line(what))).unwrap_or_default();
                format!(
                    "{} {:<8} {}{what}",
                    proposal.proposal_id,
                    proposal.status.as_str(),
                    escape::name(&proposal.file_path)
                )
            })
            .collect()
    });
    out
}
