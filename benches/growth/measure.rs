//! What a command costs: system calls, instructions, CPU time, peak memory.
//!
//! Each figure is taken in a run of its own, because each tool slows down what the others count.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The programs that count, as far as this machine has them.
pub struct Tools {
    strace: bool,
    /// `perf` counts CPU time, and instructions where the processor's counters can be used.
    clock: bool,
    counters: bool,
    /// Counts instructions exactly, some fifty times slower than they run.
    callgrind: bool,
}

/// What one command costs; `None` for what nothing here can count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// System calls.
    pub calls: Option<u64>,
    /// Millions of instructions in user mode.
    pub instructions: Option<f64>,
    /// Milliseconds of processor time.
    pub cpu: Option<f64>,
    /// Highest resident memory, MB, packs that are mapped into it included.
    pub peak: Option<f64>,
}

impl Tools {
    /// Finds out what there is. Callgrind is used only where it is asked for.
    pub fn find(callgrind: bool) -> Self {
        let works = |program: &str, args: &[&str]| {
            let output = Command::new(program).args(args).output();
            output.is_ok_and(|output| output.status.success())
        };
        let perf = |event: &str| {
            let output = Command::new("perf").args(["stat", "-x,", "-e", event, "true"]).output();
            output.is_ok_and(|output| {
                output.status.success() && !String::from_utf8_lossy(&output.stderr).contains("<not")
            })
        };
        Self {
            strace: works("strace", &["-c", "-o", "/dev/null", "true"]),
            clock: perf("task-clock"),
            counters: perf("instructions:u"),
            callgrind: callgrind && works("valgrind", &["--version"]),
        }
    }

    /// What is missing, in words.
    pub fn missing(&self) -> Vec<&'static str> {
        let missing = [
            (self.strace, "strace: no system calls"),
            (self.clock, "perf: no CPU time"),
            (self.counters || self.callgrind, "perf counters: no instructions (try --callgrind)"),
        ];
        missing.into_iter().filter(|(there, _)| !there).map(|(_, words)| words).collect()
    }

    /// Runs `aye ARGS` in `root` once for each figure; `prepare` before each run.
    pub fn cost(&self, aye: &str, root: &Path, args: &[&str], prepare: impl Fn()) -> Cost {
        let directory = tempfile::tempdir().expect("a directory");
        let report = directory.path().join("report");
        let out = report.to_str().expect("a path");
        let run = |words: &[&str]| {
            prepare();
            let mut command = surroundings(words[0], root);
            let status = command.args(&words[1..]).arg(aye).args(args).status().expect("start");
            // 1: a check has found something.
            assert!(status.code().is_some_and(|code| code <= 1), "{words:?} {args:?}: {status}");
            std::fs::read_to_string(&report).unwrap_or_default()
        };
        let perf = |event: &str| {
            let text = run(&["perf", "stat", "-x,", "-e", event, "-o", out]);
            let line = text.lines().find(|line| line.contains(event))?.to_owned();
            line.split(',').next()?.parse::<f64>().ok()
        };
        let mut cost = Cost { peak: self.peak(aye, root, args, &prepare), ..Cost::default() };
        if self.strace {
            let text = run(&["strace", "-f", "-c", "-o", out]);
            let total = text.lines().find(|line| line.ends_with(" total"));
            cost.calls = total.and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
        }
        if self.clock {
            cost.cpu = perf("task-clock");
        }
        if self.counters {
            cost.instructions = perf("instructions:u").map(|count| count / 1e6);
        } else if self.callgrind {
            let file = format!("--callgrind-out-file={out}");
            let text = run(&["valgrind", "-q", "--tool=callgrind", &file]);
            let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
            cost.instructions = total.and_then(|n| Some(n.trim().parse::<f64>().ok()? / 1e6));
        }
        cost
    }

    /// Looks at the process while it runs: what only the kernel counts, without a tool.
    fn peak(&self, aye: &str, root: &Path, args: &[&str], prepare: &impl Fn()) -> Option<f64> {
        prepare();
        let mut child = surroundings(aye, root).args(args).spawn().expect("start");
        let status = format!("/proc/{}/status", child.id());
        let mut peak: u64 = 0;
        while child.try_wait().expect("wait").is_none() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let value = |name: &str| -> Option<u64> {
                let line = text.lines().find_map(|line| line.strip_prefix(name))?;
                line.trim().strip_suffix(" kB")?.trim().parse().ok()
            };
            peak = peak.max(value("VmHWM:").unwrap_or(0));
            std::thread::sleep(Duration::from_millis(1));
        }
        (peak > 0).then_some(peak as f64 / 1024.0)
    }
}

/// `program` with nothing of the developer's shell, so that no agent is recognised.
fn surroundings(program: &str, root: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", root).env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.current_dir(root).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
