//! `aye shell`: credentials in output, in files and in the environment.

use super::shell::repo;

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
