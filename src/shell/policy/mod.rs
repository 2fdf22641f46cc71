//! What may run: include-lists of programs, flags and operands, read from one data file.

pub mod awk;
pub mod find;
pub mod git;
mod kinds;
mod options;
pub mod sed;
mod small;
mod table;

pub use kinds::OperandKind;
pub use options::{Operand, Parsed, Used};
pub use table::{Flag, Program, Takes, names, program};

use super::{Refusal, Result};

/// What the policy makes of one argument list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The table of the policy file that decided.
    pub rule: &'static str,
    /// File names to look for on the search path, the first found is run. Empty: a builtin.
    pub programs: &'static [&'static str],
    /// Arguments to give before those that were written.
    pub inserted: &'static [&'static str],
    /// The arguments to give to git, all of them; any other program gets those that were written.
    pub args: Vec<String>,
    /// Operands and flag arguments that name something read, as written.
    pub paths: Vec<String>,
    /// The paths of `rev:path`: from the top of the repository, or from the directory if they begin
    /// with a dot.
    pub paths_in_trees: Vec<String>,
    /// It reads every file below its paths.
    pub recursive: bool,
    /// It follows symlinks there.
    pub follows: bool,
    /// Other programs it may start.
    pub helpers: &'static [&'static str],
    /// It runs in the root directory, so that no file of the repository configures it.
    pub rootless: bool,
    /// A git command: its directory relative to the current one (`-C`), so that the repository's
    /// configuration can be examined before it runs.
    pub git: Option<git::Use>,
}

/// Decides about one expanded argument list; `args[0]` is the program as written.
///
/// # Errors
/// The refusal, with the rule that decided.
pub fn decide(args: &[&str]) -> Result<Verdict> {
    let Some(name) = args.first() else {
        return Err(Refusal::new("the command has no program", "write one, for example `ls`"));
    };
    let Some(table) = program(name).filter(|_| !name.contains(' ')) else {
        return Err(unknown(name));
    };
    let rest = &args[1..];
    let verdict = if is_version_only(table) {
        version(table, rest)
    } else if asks_about_itself(table, rest) {
        Ok(about(table))
    } else {
        examine(table, rest)
    };
    verdict.map_err(|refusal| {
        let refusal = refusal.in_segment(args.join(" "));
        if refusal.rule() == "policy" { refusal.by(table.name) } else { refusal }
    })
}

fn examine(table: &'static Program, args: &[&str]) -> Result<Verdict> {
    match table.check {
        Some("git") => git::decide(table, args),
        Some("find") => find::decide(table, args),
        Some("echo" | "printf" | "test") => small::words(table, args),
        _ => {
            let parsed = options::parse(table, args)?;
            let mut verdict = standard(table, &parsed)?;
            small::check(table, &parsed, &mut verdict)?;
            Ok(verdict)
        }
    }
}

/// The verdict of a table alone: flags are on its list, operands of its kinds.
pub(super) fn standard(table: &'static Program, parsed: &Parsed<'_>) -> Result<Verdict> {
    let mut verdict = Verdict {
        rule: table.name,
        programs: if table.builtin { &[] } else { table.names },
        helpers: table.helpers,
        inserted: table.insert,
        recursive: table.reads_recursively(parsed),
        follows: table.follows_links(parsed),
        ..Verdict::default()
    };
    options::check_values(table, parsed, &mut verdict)?;
    Ok(verdict)
}

/// A program that does more than read, but for its version.
fn is_version_only(table: &Program) -> bool {
    !table.versions.is_empty() && table.flags.is_empty() && table.check.is_none()
}

/// `grep --version`, `ls --help`. Git starts a reader of manuals for that, and what a shell answers
/// by itself has words for arguments.
fn asks_about_itself(table: &Program, args: &[&str]) -> bool {
    let words = matches!(table.check, Some("git" | "echo" | "printf" | "test")) || table.builtin;
    let [only] = args else { return false };
    !words && (["--version", "--help"].contains(only) || table.versions.contains(only))
}

/// A program that says something about itself, where no file of the repository configures it.
fn about(table: &'static Program) -> Verdict {
    Verdict {
        rule: table.name,
        programs: table.names,
        rootless: true,
        helpers: table.helpers,
        ..Verdict::default()
    }
}

fn version(table: &'static Program, args: &[&str]) -> Result<Verdict> {
    match args {
        [only] if table.versions.contains(only) => Ok(about(table)),
        _ => Err(Refusal::new(
            format!("`{}` may only be asked for its version", table.name),
            format!("write `{} {}`", table.name, table.versions[0]),
        )),
    }
}

/// What to write in place of programs that are often tried.
const INSTEAD: &[(&[&str], &str)] = &[
    (
        &["xargs", "parallel"],
        "name the files yourself, as a pattern or from a first call; `grep -r` and `wc -l` \
         read many at once",
    ),
    (
        &["less", "more", "bat", "batcat", "most", "view", "vi", "vim", "nano"],
        "use cat, head, tail or `sed -n '1,50p' FILE`",
    ),
    (&["tee"], "drop it: the output is returned to you"),
    (
        &["env", "set", "export"],
        "use `printenv NAME`; LANG, LC_ALL, TZ and NO_COLOR may be set before a program: \
         `LC_ALL=C sort FILE`",
    ),
    (&["whereis"], "use `which NAME`"),
    (
        &["timeout", "nice", "nohup", "stdbuf"],
        "write the command itself; `aye shell --timeout SECONDS` sets the limit",
    ),
    (
        &["sudo", "doas", "sh", "dash", "zsh", "eval", "exec", "source", "."],
        "write the command itself; no shell runs",
    ),
    (&["sleep", "watch"], "leave it out; ask again later"),
    (
        &["ps", "top", "htop", "free", "uptime", "lsof", "lscpu"],
        "read /proc/meminfo, /proc/cpuinfo or /proc/loadavg; other processes are out of reach",
    ),
    (&["expr", "bc", "let"], "use awk, for example `awk 'BEGIN {print 1 + 1}'`"),
    (&["man", "info", "tldr"], "`aye shell --programs NAME` lists the flags that may be used"),
    (
        &["curl", "wget", "ssh", "scp", "nc", "ping", "dig"],
        "ask the user to do it; the network is out of reach here",
    ),
    (
        &[
            "rm", "mv", "cp", "mkdir", "rmdir", "touch", "ln", "chmod", "chown", "truncate", "dd",
            "install", "patch",
        ],
        "changes go through `aye propose`",
    ),
    (
        &["npm", "npx", "pnpm", "yarn", "pip", "pip3", "uv", "pytest", "mvn", "gradle"],
        "ask the user to run it; it runs code of the repository",
    ),
    (&["hd"], "use `hexdump -C`"),
    (&["nawk", "gawk", "mawk"], "use `awk`"),
    (&["exa", "eza", "ll", "la", "dir"], "use `ls -la`"),
    (&["ag", "ack"], "use `rg` or `grep -rn`"),
];

/// Programs of their own that differ by one character from one that may run.
const OTHERS: &[&str] = &[
    "ar", "as", "col", "dc", "ed", "fmt", "hash", "host", "kill", "last", "ld", "lex", "look",
    "pgrep", "pwdx", "read", "sum", "tar", "time", "top", "zcat", "zgrep",
];

fn unknown(name: &str) -> Refusal {
    if name.contains('/') {
        return Refusal::new(
            format!("`{name}` names a program by its path"),
            "write the program's name alone; programs come from the system's own directories",
        );
    }
    let instead = INSTEAD.iter().find(|(names, _)| names.contains(&name));
    let may_run = |known: &&str| !program(known).is_none_or(is_version_only);
    let nearest = names()
        .filter(|known| !OTHERS.contains(&name) && may_run(known))
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .filter(|(distance, known)| *distance <= 1 && known.len() > 2)
        .min();
    let hint = match (instead, nearest) {
        (Some((_, hint)), _) => (*hint).to_owned(),
        (None, Some((_, known))) => format!("did you mean `{known}`?"),
        (None, None) => "use cat, grep, rg, find, ls, sed -n, git log, …; \
                 `aye shell --programs` lists what may run"
            .to_owned(),
    };
    Refusal::new(format!("`{name}` is not on the list of programs that only read"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_to_be_written_instead_of_what_may_run() {
        let tried = INSTEAD.iter().flat_map(|(names, _)| *names);
        assert_eq!(tried.copied().find(|name| program(name).is_some()), None);
    }
}
