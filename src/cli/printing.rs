//! Printing of answers, notes and errors.

use std::io::{self, Write as _};

use super::Context;
use super::output::{self, Format};
use super::pager;
use crate::error::{Error, Exit, Result};
use crate::report::{Finding, Level, Report, ReportFormat};
use crate::text::escape;

impl Context {
    pub fn emit<T: serde::Serialize>(
        &mut self,
        default: Format,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> Result<Exit> {
        let rendered = self.rendered(default, value, text)?;
        self.print(rendered.as_bytes())
    }

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

    /// A failed report exits with a negative answer.
    pub fn emit_report(&mut self, report: &Report) -> Result<Exit> {
        let format = self.format_or(Format::Text).for_report();
        let text = report.render(format, self.color)?;
        if !(self.quiet && format == ReportFormat::Text && report.findings().is_empty()) {
            self.print(text.as_bytes())?;
        }
        Ok(if report.failed() { Exit::Negative } else { Exit::Done })
    }

    /// Annotations get the error, added to `empty`. A code-scanning service gets no report: it
    /// would mark existing alerts as fixed.
    pub fn emit_report_or_error(
        &mut self,
        mut empty: Report,
        looked: Result<Report>,
    ) -> Result<Exit> {
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

    /// A closed pipe is not an error, as in git.
    pub fn print(&mut self, bytes: &[u8]) -> Result<Exit> {
        let mut stdout = io::stdout().lock();
        output::ignore_closed_pipe(stdout.write_all(bytes).and_then(|()| stdout.flush()))?;
        Ok(Exit::Done)
    }

    pub fn print_all<Piece: AsRef<[u8]>>(
        &mut self,
        pieces: impl Iterator<Item = Result<Piece>>,
    ) -> Result<Exit> {
        for piece in pieces {
            let mut stdout = io::stdout().lock();
            let written = stdout.write_all(piece?.as_ref()).and_then(|()| stdout.flush());
            let closed = written.is_err();
            output::ignore_closed_pipe(written)?;
            if closed {
                break;
            }
        }
        Ok(Exit::Done)
    }

    pub fn note(&self, line: &str) {
        if self.quiet {
            return;
        }
        let is_prose = ["hint: ", "note: ", "warning: "].iter().any(|it| line.starts_with(it));
        let columns = pager::note_columns().filter(|_| is_prose && !line.contains('\n'));
        let _ = writeln!(io::stderr(), "{}", output::wrapped(line, columns));
    }

    /// Warns once for each kind of trouble.
    pub(super) fn warn_of_threads(&self) {
        for line in self.notices.take_lines() {
            self.note(&format!("warning: {}", escape::line(&line)));
        }
    }

    /// JSON and YAML go to standard output. Text, and what standard output does not take, goes to
    /// standard error.
    pub fn report(&mut self, error: &Error) {
        let printed = match self.format {
            Some(format @ (Format::Json | Format::Yaml)) => {
                output::structured(format, &crate::tools::failure::json_failure(error))
                    .and_then(|text| self.print(text.as_bytes()))
                    .is_ok()
            }
            _ => false,
        };
        if !printed {
            self.report_on_stderr(error);
        }
    }

    /// Standard output is for the answer alone.
    pub fn report_on_stderr(&self, error: &Error) {
        let _ =
            io::stderr().write_all(output::failure_text(error, pager::note_columns()).as_bytes());
    }

    /// Sets an undocumented status, such as that of a program run for the caller.
    pub fn ends_with(&mut self, status: i32) -> Exit {
        self.status = Some(u8::try_from(status).unwrap_or(Exit::Bug as u8));
        Exit::Done
    }

    /// Ends a command that the user declined.
    pub fn declined(&self, line: &str) -> Result<Exit> {
        self.note(line);
        Ok(Exit::Negative)
    }
}
