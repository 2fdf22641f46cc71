//! Personal data: US social security numbers, payment card numbers, and e-mail addresses.

use super::finding::{Category, Span, rank};
use super::probe::probes;

/// The shortest of them with its separators: `ddd-dd-dddd`.
const SHORTEST: usize = 11;

/// Where in a block of `SHORTEST` bytes its probe is: in the middle.
const PROBE: usize = SHORTEST / 2;

/// Adds social security and card numbers of `text` to `spans`.
pub(super) fn numbers(text: &[u8], spans: &mut Vec<Span>) {
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let mut done = 0;
    for probe in probes(text, PROBE, may_be_number) {
        let separator = matches!(text[probe], b' ' | b'-');
        if probe < done || !(digit(probe) || separator && digit(probe + 1)) {
            continue;
        }
        let (start, end) = run_around(text, if separator { probe + 1 } else { probe });
        if whole(text, start, end)
            && !in_arguments(text, start, end)
            && !in_hex_list(text, start, end)
        {
            number(text, start, end, spans);
        }
        done = end;
    }
}

/// What a byte may be in a number, as bits: this is the inner loop.
const DIGIT: u8 = 1;
const SEPARATOR: u8 = 2;
static PART: [u8; 256] = {
    let mut table = [0; 256];
    let mut digit = b'0';
    while digit <= b'9' {
        table[digit as usize] = DIGIT;
        digit += 1;
    }
    table[b' ' as usize] = SEPARATOR;
    table[b'-' as usize] = SEPARATOR;
    table
};

/// False where no number covers the probe: it would have a digit there, or a separator before one,
/// and go on for half a block to one side. Without branches, which nothing could foretell.
fn may_be_number(block: &[u8; SHORTEST]) -> bool {
    let class = |at: usize| PART[usize::from(block[at])];
    let part = |at: usize| class(at) != 0;
    let inside = (class(PROBE) & DIGIT != 0) | (class(PROBE + 1) & DIGIT != 0) & part(PROBE);
    inside & (part(PROBE - 2) & part(PROBE - 5) | part(PROBE + 2) & part(PROBE + 5))
}

/// The digits around `at` with single separators between them.
fn run_around(text: &[u8], at: usize) -> (usize, usize) {
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let separator = |at: usize| matches!(text.get(at), Some(b' ' | b'-'));
    let mut start = at;
    loop {
        if start >= 1 && digit(start - 1) {
            start -= 1;
        } else if start >= 2 && separator(start - 1) && digit(start - 2) {
            start -= 2;
        } else {
            break;
        }
    }
    let mut end = at;
    loop {
        if digit(end) {
            end += 1;
        } else if separator(end) && digit(end + 1) {
            end += 2;
        } else {
            return (start, end);
        }
    }
}

/// False inside a longer word, a decimal, a version or an address.
fn whole(text: &[u8], start: usize, end: usize) -> bool {
    let glue =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+' | b'%' | b'#' | b'$');
    let before = start.checked_sub(1).map(|at| text[at]);
    if before.is_some_and(|b| glue(b) || b == b'.' || b == b'/') {
        return false;
    }
    let dotted = text.get(end) == Some(&b'.') && text.get(end + 1).is_some_and(u8::is_ascii_digit);
    !dotted && !text.get(end).is_some_and(|b| glue(*b) || *b == b'/')
}

/// True for one of several numbers in code: `f(5503284107318959, 446)`.
fn in_arguments(text: &[u8], start: usize, end: usize) -> bool {
    let is_plain = text[start..end].iter().all(u8::is_ascii_digit);
    let after = text[end..]
        .strip_prefix(b", ")
        .is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit));
    let before = text[..start]
        .strip_suffix(b", ")
        .is_some_and(|head| head.last().is_some_and(u8::is_ascii_digit));
    is_plain && (after || before)
}

/// True between other groups of four or five hexadecimal digits: a table of code points or a dump.
fn in_hex_list(text: &[u8], start: usize, end: usize) -> bool {
    let hex = |group: &[u8]| {
        matches!(group.len(), 4 | 5 | 8)
            && group.iter().all(u8::is_ascii_hexdigit)
            && group.iter().any(|b| !b.is_ascii_lowercase())
    };
    let part = |b: &u8| b.is_ascii_alphanumeric();
    let before = text[..start].strip_suffix(b" ").is_some_and(|head| {
        let from = head.iter().rev().take(9).take_while(|b| part(b)).count();
        hex(&head[head.len() - from..])
    });
    let after = text[end..]
        .strip_prefix(b" ")
        .is_some_and(|tail| hex(&tail[..tail.iter().take(9).take_while(|b| part(b)).count()]));
    before || after
}

fn number(text: &[u8], start: usize, end: usize, spans: &mut Vec<Span>) {
    let mut add = |kind, title, start, end| {
        spans.push(Span {
            kind,
            title,
            category: Category::Pii,
            start,
            end,
            guessable: true,
            rank: rank::PII,
        });
    };
    if is_ssn(&text[start..end]) {
        return add("ssn", "US social security number", start, end);
    }
    if is_card(&text[start..end]) {
        return add("credit_card", "Payment card number", start, end);
    }
    // `2 4242 4242 4242 4242 7`, `078-05-1120 1`: groups around it belong to something else.
    let groups = group_starts(&text[start..end]);
    for (index, &from) in groups.iter().enumerate() {
        for &to in groups[index + 1..]
            .iter()
            .map(|g| g - 1)
            .chain([end - start])
            .collect::<Vec<_>>()
            .iter()
        {
            let part = &text[start + from..start + to];
            let spaced = |at: Option<&u8>| at.is_none_or(|b| *b == b' ');
            let alone = (from == 0 || spaced(text.get(start + from - 1)))
                && (start + to == end || spaced(text.get(start + to)));
            if part.len() > 23 {
                break;
            }
            if alone && is_ssn(part) {
                return add("ssn", "US social security number", start + from, start + to);
            }
            if alone && part.len() >= 13 && is_card(part) {
                return add("credit_card", "Payment card number", start + from, start + to);
            }
        }
    }
}

fn group_starts(run: &[u8]) -> Vec<usize> {
    let breaks = run.iter().enumerate().filter(|(_, b)| !b.is_ascii_digit()).map(|(at, _)| at + 1);
    std::iter::once(0).chain(breaks).take(64).collect()
}

/// `ddd-dd-dddd` in the ranges that are or were given out.
fn is_ssn(text: &[u8]) -> bool {
    if text.len() != 11 || text[3] != b'-' || text[6] != b'-' {
        return false;
    }
    if !text.iter().enumerate().all(|(at, b)| matches!(at, 3 | 6) || b.is_ascii_digit()) {
        return false;
    }
    let (area, group, serial) = (&text[..3], &text[4..6], &text[7..]);
    area != b"000" && area != b"666" && area[0] != b'9' && group != b"00" && serial != b"0000"
}

/// A card number: a known issuer's prefix and length, groups of at least four, and a Luhn sum.
fn is_card(text: &[u8]) -> bool {
    let digits: Vec<u8> = text.iter().filter(|b| b.is_ascii_digit()).map(|b| b - b'0').collect();
    if !(13..=19).contains(&digits.len()) || !luhn(&digits) {
        return false;
    }
    let separators: Vec<u8> = text.iter().copied().filter(|b| !b.is_ascii_digit()).collect();
    let uniform = separators.windows(2).all(|w| w[0] == w[1]);
    let grouped = separators.is_empty()
        || text.split(|b| !b.is_ascii_digit()).all(|g| (4..=7).contains(&g.len())) && uniform;
    let number = |n: usize| digits[..n].iter().fold(0u32, |all, d| all * 10 + u32::from(*d));
    let varied = digits.iter().any(|d| *d != digits[0]);
    let issuer = match digits.len() {
        // Rare lengths count only where somebody wrote the groups.
        13 | 19 if separators.is_empty() => false,
        13 => digits[0] == 4,
        14 => matches!(number(3), 300..=305 | 309) || matches!(number(2), 36 | 38 | 39),
        15 => matches!(number(2), 34 | 37),
        16 => {
            digits[0] == 4
                || matches!(number(2), 51..=55 | 65 | 62)
                || matches!(number(4), 2221..=2720 | 6011 | 3528..=3589)
                || matches!(number(3), 644..=649)
        }
        19 => digits[0] == 4 || number(2) == 62,
        _ => false,
    };
    grouped && varied && issuer
}

fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, &digit)| match (place % 2, u32::from(digit) * 2) {
            (0, _) => u32::from(digit),
            (_, doubled) if doubled > 9 => doubled - 9,
            (_, doubled) => doubled,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Adds e-mail addresses of `text` to `spans`.
pub(super) fn emails(text: &[u8], spans: &mut Vec<Span>) {
    for at in bstr::ByteSlice::find_iter(text, b"@") {
        let local = |b: &u8| {
            b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'%' | b'+' | b'-') || *b >= 0x80
        };
        let floor = at.saturating_sub(64);
        let start =
            text[floor..at].iter().rposition(|b| !local(b)).map_or(floor, |p| floor + p + 1);
        let domain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-') || *b >= 0x80;
        let ceiling = (at + 1 + 253).min(text.len());
        let mut end =
            text[at + 1..ceiling].iter().position(|b| !domain(b)).map_or(ceiling, |p| at + 1 + p);
        while end > at && matches!(text[end - 1], b'.' | b'-') {
            end -= 1;
        }
        if start < at && end > at + 1 && is_address(&text[start..at], &text[at + 1..end]) {
            spans.push(Span {
                kind: "email",
                title: "E-mail address",
                category: Category::Pii,
                start,
                end,
                guessable: true,
                rank: rank::PII,
            });
        }
    }
}

fn is_address(local: &[u8], domain: &[u8]) -> bool {
    // `git@github.com:…` names a service, `icon@2x.png` a file.
    const FILES: [&[u8]; 10] =
        [b"png", b"jpg", b"jpeg", b"gif", b"svg", b"webp", b"js", b"ts", b"css", b"html"];
    let Some(dot) = domain.iter().rposition(|b| *b == b'.') else { return false };
    let top = domain[dot + 1..].to_ascii_lowercase();
    dot > 0
        && top.len() >= 2
        && top.iter().all(|b| b.is_ascii_alphabetic() || *b >= 0x80)
        && !FILES.contains(&&top[..])
        && local != b"git"
        && !local.starts_with(b".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<&'static str> {
        let mut spans = Vec::new();
        numbers(text.as_bytes(), &mut spans);
        emails(text.as_bytes(), &mut spans);
        spans.into_iter().map(|s| s.kind).collect()
    }

    #[test]
    fn numbers_are_found_at_any_offset() {
        for pad in 0..30 {
            let pad = "x".repeat(pad);
            assert_eq!(kinds(&format!("{pad} 123-45-6789.")), ["ssn"], "{pad}");
            assert_eq!(kinds(&format!("{pad} 4242 4242 4242 4242")), ["credit_card"], "{pad}");
            assert_eq!(kinds(&format!("{pad},4111111111111111\n")), ["credit_card"], "{pad}");
            assert_eq!(kinds(&format!("{pad} 5555-5555-5555-4444;")), ["credit_card"], "{pad}");
            assert_eq!(kinds(&format!("{pad}:3782 822463 10005")), ["credit_card"], "{pad}");
        }
    }

    #[test]
    fn other_numbers_are_not() {
        for text in [
            "4242 4242 4242 4241",
            "000-12-3456",
            "2024-11-22",
            "555-123-4567",
            "1732240000000000000",
            "0.4111111111111111",
            "id_4111111111111111",
            "4111111111111111a",
            "123-45-67890",
            "1-123-45-6789-2",
            "521F 5220 5221 5222 5223 5224 522A",
            "5457 5459 5423 5432 548F",
            "0000000000000000",
            "192.168.100.100",
            "+1 415 555 2671 1234",
            "v4111111111111111",
        ] {
            assert_eq!(kinds(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn addresses() {
        assert_eq!(kinds("mail jane.doe+x@corp.co.uk, or Иван@почта.рф."), ["email", "email"]);
        assert_eq!(
            kinds("git@github.com:a/b icon@2x.png user@localhost @decorator a@b"),
            Vec::<&str>::new()
        );
    }
}
