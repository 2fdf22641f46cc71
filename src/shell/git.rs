//! Git directories, and an environment in which git starts no configured program.

use std::ffi::OsString;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// Variables, by value, that make programs repeatable and shut out the user's configuration.
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

/// Settings that start a program or read an arbitrary file, switched off: section, names, value. A
/// setting missing here fails in the sandbox; the switch lets git answer.
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

pub(super) fn environment(root: &Path) -> Vec<(OsString, OsString)> {
    let directories = directories(root);
    // `git config` keeps only this pair, which lets git read another user's repository.
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

/// Filters named in a git directory's configuration. A name in another notation is missed, and its
/// filter fails.
fn filters(directory: &Path) -> Vec<String> {
    let texts = ["config", "config.worktree"]
        .map(|name| read_to_string(directory.join(name)).unwrap_or_default());
    let lines = texts.iter().flat_map(|text| text.lines());
    let names = lines.filter_map(|line| line.trim().strip_prefix("[filter \"")?.split_once("\"]"));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// Git directory, common directory and borrowed object directories of `root`, symlinks resolved.
/// Untrusted files name them, so a path counts only if it has a git directory's form.
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

/// Git directories and work trees of `root`. No program may come from them.
pub fn places(root: &Path) -> Vec<PathBuf> {
    let mut places = directories(root);
    for directory in places.clone() {
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
