//! The scanner over the corpus, counted.

use std::fmt::Write as _;

use aye::secrets::{Finding, Scanner};

use super::corpus::{self, Sample};
use super::frozen;

/// What came of it.
#[derive(Default)]
pub struct Evaluation {
    /// Texts with a secret.
    pub positives: usize,
    /// Those whose secret was found, in its place.
    pub found: usize,
    /// Texts without one.
    pub negatives: usize,
    /// Findings where there is no secret, in either kind of text.
    pub false_alarms: usize,
    missed: Vec<String>,
    wrong: Vec<String>,
}

impl Evaluation {
    /// Of all findings, the share that is right.
    pub fn precision(&self) -> f64 {
        self.found as f64 / (self.found + self.false_alarms).max(1) as f64
    }

    /// Of all secrets, the share that is found.
    pub fn recall(&self) -> f64 {
        self.found as f64 / self.positives.max(1) as f64
    }

    /// One line.
    pub fn summary(&self) -> String {
        format!(
            "precision {:.4} ({} false alarms), recall {:.4} ({} of {}), negatives {}",
            self.precision(),
            self.false_alarms,
            self.recall(),
            self.found,
            self.positives,
            self.negatives
        )
    }

    /// What was missed and what was taken wrongly; all of it is made up, so it may be shown.
    pub fn detail(&self) -> String {
        format!("missed:\n{}\nwrong:\n{}", self.missed.join("\n"), self.wrong.join("\n"))
    }
}

/// Scans the corpus that grows with the rules.
pub fn run() -> Evaluation {
    evaluate(corpus::positives::all(), corpus::negatives::all())
}

/// Scans the frozen corpus.
pub fn run_frozen() -> Evaluation {
    evaluate(frozen::positives(), frozen::negatives())
}

/// Scans texts with one secret each and texts without one.
pub fn evaluate(positives: Vec<Sample>, negatives: Vec<Sample>) -> Evaluation {
    let scanner = Scanner::default();
    let mut result = Evaluation::default();
    for sample in positives {
        let findings = scanner.scan(sample.text.as_bytes());
        result.positives += 1;
        let (right, other): (Vec<_>, Vec<_>) =
            findings.iter().partition(|finding| touches(&sample, finding));
        if right.is_empty() {
            result.missed.push(format!("{}: {}", sample.label, shown(&sample.text)));
        } else {
            result.found += 1;
        }
        count(&mut result, &sample, &other);
    }
    for sample in negatives {
        result.negatives += 1;
        let findings = scanner.scan(sample.text.as_bytes());
        count(&mut result, &sample, &findings.iter().collect::<Vec<_>>());
    }
    result
}

fn count(result: &mut Evaluation, sample: &Sample, findings: &[&Finding]) {
    for finding in findings {
        result.false_alarms += 1;
        let line = sample.text.lines().nth(finding.line - 1).unwrap_or_default();
        let mut text = format!("{}: {} at column {}: ", sample.label, finding.kind, finding.column);
        let _ = write!(text, "{}", shown(line));
        result.wrong.push(text);
    }
}

fn shown(text: &str) -> String {
    text.chars().take(160).collect::<String>().replace('\n', "⏎")
}

/// True when the finding overlaps the secret of the sample.
fn touches(sample: &Sample, finding: &Finding) -> bool {
    let Some(secret) = &sample.secret else { return false };
    let Some(start) = sample.text.find(secret.as_str()) else { return false };
    let end = start + secret.len();
    let offset = |line: usize, column: usize| {
        let before: usize = sample.text.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let line = sample.text[before..].split('\n').next().unwrap_or_default();
        before + line.chars().take(column - 1).map(char::len_utf8).sum::<usize>()
    };
    let from = offset(finding.line, finding.column);
    let to = offset(finding.end_line, finding.end_column);
    from < end && start < to
}
