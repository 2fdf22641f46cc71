//! Runs one step for many files on a few threads, which mostly wait for the file system.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::directories::Directories;
use super::processors;
use crate::beneath::Root;
use crate::error::Result;

/// Files from which threads pay.
pub const MANY: usize = 32;
/// More threads only wait for the file system's journal.
const MOST: usize = 4;
/// A thread takes 1/`PART` of its share of the rest. Large pieces come first, so that all threads
/// finish together.
const PART: usize = 2;
const FEW: usize = 8;

/// Runs `step` in any order; the results are in order. Each thread opens its own directories.
///
/// # Errors
/// The failure with the lowest number; later steps may have run.
pub fn each<T: Send>(
    root: &Root,
    range: Range<usize>,
    step: impl Fn(&mut Directories<'_>, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    each_while(root, range, step, &mut || ())
}

/// Also calls `meanwhile` once.
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
        // Without the thread the others take its pieces.
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
