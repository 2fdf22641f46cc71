//! `interactive.diffFilter`, as in `git add --patch`: the reviewer's program colours diffs. It must
//! return as many lines as it gets, so that the screen matches the decision line by line.

use super::{Terminal, screen::Block};
use crate::error::{Error, Result, codes};
use crate::render::diff::{Layout, Options};
use crate::render::style::Role;
use crate::text::escape;

impl Terminal<'_> {
    pub(super) fn filters(&self) -> bool {
        // Such a program expects unified diffs.
        self.filter && self.console.options.layout == Layout::Unified
    }

    /// Uses plain git colours if a program adds its own.
    pub(super) fn diff_options(&self) -> Options {
        let mut options = self.console.options.clone();
        if self.filters() {
            options.syntax = false;
            options.palette = options.palette.without_word_emphasis();
        }
        options
    }

    pub(super) fn put(&mut self, blocks: Vec<Block>) -> Result<()> {
        let mut out = String::new();
        for block in blocks {
            match block {
                Block::Diff { header, rows } if self.filters() => {
                    match self.filtered(&header, &rows) {
                        Ok(rows) => push(&mut out, &rows),
                        Err(error) => {
                            self.filter = false;
                            let text = format!(
                                "interactive.diffFilter is not used: {}",
                                escape::line(error.message())
                            );
                            self.console.tell(Role::Warn, &text)?;
                            push(&mut out, &rows);
                        }
                    }
                }
                block => block.push(&mut out),
            }
        }
        self.console.write(&out)
    }

    fn filtered(&mut self, header: &[String], rows: &[String]) -> Result<Vec<String>> {
        let mut text = String::new();
        push(&mut text, header);
        push(&mut text, rows);
        let shown = self.host.filter(&text)?;
        let lines: Vec<&str> = shown.lines().collect();
        let (wanted, given) = (header.len() + rows.len(), lines.len());
        if wanted != given {
            return Err(Error::new(
                &codes::INVALID_ARGUMENT,
                format!("it made {given} lines of {wanted}"),
            ));
        }
        Ok(lines[header.len()..].iter().map(|line| (*line).to_owned()).collect())
    }
}

fn push(out: &mut String, lines: &[String]) {
    for line in lines {
        out.push_str(line);
        out.push('\n');
    }
}
