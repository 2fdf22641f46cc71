//! Words: quoting, the variables that are expanded, and what a shell would expand that is refused here.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::lex::{Lexer, Token, TokenKind};
use super::{Piece, Variable, Word, refuse_at};
use crate::shell::Result;

impl<'a> Lexer<'a> {
    /// A word, at its first character.
    pub(super) fn word(&mut self) -> Result<Token<'a>> {
        let start = self.at;
        let mut pieces = Pieces(SmallVec::new());
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
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' | ')' => break,
                '(' => {
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
                '\'' => {
                    let text = self.single()?;
                    pieces.quoted(text);
                }
                '"' => self.double(&mut pieces)?,
                '\\' => match self.text[self.at + 1..].chars().next() {
                    Some('\n') => {
                        continued = true;
                        self.at += 2;
                    }
                    Some(escaped) => {
                        let length = escaped.len_utf8();
                        pieces.quoted(&self.text[self.at + 1..][..length]);
                        self.at += 1 + length;
                    }
                    None => {
                        return self.refuse(1, "a backslash at the end", "quote it: '\\'");
                    }
                },
                c if c.is_ascii() => {
                    let run = self
                        .rest()
                        .bytes()
                        .take_while(|b| ORDINARY[usize::from(*b)])
                        .count()
                        .max(1);
                    pieces.plain(&self.text[self.at..self.at + run]);
                    self.at += run;
                }
                c => {
                    self.unquoted_unicode(c, self.at == start)?;
                    let length = c.len_utf8();
                    pieces.plain(&self.text[self.at..self.at + length]);
                    self.at += length;
                }
            }
        }
        let span = start..self.at;
        let word = Word { pieces: pieces.0, span: span.clone() };
        self.braces_and_tilde(&word)?;
        Ok(Token { kind: TokenKind::Word(word), span })
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
    fn dollar(&mut self, quoted: bool) -> Result<Piece<'a>> {
        let rest = &self.rest()[1..];
        let loops = self.loops.iter().map(|name| Variable::Loop(name));
        for variable in [Variable::Home, Variable::Pwd].into_iter().chain(loops) {
            let name = variable.name();
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
            None | Some(' ' | '\t' | '\n' | ';' | '|' | '&' | ')') if !quoted => {
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
                    "an expansion other than $HOME, $PWD and the variable of a loop around it",
                    "write the value itself, or use single quotes if the dollar sign is meant",
                )
            }
        }
    }

    /// `'…'`, at the opening quote.
    fn single(&mut self) -> Result<&'a str> {
        let inner = self.at + 1;
        let Some(length) = self.text[inner..].find('\'') else {
            return self.refuse(1, "a single quote that is not closed", "close it");
        };
        self.at = inner + length + 1;
        Ok(&self.text[inner..inner + length])
    }

    /// `"…"`, at the opening quote.
    fn double(&mut self, pieces: &mut Pieces<'a>) -> Result<()> {
        let open = self.at;
        self.at += 1;
        pieces.quoted("");
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
                        Some('$' | '`' | '"' | '\\') => {
                            pieces.quoted(&self.text[self.at..=self.at]);
                            self.at += 1;
                        }
                        _ => pieces.quoted("\\"),
                    }
                }
                _ => {
                    let active = |c| matches!(c, '"' | '`' | '$' | '\\');
                    let run = self.rest().find(active).unwrap_or(self.rest().len());
                    pieces.quoted(&self.text[self.at..self.at + run]);
                    self.at += run;
                }
            }
        }
    }

    /// Brace and tilde expansion are refused where any shell would do them.
    fn braces_and_tilde(&self, word: &Word<'_>) -> Result<()> {
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
            let hint = match word.plain() {
                Some("{") => "write a group as `( … )`, or quote the brace: '{'",
                _ => "write each word out, or quote it: '{'",
            };
            return refuse("an unquoted brace (brace expansion, a group)", hint);
        }
        Ok(())
    }
}

/// True for a byte that means itself outside quotes, whatever stands around it.
static ORDINARY: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = true;
        byte += 1;
    }
    let special = b" \t\n;|&<>()`$'\"\\";
    let mut at = 0;
    while at < special.len() {
        table[special[at] as usize] = false;
        at += 1;
    }
    table
};

/// `{}` as it is written for find, and `name@{…}`, `name^{…}` as git writes revisions.
fn harmless_braces(word: &Word<'_>) -> bool {
    let [Piece::Plain(text)] = word.pieces.as_slice() else { return false };
    if text == "{}" {
        return true;
    }
    let mut rest = &**text;
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
struct Pieces<'a>(SmallVec<[Piece<'a>; 1]>);

impl<'a> Pieces<'a> {
    /// Text outside quotes.
    fn plain(&mut self, part: &'a str) {
        match self.0.last_mut() {
            Some(Piece::Plain(text)) => *text += part,
            _ => self.0.push(Piece::Plain(Cow::Borrowed(part))),
        }
    }

    /// Text inside quotes, or a character after a backslash.
    fn quoted(&mut self, part: &'a str) {
        match self.0.last_mut() {
            Some(Piece::Quoted(text)) => *text += part,
            _ => self.0.push(Piece::Quoted(Cow::Borrowed(part))),
        }
    }

    fn add(&mut self, piece: Piece<'a>) {
        match (self.0.last_mut(), piece) {
            (Some(Piece::Quoted(text)), Piece::Quoted(more)) => *text += more,
            (_, piece) => self.0.push(piece),
        }
    }
}
