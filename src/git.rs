//! The `git` program, for what must be git's own doing: commits (hooks, signing), pushes
//! (credentials), linked work trees, configuration. Everything else goes through `gix`.
//!
//! The only place that starts git. It inherits the environment, so an editor, an agent socket or
//! `GIT_INDEX_FILE` in a hook work as in git itself; [`Git::fresh`] drops what would tie it to
//! another repository.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread::JoinHandle;

use bstr::ByteSlice as _;

use crate::error::{Error, Result};

/// Variable by which an `aye apply --commit` tells the hooks of its own commit which proposals it
/// is about (ids, comma-separated): they are pending until the commit is there.
pub const COMMITTING: &str = "AYE_COMMITTING";

/// Error codes of running git.
pub mod codes {
    crate::codes! {
        GIT_MISSING = "git_not_found", NotFound, "the git program cannot be started";
        GIT_FAILED = "git_failed", Refused, "git refused or failed; its own words are in the message";
    }
}

/// Variables that tie git to one repository (`git rev-parse --local-env-vars`).
pub const LOCAL_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Those of them that are configuration.
const CONFIGURATION: [&str; 2] = ["GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"];

/// Commands that aye runs to learn something, or on a work tree of its own. `core.fsmonitor` of the
/// repository names a program that git would run for them.
const READING: [&str; 7] =
    ["blame", "status", "diff", "diff-files", "diff-index", "ls-files", "worktree"];

/// Why nothing is fetched: a key of the configuration.
static OFFLINE: OnceLock<String> = OnceLock::new();

/// From now on, git fetches nothing that is missing, in any repository: `key`, of a repository's own configuration,
/// names a program that it would run for that. A commit, which runs the repository's hooks all the same, is as it is.
pub fn keep_offline(key: String) {
    let _ = OFFLINE.set(key);
}

/// The key that [`keep_offline`] was called for.
pub fn kept_offline() -> Option<&'static str> {
    OFFLINE.get().map(String::as_str)
}

/// A git command about to run: `Git::new(dir).args(["rev-parse", "HEAD"]).text()?`.
#[derive(Debug)]
pub struct Git {
    directory: PathBuf,
    settings: Vec<OsString>,
    args: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    fresh: bool,
    configured: bool,
    input: Option<Vec<u8>>,
    whole_input: Option<File>,
    inherited: Option<File>,
}

/// What a finished git command said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Exit status; 128 + n if signal n ended it.
    pub status: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

impl Answer {
    /// True for exit status 0.
    pub fn ok(&self) -> bool {
        self.status == 0
    }

    fn success(self, line: &str) -> Result<Vec<u8>> {
        if self.ok() { Ok(self.stdout) } else { Err(failed(line, &self)) }
    }
}

/// A git command under way. Dropped, its input ends and it is waited for.
#[derive(Debug)]
pub struct Running {
    child: Option<Child>,
    /// What feeds it, or why nothing does.
    feeder: Option<std::io::Result<JoinHandle<()>>>,
    line: String,
}

impl Running {
    /// Gives it `bytes` on standard input, and the end of it. Only the first call does.
    pub fn feed(&mut self, bytes: impl Into<Vec<u8>>) {
        let Some(mut pipe) = self.child.as_mut().and_then(|child| child.stdin.take()) else {
            return;
        };
        let bytes = bytes.into();
        // A thread, because git may print before it has read everything. It may also end without
        // reading: a broken pipe is its choice.
        self.feeder = Some(std::thread::Builder::new().spawn(move || {
            let _ = pipe.write_all(&bytes);
        }));
    }

    /// Waits for its end and returns its standard output.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn finish(mut self) -> Result<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        self.answer()?.success(&line)
    }

    fn answer(mut self) -> Result<Answer> {
        let Some(child) = self.child.take() else {
            return Err(Error::bug("a git command was waited for twice"));
        };
        let output = child.wait_with_output().map_err(|e| Error::io("wait for git", &e))?;
        if let Some(Err(error)) = &self.feeder {
            return Err(Error::io("start a thread", error));
        }
        Ok(Answer {
            status: status_code(output.status),
            stdout: output.stdout,
            stderr: output.stderr,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Waiting closes its input.
            let _ = child.wait();
        }
        if let Some(Ok(feeder)) = self.feeder.take() {
            let _ = feeder.join();
        }
    }
}

impl Git {
    /// Git, started in `directory`. It never asks for anything on the terminal unless
    /// [`Git::attached`] runs it.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            settings: Vec::new(),
            args: Vec::new(),
            variables: Vec::new(),
            fresh: false,
            configured: false,
            input: None,
            whole_input: None,
            inherited: None,
        }
    }

    /// Forgets which repository, index or object directory the environment names: for a command
    /// about another work tree than the one a surrounding git works on.
    #[must_use]
    pub fn fresh(mut self) -> Self {
        self.fresh = true;
        self
    }

    /// Keeps, of what [`Git::fresh`] drops, the configuration of the command line
    /// (`git -c KEY=VALUE …`): for a command about the very repository that it was given for.
    #[must_use]
    pub fn configured(mut self) -> Self {
        self.configured = true;
        self
    }

    /// Starts it in `directory` instead.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// Runs no hooks.
    #[must_use]
    pub fn without_hooks(self) -> Self {
        self.config("core.hooksPath", "/dev/null")
    }

    /// Sets a configuration value for this run (`-c key=value`).
    #[must_use]
    pub fn config(mut self, key: &str, value: &str) -> Self {
        self.settings.push("-c".into());
        self.settings.push(format!("{key}={value}").into());
        self
    }

    /// Runs no program of the filter driver `name`, and takes it for one that need not run.
    #[must_use]
    pub fn without_filter(mut self, name: &[u8]) -> Self {
        for (key, value) in [("clean", ""), ("process", ""), ("required", "false")] {
            let setting = [b"filter.", name, b".", key.as_bytes()].concat();
            let setting = setting.to_os_str_lossy();
            let mut word = OsString::new();
            // `-c` ends the key at the first `=`; git before 2.31 does not know the other way, and fails.
            if name.contains(&b'=') {
                let variable = format!("AYE_FILTER_{key}");
                word.push("--config-env=");
                word.push(&setting);
                word.push(format!("={variable}"));
                self = self.env(variable, value);
            } else {
                self.settings.push("-c".into());
                word.push(&setting);
                word.push(format!("={value}"));
            }
            self.settings.push(word);
        }
        self
    }

    /// Adds an argument. The first is the git command.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable for this run.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Feeds these bytes to standard input; without this it is empty.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    /// Gives it `file` as standard input, from where it is read now: all of the input is there even
    /// where this process ends before git has read it.
    #[must_use]
    pub fn stdin_file(mut self, file: File) -> Self {
        self.whole_input = Some(file);
        self
    }

    /// Lets git, and whatever git starts, keep `file` open, which must be inheritable: a lock on it
    /// ends with the last of them, even where this process is killed before.
    #[must_use]
    pub fn inheriting(mut self, file: File) -> Self {
        self.inherited = Some(file);
        self
    }

    /// Runs it and returns what it said, whatever its exit status.
    ///
    /// # Errors
    /// `git_not_found` if it cannot be started.
    pub fn answer(mut self) -> Result<Answer> {
        let input = self.input.take();
        let mut running = self.spawn(input.is_some())?;
        if let Some(bytes) = input {
            running.feed(bytes);
        }
        running.answer()
    }

    /// Starts it, its standard input open until [`Running::feed`] or the end: it gets ready while
    /// the caller does other things. Input set with [`Git::stdin`] is not used.
    ///
    /// # Errors
    /// `git_not_found` if it cannot be started.
    pub fn start(self) -> Result<Running> {
        self.spawn(true)
    }

    fn spawn(&self, input: bool) -> Result<Running> {
        let mut command = self.command();
        command.env("GIT_TERMINAL_PROMPT", "0");
        let whole = self.whole_input.as_ref().map(File::try_clone).transpose();
        let whole = whole.map_err(|error| Error::io("prepare the input of git", &error))?;
        command.stdin(match (whole, input) {
            (Some(file), _) => file.into(),
            (None, true) => Stdio::piped(),
            (None, false) => Stdio::null(),
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|e| missing(&self.directory, &e))?;
        if let Some(mut lock) = self.inherited.as_ref() {
            // For whoever waits for the lock while this process is gone.
            let _ = lock.set_len(0).and_then(|()| lock.rewind());
            let _ = writeln!(lock, "{}", child.id());
        }
        Ok(Running { child: Some(child), feeder: None, line: self.line() })
    }

    /// Runs it and returns its standard output.
    ///
    /// # Errors
    /// `git_not_found`; `git_failed` with the last lines of its standard error.
    pub fn run(self) -> Result<Vec<u8>> {
        let line = self.line();
        self.answer()?.success(&line)
    }

    /// Runs it and returns its standard output as text without the final line feed.
    ///
    /// # Errors
    /// As [`Git::run`]; invalid UTF-8 is replaced.
    pub fn text(self) -> Result<String> {
        let out = self.run()?;
        Ok(out.strip_suffix(b"\n").unwrap_or(&out).to_str_lossy().into_owned())
    }

    /// Runs it and returns its standard output, without the final line feed, as a path of any bytes.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn path(self) -> Result<PathBuf> {
        let out = self.run()?;
        Ok(out.strip_suffix(b"\n").unwrap_or(&out).to_path_lossy().into_owned())
    }

    /// Runs it with the terminal (or whatever the three streams are) handed through, and returns
    /// its exit status.
    ///
    /// # Errors
    /// `git_not_found` if it cannot be started.
    pub fn attached(self) -> Result<i32> {
        let status = self.command().status().map_err(|e| missing(&self.directory, &e))?;
        Ok(status_code(status))
    }

    /// Starts it and leaves it to itself: nobody waits for it or hears of it, and Ctrl-C at the
    /// terminal does not reach it.
    ///
    /// # Errors
    /// `git_not_found` if it cannot be started.
    pub fn detached(self) -> Result<()> {
        let mut command = self.command();
        command.env("GIT_TERMINAL_PROMPT", "0");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map(drop).map_err(|e| missing(&self.directory, &e))
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.directory).args(&self.settings);
        if self.args.first().is_some_and(|name| READING.iter().any(|reads| name == reads)) {
            // Empty, because git before 2.36 takes `false` for the name of a program. Without the
            // monitor, an index that git refreshes in passing would lose what the monitor knows.
            command.args(["-c", "core.fsmonitor="]).env("GIT_OPTIONAL_LOCKS", "0");
        }
        command.args(&self.args);
        if kept_offline().is_some() && self.args.first().is_none_or(|name| name != "commit") {
            // No transport has this name.
            command.env("GIT_ALLOW_PROTOCOL", "none");
        }
        if self.fresh {
            let kept = |name: &str| self.configured && CONFIGURATION.contains(&name);
            LOCAL_VARIABLES.iter().filter(|name| !kept(name)).for_each(|name| {
                command.env_remove(name);
            });
        }
        // What an id names is what it is the hash of: see `repository::open`.
        command.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_GRAFT_FILE", "/dev/null");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn line(&self) -> String {
        let words: Vec<_> = self.args.iter().take(2).map(|word| word.to_string_lossy()).collect();
        format!("git {}", words.join(" "))
    }
}

/// Drops the variables that tie a child process to a repository.
pub fn scrub(command: &mut Command) {
    for name in LOCAL_VARIABLES {
        command.env_remove(name);
    }
}

/// Exit status as a shell counts it: 128 + n where signal n ended the process.
pub fn status_code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn missing(directory: &Path, error: &std::io::Error) -> Error {
    if !directory.is_dir() {
        return Error::io(format!("enter {}", directory.display()), error);
    }
    Error::new(&codes::GIT_MISSING, format!("cannot start git: {error}"))
        .hint("install git, or put it on PATH")
}

fn failed(line: &str, answer: &Answer) -> Error {
    let said = answer.stderr.to_str_lossy();
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    // What git itself calls the reason, or else what was said last: advice may stand around it.
    let reason = |line: &&&str| line.starts_with("fatal: ") || line.starts_with("error: ");
    let reasons: Vec<&str> = lines.iter().filter(reason).copied().collect();
    let telling = if reasons.is_empty() { &lines } else { &reasons };
    let last = telling[telling.len().saturating_sub(3)..].join("; ");
    let why = if last.is_empty() { format!("exit status {}", answer.status) } else { last };
    Error::new(&codes::GIT_FAILED, format!("{line}: {why}"))
        .hint(remedy(&said))
        .with("exit_status", answer.status)
}

/// What to do about what git has said.
fn remedy(said: &str) -> &'static str {
    const REMEDIES: [(&str, &str); 4] = [
        (
            "tell me who you are",
            "say who you are: git config user.name NAME, and git config user.email ADDRESS",
        ),
        ("during a merge", "conclude the merge first (git commit), or leave it: git merge --abort"),
        (
            "during a cherry-pick",
            "conclude it first (git cherry-pick --continue), or leave it: git cherry-pick --abort",
        ),
        (
            "during a rebase",
            "go on with it first (git rebase --continue), or leave it: git rebase --abort",
        ),
    ];
    let found = REMEDIES.iter().find(|(words, _)| said.contains(words));
    found.map_or("run the git command by hand to see more", |(_, remedy)| remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_and_failure_come_back() {
        let directory = tempfile::tempdir().unwrap();
        let git = || Git::new(directory.path()).fresh();
        assert!(git().arg("--version").text().unwrap().starts_with("git version"));
        let hash = git().args(["hash-object", "--stdin"]).stdin("hello\n").text().unwrap();
        assert_eq!(hash, "ce013625030ba8dba906f756967f9e9ca394464a");
        let error = git().args(["rev-parse", "--git-dir"]).run().unwrap_err();
        assert!(error.is(&codes::GIT_FAILED), "{error}");
        assert!(error.message().contains("not a git repository"), "{error}");
        assert_eq!(git().args(["rev-parse", "--git-dir"]).answer().unwrap().status, 128);
    }

    #[test]
    fn input_larger_than_a_pipe_that_nobody_reads_does_no_harm() {
        let directory = tempfile::tempdir().unwrap();
        let big = vec![b'x'; 1 << 20];
        let answer = Git::new(directory.path()).arg("--version").stdin(big).answer().unwrap();
        assert!(answer.ok());
    }

    #[test]
    fn the_variables_are_those_git_names() {
        let directory = tempfile::tempdir().unwrap();
        let listed =
            Git::new(directory.path()).fresh().args(["rev-parse", "--local-env-vars"]).text();
        for name in listed.unwrap().lines() {
            assert!(LOCAL_VARIABLES.contains(&name), "{name}");
        }
    }
}
