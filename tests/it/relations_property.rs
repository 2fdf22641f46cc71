//! Relations agree with what applying in each order really does.

use std::collections::BTreeMap;

use aye::changeset::hunks;
use aye::changeset::merge::MergeLabels;
use aye::changeset::plan::{self, MergeStatus};
use aye::changeset::{File, FileChange, RepoPath, Snapshot};
use aye::error::Result;
use aye::proposal::relations::{PendingProposal, TouchedFile, relations};
use aye::proposal::{Entry, ProposalId};
use proptest::prelude::*;

/// The only file.
const PATH: &str = "a";

struct Files(Option<File>);

impl Snapshot for Files {
    fn file(&self, _: &RepoPath) -> Result<Option<File>> {
        Ok(self.0.clone())
    }
}

fn entry(text: &[u8]) -> Entry {
    Entry { id: String::from_utf8_lossy(text).into_owned(), mode: "100644".into() }
}

fn id(n: usize) -> ProposalId {
    ProposalId::parse(&format!("prop_{n:010}")).expect("an id")
}

fn open(n: usize, before: &[u8], after: &[u8]) -> PendingProposal {
    let touch = TouchedFile {
        path: PATH.to_owned(),
        before: Some(entry(before)),
        after: Some(entry(after)),
        lines: Some(hunks::measure(Some(before), Some(after)).1),
    };
    PendingProposal { id: id(n), touches: vec![touch], earlier: Vec::new() }
}

/// What the file is once these changes are applied one after the other; `None` where one does not fit.
fn applied(now: &[u8], changes: &[(&[u8], &[u8])]) -> Option<Vec<u8>> {
    let mut now = File::regular(now);
    for (before, after) in changes {
        let change = FileChange {
            path: RepoPath::new(PATH).expect("a path"),
            before: Some(File::regular(*before)),
            after: Some(File::regular(*after)),
            origin: None,
            snippets: Vec::new(),
        };
        let sides = MergeLabels { ours: "now", theirs: "proposed" };
        let plan = plan::plan(&[change], &Files(Some(now)), sides).expect("a plan");
        let file = &plan.files[0];
        if matches!(file.outcome, MergeStatus::Conflict(_)) {
            return None;
        }
        now = file.after.clone().expect("a file");
    }
    Some(now.bytes)
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(0..6_u8, 1..10)
        .prop_map(|lines| lines.iter().flat_map(|n| vec![b'a' + n, b'\n']).collect())
}

proptest! {
    #[test]
    fn what_applies_in_each_order_is_what_relations_say(
        base in text(), one in text(), two in text(), top in text(),
    ) {
        prop_assume!(base != one && base != two && one != two && top != one && top != base);
        prop_assume!(top != two);
        let all = [open(0, &base, &one), open(1, &base, &two), open(2, &one, &top)];
        let there = applied(&base, &[(&base, &one), (&base, &two)]);
        let back = applied(&base, &[(&base, &two), (&base, &one)]);
        let both_apply = there.is_some() && back.is_some();
        let is_present = |_: &str, held: &Entry| *held == entry(&base);
        let found = relations(&all, &BTreeMap::new(), is_present, |_, _| both_apply);
        let related = |n: usize| found.get(&id(n)).cloned().unwrap_or_default();
        // Two on the same content: unless they are for the same lines, either order gives the same
        // file.
        prop_assert_eq!(related(0).same_lines.named.contains(&id(1)), !both_apply);
        if both_apply {
            prop_assert_eq!(&there, &back);
        }
        prop_assert_eq!(there.is_some(), back.is_some(), "one order alone");
        // What stands on another applies after it, as it was proposed.
        let lower: Vec<ProposalId> =
            related(2).depends_on.iter().map(|lower| lower.id.clone()).collect();
        prop_assert_eq!(&lower, &[id(0)]);
        prop_assert_eq!(applied(&base, &[(&base, &one), (&one, &top)]), Some(top.clone()));
        prop_assert!(related(0).depends_on.is_empty() && related(1).depends_on.is_empty());
    }
}
