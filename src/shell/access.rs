//! What nobody's task needs to read: keys, credentials, `.env` files, devices, other processes.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::glob::{self, Item};
use super::{Refusal, Result};

/// What `aye.shellDenyRead` is when nothing is configured.
///
/// `~/…` and absolute paths are folders or files with all that is below; a pattern without a
/// slash is a file name anywhere.
pub const DEFAULT: &[&str] = &[
    "~/.ssh",
    "~/.gnupg",
    "~/.aws",
    "~/.azure",
    "~/.kube",
    "~/.config/gcloud",
    "~/.config/gh",
    "~/.config/git/credentials",
    "~/.docker/config.json",
    "~/.npmrc",
    "~/.pypirc",
    "~/.netrc",
    "~/.git-credentials",
    "~/.pgpass",
    "~/.cargo/credentials",
    "~/.cargo/credentials.toml",
    "~/.password-store",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    ".env",
    ".env.*",
    ".envrc",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".pgpass",
    ".htpasswd",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
];

/// Templates that share a denied name and hold no secrets.
const TEMPLATES: &[&str] =
    &[".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults"];

/// Files of `/proc` that say something about the machine and nothing about a process.
const PROC: &[&str] =
    &["cpuinfo", "meminfo", "version", "loadavg", "uptime", "filesystems", "stat", "partitions"];

/// Most files looked at to find the denied ones below a folder that is read as a whole.
const MAX_WALK: usize = 400_000;

/// The list of what is not read.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Denied with everything below: as given and with symlinks resolved.
    trees: Vec<PathBuf>,
    /// Denied file names.
    names: Vec<(String, Vec<Item>)>,
}

impl Access {
    /// Reads the patterns of `aye.shellDenyRead`; one with a slash but not at its start is
    /// relative to `root`.
    pub fn new<S: AsRef<str>>(patterns: &[S], home: Option<&Path>, root: &Path) -> Self {
        let mut access = Self::default();
        for text in patterns.iter().map(AsRef::as_ref).filter(|text| !text.is_empty()) {
            let tree = match (text.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => home.join(rest),
                (Some(_), None) => continue,
                _ if text.contains('/') => root.join(text),
                _ => {
                    access.names.push((text.to_owned(), glob::pattern(&text.to_lowercase())));
                    continue;
                }
            };
            if let Ok(resolved) = tree.canonicalize()
                && resolved != tree
            {
                access.trees.push(resolved);
            }
            access.trees.push(tree);
        }
        access
    }

    /// Folders and files that exist and are denied with all below, symlinks resolved. What the
    /// user cannot read anyway is left out: keeping it out costs time.
    pub fn existing_trees(&self) -> Vec<PathBuf> {
        let found: BTreeSet<PathBuf> = self
            .trees
            .iter()
            .filter_map(|tree| tree.canonicalize().ok())
            .filter(readable)
            .collect();
        found.into_iter().collect()
    }

    /// True for a path that is denied by its name or its place. Looks at nothing on disk.
    pub fn denies(&self, path: &Path) -> bool {
        if self.trees.iter().any(|tree| path.starts_with(tree)) {
            return true;
        }
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| self.denies_name(name))
    }

    fn denies_name(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        !TEMPLATES.contains(&name.as_str())
            && self.names.iter().any(|(_, items)| glob::matches(items, &name))
    }

    /// Checks an operand that a program would read in `cwd`.
    ///
    /// # Errors
    /// A refusal if it is, or leads to, something denied, a device or another process.
    pub fn check(&self, operand: &str, cwd: &Path) -> Result<()> {
        let path = cwd.join(operand);
        let flat = flatten(&path);
        if self.denies(&flat) || self.denies(&path) || self.names_denied(operand) {
            return Err(secret(operand));
        }
        outside_files(&flat, operand)?;
        let Ok(resolved) = path.canonicalize() else { return Ok(()) };
        if self.denies(&resolved) {
            return Err(secret(operand));
        }
        outside_files(&resolved, operand)?;
        let Ok(meta) = resolved.metadata() else { return Ok(()) };
        if !meta.is_file() && !meta.is_dir() && resolved != Path::new("/dev/null") {
            return Err(Refusal::new(
                format!("`{operand}` is a device, a pipe or a socket"),
                "read ordinary files only",
            )
            .by("access"));
        }
        if meta.is_file() && self.holds_key(&resolved) {
            return Err(secret(operand));
        }
        Ok(())
    }

    /// Arguments for git that leave out what is denied by its name, or by its place below `root`,
    /// wherever in a repository or its history. Certificates and keys go together: what is in
    /// them cannot be looked at here.
    pub fn pathspecs(&self, root: &Path) -> Vec<String> {
        let keys: &[&str] = if self.names.is_empty() { &[] } else { &["*.pem", "*.key"] };
        let names = self.names.iter().map(|(name, _)| name.as_str()).chain(keys.iter().copied());
        let names = names.map(|name| format!(":(exclude,top,icase,glob)**/{name}"));
        let trees = self.trees.iter().filter_map(|tree| tree.strip_prefix(root).ok()?.to_str());
        let trees = trees.filter(|tree| !tree.is_empty());
        names.chain(trees.map(|tree| format!(":(exclude,top,icase,literal){tree}"))).collect()
    }

    /// A pattern that git would expand itself to a denied name: `.e*`.
    fn names_denied(&self, operand: &str) -> bool {
        let last = operand.rsplit('/').next().unwrap_or(operand);
        if !last.contains(['*', '?', '[']) || last.starts_with(['*', '?', '[']) {
            return false;
        }
        let items = glob::pattern(&last.to_lowercase());
        self.names
            .iter()
            .any(|(name, _)| !name.contains(['*', '?', '[']) && glob::matches(&items, name))
    }

    /// A `.pem` or `.key` file is denied if it holds a private key.
    fn holds_key(&self, path: &Path) -> bool {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if self.names.is_empty() || !["pem", "key"].contains(&extension.to_lowercase().as_str()) {
            return false;
        }
        let mut head = Vec::new();
        let Ok(file) = std::fs::File::open(path) else { return false };
        let _ = file.take(64 * 1024).read_to_end(&mut head);
        head.windows(11).any(|bytes| bytes == b"PRIVATE KEY")
    }

    /// Everything denied at or below `operand`, which is read as a whole; paths resolved.
    ///
    /// # Errors
    /// A refusal if the folder is one of the system's own or too large to look through.
    pub fn denied_below(&self, operand: &str, cwd: &Path) -> Result<Vec<PathBuf>> {
        let Ok(top) = cwd.join(operand).canonicalize() else { return Ok(Vec::new()) };
        let system = ["/", "/proc", "/sys", "/dev", "/run"];
        if system.iter().any(|folder| top == Path::new(folder)) {
            return Err(Refusal::new(
                format!("`{operand}` is too much to read as a whole"),
                "name the folder you need",
            )
            .by("access"));
        }
        let mut denied: Vec<PathBuf> =
            self.existing_trees().into_iter().filter(|tree| tree.starts_with(&top)).collect();
        let walk = walkdir::WalkDir::new(&top).into_iter().filter_entry(|entry| {
            let objects = entry.file_name() == "objects"
                && entry.path().parent().is_some_and(|parent| parent.ends_with(".git"));
            !objects && !self.trees.iter().any(|tree| entry.path() == tree)
        });
        for (count, entry) in walk.enumerate() {
            if count > MAX_WALK {
                return Err(Refusal::new(
                    format!("`{operand}` has more than {MAX_WALK} files below it"),
                    "name the folder you need",
                )
                .by("access"));
            }
            let Ok(entry) = entry else { continue };
            if entry.file_type().is_dir() {
                continue;
            }
            let named = entry.file_name().to_str().is_some_and(|name| self.denies_name(name));
            // A link is followed: grep -R and rg -L would.
            let target =
                entry.path_is_symlink().then(|| entry.path().canonicalize().ok()).flatten();
            let linked = target.as_deref().is_some_and(|target| self.denies(target));
            if named || linked || self.holds_key(entry.path()) {
                denied.push(target.unwrap_or_else(|| entry.path().to_owned()));
                if entry.path_is_symlink() {
                    denied.push(entry.path().to_owned());
                }
            }
        }
        Ok(denied)
    }
}

#[allow(clippy::ptr_arg)] // The shape that `filter` wants.
fn readable(path: &PathBuf) -> bool {
    std::fs::File::open(path).is_ok()
}

fn secret(operand: &str) -> Refusal {
    Refusal::new(
        format!("`{operand}` is, or leads to, something that is kept from reading"),
        "ask the user for what you need from it; the list is `aye.shellDenyRead`",
    )
    .by("access")
}

/// Devices and other processes are not files to read.
fn outside_files(path: &Path, operand: &str) -> Result<()> {
    let refused = |what: &str| {
        Err(Refusal::new(format!("`{operand}` is {what}"), "read ordinary files only").by("access"))
    };
    if path.starts_with("/dev") && path != Path::new("/dev/null") {
        return refused("a device; standard input is `-`");
    }
    if let Ok(rest) = path.strip_prefix("/proc")
        && !rest.as_os_str().is_empty()
        && !rest.to_str().is_some_and(|rest| PROC.contains(&rest))
    {
        return refused("part of a process or of the kernel");
    }
    Ok(())
}

/// `path` with `.` and `..` resolved as text.
pub(super) fn flatten(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                flat.pop();
            }
            Component::CurDir => {}
            part => flat.push(part),
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_denied_by_place_name_link_and_content() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let home = root.join("home");
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::create_dir_all(root.join("repo/sub")).unwrap();
        std::fs::write(home.join(".ssh/config"), "x").unwrap();
        let repo = root.join("repo");
        std::fs::write(repo.join("sub/.env"), "x").unwrap();
        std::fs::write(repo.join("key.pem"), "-----BEGIN RSA PRIVATE KEY-----").unwrap();
        std::fs::write(repo.join("cert.pem"), "-----BEGIN CERTIFICATE-----").unwrap();
        let access = Access::new(DEFAULT, Some(&home), &repo);
        for operand in [
            "../home/.ssh/config",
            "../home/.ssh",
            "sub/.env",
            "./sub/../sub/.env",
            ".env.local",
            "key.pem",
            "/dev/tty",
            "/proc/self/environ",
            "/proc/1/mem",
            "id_rsa",
            ".ENV",
            "x/../../home/.ssh/config",
            "a.p12",
            ".e*",
            "sub/.env*",
            "/etc/shadow",
            ".en?",
        ] {
            assert!(access.check(operand, &repo).is_err(), "{operand}");
        }
        for operand in
            ["cert.pem", ".env.example", "/dev/null", "src", "-", "/proc/cpuinfo", "*.rs"]
        {
            assert!(access.check(operand, &repo).is_ok(), "{operand}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(home.join(".ssh"), repo.join("link")).unwrap();
            assert!(access.check("link/config", &repo).is_err());
        }
        let below = access.denied_below(".", &repo).unwrap();
        assert!(below.contains(&repo.join("sub/.env")) && below.contains(&repo.join("key.pem")));
        assert!(!below.contains(&repo.join("cert.pem")));
        assert!(access.denied_below("/", &repo).is_err());
    }
}
