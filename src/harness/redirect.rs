//! Paths in the input of a tool, and the same input with other paths. Pure.

use serde_json::Value;

/// Place of the paths in a tool's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Path(&'static str),
    /// The working directory if absent.
    Search(&'static str),
    /// A path or a list, under the first key present; otherwise the working directory, under the
    /// first key.
    Places(&'static [&'static str]),
    /// In an envelope of `apply_patch`.
    Patch(&'static str),
}

const HEADERS: [&str; 4] =
    ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// Empty for a search without a path.
///
/// # Errors
/// In words, if the paths are not certain.
pub fn paths(input: &Value, field: Field) -> Result<Vec<String>, String> {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    match field {
        Field::Path(key) => {
            let path = text(key).filter(|path| !path.is_empty());
            Ok(vec![path.ok_or("the tool's input names no file")?.to_owned()])
        }
        Field::Search(key) => match input.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(path) => Ok(vec![path_of(path)?]),
        },
        Field::Places(keys) => match key_of(input, keys).map(|key| &input[key]) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => list.iter().map(path_of).collect(),
            Some(path) => Ok(vec![path_of(path)?]),
        },
        Field::Patch(key) => {
            let patch = text(key).ok_or("the tool's input has no patch")?;
            let above = patch.split_once("*** Begin Patch").map_or("", |(above, _)| above);
            let is_command = |line: &str| line.starts_with("cd ") || line.contains("&& ");
            if above.lines().map(str::trim_start).any(is_command) {
                return Err(
                    "a command stands in front of the patch; send the patch alone".to_owned()
                );
            }
            let mut found = Vec::new();
            for line in patch.lines() {
                if let Some((_, path)) = header(line)? {
                    found.push(path.to_owned());
                }
            }
            if found.is_empty() {
                return Err("the patch names no file".to_owned());
            }
            Ok(found)
        }
    }
}

fn path_of(value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| "the path is not a text".to_owned())
}

fn key_of(input: &Value, keys: &[&'static str]) -> Option<&'static str> {
    keys.iter().copied().find(|key| !input[*key].is_null())
}

/// Replaces each path by `to(path)`; a search without a path gets `here`.
///
/// # Errors
/// As [`paths`], and errors of `to`.
pub fn redirect(
    input: &Value,
    field: Field,
    here: &str,
    to: impl Fn(&str) -> Result<String, String>,
) -> Result<Value, String> {
    let named = paths(input, field)?;
    let mut input = input.clone();
    match field {
        Field::Path(key) => input[key] = to(&named[0])?.into(),
        Field::Search(key) => {
            input[key] = named.first().map_or_else(|| Ok(here.to_owned()), |path| to(path))?.into();
        }
        Field::Places(keys) => {
            let key = key_of(&input, keys).unwrap_or(keys[0]);
            input[key] = match &input[key] {
                Value::Array(_) if !named.is_empty() => {
                    named.iter().map(|path| to(path)).collect::<Result<_, _>>()?
                }
                _ => named.first().map_or_else(|| Ok(here.to_owned()), |path| to(path))?.into(),
            };
        }
        Field::Patch(key) => {
            let patch = input[key].as_str().unwrap_or_default().to_owned();
            let mut lines = Vec::new();
            for line in patch.split('\n') {
                let (text, end) = match line.strip_suffix('\r') {
                    Some(text) => (text, "\r"),
                    None => (line, ""),
                };
                lines.push(match header(text)? {
                    Some((header, path)) => format!("{header}{}{end}", to(path)?),
                    None => line.to_owned(),
                });
            }
            input[key] = lines.join("\n").into();
        }
    }
    Ok(input)
}

/// An indented header is an error: a client may accept it or treat it as content.
fn header(line: &str) -> Result<Option<(&'static str, &str)>, String> {
    for header in HEADERS {
        if let Some(path) = line.strip_prefix(header) {
            let path = path.trim();
            if path.is_empty() {
                return Err("the patch names no file".to_owned());
            }
            return Ok(Some((header, path)));
        }
        if line.trim_start().starts_with(header.trim_end()) {
            return Err("a line of the patch may name a file, or not".to_owned());
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-x\n+*** Add File: no\n*** End Patch\n";

    fn moved(input: &Value, field: Field) -> Result<Value, String> {
        redirect(input, field, "/t", |path| Ok(format!("/t/{path}")))
    }

    #[test]
    fn a_patch_names_the_files_of_its_headers_alone() {
        let input = json!({ "command": PATCH, "x": 1 });
        assert_eq!(paths(&input, Field::Patch("command")).unwrap(), ["a.txt", "b.txt"]);
        let moved = moved(&input, Field::Patch("command")).unwrap();
        let expected = PATCH.replace(": a.", ": /t/a.").replace(": b.", ": /t/b.");
        assert_eq!(moved, json!({ "command": expected, "x": 1 }));
    }

    #[test]
    fn what_may_be_a_header_or_not_is_refused() {
        for patch in [
            "",
            "*** Begin Patch\n*** End Patch",
            "*** Add File: a\n *** Add File: b\n",
            "*** Add File: \n",
            "*** Add File: a\n\t*** Delete File:b\n",
            "cd x && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+b\n*** End Patch\nEOF\n",
        ] {
            assert!(moved(&json!({ "p": patch }), Field::Patch("p")).is_err(), "{patch:?}");
        }
        assert!(moved(&json!({ "p": ["x"] }), Field::Patch("p")).is_err());
        assert!(moved(&json!({ "p": "" }), Field::Path("p")).is_err());
        assert!(moved(&json!([]), Field::Path("p")).is_err());
        assert!(moved(&json!({ "p": 5 }), Field::Search("p")).is_err());
    }

    #[test]
    fn a_search_without_a_path_is_one_of_the_tree() {
        assert_eq!(moved(&json!({}), Field::Search("p")).unwrap(), json!({ "p": "/t" }));
        assert_eq!(moved(&json!({"p": "a"}), Field::Search("p")).unwrap(), json!({ "p": "/t/a" }));
    }

    #[test]
    fn places_are_under_the_first_key_that_is_there() {
        for (input, expected) in [
            (json!({}), json!({"p": "/t"})),
            (json!({"p": null, "q": null}), json!({"p": "/t", "q": null})),
            (json!({"q": "a"}), json!({"q": "/t/a"})),
            (json!({"p": ["a", "b"], "q": "c"}), json!({"p": ["/t/a", "/t/b"], "q": "c"})),
            (json!({"p": []}), json!({"p": "/t"})),
        ] {
            assert_eq!(moved(&input, Field::Places(&["p", "q"])).unwrap(), expected);
        }
        for input in [json!({"p": 5}), json!({"p": ["a", 5]})] {
            assert!(moved(&input, Field::Places(&["p"])).is_err(), "{input}");
        }
    }

    proptest! {
        #[test]
        fn every_path_of_any_patch_is_redirected(
            lines in proptest::collection::vec(
                prop_oneof![
                    "[a-z]{1,3}".prop_map(|name| format!("*** Add File: {name}")),
                    "[a-z]{1,3}".prop_map(|name| format!("*** Move to: {name}\r")),
                    "[ +-][a-z* ]{0,9}", any::<String>(),
                ],
                0..9,
            )
        ) {
            let input = json!({ "p": lines.join("\n") });
            if let Ok(moved) = moved(&input, Field::Patch("p")) {
                let found = paths(&moved, Field::Patch("p")).unwrap();
                prop_assert!(found.iter().all(|path| path.starts_with("/t/")));
                let before = paths(&input, Field::Patch("p")).unwrap();
                prop_assert_eq!(before.len(), found.len());
            }
        }
    }
}
