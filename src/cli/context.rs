//! What the edge knows and the library must not look up by itself: the clock, the environment,
//! the terminal, the output format.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use chrono::{DateTime, Utc};

use super::Global;
use super::output::Format;
use crate::patience;
use crate::store::{Announced, Notices, Upkeep};
use crate::text::escape;

/// One run of one command, with everything it may know of the world outside.
pub struct Context {
    /// The directory the command works from (`-C` already applied).
    pub directory: PathBuf,
    /// The time of this run.
    pub now: DateTime<Utc>,
    /// `--format`, `--json`, `--yaml`; `None` lets the command choose its default.
    pub format: Option<Format>,
    /// Whether to colour standard output.
    pub color: bool,
    /// `-q`.
    pub quiet: bool,
    /// Whether long output may go through a pager.
    pub pager: bool,
    /// The refs and threads that this run could not read.
    pub(super) notices: Notices,
    /// Whether this run has written objects.
    pub(super) upkeep: Upkeep,
    /// What this run has made pending.
    pub(super) announced: Announced,
    /// Set by [`Context::ends_with`].
    pub(super) status: Option<u8>,
}

impl Context {
    /// Reads the process: its directory, clock, environment and terminal.
    pub fn from_process(global: &Global) -> Self {
        // Entered, as git does: what the environment and git itself name is relative to it. Where
        // that fails, whoever looks for the repository says so.
        let entered = |directory: &PathBuf| std::env::set_current_dir(directory).is_err();
        let directory = global.directory.clone().filter(entered).unwrap_or_else(|| ".".into());
        let format = match (global.json, global.yaml) {
            (true, _) => Some(Format::Json),
            (_, true) => Some(Format::Yaml),
            _ => global.format,
        };
        let color = match global.color {
            clap::ColorChoice::Always => true,
            clap::ColorChoice::Never => false,
            clap::ColorChoice::Auto => auto_color(),
        };
        if !global.quiet {
            patience::report_to(|line| {
                let _ = writeln!(io::stderr(), "note: {}", escape::line(line));
            });
        }
        Self {
            directory,
            now: clock(),
            format,
            color,
            quiet: global.quiet,
            pager: !global.no_pager,
            notices: Notices::default(),
            upkeep: Upkeep::default(),
            announced: Announced::default(),
            status: None,
        }
    }

    /// The clock as it is now, for commands that take their time.
    pub fn clock(&self) -> DateTime<Utc> {
        clock()
    }

    /// An environment variable, if set and not empty.
    pub fn var(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name).filter(|value| !value.is_empty())
    }

    /// The first file called `program` in a directory of PATH.
    pub fn on_path(&self, program: &str) -> Option<PathBuf> {
        let path = self.var("PATH").unwrap_or_default();
        let files = std::env::split_paths(&path).map(|directory| directory.join(program));
        files.into_iter().find(|file| file.is_file())
    }

    /// The format in force where the command's own default is `default`.
    pub fn format_or(&self, default: Format) -> Format {
        self.format.unwrap_or(default)
    }

    /// True when a person can be asked: standard input and output are terminals.
    pub fn interactive(&self) -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// True when a person may be looking on, whatever is piped in or out.
    pub fn is_attended(&self) -> bool {
        io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal()
    }

    /// Whether the terminal may be told to mark pasted text: it understands escape sequences, and
    /// nobody asked for none.
    pub fn marks_pastes(&self) -> bool {
        self.color && self.var("TERM").is_some_and(|term| term != "dumb")
    }
}

fn auto_color() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    if set("NO_COLOR") {
        return false;
    }
    if std::env::var_os("CLICOLOR_FORCE").is_some_and(|v| !v.is_empty() && v != "0") {
        return true;
    }
    io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The system's clock. In builds for tests `AYE_NOW`, a time as RFC 3339 has it, stands in for it.
pub fn clock() -> DateTime<Utc> {
    #[cfg(all(feature = "failpoints", debug_assertions))]
    if let Some(fixed) = std::env::var("AYE_NOW").ok().and_then(|text| text.parse().ok()) {
        return fixed;
    }
    std::time::SystemTime::now().into()
}
