//! The expression language of `find`: tests and printing, never actions.

use super::table::Program;
use super::{Verdict, options};
use crate::shell::{Refusal, Result};

/// Predicates without an argument.
const ALONE: &[&str] = &[
    "-a", "-and", "-o", "-or", "-not", "-true", "-false", "-print", "-print0", "-ls", "-prune",
    "-quit", "-depth", "-d", "-xdev", "-mount", "-follow", "-daystart", "-noleaf", "-empty",
    "-nouser", "-nogroup", "-readable", "-writable", "-executable", "-ignore_readdir_race",
    "-noignore_readdir_race", "-warn", "-nowarn",
];

/// Predicates with one argument.
const WITH_ONE: &[&str] = &[
    "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex",
    "-regextype", "-type", "-xtype", "-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime",
    "-cmin", "-newer", "-anewer", "-cnewer", "-maxdepth", "-mindepth", "-perm", "-user", "-group",
    "-uid", "-gid", "-links", "-inum", "-samefile", "-lname", "-ilname", "-printf", "-fstype",
    "-used",
];

/// Decides about `find ARGS`.
///
/// # Errors
/// A refusal for the first word that is not a path, a test, an operator or a way of printing.
pub(super) fn decide(table: &'static Program, args: &[&str]) -> Result<Verdict> {
    let mut words = args.iter().copied().peekable();
    while words
        .next_if(|word| ["-H", "-L", "-P", "-O0", "-O1", "-O2", "-O3"].contains(word))
        .is_some()
    {}
    let mut paths = Vec::new();
    while let Some(path) = words.next_if(|word| !begins_expression(word)) {
        paths.push(path.to_owned());
    }
    while let Some(word) = words.next() {
        if ["(", ")", "!", ","].contains(&word) || ALONE.contains(&word) {
            continue;
        }
        if !WITH_ONE.contains(&word) && !is_newer(word) {
            return Err(not_reading(word));
        }
        let Some(argument) = words.next() else {
            return Err(Refusal::new(format!("`{word}` needs an argument"), "complete it"));
        };
        if word == "-samefile" || word.contains("newer") {
            paths.push(argument.to_owned());
        }
    }
    let parsed = options::Parsed::default();
    Ok(Verdict { paths, ..super::standard(table, &parsed).unwrap_or_else(|_| bare(table)) })
}

fn bare(table: &'static Program) -> Verdict {
    Verdict { rule: table.name, programs: table.names, ..Verdict::default() }
}

fn begins_expression(word: &str) -> bool {
    word.starts_with('-') || ["(", ")", "!", ","].contains(&word)
}

/// `-newerXY`, where X and Y name time stamps.
fn is_newer(word: &str) -> bool {
    let Some(kinds) = word.strip_prefix("-newer") else { return false };
    let kinds = kinds.as_bytes();
    kinds.len() == 2 && b"aBcm".contains(&kinds[0]) && b"aBcmt".contains(&kinds[1])
}

fn not_reading(word: &str) -> Refusal {
    let hint = match word {
        "-exec" | "-execdir" | "-ok" | "-okdir" => {
            "print the names and run the next command on them: `find … -print`"
        }
        "-delete" => "print the names instead: `find … -print`",
        _ if word.starts_with("-fprint") || word == "-fls" => {
            "print to the output: `-print`, `-ls`"
        }
        _ => "use the tests of GNU find that only look: -name, -path, -type, -size, -newer, …",
    };
    Refusal::new(format!("`{word}` is not a test or a way of printing of `find`"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::policy::program;

    fn allowed(line: &str) -> bool {
        let args: Vec<&str> = line.split_whitespace().collect();
        decide(program("find").unwrap(), &args).is_ok()
    }

    #[test]
    fn looking_is_allowed() {
        for line in [
            "",
            ".",
            ". -name *.rs",
            "src tests -type f -newer Cargo.toml",
            "-L . -maxdepth 2",
            ". ( -name a -o -name b ) ! -path ./x -prune -o -print",
            "-name -exec",
            ". -printf %p\\n",
            ". -newermt 2020-01-01",
            ". -perm -111",
            ". -size +1M -ls",
        ] {
            assert!(allowed(line), "{line}");
        }
    }

    #[test]
    fn acting_is_not() {
        for line in [
            ". -delete", ". -exec rm {} ;", ". -execdir rm {} +", ". -ok rm {} ;",
            ". -okdir rm {} ;", ". -fprint x", ". -fprint0 x", ". -fprintf x %p", ". -fls x",
            ". -files0-from x", "-D all .", ". -dele", ". -name", ". -newerXX a", ". x -delete",
            "-O9 .", ". -name a . -delete", ". -print x",
        ] {
            assert!(!allowed(line), "{line}");
        }
    }
}
