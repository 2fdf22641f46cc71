//! The same step for many files, on a few threads: most of its time is the file system's.

use std::num::NonZero;
use std::ops::Range;
use std::thread;

use crate::error::Result;
use crate::worktree::beneath::Root;
use crate::worktree::folders::Folders;

/// From this many files on, threads are worth starting.
const MANY: usize = 32;
/// More do not help: they wait for the same journal of the file system.
const MOST: usize = 4;

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
    let part = |range: Range<usize>| {
        let mut folders = Folders::new(root);
        range.map(|number| step(&mut folders, number)).collect::<Result<Vec<T>>>()
    };
    let count = range.len();
    let threads = match count {
        ..MANY => 1,
        _ => thread::available_parallelism().map_or(1, NonZero::get).min(MOST),
    };
    if threads == 1 {
        return part(range);
    }
    let size = count.div_ceil(threads);
    let mut done = Vec::with_capacity(count);
    thread::scope(|scope| {
        let part = &part;
        let starts = (range.start + size..range.end).step_by(size);
        let others: Vec<_> = starts
            .map(|start| {
                let range = start..(start + size).min(range.end);
                let worker = thread::Builder::new().spawn_scoped(scope, {
                    let range = range.clone();
                    move || part(range)
                });
                (range, worker)
            })
            .collect();
        let mut parts = vec![part(range.start..range.start + size)];
        for (range, worker) in others {
            parts.push(match worker {
                Ok(worker) => {
                    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                }
                // No thread to be had: then here.
                Err(_) => part(range),
            });
        }
        for part in parts {
            done.extend(part?);
        }
        Ok(done)
    })
}
