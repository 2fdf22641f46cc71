//! Directories that a client's own sandbox leaves writable, in its configuration. Everything else in the file
//! keeps its bytes. Pure.

use toml_edit::{Array, DocumentMut, Item, Table, value};

const TABLE: &str = "sandbox_workspace_write";
const LIST: &str = "writable_roots";

/// `text` (Codex's `config.toml`) with `directory` among the roots that its sandbox leaves writable.
///
/// # Errors
/// In words, where the text is not TOML, or something else stands where the list belongs.
pub fn put(text: &str, directory: &str) -> Result<String, String> {
    let mut document = parse(text)?;
    let table = document.entry(TABLE).or_insert_with(|| Item::Table(Table::new()));
    let table = table.as_table_like_mut().ok_or_else(|| format!("its '{TABLE}' is not a table"))?;
    let list = table.entry(LIST).or_insert_with(|| value(Array::new()));
    let list = list.as_array_mut().ok_or_else(|| format!("its '{LIST}' is not a list"))?;
    if list.iter().any(|item| item.as_str() == Some(directory)) {
        return Ok(text.to_owned());
    }
    list.push(directory);
    Ok(restore(text, document.to_string()))
}

/// `text` without it, and without the list and the table that are empty then.
///
/// # Errors
/// As [`put`].
pub fn remove(text: &str, directory: &str) -> Result<String, String> {
    let mut document = parse(text)?;
    let Some(table) = document.get_mut(TABLE).and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    let Some(list) = table.get_mut(LIST).and_then(Item::as_array_mut) else {
        return Ok(text.to_owned());
    };
    let before = list.len();
    list.retain(|item| item.as_str() != Some(directory));
    if list.len() == before {
        return Ok(text.to_owned());
    }
    if list.is_empty() {
        table.remove(LIST);
        if table.is_empty() {
            document.remove(TABLE);
        }
    }
    Ok(restore(text, document.to_string()))
}

/// Whether `directory` is among those roots.
pub fn has(text: &str, directory: &str) -> bool {
    put(text, directory).is_ok_and(|after| after == text)
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())
}

/// The editor drops a byte order mark.
fn restore(before: &str, after: String) -> String {
    match before.starts_with('\u{feff}') {
        true => format!("\u{feff}{after}"),
        false => after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_else_keeps_its_bytes_and_nothing_is_left() {
        for text in [
            "",
            "model = \"x\" # mine\n\n[a]\nb   =  1\n",
            "sandbox_workspace_write = { network_access = true }\n",
            "[sandbox_workspace_write]\n# why\nwritable_roots = [\n  \"/x\", # theirs\n]\n\n[z]\n",
        ] {
            let with = put(text, "/t").unwrap();
            assert!(has(&with, "/t") && !has(text, "/t"), "{with}");
            assert_eq!(put(&with, "/t").unwrap(), with);
            for kept in
                ["# mine", "b   =  1", "# why", "\"/x\",", "# theirs", "network_access = true"]
            {
                assert_eq!(text.contains(kept), with.contains(kept), "{kept} in {with}");
            }
            let without = remove(&with, "/t").unwrap();
            assert!(!has(&without, "/t"), "{without}");
            let values = |text: &str| text.parse::<toml::Table>().unwrap();
            assert_eq!(values(&without), values(text));
        }
    }

    #[test]
    fn what_is_not_toml_or_of_another_form_is_refused() {
        for text in [
            "[",
            "sandbox_workspace_write = 5",
            "[sandbox_workspace_write]\nwritable_roots = \"/x\"\n",
        ] {
            assert!(put(text, "/t").is_err(), "{text}");
        }
        assert_eq!(remove("a = 1\n", "/t").unwrap(), "a = 1\n");
    }
}
