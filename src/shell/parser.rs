//! Reads a command text far enough to find the programs it names; the shell parses it again.
//!
//! Safety does not depend on this parser: a misread text starts only allowed programs and changes
//! nothing. The parser gives an answer, before anything runs, that names the forbidden part. It
//! accepts the POSIX syntax that every shell reads alike, and refuses the rest.

use std::ops::Range;

use super::{Machine, Refusal, Result};

/// Bytes; the kernel limits an argument to 128 KiB.
const LONGEST: usize = 64 * 1024;

/// Grammar words before a command or an operator; the shell checks the grammar.
const GRAMMAR: &[&str] =
    &["if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "{", "}"];
/// Grammar that this parser refuses.
const UNREAD: &[&str] = &["case", "select", "function", "[[", "time", "coproc"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Without quotes; expansions stay as written.
    pub text: String,
    /// True if the shell would expand it.
    pub is_expanded: bool,
    pub place: Range<usize>,
}

/// Without redirections and assignments; at least one word.
pub type Command = Vec<Word>;

#[derive(Clone, Debug, Default)]
pub struct ParsedCommand {
    /// In order.
    pub commands: Vec<Command>,
    /// The target of each `>` that names `/dev/null`.
    pub nulls: Vec<Range<usize>>,
}

pub fn read(source: &str) -> Result<ParsedCommand> {
    if source.len() > LONGEST {
        let hint = "run several shorter commands";
        return Err(Refusal::new(format!("the command is longer than {LONGEST} bytes"), hint));
    }
    let is_wrong = |(_, c): &(usize, char)| c.is_control() && !matches!(c, '\n' | '\t');
    if let Some((at, c)) = source.char_indices().find(is_wrong) {
        let message = format!("the control character {c:?} is not allowed");
        return Err(Refusal::new(message, "write it without").at(at));
    }
    let (text, words) = Default::default();
    let mut reader = Reader { source, at: 0, text, words, next: WordRole::Command };
    reader.all()?;
    if reader.text.commands.is_empty() {
        Err(Refusal::new("there is no command", "for example `git status --short`"))
    } else {
        Ok(reader.text)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordRole {
    /// A grammar word, an assignment, or a program.
    Command,
    Argument,
    /// A word of `for NAME in WORD…`.
    Loop,
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
    text: ParsedCommand,
    words: Command,
    next: WordRole,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    fn refuse<T>(&self, message: &str, hint: &'static str) -> Result<T> {
        Err(Refusal::new(message, hint).at(self.at))
    }

    fn take(&mut self, token: &str) -> bool {
        let is_next = self.rest().starts_with(token);
        self.at += if is_next { token.len() } else { 0 };
        is_next
    }

    fn all(&mut self) -> Result<()> {
        while let Some(c) = self.rest().chars().next() {
            match c {
                ' ' | '\t' => self.at += 1,
                '\\' if self.take("\\\n") => {}
                '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                '<' | '>' => self.redirection("")?,
                ';' | '\n' | '&' | '|' | '(' | ')' => self.operator()?,
                _ => self.word()?,
            }
        }
        if self.next == WordRole::Loop {
            return self.refuse("`for` without `do`", LOOP);
        }
        self.end();
        Ok(())
    }

    fn end(&mut self) {
        let words = std::mem::take(&mut self.words);
        self.text.commands.extend((self.next == WordRole::Argument).then_some(words));
        self.next = WordRole::Command;
    }

    fn operator(&mut self) -> Result<()> {
        let next = |token: &str| self.rest().starts_with(token);
        let is_end = next(";") || next("\n");
        let length = match self.next {
            _ if next(";;") => return self.refuse("`;;` belongs to `case`", "use `if`"),
            _ if next("|&") => return self.refuse("`|&` is not POSIX", "write `2>&1 |`"),
            _ if next("&>") => return self.refuse("`&>` is not POSIX", "write `>/dev/null 2>&1`"),
            WordRole::Loop if !is_end => return self.refuse("`for` is followed by words", LOOP),
            WordRole::Argument if next("(") => return self.refuse("`(` in this place", "quote it"),
            _ if next("&&") || next("||") => 2,
            _ if next("&") => {
                return self.refuse("nothing runs in the background", "quote the `&`");
            }
            _ => 1,
        };
        self.end();
        self.at += length;
        Ok(())
    }

    fn redirection(&mut self, number: &str) -> Result<()> {
        const HINT: &str = "the output is returned; `<FILE`, `>/dev/null`, `2>&1` are read here";
        if !matches!(number, "" | "0" | "1" | "2") {
            return self.refuse("no other descriptor is open", HINT);
        }
        let begin = self.at;
        let reads = self.take("<");
        let joins = !reads && self.take(">") && self.take("&");
        if joins {
            let is_number = self.take("1") || self.take("2");
            let is_longer = self.rest().starts_with(|c| !ENDS.contains(c));
            return if is_number && !is_longer {
                Ok(())
            } else {
                self.refuse("only `2>&1` and `1>&2` join streams", HINT)
            };
        }
        let from = self.at;
        while self.take(" ") || self.take("\t") {}
        let target = self.scan()?;
        if !reads && target.text == "/dev/null" {
            self.text.nulls.push(from..self.at);
        } else if !reads || target.place.is_empty() {
            self.at = begin;
            return self.refuse("nothing is written but to /dev/null", HINT);
        }
        Ok(())
    }

    fn word(&mut self) -> Result<()> {
        let word = self.scan()?;
        let written = &self.source[word.place.clone()];
        if self.rest().starts_with(['<', '>']) && written.bytes().all(|b| b.is_ascii_digit()) {
            return self.redirection(written);
        }
        let wrong = |message: &str, hint| Err(Refusal::new(message, hint).at(word.place.start));
        if self.next == WordRole::Command {
            self.next = WordRole::Argument;
            let assigned = written.split_once('=').filter(|(name, _)| is_name(name));
            if UNREAD.contains(&written) {
                return wrong(&format!("`{written}` is not read here"), "use `if`, `for`, `while`");
            } else if written == "for" {
                self.next = WordRole::Loop;
                return Ok(());
            } else if GRAMMAR.contains(&written)
                || assigned.is_some_and(|(n, v)| Machine::sets(n, v))
            {
                self.next = WordRole::Command;
                return Ok(());
            } else if let Some((name, _)) = assigned {
                let hint =
                    "LANG, LC_*, TZ, COLUMNS, NO_COLOR, PAGER=cat may be set before a program";
                return wrong(&format!("`{name}` is not set here"), hint);
            }
        }
        // This parser would read the `do` of `for NAME do` as a word and miss the command after it.
        let fits = |place| match place {
            0 => is_name(written),
            1 => written == "in",
            _ => true,
        };
        if self.next == WordRole::Loop && !fits(self.words.len()) {
            return wrong("`for` is followed by a name and `in`", LOOP);
        }
        self.words.push(word);
        Ok(())
    }

    fn scan(&mut self) -> Result<Word> {
        let (start, mut text, mut quoted) = (self.at, String::new(), false);
        let mut changes = self.rest().starts_with('~');
        while let Some(c) = self.rest().chars().next().filter(|c| quoted || !ENDS.contains(*c)) {
            let mut rest = self.rest().chars().skip(1);
            match c {
                '"' => quoted = !quoted,
                '`' => return self.refuse("a command in backquotes is not run", SUBSTITUTION),
                '$' => {
                    changes |= self.is_expansion(quoted)?;
                    text.push(c);
                }
                '\'' if !quoted => {
                    let Some((inner, _)) = self.rest()[1..].split_once('\'') else {
                        return self.refuse("a quote has no end", "close it");
                    };
                    text += inner;
                    self.at += inner.len() + 1;
                }
                '\\' => {
                    let Some(next) = rest.next() else {
                        return self.refuse("a backslash at the end", "leave it out");
                    };
                    match next {
                        '\n' => {}
                        // In double quotes a backslash stays before other characters.
                        c if quoted && !"$`\"\\".contains(c) => text.extend(['\\', c]),
                        c => text.push(c),
                    }
                    self.at += next.len_utf8();
                }
                c => {
                    changes |= !quoted && "*?[{".contains(c);
                    text.push(c);
                }
            }
            self.at += c.len_utf8();
        }
        if quoted {
            Err(Refusal::new("a quote has no end", "close it").at(start))
        } else {
            Ok(Word { text, is_expanded: changes, place: start..self.at })
        }
    }

    /// True if the next `$` begins an expansion.
    fn is_expansion(&self, quoted: bool) -> Result<bool> {
        let rest = &self.rest()[1..];
        match rest.chars().next() {
            Some('(') => self.refuse("a command in `$(…)` is not run", SUBSTITUTION),
            Some('{') => match rest[1..].split_once('}') {
                Some((name, _)) if is_name(name) => Ok(true),
                _ => self.refuse("of `${…}` only `${NAME}` is read here", "leave the rest out"),
            },
            Some('\'' | '"') if !quoted => {
                self.refuse("`$'…'` and `$\"…\"` are not POSIX", "write '…', or use printf")
            }
            // Shells disagree about a `(` on the next line.
            Some('\\') if rest.starts_with("\\\n") => {
                self.refuse("a line is continued after `$`", "write it in one line")
            }
            Some(c) => Ok(c.is_ascii_alphanumeric() || "_@*#?$!-".contains(c)),
            None => Ok(false),
        }
    }
}

const ENDS: &str = " \t\n;&|()<>";
const LOOP: &str = "write `for NAME in WORDS; do COMMAND; done`";
const SUBSTITUTION: &str = "run it by itself first, and write its output";

fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<Vec<String>> {
        let text = read(source).unwrap_or_else(|refusal| panic!("{source:?}: {refusal:?}"));
        let words = |command: &Command| command.iter().map(|word| word.text.clone()).collect();
        text.commands.iter().map(words).collect()
    }

    #[test]
    fn commands_are_found_in_all_that_is_accepted() {
        for (source, expected) in [
            ("a 'b  c' \"d\\\"e\" f\\ g h\\\ni", "a,b  c,d\"e,f g,hi"),
            ("a | b && c || d; e\nf # g; h", "a|b|c|d|e|f"),
            ("! a && (b; { c; }) | d", "a|b|c|d"),
            ("if a; then b; elif c; then d; else e; fi", "a|b|c|d|e"),
            ("while a; do b; done; until c; do d; done", "a|b|c|d"),
            ("for f in x \"$y\" *; do a $f ${f}; done", "a,$f,${f}"),
            ("for f in x\ndo a\ndone", "a"),
            ("a <x >/dev/null 2>&1 b 2> '/dev/null' 1>&2", "a,b"),
            ("LC_ALL=C a 'if' if \\\n b", "a,if,if,b"),
            (">/dev/null a 2 3", "a,2,3"),
            ("a'b'\"c\"d \"\" \"$\" $", "abcd,,$,$"),
            ("a b=c \"x\\y\" 'z\\'", "a,b=c,x\\y,z\\"),
        ] {
            let found: Vec<String> = words(source).iter().map(|words| words.join(",")).collect();
            assert_eq!(found.join("|"), expected, "{source:?}");
        }
    }

    #[test]
    fn what_is_not_read_is_refused_where_it_stands() {
        for (source, at) in [
            ("", 0),
            ("# a", 0),
            ("a\rb", 1),
            ("a & b", 2),
            ("a |& b", 2),
            ("a &> b", 2),
            ("a;; b", 1),
            ("case x in x) a;; esac", 0),
            ("a; select x in y; do b; done", 3),
            ("function f { a; }", 0),
            ("f() { a; }", 1),
            ("a=(b)", 0),
            ("[[ a ]]", 0),
            ("time a", 0),
            ("coproc a", 0),
            ("a $(b)", 2),
            ("a \"$(b)\"", 3),
            ("a `b`", 2),
            ("a ${b:-c}", 2),
            ("a $'b'", 2),
            ("a $\"b\"", 2),
            ("a $\\\n(b)", 2),
            ("a << b", 2),
            ("a <<< b", 2),
            ("a <(b)", 2),
            ("a <> b", 2),
            ("a >(b)", 2),
            ("a > b", 2),
            ("a >> /dev/null", 2),
            ("a >| /dev/null", 2),
            ("a 3> /dev/null", 3),
            ("a >&3", 4),
            ("a >&2x", 5),
            ("a > \"/dev/$x\"", 2),
            ("X=1 a", 0),
            ("PATH=. a", 0),
            ("TZ=/x a", 0),
            ("for f do a; done", 6),
            ("for f in a b", 12),
            ("for f in a & b", 11),
            ("for 1 in a; do b; done", 4),
            ("a 'b", 2),
            ("a \"b", 2),
            ("a \\", 2),
        ] {
            let refusal = read(source).map(|text| text.commands).expect_err(source);
            assert_eq!(refusal.position, at, "{source:?}: {}", refusal.message);
            assert!(!refusal.hint.is_empty(), "{source:?}");
        }
    }

    #[test]
    fn words_that_the_shell_would_change_are_marked() {
        for (word, changes) in [
            ("a", false),
            ("~", true),
            ("HEAD~1", false),
            ("'*'", false),
            ("*", true),
            ("\"$x\"", true),
            ("'$x'", false),
            ("\\*", false),
            ("a$", false),
            ("{a,b}", true),
            ("[a]", true),
            ("$?", true),
        ] {
            assert_eq!(
                read(&format!("a {word}")).unwrap().commands[0][1].is_expanded,
                changes,
                "{word}"
            );
        }
    }
}
