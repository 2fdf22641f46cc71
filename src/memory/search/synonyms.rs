//! Synonyms for queries, so that a paraphrase finds its subject: the project's
//! (`meta/synonyms.yaml`), else built-in ones.

use crate::error::{Error, Result};
use crate::memory::{DIR, codes};

/// Relative to the store.
pub const PATH: &str = "meta/synonyms.yaml";

pub const DEFAULT: &str = include_str!("synonyms.yaml");

/// Groups of synonyms; each may be several words.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synonyms {
    #[serde(default)]
    version: Option<u64>,
    groups: Vec<Vec<String>>,
}

impl Synonyms {
    /// In the built-in list each group is a line: `- [db, database]`.
    pub fn built_in() -> Self {
        let groups = DEFAULT.lines().filter_map(|line| {
            let inner = line.trim().strip_prefix("- [")?.strip_suffix(']')?;
            Some(inner.split(',').map(|word| word.trim().to_owned()).collect())
        });
        Self { version: Some(1), groups: groups.collect() }
    }

    /// # Errors
    /// `memory_config_invalid`
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let wrong = |why: &dyn std::fmt::Display| {
            Error::new(&codes::CONFIG_INVALID, format!("{DIR}/{PATH}: {why}"))
                .hint("groups: is a list of lists of words, such as - [db, database]")
        };
        let file: Self = serde_yaml::from_slice(bytes).map_err(|error| wrong(&error))?;
        match file.version {
            None | Some(1) => Ok(file),
            Some(_) => Err(wrong(&"version has to be 1")),
        }
    }

    /// Other members of groups that match words in `asked`.
    pub fn of(&self, asked: &[&str]) -> Vec<&str> {
        let asked: Vec<String> = asked.iter().map(|word| stem(word)).collect();
        let is_asked = |words: &String| {
            let words: Vec<String> = words.split_whitespace().map(stem).collect();
            asked.windows(words.len().max(1)).any(|run| run == words)
        };
        let groups = self.groups.iter().filter(|group| group.iter().any(is_asked));
        groups.flatten().filter(|words| !is_asked(words)).map(String::as_str).collect()
    }
}

/// Strips English endings: `caches` equals `caching`.
fn stem(word: &str) -> String {
    let word = word.to_lowercase();
    let endings = ["ings", "ing", "ions", "ion", "es", "ed", "s", "e"];
    let stem = endings.iter().find_map(|ending| word.strip_suffix(ending));
    stem.filter(|stem| stem.len() > 2).map_or(word.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_list_is_read_alike_by_both_readers() {
        assert_eq!(Synonyms::built_in(), Synonyms::read(DEFAULT.as_bytes()).unwrap());
        assert!(Synonyms::built_in().groups.len() > 30);
    }

    #[test]
    fn a_projects_list_is_read_strictly() {
        let own = Synonyms::read(b"version: 1\ngroups:\n- [bin, storage location]\n").unwrap();
        assert_eq!(own.of(&["the", "bins"]), ["storage location"]);
        assert_eq!(own.of(&["storage", "locations"]), ["bin"]);
        assert!(own.of(&["storage"]).is_empty() && own.of(&[]).is_empty());
        for bad in ["groups: 3", "group: []", "groups: [a]", "version: 2\ngroups: []", "\0"] {
            assert!(Synonyms::read(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
