//! Reads files ahead on another thread while the caller works on earlier ones.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use super::directories::Directories;
use super::processors;
use super::{RawFile, read};
use crate::beneath::Root;
use crate::changeset::RepoPath;

/// Files from which a thread pays.
const MANY: usize = 64;
/// Files per message: waking the receiver costs more than reading one file.
const BATCH: usize = 16;
/// 64 MiB, plus the rest of the last batches.
const MOST: usize = 64 << 20;

#[derive(Debug)]
pub struct ReadAhead {
    numbers: HashMap<RepoPath, usize>,
    batches: Vec<Option<Batch>>,
    work: Arc<Work>,
    more: Receiver<(usize, Batch)>,
}

/// `None` if unreadable: the caller reads the file again and reports the error.
type Batch = Vec<Option<RawFile>>;

#[derive(Debug)]
struct Work {
    root: Root,
    paths: Vec<RepoPath>,
    limit: u64,
    next: AtomicUsize,
    total: AtomicUsize,
}

impl Work {
    /// Returns a batch with its number; `None` at the end or over the limit.
    fn read_next(&self, directories: &mut Directories<'_>) -> Option<(usize, Batch)> {
        if self.total.load(Ordering::Relaxed) > MOST {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let paths = self.paths.chunks(BATCH).nth(number)?;
        let mut file = |path| read(&self.root, directories, path, self.limit).ok().flatten();
        let files: Batch = paths.iter().map(&mut file).collect();
        let size = files.iter().flatten().map(|(bytes, _)| bytes.len()).sum();
        self.total.fetch_add(size, Ordering::Relaxed);
        Some((number, files))
    }
}

impl ReadAhead {
    /// `None` if reading ahead does not pay or no thread starts.
    pub fn start(root: &Root, paths: &[&RepoPath], limit: u64) -> Option<Self> {
        if paths.len() < MANY || processors::count() == 1 {
            return None;
        }
        let numbers = paths.iter().enumerate().map(|(at, path)| ((*path).clone(), at)).collect();
        let work = Arc::new(Work {
            root: root.clone(),
            paths: paths.iter().copied().cloned().collect(),
            limit,
            next: AtomicUsize::new(0),
            total: AtomicUsize::new(0),
        });
        let (sender, more) = channel();
        let theirs = Arc::clone(&work);
        let read_all = move || {
            let mut directories = Directories::new(&theirs.root);
            while let Some(batch) = theirs.read_next(&mut directories) {
                if sender.send(batch).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().spawn(read_all).ok()?;
        let batches = (0..paths.len().div_ceil(BATCH)).map(|_| None).collect();
        Some(Self { numbers, batches, work, more })
    }

    /// Returns a file once, if read ahead. Reads batches itself while waiting.
    pub fn take(&mut self, directories: &mut Directories<'_>, path: &RepoPath) -> Option<RawFile> {
        let number = self.numbers.remove(path)?;
        let (batch, within) = (number / BATCH, number % BATCH);
        while self.batches[batch].is_none() {
            let there = self.more.try_recv().ok();
            let read = || self.work.read_next(directories);
            let (number, files) = there.or_else(read).or_else(|| self.more.recv().ok())?;
            self.batches[number] = Some(files);
        }
        self.batches[batch].as_mut()?[within].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(number: usize) -> Vec<u8> {
        format!("file {number}\n").into_bytes()
    }

    #[test]
    fn every_file_is_had_once_in_whatever_order() {
        let directory = tempfile::tempdir().expect("a directory");
        let paths: Vec<RepoPath> = (0..MANY * 5 + 3)
            .map(|number| RepoPath::new(format!("f{number}")).expect("a path"))
            .collect();
        for (number, path) in paths.iter().enumerate().filter(|(number, _)| number % 7 != 0) {
            std::fs::write(directory.path().join(path.display().to_string()), content(number))
                .expect("a file");
        }
        let root = Root::open(directory.path()).expect("a directory");
        let wanted: Vec<&RepoPath> = paths.iter().collect();
        for order in [1, 2, 31] {
            let mut directories = Directories::new(&root);
            let Some(mut ahead) = ReadAhead::start(&root, &wanted, 1_000) else {
                assert_eq!(processors::count(), 1);
                return;
            };
            for start in 0..order {
                for number in (start..paths.len()).step_by(order) {
                    let found =
                        ahead.take(&mut directories, &paths[number]).map(|(bytes, _)| bytes);
                    assert_eq!(found, (number % 7 != 0).then(|| content(number)));
                    assert!(ahead.take(&mut directories, &paths[number]).is_none());
                }
            }
        }
    }
}
