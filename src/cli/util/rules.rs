//! `aye util rules`: who may do what.

use serde::Serialize;

use crate::cli::{Context, Format};
use crate::error::{Exit, Result};
use crate::proposal::rules::{Class, TABLE, markdown};

/// Answer of `aye util rules`.
#[derive(Debug, Serialize)]
pub struct Rules {
    /// `aye/rules@1`
    pub schema: &'static str,
    /// A row for each thing that may be done.
    pub rules: Vec<Row>,
}

/// One row.
#[derive(Debug, Serialize)]
pub struct Row {
    /// What is done.
    pub verb: &'static str,
    /// Coding agents, by name or marker.
    pub agent: &'static str,
    /// Callers of a tool without a marker.
    pub tool: &'static str,
    /// People.
    pub human: &'static str,
    /// Build machines.
    pub ci: &'static str,
}

/// Prints the table that the code decides by.
///
/// # Errors
/// If the output cannot be written.
pub fn run(context: &mut Context) -> Result<Exit> {
    let column = |class: Class| Class::ALL.iter().position(|known| *known == class).unwrap_or(0);
    let rules = TABLE
        .iter()
        .map(|(verb, answers)| Row {
            verb: verb.as_str(),
            agent: answers[column(Class::Agent)].text(),
            tool: answers[column(Class::Tool)].text(),
            human: answers[column(Class::Human)].text(),
            ci: answers[column(Class::Ci)].text(),
        })
        .collect();
    let answer = Rules { schema: "aye/rules@1", rules };
    context.emit(Format::Text, &answer, markdown)?;
    Ok(Exit::Done)
}
