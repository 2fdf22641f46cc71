//! Call arguments, read into the type that gives the tool's input schema.
//!
//! For all tools, unknown arguments are named in the answer's `ignored_parameters`, never fatal and
//! never silent. Wrong types are refused.

use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::codes;
use crate::error::{Error, IGNORED, Result};

#[derive(Debug)]
pub struct Arguments<T> {
    pub known: T,
    pub ignored: Vec<String>,
}

impl<T: DeserializeOwned> Arguments<T> {
    /// A `null` argument counts as absent.
    ///
    /// # Errors
    /// `invalid_parameter`, `missing_parameter`.
    pub fn read(value: Value) -> Result<Self> {
        let map = Value::Object(object(value)?);
        let mut ignored = Vec::new();
        let mut track = serde_path_to_error::Track::new();
        let reader = serde_path_to_error::Deserializer::new(map, &mut track);
        let known =
            serde_ignored::deserialize(reader, |path| ignored.push(shorten(&path.to_string())));
        match known {
            Ok(known) => Ok(Self { known, ignored }),
            Err(error) => {
                Err(with_ignored(invalid_argument(&track.path().to_string(), &error), ignored))
            }
        }
    }
}

/// Drops arguments that are `null`.
///
/// # Errors
/// `invalid_parameter` for other values.
pub fn object(value: Value) -> Result<Map<String, Value>> {
    match value {
        Value::Object(mut map) => {
            map.retain(|_, value| !value.is_null());
            Ok(map)
        }
        Value::Null => Ok(Map::new()),
        _ => {
            let error =
                Error::new(&codes::INVALID_PARAMETER, "the arguments are not a JSON object");
            Err(error.hint("give {…}, or {\"name\": …, \"arguments\": {…}}"))
        }
    }
}

fn invalid_argument(place: &str, error: &serde_json::Error) -> Error {
    let why = error.to_string();
    let field = |start| why.strip_prefix(start).and_then(|it| it.strip_suffix('`'));
    let inside = |field: &str| match place {
        "." => field.to_owned(),
        place => format!("{place}.{field}"),
    };
    let named = |code, name: &str, message: String| {
        let error = Error::new(code, message).with("parameter", shorten(name));
        error.hint("`aye call TOOL --help` prints the parameters of a tool")
    };
    if let Some(field) = field("missing field `") {
        let name = inside(field);
        let message = format!("the parameter '{name}' is missing");
        return named(&codes::MISSING_PARAMETER, &name, message);
    }
    // Duplicate keys are refused earlier.
    let (name, why) = match field("duplicate field `") {
        Some(field) => (inside(field), "it is given under two names".to_owned()),
        None => (place.to_owned(), shorten_message(&why)),
    };
    let message = format!("the parameter '{}' is wrong: {why}", shorten(&name));
    named(&codes::INVALID_PARAMETER, &name, message)
}

impl<T> Arguments<T> {
    /// Adds ignored names to the answer or error of `act`.
    pub fn answer<A: Serialize>(self, act: impl FnOnce(T) -> Result<A>) -> Result<Value> {
        match act(self.known).and_then(|answer| to_value(&answer)) {
            Ok(answer) => Ok(name_ignored(answer, self.ignored)),
            Err(error) => Err(with_ignored(error, self.ignored)),
        }
    }
}

pub fn missing(name: &'static str) -> Error {
    Error::new(&codes::MISSING_PARAMETER, format!("the parameter '{name}' is missing"))
        .with("parameter", name)
        .hint(format!("add \"{name}\" to the arguments"))
}

fn name_ignored(mut answer: Value, ignored: Vec<String>) -> Value {
    if !ignored.is_empty()
        && let Some(answer) = answer.as_object_mut()
    {
        answer.insert(IGNORED.to_owned(), ignored.into());
    }
    answer
}

#[must_use]
pub fn with_ignored(error: Error, ignored: Vec<String>) -> Error {
    if ignored.is_empty() { error } else { error.with(IGNORED, ignored) }
}

fn to_value(answer: &impl Serialize) -> Result<Value> {
    serde_json::to_value(answer).map_err(|error| Error::bug(error.to_string()))
}

/// JSON does not distinguish 10 from 10.0.
pub fn whole_number<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<usize>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(reader)? else { return Ok(None) };
    let whole = number
        .as_u64()
        .or_else(|| number.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0).map(|n| n as u64));
    match whole {
        Some(whole) => Ok(Some(usize::try_from(whole).unwrap_or(usize::MAX))),
        None => Err(D::Error::custom(format!("{number} is not a whole number from 0"))),
    }
}

/// Keeps the message's end, which names the expected type.
fn shorten_message(why: &str) -> String {
    const MOST: usize = 100;
    let cut = |text: &str| text.chars().take(MOST).collect::<String>();
    if why.chars().nth(2 * MOST).is_none() {
        return why.to_owned();
    }
    let start = cut(why);
    let expected = why.rfind(", expected ").filter(|at| *at >= start.len());
    start + "…" + &expected.map(|at| cut(&why[at..])).unwrap_or_default()
}

pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Sample {
        text: Option<String>,
        #[serde(default, deserialize_with = "whole_number")]
        count: Option<usize>,
    }

    fn read(value: Value) -> Result<Arguments<Sample>> {
        Arguments::read(value)
    }

    #[test]
    fn what_nobody_asked_for_is_named() {
        let found = read(json!({"text": "a", "count": 2.0, "tezt": {"x": 1}, "more": null}));
        let Arguments { known, ignored } = found.unwrap();
        assert_eq!((known.text.as_deref(), known.count), (Some("a"), Some(2)));
        assert_eq!(ignored, ["tezt"]);
        let answer = name_ignored(json!({"success": true}), ignored);
        assert_eq!(answer.to_string(), r#"{"success":true,"ignored_parameters":["tezt"]}"#);
    }

    #[test]
    fn the_wrong_type_is_refused_by_name() {
        for (value, name) in [
            (json!({"text": 5}), "text"),
            (json!({"count": "5"}), "count"),
            (json!({"count": -1}), "count"),
            (json!({"count": 1.5}), "count"),
        ] {
            let error = read(value).unwrap_err();
            assert!(error.is(&codes::INVALID_PARAMETER));
            assert!(error.message().contains(name), "{error}");
        }
        for none in [json!([1]), json!("x")] {
            assert!(read(none).unwrap_err().is(&codes::INVALID_PARAMETER));
        }
        assert_eq!(read(Value::Null).unwrap().known.text, None);
    }
}
