//! `aye shell`: exit codes, answers, limits, and where programs come from.

use crate::support::{Repo, until};

pub fn repo() -> Repo {
    Repo::with_readable_surroundings(&[("a.txt", "one\ntwo\n"), ("src/b.rs", "fn b() {}\n")])
}

/// Runs the argument lists of the plan on a system with nothing but the policy; returns the output.
pub fn without_sandbox(repo: &Repo, command: &str) -> String {
    without_sandbox_denying(repo, command, aye::shell::denied::DEFAULT).unwrap_or_default()
}

/// The same with another list of what stays unread; `None` if it is refused.
pub fn without_sandbox_denying(repo: &Repo, command: &str, denied: &[&str]) -> Option<String> {
    use aye::shell::access::Access;
    use aye::shell::plan::Action;
    let world = aye::shell::World {
        root: repo.root().to_owned(),
        cwd: repo.root().to_owned(),
        home: Some(repo.outer().join("home")),
        environment: Vec::new(),
        access: Access::new(denied, None, repo.root(), &|_| None),
        kernel: false,
        search: aye::shell::programs::Search::default(),
        asks: true,
    };
    let plan = aye::shell::plan(command, &world).ok()?;
    let mut output = String::new();
    for step in plan.steps() {
        let Action::Run(program) = &step.action else { continue };
        let mut run = std::process::Command::new(program);
        run.args(&step.argv[1..]).current_dir(&step.cwd).env_clear();
        run.envs(aye::shell::run::fixed_environment());
        run.env("HOME", repo.outer().join("home")).env("PATH", world.path());
        let done = run.stdin(std::process::Stdio::null()).output().expect("it starts");
        output += &String::from_utf8_lossy(&done.stdout);
    }
    Some(output)
}

#[test]
fn a_command_ends_with_its_own_status() {
    let repo = repo();
    repo.aye(&["shell", "cat a.txt"]).exits(0).says("one\ntwo\n");
    repo.aye(&["shell", "grep -q zebra a.txt"]).exits(1);
    repo.aye(&["shell", "ls missing.txt"]).exits(2).notes("missing.txt");
    repo.aye(&["shell", "true && ! true"]).exits(1);
    repo.aye(&["shell", "rg-not-here"]).exits(4);
}

#[test]
fn a_refused_command_ends_with_4_and_runs_nothing() {
    let repo = repo();
    let run = repo.aye(&["shell", "cat a.txt; rm a.txt"]).fails("COMMAND_NOT_ALLOWED", 4);
    assert_eq!(run.out(), "", "nothing before the refused part ran either");
    assert!(repo.exists("a.txt"));
    let json = repo.aye(&["--json", "shell", "cat a.txt > b.txt"]).exits(4).json();
    assert_eq!(json["status"], "error");
    assert_eq!(json["code"], "COMMAND_NOT_ALLOWED");
    assert_eq!(json["details"]["position"], 10);
    assert!(json["details"]["segment"].is_string());
    assert!(json["hint"].is_string() && json["message"].is_string());
    assert!(!repo.exists("b.txt"));
}

#[test]
fn a_program_that_is_often_tried_comes_with_what_to_write_instead() {
    let repo = repo();
    for (command, instead) in [
        ("ls | tee out", "is returned to you"),
        ("find . | xargs cat", "name the files yourself"),
        ("less a.txt", "cat, head"),
        ("timeout 5 ls", "--timeout"),
        ("free -h", "/proc/meminfo"),
        ("rm a.txt", "aye propose"),
        ("gti status", "did you mean `git`?"),
        ("gerp x a.txt", "did you mean `grep`?"),
        ("git submodule status", "git ls-files -s"),
        ("env LC_ALL=C sort a.txt", "`LC_ALL=C sort FILE`"),
        ("{ ls; pwd; } | wc -l", "`( … )`"),
        ("jq 'include \"a\"; 1' d.json", "`.include`"),
    ] {
        let run = repo.aye(&["shell", command]).exits(4);
        assert!(run.err().contains(instead), "{command}: {}", run.err());
    }
    repo.aye(&["shell", "--explain", "fdfind -e rs"]).exits(0);
    repo.aye(&["shell", "git stash show -p"]).exits(1).notes("No stash entries found.");
}

#[test]
fn no_other_program_and_none_that_may_not_run_is_taken_for_a_slip() {
    let repo = repo();
    for command in ["gh pr list", "hash ls", "tar tf x", "pgrep x", "zcat x.gz", "read x", "bsh"] {
        let run = repo.aye(&["shell", command]).exits(4);
        assert!(!run.err().contains("did you mean"), "{command}: {run}");
    }
}

#[test]
fn a_program_may_be_asked_about_itself() {
    let repo = repo();
    for command in ["ls --help", "grep -V", "jq --version", "sed --version", "find --version"] {
        repo.aye(&["shell", command]).exits(0);
    }
    repo.aye(&["shell", "sort --version | head -1"]).exits(0).says("sort");
    for command in [
        "git --help", "git log --help", "ls --help x", "sort --version a.txt", "npm --version",
        "pip --version", "node --help", "cargo metadata", "sort -V --help", "printf --help",
    ] {
        repo.aye(&["shell", command]).fails("COMMAND_NOT_ALLOWED", 4);
    }
    // It runs where no file of the repository configures it.
    let json = repo.aye(&["--json", "shell", "--explain", "jq --help"]).exits(0).json();
    assert_eq!(json["steps"][0]["directory"], "/");
}

#[test]
fn a_command_may_set_how_something_is_shown() {
    let repo = Repo::with(&[("a.txt", "b\nA\na\nB\n"), ("é.txt", "x\n")]);
    repo.aye(&["shell", "LC_ALL=C sort a.txt"]).exits(0).says("A\nB\na\nb\n");
    repo.aye(&["shell", "TZ=UTC+1 LANG=C date -d @0 +%H"]).exits(0).says("23\n");
    repo.aye(&["shell", "NO_COLOR=1 printenv NO_COLOR | cat"]).exits(0).says("1\n");
    let one = "for n in 1 2; do NO_COLOR=\"x\" printenv NO_COLOR; done; printenv NO_COLOR";
    repo.aye(&["shell", one]).exits(1).says("x\nx\n");
    for command in [
        "GIT_PAGER=cat git log -1",
        "PAGER=cat git log -1",
        "GIT_OPTIONAL_LOCKS=0 git status",
        "! LC_ALL=C grep -q z a.txt",
        ">/dev/null LC_ALL=C ls",
        "LC_ALL=C ls | LC_ALL= sort",
        "git -c core.quotePath=false -c color.ui=always status",
        "git -c core.pager=cat log -1",
        "git -c log.showSignature=false log -1",
        "LC_ALL=C cd . && ls",
    ] {
        repo.aye(&["shell", command]).exits(0);
    }
    repo.aye(&["shell", "git ls-files"]).exits(0).says("\\303\\251.txt");
    repo.aye(&["shell", "git -c core.quotepath=false ls-files"]).exits(0).says("é.txt");
    for command in [
        "LC_ALL=C",
        "LC_ALL=../../x ls",
        "TZ=/tmp/x date",
        "PAGER=less git log",
        "X=1 ls",
        "LC_ALL=$HOME ls",
        "LC_ALL=$(id) ls",
        "LC_ALL=C X=1 ls",
        "LC_ALL=C; ls",
        "LD_PRELOAD=x ls",
        "PATH=. ls",
        "GIT_DIR=x git log",
        "LC_ALL=C rm a.txt",
        "LC_ALL+=C ls",
        "LC_ALL=C (ls)",
        "git -c core.pager=less log",
        "git -c core.fsmonitor=./x status",
        "git -c alias.x=!id x",
        "git -c color.ui",
        "git -c diff.external=./x diff",
    ] {
        repo.aye(&["shell", command]).fails("COMMAND_NOT_ALLOWED", 4);
    }
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
    assert!(json["duration_ms"].is_u64());
    assert_eq!(
        (json["truncated"].as_bool(), json["timed_out"].as_bool()),
        (Some(false), Some(false))
    );
    assert!(json["sandbox"].is_string());
    let yaml = repo.aye(&["--yaml", "shell", "pwd"]).exits(0).out();
    assert!(yaml.contains("status: ok") && yaml.contains("sandbox: no program"), "{yaml}");
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
    repo.symlink("/dev/zero", "zero");
    // `tr` would read for ever if the policy let it; a long regular run stands in for it.
    let json = repo
        .aye(&["--json", "shell", "--timeout", "0.3", "seq 1 999999999999 | grep -v x | tail -1"])
        .exits(124)
        .json();
    assert_eq!(json["timed_out"], true);
    assert!(json["duration_ms"].as_u64().unwrap() < 8_000);
    repo.aye(&["shell", "cat zero"]).fails("COMMAND_NOT_ALLOWED", 4);
}

#[test]
fn limits_hold_for_all_rounds_of_a_loop_together() {
    let repo = repo();
    let json = repo
        .aye(&["--json", "shell", "--timeout", "0.5", "for n in 1 2 3; do yes | tail -1; done"])
        .exits(124)
        .json();
    assert_eq!(json["timed_out"], true);
    let command = "for n in 1 2 3; do seq 1000; done; (seq 1000)";
    let json = repo.aye(&["--json", "shell", "--output-limit", "1", command]).exits(0).json();
    assert_eq!(json["truncated"], true);
    assert!(json["output"].as_str().unwrap().len() < 1_200);
    let words = "a ".repeat(11);
    let nested = format!(
        "for x in {words}; do for y in {words}; do for z in {words}; do echo; done; done; done"
    );
    repo.aye(&["shell", &nested]).fails("COMMAND_NOT_ALLOWED", 4).notes("more than 1000");
}

#[test]
fn an_endless_producer_ends_with_its_reader() {
    let repo = repo();
    for command in [
        "yes | head -1",
        "yes y | true",
        "(yes; echo no) | head -1",
        "for n in y y; do yes $n; done | head -1",
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
    for place in [&root, &format!("{root}/bin"), "linked/bin", &format!("{root}/.git/bin")] {
        run(&tool(place)).exits(127).notes("not found");
    }
    // Others may write the directory, the one above it, or the program.
    let open = tool("open");
    repo.chmod(open.to_str().unwrap(), 0o777);
    run(&open).exits(127);
    let group = tool("group");
    repo.chmod(group.to_str().unwrap(), 0o775);
    // Nobody is in the group of root but root; of others the unit tests tell.
    if std::fs::metadata(&group).unwrap().uid() == 0 {
        run(&group).exits(0).says("ran zig");
        std::os::unix::fs::chown(&group, None, Some(100)).unwrap();
        run(&group).exits(127);
    }
    let below = tool("shared/bin");
    repo.chmod(repo.outer().join("shared").to_str().unwrap(), 0o777);
    run(&below).exits(127);
    let writable = tool("writable");
    repo.chmod(writable.join("zig").to_str().unwrap(), 0o777);
    run(&writable).exits(127);
    // A name that leads back into the repository.
    let link = repo.outer().join("link");
    std::fs::create_dir(&link).unwrap();
    repo.chmod(link.to_str().unwrap(), 0o755);
    std::os::unix::fs::symlink(repo.path("bin/zig"), link.join("zig")).unwrap();
    run(&link).exits(127);
    run(std::path::Path::new("bin")).exits(127);
    // Never from the repository's configuration.
    repo.git(&["config", "aye.path", good.to_str().unwrap()]);
    run(std::path::Path::new("/usr/bin")).exits(127);
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

#[test]
fn explain_asks_git_nothing() {
    let repo = repo();
    let json = repo.aye(&["--json", "shell", "--explain", "git show x-1-gabcdef0"]).exits(0).json();
    assert_eq!(json["decision"], "undecided");
    assert_eq!(json["steps"].as_array().map(Vec::len), Some(0));
    repo.aye(&["shell", "--explain", "git show x-1-gabcdef0"])
        .exits(0)
        .says("undecided: git is asked");
    repo.aye(&["shell", "--explain", "git show HEAD:a.txt"]).exits(0).says("git show");
}

#[test]
fn explain_runs_nothing_and_names_the_rule() {
    let repo = repo();
    repo.aye(&["shell", "--explain", "git log -1 | head -2"]).exits(0).says("git log").says("head");
    let json = repo.aye(&["--json", "shell", "--explain", "sed -n 1p a.txt"]).exits(0).json();
    assert_eq!(json["decision"], "allowed");
    assert_eq!(json["steps"][0]["rule"], "sed");
    let json = repo.aye(&["--json", "shell", "--explain", "rm a.txt"]).exits(4).json();
    assert_eq!(json["decision"], "refused");
    repo.aye(&["shell", "--explain", "rm a.txt"]).fails("COMMAND_NOT_ALLOWED", 4);
    repo.aye(&["shell", "--programs"]).exits(0).says("git log\n").says("grep\n");
    repo.aye(&["shell", "--programs", "wc"]).exits(0).says("-l, --lines");
    repo.aye(&["shell", "--programs", "rm"]).exits(6);
}

#[test]
fn a_file_named_like_a_flag_is_not_one() {
    let repo = repo();
    repo.write("-delete", "dashed\n");
    repo.write("-la", "");
    let out = repo.aye(&["shell", "ls *"]).exits(0).out();
    assert!(out.contains("./-delete") && out.contains("./-la"), "{out}");
    repo.aye(&["shell", "find * -name a.txt"]).exits(0);
    assert!(repo.exists("-delete"));
}

#[test]
fn cd_moves_only_what_follows_and_stays_inside() {
    let repo = repo();
    let root = repo.root().display().to_string();
    repo.aye(&["shell", "cd src && pwd && cd .. && pwd"])
        .exits(0)
        .says(&format!("{root}/src\n{root}\n"));
    repo.aye(&["shell", "false && cd src; pwd"]).exits(0).says(&format!("{root}\n"));
    repo.aye(&["shell", "cd src || echo no; cat b.rs"]).exits(0).says("fn b");
    repo.aye(&["shell", "cat < src"]).fails("COMMAND_NOT_ALLOWED", 4);
    repo.symlink("..", "up");
    repo.aye(&["shell", "cd up && ls"]).fails("COMMAND_NOT_ALLOWED", 4);
    // Whichever way it goes, the file must be one that may be read.
    repo.write("src/.env", "SECRET");
    repo.aye(&["shell", "false && cd src; cat .env"]).fails("COMMAND_NOT_ALLOWED", 4);
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

#[test]
fn limits_are_refusals() {
    let repo = repo();
    let long = format!("echo {}", "a".repeat(20_000));
    let many = vec!["true"; 65].join(";");
    let pipe = vec!["cat"; 17].join("|");
    for command in [long, many, pipe, String::new(), "# nothing".into()] {
        repo.aye(&["shell", &command]).fails("COMMAND_NOT_ALLOWED", 4);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_required_sandbox_is_in_force() {
    let repo = repo();
    repo.git(&["config", "aye.shellSandbox", "require"]);
    let run = repo.aye(&["--json", "shell", "cat a.txt"]);
    if crate::support::has_sandbox() {
        let name = run.exits(0).json()["sandbox"].as_str().unwrap().to_owned();
        assert!(name.contains("landlock"), "{name}");
    } else {
        assert_eq!(run.status, 4);
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

#[test]
fn what_cannot_be_read_is_refused_as_input() {
    let repo = Repo::with(&[("directory/a.txt", "a\n")]);
    for (file, why) in [("directory", "is a directory"), ("missing", "is not there")] {
        let command = format!("cat < {file}");
        repo.aye(&["shell", &command]).fails("COMMAND_NOT_ALLOWED", 4).notes(why);
    }
    repo.aye(&["shell", "cat < directory/a.txt"]).ok().says("a\n");
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
fn command_v_says_where_a_program_is_and_command_runs_none() {
    let repo = repo();
    let run = |command: &str| repo.aye(&["shell", command]);
    let git = run("which git").ok().out();
    assert_eq!(run("command -v git").ok().out(), git);
    assert_eq!(run("command -v echo").ok().out(), "echo\n");
    assert_eq!(run("command -v no-such-program").exits(127).out(), "");
    run("command -v git >/dev/null && echo here").ok().says("here");
    run("command git status").fails("COMMAND_NOT_ALLOWED", 4);
    run("command").fails("COMMAND_NOT_ALLOWED", 4);
}
