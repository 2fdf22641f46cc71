//! Recognises coding agents by author, committer and trailers of a commit. Pure.
//!
//! An agent that commits under a person's name leaves no sign.

/// Part of an address or name, in lower case, and the agent whose client writes it.
const ADDRESSES: &[(&str, &str)] = &[
    ("noreply@anthropic.com", "claude"),
    ("claude[bot]@", "claude"),
    ("copilot@github.com", "copilot"),
    ("copilot-swe-agent[bot]@", "copilot"),
    ("+copilot@users.noreply.github.com", "copilot"),
    ("cursoragent@cursor.com", "cursor"),
    ("cursor[bot]@", "cursor"),
    ("codex@openai.com", "codex"),
    ("noreply@openai.com", "codex"),
    ("chatgpt-codex-connector[bot]@", "codex"),
    ("google-labs-jules[bot]@", "jules"),
    ("gemini-code-assist[bot]@", "gemini"),
    ("gemini-cli[bot]@", "gemini"),
    ("devin-ai-integration[bot]@", "devin"),
    ("noreply@aider.chat", "aider"),
    ("aider@aider.chat", "aider"),
    ("openhands@all-hands.dev", "openhands"),
    ("amp@ampcode.com", "amp"),
    ("agent@warp.dev", "warp"),
    ("opencode@sst.dev", "opencode"),
    ("noreply@opencode.ai", "opencode"),
    ("qwen-coder@alibabacloud.com", "qwen"),
    ("crush@charm.land", "crush"),
];

/// Whole names in commits and trailers, in lower case, without version or model.
const NAMES: &[&str] = &[
    "claude", "claude code", "claude-code", "copilot", "github copilot", "copilot-swe-agent",
    "codex", "openai codex", "cursor agent", "cursoragent", "gemini cli", "gemini-cli", "jules",
    "google-labs-jules", "devin", "devin ai", "aider", "openhands", "opencode", "amp", "kiro",
    "qwen-coder", "qwen code", "crush", "roo code", "cline", "goose", "windsurf", "cascade",
];

/// Trailers that name an author, in lower case.
const TRAILERS: [&str; 3] = ["co-authored-by", "generated-by", "made-with"];

/// Trailers that name the author of a proposal in the commit, or an assistant.
const HELPERS: [&str; 2] = ["assisted-by", "proposed-by"];

/// `None` for people and unknown names.
pub fn agent_of(name: &str, email: &str) -> Option<&'static str> {
    let email = email.trim().to_ascii_lowercase();
    if let Some((_, agent)) = ADDRESSES.iter().find(|(part, _)| email.contains(part)) {
        return Some(agent);
    }
    let name = name.trim().to_ascii_lowercase();
    // `Ada (aider)`, as aider writes it.
    if name.ends_with("(aider)") {
        return Some("aider");
    }
    let bare = name.split(['(', '[', ':', '/']).next().unwrap_or_default().trim();
    let is_it = |known: &&&str| {
        bare == **known
            // `Claude Opus 4.1`, `claude 4`; not a person of that name.
            || **known == "claude"
                && bare.starts_with("claude ")
                && bare.bytes().any(|byte| byte.is_ascii_digit())
    };
    NAMES.iter().find(is_it).copied()
}

/// Reads trailers, and lines such as `Generated with [Claude Code](…)`. True stands with an agent
/// that is named as an author, false with a helper.
pub fn agents_in(message: &str) -> impl Iterator<Item = (bool, &'static str)> {
    message.lines().skip(1).filter_map(|line| {
        let line = line.trim();
        if let Some((_, tail)) = line.split_once("Generated with [") {
            return Some((true, agent_of(tail.split(']').next()?, "")?));
        }
        let (key, value) = line.split_once(':')?;
        let key = key.trim().to_ascii_lowercase();
        let is_author = TRAILERS.contains(&key.as_str());
        if !is_author && !HELPERS.contains(&key.as_str()) {
            return None;
        }
        let (name, email) = value.split_once('<').unwrap_or((value, ""));
        Some((is_author, agent_of(name, email.trim_end_matches('>'))?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_recognised_and_people_are_not() {
        for (name, email, agent) in [
            ("Claude", "noreply@anthropic.com", "claude"),
            ("copilot-swe-agent[bot]", "198982749+Copilot@users.noreply.github.com", "copilot"),
            ("Cursor Agent", "cursoragent@cursor.com", "cursor"),
            ("Ada (aider)", "ada@example.com", "aider"),
            ("codex", "x@example.com", "codex"),
            ("Claude Opus 4.1 (1M context)", "", "claude"),
        ] {
            assert_eq!(agent_of(name, email), Some(agent), "{name}");
        }
        for (name, email) in [
            ("Ada Reviewer", "ada@example.com"),
            ("Claude Monet", "monet@example.com"),
            ("dependabot[bot]", "49699333+dependabot[bot]@users.noreply.github.com"),
            ("", ""),
        ] {
            assert_eq!(agent_of(name, email), None, "{name}");
        }
    }

    #[test]
    fn trailers_name_agents() {
        let first = |message: &str| agents_in(message).next();
        let message = "Fix it\n\nText: claude\n\nCo-Authored-By: Claude <noreply@anthropic.com>\n";
        assert_eq!(first(message), Some((true, "claude")));
        assert_eq!(first("a\n\nAssisted-by: Codex:gpt-5"), Some((false, "codex")));
        let generated = "a\n\n🤖 Generated with [Claude Code](https://x)";
        assert_eq!(first(generated), Some((true, "claude code")));
        assert_eq!(first("a\n\nCo-authored-by: Bob <bob@example.com>"), None);
        assert_eq!(first("Co-authored-by: claude"), None, "a subject is none");
    }
}
