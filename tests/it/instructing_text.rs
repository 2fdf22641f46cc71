//! Findings of text that tries to instruct an agent: what they find, and that documentation which
//! speaks of such things passes.

use aye::secrets::unsafe_text;

/// How well a list is told apart: precision, recall, and what went wrong.
fn judge(name: &str) -> (f64, f64, Vec<String>) {
    let path = format!("{}/tests/data/instructing/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the corpus");
    let (mut right, mut wrong, mut missed, mut faults) = (0, 0, 0, Vec::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (sign, text) = line.split_at(2);
        let text = text.replace("\\n", "\n").replace("\\z", "\u{200b}");
        let text = text.replace("\\t1", "\u{e0041}");
        let found = unsafe_text::check_instructions(b"", text.as_bytes());
        match (sign, found.is_empty()) {
            ("+ ", false) => right += 1,
            ("+ ", true) => {
                missed += 1;
                faults.push(format!("missed: {text}"));
            }
            (_, false) => {
                wrong += 1;
                faults.push(format!("false alarm ({}): {text}", found[0].message));
            }
            (_, true) => {}
        }
    }
    let (right, wrong, missed) = (f64::from(right), f64::from(wrong), f64::from(missed));
    (right / (right + wrong), right / (right + missed), faults)
}

#[test]
fn the_corpus_is_told_apart() {
    let (precision, recall, faults) = judge("corpus");
    assert!(precision >= 0.98 && recall >= 0.95, "{precision:.3} {recall:.3} {faults:#?}");
}

#[test]
fn held_out_text_is_told_apart() {
    let (precision, recall, faults) = judge("heldout");
    println!("precision {precision:.3}, recall {recall:.3}: {faults:#?}");
    assert!(precision >= 0.95 && recall >= 0.80, "{precision:.3} {recall:.3} {faults:#?}");
}
