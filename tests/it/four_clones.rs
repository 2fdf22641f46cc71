//! Four clones of two remotes at work, by plain `git push` and `git fetch`, with all that happens to
//! clones: collected garbage, folded lanes, killed commands, a copy, restored backups, a rewound
//! remote. In the end there is one truth everywhere, nothing that a command has acknowledged is lost,
//! and at no time has a remote got what is not for it.
//!
//! `AYE_SCENARIO_SECONDS=3600 AYE_SCENARIO_SEED=7 cargo test --test it four_clones:: -- --nocapture` works
//! longer, and otherwise. A failure prints the seed and the steps, and `AYE_SCENARIO_KEEP` names where
//! the repositories are copied to then. The same seed takes the same
//! decisions; when a command is killed depends on the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bstr::ByteSlice as _;
use serde_json::Value;

use crate::support::{self, Repo, Run};

/// How many steps a run takes where no time is given.
const STEPS: usize = 70;

/// The remotes: the default one, and another.
const REMOTES: [&str; 2] = ["origin", "up"];

/// The refs of lanes that a clone has, and of folded ones.
const LANES: &[&str] =
    &["refs/aye/log", "refs/aye/private", "refs/aye/for", "refs/aye/remotes", "refs/aye/kept"];

/// Text that is not for everybody contains this and a number, with a dot behind it.
const HUSH: &str = "hush-";

/// SplitMix64: a seed is all of its state.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { Some(&from[self.below(from.len())]) }
    }
}

/// An event that a command has acknowledged.
struct Told {
    /// In which clone.
    by: usize,
    /// It is for nobody else.
    is_private: bool,
}

/// The remotes, their clones, and what these have been told.
struct World {
    /// A directory around them all, with the surroundings that every program is run in.
    scene: Repo,
    clones: Vec<PathBuf>,
    random: Random,
    seed: u64,
    steps: Vec<String>,
    /// The events of commands that exited with 0, by id.
    told: BTreeMap<String, Told>,
    /// The remotes that a word may reach, by its number.
    reach: BTreeMap<usize, BTreeSet<&'static str>>,
    /// The proposals that somebody has published, or has tried to.
    published: BTreeSet<String>,
    /// How many epochs have begun.
    epochs: usize,
    /// By remote: the objects that have been looked at.
    seen: BTreeMap<&'static str, BTreeSet<String>>,
    /// Counts proposals, so that no two are the same.
    made: usize,
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let steps = self.steps.join("\n");
            let _ = writeln!(std::io::stderr(), "seed {}; the steps:\n{steps}", self.seed);
            if let Some(keep) = std::env::var_os("AYE_SCENARIO_KEEP") {
                self.copy(self.scene.outer(), Path::new(&keep), "-a");
            }
        }
    }
}

/// True for an end that a command may have: done, or refused for what the clone is like.
fn is_sound(run: &Run) -> bool {
    [0, 1, 3, 4, 5].contains(&run.status) || run.status == 128 + 9
}

impl World {
    fn new(seed: u64) -> Self {
        let scene = Repo::outside();
        let files: Vec<String> = (0..6).map(|number| format!("src/{number}.txt")).collect();
        let first = scene.path("clone-0");
        let git = |args: &[&str]| scene.git(args);
        for name in REMOTES {
            git(&["init", "-q", "--bare", "-b", "main", name]);
        }
        git(&["clone", "-q", "origin", "clone-0"]);
        for file in &files {
            let lines: String = (1..=40).fold(String::new(), |mut text, line| {
                let _ = writeln!(text, "line {line}");
                text
            });
            scene.write(&format!("clone-0/{file}"), lines);
        }
        let in_first = |args: &[&str]| {
            let run = scene.program("git").dir(&first).args(args);
            run.env("GIT_AUTHOR_NAME", "A").env("GIT_AUTHOR_EMAIL", "a@example.com").run().ok()
        };
        in_first(&["config", "user.name", "A"]);
        in_first(&["config", "user.email", "a@example.com"]);
        in_first(&["add", "."]);
        in_first(&["commit", "-q", "-m", "Start"]);
        in_first(&["push", "-q", "origin", "HEAD:refs/heads/main"]);
        let mut clones = vec![first.clone()];
        for number in 1..4 {
            let name = format!("clone-{number}");
            git(&["clone", "-q", "-b", "main", "origin", &name]);
            clones.push(scene.path(&name));
        }
        let world = Self {
            scene,
            clones,
            random: Random(seed),
            seed,
            steps: Vec::new(),
            told: BTreeMap::new(),
            reach: BTreeMap::new(),
            published: BTreeSet::new(),
            epochs: 0,
            seen: BTreeMap::new(),
            made: 0,
        };
        for at in 0..4 {
            world.git(at, &["config", "user.name", &format!("Person {at}")]).ok();
            let other = world.scene.path("up");
            world.git(at, &["remote", "add", "up", other.to_str().expect("UTF-8")]).ok();
            let email = format!("person-{at}@example.com");
            world.git(at, &["config", "user.email", &email]).ok();
            // Garbage is collected where this test says so.
            world.git(at, &["config", "gc.auto", "0"]).ok();
        }
        world
    }

    fn git(&self, at: usize, args: &[&str]) -> Run {
        self.scene.program("git").dir(&self.clones[at]).args(args).run()
    }

    fn aye(&self, at: usize, args: &[&str]) -> Run {
        self.scene.cmd(args).dir(&self.clones[at]).run()
    }

    fn say(&mut self, step: String) {
        self.steps.push(format!("{:>5}  {step}", self.steps.len()));
    }

    /// The tips of the lanes of `at` below `refs`.
    fn tips(&self, at: usize, refs: &[&str]) -> BTreeSet<String> {
        let list = [&["for-each-ref", "--format=%(objectname)"], refs].concat();
        self.git(at, &list).ok().out().lines().map(str::to_owned).collect()
    }

    fn shared_and_private(&self, at: usize) -> [BTreeSet<String>; 2] {
        [&["refs/aye/log", "refs/aye/for"][..], &["refs/aye/private"]]
            .map(|refs| self.tips(at, refs))
    }

    /// Id and path of the objects that these revisions lead to in the repository at `place`.
    fn objects(&self, place: &Path, revisions: &str) -> Vec<(String, String)> {
        let list = self.scene.program("git").dir(place).args(&["rev-list", "--objects", "--stdin"]);
        let list = list.stdin(revisions).run().ok().out();
        let pair = |line: &str| {
            let (id, path) = line.split_once(' ').unwrap_or((line, ""));
            (id.to_owned(), path.to_owned())
        };
        list.lines().map(pair).collect()
    }

    /// What objects say.
    fn content(&self, place: &Path, ids: impl Iterator<Item = String>) -> Vec<u8> {
        let ids = ids.fold(String::new(), |ids, id| ids + &id + "\n");
        let read = self.scene.program("git").dir(place).args(&["cat-file", "--batch", "--buffer"]);
        read.stdin(ids).run().ok().stdout
    }

    /// All objects of lanes that the repository at `place` holds, and all events of snapshots.
    fn events(&self, place: &Path) -> BTreeSet<String> {
        let refs = [&["for-each-ref", "--format=%(objectname)"], LANES].concat();
        let tips = self.scene.program("git").dir(place).args(&refs).run().ok().out();
        let objects = self.objects(place, &tips);
        let snapshots = objects.iter().filter(|(_, path)| path.starts_with("snapshot-"));
        let snapshots = self.content(place, snapshots.map(|(id, _)| id.clone()));
        let mut found: BTreeSet<String> = objects.into_iter().map(|(id, _)| id).collect();
        for line in snapshots.split_inclusive(|byte| *byte == b'\n') {
            if line.starts_with(b"{\"actor\":") {
                let kind = (gix::hash::Kind::Sha1, gix::objs::Kind::Blob);
                let id = gix::objs::compute_hash(kind.0, kind.1, line).expect("a hash");
                found.insert(id.to_string());
            }
        }
        found
    }

    /// Notes what a command in `at` has acknowledged that began at the tips `before`.
    fn acknowledge(&mut self, at: usize, before: &[BTreeSet<String>; 2]) {
        let now = self.shared_and_private(at);
        for (is_private, (before, now)) in before.iter().zip(&now).enumerate() {
            let new: String = now.difference(before).map(|tip| format!("{tip}\n")).collect();
            let old: String = before.iter().map(|tip| format!("^{tip}\n")).collect();
            let place = self.clones[at].clone();
            let objects = self.objects(&place, &(new + &old)).into_iter();
            let is_event = |path: &str| path == "event.json" || path.starts_with("events/");
            let ids = objects.filter(|(_, path)| is_event(path)).map(|(id, _)| id);
            let text = String::from_utf8(self.content(&place, ids)).expect("UTF-8");
            let mut head = "";
            for line in text.lines() {
                if !line.starts_with('{') {
                    head = line;
                } else if !line.contains("\"kind\":\"fold\"") {
                    // The next epoch has other parts of a snapshot instead.
                    let id = head.split(' ').next().expect("an id").to_owned();
                    self.told.insert(id, Told { by: at, is_private: is_private == 1 });
                }
            }
        }
    }

    /// A word that may reach these remotes.
    fn word(&mut self, reach: &[&'static str]) -> String {
        let number = self.made;
        self.made += 1;
        self.reach.insert(number, reach.iter().copied().collect());
        format!("{HUSH}{number}.")
    }

    /// Looks at each object that has come to a remote.
    fn inspect(&mut self, remote: &'static str) {
        let place = self.scene.path(remote);
        let list = ["cat-file", "--batch-check=%(objectname)", "--batch-all-objects"];
        let all = self.scene.program("git").dir(&place).args(&list).run().ok().out();
        let seen = self.seen.entry(remote).or_default();
        let new: Vec<String> = all.lines().map(str::to_owned).collect();
        let new: Vec<String> = new.into_iter().filter(|id| seen.insert(id.clone())).collect();
        let content = self.content(&place, new.iter().cloned());
        for number in words(&content) {
            let reach = &self.reach[&number];
            if !reach.contains(remote) {
                let word = format!("{HUSH}{number}.");
                let is_it = |id: &&String| {
                    words(&self.content(&place, std::iter::once((*id).clone()))).contains(&number)
                };
                let found = new.iter().find(is_it).expect("an object");
                let git = self.scene.program("git").dir(&place).args(&["cat-file", "-p", found]);
                panic!("{word} is for {reach:?}, and reached {remote}: {}", git.run().ok());
            }
        }
    }

    /// The proposals that `at` lists.
    fn list(&self, at: usize, status: &str) -> Vec<Value> {
        let run = self.aye(at, &["list", "--status", status, "--json"]).ok();
        run.json()["proposals"].as_array().expect("a list").clone()
    }

    /// Runs a command that writes, and now and then kills it or runs another beside it.
    fn write(&mut self, at: usize, args: &[&str], agent: bool) {
        let line = args.join(" ");
        let before = self.shared_and_private(at);
        let command = |args: &[&str]| {
            let cmd = self.scene.cmd(args).dir(&self.clones[at]);
            if agent { cmd.env("AYE_AGENT", format!("bot-{at}")) } else { cmd }
        };
        let running = command(args).spawn();
        let (kill, pause, beside) =
            (self.random.below(8) == 0, self.random.below(40), self.random.below(10) == 0);
        let other = beside.then(|| {
            let id = self.made;
            let file = format!("src/{}.txt", id % 6);
            let old = format!("line {}\n", id % 40 + 1);
            let new = format!("beside {id} of {at}\n");
            self.made += 1;
            self.scene
                .cmd(&["propose", &file, "--old", &old, "--new", &new])
                .dir(&self.clones[at])
                .spawn()
        });
        let mut runs = Vec::new();
        let mut running = running;
        if kill {
            // At any moment of it: there is none that may lose something.
            std::thread::sleep(Duration::from_millis(pause as u64));
            let _ = running.child.kill();
        }
        runs.push(running.wait());
        runs.extend(other.map(support::Running::wait));
        if kill {
            self.unlock(at);
        }
        for run in &runs {
            // Lines of the file may be other ones by now.
            let status = run.status;
            assert!(is_sound(run) || run.err().contains("old_content_not_found"), "{run}");
            let note = if kill && status != 0 { " (killed)" } else { "" };
            self.say(format!("clone {at}: aye {line} -> {status}{note}"));
        }
        if runs.iter().any(|run| run.status == 0) {
            self.acknowledge(at, &before);
        }
    }

    fn propose(&mut self, at: usize, is_private: bool) {
        let (file, line) = (self.random.below(6), self.random.below(40) + 1);
        let (file, old) = (format!("src/{file}.txt"), format!("line {line}\n"));
        let agent = self.random.below(3) > 0;
        if is_private {
            let word = self.word(&[]);
            let new = format!("line {line} by {at}, {word}\n");
            let args = ["propose", &file, "--old", &old, "--new", &new, "--private", "-m", &word];
            return self.write(at, &args, agent);
        }
        let new = format!("line {line} by {at}, {}\n", self.made);
        self.made += 1;
        self.write(at, &["propose", &file, "--old", &old, "--new", &new], agent);
    }

    /// Publishes one of the private proposals of `at`.
    fn publish_one(&mut self, at: usize) {
        let mut known = self.list(at, "pending");
        known.retain(|item| item["audience"] == "private");
        if let Some(item) = self.random.pick(&known).cloned() {
            self.publish(at, &item);
        }
    }

    /// Publishes the private proposal `item`, with what it is by now and what it began with.
    fn publish(&mut self, at: usize, item: &Value) {
        let id = item["proposal_id"].as_str().expect("an id");
        self.published.insert(id.to_owned());
        let (remote, to) = match self.random.below(2) {
            0 => (REMOTES[0], "default"),
            _ => (REMOTES[1], REMOTES[1]),
        };
        let diff = self.aye(at, &["diff", id]).ok().out();
        let mut text = item["description"].as_str().unwrap_or_default().to_owned();
        text.extend(diff.lines().filter(|line| line.starts_with('+')));
        for number in words(text.as_bytes()) {
            self.reach.get_mut(&number).expect("a word").insert(remote);
        }
        self.write(at, &["revise", "--public", id, "--to", to, "--yes"], false);
    }

    /// Does something about a proposal that `at` knows.
    fn speak(&mut self, at: usize) {
        let known = self.list(at, "all");
        let Some(item) = self.random.pick(&known).cloned() else { return self.propose(at, false) };
        let id = item["proposal_id"].as_str().expect("an id").to_owned();
        let exact = format!("{id}@{}", item["revision"].as_str().expect("a revision"));
        let choice = self.random.below(12);
        let said = match item["audience"].as_str().expect("an audience") {
            "default" => format!("said in {at}, {}", self.steps.len()),
            "private" => self.word(&[]),
            _ => self.word(&REMOTES[1..]),
        };
        let is_private = item["audience"] == "private";
        match (item["status"].as_str().expect("a status"), choice) {
            ("pending", 0..=2) => self.write(at, &["apply", &exact, "--yes"], false),
            ("pending", 3) => self.write(at, &["apply", &exact, "--yes", "--mark-only"], false),
            ("pending", 4..=6) => {
                self.write(at, &["reject", &exact, "--yes", "-m", &said], false);
            }
            ("pending", 7) => self.write(at, &["approve", &exact, "--yes"], false),
            ("pending", 8) => {
                let path = item["file_path"].as_str().expect("a path").to_owned();
                let new = format!("revised in {at}, {said}\n");
                let old = format!("line {}\n", self.random.below(40) + 1);
                self.write(at, &["revise", &id, &path, "--old", &old, "--new", &new], false);
            }
            ("pending", 9..) if is_private => self.publish(at, &item),
            ("pending", _) => self.write(at, &["comment", &id, "-m", &said], false),
            ("applied", 0..=6) => self.write(at, &["undo", &id, "--yes"], false),
            ("rejected", 0..=3) => {
                self.write(at, &["undo", &id, "--yes", "--rejection"], false);
            }
            _ => self.propose(at, is_private),
        }
    }

    /// What whoever reads git's message does after a kill: like git, a command that is killed leaves
    /// its lock of `packed-refs` behind.
    fn unlock(&self, at: usize) {
        let _ = std::fs::remove_file(self.clones[at].join(".git/packed-refs.lock"));
        let lock = self.clones[at].join(".git/index.lock");
        for _ in 0..500 {
            match lock.symlink_metadata() {
                Err(_) => return,
                // Files were being exchanged: the next command of aye settles them.
                Ok(found) if found.is_symlink() => drop(self.aye(at, &["list", "--count"]).ok()),
                // The git that it had started notes sizes in the index, and outlives it by a moment.
                Ok(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        panic!("{} is left", lock.display());
    }

    /// Folds the lanes of `at`, and is now and then killed over it.
    fn fold(&mut self, at: usize) {
        let mut running = self
            .scene
            .cmd(&["doctor", "--gc", "--now", "--keep", "0"])
            .dir(&self.clones[at])
            .spawn();
        let kill = self.random.below(4) == 0;
        if kill {
            // As above.
            std::thread::sleep(Duration::from_millis(self.random.below(60) as u64));
            let _ = running.child.kill();
        }
        let run = running.wait();
        if kill {
            self.unlock(at);
        }
        assert!(is_sound(&run), "{run}");
        self.epochs += run.out().matches("begins").count();
        self.say(format!("clone {at}: aye doctor --gc -> {}", run.status));
    }

    /// Sends the lanes that are for `remote`, and with `archives` what was folded.
    fn push(&mut self, at: usize, remote: &'static str, archives: bool) {
        // What the remote has moved on by is refused, and the rest goes.
        let lanes = match remote {
            "origin" => "refs/aye/log/*".to_owned(),
            _ => format!("refs/aye/for/{remote}/*:refs/aye/log/*"),
        };
        let folded = match remote {
            "origin" => "refs/aye/archive/*".to_owned(),
            _ => format!("refs/aye/archive-for/{remote}/*:refs/aye/archive/*"),
        };
        let mut args = vec!["push", "-q", remote, &lanes];
        args.extend(archives.then_some(folded.as_str()));
        let run = self.git(at, &args);
        assert!(run.status <= 1, "{run}");
        let refused = run.err().matches("rejected").count();
        self.say(format!("clone {at}: push {remote} -> {}, {refused} refused", run.status));
        self.inspect(remote);
    }

    fn fetch(&mut self, at: usize, remote: &str, archives: bool) {
        let lanes = format!("refs/aye/log/*:refs/aye/remotes/{remote}/*");
        let mut args = vec!["fetch", "-q", "--no-prune", remote, &lanes];
        let folded = match remote {
            "origin" => "refs/aye/archive/*:refs/aye/archive/*".to_owned(),
            _ => format!("refs/aye/archive/*:refs/aye/archive-for/{remote}/*"),
        };
        args.extend(archives.then_some(folded.as_str()));
        let run = self.git(at, &args);
        assert!(run.status <= 1, "{run}");
        self.say(format!("clone {at}: fetch {remote} -> {}", run.status));
    }

    fn step(&mut self) {
        let at = self.random.below(self.clones.len());
        match self.random.below(100) {
            0..=13 => self.propose(at, false),
            14..=19 => self.propose(at, true),
            20..=58 => self.speak(at),
            59..=61 => self.publish_one(at),
            62..=64 => self.fold(at),
            65..=77 => {
                let remote = *self.random.pick(&REMOTES).expect("a remote");
                let archives = self.random.below(4) == 0;
                self.push(at, remote, archives);
            }
            78..=92 => {
                let remote = *self.random.pick(&REMOTES).expect("a remote");
                let archives = self.random.below(4) == 0;
                self.fetch(at, remote, archives);
            }
            93..=95 => {
                self.git(at, &["gc", "-q", "--prune=now"]).ok();
                self.say(format!("clone {at}: git gc --prune=now"));
            }
            96..=97 => {
                self.git(at, &["checkout", "-q", "--", "src"]).ok();
                self.say(format!("clone {at}: git checkout -- src"));
            }
            _ => {
                let cache = self.clones[at].join(".git/aye/cache.sqlite");
                let _ = std::fs::remove_file(cache);
                self.say(format!("clone {at}: without its cache"));
            }
        }
    }

    fn copy(&self, from: &Path, to: &Path, flags: &str) {
        let (from, to) = (from.to_str().expect("UTF-8"), to.to_str().expect("UTF-8"));
        self.scene.program("cp").args(&[flags, from, to]).run().ok();
    }

    /// A fifth clone: the second one, copied with all that is in its directory.
    fn copy_a_clone(&mut self) {
        let to = self.scene.path("clone-4");
        self.copy(&self.clones[1], &to, "-r");
        self.clones.push(to);
        self.say("clone 1 is copied, as clone 4".into());
    }

    fn backup(&mut self, at: usize) {
        let to = self.scene.path(&format!("backup-{at}"));
        self.copy(&self.clones[at], &to, "-a");
        self.say(format!("clone {at}: a backup"));
    }

    /// Puts the backup of `at` in its place, or, `over` it, only the content of its files: then the
    /// file that names the lane is the one that it was. What nobody else has is lost with that.
    fn restore(&mut self, at: usize, over: bool) {
        let (backup, place) = (self.scene.path(&format!("backup-{at}")), self.clones[at].clone());
        if over {
            self.copy(&backup.join("."), &place, "-a");
        } else {
            std::fs::remove_dir_all(&place).expect("removed");
            std::fs::rename(&backup, &place).expect("renamed");
        }
        let mut left: BTreeSet<String> = BTreeSet::new();
        let remotes = REMOTES.map(|remote| self.scene.path(remote));
        for place in remotes.iter().chain(&self.clones) {
            left.extend(self.events(place));
        }
        self.told.retain(|event, told| told.by != at || left.contains(event));
        let how = if over { "over what is there" } else { "anew" };
        self.say(format!("clone {at}: restored from its backup, {how}"));
    }

    /// Somebody pushes older tips of all lanes by force.
    fn rewind(&mut self) {
        let server = self.scene.path(REMOTES[0]);
        let git =
            |args: &[&str]| self.scene.program("git").dir(&server).args(args).run().ok().out();
        let refs = git(&["for-each-ref", "--format=%(refname)", "refs/aye/log"]);
        let mut rewound = 0;
        for name in refs.lines() {
            let chain = git(&["rev-list", name]);
            let chain: Vec<&str> = chain.lines().collect();
            if let Some(older) = chain.get(chain.len() / 2).filter(|_| chain.len() > 1) {
                git(&["update-ref", name, older]);
                rewound += 1;
            }
        }
        self.say(format!("the remote's lanes are rewound ({rewound})"));
        // Whoever has the later events pushes them again, sooner or later.
        (0..self.clones.len()).for_each(|at| self.push(at, REMOTES[0], false));
    }

    /// Everybody sees to what was fetched, and sends and fetches everything.
    fn come_together(&mut self) {
        let fetch = |world: &mut Self, at: usize| {
            REMOTES.iter().for_each(|remote| world.fetch(at, remote, true));
        };
        for _ in 0..3 {
            for at in 0..self.clones.len() {
                fetch(self, at);
                let number = self.made;
                self.made += 1;
                let new = format!("line 1 in the end, {number}\n");
                self.git(at, &["checkout", "-q", "--", "src"]).ok();
                let args = ["propose", "src/0.txt", "--old", "line 1\n", "--new", &new];
                let before = self.shared_and_private(at);
                self.aye(at, &args).ok();
                self.acknowledge(at, &before);
                REMOTES.iter().for_each(|remote| self.push(at, remote, true));
            }
        }
        (0..self.clones.len()).for_each(|at| fetch(self, at));
    }

    /// What a clone shows of the proposals that neither it nor another one has for itself alone. Of a
    /// published one its clone knows what was said before.
    fn shared(
        &self,
        (state, other): (&BTreeMap<String, Value>, &BTreeMap<String, Value>),
    ) -> BTreeMap<String, Value> {
        let is_private = |state: &BTreeMap<String, Value>, id: &String| {
            state.get(id).is_some_and(|item| item["audience"] == "private")
        };
        let shared =
            state.iter().filter(|(id, _)| !is_private(state, id) && !is_private(other, id));
        let comparable = |(id, item): (&String, &Value)| {
            let mut item = item.clone();
            let shown = item.as_object_mut().expect("an object");
            // Copies may have published one for different remotes; the shortest id depends on all.
            // These depend on what else a clone has: private proposals, and its work tree.
            let own = ["audience", "short_id", "stands_on", "same_lines"];
            shown.retain(|key, _| !own.contains(&key.as_str()));
            if self.published.contains(id.trim_matches('"')) {
                shown.retain(|key, _| ["status", "revision"].contains(&key.as_str()));
            }
            (id.clone(), item)
        };
        shared.map(comparable).collect()
    }

    fn compare(&mut self) {
        let mut states: Vec<BTreeMap<String, Value>> = Vec::new();
        for at in 0..self.clones.len() {
            let state = |world: &Self| -> BTreeMap<String, Value> {
                let list = world.list(at, "all").into_iter();
                list.map(|item| (item["proposal_id"].to_string(), item)).collect()
            };
            let warm = state(self);
            let cache = self.clones[at].join(".git/aye/cache.sqlite");
            std::fs::remove_file(cache).expect("a cache");
            same(&warm, &state(self), &format!("clone {at}, warm and cold"));
            self.aye(at, &["doctor"]).lacks("cache_tampered");
            states.push(warm);
        }
        for (at, one) in states.iter().enumerate() {
            for (beside, other) in states.iter().enumerate().skip(at + 1) {
                let [mut one, mut other] =
                    [(one, other), (other, one)].map(|pair| self.shared(pair));
                forget_what_is_not_here([&mut one, &mut other]);
                same(&one, &other, &format!("clone {at} and clone {beside}"));
            }
        }
        for (at, clone) in self.clones.iter().enumerate() {
            let here = self.events(clone);
            let told = self.told.iter().filter(|(_, told)| !told.is_private || told.by == at);
            let lost: Vec<_> = told
                .filter(|(id, _)| !here.contains(*id))
                .map(|(id, told)| (id, told.by))
                .collect();
            assert!(lost.is_empty(), "clone {at} lacks {lost:?}");
            self.git(at, &["fsck", "--strict", "--no-dangling"]).ok();
        }
        let decided = states[0].values().filter(|item| item["status"] != "pending").count();
        let contested = states[0].values().filter(|item| item["contested"] == true).count();
        let _ = writeln!(
            std::io::stderr(),
            "seed {}: {} steps, {} acknowledged, {} proposals, {decided} decided, {contested} \
             contested",
            self.seed,
            self.steps.len(),
            self.told.len(),
            states[0].len()
        );
        let _ = writeln!(
            std::io::stderr(),
            "{} epochs, {} published, {} words for some alone",
            self.epochs,
            self.published.len(),
            self.reach.len()
        );
        assert!(self.epochs > 0 && !self.reach.is_empty(), "{} epochs", self.epochs);
        // A scenario in which nothing happened would show nothing.
        assert!(states[0].len() > 20 && decided > 0, "{} proposals", states[0].len());
    }
}

/// The numbers of the words in `text` that are not for everybody.
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

/// Whoever takes a folded decision back makes a proposal pending whose content another clone may have
/// pruned. Of what is pending nobody's word is taken for how many lines it has.
fn forget_what_is_not_here(pair: [&mut BTreeMap<String, Value>; 2]) {
    let is_unknown = |item: &Value| item["status"] == "pending" && item["added"].is_null();
    let unknown: Vec<String> = pair
        .iter()
        .flat_map(|list| list.iter().filter(|(_, item)| is_unknown(item)))
        .map(|(id, _)| id.clone())
        .collect();
    for list in pair {
        for id in &unknown {
            if let Some(item) = list.get_mut(id).and_then(Value::as_object_mut) {
                item.retain(|key, _| !["added", "removed"].contains(&key.as_str()));
            }
        }
    }
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
    let mut world = World::new(number("AYE_SCENARIO_SEED").unwrap_or(1));
    let started = Instant::now();
    let mut done = 0;
    let mut events = [(15, "backup"), (20, "publish"), (25, "fold"), (30, "copy"), (45, "rewind")]
        .into_iter()
        .chain([(60, "restore anew"), (75, "restore over"), (80, "publish"), (85, "fold")])
        .peekable();
    loop {
        // How much of the run is over, in per cent.
        let over = match seconds {
            Some(seconds) => started.elapsed().as_secs() * 100 / seconds.max(1),
            None => (done * 100 / STEPS) as u64,
        };
        while let Some((_, event)) = events.next_if(|(from, _)| over >= *from) {
            match event {
                "backup" => [2, 3].into_iter().for_each(|at| world.backup(at)),
                "copy" => world.copy_a_clone(),
                "publish" => (0..world.clones.len()).for_each(|at| world.publish_one(at)),
                "fold" => (0..world.clones.len()).for_each(|at| world.fold(at)),
                "rewind" => world.rewind(),
                "restore anew" => world.restore(2, false),
                _ => world.restore(3, true),
            }
        }
        if over >= 100 {
            break;
        }
        world.step();
        done += 1;
    }
    world.come_together();
    world.compare();
}
