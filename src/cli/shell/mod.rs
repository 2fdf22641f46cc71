//! `aye shell`: the `readonly_shell` tool for people and scripts.

mod world;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::{Context, Format};
use crate::error::{Error, Exit, Result};
use crate::shell::{self, Machine, Request, list, plan};
use crate::text::escape;
use crate::tools::readonly_shell;

/// Run a command that can only read.
///
/// The programs that the command names are held against a list, and the system's `sh` runs it in a
/// sandbox of the kernel. Exits with the command's own status, or 4 when the command is refused;
/// then nothing of it was run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The command, as one word: quote it.
    #[arg(value_name = "COMMAND", required_unless_present = "programs")]
    command: Option<String>,
    /// Stop after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    timeout: f64,
    /// Keep at most this much output, in KiB: the head and the tail.
    #[arg(long, value_name = "KIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    output_limit: u32,
    /// List the programs that may run, and the verbs of git.
    #[arg(long, conflicts_with = "command")]
    programs: bool,
}

pub const EXAMPLES: &str = "\
Examples:
  aye shell 'git log --oneline -5'
  aye shell 'grep -rn TODO src | head -20'
  aye shell 'cd docs && find . -name \"*.md\" | wc -l'
  aye shell 'for f in src/*.rs; do grep -c fn \"$f\"; done'
  aye shell --programs

The command is of what all shells read alike: quotes, variables, patterns, pipes, `&&`, `||`, `;`,
`( )`, `if`, `while`, `for`, `< FILE`, `>/dev/null`, `2>&1`; LANG, LC_*, TZ, COLUMNS, NO_COLOR and
PAGER=cat before a program. Nothing is written but to /dev/null, nothing else is started or reached,
and nothing is left running. It reads the repository and the system's own files: not your home, your
environment, other directories or processes. Files that git does not track stay unread if they are
named as secrets are (.env, id_rsa, .npmrc, *.p12, ...; not .env.example) or hold a private key.
What git stores is content and is shown, history too. Credentials in URLs and headers are printed
as `***`.
Where the kernel has no Landlock, one program runs a call, without a shell.

Configuration (git config; a repository may only tighten it):
  aye.shellDenyRead   a path (~/x, /x, x/y) or file name that is not read, tracked or not; several
  aye.shellAllowRead  a directory outside the repository that may be read; several
  aye.shellSandbox    `require`: run nothing where the kernel offers no sandbox";

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 3_600.0 => Ok(value),
        _ => Err("a number of seconds up to 3600 was expected".into()),
    }
}

/// # Errors
/// `COMMAND_NOT_ALLOWED`, `sandbox_required`
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    if args.programs {
        return programs(context);
    }
    let command = args.command.unwrap_or_default();
    let world = Machine::read(context)?;
    let request = Request {
        timeout: Duration::from_secs_f64(args.timeout),
        output_limit: args.output_limit as usize * 1024,
        interrupt: interrupt(),
    };
    if context.format_or(Format::Text) != Format::Text {
        let answer = readonly_shell::call(&command, &request, &world, context.now)?;
        context.emit(Format::Yaml, &answer, String::new)?;
        let own = answer["exit_code"].as_i64().and_then(|own| i32::try_from(own).ok());
        return Ok(context.ends_with(own.unwrap_or_default()));
    }
    let plan = plan(&command, &world).map_err(Error::from)?;
    let outcome = shell::run(&plan, &request, &world)?;
    // Control sequences must not reach a terminal.
    if std::io::stdout().is_terminal() {
        context.print(escape::bytes_block(&outcome.output).as_bytes())?;
    } else {
        context.print(&outcome.output)?;
    }
    for note in &outcome.notes {
        context.note(&format!("note: {note}"));
    }
    if outcome.truncated {
        context.note("note: the output was longer than the limit; the middle was omitted");
    }
    if outcome.timed_out {
        context.note(&format!("note: stopped after {} s", args.timeout));
    }
    if !world.layers.is_sandbox() {
        context.note(&format!("note: this kernel offers no sandbox: {}", outcome.sandbox));
    }
    Ok(context.ends_with(if outcome.interrupted { 130 } else { outcome.exit_code }))
}

#[derive(Debug, Serialize)]
struct Programs {
    /// `aye/shell_programs@1`.
    schema: &'static str,
    #[serde(flatten)]
    lists: BTreeMap<&'static str, &'static [&'static str]>,
}

fn programs(context: &mut Context) -> Result<Exit> {
    let value = Programs { schema: "aye/shell_programs@1", lists: list::LISTS.into() };
    context.emit(Format::Text, &value, || {
        let lists = value.lists.iter();
        lists.map(|(name, words)| format!("{name}: {}\n", words.join(" "))).collect()
    })
}

/// Readable on Ctrl-C or a request to end: the programs, in their own process group, must stop with
/// us.
fn interrupt() -> Option<Arc<std::os::fd::OwnedFd>> {
    let (read, write) = std::io::pipe().ok()?;
    for signal in [2, 15, 1] {
        let copy = write.try_clone().ok()?;
        signal_hook::low_level::pipe::register(signal, copy).ok()?;
    }
    Some(Arc::new(read.into()))
}

pub(super) fn shell_inputs(context: &Context) -> Result<(Machine, Request)> {
    Ok((Machine::read(context)?, Request { interrupt: interrupt(), ..Request::default() }))
}
