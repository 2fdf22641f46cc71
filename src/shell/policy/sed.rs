//! `sed`, as far as it only prints and edits what is printed: a grammar of what is allowed.
//!
//! Implementations disagree on one point that matters: whether the delimiter inside a bracket
//! expression ends the pattern. Today's say no, and a script must be in the grammar read so. Where
//! it makes a difference, the other reading must not act either.

use crate::shell::{Refusal, Result};

/// Checks a script; several `-e` are joined with newlines.
///
/// # Errors
/// A refusal for the first command outside the grammar.
pub fn check(script: &str) -> Result<()> {
    let mut today = Reader::new(script, true);
    today.script().map_err(|outside| outside.refusal)?;
    if today.hidden {
        match Reader::new(script, false).script() {
            Err(outside) if outside.acts => return Err(outside.refusal),
            _ => {}
        }
    }
    Ok(())
}

/// Why a script is refused.
struct Outside {
    refusal: Refusal,
    /// A command or a flag stands there, which may act; otherwise no sed can read the script.
    acts: bool,
}

type Step<T = ()> = std::result::Result<T, Outside>;

struct Reader<'a> {
    script: &'a [u8],
    at: usize,
    /// Bracket expressions hide the delimiter.
    brackets: bool,
    /// One did.
    hidden: bool,
}

impl<'a> Reader<'a> {
    fn new(script: &'a str, brackets: bool) -> Self {
        Self { script: script.as_bytes(), at: 0, brackets, hidden: false }
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

    fn takes(&mut self, wanted: &[u8]) -> Option<u8> {
        self.peek().filter(|byte| wanted.contains(byte)).inspect(|_| self.at += 1)
    }

    fn refuse<T>(&self, acts: bool, what: &str) -> Step<T> {
        let refusal = Refusal::new(
            format!("the sed script has {what} (at its byte {})", self.at),
            "only printing and editing what is printed: p, d, q, n, s/a/b/g, y/abc/xyz/, …, \
             separated by `;`",
        );
        Err(Outside { refusal, acts })
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
        match self.next() {
            Some(b'{') => return Ok(()),
            Some(
                b'=' | b'd' | b'D' | b'g' | b'G' | b'h' | b'H' | b'l' | b'n' | b'N' | b'p' | b'P'
                | b'x',
            ) => {}
            Some(b'q') => {
                self.blanks();
                self.skip(|b| b.is_ascii_digit());
            }
            Some(b's') => {
                let delimiter = self.delimiter()?;
                self.until(delimiter, true)?;
                self.until(delimiter, false)?;
                self.skip(|b| b"gpiI".contains(&b) || b.is_ascii_digit());
            }
            Some(b'y') => {
                let delimiter = self.delimiter()?;
                self.until(delimiter, false)?;
                self.until(delimiter, false)?;
            }
            // A label goes on to the end of the line in some: what stands there is checked.
            Some(b':' | b'b' | b't') => {
                self.blanks();
                self.skip(|b| b.is_ascii_alphanumeric() || b == b'_');
                if self.peek() == Some(b'#') {
                    return self.refuse(true, "a comment in a label");
                }
            }
            Some(byte) => {
                let byte = char::from(byte);
                let what = match byte {
                    'e' => "the command `e`, which runs a program".to_owned(),
                    'w' | 'W' => format!("the command `{byte}`, which writes a file"),
                    'r' | 'R' => format!("the command `{byte}`, which reads another file"),
                    _ => format!("`{}` where none is allowed", byte.escape_default()),
                };
                return self.refuse(!byte.is_ascii_punctuation(), &what);
            }
            None => return self.refuse(false, "an address without a command"),
        }
        self.blanks();
        match self.peek() {
            None | Some(b';' | b'\n' | b'}' | b'#') => Ok(()),
            Some(b'w') => self.refuse(true, "a `w` after a command, which may write a file"),
            Some(b'e') => self.refuse(true, "an `e` after a command, which may run a program"),
            Some(b'm' | b'M') => self.refuse(true, "a flag that is not among g, i, p and a number"),
            Some(_) => self.refuse(false, "something after a command"),
        }
    }

    fn addresses(&mut self) -> Step {
        if self.address()? {
            self.blanks();
            if self.takes(b",").is_some() {
                self.blanks();
                self.takes(b"+~");
                if !self.address()? {
                    return self.refuse(false, "half a range");
                }
            }
        }
        self.skip(|b| b" \t!".contains(&b));
        Ok(())
    }

    fn address(&mut self) -> Step<bool> {
        let delimiter = match self.takes(b"0123456789$/\\") {
            None => return Ok(false),
            Some(b'$') => return Ok(true),
            Some(b'/') => b'/',
            Some(b'\\') => self.delimiter()?,
            Some(_) => {
                self.skip(|b| b.is_ascii_digit() || b == b'~');
                return Ok(true);
            }
        };
        self.until(delimiter, true)?;
        self.takes(b"I");
        Ok(true)
    }

    fn delimiter(&mut self) -> Step<u8> {
        match self.next() {
            Some(b) if b.is_ascii_punctuation() && !b"\\[]{}".contains(&b) => Ok(b),
            _ => self.refuse(true, "an unusual delimiter"),
        }
    }

    /// Reads up to and with the delimiter.
    fn until(&mut self, delimiter: u8, regex: bool) -> Step {
        loop {
            match self.next() {
                Some(b) if b == delimiter => return Ok(()),
                Some(b'\\') => {
                    if self.next().is_none_or(|b| b == b'\n') {
                        return self.refuse(true, "a continued line");
                    }
                }
                Some(b'[') if regex && self.brackets => {
                    let start = self.at;
                    self.bracket()?;
                    self.hidden |= self.script[start..self.at].contains(&delimiter);
                }
                Some(b'\n') | None => return self.refuse(false, "a missing delimiter"),
                Some(_) => {}
            }
        }
    }

    /// A bracket expression, after its `[`.
    fn bracket(&mut self) -> Step {
        self.takes(b"^");
        self.takes(b"]");
        loop {
            match self.next() {
                Some(b']') => return Ok(()),
                Some(b'[') if self.takes(b":").is_some() => {
                    self.skip(|b| b.is_ascii_alphabetic());
                    if self.next() != Some(b':') || self.next() != Some(b']') {
                        return self.refuse(true, "a class of characters that is not closed");
                    }
                }
                Some(b'[') if self.takes(b".=").is_some() => {
                    return self.refuse(true, "`[.` or `[=` in brackets");
                }
                Some(b'\n') | None => return self.refuse(false, "an open bracket"),
                Some(_) => {}
            }
        }
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
            "/foo/I,+3p", "0~3p", "$!N;P;D", "s/e/w/", "s/w/e/2g", "/a/!{s/b/c/;p}", "=",
            "s/[[:space:]/]x//", "# comment\np", "\\,x,p", "", "s/\\//w/", "l", "q5",
            "s/a/b/;s/c/d/", "1d;$d", "s/[^/]*\\/foo/x/", "/[/]/p", "10,20!d", "$=", "n;d",
        ] {
            assert!(check(script).is_ok(), "{script:?}: {:?}", check(script));
        }
    }

    #[test]
    fn files_and_programs_are_not() {
        for script in [
            "w out",
            "1w out",
            "s/a/b/w out",
            "s/a/b/gw out",
            "s/a/b/e",
            "s/a/b/pe",
            "e",
            "e date",
            "1e rm x",
            "r /etc/passwd",
            "R x",
            "W x",
            "/a/w x",
            "/a/,/b/e x",
            "p;w x",
            "p\nw x",
            "{p;w x}",
            "$!{e\n}",
            "s/[/]/e",
            "s/[/]/x/w out",
            "s/[/]/w out/",
            "s/a/b/;e id",
            "\\xaxe",
            "sxaxbxe",
            "s/a/b\\\nc/e",
            "a\\\ntext\ne id",
            "a\\",
            "i\\\nfoo",
            "y/a/b/e",
            "=e",
            "pe",
            "p w x",
            "5!e x",
            "#n\nw x",
            ":a w\ne",
            "v\ne",
            "F;w x",
            "b w;w x",
            "} w x",
            "s/a/b/Iw x",
            "s/a/b/m2e",
            "/[/]/w x/p",
            ":a#;w x",
            "ba#;w x",
            "t#;e id",
            "w /dev/stdout",
            "r FILE",
            "R f",
            "W f",
            "F",
            "z",
            "Q",
            "T",
            "l 20",
            "a more",
            "c x",
            "1i text; w file",
            "s/a/b/e",
            "s/a/b/w f",
            "s/a/b/m",
            "s/[/x/;p",
            "s/a",
            "1,p",
            "1",
            "y/a/b",
            "s/[[:a/b/",
            "s/[[.a/.]]/x/",
            "s/[[=a=]]/x/",
            "s/[/]/;a x/\ns/[/]/w out/",
            "é",
        ] {
            assert!(check(script).is_err(), "{script:?}");
        }
    }
}
