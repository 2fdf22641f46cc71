//! Repositories with many proposals, open and decided. What the program records of one proposal is the
//! template of them all; their objects are written as one pack.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::{Compression, write::ZlibEncoder};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Files of the work tree, and lines of each.
const FILES: usize = 1_000;
const LINES: usize = 60;

/// How much has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Pending proposals.
    pub open: usize,
    /// Rejected ones, in the ledger.
    pub decided: usize,
    /// Files of the work tree that no proposal changes, besides the others.
    pub files: usize,
}

/// A repository of a shape.
pub struct History {
    directory: tempfile::TempDir,
    /// The ids of the pending proposals, oldest first.
    pub pending: Vec<String>,
}

impl History {
    /// Its work tree.
    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// Makes a repository of `shape`: everything is packed, as after `git gc`.
    pub fn new(aye: &str, shape: Shape) -> Self {
        let directory =
            tempfile::Builder::new().prefix("aye-growth-").tempdir().expect("a directory");
        let root = directory.path();
        git(root, &["init", "-q", "-b", "main"]);
        git(root, &["config", "user.name", "Bench"]);
        git(root, &["config", "user.email", "bench@example.com"]);
        git(root, &["config", "gc.auto", "0"]);
        for file in 0..FILES {
            let path = root.join(path(file));
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, text(file, None)).expect("a file");
        }
        for file in 0..shape.files {
            let directory = root.join(format!("wide/d{:03}", file / 500));
            if file % 500 == 0 {
                std::fs::create_dir_all(&directory).expect("a directory");
            }
            std::fs::write(directory.join(file.to_string()), format!("{file}\n")).expect("a file");
        }
        run(aye, root, &["memory", "init"]);
        git(root, &["add", "."]);
        git(root, &["commit", "-q", "-m", "Start"]);
        let mut import = Import::new(aye, root);
        let decided: Vec<String> = (0..shape.decided).map(|n| import.decided(n)).collect();
        import.write(root, &decided);
        if !decided.is_empty() {
            run(aye, root, &["doctor", "--gc"]);
        }
        import.tips.clear();
        let open = (shape.decided..shape.decided + shape.open).map(|n| import.open(n));
        let pending: Vec<String> = open.collect();
        import.write(root, &pending);
        git(root, &["repack", "-adq"]);
        git(root, &["prune-packed", "-q"]);
        // What was checked out within the second in which the index was written is read again by
        // everybody, git too, until git has looked once more.
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        git(root, &["status", "--porcelain"]);
        Self { directory, pending }
    }

    /// Leaves it where it is, and says where.
    pub fn keep(self) -> PathBuf {
        self.directory.keep()
    }
}

/// Runs git and returns what it prints.
pub fn git(root: &Path, args: &[&str]) -> String {
    run("git", root, args)
}

fn run(program: &str, root: &Path, args: &[&str]) -> String {
    let mut command = Command::new(program);
    // Not an agent's, whoever starts the bench.
    command.args(args).current_dir(root).env_clear().env("HOME", root);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let output = command.output().expect(program);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub fn path(file: usize) -> String {
    let file = file % FILES;
    format!("src/d{:02}/f{file:04}.txt", file / 40)
}

/// The content of a file, in which a proposal has changed its own line.
fn text(file: usize, number: Option<usize>) -> String {
    let line = |line: usize| match number {
        Some(number) if number / FILES % LINES == line => format!("proposal {number} is here\n"),
        _ => format!("line {line} of the file {}\n", file % FILES),
    };
    (0..LINES).map(line).collect()
}

/// Objects on their way into a pack, made after the first event and the rejection of a proposal that the
/// program has recorded.
struct Import {
    propose: Value,
    event: Value,
    statement: Value,
    objects: Vec<(u8, Vec<u8>)>,
    /// Thread and tip.
    tips: Vec<(String, String)>,
}

impl Import {
    fn new(aye: &str, root: &Path) -> Self {
        let args = ["propose", &path(0), "--old", "line 0", "--new", "x", "-m", "template", "-q"];
        let printed = run(aye, root, &args);
        let id = printed.split_whitespace().next().expect("an id");
        run(aye, root, &["reject", id, "--yes", "-m", "no"]);
        let tip = git(root, &["for-each-ref", "--format=%(objectname)", "refs/aye/p"]);
        let header = |commit: &str, name: &str| -> Value {
            let text = git(root, &["cat-file", "commit", commit]);
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            serde_json::from_str(line.expect("a header")).expect("JSON")
        };
        let (event, statement) = (header(&tip, "aye-event "), header(&tip, "aye-statement "));
        let mut propose = header(&format!("{tip}~1"), "aye-event ");
        propose["data"]["changes"][0].as_object_mut().expect("a change").remove("snippets");
        Self { propose, event, statement, objects: Vec::new(), tips: Vec::new() }
    }

    fn add(&mut self, kind: gix::objs::Kind, data: Vec<u8>) -> String {
        let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, &data).expect("a hash");
        let code = match kind {
            gix::objs::Kind::Commit => 1,
            gix::objs::Kind::Tree => 2,
            _ => 3,
        };
        self.objects.push((code, data));
        id.to_string()
    }

    /// The trees that hold `blob` at `path` and nothing else.
    fn tree(&mut self, path: &str, blob: &str) -> Vec<u8> {
        let (mut mode, mut id) = ("100644", blob.to_owned());
        let mut names: Vec<&str> = path.split('/').collect();
        let top = names.remove(0);
        for name in names.into_iter().rev() {
            let entry = entry(mode, name, &id);
            id = self.add(gix::objs::Kind::Tree, entry);
            mode = "40000";
        }
        entry(mode, top, &id)
    }

    fn commit(&mut self, tree: &str, parents: &[&str], headers: &str) -> String {
        let parents: String = parents.iter().map(|id| format!("parent {id}\n")).collect();
        let who = "Bench <bench@example.com> 1767225600 +0000";
        let text =
            format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n{headers}\nbench\n");
        self.add(gix::objs::Kind::Commit, text.into_bytes())
    }

    /// The first event of proposal `number`; its id and the SHA-256 of its line.
    fn first(&mut self, number: usize) -> (String, String) {
        let path = path(number);
        let sides = [text(number, None), text(number, Some(number))];
        let [before, after] = sides.map(|text| {
            let sha256 = sha256(&text);
            let id = self.add(gix::objs::Kind::Blob, text.into_bytes());
            json!({"id": id, "mode": "100644", "sha256": sha256})
        });
        let id = |side: &Value| side["id"].as_str().expect("an id").to_owned();
        let tops = [("after", id(&after)), ("before", id(&before))].map(|(name, blob)| {
            let tree = self.tree(&path, &blob);
            let id = self.add(gix::objs::Kind::Tree, tree);
            entry("40000", name, &id)
        });
        let tree = self.add(gix::objs::Kind::Tree, tops.concat());
        let change = &mut self.propose["data"]["changes"][0];
        change["after"] = after;
        change["before"] = before;
        change["path"] = path.into();
        self.propose["data"]["description"] = format!("Proposal {number}").into();
        self.propose["data"]["expires_at"] = "2999-01-01T00:00:00.000Z".into();
        self.propose["time"] = time(number).into();
        let line = self.propose.to_string();
        let hash = sha256(&line);
        (self.commit(&tree, &[], &format!("aye-event {line}\n")), hash)
    }

    fn open(&mut self, number: usize) -> String {
        let (id, _) = self.first(number);
        self.tips.push((id.clone(), id.clone()));
        id
    }

    fn decided(&mut self, number: usize) -> String {
        let (id, hash) = self.first(number);
        let name = json!({"id": id, "sha256": hash});
        self.statement["proposal"] = name.clone();
        self.statement["revision"] = name;
        self.statement["seen"] = sha256(&format!("{id}\n")).into();
        self.statement["time"] = time(number + 1).into();
        let headers = format!("aye-event {}\naye-statement {}\n", self.event, self.statement);
        let tree = self.add(gix::objs::Kind::Tree, Vec::new());
        let tip = self.commit(&tree, &[&id], &headers);
        self.tips.push((id.clone(), tip));
        id
    }

    /// Puts the objects into a pack, and the tips into `packed-refs`.
    fn write(&mut self, root: &Path, ids: &[String]) {
        assert_eq!(ids.len(), self.tips.len());
        if ids.is_empty() {
            return;
        }
        let mut child = Command::new("git")
            .args(["index-pack", "--stdin"])
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("git index-pack");
        let pack = pack(std::mem::take(&mut self.objects));
        child.stdin.take().expect("a pipe").write_all(&pack).expect("written");
        assert!(child.wait().expect("git index-pack").success());
        let mut child = Command::new("git")
            .args(["update-ref", "--stdin"])
            .current_dir(root)
            .stdin(Stdio::piped())
            .spawn()
            .expect("git update-ref");
        let refs: String = self
            .tips
            .iter()
            .map(|(thread, tip)| format!("create refs/aye/p/{thread} {tip}\n"))
            .collect();
        child.stdin.take().expect("a pipe").write_all(refs.as_bytes()).expect("written");
        assert!(child.wait().expect("git update-ref").success());
        git(root, &["pack-refs", "--all"]);
    }
}

/// A pack of whole objects.
fn pack(objects: Vec<(u8, Vec<u8>)>) -> Vec<u8> {
    let count = u32::try_from(objects.len()).expect("a number");
    let mut pack = [&b"PACK\0\0\0\x02"[..], &count.to_be_bytes()].concat();
    for (code, data) in objects {
        let mut size = data.len();
        let mut byte = code << 4 | (size & 15) as u8;
        size >>= 4;
        while size > 0 {
            pack.push(byte | 0x80);
            byte = (size & 0x7f) as u8;
            size >>= 7;
        }
        pack.push(byte);
        let mut encoder = ZlibEncoder::new(pack, Compression::fast());
        encoder.write_all(&data).expect("compressed");
        pack = encoder.finish().expect("compressed");
    }
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(&pack);
    pack.extend(hasher.try_finalize().expect("a hash").as_slice());
    pack
}

fn entry(mode: &str, name: &str, id: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).expect("hex");
    let id: Vec<u8> = (0..id.len()).step_by(2).map(digit).collect();
    [format!("{mode} {name}\0").as_bytes(), &id].concat()
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A minute after the one before, from the year 2025 on.
fn time(number: usize) -> String {
    let start = chrono::DateTime::from_timestamp(1_735_689_600, 0).expect("a time");
    let time = start + chrono::Duration::minutes(number as i64);
    time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
