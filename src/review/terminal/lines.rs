//! Single lines of a hunk, chosen by number.

use super::Terminal;
use super::console::AskResult;
use crate::changeset::hunks::{Diff, Hunk, LineSide};
use crate::render::diff::Options;
use crate::render::style::Role;
use crate::render::width;
use crate::review::model::{Action, UnitKind, parse_numbers};
use crate::text::escape;

impl Terminal<'_> {
    pub(super) fn choose_lines(&self) -> AskResult<Option<Action>> {
        let (Some(review), Some(unit)) = (self.session.review(), self.session.unit()) else {
            return Ok(None);
        };
        let UnitKind::Hunk(hunk) = &unit.part else { return Ok(None) };
        let diff = &review.file_of(self.session.unit_index()).diff;
        self.console.write(&list(diff, hunk, &self.console.options))?;
        let count = diff.lines(hunk).filter(|line| line.side != LineSide::Context).count();
        let asked = "Lines to take, such as 1,3-5 (Esc: none of this): ";
        let chosen = self.console.read_line(asked, |text| {
            parse_numbers(text, count).map_err(|_| {
                format!("'{}' is not among the lines 1 to {count}", escape::line(text))
            })
        })?;
        let Some(chosen) = chosen else { return Ok(None) };
        // All lines together are the hunk itself.
        Ok(Some(if chosen.len() == count {
            Action::Take
        } else {
            Action::Edit(diff.with_lines(hunk, &chosen))
        }))
    }
}

/// Numbers changed lines from 1.
fn list(diff: &Diff<'_>, hunk: &Hunk, options: &Options) -> String {
    let changed = diff.lines(hunk).filter(|line| line.side != LineSide::Context).count();
    let digits = changed.to_string().len();
    let mut number = 0;
    let mut out = String::new();
    for line in diff.lines(hunk) {
        let (role, label) = match line.side {
            LineSide::Context => (Role::Plain, String::new()),
            side => {
                number += 1;
                let role = if side == LineSide::Removed { Role::Old } else { Role::New };
                (role, number.to_string())
            }
        };
        let content = line.content();
        let content = escape::bytes_line(&content[..content.len().min(1000)]);
        let text = format!("{}{}", line.side.sign(), content);
        let text =
            width::fit(&text.replace('\t', "    "), options.columns.saturating_sub(digits + 1));
        options.palette.write(&mut out, Role::Key, &format!("{label:>digits$} "));
        options.palette.write(&mut out, role, &text);
        out.push('\n');
    }
    out
}
