//! More of the demonstration, for who wants it.

use std::path::Path;

use serde_json::json;

use super::scene::{FILES, HOOKED, STACK};
use super::scratch::{self, git};
use super::stage::{Stage, Who};
use super::tour::{ON, outcome};
use crate::error::{Error, Result};

/// Leads through it, as far as the person wants.
///
/// # Errors
/// Whatever a step says.
pub fn show(stage: &mut Stage<'_>) -> Result<()> {
    let _ = stack(stage)? && rename(stage)? && memory(stage)? && hook(stage)?;
    Ok(())
}

fn stack(stage: &mut Stage<'_>) -> Result<bool> {
    stage.title("A stack: the second proposal stands on the first")?;
    let mut parent = "HEAD".to_owned();
    let mut ids = Vec::new();
    for step in &STACK {
        parent = commit_aside(&stage.scratch.root, &parent, step)?;
        let args = ["propose", "--commit", &parent];
        let id = stage.ask(Who::Agent(step.agent), &args, "proposal_id")?;
        stage.say(&format!("{id}  proposed: {} ({})", step.path, step.reason))?;
        ids.push(id);
    }
    stage
        .say("apply --with-lower takes what it stands on along (y and Enter, or n and Enter).\n")?;
    stage.hand_over(Who::Person, &["apply", &ids[1], "--with-lower"])?;
    for id in &ids {
        outcome(stage, id)?;
    }
    stage.goes_on(ON)
}

/// A commit above `parent` that no branch names and no file shows: what an agent has committed
/// elsewhere.
fn commit_aside(root: &Path, parent: &str, step: &super::scene::Proposed) -> Result<String> {
    let (_, _, original) =
        FILES.iter().find(|(_, path, _)| *path == step.path).unwrap_or(&FILES[0]);
    let blob = git(root).args(["hash-object", "-w", "--stdin"]).stdin(step.of(original)).text()?;
    let index = root.join(".git/demo-index");
    let git = || git(root).env("GIT_INDEX_FILE", &index);
    git().args(["read-tree", parent]).run()?;
    let entry = format!("100644,{blob},{}", step.path);
    git().args(["update-index", "--cacheinfo", &entry]).run()?;
    let tree = git().args(["write-tree"]).text()?;
    git().args(["commit-tree", &tree, "-p", parent, "-m", step.reason]).text()
}

fn rename(stage: &mut Stage<'_>) -> Result<bool> {
    stage.title("A rename, by an agent in a work tree of its own")?;
    stage.say(
        "What `aye run` starts works outside of your checkout; what it leaves is a proposal.",
    )?;
    let script = "git mv src/mail.ts src/letters.ts && \
                  sed -i.old 's/mail/letters/' src/index.ts && rm src/index.ts.old";
    let run = ["run", "--", "sh", "-c", script];
    stage.hand_over(Who::Agent("claude-code"), &run)?;
    newest(stage)
}

fn memory(stage: &mut Stage<'_>) -> Result<bool> {
    stage.title("Memory: what agents learn is proposed too")?;
    stage.answer(Who::Person, &["memory", "init", "-q"], "")?;
    let root = &stage.scratch.root;
    git(root).args(["add", ".agent-memory"]).run()?;
    let message = "Keep a memory";
    git(root).args(["commit", "--quiet", "--only", "-m", message, "--", ".agent-memory"]).run()?;
    let request = json!({
        "intent": "add_pitfall",
        "operations": [{
            "operation": "append_section",
            "path": "pitfalls.md",
            "heading": "Prices are in cents",
            "heading_level": 2,
            "content": "## Prices are in cents\n\nDivide only where they are shown.\n",
        }],
        "sources": [{ "type": "file", "ref": "src/price.ts" }],
    });
    let args = ["memory", "propose", "--from-json", "-"];
    stage.answer(Who::Agent("claude-code"), &args, &request.to_string())?;
    newest(stage)
}

fn hook(stage: &mut Stage<'_>) -> Result<bool> {
    stage.title("An agent's hook: an edit becomes a proposal")?;
    stage.say(
        "With `aye agents install claude-code`, its client asks aye before each edit. An edit of a\n\
         file of yours is refused, in words that the agent acts on:\n",
    )?;
    let readme = stage.scratch.root.join("README.md");
    let input = json!({
        "file_path": readme, "old_string": HOOKED.0, "new_string": HOOKED.1,
    });
    let refusal = event(stage, "PreToolUse", json!({ "tool_name": "Edit", "tool_input": input }))?;
    let refusal: serde_json::Value = serde_json::from_str(&refusal)
        .map_err(|e| Error::bug(format!("the answer of the hook is not JSON: {e}")))?;
    let why = &refusal["hookSpecificOutput"]["permissionDecisionReason"];
    let why = why.as_str().unwrap_or_default();
    stage.say(&format!("  {}\n", crate::text::escape::line(why)))?;
    // The agent does as it is asked: the tree is made, the edit is made there, and it stops.
    let Some(name) = why.split("with name ").nth(1).and_then(|rest| rest.split(',').next()) else {
        return Err(Error::bug("the hook named no work tree in the demonstration"));
    };
    let tree = event(stage, "WorktreeCreate", json!({ "name": name }))?;
    let file = Path::new(tree.trim_end()).join("README.md");
    let text = std::fs::read_to_string(&file).map_err(|e| Error::io("read the README", &e))?;
    scratch::write(&file, &text.replacen(HOOKED.0, HOOKED.1, 1))?;
    event(stage, "Stop", json!({ "stop_hook_active": false, "background_tasks": [] }))?;
    stage.say("In the tree it may write; what it has written is proposed when it stops:\n")?;
    newest(stage)
}

/// Calls the hook of Claude Code's client as it does.
fn event(stage: &Stage<'_>, event: &str, more: serde_json::Value) -> Result<String> {
    let mut call = json!({
        "session_id": "demo", "cwd": stage.scratch.root, "hook_event_name": event,
        "transcript_path": "/nowhere", "permission_mode": "acceptEdits",
    });
    if let (Some(call), serde_json::Value::Object(more)) = (call.as_object_mut(), more) {
        call.extend(more);
    }
    let args = ["agents", "hook", "claude-code", event];
    stage.answer(Who::Agent("claude-code"), &args, &call.to_string())
}

/// Reviews the newest proposal.
fn newest(stage: &mut Stage<'_>) -> Result<bool> {
    let answer = stage.answer(Who::Person, &["list", "--json"], "")?;
    let list: serde_json::Value = serde_json::from_str(&answer)
        .map_err(|e| Error::bug(format!("the answer of list is not JSON: {e}")))?;
    // They are listed by risk; times are all of one form.
    let proposals = list["proposals"].as_array().into_iter().flatten();
    let newest = proposals.max_by_key(|proposal| proposal["created_at"].as_str());
    let Some(id) = newest.and_then(|newest| newest["proposal_id"].as_str()) else {
        return Err(Error::bug("nothing was proposed in the demonstration"));
    };
    stage.hand_over(Who::Person, &["review", id])?;
    outcome(stage, id)?;
    stage.goes_on(ON)
}
