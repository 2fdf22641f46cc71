//! The processes above this one, from `/proc`. On other systems than Linux they are not looked at.

use crate::actor::ancestors::AgentProcess;
#[cfg(target_os = "linux")]
use crate::actor::ancestors::{self, Process};

/// Set in test builds to the process of the tests, which may itself be below an agent.
#[cfg(all(feature = "failpoints", debug_assertions))]
const AYE_TESTS: &str = "AYE_TESTS";

#[cfg(target_os = "linux")]
pub fn agent_above() -> Option<AgentProcess> {
    #[cfg(all(feature = "failpoints", debug_assertions))]
    let end = std::env::var(AYE_TESTS).ok().and_then(|id| id.parse().ok());
    #[cfg(not(all(feature = "failpoints", debug_assertions)))]
    let end = None;
    ancestors::agent_above(&stat("self")?, end, |id| {
        let mut process = stat(&id.to_string())?;
        // The environment is empty for the processes of others.
        process.environment = read(&format!("{id}/environ"), 128 << 10).unwrap_or_default();
        process.arguments = read(&format!("{id}/cmdline"), 4 << 10).unwrap_or_default();
        Some(process)
    })
}

/// The begin of a file of the kernel, which gives `most` bytes at once: three system calls.
#[cfg(target_os = "linux")]
fn read(file: &str, most: usize) -> Option<Vec<u8>> {
    use std::io::Read as _;

    let mut bytes = vec![0; most];
    let count = std::fs::File::open(format!("/proc/{file}")).ok()?.read(&mut bytes).ok()?;
    bytes.truncate(count);
    Some(bytes)
}

#[cfg(not(target_os = "linux"))]
pub fn agent_above() -> Option<AgentProcess> {
    None
}

/// Parent, session and name: see proc_pid_stat(5). The name is in parentheses, and may contain some.
#[cfg(target_os = "linux")]
fn stat(id: &str) -> Option<Process> {
    let text = read(&format!("{id}/stat"), 1 << 10)?;
    let text = String::from_utf8_lossy(&text);
    let (head, tail) = text.rsplit_once(") ")?;
    let name = head.split_once('(')?.1.to_owned();
    // State, parent, process group, session.
    let mut fields = tail.split(' ').skip(1).map(|field| field.parse().ok());
    let (parent, session) = (fields.next()??, fields.nth(1)??);
    Some(Process { parent, session, name, ..Process::default() })
}
