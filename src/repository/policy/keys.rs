//! The keys of `policy.toml`, typed and strict.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::changeset::globs;
use crate::proposal::event::BlobRef;
use crate::spelling::keys::{self, SettingsError, UnknownKey};

/// The effective policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// `gate`: a patch for immediate application becomes a proposal.
    pub gate: bool,
    /// `repository`: 32 hex digits that name the repository in statements of decisions.
    pub repository: Option<String>,
    /// `agents_may_mark`: proposals that an agent may mark as decided through the `changes` tool.
    pub agents_may_mark: MayMark,
    /// `ci_may_apply`: CI may apply proposals.
    pub ci_may_apply: bool,
    /// `purge_persons`: persons needed for a purge.
    pub purge_persons: PersonCount,
    /// `[evidence]`: confirmation that a decision needs.
    pub evidence: Evidence,
    /// `instruction_files`: globs of files that instruct agents, besides the built-in list.
    pub instruction_files: Vec<String>,
    /// `[require_proposal]`: files of which changes need a proposal.
    pub require_proposal: RequireProposal,
    /// The file in HEAD, if any.
    pub blob: Option<BlobRef>,
}

/// The proposals that an agent may mark as applied or rejected; a mark writes no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MayMark {
    /// None.
    #[default]
    None,
    /// Proposals of the agent itself.
    Own,
}

/// How many persons have to ask for something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
pub enum PersonCount {
    /// The person who does it.
    #[default]
    One,
    /// A second person, too.
    Two,
}

impl TryFrom<i64> for PersonCount {
    type Error = &'static str;

    fn try_from(count: i64) -> Result<Self, Self::Error> {
        match count {
            1 => Ok(Self::One),
            2 => Ok(Self::Two),
            _ => Err("purge_persons has to be 1 or 2"),
        }
    }
}

/// The confirmation that a decision needs, by its subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Evidence {
    /// For memory.
    pub memory: Confirmation,
    /// For sensitive paths; see `crate::changeset::sensitive`.
    pub sensitive: Confirmation,
}

/// Files of which a change needs an approved proposal: globs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RequireProposal {
    /// An agent's change.
    pub agents: Vec<String>,
    /// Everybody's change.
    pub all: Vec<String>,
}

/// How a person confirms a decision; the strictest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confirmation {
    /// By answering a question at a terminal.
    #[default]
    Terminal,
    /// `--yes` is enough.
    Flag,
}

/// The file as it is written.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
struct PolicyFile {
    gate: bool,
    repository: Option<String>,
    agents_may_mark: MayMark,
    ci_may_apply: bool,
    purge_persons: PersonCount,
    instruction_files: Vec<String>,
    evidence: Evidence,
    require_proposal: RequireProposal,
}

/// Why a text is not a policy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PolicyError {
    pub(super) why: String,
    pub(super) hint: Option<String>,
    /// The key with a valid value.
    pub(super) example: Option<String>,
}

impl From<toml::de::Error> for PolicyError {
    fn from(error: toml::de::Error) -> Self {
        Self { why: error.message().to_owned(), hint: None, example: None }
    }
}

impl Policy {
    /// An unknown key is an error: a misspelt one would leave the gate open.
    pub(super) fn parse(text: &str) -> Result<Self, PolicyError> {
        let table: toml::Table = toml::from_str(text)?;
        let file: PolicyFile = keys::decode(table.clone()).map_err(|misread| match misread {
            SettingsError::Unknown(key) => unknown(key, &table),
            SettingsError::Value(at, error) => wrong_value(&at, &table, error.message()),
        })?;
        if let Some(id) = &file.repository
            && !(id.len() == 32 && id.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f')))
        {
            return Err(wrong_value("repository", &table, ""));
        }
        for (key, globs, example) in [
            ("instruction_files", &file.instruction_files, "prompts/**"),
            ("require_proposal.agents", &file.require_proposal.agents, "**"),
            ("require_proposal.all", &file.require_proposal.all, "src/auth/**"),
        ] {
            if let Err(wrong) = globs::set(globs) {
                let why =
                    format!("{key}: '{wrong}' is not a glob such as {example} or *.prompt.md");
                let example = Some(format!("{key} = [\"{example}\"]"));
                return Err(PolicyError { why, hint: None, example });
            }
        }
        Ok(Self {
            gate: file.gate,
            repository: file.repository,
            agents_may_mark: file.agents_may_mark,
            ci_may_apply: file.ci_may_apply,
            purge_persons: file.purge_persons,
            evidence: file.evidence,
            instruction_files: file.instruction_files,
            require_proposal: file.require_proposal,
            blob: None,
        })
    }

    /// The stricter value of each key; name and blob of `self` win.
    pub(super) fn tightened_by(mut self, other: Self) -> Self {
        let add = |globs: &mut Vec<String>, more: Vec<String>| {
            for glob in more {
                if !globs.contains(&glob) {
                    globs.push(glob);
                }
            }
        };
        add(&mut self.instruction_files, other.instruction_files);
        add(&mut self.require_proposal.agents, other.require_proposal.agents);
        add(&mut self.require_proposal.all, other.require_proposal.all);
        Self {
            instruction_files: self.instruction_files,
            require_proposal: self.require_proposal,
            gate: self.gate || other.gate,
            repository: self.repository.or(other.repository),
            agents_may_mark: self.agents_may_mark.min(other.agents_may_mark),
            ci_may_apply: self.ci_may_apply && other.ci_may_apply,
            purge_persons: self.purge_persons.max(other.purge_persons),
            evidence: Evidence {
                memory: self.evidence.memory.min(other.evidence.memory),
                sensitive: self.evidence.sensitive.min(other.evidence.sensitive),
            },
            blob: self.blob.or(other.blob),
        }
    }
}

fn unknown(key: UnknownKey, table: &toml::Table) -> PolicyError {
    let inside = table.get(&key.at).and_then(toml::Value::as_table);
    let misplaced = inside.and_then(|inside| {
        keys::of::<PolicyFile>().into_iter().find(|known| inside.contains_key(known))
    });
    let hint = match misplaced {
        Some(name) => format!("'{name}' stands at the top of the file, outside of any table"),
        None => key.hint,
    };
    PolicyError { why: format!("unknown key '{}'", key.at), hint: Some(hint), example: None }
}

/// Keys, their values in words, and an example.
const VALUES: [(&str, &str, &str); 10] = [
    ("gate", "true or false", "true"),
    ("repository", "32 hexadecimal digits in lower case", "\"0123456789abcdef0123456789abcdef\""),
    ("agents_may_mark", "\"none\" or \"own\"", "\"own\""),
    ("ci_may_apply", "true or false", "true"),
    ("purge_persons", "1 or 2", "2"),
    ("instruction_files", "a list of globs", "[\"prompts/**\"]"),
    ("evidence.memory", "\"terminal\" or \"flag\"", "\"terminal\""),
    ("evidence.sensitive", "\"terminal\" or \"flag\"", "\"terminal\""),
    ("require_proposal.agents", "a list of globs", "[\"**\"]"),
    ("require_proposal.all", "a list of globs", "[\"src/auth/**\"]"),
];

fn wrong_value(at: &str, table: &toml::Table, message: &str) -> PolicyError {
    // The key ends before a list index.
    let key = at.split('[').next().unwrap_or_default();
    let (outer, inner) = key.split_once('.').map_or((key, None), |(a, b)| (a, Some(b)));
    let value = table.get(outer).and_then(|value| match inner {
        Some(inner) => value.get(inner),
        None => Some(value),
    });
    match (VALUES.iter().find(|(known, ..)| *known == key), value) {
        (Some((_, wanted, example)), Some(value)) => {
            let value = match value {
                toml::Value::Table(_) => "a table".to_owned(),
                toml::Value::Array(_) => "another list".to_owned(),
                value => value.to_string(),
            };
            PolicyError {
                why: format!("{key} is {value}, not {wanted}"),
                hint: None,
                example: Some(format!("{key} = {example}")),
            }
        }
        _ => match VALUES.iter().find(|(known, ..)| known.split('.').next() == Some(key)) {
            Some((known, _, example)) => PolicyError {
                why: format!("{key} is not a table"),
                hint: None,
                example: Some(format!("{known} = {example}")),
            },
            None => PolicyError {
                why: if at.is_empty() { message.to_owned() } else { format!("{at}: {message}") },
                hint: None,
                example: None,
            },
        },
    }
}

/// The file that `aye init` writes.
pub fn template(repository: &str) -> String {
    format!(
        r#"# The policy of this repository. aye uses the stricter value of HEAD and the work tree. An unknown
# key closes the gate.

# The id of this repository in decisions. Do not change it.
repository = "{repository}"

# The gate is closed: a direct patch of an agent (apply_patch, aye patch) becomes a proposal. To open
# it, commit false here and set aye.gate to false in git's configuration.
gate = true

# Proposals that an agent may mark as applied or rejected through the `changes` tool: "none" or "own".
# agents_may_mark = "none"

# true: a build machine may apply proposals.
# ci_may_apply = false

# The number of people who must ask for a purge: 1 or 2.
# purge_persons = 1

# More files that instruct agents, besides CLAUDE.md, AGENTS.md and others: globs.
# instruction_files = []

# Globs of files: `aye check --range` requires an approved proposal for an agent's changes, or for all
# changes.
# [require_proposal]
# agents = []
# all = []

# The evidence that a decision needs: "terminal" (a person answers a question) or "flag" (--yes
# suffices). Memory files are also sensitive paths, so memory needs the stricter value of the two.
# [evidence]
# memory = "terminal"
# sensitive = "terminal"
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn every_key_is_read() {
        assert_eq!(Policy::parse(""), Ok(Policy::default()));
        let text = format!(
            "gate = true\nrepository = \"{ID}\"\nagents_may_mark = \"own\"\nci_may_apply = true\n\
             purge_persons = 2\ninstruction_files = [\"prompts/**\"]\n[evidence]\nmemory = \"flag\"\nsensitive = \"terminal\"\n"
        );
        let policy = Policy::parse(&text).unwrap();
        assert!(policy.gate && policy.ci_may_apply);
        assert_eq!(policy.purge_persons, PersonCount::Two);
        assert_eq!(policy.instruction_files, ["prompts/**"]);
        assert_eq!(policy.repository.as_deref(), Some(ID));
        assert_eq!(policy.agents_may_mark, MayMark::Own);
        assert_eq!(policy.evidence.memory, Confirmation::Flag);
        assert_eq!(policy.evidence.sensitive, Confirmation::Terminal);
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        for (text, why, hint) in [
            ("gates = true", "unknown key 'gates'", "did you mean 'gate'?"),
            ("GATE = true", "unknown key 'GATE'", "did you mean 'gate'?"),
            ("ci-may-apply = true", "unknown key 'ci-may-apply'", "did you mean 'ci_may_apply'?"),
            ("[policy]\ngate = true", "unknown key 'policy'", "'gate' stands at the top"),
            (
                "[evidence]\nmemori = \"flag\"",
                "unknown key 'evidence.memori'",
                "'evidence.memory'?",
            ),
            ("[evidence]\ngate = true", "unknown key 'evidence.gate'", "one of: memory, sensitive"),
            ("zzzzzz = 1", "unknown key 'zzzzzz'", "one of: gate, repository"),
        ] {
            let invalid = Policy::parse(text).unwrap_err();
            assert_eq!(invalid.why, why);
            assert!(invalid.hint.as_deref().unwrap_or_default().contains(hint), "{invalid:?}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        for text in [
            "gate = \"true\"",
            "gate = maybe",
            "evidence = true",
            "evidence = \"flag\"",
            "agents_may_mark = \"all\"",
            "agents_may_mark = true",
            "repository = \"short\"",
            "repository = \"0123456789ABCDEF0123456789ABCDEF\"",
            "[evidence]\nmemory = \"yes\"",
            "[gate]\nx = 1",
            "[gate]",
            "purge_persons = 0",
            "purge_persons = 3",
            "purge_persons = \"2\"",
            "purge_persons = true",
            "instruction_files = \"prompts\"",
            "instruction_files = [\"\"]",
            "instruction_files = [\"[a\"]",
            "require_proposal = true",
            "require_proposal = [\"**\"]",
            "[require_proposal]\nagents = true",
            "[require_proposal]\nall = [\"[a\"]",
        ] {
            assert!(Policy::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_wrong_value_is_said_with_its_key_and_what_it_may_be() {
        for (text, why, example) in [
            ("gate = \"true\"", "gate is \"true\", not true or false", "gate = true"),
            ("[gate]\nx = 1", "gate is a table, not true or false", "gate = true"),
            ("purge_persons = 3", "purge_persons is 3, not 1 or 2", "purge_persons = 2"),
            (
                "agents_may_mark = true",
                "agents_may_mark is true, not \"none\" or \"own\"",
                "agents_may_mark = \"own\"",
            ),
            (
                "[evidence]\nmemory = \"yes\"",
                "evidence.memory is \"yes\", not \"terminal\" or \"flag\"",
                "evidence.memory = \"terminal\"",
            ),
            ("evidence = true", "evidence is not a table", "evidence.memory = \"terminal\""),
            (
                "instruction_files = [1]",
                "instruction_files is another list, not a list of globs",
                "instruction_files = [\"prompts/**\"]",
            ),
        ] {
            let invalid = Policy::parse(text).unwrap_err();
            assert_eq!((invalid.why.as_str(), invalid.example.as_deref()), (why, Some(example)));
        }
        let nested = [
            "evidence.memory",
            "evidence.sensitive",
            "require_proposal.agents",
            "require_proposal.all",
        ];
        let outer = keys::of::<PolicyFile>().into_iter();
        let outer = outer.filter(|key| key != "evidence" && key != "require_proposal");
        let all = outer.chain(nested.map(str::to_owned));
        let mut all: Vec<String> = all.collect();
        let mut named: Vec<String> = VALUES.iter().map(|(key, ..)| (*key).to_owned()).collect();
        all.sort_unstable();
        named.sort_unstable();
        assert_eq!(named, all);
        for (key, _, value) in VALUES {
            assert!(Policy::parse(&format!("{key} = {value}")).is_ok(), "{key}");
        }
    }

    #[test]
    fn the_strictest_of_two_holds() {
        let open = "agents_may_mark = \"own\"\nci_may_apply = true\n\
                    evidence = { memory = \"flag\", sensitive = \"flag\" }";
        let open = || Policy::parse(open).unwrap();
        assert_eq!(open().tightened_by(Policy::default()), Policy::default());
        assert_eq!(Policy::default().tightened_by(open()), Policy::default());
        assert_eq!(open().tightened_by(open()), open());
        let gate = Policy::parse("gate = true").unwrap();
        assert!(Policy::default().tightened_by(gate).gate);
        let more = |text: &str| Policy::parse(text).unwrap();
        let both = more("instruction_files = [\"a\"]")
            .tightened_by(more("instruction_files = [\"b\", \"a\"]"));
        assert_eq!(both.instruction_files, ["a", "b"]);
        let both = more("require_proposal.agents = [\"**\"]")
            .tightened_by(more("require_proposal.all = [\"a\"]"));
        assert_eq!((both.require_proposal.agents.len(), both.require_proposal.all.len()), (1, 1));
        let two = || Policy::parse("purge_persons = 2").unwrap();
        assert_eq!(two().tightened_by(Policy::default()), two());
        assert_eq!(Policy::default().tightened_by(two()), two());
    }

    #[test]
    fn the_template_is_a_policy_with_or_without_its_comments() {
        let text = template(ID);
        let policy = Policy::parse(&text).unwrap();
        let gated = Policy { gate: true, ..Policy::default() };
        assert_eq!(policy, Policy { repository: Some(ID.into()), ..gated });
        let keys = text.lines().map(|line| line.strip_prefix("# ").unwrap_or(line));
        let keys: Vec<&str> =
            keys.filter(|line| line.starts_with('[') || line.contains(" = ")).collect();
        assert_eq!(keys.len(), 12, "{keys:?}");
        assert_eq!(Policy::parse(&keys.join("\n")), Ok(policy));
    }
}
