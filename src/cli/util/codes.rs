//! `aye help codes [CODE]`: exit statuses, error codes, findings and problems.

use crate::app::doctor::table::{KNOWN, ProblemKind};
use crate::check::Concern;
use crate::error::{Code, Exit};

pub fn all_codes() -> Vec<&'static Code> {
    let rooms: &[&[&'static Code]] = &[
        crate::error::codes::ALL,
        crate::acp::codes::ALL,
        crate::apply::codes::ALL,
        crate::changeset::codes::ALL,
        crate::memory::codes::ALL,
        crate::changeset::patch::codes::ALL,
        crate::private::codes::ALL,
        crate::proposal::codes::ALL,
        crate::repository::codes::ALL,
        crate::store::codes::ALL,
        crate::sync::codes::ALL,
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

/// Console sessions that end with a code, under headings.
const EXAMPLES: &str = include_str!("examples.md");

fn sentence(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    // A command, or the name of a file or setting.
    let is_name = ["aye ", "git "].iter().any(|name| text.starts_with(name))
        || text.split(' ').next().is_some_and(|word| word.contains('.'));
    let first = if is_name { first.to_owned() } else { first.to_uppercase() };
    // A refspec's asterisks are no emphasis.
    format!("{first}{rest}.").replace('*', "\\*")
}

/// Code, meaning and remedy.
type Row = (String, String, String);

/// The reports of `aye check` and `aye doctor`; each code once.
fn reports() -> [(&'static str, Vec<Row>); 2] {
    let rules = Concern::ALL.iter().map(|concern| concern.rule());
    let rules = rules.map(|rule| (rule.id.into(), rule.summary.into(), rule.help.into())).collect();
    let problem = |kind: &ProblemKind| (kind.code.into(), kind.meaning.into(), kind.remedy.into());
    let is_finding = |code| Concern::ALL.iter().any(|concern| concern.id() == code);
    let problems = KNOWN.iter().filter(|kind| !is_finding(kind.code)).map(problem).collect();
    [
        ("Findings of `aye check` and `aye doctor`", rules),
        ("Problems that `aye doctor` reports", problems),
    ]
}

/// Markdown; `docs/troubleshooting.md` is a copy.
pub fn page() -> String {
    let mut page = "# Troubleshooting by code\n\n\
        Every error prints a stable code: `error[not_pending]: …`. Find the code below, or ask \
        `aye help codes CODE`\nfor an explanation, often with an example. The line that begins with \
        `hint:` names the next command.\n\n## Exit statuses\n| Status | Meaning |\n|---|---|\n"
        .to_owned();
    for exit in Exit::ALL {
        page += &format!("| {} | {} |\n", exit as u8, sentence(exit.meaning()));
    }
    page += "\n`aye wait` exits with 124 when its time is over. `aye run` and `aye try` exit with the \
        status of their command.\n\n## Errors\n| Code | Exit | Meaning |\n|---|---|---|\n";
    for code in all_codes() {
        page += &format!("| `{}` | {} | {} |\n", code.id, code.exit as u8, sentence(code.meaning));
    }
    for (title, rows) in reports() {
        page += &format!("\n## {title}\n| Code | Meaning | Remedy |\n|---|---|---|\n");
        for (code, meaning, remedy) in rows {
            page += &format!("| `{code}` | {} | {} |\n", sentence(&meaning), sentence(&remedy));
        }
    }
    page
}

/// Markdown; `None` for an unknown code.
pub fn explanation(code: &str) -> Option<String> {
    let mut page = String::new();
    if let Some(error) = all_codes().into_iter().find(|known| known.id == code) {
        let (status, meaning) = (error.exit as u8, sentence(error.exit.meaning()));
        page += &format!("{}\n\nExit status {status}: {meaning}\n", sentence(error.meaning));
    }
    for (title, rows) in reports() {
        for (_, meaning, remedy) in rows.into_iter().filter(|(known, ..)| known == code) {
            let (meaning, remedy) = (sentence(&meaning), sentence(&remedy));
            page += &format!("\n{title}: {meaning}\n\nRemedy: {remedy}\n");
        }
    }
    let example =
        EXAMPLES.split("\n## ").find_map(|part| part.strip_prefix(code)?.strip_prefix('\n'));
    let example = example.map(|text| format!("\n{text}")).unwrap_or_default();
    (!page.is_empty()).then(|| format!("# {code}\n\n{page}{example}"))
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
