//! Usage errors, in the requested format where possible.

use std::ffi::OsString;
use std::io::{self, Write as _};

use clap::error::ErrorKind;

use super::Format;
use super::help;
use super::output;
use super::pager;
use crate::error::{Error, Exit, codes};
use crate::text::escape;

/// Printed for `aye` alone outside a repository.
const SHORT: &str = "\
aye: the write gate between coding agents and a git repository.

  aye demo      all of it in a scratch repository
  aye init      make a repository ready
  aye review    decide on what agents have proposed
  aye           what waits, and how much of it
  aye --help    all commands
";

pub fn short() -> Exit {
    match output::ignore_closed_pipe(io::stdout().write_all(SHORT.as_bytes())) {
        Ok(()) => Exit::Done,
        Err(error) => error.code().exit,
    }
}

pub fn report(args: &[OsString], error: &clap::Error) -> Exit {
    if !error.use_stderr() {
        // Help and version are answers.
        let written = error.print().and_then(|()| io::stdout().flush());
        return match output::ignore_closed_pipe(written) {
            Ok(()) => Exit::Done,
            Err(error) => {
                let _ = io::stderr()
                    .write_all(output::failure_text(&error, pager::note_columns()).as_bytes());
                error.code().exit
            }
        };
    }
    let code = match error.kind() {
        ErrorKind::InvalidUtf8 => &codes::INVALID_UTF8,
        _ => &codes::USAGE,
    };
    let mut rendered = error.render().to_string();
    if error.kind() == ErrorKind::InvalidSubcommand
        && args.get(1).is_some_and(|word| word == "help")
    {
        let topics: Vec<&str> = help::topics().collect();
        rendered += &format!("Topics: {}\n", topics.join(", "));
    }
    match format(args) {
        // The list of commands is needed.
        Format::Text if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
        }
        Format::Text => {
            // The text quotes typed words: escape them.
            let text = rendered.strip_prefix("error: ").unwrap_or(&rendered);
            let text = format!("error[{}]: {}", code.id, escape::block(text));
            let _ = io::stderr().write_all(text.as_bytes());
        }
        structured => {
            let failure = as_error(code, &rendered);
            let printed =
                output::structured(structured, &crate::tools::failure::json_failure(&failure))
                    .and_then(|text| {
                        output::ignore_closed_pipe(io::stdout().write_all(text.as_bytes()))
                    });
            if printed.is_err() {
                let _ = io::stderr()
                    .write_all(output::failure_text(&failure, pager::note_columns()).as_bytes());
            }
        }
    }
    code.exit
}

/// The first paragraph of clap's text is the message.
fn as_error(code: &'static crate::error::Code, rendered: &str) -> Error {
    let text = rendered.strip_prefix("error: ").unwrap_or(rendered);
    let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let tip = rest.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    Error::new(code, words(message))
        .hint(tip.unwrap_or("`--help` after the command lists its flags"))
}

/// Finds the output format in arguments that clap rejected.
fn format(args: &[OsString]) -> Format {
    let mut asked = Format::Text;
    let mut words = args.iter().map(|word| word.to_string_lossy()).take_while(|word| word != "--");
    while let Some(word) = words.next() {
        let value = match word.as_ref() {
            "--json" => "json".into(),
            "--yaml" => "yaml".into(),
            "--format" => words.next().unwrap_or_default(),
            word => match word.strip_prefix("--format=") {
                Some(value) => value.to_owned().into(),
                None => continue,
            },
        };
        match value.as_ref() {
            "json" => asked = Format::Json,
            "yaml" => asked = Format::Yaml,
            _ => {}
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> Format {
        format(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_format_is_found_without_clap() {
        assert_eq!(asked(&["aye", "list", "--json", "--wrong"]), Format::Json);
        assert_eq!(asked(&["aye", "--format", "yaml", "lst"]), Format::Yaml);
        assert_eq!(asked(&["aye", "--format=json"]), Format::Json);
        assert_eq!(asked(&["aye", "--format"]), Format::Text);
        assert_eq!(asked(&["aye", "shell", "--", "--json"]), Format::Text);
    }

    #[test]
    fn the_message_is_one_line_and_the_tip_is_the_hint() {
        let text = "error: unrecognized subcommand 'lst'\n\n  tip: a similar subcommand exists: \
                    'list'\n\nUsage: aye [OPTIONS] <COMMAND>\n";
        let error = as_error(&codes::USAGE, text);
        assert_eq!(error.message(), "unrecognized subcommand 'lst'");
        assert_eq!(error.hint_text(), Some("a similar subcommand exists: 'list'"));
    }
}
