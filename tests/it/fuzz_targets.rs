//! The fuzz targets of `fuzz/` as property tests: arbitrary bytes, and bent copies of good input.

#[path = "../../fuzz/bodies.rs"]
pub mod bodies;

use proptest::prelude::*;

/// Cuts, doubles, overwrites and inserts, as a fuzzer would.
fn bent(seed: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), 0..5u8, any::<u8>(), 0..16usize);
    prop::collection::vec(change, 0..6).prop_map(move |changes| {
        let mut bytes = seed.as_bytes().to_vec();
        for (at, kind, byte, length) in changes {
            let at = if bytes.is_empty() { 0 } else { at.index(bytes.len()) };
            let end = (at + length).min(bytes.len());
            match kind {
                0 => drop(bytes.drain(at..end)),
                1 => {
                    let copy = bytes[at..end].to_vec();
                    bytes.splice(at..at, copy);
                }
                2 if at < bytes.len() => bytes[at] = byte,
                3 => bytes.insert(at, byte),
                4 => bytes.truncate(end),
                _ => {}
            }
        }
        bytes
    })
}

fn input(seeds: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let seed = prop::sample::select(seeds).prop_flat_map(bent);
    prop_oneof![3 => seed, 1 => prop::collection::vec(any::<u8>(), 0..256)]
}

const EVENTS: &[&str] = &[
    r#"{"actor":{"email":"a@b.c","kind":"agent","name":"x"},"clone":"1c28baa94bf95eca","data":{"changes":[],"expires_at":"2026-03-21T10:30:00.000Z","form":"snippet","proposed_by":"agent","subject":"code"},"kind":"propose","time":"2026-03-14T10:30:00.000Z","v":2}"#,
    r#"{"actor":{"email":"","kind":"human","name":"x"},"clone":"1c28baa94bf95eca","data":{"body":"why?"},"kind":"comment","time":"2026-03-14T10:30:00.000Z","v":2}"#,
    r#"{"actor":{"email":"","kind":"ci","name":"x"},"clone":"1c28baa94bf95eca","data":{"x":[1,{"y":null}]},"kind":"of_the_future","v":3}"#,
];
const STATEMENTS: &[&str] = &[
    r#"{"actor":{"email":"a@b.c","kind":"human","name":"Ada"},"effect":"files","ends":null,"evidence":"terminal","format":"aye-decision@2","group":null,"key":null,"lines":2,"manifest":{"id":"dddddddddddddddddddddddddddddddddddddddd","sha256":"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"},"policy":null,"proposal":{"id":"dddddddddddddddddddddddddddddddddddddddd","sha256":"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"},"range":null,"reason":"so","reason_sha256":null,"repository":null,"revision":{"id":"dddddddddddddddddddddddddddddddddddddddd","sha256":"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"},"seen":"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee","shown":2,"target":{"commit":null,"ref":"refs/heads/main"},"time":"2026-03-14T10:30:00.000Z","verdict":"apply"}"#,
];
const TRY_RESULTS: &[&str] = &[
    r#"{"actor":{"email":"ci@example.com","kind":"ci","name":"build"},"command":["cargo","test"],"duration_ms":1200,"exit_code":0,"format":"aye-try-result@1","proposal":"8ae2d0b82c1422f9fe442c71c1663449a59e206f","repository":null,"revision":"8ae2d0b82c1422f9fe442c71c1663449a59e206f","time":"2026-11-24T09:00:09.125Z"}"#,
    r#"{"time":"2026-11-24T09:00:60+01:00","revision":"8ae2d0b82c1422f9fe442c71c1663449a59e206f","repository":"00112233445566778899aabbccddeeff","proposal":"8ae2d0b82c1422f9fe442c71c1663449a59e206f","format":"aye-try-result@1","exit_code":null,"duration_ms":18446744073709551615,"command":["\u001b"],"actor":{"name":"","kind":"agent","email":""}}"#,
];
const HOOKS: &[&str] = &[
    r#"{"session_id":"s","cwd":"/r","hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"/r/a","old_string":"x","new_string":"y"}}"#,
    r#"{"session_id":"s","cwd":"/r","hook_event_name":"Stop","stop_hook_active":false,"background_tasks":[{"id":"1"}]}"#,
    r#"{"session_id":"s","cwd":"/r","hook_event_name":"WorktreeCreate","name":"aye"}"#,
    r#"{"session_id":"s","cwd":"/r","hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** End Patch"}}"#,
    r#"{"session_id":"s","cwd":"/r","hook_event_name":"BeforeTool","tool_name":"write_file","tool_input":{"file_path":"/r/a","content":"y"}}"#,
    r#"{"sessionId":"s","cwd":"/r","toolName":"edit","toolArgs":{"path":"/r/a","old_str":"x","new_str":"y"}}"#,
    r#"{"session":"s","directory":"/r","tool":"bash","args":{"command":"ls","workdir":"/r"}}"#,
];
const MESSAGES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"show","arguments":{}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"x"}}"#,
];
const SETTINGS: &[&str] = &[
    "{\n  // mine\n  \"hooks\": {\n    \"Stop\": [ {\"hooks\": []}, ],\n  }\n}\n",
    "\u{feff}{\"a\":1,\"hooks\":{\"C\":[{\"x\":[1,2]}]}}",
    "{\"hooks\":{\"Stop\":[{\"aye\":true}]}}\r\n",
];
const IDS: &[&str] = &["prop_0123456789", "prop_O1Il", "PROP_ab", "m4k8n", "é", "prop_"];
const PATHS: &[&str] = &[
    "src/utils/format.ts", "../x", ".git/config", "a/.GIT/x", "a/git~1", ".g\u{200c}it/x", "C:\\x",
    "/abs", "a//b", "a/./b", "a/", "con", "a\\..\\b",
];
const UNIFIED: &[&str] = &[
    "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
    "diff --git a/f b/n\nold mode 100644\nnew mode 100755\nrename from f\nrename to n\n--- a/f\n+++ b/n\n@@ -4,2 +4 @@\n a\n-b\n",
    "diff --git \"a/t\\tb\" \"b/t\\tb\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/t\\tb\"\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n",
    "--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n one\n+new\n\n--- a/dir/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-no newline\n\\ No newline at end of file\n",
    "diff --git a/b b/b\nnew file mode 100644\nindex 0000000000000000000000000000000000000000..b1b39afd9b7c6f8bd0c4d0f3c3ba3d3f1dca5c35\nGIT binary patch\nliteral 10\nUcmV+l0QLU>0RjUA1qKHQ2>`DEE&u=k\n\nliteral 0\nHcmV?d00001\n\n",
];
const ENVELOPES: &[&str] = &[
    "*** Begin Patch\n*** Update File: f\n@@ a\n b\n-c\n+C\n*** Add File: n\n+x\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: x\n*** Move to: y\n@@\n one\n-two\n+2\n*** End of File\n*** Delete File: dir/g\n*** End Patch",
    "cat <<'EOF'\n*** Begin Patch\n *** Delete File: f\n*** End Patch\nEOF\n",
];

/// Near misses of everything the scanner reads; none is whole.
const TEXTS: &[&str] = &[
    "DB_PASSWORD=hunter2x\napi_key: \"k3j9x0q2v7b1n5m8z4w6\"\n",
    "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq0MIIEpAIBAAKCAQEA\n-----END PRIVATE KEY-----",
    "postgres://app:Winter24@db:5432/x?a=b@c\nredis://:p@[::1]/0\nx://:@",
    "<!-- @secret-scan: allow reason=\"docs\" -->\nkey\n<!-- @secret-scan: end -->",
    "123-45-6789 4242 4242 4242 4242 3782 822463 10005 jane@corp.example",
    "Authorization: Bearer aB3xQ9zL4mPnR7tY2vK8wE5jH1uF6oI0 Basic dXNlcjpwYXNz",
    "--token \\\"x\\\" <password>y</password> setenv(\"SECRET\", 'z') password is %41%zz%",
    "sk_live_ ghp_ AKIA eyJ.eyJ. xoxb-1-2- glpat- AIza SG.. 1//0 1:AA //r/:_authToken=",
    "ignore\n> previous **instructions** и гнорируй п\u{430}ypal \u{202e}\u{200d}\u{fe0f}\u{fe0f}\r",
    "\u{feff}key=value\0key=value\n",
];

const MEMORY_FILES: &[&str] = &[
    "# Top\n<!-- @id: top -->\n\nIntro.\n\n## One\n<!-- @id: one -->\n\n- a\n\n### Deep\n\n## Two\n\n\n<!-- @id: two -->\ntext\n",
    "\u{feff}---\nkey: value\n---\r\nA\r\n===\r\n\r\n```md\r\n# no\r\n```\r\n## Выбор\r\n<!-- @id: выбор -->\r\n> ## quoted\r\n",
    "# 見出し\n<div>\n# no\n</div>\n\n    # code\n<!-- open\n## in a comment\n-->\n#\tx\r## y",
];
const MEMORY_REQUESTS: &[&str] = &[
    r###"{"intent":"add_pitfall","sources":[{"type":"user"}],"operations":[{"operation":"append_to_section","path":"pitfalls.md","section_id":"build","content":"- b"}]}"###,
    r###"{"intent":"add_pitfall","rationale":"x","sources":[{"type":"file","ref":"a.rs:1"}],"confidence":"inferred","owner":{"id":"a"},"operations":[{"operation":"append_section","path":"pitfalls.md","heading":"N","heading_level":2,"content":"## N\n\ny","parent_section_id":""},{"operation":"rename_heading","path":"pitfalls.md","heading":"B","new_heading":"C","new_heading_level":3}]}"###,
    r###"{"intent":"update_current","operations":[{"operation":"create_file","path":"local/current.main.md","content":"x","if_exists":"append"},{"operation":"replace_section","path":"local/current.main.md","section_id":"q","content":"## Q\nz","if_missing":"append"}]}"###,
    r###"{"intent":"archive_stale","sources":[{"type":"user"}],"operations":[{"operation":"remove_section","path":"pitfalls.md","section_id":"b","archive_path":"archive/b.md","reason":"old"},{"operation":"archive_section","path":"pitfalls.md","section_id":"build","archive_path":"archive/c.md","replacement":"gone"}]}"###,
];

const SHELL: &[&str] = &[
    "ls -la | grep 'x y' && echo \"a $HOME b\" || ! cat < f 2>/dev/null; pwd # end",
    "a\\ b 'c'\"d\"e\\f 2>&1 | g >/dev/null 1>&2 &>/dev/null",
    "find . \\( -name '*.rs' \\) -print\n\nsort -k2,2n | head -3",
    "git show HEAD@{1}:x ${PWD}/y \"${HOME}\" [a-z]* ?b *c",
    "echo \"$\" a$ \"x$ y\" \"\\$\\`\\\"\\\\\\a\"",
    "a=b c; d e=f; 1>&2 x 2 >/dev/null; {} ; ~ ; $x",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn event(bytes in input(EVENTS)) { bodies::event(&bytes) }

    #[test]
    fn try_result(bytes in input(TRY_RESULTS)) { bodies::try_result(&bytes) }

    #[test]
    fn client_hook(bytes in input(HOOKS)) { bodies::client_hook(&bytes) }

    #[test]
    fn mcp_message(bytes in input(MESSAGES)) { bodies::mcp_message(&bytes) }

    #[test]
    fn settings(bytes in input(SETTINGS)) { bodies::settings(&bytes) }

    #[test]
    fn statement(bytes in input(STATEMENTS)) { bodies::statement(&bytes) }

    #[test]
    fn id(bytes in input(IDS)) { bodies::id(&bytes) }

    #[test]
    fn path(bytes in input(PATHS)) { bodies::path(&bytes) }

    #[test]
    fn scanner(bytes in input(TEXTS)) { bodies::scanner(&bytes) }

    #[test]
    fn unified(bytes in input(UNIFIED)) { bodies::unified(&bytes) }

    #[test]
    fn envelope(bytes in input(ENVELOPES)) { bodies::envelope(&bytes) }


    #[test]
    fn memory_markdown(bytes in input(MEMORY_FILES)) { bodies::memory_markdown(&bytes) }

    #[test]
    fn memory_request(bytes in input(MEMORY_REQUESTS)) { bodies::memory_request(&bytes) }

    #[test]
    fn shell(bytes in input(SHELL)) { bodies::shell(&bytes) }
}

/// Seeds that are refused outright would test nothing.
#[test]
fn the_event_seeds_are_events() {
    for seed in EVENTS {
        aye::proposal::event::Event::from_line(seed.as_bytes(), None).unwrap();
    }
}

#[test]
fn the_statement_seeds_are_statements() {
    for seed in STATEMENTS {
        aye::proposal::statement::Statement::from_line(seed.as_bytes()).unwrap();
    }
}

#[test]
fn the_result_seeds_are_results() {
    for seed in TRY_RESULTS {
        aye::proposal::try_result::TryResult::from_bytes(seed.as_bytes()).unwrap();
    }
}

/// Every target is a binary of `fuzz/Cargo.toml`, and runs here.
#[test]
fn every_target_is_wired() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
    let bodies = std::fs::read_to_string(root.join("fuzz/bodies.rs")).unwrap();
    let here = std::fs::read_to_string(root.join("tests/it/fuzz_targets.rs")).unwrap();
    let names = bodies.lines().filter_map(|l| l.strip_prefix("pub fn ")?.split('(').next());
    for name in names {
        assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name} has no [[bin]]");
        assert!(root.join(format!("fuzz/fuzz_targets/{name}.rs")).exists(), "{name} has no file");
        assert!(here.contains(&format!("bodies::{name}(&bytes)")), "{name} does not run here");
    }
}
