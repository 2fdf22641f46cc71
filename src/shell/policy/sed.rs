//! The script language of `sed`, without what reads and writes other files or runs programs.
//!
//! Implementations disagree on one point that matters: whether the delimiter inside a bracket
//! expression ends the pattern. A script is read both ways and must be harmless in each.

use crate::shell::{Refusal, Result};

/// Checks a script; several `-e` are joined with newlines.
///
/// # Errors
/// A refusal if any reading of the script has a command other than printing, editing the text
/// that is printed, and branching.
pub fn check(script: &str) -> Result<()> {
    let readings = [true, false].map(|brackets| Reader::new(script, brackets).script());
    let mut syntax = None;
    let mut read = false;
    for reading in readings {
        match reading {
            Ok(()) => read = true,
            Err(Problem::Acts(refusal)) => return Err(refusal),
            Err(Problem::Syntax(refusal)) => syntax = Some(refusal),
        }
    }
    match syntax {
        Some(refusal) if !read => Err(refusal),
        _ => Ok(()),
    }
}

enum Problem {
    /// The script would do something else than print.
    Acts(Refusal),
    /// The script cannot be read.
    Syntax(Refusal),
}

struct Reader<'a> {
    script: &'a [u8],
    at: usize,
    /// Bracket expressions hide the delimiter.
    brackets: bool,
}

type Step<T = ()> = std::result::Result<T, Problem>;

impl<'a> Reader<'a> {
    fn new(script: &'a str, brackets: bool) -> Self {
        Self { script: script.as_bytes(), at: 0, brackets }
    }

    fn peek(&self) -> Option<u8> {
        self.script.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek();
        self.at += usize::from(byte.is_some());
        byte
    }

    fn skip(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
    }

    fn syntax<T>(&self, what: &str) -> Step<T> {
        Err(Problem::Syntax(Refusal::new(
            format!("the sed script cannot be read: {what} at byte {}", self.at),
            "write commands such as p, d, q, s/a/b/g and y, separated by `;`",
        )))
    }

    fn acts<T>(&self, command: u8, does: &str) -> Step<T> {
        Err(Problem::Acts(Refusal::new(
            format!("the sed command `{}` {does}", char::from(command)),
            "only printing and editing what is printed: p, d, q, s///, y///, n, N, …",
        )))
    }

    fn script(&mut self) -> Step {
        loop {
            self.skip(|b| b" \t\n;}".contains(&b));
            match self.peek() {
                None => return Ok(()),
                Some(b'#') => self.skip(|b| b != b'\n'),
                Some(_) => self.command()?,
            }
        }
    }

    fn blanks(&mut self) {
        self.skip(|b| b == b' ' || b == b'\t');
    }

    fn command(&mut self) -> Step {
        self.addresses()?;
        let Some(command) = self.next() else { return self.syntax("an address without a command") };
        match command {
            b'{' => Ok(()),
            b'=' | b'd' | b'D' | b'g' | b'G' | b'h' | b'H' | b'n' | b'N' | b'p' | b'P' | b'x'
            | b'z' => self.end(),
            b'l' | b'q' | b'Q' => {
                self.blanks();
                self.skip(|b| b.is_ascii_digit());
                self.end()
            }
            b's' => self.substitute(),
            b'y' => {
                let delimiter = self.delimiter()?;
                self.until(delimiter, false)?;
                self.until(delimiter, false)?;
                self.end()
            }
            b'a' | b'i' | b'c' => self.text(),
            b':' | b'b' | b't' | b'T' => {
                self.blanks();
                self.skip(|b| b.is_ascii_alphanumeric() || b == b'_');
                // Some have the label go on, and the next command begin after a `;`.
                if self.peek() == Some(b'#') {
                    return self.syntax("a comment in a label");
                }
                self.end()
            }
            b'w' | b'W' => self.acts(command, "writes a file"),
            b'r' | b'R' => self.acts(command, "reads a file that is not among the operands"),
            b'e' => self.acts(command, "runs a program"),
            _ => self.syntax("an unknown command"),
        }
    }

    /// What may follow a command: `;`, `}`, a comment, a newline, the end.
    fn end(&mut self) -> Step {
        self.blanks();
        match self.peek() {
            None | Some(b';' | b'\n' | b'}' | b'#') => Ok(()),
            Some(_) => self.syntax("something after a command"),
        }
    }

    fn addresses(&mut self) -> Step {
        if self.address()? {
            self.blanks();
            if self.peek() == Some(b',') {
                self.at += 1;
                self.blanks();
                if matches!(self.peek(), Some(b'+' | b'~')) {
                    self.at += 1;
                }
                if !self.address()? {
                    return self.syntax("half a range");
                }
            }
        }
        self.skip(|b| b" \t!".contains(&b));
        Ok(())
    }

    fn address(&mut self) -> Step<bool> {
        match self.peek() {
            Some(b'0'..=b'9') => {
                self.skip(|b| b.is_ascii_digit() || b == b'~');
                return Ok(true);
            }
            Some(b'$') => {
                self.at += 1;
                return Ok(true);
            }
            Some(b'/') => self.at += 1,
            Some(b'\\') => self.at += 1,
            _ => return Ok(false),
        }
        let delimiter = match self.script[self.at - 1] {
            b'/' => b'/',
            _ => self.delimiter()?,
        };
        self.until(delimiter, true)?;
        self.skip(|b| b == b'I' || b == b'M');
        Ok(true)
    }

    fn delimiter(&mut self) -> Step<u8> {
        match self.next() {
            Some(b) if b.is_ascii_punctuation() && !b"\\[]{}".contains(&b) => Ok(b),
            _ => self.syntax("an unusual delimiter"),
        }
    }

    /// Reads up to and with the delimiter.
    fn until(&mut self, delimiter: u8, regex: bool) -> Step {
        loop {
            match self.next() {
                Some(b) if b == delimiter => return Ok(()),
                Some(b'\\') => match self.next() {
                    None | Some(b'\n') => return self.syntax("a continued line"),
                    Some(_) => {}
                },
                Some(b'[') if regex && self.brackets => self.bracket()?,
                Some(b'\n') | None => return self.syntax("a missing delimiter"),
                Some(_) => {}
            }
        }
    }

    /// A bracket expression, after its `[`.
    fn bracket(&mut self) -> Step {
        if self.peek() == Some(b'^') {
            self.at += 1;
        }
        if self.peek() == Some(b']') {
            self.at += 1;
        }
        loop {
            match self.next() {
                Some(b']') => return Ok(()),
                Some(b'[') if matches!(self.peek(), Some(b':' | b'.' | b'=')) => {
                    let kind = self.next();
                    loop {
                        match self.next() {
                            byte if byte == kind && self.peek() == Some(b']') => break,
                            Some(b'\n') | None => return self.syntax("an open bracket"),
                            Some(_) => {}
                        }
                    }
                    self.at += 1;
                }
                Some(b'\n') | None => return self.syntax("an open bracket"),
                Some(_) => {}
            }
        }
    }

    fn substitute(&mut self) -> Step {
        let delimiter = self.delimiter()?;
        self.until(delimiter, true)?;
        self.until(delimiter, false)?;
        loop {
            match self.peek() {
                Some(b'g' | b'p' | b'i' | b'I' | b'm' | b'M' | b'0'..=b'9') => self.at += 1,
                Some(b'w') => return self.acts(b's', "with the flag `w` writes a file"),
                Some(b'e') => return self.acts(b's', "with the flag `e` runs a program"),
                _ => return self.end(),
            }
        }
    }

    /// The text of `a`, `i` and `c`: the rest of one line, with nothing escaped in it.
    fn text(&mut self) -> Step {
        let start = self.at;
        self.skip(|b| b != b'\n');
        let text = &self.script[start..self.at];
        if text.contains(&b'\\') || text.trim_ascii().is_empty() {
            return self.syntax("a, i or c with a backslash or without text on its line");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn printing_and_editing_is_allowed() {
        for script in [
            "1,10p", "$p", "/a/,/b/p", "s/a/b/g", "s|a/b|c|gp", "1!G;h;$!d", "y/abc/xyz/",
            ":a;N;$!ba;s/\\n/ /g", "2q", "/x/{p;q}", "/^#/d", "s/[^/]*$//", "s,[],/],x,",
            "/foo/I,+3p", "0~3p", "$!N;P;D", "s/e/w/", "s/w/e/2g", "/a/!{s/b/c/;p}", "=", "a more",
            "1i text; w file", "s/[[:space:]/]x//", "# comment\np", "\\,x,p", "", "s/\\//w/",
            "l 20", "q5", "s/a/b/;s/c/d/", "1d;$d",
        ] {
            assert!(check(script).is_ok(), "{script:?}: {:?}", check(script));
        }
    }

    #[test]
    fn files_and_programs_are_not() {
        for script in [
            "w out", "1w out", "s/a/b/w out", "s/a/b/gw out", "s/a/b/e", "s/a/b/pe", "e", "e date",
            "1e rm x", "r /etc/passwd", "R x", "W x", "/a/w x", "/a/,/b/e x", "p;w x", "p\nw x",
            "{p;w x}", "$!{e\n}", "s/[/]/e", "s/[/]/x/w out", "s/[/]/w out/", "s/a/b/;e id",
            "\\xaxe", "sxaxbxe", "s/a/b\\\nc/e", "a\\\ntext\ne id", "a\\", "i\\\nfoo", "y/a/b/e",
            "=e", "pe", "p w x", "5!e x", "#n\nw x", ":a w\ne", "v\ne", "F;w x", "b w;w x",
            "} w x", "s/a/b/Iw x", "s/a/b/m2e", "/[/]/w x/p", ":a#;w x", "ba#;w x", "t#;e id",
        ] {
            assert!(check(script).is_err(), "{script:?}");
        }
    }
}
