//! History replayed through `aye patch`: each commit is taken back and put on again from git's
//! own diff, and once more from an envelope where one can say it; the tree must be git's each
//! time.
//!
//! ```text
//! cargo test --locked --test it replay::                                 # a generated history
//! AYE_REPLAY_REPO=~/src/project cargo test --locked --test it replay::   # its last 200 commits
//! ```
//!
//! `AYE_REPLAY_COMMITS` sets how many.

use crate::support::Repo;

/// Options of `git diff` that the commits take turns with.
const DIFFS: [&[&str]; 5] =
    [&["-M"], &["--no-renames"], &["-M", "-C", "-U1"], &["-M", "--patience", "-U8"], &["-B", "-M"]];

#[test]
fn every_commit_goes_back_and_forth() {
    let source = std::env::var_os("AYE_REPLAY_REPO");
    let count = match std::env::var("AYE_REPLAY_COMMITS") {
        Ok(count) => count.parse().expect("a number in AYE_REPLAY_COMMITS"),
        Err(_) if source.is_some() => 200,
        Err(_) => 24,
    };
    let repo = match &source {
        Some(path) => {
            let repo = Repo::new();
            let path = path.to_str().expect("a UTF-8 path in AYE_REPLAY_REPO");
            repo.git(&["fetch", "--quiet", "--no-tags", path, "HEAD"]);
            repo.git(&["checkout", "--quiet", "--detach", "FETCH_HEAD"]);
            repo
        }
        None => generated(count),
    };
    // A repository may say that files are to be changed on checkout; blobs are what counts here.
    repo.write(".git/info/attributes", "* -text -filter -ident -working-tree-encoding\n");
    let list = format!("--max-count={count}");
    let commits = repo.git(&["rev-list", "--no-merges", "--min-parents=1", &list, "HEAD"]);
    let mut tally = Tally::default();
    for (index, commit) in commits.lines().enumerate() {
        replay(&repo, commit, DIFFS[index % DIFFS.len()], &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.unified > 0 && tally.envelopes > 0, "{tally:?}");
}

#[derive(Debug, Default)]
struct Tally {
    /// Commits taken back and put on again as unified diffs.
    unified: usize,
    /// Of these, put on again as envelopes.
    envelopes: usize,
    /// Commits with symlinks or submodules, which were refused.
    refused: usize,
}

fn replay(repo: &Repo, commit: &str, options: &[&str], tally: &mut Tally) {
    let parent = repo.git(&["rev-parse", &format!("{commit}^1")]);
    let tree = |commit: &str| repo.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
    let (old, new) = (tree(&parent), tree(commit));
    if old == new {
        return;
    }
    let options = if leaves_out(repo, &parent, commit, options) { &["-M"][..] } else { options };
    let diff = |options: &[&str]| {
        let args = [&["diff", "--binary"], options, &[parent.as_str(), commit]].concat();
        repo.try_git(&args).ok().stdout
    };
    // A copy is not taken back, as by git.
    let diff = match diff(options) {
        copies if String::from_utf8_lossy(&copies).contains("\ncopy from ") => diff(&["-M"]),
        diff => diff,
    };
    repo.git(&["checkout", "--quiet", "--force", "--detach", commit]);
    let back = repo.aye_stdin(&["patch", "--json", "-p1", "-R"], &diff);
    if back.out().contains("FILE_MODE_REFUSED") {
        tally.refused += 1;
        return;
    }
    back.ok();
    assert_eq!(written(repo), old, "{commit} taken back with {options:?}");
    repo.aye_stdin(&["patch", "--json", "-p1"], &diff).ok();
    assert_eq!(written(repo), new, "{commit} put on again with {options:?}");
    tally.unified += 1;
    // With little context first; where that fits in several places, with whole files.
    for context in ["-U3", "-U1000000"] {
        let Some(envelope) = envelope(repo, &parent, commit, context) else { return };
        repo.git(&["checkout", "--quiet", "--force", "--detach", &parent]);
        let run = repo.aye_stdin(&["patch", "--json"], envelope);
        if context == "-U3" && run.out().contains("hunk_ambiguous") {
            continue;
        }
        run.ok();
        assert_eq!(written(repo), new, "{commit} as an envelope");
        tally.envelopes += 1;
        return;
    }
}

/// Does git's diff say nothing of a file that another is moved or copied onto? With `-B` it can, and
/// such a diff leads neither forwards nor backwards.
fn leaves_out(repo: &Repo, old: &str, new: &str, options: &[&str]) -> bool {
    let mut args = vec!["diff", "--raw", "-z"];
    args.extend(options);
    args.extend([old, new]);
    let raw = repo.try_git(&args).ok().stdout;
    let mut fields = raw.split(|b| *b == 0).map(String::from_utf8_lossy);
    let (mut targets, mut others) = (Vec::new(), Vec::new());
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let first = fields.next().expect("a path");
        match head.rsplit(' ').next().and_then(|status| status.chars().next()) {
            Some('R') => {
                targets.push(fields.next().expect("a second path"));
                others.push(first);
            }
            Some('C') => targets.push(fields.next().expect("a second path")),
            _ => others.push(first),
        }
    }
    targets.iter().any(|path| {
        !others.contains(path)
            && repo.try_git(&["cat-file", "-e", &format!("{old}:{path}")]).status == 0
    })
}

/// The id of the tree that the work tree is.
fn written(repo: &Repo) -> String {
    repo.git(&["add", "--all", "--force"]);
    repo.git(&["write-tree"])
}

/// The change as an envelope; `None` where one cannot say it: other modes, binary content,
/// a final newline that comes or goes, carriage returns.
fn envelope(repo: &Repo, old: &str, new: &str, context: &str) -> Option<Vec<u8>> {
    let raw = repo.try_git(&["diff", "-M", "--raw", "-z", old, new]).ok().stdout;
    let raw = String::from_utf8(raw).ok()?;
    let mut fields = raw.split('\0');
    let mut out = b"*** Begin Patch\n".to_vec();
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let from = fields.next()?;
        let kind = words[4].as_bytes()[0];
        let to = if kind == b'R' { fields.next()? } else { from };
        let mode = |word: &str, executable| word == "100644" || (executable && word == "100755");
        let fits = match kind {
            b'A' => mode(words[1], false),
            b'D' => mode(words[0], true),
            _ => words[0] == words[1] && mode(words[0], true),
        };
        if !fits || from.trim() != from || to.trim() != to || to.contains(['\n', '\\']) {
            return None;
        }
        let blob = |rev: &str, path: &str| {
            repo.try_git(&["cat-file", "blob", &format!("{rev}:{path}")]).ok().stdout
        };
        let plain = |bytes: &[u8]| {
            !bytes.contains(&0)
                && !bytes.contains(&b'\r')
                && (bytes.is_empty() || bytes.ends_with(b"\n"))
        };
        match kind {
            b'A' => {
                let bytes = blob(new, from);
                if !plain(&bytes) {
                    return None;
                }
                out.extend(format!("*** Add File: {from}\n").bytes());
                for line in bytes.split_inclusive(|b| *b == b'\n') {
                    out.push(b'+');
                    out.extend(line);
                }
            }
            b'D' => out.extend(format!("*** Delete File: {from}\n").bytes()),
            _ => {
                let (before, after) = (blob(old, from), blob(new, to));
                if !plain(&before) || !plain(&after) || before.starts_with(b"\xef\xbb\xbf") {
                    return None;
                }
                out.extend(format!("*** Update File: {from}\n").bytes());
                if to != from {
                    out.extend(format!("*** Move to: {to}\n").bytes());
                }
                let spec = [format!("{old}:{from}"), format!("{new}:{to}")];
                let diff =
                    repo.try_git(&["diff", "--text", context, &spec[0], &spec[1]]).ok().stdout;
                let hunks =
                    diff.split_inclusive(|b| *b == b'\n').skip_while(|l| !l.starts_with(b"@@"));
                for line in hunks {
                    if line.starts_with(b"@@") {
                        out.extend(b"@@\n");
                    } else {
                        out.extend(line);
                    }
                }
            }
        }
    }
    out.extend(b"*** End Patch\n");
    Some(out)
}

/// A history with something of everything, the same on every run.
fn generated(commits: usize) -> Repo {
    let repo = Repo::new();
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let mut names: Vec<String> = Vec::new();
    for number in 0..=commits {
        for _ in 0..=random(3) {
            let at = (!names.is_empty()).then(|| random(names.len()));
            match (random(10), at) {
                (0 | 1, _) | (_, None) => {
                    let name = format!("d{}/file {number}-{}.txt", random(4), random(1000));
                    let ending = if random(4) == 0 { "\r\n" } else { "\n" };
                    let lines = random(60);
                    let text: String =
                        (0..lines).map(|n| format!("line {}{ending}", n % 17)).collect();
                    repo.write(&name, if random(6) == 0 { text.trim_end() } else { &text });
                    names.push(name);
                }
                (2, Some(at)) => {
                    let name = names.swap_remove(at);
                    repo.remove(&name);
                }
                (3, Some(at)) => {
                    let to = format!("moved{}/{number}-{}", random(3), random(1000));
                    let bytes = repo.read(&names[at]);
                    repo.remove(&names[at]);
                    repo.write(&to, bytes);
                    names[at] = to;
                }
                (4, Some(at)) => {
                    let mode = if repo.mode(&names[at]) & 0o100 == 0 { 0o755 } else { 0o644 };
                    repo.chmod(&names[at], mode);
                }
                (5, Some(at)) => {
                    let bytes: Vec<u8> = (0..random(3000)).map(|_| random(256) as u8).collect();
                    repo.write(&names[at], [b"\0".to_vec(), bytes].concat());
                }
                (_, Some(at)) => {
                    let bytes = repo.read(&names[at]);
                    let mut lines: Vec<Vec<u8>> =
                        bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
                    for _ in 0..=random(4) {
                        let line = random(lines.len() + 1);
                        if random(3) == 0 && line < lines.len() {
                            lines.remove(line);
                        } else {
                            lines.insert(
                                line,
                                format!("new {number} {}\n", random(99)).into_bytes(),
                            );
                        }
                    }
                    repo.write(&names[at], lines.concat());
                }
            }
        }
        repo.commit(&format!("Commit {number}"));
    }
    repo
}
