//! Adds the directory of sessions' trees to a client's settings: its sandbox or workspace would
//! exclude them. All other bytes of the file stay.

use jsonc_parser::cst::{CstInputValue, CstNode};
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::settings::{left, parse, split_mark};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trees {
    Unnamed,
    /// `sandbox_workspace_write.writable_roots` of this TOML file, beside the user's hooks.
    WritableRoots(&'static str),
    /// `context.includeDirectories` of this JSON file, in the same place.
    IncludeDirectories(&'static str),
    /// `permissions.additionalDirectories` of this JSON file: a subagent cannot enter a work tree,
    /// and edits by its path.
    AdditionalDirectories(&'static str),
}

const ROOTS: [&str; 2] = ["sandbox_workspace_write", "writable_roots"];

impl Trees {
    pub fn file(self) -> Option<&'static str> {
        match self {
            Self::Unnamed => None,
            Self::WritableRoots(file)
            | Self::IncludeDirectories(file)
            | Self::AdditionalDirectories(file) => Some(file),
        }
    }

    /// Names of a list in JSON.
    fn list(self) -> [&'static str; 2] {
        match self {
            Self::AdditionalDirectories(_) => ["permissions", "additionalDirectories"],
            _ => ["context", "includeDirectories"],
        }
    }

    /// # Errors
    /// In words, if `text` cannot be parsed, or has another value where the list belongs.
    pub fn put(self, text: &str, directory: &str) -> Result<String, String> {
        let (mark, plain) = split_mark(text);
        let what = |names: [&str; 2]| format!("its '{}' is not as it should be", names.join("."));
        let after = match self {
            Self::Unnamed => return Ok(text.to_owned()),
            Self::WritableRoots(_) => {
                let mut document = toml(plain)?;
                let table = document.entry(ROOTS[0]).or_insert_with(|| Item::Table(Table::new()));
                let table = table.as_table_like_mut().ok_or_else(|| what(ROOTS))?;
                let list = table.entry(ROOTS[1]).or_insert_with(|| value(Array::new()));
                let list = list.as_array_mut().ok_or_else(|| what(ROOTS))?;
                if list.iter().any(|item| item.as_str() == Some(directory)) {
                    return Ok(text.to_owned());
                }
                list.push(directory);
                in_lines_of(plain, document.to_string())?
            }
            Self::IncludeDirectories(_) | Self::AdditionalDirectories(_) => {
                let root = parse(plain)?;
                let top = root.object_value_or_create().ok_or("its top is not an object")?;
                let list = top
                    .object_value_or_create(self.list()[0])
                    .and_then(|object| object.array_value_or_create(self.list()[1]))
                    .ok_or_else(|| what(self.list()))?;
                if list.elements().iter().any(|node| is_text(node, directory)) {
                    return Ok(text.to_owned());
                }
                list.append(CstInputValue::String(directory.to_owned()));
                root.to_string()
            }
        };
        Ok(format!("{mark}{after}"))
    }

    /// Removes lists and tables that become empty; `None` if nothing remains.
    pub fn take(self, text: &str, directory: &str) -> Result<Option<String>, String> {
        let (mark, plain) = split_mark(text);
        let after = match self {
            Self::Unnamed => return Ok(Some(text.to_owned())),
            Self::WritableRoots(_) => {
                let mut document = toml(plain)?;
                let table = document.get_mut(ROOTS[0]).and_then(Item::as_table_like_mut);
                let Some(table) = table else { return Ok(Some(text.to_owned())) };
                let list = table.get_mut(ROOTS[1]).and_then(Item::as_array_mut);
                let Some(list) = list else { return Ok(Some(text.to_owned())) };
                let count = list.len();
                list.retain(|item| item.as_str() != Some(directory));
                if list.len() == count {
                    return Ok(Some(text.to_owned()));
                }
                if list.is_empty() {
                    table.remove(ROOTS[1]);
                }
                if table.is_empty() {
                    document.remove(ROOTS[0]);
                }
                in_lines_of(plain, document.to_string())?
            }
            Self::IncludeDirectories(_) | Self::AdditionalDirectories(_) => {
                let root = parse(plain)?;
                let context = root.object_value().and_then(|top| top.get(self.list()[0]));
                let object = context.as_ref().and_then(|property| property.object_value());
                let list = object.as_ref().and_then(|object| object.get(self.list()[1]));
                let array = list.as_ref().and_then(|property| property.array_value());
                let ours = array.iter().flat_map(|array| array.elements());
                let ours: Vec<CstNode> = ours.filter(|node| is_text(node, directory)).collect();
                let (Some(context), Some(object), Some(list), Some(array)) =
                    (context, object, list, array)
                else {
                    return Ok(Some(text.to_owned()));
                };
                if ours.is_empty() {
                    return Ok(Some(text.to_owned()));
                }
                match (ours.len() == array.elements().len(), object.properties().len()) {
                    (true, 1) => context.remove(),
                    (true, _) => list.remove(),
                    (false, _) => ours.into_iter().for_each(CstNode::remove),
                }
                root.to_string()
            }
        };
        Ok(left(format!("{mark}{after}")))
    }
}

fn is_text(node: &CstNode, text: &str) -> bool {
    node.to_serde_value().is_some_and(|value| value.as_str() == Some(text))
}

/// Restores the line endings of `before`: the editor writes LF.
fn in_lines_of(before: &str, after: String) -> Result<String, String> {
    let (windows, all) = (before.matches("\r\n").count(), before.matches('\n').count());
    match windows {
        0 => Ok(after),
        windows if windows == all => Ok(after.replace('\n', "\r\n")),
        _ => Err("some of its lines end in CRLF, and some in LF".to_owned()),
    }
}

fn toml(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_and_taken_out_again_leaves_the_bytes_of_a_file() {
        let (toml, json) = (Trees::WritableRoots(""), Trees::IncludeDirectories(""));
        let claude = Trees::AdditionalDirectories("");
        for (trees, text) in [
            (toml, ""),
            (toml, "model = \"x\" # mine\n\n[a]\nb   =  1\n"),
            (toml, "model = \"x\"   # mine\r\n\r\n[tui]\r\ntheme='dark'\r\n"),
            (toml, "sandbox_workspace_write = { network_access = true }\n"),
            (
                toml,
                "[sandbox_workspace_write]\n# why\nwritable_roots = [\n  \"/x\", # theirs\n]\n\n[z]\n",
            ),
            (json, ""),
            (json, "{}"),
            (json, "{ // mine\n  \"a\": [1, 2,]\n}\n"),
            (json, "\u{feff}{\r\n\t\"context\": {\r\n\t\t\"fileName\": \"X.md\"\r\n\t}\r\n}"),
            (json, "{\"context\": {\"includeDirectories\": [\"/x\", /* why */ \"/y\"]}}"),
            (claude, "{\n  \"permissions\": {\n    \"allow\": []\n  }\n}\n"),
        ] {
            let with = trees.put(text, "/t").unwrap();
            assert!(with.contains("/t"), "{with}");
            assert_eq!(trees.put(&with, "/t").unwrap(), with);
            let without = trees.take(&with, "/t").unwrap().unwrap_or_default();
            assert_eq!(without, text, "{with}");
            assert_eq!(trees.take(text, "/t").unwrap().unwrap_or_default(), text);
        }
    }

    #[test]
    fn what_is_not_settings_is_refused() {
        for (trees, text) in [
            (Trees::WritableRoots(""), "["),
            (Trees::WritableRoots(""), "a = 1\r\nb = 2\n"),
            (Trees::WritableRoots(""), "sandbox_workspace_write = 5"),
            (Trees::WritableRoots(""), "[sandbox_workspace_write]\nwritable_roots = \"/x\"\n"),
            (Trees::IncludeDirectories(""), "["),
            (Trees::IncludeDirectories(""), "[]"),
            (Trees::IncludeDirectories(""), "{\"context\": 5}"),
            (Trees::IncludeDirectories(""), "{\"context\": {\"includeDirectories\": {}}}"),
        ] {
            assert!(trees.put(text, "/t").is_err(), "{text}");
        }
    }
}
