//! The commands by what they are for, as `aye --help` lists them.

/// Titles, and the commands below each.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Deciding",
        &[
            "review", "status", "list", "show", "diff", "apply", "approve", "reject", "undo",
            "try", "log", "blame",
        ],
    ),
    ("Proposing", &["propose", "revise", "rebase", "comment", "wait", "publish", "patch"]),
    ("Memory and plan", &["memory", "plan"]),
    ("Guards", &["check", "hooks", "scan", "import"]),
    ("Agents", &["run", "session", "agents", "adopt", "mcp", "call", "shell"]),
    ("Care", &["init", "demo", "doctor", "gc", "purge", "deinit", "util", "help"]),
];

/// `command`, the program, with its commands in groups.
pub fn grouped(command: clap::Command) -> clap::Command {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let names = GROUPS.iter().flat_map(|(_, names)| *names);
    let width = names.map(|name| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (title, names) in GROUPS {
        text += &format!("{header}{title}:{header:#}\n");
        for name in *names {
            let found = command.find_subcommand(name);
            let about = match found.and_then(clap::Command::get_about) {
                Some(about) => about.to_string(),
                None => "Print this message or the help of a command".to_owned(),
            };
            let aliases: Vec<&str> =
                found.map(|found| found.get_visible_aliases().collect()).unwrap_or_default();
            let also = match aliases.as_slice() {
                [] => String::new(),
                aliases => format!(" [alias: {}]", aliases.join(", ")),
            };
            text += &format!("  {literal}{name:<width$}{literal:#}  {about}{also}\n");
        }
        text.push('\n');
    }
    text += &format!("{header}Topics{header:#} (aye help TOPIC):\n");
    for (name, about) in super::help::topics() {
        text += &format!("  {literal}{name:<15}{literal:#}  {about}\n");
    }
    text.push('\n');
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}{{all-args}}{{after-help}}"
    );
    command
        .mut_subcommands(|subcommand| subcommand.hide(true))
        .override_usage("aye [OPTIONS] <COMMAND>")
        .help_template(template)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = crate::cli::Cli::command();
        let all: BTreeSet<&str> = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(clap::Command::get_name)
            .collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let set: BTreeSet<&str> = grouped.iter().copied().filter(|name| *name != "help").collect();
        assert_eq!(set, all);
        assert_eq!(set.len() + 1, grouped.len(), "a command stands twice");
    }
}
