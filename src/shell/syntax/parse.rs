//! Tokens to a [`Script`].

use std::ops::Range;

use super::lex::{Kind, Lexer, Token};
use super::{
    Command, Link, MAX_COMMANDS, MAX_PIPELINE, MAX_WORDS, Piece, Pipeline, Redirect, Script, Word,
    refuse_at,
};
use crate::shell::{Refusal, Result};

/// Reads a command text.
///
/// # Errors
/// A refusal naming the position of the first thing outside the subset, or the limit passed.
pub fn parse(text: &str) -> Result<Script<'_>> {
    let mut lexer = Lexer::new(text)?;
    let token = lexer.next()?;
    let mut parser = Parser { text, lexer, token };
    let script = parser.script()?;
    limits(&script)?;
    Ok(script)
}

fn limits(script: &Script<'_>) -> Result<()> {
    let commands = script.pipelines.iter().flat_map(|pipeline| &pipeline.commands);
    let words: usize = commands.clone().map(|command| command.words.len()).sum();
    let longest = script.pipelines.iter().map(|p| p.commands.len()).max().unwrap_or(0);
    for (what, count, limit) in [
        ("commands", commands.count(), MAX_COMMANDS),
        ("commands in one pipeline", longest, MAX_PIPELINE),
        ("words", words, MAX_WORDS),
    ] {
        if count > limit {
            let message = format!("{count} {what}, the limit is {limit}");
            return Err(Refusal::new(message, "split it into several calls").by("limit"));
        }
    }
    Ok(())
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
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&Kind<'a>> {
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
        while let Some(Kind::End { newline: true }) = self.peek() {
            self.take()?;
        }
        Ok(())
    }

    fn script(&mut self) -> Result<Script<'a>> {
        let mut pipelines = Vec::new();
        self.skip_newlines()?;
        let mut link = Link::Always;
        while self.peek().is_some() {
            pipelines.push(self.pipeline(link)?);
            link = match self.peek() {
                None => break,
                Some(Kind::And) => Link::IfOk,
                Some(Kind::Or) => Link::IfFailed,
                Some(Kind::End { .. }) => Link::Always,
                Some(_) => return self.refuse("an operator out of place", "check the command"),
            };
            self.take()?;
            self.skip_newlines()?;
            if link != Link::Always && self.peek().is_none() {
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
            Some(Kind::Word(word)) => is_bang(word),
            _ => false,
        };
        if negated {
            self.take()?;
        }
        let mut commands = vec![self.command()?];
        while let Some(Kind::Pipe) = self.peek() {
            self.take()?;
            self.skip_newlines()?;
            commands.push(self.command()?);
        }
        Ok(Pipeline { link, negated, commands })
    }

    fn command(&mut self) -> Result<Command<'a>> {
        let mut words: Vec<Word<'a>> = Vec::new();
        let mut redirects = Vec::new();
        let start = self.token.as_ref().map_or(self.text.len(), |token| token.span.start);
        let mut end = start;
        loop {
            match self.peek() {
                Some(Kind::Word(word)) if words.is_empty() => self.command_word(word)?,
                Some(
                    Kind::Word(_)
                    | Kind::Input
                    | Kind::Output(_)
                    | Kind::Duplicate(_)
                    | Kind::BothOutput,
                ) => {}
                _ => break,
            }
            let Some(token) = self.take()? else { break };
            end = match token.kind {
                Kind::Word(word) => {
                    words.push(word);
                    token.span.end
                }
                operator => {
                    let (redirect, end) = self.redirect(&operator, token.span)?;
                    redirects.push(redirect);
                    end
                }
            };
        }
        if words.is_empty() {
            return self.refuse("a command was expected", "remove the extra operator");
        }
        Ok(Command { words, redirects, span: start..end })
    }

    /// What a command may not begin with, whatever the policy says about programs.
    fn command_word(&self, word: &Word<'_>) -> Result<()> {
        if let Some(Piece::Plain(text)) = word.pieces.first() {
            let name = text.trim_end_matches('+');
            let assigned = text.find('=').map(|at| text[..at].trim_end_matches('+'));
            if assigned.is_some_and(is_name) || (name != text && is_name(name)) {
                return self.refuse(
                    "a variable assignment",
                    "this shell keeps no variables and sets no environment; write the value out",
                );
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
        operator: &Kind<'a>,
        span: Range<usize>,
    ) -> Result<(Redirect<'a>, usize)> {
        let Some(Kind::Word(word)) = self.peek() else {
            return self.refuse("a redirection without a target", "only >/dev/null and < FILE");
        };
        let end = word.span.end;
        let literal = word.literal().unwrap_or_default();
        let redirect = match operator {
            Kind::Input => Redirect::Input(word.clone()),
            Kind::Output(1) if literal == "/dev/null" => Redirect::OutNull,
            Kind::Output(2) if literal == "/dev/null" => Redirect::ErrNull,
            Kind::BothOutput if literal == "/dev/null" => Redirect::BothNull,
            Kind::Duplicate(2) if literal == "1" && word.is_plain() => Redirect::ErrToOut,
            Kind::Duplicate(1) if literal == "2" && word.is_plain() => Redirect::OutToErr,
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

fn is_bang(word: &Word<'_>) -> bool {
    word.plain() == Some("!")
}

fn is_name(text: &str) -> bool {
    let text = text.split('[').next().unwrap_or_default();
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
