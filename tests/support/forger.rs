//! Events as somebody else makes them: anything that git's plumbing can make, and what becomes of a
//! genuine event when a part of it is changed.
//!
//! ```ignore
//! let apply = Forged::read(&repo, &tip).by("Mallory", "agent").write(&repo);
//! forger::fetched(&repo, &thread, &apply);
//! ```

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Repo;

/// The directory of the clone that forges.
pub const CLONE: &str = "0badc0de0badc0de";

/// An event commit taken apart.
#[derive(Clone, Debug)]
pub struct Forged {
    /// What `aye-event` has.
    pub event: Value,
    /// What `aye-statement` has.
    pub statement: Option<Value>,
    /// The tree by name: mode, type and id, as `git mktree` takes them.
    pub tree: BTreeMap<String, String>,
    /// Ids, in any order.
    pub parents: Vec<String>,
}

impl Forged {
    /// Takes the commit `id` apart.
    #[track_caller]
    pub fn read(repo: &Repo, id: &str) -> Self {
        let text = repo.git(&["cat-file", "commit", id]);
        let (head, _) = text.split_once("\n\n").expect("a message");
        let all = |key: &str| -> Vec<String> {
            let of_key = head.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
            of_key.map(str::to_owned).collect()
        };
        let json = |key| all(key).pop().map(|text| serde_json::from_str(&text).expect("JSON"));
        let entries = repo.git(&["ls-tree", id]);
        let entry = |line: &str| {
            let (entry, name) = line.split_once('\t').expect("an entry");
            (name.to_owned(), entry.to_owned())
        };
        Self {
            event: json("aye-event").expect("an event"),
            statement: json("aye-statement"),
            tree: entries.lines().map(entry).collect(),
            parents: all("parent"),
        }
    }

    /// An event of Mallory, a person, without a statement.
    pub fn event(kind: &str, data: Value) -> Self {
        let event = json!({
            "actor": {"email": "m@x", "kind": "human", "name": "Mallory"}, "clone": CLONE,
            "data": data, "kind": kind, "time": "2026-02-01T00:00:00.000Z", "v": 2,
        });
        Self { event, statement: None, tree: BTreeMap::new(), parents: Vec::new() }
    }

    /// A comment of Mallory.
    pub fn comment(body: &str) -> Self {
        Self::event("comment", json!({ "body": body }))
    }

    /// A first event like the one of the proposal `like`, which makes `path` of nothing.
    pub fn propose(repo: &Repo, like: &str, path: &str, content: &str, why: &str) -> Self {
        let changes = json!([{"path": path, "after": side(repo, content)}]);
        let mut forged = Self::read(repo, like).by("mallory", "agent");
        forged.tree.clear();
        let data = json!({"changes": changes, "description": why, "proposed_by": "mallory"});
        forged.data(data).content(repo, "after", path, content)
    }

    /// In the name of somebody else, in the event and in the statement, from [`CLONE`].
    #[must_use]
    pub fn by(mut self, name: &str, kind: &str) -> Self {
        let email = if kind == "agent" { "" } else { "m@x" };
        let actor = json!({"email": email, "kind": kind, "name": name});
        self.event["clone"] = CLONE.into();
        self.event["actor"] = actor.clone();
        if let Some(statement) = &mut self.statement {
            statement["actor"] = actor;
        }
        self
    }

    /// With these parents, and with a statement that has seen them.
    #[must_use]
    pub fn on(mut self, parents: &[&str]) -> Self {
        self.parents = parents.iter().map(|&id| id.to_owned()).collect();
        let seen = list_sha256(&self.parents);
        self.stated(json!({ "seen": seen }))
    }

    /// With these parents, and otherwise byte for byte the same.
    #[must_use]
    pub fn moved(mut self, parents: &[&str]) -> Self {
        self.parents = parents.iter().map(|&id| id.to_owned()).collect();
        self
    }

    /// With other values of these keys of `data`; `null` removes one.
    #[must_use]
    pub fn data(mut self, keys: Value) -> Self {
        merge(&mut self.event["data"], keys, true);
        self
    }

    /// With other values of these keys of the event; `null` removes one.
    #[must_use]
    pub fn keys(mut self, keys: Value) -> Self {
        merge(&mut self.event, keys, true);
        self
    }

    /// With other values of these keys of the statement, if there is one.
    #[must_use]
    pub fn stated(mut self, keys: Value) -> Self {
        if let Some(statement) = &mut self.statement {
            merge(statement, keys, false);
        }
        self
    }

    /// With a manifest of these bytes, named by the statement.
    #[must_use]
    pub fn manifest(self, repo: &Repo, bytes: &str) -> Self {
        let id = blob(repo, bytes);
        let named = json!({"id": id, "sha256": sha256(bytes)});
        self.entry("manifest", &format!("100644 blob {id}")).stated(json!({ "manifest": named }))
    }

    /// With the list of the statements that it ends, of these SHA-256.
    #[must_use]
    pub fn ends(self, repo: &Repo, statements: &[String]) -> Self {
        let mut list = statements.to_vec();
        list.sort();
        let id = blob(repo, list.iter().map(|hash| format!("{hash}\n")).collect::<String>());
        let named = json!({ "ends": list_sha256(statements) });
        self.entry("ends", &format!("100644 blob {id}")).stated(named)
    }

    /// With an entry of the tree.
    #[must_use]
    pub fn entry(mut self, name: &str, entry: &str) -> Self {
        self.tree.insert(name.to_owned(), entry.to_owned());
        self
    }

    /// Without an entry of the tree.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.tree.remove(name);
        self
    }

    /// With one file below the directory `name` of the tree.
    #[must_use]
    pub fn content(self, repo: &Repo, name: &str, path: &str, text: &str) -> Self {
        let file = ("100644 blob".to_owned(), blob(repo, text));
        let (kind, id) = path.rsplit('/').fold(file, |(kind, id), part| {
            ("040000 tree".to_owned(), tree(repo, &format!("{kind} {id}\t{part}\n")))
        });
        self.entry(name, &format!("{kind} {id}"))
    }

    /// The lines of the two headers.
    pub fn lines(&self) -> (String, Option<String>) {
        (canonical(&self.event), self.statement.as_ref().map(canonical))
    }

    /// The SHA-256 by which the decision is known.
    pub fn identity(&self) -> String {
        sha256(self.lines().1.expect("a statement"))
    }

    /// Writes it as a commit; its id.
    pub fn write(&self, repo: &Repo) -> String {
        let (event, statement) = self.lines();
        self.write_lines(repo, &event, statement.as_deref())
    }

    /// Writes it with these bytes in the two headers; the commit's id.
    pub fn write_lines(&self, repo: &Repo, event: &str, statement: Option<&str>) -> String {
        let statement = statement.map(|line| format!("aye-statement {line}\n"));
        let headers = format!("aye-event {event}\n{}", statement.unwrap_or_default());
        self.write_headers(repo, &headers)
    }

    /// Writes it with these lines behind `committer`; the commit's id.
    pub fn write_headers(&self, repo: &Repo, headers: &str) -> String {
        let line = |(name, entry): (&String, &String)| format!("{entry}\t{name}\n");
        let tree = tree(repo, &self.tree.iter().map(line).collect::<String>());
        let mut parents = self.parents.clone();
        parents.sort();
        let parents: String = parents.iter().map(|id| format!("parent {id}\n")).collect();
        let who = "M <m@x> 1767225600 +0000";
        let text = format!(
            "tree {tree}\n{parents}author {who}\ncommitter {who}\n{headers}\n{}\n",
            self.event["kind"].as_str().unwrap_or("x")
        );
        commit(repo, text)
    }
}

fn merge(into: &mut Value, keys: Value, removes: bool) {
    let Value::Object(keys) = keys else { panic!("an object") };
    let into = into.as_object_mut().expect("an object");
    for (key, value) in keys {
        match value.is_null() && removes {
            true => drop(into.remove(&key)),
            false => drop(into.insert(key, value)),
        }
    }
}

/// Lets `repo` have `tip` of `thread` as fetched from [`CLONE`].
pub fn fetched(repo: &Repo, thread: &str, tip: &str) {
    fetched_from(repo, CLONE, thread, tip);
}

/// The same from another clone. Written as a file: `git update-ref` refuses what is not there.
pub fn fetched_from(repo: &Repo, clone: &str, thread: &str, tip: &str) {
    super::clones::origin(repo);
    repo.write(&format!(".git/refs/aye/remotes/origin/{clone}/{thread}"), format!("{tip}\n"));
}

/// The tips of the clone's own shared threads that are decisions.
pub fn decisions(repo: &Repo) -> Vec<Forged> {
    let tips = repo.git(&["for-each-ref", "--format=%(objectname)", "refs/aye/p"]);
    let read = tips.lines().map(|tip| Forged::read(repo, tip));
    read.filter(|forged| forged.statement.is_some()).collect()
}

/// Lets `repo` have the objects of all threads that `from` has written.
pub fn borrow(repo: &Repo, from: &Repo) {
    let (p, private) = ("+refs/aye/p/*:refs/scratch/p/*", "+refs/aye/private/*:refs/scratch/x/*");
    repo.git(&["fetch", "-q", &from.root().to_string_lossy(), p, private]);
    for name in repo.git(&["for-each-ref", "--format=%(refname)", "refs/scratch"]).lines() {
        repo.git(&["update-ref", "-d", name]);
    }
}

/// A blob; its id.
pub fn blob(repo: &Repo, content: impl AsRef<[u8]>) -> String {
    fed(repo, &["hash-object", "-w", "--stdin"], content)
}

/// A side of a change: a plain file of this content.
pub fn side(repo: &Repo, content: &str) -> Value {
    json!({"id": blob(repo, content), "mode": "100644", "sha256": sha256(content)})
}

/// A side of a manifest: a plain file of this content.
pub fn record(repo: &Repo, content: &str) -> String {
    format!("100644:{}:{}", blob(repo, content), sha256(content))
}

/// A tree of these entries as `git mktree` takes them: `100644 blob ID\tname`.
pub fn tree(repo: &Repo, entries: &str) -> String {
    fed(repo, &["mktree", "--missing"], entries)
}

/// A commit of these bytes; its id.
pub fn commit(repo: &Repo, bytes: impl AsRef<[u8]>) -> String {
    fed(repo, &["hash-object", "-t", "commit", "-w", "--literally", "--stdin"], bytes)
}

/// What `git ARGS` prints when it is fed `input`.
pub fn fed(repo: &Repo, args: &[&str], input: impl AsRef<[u8]>) -> String {
    repo.program("git").args(args).stdin(input).run().ok().out().trim().to_owned()
}

/// In hex.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes.as_ref()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 over sorted lines: what `seen` and `ends` are.
pub fn list_sha256(lines: &[String]) -> String {
    let mut lines = lines.to_vec();
    lines.sort();
    sha256(lines.iter().map(|line| format!("{line}\n")).collect::<String>())
}

/// Canonical JSON, written apart from the program: sorted keys, no whitespace, no line feed.
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            let item =
                |(key, value): (&&String, &&Value)| format!("{}:{}", json!(key), canonical(value));
            format!("{{{}}}", sorted.iter().map(item).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}
