//! The same step for many files, on a few threads: most of its time is the file system's.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::directories::Directories;
use super::processors;
use crate::beneath::Root;
use crate::error::Result;

/// From this many files on, threads are worth starting.
pub const MANY: usize = 32;
/// More do not help: they wait for the same journal of the file system.
const MOST: usize = 4;
/// A thread takes this part of its share of what is left, but no less than [`FEW`] files: large
/// pieces first, small ones last, so that all of them are done at about the same time.
const PART: usize = 2;
const FEW: usize = 8;

/// Runs `step` for every number of `range`, in no order that means anything, and returns what it
/// returned in theirs. Each thread has directories of its own open, and goes over neighbours.
///
/// # Errors
/// The failure with the lowest number; steps after it may have been done or not.
pub fn each<T: Send>(
    root: &Root,
    range: Range<usize>,
    step: impl Fn(&mut Directories<'_>, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    each_while(root, range, step, &mut || ())
}

/// As [`each`], and calls `meanwhile` once, where there are threads while they work.
///
/// # Errors
/// As [`each`].
pub fn each_while<T: Send>(
    root: &Root,
    range: Range<usize>,
    step: impl Fn(&mut Directories<'_>, usize) -> Result<T> + Sync,
    meanwhile: &mut dyn FnMut(),
) -> Result<Vec<T>> {
    let count = range.len();
    let threads = match count {
        ..MANY => 1,
        _ => processors::count().min(MOST),
    };
    if threads == 1 {
        meanwhile();
        let mut directories = Directories::new(root);
        return range.map(|number| step(&mut directories, number)).collect();
    }
    // Where the piece that begins at `start` ends.
    let end = |start: usize| {
        let left = range.end.checked_sub(start).filter(|left| *left > 0)?;
        Some(start + (left / threads / PART).max(FEW).min(left))
    };
    let next = AtomicUsize::new(range.start);
    let work = || {
        let mut directories = Directories::new(root);
        let mut pieces = Vec::new();
        loop {
            let begun = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, end);
            let Ok(start) = begun else { return pieces };
            let piece = start..end(start).unwrap_or(range.end);
            let done: Result<Vec<T>> = piece.map(|number| step(&mut directories, number)).collect();
            if done.is_err() {
                next.store(range.end, Ordering::Relaxed);
            }
            pieces.push((start, done));
        }
    };
    let mut pieces = thread::scope(|scope| {
        // A thread that cannot be had is no loss: its pieces are for the others.
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        meanwhile();
        let mut pieces = work();
        for other in others {
            pieces.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        pieces
    });
    pieces.sort_unstable_by_key(|(start, _)| *start);
    let mut done = Vec::with_capacity(count);
    for (_, piece) in pieces {
        done.extend(piece?);
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::error::{Error, codes};

    fn root() -> Root {
        Root::open(Path::new(env!("CARGO_MANIFEST_DIR"))).expect("a directory")
    }

    #[test]
    fn every_number_is_done_once_and_in_its_place() {
        for count in [0, 1, 7, MANY - 1, MANY, MANY + 1, 100, 1_001] {
            let done = each(&root(), 3..3 + count, |_, number| Ok(number)).expect("no failure");
            assert_eq!(done, (3..3 + count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn meanwhile_is_called_once() {
        for count in [0, 1, MANY, 500] {
            let mut calls = 0;
            each_while(&root(), 0..count, |_, _| Ok(()), &mut || calls += 1).expect("no failure");
            assert_eq!(calls, 1);
        }
    }

    #[test]
    fn of_several_failures_one_is_told_and_the_rest_is_left() {
        let steps = AtomicUsize::new(0);
        let fail = |_: &mut Directories<'_>, number: usize| {
            steps.fetch_add(1, Ordering::Relaxed);
            if number % 50 == 49 {
                return Err(Error::new(&codes::INVALID_ARGUMENT, number.to_string()));
            }
            Ok(())
        };
        let error = each(&root(), 0..100_000, fail).expect_err("a failure");
        assert!(error.message().ends_with('9'));
        assert!(steps.into_inner() < 100_000);
    }
}
