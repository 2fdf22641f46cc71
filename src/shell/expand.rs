//! Words to arguments: variables and file-name patterns, nothing else.

use std::path::Path;

use super::glob::{self, Expansion};
use super::syntax::{Piece, Variable, Word};
use super::{Refusal, Result, World};

/// Most files one pattern may expand to.
const MAX_FILES: usize = 4_096;
/// Most bytes of arguments one command may have after expansion.
pub(super) const MAX_ARGUMENT_BYTES: usize = 128 * 1024;

/// What words are expanded by.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// The directory that patterns and `$PWD` are about.
    pub(super) cwd: &'a Path,
    /// The variables of loops, with what they stand for.
    pub(super) values: &'a [(&'a str, String)],
    pub(super) world: &'a World,
}

/// Expands words: those of one command, with its program, or those of a loop.
///
/// # Errors
/// A refusal where a shell's reading would depend on its kind, or over a limit.
pub(super) fn arguments<'t>(
    words: &[Word<'t>],
    program: Option<&Word<'t>>,
    scope: &Scope<'_>,
) -> Result<Vec<String>> {
    let mut arguments = Vec::with_capacity(words.len() + 1);
    let mut bytes = 0;
    for (word, program) in
        program.map(|word| (word, true)).into_iter().chain(words.iter().map(|word| (word, false)))
    {
        let before = arguments.len();
        expand(word, program, scope, &mut arguments)?;
        bytes += arguments[before..].iter().map(|argument| argument.len() + 1).sum::<usize>();
        if bytes > MAX_ARGUMENT_BYTES {
            return Err(Refusal::new(
                format!("the arguments are longer than {MAX_ARGUMENT_BYTES} bytes"),
                "use a narrower pattern",
            )
            .by("limit")
            .at(word.span.start));
        }
    }
    Ok(arguments)
}

fn expand(
    word: &Word<'_>,
    program: bool,
    scope: &Scope<'_>,
    arguments: &mut Vec<String>,
) -> Result<()> {
    let Scope { cwd, .. } = *scope;
    // The common word is one piece without anything active in it.
    if let [Piece::Plain(text) | Piece::Quoted(text)] = word.pieces.as_slice()
        && (matches!(word.pieces[0], Piece::Quoted(_)) || !text.contains(['*', '?', '[']))
    {
        arguments.push(text.clone().into_owned());
        return Ok(());
    }
    let marked = mark(word, scope)?;
    let literal = || marked.iter().map(|(c, _)| *c).collect::<String>();
    let refuse = |message: String, hint: &str| {
        Err(Refusal::new(message, hint).by("glob").at(word.span.start).in_segment(literal()))
    };
    match glob::expand(&marked, cwd, MAX_FILES) {
        Expansion::Inactive => arguments.push(literal()),
        // As POSIX has it: a pattern that matches nothing is itself.
        Expansion::Files(files) if files.is_empty() && !program => arguments.push(literal()),
        _ if program => {
            return refuse(
                format!("the program is named by a pattern, `{}`", literal()),
                "write the program's name",
            );
        }
        Expansion::Files(_) if literal().starts_with('-') => {
            return refuse(
                format!("`{}` is both a flag and a pattern that matches files", literal()),
                "quote it",
            );
        }
        // A file name must never be taken for a flag.
        Expansion::Files(files) => arguments.extend(
            files
                .into_iter()
                .map(|file| if file.starts_with('-') { format!("./{file}") } else { file }),
        ),
        Expansion::TooMany => {
            return refuse(
                format!("`{}` matches more than {MAX_FILES} files", literal()),
                "use a narrower pattern, or `find` and `grep -r`",
            );
        }
        Expansion::NotText => {
            return refuse(
                format!("`{}` matches a file whose name is not valid UTF-8", literal()),
                "use a narrower pattern, or `ls`",
            );
        }
    }
    Ok(())
}

/// The word's characters, each with whether it is active in a pattern.
fn mark(word: &Word<'_>, scope: &Scope<'_>) -> Result<Vec<(char, bool)>> {
    let mut marked = Vec::new();
    for piece in &word.pieces {
        match piece {
            Piece::Plain(text) => marked.extend(text.chars().map(|c| (c, true))),
            Piece::Quoted(text) => marked.extend(text.chars().map(|c| (c, false))),
            Piece::Variable { name, quoted } => {
                let value = match name {
                    Variable::Home => scope.world.home.as_deref().and_then(Path::to_str),
                    Variable::Pwd => scope.cwd.to_str(),
                    Variable::Loop(name) => {
                        let value = scope.values.iter().find(|(known, _)| known == name);
                        value.map(|(_, value)| value.as_str())
                    }
                };
                let name = name.name();
                let Some(value) = value else {
                    let message = format!("${name} is not set, or not valid UTF-8");
                    return Err(Refusal::new(message, "write the path out").at(word.span.start));
                };
                let plain = |c: char| c.is_alphanumeric() || "/-_.,+@%:=".contains(c);
                if !quoted && (value.is_empty() || !value.chars().all(plain)) {
                    return Err(Refusal::new(
                        format!("the value of ${name} would be split, expanded again or dropped"),
                        format!("write \"${name}\", in double quotes"),
                    )
                    .at(word.span.start));
                }
                marked.extend(value.chars().map(|c| (c, false)));
            }
        }
    }
    Ok(marked)
}
