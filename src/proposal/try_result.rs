//! The result of `aye try` as a file: written where nothing can be recorded (CI), imported where it
//! can. Pure.
//!
//! Format `aye-try-result@1`: one canonical JSON object. It names proposal and revision by event
//! ids only; the importer looks both up.

use chrono::{DateTime, SubsecRound as _, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::{Check, Imported};
use super::{Actor, canonical, codes};
use crate::error::{Error, Result, codes as error_codes};

pub const FORMAT: &str = "aye-try-result@1";

/// In bytes.
pub const MAX_BYTES: usize = 64 << 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TryResult {
    /// As far as known there.
    pub actor: Actor,
    pub command: Vec<String>,
    pub duration_ms: u64,
    /// `null` if a signal ended it.
    // `deserialize_with` makes the key mandatory, though it may be null.
    #[serde(deserialize_with = "Option::deserialize")]
    pub exit_code: Option<i32>,
    pub format: String,
    /// Hex id of its first event.
    pub proposal: String,
    /// 128 random bits, hex; `null` if the policy names none.
    #[serde(deserialize_with = "Option::deserialize")]
    pub repository: Option<String>,
    /// Hex event id.
    pub revision: String,
    /// End of the run, in milliseconds.
    pub time: DateTime<Utc>,
}

impl TryResult {
    /// # Errors
    /// `size_limit_exceeded` if the command is too long.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let bytes = canonical::of(self)?;
        if bytes.len() > MAX_BYTES {
            return Err(Error::new(
                &error_codes::SIZE_LIMIT,
                format!("the result would have {} bytes, over {MAX_BYTES}", bytes.len()),
            )
            .hint("put the command into a script, and run that"));
        }
        Ok(bytes)
    }

    /// Any form of JSON.
    ///
    /// # Errors
    /// `try_result_invalid`: too large, not a JSON object, an unknown, missing or repeated key, a
    /// value of the wrong type, another format.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let invalid = |why: String| {
            Error::new(&codes::TRY_RESULT_INVALID, format!("not a result of aye try: {why}"))
                .hint("give the file that `aye try ID --result FILE -- CMD` has written")
        };
        if bytes.len() > MAX_BYTES {
            return Err(invalid(format!("{} bytes are more than {MAX_BYTES}", bytes.len())));
        }
        // Shape first: a derived reader takes lists for objects, and reports an unknown key before
        // an unknown format.
        let value: Value = serde_json::from_slice(bytes).map_err(|e| invalid(e.to_string()))?;
        let is_actor = value["actor"].as_object().is_some_and(|actor| actor.len() == 3);
        if !value.is_object() || !is_actor {
            return Err(invalid("it is not a JSON object whose actor has three keys".into()));
        }
        if value["format"] != FORMAT {
            return Err(invalid(format!("its format is not {FORMAT}")));
        }
        let mut result: Self =
            serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
        if result.command.is_empty() {
            return Err(invalid("the command is empty".into()));
        }
        for (key, id) in [("proposal", &result.proposal), ("revision", &result.revision)] {
            if !is_object_id(id) {
                return Err(invalid(format!("{key} is not an object id")));
            }
        }
        result.time = result.time.trunc_subsecs(3);
        Ok(result)
    }

    pub fn to_check(&self) -> Result<Check> {
        Ok(Check {
            command: self.command.clone(),
            exit_code: self.exit_code,
            duration_ms: self.duration_ms,
            revision: self.revision.clone(),
            imported: Some(Imported {
                by: self.actor.clone(),
                time: self.time,
                result: crate::sha256::hex(&self.to_bytes()?),
            }),
        })
    }
}

fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::ActorKind;
    use super::*;

    fn sample() -> Value {
        json!({
            "actor": {"email": "ci@example.com", "kind": "ci", "name": "build"},
            "command": ["cargo", "test"],
            "duration_ms": 1200,
            "exit_code": 0,
            "format": FORMAT,
            "proposal": "a".repeat(40),
            "repository": null,
            "revision": "b".repeat(40),
            "time": "2026-11-24T09:00:09.125Z",
        })
    }

    fn read(value: &Value) -> Result<TryResult> {
        TryResult::from_bytes(value.to_string().as_bytes())
    }

    #[test]
    fn a_result_is_read_in_any_spelling_and_written_in_one() {
        let result = read(&sample()).unwrap();
        let pretty = serde_json::to_string_pretty(&sample()).unwrap();
        assert_eq!(TryResult::from_bytes(pretty.as_bytes()).unwrap(), result);
        let bytes = result.to_bytes().unwrap();
        assert_eq!(bytes, canonical::to_bytes(&sample()));
        assert_eq!(TryResult::from_bytes(&bytes).unwrap(), result);
    }

    #[test]
    fn every_key_is_required_and_no_other_is_read() {
        for key in sample().as_object().unwrap().keys() {
            let mut value = sample();
            value.as_object_mut().unwrap().remove(key);
            assert!(read(&value).unwrap_err().is(&codes::TRY_RESULT_INVALID), "{key}");
        }
        for (place, key) in [("", "status"), ("/actor", "evidence")] {
            let mut value = sample();
            value.pointer_mut(place).unwrap()[key] = json!("applied");
            assert!(read(&value).unwrap_err().is(&codes::TRY_RESULT_INVALID), "{place}/{key}");
        }
    }

    #[test]
    fn repeated_keys_and_positional_values_are_refused() {
        let text = sample().to_string();
        let twice = [
            text.replacen("\"exit_code\":0", "\"exit_code\":0,\"exit_code\":1", 1),
            text.replacen("\"kind\":\"ci\"", "\"kind\":\"ci\",\"kind\":\"human\"", 1),
        ];
        for text in twice {
            let error = TryResult::from_bytes(text.as_bytes()).unwrap_err();
            assert!(error.message().contains("duplicate field"), "{error}");
        }
        let list = json!([["n", "e", "ci"], ["x"], 1, 0, FORMAT, "", null, "", "2026-11-24"]);
        assert!(read(&list).is_err());
        let mut value = sample();
        value["actor"] = json!(["n", "e", "ci"]);
        assert!(read(&value).is_err());
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let cases = [
            ("command", json!([])),
            ("command", json!("cargo test")),
            ("duration_ms", json!(-1)),
            ("duration_ms", json!(1.5)),
            ("exit_code", json!("0")),
            ("format", json!("aye-try-result@2")),
            ("proposal", json!("prop_0123456789")),
            ("revision", json!("B".repeat(40))),
            ("time", json!("yesterday")),
        ];
        for (key, bad) in cases {
            let mut value = sample();
            value[key] = bad;
            assert!(read(&value).unwrap_err().is(&codes::TRY_RESULT_INVALID), "{key}");
        }
        let mut value = sample();
        value["command"] = json!(["x".repeat(MAX_BYTES)]);
        assert!(read(&value).unwrap_err().message().contains("more than"));
        assert!(TryResult::from_bytes(format!("{} x", sample()).as_bytes()).is_err());
    }

    #[test]
    fn the_check_names_who_ran_it_and_the_very_result() {
        let result = read(&sample()).unwrap();
        let check = result.to_check().unwrap();
        let imported = check.imported.unwrap();
        assert_eq!((imported.by.name.as_str(), imported.by.kind), ("build", ActorKind::Ci));
        assert_eq!(imported.result, crate::sha256::hex(&result.to_bytes().unwrap()));
        let other = TryResult { exit_code: Some(1), ..result };
        assert_ne!(other.to_check().unwrap().imported.unwrap().result, imported.result);
    }
}
