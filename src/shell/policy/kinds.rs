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
    /// A git output format, which must not ask for signatures: that starts gpg.
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
            Self::Format if asks_signature(value) => {
                return Err(Refusal::new(
                    format!("the format `{value}` may ask for signatures, which starts gpg"),
                    "leave out %G… and %(signature…), and write the format with a `%`, or one \
                     of oneline, short, medium, full, fuller, reference, email, raw",
                ));
            }
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
    "", "oneline", "short", "medium", "full", "fuller", "reference", "email", "raw", "mboxrd",
    "refname", "-refname", "version:refname", "-version:refname", "v:refname", "-v:refname",
    "committerdate", "-committerdate", "authordate", "-authordate", "creatordate", "-creatordate",
    "taggerdate", "-taggerdate", "objectsize", "-objectsize", "author", "committer", "objecttype",
    "objectname", "subject",
];

fn asks_signature(format: &str) -> bool {
    if format.contains("signature") {
        return true;
    }
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        if rest.starts_with('%') {
            rest = &rest[1..];
        } else if rest.trim_start_matches(['+', '-', ' ']).starts_with('G') {
            return true;
        }
    }
    let named = format.strip_suffix(':').unwrap_or(format);
    !format.contains('%')
        && !format.starts_with("format:")
        && !format.starts_with("tformat:")
        && !NAMED.contains(&named)
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
    fn formats_never_ask_for_signatures() {
        for format in [
            "%h %s", "oneline", "format:%H%n%b", "%(refname:short)", "-committerdate",
            "tformat:%an", "%%G?", "reference",
        ] {
            assert!(OperandKind::Format.check(format, "--format").is_ok(), "{format}");
        }
        for format in [
            "%G?", "%GG", "%+G?", "%-GS", "% GK", "%%%G?", "%(signature:grade)", "my-alias",
            "format:%h %GF", "%(raw)", "%(*raw:size)",
        ] {
            assert!(OperandKind::Format.check(format, "--format").is_err(), "{format}");
        }
    }
}
