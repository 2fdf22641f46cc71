//! The demonstration without a terminal: the same story, decided by flags.

use super::Demo;
use super::scene::{EASY, REJECTION, RISKY, SAME_LINE, WAITING};
use super::stage::{Stage, Who};
use crate::error::{Exit, Result};

/// Plays and prints it.
///
/// # Errors
/// Whatever a step says.
pub fn tell(stage: &mut Stage<'_>) -> Result<Demo> {
    let path = stage.scratch.root.display().to_string();
    stage.say(&format!("A small web shop in {path}; nothing else is touched."))?;

    stage.title("1. An easy yes: an agent proposes, nothing is written until you say so.")?;
    let easy = stage.propose(&EASY)?;
    stage.step(Who::Person, &["diff", &easy], Exit::Done)?;
    stage.brief(Who::Person, &["apply", &easy, "--yes"])?;

    stage.title("2. A risky one: no agent decides, and what you answer reaches it.")?;
    let rejected = stage.propose(&RISKY)?;
    let codex = Who::Agent(RISKY.agent);
    stage.step(codex, &["apply", &rejected, "--yes"], Exit::Refused)?;
    let reject = ["reject", &rejected, "--reason", REJECTION, "--yes"];
    stage.step(Who::Person, &reject, Exit::Done)?;
    stage.step(codex, &["wait", &rejected], Exit::Negative)?;

    stage.title("3. Two on one line: one of them is written, the other is refused as a whole.")?;
    let applied = stage.propose(&SAME_LINE[0])?;
    let stale = stage.propose(&SAME_LINE[1])?;
    stage.brief(Who::Person, &["apply", &applied, "--yes"])?;
    stage.step(Who::Person, &["apply", &stale, "--yes"], Exit::Conflict)?;

    stage.title("A decision can be undone, and all of it is on record.")?;
    stage.brief(Who::Person, &["undo", &easy, "--yes"])?;
    stage.step(Who::Person, &["log", "--limit", "2"], Exit::Done)?;
    // So that what waits at the end is what is new.
    stage.answer(Who::Person, &["apply", &easy, "--yes"], "")?;

    let waiting = WAITING.iter().map(|one| stage.propose_unseen(one)).collect::<Result<_>>()?;
    let origin = "a small generated repository".to_owned();
    Ok(Demo { schema: "aye/demo@1", path, origin, applied, rejected, stale, waiting })
}
