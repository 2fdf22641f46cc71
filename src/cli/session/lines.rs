//! Report of a submission, for people and for the agent.

use bstr::BString;

use crate::app::session::{SubmitOutcome, SubmitReport};
use crate::cli::Context;
use crate::scan::gate::ScanWarning;
use crate::session::ignored_files::{Group, Inventory};
use crate::text::{counted, escape, shell};

const MOST: usize = 20;

pub(in crate::cli) fn conflict_lines(kept: &[(String, String)]) -> Vec<String> {
    few("aye: ", kept, |(path, why)| format!("{}: {}", escape::name(path), escape::line(why)))
}

fn few<T>(start: &str, all: &[T], line: impl Fn(&T) -> String) -> Vec<String> {
    let more = (all.len() > MOST).then(|| format!("{start}and {} more", all.len() - MOST));
    all.iter().take(MOST).map(|one| format!("{start}{}", line(one))).chain(more).collect()
}

pub(in crate::cli) fn decision_lines(said: &[String]) -> impl Iterator<Item = String> {
    said.iter().map(|what| format!("aye: {}", escape::line(what)))
}

pub(in crate::cli) fn say(context: &Context, done: &SubmitReport) {
    let lines = summary(done);
    if lines.is_empty() {
        context.note("aye: nothing changed");
    }
    for line in lines {
        context.note(&line);
    }
}

pub(in crate::cli) fn summary(done: &SubmitReport) -> Vec<String> {
    let mut lines: Vec<String> =
        decision_lines(&done.said).chain(conflict_lines(&done.kept)).collect();
    lines.extend(few("aye: not proposed: ", &done.passed_over, |(path, why)| {
        format!("{} {}", escape::name(path), escape::line(why))
    }));
    let Some(outcome) = &done.outcome else { return lines };
    let proposal = outcome.proposal();
    if let SubmitOutcome::Withdrawn(_) = outcome {
        lines.push(format!("aye: {} withdrawn: nothing of it is left in the files", proposal.id));
        return lines;
    }
    if let SubmitOutcome::Proposed(recorded) | SubmitOutcome::Revised(recorded) = outcome {
        let line = |it: &ScanWarning| escape::line(&it.line()).into_owned();
        lines.extend(few("aye: warning: ", &recorded.warnings, line));
    }
    let files = counted(proposal.current().changes.len(), "file");
    let (added, removed) = done.lines;
    let word = match outcome {
        SubmitOutcome::Proposed(_) => "",
        SubmitOutcome::Revised(_) => " revised:",
        SubmitOutcome::Unchanged(_) | SubmitOutcome::Withdrawn(_) => " as before:",
    };
    lines.push(format!(
        "aye: {id}{word} {files} +{added} −{removed}   decide: aye review {id}",
        id = proposal.id
    ));
    lines
}

pub(in crate::cli) fn ignored_lines(found: &Inventory) -> Vec<String> {
    let list = |paths: &[BString]| {
        let shown = paths.iter().take(MOST).map(|path| escape::name(&path.to_string()));
        let more = (paths.len() > MOST).then(|| format!("and {} more", paths.len() - MOST));
        shown.chain(more).collect::<Vec<_>>().join(", ")
    };
    let group = |group: &Group| {
        let directory = format!("{}/", group.directory);
        let at = if group.directory.is_empty() { "the top" } else { &directory };
        let more = if group.count > group.first.len() { ", …" } else { "" };
        let (at, files) = (escape::name(at), counted(group.count, "file"));
        format!("aye: ignored by git, not proposed: {files} in {at}: {}{more}", list(&group.first))
    };
    let mut lines: Vec<String> = found.groups.iter().take(MOST).map(group).collect();
    if found.groups.len() > MOST {
        let more = found.groups.len() - MOST;
        lines.push(format!("aye: ignored by git, not proposed: files in {more} more directories"));
    }
    if !found.builds.is_empty() {
        lines.push(format!(
            "aye: build directories, removed with the tree: {}",
            list(&found.builds)
        ));
    }
    if let Some((place, day)) = &found.place {
        let place = shell::word(&place.to_string_lossy());
        lines.push(format!(
            "aye: the ignored files are kept until {day} in {}",
            escape::line(&place)
        ));
    }
    lines
}
