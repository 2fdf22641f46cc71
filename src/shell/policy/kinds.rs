//! Kinds of operands and of flag arguments.

use crate::shell::{Refusal, Result};

/// What an operand or a flag's argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// Something that is read.
    Path,
    /// Anything: a pattern, a separator.
    Text,
    /// A number, with a sign, a fraction and a unit.
    Number,
    /// Letters, digits and `-_.,:+=%@/`.
    Word,
    /// A revision, possibly `rev:path`, or a path.
    Revision,
    /// A git output format, which must not ask for signatures, as that starts gpg, nor print text in
    /// a form in which a credential is no longer recognised.
    Format,
}

impl OperandKind {
    /// Checks that `value` is of this kind.
    ///
    /// # Errors
    /// The refusal, for the flag or operand called `what`.
    pub fn check(self, value: &str, what: &str) -> Result<()> {
        let expected = match self {
            Self::Number if !is_number(value) => "a number",
            Self::Word if !is_word(value) => "a plain word",
            Self::Format if value.contains("(raw") || value.contains("(*raw") => {
                return Err(Refusal::new(
                    format!("the format `{value}` shows the content of any object a ref names"),
                    "use %(contents), and `git show REF` or `git show REF:PATH`",
                ));
            }
            Self::Format if ["email", "mboxrd"].contains(&value) => {
                return Err(hides(
                    value,
                    "folds and encodes subjects",
                    "one of medium, full, fuller, raw",
                ));
            }
            Self::Format if asks_signature(value) => {
                return Err(Refusal::new(
                    format!("the format `{value}` may ask for signatures, which starts gpg"),
                    "leave out %G… and %(signature…), and write the format with a `%`, or one \
                     of oneline, short, medium, full, fuller, reference, raw",
                ));
            }
            Self::Format => return prints_plainly(value),
            _ => return Ok(()),
        };
        Err(Refusal::new(format!("{what} takes {expected}, not `{value}`"), "correct the value"))
    }
}

fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix(['+', '-']).unwrap_or(value);
    let unit = digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    digits.starts_with(|c: char| c.is_ascii_digit())
        && unit.len() <= 3
        && (unit.bytes().all(|b| b.is_ascii_alphabetic()) || unit == "%")
}

fn is_word(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.,:+=%@/".contains(&b))
}

/// Formats git knows by name. Any other name could be one that the repository's configuration
/// defines, with a signature in it.
const NAMED: &[&str] = &[
    "", "oneline", "short", "medium", "full", "fuller", "reference", "raw", "refname", "-refname",
    "version:refname", "-version:refname", "v:refname", "-v:refname", "committerdate",
    "-committerdate", "authordate", "-authordate", "creatordate", "-creatordate", "taggerdate",
    "-taggerdate", "objectsize", "-objectsize", "author", "committer", "objecttype", "objectname",
    "subject",
];

/// What follows each `%` of a format, without the sign that may come first (`%+b`).
fn placeholders(format: &str) -> impl Iterator<Item = &str> {
    let mut rest = format;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[rest.find('%')? + 1..];
            match rest.strip_prefix('%') {
                Some(after) => rest = after,
                None => return Some(rest.trim_start_matches(['+', '-', ' '])),
            }
        }
    })
}

fn asks_signature(format: &str) -> bool {
    if format.contains("signature") || placeholders(format).any(|text| text.starts_with('G')) {
        return true;
    }
    let named = format.strip_suffix(':').unwrap_or(format);
    !format.contains('%')
        && !format.starts_with("format:")
        && !format.starts_with("tformat:")
        && !NAMED.contains(&named)
}

/// Credentials are replaced in what git prints by how they are written, in a line: a format may not
/// write them in another way.
fn prints_plainly(format: &str) -> Result<()> {
    for text in placeholders(format) {
        let inside = text.split(')').next().unwrap_or_default().to_ascii_lowercase();
        let atom = inside.starts_with('(');
        let (does, instead) = if text.starts_with("w(") {
            ("wraps lines", "`| fold -s -w N` in place of %w(…)")
        } else if inside.starts_with(['<', '>']) && inside.contains("trunc") {
            ("cuts text off", "`| cut -c1-N` in place of trunc")
        } else if text.starts_with('f') || (atom && inside.contains(":sanitize")) {
            ("spells the subject as a file name", "%s, or %(subject)")
        } else if atom && is_value_alone(&inside) {
            ("prints trailers without their names", "`key=NAME` with valueonly, or %(trailers)")
        } else {
            continue;
        };
        return Err(hides(format, does, instead));
    }
    Ok(())
}

/// A trailer `Authorization: …` would lose its name.
fn is_value_alone(atom: &str) -> bool {
    let keyed = atom.contains("key=") && !atom.contains("authorization");
    atom.contains("trailers")
        && (atom.contains("key_value_separator") || (atom.contains("valueonly") && !keyed))
}

fn hides(format: &str, does: &str, instead: &str) -> Refusal {
    Refusal::new(
        format!("the format `{format}` {does}, which may hide a credential from being replaced"),
        format!("use {instead}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_words() {
        for value in ["5", "+5", "-5", "10K", "1.5", "10MiB", "3G", "90%"] {
            assert!(OperandKind::Number.check(value, "-n").is_ok(), "{value}");
        }
        for value in ["", "x", "5;", "-x", "5 6", "o", "=5"] {
            assert!(OperandKind::Number.check(value, "-n").is_err(), "{value}");
        }
        assert!(OperandKind::Word.check("a|b", "-k").is_err());
        assert!(OperandKind::Word.check("2,2n", "-k").is_ok());
    }

    #[test]
    fn formats_ask_for_no_signatures_and_print_plainly() {
        for format in [
            "%h %s",
            "oneline",
            "format:%H%n%b",
            "%(refname:short)",
            "-committerdate",
            "tformat:%an",
            "%%G?",
            "reference",
            "%<(20)%an%>(9)%h",
            "%%w(16)",
            "%an%n%b",
            "%(trailers:key=Signed-off-by,valueonly,separator=%x2C )",
            "%(trailers:unfold)",
            "%(contents:lines=2)",
            "%(align:20,left)%(refname)%(end)",
            "%w %C(auto)%h%d",
        ] {
            assert!(OperandKind::Format.check(format, "--format").is_ok(), "{format}");
        }
        for format in [
            "%G?",
            "%GG",
            "%+G?",
            "%-GS",
            "% GK",
            "%%%G?",
            "%(signature:grade)",
            "my-alias",
            "format:%h %GF",
            "%(raw)",
            "%(*raw:size)",
            "%w(16)%b",
            "%h%w(20,1,2)%B",
            "%<(20,trunc)%s",
            "%>|(9,ltrunc)%s",
            "%><( 9 , mtrunc )%s",
            "%h-%f",
            "%+f",
            "%(subject:sanitize)",
            "%(*subject:sanitize)",
            "%(trailers:valueonly)",
            "%(contents:trailers:valueonly=true)",
            "%(trailers:key=Authorization,valueonly)",
            "%(trailers:key=a,key_value_separator==)",
            "%(trailers:only)%(trailers:ValueOnly)",
            "email",
            "mboxrd",
        ] {
            assert!(OperandKind::Format.check(format, "--format").is_err(), "{format}");
        }
    }
}
