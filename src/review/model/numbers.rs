//! Hunk numbers: `1,3-5`.

use std::collections::BTreeSet;

use super::super::codes;
use crate::error::{Error, Result};

/// Parses `1,3-5`, `2-`, `-3`, from 1 to `count`. Returns indices from 0.
///
/// # Errors
/// `no_such_hunk` for anything else.
pub fn parse_numbers(text: &str, count: usize) -> Result<BTreeSet<usize>> {
    let wrong = |part: &str| {
        Error::new(&codes::NO_SUCH_HUNK, format!("'{part}' is not among the hunks 1 to {count}"))
            .hint("`aye diff ID --hunks` numbers them; write for example 1,3-5")
    };
    let mut chosen = BTreeSet::new();
    for part in text.split(',').map(str::trim) {
        let number = |digits: &str, default: usize| match digits.trim() {
            "" => Ok(default),
            digits => digits.parse::<usize>().map_err(|_| wrong(part)),
        };
        let (first, last) = match part.split_once('-') {
            Some(("", "")) => return Err(wrong(part)),
            Some((first, last)) => (number(first, 1)?, number(last, count)?),
            None if part.is_empty() => return Err(wrong(part)),
            None => (number(part, 0)?, number(part, 0)?),
        };
        if first == 0 || last > count || first > last {
            return Err(wrong(part));
        }
        chosen.extend(first - 1..last);
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_may_be_open() {
        let list = |text| parse_numbers(text, 6).unwrap().into_iter().collect::<Vec<_>>();
        assert_eq!(list("1,3-5"), [0, 2, 3, 4]);
        assert_eq!(list("5-"), [4, 5]);
        assert_eq!(list("-2, 2"), [0, 1]);
    }

    #[test]
    fn what_is_not_there_is_refused() {
        for text in ["0", "7", "4-3", "x", "", "1,", "-", "1-9", "99999999999999999999"] {
            assert!(parse_numbers(text, 6).unwrap_err().is(&codes::NO_SUCH_HUNK), "{text}");
        }
    }
}
