//! Opens the repository that git would open.

use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use gix::config::Source;

use super::{codes, parameters};
use crate::error::{Error, Result};

pub(super) fn open(directory: &Path) -> Result<gix::Repository> {
    let mut repo = with_parameters(found(directory)?)?;
    if repo.git_dir_trust() == gix::sec::Trust::Reduced {
        repo = if is_called_safe(&repo) {
            with_parameters(trusted(&repo, directory)?)?
        } else {
            return Err(not_trusted(&repo));
        };
    }
    refuse_unknown_formats(&repo)?;
    refuse_moved_top(&repo, directory)?;
    // Git's own commands write refs outside `GIT_NAMESPACE`; in it, aye's next run would not find
    // them.
    repo.clear_namespace();
    Ok(repo)
}

fn with_parameters(mut repo: gix::Repository) -> Result<gix::Repository> {
    if let Some(text) = std::env::var_os(parameters::VARIABLE).filter(|text| !text.is_empty()) {
        parameters::add(&mut repo, &text.into_encoded_bytes())?;
    }
    Ok(repo)
}

/// Git obeys `safe.directory` of command line and environment; gix reads the user's and the
/// system's files alone.
fn is_called_safe(repo: &gix::Repository) -> bool {
    let given =
        |meta: &gix::config::file::Metadata| matches!(meta.source, Source::Cli | Source::Env);
    let config = repo.config_snapshot();
    let values = config.plumbing().strings_filter("safe.directory", given).unwrap_or_default();
    let Ok(top) = std::fs::canonicalize(repo.workdir().unwrap_or_else(|| repo.git_dir())) else {
        return false;
    };
    // An empty value resets the list.
    let names = |value: &[u8]| match value.strip_suffix(b"/*") {
        _ if value == b"*" => true,
        Some(above) => above.to_path().is_ok_and(|above| top.starts_with(above) && top != above),
        None => value.to_path().is_ok_and(|path| top == path),
    };
    values
        .rsplit(|value| value.is_empty())
        .next()
        .unwrap_or_default()
        .iter()
        .any(|value| names(value))
}

/// `git replace` would substitute an undecided object under an id: content, a policy, a thread's
/// tip. The checksum of the index is not verified, as in git, where `git fsck` alone does: it would
/// be half of the time of a look-up among 200,000 files.
const OVERRIDES: [&str; 2] = ["core.useReplaceRefs=false", "index.skipHash=true"];

/// Opens it again, with its own configuration trusted.
fn trusted(repo: &gix::Repository, directory: &Path) -> Result<gix::Repository> {
    let options = gix::open::Options::default().with(gix::sec::Trust::Full).open_path_as_is(true);
    let options = options.config_overrides(OVERRIDES);
    gix::ThreadSafeRepository::open_opts(repo.git_dir(), options)
        .and_then(|again| {
            let mut again = again.to_thread_local();
            again.set_workdir(repo.workdir().map(Path::to_owned))?;
            Ok(again)
        })
        .map_err(|error| not_found(directory, &error))
}

/// Opens `GIT_DIR`, or searches upwards. Paths are absolute: git names `.` to the hooks of a push,
/// and gix would look for a `.git` in it.
fn found(directory: &Path) -> Result<gix::Repository> {
    let Some(git_dir) = std::env::var_os("GIT_DIR") else {
        if let Some(link) = broken_link(directory) {
            return Err(Error::new(
                &codes::NOT_A_REPOSITORY,
                format!("'{}' leads to no repository", link.display()),
            )
            .hint(
                "it was moved or removed; for a linked work tree, try `git worktree repair` in the \
                 main one",
            ));
        }
        // Ceilings that are not above the directory have no effect, as in git.
        let options = gix::discover::upwards::Options {
            match_ceiling_dir_or_error: false,
            ..Default::default()
        };
        let trusts = gix::sec::trust::Mapping::<gix::open::Options>::default();
        let trusts = gix::sec::trust::Mapping {
            full: trusts.full.config_overrides(OVERRIDES),
            reduced: trusts.reduced.config_overrides(OVERRIDES),
        };
        let found = gix::ThreadSafeRepository::discover_with_environment_overrides_opts(
            absolute(directory)?,
            options,
            trusts,
        );
        return found.map(Into::into).map_err(|error| not_found(directory, &error));
    };
    let named = Path::new(&git_dir);
    let path = if git_dir.is_empty() { named.to_owned() } else { absolute(named)? };
    let options = gix::open::Options::default().open_path_as_is(true).config_overrides(OVERRIDES);
    let mut repo = gix::ThreadSafeRepository::open_opts(path, options)
        .map_err(|error| not_found(named, &error))?
        .to_thread_local();
    if let Some(top) = implied_top(&repo, directory) {
        repo.set_workdir(top).map_err(|error| not_found(directory, &error))?;
    }
    Ok(repo)
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| {
        Error::new(&codes::NOT_A_REPOSITORY, format!("cannot find the current directory: {error}"))
            .hint("it may have been removed; go to another, or name one with -C")
    })
}

/// The `.git` file where git's upward search fails, as in a removed linked work tree. gix would
/// open the repository around it.
fn broken_link(directory: &Path) -> Option<PathBuf> {
    let start = std::fs::canonicalize(directory).ok()?;
    for directory in start.ancestors() {
        let link = directory.join(".git");
        if link.is_file() {
            return (!leads_on(directory, &link)).then_some(link);
        }
        let is_repository = |dir: &Path| dir.join("HEAD").exists() && dir.join("objects").exists();
        if is_repository(&link) || is_repository(directory) {
            return None;
        }
    }
    None
}

fn leads_on(directory: &Path, link: &Path) -> bool {
    target(directory, link).is_some_and(|path| path.join("HEAD").symlink_metadata().is_ok())
}

fn target(directory: &Path, link: &Path) -> Option<PathBuf> {
    let text = std::fs::read(link).ok()?;
    let path = text.strip_prefix(b"gitdir: ")?.trim_end_with(|c| c == '\n' || c == '\r');
    Some(directory.join(path.to_path().ok()?))
}

/// The work tree that git implies if only `GIT_DIR` is set: the current directory. `None` below the
/// repository's own work tree, where git would treat the subdirectory as the top, and inside the
/// repository, where a push starts hooks.
fn implied_top(repo: &gix::Repository, directory: &Path) -> Option<PathBuf> {
    let config = repo.config_snapshot();
    let implied = std::env::var_os("GIT_IMPLICIT_WORK_TREE").is_none_or(|value| value != "0");
    if !implied
        || config.boolean("core.bare") == Some(true)
        || config.string("core.worktree").is_some()
        || std::env::var_os("GIT_WORK_TREE").is_some()
    {
        return None;
    }
    let here = std::fs::canonicalize(directory).ok()?;
    let known = [repo.workdir(), Some(repo.git_dir()), Some(repo.common_dir())];
    let around = known.into_iter().flatten().filter_map(|path| std::fs::canonicalize(path).ok());
    around.into_iter().all(|path| !here.starts_with(path)).then_some(here)
}

/// Refuses a `core.worktree` of the repository's own configuration that leads away from its `.git`:
/// one line would choose the directory written to. The environment is the caller's choice.
fn refuse_moved_top(repo: &gix::Repository, directory: &Path) -> Result<()> {
    let chosen = ["GIT_DIR", "GIT_WORK_TREE"].map(std::env::var_os).iter().any(Option::is_some);
    let config = repo.config_snapshot();
    let own = |meta: &gix::config::file::Metadata| {
        matches!(meta.source, Source::Local | Source::Worktree)
    };
    let Some(value) = config.plumbing().string_filter("core.worktree", own).filter(|_| !chosen)
    else {
        return Ok(());
    };
    let Some(top) = repo.workdir() else { return Ok(()) };
    let top = std::fs::canonicalize(top).unwrap_or_else(|_| top.to_owned());
    if holder(repo, directory).is_some_and(|holder| holder == top) {
        return Ok(());
    }
    let git_dir = repo.git_dir().display();
    Err(Error::new(
        &codes::UNSUPPORTED_REPOSITORY,
        format!("the repository at {git_dir} has its work tree elsewhere (core.worktree = {value})"),
    )
    .with("core.worktree", value.to_string())
    .hint(format!(
        "`git --git-dir {git_dir} config --unset core.worktree` puts it back; if it is where you want it, name it: \
         GIT_DIR={git_dir} GIT_WORK_TREE={}",
        top.display()
    )))
}

/// The directory whose `.git` is, or leads to, that of `repo`.
fn holder(repo: &gix::Repository, directory: &Path) -> Option<PathBuf> {
    let git_dir = std::fs::canonicalize(repo.git_dir()).ok()?;
    let start = std::fs::canonicalize(directory).ok()?;
    let leads_there = |above: &&Path| {
        let link = above.join(".git");
        let target = if link.is_file() { target(above, &link) } else { Some(link) };
        target.and_then(|path| std::fs::canonicalize(path).ok()).is_some_and(|path| path == git_dir)
    };
    start.ancestors().find(leads_there).map(Path::to_owned)
}

fn not_trusted(repo: &gix::Repository) -> Error {
    let path = repo.workdir().unwrap_or_else(|| repo.git_dir());
    if std::fs::metadata(path).is_err() {
        return Error::new(
            &codes::NOT_A_REPOSITORY,
            format!("the work tree {} is not there", path.display()),
        )
        .hint("check GIT_WORK_TREE, and core.worktree in git configuration");
    }
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    Error::new(
        &codes::UNSAFE_REPOSITORY,
        format!("the repository at {} belongs to someone else", path.display()),
    )
    .hint(format!("if you trust it: git config --global --add safe.directory '{}'", path.display()))
}

/// Repository extensions that aye may ignore or gix handles. Source: `extensions.*` in
/// git-config(1), <https://git-scm.com/docs/git-config>.
const EXTENSIONS: &[&str] = &[
    "noop", "noop-v1", "objectformat", "partialclone", "preciousobjects", "relativeworktrees",
    "worktreeconfig",
];

/// Refuses formats that aye would misread. Without refs in files, git would not see aye's refs, and
/// `git gc` would delete their objects.
fn refuse_unknown_formats(repo: &gix::Repository) -> Result<()> {
    let snapshot = repo.config_snapshot();
    let Some(sections) = snapshot.plumbing().sections_by_name("extensions") else {
        return Ok(());
    };
    for section in sections.filter(|section| section.meta().source == gix::config::Source::Local) {
        for name in section.value_names() {
            let lower = name.to_ascii_lowercase();
            let value = section.value(&name).unwrap_or_default();
            let known = match lower.as_str() {
                "refstorage" => value == "files",
                lower => EXTENSIONS.contains(&lower),
            };
            if !known {
                let is_refs = lower == "refstorage";
                return Err(Error::new(
                    if is_refs { &codes::REFS_UNSUPPORTED } else { &codes::UNSUPPORTED_REPOSITORY },
                    format!(
                        "the repository at {} has extensions.{lower} = {value}, which is not \
                         supported",
                        repo.git_dir().display()
                    ),
                )
                .with("extension", lower)
                .hint(if is_refs {
                    "`git refs migrate --ref-format=files` turns it into one that is"
                } else {
                    "use a clone without that extension"
                }));
            }
        }
    }
    Ok(())
}

fn not_found(directory: &Path, error: &dyn std::fmt::Display) -> Error {
    // gix has one error for all causes; only its text distinguishes them.
    let text = format!("{error:#}");
    let lower = text.to_lowercase();
    let shown = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let unsupported =
        ["extension", "repositoryformat", "format version", "object hash", "object format"];
    if unsupported.iter().any(|word| lower.contains(word)) {
        // gix's own causes are for developers.
        let why = if lower.contains("object format") || lower.contains("object hash") {
            "its objects are not named by SHA-1".to_owned()
        } else if lower.contains("format version") {
            "its core.repositoryFormatVersion is neither 0 nor 1".to_owned()
        } else {
            error.to_string()
        };
        return Error::new(
            &codes::UNSUPPORTED_REPOSITORY,
            format!("the repository at {} cannot be read: {why}", shown.display()),
        )
        .hint("repositories of format 0 and 1 with refs in files are supported");
    }
    if lower.contains("configuration") {
        return Error::new(
            &codes::INVALID_CONFIG,
            format!("the configuration of the repository at {} cannot be read", shown.display()),
        )
        .hint("`git config --list` names the line");
    }
    if std::env::var_os("GIT_DIR").is_some() {
        return Error::new(
            &codes::NOT_A_REPOSITORY,
            format!("GIT_DIR is '{}', which is not a git repository", directory.display()),
        )
        .hint("unset it, or set it to the `.git` of one");
    }
    if std::fs::metadata(directory).is_err() {
        return Error::new(&codes::NOT_A_REPOSITORY, format!("no directory '{}'", shown.display()))
            .hint("check the path given with -C");
    }
    Error::new(&codes::NOT_A_REPOSITORY, format!("{} is not in a git repository", shown.display()))
        .hint("run it inside one, or start one with `git init`")
}
