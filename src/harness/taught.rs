//! Agents that are taught and not gated: their hooks are documented in ways that contradict each other, or not at
//! all, and none was tried here. Their rules, a file that they read by themselves, get the guide.
//!
//! Sources: <https://docs.windsurf.com/windsurf/cascade/memories>, <https://docs.cline.bot/features/cline-rules>,
//! <https://kiro.dev/docs/steering>.

use super::{Answer, Call, Client, Missing, Settings, Way};

/// Windsurf: a rule that is not always on is left to the model's choice.
pub static WINDSURF: Client = taught("windsurf", "---\ntrigger: always_on\n---\n");

/// Cline.
pub static CLINE: Client = taught("cline", "");

/// Kiro.
pub static KIRO: Client = taught("kiro", "---\ninclusion: always\n---\n");

/// All of them.
pub static CLIENTS: [&Client; 3] = [&WINDSURF, &CLINE, &KIRO];

const fn taught(name: &'static str, front: &'static str) -> Client {
    Client {
        name,
        agent: name,
        is_tried: false,
        hooks: &[],
        after: &[],
        before: "",
        way: Way::Name,
        when_missing: Missing::Open,
        read,
        write,
        settings: Settings::Guide(front),
    }
}

fn read(_event: &str, _bytes: &[u8]) -> Result<Call, String> {
    Err("this agent has no hooks of aye's".to_owned())
}

fn write(_event: &str, _answer: &Answer) -> Vec<u8> {
    Vec::new()
}
