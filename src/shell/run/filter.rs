//! What stands between git and whoever reads what it prints.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use super::super::redact::Redaction;
use super::worker::Ends;

/// The longest entry that is looked at as a whole, in bytes.
const MAX_ENTRY: usize = 1 << 20;

/// A stream of a program on its way to where it goes.
pub(super) struct Filter {
    from: File,
    to: File,
    redaction: Redaction,
}

impl Filter {
    /// Puts filters between a program and its `ends`: one for both streams if they go to the same
    /// place, so that their order stays.
    ///
    /// # Errors
    /// What the system says when it has no pipe left.
    pub(super) fn insert(ends: &mut Ends, redaction: Redaction) -> io::Result<Vec<Self>> {
        let same = is_same_file(&ends.stdout, &ends.stderr)?;
        let (read, write) = io::pipe()?;
        let write = OwnedFd::from(write);
        let mut filters = Vec::new();
        let mut filter = |from: io::PipeReader, to: OwnedFd| {
            filters.push(Self { from: OwnedFd::from(from).into(), to: to.into(), redaction });
        };
        if same {
            ends.stderr = write.try_clone()?;
        } else {
            let (read, write) = io::pipe()?;
            filter(read, std::mem::replace(&mut ends.stderr, write.into()));
        }
        filter(read, std::mem::replace(&mut ends.stdout, write));
        Ok(filters)
    }

    /// Passes on what comes, entry by entry, until the program ends or nobody reads any more.
    pub(super) fn run(mut self) {
        let mut kept = Vec::new();
        let mut goes_on = false;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let length = match self.from.read(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => 0,
            };
            kept.extend_from_slice(&buffer[..length]);
            let end = self.redaction.end();
            let whole = match kept.iter().rposition(|byte| *byte == end) {
                _ if length == 0 || kept.len() > MAX_ENTRY => kept.len(),
                Some(at) => at + 1,
                None => continue,
            };
            let mut out = Vec::with_capacity(whole);
            for entry in kept[..whole].split_inclusive(|byte| *byte == end) {
                let (text, ends) = match entry.strip_suffix(&[end]) {
                    Some(text) => (text, true),
                    None => (entry, false),
                };
                out.extend(self.redaction.entry(text, &mut goes_on));
                out.extend(ends.then_some(end));
            }
            kept.drain(..whole);
            // A reader that is gone ends the program too: its pipe is closed with this one.
            if self.to.write_all(&out).is_err() || length == 0 {
                return;
            }
        }
    }
}

/// Whether two descriptors are one file, pipe or terminal.
///
/// # Errors
/// What the system says of a closed one.
pub fn is_same_file(one: &impl AsFd, other: &impl AsFd) -> io::Result<bool> {
    let (one, other) = (rustix::fs::fstat(one)?, rustix::fs::fstat(other)?);
    Ok((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}
