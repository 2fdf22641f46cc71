//! `aye demo`: the whole main job, on a repository nobody minds.

mod scene;
mod scratch;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use schemars::JsonSchema;
use serde::Serialize;

use self::scene::{Content, Edit};
use self::scratch::Scratch;
use super::{Context, Format};
use crate::error::{Error, Exit, Result};
use crate::prompt::{Answer, Hold, Prompt};
use crate::text::shell;

/// Show the whole main job in a scratch repository.
///
/// Makes a clone of the repository you are in (outside of one, a small generated repository),
/// lets an agent propose three changes in it, looks at them, applies one, rejects one with a
/// reason, meets one that has gone stale, and prints the audit log. Three more proposals wait for you
/// to review; at a terminal it asks whether to begin at once. Your own repository is only read. The
/// scratch repository stays where it is for you to go on in.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  aye demo\n  aye demo --dir /tmp/play\n  cd \"$(aye demo --json | jq -r .path)\""
)]
pub struct Args {
    /// Where to make the scratch repository (absent or empty); a temporary folder otherwise.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Keep the scratch repository even if something in the demonstration fails.
    #[arg(long)]
    keep: bool,
}

/// The output of `aye demo --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Demo {
    /// `aye/demo@1`.
    pub schema: &'static str,
    /// The scratch repository.
    pub path: String,
    /// What it is: a clone of something, or generated.
    pub origin: String,
    /// The proposal that was applied.
    pub applied: String,
    /// The proposal that was rejected.
    pub rejected: String,
    /// The proposal that has gone stale and is still pending.
    pub stale: String,
    /// The proposals that wait for a review and fit.
    pub waiting: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// Whatever a step of it says; the scratch repository is then removed, unless `--keep`.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let mut scratch = Scratch::make(context, args.dir.as_deref())?;
    if args.keep {
        scratch.keep();
    }
    let program = std::env::current_exe().map_err(|e| Error::io("find this program", &e))?;
    let quiet = context.format_or(Format::Text) != Format::Text;
    let mut show = Show { context, scratch: &scratch, program, quiet };
    let done = show.perform()?;
    let aye = name(show.context, &show.program);
    let asks = !quiet && show.context.interactive();
    if asks {
        show.offer_review()?;
    }
    scratch.keep();
    context.emit(Format::Text, &done, || closing(&done, &aye))?;
    Ok(Exit::Done)
}

/// What to type for this program: `aye` where that is found, else its path.
fn name(context: &Context, program: &Path) -> String {
    let path = context.var("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join("aye"));
    let same = |file: &PathBuf| match (file.canonicalize(), program.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    };
    match found.into_iter().find(|file| file.is_file()).is_some_and(|file| same(&file)) {
        true => "aye".to_owned(),
        false => crate::text::escape::line(&quoted(&program.display().to_string())).into_owned(),
    }
}

fn closing(demo: &Demo, aye: &str) -> String {
    let Demo { path, stale, .. } = demo;
    let path = quoted(path);
    format!(
        "\n# The scratch repository is yours. Go on there:\n\n  \
         cd {path}\n  \
         {aye} review                   # decide the rest at the terminal, hunk by hunk\n  \
         {aye} list --status all        # everything, decided or not\n  \
         {aye} show {stale}\n  \
         git show refs/aye/pending/{stale}\n  \
         git log --oneline --all      # it is all in git\n  \
         rm -rf {path}    # when you have seen enough\n\n\
         # In a repository of your own: {aye} init\n"
    )
}

/// The person decides, the agent proposes.
#[derive(Clone, Copy)]
enum Who {
    Agent,
    Person,
}

struct Show<'a> {
    context: &'a mut Context,
    scratch: &'a Scratch,
    program: PathBuf,
    quiet: bool,
}

impl Show<'_> {
    fn perform(&mut self) -> Result<Demo> {
        let scene = &self.scratch.scene;
        let path = self.scratch.root.display().to_string();
        self.say(&format!("# {} in {path}", self.scratch.origin))?;

        self.say("\n# An agent proposes. Nothing in the work tree changes.")?;
        let applied = self.propose(&scene.edit)?;
        let rejected = self.propose(&scene.file)?;
        let stale = self.propose(&scene.stale)?;

        let edit = &scene.stale;
        self.say(&format!("\n# Meanwhile somebody commits another change to {}.", edit.path))?;
        let target = self.scratch.root.join(&edit.path);
        let text = std::fs::read_to_string(&target)
            .map_err(|e| Error::io(format!("read {}", edit.path), &e))?;
        std::fs::write(&target, text.replacen(&edit.old, &scene.meanwhile, 1))
            .map_err(|e| Error::io(format!("write {}", edit.path), &e))?;
        scratch::commit(&self.scratch.root, "Change the same line")?;

        self.say("\n# You look.")?;
        self.step(Who::Person, &["list"], &[Exit::Done])?;
        self.step(Who::Person, &["diff", &applied], &[Exit::Done])?;

        self.say("\n# You decide: aye to the first, nay to the second.")?;
        self.step(Who::Person, &["apply", &applied, "--yes"], &[Exit::Done])?;
        let reject = ["reject", &rejected, "--reason", scene.rejection, "--yes"];
        self.step(Who::Person, &reject, &[Exit::Done])?;

        self.say("\n# The third has gone stale: it is refused as a whole, no file is touched.")?;
        self.step(Who::Person, &["apply", &stale, "--yes"], &[Exit::Conflict])?;

        self.say("\n# An agent may not decide.")?;
        self.step(Who::Agent, &["apply", &stale, "--yes"], &[Exit::Refused])?;

        self.say("\n# Who did what, and why.")?;
        self.step(Who::Person, &["log"], &[Exit::Done])?;

        self.say("\n# The agent goes on. These wait for you.")?;
        let waiting = scene
            .waiting
            .iter()
            .map(|content| self.propose_content(content))
            .collect::<Result<_>>()?;
        let origin = self.scratch.origin.clone();
        Ok(Demo { schema: "aye/demo@1", path, origin, applied, rejected, stale, waiting })
    }

    /// Asks whether to begin the review at once, and begins it.
    fn offer_review(&mut self) -> Result<()> {
        let prompt = Prompt::new(console::Term::stdout(), self.context.marks_pastes());
        let answer = prompt
            .line("\nEnter: review them now (Esc: not now) ")
            .map_err(|error| Error::io("read from the terminal", &error))?;
        if !matches!(answer, Answer::Line(_)) {
            return Ok(());
        }
        let _hold = Hold::interrupts();
        let mut review = self.command(Who::Person, &["review"]);
        let streams = review.stdin(Stdio::inherit()).stdout(Stdio::inherit());
        streams.status().map_err(|e| Error::io("start this program again", &e))?;
        Ok(())
    }

    fn say(&mut self, text: &str) -> Result<()> {
        if self.quiet { Ok(()) } else { self.context.print(format!("{text}\n").as_bytes()) }
    }

    /// Runs a command as a child, its output where ours goes, and holds it to the exit status.
    fn step(&mut self, who: Who, args: &[&str], expected: &[Exit]) -> Result<()> {
        self.say(&format!("\n$ {}", shown(who, args)))?;
        let mut command = self.command(who, args);
        // Captured, so that the order holds in a pipe as well.
        let output = command.output().map_err(|e| Error::io("start this program again", &e))?;
        if !self.quiet {
            self.context.print(&output.stdout)?;
            self.context.print(&output.stderr)?;
        }
        self.check(args, output.status.code(), expected)
    }

    fn propose(&mut self, edit: &Edit) -> Result<String> {
        let args =
            ["propose", &edit.path, "--old", &edit.old, "--new", &edit.new, "-m", edit.reason];
        self.say(&format!("\n$ {}", shown(Who::Agent, &args)))?;
        let output = self
            .command(Who::Agent, &[&args[..], &["--json"]].concat())
            .output()
            .map_err(|e| Error::io("start this program again", &e))?;
        self.proposed(&args, &output)
    }

    /// The id in the answer of `propose`.
    fn proposed(&mut self, args: &[&str], output: &Output) -> Result<String> {
        self.check(args, output.status.code(), &[Exit::Done])?;
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout)
            .map_err(|e| Error::bug(format!("the answer of propose is not JSON: {e}")))?;
        let id = answer["proposal_id"].as_str().unwrap_or_default().to_owned();
        self.say(&format!("proposed {id}"))?;
        Ok(id)
    }

    fn propose_content(&mut self, content: &Content) -> Result<String> {
        let Content { path, reason, .. } = content;
        let now = match std::fs::read_to_string(self.scratch.root.join(path)) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::io(format!("read {path}"), &error)),
        };
        let args = ["propose", path, "--content-file", "-", "-m", reason];
        self.say(&format!("\n$ {} < …", shown(Who::Agent, &args)))?;
        let mut command = self.command(Who::Agent, &[&args[..], &["--json"]].concat());
        let failed = |error: &std::io::Error| Error::io("start this program again", error);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        if let Some(mut stdin) = child.stdin.take() {
            std::io::Write::write_all(&mut stdin, content.of(&now).as_bytes())
                .map_err(|error| failed(&error))?;
        }
        let output = child.wait_with_output().map_err(|error| failed(&error))?;
        self.proposed(&args, &output)
    }

    fn check(&self, args: &[&str], status: Option<i32>, expected: &[Exit]) -> Result<()> {
        if expected.iter().any(|exit| status == Some(*exit as i32)) {
            return Ok(());
        }
        let status = status.map_or("a signal".into(), |s| format!("status {s}"));
        Err(Error::bug(format!("`aye {}` ended with {status} in the demonstration", args[0])))
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
        match who {
            Who::Agent => command.env("AYE_AGENT", "demo-agent"),
            Who::Person => command.env_remove("AYE_AGENT").env_remove("CI"),
        };
        command
    }
}

/// `text` as one word of a shell.
fn quoted(text: &str) -> String {
    let is_odd = |c: char| !(c.is_alphanumeric() || "-_./=".contains(c));
    match text.is_empty() || text.contains(is_odd) {
        true => shell::quote(text),
        false => text.to_owned(),
    }
}

/// A command as somebody would type it, long texts shortened.
fn shown(who: Who, args: &[&str]) -> String {
    let mut text = match who {
        Who::Agent => "AYE_AGENT=demo-agent aye".to_owned(),
        Who::Person => "aye".to_owned(),
    };
    for arg in args {
        text.push(' ');
        let first = arg.lines().next().unwrap_or_default();
        if arg.contains('\n') || arg.chars().count() > 72 {
            let start: String = first.chars().take(48).collect();
            text += &format!("'{}…'", start.replace('\'', "'\\''"));
        } else {
            text += &quoted(arg);
        }
    }
    crate::text::escape::line(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_they_would_be_typed() {
        let args = ["propose", "src/a b.rs", "--old", "", "--new", "one\ntwo", "-m", "it's"];
        assert_eq!(
            shown(Who::Agent, &args),
            "AYE_AGENT=demo-agent aye propose 'src/a b.rs' --old '' --new 'one…' -m 'it'\\''s'"
        );
        assert_eq!(shown(Who::Person, &["list"]), "aye list");
    }
}
