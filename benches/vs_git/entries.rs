//! What is compared with what. Add an entry here for a command with a target of its own.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::runner::{Entry, Side};
use crate::world::{World, content, output, path, run};

/// Every entry, in the order of printing.
pub fn all() -> Vec<Entry> {
    vec![
        Entry {
            name: "version vs git --version",
            target: 1.0,
            runs: 100,
            sides: |world| {
                let directory = world.pristine();
                same(world, &directory, &["--version"], &directory, &["--version"])
            },
        },
        Entry {
            name: "list, nothing pending vs rev-parse HEAD",
            target: 1.1,
            runs: 100,
            sides: |world| {
                let directory = world.copy();
                same(world, &directory, &["list"], &directory, &["rev-parse", "HEAD"])
            },
        },
        Entry {
            name: "propose vs durable plumbing",
            target: 0.3,
            runs: 60,
            sides: propose_vs_plumbing,
        },
        Entry {
            // The world that is hard on ours: a file of 79 KB, and proposals that wait already.
            name: "propose in 4,000 lines, 80 pending vs the same",
            target: 0.4,
            runs: 60,
            sides: propose_in_large_file,
        },
        Entry { name: "propose vs git commit", target: 0.5, runs: 60, sides: propose_vs_commit },
        Entry {
            name: "apply vs durable git apply + commit",
            target: 1.0,
            runs: 40,
            sides: apply_vs_commit,
        },
        Entry {
            name: "list of 1,000 vs for-each-ref of 1,000",
            target: 1.5,
            runs: 40,
            sides: list_vs_refs,
        },
        Entry {
            name: "list of 1,000, with vs without 10,000 decided",
            target: 1.3,
            runs: 40,
            sides: |world| {
                let few = filled(world, 1_000, 0);
                let many = filled(world, 1_000, 10_000);
                let mut with = world.aye(&many, LIST);
                let mut without = world.aye(&few, LIST);
                (Side::new(move |_| run(&mut with)), Side::new(move |_| run(&mut without)))
            },
        },
        Entry {
            name: "shell 'git status --short' vs the same",
            target: 1.6,
            runs: 60,
            sides: |world| {
                let directory = world.copy();
                let git = ["status", "--short"];
                same(world, &directory, &["shell", "git status --short"], &directory, &git)
            },
        },
        Entry {
            name: "shell pwd vs /bin/pwd",
            target: 3.0,
            runs: 100,
            sides: |world| {
                let directory = world.pristine();
                let mut aye = world.aye(&directory, &["shell", "pwd"]);
                let mut pwd = Command::new("/bin/pwd");
                pwd.current_dir(&directory).stdout(Stdio::null());
                (Side::new(move |_| run(&mut aye)), Side::new(move |_| run(&mut pwd)))
            },
        },
        Entry {
            name: "plan update vs git commit --allow-empty",
            target: 1.0,
            runs: 60,
            sides: plan_vs_commit,
        },
    ]
}

/// All of them, whatever the default limit is.
const LIST: &[&str] = &["list", "--limit", "100000"];

/// The peak memory of `list` at 10,000 proposals, held to 64 MiB.
pub fn peak_memory(world: &World) {
    let directory = filled(world, 1_000, 9_000);
    let peak = peak_kib(world.aye(&directory, &["list", "--status", "all", "--limit", "100000"]));
    let verdict = if peak <= 64 << 10 { "met" } else { "MISSED" };
    println!(
        "{:<44} {:>9.1} MiB of 64: {verdict}",
        "list of 10,000, peak memory",
        peak as f64 / 1024.0
    );
}

/// Two read-only commands, `aye` and `git`.
fn same(world: &World, ours: &Path, aye: &[&str], theirs: &Path, git: &[&str]) -> (Side, Side) {
    let mut aye = world.aye(ours, aye);
    let mut git = world.git(theirs, git);
    aye.stdout(Stdio::null());
    git.stdout(Stdio::null());
    (Side::new(move |_| run(&mut aye)), Side::new(move |_| run(&mut git)))
}

/// The plan of an agent at work: one step further each time.
fn plan_vs_commit(world: &World) -> (Side, Side) {
    let aye = Tool::aye(world, &world.copy());
    let git = Tool::git(world, &world.copy());
    let ours = Side::new(move |number| {
        let steps: Vec<_> = (0..8)
            .map(|step| {
                let status = match step.cmp(&(number % 8)) {
                    std::cmp::Ordering::Less => "completed",
                    std::cmp::Ordering::Equal => "in_progress",
                    std::cmp::Ordering::Greater => "pending",
                };
                serde_json::json!({ "step": format!("Step {step} of the work"), "status": status })
            })
            .collect();
        let request = serde_json::json!({ "plan": steps }).to_string();
        run(&mut aye.command(&["call", "update_plan", &request]));
    });
    let theirs = Side::new(move |number| {
        let message = format!("Step {number}");
        run(&mut git.command(&["commit", "--quiet", "--allow-empty", "-m", &message]));
    });
    (ours, theirs)
}

/// A process builder that can be kept in a closure: the world outlives every side in `main`, so a
/// side keeps the program, directory and environment of a command and changes its arguments.
#[derive(Clone)]
pub(crate) struct Tool {
    program: std::ffi::OsString,
    directory: PathBuf,
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
}

impl Tool {
    fn of(command: &Command) -> Self {
        Self {
            program: command.get_program().to_owned(),
            directory: command.get_current_dir().expect("a directory").to_owned(),
            environment: command
                .get_envs()
                .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
                .collect(),
        }
    }

    pub(crate) fn aye(world: &World, directory: &Path) -> Self {
        Self::of(&world.aye(directory, &[]))
    }

    pub(crate) fn git(world: &World, directory: &Path) -> Self {
        Self::of(&world.git(directory, &[]))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.directory).env_clear().envs(self.environment.iter().cloned());
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) {
        run(&mut self.command(arguments));
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> String {
        output(self.command(arguments))
    }

    pub(crate) fn fed(&self, arguments: &[&str], input: &str) -> String {
        let mut command = self.command(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{command:?}: {e}"));
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("feed");
        let result = child.wait_with_output().expect("wait");
        assert!(result.status.success(), "{command:?}: {result:?}");
        String::from_utf8_lossy(&result.stdout).trim_end().to_owned()
    }
}

/// The one line of a generated file that proposal `number` changes: (path, old, new).
fn edit(number: usize) -> (String, String, String) {
    let file = number % crate::world::FILES;
    let old = format!("    let v0 = {};", file * 31);
    let new = format!("{old} // {number}");
    (path(file), old, new)
}

fn propose(tool: &Tool, number: usize) -> Command {
    let (path, old, new) = edit(number);
    tool.command(&[
        "propose", &path, "--old", &old, "--new", &new, "-m", "change one line", "--json",
    ])
}

fn proposed(tool: &Tool, number: usize) -> String {
    let answer = output(propose(tool, number));
    let json: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
    json["proposal_id"].as_str().expect("an id").to_owned()
}

fn propose_side(world: &World) -> Side {
    let directory = world.copy();
    let tool = Tool::aye(world, &directory);
    Side::new(move |number| run(&mut propose(&tool, number)))
}

/// The other side makes the objects of an event with its record in the tree, each by the command made for it, and
/// moves the same ref; ours makes the pending commit with its trees and ref, and the projection,
/// besides.
fn propose_vs_plumbing(world: &World) -> (Side, Side) {
    let directory = world.copy();
    let git = Tool::git(world, &directory);
    git.run(&["config", "core.fsync", "all"]);
    git.run(&["update-ref", "refs/x/thread", "HEAD"]);
    let listing = git.output(&["ls-tree", "-r", "--format=%(path) %(objectname)", "HEAD"]);
    let blobs: BTreeMap<String, String> = listing
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(path, id)| (path.to_owned(), id.to_owned()))
        .collect();
    let other = Side::new(move |number| {
        let (path, old, new) = edit(number);
        let after = content(number % crate::world::FILES).replace(&old, &new);
        plumb(&git, number, &path, &blobs[&path], &after);
    });
    (propose_side(world), other)
}

/// The commit of a proposal that makes `after` of the blob `before`, object by object.
fn plumb(git: &Tool, number: usize, path: &str, before: &str, after: &str) {
    let after = git.fed(&["hash-object", "-w", "--stdin"], after);
    let event = format!("{{\"kind\":\"propose\",\"path\":\"{path}\",\"seq\":{number}}}");
    let event = git.fed(&["hash-object", "-w", "--stdin"], &event);
    let before = nested(git, path, before);
    let after = nested(git, path, &after);
    let tree = format!(
        "040000 tree {after}\tafter\n040000 tree {before}\tbefore\n\
         100644 blob {event}\tevent.json\n"
    );
    let tree = git.fed(&["mktree"], &tree);
    let tip = git.output(&["rev-parse", "refs/x/thread"]);
    let commit = git.output(&["commit-tree", "-p", &tip, "-m", "propose", &tree]);
    git.run(&["update-ref", "refs/x/thread", &commit, &tip]);
}

/// As [`propose_vs_plumbing`], of one line after the other of a file of 79 KB, while 80 proposals for
/// other files are pending.
fn propose_in_large_file(world: &World) -> (Side, Side) {
    const PATH: &str = "src/part00/large.rs";
    let line = |number: usize| format!("    let value_{number} = {};\n", number * 31 % 977);
    let text: String = (0..4_000).map(line).collect();
    let large = |directory: &Path| {
        std::fs::write(directory.join(PATH), &text).expect("write");
        let git = Tool::git(world, directory);
        git.run(&["add", PATH]);
        git.run(&["commit", "--quiet", "-m", "a large file"]);
        git
    };
    let directory = world.copy();
    large(&directory);
    let aye = Tool::aye(world, &directory);
    (0..80).for_each(|number| run(&mut propose(&aye, number + 1)));
    let ours = Side::new(move |number| {
        let old = line(number * 40);
        let new = format!("{} // {number}", old.trim_end());
        let edit =
            ["propose", PATH, "--old", old.trim_end(), "--new", &new, "-m", "change", "--json"];
        aye.run(&edit);
    });
    let git = large(&world.copy());
    git.run(&["config", "core.fsync", "all"]);
    git.run(&["update-ref", "refs/x/thread", "HEAD"]);
    let before = git.output(&["rev-parse", &format!("HEAD:{PATH}")]);
    let other = Side::new(move |number| {
        let old = line(number * 40);
        let after = text.replace(&old, &format!("{} // {number}\n", old.trim_end()));
        plumb(&git, number, PATH, &before, &after);
    });
    (ours, other)
}

/// The trees that hold `blob` at `path` and nothing else; the uppermost one.
fn nested(git: &Tool, path: &str, blob: &str) -> String {
    let mut entry = format!("100644 blob {blob}");
    let mut id = String::new();
    for name in path.rsplit('/') {
        id = git.fed(&["mktree"], &format!("{entry}\t{name}\n"));
        entry = format!("040000 tree {id}");
    }
    id
}

fn propose_vs_commit(world: &World) -> (Side, Side) {
    (propose_side(world), commit_side(world))
}

/// `git commit` of a change of one line.
pub(crate) fn commit_side(world: &World) -> Side {
    let directory = world.copy();
    let git = Tool::git(world, &directory);
    Side::new(move |number| {
        git.run(&["commit", "--quiet", "-m", "change one line", &edit(number).0]);
    })
    .prepared(move |number| {
        let (path, old, new) = edit(number);
        let text = content(number % crate::world::FILES).replace(&old, &new);
        std::fs::write(directory.join(path), text).expect("edit the file");
    })
}

/// Both write the file, and both leave a durable record of who did that.
fn apply_vs_commit(world: &World) -> (Side, Side) {
    use std::cell::RefCell;
    use std::rc::Rc;

    let tool = Tool::aye(world, &world.copy());
    let id = Rc::new(RefCell::new(String::new()));
    let ours = {
        let (tool, id) = (tool.clone(), id.clone());
        Side::new(move |_| tool.run(&["apply", &id.borrow(), "--yes"]))
    }
    .prepared(move |number| *id.borrow_mut() = proposed(&tool, number));

    let git = Tool::git(world, &world.copy());
    git.run(&["config", "core.fsync", "all"]);
    // A copy's index knows other files.
    git.run(&["update-index", "-q", "--refresh"]);
    let patch = git.directory.join(".git/change.patch");
    let name = patch.to_str().expect("UTF-8").to_owned();
    let other = Side::new(move |_| {
        git.run(&["apply", "--index", &name]);
        git.run(&["commit", "-qm", "apply"]);
    })
    .prepared(move |number| {
        let (path, old, new) = edit(number);
        let file = number % crate::world::FILES;
        let text = format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -4,3 +4,3 @@\n \
             pub fn f{file}() -> usize {{\n-{old}\n+{new}\n     let v1 = {};\n",
            file * 31 + 1
        );
        std::fs::write(&patch, text).expect("write the patch");
    });
    (ours, other)
}

fn list_vs_refs(world: &World) -> (Side, Side) {
    let ours = filled(world, 1_000, 0);
    let theirs = world.copy();
    let git = Tool::git(world, &theirs);
    let head = git.output(&["rev-parse", "HEAD"]);
    let refs: String = (0..1_000).map(|n| format!("create refs/x/{n:04} {head}\n")).collect();
    git.fed(&["update-ref", "--stdin"], &refs);
    same(world, &ours, LIST, &theirs, &["for-each-ref", "refs/x"])
}

/// A copy with so many pending and so many rejected proposals, packed as `git gc` leaves it.
fn filled(world: &World, pending: usize, decided: usize) -> PathBuf {
    let directory = world.copy();
    let tool = Tool::aye(world, &directory);
    let git = Tool::git(world, &directory);
    git.run(&["config", "core.fsync", "none"]);
    // Not what is measured: nothing to flush, and decisions a thousand at a time.
    for batch in (0..decided).collect::<Vec<_>>().chunks(1_000) {
        let ids: Vec<String> = batch.iter().map(|n| proposed(&tool, 100_000 + n)).collect();
        let mut arguments: Vec<&str> = vec!["reject", "--yes", "-m", "not now"];
        arguments.extend(ids.iter().map(String::as_str));
        tool.run(&arguments);
    }
    for number in 0..pending {
        run(&mut propose(&tool, number));
    }
    git.run(&["config", "--unset", "core.fsync"]);
    git.run(&["gc", "--quiet"]);
    tool.run(LIST);
    directory
}

/// The peak resident memory of a process, in KiB, by asking the system while it runs: the figure
/// only grows, so the last answer before the end is the peak but for the last moments. Its output
/// is left in a pipe until then, so a long output holds the process where it has everything.
fn peak_kib(mut command: Command) -> u64 {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("start");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let mut unchanged = 0;
    while child.try_wait().expect("wait").is_none() && unchanged < 3_000 {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let high = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let high = high.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0);
        unchanged = if high > peak { 0 } else { unchanged + 1 };
        peak = peak.max(high);
        std::thread::sleep(Duration::from_micros(200));
    }
    drop(child.stdout.take());
    let _ = child.wait();
    peak
}
