//! What becomes of a command text: it is refused, or its programs are known and it is run as it is but for a few words.

use std::ops::Range;

use super::{Result, World, list, plain, text};

/// A command text that may run.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The text for the shell.
    pub text: String,
    /// The argument list in its place, where no shell may be started.
    pub alone: Option<Vec<String>>,
    /// The programs that may start.
    pub programs: Vec<String>,
    /// It shows git's configuration.
    pub is_configuration: bool,
}

/// Reads `source`, and decides whether it may run.
///
/// # Errors
/// A refusal, with what to write instead.
pub fn plan(source: &str, world: &World) -> Result<Plan> {
    let text = text::read(source)?;
    let mut plan = Plan::default();
    let mut edits: Vec<(Range<usize>, &str)> = Vec::new();
    for command in &text.commands {
        let needs = list::check(command)?;
        plan.programs.extend(needs.programs.into_iter().map(str::to_owned));
        plan.is_configuration |= needs.is_configuration;
        edits.extend(needs.edits.into_iter().map(|(at, words)| (at..at, words)));
    }
    if !world.layers.is_sandbox() {
        plan.alone = Some(plain::argv(source, &text.commands, &edits, world)?);
        return Ok(plan);
    }
    // Open already: the sandbox forbids to open for writing.
    edits.extend(text.nulls.into_iter().map(|place| (place, "&9")));
    edits.sort_by_key(|(place, _)| place.start);
    plan.text = source.to_owned();
    for (place, words) in edits.into_iter().rev() {
        plan.text.replace_range(place, words);
    }
    Ok(plan)
}
