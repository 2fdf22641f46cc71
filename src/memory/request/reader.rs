//! Reads one JSON object of a request, field by field.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::operation::Target;
use crate::memory::codes;
use crate::memory::problem::{Problem, brief};
use crate::spelling::{did_you_mean_hint, nearest};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestText {
    /// `content`, `owner.id`
    pub field: String,
    pub text: String,
}

/// Includes texts of nested objects; `prefix` precedes their fields.
pub(super) fn texts(map: &Map<String, Value>, prefix: &str) -> Vec<RequestText> {
    let mut found = Vec::new();
    for (key, value) in map {
        let field = format!("{prefix}{}", brief(key));
        match value {
            Value::String(text) => found.push(RequestText { field, text: text.clone() }),
            Value::Object(inner) => found.extend(texts(inner, &format!("{field}."))),
            _ => {}
        }
    }
    found
}

/// True for values that stand for an absent field.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_u64() == Some(0),
        _ => false,
    }
}

pub(super) struct Reader<'a> {
    map: &'a Map<String, Value>,
    operation: Option<usize>,
    problems: &'a mut Vec<Problem>,
    /// Fields that the object accepts.
    known_fields: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    pub fn new(
        map: &'a Map<String, Value>,
        operation: Option<usize>,
        problems: &'a mut Vec<Problem>,
    ) -> Self {
        Self { map, operation, problems, known_fields: Vec::new() }
    }

    pub fn wrong(&mut self, field: &str, message: impl Into<String>, fix: &str) {
        let code = match self.operation {
            Some(_) => &codes::INVALID_OPERATION,
            None => &codes::VALIDATION_FAILED,
        };
        let mut problem = Problem::new(code, message).field(field).fix(fix);
        problem.operation = self.operation;
        self.problems.push(problem);
    }

    pub fn value(&mut self, field: &'static str) -> Option<&'a Value> {
        self.known_fields.push(field);
        self.map.get(field).filter(|value| !is_empty(value))
    }

    pub fn text(&mut self, field: &'static str) -> Option<String> {
        match self.value(field)? {
            Value::String(text) => Some(text.clone()),
            _ => {
                self.wrong(field, format!("{field} has to be text"), "put it in quotes");
                None
            }
        }
    }

    /// Required text.
    pub fn need(&mut self, field: &'static str) -> String {
        if self.value(field).is_none() {
            self.wrong(field, format!("{field} is missing"), "add it");
        }
        self.text(field).unwrap_or_default()
    }

    /// A whole number from 1 to `most`.
    fn number(&mut self, field: &'static str, most: u32) -> Option<u32> {
        let value = self.value(field)?;
        let number = value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= most);
        if number.is_none() {
            let message = format!("{field} is {}", brief(&value.to_string()));
            self.wrong(field, message, &format!("a whole number from 1 to {most}"));
        }
        number
    }

    pub fn level(&mut self, field: &'static str) -> Option<u8> {
        self.number(field, 6).and_then(|n| n.try_into().ok())
    }

    /// One of the words of `T`.
    pub fn word<T: DeserializeOwned>(&mut self, field: &'static str) -> Option<T> {
        let value = self.value(field)?;
        let word = serde_json::from_value(value.clone());
        word.map_err(|error| {
            let message = format!("{field} is {}", brief(&value.to_string()));
            self.wrong(field, message, &brief(&error.to_string()));
        })
        .ok()
    }

    pub fn target(&mut self) -> Target {
        let id = self.text("section_id");
        let heading = self.text("heading");
        let level = self.level("heading_level");
        let occurrence = self.number("occurrence", u32::MAX);
        if id.is_none() && heading.is_none() {
            let fix = "add section_id, or heading with heading_level and occurrence";
            self.wrong("section_id", "the section is not named", fix);
        }
        match id {
            Some(id) => Target::Id(id),
            None => Target::Heading { text: heading.unwrap_or_default(), level, occurrence },
        }
    }

    /// Refuses fields that were given but not read; `what` names the object.
    pub fn refuse_others(&mut self, what: &str) {
        let given = self.map.iter().filter(|(_, value)| !is_empty(value));
        let others: Vec<&String> = given
            .map(|(key, _)| key)
            .filter(|key| !self.known_fields.contains(&key.as_str()))
            .collect();
        for key in others {
            let fix = match nearest(key, self.known_fields.iter().copied()) {
                Some(near) => did_you_mean_hint(near),
                None => format!("drop it; {what} takes: {}", self.known_fields.join(", ")),
            };
            let key = brief(key);
            let mut problem =
                Problem::new(&codes::INVALID_OPERATION, format!("{what} takes no '{key}'"))
                    .field(key)
                    .fix(fix);
            problem.operation = self.operation;
            self.problems.push(problem);
        }
    }
}
