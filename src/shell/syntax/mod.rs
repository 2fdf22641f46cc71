//! The small, explicit subset of POSIX shell that the read-only shell understands.
//!
//! Simple commands, POSIX quoting, pipelines, `&&`, `||`, `;`, `!`, comments and newlines, a few
//! redirections, `$HOME` and `$PWD`. Whatever is outside is refused with its position and with
//! what to write instead; nothing is ever guessed.

mod lex;
mod parse;
mod word;

use std::ops::Range;

pub use parse::parse;

use crate::shell::Refusal;

/// Longest command text, in bytes.
pub const MAX_BYTES: usize = 16 * 1024;
/// Most simple commands in one command text.
pub const MAX_COMMANDS: usize = 64;
/// Most commands in one pipeline.
pub const MAX_PIPELINE: usize = 16;
/// Most words in one command text.
pub const MAX_WORDS: usize = 2_000;

/// A whole command text: pipelines in order, each linked to the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The pipelines, in the order written.
    pub pipelines: Vec<Pipeline>,
}

/// When a pipeline runs, given the status of what ran last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The first pipeline, or after `;` or a newline: always.
    Always,
    /// After `&&`: when the status is 0.
    IfOk,
    /// After `||`: when the status is not 0.
    IfFailed,
}

/// Commands connected by `|`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// How it hangs on what came before.
    pub link: Link,
    /// `!` before it: the status is inverted.
    pub negated: bool,
    /// At least one command.
    pub commands: Vec<Command>,
}

/// One simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments; at least one.
    pub words: Vec<Word>,
    /// Redirections, in the order written.
    pub redirects: Vec<Redirect>,
    /// Where it stands in the text, in bytes.
    pub span: Range<usize>,
}

/// A word before expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The pieces that make it up, in order.
    pub pieces: Vec<Piece>,
    /// Where it stands in the text, in bytes.
    pub span: Range<usize>,
}

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Unquoted text: `*`, `?` and `[…]` are active in it.
    Plain(String),
    /// Quoted or escaped text: means itself.
    Quoted(String),
    /// `$HOME` or `$PWD`.
    Variable {
        /// Which of the two.
        name: Variable,
        /// Inside double quotes.
        quoted: bool,
    },
}

/// The variables that are expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// `$HOME`.
    Home,
    /// `$PWD`.
    Pwd,
}

/// The redirections that change nothing on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// `>/dev/null`
    OutNull,
    /// `2>/dev/null`
    ErrNull,
    /// `&>/dev/null`
    BothNull,
    /// `2>&1`
    ErrToOut,
    /// `1>&2`
    OutToErr,
    /// `< FILE`
    Input(Word),
}

impl Word {
    /// The text, if no part of the word is expanded: what the program would be given.
    ///
    /// Unquoted glob characters count as text; ask [`Word::is_plain`] where that matters.
    pub fn literal(&self) -> Option<String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Plain(part) | Piece::Quoted(part) => text.push_str(part),
                Piece::Variable { .. } => return None,
            }
        }
        Some(text)
    }

    /// The text, if every character was written unquoted: neighbours are one piece.
    fn plain(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Plain(text)] => Some(text),
            _ => None,
        }
    }

    /// True when every character was written unquoted.
    pub fn is_plain(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Plain(_)))
    }
}

/// A refusal of something at `span` in `text`.
pub(crate) fn refuse_at(
    text: &str,
    span: Range<usize>,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> Refusal {
    let segment = text.get(span.clone()).unwrap_or_default().to_owned();
    Refusal::new(message, hint).in_segment(segment).at(span.start).by("syntax")
}
