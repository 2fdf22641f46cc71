//! The read-only shell against its corpora: a hostile command is refused, or nothing is changed, left behind, reached or
//! printed, with the front end and without it; an everyday command says what `sh` says.

use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use crate::support::{Repo, has_sandbox};
use aye::shell::programs::Search;
use aye::shell::run::run_unchecked;
use aye::shell::{Machine, Request, RunOutcome, plan, run, sandbox};

const HOSTILE: &str = include_str!("../data/shell/hostile.txt");
const BENIGN: &str = include_str!("../data/shell/benign.txt");
/// Stands for MARK in the hostile corpus.
const MARK: &str = "/tmp/aye-hostile-mark";
/// In every secret of the fixture.
const SECRET: &str = "hunter2corpus";

/// A repository with something of everything, secrets included: none is committed.
pub fn fixture() -> Repo {
    let repo = Repo::with(&[
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
    repo.write(".env", format!("SECRET={SECRET}\n"));
    repo.write("key.pem", format!("-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n"));
    repo.write("id_rsa", format!("{SECRET}\n"));
    repo.script("evil.sh", "rm -f victim.txt; echo x > pwned.txt");
    for (name, text) in
        [("evil.py", "open('pwned.txt','w')"), ("evil.awk", "BEGIN{print > \"pwned.txt\"}")]
    {
        repo.write(name, text);
    }
    repo.symlink("README.md", "link.txt");
    let home = repo.outer().join("home");
    for (path, text) in [
        (".ssh/id_ed25519", SECRET),
        (".ssh/config", SECRET),
        (".aws/credentials", SECRET),
        (".netrc", SECRET),
        ("notes.txt", SECRET),
        ("victim", "x"),
    ] {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().expect("the fixture")).expect("the fixture");
        std::fs::write(path, text).expect("the fixture");
    }
    std::fs::create_dir(repo.path("links")).expect("the fixture");
    symlink(home.join(".ssh"), repo.path("links/ssh")).expect("the fixture");
    std::fs::write(repo.outer().join("outside.txt"), SECRET).expect("the fixture");
    assert!(Command::new("mkfifo").arg(repo.path("fifo")).status().expect("the fixture").success());
    // Racy index entries would be looked at again, and the comparison with git be uneven.
    repo.git(&["status"]);
    repo
}

pub fn world(repo: &Repo, shell: &str) -> Machine {
    Machine {
        root: repo.root().to_owned(),
        cwd: repo.root().to_owned(),
        home: Some(repo.outer().join("home")),
        environment: Vec::new(),
        denied: Default::default(),
        allowed: Vec::new(),
        layers: sandbox::offered(),
        search: Search::default(),
        shell: PathBuf::from(shell),
    }
}

/// Runs the test `name` in processes of their own, which have to succeed: with dash and with bash as the system's shell, as
/// this user and, where that is root, as an ordinary one. In such a process, the shell.
fn each_case(name: &str) -> Option<String> {
    const CASE: &str = "AYE_TEST_CASE";
    if !has_sandbox() {
        return None;
    }
    if let Ok(case) = std::env::var(CASE) {
        let (shell, user) = case.split_once(' ').expect("a shell and a user");
        become_user(user.parse().expect("a number"));
        return Some(shell.to_owned());
    }
    let own = rustix::process::geteuid().as_raw();
    let users: &[u32] = if own == 0 { &[0, 65534] } else { &[own] };
    let this = std::env::current_exe().expect("this program");
    for shell in ["/bin/dash", "/bin/bash"].into_iter().filter(|shell| Path::new(shell).exists()) {
        for user in users {
            let case = format!("{shell} {user}");
            let run = Command::new(&this)
                .args(["--exact", name, "--nocapture"])
                .env(CASE, &case)
                .output();
            let run = run.expect("this program");
            let said = String::from_utf8_lossy(&run.stdout);
            let errors = String::from_utf8_lossy(&run.stderr);
            assert!(run.status.success() && said.contains("1 passed"), "{case}: {said}{errors}");
            std::io::Write::write_all(
                &mut std::io::stderr(),
                format!("{case}: {errors}").as_bytes(),
            )
            .expect("write");
        }
    }
    None
}

#[allow(unsafe_code)]
fn become_user(user: u32) {
    if user != rustix::process::geteuid().as_raw() {
        // SAFETY: system calls on numbers; glibc has every thread make them.
        let failed = unsafe {
            libc::setgroups(0, std::ptr::null()) | libc::setgid(user) | libc::setuid(user)
        };
        assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
    }
}

/// Everything below `directory`: kind, mode, owner, times and content.
fn snapshot(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in walkdir::WalkDir::new(directory) {
        let entry = entry.expect("the fixture");
        let meta = entry.path().symlink_metadata().expect("the fixture");
        let link = std::fs::read_link(entry.path()).ok();
        let bytes = meta.is_file().then(|| std::fs::read(entry.path()).expect("the fixture"));
        let content = format!("{link:?} {bytes:?}");
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

/// Processes that run in `directory`.
fn left_in(directory: &Path) -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path());
    let is_there = |process: &PathBuf| {
        std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(directory))
    };
    processes.filter(is_there).collect()
}

/// The commands of a corpus; `«…»` holds characters that a line of text cannot.
fn commands(corpus: &str) -> Vec<String> {
    corpus
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# ") && !line.starts_with("##"))
        .map(|line| {
            let mut text = String::new();
            for (index, part) in line.split(['«', '»']).enumerate() {
                match part.strip_prefix("\\u{").filter(|_| index % 2 == 1) {
                    Some(digits) => {
                        let code = u32::from_str_radix(digits.trim_end_matches('}'), 16);
                        text.push(char::from_u32(code.expect(line)).expect(line));
                    }
                    None if index % 2 == 1 => {
                        let escapes = [("\\n", "\n"), ("\\r", "\r"), ("\\0", "\0"), ("\\t", "\t")];
                        text += &escapes
                            .iter()
                            .fold(part.to_owned(), |part, (is, to)| part.replace(is, to));
                    }
                    None => text += part,
                }
            }
            text.replace("MARK", MARK)
        })
        .collect()
}

/// Runs what `outcome` makes of the commands, several beside each other, since many wait until their time is over; nothing may
/// be changed, left behind or printed. How many ran, and how many the kernel stopped.
fn nothing_happens(
    repo: &Repo,
    commands: &[String],
    outcome: impl Fn(&str) -> Option<RunOutcome> + Sync,
) -> (usize, usize) {
    let before = snapshot(repo.outer());
    let (ran, stopped) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let one = |command: &String| {
        let Some(outcome) = outcome(command) else { return };
        let text = String::from_utf8_lossy(&outcome.output);
        assert!(!text.contains(SECRET), "{command:?}: {text}");
        assert_eq!(outcome.sandbox, "landlock+seccomp");
        ran.fetch_add(1, Relaxed);
        stopped.fetch_add(usize::from(!outcome.notes.is_empty()), Relaxed);
    };
    for some in commands.chunks(64) {
        std::thread::scope(|scope| {
            for few in some.chunks(8) {
                let one = &one;
                scope.spawn(move || few.iter().for_each(one));
            }
        });
        assert_eq!(left_in(repo.outer()), [] as [PathBuf; 0], "left up to {:?}", some.last());
        assert_unchanged(&before, repo.outer(), &format!("something up to {:?}", some.last()));
    }
    (ran.into_inner(), stopped.into_inner())
}

/// The heart: no rule about texts is needed for safety.
#[test]
fn hostile_commands_do_nothing_with_and_without_the_front_end() {
    let name = "shell_corpus::hostile_commands_do_nothing_with_and_without_the_front_end";
    let Some(shell) = each_case(name) else { return };
    let repo = fixture();
    let world = world(&repo, &shell);
    let request = Request { timeout: Duration::from_millis(700), ..Request::default() };
    let hostile = commands(HOSTILE);
    assert!(hostile.len() > 700, "{}", hostile.len());
    let (ran, stopped) = nothing_happens(&repo, &hostile, |command| match plan(command, &world) {
        Ok(plan) => Some(run(&plan, &request, &world).expect("it starts")),
        Err(refusal) => {
            assert!(!refusal.message.is_empty() && !refusal.hint.is_empty(), "{command:?}");
            assert!(refusal.position <= command.len(), "{command:?}");
            None
        }
    });
    eprintln!(
        "with the front end: {} refused, {ran} ran, {stopped} of them stopped",
        hostile.len() - ran
    );
    let (ran, stopped) = nothing_happens(&repo, &hostile, |command| {
        (!command.contains('\0')).then(|| unchecked(command, &request, &world))
    });
    eprintln!("without it: {ran} ran, {stopped} of them stopped");
    // The commands did try, and without the sandbox they would have found something.
    let aims = format!("grep -rs {SECRET} .env key.pem id_rsa $HOME ../outside.txt");
    let found = sh(&aims, &world).0;
    assert_eq!(found.matches(SECRET).count(), 9, "{found}");
    assert!(stopped > 150, "only {stopped} commands were stopped by the kernel");
}

/// Runs a text without the front end, where any program of the system may start.
fn unchecked(text: &str, request: &Request, world: &Machine) -> RunOutcome {
    let programs = ["/usr", "/bin", "/sbin"].map(PathBuf::from).to_vec();
    run_unchecked(text, programs, request, world).expect("it starts")
}

/// A text that the front end misread names no program that would start: with an empty list none does, whatever the text.
#[test]
fn a_misread_text_starts_nothing() {
    let Some(shell) = each_case("shell_corpus::a_misread_text_starts_nothing") else { return };
    let repo = fixture();
    let world = world(&repo, &shell);
    for command in [
        "ls",
        "/bin/ls",
        "exec ls",
        "cat README.md",
        "echo x | cat",
        "$(ls)",
        "`ls`",
        "./evil.sh",
        "git status",
        "/lib64/ld-linux-x86-64.so.2 /bin/ls",
        "/lib/ld-linux-aarch64.so.1 /bin/ls",
        "find . -exec ls {} +",
        "python3 -c 'print(1)'",
        "awk 'BEGIN{print 1}'",
        ". ./evil.sh",
        "env ls",
        "command ls",
    ] {
        let outcome = run_unchecked(command, Vec::new(), &Request::default(), &world).expect("sh");
        let text = String::from_utf8_lossy(&outcome.output);
        assert_ne!(outcome.exit_code, 0, "{command}: {text}");
        assert!(!text.contains("README.md\n") && !text.contains("main.rs"), "{command}: {text}");
    }
}

/// What listens, and what belongs to other processes.
#[test]
fn nobody_is_reached_and_nobody_is_left() {
    let Some(shell) = each_case("shell_corpus::nobody_is_reached_and_nobody_is_left") else {
        return;
    };
    let repo = fixture();
    let world = world(&repo, &shell);
    let request = Request { timeout: Duration::from_secs(2), ..Request::default() };
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let local = UnixListener::bind(repo.path("docs/socket")).expect("a socket");
    for nonblocking in
        [tcp.set_nonblocking(true), udp.set_nonblocking(true), local.set_nonblocking(true)]
    {
        nonblocking.expect("the fixture");
    }
    let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    let own = std::process::id();
    let mut sleeper = Command::new("sleep").arg("60").env("TOKEN", SECRET).spawn().expect("sleep");
    let other = sleeper.id();
    for script in [
        format!("echo x > /dev/tcp/127.0.0.1/{tcp_port}"),
        format!("echo x > /dev/udp/127.0.0.1/{udp_port}"),
        format!("exec 3<>/dev/tcp/127.0.0.1/{tcp_port}"),
        format!("perl -MSocket -e 'socket(S,PF_INET,SOCK_DGRAM,0)||die $!;send(S,1,0,pack_sockaddr_in({udp_port},INADDR_LOOPBACK))||die $!'"),
        "perl -MSocket -e 'socket(S,PF_UNIX,SOCK_STREAM,0)||die $!;connect(S,pack_sockaddr_un(\"docs/socket\"))||die $!'".to_owned(),
        format!("kill -0 {own}"),
        format!("kill -KILL {other}"),
        format!("cat /proc/{other}/environ"),
        format!("cat /proc/{other}/cmdline"),
        format!("cat /proc/{own}/environ /proc/{own}/mem /proc/{own}/fd/0"),
        "cat /proc/self/environ".to_owned(),
        "cat /dev/zero | head -c 1; cat /dev/tty".to_owned(),
        "cat < fifo".to_owned(),
        "ln README.md docs/more".to_owned(),
        "perl -e 'utime(1,1,\"README.md\") || die $!'".to_owned(),
    ] {
        let outcome = unchecked(&script, &request, &world);
        let text = String::from_utf8_lossy(&outcome.output);
        assert_ne!(outcome.exit_code, 0, "{script}: {text}");
        assert!(!text.contains(SECRET) && !outcome.timed_out, "{script}: {text}");
    }
    assert!(tcp.accept().is_err() && local.accept().is_err(), "something was reached");
    assert!(udp.recv(&mut [0; 8]).is_err(), "something was reached");
    assert!(sleeper.try_wait().expect("a child").is_none(), "something was killed");
    let _ = sleeper.kill();
    let _ = sleeper.wait();
    // Neither a group of its own nor a parent that ends keeps a program alive.
    for script in [
        "set -m; sleep 61 & sleep 61 & exit",
        "(sleep 61 &) ; (setsid sleep 61 &)",
        "sleep 61 & sleep 0.1",
    ] {
        unchecked(script, &request, &world);
        assert_eq!(left_in(repo.outer()), [] as [PathBuf; 0], "{script}");
    }
}

/// A program is bounded from its first instruction on, and cannot loosen its bounds.
#[test]
fn programs_are_bounded_before_they_begin() {
    let Some(shell) = each_case("shell_corpus::programs_are_bounded_before_they_begin") else {
        return;
    };
    let repo = fixture();
    let world = world(&repo, &shell);
    let request = Request { timeout: Duration::from_secs(7), ..Request::default() };
    let run = |script: &str| {
        let outcome = unchecked(script, &request, &world);
        String::from_utf8_lossy(&outcome.output).into_owned()
    };
    assert_eq!(run("ulimit -f; ulimit -c; ulimit -t; ulimit -d"), "0\n0\n8\n4194304\n");
    assert_eq!(run("sh -c 'ulimit -f; ulimit -t'"), "0\n8\n");
    let loosened = run("ulimit -t 100; ulimit -f 100; ulimit -H -t unlimited; ulimit -t");
    assert!(!loosened.contains("100") && !loosened.contains("unlimited\n"), "{loosened}");
    assert!(run("echo y >&3").contains("escriptor"));
}

#[test]
fn everyday_commands_say_what_sh_says_and_change_nothing() {
    let Some(shell) =
        each_case("shell_corpus::everyday_commands_say_what_sh_says_and_change_nothing")
    else {
        return;
    };
    let repo = fixture();
    let world = world(&repo, &shell);
    let request = Request { timeout: Duration::from_secs(60), ..Request::default() };
    let commands = commands(BENIGN);
    assert!(commands.len() > 180, "{}", commands.len());
    let before = snapshot(repo.outer());
    let mut answers = Vec::new();
    for command in &commands {
        let plan = plan(command, &world)
            .unwrap_or_else(|refusal| panic!("{command:?} is refused: {refusal:?}"));
        answers.push(run(&plan, &request, &world).expect("it starts"));
    }
    assert_unchanged(&before, repo.outer(), "the everyday corpus");
    let mut differ = Vec::new();
    for (command, answer) in commands.iter().zip(answers) {
        let ours = String::from_utf8_lossy(&answer.output).into_owned();
        let (theirs, status) = sh(command, &world);
        if ours != theirs || answer.exit_code != status {
            differ.push(format!(
                "{command}\n--- aye {}\n{ours}--- sh {status}\n{theirs}",
                answer.exit_code
            ));
        }
    }
    eprintln!("{} everyday commands, {} differ", commands.len(), differ.len());
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

/// What the shell says outside of the sandbox, both streams in order, and its status.
fn sh(command: &str, world: &Machine) -> (String, i32) {
    use std::os::unix::process::CommandExt as _;
    let output = Command::new(&world.shell)
        .arg0("sh")
        .arg("-c")
        .arg(format!("exec 2>&1\n{command}"))
        .current_dir(&world.cwd)
        .env_clear()
        .env("HOME", world.home.as_ref().expect("the fixture"))
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("PWD", &world.cwd)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ADVICE", "0")
        .env("GIT_PAGER", "cat")
        .stdin(Stdio::null())
        .output()
        .expect("the fixture");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (text, output.status.code().unwrap_or(-1))
}
