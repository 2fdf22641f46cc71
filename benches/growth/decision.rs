//! Decisions as a person makes them at a terminal, with the statements that they are bound by.

use aye::proposal::event::{
    Apply, BlobRef, Effect, Evidence, FileOutcome, How, Reject, Written, digest,
};
use aye::proposal::manifest::{ApprovedAs, Blob, Manifest, Record, Residue};
use aye::proposal::statement::{FORMAT, Statement, Target, Verdict};
use aye::proposal::{Actor, ActorKind, ChangeRecord, Data, Entry};
use sha2::{Digest as _, Sha256};

use super::history::blob_id;

/// A decision on one change.
pub struct Decision<'d> {
    /// How many proposals there were before: each other one is rejected.
    pub number: usize,
    /// The first event, which is the revision too, and the lane commit that holds it.
    pub revision: (&'d str, &'d str),
    /// What was proposed, and the text that the file had and is to have.
    pub change: &'d ChangeRecord,
    pub texts: (Option<&'d str>, &'d str),
    pub time: String,
}

impl Decision<'_> {
    /// What the event says, and the blobs beside it with their names in its commit.
    pub fn data(&self) -> (Data, Vec<(&'static str, Vec<u8>)>) {
        let is_applied = self.number.is_multiple_of(2);
        let reason = (!is_applied).then(|| format!("Not number {}", self.number));
        let manifest = is_applied.then(|| self.manifest());
        let (revision, digest) =
            (self.revision.0.to_owned(), digest(std::slice::from_ref(self.change)));
        let mut statement = Statement {
            actor: Actor {
                name: "Bench".into(),
                email: "bench@example.com".into(),
                kind: ActorKind::Human,
            },
            digest: digest.clone(),
            effect: is_applied.then_some(Effect::Files),
            evidence: Evidence::Terminal,
            format: FORMAT.into(),
            manifest: manifest.as_deref().map(named),
            policy: None,
            proposal: revision.clone(),
            reason: None,
            reason_sha256: None,
            repository: None,
            revision: revision.clone(),
            seen: Some(self.revision.1.to_owned()),
            target: Target { commit: Some("c".repeat(40)), name: Some("refs/heads/main".into()) },
            time: self.time.clone(),
            unshown_lines: 0,
            verdict: if is_applied { Verdict::Apply } else { Verdict::Reject },
        };
        statement.set_reason(reason.as_deref());
        let bytes = statement.to_bytes().expect("a statement");
        let (evidence, how) = (Some(Evidence::Terminal), How::Terminal);
        let statement = Some(named(&bytes));
        let data = if is_applied {
            Data::Apply(Apply {
                group: None,
                revision,
                digest,
                how,
                effect: Effect::Files,
                commit: None,
                written: vec![Written {
                    path: self.change.path.clone(),
                    before: self.change.before.clone(),
                    after: self.change.after.clone(),
                    outcome: FileOutcome::Clean,
                }],
                written_blob: None,
                amended: Vec::new(),
                evidence,
                statement,
            })
        } else {
            let group = None;
            let withdrawn = false;
            Data::Reject(Reject {
                group,
                reason,
                revision,
                digest,
                how,
                withdrawn,
                evidence,
                statement,
            })
        };
        let manifest = manifest.map(|bytes| ("manifest-0001", bytes));
        (data, [("statement-0001", bytes)].into_iter().chain(manifest).collect())
    }

    fn manifest(&self) -> Vec<u8> {
        let side = |entry: &Option<Entry>, text: Option<&str>| {
            let (entry, text) = (entry.as_ref()?, text?);
            Some(Blob {
                mode: entry.mode.to_string(),
                id: entry.id.clone(),
                sha256: sha256(text.as_bytes()),
            })
        };
        let before = side(&self.change.before, self.texts.0);
        Manifest::new(vec![Record {
            path: self.change.path.clone(),
            base: before.clone(),
            now: before,
            after: side(&self.change.after, Some(self.texts.1)),
            outcome: ApprovedAs::Clean,
            residue: Residue::None,
        }])
        .to_bytes()
    }
}

fn named(bytes: &[u8]) -> BlobRef {
    BlobRef { id: blob_id(bytes), sha256: sha256(bytes) }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
