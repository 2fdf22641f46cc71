//! Facts that make a tree a clone for its tools: settings, remotes and their branches, hooks. They are
//! written as files, before an agent is in the tree: a process for each would take longer than all else.

use std::fs;
use std::io;
use std::path::{Component, Path};

use bstr::{BString, ByteSlice as _};

use crate::hooks;
use crate::repository::Repository;

/// Settings copied into the tree.
const TAKEN_OVER: [&str; 10] = [
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.ignorecase",
    "core.filemode",
    "core.symlinks",
    "core.sparseCheckout",
    "core.sparseCheckoutCone",
    "user.name",
    "user.email",
];

/// The URL of each remote for pushing. git prints it: `fatal: '…' does not appear to be a git
/// repository`. A colon would make it a host.
const NO_PUSH: &str = "aye - nothing is pushed from the tree of a session - commit, and what you leave is proposed - \
    a person applies and pushes it";

/// Hooks beyond these limits are not copied.
const MOST_HOOKS: usize = 100;
const LARGEST_HOOK: u64 = 1 << 20;

#[derive(Default)]
pub(super) struct Settings(BString);

impl Settings {
    /// Of the checkout at `top`.
    pub(super) fn of(repository: &Repository, top: &Path) -> Self {
        let mut all = Self::default();
        for key in TAKEN_OVER {
            if let Some(value) = repository.config(key) {
                all.put(key, value.as_bytes());
            }
        }
        let snapshot = repository.repo().config_snapshot();
        let mut copy = |section: &str, names: &[&str]| {
            for found in snapshot.plumbing().sections_by_name(section).into_iter().flatten() {
                let Some(name) = found.header().subsection_name() else { continue };
                let key = |key: &str| format!("{section}.{name}.{key}");
                for (value_name, value) in names
                    .iter()
                    .flat_map(|key| found.values(key).into_iter().map(move |v| (key, v)))
                {
                    let value = match *value_name {
                        "url" => absolute(&value.to_str_lossy(), top).into(),
                        _ => value,
                    };
                    all.put(&key(value_name), &value);
                }
                if section == "remote" {
                    all.put(&key("pushurl"), NO_PUSH.as_bytes());
                }
            }
        };
        copy("remote", &["url", "fetch"]);
        copy("branch", &["remote", "merge"]);
        all
    }

    pub(super) fn put(&mut self, key: &str, value: &[u8]) {
        let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
        let section = match section.split_once('.') {
            Some((section, inner)) => format!("[{section} {}]", quoted(inner.as_bytes())),
            None => format!("[{section}]"),
        };
        self.0.extend_from_slice(format!("{section}\n\t{name} = {}\n", quoted(value)).as_bytes());
    }

    /// Behind those of `git init`.
    pub(super) fn write(&self, tree: &Path) -> io::Result<()> {
        let mut file = fs::OpenOptions::new().append(true).open(tree.join(".git/config"))?;
        io::Write::write_all(&mut file, &self.0)
    }
}

fn quoted(text: &[u8]) -> BString {
    let text = text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
    [b"\"", text.as_slice(), b"\""].concat().into()
}

/// A relative path would lead elsewhere from the tree.
fn absolute(url: &str, top: &Path) -> String {
    let is_path = url.starts_with('.') || !url.contains(':') && !url.starts_with(['/', '~']);
    if is_path { top.join(url).to_string_lossy().into_owned() } else { url.to_owned() }
}

/// Refs as git packs them; `listed` is lines of `OBJECT REF SYMREF`, in git's order.
pub(super) fn write_refs(listed: &[u8], tree: &Path) -> io::Result<()> {
    let git = tree.join(".git");
    let mut packed = b"# pack-refs with: sorted \n".to_vec();
    for line in listed.lines() {
        let mut words = line.split(|byte| *byte == b' ');
        let (Some(id), Some(name)) = (words.next(), words.next()) else { continue };
        let target = words.next().filter(|target| !target.is_empty());
        match target.zip(name.to_path().ok()).filter(|_| name.starts_with(b"refs/remotes/")) {
            Some((target, path)) => {
                let path = git.join(path);
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                fs::write(path, [b"ref: ", target, b"\n"].concat())?;
            }
            None => packed.extend_from_slice(&[id, b" ", name, b"\n"].concat()),
        }
    }
    fs::write(git.join("packed-refs"), packed)
}

/// Brings the repository's hooks: a commit in the tree is checked as in the checkout. They are
/// copies, since a tool that installs hooks would write to the checkout's own. Returns the value of
/// `core.hooksPath`, and ignored files of the checkout that belong to it.
pub(super) fn copy_hooks(
    repository: &Repository,
    top: &Path,
    tree: &Path,
) -> io::Result<(Option<String>, Vec<String>)> {
    if let Some(configured) = repository.config("core.hooksPath") {
        let inside = Path::new(&configured);
        let is_inside = inside.components().all(|part| matches!(part, Component::Normal(_)))
            && !configured.starts_with(['~', '%']);
        if !is_inside || tree.join(inside).is_dir() {
            return Ok((Some(configured), Vec::new()));
        }
        let files = fs::read_dir(top.join(inside)).into_iter().flatten().flatten();
        let files =
            files.filter_map(|file| Some(format!("{configured}/{}", file.file_name().to_str()?)));
        return Ok((Some(configured.clone()), files.take(MOST_HOOKS).collect()));
    }
    let to = tree.join(".git/hooks");
    for (from, name) in
        hooks::others(&repository.common_dir().join("hooks")).iter().take(MOST_HOOKS)
    {
        if from.metadata().is_ok_and(|facts| facts.is_file() && facts.len() <= LARGEST_HOOK) {
            fs::create_dir_all(&to)?;
            fs::copy(from, to.join(name))?;
        }
    }
    Ok((None, Vec::new()))
}
