//! The language of `awk`, without what reads and writes other files or runs programs.
//!
//! A tokenizer, not a parser: it finds every token of the program for certain, or refuses. What
//! acts on the world in awk is then a matter of a few tokens: `system`, `|`, `>` in a print
//! statement, `<` after `getline`, `@`.

use crate::shell::{Refusal, Result};

/// Names that reach outside the input that was given.
const FORBIDDEN: &[(&str, &str)] = &[
    ("system", "runs a program"),
    ("ARGV", "changes which files are read"),
    ("ARGC", "changes which files are read"),
    ("SYMTAB", "changes which files are read"),
    ("FUNCTAB", "calls a function by a computed name"),
    ("switch", "makes the program too hard to check"),
    ("case", "makes the program too hard to check"),
];

/// Checks a program.
///
/// # Errors
/// A refusal for the first token that reaches outside, or that cannot be read for certain.
pub fn check(program: &str) -> Result<()> {
    let mut reader = Reader {
        program: program.as_bytes(),
        at: 0,
        before: Token::Newline,
        printing: false,
        getting: false,
        depth: 0,
        heads: Vec::new(),
    };
    reader.run()
}

/// The token before, as far as it decides what a `/` is and whether a newline ends a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// A name that is not a keyword, a number, a string: something with a value.
    Value,
    /// `length`, which may stand without parentheses.
    Length,
    /// A keyword after which an expression begins.
    Keyword,
    /// `if`, `while` or `for`, whose parentheses are followed by a statement.
    Head,
    /// `)` at the end of such parentheses.
    HeadEnd,
    /// `)` or `]`.
    Close,
    /// `++`, `--`, `$`, a regular expression, `getline`: what a `/` means after them is unclear.
    Unclear,
    /// `,`, `&&`, `||`: the statement goes on after a newline.
    Joins,
    /// Any other operator.
    Operator,
    Newline,
}

struct Reader<'a> {
    program: &'a [u8],
    at: usize,
    before: Token,
    /// Inside the arguments of `print` or `printf`.
    printing: bool,
    /// After `getline`, in the same statement.
    getting: bool,
    /// Open parentheses.
    depth: usize,
    /// For each open parenthesis: it belongs to `if`, `while` or `for`.
    heads: Vec<bool>,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.program.get(self.at + ahead).copied()
    }

    fn refuse<T>(&self, message: impl std::fmt::Display, hint: &str) -> Result<T> {
        Err(Refusal::new(format!("the awk program {message} (at its byte {})", self.at), hint))
    }

    fn step(&mut self, length: usize, token: Token) {
        self.at += length;
        self.before = token;
    }

    fn end_statement(&mut self) {
        self.printing = false;
        self.getting = false;
    }

    fn run(&mut self) -> Result<()> {
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.peek(1) == Some(b'\n') => self.at += 2,
                b'#' => {
                    while self.peek(0).is_some_and(|b| b != b'\n') {
                        self.at += 1;
                    }
                }
                b'\n' => {
                    // After `?` and `:` too some go on in the next line; a statement that ended
                    // before is not made to go on by that.
                    let goes_on = matches!(self.before, Token::Joins | Token::Operator);
                    if self.depth == 0 && !goes_on {
                        self.end_statement();
                        self.before = Token::Newline;
                    }
                    self.at += 1;
                }
                b'"' => self.string()?,
                b'/' => self.slash()?,
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.name()?,
                b'0'..=b'9' => self.number()?,
                b'.' if self.peek(1).is_some_and(|b| b.is_ascii_digit()) => self.number()?,
                _ => self.operator(byte)?,
            }
        }
        Ok(())
    }

    fn string(&mut self) -> Result<()> {
        let mut end = self.at + 1;
        loop {
            match self.program.get(end) {
                Some(b'"') => break,
                Some(b'\\') if self.program.get(end + 1).is_some_and(|b| *b != b'\n') => end += 2,
                Some(b'\\' | b'\n') | None => {
                    return self.refuse("has a string over several lines", "close the string");
                }
                Some(_) => end += 1,
            }
        }
        self.at = end + 1;
        self.before = Token::Value;
        Ok(())
    }

    /// A number ends before a letter: in `1system("x")` it is followed by a call.
    fn number(&mut self) -> Result<()> {
        let numeric = |b: u8| b.is_ascii_digit() || b == b'.';
        while self.peek(0).is_some_and(numeric) {
            self.at += 1;
        }
        if matches!(self.peek(0), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.peek(1), Some(b'+' | b'-')));
            if self.peek(1 + sign).is_some_and(|b| b.is_ascii_digit()) {
                self.at += 1 + sign;
                while self.peek(0).is_some_and(|b| b.is_ascii_digit()) {
                    self.at += 1;
                }
            }
        }
        if self.peek(0).is_some_and(|b| b.is_ascii_alphabetic() || b == b'_') {
            return self.refuse("has letters right after a number", "write a space between them");
        }
        self.before = Token::Value;
        Ok(())
    }

    fn name(&mut self) -> Result<()> {
        let start = self.at;
        let mut end = start;
        while self.program.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            end += 1;
        }
        let name = std::str::from_utf8(&self.program[start..end]).unwrap_or_default();
        if let Some((_, does)) = FORBIDDEN.iter().find(|(forbidden, _)| *forbidden == name) {
            return self.refuse(
                format_args!("uses `{name}`, which {does}"),
                "only text processing of the files given as operands",
            );
        }
        let token = match name {
            "print" | "printf" => {
                self.printing = true;
                Token::Keyword
            }
            "getline" => {
                self.getting = true;
                Token::Unclear
            }
            "if" | "while" | "for" => Token::Head,
            "length" => Token::Length,
            "else" | "do" => {
                self.end_statement();
                Token::Keyword
            }
            "return" | "in" | "exit" => Token::Keyword,
            "BEGIN" | "END" | "function" | "func" | "delete" | "next" | "nextfile" | "break"
            | "continue" | "BEGINFILE" | "ENDFILE" => Token::Unclear,
            _ => Token::Value,
        };
        self.at = end;
        self.before = token;
        Ok(())
    }

    /// Division or the start of a regular expression, by what stands before.
    fn slash(&mut self) -> Result<()> {
        match self.before {
            Token::Value | Token::Close => {
                self.step(1, Token::Operator);
                Ok(())
            }
            Token::Length | Token::Unclear => self.refuse(
                "has a `/` that could be a division or a pattern",
                "put parentheses around the operand before it",
            ),
            _ => self.regex(),
        }
    }

    fn regex(&mut self) -> Result<()> {
        let unclear = "has a pattern with an unescaped `/` or `]` in brackets, or not closed";
        let hint = "escape the slash: [\\/], and do not put `]` first in brackets";
        let mut end = self.at + 1;
        let mut bracket = false;
        loop {
            match self.program.get(end) {
                None | Some(b'\n') => return self.refuse(unclear, hint),
                Some(b'/') if bracket => return self.refuse(unclear, hint),
                Some(b'/') => break,
                Some(b'\\') => {
                    let next = self.program.get(end + 1);
                    if next.is_none_or(|b| *b == b'\n') || (bracket && next == Some(&b']')) {
                        return self.refuse(unclear, hint);
                    }
                    end += 1;
                }
                Some(b'[') if bracket => {
                    if matches!(self.program.get(end + 1), Some(b':')) {
                        let class = &self.program[end + 2..];
                        let length = class.iter().take_while(|b| b.is_ascii_alphabetic()).count();
                        if class[length..].starts_with(b":]") {
                            end += length + 3;
                        }
                    } else if matches!(self.program.get(end + 1), Some(b'.' | b'=')) {
                        return self.refuse(unclear, hint);
                    }
                }
                Some(b'[') => {
                    bracket = true;
                    if self.program.get(end + 1) == Some(&b'^') {
                        end += 1;
                    }
                    if self.program.get(end + 1) == Some(&b']') {
                        return self.refuse(unclear, hint);
                    }
                }
                Some(b']') => bracket = false,
                Some(_) => {}
            }
            end += 1;
        }
        self.at = end + 1;
        self.before = Token::Unclear;
        Ok(())
    }

    fn operator(&mut self, byte: u8) -> Result<()> {
        let next = self.peek(1);
        match (byte, next) {
            (b'|', Some(b'|')) | (b'&', Some(b'&')) => self.step(2, Token::Joins),
            (b'|', _) => {
                return self.refuse("has a pipe to or from a program", "use the shell's own `|`");
            }
            (b'@', _) => {
                return self.refuse("uses `@`, an extension", "write the function's name");
            }
            (b'>', Some(b'>')) => {
                return self.refuse("appends to a file", "print without redirection");
            }
            (b'>', _) if self.printing => {
                return self.refuse(
                    "has a `>` in a print statement, which writes a file",
                    "print without redirection; compare in an `if` or in a variable first",
                );
            }
            (b'<', _) if self.getting => {
                return self
                    .refuse("reads a file with getline", "give the file as an operand instead");
            }
            (b'+', Some(b'+')) | (b'-', Some(b'-')) => self.step(2, Token::Unclear),
            (b'$', _) => self.step(1, Token::Unclear),
            (b',', _) => self.step(1, Token::Joins),
            (b';', _) => {
                self.end_statement();
                self.step(1, Token::Operator);
            }
            (b'{' | b'}', _) => {
                self.end_statement();
                self.step(1, Token::Operator);
            }
            (b'(', _) => {
                self.heads.push(self.before == Token::Head);
                self.depth += 1;
                self.step(1, Token::Operator);
            }
            (b')', _) => {
                let head = self.heads.pop().unwrap_or(false);
                self.depth = self.depth.saturating_sub(1);
                self.step(1, if head { Token::HeadEnd } else { Token::Close });
            }
            (b']', _) => self.step(1, Token::Close),
            (
                b'[' | b'=' | b'!' | b'~' | b'<' | b'>' | b'+' | b'-' | b'*' | b'%' | b'^' | b'?'
                | b':' | b'&',
                _,
            ) => self.step(1, Token::Operator),
            _ => {
                return self.refuse(
                    format_args!("has a `{}` outside a string", char::from(byte).escape_default()),
                    "use plain POSIX awk",
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn text_processing_is_allowed() {
        for program in [
            "{print $1}",
            "NR==1",
            "/a/,/b/",
            "{sum += $1} END {print sum/NR}",
            "$3 > 5",
            "BEGIN {FS=\":\"} {print $1, $NF}",
            "{print (NR % 2) / 2}",
            "!seen[$0]++",
            "$0 ~ /x|y/ {print}",
            "{if ($1 > 3) print $2; else print \"x > y | z\"}",
            "{gsub(/[\\/]/, \"_\"); print}",
            "length > 80",
            "{print 1e3, 1E-3 $1, .5, 5., 1e3 * 2}",
            "{x = $1 > 2; print x}",
            "NF",
            "{printf \"%s\\n\", $1}",
            "{while ((getline line) > 0) n++} END {print n}",
            "{ print $1,\n $2 }",
            "# comment | system\n{print}",
            "{a[$1]=a[$1] \",\" $2}",
            "END{for (k in a) print k, a[k]}",
            "{print substr($0, 1, 10)}",
            "{if (/x/) print}",
            "{for (i=1;i<=NF;i++) if ($i ~ /^[[:alpha:]]+$/) print $i}",
            "{print $1 / $2}",
        ] {
            assert!(check(program).is_ok(), "{program:?}: {:?}", check(program));
        }
    }

    #[test]
    fn files_and_programs_are_not() {
        for program in [
            "BEGIN {system(\"id\")}",
            "BEGIN {system (\"id\")}",
            "{print > \"x\"}",
            "{print >> \"x\"}",
            "{print $1 > $2}",
            "{print | \"sh\"}",
            "{printf \"a\" > \"x\"}",
            "BEGIN {\"id\" | getline x}",
            "BEGIN {\"id\" |& getline}",
            "{print |& \"sh\"}",
            "BEGIN {while ((getline l < \"/etc/passwd\") > 0) print l}",
            "{getline < \"x\"}",
            "@include \"x\"",
            "@load \"filefuncs\"",
            "BEGIN {f=\"system\"; @f(\"id\")}",
            "{print(1)(2) > \"x\"}",
            "{print (1 > \"x\")}",
            "{print a,\n b > \"x\"}",
            "{print a \\\n > \"x\"}",
            "BEGIN {ARGV[1]=\"/etc/passwd\"; ARGC=2}",
            "BEGIN {awk::system(\"id\")}",
            "{x = y++ / \"a\" | \"sh\" / 2}",
            "{$/\"/ | \"sh\"}",
            "{print length / \"/ > \"x\"}",
            "{print \"a\\\" > \\\"\" > \"x\"}",
            "{if (x) /\"/; print > \"x\" #\"/\n}",
            "/[/]\"/ | \"sh\"",
            "{print a ? b : c > \"x\"}",
            "{print a ?\n b : c > \"x\"}",
            "{print a ? b :\n c > \"x\"}",
            "{ printf(\"x\") > \"f\" }",
            "{print > $1\".txt\"}",
            "{ print a || b > \"f\" }",
            "{print a &&\n b > \"f\"}",
            "BEGIN{SYMTAB[\"ARGV\"]}",
            "{print a\n| \"sh\"}",
            "switch (x) {case /\"/: print}",
            "{`id`}",
            "BEGIN{printf \"x\" | \"cat 1>&2\"}",
            "BEGIN {x = 1system(\"id\")}",
            "BEGIN {x = 1.5e3system(\"id\")}",
            "BEGIN {x = .5system(\"id\")}",
            "BEGIN {x = 1e+system(\"id\")}",
            "BEGIN {x = 0x1getline < \".env\"; print}",
            "BEGIN {x = 1getline l < \".env\"; print l}",
            "BEGIN {x = 1_system(\"id\")}",
        ] {
            assert!(check(program).is_err(), "{program:?}");
        }
    }
}
