//! What each fuzz target does with its bytes. A target is a function here, a file of three lines
//! in `fuzz_targets/`, a `[[bin]]` in `Cargo.toml`, and a line in `tests/it/fuzz_targets.rs`.

/// An event as its commit has it: read or refused; what was read is written again and read to the
/// same event, and the fold of it with itself never panics.
pub fn event(bytes: &[u8]) {
    use aye::proposal::{Data, Event};
    let Ok(event) = Event::from_line(bytes, None) else { return };
    // Of a newer version: kept, skipped by the fold, never written by this one.
    if matches!(event.data, Data::Unknown(..)) {
        return;
    }
    let Ok(written) = event.to_line() else { return };
    let again = Event::from_line(&written, None).expect("what was written can be read");
    assert_eq!(again.to_line().expect("written again"), written, "one canonical form");
}

/// The statement of a decision: refused, or the very bytes that are written for it.
pub fn statement(bytes: &[u8]) {
    use aye::proposal::statement::Statement;
    let Ok(statement) = Statement::from_line(bytes) else { return };
    assert_eq!(statement.to_line().expect("written"), bytes, "one canonical form");
}

/// A result of `aye try` from anywhere: refused, or written to one canonical form that reads the same.
pub fn try_result(bytes: &[u8]) {
    use aye::proposal::try_result::TryResult;
    let Ok(result) = TryResult::from_bytes(bytes) else { return };
    // Escapes may make the canonical form longer than what was read.
    let Ok(written) = result.to_bytes() else { return };
    assert_eq!(TryResult::from_bytes(&written).expect("what was written can be read"), result);
    let check = result.to_check().expect("a check");
    assert_eq!(check.imported.map(|imported| imported.result.len()), Some(64));
}

/// What a client sends to its hook: judged or refused by each adapter, and every refusal is JSON in its form.
pub fn client_hook(bytes: &[u8]) {
    use aye::harness::{CLIENTS, Edit, Event, HookReply, redirect};
    for client in &CLIENTS {
        for (event, _) in client.events {
            let Ok(call) = client.read(event, bytes) else { continue };
            assert!(call.directory.is_absolute() && !call.session.is_empty());
            if let Event::Edit(Edit { files, input, field }) = call.event {
                assert!(!files.is_empty());
                let to = |path: &str| Ok(format!("/t/{}", path.trim_start_matches('/')));
                let moved = redirect::redirect(&input, field, "/t", to).expect("as it was read");
                let found = redirect::paths(&moved, field).expect("as it was read");
                assert!(found.len() == files.len() && found.iter().all(|p| p.starts_with("/t/")));
            }
        }
        let answer = HookReply::Refuse(String::from_utf8_lossy(bytes).into_owned());
        let printed = client.write(client.tool_hook(), &answer);
        let value: serde_json::Value = serde_json::from_slice(&printed).expect("JSON");
        let says = match client.name {
            "gemini" => value["decision"] == "deny",
            "copilot" => value["permissionDecision"] == "deny",
            "opencode" => value["refuse"].is_string(),
            _ => value["hookSpecificOutput"]["permissionDecision"] == "deny",
        };
        assert!(says, "{value}");
    }
}

/// A line of a tool client: a request, nothing, or an error on one line.
pub fn mcp_message(bytes: &[u8]) {
    if let Err(answer) = aye::mcp::message::read(bytes) {
        assert!(answer["error"]["code"].is_i64() && !answer.to_string().contains('\n'));
    }
}

/// Settings: hooks are put in and taken out again, and nothing else changes its meaning.
pub fn settings(bytes: &[u8]) {
    use aye::harness::client;
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let client = client("claude-code").expect("a client");
    let Ok(with) = client.put(text, aye::harness::HookProgram::At("/aye"), false) else { return };
    assert_eq!(client.is_in(&with), Ok(true));
    let without = client.take(&with).expect("readable").unwrap_or_default();
    assert_eq!(client.is_in(&without), Ok(false));
}

/// A proposal id or a prefix as somebody types it.
pub fn id(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(normal) = aye::proposal::id::normalize(text) else { return };
    assert_eq!(aye::proposal::id::normalize(&normal).ok().as_deref(), Some(normal.as_str()));
}

/// A path from outside: refused, or one that stays inside the repository.
pub fn path(bytes: &[u8]) {
    let Ok(path) = aye::changeset::RepoPath::new(bytes) else { return };
    for component in path.components() {
        assert!(!component.is_empty() && component != "." && component != "..");
        assert!(!component.eq_ignore_ascii_case(b".git"));
        assert!(!component.contains(&b'/') && !component.contains(&0));
    }
    assert!(path.to_path().is_relative());
}

/// A unified diff from anywhere: read or refused, and what is read turns over and back.
pub fn unified(bytes: &[u8]) {
    let Ok(mut files) = aye::changeset::unified::parse(bytes) else { return };
    let before = format!("{files:?}");
    for _ in 0..2 {
        files.iter_mut().for_each(aye::changeset::unified::FilePatch::reverse);
    }
    assert_eq!(format!("{files:?}"), before);
    apply(bytes);
}

/// An envelope from anywhere.
pub fn envelope(bytes: &[u8]) {
    if aye::changeset::envelope::parse(bytes).is_ok() {
        apply(bytes);
    }
}

/// A patch on a few files: what comes of it starts from them, and can be printed and read again.
fn apply(bytes: &[u8]) {
    use aye::changeset::{File, RepoPath, emit, patch};
    let file = |name: &str, text: &str| {
        (RepoPath::from_tree(name).expect("a sound name"), File::regular(text))
    };
    let files: std::collections::BTreeMap<_, _> =
        [file("f", "a\nb\nc\na\nb\n"), file("x", "one\r\ntwo\r\n"), file("dir/g", "no newline")]
            .into();
    let Ok(compiled) = patch::read(bytes, &files, &patch::Options::default()) else { return };
    if compiled.already_applied {
        return;
    }
    for change in compiled.changeset.changes() {
        assert_eq!(files.get(&change.path), change.before.as_ref());
    }
    let printed = emit::git_patch(&compiled.changeset, emit::Kind::Sha1);
    // Those git applies.
    if printed.windows(16).any(|line| line == b"GIT binary patch") {
        return;
    }
    let again = patch::read(&printed, &files, &patch::Options::default()).expect("own output");
    let results = |compiled: &patch::CompiledPatch| -> Vec<_> {
        let changes = compiled.changeset.changes().iter();
        changes.map(|c| (c.path.clone(), c.after.clone())).collect()
    };
    assert_eq!(results(&again), results(&compiled));
}

/// Any bytes, cut in two at the first NUL as before and after: scanned without a panic, places
/// within the text and in order, nothing of the text repeated, the same again in the same text,
/// and nothing blocks where nothing was added.
pub fn scanner(bytes: &[u8]) {
    use aye::secrets::{AllowRegions, Options, Scanner, allow, unsafe_text};
    let cut = bytes.iter().position(|b| *b == 0).unwrap_or(0);
    let (before, after) = (&bytes[..cut], &bytes[cut..]);
    let regions = AllowRegions::Reviewed(allow::Limits::default());
    let scanner = Scanner::new(&Options { regions, ..Options::default() });
    let findings = scanner.scan(after);
    assert_eq!(findings, scanner.scan(after));
    let mut last = (1, 1);
    for finding in &findings {
        let (start, end) = ((finding.line, finding.column), (finding.end_line, finding.end_column));
        assert!(last <= start && start < end && finding.length > 0, "{finding:?}");
        assert!(allow::is_fingerprint(&finding.fingerprint), "{finding:?}");
        last = end;
    }
    let scan = scanner.scan_added(before, after);
    assert!(scan.new_findings.len() + scan.warnings.len() <= findings.len());
    assert!(scanner.scan_added(after, after).new_findings.is_empty());
    assert!(unsafe_text::check_added(after, after).is_empty());
    let lines = after.iter().filter(|b| **b == b'\n').count() + 1;
    for issue in unsafe_text::check(after) {
        assert!((1..=lines).contains(&issue.line), "{issue:?}");
        assert!(!issue.message.chars().any(aye::text::is_unsafe), "{issue:?}");
    }
    let _ = allow::regions(after, &allow::Limits::default());
    let _ = allow::list(after);
}

/// A command text of the read-only shell: refused, or each word is the same where it is read again by itself.
pub fn shell(bytes: &[u8]) {
    use aye::shell::parser;
    let Ok(source) = std::str::from_utf8(bytes) else { return };
    let Ok(read) = parser::read(source) else { return };
    let mut end = 0;
    for word in read.commands.iter().flatten() {
        assert!(word.place.start >= end && !word.place.is_empty());
        end = word.place.end;
        let alone = parser::read(&format!("x {}", &source[word.place.clone()])).expect("a word");
        assert_eq!((alone.commands.len(), alone.commands[0].len()), (1, 2), "{source:?}");
        assert_eq!(alone.commands[0][1].text, word.text, "{source:?}");
    }
    assert!(read.nulls.iter().all(|place| source.get(place.clone()).is_some()));
}

/// A memory file: it is parsed, and every edit keeps the bytes outside of it.
pub fn memory_markdown(bytes: &[u8]) {
    use aye::memory::markdown::{edit, parse};
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let document = parse(text);
    let mut at = document.start;
    for section in &document.sections {
        assert!(section.start() >= at && section.body <= section.end.max(section.body));
        assert!(section.own_end <= section.end && section.end <= text.len());
        at = section.heading_line.end;
    }
    for i in 0..document.sections.len().min(8) {
        let range = document.sections[i].range();
        let removed = edit::remove_section(&document, i);
        assert_eq!(removed, format!("{}{}", &text[..range.start], &text[range.end..]));
        let appended = edit::append_to_section(&document, i, "- x");
        assert!(appended.starts_with(text[..range.end].trim_end()));
        assert!(appended.ends_with(&text[range.end..]));
        let replaced = edit::replace_section(&document, i, "# X\n\ny\n");
        assert!(
            replaced.starts_with(&text[..range.start]) && replaced.ends_with(&text[range.end..])
        );
    }
    let _ = aye::memory::merge::merge(text, "# A\n", text);
}

/// A request of `memory.propose_update`: refused with problems, or one that can be planned; what
/// a plan leaves has no duplicate ids and never touches what is generated.
pub fn memory_request(bytes: &[u8]) {
    use aye::memory::{Request, Settings, guard, markdown, plan, provenance};
    let Ok(value) = serde_json::from_slice(bytes) else { return };
    let request = Request::read(&value);
    let store: std::collections::BTreeMap<String, Vec<u8>> = [
        ("pitfalls.md", "# P\n\n## Build\n<!-- @id: build -->\n\n- a\n\n## B\n<!-- @id: b -->\n"),
        ("local/current.main.md", "notes\n"),
    ]
    .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
    .into();
    let settings = Settings::default();
    let world = plan::PlanInputs {
        settings: &settings,
        files: &store,
        guard: &guard::ScanGuard::new(&settings, std::collections::BTreeSet::new()),
        sources: &provenance::AnySources,
        at: chrono::DateTime::UNIX_EPOCH,
        branch: Some("main"),
    };
    let Ok(plan) = plan::plan(&request, &world) else { return };
    assert!(!plan.files.contains_key("index.md"));
    for edit in plan.files.values() {
        let text = std::str::from_utf8(&edit.after).expect("a plan writes text");
        assert!(markdown::parse(text).duplicate_ids().is_empty());
    }
}
