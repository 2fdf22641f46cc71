//! The table of languages, `languages.toml`.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer};

/// The file itself explains its keys.
const TABLE: &str = include_str!("languages.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quote {
    pub(super) open: String,
    close: Option<String>,
    #[serde(default)]
    pub(super) escapes: bool,
    #[serde(default)]
    pub(super) lines: bool,
}

impl Quote {
    pub(super) fn close(&self) -> &str {
        self.close.as_ref().unwrap_or(&self.open)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Language {
    pub(super) extensions: Vec<String>,
    pub(super) files: Vec<String>,
    pub(super) programs: Vec<String>,
    pub(super) line: Vec<String>,
    pub(super) hash_after_blank: bool,
    pub(super) block: Vec<(String, String)>,
    pub(super) nested: bool,
    pub(super) strings: Vec<Quote>,
    pub(super) chars: bool,
    #[serde(deserialize_with = "words")]
    pub(super) keywords: HashSet<String>,
    #[serde(deserialize_with = "words")]
    pub(super) constants: HashSet<String>,
    pub(super) any_case: bool,
    pub(super) word: String,
    pub(super) key: String,
    pub(super) keyword_lines: Vec<String>,
    pub(super) comment_lines: Vec<String>,
}

fn words<'de, D: Deserializer<'de>>(from: D) -> Result<HashSet<String>, D::Error> {
    let text = String::deserialize(from)?;
    Ok(text.split_ascii_whitespace().map(str::to_owned).collect())
}

#[derive(Debug, Default, Deserialize)]
struct Table {
    language: Vec<Language>,
}

/// Parsed when the first file is coloured. A unit test parses the table, so the fallback never
/// applies.
pub(super) static LANGUAGES: LazyLock<Vec<Language>> =
    LazyLock::new(|| toml::from_str::<Table>(TABLE).unwrap_or_default().language);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_and_names_no_language_twice() {
        let table: Table = toml::from_str(TABLE).unwrap();
        assert_eq!(table.language.len(), TABLE.matches("[[language]]").count());
        let of = |language: &Language| [&language.extensions[..], &language.files].concat();
        let names: Vec<String> = table.language.iter().flat_map(of).collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    }
}
