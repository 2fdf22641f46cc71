//! `aye help codes`: exit statuses, error codes, findings and problems.

use crate::app::doctor::table::KNOWN;
use crate::check::Concern;
use crate::error::{Code, Exit};
use crate::report::Rule;

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
        crate::check::codes::ALL,
        crate::secrets::codes::ALL,
        crate::review::codes::ALL,
        crate::session::codes::ALL,
        crate::shell::codes::ALL,
    ];
    rooms.iter().flat_map(|room| room.iter().copied()).collect()
}

fn errors() -> String {
    let codes = all_codes();
    let width = codes.iter().map(|code| code.id.len()).max().unwrap_or(0);
    let exits = Exit::ALL.iter().map(|exit| format!("{:>4}  {}\n", *exit as u8, exit.meaning()));
    let codes = codes
        .iter()
        .map(|code| format!("{:>4}  {:width$}  {}\n", code.exit as u8, code.id, code.meaning));
    exits.chain(["\n".to_owned()]).chain(codes).collect()
}

pub fn page() -> String {
    let remedies = |rows: Vec<(&str, &str, &str)>| -> String {
        let row = |(code, meaning, remedy): (&str, &str, &str)| {
            format!("{code}\n      {meaning}\n      -> {remedy}\n")
        };
        rows.into_iter().map(row).collect()
    };
    let rules: Vec<Rule> = Concern::ALL.iter().map(|concern| concern.rule()).collect();
    let rules = rules.iter().map(|rule| (&*rule.id, &*rule.summary, &*rule.help)).collect();
    let problems = KNOWN.iter().map(|known| (known.code, known.meaning, known.remedy)).collect();
    format!(
        "# Codes\n\n## Errors, with their exit statuses\n\n{}\n## Findings of aye check\n\n{}\n\
         ## Problems and warnings of aye doctor\n\n{}",
        errors(),
        remedies(rules),
        remedies(problems)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_well_formed() {
        let mut seen = std::collections::BTreeSet::new();
        for code in all_codes() {
            let id = code.id;
            assert!(seen.insert(id), "{id} is declared twice");
            // Capitals as in a published contract.
            let one_case = id == id.to_lowercase() || id == id.to_uppercase();
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            assert!(one_case && id.chars().all(plain), "{id} is oddly written");
            assert!(code.exit != Exit::Done, "{id} is an error that ends with 0");
            assert!(Exit::ALL.contains(&code.exit), "{id}");
            assert!(!code.meaning.is_empty() && !code.meaning.ends_with('.'), "{id}");
        }
    }

    /// Scripts may report a bug by this status.
    #[test]
    fn status_70_is_a_bug_and_nothing_else() {
        let bugs = all_codes().into_iter().filter(|code| code.exit as u8 == 70);
        assert_eq!(bugs.map(|code| code.id).collect::<Vec<_>>(), ["internal_error"]);
    }
}
