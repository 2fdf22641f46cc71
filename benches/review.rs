//! The review session against its frame: what a key press costs, and how soon the first prompt
//! stands.
//!
//! ```text
//! cargo bench --bench review                # all
//! cargo bench --bench review -- model       # moving from hunk to hunk of a 50,000-line diff
//! cargo bench --bench review -- files       # moving from file to file of a proposal with 1,000 of them
//! cargo bench --bench review -- prompt      # first prompt with 1,000 pending, against `aye list`
//! cargo bench --bench review -- queue       # the list of 300 pending, against `aye list`; a key in it
//! AYE_BIN=/path/to/another/aye cargo bench --bench review -- prompt
//! ```

// A program that prints its figures.
#![allow(clippy::print_stdout)]

use std::io::{Read as _, Write as _};
use std::process::Command;
use std::time::{Duration, Instant};

use aye::changeset::{File, FileChange, RepoPath};
use aye::proposal::ProposalId;
use aye::render::diff::{Options, Painter};
use aye::render::style::Palette;
use aye::review::model::{Action, QueuedProposal, Review, ReviewSession, UnitKind};

/// One frame at 60 Hz.
const FRAME: Duration = Duration::from_millis(16);

fn main() {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` passes --bench; `cargo test --benches` does not, and wants no measurements.
    let Some(at) = names.iter().position(|name| name == "--bench") else { return };
    names.remove(at);
    let wanted = |name: &str| names.is_empty() || names.iter().any(|n| name.contains(n.as_str()));
    if wanted("model") {
        model();
    }
    if wanted("files") {
        files();
    }
    if wanted("prompt") {
        prompt();
    }
    if wanted("queue") {
        queue();
    }
}

/// Every hunk of a file of 50,000 lines with 5,000 changes: decide, go on, render in colour with
/// words and syntax.
fn model() {
    let text = |edited: bool| -> String {
        (0..50_000)
            .map(|n| match edited && n % 10 == 5 {
                true => format!("    let value_{n} = other(\"text\", {n}); // changed\n"),
                false => format!("    let value_{n} = call(\"text\", {n}); // line\n"),
            })
            .collect()
    };
    let change = FileChange {
        path: RepoPath::new("big.rs").expect("a path"),
        before: Some(File::regular(text(false))),
        after: Some(File::regular(text(true))),
        origin: None,
        snippets: Vec::new(),
    };
    let started = Instant::now();
    let review = Review::new(&[change], 3);
    println!("take apart: {:.2} ms", ms(started.elapsed()));
    let (mut session, options) = (opened(review), options());
    let mut painter = None;
    let mut times = Vec::new();
    let mut bytes = 0;
    loop {
        let started = Instant::now();
        let Some(review) = session.review() else { break };
        let at = session.unit_index();
        let file = review.file_of(at);
        let painter = painter.get_or_insert_with(|| Painter::new(&file.path, &file.diff, &options));
        if let UnitKind::Hunk(hunk) = &review.units()[at].part {
            let rows = painter.rows(&file.diff, hunk, &options, Some(100));
            bytes += rows.lines.iter().map(String::len).sum::<usize>();
        }
        let _ = session.keys(Default::default());
        session.act(Action::Take).expect("a unit");
        times.push(started.elapsed());
    }
    let started = Instant::now();
    let changes = session.slots()[0].review.as_ref().expect("a review").changes();
    println!("result: {:.2} ms, {} bytes", ms(started.elapsed()), changes.len());
    frames("next hunk", times, bytes);
}

/// `J` through 1,000 files of 1,000 lines: go on, render the first hunk in colour with words and syntax.
fn files() {
    let text = |file: usize, edited: bool| -> String {
        (0..1000)
            .map(|n| match edited && n % 100 == 50 {
                true => format!("    let value_{n} = other(\"text\", {file}); // changed\n"),
                false => format!("    let value_{n} = call(\"text\", {file}); // line\n"),
            })
            .collect()
    };
    let change = |file: usize| FileChange {
        path: RepoPath::new(format!("src/file{file:04}.rs")).expect("a path"),
        before: Some(File::regular(text(file, false))),
        after: Some(File::regular(text(file, true))),
        origin: None,
        snippets: Vec::new(),
    };
    let changes: Vec<FileChange> = (0..1000).map(change).collect();
    let started = Instant::now();
    let review = Review::new(&changes, 3);
    println!("take 1,000 files apart: {:.2} ms", ms(started.elapsed()));
    let (mut session, options) = (opened(review), options());
    let mut times = Vec::new();
    let mut bytes = 0;
    loop {
        let started = Instant::now();
        if session.act(Action::NextFile).is_err() {
            break;
        }
        let (review, at) = (session.review().expect("a review"), session.unit_index());
        let file = review.file_of(at);
        let mut painter = Painter::new(&file.path, &file.diff, &options);
        if let UnitKind::Hunk(hunk) = &review.units()[at].part {
            let rows = painter.rows(&file.diff, hunk, &options, Some(100));
            bytes += rows.lines.iter().map(String::len).sum::<usize>();
        }
        let _ = session.keys(Default::default());
        times.push(started.elapsed());
    }
    frames("next file", times, bytes);
}

/// A session with `review` on the screen.
fn opened(review: Review) -> ReviewSession {
    let id = ProposalId::from_event(&"ab".repeat(20));
    let ticket = QueuedProposal {
        id,
        title: String::new(),
        proposed_by: String::new(),
        path: String::new(),
        files: 1,
        marks: Vec::new(),
        revision: String::new(),
        lines: 0,
        answers: None,
    };
    let mut session = ReviewSession::new(vec![ticket]);
    session.open(review, None);
    session
}

/// In colour, with words and syntax.
fn options() -> Options {
    Options { palette: Palette::new(|_| None), syntax: true, columns: 120, ..Options::default() }
}

/// Prints what steps took, against one frame.
fn frames(step: &str, mut times: Vec<Duration>, bytes: usize) {
    times.sort();
    let worst = times[times.len() - 1];
    println!(
        "{step}: median {:.3} ms, 99 % {:.3} ms, worst {:.3} ms of {:.0} ({} steps, {bytes} bytes){}",
        ms(times[times.len() / 2]),
        ms(times[times.len() * 99 / 100]),
        ms(worst),
        ms(FRAME),
        times.len(),
        if worst < FRAME { "" } else { "  MISSED" },
    );
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// `aye review` in a terminal until the list and the first hunk, and `aye list` to its end, in turn.
fn prompt() {
    let aye = program();
    let directory = pending(&aye, 250);
    let (overviews, first) = (0..15).map(|_| until_prompt(&aye, directory.path())).unzip();
    let list = ms(listing(&aye, directory.path()));
    ratio("list of 1,000 pending", ms(middle(overviews)), list, 2.0);
    ratio("first hunk, 1,000 pending", ms(middle(first)), list, 1.5);
}

/// The list of 300 pending: until it is shown, and until it is shown again after a key.
fn queue() {
    let aye = program();
    let directory = pending(&aye, 75);
    let shown = (0..15).map(|_| until_prompt(&aye, directory.path()).0).collect();
    ratio("list of 300 pending", ms(middle(shown)), ms(listing(&aye, directory.path())), 1.2);
    let mut review = ReviewTerminal::start(&aye, directory.path());
    review.waits();
    let keys = ["j", "s", "\x1b[6~", "k", "O", "\x1b[F", "J", "O", "o", "\x1b[5~"];
    let mut times = Vec::new();
    for key in keys.iter().cycle().take(300) {
        let started = Instant::now();
        review.types(key);
        review.waits();
        times.push(started.elapsed());
    }
    frames("key in the list", times, 0);
}

/// Prints `time` against `list`, both in ms.
fn ratio(what: &str, time: f64, list: f64, most: f64) {
    let ratio = time / list;
    println!(
        "{what}: {time:.2} ms; aye list: {list:.2} ms; ratio {ratio:.2} of {most:.1}{}",
        if ratio <= most { "" } else { "  MISSED" }
    );
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn program() -> String {
    std::env::var("AYE_BIN").unwrap_or(env!("CARGO_BIN_EXE_aye").to_owned())
}

fn listing(aye: &str, directory: &std::path::Path) -> Duration {
    let one = || {
        let started = Instant::now();
        let output = Command::new(aye).arg("list").current_dir(directory).output();
        assert!(output.expect("aye list").status.success());
        started.elapsed()
    };
    middle((0..15).map(|_| one()).collect())
}

/// A repository with four times `count` proposals: a new file, two for one line of a hot file, and one that
/// stands on the first of these.
fn pending(aye: &str, count: usize) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let git = |args: &[&str]| {
        let status = Command::new("git").args(args).current_dir(directory.path()).status();
        assert!(status.expect("git").success());
    };
    git(&["init", "-q"]);
    for (key, value) in [("user.name", "Bench"), ("user.email", "bench@example.com")] {
        git(&["config", key, value]);
    }
    let hot: String = (0..count).map(|n| format!("fn hot_{n}() {{}}\n\n\n\n")).collect();
    std::fs::write(directory.path().join("hot.rs"), hot).expect("a file");
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "Start"]);
    let propose = |arguments: &[&str]| -> String {
        let output = Command::new(aye)
            .args(["propose", "-q", "-m", "New"])
            .args(arguments)
            .env("AYE_AGENT", "bench")
            .current_dir(directory.path())
            .output()
            .expect("aye");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        printed.split_whitespace().next().unwrap_or_default().to_owned()
    };
    for n in 0..count {
        let (old, one) = (format!("fn hot_{n}() {{}}"), format!("fn hot_{n}() {{ one() }}"));
        let two = format!("fn hot_{n}() {{ two() }}");
        let more = format!("fn hot_{n}() {{ one() + one() }}");
        propose(&[&format!("src/file{n}.rs"), "--old", "", "--new", &one]);
        let lower = propose(&["hot.rs", "--old", &old, "--new", &one]);
        propose(&["hot.rs", "--old", &old, "--new", &two]);
        propose(&["hot.rs", "--on", &lower, "--old", &one, "--new", &more]);
    }
    directory
}

/// Until the list asks, and until the first hunk does without the time in between.
fn until_prompt(aye: &str, directory: &std::path::Path) -> (Duration, Duration) {
    let started = Instant::now();
    let mut review = ReviewTerminal::start(aye, directory);
    review.waits();
    let list = started.elapsed();
    review.types("\r");
    review.waits();
    let first = started.elapsed();
    review.types("q");
    let _ = review.child.wait();
    (list, first)
}

/// `aye review` in a pseudo-terminal.
struct ReviewTerminal {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    reader: Box<dyn std::io::Read + Send>,
    writer: Box<dyn std::io::Write + Send>,
}

impl ReviewTerminal {
    fn start(aye: &str, directory: &std::path::Path) -> Self {
        use portable_pty::{CommandBuilder, PtySize, native_pty_system};
        let size = PtySize { rows: 30, cols: 100, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(aye);
        command.arg("review");
        command.cwd(directory);
        for name in ["AYE_AGENT", "CI", "CLAUDECODE", "AI_AGENT", "CODEX_SANDBOX", "GEMINI_CLI"] {
            command.env_remove(name);
        }
        command.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(command).expect("aye review");
        let reader = pair.master.try_clone_reader().expect("read");
        Self { child, reader, writer: pair.master.take_writer().expect("write") }
    }

    fn types(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).expect("type");
    }

    /// Until it asks.
    fn waits(&mut self) {
        let mut seen = Vec::new();
        let mut buffer = [0; 16 * 1024];
        while !seen.windows(2).any(|pair| pair == b"]?") {
            let count = self.reader.read(&mut buffer).expect("read");
            assert!(count > 0, "{}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&buffer[..count]);
        }
    }
}

impl Drop for ReviewTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}
