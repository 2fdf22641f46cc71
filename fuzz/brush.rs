//! `brush-parser` as a second opinion: whatever our parser accepts, it must read as the same
//! argument lists, connected in the same way.

use aye::shell::syntax::{self, Link, Piece, Redirect};
use brush_parser::ast;
use brush_parser::word::{self, Parameter, ParameterExpr, WordPiece};
use brush_parser::{ParserOptions, SourceInfo};

/// A character of a word, or a variable; and whether it is quoted.
#[derive(Debug, PartialEq)]
enum Unit {
    Char(char, bool),
    Variable(String, bool),
}

/// One pipeline: how it hangs on the one before, `!`, and what it connects.
#[derive(Debug, PartialEq)]
struct Pipeline {
    link: Link,
    negated: bool,
    parts: Vec<Part>,
}

/// A command with its words, or a compound command with its variable, the words that it stands
/// for, and its body; and redirections.
#[derive(Debug, PartialEq)]
enum Part {
    Command(Vec<Vec<Unit>>, Vec<String>),
    Compound(Option<(String, Vec<Vec<Unit>>)>, Vec<Pipeline>, Vec<String>),
}

/// Panics if `text` is accepted and means something else to `brush-parser`.
pub fn agree(text: &str) {
    let Ok(script) = syntax::parse(text) else { return };
    // A continued line inside quotes: brush keeps it for the expansion to remove.
    if text.contains("\\\n") {
        return;
    }
    let ours: Vec<Pipeline> = script.pipelines.iter().map(own).collect();
    let program = parse(text).unwrap_or_else(|error| panic!("{text:?}: brush says {error}"));
    let theirs = other(&program);
    assert_eq!(ours, theirs, "{text:?}");
}

fn options() -> ParserOptions {
    ParserOptions {
        enable_extended_globbing: false,
        posix_mode: false,
        sh_mode: false,
        tilde_expansion: true,
    }
}

fn parse(text: &str) -> Result<ast::Program, String> {
    let reader = std::io::BufReader::new(text.as_bytes());
    brush_parser::Parser::new(reader, &options(), &SourceInfo::default())
        .parse_program()
        .map_err(|e| e.to_string())
}

fn own(pipeline: &syntax::Pipeline<'_>) -> Pipeline {
    let parts = pipeline.parts.iter().map(|part| match part {
        syntax::Part::Command(command) => Part::Command(
            command.assignments.iter().chain(&command.words).map(units).collect(),
            command.redirects.iter().map(redirect).collect(),
        ),
        syntax::Part::Compound(compound) => Part::Compound(
            compound
                .each
                .as_ref()
                .map(|each| (each.name.to_owned(), each.words.iter().map(units).collect())),
            compound.body.pipelines.iter().map(own).collect(),
            compound.redirects.iter().map(redirect).collect(),
        ),
    });
    Pipeline { link: pipeline.link, negated: pipeline.negated, parts: parts.collect() }
}

fn redirect(redirect: &Redirect<'_>) -> String {
    match redirect {
        Redirect::OutNull => ">/dev/null".to_owned(),
        Redirect::ErrNull => "2>/dev/null".to_owned(),
        Redirect::BothNull => "&>/dev/null".to_owned(),
        Redirect::ErrToOut => "2>&1".to_owned(),
        Redirect::OutToErr => ">&2".to_owned(),
        Redirect::Input(word) => format!("<{:?}", units(word)),
    }
}

fn units(word: &syntax::Word<'_>) -> Vec<Unit> {
    let mut units = Vec::new();
    for piece in &word.pieces {
        match piece {
            Piece::Plain(text) => units.extend(text.chars().map(|c| Unit::Char(c, false))),
            Piece::Quoted(text) => units.extend(text.chars().map(|c| Unit::Char(c, true))),
            Piece::Variable { name, quoted } => {
                units.push(Unit::Variable(name.name().into(), *quoted));
            }
        }
    }
    // A dollar sign that starts nothing is itself, quoted or not.
    for unit in &mut units {
        if let Unit::Char('$', quoted) = unit {
            *quoted = true;
        }
    }
    units
}

fn other(program: &ast::Program) -> Vec<Pipeline> {
    program.complete_commands.iter().flat_map(their_list).collect()
}

fn their_list(ast::CompoundList(items): &ast::CompoundList) -> Vec<Pipeline> {
    let mut pipelines = Vec::new();
    for ast::CompoundListItem(list, separator) in items {
        assert!(
            matches!(separator, ast::SeparatorOperator::Sequence),
            "a command in the background"
        );
        pipelines.push(their_pipeline(Link::Always, &list.first));
        for next in &list.additional {
            pipelines.push(match next {
                ast::AndOr::And(pipeline) => their_pipeline(Link::IfOk, pipeline),
                ast::AndOr::Or(pipeline) => their_pipeline(Link::IfFailed, pipeline),
            });
        }
    }
    pipelines
}

fn their_pipeline(link: Link, pipeline: &ast::Pipeline) -> Pipeline {
    assert!(pipeline.timed.is_none(), "timed");
    let parts = pipeline.seq.iter().map(|command| match command {
        ast::Command::Simple(simple) => their_command(simple),
        ast::Command::Compound(compound, redirects) => {
            let (each, body) = match compound {
                ast::CompoundCommand::Subshell(subshell) => (None, &subshell.0),
                ast::CompoundCommand::ForClause(each) => {
                    // `in` without words; a loop without `in` is refused.
                    let words = each.values.iter().flatten();
                    let words = words.map(|word| their_units(&word.value)).collect();
                    (Some((each.variable_name.clone(), words)), &each.body.0)
                }
                other => panic!("neither a subshell nor a loop: {other:?}"),
            };
            let redirects = redirects.iter().flat_map(|redirects| &redirects.0);
            Part::Compound(each, their_list(body), redirects.map(their_redirect).collect())
        }
        _ => panic!("not a simple command"),
    });
    Pipeline { link, negated: pipeline.bang, parts: parts.collect() }
}

fn their_command(simple: &ast::SimpleCommand) -> Part {
    let mut words = Vec::new();
    let mut redirects = Vec::new();
    for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                redirects.push(their_redirect(redirect));
            }
            ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                words.push(their_units(&word.value));
            }
            other => panic!("before the command: {other}"),
        }
    }
    words.extend(simple.word_or_name.iter().map(|word| their_units(&word.value)));
    for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                redirects.push(their_redirect(redirect));
            }
            ast::CommandPrefixOrSuffixItem::Word(word)
            | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                words.push(their_units(&word.value));
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => {
                panic!("process substitution");
            }
        }
    }
    Part::Command(words, redirects)
}

fn their_redirect(redirect: &ast::IoRedirect) -> String {
    use ast::{IoFileRedirectKind as Kind, IoFileRedirectTarget as Target};
    let plain = |word: &ast::Word| -> String {
        let units = their_units(&word.value).into_iter();
        let chars = units.map(|unit| match unit {
            Unit::Char(c, _) => c,
            Unit::Variable(..) => panic!("a variable in a redirection"),
        });
        chars.collect()
    };
    match redirect {
        ast::IoRedirect::File(fd, Kind::Read, Target::Filename(word)) => {
            assert!(fd.is_none_or(|fd| fd == 0));
            format!("<{:?}", their_units(&word.value))
        }
        ast::IoRedirect::File(fd, Kind::Write, Target::Filename(word)) => {
            let fd = if *fd == Some(2) { "2" } else { "" };
            format!("{fd}>{}", plain(word))
        }
        ast::IoRedirect::File(fd, Kind::DuplicateOutput, target) => {
            let fd = if *fd == Some(2) { "2" } else { "" };
            let target = match target {
                Target::Fd(fd) => fd.to_string(),
                Target::Duplicate(word) | Target::Filename(word) => plain(word),
                Target::ProcessSubstitution(..) => panic!("process substitution"),
            };
            format!("{fd}>&{target}")
        }
        ast::IoRedirect::OutputAndError(word, false) => format!("&>{}", plain(word)),
        other => panic!("{other}"),
    }
}

fn their_units(text: &str) -> Vec<Unit> {
    let pieces = word::parse(text, &options())
        .unwrap_or_else(|error| panic!("brush cannot read the word {text:?}: {error}"));
    let mut units = Vec::new();
    for piece in pieces {
        add(&piece.piece, false, &mut units);
    }
    for unit in &mut units {
        if let Unit::Char('$', quoted) = unit {
            *quoted = true;
        }
    }
    units
}

fn add(piece: &WordPiece, quoted: bool, units: &mut Vec<Unit>) {
    match piece {
        WordPiece::Text(text) => units.extend(text.chars().map(|c| Unit::Char(c, quoted))),
        WordPiece::SingleQuotedText(text) => {
            units.extend(text.chars().map(|c| Unit::Char(c, true)));
        }
        WordPiece::DoubleQuotedSequence(pieces) => {
            for piece in pieces {
                add(&piece.piece, true, units);
            }
        }
        WordPiece::EscapeSequence(text) => {
            units.extend(text.chars().skip(1).map(|c| Unit::Char(c, true)));
        }
        WordPiece::ParameterExpansion(ParameterExpr::Parameter {
            parameter: Parameter::Named(name),
            ..
        }) => units.push(Unit::Variable(name.clone(), quoted)),
        other => panic!("an expansion: {other:?}"),
    }
}
