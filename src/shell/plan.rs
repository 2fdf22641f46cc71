//! The text that runs in the shell, or a refusal.

use std::ops::Range;

use super::{Machine, Result, list, parser, without_landlock};

#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub text: String,
    /// Runs without a shell.
    pub argv: Option<Vec<String>>,
    pub programs: Vec<String>,
    pub is_configuration: bool,
}

pub fn plan(source: &str, world: &Machine) -> Result<Plan> {
    let text = parser::read(source)?;
    let mut plan = Plan::default();
    let mut edits: Vec<(Range<usize>, &str)> = Vec::new();
    for command in &text.commands {
        let needs = list::check(command)?;
        plan.programs.extend(needs.programs.into_iter().map(str::to_owned));
        plan.is_configuration |= needs.is_configuration;
        edits.extend(needs.edits.into_iter().map(|(at, words)| (at..at, words)));
    }
    if !world.layers.is_sandbox() {
        plan.argv = Some(without_landlock::argv(source, &text.commands, &edits, world)?);
        return Ok(plan);
    }
    // Opened beforehand: the sandbox forbids opening for writing.
    edits.extend(text.nulls.into_iter().map(|place| (place, "&9")));
    edits.sort_by_key(|(place, _)| place.start);
    plan.text = source.to_owned();
    for (place, words) in edits.into_iter().rev() {
        plan.text.replace_range(place, words);
    }
    Ok(plan)
}

/// True if the words alone prove that a command text only reads, without the kernel's sandbox.
pub fn only_reads(text: &str) -> bool {
    parser::read(text).is_ok_and(|parsed| {
        let mut commands = parsed.commands.iter();
        commands.all(|command| list::check(command).is_ok() && list::is_inert(command))
    })
}
