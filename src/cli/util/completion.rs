//! `aye util completion`: the completion script of a shell.

use clap::builder::PossibleValuesParser;
use clap_complete::env::Shells;

use crate::cli::{Context, complete};
use crate::error::{Error, Exit, Result};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell.
    #[arg(value_parser = PossibleValuesParser::new(Shells::builtins().names()))]
    shell: String,
}

/// clap's script inserts file names unquoted: the shell would run commands in them.
const BASH: &[u8] = include_bytes!("completion.bash");

/// As `_aye` in `fpath`, the script runs as a function, to complete.
const AUTOLOADED: &[u8] = b"if [[ $zsh_eval_context[-1] == (loadautofunc|shfunc) ]]; then
    _clap_dynamic_completer_aye \"$@\"
fi
";

pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    if args.shell == "bash" {
        return context.print(BASH);
    }
    let shells = Shells::builtins();
    let completer = shells.completer(&args.shell).ok_or_else(|| Error::bug("no such shell"))?;
    let mut script = Vec::new();
    completer
        .write_registration(complete::VARIABLE, "aye", "aye", "aye", &mut script)
        .map_err(|e| Error::io("write the completion script", &e))?;
    let more = if args.shell == "zsh" { AUTOLOADED } else { b"" };
    context.print(&[script.trim_ascii(), b"\n", more].concat())
}
