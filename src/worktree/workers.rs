//! The same step for many files, on a few threads: most of its time is the file system's.

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::beneath::Root;
use super::folders::Folders;
use crate::error::Result;

/// From this many files on, threads are worth starting.
pub const MANY: usize = 32;
/// More do not help: they wait for the same journal of the file system.
const MOST: usize = 4;
/// Into how many pieces the work of a thread is cut, so that one that comes later finds some left.
const PIECES: usize = 4;

/// Runs `step` for every number of `range`, in no order that means anything, and returns what it
/// returned in theirs. Each thread has folders of its own open, and goes over neighbours.
///
/// # Errors
/// The failure with the lowest number; steps after it may have been done or not.
pub fn each<T: Send>(
    root: &Root,
    range: Range<usize>,
    step: impl Fn(&mut Folders<'_>, usize) -> Result<T> + Sync,
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
    step: impl Fn(&mut Folders<'_>, usize) -> Result<T> + Sync,
    meanwhile: &mut dyn FnMut(),
) -> Result<Vec<T>> {
    let count = range.len();
    let threads = match count {
        ..MANY => 1,
        _ => thread::available_parallelism().map_or(1, NonZero::get).min(MOST),
    };
    let size = match threads {
        1 => count.max(1),
        _ => count.div_ceil(threads * PIECES),
    };
    let next = AtomicUsize::new(range.start);
    let work = || {
        let mut folders = Folders::new(root);
        let mut pieces = Vec::new();
        loop {
            let start = next.fetch_add(size, Ordering::Relaxed);
            if start >= range.end {
                return pieces;
            }
            let piece = start..(start + size).min(range.end);
            let done: Result<Vec<T>> = piece.map(|number| step(&mut folders, number)).collect();
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
    pieces.sort_by_key(|(start, _)| *start);
    let mut done = Vec::with_capacity(count);
    for (_, piece) in pieces {
        done.extend(piece?);
    }
    Ok(done)
}
