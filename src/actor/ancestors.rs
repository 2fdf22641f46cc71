//! Finds a coding agent among the ancestors of a process. Pure: `cli/` reads the processes.
//!
//! An agent can unset variables, and start a terminal of its own for a command; the command is still
//! below the agent. A process that `aye run` has adopted is below `aye run`.

use std::ffi::OsString;

use super::{agent, agent_of_program};

/// A process as the kernel shows it to its own user.
#[derive(Clone, Debug, Default)]
pub struct Process {
    pub parent: u32,
    /// Process id of the session's leader.
    pub session: u32,
    /// File name of the executable, of which Linux has 15 bytes, or the title that it gave itself.
    pub name: String,
    /// Each ends with a NUL byte. Empty if the process is another user's, as is `environment`.
    pub arguments: Vec<u8>,
    /// As at the start of the program.
    pub environment: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentProcess {
    pub agent: String,
    pub id: u32,
}

/// The nearest agent above `process`, or above the leader of its session: a command whose parent has
/// ended keeps the session, and with it the terminal. `end` confines both walks to processes below it.
pub fn agent_above(
    process: &Process,
    end: Option<u32>,
    read: impl Fn(u32) -> Option<Process>,
) -> Option<AgentProcess> {
    let mut visited = Vec::new();
    let found = walk(process.parent, end, &read, &mut visited);
    if found.is_some() || visited.contains(&process.session) {
        return found;
    }
    walk(process.session, end, &read, &mut Vec::new())
}

fn walk(
    mut id: u32,
    end: Option<u32>,
    read: &impl Fn(u32) -> Option<Process>,
    visited: &mut Vec<u32>,
) -> Option<AgentProcess> {
    let mut found = None;
    while id != 0 && Some(id) != end && !visited.contains(&id) {
        visited.push(id);
        let process = read(id)?;
        if found.is_none() {
            found = process.agent().map(|agent| AgentProcess { agent, id });
        }
        if found.is_some() && end.is_none() {
            return found;
        }
        id = process.parent;
    }
    found.filter(|_| Some(id) == end)
}

impl Process {
    fn agent(&self) -> Option<String> {
        agent(|name| self.variable(name)).map(|(agent, _)| agent).or_else(|| self.program())
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        let mut entries = self.environment.split(|byte| *byte == 0);
        let value = entries.find_map(|it| it.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(String::from_utf8_lossy(value).into_owned().into())
    }

    fn program(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.arguments);
        let mut arguments = text.split_terminator('\0');
        let started = file_stem(arguments.next().unwrap_or_default());
        let is_run = |word: &str| word == "run" || word == "acp";
        if self.name == "aye" && arguments.clone().take_while(|it| *it != "--").any(is_run) {
            let agent = arguments.find_map(|word| agent_of_program(file_stem(word)));
            return Some(agent.unwrap_or("agent").to_owned());
        }
        let is_interpreter =
            ["node", "bun", "deno", "python"].iter().any(|name| started.starts_with(name));
        let script = arguments.find(|word| is_interpreter && !word.starts_with('-'));
        let names = [self.name.as_str(), started, file_stem(script.unwrap_or_default())];
        names.into_iter().find_map(agent_of_program).map(str::to_owned)
    }
}

fn file_stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    [".js", ".mjs", ".cjs", ".py"].iter().find_map(|it| name.strip_suffix(it)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(parent: u32, session: u32, arguments: &[&str], environment: &[&str]) -> Process {
        let joined =
            |words: &[&str]| words.iter().flat_map(|word| [word, "\0"]).collect::<String>().into();
        let name = arguments[0].rsplit('/').next().unwrap_or_default().to_owned();
        let (arguments, environment) = (joined(arguments), joined(environment));
        Process { parent, session, name, arguments, environment }
    }

    /// The agent above process 9, whose ancestors are the shell 5 and 1.
    fn above(more: &[(u32, Process)], end: Option<u32>) -> Option<(String, u32)> {
        let read = |id: u32| match more.iter().find(|(known, _)| *known == id) {
            Some((_, process)) => Some(process.clone()),
            None if id == 5 => Some(process(1, 5, &["-bash"], &["TERM=x"])),
            None => (id == 1).then(|| process(0, 1, &["/sbin/init"], &[])),
        };
        let found = agent_above(&read(9).unwrap_or(process(5, 5, &["aye"], &[])), end, read);
        found.map(|AgentProcess { agent, id }| (agent, id))
    }

    #[test]
    fn a_process_below_an_agent_is_the_agents() {
        assert_eq!(above(&[], None), None);
        for (agent, arguments) in [
            ("claude-code", &["claude"][..]),
            ("codex", &["/opt/codex/bin/codex", "exec"]),
            ("gemini-cli", &["node", "--no-warnings", "/usr/bin/gemini", "-p"]),
            ("qwen-code", &["/usr/bin/node", "/x/qwen.js"]),
            ("aider", &["/usr/bin/python3", "/home/a/.local/bin/aider"]),
            ("claude-code", &["aye", "-C", "x", "run", "--", "claude"]),
            ("agent", &["aye", "acp", "mine"]),
        ] {
            let found = above(&[(5, process(1, 5, arguments, &[]))], None);
            assert_eq!(found, Some((agent.to_owned(), 5)), "{arguments:?}");
        }
    }

    #[test]
    fn other_programs_are_no_agents() {
        for arguments in [
            &["vim", "claude"][..],
            &["node", "server.js", "codex"],
            &["/usr/share/code/code", "claude"],
            &["aye", "review"],
            &["aye", "mcp"],
            &["git", "run"],
            &["cursor"],
        ] {
            assert_eq!(above(&[(5, process(1, 5, arguments, &[]))], None), None, "{arguments:?}");
        }
    }

    #[test]
    fn a_variable_at_the_start_of_an_ancestor_counts() {
        let shell = |set| (5, process(1, 5, &["bash"], &["A=1", set]));
        assert_eq!(above(&[shell("CODEX_CI=1")], None), Some(("codex".into(), 5)));
        assert_eq!(above(&[shell("AYE_AGENT=me")], None), Some(("me".into(), 5)));
        assert_eq!(above(&[shell("AYE_AGENT=")], None), None);
    }

    #[test]
    fn the_leader_of_the_session_counts_and_the_end_does_not() {
        // Process 9 has lost its parent; 7 is the agent's shell.
        let orphan = (9, process(1, 7, &["aye"], &[]));
        let shell = (7, process(6, 7, &["bash"], &[]));
        let agent = (6, process(5, 5, &["claude"], &[]));
        let all = [orphan, shell, agent];
        assert_eq!(above(&all, None), Some(("claude-code".into(), 6)));
        assert_eq!(above(&all, Some(6)), None);
        assert_eq!(above(&all, Some(5)), Some(("claude-code".into(), 6)));
        assert_eq!(above(&all, Some(4)), None);
        // A circle, as between processes that end while they are read.
        assert_eq!(above(&[(5, process(5, 5, &["bash"], &[]))], None), None);
    }
}
