//! Events that are not canonical, and commits that are not events (L1): the ref is left out by name.

use super::*;
use serde_json::json;

#[test]
fn an_event_in_another_spelling_is_not_an_event() {
    let scene = scene();
    let comment = Forged::comment("said").on(&[&scene.thread]);
    let (line, _) = comment.lines();
    let repo = &scene.repo;
    let said = |copy: &Scene| show(&copy.repo, &copy.id)["comments"].as_array().map_or(0, Vec::len);
    let copy = scene.copy();
    copy.fetches(&comment.write(&copy.repo));
    assert_eq!(said(&copy), 1, "the honest spelling counts");
    assert!(!finds(&copy.repo, DAMAGED));
    for (what, spelling) in [
        ("a space", line.replacen(':', ": ", 1)),
        ("a space in front", format!(" {line}")),
        ("a space behind", format!("{line} ")),
        ("a carriage return", format!("{line}\r")),
        (
            "another order",
            line.replacen("{\"actor\"", "{\"v\":2,\"actor\"", 1).replace(",\"v\":2}", "}"),
        ),
        (
            "a key twice",
            line.replacen("\"kind\":\"comment\"", "\"kind\":\"comment\",\"kind\":\"comment\"", 1),
        ),
        ("an escape that is not needed", line.replacen("said", "s\\u0061id", 1)),
        ("an escaped slash", line.replacen("said", "sa\\/id", 1)),
        ("upper-case hex", line.replacen("said", "\\u001Fsaid", 1)),
        ("an unknown key with a fraction", line.replacen("\"kind\"", "\"else\":1.0,\"kind\"", 1)),
        ("an unknown key with an exponent", line.replacen("\"kind\"", "\"else\":1e3,\"kind\"", 1)),
        ("minus nothing", line.replacen("\"kind\"", "\"else\":-0,\"kind\"", 1)),
        ("a byte order mark", format!("\u{feff}{line}")),
        ("a list", format!("[{line}]")),
        ("cut short", line[..line.len() - 1].to_owned()),
        ("more behind it", format!("{line}{{}}")),
        ("nothing", String::new()),
        ("deep", format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))),
        ("version 0", line.replacen("\"v\":2", "\"v\":0", 1)),
        ("a version in words", line.replacen("\"v\":2", "\"v\":\"2\"", 1)),
        ("a time with an offset", line.replacen("00.000Z", "00.000+00:00", 1)),
        ("a time without milliseconds", line.replacen("00.000Z", "00Z", 1)),
        ("a time that there is not", line.replacen("2026-02-01", "2026-02-31", 1)),
        ("a clone in upper case", line.replace(forger::CLONE, "0BADC0DE0BADC0DE")),
        ("a short clone", line.replace(forger::CLONE, "0bad")),
    ] {
        assert_ne!(spelling, line, "{what}");
        let tip = comment.write_lines(repo, &spelling, None);
        let copy = scene.copy();
        copy.fetches(&tip);
        assert_eq!(said(&copy), 0, "{what}");
        scene.sets_aside(&tip, what);
    }
    // Bytes that are not text.
    let bytes = line.replacen("said", "s?id", 1).replace('?', "\u{fffd}").into_bytes();
    let replaced = String::from_utf8(bytes.clone()).expect("text");
    let at = replaced.find('\u{fffd}').expect("it is there");
    let mut raw = bytes;
    raw.splice(at..at + 3, [0xff]);
    let (head, message) =
        ("author M <m@x> 1767225600 +0000\ncommitter M <m@x> 1767225600 +0000\n", "\n\nx\n");
    let tree = forger::tree(repo, "");
    let mut text = format!("tree {tree}\nparent {}\n{head}aye-event ", scene.thread).into_bytes();
    text.extend(raw);
    text.extend(message.as_bytes());
    scene.sets_aside(&forger::commit(repo, text), "not UTF-8");
}

#[test]
fn an_event_of_the_wrong_shape_is_not_an_event() {
    let scene = scene();
    let on = |forged: Forged| forged.on(&[&scene.thread]).write(&scene.repo);
    for keys in [
        json!({"actor": null}),
        json!({"actor": {"email": "m@x", "kind": "robot", "name": "M"}}),
        json!({"actor": {"kind": "human", "name": "M"}}),
        json!({"clone": null}),
        json!({"clone": 7}),
        json!({"kind": null}),
        json!({"time": null}),
        json!({"time": 7}),
        json!({"v": null}),
        json!({"v": -2}),
        json!({"data": null}),
        json!({"data": []}),
        json!({"data": {}}),
        json!({"data": {"body": 7}}),
        json!({"kind": "revise", "data": {"changes": [], "reason": 7}}),
        json!({"kind": "revise", "data": {"reason": "answer", "changes": [{"path": "../x"}]}}),
        json!({"kind": "revise", "data": {"reason": "answer", "changes": [{"path": "x", "after": {"id": "1".repeat(40), "mode": "100644"}}]}}),
        json!({"kind": "check", "data": {"command": "x"}}),
        json!({"kind": "committed", "data": {}}),
    ] {
        scene.sets_aside(&on(Forged::comment("x").keys(keys.clone())), &keys.to_string());
    }
}

#[test]
fn a_commit_that_is_not_an_event_is_left_out() {
    let scene = scene();
    let repo = &scene.repo;
    let comment = Forged::comment("x").on(&[&scene.thread]);
    let (line, _) = comment.lines();
    let header = format!("aye-event {line}\n");
    for (what, headers) in [
        ("without a header", String::new()),
        ("two events", format!("{header}{header}")),
        ("an event behind the message", format!("\nx\n\n{header}")),
        ("a header of another name", header.replacen("aye-event", "aye-events", 1)),
        ("a header in upper case", header.replacen("aye-event", "Aye-Event", 1)),
        ("a folded header", header.replacen(",\"clone\"", "\n ,\"clone\"", 1)),
    ] {
        scene.sets_aside(&comment.write_headers(repo, &headers), what);
    }
    let statements = "aye-statement {}\n".repeat(2);
    scene.sets_aside(
        &comment.write_headers(repo, &format!("{header}{statements}")),
        "two statements",
    );
    // The event is also no event where it lies in the tree.
    let entry = format!("100644 blob {}", forger::blob(repo, &line));
    let in_tree = comment.clone().entry("event.json", &entry).write_headers(repo, "");
    scene.sets_aside(&in_tree, "in the tree");
    // Objects of other kinds, and refs to nothing.
    repo.git(&["tag", "-a", "-m", "x", "hostile", "HEAD"]);
    for (what, tip) in [
        ("a blob", forger::blob(repo, "not a commit")),
        ("a tree", forger::tree(repo, "")),
        ("a tag", repo.git(&["rev-parse", "refs/tags/hostile"])),
        ("nothing", "1".repeat(40)),
        ("a commit of the project", repo.git(&["rev-parse", "HEAD"])),
        ("a missing parent", comment.clone().moved(&[&"3".repeat(40)]).write(repo)),
        ("a large event", Forged::comment(&"x".repeat(1 << 20)).on(&[&scene.thread]).write(repo)),
    ] {
        scene.sets_aside(&tip, what);
    }
    // Of another thread, alone or merged in.
    let like = Forged::propose(repo, &scene.thread, "new", "x\n", "Another").write(repo);
    scene.sets_aside(&like, "another thread");
    scene.sets_aside(&comment.clone().on(&[&scene.thread, &like]).write(repo), "a hostile merge");
    let many: Vec<String> = (0..17)
        .map(|at| Forged::comment(&at.to_string()).on(&[&scene.thread]).write(repo))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    scene.sets_aside(&comment.clone().on(&many).write(repo), "17 parents");
    // The parents are sorted, each once.
    let mut sorted = [many[0], many[1]];
    sorted.sort_unstable();
    let text = repo.git(&["cat-file", "commit", &comment.on(&sorted).write(repo)]);
    let [low, high] = sorted.map(|id| format!("parent {id}\n"));
    for parents in [format!("{high}{low}"), format!("{low}{low}{high}")] {
        let other = text.replacen(&format!("{low}{high}"), &parents, 1);
        assert_ne!(other, text);
        scene.sets_aside(&forger::commit(repo, other), "parents in another order");
    }
    let copy = scene.copy();
    copy.fetches(&Forged::comment("x").on(&many[..16]).write(&copy.repo));
    assert_eq!(show(&copy.repo, &copy.id)["comments"].as_array().map(Vec::len), Some(17));
}

/// Names below `refs/aye/remotes` that are not a clone's directory, or not a thread.
#[test]
fn refs_of_other_names_are_ignored() {
    let scene = scene();
    let comment = Forged::comment("x").on(&[&scene.thread]).write(&scene.repo);
    let write =
        |name: String| scene.repo.write(&format!(".git/refs/aye/{name}"), format!("{comment}\n"));
    let upper = scene.thread.to_uppercase();
    write(format!("remotes/origin/{}/{upper}", forger::CLONE));
    write(format!("remotes/origin/{}/{}", forger::CLONE, &scene.thread[..39]));
    write(format!("remotes/origin/not-a-clone/{}", scene.thread));
    write(format!("remotes/nobody/{}/{}", forger::CLONE, scene.thread));
    write(format!("log/{}", forger::CLONE));
    write(format!("anything/{}", scene.thread));
    write(format!("remotes/origin/{}/x/y", forger::CLONE));
    scene.is("pending");
    scene.repo.aye(&["doctor"]).ok();
    let shown = show(&scene.repo, &scene.id);
    let most = shown["comments"].as_array().map_or(0, Vec::len);
    assert!(most <= 1, "{shown:#}");
}
