//! `aye review` at a terminal: the real binary in a pseudo-terminal, key by key.

use crate::support::record::rewrite;
use crate::support::terminal::Terminal;
use crate::support::{Cmd, Repo};

/// Forty numbered lines, some replaced.
fn lines(edit: impl Fn(usize) -> Option<String>) -> String {
    (0..40).map(|n| edit(n).unwrap_or(format!("line {n}\n"))).collect()
}

fn changed(at: &[usize]) -> String {
    lines(|n| at.contains(&n).then(|| format!("changed {n}\n")))
}

/// A repository with one file, and a proposal that changes lines 5, 20 and 35 of it.
fn three_hunks() -> (Repo, String) {
    let repo = Repo::with(&[("a.txt", lines(|_| None))]);
    let id = rewrite(&repo, "a.txt", &changed(&[5, 20, 35]), "Change three lines");
    (repo, id)
}

fn command(repo: &Repo, args: &[&str]) -> Cmd {
    repo.cmd(args).env("TERM", "xterm-256color").env("PAGER", "cat")
}

fn review(repo: &Repo, args: &[&str]) -> Terminal {
    let mut all = vec!["review"];
    all.extend(args);
    Terminal::start(command(repo, &all), 30, 100)
}

/// A review whose editor runs the command `text` on the file `$1`.
fn editing(repo: &Repo, text: &str) -> Terminal {
    let cmd = command(repo, &["review"]).env("GIT_EDITOR", repo.editor(text));
    Terminal::start(cmd, 30, 100)
}

#[test]
fn hunks_are_taken_and_left_and_nothing_is_written_before_the_confirmation() {
    let (repo, id) = three_hunks();
    let before = repo.snapshot();
    let mut t = review(&repo, &[]);
    t.sees("(1/1)").sees("codex").sees("base: clean").sees("+3 −3 in 1 file");
    t.sees("Change").sees("changed 5").sees("(1/3)");
    t.types("y").sees("changed 20").sees("(2/3)");
    t.types("n").sees("changed 35").sees("(3/3)");
    t.types("y").sees("Decided:").sees("apply 2 of 3 hunks (+2 −2)");
    t.sees("Write");
    assert_eq!(repo.snapshot(), before);
    t.types("y").sees("partially");
    assert_eq!(t.ends(), 0);
    assert!(t.is_sane());
    assert_eq!(repo.text("a.txt"), changed(&[5, 35]));
    let shown = repo.item(&id);
    assert_eq!(shown["status"], "applied");
    assert_eq!(shown["revisions"], 2);
}

#[test]
fn enter_and_escape_decide_nothing_anywhere() {
    let (repo, id) = three_hunks();
    let mut t = review(&repo, &[]);
    t.sees("(1/3)").types("\r\n\r").types("\u{1b}").rests().types("z").sees("'z'");
    t.sees("(1/3)").types("A").sees("Write").types("\r\n").types("\u{1b}");
    t.rests().types("qk").sees("kept");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.item(&id)["status"], "pending");
    assert_eq!(repo.text("a.txt"), lines(|_| None));
}

#[test]
fn the_last_decision_is_undone_even_from_the_summary() {
    let (repo, _) = three_hunks();
    let mut t = review(&repo, &[]);
    t.sees("(1/3)").types("y").sees("(2/3)").types("u").sees("undone").sees("(1/3)");
    t.types("n").sees("(2/3)").types("y").sees("(3/3)").types("y").sees("Decided:");
    t.sees("[").types("u").sees("(3/3)").types("n").sees("apply 1 of 3").sees("Write").types("y");
    t.sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("a.txt"), changed(&[20]));
}

#[test]
fn quitting_keeps_what_was_decided_for_the_next_time() {
    let (repo, _) = three_hunks();
    let mut t = review(&repo, &[]);
    t.sees("(1/3)").types("n").sees("(2/3)").types("qk").sees("kept");
    assert_eq!(t.ends(), 0);
    let mut t = review(&repo, &[]);
    t.sees("earlier").sees("changed 20").sees("(2/3)").types("y");
    t.sees("(3/3)").types("y").sees("apply 2 of 3").sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("a.txt"), changed(&[20, 35]));
}

/// Decisions kept about proposals further on are part of the summary before one comes there.
#[test]
fn the_summary_has_what_was_kept_about_proposals_ahead() {
    let repo = Repo::with(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    for path in ["a.txt", "b.txt", "c.txt"] {
        rewrite(&repo, path, "new\n", path);
    }
    let mut t = review(&repo, &[]);
    t.sees("(1/3) prop_").types(">").sees("(2/3) prop_").types(">").sees("(3/3) prop_");
    t.types("R").sees("because").types("not needed\r").sees("Write").types("qk");
    t.sees("kept");
    assert_eq!(t.ends(), 0);
    let mut t = review(&repo, &[]);
    t.sees("(1/3) prop_").types("A").sees("(2/3) prop_").types("qw").sees("Decided:");
    t.sees("apply").sees("reject").sees("stays").sees("Write");
    t.types("<").sees("(1/3) prop_").types("qw").sees("Decided:").sees("Write these");
    t.types("y").sees("rejected");
    assert_eq!(t.ends(), 0);
    let count = |status: &str| {
        let list = repo.aye(&["list", "--status", status, "--json"]).ok().json();
        list["proposals"].as_array().expect("a list").len()
    };
    assert_eq!([count("applied"), count("rejected"), count("pending")], [1, 1, 1]);
}

#[test]
fn ctrl_c_and_ctrl_d_at_each_prompt_leave_the_terminal_sane_and_keep_what_was_decided() {
    for (key, end, status) in [
        ("", "\u{3}", 130),
        ("", "\u{4}", 0),
        ("c", "\u{3}", 130),
        ("R", "\u{3}", 130),
        ("x", "\u{4}", 0),
        ("g", "\u{4}", 0),
        ("/", "\u{3}", 130),
        ("A", "\u{3}", 130),
        ("A", "\u{4}", 0),
    ] {
        let (repo, id) = three_hunks();
        let mut t = review(&repo, &[]);
        t.sees("(1/3)").types("y").sees("(2/3)").sees("]?");
        if !key.is_empty() {
            t.types(key).sees(if key == "A" { "]?" } else { "Esc: " });
        }
        // Before it listens, Ctrl-C ends the process as anywhere, and says nothing.
        t.listens().types(end).sees("kept");
        assert_eq!(t.ends(), status, "{key}");
        assert!(t.is_sane(), "{key}");
        assert_eq!(repo.item(&id)["status"], "pending");
        assert_eq!(repo.text("a.txt"), lines(|_| None));
        let mut t = review(&repo, &[]);
        t.sees("earlier").sees("]?").types("qk");
        assert_eq!(t.ends(), 0);
    }
    let (repo, _) = three_hunks();
    let mut t = review(&repo, &[]);
    t.sees("(1/3)").types("y").sees("(2/3)").sees("]?");
    // The terminal goes, and with it the session.
    drop(t);
    let mut t = review(&repo, &[]);
    t.sees("earlier").sees("(2/3)").types("qk");
    assert_eq!(t.ends(), 0);
}

#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_and_fg_goes_on() {
    let (repo, _) = three_hunks();
    if std::process::Command::new("bash").arg("--version").output().is_err() {
        return;
    }
    let shell = repo.program("bash").args(&["--norc", "--noprofile", "-i"]).env("PS1", "shell: ");
    let mut t = Terminal::start(shell.env("TERM", "xterm").env("HISTFILE", ""), 30, 100);
    t.sees("shell: ").types(&format!("{} review\n", env!("CARGO_BIN_EXE_aye")));
    t.sees("(1/3)").sees("]?").listens().types("\u{1a}").sees("Stopped").sees("shell: ");
    t.types("fg\n").sees("(1/3)").sees("]?").types("y").sees("(2/3)");
    t.types("c").sees("Comment").sees("none): ").types("half").sees("half").listens();
    t.types("\u{1a}").sees("Stopped").sees("shell: ").types("fg\n");
    t.sees("none): half").types(" whole\r").sees("a.txt:21");
    t.sees("]?").types("qk").sees("kept").sees("shell: ").types("exit\n");
    assert_eq!(t.ends(), 0);
}

#[test]
fn a_proposal_of_which_nothing_is_taken_is_asked_about_on_the_last_screen() {
    let (repo, id) = three_hunks();
    let other = rewrite(&repo, "b.txt", "new\n", "A file");
    let mut t = review(&repo, &[]);
    t.sees("(1/2)").sees("]?").types(">").sees("(2/2)").sees("]?").types("n");
    t.sees(&other).sees("reject it [y,n,<,q,?]?").types("n").sees("Decided:").sees("]?");
    t.types("u")
        .sees("undone")
        .sees("]?")
        .types("n")
        .sees("reject it [")
        .types("n")
        .sees("Decided:")
        .sees("]?")
        .types("qk")
        .ends();
    let mut t = review(&repo, &[&other]);
    t.sees("[left]")
        .sees("Go back [")
        .types("<")
        .sees("[not")
        .sees("]?")
        .types("y")
        .sees("Decided:")
        .sees("]?")
        .types("<")
        .sees("[taken]");
    t.sees("]?").types("n").sees("reject it [").types("?").sees("reason").sees("reject it [");
    t.types("y").sees("because").types("no\r").sees("reason: no").sees("]?").types("y");
    t.sees("rejected");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.item(&id)["status"], "pending");
    assert_eq!(repo.item(&other)["status"], "rejected");
}

#[test]
fn a_comment_is_written_once_though_the_decision_fails() {
    let (repo, id) = three_hunks();
    let mut t = review(&repo, &[]);
    t.sees("(1/3)").types("c").sees("Comment").types("look here\r").sees("comment");
    t.sees("]?").types("A").sees("Write").sees("]?");
    repo.write("a.txt", lines(|n| (n == 5).then(|| "someone else\n".into())));
    t.types("y").sees("written").sees("hint:");
    assert_eq!(t.ends(), 5);
    let mut t = review(&repo, &[]);
    // What was to be applied does not fit any more, so that it is asked about again.
    t.sees("conflict: a.txt").sees("(1/3) Settle").types("R").sees("because");
    t.types("late\r").sees("reason: late").sees("]?").types("y").sees("rejected");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.item(&id)["comments"].as_array().unwrap().len(), 1);
}

#[test]
fn keys_typed_ahead_are_used_but_never_confirm() {
    let (repo, id) = three_hunks();
    let mut t = review(&repo, &[]);
    t.types("yyyyyyyyyyyy").sees("apply").sees("Write");
    t.types("qk").sees("kept");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.item(&id)["status"], "pending");
}

#[test]
fn a_proposal_decided_elsewhere_meanwhile_is_said_and_left_alone() {
    let (repo, id) = three_hunks();
    let other = rewrite(&repo, "b.txt", "new\n", "A file");
    let mut t = review(&repo, &[]);
    t.sees("(1/3)").types("A").sees("(2/2)");
    repo.aye(&["reject", &id, "--yes", "-m", "no"]).ok();
    t.types("y").sees(&id).sees("meanwhile").sees("Write").types("y");
    t.sees(&other).sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("a.txt"), lines(|_| None));
    assert_eq!(repo.text("b.txt"), "new\n");
}

#[test]
fn what_others_say_meanwhile_is_told_above_the_summary() {
    let (repo, id) = three_hunks();
    rewrite(&repo, "b.txt", "new\n", "A file");
    repo.aye(&["comment", &id, "-m", "seen before"]).ok();
    let mut t = review(&repo, &[]);
    t.sees("seen before").sees("(1/3)").types("A").sees("(2/2)");
    repo.aye(&["comment", &id, "--request-changes", "-m", "not like\u{1b}[1mthis"]).ok();
    t.types("y").sees("meanwhile:").sees("like\\x1b[1mthis").sees("Write");
    t.types("qk").ends();
}

#[test]
fn two_reviewers_at_once_write_it_once() {
    let (repo, id) = three_hunks();
    let (mut one, mut two) = (review(&repo, &[]), review(&repo, &[]));
    one.sees("(1/3)");
    two.sees("(1/3)");
    one.types("A").sees("Write");
    two.types("y").sees("(2/3)").types("d").sees("Write");
    one.types("y").sees("applied");
    assert_eq!(one.ends(), 0);
    two.types("y").sees("written").sees("applied");
    assert_eq!(two.ends(), 5);
    assert_eq!(repo.text("a.txt"), changed(&[5, 20, 35]));
    assert_eq!(repo.item(&id)["status"], "applied");
}

#[test]
fn an_edited_hunk_is_applied_as_it_was_shown() {
    let (repo, _) = three_hunks();
    let mut t = editing(&repo, "sed -i 's/changed 5/mine/' \"$1\"");
    t.sees("(1/3)").types("e").sees("+mine").sees("(2/3)").types("d").sees("1 edited");
    t.sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("a.txt"), lines(|n| (n == 5).then(|| "mine\n".into())));
}

#[test]
fn an_edit_is_shown_with_the_line_ends_that_will_be_written_and_paged_in_full() {
    let (repo, _) = three_hunks();
    let more = "{ cat \"$1\"; seq 1000 1200; printf end; } >\"$1.new\" && mv \"$1.new\" \"$1\"";
    let mut t = editing(&repo, more);
    t.sees("(1/3)").types("e").sees("@@ -3,").sees("shows").sees("(2/3)");
    t.types("p").sees("edited").sees("+1199").sees("+end").sees("(2/3)");
    t.types("o").sees("+1199").sees("(2/3)").types("d").sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert!(repo.text("a.txt").contains("line 8\n1000\n"));
    assert!(repo.text("a.txt").contains("1200\nend\nline 9\n"));
}

#[test]
fn an_editor_that_empties_or_loses_the_file_decides_nothing() {
    let (repo, _) = three_hunks();
    let cases = [(": >", "nothing"), ("rm", "hunk"), ("false", "error"), ("true", "unchanged")];
    for (script, said) in cases {
        // The hunk is nowhere that others may read; what a closed terminal left there goes a day later.
        let scratch = repo.path(".git/aye/edited");
        repo.write(".git/aye/edited/hunk-old/hunk.txt", "old\n");
        let old = std::fs::File::open(scratch.join("hunk-old")).unwrap();
        let day = std::time::Duration::from_hours(25);
        old.set_modified(std::time::SystemTime::now() - day).unwrap();
        let cmd = command(&repo, &["review"])
            .env("GIT_EDITOR", repo.editor(&format!("{script} \"$1\"")))
            .env("TMPDIR", repo.path("missing"));
        let mut t = Terminal::start(cmd, 30, 100);
        t.sees("(1/3)").types("e").sees(said).sees("(1/3)").types("q").sees("Nothing");
        assert_eq!(t.ends(), 0);
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0, "{script}");
    }
}

#[test]
fn pasted_text_decides_nothing_and_lines_take_it() {
    let (repo, _) = three_hunks();
    let before = repo.snapshot();
    let paste = |text: &str| format!("\u{1b}[200~{text}\u{1b}[201~");
    let mut t = review(&repo, &[]);
    t.sees("(1/3)").sees("]?").listens().types(&paste("yyy\rA\ry\r"));
    t.sees("decides").sees("(1/3)");
    t.types("R").sees("because").types(&paste("two\r\nlines\n")).sees("two  lines");
    t.types("\r").sees("reason: two  lines").sees("Write").types(&paste("y"));
    t.sees("decides").sees("Write").types("qk").sees("kept");
    assert_eq!(t.ends(), 0);
    assert!(t.is_sane());
    assert_eq!(repo.snapshot(), before);
    let raw = String::from_utf8_lossy(t.raw()).into_owned();
    assert!(raw.rfind("\u{1b}[?2004l") > raw.rfind("\u{1b}[?2004h"), "{raw:?}");
    let mut t = Terminal::start(command(&repo, &["review"]).env("TERM", "dumb"), 30, 100);
    t.sees("Write").types("qk");
    assert_eq!(t.ends(), 0);
    assert!(!t.raw().contains(&0x1b), "{}", String::from_utf8_lossy(t.raw()));
}

#[test]
fn a_signal_at_any_prompt_leaves_the_terminal_as_it_was() {
    use rustix::process::Signal;
    let prompts = [
        ("", ""),
        ("g", "Go to"),
        ("/", "Search"),
        ("c", "Comment"),
        ("R", "because"),
        ("x", "What"),
    ];
    for (key, prompt) in prompts {
        // One is handled as the next; all three where nothing is being typed.
        let signals = [Signal::TERM, Signal::HUP, Signal::INT];
        for &signal in if key.is_empty() { &signals[..] } else { &signals[..1] } {
            let (repo, _) = three_hunks();
            let mut t = review(&repo, &[]);
            t.sees("(1/3)").types("y").sees("(2/3)").sees("]?").types(key).sees(prompt).listens();
            assert!(!t.is_sane());
            t.signal(signal);
            assert_ne!(t.ends(), 0, "{key} {signal:?}");
            assert!(t.is_sane(), "{key} {signal:?}");
            let raw = String::from_utf8_lossy(t.raw()).into_owned();
            assert!(raw.rfind("\u{1b}[?2004l") > raw.rfind("\u{1b}[?2004h"), "{key} {signal:?}");
            let mut t = review(&repo, &[]);
            t.sees("earlier").sees("]?").listens().types("\u{1c}");
            t.sees("Nothing");
            assert_eq!(t.ends(), 130);
        }
    }
    let (repo, id) = three_hunks();
    let mut t = Terminal::start(command(&repo, &["apply", &id]), 24, 80);
    t.sees("[y,n,?]").listens().signal(Signal::TERM);
    assert_ne!(t.ends(), 0);
    assert!(t.is_sane());
    assert_eq!(repo.item(&id)["status"], "pending");
}

#[test]
fn rejecting_needs_a_reason_and_the_proposer_gets_it() {
    let (repo, id) = three_hunks();
    let mut t = review(&repo, &[]);
    t.sees("(1/3)").types("R").sees("because").types("\r").sees("reason");
    t.types("wrong lines\r").sees("reason: wrong lines").sees("Write").types("y").sees("rejected");
    assert_eq!(t.ends(), 0);
    let shown = repo.item(&id);
    assert_eq!(shown["status"], "rejected");
    assert!(shown.to_string().contains("wrong lines"), "{shown}");
}

#[test]
fn comments_go_back_and_a_revision_shows_what_changed_since() {
    let (repo, id) = three_hunks();
    let mut t = review(&repo, &[]);
    t.sees("(1/3)").types("y").sees("(2/3)").types("c").sees("Comment").types("why 20?\r");
    t.sees("a.txt:21;").sees("(2/3)").types("c").sees("Comment").types("23: and here?\r");
    // A line that the file does not have is asked for again.
    t.sees("a.txt:23;").sees("(2/3)").types("c").sees("Comment").types("99: no line\r");
    t.sees("40 lines").sees("Comment").types("22: a line\r");
    t.sees("a.txt:22;").sees("(2/3)").types("u").sees("undone");
    t.sees("(2/3)").types("x").sees("): ").types("not line 20\r");
    t.sees("request changes, 2 comments")
        .sees("reason: not line 20")
        .sees("Write")
        .types("y")
        .sees("sent");
    assert_eq!(t.ends(), 0);
    let shown = repo.item(&id);
    assert_eq!(shown["status"], "pending");
    assert!(shown.to_string().contains("why 20?"));
    let args = ["revise", &id, "a.txt", "--content-file", "-"];
    repo.cmd(&args).env("AYE_AGENT", "codex").stdin(changed(&[5, 35])).run().ok();
    let mut t = review(&repo, &[]);
    t.sees("revision 2").sees("why 20?").sees("revision");
    t.sees("-changed 20").sees("+line 20");
    t.sees("(1/2)").types("y").sees("(2/2)").types("y").sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("a.txt"), changed(&[5, 35]));
}

#[test]
fn what_is_left_out_can_become_a_proposal_of_its_own() {
    let (repo, id) = three_hunks();
    let mut t = review(&repo, &["--split-rest"]);
    t.sees("(1/3)").types("y").sees("(2/3)").types("d").sees("Write").types("y");
    t.sees("prop_");
    assert_eq!(t.ends(), 0);
    let mut t = review(&repo, &[]);
    t.sees(&id).sees("(1/2)").types("a").sees("Write").types("y");
    t.sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("a.txt"), changed(&[5, 20, 35]));
}

#[test]
fn every_looking_key_looks_and_decides_nothing() {
    let (repo, _) = three_hunks();
    let mut t = review(&repo, &[]);
    t.sees("(1/3)").types("j").sees("changed 20").sees("(2/3)").types("k").sees("(1/3)");
    t.types("g").sees("Esc").types("3\r").sees("changed 35").sees("(3/3)");
    t.types("/").sees("Search").types("Changed 20\r").sees("found");
    t.sees("Search").types("changed 20\r").sees("(2/3)");
    t.types("w").sees("-line 20").sees("(2/3)").types("w").sees("-line 20").sees("(2/3)");
    t.types("W").sees("[-line-]{+changed+} 20").sees("(2/3)").types("W").sees("-line 20");
    t.sees("(2/3)").types("o").sees(" line 0\n").sees(" line 39").sees("(2/3)");
    t.types("p").sees("changed").sees("+changed 35").sees("(2/3)");
    t.types("?").sees("take").sees("Esc").sees("(2/3)");
    t.types("g")
        .sees("Esc")
        .types("9\r")
        .sees("not among")
        .sees("Esc")
        .types("\u{1b}")
        .sees("(2/3)");
    t.types("q").sees("Nothing");
    assert_eq!(t.ends(), 0);
}

#[test]
fn hunks_that_share_context_are_split() {
    let repo = Repo::with(&[("b", "1\n2\n3\n4\n5\n")]);
    rewrite(&repo, "b", "1\nx\n3\ny\n5\n", "Two");
    let mut t = review(&repo, &[]);
    t.sees("(1/1) Take").types("s").sees("(1/2)").types("n").sees("(2/2)");
    t.types("y").sees("apply 1 of 2").sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("b"), "1\n2\n3\ny\n5\n");
}

#[test]
fn what_adds_a_secret_or_misleads_comes_first_and_is_marked() {
    let repo = Repo::with(&[("a.txt", "a\n"), ("old", "x\n")]);
    let plain = rewrite(&repo, "a.txt", "b\n", "Ordinary");
    let gone = repo.agent("bot", &["propose", "--delete", "old", "-m", "Away", "--json"]).ok().id();
    let hidden = rewrite(&repo, "b.txt", "a\u{202e}b\n", "Hidden");
    // In two parts, so that this file is no finding.
    let token = format!("token = \"ghp_{}\"\n", "x7Kq2mPv9RtL4wZs8YbN1cJd6FgH3aEu5TiO");
    let secret = rewrite(&repo, "c.txt", &token, "Secret");
    let run = repo.aye(&["review"]).exits(4).out();
    let heads = run.lines().filter(|line| line.starts_with("prop_"));
    let order: Vec<_> = heads.map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(order, [&hidden, &secret, &gone, &plain]);
    assert_eq!(repo.aye(&["list"]).ok().out().matches(" !\n").count(), 3);
    // A known false alarm in HEAD is none any more.
    let scan = repo.aye_stdin(&["scan", "-", "--json"], &token).json();
    let fingerprint = scan["findings"][0]["fingerprint"].as_str().expect("a fingerprint");
    repo.write(".agent-memory/scan-allow", format!("{fingerprint} an example\n"));
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "known"]);
    assert_eq!(repo.aye(&["list"]).ok().out().matches(" !\n").count(), 2);
    // A list that cannot be read exempts nothing, and hides no proposal.
    repo.write(".agent-memory/scan-allow", "not a line of it\n");
    repo.git(&["commit", "-qam", "broken"]);
    assert_eq!(repo.aye(&["list"]).ok().out().matches(" !\n").count(), 3);
}

#[test]
fn the_files_of_a_large_proposal_are_listed_and_gone_to() {
    let text = |n: usize| (0..n * 10).map(|at| format!("{at}\n")).collect::<String>();
    let repo = Repo::with(&[("a/1.txt", text(9)), ("a/2.txt", text(1)), ("b.txt", text(1))]);
    let edit = |path: &str, lines: &[&str]| {
        let mut now = repo.text(path);
        lines.iter().for_each(|line| now = now.replace(&format!("\n{line}\n"), "\nx\n"));
        repo.write(path, now);
    };
    edit("a/1.txt", &["20", "40", "60"]);
    edit("a/2.txt", &["5"]);
    edit("b.txt", &["5"]);
    let id = repo.agent("bot", &["propose", "--worktree", ".", "-m", "large", "--json"]).ok().id();
    repo.aye(&["diff", &id, "--", "a/2.txt"]).ok().says("a/2.txt").lacks("b.txt").lacks("a/1.txt");
    repo.aye(&["diff", &id, "--stat", "--", "a"])
        .ok()
        .says("a/1.txt")
        .says("2 files")
        .lacks("b.txt");
    repo.aye(&["diff", &id, "--", "."]).ok().says("b.txt").says("a/1.txt");
    repo.aye(&["diff", &id, "--", "c.txt"]).fails("invalid_argument", 6);
    repo.aye(&["diff", &id, "--", "../c.txt"]).fails("path_invalid", 6);
    let mut t = review(&repo, &[]);
    t.sees("1  a/1.txt  3 hunks, +3 −3").sees("2  a/2.txt  1 hunk, +1 −1").sees("3  b.txt");
    t.sees("(1/5)").types("J").sees("a/2.txt").sees("(4/5)").types("J").sees("(5/5)");
    t.types("J").sees("last").sees("(5/5)").types("K").sees("(4/5)");
    t.types("g").sees("> 4  a/2.txt  @@").sees("Esc").types("2\r").sees("(2/5)");
    t.types("y").sees("(3/5)").types("f").sees("a/1.txt");
    t.sees("Esc").types("b.t\r").sees("b.txt").sees("(5/5)");
    t.types("f").sees("Esc").types("a/\r").sees("several").sees("Esc");
    t.types("\u{1b}").sees("(5/5)");
    t.types("f").sees("Esc").types("1\r").sees("(1/5)").types("qk");
    assert_eq!(t.ends(), 0);
}

#[test]
fn a_thousand_hunks_are_walked_and_taken_at_once() {
    let text = |edited: bool| -> String {
        let line = |n: usize| if edited && n % 10 == 5 { "x" } else { "line" };
        (0..10_000).map(|n| format!("{} {n}\n", line(n))).collect()
    };
    let repo = Repo::with(&[("big", text(false))]);
    rewrite(&repo, "big", &text(true), "Many");
    let mut t = review(&repo, &[]);
    t.sees("(1/1000)").types("n").sees("(2/1000)").types("g").sees("Go").types("1000\r");
    t.sees("(1000/1000)").types("y").sees("(2/1000)").types("a").sees("apply 999 of 1000");
    t.sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("big"), text(true).replacen("x 5\n", "line 5\n", 1));
}

#[test]
fn a_hunk_longer_than_the_screen_says_how_much_is_missing() {
    let repo = Repo::with(&[("a", "a\n")]);
    let long: String = (0..500).map(|n| format!("new {n}\n")).collect();
    rewrite(&repo, "long", &long, "Long");
    let mut t = review(&repo, &[]);
    t.sees("… 440 ").sees("(1/1)").types("p").sees("+new 499").types("q");
    assert_eq!(t.ends(), 0);
}

#[test]
fn forty_columns_hold_what_aye_says() {
    let (repo, _) = three_hunks();
    let mut t = Terminal::start(command(&repo, &["review"]), 24, 40);
    t.sees("(1/3)").sees("]?").types("y").sees("(2/3)").sees("]?").types("A").sees("Decided:");
    t.sees("]?").types("qk");
    assert_eq!(t.ends(), 0);
    let wide = t.text();
    // The key that was typed is not what aye says: a busy machine shows it before the prompt reads.
    let said = wide.lines().map(|line| line.trim_end_matches(['q', 'k']).trim_end());
    let wide: Vec<&str> = said.filter(|line| line.chars().count() > 40).collect();
    assert_eq!(wide, [""; 0]);
}

#[test]
fn colours_are_on_at_a_terminal_and_off_on_request() {
    let (repo, _) = three_hunks();
    let mut t = review(&repo, &[]);
    t.sees("(1/3)").types("q").ends();
    assert!(String::from_utf8_lossy(t.raw()).contains("\u{1b}[48;5;22m"));
    let mut t = Terminal::start(command(&repo, &["review"]).env("NO_COLOR", "1"), 24, 80);
    t.sees("(1/3)").types("q").ends();
    assert!(!t.raw().contains(&0x1b));
}

#[test]
fn untrusted_text_never_reaches_the_terminal_raw() {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    let evil = "b\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}\u{200b}\u{9b}31m\rx  \n";
    rewrite(&repo, "a.txt", evil, "why\u{202e} not");
    let mut t = Terminal::start(command(&repo, &["review"]).env("NO_COLOR", "1"), 24, 80);
    t.sees("why\\u{202e} not").sees("+b\\x1b]0;owned\\x07").sees("\\rx··");
    t.sees("(1/1)").types("p").sees("\\x1b]0;owned").types("q");
    assert_eq!(t.ends(), 0);
    let raw = String::from_utf8_lossy(t.raw()).into_owned();
    for bad in ['\u{1b}', '\u{7}', '\u{202e}', '\u{200b}', '\u{9b}'] {
        assert!(!raw.contains(bad), "{bad:?}");
    }
}

#[test]
fn deletions_and_binaries_are_one_question_each() {
    let repo = Repo::with(&[("gone", "a\nb\n"), ("kept", "k\n")]);
    repo.aye(&["propose", "gone", "--delete", "-m", "Unused"]).ok();
    let mut t = review(&repo, &[]);
    t.sees("gone (deleted)").sees("-a").sees("Take").types("n");
    t.sees("reject it [").types("n").sees("stays").sees("]?").types("qk");
    assert_eq!(t.ends(), 0);
    let mut t = review(&repo, &[]);
    t.sees("[left]").sees("Go back [").types("<").sees("[not").sees("deletion").types("y");
    t.sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert!(!repo.exists("gone"));
}

#[test]
fn without_a_terminal_the_commands_are_named_and_the_status_is_4() {
    let (repo, id) = three_hunks();
    let run = repo.aye(&["review"]).exits(4);
    run.says(&format!("aye diff {id} --hunks")).lacks("--yes").notes("terminal_required");
    // An agent with a terminal is no person.
    let cmd = command(&repo, &["review"]).env("AYE_AGENT", "bot");
    let mut t = Terminal::start(cmd, 24, 100);
    t.sees("aye review");
    assert_eq!(t.ends(), 4);
    // Nothing pending is no failure.
    repo.aye(&["reject", &id, "--yes", "-m", "x"]).ok();
    repo.aye(&["review"]).ok();
}

#[test]
fn a_repository_cannot_name_a_program() {
    let (repo, _) = three_hunks();
    let trap = repo.outer().join("trap");
    for key in ["core.editor", "core.pager", "interactive.diffFilter", "aye.tryCommand"] {
        repo.git(&["config", key, &format!("touch {} && cat", trap.display())]);
    }
    let cmd = command(&repo, &["review"]).env("EDITOR", "true");
    let mut t = Terminal::start(cmd, 24, 80);
    t.sees("(1/3)").types("p").sees("+changed 35").sees("(1/3)").types("e").sees("unchanged");
    t.types("t").sees("'t'").types("q");
    assert_eq!(t.ends(), 0);
    assert!(!trap.exists());
}

#[test]
fn ctrl_c_ends_a_trial_and_not_the_review() {
    let (repo, _) = three_hunks();
    let own = repo.user_config(&[("aye.tryCommand", "echo started; exec sleep 600")]);
    let cmd = command(&repo, &["review"]).env("GIT_CONFIG_GLOBAL", own);
    let mut t = Terminal::start(cmd, 30, 100);
    t.sees("(1/3)").types("y").sees("(2/3)").types("t").sees("started").types("\u{3}");
    t.sees("(2/3)").types("qk").sees("kept");
    assert_eq!(t.ends(), 0);
    assert!(t.is_sane());
    assert_eq!(repo.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
}

#[test]
fn differences_go_through_the_users_own_filter() {
    let (repo, _) = three_hunks();
    let filtered = |filter: &str, keys: &str| -> String {
        let own = repo.user_config(&[("interactive.diffFilter", filter)]);
        let cmd = command(&repo, &["review"]).env("GIT_CONFIG_GLOBAL", own);
        let mut t = Terminal::start(cmd, 30, 100);
        t.sees("]?").types(keys).sees("]?").types("q").ends();
        t.text()
    };
    // The header of the file goes through, and is not shown.
    let seen = filtered("sed 's/^/F /; /diff --git/s/.*/HEAD/'", "j");
    assert!(seen.contains("F -line 5") && seen.contains("F +changed 20"), "{seen}");
    assert!(!seen.contains("HEAD") && seen.contains("\na.txt\nF @@"), "{seen}");
    // Words within lines are no difference to such a program.
    assert!(!filtered("sed 's/^/F /'", "w").contains("F [-line-]{+changed+} 5"));
    // What does not give back line for line, fails or is not there is left out.
    for bad in ["head -3", "false", "no-such-program", "printf '\\377\\n'"] {
        let seen = filtered(bad, "j");
        assert_eq!(seen.matches("interactive.diffFilter").count(), 1, "{bad}: {seen}");
        assert!(seen.contains("-line 5") && seen.contains("+changed 20"), "{bad}: {seen}");
    }
    // Without colour there is none, as in git.
    let own = repo.user_config(&[("interactive.diffFilter", "sed 's/^/F /'")]);
    let cmd = command(&repo, &["review"]).env("GIT_CONFIG_GLOBAL", own).env("NO_COLOR", "1");
    let mut t = Terminal::start(cmd, 30, 100);
    t.sees(" -line 5").sees("]?").types("q").ends();
}

#[test]
fn hunks_are_numbered_and_applied_by_command() {
    let (repo, id) = three_hunks();
    let numbered = repo.aye(&["diff", &id, "--hunks"]).ok();
    let numbered = numbered.says("(1/3) a.txt\n@@ -3,7 +3,7 @@").says("(3/3) a.txt");
    numbered.plain();
    repo.aye(&["apply", &id, "--hunks", "4", "--yes"]).fails("no_such_hunk", 6);
    repo.aye(&["apply", &id, "--hunks", "1,x", "--yes"]).fails("no_such_hunk", 6);
    repo.aye(&["apply", &id, "--hunks", "1"]).exits(4);
    repo.agent("bot", &["apply", &id, "--hunks", "1", "--yes"]).fails("human_approval_required", 4);
    assert_eq!(repo.text("a.txt"), lines(|_| None));
    let run = repo.aye(&["apply", &id, "--hunks", "1,3", "--split-rest", "--yes", "--json"]).ok();
    let json = run.json();
    assert_eq!(repo.text("a.txt"), changed(&[5, 35]));
    assert_eq!(repo.item(&id)["revisions"], 2);
    let rest = json["proposals"][0]["rest"].as_str().unwrap().to_owned();
    let item = repo.item(&rest);
    assert_eq!([&item["proposed_by"], &item["history"][0]["kind"]], ["codex", "agent"]);
    repo.agent("other", &["revise", &rest, "-m", "x"]).fails("human_approval_required", 4);
    repo.agent("codex", &["revise", &rest, "-m", "as it was"]).ok();
    repo.aye(&["apply", &repo.at_revision(&rest), "--hunks", "1-", "--yes"]).ok();
    assert_eq!(repo.item(&rest)["revisions"], 2);
    assert_eq!(repo.text("a.txt"), changed(&[5, 20, 35]));
}

#[test]
fn a_part_that_conflicts_leaves_the_proposal_as_it_was() {
    let (repo, id) = three_hunks();
    repo.write("a.txt", lines(|n| (n == 5).then(|| "someone else\n".into())));
    repo.aye(&["apply", &id, "--hunks", "1", "--yes"]).fails("conflict", 5);
    assert_eq!(repo.item(&id)["status"], "pending");
    assert_eq!(repo.item(&id)["revisions"], 1);
    // The other hunks fit still.
    repo.aye(&["apply", &id, "--hunks", "2-3", "--yes"]).ok();
    let expected = lines(|n| match n {
        5 => Some("someone else\n".into()),
        20 | 35 => Some(format!("changed {n}\n")),
        _ => None,
    });
    assert_eq!(repo.text("a.txt"), expected);
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(repo.text("a.txt"), lines(|n| (n == 5).then(|| "someone else\n".into())));
}

#[test]
fn single_questions_leave_the_cursor_where_they_found_it() {
    let (repo, id) = three_hunks();
    let mut t = Terminal::start(command(&repo, &["apply", &id]), 24, 80);
    t.sees("prop_").sees("[y,n,?]").listens().types("\u{3}").sees("nothing");
    assert_eq!(t.ends(), 130);
    assert!(t.is_sane());
    let raw = String::from_utf8_lossy(t.raw()).into_owned();
    assert!(!raw.contains("\u{1b}[?25l"), "{raw:?}");
    assert!(raw.rfind("\u{1b}[?2004l") > raw.rfind("\u{1b}[?2004h"), "{raw:?}");
    // A pasted word with a y in it is no yes.
    let mut t = Terminal::start(command(&repo, &["apply", &id]), 24, 80);
    t.sees("[y,n,?]").types("\u{1b}[200~yes, by all means\r\u{1b}[201~").sees("decides nothing");
    t.sees("[y,n,?]").rests().types("\r").sees("[y,n,?]").rests().types("n").sees("nothing");
    assert_eq!(t.ends(), 1);
    assert_eq!(repo.text("a.txt"), lines(|_| None));
    for keys in ["\u{1b}", "n", "\u{4}"] {
        let mut t = Terminal::start(command(&repo, &["apply", &id]), 24, 80);
        t.sees("[y,n,?]").listens().types(keys).sees("nothing");
        assert_eq!(t.ends(), 1, "{keys:?}");
    }
    // A dumb terminal gets no escape sequences.
    for (answer, status) in [("\u{1b}", 1), ("n", 1), ("y", 0)] {
        let cmd = command(&repo, &["apply", &id]).env("TERM", "dumb");
        let mut t = Terminal::start(cmd, 24, 80);
        t.sees("[y,n,?]").listens().types(answer);
        assert_eq!(t.ends(), status, "{answer:?}");
        assert!(!t.raw().contains(&0x1b), "{}", String::from_utf8_lossy(t.raw()));
    }
    assert_eq!(repo.text("a.txt"), changed(&[5, 20, 35]));
}
