//! `aye.notifyCommand`: the user's command for new pending proposals.

use std::process::Stdio;

use super::{Context, programs};
use crate::repository::Repository;
use crate::store::{News, Store};
use crate::text;

/// The setting is read from the user's own configuration only: a proposer may be able to write the
/// repository's.
const SETTING: &str = "aye.notifyCommand";

/// The command's processes must not start it again.
const NOTIFYING: &str = "AYE_NOTIFYING";

impl Context {
    /// Starts the command in the background, once for each new pending proposal.
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
        // Reap the child: a long-lived server would keep zombies.
        let _ = std::thread::Builder::new().spawn(move || child.wait());
    }
}
