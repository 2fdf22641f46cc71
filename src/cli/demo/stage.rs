//! Plays the story: starts this program as a person or an agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::Deserialize;

use crate::cli::{Context, pager};
use crate::error::{Error, Result};
use crate::prompt::{Key, SignalHold};
use crate::render::style::{Palette, Role};
use crate::render::width;
use crate::text::{escape, shell};

/// `story.yaml`, which explains its parts.
#[derive(Deserialize)]
pub struct Story {
    pub files: Vec<[String; 3]>,
    changes: BTreeMap<String, [String; 5]>,
    pub asked: Vec<StoryStep>,
    pub told: Vec<StoryStep>,
    pub waiting: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoryStep {
    who: String,
    command: Vec<String>,
    propose: String,
    says: String,
    exit: Option<i32>,
}

impl StoryStep {
    /// aye refuses these below a coding agent, and the demonstration is no way round.
    fn is_decision(&self) -> bool {
        let decisions = ["apply", "reject", "review", "undo"];
        self.who == YOU
            && decisions.iter().any(|name| self.command.first().is_some_and(|it| it == name))
    }
}

const YOU: &str = "you";

pub struct Stage<'a> {
    pub context: &'a mut Context,
    pub root: &'a Path,
    pub story: &'a Story,
    pub program: PathBuf,
    pub quiet: bool,
    pub ids: BTreeMap<String, String>,
}

impl Stage<'_> {
    /// At a terminal (`asks`) the person may stop early.
    ///
    /// # Errors
    /// `bug` if a step ends differently than the story says.
    pub fn play(&mut self, steps: &[StoryStep], asks: bool) -> Result<()> {
        for (at, step) in steps.iter().enumerate() {
            if !step.propose.is_empty() {
                self.propose(&step.propose)?;
            } else if step.is_decision() && self.context.agent().is_some() {
                let end = "\nThe rest is a person's: ask your user to run `aye demo`.";
                return self.say(Role::Title, end);
            } else if !step.command.is_empty() {
                self.say(Role::Plain, &step.says)?;
                self.run(step)?;
            } else if at > 0 && asks && !self.goes_on()? {
                break;
            } else {
                self.say(Role::Title, &format!("\n{}", step.says))?;
            }
        }
        Ok(())
    }

    pub fn say(&mut self, role: Role, text: &str) -> Result<()> {
        if self.quiet || text.is_empty() {
            return Ok(());
        }
        let palette = if self.context.color { Palette::new(|_| None) } else { Palette::plain() };
        let columns = pager::columns().unwrap_or(usize::MAX);
        text.lines().flat_map(|line| width::wrap(line, columns)).try_for_each(|line| {
            self.context.print(format!("{}\n", palette.paint(role, line)).as_bytes()).map(drop)
        })
    }

    fn goes_on(&mut self) -> Result<bool> {
        self.say(Role::Plain, "")?;
        let keys = [
            Key::new('y', "go on"),
            Key::new('q', "end the demonstration here"),
            Key::new('?', "help"),
        ];
        Ok(self.context.choose("Go on", &keys) == Some('y'))
    }

    pub fn propose(&mut self, name: &str) -> Result<()> {
        let Some([agent, path, why, old, new]) = self.story.changes.get(name) else {
            return Err(Error::bug(format!("the story has no change {name}")));
        };
        let mut args = vec!["propose", path, "-m", why];
        self.say(Role::Dim, &format!("$ {} …", shown(agent, &args)))?;
        match old.as_str() {
            "" => args.extend(["--content", new, "--json"]),
            old => args.extend(["--old", old, "--new", new, "--json"]),
        }
        let id = self.ask(agent, &args, "proposal_id")?;
        self.ids.insert(name.to_owned(), id);
        Ok(())
    }

    fn run(&mut self, step: &StoryStep) -> Result<()> {
        let ids = self.ids.clone();
        let args = step.command.iter().map(|word| ids.get(word).unwrap_or(word).as_str());
        let args: Vec<&str> = args.collect();
        self.say(Role::Dim, &format!("$ {}", shown(&step.who, &args)))?;
        let mut command = self.command(&step.who, &args);
        let Some(exit) = step.exit else {
            let _hold = SignalHold::interrupts();
            command.stdin(Stdio::inherit()).status().map_err(|error| not_started(&error))?;
            for id in args[1..].iter().filter(|_| args[0] == "review") {
                let status = self.ask(YOU, &["show", id, "--json"], "status")?;
                self.say(Role::Plain, &format!("→ {id}: {status}"))?;
            }
            return Ok(());
        };
        let output = command.output().map_err(|error| not_started(&error))?;
        if !self.quiet {
            // A success needs only its first line.
            let is_done = exit == 0 && ["apply", "undo"].contains(&args[0]);
            let text = String::from_utf8_lossy(&output.stdout);
            let lines = text.split_inclusive('\n').take(if is_done { 1 } else { usize::MAX });
            self.context.print(lines.collect::<String>().as_bytes())?;
            self.context.print(&output.stderr)?;
        }
        check(&args, &output, exit)
    }

    fn ask(&self, who: &str, args: &[&str], member: &str) -> Result<String> {
        let output = self.command(who, args).output().map_err(|error| not_started(&error))?;
        check(args, &output, 0)?;
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let text = answer[member].as_str().map(str::to_owned);
        text.ok_or_else(|| Error::bug(format!("an answer in the demonstration has no {member}")))
    }

    fn command(&self, who: &str, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--no-pager", "-C"]).arg(self.root);
        let color = if self.context.color { "always" } else { "never" };
        command.args(["--color", color]).args(args).stdin(Stdio::null());
        crate::git::scrub(&mut command);
        // The demonstration plays both parts: the caller's markers are removed.
        for marker in crate::actor::MARKERS {
            command.env_remove(marker.variable);
        }
        command.env_remove("AYE_SESSION").env_remove("AYE_AGENT");
        match who {
            YOU => command.env_remove("CI"),
            agent => command.env("AYE_AGENT", agent),
        };
        command
    }
}

fn not_started(error: &std::io::Error) -> Error {
    Error::io("start this program again", error)
}

fn check(args: &[&str], output: &Output, exit: i32) -> Result<()> {
    if output.status.code() == Some(exit) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = escape::line(said.lines().next().unwrap_or_default()).into_owned();
    let (command, status) = (args[0], output.status);
    Err(Error::bug(format!("`aye {command}` ended with {status} in the demonstration: {said}")))
}

fn shown(who: &str, args: &[&str]) -> String {
    let mut text = if who == YOU { "aye".to_owned() } else { format!("AYE_AGENT={who} aye") };
    for arg in args {
        text.push(' ');
        text += &shell::word(arg);
    }
    escape::line(&text).into_owned()
}
