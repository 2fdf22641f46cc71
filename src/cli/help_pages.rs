//! The pages of `--help`, with the commands in groups.

use std::ffi::OsString;

use clap::{ArgAction, Command, CommandFactory as _};

const GROUPS: &[(&str, &[&str])] = &[
    (
        "Review",
        &[
            "review", "list", "show", "diff", "apply", "approve", "reject", "undo", "comment",
            "try", "log", "blame", "sync",
        ],
    ),
    ("Propose", &["propose", "revise", "wait", "patch"]),
    ("Agents", &["run", "acp", "session", "agents", "mcp", "call", "shell", "plan"]),
    ("Memory", &["memory"]),
    ("Guard", &["check", "scan", "hooks"]),
    ("Care", &["init", "doctor", "purge", "demo", "help"]),
];

/// Returns the page as clap's `DisplayHelp` error.
pub fn page(args: &[OsString]) -> Option<clap::Error> {
    let mut found = super::Cli::command();
    found.build();
    for word in args.iter().skip(1) {
        if let Some(below) = found.find_subcommand(word).filter(|below| below.get_name() != "help")
        {
            found = below.clone();
        }
    }
    match found.get_name() {
        "aye" => grouped(super::Cli::command()).try_get_matches_from(["aye", "-h"]).err(),
        name => of_command(found.clone()).try_get_matches_from([name, "-h"]).err(),
    }
}

/// Omits the global arguments, which `aye --help` lists.
fn own_args(command: &Command) -> impl Iterator<Item = clap::Arg> {
    let is_common = |arg: &&clap::Arg| {
        let is_answered = matches!(
            arg.get_action(),
            ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
        );
        arg.is_global_set() || is_answered
    };
    command.get_arguments().filter(move |arg| !is_common(arg)).cloned()
}

/// Prints one line a flag: clap's own page is twice as long. Builds another command, since a built
/// one cannot be changed.
fn of_command(mut command: Command) -> Command {
    let about = command.get_long_about().or(command.get_about()).cloned().unwrap_or_default();
    let usage = command.render_usage();
    let below = command.get_subcommands().filter(|below| below.get_name() != "help");
    let below = below.map(|below| {
        let about = below.get_about().cloned().unwrap_or_default();
        Command::new(below.get_name().to_owned()).about(about)
    });
    Command::new(command.get_name().to_owned())
        .about(about)
        .after_help(command.get_after_help().cloned().unwrap_or_default())
        .override_usage(usage)
        .styles(command.get_styles().clone())
        .max_term_width(100)
        .disable_help_subcommand(true)
        .disable_help_flag(true)
        // `aye call` has its own help; required arguments may be missing.
        .args(
            own_args(&command).filter(|arg| arg.get_id() != "help").map(|arg| arg.required(false)),
        )
        .arg(clap::Arg::new("help").short('h').action(ArgAction::HelpShort).hide(true))
        .subcommands(below.collect::<Vec<_>>())
        .help_template("{about}{after-help}\n\n{usage}\n\n{all-args}")
}

/// Omits the arguments that the man page of `aye` lists.
pub fn without_common(command: &Command) -> Command {
    let subcommands: Vec<Command> = command.get_subcommands().cloned().collect();
    let mut page = Command::new(command.get_name().to_owned())
        .about(command.get_about().cloned().unwrap_or_default())
        .long_about(command.get_long_about().or(command.get_about()).cloned().unwrap_or_default())
        .after_help(command.get_after_help().cloned().unwrap_or_default())
        .bin_name(command.get_bin_name().unwrap_or_default().to_owned())
        .disable_help_flag(true)
        .args(own_args(command))
        .subcommands(subcommands);
    if let Some(name) = command.get_display_name() {
        page = page.display_name(name.to_owned());
    }
    page
}

fn grouped(command: Command) -> Command {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let names = GROUPS.iter().flat_map(|(_, names)| *names);
    let width = names.map(|name| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (title, names) in GROUPS {
        text += &format!("{header}{title}:{header:#}\n");
        for name in *names {
            let found = command.find_subcommand(name);
            let about = match found.and_then(Command::get_about) {
                Some(about) => about.to_string(),
                None => "Print this message, or the help of a command or topic".to_owned(),
            };
            let aliases: Vec<&str> =
                found.map(|found| found.get_visible_aliases().collect()).unwrap_or_default();
            let also = match aliases.as_slice() {
                [] => String::new(),
                aliases => format!(" [alias: {}]", aliases.join(", ")),
            };
            text += &format!("  {literal}{name:<width$}{literal:#}  {about}{also}\n");
        }
    }
    let topics: Vec<&str> = super::help::topics().collect();
    text += &format!("\n{header}Topics{header:#} (aye help TOPIC):\n  {}\n", topics.join(", "));
    let template =
        format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}\n{{all-args}}");
    command
        .mut_subcommands(|subcommand| subcommand.hide(true))
        .override_usage("aye [OPTIONS] [COMMAND]")
        .help_template(template)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = crate::cli::Cli::command();
        let all: BTreeSet<&str> = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let set: BTreeSet<&str> = grouped.iter().copied().filter(|name| *name != "help").collect();
        assert_eq!(set, all);
        assert_eq!(set.len() + 1, grouped.len(), "a command stands twice");
    }

    /// Lines of one screen.
    const LONGEST: usize = 60;

    #[test]
    fn every_page_fits_a_screen_and_says_once_what_holds_for_all() {
        let mut root = crate::cli::Cli::command();
        root.build();
        let mut paths: Vec<Vec<String>> = vec![Vec::new()];
        for command in root.get_subcommands().filter(|command| command.get_name() != "help") {
            let name = command.get_name().to_owned();
            paths.push(vec![name.clone()]);
            let below = command.get_subcommands().filter(|below| below.get_name() != "help");
            paths.extend(below.map(|below| vec![name.clone(), below.get_name().to_owned()]));
        }
        let mut long = String::new();
        for path in paths {
            let words = ["aye".to_owned()].into_iter().chain(path.clone()).chain(["--help".into()]);
            // `aye call` prints its own page.
            if path == ["call"] {
                continue;
            }
            let args: Vec<OsString> = words.map(OsString::from).collect();
            let text = page(&args).expect("a page").to_string();
            let lines = text.lines().count();
            if lines > LONGEST {
                long += &format!("{path:?} has {lines} lines:\n{text}");
            }
            assert_eq!(text.contains("--no-pager"), path.is_empty(), "{path:?}");
        }
        assert!(long.is_empty(), "{long}");
    }
}
