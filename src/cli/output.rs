//! Output formats of results and errors.

use serde::Serialize;

use crate::error::{Error, Result, codes};
use crate::render::width;
use crate::report::ReportFormat;
use crate::text::{escape, yaml};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people; may change.
    Text,
    /// One JSON document; stable, additive only.
    Json,
    /// The same document as YAML.
    Yaml,
    /// GitHub Actions annotations; reports only (`check`, `scan`, `memory lint`).
    #[value(hide = true)]
    Github,
    /// SARIF 2.1.0; reports only.
    #[value(hide = true)]
    Sarif,
}

impl Format {
    pub fn is_common(self) -> bool {
        matches!(self, Self::Text | Self::Json | Self::Yaml)
    }

    pub fn for_report(self) -> ReportFormat {
        match self {
            Self::Text => ReportFormat::Text,
            Self::Json | Self::Yaml => ReportFormat::Json,
            Self::Github => ReportFormat::Github,
            Self::Sarif => ReportFormat::Sarif,
        }
    }
}

pub fn unsupported(format: Format) -> Error {
    let name = format!("{format:?}").to_lowercase();
    let hint = match format {
        Format::Github | Format::Sarif => "check, scan and memory lint print it",
        _ => "its answer is text",
    };
    Error::new(&codes::USAGE, format!("'{name}' is not a format of this command")).hint(hint)
}

/// Ends with a newline.
pub fn structured<T: Serialize>(format: Format, value: &T) -> Result<String> {
    let text = match format {
        Format::Yaml => yaml::document(value)?,
        _ => {
            let text =
                serde_json::to_string_pretty(value).map_err(|e| Error::bug(e.to_string()))?;
            escape::json(&text).into_owned() + "\n"
        }
    };
    Ok(text)
}

/// Accepts a closed pipe: the reader has seen what it wanted.
///
/// # Errors
/// `disk_full`, `io_error`.
pub fn ignore_closed_pipe(written: std::io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::io("write to standard output", &error))
        }
        _ => Ok(()),
    }
}

/// Escapes the text and wraps it to `columns`.
pub fn failure_text(error: &Error, columns: Option<usize>) -> String {
    let message = format!("error[{}]: {}", error.code().id, escape::line(error.message()));
    let mut text = wrapped(&message, columns) + "\n";
    if let Some(hint) = error.hint_text() {
        for line in hint.lines() {
            text += &(wrapped(&format!("hint: {}", escape::line(line)), columns) + "\n");
        }
    }
    text
}

/// Indents further rows.
pub fn wrapped(line: &str, columns: Option<usize>) -> String {
    match columns {
        Some(columns) if width::of(line) > columns => {
            width::wrap_words(line, columns.saturating_sub(INDENT.len()).max(1))
                .join(&format!("\n{INDENT}"))
        }
        _ => line.to_owned(),
    }
}

const INDENT: &str = "  ";
