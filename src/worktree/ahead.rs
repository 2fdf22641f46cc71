//! Reading files on another thread while those before them are worked on.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use super::beneath::Root;
use super::folders::Folders;
use super::{Found, read};
use crate::changeset::RepoPath;

/// From this many files on, a thread is worth starting.
const MANY: usize = 64;
/// How many are handed over at once: waking who waits for them costs more than reading one.
const BATCH: usize = 32;
/// Bytes that are read before they are asked for: 64 MiB, and what the last batch has more.
const MOST: usize = 64 << 20;

/// Files that are read, or will be, in the order in which they are likely to be asked for.
#[derive(Debug)]
pub struct Ahead {
    numbers: HashMap<RepoPath, usize>,
    files: Vec<Option<Found>>,
    more: Receiver<Vec<Option<Found>>>,
}

impl Ahead {
    /// Begins to read the files at `paths`, each of at most `limit` bytes. `None` where that is
    /// not worth it, or no thread is to be had.
    pub fn start(root: &Root, paths: &[&RepoPath], limit: u64) -> Option<Self> {
        if paths.len() < MANY {
            return None;
        }
        let numbers = paths.iter().enumerate().map(|(at, path)| ((*path).clone(), at)).collect();
        let (root, paths) = (root.clone(), paths.iter().copied().cloned().collect::<Vec<_>>());
        let (sender, more) = channel();
        let read_all = move || {
            let mut folders = Folders::new(&root);
            let mut total = 0;
            for batch in paths.chunks(BATCH) {
                // What cannot be read is found out, and said, when it is asked for.
                let mut file = |path| read(&root, &mut folders, path, limit).ok().flatten();
                let files: Vec<_> = batch.iter().map(&mut file).collect();
                total += files.iter().flatten().map(|(bytes, _)| bytes.len()).sum::<usize>();
                if sender.send(files).is_err() || total > MOST {
                    break;
                }
            }
        };
        thread::Builder::new().spawn(read_all).ok()?;
        Some(Self { numbers, files: Vec::new(), more })
    }

    /// The file at `path`, once, if it could be read ahead; waits for it.
    pub fn take(&mut self, path: &RepoPath) -> Option<Found> {
        let number = self.numbers.remove(path)?;
        while self.files.len() <= number {
            self.files.extend(self.more.recv().ok()?);
        }
        self.files[number].take()
    }
}
