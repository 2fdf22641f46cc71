//! Programs whose rule is one question more than their table can ask.

use super::table::Program;
use super::{Operand, Parsed, Verdict, awk, sed};
use crate::shell::{Refusal, Result};

/// Applies the table's `check` after flags and operands were found to be on the list.
pub(super) fn check(
    table: &'static Program,
    parsed: &Parsed<'_>,
    verdict: &mut Verdict,
) -> Result<()> {
    match table.check {
        None => Ok(()),
        Some("cd") => cd(parsed),
        Some("date") => date(parsed),
        Some("which" | "rust_cli") => Ok(()),
        Some("command") if !parsed.flags.is_empty() => Ok(()),
        Some("command") => Err(Refusal::new(
            "`command` without -v runs a program",
            "write the command itself; `command -v NAME` says where a program is",
        )),
        Some("no_at") => no_at(parsed),
        Some("tac") => tac(parsed),
        Some("tail") => tail(parsed),
        Some("jq") => filter(parsed, &["import", "include"], false, "reads a module from a file"),
        Some("yq") => filter(
            parsed,
            &["import", "include", "load", "system", "envsubst", "eval"],
            true,
            "reads another file or starts a program",
        ),
        Some("sed") => {
            sed::check(&sed_script(parsed)?)?;
            // The second lock of GNU sed itself; the sandbox is the third.
            if cfg!(target_os = "linux") {
                verdict.inserted = &["--sandbox"];
            }
            Ok(())
        }
        Some("awk") => {
            no_network(parsed)?;
            awk::check(parsed.operands.first().map_or("", |operand| operand.text))
        }
        Some("git_config") => git_config(parsed),
        Some(other) => Err(Refusal::new(
            format!("the policy names a check `{other}` that does not exist"),
            "this is a bug in aye",
        )),
    }
}

/// Commands that take their words as they are: `echo`, `printf`, `test` and `[`.
pub(super) fn words(table: &'static Program, args: &[&str]) -> Result<Verdict> {
    match table.check {
        Some("echo") => echo(args)?,
        Some("printf") => printf(args)?,
        _ if table.name == "[" && args.last().is_none_or(|last| *last != "]") => {
            return Err(Refusal::new("`[` without its `]`", "end the test with ` ]`"));
        }
        Some("test") => test(args)?,
        _ => {}
    }
    Ok(Verdict {
        rule: table.name,
        programs: if table.builtin { &[] } else { table.names },
        ..Verdict::default()
    })
}

/// `test -v` and `-R` ask about a variable of the shell, and there is none: some programs of that name
/// would call each one unset, others refuse.
fn test(args: &[&str]) -> Result<()> {
    let is_operand = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| args.get(before));
        let after = args.get(at + 1);
        let compares = |word: Option<&&str>| {
            word.is_some_and(|word| matches!(*word, "=" | "==" | "!=" | "<" | ">" | "-n" | "-z"))
        };
        compares(before) || compares(after)
    };
    let asks = |at: usize| matches!(args[at], "-v" | "-R") && !is_operand(at);
    match (0..args.len()).find(|at| asks(*at)) {
        Some(at) => Err(Refusal::new(
            format!("`test {}` asks about a variable of the shell", args[at]),
            "there are none here; `printenv NAME` shows one of the environment",
        )),
        None => Ok(()),
    }
}

/// `echo` means different things in different shells as soon as a backslash or `-e` is near.
fn echo(args: &[&str]) -> Result<()> {
    let flag = |word: &&str| {
        word.len() > 1 && word.starts_with('-') && word[1..].bytes().all(|b| b"neE".contains(&b))
    };
    let words = match args.first() {
        Some(&"-n") => &args[1..],
        _ => args,
    };
    if words.first().is_some_and(flag) || args.iter().any(|word| word.contains('\\')) {
        return Err(Refusal::new(
            "`echo` with -e, -E or a backslash means different things in different shells",
            "use `printf '%s\\n' …` or `printf '…'`",
        ));
    }
    Ok(())
}

fn printf(args: &[&str]) -> Result<()> {
    match args.first() {
        Some(first) if *first == "--" || !first.starts_with('-') => Ok(()),
        Some(first) => Err(Refusal::new(
            format!("`printf {first}` means different things in different shells"),
            "begin with the format: `printf '%s\\n' …`",
        )),
        None => Err(Refusal::new("`printf` needs a format", "write `printf '%s\\n' …`")),
    }
}

fn tac(parsed: &Parsed<'_>) -> Result<()> {
    let input = |operand: &Operand<'_>| operand.text == "-";
    if !parsed.operands.is_empty() && !parsed.operands.iter().any(input) {
        return Ok(());
    }
    Err(Refusal::new(
        "`tac` keeps what comes through a pipe in a temporary file, which cannot be made here",
        "give it a file, or write `sed '1!G;h;$!d'` in the pipe",
    ))
}

fn cd(parsed: &Parsed<'_>) -> Result<()> {
    match parsed.operands.as_slice() {
        [directory] if !directory.text.is_empty() && directory.text != "-" => Ok(()),
        _ => Err(Refusal::new(
            "`cd` takes one directory inside the repository",
            "write its path relative to the current directory, for example `cd src`",
        )),
    }
}

fn date(parsed: &Parsed<'_>) -> Result<()> {
    match parsed.operands.first() {
        Some(operand) if !operand.text.starts_with('+') => Err(Refusal::new(
            format!("`date {}` sets the clock", operand.text),
            "only a format that begins with `+`, for example `date +%F`",
        )),
        _ => Ok(()),
    }
}

fn no_at(parsed: &Parsed<'_>) -> Result<()> {
    let operands = parsed.operands.iter().map(|operand| operand.text);
    let values = parsed.flags.iter().flat_map(|used| used.values.iter().copied());
    match operands.chain(values).find(|word| word.starts_with('@')) {
        Some(word) => Err(Refusal::new(
            format!("`{word}` would be read as a file of further arguments"),
            format!("write `./{word}` if it is the name of a file"),
        )),
        None => Ok(()),
    }
}

/// gawk takes a file called `/inet/…` for a connection.
fn no_network(parsed: &Parsed<'_>) -> Result<()> {
    match parsed.operands.iter().skip(1).find(|operand| operand.text.starts_with("/inet")) {
        Some(operand) => Err(Refusal::new(
            format!("`{}` is a connection to gawk", operand.text),
            "read ordinary files only",
        )),
        None => Ok(()),
    }
}

/// Refuses a jq or yq filter that has one of `words` as a name or, if `inside`, in one: a yq also
/// knows `loadstr`, `xml_load` and more. A `.name` is a field, and what is in a string is text,
/// where it is certain what is one. `include` and `import` read a module whose name follows.
fn filter(parsed: &Parsed<'_>, words: &[&str], inside: bool, does: &str) -> Result<()> {
    let Some(filter) = parsed.operands.first() else { return Ok(()) };
    // One yq has subcommands and takes any operand that is no file for the filter.
    if let Some(other) = parsed.operands.iter().skip(1).find(|other| other.text.contains('(')) {
        return Err(Refusal::new(
            format!("`{}` could be a filter of its own", other.text),
            "give the filter first, then files without parentheses in their names",
        ));
    }
    let quotes = has_plain_strings(filter.text);
    let mut before = "";
    for name in filter.text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        let field = before.ends_with('.') && !before.ends_with("..");
        let quoted = quotes && before.matches('"').count() % 2 == 1;
        before = &filter.text[..before.len() + name.len()];
        let bare = name.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let after = filter.text[before.len() - name.len() + bare.len()..].trim_start();
        let named = |word: &&&str| match **word {
            "import" | "include" => bare == **word && after.starts_with(['"', '@', '#']),
            word => bare == word || (inside && bare.contains(word)),
        };
        if !field
            && !quoted
            && let Some(word) = words.iter().find(named)
        {
            return Err(Refusal::new(
                format!("`{word}` in the filter {does}"),
                format!("give the file as an operand, or write `.{word}` for a field of that name"),
            ));
        }
    }
    Ok(())
}

/// True where each `"` begins or ends a string: to a yq, `.a"` is a path and `env(")` a variable.
fn has_plain_strings(filter: &str) -> bool {
    let mut pieces: Vec<&str> = filter.split('"').collect();
    pieces.pop();
    let ends = |code: &&str| code.chars().next_back().is_none_or(|c| " ([{,:;=|\n".contains(c));
    !filter.contains(['\\', '#']) && !filter.contains("env(") && pieces.iter().step_by(2).all(ends)
}

/// An old form of `tail`: `+5f` follows the file.
fn tail(parsed: &Parsed<'_>) -> Result<()> {
    let follows = |operand: &&Operand<'_>| {
        let form = operand.text.strip_prefix('+').and_then(|rest| rest.strip_suffix('f'));
        form.is_some_and(|form| !form.contains(['.', '/']))
    };
    match parsed.operands.iter().find(follows) {
        Some(operand) => Err(Refusal::new(
            format!("`tail {}` would wait for ever", operand.text),
            format!("write `tail -n +N FILE`, or `./{}` if it is a file", operand.text),
        )),
        None => Ok(()),
    }
}

fn sed_script(parsed: &Parsed<'_>) -> Result<String> {
    let scripts =
        parsed.flags.iter().filter(|used| used.flag.is_some_and(|flag| flag.names.contains(&"-e")));
    // Where flags end at the first operand, that operand would be the script.
    if let Some(late) = scripts.clone().find(|used| used.late) {
        return Err(Refusal::new(
            format!("`{}` after an operand means different things in different seds", late.name),
            "write the scripts first, then the files",
        ));
    }
    let scripts: Vec<&str> = scripts.flat_map(|used| used.values.iter().copied()).collect();
    Ok(match (scripts.is_empty(), parsed.operands.first()) {
        (true, Some(operand)) => operand.text.to_owned(),
        _ => scripts.join("\n"),
    })
}

/// `git config NAME` reads, `git config NAME VALUE` and `git config VERB …` do not.
fn git_config(parsed: &Parsed<'_>) -> Result<()> {
    let gets = ["--get", "--get-all", "--get-regexp", "--get-urlmatch"];
    let get = gets.iter().any(|flag| parsed.has(flag));
    let list = parsed.has("--list");
    let names = &parsed.operands;
    let dotted = |text: &str| text.contains('.') || parsed.has("--get-regexp");
    let reads = match (get, list, names.len()) {
        (false, true, 0) => true,
        (false, false, 1) => names[0].text.contains('.'),
        (true, false, 1 | 2) => dotted(names[0].text),
        _ => false,
    };
    if reads {
        return Ok(());
    }
    Err(Refusal::new(
        "this form of `git config` may write",
        "write `git config --get NAME` or `git config --list`",
    ))
}
