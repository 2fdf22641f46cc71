//! Whatever is decided, quit, resumed, revised and undone, also where the file changes in between: a
//! review writes nothing that it has not shown.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::support::Repo;
use crate::support::terminal::Terminal;

/// Lines of the file, and those that the proposal changes: each in a hunk of its own.
const LINES: usize = 40;
const CHANGED: [usize; 3] = [5, 20, 35];

/// Lines that change between reviews: beside a hunk, in its context, and apart from all.
const OTHERS: [usize; 4] = [4, 7, 12, 22];

/// What a reviewer types at a hunk.
#[derive(Clone, Copy, Debug)]
enum Key {
    Take,
    Leave,
    /// In an editor that replaces a word.
    Edit,
    TakeBack,
    Next,
    Previous,
    /// Nothing is typed; the agent gives one of the lines other content.
    AgentRevises(usize),
}

#[derive(Clone, Debug)]
enum Step {
    /// A review, which ends with its decisions written, or is quit.
    Review {
        keys: Vec<Key>,
        writes: bool,
        /// The line that the agent gives other content once everything is typed but the last answer.
        late: Option<usize>,
    },
    /// The agent gives one of the lines other content.
    Revise(usize),
    /// Another of the lines changes in the work tree.
    Change(usize),
    /// What was applied is taken back.
    Undo,
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        5 => Just(Key::Take),
        2 => Just(Key::Leave),
        2 => Just(Key::Edit),
        2 => Just(Key::TakeBack),
        1 => Just(Key::Next),
        1 => Just(Key::Previous),
        1 => (0..CHANGED.len()).prop_map(Key::AgentRevises),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (prop::collection::vec(key(), 0..6), any::<bool>(), prop::option::of(0..CHANGED.len()))
            .prop_map(|(keys, writes, late)| Step::Review { keys, writes, late }),
        2 => (0..CHANGED.len()).prop_map(Step::Revise),
        2 => (0..OTHERS.len()).prop_map(Step::Change),
        1 => Just(Step::Undo),
    ]
}

struct World {
    repo: Repo,
    id: String,
    /// What the proposal makes of the lines that it changes.
    proposed: [String; CHANGED.len()],
    others: BTreeMap<usize, String>,
    /// No line is written twice.
    count: usize,
}

impl World {
    fn new() -> Self {
        let text: String = (0..LINES).map(|n| format!("line {n}\n")).collect();
        let repo = Repo::with(&[("f", text)]);
        let proposed = CHANGED.map(|n| format!("first {n}"));
        let mut world =
            Self { repo, id: String::new(), proposed, others: BTreeMap::new(), count: 0 };
        let args = ["propose", "f", "--content-file", "-", "-m", "Lines", "-q"];
        let run = world.repo.cmd(&args).env("AYE_AGENT", "bot").stdin(world.content()).run();
        world.id = run.ok().id();
        world
    }

    fn content(&self) -> String {
        let line = |n: usize| match CHANGED.iter().position(|at| *at == n) {
            Some(at) => format!("{}\n", self.proposed[at]),
            None => self.others.get(&n).cloned().unwrap_or(format!("line {n}\n")),
        };
        (0..LINES).map(line).collect()
    }

    fn status(&self) -> String {
        let shown = self.repo.item(&self.id);
        shown["status"].as_str().expect("a status").to_owned()
    }

    fn revise(&mut self, which: usize) {
        self.count += 1;
        self.proposed[which] = format!("again {}", self.count);
        let args = ["revise", &self.id, "f", "--content-file", "-"];
        self.repo.cmd(&args).env("AYE_AGENT", "bot").stdin(self.content()).run();
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Revise(which) => self.revise(*which),
            Step::Change(which) => {
                self.count += 1;
                let (at, line) = (OTHERS[*which], format!("other {}\n", self.count));
                let text = self.repo.text("f");
                let lines = text.split_inclusive('\n').enumerate();
                let text = lines.map(|(n, old)| if n == at { &line } else { old });
                self.repo.write("f", text.collect::<String>());
                self.others.insert(at, line);
            }
            Step::Undo => {
                self.repo.aye(&["undo", &self.id, "--yes"]);
            }
            Step::Review { keys, writes, late } => {
                if self.status() == "pending" {
                    self.review(keys, *writes, *late);
                }
            }
        }
    }

    fn review(&mut self, keys: &[Key], writes: bool, late: Option<usize>) {
        let before = self.repo.text("f");
        let editor = self.repo.editor("sed -i -e 's/first/mine/' -e 's/again/mine/' \"$1\"");
        let cmd = self.repo.cmd(&["review"]).env("TERM", "dumb").env("PAGER", "cat");
        let mut t = Terminal::start(cmd.env("GIT_EDITOR", editor), 60, 100);
        t.sees("]? ");
        for key in keys {
            if is_last_screen(&t) && !matches!(key, Key::AgentRevises(_)) {
                continue;
            }
            let typed = match key {
                Key::Take => "y",
                Key::Leave => "n",
                Key::Edit => "e",
                Key::TakeBack => "u",
                Key::Next => "j",
                Key::Previous => "k",
                Key::AgentRevises(which) => {
                    self.revise(*which);
                    continue;
                }
            };
            t.types(typed);
            settle(&mut t);
        }
        if !is_last_screen(&t) {
            t.types("qw");
            settle(&mut t);
        }
        if let Some(which) = late {
            self.revise(which);
        }
        t.types(if is_last_screen(&t) && writes { "y" } else { "q" });
        // Where something was revised meanwhile it goes on, and asks again.
        if t.is_asked_or_over(&["]? "]).is_some() {
            t.types("\u{3}");
        }
        t.ends();
        let after = self.repo.text("f");
        let old: BTreeSet<&str> = before.lines().collect();
        for line in after.lines().filter(|line| !old.contains(line)) {
            assert!(t.text().contains(&format!("+{line}")), "{line} was not shown\n{}", t.text());
        }
    }
}

/// Waits for the next question. A proposal of which nothing is taken stays pending.
fn settle(t: &mut Terminal) {
    while t.is_asked_or_over(&["]? "]).is_some()
        && t.text().lines().last().is_some_and(|line| line.contains("reject it"))
    {
        t.types("n");
    }
}

fn is_last_screen(t: &Terminal) -> bool {
    t.text().lines().last().is_some_and(|line| line.starts_with("Write these decisions"))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn nothing_is_written_that_was_not_shown(steps in prop::collection::vec(step(), 2..6)) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
        }
        // In the end somebody takes all of it.
        let keys = vec![Key::Take; CHANGED.len()];
        world.take(&Step::Review { keys, writes: true, late: None });
    }
}
