//! The read-only shell against its corpora: everything hostile is refused, and would change
//! nothing even if it were not; everything everyday is accepted and says what `sh` says.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::fuzz_targets::bodies::brush;
use crate::support::{Repo, has_sandbox, is_alone, until};
use aye::shell::access::Access;
use aye::shell::denied::DEFAULT;
use aye::shell::{Request, World, plan, run, sandbox};

const HOSTILE: &str = include_str!("../data/shell/hostile.txt");
const BENIGN: &str = include_str!("../data/shell/benign.txt");
/// Stands for MARK in the hostile corpus.
const MARK: &str = "/tmp/aye-hostile-mark";

/// A repository with something of everything, secrets included.
fn fixture() -> Repo {
    let repo = Repo::with_readable_surroundings(&[
        ("README.md", "# Title\n\nsome text about one thing\nand two\n"),
        ("src/main.rs", "fn main() {\n\t// TODO: more\n\tprintln!(\"hi\");\n}\n"),
        ("src/lib.rs", "// TODO: less\npub fn one() {}\n"),
        ("docs/a.md", "a\n"),
        ("docs/deep/b.txt", "b\n"),
        ("words.txt", "one\ntwo\ntwo\nthree\nONE\n"),
        ("numbers.txt", "1\n2\n3\n10\n20\n"),
        ("table.csv", "name,n,c\nb,2,x\na,10,y\n"),
        ("data.json", "{\"name\": \"x\", \"items\": [{\"n\": 1}, {\"n\": 2}]}\n"),
        ("victim.txt", "do not touch\n"),
        ("with space.txt", "spaced\n"),
        ("-dash.md", "dashed\n"),
        (".gitignore", "*.log\nfifo\n"),
        (".gitattributes", "*.md text\n"),
        (".env.example", "KEY=\n"),
    ]);
    repo.write("README.md", "# Title\n\nsome other text about one thing\nand two\n");
    repo.commit("Reword");
    repo.git(&["tag", "v1"]);
    repo.git(&["remote", "add", "origin", "https://example.invalid/x.git"]);
    repo.write("staged.txt", "staged\n");
    repo.git(&["add", "staged.txt"]);
    repo.write("src/lib.rs", "// TODO: less\npub fn two() {}\n");
    repo.write("untracked.txt", "new\n");
    repo.write("ignored.log", "log\n");
    repo.write(".env", "SECRET=hunter2corpus\n");
    repo.write("key.pem", "-----BEGIN RSA PRIVATE KEY-----\nhunter2corpus\n");
    repo.write("id_rsa", "hunter2corpus\n");
    repo.write("evil.sh", "#!/bin/sh\nrm -f victim.txt; echo x > pwned.txt\n");
    repo.chmod("evil.sh", 0o755);
    for (name, text) in
        [("evil.py", "open('pwned.txt','w')"), ("evil.awk", "BEGIN{print > \"pwned.txt\"}")]
    {
        repo.write(name, text);
    }
    repo.symlink("README.md", "link.txt");
    let home = repo.outer().join("home");
    for (path, text) in [
        (".ssh/id_ed25519", "hunter2corpus"),
        (".ssh/config", "x"),
        (".aws/credentials", "hunter2corpus"),
        (".netrc", "hunter2corpus"),
        ("victim", "x"),
    ] {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().expect("the fixture")).expect("the fixture");
        std::fs::write(path, text).expect("the fixture");
    }
    std::fs::create_dir(repo.path("links")).expect("the fixture");
    symlink(home.join(".ssh"), repo.path("links/ssh")).expect("the fixture");
    std::fs::write(repo.outer().join("outside.txt"), "outside\n").expect("the fixture");
    assert!(Command::new("mkfifo").arg(repo.path("fifo")).status().expect("the fixture").success());
    // Racy index entries would be looked at again, and the comparison with git be uneven.
    repo.git(&["status"]);
    repo
}

fn world(repo: &Repo) -> World {
    let home = repo.outer().join("home");
    World {
        root: repo.root().to_owned(),
        cwd: repo.root().to_owned(),
        access: Access::new(DEFAULT, Some(&home), repo.root(), &|_| None),
        home: Some(home),
        environment: Vec::new(),
        kernel: sandbox::offered(),
        search: aye::shell::programs::Search::default(),
        asks: true,
    }
}

/// Everything below `directory`: kind, mode, owner, times and content.
fn snapshot(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in walkdir::WalkDir::new(directory) {
        let entry = entry.expect("the fixture");
        let meta = entry.path().symlink_metadata().expect("the fixture");
        let content = if meta.is_file() {
            format!("{:?}", std::fs::read(entry.path()).expect("the fixture"))
        } else if meta.file_type().is_symlink() {
            format!("{:?}", std::fs::read_link(entry.path()).expect("the fixture"))
        } else {
            String::new()
        };
        let (mode, owner) = (meta.permissions().mode(), meta.uid());
        let times = (meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec());
        found.insert(entry.path().to_owned(), format!("{mode:o} {owner} {times:?} {content}"));
    }
    found
}

fn assert_unchanged(before: &BTreeMap<PathBuf, String>, directory: &Path, after_what: &str) {
    let after = snapshot(directory);
    for (path, state) in before {
        assert_eq!(after.get(path), Some(state), "{after_what} changed {}", path.display());
    }
    for path in after.keys() {
        assert!(before.contains_key(path), "{after_what} made {}", path.display());
    }
    assert!(!Path::new(MARK).exists(), "{after_what} made {MARK}");
}

/// The commands of a corpus; `«…»` holds characters that a line of text cannot.
fn commands(corpus: &str) -> Vec<String> {
    corpus
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# ") && !line.starts_with("##"))
        .map(|line| {
            let mut text = String::new();
            for (index, part) in line.split(['«', '»']).enumerate() {
                if index % 2 == 0 {
                    text += part;
                    continue;
                }
                text += &match part {
                    "\\n" => "\n".to_owned(),
                    "\\r" => "\r".to_owned(),
                    "\\r\\n" => "\r\n".to_owned(),
                    "\\0" => "\0".to_owned(),
                    "\\t" => "\t".to_owned(),
                    ";" => ";".to_owned(),
                    other => {
                        let digits = other.trim_start_matches("\\u{").trim_end_matches('}');
                        let code = u32::from_str_radix(digits, 16).expect(line);
                        char::from_u32(code).expect(line).to_string()
                    }
                };
            }
            text.replace("MARK", MARK)
        })
        .collect()
}

#[test]
fn every_hostile_command_is_refused_with_a_reason_and_a_hint() {
    let repo = fixture();
    let world = world(&repo);
    let commands = commands(HOSTILE);
    assert!(commands.len() > 700, "{}", commands.len());
    let mut accepted = Vec::new();
    for command in &commands {
        match plan(command, &world) {
            Ok(_) => accepted.push(command),
            Err(refusal) => {
                assert!(!refusal.message().is_empty(), "{command:?}");
                assert!(!refusal.hint().is_empty(), "{command:?}");
                assert!(!refusal.rule().is_empty(), "{command:?}");
                if let Some(at) = refusal.position() {
                    assert!(at <= command.len(), "{command:?}");
                }
            }
        }
    }
    assert!(accepted.is_empty(), "accepted: {accepted:#?}");
}

#[test]
#[cfg(target_os = "linux")]
fn the_sandbox_alone_changes_nothing() {
    if !has_sandbox() || !is_alone("shell_corpus::the_sandbox_alone_changes_nothing") {
        return;
    }
    let repo = fixture();
    let world = world(&repo);
    let request = Request { timeout: Duration::from_millis(700), ..Request::default() };
    let shell = ["/bin/bash", "/bin/sh"].into_iter().find(|path| Path::new(path).exists()).unwrap();
    let before = snapshot(repo.outer());
    // Whether the kernel stopped it.
    let is_stopped = |command: &String| {
        let argv = [shell.to_owned(), "-c".into(), command.clone()];
        let outcome = run::run_unchecked(&argv, &request, &world).unwrap();
        assert_eq!(outcome.sandbox, "landlock+seccomp");
        let text = String::from_utf8_lossy(&outcome.output);
        assert!(!text.contains("hunter2corpus"), "{command:?}: {text}");
        text.contains("ermi") || text.contains("ermitted")
    };
    let mut stopped = 0;
    let all: Vec<String> =
        commands(HOSTILE).into_iter().filter(|command| !command.contains('\0')).collect();
    for some in all.chunks(40) {
        // Beside each other: many wait until their time is over.
        stopped += std::thread::scope(|scope| {
            let part = |part: &'_ [String]| part.iter().filter(|one| is_stopped(one)).count();
            let threads: Vec<_> =
                some.chunks(10).map(|ten| scope.spawn(move || part(ten))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a count")).sum::<usize>()
        });
        assert_unchanged(&before, repo.outer(), &format!("something up to {:?}", some.last()));
    }
    // The commands did try, and without the sandbox they would have found something.
    let aims = "grep -rs hunter2corpus .env key.pem id_rsa $HOME/.ssh $HOME/.aws $HOME/.netrc";
    let mut found = Command::new(shell);
    let found = found
        .args(["-c", aims])
        .current_dir(&world.cwd)
        .env("HOME", repo.outer().join("home"))
        .output()
        .expect("the fixture");
    assert_eq!(String::from_utf8_lossy(&found.stdout).matches("hunter2corpus").count(), 6);
    assert!(stopped > 150, "only {stopped} commands were stopped by the kernel");
}

/// What left its process group, and what belongs to other processes.
#[test]
#[cfg(target_os = "linux")]
fn the_sandbox_reaches_nobody_and_leaves_nobody_behind() {
    if !has_sandbox() {
        return;
    }
    let repo = fixture();
    let world = world(&repo);
    let request = Request { timeout: Duration::from_millis(500), ..Request::default() };
    let run = |script: &str| {
        let argv = ["/bin/sh".to_owned(), "-c".into(), script.to_owned()];
        run::run_unchecked(&argv, &request, &world).unwrap()
    };
    let own = std::process::id();
    for script in [
        format!("cat /proc/{own}/environ"),
        format!("cat /proc/{own}/mem"),
        format!("cat /proc/{own}/fd/0"),
        format!("kill -0 {own}"),
        "cat $HOME/.ssh/id_ed25519".to_owned(),
        "cat links/ssh/id_ed25519".to_owned(),
        "cat /dev/zero | head -c 1; cat /dev/tty".to_owned(),
    ] {
        let outcome = run(&script);
        let text = String::from_utf8_lossy(&outcome.output);
        assert_ne!(outcome.exit_code, 0, "{script}: {text}");
        assert!(!text.contains("hunter2corpus"), "{script}: {text}");
    }
    // A program in a process group of its own does not outlive the time.
    run("set -m; sleep 61.25 & sleep 61.25");
    let ended = Instant::now();
    let is_left = || {
        std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            line.starts_with(b"sleep\x0061.25")
        })
    };
    // The kernel takes a moment to end it.
    until("the program is gone", || !is_left());
    assert!(ended.elapsed() < Duration::from_secs(50), "a program ended by itself");
}

/// A program is bounded from its first instruction on, and cannot loosen its bounds.
#[test]
#[cfg(target_os = "linux")]
fn programs_are_bounded_before_they_begin() {
    let repo = fixture();
    let world = world(&repo);
    let request = Request { timeout: Duration::from_secs(7), ..Request::default() };
    let run = |script: &str| {
        let argv = ["/bin/sh".to_owned(), "-c".into(), script.to_owned()];
        let outcome = run::run_unchecked(&argv, &request, &world).unwrap();
        String::from_utf8_lossy(&outcome.output).into_owned()
    };
    assert_eq!(run("ulimit -f; ulimit -c; ulimit -t"), "0\n0\n8\n");
    assert_eq!(run("sh -c 'ulimit -f; ulimit -t'"), "0\n8\n");
    let loosened = run("ulimit -t 100; ulimit -f 100; ulimit -H -t unlimited; ulimit -t");
    assert!(loosened.ends_with("8\n"), "{loosened}");
}

#[test]
fn every_everyday_command_says_what_sh_says_and_changes_nothing() {
    if !is_alone("shell_corpus::every_everyday_command_says_what_sh_says_and_changes_nothing") {
        return;
    }
    let repo = fixture();
    let world = world(&repo);
    let request = Request { timeout: Duration::from_secs(60), ..Request::default() };
    let commands = commands(BENIGN);
    assert!(commands.len() > 180, "{}", commands.len());
    let before = snapshot(repo.outer());
    let mut answers = Vec::new();
    for command in &commands {
        let plan = plan(command, &world)
            .unwrap_or_else(|refusal| panic!("{command:?} is refused: {refusal:?}"));
        answers.push(run(&plan, &request, &world).unwrap());
    }
    assert_unchanged(&before, repo.outer(), "the everyday corpus");
    let mut differ = Vec::new();
    let mut missing = 0;
    for (command, answer) in commands.iter().zip(answers) {
        let ours = String::from_utf8_lossy(&answer.output).into_owned();
        if ours.contains("not found in /usr/local/bin") {
            missing += 1;
            continue;
        }
        let (theirs, status) = sh(command, &world);
        if ours != theirs || answer.exit_code != status {
            differ.push(format!(
                "{command}\n--- aye {}\n{ours}--- sh {status}\n{theirs}",
                answer.exit_code
            ));
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
    assert!(missing < 20, "{missing} of the programs are not installed");
}

/// What a shell says, both streams in order, and its status.
fn sh(command: &str, world: &World) -> (String, i32) {
    let output = Command::new("/bin/sh")
        .arg("-c")
        .arg(format!("exec 2>&1\n{command}"))
        .current_dir(&world.cwd)
        .env_clear()
        .env("HOME", world.home.as_ref().expect("the fixture"))
        .env("PATH", world.path())
        .env("PWD", &world.cwd)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_PAGER", "cat")
        .stdin(Stdio::null())
        .output()
        .expect("the fixture");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (text, output.status.code().unwrap_or(-1))
}

#[test]
fn every_corpus_line_means_the_same_to_another_parser() {
    for command in commands(BENIGN).iter().chain(&commands(HOSTILE)) {
        brush::agree(command);
    }
}
