//! Lanes as an attacker would push them: anything that git's plumbing can make.

// Each test binary compiles this file and uses its own part of it.
#![allow(dead_code)]

use serde_json::{Value, json};

use super::Repo;

/// A lane of somebody else, put together object by object.
pub struct Hostile<'r> {
    repo: &'r Repo,
    /// Its name.
    pub lane: String,
    seq: u64,
}

impl<'r> Hostile<'r> {
    /// A lane that has nothing yet.
    pub fn new(repo: &'r Repo, lane: &str) -> Self {
        Self { repo, lane: lane.to_owned(), seq: 0 }
    }

    /// The lane after `seq` events.
    pub fn at(&self, seq: u64) -> Self {
        Self { repo: self.repo, lane: self.lane.clone(), seq }
    }

    /// The next event of the lane, canonical JSON.
    pub fn event(&mut self, kind: &str, proposal: Option<&str>, data: Value) -> String {
        self.seq += 1;
        let mut event = json!({
            "v": 1, "kind": kind, "lane": self.lane, "seq": self.seq,
            "actor": {"name": "Mallory", "email": "m@x", "kind": "human"},
            "time": format!("2026-02-01T00:00:{:02}.000Z", self.seq % 60),
            "heads": [], "data": data,
        });
        if let Some(id) = proposal {
            event["proposal"] = id.into();
        }
        format!("{event}\n")
    }

    /// A first event that would create `path`.
    pub fn propose(&mut self, path: &str, description: &str) -> String {
        let after = self.blob("evil\n");
        self.event(
            "propose",
            None,
            json!({
                "description": description, "proposed_by": "mallory",
                "expires_at": "2999-01-01T00:00:00Z", "subject": "code", "form": "tool",
                "changes": [{"path": path, "after": {"id": after, "mode": "100644"}}],
            }),
        )
    }

    /// A comment on `proposal`.
    pub fn comment(&mut self, proposal: &str, body: &str) -> String {
        self.event("comment", Some(proposal), json!({ "body": body }))
    }

    /// A blob; its id.
    pub fn blob(&self, content: impl AsRef<[u8]>) -> String {
        fed(self.repo, &["hash-object", "-w", "--stdin"], content)
    }

    /// A tree of these entries as `git mktree` takes them: `100644 blob ID\tname`.
    pub fn tree(&self, entries: &str) -> String {
        fed(self.repo, &["mktree", "--missing"], entries)
    }

    /// A commit; its id.
    pub fn commit(&self, tree: &str, parents: &[&str]) -> String {
        let mut args = vec!["commit-tree", tree, "-m", "x"];
        for parent in parents {
            args.extend(["-p", parent]);
        }
        self.repo.git(&args)
    }

    /// A commit of one event on `parents`; its id.
    pub fn step(&self, event: &str, parents: &[&str]) -> String {
        let tree = self.tree(&format!("100644 blob {}\tevent.json\n", self.blob(event)));
        self.commit(&tree, parents)
    }

    /// Lets `origin` have the lane at `tip`.
    pub fn push(&self, tip: &str) {
        self.push_to("origin", tip);
    }

    /// Lets `remote` have the lane at `tip`.
    pub fn push_to(&self, remote: &str, tip: &str) {
        let file = format!(".git/refs/aye/remotes/{remote}/{}", self.lane);
        // Written as a file: `git update-ref` refuses what is not there.
        self.repo.write(&file, format!("{tip}\n"));
    }
}

/// Many lanes at once, with one process.
#[derive(Default)]
pub struct Import(Vec<u8>, usize);

impl Import {
    /// Adds `lane` of `origin`, a commit for each list of events.
    pub fn lane(&mut self, lane: &str, commits: &[Vec<String>]) {
        for (index, events) in commits.iter().enumerate() {
            let mut names = Vec::new();
            for event in events {
                self.1 += 1;
                self.line(&format!("blob\nmark :{}\ndata {}\n{event}", self.1, event.len()));
                names.push(self.1);
            }
            self.line(&format!("commit refs/aye/remotes/origin/{lane}"));
            self.line("committer M <m@x> 1767225600 +0000\ndata 1\nx");
            if index > 0 {
                self.line("deleteall");
            }
            match names[..] {
                [one] => self.line(&format!("M 100644 :{one} event.json")),
                _ => {
                    for (index, name) in names.iter().enumerate() {
                        self.line(&format!("M 100644 :{name} events/{index:05}.json"));
                    }
                }
            }
        }
    }

    fn line(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(b'\n');
    }

    /// Puts them into `repo`.
    pub fn run(self, repo: &Repo) {
        fed(repo, &["fast-import", "--quiet", "--force"], self.0);
    }
}

/// What `git ARGS` prints when it is fed `input`.
pub fn fed(repo: &Repo, args: &[&str], input: impl AsRef<[u8]>) -> String {
    let run = repo
        .program("git")
        .args(args)
        .env("GIT_COMMITTER_NAME", "M")
        .env("GIT_COMMITTER_EMAIL", "m@x")
        .stdin(input)
        .run();
    run.ok().out().trim().to_owned()
}
