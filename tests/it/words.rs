//! aye says what git says (CONTRIBUTING.md, "Vocabulary").

use std::path::Path;

/// Text of the program and for people, below the top.
const PLACES: [&str; 6] = ["src", "docs", "man", "README.md", "ARCHITECTURE.md", "SECURITY.md"];

#[test]
fn a_directory_is_called_one() {
    let mut found = Vec::new();
    let is_text = |path: &Path| {
        path.extension()
            .is_some_and(|end| ["rs", "toml", "md", "1"].map(AsRef::as_ref).contains(&end))
    };
    for place in PLACES {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(place);
        let files = walkdir::WalkDir::new(place).into_iter().map(|entry| entry.expect("a file"));
        for file in files.filter(|entry| entry.file_type().is_file() && is_text(entry.path())) {
            let text = std::fs::read_to_string(file.path()).expect("UTF-8");
            for (number, line) in text.lines().enumerate() {
                if line.to_lowercase().contains("folder") {
                    found.push(format!("{}:{}: {line}", file.path().display(), number + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "git says directory:\n{}", found.join("\n"));
}
