use proptest::prelude::*;

use super::*;

fn shown(diff: &Diff<'_>, context: usize) -> String {
    let mut out = String::new();
    for hunk in diff.hunks(context) {
        out += &format!("{hunk}\n");
        for line in diff.lines(&hunk) {
            out.push(line.side.sign());
            out += &String::from_utf8_lossy(line.content());
            out += if line.is_terminated() { "\n" } else { "⏎̸\n" };
        }
    }
    out
}

fn numbered(lines: impl IntoIterator<Item = usize>) -> Vec<u8> {
    lines.into_iter().flat_map(|n| format!("{n}\n").into_bytes()).collect()
}

#[test]
fn a_change_has_context_on_both_sides() {
    let before = numbered(1..=9);
    let after = String::from_utf8(before.clone()).unwrap().replace("5\n", "five\nfünf\n");
    let diff = Diff::new(&before, after.as_bytes());
    assert_eq!(shown(&diff, 3), "@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+fünf\n 6\n 7\n 8\n");
    assert_eq!(shown(&diff, 0), "@@ -5 +5,2 @@\n-5\n+five\n+fünf\n");
    assert_eq!(diff.counts().to_string(), "+2 −1");
}

#[test]
fn new_and_deleted_content_count_from_zero() {
    assert_eq!(shown(&Diff::new(&b""[..], &b"a\nb"[..]), 3), "@@ -0,0 +1,2 @@\n+a\n+b⏎̸\n");
    assert_eq!(shown(&Diff::new(&b"a\n"[..], &b""[..]), 3), "@@ -1 +0,0 @@\n-a\n");
    assert_eq!(shown(&Diff::new(&b"a"[..], &b"a"[..]), 3), "");
}

#[test]
fn contexts_that_touch_share_a_hunk() {
    let before = numbered(0..20);
    let after = numbered((0..20).filter(|n| ![3, 10].contains(n)));
    assert_eq!(Diff::new(&before, &after).hunks(3).len(), 1);
    let after = numbered((0..20).filter(|n| ![3, 11].contains(n)));
    assert_eq!(Diff::new(&before, &after).hunks(3).len(), 2);
}

#[test]
fn carriage_returns_are_ordinary_bytes() {
    let diff = Diff::new(&b"a\rb\nc\r\n"[..], &b"a\rb\nc\n"[..]);
    assert_eq!(diff.before().len(), 2);
    assert_eq!(shown(&diff, 3), "@@ -1,2 +1,2 @@\n a\rb\n-c\r\n+c\n");
}

#[test]
fn heading_is_the_nearest_line_that_starts_with_a_letter() {
    let before = b"fn one() {\n  1\n}\nfn two() {\n  a\n  b\n  c\n  d\n}\n";
    let after = b"fn one() {\n  1\n}\nfn two() {\n  a\n  b\n  c\n  D\n}\n";
    let diff = Diff::new(&before[..], &after[..]);
    assert_eq!(diff.heading(&diff.hunks(3)[0]), Some(&b"fn two() {"[..]));
}

#[test]
fn the_parts_of_a_split_hunk_stop_at_their_neighbours() {
    let before = numbered(0..12);
    let after = numbered((0..12).filter(|n| ![4, 6].contains(n)));
    let diff = Diff::new(&before, &after);
    let hunk = &diff.hunks(3)[0];
    let parts = diff.split(hunk, 3);
    assert_eq!(
        parts.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["@@ -2,5 +2,4 @@", "@@ -6,5 +5,4 @@"]
    );
    // The line between two parts belongs to the first one.
    assert_eq!(diff.editable(&parts[0]).0, 1..6);
    assert_eq!(diff.editable(&parts[1]).0, 6..10);
}

#[test]
fn written_bytes_without_a_line_feed_do_not_join_the_next_line() {
    let diff = Diff::new(&b"a\nb\nc\n"[..], &b"a\nB\nc\n"[..]);
    let hunk = diff.hunk(0..1, 0);
    let choice = Choice::Replace { before: &(1..2), bytes: b"mine" };
    assert_eq!(compose(&diff, [(&hunk, choice)]), b"a\nmine\nc\n");
}

/// Few distinct lines, to repeat and slide; CR and non-UTF-8.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(vec!["a", "b", "  a", "}", "", "c\r", "\u{fc}"]);
    (prop::collection::vec(line, 0..24), any::<bool>()).prop_map(|(lines, terminated)| {
        let mut text = lines.join("\n").into_bytes();
        if terminated && !text.is_empty() {
            text.push(b'\n');
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn hunks_tile_the_difference(before in content(), after in content(), context in 0usize..5) {
        let diff = Diff::new(&before, &after);
        let hunks = diff.hunks(context);
        let edits: Vec<usize> = hunks.iter().flat_map(|h| h.edits.clone()).collect();
        prop_assert_eq!(edits, (0..diff.edits().len()).collect::<Vec<_>>());
        for pair in hunks.windows(2) {
            prop_assert!(pair[0].before.end < pair[1].before.start + usize::from(context > 0));
        }
        for hunk in &hunks {
            let (mut old, mut new) = (Vec::new(), Vec::new());
            for line in diff.lines(hunk) {
                if line.side != LineSide::Added { old.extend_from_slice(line.bytes); }
                if line.side != LineSide::Removed { new.extend_from_slice(line.bytes); }
            }
            prop_assert_eq!(old, diff.before().lines(hunk.before.clone()));
            prop_assert_eq!(new, diff.after().lines(hunk.after.clone()));
        }
        prop_assert_eq!(measure(Some(&before), Some(&after)).0, diff.counts());
    }

    #[test]
    fn without_whitespace_both_sides_are_whole(before in content(), after in content()) {
        let diff = Diff::new(&before, &after);
        for hunk in diff.hunks(3) {
            let (finer, part) = diff.ignoring_space(&hunk);
            let (mut old, mut new) = (Vec::new(), Vec::new());
            for line in finer.lines(&part) {
                if line.side != LineSide::Added { old.extend(without_space(line.bytes)); }
                if line.side != LineSide::Removed { new.extend_from_slice(line.bytes); }
            }
            prop_assert_eq!(old, without_space(diff.before().lines(hunk.before.clone())));
            prop_assert_eq!(new, diff.after().lines(hunk.after.clone()));
        }
    }

    #[test]
    fn around_the_one_edit_of_what_is_large_all_is_alike(before in content(), after in content()) {
        prop_assume!(before != after);
        let LineEdit { before: a, after: b } = one_edit(&before, &after);
        let (old, new) = (Text::new(&before), Text::new(&after));
        prop_assert!(a.start < a.end || b.start < b.end);
        prop_assert_eq!(old.lines(0..a.start), new.lines(0..b.start));
        prop_assert_eq!(old.lines(a.end..old.len()), new.lines(b.end..new.len()));
    }

    #[test]
    fn all_taken_is_the_second_content_and_none_the_first(
        before in content(), after in content(), context in 0usize..5,
    ) {
        let diff = Diff::new(&before, &after);
        let hunks = diff.hunks(context);
        let all = compose(&diff, hunks.iter().map(|h| (h, Choice::Take)));
        prop_assert_eq!(all, after.clone());
        prop_assert_eq!(compose(&diff, []), before.clone());
        // The same with hunks split, and with hunks "edited" into their own proposal.
        let parts: Vec<Hunk> = hunks.iter().flat_map(|h| diff.split(h, context)).collect();
        prop_assert_eq!(compose(&diff, parts.iter().map(|h| (h, Choice::Take))), after.clone());
        let ranges: Vec<_> = parts.iter().map(|h| diff.editable(h)).collect();
        let edited = parts.iter().zip(&ranges).map(|(hunk, (old, new))| {
            (hunk, Choice::Replace { before: old, bytes: diff.after().lines(new.clone()) })
        });
        prop_assert_eq!(compose(&diff, edited), after);
    }

    #[test]
    fn what_is_taken_and_what_is_left_make_the_whole(
        before in content(), after in content(), mask in any::<u32>(),
    ) {
        let diff = Diff::new(&before, &after);
        let parts: Vec<Hunk> = (0..diff.edits().len()).map(|e| diff.hunk(e..e + 1, 3)).collect();
        let chosen = |i: usize| if mask >> (i % 32) & 1 == 1 { Choice::Take } else { Choice::Leave };
        let result = compose(&diff, parts.iter().enumerate().map(|(i, h)| (h, chosen(i))));
        // An independent implementation.
        let mut lines: Vec<&[u8]> = Vec::new();
        let mut at = 0;
        for (i, edit) in diff.edits().iter().enumerate() {
            lines.extend((at..edit.before.start).map(|n| diff.before().line(n)));
            match chosen(i) {
                Choice::Take => lines.extend(edit.after.clone().map(|n| diff.after().line(n))),
                _ => lines.extend(edit.before.clone().map(|n| diff.before().line(n))),
            }
            at = edit.before.end;
        }
        lines.extend((at..diff.before().len()).map(|n| diff.before().line(n)));
        prop_assert_eq!(result, lines.concat());
    }
}
