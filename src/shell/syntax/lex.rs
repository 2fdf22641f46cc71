//! Characters to tokens. Quoting exactly as POSIX has it, so that `-de\lete` is seen as `-delete`.

use std::ops::Range;

use super::{MAX_BYTES, Word, refuse_at};
use crate::shell::{Refusal, Result};

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) span: Range<usize>,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'t> {
    Word(Word<'t>),
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
    /// `(`
    Open,
    /// `)`
    Close,
}

/// Refuses characters that hide what a command does from the person who reads it.
fn characters(text: &str) -> Result<()> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n')) {
        return Ok(());
    }
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

/// The reader; words are read in `word.rs`.
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// Variables of the loops around the next token.
    pub(super) loops: Vec<&'a str>,
}

impl<'a> Lexer<'a> {
    /// A reader at the start of `text`.
    ///
    /// # Errors
    /// A refusal of a text that is too long, or of the first character that hides something.
    pub(super) fn new(text: &'a str) -> Result<Self> {
        if text.len() > MAX_BYTES {
            return Err(Refusal::new(
                format!("the command is {} bytes long, the limit is {MAX_BYTES}", text.len()),
                "split it into several calls",
            )
            .by("limit"));
        }
        characters(text)?;
        Ok(Self { text, at: 0, loops: Vec::new() })
    }

    /// The next token; `None` at the end.
    ///
    /// # Errors
    /// A refusal at the first character that is outside the subset.
    pub(super) fn next(&mut self) -> Result<Option<Token<'a>>> {
        while let Some(c) = self.peek() {
            let token = match c {
                ' ' | '\t' => {
                    self.at += 1;
                    continue;
                }
                '\\' if self.rest().starts_with("\\\n") => {
                    self.at += 2;
                    continue;
                }
                '#' => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                    continue;
                }
                '\n' => self.token(TokenKind::End { newline: true }, 1),
                ';' => self.semicolon()?,
                '|' => self.pipe()?,
                '&' => self.ampersand()?,
                '<' => self.input(0)?,
                '>' => self.output(1, 0)?,
                '(' => self.token(TokenKind::Open, 1),
                ')' => self.token(TokenKind::Close, 1),
                _ => self.word_or_number()?,
            };
            return Ok(Some(token));
        }
        Ok(None)
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// A token of the next `length` bytes.
    fn token(&mut self, kind: TokenKind<'a>, length: usize) -> Token<'a> {
        let span = self.at..self.at + length;
        self.at += length;
        Token { kind, span }
    }

    pub(super) fn refuse<T>(&self, length: usize, message: &str, hint: &str) -> Result<T> {
        let message = format!("{message} at byte {}", self.at);
        Err(refuse_at(self.text, self.at..self.at + length, message, hint))
    }

    fn semicolon(&mut self) -> Result<Token<'a>> {
        if self.rest().starts_with(";;") || self.rest().starts_with(";&") {
            return self.refuse(2, "`case` syntax is outside this shell", "use one `;`");
        }
        Ok(self.token(TokenKind::End { newline: false }, 1))
    }

    fn pipe(&mut self) -> Result<Token<'a>> {
        if self.rest().starts_with("||") {
            Ok(self.token(TokenKind::Or, 2))
        } else if self.rest().starts_with("|&") {
            self.refuse(2, "`|&` is outside this shell", "write `2>&1 |`")
        } else {
            Ok(self.token(TokenKind::Pipe, 1))
        }
    }

    fn ampersand(&mut self) -> Result<Token<'a>> {
        if self.rest().starts_with("&&") {
            Ok(self.token(TokenKind::And, 2))
        } else if self.rest().starts_with("&>>") {
            self.refuse(3, "appending to a file is not reading", "only `&>/dev/null`")
        } else if self.rest().starts_with("&>") {
            Ok(self.token(TokenKind::BothOutput, 2))
        } else {
            self.refuse(1, "a command in the background", "leave out the `&`, or quote it: '&'")
        }
    }

    /// `<` after `digits` bytes of descriptor number.
    fn input(&mut self, digits: usize) -> Result<Token<'a>> {
        let rest = &self.rest()[digits..];
        let (length, what) = match rest.as_bytes().get(1) {
            Some(b'<') => (2, "a here-document or here-string"),
            Some(b'&') => (2, "copying an input descriptor"),
            Some(b'>') => (2, "opening a file for reading and writing"),
            Some(b'(') => (2, "process substitution"),
            _ if digits > 0 && self.rest().as_bytes()[..digits] != *b"0" => {
                (1, "input on a descriptor other than 0")
            }
            _ => return Ok(self.token(TokenKind::Input, digits + 1)),
        };
        self.refuse(
            digits + length,
            &format!("{what} is outside this shell"),
            "only `< FILE` with a file inside the repository",
        )
    }

    /// `>` after `digits` bytes of descriptor number.
    fn output(&mut self, descriptor: u8, digits: usize) -> Result<Token<'a>> {
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
            Some(b'&') => Ok(self.token(TokenKind::Duplicate(descriptor), digits + 2)),
            _ => Ok(self.token(TokenKind::Output(descriptor), digits + 1)),
        }
    }

    /// A word, or the descriptor number of the redirection it touches.
    fn word_or_number(&mut self) -> Result<Token<'a>> {
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
}
