//! A scripted git repository in a temporary directory, and the real binary run in it.
//!
//! Everything a run can see is fixed here: an empty environment but for the few variables below,
//! a home of its own, no system or user git configuration, one identity, one clock for git's
//! dates. So object ids are the same on every machine, and nothing of the developer's shell
//! (`GIT_*`, `AYE_*`, `CI`, a coding agent's variables) reaches a test.
//!
//! ```ignore
//! let repo = Repo::with(&[("src/a.rs", "fn a() {}\n")]);
//! repo.aye(&["propose", "src/a.rs", "--old", "a()", "--new", "b()"]).ok().says("prop_");
//! let list = repo.aye(&["list", "--json"]).ok().json();
//! repo.aye(&["apply", "prop_zzzz"]).fails("proposal_not_found", 3);
//! ```

// Each test binary compiles this file and uses its own part of it.
#![allow(dead_code)]

pub mod agents;
pub mod clones;
pub mod forger;
pub mod memory;
pub mod patches;
pub mod record;
pub mod retrieval;
pub mod sessions;
pub mod steps;
pub mod terminal;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The identity of every scripted repository, as local git configuration.
pub const NAME: &str = "Ada Reviewer";
/// See [`NAME`].
pub const EMAIL: &str = "ada@example.com";
/// Seconds since the epoch of the first commit (2026-01-01T00:00:00Z); each commit adds a minute.
pub const EPOCH: i64 = 1_767_225_600;

/// A temporary directory with a home, a work directory `root`, and usually a git repository in it.
pub struct Repo {
    // Held for its Drop.
    directory: tempfile::TempDir,
    root: PathBuf,
    clock: AtomicI64,
}

impl Default for Repo {
    fn default() -> Self {
        Self::new()
    }
}

/// Directories and files by their paths below another directory; files have content.
struct Tree(Vec<(PathBuf, Option<Vec<u8>>)>);

impl Tree {
    fn read(directory: &Path) -> Self {
        let entries = walkdir::WalkDir::new(directory).into_iter().map(|entry| {
            let entry = entry.expect("an entry");
            let path = entry.path().strip_prefix(directory).expect("below").to_owned();
            let kind = entry.file_type();
            assert!(
                kind.is_dir() || kind.is_file(),
                "{}: neither file nor directory",
                path.display()
            );
            (path, kind.is_file().then(|| std::fs::read(entry.path()).expect("a file")))
        });
        Self(entries.collect())
    }

    fn write(&self, directory: &Path) {
        for (path, content) in &self.0 {
            let path = directory.join(path);
            match content {
                Some(content) => std::fs::write(path, content).expect("a file"),
                None => std::fs::create_dir_all(path).expect("a directory"),
            }
        }
    }
}

impl Repo {
    /// A directory that is not a repository, and that no repository surrounds.
    pub fn outside() -> Self {
        let directory = tempfile::Builder::new().prefix("aye-test-").tempdir_in(scratch());
        let directory = directory.expect("a temporary directory");
        // Resolved, so that paths printed by git compare equal (macOS: /var is a symlink).
        let base = directory.path().canonicalize().expect("the temporary directory");
        let root = base.join("work");
        std::fs::create_dir(&root).expect("the work directory");
        std::fs::create_dir(base.join("home")).expect("the home directory");
        Self { directory, root, clock: AtomicI64::new(EPOCH) }
    }

    /// An empty repository on branch `main` (unborn), with the fixed identity.
    pub fn new() -> Self {
        // What `git init` makes, made once: to write it costs less than to start git.
        static EMPTY: OnceLock<Tree> = OnceLock::new();
        let empty = EMPTY.get_or_init(|| Tree::read(&Self::outside().init(&[]).path(".git")));
        let new = Self::outside();
        empty.write(&new.path(".git"));
        new.tick();
        new
    }

    /// A bare repository.
    pub fn bare() -> Self {
        Self::outside().init(&["--bare"])
    }

    /// A repository whose objects are named by SHA-256.
    pub fn sha256() -> Self {
        Self::outside().init(&["--object-format=sha256"])
    }

    /// A repository with `files` (path, content) in its first commit.
    pub fn with<C: AsRef<[u8]>>(files: &[(&str, C)]) -> Self {
        Self::new().start(files)
    }

    fn start<C: AsRef<[u8]>>(self, files: &[(&str, C)]) -> Self {
        for (path, content) in files {
            self.write(path, content);
        }
        self.commit("Start");
        self
    }

    /// Makes the work directory a repository, by `git init` with these flags more.
    pub fn init(self, flags: &[&str]) -> Self {
        // Without git's examples of hooks, which are more files than the rest of it.
        let mut args = vec!["init", "--quiet", "--initial-branch=main", "--template="];
        args.extend(flags);
        self.git(&args);
        let file = if flags.contains(&"--bare") { "config" } else { ".git/config" };
        let mut config = self.text(file);
        config += &format!("[user]\n\tname = {NAME}\n\temail = {EMAIL}\n");
        config += "[core]\n\tautocrlf = false\n";
        self.write(file, config);
        self
    }

    /// The pending proposal `id` with its current revision, as `--yes` takes it once there are
    /// several.
    pub fn at_revision(&self, id: &str) -> String {
        let list = self.aye(&["list", "--json"]).ok().json();
        let items = list["proposals"].as_array().expect("a list");
        let item = items.iter().find(|item| item["proposal_id"] == id).expect("it is pending");
        format!("{id}@{}", item["revision"].as_str().expect("an id"))
    }

    fn has_commit(&self) -> bool {
        let git = Command::new("git")
            .args(["rev-parse", "-q", "--verify", "HEAD"])
            .current_dir(&self.root)
            .output();
        git.is_ok_and(|out| out.status.success())
    }

    /// Commits a policy by which `--yes` decides about memory and sensitive paths too: most tests
    /// have no terminal to answer at.
    pub fn let_flags_decide(&self) {
        let evidence = "[evidence]\nmemory = \"flag\"\nsensitive = \"flag\"\n";
        let path = ".agent-memory/policy.toml";
        let kept = if self.exists(path) { self.text(path) } else { String::new() };
        self.write(path, format!("{kept}\n{evidence}"));
        if !self.has_commit() {
            // Before the first commit the work tree's policy holds.
            return;
        }
        self.git(&["add", "-f", path]);
        self.git(&["commit", "-q", "--only", "-m", "Let --yes decide", "--", path]);
    }

    /// A repository that is in the same state as this one, and a home like its: cheaper than to
    /// bring it there again. Not for one with linked work trees, which are known by their paths.
    pub fn copy(&self) -> Self {
        fn copy(from: &Path, to: &Path) {
            std::fs::create_dir_all(to).expect("a directory");
            for entry in std::fs::read_dir(from).expect("a directory").flatten() {
                let (from, to) = (entry.path(), to.join(entry.file_name()));
                let kind = entry.file_type().expect("a file type");
                if kind.is_dir() {
                    copy(&from, &to);
                } else if kind.is_file() {
                    std::fs::copy(&from, &to).expect("a file");
                } else {
                    panic!("{} is neither file nor directory", from.display());
                }
            }
        }
        let new = Self::outside();
        copy(self.outer(), new.outer());
        new.clock.store(self.clock.load(Ordering::Relaxed), Ordering::Relaxed);
        new
    }

    /// The work directory: the root of the repository.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The temporary directory around the repository, for a second clone or a file outside.
    pub fn outer(&self) -> &Path {
        self.root.parent().expect("the work directory has a parent")
    }

    /// Writes a user's own git configuration, for `GIT_CONFIG_GLOBAL`.
    pub fn user_config(&self, settings: &[(&str, &str)]) -> PathBuf {
        let file = self.outer().join("gitconfig");
        for (key, value) in settings {
            self.git(&["config", "--file", &file.to_string_lossy(), key, value]);
        }
        file
    }

    /// `path` (with `/`) below the root.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file below the root, making its directories.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let file = self.path(path);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("make the directories");
        std::fs::write(&file, content).unwrap_or_else(|e| panic!("write {path}: {e}"));
    }

    /// The bytes of a file below the root.
    #[track_caller]
    pub fn read(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.path(path)).unwrap_or_else(|e| panic!("read {path}: {e}"))
    }

    /// The text of a file below the root.
    #[track_caller]
    pub fn text(&self, path: &str) -> String {
        String::from_utf8(self.read(path)).unwrap_or_else(|e| panic!("{path} is not UTF-8: {e}"))
    }

    /// True if something is there, be it only a dangling symlink.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// Removes a file below the root.
    pub fn remove(&self, path: &str) {
        std::fs::remove_file(self.path(path)).unwrap_or_else(|e| panic!("remove {path}: {e}"));
    }

    /// Makes a symlink at `path` that holds `target` as it is.
    pub fn symlink(&self, target: &str, path: &str) {
        std::os::unix::fs::symlink(target, self.path(path))
            .unwrap_or_else(|e| panic!("link {path}: {e}"));
    }

    /// A program at `path`, of these lines for a shell.
    pub fn script(&self, path: &str, text: &str) {
        self.write(path, format!("#!/bin/sh\n{text}\n"));
        self.chmod(path, 0o755);
    }

    /// What to call an editor that runs the command `text` on the file `$1`.
    pub fn editor(&self, text: &str) -> String {
        self.script("../editor", text);
        format!("sh {}", self.outer().join("editor").display())
    }

    /// Sets the permission bits of a file.
    pub fn chmod(&self, path: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(self.path(path), std::fs::Permissions::from_mode(mode))
            .unwrap_or_else(|e| panic!("chmod {path}: {e}"));
    }

    /// The permission bits of a file.
    pub fn mode(&self, path: &str) -> u32 {
        use std::os::unix::fs::PermissionsExt as _;
        self.path(path).symlink_metadata().expect("the file").permissions().mode() & 0o7777
    }

    /// Every file below the root but `.git`, with its bytes, sorted: to show that nothing changed.
    pub fn snapshot(&self) -> Vec<(String, Vec<u8>)> {
        fn walk(root: &Path, directory: &Path, found: &mut Vec<(String, Vec<u8>)>) {
            for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
                let path = entry.path();
                if path == root.join(".git") {
                    continue;
                }
                let kind = entry.file_type().expect("a file type");
                let name = path.strip_prefix(root).expect("below").to_string_lossy().into_owned();
                if kind.is_dir() {
                    walk(root, &path, found);
                } else if kind.is_symlink() {
                    let target = std::fs::read_link(&path).expect("a link");
                    found.push((name, target.to_string_lossy().into_owned().into_bytes()));
                } else {
                    found.push((name, std::fs::read(&path).expect("a file")));
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.root, &self.root, &mut found);
        found.sort();
        found
    }

    /// Stages everything and commits it; returns the commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        let quick = ["-c", "maintenance.auto=false"];
        self.git(&[&quick[..], &["commit", "--quiet", "--allow-empty", "-m", message]].concat());
        match self.head() {
            Some(id) => {
                self.tick();
                id
            }
            None => self.git(&["rev-parse", "HEAD"]),
        }
    }

    /// A minute later, as by each command of git: ids and pictures in the documentation follow from it.
    fn tick(&self) -> i64 {
        self.clock.fetch_add(60, Ordering::Relaxed) + 60
    }

    /// The commit that HEAD names by a loose ref of this work tree.
    fn head(&self) -> Option<String> {
        let head = std::fs::read_to_string(self.path(".git/HEAD")).ok()?;
        let name = head.trim().strip_prefix("ref: ")?;
        let id = std::fs::read_to_string(self.path(".git").join(name)).ok()?;
        id.trim().bytes().all(|b| b.is_ascii_hexdigit()).then(|| id.trim().to_owned())
    }

    /// Runs git in the root, which must succeed; its standard output without the last newline.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let run = self.try_git(args);
        let text = run.ok().out();
        text.strip_suffix('\n').unwrap_or(&text).to_owned()
    }

    /// Runs git in the root, whatever comes of it.
    pub fn try_git(&self, args: &[&str]) -> Run {
        // A new minute per git command, so that commits have an order and stable ids.
        let now = self.tick();
        let date = format!("{now} +0000");
        self.program("git")
            .args(args)
            .env("GIT_AUTHOR_NAME", NAME)
            .env("GIT_AUTHOR_EMAIL", EMAIL)
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_NAME", NAME)
            .env("GIT_COMMITTER_EMAIL", EMAIL)
            .env("GIT_COMMITTER_DATE", &date)
            .run()
    }

    /// Runs `aye` with these arguments in the root, as a person without a terminal.
    pub fn aye<A: AsRef<OsStr>>(&self, args: &[A]) -> Run {
        self.cmd(args).run()
    }

    /// What `aye show` says of a proposal.
    #[track_caller]
    pub fn item(&self, id: &str) -> Value {
        self.aye(&["show", id, "--json"]).ok().json()
    }

    /// The kinds of the events of a proposal, the last one first.
    pub fn kinds(&self, id: &str) -> Vec<String> {
        let log = self.aye(&["log", id, "--json"]).ok().json();
        let events = log["events"].as_array().expect("events").iter();
        events.map(|event| event["kind"].as_str().expect("a kind").to_owned()).collect()
    }

    /// Writes the text of a decided proposal into the files: `aye diff ID --patch | git apply`.
    pub fn bring_back(&self, id: &str) {
        let patch = self.outer().join("back.diff");
        std::fs::write(&patch, self.aye(&["diff", id, "--patch"]).ok().out()).expect("a file");
        self.git(&["apply", patch.to_str().expect("text")]);
    }

    /// A file for `--from-json`: in each path the text to replace, and the new one.
    pub fn edits(&self, edits: &[[&str; 3]]) -> String {
        let edit = |[path, old, new]: &[&str; 3]| serde_json::json!({ "file_path": path, "old_content": old, "new_content": new });
        let edits = serde_json::Value::from(edits.iter().map(edit).collect::<Vec<_>>());
        let file = self.outer().join("edits.json");
        std::fs::write(&file, edits.to_string()).expect("a file");
        file.to_str().expect("text").to_owned()
    }

    /// Runs `aye` with these arguments, fed `stdin`.
    pub fn aye_stdin<A: AsRef<OsStr>>(&self, args: &[A], stdin: impl AsRef<[u8]>) -> Run {
        self.cmd(args).stdin(stdin).run()
    }

    /// Makes the task plan of the branch these pending steps.
    pub fn plan(&self, steps: &[&str]) {
        let step = |step: &&str| serde_json::json!({ "step": step, "status": "pending" });
        let list: Vec<_> = steps.iter().map(step).collect();
        self.aye(&["plan", "update", &serde_json::json!(list).to_string()]).ok();
    }

    /// Runs `aye` as a coding agent of that name (`AYE_AGENT`).
    pub fn agent<A: AsRef<OsStr>>(&self, name: &str, args: &[A]) -> Run {
        self.cmd(args).env("AYE_AGENT", name).run()
    }

    /// `aye` with these arguments, to be given an environment, a directory or input before it runs.
    pub fn cmd<A: AsRef<OsStr>>(&self, args: &[A]) -> Cmd {
        self.program(tested()).args(args)
    }

    /// `aye` with these arguments, five seconds later by its clock (`AYE_NOW`): every file that is there is
    /// old enough for its facts to be believed, and one that is written afterwards has another time.
    pub fn later<A: AsRef<OsStr>>(&self, args: &[A]) -> Cmd {
        self.ticks();
        let now = chrono::Utc::now() + chrono::Duration::seconds(5);
        self.cmd(args).env("AYE_NOW", now.to_rfc3339())
    }

    /// Waits until the clock of the file system has moved on.
    pub fn ticks(&self) {
        let probe = self.outer().join("tick");
        let time = || {
            std::fs::write(&probe, "").expect("write");
            probe.metadata().and_then(|facts| facts.modified()).expect("a time")
        };
        let first = time();
        until("the clock moves on", || time() > first);
        std::fs::remove_file(&probe).expect("remove");
    }

    /// Any program in the same fixed surroundings.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Cmd {
        let mut command = Command::new(program.as_ref());
        command.current_dir(&self.root).env_clear();
        for name in ["PATH", "TMPDIR", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE", "SYSTEMROOT"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            // Who runs the tests may be a coding agent: only what is below this process counts.
            .env("AYE_TESTS", std::process::id().to_string())
            .env("HOME", self.outer().join("home"))
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .env("TERM", "dumb")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // Not there, and not a device: git puts a file of its own in the place of what it writes to.
            .env("GIT_CONFIG_GLOBAL", self.outer().join("no-gitconfig"))
            .env("GIT_TERMINAL_PROMPT", "0")
            // What git writes is no subject of a test; what aye writes reaches the disk.
            .env("GIT_TEST_FSYNC", "0")
            .env("GIT_CEILING_DIRECTORIES", self.outer());
        // Nothing else is at work beside what is stopped there.
        if env!("CARGO_CRATE_NAME") == "crash" {
            command.env("AYE_REF_PATIENCE", "20");
        }
        Cmd { command, input: Vec::new() }
    }
}

/// The program as Cargo has built it for these tests: it can be stopped at a step (`src/failpoint.rs`), and
/// told the time (`AYE_NOW`).
fn built() -> &'static OsStr {
    OsStr::new(env!("CARGO_BIN_EXE_aye"))
}

/// The program that is tested: the one that `AYE_TEST_PROGRAM` names, as `.ci/run` does with the one to be
/// released, or [`built`].
pub fn tested() -> &'static OsStr {
    static TESTED: OnceLock<Option<OsString>> = OnceLock::new();
    let named = TESTED.get_or_init(|| {
        let named = std::env::var_os("AYE_TEST_PROGRAM")?;
        let above = aye::cli::processes::agent_above();
        assert!(
            above.is_none(),
            "below {above:?} a released aye has no people: use a shell of your own"
        );
        Some(named)
    });
    named.as_deref().filter(|_| env!("CARGO_CRATE_NAME") != "crash").unwrap_or(built())
}

/// The same with another program; all surroundings of `command` are set, none are inherited.
fn with_program(command: &Command, program: &OsStr) -> Command {
    let mut other = Command::new(program);
    other.args(command.get_args()).env_clear();
    other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        other.current_dir(directory);
    }
    other
}

/// True in a process that runs the test `name` alone; otherwise runs it in one, which has to succeed. For a
/// test that forks much: that costs the more the more memory the process has, and the one of all tests has much.
pub fn is_alone(name: &str) -> bool {
    const ALONE: &str = "AYE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let this = std::env::current_exe().expect("this program");
    let run = Command::new(this).args(["--exact", name]).env(ALONE, "1").output().expect("run");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// Where the directories of the tests are: in memory, where the system has room for that and `TMPDIR`
/// names no other place. A run makes hundreds of thousands of small files, and before ext4 gives out an
/// inode, it looks at each that was removed in the last minutes. The crash tests are about the disk.
fn scratch() -> &'static Path {
    static SCRATCH: OnceLock<PathBuf> = OnceLock::new();
    SCRATCH.get_or_init(|| {
        let chosen = std::env::var_os("TMPDIR").is_some() || env!("CARGO_CRATE_NAME") == "crash";
        match memory() {
            Some(memory) if !chosen => memory,
            _ => std::env::temp_dir(),
        }
    })
}

/// A file system in memory from which programs may be started (hooks), with 3 GB for it to grow.
#[cfg(target_os = "linux")]
fn memory() -> Option<PathBuf> {
    const TMPFS: u64 = 0x0102_1994; // statfs(2)
    const ROOM: u64 = 3_000_000_000;
    let path = Path::new("/dev/shm");
    let is_memory = rustix::fs::statfs(path).ok()?.f_type as u64 == TMPFS;
    let facts = rustix::fs::statvfs(path).ok()?;
    let runs = !facts.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC);
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available = line.split_whitespace().next()?.parse::<u64>().ok()? * 1024;
    let room = available.min(facts.f_bavail * facts.f_frsize);
    (is_memory && runs && room >= ROOM).then(|| path.to_owned())
}

#[cfg(not(target_os = "linux"))]
fn memory() -> Option<PathBuf> {
    None
}

/// A program about to run.
pub struct Cmd {
    command: Command,
    input: Vec<u8>,
}

impl Cmd {
    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, args: &[A]) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        // What is released does not know them.
        if ["AYE_NOW", "FAILPOINTS"].contains(&name) && self.command.get_program() == tested() {
            self.command = with_program(&self.command, built());
        }
        self.command.env(name, value);
        self
    }

    /// Runs it as on a build machine that writes as the clone `name`.
    pub fn in_ci(self, name: &str) -> Self {
        let named = self.env("CI", "true").env("GIT_CONFIG_COUNT", "1");
        named.env("GIT_CONFIG_KEY_0", "aye.clone").env("GIT_CONFIG_VALUE_0", name)
    }

    /// Starts it in another directory.
    pub fn dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Feeds these bytes to standard input (nothing is fed otherwise: end of file at once).
    pub fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.input = bytes.as_ref().to_vec();
        self
    }

    /// The command as the standard library knows it, to be spawned, killed or given a terminal.
    pub fn into_inner(self) -> Command {
        self.command
    }

    /// Starts it without waiting (its input is empty); [`Running::wait`] gives the result.
    #[track_caller]
    pub fn spawn(mut self) -> Running {
        let line = self.line();
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap_or_else(|e| panic!("start {line}: {e}"));
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = std::mem::take(&mut self.input);
        // A thread, so that a child that prints before it has read everything does not wait for us.
        // It may also end without reading: a broken pipe is the child's choice.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        Running { child, feeder, line }
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn run(self) -> Run {
        self.spawn().wait()
    }

    fn line(&self) -> String {
        let mut words = vec![
            Path::new(self.command.get_program())
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        ];
        words.extend(self.command.get_args().map(|arg| {
            let arg: OsString = arg.to_owned();
            let text = arg.to_string_lossy().into_owned();
            if text.is_empty() || text.contains([' ', '\n', '"']) {
                format!("{text:?}")
            } else {
                text
            }
        }));
        words.join(" ")
    }
}

/// Waits until `is_so`, a minute at most: long, because machines may be busy.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "it never came to this: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A program that was started and not yet waited for.
pub struct Running {
    /// The process, for its id and for `kill`.
    pub child: std::process::Child,
    feeder: std::thread::JoinHandle<()>,
    line: String,
}

impl Running {
    /// Waits until it pauses between two looks, which it does once it has looked.
    #[cfg(target_os = "linux")]
    #[track_caller]
    pub fn pauses(&self) {
        let file = format!("/proc/{}/wchan", self.child.id());
        let is_asleep = || std::fs::read_to_string(&file).is_ok_and(|at| at.contains("nanosleep"));
        until("the program pauses", is_asleep);
    }

    /// Gives it the time to come to a pause: nothing here says when it does.
    #[cfg(not(target_os = "linux"))]
    pub fn pauses(&self) {
        std::thread::sleep(Duration::from_millis(300));
    }

    /// Waits until it has printed `text` first of all, which is then gone from its output.
    #[track_caller]
    pub fn begins(&mut self, text: &str) {
        let mut bytes = vec![0; text.len()];
        let output = self.child.stdout.as_mut().expect("a pipe");
        std::io::Read::read_exact(output, &mut bytes).expect("it prints so much");
        assert_eq!(String::from_utf8_lossy(&bytes), text);
    }

    /// Waits for the end.
    pub fn wait(self) -> Run {
        let output = self.child.wait_with_output().expect("wait for the child");
        let _ = self.feeder.join();
        Run {
            // As a shell counts it: 128 + signal where there is no exit status.
            status: output.status.code().unwrap_or_else(|| signal(&output.status)),
            stdout: output.stdout,
            stderr: output.stderr,
            line: self.line,
        }
    }
}

fn signal(status: &std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    128 + status.signal().unwrap_or(0)
}

/// What came of a run. The checks panic with the whole transcript and return `self`, to be chained.
#[derive(Clone, Debug)]
pub struct Run {
    /// Exit status; 128 + n for signal n.
    pub status: i32,
    /// Standard output as it came.
    pub stdout: Vec<u8>,
    /// Standard error as it came.
    pub stderr: Vec<u8>,
    line: String,
}

impl Run {
    /// Exit status 0.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.exits(0)
    }

    /// This exit status.
    #[track_caller]
    pub fn exits(self, status: i32) -> Self {
        assert!(self.status == status, "expected exit status {status}\n{self}");
        self
    }

    /// Failed with this stable error code and exit status, in whichever format was asked for.
    #[track_caller]
    pub fn fails(self, code: &str, status: i32) -> Self {
        let told = match serde_json::from_slice::<Value>(&self.stdout) {
            Ok(json) => json["success"] == false && json["error"]["code"] == code,
            Err(_) => self.err().contains(&format!("error[{code}]")),
        };
        assert!(told, "expected the error code {code}\n{self}");
        self.exits(status)
    }

    /// Standard output contains `text`.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.out().contains(text), "expected on standard output: {text:?}\n{self}");
        self
    }

    /// Standard output does not contain `text`.
    #[track_caller]
    pub fn lacks(self, text: &str) -> Self {
        assert!(!self.out().contains(text), "not expected on standard output: {text:?}\n{self}");
        self
    }

    /// Standard error contains `text`.
    #[track_caller]
    pub fn notes(self, text: &str) -> Self {
        assert!(self.err().contains(text), "expected on standard error: {text:?}\n{self}");
        self
    }

    /// Neither stream holds a control character but newline and tab: safe for a terminal.
    #[track_caller]
    pub fn plain(self) -> Self {
        let raw = |text: String| text.chars().any(|c| c.is_control() && c != '\n' && c != '\t');
        assert!(!raw(self.out()) && !raw(self.err()), "control characters in the output\n{self}");
        self
    }

    /// What it has printed is the snapshot `name`. `INSTA_UPDATE=always cargo test --locked --test it` renews
    /// snapshots; look at the difference.
    #[track_caller]
    pub fn shown(self, name: &str) -> Self {
        let mut text = self.out();
        if !self.stderr.is_empty() {
            text += &format!("--- stderr\n{}", self.err());
        }
        let ids = regex::Regex::new("prop_[0-9a-z]{10}").expect("a pattern");
        let mut found: Vec<String> = Vec::new();
        for id in ids.find_iter(&text).map(|id| id.as_str()) {
            if !found.iter().any(|other| other == id) {
                found.push(id.to_owned());
            }
        }
        let text = same_each_time(&text, &found);
        insta::with_settings!(
            { prepend_module_to_snapshot => false, snapshot_path => "../it/snapshots" },
            { insta::assert_snapshot!(name, text) }
        );
        self
    }

    /// Standard output as text (bad UTF-8 replaced).
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text (bad UTF-8 replaced).
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|e| panic!("standard output is not JSON: {e}\n{self}"))
    }

    /// The first word on standard output that starts with `prop_`: the id of what was proposed.
    #[track_caller]
    pub fn id(&self) -> String {
        let text = self.out();
        let start = text.find("prop_").unwrap_or_else(|| panic!("no proposal id\n{self}"));
        let word = &text[start..];
        let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(word.len());
        word[..end].to_owned()
    }
}

/// The text with letters for the proposals `ids`, also where they are shortened, and without object ids, times
/// of the clock, and the directory of this run.
pub fn same_each_time(text: &str, ids: &[String]) -> String {
    let mut text = text.to_owned();
    for (id, letter) in ids.iter().zip('a'..) {
        let same = |length: usize| letter.to_string().repeat(length);
        text = text.replace(id, &format!("prop_{}", same(10)));
        for length in (4..10).rev() {
            text = text.replace(&id[5..5 + length], &same(length));
        }
    }
    let replace = |text: &str, pattern: &str, with: &dyn Fn(&str) -> String| {
        let pattern = regex::Regex::new(pattern).expect("a pattern");
        pattern.replace_all(text, |found: &regex::Captures<'_>| with(&found[0])).into_owned()
    };
    text = replace(&text, r"/[^ ']*/aye-test-[^/ ']*", &|_| "DIRECTORY".to_owned());
    text = replace(&text, r"\b\d+ seconds? ago\b", &|_| "just now".to_owned());
    text = replace(&text, r"\b[0-9a-f]{7,}\b", &|word| match word {
        // The letters of a proposal.
        word if word.starts_with(&word[..1].repeat(7)) => word.to_owned(),
        word => "0".repeat(word.len()),
    });
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "$ {}\n--- status {}\n--- stdout\n{}--- stderr\n{}",
            self.line,
            self.status,
            self.out(),
            self.err()
        )
    }
}

/// True where the kernel has the sandbox of the read-only shell. A test that needs it is skipped
/// otherwise, but not where it is required: `.ci/run` sets `AYE_REQUIRE_SANDBOX`.
pub fn has_sandbox() -> bool {
    let layers = aye::shell::sandbox::offered();
    let has = layers.is_sandbox();
    let required = std::env::var_os("AYE_REQUIRE_SANDBOX").is_some_and(|value| value == "1");
    assert!(
        has || !required,
        "AYE_REQUIRE_SANDBOX is set, and this kernel offers {}",
        layers.name()
    );
    has
}
