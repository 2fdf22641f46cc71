//! git is the oracle: random trees, random edits, random `git diff` options; what `git apply`
//! makes of the patch and what aye makes of it must be the same bytes and modes.
//!
//! `AYE_DIFFERENTIAL_CASES=2000 cargo test --test it patch_differential::` looks longer.

use crate::support::patches::{Tree, after, of, path, read_as};
use crate::support::{Cmd, Repo};
use aye::changeset::patch::codes;
use aye::changeset::{File, Mode, RepoPath, emit, patch};
use proptest::prelude::*;
use proptest::sample::Index;

const NAMES: [&str; 9] = [
    "plain.txt", "dir/deep/file.rs", "with space", "tab\tand\"quote", "ünï", "-dash", "b/a", "a/b",
    "dir/x",
];

fn content() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        6 => "[a-e]{0,2}",
        1 => Just("\r".to_owned()),
        1 => Just("-- ".to_owned()),
        1 => Just("--- a/x".to_owned()),
        1 => Just("+++ b/x".to_owned()),
        1 => Just("@@ -1 +1 @@".to_owned()),
    ];
    let text = (prop::collection::vec(line, 0..40), any::<bool>(), any::<bool>());
    prop_oneof![
        8 => text.prop_map(|(lines, newline, crlf)| {
            let mut text = lines.join(if crlf { "\r\n" } else { "\n" });
            if newline && !text.is_empty() {
                text.push('\n');
            }
            text.into_bytes()
        }),
        1 => prop::collection::vec(any::<u8>(), 1..200).prop_map(|mut bytes| {
            bytes[0] = 0;
            bytes
        }),
        1 => Just(Vec::new()),
        1 => Just(b"latin-1: \xe9\xff\nsecond\n".to_vec()),
    ]
}

fn file() -> impl Strategy<Value = File> {
    (content(), prop::bool::weighted(0.2)).prop_map(|(bytes, exec)| File {
        bytes,
        mode: if exec { Mode::Executable } else { Mode::Regular },
    })
}

fn tree() -> impl Strategy<Value = Tree> {
    prop::collection::btree_map(prop::sample::select(&NAMES[..]), file(), 1..6)
        .prop_map(|files| files.into_iter().map(|(name, file)| (path(name), file)).collect())
}

#[derive(Clone, Debug)]
enum Edit {
    Lines(Index, Index, usize, Vec<String>),
    Replace(Index, File),
    Mode(Index),
    Delete(Index),
    Move(Index, usize),
    Copy(Index, usize),
    Swap(Index, Index),
    Add(usize, File),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    let name = 0..NAMES.len();
    let lines = prop::collection::vec("[a-f]{0,2}", 0..3);
    prop_oneof![
        8 => (at(), at(), 0..4usize, lines).prop_map(|(f, l, n, new)| Edit::Lines(f, l, n, new)),
        1 => (at(), file()).prop_map(|(f, new)| Edit::Replace(f, new)),
        1 => at().prop_map(Edit::Mode),
        1 => at().prop_map(Edit::Delete),
        2 => (at(), name.clone()).prop_map(|(f, n)| Edit::Move(f, n)),
        1 => (at(), name.clone()).prop_map(|(f, n)| Edit::Copy(f, n)),
        1 => (at(), at()).prop_map(|(a, b)| Edit::Swap(a, b)),
        1 => (name, file()).prop_map(|(n, new)| Edit::Add(n, new)),
    ]
}

fn key(tree: &Tree, at: &Index) -> Option<RepoPath> {
    (!tree.is_empty()).then(|| tree.keys().nth(at.index(tree.len())).expect("an entry").clone())
}

fn apply_edit(tree: &mut Tree, edit: &Edit) {
    match edit {
        Edit::Lines(f, at, len, new) => {
            let Some(file) = key(tree, f).and_then(|k| tree.get_mut(&k)) else { return };
            let mut lines: Vec<&[u8]> = file.bytes.split_inclusive(|b| *b == b'\n').collect();
            let start = at.index(lines.len() + 1);
            let end = (start + len).min(lines.len());
            let new: Vec<Vec<u8>> = new.iter().map(|l| format!("{l}\n").into_bytes()).collect();
            lines.splice(start..end, new.iter().map(Vec::as_slice));
            file.bytes = lines.concat();
        }
        Edit::Replace(f, new) => {
            if let Some(k) = key(tree, f) {
                tree.insert(k, new.clone());
            }
        }
        Edit::Mode(f) => {
            if let Some(file) = key(tree, f).and_then(|k| tree.get_mut(&k)) {
                file.mode = match file.mode {
                    Mode::Regular => Mode::Executable,
                    Mode::Executable => Mode::Regular,
                };
            }
        }
        Edit::Delete(f) => {
            if let Some(k) = key(tree, f) {
                tree.remove(&k);
            }
        }
        Edit::Move(f, n) => {
            if let Some(file) = key(tree, f).and_then(|k| tree.remove(&k)) {
                tree.insert(path(NAMES[*n]), file);
            }
        }
        Edit::Copy(f, n) => {
            if let Some(file) = key(tree, f).and_then(|k| tree.get(&k).cloned()) {
                tree.insert(path(NAMES[*n]), file);
            }
        }
        Edit::Swap(a, b) => {
            let (Some(a), Some(b)) = (key(tree, a), key(tree, b)) else { return };
            let (x, y) = (tree[&a].clone(), tree[&b].clone());
            tree.insert(a, y);
            tree.insert(b, x);
        }
        Edit::Add(n, file) => {
            tree.entry(path(NAMES[*n])).or_insert_with(|| file.clone());
        }
    }
}

fn options() -> impl Strategy<Value = Vec<&'static str>> {
    let one = |choices: &'static [&'static str]| prop::sample::select(choices);
    (
        one(&["-U0", "-U1", "-U3", "-U10"]),
        one(&["-M", "-M10%", "-C", "--no-renames", "-B", "-M -C --find-copies-harder"]),
        one(&["--histogram", "--minimal", "--patience", "--inter-hunk-context=2"]),
        // With renames git itself cannot read a prefix of two directories.
        one(&["--no-prefix", "", "", "--src-prefix=x/y/ --dst-prefix=z/w/ --no-renames"]),
        one(&["", "--full-index", "--function-context"]),
    )
        .prop_map(|(a, b, c, d, e)| {
            // To look harder for copies is to look for them, whatever else is said.
            let b = if d.contains("--no-renames") { "" } else { b };
            [a, b, c, d, e].iter().flat_map(|words| words.split_whitespace()).collect()
        })
}

fn strip(options: &[&str]) -> usize {
    if options.contains(&"--no-prefix") {
        0
    } else if options.iter().any(|o| o.starts_with("--src")) {
        2
    } else {
        1
    }
}

/// Makes the index and the work tree hold exactly `tree`; returns its id.
fn put(repo: &Repo, tree: &Tree) -> String {
    for (name, _) in repo.snapshot() {
        repo.remove(&name);
    }
    for entry in std::fs::read_dir(repo.root()).expect("the root").flatten() {
        if entry.file_name() != ".git" {
            std::fs::remove_dir_all(entry.path()).expect("an empty directory goes");
        }
    }
    for (path, file) in tree {
        let name = path.to_str().expect("UTF-8 names");
        repo.write(name, &file.bytes);
        repo.chmod(name, if file.mode == Mode::Executable { 0o755 } else { 0o644 });
    }
    repo.git(&["add", "--all"]);
    repo.git(&["write-tree"])
}

fn work_tree(repo: &Repo) -> Tree {
    let files = repo.snapshot().into_iter().map(|(name, bytes)| {
        let mode = if repo.mode(&name) & 0o100 != 0 { Mode::Executable } else { Mode::Regular };
        (path(&name), File { bytes, mode })
    });
    files.collect()
}

fn git(repo: &Repo, args: &[&str]) -> Cmd {
    repo.program("git").args(args)
}

/// No path is a directory of another's, which no work tree can hold.
fn sound(tree: &Tree) -> bool {
    tree.keys().all(|path| path.parents().all(|parent| !tree.contains_key(&parent)))
}

/// True where `theirs` is `ours` but for newlines that git left out: a patch whose last line has none,
/// in a file that goes on there.
fn joined(ours: &Tree, theirs: &Tree) -> bool {
    let newlines = |file: &File| file.bytes.iter().filter(|b| **b == b'\n').count();
    let text = |file: &File| {
        let is_text = |b: &&u8| !matches!(**b, b'\r' | b'\n');
        file.bytes.iter().filter(is_text).copied().collect::<Vec<u8>>()
    };
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|((path, one), (other_path, other))| {
            let fewer = newlines(other) < newlines(one) && text(one) == text(other);
            path == other_path && (one == other || (one.mode == other.mode && fewer))
        })
}

/// True where each hunk fits byte for byte, one of them at the end of a file that has no newline there:
/// git may go to a nearer line that has one.
fn ends(compiled: &patch::CompiledPatch, diff: &[u8]) -> bool {
    let is_exact = compiled.files.iter().flat_map(|f| &f.hunks).all(|h| h.matched.is_none());
    let text = String::from_utf8_lossy(diff);
    let is_old = |line: Option<&str>| line.is_some_and(|line| !line.starts_with('+'));
    let mut lines = text.lines();
    let mut before = None;
    let ends = lines.any(|line| {
        let is_end = line.starts_with("\\ ") && is_old(before);
        before = Some(line);
        is_end
    });
    is_exact && ends
}

/// What a hunk without context is refused with, that is to go where an earlier one has been.
const BLIND: &str = "an earlier hunk has changed those around them";

fn cases() -> u32 {
    std::env::var("AYE_DIFFERENTIAL_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(24)
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: cases(),
        max_shrink_iters: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_patch_of_git_diff_applies_as_with_git(
        before in tree(),
        edits in prop::collection::vec(edit(), 1..6),
        options in options(),
    ) {
        let mut wanted = before.clone();
        edits.iter().for_each(|edit| apply_edit(&mut wanted, edit));
        prop_assume!(wanted != before && sound(&wanted) && sound(&before));
        let repo = Repo::new();
        let new = put(&repo, &wanted);
        let old = put(&repo, &before);
        let mut args = vec!["diff", "--binary"];
        args.extend(&options);
        args.extend([old.as_str(), new.as_str()]);
        let diff = git(&repo, &args).run().ok().stdout;
        let zero = options.contains(&"-U0");
        let read = patch::Options {
            strip: Some(strip(&options)),
            unidiff_zero: zero,
            ..patch::Options::default()
        };
        // Forward.
        let shown = String::from_utf8_lossy(&diff);
        let compiled = read_as(&diff, &before, &read)
            .map_err(|e| TestCaseError::fail(format!("{e} {e:?}\n{shown}")))?;
        prop_assert_eq!(&after(&before, &compiled), &wanted, "{}", shown);
        prop_assert!(compiled.files.iter().flat_map(|f| &f.hunks).all(|h| h.offset == 0 || zero));
        // Backward.
        let back = patch::Options { reverse: true, ..read.clone() };
        match read_as(&diff, &wanted, &back) {
            Ok(reversed) => prop_assert_eq!(&after(&wanted, &reversed), &before, "{}", shown),
            Err(error) => {
                let is_copy = error.is(&codes::PATCH_UNSUPPORTED) && shown.contains("\ncopy from ");
                prop_assert!(is_copy, "backwards: {error} {error:?}\n{shown}");
            }
        }
        // Repeated.
        if let Ok(again) = read_as(&diff, &wanted, &read)
            && !zero
            && !again.already_applied
        {
            prop_assert!(again.changeset.changes() != compiled.changeset.changes());
        }
        // What aye prints, git applies, and aye reads again.
        let printed = emit::git_patch(&compiled.changeset, gix::hash::Kind::Sha1);
        let printed_text = String::from_utf8_lossy(&printed).into_owned();
        let run = git(&repo, &["apply", "--index", "-"]).stdin(&printed).run();
        prop_assert!(run.status == 0, "{}\n{}", run, printed_text);
        prop_assert_eq!(work_tree(&repo), wanted.clone(), "{}", printed_text);
        // git cannot take a copy back.
        if !printed_text.contains("\ncopy from ") {
            let run = git(&repo, &["apply", "--index", "-R", "-"]).stdin(&printed).run();
            prop_assert!(run.status == 0, "{}\n{}", run, printed_text);
            // git 2.47 forgets the mode of a deleted file when it takes the deletion back.
            let (mut back, mut want) = (work_tree(&repo), before.clone());
            for tree in [&mut back, &mut want] {
                let gone = tree.iter_mut().filter(|(path, _)| !wanted.contains_key(path));
                gone.for_each(|(_, file)| file.mode = Mode::Regular);
            }
            prop_assert_eq!(back, want, "{}", printed_text);
        }
        let again = read_as(&printed, &before, &patch::Options::default())
            .map_err(|e| TestCaseError::fail(format!("own: {e} {e:?}\n{printed_text}")))?;
        prop_assert_eq!(again.changeset.changes().len(), compiled.changeset.changes().len());
        prop_assert_eq!(&after(&before, &again), &wanted, "{}", printed_text);
    }

    /// The files have changed since the patch was made: where git finds a place, aye finds the
    /// same; where git finds none, aye finds one only by what git does not know.
    #[test]
    fn a_patch_on_changed_files_goes_where_git_puts_it(
        before in tree(),
        edits in prop::collection::vec(edit(), 1..4),
        drift in prop::collection::vec(edit(), 1..4),
        options in options(),
    ) {
        let (mut wanted, mut present) = (before.clone(), before.clone());
        edits.iter().for_each(|edit| apply_edit(&mut wanted, edit));
        drift.iter().for_each(|edit| apply_edit(&mut present, edit));
        prop_assume!(wanted != before && sound(&wanted) && sound(&before) && sound(&present));
        let repo = Repo::new();
        let new = put(&repo, &wanted);
        let old = put(&repo, &before);
        let mut args = vec!["diff", "--binary"];
        args.extend(&options);
        args.extend([old.as_str(), new.as_str()]);
        let diff = git(&repo, &args).run().ok().stdout;
        put(&repo, &present);
        let strip = strip(&options);
        let zero = options.contains(&"-U0");
        let level = format!("-p{strip}");
        let mut args = vec!["apply", &level];
        if zero {
            args.push("--unidiff-zero");
        }
        args.push("-");
        let run = git(&repo, &args).stdin(&diff).run();
        let theirs = work_tree(&repo);
        let read = patch::Options {
            strip: Some(strip),
            unidiff_zero: zero,
            ..patch::Options::default()
        };
        let shown = String::from_utf8_lossy(&diff).into_owned();
        match read_as(&diff, &present, &read) {
            Ok(compiled) if run.status == 0 => {
                if !compiled.already_applied {
                    let ours = after(&present, &compiled);
                    let same = ours == theirs || joined(&ours, &theirs) || ends(&compiled, &diff);
                    prop_assert!(same, "{ours:?}\n{theirs:?}\n{shown}");
                }
            }
            Ok(compiled) => {
                let lenient = compiled.files.iter().flat_map(|f| &f.hunks).any(|h| h.matched.is_some());
                prop_assert!(compiled.already_applied || lenient, "{}\n{}", run, shown);
            }
            Err(error) => {
                // Nothing to do is no error for git, and into what a hunk has just written it goes
                // by the line number alone.
                let nothing = error.is(&aye::changeset::codes::NO_CHANGE)
                    || error.message().contains(BLIND);
                prop_assert!(run.status != 0 || nothing, "{error} {error:?}\n{shown}");
            }
        }
    }
}

/// What git makes of the patch `hunks` on a file with `present`, if it takes it; and what aye does.
fn both(present: &str, hunks: &str) -> (Option<String>, Result<String, String>) {
    let patch = format!("--- a/f\n+++ b/f\n{hunks}");
    let repo = Repo::new();
    repo.write("f", present);
    let run = git(&repo, &["apply", "--unidiff-zero"]).stdin(&patch).run();
    let theirs = (run.status == 0).then(|| repo.text("f"));
    let files = of(present);
    let read = patch::Options { unidiff_zero: true, ..patch::Options::default() };
    let ours = read_as(patch.as_bytes(), &files, &read).map(|compiled| {
        let file = after(&files, &compiled).remove(&path("f")).expect("the file");
        String::from_utf8(file.bytes).expect("UTF-8")
    });
    (theirs, ours.map_err(|error| error.message().to_owned()))
}

/// Where the last line of a patch has no newline, and where a hunk goes that has no context: what aye makes of it, and git.
#[test]
fn lines_without_a_newline_are_found_where_they_are() {
    let end = "\\ No newline at end of file\n";
    for (present, hunks, ours, gits) in [
        // Nor has that of the file: git goes by the line number, which may lead to the same line with a newline.
        ("\nc\nc", format!("@@ -3 +2,0 @@\n-c\n{end}"), "\nc\n", "\nc"),
        (
            "a\nc\nb\nc\nb",
            format!("@@ -2,2 +2 @@\n-c\n-b\n{end}+d\n"),
            "a\nc\nb\nd\n",
            "a\nd\nc\nb",
        ),
        // Git runs two lines together.
        ("x\nc\ny\n", format!("@@ -2 +2 @@\n-c\n{end}+d\n{end}"), "x\nd\ny\n", "x\ndy\n"),
        ("x", "@@ -1,0 +2 @@\n+y\n".into(), "x\ny\n", "xy\n"),
        // A hunk that went below moves nothing above it.
        (
            "a\nb\nc\nd\nx\nx\ne\n",
            "@@ -1,2 +0,0 @@\n-x\n-x\n@@ -4,0 +3 @@\n+n\n".into(),
            "a\nb\nn\nc\nd\ne\n",
            "=",
        ),
    ] {
        let (theirs, found) = both(present, &hunks);
        assert_eq!(found.as_deref(), Ok(ours), "{present:?} {hunks}");
        let gits = if gits == "=" { ours } else { gits };
        assert_eq!(theirs.as_deref(), Some(gits), "{present:?} {hunks}");
    }
}

#[test]
fn lines_without_context_do_not_go_into_what_another_hunk_has_written() {
    let present = "d\r\ne\r\nf\nc\n\r\n\r\r\ne\r\nc\r\nf\nf\n";
    let hunks = "@@ -1,2 +0,0 @@\n-d\r\n-e\r\n@@ -5,2 +3,2 @@\n-e\r\n-c\r\n+e\n+\r\n\
                 @@ -7,0 +6,2 @@\n+c\n+c\n";
    let (theirs, ours) = both(present, hunks);
    assert!(theirs.is_some());
    let refusal = ours.expect_err("refused");
    assert!(refusal.contains(BLIND), "{refusal}");
}
