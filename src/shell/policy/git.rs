//! `git`: its reading verbs, with everything that repository configuration could start left out.

use super::table::{Program, program};
use super::{Parsed, Verdict, options, small, standard};
use crate::shell::{Refusal, Result};

/// How git is used, for the examination of the repository it will find.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// `-C` directories, in order.
    pub directories: Vec<String>,
    /// Flags before the verb that are kept.
    pub globals: Vec<String>,
    /// The verb, with its second word if it has one: `stash list`.
    pub verb: String,
    /// It reads configuration without what is included.
    pub no_includes: bool,
    /// What it names, if it shows what is in files.
    pub content: Option<Content>,
}

/// The operands of a verb that shows what is in files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Where revisions and paths stand among [`Verdict::args`], in order; not the pattern of
    /// `git grep` and not the type of `git cat-file`.
    pub operands: Vec<usize>,
    /// Where `--` stands.
    pub dashes: Option<usize>,
    /// It follows one file through renames, and takes one path only.
    pub follows: bool,
    /// It shows whole commits, whatever the paths.
    pub full: bool,
    /// It begins at every ref of a kind, whatever it names.
    pub every: bool,
    /// Lines whose history it shows (`-L1,5:FILE`).
    pub lines: Vec<String>,
}

/// Flags of git's diffs that print names and counts in place of the patch.
const NAMES: &[&str] = &[
    "--stat", "--numstat", "--shortstat", "--dirstat", "--summary", "--compact-summary", "--raw",
    "--name-only", "--name-status", "-s", "--quiet",
];

/// Flags of git's diffs that print nothing of their own. Any other may bring a patch with it.
const NEUTRAL: &[&str] = &[
    "--cached", "--staged", "--merge-base", "--color", "--no-color", "--abbrev", "--no-renames",
    "--rename-empty", "-M", "-C", "-B", "--find-copies-harder", "-D", "-l", "--diff-filter", "-R",
    "--relative", "--no-relative", "-z", "--stat-width", "--stat-count", "--full-index",
    "--ignore-submodules", "--no-ext-diff", "--no-textconv", "--exit-code",
];

/// Flags of `git log` itself that show diffs.
const LOG_DIFFS: &[&str] = &["-L", "-m", "--diff-merges", "-c", "--cc", "--dd", "-t"];

/// Flags of `git log` that stand for many revisions.
const EVERY: &[&str] =
    &["--all", "--branches", "--tags", "--remotes", "--glob", "--reflog", "--walk-reflogs"];

/// Flags before the verb that change nothing but how operands are read.
const GLOBALS: &[&str] = &[
    "--no-pager", "-P", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs",
    "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs", "--no-lazy-fetch",
];

/// Configuration that may be given with `-c`: how something is shown, as flags of the verbs say it
/// too. Of some keys one value alone.
const SETTINGS: &[(&str, Option<&str>)] = &[
    ("core.quotepath", None),
    ("core.pager", Some("cat")),
    ("log.showsignature", Some("false")),
    ("diff.renames", None),
    ("diff.noprefix", None),
    ("diff.mnemonicprefix", None),
];

fn is_harmless(setting: &str) -> bool {
    let Some((key, value)) = setting.split_once('=') else { return false };
    let key = key.to_ascii_lowercase();
    let plain =
        |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b".#- ".contains(&b));
    match SETTINGS.iter().find(|(known, _)| *known == key) {
        Some((_, Some(only))) => value == *only,
        Some(_) => plain(value),
        None => key.starts_with("color.") && plain(&key) && plain(value),
    }
}

/// Decides about `git ARGS`.
///
/// # Errors
/// A refusal for a flag before the verb, a verb, a flag or an operand that is not on the list.
pub(super) fn decide(table: &'static Program, args: &[&str]) -> Result<Verdict> {
    if let [only] = args
        && table.versions.contains(only)
    {
        return Ok(Verdict {
            rule: table.name,
            programs: table.names,
            rootless: true,
            ..Verdict::default()
        });
    }
    let mut used = Use::default();
    let mut at = 0;
    while let Some(word) = args.get(at).filter(|word| word.starts_with('-')) {
        at += 1;
        if *word == "-C" {
            let Some(directory) = args.get(at) else {
                return Err(Refusal::new("`git -C` needs a directory", "write `git -C DIR …`"));
            };
            used.directories.push((*directory).to_owned());
            at += 1;
        } else if GLOBALS.contains(word) {
            used.globals.push((*word).to_owned());
        } else if *word == "-c" && args.get(at).is_some_and(|setting| is_harmless(setting)) {
            used.globals.extend([(*word).to_owned(), args[at].to_owned()]);
            at += 1;
        } else {
            return Err(Refusal::new(
                format!("`git {word}` before the verb may change what git runs"),
                "leave it out; only -C DIR, --no-pager and `-c` with color.* or core.quotePath go there",
            ));
        }
    }
    let Some(verb) = args.get(at) else {
        return Err(Refusal::new("`git` needs a verb", "for example `git status --short`"));
    };
    let two = args.get(at + 1).map(|second| format!("git {verb} {second}"));
    let (rules, words) = match two.as_deref().and_then(program) {
        Some(rules) => (rules, 2),
        None => (program(&format!("git {verb}")).ok_or_else(|| unknown(verb))?, 1),
    };
    used.verb = rules.name.strip_prefix("git ").unwrap_or_default().to_owned();
    let rest = &args[at + words..];
    let parsed = options::parse(rules, rest).map_err(|refusal| refusal.by(rules.name))?;
    let mut verdict = standard(rules, &parsed).map_err(|refusal| refusal.by(rules.name))?;
    small::check(rules, &parsed, &mut verdict).map_err(|refusal| refusal.by(rules.name))?;
    used.no_includes = parsed.has("--no-includes");
    values(&parsed).map_err(|refusal| refusal.by(rules.name))?;
    used.content = content(&used.verb, &parsed, rest, words + rules.insert.len());
    let mut inserted = std::mem::take(&mut verdict.inserted).to_vec();
    // What is inserted makes it forget what it shows by default.
    if used.verb == "stash show" && parsed.flags.is_empty() {
        inserted.insert(0, "--stat");
    }
    let written = args[at..at + words].iter().chain(&inserted).chain(rest);
    verdict.args = written.map(|word| (*word).to_owned()).collect();
    verdict.programs = table.names;
    verdict.git = Some(used);
    Ok(verdict)
}

/// Flags whose arguments may begin with these words only, in lower case, and what others may do: git spells one
/// thing in several ways.
const VALUES: &[(&str, &[&str], &str)] = &[
    (
        "--filter",
        &["blob:none", "blob:limit=", "tree:", "object:type="],
        "may read a file by its id",
    ),
    (
        "--diff-merges",
        &["off", "none", "on", "m", "first-parent", "1", "separate", "combined", "c", "dense-"],
        "may merge again, with programs that the repository's configuration names",
    ),
    (
        "--encoding",
        &["utf-8", "utf8", "us-ascii", "ascii", "latin1", "iso-8859-"],
        "may hide a credential from being replaced",
    ),
];

fn values(parsed: &Parsed<'_>) -> Result<()> {
    for (flag, known, does) in VALUES {
        let used = parsed.flags.iter().filter(|used| used.name == *flag);
        let wrong = |value: &&&str| {
            let value = value.to_ascii_lowercase();
            !known.iter().any(|known| value.starts_with(known))
        };
        if let Some(value) = used.flat_map(|used| used.values.iter()).find(wrong) {
            return Err(Refusal::new(
                format!("`{flag}={value}` {does}"),
                format!("use one of {}", known.join(", ")),
            ));
        }
    }
    Ok(())
}

/// What a verb with these arguments shows of the content of files, if anything; `offset` is where
/// the arguments begin in the verdict.
fn content(verb: &str, parsed: &Parsed<'_>, rest: &[&str], offset: usize) -> Option<Content> {
    let skipped = match verb {
        "diff" | "show" if patches(parsed, true) => 0,
        "log" | "diff-tree" | "reflog" | "reflog show" | "stash list" if patches(parsed, false) => {
            0
        }
        // Alone it shows names and counts; with any flag but those, the patch.
        "stash show" if patches(parsed, !parsed.flags.is_empty()) => 0,
        "grep" => usize::from(!parsed.has("-e") && !parsed.has("-f")),
        "blame" => 0,
        "cat-file" if parsed.has("-p") => 0,
        "cat-file" if parsed.operands.len() == 2 => 1,
        _ => return None,
    };
    let ranges = parsed.flags.iter().filter(|used| verb != "blame" && used.name == "-L");
    let operands = parsed.operands.iter().skip(skipped).map(|operand| operand.at + offset);
    Some(Content {
        operands: operands.collect(),
        dashes: rest.iter().position(|word| *word == "--").map(|at| at + offset),
        follows: parsed.has("--follow"),
        full: parsed.has("--full-diff"),
        every: EVERY.iter().any(|flag| parsed.has(flag)),
        lines: ranges
            .flat_map(|used| used.values.iter().map(|value| (*value).to_owned()))
            .collect(),
    })
}

/// True when a diff is shown: by these flags, or `usually` and not by names alone.
fn patches(parsed: &Parsed<'_>, usually: bool) -> bool {
    let Some(diff) = program("git diff") else { return true };
    let mut names = false;
    for used in &parsed.flags {
        let Some(flag) = used.flag else { continue };
        let is = |list: &[&str]| flag.names.iter().any(|name| list.contains(name));
        let counts = is(NAMES);
        names |= counts;
        if is(LOG_DIFFS) || (!counts && diff.flag(flag.names[0]).is_some() && !is(NEUTRAL)) {
            return true;
        }
    }
    usually && !names
}

fn unknown(verb: &str) -> Refusal {
    let hint = match verb {
        "stash" => "only `git stash list` and `git stash show`",
        "worktree" => "only `git worktree list`",
        "checkout" | "switch" | "restore" | "reset" | "add" | "commit" | "merge" | "rebase"
        | "apply" | "am" | "rm" | "mv" | "clean" | "cherry-pick" | "revert" => {
            "changes go through `aye propose`"
        }
        "submodule" => "use `cat .gitmodules` and `git ls-files -s | grep ^160000`",
        "fetch" | "pull" | "push" | "clone" | "ls-remote" | "remote" => {
            "ask the user to do it; the network is out of reach here"
        }
        _ => "use status, diff, log, show, blame, grep, ls-files, cat-file, rev-parse, …",
    };
    Refusal::new(format!("`git {verb}` is not on the list of verbs that only read"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(line: &str) -> Result<Verdict> {
        let args: Vec<&str> = line.split_whitespace().collect();
        decide(program("git").unwrap(), &args)
    }

    #[test]
    fn reading_verbs() {
        for line in [
            "status -sb",
            "diff HEAD~1 -- src",
            "log --oneline -5",
            "log -n 3 --format=%h",
            "show HEAD:src/main.rs",
            "branch",
            "branch -vv",
            "branch --list a*",
            "tag",
            "tag -l v*",
            "remote -v",
            "remote get-url origin",
            "stash list",
            "stash show -p",
            "worktree list",
            "reflog",
            "reflog show main",
            "config user.name",
            "config --get user.email",
            "config -l",
            "-C src status",
            "--version",
            "version",
            "blame -L 1,5 a.rs",
            "rev-parse --show-toplevel",
            "branch --contains HEAD",
            "for-each-ref --format=%(refname)",
            "cat-file -p HEAD",
            "grep -n foo",
            "rev-list --objects --filter=blob:none HEAD",
            "var -l",
            "log -p --diff-merges=first-parent",
            "show --diff-merges=cc",
            "show --diff-merges=dense-combined",
            "log --encoding=UTF-8",
            "shortlog -sne",
            "-c core.quotePath=false status",
            "-c color.ui=never -c Color.Diff.Meta=#ff0000 diff",
            "-c log.showSignature=false --no-pager log",
        ] {
            assert!(decided(line).is_ok(), "{line}: {:?}", decided(line));
        }
    }

    #[test]
    fn everything_else() {
        for line in [
            "",
            "branch new",
            "branch -d x",
            "branch -m a b",
            "branch --edit-description",
            "tag v1",
            "tag -d v1",
            "tag -n5 v1",
            "remote add x y",
            "remote show origin",
            "stash",
            "stash pop",
            "stash push",
            "worktree add x",
            "reflog expire --all",
            "reflog delete x",
            "config a.b c",
            "config --unset a.b",
            "config edit",
            "config set a.b c",
            "config --add a.b c",
            "-c a=b status",
            "-c core.pager=less log",
            "-c core.fsmonitor=./x status",
            "-c color.pager log",
            "-c color.diff=!x log",
            "-c diff.external=./x diff",
            "-c diff.orderFile=.env diff",
            "-c core.quotepath",
            "-c",
            "--git-dir=x log",
            "--exec-path=x status",
            "-p log",
            "--paginate log",
            "--work-tree=/ status",
            "diff --ext-diff",
            "diff --output=x",
            "diff --no-index a b",
            "log --textconv",
            "log --show-signature",
            "log --format=%G?",
            "log --pretty=evil",
            "diff --outpu=x",
            "diff -Oorder",
            "grep -Oless x",
            "grep --open-files-in-pager=less x",
            "commit",
            "cat-file --filters HEAD:a",
            "help",
            "--help",
            "status --help",
            "bisect",
            "gc",
            "blame",
            "ls-remote",
            "fetch",
            "archive HEAD",
            "daemon",
            "notes",
            "replace a b",
            "symbolic-ref HEAD refs/heads/x",
            "update-index",
            "rev-parse --parseopt",
            "for-each-ref --format=%(signature)",
            "submodule",
            "submodule foreach id",
            "config --file x a.b",
            "worktree",
            "log --no-index",
            "rev-list --objects --filter=sparse:oid=HEAD:.env HEAD",
            "rev-list --objects --filter=combine:%73parse:oid=x HEAD",
            "config --get a.b c d",
            "log -p --diff-merges=remerge",
            "show --diff-merges=r",
            "show --diff-merges remerge",
            "log --encoding=UTF-16",
            "blame --encoding=UTF-7 a",
            "shortlog -w16",
            "shortlog -w",
            "log --format=%w(16)%b",
        ] {
            assert!(decided(line).is_err(), "{line}");
        }
    }
}
