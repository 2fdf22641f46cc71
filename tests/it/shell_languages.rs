//! The languages of `awk` and `sed` that the read-only shell allows, against slow judges of their
//! own: programs whose tokens are known, arbitrary text, and sed's own sandbox.

use std::process::Command;

use aye::shell::policy::{awk, sed};
use proptest::prelude::*;

/// Tokens of the grammar, spaces between them.
const AWK: &[&str] = &[
    "BEGIN", "END", "{", "}", "(", ")", "[", "]", ";", "\n", ",", "print", "printf", "if", "else",
    "while", "for", "in", "next", "exit", "delete", "$", "$1", "NF", "x", "a", "1", "2.5", "\"s\"",
    "/r/", "==", "=", "~", "!~", "!", "&&", "||", "+", "-", "++", "*", "%", "?", ":", "<",
    "length", "length(", "gsub(", "{print", "x}", "\"> | system\"", "/system|x>/", "# system |\n",
];

/// Accepted programs of such tokens.
const AWK_PROGRAMS: &[&str] = &[
    "/r/ , /r/ { print $1 , NF \"s\" ; n ++ } END { for ( k in a ) printf ( \"%s\" , k ) }",
    "BEGIN { x = 1 ; while ( x < 5 ) x += 2 ; print x } ! a [ $0 ] ++ && $1 !~ /r/",
    "{ if ( $1 > 2 ) { gsub( /r/ , \"s\" ) ; next } else print length , length( x ) ; exit }",
    "{ y = x ? 1 : - 2.5 / ( x % 3 ) ; delete a [ 1 , 2 ] ; for ( i = 0 ; i < NF ; i ++ ) print $ i }",
];

/// Tokens that no accepted program may have; `>` is looked at more closely.
const AWK_OUTSIDE: &[&str] = &[
    "system(", "system", "getline", "|", "|&", ">>", "@load", "@", "ENVIRON", "ARGV", "ARGC",
    "SYMTAB", "FUNCTAB", "PROCINFO", "function", "close(", "fflush", "do", "return", "nextfile",
    "f(", "`", "\\", "é", "1system(",
];

/// Addresses, commands and separators of the grammar, none of which hides another.
const SED: &[&str] = &[
    "1", "$", "/a/", "/a/,/b/", "2,5", "0~3", "!", "{", "}", ";", "\n", "p", "d", "q", "q5", "=",
    "n", "N", "g", "h", "x", "s/a/b/", "s/a/w/gp", "s|e|w|2I", "y/ab/cd/", "# w f\n", " ", ":a\n",
    "ba\n", "s/[/]/x/", "/[^/]/",
];
const SED_OUTSIDE: &[&str] = &[
    "e", "e id", "w f", "w /dev/stdout", "r f", "R f", "W f", "F", "a x", "i x", "c x", "s/a/b/e",
    "s/a/b/w f", "s/a/b/ge", "s/a/b/m", "v", "é",
];

fn tokens(
    inside: &'static [&'static str],
    outside: &'static [&'static str],
) -> impl Strategy<Value = Vec<&'static str>> {
    let token = prop_oneof![9 => prop::sample::select(inside), 1 => prop::sample::select(outside)];
    prop::collection::vec(token, 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn accepted_awk_has_no_token_outside_the_grammar(
        tokens in tokens(AWK, &[">"]),
    ) {
        let known = awk::check(&tokens.join(" ")).is_ok();
        let mut printing = false;
        for token in &tokens {
            match *token {
                "print" | "printf" | "{print" => printing = true,
                ";" | "\n" | "{" | "}" | "x}" | "# system |\n" => printing = false,
                ">" => prop_assert!(!(known && printing), "{tokens:?}"),
                _ => {}
            }
        }
    }

    #[test]
    fn one_token_outside_the_grammar_refuses_an_awk_program(
        program in prop::sample::select(AWK_PROGRAMS),
        at in any::<prop::sample::Index>(),
        outside in prop::sample::select(AWK_OUTSIDE),
    ) {
        let mut tokens: Vec<&str> = program.split(' ').collect();
        prop_assert!(awk::check(program).is_ok(), "{:?}", awk::check(program));
        tokens.insert(at.index(tokens.len() + 1), outside);
        let program = tokens.join(" ");
        prop_assert!(awk::check(&program).is_err(), "{program:?}");
    }

    #[test]
    fn accepted_sed_has_no_command_outside_the_grammar(tokens in tokens(SED, SED_OUTSIDE)) {
        let script = tokens.concat();
        // A token that another completes, as the flag in `s/a/b/` `e`, stays what it is.
        if sed::check(&script).is_ok() {
            let outside = tokens.iter().find(|token| SED_OUTSIDE.contains(token));
            prop_assert_eq!(outside, None, "{:?}", script);
        }
    }

    #[test]
    fn arbitrary_text_is_read_without_a_panic(text in "[ -~\n\té\\\\\"/\\[\\]>|]{0,60}") {
        if awk::check(&text).is_ok() {
            for word in ["system", "getline", "ENVIRON", "ARGV", "|&", "@", "`"] {
                for (at, _) in text.match_indices(word) {
                    let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..at];
                    let is_quoted = line.contains(['"', '/', '#']);
                    let is_part = line.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
                    prop_assert!(is_quoted || is_part, "{text:?}");
                }
            }
        }
        let _ = sed::check(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// GNU sed refuses to read a script that runs programs, reads or writes files.
    #[test]
    #[cfg(target_os = "linux")]
    fn accepted_sed_passes_its_own_sandbox(tokens in tokens(SED, SED_OUTSIDE), text in "[sywer/\\[\\];p ]{0,12}") {
        for script in [tokens.concat(), text] {
            if sed::check(&script).is_ok() {
                let args = ["--sandbox", "-n", "--", &script, "/dev/null"];
                let Ok(output) = Command::new("sed").args(args).output() else { continue };
                let errors = String::from_utf8_lossy(&output.stderr).into_owned();
                prop_assert!(!errors.contains("sandbox"), "{script:?}: {errors}");
            }
        }
    }
}

/// Twice the text takes twice the time: more would not come to an end here.
#[test]
fn long_programs_are_read_in_linear_time() {
    for part in ["{print $1}\n", "#", "x ", "/[a/", "s/a/b/;", "s/[[:a/", "if (a) b; ", "\\\n", "("]
    {
        let text = part.repeat(400_000 / part.len());
        let _ = (awk::check(&text), sed::check(&text));
        let _ = awk::check(&format!("{{{text}"));
    }
}
