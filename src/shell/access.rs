//! What nobody's task needs to read: keys, credentials, `.env` files, devices, other processes.

use std::collections::{BTreeSet, HashSet};
use std::fs::Metadata;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::denied::{MOVED, TRANSCRIPTS};
use super::glob::{self, Item};
use super::{Refusal, Result};

/// The pattern for the variants of `.env`. It leaves out templates, which are there to be read:
/// those whose last part is one of [`TEMPLATES`].
const VARIANTS: &str = ".env.*";
const TEMPLATES: &[&str] = &["example", "sample", "template", "dist", "defaults"];

/// Where Linux has a directory in memory for everybody's files, among the devices.
pub(super) const MEMORY: &str = "/dev/shm";

/// Files of `/proc` that say something about the machine and nothing about a process.
const PROC: &[&str] =
    &["cpuinfo", "meminfo", "version", "loadavg", "uptime", "filesystems", "stat", "partitions"];

/// Most files looked at to find the denied ones below a directory that is read as a whole.
const MAX_WALK: usize = 400_000;
/// Most files of the repository looked at to find the one that a file with several names is.
const MAX_NAMESAKES: usize = 20_000;

/// The list of what is not read.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Denied with everything below: as given and with symlinks resolved.
    trees: Vec<PathBuf>,
    /// Those that exist, symlinks resolved: most do not, and each is looked at once.
    existing: BTreeSet<PathBuf>,
    /// Denied file names.
    names: Vec<(String, Vec<Item>)>,
    /// Where files of denied names are looked for.
    root: PathBuf,
}

/// A file, whatever it is called: device and inode.
type Identity = (u64, u64);

impl Access {
    /// Reads the patterns of `aye.shellDenyRead`; one with a slash but not at its start is
    /// relative to `root`. What lies in a directory that `variable` names instead of one in the home
    /// directory is denied there, too.
    pub fn new<S: AsRef<str>>(
        patterns: &[S],
        home: Option<&Path>,
        root: &Path,
        variable: &dyn Fn(&str) -> Option<PathBuf>,
    ) -> Self {
        let mut access = Self { root: root.to_owned(), ..Self::default() };
        let moved: Vec<(&str, PathBuf)> = MOVED
            .iter()
            .filter_map(|(usual, name)| Some((*usual, variable(name)?)))
            .filter(|(_, place)| place.is_absolute() && place != Path::new("/dev/null"))
            .collect();
        let mut trees = Vec::new();
        for text in patterns.iter().map(AsRef::as_ref).filter(|text| !text.is_empty()) {
            for (usual, place) in &moved {
                let rest = text.strip_prefix(usual).and_then(|rest| match rest.strip_prefix('/') {
                    None if !rest.is_empty() => None,
                    below => Some(below.unwrap_or_default()),
                });
                trees.extend(rest.map(|rest| match rest {
                    "" => place.clone(),
                    rest => place.join(rest),
                }));
            }
            trees.push(match (text.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => home.join(rest),
                (Some(_), None) => continue,
                _ if text.contains('/') => root.join(text),
                _ => {
                    access.names.push((text.to_owned(), glob::pattern(&text.to_lowercase())));
                    continue;
                }
            });
        }
        for tree in trees {
            if let Some(resolved) = resolved(&tree) {
                if resolved != tree {
                    access.trees.push(resolved.clone());
                }
                access.existing.insert(resolved);
            }
            access.trees.push(tree);
        }
        access
    }

    /// Directories and files that exist and are denied with all below, symlinks resolved. What the
    /// user cannot read anyway is left out: keeping it out costs time.
    pub fn existing_trees(&self) -> Vec<PathBuf> {
        self.existing.iter().filter(|tree| std::fs::File::open(tree).is_ok()).cloned().collect()
    }

    /// True for a path that is denied by its name or its place. Looks at nothing on disk.
    pub fn denies(&self, path: &Path) -> bool {
        if self.trees.iter().any(|tree| path.starts_with(tree)) {
            return true;
        }
        path.file_name().is_some_and(|name| self.denies_name(&name.to_string_lossy()))
    }

    /// True when something below one of `directories` is denied by its place.
    pub fn denies_below(&self, directories: &[PathBuf]) -> bool {
        self.trees
            .iter()
            .any(|tree| directories.iter().any(|directory| tree.starts_with(directory)))
    }

    fn denies_name(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.names.iter().any(|(text, items)| {
            glob::matches(items, &name) && !(text == VARIANTS && is_template(&name))
        })
    }

    /// Checks an operand that a program would read in `cwd`.
    ///
    /// # Errors
    /// A refusal if it is, leads to, or is another name of something denied; for a device or
    /// another process.
    pub fn check(&self, operand: &str, cwd: &Path) -> Result<()> {
        let path = cwd.join(operand);
        let flat = flatten(&path);
        if self.denies(&flat) || self.denies(&path) || self.names_denied(operand) {
            return Err(secret(operand));
        }
        self.outside_files(&flat, operand)?;
        let Ok(resolved) = path.canonicalize() else { return Ok(()) };
        if self.denies(&resolved) {
            return Err(secret(operand));
        }
        self.outside_files(&resolved, operand)?;
        if is_git_configuration(&resolved) {
            return Err(Refusal::new(
                format!(
                    "`{operand}` is the configuration of a repository, which may hold credentials"
                ),
                "write `git config -l`, which shows it without them",
            )
            .by("access"));
        }
        let Ok(meta) = resolved.metadata() else { return Ok(()) };
        if !meta.is_file() && !meta.is_dir() && resolved != Path::new("/dev/null") {
            return Err(Refusal::new(
                format!("`{operand}` is a device, a pipe or a socket"),
                "read ordinary files only",
            )
            .by("access"));
        }
        if meta.is_file() && (self.holds_key(&resolved) || self.is_namesake(&meta)) {
            return Err(secret(operand));
        }
        Ok(())
    }

    /// Devices and other processes are not files to read. A repository in `/dev/shm` has files like
    /// any other; one that is `/` or `/dev` itself does not make files of devices.
    fn outside_files(&self, path: &Path, operand: &str) -> Result<()> {
        let refused = |what: &str| {
            let message = format!("`{operand}` is {what}");
            Err(Refusal::new(message, "read ordinary files only").by("access"))
        };
        if self.root.starts_with(MEMORY) && path.starts_with(&self.root) {
            return Ok(());
        }
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

    /// A hard link to a denied file.
    fn is_namesake(&self, meta: &Metadata) -> bool {
        linked(meta).is_some_and(|file| self.linked_files(&[]).contains(&file))
    }

    /// Denied files with a further name: those below a denied directory, and among the first
    /// [`MAX_NAMESAKES`] files of the repository. Not looked for below `walked`.
    fn linked_files(&self, walked: &[PathBuf]) -> HashSet<Identity> {
        let trees = self.existing_trees();
        let trees = trees.iter().filter(|tree| !TRANSCRIPTS.iter().any(|end| tree.ends_with(end)));
        let in_trees = trees.flat_map(walkdir::WalkDir::new).take(MAX_NAMESAKES).flatten();
        let files = walkdir::WalkDir::new(&self.root).into_iter();
        let files = files.filter_entry(|entry| {
            !is_objects(entry) && !walked.iter().any(|directory| entry.path() == directory)
        });
        let named = files.take(MAX_NAMESAKES).flatten().filter(|entry| self.is_named(entry));
        identities(in_trees.chain(named)).collect()
    }

    fn is_named(&self, entry: &walkdir::DirEntry) -> bool {
        self.denies_name(&entry.file_name().to_string_lossy())
    }

    /// Arguments for git that leave out what is denied by its name, or by its place below one of
    /// `tops`, wherever in a repository or its history. Certificates and keys go together: what
    /// is in them cannot be looked at here.
    pub fn pathspecs(&self, tops: &[PathBuf]) -> Vec<String> {
        let keys: &[&str] = if self.keeps_keys() { &["*.pem", "*.key"] } else { &[] };
        let plain = self.names.iter().map(|(name, _)| name.as_str()).chain(keys.iter().copied());
        let (variants, plain): (Vec<&str>, Vec<&str>) = plain.partition(|name| *name == VARIANTS);
        let plain = plain.into_iter().map(str::to_owned);
        let names = plain.chain(variants.first().into_iter().flat_map(|_| no_template()));
        let names = names.map(|name| format!(":(exclude,top,icase,glob)**/{name}"));
        let below = |top: &'_ PathBuf| {
            let trees = self.trees.iter().filter_map(|tree| tree.strip_prefix(top).ok()?.to_str());
            let trees = trees.filter(|tree| !tree.is_empty());
            trees.map(|tree| format!(":(exclude,top,icase,literal){tree}")).collect::<Vec<_>>()
        };
        let mut pathspecs: Vec<String> = names.collect();
        for tree in tops.iter().flat_map(below) {
            if !pathspecs.contains(&tree) {
                pathspecs.push(tree);
            }
        }
        pathspecs
    }

    /// True when private keys are kept from reading, wherever they are.
    pub(super) fn keeps_keys(&self) -> bool {
        !self.names.is_empty()
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
        if !self.keeps_keys() || !is_key_name(path) {
            return false;
        }
        let mut head = Vec::new();
        let Ok(file) = std::fs::File::open(path) else { return false };
        let _ = file.take(64 * 1024).read_to_end(&mut head);
        is_key(&head)
    }

    /// Everything denied at or below `operand`, which is read as a whole; paths resolved. With
    /// `follows`, also below the directories that symlinks in it lead to.
    ///
    /// # Errors
    /// A refusal if a directory is one of the system's own or too large to look through.
    pub fn denied_below(&self, operand: &str, cwd: &Path, follows: bool) -> Result<Vec<PathBuf>> {
        let Ok(top) = cwd.join(operand).canonicalize() else { return Ok(Vec::new()) };
        let mut walk = Walk { access: self, operand, follows, count: 0, denied: Vec::new() };
        let mut walked: Vec<PathBuf> = Vec::new();
        let mut ahead = vec![top];
        while let Some(top) = ahead.pop() {
            if !walked.iter().any(|directory| top.starts_with(directory)) {
                ahead.extend(walk.directory(&top)?);
                walked.push(top);
            }
        }
        let trees = self.existing_trees();
        let below = trees.iter().filter(|tree| walked.iter().any(|top| tree.starts_with(top)));
        walk.denied.extend(below.cloned());
        let mut files = self.linked_files(&walked);
        files.extend(identities(walk.denied.iter().flat_map(walkdir::WalkDir::new).flatten()));
        if !files.is_empty() {
            let all = walked.iter().flat_map(walkdir::WalkDir::new).flatten();
            let all = all.filter(|entry| entry.file_type().is_file());
            let namesakes = all.filter(|entry| {
                entry
                    .metadata()
                    .ok()
                    .and_then(|meta| linked(&meta))
                    .is_some_and(|id| files.contains(&id))
            });
            walk.denied.extend(namesakes.map(walkdir::DirEntry::into_path));
        }
        Ok(walk.denied)
    }
}

/// Looking for what is denied below directories that are read as a whole.
struct Walk<'a> {
    access: &'a Access,
    operand: &'a str,
    follows: bool,
    count: usize,
    denied: Vec<PathBuf>,
}

impl Walk<'_> {
    /// Looks through `top`, whose path is resolved; returns the directories that symlinks lead to.
    fn directory(&mut self, top: &Path) -> Result<Vec<PathBuf>> {
        let refuse = |why: &str| {
            let message = format!("`{}` {why}", self.operand);
            Err(Refusal::new(message, "name the directory you need").by("access"))
        };
        let system = ["/", "/proc", "/sys", "/dev", "/run"];
        if system.iter().any(|directory| top == Path::new(directory)) {
            return refuse("is, or has links to, too much to read as a whole");
        }
        let mut elsewhere = Vec::new();
        let walk = walkdir::WalkDir::new(top).into_iter().filter_entry(|entry| {
            !is_objects(entry) && !self.access.trees.iter().any(|tree| entry.path() == tree)
        });
        for entry in walk {
            self.count += 1;
            if self.count > MAX_WALK {
                return refuse(&format!("has more than {MAX_WALK} files below it"));
            }
            let Ok(entry) = entry else { continue };
            if entry.file_type().is_dir() {
                continue;
            }
            let target =
                entry.path_is_symlink().then(|| entry.path().canonicalize().ok()).flatten();
            let linked = target.as_deref().is_some_and(|target| self.access.denies(target));
            let configuration = is_git_configuration(target.as_deref().unwrap_or(entry.path()));
            if self.access.is_named(&entry)
                || linked
                || configuration
                || self.access.holds_key(entry.path())
            {
                if entry.path_is_symlink() {
                    self.denied.push(entry.path().to_owned());
                }
                self.denied.push(target.unwrap_or_else(|| entry.into_path()));
            } else if self.follows {
                elsewhere.extend(target.filter(|target| target.is_dir()));
            }
        }
        Ok(elsewhere)
    }
}

/// Git's objects: they are many, and no text.
fn is_objects(entry: &walkdir::DirEntry) -> bool {
    entry.file_name() == "objects"
        && entry.path().parent().is_some_and(|parent| parent.ends_with(".git"))
}

/// The files among `entries` that have a further name.
fn identities(entries: impl Iterator<Item = walkdir::DirEntry>) -> impl Iterator<Item = Identity> {
    entries.filter_map(|entry| linked(&entry.metadata().ok()?))
}

/// Which file it is, if it has a further name.
#[cfg(unix)]
fn linked(meta: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    (meta.is_file() && meta.nlink() > 1).then(|| (meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn linked(_meta: &Metadata) -> Option<Identity> {
    None
}

fn is_template(name: &str) -> bool {
    name.rsplit('.').next().is_some_and(|last| TEMPLATES.contains(&last))
}

/// Patterns that together match what [`VARIANTS`] does but for templates. Git's patterns cannot
/// say "but for", so a name is told by how its end differs from that of each template: by a
/// character that none of them has there.
fn no_template() -> Vec<String> {
    let dotted: Vec<String> = TEMPLATES.iter().map(|word| format!(".{word}")).collect();
    let ends: BTreeSet<&str> = dotted
        .iter()
        .flat_map(|word| word.char_indices().skip(1).map(|(at, _)| &word[at..]).chain([""]))
        .collect();
    let mut patterns = Vec::new();
    for end in ends {
        let before = dotted.iter().filter_map(|word| word.strip_suffix(end)?.chars().next_back());
        let before: String = before.collect::<BTreeSet<_>>().into_iter().collect();
        patterns.push(format!(".env.*[!{before}]{end}"));
        // The same where the name has nothing else after `.env.`.
        if !TEMPLATES.contains(&end) {
            patterns.push(format!(".env.{end}"));
        }
    }
    patterns
}

/// `path` with symlinks resolved, if it exists: most do not, and resolving would look at every
/// directory above them first.
fn resolved(path: &Path) -> Option<PathBuf> {
    path.metadata().ok()?;
    path.canonicalize().ok()
}

/// True for the name of a file that may hold a private key, or a certificate.
pub(super) fn is_key_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    ["pem", "key"].contains(&extension.to_lowercase().as_str())
}

/// True for the content of a file of such a name that holds a private key.
pub(super) fn is_key(content: &[u8]) -> bool {
    content.windows(11).any(|bytes| bytes == b"PRIVATE KEY")
}

/// True for a file of git's configuration in a git directory.
pub(super) fn is_git_configuration(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !["config", "config.worktree"].contains(&name.to_lowercase().as_str()) {
        return false;
    }
    let Some(directory) = path.parent() else { return false };
    let repository = || directory.join("HEAD").is_file() && directory.join("objects").is_dir();
    let below = |top: &Path| top.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
    directory.ancestors().any(below) || repository()
}

pub(super) fn secret(operand: &str) -> Refusal {
    let hint = match operand {
        own if own.ends_with(".gitconfig") || own.ends_with("git/config") => {
            "`git config -l` shows the repository's; ask the user for what you need of theirs"
        }
        _ => "ask the user for what you need from it; the list is `aye.shellDenyRead`",
    };
    Refusal::new(format!("`{operand}` is, or leads to, something that is kept from reading"), hint)
        .by("access")
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
    use super::super::denied::DEFAULT;
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
        let access = Access::new(DEFAULT, Some(&home), &repo, &|_| None);
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
            std::fs::create_dir(root.join("elsewhere")).unwrap();
            std::fs::write(root.join("elsewhere/.env"), "x").unwrap();
            std::os::unix::fs::symlink("../elsewhere", repo.join("far")).unwrap();
            let far = root.join("elsewhere/.env");
            assert!(!access.denied_below(".", &repo, false).unwrap().contains(&far));
            assert!(access.denied_below(".", &repo, true).unwrap().contains(&far));
            for (file, link) in [(home.join(".ssh/config"), "a"), (repo.join("sub/.env"), "b")] {
                std::fs::hard_link(file, repo.join(link)).unwrap();
                assert!(access.check(link, &repo).is_err(), "{link}");
                assert!(access.denied_below(".", &repo, false).unwrap().contains(&repo.join(link)));
            }
            std::fs::hard_link(repo.join("cert.pem"), repo.join("c")).unwrap();
            assert!(access.check("c", &repo).is_ok());
        }
        let below = access.denied_below(".", &repo, false).unwrap();
        assert!(below.contains(&repo.join("sub/.env")) && below.contains(&repo.join("key.pem")));
        assert!(!below.contains(&repo.join("cert.pem")));
        assert!(access.denied_below("/", &repo, false).is_err());
    }

    #[test]
    fn what_the_environment_moves_is_denied_where_it_is() {
        let moved = |name: &str| match name {
            "CODEX_HOME" => Some(PathBuf::from("/other/codex")),
            "GNUPGHOME" => Some(PathBuf::from("/other/keys")),
            "XDG_CONFIG_HOME" => Some(PathBuf::from("relative")),
            "GIT_CONFIG_GLOBAL" => Some(PathBuf::from("/other/gitconfig")),
            "CLAUDE_CONFIG_DIR" => Some(PathBuf::from("/dev/null")),
            _ => None,
        };
        let access = Access::new(DEFAULT, Some(Path::new("/home/me")), Path::new("/r"), &moved);
        for path in [
            "/other/codex/auth.json",
            "/other/keys/x",
            "/home/me/.codex/auth.json",
            "/other/gitconfig",
            "/home/me/.gitconfig",
        ] {
            assert!(access.denies(Path::new(path)), "{path}");
        }
        for path in
            ["/other/codex/config.toml", "/other", "/r/relative/gh/hosts.yml", "/gh/x", "/dev/null"]
        {
            assert!(!access.denies(Path::new(path)), "{path}");
        }
        for name in [".irb_history", "ConsoleHost_history.txt", "prod.tfstate", ".credentials"] {
            assert!(access.denies(&Path::new("/any").join(name)), "{name}");
        }
    }

    /// What git is told and what is decided here must be one rule.
    #[test]
    fn templates_of_env_files_are_no_secrets_whichever_way_they_are_told() {
        let access = Access::new(&[VARIANTS], None, Path::new("/"), &|_| None);
        let patterns: Vec<Vec<Item>> = no_template().iter().map(|p| glob::pattern(p)).collect();
        for (name, denied) in [
            (".env.example", false),
            (".env.sample", false),
            (".env.template", false),
            (".env.dist", false),
            (".env.defaults", false),
            (".env.local.example", false),
            (".env.local", true),
            (".env.production", true),
            (".env.example.local", true),
            (".env.myexample", true),
            (".env.ample", true),
            (".env.xample", true),
            (".env.le", true),
            (".env.test", true),
            (".env.t", true),
            (".env.e", true),
            (".env.a.plate", true),
            (".env.default", true),
            (".env.examples", true),
            (".env.", true),
            (".env", false),
            (".envrc", false),
        ] {
            assert_eq!(access.denies_name(name), denied, "{name}");
            let told = patterns.iter().any(|pattern| glob::matches(pattern, name));
            assert_eq!(told, denied, "{name} among {:?}", no_template());
        }
    }
}
