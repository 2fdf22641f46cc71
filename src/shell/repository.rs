//! The configuration of the repository git will find, and how to switch off what it would start.
//!
//! Fixed names are overridden on git's command line. Names that the configuration itself chooses
//! (filters) are read here and overridden one by one. What cannot be overridden is refused.

use std::path::{Path, PathBuf};

use gix::config::File;
use gix::config::file::Metadata;

use super::policy::git::Use;
use super::{Refusal, Result, World};

/// Overrides that always apply, as `-c` takes them.
const OFF: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=false",
    "core.sshCommand=false",
    "core.gitProxy=false",
    "core.alternateRefsCommand=false",
    "core.disambiguate=none",
    "credential.helper=",
    "diff.submodule=short",
    "gc.auto=0",
    "gpg.program=false",
    "gpg.openpgp.program=false",
    "gpg.x509.program=false",
    "gpg.ssh.program=false",
    "gpg.ssh.defaultKeyCommand=false",
    // Credentials are replaced in what is printed, by how they are written in ASCII.
    "i18n.logOutputEncoding=UTF-8",
    "format.pretty=medium",
    "log.diffMerges=separate",
    "log.follow=false",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.allow=never",
    "stash.showPatch=false",
    "status.submoduleSummary=false",
    "submodule.recurse=false",
    // Files that would be read, and quoted, whatever they are.
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "diff.orderFile=/dev/null",
    "mailmap.blob=HEAD:.mailmap",
    "mailmap.file=/dev/null",
];

/// The arguments that go between `git` and its verb.
///
/// # Errors
/// A refusal if the repository's configuration has something that cannot be switched off.
pub(super) fn overrides(used: &Use, cwd: &Path, world: &World) -> Result<Vec<String>> {
    let mut directory = cwd.to_owned();
    for step in &used.directories {
        directory.push(step);
    }
    let mut args = vec!["--no-pager".to_owned()];
    let candidates = discover(&directory);
    // The reading of configuration itself starts nothing, and must not show our overrides. It
    // still shows what is included.
    if used.verb.split(' ').next() == Some("config") {
        for found in &candidates {
            if used.no_includes {
                links(found, world)?;
            } else {
                examine(found, world)?;
            }
        }
        args.extend(used.globals.iter().cloned());
        return Ok(args);
    }
    let mut set = |value: String| args.extend(["-c".to_owned(), value]);
    for value in OFF {
        set((*value).to_owned());
    }
    if !world.kernel {
        // `git diff` would write the refreshed index, which the kernel otherwise prevents.
        set("diff.autoRefreshIndex=false".to_owned());
    }
    if candidates.iter().all(|found| found.git_dir != world.root) {
        set("safe.bareRepository=explicit".to_owned());
    }
    let own = |found: &Found| found.top.as_deref().unwrap_or(&found.git_dir) == world.root;
    if world.kernel && candidates.iter().any(own) {
        set(format!("safe.directory={}", world.root.display()));
    }
    for found in &candidates {
        for name in examine(found, world)? {
            set(format!("filter.{name}.clean="));
            set(format!("filter.{name}.smudge="));
            set(format!("filter.{name}.process="));
            set(format!("filter.{name}.required=false"));
        }
    }
    args.extend(used.globals.iter().cloned());
    Ok(args)
}

/// Opens the repository git will find from `directory`, for reading objects: nothing of the
/// surroundings configures it.
pub(super) fn open(directory: &Path) -> Option<gix::Repository> {
    let found = discover(directory).pop()?;
    gix::open_opts(found.git_dir, gix::open::Options::isolated()).ok()
}

/// The directories that paths in the repository git will find from `directory` may begin at: its own top,
/// and that of the work tree it is linked to.
pub(super) fn tops(directory: &Path) -> Vec<PathBuf> {
    let mut tops = Vec::new();
    for found in discover(directory) {
        let common = found.common();
        let main = common.canonicalize().unwrap_or(common);
        let main = main.parent().filter(|_| main.ends_with(".git")).map(Path::to_owned);
        for top in [Some(found.top.unwrap_or(found.git_dir)), main].into_iter().flatten() {
            if !tops.contains(&top) {
                tops.push(top);
            }
        }
    }
    tops
}

/// Every directory of the repository at `root`, symlinks resolved: its git directory and all of
/// its work trees.
pub fn places(root: &Path) -> Vec<PathBuf> {
    let mut places = vec![root.to_owned()];
    for found in discover(root) {
        let common = found.common();
        let linked = common.join("worktrees").read_dir().into_iter().flatten().flatten();
        let linked = linked.filter_map(|entry| {
            let dot_git = std::fs::read_to_string(entry.path().join("gitdir")).ok()?;
            Some(entry.path().join(dot_git.trim()).parent()?.to_owned())
        });
        places.extend(linked);
        places.extend([found.git_dir, common].into_iter().chain(found.top));
    }
    places.extend(tops(root));
    places.into_iter().map(|place| place.canonicalize().unwrap_or(place)).collect()
}

/// A repository that git may find from a directory.
struct Found {
    /// Its git directory.
    git_dir: PathBuf,
    /// The directory its `.git` stands in, if it has one.
    top: Option<PathBuf>,
}

/// Looks upwards as git does: `.git` first, then the directory itself.
///
/// Git passes over what is no valid repository. So every candidate up to the first that is valid
/// beyond doubt is returned, and all of them are examined.
fn discover(directory: &Path) -> Vec<Found> {
    let mut candidates = Vec::new();
    let Ok(start) = directory.canonicalize() else { return candidates };
    for directory in start.ancestors() {
        let dot_git = directory.join(".git");
        let top = Some(directory.to_owned());
        let found = if dot_git.is_dir() {
            Found { git_dir: dot_git, top }
        } else if let Ok(text) = std::fs::read_to_string(&dot_git) {
            let git_dir = directory.join(text.strip_prefix("gitdir:").unwrap_or_default().trim());
            Found { git_dir: git_dir.canonicalize().unwrap_or(git_dir), top }
        } else if directory.join("HEAD").exists() {
            Found { git_dir: directory.to_owned(), top: None }
        } else {
            continue;
        };
        let certain = found.is_certain();
        candidates.push(found);
        if certain {
            break;
        }
    }
    candidates
}

impl Found {
    /// The directory of what linked work trees share.
    fn common(&self) -> PathBuf {
        match std::fs::read_to_string(self.git_dir.join("commondir")) {
            Ok(text) => self.git_dir.join(text.trim()),
            Err(_) => self.git_dir.clone(),
        }
    }

    /// True for what git takes for a repository (`is_git_directory`).
    fn is_certain(&self) -> bool {
        let head = std::fs::read_to_string(self.git_dir.join("HEAD")).unwrap_or_default();
        let named = head.strip_prefix("ref: refs/").is_some();
        let id = head.trim_end();
        let detached = id.len() >= 40 && id.bytes().all(|b| b.is_ascii_hexdigit());
        let common = self.common();
        (named || detached) && common.join("objects").is_dir() && common.join("refs").is_dir()
    }
}

/// Directories of a git directory with files that git reads line by line, and may quote.
const QUOTED: &[&str] = &["", "info", "objects/info", "rebase-merge", "rebase-apply", "sequencer"];

/// # Errors
/// A refusal if a file that git would read, and quote where it is not as it should be, is a
/// denied one under another name.
fn links(found: &Found, world: &World) -> Result<()> {
    let common = found.common();
    // What it says of every linked work tree (`git worktree list`, `git branch -vv`).
    let linked = common.join("worktrees").read_dir().into_iter().flatten().flatten();
    let mut directories: Vec<PathBuf> = linked.map(|entry| entry.path()).collect();
    let own = Some(&found.git_dir).filter(|own| **own != common);
    for top in [&common].into_iter().chain(own) {
        directories.extend(QUOTED.iter().map(|name| top.join(name)));
    }
    for directory in directories {
        for entry in directory.read_dir().into_iter().flatten().flatten() {
            let Ok(facts) = entry.metadata() else { continue };
            if facts.is_symlink() || is_linked(&facts) {
                world.access.check(&entry.path().to_string_lossy(), &directory)?;
            }
        }
    }
    Ok(())
}

#[cfg(unix)]
fn is_linked(facts: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    facts.is_file() && facts.nlink() > 1
}

#[cfg(not(unix))]
fn is_linked(_facts: &std::fs::Metadata) -> bool {
    false
}

/// Reads the configuration files and returns the names of the filters they define.
fn examine(found: &Found, world: &World) -> Result<Vec<String>> {
    links(found, world)?;
    let common = found.common();
    let mut filters = Vec::new();
    for path in [common.join("config"), found.git_dir.join("config.worktree")] {
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(unreadable(&path, &error.to_string())),
        };
        let meta = Metadata::from(gix::config::Source::Local);
        let file = File::from_bytes_no_includes(&bytes, meta, Default::default())
            .map_err(|error| unreadable(&path, &error.to_string()))?;
        read(&file, found, &path, world, &mut filters)?;
    }
    Ok(filters)
}

fn read(
    file: &File,
    found: &Found,
    path: &Path,
    world: &World,
    filters: &mut Vec<String>,
) -> Result<()> {
    for section in file.sections() {
        let header = section.header();
        // `[filter.a "b"]` is `filter.a.b` to git.
        if header.name().contains(&b'.') {
            return Err(refuse(path, "names a section in a way that can be read in two ways"));
        }
        match header.name().to_ascii_lowercase().as_slice() {
            b"include" | b"includeif" => {
                return Err(refuse(path, "includes other files, which could start programs"));
            }
            // What is no list of revisions there comes back in git's complaint.
            b"blame" => {
                for value in section.values("ignoreRevsFile") {
                    let top = found.top.as_deref().unwrap_or(&found.git_dir);
                    world.access.check(&value.to_string(), top)?;
                }
            }
            b"filter" => {
                let name = header.subsection_name().map(ToString::to_string).unwrap_or_default();
                let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
                if name.is_empty() || !name.bytes().all(plain) {
                    return Err(refuse(
                        path,
                        "names a filter in a way that cannot be switched off",
                    ));
                }
                // Written `[filter.Name]`, git takes the name in lower case.
                for name in [name.to_ascii_lowercase(), name] {
                    if !filters.contains(&name) {
                        filters.push(name);
                    }
                }
            }
            b"core" => {
                for value in section.values("worktree") {
                    let target = found.git_dir.join(value.to_string());
                    if target.canonicalize().ok() != found.top {
                        return Err(refuse(path, "moves the work tree elsewhere (core.worktree)"));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn refuse(path: &Path, what: &str) -> Refusal {
    Refusal::new(
        format!("the repository's configuration `{}` {what}", path.display()),
        "ask the user to look at this file; git is not run here while it says so",
    )
    .by("git configuration")
}

fn unreadable(path: &Path, error: &str) -> Refusal {
    refuse(path, &format!("cannot be read: {}", error.lines().next().unwrap_or_default()))
}
