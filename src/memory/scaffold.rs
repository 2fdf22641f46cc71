//! The files that `memory init` writes: settings, empty durable files, ignore rules.

use super::settings::manifest::{Git, NAME_LINE};
use super::settings::{DEFAULT_MANIFEST, DEFAULT_SCHEMA};

/// The manifest may keep the first two.
pub const IGNORED: [&str; 4] = ["local/", "sessions/", "staging/", "proposals/"];

const DERIVED: &str = "
# Derived indexes and caches.\nmeta/*.sqlite\nmeta/*.sqlite-*\nmeta/*.db\nmeta/*.db-*\n\n# Advisory locks.\nmeta/lock\nmeta/lock.info\n\n# Left by processes that were stopped.\n.aye-tmp-*\n";

/// Appends on two branches merge without a conflict.
const GITATTRIBUTES: &str = "\
pitfalls.md merge=union
decisions.md merge=union
sessions/*.md merge=union
";

/// The block that `init` maintains in `AGENTS.md`.
pub const BLOCK: (&str, &str) = ("<!-- aye:memory:begin -->", "<!-- aye:memory:end -->");

pub const AGENTS: &str = "## Project memory

Before working, read the project's memory: `aye memory context` (add a question to narrow it down).
Found something worth keeping? Propose it, never edit `.agent-memory/` by hand:

    aye call memory.propose_update - <<'JSON'
    {\"intent\": \"add_pitfall\", \"rationale\": \"why\", \"sources\": [{\"type\": \"file\", \"ref\": \"src/x.rs:12\"}],
     \"operations\": [{\"operation\": \"append_section\", \"path\": \"pitfalls.md\", \"heading\": \"What bites\",
       \"heading_level\": 2, \"content\": \"## What bites\\n\\nWhat to do instead.\"}]}
    JSON

A `staged` answer waits for a person; `aye memory status` tells what became of it.
";

fn gitignore(git: Option<&Git>) -> String {
    let mut out = String::from("# Local state, never committed.\n");
    for directory in IGNORED {
        let kept = git.is_some_and(|git| match directory {
            "local/" => git.track_local,
            "sessions/" => git.track_sessions,
            _ => false,
        });
        if !kept {
            out += directory;
            out.push('\n');
        }
    }
    out + DERIVED
}

/// `git` comes from an existing manifest.
pub fn files(project: &str, git: Option<&Git>) -> Vec<(&'static str, String)> {
    let name = serde_yaml::to_string(project).unwrap_or_default();
    let name = name.trim();
    let manifest = DEFAULT_MANIFEST.replace(NAME_LINE, &format!("    name: {name}\n"));
    vec![
        ("meta/manifest.yaml", manifest),
        ("meta/schema.yaml", DEFAULT_SCHEMA.to_owned()),
        (".gitignore", gitignore(git)),
        (".gitattributes", GITATTRIBUTES.to_owned()),
        ("conventions.md", "# Conventions\n<!-- @id: conventions -->\n\nHow things are done here: build, test, style, workflow.\n".to_owned()),
        ("decisions.md", "# Decisions\n<!-- @id: decisions -->\n\nDurable decisions, each with Date, Status and Confidence.\n".to_owned()),
        ("pitfalls.md", "# Pitfalls\n<!-- @id: pitfalls -->\n\nTraps that cost somebody time, and how to avoid them.\n".to_owned()),
    ]
}

fn block_in(text: &str) -> Option<std::ops::Range<usize>> {
    let (begin, end) = BLOCK;
    let from = text.find(begin)?;
    let to = text[from..].find(end)?;
    Some(from..super::markdown::lines::end_of(text, from + to))
}

fn block(guide: &str) -> String {
    let (begin, end) = BLOCK;
    format!("{begin}\n{guide}\n{AGENTS}{end}\n")
}

pub fn is_edited(text: &str, guide: &str) -> bool {
    let lines = |text: &str| text.replace("\r\n", "\n").trim_end_matches('\n').to_owned();
    block_in(text).is_some_and(|found| lines(&text[found]) != lines(&block(guide)))
}

/// Text outside the block stays.
pub fn with_block(text: &str, guide: &str) -> String {
    let eol = super::markdown::lines::dominant_ending(text);
    let block = super::markdown::lines::with_ending(&block(guide), eol);
    if let Some(old) = block_in(text) {
        return format!("{}{block}{}", &text[..old.start], &text[old.end..]);
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => eol,
        _ => return format!("{text}{eol}{eol}{block}"),
    };
    format!("{text}{gap}{block}")
}

/// Removes the block and the gap before it.
pub fn without_block(text: &str) -> String {
    let Some(block) = block_in(text) else { return text.to_owned() };
    let eol = super::markdown::lines::dominant_ending(text);
    let before = &text[..block.start];
    let gap = [eol, eol].concat();
    let before = if before.ends_with(&gap) { &before[..before.len() - eol.len()] } else { before };
    format!("{before}{}", &text[block.end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::settings::Settings;

    #[test]
    fn the_scaffold_is_a_valid_store() {
        for name in ["x", "a: b", "yes", "\"q\" 'r'", "проект", ""] {
            let files: std::collections::BTreeMap<_, _> = files(name, None).into_iter().collect();
            let settings = Settings::read(
                Some(files["meta/manifest.yaml"].as_bytes()),
                Some(files["meta/schema.yaml"].as_bytes()),
            )
            .unwrap();
            assert_eq!(settings.manifest.project.name, name);
        }
    }

    #[test]
    fn the_block_is_put_in_once_and_the_rest_stays() {
        for text in ["", "# Mine\n", "# Mine\n\nno newline", "# Mine\r\n"] {
            let once = with_block(text, "Guide\n");
            assert!(once.starts_with(text));
            assert_eq!(with_block(&once, "Guide\n"), once);
        }
        let written = with_block("", "Guide\n");
        let of_windows = format!("a\r\n{}", written.replace('\n', "\r\n"));
        for text in ["x", &written, written.trim_end(), &of_windows] {
            assert!(!is_edited(text, "Guide\n"), "{text:?}");
        }
        assert!(is_edited(&written, "Another\n"));
        let text = format!("a\n{}\nold\n{}\nb\n", BLOCK.0, BLOCK.1);
        let new = with_block(&text, "Guide\n");
        assert!(new.starts_with("a\n") && new.ends_with("\nb\n") && !new.contains("old"));
    }
}
