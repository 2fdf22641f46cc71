use std::fs;

use super::*;
use crate::error::Exit;

const PROGRAM: Setting<'_> = Setting { program: "/opt/it's here/aye", beside_store: true };
const OTHER: Setting<'_> = Setting { program: "/other/aye", beside_store: true };

/// A directory of hooks in one of its own.
fn hooks() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let hooks = directory.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    (directory, hooks)
}

#[test]
fn a_script_knows_itself_and_notices_edits() {
    for hook in Hook::ALL {
        let text = script::text(hook, PROGRAM, "hooks.aye-chained");
        assert_eq!(script::kind(text.as_bytes()), script::ScriptKind::Ours);
        let appended = format!("{text}echo more\n");
        assert_eq!(script::kind(appended.as_bytes()), script::ScriptKind::Edited);
        let above = text.replacen("#!/bin/sh\n", "#!/bin/sh\necho first\n", 1);
        assert_eq!(script::kind(above.as_bytes()), script::ScriptKind::Edited);
    }
    assert_eq!(script::kind(b"#!/bin/sh\nexit 0\n"), script::ScriptKind::Foreign);
    assert_eq!(script::kind(b"\x7fELF\xff"), script::ScriptKind::Foreign);
}

#[cfg(unix)]
#[test]
fn every_shell_at_hand_accepts_the_scripts() {
    for hook in Hook::ALL {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(hook.name());
        fs::write(&path, script::text(hook, PROGRAM, "hooks.aye-chained")).unwrap();
        for shell in ["sh", "dash", "bash", "busybox"] {
            let mut command = std::process::Command::new(shell);
            if shell == "busybox" {
                command.arg("sh");
            }
            if let Ok(output) = command.arg("-n").arg(&path).output() {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(output.status.success(), "{shell}: {said}");
            }
        }
    }
}

#[test]
fn an_earlier_hook_keeps_its_bytes_and_comes_back() {
    let (_directory, at) = hooks();
    let path = at.join("pre-commit");
    let kept = at.with_file_name("hooks.aye-chained").join("pre-commit");
    let theirs = b"#!/bin/sh\nexit 3\n";
    fs::write(&path, theirs).unwrap();
    let (hook, at) = (Hook::PreCommit, &*at);
    assert_eq!(install(at, hook, PROGRAM, false).unwrap(), InstallOutcome::Chained);
    assert_eq!(fs::read(&kept).unwrap(), theirs);
    assert_eq!(state(at, hook, PROGRAM).unwrap(), (State::Installed, true));
    assert_eq!(install(at, hook, PROGRAM, false).unwrap(), InstallOutcome::Unchanged);
    assert_eq!(state(at, hook, OTHER).unwrap(), (State::Outdated, true));
    assert_eq!(install(at, hook, OTHER, false).unwrap(), InstallOutcome::Updated);
    assert_eq!(uninstall(at, hook, PROGRAM, false).unwrap(), InstallOutcome::Restored);
    assert_eq!(fs::read(&path).unwrap(), theirs);
    assert!(!kept.exists());
    assert_eq!(uninstall(at, hook, PROGRAM, false).unwrap(), InstallOutcome::NotOurs);
    assert_eq!(fs::read(&path).unwrap(), theirs);
    assert_eq!(fs::read_dir(at).unwrap().count(), 1);
}

#[test]
fn an_edited_hook_is_neither_overwritten_nor_removed_unasked() {
    let (_directory, at) = hooks();
    let (at, hook) = (&*at, Hook::PostCommit);
    assert_eq!(install(at, hook, PROGRAM, false).unwrap(), InstallOutcome::Installed);
    let path = at.join("post-commit");
    let mine = fs::read_to_string(&path).unwrap() + "echo mine\n";
    fs::write(&path, &mine).unwrap();
    for error in [
        install(at, hook, PROGRAM, false).unwrap_err(),
        uninstall(at, hook, PROGRAM, false).unwrap_err(),
    ] {
        assert!(error.is(&codes::HOOK_CHANGED));
        assert_eq!(error.code().exit, Exit::Conflict);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), mine);
    assert_eq!(uninstall(at, hook, PROGRAM, true).unwrap(), InstallOutcome::Removed);
    assert!(!path.exists());
}

#[test]
fn two_earlier_hooks_are_not_joined() {
    let (_directory, at) = hooks();
    let (at, hook) = (&*at, Hook::PrePush);
    let beside = at.with_file_name("hooks.aye-chained");
    fs::create_dir(&beside).unwrap();
    fs::write(at.join("pre-push"), "one").unwrap();
    let kept = beside.join("pre-push");
    fs::write(&kept, "two").unwrap();
    assert!(install(at, hook, PROGRAM, true).unwrap_err().is(&codes::HOOK_IN_THE_WAY));
    assert_eq!(fs::read(at.join("pre-push")).unwrap(), b"one");
    assert_eq!(fs::read(&kept).unwrap(), b"two");
}

#[test]
fn advice_for_managers_is_valid_in_their_own_format() {
    let place = Place { directory: "hooks".into(), top: None, configured: None };
    let lefthook = Manager::Lefthook.advice(&place, &Hook::ALL);
    let yaml = lefthook.lines().skip(1).collect::<Vec<_>>().join("\n");
    let value: serde_json::Value = serde_yaml::from_str(&yaml).unwrap();
    let run = value["pre-push"]["commands"]["aye"]["run"].as_str().unwrap();
    assert!(run.contains("then aye hooks run pre-push {0}; else"), "{run}");
    let advice = Manager::PreCommit.advice(&place, &[Hook::PreCommit]);
    let yaml: Vec<&str> = advice.lines().skip(1).take(3).collect();
    let value: serde_json::Value = serde_yaml::from_str(&yaml.join("\n")).unwrap();
    let entry = value[0]["hooks"][0]["entry"].as_str().unwrap();
    assert!(entry.contains("then aye hooks run pre-commit \"$@\"; else"), "{entry}");
    assert_eq!(value[0]["hooks"][0]["pass_filenames"], false);
}
