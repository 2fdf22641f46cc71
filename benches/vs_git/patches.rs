//! `aye patch` against `git apply` on the same patch, forwards and backwards in turn.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::entries::Tool;
use crate::runner::{Entry, Side};
use crate::world::{World, run};

/// The entries of patches.
pub fn all() -> Vec<Entry> {
    vec![
        Entry {
            name: "patch of 1,000 files vs git apply",
            target: 1.0,
            runs: 10,
            sides: |world| fresh(world, &files(1_000)),
        },
        Entry {
            // Git leaves what ours leaves: a commit on a ref that names both contents by id, durable.
            name: "patch, one hunk in 100,000, vs git, recorded",
            target: 1.0,
            runs: 40,
            sides: |world| recorded(world, &hunks(100_000, 1)),
        },
        Entry {
            // What the record costs: git keeps no account of it and flushes nothing, and 140 of our
            // 166 M instructions are the two ids of 2.7 MB that the event names.
            name: "patch, one hunk in 100,000 lines vs git apply",
            target: 2.0,
            runs: 40,
            sides: |world| both(world, &hunks(100_000, 1)),
        },
        Entry {
            name: "patch of 10,000 hunks in a file vs git apply",
            target: 1.0,
            runs: 20,
            sides: |world| both(world, &hunks(100_000, 10_000)),
        },
        Entry {
            name: "patch, binary 5 MB vs git apply",
            target: 1.2,
            runs: 20,
            sides: |world| both(world, &binary(5_000_000)),
        },
        Entry {
            // Both recorded and durable, as with `apply` of one proposal.
            name: "three-way apply of 100 files vs --3way, commit",
            target: 1.0,
            runs: 10,
            sides: three_way,
        },
    ]
}

/// Contents of a set of files, before and after.
type Change = Vec<(String, Vec<u8>, Vec<u8>)>;

fn lines(count: usize, changed: impl Fn(usize) -> bool) -> (Vec<u8>, Vec<u8>) {
    let (mut before, mut after) = (String::new(), String::new());
    for line in 0..count {
        let _ = writeln!(before, "    let value_{line} = {};", line * 31 % 977);
        if changed(line) {
            let _ = writeln!(after, "    let value_{line} = changed({line});");
        } else {
            let _ = writeln!(after, "    let value_{line} = {};", line * 31 % 977);
        }
    }
    (before.into_bytes(), after.into_bytes())
}

fn files(count: usize) -> Change {
    (0..count)
        .map(|file| {
            let (before, after) = lines(60, |line| line == 5 + file % 40);
            (format!("many/d{}/file_{file}.rs", file % 40), before, after)
        })
        .collect()
}

fn hunks(count: usize, hunks: usize) -> Change {
    let every = count / hunks;
    let (before, after) = lines(count, |line| line % every == every / 2);
    vec![("large.rs".into(), before, after)]
}

fn binary(size: usize) -> Change {
    let mut seed = 0x9e37_79b9_u32;
    let mut noise = || {
        (0..size)
            .map(|at| {
                seed ^= seed << 13;
                seed ^= seed >> 17;
                seed ^= seed << 5;
                if at == 0 { 0 } else { (seed >> 24) as u8 }
            })
            .collect::<Vec<u8>>()
    };
    vec![("blob.bin".into(), noise(), noise())]
}

fn write(directory: &Path, change: &Change, after: bool) {
    for (name, old, new) in change {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        std::fs::write(path, if after { new } else { old }).expect("a file");
    }
}

/// A copy with the files of `change` committed, and the patch to the new ones beside it.
fn set_up(world: &World, change: &Change) -> (std::path::PathBuf, String) {
    let directory = world.copy();
    write(&directory, change, false);
    run(&mut world.git(&directory, &["add", "--all"]));
    run(&mut world.git(&directory, &["commit", "--quiet", "-m", "files"]));
    write(&directory, change, true);
    let patch = directory.with_extension("patch");
    let to = format!("--output={}", patch.display());
    run(&mut world.git(&directory, &["diff", "--binary", &to]));
    write(&directory, change, false);
    (directory, patch.to_str().expect("UTF-8").to_owned())
}

fn both(world: &World, change: &Change) -> (Side, Side) {
    let side = |aye: bool| {
        let (directory, patch) = set_up(world, change);
        let command = |arguments: &[&str]| match aye {
            true => world.aye(&directory, arguments),
            false => world.git(&directory, arguments),
        };
        let verb = if aye { "patch" } else { "apply" };
        let mut forward = command(&[verb, &patch]);
        let mut backward = command(&[verb, "-R", &patch]);
        forward.stdout(std::process::Stdio::null());
        backward.stdout(std::process::Stdio::null());
        Side::new(move |number| {
            run(if number.is_multiple_of(2) { &mut forward } else { &mut backward });
        })
    };
    (side(true), side(false))
}

/// As [`both`], and git keeps an account of it, as an event of ours does: the ids of the content before
/// and after, and who did it, as a commit on a ref. `core.fsync=all` flushes objects and ref;
/// the file itself git flushes nowhere. Neither side stores the new content, which is in the file.
fn recorded(world: &World, change: &Change) -> (Side, Side) {
    let (ours, _) = both(world, change);
    let (directory, patch) = set_up(world, change);
    let git = Tool::git(world, &directory);
    git.run(&["config", "core.fsync", "all"]);
    git.run(&["update-ref", "refs/x/thread", "HEAD"]);
    let name = change[0].0.clone();
    let mut before = git.output(&["hash-object", &name]);
    let theirs = Side::new(move |number| {
        match number.is_multiple_of(2) {
            true => git.run(&["apply", &patch]),
            false => git.run(&["apply", "-R", &patch]),
        }
        let after = git.output(&["hash-object", &name]);
        let event = format!(
            "{{\"kind\":\"patch\",\"path\":\"{name}\",\"before\":\"{before}\",\"after\":\"{after}\"}}"
        );
        before = after;
        let event = git.fed(&["hash-object", "-w", "--stdin"], &event);
        let tree = git.fed(&["mktree"], &format!("100644 blob {event}\tevent.json\n"));
        let tip = git.output(&["rev-parse", "refs/x/thread"]);
        let commit = git.output(&["commit-tree", "-p", &tip, "-m", "patch", &tree]);
        git.run(&["update-ref", "refs/x/thread", &commit, &tip]);
    });
    (ours, theirs)
}

/// As [`both`], forwards only and each time in a copy that nothing was deleted from. What a patch
/// of many files deletes, the next one would pay for: ext4 passes over inodes deleted in the last
/// minutes one by one, but for those of the same second, which git, deleting first, takes again.
fn fresh(world: &World, change: &Change) -> (Side, Side) {
    let side = |aye: bool| {
        let (template, patch) = set_up(world, change);
        let here = template.with_extension("here");
        let mut command = match aye {
            true => world.aye(&here, &["patch", &patch]),
            false => world.git(&here, &["apply", &patch]),
        };
        Side::new(move |_| run(&mut command)).prepared(move |number| {
            let copy = template.with_extension(format!("run{number}"));
            run(Command::new("cp").arg("-a").arg(&template).arg(&copy));
            let _ = std::fs::remove_file(&here);
            std::os::unix::fs::symlink(&copy, &here).expect("a link");
            // The copy's files are new to the index.
            run(Command::new("git").arg("-C").arg(&copy).args(["update-index", "-q", "--refresh"]));
            // Neither side is to run while the system writes the copy to the disk.
            run(Command::new("sync").arg("-f").arg(&copy));
        })
    };
    (side(true), side(false))
}

/// Files that have changed elsewhere since: a proposal of ours, a patch with blob ids of git's.
fn three_way(world: &World) -> (Side, Side) {
    let change = files(100);
    let drifted: Change = change
        .iter()
        .map(|(name, before, _)| {
            (name.clone(), [b"// moved on\n".as_slice(), before].concat(), Vec::new())
        })
        .collect();
    // The changed line's neighbours change too, so that no hunk fits as it is.
    let drifted: Change = drifted
        .into_iter()
        .map(|(name, now, none)| {
            let text = String::from_utf8(now)
                .expect("text")
                .replace("    let value_58 ", "    let moved_58 ");
            (name, text.into_bytes(), none)
        })
        .collect();
    let (directory, patch) = set_up(world, &change);
    // A proposal of its own for each run: one that was applied and undone again and again would
    // have a history that no other has.
    let mut propose = world.aye(&directory, &["propose", "--patch", &patch]);
    let mut stage = world.git(&directory, &["add", "--all"]);
    let mut apply = world.aye(&directory, &["apply", "--yes", "--index", "--latest"]);
    let (clean, was) = (change.clone(), drifted.clone());
    let ours = Side::new(move |_| run(&mut apply)).prepared(move |_| {
        write(&directory, &clean, false);
        run(&mut stage);
        run(&mut propose);
        write(&directory, &was, false);
        run(&mut stage);
    });
    let (directory, patch) = set_up(world, &change);
    let mut git = world.git(&directory, &["-c", "core.fsync=all", "apply", "--3way", &patch]);
    git.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    // The files are the same each time.
    let commit = ["-c", "core.fsync=all", "commit", "--quiet", "--allow-empty", "-m", "three-way"];
    let mut record = world.git(&directory, &commit);
    let mut stage = world.git(&directory, &["add", "--all"]);
    let other = Side::new(move |_| {
        run(&mut git);
        run(&mut record);
    })
    .prepared(move |_| {
        write(&directory, &drifted, false);
        run(&mut stage);
    });
    (ours, other)
}
