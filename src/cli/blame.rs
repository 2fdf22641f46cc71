//! The command `aye blame`.

use super::{Context, pager, paths};
use crate::app::blame::{self, Range};
use crate::error::{Exit, Result};
use crate::render::style::{Palette, Role};
use crate::render::width;
use crate::text::escape;

/// Show where each line of a file is from: the proposal and who decided on it, or the commit.
///
/// The file is that of HEAD. The command git blame names the commit of each line; the trailers of
/// the commit name its proposal, who proposed it and who reviewed it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye blame src/main.rs
  aye blame src/main.rs -L 10,20")]
pub struct Args {
    /// The file.
    #[arg(value_name = "FILE")]
    pub file: std::ffi::OsString,
    /// Only these lines, as git blame has it: FROM,TO or FROM,+COUNT.
    #[arg(short = 'L', long, value_name = "FROM,TO")]
    pub lines: Option<String>,
}

/// # Errors
/// `file_not_found`, `binary_content`, `path_invalid`, `git_failed`.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let repository = store.repository();
    let path = paths::typed(context, repository, &args.file)?;
    let ranges = blame::blame(repository, &path, args.lines.as_deref())?;
    let palette = pager::palette(context, repository);
    pager::page(context, Some(repository), text(&ranges, &palette))
}

/// Columns of a name.
const WIDEST: usize = 28;

fn text(ranges: &[Range], palette: &Palette) -> String {
    let margin = |range: &Range| {
        let origin = &range.origin;
        let or = |names: &[String], other: &str| match names {
            [] => escape::line(other).into_owned(),
            names => escape::line(&names.join(", ")).into_owned(),
        };
        [
            or(&origin.proposal_ids, origin.commit.get(..10).unwrap_or_default()),
            or(&origin.proposed_by, &origin.author),
            or(&origin.reviewed_by, ""),
        ]
    };
    let margins: Vec<[String; 3]> = ranges.iter().map(margin).collect();
    let columns = [0, 1, 2].map(|column| {
        margins.iter().map(|margin| width::of(&margin[column])).max().unwrap_or(0).min(WIDEST)
    });
    let last = ranges.last().map_or(0, |range| range.line + range.count - 1);
    let digits = last.to_string().len();
    let mut out = String::new();
    for (range, margin) in ranges.iter().zip(&margins) {
        let date = range.origin.at.get(..10).unwrap_or_default();
        for (at, line) in range.content.iter().enumerate() {
            for ((text, columns), role) in
                margin.iter().zip(columns).zip([Role::Id, Role::Plain, Role::Dim])
            {
                let text = width::fit(text, columns);
                let blank = columns.saturating_sub(width::of(&text)) + 2;
                palette.write(&mut out, role, &text);
                out += &" ".repeat(blank);
            }
            let number = range.line + at;
            palette.write(&mut out, Role::Dim, &format!("{date:<10}  {number:>digits$}) "));
            out += &escape::bytes_line(line);
            out.push('\n');
        }
    }
    out
}
