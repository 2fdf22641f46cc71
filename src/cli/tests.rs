//! Tests of parsing.

use super::*;

const LINES: &[&str] = &[
    "aye list",
    "aye ls --json --limit 3",
    "aye list -C /tmp --status all",
    "aye apply --yes --latest -q",
    "aye apply m4k8@3f9c 7qx2 --commit -m text --color never",
    "aye propose src/a.txt --old a --new b --json -q",
    "aye check --staged --format sarif",
    "aye memory search word --yaml",
    "aye plan show --no-pager",
    "aye hooks install",
    "aye review",
    "aye patch -",
    "aye call changes {}",
    "aye log -C sub --limit 2",
    "aye doctor --repair",
    "aye doctor --gc -n",
    "aye init --remove -n",
    "aye try --import a.json b.json",
    "aye revise m4k8 --rebase",
    "aye propose --keep src --since 2h",
    "aye reject m4k8 -m no",
];

/// clap would wrap a longer line again.
#[test]
fn notes_below_the_flags_fit_the_width_of_help() {
    let mut commands = vec![<Cli as clap::CommandFactory>::command()];
    while let Some(command) = commands.pop() {
        let notes = [command.get_after_help(), command.get_after_long_help()];
        for line in notes
            .into_iter()
            .flatten()
            .flat_map(|note| note.to_string().lines().map(str::to_owned).collect::<Vec<_>>())
        {
            assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
        }
        commands.extend(command.get_subcommands().cloned());
    }
}

#[test]
fn a_command_alone_is_parsed_as_among_all() {
    for line in LINES {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let alone = parse_one_command(&args).unwrap_or_else(|| panic!("{line}"));
        let among_all = Cli::try_parse_from(&args).unwrap();
        assert_eq!(format!("{alone:?}"), format!("{among_all:?}"), "{line}");
    }
}

#[test]
fn what_is_wrong_or_asks_for_help_is_left_to_all() {
    for line in ["aye", "aye lst", "aye -C x list", "aye list --wrong", "aye list --help"] {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        assert!(parse_one_command(&args).is_none(), "{line}");
    }
    for line in ["aye --version", "aye list --version", "aye help list", "aye help"] {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        assert!(parse_one_command(&args).is_none(), "{line}");
    }
}
#[test]
fn the_version_is_told_without_any_command() {
    for line in ["aye --version", "aye -V"] {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let alone = version(&args).expect(line);
        let among_all = Cli::try_parse_from(&args).expect_err(line);
        assert_eq!((alone.kind(), alone.to_string()), (among_all.kind(), among_all.to_string()));
    }
    for line in ["aye", "aye --version list", "aye list --version", "aye --help"] {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        assert!(version(&args).is_none(), "{line}");
    }
}
