//! Threads of a scratch repository with hostile refs.

use std::path::Path;

use chrono::DateTime;
use proptest::prelude::*;

use super::*;
use crate::proposal::event::{DecisionData, Evidence, Subject, Verdict};
use crate::proposal::sample::{self, CLONE, OTHER};
use crate::proposal::statement::{ends_bytes, seen_sha256};
use crate::proposal::{Event, Statement, fold};
use crate::store::objects::Batch;

/// A repository without a commit, and its store.
pub(in crate::store) struct Scene {
    directory: tempfile::TempDir,
    pub(in crate::store) store: Store,
}

impl Scene {
    pub(in crate::store) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        gix::init(directory.path()).unwrap();
        let store = Store::discover(directory.path()).unwrap();
        Self { directory, store }
    }

    pub(in crate::store) fn top(&self) -> &Path {
        self.directory.path()
    }

    pub(in crate::store) fn git(&self, args: &[&str]) {
        self.store.repository().git().unwrap().args(args).run().unwrap();
    }

    pub(in crate::store) fn add(&self, kind: Kind, data: &[u8]) -> ObjectId {
        let mut batch = Batch::new(self.store.repository());
        let id = batch.add(kind, data).unwrap();
        batch.write(crate::flush::FlushMethod::No).unwrap();
        id
    }

    fn tree(&self, files: &[(&str, ObjectId)]) -> ObjectId {
        let data = files
            .iter()
            .flat_map(|(name, id)| [format!("100644 {name}\0").as_bytes(), id.as_bytes()].concat());
        self.add(Kind::Tree, &data.collect::<Vec<u8>>())
    }

    /// A commit with these lines between its signatures and its message.
    fn commit(
        &self,
        tree: ObjectId,
        parents: &[ObjectId],
        headers: &str,
        message: &str,
    ) -> ObjectId {
        let mut sorted = parents.to_vec();
        sorted.sort_unstable();
        let parents: String = sorted.iter().map(|parent| format!("parent {parent}\n")).collect();
        let who = "A <a@x> 0 +0000";
        let text =
            format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n{headers}\n{message}\n");
        self.add(Kind::Commit, text.as_bytes())
    }

    /// An event at `seconds`, without content.
    pub(in crate::store) fn event(
        &self,
        parents: &[ObjectId],
        seconds: i64,
        data: Data,
    ) -> ObjectId {
        let (actor, clone) = (sample::person("ada"), CLONE.to_owned());
        let time = DateTime::from_timestamp(seconds, 0).unwrap();
        let event = Event { actor, agent: None, clone, time, data };
        let line = String::from_utf8(event.to_line().unwrap()).unwrap();
        self.commit(self.tree(&[]), parents, &format!("aye-event {line}\n"), "said")
    }

    pub(in crate::store) fn propose(&self, seconds: i64) -> ObjectId {
        let change = sample::change("a.txt", "a", &format!("b{seconds}"));
        self.event(&[], seconds, sample::propose(Subject::Code, vec![change]))
    }

    pub(in crate::store) fn comment(&self, parents: &[ObjectId], text: &str) -> ObjectId {
        self.event(parents, 1, sample::comment(text))
    }

    /// A rejection of the first revision, with an `ends` list and a manifest's bytes.
    pub(in crate::store) fn reject(
        &self,
        thread: ObjectId,
        parents: &[ObjectId],
        papers: &DecisionDocuments,
    ) -> ObjectId {
        let mut statement = papers.statement.clone();
        statement.seen = seen_sha256(&parents.iter().map(ToString::to_string).collect::<Vec<_>>());
        let first = self.read(thread).history.first().unwrap().named();
        (statement.proposal, statement.revision) = (Some(first.clone()), Some(first));
        let said = DecisionData { verdict: Verdict::Reject, reason: None };
        let data = Data::Decision(said);
        let (actor, clone) = (statement.actor.clone(), CLONE.to_owned());
        let event = Event { actor, agent: None, clone, time: statement.time, data };
        let [event, line] = [event.to_line(), statement.to_line()]
            .map(|line| String::from_utf8(line.unwrap()).unwrap());
        let mut files = Vec::new();
        if !papers.ended_statements.is_empty() {
            files.push(("ends", self.add(Kind::Blob, &ends_bytes(&papers.ended_statements))));
        }
        if let Some(manifest) = &papers.manifest {
            files.push(("manifest", self.add(Kind::Blob, &manifest.to_bytes())));
        }
        let headers = format!("aye-event {event}\naye-statement {line}\n");
        self.commit(self.tree(&files), parents, &headers, "reject")
    }

    pub(in crate::store) fn set(&self, name: &str, id: ObjectId) {
        refs::set(self.store.repository(), name, id).unwrap();
    }

    /// The ref of another clone.
    pub(in crate::store) fn fetched(&self, clone: u64, thread: ObjectId) -> String {
        format!("{}origin/{clone:016x}/{thread}", refs::REMOTES)
    }

    pub(in crate::store) fn read(&self, thread: ObjectId) -> Thread {
        Threads::new(&self.store).read(&thread).unwrap()
    }

    fn fails(&self, thread: ObjectId) -> &'static str {
        Threads::new(&self.store).read(&thread).unwrap_err().code().id
    }
}

pub(in crate::store) fn papers() -> DecisionDocuments {
    let time = DateTime::from_timestamp(2, 0).unwrap();
    let actor = sample::person("ada");
    let statement = Statement::new(Verdict::Reject, actor, Evidence::Terminal, time);
    DecisionDocuments {
        statement,
        sha256: String::new(),
        manifest: None,
        ended_statements: Vec::new(),
        fault: None,
    }
}

fn ids(thread: &Thread) -> Vec<String> {
    thread.history.events().iter().map(|stamped| stamped.id.clone()).collect()
}

#[test]
fn thread_is_the_union_of_its_refs() {
    let scene = Scene::new();
    let first = scene.propose(0);
    let [own, other] = ["mine", "yours"].map(|text| scene.comment(&[first], text));
    scene.set(&Space::Shared.name(&first), own);
    scene.set(&scene.fetched(1, first), other);
    scene.set(&scene.fetched(2, first), first);
    scene.set(&format!("{}{}/{first}", "refs/aye/remotes/a/b/", OTHER), other);
    let thread = scene.read(first);
    let mut tips = vec![own, other];
    tips.sort_unstable();
    assert_eq!((&thread.tips, thread.own, thread.space), (&tips, Some(own), Space::Shared));
    assert_eq!((thread.history.events().len(), thread.parents().unwrap()), (3, tips));
    assert_eq!(thread.set_aside, []);
    let ids = vec![OTHER.to_owned(), CLONE.to_owned()];
    assert_eq!(thread.clone_of(&ids), Some(CLONE.to_owned()));
    assert_eq!(thread.clone_of(&ids[..1]), Some(OTHER.to_owned()));
    assert_eq!(first_of(&scene.store, other), Some(first));
}

#[test]
fn one_bad_ref_is_set_aside_alone() {
    let scene = Scene::new();
    let (first, stranger) = (scene.propose(0), scene.propose(9));
    let own = scene.comment(&[first], "mine");
    scene.set(&Space::Shared.name(&first), own);
    let empty = scene.tree(&[]);
    let comment = "{\"actor\":{\"email\":\"ada@x\",\"kind\":\"human\",\"name\":\"ada\"},\"clone\":\"0123456789abcdef\",\"data\":{\"body\":\"x\"},\"kind\":\"comment\",\"time\":\"1970-01-01T00:00:01.000Z\",\"v\":2}";
    let event = format!("aye-event {comment}\n");
    let missing = ObjectId::from_hex("1".repeat(40).as_bytes()).unwrap();
    let blob = scene.add(Kind::Blob, b"x");
    let (mut long, mut wide) = (first, Vec::new());
    for at in 0..MOST.0 {
        long = scene.comment(&[long], &at.to_string());
    }
    for at in 0..=MOST_PARENTS {
        wide.push(scene.comment(&[first], &format!("wide {at}")));
    }
    let ends = ["a".repeat(64)];
    let mut named = papers();
    named.statement.ends = Some(ends_sha256(&ends));
    let large = format!("aye-event {}\n", "x".repeat(MOST_BYTES as usize));
    let cases = [
        ("no header", scene.commit(empty, &[own], "", "x"), "thread_damaged"),
        (
            "spaces",
            scene.commit(empty, &[own], &event.replace(":2}", ": 2}"), "x"),
            "thread_damaged",
        ),
        ("twice", scene.commit(empty, &[own], &event.repeat(2), "x"), "thread_damaged"),
        ("in the message", scene.commit(empty, &[own], &event, &event), "thread_damaged"),
        ("two lines", scene.commit(empty, &[own], &format!("{event} x\n"), "x"), "thread_damaged"),
        ("too large", scene.commit(empty, &[own], &large, "x"), "thread_damaged"),
        ("too many parents", scene.commit(empty, &wide, &event, "x"), "thread_damaged"),
        (
            "parents out of order",
            {
                let mut two = [own, wide[0]];
                two.sort_unstable_by(|a, b| b.cmp(a));
                let text = format!(
                    "tree {empty}\nparent {}\nparent {}\nauthor A <> 0 +0000\ncommitter A <> 0 +0000\n{event}\nx\n",
                    two[0], two[1]
                );
                scene.add(Kind::Commit, text.as_bytes())
            },
            "thread_damaged",
        ),
        ("another thread", stranger, "thread_damaged"),
        ("merged with another thread", scene.comment(&[own, stranger], "x"), "thread_damaged"),
        (
            "below a bad one",
            scene.comment(&[scene.commit(empty, &[own], "", "x")], "x"),
            "thread_damaged",
        ),
        ("a blob", blob, "thread_damaged"),
        ("an end without a list", scene.reject(first, &[own], &named), "thread_damaged"),
        ("missing", scene.comment(&[missing], "x"), "thread_incomplete"),
        ("too long", long, "thread_too_long"),
    ];
    for (at, (what, tip, code)) in cases.iter().enumerate() {
        let name = scene.fetched(at as u64, first);
        scene.set(&name, *tip);
        let thread = scene.read(first);
        let aside: Vec<_> =
            thread.set_aside.iter().map(|it| (it.name.as_str(), it.code.id)).collect();
        assert_eq!(aside, [(name.as_str(), *code)], "{what}: {:?}", thread.set_aside);
        assert_eq!(ids(&thread), [first.to_string(), own.to_string()], "{what}");
        assert_eq!((&thread.tips, thread.parents().unwrap()), (&vec![own], vec![own]), "{what}");
        // An own bad ref is an error, and the thread is never folded without it.
        scene.set(&Space::Shared.name(&first), *tip);
        assert_eq!(scene.fails(first), *code, "{what}");
        scene.set(&Space::Shared.name(&first), own);
        refs::remove(scene.store.repository(), &name).unwrap();
    }
    let name = scene.fetched(1, first);
    std::fs::create_dir_all(scene.top().join(".git").join(&name).parent().unwrap()).unwrap();
    std::fs::write(scene.top().join(".git").join(&name), "nonsense\n").unwrap();
    assert_eq!(scene.read(first).set_aside[0].name, name);
}

#[test]
fn papers_are_what_the_statement_names() {
    let scene = Scene::new();
    let first = scene.propose(0);
    scene.set(&Space::Shared.name(&first), first);
    let ends = vec!["a".repeat(64), "b".repeat(64)];
    let manifest = sample::manifest(&[sample::change("a.txt", "a", "b0")]);
    let mut whole = papers();
    whole.ended_statements.clone_from(&ends);
    whole.statement.ends = Some(ends_sha256(&ends));
    let bytes = manifest.to_bytes();
    let id = scene.add(Kind::Blob, &bytes).to_string();
    let sha256 = crate::sha256::hex(&bytes);
    whole.statement.manifest = Some(crate::proposal::event::BlobRef { id, sha256 });
    whole.manifest = Some(manifest.clone());
    let read = |papers: &DecisionDocuments| {
        let tip = scene.reject(first, &[first], papers);
        scene.set(&Space::Shared.name(&first), tip);
        scene.read(first).history.papers(&tip.to_string()).cloned().unwrap()
    };
    let found = read(&whole);
    assert_eq!(
        (&found.ended_statements, &found.manifest, found.fault),
        (&ends, &whole.manifest, None)
    );
    assert_eq!(found.sha256, crate::sha256::hex(&found.statement.to_line().unwrap()));
    let mut other = whole.clone();
    other.ended_statements.pop();
    assert!(read(&other).fault.is_some());
    let mut other = whole.clone();
    other.statement.manifest.as_mut().unwrap().sha256 = "c".repeat(64);
    assert!(read(&other).fault.is_some());
    let tip = scene.reject(first, &[first], &papers());
    scene.set(&Space::Shared.name(&first), tip);
    assert_eq!(fold(&scene.read(first).history).unwrap().skipped, []);
}

#[test]
fn event_holds_the_content_that_it_names() {
    let scene = Scene::new();
    let [before, after] = ["a", "b0"].map(|text| scene.add(Kind::Blob, text.as_bytes()));
    let mut change = sample::change("a.txt", "a", "b0");
    let entry = |id: ObjectId| Some(crate::proposal::Entry::new(id.to_string(), "100644"));
    (change.before, change.after) = (entry(before), entry(after));
    let (actor, clone) = (sample::person("ada"), CLONE.to_owned());
    let data = sample::propose(Subject::Code, vec![change]);
    let event = Event { actor, agent: None, clone, time: DateTime::UNIX_EPOCH, data };
    let line = String::from_utf8(event.to_line().unwrap()).unwrap();
    let held = |files: &[(&str, ObjectId)]| {
        let below = scene.tree(files);
        let data = [b"40000 after\0".as_slice(), below.as_bytes()].concat();
        let tree = scene.add(Kind::Tree, &data);
        let tip = scene.commit(tree, &[], &format!("aye-event {line}\n"), "x");
        scene.set(&Space::Shared.name(&tip), tip);
        scene.read(tip).require_content(&scene.store, &tip.to_string())
    };
    held(&[("a", before), ("b", after)]).unwrap();
    assert!(held(&[("a", before)]).unwrap_err().is(&codes::THREAD_DAMAGED));
}

#[test]
fn fetched_refs_above_the_limit_are_named_and_not_read() {
    let scene = Scene::new();
    let first = scene.propose(0);
    scene.set(&Space::Shared.name(&first), first);
    for at in 0..(MOST_FETCHED as u64 + 3) {
        let tip = scene.comment(&[first], &at.to_string());
        scene.set(&scene.fetched(at, first), tip);
    }
    let thread = scene.read(first);
    assert_eq!((thread.tips.len(), thread.set_aside.len()), (MOST_FETCHED, 3));
    assert!(thread.set_aside.iter().all(|it| it.code.id == "too_many_refs"));
    // The own tip is behind them, and was taken first.
    assert_eq!(thread.parents().unwrap().len(), MOST_PARENTS - 1);
}

/// Two floods below an honest event do not fill the honest clone's own ref.
#[test]
fn writer_keeps_room_for_its_own_events() {
    let scene = Scene::new();
    let first = scene.propose(0);
    let own = scene.comment(&[first], "mine");
    scene.set(&Space::Shared.name(&first), own);
    for clone in 0..2 {
        let mut tip = own;
        for at in 0..400 {
            tip = scene.comment(&[tip], &format!("{clone} {at}"));
        }
        scene.set(&scene.fetched(clone, first), tip);
    }
    let thread = scene.read(first);
    assert_eq!((thread.tips.len(), thread.history.events().len()), (2, 802));
    assert_eq!((thread.parents().unwrap().len(), thread.len()), (1, 402));
    let mut tip = own;
    for at in 0..MOST.0 - 2 {
        tip = scene.comment(&[tip], &format!("own {at}"));
    }
    scene.set(&Space::Shared.name(&first), tip);
    let thread = scene.read(first);
    assert_eq!(thread.parents().unwrap_err().code().id, "thread_too_long");
}

#[test]
fn private_thread_does_not_count_what_was_fetched_of_it() {
    let scene = Scene::new();
    let first = scene.propose(0);
    let [draft, theirs, shared] =
        ["draft", "theirs", "shared"].map(|it| scene.comment(&[first], it));
    scene.set(&Space::Private.name(&first), draft);
    scene.set(&scene.fetched(1, first), theirs);
    let thread = scene.read(first);
    assert_eq!((thread.space, &thread.tips), (Space::Private, &vec![draft]));
    assert_eq!(thread.set_aside[0].code.id, "published_elsewhere");
    assert_eq!(thread.name(), Space::Private.name(&first));
    // The drafts of a published thread are no parents.
    scene.set(&Space::Shared.name(&first), shared);
    let thread = scene.read(first);
    assert_eq!((thread.space, thread.own), (Space::Shared, Some(shared)));
    assert!(!ids(&thread).contains(&draft.to_string()) && thread.set_aside.is_empty());
    assert!(Threads::new(&scene.store).read_private(&first).is_err());
}

#[test]
fn threads_are_found_by_prefix_and_a_tombstone_hides_one() {
    let scene = Scene::new();
    let all: BTreeSet<ObjectId> = (0..20).map(|at| scene.propose(at)).collect();
    for (at, id) in all.iter().enumerate() {
        match at % 3 {
            0 => scene.set(&Space::Shared.name(id), *id),
            1 => scene.set(&Space::Private.name(id), *id),
            _ => scene.set(&scene.fetched(at as u64, *id), *id),
        }
    }
    for is_packed in [false, true] {
        if is_packed {
            scene.git(&["pack-refs", "--all", "--prune"]);
        }
        assert_eq!(Threads::new(&scene.store).ids().unwrap(), all);
        for id in &all {
            let prefix = &id.to_string()[..6];
            let expected: BTreeSet<ObjectId> =
                all.iter().filter(|id| id.to_string().starts_with(prefix)).copied().collect();
            let threads = Threads::new(&scene.store);
            assert_eq!(threads.find(prefix).unwrap(), expected);
            let (alone, key) = (threads.tips(id).unwrap(), threads.key(id).unwrap());
            threads.ids().unwrap();
            assert_eq!(threads.find(prefix).unwrap(), expected);
            let again = Threads::new(&scene.store);
            again.ids().unwrap();
            assert_eq!((again.tips(id).unwrap(), again.key(id).unwrap()), (alone, key));
            assert!(threads.is_current());
        }
    }
    let (gone, before) = (*all.first().unwrap(), Threads::new(&scene.store));
    before.ids().unwrap();
    scene.set(&Space::Shared.tombstone(&gone), scene.comment(&[], "gone"));
    assert!(!before.is_current());
    let threads = Threads::new(&scene.store);
    assert!(
        threads.tips(&gone).unwrap().is_empty()
            && threads.find(&gone.to_string()).unwrap().is_empty()
    );
    assert_eq!((threads.ids().unwrap().len(), scene.fails(gone)), (19, "proposal_purged"));
    // Another clone's tombstone hides nothing.
    let other = *all.last().unwrap();
    scene.set(&format!("{}origin/{OTHER}/gone/{other}", refs::REMOTES), scene.comment(&[], "gone"));
    assert!(Threads::new(&scene.store).ids().unwrap().contains(&other));
}

/// 1,000 refs of 100 MB in all.
#[test]
fn many_hostile_refs_cost_little() {
    let scene = Scene::new();
    let first = scene.propose(0);
    scene.set(&Space::Shared.name(&first), first);
    let body = "x".repeat(99 << 10);
    for at in 0..1_000 {
        let tip = scene.comment(&[first], &format!("{at} {body}"));
        scene.set(&scene.fetched(at, first), tip);
    }
    let thread = scene.read(first);
    assert_eq!((thread.tips.len(), thread.set_aside.len()), (MOST_FETCHED, 1_000 - MOST_FETCHED));
    // Each of these refs leads to more than all may together.
    let mut tip = first;
    for at in 0..100 {
        tip = scene.comment(&[tip], &format!("{at} {}", body.repeat(5)));
    }
    scene.set(&scene.fetched(0, first), tip);
    let code = scene.read(first).set_aside[0].code.id;
    assert_eq!(code, "thread_too_long");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn tips_reach_everything_and_not_each_other(
        edges in proptest::collection::vec((any::<u16>(), any::<u16>()), 1..24),
        named in proptest::collection::vec(any::<u16>(), 1..8),
    ) {
        let scene = Scene::new();
        let mut events = vec![scene.propose(0)];
        for (at, (a, b)) in edges.iter().enumerate() {
            let parent = |seed: &u16| events[usize::from(*seed) % events.len()];
            let parents: BTreeSet<ObjectId> = [parent(a), parent(b)].into();
            let parents: Vec<ObjectId> = parents.into_iter().collect();
            events.push(scene.comment(&parents, &at.to_string()));
        }
        for (at, seed) in named.iter().enumerate() {
            scene.set(&scene.fetched(at as u64, events[0]), events[usize::from(*seed) % events.len()]);
        }
        let thread = scene.read(events[0]);
        let at = |id: &ObjectId| thread.history.at(&id.to_string()).unwrap();
        let tips: Vec<usize> = thread.tips.iter().map(at).collect();
        for tip in &tips {
            prop_assert!(tips.iter().all(|other| !thread.history.saw(*other, *tip)));
        }
        for event in 0..thread.history.events().len() {
            let is_reached = |tip: &usize| *tip == event || thread.history.saw(*tip, event);
            prop_assert!(tips.iter().any(is_reached));
        }
        prop_assert_eq!(thread.parents().unwrap(), thread.tips.clone());
    }
}
