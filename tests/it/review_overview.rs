//! The list of what is pending: moving in it, filtering, sorting, and groups decided at once.

use crate::support::Repo;
use crate::support::terminal::Terminal;

/// Twenty-six proposals by four agents, oldest first; nine of them by `claude`.
fn many() -> (Repo, Vec<(String, &'static str)>) {
    let files: Vec<(String, String)> =
        (0..26).map(|n| (format!("src/f{n:02}.txt"), "1\n2\n3\n".to_owned())).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let repo = Repo::with(&files);
    let agents = ["claude", "codex", "gemini", "robo"];
    let mut made = Vec::new();
    for n in 0..26_usize {
        let agent = if n < 18 && n % 2 == 0 { "claude" } else { agents[1 + n % 3] };
        let (path, why) = (format!("src/f{n:02}.txt"), format!("Say two in words {n}"));
        let args = ["propose", &path, "--old", "2\n", "--new", "two\n", "-m", &why, "-q"];
        made.push((repo.agent(agent, &args).ok().id(), agent));
    }
    (repo, made)
}

fn review(repo: &Repo, args: &[&str]) -> Terminal {
    let mut all = vec!["review"];
    all.extend(args);
    let cmd = repo.cmd(&all).env("TERM", "xterm-256color").env("PAGER", "cat").env("NO_COLOR", "1");
    Terminal::start(cmd, 40, 100)
}

fn statuses(repo: &Repo, ids: &[(String, &str)]) -> Vec<String> {
    let list = repo.aye(&["list", "--status", "all", "--json"]).ok().json();
    let all = list["proposals"].as_array().expect("a list").clone();
    let status = |id: &str| {
        let item = all.iter().find(|item| item["proposal_id"] == id).expect("it");
        item["status"].as_str().expect("a status").to_owned()
    };
    ids.iter().map(|(id, _)| status(id)).collect()
}

#[test]
fn a_group_out_of_26_is_decided_at_once() {
    let (repo, made) = many();
    let mut t = review(&repo, &[]);
    t.sees("26 pending").sees("claude  9 proposals, +9 −9").sees("robo").sees("]? ");
    t.types("A").sees("by claude").sees("]? ").types("y");
    t.sees("applied").sees("17 pending").sees("claude: 9 proposals applied").sees("]? ");
    // What is left goes on.
    t.types("/gemini\r").sees("6 of 17 pending").sees("]? ").types("R").sees("because");
    t.types("not now\r").sees("by gemini").sees("]? ").types("y");
    t.sees("rejected").sees("11 pending");
    t.sees("]? ").types("q");
    assert_eq!(t.ends(), 0);
    assert!(t.is_sane());
    for ((_, agent), status) in made.iter().zip(statuses(&repo, &made)) {
        let wanted = match *agent {
            "claude" => "applied",
            "gemini" => "rejected",
            _ => "pending",
        };
        assert_eq!(status, wanted, "{agent}");
    }
    assert_eq!(repo.text("src/f00.txt"), "1\ntwo\n3\n");
    assert_eq!(repo.text("src/f01.txt"), "1\n2\n3\n");
}

#[test]
fn the_overview_fits_on_the_screen_and_leads_anywhere() {
    let (repo, made) = many();
    let mut t = review(&repo, &[]);
    t.sees("26 pending").sees("]? ");
    let screen = t.screen();
    assert!(screen.contains("26 pending") && screen.trim_end().ends_with("]?"), "{screen}");
    t.types("7").sees("number").types("\r").sees("(7/26) prop_").sees("]? ");
    t.types("L").sees("26 pending").sees("]? ").types("99\r").sees("'99'");
    t.sees("]? ").types("/").types(&made[20].0[..12]).sees("1 of 26 pending").types("\r\r");
    t.sees("(1/1 of 26) prop_").sees(&made[20].0[5..]).sees("]? ").types("y");
    t.sees("[to apply]").sees("]? ").types("W").sees("Decided:");
    t.sees("]? ").types("y").sees("applied, 1 file");
    assert_eq!(t.ends(), 0);
    assert_eq!(statuses(&repo, &made)[20], "applied");
}

#[test]
fn enter_begins_and_what_was_begun_is_not_decided_with_its_group() {
    let repo = Repo::with(&[("a", "1\n2\n3\n"), ("b", "1\n2\n3\n"), ("c", "1\n2\n3\n")]);
    let propose = |path: &str, old: &str| {
        let args = ["propose", path, "--old", old, "--new", "new\n", "-q"];
        (repo.agent("bot", &args).ok().id(), "bot")
    };
    let two = repo.text("a").replace('1', "one").replace('3', "three");
    let args = ["propose", "a", "--content-file", "-", "-q", "-m", "both"];
    let begun = repo.cmd(&args).env("AYE_AGENT", "bot").stdin(&two).run().ok().id();
    let made = vec![(begun, "bot"), propose("b", "2\n"), propose("c", "2\n"), propose("b", "3\n")];
    // Not more than three: no overview, unless asked for.
    let mut t = review(&repo, &[&made[0].0, &made[1].0]);
    t.sees("(1/2) prop_").sees("]? ").types("q");
    assert_eq!(t.ends(), 0);
    let mut t = review(&repo, &["-U", "0"]);
    t.sees("4 pending").sees("]? ").types("\r").sees("(1/4) prop_").sees("(1/2)").sees("]? ");
    t.types("n").sees("(2/2)").sees("]? ").types("L").sees("[begun]").sees("]? ");
    t.types("A").sees("apply [").sees("]? ").types("n");
    t.sees("]? ").types("A").sees("in 2 files: apply [").sees("]? ").types("y");
    t.sees("applied").sees("1 pending").sees("]? ").types("qk");
    assert_eq!(t.ends(), 0);
    assert_eq!(statuses(&repo, &made), ["pending", "applied", "applied", "applied"]);
    assert_eq!(repo.text("b"), "1\nnew\nnew\n");
}

/// Of a group, what was not on the screen is counted as such, for each of its decisions.
#[test]
fn a_group_counts_nothing_as_seen_that_was_not_shown() {
    let repo = Repo::with(&[("a", "1\n")]);
    let long: String = (0..500).map(|n| format!("{n}\n")).collect();
    for name in ["x", "y", "z", "w"] {
        let args = ["propose", name, "--content-file", "-", "-q"];
        repo.cmd(&args).env("AYE_AGENT", "bot").stdin(&long).run().ok();
    }
    let mut t = review(&repo, &[]);
    t.sees("4 pending").sees("]? ").types("A").sees("them)");
    t.sees("]? ").types("y").sees("applied");
    t.ends();
    let shown = t.text().lines().filter(|line| line.starts_with('+')).count() as u64;
    let decided = crate::support::forger::decisions(&repo);
    let of = |key: &str| -> u64 {
        let statements = decided.iter().filter_map(|decided| decided.statement.as_ref());
        statements.map(|statement| statement[key].as_u64().expect("a number")).sum()
    };
    assert_eq!((of("lines"), of("shown")), (2000, shown));
}

#[test]
fn a_stack_is_listed_from_below_and_marked() {
    let repo =
        Repo::with(&[("a", "1\n2\n3\n"), ("b", "1\n"), (".github/workflows/x.yml", "a: 1\n")]);
    let agent = |args: &[&str]| repo.agent("bot", args).ok().id();
    let plain = agent(&["propose", "b", "--old", "1\n", "--new", "2\n", "-m", "plain", "-q"]);
    let lower = agent(&["propose", "a", "--old", "2\n", "--new", "two\n", "-m", "lower", "-q"]);
    repo.aye(&["apply", &lower, "--yes"]).ok();
    let upper = agent(&["propose", "a", "--old", "two\n", "--new", "zwei\n", "-m", "upper", "-q"]);
    repo.aye(&["undo", &lower, "--yes"]).ok();
    let risky = [
        "propose",
        ".github/workflows/x.yml",
        "--old",
        "a: 1\n",
        "--new",
        "a: 2\n",
        "-m",
        "risky",
        "-q",
    ];
    let risky = agent(&risky);
    let list = repo.aye(&["list", "--json"]).ok().json();
    let ids: Vec<&str> = list["proposals"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|item| item["proposal_id"].as_str())
        .collect();
    assert_eq!(ids, [&risky, &plain, &lower, &upper]);
    let first = repo.aye(&["list", "-n", "1", "--json"]).ok().json();
    assert_eq!(first["proposals"][0]["proposal_id"], risky.as_str());
    let text = repo.aye(&["review", "--overview"]).exits(4).out();
    assert!(text.contains(&format!("↳ {}", &lower[5..9])) && text.contains('!'), "{text}");
}

#[test]
fn a_mark_goes_with_the_proposal_that_it_was_about() {
    let files = ["a.txt", "b.txt", "c.txt"].map(|path| (path, "1\n2\n3\n"));
    let repo = Repo::with(&files);
    for (by, path, new) in [("one", "a.txt", "two"), ("two", "a.txt", "zwei")] {
        repo.agent(by, &["propose", path, "--old", "2", "--new", new, "-m", by, "-q"]).ok();
    }
    for path in ["b.txt", "c.txt"] {
        repo.agent("two", &["propose", path, "--old", "2", "--new", "two", "-m", path, "-q"]).ok();
    }
    let mut t = review(&repo, &[]);
    t.sees("4 pending").sees("⇄").sees("Enter").types("A");
    t.sees("apply [y,p,n,?]?").types("y").sees("applied, 1 file").sees("3 pending");
    t.sees("Enter");
    let screen = t.screen();
    let board = &screen[screen.rfind("3 pending").expect("the overview")..];
    assert!(!board.contains('⇄'), "{board}");
    t.types("q");
    t.ends();
}

/// At any width: the verb and the keys come last, and are what a person must read.
#[test]
fn a_question_breaks_between_words_and_shows_its_verb() {
    let repo = Repo::with(&[(".github/workflows/x.yml", "a: 1\n"), ("gone", "1\n")]);
    let task = ["--task", "T-2 of many that have a long name indeed, and one more word", "-q"];
    let edit = ["propose", ".github/workflows/x.yml", "--old", "a: 1\n", "--new", "a: 2\n"];
    repo.agent("gemini", &[&edit[..], &task].concat()).ok();
    repo.agent("gemini", &[&["propose", "gone", "--delete"][..], &task].concat()).ok();
    for columns in (60..90).step_by(3) {
        let cmd = repo.cmd(&["review", "--overview"]).env("TERM", "xterm").env("NO_COLOR", "1");
        let mut t = Terminal::start(cmd, 60, columns);
        t.sees("2 pending").sees("]? ").types("A").sees("carry").sees("]? ");
        t.shows_words("by gemini (2 of carry marks: build, deletes): apply");
        t.types("n").sees("2 pending").sees("]? ").types("\r").sees("]? ").types("c").sees("none");
        t.shows_words("Comment on line other lines; ? asks, ! suggests; Esc: none):");
        t.types("\x1b").rests().sees("]? ").types("q").ends();
    }
}

#[test]
fn a_row_with_many_marks_leaves_the_others_their_files() {
    let repo = Repo::with(&[("src/one.txt", "1\n2\n3\n"), ("src/two.txt", "1\n2\n3\n")]);
    let propose = |path: &str, why: &str| {
        let args = ["propose", path, "--old", "2\n", "--new", "two\n", "-m", why, "-q"];
        repo.agent("bot", &args).ok().id()
    };
    let id = propose("src/one.txt", "Capital b");
    let long = "line\n".repeat(100);
    let args =
        ["propose", "src/two.txt", "--content-file", "-", "-m", "Say it in many words", "-q"];
    repo.cmd(&args).env("AYE_AGENT", "bot").stdin(&long).run().ok();
    repo.aye(&["comment", &id, "--request-changes", "-m", "hm"]).ok();
    let start = |args: &[&str]| {
        let cmd = repo.cmd(args).env("TERM", "xterm").env("NO_COLOR", "1");
        let mut t = Terminal::start(cmd, 24, 80);
        t.sees("]? ");
        t
    };
    let mut t = start(&["review", &id]);
    t.types("y").sees("]? ").types("n");
    t.ends();
    repo.write("src/one.txt", "1\nzwei\n3\n");
    let mut t = start(&["review", "--overview"]);
    let rows = t.rows().join("\n");
    assert!(
        rows.lines().any(|row| row.contains("[to apply] conf") && row.ends_with('…')),
        "{rows}"
    );
    assert!(rows.contains("one.txt") && rows.contains("two.txt"), "{rows}");
    t.types("q");
    t.ends();
}

/// As `A` and `R` do.
#[test]
fn the_walk_keeps_to_what_the_filter_shows() {
    let (repo, _) = many();
    let cmd = repo.cmd(&["review"]).env("TERM", "xterm").env("NO_COLOR", "1");
    let mut t = Terminal::start(cmd, 40, 100);
    t.sees("26 pending").sees("]? ").types("/src/f1\r").sees("10 of 26 pending").sees("]? ");
    let numbers = |t: &Terminal| -> Vec<String> {
        let rows = t.rows().into_iter().filter(|row| row.contains("  src/f1"));
        rows.map(|row| row[1..].split_whitespace().next().expect("a number").to_owned()).collect()
    };
    let before = numbers(&t);
    assert_eq!(before.len(), 10, "{}", t.screen());
    t.types("\r").sees("(1/10 of 26) prop_").sees("src/f10.txt").sees("]? ").types("y");
    t.sees("(2/10 of 26)").sees("src/f12.txt").sees("]? ").types(">").sees("src/f14.txt");
    t.sees("]? ").types(">").sees("src/f16.txt").sees("]? ").types(">");
    t.sees("(5/10 of 26)").sees("src/f1").sees("]? ").types("<").sees("(4/10").sees("]? ");
    // The list has kept its numbers and its filter.
    t.types("L").sees("10 of 26 pending").sees("]? ");
    assert_eq!(numbers(&t), before);
    t.types("\x1b[F\r").sees("(10/10 of 26)").sees("]? ").types(">").sees("10 of 26 pending");
    t.sees("]? ");
    // A number that the filter hides lifts it.
    t.types("1\r").sees("(1/26)").sees("src/f00.txt").sees("]? ").types(">").sees("(2/26)");
    t.sees("src/f02.txt").sees("]? ").types("L").sees("26 pending").sees("]? ").types("q");
    t.sees("]? ").types("d");
    t.ends();
}

/// Three proposals on one file, each shown on top of the one before, and the question about them; and one
/// of another agent.
fn three_on_one_file() -> (Repo, Vec<String>, Terminal) {
    let text: String = (0..40).map(|n| format!("{n}\n")).collect();
    let repo = Repo::with(&[("n.txt", text)]);
    let propose = |n: &str| {
        let (old, new) = (format!("{n}\n"), format!("n{n}\n"));
        repo.agent("bot", &["propose", "n.txt", "--old", &old, "--new", &new, "-q"]).ok().id()
    };
    let ids = vec![propose("11"), propose("22"), propose("33")];
    repo.agent("other", &["propose", "new.txt", "--old", "", "--new", "x\n", "-q"]).ok();
    let cmd =
        repo.cmd(&["review", "--overview"]).env("TERM", "xterm-256color").env("NO_COLOR", "1");
    let mut t = Terminal::start(cmd, 60, 200);
    t.sees("4 pending").sees("]? ").types("A").sees("apply [").sees("]? ");
    (repo, ids, t)
}

#[test]
fn a_group_that_was_not_written_whole_ends_with_its_exit_status() {
    let (repo, ids, mut t) = three_on_one_file();
    repo.agent("bot", &["reject", &ids[2]]).ok();
    t.types("y")
        .sees("applied")
        .sees(&ids[2])
        .sees("back")
        .types("\r")
        .sees("1 pending")
        .sees("]? ")
        .types("q");
    assert_eq!(t.ends(), 5);
}

#[test]
fn a_member_of_a_group_that_was_not_written_is_the_cause_for_those_above_it() {
    let (repo, ids, mut t) = three_on_one_file();
    repo.agent("bot", &["reject", &ids[1]]).ok();
    t.types("y").sees("applied").sees(&ids[1]).sees(&ids[2]).sees(&ids[1]);
    t.sees("back").types("\r").sees("2 pending").sees("]? ").types("q");
    assert_eq!(t.ends(), 5);
    assert_eq!(statuses(&repo, &[(ids[2].clone(), "bot")]), ["pending"]);
}

#[test]
fn head_that_moved_is_the_cause_for_all_of_a_group() {
    let (repo, ids, mut t) = three_on_one_file();
    repo.git(&["commit", "--quiet", "--amend", "-m", "Reworded"]);
    t.types("y");
    for id in &ids {
        t.sees(id).sees("HEAD");
    }
    t.sees("back").types("\r").sees("4 pending").sees("]? ").types("q");
    assert_eq!(t.ends(), 5);
}

/// The row of the screen with the cursor.
fn cursor(t: &Terminal) -> String {
    let screen = t.screen();
    let found = screen.lines().find(|line| line.starts_with('>'));
    found.unwrap_or_else(|| panic!("no cursor in:\n{screen}")).to_owned()
}

/// Six proposals of two agents: `one` has files of 1, 3 and 5 lines, `two` of 2, 4 and 6.
fn six(rows: u16, columns: u16) -> (Repo, Terminal) {
    let repo = Repo::with(&[("x", "1\n")]);
    for n in 1..=6_usize {
        let agent = if n % 2 == 1 { "one" } else { "two" };
        let (path, why) = (format!("file{n}"), format!("{} lines 漢字 👩‍👩‍👧", 7 - n));
        let text = "text\n".repeat(7 - n);
        let args = ["propose", &path, "--content-file", "-", "-m", &why, "-q"];
        repo.cmd(&args).env("AYE_AGENT", agent).stdin(&text).run().ok();
    }
    let cmd = repo.cmd(&["review"]).env("TERM", "xterm").env("NO_COLOR", "1");
    let mut t = Terminal::start(cmd, rows, columns);
    t.sees("6 pending").sees("]? ");
    (repo, t)
}

#[test]
fn the_review_goes_on_in_the_order_of_the_list() {
    let (_repo, mut t) = six(40, 100);
    // Groups are together, and so are their numbers.
    assert!(cursor(&t).contains(" 1  "), "{}", t.screen());
    t.types("jj").sees("]? ").sees("]? ");
    assert!(cursor(&t).contains("2 lines"), "{}", t.screen());
    t.types("\x1b[B\x1b[B").sees("]? ").sees("]? ");
    assert!(cursor(&t).contains(" 4  "), "{}", t.screen());
    t.types("\r").sees("(4/6)").sees("file2").sees("]? ").types(">").sees("(5/6)").sees("file4");
    t.sees("]? ").types("L").sees("]? ");
    assert!(cursor(&t).contains("file4"), "{}", t.screen());
    // Esc goes back to the hunk.
    t.types("\x1b").rests().sees("(5/6)").sees("file4").sees("]? ").types("L").sees("]? ");
    t.types("sss").sees("smallest first, in groups").sees("]? ");
    assert!(cursor(&t).contains("file4"), "{}", t.screen());
    t.types("1\r").sees("(1/6)").sees("file6").sees("]? ").types(">").sees("(2/6)").sees("file4");
    t.sees("]? ").types("<").sees("(1/6)").sees("]? ").types("q");
    assert_eq!(t.ends(), 0);
}

#[test]
fn what_an_earlier_review_answered_is_marked_and_opens() {
    let (repo, mut t) = six(24, 80);
    t.types("\r").sees("(1/6)").sees("]? ").types("y").sees("(2/6)").sees("]? ").types("q");
    t.sees("drop").sees("]? ").types("k");
    assert_eq!(t.ends(), 0);
    let cmd = repo.cmd(&["review"]).env("TERM", "xterm").env("NO_COLOR", "1");
    let mut t = Terminal::start(cmd, 24, 80);
    t.sees("6 pending").sees("]? ");
    assert!(cursor(&t).ends_with("[to apply]"), "{}", t.screen());
    t.types("\r").sees("(1/6)").sees("]? ").types("q").sees("drop").sees("]? ").types("d");
    assert_eq!(t.ends(), 0);
}

#[test]
fn groups_close_and_the_screen_follows_the_cursor() {
    let (_repo, mut t) = six(8, 60);
    let fits = |t: &Terminal| {
        let screen = t.screen();
        assert!(screen.contains("6 pending") && screen.trim_end().ends_with("]?"), "{screen}");
        assert!(screen.contains("3 proposals"), "{screen}");
    };
    fits(&t);
    t.types("G\x1b[F").sees("'G'").sees("]? ").sees("]? ");
    fits(&t);
    assert!(cursor(&t).contains(" 6  "), "{}", t.screen());
    t.types("\x1b[D").sees("▸ two").sees("]? ");
    assert!(cursor(&t).contains("▸ two"), "{}", t.screen());
    t.types("\r").sees("▾ two").sees("]? ").types("O").sees("▸ one").sees("▸ two").sees("]? ");
    t.resize(30, 120).types("O").sees("]? ").types("?").sees("A key goes on").types("A");
    t.sees("6 pending").sees("]? ").types("\x1b").sees("q quits");
    t.sees("]? ").types("q");
    assert_eq!(t.ends(), 0);
    assert!(t.is_sane() && !t.cells().alternate_screen());
}

#[test]
fn pasted_text_decides_nothing_in_the_list() {
    let (repo, mut t) = six(24, 80);
    t.types("\x1b[200~A\ryyy\x1b[201~").sees("pasted text decides nothing").sees("]? ");
    // In the filter it is text.
    t.types("/\x1b[200~file3\ny\x1b[201~").sees("1 of 6 pending").types("\r").sees("]? ");
    t.types("\x1b").rests().sees("6 pending").sees("]? ").types("q");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.aye(&["list", "--json"]).ok().json()["count"], 6);
}

#[test]
fn the_terminal_is_given_back_however_the_list_ends() {
    let restored = |t: &mut Terminal, status: u32| {
        assert_eq!(t.ends(), status);
        assert!(t.is_sane() && !t.cells().alternate_screen(), "{:?}", t.screen());
    };
    let (_repo, mut t) = six(24, 80);
    assert!(t.cells().alternate_screen());
    t.types("\x1a").sees("6 pending").sees("]? ").types("\x03").sees("Nothing was decided");
    restored(&mut t, 130);
    let (_repo, mut t) = six(24, 80);
    t.types("?").sees("goes on").listens().resize(30, 90).types("\x04");
    restored(&mut t, 0);
    let (_repo, mut t) = six(24, 80);
    t.listens().signal(rustix::process::Signal::TERM);
    t.ends();
    assert!(t.is_sane() && !t.cells().alternate_screen());
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let (repo, t) = six(24, 80);
    drop(t);
    let mut t = Terminal::review(&repo, &[]);
    t.sees("6 pending").sees("> ").sees("]? ").types("j").sees("]? ").types("/file3\r");
    t.sees("1 of 6 pending").sees("]? ").types("?").sees("filter").sees("]? ").types("/\r");
    t.sees("6 pending").sees("]? ").types("5\r").sees("(5/6)").sees("]? ").types("q");
    assert_eq!(t.ends(), 0);
    assert!(!t.raw().contains(&0x1b));
}
