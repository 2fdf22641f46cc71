//! Tokens to a [`Script`].

use std::ops::Range;

use super::lex::{Lexer, Token, TokenKind};
use super::{
    Command, Compound, Link, Loop, MAX_COMMANDS, MAX_DEPTH, MAX_PIPELINE, MAX_WORDS, Part, Piece,
    Pipeline, Redirect, Script, Word, refuse_at,
};
use crate::shell::{Refusal, Result};

/// Reads a command text.
///
/// # Errors
/// A refusal naming the position of the first thing outside the subset, or the limit passed.
pub fn parse(text: &str) -> Result<Script<'_>> {
    let mut lexer = Lexer::new(text)?;
    let token = lexer.next()?;
    let mut parser = Parser { text, lexer, token, depth: 0 };
    let script = parser.list(Until::End)?;
    let mut size = Size::default();
    size.add(&script);
    size.check()?;
    Ok(script)
}

/// How large a command text is, whatever stands inside of what.
#[derive(Default)]
struct Size {
    commands: usize,
    longest: usize,
    words: usize,
}

impl Size {
    fn add(&mut self, script: &Script<'_>) {
        for pipeline in &script.pipelines {
            self.longest = self.longest.max(pipeline.parts.len());
            for part in &pipeline.parts {
                match part {
                    Part::Command(command) => {
                        self.commands += 1;
                        self.words += command.assignments.len() + command.words.len();
                    }
                    Part::Compound(compound) => {
                        self.words += compound.each.as_ref().map_or(0, |each| each.words.len());
                        self.add(&compound.body);
                    }
                }
            }
        }
    }

    fn check(&self) -> Result<()> {
        for (what, count, limit) in [
            ("commands", self.commands, MAX_COMMANDS),
            ("commands in one pipeline", self.longest, MAX_PIPELINE),
            ("words", self.words, MAX_WORDS),
        ] {
            if count > limit {
                let message = format!("{count} {what}, the limit is {limit}");
                return Err(Refusal::new(message, "split it into several calls").by("limit"));
            }
        }
        Ok(())
    }
}

/// Words that mean control flow when a command starts with them unquoted.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "in", "select", "function", "time", "coproc", "[[", "]]", "{", "}", "!",
];

struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    /// The token that is next.
    token: Option<Token<'a>>,
    /// Subshells and loops around it.
    depth: usize,
}

/// What ends a list of pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// The end of the text.
    End,
    /// `)`
    Close,
    /// `done`
    Done,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&TokenKind<'a>> {
        self.token.as_ref().map(|token| &token.kind)
    }

    /// Takes the token that is next.
    fn take(&mut self) -> Result<Option<Token<'a>>> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn refuse<T>(&self, message: &str, hint: &str) -> Result<T> {
        let span = match &self.token {
            Some(token) => token.span.clone(),
            None => self.text.len()..self.text.len(),
        };
        let message = format!("{message} at byte {}", span.start);
        Err(refuse_at(self.text, span, message, hint))
    }

    fn skip_newlines(&mut self) -> Result<()> {
        while let Some(TokenKind::End { newline: true }) = self.peek() {
            self.take()?;
        }
        Ok(())
    }

    /// True at `word`, unquoted.
    fn at(&self, word: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Word(next)) if next.plain() == Some(word))
    }

    /// True at what ends a list; what ends another is out of place.
    fn ends(&self, until: Until) -> bool {
        match until {
            Until::End => self.token.is_none(),
            Until::Close => self.peek() == Some(&TokenKind::Close),
            Until::Done => self.at("done"),
        }
    }

    fn list(&mut self, until: Until) -> Result<Script<'a>> {
        let mut pipelines = Vec::new();
        self.skip_newlines()?;
        let mut link = Link::Always;
        while !self.ends(until) {
            pipelines.push(self.pipeline(link)?);
            link = match self.peek() {
                None | Some(TokenKind::Close) if self.ends(until) => break,
                None => {
                    return self.refuse("the command ends inside a subshell or loop", "close it");
                }
                Some(TokenKind::And) => Link::IfOk,
                Some(TokenKind::Or) => Link::IfFailed,
                Some(TokenKind::End { .. }) => Link::Always,
                Some(_) => return self.refuse("an operator out of place", "check the command"),
            };
            self.take()?;
            self.skip_newlines()?;
            if link != Link::Always && (self.peek().is_none() || self.ends(until)) {
                return self.refuse("the command ends after `&&` or `||`", "complete it");
            }
        }
        if pipelines.is_empty() {
            return self.refuse("the command is empty", "write a command, for example `ls -la`");
        }
        Ok(Script { pipelines })
    }

    fn pipeline(&mut self, link: Link) -> Result<Pipeline<'a>> {
        let negated = match self.peek() {
            Some(TokenKind::Word(word)) => is_bang(word),
            _ => false,
        };
        if negated {
            self.take()?;
        }
        let mut parts = vec![self.part()?];
        while let Some(TokenKind::Pipe) = self.peek() {
            self.take()?;
            self.skip_newlines()?;
            parts.push(self.part()?);
        }
        Ok(Pipeline { link, negated, parts })
    }

    fn part(&mut self) -> Result<Part<'a>> {
        let subshell = self.peek() == Some(&TokenKind::Open);
        if !subshell && !self.at("for") {
            return Ok(Part::Command(self.command()?));
        }
        if self.depth == MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} subshells and loops inside each other");
            return self.refuse(&message, "split it into several calls");
        }
        self.depth += 1;
        let first = self.take()?.map_or(0, |token| token.span.start);
        // Two parentheses in a row are arithmetic to some shells.
        if subshell && self.peek() == Some(&TokenKind::Open) {
            return self.refuse("a subshell right in a subshell", "leave one of the two out");
        }
        let (each, body) = if subshell {
            (None, self.list(Until::Close)?)
        } else {
            let each = self.loop_head()?;
            self.lexer.loops.push(each.name);
            self.expect("do")?;
            let body = self.list(Until::Done)?;
            self.lexer.loops.pop();
            (Some(each), body)
        };
        self.depth -= 1;
        let mut end = self.take()?.map_or(first, |token| token.span.end);
        let mut redirects = Vec::new();
        while matches!(
            self.peek(),
            Some(
                TokenKind::Input
                    | TokenKind::Output(_)
                    | TokenKind::Duplicate(_)
                    | TokenKind::BothOutput
            )
        ) {
            let Some(token) = self.take()? else { break };
            let (redirect, after) = self.redirect(&token.kind, token.span)?;
            redirects.push(redirect);
            end = after;
        }
        Ok(Part::Compound(Compound { each, body, redirects, span: first..end }))
    }

    /// `NAME in WORDS;`, up to the `do`.
    fn loop_head(&mut self) -> Result<Loop<'a>> {
        let text = self.text;
        let name = match self.peek() {
            Some(TokenKind::Word(word)) if word.plain().is_some_and(is_loop_name) => {
                &text[word.span.clone()]
            }
            _ => {
                return self.refuse(
                    "the variable of a loop was expected",
                    "write `for f in …; do …; done`, the name in lower case",
                );
            }
        };
        if !is_loop_name(name) || self.lexer.loops.contains(&name) {
            return self.refuse("the variable of a loop around this one", "use another name");
        }
        self.take()?;
        self.expect("in")?;
        let mut words = Vec::new();
        while let Some(TokenKind::Word(word)) = self.peek() {
            words.push(word.clone());
            self.take()?;
        }
        let Some(TokenKind::End { .. }) = self.peek() else {
            return self.refuse("a loop without `; do`", "write `for f in …; do …; done`");
        };
        self.take()?;
        self.skip_newlines()?;
        Ok(Loop { name, words })
    }

    /// Takes `word`.
    fn expect(&mut self, word: &str) -> Result<()> {
        if !self.at(word) {
            let message = format!("`{word}` was expected");
            return self.refuse(&message, "write `for f in …; do …; done`");
        }
        self.take()?;
        Ok(())
    }

    fn command(&mut self) -> Result<Command<'a>> {
        let mut assignments: Vec<Word<'a>> = Vec::new();
        let mut words: Vec<Word<'a>> = Vec::new();
        let mut redirects = Vec::new();
        let start = self.token.as_ref().map_or(self.text.len(), |token| token.span.start);
        let mut end = start;
        loop {
            let mut assigns = false;
            match self.peek() {
                Some(TokenKind::Word(word)) if words.is_empty() => {
                    assigns = is_assignment(word);
                    self.command_word(word)?;
                }
                Some(
                    TokenKind::Word(_)
                    | TokenKind::Input
                    | TokenKind::Output(_)
                    | TokenKind::Duplicate(_)
                    | TokenKind::BothOutput,
                ) => {}
                _ => break,
            }
            let Some(token) = self.take()? else { break };
            end = match token.kind {
                TokenKind::Word(word) => {
                    if assigns { &mut assignments } else { &mut words }.push(word);
                    token.span.end
                }
                operator => {
                    let (redirect, end) = self.redirect(&operator, token.span)?;
                    redirects.push(redirect);
                    end
                }
            };
        }
        if let (true, Some(word)) = (words.is_empty(), assignments.first()) {
            let message = format!("a variable assignment without a command at byte {start}");
            return Err(refuse_at(self.text, word.span.clone(), message, NO_VARIABLES));
        }
        if words.is_empty() {
            return self.refuse("a command was expected", "remove the extra operator");
        }
        Ok(Command { assignments, words, redirects, span: start..end })
    }

    /// What a command may not begin with, whatever the policy says about programs.
    fn command_word(&self, word: &Word<'_>) -> Result<()> {
        if let Some(Piece::Plain(text)) = word.pieces.first() {
            let name = text.trim_end_matches('+');
            let assigned = text.find('=').map(|at| text[..at].trim_end_matches('+'));
            let assigns = assigned.is_some_and(is_name) || (name != text && is_name(name));
            if assigns && !is_assignment(word) {
                return self.refuse("a variable assignment", NO_VARIABLES);
            }
        }
        if word.plain().is_some_and(|text| RESERVED.contains(&text)) {
            return self.refuse(
                "a shell keyword (control flow, groups)",
                "write plain commands joined with `&&`, `||`, `;` and `|`",
            );
        }
        Ok(())
    }

    /// The redirection whose operator, at `span`, was `operator` and whose target is next; and
    /// where it ends.
    fn redirect(
        &mut self,
        operator: &TokenKind<'a>,
        span: Range<usize>,
    ) -> Result<(Redirect<'a>, usize)> {
        let Some(TokenKind::Word(word)) = self.peek() else {
            return self.refuse("a redirection without a target", "only >/dev/null and < FILE");
        };
        let end = word.span.end;
        let literal = word.literal().unwrap_or_default();
        let redirect = match operator {
            TokenKind::Input => Redirect::Input(word.clone()),
            TokenKind::Output(1) if literal == "/dev/null" => Redirect::OutNull,
            TokenKind::Output(2) if literal == "/dev/null" => Redirect::ErrNull,
            TokenKind::BothOutput if literal == "/dev/null" => Redirect::BothNull,
            TokenKind::Duplicate(2) if literal == "1" && word.is_plain() => Redirect::ErrToOut,
            TokenKind::Duplicate(1) if literal == "2" && word.is_plain() => Redirect::OutToErr,
            _ => {
                return Err(refuse_at(
                    self.text,
                    span.start..end,
                    format!("a redirection that could write a file at byte {}", span.start),
                    "only >/dev/null, 2>/dev/null, &>/dev/null, 2>&1, 1>&2 and < FILE; \
                     the output is returned to you anyway",
                ));
            }
        };
        self.take()?;
        Ok((redirect, end))
    }
}

const NO_VARIABLES: &str = "this shell keeps no variables; write the value out";

/// True for `NAME=VALUE`, which a shell sets for the program after it.
fn is_assignment(word: &Word<'_>) -> bool {
    let Some(Piece::Plain(text)) = word.pieces.first() else { return false };
    text.split_once('=').is_some_and(|(name, _)| is_name(name) && !name.contains('['))
}

fn is_bang(word: &Word<'_>) -> bool {
    word.plain() == Some("!")
}

/// True for a name that is nothing to the programs or to any shell: those are upper-case.
fn is_loop_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn is_name(text: &str) -> bool {
    let text = text.split('[').next().unwrap_or_default();
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
