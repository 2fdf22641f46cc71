//! One line of a file in pieces of one look: escapes, whitespace, changed words, syntax.

use std::ops::Range;

use unicode_width::UnicodeWidthChar as _;

use super::super::style::{Palette, Role};
use crate::text::{self, escape};

/// Later variants win over earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Base,
    Token(Role),
    Emphasis,
    Blank,
    Mark,
}

/// Text safe for a terminal. May hold tabs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) look: Look,
}

/// Persian, Indic scripts and emoji need zero-width joiners.
fn is_joiner(text: &str, offset: usize, c: char) -> bool {
    let next = || text[offset + c.len_utf8()..].chars().next();
    matches!(c, '\u{200c}' | '\u{200d}') && text::joins(text[..offset].chars().next_back(), next())
}

/// Byte ranges over a line, ascending.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LineLayers<'a> {
    pub(super) emphasis: &'a [Range<usize>],
    pub(super) tokens: &'a [(Range<usize>, Role)],
    /// Makes trailing whitespace visible.
    pub(super) mark_blanks: bool,
    pub(super) hide_cr: bool,
}

/// `content` is a line without its LF.
pub(super) fn pieces(content: &[u8], layers: LineLayers<'_>) -> Vec<Piece> {
    let content = match content.strip_suffix(b"\r") {
        Some(rest) if layers.hide_cr => rest,
        _ => content,
    };
    let blanks = if layers.mark_blanks { last_not_blank(content) } else { content.len() };
    let harmless = content.iter().all(|b| matches!(b, b' '..=b'~' | b'\t'));
    if harmless && blanks == content.len() && layers.emphasis.is_empty() && layers.tokens.is_empty()
    {
        let text = String::from_utf8_lossy(content).into_owned();
        return if text.is_empty() { Vec::new() } else { vec![Piece { text, look: Look::Base }] };
    }
    let mut out = Builder { layers, pieces: Vec::new() };
    let mut at = 0;
    let mut stacked = 1;
    for chunk in content.utf8_chunks() {
        let text = chunk.valid();
        for (offset, c) in text.char_indices() {
            let here = at + offset;
            // Counts combining marks that no character, or a tower of other marks, carries.
            stacked = match c.width() {
                Some(0) => stacked + 1,
                _ => 0,
            };
            if here >= blanks && (c == ' ' || c == '\t') {
                out.push(if c == ' ' { "·" } else { "→" }, Look::Blank);
            } else if c == '\t' {
                out.push_at(here, "\t");
            } else if text::is_unsafe(c) && !is_joiner(text, offset, c) {
                out.push(&escape::line(c.encode_utf8(&mut [0; 4])), Look::Mark);
            } else if stacked > 4
                || (stacked > 0 && here == 0)
                || text::varies_nothing(text[..offset].chars().next_back(), c)
                || (c.is_whitespace() && !c.is_ascii() && c != '\u{3000}')
            {
                out.push(&format!("\\u{{{:x}}}", c as u32), Look::Mark);
            } else {
                out.push_at(here, c.encode_utf8(&mut [0; 4]));
            }
        }
        at += text.len();
        for byte in chunk.invalid() {
            out.push(&format!("\\x{byte:02x}"), Look::Mark);
            at += 1;
        }
    }
    out.pieces
}

/// Start of the trailing whitespace.
fn last_not_blank(content: &[u8]) -> usize {
    content.iter().rposition(|b| !matches!(b, b' ' | b'\t')).map_or(0, |at| at + 1)
}

struct Builder<'a> {
    layers: LineLayers<'a>,
    pieces: Vec<Piece>,
}

impl Builder<'_> {
    fn push(&mut self, text: &str, look: Look) {
        match self.pieces.last_mut() {
            Some(last) if last.look == look => last.text.push_str(text),
            _ => self.pieces.push(Piece { text: text.to_owned(), look }),
        }
    }

    /// Must be called with ascending `at`.
    fn push_at(&mut self, at: usize, text: &str) {
        while self.layers.emphasis.first().is_some_and(|range| range.end <= at) {
            self.layers.emphasis = &self.layers.emphasis[1..];
        }
        while self.layers.tokens.first().is_some_and(|(range, _)| range.end <= at) {
            self.layers.tokens = &self.layers.tokens[1..];
        }
        let look = match (self.layers.emphasis.first(), self.layers.tokens.first()) {
            (Some(range), _) if range.start <= at => Look::Emphasis,
            (_, Some((range, role))) if range.start <= at => Look::Token(*role),
            _ => Look::Base,
        };
        self.push(text, look);
    }
}

fn role(look: Look, base: Role) -> Role {
    match look {
        Look::Base => base,
        Look::Token(role) => role,
        Look::Emphasis if base == Role::Old => Role::OldWord,
        Look::Emphasis => Role::NewWord,
        Look::Blank => Role::Blank,
        Look::Mark => Role::Mark,
    }
}

pub(super) fn paint(out: &mut String, palette: &Palette, base: Role, pieces: &[Piece]) {
    for piece in pieces {
        palette.write_on(out, base, role(piece.look, base), &piece.text);
    }
}
