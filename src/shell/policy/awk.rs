//! `awk`, as far as it only processes text: a grammar of what is allowed, and nothing beside it.
//!
//! Precedence does not matter here, only the tokens and where an operand may stand: that decides
//! whether a `/` divides or opens a pattern, which is where awks could disagree.

use crate::shell::{Refusal, Result};

/// Functions that only compute. A name before a parenthesis is one of these or refused.
const FUNCTIONS: &[&str] = &[
    "atan2", "cos", "exp", "gensub", "gsub", "index", "int", "length", "log", "match", "rand",
    "sin", "split", "sprintf", "sqrt", "srand", "strftime", "strtonum", "sub", "substr", "systime",
    "tolower", "toupper",
];

/// Words that cannot stand for a value: those of statements, and what reaches outside.
const NO_VALUES: &[&str] = &[
    "ARGC", "ARGV", "BEGIN", "BEGINFILE", "END", "ENDFILE", "ENVIRON", "FUNCTAB", "PROCINFO",
    "SYMTAB", "break", "case", "close", "continue", "default", "delete", "do", "else", "exit",
    "fflush", "for", "func", "function", "getline", "if", "in", "next", "nextfile", "print",
    "printf", "return", "switch", "system", "while",
];

/// Between two operands; the longer before what they begin with.
const OPERATORS: &[&str] = &[
    "==", "=", "!=", "!~", "~", "<=", "<", ">=", ">", "+=", "+", "-=", "-", "*=", "*", "/=", "/",
    "%=", "%", "^=", "^",
];

/// Why a pattern is refused, and what to write.
const BRACKETS: (&str, &str) = (
    "has a pattern with brackets that awks read differently",
    "escape a slash: [\\/], do not put `]` first, and close classes: [[:alpha:]_]",
);

/// Parentheses, subscripts and statements in each other. Real programs stay below ten.
const DEEPEST: usize = 64;

/// Checks a program.
///
/// # Errors
/// A refusal for the first token outside the grammar.
pub fn check(program: &str) -> Result<()> {
    Reader { program: program.as_bytes(), at: 0, printing: false, depth: 0 }.items()
}

struct Reader<'a> {
    program: &'a [u8],
    at: usize,
    /// Inside a `print` statement, where `>` would write a file.
    printing: bool,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn refuse<T>(&self, message: impl std::fmt::Display, hint: &str) -> Result<T> {
        Err(Refusal::new(format!("the awk program {message} (at its byte {})", self.at), hint))
    }

    fn outside<T>(&self) -> Result<T> {
        let (message, hint) = match &self.program[self.at..] {
            [] => ("ends too early", "close every brace, parenthesis, string and pattern"),
            [b'>', ..] => (
                "has a `>` that writes a file",
                "print without redirection; compare in an `if` or in a variable first",
            ),
            [b'|', ..] => ("has a pipe to or from a program", "use the shell's own `|`"),
            [b'/', ..] => (
                "has a `/` that could be a division or a pattern",
                "put parentheses around the operand before it, or write `$0 ~ /…/`",
            ),
            rest => {
                let word = rest.iter().take_while(|b| is_of_name(**b)).count().max(1);
                let word = String::from_utf8_lossy(&rest[..word]);
                return self.refuse(
                    format_args!("has a `{}` where none is allowed", word.escape_default()),
                    "only patterns, comparisons, arithmetic, print, printf, if, for, while and \
                     text functions, on the files given as operands",
                );
            }
        };
        self.refuse(message, hint)
    }

    /// The next token's first byte, behind whitespace, continued lines and comments.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match &self.program[self.at..] {
                [b' ' | b'\t', ..] => self.at += 1,
                [b'\\', b'\n', ..] => self.at += 2,
                [b'#', rest @ ..] => {
                    self.at += 1 + rest.iter().take_while(|b| **b != b'\n').count()
                }
                rest => return rest.first().copied(),
            }
        }
    }

    fn takes(&mut self, token: &str) -> bool {
        self.peek();
        let is_next = self.program[self.at..].starts_with(token.as_bytes());
        self.at += if is_next { token.len() } else { 0 };
        is_next
    }

    fn wants(&mut self, token: &str) -> Result<()> {
        if self.takes(token) { Ok(()) } else { self.outside() }
    }

    fn newlines(&mut self) {
        while self.takes("\n") {}
    }

    fn separators(&mut self) {
        while self.takes("\n") || self.takes(";") {}
    }

    /// The name that comes next, or nothing; it is not taken.
    fn name(&mut self) -> &'a str {
        let program = self.program;
        if self.peek().is_none_or(|b| b.is_ascii_digit()) {
            return "";
        }
        let rest = &program[self.at..];
        let length = rest.iter().take_while(|b| is_of_name(**b)).count();
        std::str::from_utf8(&rest[..length]).unwrap_or_default()
    }

    fn takes_name(&mut self, name: &str) -> bool {
        let is_next = self.name() == name;
        self.at += if is_next { name.len() } else { 0 };
        is_next
    }

    /// The name of a variable, taken.
    fn variable(&mut self) -> Result<()> {
        let name = self.name();
        if name.is_empty() || NO_VALUES.contains(&name) || FUNCTIONS.contains(&name) {
            return self.outside();
        }
        self.at += name.len();
        Ok(())
    }

    fn deeper(&mut self, inner: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.depth == DEEPEST {
            return self.refuse("is nested too deep", "write it flatter");
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn items(&mut self) -> Result<()> {
        loop {
            self.separators();
            if self.peek().is_none() {
                return Ok(());
            }
            if self.takes_name("BEGIN") || self.takes_name("END") {
                self.block()?;
                continue;
            }
            if self.peek() != Some(b'{') {
                self.list()?;
            }
            match self.peek() {
                Some(b'{') => self.block()?,
                None | Some(b'\n' | b';') => {}
                Some(_) => return self.outside(),
            }
        }
    }

    fn block(&mut self) -> Result<()> {
        self.wants("{")?;
        loop {
            self.separators();
            if self.takes("}") {
                return Ok(());
            }
            self.deeper(Self::statement)?;
        }
    }

    fn statement(&mut self) -> Result<()> {
        if self.peek() == Some(b'{') {
            return self.block();
        }
        if self.takes_name("if") || self.takes_name("while") {
            self.parenthesis()?;
            self.body()?;
            self.separators();
            return if self.takes_name("else") { self.body() } else { Ok(()) };
        }
        if self.takes_name("for") {
            self.wants("(")?;
            self.for_head()?;
            return self.body();
        }
        if self.takes_name("print") || self.takes_name("printf") {
            self.printing = true;
            self.optional(Self::list)?;
            self.printing = false;
        } else if self.takes_name("exit") {
            self.optional(Self::expression)?;
        } else if self.takes_name("delete") {
            self.variable()?;
            self.subscript()?;
        } else if !["next", "break", "continue"].iter().any(|word| self.takes_name(word)) {
            self.simple()?;
        }
        match self.peek() {
            Some(b'\n' | b';' | b'}') => Ok(()),
            _ => self.outside(),
        }
    }

    /// A statement that is an expression. A pattern here, after the parentheses of an `if`, would
    /// be a division to some awks.
    fn simple(&mut self) -> Result<()> {
        if self.peek() == Some(b'/') { self.outside() } else { self.expression() }
    }

    /// What an `if` or a loop does; `;` is nothing.
    fn body(&mut self) -> Result<()> {
        self.newlines();
        if self.takes(";") { Ok(()) } else { self.deeper(Self::statement) }
    }

    /// What may be missing before the end of a statement.
    fn optional(&mut self, inner: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if matches!(self.peek(), Some(b'\n' | b';' | b'}')) { Ok(()) } else { inner(self) }
    }

    /// `k in a)` or `first; condition; next)`.
    fn for_head(&mut self) -> Result<()> {
        let start = self.at;
        if self.variable().is_ok() && self.takes_name("in") {
            self.variable()?;
            return self.wants(")");
        }
        self.at = start;
        for end in [";", ";", ")"] {
            if !self.takes(end) {
                self.simple()?;
                self.wants(end)?;
            }
        }
        Ok(())
    }

    fn parenthesis(&mut self) -> Result<()> {
        self.wants("(")?;
        self.deeper(Self::list)?;
        self.wants(")")
    }

    fn subscript(&mut self) -> Result<()> {
        if self.takes("[") {
            self.deeper(Self::list)?;
            self.wants("]")?;
        }
        Ok(())
    }

    fn list(&mut self) -> Result<()> {
        self.expression()?;
        while self.takes(",") {
            self.newlines();
            self.expression()?;
        }
        Ok(())
    }

    /// Operands with operators between them, or beside each other.
    fn expression(&mut self) -> Result<()> {
        // `?` whose `:` has not come.
        let mut choices = 0_usize;
        let mut divisible = self.operand()?;
        loop {
            if self.takes("++") || self.takes("--") {
                divisible = false;
                continue;
            }
            if self.takes_name("in") {
                self.variable()?;
                divisible = true;
                continue;
            }
            match self.peek() {
                Some(b'"' | b'$' | b'(' | b'.') => {}
                Some(byte) if is_of_name(byte) => {}
                Some(b'?') => {
                    choices += 1;
                    self.at += 1;
                }
                Some(b':') if choices > 0 => {
                    choices -= 1;
                    self.at += 1;
                }
                Some(_) if self.takes("&&") || self.takes("||") => self.newlines(),
                Some(b'>') if self.printing || self.program[self.at..].starts_with(b">>") => {
                    return self.outside();
                }
                Some(b'/') if !divisible => return self.outside(),
                Some(_) if OPERATORS.iter().any(|operator| self.takes(operator)) => {}
                _ if choices == 0 => return Ok(()),
                _ => return self.outside(),
            }
            divisible = self.operand()?;
        }
    }

    /// Whether a `/` after it is a division to every awk.
    fn operand(&mut self) -> Result<bool> {
        loop {
            if self.takes("++") || self.takes("--") {
                if self.name().is_empty() && self.peek() != Some(b'$') {
                    return self.outside();
                }
            } else if self.takes("$") {
                match self.peek() {
                    Some(b'$' | b'(') => {}
                    Some(byte) if is_of_name(byte) => {}
                    _ => return self.outside(),
                }
            } else if !(self.takes("!") || self.takes("-") || self.takes("+")) {
                break;
            }
        }
        match self.peek() {
            Some(b'"') => self.quoted(),
            Some(b'/') => return self.quoted().map(|()| false),
            Some(b'(') => self.parenthesis(),
            Some(b'0'..=b'9' | b'.') => self.number(),
            _ => return self.value(),
        }
        .map(|()| true)
    }

    /// A variable, an element of an array, a function's result.
    fn value(&mut self) -> Result<bool> {
        let name = self.name();
        if !FUNCTIONS.contains(&name) {
            self.variable()?;
            // A variable beside parentheses looks like a call, so it is none.
            if self.peek() == Some(b'(') {
                return self.refuse(
                    format_args!("calls `{name}`, which is not among the functions allowed"),
                    "use length, substr, split, index, match, sub, gsub, sprintf, tolower, …; \
                     join a variable to parentheses as `x \"\" (…)`",
                );
            }
            return self.subscript().map(|()| true);
        }
        self.at += name.len();
        if self.peek() != Some(b'(') && name == "length" {
            return Ok(false);
        }
        self.wants("(")?;
        if !self.takes(")") {
            self.deeper(Self::list)?;
            self.wants(")")?;
        }
        Ok(true)
    }

    /// A string or a pattern. Brackets are read as every awk does: some end a pattern at a `/` in
    /// them.
    fn quoted(&mut self) -> Result<()> {
        let is_regex = self.program[self.at] == b'/';
        let mut is_bracket = false;
        self.at += 1;
        loop {
            self.at += match &self.program[self.at..] {
                [] | [b'\n', ..] | [b'\\'] | [b'\\', b'\n', ..] => {
                    return self.refuse("has a string or a pattern over several lines", "close it");
                }
                [b'/' | b'\\', b']', ..] | [b'/', ..] | [b'[', b'.' | b'=', ..] if is_bracket => {
                    return self.refuse(BRACKETS.0, BRACKETS.1);
                }
                [b']', ..] if is_bracket => {
                    is_bracket = false;
                    1
                }
                [b'[', b':', class @ ..] if is_bracket => {
                    let length = class.iter().take_while(|b| b.is_ascii_alphabetic()).count();
                    if !class[length..].starts_with(b":]") {
                        return self.refuse(BRACKETS.0, BRACKETS.1);
                    }
                    length + 4
                }
                [b'\\', ..] => 2,
                [b'[', rest @ ..] if is_regex && !is_bracket => {
                    is_bracket = true;
                    let is_not = usize::from(rest.starts_with(b"^"));
                    if rest[is_not..].starts_with(b"]") {
                        return self.refuse(BRACKETS.0, BRACKETS.1);
                    }
                    1 + is_not
                }
                [b'"', ..] if !is_regex => break,
                [b'/', ..] if is_regex => break,
                _ => 1,
            };
        }
        self.at += 1;
        Ok(())
    }

    /// A number ends before a letter: in `1system("x")` it is followed by a call.
    fn number(&mut self) -> Result<()> {
        let count = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_digit()).count();
        let rest = &self.program[self.at..];
        let mut end = rest.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
        if let [b'e' | b'E', exponent @ ..] = &rest[end..] {
            let sign = usize::from(matches!(exponent, [b'+' | b'-', ..]));
            let digits = count(&exponent[sign..]);
            end += if digits > 0 { 1 + sign + digits } else { 0 };
        }
        self.at += end;
        if rest.get(end).is_some_and(|b| is_of_name(*b)) {
            return self.refuse("has letters right after a number", "write a space between them");
        }
        Ok(())
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
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
            "{ print $1,\n $2 }",
            "# comment | system\n{print}",
            "{a[$1]=a[$1] \",\" $2}",
            "END{for (k in a) print k, a[k]}",
            "{print substr($0, 1, 10)}",
            "{if (/x/) print}",
            "{for (i=1;i<=NF;i++) if ($i ~ /^[[:alpha:]]+$/) print $i}",
            "{print $1 / $2}",
            "NR >= 10 && NR <= 20 {print FILENAME \":\" FNR \": \" $0; next} END {exit 1}",
            "{n[$1] += $2; m = m > $2 ? m : $2} END {for (k in n) printf(\"%s %d\\n\", k, n[k])}",
            "BEGIN {FS = OFS = \"\\t\"} !($1 in seen) {seen[$1]; print $1, $(NF - 1), -x[1, 2]}",
            "($1, $2) in a {delete a[$1, $2]; count--}\n$NF !~ /[^\\/]+\\/$/",
            "{if (a) print b\n else if (c) {print d} else\n print e}",
            "{while (match($0, /x+/)) {s = s substr($0, RSTART, RLENGTH); sub(/x+/, \"\"); n++}}",
            "{if (x) {}; for (;;) break; if (y); for (i = NF; i > 0; i--) print $i}",
            "BEGIN {print length(\"abc\"), int(7 / 2), 2 ^ 10, 7 % 3, 1.5e3}",
            "function_name = 1; print_it {print toupper(substr($1, 1, 1)) substr($1, 2)}",
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
            "BEGIN {print ENVIRON[\"HOME\"]}",
            "{while ((getline line) > 0) n++} END {print n}",
            "{system \"id\"}",
            "function f(x) {return x} {print f($1)}",
            "BEGIN {do print; while (0)}",
            "BEGIN {close(\"x\"); fflush()}",
            "BEGIN {asort(a, b, \"f\")}",
            "{print x (y)}",
            "{print} /x",
            "{print",
            "{print (1}",
            "{print 1)}",
            "}",
            "{print a ? b}",
            "{print a : b}",
            "{if (x) else print}",
            "{x[1}",
            "{print ++/a/}",
            "{print $/a/}",
            "{print 1 2e}",
            "{print a; print b > c}",
            "{for (k in a > b) print}",
            "{x = a >> b}",
            "BEGIN",
            "BEGIN\n{print}",
            "{print é}",
            // gawk stays in the brackets behind a class that is none.
            "/[a[:b]/ ~ \"]/ {system(x)} #\"",
        ] {
            assert!(check(program).is_err(), "{program:?}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        for (open, times) in [
            ("{x = ", 1),
            ("(", 100_000),
            ("a[", 100_000),
            ("{", 100_000),
            ("int(", 100_000),
            ("if (1) ", 100_000),
            ("$(", 100_000),
            ("for (k in a) ", 100_000),
            ("!", 100_000),
            ("if (1) ; else ", 100_000),
            ("1?", 100_000),
            ("-", 100_000),
            ("$", 100_000),
        ] {
            let program = format!("{{{}", open.repeat(times));
            assert!(check(&program).is_err(), "{open}");
        }
        assert!(check(&format!("{{x = {}1{}}}", "(".repeat(50), ")".repeat(50))).is_ok());
    }
}
