//! What other programs keep as memory, as requests of this one: sections of instruction files, notes
//! with front matter, memory banks. Pure; nothing is written here, and each request is staged.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::markdown::{self, slug};
use super::scaffold::without_block;
use crate::ordered::Ordered as _;

/// One file that is imported.
#[derive(Clone, Debug)]
pub struct Note {
    /// As it is named in answers and sources.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// One section that was found, and the request that proposes it.
#[derive(Clone, Debug)]
pub struct Item {
    /// The file that it is from.
    pub source: String,
    /// Its heading.
    pub heading: String,
    /// The memory file that it goes to.
    pub path: String,
    /// The request.
    pub request: Value,
}

/// Where a section goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Conventions,
    Pitfalls,
    Decisions,
    /// A module of the file's own name.
    Module,
    /// Notes of all branches.
    Shared,
}

/// The parts of `notes` as requests, in order. `origin` says of a note what its source is: its type
/// and reference. `date` is the day of the import, for decisions that name none.
pub fn requests(
    notes: &[Note],
    date: &str,
    origin: impl Fn(&Note) -> (String, String),
) -> Vec<Item> {
    let mut items = Vec::new();
    for note in notes {
        // What aye itself has written into an instruction file is no memory of the project.
        let text = without_block(&note.text);
        let (front, text) = front_matter(&text);
        let (kind, reference) = origin(note);
        let base = target_of_file(&note.name, &front);
        let Some(base) = base else { continue };
        let stem = stem(&note.name);
        let title = field(&front, "title").or_else(|| field(&front, "name")).unwrap_or(stem);
        let ask = |intent: &str, heading: &str, operation: Value| {
            json!({
                "intent": intent,
                "operations": [operation],
                "rationale": format!("import “{heading}” from {}", note.name),
                "sources": [{"type": kind, "ref": reference}],
                "confidence": "user-provided",
            })
        };
        let parts = parts(text, &title);
        if matches!(base, Target::Module | Target::Shared) {
            // One note, one file.
            let (path, intent) = match base {
                Target::Shared => ("local/current.shared.md".to_owned(), "update_shared"),
                _ => (format!("modules/{}.md", slug::slug(&title)), "refresh_module"),
            };
            let Some(first) = parts.first() else { continue };
            let name = if parts.len() == 1 { first.heading.clone() } else { title.clone() };
            let mut content = format!("# {name}\n");
            for part in &parts {
                if part.heading != name {
                    content += &format!("\n## {}\n", part.heading);
                }
                content += &format!("\n{}\n", part.body);
            }
            let operation = json!({
                "operation": "create_file", "path": path, "if_exists": "append", "content": content,
            });
            let request = ask(intent, &name, operation);
            items.push(Item { source: note.name.clone(), heading: name, path, request });
            continue;
        }
        for part in parts {
            let target = target_of_heading(&part.heading).filter(|_| base == Target::Conventions);
            let (path, intent) = match target.unwrap_or(base) {
                Target::Pitfalls => ("pitfalls.md", "add_pitfall"),
                Target::Decisions => ("decisions.md", "record_decision"),
                _ => ("conventions.md", "update_conventions"),
            };
            let body = match base {
                Target::Decisions => with_fields(&part.body, date),
                _ => part.body,
            };
            let operation = json!({
                "operation": "append_section", "path": path, "heading": part.heading,
                "heading_level": 2, "content": format!("## {}\n\n{}\n", part.heading, without_blank_ends(&body)),
            });
            let request = ask(intent, &part.heading, operation);
            let (source, path) = (note.name.clone(), path.to_owned());
            items.push(Item { source, heading: part.heading, path, request });
        }
    }
    items
}

/// A part of a note: a section of the second level, or what stands before the first one.
struct Part {
    heading: String,
    body: String,
}

/// `text` in parts. What has no heading, or an empty one, gets `title`; headings inside a part keep their depth
/// below it.
fn parts(text: &str, title: &str) -> Vec<Part> {
    let document = markdown::parse(text);
    let level = if document.sections.iter().any(|section| section.level == 2) { 2 } else { 1 };
    let starts: Vec<usize> =
        (0..document.sections.len()).filter(|i| document.sections[*i].level <= level).collect();
    let mut found = Vec::new();
    let first = starts.first().map_or(text.len(), |i| document.sections[*i].start());
    let mut push = |heading: &str, body: &str| {
        let body = deeper(body, level);
        if !body.trim().is_empty() {
            let words = heading.split_whitespace().collect::<Vec<_>>().join(" ");
            let heading = if words.is_empty() { title.to_owned() } else { words };
            found.push(Part { heading, body: without_blank_ends(&body).to_owned() });
        }
    };
    push(title, &text[document.start.min(first)..first]);
    for (at, i) in starts.iter().enumerate() {
        let section = &document.sections[*i];
        let end = starts.get(at + 1).map_or(text.len(), |next| document.sections[*next].start());
        let body = section.own_body().start;
        push(&section.heading, &text[body.min(end)..end]);
    }
    found
}

/// `text` without the blank lines in front of it, and the whitespace behind it. What its first line is indented by may be
/// what makes it code.
fn without_blank_ends(text: &str) -> &str {
    let mut rest = text.trim_end();
    while let Some((_, below)) = rest.split_once('\n').filter(|(line, _)| line.trim().is_empty()) {
        rest = below;
    }
    rest
}

/// Headings inside a part, one deeper where it was of the first level; ids of other programs, which stand right
/// below a heading, go.
fn deeper(body: &str, level: u8) -> String {
    let document = markdown::parse(body);
    let heads: BTreeSet<usize> = document.sections.iter().map(markdown::Section::start).into_set();
    let (mut out, mut at, mut is_below_head) = (String::new(), 0, true);
    for line in markdown::lines::iter(body) {
        let starts = heads.contains(&at);
        let is_head = starts && line.trim_start().starts_with('#');
        at += line.len();
        if is_below_head && line.trim_start().starts_with("<!-- @id:") {
            continue;
        }
        let is_underline = line.trim_end().bytes().all(|b| matches!(b, b'=' | b'-'));
        is_below_head = starts || is_below_head && is_underline;
        if is_head && level == 1 && !line.trim_start().starts_with("######") {
            out.push('#');
        }
        out.push_str(line);
    }
    out
}

/// Front matter between lines of `---` as lines, and the rest.
fn front_matter(text: &str) -> (Vec<(String, String)>, &str) {
    let text = text.trim_start_matches('\u{feff}');
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return (Vec::new(), text);
    };
    let Some(end) = rest.find("\n---") else { return (Vec::new(), text) };
    let fields = rest[..end].lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim().trim_matches(['"', '\'']);
        Some((name.trim().to_lowercase(), value.to_owned()))
    });
    let body = &rest[end + 4..];
    (fields.collect(), body.find('\n').map_or("", |at| &body[at + 1..]))
}

fn field(front: &[(String, String)], name: &str) -> Option<String> {
    let found = front.iter().find(|(known, value)| known == name && !value.is_empty());
    found.map(|(_, value)| value.clone())
}

/// The name of a file without directory and ending; `.cursorrules` has none.
fn stem(name: &str) -> String {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name).trim_start_matches('.');
    file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned()
}

/// Where the parts of a file go; `None` for indexes of other memories, which say nothing themselves.
fn target_of_file(name: &str, front: &[(String, String)]) -> Option<Target> {
    let key: String = stem(name).to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    // A topic of Claude's memory says what kind it is.
    let kind = field(front, "type").or_else(|| field(front, "metadata.type"));
    match kind.as_deref() {
        Some("feedback") => return Some(Target::Conventions),
        Some("decision" | "adr") => return Some(Target::Decisions),
        _ => {}
    }
    Some(match key.as_str() {
        "claude"
        | "claudelocal"
        | "agents"
        | "agentsoverride"
        | "gemini"
        | "copilotinstructions"
        | "cursorrules"
        | "windsurfrules"
        | "clinerules"
        | "conventions"
        | "styleguide"
        | "systempatterns"
        | "techcontext"
        | "rules" => Target::Conventions,
        "pitfalls" | "gotchas" | "lessons" | "lessonslearned" | "troubleshooting" => {
            Target::Pitfalls
        }
        "decisions" | "decisionlog" | "adr" => Target::Decisions,
        "activecontext" | "progress" | "currenttask" => Target::Shared,
        "memory" if !front.is_empty() => Target::Module,
        // `MEMORY.md` of Claude lists its topics, one a line.
        "memory" => Target::Conventions,
        _ => Target::Module,
    })
}

/// Where a section of an instruction file goes by its heading.
fn target_of_heading(heading: &str) -> Option<Target> {
    let lower = heading.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&["pitfall", "gotcha", "known issue", "lessons learned", "troubleshoot", "caveat"]) {
        return Some(Target::Pitfalls);
    }
    None
}

/// `body` with the fields that a decision needs, where it lacks them.
fn with_fields(body: &str, date: &str) -> String {
    let has = |name: &str| {
        body.lines()
            .any(|line| markdown::fields::parse_line(line).is_some_and(|(known, _)| known == name))
    };
    let mut head = String::new();
    for (name, value) in [("Date", date), ("Status", "active"), ("Confidence", "user-provided")] {
        if !has(name) {
            head += &format!("{name}: {value}\n");
        }
    }
    if head.is_empty() { body.to_owned() } else { format!("{head}\n{body}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(name: &str, text: &str) -> Vec<(String, String, String)> {
        let note = Note { name: name.into(), text: text.into() };
        let origin = |note: &Note| ("user".to_owned(), note.name.clone());
        requests(&[note], "2026-01-01", origin)
            .into_iter()
            .map(|item| {
                let content = item.request["operations"][0]["content"].as_str().unwrap().to_owned();
                (item.path, item.heading, content)
            })
            .collect()
    }

    #[test]
    fn sections_of_instruction_files_are_conventions_and_pitfalls() {
        let text = "# Project\n\nA shop.\n\n## Build\n\nRun `make`.\n\n### Fast\n\nmake -j\n\n## Gotchas\n\nCache.\n\n## Empty\n";
        let found = items("CLAUDE.md", text);
        let places: Vec<(&str, &str)> =
            found.iter().map(|(path, heading, _)| (path.as_str(), heading.as_str())).collect();
        assert_eq!(
            places,
            [
                ("conventions.md", "Project"),
                ("conventions.md", "Build"),
                ("pitfalls.md", "Gotchas")
            ]
        );
        assert_eq!(found[1].2, "## Build\n\nRun `make`.\n\n### Fast\n\nmake -j\n");
    }

    #[test]
    fn notes_with_front_matter_are_modules() {
        let text = "---\ntitle: Coffee Brewing\ntype: note\n---\n\n# Coffee\n\n- [method] pour over #x\n\n# More\n\n## Deep\n\nx\n";
        let found = items("notes/coffee.md", text);
        assert!(found.iter().all(|(path, ..)| path == "modules/coffee-brewing.md"), "{found:?}");
        assert_eq!(found.len(), 1);
        let feedback = "---\nname: style\ntype: feedback\n---\nUse tabs.\n";
        assert_eq!(
            items("feedback_style.md", feedback),
            [("conventions.md".into(), "style".into(), "## style\n\nUse tabs.\n".into())]
        );
    }

    #[test]
    fn decisions_get_the_fields_that_they_lack() {
        let found =
            items("memory-bank/decisionLog.md", "# Log\n\n## Use X\n\nDate: 2025-01-01\n\nText.\n");
        assert_eq!(found[0].0, "decisions.md");
        assert!(found[0].2.contains("Status: active\nConfidence: user-provided\n"), "{found:?}");
        assert!(!found[0].2.contains("2026-01-01"), "{found:?}");
        let found = items("memory-bank/activeContext.md", "# Now\n\nWorking on X.\n");
        assert_eq!(found[0].0, "local/current.shared.md");
    }

    #[test]
    fn hidden_files_of_rules_are_conventions_with_a_heading() {
        for name in [".cursorrules", "sub/.windsurfrules", ".clinerules"] {
            let found = items(name, "Use tabs.\n");
            let heading = name.rsplit('.').next().unwrap();
            let content = format!("## {heading}\n\nUse tabs.\n");
            assert_eq!(found, [("conventions.md".into(), heading.into(), content)], "{name}");
        }
    }

    #[test]
    fn an_empty_heading_is_the_title() {
        let found = items("AGENTS.md", "# Rules\n\none\n\n##\n\ntwo\n");
        let headings: Vec<&str> = found.iter().map(|(_, heading, _)| heading.as_str()).collect();
        assert_eq!(headings, ["Rules", "AGENTS"], "{found:?}");
    }

    #[test]
    fn headings_of_the_first_level_go_one_deeper() {
        let found = items("AGENTS.md", "# Build\n\nmake\n\n```\n# comment\n```\n");
        assert_eq!(found[0].2, "## Build\n\nmake\n\n```\n# comment\n```\n");
    }
}
