//! A plan as a checklist for the terminal.

use std::fmt::Write as _;

use super::{Progress, StepStatus, TaskPlan};
use crate::text::escape;

/// Number, box and text of each step. Its further lines, and those of `below`, are indented. The
/// plan's text is escaped; lines of `below` must be safe already.
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
