//! `aye util completion`: the script that makes a shell complete `aye`.

use clap_complete::env::{Elvish, EnvCompleter, Fish, Powershell, Zsh};

use crate::cli::{Context, complete};
use crate::error::{Error, Exit, Result};

/// Which shell.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// The shells with completions.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Shell {
    /// GNU Bash 4 or later.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
    /// Elvish.
    Elvish,
    /// PowerShell.
    #[value(name = "powershell")]
    Pwsh,
}

/// The script for Bash, as clap has it but for names of files, which that inserts as they are: a shell would run
/// what stands in one.
const BASH: &[u8] = include_bytes!("completion.bash");

/// What the script for Zsh lacks where it lies in `fpath` as `_aye`: it is run as a function then, to complete.
const AUTOLOADED: &[u8] = b"if [[ $zsh_eval_context[-1] == (loadautofunc|shfunc) ]]; then
    _clap_dynamic_completer_aye \"$@\"
fi
";

/// Prints the script.
///
/// # Errors
/// `io_error` when standard output cannot be written.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let mut script = Vec::new();
    let completer: &dyn EnvCompleter = match args.shell {
        Shell::Bash => {
            context.print(BASH)?;
            return Ok(Exit::Done);
        }
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
        Shell::Elvish => &Elvish,
        Shell::Pwsh => &Powershell,
    };
    completer
        .write_registration(complete::VARIABLE, "aye", "aye", "aye", &mut script)
        .map_err(|e| Error::io("write the completion script", &e))?;
    context.print(script.trim_ascii())?;
    context.print(b"\n")?;
    if matches!(args.shell, Shell::Zsh) {
        context.print(AUTOLOADED)?;
    }
    Ok(Exit::Done)
}
