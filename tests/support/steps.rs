//! The steps at which tests stop the process.

use std::path::Path;

/// Every step at which an event is written.
pub const STORE: &[&str] = &[
    "store.objects.write", "store.objects.written", "store.objects.rename", "store.ref.write",
    "store.ref.rename", "store.ref.moved",
];

/// Every step at which refs are deleted, some of which are packed.
pub const DELETE: &[&str] =
    &["store.refs.locked", "store.packed.rename", "store.ref.remove", "store.refs.removed"];

/// The names of all steps in the source.
pub fn all() -> Vec<String> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let mut names = Vec::new();
    for entry in walkdir::WalkDir::new(source).sort_by_file_name().into_iter().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        let calls = text.split("failpoint!(\"").skip(1);
        names.extend(calls.filter_map(|call| call.split('"').next().map(str::to_owned)));
    }
    names.sort();
    names.dedup();
    assert!(names.iter().any(|name| name == STORE[0]), "{names:?}");
    names
}

/// A value of `FAILPOINTS` that ends the process at one of several of these steps, whichever it reaches.
pub fn kill(random: &mut Random, names: &[String]) -> String {
    let mut chosen = vec![(*random.pick(STORE).expect("a step")).to_owned()];
    chosen.extend((0..4).filter_map(|_| random.pick(names).cloned()));
    chosen.sort();
    chosen.dedup();
    let at = |name: String| format!("{name}={}*off->return", random.below(3));
    chosen.into_iter().map(at).collect::<Vec<_>>().join(";")
}

/// Removes the lock files that are git's own, which a stopped process leaves and only a person removes.
pub fn unlock(git_dir: &Path) {
    let _ = std::fs::remove_file(git_dir.join("packed-refs.lock"));
    let fetched = walkdir::WalkDir::new(git_dir.join("refs/aye/remotes")).into_iter().flatten();
    for entry in fetched.filter(|entry| entry.path().extension().is_some_and(|it| it == "lock")) {
        std::fs::remove_file(entry.path()).expect("removed");
    }
}

/// SplitMix64: a seed is all of its state.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { Some(&from[self.below(from.len())]) }
    }
}
