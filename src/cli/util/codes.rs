//! `aye util codes`: the exit statuses and error codes, as the documentation prints them.

use serde::Serialize;

use crate::cli::{Context, Format};
use crate::error::{Code, Exit, Result};

/// The output of `aye util codes`.
#[derive(Debug, Serialize)]
pub struct Codes {
    /// `aye/codes@1`.
    pub schema: &'static str,
    /// Every exit status.
    pub exits: Vec<ExitRow>,
    /// Every error code, by room of the program.
    pub codes: Vec<CodeRow>,
}

/// One exit status.
#[derive(Debug, Serialize)]
pub struct ExitRow {
    /// The number the process ends with.
    pub exit: u8,
    /// What it means.
    pub meaning: &'static str,
}

/// One error code.
#[derive(Debug, Serialize)]
pub struct CodeRow {
    /// The stable code.
    pub code: &'static str,
    /// The exit status that goes with it.
    pub exit: u8,
    /// What it means.
    pub meaning: &'static str,
}

/// Every code of every room. Rooms know their own; only the edge knows all rooms.
pub fn all_codes() -> Vec<&'static Code> {
    let rooms: &[&[&'static Code]] = &[
        crate::error::codes::ALL,
        crate::apply::codes::ALL,
        crate::changeset::codes::ALL,
        crate::memory::codes::ALL,
        crate::changeset::patch::codes::ALL,
        crate::private::codes::ALL,
        crate::proposal::codes::ALL,
        crate::repository::codes::ALL,
        crate::store::codes::ALL,
        crate::tools::codes::ALL,
        crate::beneath::codes::ALL,
        crate::worktree::codes::ALL,
        crate::git::codes::ALL,
        crate::hooks::codes::ALL,
        crate::plan::codes::ALL,
        crate::scan::codes::ALL,
        crate::secrets::codes::ALL,
        crate::review::codes::ALL,
        crate::session::codes::ALL,
        crate::shell::codes::ALL,
    ];
    rooms.iter().flat_map(|room| room.iter().copied()).collect()
}

/// Every exit status and error code of this program.
pub fn table() -> Codes {
    let exits = Exit::ALL.iter().map(|exit| ExitRow { exit: *exit as u8, meaning: exit.meaning() });
    let codes = all_codes().into_iter().map(|code| CodeRow {
        code: code.id,
        exit: code.exit as u8,
        meaning: code.meaning,
    });
    Codes { schema: "aye/codes@1", exits: exits.collect(), codes: codes.collect() }
}

/// Prints the table.
pub fn run(context: &mut Context) -> Result<Exit> {
    let table = table();
    context.emit(Format::Text, &table, || text(&table))?;
    Ok(Exit::Done)
}

fn text(table: &Codes) -> String {
    let width = table.codes.iter().map(|row| row.code.len()).max().unwrap_or(0);
    let exits = table.exits.iter().map(|row| format!("{:>4}  {}\n", row.exit, row.meaning));
    let codes =
        table.codes.iter().map(|r| format!("{:>4}  {:width$}  {}\n", r.exit, r.code, r.meaning));
    exits.chain(["\n".to_owned()]).chain(codes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_well_formed() {
        let mut seen = std::collections::BTreeSet::new();
        for row in table().codes {
            assert!(seen.insert(row.code), "{} is declared twice", row.code);
            // Capitals where a published contract has them.
            let one_case =
                row.code == row.code.to_lowercase() || row.code == row.code.to_uppercase();
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            assert!(one_case && row.code.chars().all(plain), "{} is oddly written", row.code);
            assert!(row.exit != 0, "{} is an error that ends with 0", row.code);
            assert!(!row.meaning.is_empty() && !row.meaning.ends_with('.'), "{}", row.code);
        }
    }

    /// A script may report a bug by it.
    #[test]
    fn status_70_is_a_bug_and_nothing_else() {
        let bugs = table().codes.into_iter().filter(|row| row.exit == 70);
        assert_eq!(bugs.map(|row| row.code).collect::<Vec<_>>(), ["internal_error"]);
    }

    #[test]
    fn every_exit_status_of_a_code_is_in_the_table() {
        let table = table();
        for row in &table.codes {
            assert!(table.exits.iter().any(|e| e.exit == row.exit), "{}", row.code);
        }
    }
}
