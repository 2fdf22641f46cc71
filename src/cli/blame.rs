//! `aye blame`: where each line of a file is from.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Context, Format, pager, paths};
use crate::app::blame::{self, Blame, Kind, Origin, Range};
use crate::error::{Error, Exit, Result, codes};
use crate::proposal::ProposalId;
use crate::render::style::{Palette, Role};
use crate::render::width;
use crate::store::View;
use crate::text::escape;

/// Show where each line of a file is from: the proposal and who decided on it, or the commit.
///
/// Lines that applied proposals have added come first, committed or not, through renames, squashes and
/// rebases; every other line is from the commit that git blame names. A proposal that is not in this clone
/// is known by the trailers of its commit.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each line has the proposal, patch or commit; who wrote it, and the model; who decided and on
what evidence; the date, the number of the line and the line.

With --porcelain each run of lines begins with the id of the proposal, patch or commit (zeros
where there is none), the number of its first line and how many they are. Where an id comes up
with something new to say of it, lines of a key and a value follow: kind, by, by-kind, model,
session, decided-by, evidence, time, revision, commit, summary. Then each line of the file behind
a tab.

Examples:
  aye blame src/main.rs
  aye blame src/main.rs -L 10,20
  aye blame src/main.rs --porcelain
  aye blame src/main.rs --json"
)]
pub struct Args {
    /// The file.
    #[arg(value_name = "FILE")]
    pub file: std::ffi::OsString,
    /// Only these lines: N, or FROM,TO; without TO up to the end.
    #[arg(short = 'L', long, value_name = "FROM,TO")]
    pub lines: Option<String>,
    /// A format for programs, which stays as it is.
    #[arg(long, conflicts_with_all = ["json", "yaml", "format"])]
    pub porcelain: bool,
}

/// Answer of `aye blame`.
#[derive(Debug, Serialize)]
pub struct Document {
    /// `aye/blame@1`
    pub schema: &'static str,
    /// The file.
    pub path: String,
    /// Its lines, in order; those that follow each other and are from the same origin together.
    pub ranges: Vec<Range>,
}

/// Runs the command.
///
/// # Errors
/// `file_not_found`, `binary_content`, `path_invalid`, and those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let path = paths::typed(context, &store, &args.file)?;
    let mut found = blame::blame(&store, context.now, &path)?;
    if let Some(text) = &args.lines {
        narrow(&mut found, text)?;
    }
    if args.porcelain {
        context.print(&porcelain(&found))?;
        return Ok(Exit::Done);
    }
    if context.format_or(Format::Text) != Format::Text {
        let path = path.display().to_string();
        let answer = Document { schema: "aye/blame@1", path, ranges: found.ranges };
        context.emit(Format::Text, &answer, String::new)?;
        return Ok(Exit::Done);
    }
    let snapshot = store.repo().config_snapshot();
    let palette = pager::palette(context, Some(snapshot.plumbing()));
    let text = text(&store.view()?, &found, &palette);
    pager::page(context, Some(snapshot.plumbing()), text.as_bytes())?;
    Ok(Exit::Done)
}

/// Leaves the lines that `-L` names.
fn narrow(found: &mut Blame, text: &str) -> Result<()> {
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
    let count = found.ranges.last().map_or(0, |range| range.line + range.count - 1);
    let (from, to) = match text.split_once(',') {
        None => (number(text), number(text)),
        Some((from, "")) => (number(from), Some(usize::MAX)),
        Some(("", to)) => (Some(1), number(to)),
        Some((from, to)) => (number(from), number(to)),
    };
    let (Some(from), Some(to)) = (from, to) else {
        return Err(Error::new(&codes::INVALID_ARGUMENT, format!("invalid value '{text}' for -L"))
            .hint("as in -L 10,20; lines are counted from 1"));
    };
    if from > count || to < from {
        return Err(Error::new(
            &codes::INVALID_ARGUMENT,
            format!("the file has {count} lines, and none of {text}"),
        )
        .hint("name lines that are there"));
    }
    for range in &mut found.ranges {
        let end = (range.line + range.count - 1).min(to);
        range.line = range.line.max(from);
        range.count = (end + 1).saturating_sub(range.line);
    }
    found.ranges.retain(|range| range.count > 0);
    Ok(())
}

/// Each line of a range, with its number from 1.
fn lines<'b>(found: &'b Blame, range: &Range) -> impl Iterator<Item = (usize, &'b [u8])> + use<'b> {
    use bstr::ByteSlice as _;
    let lines = found.content.lines_with_terminator().enumerate();
    let (first, count) = (range.line, range.count);
    lines.skip(first - 1).take(count).map(|(at, line)| (at + 1, line))
}

fn name(origin: &Origin) -> String {
    let id = origin.proposal_id.as_ref().or(origin.patch_id.as_ref()).or(origin.commit.as_ref());
    id.cloned().unwrap_or_else(|| "0".repeat(40))
}

fn porcelain(found: &Blame) -> Vec<u8> {
    let mut out = Vec::new();
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for range in &found.ranges {
        let (id, origin) = (name(&range.origin), &range.origin);
        out.extend(format!("{id} {} {}\n", range.line, range.count).into_bytes());
        let known = told.entry(id).or_default();
        for (key, value) in facts(origin) {
            let line = format!("{key} {}\n", escape::line(&value));
            if known.insert(line.clone()) {
                out.extend(line.into_bytes());
            }
        }
        for (_, line) in lines(found, range) {
            out.push(b'\t');
            out.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                out.push(b'\n');
            }
        }
    }
    out
}

fn facts(origin: &Origin) -> Vec<(&'static str, String)> {
    let kind = match origin.kind {
        Kind::Proposal => "proposal",
        Kind::Patch => "patch",
        Kind::Commit => "commit",
        Kind::Uncommitted => "uncommitted",
    };
    let mut facts = vec![("kind", kind.to_owned())];
    let by_kind = origin.by_kind.map(|kind| kind.as_str().to_owned());
    for (key, value) in [
        ("by", &origin.by),
        ("by-kind", &by_kind),
        ("model", &origin.model),
        ("session", &origin.session),
        ("decided-by", &origin.decided_by),
        ("evidence", &origin.evidence),
        ("time", &origin.at),
        ("revision", &origin.revision),
        ("commit", &origin.commit),
        ("summary", &origin.summary),
    ] {
        facts.extend(value.clone().map(|value| (key, value)));
    }
    facts
}

/// What stands before the lines of a range.
struct Margin {
    id: String,
    by: String,
    decided: String,
    date: String,
}

impl Margin {
    fn of(view: &View, origin: &Origin) -> Self {
        let proposal = origin.proposal_id.as_deref();
        let short = |id: &str| {
            let known = ProposalId::parse(id).ok().and_then(|id| view.prefix(&id).ok());
            id.chars().take("prop_".len() + known.unwrap_or(10).max(4)).collect()
        };
        let patch = origin.patch_id.clone();
        let commit = || origin.commit.as_deref().map(|id| id.chars().take(10).collect());
        let id: Option<String> = proposal.map(short).or(patch).or_else(commit);
        let by = match (&origin.by, &origin.model) {
            (Some(by), Some(model)) => format!("{by} ({model})"),
            (by, _) => by.clone().unwrap_or_default(),
        };
        let decided = match (origin.kind, &origin.decided_by, &origin.evidence) {
            (Kind::Commit, ..) => "by hand".to_owned(),
            (_, Some(by), Some(evidence)) => format!("{by}, {evidence}"),
            (_, None, Some(evidence)) => evidence.clone(),
            (_, by, None) => by.clone().unwrap_or_default(),
        };
        let date = origin.at.as_deref().unwrap_or_default();
        Self {
            id: escape::line(&id.unwrap_or_else(|| "not committed".to_owned())).into_owned(),
            by: escape::line(&by).into_owned(),
            decided: escape::line(&decided).into_owned(),
            date: date.chars().take(10).collect(),
        }
    }
}

/// Columns of a name, at most.
const WIDEST: usize = 28;

fn text(view: &View, found: &Blame, palette: &Palette) -> String {
    let margins: Vec<Margin> =
        found.ranges.iter().map(|range| Margin::of(view, &range.origin)).collect();
    let widest = |of: fn(&Margin) -> &str| {
        margins.iter().map(|margin| width::of(of(margin))).max().unwrap_or(0).min(WIDEST)
    };
    let columns = [widest(|m| &m.id), widest(|m| &m.by), widest(|m| &m.decided)];
    let last = found.ranges.last().map_or(0, |range| range.line + range.count - 1);
    let digits = last.to_string().len();
    let fill = |text: &str, columns: usize| {
        let text = width::fit(text, columns);
        let blank = " ".repeat(columns.saturating_sub(width::of(&text)));
        format!("{text}{blank}")
    };
    let mut out = String::new();
    for (range, margin) in found.ranges.iter().zip(&margins) {
        for (number, line) in lines(found, range) {
            palette.write(&mut out, Role::Id, &fill(&margin.id, columns[0]));
            out.push_str("  ");
            out += &fill(&margin.by, columns[1]);
            out.push_str("  ");
            palette.write(&mut out, Role::Dim, &fill(&margin.decided, columns[2]));
            out += &format!("  {:<10}  ", margin.date);
            palette.write(&mut out, Role::Dim, &format!("{number:>digits$}) "));
            let content = line.strip_suffix(b"\n").unwrap_or(line);
            out += &escape::bytes_line(content);
            out.push('\n');
        }
    }
    out
}
