//! `meta/schema.yaml`: which files there are, and what may stand in them.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_yaml::Value;

use super::gate::Agreed;
use super::manifest::is_version;
use super::{DEFAULT_SCHEMA, SCHEMA_JSON, decode, default, invalid, merge, parse_yaml};
use crate::error::Result;
use crate::words::words;

/// Its path in the store.
pub const PATH: &str = "meta/schema.yaml";

words! {
    /// Who lets a change in, from least to most strict.
    pub enum Approval {
        /// Applied at once.
        Apply = "apply",
        /// Waits for a person.
        Stage = "stage",
        /// Only the program itself writes it.
        ServerOnly = "server_only",
    }
}

/// The types a source may have.
pub const SOURCE_TYPES: [&str; 6] = ["file", "test", "user", "session", "inference", "external"];

/// The categories of a store.
#[derive(Clone, Debug)]
pub struct Schema {
    /// By name, as they lie in the work tree.
    pub categories: BTreeMap<String, Category>,
    /// What these are held to, where it differs.
    pub(super) agreed: Option<Box<Agreed>>,
}

/// The rules for a class of memory files.
#[derive(Clone, Debug)]
pub struct Category {
    /// Its name.
    pub name: String,
    /// Which files it has.
    pub files: Files,
    /// Whether every section needs an id.
    pub section_id_required: bool,
    /// Whether the file's first heading has to be of level 1.
    pub required_top_level_heading: bool,
    /// Fields that every section without children needs.
    pub required_fields: Vec<FieldSpec>,
    /// Fields that are checked where they occur.
    pub optional_fields: Vec<FieldSpec>,
    /// Who lets changes in.
    pub approval: Approval,
    /// Generated; nobody else writes it.
    pub server_managed: bool,
    /// Whether proposals may change it.
    pub agent_writable: bool,
    /// Files are never changed once written.
    pub write_once: bool,
    /// Durable: kept in git.
    pub git_tracked: bool,
    /// What has to be said about where the knowledge comes from.
    pub provenance: Provenance,
}

/// Which files a category has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Files {
    /// Exactly this one.
    One(String),
    /// Those that match; `*` and `?` do not cross `/`.
    Glob(String),
}

/// A labelled field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldSpec {
    /// Its label.
    pub name: String,
    /// What the value has to match.
    pub pattern: Option<Pattern>,
    /// What the value has to be one of; empty for anything.
    pub allowed: Vec<String>,
}

/// What a value has to match; compiled when it is first asked.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    compiled: OnceCell<Option<Regex>>,
}

/// The pattern of the default schema: known to be good, so that reading it compiles nothing.
const KNOWN_PATTERN: &str = r"^\d{4}-\d{2}-\d{2}$";

impl Pattern {
    /// Reads a regular expression.
    fn read(text: String) -> Result<Self, regex::Error> {
        let compiled = match text == KNOWN_PATTERN {
            true => OnceCell::new(),
            false => OnceCell::from(Some(Regex::new(&text)?)),
        };
        Ok(Self { text, compiled })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether `value` matches.
    pub fn is_match(&self, value: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| Regex::new(&self.text).ok());
        compiled.as_ref().is_some_and(|regex| regex.is_match(value))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// What has to be said about where knowledge comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Provenance {
    /// Every change needs a source.
    pub required: bool,
    /// A change that adds a section needs one.
    pub required_for_new_sections: bool,
    /// Types a source may have; empty for any.
    pub allowed_source_types: Vec<String>,
    /// Types it may not have.
    pub forbidden_source_types: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct RawSchema {
    #[schemars(with = "String")]
    version: serde_yaml::Value,
    #[serde(default)]
    categories: BTreeMap<String, RawCategory>,
}

#[derive(Deserialize, JsonSchema)]
struct RawCategory {
    file: Option<String>,
    file_glob: Option<String>,
    #[serde(default)]
    section_id_required: bool,
    #[serde(default)]
    section_schema: RawSectionSchema,
    approval: Option<Approval>,
    #[serde(default)]
    server_managed: bool,
    agent_writable: Option<bool>,
    #[serde(default)]
    write_once: bool,
    git_tracked: Option<bool>,
    #[serde(default)]
    provenance: Provenance,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
struct RawSectionSchema {
    required_top_level_heading: bool,
    per_section_required_fields: Vec<RawField>,
    per_section_optional_fields: Vec<RawField>,
}

#[derive(Deserialize, JsonSchema)]
struct RawField {
    name: String,
    pattern: Option<String>,
    #[serde(default, rename = "enum")]
    allowed: Vec<String>,
}

impl Schema {
    /// Reads the file's bytes over the defaults.
    ///
    /// # Errors
    /// `memory_config_invalid`.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        // Most stores have the default as `init` wrote it: nothing to check or to lay over it.
        let raw: RawSchema = if bytes == DEFAULT_SCHEMA.as_bytes() {
            decode(PATH, default(PATH, SCHEMA_JSON)?)?
        } else {
            let over = parse_yaml(PATH, bytes)?;
            let mut value = default(PATH, SCHEMA_JSON)?;
            forget_replaced_files(&mut value, &over);
            merge(&mut value, over);
            decode(PATH, value)?
        };
        let version = match &raw.version {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        if !is_version(&version) {
            return Err(invalid(PATH, "version has to be a version such as 0.4.1"));
        }
        let mut categories = BTreeMap::new();
        for (name, raw) in raw.categories {
            categories.insert(name.clone(), category(name, raw)?);
        }
        Ok(Self { categories, agreed: None })
    }

    /// The category of the file at `path` (relative to the store): an exact file first, then the
    /// glob with the longest literal beginning, then by name. Held to what was committed.
    pub fn category(&self, path: &str) -> Option<&Category> {
        let mine = self.own_category(path)?;
        match &self.agreed {
            None => Some(mine),
            Some(agreed) => agreed.category(path, mine),
        }
    }

    fn own_category(&self, path: &str) -> Option<&Category> {
        let exact = self.categories.values().find(|c| c.files == Files::One(path.to_owned()));
        exact.or_else(|| {
            self.categories
                .values()
                .filter_map(|category| match &category.files {
                    Files::Glob(glob) if glob_matches(glob, path) => {
                        Some((literal_prefix(glob).len(), category))
                    }
                    _ => None,
                })
                .max_by(|(a, x), (b, y)| a.cmp(b).then_with(|| y.name.cmp(&x.name)))
                .map(|(_, category)| category)
        })
    }
}

/// A category that is given a `file` loses the default `file_glob`, and the other way round.
fn forget_replaced_files(base: &mut Value, over: &Value) {
    let Some(Value::Mapping(over)) = over.get("categories") else { return };
    let Some(Value::Mapping(base)) = base.get_mut("categories") else { return };
    for (name, category) in over {
        let Some(Value::Mapping(slot)) = base.get_mut(name) else { continue };
        if category.get("file").is_some_and(|v| !v.is_null()) {
            slot.remove("file_glob");
        }
        if category.get("file_glob").is_some_and(|v| !v.is_null()) {
            slot.remove("file");
        }
    }
}

fn category(name: String, raw: RawCategory) -> Result<Category> {
    let wrong = |what: String| invalid(PATH, format!("categories.{name}: {what}"));
    let files = match (raw.file, raw.file_glob) {
        (Some(file), None) => Files::One(file),
        (None, Some(glob)) => Files::Glob(glob),
        (None, None) => return Err(wrong("needs file or file_glob".into())),
        (Some(_), Some(_)) => return Err(wrong("has both file and file_glob".into())),
    };
    let path = match &files {
        Files::One(path) | Files::Glob(path) => path,
    };
    if crate::changeset::RepoPath::new(path).is_err() || !path.ends_with(".md") {
        return Err(wrong(format!("'{path}' has to be a relative path to Markdown files (*.md)")));
    }
    if path.starts_with("meta/") || path.starts_with("staging/") || path.starts_with("proposals/") {
        return Err(wrong(format!("'{path}' is inside a directory of the program itself")));
    }
    let agent_writable = raw.agent_writable.unwrap_or(!raw.server_managed);
    if raw.server_managed && agent_writable {
        return Err(wrong("cannot be both server_managed and agent_writable".into()));
    }
    let fields = |list: Vec<RawField>| -> Result<Vec<FieldSpec>> {
        list.into_iter()
            .map(|field| {
                let pattern = match field.pattern {
                    None => None,
                    Some(text) => Some(Pattern::read(text).map_err(|e| {
                        wrong(format!(
                            "pattern of field {} is no regular expression: {e}",
                            field.name
                        ))
                    })?),
                };
                if field.name.trim().is_empty() || field.name.contains(':') {
                    return Err(wrong("a field needs a name without ':'".into()));
                }
                Ok(FieldSpec { name: field.name, pattern, allowed: field.allowed })
            })
            .collect()
    };
    let sources =
        raw.provenance.allowed_source_types.iter().chain(&raw.provenance.forbidden_source_types);
    for source in sources {
        if !SOURCE_TYPES.contains(&source.as_str()) {
            return Err(wrong(format!("unknown source type '{source}'"))
                .hint(format!("one of: {}", SOURCE_TYPES.join(", "))));
        }
    }
    let required_fields = fields(raw.section_schema.per_section_required_fields)?;
    let optional_fields = fields(raw.section_schema.per_section_optional_fields)?;
    let default_approval = if raw.server_managed { Approval::ServerOnly } else { Approval::Stage };
    Ok(Category {
        files,
        section_id_required: raw.section_id_required,
        required_top_level_heading: raw.section_schema.required_top_level_heading,
        required_fields,
        optional_fields,
        approval: raw.approval.unwrap_or(default_approval),
        server_managed: raw.server_managed,
        agent_writable,
        write_once: raw.write_once,
        git_tracked: raw.git_tracked.unwrap_or(true),
        provenance: raw.provenance,
        name,
    })
}

fn literal_prefix(glob: &str) -> &str {
    &glob[..glob.find(['*', '?', '[', '{']).unwrap_or(glob.len())]
}

fn glob_matches(glob: &str, path: &str) -> bool {
    // The two globs of the format in a hurry; anything else through the real thing.
    if let Some((before, after)) = glob.split_once('*')
        && !after.contains(['*', '?', '[', '{', '\\'])
        && !before.contains(['?', '[', '{', '\\'])
    {
        return path
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(|middle| !middle.is_empty() && !middle.contains('/'));
    }
    globset::GlobBuilder::new(glob)
        .literal_separator(true)
        .build()
        .is_ok_and(|glob| glob.compile_matcher().is_match(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(schema: &Schema, path: &str) -> Option<String> {
        schema.category(path).map(|c| c.name.clone())
    }

    #[test]
    fn files_find_their_category() {
        let schema = Schema::read(b"").unwrap();
        for (path, name) in [
            ("index.md", Some("index")),
            ("decisions.md", Some("decisions")),
            ("modules/store.md", Some("modules")),
            ("modules/a/b.md", None),
            ("modules/.md", None),
            ("local/current.main.md", Some("current")),
            ("local/other.md", None),
            ("sessions/2026-01-01.md", Some("sessions")),
            ("archive/x.md", Some("archive")),
            ("notes.md", None),
        ] {
            assert_eq!(name_of(&schema, path).as_deref(), name, "{path}");
        }
    }

    #[test]
    fn the_longest_literal_beginning_wins_whatever_the_order() {
        let schema = Schema::read(
            b"categories:\n  zz: {file_glob: modules/api-*.md}\n  aa: {file_glob: 'modules/a*.md'}\n",
        )
        .unwrap();
        assert_eq!(name_of(&schema, "modules/api-x.md").as_deref(), Some("zz"));
        assert_eq!(name_of(&schema, "modules/ax.md").as_deref(), Some("aa"));
        assert_eq!(name_of(&schema, "modules/x.md").as_deref(), Some("modules"));
    }

    #[test]
    fn an_explicit_false_overrides_and_lists_replace() {
        let schema = Schema::read(
            b"categories:\n  decisions:\n    provenance: {required: false, allowed_source_types: [user]}\n    git_tracked: false\n",
        )
        .unwrap();
        let decisions = &schema.categories["decisions"];
        assert!(!decisions.provenance.required && !decisions.git_tracked);
        assert_eq!(decisions.provenance.allowed_source_types, ["user"]);
        assert_eq!(decisions.provenance.forbidden_source_types, ["external", "inference"]);
        assert_eq!(decisions.required_fields.len(), 3);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "version: [1]",
            "categories: {decisions: {aproval: stage}}",
            "categories: {x: {approval: stage}}",
            "categories: {x: {file: ../x.md}}",
            "categories: {x: {file: meta/x.md}}",
            "categories: {x: {file: x.txt}}",
            "categories: {x: {file: x.md, file_glob: '*.md'}}",
            "categories: {x: {file: x.md, server_managed: true, agent_writable: true}}",
            "categories: {x: {file: x.md, provenance: {allowed_source_types: [gossip]}}}",
            "categories: {x: {file: x.md, section_schema: {per_section_required_fields: [{name: A, pattern: '('}]}}}",
            "categories: {x: {file: x.md, section_schema: {per_section_required_fields: [{nam: A}]}}}",
        ] {
            assert!(Schema::read(text.as_bytes()).is_err(), "{text}");
        }
        let error = Schema::read(b"categories: {decisions: {aproval: stage}}").unwrap_err();
        assert!(error.hint_text().unwrap().contains("categories.decisions.approval"));
    }
}
