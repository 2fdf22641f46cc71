//! Four clones of one remote at work, by `aye sync`, with all that happens to
//! clones: collected garbage, closed threads, killed commands, copies, restored backups, a rewound
//! remote, purges. In every state an independent reader says what the program says. In the end all
//! clones fold alike, nothing that a command has acknowledged is lost, and at no time has the remote
//! got an object of a private thread.
//!
//! `AYE_SCENARIO_SECONDS=3600 AYE_SCENARIO_SEED=7 cargo test --test it four_clones:: -- --nocapture`
//! works longer, and otherwise; `AYE_SCENARIO_STEPS=484` does as many steps. A failure prints the seed and the
//! steps; `AYE_SCENARIO_KEEP` names where the repositories are copied to then. A seed takes the same decisions;
//! what is killed is reached at the same step.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bstr::ByteSlice as _;
use serde_json::Value;

use crate::support::clones::{is_private, short};
use crate::support::steps::{self, Random};
use crate::support::{Repo, Run};

/// How many steps a run takes where no time is given.
const STEPS: usize = 110;

/// Most clones that there are at once.
const MOST: usize = 6;

/// Text of a private thread contains this and a number, with a dot behind it.
const HUSH: &str = "hush-";

/// What a step does, and how often of a thousand.
const WEIGHTS: &[(usize, &str)] = &[
    (130, "propose"),
    (60, "private"),
    (110, "comment"),
    (70, "revise"),
    (90, "apply"),
    (50, "reject"),
    (70, "undo"),
    (40, "approve"),
    (40, "request"),
    (35, "publish"),
    (100, "fetch"),
    (125, "sync"),
    (30, "close"),
    (8, "purge"),
    (15, "pack"),
    (12, "gc"),
    (5, "copy"),
    (15, "backup"),
    (7, "restore"),
    (8, "back up the remote"),
    (5, "rewind"),
    (15, "forget"),
];

/// An event of a command that exited with 0.
struct Told {
    by: usize,
    thread: String,
    is_private: bool,
}

struct World {
    /// A directory around all repositories, with the surroundings that every program is run in.
    scene: Repo,
    clones: Vec<PathBuf>,
    random: Random,
    seed: u64,
    steps: Vec<String>,
    failpoints: Vec<String>,
    /// By commit id.
    told: BTreeMap<String, Told>,
    /// Events that only a clone had which a backup has replaced.
    orphans: BTreeSet<String>,
    /// The numbers of words that no remote may have.
    hush: BTreeSet<usize>,
    /// The word of the first event of a private proposal, by its id.
    first_word: BTreeMap<String, usize>,
    /// The clones that have purged a thread.
    purged: BTreeMap<String, BTreeSet<usize>>,
    /// What a clone had purged when it was backed up.
    backups: BTreeMap<usize, BTreeSet<String>>,
    /// Objects of the remote that have been looked at.
    seen: BTreeSet<String>,
    counts: BTreeMap<String, usize>,
    made: usize,
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let steps = self.steps.join("\n");
            let _ = writeln!(std::io::stderr(), "seed {}; the steps:\n{steps}", self.seed);
            if let Some(keep) = std::env::var_os("AYE_SCENARIO_KEEP") {
                self.copy(self.scene.outer(), Path::new(&keep));
            }
        }
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let scene = Repo::outside();
        scene.git(&["init", "-q", "--bare", "-b", "main", "origin"]);
        let clones: Vec<PathBuf> = (0..4).map(|at| scene.path(&format!("clone-{at}"))).collect();
        for (at, clone) in clones.iter().enumerate() {
            scene.git(&["clone", "-q", "origin", clone.to_str().expect("UTF-8")]);
            let git = |args: &[&str]| scene.program("git").dir(clone).args(args).run().ok();
            // Two people, each in two clones.
            let name = if at % 2 == 0 { "Ann" } else { "Ben" };
            git(&["config", "user.name", name]);
            git(&["config", "user.email", &format!("{name}@example.com")]);
            // Garbage is collected where this test says so.
            git(&["config", "gc.auto", "0"]);
            git(&["config", "aye.syncRemote", "origin"]);
            if at == 0 {
                git(&["commit", "-q", "--allow-empty", "-m", "Start"]);
                git(&["push", "-q", "origin", "HEAD:refs/heads/main"]);
            }
        }
        Self {
            scene,
            clones,
            random: Random(seed),
            seed,
            steps: Vec::new(),
            failpoints: steps::all(),
            told: BTreeMap::new(),
            orphans: BTreeSet::new(),
            hush: BTreeSet::new(),
            first_word: BTreeMap::new(),
            purged: BTreeMap::new(),
            backups: BTreeMap::new(),
            seen: BTreeSet::new(),
            counts: BTreeMap::new(),
            made: 0,
        }
    }

    fn git(&self, at: usize, args: &[&str]) -> Run {
        self.scene.program("git").dir(&self.clones[at]).args(args).run()
    }

    fn aye(&self, at: usize, args: &[&str]) -> Run {
        self.scene.cmd(args).dir(&self.clones[at]).run()
    }

    fn server(&self) -> PathBuf {
        self.scene.path("origin")
    }

    fn say(&mut self, step: String) {
        self.steps.push(format!("{:>5}  {step}", self.steps.len()));
    }

    fn copy(&self, from: &Path, to: &Path) {
        let (from, to) = (from.to_str().expect("UTF-8"), to.to_str().expect("UTF-8"));
        self.scene.program("cp").args(&["-a", from, to]).run().ok();
    }

    /// Names and tips of the refs below `prefixes` in the repository at `place`.
    fn refs(&self, place: &Path, prefixes: &[&str]) -> BTreeMap<String, String> {
        let list = [&["for-each-ref", "--format=%(refname) %(objectname)"], prefixes].concat();
        let out = self.scene.program("git").dir(place).args(&list).run().ok().out();
        let pair = |line: &str| {
            let (name, tip) = line.split_once(' ').expect("a ref");
            (name.to_owned(), tip.to_owned())
        };
        out.lines().map(pair).collect()
    }

    /// The refs of threads that the clone has written.
    fn own(&self, at: usize) -> BTreeMap<String, String> {
        self.refs(&self.clones[at], &["refs/aye/p", "refs/aye/private"])
    }

    /// All commits that refs below `prefixes` lead to.
    fn reach(&self, place: &Path, prefixes: &[&str]) -> BTreeSet<String> {
        let tips: String = self.refs(place, prefixes).into_values().map(|tip| tip + "\n").collect();
        if tips.is_empty() {
            return BTreeSet::new();
        }
        let list = self.scene.program("git").dir(place).args(&["rev-list", "--stdin"]).stdin(tips);
        list.run().ok().out().lines().map(str::to_owned).collect()
    }

    /// The text of these objects.
    fn content(&self, place: &Path, ids: impl Iterator<Item = String>) -> Vec<u8> {
        let ids = ids.fold(String::new(), |ids, id| ids + &id + "\n");
        let read = self.scene.program("git").dir(place).args(&["cat-file", "--batch", "--buffer"]);
        read.stdin(ids).run().ok().stdout
    }

    /// The proposals that the clone lists, in every state.
    fn list(&self, at: usize) -> Vec<Value> {
        let list = self.aye(at, &["list", "--status", "all", "--json"]).ok().json();
        list["proposals"].as_array().expect("a list").clone()
    }

    /// Runs a command that writes, and one time in four kills it at some step.
    fn write(&mut self, at: usize, args: &[&str], agent: bool, input: &str) -> bool {
        let before = self.own(at);
        let mut command = self.scene.cmd(args).dir(&self.clones[at]).stdin(input);
        if agent {
            command = command.env("AYE_AGENT", ["bot", "robo", "codex"][self.random.below(3)]);
        }
        let kill = self.random.below(4) == 0;
        if kill {
            command = command.env("FAILPOINTS", steps::kill(&mut self.random, &self.failpoints));
        }
        let run = command.run();
        let is_killed = run.status == 128 + 6;
        assert!(run.status < 8 || kill && is_killed, "{run}");
        for code in ["thread_damaged", "thread_incomplete", "object_missing", "internal"] {
            assert!(!run.err().contains(&format!("[{code}]")), "clone {at}: {run}");
        }
        *self.counts.entry(format!("{}: {}", args[0], run.status)).or_default() += 1;
        self.say(format!("clone {at}: aye {} -> {}", args.join(" "), run.status));
        if is_killed {
            self.unlock(at);
        }
        if run.status == 0 {
            self.acknowledge(at, &before);
        }
        run.status == 0
    }

    /// What whoever reads git's message does after a kill.
    fn unlock(&self, at: usize) {
        steps::unlock(&self.clones[at].join(".git"));
        let lock = self.clones[at].join(".git/index.lock");
        for _ in 0..500 {
            match lock.symlink_metadata() {
                Err(_) => return,
                // Files were being exchanged: the next command of aye settles them.
                Ok(found) if found.is_symlink() => drop(self.aye(at, &["list", "--count"]).ok()),
                // A git that it had started outlives it by a moment.
                Ok(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        panic!("{} is left", lock.display());
    }

    /// Notes the events that a command in `at` has written, which began at the refs `before`.
    fn acknowledge(&mut self, at: usize, before: &BTreeMap<String, String>) {
        let place = self.clones[at].clone();
        let known = before.values().fold(String::new(), |known, tip| known + "^" + tip + "\n");
        let elsewhere = self.refs(&place, &["refs/aye/remotes", "refs/aye/kept"]);
        let known = elsewhere.values().fold(known, |known, tip| known + "^" + tip + "\n");
        for (name, tip) in self.own(at) {
            let thread = name.rsplit('/').next().expect("a name").to_owned();
            let is_event = !name.contains("/closed/") && !name.contains("/gone/");
            if !is_event || before.get(&name) == Some(&tip) {
                continue;
            }
            let is_private = name.starts_with("refs/aye/private/");
            if !is_private {
                // A publication makes the first event known that was private.
                if let Some(told) = self.told.get_mut(&thread) {
                    told.is_private = false;
                }
            }
            let run = self.scene.program("git").dir(&place).args(&["rev-list", "--stdin"]);
            let new = run.stdin(format!("{tip}\n{known}")).run().ok().out();
            for id in new.lines() {
                let told = Told { by: at, thread: thread.clone(), is_private };
                self.told.insert(id.to_owned(), told);
            }
        }
    }

    /// A word that no remote may have.
    fn word(&mut self) -> (usize, String) {
        self.made += 1;
        self.hush.insert(self.made);
        (self.made, format!("{HUSH}{}.", self.made))
    }

    /// Looks at each object that has come to the remote.
    fn inspect(&mut self) {
        let place = self.server();
        let list = ["cat-file", "--batch-check=%(objectname)", "--batch-all-objects"];
        let all = self.scene.program("git").dir(&place).args(&list).run().ok().out();
        let new: Vec<&str> = all.lines().filter(|id| !self.seen.contains(*id)).collect();
        let content = self.content(&place, new.iter().map(|id| (*id).to_owned()));
        let leaked: Vec<_> = words(&content).intersection(&self.hush).copied().collect();
        assert!(leaked.is_empty(), "the remote has {leaked:?}");
        self.seen.extend(new.into_iter().map(str::to_owned));
    }

    fn propose(&mut self, at: usize, private: bool) {
        let (number, word) = match private {
            true => self.word(),
            false => {
                self.made += 1;
                (self.made, format!("word-{}.", self.made))
            }
        };
        let file = format!("src/{number}.txt");
        let mut args = vec!["propose", &file, "--content-file", "-", "-m", &word];
        args.extend(private.then_some("--private"));
        let agent = self.random.below(10) < 6;
        let known: BTreeSet<String> = self.own(at).into_keys().collect();
        self.write(at, &args, agent, &format!("first {word}\nlast\n"));
        // Also where it was killed.
        for name in self.own(at).into_keys().filter(|name| private && !known.contains(name)) {
            self.first_word.insert(short(name.rsplit('/').next().expect("an id")), number);
        }
    }

    /// Does `what` about a proposal that the clone lists.
    fn speak(&mut self, at: usize, what: &str) {
        let wanted = |item: &&Value| match what {
            "undo" => item["status"] == "applied" || item["status"] == "rejected",
            "publish" => item["status"] == "pending" && is_private(item),
            "comment" | "purge" => true,
            "reject" | "apply" => item["status"] == "pending" || item["contested"] == true,
            _ => item["status"] == "pending",
        };
        let known = self.list(at);
        let known: Vec<&Value> = known.iter().filter(wanted).collect();
        let Some(item) = self.random.pick(&known).copied().cloned() else {
            return self.propose(at, false);
        };
        let id = item["proposal_id"].as_str().expect("an id");
        let exact = format!("{id}@{}", item["revision"].as_str().expect("a revision"));
        let word = match is_private(&item) && what != "publish" {
            true => self.word().1,
            false => format!("spoken in {at}, step {}", self.steps.len()),
        };
        let agent = self.random.below(2) == 0;
        match what {
            "comment" => _ = self.write(at, &["comment", id, "-m", &word], agent, ""),
            "request" => {
                self.write(at, &["comment", id, "--request-changes", "-m", &word], false, "");
            }
            "revise" => {
                let path = item["file_path"].as_str().expect("a path");
                let args = ["revise", id, path, "--content-file", "-"];
                self.write(at, &args, agent, &format!("revised, {word}\n"));
            }
            "apply" => {
                let how: &[&str] = if self.random.below(3) == 0 { &["--mark-only"] } else { &[] };
                self.write(at, &[&["apply", &exact, "--yes"], how].concat(), false, "");
            }
            "reject" if agent => _ = self.write(at, &["reject", id, "-m", &word], true, ""),
            "purge" => self.purge(at, &item),
            "publish" => self.publish(at, &item),
            "undo" => _ = self.write(at, &["undo", id, "--yes"], false, ""),
            _ => _ = self.write(at, &[what, &exact, "--yes", "-m", &word], false, ""),
        }
    }

    /// The first and the present content become known, whether the command lives to tell or not.
    fn publish(&mut self, at: usize, item: &Value) {
        let id = item["proposal_id"].as_str().expect("an id");
        let diff = self.aye(at, &["diff", id]).ok().out();
        let mut text = item["description"].as_str().unwrap_or_default().to_owned();
        text.extend(diff.lines().filter(|line| line.starts_with('+')));
        for number in words(text.as_bytes()).into_iter().chain(self.first_word.get(id).copied()) {
            self.hush.remove(&number);
        }
        self.write(at, &["revise", "--public", id, "--yes"], false, "");
    }

    fn purge(&mut self, at: usize, item: &Value) {
        let id = item["proposal_id"].as_str().expect("an id");
        let refs = self.refs(&self.clones[at], &["refs/aye"]).into_keys();
        let threads: BTreeSet<String> = refs
            .filter_map(|name| name.rsplit('/').next().map(str::to_owned))
            .chain(self.told.values().map(|told| told.thread.clone()))
            .filter(|thread| short(thread) == id)
            .collect();
        // From the attempt on nothing about it is promised.
        for thread in &threads {
            self.purged.entry(thread.clone()).or_default();
        }
        if self.write(at, &["purge", id, "-m", "a key in it", "--yes"], false, "") {
            for thread in threads {
                self.purged.entry(thread).or_default().insert(at);
            }
        }
    }

    /// Exchanges threads; it may be killed. The remote gets nothing that is private, and nothing is
    /// lost.
    fn sync(&mut self, at: usize, args: &[&str]) {
        self.write(at, &[&["sync"], args].concat(), false, "");
        self.inspect();
        self.forget_lost();
    }

    /// The same, to its end.
    fn sync_whole(&mut self, at: usize) {
        let mut run = self.aye(at, &["sync"]);
        // A second copy within a day: a person is asked.
        if run.status == 4 && run.err().contains("clone_copied") {
            let repaired = self.aye(at, &["doctor", "--repair"]);
            assert!(repaired.status <= 1, "{repaired}");
            run = self.aye(at, &["sync"]);
        }
        assert_eq!(run.status, 0, "clone {at}: {run}");
        self.say(format!("clone {at}: aye sync -> 0"));
        self.inspect();
    }

    /// Events that nobody has any more: only those may be that a backup has taken from their writer.
    fn forget_lost(&mut self) {
        let mut have = self.reach(&self.server(), &["refs/aye"]);
        for clone in &self.clones {
            have.extend(self.reach(clone, &["refs/aye"]));
        }
        let orphans = &self.orphans;
        let purged = &self.purged;
        self.told.retain(|event, told| {
            let is_here = have.contains(event) || purged.contains_key(&told.thread);
            assert!(is_here || orphans.contains(event), "{event} of {} is lost", told.thread);
            is_here
        });
    }

    fn restore(&mut self, at: usize) {
        let Some(purged) = self.backups.remove(&at) else { return };
        let (backup, place) = (self.scene.path(&format!("backup-{at}")), self.clones[at].clone());
        std::fs::remove_dir_all(&place).expect("removed");
        std::fs::rename(&backup, &place).expect("renamed");
        for (thread, by) in &mut self.purged {
            if !purged.contains(thread) {
                by.remove(&at);
            }
        }
        let own = self.reach(&place, &["refs/aye/p", "refs/aye/private"]);
        let gone = self.told.iter().filter(|(id, told)| told.by == at && !own.contains(*id));
        self.orphans.extend(gone.map(|(id, _)| id.clone()));
        self.say(format!("clone {at}: restored from its backup"));
        self.forget_lost();
    }

    fn step(&mut self) {
        let at = self.random.below(self.clones.len());
        let mut left = self.random.below(WEIGHTS.iter().map(|(weight, _)| weight).sum());
        let is_it = |(weight, _): &&(usize, &str)| {
            let is_it = left < *weight;
            left = left.saturating_sub(*weight);
            is_it
        };
        let what = WEIGHTS.iter().find(is_it).expect("a step").1;
        let place = self.clones[at].clone();
        match what {
            "propose" | "private" => self.propose(at, what == "private"),
            "fetch" => self.sync(at, &["--fetch"]),
            "sync" if self.random.below(2) == 0 => self.sync_whole(at),
            "sync" => self.sync(at, &[]),
            "close" => _ = self.write(at, &["doctor", "--gc"], false, ""),
            "pack" => {
                self.git(at, &["pack-refs", "--all"]).ok();
                self.say(format!("clone {at}: git pack-refs --all"));
            }
            "gc" => {
                self.git(at, &["gc", "-q", "--prune=now"]).ok();
                self.say(format!("clone {at}: git gc --prune=now"));
            }
            "copy" if self.clones.len() < MOST => {
                let to = self.scene.path(&format!("clone-{}", self.clones.len()));
                self.copy(&place, &to);
                for by in self.purged.values_mut().filter(|by| by.contains(&at)) {
                    by.insert(self.clones.len());
                }
                self.say(format!("clone {at} is copied, as clone {}", self.clones.len()));
                self.clones.push(to);
            }
            "backup" => {
                let to = self.scene.path(&format!("backup-{at}"));
                let _ = std::fs::remove_dir_all(&to);
                self.copy(&place, &to);
                let purged = self.purged.iter().filter(|(_, by)| by.contains(&at));
                self.backups.insert(at, purged.map(|(thread, _)| thread.clone()).collect());
                self.say(format!("clone {at}: a backup"));
            }
            "restore" => self.restore(at),
            "back up the remote" => {
                let to = self.scene.path("backup-origin");
                let _ = std::fs::remove_dir_all(&to);
                self.copy(&self.server(), &to);
                self.say("the remote: a backup".into());
            }
            "rewind" if self.scene.exists("backup-origin") => {
                std::fs::remove_dir_all(self.server()).expect("removed");
                std::fs::rename(self.scene.path("backup-origin"), self.server()).expect("renamed");
                self.say("the remote is restored from its backup".into());
                self.forget_lost();
            }
            "copy" | "rewind" => self.propose(at, false),
            "forget" => self.forget(at),
            what => self.speak(at, what),
        }
        if self.random.below(10) == 0 {
            self.ask_the_reader(at);
        }
    }

    fn forget(&self, at: usize) {
        for memo in ["open", "decided"] {
            let _ = std::fs::remove_file(self.clones[at].join(".git/aye").join(memo));
        }
    }

    /// Everybody sends and fetches everything.
    fn come_together(&mut self) {
        for _ in 0..3 {
            (0..self.clones.len()).for_each(|at| self.sync_whole(at));
        }
    }

    /// What the reader of `docs/spec/` says of each thread of the clone is what the program says.
    fn ask_the_reader(&mut self, at: usize) {
        let reader = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reader/reader.py");
        let place = self.clones[at].to_str().expect("UTF-8");
        let read = self.scene.program("python3").args(&[reader, place]).run().ok().out();
        let list = self.list(at);
        let listed: BTreeMap<&str, &Value> =
            list.iter().map(|item| (item["proposal_id"].as_str().expect("an id"), item)).collect();
        let mut count = 0;
        for line in read.lines() {
            let thread: Value = serde_json::from_str(line).expect("JSON");
            let is_unreadable = thread["status"] == "damaged" || thread["status"] == "incomplete";
            assert!(!is_unreadable, "clone {at}: {thread:#}");
            if thread["kind"] != "propose" || thread["purged"] == true || thread["status"] == "none"
            {
                continue;
            }
            count += 1;
            let id = short(thread["id"].as_str().expect("an id"));
            let item = listed.get(&*id).unwrap_or_else(|| panic!("clone {at} lists no {thread:#}"));
            let len = |value: &Value| value.as_array().map_or(0, Vec::len);
            let counting = |value: &Value| {
                let all = value.as_array().into_iter().flatten();
                all.filter(|approval| approval["counts"] == true).count()
            };
            let of_thread = (
                &thread["status"],
                &thread["contested"],
                &thread["revision"],
                len(&thread["revisions"]) as u64,
                thread["comments"].as_u64(),
                len(&thread["approvals"]),
                len(&thread["requests_open"]) > 0,
                &thread["expires_at"],
                &thread["space"],
            );
            let of_item = (
                &item["status"],
                &item["contested"],
                &item["revision"],
                item["revisions"].as_u64().unwrap_or_default(),
                item["comments"].as_u64(),
                counting(&item["approvals"]),
                item["changes_requested"] == true,
                &item["expires_at"],
                &item["space"],
            );
            assert_eq!(of_thread, of_item, "clone {at}: the reader and the program");
        }
        assert_eq!(count, list.len(), "clone {at}: the reader has other threads\n{read}");
        *self.counts.entry("states read".into()).or_default() += count;
    }

    /// The threads that not all clones can know alike: purged, or with events that the remote has lost and their
    /// writer, too; open ones that are private somewhere.
    fn unlike(&self) -> BTreeSet<String> {
        let there = self.reach(&self.server(), &["refs/aye"]);
        let mut unlike: BTreeSet<String> = self.purged.keys().cloned().collect();
        for clone in &self.clones {
            let shared = self.reach(clone, &["refs/aye/p", "refs/aye/remotes", "refs/aye/kept"]);
            let told = shared.difference(&there).filter_map(|id| self.told.get(id));
            unlike.extend(told.map(|told| told.thread.clone()));
            let refs = self.refs(clone, &["refs/aye/p", "refs/aye/private"]).into_keys();
            let (shared, private): (Vec<String>, Vec<String>) =
                refs.partition(|name| name.starts_with("refs/aye/p/"));
            let id = |name: &String| name.rsplit('/').next().expect("an id").to_owned();
            let shared: BTreeSet<String> = shared.iter().map(id).collect();
            unlike.extend(private.iter().map(id).filter(|id| !shared.contains(id)));
        }
        unlike
    }

    fn compare(&mut self) {
        let unlike = self.unlike();
        let mut hidden: BTreeSet<String> = unlike.iter().map(|thread| short(thread)).collect();
        let mut all = Vec::new();
        for at in 0..self.clones.len() {
            let state = |world: &Self| -> BTreeMap<String, Value> {
                let list = world.list(at).into_iter();
                let id = |item: &Value| item["proposal_id"].as_str().expect("an id").to_owned();
                list.map(|item| (id(&item), item)).collect()
            };
            let warm = state(self);
            self.forget(at);
            same(&warm, &state(self), &format!("clone {at}, with a memo and without"));
            self.ask_the_reader(at);
            // Where one has published it, a copy of that one may have closed it in private.
            hidden.extend(warm.iter().filter(|(_, it)| is_private(it)).map(|(id, _)| id.clone()));
            all.push(warm);
        }
        let shared = |state: BTreeMap<String, Value>| -> BTreeMap<String, Value> {
            let shared = state.into_iter().filter(|(id, _)| !hidden.contains(id));
            shared.map(|(id, item)| (id, comparable(item))).collect()
        };
        let states: Vec<BTreeMap<String, Value>> = all.into_iter().map(shared).collect();
        for (at, state) in states.iter().enumerate().skip(1) {
            same(&states[0], state, &format!("clone 0 and clone {at}"));
        }
        self.nothing_is_lost(&unlike);
        self.nothing_purged_is_left();
        for at in 0..self.clones.len() {
            self.git(at, &["fsck", "--strict", "--no-dangling"]).ok();
        }
        let fsck = self.scene.program("git").dir(self.server());
        fsck.args(&["fsck", "--strict", "--no-dangling"]).run().ok();
        let decided = states[0].values().filter(|item| item["status"] != "pending").count();
        let _ = writeln!(
            std::io::stderr(),
            "seed {}: {} steps, {} acknowledged, {} shared, {decided} decided, {} purged, {:?}",
            self.seed,
            self.steps.len(),
            self.told.len(),
            states[0].len(),
            self.purged.len(),
            self.counts
        );
        // A scenario in which nothing happened would show nothing.
        assert!(states[0].len() > 5 && decided > 0, "{} proposals", states[0].len());
    }

    fn nothing_is_lost(&self, unlike: &BTreeSet<String>) {
        let there = self.reach(&self.server(), &["refs/aye"]);
        for (at, clone) in self.clones.iter().enumerate() {
            let here = self.reach(clone, &["refs/aye"]);
            let own = self.reach(clone, &["refs/aye/p"]);
            for (id, told) in &self.told {
                if self.purged.contains_key(&told.thread) || self.orphans.contains(id) {
                    continue;
                }
                let what = format!("{id} of {} by clone {}", told.thread, told.by);
                if told.by == at {
                    assert!(here.contains(id), "clone {at} has lost {what}");
                    assert!(told.is_private || !own.contains(id) || there.contains(id), "{what}");
                }
                if !told.is_private && !unlike.contains(&told.thread) {
                    assert!(here.contains(id), "clone {at} lacks {what}");
                }
            }
        }
    }

    fn nothing_purged_is_left(&self) {
        for (thread, by) in &self.purged {
            for at in by {
                let place = &self.clones[*at];
                let own = self.reach(place, &["refs/aye/p", "refs/aye/private"]);
                assert!(!own.contains(thread), "clone {at} still has {thread}");
                let events = self.told.iter().filter(|(_, told)| told.thread == *thread);
                let left: Vec<_> = events.filter(|(id, _)| own.contains(*id)).collect();
                assert!(left.is_empty(), "clone {at} still has events of {thread}");
            }
        }
    }
}

/// What does not depend on what else a clone has.
fn comparable(mut item: Value) -> Value {
    let of_others = ["stands_on", "lower_revised", "same_lines", "neighbouring"];
    let own = [&["short_id", "conflict", "marks"][..], &of_others].concat();
    item.as_object_mut().expect("an object").retain(|key, _| !own.contains(&key.as_str()));
    item
}

/// The numbers of the words in `text` that are private.
fn words(text: &[u8]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for at in text.find_iter(HUSH) {
        let rest = &text[at + HUSH.len()..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // A line that was cut ends without the dot.
        if rest.get(digits) == Some(&b'.') {
            let number = std::str::from_utf8(&rest[..digits]).expect("digits");
            found.extend(number.parse::<usize>());
        }
    }
    found
}

#[track_caller]
fn same(one: &BTreeMap<String, Value>, other: &BTreeMap<String, Value>, what: &str) {
    let ids: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differ = ids.into_iter().filter(|id| one.get(*id) != other.get(*id));
    let differ: Vec<_> = differ.map(|id| (id, one.get(id), other.get(id))).take(3).collect();
    assert!(differ.is_empty(), "{what} differ: {differ:#?}");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn clones_that_are_copied_restored_and_killed_agree_and_lose_nothing() {
    let seconds = number("AYE_SCENARIO_SECONDS");
    let steps = number("AYE_SCENARIO_STEPS").map_or(STEPS, |steps| steps as usize);
    let mut world = World::new(number("AYE_SCENARIO_SEED").unwrap_or(1));
    let begin = Instant::now();
    for done in 0.. {
        match seconds {
            Some(seconds) if begin.elapsed().as_secs() >= seconds => break,
            None if done == steps => break,
            _ => world.step(),
        }
    }
    world.come_together();
    world.compare();
}
