//! Limited output: head and tail are kept, cut between characters.

use std::collections::VecDeque;

/// One stream.
#[derive(Debug)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: usize,
    limit: usize,
}

impl Capture {
    pub(super) fn new(limit: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), total: 0, limit }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        let room = (self.limit - self.limit / 2).saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let keep = self.limit / 2;
        let rest = &rest[rest.len().saturating_sub(keep)..];
        self.tail.extend(rest);
        self.tail.drain(..self.tail.len().saturating_sub(keep));
    }

    pub(super) fn truncated(&self) -> bool {
        self.total > self.head.len() + self.tail.len()
    }

    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        if self.truncated() {
            self.head.truncate(whole(&self.head));
            let cut = self.tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
            self.tail.drain(..cut);
        }
        let dropped = self.total - self.head.len() - self.tail.len();
        let mut bytes = self.head;
        if dropped > 0 {
            if bytes.last().is_some_and(|byte| *byte != b'\n') {
                bytes.push(b'\n');
            }
            bytes.extend_from_slice(format!("[… {dropped} bytes omitted …]\n").as_bytes());
        }
        bytes.extend(self.tail);
        bytes
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Length without a character cut off at the end.
fn whole(bytes: &[u8]) -> usize {
    let continued = bytes.iter().rev().take(3).take_while(|byte| is_continuation(**byte)).count();
    let Some(start) = bytes.len().checked_sub(continued + 1) else { return bytes.len() };
    let length = match bytes[start] {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return bytes.len(),
    };
    if length > continued + 1 { start } else { bytes.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_are_kept() {
        for chunk in [1, 3, 7, 100] {
            let mut capture = Capture::new(10);
            let text: Vec<u8> = (b'a'..=b'z').collect();
            for bytes in text.chunks(chunk) {
                capture.push(bytes);
            }
            assert!(capture.truncated());
            let kept = String::from_utf8(capture.into_bytes()).unwrap();
            assert_eq!(kept, "abcde\n[… 16 bytes omitted …]\nvwxyz");
        }
        let text = "aé€😀".repeat(20);
        for limit in 1..40 {
            let mut capture = Capture::new(limit);
            capture.push(text.as_bytes());
            assert!(String::from_utf8(capture.into_bytes()).is_ok(), "{limit}");
        }
        let mut capture = Capture::new(10);
        capture.push(b"0123456789");
        assert!(!capture.truncated());
        assert_eq!(capture.into_bytes(), b"0123456789");
    }
}
