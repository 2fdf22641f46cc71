//! `aye shell`: a denied file stays unread, whatever asks for it.

use super::shell::{repo, without_sandbox_denying};
use crate::support::Repo;

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
    let repo = Repo::outside().init(&["--object-format=sha256"]);
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

/// What the shell does not read, no other tool quotes or copies for it.
#[test]
fn other_tools_quote_and_copy_nothing_of_a_denied_file() {
    let repo = repo();
    repo.write(".gitignore", ".env\n");
    repo.write(".env", "A=1\nSTRIPE_KEY=hunter2\nB=2\nC=3\nD=4\nE=5\n");
    let guess = ["propose", ".env", "--old", "A=1\nSTRIPE_KEY=\n", "--new", "x", "-m", "m"];
    let call = |tool: &str, request: serde_json::Value| {
        repo.agent("codex", &["call", tool, &request.to_string()])
    };
    let patches = [
        "*** Begin Patch\n*** Update File: .env\n@@\n A=1\n-STRIPE_KEY=q\n+x\n*** End Patch\n",
        "--- a/.env\n+++ b/.env\n@@ -1,3 +1,3 @@\n A=1\n-STRIPE_KEY=q\n+x\n B=2\n",
    ];
    let mut runs =
        vec![repo.agent("codex", &guess), repo.agent("codex", &[&guess[..], &["--json"]].concat())];
    runs.push(call("changes", serde_json::json!({
        "action": "propose", "file_path": ".env", "old_content": "A=1\nSTRIPE_KEY=\n", "new_content": "x",
    })));
    for patch in patches {
        runs.push(call("apply_patch", serde_json::json!({ "patch": patch })));
        runs.push(call("propose_patch", serde_json::json!({ "patch": patch })));
    }
    for run in runs {
        assert_ne!(run.status, 0, "{run}");
        let told = format!("{}{}", run.out(), run.err());
        assert!(told.contains("not quoted to agents") && !told.contains("hunter2"), "{run}");
    }
    for word in ["copy", "rename"] {
        let patch = format!(
            "diff --git a/.env b/pub.txt\nsimilarity index 100%\n{word} from .env\n{word} to pub.txt\n"
        );
        for tool in ["apply_patch", "propose_patch"] {
            let run = call(tool, serde_json::json!({ "patch": patch })).exits(4).lacks("hunter2");
            assert!(run.out().contains("private_path"), "{run}");
        }
    }
    assert!(!repo.exists("pub.txt") && repo.exists(".env"));
    // People see what the file has, and agents what is not denied.
    repo.aye(&guess).notes("hunter2");
    repo.git(&["config", "aye.shellDenyRead", "a.txt"]);
    repo.write("a.txt", "one\na hunter2\n");
    let run =
        repo.agent("codex", &["propose", "a.txt", "--old", "one\na h\n", "--new", "x", "-m", "m"]);
    assert!(!run.fails("old_content_not_found", 6).err().contains("hunter2"));
    repo.write("open.txt", "one\na hunter2\n");
    let run = repo
        .agent("codex", &["propose", "open.txt", "--old", "one\na h\n", "--new", "x", "-m", "m"]);
    run.notes("a hunter2");
    let edit = ["propose", ".env", "--old", "A=1", "--new", "A=2", "-m", "m"];
    repo.agent("codex", &edit).ok();
}
