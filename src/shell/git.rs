//! Where a repository's git directories are, and the environment in which git starts nothing that its configuration names.

use std::ffi::OsString;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// Variables that make programs quiet, repeatable, and deaf to the user's own set-up, by their value.
const FIXED: &[(&str, &str)] = &[
    ("1", "GIT_CONFIG_NOSYSTEM GIT_ATTR_NOSYSTEM GIT_NO_LAZY_FETCH"),
    ("1", "PYTHONDONTWRITEBYTECODE PYTHONNOUSERSITE PYTHONSAFEPATH"),
    ("0", "GIT_OPTIONAL_LOCKS GIT_TERMINAL_PROMPT GIT_ADVICE"),
    ("/dev/null", "GIT_CONFIG_SYSTEM GIT_CONFIG_GLOBAL"),
    ("cat", "PAGER GIT_PAGER"),
    ("dumb", "TERM"),
    ("false", "GIT_ASKPASS GIT_EDITOR GIT_SSH_COMMAND"),
    ("local", "GOTOOLCHAIN"),
    ("none", "GIT_ALLOW_PROTOCOL"),
];

/// Settings that start a program, or read a file from anywhere, switched off: section, names, value. What is missing here
/// fails in the sandbox; with this git answers all the same.
const OFF: &[(&str, &str, &str)] = &[
    ("core", "fsmonitor editor askPass sshCommand gitProxy alternateRefsCommand", "false"),
    ("core", "hooksPath attributesFile excludesFile", "/dev/null"),
    ("core", "pager", "cat"),
    ("credential", "helper", ""),
    ("diff", "orderFile", "/dev/null"),
    ("diff", "submodule", "short"),
    ("gc", "auto", "0"),
    ("gpg", "program openpgp.program x509.program ssh.program ssh.defaultKeyCommand", "false"),
    ("log", "diffMerges", "separate"),
    ("log", "showSignature", "false"),
    ("mailmap", "file", "/dev/null"),
    ("maintenance", "auto", "false"),
    ("protocol", "allow", "never"),
    ("status", "submoduleSummary", "false"),
    ("submodule", "recurse", "false"),
];

/// The environment of programs in the repository at `root`, beside what is passed on of the caller's.
pub(super) fn environment(root: &Path) -> Vec<(OsString, OsString)> {
    let directories = directories(root);
    // The first is what `git config` is left with: a repository of another user's is read, too.
    let mut pairs = vec![("safe.directory".to_owned(), root.as_os_str().to_owned())];
    for (section, names, value) in OFF {
        let names = names.split(' ');
        pairs.extend(names.map(|name| (format!("{section}.{name}"), value.into())));
    }
    if !directories.iter().any(|directory| directory == root) {
        pairs.push(("safe.bareRepository".into(), "explicit".into()));
    }
    for name in directories.iter().flat_map(|directory| filters(directory)) {
        let off = [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")];
        pairs.extend(off.map(|(key, value)| (format!("filter.{name}.{key}"), value.into())));
    }
    let mut all: Vec<(OsString, OsString)> = Vec::new();
    for (value, names) in FIXED {
        all.extend(names.split(' ').map(|name| (name.into(), value.into())));
    }
    all.push(("GIT_CONFIG_COUNT".into(), pairs.len().to_string().into()));
    for (index, (key, value)) in pairs.into_iter().enumerate() {
        all.push((format!("GIT_CONFIG_KEY_{index}").into(), key.into()));
        all.push((format!("GIT_CONFIG_VALUE_{index}").into(), value));
    }
    all
}

/// The names of the filters that the configuration in a git directory defines. A name that is written in another way is
/// missed, and its filter fails.
fn filters(directory: &Path) -> Vec<String> {
    let texts = ["config", "config.worktree"]
        .map(|name| read_to_string(directory.join(name)).unwrap_or_default());
    let lines = texts.iter().flat_map(|text| text.lines());
    let names = lines.filter_map(|line| line.trim().strip_prefix("[filter \"")?.split_once("\"]"));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// The git directory of the repository at `root`, the one of what its work trees share, and directories of objects that it
/// borrows; symlinks resolved. Only what has the form of one: the files that name them may be anybody's.
pub(super) fn directories(root: &Path) -> Vec<PathBuf> {
    let dot_git = root.join(".git");
    let own = match read_to_string(&dot_git) {
        Ok(text) => root.join(text.strip_prefix("gitdir:").unwrap_or_default().trim()),
        Err(_) if dot_git.is_dir() => dot_git,
        Err(_) => root.to_owned(),
    };
    let common = match read_to_string(own.join("commondir")) {
        Ok(text) => own.join(text.trim()),
        Err(_) => own.clone(),
    };
    if !(is_git(&common) && own.join("HEAD").is_file()) {
        return Vec::new();
    }
    let alternates = read_to_string(common.join("objects/info/alternates")).unwrap_or_default();
    let alternates = alternates.lines().map(|line| common.join("objects").join(line));
    let alternates = alternates.filter_map(|objects| objects.canonicalize().ok());
    let alternates = alternates
        .filter(|objects| objects.ends_with("objects") && objects.parent().is_some_and(is_git));
    let mut found: Vec<PathBuf> =
        [&own, &common].into_iter().filter_map(|found| found.canonicalize().ok()).collect();
    found.extend(alternates);
    found.dedup();
    found
}

fn is_git(directory: &Path) -> bool {
    directory.join("HEAD").is_file()
        && directory.join("objects").is_dir()
        && directory.join("refs").is_dir()
}

/// Every directory of the repository at `root`: its git directory and all of its work trees. No program comes from
/// there.
pub fn places(root: &Path) -> Vec<PathBuf> {
    let mut places = directories(root);
    for directory in places.clone() {
        // The main work tree, and the linked ones.
        let main = directory.parent().filter(|_| directory.ends_with(".git"));
        places.extend(main.map(Path::to_owned));
        for entry in directory.join("worktrees").read_dir().into_iter().flatten().flatten() {
            let dot_git = read_to_string(entry.path().join("gitdir")).unwrap_or_default();
            let tree = entry.path().join(dot_git.trim());
            places.extend(tree.parent().and_then(|tree| tree.canonicalize().ok()));
        }
    }
    places.push(root.to_owned());
    places
}
