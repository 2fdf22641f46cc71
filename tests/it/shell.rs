//! `aye shell`: exit codes, answers, limits, and where programs come from.

use std::process::Command;

use super::shell_corpus::world;
use crate::support::{Repo, until};
use aye::shell::plan;
use aye::shell::sandbox::Layers;

pub fn repo() -> Repo {
    Repo::with(&[("a.txt", "one\ntwo\n"), ("src/b.rs", "fn b() {}\n")])
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
    let json = repo.aye(&["--json", "shell", "cat a.txt > b.txt"]).exits(4).json();
    assert_eq!((&json["status"], &json["code"]), (&"error".into(), &"COMMAND_NOT_ALLOWED".into()));
    assert_eq!(json["details"]["position"], 10);
    assert!(json["hint"].is_string() && json["message"].is_string());
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
    let world = world(&repo, "/bin/sh");
    for line in
        include_str!("../data/shell/lists.txt").lines().filter(|line| !line.starts_with('#'))
    {
        let (said, command) = line.split_once(' ').expect("a verdict");
        let may_run = |has: bool| {
            let mut world = world.clone();
            world.layers = Layers { landlock: has, seccomp: true };
            plan(command, &world).is_ok()
        };
        let found = [(may_run(true), 'a'), (may_run(false), 'p')];
        assert_eq!(
            found.map(|(is, letter)| if is { letter } else { '-' }),
            *said.chars().collect::<Vec<_>>(),
            "{command}"
        );
    }
    repo.aye(&["shell", "--programs"]).exits(0).says("numfmt tsort").says("cat-file").says("zig");
    assert!(repo.aye(&["--json", "shell", "--programs"]).exits(0).json()["git"].is_array());
}

#[test]
fn the_response_has_the_fields_of_the_contract() {
    let repo = repo();
    let json = repo.aye(&["--json", "shell", "cat a.txt missing"]).exits(1).json();
    assert_eq!(json["schema"], "aye/readonly_shell@1");
    assert_eq!(json["status"], "ok");
    assert_eq!(json["command"], "cat a.txt missing");
    assert_eq!(json["exit_code"], 1);
    let output = json["output"].as_str().unwrap();
    assert!(output.starts_with("one\ntwo\n") && output.contains("missing"), "{output}");
    assert!(json["executed_at"].as_str().unwrap().ends_with('Z'));
    assert!(json["duration_ms"].is_u64() && json["sandbox"].is_string());
    assert_eq!((&json["truncated"], &json["timed_out"]), (&false.into(), &false.into()));
    assert_eq!(json.get("notes"), None);
    // The kernel stopped something.
    repo.write(".env", "A=1\n");
    let json = repo.aye(&["--json", "shell", "cat .env"]).exits(1).json();
    assert_eq!(json["status"], "ok");
    assert!(json["notes"][0].as_str().unwrap().contains("1 entries"), "{json}");
}

#[test]
fn output_that_is_not_utf8_is_replaced_and_said() {
    let repo = repo();
    repo.write("bytes", b"a\xff\xfeb\n");
    let json = repo.aye(&["--json", "shell", "cat bytes"]).exits(0).json();
    assert_eq!(json["output"], "a\u{fffd}\u{fffd}b\n");
    assert_eq!(json["notes"].as_array().unwrap().len(), 1);
}

#[test]
fn long_output_keeps_its_head_and_tail() {
    let repo = repo();
    let json = repo.aye(&["--json", "shell", "--output-limit", "1", "seq 100000"]).exits(0).json();
    let output = json["output"].as_str().unwrap();
    assert_eq!(json["truncated"], true);
    assert!(output.starts_with("1\n2\n") && output.ends_with("100000\n"), "{output}");
    assert!(output.contains("bytes omitted") && output.len() < 1_200);
}

#[test]
fn time_runs_out_for_the_whole_pipeline() {
    let repo = repo();
    for command in [
        "seq 1 999999999999 | grep -v x | tail -1",
        "for n in 1 2 3; do yes | tail -1; done",
        "while true; do :; done",
    ] {
        let json = repo.aye(&["--json", "shell", "--timeout", "0.3", command]).exits(124).json();
        assert_eq!(json["timed_out"], true);
        assert!(json["duration_ms"].as_u64().unwrap() < 8_000);
    }
}

#[test]
fn an_endless_producer_ends_with_its_reader() {
    let repo = repo();
    for command in [
        "yes | head -1",
        "(yes; echo no) | head -1",
        "yes | (head -1)",
        "yes | for n in 1; do head -1; done",
        "git log --format=%H | head -1",
    ] {
        let json = repo.aye(&["--json", "shell", "--timeout", "60", command]).exits(0).json();
        assert_eq!(json["timed_out"], false, "{command}");
    }
}

/// Tools of rustup, nvm and the like: from the caller's own directories and from nobody else's.
#[test]
fn programs_come_from_path_where_nobody_else_can_write() {
    use std::os::unix::fs::MetadataExt as _;
    let repo = repo();
    repo.git(&["worktree", "add", "-q", "../linked", "-b", "other"]);
    let tool = |directory: &str| {
        let directory = repo.outer().join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("zig"), "#!/bin/sh\necho ran zig\n").unwrap();
        repo.chmod(directory.join("zig").to_str().unwrap(), 0o755);
        for above in directory.ancestors().take_while(|above| *above != repo.outer()) {
            repo.chmod(above.to_str().unwrap(), 0o755);
        }
        directory
    };
    let root = repo.root().file_name().unwrap().to_str().unwrap().to_owned();
    let run = |path: &std::path::Path| {
        repo.cmd(&["shell", "zig version"]).env("PATH", path.to_str().unwrap()).run()
    };
    let good = tool("home/.cargo/bin");
    run(&good).exits(0).says("ran zig");
    repo.cmd(&["shell", "command -v zig"]).env("PATH", good.to_str().unwrap()).run().says("zig");
    let refused = |path: &std::path::Path| {
        // The shell finds it, or not; it does not start.
        assert!([126, 127].contains(&run(path).status), "{}", path.display());
    };
    for place in [&root, &format!("{root}/bin"), "linked/bin", &format!("{root}/.git/bin")] {
        refused(&tool(place));
    }
    // Others may write the directory, the one above it, or the program.
    let open = tool("open");
    repo.chmod(open.to_str().unwrap(), 0o777);
    refused(&open);
    let group = tool("group");
    repo.chmod(group.to_str().unwrap(), 0o775);
    // Nobody is in the group of root but root; of others the unit tests tell.
    if std::fs::metadata(&group).unwrap().uid() == 0 {
        run(&group).exits(0).says("ran zig");
        std::os::unix::fs::chown(&group, None, Some(100)).unwrap();
        refused(&group);
    }
    let below = tool("shared/bin");
    repo.chmod(repo.outer().join("shared").to_str().unwrap(), 0o777);
    refused(&below);
    let writable = tool("writable");
    repo.chmod(writable.join("zig").to_str().unwrap(), 0o777);
    refused(&writable);
    // A name that leads back into the repository.
    let link = repo.outer().join("link");
    std::fs::create_dir(&link).unwrap();
    repo.chmod(link.to_str().unwrap(), 0o755);
    std::os::unix::fs::symlink(repo.path("bin/zig"), link.join("zig")).unwrap();
    refused(&link);
    refused(std::path::Path::new("bin"));
    // Never from the repository's configuration.
    repo.git(&["config", "aye.path", good.to_str().unwrap()]);
    refused(std::path::Path::new("/usr/bin"));
}

/// rustup starts the program of a toolchain in its place.
#[test]
#[cfg(target_os = "linux")]
fn a_proxy_of_rustup_starts_its_toolchain() {
    let repo = repo();
    let home = repo.outer().join("home");
    let (bin, real) = (home.join(".cargo/bin"), home.join(".rustup/toolchains/stable/bin"));
    for directory in [&bin, &real] {
        std::fs::create_dir_all(directory).unwrap();
    }
    let proxy = format!("#!/bin/sh\nexec {}/zig\n", real.display());
    for (path, text) in
        [(bin.join("rustup"), proxy.as_str()), (real.join("zig"), "#!/bin/sh\necho real\n")]
    {
        std::fs::write(&path, text).unwrap();
        repo.chmod(path.to_str().unwrap(), 0o755);
    }
    std::os::unix::fs::symlink("rustup", bin.join("zig")).unwrap();
    for directory in
        [".cargo", ".cargo/bin", ".rustup", ".rustup/toolchains", ".rustup/toolchains/stable"]
    {
        repo.chmod(home.join(directory).to_str().unwrap(), 0o755);
    }
    repo.chmod(real.to_str().unwrap(), 0o755);
    let run = repo.cmd(&["shell", "zig version"]).env("PATH", bin.to_str().unwrap()).run();
    run.exits(0).says("real");
}

/// Killed itself, aye leaves no program behind.
#[test]
#[cfg(target_os = "linux")]
fn programs_end_with_aye() {
    let repo = repo();
    let number = format!("9{}", std::process::id());
    let command = format!("seq 1 {number}000000000 | grep -v x | tail -1");
    let mut aye = repo.cmd(&["shell", "--timeout", "60", &command]).into_inner().spawn().unwrap();
    let running = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|p| std::fs::read(p.path().join("cmdline")).ok());
        lines
            .filter(|line| {
                line.starts_with(b"seq\0")
                    && line.windows(number.len()).any(|w| w == number.as_bytes())
            })
            .count()
    };
    until("it is started", || running() == 1);
    aye.kill().unwrap();
    aye.wait().unwrap();
    until("it is gone without aye", || running() == 0);
}

#[test]
fn programs_come_from_the_system_alone() {
    let repo = repo();
    repo.write("bin/ls", "#!/bin/sh\necho evil\n");
    repo.chmod("bin/ls", 0o755);
    let path = format!("{}:/usr/bin:/bin", repo.path("bin").display());
    repo.cmd(&["shell", "ls; which ls"]).env("PATH", path).run().exits(0).lacks("evil");
}

/// Has `command` run where the kernel lacks these calls.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn without(command: &mut Command, calls: &[i64]) {
    use std::os::unix::process::CommandExt as _;
    let rules = calls.iter().map(|call| (*call, Vec::new())).collect();
    let missing = seccompiler::SeccompAction::Errno(libc::ENOSYS as u32);
    let architecture = std::env::consts::ARCH.try_into().expect("a known machine");
    let filter = seccompiler::SeccompFilter::new(
        rules,
        seccompiler::SeccompAction::Allow,
        missing,
        architecture,
    );
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
    repo.write(".env", "A=1\n");
    let (landlock, seccomp) = (libc::SYS_landlock_create_ruleset, libc::SYS_seccomp);
    for (calls, sandbox) in [(&[landlock][..], "seccomp"), (&[landlock, seccomp], "policy-only")] {
        let run = |command: &str| {
            let mut aye = repo.cmd(&["--json", "shell", command]).into_inner();
            without(&mut aye, calls);
            let output = aye.output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            serde_json::from_str::<serde_json::Value>(&text)
                .unwrap_or_else(|_| panic!("{command}: {output:?}"))
        };
        let json = run("cat a.txt");
        assert_eq!((&json["sandbox"], &json["output"]), (&sandbox.into(), &"one\ntwo\n".into()));
        assert!(run("git log --oneline")["output"].as_str().unwrap().contains("Start"));
        assert_eq!(run("cat a.txt | wc")["code"], "COMMAND_NOT_ALLOWED");
        repo.git(&["config", "aye.shellSandbox", "require"]);
        for command in ["cat a.txt", "rm a.txt"] {
            assert_eq!(run(command)["error"]["code"], "sandbox_required", "{command}");
        }
        repo.git(&["config", "--unset", "aye.shellSandbox"]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_required_sandbox_is_in_force() {
    let repo = repo();
    repo.git(&["config", "aye.shellSandbox", "require"]);
    let run = repo.aye(&["--json", "shell", "cat a.txt"]);
    match crate::support::has_sandbox() {
        true => assert_eq!(run.exits(0).json()["sandbox"], "landlock+seccomp"),
        false => assert_eq!(run.status, 4),
    }
    repo.git(&["config", "aye.shellSandbox", "maybe"]);
    repo.aye(&["shell", "cat a.txt"]).fails("invalid_argument", 6);
}

#[test]
fn the_tool_answers_in_yaml_through_call() {
    let repo = repo();
    // The contract's own example.
    let yaml = repo.aye(&["call", "readonly_shell", r#"{"command": "ls -la"}"#]).exits(0).out();
    assert!(yaml.contains("status: ok\n") && yaml.contains("exit_code: 0\n"), "{yaml}");
    assert!(yaml.contains("command: ls -la\n") && yaml.contains("a.txt"), "{yaml}");
    // A command that fails is an answer; a refused one is a refusal.
    repo.aye(&["call", "readonly_shell", r#"{"command": "false"}"#]).exits(0).says("exit_code: 1");
    repo.aye(&["call", "readonly_shell", r#"{"command": "rm a.txt"}"#])
        .exits(4)
        .says("status: error")
        .says("code: COMMAND_NOT_ALLOWED");
    repo.aye(&["call", "readonly_shell", "{}"]).exits(6).says("status: error");
    repo.aye(&["call", "readonly_shell", r#"{"command": "ls", "cwd": "/"}"#])
        .exits(6)
        .says("inside the repository");
}

/// Variables are bytes, and a directory's name is too.
#[test]
#[cfg(target_os = "linux")]
fn an_environment_that_is_not_utf8_is_no_matter() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let repo = repo();
    let odd = OsStr::from_bytes(b"x\xff");
    repo.cmd(&["shell", "pwd"]).env("FOO", odd).env("LANG", odd).run().exits(0);
    let directory = repo.root().join(odd);
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("a.txt"), "one\n").unwrap();
    for command in ["ls", "git status --short", "cat a.txt", "grep -r one"] {
        repo.cmd(&["shell", command]).dir(&directory).env("PWD", &directory).run().exits(0);
    }
}

/// What is left out of long output is whole characters.
#[test]
fn long_output_is_cut_between_characters() {
    let repo = repo();
    let command = "seq -f 'é%g' 1 90000 | tr -d '\\n'";
    for extra in ["", "x", "xy"] {
        let command = format!("echo -n {extra}; {command}");
        let json = repo.aye(&["--json", "shell", &command]).exits(0).json();
        assert_eq!(json["truncated"], true);
        assert!(!json["output"].as_str().unwrap().contains('\u{FFFD}'));
        assert!(!json.to_string().contains("UTF-8"), "{}", json["note"]);
    }
}

#[test]
fn the_environment_does_not_reach_the_programs() {
    let repo = repo();
    let run = repo
        .cmd(&[
            "shell",
            "printenv GREP_COLORS || echo gone; git var GIT_PAGER; printenv API_KEY; printenv LANG",
        ])
        .env("GREP_COLORS", "x")
        .env("API_KEY", "hunter2")
        .env("GIT_PAGER", "evil")
        .env("LANG", "C.UTF-8")
        .run();
    assert_eq!(run.out(), "gone\ncat\nC.UTF-8\n");
}

#[test]
fn command_v_says_where_a_program_is() {
    let repo = repo();
    let run = |command: &str| repo.aye(&["shell", command]);
    let git = run("which git").ok().out();
    assert_eq!(run("command -v git").ok().out(), git);
    assert_eq!(run("command -v no-such-program").exits(127).out(), "");
    run("command -v git >/dev/null && echo here").ok().says("here");
}

#[test]
fn it_works_outside_a_repository_and_in_a_bare_one() {
    let outside = Repo::outside();
    outside.write("x.txt", "x\n");
    outside.aye(&["shell", "cat x.txt"]).exits(0).says("x\n");
    let bare = Repo::bare();
    bare.aye(&["shell", "git rev-parse --is-bare-repository; cat HEAD"])
        .exits(0)
        .says("true\nref:");
    // In a linked work tree the git directory is elsewhere.
    let repo = repo();
    repo.git(&["worktree", "add", "-q", "../linked", "-b", "other"]);
    let linked = repo.outer().join("linked");
    repo.cmd(&["shell", "git log --oneline; cat a.txt"])
        .dir(&linked)
        .run()
        .exits(0)
        .says("Start")
        .says("two");
}
