//! Ignored directories copied into a tree (`aye.session.link`). References in them back to the
//! checkout would silently run the checkout's code.

use std::path::{Component, Path, PathBuf};

use bstr::ByteSlice as _;

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

/// Directories that package managers make.
const BUILDS: [&str; 4] = ["node_modules", ".venv", "venv", "target"];

/// Those at the top that are ignored, and not copied.
pub fn missing(repository: &Repository) -> Result<Vec<String>> {
    let Some(top) = repository.work_dir() else { return Ok(Vec::new()) };
    let wanted = wanted(repository)?;
    let mut missing = Vec::new();
    for name in BUILDS {
        let is_there = top.join(name).symlink_metadata().is_ok_and(|facts| facts.is_dir());
        let is_linked = wanted.iter().any(|it| it.trim_end_matches('/') == name);
        if is_there && !is_linked && is_ignored(repository, name)? {
            missing.push(name.to_owned());
        }
    }
    Ok(missing)
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
                self.text(&path, &to)?;
                times::keep(&to, &entry.metadata()?)?;
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

    /// Puts the tree in the place of the checkout in texts of a virtual environment, which would run
    /// the checkout's code.
    fn text(&self, path: &Path, to: &Path) -> std::io::Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_list = name.ends_with(".pth")
            || name.ends_with(".egg-link")
            || name.starts_with("__editable__")
            || matches!(&*name, "direct_url.json" | "pyvenv.cfg");
        let above = path.parent().and_then(Path::parent).map(|above| self.top.join(above));
        let is_script = || above.is_some_and(|above| above.join("pyvenv.cfg").is_file());
        if to.symlink_metadata()?.len() > MOST || !is_list && !is_script() {
            return Ok(());
        }
        let text = std::fs::read(to)?;
        if !is_list && !text.starts_with(b"#!") && !name.starts_with("activate") {
            return Ok(());
        }
        let moved = moved(&text, self.top, self.tree);
        if moved == text { Ok(()) } else { std::fs::write(to, moved) }
    }

    fn found(&mut self, path: &Path, why: &str) {
        self.back.push((path.to_string_lossy().into_owned(), why.to_owned()));
    }
}

/// `text` with `to` in the place of the path `from`, but not of longer names.
fn moved(text: &[u8], from: &Path, to: &Path) -> Vec<u8> {
    let (from, to) = (from.as_os_str().as_encoded_bytes(), to.as_os_str().as_encoded_bytes());
    let mut moved = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, after) = rest.split_at(at);
        rest = &after[from.len()..];
        let is_longer =
            rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte));
        moved.extend_from_slice(before);
        moved.extend_from_slice(if is_longer { from } else { to });
    }
    moved.extend_from_slice(rest);
    moved
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
    fn the_checkouts_path_is_moved_and_longer_names_are_not() {
        let moved = |text: &str| moved(text.as_bytes(), Path::new("/w/shop"), Path::new("/t/1"));
        assert_eq!(moved("#!/w/shop/.venv/bin/python\n"), b"#!/t/1/.venv/bin/python\n");
        assert_eq!(moved("'/w/shop':/w/shop2:/w/shop"), b"'/t/1':/w/shop2:/t/1");
    }

    #[test]
    fn steps_back_are_taken_as_text() {
        assert_eq!(plain(Path::new("/t/a/../b/./c/../../d")), Path::new("/t/d"));
        assert_eq!(plain(Path::new("/t/../../x")), Path::new("/x"));
    }
}
