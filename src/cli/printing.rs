//! What a command prints: its answer, notes and errors.

use std::io::{self, Write as _};

use super::Context;
use super::output::{self, Format};
use super::pager;
use crate::error::{Error, Exit, Result};
use crate::report::{Finding, Level, Report, ReportFormat};
use crate::text::escape;

impl Context {
    /// Prints `value` as JSON or YAML, or `text()` as it is, to standard output.
    ///
    /// # Errors
    /// Only if the value cannot be serialised; a closed pipe is not an error.
    pub fn emit<T: serde::Serialize>(
        &mut self,
        default: Format,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> Result<Exit> {
        let rendered = self.rendered(default, value, text)?;
        self.print(rendered.as_bytes())
    }

    /// What [`Context::emit`] prints.
    ///
    /// # Errors
    /// As there, but for those of writing.
    pub fn rendered<T: serde::Serialize>(
        &self,
        default: Format,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> Result<String> {
        match self.format_or(default) {
            Format::Text => Ok(text()),
            format if !format.is_common() => Err(output::unsupported(format)),
            format => output::structured(format, value),
        }
    }

    /// Prints `report` in the chosen form (text by default) and returns the exit status it asks
    /// for: done, or a negative answer where it failed.
    ///
    /// # Errors
    /// As [`Context::emit`].
    pub fn emit_report(&mut self, report: &Report) -> Result<Exit> {
        let format = self.format_or(Format::Text).for_report();
        let text = report.render(format, self.color)?;
        if !(self.quiet && format == ReportFormat::Text && report.findings().is_empty()) {
            self.print(text.as_bytes())?;
        }
        Ok(if report.failed() { Exit::Negative } else { Exit::Done })
    }

    /// As [`Context::emit_report`]. What went wrong is also in the annotations, `empty` but for that. A code-scanning
    /// service gets no report: it would mark existing alerts as fixed.
    ///
    /// # Errors
    /// That of `looked`; as [`Context::emit`].
    pub fn emit_looked(&mut self, mut empty: Report, looked: Result<Report>) -> Result<Exit> {
        let error = match looked {
            Ok(report) => return self.emit_report(&report),
            Err(error) => error,
        };
        let format = self.format_or(Format::Text).for_report();
        if format == ReportFormat::Github {
            let finding = Finding::new(error.code().id, Level::Error, error.message().to_owned());
            empty.push(match error.hint_text() {
                Some(hint) => finding.hint(hint),
                None => finding,
            });
            self.print(empty.render(format, self.color)?.as_bytes())?;
        }
        Err(error)
    }

    /// Writes data to standard output, which most commands end with. A closed pipe ends the process quietly, as git
    /// does.
    ///
    /// # Errors
    /// `io_error` when the stream cannot be written.
    pub fn print(&mut self, bytes: &[u8]) -> Result<Exit> {
        let mut stdout = io::stdout().lock();
        output::printed(stdout.write_all(bytes).and_then(|()| stdout.flush()))?;
        Ok(Exit::Done)
    }

    /// Writes the pieces of a text as [`Context::print`] does, one after the other.
    ///
    /// # Errors
    /// Those of the pieces; `io_error` when the stream cannot be written.
    pub fn print_all<Piece: AsRef<[u8]>>(
        &mut self,
        pieces: impl Iterator<Item = Result<Piece>>,
    ) -> Result<Exit> {
        for piece in pieces {
            let mut stdout = io::stdout().lock();
            let written = stdout.write_all(piece?.as_ref()).and_then(|()| stdout.flush());
            let closed = written.is_err();
            output::printed(written)?;
            if closed {
                break;
            }
        }
        Ok(Exit::Done)
    }

    /// Says something that is not data, on standard error, unless `-q`.
    pub fn note(&self, line: &str) {
        if self.quiet {
            return;
        }
        let is_prose = ["hint: ", "note: ", "warning: "].iter().any(|it| line.starts_with(it));
        let columns = pager::note_columns().filter(|_| is_prose && !line.contains('\n'));
        let _ = writeln!(io::stderr(), "{}", output::wrapped(line, columns));
    }

    /// Warns of threads and refs that could not be read as they should be, once for each kind.
    pub(super) fn warn_of_threads(&self) {
        for line in self.notices.take_lines() {
            self.note(&format!("warning: {}", escape::line(&line)));
        }
    }

    /// Prints `error`: in JSON and YAML to standard output in the contract's shape, else as
    /// `error:` and `hint:` lines on standard error, which is also where it goes if standard
    /// output cannot be written.
    pub fn report(&mut self, error: &Error) {
        let printed = match self.format {
            Some(format @ (Format::Json | Format::Yaml)) => {
                output::structured(format, &crate::tools::failure::common(error))
                    .and_then(|text| self.print(text.as_bytes()))
                    .is_ok()
            }
            _ => false,
        };
        if !printed {
            self.report_beside(error);
        }
    }

    /// Prints `error` on standard error in every format: for what went wrong beside an answer,
    /// which alone belongs on standard output.
    pub fn report_beside(&self, error: &Error) {
        let _ =
            io::stderr().write_all(output::failure_text(error, pager::note_columns()).as_bytes());
    }

    /// Ends the process with the exit status of a program that was run on the caller's behalf
    /// (or another one outside the documented classes): `return Ok(context.ends_with(code))`.
    pub fn ends_with(&mut self, status: i32) -> Exit {
        self.status = Some(u8::try_from(status).unwrap_or(Exit::Bug as u8));
        Exit::Done
    }

    /// Ends a command that was told not to go on.
    pub fn declined(&self, line: &str) -> Result<Exit> {
        self.note(line);
        Ok(Exit::Negative)
    }
}
