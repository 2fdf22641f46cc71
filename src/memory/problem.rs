//! A problem of a request: operation, place and fix.

use crate::error::Code;

/// Problems are collected, so that all can be fixed at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem(Box<ProblemFields>);

impl std::ops::Deref for Problem {
    type Target = ProblemFields;

    fn deref(&self) -> &ProblemFields {
        &self.0
    }
}

impl std::ops::DerefMut for Problem {
    fn deref_mut(&mut self) -> &mut ProblemFields {
        &mut self.0
    }
}

/// Boxed, so that results stay small.
#[derive(Clone, Debug, PartialEq)]
pub struct ProblemFields {
    pub code: &'static Code,
    /// From 0; `None` for the request as a whole.
    pub operation: Option<usize>,
    /// Or labelled field of a section.
    pub field: Option<String>,
    /// Line within the field's text, from 1.
    pub line: Option<usize>,
    pub section_id: Option<String>,
    /// Byte offset of the section; 0 for the whole file.
    pub start: usize,
    /// Quotes the request, never a secret.
    pub message: String,
    pub fix: Option<String>,
    /// Kind of a scanner's finding.
    pub finding: Option<String>,
}

impl Problem {
    pub fn new(code: &'static Code, message: impl Into<String>) -> Self {
        Self(Box::new(ProblemFields {
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

    #[must_use]
    pub fn at(mut self, operation: usize) -> Self {
        self.operation = Some(operation);
        self
    }

    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    #[must_use]
    pub fn line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    #[must_use]
    pub fn section(mut self, id: impl Into<String>) -> Self {
        self.section_id = Some(id.into());
        self
    }

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

/// Characters.
const QUOTED: usize = 80;

/// Shortens `text` for a quotation.
pub fn brief(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
