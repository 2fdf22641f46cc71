//! Shell start-up files that mark everything a person types as an agent's.

use super::{AYE_AGENT, MARKERS};

/// Relative to the home directory.
pub const FILES: &[&str] =
    &[".profile", ".bash_profile", ".bashrc", ".zshenv", ".zshrc", ".config/fish/config.fish"];

/// Markers set for the whole shell: line (from 1) and variable. An assignment before a command
/// affects that command alone.
pub fn set_in(text: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let commands = line.split([';', '&', '|']);
        found.extend(commands.filter_map(assigned).map(|variable| (number + 1, variable)));
    }
    found
}

/// For one simple command.
fn assigned(command: &str) -> Option<&'static str> {
    let command = command.trim();
    if command.starts_with('#') {
        return None;
    }
    let mut words = command.split_whitespace().peekable();
    let first = *words.peek()?;
    let declares = matches!(first, "export" | "declare" | "typeset" | "set" | "setenv");
    if declares {
        words.next();
        while words.next_if(|word| word.starts_with('-')).is_some() {}
    }
    let target = words.next()?;
    let (name, value) = match target.split_once('=') {
        Some((name, value)) => (name, value),
        // fish: `set -gx NAME value`; also `export NAME` after an assignment.
        None if declares => (target, words.next().unwrap_or_default()),
        None => return None,
    };
    // `NAME=value program`: for that program alone.
    if !declares && words.next().is_some_and(|word| !word.starts_with('#')) {
        return None;
    }
    let value = value.trim_matches(['"', '\'']);
    if name == AYE_AGENT {
        return (!value.is_empty() || first == "export" && !target.contains('='))
            .then_some(AYE_AGENT);
    }
    let fits = |wanted: Option<&str>| wanted.is_none_or(|wanted| wanted == value);
    let marker = MARKERS.iter().find(|marker| marker.variable == name && fits(marker.value))?;
    Some(marker.variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_for_the_whole_shell_are_found() {
        for line in [
            "export AYE_AGENT=codex",
            "  export AYE_AGENT='codex' # always",
            "AYE_AGENT=codex; export AYE_AGENT",
            "declare -gx AYE_AGENT=codex",
            "set -gx AYE_AGENT codex",
            "setenv AYE_AGENT codex",
            "[ -t 0 ] && export AYE_AGENT=x",
        ] {
            assert_eq!(set_in(line).first(), Some(&(1, AYE_AGENT)), "{line}");
        }
        assert_eq!(set_in("\nexport CLAUDECODE=1\n"), [(2, "CLAUDECODE")]);
        assert_eq!(set_in("export AGENT=goose"), [(1, "AGENT")]);
    }

    #[test]
    fn what_concerns_one_command_or_nothing_is_not() {
        for line in [
            "# export AYE_AGENT=codex",
            "alias codex='AYE_AGENT=codex codex'",
            "codex() { AYE_AGENT=codex command codex \"$@\"; }",
            "AYE_AGENT=codex codex --version",
            "export AYE_AGENT=",
            "unset AYE_AGENT",
            "export AGENT=$SSH_AGENT",
            "echo AYE_AGENT=codex",
            "",
        ] {
            assert_eq!(set_in(line), [], "{line}");
        }
    }
}
