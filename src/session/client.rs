//! The process of a client. Sessions of hooks hold no lock, so it shows if their agent is gone.

use rustix::process::{Pid, getppid, test_kill_process};
use serde::{Deserialize, Serialize};

/// A forged one can only make aye submit a tree earlier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientProcess {
    pub pid: i32,
    /// In clock ticks since boot: numbers are used again. Linux only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
}

/// Between a client and its hook.
const SHELLS: [&str; 5] = ["sh", "dash", "bash", "zsh", "ash"];

impl ClientProcess {
    /// The process that asked for this one, past shells.
    pub fn parent() -> Option<Self> {
        let mut pid = getppid()?.as_raw_nonzero().get();
        for _ in 0..SHELLS.len() {
            let Some(facts) = Facts::of(pid) else { return Some(Self { pid, started: None }) };
            if !SHELLS.contains(&facts.name.as_str()) {
                return Some(Self { pid, started: Some(facts.started) });
            }
            pid = facts.parent;
        }
        None
    }

    pub fn current() -> Option<Self> {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Some(Self { pid, started: Facts::of(pid).map(|facts| facts.started) })
    }

    pub fn is_gone(&self) -> bool {
        match (self.started, Facts::of(self.pid)) {
            (Some(started), Some(facts)) => facts.is_dead || facts.started != started,
            _ => Pid::from_raw(self.pid).is_none_or(|pid| {
                test_kill_process(pid).is_err_and(|error| error == rustix::io::Errno::SRCH)
            }),
        }
    }
}

struct Facts {
    name: String,
    parent: i32,
    started: u64,
    /// It has ended, and its parent has not asked for its status.
    is_dead: bool,
}

impl Facts {
    /// `None` where there is no `/proc`.
    fn of(pid: i32) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // `12 (a name) S 11 …`: a name may hold anything.
        let (start, rest) = text.rsplit_once(')')?;
        let name = start.split_once('(')?.1.to_owned();
        let mut fields = rest.split_whitespace();
        let is_dead = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        Some(Self { name, parent, started: fields.nth(17)?.parse().ok()?, is_dead })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_gone_once_another_has_its_number() {
        let parent = ClientProcess::parent().unwrap();
        assert!(!parent.is_gone());
        if let Some(started) = parent.started {
            assert!(ClientProcess { started: Some(started + 1), ..parent }.is_gone());
        }
        assert!(ClientProcess { pid: i32::MAX, started: None }.is_gone());
    }

    #[test]
    fn a_process_that_nobody_has_waited_for_is_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        // Without /proc it is not seen, and counts as alive until somebody has waited for it.
        if let Some(facts) = Facts::of(pid) {
            let client = ClientProcess { pid, started: Some(facts.started) };
            while !client.is_gone() {
                std::thread::yield_now();
            }
        }
        child.wait().unwrap();
    }
}
