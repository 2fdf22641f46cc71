//! Inputs of a command: directory, environment, configuration.

use std::path::{Component, Path, PathBuf};

use crate::cli::Context;
use crate::error::{Error, Result, codes};
use crate::repository::{self, Repository};
use crate::shell::deny_list::{self, DenyList};
use crate::shell::programs::Search;
use crate::shell::{self, Machine, sandbox};

impl Machine {
    /// # Errors
    /// `sandbox_required` if the configuration asks for a sandbox and the kernel has none.
    pub(in crate::cli) fn read(context: &Context) -> Result<Self> {
        let physical =
            std::env::current_dir().and_then(|it| it.join(&context.directory).canonicalize());
        let physical = physical.map_err(|error| Error::io("find the current directory", &error))?;
        // The directory as the user sees it.
        let logical = context.var("PWD").map(PathBuf::from).filter(|pwd| {
            let is_plain =
                pwd.is_absolute() && pwd.components().all(|part| part != Component::ParentDir);
            is_plain && pwd.canonicalize().is_ok_and(|pwd| pwd == physical)
        });
        let root = root(&physical);
        let home = context.var("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        // Locale, time zone and user name are text.
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, value)| value.to_str().is_some_and(|value| Machine::keeps(name, value)))
            .collect();
        let config = match Repository::discover(&root) {
            Ok(found) => found.repo().config_snapshot().plumbing().clone(),
            Err(error) if error.is(&repository::codes::NOT_A_REPOSITORY) => {
                gix::config::File::from_globals().unwrap_or_default()
            }
            Err(error) => return Err(error),
        };
        // A repository's configuration may be hostile: it can tighten the rules only.
        let values = |key: &str| repository::by_source(&config, key);
        let (mut deny, added) = values("shellDenyRead");
        deny.extend(added);
        let layers = sandbox::offered();
        let (own, added) = values("shellSandbox");
        if let Some(other) =
            own.iter().chain(&added).find(|value| !["auto", "require"].contains(&&***value))
        {
            let message = format!("aye.shellSandbox is `{other}`");
            return Err(
                Error::new(&codes::INVALID_ARGUMENT, message).hint("set it to `auto` or `require`")
            );
        }
        let is_required = own.last().into_iter().chain(&added).any(|value| value == "require");
        if is_required && !layers.is_sandbox() {
            let message = "aye.shellSandbox is `require`, and this kernel does not offer Landlock and seccomp";
            return Err(Error::new(&shell::codes::SANDBOX_REQUIRED, message)
                .hint("set it to `auto` to run single programs without it"));
        }
        let allowed = values("shellAllowRead").0;
        let place = |text: &String| deny_list::placed(text, home.as_deref(), &root);
        Ok(Self {
            cwd: logical.unwrap_or(physical),
            environment,
            denied: DenyList::new(&deny, home.as_deref(), &root),
            allowed: allowed.iter().filter_map(place).collect(),
            layers,
            search: Search {
                path: context.var("PATH").unwrap_or_default(),
                repository: shell::places(&root),
            },
            shell: PathBuf::from("/bin/sh"),
            home,
            root,
        })
    }
}

/// The repository around `directory`, or `directory` itself.
fn root(directory: &Path) -> PathBuf {
    let is_tree = |place: &&Path| place.join(".git").symlink_metadata().is_ok();
    let is_bare = |place: &&Path| place.join("HEAD").is_file() && place.join("objects").is_dir();
    let above = || directory.ancestors();
    above().find(is_tree).or_else(|| above().find(is_bare)).unwrap_or(directory).to_owned()
}
