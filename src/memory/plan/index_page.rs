//! `index.md`, the generated page that lists files, topics and sizes. Deterministic: sorted by
//! name, without a clock.

use super::Files;
use crate::error::Error;
use crate::memory::markdown::{self, fields};
use crate::memory::settings::Settings;

pub const PATH: &str = "index.md";

/// Unreadable files are listed as such.
///
/// # Errors
/// If the store's own directory cannot be listed.
pub fn render(files: &dyn Files, settings: &Settings) -> Result<String, Error> {
    let notes = &settings.manifest.local_state;
    let mut out = String::from(
        "# Agent Memory Index\n<!-- @generated: do not edit by hand; `aye memory` keeps it -->\n\n## Always include\n",
    );
    if notes.per_branch {
        out += "- local/current.<branch>.md — current local task state\n";
    }
    if notes.shared_file_enabled {
        out += "- local/current.shared.md — cross-branch shared state\n";
    }
    out += "- conventions.md — build, test, style, workflow rules\n\n## Topic map\n";
    for path in topics(files, settings)? {
        let about = match files.read(&path) {
            Ok(Some(bytes)) => describe(&path, &String::from_utf8_lossy(&bytes), settings),
            Ok(None) => continue,
            Err(_) => "cannot be read".to_owned(),
        };
        out += &format!("- {path} — {about}\n");
    }
    out += "\n## Archive\n";
    let archived = names(files, "archive").iter().filter(|p| p.ends_with(".md")).count();
    out += &match archived {
        0 => "- archive/ — empty\n".to_owned(),
        1 => "- archive/ — 1 file\n".to_owned(),
        n => format!("- archive/ — {n} files\n"),
    };
    out += "\n## Freshness\n";
    match settings.manifest.archive.stale_threshold_days {
        0 => out += "Stale sections are not reported.\n",
        days => {
            out +=
                &format!("`aye memory lint` reports sections without a change for {days} days.\n");
        }
    }
    Ok(out)
}

/// Empty if unreadable.
fn names(files: &dyn Files, dir: &str) -> Vec<String> {
    files.list(dir).unwrap_or_default()
}

/// Durable files except the page itself, conventions and archive, by directory.
fn topics(files: &dyn Files, settings: &Settings) -> Result<Vec<String>, Error> {
    let mut paths = files.list("")?;
    for dir in settings.schema.directories().iter().filter(|dir| !dir.is_empty()) {
        paths.extend(names(files, dir));
    }
    paths.retain(|path| {
        let category = settings.schema.category(path);
        category.is_some_and(|category| category.is_durable() && category.name != "conventions")
    });
    Ok(paths)
}

fn describe(path: &str, text: &str, settings: &Settings) -> String {
    let document = markdown::parse(text);
    let category = settings.schema.category(path).map_or("", |c| c.name.as_str());
    let top = |i: &usize| {
        let section = &document.sections[*i];
        match section.parent {
            None => !(section.level == 1 && *i == 0),
            Some(parent) => parent == 0 && document.sections[0].level == 1,
        }
    };
    let entries: Vec<usize> = (0..document.sections.len()).filter(top).collect();
    match category {
        "decisions" => {
            let is_active = |i: &&usize| {
                let fields = fields::of_section(&document, **i);
                fields.iter().any(|field| field.name == "Status" && field.value == "active")
            };
            let active = entries.iter().filter(is_active).count();
            format!("durable architecture/product decisions ({active} active)")
        }
        "pitfalls" => format!("known traps ({})", count(entries.len(), "entry", "entries")),
        "modules" => format!("module notes ({})", count(entries.len(), "section", "sections")),
        other => format!("{other} ({})", count(entries.len(), "section", "sections")),
    }
}

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
