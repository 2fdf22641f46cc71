//! Ignored directories copied into a tree (`aye.session.link`). References in them back to the
//! checkout would silently run the checkout's code.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::times;
use super::tree::git;
use crate::error::{Error, Result};
use crate::repository::Repository;

/// Bytes of the largest file searched.
const MOST: u64 = 64 << 10;

/// Copies share blocks if the file system can. Returns references back to the checkout.
pub fn link(repository: &Repository, tree: &Path) -> Result<Vec<(String, String)>> {
    let Some(top) = repository.work_dir() else { return Ok(Vec::new()) };
    let top = std::fs::canonicalize(&top).unwrap_or(top);
    let mut back = Vec::new();
    for name in wanted(repository)? {
        let inside = Path::new(name);
        let from = top.join(inside);
        if !from.symlink_metadata().is_ok_and(|facts| facts.is_dir()) {
            continue;
        }
        if !is_ignored(repository, name)? {
            back.push((name.clone(), "is not copied: git does not ignore it".to_owned()));
            continue;
        }
        let failed = |error: std::io::Error| {
            Error::io(format_args!("copy {} into the session's tree", from.display()), &error)
        };
        if let Some(above) = tree.join(inside).parent() {
            std::fs::create_dir_all(above).map_err(failed)?;
        }
        let mut copy = Copy { top: &top, tree, back: &mut back };
        copy.directory(inside).map_err(failed)?;
        ignore(tree, name).map_err(failed)?;
    }
    Ok(back)
}

/// The checkout's ignore rule need not be in the tree.
fn ignore(tree: &Path, name: &str) -> std::io::Result<()> {
    let mut rule = String::from("/");
    for c in name.trim_end_matches('/').chars() {
        if "*?[\\ ".contains(c) {
            rule.push('\\');
        }
        rule.push(c);
    }
    let path = tree.join(".git/info/exclude");
    let mut rules = std::fs::read(&path).unwrap_or_default();
    if !rules.is_empty() && !rules.ends_with(b"\n") {
        rules.push(b'\n');
    }
    rules.extend_from_slice(format!("{rule}/\n").as_bytes());
    std::fs::write(path, rules)
}

/// Copied directories. Their content never counts as the tree's own, even without the ignore rule.
pub(super) fn linked(repository: &Repository) -> Result<Vec<String>> {
    let mut linked = Vec::new();
    for name in wanted(repository)? {
        if is_ignored(repository, name)? {
            linked.push(name.trim_end_matches('/').to_owned());
        }
    }
    Ok(linked)
}

fn wanted(repository: &Repository) -> Result<Vec<&String>> {
    let is_plain = |name: &&String| {
        let mut parts = Path::new(name).components();
        !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
    };
    Ok(repository.settings()?.session_link.iter().filter(is_plain).collect())
}

fn is_ignored(repository: &Repository, name: &str) -> Result<bool> {
    // With the slash: a pattern may match only directories.
    let slashed = format!("{}/", name.trim_end_matches('/'));
    let asked = git(repository)?.args(["check-ignore", "--quiet", "--", &slashed]).answer()?;
    Ok(asked.ok())
}

struct Copy<'a> {
    top: &'a Path,
    tree: &'a Path,
    back: &'a mut Vec<(String, String)>,
}

impl Copy<'_> {
    fn directory(&mut self, inside: &Path) -> std::io::Result<()> {
        let (from, to) = (self.top.join(inside), self.tree.join(inside));
        std::fs::create_dir_all(&to)?;
        let facts = from.symlink_metadata()?;
        for entry in std::fs::read_dir(&from)? {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, inside.join(entry.file_name()));
            let (from, to) = (self.top.join(&path), self.tree.join(&path));
            if kind.is_dir() {
                self.directory(&path)?;
            } else if kind.is_file() {
                std::fs::copy(&from, &to)?;
                times::keep(&to, &entry.metadata()?)?;
                self.text(&path, &from)?;
            } else if kind.is_symlink() {
                self.symlink(&path, &std::fs::read_link(&from)?, &to)?;
            }
        }
        // Adding entries changed the directory's time.
        times::keep(&to, &facts)
    }

    fn symlink(&mut self, path: &Path, target: &Path, to: &Path) -> std::io::Result<()> {
        std::os::unix::fs::symlink(target, to)?;
        // A relative link that stays in the tree is harmless.
        let end = plain(&self.tree.join(path.parent().unwrap_or(path)).join(target));
        let end = std::fs::canonicalize(&end).unwrap_or(end);
        if end.starts_with(self.top) {
            self.found(path, &format!("leads back into the checkout, to {}", end.display()));
        }
        Ok(())
    }

    /// Searches path files of Python's editable installs.
    fn text(&mut self, path: &Path, from: &Path) -> std::io::Result<()> {
        let is_list = path.extension().is_some_and(|end| end == "pth" || end == "egg-link")
            || path.file_name() == Some(OsStr::new("direct_url.json"));
        if !is_list || from.symlink_metadata()?.len() > MOST {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&std::fs::read(from)?).into_owned();
        if text.contains(&*self.top.to_string_lossy()) {
            self.found(path, "names the checkout as the place of the code");
        }
        Ok(())
    }

    fn found(&mut self, path: &Path, why: &str) {
        self.back.push((path.to_string_lossy().into_owned(), why.to_owned()));
    }
}

/// Resolves `..` without the file system.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_back_are_taken_as_text() {
        assert_eq!(plain(Path::new("/t/a/../b/./c/../../d")), Path::new("/t/d"));
        assert_eq!(plain(Path::new("/t/../../x")), Path::new("/x"));
    }
}
