//! `aye blame`: each line to its commit, and to the proposal that the commit's trailers name.

use crate::support::{Repo, record};

/// What each line begins with: the proposal, or the commit.
fn origins(repo: &Repo, args: &[&str]) -> Vec<String> {
    let out = repo.cmd(&["blame"]).args(args).run().ok().out();
    out.lines().map(|line| line.split(' ').next().expect("a word").to_owned()).collect()
}

#[test]
fn a_line_has_its_commit_and_the_trailers_of_it() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\nfour\n")]);
    let start = repo.git(&["rev-parse", "--short=10", "HEAD"]);
    let id = record::propose(&repo, "a.txt", "two", "2");
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    // What is not committed is not looked at.
    repo.write("a.txt", "one\n2\nthree\nfour\nfive\n");
    let all = [&start, &id, &start, &start].map(String::as_str);
    assert_eq!(origins(&repo, &["a.txt"]), all);
    assert_eq!(origins(&repo, &["a.txt", "-L", "2,+1"]), [id.as_str()]);
    repo.aye(&["blame", "a.txt", "-L1,1"]).ok().says("Ada Reviewer");
    let of_it = repo.aye(&["blame", "a.txt", "-L2,2"]).ok();
    for key in ["Proposed-by", "Reviewed-by"] {
        let format = format!("--format=%(trailers:key={key},valueonly)");
        let name = repo.git(&["log", "-1", &format]).trim().to_owned();
        of_it.clone().says(name.split(" <").next().expect("a name"));
    }
    let text = repo.aye(&["blame", "a.txt", "-L2,2"]).ok().plain();
    assert!(text.out().starts_with(&id) && text.out().ends_with("2) 2\n"), "{text}");
}

#[test]
fn it_goes_through_a_rename_and_names_what_it_cannot_do() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\n"), ("b.bin", "\0\n")]);
    let start = repo.git(&["rev-parse", "--short=10", "HEAD"]);
    repo.git(&["mv", "a.txt", "c.txt"]);
    repo.aye(&["blame", "c.txt"]).fails("file_not_found", 3);
    repo.commit("Move");
    assert_eq!(origins(&repo, &["c.txt"]), [start.as_str(); 2]);
    repo.aye(&["blame", "b.bin"]).fails("binary_content", 6);
    repo.aye(&["blame", "c.txt", "-L", "9"]).fails("git_failed", 4);
    Repo::new().aye(&["blame", "a.txt"]).fails("file_not_found", 3);
}

/// `git blame` of a file of the work tree would run its filter, and the file system monitor.
#[test]
fn no_program_of_the_repository_is_run() {
    let repo = Repo::with(&[("a.txt", "one\r\ntwo\r\n"), ("b.txt", "one\n")]);
    let ran = repo.outer().join("ran");
    repo.script("../program", &format!("echo $0 >>{}\nexec cat", ran.display()));
    let program = repo.outer().join("program");
    let program = program.to_str().expect("UTF-8");
    for key in ["core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.x.textconv"] {
        repo.git(&["config", key, program]);
    }
    repo.write(".git/info/attributes", "*.txt filter=x diff=x\n");
    let start = repo.git(&["rev-parse", "--short=10", "HEAD"]);
    for (name, count) in [("a.txt", 2), ("b.txt", 1)] {
        repo.write(name, "one\r\n2\r\n");
        let _ = std::fs::remove_file(&ran);
        assert_eq!(origins(&repo, &[name]), vec![start.as_str(); count]);
        assert!(!ran.exists(), "{name}: {}", std::fs::read_to_string(&ran).unwrap_or_default());
    }
}
