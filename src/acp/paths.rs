//! Paths of a session's tree and of its checkout, in the fields of messages. Pure.

use std::path::{Component, Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

/// Both directories in all their spellings; the first one is given to the other side.
#[derive(Clone, Debug)]
pub struct PathMap {
    /// As the editor spells it, then without symlinks.
    pub checkout: Vec<PathBuf>,
    pub tree: Vec<PathBuf>,
    /// A file that the tree was never given, such as an ignored one, keeps its path.
    pub is_there: fn(&Path) -> bool,
}

impl PathMap {
    pub fn to_tree(&self, path: &Path) -> Option<PathBuf> {
        // The tree may lie below the checkout: a repository of a home directory.
        if self.tree.iter().any(|tree| path.starts_with(tree)) {
            return None;
        }
        let moved = moved(path, &self.checkout, &self.tree)?;
        (!(self.is_there)(path) || (self.is_there)(&moved)).then_some(moved)
    }

    pub fn to_checkout(&self, path: &Path) -> Option<PathBuf> {
        moved(path, &self.tree, &self.checkout)
    }
}

fn moved(path: &Path, from: &[PathBuf], to: &[PathBuf]) -> Option<PathBuf> {
    let inside = from.iter().find_map(|from| path.strip_prefix(from).ok())?;
    let is_below = !inside.components().any(|part| part == Component::ParentDir);
    let to = to.first().filter(|_| is_below)?;
    Some(if inside.as_os_str().is_empty() { to.clone() } else { to.join(inside) })
}

/// Replaces the paths in the parameters of `method`. True if one was replaced.
pub fn replace(method: &str, params: &mut Value, map: &dyn Fn(&Path) -> Option<PathBuf>) -> bool {
    let mut fields = Vec::new();
    match method {
        "session/prompt" => items(params, "prompt").for_each(|it| content(it, &mut fields)),
        "session/update" | "session/request_permission" => {
            let key = if method == "session/update" { "update" } else { "toolCall" };
            params.get_mut(key).into_iter().for_each(|it| tool_call(it, &mut fields));
        }
        "session/new" | "session/load" | "session/resume" => {
            fields.extend(items(params, "additionalDirectories"));
        }
        "session/list" => {
            fields.extend(items(params, "sessions").filter_map(|session| session.get_mut("cwd")));
        }
        "terminal/create" => fields.extend(params.get_mut("cwd")),
        _ => {}
    }
    let mut is_changed = false;
    for field in fields {
        if let Some(new) = field.as_str().and_then(|text| moved_text(text, map)) {
            *field = new.into();
            is_changed = true;
        }
    }
    is_changed
}

fn items<'a>(of: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    of.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Also of a chunk of a message, whose content is one block.
fn tool_call<'a>(call: &'a mut Value, fields: &mut Vec<&'a mut Value>) {
    let Value::Object(entries) = call else { return };
    for (key, value) in entries {
        match (key.as_str(), value) {
            ("locations", Value::Array(all)) => {
                fields.extend(all.iter_mut().filter_map(|location| location.get_mut("path")));
            }
            ("content", Value::Array(all)) => {
                for item in all {
                    match item["type"].as_str() {
                        Some("diff") => fields.extend(item.get_mut("path")),
                        Some("content") => {
                            item.get_mut("content").into_iter().for_each(|it| content(it, fields));
                        }
                        _ => {}
                    }
                }
            }
            ("content", block) => content(block, fields),
            _ => {}
        }
    }
}

fn content<'a>(block: &'a mut Value, fields: &mut Vec<&'a mut Value>) {
    let of = match block["type"].as_str() {
        Some("resource") => block.get_mut("resource"),
        _ => Some(block),
    };
    fields.extend(of.and_then(|of| of.get_mut("uri")));
}

fn moved_text(text: &str, map: &dyn Fn(&Path) -> Option<PathBuf>) -> Option<String> {
    if text.starts_with('/') {
        return map(Path::new(text))?.into_os_string().into_string().ok();
    }
    let (path, rest) = of_uri(text)?;
    let moved = map(&path)?;
    Some(format!("file://{}{rest}", utf8_percent_encode(moved.to_str()?, ENCODED)))
}

/// The path of a `file:` URI, and its query and fragment.
pub fn of_uri(uri: &str) -> Option<(PathBuf, &str)> {
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let (path, rest) = path.split_at(path.find(['?', '#']).unwrap_or(path.len()));
    let path = percent_decode_str(path).decode_utf8().ok()?;
    path.starts_with('/').then(|| (PathBuf::from(&*path), rest))
}

/// RFC 3986 calls the others unreserved.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn map() -> PathMap {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect();
        PathMap {
            checkout: paths(&["/home/u/link", "/srv/shop"]),
            tree: paths(&["/home/u/state/trees/1", "/state/trees/1"]),
            is_there: |path| path.ends_with(".env") && !path.starts_with("/home/u/state"),
        }
    }

    #[test]
    fn paths_are_mapped_both_ways_and_no_others() {
        let map = map();
        let to_tree = |path: &str| map.to_tree(Path::new(path));
        let tree = |path: &str| Some(Path::new("/home/u/state/trees/1").join(path));
        assert_eq!(to_tree("/srv/shop/a/b"), tree("a/b"));
        assert_eq!(to_tree("/home/u/link"), Some("/home/u/state/trees/1".into()));
        let others = ["/srv/shops", "/srv/shop/../x", "a/b", "/state/trees/1/a", "/srv/shop/.env"];
        for other in others {
            assert_eq!(to_tree(other), None, "{other}");
        }
        let out = map.to_checkout(Path::new("/state/trees/1/a"));
        assert_eq!(out, Some("/home/u/link/a".into()));
        assert_eq!(map.to_checkout(Path::new("/state/trees/12/a")), None);
    }

    #[test]
    fn fields_that_are_paths_are_replaced_and_text_is_not() {
        let map = map();
        let mut params = json!({"sessionId": "s", "update": {
            "sessionUpdate": "tool_call", "title": "/state/trees/1/a",
            "rawInput": {"path": "/state/trees/1/a"},
            "locations": [{"path": "/state/trees/1/a", "line": 3}, {"path": "/etc/x"}, 5],
            "content": [
                {"type": "diff", "path": "/state/trees/1/b c", "newText": "/state/trees/1/a"},
                {"type": "content", "content": {"type": "resource_link", "name": "x",
                    "uri": "file:///state/trees/1/b%20c?x=1#L2"}},
                {"type": "terminal", "terminalId": "/state/trees/1"}, null],
        }});
        let mut expected = params.clone();
        let update = &mut expected["update"];
        update["locations"][0]["path"] = "/home/u/link/a".into();
        update["content"][0]["path"] = "/home/u/link/b c".into();
        update["content"][1]["content"]["uri"] = "file:///home/u/link/b%20c?x=1#L2".into();
        assert!(replace("session/update", &mut params, &|path| map.to_checkout(path)));
        assert_eq!(params, expected);
        let mut params = json!({"prompt": [
            {"type": "text", "text": "/srv/shop/a"},
            {"type": "resource_link", "uri": "file:///srv/shop/%C3%A4"},
            {"type": "resource", "resource": {"uri": "file://localhost/srv/shop/a", "text": "t"}},
            {"type": "resource_link", "uri": "https://example.com/srv/shop/a"}]});
        assert!(replace("session/prompt", &mut params, &|path| map.to_tree(path)));
        assert_eq!(params["prompt"][0]["text"], "/srv/shop/a");
        assert_eq!(params["prompt"][1]["uri"], "file:///home/u/state/trees/1/%C3%A4");
        assert_eq!(params["prompt"][2]["resource"]["uri"], "file:///home/u/state/trees/1/a");
        assert_eq!(params["prompt"][3]["uri"], "https://example.com/srv/shop/a");
    }

    proptest! {
        #[test]
        fn a_mapped_path_comes_back(name in "[^/\0]{1,12}") {
            prop_assume!(!["..", ".", ".env"].contains(&name.as_str()));
            let (map, path) = (map(), Path::new("/home/u/link").join(name));
            let uri = format!("file://{}", utf8_percent_encode(path.to_str().unwrap(), ENCODED));
            let inside = moved_text(&uri, &|path| map.to_tree(path)).unwrap();
            let back = moved_text(&inside, &|path| map.to_checkout(path)).unwrap();
            prop_assert_eq!(&back, &uri);
            prop_assert_eq!(of_uri(&back).unwrap().0, path);
        }
    }
}
