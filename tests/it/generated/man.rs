//! Man pages from the command definitions, with the tables that belong in them.

use clap::CommandFactory as _;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use aye::cli::util::codes;
use aye::cli::{Cli, help_pages};
use aye::error::Exit;

/// Every page as (file name, roff), sorted by name.
pub fn pages() -> Vec<(String, Vec<u8>)> {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    collect(&root, &mut pages);
    // `git aye --help` asks man for this one.
    pages.push(("git-aye.1".into(), b".so man1/aye.1\n".to_vec()));
    pages.sort_unstable();
    pages
}

fn collect(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        collect(sub, pages);
    }
    let is_root = command.get_name() == "aye";
    let command = &if is_root { command.clone() } else { help_pages::without_common(command) };
    let man = Man::new(command.clone()).source(source()).manual("aye manual");
    let page = render(&man, command, is_root).expect("a page");
    pages.push((man.get_filename(), page));
}

fn source() -> String {
    format!("aye {}", env!("CARGO_PKG_VERSION"))
}

fn render(man: &Man, command: &clap::Command, is_root: bool) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    synopsis(command).to_writer(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|sub| !sub.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(text) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        verbatim(&text.to_string()).to_writer(&mut page)?;
    }
    if is_root {
        tables().to_writer(&mut page)?;
    }
    Ok(page)
}

/// How the command is called, as its help says: clap_mangen lists every option again, without its value.
fn synopsis(command: &clap::Command) -> Roff {
    let usage = command.clone().render_usage().to_string();
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    for (at, line) in usage.trim_start_matches("Usage:").trim().lines().enumerate() {
        if at > 0 {
            roff.control("br", []);
        }
        let (words, line) = (command.get_bin_name().unwrap_or_default(), line.trim());
        let rest = line.strip_prefix(words).unwrap_or(line);
        roff.text([bold(&line[..line.len() - rest.len()]), roman(rest)]);
    }
    roff
}

/// The text below a command's help: examples, whose line breaks matter. A first line that ends in
/// a colon is the heading.
fn verbatim(text: &str) -> Roff {
    let text = text.trim_end();
    let (heading, body) = match text.split_once('\n') {
        Some((first, rest)) if first.ends_with(':') => (first.trim_end_matches(':'), rest),
        _ => ("Notes", text),
    };
    let mut roff = Roff::new();
    roff.control("SH", [heading.to_uppercase().as_str()]);
    roff.control("nf", []);
    for line in body.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}

/// What only the main page says: statuses, codes, environment, files, configuration.
fn tables() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for exit in Exit::ALL {
        entry(&mut roff, &(exit as u8).to_string(), exit.meaning());
    }
    roff.control("SH", ["ERROR CODES"]);
    roff.text([roman(
        "Each error has a stable code, printed in brackets in text and as error.code in JSON and \
         YAML. The number is the exit status.",
    )]);
    for code in codes::all_codes() {
        entry(&mut roff, code.id, &format!("({}) {}", code.exit as u8, code.meaning));
    }
    for (heading, rows) in
        [("ENVIRONMENT", ENVIRONMENT), ("GIT CONFIGURATION", CONFIGURATION), ("FILES", FILES)]
    {
        roff.control("SH", [heading]);
        for (name, meaning) in rows {
            entry(&mut roff, name, meaning);
        }
    }
    roff.control("SH", ["SEE ALSO"]);
    roff.text([bold("git"), roman("(1)")]);
    roff
}

fn entry(roff: &mut Roff, name: &str, meaning: &str) {
    roff.control("TP", []);
    roff.text([bold(name)]);
    roff.text([roman(meaning)]);
}

const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "AYE_AGENT",
        "Name of the coding agent that runs the command; makes the actor an agent, which may propose and not decide.",
    ),
    (
        "GIT_COMMITTER_NAME, GIT_COMMITTER_EMAIL",
        "Who a person or the continuous integration is, before committer.* and user.* in git's configuration. GIT_AUTHOR_* does not count.",
    ),
    (
        "CI",
        "When set, and no agent is, the actor is the continuous integration, which records nothing unless aye.clone names its clone.",
    ),
    ("GIT_DIR, GIT_WORK_TREE, GIT_PREFIX", "Which repository, as for git."),
    ("GIT_PAGER, PAGER", "The pager of long output at a terminal, as for git."),
    ("GIT_EDITOR, VISUAL, EDITOR", "The editor of long text, as for git."),
    ("NO_COLOR, CLICOLOR_FORCE, TERM", "Whether text is coloured; --color goes before them."),
    ("AYE_COMPLETE", "Set by the completion scripts when they ask for candidates."),
];

const CONFIGURATION: &[(&str, &str)] = &[
    (
        "aye.assistedBy",
        "true adds Assisted-by: AGENT:MODEL, as the Linux kernel has it, to commits of what agents proposed.",
    ),
    (
        "aye.expiresIn",
        "How long a proposal stays pending, for example 7d (the default), 12h or 2w.",
    ),
    (
        "aye.clone",
        "The name of this clone, 16 hexadecimal digits, made with its first event. Continuous integration takes it from anywhere but the repository's own configuration; without it, it records nothing.",
    ),
    ("aye.formerClone", "Names that this clone had before (several values)."),
    ("aye.maxFileSize", "The largest file a proposal may change; 10m (10 MiB) by default."),
    (
        "aye.private",
        "Globs (several values) of files whose proposals and patches are kept in this clone, such as *.key or secrets/.",
    ),
    (
        "aye.session.link",
        "Ignored directories (several values) that the trees of sessions get copies of, such as node_modules; none by default.",
    ),
    (
        "aye.syncRemote",
        "The remotes with which threads are shared (several values); origin, or else the only one, where this is not set.",
    ),
    ("core.fsync", "none turns off the flushing of objects and refs, as it does for git."),
    ("core.pager, pager.aye, core.editor, color.ui, color.diff", "As for git."),
];

const FILES: &[(&str, &str)] = &[
    ("refs/aye/p/<id>", "The source of truth: the thread of a proposal, a commit for each event."),
    ("refs/aye/p/closed/<chunk>", "The threads of proposals that were decided long ago."),
    ("refs/aye/private/<id>", "The same for what is private, which is pushed nowhere."),
    ("refs/aye/remotes/<remote>/<clone>/<id>", "The same as fetched from other clones."),
    ("refs/aye/pending/<id>", "Each pending proposal as a commit, for git's own commands."),
    (".agent-memory/proposals/<id>/", "A readable copy of each pending proposal; never trusted."),
    ("<git-dir>/aye/open, decided", "A disposable memo for lists; may be deleted at any time."),
    ("<git-dir>/aye/journal/", "The journal of an apply, there only while one is under way."),
];

#[test]
fn the_main_page_has_every_exit_status_and_every_code() {
    let pages = pages();
    let (_, page) = pages.iter().find(|(name, _)| name == "aye.1").unwrap();
    // What roff escapes in these words.
    let page = String::from_utf8(page.clone()).unwrap();
    let page = page.replace("\\-", "-").replace("\\*(Aq", "'").replace("\\&", "");
    for exit in Exit::ALL {
        let wanted = format!("\\fB{}\\fR\n{}", exit as u8, exit.meaning());
        assert!(page.contains(&wanted), "{wanted}");
    }
    for code in codes::all_codes() {
        let exit = code.exit as u8;
        let wanted = format!("\\fB{}\\fR\n({exit}) {}", code.id, code.meaning);
        assert!(page.contains(&wanted), "{wanted}");
    }
}
