//! The coding agent behind a client, by the name that the client gives. Pure.

/// Prefixes of observed client names, and their agents.
const KNOWN: &[(&str, &str)] = &[
    ("claude-code", "claude-code"),
    ("codex", "codex"),
    ("gemini-cli", "gemini-cli"),
    ("qwen-c", "qwen-code"),
    ("copilot", "copilot-cli"),
    ("opencode", "opencode"),
    ("crush", "crush"),
    ("goose", "goose"),
    ("cursor", "cursor"),
    ("cline", "cline"),
];

/// Longest name of an unknown agent.
const MOST: usize = 64;

/// The known agent whose prefix `name` has. Otherwise `name` as a word of at most 64 letters,
/// digits, `-`, `_` and `.`; `None` if the word is empty.
pub fn agent(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    if let Some((_, agent)) = KNOWN.iter().find(|(begins, _)| lower.starts_with(begins)) {
        return Some((*agent).to_owned());
    }
    let mut word = String::new();
    for c in lower.chars().take(4 * MOST) {
        match c {
            'a'..='z' | '0'..='9' | '_' | '.' => word.push(c),
            _ if !word.is_empty() && !word.ends_with('-') => word.push('-'),
            _ => {}
        }
    }
    word.truncate(MOST);
    let word = word.trim_end_matches('-');
    (!word.is_empty()).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_known_by_what_their_clients_call_themselves() {
        for (client, expected) in [
            ("claude-code", "claude-code"),
            ("codex-mcp-client", "codex"),
            ("gemini-cli-mcp-client", "gemini-cli"),
            ("qwen-cli-mcp-client-aye", "qwen-code"),
            ("GitHub Copilot", "github-copilot"),
            ("My Agent (beta) ", "my-agent-beta"),
        ] {
            assert_eq!(agent(client).as_deref(), Some(expected), "{client}");
        }
        for nothing in ["", " ", "\u{202e}\u{1b}["] {
            assert_eq!(agent(nothing), None);
        }
        assert_eq!(agent(&"x".repeat(1000)).unwrap().len(), MOST);
    }
}
