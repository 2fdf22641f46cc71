//! The `git` program, for work that only git can do: commits (hooks, signing), pushes
//! (credentials), linked work trees, configuration. All else uses `gix`.
//!
//! Only this module starts git. Git inherits the environment, so editors, agent sockets and
//! `GIT_INDEX_FILE` in hooks work; `Git::fresh` drops ties to another repository.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread::JoinHandle;

use bstr::ByteSlice as _;

use crate::error::{Error, Result};

/// Proposal ids (comma-separated) for the hooks of `aye apply --commit`: the proposals are pending
/// until the commit exists.
pub const COMMITTING: &str = "AYE_COMMITTING";

pub mod codes {
    crate::codes! {
        GIT_MISSING = "git_not_found", NotFound, "aye cannot start the git program";
        GIT_FAILED = "git_failed", Refused, "git failed; the message quotes its error";
    }
}

/// Variables that tie git to a repository (`git rev-parse --local-env-vars`).
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

const CONFIGURATION: [&str; 2] = ["GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"];

/// Commands that only read, or run on a work tree of aye's. For them `core.fsmonitor` must not
/// start its program.
const READING: [&str; 7] =
    ["blame", "status", "diff", "diff-files", "diff-index", "ls-files", "worktree"];

/// The key that forbids fetching.
static OFFLINE: OnceLock<String> = OnceLock::new();

/// Stops fetching of missing objects in every repository: `key`, in a repository's own
/// configuration, names a program for it. Commits are exempt: they run the repository's hooks
/// anyway.
pub fn keep_offline(key: String) {
    let _ = OFFLINE.set(key);
}

pub fn offline_key() -> Option<&'static str> {
    OFFLINE.get().map(String::as_str)
}

/// A git command to run: `Git::new(dir).args(["rev-parse", "HEAD"]).text()?`.
#[derive(Debug)]
pub struct Git {
    directory: PathBuf,
    settings: Vec<OsString>,
    args: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    fresh: bool,
    configured: bool,
    may_prompt: bool,
    input: Option<Vec<u8>>,
    whole_input: Option<File>,
    inherited: Option<File>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitOutput {
    /// Exit status; 128 + n for signal n.
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl GitOutput {
    pub fn ok(&self) -> bool {
        self.status == 0
    }

    /// Up to three lines of a server's hooks. Untrusted.
    pub fn remote_words(&self) -> String {
        let said = self.stderr.to_str_lossy();
        let words = said.lines().filter_map(|line| line.strip_prefix("remote: ").map(str::trim));
        words.filter(|word| !word.is_empty()).take(3).collect::<Vec<_>>().join("; ")
    }

    /// Up to three lines that git or a server gives as reasons, without `fatal: ` and `error: `;
    /// advice may surround them. Otherwise the last line, or the exit status. Untrusted.
    pub fn reason(&self) -> String {
        let said = self.stderr.to_str_lossy();
        let own = |line: &'_ str| {
            let rest = line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: "));
            rest.map(str::to_owned)
        };
        let foreign = |line: &str| ["remote: ", "ssh: "].iter().any(|by| line.starts_with(by));
        let lines = said.lines().map(str::trim);
        let reasons = lines.filter_map(|line| own(line).or(foreign(line).then(|| line.to_owned())));
        let reasons: Vec<String> = reasons.collect();
        match said.trim().lines().last() {
            _ if !reasons.is_empty() => reasons[reasons.len().saturating_sub(3)..].join("; "),
            Some(last) => last.trim().to_owned(),
            None => format!("exit status {}", self.status),
        }
    }

    fn success(self, line: &str) -> Result<Vec<u8>> {
        if self.ok() { Ok(self.stdout) } else { Err(failed(line, &self)) }
    }
}

/// Drop closes the input and waits.
#[derive(Debug)]
pub struct GitProcess {
    child: Option<Child>,
    /// The feeding thread, or why it did not start.
    feeder: Option<std::io::Result<JoinHandle<()>>>,
    line: String,
}

impl GitProcess {
    /// Sends `bytes` and closes standard input; further calls do nothing.
    pub fn feed(&mut self, bytes: impl Into<Vec<u8>>) {
        let Some(mut pipe) = self.child.as_mut().and_then(|child| child.stdin.take()) else {
            return;
        };
        let bytes = bytes.into();
        // A thread, because git may print before reading everything. Git may also exit without
        // reading, so a broken pipe is ignored.
        self.feeder = Some(std::thread::Builder::new().spawn(move || {
            let _ = pipe.write_all(&bytes);
        }));
    }

    /// Waits and returns standard output.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        self.answer()?.success(&line)
    }

    fn answer(mut self) -> Result<GitOutput> {
        let Some(child) = self.child.take() else {
            return Err(Error::bug("a git command was waited for twice"));
        };
        let output = child.wait_with_output().map_err(|e| Error::io("wait for git", &e))?;
        if let Some(Err(error)) = &self.feeder {
            return Err(Error::io("start a thread", error));
        }
        Ok(GitOutput {
            status: status_code(output.status),
            stdout: output.stdout,
            stderr: output.stderr,
        })
    }
}

impl Drop for GitProcess {
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
    /// Git in `directory`; it never prompts, except after `Git::may_prompt` and in `Git::attached`.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            settings: Vec::new(),
            args: Vec::new(),
            variables: Vec::new(),
            fresh: false,
            configured: false,
            may_prompt: false,
            input: None,
            whole_input: None,
            inherited: None,
        }
    }

    /// Drops the environment's repository, index and object directory.
    #[must_use]
    pub fn without_local_env(mut self) -> Self {
        self.fresh = true;
        self
    }

    /// Keeps the command line's configuration (`git -c KEY=VALUE …`) despite `Git::fresh`, for the
    /// same repository.
    #[must_use]
    pub fn with_command_config(mut self) -> Self {
        self.configured = true;
        self
    }

    /// Lets git ask for credentials at the terminal, if `yes`.
    #[must_use]
    pub fn may_prompt(mut self, yes: bool) -> Self {
        self.may_prompt = yes;
        self
    }

    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    #[must_use]
    pub fn without_hooks(self) -> Self {
        self.config("core.hooksPath", "/dev/null")
    }

    #[must_use]
    pub fn config(mut self, key: &str, value: &str) -> Self {
        self.settings.push("-c".into());
        self.settings.push(format!("{key}={value}").into());
        self
    }

    /// Disables the filter driver `name` and makes it optional.
    #[must_use]
    pub fn without_filter(mut self, name: &[u8]) -> Self {
        for (key, value) in [("clean", ""), ("process", ""), ("required", "false")] {
            let setting = [b"filter.", name, b".", key.as_bytes()].concat();
            let setting = setting.to_os_str_lossy();
            let mut word = OsString::new();
            // `-c` ends the key at the first `=`; git before 2.31 lacks `--config-env` and fails.
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

    /// The first argument is the git command.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Without this, standard input is empty.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    /// Uses `file` as standard input, from its position: complete even if this process dies.
    #[must_use]
    pub fn stdin_file(mut self, file: File) -> Self {
        self.whole_input = Some(file);
        self
    }

    /// Lets git and its children inherit `file`: a lock on it lasts until the last one exits, even
    /// if this process is killed.
    #[must_use]
    pub fn inheriting(mut self, file: File) -> Self {
        self.inherited = Some(file);
        self
    }

    /// Any exit status is a result.
    ///
    /// # Errors
    /// `git_not_found`.
    pub fn answer(mut self) -> Result<GitOutput> {
        let input = self.input.take();
        let mut running = self.spawn(input.is_some())?;
        if let Some(bytes) = input {
            running.feed(bytes);
        }
        running.answer()
    }

    /// Starts git with standard input open, until `Running::feed` or drop. `Git::stdin` is ignored.
    ///
    /// # Errors
    /// `git_not_found`.
    pub fn start(self) -> Result<GitProcess> {
        self.spawn(true)
    }

    fn spawn(&self, input: bool) -> Result<GitProcess> {
        let mut command = self.command();
        if !self.may_prompt {
            command.env("GIT_TERMINAL_PROMPT", "0");
        }
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
            // For processes that wait for the lock after this one died.
            let _ = lock.set_len(0).and_then(|()| lock.rewind());
            let _ = writeln!(lock, "{}", child.id());
        }
        Ok(GitProcess { child: Some(child), feeder: None, line: self.line() })
    }

    /// # Errors
    /// `git_not_found`; `git_failed` with the end of standard error.
    pub fn run(self) -> Result<Vec<u8>> {
        let line = self.line();
        self.answer()?.success(&line)
    }

    /// Drops the final newline; replaces invalid UTF-8.
    pub fn text(self) -> Result<String> {
        let out = self.run()?;
        Ok(out.strip_suffix(b"\n").unwrap_or(&out).to_str_lossy().into_owned())
    }

    /// Drops the final newline.
    pub fn path(self) -> Result<PathBuf> {
        let out = self.run()?;
        Ok(out.strip_suffix(b"\n").unwrap_or(&out).to_path_lossy().into_owned())
    }

    /// Runs git on the caller's terminal; returns its exit status.
    ///
    /// # Errors
    /// `git_not_found`.
    pub fn attached(self) -> Result<i32> {
        let status = self.command().status().map_err(|e| missing(&self.directory, &e))?;
        Ok(status_code(status))
    }

    /// Starts git in the background; Ctrl-C does not reach it.
    ///
    /// # Errors
    /// `git_not_found`.
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
            // Empty, because git before 2.36 runs `false` as a program. Optional locks are off,
            // because an index refreshed without the monitor would lose its data.
            command.args(["-c", "core.fsmonitor="]).env("GIT_OPTIONAL_LOCKS", "0");
        }
        command.args(&self.args);
        if offline_key().is_some() && self.args.first().is_none_or(|name| name != "commit") {
            // No transport has this name.
            command.env("GIT_ALLOW_PROTOCOL", "none");
        }
        if self.fresh {
            let kept = |name: &str| self.configured && CONFIGURATION.contains(&name);
            LOCAL_VARIABLES.iter().filter(|name| !kept(name)).for_each(|name| {
                command.env_remove(name);
            });
        }
        // Replacements and grafts are off: see `repository::open`.
        command.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_GRAFT_FILE", "/dev/null");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn line(&self) -> String {
        let words: Vec<_> = self.args.iter().take(2).map(|word| word.to_string_lossy()).collect();
        format!("git {}", words.join(" "))
    }
}

pub fn scrub(command: &mut Command) {
    for name in LOCAL_VARIABLES {
        command.env_remove(name);
    }
}

/// 128 + n for signal n, as in a shell.
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

fn failed(line: &str, answer: &GitOutput) -> Error {
    Error::new(&codes::GIT_FAILED, format!("{line}: {}", answer.reason()))
        .hint(remedy(&answer.stderr.to_str_lossy()))
        .with("exit_status", answer.status)
}

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
        let git = || Git::new(directory.path()).without_local_env();
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
        let listed = Git::new(directory.path())
            .without_local_env()
            .args(["rev-parse", "--local-env-vars"])
            .text();
        for name in listed.unwrap().lines() {
            assert!(LOCAL_VARIABLES.contains(&name), "{name}");
        }
    }
}
