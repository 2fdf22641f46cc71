//! The merge driver in a clone's configuration: the command that git is told to run.

use std::path::Path;

use crate::cli::Context;
use crate::error::{Error, Result};
use crate::store::Store;
use crate::text::shell;

/// Its section of the configuration.
pub const SECTION: &str = "merge.aye-memory";

const COMMAND: &str = "merge.aye-memory.driver";

/// What stands around the path of the program. Where it is gone, `aye` on `PATH` is run, as by the hooks.
/// Where that is not there either, or cannot merge the file, git merges it as text: our version alone
/// would be left otherwise, without a conflict marker.
const START: &str = "aye=";
const END: &str = "; [ -x \"$aye\" ] || aye=aye; \
    \"$aye\" memory merge-driver --marker-size %L %O %A %B %P; status=$?; \
    [ $status -le 1 ] || { \
    echo 'warning: aye did not merge this file of memory, so git does, as text' >&2; \
    git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B; status=$?; }; exit $status";

/// What followed the path of the program in earlier versions.
const EARLIER: &str = " memory merge-driver --marker-size %L %O %A %B %P";

/// Tells git to call this program.
///
/// # Errors
/// Those of git.
pub fn install(store: &Store) -> Result<()> {
    let program = std::env::current_exe()
        .map_err(|error| Error::io("find this program's own path", &error))?;
    let set = |key: &str, value: &str| {
        store.git()?.args(["config", "--local", key, value]).run().map(drop)
    };
    set("merge.aye-memory.name", "memory files, merged by section")?;
    set(COMMAND, &command(&program.display().to_string()))
}

/// The command, for the aye at `program`.
fn command(program: &str) -> String {
    // Git reads a percent sign as the beginning of a name of its own.
    format!("{START}{}{END}", shell::quote(program).replace('%', "%%"))
}

/// Whether there is one.
///
/// # Errors
/// If git cannot be started.
pub fn is_installed(store: &Store) -> Result<bool> {
    let asked = ["config", "--local", "--get-regexp", r"^merge\.aye-memory\."];
    Ok(store.git()?.args(asked).answer()?.ok())
}

/// Takes the section out. One that is not there is what was asked for.
///
/// # Errors
/// If git cannot be started.
pub fn uninstall(store: &Store) -> Result<()> {
    store.git()?.args(["config", "--local", "--remove-section", SECTION]).answer().map(drop)
}

/// What is wrong with the one that is there, in words: its program is gone, and with it how memory is
/// merged.
pub fn trouble(context: &Context, store: &Store) -> Option<String> {
    let command = store.config(COMMAND)?;
    let again = "`aye memory merge-driver --install` names this one";
    let gone = |program: &str| !Path::new(program).is_file();
    if let Some(quoted) = command.strip_prefix(START).and_then(|rest| rest.strip_suffix(END)) {
        let program = unquoted(&quoted.replace("%%", "%"))?;
        let is_elsewhere = || {
            let path = context.var("PATH").unwrap_or_default();
            let name = format!("aye{}", std::env::consts::EXE_SUFFIX);
            std::env::split_paths(&path).any(|directory| directory.join(&name).is_file())
        };
        return (gone(&program) && !is_elsewhere()).then(|| {
            format!(
                "{COMMAND} names {program}, which is gone, and no aye is on PATH: git merges files of \
                 memory as text; {again}"
            )
        });
    }
    let program = unquoted(command.strip_suffix(EARLIER)?)?;
    let what = match gone(&program) {
        true => format!("names {program}, which is gone: a merge leaves only our side of a file of memory"),
        false => "was written by an earlier version: were its program gone, a merge would leave only our \
                  side of a file of memory"
            .to_owned(),
    };
    Some(format!("{COMMAND} {what}; {again}"))
}

/// One word as [`shell::quote`] writes it.
fn unquoted(word: &str) -> Option<String> {
    let inner = word.strip_prefix('\'')?.strip_suffix('\'')?;
    Some(inner.replace("'\\''", "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_comes_back_from_the_command() {
        for path in ["/usr/bin/aye", "/it's 100%/aye"] {
            let command = command(path);
            let quoted = command.strip_prefix(START).unwrap().strip_suffix(END).unwrap();
            assert_eq!(unquoted(&quoted.replace("%%", "%")).as_deref(), Some(path));
        }
    }
}
