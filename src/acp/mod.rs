//! A proxy between an editor and a coding agent over the Agent Client Protocol, version 1.
//!
//! Each session of the agent works in a tree of its own. Paths are mapped between tree and checkout
//! in the fields that the protocol defines as paths, never in text. The gate is the tree: nothing
//! here judges writes, and an answer to a permission request passes as any message does.
//!
//! Source: <https://agentclientprotocol.com/protocol/v1/schema>.

mod message;
pub mod paths;
mod proxy;

pub use proxy::{Proxy, Session, SessionHost, Side};

pub mod codes {
    crate::codes! {
        ACP_COMMAND = "acp_command", Usage, "an agent that an editor drives is started by aye acp, not by aye run";
    }
}

/// True for an agent that talks to an editor: `gemini --acp`, `opencode acp`, `claude-agent-acp`,
/// also behind a package runner.
pub fn is_acp_command(words: &[&str]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let is_runner = RUNNERS.contains(&first.rsplit('/').next().unwrap_or_default());
    is_acp_program(first)
        || rest.first() == Some(&"acp")
        || rest.iter().any(|word| ["--acp", "--experimental-acp"].contains(word))
        || is_runner && rest.iter().any(|word| is_acp_program(word))
}

const RUNNERS: [&str; 5] = ["npx", "bunx", "pnpx", "uvx", "node"];

/// True for a program or package of a name such as `codex-acp`.
pub fn is_acp_program(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    name.split('@').next().is_some_and(|name| name.ends_with("-acp") && !name.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acp_commands_are_recognised() {
        for yes in [
            "gemini --acp",
            "gemini --experimental-acp --yolo",
            "opencode acp",
            "/opt/bin/codex-acp",
            "npx -y @agentclientprotocol/claude-agent-acp@1",
        ] {
            assert!(is_acp_command(&yes.split(' ').collect::<Vec<_>>()), "{yes}");
        }
        assert!(!is_acp_program("--acp"));
        for no in ["", "claude", "grep -r acp src", "npx tsc", "sh -c codex-acp", "cat x-acp"] {
            assert!(!is_acp_command(&no.split(' ').collect::<Vec<_>>()), "{no}");
        }
    }
}
