//! One thing that is wrong with a request: which operation, where in it, and what fixes it.

use crate::error::Code;

/// One thing that is wrong. A request's problems are collected, so that all of them can be mended
/// at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem(Box<Parts>);

impl std::ops::Deref for Problem {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl std::ops::DerefMut for Problem {
    fn deref_mut(&mut self) -> &mut Parts {
        &mut self.0
    }
}

/// What a [`Problem`] says; behind a box, so that results stay small.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// Reason code.
    pub code: &'static Code,
    /// Index of the operation, from 0; `None` for the request as a whole.
    pub operation: Option<usize>,
    /// The field of the request or operation, or the labelled field of a section.
    pub field: Option<String>,
    /// Line within that field's text, from 1.
    pub line: Option<usize>,
    /// The section concerned.
    pub section_id: Option<String>,
    /// Where it begins, in bytes from the beginning of the file; 0 for the file as a whole.
    pub start: usize,
    /// What is wrong, quoting what was given (never a secret).
    pub message: String,
    /// What to do about it.
    pub fix: Option<String>,
    /// Kind of finding, for secrets.
    pub finding: Option<String>,
}

impl Problem {
    /// A problem of the request as a whole.
    pub fn new(code: &'static Code, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            code,
            operation: None,
            field: None,
            line: None,
            section_id: None,
            start: 0,
            message: message.into(),
            fix: None,
            finding: None,
        }))
    }

    /// Says which operation it is about.
    #[must_use]
    pub fn at(mut self, operation: usize) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Says which field it is about.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Says which line of the field it is about, from 1.
    #[must_use]
    pub fn line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// Says which section it is about.
    #[must_use]
    pub fn section(mut self, id: impl Into<String>) -> Self {
        self.section_id = Some(id.into());
        self
    }

    /// Says what fixes it.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// For messages: `operation 1, content, line 3: …`.
    pub fn located(&self) -> String {
        let mut place = Vec::new();
        if let Some(operation) = self.operation {
            place.push(format!("operation {operation}"));
        }
        place.extend(self.field.clone());
        if let Some(line) = self.line {
            place.push(format!("line {line}"));
        }
        if place.is_empty() {
            self.message.clone()
        } else {
            format!("{}: {}", place.join(", "), self.message)
        }
    }
}

/// Most characters of a text that a message quotes.
const QUOTED: usize = 80;

/// `text` as a message quotes it: the beginning of a long one.
pub fn brief(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
