//! `aye shell`: exit codes, answers, limits, and where programs come from.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::shell_corpus::world;
use crate::support::{Repo, Run, until};
use aye::shell::plan;
use aye::shell::sandbox::SandboxLayers;

pub fn repo() -> Repo {
    Repo::with(&[("a.txt", "one\ntwo\n"), ("src/b.rs", "fn b() {}\n")])
}

fn json(repo: &Repo, words: &[&str]) -> (Value, i32) {
    let run = repo.aye(&[&["--json", "shell"], words].concat());
    (run.json(), run.status)
}

#[test]
fn a_command_ends_with_its_own_status() {
    let repo = repo();
    repo.aye(&["shell", "cat a.txt"]).exits(0).says("one\ntwo\n");
    repo.aye(&["shell", "grep -q zebra a.txt"]).exits(1);
    repo.aye(&["shell", "ls missing.txt"]).exits(2).says("missing.txt");
    repo.aye(&["shell", "true && ! true"]).exits(1);
    repo.aye(&["shell", "zig version"]).exits(127);
    repo.aye(&["shell", "rg-not-here"]).exits(4);
}

#[test]
fn a_refused_command_ends_with_4_and_runs_nothing() {
    let repo = repo();
    let run = repo.aye(&["shell", "cat a.txt; rm a.txt"]).fails("COMMAND_NOT_ALLOWED", 4);
    assert_eq!(run.out(), "", "nothing before the refused part ran either");
    assert!(repo.exists("a.txt"));
    let (json, status) = json(&repo, &["cat a.txt > b.txt"]);
    let error = &json["error"];
    assert_eq!((status, &error["code"]), (4, &"COMMAND_NOT_ALLOWED".into()));
    assert_eq!(error["details"]["position"], 10);
    assert!(error["hint"].is_string() && error["message"].is_string());
    for (command, instead) in [
        ("ls | tee out", "is returned to you"),
        ("less a.txt", "head"),
        ("timeout 5 ls", "--timeout"),
        ("rm a.txt", "aye propose"),
        ("git submodule status", "git ls-files -s"),
        ("git branch new", "--list"),
        ("env LC_ALL=C sort a.txt", "`LC_ALL=C sort FILE`"),
    ] {
        let run = repo.aye(&["shell", command]).fails("COMMAND_NOT_ALLOWED", 4);
        assert!(run.err().contains(instead), "{command}: {}", run.err());
    }
}

#[test]
fn commands_are_accepted_by_the_lists() {
    let repo = repo();
    let mut world = world(&repo, "/bin/sh");
    let lines = include_str!("../data/shell/lists.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let (said, command) = line.split_once(' ').expect("a verdict");
        let found: String = [(true, 'a'), (false, 'p')]
            .map(|(landlock, letter)| {
                world.layers = SandboxLayers { landlock, seccomp: true };
                if plan(command, &world).is_ok() { letter } else { '-' }
            })
            .iter()
            .collect();
        assert_eq!(found, said, "{command}");
    }
    repo.aye(&["shell", "--programs"]).exits(0).says("numfmt tsort").says("cat-file").says("zig");
    assert!(repo.aye(&["--json", "shell", "--programs"]).exits(0).json()["git"].is_array());
}

#[test]
fn the_response_has_the_fields_of_the_contract() {
    let repo = repo();
    repo.write("bytes", b"a\xff\xfeb\n");
    repo.write(".env", "A=1\n");
    let (answer, status) = json(&repo, &["cat a.txt missing"]);
    assert_eq!((status, &answer["exit_code"], &answer["status"]), (1, &1.into(), &"ok".into()));
    assert_eq!(answer["command"], "cat a.txt missing");
    let output = answer["output"].as_str().unwrap();
    assert!(output.starts_with("one\ntwo\n") && output.contains("missing"), "{output}");
    assert!(answer["executed_at"].as_str().unwrap().ends_with('Z'));
    assert!(answer["duration_ms"].is_u64() && answer["sandbox"].is_string());
    assert_eq!((&answer["truncated"], &answer["timed_out"]), (&false.into(), &false.into()));
    let answer = json(&repo, &["cat bytes"]).0;
    assert_eq!(
        (&answer["output"], answer["notes"].as_array().unwrap().len()),
        (&"a\u{fffd}\u{fffd}b\n".into(), 1)
    );
    assert_eq!(json(&repo, &["cat a.txt"]).0.get("notes"), None);
    // The kernel stopped something.
    let (answer, status) = json(&repo, &["cat .env"]);
    assert_eq!((status, &answer["status"]), (1, &"ok".into()));
    assert!(answer["notes"][0].as_str().unwrap().contains("1 entries"), "{answer}");
}

#[test]
fn long_output_keeps_its_head_and_tail_in_whole_characters() {
    let repo = repo();
    let answer = json(&repo, &["--output-limit", "1", "seq 100000"]).0;
    let output = answer["output"].as_str().unwrap();
    assert_eq!(answer["truncated"], true);
    assert!(output.starts_with("1\n2\n") && output.ends_with("100000\n"), "{output}");
    assert!(output.contains("bytes omitted") && output.len() < 1_200);
    for extra in ["", "x", "xy"] {
        let command = format!("echo -n {extra}; seq -f 'é%g' 1 90000 | tr -d '\\n'");
        let answer = json(&repo, &[&command]).0;
        assert_eq!((&answer["truncated"], answer.get("notes")), (&true.into(), None));
        assert!(!answer["output"].as_str().unwrap().contains('\u{FFFD}'));
    }
}

#[test]
fn time_runs_out_for_the_whole_pipeline_and_not_for_one_with_a_short_reader() {
    let repo = repo();
    for command in [
        "seq 1 999999999999 | grep -v x | tail -1",
        "for n in 1 2 3; do yes | tail -1; done",
        "while true; do :; done",
    ] {
        let (answer, status) = json(&repo, &["--timeout", "0.3", command]);
        assert_eq!((status, &answer["timed_out"]), (124, &true.into()), "{command}");
        assert!(answer["duration_ms"].as_u64().unwrap() < 8_000);
    }
    for command in [
        "yes | head -1",
        "(yes; echo no) | head -1",
        "yes | (head -1)",
        "yes | for n in 1; do head -1; done",
        "git log --format=%H | head -1",
    ] {
        let (answer, status) = json(&repo, &["--timeout", "60", command]);
        assert_eq!((status, &answer["timed_out"]), (0, &false.into()), "{command}");
    }
}

/// Makes a program at `path` below what is around the repository, and directories that nobody else can write.
fn tool(repo: &Repo, path: &str, text: &str) {
    let path = repo.outer().join(path);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("make");
    std::fs::write(&path, text).expect("write");
    path.ancestors()
        .take_while(|above| *above != repo.outer())
        .for_each(|above| repo.chmod(above.to_str().expect("UTF-8"), 0o755));
}

fn with_path(repo: &Repo, command: &str, path: impl AsRef<Path>) -> Run {
    repo.cmd(&["shell", command]).env("PATH", path.as_ref()).run()
}

/// Tools of rustup, nvm and the like: from the caller's own directories and from nobody else's.
#[test]
fn programs_come_from_path_where_nobody_else_can_write() {
    use std::os::unix::fs::MetadataExt as _;
    let repo = repo();
    repo.git(&["worktree", "add", "-q", "../linked", "-b", "other"]);
    let zig = |directory: &str| {
        tool(&repo, &format!("{directory}/zig"), "#!/bin/sh\necho ran zig\n");
        repo.outer().join(directory)
    };
    let mode = |path: &Path, mode| repo.chmod(path.to_str().unwrap(), mode);
    let root = repo.root().file_name().unwrap().to_str().unwrap().to_owned();
    let good = zig("home/.cargo/bin");
    with_path(&repo, "zig version; command -v zig", &good).exits(0).says("ran zig").says("bin/zig");
    let refused = |path: &Path| {
        // The shell finds it, or not; it does not start.
        let run = with_path(&repo, "zig version", path);
        assert!([126, 127].contains(&run.status), "{}: {run}", path.display());
    };
    for place in [&root, &format!("{root}/bin"), "linked/bin", &format!("{root}/.git/bin")] {
        refused(&zig(place));
    }
    // Others may write the directory, the one above it, or the program.
    let open = zig("open");
    mode(&open, 0o777);
    refused(&open);
    let group = zig("group");
    mode(&group, 0o775);
    // Nobody is in the group of root but root; of others the unit tests tell.
    if std::fs::metadata(&group).unwrap().uid() == 0 {
        with_path(&repo, "zig version", &group).exits(0).says("ran zig");
        std::os::unix::fs::chown(&group, None, Some(100)).unwrap();
        refused(&group);
    }
    let below = zig("shared/bin");
    mode(&repo.outer().join("shared"), 0o777);
    refused(&below);
    let writable = zig("writable");
    mode(&writable.join("zig"), 0o777);
    refused(&writable);
    // A name that leads back into the repository.
    let link = zig("link");
    std::fs::remove_file(link.join("zig")).unwrap();
    std::os::unix::fs::symlink(repo.path("bin/zig"), link.join("zig")).unwrap();
    refused(&link);
    refused(Path::new("bin"));
    // Never from the repository's configuration, and never in the place of the system's own.
    repo.git(&["config", "aye.path", good.to_str().unwrap()]);
    refused(Path::new("/usr/bin"));
    tool(&repo, &format!("{root}/bin/ls"), "#!/bin/sh\necho evil\n");
    let path = format!("{}:/usr/bin:/bin", repo.path("bin").display());
    with_path(&repo, "ls; which ls", path).exits(0).lacks("evil");
}

/// rustup starts the program of a toolchain in its place.
#[test]
#[cfg(target_os = "linux")]
fn a_proxy_of_rustup_starts_its_toolchain() {
    let repo = repo();
    let home = repo.outer().join("home");
    let real = ".rustup/toolchains/stable/bin/zig";
    let proxy = format!("#!/bin/sh\nexec {}\n", home.join(real).display());
    tool(&repo, "home/.cargo/bin/rustup", &proxy);
    tool(&repo, &format!("home/{real}"), "#!/bin/sh\necho real\n");
    std::os::unix::fs::symlink("rustup", home.join(".cargo/bin/zig")).unwrap();
    with_path(&repo, "zig version", home.join(".cargo/bin")).exits(0).says("real");
}

/// Killed itself, aye leaves no program behind.
#[test]
#[cfg(target_os = "linux")]
fn programs_end_with_aye() {
    let repo = repo();
    let last = format!("9{}000000000", std::process::id());
    let command = format!("seq 1 {last} | grep -v x | tail -1");
    let mut aye = repo.cmd(&["shell", "--timeout", "60", &command]).into_inner().spawn().unwrap();
    let line = format!("seq\x001\0{last}\0");
    let running = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut lines = processes.filter_map(|p| std::fs::read(p.path().join("cmdline")).ok());
        lines.any(|other| other == line.as_bytes())
    };
    until("it is started", running);
    aye.kill().unwrap();
    aye.wait().unwrap();
    until("it is gone without aye", || !running());
}

/// Has `command` run where the kernel lacks these calls.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn without(command: &mut Command, calls: &[i64]) {
    use seccompiler::SeccompAction::{Allow, Errno};
    use std::os::unix::process::CommandExt as _;
    let rules = calls.iter().map(|call| (*call, Vec::new())).collect();
    let architecture = std::env::consts::ARCH.try_into().expect("a known machine");
    let missing = Errno(libc::ENOSYS as u32);
    let filter = seccompiler::SeccompFilter::new(rules, Allow, missing, architecture);
    let filter: seccompiler::BpfProgram = filter.and_then(TryInto::try_into).expect("a filter");
    // SAFETY: system calls, on memory that is there already.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(move || {
            seccompiler::apply_filter(&filter).map_err(|_| std::io::ErrorKind::Other.into())
        });
    }
}

#[test]
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn without_landlock_one_program_runs_and_require_refuses() {
    let repo = repo();
    let (landlock, seccomp) = (libc::SYS_landlock_create_ruleset, libc::SYS_seccomp);
    for (calls, sandbox) in [(&[landlock][..], "seccomp"), (&[landlock, seccomp], "policy-only")] {
        let run = |command: &str| {
            let mut aye = repo.cmd(&["--json", "shell", command]).into_inner();
            without(&mut aye, calls);
            let output = aye.output().unwrap();
            serde_json::from_slice::<Value>(&output.stdout)
                .unwrap_or_else(|_| panic!("{command}: {output:?}"))
        };
        let answer = run("cat a.txt");
        assert_eq!(
            (&answer["sandbox"], &answer["output"]),
            (&sandbox.into(), &"one\ntwo\n".into())
        );
        assert!(run("git log --oneline")["output"].as_str().unwrap().contains("Start"));
        assert_eq!(run("cat a.txt | wc")["error"]["code"], "COMMAND_NOT_ALLOWED");
        repo.git(&["config", "aye.shellSandbox", "require"]);
        for command in ["cat a.txt", "rm a.txt"] {
            assert_eq!(run(command)["error"]["code"], "sandbox_required", "{command}");
        }
        repo.git(&["config", "--unset", "aye.shellSandbox"]);
    }
    // Where there is one, it is in force.
    repo.git(&["config", "aye.shellSandbox", "require"]);
    let run = repo.aye(&["--json", "shell", "cat a.txt"]);
    if crate::support::has_sandbox() {
        assert_eq!(run.exits(0).json()["sandbox"], "landlock+seccomp");
    }
    repo.git(&["config", "aye.shellSandbox", "maybe"]);
    repo.aye(&["shell", "cat a.txt"]).fails("invalid_argument", 6);
}

#[test]
fn the_tool_answers_in_yaml_through_call() {
    let repo = repo();
    let call = |arguments: &str| repo.aye(&["call", "readonly_shell", arguments]);
    // The contract's own example.
    let yaml = call(r#"{"command": "ls -la"}"#).exits(0).out();
    assert!(yaml.contains("status: ok\n") && yaml.contains("exit_code: 0\n"), "{yaml}");
    assert!(yaml.contains("command: ls -la\n") && yaml.contains("a.txt"), "{yaml}");
    // A command that fails is an answer; a refused one is a refusal.
    call(r#"{"command": "false"}"#).exits(0).says("exit_code: 1");
    call(r#"{"command": "rm a.txt"}"#)
        .exits(4)
        .says("status: error")
        .says("command: rm a.txt\ncode: COMMAND_NOT_ALLOWED");
    call("{}").exits(6).says("status: error");
    call(r#"{"command": "ls", "cwd": "/"}"#).exits(6).says("inside the repository");
}

/// Variables are bytes, a directory's name is too, and no variable of the caller's is seen.
#[test]
#[cfg(target_os = "linux")]
fn the_environment_does_not_reach_the_programs() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let repo = repo();
    let command =
        "printenv GREP_COLORS || echo gone; git var GIT_PAGER; printenv API_KEY; printenv LANG";
    let run = repo.cmd(&["shell", command]).env("GREP_COLORS", "x").env("API_KEY", "hunter2");
    let run = run.env("GIT_PAGER", "evil").env("LANG", "C.UTF-8").run();
    assert_eq!(run.out(), "gone\ncat\nC.UTF-8\n");
    let odd = OsStr::from_bytes(b"x\xff");
    repo.cmd(&["shell", "pwd"]).env("FOO", odd).env("LANG", odd).run().exits(0);
    let directory = repo.root().join(odd);
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("a.txt"), "one\n").unwrap();
    for command in ["ls", "git status --short", "cat a.txt", "grep -r one"] {
        repo.cmd(&["shell", command]).dir(&directory).env("PWD", &directory).run().exits(0);
    }
}

#[test]
fn it_works_outside_a_repository_and_in_a_bare_one() {
    let outside = Repo::outside();
    outside.write("x.txt", "x\n");
    outside.aye(&["shell", "cat x.txt"]).exits(0).says("x\n");
    let bare = Repo::bare();
    let command = "git rev-parse --is-bare-repository; cat HEAD";
    bare.aye(&["shell", command]).exits(0).says("true\nref:");
    // In a linked work tree the git directory is elsewhere.
    let repo = repo();
    repo.git(&["worktree", "add", "-q", "../linked", "-b", "other"]);
    let run = repo.cmd(&["shell", "git log --oneline; cat a.txt"]).dir(repo.outer().join("linked"));
    run.run().exits(0).says("Start").says("two");
}
