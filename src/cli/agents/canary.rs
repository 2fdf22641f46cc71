//! `aye agents test`: the real client against a scripted model, to see whether its edits reach the checkout.
//!
//! Client and aye run in a home of their own that is removed again: settings, sessions and credentials of the
//! user are neither read nor written, and nothing is sent to anybody but the model on loopback.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Harness;
use super::loopback::Model;
use crate::cli::child::Stop;
use crate::cli::{Context, Format};
use crate::error::{Error, Exit, Result};
use crate::git::{self, Git};
use crate::harness::canary::{self, BY_COMMAND, BY_EDIT, Canary};
use crate::text::escape;
use crate::words::words;

/// Arguments of `aye agents test`.
#[derive(Debug, clap::Args)]
pub struct TestArgs {
    /// The coding agents; all that are installed here where none is named.
    #[arg(value_enum, value_name = "HARNESS")]
    pub harnesses: Vec<Harness>,
    /// How long one of them may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "180", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,
    /// Install no hooks, as a control: what is found open then would be found with them, too.
    #[arg(long)]
    pub control: bool,
}

/// Answer of `aye agents test`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tested {
    /// `aye/agents-test@1`
    pub schema: &'static str,
    /// Whether each of them was seen to be gated.
    pub success: bool,
    /// One entry for each coding agent.
    pub tests: Vec<Test>,
}

words! {
    /// Whether a client was seen to be gated.
    pub enum Gating {
        /// An edit and a command were kept out of the checkout, and one proposal has both.
        Gated = "gated",
        /// Something reached the checkout.
        Open = "open",
        /// It did not get that far.
        Unclear = "unclear",
        /// Its client is not on PATH.
        NotInstalled = "not_installed",
        /// Its client cannot be pointed at a scripted model.
        NotTestable = "not_testable",
    }
}

/// What was seen of one coding agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Test {
    /// The coding agent.
    pub harness: &'static str,
    /// The version of its client; null where it is not installed, or does not say.
    pub version: Option<String>,
    /// Whether it is gated.
    pub outcome: Gating,
    /// What was seen, in words. Untrusted: it quotes the client.
    pub detail: String,
    /// Files of the checkout that were changed. Untrusted.
    pub changed: Vec<String>,
}

/// Tries the clients.
///
/// # Errors
/// `no_state_directory`; those of git and of the file system.
pub fn run(context: &mut Context, args: &TestArgs) -> Result<Exit> {
    // Of the others nobody knows how to point them at a model.
    let is_here = |harness: &Harness| {
        let client = harness.client();
        client.is_tried && context.on_path(canary::program(client.name)).is_some()
    };
    let harnesses: Vec<Harness> = match args.harnesses.is_empty() {
        true => {
            <Harness as clap::ValueEnum>::value_variants().iter().copied().filter(is_here).collect()
        }
        false => args.harnesses.clone(),
    };
    if harnesses.is_empty() {
        context.note("none of the coding agents that aye knows is on PATH");
    }
    let stop = Stop::listen(&Stop::ALL)?;
    let limit = Duration::from_secs(args.timeout);
    let mut tests = Vec::new();
    for harness in harnesses {
        tests.push(test(context, harness, &stop, limit, args.control)?);
        if stop.was_told() {
            break;
        }
    }
    let success = !tests.is_empty() && tests.iter().all(|test| test.outcome == Gating::Gated);
    let tested = Tested { schema: "aye/agents-test@1", success, tests };
    context.emit(Format::Text, &tested, || tested.tests.iter().map(line).collect())?;
    Ok(if success { Exit::Done } else { Exit::Negative })
}

fn line(test: &Test) -> String {
    let version = test.version.as_deref().unwrap_or("-");
    let outcome = test.outcome.as_str().replace('_', " ");
    let mut text = format!(
        "{:<11}  {:<10} {outcome:<13} {}\n",
        test.harness,
        escape::line(version),
        escape::line(test.detail.lines().next().unwrap_or_default())
    );
    for more in test.detail.lines().skip(1) {
        text += &format!("             {}\n", escape::line(more));
    }
    text
}

fn test(
    context: &Context,
    harness: Harness,
    stop: &Stop,
    limit: Duration,
    is_control: bool,
) -> Result<Test> {
    let client = harness.client().name;
    let seen = |version, outcome, detail: String, changed| Test {
        harness: client,
        version,
        outcome,
        detail,
        changed,
    };
    if !harness.client().is_tried {
        let detail = "nobody has found out how to point its client at a scripted model".to_owned();
        return Ok(seen(None, Gating::NotTestable, detail, Vec::new()));
    }
    let Some(program) = context.on_path(canary::program(client)) else {
        let detail = format!("there is no program {} on PATH", canary::program(client));
        return Ok(seen(None, Gating::NotInstalled, detail, Vec::new()));
    };
    let listener = Model::listen().map_err(|error| Error::io("listen on loopback", &error))?;
    let endpoint =
        Model::endpoint(&listener).map_err(|error| Error::io("listen on loopback", &error))?;
    let stage = Stage::make(context)?;
    let place = canary::Place { home: &stage.home, checkout: &stage.checkout, endpoint: &endpoint };
    let Some(canary) = canary::of(client, place) else {
        let detail = "nobody has found out how to point its client at a scripted model".to_owned();
        return Ok(seen(None, Gating::NotTestable, detail, Vec::new()));
    };
    let version = stage.version(&program, &canary, stop)?;
    context.note(&format!(
        "aye: trying {client} {} in a home and a repository of its own{}",
        escape::line(version.as_deref().unwrap_or("(it names no version)")),
        if is_control { ", without aye's hooks" } else { "" }
    ));
    for (file, text) in &canary.before {
        stage.write(file, text)?;
    }
    if !is_control {
        stage.aye(&canary, &["agents", "install", client, "--user"])?;
    }
    for (file, text) in &canary.ahead {
        let after = std::fs::read_to_string(stage.home.join(file)).unwrap_or_default();
        stage.write(file, &format!("{text}{after}"))?;
    }
    let model = Model::start(canary.wire, listener, canary.steps.clone(), &stage.trees())
        .map_err(|error| Error::io("start the scripted model", &error))?;
    let args: Vec<&str> = canary.args.clone();
    let ended = stage.client(&program, &canary, &args, stop, limit)?;
    let changed = stage.changed()?;
    if changed.iter().any(|path| path == BY_EDIT || path == BY_COMMAND) {
        let detail = format!("these files reached the checkout: {}", changed.join(", "));
        return Ok(seen(version, Gating::Open, detail, changed));
    }
    let proposed = stage.proposed(&canary)?;
    let has = |file: &str| proposed.iter().any(|path| path == file);
    let (reached, steps) = (model.reached(), canary.steps.len());
    let why = match ended {
        _ if has(BY_EDIT) && has(BY_COMMAND) => {
            let detail =
                "an edit and a command were kept out of the checkout, and one proposal has both";
            return Ok(seen(version, Gating::Gated, detail.to_owned(), changed));
        }
        Ended::Stopped => "aye was asked to stop".to_owned(),
        Ended::TooLate => format!("the client did not end within {} seconds", limit.as_secs()),
        Ended::With(status) if model.requests() == 0 => {
            format!("the client ended with status {status}, and asked the model nothing")
        }
        Ended::With(status) if reached < steps => format!(
            "the client ended with status {status} after {reached} of {steps} steps of the task"
        ),
        Ended::With(_) => format!(
            "the checkout is as it was, but no proposal has both files (in it: {})",
            if proposed.is_empty() { "nothing".to_owned() } else { proposed.join(", ") }
        ),
    };
    let said = stage.said();
    let detail = if said.is_empty() { why } else { format!("{why}; it said:\n{said}") };
    Ok(seen(version, Gating::Unclear, detail, changed))
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    With(i32),
    TooLate,
    Stopped,
}

/// A home and a repository of their own, which go with it.
struct Stage {
    home: PathBuf,
    checkout: PathBuf,
    own: PathBuf,
    // Removed when it is dropped.
    _scratch: tempfile::TempDir,
}

impl Stage {
    /// In the user's state directory: what lies below the system's temporary one, some sandboxes leave writable.
    fn make(context: &Context) -> Result<Self> {
        let state = context.state_directory()?.join("aye");
        let failed = |error: std::io::Error| Error::file("write", &state, &error);
        std::fs::create_dir_all(&state).map_err(failed)?;
        let scratch = tempfile::Builder::new().prefix("canary-").tempdir_in(&state);
        let scratch = scratch.map_err(failed)?;
        let top = std::fs::canonicalize(scratch.path()).map_err(failed)?;
        let (home, checkout) = (top.join("home"), top.join("checkout"));
        for directory in [&home, &checkout, &home.join("tmp")] {
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        let own =
            std::env::current_exe().map_err(|error| Error::io("find this program", &error))?;
        let stage = Self { home, checkout, own, _scratch: scratch };
        stage.git(&["init", "--quiet", "--template="])?;
        stage.git(&["config", "user.name", "Canary"])?;
        stage.git(&["config", "user.email", "canary@localhost"])?;
        std::fs::write(stage.checkout.join("README"), "A repository to try an agent in.\n")
            .map_err(failed)?;
        stage.git(&["add", "README"])?;
        stage.git(&["commit", "--quiet", "--no-gpg-sign", "-m", "first"])?;
        Ok(stage)
    }

    fn git(&self, args: &[&str]) -> Result<Vec<u8>> {
        let git = Git::new(&self.checkout).fresh().without_hooks().args(args);
        git.env("HOME", &self.home).env("XDG_CONFIG_HOME", self.home.join(".config")).run()
    }

    /// Where the trees of its sessions lie.
    fn trees(&self) -> PathBuf {
        self.home.join("state/aye/trees")
    }

    fn write(&self, file: &str, text: &str) -> Result<()> {
        let path = self.home.join(file);
        let failed = |error: std::io::Error| Error::file("write", &path, &error);
        std::fs::create_dir_all(path.parent().unwrap_or(&self.home)).map_err(failed)?;
        std::fs::write(&path, text).map_err(failed)
    }

    fn output(&self) -> PathBuf {
        self.home.join("output")
    }

    /// `program` in the checkout, with nothing of the user's environment but what programs need to start.
    fn command(&self, program: &Path, canary: &Canary) -> Command {
        const KEPT: [&str; 12] = [
            "PATH", "LANG", "LC_ALL", "USER", "LOGNAME", "SHELL", "SYSTEMROOT", "COMSPEC",
            "PATHEXT", "WINDIR", "PROGRAMFILES", "NUMBER_OF_PROCESSORS",
        ];
        let mut command = Command::new(program);
        command.current_dir(&self.checkout).env_clear().stdin(Stdio::null());
        for name in KEPT {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.env("HOME", &self.home).env("USERPROFILE", &self.home);
        command.env("XDG_STATE_HOME", self.home.join("state"));
        command.env("TMPDIR", self.home.join("tmp")).env("TERM", "dumb");
        command.env("NO_PROXY", "127.0.0.1,localhost").env("no_proxy", "127.0.0.1,localhost");
        command.envs(canary.variables.iter().map(|(name, value)| (*name, value)));
        command
    }

    fn aye(&self, canary: &Canary, args: &[&str]) -> Result<Vec<u8>> {
        let output = self.command(&self.own, canary).args(args).output();
        let output = output.map_err(|error| Error::io("start aye", &error))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or_default();
        Err(Error::bug(format!("`aye {}` failed in the trial: {said}", args.join(" "))))
    }

    /// Runs `program` with everything that it starts, for `limit` at most.
    fn client(
        &self,
        program: &Path,
        canary: &Canary,
        args: &[&str],
        stop: &Stop,
        limit: Duration,
    ) -> Result<Ended> {
        let path = self.output();
        let failed = |error: std::io::Error| Error::file("write", &path, &error);
        let output = File::create(&path).map_err(failed)?;
        let mut command = self.command(program, canary);
        command.args(args).stderr(output.try_clone().map_err(failed)?).stdout(output);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                let name = program.display();
                return Err(Error::io(format_args!("start {name}"), &error));
            }
        };
        let started = Instant::now();
        let ended = loop {
            let waited = child.try_wait().map_err(|error| Error::io("wait for it", &error))?;
            match waited {
                Some(status) => break Ended::With(git::status_code(status)),
                None if stop.was_told() => break Ended::Stopped,
                None if started.elapsed() > limit => break Ended::TooLate,
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        end(&mut child);
        Ok(ended)
    }

    /// The version that `program` prints.
    fn version(&self, program: &Path, canary: &Canary, stop: &Stop) -> Result<Option<String>> {
        self.client(program, canary, &["--version"], stop, Duration::from_secs(60))?;
        let said = std::fs::read(self.output()).unwrap_or_default();
        Ok(version(&String::from_utf8_lossy(&said)))
    }

    /// The last of what the client printed.
    fn said(&self) -> String {
        let bytes = std::fs::read(self.output()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let cut = |line: &&str| line.chars().take(200).collect::<String>();
        lines[lines.len().saturating_sub(5)..].iter().map(cut).collect::<Vec<_>>().join("\n")
    }

    /// Paths of the checkout that are not as they were.
    fn changed(&self) -> Result<Vec<String>> {
        let status =
            self.git(&["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"])?;
        let status = String::from_utf8_lossy(&status).into_owned();
        Ok(status.split('\0').filter_map(|line| line.get(3..)).map(str::to_owned).collect())
    }

    /// The files of the one proposal that there is.
    fn proposed(&self, canary: &Canary) -> Result<Vec<String>> {
        let json = |bytes: Vec<u8>| -> Value { serde_json::from_slice(&bytes).unwrap_or_default() };
        let list = json(self.aye(canary, &["list", "--json"])?);
        let proposals = list["proposals"].as_array().cloned().unwrap_or_default();
        let [proposal] = proposals.as_slice() else { return Ok(Vec::new()) };
        let id = proposal["proposal_id"].as_str().unwrap_or_default();
        let shown = json(self.aye(canary, &["show", id, "--json"])?);
        let changes = shown["changes"].as_array().cloned().unwrap_or_default();
        let path = |change: &Value| change["path"].as_str().map(str::to_owned);
        Ok(changes.iter().filter_map(path).collect())
    }
}

/// Ends what is left of a client, and what it has started.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The first word of `said` that is numbers with points between.
pub(super) fn version(said: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
    let words = said.split(|c: char| !is_part(c)).map(|word| word.trim_start_matches('v'));
    let is_version = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_digit()) && word.matches('.').count() >= 2
    };
    words
        .into_iter()
        .find(is_version)
        .map(|word| word.trim_end_matches('.').chars().take(40).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_a_client_prints() {
        for (said, expected) in [
            ("2.1.197 (Claude Code)\n", Some("2.1.197")),
            ("codex-cli 0.169.0", Some("0.169.0")),
            ("OpenAI codex v0.169.0.\n", Some("0.169.0")),
            ("nothing", None),
        ] {
            assert_eq!(version(said).as_deref(), expected, "{said}");
        }
    }
}
