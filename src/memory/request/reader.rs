//! One JSON object of a request, field by field.

use serde_json::{Map, Value};

use crate::memory::codes;
use crate::memory::problem::{Problem, brief};
use crate::spelling::{meant, nearest};

/// Reports every field of `map` that is not `known`.
pub(super) fn unknown_fields(
    map: &Map<String, Value>,
    known: &[&str],
    operation: Option<usize>,
    problems: &mut Vec<Problem>,
) {
    for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
        let mut problem =
            Problem::new(&codes::INVALID_OPERATION, format!("unknown field '{}'", brief(key)))
                .field(brief(key));
        problem.operation = operation;
        problem.fix = Some(
            nearest(key, known.iter().copied())
                .map_or_else(|| format!("leave it out; known fields: {}", known.join(", ")), meant),
        );
        problems.push(problem);
    }
}

/// True for what stands for a field that is not given.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_u64() == Some(0),
        _ => false,
    }
}

/// The fields of one object; what is wrong with them goes to `problems`.
pub(super) struct Reader<'a> {
    /// The object.
    pub map: &'a Map<String, Value>,
    /// The operation it is, if it is one.
    pub operation: Option<usize>,
    /// Collects what is wrong.
    pub problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    /// Reports what is wrong with `field`, and what would be right.
    pub fn wrong(&mut self, field: &str, message: impl Into<String>, fix: &str) {
        let code = match self.operation {
            Some(_) => &codes::INVALID_OPERATION,
            None => &codes::VALIDATION_FAILED,
        };
        let mut problem = Problem::new(code, message).field(field).fix(fix);
        problem.operation = self.operation;
        self.problems.push(problem);
    }

    /// Text that is not empty.
    pub fn text(&mut self, field: &str) -> Option<String> {
        match self.map.get(field) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()).filter(|text| !text.is_empty()),
            Some(_) => {
                self.wrong(field, format!("{field} has to be text"), "put it in quotes");
                None
            }
        }
    }

    /// A whole number; 0 stands for none.
    pub fn number(&mut self, field: &str, least: u64, most: u64) -> Option<u64> {
        match self.map.get(field) {
            None | Some(Value::Null) => None,
            Some(value) => match value.as_u64() {
                Some(0) => None,
                Some(n) if (least..=most).contains(&n) => Some(n),
                _ => {
                    let range = format!("a whole number from {least} to {most}");
                    self.wrong(field, format!("{field} is {}", brief(&value.to_string())), &range);
                    None
                }
            },
        }
    }

    /// The level of a heading.
    pub fn level(&mut self, field: &str, least: u64) -> Option<u8> {
        self.number(field, least, 6).and_then(|n| n.try_into().ok())
    }

    /// One of the words that `parse` reads; the default where none is given.
    pub fn choice<T: Copy + Default>(
        &mut self,
        field: &str,
        parse: fn(&str) -> Option<T>,
        words: impl Iterator<Item = &'static str>,
    ) -> T {
        self.word(field, parse, words).unwrap_or_default()
    }

    /// One of the words that `parse` reads, if one is given.
    pub fn word<T>(
        &mut self,
        field: &str,
        parse: fn(&str) -> Option<T>,
        words: impl Iterator<Item = &'static str>,
    ) -> Option<T> {
        let text = self.text(field)?;
        let known = parse(&text);
        if known.is_none() {
            let words: Vec<&str> = words.collect();
            let message = format!("{field} is '{}'", brief(&text));
            self.wrong(field, message, &format!("one of: {}", words.join(", ")));
        }
        known
    }
}
