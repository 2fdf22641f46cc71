//! Four clones of one remote at work, by plain `git push` and `git fetch`, with all that happens to
//! clones: collected garbage, killed commands, a copy, restored backups, a rewound remote. In the end
//! there is one truth everywhere, and nothing that a command has acknowledged is lost.
//!
//! `AYE_SCENARIO_SECONDS=3600 AYE_SCENARIO_SEED=7 cargo test --test it four_clones:: -- --nocapture` works
//! longer, and otherwise. A failure prints the seed and the steps. The same seed takes the same
//! decisions; when a command is killed depends on the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::{self, Repo, Run};
use serde_json::Value;

/// How many steps a run takes where no time is given.
const STEPS: usize = 70;

const LANES: &str = "refs/aye/log/*:refs/aye/remotes/origin/*";

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

/// The remote, its clones, and what they have been told.
struct World {
    /// A directory around them all, with the surroundings that every program is run in.
    scene: Repo,
    clones: Vec<PathBuf>,
    random: Random,
    seed: u64,
    steps: Vec<String>,
    /// Lane tips after commands that exited with 0, and in which clone.
    told: BTreeMap<String, usize>,
    /// Counts proposals, so that no two are the same.
    made: usize,
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let steps = self.steps.join("\n");
            let _ = writeln!(std::io::stderr(), "seed {}; the steps:\n{steps}", self.seed);
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
        git(&["init", "-q", "--bare", "-b", "main", "server"]);
        git(&["clone", "-q", "server", "clone-0"]);
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
            git(&["clone", "-q", "-b", "main", "server", &name]);
            clones.push(scene.path(&name));
        }
        let world = Self {
            scene,
            clones,
            random: Random(seed),
            seed,
            steps: Vec::new(),
            told: BTreeMap::new(),
            made: 0,
        };
        for at in 0..4 {
            world.git(at, &["config", "user.name", &format!("Person {at}")]).ok();
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

    /// The tips of the lanes of `at`.
    fn tips(&self, at: usize) -> BTreeSet<String> {
        let refs = ["for-each-ref", "--format=%(objectname)", "refs/aye/log"];
        self.git(at, &refs).ok().out().lines().map(str::to_owned).collect()
    }

    /// All commits of lanes that the repository at `place` holds.
    fn commits(&self, place: &Path) -> BTreeSet<String> {
        let git = |args: &[&str]| self.scene.program("git").dir(place).args(args);
        let kinds = ["refs/aye/log", "refs/aye/remotes", "refs/aye/kept"];
        let tips = git(&[&["for-each-ref", "--format=%(objectname)"], &kinds[..]].concat());
        let tips = tips.run().ok().out();
        git(&["rev-list", "--stdin"])
            .stdin(tips)
            .run()
            .ok()
            .out()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The proposals that `at` lists.
    fn list(&self, at: usize, status: &str) -> Vec<Value> {
        let run = self.aye(at, &["list", "--status", status, "--json"]).ok();
        run.json()["proposals"].as_array().expect("a list").clone()
    }

    /// Runs a command that writes, and now and then kills it or runs another beside it.
    fn write(&mut self, at: usize, args: &[&str], agent: bool) {
        let line = args.join(" ");
        let before = self.tips(at);
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
            std::thread::sleep(Duration::from_millis(pause as u64));
            let _ = running.child.kill();
        }
        runs.push(running.wait());
        runs.extend(other.map(support::Running::wait));
        for run in &runs {
            // Lines of the file may be other ones by now.
            let status = run.status;
            assert!(is_sound(run) || run.err().contains("old_content_not_found"), "{run}");
            let note = if kill && status != 0 { " (killed)" } else { "" };
            self.say(format!("clone {at}: aye {line} -> {status}{note}"));
        }
        if runs.iter().any(|run| run.status == 0) {
            for tip in self.tips(at).difference(&before) {
                self.told.insert(tip.clone(), at);
            }
        }
    }

    fn propose(&mut self, at: usize) {
        let number = self.made;
        self.made += 1;
        let (file, line) = (self.random.below(6), self.random.below(40) + 1);
        let (file, old) = (format!("src/{file}.txt"), format!("line {line}\n"));
        let new = format!("line {line} by {at}, {number}\n");
        let agent = self.random.below(3) > 0;
        self.write(at, &["propose", &file, "--old", &old, "--new", &new], agent);
    }

    /// Does something about a proposal that `at` knows.
    fn speak(&mut self, at: usize) {
        let known = self.list(at, "all");
        let Some(item) = self.random.pick(&known).cloned() else { return self.propose(at) };
        let id = item["proposal_id"].as_str().expect("an id").to_owned();
        let exact = format!("{id}@{}", item["revision"].as_str().expect("a revision"));
        let reason = format!("said in {at}, {}", self.steps.len());
        let choice = self.random.below(10);
        match (item["status"].as_str().expect("a status"), choice) {
            ("pending", 0..=2) => self.write(at, &["apply", &exact, "--yes"], false),
            ("pending", 3) => self.write(at, &["apply", &exact, "--yes", "--mark-only"], false),
            ("pending", 4..=6) => {
                self.write(at, &["reject", &exact, "--yes", "--reason", &reason], false);
            }
            ("pending", 7) => self.write(at, &["approve", &exact, "--yes"], false),
            ("pending", 8) => {
                let path = item["file_path"].as_str().expect("a path").to_owned();
                let new = format!("revised in {at}, {}\n", self.steps.len());
                let old = format!("line {}\n", self.random.below(40) + 1);
                self.write(at, &["revise", &id, &path, "--old", &old, "--new", &new], false);
            }
            ("pending", _) => self.write(at, &["comment", &id, "-m", &reason], false),
            ("applied", 0..=6) => self.write(at, &["undo", &id, "--yes"], false),
            ("rejected", 0..=3) => {
                self.write(at, &["reopen", &id, "--yes", "--reason", &reason], false);
            }
            _ => self.propose(at),
        }
    }

    fn push(&mut self, at: usize) {
        // What the remote has moved on by is refused, and the rest goes.
        let run = self.git(at, &["push", "-q", "origin", "refs/aye/log/*"]);
        assert!(run.status <= 1, "{run}");
        self.say(format!("clone {at}: push -> {}", run.status));
    }

    fn fetch(&mut self, at: usize) {
        let run = self.git(at, &["fetch", "-q", "--no-prune", "origin", LANES]);
        assert!(run.status <= 1, "{run}");
        self.say(format!("clone {at}: fetch -> {}", run.status));
    }

    fn step(&mut self) {
        let at = self.random.below(self.clones.len());
        match self.random.below(100) {
            0..=19 => self.propose(at),
            20..=64 => self.speak(at),
            65..=77 => self.push(at),
            78..=92 => self.fetch(at),
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
        let mut left = self.commits(&self.scene.path("server"));
        for clone in &self.clones {
            left.extend(self.commits(clone));
        }
        self.told.retain(|tip, by| *by != at || left.contains(tip));
        let how = if over { "over what is there" } else { "anew" };
        self.say(format!("clone {at}: restored from its backup, {how}"));
    }

    /// Somebody pushes older tips of all lanes by force.
    fn rewind(&mut self) {
        let server = self.scene.path("server");
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
        (0..self.clones.len()).for_each(|at| self.push(at));
    }

    /// Everybody sees to what was fetched, and sends and fetches everything.
    fn come_together(&mut self) {
        for _ in 0..3 {
            for at in 0..self.clones.len() {
                self.fetch(at);
                let number = self.made;
                self.made += 1;
                let new = format!("line 1 in the end, {number}\n");
                self.git(at, &["checkout", "-q", "--", "src"]).ok();
                let args = ["propose", "src/0.txt", "--old", "line 1\n", "--new", &new];
                let before = self.tips(at);
                self.aye(at, &args).ok();
                for tip in self.tips(at).difference(&before) {
                    self.told.insert(tip.clone(), at);
                }
                self.push(at);
            }
        }
        (0..self.clones.len()).for_each(|at| self.fetch(at));
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
            states.push(warm);
        }
        for (at, state) in states.iter().enumerate().skip(1) {
            same(&states[0], state, &format!("clone 0 and clone {at}"));
        }
        for (at, clone) in self.clones.iter().enumerate() {
            let here = self.commits(clone);
            let lost: Vec<_> = self.told.iter().filter(|(tip, _)| !here.contains(*tip)).collect();
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
        // A scenario in which nothing happened would show nothing.
        assert!(states[0].len() > 20 && decided > 3, "{} proposals", states[0].len());
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
    let mut events =
        [(15, "backup"), (30, "copy"), (45, "rewind"), (60, "restore anew"), (75, "restore over")]
            .into_iter()
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
