//! `aye shell`: exit codes, formats, limits, hostile repositories, what stays unread.

use crate::support::{Repo, until};

fn repo() -> Repo {
    Repo::readable(&[("a.txt", "one\ntwo\n"), ("src/b.rs", "fn b() {}\n")])
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
    let repo = Repo::readable(&[("a.txt", "b\nA\na\nB\n"), ("é.txt", "x\n")]);
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

/// What `ls` says of a file it says of all files when it lists the directory.
#[test]
fn ls_names_a_denied_file_and_no_other_program_opens_it() {
    let repo = repo();
    repo.write(".env", "SECRET=hunter2\n");
    repo.write("key.pem", "-----BEGIN PRIVATE KEY-----\n");
    repo.aye(&["shell", "ls -la .env"]).exits(0).says(".env").lacks("hunter2");
    repo.aye(&["shell", "ls *.pem a.txt"]).exits(0).says("a.txt\nkey.pem");
    repo.symlink(".env", "link");
    for command in ["cat .env", "wc -c .env", "ls -L link", "stat .env", "ls .env; head .env"] {
        repo.aye(&["shell", command]).fails("COMMAND_NOT_ALLOWED", 4);
    }
    let ssh = repo.outer().join("home/.ssh");
    std::fs::create_dir_all(&ssh).expect("a directory");
    std::fs::write(ssh.join("id"), "x").expect("a file");
    for path in [ssh.join("id"), ssh] {
        let command = format!("ls {}", path.display());
        let run = repo.cmd(&["shell", &command]).env("HOME", repo.outer().join("home")).run();
        run.fails("COMMAND_NOT_ALLOWED", 4);
    }
    repo.aye(&["shell", "ls /proc/self/environ"]).fails("COMMAND_NOT_ALLOWED", 4);
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

/// Git answers from the repository's configuration alone, which is no answer to what the user has set.
#[test]
fn a_question_for_the_configuration_notes_whose_is_read() {
    let repo = repo();
    let note = "the configuration of the repository here, not the user's own";
    for command in ["git config --get no.such", "git config --global --list | cat", "git var -l"] {
        let run = repo.aye(&["shell", command]).notes(note);
        assert!(!run.out().contains(note), "{run}");
        let run = repo.aye(&["call", "readonly_shell", &format!("{{\"command\": {command:?}}}")]);
        run.says(note);
    }
    for command in ["git config --local --list", "git log -1"] {
        assert!(!repo.aye(&["shell", command]).ok().err().contains(note), "{command}");
    }
}

#[test]
fn git_prints_no_credentials() {
    let repo = repo();
    repo.git(&["remote", "add", "origin", "https://me:hunter2@host.invalid/x.git"]);
    repo.git(&["remote", "add", "plain", "ssh://git@host.invalid/x.git"]);
    repo.git(&["config", "http.extraHeader", "X-Key: hunter2"]);
    repo.git(&[
        "config",
        "http.https://hunter2@host.invalid/.extraHeader",
        "Authorization: basic hunter2hunter2",
    ]);
    repo.git(&["config", "github.token", "hunter2"]);
    repo.git(&["config", "credential.helper", "!f() {\necho password=hunter2\n}; f"]);
    repo.git(&["config", "http.https://host.invalid/.extraHeader", "X: 1\nX-Key: hunter2"]);
    repo.git(&["remote", "add", "query", "https://host.invalid/x.git?private_token=hunter2"]);
    repo.write("a.txt", "one\ncurl https://me:hunter2@host.invalid\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "Fetch from https://hunter2@host.invalid"]);
    for command in [
        "git remote -v",
        "git remote get-url origin",
        "git remote -v | cut -c1-200",
        "git remote -v | tr -d '@' | rev",
        "(git remote -v) 2>&1 | base64 -w0 | base64 -d",
        "git config -l",
        "git config -l -z",
        "git config -l --show-origin",
        "git config --list --local | sort",
        "git config --get remote.origin.url",
        "git config remote.origin.url",
        "git config --get http.extraheader",
        "git config credential.helper",
        "git config --get --type=bool credential.helper",
        "git config --get-regexp helper",
        "git config --get-all --show-origin credential.helper",
        "git config --get-urlmatch credential https://host.invalid",
        "git config --get-all http.extraHeader",
        "git config --get-urlmatch http.extraHeader https://x.invalid",
        "git config --get-regexp 'header|token|url'",
        "git config --get-regexp -z 'header|token|url'",
        "git config get http.extraHeader",
        "git config get github.token",
        "git config get --all --regexp --show-names '.'",
        "git config get --all --regexp .",
        "git config list",
        "git log",
        "git log -p",
        "git show HEAD:a.txt",
        "git grep host",
        "git log 'https://me:hunter2@host.invalid'",
        "for v in -v --verbose; do git remote $v; done",
        "git var -l",
        "cat .git/config",
        "cat .git/config | head -3",
        "cat < .git/config",
        "cd .git && cat config",
        "cat .git/*",
        "cat .GIT/config",
        "head -50 .git/../.git/config",
        "grep -r hunter2 .git",
        "grep -rn hunter2 . --include=config",
        "rg -uu hunter2 .git",
        "rg -uu -g config hunter2",
        "grep hunter2 .git/config",
        "grep -r hunter2 .git; git status",
        "diff -r .git src",
        "diff .git/config a.txt",
    ] {
        let run = repo.aye(&["shell", command]);
        let all = format!("{}{}", run.out(), run.err()).replace(command, "");
        // Quoted in a message about the argument itself.
        assert!(!all.contains("hunter2"), "{command}: {all}");
        assert!(!run.out().contains("2retnuh"), "{command}: {all}");
    }
    repo.aye(&["shell", "git remote -v"])
        .exits(0)
        .says("https://***@host.invalid/x.git (fetch)")
        .says("ssh://git@host.invalid/x.git");
    repo.aye(&["shell", "git config -l"])
        .exits(0)
        .says("http.extraheader=***\n")
        .says("core.bare=false");
    repo.aye(&["shell", "git log -1 --format=%s"]).says("Fetch from https://***@host.invalid\n");
    repo.aye(&["shell", "cat .git/config"]).fails("COMMAND_NOT_ALLOWED", 4).notes("git config -l");
    repo.write("config", "plain\n");
    repo.aye(&["shell", "cat config; grep -rh plain ."]).exits(0).says("plain\nplain\n");
    repo.aye(&["shell", "git diff --stat; grep -rl plain ."]).exits(0).says("config");
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    repo.write("bytes", &bytes);
    repo.git(&["add", "bytes"]);
    let sum = repo.aye(&["shell", "cksum < bytes"]).exits(0).out();
    repo.aye(&["shell", "git show :bytes | cksum"]).exits(0).says(&sum);
}

/// Credentials are recognised by how they stand in a line: what would write them in another way is
/// refused, or they are replaced all the same.
#[test]
fn no_layout_keeps_a_credential_from_being_replaced() {
    let repo = repo();
    let long = "a subject of more than seventy-eight characters, which e-mail folds at a space";
    for message in [
        "Authorization: Bearer hunter2hunter2\n\nsee https://me:hunter2@host.invalid/x\n\n\
         Authorization: Bearer hunter2hunter2\n",
        &format!("{} Authorization: Bearer hunter2hunter2", &long[..62]),
        "é Authorization: Bearer hunter2hunter2",
    ] {
        repo.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }
    for layout in [
        "log --format='%w(16)%B'",
        "show -s --format='%w(20,1,2)%B' HEAD~2",
        "rev-list --format='%h %w(8)%b' HEAD",
        "log -z --pretty='format:%w(16)%s'",
        "log --format='%<(28,trunc)%b'",
        "log --format='%>|(28,mtrunc)%b'",
        "log --format=%f",
        "log --format='%(trailers:valueonly)'",
        "log --format='%(trailers:key=authorization,valueonly)'",
        "log --format='%(trailers:key_value_separator==)'",
        "log --format=email",
        "log --pretty=mboxrd",
        "log --encoding=UTF-16",
        "log --encoding UTF-7",
        "shortlog -w16 HEAD",
        "for-each-ref --format='%(subject:sanitize)'",
        "for-each-ref --format='%(trailers:valueonly)'",
    ] {
        let run = repo.aye(&["shell", &format!("git {layout}")]).fails("COMMAND_NOT_ALLOWED", 4);
        assert!(!run.err().contains("unter2"), "{layout}: {run}");
    }
    for layout in [
        "log --grep=Bearer --color=always",
        "log --grep=unter --color=always",
        "log --format='%<(90)%b'",
        "log --format='%s%n%b' --encoding=UTF-8",
        "shortlog HEAD",
        "log --oneline --graph",
        "log --format='%(trailers:key=Reviewed-by,valueonly)%s'",
    ] {
        let run = repo.aye(&["shell", &format!("git {layout}")]).exits(0);
        assert!(run.out().contains("***") && !run.out().contains("unter2"), "{layout}: {run}");
    }
    repo.git(&["config", "i18n.logOutputEncoding", "UTF-16"]);
    repo.aye(&["shell", "git log"]).exits(0).says("Authorization: Bearer ***");
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

#[test]
fn secrets_stay_unread_however_they_are_reached() {
    let repo = repo();
    repo.write("config/.env", "SECRET=hunter2\n");
    repo.write("src/deploy.key", "-----BEGIN PRIVATE KEY-----\nhunter2\n");
    let ssh = repo.outer().join("home/.ssh");
    std::fs::create_dir_all(&ssh).unwrap();
    std::fs::write(ssh.join("id_custom"), "hunter2\n").unwrap();
    repo.symlink(ssh.to_str().unwrap(), "keys");
    for command in [
        "grep -rn hunter2 .",
        "grep -R hunter2 .",
        "grep -r hunter2 config src keys",
        "rg -uu hunter2",
        "diff -r config src",
        "cat config/* || true",
        "cat */.env || true",
        "find . -name .env",
        "ls config keys || true",
        "git grep hunter2 || true",
        "grep -r hunter2 -- .",
        "grep -r --include=.env hunter2 .",
        "git diff config/.env || true",
    ] {
        let run = repo.aye(&["shell", command]);
        let all = format!("{}{}", run.out(), run.err());
        assert!(!all.contains("SECRET") && !all.contains(":hunter2"), "{command}: {all}");
        assert!(!run.out().contains("hunter2"), "{command}: {all}");
    }
    repo.aye(&["shell", "grep -rn 'fn b' ."]).exits(0).says("fn b");
}

/// What was committed once stays unread too, in every way git has to show it.
#[test]
fn git_shows_nothing_of_denied_files() {
    let repo = repo();
    repo.write("config/.env", "SECRET=hunter2\n");
    repo.write(".env", "TOP=hunter2\n");
    repo.write("deploy.key", "hunter2\n");
    repo.commit("Add too much");
    repo.write("a.txt", "one\ntwo\nthree\n");
    repo.write(".env", "TOP=hunter2-changed\n");
    repo.git(&["stash"]);
    repo.git(&["stash", "apply", "-q"]);
    let blob = repo.git(&["rev-parse", "HEAD:.env"]).trim().to_owned();
    let other = repo.git(&["rev-parse", "HEAD:a.txt"]).trim().to_owned();
    repo.git(&["update-ref", "refs/tags/kept", &blob]);
    repo.git(&["tag", "-a", "-m", "x", "told", &blob]);
    let by_id = [
        "git show BLOB",
        "git cat-file -p BLOB",
        "git cat-file blob BLOB",
        "git diff BLOB OTHER",
        "git diff OTHER..BLOB",
        "git grep hunter2 BLOB",
        "git show kept",
        "git show refs/tags/kept",
        "git diff kept OTHER",
        "git show told",
        "git cat-file blob told",
        "git show --tags",
        "git show --all",
        "git show --glob=refs/tags/*",
        "git show --reflog",
    ];
    for command in by_id {
        let command = command.replace("BLOB", &blob).replace("OTHER", &other);
        repo.aye(&["shell", &command]).fails("COMMAND_NOT_ALLOWED", 4);
    }
    for command in [
        "git log -p",
        "git log -p --all",
        "git log --cc",
        "git log -m -p --first-parent",
        "git log -g -p",
        "git log -U1",
        "git log --patch-with-stat --word-diff",
        "git log -p --no-walk --all",
        "git log -p -- config",
        "git log -p -- '*env'",
        "git log -p '*env'",
        "git log -p ':(top)'",
        "git log -p config a.txt",
        "git log -p --full-diff -- a.txt",
        "git log --follow -p -- config",
        "git log --follow -p -- gone",
        "git log -S hunter2 --oneline",
        "git log -G hunter2 --stat",
        "git show HEAD",
        "git show HEAD --stat -p",
        "git show stash",
        "git show HEAD -- config",
        "git show HEAD:.env",
        "git show HEAD:./config/.env",
        "git show :.ENV",
        "git show :0:.env",
        "git diff",
        "git diff HEAD",
        "git diff HEAD~1 HEAD",
        "git diff HEAD~1",
        "git diff HEAD:config HEAD~1:src",
        "git diff HEAD:.env..HEAD:a.txt",
        "git diff --cached HEAD~1",
        "git diff-tree -p HEAD~1 HEAD",
        "echo HEAD | git diff-tree --stdin -p",
        "git stash show -p",
        "git stash show",
        "git stash show --color",
        "git stash show -p 0",
        "git stash list -p",
        "git reflog -p",
        "git grep hunter2",
        "git grep hunter2 HEAD",
        "git grep -e hunter2 HEAD -- config",
        "git grep -h hunter2 -- ':(glob)**'",
        "git grep hunter2 HEAD:config",
        "git --literal-pathspecs log -p",
        "git --noglob-pathspecs diff",
        "git status -v",
        "git blame .env",
        "git log -L1,1:.env",
        "echo HEAD:.env | git cat-file --batch",
        "git cat-file --batch-all-objects --batch",
        "git for-each-ref --format='%(raw)'",
        "git tag -l --format='%(raw)'",
        "git branch --format='%(*raw)%(raw)'",
        "cd config && git log -p",
        "cd config && git grep SECRET",
        "cd config && git log -p .",
        "git -C config diff HEAD~1",
    ] {
        let run = repo.aye(&["shell", command]);
        let all = format!("{}{}", run.out(), run.err());
        assert!(!all.replace(command, "").contains("hunter2"), "{command}: {all}");
    }
    // What is left is all that is left.
    repo.aye(&["shell", "git diff"]).exits(0).says("+three").lacks(".env");
    repo.aye(&["shell", "git stash show -p"]).exits(0).says("+three");
    repo.aye(&["shell", "git stash show"]).exits(0).says(".env").says("a.txt");
    repo.aye(&["shell", "git show HEAD:a.txt"]).exits(0).says("one");
    repo.aye(&["shell", "git diff HEAD:a.txt HEAD:src/b.rs"]).exits(0).says("+fn b() {}");
    repo.aye(&["shell", "git log --stat"]).exits(0).says("config/.env");
    repo.aye(&["shell", "git log -p -- a.txt"]).exits(0).says("+one");
    repo.aye(&["shell", "git log -L1,1:a.txt"]).exits(0).says("+one");
    repo.aye(&["shell", "git grep -c one"]).exits(0).says("a.txt:1");
    repo.git(&["config", "aye.shellDenyRead", "src/b.rs"]);
    repo.aye(&["shell", "git log -p"]).exits(0).says("+one").lacks("fn b");
}

/// Leaving files out must not leave commits out.
#[test]
fn history_without_denied_files_is_shown_whole() {
    let repo = repo();
    repo.git(&["switch", "-q", "-c", "side"]);
    repo.write("side.txt", "side\n");
    repo.commit("Side");
    repo.git(&["switch", "-q", "main"]);
    repo.write("a.txt", "other\n");
    repo.commit("Other");
    repo.git(&["merge", "-q", "--no-ff", "-m", "Merge", "side"]);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "Empty"]);
    for command in [
        "git log -p",
        "git log -p --graph --oneline",
        "git log --cc --stat",
        "git show HEAD",
        "git show HEAD~1",
        "git show HEAD~2",
        "git log -p -1 HEAD~2",
        "git log -p -- a.txt",
        "git log -p src",
        "git log -m -p",
        "git log --follow -p side.txt",
        "git log -S side --oneline",
        "git log -g -p --oneline",
        "git diff HEAD~2 HEAD",
        "git show HEAD:src",
        "git show HEAD^{tree}",
    ] {
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        repo.aye(&["shell", command]).exits(0);
        let ours = repo.aye(&["shell", command]).out();
        let ours = ours.strip_suffix('\n').unwrap_or(&ours);
        assert_eq!(ours, repo.git(&words), "{command}");
    }
}

/// A hard link is the same file under a name that says nothing.
#[test]
fn a_denied_file_stays_unread_under_another_name_on_disk() {
    let repo = repo();
    let ssh = repo.outer().join("home/.ssh");
    std::fs::create_dir_all(&ssh).unwrap();
    std::fs::write(ssh.join("id_custom"), "hunter2\n").unwrap();
    repo.write("config/.env", "SECRET=hunter2\n");
    std::fs::hard_link(ssh.join("id_custom"), repo.path("notes.txt")).unwrap();
    std::fs::hard_link(repo.path("config/.env"), repo.path("src/settings.txt")).unwrap();
    std::fs::hard_link(repo.path("a.txt"), repo.path("b.txt")).unwrap();
    for command in [
        "cat notes.txt",
        "cat < notes.txt",
        "head -1 src/settings.txt",
        "cat src/s*",
        "cd src && sort settings.txt",
        "grep -f notes.txt a.txt",
        "diff notes.txt a.txt",
    ] {
        repo.aye(&["shell", command]).fails("COMMAND_NOT_ALLOWED", 4);
    }
    for command in ["grep -r hunter2 .", "grep -rh hunter2 src", "diff -r src config"] {
        repo.aye(&["shell", command]).lacks("hunter2");
    }
    repo.aye(&["shell", "cat b.txt"]).exits(0).says("one");
}

/// What follows symlinks finds denied files behind them too.
#[test]
fn a_symlink_to_a_directory_opens_nothing() {
    let repo = repo();
    let other = repo.outer().join("other/deep");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join(".env"), "SECRET=hunter2\n").unwrap();
    std::fs::write(other.join("b.rs"), "hunter3\n").unwrap();
    repo.symlink("../other", "link");
    repo.symlink("..", "src/up");
    for command in ["grep -R hunter .", "grep -R hunter link", "grep -R hunter src", "rg -L hunter"]
    {
        repo.aye(&["shell", command]).lacks("hunter2");
    }
    repo.aye(&["shell", "grep -R hunter ."]).exits(0).says("hunter3");
    repo.aye(&["shell", "diff -r link/deep src"]).lacks("hunter2");
}

/// One rule for what is a secret and what is its template, on disk and in history.
#[test]
fn templates_of_env_files_are_shown_everywhere() {
    let repo = repo();
    for name in [".env.example", "app/.env.local.sample", ".env.dist", ".env.template"] {
        repo.write(name, "shown=1\n");
    }
    for name in [".env", ".env.local", "app/.env.production", ".env.example.local", ".ENV.Staging"]
    {
        repo.write(name, "hunter2\n");
    }
    repo.commit("Settings");
    let shown = repo.aye(&["shell", "git show"]).exits(0).lacks("hunter2").out();
    assert_eq!(shown.matches("+shown=1").count(), 4, "{shown}");
    repo.aye(&["shell", "git grep -h shown"]).exits(0).says("shown=1\n".repeat(4).as_str());
    repo.aye(&["shell", "git grep hunter2"]).exits(1);
    repo.aye(&["shell", "grep -rh shown ."]).exits(0).says("shown=1\n".repeat(4).as_str());
    repo.aye(&["shell", "grep -r hunter2 ."]).exits(1);
    repo.aye(&["shell", "git show HEAD:.env.example"]).exits(0).says("shown=1");
    repo.aye(&["shell", "cat app/.env.local.sample"]).exits(0).says("shown=1");
    repo.aye(&["shell", "cat .env.example.local"]).fails("COMMAND_NOT_ALLOWED", 4);
    repo.aye(&["shell", "git show HEAD:.ENV.Staging"]).fails("COMMAND_NOT_ALLOWED", 4);
}

/// A path that is denied by its place is told whatever directory it is named from; a directory of a
/// revision has lost its place.
#[test]
fn a_place_inside_the_repository_is_kept_in_history() {
    let repo = repo();
    repo.write("vault/keys.yaml", "hunter2\n");
    repo.commit("Keys");
    repo.write("vault/keys.yaml", "hunter2-changed\n");
    repo.commit("Change keys");
    repo.git(&["config", "aye.shellDenyRead", "vault/keys.yaml"]);
    let tree = |revision: &str| repo.git(&["rev-parse", revision]).trim().to_owned();
    let (before, after) = (tree("HEAD~1:vault"), tree("HEAD:vault"));
    for command in [
        "cd src && git show HEAD:vault/keys.yaml",
        "cd src && git show HEAD:../vault/keys.yaml",
        "cd src && git log -L1,1:../vault/keys.yaml",
        "cd src && git cat-file -p HEAD:vault/keys.yaml",
        "git -C src diff HEAD~1:vault/keys.yaml HEAD:vault/keys.yaml",
        "git diff HEAD~1:vault HEAD:vault",
        "git diff HEAD~1:vault..HEAD:vault",
        &format!("git diff {before} {after}"),
        &format!("git diff-tree -p {before} {after}"),
        &format!("git grep hunter2 {after}"),
        "git grep hunter2 HEAD:vault",
    ] {
        repo.aye(&["shell", command]).fails("COMMAND_NOT_ALLOWED", 4);
    }
    repo.aye(&["shell", "git show HEAD:vault"]).exits(0).says("keys.yaml").lacks("hunter2");
    repo.aye(&["shell", "git log -p"]).exits(0).lacks("hunter2");
    repo.aye(&["shell", "git diff HEAD~1:src HEAD:src"]).fails("COMMAND_NOT_ALLOWED", 4);
    repo.git(&["config", "--unset", "aye.shellDenyRead"]);
    repo.aye(&["shell", "git diff HEAD~1:vault HEAD:vault"]).exits(0).says("+hunter2-changed");
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
fn the_deny_list_can_be_set_by_the_user_and_only_extended_by_the_repository() {
    let repo = repo();
    repo.write(".env", "SECRET\n");
    repo.git(&["config", "aye.shellDenyRead", "a.txt"]);
    repo.aye(&["shell", "cat a.txt"]).fails("COMMAND_NOT_ALLOWED", 4);
    repo.aye(&["shell", "cat .env"]).fails("COMMAND_NOT_ALLOWED", 4);
    repo.git(&["config", "--unset", "aye.shellDenyRead"]);
    let global = repo.outer().join("home/.gitconfig");
    std::fs::write(&global, "[aye]\n\tshellDenyRead = b.rs\n").unwrap();
    let run = |command: &str| {
        repo.cmd(&["shell", command]).env("GIT_CONFIG_GLOBAL", global.as_os_str()).run()
    };
    run("cat src/b.rs").fails("COMMAND_NOT_ALLOWED", 4);
    run("cat .env").exits(0);
}

/// Kinds of repository configuration that would start a program: `(name, key, value)`.
const CONFIGURATION: &[(&str, &str)] = &[
    ("core.fsmonitor", "EVIL"),
    ("core.pager", "EVIL"),
    ("pager.log", "EVIL"),
    ("pager.status", "EVIL"),
    ("diff.external", "EVIL"),
    ("diff.evil.command", "EVIL"),
    ("diff.evil.textconv", "EVIL"),
    ("filter.evil.clean", "EVIL"),
    ("filter.evil.smudge", "EVIL"),
    ("filter.evil.process", "EVIL"),
    ("core.hooksPath", "hooks"),
    ("core.sshCommand", "EVIL"),
    ("core.editor", "EVIL"),
    ("core.askPass", "EVIL"),
    ("gpg.program", "EVIL"),
    ("gpg.ssh.program", "EVIL"),
    ("alias.status", "!EVIL"),
    ("credential.helper", "!EVIL"),
    ("core.gitProxy", "EVIL"),
    ("core.alternateRefsCommand", "EVIL"),
    ("log.showSignature", "true"),
    ("pretty.evil", "format:%G?"),
    ("format.pretty", "evil"),
    ("interactive.diffFilter", "EVIL"),
    ("sequence.editor", "EVIL"),
];

const LOOKING: &[&str] = &[
    "git status",
    "git status --short",
    "git diff",
    "git diff HEAD",
    "git diff HEAD~1 HEAD",
    "git log -p",
    "git log --stat",
    "git show HEAD",
    "git show HEAD:a.evil",
    "git blame a.evil",
    "git grep x",
    "git ls-files -m",
    "git stash list",
    "git stash show -p || true",
    "git describe --always --dirty",
    "git branch -vv",
    "git log -1 --format='%h %s'",
    "git cat-file -p HEAD:a.evil",
    "git reflog",
    "git shortlog -sn HEAD",
    "git remote -v",
];

#[test]
fn no_repository_configuration_starts_a_program() {
    let repo = repo();
    repo.write("a.evil", "x\n");
    repo.commit("Add");
    repo.write(".gitattributes", "*.evil diff=evil filter=evil\n");
    repo.commit("Attributes");
    repo.write("a.evil", "stashed\n");
    repo.git(&["stash"]);
    let mark = repo.outer().join("ran");
    let evil = repo.outer().join("evil.sh");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat 2>/dev/null\n", mark.display());
    std::fs::write(&evil, script).unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&evil, PermissionsExt::from_mode(0o755)).unwrap();
    for hook in ["post-index-change", "fsmonitor-watchman", "pre-commit", "reference-transaction"] {
        repo.write(&format!("hooks/{hook}"), std::fs::read(&evil).unwrap());
        repo.chmod(&format!("hooks/{hook}"), 0o755);
    }
    let config = repo.text(".git/config");
    let evil = evil.to_str().unwrap();
    // Without the kernel's help each by itself, with it all at once.
    let each = CONFIGURATION.chunks(1).map(|one| (one, false));
    for (settings, kernel) in each.chain([(CONFIGURATION, true)]) {
        repo.write(".git/config", &config);
        for (key, value) in settings {
            repo.git(&["config", key, &value.replace("EVIL", evil)]);
        }
        let key = settings[0].0;
        repo.write("a.evil", format!("changed {key}\n"));
        let index = repo.read(".git/index");
        // What is switched off does not stand in the way.
        repo.aye(&["shell", "git status --short"]).exits(0).says("a.evil");
        for command in LOOKING {
            if kernel {
                repo.aye(&["shell", command]);
            } else {
                without_sandbox(&repo, command);
            }
            assert!(
                !mark.exists(),
                "{settings:?} with {command} (sandbox: {kernel}) ran: {}",
                std::fs::read_to_string(&mark).unwrap_or_default()
            );
        }
        assert_eq!(repo.read(".git/index"), index, "{settings:?} (sandbox: {kernel})");
    }
    // The trap works: git alone steps into it.
    repo.write(".git/config", &config);
    repo.git(&["config", "core.fsmonitor", evil]);
    repo.try_git(&["status"]);
    assert!(mark.exists(), "the test proves nothing");
}

#[test]
fn no_merge_is_done_again_with_the_drivers_of_the_repository() {
    let repo = repo();
    repo.write(".gitattributes", "a.txt merge=evil\n");
    repo.commit("Attributes");
    repo.git(&["checkout", "-q", "-b", "other"]);
    repo.write("a.txt", "other\n");
    repo.commit("Other");
    repo.git(&["checkout", "-q", "-"]);
    repo.write("a.txt", "mine\n");
    repo.commit("Mine");
    repo.try_git(&["merge", "-q", "other"]);
    repo.write("a.txt", "both\n");
    repo.commit("Merge");
    let mark = repo.outer().join("ran");
    repo.git(&["config", "merge.evil.driver", &format!("touch {}; false", mark.display())]);
    repo.git(&["config", "log.diffMerges", "remerge"]);
    for command in ["git log -m -p -1", "git show -m", "git show --diff-merges=on"] {
        let shown = without_sandbox(&repo, command);
        assert!(shown.contains("-mine") && shown.contains("-other"), "{command}: {shown}");
        repo.aye(&["shell", command]).exits(0).says("-mine");
    }
    for command in ["git show --diff-merges=remerge", "git log -p --diff-merges=r"] {
        without_sandbox(&repo, command);
        repo.aye(&["shell", command]).exits(4);
    }
    assert!(!mark.exists());
    // The trap works: git alone steps into it.
    repo.try_git(&["show", "-m"]);
    assert!(mark.exists(), "the test proves nothing");
}

/// Runs the argument lists of the plan on a system with nothing but the policy; returns the output.
fn without_sandbox(repo: &Repo, command: &str) -> String {
    without_sandbox_denying(repo, command, aye::shell::denied::DEFAULT).unwrap_or_default()
}

/// The same with another list of what stays unread; `None` if it is refused.
fn without_sandbox_denying(repo: &Repo, command: &str, denied: &[&str]) -> Option<String> {
    use aye::shell::access::Access;
    use aye::shell::plan::Action;
    let world = aye::shell::World {
        root: repo.root().to_owned(),
        cwd: repo.root().to_owned(),
        home: Some(repo.outer().join("home")),
        environment: Vec::new(),
        access: Access::new(denied, None, repo.root(), |_| None),
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
fn without_a_sandbox_denied_files_are_left_out_by_name_and_by_pair() {
    let repo = repo();
    repo.write("d/open.txt", "hunter2 is open\n");
    repo.write("e/open.txt", "hunter2 was open\n");
    for name in ["x[1].p12", "a*.p12", "a?{b}.p12", "a\\b.p12", "-x.p12", "q\nw.p12"] {
        repo.write(&format!("d/{name}"), "hunter2\n");
    }
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(b"d/\xff.p12");
        std::fs::write(repo.root().join(name), "hunter2\n").expect("written");
        std::os::unix::fs::symlink(repo.root().join(name), repo.path("odd")).expect("linked");
        repo.aye(&["shell", "cat odd"]).exits(4);
        repo.aye(&["shell", "grep -rh hunter2 d"]).says("is open").lacks("hunter2\n");
    }
    repo.write("e/plan.txt", "x\n");
    repo.write("d/plan.txt", "hunter2\n");
    let shown = |command: &str| without_sandbox_denying(&repo, command, &["*.p12", "d/plan.txt"]);
    let found = shown("grep -r hunter2 d").expect("it is allowed");
    assert_eq!(found, "d/open.txt:hunter2 is open\n");
    let differs = shown("diff -raN d e").expect("it is allowed");
    assert!(differs.contains("-hunter2 is open") || differs.contains("< hunter2 is open"));
    assert!(!differs.contains("hunter2\n"), "{differs}");
    assert!(shown("diff d/open.txt e").is_some());
    for pair in ["diff d e/plan.txt", "diff e/plan.txt d", "diff ./d/ e/plan.txt"] {
        assert!(shown(pair).is_none(), "{pair}");
    }
}

#[test]
fn configuration_that_cannot_be_switched_off_is_refused() {
    let repo = repo();
    let config = repo.text(".git/config");
    for addition in [
        "[include]\n\tpath = ../evil.config\n",
        "[includeIf \"gitdir:/\"]\n\tpath = ../evil.config\n",
        "[core]\n\tworktree = /\n",
        "[core]\n\tworktree = ../..\n",
        "[blame]\n\tignoreRevsFile = .env\n",
        "[filter \"a=b\"]\n\tclean = evil\n",
        "[filter.a \"b\"]\n\tclean = evil\n",
        "[broken\n",
    ] {
        repo.write(".git/config", format!("{config}{addition}"));
        repo.aye(&["shell", "git status"]).fails("COMMAND_NOT_ALLOWED", 4);
        repo.aye(&["shell", "cat a.txt"]).exits(0);
    }
    // What is included would be printed.
    repo.write(".env", "SECRET=hunter2\n");
    repo.write(".git/config", format!("{config}[include]\n\tpath = ../.env\n"));
    for command in ["git config -l", "git config list", "git config --get-all secret.x"] {
        repo.aye(&["shell", command]).fails("COMMAND_NOT_ALLOWED", 4).lacks("hunter2");
    }
    repo.aye(&["shell", "git config --no-includes -l"]).exits(0).says("core.bare=false");
}

#[test]
fn a_repository_inside_the_repository_is_held_to_the_same() {
    let repo = repo();
    let mark = repo.outer().join("ran");
    let evil = format!("touch {}", mark.display());
    repo.git(&["init", "-q", "vendor/inner"]);
    repo.git(&["-C", "vendor/inner", "config", "core.fsmonitor", &evil]);
    repo.git(&["init", "-q", "--bare", "vendor/bare"]);
    repo.git(&["-C", "vendor/bare", "config", "core.fsmonitor", &evil]);
    for command in [
        "cd vendor/inner && git status",
        "git -C vendor/inner status",
        "cd vendor/bare && git log",
        "cd vendor/bare && git status",
        "git -C vendor/bare rev-parse HEAD",
        "cd vendor/inner/.git && git log",
        "git status",
    ] {
        repo.aye(&["shell", command]);
        assert!(!mark.exists(), "{command}");
    }
    repo.aye(&["shell", "git -C vendor/bare log"]).exits(128);
}

/// A directory named `.git` that is no repository is passed over by git, and must not hide the
/// configuration of the one above.
#[test]
fn an_empty_dot_git_hides_nothing() {
    let repo = repo();
    repo.write("sub/.git/x", "");
    repo.write("sub/a.evil", "x\n");
    let config = repo.text(".git/config");
    repo.write(".git/config", format!("{config}[filter.Evil]\n\tclean = x\n"));
    let json = repo.aye(&["--json", "shell", "--explain", "cd sub && git status"]).exits(0).json();
    let arguments = json["steps"][1]["arguments"].to_string();
    assert!(arguments.contains("filter.evil.clean="), "{arguments}");
    repo.write(".git/config", format!("{config}[include]\n\tpath = x\n"));
    repo.aye(&["shell", "cd sub && git status"]).fails("COMMAND_NOT_ALLOWED", 4);
}

#[test]
fn it_works_outside_a_repository_and_in_a_bare_one() {
    let outside = Repo::outside_readable();
    outside.write("x.txt", "x\n");
    outside.aye(&["shell", "cat x.txt"]).exits(0).says("x\n");
    let bare = Repo::outside_readable().init(&["--bare"]);
    bare.aye(&["shell", "git rev-parse --is-bare-repository"]).exits(0).says("true");
}

#[test]
fn the_environment_does_not_reach_the_programs() {
    let repo = repo();
    let run = repo
        .cmd(&["shell", "printenv GREP_COLORS || echo gone; git var GIT_PAGER; printenv API_KEY"])
        .env("GREP_COLORS", "x")
        .env("API_KEY", "hunter2")
        .env("GIT_PAGER", "evil")
        .run();
    assert_eq!(run.out(), "gone\ncat\n");
    repo.cmd(&["shell", "cat /proc/self/environ"])
        .env("API_KEY", "hunter2")
        .run()
        .fails("COMMAND_NOT_ALLOWED", 4);
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
    let repo = Repo::readable(&[("directory/a.txt", "a\n")]);
    for (file, why) in [("directory", "is a directory"), ("missing", "is not there")] {
        let command = format!("cat < {file}");
        repo.aye(&["shell", &command]).fails("COMMAND_NOT_ALLOWED", 4).notes(why);
    }
    repo.aye(&["shell", "cat < directory/a.txt"]).ok().says("a\n");
}

/// A repository whose `.env` was committed; returns the id of its content too.
fn with_secret() -> (Repo, String) {
    let repo = repo();
    repo.write(".env", "TOP=hunter2\n");
    repo.commit("Too much");
    let id = repo.git(&["rev-parse", "HEAD:.env"]).trim().to_owned();
    (repo, id)
}

/// Git has many ways to write an object's id, and none of them shows a denied file.
#[test]
fn a_denied_file_is_not_shown_by_its_id_however_that_is_written() {
    let (repo, id) = with_secret();
    let short = &id[..8];
    repo.write(short, "a file of that name\n");
    repo.write("x/README", "x\n");
    for form in [
        "git cat-file -p -- ID",
        "git cat-file -p ID",
        "git cat-file blob -- ID",
        "git cat-file -- blob ID",
        "git cat-file -p SHORT",
        "git cat-file -p '[x-1-gSHORT'",
        "git cat-file -p 'a@{1-gSHORT'",
        "git cat-file -p 'a@{1-gSHORT^{}'",
        "git cat-file -p 'a~b-gSHORT^{blob}'",
        "git cat-file -p -- '-x-gSHORT'",
        "git show 'a~b-gSHORT'",
        "git show '[x-1-gSHORT'",
        "git show 'HEAD:x-gSHORT'",
        "git show ':x-gSHORT'",
        "git show 'x..-gSHORT'",
        "git show ID --",
        "git show -L1,1:a.txt ID",
        "git diff 'a~b-gSHORT' HEAD:a.txt",
        "git diff HEAD:a.txt..a~b-gSHORT",
        "git grep '' 'a~b-gSHORT'",
        "git grep '' ID",
        "cd .git && git show ID",
        "cd x && git show ID",
    ] {
        let command = form.replace("ID", &id).replace("SHORT", short);
        let run = repo.aye(&["shell", &command]).fails("COMMAND_NOT_ALLOWED", 4);
        assert!(!format!("{}{}", run.out(), run.err()).contains("hunter2"), "{command}");
    }
    // What is nothing at all is git's to say.
    for command in ["git show nosuch", "git cat-file -p deadbeef", "git show HEAD:no/such"] {
        repo.aye(&["shell", command]).exits(128).notes("fatal: ");
    }
    let described = format!("v1-1-g{}", repo.git(&["rev-parse", "--short", "HEAD"]).trim());
    repo.aye(&["shell", &format!("git show {described}")]).exits(0).says("Too much");
    repo.aye(&["shell", "git show '@{1 second ago}' -s"]).exits(0);
    repo.aye(&["shell", "git show HEAD^! -- a.txt"]).exits(0);
}

/// In a repository whose format cannot be read here, git itself is asked.
#[test]
fn ids_are_told_in_a_sha256_repository_too() {
    let repo = Repo::outside_readable().init(&["--object-format=sha256"]);
    repo.write(".env", "TOP=hunter2\n");
    repo.write("a.txt", "one\n");
    repo.commit("One");
    let id = repo.git(&["rev-parse", "HEAD:.env"]).trim().to_owned();
    for name in [&id, &id[..8], &format!("x-g{}", &id[..8])] {
        for verb in ["show", "cat-file -p", "grep ''"] {
            let command = format!("git {verb} {name}");
            repo.aye(&["shell", &command]).fails("COMMAND_NOT_ALLOWED", 4).lacks("hunter2");
        }
    }
    repo.aye(&["shell", "git show HEAD:a.txt"]).exits(0).says("one");
    repo.aye(&["shell", "git show HEAD"]).exits(0).says("+one").lacks("hunter2");
}

/// A file that was called `.env` once shows nothing of that time.
#[test]
fn renames_do_not_lead_to_denied_names() {
    let repo = repo();
    repo.write(".env", "one=hunter2\ntwo=2\nthree=3\nfour=4\nfive=5\n");
    repo.commit("Too much");
    repo.git(&["mv", "-f", ".env", ".env.example"]);
    repo.commit("Rename");
    repo.write(".env.example", "one=\ntwo=2\nthree=3\nfour=4\nfive=5\n");
    repo.commit("Clear it");
    for command in [
        "git log -p --follow .env.example",
        "git log -p --follow -2 -- .env.example",
        "git log --follow -U1 .env.example",
        "git log --follow -S hunter2 -p .env.example",
    ] {
        repo.aye(&["shell", command]).fails("COMMAND_NOT_ALLOWED", 4).lacks("hunter2");
    }
    repo.git(&["config", "log.follow", "true"]);
    for command in [
        "git log -L1,3:.env.example",
        "git log -L1,3:.env.example -M -C",
        "git log -L1,3:.env.example -M HEAD",
        "git log -p .env.example",
    ] {
        repo.aye(&["shell", command]).exits(0).says("Clear it").lacks("Too much");
    }
    let named = repo.aye(&["shell", "git log --follow --oneline .env.example"]).exits(0);
    named.says("Too much");
    repo.git(&["mv", "a.txt", "moved.txt"]);
    repo.commit("Move");
    let shown = repo.aye(&["shell", "git log --follow -p moved.txt"]).exits(0);
    shown.says("rename from a.txt").says("+one");
}

/// What a path is now says nothing about what was there.
#[test]
fn a_file_that_was_a_directory_shows_nothing_of_it() {
    let repo = repo();
    repo.write("d/.env", "TOP=hunter2\n");
    repo.commit("A directory");
    repo.git(&["rm", "-rq", "-f", "d"]);
    repo.write("d", "now a file\n");
    repo.commit("A file");
    for command in [
        "git log -p -- d",
        "git log -p d",
        "git show HEAD -- d",
        "git diff HEAD~1 -- d",
        "git diff HEAD~1 d",
        "git grep hunter2 HEAD~1 -- d",
        "git log --cc -m -- d a.txt",
    ] {
        repo.aye(&["shell", command]).lacks("TOP=");
    }
    repo.aye(&["shell", "git log -p -- d"]).exits(0).says("+now a file");
}

/// A key that was committed and removed again is still a key.
#[test]
fn private_keys_stay_unread_in_history() {
    let repo = repo();
    let key = "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n";
    repo.write("old.pem", key);
    repo.write("c.pem", key);
    repo.write("ca.pem", "-----BEGIN CERTIFICATE-----\nfine\n");
    repo.commit("Keys");
    repo.git(&["rm", "-q", "-f", "old.pem"]);
    repo.write("c.pem", "-----BEGIN CERTIFICATE-----\nfine\n");
    repo.commit("No keys");
    for command in [
        "git show HEAD~1:old.pem",
        "git cat-file -p HEAD~1:old.pem",
        "git cat-file blob HEAD~1:old.pem",
        "git blame HEAD~1 -- old.pem",
        "git blame HEAD~1 c.pem",
        "git log -L1,1:c.pem",
        "git diff HEAD~1:old.pem HEAD:a.txt",
        "git diff HEAD~1:old.pem..HEAD:a.txt",
        "git log -p -- c.pem",
        "git show HEAD~1 -- c.pem",
        "git diff HEAD~1 -- c.pem",
        "git grep hunter2 HEAD~1 -- c.pem",
        "git log -p --follow c.pem",
    ] {
        repo.aye(&["shell", command]).fails("COMMAND_NOT_ALLOWED", 4).lacks("hunter2");
    }
    for command in ["git log -p", "git log -p -- '*.pem'", "git grep hunter2 HEAD~1"] {
        repo.aye(&["shell", command]).lacks("+hunter2").lacks(":hunter2");
    }
    repo.aye(&["shell", "git show HEAD:ca.pem"]).exits(0).says("fine");
    repo.aye(&["shell", "git diff HEAD~1:ca.pem HEAD:a.txt"]).exits(0).says("-fine");
    repo.aye(&["shell", "git blame -s c.pem"]).exits(0).says("fine");
    repo.aye(&["shell", "git log --oneline -- old.pem"]).exits(0).says("No keys");
}

/// A denied place has many names: through the id of its directory, from a repository inside, from a
/// linked work tree.
#[test]
fn a_denied_place_stays_unread_whichever_way_it_is_named() {
    let repo = repo();
    repo.write("secrets/k", "hunter2\n");
    repo.write("secrets/a:b", "hunter2\n");
    repo.commit("Secrets");
    repo.write("secrets/k", "hunter2-changed\n");
    repo.commit("Changed");
    repo.git(&["init", "-q", "nest"]);
    repo.write("nest/priv/k", "hunter2\n");
    repo.write("nest/open", "open\n");
    repo.git(&["-C", "nest", "add", "."]);
    repo.git(&["-C", "nest", "commit", "-qm", "Nested"]);
    repo.git(&["worktree", "add", "-q", "linked", "HEAD"]);
    for place in ["secrets/", "nest/priv"] {
        repo.git(&["config", "--add", "aye.shellDenyRead", place]);
    }
    let tree = |revision: &str| repo.git(&["rev-parse", revision]).trim().to_owned();
    let (old, new) = (tree("HEAD~1:secrets"), tree("HEAD:secrets"));
    for command in [
        &format!("git show {new}:k"),
        &format!("git cat-file -p {new}:k"),
        &format!("git diff {new}:k HEAD:a.txt"),
        &format!("git diff {old} {new}"),
        &format!("echo {old} {new} | git diff-tree --stdin -p"),
        "git show 'HEAD:secrets/a:b'",
        "git show HEAD^{tree}:secrets/k",
        "git -C nest show HEAD:priv/k",
        "cd nest && git show HEAD:priv/k",
        "cd nest/priv && git show HEAD:./k",
        "git -C linked show HEAD:secrets/k",
        "git -C linked blame HEAD -- secrets/k",
        "cd linked/secrets && git blame HEAD -- k",
        "cd linked/secrets && git show HEAD:./k",
        "cd linked/secrets && git log -L1,1:k",
    ] {
        repo.aye(&["shell", command]).fails("COMMAND_NOT_ALLOWED", 4).lacks("hunter2");
    }
    for command in [
        "git -C nest log -p",
        "cd nest && git log -p",
        "cd nest/priv && git log -p",
        "git -C nest show",
        "git -C linked log -p",
        "git -C linked grep hunter2",
        "git log -p",
    ] {
        repo.aye(&["shell", command]).lacks("hunter2");
    }
    repo.aye(&["shell", "git -C nest log -p"]).exits(0).says("+open");
    repo.aye(&["shell", "git show HEAD:a.txt"]).exits(0).says("one");
    repo.aye(&["shell", &format!("git show {new}")]).exits(0).says("k");
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

/// Lists of names would open files that nobody looked at; negative numbers are no flags.
#[test]
fn what_is_named_in_a_file_is_not_opened() {
    let repo = repo();
    repo.write(".env", "TOP=hunter2\n");
    for command in [
        "echo 'x  .env' | md5sum -c",
        "sha256sum --check a.txt",
        "cksum -c a.txt",
        "b2sum --status -c a.txt",
        "git ls-files -o -i --exclude-per-directory=.env",
    ] {
        repo.aye(&["shell", command]).fails("COMMAND_NOT_ALLOWED", 4);
    }
    repo.aye(&["shell", "sha1sum -c a.txt"]).notes("hint: name the files");
    repo.aye(&["shell", "seq 3 -1 1"]).exits(0).says("3\n2\n1\n");
    repo.aye(&["shell", "seq -s, -2 0"]).exits(0).says("-2,-1,0");
    repo.aye(&["shell", "seq -x 2"]).fails("COMMAND_NOT_ALLOWED", 4);
    repo.write("pats", "fn b\n");
    repo.git(&["add", "pats"]);
    repo.aye(&["shell", "git grep -h -f pats"]).exits(0).says("fn b");
    repo.aye(&["shell", "git grep -f .env"]).fails("COMMAND_NOT_ALLOWED", 4);
}

/// Git quotes what it cannot read in files that its configuration or its own directory lead to.
#[test]
#[cfg(unix)]
fn a_denied_file_is_not_quoted_by_git() {
    let repo = repo();
    repo.write(".envrc", "export hunter2\n");
    repo.write(".git/info/attributes", "");
    for (key, commands) in [
        ("core.attributesFile", &["git check-attr -a export", "git check-attr -a -- hunter2"][..]),
        ("core.excludesFile", &["git check-ignore -v hunter2 'export hunter2'", "git status"][..]),
        ("mailmap.file", &["git log"][..]),
        ("mailmap.blob", &["git log"][..]),
        ("diff.orderFile", &["git diff HEAD", "git show"][..]),
        ("blame.ignoreRevsFile", &["git blame a.txt"][..]),
    ] {
        repo.git(&["config", key, ".envrc"]);
        for command in commands {
            let run = repo.aye(&["shell", command]);
            let told = format!("{}{}", run.out(), run.err()).replace(command, "");
            assert!(!told.contains("export") && !told.contains("hunter2"), "{command}: {told}");
        }
        repo.git(&["config", "--unset", key]);
    }
    repo.remove(".git/info/attributes");
    for name in ["info/attributes", "info/grafts", "shallow", "objects/info/alternates"] {
        let deep = "../".repeat(name.matches('/').count() + 1);
        repo.symlink(&format!("{deep}.envrc"), &format!(".git/{name}"));
        for command in ["git log", "git check-attr -a export", "git config --no-includes -l"] {
            repo.aye(&["shell", command]).fails("COMMAND_NOT_ALLOWED", 4).lacks("hunter2");
        }
        repo.remove(&format!(".git/{name}"));
    }
    std::fs::hard_link(repo.path(".envrc"), repo.path(".git/shallow")).unwrap();
    repo.aye(&["shell", "git log"]).fails("COMMAND_NOT_ALLOWED", 4).lacks("hunter2");
    repo.remove(".git/shallow");
    repo.aye(&["shell", "git log"]).exits(0);
}

/// What git says of the other work trees, and of submodules, it reads in their directories.
#[test]
#[cfg(unix)]
fn a_denied_file_is_not_quoted_for_another_work_tree_or_a_submodule() {
    let repo = repo();
    repo.git(&["worktree", "add", "-q", "../linked", "-b", "side"]);
    let linked = repo.outer().join("linked");
    let outside = repo.outer().join("other/.env");
    std::fs::create_dir_all(outside.parent().unwrap()).unwrap();
    for file in [&outside, &repo.path(".envrc")] {
        std::fs::write(file, "A=hunter2\nB hunter2\n").unwrap();
    }
    let commands = [
        "git worktree list --porcelain",
        "git worktree list -v",
        "git branch -vv",
        "git for-each-ref --format='%(refname) %(worktreepath)'",
        "git config -l",
    ];
    let here = repo.path(".");
    let refused = |name: &str, directories: &[&std::path::Path]| {
        for directory in directories {
            for command in commands {
                let run = repo.cmd(&["-C", directory.to_str().unwrap(), "shell", command]);
                run.run().fails("COMMAND_NOT_ALLOWED", 4).lacks("hunter2").notes(name);
            }
        }
    };
    for name in ["locked", "gitdir"] {
        let place = format!(".git/worktrees/linked/{name}");
        let before = std::fs::read(repo.path(&place)).ok();
        for target in [outside.to_str().unwrap(), "../../../.envrc"] {
            let _ = std::fs::remove_file(repo.path(&place));
            repo.symlink(target, &place);
            refused(name, &[&here, &linked]);
        }
        repo.remove(&place);
        std::fs::hard_link(repo.path(".envrc"), repo.path(&place)).unwrap();
        refused(name, &[&here]);
        repo.remove(&place);
        if let Some(before) = before {
            std::fs::write(repo.path(&place), before).unwrap();
        }
    }
    repo.git(&["worktree", "lock", "--reason", "on a stick", "../linked"]);
    repo.aye(&["shell", "git worktree list -v"]).exits(0).says("locked: on a stick");
    repo.git(&["init", "-q", "sub"]);
    repo.git(&["-C", "sub", "commit", "-q", "--allow-empty", "-m", "One"]);
    repo.git(&["add", "sub"]);
    repo.git(&["-C", "sub", "pack-refs", "--all"]);
    repo.remove("sub/.git/packed-refs");
    repo.symlink("../../.envrc", "sub/.git/packed-refs");
    for command in ["git status", "git diff", "git status --short 2>&1 | cat"] {
        let run = repo.aye(&["shell", command]).lacks("hunter2");
        assert!(!run.err().contains("hunter2"), "{command}: {run}");
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

#[test]
fn test_asks_about_no_variables() {
    let repo = repo();
    for command in ["test -v HOME", "[ -R HOME ]", "test ! -v HOME", "test -f a.txt -a -v HOME"] {
        repo.aye(&["shell", command]).fails("COMMAND_NOT_ALLOWED", 4);
    }
    for command in ["test -v = -v", "[ -n -v ]", "test -f a.txt"] {
        repo.aye(&["shell", command]).ok();
    }
}

#[test]
fn credentials_of_agents_and_package_managers_are_not_read() {
    let repo = repo();
    let home = repo.outer().join("home");
    for path in [
        ".claude/.credentials.json",
        ".codex/auth.json",
        ".config/cursor/auth.json",
        ".local/share/opencode/auth.json",
        ".m2/settings.xml",
        ".my.cnf",
        ".gemini/mcp-oauth-tokens.json",
        ".local/share/opencode/mcp-auth.json",
        ".claude/projects/p/s.jsonl",
        ".claude/shell-snapshots/s.sh",
        ".codex/sessions/2026/01/01/rollout-x.jsonl",
        ".gemini/tmp/p/chats/s.json",
        ".config/goose/secrets.yaml",
        ".aider/oauth-keys.env",
        ".config/io.datasette.llm/keys.json",
        ".cache/huggingface/stored_tokens",
        ".config/fish/fish_variables",
        ".zhistory",
        ".histfile",
        ".config/NuGet/NuGet.Config",
        ".config/uv/uv.toml",
        ".yarnrc",
        ".sbt/1.0/credentials.sbt",
        ".sbt/.credentials",
        ".hex/hex.config",
        ".kaggle/kaggle.json",
        ".config/doctl/config.yaml",
        ".config/helm/registry/config.json",
        ".local/share/com.vercel.cli/auth.json",
        ".fly/config.yml",
        ".pulumi/credentials.json",
        ".s3cfg",
        ".curlrc",
        ".authinfo.gpg",
        ".subversion/auth/svn.simple/x",
    ] {
        let file = home.join(path);
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        std::fs::write(&file, "hunter2\n").expect("a file");
        let run = repo.aye(&["shell", &format!("cat {}", file.display())]);
        run.fails("COMMAND_NOT_ALLOWED", 4);
    }
    repo.write(".npmrc", "//registry/:_authToken=hunter2\n");
    repo.aye(&["shell", "cat .npmrc"]).fails("COMMAND_NOT_ALLOWED", 4);
    repo.aye(&["shell", "grep -r hunter2 ."]).lacks("hunter2");
    repo.aye(&["shell", "git status --short"]).ok().says(".npmrc");
}

/// It may hold credentials as the repository's does; git itself reads neither of the user's here.
#[test]
fn the_users_own_git_configuration_is_not_read() {
    let repo = repo();
    let home = repo.outer().join("home");
    let global = repo.outer().join("own/settings");
    let files = [home.join(".gitconfig"), home.join(".config/git/config"), global.clone()];
    for file in &files {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "[github]\n\ttoken = hunter2\n").unwrap();
    }
    repo.symlink("../own/settings", "notes.txt");
    let run = |command: &str| {
        repo.cmd(&["shell", command]).env("GIT_CONFIG_GLOBAL", global.as_os_str()).run()
    };
    for file in &files {
        let file = file.display();
        for command in [format!("cat {file}"), format!("grep -r hunter2 {file}")] {
            run(&command).fails("COMMAND_NOT_ALLOWED", 4);
        }
    }
    run("cat notes.txt").fails("COMMAND_NOT_ALLOWED", 4);
    run(&format!("grep -r hunter2 {}", home.display())).lacks("hunter2");
    run(&format!("cat {}", files[0].display())).notes("git config -l");
    run("git status --short").exits(0).says("notes.txt");
    std::fs::write(home.join(".config/git/ignore"), "x\n").unwrap();
    run(&format!("cat {}", home.join(".config/git/ignore").display())).exits(0);
    repo.aye(&["shell", "cat /dev/null"]).exits(0);
}
