//! `aye plan`: the task plan of this branch.

use std::io::IsTerminal as _;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Context, Format, output, paths};
use crate::app::plan::{self as service, Updated};
use crate::error::{Error, Exit, Result, codes};
use crate::plan::{Change, History, Key, Progress, Request, Step, StepStatus, TaskPlan, text};
use crate::proposal::event::timestamp;
use crate::proposal::{Proposal, Status};
use crate::store::{Store, Summary};
use crate::text::escape;
use crate::tools::{Arguments, json, update_plan};

/// Largest plan read, in bytes: far more than 200 steps of 2,000 characters.
const MOST: u64 = 8 << 20;

/// Show and update the task plan of this branch.
///
/// A plan is a list of steps, each pending, in_progress (at most one) or completed. Agents keep it
/// through the update_plan tool; every version stays in the log. A proposal whose related task is
/// plan:3 belongs to step 3 (plan:NAME:3 in a plan with a name).
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  aye plan
  aye plan set 2 completed
  aye plan add 'Write the documentation'
  aye plan update '[{\"step\": \"Fix bug\", \"status\": \"in_progress\"}]'
  aye plan show --format markdown
  aye plan log"
)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Sub>,
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Another plan than the branch's default one.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum Sub {
    /// Show the plan with its progress and the proposals of each step (--format also takes
    /// markdown).
    #[command(after_help = "Examples:
  aye plan show
  aye plan show --name release --format markdown")]
    Show {
        #[command(flatten)]
        which: Which,
    },
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
        #[command(flatten)]
        which: Which,
    },
    /// Set the status of a step.
    #[command(after_help = "Examples:
  aye plan set 2 completed
  aye plan set 3 in_progress -m 'The tests came first'")]
    Set {
        /// Its number, from 1.
        #[arg(value_name = "N")]
        number: usize,
        /// Its new status.
        #[arg(value_enum)]
        status: StepStatus,
        /// Why.
        #[arg(short = 'm', long = "message", value_name = "TEXT")]
        explanation: Option<String>,
        #[command(flatten)]
        which: Which,
    },
    /// Add a step, at the end or at a place.
    #[command(after_help = "Examples:
  aye plan add 'Write the documentation'
  aye plan add 'Read the issue' --at 1 --status completed")]
    Add {
        /// What is to be done.
        #[arg(value_name = "STEP")]
        step: String,
        /// Its status.
        #[arg(long, value_enum, default_value = "pending")]
        status: StepStatus,
        /// Insert it before step N.
        #[arg(long, value_name = "N")]
        at: Option<usize>,
        /// Why.
        #[arg(short = 'm', long = "message", value_name = "TEXT")]
        explanation: Option<String>,
        #[command(flatten)]
        which: Which,
    },
    /// Show what changed from version to version, newest first.
    #[command(after_help = "Examples:
  aye plan log
  aye plan log -n 5 --json")]
    Log {
        /// At most N versions.
        #[arg(short = 'n', long, value_name = "N")]
        limit: Option<usize>,
        #[command(flatten)]
        which: Which,
    },
}

/// The document of `plan` and its subcommands but `log`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document {
    /// `aye/plan@1`.
    pub schema: &'static str,
    /// The branch.
    pub branch: String,
    /// `default`, or the plan's name.
    pub name: String,
    /// The steps.
    pub plan: Vec<Line>,
    /// Why it is as it is.
    pub explanation: Option<String>,
    /// When it became that; null if it was never set.
    pub updated_at: Option<String>,
    /// How many steps are in which state.
    pub progress: Progress,
}

/// One step with its proposals.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Line {
    /// Its number, from 1.
    pub number: usize,
    /// What is to be done.
    pub step: String,
    /// How far it is.
    pub status: StepStatus,
    /// What a proposal's `related_task_id` says to belong to it.
    pub task_id: String,
    /// Those that do.
    pub proposals: Vec<Attached>,
}

/// A proposal of a step.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Attached {
    /// Its id.
    pub proposal_id: String,
    /// Its status.
    pub status: Status,
    /// The first changed file.
    pub file_path: String,
    /// Why.
    pub description: Option<String>,
}

/// The document of `plan log`.
#[derive(Debug, Serialize)]
pub struct LogDocument {
    /// `aye/plan_log@1`.
    pub schema: &'static str,
    /// The branch.
    pub branch: String,
    /// `default`, or the plan's name.
    pub name: String,
    /// Newest first.
    pub versions: Vec<LogVersion>,
}

/// One version.
#[derive(Debug, Serialize)]
pub struct LogVersion {
    /// Object id of the event that brought it.
    pub event: String,
    /// Who.
    pub by: String,
    /// When.
    pub at: String,
    /// Why.
    pub explanation: Option<String>,
    /// What it changed.
    pub changes: Vec<Change>,
    /// How far the plan was then.
    pub progress: Progress,
}

/// Runs the command.
///
/// # Errors
/// `plan_invalid`, `plan_step_not_found`, `invalid_json`, `missing_parameter`, `invalid_parameter`,
/// those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let shows = matches!(args.command, None | Some(Sub::Show { .. }));
    if let Some(format) = context.format.filter(|format| !shows && !format.is_common()) {
        // Before anything is changed.
        return Err(output::unsupported(format));
    }
    let store = context.store()?;
    let key = |which: &Which| Key::new(store.branch(), which.name.as_deref());
    match args.command.unwrap_or(Sub::Show { which: args.which }) {
        Sub::Show { which } => show(context, &store, &key(&which)?),
        Sub::Log { limit, which } => log(context, &store, &key(&which)?, limit),
        Sub::Update { plan, which } => {
            let Arguments { known: request, ignored } = request(context, plan)?;
            if !ignored.is_empty() {
                let names = escape::line(&ignored.join(", ")).into_owned();
                context.note(&format!("note: a plan has no such fields, ignored: {names}"));
            }
            let named = Which { name: which.name.or(request.name) };
            change(context, &store, &key(&named)?, |_| Ok((request.plan, request.explanation)))
        }
        Sub::Set { number, status, explanation, which } => {
            change(context, &store, &key(&which)?, |plan| {
                Ok((plan.with_status(number, status)?, explanation))
            })
        }
        Sub::Add { step, status, at, explanation, which } => {
            change(context, &store, &key(&which)?, |plan| {
                Ok((plan.with_step(Step { step, status }, at)?, explanation))
            })
        }
    }
}

/// The plan as JSON, from the command line or standard input.
fn request(context: &Context, given: Option<String>) -> Result<Arguments<Request>> {
    let bytes = match given {
        Some(text) if text != "-" => text.into_bytes(),
        None if std::io::stdin().is_terminal() => {
            return Err(Error::new(&codes::USAGE, "no plan given").hint(
                "aye plan update '[{\"step\": \"Fix bug\", \"status\": \"pending\"}]', or pipe it in",
            ));
        }
        _ => paths::content(context, "-".as_ref(), MOST)?,
    };
    match json::read(&bytes, "the plan", "give a list of {\"step\": …, \"status\": …}")? {
        Value::Array(steps) => update_plan::read(json!({ "plan": steps })),
        other => update_plan::read(other),
    }
}

fn change(
    context: &mut Context,
    store: &Store,
    key: &Key,
    change: impl FnOnce(&TaskPlan) -> Result<(TaskPlan, Option<String>)>,
) -> Result<Exit> {
    let updated = service::update(&context.session(store), key, change)?;
    if !updated.changed {
        context.note("note: the plan was that already");
    }
    print(context, store, key, Some(updated))
}

fn show(context: &mut Context, store: &Store, key: &Key) -> Result<Exit> {
    let updated = service::current(&store.view()?, key)?.map(|version| Updated {
        plan: version.plan,
        at: version.at,
        explanation: version.explanation,
        changed: false,
    });
    if context.format == Some(Format::Markdown) {
        let (plan, why) = updated.map(|u| (u.plan, u.explanation)).unwrap_or_default();
        let text = text::markdown(&plan, why.as_deref());
        let is_shown = std::io::stdout().is_terminal();
        let text = if is_shown { escape::block(&text).into_owned() } else { text };
        context.print(text.as_bytes())?;
        return Ok(Exit::Done);
    }
    print(context, store, key, updated)
}

fn print(
    context: &mut Context,
    store: &Store,
    key: &Key,
    updated: Option<Updated>,
) -> Result<Exit> {
    let view = store.view()?;
    let at = updated.as_ref().map(|updated| timestamp(updated.at));
    let (plan, explanation) = updated.map(|u| (u.plan, u.explanation)).unwrap_or_default();
    let mut lines = Vec::new();
    let attached = service::attached(&view, context.now, key, &plan)?;
    for ((index, step), proposals) in plan.steps().iter().enumerate().zip(attached) {
        let task_id = key.task_id(index + 1);
        let proposals = proposals.into_iter().map(Attached::new);
        lines.push(Line {
            number: index + 1,
            step: step.step.clone(),
            status: step.status,
            proposals: proposals.collect(),
            task_id,
        });
    }
    let document = Document {
        schema: "aye/plan@1",
        branch: key.branch.clone(),
        name: key.name.clone(),
        plan: lines,
        explanation,
        updated_at: at,
        progress: plan.progress(),
    };
    let color = context.color;
    context.emit(Format::Text, &document, || screen(&document, &plan, color))?;
    Ok(Exit::Done)
}

impl Attached {
    fn new(summary: Summary) -> Self {
        Self {
            proposal_id: summary.id.to_string(),
            status: summary.status,
            file_path: summary.path,
            description: summary.description,
        }
    }
}

fn heading(branch: &str, name: &str) -> String {
    let name = if name == crate::plan::record::DEFAULT_NAME { "" } else { name };
    let gap = if name.is_empty() { "" } else { " / " };
    format!("{}{gap}{}", escape::line(branch), escape::line(name))
}

fn screen(document: &Document, plan: &TaskPlan, color: bool) -> String {
    let head = heading(&document.branch, &document.name);
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
                let what = proposal.description.as_deref().and_then(|text| text.lines().next());
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

fn log(context: &mut Context, store: &Store, key: &Key, limit: Option<usize>) -> Result<Exit> {
    // One more than is shown says what the oldest of them changed.
    let last = limit.map(|limit| limit.saturating_add(1));
    let history = History::new(&store.view()?.plan_events(key, last)?);
    let versions = history.newest_first().take(limit.unwrap_or(usize::MAX));
    let document = LogDocument {
        schema: "aye/plan_log@1",
        branch: key.branch.clone(),
        name: key.name.clone(),
        versions: versions
            .map(|(version, changes)| LogVersion {
                event: version.event.clone(),
                by: version.by.name.clone(),
                at: timestamp(version.at),
                explanation: version.explanation.clone(),
                changes,
                progress: version.plan.progress(),
            })
            .collect(),
    };
    context.emit(Format::Text, &document, || {
        let mut out = String::new();
        for version in &document.versions {
            let when = version.at.get(..16).unwrap_or(&version.at).replace('T', " ");
            let by = escape::line(&version.by);
            out += &format!("{when} {by}: {}\n", text::progress(version.progress));
            for line in version.explanation.iter().flat_map(|text| text.lines()) {
                out += &format!("    {}\n", escape::line(line));
            }
            for change in &version.changes {
                out += &format!("  {}\n", text::change(change));
            }
        }
        if out.is_empty() {
            out = format!("{}: no plan yet\n", heading(&document.branch, &document.name));
        }
        out
    })?;
    Ok(Exit::Done)
}

/// What to type when `proposal`, just applied, was the last open one of a step that is not
/// completed yet.
pub fn suggestion(context: &Context, store: &Store, proposal: &Proposal) -> Option<String> {
    let done = service::finished(&store.view().ok()?, context.now, &store.branch(), proposal)?;
    let number = done.number;
    let named = done.name.map(|name| format!(" --name {name}")).unwrap_or_default();
    Some(format!(
        "hint: that was the last open proposal of step {number} ({}): aye plan set {number} completed{named}",
        escape::line(done.step.step.lines().next().unwrap_or_default())
    ))
}
