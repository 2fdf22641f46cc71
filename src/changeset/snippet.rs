//! Snippet edits: replace one text by another.
//!
//! The first compilation and the later match in a changed file ([`apply_all`]) use the same
//! matching.

use bstr::ByteSlice;

use super::hunks::Text;
use super::{
    Changeset, File, FileChange, Mode, Occurrence, RepoPath, Snapshot, Snippet, codes, locate,
};
use crate::error::{Error, Result};

/// Most lines in `old_content_ambiguous`.
const MOST_LINES: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnippetEdit {
    pub path: RepoPath,
    pub action: EditAction,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditAction {
    /// An empty `old` creates the file.
    Replace(Snippet),
    Write {
        content: Vec<u8>,
        /// `None` keeps the present mode (`100644` for a new file).
        mode: Option<Mode>,
    },
    Delete,
}

/// Edits of one file apply in order, each to the result of the edits before.
///
/// # Errors
/// `old_content_not_found`, `old_content_ambiguous`, `file_not_found`, `file_exists`,
/// `binary_content`, `no_change`, and errors of the snapshot.
pub fn compile(edits: Vec<SnippetEdit>, snapshot: &dyn Snapshot) -> Result<Changeset> {
    let mut changes: Vec<FileChange> = Vec::new();
    for edit in edits {
        let index = match changes.iter().position(|change| change.path == edit.path) {
            Some(index) => index,
            None => {
                let before = snapshot.file(&edit.path)?;
                changes.push(FileChange {
                    path: edit.path.clone(),
                    after: before.clone(),
                    before,
                    origin: None,
                    snippets: Vec::new(),
                });
                changes.len() - 1
            }
        };
        apply_edit(&mut changes[index], edit)?;
    }
    super::store_form(&mut changes, snapshot)?;
    Changeset::new(changes)
}

fn apply_edit(change: &mut FileChange, edit: SnippetEdit) -> Result<()> {
    // Snippets can match again only if they are all that happens to the file.
    let only_snippets =
        change.before.is_some() && (change.before == change.after || !change.snippets.is_empty());
    match edit.action {
        EditAction::Delete => {
            if change.after.take().is_none() {
                return Err(missing(&edit.path));
            }
            change.snippets.clear();
        }
        EditAction::Write { content, mode } => {
            let mode =
                mode.or(change.after.as_ref().map(|file| file.mode)).unwrap_or(Mode::Regular);
            change.after = Some(File { bytes: content, mode });
            change.snippets.clear();
        }
        EditAction::Replace(snippet) => {
            let Some(file) = &mut change.after else {
                if !snippet.old.is_empty() {
                    return Err(missing(&edit.path));
                }
                change.after = Some(File::regular(snippet.new));
                return Ok(());
            };
            let (bytes, exact) = replace(&edit.path, file, &snippet)?;
            file.bytes = bytes;
            if only_snippets && !exact.old.is_empty() {
                change.snippets.push(exact);
            } else {
                change.snippets.clear();
            }
        }
    }
    Ok(())
}

fn missing(path: &RepoPath) -> Error {
    Error::new(&codes::FILE_NOT_FOUND, format!("no file '{}'", path.display()))
        .with("path", path.display().to_string())
        .hint("check the path (relative to the repository's top); to create a file leave the old content empty")
}

/// Applies `snippets` in order, as [`compile`] did at first.
///
/// # Errors
/// `old_content_not_found`, `old_content_ambiguous`, `binary_content`.
pub fn apply_all(path: &RepoPath, file: &File, snippets: &[Snippet]) -> Result<File> {
    let mut file = file.clone();
    for snippet in snippets {
        file.bytes = replace(path, &file, snippet)?.0;
    }
    Ok(file)
}

/// Also returns the snippet with the file's line endings.
fn replace(path: &RepoPath, file: &File, snippet: &Snippet) -> Result<(Vec<u8>, Snippet)> {
    let text = &file.bytes;
    if snippet.old.is_empty() {
        if text.is_empty() {
            return Ok((snippet.new.clone(), snippet.clone()));
        }
        return Err(Error::new(
            &codes::FILE_EXISTS,
            format!("'{}' exists and the old content is empty", path.display()),
        )
        .with("path", path.display().to_string())
        .hint("give the old content to replace, or the whole new one as \"content\""));
    }
    if file.is_binary() {
        return Err(Error::new(
            &codes::NOT_TEXT,
            format!("'{}' is binary; text cannot be matched in it", path.display()),
        )
        .with("path", path.display().to_string())
        .hint("give the whole new content as \"content\""));
    }
    let mut snippet = snippet.clone();
    let mut starts = matches(text, &snippet.old);
    if starts.is_empty()
        && let Some(converted) = with_endings_of(text, &snippet)
    {
        starts = matches(text, &converted.old);
        snippet = converted;
    }
    // Part of a line matches with any line ending.
    if snippet.new.contains(&b'\n') && !snippet.old.contains(&b'\n') && has_crlf_alone(text) {
        snippet.new = crlf(&snippet.new);
    }
    let chosen: Vec<usize> = match snippet.occurrence {
        _ if starts.is_empty() => return Err(not_found(path, text, &snippet.old)),
        Occurrence::Unique if starts.len() > 1 => return Err(ambiguous(path, text, &starts)),
        Occurrence::Unique => starts,
        Occurrence::Nth(n) => match starts.get((n as usize).wrapping_sub(1)) {
            Some(start) => vec![*start],
            None => {
                return Err(ambiguous(path, text, &starts)
                    .hint(format!("the occurrence is 1 to {}, or all", starts.len())));
            }
        },
        Occurrence::All => text.find_iter(&snippet.old).collect(),
    };
    let mut out = Vec::with_capacity(text.len() + snippet.new.len());
    let mut end = 0;
    for start in chosen {
        out.extend_from_slice(&text[end..start]);
        out.extend_from_slice(&snippet.new);
        end = start + snippet.old.len();
    }
    out.extend_from_slice(&text[end..]);
    Ok((out, snippet))
}

fn matches(text: &[u8], old: &[u8]) -> Vec<usize> {
    let finder = bstr::Finder::new(old);
    let mut starts = Vec::new();
    let mut from = 0;
    while from + old.len() <= text.len()
        && let Some(at) = finder.find(&text[from..])
    {
        starts.push(from + at);
        // Overlaps count (`aa` is in `aaa` twice), but a long run of them must not cost a quadratic
        // search.
        from += at + if starts.len() < MOST_LINES { 1 } else { old.len() };
    }
    starts
}

/// Adopts the file's line endings: the caller may have LF for CRLF, or CRLF for LF (git may store
/// LF, and the caller reads the work tree).
fn with_endings_of(text: &[u8], snippet: &Snippet) -> Option<Snippet> {
    let convert: &dyn Fn(&[u8]) -> Vec<u8> =
        match (snippet.old.contains_str("\r\n"), text.contains_str("\r\n")) {
            (true, false) => &lf,
            (false, true) if snippet.old.contains(&b'\n') => &crlf,
            _ => return None,
        };
    Some(Snippet {
        old: convert(&snippet.old),
        new: convert(&snippet.new),
        occurrence: snippet.occurrence,
    })
}

fn lf(bytes: &[u8]) -> Vec<u8> {
    bytes.replace("\r\n", "\n")
}

fn crlf(bytes: &[u8]) -> Vec<u8> {
    lf(bytes).replace("\n", "\r\n")
}

fn has_crlf_alone(text: &[u8]) -> bool {
    let mut ends = text.find_iter("\n").peekable();
    ends.peek().is_some() && ends.all(|at| at > 0 && text[at - 1] == b'\r')
}

fn line_of(text: &[u8], at: usize) -> usize {
    text[..at].iter().filter(|b| **b == b'\n').count() + 1
}

fn ambiguous(path: &RepoPath, text: &[u8], starts: &[usize]) -> Error {
    let lines: Vec<usize> = starts.iter().take(MOST_LINES).map(|at| line_of(text, *at)).collect();
    let listed: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let more = if starts.len() > lines.len() { ", …" } else { "" };
    Error::new(
        &codes::OLD_CONTENT_AMBIGUOUS,
        format!(
            "the old content is in '{}' {} times, at lines {}{more}",
            path.display(),
            starts.len(),
            listed.join(", ")
        ),
    )
    .with("path", path.display().to_string())
    .with("lines", lines)
    .hint(format!(
        "include more of the surrounding lines, or choose an occurrence: 1 to {}, or all",
        starts.len()
    ))
}

fn not_found(path: &RepoPath, bytes: &[u8], old: &[u8]) -> Error {
    let error = Error::new(
        &codes::OLD_CONTENT_NOT_FOUND,
        format!("the old content is not in '{}'", path.display()),
    )
    .with("path", path.display().to_string());
    if old.contains_str("\\n") && bytes.contains_str(old.replace("\\n", "\n")) {
        return error
            .hint("the old content has a backslash and an n for each line feed; send line feeds");
    }
    let (text, pattern) = (Text::new(bytes), old.lines_with_terminator().collect::<Vec<_>>());
    let Some(near) = locate::closest(&text, &pattern, 0) else {
        let hint = "read the file again; nothing in it resembles the old content";
        return name_encoding(error, bytes, hint.to_owned());
    };
    let at = near.start + near.differs;
    let expected = shown(pattern[near.differs]);
    let found = shown(if at < text.len() { text.line(at) } else { b"" });
    let hint = format!(
        "closest place: line {}; first difference at line {}\nexpected: {expected}\nfound:    {found}\n\
         read the file again and give the old content exactly as it is there",
        near.start + 1,
        at + 1
    );
    let error = error
        .with("closest_line", near.start + 1)
        .with("differs_at_line", at + 1)
        .with("expected", expected)
        .with("found", found);
    name_encoding(error, bytes, hint)
}

/// Adds to `hint` where the file is not UTF-8: its text may be there in another encoding.
fn name_encoding(error: Error, text: &[u8], hint: String) -> Error {
    let Err(invalid) = text.to_str() else { return error.hint(hint) };
    let line = line_of(text, invalid.valid_up_to());
    error.with("not_utf8_at_line", line).hint(format!(
        "{hint}\nthe file is not UTF-8 (line {line}): give its bytes, by --old-file or {{\"base64\": \"…\"}}"
    ))
}

/// At most 200 characters, whitespace made visible.
fn shown(line: &[u8]) -> String {
    let text = line.strip_suffix(b"\n").unwrap_or(line).to_str_lossy();
    let mut out: String = text.chars().take(200).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    format!("{out:?}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn path() -> RepoPath {
        RepoPath::new("f.txt").unwrap()
    }

    fn with(content: &str) -> BTreeMap<RepoPath, File> {
        BTreeMap::from([(path(), File::regular(content))])
    }

    fn snippet(old: &str, new: &str) -> Snippet {
        Snippet { old: old.into(), new: new.into(), occurrence: Occurrence::Unique }
    }

    fn edit(old: &str, new: &str) -> SnippetEdit {
        SnippetEdit { path: path(), action: EditAction::Replace(snippet(old, new)) }
    }

    fn result(content: &str, edits: Vec<SnippetEdit>) -> Result<String> {
        let set = compile(edits, &with(content))?;
        Ok(String::from_utf8(set.changes()[0].after.clone().unwrap().bytes).unwrap())
    }

    #[test]
    fn a_unique_match_is_replaced() {
        assert_eq!(result("a\nb\nc\n", vec![edit("b", "B")]).unwrap(), "a\nB\nc\n");
    }

    #[test]
    fn edits_of_one_file_apply_in_order() {
        assert_eq!(result("a b", vec![edit("a", "x"), edit("x b", "y")]).unwrap(), "y");
    }

    #[test]
    fn two_matches_are_refused_with_their_lines() {
        let error = result("a\nb\na\n", vec![edit("a", "x")]).unwrap_err();
        assert!(error.is(&codes::OLD_CONTENT_AMBIGUOUS));
        assert!(error.message().contains("lines 1, 3"), "{error}");
        let overlapping = result("aaa", vec![edit("aa", "x")]).unwrap_err();
        assert!(overlapping.is(&codes::OLD_CONTENT_AMBIGUOUS));
    }

    #[test]
    fn an_occurrence_chooses() {
        let choose = |occurrence| {
            let snippet = Snippet { occurrence, ..snippet("a", "x") };
            result(
                "a a a",
                vec![SnippetEdit { path: path(), action: EditAction::Replace(snippet) }],
            )
        };
        assert_eq!(choose(Occurrence::Nth(2)).unwrap(), "a x a");
        assert_eq!(choose(Occurrence::All).unwrap(), "x x x");
        assert!(choose(Occurrence::Nth(4)).unwrap_err().is(&codes::OLD_CONTENT_AMBIGUOUS));
        assert!(choose(Occurrence::Nth(0)).is_err());
    }

    #[test]
    fn a_near_miss_names_the_line_that_differs() {
        let error = result("one\ntwo\nthree\n", vec![edit("one\ntwo \nthree", "x")]).unwrap_err();
        assert!(error.is(&codes::OLD_CONTENT_NOT_FOUND));
        let hint = error.hint_text().unwrap();
        assert!(hint.contains("first difference at line 2"), "{hint}");
        assert!(hint.contains("\"two \""), "{hint}");
    }

    #[test]
    fn lines_beside_part_of_a_line_end_as_those_of_the_file() {
        let beside = |text: &str| result(text, vec![edit("b", "b\nnew")]).unwrap();
        assert_eq!(beside("a\r\nb\r\nc\r\n"), "a\r\nb\r\nnew\r\nc\r\n");
        assert_eq!(beside("a\r\nb"), "a\r\nb\r\nnew");
        // Mixed endings decide nothing, and CRLF in the replacement stays.
        assert_eq!(beside("a\nb\r\nc\r\n"), "a\nb\nnew\r\nc\r\n");
        assert_eq!(beside("a\nb\nc\n"), "a\nb\nnew\nc\n");
        assert_eq!(beside("b"), "b\nnew");
        let crlf = vec![edit("b", "b\r\nnew")];
        assert_eq!(result("a\r\nb\r\n", crlf).unwrap(), "a\r\nb\r\nnew\r\n");
    }

    #[test]
    fn lf_snippets_fit_crlf_files() {
        assert_eq!(
            result("a\r\nb\r\nc\r\n", vec![edit("a\nb\n", "a\nx\ny\n")]).unwrap(),
            "a\r\nx\r\ny\r\nc\r\n"
        );
    }

    #[test]
    fn new_files_need_an_empty_old_content_and_no_file() {
        let none = BTreeMap::new();
        let set = compile(vec![edit("", "new\n")], &none).unwrap();
        assert_eq!(set.changes()[0].before, None);
        assert!(result("x", vec![edit("", "y")]).unwrap_err().is(&codes::FILE_EXISTS));
        assert!(compile(vec![edit("x", "y")], &none).unwrap_err().is(&codes::FILE_NOT_FOUND));
    }

    #[test]
    fn binary_files_are_not_matched_as_text() {
        assert!(result("a\0b", vec![edit("a", "b")]).unwrap_err().is(&codes::NOT_TEXT));
    }

    #[test]
    fn nothing_to_do_is_said() {
        assert!(result("a", vec![edit("a", "a")]).unwrap_err().is(&codes::NO_CHANGE));
    }

    proptest! {
        #[test]
        fn matching_agrees_with_a_naive_search(text in "[ab\n]{0,40}", old in "[ab\n]{1,4}", new in "[abc]{0,3}") {
            let naive: Vec<usize> = (0..text.len()).filter(|i| text[*i..].starts_with(&old)).collect();
            let outcome = result(&text, vec![edit(&old, &new)]);
            match naive.len() {
                0 => prop_assert!(outcome.is_err()),
                1 if old == new => prop_assert!(outcome.unwrap_err().is(&codes::NO_CHANGE)),
                1 => prop_assert_eq!(outcome.unwrap(), text.replacen(&old, &new, 1)),
                _ => prop_assert!(outcome.unwrap_err().is(&codes::OLD_CONTENT_AMBIGUOUS)),
            }
        }

        #[test]
        fn what_matched_once_matches_again(text in "[a-d\n]{0,60}", old in "[a-d\n]{1,6}", new in "[x-z]{1,3}") {
            if let Ok(set) = compile(vec![edit(&old, &new)], &with(&text)) {
                let change = &set.changes()[0];
                let again = apply_all(&path(), change.before.as_ref().unwrap(), &change.snippets).unwrap();
                prop_assert_eq!(Some(again), change.after.clone());
            }
        }

        #[test]
        fn diagnosis_never_panics(text in ".{0,80}", old in ".{1,40}") {
            let _ = result(&text, vec![edit(&old, "x")]);
        }
    }
}
