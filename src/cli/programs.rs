//! The user's own programs: pager and editor, chosen as git chooses them, but never named by the
//! repository's configuration, which an agent may be able to write.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use bstr::ByteSlice as _;
use gix::config::Source;

use super::Context;

/// Git configuration as far as it is needed here.
pub use gix::config::File as Config;

/// The value of `key`, unless it comes from the repository itself.
pub fn own_value(config: Option<&Config>, key: &str) -> Option<String> {
    let not_local = |meta: &gix::config::file::Metadata| {
        !matches!(meta.source, Source::Local | Source::Worktree)
    };
    let value = config?.string_filter(key, not_local)?;
    (!value.is_empty()).then(|| value.to_str_lossy().into_owned())
}

/// The pager: `GIT_PAGER`, `core.pager`, `PAGER`, `less`. `None` for `cat`, and where a variable
/// is set to nothing.
pub fn pager(context: &Context, config: Option<&Config>) -> Option<OsString> {
    if std::env::var_os("GIT_PAGER").is_some_and(|value| value.is_empty()) {
        return None;
    }
    let chosen = context
        .var("GIT_PAGER")
        .or_else(|| own_value(config, "core.pager").map(Into::into))
        .or_else(|| std::env::var_os("PAGER"))
        .unwrap_or_else(|| "less".into());
    (!chosen.is_empty() && chosen != "cat").then_some(chosen)
}

/// The editor: `GIT_EDITOR`, `core.editor`, `VISUAL` (unless the terminal is dumb), `EDITOR`,
/// `vi`.
pub fn editor(context: &Context, config: Option<&Config>) -> OsString {
    let dumb = context.var("TERM").is_none_or(|term| term == "dumb");
    context
        .var("GIT_EDITOR")
        .or_else(|| own_value(config, "core.editor").map(Into::into))
        .or_else(|| context.var("VISUAL").filter(|_| !dumb))
        .or_else(|| context.var("EDITOR"))
        .unwrap_or_else(|| "vi".into())
}

/// A command line of the user's, run by the shell as git runs it, with `arguments` after it.
pub fn shell(command_line: &OsString, arguments: &[&std::ffi::OsStr]) -> Command {
    let mut script = command_line.clone();
    if !arguments.is_empty() {
        script.push(" \"$@\"");
    }
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(command_line).args(arguments);
    command
}

/// Keeps Ctrl-C from ending this process while a child owns the terminal. Undone when dropped.
pub struct IgnoreInterrupt(());

/// True while Ctrl-C does what it does by default.
#[cfg(unix)]
static INTERRUPTIBLE: std::sync::OnceLock<std::sync::Arc<std::sync::atomic::AtomicBool>> =
    std::sync::OnceLock::new();

impl IgnoreInterrupt {
    /// From here on, Ctrl-C is the child's.
    #[must_use]
    pub fn new() -> Self {
        #[cfg(unix)]
        INTERRUPTIBLE
            .get_or_init(|| {
                let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
                let signal = signal_hook::consts::SIGINT;
                let _ = signal_hook::flag::register_conditional_default(signal, flag.clone());
                flag
            })
            .store(false, std::sync::atomic::Ordering::SeqCst);
        Self(())
    }
}

impl Default for IgnoreInterrupt {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for IgnoreInterrupt {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(flag) = INTERRUPTIBLE.get() {
            flag.store(true, std::sync::atomic::Ordering::SeqCst);
        }
    }
}

/// Shows `text` in `pager` and waits for it to end. `false` if it could not be started.
pub fn run_pager(pager: &OsString, text: &[u8]) -> bool {
    use std::io::Write as _;
    let mut command = shell(pager, &[]);
    // Git's own defaults: leave if it fits on one screen, pass colour on, keep the screen.
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    if std::env::var_os("LV").is_none() {
        command.env("LV", "-c");
    }
    let _ignore = IgnoreInterrupt::new();
    let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        // A pager that is left early closes the pipe; that is its user's good right.
        let _ = stdin.write_all(text);
    }
    // The shell's word for a command that does not exist.
    child.wait().is_ok_and(|status| status.code() != Some(127))
}
