//! `aye shell`: the `readonly_shell` tool for people and scripts.

mod explain;
mod surroundings;

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

pub use explain::{Explanation, Programs};
pub(super) use surroundings::Surroundings;

use super::{Context, Format};
use crate::error::{Error, Exit, Result};
use crate::shell::{self, Request, World, is_same_file, plan};
use crate::text::escape;
use crate::tools::readonly_shell;

/// Run a command that can only read.
///
/// The command is parsed, held against a list of programs and flags that only read, and run
/// without a shell in a sandbox of the kernel. Exits with the command's own status, or 4 when
/// the command is refused; then nothing of it was run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The command, as one word: quote it.
    #[arg(value_name = "COMMAND", required_unless_present = "programs")]
    command: Option<String>,
    /// Show what was parsed and which rules decided; run nothing.
    #[arg(long)]
    explain: bool,
    /// Stop after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    timeout: f64,
    /// Keep at most this much output, in KiB: the head and the tail.
    #[arg(long, value_name = "KIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    output_limit: u32,
    /// List the programs that may run, or the flags of PROGRAM (`ls`, `git log`).
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["command", "explain"])]
    programs: Option<String>,
}

/// Examples for `--help`.
pub const EXAMPLES: &str = "\
Examples:
  aye shell 'git log --oneline -5'
  aye shell 'grep -rn TODO src | head -20'
  aye shell 'cd docs && find . -name \"*.md\" | wc -l'
  aye shell 'for f in src/*.rs; do grep -c fn \"$f\"; done'
  aye shell --explain 'sed -n 1,20p README.md'
  aye shell --programs 'git log'

LANG, LC_ALL, TZ, COLUMNS, NO_COLOR and PAGER=cat may be set before a program, and git takes
`-c` with color.*, core.quotePath and a few more. Programs come from the system's directories, then
from those of PATH that are outside the repository and that nobody but root and you can write. In
what git prints, credentials are replaced by `***`; a format that wraps, cuts or respells text,
which would hide them, is refused.

Configuration (git config, the user's own; a repository may only tighten it):
  aye.shellDenyRead  a path (~/x, /x) or file name that is never read; may be given several times
                     and replaces the built-in list (~/.ssh, ~/.gitconfig, .env, private keys, ...);
                     git leaves files of these names out of patches and searches too, whatever
                     the revision, but not what was committed under another name; templates
                     (.env.example, .sample, .template, .dist, .defaults) are no secrets
  aye.shellSandbox   `require`: run no program where the kernel offers no sandbox";

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 3_600.0 => Ok(value),
        _ => Err("a number of seconds up to 3600 was expected".into()),
    }
}

/// Runs `aye shell`.
///
/// # Errors
/// `COMMAND_NOT_ALLOWED`, `sandbox_required`, or a failure of the machine.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    if let Some(program) = &args.programs {
        return explain::programs(context, program);
    }
    let command = args.command.unwrap_or_default();
    let surroundings = Surroundings::read(context)?;
    if args.explain {
        return explain::explain(context, &command, surroundings.world);
    }
    let text = context.format_or(Format::Text) == Format::Text;
    let request = Request {
        timeout: Duration::from_secs_f64(args.timeout),
        output_limit: args.output_limit as usize * 1024,
        // Where both lead to one place they are in the order in which they were written.
        apart: text && !is_same_file(&std::io::stdout(), &std::io::stderr()).unwrap_or(false),
        require_sandbox: surroundings.require_sandbox,
        interrupt: interrupt(),
    };
    if !text {
        let response = readonly_shell::call(&command, &request, &surroundings.world, context.now)?;
        context.emit(Format::Yaml, &response, String::new)?;
        return Ok(context.ends_with(response.exit_code()));
    }
    let plan = plan(&command, &surroundings.world).map_err(Error::from)?;
    let outcome = shell::run(&plan, &request, &surroundings.world)?;
    show(context, &outcome.output, &outcome.errors)?;
    if let Some(note) = plan.note() {
        context.note(&format!("note: {note}"));
    }
    if outcome.truncated {
        context.note("note: the output was longer than the limit; the middle was omitted");
    }
    if outcome.timed_out {
        context.note(&format!("note: stopped after {} s", args.timeout));
    }
    if outcome.sandbox == "policy-only" {
        context.note("note: no sandbox on this system; only the policy held this command");
    }
    Ok(context.ends_with(if outcome.interrupted { 130 } else { outcome.exit_code }))
}

/// Prints both streams as they are; a terminal gets nothing that could drive it.
fn show(context: &mut Context, output: &[u8], errors: &[u8]) -> Result<()> {
    let safe = |terminal: bool, bytes: &[u8]| -> Vec<u8> {
        if terminal { escape::bytes_block(bytes).into_bytes() } else { bytes.to_vec() }
    };
    let errors = safe(std::io::stderr().is_terminal(), errors);
    let _ = std::io::stderr().write_all(&errors);
    context.print(&safe(std::io::stdout().is_terminal(), output))
}

/// A descriptor that becomes readable on Ctrl-C or a request to end, so that the programs, which
/// are in a process group of their own, are stopped with us.
fn interrupt() -> Option<Arc<std::os::fd::OwnedFd>> {
    let (read, write) = std::io::pipe().ok()?;
    for signal in [2, 15, 1] {
        let copy = write.try_clone().ok()?;
        signal_hook::low_level::pipe::register(signal, copy).ok()?;
    }
    Some(Arc::new(read.into()))
}

/// What a command of `aye call readonly_shell` may depend on, and its limits.
pub(super) fn lend(context: &Context) -> Result<(World, Request)> {
    let Surroundings { world, require_sandbox } = Surroundings::read(context)?;
    Ok((world, Request { require_sandbox, interrupt: interrupt(), ..Request::default() }))
}
