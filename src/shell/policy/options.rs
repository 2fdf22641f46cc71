//! Argument lists read as the program itself would read them: bundles, attached and separate
//! arguments, `--`, flags after operands. Whatever could be read in two ways is refused.

use super::Verdict;
use super::kinds::OperandKind;
use super::table::{Flag, MOST_VALUES, Program, Takes};
use crate::shell::{Refusal, Result};

/// An argument list, taken apart.
#[derive(Debug, Default)]
pub struct Parsed<'a> {
    /// Flags, in the order written.
    pub flags: Vec<Used<'a>>,
    /// Operands, in the order written.
    pub operands: Vec<Operand<'a>>,
}

/// A flag that was used.
#[derive(Debug)]
pub struct Used<'a> {
    /// Its entry on the include-list; `None` for `-5`.
    pub flag: Option<&'static Flag>,
    /// As written, dashes included.
    pub name: &'a str,
    /// Its arguments.
    pub values: Values<'a>,
    /// It stands after an operand.
    pub late: bool,
}

/// The arguments of a flag, which are few: kept where they are, for a policy is asked often.
#[derive(Debug, Clone, Copy, Default)]
pub struct Values<'a> {
    items: [&'a str; MOST_VALUES],
    count: usize,
}

impl<'a> Values<'a> {
    /// Adds one. There is no flag on the lists that takes more than fit.
    fn push(&mut self, value: &'a str) {
        self.items[self.count] = value;
        self.count += 1;
    }
}

impl<'a> From<Option<&'a str>> for Values<'a> {
    fn from(value: Option<&'a str>) -> Self {
        let mut values = Self::default();
        value.into_iter().for_each(|value| values.push(value));
        values
    }
}

impl<'a> std::ops::Deref for Values<'a> {
    type Target = [&'a str];

    fn deref(&self) -> &Self::Target {
        &self.items[..self.count]
    }
}

/// An operand.
#[derive(Debug, Clone, Copy)]
pub struct Operand<'a> {
    /// As written.
    pub text: &'a str,
    /// It stands after `--`.
    pub after_dashes: bool,
    /// Its place among the arguments.
    pub at: usize,
}

impl Parsed<'_> {
    /// True when the flag called `name`, by any of its names, was used.
    pub fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|used| used.flag.is_some_and(|flag| flag.names.contains(&name)))
    }
}

/// What to write in place of flags that are often wanted: ends of programs' names, the flags.
const INSTEAD: &[(&[&str], &[&str], &str)] = &[
    (
        &["sum"],
        &["-c", "--check"],
        "name the files and compare: `sha256sum FILE | grep -F SUM`; names in a list would be \
         opened whatever they are",
    ),
    (
        &["git ls-files"],
        &["--exclude-per-directory"],
        "write `--exclude-standard`, which reads every `.gitignore`",
    ),
];

/// Reads `args` by the rules of `table`.
///
/// # Errors
/// A refusal for the first flag that is not on the include-list or has no clear reading.
pub fn parse<'a>(table: &'static Program, args: &'a [&'a str]) -> Result<Parsed<'a>> {
    let mut reader = Reader { table, args, at: 0, parsed: Parsed::default() };
    while reader.at < args.len() {
        let word = args[reader.at];
        reader.at += 1;
        if word == "--" {
            reader.rest(true);
            break;
        }
        if word.starts_with("--") {
            reader.long(word)?;
        } else if word.len() > 1 && word.starts_with('-') && !reader.is_negative(word) {
            reader.short(word)?;
        } else {
            let at = reader.at - 1;
            reader.parsed.operands.push(Operand { text: word, after_dashes: false, at });
            if !table.permute {
                reader.rest(false);
                break;
            }
        }
    }
    Ok(reader.parsed)
}

struct Reader<'a> {
    table: &'static Program,
    args: &'a [&'a str],
    at: usize,
    parsed: Parsed<'a>,
}

impl<'a> Reader<'a> {
    fn not_listed(&self, written: &str) -> Refusal {
        let name = self.table.name;
        let full = written.split('=').next().unwrap_or(written);
        let longer = self
            .table
            .flags
            .iter()
            .flat_map(|flag| flag.names)
            .find(|name| full.len() > 3 && full.starts_with("--") && name.starts_with(full));
        let instead = INSTEAD.iter().find(|(programs, flags, _)| {
            programs.iter().any(|end| name.ends_with(end)) && flags.contains(&full)
        });
        let hint = match longer {
            _ if let Some((_, _, hint)) = instead => (*hint).to_owned(),
            Some(longer) => {
                format!("abbreviations are not read; if you mean `{longer}`, write it in full")
            }
            None => format!("leave it out; `aye shell --programs {name}` lists the flags"),
        };
        Refusal::new(
            format!("`{written}` is not on the list of flags of `{name}` that only read"),
            hint,
        )
    }

    /// A number below zero, where the operands are numbers (`seq 5 -1 1`).
    fn is_negative(&self, word: &str) -> bool {
        self.table.operands.kinds.first() == Some(&OperandKind::Number)
            && word[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.')
    }

    /// Everything that is left is an operand.
    fn rest(&mut self, after_dashes: bool) {
        for (at, text) in self.args.iter().enumerate().skip(self.at) {
            self.parsed.operands.push(Operand { text, after_dashes, at });
        }
    }

    fn push(&mut self, flag: &'static Flag, name: &'static str, values: Values<'a>) {
        let late = !self.parsed.operands.is_empty();
        self.parsed.flags.push(Used { flag: Some(flag), name, values, late });
    }

    fn long(&mut self, word: &'a str) -> Result<()> {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let (name, flag) = self.table.named_flag(name).ok_or_else(|| self.not_listed(word))?;
        let values = match (&flag.takes, value) {
            (Takes::Nothing, None) | (Takes::Maybe(_), None) => Values::default(),
            (Takes::Nothing, Some(_)) => return Err(self.not_listed(word)),
            (Takes::Maybe(_) | Takes::UnlessLast(_), value @ Some(_)) => value.into(),
            (Takes::UnlessLast(kind), None) => self.next_unless_last(name, *kind)?,
            (Takes::Needs(kinds), value) => self.needed(name, kinds, value)?,
        };
        self.push(flag, name, values);
        Ok(())
    }

    fn short(&mut self, word: &'a str) -> Result<()> {
        let digits = &word[1..];
        if self.table.numbers && digits.bytes().all(|b| b.is_ascii_digit()) {
            let (values, late) = (Some(digits).into(), !self.parsed.operands.is_empty());
            self.parsed.flags.push(Used { flag: None, name: word, values, late });
            return Ok(());
        }
        // Programs that write long flags with one dash, or in one piece.
        if let Some((name, flag)) = self.table.named_flag(word).filter(|_| word.len() > 2) {
            self.push(flag, name, Values::default());
            return Ok(());
        }
        let mut letters = word.char_indices().skip(1).peekable();
        while let Some((at, letter)) = letters.next() {
            let mut name = *b"-\0\0\0\0";
            let length = letter.encode_utf8(&mut name[1..]).len();
            let name = std::str::from_utf8(&name[..=length]).unwrap_or_default();
            let found = self.table.named_flag(name);
            let (name, flag) = found.ok_or_else(|| self.not_listed(word))?;
            let rest = &word[at + letter.len_utf8()..];
            if !rest.is_empty() && flag.takes == Takes::Nothing && !self.table.bundle {
                return Err(self.not_listed(word));
            }
            match &flag.takes {
                Takes::Nothing => self.push(flag, name, Values::default()),
                Takes::Maybe(kind) | Takes::UnlessLast(kind) if !rest.is_empty() => {
                    self.attached(name, rest, Some(kind))?;
                    self.push(flag, name, Some(rest).into());
                    break;
                }
                Takes::Maybe(_) => self.push(flag, name, Values::default()),
                Takes::UnlessLast(kind) => {
                    let values = self.next_unless_last(name, *kind)?;
                    self.push(flag, name, values);
                }
                Takes::Needs(kinds) => {
                    let value = (!rest.is_empty()).then_some(rest);
                    if let Some(value) = value {
                        self.attached(name, value, kinds.first())?;
                    }
                    let values = self.needed(name, kinds, value)?;
                    self.push(flag, name, values);
                    break;
                }
            }
            if letters.peek().is_none() {
                break;
            }
        }
        Ok(())
    }

    /// An argument joined to its short flag: some programs drop a `=` in front, some do not. Where
    /// any text will do (`cut -d=`), either reading is allowed.
    fn attached(&self, name: &str, value: &str, kind: Option<&OperandKind>) -> Result<()> {
        if self.table.attach && (!value.starts_with('=') || kind == Some(&OperandKind::Text)) {
            return Ok(());
        }
        Err(Refusal::new(
            format!("`{name}{value}` can be read in two ways"),
            format!("write the argument as a word of its own: `{name} …`"),
        ))
    }

    fn next_unless_last(&mut self, name: &str, kind: OperandKind) -> Result<Values<'a>> {
        if self.at == self.args.len() {
            Ok(Values::default())
        } else {
            self.needed(name, &[kind], None)
        }
    }

    /// The arguments of a flag that must have them, the first possibly attached.
    fn needed(
        &mut self,
        name: &str,
        kinds: &[OperandKind],
        first: Option<&'a str>,
    ) -> Result<Values<'a>> {
        let mut values = Values::from(first);
        while values.len() < kinds.len() {
            let Some(next) = self.args.get(self.at) else {
                return Err(Refusal::new(
                    format!("`{name}` needs an argument"),
                    format!("complete it: `{name} …`"),
                ));
            };
            let dashed = next.strip_prefix('-').filter(|rest| !rest.is_empty());
            let negative = kinds[values.len()] == OperandKind::Number
                && dashed.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
            if dashed.is_some() && !negative {
                return Err(Refusal::new(
                    format!("the argument `{next}` of `{name}` looks like a flag"),
                    format!("join the two: `{}`", joined(name, next)),
                ));
            }
            values.push(next);
            self.at += 1;
        }
        Ok(values)
    }
}

fn joined(name: &str, value: &str) -> String {
    if name.starts_with("--") { format!("{name}={value}") } else { format!("{name}{value}") }
}

/// Checks the number and the kinds of operands and flag arguments; adds those that name something
/// read to `verdict`.
///
/// # Errors
/// A refusal for the first value of the wrong kind, or one operand too many or too few.
pub fn check_values(
    table: &'static Program,
    parsed: &Parsed<'_>,
    verdict: &mut Verdict,
) -> Result<()> {
    for used in &parsed.flags {
        let Some(flag) = used.flag else { continue };
        let kinds: &[OperandKind] = match &flag.takes {
            Takes::Nothing => &[],
            Takes::Maybe(kind) | Takes::UnlessLast(kind) => std::slice::from_ref(kind),
            Takes::Needs(kinds) => kinds,
        };
        for (kind, value) in kinds.iter().zip(used.values.iter()) {
            kind.check(value, used.name)?;
            note_path(*kind, value, false, verdict);
        }
    }
    let operands = &table.operands;
    let replaced = usize::from(table.instead.iter().any(|flag| parsed.has(flag)));
    let kinds = operands.kinds.get(replaced..).unwrap_or_default();
    let count = parsed.operands.len();
    if count > kinds.len() && !operands.repeat {
        return Err(Refusal::new(
            format!(
                "`{}` takes {} operand{} here, `{}` is one too many",
                table.name,
                kinds.len(),
                if kinds.len() == 1 { "" } else { "s" },
                parsed.operands[kinds.len()].text
            ),
            "a further operand could be written to; give only what is read",
        ));
    }
    if count + replaced < operands.least {
        return Err(Refusal::new(
            format!("`{}` needs {} operand(s)", table.name, operands.least),
            "complete the command",
        ));
    }
    if count > 0
        && !table.only_with.is_empty()
        && !table.only_with.iter().any(|flag| parsed.has(flag))
    {
        return Err(Refusal::new(
            format!("`{}` with an operand is not a listing", table.name),
            // Of the others some want a value of their own.
            "add `--list`",
        ));
    }
    for (index, operand) in parsed.operands.iter().enumerate() {
        let Some(kind) = kinds.get(index).or(kinds.last()) else { break };
        kind.check(operand.text, "the operand")?;
        note_path(*kind, operand.text, operand.after_dashes, verdict);
    }
    Ok(())
}

/// Collects what a value of `kind` reads. A revision may carry a path after a colon.
fn note_path(kind: OperandKind, value: &str, after_dashes: bool, verdict: &mut Verdict) {
    match kind {
        OperandKind::Path if value == "-" && !after_dashes => {}
        OperandKind::Path => verdict.paths.push(value.to_owned()),
        OperandKind::Revision => {
            verdict.paths.push(value.to_owned());
            // A range has two ends, and each may be `rev:path`; or what looks like a range is
            // part of one path: `HEAD:../x`.
            for end in std::iter::once(value).chain(value.split("..")) {
                // The revision may have colons of its own, and so may the path.
                let paths = end.match_indices(':').map(|(at, _)| end[at + 1..].to_owned());
                verdict.paths_in_trees.extend(paths);
            }
        }
        _ => {}
    }
}
