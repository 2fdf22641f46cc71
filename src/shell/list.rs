//! Programs, verbs and flags that a command may name.
//!
//! The kernel stops every write regardless. These lists give a clear answer before anything runs,
//! and tell the kernel which programs may start.

use super::parser::{Command, Word};
use super::{Refusal, Result};

pub const PROGRAMS: &[&str] = &[
    "cat", "tac", "nl", "head", "tail", "wc", "ls", "tree", "stat", "file", "du", "df", "realpath",
    "readlink", "basename", "dirname", "yes", "seq", "date", "uname", "id", "whoami", "hostname",
    "nproc", "arch", "which", "printenv", "cut", "tr", "sort", "uniq", "comm", "cmp", "diff",
    "paste", "join", "rev", "fold", "expand", "unexpand", "column", "md5sum", "sha1sum",
    "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "base64", "xxd", "od",
    "hexdump", "strings", "grep", "egrep", "fgrep", "rg", "fd", "fdfind", "find", "sed", "awk",
    "jq", "yq", "git", "expr", "numfmt", "tsort", "xargs",
];

/// Shell builtins; `command` only for `-v` and `-V`.
pub const BUILT_IN: &[&str] =
    &["cd", "pwd", "echo", "printf", "true", "false", "test", "[", ":", "type", "command"];

/// Programs that may only print their version.
pub const VERSIONS: &[&str] = &[
    "node", "nodejs", "deno", "bun", "npm", "pnpm", "yarn", "python", "python3", "pip", "ruby",
    "perl", "php", "lua", "java", "javac", "go", "rustc", "cargo", "rustup", "gcc", "g++", "cc",
    "clang", "make", "cmake", "ninja", "ghc", "swift", "dotnet", "zig", "bash", "openssl",
    "sqlite3",
];

/// Git verbs that read (some only in the forms of `FORMS`), without work tree files, whose filters
/// the repository names. Allowed without Landlock.
pub const VERBS: &[&str] = &[
    "log", "shortlog", "rev-list", "rev-parse", "describe", "merge-base", "name-rev", "ls-tree",
    "for-each-ref", "show-ref", "symbolic-ref", "branch", "tag", "remote", "stash", "reflog",
    "worktree", "config", "count-objects", "var", "version",
];

/// Git verbs that read files of the work tree, or show contents.
pub const VERBS_OF_FILES: &[&str] = &[
    "status", "diff", "show", "blame", "annotate", "grep", "cherry", "range-diff", "whatchanged",
    "show-branch", "ls-files", "cat-file", "diff-tree", "diff-index", "diff-files", "check-ignore",
    "check-attr", "check-mailmap",
];

pub const LISTS: [(&str, &[&str]); 5] = [
    ("programs", PROGRAMS),
    ("of_the_shell", BUILT_IN),
    ("version_only", VERSIONS),
    ("git", VERBS),
    ("git_of_files", VERBS_OF_FILES),
];

/// Flags that write, start a program or never end. Columns: program or git verb; long flags; short
/// flags, also in bundles (`-ni`); letters that take the rest of the word as argument.
const WRITING: &[(&str, &str, &str, &str)] = &[
    ("find", "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls", "", ""),
    ("fd", "--exec --exec-batch", "xX", "cdeEjoSt"),
    ("fdfind", "--exec --exec-batch", "xX", "cdeEjoSt"),
    ("sort", "--output --compress-program", "o", "kStT"),
    ("sed", "--in-place", "i", "efl"),
    ("yq", "--in-place --inplace --split-exp", "is", "opI"),
    ("tree", "--output", "o", "HILPT"),
    ("rg", "--pre --hostname-bin", "", ""),
    ("tail", "--follow --retry", "fF", "cns"),
    ("date", "--set", "s", "dfIr"),
    ("hostname", "--file --boot", "bF", ""),
    ("xxd", "-r -revert", "", ""),
    ("file", "--compile", "C", "efFmP"),
    ("git", "--output --ext-diff --textconv --open-files-in-pager", "", ""),
    ("git grep", "", "O", "ABCefm"),
    ("git branch", "--edit-description --unset-upstream --set-upstream-to", "u", ""),
    ("git symbolic-ref", "--delete", "dm", ""),
    ("git config", "--unset --unset-all --add --replace-all --edit --remove-section", "e", ""),
];

/// Display settings for `git -c`.
const SHOWN: &str = "color. column.ui= core.pager=cat core.quotepath= diff.mnemonicprefix= diff.noprefix= \
                     diff.renames= log.date= log.decorate= log.showsignature=false";

/// Programs often tried, and alternatives.
const ALTERNATIVES: &[(&str, &str)] = &[
    ("tee less more man bat", "the output is returned to you; cut it with `head`"),
    (
        "sh bash zsh eval exec source . env nohup nice time",
        "write the command itself; `LC_ALL=C sort FILE` sets a variable",
    ),
    ("timeout sleep watch", "aye stops a command: `--timeout SECONDS`, `timeout_ms`"),
    ("cp mv rm mkdir touch ln chmod dd patch truncate", "changes go through `aye propose`"),
    ("curl wget ssh scp rsync nc ping gh", "the network is out of reach; ask the user"),
];

fn instead(name: &str) -> &'static str {
    let is_its = |row: &&(&str, &str)| row.0.split(' ').any(|other| other == name);
    let row = ALTERNATIVES.iter().find(is_its);
    row.map_or("`aye shell --programs` lists the programs", |(_, hint)| hint)
}

#[derive(Debug, Default)]
pub struct Needs<'a> {
    pub programs: Vec<&'a str>,
    /// Words inserted at a byte offset. They keep a program from starting what the repository
    /// names, and from needing a temporary file.
    pub edits: Vec<(usize, &'static str)>,
    pub is_configuration: bool,
}

fn refuse<T>(word: &Word, what: &str, hint: &str) -> Result<T> {
    Err(Refusal::new(format!("`{}` {what}", word.text), hint).at(word.place.start))
}

pub fn check(command: &Command) -> Result<Needs<'_>> {
    let Some((first, args)) = command.split_first() else { return Ok(Needs::default()) };
    let name = first.text.as_str();
    let mut needs = Needs { programs: vec![name], ..Needs::default() };
    let is_one = |words: &[&str]| args.first().is_some_and(|word| words.contains(&&*word.text));
    if first.is_expanded && name != "[" {
        return refuse(first, "is not the name of a program", "write it without expansions");
    } else if name == "command" && !is_one(&["-v", "-V"]) {
        return refuse(first, "is only for `command -v NAME`", "name the program itself");
    } else if BUILT_IN.contains(&name) {
        needs.programs.clear();
    } else if VERSIONS.contains(&name) {
        let has_verb = matches!(name, "go" | "zig" | "openssl") && is_one(&["version"]);
        let asks = is_one(&["--version", "-version", "-V", "-v", "-vV"]) || has_verb;
        if !asks || args.len() > 1 {
            return refuse(first, "may only be asked for its version", "write `NAME --version`");
        }
    } else if !PROGRAMS.contains(&name) {
        return refuse(first, "is not among the programs that may run", instead(name));
    }
    match name {
        "git" => git(args, first, &mut needs)?,
        "xargs" => needs.programs.push(xargs(args)?),
        "sort" => needs.edits.push((first.place.end, " -S 512M --batch-size=1000")),
        "rg" => needs.edits.push((first.place.end, " --no-config")),
        _ => {}
    }
    match needs.programs.last() {
        Some(&("egrep" | "fgrep")) => needs.programs.push("grep"),
        Some(&"yq") => needs.programs.push("jq"),
        _ => {}
    }
    refuse_writing(name, args)?;
    Ok(needs)
}

fn refuse_writing(name: &str, args: &[Word]) -> Result<()> {
    let Some((_, long, letters, take)) = WRITING.iter().find(|(of, ..)| *of == name) else {
        return Ok(());
    };
    let writes = |word: &&Word| {
        let flag = word.text.split('=').next().unwrap_or_default();
        // GNU programs and git accept abbreviations; `--text` is another git flag.
        let is_short_for =
            |of: &str| of.starts_with("--") && of.starts_with(flag) && flag != "--text";
        let is_long =
            long.split_whitespace().any(|of| of == flag || (flag.len() > 2 && is_short_for(of)));
        let bundle =
            flag.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
        is_long || bundle.chars().take_while(|c| !take.contains(*c)).any(|c| letters.contains(c))
    };
    match args.iter().take_while(|word| word.text != "--").find(writes) {
        Some(word) => {
            refuse(word, "does more than read", "leave it out; changes go through `aye propose`")
        }
        None => Ok(()),
    }
}

fn xargs(args: &[Word]) -> Result<&str> {
    let mut rest = args;
    while let [flag, more @ ..] = rest {
        rest = match &*flag.text {
            "-n" | "-I" | "-L" | "-d" | "-P" | "-s" => more.get(1..).unwrap_or_default(),
            flag if flag.starts_with('-') => more,
            _ => break,
        };
    }
    let Some((first, args)) = rest.split_first() else { return Ok("echo") };
    let name = first.text.as_str();
    let is_listed = matches!(name, "echo" | "printf" | "test") || PROGRAMS.contains(&name);
    if first.is_expanded || !is_listed || matches!(name, "git" | "xargs") {
        return refuse(
            first,
            "is not started by xargs",
            "name a program that reads, other than git",
        );
    }
    refuse_writing(name, args)?;
    Ok(name)
}

fn git<'a>(mut args: &'a [Word], first: &Word, needs: &mut Needs<'a>) -> Result<()> {
    let is_shown = |setting: &Word| {
        let setting = setting.text.to_lowercase();
        SHOWN.split_whitespace().any(|key| setting.starts_with(key))
    };
    let (verb, args) = loop {
        let Some((word, rest)) = args.split_first() else {
            return refuse(first, "needs a verb", "for example `git status --short`");
        };
        args = match &*word.text {
            "--version" if rest.is_empty() => return Ok(()),
            "-P" | "--no-pager" | "--no-optional-locks" | "--literal-pathspecs" => rest,
            "-C" => rest.get(1..).unwrap_or_default(),
            "-c" if rest.first().is_some_and(is_shown) => &rest[1..],
            flag if flag.starts_with('-') => {
                let hint = "only -C DIR, --no-pager, and `-c` with color.* and the like go there";
                return refuse(word, "before the verb may change what git runs", hint);
            }
            _ => break (word, rest),
        };
    };
    let name = verb.text.as_str();
    let is_listed = VERBS.contains(&name) || VERBS_OF_FILES.contains(&name);
    if verb.is_expanded || !is_listed {
        let hint = match name {
            "fetch" | "pull" | "push" | "clone" | "ls-remote" => instead("curl"),
            "submodule" => "use `cat .gitmodules` and `git ls-files -s | grep ^160000`",
            _ => "use status, diff, log, show, blame, grep, …; changes go through `aye propose`",
        };
        return refuse(verb, "is not among the verbs of git that may run", hint);
    }
    if let Some(hint) = other_form(name, args) {
        return refuse(verb, "does more than read in this form", hint);
    }
    refuse_writing("git", args)?;
    refuse_writing(&format!("git {name}"), args)?;
    needs.is_configuration = matches!(name, "config" | "var" | "remote");
    let second = args.first().filter(|word| matches!(&*word.text, "show" | "list"));
    let has_flag = args.iter().any(|word| word.text.starts_with('-'));
    const NO_PROGRAMS: &str = " --no-ext-diff --no-textconv";
    needs.edits.extend(match (name, second) {
        (
            "diff" | "log" | "show" | "whatchanged" | "diff-tree" | "diff-index" | "diff-files",
            _,
        ) => Some((verb.place.end, NO_PROGRAMS)),
        ("blame" | "annotate" | "grep", _) => Some((verb.place.end, " --no-textconv")),
        // `stash show` prints the patch with any flag.
        ("stash", Some(show)) if show.text == "show" && !has_flag => {
            Some((show.place.end, " --stat --no-ext-diff --no-textconv"))
        }
        ("stash" | "reflog", Some(second)) => Some((second.place.end, NO_PROGRAMS)),
        // Settings added for other verbs must not appear here.
        ("config" | "var", _) => Some((first.place.start, "GIT_CONFIG_COUNT=1 ")),
        _ => None,
    });
    Ok(())
}

/// Git verbs that read only in some forms.
const FORMS: &[(&str, &str)] = &[
    ("symbolic-ref", "write `git symbolic-ref NAME`"),
    ("branch", "add `--list` to look for a name"),
    ("tag", "add `--list` to look for a name"),
    ("remote", "write `git remote -v`, or `git remote get-url NAME`"),
    ("stash", "write `git stash list`, or `git stash show`"),
    ("reflog", "write `git reflog show NAME`"),
    ("worktree", "write `git worktree list`"),
    ("config", "write `git config --get NAME`, or `git config --list`, which masks credentials"),
];

/// The allowed form, if this one may write.
fn other_form(verb: &str, args: &[Word]) -> Option<&'static str> {
    let (_, hint) = FORMS.iter().find(|(of, _)| *of == verb)?;
    let words = || args.iter().map(|word| word.text.as_str());
    let has = |flags: &str| {
        words().any(|word| flags.split(' ').any(|flag| word.split('=').next() == Some(flag)))
    };
    let is_value = |at: usize| at > 0 && matches!(&*args[at - 1].text, "--format" | "--sort");
    let is_operand = |(at, word): &(usize, &str)| !word.starts_with('-') && !is_value(*at);
    let operands: Vec<&str> =
        words().enumerate().filter(is_operand).map(|(_, word)| word).collect();
    let is_named = has("--get-regexp --show-names");
    let reads = match (verb, words().next().unwrap_or_default()) {
        ("symbolic-ref", _) => operands.len() == 1,
        ("branch" | "tag", _) => {
            let lists = "-l --list --contains --no-contains --merged --no-merged --points-at";
            operands.is_empty() || has(lists)
        }
        ("remote", "-v" | "--verbose") => args.len() == 1,
        ("remote", "" | "get-url") | ("stash", "list" | "show") | ("worktree", "list") => true,
        ("reflog", first) => {
            first.starts_with('-') || ["", "show", "list", "exists"].contains(&first)
        }
        // Without its name, the value could not be masked.
        ("config", _) if !is_named && operands.iter().any(|name| super::mask::is_secret(name)) => {
            false
        }
        ("config", "get") => is_named || !has("--regexp"),
        ("config", "list") => true,
        ("config", _) => {
            operands.len() == 1 || is_named || has("--get --get-all --get-urlmatch -l --list")
        }
        _ => false,
    };
    (!reads).then_some(hint)
}

/// True if the words alone prove that `command` only reads, without the kernel. It has no language
/// of its own, no operand to write, and no flag that an expansion could add.
pub fn is_inert(command: &Command) -> bool {
    let Some((first, args)) = command.split_first() else { return true };
    let is_fixed = !args.iter().any(|word| word.is_expanded);
    let is_flag = |word: &Word| word.text.starts_with(['-', '+']);
    let is_lines =
        |word: &Word| word.text.bytes().all(|b| b.is_ascii_digit() || b",$p;".contains(&b));
    match first.text.as_str() {
        "awk" | "xargs" => false,
        "sed" => {
            is_fixed && matches!(args, [flag, lines, ..] if flag.text == "-n" && is_lines(lines))
        }
        "uniq" | "xxd" => is_fixed && args.iter().filter(|word| !is_flag(word)).count() < 2,
        "hostname" | "date" => is_fixed && args.iter().all(is_flag),
        name => is_fixed || !WRITING.iter().any(|(of, ..)| *of == name),
    }
}
