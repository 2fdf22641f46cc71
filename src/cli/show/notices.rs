//! Marks and warnings of a proposal, in words.

use crate::changeset::marks::Mark;
use crate::cli::Context;
use crate::cli::marks::lines;
use crate::error::Error;
use crate::render::style::{Palette, Role};
use crate::repository::Repository;
use crate::scan::gate::ScanWarning;
use crate::text::escape;

pub fn notice_sparse(context: &Context, repository: &Repository, refusal: &Error) {
    if let (Some(path), Some(hint)) =
        (repository.sparse_file(refusal), repository.sparse_hint(refusal))
    {
        context.note(&format!("note: {}: {}", escape::line(&path), escape::line(&hint)));
    }
}

/// A hostile proposal may hold thousands.
const SHOWN: usize = 20;

pub(super) fn warned(marks: &[Mark], warnings: &[ScanWarning], palette: &Palette) -> String {
    if marks.is_empty() && warnings.is_empty() {
        return String::new();
    }
    let mut out = String::from("\n");
    for line in lines(marks) {
        out += &format!("{}\n", palette.paint(Role::Warn, line));
    }
    for warning in warnings.iter().take(SHOWN) {
        let line = format!("warning: {}", escape::line(&warning.line()));
        out += &format!("{}\n", palette.paint(Role::Warn, line));
    }
    if warnings.len() > SHOWN {
        out += &format!("warning: and {} more\n", warnings.len() - SHOWN);
    }
    out
}
