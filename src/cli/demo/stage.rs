//! Where the demonstration is played: this program started again, as a person or as an agent.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use super::scene::Proposed;
use super::scratch::Scratch;
use crate::cli::Context;
use crate::error::{Error, Exit, Result};
use crate::prompt::{Answer, Hold, Prompt};
use crate::render::style::{Palette, Role};
use crate::text::shell;

/// Who runs a command.
#[derive(Clone, Copy, Debug)]
pub enum Who {
    /// An agent of this name.
    Agent(&'static str),
    /// Whoever sits at the terminal.
    Person,
}

/// The scratch repository, and where what happens in it is shown.
pub struct Stage<'a> {
    context: &'a mut Context,
    /// The repository.
    pub scratch: &'a Scratch,
    program: PathBuf,
    aye: String,
    quiet: bool,
    palette: Palette,
}

impl<'a> Stage<'a> {
    /// `program` is this one, `aye` what to type for it; when `quiet`, nothing is shown.
    pub fn new(
        context: &'a mut Context,
        scratch: &'a Scratch,
        program: PathBuf,
        aye: String,
        quiet: bool,
    ) -> Self {
        let palette = if context.color { Palette::new(|_| None) } else { Palette::plain() };
        Self { context, scratch, program, aye, quiet, palette }
    }

    /// Prints a paragraph.
    ///
    /// # Errors
    /// `io_error`.
    pub fn say(&mut self, text: &str) -> Result<()> {
        if self.quiet { Ok(()) } else { self.context.print(format!("{text}\n").as_bytes()) }
    }

    /// Prints the title of a part.
    ///
    /// # Errors
    /// `io_error`.
    pub fn title(&mut self, text: &str) -> Result<()> {
        let text = self.palette.paint(Role::Title, text);
        self.say(&format!("\n{text}"))
    }

    fn say_command(&mut self, who: Who, args: &[&str]) -> Result<()> {
        let text = format!("$ {}", shown(who, "aye", args));
        let text = self.palette.paint(Role::Dim, text);
        self.say(&text)
    }

    /// Waits for Enter; false for anything else.
    ///
    /// # Errors
    /// `io_error`.
    pub fn goes_on(&mut self, question: &str) -> Result<bool> {
        let prompt = Prompt::new(console::Term::stdout(), self.context.marks_pastes());
        let question = self.palette.paint(Role::Key, question);
        let answer = prompt
            .line(&format!("\n{question} "))
            .map_err(|error| Error::io("read from the terminal", &error))?;
        Ok(matches!(answer, Answer::Line(_)))
    }

    /// Runs a command with the terminal as its own, and shows it.
    ///
    /// # Errors
    /// `io_error` if it cannot be started.
    pub fn hand_over(&mut self, who: Who, args: &[&str]) -> Result<()> {
        let text = format!("$ {}", shown(who, &self.aye, args));
        let text = self.palette.paint(Role::Dim, text);
        self.say(&text)?;
        let _hold = Hold::interrupts();
        let mut command = self.command(who, args);
        let streams = command.stdin(Stdio::inherit()).stdout(Stdio::inherit());
        streams.status().map_err(|e| Error::io("start this program again", &e))?;
        Ok(())
    }

    /// Runs a command, shows it and what it prints, and holds it to the exit status.
    ///
    /// # Errors
    /// `bug` where it ends otherwise.
    pub fn step(&mut self, who: Who, args: &[&str], expected: Exit) -> Result<()> {
        let output = self.output(who, args)?;
        self.say_command(who, args)?;
        if !self.quiet {
            // Captured, so that the order holds in a pipe as well.
            self.context.print(&output.stdout)?;
            self.context.print(&output.stderr)?;
        }
        check(args, &output, expected)
    }

    /// As [`Stage::step`] for what is done, but of what the command prints the first line alone.
    ///
    /// # Errors
    /// As there.
    pub fn brief(&mut self, who: Who, args: &[&str]) -> Result<()> {
        let output = self.output(who, args)?;
        self.say_command(who, args)?;
        let text = String::from_utf8_lossy(&output.stdout);
        self.say(text.lines().next().unwrap_or_default())?;
        check(args, &output, Exit::Done)
    }

    fn output(&self, who: Who, args: &[&str]) -> Result<Output> {
        self.command(who, args).output().map_err(|e| Error::io("start this program again", &e))
    }

    /// What a command prints, its input being `input`.
    ///
    /// # Errors
    /// `bug` where it fails.
    pub fn answer(&self, who: Who, args: &[&str], input: &str) -> Result<String> {
        let failed = |error: std::io::Error| Error::io("start this program again", &error);
        let mut command = self.command(who, args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            std::io::Write::write_all(&mut stdin, input.as_bytes()).map_err(failed)?;
        }
        let output = child.wait_with_output().map_err(failed)?;
        check(args, &output, Exit::Done)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A member of the JSON document that a command prints, whatever its exit status.
    ///
    /// # Errors
    /// `bug` where there is no such member.
    pub fn ask(&self, who: Who, args: &[&str], member: &str) -> Result<String> {
        let output = self.output(who, &[args, &["--json"]].concat())?;
        text_of(&output.stdout, member)
    }

    /// Whether the proposal is pending, applied or rejected.
    ///
    /// # Errors
    /// As [`Stage::ask`].
    pub fn status(&self, id: &str) -> Result<String> {
        self.ask(Who::Person, &["show", id], "status")
    }

    /// Proposes, shows it, and returns the id.
    ///
    /// # Errors
    /// `bug` where it fails.
    pub fn propose(&mut self, proposed: &Proposed) -> Result<String> {
        let Proposed { agent, path, reason, .. } = proposed;
        let id = self.propose_unseen(proposed)?;
        let text = shown(Who::Agent(agent), "aye", &["propose", path, "-m", reason]);
        let text = self.palette.paint(Role::Dim, format!("$ {text} …  → {id}"));
        self.say(&text)?;
        Ok(id)
    }

    /// Proposes, and returns the id.
    ///
    /// # Errors
    /// `bug` where it fails.
    pub fn propose_unseen(&self, proposed: &Proposed) -> Result<String> {
        let Proposed { agent, path, reason, .. } = proposed;
        let now = match std::fs::read_to_string(self.scratch.root.join(path)) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::io(format!("read {path}"), &error)),
        };
        let args = ["propose", path, "--content-file", "-", "-m", reason, "--json"];
        let answer = self.answer(Who::Agent(agent), &args, &proposed.of(&now))?;
        text_of(answer.as_bytes(), "proposal_id")
    }

    fn command(&self, who: Who, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--no-pager", "-C"]).arg(&self.scratch.root);
        if self.context.color {
            command.args(["--color", "always"]);
        }
        command.args(args).stdin(Stdio::null());
        crate::git::scrub(&mut command);
        // Whoever runs the demonstration: in a scratch repository both parts are played.
        for marker in crate::actor::MARKERS {
            command.env_remove(marker.variable);
        }
        command.env("XDG_STATE_HOME", &self.scratch.state).env_remove("AYE_SESSION");
        match who {
            Who::Agent(name) => command.env("AYE_AGENT", name),
            Who::Person => command.env_remove("AYE_AGENT").env_remove("CI"),
        };
        command
    }
}

fn text_of(json: &[u8], member: &str) -> Result<String> {
    let answer: serde_json::Value = serde_json::from_slice(json)
        .map_err(|e| Error::bug(format!("an answer in the demonstration is not JSON: {e}")))?;
    let text = answer[member].as_str().map(str::to_owned);
    text.ok_or_else(|| Error::bug(format!("an answer in the demonstration has no {member}")))
}

fn check(args: &[&str], output: &Output, expected: Exit) -> Result<()> {
    if output.status.code() == Some(expected as i32) {
        return Ok(());
    }
    let status = output.status.code().map_or("a signal".into(), |s| format!("status {s}"));
    let said = String::from_utf8_lossy(&output.stderr);
    let said = crate::text::escape::line(said.lines().next().unwrap_or_default()).into_owned();
    Err(Error::bug(format!("`aye {}` ended with {status} in the demonstration: {said}", args[0])))
}

/// A command as somebody would type it.
fn shown(who: Who, aye: &str, args: &[&str]) -> String {
    let mut text = match who {
        Who::Agent(name) => format!("AYE_AGENT={name} {aye}"),
        Who::Person => aye.to_owned(),
    };
    for arg in args {
        text.push(' ');
        text += &shell::word(arg);
    }
    crate::text::escape::line(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_they_would_be_typed() {
        let args = ["propose", "src/a b.rs", "--old", "", "-m", "it's"];
        assert_eq!(
            shown(Who::Agent("codex"), "/x/aye", &args),
            "AYE_AGENT=codex /x/aye propose 'src/a b.rs' --old '' -m 'it'\\''s'"
        );
        assert_eq!(shown(Who::Person, "/x/aye", &["list"]), "/x/aye list");
    }
}
