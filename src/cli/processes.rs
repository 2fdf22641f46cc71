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
        // Both are empty for the processes of others.
        let read = |file: &str| std::fs::read(format!("/proc/{id}/{file}")).unwrap_or_default();
        (process.environment, process.arguments) = (read("environ"), read("cmdline"));
        Some(process)
    })
}

#[cfg(not(target_os = "linux"))]
pub fn agent_above() -> Option<AgentProcess> {
    None
}

/// Parent, session and name: see proc_pid_stat(5). The name is in parentheses, and may contain some.
#[cfg(target_os = "linux")]
fn stat(id: &str) -> Option<Process> {
    let text = std::fs::read(format!("/proc/{id}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (head, tail) = text.rsplit_once(") ")?;
    let name = head.split_once('(')?.1.to_owned();
    // State, parent, process group, session.
    let mut fields = tail.split(' ').skip(1).map(|field| field.parse().ok());
    let (parent, session) = (fields.next()??, fields.nth(1)??);
    Some(Process { parent, session, name, ..Process::default() })
}
