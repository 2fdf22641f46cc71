//! `aye doctor`: is the store sound, and what can be repaired.

mod damage;
mod remotes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use damage::{damaged, end_of, lost};
use remotes::{gone, leaks, overwrites, remotes, rewound};

use super::memory::driver;
use super::{Context, Format, trust};
use crate::actor::startup;
use crate::app::plan as task_plan;
use crate::check::lanes;
use crate::error::{Error, Exit, Result};
use crate::hooks::{Place, kept};
use crate::memory::service::settings_problems;
use crate::ordered::Ordered as _;
use crate::private::codes::PRIVATE_DIR_UNSAFE;
use crate::repository::codes::INVALID_CONFIG;
use crate::store::{
    Aside, Audience, Damage, Depth, Filter, Inspection, Leftover, Pushes, Store, Trouble,
    TroubleKind, View, codes::CACHE_TAMPERED, idle,
};
use crate::text::escape;
use crate::worktree::codes as apply;

/// Check the store, and repair what can be rebuilt.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye doctor
  aye doctor --full
  aye doctor --repair
  aye doctor --repair --trust 3f9c2b71

The objects of the lanes are looked at whatever the cache says: commits, trees and events are read
and hashed, contents are looked up; --full and --repair read and hash contents too. Refs and files of
pending proposals that were found right before are looked at again where they have changed since, by
size, times and inode, or with --full.

What is truth (the lanes) is never changed by a repair. Damaged objects are written again, under the
ids that they had, from the cache, the projections and the work tree. Only where that cannot be done
a lane is set aside under refs/aye/broken/, and what can be read of it takes its place; what could
not be saved is listed, and the exit status is 1. What was found of this clone's own lane and is
named by nothing that is left is kept there as well, and a person says whether it goes back: somebody
who can push here may have put it there. The old cache and the files of damaged objects are kept in
.git/aye/broken/. What has expired since the last write is put on record, and files and refs
follow what was fetched, as with every command that writes.")]
pub struct Args {
    /// Read and hash every object of the lanes, contents included.
    #[arg(long)]
    pub full: bool,
    /// Write damaged objects again; rebuild cache, pending refs and projections; set aside lanes and
    /// journals that cannot be repaired.
    #[arg(long)]
    pub repair: bool,
    /// Put back what a repair set aside of this clone's own lane, up to COMMIT, without being asked: a
    /// person's word that it was said here. Possible as long as nothing else was said in its place.
    #[arg(long, value_name = "COMMIT", requires = "repair")]
    pub trust: Vec<String>,
}

/// Answer of `aye doctor`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Diagnosis {
    /// `aye/doctor@1`
    pub schema: &'static str,
    /// True when nothing is wrong (any more).
    pub sound: bool,
    /// How many proposals are pending.
    pub pending: usize,
    /// How many lanes there are, this clone's own and those of others.
    pub lanes: usize,
    /// How many of them are for whom: `default` (the default remote), `private` (nobody else), or
    /// the name of another remote.
    pub audiences: BTreeMap<String, usize>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What is not damaged, but worth knowing: a shell start-up file that marks everything a person
    /// types as an agent's; a merge driver whose program is gone; a hook that is kept under another
    /// name, by an earlier version; a lane that goes on from another one (`lane_forked`), or that is not in this
    /// shallow clone from its beginning (`lane_shallow`); what an earlier repair set aside and does not count.
    pub warnings: Vec<String>,
    /// What was repaired.
    pub repaired: Vec<String>,
}

/// Something that is wrong.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Problem {
    /// A stable code: `lane_broken`, `event_lost`, `projection_changed`, `projection_missing`,
    /// `projection_stale`, `projection_unexpected`, `projection_unreadable`, `object_missing`,
    /// `changeset_invalid`, `journal_invalid`, `journal_foreign`, `private_dir_unsafe`,
    /// `pending_ref_moved`, `pending_ref_missing`, `pending_ref_unexpected`, `left_over`,
    /// `git_lock_stale`, `not_writable`, `private_lane_pushed`, `invalid_policy`, `memory_config_invalid`; of other clones
    /// (`lane_rewound` also of this one)
    /// `lane_unreadable`, `lane_incomplete`, `lane_rewound`, `lane_equivocates`, `duplicate_id`, `event_rejected`,
    /// `purged_content`; `cache_tampered`; of `--trust` `not_set_aside`, `lane_written_since`.
    pub code: String,
    /// Where and what.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Problem {
    pub(super) fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        let (code, message) = (code.into(), message.into());
        Self { code, message, hint: "aye doctor --repair".into() }
    }
}

/// Most times that what is due is seen to: each takes care of a hundred fetched proposals or more.
const MOST_ROUNDS: usize = 10_000;

/// Most notices about lanes that are printed: whoever may push lanes chooses how many there are.
const MOST: usize = 50;

/// Runs the command: exit 1 if something is wrong and was not repaired.
///
/// # Errors
/// `human_approval_required` with `--trust`; those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let mut store = context.store()?;
    store.ask_again();
    let authority = trust::by_flag(context, &store, &args.trust)?;
    let mut repaired = Vec::new();
    let unreadable = store.unreadable_refs();
    if args.repair {
        for name in &unreadable {
            repaired.push(store.set_ref_aside(name)?);
        }
    } else if !unreadable.is_empty() {
        // Nothing else can be looked at before these are out of the way.
        let problems = unreadable
            .iter()
            .map(|name| Problem::new("lane_broken", format!("{name} holds no object id")));
        return print(context, problems.collect(), repaired, 0, None, &[]);
    }
    let is_full = args.full || args.repair;
    let depth = if is_full { Depth::Full } else { Depth::Headers };
    let mut saved = None;
    if args.repair {
        repaired.extend(store.find_lanes_gone()?);
        let found = store.inspect(None, depth)?.damaged;
        if !found.is_empty() {
            saved = store.save_cache(context.now)?;
            repaired.extend(store.restore(None, found, saved.as_deref())?.lines);
        }
    }
    let mut view = store.readable_view()?;
    let mut found = store.inspect(Some(&view), depth)?;
    if args.repair && !found.damaged.is_empty() {
        saved = saved.map_or_else(|| store.save_cache(context.now), |saved| Ok(Some(saved)))?;
        let again = std::mem::take(&mut found.damaged);
        repaired.extend(store.restore(Some(&view), again, saved.as_deref())?.lines);
        // It reads objects by what was there before.
        drop(view);
        view = store.readable_view()?;
        found = store.inspect(Some(&view), depth)?;
    }
    // What is in a lane that cannot be read is in no view.
    let mut aside = match view.broken() {
        [] => store.asides(&view, is_full)?,
        _ => Vec::new(),
    };
    // What is written now takes the place of what may be put back.
    let is_waiting = args.repair && !aside.is_empty();
    if !is_waiting && !found.damaged.iter().any(Damage::breaks_lane) {
        if catch_up(context, &store, &mut view)? {
            found = store.inspect(Some(&view), depth)?;
        }
        // What cannot be written, or read, is found below.
        let _ = task_plan::follow(&store, &view, &store.branch());
    }
    let mut left = store.leftovers(&view, args.full, context.now)?;
    let mut problems = find(&store, &view, &found, is_full, context.now)?;
    problems.extend(surroundings(&store, &left, context.now));
    let is_due = !(problems.is_empty() && repaired.is_empty());
    if args.repair && (is_due || is_waiting || authority.is_some()) {
        let refused = [apply::JOURNAL_INVALID.id, apply::JOURNAL_FOREIGN.id];
        if problems.iter().any(|problem| refused.contains(&&*problem.code)) {
            repaired.extend(crate::apply::set_refused_aside(&store)?);
        }
        let broken: Vec<&Damage> = found.damaged.iter().filter(|d| d.breaks_lane()).collect();
        let mut lanes: BTreeSet<String> = broken.iter().map(|damage| damage.lane()).into_set();
        if saved.is_none() && !(lanes.is_empty() && view.broken().is_empty()) {
            saved = store.save_cache(context.now)?;
        }
        if !lanes.is_empty() {
            // What is in the cache came from objects that are not there any more.
            drop(view);
            view = store.view_with_new_cache()?;
        }
        let own: BTreeSet<String> =
            view.broken().iter().map(|broken| broken.name.clone()).into_set();
        if !left.is_empty() {
            repaired.extend(store.remove_leftovers(&left)?);
        }
        // What is not here yet is not damaged.
        for lane in view.broken().iter().filter(|broken| !broken.is_absent) {
            repaired.push(store.set_lane_aside(lane)?);
        }
        let mut unread = Vec::new();
        let is_unread = |trouble: &&Trouble| {
            // What is refused is not damaged: it is named as long as its remote has it.
            trouble.kind == TroubleKind::Unreadable && !trouble.is_refused()
        };
        for trouble in view.troubles().iter().filter(is_unread) {
            let damaged = store.inspect_ref(&trouble.name)?;
            lanes.extend(damaged.iter().map(Damage::lane));
            unread.extend(damaged);
            repaired.push(store.set_fetched_lane_aside(&view, trouble)?);
        }
        drop(view);
        view = store.view_with_new_cache()?;
        let (back, refused) =
            trust::put_back(context, &store, &view, authority.as_ref(), &args.trust)?;
        if !back.is_empty() {
            repaired.extend(back);
            drop(view);
            view = store.view_with_new_cache()?;
        }
        let pending = store.rebuild_projections(&view, context.now)?;
        if !view.is_current(&store) {
            drop(view);
            view = store.readable_view()?;
        }
        // Whatever stands there is nobody's; what cannot be written is found once more below.
        let _ = task_plan::project(&store, &view, &store.branch());
        repaired.push(format!("cache, pending refs and projections rebuilt ({pending} pending)"));
        aside = store.asides(&view, true)?;
        aside.extend(store.fetched_asides(&view, &lanes)?);
        let broken = broken.into_iter().filter(|damage| own.contains(damage.lane_ref()));
        let broken: Vec<&Damage> = broken.chain(&unread).collect();
        let lost = lost(&store, &view, &broken, &lanes, saved.as_deref(), &aside);
        found = store.inspect(Some(&view), depth)?;
        problems = find(&store, &view, &found, is_full, context.now)?;
        left = store.leftovers(&view, args.full, context.now)?;
        problems.extend(surroundings(&store, &left, context.now));
        problems.extend(refused);
        problems.extend(trust::problems(&aside));
        problems.extend(lost);
        aside.clear();
    }
    let pending = view.count_pending(context.now)?;
    print(context, problems, repaired, pending, Some(&view), &aside)
}

/// Does what the next writers would do. Where nothing can be written it waits; it is no damage.
/// Returns whether something was done.
fn catch_up(context: &Context, store: &Store, view: &mut View) -> Result<bool> {
    let mut is_due = store.is_unfinished(view)
        || !view.newly_expired(context.now, 1)?.is_empty()
        || !view.revived(context.now, 1)?.is_empty();
    let was_due = is_due;
    let mut left = None;
    for _ in 0..MOST_ROUNDS {
        // What cannot be done now, under git's lock for example, is not done by asking again.
        let before = left.replace(store.unfinished(view));
        if !is_due
            || before == left
            || store.write(&context.actor(store), context.now, |_| Ok(())).is_err()
        {
            break;
        }
        *view = store.readable_view()?;
        is_due = store.is_unfinished(view);
    }
    Ok(was_due)
}

fn print(
    context: &mut Context,
    problems: Vec<Problem>,
    repaired: Vec<String>,
    pending: usize,
    view: Option<&View>,
    aside: &[Aside],
) -> Result<Exit> {
    let sound = problems.is_empty();
    let mut warnings = startup_files(context);
    warnings.extend(settled_here(context)?);
    if let Some(view) = view {
        let pushes = context.store()?.pushes_of_others().into_iter();
        warnings.extend(pushes.filter(|pushes| !is_leak(view, pushes)).map(|it| leaks(&it)));
        warnings.extend(remotes(&context.store()?, view));
    }
    warnings.extend(trust::warnings(aside));
    warnings.extend(context.store()?.fetches_over_own().iter().map(overwrites));
    let lanes = view.map_or(0, View::count_lanes);
    let troubles = view.map_or(&[][..], View::troubles);
    let notices = troubles.iter().filter(|trouble| !trouble.kind.is_damage());
    warnings.extend(
        notices.map(|trouble| format!("{}: {}", trouble.kind.id(), trouble.message())).take(MOST),
    );
    let schema = "aye/doctor@1";
    let counts = view.map(View::lanes_by_audience).unwrap_or_default();
    let audiences = counts.iter().map(|(of, count)| (of.as_str().to_owned(), *count)).collect();
    let diagnosis =
        Diagnosis { schema, sound, pending, lanes, audiences, problems, warnings, repaired };
    context.emit(Format::Text, &diagnosis, || {
        let mut text = String::new();
        for repaired in &diagnosis.repaired {
            text += &format!("repaired: {}\n", escape::line(repaired));
        }
        for problem in &diagnosis.problems {
            text += &format!("{}: {}\n", problem.code, escape::line(&problem.message));
        }
        for warning in &diagnosis.warnings {
            text += &format!("warning: {}\n", escape::line(warning));
        }
        if diagnosis.sound {
            let lanes = match diagnosis.lanes {
                0 => "no lane".to_owned(),
                1 => "1 lane".to_owned(),
                lanes => format!("{lanes} lanes"),
            };
            let others: Vec<String> = counts
                .iter()
                .filter_map(|(audience, count)| match audience {
                    Audience::Default => None,
                    Audience::Private => Some(format!("{count} private")),
                    Audience::Remote(remote) => {
                        Some(format!("{count} for {}", escape::name(remote)))
                    }
                })
                .collect();
            let others = match others.is_empty() {
                true => String::new(),
                false => format!(" ({})", others.join(", ")),
            };
            text += &format!("sound: {} pending, {lanes}{others}\n", diagnosis.pending);
        }
        let hints: BTreeSet<&str> =
            diagnosis.problems.iter().map(|problem| problem.hint.as_str()).into_set();
        for hint in hints {
            text += &format!("hint: {}\n", escape::line(hint));
        }
        text
    })?;
    Ok(if diagnosis.sound { Exit::Done } else { Exit::Negative })
}

/// A warning for each marker of an agent that a shell start-up file in the home directory sets.
fn startup_files(context: &Context) -> Vec<String> {
    /// Larger than any such file written by hand.
    const MOST: u64 = 1 << 20;
    let Some(home) = context.var("HOME").map(PathBuf::from) else { return Vec::new() };
    let mut warnings = Vec::new();
    for name in startup::FILES {
        let file = home.join(name);
        if !file.metadata().is_ok_and(|facts| facts.is_file() && facts.len() <= MOST) {
            continue;
        }
        let Ok(text) = std::fs::read(&file) else { continue };
        for (line, variable) in startup::set_in(&String::from_utf8_lossy(&text)) {
            warnings.push(format!(
                "~/{name}, line {line} sets {variable}: every command typed in that shell counts \
                 as an agent's, and an agent cannot decide"
            ));
        }
    }
    warnings
}

/// A warning for what was set up in this clone and does not do all of what it is there for any more.
fn settled_here(context: &Context) -> Result<Vec<String>> {
    let store = context.store()?;
    let driver = driver::trouble(context, &store);
    let hooks =
        Place::find(&context.directory).map(|place| kept::by_earlier_versions(&place.directory));
    let hooks = hooks.unwrap_or_default().into_iter().map(|hook| {
        format!(
            "the {} hook that was there before is kept under another name, so that one which goes by \
             its own name does nothing; `aye hooks install` keeps it under its own",
            hook.name()
        )
    });
    Ok(driver.into_iter().chain(hooks).collect())
}

/// What stopped processes have left, and what keeps aye from writing.
fn surroundings(store: &Store, left: &[Leftover], now: DateTime<Utc>) -> Vec<Problem> {
    let left = left.iter().map(|left| {
        let path = left.path(store);
        let message = format!("{} was left by a process that was stopped", path.display());
        Problem::new("left_over", message)
    });
    let locks = store.stale_locks(now).into_iter().map(|lock| {
        let (path, minutes) = (lock.path.display().to_string(), lock.age.as_secs() / 60);
        let message = format!("{path} has been there for {minutes} minutes; git waits for it");
        let hint = format!("if no git process is running, remove it: {path}");
        Problem { hint, ..Problem::new("git_lock_stale", message) }
    });
    let barred = store.unwritable().into_iter().map(|error| {
        let hint = "give it to the user who runs aye, or let that user write it".to_owned();
        Problem { hint, ..Problem::new("not_writable", error.message()) }
    });
    left.chain(locks).chain(barred).collect()
}

/// Whether there are lanes now that `pushes` would send to somebody they are not for.
fn is_leak(view: &View, pushes: &Pushes) -> bool {
    view.lanes_by_audience().iter().any(|(audience, _)| match audience {
        Audience::Default => false,
        Audience::Private => true,
        Audience::Remote(remote) => *remote != pushes.remote,
    })
}

/// What is wrong in aye's own directory in the git directory.
fn private(store: &Store) -> Vec<Problem> {
    let found = match store.private() {
        Ok(None) => return Vec::new(),
        Ok(Some(private)) => private.unsafe_entries(),
        Err(error) => vec![error],
    };
    let refused = match crate::apply::recover(store) {
        Ok(settled) => settled.refused,
        Err(error) if error.is(&PRIVATE_DIR_UNSAFE) => Vec::new(),
        Err(error) => vec![error],
    };
    let problem = |error: &Error| {
        let problem = Problem::new(error.code().id, error.message());
        // A repair touches nothing that it does not know.
        let is_by_hand = error.is(&PRIVATE_DIR_UNSAFE) || error.is(&apply::INDEX_LOCKED);
        let by_hand = error.hint_text().filter(|_| is_by_hand);
        Problem { hint: by_hand.map_or(problem.hint, str::to_owned), ..problem }
    };
    found.iter().chain(&refused).map(problem).collect()
}

/// A stamp that hides what waits from whoever goes by it: `list`, `status`, `check` and the hook of git.
fn forged_stamp(store: &Store, view: &View, now: DateTime<Utc>) -> Result<Option<Problem>> {
    let waiting = view.count_pending(now)? + view.contested(now)?.len();
    if waiting == 0 || idle::look(store.common_dir(), now).is_none() || !view.is_current(store) {
        return Ok(None);
    }
    let message = format!("the file idle in .git/aye says that nothing waits, and {waiting} do");
    Ok(Some(Problem::new(CACHE_TAMPERED.id, message)))
}

fn find(
    store: &Store,
    view: &View,
    found: &Inspection,
    is_full: bool,
    now: DateTime<Utc>,
) -> Result<Vec<Problem>> {
    let mut problems: Vec<Problem> =
        found.damaged.iter().map(|damage| damaged(damage, view)).collect();
    let (mut named, mut incomplete) = (BTreeSet::new(), BTreeSet::new());
    for damage in &found.damaged {
        match damage.breaks_lane() {
            true => named.extend([damage.lane_ref()]),
            false => incomplete.extend(damage.proposals().iter().map(String::as_str)),
        }
    }
    let broken =
        view.broken().iter().filter(|broken| !named.contains(&*broken.name)).map(|broken| {
            let message = format!("{} at commit {}: {}", broken.name, broken.commit, broken.why);
            match broken.is_absent {
                true => {
                    let hint = broken.hint().to_owned();
                    Problem { hint, ..Problem::new(TroubleKind::Incomplete.id(), message) }
                }
                false => Problem::new("lane_broken", message),
            }
        });
    problems.extend(broken);
    for trouble in view.troubles().iter().filter(|trouble| trouble.kind.is_damage()) {
        if trouble.kind == TroubleKind::Unreadable && named.contains(&*trouble.name) {
            continue;
        }
        let mut message = trouble.message();
        if trouble.kind == TroubleKind::Unreadable {
            message += "; it comes from a remote, and nothing of this clone is lost";
        }
        let hint = lanes::hint(trouble.kind).to_owned();
        problems.push(Problem { hint, ..Problem::new(trouble.kind.id(), message) });
    }
    let archives = store.archives_of_purged(view)?.into_iter();
    problems.extend(archives.map(|name| {
        let message = format!("{name} holds what was purged by its owner");
        let hint = lanes::hint(TroubleKind::Purged).to_owned();
        Problem { hint, ..Problem::new(TroubleKind::Purged.id(), message) }
    }));
    problems.extend(store.rewound()?.iter().map(rewound));
    problems.extend(store.lanes_gone()?.iter().map(|name| gone(name)));
    problems.extend(store.sessions_of_purged()?.iter().map(|name| {
        let (message, hint) = lanes::purged_session(name);
        Problem { hint, ..Problem::new(TroubleKind::Purged.id(), message) }
    }));
    let reading = view.hold();
    let verifier = store.verifier(view, usize::MAX).after(found);
    // As long as lanes are damaged nothing can be held against them.
    let all = if named.is_empty() { view.proposals(&Filter::default(), now)? } else { Vec::new() };
    for summary in all {
        if let Err(error) = verifier.proposal(&summary.id) {
            problems.push(Problem::new(error.code().id, error.message()));
        }
    }
    let examined = store.examine(view, is_full, now)?;
    drop(reading);
    problems.extend(forged_stamp(store, view, now)?);
    problems.extend(private(store));
    problems.extend(store.pushes_of_others().into_iter().filter_map(|pushes| {
        if !is_leak(view, &pushes) {
            return None;
        }
        let hint = "git config --unset-all that key, and push branches and refs/aye/log/* by name";
        let problem = Problem::new("private_lane_pushed", leaks(&pushes));
        Some(Problem { hint: hint.to_owned(), ..problem })
    }));
    let refs = examined.refs.into_iter();
    problems.extend(refs.map(|(what, why)| Problem::new(format!("pending_ref_{what}"), why)));
    for (id, error) in examined.unreadable {
        if incomplete.contains(id.as_str()) {
            continue;
        }
        // No copy of it can be made here, so a repair would not help.
        let hint = match error
            .hint_text()
            .filter(|_| error.is(&crate::store::codes::PROPOSAL_ARCHIVED))
        {
            Some(fetch) => fetch.to_owned(),
            None => {
                let (end, given_up) = end_of(view, id.as_str());
                format!(
                    "git fetch --refetch REMOTE, where it has what is missing; to {given_up}: {end}"
                )
            }
        };
        let message = format!("{id}: {}", error.message());
        problems.push(Problem { hint, ..Problem::new(error.code().id, message) });
    }
    match examined.projections {
        Ok(found) => problems.extend(found.into_iter().map(|found| {
            let message =
                format!("{} ({}); nothing is read from it", found.path.display(), found.id);
            Problem::new(format!("projection_{}", found.what), message)
        })),
        Err(error) => problems.push(Problem::new(error.code().id, error.message())),
    }
    match task_plan::tampering(store, view, &store.branch()) {
        Ok(what) => problems.extend(what.map(|what| {
            let message = format!("{}; nothing is read from it", task_plan::PROJECTION);
            Problem::new(format!("projection_{what}"), message)
        })),
        Err(error) => problems.push(Problem::new(error.code().id, error.message())),
    }
    let config = store.settings().err();
    if config.is_some() {
        // Whatever had to be read by that value failed: nothing of it is damaged.
        problems.retain(|problem| problem.code != INVALID_CONFIG.id);
    }
    let policy =
        store.policy().err().filter(|error| !error.is(&INVALID_CONFIG) || config.is_none());
    for error in config.into_iter().chain(policy).chain(settings_problems(store)) {
        let hint = error.hint_text().unwrap_or("correct the file").to_owned();
        problems.push(Problem { hint, ..Problem::new(error.code().id, error.message()) });
    }
    Ok(problems)
}
