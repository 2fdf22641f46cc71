//! Repositories with a long history of proposals, put together by `git fast-import`.

use std::io::{BufRead as _, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

use aye::changeset::RepoPath;
use aye::proposal::event::{InputForm, Propose, Subject, timestamp};
use aye::proposal::{Actor, ActorKind, ChangeRecord, Data, Entry, Event, ProposalId, Stamped};
use chrono::{DateTime, Duration, Utc};

use super::decision::Decision;

/// Files of the work tree, and lines of each.
const FILES: usize = 1_000;
const LINES: usize = 60;

/// The lane of the clone itself.
const OWN: &str = "00000000000000aa";

/// How much has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Proposals in all; every tenth is about memory, unless it is pending.
    pub proposals: usize,
    /// How many of them, the newest, are pending; the others are applied and rejected in turn.
    pub pending: usize,
    /// Lanes that they are spread over. One is the clone's own, the others are of `origin`.
    pub lanes: usize,
}

/// A repository of a shape.
pub struct History {
    directory: tempfile::TempDir,
    /// The ids of the pending proposals of its own lane, oldest first.
    pub pending: Vec<String>,
}

/// One proposal on its way into a lane.
struct Planned {
    number: usize,
    lane: usize,
}

impl History {
    /// Its work tree.
    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// Imports a history of `shape`: everything is packed, as after `git gc`. `aye` starts the
    /// memory store.
    pub fn new(aye: &str, shape: Shape) -> Self {
        let directory =
            tempfile::Builder::new().prefix("aye-growth-").tempdir().expect("a directory");
        let root = directory.path();
        git(root, &["init", "-q", "-b", "main"]);
        git(root, &["config", "user.name", "Bench"]);
        git(root, &["config", "user.email", "bench@example.com"]);
        git(root, &["config", "gc.auto", "0"]);
        let mut child = Command::new("git")
            .args(["fast-import", "--quiet", "--force"])
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("git fast-import");
        let mut import = Import {
            commands: BufWriter::new(child.stdin.take().expect("a pipe")),
            answers: BufReader::new(child.stdout.take().expect("a pipe")),
        };
        import.files();
        let mut pending = Vec::new();
        // One lane after the other: fast-import keeps few branches in memory.
        for lane in 0..shape.lanes.max(1) {
            let own = import.lane(shape, lane);
            if lane == 0 {
                pending = own;
            }
        }
        drop(import);
        assert!(child.wait().expect("git fast-import").success());
        git(root, &["reset", "-q", "--hard"]);
        let started = Command::new(aye).args(["memory", "init"]).current_dir(root).output();
        assert!(started.expect("aye").status.success());
        git(root, &["add", ".agent-memory"]);
        git(root, &["commit", "-q", "-m", "Memory"]);
        // What was checked out within the second in which the index was written is read again by
        // everybody, git too, until git has looked once more.
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        git(root, &["status", "--porcelain"]);
        std::fs::create_dir_all(root.join(".git/aye")).expect("a directory");
        std::fs::write(root.join(".git/aye/lane"), format!("{OWN}\n")).expect("a file");
        Self { directory, pending }
    }

    /// Leaves it where it is, and says where.
    pub fn keep(self) -> PathBuf {
        self.directory.keep()
    }

    /// A copy that a command may change.
    pub fn copy(&self) -> tempfile::TempDir {
        let directory =
            tempfile::Builder::new().prefix("aye-growth-").tempdir().expect("a directory");
        let from = self.root().join(".");
        let copied = Command::new("cp").arg("-a").arg(from).arg(directory.path()).status();
        assert!(copied.expect("cp").success());
        directory
    }
}

/// Gives each of `ids` a ref below `refs/aye/pending/`, as the writers of proposals do.
pub fn pending_refs(root: &Path, ids: &[String]) {
    let head = git(root, &["rev-parse", "HEAD"]);
    let lines: String =
        ids.iter().map(|id| format!("create refs/aye/pending/{id} {head}\n")).collect();
    let mut child = Command::new("git")
        .args(["update-ref", "--stdin"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .spawn()
        .expect("git update-ref");
    child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("write");
    assert!(child.wait().expect("git update-ref").success());
}

/// Runs git and returns what it prints.
pub fn git(root: &Path, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(root).output().expect("git");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The stream that fast-import reads, and what it answers.
struct Import<W: Write> {
    commands: W,
    answers: BufReader<ChildStdout>,
}

impl<W: Write> Import<W> {
    fn line(&mut self, text: impl AsRef<str>) {
        self.commands.write_all(text.as_ref().as_bytes()).expect("write");
        self.commands.write_all(b"\n").expect("write");
    }

    fn data(&mut self, bytes: &[u8]) {
        self.line(format!("data {}", bytes.len()));
        self.commands.write_all(bytes).expect("write");
        self.line("");
    }

    fn files(&mut self) {
        self.line("commit refs/heads/main\ncommitter Bench <bench@example.com> 1767225600 +0000");
        self.data(b"Start");
        for file in 0..FILES {
            self.line(format!("M 100644 inline {}", path(file).display()));
            self.data(content(file, None).as_bytes());
        }
    }

    /// The lane number `lane`; returns the ids of its pending proposals.
    fn lane(&mut self, shape: Shape, lane: usize) -> Vec<String> {
        let (name, reference) = match lane {
            0 => (OWN.to_owned(), format!("refs/aye/log/{OWN}")),
            n => {
                let name = format!("{n:016x}");
                (name.clone(), format!("refs/aye/remotes/origin/{name}"))
            }
        };
        let (mut seq, mut pending) = (0, Vec::new());
        for number in (lane..shape.proposals).step_by(shape.lanes.max(1)) {
            let is_pending = number + shape.pending >= shape.proposals;
            let memory = number % 10 == 9 && !is_pending;
            let planned = Planned { number, lane };
            let (change, after) = planned.change(memory);
            seq += 1;
            let data = Data::Propose(planned.propose(&change, memory));
            let event = planned.event(&name, seq, ActorKind::Agent, None, data);
            let before = change.before.as_ref().map(|_| content(planned.number % FILES, None));
            let stamped = self.commit(&reference, &event, Some((&change, &after)), &[]);
            let id = stamped.proposal().expect("a proposal");
            if is_pending {
                pending.push(id.to_string());
                continue;
            }
            seq += 1;
            let (data, beside) = Decision {
                number,
                revision: (&stamped.id, &self.tip()),
                change: &change,
                texts: (before.as_deref(), &after),
                time: timestamp(planned.time(ActorKind::Human)),
            }
            .data();
            let of = Some((id, stamped.id));
            let event = planned.event(&name, seq, ActorKind::Human, of, data);
            self.commit(&reference, &event, None, &beside);
        }
        pending
    }

    /// The id of the last commit, hex.
    fn tip(&mut self) -> String {
        self.line("get-mark :1");
        self.commands.flush().expect("write");
        let mut id = String::new();
        self.answers.read_line(&mut id).expect("an id");
        id.trim().to_owned()
    }

    /// A lane commit of one event with the blobs `beside` it, as [`aye::store::Writer`] makes them.
    fn commit(
        &mut self,
        reference: &str,
        event: &Event,
        content: Option<(&ChangeRecord, &str)>,
        beside: &[(&str, Vec<u8>)],
    ) -> Stamped {
        let bytes = event.to_bytes().expect("an event");
        let stamped = Stamped { id: blob_id(&bytes), event: event.clone() };
        let id = stamped.proposal().expect("a proposal");
        let (actor, seconds) = (&event.actor, event.time.timestamp());
        self.line(format!("commit {reference}\nmark :1"));
        self.line(format!("committer {} <{}> {seconds} +0000", actor.name, actor.email));
        let (kind, word) = (event.data.kind(), actor.kind.as_str());
        self.data(format!("{kind} {id}\n\nProposal-Id: {id}\nActor-Kind: {word}\n").as_bytes());
        self.line("deleteall\nM 100644 inline event.json");
        self.data(&bytes);
        for (name, bytes) in beside {
            self.line(format!("M 100644 inline {name}"));
            self.data(bytes);
        }
        if let Some((change, after)) = content {
            let path = change.path.display();
            if let Some(before) = &change.before {
                self.line(format!("M 100644 {} before/{path}", before.id));
            }
            self.line(format!("M 100644 inline after/{path}"));
            self.data(after.as_bytes());
        }
        stamped
    }
}

impl Planned {
    fn change(&self, memory: bool) -> (ChangeRecord, String) {
        let file = self.number % FILES;
        let after = content(file, Some(self.number));
        let entry = |text: &str| Entry { id: blob_id(text.as_bytes()), mode: "100644".into() };
        let change = ChangeRecord {
            path: match memory {
                true => {
                    RepoPath::new(format!(".agent-memory/notes/n{file:04}.md")).expect("a path")
                }
                false => path(file),
            },
            before: (!memory).then(|| entry(&content(file, None))),
            after: Some(entry(&after)),
            origin: None,
            snippets: Vec::new(),
        };
        (change, after)
    }

    fn propose(&self, change: &ChangeRecord, memory: bool) -> Propose {
        let number = self.number;
        Propose {
            description: Some(format!("Proposal {number} changes a line")),
            proposed_by: "agent".into(),
            expires_at: "2999-01-01T00:00:00Z".parse().expect("a time"),
            subject: if memory { Subject::Memory } else { Subject::Code },
            form: InputForm::Snippet,
            changes: vec![change.clone()],
            memory: memory.then(|| {
                serde_json::json!({
                    "staging_id": format!("20260101T000000-note-{number:06x}"),
                    "request": { "intent": "decision", "rationale": format!("Note {number}") },
                })
            }),
            ..Propose::default()
        }
    }

    fn time(&self, kind: ActorKind) -> DateTime<Utc> {
        let start: DateTime<Utc> = "2026-01-01T00:00:00Z".parse().expect("a time");
        let seconds = 10 * self.number as i64 + i64::from(kind == ActorKind::Human);
        // No two lanes at the same moment, so that the order is the same in every run.
        start + Duration::seconds(seconds) + Duration::milliseconds(self.lane as i64)
    }

    fn event(
        &self,
        lane: &str,
        seq: u64,
        kind: ActorKind,
        of: Option<(ProposalId, String)>,
        data: Data,
    ) -> Event {
        let name = if kind == ActorKind::Agent { "agent" } else { "Bench" };
        let (proposal, first) = of.unzip();
        Event {
            proposal,
            first,
            lane: lane.to_owned(),
            seq,
            actor: Actor { name: name.into(), email: "bench@example.com".into(), kind },
            agent: None,
            time: self.time(kind),
            heads: Vec::new(),
            forked: None,
            needs: None,
            witness: Vec::new(),
            data,
        }
    }
}

fn path(file: usize) -> RepoPath {
    RepoPath::new(
        PathBuf::from(format!("src/d{:02}/f{file:04}.txt", file % 50)).display().to_string(),
    )
    .expect("a path")
}

/// The text of a file, or what the proposal `number` makes of it.
fn content(file: usize, number: Option<usize>) -> String {
    let changed = number.map(|number| (number / FILES % LINES, number));
    (0..LINES)
        .map(|line| match changed {
            Some((at, number)) if at == line => format!("what proposal {number} has here\n"),
            _ => format!("line {line} of the file {file}\n"),
        })
        .collect()
}

/// The id of `bytes` as a blob, hex.
pub fn blob_id(bytes: &[u8]) -> String {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, bytes)
        .expect("a hash")
        .to_string()
}
