//! Colours for programming languages: comments, strings, numbers, keywords.
//!
//! A small table-driven lexer, linear in the text, because no library suits hostile text and a
//! small binary. `syntect` needs bincode 1 (RUSTSEC-2025-0141) and backtracks, as every TextMate
//! engine does. `giallo` is EUPL and needs two C libraries. `tree-sitter` grammars are megabytes of C.

mod languages;

use std::ops::Range;

use bstr::{BStr, ByteSlice as _};

use self::languages::{LANGUAGES, Language};
use super::style::Role;
use crate::changeset::hunks::Text;

/// Bytes; longer lines are not coloured.
const LONGEST_LINE: usize = 4096;

#[derive(Clone, Debug)]
pub struct Syntax {
    language: &'static Language,
    /// State at the start of each line lexed so far.
    states: Vec<LexerState>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LexerState {
    #[default]
    Code,
    /// Index of the comment kind, and nesting depth.
    Comment(u8, u8),
    /// Index of the string kind, for strings that span lines.
    String(u8),
}

impl Syntax {
    /// Chooses the language by file name, then by the `#!` line; `None` if unknown.
    pub fn of(path: &BStr, content: &[u8]) -> Option<Self> {
        let name = path.rsplit(|b| *b == b'/').next().unwrap_or_default().to_str().ok()?;
        let extension = name.rsplit_once('.').map_or("", |(_, e)| e).to_ascii_lowercase();
        let by_name = LANGUAGES
            .iter()
            .find(|l| l.files.iter().any(|file| file == name) || l.extensions.contains(&extension));
        let language = by_name.or_else(|| {
            let first = content.lines().next()?.strip_prefix(b"#!")?.to_str().ok()?;
            let program = first.split_ascii_whitespace().find(|word| !word.ends_with("/env"))?;
            let program = program.rsplit('/').next()?;
            let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            LANGUAGES.iter().find(|l| l.programs.iter().any(|known| known == program))
        })?;
        Some(Self { language, states: vec![LexerState::Code] })
    }

    /// Coloured byte ranges, ascending. Every call must pass the same text: earlier lines are lexed
    /// once.
    pub fn tokens(&mut self, text: &Text<'_>, number: usize) -> Vec<(Range<usize>, Role)> {
        while self.states.len() <= number {
            let line = self.states.len() - 1;
            let state = self.lex(text.line(line), self.states[line], &mut |_, _| {});
            self.states.push(state);
        }
        let mut tokens = Vec::new();
        let state = self.states[number];
        self.lex(text.line(number), state, &mut |range, role| tokens.push((range, role)));
        tokens
    }

    fn lex(
        &self,
        line: &[u8],
        mut state: LexerState,
        emit: &mut dyn FnMut(Range<usize>, Role),
    ) -> LexerState {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if line.len() > LONGEST_LINE {
            return state;
        }
        let mut at = 0;
        let Language { keyword_lines, comment_lines, .. } = self.language;
        for (begin, role) in [(keyword_lines, Role::Keyword), (comment_lines, Role::Comment)] {
            if state == LexerState::Code && begin.iter().any(|begin| starts(line, 0, begin)) {
                emit(0..line.len(), role);
                return state;
            }
        }
        let mut first = true;
        while at < line.len() {
            let start = at;
            match state {
                LexerState::Comment(kind, depth) => {
                    (at, state) = self.comment(line, at, kind, depth);
                    emit(start..at, Role::Comment);
                }
                LexerState::String(kind) => {
                    (at, state) = self.string(line, at, kind);
                    emit(start..at, Role::String);
                }
                LexerState::Code => (at, state) = self.code(line, at, &mut first, emit),
            }
        }
        state
    }

    fn code(
        &self,
        line: &[u8],
        at: usize,
        first: &mut bool,
        emit: &mut dyn FnMut(Range<usize>, Role),
    ) -> (usize, LexerState) {
        let language = self.language;
        if language.line.iter().any(|s| starts(line, at, s) && self.may_comment(line, at)) {
            emit(at..line.len(), Role::Comment);
            return (line.len(), LexerState::Code);
        }
        if let Some(kind) = language.block.iter().position(|(open, _)| starts(line, at, open)) {
            let open = language.block[kind].0.len();
            emit(at..at + open, Role::Comment);
            return (at + open, LexerState::Comment(kind as u8, 1));
        }
        if let Some(kind) = language.strings.iter().position(|q| starts(line, at, &q.open)) {
            let (end, state) =
                self.string(line, at + language.strings[kind].open.len(), kind as u8);
            let key = *first && self.is_key(line, end) && state == LexerState::Code;
            emit(at..end, if key { Role::Keyword } else { Role::String });
            *first = false;
            return (end, state);
        }
        if language.chars
            && line[at] == b'\''
            && let Some(end) = char_literal(line, at)
        {
            emit(at..end, Role::String);
            return (end, LexerState::Code);
        }
        let is_word = |b: &u8| {
            b.is_ascii_alphanumeric()
                || *b == b'_'
                || *b >= 0x80
                || language.word.as_bytes().contains(b)
        };
        let word = line[at..].iter().take_while(|b| is_word(b)).count();
        if word == 0 {
            *first &= line[at].is_ascii_whitespace() || matches!(line[at], b'-' | b'{' | b',');
            return (at + 1, LexerState::Code);
        }
        let (end, text) = (at + word, &line[at..at + word]);
        if text[0].is_ascii_digit() {
            emit(at..end, Role::Number);
        } else if *first && self.is_key(line, end) {
            emit(at..end, Role::Keyword);
        } else if let Ok(text) = text.to_str() {
            let lower = language.any_case.then(|| text.to_ascii_lowercase());
            let text = lower.as_deref().unwrap_or(text);
            if language.keywords.contains(text) {
                emit(at..end, Role::Keyword);
            } else if language.constants.contains(text) {
                emit(at..end, Role::Number);
            }
        }
        *first = false;
        (end, LexerState::Code)
    }

    /// In shells `#` starts a comment only after whitespace.
    fn may_comment(&self, line: &[u8], at: usize) -> bool {
        line[at] != b'#'
            || at == 0
            || !self.language.hash_after_blank
            || line[at - 1].is_ascii_whitespace()
    }

    fn is_key(&self, line: &[u8], end: usize) -> bool {
        let key = &self.language.key;
        !key.is_empty() && starts(line[end..].trim_ascii_start(), 0, key)
    }

    fn comment(&self, line: &[u8], mut at: usize, kind: u8, mut depth: u8) -> (usize, LexerState) {
        let (open, close) = &self.language.block[usize::from(kind)];
        while at < line.len() {
            if starts(line, at, close) {
                at += close.len();
                depth -= 1;
                if depth == 0 {
                    return (at, LexerState::Code);
                }
            } else if self.language.nested && starts(line, at, open) {
                at += open.len();
                depth = depth.saturating_add(1);
            } else {
                at += 1;
            }
        }
        (at, LexerState::Comment(kind, depth))
    }

    fn string(&self, line: &[u8], mut at: usize, kind: u8) -> (usize, LexerState) {
        let quote = &self.language.strings[usize::from(kind)];
        while at < line.len() {
            if quote.escapes && line[at] == b'\\' {
                at = (at + 2).min(line.len());
            } else if starts(line, at, quote.close()) {
                return (at + quote.close().len(), LexerState::Code);
            } else {
                at += 1;
            }
        }
        (at, if quote.lines { LexerState::String(kind) } else { LexerState::Code })
    }
}

fn starts(line: &[u8], at: usize, with: &str) -> bool {
    line[at..].starts_with(with.as_bytes())
}

/// `None` for a lone quote (a lifetime).
fn char_literal(line: &[u8], at: usize) -> Option<usize> {
    let rest = &line[at + 1..];
    if rest.first() == Some(&b'\\') {
        let close = rest.iter().skip(2).take(10).position(|b| *b == b'\'')?;
        return Some(at + 1 + 2 + close + 1);
    }
    let length = rest.chars().next().map(char::len_utf8)?;
    (rest.get(length) == Some(&b'\'')).then_some(at + 1 + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(path: &str, text: &str) -> String {
        let mut syntax = Syntax::of(path.into(), text.as_bytes()).unwrap();
        let lines = Text::new(text.as_bytes());
        let mut out = String::new();
        for number in 0..lines.len() {
            for (range, role) in syntax.tokens(&lines, number) {
                let part = lines.line(number)[range].to_str_lossy();
                out += &format!("{}:{part} ", &format!("{role:?}")[..1]);
            }
        }
        out.trim_end().to_owned()
    }

    #[test]
    fn words_strings_and_comments_are_told_apart() {
        assert_eq!(
            marked("a.rs", "let x: &'a str = \"a \\\" // b\"; // c\nlet c = 'x'; 0x1f"),
            "K:let S:\"a \\\" // b\" C:// c K:let S:'x' N:0x1f"
        );
        assert_eq!(marked("a.py", "def f(): # x\n  return None"), "K:def C:# x K:return N:None");
        assert_eq!(
            marked("x.json", "{\"a\": \"b\", \"c\": true}"),
            "K:\"a\" S:\"b\" S:\"c\" N:true"
        );
        assert_eq!(marked("x.sh", "ls a#b # c"), "C:# c");
    }

    #[test]
    fn what_goes_over_lines_is_remembered() {
        assert_eq!(marked("a.rs", "a /* b /* c */\nd */ fn\n"), "C:/* C: b /* c */ C:d */ K:fn");
        assert_eq!(marked("a.py", "x = \"\"\"a\nif\n\"\"\" if"), "S:\"\"\"a S:if S:\"\"\" K:if");
    }

    #[test]
    fn a_program_line_names_the_language() {
        let syntax = |text: &str| Syntax::of("run".into(), text.as_bytes());
        assert!(syntax("#!/usr/bin/env python3\n").is_some());
        assert!(syntax("#!/bin/sh\n").is_some());
        assert!(syntax("plain\n").is_none());
    }
}
