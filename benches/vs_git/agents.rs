//! What a coding agent waits for: the hooks of its client, in a repository of 5,000 files. The other side
//! is the time that they may take, so that the ratio is the share of it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::runner::{Entry, Side};
use crate::world::World;

/// Every entry of hooks.
pub fn all() -> Vec<Entry> {
    vec![
        Entry {
            name: "hook, own edit let pass, in units of 10 ms",
            target: 1.0,
            runs: 60,
            sides: |world| {
                let client = Client::start(world);
                let ours = Side::new(move |_| client.edit());
                (ours, Side::new(|_| std::thread::sleep(Duration::from_millis(10))))
            },
        },
        Entry {
            name: "hook, an edit recorded, in units of 50 ms",
            target: 1.0,
            runs: 40,
            sides: |world| {
                let client = Client::start(world);
                let file = client.tree.join(FILE);
                let ours = Side::new(move |_| client.stop()).prepared(move |number| {
                    let text = format!("{}// {number}\n", crate::world::content(7));
                    std::fs::write(&file, text).expect("an edit");
                });
                (ours, Side::new(|_| std::thread::sleep(Duration::from_millis(50))))
            },
        },
    ]
}

const FILE: &str = "src/part07/file0007.rs";

/// A session of Claude Code, in the tree that it was sent into.
struct Client {
    /// `aye` with its environment, in the tree.
    aye: Box<dyn Fn(&str) -> Command>,
    tree: PathBuf,
}

impl Client {
    fn start(world: &World) -> Self {
        let checkout = world.copy();
        let own = Self::at(world, &checkout);
        let refusal = own.edited(&checkout);
        let name = refusal.split("with name ").nth(1).expect("a name");
        let name = name.split(',').next().expect("a word").to_owned();
        let tree = own.call("WorktreeCreate", &serde_json::json!({ "name": name }));
        Self::at(world, Path::new(tree.trim()))
    }

    fn at(world: &World, tree: &Path) -> Self {
        let mut parts = world.aye(tree, &[]);
        parts.env("CLAUDECODE", "1");
        let program = parts.get_program().to_owned();
        let environment: Vec<_> = parts
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        let directory = tree.to_owned();
        let aye = Box::new(move |event: &str| {
            let mut command = Command::new(&program);
            command.args(["agents", "hook", "claude-code", event]).current_dir(&directory);
            command.env_clear().envs(environment.iter().cloned());
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            command
        });
        Self { aye, tree: tree.to_owned() }
    }

    fn call(&self, event: &str, more: &serde_json::Value) -> String {
        let mut call = serde_json::json!({
            "session_id": "bench", "cwd": self.tree, "hook_event_name": event,
            "transcript_path": "/t", "permission_mode": "acceptEdits",
        });
        let fields = call.as_object_mut().expect("an object");
        fields.extend(more.as_object().cloned().unwrap_or_default());
        let mut child = (self.aye)(event).spawn().expect("start");
        let mut pipe = child.stdin.take().expect("a pipe");
        pipe.write_all(call.to_string().as_bytes()).expect("feed");
        drop(pipe);
        let result = child.wait_with_output().expect("wait");
        assert!(result.status.success(), "{result:?}");
        String::from_utf8(result.stdout).expect("UTF-8")
    }

    fn edited(&self, top: &Path) -> String {
        let input = serde_json::json!({
            "file_path": top.join(FILE), "old_string": "v0", "new_string": "v1",
        });
        let edit = serde_json::json!({ "tool_name": "Edit", "tool_input": input });
        self.call("PreToolUse", &edit)
    }

    fn edit(&self) {
        assert_eq!(self.edited(&self.tree), "");
    }

    fn stop(&self) {
        let said = self.call(
            "Stop",
            &serde_json::json!({ "stop_hook_active": false, "background_tasks": [] }),
        );
        assert!(said.contains("prop_"), "{said}");
    }
}
