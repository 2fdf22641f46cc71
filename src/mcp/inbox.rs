//! What threads leave for the one that serves. By a lock and a condition: the standard library's channel is
//! written for many threads, and thirty kilobytes of program.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Things in the order in which they came.
#[derive(Debug)]
pub struct Inbox<T> {
    waiting: Mutex<VecDeque<T>>,
    changed: Condvar,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), changed: Condvar::new() }
    }
}

impl<T> Inbox<T> {
    /// Puts `thing` in, once everything before it has been taken: a writer is no faster than the reader.
    pub fn put(&self, thing: T) {
        let waiting = self.until(|waiting| waiting.is_empty());
        self.push(waiting, thing);
    }

    /// Puts `thing` in at once.
    pub fn put_now(&self, thing: T) {
        self.push(self.lock(), thing);
    }

    /// Takes the next thing out, and waits for it.
    pub fn take(&self) -> T {
        loop {
            let mut waiting = self.until(|waiting| !waiting.is_empty());
            if let Some(thing) = waiting.pop_front() {
                drop(waiting);
                self.changed.notify_all();
                return thing;
            }
        }
    }

    fn push(&self, mut waiting: MutexGuard<'_, VecDeque<T>>, thing: T) {
        waiting.push_back(thing);
        drop(waiting);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn until(&self, is_so: impl Fn(&VecDeque<T>) -> bool) -> MutexGuard<'_, VecDeque<T>> {
        let mut waiting = self.lock();
        while !is_so(&waiting) {
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_taken_in_order_and_a_writer_waits() {
        let inbox = Inbox::default();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..100).for_each(|number| inbox.put(number)));
            let taken: Vec<i32> = (0..100).map(|_| inbox.take()).collect();
            assert_eq!(taken, (0..100).collect::<Vec<_>>());
        });
        inbox.put_now(1);
        inbox.put_now(2);
        assert_eq!((inbox.take(), inbox.take()), (1, 2));
    }
}
