//! `meta/schema.yaml`: categories of files and rules for their contents.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_yaml::Value;

use super::manifest::is_version;
use super::{DEFAULT_SCHEMA, SCHEMA_JSON, decode, default, invalid, merge, parse_yaml};
use crate::error::Result;
use crate::words::words;

/// Relative to the store.
pub const PATH: &str = "meta/schema.yaml";

words! {
    /// Approval that a change needs, from least to most strict.
    #[derive(Default)]
    pub enum Approval {
        /// Applied at once.
        #[default]
        Apply = "apply",
        /// Waits for a person.
        Stage = "stage",
        /// Only the program itself writes it.
        ServerOnly = "server_only",
    }
}

impl std::fmt::Display for Approval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

pub const SOURCE_TYPES: [&str; 6] = ["file", "test", "user", "session", "inference", "external"];

/// The categories of a store.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Schema {
    #[schemars(with = "String")]
    version: Value,
    /// By name.
    #[serde(default)]
    pub categories: BTreeMap<String, Category>,
}

/// The rules for a class of memory files.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct Category {
    /// The name.
    #[serde(skip)]
    pub name: String,
    /// Its only file, if it has one.
    pub file: Option<String>,
    /// Pattern of its files otherwise; one `*` stands for a name or a part of one.
    pub file_glob: Option<String>,
    /// True if every section needs an id.
    #[serde(default)]
    pub section_id_required: bool,
    /// Rules for sections.
    #[serde(default)]
    pub section_schema: SectionSchema,
    /// Approval of changes.
    #[serde(default = "stage")]
    pub approval: Approval,
    /// Generated; only the program writes it.
    #[serde(default)]
    pub server_managed: bool,
    /// True if proposals may change it.
    #[serde(default = "yes")]
    pub agent_writable: bool,
    /// Files are never changed once written.
    #[serde(default)]
    pub write_once: bool,
    /// Kept in git.
    #[serde(default = "yes")]
    pub git_tracked: bool,
    /// Required statements of sources.
    #[serde(default)]
    pub provenance: Provenance,
}

fn yes() -> bool {
    true
}

fn stage() -> Approval {
    Approval::Stage
}

impl Category {
    /// True for tracked files that people decide about, except the archive.
    pub fn is_durable(&self) -> bool {
        self.git_tracked && !self.server_managed && self.name != "archive"
    }

    pub fn pattern(&self) -> &str {
        self.file.as_deref().or(self.file_glob.as_deref()).unwrap_or_default()
    }
}

/// Rules for the sections of a file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SectionSchema {
    /// True if the file's first heading has to be of level 1.
    pub required_top_level_heading: bool,
    /// Fields that every entry needs.
    pub per_section_required_fields: Vec<FieldSpec>,
    /// Fields that are checked where they occur.
    pub per_section_optional_fields: Vec<FieldSpec>,
}

/// A labelled field.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct FieldSpec {
    /// The label.
    pub name: String,
    /// The value must match it.
    pub pattern: Option<Pattern>,
    /// The value has to be one of these; empty for anything.
    #[serde(default, rename = "enum")]
    pub allowed: Vec<String>,
}

/// Pattern for values; compiled on first use.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct Pattern {
    text: String,
    compiled: OnceCell<Option<Regex>>,
}

/// The default's pattern, known to be valid: reading it compiles nothing.
const KNOWN_PATTERN: &str = r"^\d{4}-\d{2}-\d{2}$";

impl TryFrom<String> for Pattern {
    type Error = regex::Error;

    fn try_from(text: String) -> Result<Self, regex::Error> {
        let compiled = if text == KNOWN_PATTERN {
            OnceCell::new()
        } else {
            OnceCell::from(Some(Regex::new(&text)?))
        };
        Ok(Self { text, compiled })
    }
}

impl Pattern {
    pub fn as_str(&self) -> &str {
        &self.text
    }

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

/// Rules for the sources of knowledge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Provenance {
    /// Every change needs a source.
    pub required: bool,
    /// A change that adds a section needs one.
    pub required_for_new_sections: bool,
    /// Types a source may have; empty for any.
    pub allowed_source_types: Vec<String>,
    /// Types that a source may not have.
    pub forbidden_source_types: Vec<String>,
}

impl Schema {
    pub fn read(bytes: &[u8]) -> Result<Self> {
        // Most stores have the default: nothing to merge or check.
        let mut schema: Self = if bytes == DEFAULT_SCHEMA.as_bytes() {
            decode(PATH, default(PATH, SCHEMA_JSON)?)?
        } else {
            let over = parse_yaml(PATH, bytes)?;
            let mut value = default(PATH, SCHEMA_JSON)?;
            forget_replaced_files(&mut value, &over);
            merge(&mut value, over);
            decode(PATH, value)?
        };
        let is_valid = match &schema.version {
            Value::String(text) => is_version(text),
            version => version.is_number(),
        };
        if !is_valid {
            return Err(invalid(PATH, "version has to be a version such as 0.4.1"));
        }
        for (name, category) in &mut schema.categories {
            category.name.clone_from(name);
            category.validate()?;
        }
        Ok(schema)
    }

    /// Relative to the store; `""` is the store's own.
    pub fn directories(&self) -> BTreeSet<&str> {
        let mut dirs = BTreeSet::from([""]);
        for category in self.categories.values() {
            let dir = category.pattern().rsplit_once('/').map_or("", |(dir, _)| dir);
            dirs.insert(dir);
        }
        dirs
    }

    /// Exact file first, then the glob with the longest literal prefix, then by name.
    pub fn category(&self, path: &str) -> Option<&Category> {
        let exact = self.categories.values().find(|c| c.file.as_deref() == Some(path));
        exact.or_else(|| {
            let globs = self.categories.values().filter_map(|category| {
                let glob = category.file_glob.as_deref()?;
                glob_matches(glob, path).then_some((glob.find('*'), category))
            });
            globs
                .max_by(|(a, x), (b, y)| a.cmp(b).then_with(|| y.name.cmp(&x.name)))
                .map(|(_, category)| category)
        })
    }
}

/// A category with a `file` loses the default `file_glob`, and vice versa.
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

impl Category {
    /// Also closes files that only the program writes.
    fn validate(&mut self) -> Result<()> {
        let wrong = |what: String| invalid(PATH, format!("categories.{}: {what}", self.name));
        if self.file.is_some() == self.file_glob.is_some() {
            return Err(wrong("needs either file or file_glob".into()));
        }
        let path = self.pattern();
        if crate::changeset::RepoPath::new(path).is_err() || !path.ends_with(".md") {
            return Err(wrong(format!(
                "'{path}' has to be a relative path to Markdown files (*.md)"
            )));
        }
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let is_glob = |text: &str| text.contains(['*', '?', '[', '{', '\\']);
        let stars = name.matches('*').count();
        if is_glob(&path.replacen('*', "", 1)) || stars != usize::from(self.file.is_none()) {
            return Err(wrong(format!(
                "'{path}' has to have one `*`, in its last part, as file_glob"
            )));
        }
        if ["meta/", "staging/", "proposals/"].iter().any(|own| path.starts_with(own)) {
            return Err(wrong(format!("'{path}' is inside a directory of the program itself")));
        }
        let fields = &self.section_schema;
        let (required, optional) =
            (&fields.per_section_required_fields, &fields.per_section_optional_fields);
        let is_label =
            |field: &FieldSpec| !field.name.trim().is_empty() && !field.name.contains(':');
        if !required.iter().chain(optional).all(is_label) {
            return Err(wrong("a field needs a name without ':'".into()));
        }
        let Provenance { allowed_source_types, forbidden_source_types, .. } = &self.provenance;
        let mut sources = allowed_source_types.iter().chain(forbidden_source_types);
        if let Some(source) = sources.find(|source| !SOURCE_TYPES.contains(&source.as_str())) {
            return Err(wrong(format!("unknown source type '{source}'"))
                .hint(format!("one of: {}", SOURCE_TYPES.join(", "))));
        }
        if self.server_managed {
            (self.approval, self.agent_writable) = (Approval::ServerOnly, false);
        }
        Ok(())
    }
}

fn glob_matches(glob: &str, path: &str) -> bool {
    glob.split_once('*').is_some_and(|(before, after)| {
        let middle = path.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        middle.is_some_and(|middle| !middle.is_empty() && !middle.contains('/'))
    })
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
        assert_eq!(decisions.section_schema.per_section_required_fields.len(), 3);
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
