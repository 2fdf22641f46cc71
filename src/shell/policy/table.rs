//! The data file `rules.toml`, read a table at a time and only when a command asks for it:
//! reading all of it would cost more than most of the commands it allows.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;

use super::Parsed;
use super::kinds::Kind;

const RULES: &str = include_str!("rules.toml");

/// The rules of one program, or of one git verb.
#[derive(Debug)]
pub struct Program {
    /// The table's name: `ls`, `git log`.
    pub name: &'static str,
    /// Kinds of operands.
    pub operands: Operands,
    /// Flags on the include-list.
    pub flags: Vec<Flag>,
    /// `-5` is a flag.
    pub numbers: bool,
    /// Short flags may be joined.
    pub bundle: bool,
    /// A short flag's argument may be joined to it.
    pub attach: bool,
    /// Flags may follow operands.
    pub permute: bool,
    /// Flags that take the place of the first operand.
    pub instead: Vec<String>,
    /// Operands are allowed only together with one of these.
    pub only_with: Vec<String>,
    /// Flags that make it read whole folders, or `always`.
    pub recursive: Vec<String>,
    /// Arguments put right after the program's name.
    pub insert: Vec<String>,
    /// File names to look for, if not its own.
    pub names: Vec<String>,
    /// Other programs it starts, and may.
    pub helpers: Vec<String>,
    /// A further examination in code.
    pub check: Option<String>,
    /// Answered without a program.
    pub builtin: bool,
    /// The only argument lists, each of one word.
    pub versions: Vec<String>,
}

/// A flag on an include-list.
#[derive(Debug, Clone)]
pub struct Flag {
    /// All its names, with their dashes.
    pub names: Vec<&'static str>,
    /// What it takes.
    pub takes: Takes,
}

/// What a flag takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// An argument only if attached.
    Maybe(Kind),
    /// The next word unless there is none; or attached.
    UnlessLast(Kind),
    /// As many arguments as there are kinds, the first attached or next.
    Needs(Vec<Kind>),
}

/// How many operands of what kinds.
#[derive(Debug, Clone, Default)]
pub struct Operands {
    /// Kinds, in order.
    pub kinds: Vec<Kind>,
    /// How many must be there.
    pub least: usize,
    /// The last kind may repeat.
    pub repeat: bool,
}

impl Program {
    /// File names to look for on the search path.
    pub fn file_names(&self) -> Vec<String> {
        if self.names.is_empty() { vec![self.name.to_owned()] } else { self.names.clone() }
    }

    /// The flag written as `name`, dashes included.
    pub fn flag(&self, name: &str) -> Option<&Flag> {
        self.flags.iter().find(|flag| flag.names.contains(&name))
    }

    /// True when these arguments make it read whole folders.
    pub fn reads_recursively(&self, parsed: &Parsed<'_>) -> bool {
        self.recursive.iter().any(|flag| flag == "always" || parsed.has(flag))
    }
}

#[derive(Deserialize, Default, Clone)]
#[serde(deny_unknown_fields, default)]
struct Section {
    operands: Option<Vec<String>>,
    flags: Option<String>,
    also: Option<String>,
    numbers: Option<bool>,
    bundle: Option<bool>,
    attach: Option<bool>,
    permute: Option<bool>,
    builtin: Option<bool>,
    instead: Option<Vec<String>>,
    only_with: Option<Vec<String>>,
    recursive: Option<Vec<String>>,
    insert: Option<Vec<String>>,
    names: Option<Vec<String>>,
    helpers: Option<Vec<String>>,
    versions: Option<Vec<String>>,
    check: Option<String>,
    same_as: Option<String>,
}

struct Entry {
    text: &'static str,
    program: OnceLock<Option<Program>>,
}

static TABLES: LazyLock<HashMap<&'static str, Entry>> = LazyLock::new(|| {
    let mut tables = HashMap::with_capacity(192);
    let mut rest = RULES;
    while let Some(open) = rest.find("\n[") {
        let body = &rest[open + 2..];
        let line = body.find('\n').unwrap_or(body.len());
        let name = body[..line].trim_end_matches(']').trim_matches('"');
        let end = body.find("\n[").unwrap_or(body.len());
        let entry = Entry { text: &body[line..end], program: OnceLock::new() };
        tables.insert(name, entry);
        rest = &body[line..];
    }
    tables
});

/// The names of all tables, git verbs as `git log`.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLES.keys().copied()
}

/// The rules of a program (`ls`) or a git verb (`git log`).
pub fn program(name: &str) -> Option<&'static Program> {
    let (name, entry) = TABLES.get_key_value(name)?;
    entry.program.get_or_init(|| build(name)).as_ref()
}

/// Reads one table. `None` if it is malformed, which a test excludes: what cannot be read is not
/// allowed.
fn build(name: &'static str) -> Option<Program> {
    let section = section(name, 0)?;
    let operands = match &section.operands {
        Some(list) => operands(list)?,
        None => Operands::default(),
    };
    let mut flags = Vec::new();
    for text in [section.flags.as_deref(), section.also.as_deref()].into_iter().flatten() {
        add_flags(text, &mut flags, 0)?;
    }
    Some(Program {
        name,
        operands,
        flags,
        numbers: section.numbers.unwrap_or(false),
        bundle: section.bundle.unwrap_or(true),
        attach: section.attach.unwrap_or(true),
        permute: section.permute.unwrap_or(true),
        instead: section.instead.unwrap_or_default(),
        only_with: section.only_with.unwrap_or_default(),
        recursive: section.recursive.unwrap_or_default(),
        insert: section.insert.unwrap_or_default(),
        names: section.names.unwrap_or_default(),
        helpers: section.helpers.unwrap_or_default(),
        check: section.check,
        builtin: section.builtin.unwrap_or(false),
        versions: section.versions.unwrap_or_default(),
    })
}

/// The table as written, with what it takes over from another filled in.
fn section(name: &str, depth: usize) -> Option<Section> {
    let own: Section = toml::from_str(TABLES.get(name)?.text).ok()?;
    let Some(other) = own.same_as.as_deref().filter(|_| depth < 3) else { return Some(own) };
    let other = section(other, depth + 1)?;
    Some(Section {
        operands: own.operands.or(other.operands),
        flags: own.flags.or(other.flags),
        also: own.also.or(other.also),
        numbers: own.numbers.or(other.numbers),
        bundle: own.bundle.or(other.bundle),
        attach: own.attach.or(other.attach),
        permute: own.permute.or(other.permute),
        builtin: own.builtin.or(other.builtin),
        instead: own.instead.or(other.instead),
        only_with: own.only_with.or(other.only_with),
        recursive: own.recursive.or(other.recursive),
        insert: own.insert.or(other.insert),
        names: own.names.or(other.names),
        helpers: own.helpers.or(other.helpers),
        versions: own.versions.or(other.versions),
        check: own.check.or(other.check),
        same_as: None,
    })
}

fn operands(list: &[String]) -> Option<Operands> {
    let mut found = Operands::default();
    for word in list {
        let (kind, least, repeat) = match word.as_bytes().last()? {
            b'?' => (&word[..word.len() - 1], 0, false),
            b'*' => (&word[..word.len() - 1], 0, true),
            _ => (word.as_str(), 1, false),
        };
        found.kinds.push(Kind::named(kind)?);
        found.least += least;
        found.repeat = repeat;
    }
    Some(found)
}

fn add_flags(text: &str, flags: &mut Vec<Flag>, depth: usize) -> Option<()> {
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(other) = line.strip_prefix('@').filter(|_| depth < 3) {
            let other = section(other, 0)?;
            add_flags(other.flags.as_deref()?, flags, depth + 1)?;
            continue;
        }
        let mut names = Vec::new();
        let mut takes = Takes::Nothing;
        for word in line.split_whitespace() {
            let kind = || Kind::named(&word[1..]);
            match word.as_bytes()[0] {
                b'-' => names.push(&*String::leak(word.to_owned())),
                b'?' => takes = Takes::Maybe(kind()?),
                b'~' => takes = Takes::UnlessLast(kind()?),
                b'=' => match &mut takes {
                    Takes::Needs(kinds) => kinds.push(kind()?),
                    _ => takes = Takes::Needs(vec![kind()?]),
                },
                _ => return None,
            }
        }
        if names.is_empty() {
            return None;
        }
        flags.push(Flag { names, takes });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_can_be_read_and_the_whole_file_says_the_same() {
        let whole: HashMap<String, Section> = toml::from_str(RULES).unwrap();
        assert!(whole.len() > 120, "{}", whole.len());
        assert_eq!(whole.len(), TABLES.len());
        for (name, section) in whole {
            let program = program(&name).unwrap_or_else(|| panic!("[{name}] cannot be read"));
            if section.same_as.is_none() {
                assert_eq!(program.builtin, section.builtin.unwrap_or(false), "{name}");
                let lines = section.flags.unwrap_or_default();
                let own = lines.lines().filter(|l| l.trim().starts_with('-')).count();
                assert!(program.flags.len() >= own, "{name}");
            }
            for flag in &program.flags {
                for name in &flag.names {
                    let dashes = name.bytes().take_while(|b| *b == b'-').count();
                    assert!(dashes == 1 || dashes == 2, "{name}");
                }
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
