//! The demonstration at a terminal: the review itself, in three screens.

use super::more;
use super::scene::{EASY, RISKY, SAME_LINE, WAITING};
use super::stage::{Stage, Who};
use crate::error::Result;

/// Asked after each part.
pub(super) const ON: &str = "Enter: go on   Esc: enough";

/// Leads through it, as far as the person wants.
///
/// # Errors
/// Whatever a step says.
pub fn guide(stage: &mut Stage<'_>) -> Result<()> {
    let top = stage.scratch.top().display().to_string();
    stage.say(&format!(
        "A small web shop, and agents at work on it, in {top}; nothing else is touched."
    ))?;
    let wants_more = easy(stage)?
        && risky(stage)?
        && same_line(stage)?
        && back(stage)?
        && stage.goes_on("Enter: more (stack, rename, memory, an agent's hook)   Esc: enough")?;
    if wants_more {
        more::show(stage)?;
    }
    for proposed in &WAITING {
        stage.propose_unseen(proposed)?;
    }
    Ok(())
}

fn easy(stage: &mut Stage<'_>) -> Result<bool> {
    stage.title("1 of 3: an easy yes")?;
    let id = stage.propose(&EASY)?;
    stage.say("Your files are as they were. Review it: y takes the hunk, y again writes it.\n")?;
    stage.hand_over(Who::Person, &["review", &id])?;
    outcome(stage, &id)?;
    stage.goes_on(ON)
}

fn risky(stage: &mut Stage<'_>) -> Result<bool> {
    stage.title("2 of 3: a risky one")?;
    let id = stage.propose(&RISKY)?;
    stage.say(
        "The line that begins with ! says what the description does not.\n\
         Press R and give a reason (then y to write the decision): the agent gets it.\n",
    )?;
    stage.hand_over(Who::Person, &["review", &id])?;
    outcome(stage, &id)?;
    stage.say("\nThis is what the agent receives:")?;
    let exit = match stage.status(&id)?.as_str() {
        "applied" => crate::error::Exit::Done,
        "rejected" => crate::error::Exit::Negative,
        // Nothing yet: it would wait.
        _ => return stage.goes_on(ON),
    };
    stage.step(Who::Agent(RISKY.agent), &["wait", &id, "--json"], exit)?;
    stage.goes_on(ON)
}

fn same_line(stage: &mut Stage<'_>) -> Result<bool> {
    stage.title("3 of 3: two on one line")?;
    let one = stage.propose(&SAME_LINE[0])?;
    let other = stage.propose(&SAME_LINE[1])?;
    stage.say(
        "One of them can be written. Take the one you like with y and leave the other with n;\n\
         where you take both, the review says so before anything is written.\n",
    )?;
    stage.hand_over(Who::Person, &["review", &one, &other])?;
    outcome(stage, &one)?;
    outcome(stage, &other)?;
    stage.goes_on(ON)
}

fn back(stage: &mut Stage<'_>) -> Result<bool> {
    stage.title("Undone, and on record")?;
    stage.say(
        "undo reverts the last decision, whatever it was, or all that were written in one go\n\
         (a letter and Enter):",
    )?;
    stage.hand_over(Who::Person, &["undo"])?;
    stage.say("")?;
    stage.hand_over(Who::Person, &["log"])?;
    Ok(true)
}

/// Says what has become of a proposal.
pub(super) fn outcome(stage: &mut Stage<'_>, id: &str) -> Result<()> {
    let what = match stage.status(id)?.as_str() {
        "applied" => "applied: the file is written, the decision recorded",
        "rejected" => "rejected: the file is as it was, the decision recorded",
        _ => "still pending: nothing is decided until you write the decisions",
    };
    stage.say(&format!("→ {id} {what}"))
}
