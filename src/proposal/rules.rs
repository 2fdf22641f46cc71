//! The table of who may do what. The rule function decides by it; `docs/security.md` prints it.

use super::event::Evidence;

/// Class of the caller, as far as a local program can tell: nothing on one account proves a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerClass {
    /// Named by `AYE_AGENT`, by a variable of its harness, or by a process above.
    Agent,
    /// Calls a tool contract without such a mark.
    Tool,
    Human,
    Ci,
}

impl CallerClass {
    pub const ALL: [Self; 4] = [Self::Agent, Self::Tool, Self::Human, Self::Ci];

    pub fn title(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Tool => "unmarked tool caller",
            Self::Human => "human",
            Self::Ci => "ci",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Propose,
    Comment,
    Revise,
    /// A report, not a decision.
    Mark,
    Apply,
    /// Writes nothing.
    Approve,
    Reject,
    RequestChanges,
    Publish,
    Purge,
    Undo,
    /// Overrides a refusal that protects other people's work (`--force`).
    Force,
    /// Without a proposal.
    Patch,
    /// Fetches other clones' threads.
    Fetch,
    /// Sends this clone's shared threads to a remote that is enabled.
    Push,
    /// Lets `aye sync` push to a remote.
    Enable,
}

impl Verb {
    /// True for decisions that write work tree files.
    pub fn writes(self) -> bool {
        matches!(self, Self::Apply | Self::Undo)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Propose => "propose",
            Self::Comment => "comment",
            Self::Revise => "revise",
            Self::Mark => "mark",
            Self::Apply => "apply",
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::RequestChanges => "request changes",
            Self::Publish => "publish",
            Self::Purge => "purge",
            Self::Undo => "undo",
            Self::Force => "force",
            Self::Patch => "patch files directly",
            Self::Fetch => "fetch (sync --fetch)",
            Self::Push => "push (sync)",
            Self::Enable => "enable a remote, or set aye.syncAfter",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    Yes,
    /// Same name and same clone.
    Own,
    /// If HEAD's policy has `agents_may_mark = "own"`.
    OwnIfPolicy,
    /// If HEAD's policy has `ci_may_apply = true`; never an approval.
    CiIfPolicy,
    /// All if HEAD's policy has `ci_may_apply = true`.
    OwnOrCiIfPolicy,
    /// At a terminal or with `--yes`. Memory and sensitive paths need a terminal unless HEAD's
    /// policy says `flag`.
    Decides,
    /// At a terminal or with `--yes`.
    Asked,
    /// See `is_gated`.
    Ungated,
    AttendedOrUngated,
    No,
}

impl Permission {
    pub fn text(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Own => "its own",
            Self::OwnIfPolicy => "its own, if agents_may_mark = \"own\"",
            Self::CiIfPolicy => "if ci_may_apply = true",
            Self::OwnOrCiIfPolicy => "its own, or if ci_may_apply = true",
            Self::Decides => "at a terminal, or --yes*",
            Self::Asked => "at a terminal, or --yes",
            Self::Ungated => "unless gated†",
            Self::AttendedOrUngated => "at a terminal, or unless gated†",
            Self::No => "no",
        }
    }
}

/// A row per verb, an answer per `Class::ALL`.
pub const TABLE: &[(Verb, [Permission; 4])] = &[
    (Verb::Propose, [Permission::Yes, Permission::Yes, Permission::Yes, Permission::Yes]),
    (Verb::Comment, [Permission::Yes, Permission::Yes, Permission::Yes, Permission::Yes]),
    (Verb::Revise, [Permission::Own, Permission::Own, Permission::Yes, Permission::Own]),
    (Verb::Mark, [Permission::OwnIfPolicy, Permission::Yes, Permission::No, Permission::No]),
    (Verb::Apply, [Permission::No, Permission::No, Permission::Decides, Permission::CiIfPolicy]),
    (Verb::Approve, [Permission::No, Permission::No, Permission::Decides, Permission::No]),
    (
        Verb::Reject,
        [Permission::Own, Permission::No, Permission::Asked, Permission::OwnOrCiIfPolicy],
    ),
    (
        Verb::RequestChanges,
        [Permission::No, Permission::No, Permission::Yes, Permission::CiIfPolicy],
    ),
    (Verb::Publish, [Permission::No, Permission::No, Permission::Asked, Permission::No]),
    (Verb::Purge, [Permission::No, Permission::No, Permission::Asked, Permission::No]),
    (Verb::Undo, [Permission::No, Permission::No, Permission::Asked, Permission::CiIfPolicy]),
    (Verb::Force, [Permission::No, Permission::No, Permission::Asked, Permission::No]),
    (
        Verb::Patch,
        [
            Permission::Ungated,
            Permission::Ungated,
            Permission::AttendedOrUngated,
            Permission::Ungated,
        ],
    ),
    (Verb::Fetch, [Permission::Yes, Permission::Yes, Permission::Yes, Permission::Yes]),
    (Verb::Push, [Permission::No, Permission::No, Permission::Yes, Permission::CiIfPolicy]),
    (Verb::Enable, [Permission::No, Permission::No, Permission::Asked, Permission::No]),
];

pub fn permission(class: CallerClass, verb: Verb) -> Permission {
    let column = CallerClass::ALL.iter().position(|known| *known == class);
    let row = TABLE.iter().find(|(known, _)| *known == verb);
    match (row, column) {
        (Some((_, answers)), Some(column)) => answers[column],
        _ => Permission::No,
    }
}

/// True if a gate of direct writes (policy `gate`, `aye.gate`) holds; `attended` means somebody is
/// at a terminal.
pub fn is_gated(class: CallerClass, attended: bool) -> bool {
    match permission(class, Verb::Patch) {
        Permission::Ungated => true,
        Permission::AttendedOrUngated => !attended,
        _ => false,
    }
}

pub fn markdown() -> String {
    let mut out = String::from("| |");
    for class in CallerClass::ALL {
        out += &format!(" {} |", class.title());
    }
    out += "\n|---|---|---|---|---|\n";
    for (verb, answers) in TABLE {
        out += &format!("| {} |", verb.as_str());
        for answer in answers {
            out += &format!(" {} |", answer.text());
        }
        out.push('\n');
    }
    out += "\n\\* Memory and sensitive paths need a terminal. `[evidence] sensitive = \"flag\"` in policy.toml \
            lets `--yes` decide; memory also needs `memory = \"flag\"`. CI never applies a change of files that \
            instruct agents.\n\n\
            † The patch becomes a proposal if `gate = true` in policy.toml or `aye.gate` closes the gate, as \
            `aye init` does. Hooks of `aye agents` close it for agents. Only a person patches files that instruct \
            agents, and only a person at a terminal patches memory.\n";
    out
}

/// Permissions of HEAD's policy beyond the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permits {
    pub agents_may_mark: bool,
    pub ci_may_apply: bool,
    /// From `[evidence] memory = "flag"`.
    pub memory_by_flag: bool,
    /// From `[evidence] sensitive = "flag"`.
    pub sensitive_by_flag: bool,
}

impl Permits {
    pub const NONE: Self = Self {
        agents_may_mark: false,
        ci_may_apply: false,
        memory_by_flag: false,
        sensitive_by_flag: false,
    };

    pub fn wants_terminal(&self, memory: bool, sensitive: bool) -> bool {
        memory && !self.memory_by_flag || sensitive && !self.sensitive_by_flag
    }
}

pub fn is_personal(evidence: &Evidence) -> bool {
    matches!(evidence, Evidence::Terminal | Evidence::Flag)
}
