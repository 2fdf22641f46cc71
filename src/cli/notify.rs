//! The user's own command that is run when something new waits for a decision.

use std::process::Stdio;

use super::{Context, programs};
use crate::repository::Repository;
use crate::store::{News, Store};
use crate::text;

/// The setting: a command line for the shell. Of the user's own configuration alone; the repository's
/// counts for nothing, since whoever proposes may be able to write it.
const SETTING: &str = "aye.notifyCommand";

/// Set for the command, so that what it starts does not start it again.
const NOTIFYING: &str = "AYE_NOTIFYING";

impl Context {
    /// Starts that command once for each proposal that this run has made pending. It goes on beside us: nobody
    /// waits for it, and nothing that it prints is shown.
    pub fn notify(&self) {
        let news = self.announced.take();
        if news.is_empty() || self.var(NOTIFYING).is_some() {
            return;
        }
        let Ok(store) = Store::discover(&self.directory) else { return };
        let Some(line) = store.repository().trusted_config(SETTING).filter(|line| !line.is_empty())
        else {
            return;
        };
        news.iter().for_each(|news| start(store.repository(), &line, news));
    }
}

fn start(repository: &Repository, line: &str, news: &News) {
    let mut command = programs::shell(&line.into(), &[news.id.as_str().as_ref()]);
    let first = news.description.lines().next().unwrap_or_default();
    command
        .env(NOTIFYING, "1")
        .env("AYE_PROPOSAL", news.id.as_str())
        .env("AYE_NEWS", if news.is_revised { "revised" } else { "proposed" })
        .env("AYE_BY", text::one_line(&news.by))
        .env("AYE_DESCRIPTION", text::one_line(first))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(top) = repository.work_dir() {
        command.current_dir(top);
    }
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    if let Ok(mut child) = command.spawn() {
        // A server that lives on would keep what has ended.
        let _ = std::thread::Builder::new().spawn(move || child.wait());
    }
}
