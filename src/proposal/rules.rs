//! Who may do what: one table, which the rule function decides by, and the README prints.

use super::event::Evidence;

/// Who is asking, as far as a local program can tell. One account cannot prove a finger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A coding agent: named by `AYE_AGENT`, or recognised by a variable that its harness sets.
    Agent,
    /// A caller of a tool contract without any such mark.
    Tool,
    /// A person.
    Human,
    /// A build machine.
    Ci,
}

impl Class {
    /// All of them, in the order of the table's columns.
    pub const ALL: [Self; 4] = [Self::Agent, Self::Tool, Self::Human, Self::Ci];

    /// The heading of its column.
    pub fn title(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Tool => "unmarked tool caller",
            Self::Human => "human",
            Self::Ci => "ci",
        }
    }
}

/// What may be done to a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Make one.
    Propose,
    /// Say something about it.
    Comment,
    /// Give it new content.
    Revise,
    /// Say what became of it, without deciding.
    Mark,
    /// Approve it and write it.
    Apply,
    /// Approve it and write nothing.
    Approve,
    /// Say no; of one's own, take it back.
    Reject,
    /// Send it back.
    RequestChanges,
    /// Let others see a private one.
    Publish,
    /// Remove what was said of it, for good.
    Purge,
    /// Take a decision back.
    Undo,
    /// Go on where a refusal protects other people's work (`--force`).
    Force,
    /// Write files by a patch, without a proposal.
    Patch,
}

impl Verb {
    /// True for verbs that write files of the work tree by a decision.
    pub fn writes(self) -> bool {
        matches!(self, Self::Apply | Self::Undo)
    }

    /// The word in events' vocabulary, and the first column of the table.
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
        }
    }
}

/// What the table says to one class and verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Always.
    Yes,
    /// What the same name has proposed from the same clone.
    Own,
    /// Its own, where the policy in HEAD has `agents_may_mark = "own"`.
    OwnIfPolicy,
    /// Where the policy in HEAD has `ci_may_apply = true`; never counted as an approval.
    CiIfPolicy,
    /// Its own; all where the policy in HEAD has `ci_may_apply = true`.
    OwnOrCiIfPolicy,
    /// At a terminal, or with `--yes`; memory and sensitive paths at a terminal unless the policy
    /// in HEAD says `flag`.
    Decides,
    /// At a terminal, or with `--yes`.
    Asked,
    /// Where nothing gates direct writes; see [`is_gated`].
    Ungated,
    /// At a terminal; else where nothing gates direct writes.
    AttendedOrUngated,
    /// Never.
    No,
}

impl Answer {
    /// The cell of the table.
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

/// The table: a row for each verb, an answer for each of [`Class::ALL`].
pub const TABLE: &[(Verb, [Answer; 4])] = &[
    (Verb::Propose, [Answer::Yes, Answer::Yes, Answer::Yes, Answer::Yes]),
    (Verb::Comment, [Answer::Yes, Answer::Yes, Answer::Yes, Answer::Yes]),
    (Verb::Revise, [Answer::Own, Answer::Own, Answer::Yes, Answer::Own]),
    (Verb::Mark, [Answer::OwnIfPolicy, Answer::Yes, Answer::No, Answer::No]),
    (Verb::Apply, [Answer::No, Answer::No, Answer::Decides, Answer::CiIfPolicy]),
    (Verb::Approve, [Answer::No, Answer::No, Answer::Decides, Answer::No]),
    (Verb::Reject, [Answer::Own, Answer::No, Answer::Asked, Answer::OwnOrCiIfPolicy]),
    (Verb::RequestChanges, [Answer::No, Answer::No, Answer::Yes, Answer::CiIfPolicy]),
    (Verb::Publish, [Answer::No, Answer::No, Answer::Asked, Answer::No]),
    (Verb::Purge, [Answer::No, Answer::No, Answer::Asked, Answer::No]),
    (Verb::Undo, [Answer::No, Answer::No, Answer::Asked, Answer::CiIfPolicy]),
    (Verb::Force, [Answer::No, Answer::No, Answer::Asked, Answer::No]),
    (Verb::Patch, [Answer::Ungated, Answer::Ungated, Answer::AttendedOrUngated, Answer::Ungated]),
];

/// The answer of the table.
pub fn answer(class: Class, verb: Verb) -> Answer {
    let column = Class::ALL.iter().position(|known| *known == class);
    let row = TABLE.iter().find(|(known, _)| *known == verb);
    match (row, column) {
        (Some((_, answers)), Some(column)) => answers[column],
        _ => Answer::No,
    }
}

/// Whether a gate of direct writes (`gate` of the policy, `aye.gate`) holds for `class`, with somebody at a terminal
/// or not.
pub fn is_gated(class: Class, attended: bool) -> bool {
    match answer(class, Verb::Patch) {
        Answer::Ungated => true,
        Answer::AttendedOrUngated => !attended,
        _ => false,
    }
}

/// The table in Markdown, as the README has it.
pub fn markdown() -> String {
    let mut out = String::from("| |");
    for class in Class::ALL {
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
    out += "\n\\* memory and sensitive paths: at a terminal, unless policy.toml says \
            `[evidence] sensitive = \"flag\"`, and for memory, whose files are sensitive paths, \
            `memory = \"flag\"` as well; CI never applies what instructs agents.\n\n\
            † gated by `gate = true` in policy.toml or `aye.gate` in git configuration, which `aye init` sets, or by \
            hooks of `aye agents` for an agent: the patch becomes a proposal. So does one by anybody but a person that \
            changes what instructs agents, and one of memory that is not a person's at a terminal.\n";
    out
}

/// What the policy in HEAD permits beyond the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permits {
    /// `agents_may_mark = "own"`.
    pub agents_may_mark: bool,
    /// `ci_may_apply = true`.
    pub ci_may_apply: bool,
    /// `[evidence] memory = "flag"`.
    pub memory_by_flag: bool,
    /// `[evidence] sensitive = "flag"`.
    pub sensitive_by_flag: bool,
}

impl Permits {
    /// What holds without a policy.
    pub const NONE: Self = Self {
        agents_may_mark: false,
        ci_may_apply: false,
        memory_by_flag: false,
        sensitive_by_flag: false,
    };

    /// True where a decision about such paths has to be made at a terminal.
    pub fn wants_terminal(&self, memory: bool, sensitive: bool) -> bool {
        memory && !self.memory_by_flag || sensitive && !self.sensitive_by_flag
    }
}

/// True for the evidence of a person's decision.
pub fn is_personal(evidence: &Evidence) -> bool {
    matches!(evidence, Evidence::Terminal | Evidence::Flag)
}
