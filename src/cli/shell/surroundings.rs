//! What a command may depend on: the directory, the environment, the configuration.

use std::path::{Path, PathBuf};

use crate::cli::Context;
use crate::error::{Error, Result, codes};
use crate::git::Git;
use crate::shell::access::Access;
use crate::shell::denied;
use crate::shell::programs::Search;
use crate::shell::{World, repository, sandbox};

/// What a command may depend on, and the settings that apply.
pub(in crate::cli) struct Surroundings {
    pub(in crate::cli) world: World,
    pub(in crate::cli) require_sandbox: bool,
}

impl Surroundings {
    /// Reads the directory, the environment and the configuration.
    pub(in crate::cli) fn read(context: &Context) -> Result<Self> {
        let cwd = directory(context)?;
        let physical =
            cwd.canonicalize().map_err(|e| Error::io("find the current directory", &e))?;
        let root = root(&physical);
        let home = context.var("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let settings = Settings::read(context, &root, home.as_deref())?;
        // What is no text is no locale, time zone or user name either.
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, value)| value.to_str().is_some_and(|value| World::keeps(name, value)))
            .collect();
        let variable = |name: &str| context.var(name).map(PathBuf::from);
        let access = Access::new(&settings.deny_read, home.as_deref(), &root, &variable);
        let kernel = sandbox::offered();
        let path = context.var("PATH").unwrap_or_default();
        let search = Search { path, repository: repository::places(&root) };
        let world = World { root, cwd, home, environment, access, kernel, search, asks: true };
        Ok(Self { world, require_sandbox: settings.require_sandbox })
    }
}

/// The directory as the user sees it: `$PWD` where it is right.
fn directory(context: &Context) -> Result<PathBuf> {
    let cannot = |error| Error::io("find the current directory", &error);
    let current = std::env::current_dir().map_err(cannot)?;
    let logical = context.var("PWD").map(PathBuf::from).filter(|pwd| {
        pwd.is_absolute()
            && pwd.components().all(|part| part != std::path::Component::ParentDir)
            && pwd.canonicalize().ok() == current.canonicalize().ok()
    });
    let base = logical.unwrap_or(current);
    if context.directory == Path::new(".") {
        return Ok(base);
    }
    base.join(&context.directory).canonicalize().map_err(cannot)
}

/// The root of the repository around `directory`, or the directory itself.
fn root(directory: &Path) -> PathBuf {
    directory
        .ancestors()
        .find(|directory| directory.join(".git").symlink_metadata().is_ok())
        .or_else(|| {
            directory.ancestors().find(|directory| {
                directory.join("HEAD").is_file() && directory.join("objects").is_dir()
            })
        })
        .unwrap_or(directory)
        .to_owned()
}

struct Settings {
    deny_read: Vec<String>,
    require_sandbox: bool,
}

impl Settings {
    /// Asks git, but only if a configuration file could say something: starting it costs more
    /// than most of the commands.
    fn read(context: &Context, root: &Path, home: Option<&Path>) -> Result<Self> {
        let (mut own, mut added, mut require_sandbox) = (Vec::new(), Vec::new(), false);
        if !Self::mentioned(context, root, home) {
            return Ok(Self { deny_read: denied::patterns(own, added), require_sandbox });
        }
        let answer = Git::new(root)
            .args(["config", "--null", "--show-scope", "--get-regexp", r"^aye\.shell"])
            .answer()?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        let mut fields = text.split('\0');
        while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
            let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
            // The repository's configuration may be the work of somebody else.
            let trusted = scope == "global" || scope == "system" || scope == "command";
            match key {
                "aye.shelldenyread" if trusted => own.push(value.to_owned()),
                "aye.shelldenyread" => added.push(value.to_owned()),
                "aye.shellsandbox" => match value {
                    "require" => require_sandbox = true,
                    "auto" => require_sandbox &= !trusted,
                    other => {
                        return Err(Error::new(
                            &codes::INVALID_ARGUMENT,
                            format!("aye.shellSandbox is `{other}`"),
                        )
                        .hint("set it to `auto` or `require`"));
                    }
                },
                _ => {}
            }
        }
        Ok(Self { deny_read: denied::patterns(own, added), require_sandbox })
    }

    fn mentioned(context: &Context, root: &Path, home: Option<&Path>) -> bool {
        if context.var("GIT_CONFIG_COUNT").is_some()
            || context.var("GIT_CONFIG_PARAMETERS").is_some()
        {
            return true;
        }
        let xdg = context.var("XDG_CONFIG_HOME").map(PathBuf::from);
        let global = context.var("GIT_CONFIG_GLOBAL").map(PathBuf::from);
        let files = [
            Some(PathBuf::from("/etc/gitconfig")),
            context.var("GIT_CONFIG_SYSTEM").map(PathBuf::from),
            xdg.or_else(|| Some(home?.join(".config"))).map(|base| base.join("git/config")),
            global.or_else(|| Some(home?.join(".gitconfig"))),
            Some(root.join(".git/config")),
            Some(root.join("config")),
        ];
        // In a linked work tree the file is elsewhere: ask git.
        root.join(".git").is_file()
            || files.into_iter().flatten().any(|file| {
                let text = std::fs::read(file).unwrap_or_default().to_ascii_lowercase();
                let says = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
                says(b"shelldenyread") || says(b"shellsandbox") || says(b"[include")
            })
    }
}
