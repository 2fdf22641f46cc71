//! The scanner against a labelled corpus: what share of the secrets it finds, and what share of
//! its findings are secrets. `cargo bench --bench scanner` prints the same figures with speed.

use sha2::Digest as _;

#[path = "../../benches/scanner/corpus/mod.rs"]
mod corpus;
#[path = "../../benches/scanner/evaluation.rs"]
mod evaluation;
#[path = "../../benches/scanner/frozen.rs"]
mod frozen;

#[test]
fn precision_and_recall_hold() {
    let result = evaluation::run();
    println!("{}", result.summary());
    assert!(result.positives >= 400 && result.negatives >= 2000, "{}", result.summary());
    let detail = format!("{}\n{}", result.summary(), result.detail());
    assert!(result.recall() >= 0.97, "{detail}");
    assert!(result.precision() >= 0.98, "{detail}");
}

#[test]
fn frozen_corpus_holds() {
    let result = evaluation::run_frozen();
    println!("{}", result.summary());
    let detail = format!("{}\n{}", result.summary(), result.detail());
    assert!(result.recall() >= 0.95, "{detail}");
    assert!(result.precision() >= 0.98, "{detail}");
}

#[test]
fn findings_repeat_nothing_of_the_secret() {
    let scanner = aye::secrets::Scanner::default();
    for sample in corpus::positives::all() {
        let Some(secret) = sample.secret else { continue };
        let shown = format!("{:?}", scanner.scan(sample.text.as_bytes()));
        let pieces: Vec<char> = secret.chars().collect();
        for piece in pieces.windows(8) {
            let piece: String = piece.iter().collect();
            // Words such as `-----BEGIN PRIVATE` and digits of places are no secrets.
            if piece.chars().all(|c| c.is_ascii_alphanumeric())
                && piece.chars().any(|c| c.is_ascii_digit())
            {
                assert!(!shown.contains(&piece), "{}: {shown}", sample.label);
            }
        }
    }
}

/// What `sha256sum` says of the two files since their first commit.
const FROZEN: [&str; 2] = [
    "ee33c4c5c4ea75ed9d4b3bbbebbf8b7ccea1912ac7c34ab2b54da1048dc2276c",
    "526e0f45b4ad2b8ef56f3fe282c82f427d22e0d7de709bf7e50fc302ce63ef45",
];

#[test]
fn frozen_corpus_is_as_it_was() {
    let digest = |file: &str| -> String {
        sha2::Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let files = [
        include_str!("../data/scanner/positives.txt"),
        include_str!("../data/scanner/negatives.txt"),
    ];
    let digests = files.map(digest);
    assert_eq!(digests, FROZEN, "add texts to benches/scanner/corpus instead");
}
