//! The data file `rules.toml` as a table: the build writes it as static values, so that a process
//! reads no TOML, whatever it decides about.

use super::Parsed;
use super::kinds::OperandKind;

include!(concat!(env!("OUT_DIR"), "/shell_rules.rs"));

/// The rules of one program, or of one git verb.
#[derive(Debug)]
pub struct Program {
    /// The table's name: `ls`, `git log`.
    pub name: &'static str,
    /// Kinds of operands.
    pub operands: Operands,
    /// Flags on the include-list.
    pub flags: &'static [Flag],
    /// Every name of a flag, sorted, and its place among [`Program::flags`].
    pub flag_names: &'static [(&'static str, usize)],
    /// Each of those names as a number, in the same order (see `key`).
    pub flag_keys: &'static [u128],
    /// `-5` is a flag.
    pub numbers: bool,
    /// Short flags may be joined.
    pub bundle: bool,
    /// A short flag's argument may be joined to it.
    pub attach: bool,
    /// Flags may follow operands.
    pub permute: bool,
    /// Flags that take the place of the first operand.
    pub instead: &'static [&'static str],
    /// Operands are allowed only together with one of these.
    pub only_with: &'static [&'static str],
    /// Flags that make it read whole directories, or `always`.
    pub recursive: &'static [&'static str],
    /// Of what reads whole directories: flags that make it follow symlinks in them, or `always`.
    pub follows: &'static [&'static str],
    /// Arguments put right after the program's name.
    pub insert: &'static [&'static str],
    /// File names to look for.
    pub names: &'static [&'static str],
    /// Other programs it starts, and may.
    pub helpers: &'static [&'static str],
    /// A further examination in code.
    pub check: Option<&'static str>,
    /// Answered without a program.
    pub builtin: bool,
    /// The only argument lists, each of one word.
    pub versions: &'static [&'static str],
}

/// A flag on an include-list.
#[derive(Debug)]
pub struct Flag {
    /// All its names, with their dashes.
    pub names: &'static [&'static str],
    /// What it takes.
    pub takes: Takes,
}

/// What a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// An argument only if attached.
    Maybe(OperandKind),
    /// The next word unless there is none; or attached.
    UnlessLast(OperandKind),
    /// As many arguments as there are kinds, the first attached or next.
    Needs(&'static [OperandKind]),
}

/// How many operands of what kinds.
#[derive(Debug)]
pub struct Operands {
    /// Kinds, in order.
    pub kinds: &'static [OperandKind],
    /// How many must be there.
    pub least: usize,
    /// The last kind may repeat.
    pub repeat: bool,
}

impl Program {
    /// The flag written as `name`, dashes included.
    pub fn flag(&self, name: &str) -> Option<&'static Flag> {
        self.named_flag(name).map(|(_, flag)| flag)
    }

    /// The flag written as `name`, and that name as the table has it.
    pub fn named_flag(&self, name: &str) -> Option<(&'static str, &'static Flag)> {
        let at = place(self.flag_keys, name, |at| self.flag_names[at].0)?;
        let (name, flag) = self.flag_names[at];
        Some((name, &self.flags[flag]))
    }

    /// True when these arguments make it read whole directories.
    pub fn reads_recursively(&self, parsed: &Parsed<'_>) -> bool {
        one_of(self.recursive, parsed)
    }

    /// True when it follows symlinks in the directories it reads.
    pub fn follows_links(&self, parsed: &Parsed<'_>) -> bool {
        one_of(self.follows, parsed)
    }
}

fn one_of(flags: &[&str], parsed: &Parsed<'_>) -> bool {
    flags.iter().any(|flag| *flag == "always" || parsed.has(flag))
}

/// The names of all tables in their order, git verbs as `git log`.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|program| program.name)
}

/// The rules of a program (`ls`) or a git verb (`git log`).
pub fn program(name: &str) -> Option<&'static Program> {
    place(PROGRAM_KEYS, name, |at| PROGRAMS[at].name).map(|at| &PROGRAMS[at])
}

/// The first 16 bytes of a name as a number, which sorts as the names do: a search compares
/// numbers, and text once at its end.
fn key(name: &str) -> u128 {
    let mut first = [0; 16];
    let length = name.len().min(first.len());
    first[..length].copy_from_slice(&name.as_bytes()[..length]);
    u128::from_be_bytes(first)
}

/// Where `name` is among sorted names with these keys.
fn place(keys: &[u128], name: &str, nth: impl Fn(usize) -> &'static str) -> Option<usize> {
    let key = key(name);
    let first = keys.partition_point(|known| *known < key);
    (first..keys.len()).take_while(|at| keys[*at] == key).find(|at| nth(*at) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_the_file_is_there() {
        let whole: toml::Table = toml::from_str(include_str!("rules.toml")).unwrap();
        assert!(whole.len() > 120, "{}", whole.len());
        assert_eq!(whole.len(), PROGRAMS.len());
        for (name, section) in whole {
            let program = program(&name).unwrap_or_else(|| panic!("[{name}] is not there"));
            let lines = section.get("flags").and_then(toml::Value::as_str).unwrap_or_default();
            for flag in lines.split_whitespace().filter(|word| word.starts_with('-')) {
                assert!(program.flag(flag).is_some(), "{name} {flag}");
            }
        }
    }

    #[test]
    fn no_table_lists_a_flag_that_writes_or_runs() {
        let never = [
            ("sort", "-o"),
            ("sort", "--output"),
            ("sort", "--compress-program"),
            ("sort", "-T"),
            ("tree", "-o"),
            ("rg", "--pre"),
            ("rg", "--hostname-bin"),
            ("rg", "-z"),
            ("fd", "-x"),
            ("fd", "-X"),
            ("sed", "-i"),
            ("sed", "-f"),
            ("awk", "-f"),
            ("yq", "-i"),
            ("yq", "-s"),
            ("date", "-s"),
            ("file", "-C"),
            ("diff", "-l"),
            ("git diff", "--output"),
            ("git diff", "--ext-diff"),
            ("git diff", "--no-index"),
            ("git log", "--output"),
            ("git log", "--textconv"),
            ("git log", "--show-signature"),
            ("git grep", "-O"),
            ("git cat-file", "--filters"),
            ("git branch", "-d"),
            ("git branch", "-D"),
            ("git branch", "-m"),
            ("git branch", "-f"),
            ("git tag", "-d"),
            ("git tag", "-a"),
            ("git tag", "-v"),
            ("git config", "--add"),
            ("git config", "-e"),
            ("git config", "--unset"),
            ("git config", "-f"),
            ("git worktree list", "--force"),
        ];
        for (name, flag) in never {
            assert!(program(name).unwrap().flag(flag).is_none(), "{name} {flag}");
        }
    }
}
