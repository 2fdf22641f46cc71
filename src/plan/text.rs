//! A plan for people: a check-list for the terminal, Markdown for a document, a line per change.

use std::fmt::Write as _;

use super::{Change, Progress, StepStatus, TaskPlan};
use crate::text::{self, escape};

/// The check-list: number, box, step; further lines of a step, and those that `below` gives for
/// its number (safe ones), are indented below it. Untrusted text is made safe for a terminal.
pub fn checklist(plan: &TaskPlan, color: bool, below: impl Fn(usize) -> Vec<String>) -> String {
    let digits = plan.steps().len().to_string().len();
    let mut out = String::new();
    for (index, step) in plan.steps().iter().enumerate() {
        let (mark, on) = match step.status {
            StepStatus::Completed => ("[x]", "\u{1b}[32m"),
            StepStatus::InProgress => ("[>]", "\u{1b}[1;33m"),
            StepStatus::Pending => ("[ ]", ""),
        };
        let (on, off) = if color && !on.is_empty() { (on, "\u{1b}[0m") } else { ("", "") };
        let mut lines = step.step.lines().map(|line| escape::line(line.trim_end()));
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(out, "{:>digits$}. {on}{mark} {first}{off}", index + 1);
        let below = below(index + 1);
        for line in lines.chain(below.iter().map(|line| line.as_str().into())) {
            let _ = writeln!(out, "{:indent$}{line}", "", indent = digits + 6);
        }
    }
    out
}

/// `2 of 5 completed, 1 in progress`; `no steps` for an empty plan.
pub fn progress(progress: Progress) -> String {
    if progress.total() == 0 {
        return "no steps".into();
    }
    let mut out = format!("{} of {} completed", progress.completed, progress.total());
    if progress.in_progress > 0 {
        out += ", 1 in progress";
    }
    out
}

/// GitHub-flavoured Markdown: a task list under an optional explanation. Text stands for itself:
/// what Markdown or HTML would interpret is escaped. What hides or reorders text on a terminal is for whoever shows it
/// there to escape.
pub fn markdown(plan: &TaskPlan, explanation: Option<&str>) -> String {
    let mut out = String::new();
    if let Some(text) = explanation {
        for line in text.lines() {
            let _ = writeln!(out, "{}", literal(line.trim()));
        }
        out.push('\n');
    }
    for (index, step) in plan.steps().iter().enumerate() {
        let mark = if step.status == StepStatus::Completed { 'x' } else { ' ' };
        let mut lines = step.step.lines().map(|line| literal(line.trim()));
        let first = lines.next().unwrap_or_default();
        let number = index + 1;
        match step.status {
            StepStatus::InProgress => {
                let _ = writeln!(out, "{number}. [{mark}] **{first}** (in progress)");
            }
            _ => {
                let _ = writeln!(out, "{number}. [{mark}] {first}");
            }
        }
        let indent = number.to_string().len() + 2;
        for line in lines.filter(|line| !line.is_empty()) {
            let _ = writeln!(out, "{:indent$}{line}", "");
        }
    }
    out
}

/// One line that says what changed, safe for a terminal.
pub fn change(change: &Change) -> String {
    let text = |step: &str| escape::line(step).into_owned();
    match change {
        Change::Added { to, step, status: StepStatus::Pending } => {
            format!("+ {to}. {}", text(step))
        }
        Change::Added { to, step, status } => {
            format!("+ {to}. {} ({})", text(step), status.as_str())
        }
        Change::Removed { from, step, status } => {
            format!("- {from}. {} ({})", text(step), status.as_str())
        }
        Change::Status { to, step, before, after } => {
            format!("~ {to}. {}: {} -> {}", text(step), before.as_str(), after.as_str())
        }
        Change::Moved { from, to, step } => format!("~ {from}. -> {to}. {}", text(step)),
    }
}

/// `line` with every character escaped that CommonMark or GitHub would give a meaning to.
fn literal(line: &str) -> String {
    let safe = text::one_line(line);
    let mut out = String::with_capacity(safe.len() + 8);
    for (index, c) in safe.chars().enumerate() {
        let special = matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '|' | '~')
            || (index == 0 && matches!(c, '#' | '+' | '-' | '=' | '!'));
        // `1.` and `1)` at the start of a line would begin a list.
        let list = matches!(c, '.' | ')')
            && index > 0
            && safe.chars().take(index).all(|c| c.is_ascii_digit());
        if special || list {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
