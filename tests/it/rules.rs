//! The table of rules in `docs/security.md` is the one that the code decides by.

use std::path::Path;

const OPEN: &str = "<!-- rules -->\n";
const CLOSE: &str = "<!-- /rules -->";

#[test]
fn the_page_on_security_has_the_table() {
    let printed = aye::proposal::rules::markdown();

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md");
    let text = std::fs::read_to_string(&path).expect("the page");
    let start = text.find(OPEN).expect("the opening mark") + OPEN.len();
    let end = start + text[start..].find(CLOSE).expect("the closing mark");
    if std::env::var_os("AYE_BLESS").is_some() {
        let fresh = [&text[..start], &printed, &text[end..]].concat();
        std::fs::write(&path, fresh).expect("write the page");
        return;
    }
    assert_eq!(
        &text[start..end],
        printed,
        "the table of rules is stale\nrun: AYE_BLESS=1 cargo test --locked --test it rules::"
    );
}
