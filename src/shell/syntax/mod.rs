//! The small, explicit subset of POSIX shell that the read-only shell understands.
//!
//! Simple commands, POSIX quoting, pipelines, `&&`, `||`, `;`, `!`, comments and newlines, a few
//! redirections, subshells, `for` over a list of words, `$HOME`, `$PWD` and the variables of such
//! loops. Whatever is outside is refused with its position and with what to write instead;
//! nothing is ever guessed.

mod lex;
mod parse;
mod word;

use std::borrow::Cow;
use std::ops::Range;

pub use parse::parse;
use smallvec::SmallVec;

use crate::shell::Refusal;

/// Longest command text, in bytes.
pub const MAX_BYTES: usize = 16 * 1024;
/// Most simple commands in one command text.
pub const MAX_COMMANDS: usize = 64;
/// Most commands in one pipeline.
pub const MAX_PIPELINE: usize = 16;
/// Most words in one command text.
pub const MAX_WORDS: usize = 2_000;
/// Most subshells and loops inside each other.
pub const MAX_DEPTH: usize = 8;

/// A whole command text: pipelines in order, each linked to the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script<'t> {
    /// The pipelines, in the order written.
    pub pipelines: Vec<Pipeline<'t>>,
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
pub struct Pipeline<'t> {
    /// How it hangs on what came before.
    pub link: Link,
    /// `!` before it: the status is inverted.
    pub negated: bool,
    /// At least one command.
    pub parts: Vec<Part<'t>>,
}

/// What a pipeline connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part<'t> {
    /// A simple command.
    Command(Command<'t>),
    /// A compound command.
    Compound(Compound<'t>),
}

/// A subshell or a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compound<'t> {
    /// The loop; none for a subshell.
    pub each: Option<Loop<'t>>,
    /// The commands inside.
    pub body: Script<'t>,
    /// Redirections of all of them together, in the order written.
    pub redirects: Vec<Redirect<'t>>,
    /// Where it stands in the text, in bytes.
    pub span: Range<usize>,
}

/// `for NAME in WORDS`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop<'t> {
    /// The variable, lower-case.
    pub name: &'t str,
    /// What it stands for, in turn, once expanded.
    pub words: Vec<Word<'t>>,
}

/// One simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command<'t> {
    /// What stands before the program: `NAME=VALUE`, as written.
    pub assignments: Vec<Word<'t>>,
    /// The program and its arguments; at least one.
    pub words: Vec<Word<'t>>,
    /// Redirections, in the order written.
    pub redirects: Vec<Redirect<'t>>,
    /// Where it stands in the text, in bytes.
    pub span: Range<usize>,
}

/// A word before expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word<'t> {
    /// The pieces that make it up, in order; most words are one.
    pub pieces: SmallVec<[Piece<'t>; 1]>,
    /// Where it stands in the text, in bytes.
    pub span: Range<usize>,
}

/// A piece of a word: text as it stands in the command, unless quoting took it apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// Unquoted text: `*`, `?` and `[…]` are active in it.
    Plain(Cow<'t, str>),
    /// Quoted or escaped text: means itself.
    Quoted(Cow<'t, str>),
    /// A variable.
    Variable {
        /// Which one.
        name: Variable<'t>,
        /// Inside double quotes.
        quoted: bool,
    },
}

/// The variables that are expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable<'t> {
    /// `$HOME`.
    Home,
    /// `$PWD`.
    Pwd,
    /// That of a loop around it.
    Loop(&'t str),
}

impl<'t> Variable<'t> {
    /// The name, without the dollar sign.
    pub fn name(self) -> &'t str {
        match self {
            Self::Home => "HOME",
            Self::Pwd => "PWD",
            Self::Loop(name) => name,
        }
    }
}

/// The redirections that change nothing on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect<'t> {
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
    Input(Word<'t>),
}

impl<'t> Word<'t> {
    /// The text, if no part of the word is expanded: what the program would be given.
    ///
    /// Unquoted glob characters count as text; ask [`Word::is_plain`] where that matters.
    pub fn literal(&self) -> Option<Cow<'t, str>> {
        let mut text = Cow::Borrowed("");
        for piece in &self.pieces {
            match piece {
                Piece::Plain(part) | Piece::Quoted(part) => text += part.clone(),
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
