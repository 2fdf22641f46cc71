//! Eight processes at once: nothing that was acknowledged is lost.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Repo, tested};
use serde_json::Value;

const PROCESSES: usize = 8;
const UPDATES: usize = 160;

#[test]
fn every_update_of_many_writers_is_there_in_the_end() {
    let repo = Repo::new();
    repo.aye(&["memory", "init"]).ok();
    repo.let_flags_decide();
    // The files outgrow the default budget on purpose.
    let manifest = repo.text(".agent-memory/meta/manifest.yaml");
    let manifest = manifest.replace("max_file_chars: 20000", "max_file_chars: 2000000");
    let manifest = manifest.replace("wait_timeout_seconds: 10", "wait_timeout_seconds: 120");
    repo.write(".agent-memory/meta/manifest.yaml", manifest);
    repo.write(
        ".agent-memory/pitfalls.md",
        "# Pitfalls\n<!-- @id: pitfalls -->\n\n## Log\n<!-- @id: log -->\n",
    );
    repo.commit("memory");
    let (root, home) = (repo.root().to_owned(), repo.outer().join("home"));
    let aye = |args: &[&str], input: Option<String>| run(&root, &home, args, input);
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let aye = &aye;
            scope.spawn(move || {
                for update in (process..UPDATES).step_by(PROCESSES) {
                    let request = if update % 10 == 0 {
                        // Staged by an agent, applied by a person.
                        serde_json::json!({"intent": "add_pitfall", "sources": [{"type": "user"}],
                            "operations": [{"operation": "append_section", "path": "pitfalls.md",
                                "heading": format!("Update {update}"), "heading_level": 2,
                                "content": format!("## Update {update}\n\nitem {update};\n")}]})
                    } else {
                        serde_json::json!({"intent": "add_pitfall",
                            "operations": [{"operation": "append_to_section", "path": "pitfalls.md",
                                "section_id": "log", "content": format!("- item {update};")}]})
                    };
                    let answer =
                        aye(&["call", "memory.propose_update", "-"], Some(request.to_string()));
                    if update % 10 == 0 {
                        let id = answer["staging_id"].as_str().expect("staged").to_owned();
                        let applied = aye(&["apply", &id, "--yes", "--json"], None);
                        assert_eq!(applied["success"], true, "{applied:#}");
                    } else {
                        assert_eq!(answer["status"], "applied", "{answer:#}");
                    }
                }
            });
        }
    });
    let text = repo.text(".agent-memory/pitfalls.md");
    let items: BTreeSet<usize> = text
        .lines()
        .filter_map(|line| line.trim_start_matches("- ").strip_prefix("item ")?.strip_suffix(';'))
        .filter_map(|number| number.parse().ok())
        .collect();
    assert_eq!(
        items.len(),
        UPDATES,
        "lost: {:?}",
        (0..UPDATES).filter(|n| !items.contains(n)).collect::<Vec<_>>()
    );
    assert_eq!(text.matches("item ").count(), UPDATES, "nothing twice");
    repo.aye(&["memory", "lint"]).ok();
    let applied = repo.aye(&["list", "--status", "applied", "--json"]).ok().json();
    assert_eq!(applied["proposals"].as_array().map(Vec::len), Some(UPDATES));
}

/// Runs the program in `root` and reads its answer; a [`Repo`] belongs to one thread.
fn run(root: &Path, home: &Path, args: &[&str], input: Option<String>) -> Value {
    let mut child = Command::new(tested())
        .args(args)
        .current_dir(root)
        .env_clear()
        .env("HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.unwrap_or_default().as_bytes()).expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("ended");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{args:?}: {error}\n{}\n{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    })
}
