//! The frozen corpus: texts of `tests/data/scanner/`, written before the rules were tuned.
//!
//! It differs from [`super::corpus`], which grows with the rules: nothing in these files changes
//! any more, so that figures of different versions can be compared. What stands for a credential
//! is made up from a fixed seed; no line of the files looks like one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::corpus::{Random, Sample, capital};

const POSITIVES: &str = include_str!("../../tests/data/scanner/positives.txt");
const NEGATIVES: &str = include_str!("../../tests/data/scanner/negatives.txt");

/// Texts with one secret each.
pub fn positives() -> Vec<Sample> {
    samples(POSITIVES, 1)
}

/// Texts without a secret.
pub fn negatives() -> Vec<Sample> {
    samples(NEGATIVES, 2)
}

fn samples(file: &str, seed: u64) -> Vec<Sample> {
    let mut random = Random::new(seed);
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once('\t'))
        .map(|(format, template)| {
            let text = filled(&mut random, template).replace('⏎', "\n");
            let secret = text
                .split_once('⟦')
                .and_then(|(_, rest)| rest.split_once('⟧'))
                .map(|(secret, _)| secret.to_owned());
            let text = format!("{}\n", text.replace(['⟦', '⟧'], ""));
            Sample { label: format.to_owned(), text, secret }
        })
        .collect()
}

/// `template` with every known `{{…}}` filled in, the innermost first; others stay as they are.
fn filled(random: &mut Random, template: &str) -> String {
    // What is no mark, such as `{{ .Values.x }}`, keeps its braces, out of the way until the end.
    const OPEN: &str = "\u{e000}";
    const CLOSE: &str = "\u{e001}";
    let mut text = template.to_owned();
    while let Some(start) = text.rfind("{{") {
        let Some(length) = text[start..].find("}}") else { break };
        let inside = text[start + 2..start + length].to_owned();
        let made = made(random, &inside).unwrap_or_else(|| format!("{OPEN}{inside}{CLOSE}"));
        text.replace_range(start..start + length + 2, &made);
    }
    text.replace(OPEN, "{{").replace(CLOSE, "}}")
}

/// What a mark stands for.
fn made(random: &mut Random, mark: &str) -> Option<String> {
    let (kind, rest) = mark.split_once(' ').unwrap_or((mark, ""));
    let encoded = || rest.replace('⏎', "\n");
    Some(match kind {
        "uuid" => random.uuid(),
        "pw" => password(random, "!@#*+?~"),
        "pw2" => password(random, "!*~._-"),
        "b64enc" => STANDARD.encode(encoded()),
        "hexenc" => encoded().bytes().map(|byte| format!("{byte:02x}")).collect(),
        "pctenc" => encoded().bytes().map(|byte| format!("%{byte:02X}")).collect(),
        _ => random.chars(alphabet(kind)?, rest.parse().ok()?),
    })
}

fn alphabet(name: &str) -> Option<&'static str> {
    Some(match name {
        "lower" => "abcdefghijklmnopqrstuvwxyz",
        "upper" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "alpha" => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "digit" => "0123456789",
        "hex" => "0123456789abcdef",
        "HEX" => "0123456789ABCDEF",
        "base32" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "bech32" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
        "base58" => "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
        "low36" => "abcdefghijklmnopqrstuvwxyz0123456789",
        "UP36" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "alnum" => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "url" => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_",
        "base64" => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/",
        _ => return None,
    })
}

/// A password as people choose them: a word or two with digits and a sign, or a generator's.
fn password(random: &mut Random, signs: &str) -> String {
    const WORDS: [&str; 16] = [
        "kestrel", "Harbour", "pepper", "Norway", "trumpet", "Walnut", "biscuit", "Saturn",
        "lantern", "Oxford", "meadow", "Granite", "violet", "Tornado", "cactus", "Pilgrim",
    ];
    let (word, sign) = (random.pick(&WORDS), random.chars(signs, 1));
    let number = 10 + random.below(9_990);
    match random.below(6) {
        0 => format!("{word}{number}{sign}"),
        1 => format!("{word}{sign}{number}"),
        2 => format!("{}{number}", capital(word)),
        3 => format!("{word}-{}-{number}", random.pick(&WORDS)),
        4 => {
            format!("{}{number}{sign}", word.replace('a', "4").replace('e', "3").replace('o', "0"))
        }
        _ => format!("{}{sign}{}{number}", random.alnum(6), random.alnum(4)),
    }
}
