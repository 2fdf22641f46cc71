//! Relations of pending proposals: one depends on another, or two change the same lines. Found from
//! content ids and touched lines; the caller merges where lines meet.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use super::{Entry, ProposalId};

pub const MOST_NAMED: usize = 3;

/// Limit of compared pairs, since anyone who can push chooses how many exist. Files with few
/// changes come first, then the oldest proposals. 1,400 on one file fit.
pub const MOST_PAIRS: usize = 1 << 20;

/// Dependencies per proposal and file; the oldest are kept.
pub const MAX_DEPENDENCIES: usize = 64;

#[derive(Clone, Debug)]
pub struct TouchedFile {
    /// From `RepoPath::display`.
    pub path: String,
    pub before: Option<Entry>,
    pub after: Option<Entry>,
    /// Touched lines of `before`, from 0; an empty range lies between two lines. `None` if unknown.
    pub lines: Option<Vec<Range<u32>>>,
}

#[derive(Clone, Debug)]
pub struct PendingProposal {
    pub id: ProposalId,
    pub touches: Vec<TouchedFile>,
    /// Results of earlier revisions.
    pub earlier: Vec<(String, Entry)>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    pub id: ProposalId,
    /// The other was made on an earlier revision of it.
    pub is_revised: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelatedProposals {
    pub named: Vec<ProposalId>,
    pub count: usize,
}

impl RelatedProposals {
    fn add(&mut self, id: &ProposalId) {
        if self.named.len() < MOST_NAMED {
            self.named.push(id.clone());
        }
        self.count += 1;
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relations {
    /// Producers of content that it starts from and that exists nowhere else.
    pub depends_on: Vec<Dependency>,
    /// Per such file, indices in `stands_on`.
    ways: Vec<Vec<usize>>,
    /// Same lines of the same content, changed differently: not all can be applied.
    pub same_lines: RelatedProposals,
    /// Lines next to or within the other's, and both can be applied.
    pub neighbouring: RelatedProposals,
    /// Same files, but other lines or other content.
    pub same_file: RelatedProposals,
}

impl Relations {
    /// Dependencies to apply first, oldest first. One producer per file suffices: best one that
    /// `has` accepts, then the oldest, revised ones last.
    pub fn needed(&self, has: impl Fn(&Dependency) -> bool) -> Vec<&Dependency> {
        let mut needed: BTreeSet<usize> = BTreeSet::new();
        // Files with a single producer leave no choice.
        let mut files: Vec<&Vec<usize>> = self.ways.iter().collect();
        files.sort_by_key(|ways| ways.len());
        for ways in files {
            if ways.iter().any(|way| needed.contains(way)) {
                continue;
            }
            let first = |test: &dyn Fn(&Dependency) -> bool| {
                ways.iter().copied().find(|at| test(&self.depends_on[*at]))
            };
            let way = first(&|lower| !lower.is_revised && has(lower))
                .or_else(|| first(&|lower| !lower.is_revised))
                .or_else(|| first(&has));
            needed.extend(way.or(ways.first().copied()));
        }
        needed.into_iter().map(|at| &self.depends_on[at]).collect()
    }

    fn add(&mut self, lower: Dependency) {
        self.ways.push(vec![self.depends_on.len()]);
        self.depends_on.push(lower);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackBelow {
    /// Lowest first.
    pub taken: Vec<ProposalId>,
    /// Needed but not accepted.
    pub lacks: Option<Dependency>,
    pub is_too_high: bool,
}

/// At most `most` dependencies, direct and indirect, that `takes` accepts.
pub fn stack_below(
    related: &BTreeMap<ProposalId, Relations>,
    id: &ProposalId,
    most: usize,
    takes: impl Fn(&Dependency) -> bool,
) -> StackBelow {
    let lower_of = |id: &ProposalId| -> Vec<&Dependency> {
        related.get(id).map_or_else(Vec::new, |found| found.needed(&takes))
    };
    let mut below = StackBelow::default();
    // Fetched proposals may form a cycle.
    let mut begun = BTreeSet::from([id.clone()]);
    let mut path = vec![(id, lower_of(id).into_iter())];
    while let Some((at, left)) = path.last_mut() {
        match left.next() {
            Some(lower) if !takes(lower) => below.lacks = below.lacks.or(Some(lower.clone())),
            Some(lower) if begun.contains(&lower.id) => {}
            Some(_) if begun.len() > most => below.is_too_high = true,
            Some(lower) => {
                begun.insert(lower.id.clone());
                path.push((&lower.id, lower_of(&lower.id).into_iter()));
            }
            None => {
                let done = (*at).clone();
                path.pop();
                if !path.is_empty() {
                    below.taken.push(done);
                }
            }
        }
    }
    below
}

/// `open` is sorted by age. `recorded` names the pending proposal that each was made on; content is
/// not compared for files of that one and its dependencies. `is_present`: HEAD or the work tree has
/// this content of this file. `both_apply`: the changes of two proposals to a file apply in either
/// order; asked only where their lines meet.
pub fn relations(
    open: &[PendingProposal],
    recorded: &BTreeMap<ProposalId, Dependency>,
    mut is_present: impl FnMut(&str, &Entry) -> bool,
    mut both_apply: impl FnMut(&str, [&ProposalId; 2]) -> bool,
) -> BTreeMap<ProposalId, Relations> {
    let mut by_path: BTreeMap<&str, Vec<(usize, &TouchedFile)>> = BTreeMap::new();
    let mut earlier: BTreeMap<&str, HashMap<&Entry, Vec<usize>>> = BTreeMap::new();
    for (at, proposal) in open.iter().enumerate() {
        for touch in &proposal.touches {
            by_path.entry(&touch.path).or_default().push((at, touch));
        }
        for (path, entry) in &proposal.earlier {
            earlier.entry(path).or_default().entry(entry).or_default().push(at);
        }
    }
    let mut found = vec![Relations::default(); open.len()];
    // Per file, its producers.
    let mut ways: Vec<BTreeSet<Vec<(usize, bool)>>> = vec![BTreeSet::new(); open.len()];
    for (path, touches) in &by_path {
        let older = earlier.get(path);
        let mut made: HashMap<&Entry, Vec<usize>> = HashMap::new();
        for (at, touch) in touches {
            if let Some(base) = &touch.before {
                let current = made.get(base).into_iter().flatten();
                let mut on: Vec<(usize, bool)> =
                    current.map(|other| (*other, false)).take(MAX_DEPENDENCIES).collect();
                let revised = older.and_then(|older| older.get(base)).into_iter().flatten();
                for other in revised.take_while(|other| *other < at).take(MAX_DEPENDENCIES) {
                    if on.iter().all(|(known, _)| known != other) {
                        on.push((*other, true));
                    }
                }
                if !on.is_empty() && !is_present(path, base) {
                    on.sort_unstable();
                    ways[*at].insert(on);
                }
            }
            if let Some(after) = touch.after.as_ref().filter(|_| touch.after != touch.before) {
                made.entry(after).or_default().push(*at);
            }
        }
    }
    let places: HashMap<&ProposalId, usize> =
        open.iter().enumerate().map(|(at, open)| (&open.id, at)).collect();
    let made_on: Vec<Option<usize>> = open
        .iter()
        .map(|open| recorded.get(&open.id).and_then(|on| places.get(&on.id)).copied())
        .collect();
    let mut lower: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); open.len()];
    for (at, files) in ways.iter().enumerate() {
        let mut said = BTreeSet::new();
        if let Some(on) = recorded.get(&open[at].id) {
            found[at].add(on.clone());
        }
        if let Some(first) = made_on[at] {
            lower[at].insert(first);
            said = reached(first, |at| match made_on[at] {
                Some(on) => vec![on],
                None => only_ways(&ways[at]).collect(),
            });
        }
        let left = files.iter().filter(|on| !on.iter().any(|(other, _)| said.contains(other)));
        // By age.
        let all: BTreeSet<(usize, bool)> = left.clone().flatten().copied().collect();
        let mut place = HashMap::new();
        for (other, is_revised) in all {
            lower[at].insert(other);
            place.insert((other, is_revised), found[at].depends_on.len());
            found[at].depends_on.push(Dependency { id: open[other].id.clone(), is_revised });
        }
        found[at].ways.extend(left.map(|on| on.iter().map(|one| place[one]).collect()));
    }
    let both_apply = |path: &str, at: [usize; 2]| both_apply(path, at.map(|at| &open[at].id));
    let compared = Compared::new(by_path.values(), open.len(), both_apply);
    let mut linked: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); open.len()];
    for (at, lower) in lower.iter().enumerate() {
        for below in lower.range(..at) {
            linked[at].insert(*below);
            linked[*below].insert(at);
        }
    }
    for (at, found) in found.iter_mut().enumerate() {
        let clashing = &compared.same_lines[at];
        for of in clashing.difference(&linked[at]) {
            found.same_lines.add(&open[*of].id);
        }
        let near = &compared.neighbouring[at];
        let is_other = |of: &usize| *of != at && !clashing.contains(of) && !linked[at].contains(of);
        for of in compared.of_files(at).iter().filter(|of| is_other(of)) {
            let by_place =
                if near.contains(of) { &mut found.neighbouring } else { &mut found.same_file };
            by_place.add(&open[*of].id);
        }
    }
    let found = open.iter().zip(found).filter(|(_, found)| *found != Relations::default());
    let mut found: BTreeMap<ProposalId, Relations> =
        found.map(|(proposal, found)| (proposal.id.clone(), found)).collect();
    for (id, on) in recorded {
        // Recorded only: no shared file.
        let related = found.entry(id.clone()).or_default();
        if related.depends_on.is_empty() {
            related.add(on.clone());
        }
    }
    found
}

fn only_ways(ways: &BTreeSet<Vec<(usize, bool)>>) -> impl Iterator<Item = usize> {
    let only = ways.iter().filter_map(|way| if let [one] = way[..] { Some(one) } else { None });
    only.map(|(other, _)| other)
}

/// Visited for indirect dependencies of one proposal.
const MOST_REACHED: usize = 256;

fn reached(first: usize, lower: impl Fn(usize) -> Vec<usize>) -> BTreeSet<usize> {
    let (mut reached, mut next) = (BTreeSet::from([first]), vec![first]);
    while let Some(at) = next.pop() {
        for below in lower(at) {
            if reached.len() < MOST_REACHED && reached.insert(below) {
                next.push(below);
            }
        }
    }
    reached
}

/// Oldest proposal first.
type Touches<'t> = Vec<(usize, &'t TouchedFile)>;

/// Proposals of common files, by their places in the list of all. Pairs are compared and not stored: of many
/// proposals for one file, hardly any change the same lines.
struct Compared {
    /// The proposals of each file, oldest first, as far as they were compared.
    files: Vec<Vec<usize>>,
    /// Places in `files`, by proposal.
    files_of: Vec<Vec<usize>>,
    same_lines: Vec<BTreeSet<usize>>,
    neighbouring: Vec<BTreeSet<usize>>,
}

impl Compared {
    fn new<'t>(
        files: impl Iterator<Item = &'t Touches<'t>>,
        count: usize,
        mut both_apply: impl FnMut(&str, [usize; 2]) -> bool,
    ) -> Self {
        let mut by_size: Vec<&Touches<'_>> = files.collect();
        by_size.sort_by_key(|touches| touches.len());
        let mut compared = Self {
            files: Vec::new(),
            files_of: vec![Vec::new(); count],
            same_lines: vec![BTreeSet::new(); count],
            neighbouring: vec![BTreeSet::new(); count],
        };
        let mut left = MOST_PAIRS;
        for touches in by_size {
            // Only proposals that start from the same content can clash.
            let mut same_base: HashMap<Option<&Entry>, Vec<(usize, &TouchedFile)>> = HashMap::new();
            let mut file = Vec::new();
            for (place, (at, touch)) in touches.iter().enumerate() {
                if place > left {
                    break;
                }
                left -= place;
                let group = same_base.entry(touch.before.as_ref()).or_default();
                for (other, those) in group.iter().filter(|(other, _)| other != at) {
                    let pairs = match meeting(those, touch) {
                        Meeting::None => continue,
                        Meeting::Lines if both_apply(&touch.path, [*other, *at]) => {
                            &mut compared.neighbouring
                        }
                        Meeting::Lines | Meeting::File => &mut compared.same_lines,
                    };
                    pairs[*at].insert(*other);
                    pairs[*other].insert(*at);
                }
                group.push((*at, touch));
                compared.files_of[*at].push(compared.files.len());
                file.push(*at);
            }
            compared.files.push(file);
        }
        compared
    }

    /// The proposals of all files of one, and itself, in order.
    fn of_files(&self, at: usize) -> Cow<'_, [usize]> {
        match self.files_of[at][..] {
            [] => Cow::Borrowed(&[]),
            [one] => Cow::Borrowed(&self.files[one]),
            ref many => {
                let mut all: Vec<usize> =
                    many.iter().flat_map(|file| &self.files[*file]).copied().collect();
                all.sort_unstable();
                all.dedup();
                Cow::Owned(all)
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Meeting {
    None,
    /// Three-way merge conflicts, unless both make the same of the lines.
    Lines,
    /// One creates or removes the file.
    File,
}

/// Meeting of two changes that start from the same content.
fn meeting(one: &TouchedFile, other: &TouchedFile) -> Meeting {
    if one.after == other.after {
        return Meeting::None;
    }
    if one.before.is_none() {
        return Meeting::File;
    }
    let goes = if one.after.is_none() { Some((one, other)) } else { None };
    let goes = goes.or((other.after.is_none()).then_some((other, one)));
    let met = if goes.is_some() { Meeting::File } else { Meeting::Lines };
    let (Some(lines), Some(others)) = (&one.lines, &other.lines) else {
        return if goes.is_some() { met } else { Meeting::None };
    };
    if let Some((gone, stays)) = goes {
        // A removal touches every line; a move only the lines that it changes.
        let touches =
            |touch: &TouchedFile| touch.lines.as_ref().is_some_and(|lines| !lines.is_empty());
        if touches(gone) && !touches(stays) {
            return met;
        }
    }
    let (mut one, mut other) = (lines.iter().peekable(), others.iter().peekable());
    while let (Some(a), Some(b)) = (one.peek(), other.peek()) {
        if meet(a, b) {
            return met;
        }
        if a.end <= b.start {
            one.next()
        } else {
            other.next()
        };
    }
    Meeting::None
}

/// As in a three-way merge: edits meet unless a line that both keep lies between.
fn meet(a: &Range<u32>, b: &Range<u32>) -> bool {
    a.start <= b.end && b.start <= a.end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::changeset::hunks;
    use crate::changeset::merge::{MergeLabels, MergeOutcome, merge};

    fn entry(id: &str) -> Entry {
        Entry::new(id, "100644")
    }

    fn id(n: usize) -> ProposalId {
        ProposalId::parse(&format!("prop_{n:010}")).unwrap()
    }

    fn open(n: usize, before: &str, after: &str) -> PendingProposal {
        let (before, after) = (Some(entry(before)), Some(entry(after)));
        let touch = TouchedFile { path: "a".into(), before, after, lines: None };
        PendingProposal { id: id(n), touches: vec![touch], earlier: Vec::new() }
    }

    #[test]
    fn what_one_makes_another_stands_on() {
        let all = [open(0, "a", "b"), open(1, "b", "c"), open(2, "c", "d"), open(3, "b", "e")];
        let found = relations(&all, &BTreeMap::new(), |_, entry| entry.id == "a", |_, _| false);
        let on = |n: usize| -> Vec<ProposalId> {
            found[&id(n)].depends_on.iter().map(|lower| lower.id.clone()).collect()
        };
        assert_eq!((on(0), on(1), on(2), on(3)), (vec![], vec![id(0)], vec![id(1)], vec![id(0)]));
    }

    #[test]
    fn a_move_is_of_the_lines_that_it_changes_and_a_removal_of_all() {
        let touch = |n: usize, after: Option<&str>, lines: Option<Range<u32>>| {
            let (before, after) = (Some(entry("a")), after.map(entry));
            let lines = Some(lines.into_iter().collect());
            let touch = TouchedFile { path: "a".into(), before, after, lines };
            PendingProposal { id: id(n), touches: vec![touch], earlier: Vec::new() }
        };
        let edit = touch(0, Some("b"), Some(1..2));
        let mode = touch(0, Some("b"), None);
        let (moved, elsewhere) = (touch(1, None, None), touch(1, None, Some(5..6)));
        let (near, removed) = (touch(1, None, Some(2..3)), touch(1, None, Some(0..9)));
        let same = |one: &PendingProposal, other: &PendingProposal| {
            let found = relations(
                &[one.clone(), other.clone()],
                &BTreeMap::new(),
                |_, _| true,
                |_, _| false,
            );
            found[&id(0)].same_lines.count == 1
        };
        assert!(!same(&edit, &moved) && !same(&edit, &elsewhere) && !same(&mode, &moved));
        assert!(same(&edit, &near) && same(&edit, &removed) && same(&mode, &removed));
    }

    #[test]
    fn a_revert_and_what_is_present_stand_on_nothing() {
        let all = [open(0, "b", "a"), open(1, "a", "b"), open(2, "b", "c")];
        let found = relations(&all, &BTreeMap::new(), |_, _| true, |_, _| false);
        assert!(found.values().all(|found| found.depends_on.is_empty()), "{found:?}");
    }

    #[test]
    fn an_earlier_revision_is_said_to_be_one() {
        let mut lower = open(0, "a", "b2");
        lower.earlier.push(("a".into(), entry("b1")));
        let found =
            relations(&[lower, open(1, "b1", "c")], &BTreeMap::new(), |_, _| false, |_, _| false);
        assert_eq!(found[&id(1)].depends_on, [Dependency { id: id(0), is_revised: true }]);
    }

    #[test]
    fn what_is_recorded_counts_instead_of_contents() {
        let all = [open(0, "a", "b"), open(1, "a", "b"), open(2, "b", "c")];
        let lower = |n: usize, is_revised| Dependency { id: id(n), is_revised };
        let recorded = BTreeMap::from([(id(2), lower(1, false)), (id(9), lower(0, true))]);
        let found = relations(&all, &recorded, |_, _| false, |_, _| false);
        assert_eq!(found[&id(2)].depends_on, [lower(1, false)]);
        assert_eq!(found[&id(2)].same_file.named, [id(0)]);
        assert_eq!(found[&id(9)].depends_on, [lower(0, true)]);
    }

    #[test]
    fn very_many_on_one_line_are_counted() {
        let all: Vec<PendingProposal> = (0..1_000)
            .map(|n| {
                let mut one = open(n, "a", &format!("b{n}"));
                one.touches[0].lines = Some(std::iter::once(5..6).collect());
                one
            })
            .collect();
        let found = relations(&all, &BTreeMap::new(), |_, _| true, |_, _| false);
        assert_eq!(found[&id(7)].same_lines.count, 999);
        assert_eq!(found[&id(7)].same_lines.named, [id(0), id(1), id(2)]);
    }

    #[test]
    fn of_too_many_on_one_file_the_oldest_are_compared_and_other_files_are_compared_first() {
        let mut all: Vec<PendingProposal> =
            (0..5_000).map(|n| open(n, "a", &format!("b{n}"))).collect();
        for one in &mut all[4_998..] {
            one.touches[0].path = "z".into();
        }
        let found = relations(&all, &BTreeMap::new(), |_, _| true, |_, _| false);
        assert!(found[&id(7)].same_file.count > 1_400);
        assert_eq!(found.get(&id(4_000)), None);
        assert_eq!(found[&id(4_998)].same_file.named, [id(4_999)]);
        all[4_997].touches[0].before = Some(entry("b3"));
        let found = relations(&all, &BTreeMap::new(), |_, _| false, |_, _| false);
        assert_eq!(found[&id(4_997)].depends_on, [Dependency { id: id(3), is_revised: false }]);
    }

    #[test]
    fn of_very_many_that_make_the_same_some_are_named() {
        let lower = (0..3_000).map(|n| open(n, "a", "b"));
        let all: Vec<PendingProposal> =
            lower.chain((3_000..6_000).map(|n| open(n, "b", "c"))).collect();
        let found = relations(&all, &BTreeMap::new(), |_, _| false, |_, _| false);
        assert_eq!(found[&id(5_000)].depends_on.len(), MAX_DEPENDENCIES);
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(0..6_u8, 0..10)
            .prop_map(|lines| lines.iter().flat_map(|n| vec![b'a' + n, b'\n']).collect())
    }

    proptest! {
        #[test]
        fn lines_that_do_not_meet_merge(base in text(), ours in text(), theirs in text()) {
            prop_assume!(!base.is_empty() && !ours.is_empty() && !theirs.is_empty());
            prop_assume!(ours != base && theirs != base && ours != theirs);
            let touch = |after: &[u8], name: &str| TouchedFile {
                path: "a".into(),
                before: Some(entry("base")),
                after: Some(entry(name)),
                lines: Some(hunks::measure(Some(&base), Some(after)).1),
            };
            let sides = MergeLabels { ours: "ours", theirs: "theirs" };
            let merged = merge(&base, &ours, &theirs, sides);
            let met = meeting(&touch(&ours, "ours"), &touch(&theirs, "theirs"));
            let is_clean = matches!(merged, MergeOutcome::Clean(_));
            prop_assert!(is_clean || met == Meeting::Lines, "{merged:?}");
            // Of several edits that meet, some may be the same.
            let lines = |after: &[u8]| hunks::measure(Some(&base), Some(after)).1;
            if let ([one], [other]) = (&lines(&ours)[..], &lines(&theirs)[..])
            {
                prop_assert_eq!(is_clean, !meet(one, other), "{:?}", merged);
            }
        }

        #[test]
        fn of_each_file_somebody_is_needed(
            files in proptest::collection::vec(
                proptest::collection::btree_map(0u8..3, (0u8..4, 0u8..4), 1..4), 1..9,
            ),
            recorded in proptest::collection::vec((0usize..9, 0usize..9, any::<bool>()), 0..3),
            known in proptest::collection::btree_set(0usize..9, 0..5),
        ) {
            let one = |(n, files): (usize, &BTreeMap<u8, (u8, u8)>)| {
                let touch = |(path, (before, after)): (&u8, &(u8, u8))| TouchedFile {
                    path: path.to_string(),
                    before: Some(entry(&before.to_string())),
                    after: Some(entry(&after.to_string())),
                    lines: None,
                };
                PendingProposal { id: id(n), touches: files.iter().map(touch).collect(), earlier: Vec::new() }
            };
            let all: Vec<PendingProposal> = files.iter().enumerate().map(one).collect();
            let recorded = recorded.into_iter().filter(|(upper, lower, _)| upper != lower);
            let recorded: BTreeMap<_, _> = recorded
                .map(|(upper, lower, is_revised)| (id(upper), Dependency { id: id(lower), is_revised }))
                .collect();
            let found = relations(&all, &recorded, |_, entry| entry.id == "0", |_, _| false);
            let known: BTreeSet<ProposalId> = known.into_iter().map(id).collect();
            for (upper, related) in &found {
                let needed = related.needed(|lower| known.contains(&lower.id));
                for way in &related.ways {
                    let of = |at: &usize| needed.contains(&&related.depends_on[*at]);
                    prop_assert!(way.iter().any(of), "{related:?}");
                }
                let below = stack_below(&found, upper, 20, |lower| !lower.is_revised);
                prop_assert!(!below.is_too_high && !below.taken.contains(upper));
                let distinct: BTreeSet<_> = below.taken.iter().collect();
                prop_assert_eq!(distinct.len(), below.taken.len());
                // Only recorded dependencies form cycles.
                for (at, one) in below.taken.iter().enumerate().filter(|_| recorded.is_empty()) {
                    let Some(related) = found.get(one) else { continue };
                    for lower in related.needed(|lower| !lower.is_revised) {
                        prop_assert!(below.taken[..at].contains(&lower.id), "{below:?}");
                    }
                }
            }
        }
    }
}
