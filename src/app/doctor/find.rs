//! What is wrong, and what can be done about it.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::remotes::{leaks, rewound};
use super::{Problem, Wanted, is_leak};
use crate::error::{Error, Result};
use crate::memory::service::settings_problems;
use crate::private::codes::PRIVATE_DIR_UNSAFE;
use crate::proposal::ProposalId;
use crate::repository::codes::INVALID_CONFIG;
use crate::store::codes::{CACHE_TAMPERED, PROPOSAL_ARCHIVED};
use crate::store::{Damage, Examined, Filter, Leftover, Store, Trouble, TroubleKind, View, idle};
use crate::worktree::codes as apply;

/// What a look at everything has found.
pub(super) struct Look {
    /// What is wrong.
    pub(super) problems: Vec<Problem>,
    /// What stopped processes have left.
    pub(super) left: Vec<Leftover>,
}

impl Look {
    /// Looks at `store` and `view`, of which the objects `found` were looked at, as closely as is `wanted`.
    ///
    /// # Errors
    /// Those of the store, where they are no finding.
    pub(super) fn at(
        store: &Store,
        view: &View,
        found: &[Damage],
        wanted: Wanted,
        now: DateTime<Utc>,
    ) -> Result<Self> {
        // First, for notes of this very look are written in the place of what lies there.
        let private = match store.repository().private() {
            Ok(None) => Vec::new(),
            Ok(Some(private)) => private.unsafe_entries(),
            Err(error) => vec![error],
        };
        let left = store.leftovers(view, wanted.full, now)?;
        let mut looking = Looking { store, view, found, now, problems: Vec::new() };
        let (broken, incomplete) = looking.objects();
        looking.lanes(&broken)?;
        let reading = view.hold();
        // As long as lanes are damaged nothing can be held against them.
        if broken.is_empty() {
            looking.proposals()?;
        }
        let examined = store.examine(view, wanted.reads_all(), now)?;
        drop(reading);
        looking.forged_stamp()?;
        looking.private(&private);
        looking.pushes();
        looking.examined(examined, &incomplete);
        looking.settings();
        looking.surroundings(&left);
        Ok(Self { problems: looking.problems, left })
    }
}

/// A look that is under way.
struct Looking<'a> {
    store: &'a Store,
    view: &'a View,
    found: &'a [Damage],
    now: DateTime<Utc>,
    problems: Vec<Problem>,
}

impl<'a> Looking<'a> {
    fn add(&mut self, code: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem::new(code, message));
    }

    fn add_hinted(&mut self, code: &str, message: String, hint: impl Into<String>) {
        self.problems.push(Problem::new(code, message).hint(Some(hint)));
    }

    /// Damaged objects. Returns the refs of the lanes that these break, and the proposals of which some are missing.
    fn objects(&mut self) -> (BTreeSet<&'a str>, BTreeSet<&'a str>) {
        let (mut broken, mut incomplete) = (BTreeSet::new(), BTreeSet::new());
        for damage in self.found {
            self.problems.push(damaged(damage, self.view));
            if damage.breaks_lane() {
                broken.extend([damage.lane_ref()])
            } else {
                incomplete.extend(damage.proposals().iter().map(String::as_str))
            }
        }
        (broken, incomplete)
    }

    /// Lanes, but for those that were `named` with their objects.
    fn lanes(&mut self, named: &BTreeSet<&str>) -> Result<()> {
        let (store, view) = (self.store, self.view);
        for broken in view.broken().iter().filter(|broken| !named.contains(&*broken.name)) {
            let message = format!("{} at commit {}: {}", broken.name, broken.commit, broken.why);
            if broken.is_absent {
                self.add_hinted(TroubleKind::Incomplete.id(), message, broken.hint())
            } else {
                self.add("lane_broken", message)
            }
        }
        for trouble in view.troubles().iter().filter(|trouble| trouble.kind.is_damage()) {
            if trouble.kind != TroubleKind::Unreadable || !named.contains(&*trouble.name) {
                self.add(trouble.kind.id(), trouble.message());
            }
        }
        let purged = TroubleKind::Purged;
        for name in store.archives_of_purged(view)? {
            self.add(purged.id(), format!("{name} holds what was purged by its owner"));
        }
        let of_purged = |trouble: &&Trouble| trouble.kind == purged;
        let named = view.troubles().iter().filter(of_purged);
        let named: Vec<&str> = named.filter_map(|it| it.proposal.as_deref()).collect();
        for (id, names) in store.shown_of_purged(view)? {
            if !named.contains(&id.as_str()) {
                let message = format!("{id} was purged by its owner, and is still in {names}");
                self.add(purged.id(), message);
            }
        }
        self.problems.extend(store.rewound()?.iter().map(rewound));
        for name in store.sessions_of_purged()? {
            let message =
                format!("session {name} holds what was purged, in refs/aye/session/{name}");
            let hint = format!("aye session end {name} --discard");
            self.add_hinted(purged.id(), message, hint);
        }
        Ok(())
    }

    /// Proposals, held against the lanes.
    fn proposals(&mut self) -> Result<()> {
        let verifier = self.store.verifier(self.view, usize::MAX);
        for summary in self.view.proposals(&Filter::default(), self.now)? {
            if let Err(error) = verifier.proposal(&summary.id) {
                self.add(error.code().id, error.message());
            }
        }
        Ok(())
    }

    /// A stamp that hides what waits from whoever goes by it: `list`, `check` and the hook of git.
    fn forged_stamp(&mut self) -> Result<()> {
        let (store, view, now) = (self.store, self.view, self.now);
        let waiting = view.count_pending(now)? + view.contested(now)?.len();
        if waiting == 0
            || !idle::look(store.repository().common_dir(), now)
            || !view.is_current(store)
        {
            return Ok(());
        }
        self.add(
            CACHE_TAMPERED.id,
            format!("the file idle in .git/aye says that nothing waits, and {waiting} do"),
        );
        Ok(())
    }

    /// What is wrong in aye's own directory in the git directory, where `found` is.
    fn private(&mut self, found: &[Error]) {
        let refused = match crate::apply::recover(self.store) {
            Ok(settled) => settled.refused,
            Err(error) if error.is(&PRIVATE_DIR_UNSAFE) => Vec::new(),
            Err(error) => vec![error],
        };
        for error in found.iter().chain(&refused) {
            // A repair touches nothing that it does not know.
            let is_by_hand = error.is(&PRIVATE_DIR_UNSAFE) || error.is(&apply::INDEX_LOCKED);
            match error.hint_text().filter(|_| is_by_hand) {
                Some(hint) => self.add_hinted(error.code().id, error.message().to_owned(), hint),
                None => self.add(error.code().id, error.message()),
            }
        }
    }

    /// Settings by which git would push lanes to somebody they are not for.
    fn pushes(&mut self) {
        for pushes in self.store.pushes_of_others() {
            if is_leak(self.view, &pushes) {
                self.add("private_lane_pushed", leaks(&pushes));
            }
        }
    }

    /// Pending refs, contents and projections; not what is missing of those that are known to be `incomplete`.
    fn examined(&mut self, examined: Examined, incomplete: &BTreeSet<&str>) {
        for (what, why) in examined.refs {
            self.add(format!("pending_ref_{what}"), why);
        }
        for (id, error) in examined.unreadable {
            if incomplete.contains(id.as_str()) {
                continue;
            }
            // No copy of it can be made here, so a repair would not help.
            let hint = match error.hint_text().filter(|_| error.is(&PROPOSAL_ARCHIVED)) {
                Some(fetch) => fetch.to_owned(),
                None => {
                    let (end, given_up) = end_of(self.view, id.as_str());
                    format!(
                        "git fetch --refetch REMOTE, where it has what is missing; to {given_up}: {end}"
                    )
                }
            };
            self.add_hinted(error.code().id, format!("{id}: {}", error.message()), hint);
        }
        match examined.projections {
            Ok(found) => {
                for found in found {
                    let (path, id) = (found.path.display(), &found.id);
                    let message = format!("{path} ({id}); nothing is read from it");
                    self.add(format!("projection_{}", found.what), message);
                }
            }
            Err(error) => self.add(error.code().id, error.message()),
        }
    }

    /// Settings and policy that cannot be read.
    fn settings(&mut self) {
        let config = self.store.repository().settings().err();
        if config.is_some() {
            // Whatever had to be read by that value failed: nothing of it is damaged.
            self.problems.retain(|problem| problem.code != INVALID_CONFIG.id);
        }
        let policy = self.store.repository().policy().err();
        let policy = policy.filter(|error| !error.is(&INVALID_CONFIG) || config.is_none());
        let errors: Vec<Error> = config
            .into_iter()
            .chain(policy)
            .chain(settings_problems(self.store.repository()))
            .collect();
        self.problems.extend(errors.iter().map(Problem::of));
    }

    /// What stopped processes have `left`, and what keeps aye from writing.
    fn surroundings(&mut self, left: &[Leftover]) {
        for left in left {
            let path = left.path(self.store);
            let message = format!("{} was left by a process that was stopped", path.display());
            self.add("left_over", message);
        }
        for lock in self.store.stale_locks(self.now) {
            let (path, minutes) = (lock.path.display().to_string(), lock.age.as_secs() / 60);
            let message = format!("{path} has been there for {minutes} minutes; git waits for it");
            self.add("git_lock_stale", message);
        }
        for error in self.store.unwritable() {
            self.add("not_writable", error.message());
        }
    }
}

/// An object that is damaged or missing.
fn damaged(damage: &Damage, view: &View) -> Problem {
    let code = if damage.breaks_lane() { "lane_broken" } else { "object_missing" };
    let hint = match damage.proposals() {
        [id] if !damage.breaks_lane() => {
            let (end, given_up) = end_of(view, id);
            format!(
                "git fetch --refetch REMOTE {}, where a clone or remote has it; to {given_up}: {end}",
                damage.lane_ref()
            )
        }
        _ => return Problem::new(code, damage.message()),
    };
    Problem::new(code, damage.message()).hint(Some(hint))
}

/// How a proposal of which something is lost is done with: the command, and what that does, in words.
fn end_of(view: &View, id: &str) -> (String, &'static str) {
    let found = ProposalId::parse(id).and_then(|id| view.proposal(&id));
    if found.is_ok_and(|proposal| proposal.decision().is_some()) {
        (format!("aye purge {id} -m damaged"), "give up all that is recorded of it")
    } else {
        (format!("aye reject {id} -m damaged"), "give it up")
    }
}
