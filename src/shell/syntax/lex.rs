//! Characters to tokens. Quoting exactly as POSIX has it, so that `-de\lete` is seen as `-delete`.

use std::ops::Range;

use super::{MAX_BYTES, Piece, Variable, Word, refuse_at};
use crate::shell::{Refusal, Result};

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word(Word),
    /// `|`
    Pipe,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;` or a newline.
    End {
        newline: bool,
    },
    /// `<`, with no descriptor number or 0.
    Input,
    /// `>`, with its descriptor number (1 if none was written).
    Output(u8),
    /// `>&`, with its descriptor number.
    Duplicate(u8),
    /// `&>`
    BothOutput,
}

/// Splits `text` into tokens.
///
/// # Errors
/// A refusal at the first character that is outside the subset.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>> {
    if text.len() > MAX_BYTES {
        return Err(Refusal::new(
            format!("the command is {} bytes long, the limit is {MAX_BYTES}", text.len()),
            "split it into several calls",
        )
        .by("limit"));
    }
    characters(text)?;
    let mut lexer = Lexer { text, at: 0, tokens: Vec::new() };
    lexer.run()?;
    Ok(lexer.tokens)
}

/// Refuses characters that hide what a command does from the person who reads it.
fn characters(text: &str) -> Result<()> {
    for (at, c) in text.char_indices() {
        let what = match c {
            '\t' | '\n' => continue,
            '\r' => "a carriage return",
            '\0' => "a NUL character",
            c if c.is_control() => "a control character",
            '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}' => {
                "an invisible character"
            }
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}' => {
                "a character that changes the direction of text"
            }
            '\u{2028}' | '\u{2029}' => "a Unicode line separator",
            '\u{e0000}'..='\u{e007f}' => "an invisible tag character",
            _ => continue,
        };
        return Err(refuse_at(
            text,
            at..at + c.len_utf8(),
            format!("{what} (U+{:04X}) at byte {at}", c as u32),
            "remove it; a line ends with a plain line feed",
        ));
    }
    Ok(())
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn push(&mut self, kind: Kind, length: usize) {
        let span = self.at..self.at + length;
        self.at += length;
        self.tokens.push(Token { kind, span });
    }

    fn refuse<T>(&self, length: usize, message: &str, hint: &str) -> Result<T> {
        let message = format!("{message} at byte {}", self.at);
        Err(refuse_at(self.text, self.at..self.at + length, message, hint))
    }

    fn run(&mut self) -> Result<()> {
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' => self.at += 1,
                '\\' if self.rest().starts_with("\\\n") => self.at += 2,
                '\n' => self.push(Kind::End { newline: true }, 1),
                '#' => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                ';' => self.semicolon()?,
                '|' => self.pipe()?,
                '&' => self.ampersand()?,
                '<' => self.input(0)?,
                '>' => self.output(1, 0)?,
                '(' | ')' => {
                    return self.refuse(
                        1,
                        "parentheses (subshells, functions) are outside this shell",
                        "write the commands one after the other, or quote the parenthesis: '('",
                    );
                }
                _ => self.word_or_number()?,
            }
        }
        Ok(())
    }

    fn semicolon(&mut self) -> Result<()> {
        if self.rest().starts_with(";;") || self.rest().starts_with(";&") {
            return self.refuse(2, "`case` syntax is outside this shell", "use one `;`");
        }
        self.push(Kind::End { newline: false }, 1);
        Ok(())
    }

    fn pipe(&mut self) -> Result<()> {
        if self.rest().starts_with("||") {
            self.push(Kind::Or, 2);
        } else if self.rest().starts_with("|&") {
            return self.refuse(2, "`|&` is outside this shell", "write `2>&1 |`");
        } else {
            self.push(Kind::Pipe, 1);
        }
        Ok(())
    }

    fn ampersand(&mut self) -> Result<()> {
        if self.rest().starts_with("&&") {
            self.push(Kind::And, 2);
        } else if self.rest().starts_with("&>>") {
            return self.refuse(3, "appending to a file is not reading", "only `&>/dev/null`");
        } else if self.rest().starts_with("&>") {
            self.push(Kind::BothOutput, 2);
        } else {
            return self.refuse(
                1,
                "a command in the background",
                "leave the `&` away, or quote it: '&'",
            );
        }
        Ok(())
    }

    /// `<` after `digits` bytes of descriptor number.
    fn input(&mut self, digits: usize) -> Result<()> {
        let rest = &self.rest()[digits..];
        let (length, what) = match rest.as_bytes().get(1) {
            Some(b'<') => (2, "a here-document or here-string"),
            Some(b'&') => (2, "copying an input descriptor"),
            Some(b'>') => (2, "opening a file for reading and writing"),
            Some(b'(') => (2, "process substitution"),
            _ if digits > 0 && self.rest().as_bytes()[..digits] != *b"0" => {
                (1, "input on a descriptor other than 0")
            }
            _ => {
                self.push(Kind::Input, digits + 1);
                return Ok(());
            }
        };
        self.refuse(
            digits + length,
            &format!("{what} is outside this shell"),
            "only `< FILE` with a file inside the repository",
        )
    }

    /// `>` after `digits` bytes of descriptor number.
    fn output(&mut self, descriptor: u8, digits: usize) -> Result<()> {
        let rest = &self.rest()[digits..];
        match rest.as_bytes().get(1) {
            Some(b'>') => self.refuse(
                digits + 2,
                "appending to a file is not reading",
                "print the output instead; only >/dev/null and 2>/dev/null are allowed",
            ),
            Some(b'|') => self.refuse(
                digits + 2,
                "`>|` writes a file",
                "print the output instead; only >/dev/null and 2>/dev/null are allowed",
            ),
            Some(b'(') => {
                self.refuse(digits + 2, "process substitution", "write two commands instead")
            }
            Some(b'&') => {
                self.push(Kind::Duplicate(descriptor), digits + 2);
                Ok(())
            }
            _ => {
                self.push(Kind::Output(descriptor), digits + 1);
                Ok(())
            }
        }
    }

    /// A word, or the descriptor number of the redirection it touches.
    fn word_or_number(&mut self) -> Result<()> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            match self.rest().as_bytes().get(digits) {
                Some(b'<') => return self.input(digits),
                Some(b'>') => {
                    return match &self.rest()[..digits] {
                        "1" => self.output(1, digits),
                        "2" => self.output(2, digits),
                        _ => self.refuse(
                            digits + 1,
                            "redirection of a descriptor other than 1 and 2",
                            "only >/dev/null, 2>/dev/null, &>/dev/null, 2>&1 and 1>&2",
                        ),
                    };
                }
                _ => {}
            }
        }
        self.word()
    }

    fn word(&mut self) -> Result<()> {
        let start = self.at;
        let mut pieces = Pieces::default();
        let mut continued = false;
        while let Some(c) = self.peek() {
            match c {
                '<' | '>' if continued => {
                    return self.refuse(
                        1,
                        "a redirection right after a continued line",
                        "write the command on one line",
                    );
                }
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' => break,
                '(' | ')' => {
                    return self.refuse(
                        1,
                        "an unquoted parenthesis",
                        "quote it ('(' or \\() if it is meant for the program",
                    );
                }
                '`' => return self.substitution(1),
                '$' => {
                    let piece = self.dollar(false)?;
                    pieces.add(piece);
                }
                '\'' => pieces.add(self.single()?),
                '"' => self.double(&mut pieces)?,
                '\\' => match self.text[self.at + 1..].chars().next() {
                    Some('\n') => {
                        continued = true;
                        self.at += 2;
                    }
                    Some(escaped) => {
                        pieces.add(Piece::Quoted(escaped.to_string()));
                        self.at += 1 + escaped.len_utf8();
                    }
                    None => {
                        return self.refuse(1, "a backslash at the end", "quote it: '\\'");
                    }
                },
                c if c.is_ascii() => {
                    pieces.add(Piece::Plain(c.to_string()));
                    self.at += 1;
                }
                c => {
                    self.unquoted_unicode(c, self.at == start)?;
                    pieces.add(Piece::Plain(c.to_string()));
                    self.at += c.len_utf8();
                }
            }
        }
        let span = start..self.at;
        let word = Word { pieces: pieces.0, span: span.clone() };
        self.braces_and_tilde(&word)?;
        self.tokens.push(Token { kind: Kind::Word(word), span });
        Ok(())
    }

    /// Characters that look like syntax and are not, outside quotes.
    fn unquoted_unicode(&self, c: char, first: bool) -> Result<()> {
        let what = match c {
            c if c.is_whitespace() || c == '\u{180e}' || c == '\u{3164}' || c == '\u{2800}' => {
                "white space that is not a plain space"
            }
            '\u{ff01}'..='\u{ff5e}' | '\u{fe50}'..='\u{fe6f}' => {
                "a wide look-alike of a plain character"
            }
            '\u{2018}'..='\u{201f}' | '\u{2032}'..='\u{2037}' => "a typographic quote",
            '\u{2010}'..='\u{2015}' | '\u{2212}' if first => "a dash that is not a hyphen",
            '\u{37e}' | '\u{2223}' | '\u{2016}' | '\u{1c0}' => "a look-alike of an operator",
            _ => return Ok(()),
        };
        self.refuse(
            c.len_utf8(),
            &format!("{what} (U+{:04X})", c as u32),
            "write the plain ASCII character, or quote this one if it is meant",
        )
    }

    fn substitution<T>(&self, length: usize) -> Result<T> {
        self.refuse(
            length,
            "command substitution",
            "run the inner command first and use its output in a second call",
        )
    }

    /// `$…`, at the dollar sign.
    fn dollar(&mut self, quoted: bool) -> Result<Piece> {
        let rest = &self.rest()[1..];
        for (name, variable) in [("HOME", Variable::Home), ("PWD", Variable::Pwd)] {
            let braced = rest.strip_prefix('{').and_then(|r| r.strip_prefix(name));
            if braced.is_some_and(|r| r.starts_with('}')) {
                self.at += name.len() + 3;
                return Ok(Piece::Variable { name: variable, quoted });
            }
            let ends = |r: &str| {
                // A continued line could still lengthen the name.
                !r.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                    && !r.starts_with("\\\n")
            };
            if rest.strip_prefix(name).is_some_and(ends) {
                self.at += name.len() + 1;
                return Ok(Piece::Variable { name: variable, quoted });
            }
        }
        match rest.chars().next() {
            Some('(') => self.substitution(2),
            // A dollar sign that starts nothing is a dollar sign: the end of a pattern.
            None | Some(' ' | '\t' | '\n' | ';' | '|' | '&') if !quoted => {
                self.at += 1;
                Ok(Piece::Quoted("$".into()))
            }
            Some('"' | ' ' | '|' | ')' | '/') if quoted => {
                self.at += 1;
                Ok(Piece::Quoted("$".into()))
            }
            Some('\'') if !quoted => {
                self.refuse(2, "`$'…'` quoting", "write the characters in plain single quotes")
            }
            _ => {
                let length = 1 + rest
                    .bytes()
                    .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
                    .count();
                self.refuse(
                    length,
                    "an expansion other than $HOME and $PWD",
                    "write the value itself, or use single quotes if the dollar sign is meant",
                )
            }
        }
    }

    /// `'…'`, at the opening quote.
    fn single(&mut self) -> Result<Piece> {
        let inner = self.at + 1;
        let Some(length) = self.text[inner..].find('\'') else {
            return self.refuse(1, "a single quote that is not closed", "close it");
        };
        self.at = inner + length + 1;
        Ok(Piece::Quoted(self.text[inner..inner + length].to_owned()))
    }

    /// `"…"`, at the opening quote.
    fn double(&mut self, pieces: &mut Pieces) -> Result<()> {
        let open = self.at;
        self.at += 1;
        pieces.add(Piece::Quoted(String::new()));
        loop {
            let Some(c) = self.peek() else {
                self.at = open;
                return self.refuse(1, "a double quote that is not closed", "close it");
            };
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '`' => return self.substitution(1),
                '$' => {
                    let piece = self.dollar(true)?;
                    pieces.add(piece);
                }
                '\\' => {
                    let next = self.text[self.at + 1..].chars().next();
                    self.at += 1;
                    match next {
                        Some('\n') => self.at += 1,
                        Some(c @ ('$' | '`' | '"' | '\\')) => {
                            pieces.add(Piece::Quoted(c.to_string()));
                            self.at += 1;
                        }
                        _ => pieces.add(Piece::Quoted("\\".into())),
                    }
                }
                c => {
                    pieces.add(Piece::Quoted(c.to_string()));
                    self.at += c.len_utf8();
                }
            }
        }
    }

    /// Brace and tilde expansion are refused where any shell would do them.
    fn braces_and_tilde(&self, word: &Word) -> Result<()> {
        let refuse = |message: &str, hint: &str| {
            let message = format!("{message} at byte {}", word.span.start);
            Err(refuse_at(self.text, word.span.clone(), message, hint))
        };
        let mut before = None;
        for piece in &word.pieces {
            let Piece::Plain(text) = piece else {
                before = Some('q');
                continue;
            };
            for c in text.chars() {
                if c == '~' && matches!(before, None | Some('=' | ':')) {
                    return refuse("an unquoted `~`", "write $HOME, or quote it: '~'");
                }
                before = Some(c);
            }
        }
        let has_brace = word
            .pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Plain(text) if text.contains(['{', '}'])));
        if has_brace && !harmless_braces(word) {
            return refuse(
                "an unquoted brace (brace expansion, a group)",
                "write each word out, or quote it: '{'",
            );
        }
        Ok(())
    }
}

/// `{}` as it is written for find, and `name@{…}`, `name^{…}` as git writes revisions.
fn harmless_braces(word: &Word) -> bool {
    let [Piece::Plain(text)] = word.pieces.as_slice() else { return false };
    if text == "{}" {
        return true;
    }
    let mut rest = text.as_str();
    while let Some(open) = rest.find(['{', '}']) {
        let Some(inner) = rest[open..].strip_prefix('{') else { return false };
        let Some(close) = inner.find(['{', '}']) else { return false };
        let body = &inner[..close];
        let plain = body.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./+".contains(&b));
        if !rest[..open].ends_with(['@', '^']) || !inner[close..].starts_with('}') {
            return false;
        }
        if body.is_empty() || !plain || body.contains("..") {
            return false;
        }
        rest = &inner[close + 1..];
    }
    true
}

/// Pieces of the word being read, neighbours of one kind joined.
#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn add(&mut self, piece: Piece) {
        match (self.0.last_mut(), piece) {
            (Some(Piece::Plain(text)), Piece::Plain(more))
            | (Some(Piece::Quoted(text)), Piece::Quoted(more)) => text.push_str(&more),
            (_, piece) => self.0.push(piece),
        }
    }
}
