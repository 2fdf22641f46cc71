//! The clock, environment, terminal and format, which the library must not look up.

use std::cell::{OnceCell, RefCell};
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use chrono::{DateTime, Utc};

use super::Global;
use super::output::Format;
use crate::actor::ancestors::AgentProcess;
use crate::process_wait;
use crate::repository::Upkeep;
use crate::store::{NewsList, Notices};
use crate::text::escape;

pub struct Context {
    /// `-C` is applied already.
    pub directory: PathBuf,
    pub now: DateTime<Utc>,
    /// `None` lets the command choose its default.
    pub format: Option<Format>,
    pub color: bool,
    pub quiet: bool,
    pub pager: bool,
    /// Unreadable refs and threads.
    pub(super) notices: Notices,
    /// Notes whether this run wrote objects.
    pub(super) upkeep: Upkeep,
    /// Proposals that this run made pending.
    pub(super) announced: NewsList,
    /// See `Context::agent_above`.
    pub(super) above: OnceCell<Option<AgentProcess>>,
    /// `aye.syncAfter` of the opened repository.
    pub(super) sync_after: RefCell<Option<String>>,
    /// Set by [`Context::ends_with`].
    pub(super) status: Option<u8>,
}

impl Context {
    pub fn from_process(global: &Global) -> Self {
        // Enter the directory, as git does: paths in the environment are relative to it. Discovery
        // reports a failure.
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
            process_wait::report_to(|line| {
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
            announced: NewsList::default(),
            above: OnceCell::new(),
            sync_after: RefCell::default(),
            status: None,
        }
    }

    /// Returns the present time; `now` is that of the start.
    pub fn clock(&self) -> DateTime<Utc> {
        clock()
    }

    /// An empty variable counts as unset.
    pub fn var(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name).filter(|value| !value.is_empty())
    }

    pub fn on_path(&self, program: &str) -> Option<PathBuf> {
        let path = self.var("PATH").unwrap_or_default();
        let files = std::env::split_paths(&path).map(|directory| directory.join(program));
        files.into_iter().find(|file| file.is_file())
    }

    pub fn format_or(&self, default: Format) -> Format {
        self.format.unwrap_or(default)
    }

    pub fn interactive(&self) -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// True if a person may be watching: some stream is a terminal.
    pub fn is_attended(&self) -> bool {
        io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal()
    }

    /// True if bracketed paste may be switched on.
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

/// Test builds read the time from `AYE_NOW` (RFC 3339).
pub fn clock() -> DateTime<Utc> {
    #[cfg(all(feature = "failpoints", debug_assertions))]
    if let Some(fixed) = std::env::var("AYE_NOW").ok().and_then(|text| text.parse().ok()) {
        return fixed;
    }
    std::time::SystemTime::now().into()
}
