//! What other programs keep as memory, as staged proposals.

use crate::support::Repo;

fn store() -> Repo {
    let repo = Repo::with(&[(
        "CLAUDE.md",
        "# Shop\n\nSells things.\n\n## Build\n\nRun make.\n\n## Gotchas\n\nThe cache lies.\n",
    )]);
    repo.aye(&["memory", "init"]).ok();
    repo.commit("memory");
    repo.let_flags_decide();
    repo
}

#[test]
fn sections_of_an_instruction_file_are_staged_with_their_source() {
    let repo = store();
    let before = repo.snapshot();
    let dry = repo.aye(&["memory", "import", "CLAUDE.md", "--dry-run", "--json"]).ok().json();
    assert_eq!(dry["sections"].as_array().unwrap().len(), 3);
    assert_eq!(repo.snapshot(), before);
    let answer = repo.aye(&["memory", "import", "CLAUDE.md", "--json"]).ok().json();
    assert_eq!(answer["schema"], "aye/memory-import@1");
    let sections = answer["sections"].as_array().unwrap();
    let places: Vec<(&str, &str)> = sections
        .iter()
        .map(|section| (section["path"].as_str().unwrap(), section["status"].as_str().unwrap()))
        .collect();
    assert_eq!(
        places,
        [("conventions.md", "staged"), ("conventions.md", "staged"), ("pitfalls.md", "staged")]
    );
    // Nothing is written before a person says so; twice is the same.
    assert!(!repo.text(".agent-memory/conventions.md").contains("Run make."));
    let again = repo.aye(&["memory", "import", "CLAUDE.md", "--json"]).ok().json();
    assert_eq!(again["sections"][1]["status"], "duplicate");
    for section in sections {
        let id = section["staging_id"].as_str().unwrap();
        repo.aye(&["memory", "apply", id, "--yes"]).ok();
    }
    assert!(repo.text(".agent-memory/conventions.md").contains("## Build"));
    assert!(repo.text(".agent-memory/pitfalls.md").contains("The cache lies."));
    repo.aye(&["memory", "log", "conventions.md"]).ok().says("from: file CLAUDE.md");
    repo.aye(&["memory", "search", "make"]).ok().says("conventions.md#build");
}

#[test]
fn what_a_section_begins_with_stays_as_it_is_indented() {
    let repo = store();
    let code = "    # Full build\n    make run\n\nThen:\n\n```html\n<!-- @id: kept -->\n```\n";
    repo.write("AGENTS.md", format!("# Notes\n\n## Run it\n<!-- @id: theirs -->\n\n\n{code}\n\n"));
    let answer = repo.aye(&["memory", "import", "AGENTS.md", "--json"]).ok().json();
    let id = answer["sections"][0]["staging_id"].as_str().expect("staged");
    repo.aye(&["memory", "apply", id, "--yes"]).ok();
    let page = repo.text(".agent-memory/conventions.md");
    assert!(page.contains(&format!("\n\n{code}")) && !page.contains("theirs"), "{page}");
}

#[test]
fn directories_of_other_memories_are_read() {
    let repo = store();
    let outer = repo.outer().join("bank");
    let write = |name: &str, text: &str| {
        let path = outer.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("memory-bank/techContext.md", "# Tech\n\n## Language\n\nRust.\n");
    write("memory-bank/decisionLog.md", "# Decisions\n\n## Use SQLite\n\nOne file.\n");
    write("memory-bank/activeContext.md", "# Now\n\nThe importer.\n");
    write(
        "notes/coffee.md",
        "---\ntitle: Coffee\ntype: note\npermalink: coffee\n---\n\n# Coffee\n\n- [method] pour over #brewing\n",
    );
    write("claude/feedback_tests.md", "---\nname: tests\ntype: feedback\n---\n\nNo mocks.\n");
    write("claude/.hidden.md", "# No\n\nno\n");
    let path = outer.display().to_string();
    let answer = repo.aye(&["memory", "import", &path, "--json"]).ok().json();
    let mut places: Vec<String> = answer["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| {
            format!(
                "{} {} {}",
                s["heading"].as_str().unwrap(),
                s["path"].as_str().unwrap(),
                s["status"].as_str().unwrap()
            )
        })
        .collect();
    places.sort();
    assert_eq!(
        places,
        [
            "Coffee modules/coffee.md staged",
            "Language conventions.md staged",
            "Now local/current.shared.md staged",
            "Use SQLite decisions.md staged",
            "tests conventions.md staged",
        ]
    );
    assert!(!repo.exists(".agent-memory/modules/coffee.md"));
}

#[test]
fn what_aye_has_written_itself_is_left_out() {
    let repo = Repo::with(&[("AGENTS.md", "# Project\n\n- run tests\n")]);
    repo.aye(&["init", "--agents"]).ok();
    let text = repo.text("AGENTS.md");
    assert!(text.contains("aye:memory:begin"), "{text}");
    repo.write("AGENTS.md", format!("{text}\n## Style\n\nTabs.\n"));
    let answer = repo.aye(&["memory", "import", "AGENTS.md", "--dry-run", "--json"]).ok().json();
    let sections = answer["sections"].as_array().unwrap().iter();
    let headings: Vec<&str> = sections.map(|s| s["heading"].as_str().unwrap()).collect();
    assert_eq!(headings, ["Project", "Style"]);
}

#[test]
fn what_cannot_be_taken_is_said_and_the_rest_is_staged() {
    let repo = store();
    repo.write(
        "AGENTS.md",
        format!(
            "# N\n\n## Good\n\nText.\n\n## Bad\n\ntoken = \"ghp_{}\"\n",
            "x7Kq2Lm9Zt4Rw8Yb1Nc6Vd3Fg5Hj0PsAuEi"
        ),
    );
    let answer = repo.aye(&["memory", "import", "AGENTS.md", "--json"]).exits(1).json();
    let status = |i: usize| answer["sections"][i]["status"].as_str().unwrap().to_owned();
    assert_eq!((status(0).as_str(), status(1).as_str()), ("staged", "rejected"));
    assert_eq!(answer["sections"][1]["reason"], "secret_detected");
    repo.aye(&["memory", "import", "gone.md"]).fails("file_not_found", 3);
    std::fs::create_dir(repo.path("empty")).unwrap();
    repo.aye(&["memory", "import", "empty"]).exits(1).says("nothing to import");
    repo.write("huge.md", "x".repeat(2 << 20));
    repo.aye(&["memory", "import", "huge.md"]).exits(6).notes("hint:");
    repo.write("latin.md", b"R\xe9sum\xe9\n");
    repo.aye(&["memory", "import", "latin.md"]).fails("invalid_utf8", 6);
}

#[test]
fn the_context_is_the_same_each_time_and_says_what_it_left_out() {
    let repo = store();
    let text: String = (0..60)
        .map(|i| {
            format!(
                "## Rule {i}\n<!-- @id: rule-{i} -->\n\nThe needle of rule {i} is {}.\n\n",
                "long ".repeat(30)
            )
        })
        .collect();
    repo.write(
        ".agent-memory/conventions.md",
        format!("# Conventions\n<!-- @id: conventions -->\n\n{text}"),
    );
    for args in [
        &["memory", "context", "--budget", "1500", "--json"][..],
        &["memory", "context", "needle", "--budget", "1500", "--json"],
    ] {
        let first = repo.aye(args).ok().out();
        assert_eq!(first, repo.aye(args).ok().out(), "{args:?}");
        let pack: serde_json::Value = serde_json::from_str(&first).unwrap();
        let length = pack["context"].as_str().unwrap().chars().count();
        assert!(length <= 1500, "{length}");
        assert!(!pack["omitted"].as_array().unwrap().is_empty(), "{pack:#}");
    }
}
