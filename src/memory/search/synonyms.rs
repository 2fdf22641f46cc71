//! Other words for a word of the trade, so that a paraphrase finds what it means: those of the
//! project (`meta/synonyms.yaml`), or a list of common ones where it has none.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::analyse;
use crate::error::{Error, Result};
use crate::memory::{DIR, codes};

/// The project's list, relative to the store.
pub const PATH: &str = "meta/synonyms.yaml";

/// What a project without a list has.
pub const DEFAULT: &str = include_str!("synonyms.yaml");

/// Most words in a row that count as one.
pub const LONGEST: usize = 3;

/// Groups of words that mean the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synonyms {
    groups: Vec<Vec<Vec<String>>>,
    /// Tokens of a member, joined by blanks, and the groups it is in.
    places: HashMap<String, Vec<usize>>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    version: Option<u64>,
    groups: Vec<Vec<String>>,
}

impl Synonyms {
    /// Those of `groups`.
    fn new<T: AsRef<str>>(groups: &[Vec<T>]) -> Self {
        let mut all = Self::default();
        for (number, group) in groups.iter().enumerate() {
            let members: Vec<Vec<String>> = group
                .iter()
                .map(|word| analyse::tokens(word.as_ref()))
                .filter(|tokens| !tokens.is_empty())
                .collect();
            for tokens in &members {
                let places = all.places.entry(tokens.join(" ")).or_default();
                if !places.contains(&number) {
                    places.push(number);
                }
            }
            all.groups.push(members);
        }
        all
    }

    /// Those of the built-in list.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: OnceLock<Synonyms> = OnceLock::new();
        BUILT_IN.get_or_init(|| {
            // One group a line: `- [db, database]`.
            let groups = DEFAULT.lines().filter_map(|line| {
                let inner = line.trim().strip_prefix("- [")?.strip_suffix(']')?;
                Some(inner.split(',').map(str::trim).collect())
            });
            Self::new(&groups.collect::<Vec<Vec<&str>>>())
        })
    }

    /// Reads a project's list.
    ///
    /// # Errors
    /// `memory_config_invalid` where it is not one.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let wrong = |why: &dyn std::fmt::Display| {
            Error::new(&codes::CONFIG_INVALID, format!("{DIR}/{PATH}: {why}"))
                .hint("groups: is a list of lists of words, such as - [db, database]")
        };
        let file: File = serde_yaml::from_slice(bytes).map_err(|error| wrong(&error))?;
        if file.version.is_some_and(|version| version != 1) {
            return Err(wrong(&"version has to be 1"));
        }
        Ok(Self::new(&file.groups))
    }

    /// The other words for `tokens` in a row.
    pub fn of(&self, tokens: &[&str]) -> Vec<Vec<String>> {
        let mut found: Vec<Vec<String>> = Vec::new();
        let own = tokens.join(" ");
        for group in self.places.get(&own).into_iter().flatten() {
            for member in &self.groups[*group] {
                if member.join(" ") != own && !found.contains(member) {
                    found.push(member.clone());
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_list_is_read_alike_by_both_readers() {
        assert_eq!(*Synonyms::built_in(), Synonyms::read(DEFAULT.as_bytes()).unwrap());
        assert!(Synonyms::built_in().groups.len() > 30);
    }

    #[test]
    fn a_projects_list_is_read_strictly() {
        let own = Synonyms::read(b"version: 1\ngroups:\n- [bin, storage location]\n").unwrap();
        assert_eq!(own.of(&["bin"]), [vec!["storag".to_owned(), "locat".to_owned()]]);
        assert_eq!(own.of(&["storag", "locat"]), [vec!["bin".to_owned()]]);
        assert!(own.of(&["db"]).is_empty());
        for bad in ["groups: 3", "group: []", "groups: [a]", "version: 2\ngroups: []", "\0"] {
            assert!(Synonyms::read(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
