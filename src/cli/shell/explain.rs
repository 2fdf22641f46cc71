//! `--explain` and `--programs`: what the policy says, without running anything.

use serde::Serialize;

use crate::cli::{Context, Format};
use crate::error::{Error, Exit, Result, codes};
use crate::shell::plan::{Action, Step};
use crate::shell::policy::{self, Takes};
use crate::shell::{NOT_ASKED, World, plan};
use crate::text::escape;
use crate::tools::readonly_shell::{self, Response};

/// The output of `aye shell --explain`.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// `aye/shell_explain@1`.
    schema: &'static str,
    /// `allowed`, `refused`, or `undecided` where it depends on what only git can answer.
    decision: Decision,
    /// The command, as given.
    command: String,
    /// Each command, in order; a command that may run in several directories once for each.
    steps: Vec<ExplainedStep>,
    /// Why it is refused, or undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<Response>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Allowed,
    Refused,
    Undecided,
}

/// One command of an [`Explanation`].
#[derive(Debug, Serialize)]
pub struct ExplainedStep {
    /// As written.
    segment: String,
    /// The directory it runs in.
    directory: String,
    /// The rule that allowed it.
    rule: String,
    /// The program, or `builtin`.
    program: String,
    /// The argument list it gets, its name first.
    arguments: Vec<String>,
    /// Files below what it reads that are kept from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<String>,
}

impl ExplainedStep {
    fn new(step: &Step) -> Self {
        Self {
            segment: step.segment.clone(),
            directory: step.cwd.display().to_string(),
            rule: step.rule.to_owned(),
            program: match &step.action {
                Action::Run(path) => path.display().to_string(),
                Action::Missing => "not installed".into(),
                _ => "builtin".into(),
            },
            arguments: step.argv.clone(),
            unread: step.denied.iter().map(|path| path.display().to_string()).collect(),
        }
    }
}

/// Runs `aye shell --explain`.
pub(super) fn explain(context: &mut Context, command: &str, world: World) -> Result<Exit> {
    let world = World { asks: false, ..world };
    let mut explanation = Explanation {
        schema: "aye/shell_explain@1",
        decision: Decision::Allowed,
        command: command.to_owned(),
        steps: Vec::new(),
        refusal: None,
    };
    match plan(command, &world) {
        Ok(plan) => explanation.steps = plan.steps().into_iter().map(ExplainedStep::new).collect(),
        Err(refusal) if refusal.rule() == NOT_ASKED => {
            explanation.decision = Decision::Undecided;
            explanation.refusal = Some(readonly_shell::refused(command, &refusal));
        }
        // In text the refusal is the usual error.
        Err(refusal) if context.format_or(Format::Text) == Format::Text => {
            return Err(refusal.into());
        }
        Err(refusal) => {
            explanation.decision = Decision::Refused;
            explanation.refusal = Some(readonly_shell::refused(command, &refusal));
        }
    }
    context.emit(Format::Text, &explanation, || {
        let mut text = String::new();
        if let Some(Response::Refused(refused)) = &explanation.refusal {
            text += &format!("undecided: {}\n", escape::line(&refused.message));
        }
        for step in &explanation.steps {
            text += &format!("{}\n", escape::line(&step.segment));
            text += &format!("  rule       {}\n", step.rule);
            text += &format!("  program    {}\n", escape::line(&step.program));
            for argument in &step.arguments[1..] {
                text += &format!("  argument   {}\n", escape::line(argument));
            }
            text += &format!("  directory  {}\n", escape::line(&step.directory));
            for path in &step.unread {
                text += &format!("  unread     {}\n", escape::line(path));
            }
        }
        text
    })?;
    Ok(if explanation.decision == Decision::Refused { Exit::Refused } else { Exit::Done })
}

/// The output of `aye shell --programs`.
#[derive(Debug, Serialize)]
pub struct Programs {
    /// `aye/shell_programs@1`.
    schema: &'static str,
    /// The programs, or the one asked for.
    programs: Vec<ListedProgram>,
}

/// One program of the policy.
#[derive(Debug, Serialize)]
pub struct ListedProgram {
    /// `ls`, `git log`.
    name: &'static str,
    /// Its flags; only when asked for by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flags: Vec<String>,
}

/// Runs `aye shell --programs`.
pub(super) fn programs(context: &mut Context, wanted: &str) -> Result<Exit> {
    let mut names: Vec<&str> =
        policy::names().filter(|n| wanted.is_empty() || *n == wanted).collect();
    names.sort_unstable();
    if names.is_empty() {
        return Err(Error::new(&codes::INVALID_ARGUMENT, format!("`{wanted}` is not on the list"))
            .hint("`aye shell --programs` lists what is"));
    }
    let listed =
        names.iter().filter_map(|name| policy::program(name)).map(|program| ListedProgram {
            name: program.name,
            flags: if wanted.is_empty() {
                Vec::new()
            } else {
                let flags = program.flags.iter().map(|flag| {
                    let argument = match flag.takes {
                        Takes::Nothing => "",
                        Takes::Maybe(_) | Takes::UnlessLast(_) => " [ARG]",
                        Takes::Needs(_) => " ARG",
                    };
                    format!("{}{argument}", flag.names.join(", "))
                });
                flags.chain(program.versions.iter().map(ToString::to_string)).collect()
            },
        });
    let value = Programs { schema: "aye/shell_programs@1", programs: listed.collect() };
    context.emit(Format::Text, &value, || {
        let mut text = String::new();
        for program in &value.programs {
            text += &format!("{}\n", program.name);
            for flag in &program.flags {
                text += &format!("  {flag}\n");
            }
        }
        text
    })?;
    Ok(Exit::Done)
}
