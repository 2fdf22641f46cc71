//! Push of this clone's directory: never forced, deletions by lease.

use bstr::ByteSlice as _;

use super::directory::Directory;
use super::{RefusedRef, SyncRequest, codes, failed};
use crate::error::Result;
use crate::git::GitOutput;
use crate::store::{Store, fetch_refspec, push_directory};

/// Refs of one command line, which the system limits.
const MOST: usize = 2_000;

#[derive(Debug, Default)]
pub(super) struct PushReport {
    /// Names below this clone's directory.
    pub(super) sent: Vec<String>,
    pub(super) deleted: usize,
    pub(super) refused: Vec<RefusedRef>,
    /// The remote has moved since it was fetched.
    pub(super) is_behind: bool,
}

/// # Errors
/// `remote_failed`.
pub(super) fn push(
    store: &Store,
    request: &SyncRequest<'_>,
    clone: &str,
    directory: &Directory,
) -> Result<PushReport> {
    let above = push_directory(clone);
    // The id and not the name: what was examined is what is sent.
    let send = directory.send.iter().map(|(rest, at)| (None, format!("{at}:{above}{rest}")));
    let drop = directory.drop.iter().map(|(rest, at)| {
        let lease = format!("--force-with-lease={above}{rest}:{at}");
        (Some(lease), format!(":{above}{rest}"))
    });
    let all: Vec<(Option<String>, String)> = send.chain(drop).collect();
    let mut report = PushReport::default();
    for some in all.chunks(MOST) {
        let leases = some.iter().filter_map(|(lease, _)| lease.as_ref());
        // Hooks of the project are for its branches: many run its tests. The refspec has git note
        // here what the remote has now.
        let pushed = store
            .repository()
            .git()?
            .may_prompt(request.prompts)
            .config(&format!("remote.{}.fetch", request.remote), &fetch_refspec(request.remote))
            .config("push.followTags", "false")
            .args(["push", "--porcelain", "--no-verify", "--no-signed"])
            .args(["--recurse-submodules=no"])
            .args(leases)
            .arg(request.remote)
            .args(some.iter().map(|(_, refspec)| refspec))
            .answer()?;
        crate::failpoint!("sync.pushed");
        let known = report.sent.len() + report.deleted + report.refused.len();
        report.read(&pushed, &above);
        let is_answered = report.sent.len() + report.deleted + report.refused.len() > known;
        if !pushed.ok() && !is_answered && !report.is_behind {
            return Err(failed(request.remote, &pushed));
        }
    }
    Ok(report)
}

impl PushReport {
    /// Parses lines `flag TAB from:to TAB summary (reason)`. The server's own words are about any
    /// of the refs that it refused.
    fn read(&mut self, pushed: &GitOutput, above: &str) {
        for line in pushed.stdout.lines() {
            let line = line.to_str_lossy();
            let mut fields = line.splitn(3, '\t');
            let (Some(flag), Some(names), Some(why)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let Some((_, name)) = names.split_once(':') else { continue };
            let rest = name.strip_prefix(above).unwrap_or(name).to_owned();
            match flag {
                " " | "*" | "+" => self.sent.push(rest),
                "-" => self.deleted += 1,
                "!" if ["(non-fast-forward)", "(fetch first)", "(stale info)"]
                    .iter()
                    .any(|end| why.ends_with(end)) =>
                {
                    self.is_behind = true;
                }
                "!" => {
                    let name = name.to_owned();
                    let why = match pushed.remote_words() {
                        said if said.is_empty() => why.to_owned(),
                        said => format!("{why}: {said}"),
                    };
                    self.refused.push(RefusedRef::new(&codes::PUSH_REFUSED, name, why));
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_tells_sent_refs_from_refused_ones() {
        let said = "To /srv/team\n\
            *\t01:refs/aye/by/c/1\t[new reference]\n\
            =\t02:refs/aye/by/c/2\t[up to date]\n \
            \t03:refs/aye/by/c/3\t0a..0b\n\
            -\t:refs/aye/by/c/4\t[deleted]\n\
            !\t05:refs/aye/by/c/5\t[remote rejected] (pre-receive hook declined)\n\
            !\t06:refs/aye/by/c/6\t[rejected] (fetch first)\n\
            Done\n";
        let mut report = PushReport::default();
        let words = b"remote: ask ops        \nremote: \nTo /srv/team\n".to_vec();
        let pushed = GitOutput { status: 1, stdout: said.into(), stderr: words };
        report.read(&pushed, "refs/aye/by/c/");
        assert_eq!(report.sent, ["1", "3"]);
        assert_eq!((report.deleted, report.is_behind), (1, true));
        let refused: Vec<(&str, &str)> =
            report.refused.iter().map(|it| (&*it.name, &*it.why)).collect();
        let why = "[remote rejected] (pre-receive hook declined): ask ops";
        assert_eq!(refused, [("refs/aye/by/c/5", why)]);
    }
}
