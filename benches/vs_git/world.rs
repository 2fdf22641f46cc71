//! The scratch directory of a run: generated repositories, fresh copies, and processes with a fixed
//! environment.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Files of the generated repository.
pub const FILES: usize = 5_000;

/// The configuration of every repository.
const SETTINGS: [(&str, &str); 4] = [
    ("user.name", "Ada"),
    ("user.email", "ada@example.com"),
    ("gc.auto", "0"),
    ("core.autocrlf", "false"),
];

/// Everything a run makes lies below one temporary directory.
pub struct World {
    directory: tempfile::TempDir,
    copies: Cell<usize>,
}

impl World {
    /// Generates the repository that the entries copy.
    pub fn new() -> Self {
        // Beside the build and not in /tmp, which may be memory: flushing is what is measured.
        let base = env!("CARGO_TARGET_TMPDIR");
        std::fs::create_dir_all(base).expect("a directory for scratch files");
        let directory =
            tempfile::Builder::new().prefix("vs-git-").tempdir_in(base).expect("a directory");
        // As an installation does: a program that a linker has just written lies in the page cache
        // in small pieces, and each start of it takes up to 0.6 ms longer.
        let aye = directory.path().join("aye");
        std::fs::copy(program(), &aye).expect("a copy of the program");
        let world = Self { directory, copies: Cell::new(0) };
        std::fs::create_dir(world.directory.path().join("home")).expect("a home");
        world.generate();
        world
    }

    /// One line on what is measured with.
    pub fn about(&self) -> String {
        let git = output(self.git(self.directory.path(), &["--version"]));
        let cpus = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        let size = std::fs::metadata(self.program()).map_or(0, |m| m.len());
        format!("{git}, {cpus} cpus, {FILES} files, aye {size} bytes")
    }

    /// Where the generated repository is; entries that write take a [`copy`](Self::copy).
    pub fn pristine(&self) -> PathBuf {
        self.directory.path().join("pristine")
    }

    /// A fresh copy of the generated repository.
    pub fn copy(&self) -> PathBuf {
        self.copy_of(&self.pristine())
    }

    /// A fresh copy of any repository.
    pub fn copy_of(&self, repository: &Path) -> PathBuf {
        self.copies.set(self.copies.get() + 1);
        let to = self.directory.path().join(format!("copy-{}", self.copies.get()));
        run(Command::new("cp").arg("-a").arg(repository).arg(&to));
        to
    }

    /// A repository of one file and one commit.
    pub fn small(&self) -> PathBuf {
        self.copies.set(self.copies.get() + 1);
        let directory = self.directory.path().join(format!("copy-{}", self.copies.get()));
        std::fs::create_dir(&directory).expect("a directory");
        run(&mut self.git(&directory, &["init", "--quiet", "--initial-branch=main"]));
        for (key, value) in SETTINGS {
            run(&mut self.git(&directory, &["config", key, value]));
        }
        std::fs::write(directory.join("file.rs"), content(0)).expect("a file");
        run(&mut self.git(&directory, &["add", "--all"]));
        run(&mut self.git(&directory, &["commit", "--quiet", "-m", "Start"]));
        directory
    }

    /// `git` in a directory, with this world's environment.
    pub fn git(&self, directory: &Path, arguments: &[&str]) -> Command {
        self.command("git", directory, arguments)
    }

    /// The `aye` under test in a directory, with this world's environment.
    pub fn aye(&self, directory: &Path, arguments: &[&str]) -> Command {
        self.command(self.program(), directory, arguments)
    }

    /// The copy of the program under test.
    fn program(&self) -> PathBuf {
        self.directory.path().join("aye")
    }

    fn command(&self, program: impl AsRef<OsStr>, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.directory.path().join("home"));
        for (name, value) in [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"),
            ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
            ("LC_ALL", "C"),
            ("TZ", "UTC"),
        ] {
            command.env(name, value);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// A packed repository: 5,000 files of about 540 bytes in 100 directories, 20 commits.
    fn generate(&self) {
        let directory = self.pristine();
        std::fs::create_dir(&directory).expect("a directory");
        run(&mut self.git(&directory, &["init", "--quiet", "--initial-branch=main"]));
        for (key, value) in SETTINGS {
            run(&mut self.git(&directory, &["config", key, value]));
        }
        let mut stream = String::new();
        for commit in 0..20 {
            let when = 1_767_225_600 + commit * 3_600;
            let _ = write!(
                stream,
                "commit refs/heads/main\ncommitter Ada <ada@example.com> {when} +0000\n\
                 data 7\nCommit\n\n"
            );
            for file in (0..FILES)
                .filter(|file| file % 20 <= commit && (commit == 0 || file % 20 == commit))
            {
                let content = content(file);
                let _ = write!(
                    stream,
                    "M 100644 inline {}\ndata {}\n{content}\n",
                    path(file),
                    content.len()
                );
            }
        }
        let mut import = self.git(&directory, &["fast-import", "--quiet"]);
        let mut child = import.stdin(Stdio::piped()).spawn().expect("git fast-import");
        child.stdin.take().expect("a pipe").write_all(stream.as_bytes()).expect("feed the import");
        assert!(child.wait().expect("wait").success(), "git fast-import");
        run(&mut self.git(&directory, &["repack", "-adq"]));
        run(&mut self.git(&directory, &["reset", "--quiet", "--hard"]));
        assert_eq!(output(self.git(&directory, &["ls-files"])).lines().count(), FILES);
    }
}

/// The program under test: this build's, or another that `AYE_BIN` names by an absolute path.
fn program() -> String {
    std::env::var("AYE_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_aye").to_owned())
}

/// The path of a generated file.
pub fn path(file: usize) -> String {
    format!("src/part{:02}/file{file:04}.rs", file % 100)
}

/// The content of a generated file. `let v0 = …;` is unique in it.
pub fn content(file: usize) -> String {
    let mut text = format!("//! File {file}.\n\n/// Computes.\npub fn f{file}() -> usize {{\n");
    for line in 0..16 {
        let _ = writeln!(text, "    let v{line} = {};", file * 31 + line);
    }
    text += "    v0 + v1 + v2 + v3\n}\n";
    text
}

/// Runs a command that must succeed.
pub fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(status.success(), "{command:?}: {status}");
}

/// Runs a command that must succeed; its standard output, trimmed.
pub fn output(mut command: Command) -> String {
    let result = command.stdout(Stdio::piped()).output().unwrap_or_else(|e| panic!("{e}"));
    assert!(result.status.success(), "{command:?}: {result:?}");
    String::from_utf8_lossy(&result.stdout).trim_end().to_owned()
}
